// SPDX-License-Identifier: Apache-2.0
// test_raw.c: Standard mode from start to end, the URL, and what the configuration must hold.
#include "serving/render_fixture.h"

static int run(struct fx *fx)
{
    return prg_serving_raw(&fx->s, &fx->w, &fx->err);
}

static const char *url_of(struct fx *fx, const char *ingress)
{
    const char *url = NULL;
    fx_configure(fx, prg_arena_printf(&fx->arena, "{'ingress': %s}", ingress));
    return prg_render_url(&fx->s, fx->w.labels, fx->w.annotations, &url, &fx->err) == PRG_OK ? url : NULL;
}

// ---- whole plans ----

static void a_service_gets_deployment_service_and_hpa_with_shared_labels(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_fixed, NULL, NULL, NULL);
    assert_ok(run(fx), &fx->err);
    static const char *const kinds[] = {"Deployment", "Service", "HorizontalPodAutoscaler"};
    assert_int_equal(prg_json_count(fx->s.plan->objects), PRG_COUNT(kinds));
    for (size_t i = 0; i < PRG_COUNT(kinds); i++) {
        const cJSON *object = fx_object(fx, kinds[i], "m-predictor");
        assert_non_null(object);
        assert_json_is(fx, prg_meta_labels(object),
                       "{'app': 'isvc.m-predictor', 'serving.kserve.io/inferenceservice': 'm'}");
        assert_true(prg_owner_controls(fx->s.service, object));
    }
    assert_string_equal(prg_json_get_text(prg_status_get_condition(&fx->s, "PredictorReady"), "status"), "False");
    prg_plan_finish(fx->s.plan); // nothing twice
    fx_free(fx);
}

static void the_status_comes_from_the_stored_deployment(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_fixed, NULL, NULL,
                           "[{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'm-predictor', "
                           "'namespace': 'ns'}, 'status': {'conditions': [{'type': 'Available', 'status': 'True'}]}}]");
    assert_ok(run(fx), &fx->err);
    assert_json_is(fx, prg_json_at(fx->s.service, "status", "components"),
                   "{'predictor': {'url': 'http://m-predictor-ns.example.com'}}");
    fx_free(fx);
}

static void an_error_anywhere_leaves_the_plan_without_objects(void **state)
{
    (void)state;
    static const struct {
        const char *annotations, *config, *error;
    } cases[] = {
        {"{'serving.kserve.io/autoscalerClass': 'kpa'}", "{}",
         "fails to create NewRawKubeReconciler for predictor: unknown autoscaler class type: kpa"},
        {"{}", "{'ingress': {}}", "ingressGateway is required"},
        {"{}", "{'ingress': '{'}", "unable to parse ingress config json"},
        {"{}", "{'ingress': '[]'}", "unable to parse ingress config json"},
        {"{}", "{'storageInitializer': {}}", "failed to get StorageInitializer config"},
        {"{}", "{'storageInitializer': {'memoryRequest': 'x'}}", "/data/storageInitializer, memoryRequest"},
        {"{}", "{'storageInitializer': null}", "/data/storageInitializer has no memoryRequest"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_fixed, NULL, cases[i].annotations, NULL);
        fx_configure(fx, cases[i].config);
        assert_int_equal(run(fx), PRG_INVALID);
        assert_error_has(&fx->err, cases[i].error);
        assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
        assert_null(prg_json_get(fx->s.service, "status"));
        fx_free(fx);
    }
}

static void an_unknown_storage_container_is_told_before_other_errors(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_fixed, "{'storageUris': [{'uri': 'gs://b'}], 'storageContainerName': 'gone'}",
                           "{'serving.kserve.io/autoscalerClass': 'kpa'}", NULL);
    assert_int_not_equal(run(fx), PRG_OK);
    char text[PRG_ERROR_LINE];
    prg_error_text(&fx->err, text, sizeof(text));
    assert_string_equal(text, "failed to get storage container spec: ClusterStorageContainer \"gone\" not found");
    fx_free(fx);
}

static void storage_uris_reach_head_and_workers(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_fixed, "{'storageUris': [{'uri': 'pvc://claim/m', 'mountPath': '/mnt/models'}]}",
                           NULL, NULL);
    fx->w.labels = json_of(&fx->arena, "{'isvc.generation': '1'}");
    fx->w.worker_nodes = 1;
    fx->w.worker_labels = json_of(&fx->arena, "{'isvc.generation': '1'}");
    fx->w.worker_annotations = prg_json_object(&fx->arena);
    fx->w.worker_pod_spec = json_of(&fx->arena, "{'containers': [{'name': 'worker-container', 'image': 'w'}]}");
    assert_ok(run(fx), &fx->err);
    static const char *const names[] = {"m-predictor", "m-predictor-worker"};
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        const cJSON *spec = prg_json_at(fx_object(fx, "Deployment", names[i]), "spec", "template", "spec");
        assert_int_equal(prg_json_count(prg_json_get(spec, "volumes")), 1);
    }
    assert_non_null(fx_object(fx, "Service", "m-head-1"));
    assert_non_null(fx_object(fx, "Service", "m-workers-1"));
    fx_free(fx);
}

