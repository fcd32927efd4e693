// SPDX-License-Identifier: Apache-2.0
// test_reconcile.c: what holds for every plan, tried on all recorded cases. That the answers are those of the original
// is checked by tests/golden/kserve.py.
#include "recorded.h"

#define CASES 421

struct answer {
    struct px px;
    const char *text; // what the plan says, but for its trace
};

static cJSON *said(struct prg_plan *plan)
{
    cJSON *document = prg_plan_to_json(plan, 0);
    prg_json_remove(document, "trace");
    return document;
}

static void answer(struct answer *a, const struct prg_compat *compat, const cJSON *service, const cJSON *objects,
                   const cJSON *configmap)
{
    px_init(&a->px, compat);
    assert_ok(px_plan(&a->px, service, objects, configmap), &a->px.err);
    a->text = prg_json_print_arena(&a->px.arena, said(a->px.plan), PRG_JSON_SORTED | PRG_JSON_PRETTY);
}

static void assert_same(const char *name, const char *got, const char *want)
{
    if (strcmp(got, want) == 0)
        return;
    size_t at = 0, line = 0;
    for (; got[at] == want[at]; at++)
        if (got[at] == '\n')
            line = at;
    fail_msg("%s: the answers differ:\n%.300s\n---\n%.300s", name, got + line, want + line);
}

static const struct prg_compat *compats[] = {&prg_compat_kserve, &prg_compat_fixed};

static void plan_twice(struct prg_arena *arena, const struct recorded_case *recorded, void *ctx)
{
    const cJSON *service = prg_json_get(recorded->input, "isvc");
    cJSON *untouched[] = {prg_json_copy(arena, service), prg_json_copy(arena, recorded->objects),
                          recorded->configmap ? prg_json_copy(arena, recorded->configmap) : NULL};
    (void)ctx;
    for (size_t i = 0; i < PRG_COUNT(compats); i++) {
        struct answer first, second;
        answer(&first, compats[i], service, recorded->objects, recorded->configmap);
        answer(&second, compats[i], service, recorded->objects, recorded->configmap);
        assert_same(recorded->name, second.text, first.text);
        assert_int_equal(first.px.decider.begun, first.px.decider.ended);
        px_release(&first.px);
        px_release(&second.px);
    }
    assert_json_equal(service, untouched[0]);
    assert_json_equal(recorded->objects, untouched[1]);
    if (untouched[2])
        assert_json_equal(recorded->configmap, untouched[2]);
}

static void same_input_same_bytes_and_input_is_not_touched(void **state)
{
    (void)state;
    assert_int_equal(each_recorded(plan_twice, NULL), CASES);
}

// ---- order of members ----

static cJSON *turned(struct prg_arena *arena, const cJSON *node)
{
    cJSON *copy = prg_json_copy_empty(arena, node), *item;
    if (prg_json_is_array(node))
        prg_json_each (item, node)
            prg_json_append(copy, turned(arena, item));
    else if (prg_json_is_object(node) && node->child) // the last child is the first one's prev
        for (item = node->child->prev;; item = item->prev) {
            prg_json_add(arena, copy, item->string, turned(arena, item));
            if (item == node->child)
                break;
        }
    return copy;
}

static void plan_turned(struct prg_arena *arena, const struct recorded_case *recorded, void *ctx)
{
    const cJSON *service = prg_json_get(recorded->input, "isvc");
    (void)ctx;
    for (size_t i = 0; i < PRG_COUNT(compats); i++) {
        struct answer first, second;
        answer(&first, compats[i], service, recorded->objects, recorded->configmap);
        answer(&second, compats[i], turned(arena, service), turned(arena, recorded->objects),
               recorded->configmap ? turned(arena, recorded->configmap) : NULL);
        assert_same(recorded->name, second.text, first.text);
        px_release(&first.px);
        px_release(&second.px);
    }
}

static void the_order_of_members_does_not_matter(void **state)
{
    (void)state;
    assert_int_equal(each_recorded(plan_turned, NULL), CASES);
}

// ---- its own result ----

static bool is_same_object(struct prg_arena *arena, const cJSON *a, const cJSON *b)
{
    struct prg_key key_a, key_b;
    struct prg_error err = {0};
    assert_ok(prg_key_of(arena, a, &key_a, &err), &err);
    assert_ok(prg_key_of(arena, b, &key_b, &err), &err);
    return prg_text_equal(key_a.group, key_b.group) && prg_text_equal(key_a.kind, key_b.kind) &&
           prg_text_equal(key_a.ns, key_b.ns) && prg_text_equal(key_a.name, key_b.name);
}

// The store after the plan was carried out: objects written over the stored ones, which keep their status; deletes
// gone.
static cJSON *carried_out(struct prg_arena *arena, const cJSON *objects, const struct prg_plan *plan)
{
    cJSON *store = prg_json_copy(arena, objects), *item, *next;
    const cJSON *made;
    prg_json_each (made, plan->objects) {
        cJSON *copy = prg_json_copy(arena, made);
        for (item = store->child; item; item = next) {
            next = item->next;
            if (!is_same_object(arena, item, made))
                continue;
            if (prg_json_get(item, "status") && !prg_json_get(copy, "status"))
                prg_json_set(arena, copy, "status", prg_json_copy(arena, prg_json_get(item, "status")));
            prg_json_detach(store, item);
        }
        prg_json_append(store, copy);
    }
    prg_json_each (made, plan->deletes) {
        for (item = store->child; item; item = next) {
            next = item->next;
            if (prg_text_equal(prg_json_get_text(item, "kind"), prg_json_get_text(made, "kind")) &&
                prg_text_equal(prg_meta_name(item), prg_json_get_text(made, "name")) &&
                prg_text_equal(prg_meta_namespace(item), prg_json_get_text(made, "namespace")))
                prg_json_detach(store, item);
        }
    }
    return store;
}

