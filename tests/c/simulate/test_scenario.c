// SPDX-License-Identifier: Apache-2.0
// The recorded scenarios run in tests/golden/sedna.py; here is what they do not show.
#include "simulate_fixture.h"

#include "simulate/scenario.h"
#include "simulate/timeline.h"

static int simulate(struct prg_arena *arena, cJSON *scenario, cJSON **ret, struct prg_error *err)
{
    struct prg_policy_set *set = policies_of(NULL);
    int rc = prg_simulate_scenario(arena, NULL, scenario, prg_policy_set_decider(set), ret, err);
    prg_policy_set_unref(set);
    return rc;
}

static void the_same_scenario_gives_the_same_bytes(void **state)
{
    prg_auto_arena arena;
    struct prg_error err = {0};
    cJSON *first = NULL, *second = NULL;
    (void)state;
    prg_arena_init(&arena);
    assert_ok(simulate(&arena, scenario_of(&arena, "lifecycle-full-loop-hot"), &first, &err), &err);
    assert_ok(simulate(&arena, scenario_of(&arena, "lifecycle-full-loop-hot"), &second, &err), &err);
    assert_string_equal(prg_json_print_arena(&arena, first, 0), prg_json_print_arena(&arena, second, 0));
}

static void wrong_steps_are_named(void **state)
{
    static const char *const cases[][2] = {
        {"{'steps': [{'op': 'resync'}, {'op': 'dance'}]}", "/steps/1: there is no operation 'dance'"},
        {"{'steps': [{'op': 'advance'}]}", "/steps/0: seconds"},
        {"{'steps': [{'op': 'create'}]}", "/steps/0: /object is missing"},
        {"{'steps': [{'op': 'inject', 'verb': 'create'}]}", "/steps/0: verb and resource"},
        {"{'steps': [{'op': 'delete', 'kind': 'Pod'}]}", "/steps/0: kind and name"},
        {"{'steps': [{'op': 'interleaveAppend'}]}", "/steps/0: stage and type"},
        {"{'objects': [{'kind': 'Pod'}]}", "/objects/0"},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_error err = {0};
        cJSON *answer = NULL;
        assert_int_equal(simulate(&arena, json_of(&arena, cases[i][0]), &answer, &err), PRG_INVALID);
        assert_error_has(&err, cases[i][1]);
    }
}

static void an_append_in_between_is_not_lost(void **state)
{
    prg_auto_arena arena;
    struct prg_error err = {0};
    cJSON *answer = NULL;
    (void)state;
    prg_arena_init(&arena);
    assert_ok(simulate(&arena, scenario_of(&arena, "robust-lost-update-running"), &answer, &err), &err);
    const cJSON *steps = prg_json_get(answer, "steps");
    const cJSON *job = prg_json_item(prg_json_at(prg_json_item(steps, 2), "state", "jobs"), 0);
    const cJSON *conditions = prg_json_at(job, "status", "conditions");
    assert_string_equal(prg_json_get_text(prg_json_item(conditions, 1), "message"), "reported by lc");
    assert_string_equal(prg_json_get_text(prg_json_item(conditions, 2), "stage"), "Eval");
}

static void the_timeline_names_what_happened(void **state)
{
    prg_auto_arena arena;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    struct prg_error err = {0};
    cJSON *answer = NULL;
    (void)state;
    prg_arena_init(&arena);
    assert_ok(simulate(&arena, scenario_of(&arena, "createpod-pod-create-rejected"), &answer, &err), &err);
    prg_simulate_timeline(answer, &out);
    assert_non_null(strstr(out.text, "tell    edge1: insert incrementallearningjob helmet"));
    assert_non_null(strstr(out.text, "failed: Internal error occurred: injected"));
    assert_non_null(strstr(out.text, "create  pods helmet-train-00001"));
    assert_non_null(strstr(out.text, "job     helmet: Train Starting"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_scenario_gives_the_same_bytes),
        cmocka_unit_test(wrong_steps_are_named),
        cmocka_unit_test(an_append_in_between_is_not_lost),
        cmocka_unit_test(the_timeline_names_what_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
