// SPDX-License-Identifier: Apache-2.0
// test_store_mem.c: the memory store: lookups, order, writes.
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "object/meta.h"
#include "store/store_mem.h"

struct fixture {
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_error err;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.store = prg_store_mem_new()};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
    return 0;
}

static cJSON *widget(struct fixture *f, const char *ns, const char *name)
{
    cJSON *object = json_of(&f->arena, "{'apiVersion': 'example.com/v1', 'kind': 'Widget', 'metadata': {}}");
    cJSON *meta = prg_json_get(object, "metadata");
    prg_json_set_string(&f->arena, meta, "name", name);
    if (*ns)
        prg_json_set_string(&f->arena, meta, "namespace", ns);
    return object;
}

static void put(struct fixture *f, const cJSON *object)
{
    assert_ok(prg_store_mem_put(f->store, object, false, false, &f->err), &f->err);
}

static const cJSON *get(struct fixture *f, const char *ns, const char *name)
{
    return prg_reader_get(&f->store->reader, "example.com", "Widget", ns, name);
}

static enum prg_write_result apply(struct fixture *f, const char *text)
{
    enum prg_write_result result;
    assert_ok(f->store->ops->apply(f->store, json_of(&f->arena, text), &result, &f->err), &f->err);
    return result;
}

static void collect(const cJSON *object, void *ctx)
{
    prg_strbuf_printf(ctx, "%s/%s ", prg_meta_namespace(object), prg_meta_name(object));
}

static void assert_list(struct fixture *f, const char *ns, const char *want)
{
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    f->store->reader.list(&f->store->reader, "example.com", "Widget", ns, collect, &got);
    assert_string_equal(got.text, want);
}

static void get_tells_group_kind_namespace_and_name_apart(void **state)
{
    struct fixture *f = *state;
    put(f, widget(f, "a", "x"));
    assert_non_null(get(f, "a", "x"));
    assert_null(get(f, "b", "x"));
    assert_null(get(f, "a", "y"));
    assert_null(prg_reader_get(&f->store->reader, "", "Widget", "a", "x"));
    assert_null(prg_reader_get(&f->store->reader, "example.com", "widget", "a", "x"));
    // Parts that would be one text when joined are still different.
    put(f, widget(f, "", "ax"));
    assert_null(get(f, "", "x"));
    assert_int_equal(prg_store_mem_count(f->store), 2);
}

static void list_is_ordered_by_namespace_and_name(void **state)
{
    struct fixture *f = *state;
    put(f, widget(f, "b", "y"));
    put(f, widget(f, "a", "z"));
    put(f, widget(f, "b", "x"));
    put(f, widget(f, "", "cluster"));
    put(f, widget(f, "aa", "a"));
    assert_list(f, NULL, "/cluster a/z aa/a b/x b/y ");
    assert_list(f, "b", "b/x b/y ");
    assert_list(f, "a", "a/z ");
    assert_list(f, "", "/cluster ");
    assert_list(f, "c", "");
    put(f, widget(f, "a", "a"));
    assert_list(f, "a", "a/a a/z ");
}

static void list_of_an_unknown_kind_is_empty(void **state)
{
    struct fixture *f = *state;
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    f->store->reader.list(&f->store->reader, "nowhere", "Nothing", NULL, collect, &got);
    assert_string_equal(got.text, "");
}

static void put_copies_or_borrows(void **state)
{
    struct fixture *f = *state;
    cJSON *copied = widget(f, "a", "copied"), *borrowed = widget(f, "a", "borrowed");
    assert_ok(prg_store_mem_put(f->store, copied, false, false, &f->err), &f->err);
    assert_ok(prg_store_mem_put(f->store, borrowed, true, false, &f->err), &f->err);
    assert_ptr_equal(get(f, "a", "borrowed"), borrowed);
    assert_ptr_not_equal(get(f, "a", "copied"), copied);
    assert_json_equal(get(f, "a", "copied"), copied);
}

static void put_refuses_a_second_object_unless_told_to_replace(void **state)
{
    struct fixture *f = *state;
    put(f, widget(f, "a", "x"));
    cJSON *other = widget(f, "a", "x");
    prg_json_set_int(&f->arena, other, "n", 2);
    assert_int_equal(prg_store_mem_put(f->store, other, false, false, &f->err), PRG_CONFLICT);
    assert_error_has(&f->err, "example.com/Widget a/x");
    assert_null(prg_json_get(get(f, "a", "x"), "n"));
    assert_ok(prg_store_mem_put(f->store, other, false, true, &f->err), &f->err);
    assert_non_null(prg_json_get(get(f, "a", "x"), "n"));
    assert_list(f, NULL, "a/x ");
}