// Plans and carries out until a plan says what the one before said. The original takes a round more to remove an
// autoscaler that it took over from somebody else.
static void plan_again(struct prg_arena *arena, const struct recorded_case *recorded, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < PRG_COUNT(compats); i++) {
        size_t rounds = compats[i] == &prg_compat_kserve ? 4 : 3;
        const cJSON *service = prg_json_get(recorded->input, "isvc"), *store = recorded->objects;
        const char *before = "", *last = "";
        for (size_t round = 0; round < rounds; round++) {
            struct answer a;
            answer(&a, compats[i], service, store, recorded->configmap);
            before = last;
            last = prg_arena_strdup(arena, a.text);
            // The status is all that is written of the service.
            cJSON *next = prg_json_copy(arena, service), *status = prg_json_get(a.px.plan->resource, "status");
            if (status)
                prg_json_set(arena, next, "status", prg_json_copy(arena, status));
            service = next;
            store = carried_out(arena, store, a.px.plan);
            px_release(&a.px);
        }
        assert_same(prg_arena_printf(arena, "%s (%zu)", recorded->name, i), last, before);
    }
}

static void plans_that_are_carried_out_settle(void **state)
{
    (void)state;
    assert_int_equal(each_recorded(plan_again, NULL), CASES);
}

// ---- broken objects ----

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static size_t count_nodes(const cJSON *node)
{
    size_t count = 1;
    const cJSON *item;
    if (prg_json_is_object(node) || prg_json_is_array(node))
        prg_json_each (item, node)
            count += count_nodes(item);
    return count;
}

// The node that is visited as number *index (the root is 0) and the one it is in.
static cJSON *find_node(cJSON *node, size_t *index, cJSON **ret_parent)
{
    cJSON *item;
    if (!prg_json_is_object(node) && !prg_json_is_array(node))
        return NULL;
    prg_json_each (item, node) {
        if (--*index == 0) {
            *ret_parent = node;
            return item;
        }
        cJSON *found = find_node(item, index, ret_parent);
        if (found)
            return found;
    }
    return NULL;
}

// Takes one node away, or puts something else into its place.
static void damage(struct prg_arena *arena, cJSON *tree)
{
    static const char *const others[] = {"null",
                                         "{}",
                                         "[]",
                                         "\"\"",
                                         "0",
                                         "-1",
                                         "1e400",
                                         "true",
                                         "[{}]",
                                         "[null]",
                                         "\"x\"",
                                         "{\"a\": null}",
                                         "99999999999999999999"};
    size_t index = 1 + next_random() % count_nodes(tree), choice = next_random() % (PRG_COUNT(others) + 3);
    cJSON *parent = NULL, *node = find_node(tree, &index, &parent);
    if (!node)
        return;
    if (choice >= PRG_COUNT(others))
        prg_json_detach(parent, node);
    else
        prg_json_replace(parent, node, json_of(arena, others[choice]));
}

// The same inside one section of the configuration, which is JSON in a text.
static void damage_section(struct prg_arena *arena, cJSON *data)
{
    size_t index = 1 + next_random() % prg_json_count(data);
    cJSON *parent = NULL, *section = find_node(data, &index, &parent), *parsed = NULL;
    const char *text = prg_json_text(section);
    struct prg_error err = {0};
    if (!text || prg_json_parse(arena, text, strlen(text), NULL, &parsed, &err) != PRG_OK)
        return;
    damage(arena, parsed);
    prg_json_set_string(arena, data, section->string, prg_json_print_arena(arena, parsed, 0));
}

static void plan_damaged(struct prg_arena *arena, const struct recorded_case *recorded, void *ctx)
{
    const unsigned *rounds = ctx;
    for (unsigned i = 0; i < *rounds; i++) {
        cJSON *service = prg_json_copy(arena, prg_json_get(recorded->input, i % 2 ? "isvc" : "isvcRaw"));
        cJSON *objects = prg_json_copy(arena, recorded->objects);
        cJSON *configmap = recorded->configmap ? prg_json_copy(arena, recorded->configmap) : NULL;
        for (unsigned j = 0; j <= i % 3; j++)
            damage(arena, i % 4 == 3 ? objects : service);
        if (i % 5 == 4 && configmap)
            (i % 2 ? damage : damage_section)(arena, prg_json_get(configmap, "data"));
        struct px px;
        px_init(&px, compats[i / 2 % 2]);
        int rc = px_plan(&px, service, objects, configmap);
        // Broken beyond an InferenceService, or a plan that says what is wrong, or a plan.
        assert_true(rc == PRG_OK || px.err.depth > 0);
        if (rc == PRG_OK && px.plan->error)
            assert_true(strlen(px.plan->error) > 10 && !strstr(px.plan->error, "(null)"));
        if (rc == PRG_OK)
            assert_non_null(prg_json_print_arena(&px.arena, prg_plan_to_json(px.plan, PRG_PLAN_FIELDS), 0));
        px_release(&px);
    }
}

static void broken_objects_are_errors_and_never_crashes(void **state)
{
    const char *more = getenv("PRG_TEST_ROUNDS"); // for a longer search
    unsigned rounds = more ? (unsigned)strtoul(more, NULL, 10) : 6;
    (void)state;
    random_state = more ? rounds * 2654435761u : 42;
    assert_int_equal(each_recorded(plan_damaged, &rounds), CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_input_same_bytes_and_input_is_not_touched),
        cmocka_unit_test(the_order_of_members_does_not_matter),
        cmocka_unit_test(plans_that_are_carried_out_settle),
        cmocka_unit_test(broken_objects_are_errors_and_never_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
