// SPDX-License-Identifier: Apache-2.0
// test_objects.c: the cache, its indexes and its trees.
#include "kube/objects.h"

#include <stdlib.h>
#include <string.h>

#include "kube/timers.h"
#include "object/meta.h"
#include "support/support.h"

struct fixture {
    struct prg_objects *objects;
    struct prg_object_kind *pods, *nodes;
    struct prg_arena arena;
    struct prg_strbuf log; // "ADDED ns/name\n"
};

static const char *const labels[] = {"app", NULL};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    f->objects = prg_objects_new(0);
    f->pods = prg_objects_kind(f->objects, &(struct prg_kind_options){"", "v1", "Pod", labels, prg_prune_pod});
    f->nodes = prg_objects_kind(f->objects, &(struct prg_kind_options){"", "v1", "Node", NULL, NULL});
    prg_strbuf_init(&f->log);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_objects_free(f->objects);
    prg_strbuf_release(&f->log);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static void on_change(enum prg_object_change change, const struct prg_object *old, const struct prg_object *object,
                      void *ctx)
{
    static const char *const names[] = {"SAME", "ADDED", "UPDATED", "REMOVED"};
    struct fixture *f = ctx;
    assert_true((old != NULL) == (change != PRG_OBJECT_ADDED));
    prg_strbuf_printf(&f->log, "%s %s/%s@%s\n", names[change], prg_object_namespace(object), prg_object_name(object),
                      prg_object_version(object));
}

static void assert_log(struct fixture *f, const char *want)
{
    assert_string_equal(f->log.text, want);
    prg_strbuf_clear(&f->log);
}

static struct prg_object *read_object(struct fixture *f, struct prg_object_kind *kind, const char *text)
{
    struct prg_object *object = NULL;
    struct prg_error err = {0};
    char *copy = prg_arena_strdup(&f->arena, text);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    assert_ok(prg_object_read(kind, copy, strlen(copy), &object, &err), &err);
    return object;
}

static struct prg_object *pod(struct fixture *f, const char *ns, const char *name, const char *version,
                              const char *more)
{
    return read_object(
        f, f->pods,
        prg_arena_printf(&f->arena,
                         "{'metadata':{'namespace':'%s','name':'%s','uid':'uid-%s','resourceVersion':'%s'%s}"
                         "}",
                         ns, name, name, version, more));
}

static void put(struct fixture *f, const char *ns, const char *name, const char *version, const char *more)
{
    prg_object_put(pod(f, ns, name, version, more), 0, on_change, f);
}

static void add_name(const struct prg_object *object, void *ctx)
{
    prg_strbuf_printf(ctx, "%s/%s ", prg_object_namespace(object), prg_object_name(object));
}

static void add_tree_name(const cJSON *object, void *ctx)
{
    prg_strbuf_printf(ctx, "%s/%s ", prg_meta_namespace(object), prg_meta_name(object));
}

static void an_object_is_kept_as_pruned_text_with_its_type(void **state)
{
    struct fixture *f = *state;
    struct prg_object *object =
        read_object(f, f->pods,
                    "{ 'metadata' : {'name':'a','namespace':'n','uid':'u','resourceVersion':'12', 'managedFields':[{}],"
                    "'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'x','b':'c'}},"
                    "'spec':{'nodeName':'w','volumes':[],'containers':[{'name':'c','image':'i','env':[],'resources':{'"
                    "limits':{'cpu':'1"
                    "'}}}]},'status':{'count':9007199254740993}}");
    assert_string_equal(prg_object_namespace(object), "n");
    assert_string_equal(prg_object_name(object), "a");
    assert_string_equal(prg_object_uid(object), "u");
    assert_string_equal(prg_object_version(object), "12");
    size_t length;
    const char *text = prg_object_text(object, &length);
    assert_int_equal(strlen(text), length);
    assert_string_equal(
        text, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
              "\"resourceVersion\":\"12\","
              "\"annotations\":{\"b\":\"c\"}},\"spec\":{\"nodeName\":\"w\",\"containers\":[{\"name\":\"c\",\"image\":"
              "\"i\",\"resources\":{\"limits\":{\"cpu\":\"1\"}}}]},\"status\":{\"count\":9007199254740993}}");
    prg_object_unref(object);
}

static void what_is_not_the_kind_is_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{\"kind\":\"Status\",\"apiVersion\":\"v1\"}", "the server sent a v1 Status where a v1 Pod was expected"},
        {"{\"kind\":\"Pod\",\"apiVersion\":\"v2\"}", "the server sent a v2 Pod"},
        {"{\"metadata\":{}}", "Pod from the server: metadata.name is missing"},
        {"{\"a\":\"\xff\"}", "not valid UTF-8"},
        {"{\"a\":1,\"a\":2}", "the key 'a' is already set"},
        {"[]", "not an object"},
        {"{]", "Pod from the server: line 1"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_object *object;
        struct prg_error err = {0};
        assert_int_equal(prg_object_read(f->pods, cases[i].text, strlen(cases[i].text), &object, &err), PRG_INVALID);
        assert_error_has(&err, cases[i].error);
    }
}

