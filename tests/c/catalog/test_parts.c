// SPDX-License-Identifier: Apache-2.0
// test_parts.c: paths, uids, file signs, the log of what was seen, manifests for -f.
#include "folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "catalog/disk.h"
#include "catalog/manifest.h"
#include "catalog/path.h"
#include "catalog/seen.h"

#define WIDGET(name) "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: " name "\n"

// ---- paths and uids ----

static void assert_path(const char *group, const char *kind, const char *ns, const char *name, const char *want)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_catalog_path(&path, &(struct prg_key){group, kind, ns, name});
    assert_string_equal(path.text, want);
}

static void ordinary_keys_have_readable_paths(void **state)
{
    (void)state;
    assert_path("apps", "Deployment", "default", "m-predictor", "apps/Deployment/default/m-predictor.yaml");
    assert_path("", "Pod", "ns", "a.b-1", "core/Pod/ns/a.b-1.yaml");
    assert_path("serving.kserve.io", "ClusterServingRuntime", "", "kserve-sklearnserver",
                "serving.kserve.io/ClusterServingRuntime/_cluster/kserve-sklearnserver.yaml");
}

static void unusual_characters_are_escaped(void **state)
{
    (void)state;
    assert_path("..", ".", "..", "../x", "%2E./%2E/%2E./%2E.%2Fx.yaml");
    assert_path("core", "K", "_cluster", "a%b c\n", "%63ore/K/%5Fcluster/a%25b%20c%0A.yaml");
    assert_path("g", "K", "ns", "\xc3\xa9", "g/K/ns/%C3%A9.yaml");
    assert_path("g", "K", "ns", "", "g/K/ns/%.yaml");
}

static void long_parts_are_cut_and_stay_different(void **state)
{
    char a[400], b[400];
    prg_auto_strbuf first = PRG_STRBUF_INIT, second = PRG_STRBUF_INIT;
    (void)state;
    memset(a, 'x', sizeof(a));
    a[sizeof(a) - 1] = '\0';
    memcpy(b, a, sizeof(b));
    b[sizeof(b) - 2] = 'y';
    prg_catalog_path(&first, &(struct prg_key){"g", "K", "ns", a});
    prg_catalog_path(&second, &(struct prg_key){"g", "K", "ns", b});
    assert_string_not_equal(first.text, second.text);
    assert_true(first.length < 255);
    // The longest name that Kubernetes allows.
    b[253] = '\0';
    prg_strbuf_clear(&second);
    prg_catalog_path(&second, &(struct prg_key){"g", "K", "ns", b});
    assert_true(second.length < 255);
    // It is on disk: the same in every process and version.
    assert_string_equal(second.text + strlen("g/K/ns/") + 180, "%~d66ae440992292d3.yaml");
}

static void uids_are_uuids_of_the_key(void **state)
{
    char a[PRG_UID_TEXT], b[PRG_UID_TEXT];
    struct prg_key key = {"serving.kserve.io", "InferenceService", "default", "iris"};
    struct prg_key shifted = {"serving.kserve.io", "InferenceService", "defaulti", "ris"};
    (void)state;
    assert_string_equal(prg_catalog_uid(&key, a), "6938e265-e10d-8205-a291-ef169ddf2cea");
    assert_int_equal(strlen(a), 36);
    assert_int_equal(a[14], '8');
    assert_non_null(strchr("89ab", a[19]));
    assert_string_not_equal(prg_catalog_uid(&shifted, b), a);
}

// ---- file signs ----

static void a_file_written_just_now_may_change_unnoticed(void **state)
{
    struct prg_file_sign fine = {.mtime_ns = NOON + 5}, coarse = {.mtime_ns = NOON};
    (void)state;
    assert_true(prg_file_sign_is_racy(&fine, NOON + 10000000));
    assert_false(prg_file_sign_is_racy(&fine, NOON + 50000000));
    assert_true(prg_file_sign_is_racy(&coarse, NOON + 1500000000)); // whole seconds: a coarse clock
    assert_false(prg_file_sign_is_racy(&coarse, NOON + 3000000000));
}

