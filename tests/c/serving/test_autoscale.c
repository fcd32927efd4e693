// SPDX-License-Identifier: Apache-2.0
// test_autoscale.c: the autoscaler class, HorizontalPodAutoscaler, ScaledObject and collector, and what becomes of
// stored ones in both answers.
#include "serving/render_fixture.h"

#define CLASS(class) "{'serving.kserve.io/autoscalerClass': '" class "'}"

static const cJSON *hpa_spec(struct fx *fx)
{
    struct prg_scaler scaler;
    assert_ok(prg_render_scaler(&fx->s, &fx->w, &scaler, &fx->err), &fx->err);
    return prg_json_get(scaler.hpa, "spec");
}

static const cJSON *keda_spec(struct fx *fx)
{
    struct prg_scaler scaler;
    assert_ok(prg_render_scaler(&fx->s, &fx->w, &scaler, &fx->err), &fx->err);
    return prg_json_get(scaler.scaled_object, "spec");
}

// ---- HPA ----

static void an_hpa_has_sane_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *predictor;
        const char *min, *max;
    } cases[] = {
        {"{}", "1", "1"},
        {"{'minReplicas': 0, 'maxReplicas': 0}", "1", "1"},
        {"{'minReplicas': -2, 'maxReplicas': 4}", "1", "4"},
        {"{'minReplicas': 3, 'maxReplicas': 2}", "3", "3"},
        {"{'minReplicas': null, 'maxReplicas': 5}", "1", "5"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, cases[i].predictor, NULL, NULL);
        const cJSON *spec = hpa_spec(fx);
        assert_json_is(fx, prg_json_get(spec, "minReplicas"), cases[i].min);
        assert_json_is(fx, prg_json_get(spec, "maxReplicas"), cases[i].max);
        assert_json_is(fx, prg_json_get(spec, "behavior"), "{}");
        assert_json_is(fx, prg_json_get(spec, "scaleTargetRef"),
                       "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'm-predictor'}");
        fx_free(fx);
    }
}

#define METRIC(name, target) "{'type': 'Resource', 'resource': {'name': '" name "', 'target': " target "}}"

static void hpa_metrics_come_from_the_list_or_from_the_scale_target(void **state)
{
    (void)state;
    static const struct {
        const char *predictor, *metrics;
    } cases[] = {
        {"{}", "[" METRIC("cpu", "{'type': 'Utilization', 'averageUtilization': 80}") "]"},
        {"{'scaleTarget': 60}", "[" METRIC("cpu", "{'type': 'Utilization', 'averageUtilization': 60}") "]"},
        {"{'scaleMetric': 'memory', 'scaleTarget': 60}",
         "[" METRIC("memory", "{'type': 'Utilization', 'averageUtilization': 60}") "]"},
        {"{'scaleMetric': 'memory'}", NULL},
        {"{'scaleMetric': 'concurrency', 'scaleTarget': 3}", NULL},
        {"{'autoScaling': {}}", NULL},
        {"{'autoScaling': {'metrics': [" METRIC("cpu", "{'type': 'AverageValue'}") "," METRIC(
             "memory", "{'type': 'Utilization', 'averageUtilization': 70}") "]}}",
         "[" METRIC("cpu", "{'type': 'Utilization', 'averageUtilization': 80}") "," METRIC(
             "memory", "{'type': 'Utilization', 'averageUtilization': 70}") "]"},
        {"{'autoScaling': {'metrics': [" METRIC("memory", "{'type': 'Utilization'}") "," METRIC(
             "memory",
             "{'type': "
             "'AverageValu"
             "e', "
             "'averageValu"
             "e': "
             "'2048Mi'}") "," METRIC("memory", "{'type': 'AverageValue', 'averageValue': "
                                               "5}") "," METRIC("memory", "{'type': "
                                                                          "'AverageValue"
                                                                          "'}") "," METRIC("memory", "{'type':"
                                                                                                     " 'Value'"
                                                                                                     ", "
                                                                                                     "'value':"
                                                                                                     " '1'}") "]}}",
         "[" METRIC("memory", "{'type': 'Utilization'}") "," METRIC(
             "memory",
             "{'type': 'AverageValue', 'averageValue': "
             "'2Gi'}") "," METRIC("memory",
                                  "{'type': 'AverageValue', 'averageValue': '5'}") "," METRIC("memory",
                                                                                              "{'type': "
                                                                                              "'AverageValue'"
                                                                                              "}") "," METRIC("memory",
                                                                                                              "{'type':"
                                                                                                              " ''}") "]"},
        {"{'autoScaling': {'metrics': [{'type': 'External', 'external': {}}, " METRIC("gpu", "{}") ", 4]}}", NULL},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, cases[i].predictor, NULL, NULL);
        assert_json_equal(prg_json_get(hpa_spec(fx), "metrics"),
                          cases[i].metrics ? json_of(&fx->arena, cases[i].metrics) : NULL);
        fx_free(fx);
    }
}

