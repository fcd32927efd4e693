// SPDX-License-Identifier: Apache-2.0
// test_service.c: ports and protocols, headless Services, and stored ones.
#include "serving/render_fixture.h"

static const cJSON *ports_of(struct fx *fx, const char *containers)
{
    fx->w.pod_spec = prg_json_object(&fx->arena);
    prg_json_set(&fx->arena, fx->w.pod_spec, "containers", json_of(&fx->arena, containers));
    return prg_json_at(prg_json_item(prg_render_services(&fx->s, &fx->w), 0), "spec", "ports");
}

static void port_80_leads_to_the_first_port(void **state)
{
    (void)state;
    static const struct {
        const char *predictor, *containers, *ports;
    } cases[] = {
        {"{}", "[{'name': 'kserve-container'}]",
         "[{'name': 'm-predictor', 'port': 80, 'targetPort': 8080, 'protocol': 'TCP'}]"},
        {"{}", "[{'ports': [{'containerPort': 9000}]}]", "[{'port': 80, 'targetPort': 9000}]"},
        {"{}", "[{'ports': [{'containerPort': 9000, 'name': 'http1', 'protocol': 'TCP'}]}]",
         "[{'name': 'http1', 'port': 80, 'targetPort': 9000, 'protocol': 'TCP'}]"},
        {"{}", "[{'ports': [{'containerPort': 9000, 'name': 'h2c'}, {'containerPort': 81, 'name': 'my-grpc'}]}]",
         "[{'name': 'h2c', 'port': 80, 'targetPort': 9000, 'appProtocol': 'kubernetes.io/h2c'}, {'name': 'my-grpc', "
         "'port': 81, 'targetPort': 81, 'protocol': 'TCP', 'appProtocol': 'kubernetes.io/h2c'}]"},
        {"{}",
         "[{'ports': [{'containerPort': 1}]}, {'name': 'transformer-container', 'ports': [{'containerPort': 2}]}]",
         "[{'port': 80, 'targetPort': 2}]"},
        {"{}", "[{'ports': [{'containerPort': 1}]}, {'name': 'transformer-container'}]",
         "[{'name': 'm-predictor', 'port': 80, 'targetPort': 8080, 'protocol': 'TCP'}]"},
        {"{'logger': {}}", "[{'ports': [{'containerPort': 9000}, {'containerPort': 1, 'name': 'x'}]}]",
         "[{'port': 80, 'targetPort': 9081}, {'name': 'x', 'port': 1, 'targetPort': 1, 'protocol': 'TCP'}]"},
        {"{'batcher': {}}", "[{}]", "[{'name': 'm-predictor', 'port': 80, 'targetPort': 9081, 'protocol': 'TCP'}]"},
        {"{'logger': null}", "[{}]", "[{'name': 'm-predictor', 'port': 80, 'targetPort': 8080, 'protocol': 'TCP'}]"},
        {"{}", "[{'ports': [{}, 3]}]",
         "[{'port': 80, 'targetPort': 0}, {'port': 0, 'targetPort': 0, 'protocol': 'TCP'}]"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, cases[i].predictor, NULL, NULL);
        assert_json_is(fx, ports_of(fx, cases[i].containers), cases[i].ports);
        fx_free(fx);
    }
}

static void without_containers_there_are_no_ports(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, "{'logger': {}}", NULL, NULL);
    assert_null(ports_of(fx, "[]"));
    fx_free(fx);
}

static void only_the_configuration_makes_the_predictor_service_headless(void **state)
{
    (void)state;
    static const struct {
        const char *section, *cluster_ip;
    } cases[] = {
        {"{'service': {'serviceClusterIPNone': true}}", "'None'"},
        {"{'service': {'serviceClusterIPNone': false}}", NULL},
        {"{'service': '{'}", NULL},
        {"{'service': null}", NULL},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, NULL);
        fx_configure(fx, cases[i].section);
        const cJSON *spec = prg_json_get(prg_json_item(prg_render_services(&fx->s, &fx->w), 0), "spec");
        assert_json_equal(prg_json_get(spec, "clusterIP"),
                          cases[i].cluster_ip ? json_of(&fx->arena, cases[i].cluster_ip) : NULL);
        fx_free(fx);
    }
}

