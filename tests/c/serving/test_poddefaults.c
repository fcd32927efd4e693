// SPDX-License-Identifier: Apache-2.0
// test_poddefaults.c: what is filled in on a pod spec, and what is left as it is.
#include "serving/render_fixture.h"

static void check(const char *pod_spec, const char *want)
{
    prg_auto_arena arena = {0};
    cJSON *spec = json_of(&arena, pod_spec);
    prg_pod_defaults(&arena, spec);
    assert_json_text(&arena, spec, want);
}

#define POD                                                                                                            \
    "'dnsPolicy': 'ClusterFirst', 'restartPolicy': 'Always', 'schedulerName': 'default-scheduler',"                    \
    "'terminationGracePeriodSeconds': 30, 'securityContext': {}"
#define CONTAINER                                                                                                      \
    "'terminationMessagePath': '/dev/termination-log', 'terminationMessagePolicy': 'File', 'imagePullPolicy': "        \
    "'IfNotPresent'"
#define PROBE(port)                                                                                                    \
    "'readinessProbe': {'tcpSocket': {'port': " port "}, 'timeoutSeconds': 1, 'periodSeconds': 10, "                   \
    "'successThreshold': 1, 'failureThreshold': 3}"

static void an_empty_pod_spec_gets_the_pod_level_defaults(void **state)
{
    (void)state;
    check("{}", "{" POD "}");
}

static void empty_texts_and_nulls_count_as_absent(void **state)
{
    (void)state;
    check("{'dnsPolicy': '', 'restartPolicy': null, 'terminationGracePeriodSeconds': null, 'securityContext': null}",
          "{" POD "}");
}

static void given_values_stay(void **state)
{
    (void)state;
    check("{'dnsPolicy': 'Default', 'restartPolicy': 'Never', 'schedulerName': 's', 'terminationGracePeriodSeconds': 0,"
          " 'securityContext': {'runAsUser': 1}}",
          "{'dnsPolicy': 'Default', 'restartPolicy': 'Never', 'schedulerName': 's', 'terminationGracePeriodSeconds': 0,"
          " 'securityContext': {'runAsUser': 1}}");
}

static void the_server_gets_a_probe_on_its_first_port_or_8080(void **state)
{
    (void)state;
    check("{'containers': [{'name': 'kserve-container'},"
          " {'name': 'transformer-container', 'ports': [{'containerPort': 9000}, {'containerPort': 1}]}]}",
          "{" POD ", 'containers': [{'name': 'kserve-container', " CONTAINER
          ", " PROBE("8080") "},"
                             " {'name': 'transformer-container', 'ports': [{'containerPort': 9000}, {'containerPort': "
                             "1}], " CONTAINER ", " PROBE("9000") "}]}");
}

static void other_containers_and_given_probes_get_no_probe(void **state)
{
    (void)state;
    check("{'containers': [{'name': 'sidecar'}, {'name': 'kserve-container', 'readinessProbe': {'exec': {}}}]}",
          "{" POD ", 'containers': [{'name': 'sidecar', " CONTAINER "},"
          " {'name': 'kserve-container', 'readinessProbe': {'exec': {}}, " CONTAINER "}]}");
}

static void init_containers_are_left_alone(void **state)
{
    (void)state;
    check("{'initContainers': [{'name': 'kserve-container'}]}",
          "{" POD ", 'initContainers': [{'name': 'kserve-container'}]}");
}

static void odd_containers_do_no_harm(void **state)
{
    (void)state;
    check("{'containers': [1, null, {'name': 'kserve-container', 'ports': [{}]}]}",
          "{" POD ", 'containers': [1, null, {'name': 'kserve-container', 'ports': [{}], " CONTAINER
          ", " PROBE("0") "}]}");
    check("{'containers': 'x'}", "{" POD ", 'containers': 'x'}");
}

static void defaults_applied_twice_change_nothing(void **state)
{
    (void)state;
    prg_auto_arena arena = {0};
    cJSON *once = json_of(&arena, "{'containers': [{'name': 'kserve-container'}]}"), *twice;
    prg_pod_defaults(&arena, once);
    twice = prg_json_copy(&arena, once);
    prg_pod_defaults(&arena, twice);
    assert_json_equal(twice, once);
}

static void filled_in_fields_say_where_they_come_from(void **state)
{
    (void)state;
    prg_auto_arena arena = {0};
    cJSON *spec = json_of(&arena, "{'containers': [{'name': 'kserve-container'}]}");
    prg_pod_defaults(&arena, spec);
    const cJSON *container = prg_json_item(prg_json_get(spec, "containers"), 0);
    assert_int_equal(prg_json_origin(prg_json_get(spec, "dnsPolicy")), PRG_ORIGIN_KUBERNETES);
    assert_int_equal(prg_json_origin(prg_json_get(container, "imagePullPolicy")), PRG_ORIGIN_KUBERNETES);
    assert_int_equal(prg_json_origin(prg_json_get(container, "readinessProbe")), PRG_ORIGIN_RULE);
    assert_int_equal(prg_json_origin(prg_json_get(container, "name")), PRG_ORIGIN_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_pod_spec_gets_the_pod_level_defaults),
        cmocka_unit_test(empty_texts_and_nulls_count_as_absent),
        cmocka_unit_test(given_values_stay),
        cmocka_unit_test(the_server_gets_a_probe_on_its_first_port_or_8080),
        cmocka_unit_test(other_containers_and_given_probes_get_no_probe),
        cmocka_unit_test(init_containers_are_left_alone),
        cmocka_unit_test(odd_containers_do_no_harm),
        cmocka_unit_test(defaults_applied_twice_change_nothing),
        cmocka_unit_test(filled_in_fields_say_where_they_come_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