static void what_cannot_be_rendered_is_an_error_that_names_it(void **state)
{
    (void)state;
    static const struct {
        const char *predictor, *annotations, *error;
    } cases[] = {
        {"{}", CLASS("kpa"), "unknown autoscaler class type: kpa"},
        {"{'autoScaling': {'metrics': [" METRIC("memory", "{'type': 'AverageValue', 'averageValue': '1Gib'}") "]}}",
         NULL, "averageValue of the memory metric"},
        {"{'autoScaling': {'metrics': [{'type': 'PodMetric'}]}}", CLASS("keda"), "metrics/0: type is PodMetric, but"},
        {"{'autoScaling': {'metrics': [{'type': 'Resource', 'resource': null}]}}", CLASS("keda"),
         "resource is missing"},
        {"{'autoScaling': {'metrics': [{'type': 'External'}]}}", CLASS("keda"), "external is missing"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, cases[i].predictor, cases[i].annotations, NULL);
        struct prg_scaler scaler;
        assert_int_equal(prg_render_scaler(&fx->s, &fx->w, &scaler, &fx->err), PRG_INVALID);
        assert_error_has(&fx->err, cases[i].error);
        fx_free(fx);
    }
}

// ---- KEDA ----

static void keda_keeps_a_minimum_of_zero(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, "{'minReplicas': 0}", CLASS("keda"), NULL);
    assert_json_is(
        fx, keda_spec(fx),
        "{'minReplicaCount': 0, 'maxReplicaCount': 0, 'scaleTargetRef': {'name': 'm-predictor'}, 'triggers': "
        "[]}");
    fx_free(fx);
}

static void triggers_keep_quantities_as_they_were_written(void **state)
{
    (void)state;
    static const struct {
        const char *metric, *trigger;
    } cases[] = {
        {METRIC("cpu", "{'type': 'Utilization'}"),
         "{'type': 'cpu', 'metricType': 'Utilization', 'metadata': {'value': '80'}}"},
        {METRIC("memory", "{'type': 'Utilization'}"),
         "{'type': 'memory', 'metricType': 'Utilization', 'metadata': {'value': '0'}}"},
        {METRIC("memory", "{'type': 'Utilization', 'averageUtilization': 55}"),
         "{'type': 'memory', 'metricType': 'Utilization', 'metadata': {'value': '55'}}"},
        {METRIC("memory", "{'type': 'AverageValue', 'averageValue': '1024Mi'}"),
         "{'type': 'memory', 'metricType': 'AverageValue', 'metadata': {'value': '1024Mi'}}"},
        {METRIC("cpu", "{'type': 'Value', 'value': 3}"),
         "{'type': 'cpu', 'metricType': 'Value', 'metadata': {'value': '3'}}"},
        {METRIC("cpu", "{'type': 'Value'}"), "{'type': 'cpu', 'metricType': 'Value', 'metadata': {'value': '0'}}"},
        {METRIC("cpu", "{}"), "{'type': 'cpu', 'metadata': {'value': '0'}}"},
        {"{'type': 'External', 'external': {'metric': {'backend': 'prometheus', 'serverAddress': 'http://p', 'query': "
         "'q', 'namespace': 'n'}, 'target': {'value': '100.50'}, 'authenticationRef': {'authModes': 'basic', "
         "'authenticationRef': {'name': 'a'}}}}",
         "{'type': 'prometheus', 'metadata': {'serverAddress': 'http://p', 'query': 'q', 'threshold': '100.50', "
         "'namespace': 'n', 'authModes': 'basic'}, 'authenticationRef': {'name': 'a'}}"},
        {"{'type': 'External', 'external': {'metric': {'backend': 'graphite', 'namespace': 'n'}}}",
         "{'type': 'graphite', 'metadata': {'serverAddress': '', 'query': '', 'threshold': '0'}}"},
        {"{'type': 'PodMetric', 'podmetric': {'metric': {'backend': 'other'}}}", "{'type': '', 'metadata': {}}"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, NULL, CLASS("keda"), NULL);
        fx_configure(fx, "{'opentelemetryCollector': {'metricScalerEndpoint': 'conf:1'}}");
        cJSON *metrics = prg_json_ensure_array(
            &fx->arena, prg_json_ensure_object(&fx->arena, fx->s.predictor, "autoScaling"), "metrics");
        prg_json_append(metrics, json_of(&fx->arena, cases[i].metric));
        const cJSON *got = prg_json_item(prg_json_get(keda_spec(fx), "triggers"), 0);
        assert_json_is(fx, got, cases[i].trigger);
        fx_free(fx);
    }
}

