// SPDX-License-Identifier: Apache-2.0
// test_refresh.c: noticing what changed outside, files that break, and collecting what lost its owner.
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/meta.h"

#define WIDGET(name) "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: " name "\n"
#define RENDERED(name) WIDGET(name) "  namespace: default\n"
#define OWNED(name, owner_uid)                                                                                         \
    RENDERED(name)                                                                                                     \
    "  ownerReferences:\n  - {apiVersion: example.com/v1, kind: Widget, name: o, uid: " owner_uid                      \
    ", controller: true, blockOwnerDeletion: true}\n"
#define OBJECTS ".perigee/objects/example.com/Widget/default/"
#define STATUS ".perigee/status/example.com/Widget/default/"

static const struct prg_key key_a = {"example.com", "Widget", "default", "a"};

static const char *spec_of(struct folder *f, const char *name)
{
    const cJSON *spec = prg_json_get(get_widget(f, name), "spec");
    return spec ? prg_json_print_arena(&f->arena, spec, PRG_JSON_SORTED) : "none";
}

static void changed_new_and_removed_files_are_reported_once(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 1}\n");
    write_file(f, "b.yaml", WIDGET("b"));
    open_folder(f);
    refresh(f);
    assert_changed(f, "");
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 2}\n");
    write_file(f, "sub/c.yaml", WIDGET("c"));
    remove_path(f, "b.yaml");
    refresh(f);
    assert_changed(f, "Widget default/a;Widget default/b;Widget default/c");
    assert_string_equal(spec_of(f, "a"), "{\"v\":2}");
    assert_null(get_widget(f, "b"));
    assert_non_null(get_widget(f, "c"));
    refresh(f);
    assert_changed(f, "");
    remove_path(f, "sub");
    refresh(f);
    assert_changed(f, "Widget default/c");
}

static void only_the_objects_of_a_file_that_differ_are_reported(void **state)
{
    struct folder *f = *state;
    write_file(f, "all.yaml", WIDGET("a") "spec: {v: 1}\n---\n" WIDGET("b") "---\n" WIDGET("c"));
    open_folder(f);
    write_file(f, "all.yaml", "# comment\n" WIDGET("c") "---\n" WIDGET("a") "spec: {v: 2}\n---\n" WIDGET("d"));
    refresh(f);
    assert_changed(f, "Widget default/a;Widget default/b;Widget default/d");
}

static void a_new_comment_or_time_is_no_change(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 1}\n");
    open_folder(f);
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 1}\n");
    refresh(f);
    assert_changed(f, "");
    write_file(f, "a.yaml", "# new\n" WIDGET("a") "spec:\n  v: 1\n");
    refresh(f);
    assert_changed(f, "");
}

static void only_changed_files_are_read_again(void **state)
{
    struct folder *f = *state;
    char path[64], text[256];
    for (int i = 0; i < 50; i++) {
        snprintf(path, sizeof(path), "w/%02d.yaml", i);
        snprintf(text, sizeof(text), WIDGET("w%02d") "spec: {v: 1}\n", i);
        write_file(f, path, text);
    }
    open_folder(f);
    refresh(f);
    const cJSON *spec = prg_json_get(get_widget(f, "w07"), "spec")->child;
    write_file(f, "w/08.yaml", WIDGET("w08") "spec: {v: 2}\n");
    refresh(f);
    assert_changed(f, "Widget default/w08");
    assert_ptr_equal(prg_json_get(get_widget(f, "w07"), "spec")->child, spec); // the very tree that was read at open
}

static void a_second_write_within_one_tick_of_the_clock_is_noticed(void **state)
{
    struct folder *f = *state;
    const char *path = prg_arena_printf(&f->arena, "%s/a.yaml", f->root);
    open_folder(f);
    for (int i = 0; i < 20; i++) {
        // Same length, same inode, and mostly the same time stamp.
        char text[128];
        snprintf(text, sizeof(text), WIDGET("a") "spec: {v: %03d}\n", 100 + i);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
        refresh(f);
        assert_changed(f, "Widget default/a");
        snprintf(text, sizeof(text), "{\"v\":%03d}", 100 + i);
        assert_string_equal(spec_of(f, "a"), text);
    }
}

static void own_writes_are_not_reported(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    open_folder(f);
    apply(f, RENDERED("r") "spec: {v: 1}\n");
    set_status(f, &key_a, "{'x': 1}");
    refresh(f);
    assert_changed(f, "");
    apply(f, RENDERED("r") "spec: {v: 2}\n");
    refresh(f);
    assert_changed(f, "");
}

