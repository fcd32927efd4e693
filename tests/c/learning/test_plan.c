// SPDX-License-Identifier: Apache-2.0
#include "learning_fixture.h"

static const char ready_data[] =
    "{\"input\":{\"models\":[{\"url\":\"/models/base/m.ckpt\"}],\"dataURL\":\"/output/data/train/1/data.txt\","
    "\"outputDir\":\"/output/train/1\"}}";

static void a_new_job_gets_inference_and_waits_for_training(void **state)
{
    struct learning_fixture *f = *state;
    plan_now(f);
    assert_null(f->plan->error);
    assert_string_equal(planned_steps(f), "create helmet-inference-");
    assert_string_equal(planned_state(f), "Train Waiting");
    assert_string_equal(prg_json_get_text(prg_json_get(f->plan->resource, "status"), "startTime"),
                        "2026-06-01T00:01:00Z");
    assert_int_equal(prg_json_count(f->plan->messages), 2); // the initial model and the job
}

static void an_inference_pod_that_runs_is_enough(void **state)
{
    struct learning_fixture *f = *state;
    put_pod(f, "helmet-inference-a", "inference", "Pending", "2026-01-01T00:00:00Z");
    plan_now(f);
    assert_string_equal(planned_steps(f), "");
    put_pod(f, "helmet-inference-a", "inference", "Failed", "2026-01-01T00:00:00Z");
    plan_now(f);
    assert_string_equal(planned_steps(f), "create helmet-inference-");
}

static void an_error_at_the_start_is_told_and_changes_nothing(void **state)
{
    struct learning_fixture *f = *state;
    put_yaml(f, "{apiVersion: sedna.io/v1alpha1, kind: Model, metadata: {name: served, namespace: ns}, spec: {url: "
                "s3://b/m, credentialName: gone}}");
    plan_now(f);
    assert_string_equal(f->plan->error, "failed to get the secret gone for model served: secrets \"gone\" not found");
    assert_string_equal(planned_steps(f), "");
    assert_false(f->steps.has_status);
    assert_int_equal(prg_json_count(f->plan->events), 1);
}

static void ready_makes_a_worker_of_a_name_that_depends_on_the_condition_only(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready", ready_data);
    plan_now(f);
    assert_string_equal(planned_steps(f), "create helmet-train-");
    assert_string_equal(planned_state(f), "Train Starting");
    const char *first = prg_meta_name(f->steps.first->object);
    plan_now(f);
    assert_string_equal(prg_meta_name(f->steps.first->object), first);
    set_state(f, "Train", "Ready", "{\"input\":{\"models\":[{\"url\":\"/x\"}]}}");
    plan_now(f);
    assert_string_not_equal(prg_meta_name(f->steps.first->object), first);
}

static void ready_without_input_is_an_error(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready", "{}");
    plan_now(f);
    assert_string_equal(f->plan->error, "empty input from condData");
    set_state(f, "Train", "Ready", "{\"input\":{}}");
    plan_now(f);
    assert_non_null(strstr(f->plan->error, "/input/models"));
    assert_string_equal(planned_state(f), "Train Ready");
}

static void the_node_of_a_running_worker_is_recorded_once(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Starting", NULL);
    put_pod(f, "helmet-train-a", "train", "Running", "2026-06-01T00:00:00Z");
    plan_now(f);
    assert_string_equal(planned_steps(f), "patch {\"sedna.io/Train\":\"edge2\"}");
    assert_string_equal(planned_state(f), "Train Running");
    assert_string_equal(prg_meta_annotation(f->plan->resource, "sedna.io/Train"), "edge2");
    put(f, f->plan->resource);
    plan_now(f);
    assert_string_equal(planned_steps(f), "");
    assert_false(f->steps.has_status);
}

static void deploy_ready_deletes_the_inference_pod_before_it_makes_the_next(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Deploy", "Ready", NULL);
    put_pod(f, "helmet-inference-a", "inference", "Running", "2026-01-01T00:00:00Z");
    plan_now(f);
    assert_string_equal(planned_steps(f), "delete helmet-inference-a, create helmet-inference-");
    assert_string_equal(f->steps.first->uid, "uid-helmet-inference-a");
    assert_string_equal(planned_state(f), "Deploy Completed");
}