static void a_query_for_opentelemetry_is_narrowed_to_the_deployment(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve,
                           "{'autoScaling': {'metrics': [{'type': 'PodMetric', 'podmetric': {'metric': {'backend': "
                           "'opentelemetry', 'query': 'q', 'operationOverTime': 'avg'}, 'target': {'value': '4'}}}]}}",
                           CLASS("keda"), NULL);
    fx_configure(fx, "{'opentelemetryCollector': {'metricScalerEndpoint': 'conf:1'}}");
    const cJSON *trigger = prg_json_item(prg_json_get(keda_spec(fx), "triggers"), 0);
    const cJSON *metadata = prg_json_get(trigger, "metadata");
    assert_string_equal(prg_json_get_text(trigger, "type"), "external");
    assert_string_equal(prg_json_get_text(metadata, "metricQuery"),
                        "sum(q{namespace=\"ns\", deployment=\"m-predictor\"})");
    assert_string_equal(prg_json_get_text(metadata, "scalerAddress"), "conf:1");
    assert_string_equal(prg_json_get_text(metadata, "targetValue"), "4");
    assert_string_equal(prg_json_get_text(metadata, "operationOverTime"), "avg");
    fx_free(fx);
}

static void a_broken_opentelemetry_section_is_an_error_of_pod_metrics(void **state)
{
    (void)state;
    struct fx *fx =
        fx_new(&prg_compat_kserve, "{'autoScaling': {'metrics': [{'type': 'PodMetric', 'podmetric': {'metric': {}}}]}}",
               CLASS("keda"), NULL);
    struct prg_scaler scaler;
    fx_configure(fx, "{'opentelemetryCollector': {'metricScalerEndpoint': 5}}");
    assert_int_equal(prg_render_scaler(&fx->s, &fx->w, &scaler, &fx->err), PRG_INVALID);
    assert_error_has(&fx->err, "metricScalerEndpoint must be a string");
    fx_free(fx);
}

static void stabilization_windows_come_from_the_service_first(void **state)
{
    (void)state;
    static const struct {
        const char *scaling, *section, *behavior;
    } cases[] = {
        {"{'behavior': {'scaleDown': {'stabilizationWindowSeconds': 5}}}",
         "{'scaleDownStabilizationWindowSeconds': '7', 'scaleUpStabilizationWindowSeconds': '9'}",
         "{'scaleDown': {'stabilizationWindowSeconds': 5}, 'scaleUp': {'stabilizationWindowSeconds': 9}}"},
        {"{}", "{'scaleDownStabilizationWindowSeconds': ' 7', 'scaleUpStabilizationWindowSeconds': '9x'}", NULL},
        {"{}", "{'scaleDownStabilizationWindowSeconds': '99999999999', 'scaleUpStabilizationWindowSeconds': '-1'}",
         "{'scaleUp': {'stabilizationWindowSeconds': -1}}"},
        {"{}", "null", NULL},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, NULL, CLASS("keda"), NULL);
        fx_configure(fx, prg_arena_printf(&fx->arena, "{'autoscaler': %s}", cases[i].section));
        prg_json_set(&fx->arena, fx->s.predictor, "autoScaling", json_of(&fx->arena, cases[i].scaling));
        assert_json_equal(prg_json_at(keda_spec(fx), "advanced", "horizontalPodAutoscalerConfig", "behavior"),
                          cases[i].behavior ? json_of(&fx->arena, cases[i].behavior) : NULL);
        fx_free(fx);
    }
}