static void a_status_edited_by_hand_is_reported(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    open_folder(f);
    apply(f, RENDERED("r") "spec: {v: 1}\n");
    write_file(f, STATUS "a.yaml", "status: {x: 1}\n");
    write_file(f, OBJECTS "r.yaml", RENDERED("r") "spec: {v: 1}\nstatus: {x: 2}\n");
    refresh(f);
    assert_changed(f, "Widget default/a;Widget default/r");
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{'x': 1}");
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "r"), "status"), "{'x': 2}");
    remove_path(f, STATUS "a.yaml");
    refresh(f);
    assert_changed(f, "Widget default/a");
    assert_null(prg_json_get(get_widget(f, "a"), "status"));
}

static void a_rendered_file_removed_by_hand_is_reported_and_made_again(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    apply(f, RENDERED("r") "spec: {v: 1}\n");
    remove_path(f, OBJECTS "r.yaml");
    refresh(f);
    assert_changed(f, "Widget default/r");
    assert_null(get_widget(f, "r"));
    assert_int_equal(apply(f, RENDERED("r") "spec: {v: 1}\n"), PRG_WRITE_CREATED);
    assert_true(has_file(f, OBJECTS "r.yaml"));
}

static void objects_may_move_between_files(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("x") "---\n" WIDGET("keep"));
    write_file(f, "b.yaml", WIDGET("other"));
    open_folder(f);
    write_file(f, "a.yaml", WIDGET("keep") "---\n" WIDGET("other"));
    write_file(f, "b.yaml", WIDGET("x"));
    refresh(f);
    assert_changed(f, "");
    assert_string_equal(f->problems.text, "");
    write_file(f, "c.yaml", WIDGET("x"));
    remove_path(f, "b.yaml");
    refresh(f);
    assert_changed(f, "");
    assert_non_null(get_widget(f, "x"));
}

// ---- files that break ----

static void a_broken_file_keeps_its_last_good_objects_and_is_reported_once(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 1}\n");
    open_folder(f);
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: [\n");
    refresh(f);
    assert_changed(f, "");
    assert_non_null(strstr(f->problems.text, "/a.yaml:"));
    assert_string_equal(spec_of(f, "a"), "{\"v\":1}");
    refresh(f);
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: [\n"); // saved again, unchanged
    refresh(f);
    assert_string_equal(f->problems.text, "");
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: {\n");
    refresh(f);
    assert_non_null(strstr(f->problems.text, "/a.yaml:"));
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 3}\n");
    refresh(f);
    assert_changed(f, "Widget default/a");
    assert_string_equal(f->problems.text, "");
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: {\n"); // broken as before, but anew
    refresh(f);
    assert_non_null(strstr(f->problems.text, "/a.yaml:"));
    remove_path(f, "a.yaml");
    refresh(f);
    assert_changed(f, "Widget default/a");
}

static void a_new_file_that_is_broken_does_not_stop_the_others(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    write_file(f, "a.yaml", WIDGET("a"));
    write_file(f, "bad.yaml", "kind: X\n");
    refresh(f);
    assert_changed(f, "Widget default/a");
    assert_string_equal(f->problems.text,
                        prg_arena_printf(&f->arena, "%s/bad.yaml:1: /apiVersion is missing\n", f->root));
}

static void a_second_document_for_an_object_is_refused_until_the_first_goes(void **state)
{
    struct folder *f = *state;
    write_file(f, "z.yaml", WIDGET("a") "spec: {v: 1}\n");
    open_folder(f);
    write_file(f, "b.yaml", WIDGET("b") "---\n" WIDGET("a") "spec: {v: 2}\n");
    refresh(f);
    assert_changed(f, ""); // not even its other object
    assert_non_null(strstr(f->problems.text, "/b.yaml:6: example.com/Widget default/a is also at "));
    assert_non_null(strstr(f->problems.text, "/z.yaml:1"));
    refresh(f);
    assert_string_equal(f->problems.text, "");
    assert_string_equal(spec_of(f, "a"), "{\"v\":1}");
    remove_path(f, "z.yaml");
    refresh(f);
    assert_changed(f, "Widget default/a;Widget default/b");
    assert_string_equal(spec_of(f, "a"), "{\"v\":2}");
}

static void an_object_twice_in_one_file_is_refused(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 1}\n");
    open_folder(f);
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 2}\n---\n" WIDGET("a") "spec: {v: 3}\n");
    refresh(f);
    assert_changed(f, "");
    assert_non_null(strstr(f->problems.text, "/a.yaml:7: "));
    assert_string_equal(spec_of(f, "a"), "{\"v\":1}");
}

