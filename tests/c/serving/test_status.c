// SPDX-License-Identifier: Apache-2.0
// test_status.c: conditions, Ready, what stored Deployments and the stop annotation make of the status.
#include "serving/render_fixture.h"

#define OLD "'lastTransitionTime': '2026-01-01T00:00:00Z'"
#define NOW "'lastTransitionTime': '" FX_NOW "'"

static const char three_unknown[] = "{'modelStatus': {'transitionStatus': ''}, 'conditions': ["
                                    "{'type': 'IngressReady', 'status': 'Unknown', " OLD "},"
                                    "{'type': 'PredictorReady', 'status': 'Unknown', " OLD "},"
                                    "{'type': 'Ready', 'status': 'Unknown', " OLD "}]}";

static struct fx *new_fx(const char *status, const char *objects)
{
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, objects);
    if (status)
        fx_set_status(fx, status);
    return fx;
}

static void assert_conditions(struct fx *fx, const char *want)
{
    assert_json_is(fx, prg_json_at(fx->s.service, "status", "conditions"), want);
}

// ---- single conditions ----

static void a_failed_predictor_makes_the_service_not_ready(void **state)
{
    (void)state;
    struct fx *fx = new_fx(NULL, NULL);
    prg_status_condition(&fx->s, "PredictorReady", "False", "Why", "because", NULL);
    assert_conditions(fx, "[{'type': 'PredictorReady', 'status': 'False', 'reason': 'Why', 'message': 'because', " NOW
                          "}, {'type': 'Ready', 'status': 'False', 'reason': 'Why', 'message': 'because', " NOW "}]");
    assert_json_is(fx, prg_json_at(fx->s.service, "status", "modelStatus"), "{'transitionStatus': ''}");
    fx_free(fx);
}

static void times_change_only_with_status_reason_or_message(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'conditions': [{'type': 'PredictorReady', 'status': 'False', 'reason': 'A', " OLD "},"
                           "{'type': 'Ready', 'status': 'False', 'reason': 'B', " OLD "}]}",
                           NULL);
    prg_status_condition(&fx->s, "PredictorReady", "False", "A", NULL, NULL);
    assert_conditions(fx, "[{'type': 'PredictorReady', 'status': 'False', 'reason': 'A', " OLD "},"
                          "{'type': 'Ready', 'status': 'False', 'reason': 'A', " NOW "}]");
    fx_free(fx);
}

static void ready_becomes_unknown_without_reason_while_another_part_is_not_known(void **state)
{
    (void)state;
    struct fx *fx = new_fx(NULL, NULL);
    prg_status_condition(&fx->s, "PredictorReady", "True", "R", "m", NULL);
    assert_conditions(fx, "[{'type': 'PredictorReady', 'status': 'True', 'reason': 'R', 'message': 'm', " NOW "},"
                          "{'type': 'Ready', 'status': 'Unknown', " NOW "}]");
    prg_status_condition(&fx->s, "IngressReady", "True", NULL, NULL, NULL);
    assert_true(prg_status_is_ready(&fx->s));
    fx_free(fx);
}

static void ready_takes_the_latest_failure(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'conditions': ["
                           "{'type': 'IngressReady', 'status': 'False', 'reason': 'Old', " OLD "},"
                           "{'type': 'Other', 'status': 'False', 'reason': 'New', 'lastTransitionTime': "
                           "'2026-02-01T00:00:00Z'}]}",
                           NULL);
    prg_status_condition(&fx->s, "PredictorReady", "True", NULL, NULL, NULL);
    assert_string_equal(prg_json_get_text(prg_status_get_condition(&fx->s, "Ready"), "reason"), "New");
    fx_free(fx);
}

