// SPDX-License-Identifier: Apache-2.0
// test_plan.c: whole plans: the order of work, errors of each step, and what is told about them.
#include "plan_fixture.h"

#include "serving/predictor.h"
#include "yaml/load.h"

#define RUNTIME                                                                                                        \
    "{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ClusterServingRuntime', 'metadata': {'name': 'r'}, "        \
    "'spec': {'annotations': {'from': 'runtime'}, 'labels': {'tier': 'runtime'}, 'supportedModelFormats': [{'name': "  \
    "'onnx', 'autoSelect': true}], 'containers': [{'name': 'kserve-container', 'image': 'i:1'}]}}"

static cJSON *service_of(struct px *px, const char *metadata, const char *spec)
{
    cJSON *service = json_of(&px->arena, "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', "
                                         "'metadata': {'name': 'm', 'namespace': 'ns', 'uid': 'u-1'}}");
    const cJSON *more = json_of(&px->arena, metadata), *item;
    prg_json_each (item, more)
        prg_json_set(&px->arena, prg_json_get(service, "metadata"), item->string, prg_json_copy(&px->arena, item));
    prg_json_set(&px->arena, service, "spec", json_of(&px->arena, spec));
    return service;
}

static struct px *planned(const char *metadata, const char *spec, const char *sections)
{
    struct px *px = test_calloc(1, sizeof(*px));
    px_init(px, &prg_compat_fixed);
    const cJSON *service = service_of(px, metadata, spec);
    assert_ok(px_plan(px, service, json_of(&px->arena, "[" RUNTIME "]"), px_config(&px->arena, sections)), &px->err);
    assert_int_equal(px->decider.begun, px->decider.ended);
    return px;
}

static void done(struct px *px)
{
    px_release(px);
    test_free(px);
}

#define ONNX "'model': {'modelFormat': {'name': 'onnx'}, 'storageUri': 's3://b'}"

static void a_plan_holds_objects_status_and_reasons(void **state)
{
    struct px *px = planned("{'labels': {'tier': 'service'}, 'annotations': {'perigee.dev/x': '1', 'a': 'b'}}",
                            "{'predictor': {" ONNX "}}", NULL);
    (void)state;
    assert_null(px->plan->error);
    const cJSON *deployment = px_object(px->plan, "Deployment", "m-predictor");
    assert_non_null(deployment);
    assert_string_equal(prg_meta_namespace(deployment), "ns");
    assert_string_equal(prg_meta_label(deployment, "tier"), "service");
    const cJSON *annotations = prg_json_at(deployment, "spec", "template", "metadata", "annotations");
    assert_string_equal(prg_json_get_text(annotations, "from"), "runtime");
    assert_string_equal(prg_json_get_text(annotations, "a"), "b");
    assert_string_equal(prg_json_get_text(annotations, PRG_ANNOTATION_SOURCE_URI), "s3://b");
    assert_null(prg_json_get(annotations, "perigee.dev/x"));
    assert_string_equal(px->plan->policy_revision, "fixture");
    assert_string_equal(prg_json_get_text(prg_json_get(px->plan->resource, "status"), "clusterServingRuntimeName"),
                        "r");
    // why
    assert_non_null(px_traced(px->plan, "m", "Standard"));
    assert_non_null(px_traced(px->plan, "ClusterServingRuntime r", "chosen"));
    assert_non_null(px_traced(px->plan, "tier", "service wins"));
    assert_non_null(px_traced(px->plan, "perigee.dev/x", "dropped"));
    assert_non_null(px_traced(px->plan, "s3://b", "accepted"));
    done(px);
}

static void defaulting_is_traced_by_pointer(void **state)
{
    struct px *px = planned("{}", "{'predictor': {'onnx': {'storageUri': 's3://b'}}}", NULL);
    (void)state;
    assert_null(px->plan->error);
    const struct prg_trace_entry *entry = px_traced(px->plan, "/spec/predictor/model", "set");
    assert_non_null(entry);
    assert_string_equal(entry->decision, "default");
    assert_non_null(px_traced(px->plan, "/spec/predictor/onnx", "removed"));
    done(px);
    px = planned("{'annotations': {}}", "{'predictor': {'model': {'modelFormat': {'name': 'onnx'}, 'env': null}}}",
                 NULL);
    for (entry = px->plan->trace_first; entry; entry = entry->next) // what Go fills in by itself is no decision
        if (prg_text_equal(entry->decision, "default"))
            assert_string_not_equal(entry->reason, "\"\"");
    assert_null(px_traced(px->plan, "/spec/predictor/model/env", "removed"));
    done(px);
}

