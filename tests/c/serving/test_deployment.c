// SPDX-License-Identifier: Apache-2.0
// test_deployment.c: Deployments of head and workers: template, strategy, replicas, stop, and stored ones.
#include "serving/render_fixture.h"

#define STORED(name, extra, spec)                                                                                      \
    "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': '" name "', 'namespace': 'ns', " extra       \
    "}, 'spec': " spec "}"
#define SCALER(class) "{'serving.kserve.io/autoscalerClass': '" class "'}"
#define STOP "{'serving.kserve.io/stop': 'True'}"

static void make_multi_node(struct fx *fx)
{
    fx->s.multi_node = true;
    fx->w.worker_nodes = 2;
    fx->w.worker_labels = json_of(&fx->arena, "{'role': 'w'}");
    fx->w.worker_annotations = prg_json_copy(&fx->arena, fx->w.annotations);
    fx->w.worker_pod_spec = json_of(&fx->arena, "{'containers': [{'name': 'worker-container', 'env': [{'name': "
                                                "'REQUEST_GPU_COUNT', 'value': '1'}]}]}");
    fx->w.pod_spec = json_of(&fx->arena, "{'containers': [{'name': 'kserve-container', 'env': [{'name': "
                                         "'REQUEST_GPU_COUNT', 'value': '1'}]}]}");
}

static struct prg_deployments render(struct fx *fx)
{
    struct prg_deployments deployments;
    assert_ok(prg_render_deployments(&fx->s, &fx->w, &deployments, &fx->err), &fx->err);
    return deployments;
}

static void the_template_repeats_name_and_namespace_and_all_have_the_app_label(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, "{'a': 'b'}", NULL);
    cJSON *head = render(fx).head;
    assert_json_is(fx, prg_json_get(head, "metadata"),
                   "{'name': 'm-predictor', 'namespace': 'ns', 'annotations': {'a': 'b'}, 'labels': {'app': "
                   "'isvc.m-predictor', 'serving.kserve.io/inferenceservice': 'm'}, " FX_OWNER "}");
    assert_json_is(fx, prg_json_at(head, "spec", "template", "metadata"),
                   "{'name': 'm-predictor', 'namespace': 'ns', 'annotations': {'a': 'b'}, 'labels': {'app': "
                   "'isvc.m-predictor', 'serving.kserve.io/inferenceservice': 'm'}}");
    assert_json_is(fx, prg_json_at(head, "spec", "selector"), "{'matchLabels': {'app': 'isvc.m-predictor'}}");
    assert_json_is(fx, prg_json_at(head, "spec", "template", "spec", "dnsPolicy"), "'ClusterFirst'");
    assert_null(prg_json_at(head, "spec", "replicas"));
    fx_free(fx);
}

static void without_a_strategy_the_defaults_of_kubernetes_are_filled_in(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, NULL);
    const cJSON *spec = prg_json_get(render(fx).head, "spec");
    assert_json_is(fx, prg_json_get(spec, "strategy"),
                   "{'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': '25%', 'maxUnavailable': '25%'}}");
    assert_json_is(fx, prg_json_get(spec, "revisionHistoryLimit"), "10");
    assert_json_is(fx, prg_json_get(spec, "progressDeadlineSeconds"), "600");
    assert_true(fx_traced(fx, "strategy", "default"));
    fx_free(fx);
}

static void a_strategy_of_the_user_suppresses_the_other_defaults(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, "{'deploymentStrategy': {'type': 'Recreate'}}", NULL, NULL);
    fx_configure(fx, "{'deploy': {'defaultDeploymentMode': 'Standard', 'deploymentRolloutStrategy': {'defaultRollout': "
                     "{'maxSurge': '1'}}}}");
    const cJSON *spec = prg_json_get(render(fx).head, "spec");
    assert_json_is(fx, prg_json_get(spec, "strategy"), "{'type': 'Recreate'}");
    assert_null(prg_json_get(spec, "revisionHistoryLimit"));
    assert_null(prg_json_get(spec, "progressDeadlineSeconds"));
    fx_free(fx);
}