static void a_job_that_starts_at_deploy_ready_gets_one_inference_pod(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Deploy", "Ready", NULL);
    cJSON *job = job_copy(f);
    prg_json_remove(prg_json_get(job, "status"), "startTime");
    put(f, job);
    plan_now(f);
    assert_string_equal(planned_steps(f), "create helmet-inference-");
}

static void hot_update_annotates_the_job(void **state)
{
    struct learning_fixture *f = *state;
    cJSON *job = job_copy(f);
    prg_json_set_bool(&f->arena, prg_json_at(job, "spec", "deploySpec", "model"), "hotUpdateEnabled", true);
    put(f, job);
    plan_now(f);
    assert_string_equal(planned_steps(f),
                        "create helmet-inference-, patch {\"sedna.io/model-hot-update-config\":"
                        "\"/var/lib/sedna/model-hot-update/ns/incrementallearningjob/helmet/model_config.json\"}");
}

static void a_job_that_is_being_deleted_is_left_alone(void **state)
{
    struct learning_fixture *f = *state;
    cJSON *job = job_copy(f);
    prg_json_set_string(&f->arena, prg_json_get(job, "metadata"), "deletionTimestamp", "2026-06-01T00:00:00Z");
    put(f, job);
    plan_now(f);
    assert_string_equal(planned_steps(f), "");
    assert_false(f->steps.has_status);
}

static void pauses_grow_to_six_minutes(void **state)
{
    static const int64_t wanted[] = {10, 20, 40, 80, 160, 320, 360, 360};
    (void)state;
    for (unsigned i = 0; i < PRG_COUNT(wanted); i++)
        assert_int_equal(prg_learning_backoff_seconds(i + 1), wanted[i]);
}

// ---- policies that go wrong ----

static const char *stub_answer; // JSON of a StageDecision

static int stub_begin(void *ctx, const struct prg_decision_context *context, struct prg_error *err)
{
    (void)ctx;
    (void)context;
    (void)err;
    return PRG_OK;
}

static void stub_end(void *ctx)
{
    (void)ctx;
}

static int stub_transit(void *ctx, const cJSON *input, cJSON **ret, struct prg_policy_source *source,
                        struct prg_error *err)
{
    (void)input;
    (void)source;
    (void)err;
    *ret = json_of(ctx, stub_answer);
    return PRG_OK;
}

static void plan_with_stub(struct learning_fixture *f, const char *answer)
{
    struct prg_decider decider = {
        .ctx = &f->arena, .begin = stub_begin, .end = stub_end, .stage_transit = stub_transit};
    struct prg_learning_input in = {
        .job = job_copy(f), .store = &f->store->reader, .now_ns = INT64_C(1780272000000000000)};
    struct prg_error err = {0};
    stub_answer = answer;
    f->plan = prg_plan_new(&f->arena);
    assert_ok(prg_learning_plan(&in, &decider, f->plan, &f->steps, &err), &err);
}

static void a_bad_answer_applies_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"{'stage': 'Train'}", "type is missing"},
        {"{'actions': ['dance']}", "there is no action 'dance'"},
        {"{'after': 1e12}", "/after"},
        {"{'stage': 'Train', 'type': 'Waiting'}", "this very second"},
    };
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Waiting", NULL);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        plan_with_stub(f, cases[i][0]);
        assert_int_equal(f->plan->error_code, PRG_POLICY);
        assert_non_null(strstr(f->plan->error, cases[i][1]));
        assert_null(f->steps.first);
        assert_false(f->steps.has_status);
    }
}

