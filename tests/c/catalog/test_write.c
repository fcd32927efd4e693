// SPDX-License-Identifier: Apache-2.0
// test_write.c: apply, remove, status and Events of a folder store, and the files they leave.
#include "folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "object/meta.h"

#define WIDGET(name) "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: " name "\n"
#define RENDERED(name) WIDGET(name) "  namespace: default\n"
#define OBJECTS ".perigee/objects/example.com/Widget/default/"
#define STATUS ".perigee/status/example.com/Widget/default/"

static const struct prg_key key_a = {"example.com", "Widget", "default", "a"};

static struct stat info_of(struct folder *f, const char *path)
{
    struct stat info;
    assert_int_equal(stat(prg_arena_printf(&f->arena, "%s/%s", f->root, path), &info), 0);
    return info;
}

static void assert_same_file(const struct stat *a, const struct stat *b)
{
    assert_int_equal(a->st_ino, b->st_ino);
    assert_int_equal(a->st_ctim.tv_sec, b->st_ctim.tv_sec);
    assert_int_equal(a->st_ctim.tv_nsec, b->st_ctim.tv_nsec);
}

static void apply_writes_one_file_per_object(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    assert_int_equal(apply(f, RENDERED("a") "spec: {size: 1}\n"), PRG_WRITE_CREATED);
    assert_int_equal(apply(f, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ns}\ndata: {k: v}\n"),
                     PRG_WRITE_CREATED);
    assert_int_equal(apply(f, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n"),
                     PRG_WRITE_CREATED);
    assert_true(has_file(f, OBJECTS "a.yaml"));
    assert_true(has_file(f, ".perigee/objects/core/ConfigMap/ns/c.yaml"));
    assert_true(has_file(f, ".perigee/objects/rbac.authorization.k8s.io/ClusterRole/_cluster/r.yaml"));
    assert_json_equal(file_tree(f, OBJECTS "a.yaml"), get_widget(f, "a"));
    assert_no_temporary_files(f);
}

static void apply_adds_what_an_api_server_adds(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    apply(f, RENDERED("a") "spec: {size: 1}\n");
    const cJSON *a = get_widget(f, "a");
    assert_int_equal(strlen(prg_meta_uid(a)), 36);
    assert_string_equal(prg_meta_created(a), NOON_TEXT);
    assert_int_equal(prg_meta_generation(a), 1);
    const char *uid = prg_arena_strdup(&f->arena, prg_meta_uid(a));
    f->now_ns += INT64_C(60000000000);
    assert_int_equal(apply(f, RENDERED("a") "spec: {size: 2}\n"), PRG_WRITE_UPDATED);
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 2);
    assert_int_equal(apply(f, RENDERED("a") "  labels: {l: x}\nspec: {size: 2}\n"), PRG_WRITE_UPDATED);
    a = get_widget(f, "a");
    assert_int_equal(prg_meta_generation(a), 2);
    assert_string_equal(prg_meta_uid(a), uid);
    assert_string_equal(prg_meta_created(a), NOON_TEXT);
}

static void an_equal_apply_touches_nothing(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    apply(f, RENDERED("a") "spec: {size: 1, s: \"on\"}\n");
    struct stat before = info_of(f, OBJECTS "a.yaml"), folder = info_of(f, OBJECTS);
    assert_int_equal(apply(f, RENDERED("a") "spec: {s: \"on\", size: 1.0}\n"), PRG_WRITE_UNCHANGED);
    open_folder(f);
    assert_int_equal(apply(f, RENDERED("a") "spec: {s: \"on\", size: 1}\n"), PRG_WRITE_UNCHANGED);
    struct stat after = info_of(f, OBJECTS "a.yaml"), folder_after = info_of(f, OBJECTS);
    assert_same_file(&before, &after);
    assert_same_file(&folder, &folder_after);
}

