// SPDX-License-Identifier: Apache-2.0
// test_read.c: what an opened folder shows, and what it refuses.
#include "folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/meta.h"

#define WIDGET(name) "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: " name "\n"

static void collect(const cJSON *object, void *ctx)
{
    prg_strbuf_printf(ctx, "%s/%s ", prg_meta_namespace(object), prg_meta_name(object));
}

static void assert_widgets(struct folder *f, const char *want)
{
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    f->store->reader.list(&f->store->reader, "example.com", "Widget", NULL, collect, &got);
    assert_string_equal(got.text, want);
}

static void link_to(struct folder *f, const char *target, const char *path)
{
    assert_int_equal(symlink(target, prg_arena_printf(&f->arena, "%s/%s", f->root, path)), 0);
}

static void manifests_are_found_at_any_depth(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    write_file(f, "sub/b.yml", WIDGET("b"));
    write_file(f, "sub/deeper/still/c.json",
               "{\"apiVersion\": \"example.com/v1\", \"kind\": \"Widget\", \"metadata\": {\"name\": \"c\"}}");
    write_file(f, "README.md", "no manifest: [");
    write_file(f, "notes.txt", ": : :");
    open_folder(f);
    assert_widgets(f, "default/a default/b default/c ");
}

static void dot_folders_and_dot_files_are_skipped(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    write_file(f, ".git/b.yaml", "broken: [");
    write_file(f, "sub/.hidden/c.yaml", WIDGET("c"));
    write_file(f, ".d.yaml", WIDGET("d"));
    open_folder(f);
    assert_widgets(f, "default/a ");
}

static void an_empty_folder_is_an_empty_store(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    assert_widgets(f, "");
    assert_false(has_file(f, ".perigee"));
}

static void documents_and_lists_are_opened_up(void **state)
{
    struct folder *f = *state;
    write_file(
        f, "many.yaml",
        "# nothing here\n---\n" WIDGET("a") "---\n" WIDGET(
            "b") "---\napiVersion: v1\nkind: List\nitems:\n"
                 "- apiVersion: example.com/v1\n  kind: Widget\n  metadata: {name: c}\n"
                 "- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n"
                 "---\napiVersion: example.com/v1\nkind: WidgetList\nitems:\n- metadata: {name: d, namespace: other}\n"
                 "- apiVersion: example.com/v1\n  kind: Widget\n  metadata: {name: e}\n");
    open_folder(f);
    assert_widgets(f, "default/a default/b default/c default/e other/d ");
    assert_non_null(get(f, "", "Secret", "default", "s"));
    assert_string_equal(prg_json_get_text(get(f, "example.com", "Widget", "other", "d"), "apiVersion"),
                        "example.com/v1");
}

static void unknown_kinds_are_kept_as_they_are(void **state)
{
    struct folder *f = *state;
    write_file(f, "odd.yaml", "apiVersion: odd.example/v9\nkind: Oddity\nmetadata: {name: o}\nanything: [1, {a: ~}]\n");
    open_folder(f);
    assert_json_text(&f->arena, prg_json_get(get(f, "odd.example", "Oddity", "default", "o"), "anything"),
                     "[1, {'a': null}]");
}

static void the_default_namespace_is_for_namespaced_kinds_only(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    write_file(f, "b.yaml", WIDGET("b") "  namespace: own\n");
    write_file(f, "ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n");
    write_file(f, "rt.yaml",
               "apiVersion: serving.kserve.io/v1alpha1\nkind: ClusterServingRuntime\n"
               "metadata: {name: rt, namespace: ignored}\n");
    struct prg_catalog_options options = {.default_namespace = "team"};
    assert_ok(prg_catalog_open(f->root, &options, &f->store, &f->err), &f->err);
    assert_widgets(f, "own/b team/a ");
    assert_non_null(get(f, "", "Namespace", "", "team"));
    assert_non_null(get(f, "serving.kserve.io", "ClusterServingRuntime", "", "rt"));
}