static void last_good_objects_give_way_to_another_file(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("x") "spec: {v: 1}\n---\n" WIDGET("y1"));
    open_folder(f);
    // x moves to another file while what it leaves behind is broken: both in one refresh, then in two.
    write_file(f, "a.yaml", "oops: [\n");
    write_file(f, "b.yaml", WIDGET("x") "spec: {v: 2}\n");
    refresh(f);
    assert_changed(f, "Widget default/x");
    assert_string_equal(spec_of(f, "x"), "{\"v\":2}");
    assert_non_null(get_widget(f, "y1"));
    write_file(f, "c.yaml", WIDGET("y1") "spec: {v: 3}\n");
    refresh(f);
    assert_changed(f, "Widget default/y1");
    assert_string_equal(f->problems.text, "");
    // And come back when that file goes.
    remove_path(f, "b.yaml");
    refresh(f);
    assert_changed(f, "Widget default/x");
    assert_string_equal(spec_of(f, "x"), "{\"v\":1}");
    write_file(f, "a.yaml", WIDGET("x") "spec: {v: 4}\n");
    refresh(f);
    assert_changed(f, "Widget default/x");
    assert_string_equal(spec_of(f, "y1"), "{\"v\":3}");
}

static void a_broken_status_or_rendered_file_keeps_the_last_good_one(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    open_folder(f);
    apply(f, RENDERED("r") "spec: {v: 1}\n");
    set_status(f, &key_a, "{'x': 1}");
    write_file(f, STATUS "a.yaml", "status: 5\n");
    write_file(f, OBJECTS "r.yaml", "spec: {\n");
    refresh(f);
    assert_changed(f, "");
    assert_non_null(strstr(f->problems.text, STATUS "a.yaml:1: /status"));
    assert_non_null(strstr(f->problems.text, OBJECTS "r.yaml:"));
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{'x': 1}");
    assert_string_equal(spec_of(f, "r"), "{\"v\":1}");
    // The next write mends them.
    assert_int_equal(apply(f, RENDERED("r") "spec: {v: 2}\n"), PRG_WRITE_UPDATED);
    set_status(f, &key_a, "{'x': 2}");
    refresh(f);
    assert_string_equal(f->problems.text, "");
    open_folder(f);
    assert_string_equal(spec_of(f, "r"), "{\"v\":2}");
}

static void without_a_problem_function_refresh_returns_the_error(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 1}\n");
    open_folder(f);
    write_file(f, "a.yaml", "kind: [\n");
    write_file(f, "b.yaml", WIDGET("b"));
    assert_int_equal(f->store->ops->refresh(f->store, NULL, NULL, &f->err), PRG_INVALID);
    assert_error_has(&f->err, "/a.yaml:");
    assert_string_equal(spec_of(f, "a"), "{\"v\":1}");
    assert_non_null(get_widget(f, "b"));
}

static void a_link_that_breaks_keeps_the_objects(void **state)
{
    struct folder *f = *state;
    write_file(f, ".data/a.yaml", WIDGET("a") "spec: {v: 1}\n");
    assert_int_equal(symlink(".data/a.yaml", prg_arena_printf(&f->arena, "%s/a.yaml", f->root)), 0);
    open_folder(f);
    remove_path(f, ".data/a.yaml");
    refresh(f);
    assert_changed(f, "");
    assert_non_null(strstr(f->problems.text, "/a.yaml: No such file"));
    refresh(f);
    assert_string_equal(f->problems.text, "");
    write_file(f, ".data/a.yaml", WIDGET("a") "spec: {v: 2}\n");
    refresh(f);
    assert_changed(f, "Widget default/a");
}

static void a_folder_that_vanishes_is_an_error_and_loses_nothing(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a"));
    open_folder(f);
    const char *moved = prg_arena_printf(&f->arena, "%s-moved", f->root);
    assert_int_equal(rename(f->root, moved), 0);
    int rc = f->store->ops->refresh(f->store, NULL, NULL, &f->err);
    assert_int_equal(rename(moved, f->root), 0);
    assert_int_equal(rc, PRG_IO);
    assert_error_has(&f->err, f->root);
    assert_non_null(get_widget(f, "a"));
    refresh(f);
    assert_changed(f, "");
}

