// SPDX-License-Identifier: Apache-2.0
// test_reconcile.c: plans of damaged input: every recorded case with nodes taken away or replaced at random, in the
// service, the store and the configuration. What holds for plans of whole input is in test_properties.c.
#include "recorded.h"

#define CASES 421

static const struct prg_compat *compats[] = {&prg_compat_kserve, &prg_compat_fixed};

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
        cmocka_unit_test(broken_objects_are_errors_and_never_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
