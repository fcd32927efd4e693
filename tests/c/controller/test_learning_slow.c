// SPDX-License-Identifier: Apache-2.0
// test_learning_slow.c: the loop of learning jobs over a store whose answers take time, whose readers lag behind, and
// whose writes are refused.
#include "../learning/learning_objects.h"

#include <stdlib.h>
#include <string.h>

#include "controller/learning_loop.h"
#include "learning/status.h"
#include "object/meta.h"
#include "slow_fixture.h"

struct fixture {
    struct slow_fixture is;
    struct prg_learning_loop *loop;
    unsigned answers;
    enum prg_learning_answer answer;
};

static const char condition[] = "{type: %s, stage: %s, status: 'True', lastTransitionTime: '2026-06-01T00:00:00Z'%s}";
static const char ready_data[] = ", data: '{\"input\":{\"models\":[{\"url\":\"/base\"}],\"dataURL\":\"/d\"}}'";

static void put_yaml(struct fixture *f, const char *text)
{
    store_yaml(f->is.slow.inner, &f->is.arena, text);
}

static void put_job(struct fixture *f, const char *name, const char *stage, const char *type)
{
    const char *data = strcmp(type, "Ready") == 0 ? ready_data : "";
    put_yaml(f, prg_arena_printf(
                    &f->is.arena,
                    "{apiVersion: sedna.io/v1alpha1, kind: IncrementalLearningJob, metadata: {name: %s, namespace: ns, "
                    "uid: u-%s, resourceVersion: '7'}, spec: {dataset: {name: photos}, initialModel: {name: base}, "
                    "outputDir: /o, deploySpec: {model: {name: served}}}, status: {startTime: '2026-06-01T00:00:00Z', "
                    "conditions: [%s]}}",
                    name, name, prg_arena_printf(&f->is.arena, condition, type, stage, data)));
}

static void put_pod(struct fixture *f, const char *name, const char *type, const char *phase)
{
    put_yaml(f, prg_arena_printf(
                    &f->is.arena,
                    "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: ns, uid: p-%s, creationTimestamp: "
                    "'2026-05-01T00:00:00Z', labels: {incrementallearningjob.sedna.io/name: a, "
                    "incrementallearningjob.sedna.io/uid: u-a, incrementallearningjob.sedna.io/worker-type: %s}}, "
                    "status: {phase: %s}}",
                    name, name, type, phase));
}

static int set_up(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    slow_fixture_init(&f->is);
    struct prg_learning_loop_options options = {.workers = 2, .wake = slow_fixture_wake, .ctx = f};
    f->loop = prg_learning_loop_new(&f->is.slow.store, f->is.planner, &options);
    put_yaml(f, learning_data);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    prg_learning_loop_free(f->loop);
    slow_fixture_release(&f->is);
    free(f);
    return 0;
}

static void run(struct fixture *f)
{
    prg_learning_loop_run(f->loop, f->is.now_ms, INT64_C(1780272060000000000) + (int64_t)f->is.now_ms * 1000000);
}

// "create Pod", "status IncrementalLearningJob" …: the write that waits, or "".
static const char *next_write(struct fixture *f)
{
    static const char *const kinds[] = {"apply", "create", "patch", "status", "delete"};
    const struct slow_write *write = slow_store_next(&f->is.slow);
    if (!write)
        return "";
    const cJSON *named = write->request.stored ? write->request.stored : write->request.object;
    return prg_arena_printf(&f->is.arena, "%s %s", kinds[write->request.kind], prg_json_get_text(named, "kind"));
}

static const char *state_of(struct fixture *f, const char *name)
{
    struct prg_job_condition latest = prg_job_condition_latest(
        prg_reader_get(&f->is.slow.store.reader, "sedna.io", "IncrementalLearningJob", "ns", name));
    return prg_arena_printf(&f->is.arena, "%s %s", latest.stage, latest.type);
}

static void changed(struct fixture *f, const char *group, const char *kind, const char *name)
{
    struct prg_key key = {group, kind, "ns", name};
    prg_learning_loop_changed(f->loop, &key, f->is.now_ms);
}