static void what_is_written_reads_back_exactly(void **state)
{
    struct folder *f = *state;
    const char *text = RENDERED("a") "data:\n  yes: \"yes\"\n  octal: \"017\"\n  number: 9007199254740993\n"
                                     "  float: 1e3\n  empty: {}\n  none: []\n  nothing: ~\n"
                                     "  lines: \"a\\n  b\\n\\n\"\n  tab: \"\\tx \"\n  uni: \"\\u00e9\\u2028\"\n"
                                     "  nul: \"a\\0b\"\n  \"key: odd\": \"# no comment\"\n";
    open_folder(f);
    apply(f, text);
    cJSON *seen = prg_json_copy(&f->arena, get_widget(f, "a"));
    open_folder(f);
    assert_json_equal(get_widget(f, "a"), seen);
    assert_json_equal(prg_json_get(get_widget(f, "a"), "data"), prg_json_get(yaml_of(&f->arena, text), "data"));
    assert_int_equal(apply(f, text), PRG_WRITE_UNCHANGED);
}

static void apply_keeps_the_status_and_drops_what_the_intent_left_out(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    apply(f, RENDERED("a") "spec: {size: 1, m: 2}\n");
    assert_int_equal(set_status(f, &key_a, "{'ready': true}"), PRG_WRITE_UPDATED);
    assert_int_equal(apply(f, RENDERED("a") "spec: {size: 1}\n"), PRG_WRITE_UPDATED);
    open_folder(f);
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{'ready': true}");
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "spec"), "{'size': 1}");
}

static void a_users_object_is_never_overwritten_or_removed(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    const char *manifest = "# mine\n" WIDGET("a") "spec: {from: user}\n";
    write_file(f, "sub/mine.yaml", manifest);
    open_folder(f);
    assert_int_equal(try_apply(f, RENDERED("a") "spec: {from: perigee}\n", &result), PRG_CONFLICT);
    assert_error_has(&f->err, "sub/mine.yaml:2: example.com/Widget default/a");
    assert_int_equal(f->store->ops->remove(f->store, &key_a, NULL, &result, &f->err), PRG_CONFLICT);
    assert_error_has(&f->err, "sub/mine.yaml:2");
    assert_string_equal(file_text(f, "sub/mine.yaml"), manifest);
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "spec"), "{'from': 'user'}");
    assert_int_equal(file_count(f, ""), 1);
}

static void the_status_of_a_users_object_goes_to_its_own_file(void **state)
{
    struct folder *f = *state;
    const char *manifest = WIDGET("a") "spec: {}\nstatus: {from: manifest}\n";
    write_file(f, "a.yaml", manifest);
    open_folder(f);
    assert_int_equal(set_status(f, &key_a, "{'from': 'manifest'}"), PRG_WRITE_UNCHANGED);
    assert_false(has_file(f, STATUS "a.yaml"));
    assert_int_equal(set_status(f, &key_a, "{'from': 'controller', 'size': [1, {}]}"), PRG_WRITE_UPDATED);
    assert_string_equal(file_text(f, "a.yaml"), manifest);
    cJSON *file = file_tree(f, STATUS "a.yaml");
    assert_string_equal(prg_json_get_text(file, "kind"), "Widget");
    assert_string_equal(prg_meta_name(file), "a");
    assert_json_text(&f->arena, prg_json_get(file, "status"), "{'from': 'controller', 'size': [1, {}]}");
    struct stat before = info_of(f, STATUS "a.yaml");
    assert_int_equal(set_status(f, &key_a, "{'size': [1, {}], 'from': 'controller'}"), PRG_WRITE_UNCHANGED);
    open_folder(f);
    assert_int_equal(set_status(f, &key_a, "{'size': [1, {}], 'from': 'controller'}"), PRG_WRITE_UNCHANGED);
    struct stat after = info_of(f, STATUS "a.yaml");
    assert_same_file(&before, &after);
}

