// SPDX-License-Identifier: Apache-2.0
// test_outcome.c: how plans end: failed policies, what is not managed, what the mode cannot express.
#include "plan_fixture.h"

#define RUNTIME                                                                                                        \
    "[{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ClusterServingRuntime', 'metadata': {'name': 'r'}, "       \
    "'spec': {'supportedModelFormats': [{'name': 'onnx', 'autoSelect': true}], 'containers': [{'name': "               \
    "'kserve-container', 'image': 'i:1'}]}}]"
#define MODEL "'model': {'modelFormat': {'name': 'onnx'}, 'storageUri': 's3://b'}"

static const cJSON *service_of(struct px *px, const char *annotations, const char *spec)
{
    return json_of(&px->arena,
                   prg_arena_printf(&px->arena,
                                    "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', "
                                    "'metadata': {'name': 'm', 'namespace': 'ns', 'uid': 'u-1', 'annotations': %s}, "
                                    "'spec': %s}",
                                    annotations, spec));
}

// spec: of the service. The decider may have been changed before.
static void plan(struct px *px, const cJSON *service)
{
    px->err = (struct prg_error){0};
    assert_ok(px_plan(px, service, json_of(&px->arena, RUNTIME), px_config(&px->arena, NULL)), &px->err);
}

static const cJSON *again(struct px *px, const cJSON *service)
{
    cJSON *next = prg_json_copy(&px->arena, service);
    prg_json_set(&px->arena, next, "status", prg_json_copy(&px->arena, prg_json_get(px->plan->resource, "status")));
    return next;
}

static int image_fails(void *ctx, const char *image, const struct prg_image_request *request, const char **ret,
                       struct prg_policy_source *source, struct prg_error *err)
{
    (void)ctx;
    (void)image;
    (void)request;
    (void)ret;
    (void)source;
    return prg_fail(err, PRG_POLICY, "image.tag: my/image.lua:7: attempt to index a nil value");
}

static void a_failed_policy_takes_everything_back(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    const cJSON *service = service_of(&px, "{}", "{'predictor': {" MODEL "}}");
    plan(&px, service);
    assert_null(px.plan->error);
    assert_true(prg_json_count(px.plan->objects) > 0);
    service = again(&px, service);

    px.decider.base.image_tag = image_fails;
    plan(&px, service);
    assert_int_equal(px.plan->error_code, PRG_POLICY);
    assert_non_null(strstr(px.plan->error, "image.tag: my/image.lua:7: attempt to index a nil value"));
    assert_int_equal(prg_json_count(px.plan->objects), 0);
    assert_int_equal(prg_json_count(px.plan->deletes), 0);
    const cJSON *failed = px_condition(px.plan, "PolicyFailed");
    assert_string_equal(prg_json_get_text(failed, "status"), "True");
    assert_string_equal(prg_json_get_text(failed, "reason"), "PolicyError");
    assert_string_equal(prg_json_get_text(failed, "message"), px.plan->error);
    assert_int_equal(prg_json_count(px.plan->events), 1);
    assert_non_null(px_event(px.plan, "PolicyFailed"));
    // everything else of the status is as it came in
    cJSON *status = prg_json_copy(&px.arena, prg_json_get(px.plan->resource, "status"));
    cJSON *conditions = prg_json_get(status, "conditions"), *condition;
    for (condition = conditions->child; condition; condition = condition->next)
        if (prg_text_equal(prg_json_get_text(condition, "type"), "PolicyFailed"))
            break;
    prg_json_detach(conditions, condition);
    assert_json_equal(status, prg_json_get(service, "status"));
    assert_int_equal(px.decider.begun, px.decider.ended);

    service = again(&px, service); // the policy is mended: the condition goes
    px.decider.base.image_tag = px_image;
    plan(&px, service);
    assert_null(px.plan->error);
    assert_null(px_condition(px.plan, "PolicyFailed"));
    px_release(&px);
}

static void a_failed_policy_at_the_first_look_leaves_a_whole_status(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    const cJSON *service = service_of(&px, "{}", "{'predictor': {" MODEL "}}");
    plan(&px, service);
    px.decider.base.image_tag = image_fails;
    plan(&px, service);
    assert_non_null(px_condition(px.plan, "PolicyFailed"));
    assert_string_equal(prg_json_get_text(px_condition(px.plan, "Ready"), "status"), "Unknown");
    assert_null(prg_json_at(px.plan->resource, "status", "modelStatus", "lastFailureInfo"));
    px_release(&px);
}