static void other_policies_of_a_namespace_plan_its_jobs_and_no_others(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Completed");
    put_yaml(f, "{apiVersion: sedna.io/v1alpha1, kind: IncrementalLearningJob, metadata: {name: b, namespace: other, "
                "uid: u-b}, spec: {}, status: {startTime: '2026-06-01T00:00:00Z', conditions: [{type: Completed, "
                "stage: Train, status: 'True'}]}}");
    prg_learning_loop_replan(f->loop, "third", f->is.now_ms);
    run(f);
    assert_string_equal(next_write(f), "");
    prg_learning_loop_replan(f->loop, "ns", f->is.now_ms);
    run(f);
    assert_string_equal(next_write(f), "status IncrementalLearningJob");
    assert_string_equal(prg_meta_name(slow_store_next(&f->is.slow)->request.stored), "a");
    assert_int_equal(f->is.slow.open, 1);
    slow_store_answer_all(&f->is.slow);
}

static void each_step_waits_for_the_one_before(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Deploy", "Ready");
    put_pod(f, "a-inference-x", "inference", "Running");
    prg_learning_loop_enqueue_all(f->loop, f->is.now_ms);
    run(f);
    assert_string_equal(next_write(f), "delete Pod");
    assert_int_equal(f->is.slow.open, 1);
    slow_store_answer(&f->is.slow, true);
    assert_string_equal(next_write(f), "create Pod");
    assert_int_equal(f->is.slow.open, 1);
    slow_store_answer(&f->is.slow, true);
    assert_string_equal(next_write(f), "status IncrementalLearningJob");
    slow_store_answer(&f->is.slow, true);
    assert_int_equal(f->is.woken, 1);
    assert_string_equal(state_of(f, "a"), "Deploy Completed");
    run(f);
    assert_string_equal(next_write(f), "status IncrementalLearningJob"); // Train Waiting
}

static void a_pod_that_the_cache_does_not_show_yet_is_waited_for(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Ready");
    put_pod(f, "a-train-old", "train", "Succeeded"); // of the last round: it must not end this one
    prg_learning_loop_enqueue_all(f->loop, f->is.now_ms);
    run(f);
    assert_string_equal(next_write(f), "create Pod");
    cJSON *pod = prg_json_copy(&f->is.arena, slow_store_next(&f->is.slow)->request.object);
    slow_store_answer(&f->is.slow, false); // made, but not in the cache
    assert_string_equal(next_write(f), "status IncrementalLearningJob");
    slow_store_answer(&f->is.slow, true);
    for (int i = 0; i < 20; i++) { // for 20 s
        run(f);
        assert_int_equal(f->is.slow.open, 0);
        assert_string_equal(state_of(f, "a"), "Train Starting");
        f->is.now_ms += 1000;
    }
    struct prg_error err = {0};
    prg_json_set_string(&f->is.arena, prg_json_get(pod, "metadata"), "creationTimestamp", "2026-06-01T00:01:00Z");
    assert_ok(prg_store_mem_put(f->is.slow.inner, pod, false, true, &err), &err);
    changed(f, "", "Pod", prg_meta_name(pod));
    run(f);
    assert_int_equal(f->is.slow.open, 0); // Pending: the job goes on waiting
    assert_string_equal(state_of(f, "a"), "Train Starting");
}

static void a_pod_that_never_shows_up_holds_nobody_up_for_ever(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Ready");
    prg_learning_loop_enqueue_all(f->loop, f->is.now_ms);
    run(f);
    slow_store_answer(&f->is.slow, false); // made, and deleted by somebody before the cache saw it
    slow_store_answer(&f->is.slow, true);
    put_pod(f, "a-train-new", "train", "Running");
    run(f);
    assert_string_equal(next_write(f), "");
    f->is.now_ms += 31000;
    run(f);
    assert_string_equal(next_write(f), "status IncrementalLearningJob"); // the pod that is there runs
}

static void on_answer(enum prg_learning_answer answer, const char *why, void *ctx)
{
    struct fixture *f = ctx;
    (void)why;
    f->answer = answer;
    f->answers++;
}