static void a_status_can_be_taken_away(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    write_file(f, "a.yaml", WIDGET("a") "status: {from: manifest}\n");
    open_folder(f);
    assert_ok(f->store->ops->set_status(f->store, &key_a, NULL, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UPDATED);
    open_folder(f);
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{}");
    remove_path(f, "a.yaml");
    remove_path(f, ".perigee");
    open_folder(f);
    apply(f, RENDERED("a"));
    assert_int_equal(set_status(f, &key_a, "{'x': 1}"), PRG_WRITE_UPDATED);
    assert_ok(f->store->ops->set_status(f->store, &key_a, NULL, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UPDATED);
    open_folder(f);
    assert_null(prg_json_get(get_widget(f, "a"), "status"));
}

static void the_status_of_a_rendered_object_is_in_its_file_unless_one_was_made_by_hand(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    apply(f, RENDERED("a") "spec: {}\n");
    set_status(f, &key_a, "{'size': 1}");
    assert_json_text(&f->arena, prg_json_get(file_tree(f, OBJECTS "a.yaml"), "status"), "{'size': 1}");
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 1);
    write_file(f, STATUS "a.yaml", "status: {size: 2}\n");
    refresh(f);
    assert_changed(f, "Widget default/a");
    set_status(f, &key_a, "{'size': 3}");
    assert_json_text(&f->arena, prg_json_get(file_tree(f, STATUS "a.yaml"), "status"), "{'size': 3}");
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{'size': 3}");
}

static void the_status_of_nothing_is_not_found(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    open_folder(f);
    assert_int_equal(f->store->ops->set_status(f->store, &key_a, NULL, &result, &f->err), PRG_NOTFOUND);
    assert_error_has(&f->err, "example.com/Widget default/a does not exist");
    assert_false(has_file(f, ".perigee"));
}

static void remove_deletes_the_file_and_empty_folders(void **state)
{
    struct folder *f = *state;
    struct prg_key b = key_a;
    enum prg_write_result result;
    b.name = "b";
    open_folder(f);
    apply(f, RENDERED("a"));
    apply(f, RENDERED("b"));
    assert_int_equal(f->store->ops->remove(f->store, &key_a, "other", &result, &f->err), PRG_CONFLICT);
    assert_error_has(&f->err, "uid");
    const char *uid = prg_arena_strdup(&f->arena, prg_meta_uid(get_widget(f, "a")));
    assert_ok(f->store->ops->remove(f->store, &key_a, uid, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_DELETED);
    assert_null(get_widget(f, "a"));
    assert_false(has_file(f, OBJECTS "a.yaml"));
    assert_true(has_file(f, OBJECTS "b.yaml"));
    assert_ok(f->store->ops->remove(f->store, &key_a, uid, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UNCHANGED);
    assert_ok(f->store->ops->remove(f->store, &b, NULL, &result, &f->err), &f->err);
    assert_false(has_file(f, ".perigee/objects/example.com"));
    assert_true(has_file(f, ".perigee/objects"));
    refresh(f);
    assert_changed(f, "");
}

static void a_file_that_is_gone_already_is_removed_all_the_same(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    open_folder(f);
    apply(f, RENDERED("a"));
    remove_path(f, ".perigee/objects");
    assert_ok(f->store->ops->remove(f->store, &key_a, NULL, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_DELETED);
    assert_null(get_widget(f, "a"));
}

static void no_name_leads_out_of_the_folder(void **state)
{
    struct folder *f = *state;
    char longest[301];
    memset(longest, 'x', 300);
    longest[300] = '\0';
    const char *names[] = {"..", ".",   "../../../../escape", "/etc/passwd", "a/b",  "a%2Fb", ".hidden", "_cluster",
                           "-",  "a b", "\xc3\xa9",           "a\\b",        "core", "~",     longest,   "A",
                           "a"};
    open_folder(f);
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        // In turn as name, namespace, kind and group.
        for (int part = 0; part < 4; part++) {
            cJSON *object = prg_json_object(&f->arena), *meta = prg_json_ensure_object(&f->arena, object, "metadata");
            enum prg_write_result result;
            const char *name = part == 3 && strchr(names[i], '/') ? "g" : names[i];
            prg_json_set(&f->arena, object, "apiVersion",
                         prg_json_stringf(&f->arena, "%s/v1", part == 3 ? name : "example.com"));
            prg_json_set_string(&f->arena, object, "kind", part == 2 ? name : "Widget");
            prg_json_set_string(&f->arena, meta, "namespace", part == 1 ? name : "default");
            prg_json_set_string(&f->arena, meta, "name", part == 0 ? name : "x");
            prg_json_set_int(&f->arena, object, "part", part);
            prg_json_set_int(&f->arena, object, "i", (int64_t)i);
            assert_ok(f->store->ops->apply(f->store, object, &result, &f->err), &f->err);
        }
    }
    // All below .perigee/objects, each in a file of its own, and found again by key.
    size_t count = file_count(f, ".perigee/objects");
    assert_int_equal(file_count(f, ""), count);
    open_folder(f);
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        int64_t got;
        assert_true(prg_json_get_int64(get(f, "example.com", "Widget", "default", names[i]), "i", &got));
        assert_int_equal(got, i);
        assert_true(prg_json_get_int64(get(f, "example.com", "Widget", names[i], "x"), "i", &got));
        assert_int_equal(got, i);
        assert_true(prg_json_get_int64(get(f, "example.com", names[i], "default", "x"), "i", &got));
        assert_int_equal(got, i);
    }
}

static void a_name_with_a_nul_byte_is_refused(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    cJSON *object = yaml_of(&f->arena, RENDERED("a"));
    open_folder(f);
    prg_json_set(&f->arena, prg_json_get(object, "metadata"), "name", prg_json_stringn(&f->arena, "a\0b", 3));
    assert_int_equal(f->store->ops->apply(f->store, object, &result, &f->err), PRG_INVALID);
    assert_error_has(&f->err, "/metadata/name");
    assert_false(has_file(f, ".perigee"));
}

static void objects_of_the_core_group_and_of_no_namespace_cannot_be_confused(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    apply(f, "apiVersion: v1\nkind: Widget\nmetadata: {name: x}\nsize: 1\n");
    apply(f, "apiVersion: core/v1\nkind: Widget\nmetadata: {name: x}\nsize: 2\n");
    apply(f, "apiVersion: v1\nkind: Widget\nmetadata: {name: x, namespace: _cluster}\nsize: 3\n");
    open_folder(f);
    assert_json_text(&f->arena, prg_json_get(get(f, "", "Widget", "", "x"), "size"), "1");
    assert_json_text(&f->arena, prg_json_get(get(f, "core", "Widget", "", "x"), "size"), "2");
    assert_json_text(&f->arena, prg_json_get(get(f, "", "Widget", "_cluster", "x"), "size"), "3");
}

static void the_first_write_makes_what_was_seen_lasting(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {}\n");
    open_folder(f);
    set_status(f, &key_a, "{'x': 1}");
    f->now_ns += INT64_C(60000000000);
    open_folder(f);
    assert_string_equal(prg_meta_created(get_widget(f, "a")), NOON_TEXT);
    // A torn last line, as a kill in the middle of a write leaves it, costs that line only.
    const char *path = prg_arena_printf(&f->arena, "%s/.perigee/seen.ndjson", f->root);
    FILE *file = fopen(path, "a");
    fputs("{\"object\":{\"gro", file);
    fclose(file);
    write_file(f, "b.yaml", WIDGET("b"));
    open_folder(f);
    refresh(f);
    f->now_ns += INT64_C(60000000000);
    open_folder(f);
    assert_string_equal(prg_meta_created(get_widget(f, "a")), NOON_TEXT);
    assert_string_equal(prg_meta_created(get_widget(f, "b")), "2026-06-01T12:01:00Z");
}

// ---- Events ----

#define EVENTS ".perigee/events.ndjson"

static void record(struct folder *f, const char *type, const char *reason, const char *message)
{
    struct prg_store_event event = {type, reason, message};
    assert_ok(f->store->ops->record_event(f->store, &key_a, &event, f->now_ns, &f->err), &f->err);
}

// The line of the file, counted from 0; NULL when there are not as many.
static cJSON *event_line(struct folder *f, size_t index)
{
    const char *line = file_text(f, EVENTS), *end;
    for (; (end = strchr(line, '\n')) && index > 0; index--)
        line = end + 1;
    return end ? json_of(&f->arena, prg_arena_strndup(&f->arena, line, (size_t)(end - line))) : NULL;
}

static size_t event_count(struct folder *f)
{
    size_t count = 0;
    for (const char *line = file_text(f, EVENTS); (line = strchr(line, '\n')); line++)
        count++;
    return count;
}

static void an_event_is_one_line(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    record(f, "Warning", "NoRuntime", "no runtime for \"onnx\"\nat all");
    assert_json_equal(event_line(f, 0),
                      json_of(&f->arena, "{\"type\": \"Warning\", \"reason\": \"NoRuntime\","
                                         " \"message\": \"no runtime for \\\"onnx\\\"\\nat all\","
                                         " \"object\": {\"group\": \"example.com\", \"kind\": \"Widget\","
                                         " \"namespace\": \"default\", \"name\": \"a\"},"
                                         " \"firstTimestamp\": \"" NOON_TEXT "\", \"lastTimestamp\": \"" NOON_TEXT "\","
                                         " \"count\": 1}"));
    assert_int_equal(event_count(f), 1);
}

static void the_same_event_again_is_counted(void **state)
{
    struct folder *f = *state;
    int64_t count;
    open_folder(f);
    record(f, "Warning", "A", "a");
    record(f, "Normal", "B", "b");
    f->now_ns += INT64_C(60000000000);
    record(f, "Warning", "A", "a");
    open_folder(f); // counts go on after a restart
    f->now_ns += INT64_C(60000000000);
    record(f, "Warning", "A", "a");
    assert_int_equal(event_count(f), 2);
    const cJSON *a = event_line(f, 1); // the latest is the last
    assert_string_equal(prg_json_get_text(a, "reason"), "A");
    assert_true(prg_json_get_int64(a, "count", &count));
    assert_int_equal(count, 3);
    assert_string_equal(prg_json_get_text(a, "firstTimestamp"), NOON_TEXT);
    assert_string_equal(prg_json_get_text(a, "lastTimestamp"), "2026-06-01T12:02:00Z");
    record(f, "Warning", "A", "other");
    assert_int_equal(event_count(f), 3);
}

static void the_event_file_is_bounded(void **state)
{
    struct folder *f = *state;
    char message[1400];
    open_folder(f);
    memset(message, 'm', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0'; // cut to 1024 bytes
    for (int i = 0; i < 900; i++) {
        snprintf(message, 8, "%06d", i);
        message[6] = ' ';
        record(f, "Normal", "Many", message);
    }
    assert_true(info_of(f, EVENTS).st_size <= 1024 * 1024);
    size_t count = event_count(f);
    assert_in_range(count, 300, 1000);
    assert_memory_equal(prg_json_get_text(event_line(f, count - 1), "message"), "000899", 6);
    assert_int_equal(strlen(prg_json_get_text(event_line(f, count - 1), "message")), 1024);
}

static void of_many_small_events_the_last_thousand_are_kept(void **state)
{
    struct folder *f = *state;
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (int i = 0; text.length <= 1024 * 1024; i++)
        prg_strbuf_printf(&text,
                          "{\"type\":\"Normal\",\"reason\":\"Few\",\"message\":\"%06d\",\"object\":{\"group\":\"\","
                          "\"kind\":\"K\",\"namespace\":\"n\",\"name\":\"x\"},\"firstTimestamp\":\"" NOON_TEXT
                          "\",\"lastTimestamp\":\"" NOON_TEXT "\",\"count\":2}\n",
                          i);
    write_file(f, EVENTS, text.text);
    open_folder(f);
    record(f, "Normal", "Last", "one more");
    size_t count = event_count(f);
    assert_int_equal(count, 1000);
    assert_string_equal(prg_json_get_text(event_line(f, count - 1), "message"), "one more");
    assert_string_equal(prg_json_get_text(event_line(f, count - 2), "reason"), "Few");
}

static void counts_in_a_large_file_wait_for_the_next_refresh(void **state)
{
    struct folder *f = *state;
    char message[1024];
    int64_t count;
    open_folder(f);
    memset(message, 'm', sizeof(message));
    message[sizeof(message) - 1] = '\0';
    for (int i = 0; i < 100; i++) {
        snprintf(message, 8, "%06d", i);
        message[6] = ' ';
        record(f, "Normal", "Many", message);
    }
    struct stat before = info_of(f, EVENTS);
    for (int i = 0; i < 50; i++)
        record(f, "Normal", "Many", message);
    struct stat after = info_of(f, EVENTS);
    assert_same_file(&before, &after);
    refresh(f);
    assert_true(prg_json_get_int64(event_line(f, 99), "count", &count));
    assert_int_equal(count, 51);
    record(f, "Normal", "Many", message);
    prg_store_free(f->store); // so does closing
    f->store = NULL;
    assert_true(prg_json_get_int64(event_line(f, 99), "count", &count));
    assert_int_equal(count, 52);
}

static void torn_and_foreign_lines_do_no_harm(void **state)
{
    struct folder *f = *state;
    write_file(f, EVENTS, "not json\n[1]\n{\"type\": \"Normal\"}\n{\"type\":\"Normal\",\"reason\":\"A\",\"mess");
    open_folder(f);
    record(f, "Normal", "A", "a");
    assert_true(strstr(file_text(f, EVENTS), "\"mess\n{\"type\":\"Normal\",\"reason\":\"A\",\"message\":\"a\"") !=
                NULL);
    record(f, "Normal", "A", "a"); // rewritten: only what is an Event stays
    assert_int_equal(event_count(f), 1);
}

// ---- annotations of manifests ----

static int try_patch(struct folder *f, const char *patch, enum prg_write_result *ret)
{
    f->err = (struct prg_error){0};
    return f->store->ops->patch(f->store, &key_a, json_of(&f->arena, patch), ret, &f->err);
}

static void annotations_of_a_manifest_are_kept_beside_its_status(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    write_file(f, "a.yaml", WIDGET("a") "  annotations: {theirs: x, both: theirs}\nspec: {size: 1}\n");
    open_folder(f);
    const char *before = file_text(f, "a.yaml");
    assert_ok(try_patch(f, "{'metadata': {'annotations': {'ours': 'y', 'both': 'ours'}}}", &result), &f->err);
    assert_int_equal(result, PRG_WRITE_UPDATED);
    assert_json_text(&f->arena, prg_meta_annotations(get_widget(f, "a")),
                     "{'theirs': 'x', 'both': 'ours', 'ours': 'y'}");
    assert_null(prg_json_get(get_widget(f, "a"), "status"));
    assert_int_equal(set_status(f, &key_a, "{'ready': true}"), PRG_WRITE_UPDATED);
    assert_ok(try_patch(f, "{'metadata': {'annotations': {'ours': null}}}", &result), &f->err);
    assert_string_equal(file_text(f, "a.yaml"), before);
    open_folder(f); // from disk
    assert_json_text(&f->arena, prg_meta_annotations(get_widget(f, "a")), "{'theirs': 'x', 'both': 'ours'}");
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{'ready': true}");
    struct stat info = info_of(f, STATUS "a.yaml");
    assert_ok(try_patch(f, "{'metadata': {'annotations': {'both': 'ours'}}}", &result), &f->err);
    assert_int_equal(result, PRG_WRITE_UNCHANGED);
    struct stat later = info_of(f, STATUS "a.yaml");
    assert_same_file(&info, &later);
}

static void a_patch_of_a_manifest_beyond_annotations_is_refused(void **state)
{
    static const char *const patches[] = {"{'spec': {'size': 2}}", "{'metadata': {'labels': {'a': 'b'}}}",
                                          "{'metadata': {'annotations': {'a': 'b'}}, 'spec': {}}",
                                          "{'metadata': {'annotations': 'b'}}", "{}"};
    struct folder *f = *state;
    enum prg_write_result result;
    write_file(f, "a.yaml", WIDGET("a") "spec: {size: 1}\n");
    open_folder(f);
    for (size_t i = 0; i < PRG_COUNT(patches); i++) {
        assert_int_equal(try_patch(f, patches[i], &result), PRG_CONFLICT);
        assert_error_has(&f->err, "a.yaml:1");
    }
    assert_int_equal(try_patch(f, "{'metadata': {'annotations': {'a': 5}}}", &result), PRG_INVALID);
    assert_false(has_file(f, STATUS "a.yaml"));
}

static void a_rendered_object_is_patched_as_a_whole(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    open_folder(f);
    apply(f, RENDERED("a") "spec: {size: 1, colour: red}\n");
    assert_ok(try_patch(f, "{'spec': {'colour': null, 'size': 2}}", &result), &f->err);
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "spec"), "{'size': 2}");
}

static void a_status_edited_by_hand_is_never_written_over(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    const char *edited = WIDGET("a") "  namespace: default\nstatus: {byHand: true}\n";
    write_file(f, "a.yaml", WIDGET("a") "spec: {size: 1}\n");
    open_folder(f);
    set_status(f, &key_a, "{'round': 1}");
    write_file(f, STATUS "a.yaml", edited);
    f->err = (struct prg_error){0};
    assert_int_equal(f->store->ops->set_status(f->store, &key_a, json_of(&f->arena, "{'round': 2}"), &result, &f->err),
                     PRG_CONFLICT);
    assert_error_has(&f->err, "edited meanwhile");
    assert_int_equal(try_patch(f, "{'metadata': {'annotations': {'a': 'b'}}}", &result), PRG_CONFLICT);
    assert_string_equal(file_text(f, STATUS "a.yaml"), edited);
    refresh(f);
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{'byHand': true}");
    assert_int_equal(set_status(f, &key_a, "{'round': 2}"), PRG_WRITE_UPDATED);
}

static void annotations_by_hand_must_be_texts(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {size: 1}\n");
    open_folder(f);
    write_file(f, STATUS "a.yaml", WIDGET("a") "  annotations: {size: 5}\nstatus: {}\n");
    refresh(f);
    assert_non_null(strstr(f->problems.text, "the annotation size must be a text, not number"));
    write_file(f, STATUS "a.yaml", WIDGET("a") "  annotations: {size: '5'}\n");
    refresh(f);
    assert_string_equal(prg_meta_annotation(get_widget(f, "a"), "size"), "5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(apply_writes_one_file_per_object),
        FOLDER_TEST(apply_adds_what_an_api_server_adds),
        FOLDER_TEST(an_equal_apply_touches_nothing),
        FOLDER_TEST(what_is_written_reads_back_exactly),
        FOLDER_TEST(apply_keeps_the_status_and_drops_what_the_intent_left_out),
        FOLDER_TEST(a_users_object_is_never_overwritten_or_removed),
        FOLDER_TEST(the_status_of_a_users_object_goes_to_its_own_file),
        FOLDER_TEST(a_status_can_be_taken_away),
        FOLDER_TEST(the_status_of_a_rendered_object_is_in_its_file_unless_one_was_made_by_hand),
        FOLDER_TEST(the_status_of_nothing_is_not_found),
        FOLDER_TEST(remove_deletes_the_file_and_empty_folders),
        FOLDER_TEST(a_file_that_is_gone_already_is_removed_all_the_same),
        FOLDER_TEST(no_name_leads_out_of_the_folder),
        FOLDER_TEST(a_name_with_a_nul_byte_is_refused),
        FOLDER_TEST(objects_of_the_core_group_and_of_no_namespace_cannot_be_confused),
        FOLDER_TEST(the_first_write_makes_what_was_seen_lasting),
        FOLDER_TEST(an_event_is_one_line),
        FOLDER_TEST(the_same_event_again_is_counted),
        FOLDER_TEST(the_event_file_is_bounded),
        FOLDER_TEST(of_many_small_events_the_last_thousand_are_kept),
        FOLDER_TEST(counts_in_a_large_file_wait_for_the_next_refresh),
        FOLDER_TEST(torn_and_foreign_lines_do_no_harm),
        FOLDER_TEST(annotations_of_a_manifest_are_kept_beside_its_status),
        FOLDER_TEST(a_patch_of_a_manifest_beyond_annotations_is_refused),
        FOLDER_TEST(a_rendered_object_is_patched_as_a_whole),
        FOLDER_TEST(a_status_edited_by_hand_is_never_written_over),
        FOLDER_TEST(annotations_by_hand_must_be_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