static void informational_conditions_do_not_touch_ready(void **state)
{
    (void)state;
    struct fx *fx = new_fx(three_unknown, NULL);
    prg_status_condition(&fx->s, "PredictorRouteReady", "False", "R", NULL, NULL);
    assert_json_is(fx, prg_status_get_condition(&fx->s, "PredictorRouteReady"),
                   "{'type': 'PredictorRouteReady', 'status': 'False', 'reason': 'R', 'severity': 'Info', " NOW "}");
    assert_json_is(fx, prg_status_get_condition(&fx->s, "Ready"), "{'type': 'Ready', 'status': 'Unknown', " OLD "}");
    fx_free(fx);
}

static void an_unknown_predictor_beside_a_failed_ingress_leaves_ready_false(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'conditions': [{'type': 'IngressReady', 'status': 'False', " OLD "},"
                           "{'type': 'Ready', 'status': 'True', " OLD "}]}",
                           NULL);
    prg_status_condition(&fx->s, "PredictorReady", "Unknown", "Why", NULL, NULL);
    assert_json_is(fx, prg_status_get_condition(&fx->s, "Ready"),
                   "{'type': 'Ready', 'status': 'False', 'reason': 'Why', " NOW "}");
    fx_free(fx);
}

static void an_unknown_status_text_changes_nothing(void **state)
{
    (void)state;
    struct fx *fx = new_fx(three_unknown, NULL);
    prg_status_condition(&fx->s, "PredictorReady", "Perhaps", NULL, NULL, NULL);
    assert_json_is(fx, prg_json_get(fx->s.service, "status"), three_unknown);
    fx_free(fx);
}

static void odd_stored_conditions_are_survived(void **state)
{
    (void)state;
    struct fx *fx =
        new_fx("{'conditions': [1, null, {'type': 5}, {'type': 'A', 'status': 7}], 'components': 'x'}", NULL);
    prg_status_raw_with_message(&fx->s, "R", "m", "False");
    assert_conditions(fx, "[{'type': 5}, {'type': 'A', 'status': 7},"
                          "{'type': 'PredictorReady', 'status': 'False', 'reason': 'R', 'message': 'm', " NOW "},"
                          "{'type': 'Ready', 'status': 'False', 'reason': 'R', 'message': 'm', " NOW "}]");
    assert_json_is(fx, prg_json_at(fx->s.service, "status", "components"), "{'predictor': {}}");
    fx_free(fx);
    fx = new_fx("{'conditions': 'none'}", NULL);
    assert_null(prg_status_get_condition(&fx->s, "Ready"));
    fx_free(fx);
}

// ---- from Deployments ----

struct deployment_case {
    const char *conditions, *status, *reason, *message;
};

static void check_deployment(const struct deployment_case *c)
{
    struct fx *fx = new_fx(three_unknown, NULL);
    cJSON *stored = json_of(&fx->arena, "{'metadata': {'name': 'm-predictor'}, 'status': {'observedGeneration': 7}}");
    prg_json_set(&fx->arena, prg_json_get(stored, "status"), "conditions", json_of(&fx->arena, c->conditions));
    struct prg_deployments deployments = {.head = stored, .stored_head = stored};
    prg_status_raw(&fx->s, &deployments, "http://h");
    const cJSON *ready = prg_status_get_condition(&fx->s, "PredictorReady");
    assert_string_equal(prg_json_get_text(ready, "status"), c->status);
    if (c->reason)
        assert_string_equal(prg_json_get_text(ready, "reason"), c->reason);
    else
        assert_null(prg_json_get(ready, "reason"));
    const cJSON *component = prg_json_at(fx->s.service, "status", "components", "predictor");
    assert_json_is(fx, component, strcmp(c->status, "True") == 0 ? "{'url': 'http://h'}" : "{}");
    assert_json_is(fx, prg_json_at(fx->s.service, "status", "observedGeneration"), "7");
    fx_free(fx);
}

#define COND(type, status, reason, message)                                                                            \
    "{'type': '" type "', 'status': '" status "', 'reason': '" reason "', 'message': '" message "'}"