static void head_and_workers_get_headless_services_with_the_head_labels(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, NULL);
    fx->w.labels = json_of(&fx->arena, "{'app': 'isvc.m-predictor', 'isvc.generation': '4'}");
    fx->w.worker_pod_spec = prg_json_object(&fx->arena);
    cJSON *services = prg_render_services(&fx->s, &fx->w);
    assert_int_equal(prg_json_count(services), 3);
    const cJSON *head = prg_json_item(services, 1), *workers = prg_json_item(services, 2);
    assert_string_equal(prg_meta_name(head), "m-head-4");
    assert_string_equal(prg_meta_name(workers), "m-workers-4");
    assert_json_is(fx, prg_meta_labels(workers),
                   "{'app': 'isvc.m-predictor', 'isvc.generation': '4', 'multinode/role': 'worker'}");
    assert_json_is(fx, prg_meta_labels(head),
                   "{'app': 'isvc.m-predictor', 'isvc.generation': '4', 'multinode/role': 'head'}");
    assert_json_is(fx, prg_json_get(head, "spec"),
                   "{'clusterIP': 'None', 'publishNotReadyAddresses': true, 'selector': {'app': 'isvc.m-predictor', "
                   "'isvc.generation': '4'}}");
    assert_json_is(fx, prg_json_at(workers, "spec", "selector"),
                   "{'app': 'isvc.m-predictor-worker', 'isvc.generation': '4'}");
    fx_free(fx);
}

static void without_a_generation_label_the_names_end_in_a_hyphen_as_in_the_original(void **state)
{
    (void)state;
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, NULL);
    fx->w.worker_pod_spec = prg_json_object(&fx->arena);
    assert_string_equal(prg_meta_name(prg_json_item(prg_render_services(&fx->s, &fx->w), 1)), "m-head-");
    fx_free(fx);
}

static void a_stored_service_is_changed_by_ports_and_selector_only(void **state)
{
    (void)state;
#define STORED(spec, extra)                                                                                            \
    "[{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'm-predictor', 'namespace': 'ns', " extra           \
    "}, 'spec': " spec "}]"
    static const char same[] =
        STORED("{'clusterIP': '10.0.0.1', 'selector': {'app': 'isvc.m-predictor'}, 'ports': [{'name': 'm-predictor', "
               "'port': 80, 'targetPort': 8080, 'protocol': 'TCP'}]}",
               FX_OWNER);
    static const char other[] = STORED("{'clusterIP': '10.0.0.1', 'selector': {'app': 'x'}}", FX_OWNER);
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, same);
    fx_configure(fx, "{'service': {'serviceClusterIPNone': true}}");
    prg_place_services(&fx->s, prg_render_services(&fx->s, &fx->w));
    assert_json_is(fx, prg_json_at(fx_object(fx, "Service", "m-predictor"), "spec", "clusterIP"), "'10.0.0.1'");
    assert_true(fx_traced(fx, "service", "kept as stored"));
    fx_free(fx);

    fx = fx_new(&prg_compat_kserve, NULL, NULL, other);
    fx_configure(fx, "{'service': {'serviceClusterIPNone': true}}");
    prg_place_services(&fx->s, prg_render_services(&fx->s, &fx->w));
    assert_json_is(fx, prg_json_at(fx_object(fx, "Service", "m-predictor"), "spec", "clusterIP"), "'None'");
    fx_free(fx);
}

static void stopping_removes_the_services_that_are_controlled_by_the_service(void **state)
{
    (void)state;
    static const char stop[] = "{'serving.kserve.io/stop': 'true'}";
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, stop, STORED("{}", FX_OWNER));
    prg_place_services(&fx->s, prg_render_services(&fx->s, &fx->w));
    assert_true(fx_deletes(fx, "Service", "m-predictor"));
    assert_int_equal(prg_json_count(fx->s.plan->objects), 0);
    fx_free(fx);
    fx = fx_new(&prg_compat_kserve, NULL, stop, STORED("{}", FX_FOREIGN));
    prg_place_services(&fx->s, prg_render_services(&fx->s, &fx->w));
    assert_int_equal(prg_json_count(fx->s.plan->deletes), 0);
    fx_free(fx);
    fx = fx_new(&prg_compat_kserve, NULL, stop, NULL);
    prg_place_services(&fx->s, prg_render_services(&fx->s, &fx->w));
    assert_int_equal(prg_json_count(fx->s.plan->objects) + prg_json_count(fx->s.plan->deletes), 0);
    fx_free(fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_80_leads_to_the_first_port),
        cmocka_unit_test(without_containers_there_are_no_ports),
        cmocka_unit_test(only_the_configuration_makes_the_predictor_service_headless),
        cmocka_unit_test(head_and_workers_get_headless_services_with_the_head_labels),
        cmocka_unit_test(without_a_generation_label_the_names_end_in_a_hyphen_as_in_the_original),
        cmocka_unit_test(a_stored_service_is_changed_by_ports_and_selector_only),
        cmocka_unit_test(stopping_removes_the_services_that_are_controlled_by_the_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
