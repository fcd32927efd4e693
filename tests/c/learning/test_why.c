// SPDX-License-Identifier: Apache-2.0
#include "learning_fixture.h"

#include "learning/outlook.h"
#include "learning/why.h"

static cJSON *why_of(struct learning_fixture *f, const cJSON *job)
{
    struct prg_error err = {0};
    cJSON *why = NULL;
    struct prg_learning_input in = {
        .job = job, .store = &f->store->reader, .now_ns = INT64_C(1780272060000000000) /* 2026-06-01T00:01:00Z */};
    assert_ok(prg_learning_why(&f->arena, &in, prg_policy_set_decider(f->policies), &why, &err), &err);
    return why;
}

static cJSON *why_now(struct learning_fixture *f)
{
    return why_of(f, job_copy(f));
}

static const char *text_at(const cJSON *why, const char *part, const char *key)
{
    const char *text = prg_json_get_text(prg_json_get(why, part), key);
    return text ? text : "(none)";
}

static const char *then_of(const cJSON *why, const char *condition)
{
    const cJSON *entry;
    prg_json_each (entry, prg_json_get(why, "next"))
        if (strcmp(prg_json_get_text(entry, "if"), condition) == 0)
            return prg_json_get_text(entry, "then");
    return "(none)";
}

static const char *shown(struct learning_fixture *f, const cJSON *why)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_learning_why_text(why, &out);
    return prg_arena_strdup(&f->arena, out.text);
}

static void a_new_job_waits_for_the_controller(void **state)
{
    struct learning_fixture *f = *state;
    cJSON *why = why_now(f);
    assert_string_equal(text_at(why, "awaited", "who"), "controller");
    assert_non_null(strstr(then_of(why, "the controller runs"), "makes pod helmet-inference-"));
    assert_non_null(strstr(then_of(why, "the controller runs"), "then Train Waiting"));
    assert_non_null(strstr(shown(f, why), "ns/helmet: Train (not begun)"));
}

static void a_waiting_job_names_the_node_and_the_time(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Waiting", NULL);
    cJSON *why = why_now(f);
    assert_string_equal(text_at(why, "awaited", "who"), "edge node");
    assert_string_equal(text_at(why, "awaited", "node"), "edge1");
    assert_string_equal(text_at(why, "awaited", "since"), "2026-06-01T00:00:00Z");
    assert_json_text(&f->arena, prg_json_at(why, "awaited", "seconds"), "60");
    assert_non_null(strstr(then_of(why, "edge1 reports Train Ready"), "the train worker is made"));
    assert_non_null(strstr(shown(f, why), "edge node edge1: its report Train Ready"));
}

static void a_running_worker_is_awaited_with_what_its_end_would_do(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Running", NULL);
    put_pod(f, "helmet-train-a", "train", "Running", "2026-06-01T00:00:00Z");
    cJSON *job = job_copy(f);
    cJSON *meta = prg_json_get(job, "metadata");
    prg_json_set_string(&f->arena, prg_json_ensure_object(&f->arena, meta, "annotations"), "sedna.io/Train", "edge2");
    cJSON *why = why_of(f, job);
    assert_string_equal(text_at(why, "awaited", "who"), "worker");
    assert_string_equal(text_at(why, "awaited", "node"), "edge2");
    assert_string_equal(then_of(why, "edge2 reports Train Completed"), "Eval Waiting");
    assert_string_equal(then_of(why, "edge2 reports Train Failed"), "Train Waiting");
    assert_string_equal(then_of(why, "pod helmet-train-a is Succeeded"), "Train Completed");
    assert_string_equal(then_of(why, "pod helmet-train-a is Failed"), "Train Failed");
}

static void a_vanished_worker_is_awaited_from_nobody(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Running", NULL);
    cJSON *why = why_now(f);
    assert_string_equal(text_at(why, "awaited", "who"), "nobody");
    assert_non_null(strstr(text_at(why, "awaited", "what"), "there is no train pod"));
}