static void changes_are_told_once_each(void **state)
{
    struct fixture *f = *state;
    put(f, "n", "a", "1", "");
    assert_log(f, "ADDED n/a@1\n");
    put(f, "n", "a", "1", ""); // the same version is no news
    assert_log(f, "");
    put(f, "n", "a", "2", "");
    assert_log(f, "UPDATED n/a@2\n");
    prg_object_put(
        read_object(f, f->pods, "{'metadata':{'namespace':'n','name':'a','uid':'new','resourceVersion':'3'}}"), 0,
        on_change, f);
    assert_log(f, "REMOVED n/a@2\nADDED n/a@3\n");
    prg_object_drop(f->pods, 0, "n", "a", on_change, f);
    prg_object_drop(f->pods, 0, "n", "a", on_change, f);
    assert_log(f, "REMOVED n/a@3\n");
    assert_int_equal(prg_object_kind_count(f->pods), 0);
}

static void a_replacement_tells_only_differences_and_what_is_gone(void **state)
{
    struct fixture *f = *state;
    const struct prg_object_scope all = {0};
    struct prg_vec list;
    put(f, "n", "same", "1", "");
    put(f, "n", "newer", "1", "");
    put(f, "n", "gone", "1", "");
    prg_strbuf_clear(&f->log);
    prg_vec_init(&list);
    prg_vec_push(&list, pod(f, "n", "same", "1", ""));
    prg_vec_push(&list, pod(f, "n", "newer", "5", ""));
    prg_vec_push(&list, pod(f, "m", "fresh", "6", ""));
    prg_vec_push(&list, pod(f, "m", "fresh", "6", "")); // a page that overlaps
    prg_object_replace(f->pods, &all, &list, on_change, f);
    assert_int_equal(list.count, 0);
    assert_log(f, "UPDATED n/newer@5\nADDED m/fresh@6\nREMOVED n/gone@1\n");
    prg_object_replace(f->pods, &all, &list, on_change, f);
    assert_int_equal(prg_object_kind_count(f->pods), 0);
    prg_vec_release(&list);
}

static void an_object_stays_while_one_of_two_selections_has_it(void **state)
{
    struct fixture *f = *state;
    const struct prg_object_scope first = {.source = 0}, second = {.source = 1};
    struct prg_vec list;
    prg_vec_init(&list);
    prg_object_put(pod(f, "n", "a", "1", ""), 0, on_change, f);
    prg_object_put(pod(f, "n", "a", "1", ""), 1, on_change, f); // the same, as the other sees it
    assert_log(f, "ADDED n/a@1\n");
    prg_object_drop(f->pods, 0, "n", "a", on_change, f);
    assert_log(f, "");
    prg_object_put(pod(f, "n", "a", "2", ""), 1, on_change, f);
    assert_log(f, "UPDATED n/a@2\n");
    prg_object_put(pod(f, "n", "a", "2", ""), 0, on_change, f); // it is back
    prg_object_replace(f->pods, &second, &list, on_change, f);  // and the other lists without it
    assert_log(f, "");
    prg_object_replace(f->pods, &first, &list, on_change, f);
    assert_log(f, "REMOVED n/a@2\n");
    prg_object_drop(f->pods, 1, "n", "a", on_change, f);
    assert_log(f, "");
    prg_vec_release(&list);
}

static void a_source_that_is_behind_another_changes_nothing(void **state)
{
    struct fixture *f = *state;
    const struct prg_object_scope second = {.source = 1};
    struct prg_vec list;
    prg_vec_init(&list);
    prg_object_put(pod(f, "n", "a", "10", ""), 0, on_change, f);
    prg_object_put(pod(f, "n", "a", "9", ""), 1, on_change, f);
    assert_log(f, "ADDED n/a@10\n");
    prg_object_drop(f->pods, 0, "n", "a", on_change, f); // in the other's selection all the same
    assert_log(f, "");
    prg_object_drop(f->pods, 1, "n", "a", on_change, f);
    assert_log(f, "REMOVED n/a@10\n");
    // Made anew under its name, which the first has heard of and the second has not.
    prg_object_put(
        read_object(f, f->pods, "{'metadata':{'namespace':'n','name':'a','uid':'new','resourceVersion':'30'}}"), 0,
        on_change, f);
    prg_object_put(pod(f, "n", "a", "20", ""), 1, on_change, f);
    prg_object_drop(f->pods, 1, "n", "a", on_change, f);
    assert_log(f, "ADDED n/a@30\n");
    // A list is believed: the server may have been restored.
    prg_vec_push(&list, pod(f, "n", "a", "5", ""));
    prg_object_replace(f->pods, &second, &list, on_change, f);
    assert_log(f, "REMOVED n/a@30\nADDED n/a@5\n");
    // Within one source no version is too old.
    prg_object_put(pod(f, "n", "a", "4", ""), 1, on_change, f);
    assert_log(f, "UPDATED n/a@4\n");
    prg_vec_release(&list);
}