// ---- collecting ----

static void rendered_objects_go_with_their_owner(void **state)
{
    struct folder *f = *state;
    write_file(f, "owner.yaml", WIDGET("owner") "  uid: u1\n");
    open_folder(f);
    apply(f, OWNED("child", "u1") "spec: {}\n");
    const char *child_uid = prg_arena_strdup(&f->arena, prg_meta_uid(get_widget(f, "child")));
    apply(f, prg_arena_printf(&f->arena, OWNED("grandchild", "%s"), child_uid));
    apply(f, RENDERED("free"));
    refresh(f);
    assert_changed(f, "");
    remove_path(f, "owner.yaml");
    refresh(f);
    assert_changed(f, "Widget default/owner;Widget default/child;Widget default/grandchild");
    assert_null(get_widget(f, "child"));
    assert_false(has_file(f, OBJECTS "grandchild.yaml"));
    assert_non_null(get_widget(f, "free"));
    assert_true(has_file(f, OBJECTS "free.yaml"));
}

static void what_lost_its_owner_while_nothing_ran_is_collected_by_the_first_refresh(void **state)
{
    struct folder *f = *state;
    write_file(f, "owner.yaml", WIDGET("owner") "  uid: u1\n");
    open_folder(f);
    apply(f, OWNED("child", "u1"));
    remove_path(f, "owner.yaml");
    open_folder(f);
    assert_non_null(get_widget(f, "child")); // reading alone removes nothing
    refresh(f);
    assert_changed(f, "Widget default/child");
    assert_false(has_file(f, OBJECTS));
}

static void children_go_when_remove_takes_their_owner(void **state)
{
    struct folder *f = *state;
    struct prg_key key = {"example.com", "Widget", "default", "parent"};
    enum prg_write_result result;
    open_folder(f);
    apply(f, RENDERED("parent"));
    apply(f, prg_arena_printf(&f->arena, OWNED("child", "%s"), prg_meta_uid(get_widget(f, "parent"))));
    refresh(f);
    assert_non_null(get_widget(f, "child"));
    assert_ok(f->store->ops->remove(f->store, &key, NULL, &result, &f->err), &f->err);
    refresh(f);
    assert_changed(f, "Widget default/child");
}

static void a_new_owner_of_the_name_with_another_uid_is_not_the_owner(void **state)
{
    struct folder *f = *state;
    write_file(f, "owner.yaml", WIDGET("owner") "  uid: u1\n");
    open_folder(f);
    apply(f, OWNED("child", "u1"));
    write_file(f, "owner.yaml", WIDGET("owner") "  uid: u2\n");
    refresh(f);
    assert_changed(f, "Widget default/owner;Widget default/child");
}

static void nothing_is_collected_while_a_file_cannot_be_read(void **state)
{
    struct folder *f = *state;
    write_file(f, "owner.yaml", WIDGET("owner") "  uid: u1\n");
    write_file(f, "other.yaml", WIDGET("other"));
    open_folder(f);
    apply(f, OWNED("child", "u1"));
    remove_path(f, "owner.yaml");
    write_file(f, "other.yaml", "x: [\n"); // the owner may be meant to be in here
    refresh(f);
    assert_changed(f, "Widget default/owner");
    assert_non_null(get_widget(f, "child"));
    write_file(f, "other.yaml", WIDGET("other"));
    refresh(f);
    assert_changed(f, "Widget default/child");
}

static void an_object_made_again_starts_anew(void **state)
{
    struct folder *f = *state;
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 1}\n");
    open_folder(f);
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 2}\n");
    refresh(f);
    set_status(f, &key_a, "{'x': 1}");
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 2);
    remove_path(f, "a.yaml");
    refresh(f);
    assert_false(has_file(f, STATUS "a.yaml"));
    f->now_ns += INT64_C(60000000000);
    write_file(f, "a.yaml", WIDGET("a") "spec: {v: 2}\n");
    refresh(f);
    assert_int_equal(prg_meta_generation(get_widget(f, "a")), 1);
    assert_string_equal(prg_meta_created(get_widget(f, "a")), "2026-06-01T12:01:00Z");
    assert_null(prg_json_get(get_widget(f, "a"), "status"));
    open_folder(f);
    assert_string_equal(prg_meta_created(get_widget(f, "a")), "2026-06-01T12:01:00Z");
}