static void a_collector_is_planned_beside_the_autoscaler(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_fixed,
                           "{'autoScaling': {'metrics': [{'type': 'PodMetric', 'podmetric': {'metric': {'backend': "
                           "'opentelemetry', 'metricNames': ['a']}}}]}}",
                           NULL, NULL);
    assert_ok(run(fx), &fx->err);
    assert_non_null(fx_object(fx, "OpenTelemetryCollector", "m-predictor"));
    assert_non_null(fx_object(fx, "HorizontalPodAutoscaler", "m-predictor"));
    fx_free(fx);
}

static void a_broken_collector_section_stops_the_plan_only_when_it_is_needed(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_fixed, NULL, NULL, NULL);
    fx_configure(fx, "{'opentelemetryCollector': '{'}");
    assert_ok(run(fx), &fx->err);
    fx_free(fx);
    fx = fx_new(&prg_compat_fixed,
                "{'autoScaling': {'metrics': [{'type': 'PodMetric', 'podmetric': {'metric': {'backend': "
                "'opentelemetry', 'metricNames': ['a']}}}]}}",
                NULL, NULL);
    fx_configure(fx, "{'opentelemetryCollector': '{'}");
    assert_int_equal(run(fx), PRG_INVALID);
    assert_error_has(&fx->err, "unable to parse otel config json");
    fx_free(fx);
    fx = fx_new(&prg_compat_fixed, "{'autoScaling': {'metrics': [{'type': 'PodMetric'}]}}", NULL, NULL);
    assert_int_equal(run(fx), PRG_INVALID);
    assert_error_has(&fx->err, "/spec/predictor/autoScaling/metrics/0: type is PodMetric, but podmetric is missing");
    fx_free(fx);
}

static void a_stop_of_the_predictor_alone_makes_nothing_but_keeps_the_status(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_fixed, NULL, NULL, NULL);
    prg_json_set_string(&fx->arena, fx->w.annotations, PRG_ANNOTATION_STOP, "true");
    assert_ok(run(fx), &fx->err);
    assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
    assert_null(prg_json_get(prg_status_get_condition(&fx->s, "PredictorReady"), "reason"));
    fx_free(fx);
}

// ---- URL ----

static void the_host_follows_the_domain_template(void **state)
{
    (void)state;
    static const struct {
        const char *ingress, *url;
    } cases[] = {
        {"null", "http://m-predictor-ns.example.com"},
        {"{'ingressGateway': 'a/b', 'ingressDomain': 'corp.io', 'urlScheme': 'https'}",
         "http://m-predictor-ns.corp.io"},
        {"{'ingressGateway': 'a/b', 'domainTemplate': '{{ .Name }}.{{ .Labels.team }}.{{ .IngressDomain }}'}",
         "http://m-predictor.red.example.com"},
        {"{'ingressGateway': 'a/b', 'domainTemplate': '{{ $.Name }}{{ if .Annotations.zone }}.{{ .Annotations.zone }}"
         "{{ end }}.{{ $.IngressDomain }}'}",
         "http://m-predictor.z1.example.com"},
        {"{'ingressGateway': 'a/b', 'domainTemplate': '{{ range $k, $v := .Labels }}{{ $v }}.{{ end }}x'}",
         "http://red.x"},
        {"{'ingressGateway': 'a/b', 'domainTemplate': 'a.b.'}", "http://a.b."},
        {"{'IngressGateway': 'a/b', 'INGRESSDOMAIN': 'up.io'}", "http://m-predictor-ns.up.io"},
        {"{'ingressGateway': 'a/b', 'enableGatewayApi': true, 'kserveIngressGateway': 'n/g'}",
         "http://m-predictor-ns.example.com"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_fixed, NULL, "{'zone': 'z1'}", NULL);
        fx->w.labels = json_of(&fx->arena, "{'team': 'red'}");
        const char *url = url_of(fx, cases[i].ingress);
        assert_ok(fx->err.code, &fx->err);
        assert_string_equal(url, cases[i].url);
        fx_free(fx);
    }
}