static void a_broken_autoscaler_section_matters_only_when_it_is_needed(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve,
                           "{'autoScaling': {'behavior': {'scaleDown': {'stabilizationWindowSeconds': 5}, 'scaleUp': "
                           "{'stabilizationWindowSeconds': 0}}}}",
                           CLASS("keda"), NULL);
    fx_configure(fx, "{'autoscaler': '{'}");
    assert_non_null(keda_spec(fx));
    fx_free(fx);
    fx = fx_new(&prg_compat_kserve, NULL, CLASS("keda"), NULL);
    fx_configure(fx, "{'autoscaler': {'scaleUpStabilizationWindowSeconds': 30}}");
    struct prg_scaler scaler;
    assert_int_equal(prg_render_scaler(&fx->s, &fx->w, &scaler, &fx->err), PRG_INVALID);
    assert_error_has(&fx->err, "scaleUpStabilizationWindowSeconds must be a string, not number");
    fx_free(fx);
}

// ---- collector ----

static void a_collector_is_made_for_named_metrics_of_opentelemetry_only(void **state)
{
    (void)state;
#define OTEL(backend, names)                                                                                           \
    "{'type': 'PodMetric', 'podmetric': {'metric': {'backend': '" backend "', 'metricNames': " names "}}}"
    struct fx *fx = fx_new(&prg_compat_kserve,
                           "{'autoScaling': {'metrics': [" OTEL("opentelemetry", "['a', 'b']") "," OTEL(
                               "x", "['c']") "," OTEL("opentelemetry", "['d']") "," METRIC("cpu", "{}") "]}}",
                           "{'prometheus.kserve.io/port': '9'}", NULL);
    fx_configure(fx, "{'opentelemetryCollector': {'scrapeInterval': '5s', 'metricReceiverEndpoint': 'e:1', 'resource': "
                     "{'cpuLimit': '0.5', 'memoryRequest': '512Mi'}}}");
    cJSON *collector = NULL;
    assert_ok(prg_render_collector(&fx->s, &fx->w, &collector, &fx->err), &fx->err);
    assert_null(prg_meta_labels(collector));
    const cJSON *spec = prg_json_get(collector, "spec"), *config = prg_json_get(spec, "config");
    assert_json_is(fx, prg_json_at(config, "processors", "filter/metrics"),
                   "{'metrics': {'include': {'match_type': 'strict', 'metric_names': ['a', 'b', 'd']}}}");
    assert_json_is(fx, prg_json_at(config, "receivers"),
                   "{'prometheus': {'config': {'scrape_configs': [{'job_name': 'otel-collector', 'scrape_interval': "
                   "'5s', 'static_configs': [{'targets': ['localhost:9']}]}]}}}");
    assert_json_is(fx, prg_json_at(config, "exporters"),
                   "{'otlp': {'endpoint': 'e:1', 'compression': 'none', 'tls': {'insecure': true}}}");
    assert_json_is(fx, prg_json_get(spec, "resources"), "{'limits': {'cpu': '500m'}, 'requests': {'memory': '512Mi'}}");
    fx_free(fx);

    fx = fx_new(&prg_compat_kserve, "{'autoScaling': {'metrics': [" OTEL("opentelemetry", "[]") "]}}", NULL, NULL);
    assert_ok(prg_render_collector(&fx->s, &fx->w, &collector, &fx->err), &fx->err);
    assert_null(collector);
    fx_free(fx);
}

