// SPDX-License-Identifier: Apache-2.0
// test_knative.c: the Knative Service, what of a stored one stays, and what its status means.
#include "serving/render_fixture.h"

#define SCALING                                                                                                        \
    "'autoscaling.knative.dev/class': 'kpa.autoscaling.knative.dev', 'autoscaling.knative.dev/min-scale': '1'"
#define STORED(extra, spec, status)                                                                                    \
    "[{'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': 'm-predictor', 'namespace': "   \
    "'ns'" extra "}, 'spec': " spec ", 'status': " status "}]"

static struct fx *new_fx(const char *predictor, const char *annotations, const char *objects)
{
    struct fx *fx = fx_new(&prg_compat_kserve, predictor, annotations, objects);
    fx->s.mode = PRG_MODE_KNATIVE;
    return fx;
}

static cJSON *run(struct fx *fx)
{
    assert_ok(prg_serving_knative(&fx->s, &fx->w, &fx->err), &fx->err);
    return fx_object(fx, "Service", "m-predictor");
}

static const cJSON *component(const struct fx *fx)
{
    return prg_json_at(fx->s.service, "status", "components", "predictor");
}

// ---- building ----

static void a_plain_service_sends_all_traffic_to_the_latest_revision(void **state)
{
    (void)state;
    struct fx *fx = new_fx(NULL, "{'x': 'y'}", NULL);
    const cJSON *service = run(fx);
    assert_json_is(fx, service,
                   "{'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': 'm-predictor', "
                   "'namespace': 'ns', 'labels': {'serving.kserve.io/inferenceservice': 'm'}, " FX_OWNER "},"
                   " 'spec': {'traffic': [{'latestRevision': true, 'percent': 100}], 'template': {'metadata': "
                   "{'labels': {'serving.kserve.io/inferenceservice': 'm'}, 'annotations': {'x': 'y', " SCALING "}},"
                   " 'spec': {'containers': [{'name': 'kserve-container', 'image': 'i'}]}}}}");
    assert_json_is(fx, component(fx), "{}");
    fx_free(fx);
}

static void scaling_fields_become_annotations_and_win_over_the_users(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'minReplicas': 0, 'maxReplicas': 4, 'scaleTarget': 7, 'scaleMetric': 'rps'}",
                           "{'autoscaling.knative.dev/class': 'hpa', 'autoscaling.knative.dev/target': '1'}", NULL);
    assert_json_is(fx, prg_json_at(run(fx), "spec", "template", "metadata", "annotations"),
                   "{'autoscaling.knative.dev/class': 'hpa', 'autoscaling.knative.dev/target': '7', "
                   "'autoscaling.knative.dev/metric': 'rps', 'autoscaling.knative.dev/min-scale': '0', "
                   "'autoscaling.knative.dev/max-scale': '4'}");
    fx_free(fx);
}

static void timeout_and_concurrency_reach_the_revision(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'timeout': 60, 'containerConcurrency': 0}", NULL, NULL);
    assert_json_is(fx, prg_json_at(run(fx), "spec", "template", "spec"),
                   "{'timeoutSeconds': 60, 'responseStartTimeoutSeconds': 60, 'containerConcurrency': 0, "
                   "'containers': [{'name': 'kserve-container', 'image': 'i'}]}");
    fx_free(fx);
}

static void two_annotations_belong_to_the_service_itself(void **state)
{
    (void)state;
    struct fx *fx = new_fx(NULL,
                           "{'serving.knative.dev/rollout-duration': '10s', "
                           "'serving.knative.openshift.io/enablePassthrough': 'true'}",
                           NULL);
    const cJSON *service = run(fx);
    assert_json_is(fx, prg_meta_annotations(service),
                   "{'serving.knative.dev/rollout-duration': '10s', "
                   "'serving.knative.openshift.io/enablePassthrough': 'true'}");
    assert_json_is(fx, prg_json_at(service, "spec", "template", "metadata", "annotations"), "{" SCALING "}");
    fx_free(fx);
}

static void disallowed_labels_stay_on_the_service_and_off_the_revision(void **state)
{
    (void)state;
    struct fx *fx = new_fx(NULL, NULL, NULL);
    fx_configure(fx, "{'inferenceService': {'serviceLabelDisallowedList': ['bad']}}");
    fx->w.labels = json_of(&fx->arena, "{'bad': '1', 'networking.knative.dev/visibility': 'x', 'good': '2'}");
    const cJSON *service = run(fx);
    assert_json_is(fx, prg_meta_labels(service), "{'bad': '1', 'networking.knative.dev/visibility': 'x', 'good': '2'}");
    assert_json_is(fx, prg_json_at(service, "spec", "template", "metadata", "labels"), "{'good': '2'}");
    assert_true(fx_traced(fx, "label", "dropped"));
    fx_free(fx);
}

