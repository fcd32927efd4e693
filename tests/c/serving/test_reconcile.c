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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_input_same_bytes_and_input_is_not_touched),
        cmocka_unit_test(the_order_of_members_does_not_matter),
        cmocka_unit_test(plans_that_are_carried_out_settle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