static void later_rules_about_a_deployment_win(void **state)
{
    (void)state;
    static const struct deployment_case cases[] = {
        {"[]", "False", NULL, NULL},
        {"[" COND("Available", "True", "A", "m") "]", "True", "A", NULL},
        {"[" COND("Available", "True", "A", "m") "," COND("Progressing", "False", "P", "late") "]", "False", "P", NULL},
        {"[" COND("Available", "True", "A", "m") "," COND("Progressing", "False", "P", "") "]", "True", "A", NULL},
        {"[" COND("Progressing", "True", "NewReplicaSetAvailable", "m") "]", "True", "NewReplicaSetAvailable", NULL},
        {"[" COND("Progressing", "True", "ReplicaSetUpdated", "m") "]", "Unknown", "ReplicaSetUpdated", NULL},
        {"[" COND("Available", "True", "A", "m") "," COND("Progressing", "True", "ReplicaSetUpdated", "m") "]", "True",
         "A", NULL},
        {"[" COND("Available", "False", "A", "m") "," COND("Progressing", "True", "NewReplicaSetAvailable", "m") "]",
         "False", "A", NULL},
        {"[" COND("Available", "True", "A", "m") "," COND("ReplicaFailure", "True", "F", "m") "]", "False", "F", NULL},
        {"[" COND("Available", "True", "A", "m") "," COND("ReplicaFailure", "False", "F", "m") "]", "True", "A", NULL},
        {"[3, {'type': 'Available'}, {'type': 'Progressing', 'status': true}]", "False", NULL, NULL},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        check_deployment(&cases[i]);
}

static void an_earlier_url_stays_while_the_predictor_is_not_ready(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'components': {'predictor': {'url': 'http://old'}}, 'observedGeneration': 3}", NULL);
    struct prg_deployments deployments = {.head = json_of(&fx->arena, "{'metadata': {'name': 'm-predictor'}}")};
    prg_status_raw(&fx->s, &deployments, "http://h");
    assert_json_is(fx, prg_json_at(fx->s.service, "status", "components"), "{'predictor': {'url': 'http://old'}}");
    assert_null(prg_json_at(fx->s.service, "status", "observedGeneration"));
    fx_free(fx);
}

static void two_deployments_count_only_where_both_say_something(void **state)
{
    (void)state;
    static const struct {
        const char *head, *worker, *status, *reason, *message;
    } cases[] = {
        {COND("Available", "True", "A", "h"), COND("Available", "True", "A", "w"), "True", "A",
         "predictor-container: h, worker-container: w"},
        {COND("Available", "True", "A", "h"), COND("Available", "False", "B", "w"), "False",
         "predictor-container: A, worker-container: B", "predictor-container: h, worker-container: w"},
        {COND("Available", "True", "A", "h"), COND("ReplicaFailure", "True", "F", "w"), "False", NULL, NULL},
        {COND("Progressing", "True", "NewReplicaSetAvailable", "h"),
         COND("Progressing", "True", "NewReplicaSetAvailable", "w"), "True", "NewReplicaSetAvailable",
         "predictor-container: h, worker-container: w"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = new_fx(NULL, NULL);
        cJSON *head = json_of(&fx->arena, "{'metadata': {'name': 'm-predictor'}, 'status': {'conditions': []}}");
        cJSON *worker =
            json_of(&fx->arena, "{'metadata': {'name': 'm-predictor-worker'}, 'status': {'conditions': []}}");
        prg_json_append(prg_json_at(head, "status", "conditions"), json_of(&fx->arena, cases[i].head));
        prg_json_append(prg_json_at(worker, "status", "conditions"), json_of(&fx->arena, cases[i].worker));
        struct prg_deployments deployments = {head, worker, head, worker};
        prg_status_raw(&fx->s, &deployments, "http://h");
        const cJSON *ready = prg_status_get_condition(&fx->s, "PredictorReady");
        assert_string_equal(prg_json_get_text(ready, "status"), cases[i].status);
        assert_true(prg_text_equal(prg_json_get_text(ready, "reason"), cases[i].reason));
        assert_true(prg_text_equal(prg_json_get_text(ready, "message"), cases[i].message));
        fx_free(fx);
    }
}

// ---- stop ----

static void stopping_clears_the_status_and_says_what_was_running(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'deploymentMode': 'Standard', 'url': 'http://u', 'servingRuntimeName': 'rt',"
                           " 'components': {'predictor': {'url': 'http://p'}}, 'observedGeneration': 4,"
                           " 'modelStatus': {'transitionStatus': 'UpToDate', 'copies': {'failedCopies': 0, "
                           "'totalCopies': 2}}, 'conditions': [{'type': 'Ready', 'status': 'True', " OLD "}]}",
                           NULL);
    prg_plan_add_delete(fx->s.plan, "apps/v1", "Deployment", "ns", "m-predictor");
    prg_status_stopped(&fx->s);
    assert_json_is(fx, prg_json_get(fx->s.service, "status"),
                   "{'deploymentMode': 'Standard', 'modelStatus': {'transitionStatus': ''}, 'conditions': ["
                   "{'type': 'PredictorReady', 'status': 'False', 'reason': 'Stopped', " NOW "},"
                   "{'type': 'Ready', 'status': 'False', 'reason': 'Stopped', " NOW "}]}");
    const char *message = prg_json_get_text(fx_event(fx, "Stopped"), "message");
    assert_string_equal(message, "stopped by annotation serving.kserve.io/stop; was ready on runtime rt with 2 ready "
                                 "copies at http://p; removed: Deployment m-predictor");
    fx_free(fx);
}

