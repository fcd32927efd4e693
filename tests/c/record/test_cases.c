// SPDX-License-Identifier: Apache-2.0
// test_cases.c: every recorded reconcile case of KServe, planned in one or the other mode into one recording, replays
// byte for byte.
#include "record_fixture.h"

#include "recorded.h"

struct recording_cases {
    struct prg_record *record;
    struct prg_policy_set *set;
    size_t count;
};

static struct prg_store *store_of(struct prg_arena *arena, const struct recorded_case *recorded, cJSON *service)
{
    struct prg_store *store = prg_store_mem_new();
    struct prg_error err = {0};
    const cJSON *object;
    (void)arena;
    prg_json_each (object, recorded->objects)
        assert_ok(prg_store_mem_put(store, object, true, true, &err), &err);
    if (recorded->configmap)
        assert_ok(prg_store_mem_put(store, recorded->configmap, true, true, &err), &err);
    assert_ok(prg_store_mem_put(store, service, true, true, &err), &err);
    return store;
}

static void record_case(struct prg_arena *arena, const struct recorded_case *recorded, void *ctx)
{
    struct recording_cases *cases = ctx;
    struct prg_error err = {0};
    struct prg_key key;
    cJSON *service = prg_json_copy(arena, prg_json_get(recorded->input, "isvc"));
    if (prg_key_of(arena, service, &key, &err) != PRG_OK)
        return;
    struct prg_store *store = store_of(arena, recorded, service);
    const struct prg_compat *compat = cases->count % 2 ? &prg_compat_fixed : &prg_compat_kserve;
    struct prg_planner *planner = prg_planner_new(cases->set, compat, "kserve");
    prg_planner_load_config(planner, &store->reader);
    prg_planner_record(planner, cases->record);
    struct prg_plan *plan = prg_plan_new(arena);
    int rc =
        prg_planner_plan(planner, &store->reader, &key, PX_NOW_NS + (int64_t)cases->count, cases->count, plan, &err);
    (void)rc; // a plan that cannot be made is recorded as well
    cases->count++;
    prg_planner_free(planner);
    prg_store_free(store);
}

static void every_case_replays_byte_for_byte(void **state)
{
    struct folder folder;
    struct recording_cases cases = {.set = shipped_set()};
    struct prg_recording *recording;
    struct prg_error err = {0};
    (void)state;
    folder_make(&folder);
    cases.record = record_open(&folder);
    each_recorded(record_case, &cases);
    assert_true(cases.count > 400);
    record_close(cases.record);
    assert_ok(prg_recording_load(folder.file, &recording, &err), &err);
    assert_null(prg_recording_note(recording));
    assert_int_equal(prg_recording_count(recording), cases.count);
    for (size_t i = 0; i < cases.count; i++)
        if (!replays(recording, i, cases.set))
            fail_msg("decision %zu is another one", i + 1);
    assert_true(replays(recording, 0, NULL)); // with the policies of the file
    prg_recording_free(recording);
    prg_policy_set_unref(cases.set);
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case_replays_byte_for_byte)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