static void origins_tell_layer_by_layer(void **state)
{
    struct px *px =
        planned("{'labels': {'l': 's'}}", "{'predictor': {'labels': {'p': 'p'}, 'nodeName': 'n', " ONNX "}}", NULL);
    (void)state;
    const cJSON *template = prg_json_at(px_object(px->plan, "Deployment", "m-predictor"), "spec", "template");
    const cJSON *labels = prg_json_at(template, "metadata", "labels");
    assert_int_equal(prg_json_origin(prg_json_get(labels, "l")), PRG_ORIGIN_SERVICE);
    assert_int_equal(prg_json_origin(prg_json_get(labels, "p")), PRG_ORIGIN_PREDICTOR);
    assert_int_equal(prg_json_origin(prg_json_get(labels, "tier")), PRG_ORIGIN_RUNTIME);
    assert_int_equal(prg_json_origin(prg_json_get(labels, "component")), PRG_ORIGIN_RULE);
    assert_int_equal(prg_json_origin(prg_json_at(template, "spec", "nodeName")), PRG_ORIGIN_PREDICTOR);
    const cJSON *container = prg_json_item(prg_json_at(template, "spec", "containers"), 0);
    assert_int_equal(prg_json_origin(prg_json_get(container, "image")), PRG_ORIGIN_RUNTIME);
    done(px);
}

// ---- what is wrong with the service ----

static void wrong_types_are_told_with_object_pointer_and_line(void **state)
{
    static const char text[] = "apiVersion: serving.kserve.io/v1beta1\n"
                               "kind: InferenceService\n"
                               "metadata: {name: m, namespace: ns}\n"
                               "spec:\n"
                               "  predictor:\n"
                               "    containers: {}\n";
    struct px px;
    struct prg_yaml_docs docs;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    assert_ok(prg_yaml_load(&px.arena, "m.yaml", text, sizeof(text) - 1, NULL, &docs, &px.err), &px.err);
    assert_ok(px_plan(&px, docs.items[0], NULL, px_config(&px.arena, NULL)), &px.err);
    assert_non_null(px.plan->error);
    assert_non_null(strstr(px.plan->error, "InferenceService ns/m: /spec/predictor/containers: expected "));
    assert_non_null(strstr(px.plan->error, "got object"));
    assert_int_equal(px.plan->error_code, PRG_INVALID);
    assert_int_equal(prg_json_count(px.plan->objects), 0);
    assert_non_null(px_event(px.plan, "InvalidService"));
    px_release(&px);
}

static void odd_services_are_errors_and_never_crashes(void **state)
{
    static const char *const specs[] = {
        "{}",
        "null",
        "[]",
        "'text'",
        "{'predictor': null}",
        "{'predictor': {}}",
        "{'predictor': []}",
        "{'predictor': {'model': null}}",
        "{'predictor': {'model': {}}}",
        "{'predictor': {'model': {'modelFormat': null}}}",
        "{'predictor': {'model': {'modelFormat': {'name': 3}}}}",
        "{'predictor': {'model': {'modelFormat': {'name': 'onnx'}, 'env': [null]}}}",
        "{'predictor': {'model': {'modelFormat': {'name': 'onnx'}, 'env': [{}], 'args': [1]}}}",
        "{'predictor': {'model': {'modelFormat': {'name': 'onnx'}, 'storage': {'path': 1}}}}",
        "{'predictor': {'model': {'modelFormat': {'name': 'onnx'}, 'storageUri': 's3://b'}, 'storageUris': [null]}}",
        "{'predictor': {'model': {'modelFormat': {'name': 'onnx'}}, 'storageUris': [{}]}}",
        "{'predictor': {'model': {'modelFormat': {'name': 'onnx'}}, 'workerSpec': {}}}",
        "{'predictor': {'containers': [null]}}",
        "{'predictor': {'containers': [{}]}}",
        "{'predictor': {'containers': [{'name': 'kserve-container'}, {'name': 'kserve-container'}]}}",
        "{'predictor': {'containers': [{'name': 'kserve-container', 'image': 'i'}], 'workerSpec': {}}}",
        "{'predictor': {'sklearn': null}}",
        "{'predictor': {'sklearn': []}}",
        "{'predictor': {'sklearn': {}, 'logger': null, 'batcher': {'maxBatchSize': 'x'}}}",
        "{'predictor': {" ONNX ", 'volumes': {}}}",
        "{'predictor': {" ONNX ", 'minReplicas': -5, 'maxReplicas': 0}}",
        "{'predictor': {" ONNX ", 'scaleMetric': 'what', 'scaleTarget': 99999999999999999999}}",
        "{'predictor': {" ONNX ", 'labels': {'a': 1}}}",
        "{'predictor': {" ONNX ", 'annotations': 'x'}}",
    };
    static const char *const modes[] = {"Standard", "Knative"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(specs) * PRG_COUNT(modes); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        struct px *px = planned(prg_arena_printf(&arena, "{'annotations': {'serving.kserve.io/deploymentMode': '%s'}}",
                                                 modes[i % PRG_COUNT(modes)]),
                                specs[i / PRG_COUNT(modes)], NULL);
        // either a plan or an error that says something; a resource always
        assert_true(px->plan->error ? strlen(px->plan->error) > 10 : prg_json_count(px->plan->objects) > 0);
        assert_null(strstr(px->plan->error ? px->plan->error : "", "(null)"));
        assert_non_null(px->plan->resource);
        done(px);
    }
}