static void a_collector_with_a_bad_size_is_an_error(void **state)
{
    (void)state;
    struct fx *fx =
        fx_new(&prg_compat_kserve, "{'autoScaling': {'metrics': [" OTEL("opentelemetry", "['a']") "]}}", NULL, NULL);
    cJSON *collector = NULL;
    fx_configure(fx, "{'opentelemetryCollector': {'resource': {'cpuLimit': 'much'}}}");
    assert_int_equal(prg_render_collector(&fx->s, &fx->w, &collector, &fx->err), PRG_INVALID);
    assert_error_has(&fx->err, "resource.cpuLimit");
    fx_free(fx);
}

static void stopping_removes_the_collector(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, "{'autoScaling': {'metrics': [" OTEL("opentelemetry", "['a']") "]}}",
                           "{'serving.kserve.io/stop': 'true'}",
                           "[{'apiVersion': 'opentelemetry.io/v1beta1', 'kind': 'OpenTelemetryCollector', 'metadata': "
                           "{'name': 'm-predictor', 'namespace': 'ns'}}]");
    cJSON *collector = NULL;
    assert_ok(prg_render_collector(&fx->s, &fx->w, &collector, &fx->err), &fx->err);
    prg_place_collector(&fx->s, collector);
    assert_true(fx_deletes(fx, "OpenTelemetryCollector", "m-predictor"));
    assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
    fx_free(fx);
}

// ---- stored autoscalers ----

#define HPA(extra)                                                                                                     \
    "{'apiVersion': 'autoscaling/v2', 'kind': 'HorizontalPodAutoscaler', 'metadata': {'name': 'm-predictor', "         \
    "'namespace': 'ns'" extra "}, 'spec': {'maxReplicas': 9}}"
#define SCALED(extra)                                                                                                  \
    "{'apiVersion': 'keda.sh/v1alpha1', 'kind': 'ScaledObject', 'metadata': {'name': 'm-predictor', 'namespace': "     \
    "'ns'" extra "}, 'spec': {}}"
#define STOPPED(class) "{'serving.kserve.io/autoscalerClass': '" class "', 'serving.kserve.io/stop': 'true'}"

enum effect { MAKES_HPA = 1, MAKES_SCALED = 2, DELETES_HPA = 4, DELETES_SCALED = 8, WARNS = 16 };
struct placing {
    const char *annotations, *stored;
    unsigned effects;
};

static void check_placing(const struct prg_compat *compat, const struct placing *c, size_t index)
{
    struct fx *fx = fx_new(compat, NULL, c->annotations, c->stored);
    struct prg_scaler scaler;
    assert_ok(prg_render_scaler(&fx->s, &fx->w, &scaler, &fx->err), &fx->err);
    prg_place_scaler(&fx->s, &scaler);
    unsigned effects = (fx_object(fx, "HorizontalPodAutoscaler", "m-predictor") ? MAKES_HPA : 0u) |
                       (fx_object(fx, "ScaledObject", "m-predictor") ? MAKES_SCALED : 0u) |
                       (fx_deletes(fx, "HorizontalPodAutoscaler", "m-predictor") ? DELETES_HPA : 0u) |
                       (fx_deletes(fx, "ScaledObject", "m-predictor") ? DELETES_SCALED : 0u) |
                       (fx_event(fx, "AutoscalerNotOwned") ? WARNS : 0u);
    if (effects != c->effects)
        print_error("case %zu differs\n", index);
    assert_int_equal(effects, c->effects);
    fx_free(fx);
}