static void a_host_that_is_none_is_refused_in_the_words_of_the_api_server(void **state)
{
    (void)state;
    static const struct {
        const char *template, *error;
    } cases[] = {
        {"{{ .Name }}_/x.io",
         "failed creating host name: invalid domain name \"m-predictor_/x.io\": url: Invalid value: "
         "\"m-predictor_/x.io\": a lowercase RFC 1123 subdomain must consist of lower case "
         "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
         "character (e.g. 'example.com', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
        {"{{ .Name }}", "failed creating host name: invalid domain name \"m-predictor\": url: Invalid value: "
                        "\"m-predictor\": should be a domain with at least two segments separated by dots"},
        {"{{ .Labels.none }}{{ .Name }}.io", "invalid domain name \"<no value>m-predictor.io\""},
        {"{{ if false }}x{{ end }}", "invalid domain name \"\": url: Required value"},
        {"{{ $ }}.b", "error rendering the domain template"},
        {"{{ if (eq .None 1) }}a{{ end }}.b", "can't evaluate field None"},
        {"a\"b\\c\nd\te\x01", "invalid domain name \"a\\\"b\\\\c\\nd\\te\\x01\""},
        {"a..b", "a lowercase RFC 1123 subdomain"},
        {"-a.b", "a lowercase RFC 1123 subdomain"},
        {"a-.b", "a lowercase RFC 1123 subdomain"},
        {".", "a lowercase RFC 1123 subdomain"},
        {"A.b", "a lowercase RFC 1123 subdomain"},
        {"0123456789012345678901234567890123456789012345678901234567890123.b",
         "\"0123456789012345678901234567890123456789012345678901234567890123\": must be no more than 63 characters"},
        {"{{ .Name", "failed creating host name: template: domain-template"},
        {"{{ .GenerateName }}.b", "can't evaluate field GenerateName"},
        {"{{ .Nam }}.b", "error rendering the domain template"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_fixed, NULL, NULL, NULL);
        cJSON *ingress = prg_json_object(&fx->arena);
        prg_json_set_string(&fx->arena, ingress, "ingressGateway", "a/b");
        prg_json_set_string(&fx->arena, ingress, "domainTemplate", cases[i].template);
        prg_json_set(&fx->arena, fx->config.sections, "ingress", ingress);
        const char *url = NULL;
        assert_int_equal(prg_render_url(&fx->s, fx->w.labels, fx->w.annotations, &url, &fx->err), PRG_INVALID);
        assert_error_has(&fx->err, cases[i].error);
        fx_free(fx);
    }
}

static void a_host_of_more_than_253_characters_is_refused(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_fixed, NULL, NULL, NULL);
    char host[300];
    for (size_t i = 0; i < sizeof(host) - 1; i++)
        host[i] = i % 2 ? '.' : 'a';
    host[sizeof(host) - 1] = '\0';
    assert_null(url_of(fx, prg_arena_printf(&fx->arena, "{'ingressGateway': 'a/b', 'domainTemplate': '%s'}", host)));
    assert_error_has(&fx->err, "must be no more than 253 characters");
    fx_free(fx);
}

static void the_ingress_section_must_make_sense(void **state)
{
    (void)state;
    static const struct {
        const char *ingress, *error;
    } cases[] = {
        {"{'ingressGateway': ''}", "ingressGateway is required"},
        {"{'ingressGateway': 5}", "ingressGateway must be a string, not number"},
        {"{'ingressGateway': 'a/b', 'disableIngressCreation': 'yes'}", "disableIngressCreation must be true or false"},
        {"{'ingressGateway': 'a/b', 'enableGatewayApi': true}", "kserveIngressGateway is required"},
        {"{'ingressGateway': 'a/b', 'enableGatewayApi': true, 'kserveIngressGateway': 'x'}",
         "should be NAMESPACE/NAME"},
        {"{'ingressGateway': 'a/b', 'enableGatewayApi': true, 'kserveIngressGateway': 'x/y/z'}", "NAMESPACE/NAME"},
        {"{'ingressGateway': 'a/b', 'enableGatewayApi': true, 'kserveIngressGateway': 'X/y'}", "NAMESPACE/NAME"},
        {"{'ingressGateway': 'a/b', 'pathTemplate': '{{'}", "unable to parse pathTemplate"},
        {"{'ingressGateway': 'a/b', 'pathTemplate': '/x'}", "ingressDomain is required if pathTemplate is given"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_fixed, NULL, NULL, NULL);
        assert_null(url_of(fx, cases[i].ingress));
        assert_error_has(&fx->err, cases[i].error);
        fx_free(fx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_gets_deployment_service_and_hpa_with_shared_labels),
        cmocka_unit_test(the_status_comes_from_the_stored_deployment),
        cmocka_unit_test(an_error_anywhere_leaves_the_plan_without_objects),
        cmocka_unit_test(an_unknown_storage_container_is_told_before_other_errors),
        cmocka_unit_test(storage_uris_reach_head_and_workers),
        cmocka_unit_test(a_collector_is_planned_beside_the_autoscaler),
        cmocka_unit_test(a_broken_collector_section_stops_the_plan_only_when_it_is_needed),
        cmocka_unit_test(a_stop_of_the_predictor_alone_makes_nothing_but_keeps_the_status),
        cmocka_unit_test(the_host_follows_the_domain_template),
        cmocka_unit_test(a_host_that_is_none_is_refused_in_the_words_of_the_api_server),
        cmocka_unit_test(a_host_of_more_than_253_characters_is_refused),
        cmocka_unit_test(the_ingress_section_must_make_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