static void a_list_is_about_its_scope(void **state)
{
    struct fixture *f = *state;
    struct prg_vec list;
    prg_vec_init(&list);
    put(f, "n", "a", "1", "");
    put(f, "n", "b", "1", "");
    put(f, "m", "a", "1", "");
    prg_strbuf_clear(&f->log);
    prg_object_replace(f->pods, &(struct prg_object_scope){.ns = "n", .name = "b"}, &list, on_change, f);
    assert_log(f, "REMOVED n/b@1\n");
    prg_object_replace(f->pods, &(struct prg_object_scope){.ns = "n"}, &list, on_change, f);
    assert_log(f, "REMOVED n/a@1\n");
    prg_object_replace(f->pods, &(struct prg_object_scope){0}, &list, on_change, f);
    assert_log(f, "REMOVED m/a@1\n");
    prg_vec_release(&list);
}

static void lists_are_in_order_of_namespace_and_name(void **state)
{
    static const char *const names[] = {"b", "a", "d", "c"};
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        put(f, "y", names[i], "1", "");
        put(f, "x", names[i], "1", "");
    }
    prg_object_drop(f->pods, 0, "y", "a", NULL, NULL);
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    prg_object_each(f->pods, NULL, add_name, &got);
    assert_string_equal(got.text, "x/a x/b x/c x/d y/b y/c y/d ");
    prg_strbuf_clear(&got);
    prg_object_each(f->pods, "y", add_name, &got);
    assert_string_equal(got.text, "y/b y/c y/d ");
    prg_strbuf_clear(&got);
    prg_object_each(f->pods, "z", add_name, &got);
    assert_string_equal(got.text, "");
}

static void objects_are_found_by_owner_and_label(void **state)
{
    struct fixture *f = *state;
    put(f, "n", "a", "1", ",'labels':{'app':'web'},'ownerReferences':[{'uid':'o1'},{'uid':'o2'}]");
    put(f, "n", "b", "1", ",'labels':{'app':'web','other':'x'},'ownerReferences':[{'uid':'o1'},{'uid':'o1'}]");
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    prg_object_each_owned(f->pods, "o2", add_name, &got);
    assert_string_equal(got.text, "n/a ");
    prg_strbuf_clear(&got);
    prg_object_each_labelled(f->pods, "app", "web", add_name, &got);
    assert_string_equal(got.text, "n/a n/b ");
    prg_strbuf_clear(&got);
    put(f, "n", "a", "2", ",'labels':{'app':'db'}"); // it moves
    prg_object_drop(f->pods, 0, "n", "b", NULL, NULL);
    prg_object_each_labelled(f->pods, "app", "web", add_name, &got);
    prg_object_each_owned(f->pods, "o1", add_name, &got);
    assert_string_equal(got.text, "");
    prg_object_each_labelled(f->pods, "app", "db", add_name, &got);
    assert_string_equal(got.text, "n/a ");
}

static void readers_get_trees(void **state)
{
    struct fixture *f = *state;
    const struct prg_reader *reader = prg_objects_reader(f->objects);
    put(f, "n", "b", "1", "");
    put(f, "n", "a", "1", "");
    prg_object_put(read_object(f, f->nodes, "{'metadata':{'name':'w'}}"), 0, NULL, NULL);
    const cJSON *tree = prg_reader_get(reader, "", "Pod", "n", "a");
    assert_string_equal(prg_meta_uid(tree), "uid-a");
    assert_ptr_equal(prg_reader_get(reader, "", "Pod", "n", "a"), tree);
    assert_string_equal(prg_json_get_text(prg_reader_get(reader, "", "Node", "", "w"), "kind"), "Node");
    assert_null(prg_reader_get(reader, "", "Pod", "n", "c"));
    assert_null(prg_reader_get(reader, "apps", "Deployment", "n", "a"));
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    reader->list(reader, "", "Pod", NULL, add_tree_name, &got);
    reader->list(reader, "apps", "Deployment", NULL, add_tree_name, &got);
    assert_string_equal(got.text, "n/a n/b ");
}