static void reading_tells_absent_from_unusable(void **state)
{
    struct folder *f = *state;
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    struct prg_file_sign sign;
    write_file(f, "a.txt", "hello");
    assert_int_equal(prg_disk_read(prg_arena_printf(&f->arena, "%s/none", f->root), 10, &text, &sign, &f->err),
                     PRG_NOTFOUND);
    assert_int_equal(prg_disk_read(f->root, 10, &text, &sign, &f->err), PRG_INVALID);
    assert_error_has(&f->err, "not a regular file");
    const char *path = prg_arena_printf(&f->arena, "%s/a.txt", f->root);
    assert_int_equal(prg_disk_read(path, 4, &text, &sign, &f->err), PRG_LIMIT);
    prg_strbuf_clear(&text);
    assert_ok(prg_disk_read(path, 5, &text, &sign, &f->err), &f->err);
    assert_string_equal(text.text, "hello");
    assert_int_equal(sign.size, 5);
}

static void writing_replaces_the_whole_file(void **state)
{
    struct folder *f = *state;
    struct prg_file_sign sign;
    struct stat info;
    const char *path = prg_arena_printf(&f->arena, "%s/x/y/z.txt", f->root);
    assert_ok(prg_disk_write(f->root, "x/y/z.txt", "a long text", 11, NULL, &f->err), &f->err);
    assert_ok(prg_disk_write(f->root, "x/y/z.txt", "short", 5, &sign, &f->err), &f->err);
    assert_string_equal(file_text(f, "x/y/z.txt"), "short");
    assert_int_equal(stat(path, &info), 0);
    struct prg_file_sign now = prg_file_sign_of(&info);
    assert_true(prg_file_sign_equal(&now, &sign));
    assert_ok(prg_disk_remove(f->root, "x/y/z.txt", "x", &f->err), &f->err);
    assert_false(has_file(f, "x/y"));
    assert_true(has_file(f, "x"));
    assert_ok(prg_disk_remove(f->root, "x/y/z.txt", "x", &f->err), &f->err);
}

// ---- what was seen ----

static void count_seen(const char *path, void *ctx)
{
    (void)path;
    (*(size_t *)ctx)++;
}

static void the_log_of_what_was_seen_is_rewritten_when_most_of_it_is_old(void **state)
{
    struct folder *f = *state;
    struct prg_seen_log *log;
    struct prg_key key = {"g", "K", "ns", "n"};
    struct prg_seen seen = {.created = NOON_TEXT, .generation = 1, .spec_digest = 0xdeadbeef};
    size_t count = 0;
    assert_ok(prg_seen_log_open(f->root, &log, &f->err), &f->err);
    assert_null(prg_seen_get(log, "g/K/ns/n.yaml"));
    for (int i = 0; i < 3000; i++) {
        seen.generation = i;
        prg_seen_set(log, "g/K/ns/n.yaml", &key, &seen);
        if (i % 600 == 0)
            assert_ok(prg_seen_flush(log, &f->err), &f->err);
    }
    assert_ok(prg_seen_flush(log, &f->err), &f->err);
    const char *text = file_text(f, ".perigee/seen.ndjson");
    for (; (text = strchr(text, '\n')); text++)
        count++;
    assert_int_equal(count, 600); // one left of the rewrite at 2400, and what came after it
    prg_seen_log_free(log);
    assert_ok(prg_seen_log_open(f->root, &log, &f->err), &f->err);
    const struct prg_seen *got = prg_seen_get(log, "g/K/ns/n.yaml");
    assert_non_null(got);
    assert_int_equal(got->generation, 2999);
    assert_int_equal(got->spec_digest, 0xdeadbeef);
    assert_string_equal(got->created, NOON_TEXT);
    prg_seen_forget(log, "g/K/ns/n.yaml");
    assert_ok(prg_seen_flush(log, &f->err), &f->err);
    prg_seen_log_free(log);
    assert_ok(prg_seen_log_open(f->root, &log, &f->err), &f->err);
    count = 0;
    prg_seen_each(log, count_seen, &count);
    assert_int_equal(count, 0);
    prg_seen_log_free(log);
}