static int begin_fails(void *ctx, const struct prg_decision_context *context, struct prg_error *err)
{
    (void)ctx;
    (void)context;
    return prg_fail(err, PRG_POLICY, "image.lua:1: no such file");
}

static void a_set_that_does_not_start_fails_the_plan(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    const cJSON *service = service_of(&px, "{}", "{'predictor': {" MODEL "}}");
    plan(&px, service);
    px.decider.base.begin = begin_fails;
    unsigned ended = px.decider.ended;
    plan(&px, service);
    assert_int_equal(px.plan->error_code, PRG_POLICY);
    assert_non_null(px_condition(px.plan, "PolicyFailed"));
    assert_int_equal(px.decider.ended, ended); // what did not begin is not ended
    px_release(&px);
}

static void components_that_are_not_managed_are_told(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    plan(&px, service_of(&px, "{}", "{'predictor': {" MODEL "}}"));
    assert_null(px_condition(px.plan, "ComponentsNotManaged"));

    const cJSON *service = service_of(&px, "{}", "{'predictor': {" MODEL "}, 'transformer': {'containers': [{}]}}");
    plan(&px, service);
    const cJSON *condition = px_condition(px.plan, "ComponentsNotManaged");
    assert_string_equal(prg_json_get_text(condition, "status"), "True");
    assert_string_equal(prg_json_get_text(condition, "message"),
                        "only the predictor is managed; the transformer is not");
    assert_true(prg_json_count(px.plan->objects) > 0); // the predictor is planned all the same

    service = again(&px, service); // later nothing changes, the time of the condition least of all
    px.in.now_ns += 1000000000;
    plan(&px, service);
    assert_json_equal(prg_json_get(px.plan->resource, "status"), prg_json_get(service, "status"));

    cJSON *without = prg_json_copy(&px.arena, again(&px, service));
    prg_json_remove(prg_json_get(without, "spec"), "transformer");
    plan(&px, without);
    assert_null(px_condition(px.plan, "ComponentsNotManaged"));

    plan(&px, service_of(&px, "{}", "{'predictor': {" MODEL "}, 'transformer': {}, 'explainer': {}}"));
    assert_non_null(strstr(prg_json_get_text(px_condition(px.plan, "ComponentsNotManaged"), "message"),
                           "the transformer and the explainer are not"));
    px_release(&px);
}

static void a_service_with_other_components_is_not_called_ready(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    cJSON *service = prg_json_copy(&px.arena, service_of(&px, "{'serving.kserve.io/deploymentMode': 'Standard'}",
                                                         "{'predictor': {" MODEL "}, 'explainer': {}}"));
    prg_json_set(&px.arena, service, "status",
                 json_of(&px.arena, "{'conditions': [{'type': 'IngressReady', 'status': 'True', 'lastTransitionTime': "
                                    "'2026-01-01T00:00:00Z'}, {'type': 'PredictorReady', 'status': 'True', "
                                    "'lastTransitionTime': '2026-01-01T00:00:00Z'}, {'type': 'Ready', 'status': "
                                    "'True', 'lastTransitionTime': '2026-01-01T00:00:00Z'}]}"));
    cJSON *objects = json_of(&px.arena, "[{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': "
                                        "'m-predictor', 'namespace': 'ns'}, 'status': {'conditions': [{'type': "
                                        "'Available', 'status': 'True'}, {'type': 'Progressing', 'status': 'True', "
                                        "'reason': 'NewReplicaSetAvailable'}]}}]");
    prg_json_append(objects, prg_json_copy(&px.arena, prg_json_item(json_of(&px.arena, RUNTIME), 0)));
    assert_ok(px_plan(&px, service, objects, px_config(&px.arena, NULL)), &px.err);
    assert_string_equal(prg_json_get_text(px_condition(px.plan, "PredictorReady"), "status"), "True");
    const cJSON *ready = px_condition(px.plan, "Ready");
    assert_string_equal(prg_json_get_text(ready, "status"), "Unknown");
    assert_string_equal(prg_json_get_text(ready, "reason"), "ComponentsNotManaged");

    const cJSON *next = again(&px, service);
    px.in.now_ns += 1000000000;
    assert_ok(px_plan(&px, next, objects, px_config(&px.arena, NULL)), &px.err);
    assert_json_equal(px_condition(px.plan, "Ready"), ready); // with its time
    px_release(&px);
}