static void links_to_files_are_followed_and_loops_are_not(void **state)
{
    struct folder *f = *state;
    // As a mounted ConfigMap lies in a pod.
    write_file(f, "..2026/a.yaml", WIDGET("a"));
    link_to(f, "..2026", "..data");
    link_to(f, "..data/a.yaml", "a.yaml");
    write_file(f, "sub/b.yaml", WIDGET("b"));
    link_to(f, "..", "sub/up");
    link_to(f, ".", "self");
    open_folder(f);
    assert_widgets(f, "default/a default/b ");
}

static void a_link_that_leads_nowhere_is_an_error(void **state)
{
    struct folder *f = *state;
    link_to(f, "gone.yaml", "a.yaml");
    assert_int_equal(try_open_folder(f), PRG_IO);
    assert_error_has(&f->err, "/a.yaml: No such file");
}

static void pipes_are_not_opened(void **state)
{
    struct folder *f = *state;
    assert_int_equal(mkfifo(prg_arena_printf(&f->arena, "%s/pipe.yaml", f->root), 0666), 0);
    write_file(f, "a.yaml", WIDGET("a"));
    open_folder(f);
    assert_widgets(f, "default/a ");
}

static void a_policy_sets_settings_are_no_manifest(void **state)
{
    struct folder *f = *state;
    write_file(f, "policies/policies.yaml", "options: {}\n");
    write_file(f, "policies/image.lua", "return {}\n");
    open_folder(f);
    write_file(f, "elsewhere/policies.yaml", "options: {}\n");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "elsewhere/policies.yaml:1");
}

static void a_document_without_kind_or_version_names_file_and_line(void **state)
{
    struct folder *f = *state;
    write_file(f, "sub/a.yaml", WIDGET("a") "---\n\n# comment\nmetadata: {name: x}\nkind: X\n");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "sub/a.yaml:8: /apiVersion is missing");
    write_file(f, "sub/a.yaml", "apiVersion: v1\nmetadata: {name: x}\n");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "sub/a.yaml:1: /kind is missing");
    write_file(f, "sub/a.yaml", "just text\n");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "sub/a.yaml:1: ");
}

static void unparsable_files_name_the_place(void **state)
{
    struct folder *f = *state;
    write_file(f, "ok.yaml", WIDGET("ok"));
    write_file(f, "z.yaml", "apiVersion: v1\nkind: [\n");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "/z.yaml:");
}

static void two_documents_for_one_object_name_both_places(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("x"));
    write_file(f, "b/c.yaml", WIDGET("why") "---\n" WIDGET("x"));
    assert_int_equal(try_open_folder(f), PRG_CONFLICT);
    assert_error_has(&f->err, "/b/c.yaml:6: example.com/Widget default/x");
    assert_error_has(&f->err, "/a.yaml:1;");
    // In one file, and with another version of the API: the version is no part of the key.
    remove_path(f, "a.yaml");
    write_file(f, "b/c.yaml", WIDGET("why") "---\napiVersion: example.com/v2\nkind: Widget\nmetadata: {name: why}\n");
    assert_int_equal(try_open_folder(f), PRG_CONFLICT);
    assert_error_has(&f->err, "/b/c.yaml:6: ");
    assert_error_has(&f->err, "/b/c.yaml:1;");
}

static void a_missing_folder_or_a_file_is_refused_by_name(void **state)
{
    struct folder *f = *state;
    struct prg_store *store;
    write_file(f, "a.yaml", WIDGET("a"));
    assert_int_equal(prg_catalog_open("/nowhere/at/all", NULL, &store, &f->err), PRG_IO);
    assert_error_has(&f->err, "/nowhere/at/all: No such file");
    assert_int_equal(prg_catalog_open(prg_arena_printf(&f->arena, "%s/a.yaml", f->root), NULL, &store, &f->err),
                     PRG_INVALID);
    assert_error_has(&f->err, "a.yaml: not a folder");
}