static void lines_that_make_no_sense_are_skipped(void **state)
{
    struct folder *f = *state;
    struct prg_seen_log *log;
    size_t count = 0;
    const char *object = "{\"object\":{\"group\":\"g\",\"kind\":\"K\",\"namespace\":\"n\",\"name\":\"x\"}";
    write_file(f, ".perigee/seen.ndjson",
               prg_arena_printf(&f->arena,
                                "nonsense\n{}\n%s}\n"
                                "%s,\"creationTimestamp\":\"soon\",\"generation\":1,\"spec\":\"0123456789abcdef\"}\n"
                                "%s,\"creationTimestamp\":\"" NOON_TEXT "\",\"generation\":\"1\",\"spec\":\"0\"}\n"
                                "%s,\"creationTimestamp\":\"" NOON_TEXT "\",\"generation\":1,\"spec\":\"xyz\"}\n",
                                object, object, object, object));
    assert_ok(prg_seen_log_open(f->root, &log, &f->err), &f->err);
    prg_seen_each(log, count_seen, &count);
    assert_int_equal(count, 0);
    prg_seen_log_free(log);
}

// ---- manifests, as -f reads them ----

static int collect_manifest(const struct prg_manifest *manifest, void *ctx, struct prg_error *err)
{
    (void)err;
    prg_strbuf_printf(ctx, "%s %s/%s:%u;", manifest->key.kind, manifest->key.ns, manifest->key.name, manifest->line);
    return PRG_OK;
}

static int collect_file(const char *path, void *ctx, struct prg_error *err)
{
    (void)err;
    prg_strbuf_printf(ctx, "%s;", strrchr(path, '/') + 1);
    return PRG_OK;
}

static void manifests_of_one_file_come_in_order(void **state)
{
    struct folder *f = *state;
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    write_file(f, "a.yaml", WIDGET("a") "---\n" WIDGET("b") "  namespace: own\n");
    assert_ok(prg_manifest_load_file(&f->arena, prg_arena_printf(&f->arena, "%s/a.yaml", f->root), "team",
                                     collect_manifest, &got, &f->err),
              &f->err);
    assert_string_equal(got.text, "Widget team/a:1;Widget own/b:6;");
}

static void a_list_inside_a_list_is_refused(void **state)
{
    struct folder *f = *state;
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    const char *text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: []\n";
    assert_int_equal(
        prg_manifest_load_text(&f->arena, "x.yaml", text, strlen(text), NULL, collect_manifest, &got, &f->err),
        PRG_INVALID);
    assert_error_has(&f->err, "x.yaml:4: a List inside a List");
}

static void folders_are_read_deep_only_when_asked(void **state)
{
    struct folder *f = *state;
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    write_file(f, "b.yaml", "");
    write_file(f, "a.json", "{}");
    write_file(f, "sub/c.yml", "");
    write_file(f, "notes.txt", "");
    write_file(f, ".hidden/d.yaml", "");
    assert_ok(prg_manifest_each_file(f->root, false, collect_file, &got, &f->err), &f->err);
    assert_string_equal(got.text, "a.json;b.yaml;");
    prg_strbuf_clear(&got);
    assert_ok(prg_manifest_each_file(f->root, true, collect_file, &got, &f->err), &f->err);
    assert_string_equal(got.text, "a.json;b.yaml;c.yml;");
    prg_strbuf_clear(&got);
    // A file is taken whatever its name.
    const char *notes = prg_arena_printf(&f->arena, "%s/notes.txt", f->root);
    assert_ok(prg_manifest_each_file(notes, false, collect_file, &got, &f->err), &f->err);
    assert_string_equal(got.text, "notes.txt;");
    assert_int_equal(prg_manifest_each_file("/nowhere", false, collect_file, &got, &f->err), PRG_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_keys_have_readable_paths),
        cmocka_unit_test(unusual_characters_are_escaped),
        cmocka_unit_test(long_parts_are_cut_and_stay_different),
        cmocka_unit_test(uids_are_uuids_of_the_key),
        cmocka_unit_test(a_file_written_just_now_may_change_unnoticed),
        FOLDER_TEST(reading_tells_absent_from_unusable),
        FOLDER_TEST(writing_replaces_the_whole_file),
        FOLDER_TEST(the_log_of_what_was_seen_is_rewritten_when_most_of_it_is_old),
        FOLDER_TEST(lines_that_make_no_sense_are_skipped),
        FOLDER_TEST(manifests_of_one_file_come_in_order),
        FOLDER_TEST(a_list_inside_a_list_is_refused),
        FOLDER_TEST(folders_are_read_deep_only_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