static void put_refuses_what_is_no_object(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(prg_store_mem_put(f->store, json_of(&f->arena, "{'kind': 'X'}"), false, false, &f->err),
                     PRG_INVALID);
    assert_int_equal(prg_store_mem_put(f->store, json_of(&f->arena, "[]"), false, false, NULL), PRG_INVALID);
    assert_int_equal(prg_store_mem_count(f->store), 0);
}

static void apply_creates_then_updates_then_leaves_alone(void **state)
{
    struct fixture *f = *state;
    const char *one = "{'apiVersion': 'example.com/v1', 'kind': 'Widget', 'metadata': {'name': 'x', 'namespace': 'a'},"
                      " 'spec': {'n': 1}}";
    const char *two = "{'apiVersion': 'example.com/v1', 'kind': 'Widget', 'metadata': {'name': 'x', 'namespace': 'a'},"
                      " 'spec': {'n': 2}}";
    assert_int_equal(apply(f, one), PRG_WRITE_CREATED);
    assert_int_equal(apply(f, one), PRG_WRITE_UNCHANGED);
    assert_int_equal(apply(f, two), PRG_WRITE_UPDATED);
    assert_int_equal(apply(f, two), PRG_WRITE_UNCHANGED);
    assert_json_text(&f->arena, get(f, "a", "x"), two);
}

static void apply_keeps_the_stored_status(void **state)
{
    struct fixture *f = *state;
    cJSON *object = widget(f, "a", "x");
    prg_json_set(&f->arena, object, "status", json_of(&f->arena, "{'ready': true}"));
    put(f, object);
    assert_int_equal(apply(f, "{'apiVersion': 'example.com/v1', 'kind': 'Widget', 'spec': {'n': 1},"
                              " 'metadata': {'name': 'x', 'namespace': 'a'}, 'status': {'ready': false}}"),
                     PRG_WRITE_UPDATED);
    assert_json_text(&f->arena, prg_json_get(get(f, "a", "x"), "status"), "{'ready': true}");
    assert_json_text(&f->arena, prg_json_get(get(f, "a", "x"), "spec"), "{'n': 1}");
}