static void a_status_file_that_goes_as_its_object_comes_is_not_seen(void **state)
{
    struct folder *f = *state;
    write_file(f, STATUS "a.yaml", "status: {x: old}\n");
    open_folder(f);
    remove_path(f, STATUS "a.yaml");
    write_file(f, "a.yaml", WIDGET("a"));
    refresh(f);
    assert_changed(f, "Widget default/a");
    assert_null(prg_json_get(get_widget(f, "a"), "status"));
    set_status(f, &key_a, "{'x': 1}");
    assert_json_text(&f->arena, prg_json_get(get_widget(f, "a"), "status"), "{'x': 1}");
}

static void a_status_file_made_by_hand_goes_with_its_rendered_object(void **state)
{
    struct folder *f = *state;
    enum prg_write_result result;
    open_folder(f);
    apply(f, RENDERED("a") "spec: {v: 1}\n");
    write_file(f, STATUS "a.yaml", "status: {x: 1}\n");
    write_file(f, STATUS "nobody.yaml", "status: {x: 1}\n");
    refresh(f);
    assert_true(has_file(f, STATUS "a.yaml"));
    assert_false(has_file(f, STATUS "nobody.yaml")); // of no object
    assert_ok(f->store->ops->remove(f->store, &key_a, NULL, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_DELETED);
    assert_false(has_file(f, STATUS "a.yaml"));
    refresh(f);
    assert_changed(f, "");
}

static void a_hidden_rendered_object_is_collected_quietly(void **state)
{
    struct folder *f = *state;
    write_file(f, "owner.yaml", WIDGET("owner") "  uid: u1\n");
    open_folder(f);
    apply(f, OWNED("child", "u1"));
    write_file(f, "child.yaml", WIDGET("child") "spec: {mine: true}\n");
    refresh(f);
    assert_changed(f, "Widget default/child");
    remove_path(f, "owner.yaml");
    refresh(f);
    assert_changed(f, "Widget default/owner");
    assert_false(has_file(f, OBJECTS "child.yaml"));
    assert_string_equal(spec_of(f, "child"), "{\"mine\":true}");
}

// ---- everything at random ----

static unsigned seed;

static unsigned dice(unsigned sides)
{
    return (unsigned)rand_r(&seed) % sides;
}

static void random_manifest(struct folder *f, const char *path)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    unsigned documents = 1 + dice(3);
    for (unsigned i = 0; i < documents; i++)
        prg_strbuf_printf(&text, WIDGET("w%u") "spec: {v: %u}\n%s---\n", dice(6), dice(3),
                          dice(4) ? "" : "status: {from: manifest}\n");
    if (dice(5) == 0)
        prg_strbuf_puts(&text, "broken: [\n");
    write_file(f, path, text.text);
}

static void random_step(struct folder *f)
{
    const char *manifest = prg_arena_printf(&f->arena, "d%u/f%u.yaml", dice(2), dice(3));
    const char *name = prg_arena_printf(&f->arena, "w%u", dice(6));
    const char *status = prg_arena_printf(&f->arena, STATUS "%s.yaml", name);
    const char *rendered = prg_arena_printf(&f->arena, OBJECTS "%s.yaml", name);
    struct prg_key key = {"example.com", "Widget", "default", name};
    enum prg_write_result result;
    int rc = PRG_OK;
    switch (dice(9)) {
    case 0:
        if (has_file(f, manifest))
            remove_path(f, manifest);
        break;
    case 1:
        write_file(f, status, dice(5) ? prg_arena_printf(&f->arena, "status: {x: %u}\n", dice(3)) : "status: 1\n");
        break;
    case 2:
        if (has_file(f, status))
            remove_path(f, status);
        break;
    case 3:
        if (has_file(f, rendered))
            remove_path(f, rendered);
        break;
    case 4:
        rc = try_apply(
            f,
            prg_arena_printf(&f->arena, dice(2) ? RENDERED("%s") "spec: {v: %u}\n" : OWNED("%s", "u%u"), name, dice(3)),
            &result);
        assert_true(rc == PRG_OK || rc == PRG_CONFLICT);
        break;
    case 5:
        rc = f->store->ops->remove(f->store, &key, NULL, &result, &f->err);
        assert_true(rc == PRG_OK || rc == PRG_CONFLICT);
        break;
    case 6:
        rc = f->store->ops->set_status(f->store, &key, json_of(&f->arena, "{'x': 7}"), &result, &f->err);
        assert_true(rc == PRG_OK || rc == PRG_NOTFOUND);
        break;
    default:
        random_manifest(f, manifest);
    }
}