static void a_canary_needs_an_earlier_revision_that_was_rolled_out(void **state)
{
    (void)state;
    static const struct {
        const char *predictor, *annotations, *status, *traffic;
    } cases[] = {
        {"{'canaryTrafficPercent': 20}", "{}", "{}", "[{'latestRevision': true, 'percent': 100}]"},
        {"{'canaryTrafficPercent': 20}", "{}", "{'components': {'predictor': {'latestRolledoutRevision': 'r1'}}}",
         "[{'latestRevision': true, 'percent': 20}, {'latestRevision': false, 'percent': 80, 'revisionName': 'r1', "
         "'tag': 'prev'}]"},
        {"{'canaryTrafficPercent': 100}", "{'serving.kserve.io/enable-tag-routing': 'true'}",
         "{'components': {'predictor': {'latestRolledoutRevision': 'r1'}}}",
         "[{'latestRevision': true, 'percent': 100, 'tag': 'latest'}]"},
        {"{'canaryTrafficPercent': 0}", "{}", "{'components': {'predictor': {'latestRolledoutRevision': 'r1'}}}",
         "[{'latestRevision': true, 'percent': 0}, {'latestRevision': false, 'percent': 100, 'revisionName': 'r1', "
         "'tag': 'prev'}]"},
        {"{}", "{'serving.kserve.io/enable-tag-routing': 'false'}",
         "{'components': {'predictor': {'latestRolledoutRevision': 'r1'}}}",
         "[{'latestRevision': true, 'percent': 100}]"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = new_fx(cases[i].predictor, cases[i].annotations, NULL);
        fx_set_status(fx, cases[i].status);
        assert_json_is(fx, prg_json_at(run(fx), "spec", "traffic"), cases[i].traffic);
        fx_free(fx);
    }
}

// ---- placing ----

static void service_links_that_the_webhook_switched_off_stay_off(void **state)
{
    (void)state;
    static const struct {
        const char *stored, *want;
    } cases[] = {{"{'template': {'spec': {'enableServiceLinks': false}}}", "false"},
                 {"{'template': {'spec': {'enableServiceLinks': true}}}", NULL},
                 {"'odd'", NULL}};
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = new_fx(NULL, NULL, NULL);
        fx->reader.objects = json_of(&fx->arena, STORED("", "{}", "{}"));
        prg_json_set(&fx->arena, prg_json_item(fx->reader.objects, 0), "spec", json_of(&fx->arena, cases[i].stored));
        assert_json_equal(prg_json_at(run(fx), "spec", "template", "spec", "enableServiceLinks"),
                          cases[i].want ? json_of(&fx->arena, cases[i].want) : NULL);
        fx_free(fx);
    }
}

static void stopping_removes_the_service_and_leaves_the_status_to_the_stop_branch(void **state)
{
    (void)state;
    struct fx *fx = new_fx(NULL, "{'serving.kserve.io/stop': 'TRUE'}", STORED("", "{}", "{'observedGeneration': 3}"));
    assert_null(run(fx));
    assert_true(fx_deletes(fx, "Service", "m-predictor"));
    assert_null(prg_json_get(fx->s.service, "status"));
    fx_free(fx);
    fx = new_fx(NULL, "{'serving.kserve.io/stop': 'TRUE'}", NULL);
    assert_null(run(fx));
    assert_int_equal(prg_json_count(fx->s.plan->deletes), 0);
    fx_free(fx);
}

// ---- status ----

static void a_ready_knative_service_gives_url_address_and_conditions(void **state)
{
    (void)state;
    struct fx *fx =
        new_fx(NULL, NULL,
               STORED("", "{}",
                      "{'observedGeneration': 3, 'latestCreatedRevisionName': 'r1', 'latestReadyRevisionName': 'r1', "
                      "'url': 'http://u', 'address': {'url': 'http://a'}, 'traffic': [{'revisionName': 'r1', "
                      "'latestRevision': true, 'percent': 100}], 'conditions': [{'type': 'Ready', 'status': 'True'}, "
                      "{'type': 'RoutesReady', 'status': 'Unknown', 'reason': 'R', 'message': 'wait'}, {'type': "
                      "'ConfigurationsReady', 'status': 'False', 'reason': 'C'}]}"));
    run(fx);
    assert_json_is(fx, component(fx),
                   "{'latestCreatedRevision': 'r1', 'latestReadyRevision': 'r1', 'latestRolledoutRevision': 'r1', "
                   "'url': 'http://u', 'address': {'url': 'http://a'}, 'traffic': [{'revisionName': 'r1', "
                   "'latestRevision': true, 'percent': 100}]}");
    assert_string_equal(prg_json_get_text(prg_status_get_condition(&fx->s, "PredictorReady"), "status"), "True");
    assert_json_is(fx, prg_status_get_condition(&fx->s, "PredictorRouteReady"),
                   "{'type': 'PredictorRouteReady', 'status': 'Unknown', 'severity': 'Info', 'reason': 'R', 'message': "
                   "'wait', 'lastTransitionTime': '" FX_NOW "'}");
    assert_string_equal(prg_json_get_text(prg_status_get_condition(&fx->s, "PredictorConfigurationReady"), "reason"),
                        "C");
    assert_json_is(fx, prg_json_at(fx->s.service, "status", "observedGeneration"), "3");
    fx_free(fx);
}