static void rollout_values_of_the_configuration_count_where_standard_is_the_default(void **state)
{
    (void)state;
    static const struct {
        const char *deploy, *want;
    } cases[] = {
        {"{'defaultDeploymentMode': 'Standard', 'deploymentRolloutStrategy': {'defaultRollout': {'maxSurge': '1', "
         "'maxUnavailable': '0'}}}",
         "{'maxSurge': '1', 'maxUnavailable': '0'}"},
        {"{'defaultDeploymentMode': 'RawDeployment', 'deploymentRolloutStrategy': {'defaultRollout': {'MAXSURGE': "
         "'50%', 'maxUnavailable': ''}}}",
         "{'maxSurge': '50%', 'maxUnavailable': '25%'}"},
        {"{'defaultDeploymentMode': 'Knative', 'deploymentRolloutStrategy': {'defaultRollout': {'maxSurge': '1'}}}",
         "{'maxSurge': '25%', 'maxUnavailable': '25%'}"},
        {"{'defaultDeploymentMode': 'Standard', 'deploymentRolloutStrategy': {'defaultRollout': {'maxSurge': 1}}}",
         "{'maxSurge': '25%', 'maxUnavailable': '25%'}"},
        {"'{'", "{'maxSurge': '25%', 'maxUnavailable': '25%'}"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, NULL);
        fx_configure(fx, prg_arena_printf(&fx->arena, "{'deploy': %s}", cases[i].deploy));
        assert_json_is(fx, prg_json_at(render(fx).head, "spec", "strategy", "rollingUpdate"), cases[i].want);
        fx_free(fx);
    }
}

static void min_replicas_are_the_replicas_of_class_none_only(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, "{'minReplicas': 3}", SCALER("none"), NULL);
    assert_json_is(fx, prg_json_at(render(fx).head, "spec", "replicas"), "3");
    fx_free(fx);
    fx = fx_new(&prg_compat_kserve, "{'minReplicas': 3}", SCALER("external"), NULL);
    assert_null(prg_json_at(render(fx).head, "spec", "replicas"));
    fx_free(fx);
}

static void workers_have_their_own_app_label_replicas_and_surge(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, NULL);
    make_multi_node(fx);
    struct prg_deployments deployments = render(fx);
    const cJSON *spec = prg_json_get(deployments.worker, "spec");
    assert_string_equal(prg_meta_name(deployments.worker), "m-predictor-worker");
    assert_string_equal(prg_meta_label(deployments.worker, "app"), "isvc.m-predictor-worker");
    assert_string_equal(prg_meta_label(deployments.head, "app"), "isvc.m-predictor");
    assert_json_is(fx, prg_json_get(spec, "replicas"), "2");
    assert_json_is(fx, prg_json_at(spec, "strategy", "rollingUpdate"), "{'maxSurge': '100%', 'maxUnavailable': '0%'}");
    assert_json_is(fx, prg_json_at(prg_json_item(prg_json_at(spec, "template", "spec", "containers"), 0), "resources"),
                   "{'limits': {'nvidia.com/gpu': '1'}, 'requests': {'nvidia.com/gpu': '1'}}");
    fx_free(fx);
}

static void a_worker_that_is_recreated_gets_no_rolling_update(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, "{'deploymentStrategy': {'type': 'Recreate'}}", NULL, NULL);
    make_multi_node(fx);
    assert_json_is(fx, prg_json_at(render(fx).worker, "spec", "strategy"), "{'type': 'Recreate'}");
    fx_free(fx);
}

static void a_bad_list_of_gpu_types_is_an_error_before_anything_is_planned(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, "{'serving.kserve.io/gpu-resource-types': 'nope'}", NULL);
    struct prg_deployments deployments;
    make_multi_node(fx);
    assert_int_equal(prg_render_deployments(&fx->s, &fx->w, &deployments, &fx->err), PRG_INVALID);
    assert_error_has(&fx->err, "failed to create deployment reconciler: failed to create raw deployment: invalid GPU "
                               "format(nope)");
    assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
    fx_free(fx);
}

// ---- placing ----