static void the_original_leaves_and_overwrites_where_it_should_not(void **state)
{
    (void)state;
    static const struct placing cases[] = {
        {"{}", "[]", MAKES_HPA},
        {CLASS("keda"), "[]", MAKES_SCALED},
        {CLASS("none"), "[]", 0},
        {CLASS("external"), "[]", 0},
        {CLASS("external"), "[" HPA(", " FX_OWNER) "]", DELETES_HPA},
        {CLASS("none"), "[" HPA("") "]", MAKES_HPA}, // overwrites a user's own
        {"{}", "[" HPA(", " FX_FOREIGN) "]", MAKES_HPA},
        {CLASS("keda"), "[" HPA(", " FX_OWNER) "]", MAKES_SCALED}, // leaves the HPA
        {STOPPED("hpa"), "[]", 0},
        {STOPPED("hpa"), "[" HPA(", 'annotations': " STOPPED("hpa") ", " FX_OWNER) "]", DELETES_HPA},
        {STOPPED("hpa"), "[" HPA(", " FX_OWNER) "]", MAKES_HPA}, // another spec: an update
        {STOPPED("keda"), "[" SCALED("") "]", DELETES_SCALED},   // whoever made it
        {STOPPED("keda"), "[]", 0},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        check_placing(&prg_compat_kserve, &cases[i], i);
}

static void stopping_leaves_an_equal_hpa_alone_in_the_original(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, "{'serving.kserve.io/stop': 'true'}", "[" HPA(", " FX_OWNER) "]");
    struct prg_scaler scaler;
    assert_ok(prg_render_scaler(&fx->s, &fx->w, &scaler, &fx->err), &fx->err);
    cJSON *stored = prg_json_item(fx->reader.objects, 0);
    prg_json_set(&fx->arena, stored, "spec", prg_json_copy(&fx->arena, prg_json_get(scaler.hpa, "spec")));
    prg_place_scaler(&fx->s, &scaler);
    assert_int_equal(prg_json_count(fx->s.plan->objects) + prg_json_count(fx->s.plan->deletes), 0);
    assert_true(fx_traced(fx, "autoscaler", "left alone"));
    fx_free(fx);
}

static void mended_only_what_the_service_controls_is_changed_or_removed(void **state)
{
    (void)state;
    static const struct placing cases[] = {
        {"{}", "[]", MAKES_HPA},
        {"{}", "[" HPA(", " FX_OWNER) "]", MAKES_HPA},
        {"{}", "[" HPA(", " FX_FOREIGN) "]", WARNS},
        {"{}", "[" HPA("") "]", WARNS},
        {"{}", "[" SCALED(", " FX_OWNER) "]", MAKES_HPA | DELETES_SCALED},
        {"{}", "[" SCALED("") "]", MAKES_HPA},
        {CLASS("keda"), "[" HPA(", " FX_OWNER) "]", MAKES_SCALED | DELETES_HPA},
        {CLASS("keda"), "[" HPA("") "]", MAKES_SCALED},
        {CLASS("keda"), "[" SCALED("") "]", WARNS},
        {CLASS("none"), "[" HPA("") "," SCALED("") "]", 0},
        {CLASS("external"), "[" HPA(", " FX_OWNER) "," SCALED(", " FX_OWNER) "]", DELETES_HPA | DELETES_SCALED},
        {STOPPED("hpa"), "[" HPA(", " FX_OWNER) "]", DELETES_HPA},
        {STOPPED("hpa"), "[" HPA("") "]", 0},
        {STOPPED("keda"), "[" SCALED(", " FX_OWNER) "]", DELETES_SCALED},
        {STOPPED("keda"), "[" SCALED("") "]", 0},
        {STOPPED("hpa"), "[]", 0},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        check_placing(&prg_compat_fixed, &cases[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hpa_has_sane_bounds),
        cmocka_unit_test(hpa_metrics_come_from_the_list_or_from_the_scale_target),
        cmocka_unit_test(what_cannot_be_rendered_is_an_error_that_names_it),
        cmocka_unit_test(keda_keeps_a_minimum_of_zero),
        cmocka_unit_test(triggers_keep_quantities_as_they_were_written),
        cmocka_unit_test(a_query_for_opentelemetry_is_narrowed_to_the_deployment),
        cmocka_unit_test(a_broken_opentelemetry_section_is_an_error_of_pod_metrics),
        cmocka_unit_test(stabilization_windows_come_from_the_service_first),
        cmocka_unit_test(a_broken_autoscaler_section_matters_only_when_it_is_needed),
        cmocka_unit_test(a_collector_is_made_for_named_metrics_of_opentelemetry_only),
        cmocka_unit_test(a_collector_with_a_bad_size_is_an_error),
        cmocka_unit_test(stopping_removes_the_collector),
        cmocka_unit_test(the_original_leaves_and_overwrites_where_it_should_not),
        cmocka_unit_test(stopping_leaves_an_equal_hpa_alone_in_the_original),
        cmocka_unit_test(mended_only_what_the_service_controls_is_changed_or_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