static void modelmesh_services_are_left_alone(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    const cJSON *service = service_of(&px, "{'serving.kserve.io/deploymentMode': 'ModelMesh'}",
                                      "{'predictor': {'sklearn': {'storageUri': 's3://b'}}}");
    plan(&px, service);
    assert_null(px.plan->error);
    assert_int_equal(prg_json_count(px.plan->objects), 0);
    assert_int_equal(prg_json_count(px.plan->deletes), 0);
    assert_string_equal(prg_json_get_text(px_condition(px.plan, "ModelMeshNotManaged"), "status"), "True");
    assert_int_equal(px.decider.begun, 0); // nobody is asked

    cJSON *back = prg_json_copy(&px.arena, again(&px, service));
    prg_json_set_string(&px.arena, prg_json_at(back, "metadata", "annotations"), "serving.kserve.io/deploymentMode",
                        "Standard");
    plan(&px, back);
    assert_null(px_condition(px.plan, "ModelMeshNotManaged"));
    px_release(&px);
}

static void what_a_mode_cannot_express_is_an_event(void **state)
{
    static const struct {
        const char *mode, *predictor, *reason;
    } cases[] = {
        {"Standard", "'canaryTrafficPercent': 10", "CanaryNotSupported"},
        {"Standard", "'containerConcurrency': 3", "ConcurrencyNotSupported"},
        {"Knative", "'deploymentStrategy': {'type': 'Recreate'}", "StrategyNotSupported"},
        {"Knative", "'canaryTrafficPercent': 10", NULL},
        {"Standard", "'deploymentStrategy': {'type': 'Recreate'}", NULL},
        {"Standard", "'minReplicas': 1", NULL},
    };
    static const char *const reasons[] = {"CanaryNotSupported", "ConcurrencyNotSupported", "StrategyNotSupported",
                                          "MultiNodeNotSupported"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct px px;
        px_init(&px, &prg_compat_fixed);
        plan(&px,
             service_of(&px, prg_arena_printf(&px.arena, "{'serving.kserve.io/deploymentMode': '%s'}", cases[i].mode),
                        prg_arena_printf(&px.arena, "{'predictor': {" MODEL ", %s}}", cases[i].predictor)));
        assert_null(px.plan->error);
        for (size_t j = 0; j < PRG_COUNT(reasons); j++)
            if ((px_event(px.plan, reasons[j]) != NULL) != prg_text_equal(reasons[j], cases[i].reason))
                fail_msg("case %zu: event %s", i, reasons[j]);
        if (cases[i].reason)
            assert_string_equal(prg_json_get_text(px_event(px.plan, cases[i].reason), "type"), "Warning");
        px_release(&px);
    }
}

static void what_the_driver_could_not_apply_is_told_in_the_status(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    plan(&px, service_of(&px, "{}", "{'predictor': {" MODEL "}}"));
    prg_serving_plan_failed(px.plan, PX_NOW_NS, "ApplyFailed", "Deployment m-predictor: the selector is fixed");
    const cJSON *condition = px_condition(px.plan, "PredictorReady");
    assert_string_equal(prg_json_get_text(condition, "status"), "False");
    assert_string_equal(prg_json_get_text(condition, "reason"), "ApplyFailed");
    assert_string_equal(prg_json_get_text(px_condition(px.plan, "Ready"), "status"), "False");
    px_release(&px);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_policy_takes_everything_back),
        cmocka_unit_test(a_failed_policy_at_the_first_look_leaves_a_whole_status),
        cmocka_unit_test(a_set_that_does_not_start_fails_the_plan),
        cmocka_unit_test(components_that_are_not_managed_are_told),
        cmocka_unit_test(a_service_with_other_components_is_not_called_ready),
        cmocka_unit_test(modelmesh_services_are_left_alone),
        cmocka_unit_test(what_a_mode_cannot_express_is_an_event),
        cmocka_unit_test(what_the_driver_could_not_apply_is_told_in_the_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