static void a_pod_that_cannot_start_says_why(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Eval", "Starting", NULL);
    put_yaml(f,
             "{apiVersion: v1, kind: Pod, metadata: {name: helmet-eval-a, namespace: ns, creationTimestamp: "
             "'2026-06-01T00:00:00Z', labels: {incrementallearningjob.sedna.io/name: helmet, "
             "incrementallearningjob.sedna.io/uid: u1, incrementallearningjob.sedna.io/worker-type: eval}}, status: "
             "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: no "
             "node has a GPU}]}}");
    cJSON *why = why_now(f);
    assert_string_equal(text_at(why, "awaited", "who"), "kubelet");
    assert_string_equal(text_at(why, "awaited", "what"),
                        "pod helmet-eval-a is Pending: Unschedulable: no node has a GPU");
}

static void an_error_is_told_with_who_can_mend_it(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready", "{}");
    cJSON *why = why_now(f);
    assert_string_equal(prg_json_get_text(why, "error"), "empty input from condData");
    assert_string_equal(text_at(why, "awaited", "who"), "you");
}

static void a_state_of_nobody_says_that_nothing_comes(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Dreaming", NULL);
    cJSON *why = why_now(f);
    assert_string_equal(text_at(why, "awaited", "who"), "nobody");
    assert_int_equal(prg_json_count(prg_json_get(why, "next")), 0);
}

static void hostile_status_is_survived(void **state)
{
    static const char *const statuses[] = {"{conditions: 7}",
                                           "{conditions: [7, null, [], {}]}",
                                           "{conditions: [{stage: 1, type: [2], data: '{'}]}",
                                           "{conditions: [{stage: Train, type: Waiting, lastTransitionTime: soon}]}",
                                           "{conditions: [{stage: Eval, type: Completed, data: '[1]'}], startTime: 5}",
                                           "{conditions: [{stage: Deploy, type: Running, data: '{\"output\": 3}'}]}",
                                           "[]"};
    struct learning_fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(statuses); i++) {
        put_yaml(f, prg_arena_printf(&f->arena,
                                     "{apiVersion: sedna.io/v1alpha1, kind: IncrementalLearningJob, metadata: {name: "
                                     "helmet, namespace: ns, uid: u1}, spec: {dataset: 5, deploySpec: [], trainSpec: "
                                     "{trigger: {timer: 3, condition: {metric: 4, operator: {}}}}}, status: %s}",
                                     statuses[i]));
        assert_true(strlen(shown(f, why_now(f))) > 0);
    }
}

// ---- what will never happen ----

static const char *problems(struct learning_fixture *f, const char *triggers)
{
    cJSON *job = job_copy(f), *patch = json_of(&f->arena, triggers), *part, *entry;
    const char *text = "";
    prg_json_each (part, patch)
        prg_json_set(&f->arena, prg_json_ensure_object(&f->arena, prg_json_get(job, "spec"), part->string), "trigger",
                     prg_json_copy(&f->arena, part));
    prg_json_each (entry, prg_learning_outlook(&f->arena, &f->store->reader, job))
        text = prg_arena_printf(&f->arena, "%s%s %s: %s\n", text, prg_json_get_text(entry, "stage"),
                                prg_json_get_text(entry, "field"), prg_json_get_text(entry, "problem"));
    return text;
}

static void a_metric_without_index_is_found_out(void **state)
{
    struct learning_fixture *f = *state;
    const char *text = problems(f, "{'deploySpec': {'condition': {'metric': 'precision_delta', 'operator': '>', "
                                   "'threshold': 0.1}}}");
    assert_non_null(strstr(text, "Deploy /spec/deploySpec/trigger/condition/metric"));
    assert_non_null(strstr(text, "0 > 0.1 is always false, so a new model is never deployed"));
    text = problems(f, "{'deploySpec': {'condition': {'metric': 'loss', 'operator': 'lt', 'threshold': 0.1}}}");
    assert_non_null(strstr(text, "0 lt 0.1 is always true, so a new model is always deployed"));
    assert_string_equal(problems(f, "{'deploySpec': {'condition': {'metric': 'precision_delta[0]', 'operator': '>', "
                                    "'threshold': 0.1}}}"),
                        "");
}