static void apply_of_a_stored_object_itself_is_safe(void **state)
{
    struct fixture *f = *state;
    enum prg_write_result result;
    put(f, widget(f, "a", "x"));
    assert_ok(f->store->ops->apply(f->store, get(f, "a", "x"), &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UNCHANGED);
}

static void set_status_replaces_and_notices_no_change(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"example.com", "Widget", "a", "x"};
    const cJSON *status = json_of(&f->arena, "{'n': 1}");
    enum prg_write_result result;
    put(f, widget(f, "a", "x"));
    assert_ok(f->store->ops->set_status(f->store, &key, status, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UPDATED);
    assert_ok(f->store->ops->set_status(f->store, &key, status, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UNCHANGED);
    assert_json_text(&f->arena, prg_json_get(get(f, "a", "x"), "status"), "{'n': 1}");
    assert_ok(f->store->ops->set_status(f->store, &key, NULL, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UPDATED);
    assert_null(prg_json_get(get(f, "a", "x"), "status"));
    assert_ok(f->store->ops->set_status(f->store, &key, NULL, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UNCHANGED);
    key.name = "absent";
    assert_int_equal(f->store->ops->set_status(f->store, &key, status, &result, &f->err), PRG_NOTFOUND);
    assert_error_has(&f->err, "Widget a/absent");
}

static void remove_looks_at_the_uid(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"example.com", "Widget", "a", "x"};
    enum prg_write_result result;
    cJSON *object = widget(f, "a", "x");
    prg_json_set_string(&f->arena, prg_json_get(object, "metadata"), "uid", "u1");
    put(f, object);
    assert_int_equal(f->store->ops->remove(f->store, &key, "u2", &result, &f->err), PRG_CONFLICT);
    assert_error_has(&f->err, "u1");
    assert_non_null(get(f, "a", "x"));
    assert_ok(f->store->ops->remove(f->store, &key, "u1", &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_DELETED);
    assert_null(get(f, "a", "x"));
    assert_list(f, NULL, "");
    assert_ok(f->store->ops->remove(f->store, &key, "u1", &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_UNCHANGED);
}

static void remove_without_a_uid_takes_any(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"example.com", "Widget", "a", "x"};
    enum prg_write_result result;
    put(f, widget(f, "a", "x"));
    put(f, widget(f, "a", "y"));
    assert_list(f, NULL, "a/x a/y ");
    assert_ok(f->store->ops->remove(f->store, &key, NULL, &result, &f->err), &f->err);
    assert_int_equal(result, PRG_WRITE_DELETED);
    // The key comes back before anybody listed: both the removal and the new object count.
    put(f, widget(f, "a", "x"));
    assert_list(f, NULL, "a/x a/y ");
    assert_int_equal(prg_store_mem_count(f->store), 2);
}

static void collect_event(const struct prg_key *key, const struct prg_store_event *event, unsigned count, void *ctx)
{
    prg_strbuf_printf(ctx, "%s %s %s %u;", key->name, event->type, event->message, count);
}

static void equal_events_are_counted(void **state)
{
    struct fixture *f = *state;
    struct prg_key a = {"example.com", "Widget", "a", "x"}, b = {"example.com", "Widget", "a", "y"};
    struct prg_store_event event = {"Warning", "Bad", "worse"}, other = {"Normal", "Bad", "worse"};
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    assert_ok(f->store->ops->record_event(f->store, &a, &event, 0, &f->err), &f->err);
    assert_ok(f->store->ops->record_event(f->store, &a, &other, 0, &f->err), &f->err);
    assert_ok(f->store->ops->record_event(f->store, &b, &event, 0, &f->err), &f->err);
    assert_ok(f->store->ops->record_event(f->store, &a, &event, 0, &f->err), &f->err);
    prg_store_mem_each_event(f->store, collect_event, &got);
    assert_string_equal(got.text, "x Warning worse 2;x Normal worse 1;y Warning worse 1;");
}

static void a_fleet_is_put_listed_and_taken_out(void **state)
{
    enum { COUNT = 2000 };
    struct fixture *f = *state;
    char name[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "w%04d", (i * 7919) % COUNT);
        put(f, widget(f, i % 2 ? "odd" : "even", name));
    }
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    f->store->reader.list(&f->store->reader, "example.com", "Widget", NULL, collect, &got);
    assert_true(strncmp(got.text, "even/w", 6) == 0);
    for (int i = 0; i < COUNT; i++) {
        enum prg_write_result result;
        snprintf(name, sizeof(name), "w%04d", (i * 7919) % COUNT);
        struct prg_key key = {"example.com", "Widget", i % 2 ? "odd" : "even", name};
        assert_ok(f->store->ops->remove(f->store, &key, NULL, &result, &f->err), &f->err);
        assert_int_equal(result, PRG_WRITE_DELETED);
        if (i % 500 == 0) {
            prg_strbuf_clear(&got);
            f->store->reader.list(&f->store->reader, "example.com", "Widget", NULL, collect, &got);
        }
    }
    assert_int_equal(prg_store_mem_count(f->store), 0);
    assert_list(f, NULL, "");
}

static void refresh_has_nothing_to_tell(void **state)
{
    struct fixture *f = *state;
    assert_ok(f->store->ops->refresh(f->store, NULL, NULL, &f->err), &f->err);
    prg_store_free(NULL);
}

static void add_labelled(struct fixture *f, const char *ns, const char *name, const char *value)
{
    cJSON *object = widget(f, ns, name);
    cJSON *labels = prg_json_ensure_object(&f->arena, prg_json_get(object, "metadata"), "labels");
    prg_json_set_string(&f->arena, labels, "app", value);
    put(f, object);
}

static void assert_labelled(struct fixture *f, const char *ns, const char *value, const char *want)
{
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    prg_reader_list_labelled(&f->store->reader, "example.com", "Widget", ns, "app", value, collect, &got);
    assert_string_equal(got.text, want);
}

static void a_label_is_looked_up_in_order_and_follows_every_change(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"example.com", "Widget", "a", "y"};
    add_labelled(f, "b", "x", "one");
    add_labelled(f, "a", "z", "one");
    add_labelled(f, "a", "y", "one");
    add_labelled(f, "a", "other", "two");
    put(f, widget(f, "a", "bare"));
    assert_labelled(f, "a", "one", "a/y a/z ");
    assert_labelled(f, NULL, "one", "a/y a/z b/x ");
    assert_labelled(f, "a", "three", "");
    assert_labelled(f, "none", "one", "");
    assert_true(prg_store_mem_drop(f->store, &key));
    assert_labelled(f, "a", "one", "a/z ");
    add_labelled(f, "a", "a", "one");
    assert_labelled(f, "a", "one", "a/a a/z ");
    prg_reader_list_labelled(&f->store->reader, "example.com", "Gadget", "a", "app", "one", collect, NULL);
}

struct told {
    struct fixture *f;
    struct prg_strbuf text; // "result:error;"
    bool asks_again;
};

static void on_written(const struct prg_write_outcome *outcome, void *ctx)
{
    static const char *const names[] = {"unchanged", "created", "updated", "deleted", "failed"};
    struct told *told = ctx;
    char text[PRG_ERROR_LINE] = "";
    assert_true((outcome->result == PRG_WRITE_FAILED) == (outcome->err != NULL));
    if (outcome->err)
        prg_error_text(outcome->err, text, sizeof(text));
    prg_strbuf_printf(&told->text, "%s%s%s;", names[outcome->result], *text ? " " : "", text);
    if (told->asks_again) {
        told->asks_again = false;
        struct prg_write_request request = {.kind = PRG_WRITE_CREATE, .object = widget(told->f, "a", "asked")};
        prg_store_write(told->f->store, &request, on_written, told);
    }
}

static void ask(struct told *told, enum prg_write_kind kind, const cJSON *object, const cJSON *stored)
{
    struct prg_write_request request = {.kind = kind, .object = object, .stored = stored};
    prg_store_write(told->f->store, &request, on_written, told);
}

static void a_write_is_done_at_once_and_told_when_the_driver_delivers(void **state)
{
    struct fixture *f = *state;
    struct told told = {.f = f, .asks_again = true};
    cJSON *object = widget(f, "a", "x");
    prg_json_set_string(&f->arena, prg_json_get(object, "metadata"), "uid", "u1");
    ask(&told, PRG_WRITE_APPLY, object, NULL);
    assert_non_null(get(f, "a", "x"));
    ask(&told, PRG_WRITE_APPLY, object, NULL);
    assert_string_equal(told.text.text ? told.text.text : "", "");
    assert_false(prg_store_is_delivered(f->store));
    assert_int_equal(prg_store_deliver(f->store), 3); // with the one that a callback asked for
    assert_string_equal(told.text.text, "created;unchanged;created;");
    assert_true(prg_store_is_delivered(f->store));
    ask(&told, PRG_WRITE_CREATE, widget(f, "a", "x"), NULL); // never asked again by prg_store_free
    prg_strbuf_release(&told.text);
}

static void patch_status_and_delete_are_for_the_object_that_was_read(void **state)
{
    struct fixture *f = *state;
    struct told told = {.f = f};
    cJSON *object = widget(f, "a", "x"), *before = widget(f, "a", "x");
    prg_json_set_string(&f->arena, prg_json_get(object, "metadata"), "uid", "u2");
    prg_json_set_string(&f->arena, prg_json_get(before, "metadata"), "uid", "u1");
    put(f, object);
    const cJSON *patch = json_of(&f->arena, "{'metadata': {'annotations': {'k': 'v', 'gone': null}}}");
    ask(&told, PRG_WRITE_PATCH, patch, before);
    ask(&told, PRG_WRITE_STATUS, json_of(&f->arena, "{'ready': true}"), before);
    ask(&told, PRG_WRITE_DELETE, NULL, before);
    prg_store_deliver(f->store);
    assert_int_equal(strncmp(told.text.text, "failed", 6), 0);
    assert_non_null(strstr(told.text.text, "its uid is 'u2', not 'u1'"));
    assert_null(strstr(told.text.text, "deleted"));
    prg_strbuf_clear(&told.text);
    ask(&told, PRG_WRITE_PATCH, patch, get(f, "a", "x"));
    ask(&told, PRG_WRITE_PATCH, patch, get(f, "a", "x"));
    ask(&told, PRG_WRITE_STATUS, json_of(&f->arena, "{'ready': true}"), get(f, "a", "x"));
    assert_string_equal(prg_meta_annotation(get(f, "a", "x"), "k"), "v");
    assert_true(prg_json_get_true(prg_json_get(get(f, "a", "x"), "status"), "ready"));
    ask(&told, PRG_WRITE_DELETE, NULL, get(f, "a", "x"));
    ask(&told, PRG_WRITE_DELETE, NULL, object);
    ask(&told, PRG_WRITE_STATUS, NULL, object);
    prg_store_deliver(f->store);
    assert_string_equal(told.text.text,
                        "updated;unchanged;updated;deleted;unchanged;failed status of example.com/Widget a/x: "
                        "example.com/Widget a/x "
                        "does not exist;");
    prg_strbuf_release(&told.text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(get_tells_group_kind_namespace_and_name_apart),
        TEST(list_is_ordered_by_namespace_and_name),
        TEST(list_of_an_unknown_kind_is_empty),
        TEST(put_copies_or_borrows),
        TEST(put_refuses_a_second_object_unless_told_to_replace),
        TEST(put_refuses_what_is_no_object),
        TEST(apply_creates_then_updates_then_leaves_alone),
        TEST(apply_keeps_the_stored_status),
        TEST(apply_of_a_stored_object_itself_is_safe),
        TEST(set_status_replaces_and_notices_no_change),
        TEST(remove_looks_at_the_uid),
        TEST(remove_without_a_uid_takes_any),
        TEST(equal_events_are_counted),
        TEST(a_fleet_is_put_listed_and_taken_out),
        TEST(refresh_has_nothing_to_tell),
        TEST(a_label_is_looked_up_in_order_and_follows_every_change),
        TEST(a_write_is_done_at_once_and_told_when_the_driver_delivers),
        TEST(patch_status_and_delete_are_for_the_object_that_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
