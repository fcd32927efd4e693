// SPDX-License-Identifier: Apache-2.0
// test_slow_loop.c: the serving loop over a store whose answers take time: several services at a time, never two hands
// on one.
#include "controller/serving_loop.h"

#include <stdlib.h>
#include <string.h>

#include "manifests.h"
#include "object/meta.h"
#include "slow_fixture.h"
#include "stdlib/natives.h"
#include "store/store_mem.h"

struct fixture {
    struct slow_fixture is;
    struct prg_serving_loop *loop;
    unsigned reports;
    size_t created, deleted;
    bool has_error;
};

static void on_report(const struct prg_reconcile_report *report, void *ctx)
{
    struct fixture *f = ctx;
    f->reports++;
    f->created = report->created;
    f->deleted = report->deleted;
    f->has_error = report->error != NULL;
}

static void put_service(struct fixture *f, const char *name, const char *more)
{
    cJSON *service =
        json_of(&f->is.arena,
                prg_arena_printf(&f->is.arena,
                                 "{'apiVersion':'serving.kserve.io/v1beta1','kind':'InferenceService','metadata':{"
                                 "'name':'%s','namespace':'n','uid':'u-%s','resourceVersion':'5','annotations':{"
                                 "'serving.kserve.io/deploymentMode':'Standard'}%s},'spec':{'predictor':{'model':{"
                                 "'modelFormat':{'name':'sklearn'},'storageUri':'gs://b/m'}}}}",
                                 name, name, more));
    assert_int_equal(prg_store_mem_put(f->is.slow.inner, service, false, true, NULL), PRG_OK);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    prg_stdlib_register();
    slow_fixture_init(&f->is);
    manifests_load(&f->is.arena, f->is.slow.inner, "../runtime-catalog");
    prg_planner_load_config(f->is.planner, &f->is.slow.store.reader);
    struct prg_serving_loop_options options = {.workers = 2, .report = on_report, .wake = slow_fixture_wake, .ctx = f};
    f->loop = prg_serving_loop_new(&f->is.slow.store, f->is.planner, &options);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_serving_loop_free(f->loop);
    slow_fixture_release(&f->is);
    free(f);
    return 0;
}

static size_t run(struct fixture *f)
{
    return prg_serving_loop_run(f->loop, f->is.now_ms, INT64_C(1780272000) * 1000000000);
}

static void changed(struct fixture *f, const char *name)
{
    struct prg_key key = {"serving.kserve.io", "InferenceService", "n", name};
    prg_serving_loop_changed(f->loop, &key, f->is.now_ms);
}

static void as_many_are_under_way_as_there_are_workers(void **state)
{
    struct fixture *f = *state;
    put_service(f, "a", "");
    put_service(f, "b", "");
    put_service(f, "c", "");
    prg_serving_loop_enqueue_all(f->loop, f->is.now_ms);
    assert_int_equal(run(f), 0);
    assert_int_equal(prg_serving_loop_open(f->loop), 2);
    assert_int_equal(f->is.slow.open, 6);
    assert_int_equal(prg_serving_loop_next_ms(f->loop, f->is.now_ms), -1); // all hands are full
    slow_store_answer_all(&f->is.slow);
    assert_int_equal(f->is.woken, 2);
    assert_int_equal(prg_serving_loop_next_ms(f->loop, f->is.now_ms), 0);
    assert_int_equal(run(f), 2);
    assert_int_equal(f->created, 3);
    assert_int_equal(prg_serving_loop_open(f->loop), 1);
    slow_store_answer_all(&f->is.slow);
    assert_int_equal(run(f), 1);
    assert_int_equal(prg_serving_loop_open(f->loop), 0);
}

static void a_service_that_changes_meanwhile_is_planned_again_afterwards_and_not_beside(void **state)
{
    struct fixture *f = *state;
    put_service(f, "a", "");
    changed(f, "a");
    run(f);
    assert_int_equal(f->is.slow.open, 3);
    changed(f, "a");
    changed(f, "a");
    assert_int_equal(run(f), 0);
    assert_int_equal(f->is.slow.open, 3);
    slow_store_answer_all(&f->is.slow);
    assert_int_equal(run(f), 1); // ends, and begins anew
    assert_int_equal(prg_serving_loop_open(f->loop), 1);
    slow_store_answer_all(&f->is.slow);
    assert_int_equal(run(f), 1);
    assert_int_equal(f->reports, 2);
}

struct copying {
    struct prg_arena arena;
    struct prg_vec objects;
};