static void stored_replicas_of_the_head_are_left_out(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, "[" STORED("m-predictor", FX_OWNER, "{'replicas': 7}") "]");
    struct prg_deployments deployments = render(fx);
    prg_place_deployments(&fx->s, &deployments);
    assert_null(prg_json_at(fx_object(fx, "Deployment", "m-predictor"), "spec", "replicas"));
    fx_free(fx);
}

static void stored_replicas_of_workers_are_repeated(void **state)
{
    (void)state;
    struct fx *fx =
        fx_new(&prg_compat_kserve, NULL, NULL, "[" STORED("m-predictor-worker", FX_OWNER, "{'replicas': 1}") "]");
    make_multi_node(fx);
    struct prg_deployments deployments = render(fx);
    prg_place_deployments(&fx->s, &deployments);
    const cJSON *replicas = prg_json_at(fx_object(fx, "Deployment", "m-predictor-worker"), "spec", "replicas");
    assert_json_is(fx, replicas, "1");
    assert_int_equal(prg_json_origin(replicas), PRG_ORIGIN_STORED);
    fx_free(fx);
}

static void class_none_writes_replicas_over_stored_ones(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, "{'minReplicas': 2}", SCALER("none"),
                           "[" STORED("m-predictor", FX_OWNER, "{'replicas': 7}") "]");
    struct prg_deployments deployments = render(fx);
    prg_place_deployments(&fx->s, &deployments);
    assert_json_is(fx, prg_json_at(fx_object(fx, "Deployment", "m-predictor"), "spec", "replicas"), "2");
    fx_free(fx);
}

static void a_stopped_service_loses_its_own_deployment_only(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, STOP, "[" STORED("m-predictor", FX_OWNER, "{}") "]");
    struct prg_deployments deployments = render(fx);
    prg_place_deployments(&fx->s, &deployments);
    assert_true(fx_deletes(fx, "Deployment", "m-predictor"));
    assert_null(fx_object(fx, "Deployment", "m-predictor"));
    fx_free(fx);

    fx = fx_new(&prg_compat_kserve, NULL, STOP, "[" STORED("m-predictor", FX_FOREIGN, "{}") "]");
    deployments = render(fx);
    prg_place_deployments(&fx->s, &deployments);
    assert_false(fx_deletes(fx, "Deployment", "m-predictor"));
    fx_free(fx);
}

static void a_stopped_service_makes_no_deployment_and_deletes_none_twice(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, STOP, NULL);
    struct prg_deployments deployments = render(fx);
    prg_place_deployments(&fx->s, &deployments);
    assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
    fx_free(fx);

    fx = fx_new(&prg_compat_kserve, NULL, STOP,
                "[" STORED("m-predictor", FX_OWNER ", 'deletionTimestamp': '2026-01-01T00:00:00Z'", "{}") "]");
    deployments = render(fx);
    prg_place_deployments(&fx->s, &deployments);
    assert_int_equal(prg_json_count(fx->s.plan->deletes), 0);
    assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
    fx_free(fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_template_repeats_name_and_namespace_and_all_have_the_app_label),
        cmocka_unit_test(without_a_strategy_the_defaults_of_kubernetes_are_filled_in),
        cmocka_unit_test(a_strategy_of_the_user_suppresses_the_other_defaults),
        cmocka_unit_test(rollout_values_of_the_configuration_count_where_standard_is_the_default),
        cmocka_unit_test(min_replicas_are_the_replicas_of_class_none_only),
        cmocka_unit_test(workers_have_their_own_app_label_replicas_and_surge),
        cmocka_unit_test(a_worker_that_is_recreated_gets_no_rolling_update),
        cmocka_unit_test(a_bad_list_of_gpu_types_is_an_error_before_anything_is_planned),
        cmocka_unit_test(stored_replicas_of_the_head_are_left_out),
        cmocka_unit_test(stored_replicas_of_workers_are_repeated),
        cmocka_unit_test(class_none_writes_replicas_over_stored_ones),
        cmocka_unit_test(a_stopped_service_loses_its_own_deployment_only),
        cmocka_unit_test(a_stopped_service_makes_no_deployment_and_deletes_none_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