static void roll_outs_are_tracked_and_rolled_back(void **state)
{
    (void)state;
    static const struct {
        const char *before, *status, *rolled_out, *previous;
    } cases[] = {
        // fully rolled out: the earlier one is remembered
        {"{'latestRolledoutRevision': 'r1'}",
         "{'latestReadyRevisionName': 'r2', 'latestCreatedRevisionName': 'r2', 'traffic': [{'revisionName': 'r2', "
         "'latestRevision': true, 'percent': 100}]}",
         "r2", "r1"},
        // a canary under way changes nothing
        {"{'latestRolledoutRevision': 'r1'}",
         "{'latestReadyRevisionName': 'r2', 'latestCreatedRevisionName': 'r2', 'traffic': [{'revisionName': 'r2', "
         "'latestRevision': true, 'percent': 20}, {'revisionName': 'r1', 'percent': 80}]}",
         "r1", NULL},
        // the same revision under two tags: rolled back
        {"{'latestRolledoutRevision': 'r2', 'previousRolledoutRevision': 'r1'}",
         "{'latestReadyRevisionName': 'r2', 'latestCreatedRevisionName': 'r2', 'traffic': [{'revisionName': 'r2', "
         "'latestRevision': true, 'percent': 20}, {'revisionName': 'r2', 'percent': 80}]}",
         "r1", "r1"},
        // entries that say nothing
        {"{'latestRolledoutRevision': 'r1'}",
         "{'latestReadyRevisionName': 'r2', 'traffic': [4, {'revisionName': 'r2', 'percent': 100}, {'revisionName': "
         "'r2', 'latestRevision': true}]}",
         "r1", NULL},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = new_fx(NULL, NULL, NULL);
        fx->reader.objects = json_of(&fx->arena, STORED("", "{}", "{}"));
        prg_json_set(&fx->arena, prg_json_item(fx->reader.objects, 0), "status", json_of(&fx->arena, cases[i].status));
        fx_set_status(fx, prg_arena_printf(&fx->arena, "{'components': {'predictor': %s}}", cases[i].before));
        run(fx);
        assert_string_equal(prg_json_get_text(component(fx), "latestRolledoutRevision"), cases[i].rolled_out);
        assert_true(prg_text_equal(prg_json_get_text(component(fx), "previousRolledoutRevision"), cases[i].previous));
        fx_free(fx);
    }
}

static void a_service_that_is_new_clears_what_an_earlier_one_said(void **state)
{
    (void)state;
    struct fx *fx = new_fx(NULL, NULL, NULL);
    fx_set_status(fx,
                  "{'observedGeneration': 2, 'components': {'predictor': {'latestCreatedRevision': 'r1', "
                  "'latestReadyRevision': 'r1', 'latestRolledoutRevision': 'r1', 'traffic': [1], 'url': 'http://u'}}}");
    run(fx);
    assert_json_is(fx, component(fx), "{'latestRolledoutRevision': 'r1', 'url': 'http://u'}");
    assert_null(prg_json_at(fx->s.service, "status", "observedGeneration"));
    fx_free(fx);
}

static void without_the_configuration_nothing_is_planned(void **state)
{
    (void)state;
    struct fx *fx = new_fx(NULL, NULL, NULL);
    fx->config.present = false;
    assert_int_equal(prg_serving_knative(&fx->s, &fx->w, &fx->err), PRG_NOTFOUND);
    assert_error_has(&fx->err, "failed to get InferenceService ConfigMap: configmaps \"inferenceservice-config\"");
    assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
    fx_free(fx);
}

static void an_unknown_storage_container_is_an_error(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'storageUris': [{'uri': 'gs://b'}], 'storageContainerName': 'gone'}", NULL, NULL);
    assert_int_not_equal(prg_serving_knative(&fx->s, &fx->w, &fx->err), PRG_OK);
    assert_error_has(&fx->err, "failed to get storage container spec: ClusterStorageContainer \"gone\" not found");
    assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
    fx_free(fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_service_sends_all_traffic_to_the_latest_revision),
        cmocka_unit_test(scaling_fields_become_annotations_and_win_over_the_users),
        cmocka_unit_test(timeout_and_concurrency_reach_the_revision),
        cmocka_unit_test(two_annotations_belong_to_the_service_itself),
        cmocka_unit_test(disallowed_labels_stay_on_the_service_and_off_the_revision),
        cmocka_unit_test(a_canary_needs_an_earlier_revision_that_was_rolled_out),
        cmocka_unit_test(service_links_that_the_webhook_switched_off_stay_off),
        cmocka_unit_test(stopping_removes_the_service_and_leaves_the_status_to_the_stop_branch),
        cmocka_unit_test(a_ready_knative_service_gives_url_address_and_conditions),
        cmocka_unit_test(roll_outs_are_tracked_and_rolled_back),
        cmocka_unit_test(a_service_that_is_new_clears_what_an_earlier_one_said),
        cmocka_unit_test(an_unknown_storage_container_is_an_error),
        cmocka_unit_test(without_the_configuration_nothing_is_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