static void copy_object(const cJSON *object, void *ctx)
{
    struct copying *copying = ctx;
    prg_vec_push(&copying->objects, prg_json_copy(&copying->arena, object));
}

// Another tree stands for each runtime and service: those that were read are gone, as they may be whenever the loop
// turns.
static void drop_what_was_read(struct fixture *f)
{
    static const char *const kinds[] = {"ServingRuntime", "ClusterServingRuntime", "InferenceService"};
    const struct prg_reader *reader = &f->is.slow.store.reader;
    struct copying copying;
    prg_arena_init(&copying.arena);
    prg_vec_init(&copying.objects);
    for (size_t i = 0; i < PRG_COUNT(kinds); i++)
        reader->list(reader, "serving.kserve.io", kinds[i], NULL, copy_object, &copying);
    assert_true(copying.objects.count > 1);
    for (size_t i = 0; i < copying.objects.count; i++)
        assert_int_equal(prg_store_mem_put(f->is.slow.inner, copying.objects.items[i], false, true, NULL), PRG_OK);
    prg_vec_release(&copying.objects);
    prg_arena_release(&copying.arena);
}

static void note_message(const struct prg_key *key, const struct prg_store_event *event, unsigned count, void *ctx)
{
    (void)key;
    (void)count;
    prg_strbuf_printf(ctx, "%s: %s\n", event->reason, event->message);
}

static void what_a_plan_read_may_go_while_its_writes_are_open(void **state)
{
    struct fixture *f = *state;
    prg_auto_strbuf events = PRG_STRBUF_INIT;
    put_service(f, "a", "");
    changed(f, "a");
    run(f);
    assert_true(f->is.slow.open > 0);
    while (f->is.slow.open) {
        drop_what_was_read(f);
        slow_store_answer(&f->is.slow, true);
    }
    assert_int_equal(run(f), 1);
    assert_false(f->has_error);
    prg_store_mem_each_event(f->is.slow.inner, note_message, &events);
    assert_non_null(strstr(events.text, "RuntimeSelected: ClusterServingRuntime kserve-"));
}

static void a_view_from_before_our_own_writes_is_not_planned_on(void **state)
{
    struct fixture *f = *state;
    put_service(f, "a", "");
    changed(f, "a");
    run(f);
    for (int i = 0; i < 3; i++)
        slow_store_answer(&f->is.slow, false); // made, but the cache does not show it
    slow_store_answer_all(&f->is.slow);        // the status
    assert_int_equal(run(f), 1);
    changed(f, "a");
    assert_int_equal(run(f), 0);
    assert_int_equal(f->is.slow.open, 0);
    assert_true(prg_serving_loop_next_ms(f->loop, f->is.now_ms) > 0);
    f->is.now_ms += 1000; // not for ever
    run(f);
    assert_int_equal(f->is.slow.open, 3);
}

static void begin_and_refuse(struct fixture *f, enum prg_write_retry retry, uint64_t retry_after_ms)
{
    put_service(f, "a", "");
    changed(f, "a");
    run(f);
    for (int i = 0; i < 3; i++)
        slow_store_refuse(&f->is.slow, retry, retry_after_ms);
    slow_store_refuse(&f->is.slow, retry, retry_after_ms); // the status that says so
    assert_int_equal(run(f), 1);
    assert_true(f->has_error);
}

static void a_server_that_asks_for_time_gets_it(void **state)
{
    struct fixture *f = *state;
    begin_and_refuse(f, PRG_RETRY_SOON, 7000);
    assert_int_equal(prg_serving_loop_next_ms(f->loop, f->is.now_ms), 7000);
}

static void what_is_forbidden_is_tried_again_each_minute(void **state)
{
    struct fixture *f = *state;
    begin_and_refuse(f, PRG_RETRY_SLOWLY, 0);
    assert_int_equal(prg_serving_loop_next_ms(f->loop, f->is.now_ms), 60000);
}

static void what_is_invalid_waits_for_a_change(void **state)
{
    struct fixture *f = *state;
    begin_and_refuse(f, PRG_RETRY_ON_CHANGE, 0);
    assert_int_equal(prg_serving_loop_next_ms(f->loop, f->is.now_ms), -1);
    changed(f, "a");
    run(f);
    assert_int_equal(f->is.slow.open, 3);
}