static void trees_are_dropped_at_a_change_when_there_are_too_many(void **state)
{
    struct fixture *f = *state;
    struct prg_objects *small = prg_objects_new(10000);
    struct prg_object_kind *kind = prg_objects_kind(small, &(struct prg_kind_options){"", "v1", "Pod", NULL, NULL});
    const struct prg_reader *reader = prg_objects_reader(small);
    for (int i = 0; i < 100; i++)
        prg_object_put(read_object(f, kind, prg_arena_printf(&f->arena, "{'metadata':{'name':'p%d'}}", i)), 0, NULL,
                       NULL);
    const cJSON *first = prg_reader_get(reader, "", "Pod", "", "p0");
    for (int i = 1; i < 100; i++)
        assert_non_null(prg_reader_get(reader, "", "Pod", "", prg_arena_printf(&f->arena, "p%d", i)));
    assert_string_equal(prg_meta_name(first), "p0"); // all of them live so far
    assert_true(prg_objects_tree_bytes(small) > 10000);
    prg_object_put(read_object(f, kind, "{'metadata':{'name':'q'}}"), 0, NULL, NULL);
    assert_true(prg_objects_tree_bytes(small) <= 10000);
    assert_string_equal(prg_meta_name(prg_reader_get(reader, "", "Pod", "", "p0")), "p0"); // and is read again
    prg_objects_free(small);
}

static void the_old_object_can_be_read_while_a_change_is_told(void **state)
{
    struct fixture *f = *state;
    put(f, "n", "a", "1", ",'labels':{'v':'old'}");
    struct prg_object *kept = prg_object_ref(prg_object_find(f->pods, "n", "a"));
    put(f, "n", "a", "2", ",'labels':{'v':'new'}");
    prg_object_drop(f->pods, 0, "n", "a", NULL, NULL);
    assert_string_equal(prg_meta_label(prg_object_tree(kept), "v"), "old"); // held by us
    prg_object_unref(kept);
}

// ---- against a plain array, by chance ----

#define NAMES 40

struct model {
    bool is_there;
    unsigned owner, label, version;
};

static void count_one(const struct prg_object *object, void *ctx)
{
    (void)object;
    ++*(size_t *)ctx;
}

static void check_against(struct fixture *f, const struct model *model)
{
    size_t there = 0, visited = 0;
    for (unsigned k = 0; k < 4; k++) {
        size_t owned = 0, labelled = 0, want_owned = 0, want_labelled = 0;
        for (size_t i = 0; i < NAMES; i++) {
            want_owned += model[i].is_there && model[i].owner == k;
            want_labelled += model[i].is_there && model[i].label == k;
        }
        prg_object_each_owned(f->pods, prg_arena_printf(&f->arena, "o%u", k), count_one, &owned);
        prg_object_each_labelled(f->pods, "app", prg_arena_printf(&f->arena, "l%u", k), count_one, &labelled);
        assert_int_equal(owned, want_owned);
        assert_int_equal(labelled, want_labelled);
    }
    for (size_t i = 0; i < NAMES; i++)
        there += model[i].is_there;
    prg_object_each(f->pods, NULL, count_one, &visited);
    assert_int_equal(visited, there);
    assert_int_equal(prg_object_kind_count(f->pods), there);
}

static void indexes_agree_with_a_plain_array_after_any_changes(void **state)
{
    struct fixture *f = *state;
    struct model model[NAMES] = {0};
    uint64_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        size_t i = (size_t)(prg_random(&seed) * NAMES);
        const char *name = prg_arena_printf(&f->arena, "p%zu", i);
        const char *ns = i % 3 ? "x" : "y";
        if (prg_random(&seed) < 0.3) {
            prg_object_drop(f->pods, 0, ns, name, NULL, NULL);
            model[i].is_there = false;
        } else {
            model[i] = (struct model){true, (unsigned)(prg_random(&seed) * 4), (unsigned)(prg_random(&seed) * 4),
                                      model[i].version + 1};
            put(f, ns, name, prg_arena_printf(&f->arena, "%u", model[i].version),
                prg_arena_printf(&f->arena, ",'labels':{'app':'l%u'},'ownerReferences':[{'uid':'o%u'}]", model[i].label,
                                 model[i].owner));
        }
        if (round % 20 == 0)
            check_against(f, model);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_object_is_kept_as_pruned_text_with_its_type),
        TEST(what_is_not_the_kind_is_refused),
        TEST(changes_are_told_once_each),
        TEST(a_replacement_tells_only_differences_and_what_is_gone),
        TEST(an_object_stays_while_one_of_two_selections_has_it),
        TEST(a_source_that_is_behind_another_changes_nothing),
        TEST(a_list_is_about_its_scope),
        TEST(lists_are_in_order_of_namespace_and_name),
        TEST(objects_are_found_by_owner_and_label),
        TEST(readers_get_trees),
        TEST(trees_are_dropped_at_a_change_when_there_are_too_many),
        TEST(the_old_object_can_be_read_while_a_change_is_told),
        TEST(indexes_agree_with_a_plain_array_after_any_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