static void report(struct fixture *f, const char *type)
{
    struct prg_learning_message message = {
        .node = "edge1",
        .kind = "IncrementalLearningJob",
        .ns = "ns",
        .name = "a",
        .content = json_of(&f->is.arena, prg_arena_printf(&f->is.arena, "{'phase': 'Train', 'status': '%s'}", type))};
    prg_learning_loop_report(f->loop, &message, on_answer, f, f->is.now_ms);
}

static void a_report_that_the_server_will_never_take_is_refused(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Running");
    put_pod(f, "a-train-x", "train", "Running");
    report(f, "Failed");
    report(f, "Completed");
    run(f);
    slow_store_refuse(&f->is.slow, PRG_RETRY_ON_CHANGE, 0);
    run(f);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->answer, PRG_LEARNING_REFUSED);
    assert_string_equal(next_write(f), "status IncrementalLearningJob"); // the one behind it has its turn
    slow_store_refuse(&f->is.slow, PRG_RETRY_SLOWLY, 0);
    run(f);
    assert_int_equal(f->answers, 2);
    assert_int_equal(f->answer, PRG_LEARNING_RETRY); // a right that is missing may be given
}

static void a_report_is_stored_before_the_next_plan(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Running");
    put_pod(f, "a-train-x", "train", "Succeeded");
    report(f, "Failed");
    run(f);
    assert_string_equal(next_write(f), "status IncrementalLearningJob");
    assert_int_equal(f->answers, 0);
    slow_store_answer(&f->is.slow, true);
    run(f);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->answer, PRG_LEARNING_STORED);
    assert_string_equal(state_of(f, "a"), "Train Failed");
}

static void a_report_that_is_refused_for_a_while_is_handed_back(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Waiting");
    report(f, "Ready");
    run(f);
    slow_store_refuse(&f->is.slow, PRG_RETRY_SOON, 0);
    run(f);
    assert_int_equal(f->answer, PRG_LEARNING_RETRY);
    assert_string_equal(state_of(f, "a"), "Train Waiting");
}

static size_t count_conditions(struct fixture *f, const char *name)
{
    const cJSON *job = prg_reader_get(&f->is.slow.store.reader, "sedna.io", "IncrementalLearningJob", "ns", name);
    return prg_json_count(prg_json_at(job, "status", "conditions"));
}

static void a_report_whose_answer_was_lost_is_stored_once(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Waiting");
    report(f, "Ready");
    run(f);
    slow_store_lose(&f->is.slow);
    run(f);
    assert_int_equal(f->answers, 0); // it is kept in hand
    assert_int_equal(count_conditions(f, "a"), 2);
    assert_int_equal(prg_learning_loop_next_ms(f->loop, f->is.now_ms), 50);
    f->is.now_ms += 50;
    run(f);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->answer, PRG_LEARNING_STORED);
    assert_int_equal(count_conditions(f, "a"), 2);
}

static void a_report_that_may_be_stored_is_kept_until_the_server_says(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Waiting");
    report(f, "Ready");
    run(f);
    slow_store_lose(&f->is.slow);
    put_job(f, "a", "Train", "Waiting"); // the write never got there
    for (unsigned i = 0; i < 20; i++) {
        run(f);
        f->is.now_ms += 60000;
        run(f);
        assert_string_equal(next_write(f), "status IncrementalLearningJob");
        slow_store_refuse(&f->is.slow, PRG_RETRY_SOON, 0);
        assert_int_equal(f->answers, 0);
    }
    run(f);
    f->is.now_ms += 60000;
    run(f);
    slow_store_answer(&f->is.slow, true);
    run(f);
    assert_int_equal(f->answer, PRG_LEARNING_STORED);
    assert_int_equal(count_conditions(f, "a"), 2);
}

static void two_jobs_are_under_way_at_a_time_and_never_one_twice(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Ready");
    put_job(f, "b", "Train", "Ready");
    put_job(f, "c", "Train", "Ready");
    prg_learning_loop_enqueue_all(f->loop, f->is.now_ms);
    run(f);
    assert_int_equal(f->is.slow.open, 2);
    changed(f, "sedna.io", "IncrementalLearningJob", "a");
    changed(f, "sedna.io", "IncrementalLearningJob", "b");
    run(f);
    assert_int_equal(f->is.slow.open, 2);
    while (f->is.slow.first) {
        slow_store_answer(&f->is.slow, true);
        run(f);
    }
    assert_string_equal(state_of(f, "a"), "Train Starting");
    assert_string_equal(state_of(f, "b"), "Train Starting");
    assert_string_equal(state_of(f, "c"), "Train Starting");
}

