// SPDX-License-Identifier: Apache-2.0
#include "simulate_fixture.h"

#include "simulate/random.h"

static cJSON *simulate(struct prg_arena *arena, const char *policies, const char *scenario, uint64_t schedules,
                       unsigned faults)
{
    struct prg_policy_set *set = policies_of(policies);
    struct prg_random_options options = {.schedules = schedules, .seed = 1, .faults = faults, .rounds = 2};
    struct prg_error err = {0};
    cJSON *answer = NULL;
    const cJSON *objects = prg_json_get(scenario_of(arena, scenario), "objects");
    assert_ok(prg_simulate_random(arena, objects, prg_policy_set_decider(set), &options, &answer, &err), &err);
    prg_policy_set_unref(set);
    return answer;
}

static int64_t number(const cJSON *object, const char *key)
{
    int64_t value = -1;
    assert_true(prg_json_get_int64(object, key, &value));
    return value;
}

static void no_job_is_ever_stuck_with_the_resilient_policy(void **state)
{
    static const char *const scenarios[] = {"start-new-job", "lifecycle-full-loop-hot", "lifecycle-multi-node",
                                            "lifecycle-two-jobs"};
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(scenarios); i++) {
        cJSON *answer = simulate(&arena, RESILIENT, scenarios[i], 4, PRG_FAULT_ALL);
        if (number(answer, "stuck"))
            print_error("%s\n", prg_json_print_arena(&arena, answer, PRG_JSON_PRETTY));
        assert_int_equal(number(answer, "stuck"), 0);
        assert_int_equal(number(answer, "twoWorkers"), 0);
        assert_int_equal(number(prg_json_get(answer, "rounds"), "startedOver"), 0);
        assert_true(number(prg_json_get(answer, "rounds"), "completed") > 0);
    }
}

static void without_faults_the_default_policy_is_never_stuck(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    cJSON *answer = simulate(&arena, NULL, "start-new-job", 8, 0);
    assert_int_equal(number(answer, "stuck"), 0);
    assert_true(number(prg_json_get(answer, "rounds"), "completed") > 0);
}

static void a_lost_report_leaves_the_default_policy_stuck_with_a_timeline(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    cJSON *answer = simulate(&arena, NULL, "start-new-job", 16, PRG_FAULT_DROP);
    assert_true(number(answer, "stuck") > 0);
    const cJSON *first = prg_json_item(prg_json_get(answer, "cases"), 0);
    assert_string_equal(prg_json_get_text(first, "problem"), "stuck");
    assert_non_null(prg_json_get_text(first, "reason"));
    assert_true(prg_json_count(prg_json_get(first, "timeline")) > 3);
}

static void a_seed_gives_one_schedule(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    cJSON *first = simulate(&arena, NULL, "start-new-job", 2, PRG_FAULT_ALL);
    cJSON *second = simulate(&arena, NULL, "start-new-job", 2, PRG_FAULT_ALL);
    assert_json_equal(first, second);
}

static void faults_are_read_by_name(void **state)
{
    unsigned faults = 0;
    struct prg_error err = {0};
    (void)state;
    assert_ok(prg_random_faults_parse("drop,kill", &faults, &err), &err);
    assert_int_equal(faults, PRG_FAULT_DROP | PRG_FAULT_KILL);
    assert_ok(prg_random_faults_parse("drop,repeat,reorder,delay,kill", &faults, &err), &err);
    assert_int_equal(faults, PRG_FAULT_ALL);
    assert_int_equal(prg_random_faults_parse("drop,rain", &faults, &err), PRG_INVALID);
    assert_error_has(&err, "'rain'");
}

static void objects_without_a_job_are_refused(void **state)
{
    prg_auto_arena arena;
    struct prg_policy_set *set = policies_of(NULL);
    struct prg_random_options options = {.schedules = 1};
    struct prg_error err = {0};
    cJSON *answer = NULL;
    (void)state;
    prg_arena_init(&arena);
    assert_int_equal(
        prg_simulate_random(&arena, prg_json_array(&arena), prg_policy_set_decider(set), &options, &answer, &err),
        PRG_NOTFOUND);
    prg_policy_set_unref(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_job_is_ever_stuck_with_the_resilient_policy),
        cmocka_unit_test(without_faults_the_default_policy_is_never_stuck),
        cmocka_unit_test(a_lost_report_leaves_the_default_policy_stuck_with_a_timeline),
        cmocka_unit_test(a_seed_gives_one_schedule),
        cmocka_unit_test(faults_are_read_by_name),
        cmocka_unit_test(objects_without_a_job_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