static void data_after_and_keep_are_obeyed(void **state)
{
    struct learning_fixture *f = *state;
    cJSON *job;
    set_state(f, "Train", "Failed", NULL);
    job = job_copy(f);
    cJSON *conditions = prg_json_at(job, "status", "conditions");
    for (int i = 0; i < 9; i++)
        prg_json_append(conditions, json_of(&f->arena, i == 2 ? "{'stage': 'Train', 'type': 'Completed', 'data': '{}'}"
                                                              : "{'stage': 'Train', 'type': 'Failed'}"));
    put(f, job);
    plan_with_stub(f, "{'stage': 'Train', 'type': 'Ready', 'data': {'input': {'a': '<'}}, 'after': 5, 'keep': 4}");
    conditions = prg_json_at(f->plan->resource, "status", "conditions");
    assert_int_equal(prg_json_count(conditions), 4);
    assert_string_equal(prg_json_get_text(prg_json_item(conditions, 0), "type"), "Completed");
    assert_string_equal(prg_json_get_text(prg_json_item(conditions, 3), "data"), "{\"input\":{\"a\":\"\\u003c\"}}");
    assert_int_equal(f->plan->requeue_after_ms, 5000);
}

static void only_jobs_are_planned(void **state)
{
    struct learning_fixture *f = *state;
    struct prg_error err = {0};
    struct prg_learning_input in = {
        .job = json_of(&f->arena, "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'x'}}"),
        .store = &f->store->reader};
    assert_int_equal(prg_learning_plan(&in, prg_policy_set_decider(f->policies), prg_plan_new(&f->arena), NULL, &err),
                     PRG_INVALID);
    assert_error_has(&err, "not an IncrementalLearningJob");
}

static void a_restart_that_was_done_before_a_kill_is_not_done_again(void **state)
{
    struct learning_fixture *f = *state;
    struct prg_error err = {0};
    set_state(f, "Deploy", "Ready", NULL);
    put_pod(f, "helmet-inference-a", "inference", "Running", "2026-01-01T00:00:00Z");
    plan_now(f);
    assert_string_equal(planned_steps(f), "delete helmet-inference-a, create helmet-inference-");
    cJSON *made = prg_json_copy(&f->arena, f->steps.last->object);
    struct prg_key old = {"", "Pod", "ns", "helmet-inference-a"};
    assert_true(prg_store_mem_drop(f->store, &old)); // deleted, and the controller dies
    plan_now(f);
    assert_string_equal(planned_steps(f), "create helmet-inference-");
    assert_string_equal(prg_meta_name(f->steps.first->object), prg_meta_name(made));
    assert_ok(prg_store_mem_put(f->store, made, false, true, &err), &err); // made as well
    plan_now(f);
    assert_string_equal(planned_steps(f), "");
    assert_string_equal(planned_state(f), "Deploy Completed");
    // Somebody deletes it just then.
    cJSON *meta = prg_json_get(made, "metadata");
    prg_json_set_string(&f->arena, meta, "deletionTimestamp", "2026-06-01T00:00:30Z");
    put(f, made);
    plan_now(f);
    assert_string_equal(planned_steps(f), "create helmet-inference-");
    assert_string_not_equal(prg_meta_name(f->steps.first->object), prg_meta_name(made));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        learning_test(a_new_job_gets_inference_and_waits_for_training),
        learning_test(an_inference_pod_that_runs_is_enough),
        learning_test(an_error_at_the_start_is_told_and_changes_nothing),
        learning_test(ready_makes_a_worker_of_a_name_that_depends_on_the_condition_only),
        learning_test(ready_without_input_is_an_error),
        learning_test(the_node_of_a_running_worker_is_recorded_once),
        learning_test(deploy_ready_deletes_the_inference_pod_before_it_makes_the_next),
        learning_test(a_job_that_starts_at_deploy_ready_gets_one_inference_pod),
        learning_test(hot_update_annotates_the_job),
        learning_test(a_job_that_is_being_deleted_is_left_alone),
        cmocka_unit_test(pauses_grow_to_six_minutes),
        learning_test(a_bad_answer_applies_nothing),
        learning_test(data_after_and_keep_are_obeyed),
        learning_test(only_jobs_are_planned),
        learning_test(a_restart_that_was_done_before_a_kill_is_not_done_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