static void a_paused_loop_begins_nothing_and_goes_on_later(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Failed");
    prg_learning_loop_pause(f->loop, true);
    prg_learning_loop_enqueue_all(f->loop, f->is.now_ms);
    run(f);
    assert_int_equal(f->is.slow.open, 0);
    assert_int_equal(prg_learning_loop_next_ms(f->loop, f->is.now_ms), -1);
    prg_learning_loop_pause(f->loop, false);
    prg_learning_loop_enqueue_all(f->loop, f->is.now_ms);
    run(f);
    assert_int_equal(f->is.slow.open, 1);
}

static void a_paused_loop_still_stores_what_nodes_have_reported(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Waiting");
    prg_learning_loop_pause(f->loop, true);
    report(f, "Failed");
    assert_int_equal(prg_learning_loop_open(f->loop), 1);
    assert_int_equal(prg_learning_loop_next_ms(f->loop, f->is.now_ms), 0);
    run(f);
    assert_string_equal(next_write(f), "status IncrementalLearningJob");
    slow_store_answer(&f->is.slow, true);
    run(f);
    assert_int_equal(f->answer, PRG_LEARNING_STORED);
    assert_string_equal(state_of(f, "a"), "Train Failed");
    assert_int_equal(f->is.slow.open, 0); // no plan
    assert_int_equal(prg_learning_loop_open(f->loop), 0);
    assert_int_equal(prg_learning_loop_next_ms(f->loop, f->is.now_ms), -1);
}

static void the_end_with_writes_under_way_calls_nobody_back(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Ready");
    put_job(f, "b", "Train", "Waiting");
    report(f, "Ready");
    prg_learning_loop_enqueue_all(f->loop, f->is.now_ms);
    run(f);
    assert_true(f->is.slow.open > 0);
    prg_learning_loop_free(f->loop);
    f->loop = NULL;
    slow_store_answer_all(&f->is.slow);
    assert_int_equal(f->answers, 0);
}

static void a_refused_plan_pauses_as_long_as_the_server_asks(void **state)
{
    struct fixture *f = *state;
    put_job(f, "a", "Train", "Ready");
    prg_learning_loop_enqueue_all(f->loop, f->is.now_ms);
    run(f);
    slow_store_refuse(&f->is.slow, PRG_RETRY_SLOWLY, 45000);
    run(f);
    assert_int_equal(prg_learning_loop_next_ms(f->loop, f->is.now_ms), 45000);
    f->is.now_ms += 45000;
    run(f);
    slow_store_refuse(&f->is.slow, PRG_RETRY_SOON, 0);
    run(f);
    assert_int_equal(prg_learning_loop_next_ms(f->loop, f->is.now_ms), 20000); // the second failure
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(other_policies_of_a_namespace_plan_its_jobs_and_no_others, set_up, tear_down),
        TEST(each_step_waits_for_the_one_before),
        TEST(a_pod_that_the_cache_does_not_show_yet_is_waited_for),
        TEST(a_pod_that_never_shows_up_holds_nobody_up_for_ever),
        TEST(a_report_that_the_server_will_never_take_is_refused),
        TEST(a_report_is_stored_before_the_next_plan),
        TEST(a_report_that_is_refused_for_a_while_is_handed_back),
        TEST(a_report_whose_answer_was_lost_is_stored_once),
        TEST(a_report_that_may_be_stored_is_kept_until_the_server_says),
        TEST(two_jobs_are_under_way_at_a_time_and_never_one_twice),
        TEST(a_paused_loop_begins_nothing_and_goes_on_later),
        TEST(a_paused_loop_still_stores_what_nodes_have_reported),
        TEST(the_end_with_writes_under_way_calls_nobody_back),
        TEST(a_refused_plan_pauses_as_long_as_the_server_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