static void a_trigger_that_cannot_fire_is_found_out(void **state)
{
    struct learning_fixture *f = *state;
    assert_non_null(strstr(problems(f, "{'trainSpec': {'condition': {'metric': 'num_of_sample', 'operator': '>', "
                                       "'threshold': 500}}}"),
                           "no metric 'num_of_sample'"));
    assert_non_null(strstr(problems(f, "{'trainSpec': {'condition': {'metric': 'num_of_samples', 'operator': '=>', "
                                       "'threshold': 500}}}"),
                           "operator '=>' is unknown"));
    assert_non_null(strstr(problems(f, "{'trainSpec': {'timer': {'start': '2:00', 'end': '20:00'}, 'condition': "
                                       "{'metric': 'num_of_samples', 'operator': '>', 'threshold': 500}}}"),
                           "compares its local time with '2:00'"));
    assert_string_equal(problems(f, "{'trainSpec': {'timer': {'start': '02:00', 'end': '23:59'}, 'condition': "
                                    "{'metric': 'num_of_samples', 'operator': 'ge', 'threshold': 500}}}"),
                        "");
}

static void a_missing_index_of_a_reported_metric_is_found_out(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Eval", "Completed",
              "{\"output\":{\"models\":[{\"url\":\"/m\",\"metrics\":{\"recall\":[0.1,0.2]}},{\"url\":\"/n\"}]}}");
    assert_non_null(strstr(problems(f, "{'deploySpec': {'condition': {'metric': 'recall_delta[2]', 'operator': '>', "
                                       "'threshold': 0.1}}}"),
                           "reported 2 values of 'recall_delta'"));
    assert_non_null(strstr(problems(f, "{'deploySpec': {'condition': {'metric': 'precision[0]', 'operator': '>', "
                                       "'threshold': 0.1}}}"),
                           "reported no metric 'precision'"));
    assert_string_equal(problems(f, "{'deploySpec': {'condition': {'metric': 'recall[1]', 'operator': '>', "
                                    "'threshold': 0.1}}}"),
                        "");
}

static void missing_objects_are_found_out(void **state)
{
    struct learning_fixture *f = *state;
    put_yaml(f, "{apiVersion: sedna.io/v1alpha1, kind: Dataset, metadata: {name: photos, namespace: ns},\n"
                " spec: {url: /data/train.txt, format: parquet, nodeName: ''}}\n");
    const char *text = problems(f, "{}");
    assert_non_null(strstr(text, "Train /spec/nodeName: no node watches the samples"));
    assert_non_null(strstr(text, "reads txt and csv, not 'parquet'"));
    struct prg_key key = {"sedna.io", "Model", "ns", "base"};
    assert_true(prg_store_mem_drop(f->store, &key));
    assert_non_null(strstr(problems(f, "{}"), "there is no Model/base in namespace ns"));
}

static void a_model_in_a_foreign_format_is_found_out(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Completed", "{\"output\":{\"models\":[{\"url\":\"/m\",\"format\":\"onnx\"}]}}");
    assert_non_null(strstr(problems(f, "{}"), "made a model of format 'onnx', the served model has 'ckpt'"));
    set_state(f, "Train", "Completed", "{\"output\":{\"models\":[{\"url\":\"/m\",\"format\":\"ckpt\"}]}}");
    assert_string_equal(problems(f, "{}"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        learning_test(a_new_job_waits_for_the_controller),
        learning_test(a_waiting_job_names_the_node_and_the_time),
        learning_test(a_running_worker_is_awaited_with_what_its_end_would_do),
        learning_test(a_vanished_worker_is_awaited_from_nobody),
        learning_test(a_pod_that_cannot_start_says_why),
        learning_test(an_error_is_told_with_who_can_mend_it),
        learning_test(a_state_of_nobody_says_that_nothing_comes),
        learning_test(hostile_status_is_survived),
        learning_test(a_metric_without_index_is_found_out),
        learning_test(a_trigger_that_cannot_fire_is_found_out),
        learning_test(a_missing_index_of_a_reported_metric_is_found_out),
        learning_test(missing_objects_are_found_out),
        learning_test(a_model_in_a_foreign_format_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