static void stopping_what_never_ran_says_so(void **state)
{
    (void)state;
    struct fx *fx = new_fx("{'clusterServingRuntimeName': 'crt'}", NULL);
    prg_status_stopped(&fx->s);
    assert_string_equal(
        prg_json_get_text(fx_event(fx, "Stopped"), "message"),
        "stopped by annotation serving.kserve.io/stop; was not ready on runtime crt with 0 ready copies");
    fx_free(fx);
}

static void a_service_that_is_stopped_already_is_left_as_it_is(void **state)
{
    (void)state;
    static const char status[] = "{'servingRuntimeName': 'rt', 'conditions': ["
                                 "{'type': 'PredictorReady', 'status': 'False', 'reason': 'Stopped', " OLD "},"
                                 "{'type': 'Ready', 'status': 'False', 'reason': 'Stopped', " OLD "}]}";
    struct fx *fx = new_fx(status, NULL);
    prg_status_stopped(&fx->s);
    assert_json_is(fx, prg_json_get(fx->s.service, "status"), status);
    assert_null(fx_event(fx, "Stopped"));
    fx_free(fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_predictor_makes_the_service_not_ready),
        cmocka_unit_test(times_change_only_with_status_reason_or_message),
        cmocka_unit_test(ready_becomes_unknown_without_reason_while_another_part_is_not_known),
        cmocka_unit_test(ready_takes_the_latest_failure),
        cmocka_unit_test(informational_conditions_do_not_touch_ready),
        cmocka_unit_test(an_unknown_predictor_beside_a_failed_ingress_leaves_ready_false),
        cmocka_unit_test(an_unknown_status_text_changes_nothing),
        cmocka_unit_test(odd_stored_conditions_are_survived),
        cmocka_unit_test(later_rules_about_a_deployment_win),
        cmocka_unit_test(an_earlier_url_stays_while_the_predictor_is_not_ready),
        cmocka_unit_test(two_deployments_count_only_where_both_say_something),
        cmocka_unit_test(stopping_clears_the_status_and_says_what_was_running),
        cmocka_unit_test(stopping_what_never_ran_says_so),
        cmocka_unit_test(a_service_that_is_stopped_already_is_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