struct copy {
    struct prg_arena *arena;
    cJSON *list;
};

static void copy_object(const cJSON *object, void *ctx)
{
    struct copy *copy = ctx;
    prg_json_append(copy->list, prg_json_copy(copy->arena, object));
}

static cJSON *all_widgets(struct folder *f, const struct prg_store *store)
{
    struct copy copy = {&f->arena, prg_json_array(&f->arena)};
    store->reader.list(&store->reader, "example.com", "Widget", NULL, copy_object, &copy);
    return copy.list;
}

static int64_t noon(void *ctx)
{
    (void)ctx;
    return NOON;
}

// Whatever happened before: a store that followed the folder shows what one that is opened now shows.
static void following_a_folder_gives_what_opening_it_gives(void **state)
{
    struct folder *f = *state;
    const struct prg_catalog_options options = {.now_ns = noon};
    int compared = 0;
    seed = 4711;
    open_folder(f);
    for (int i = 0; i < 150; i++) {
        for (unsigned steps = 1 + dice(4); steps > 0; steps--)
            random_step(f);
        refresh(f);
        struct prg_store *fresh;
        if (prg_catalog_open(f->root, &options, &fresh, &f->err) == PRG_OK) {
            assert_json_equal(all_widgets(f, f->store), all_widgets(f, fresh));
            prg_store_free(fresh);
            compared++;
        } else if (dice(3) == 0) { // mend what is broken, or nothing would be compared for long
            remove_path(f, dice(2) ? "d0" : "d1");
            if (has_file(f, ".perigee/status"))
                remove_path(f, ".perigee/status");
        }
        if (!has_file(f, "d0") || !has_file(f, "d1")) {
            write_file(f, "d0/keep.txt", "");
            write_file(f, "d1/keep.txt", "");
        }
        assert_no_temporary_files(f);
    }
    assert_in_range(compared, 20, 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(changed_new_and_removed_files_are_reported_once),
        FOLDER_TEST(only_the_objects_of_a_file_that_differ_are_reported),
        FOLDER_TEST(a_new_comment_or_time_is_no_change),
        FOLDER_TEST(only_changed_files_are_read_again),
        FOLDER_TEST(a_second_write_within_one_tick_of_the_clock_is_noticed),
        FOLDER_TEST(own_writes_are_not_reported),
        FOLDER_TEST(a_status_edited_by_hand_is_reported),
        FOLDER_TEST(a_rendered_file_removed_by_hand_is_reported_and_made_again),
        FOLDER_TEST(objects_may_move_between_files),
        FOLDER_TEST(a_broken_file_keeps_its_last_good_objects_and_is_reported_once),
        FOLDER_TEST(a_new_file_that_is_broken_does_not_stop_the_others),
        FOLDER_TEST(a_second_document_for_an_object_is_refused_until_the_first_goes),
        FOLDER_TEST(an_object_twice_in_one_file_is_refused),
        FOLDER_TEST(last_good_objects_give_way_to_another_file),
        FOLDER_TEST(a_broken_status_or_rendered_file_keeps_the_last_good_one),
        FOLDER_TEST(without_a_problem_function_refresh_returns_the_error),
        FOLDER_TEST(a_link_that_breaks_keeps_the_objects),
        FOLDER_TEST(a_folder_that_vanishes_is_an_error_and_loses_nothing),
        FOLDER_TEST(rendered_objects_go_with_their_owner),
        FOLDER_TEST(what_lost_its_owner_while_nothing_ran_is_collected_by_the_first_refresh),
        FOLDER_TEST(children_go_when_remove_takes_their_owner),
        FOLDER_TEST(a_new_owner_of_the_name_with_another_uid_is_not_the_owner),
        FOLDER_TEST(nothing_is_collected_while_a_file_cannot_be_read),
        FOLDER_TEST(an_object_made_again_starts_anew),
        FOLDER_TEST(a_status_file_that_goes_as_its_object_comes_is_not_seen),
        FOLDER_TEST(a_status_file_made_by_hand_goes_with_its_rendered_object),
        FOLDER_TEST(a_hidden_rendered_object_is_collected_quietly),
        FOLDER_TEST(following_a_folder_gives_what_opening_it_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