static void users_objects_get_uid_generation_and_creation_time(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {size: 1}\n");
    write_file(f, "own.yaml",
               WIDGET("own") "  uid: mine\n  generation: 7\n  creationTimestamp: \"2020-01-01T00:00:00Z\"\n"
                             "spec: {}\n");
    write_file(f, "nothing.yaml", WIDGET("nothing") "  creationTimestamp: null\n");
    open_folder(f);
    const cJSON *a = get_widget(f, "a"), *own = get_widget(f, "own"), *nothing = get_widget(f, "nothing");
    assert_int_equal(strlen(prg_meta_uid(a)), 36);
    assert_string_not_equal(prg_meta_uid(a), prg_meta_uid(nothing));
    assert_string_equal(prg_meta_created(a), NOON_TEXT);
    assert_int_equal(prg_meta_generation(a), 1);
    assert_string_equal(prg_meta_uid(own), "mine");
    assert_string_equal(prg_meta_created(own), "2020-01-01T00:00:00Z");
    assert_int_equal(prg_meta_generation(own), 7);
    assert_string_equal(prg_meta_created(nothing), NOON_TEXT);
    assert_int_equal(prg_meta_generation(nothing), 0); // nothing to count
    const char *uid = prg_arena_strdup(&f->arena, prg_meta_uid(a));
    open_folder(f);
    assert_string_equal(prg_meta_uid(get_widget(f, "a")), uid);
}

static void first_seen_and_generation_outlive_the_process(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {size: 1}\n");
    open_folder(f);
    refresh(f);
    f->now_ns += INT64_C(3600000000000);
    write_file(f, "a.yaml", "# moved\n" WIDGET("a") "spec: {size: 1.0}\nstatus: {x: 1}\n");
    open_folder(f);
    assert_string_equal(prg_meta_created(get_widget(f, "a")), NOON_TEXT);
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 1);
    write_file(f, "a.yaml", WIDGET("a") "spec: {size: 2}\n");
    open_folder(f);
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 2);
    refresh(f);
    write_file(f, "a.yaml", WIDGET("a") "  labels: {l: x}\nspec: {size: 2}\n");
    refresh(f);
    assert_changed(f, "Widget default/a");
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 2);
    write_file(f, "a.yaml", WIDGET("a") "spec: {size: 3}\n");
    refresh(f);
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 3);
    open_folder(f);
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 3);
    assert_string_equal(prg_meta_created(get_widget(f, "a")), NOON_TEXT);
}

static void opening_writes_nothing(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {}\n");
    open_folder(f);
    prg_store_free(f->store);
    f->store = NULL;
    assert_int_equal(file_count(f, ""), 1);
}

static void status_files_win_over_the_manifest(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "status: {from: manifest}\n");
    write_file(f, "b.yaml", WIDGET("b") "status: {from: manifest}\n");
    // By hand: the member status is all that is needed.
    write_file(f, ".perigee/status/example.com/Widget/default/a.yaml", "status: {from: file}\n");
    open_folder(f);
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{'from': 'file'}");
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "b"), "status"), "{'from': 'manifest'}");
}

static void broken_status_files_name_the_place(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    write_file(f, ".perigee/status/example.com/Widget/default/a.yaml", "kind: Widget\nstatus: ready\n");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, ".perigee/status/example.com/Widget/default/a.yaml:2: /status must be an object");
    write_file(f, ".perigee/status/example.com/Widget/default/a.yaml", "[]\n");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "must be an object with the member status");
    write_file(f, ".perigee/status/example.com/Widget/default/a.yaml", "");
    open_folder(f);
}

static void rendered_objects_are_read(void **state)
{
    struct folder *f = *state;
    write_file(f, ".perigee/objects/example.com/Widget/default/r.yaml",
               WIDGET("r") "  namespace: default\n  uid: u\nstatus: {ready: true}\n");
    write_file(f, ".perigee/objects/example.com/Widget/default/notes.txt", "not read");
    open_folder(f);
    assert_string_equal(prg_meta_uid(get_widget(f, "r")), "u");
    assert_true(prg_json_get_true(prg_json_get(get_widget(f, "r"), "status"), "ready"));
}