static void a_predictor_without_anything_to_run_is_told_what_to_do(void **state)
{
    struct px *px = planned("{}", "{'predictor': {}}", NULL);
    (void)state;
    assert_non_null(strstr(px->plan->error, "/spec/predictor has neither a model nor containers; give model"));
    assert_non_null(px_event(px->plan, "InvalidPredictor"));
    done(px);
}

static void the_subject_must_be_a_service(void **state)
{
    static const char *const subjects[][2] = {
        {"{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'm'}}", "not an InferenceService"},
        {"{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', 'metadata': {}}", "name"},
        {"{}", "the subject of the plan"},
        {"[]", "the subject of the plan"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(subjects); i++) {
        struct px px;
        px_init(&px, &prg_compat_fixed);
        assert_int_equal(px_plan(&px, json_of(&px.arena, subjects[i][0]), NULL, px_config(&px.arena, NULL)),
                         PRG_INVALID);
        assert_error_has(&px.err, subjects[i][1]);
        px_release(&px);
    }
}

static void a_service_that_is_being_deleted_needs_nothing(void **state)
{
    struct px *px = planned("{'deletionTimestamp': '2026-06-01T00:00:00Z'}", "{'predictor': {" ONNX "}}", NULL);
    (void)state;
    assert_null(px->plan->error);
    assert_int_equal(prg_json_count(px->plan->objects) + prg_json_count(px->plan->deletes), 0);
    assert_int_equal(px->decider.begun, 0);
    assert_non_null(px_traced(px->plan, "m", "nothing to do"));
    done(px);
}

// ---- errors by step ----

static const char *condition_text(const struct px *px, const char *type, const char *key)
{
    const char *text = prg_json_get_text(px_condition(px->plan, type), key);
    return text ? text : "";
}

static void errors_before_the_objects_leave_the_predictor_unknown(void **state)
{
    static const struct {
        const char *predictor, *event;
    } cases[] = {
        {"{'model': {'modelFormat': {'name': 'onnx'}, 'storageUri': 'what://x'}}", "StorageNotSupported"},
        {"{'model': {'modelFormat': {'name': 'pmml'}, 'storageUri': 's3://x'}}", "RuntimeNotSelected"},
        {"{'model': {'modelFormat': {'name': 'onnx'}, 'storageUri': 's3://x', 'runtime': 'none'}}",
         "RuntimeNotSelected"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        struct px *px = planned("{}", prg_arena_printf(&arena, "{'predictor': %s}", cases[i].predictor), NULL);
        assert_non_null(px->plan->error);
        assert_non_null(px_event(px->plan, cases[i].event));
        assert_string_equal(condition_text(px, "PredictorReady", "status"), "Unknown");
        assert_int_equal(prg_json_count(px->plan->objects), 0);
        done(px);
    }
}

static void the_error_of_a_selection_names_every_candidate(void **state)
{
    struct px *px =
        planned("{}", "{'predictor': {'model': {'modelFormat': {'name': 'pmml'}, 'storageUri': 's3://x'}}}", NULL);
    (void)state;
    assert_string_equal(px->plan->error,
                        "no runtime serves format 'pmml', protocol v1 (assumed): r: no entry for format pmml");
    assert_string_equal(prg_json_get_text(px_event(px->plan, "RuntimeNotSelected"), "message"), px->plan->error);
    done(px);
}

static void errors_of_the_objects_are_conditions(void **state)
{
    struct px *px = planned("{}", "{'predictor': {" ONNX "}}", "{'ingress': null}");
    (void)state;
    assert_non_null(px->plan->error);
    assert_string_equal(condition_text(px, "PredictorReady", "status"), "False");
    assert_string_equal(condition_text(px, "PredictorReady", "reason"), "ReconcileFailed");
    // The condition has the original's text; the error says which runtime it is about, too.
    static const char with[] = "with ClusterServingRuntime r: ";
    assert_memory_equal(px->plan->error, with, strlen(with));
    assert_string_equal(condition_text(px, "PredictorReady", "message"), px->plan->error + strlen(with));
    done(px);
}

static void workers_of_a_custom_predictor_are_an_error(void **state)
{
    struct px *px = planned("{}",
                            "{'predictor': {'containers': [{'name': 'kserve-container', 'image': 'i'}], 'workerSpec': "
                            "{}}}",
                            NULL);
    (void)state;
    assert_non_null(strstr(px->plan->error, "/spec/predictor/workerSpec needs a model"));
    assert_string_equal(condition_text(px, "PredictorReady", "reason"), "InvalidGPUAllocation");
    done(px);
}

// ---- mode ----

static void the_mode_is_that_of_status_then_annotation_then_configuration(void **state)
{
    static const struct {
        const char *status, *annotation, *section, *kind;
    } cases[] = {
        {"{'deploymentMode': 'Knative'}", "Standard", "{'deploy': {'defaultDeploymentMode': 'Standard'}}", "Service"},
        {"{'deploymentMode': 'RawDeployment'}", "Knative", NULL, "Deployment"},
        {"{'deploymentMode': 'nonsense'}", "Standard", NULL, "Deployment"},
        {"{}", "Serverless", NULL, "Service"},
        {"{}", "", "{'deploy': {'defaultDeploymentMode': 'Standard'}}", "Deployment"},
        {"{}", "nonsense", "{'deploy': {'defaultDeploymentMode': 'Knative'}}", "Service"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct px px;
        px_init(&px, &prg_compat_fixed);
        cJSON *service =
            service_of(&px,
                       prg_arena_printf(&px.arena, "{'annotations': {'serving.kserve.io/deploymentMode': '%s'}}",
                                        cases[i].annotation),
                       "{'predictor': {" ONNX "}}");
        prg_json_set(&px.arena, service, "status", json_of(&px.arena, cases[i].status));
        assert_ok(px_plan(&px, service, json_of(&px.arena, "[" RUNTIME "]"), px_config(&px.arena, cases[i].section)),
                  &px.err);
        bool is_standard = px_object(px.plan, "Deployment", "m-predictor") != NULL;
        if (is_standard != prg_text_equal(cases[i].kind, "Deployment"))
            fail_msg("case %zu: %s", i, px.plan->error ? px.plan->error : "the other mode");
        px_release(&px);
    }
}

static void a_default_mode_that_does_not_exist_is_an_error(void **state)
{
    struct px *px = planned("{}", "{'predictor': {" ONNX "}}", "{'deploy': {'defaultDeploymentMode': 'Sometimes'}}");
    (void)state;
    assert_non_null(strstr(px->plan->error, "key 'deploy': /defaultDeploymentMode: 'Sometimes' is not one of"));
    assert_non_null(px_event(px->plan, "InvalidConfiguration"));
    done(px);
}

// ---- storage ----

#define HELPER                                                                                                         \
    "[{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ClusterServingRuntime', 'metadata': {'name': 'r'}, "       \
    "'spec': {'storageHelper': {'disabled': true}, 'supportedModelFormats': [{'name': 'onnx', 'autoSelect': true}], "  \
    "'containers': [{'name': 'kserve-container', 'image': 'i:1'}]}}]"

static void a_runtime_that_loads_models_itself_gets_no_initializer_when_mended(void **state)
{
    static const struct prg_compat *const compats[] = {&prg_compat_fixed, &prg_compat_kserve};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(compats); i++) {
        struct px px;
        px_init(&px, compats[i]);
        assert_ok(px_plan(&px, service_of(&px, "{}", "{'predictor': {" ONNX "}}"), json_of(&px.arena, HELPER),
                          px_config(&px.arena, NULL)),
                  &px.err);
        const cJSON *annotations =
            prg_json_at(px_object(px.plan, "Deployment", "m-predictor"), "spec", "template", "metadata", "annotations");
        bool is_loaded = prg_json_get(annotations, PRG_ANNOTATION_SOURCE_URI) != NULL;
        assert_int_equal(is_loaded, compats[i] == &prg_compat_kserve);
        assert_int_equal(px_traced(px.plan, PRG_ANNOTATION_SOURCE_URI, "dropped") == NULL, is_loaded);
        px_release(&px);
    }
}

// ---- the end ----

static void a_stopped_service_is_marked_and_has_no_objects(void **state)
{
    struct px *px = planned("{'annotations': {'serving.kserve.io/stop': 'TRUE'}}", "{'predictor': {" ONNX "}}", NULL);
    (void)state;
    assert_null(px->plan->error);
    assert_string_equal(condition_text(px, "PredictorReady", "status"), "False");
    assert_string_equal(condition_text(px, "PredictorReady", "reason"), "Stopped");
    assert_null(px_object(px->plan, "Deployment", "m-predictor"));
    done(px);
}

static void without_pods_there_is_nothing_to_ask_again_about(void **state)
{
    struct px *px = planned("{}", "{'predictor': {" ONNX "}}", NULL);
    (void)state;
    assert_int_equal(px->plan->requeue_after_ms, 0);
    done(px);
}

static int patch_fails(void *ctx, const cJSON *object, cJSON **ret, struct prg_policy_source *source,
                       struct prg_error *err)
{
    (void)ctx;
    (void)object;
    (void)ret;
    (void)source;
    return prg_fail(err, PRG_POLICY, "object_patch.patch: p.lua:2: boom");
}

static bool yes(void *ctx)
{
    (void)ctx;
    return true;
}

static void a_failing_patch_takes_everything_back(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    const cJSON *service = service_of(&px, "{}", "{'predictor': {" ONNX "}}");
    const cJSON *objects = json_of(&px.arena, "[" RUNTIME "]"), *configmap = px_config(&px.arena, NULL);
    assert_ok(px_plan(&px, service, objects, configmap), &px.err);
    px.decider.base.has_object_patch = yes;
    px.decider.base.object_patch = patch_fails;
    assert_ok(px_plan(&px, service, objects, configmap), &px.err);
    assert_int_equal(px.plan->error_code, PRG_POLICY);
    assert_int_equal(prg_json_count(px.plan->objects), 0);
    assert_non_null(px_condition(px.plan, "PolicyFailed"));
    px_release(&px);
}

static void a_service_without_namespace_lives_in_the_default_one(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    cJSON *service = service_of(&px, "{}", "{'predictor': {" ONNX "}}");
    prg_json_remove(prg_json_get(service, "metadata"), "namespace");
    assert_ok(px_plan(&px, service, json_of(&px.arena, "[" RUNTIME "]"), px_config(&px.arena, NULL)), &px.err);
    assert_string_equal(prg_meta_namespace(px_object(px.plan, "Deployment", "m-predictor")), "default");
    px_release(&px);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_holds_objects_status_and_reasons),
        cmocka_unit_test(defaulting_is_traced_by_pointer),
        cmocka_unit_test(origins_tell_layer_by_layer),
        cmocka_unit_test(wrong_types_are_told_with_object_pointer_and_line),
        cmocka_unit_test(odd_services_are_errors_and_never_crashes),
        cmocka_unit_test(a_predictor_without_anything_to_run_is_told_what_to_do),
        cmocka_unit_test(the_subject_must_be_a_service),
        cmocka_unit_test(a_service_that_is_being_deleted_needs_nothing),
        cmocka_unit_test(errors_before_the_objects_leave_the_predictor_unknown),
        cmocka_unit_test(the_error_of_a_selection_names_every_candidate),
        cmocka_unit_test(errors_of_the_objects_are_conditions),
        cmocka_unit_test(workers_of_a_custom_predictor_are_an_error),
        cmocka_unit_test(the_mode_is_that_of_status_then_annotation_then_configuration),
        cmocka_unit_test(a_default_mode_that_does_not_exist_is_an_error),
        cmocka_unit_test(a_runtime_that_loads_models_itself_gets_no_initializer_when_mended),
        cmocka_unit_test(a_stopped_service_is_marked_and_has_no_objects),
        cmocka_unit_test(without_pods_there_is_nothing_to_ask_again_about),
        cmocka_unit_test(a_failing_patch_takes_everything_back),
        cmocka_unit_test(a_service_without_namespace_lives_in_the_default_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