// As in a namespace that goes: each object of it that is deleted is a change.
static void what_is_refused_is_not_tried_again_with_every_change(void **state)
{
    struct fixture *f = *state;
    unsigned tries = 0;
    put_service(f, "a", "");
    for (uint64_t end_ms = f->is.now_ms + 10000; f->is.now_ms < end_ms; f->is.now_ms += 10) {
        changed(f, "a");
        run(f);
        tries += f->is.slow.open > 0;
        while (f->is.slow.open)
            slow_store_refuse(&f->is.slow, PRG_RETRY_ON_CHANGE, 0);
        run(f);
    }
    assert_int_equal(tries, 8); // twice more at once, then after 0.2, 0.4, 0.8 … seconds
    put_service(f, "b", "");
    changed(f, "b");
    run(f);
    assert_int_equal(f->is.slow.open, 3); // which concerns nobody else
    slow_store_answer_all(&f->is.slow);
    run(f);
    f->is.now_ms += 10000;
    run(f);
    assert_int_equal(f->is.slow.open, 3); // the last change was not lost
}

static void a_paused_loop_begins_nothing_and_ends_what_is_under_way(void **state)
{
    struct fixture *f = *state;
    put_service(f, "a", "");
    put_service(f, "b", "");
    changed(f, "a");
    run(f);
    prg_serving_loop_pause(f->loop, true);
    changed(f, "b");
    slow_store_answer_all(&f->is.slow);
    assert_int_equal(run(f), 1);
    assert_int_equal(f->is.slow.open, 0);
    assert_int_equal(prg_serving_loop_next_ms(f->loop, f->is.now_ms), -1);
    prg_serving_loop_pause(f->loop, false);
    run(f);
    assert_int_equal(f->is.slow.open, 3);
}

static void one_that_is_going_is_let_go_also_of_the_originals_finalizer(void **state)
{
    struct fixture *f = *state;
    put_service(f, "a", ",'deletionTimestamp':'2026-06-01T00:00:00Z','finalizers':['other']");
    put_service(f, "b",
                ",'deletionTimestamp':'2026-06-01T00:00:00Z','finalizers':['other','inferenceservice.finalizers']");
    prg_serving_loop_enqueue_all(f->loop, f->is.now_ms);
    assert_int_equal(run(f), 1);
    assert_int_equal(f->is.slow.open, 1);
    const struct slow_write *write = slow_store_next(&f->is.slow);
    assert_int_equal(write->request.kind, PRG_WRITE_PATCH);
    assert_string_equal(prg_json_print_arena(&f->is.arena, write->request.object, PRG_JSON_COMPACT),
                        "{\"metadata\":{\"finalizers\":[\"other\"]}}");
    slow_store_answer_all(&f->is.slow);
    assert_int_equal(run(f), 1);
    assert_false(f->has_error);
}

static void one_that_ends_in_the_middle_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    put_service(f, "a", "");
    changed(f, "a");
    run(f);
    slow_store_answer(&f->is.slow, true);
    assert_int_equal(f->is.slow.open, 2); // teardown frees the loop with two writes under way
}

static void a_change_that_concerns_many_wakes_them_one_after_the_other(void **state)
{
    struct fixture *f = *state;
    struct prg_key runtime = {"serving.kserve.io", "ClusterServingRuntime", "", "kserve-sklearnserver"};
    for (int i = 0; i < 105; i++)
        put_service(f, prg_arena_printf(&f->is.arena, "s%03d", i), "");
    prg_serving_loop_changed(f->loop, &runtime, f->is.now_ms);
    for (int i = 0; i < 60; i++) {
        run(f);
        slow_store_answer_all(&f->is.slow);
    }
    assert_int_equal(f->reports, 100);
    f->is.now_ms += 30;
    for (int i = 0; i < 10; i++) {
        run(f);
        slow_store_answer_all(&f->is.slow);
    }
    assert_int_equal(f->reports, 103);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(as_many_are_under_way_as_there_are_workers),
        TEST(a_service_that_changes_meanwhile_is_planned_again_afterwards_and_not_beside),
        TEST(what_a_plan_read_may_go_while_its_writes_are_open),
        TEST(a_view_from_before_our_own_writes_is_not_planned_on),
        TEST(a_server_that_asks_for_time_gets_it),
        TEST(what_is_forbidden_is_tried_again_each_minute),
        TEST(what_is_invalid_waits_for_a_change),
        TEST(what_is_refused_is_not_tried_again_with_every_change),
        TEST(a_paused_loop_begins_nothing_and_ends_what_is_under_way),
        TEST(one_that_is_going_is_let_go_also_of_the_originals_finalizer),
        TEST(one_that_ends_in_the_middle_leaves_nothing_behind),
        TEST(a_change_that_concerns_many_wakes_them_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