static void a_rendered_object_in_a_wrong_place_is_refused(void **state)
{
    struct folder *f = *state;
    write_file(f, ".perigee/objects/example.com/Widget/default/copy.yaml", WIDGET("r") "  namespace: default\n");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "copy.yaml: holds example.com/Widget default/r, whose place is "
                              ".perigee/objects/example.com/Widget/default/r.yaml");
    write_file(f, ".perigee/objects/example.com/Widget/default/copy.yaml", "");
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "copy.yaml: empty");
    write_file(f, ".perigee/objects/example.com/Widget/default/copy.yaml", WIDGET("r") "---\n" WIDGET("s"));
    assert_int_equal(try_open_folder(f), PRG_INVALID);
    assert_error_has(&f->err, "2 documents");
}

static void a_users_manifest_hides_a_rendered_object(void **state)
{
    struct folder *f = *state;
    write_file(f, ".perigee/objects/example.com/Widget/default/x.yaml",
               WIDGET("x") "  namespace: default\nspec: {from: perigee}\n");
    write_file(f, "x.yaml", WIDGET("x") "spec: {from: user}\n");
    open_folder(f);
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "x"), "spec"), "{'from': 'user'}");
    assert_widgets(f, "default/x ");
    remove_path(f, "x.yaml");
    refresh(f);
    assert_changed(f, "Widget default/x");
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "x"), "spec"), "{'from': 'perigee'}");
}

static void add_path(const char *path, void *ctx)
{
    prg_strbuf_printf(ctx, "%s;", path);
}

static void folders_to_watch_are_absolute_and_complete(void **state)
{
    struct folder *f = *state;
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    write_file(f, "sub/deeper/a.yaml", WIDGET("a"));
    write_file(f, ".git/x.yaml", "");
    write_file(f, ".perigee/status/example.com/Widget/default/a.yaml", "status: {}\n");
    char old[4096];
    assert_non_null(getcwd(old, sizeof(old)));
    assert_int_equal(chdir(f->root), 0);
    assert_ok(prg_catalog_open("./", NULL, &f->store, &f->err), &f->err);
    assert_int_equal(chdir(old), 0);
    prg_catalog_each_folder(f->store, add_path, &got);
    assert_string_equal(
        got.text,
        prg_arena_printf(&f->arena,
                         "%s;%s/sub;%s/sub/deeper;%s/.perigee/status;%s/.perigee/status/example.com;"
                         "%s/.perigee/status/example.com/Widget;%s/.perigee/status/example.com/Widget/default;",
                         f->root, f->root, f->root, f->root, f->root, f->root, f->root));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(manifests_are_found_at_any_depth),
        FOLDER_TEST(dot_folders_and_dot_files_are_skipped),
        FOLDER_TEST(an_empty_folder_is_an_empty_store),
        FOLDER_TEST(documents_and_lists_are_opened_up),
        FOLDER_TEST(unknown_kinds_are_kept_as_they_are),
        FOLDER_TEST(the_default_namespace_is_for_namespaced_kinds_only),
        FOLDER_TEST(links_to_files_are_followed_and_loops_are_not),
        FOLDER_TEST(a_link_that_leads_nowhere_is_an_error),
        FOLDER_TEST(pipes_are_not_opened),
        FOLDER_TEST(a_policy_sets_settings_are_no_manifest),
        FOLDER_TEST(a_document_without_kind_or_version_names_file_and_line),
        FOLDER_TEST(unparsable_files_name_the_place),
        FOLDER_TEST(two_documents_for_one_object_name_both_places),
        FOLDER_TEST(a_missing_folder_or_a_file_is_refused_by_name),
        FOLDER_TEST(users_objects_get_uid_generation_and_creation_time),
        FOLDER_TEST(first_seen_and_generation_outlive_the_process),
        FOLDER_TEST(opening_writes_nothing),
        FOLDER_TEST(status_files_win_over_the_manifest),
        FOLDER_TEST(broken_status_files_name_the_place),
        FOLDER_TEST(rendered_objects_are_read),
        FOLDER_TEST(a_rendered_object_in_a_wrong_place_is_refused),
        FOLDER_TEST(a_users_manifest_hides_a_rendered_object),
        FOLDER_TEST(folders_to_watch_are_absolute_and_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
