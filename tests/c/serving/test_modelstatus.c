// SPDX-License-Identifier: Apache-2.0
// test_modelstatus.c: what pods say about the model, in both answers to OOMKilled and failed image pulls.
#include "serving/render_fixture.h"

// A pod of the service, made at second `at`, with a status.
#define POD(name, at, status)                                                                                          \
    "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': '" name "', 'namespace': 'ns', 'creationTimestamp': "    \
    "'2026-01-01T00:00:" at "Z', 'labels': {'app': 'isvc.m-predictor'}}, 'status': " status "}"
#define SERVER(state) "{'containerStatuses': [{'name': 'kserve-container', " state "}]}"
#define INITIALIZER(state) "{'initContainerStatuses': [{'name': 'storage-initializer', " state "}]}"
#define READY "{'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True'}]}"

static struct fx *new_fx(const struct prg_compat *compat, const char *status, const char *pods)
{
    struct fx *fx = fx_new(compat, NULL, NULL, pods);
    if (status)
        fx_set_status(fx, status);
    return fx;
}

static bool look(struct fx *fx)
{
    return prg_status_model_from_pods(&fx->s, "app", "isvc.m-predictor");
}

static const cJSON *model(const struct fx *fx)
{
    return prg_json_at(fx->s.service, "status", "modelStatus");
}

static void check(const struct prg_compat *compat, const char *status, const char *pods, const char *want)
{
    struct fx *fx = new_fx(compat, status, pods);
    assert_true(look(fx));
    assert_json_is(fx, model(fx), want);
    assert_null(fx->s.plan->error);
    fx_free(fx);
}

#define COPIES(n) "'copies': {'failedCopies': 0" n "}"
#define PENDING                                                                                                        \
    "{'transitionStatus': 'InProgress', " COPIES("") ", 'states': {'activeModelState': '', 'targetModelState': "       \
                                                     "'Pending'}}"
#define FAILED(info)                                                                                                   \
    "{'transitionStatus': 'BlockedByFailedLoad', " COPIES("") ", 'lastFailureInfo': " info                             \
                                                              ", 'states': {'activeModelState': '', "                  \
                                                              "'targetModelState': 'FailedToLoad'}}"

static void without_pods_the_model_is_pending(void **state)
{
    (void)state;
    check(&prg_compat_kserve, NULL, "[]", PENDING);
}

static void pods_of_others_do_not_count(void **state)
{
    (void)state;
    check(&prg_compat_kserve, NULL,
          "[{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a', 'namespace': 'ns', 'labels': {'app': 'x'}}},"
          " {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'b', 'namespace': 'other', 'labels': {'app': "
          "'isvc.m-predictor'}}}, {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'c', 'namespace': 'ns'}}]",
          PENDING);
}

static void a_ready_service_has_its_model_loaded_and_counts_ready_pods(void **state)
{
    (void)state;
    check(&prg_compat_kserve, "{'conditions': [{'type': 'Ready', 'status': 'True'}]}",
          "[" POD("a", "01", READY) "," POD("b", "02", READY) "," POD("c", "00", "{'phase': 'Pending'}") "]",
          "{'transitionStatus': 'UpToDate', " COPIES(", 'totalCopies': 2") ", 'states': {'activeModelState': 'Loaded', "
                                                                           "'targetModelState': 'Loaded'}}");
}

static void the_active_state_and_the_last_failure_outlive_a_new_load(void **state)
{
    (void)state;
    check(&prg_compat_kserve,
          "{'modelStatus': {'transitionStatus': 'UpToDate', 'states': {'activeModelState': 'Loaded'},"
          " 'lastFailureInfo': {'reason': 'ModelLoadFailed'}, 'copies': {'failedCopies': 0, 'totalCopies': 3}}}",
          "[" POD("a", "01", INITIALIZER("'state': {'running': {}}")) "]",
          "{'transitionStatus': 'InProgress', " COPIES("") ", 'lastFailureInfo': {'reason': 'ModelLoadFailed'},"
                                                           " 'states': {'activeModelState': 'Loaded', "
                                                           "'targetModelState': 'Loading'}}");
}

static void an_initializer_that_runs_again_is_asked_about_later(void **state)
{
    (void)state;
    struct fx *fx =
        new_fx(&prg_compat_kserve, NULL,
               "[" POD("a", "01", INITIALIZER("'state': {'running': {}}, 'lastState': {'terminated': {}}")) "]");
    assert_false(look(fx));
    assert_json_is(fx, model(fx), "{'transitionStatus': '', " COPIES("") "}");
    fx_free(fx);
}

static void failures_carry_message_and_exit_code(void **state)
{
    (void)state;
    static const char info[] = FAILED("{'reason': 'ModelLoadFailed', 'message': 'no such bucket', 'exitCode': 1}");
    check(&prg_compat_kserve, NULL,
          "[" POD("a", "01",
                  INITIALIZER("'state': {'terminated': {'reason': 'Error', 'message': 'no such bucket', 'exitCode': "
                              "1}}")) "]",
          info);
    check(&prg_compat_kserve, NULL,
          "[" POD("a", "01",
                  SERVER("'state': {'waiting': {'reason': 'CrashLoopBackOff'}}, 'lastState': {'terminated': "
                         "{'message': 'no such bucket', 'exitCode': 1}}")) "]",
          info);
}

static void the_newest_pod_decides(void **state)
{
    (void)state;
    check(&prg_compat_kserve, NULL,
          "[" POD("old", "01", SERVER("'state': {'terminated': {'reason': 'Error'}}")) "," POD(
              "new", "02", SERVER("'state': {'running': {}}")) "]",
          PENDING);
}

static void a_pod_without_creation_time_is_the_oldest(void **state)
{
    (void)state;
    check(&prg_compat_kserve, NULL,
          "[{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'x', 'namespace': 'ns', 'labels': {'app': "
          "'isvc.m-predictor'}}, 'status': " SERVER("'state': {'terminated': {'reason': 'Error'}}") "}," POD(
              "a", "01", SERVER("'state': {'running': {}}")) "]",
          PENDING);
}

static void the_original_answer_to_oom_and_image_pulls_is_pending(void **state)
{
    (void)state;
    check(&prg_compat_kserve, NULL,
          "[" POD("a", "01", SERVER("'state': {'terminated': {'reason': 'OOMKilled', 'exitCode': 137}}")) "]", PENDING);
    check(&prg_compat_kserve, NULL,
          "[" POD("a", "01", SERVER("'state': {'waiting': {'reason': 'ImagePullBackOff'}}")) "]", PENDING);
    check(&prg_compat_kserve, NULL, "[" POD("a", "01", SERVER("'state': {'waiting': {'reason': 'ErrImagePull'}}")) "]",
          PENDING);
    check(&prg_compat_kserve, NULL,
          "[" POD("a", "01", INITIALIZER("'state': {'terminated': {'reason': 'OOMKilled', 'exitCode': 137}}")) "]",
          "{'transitionStatus': '', 'copies': {'failedCopies': 0}}");
}

static void mended_they_are_failures_with_their_reason(void **state)
{
    (void)state;
    check(&prg_compat_fixed, NULL,
          "[" POD("a", "01", SERVER("'state': {'terminated': {'reason': 'OOMKilled', 'exitCode': 137}}")) "]",
          FAILED("{'reason': 'ModelLoadFailed', 'message': 'OOMKilled', 'exitCode': 137, 'location': 'a'}"));
    check(&prg_compat_fixed, NULL,
          "[" POD("a", "01",
                  SERVER("'state': {'waiting': {'reason': 'CrashLoopBackOff'}}, 'lastState': {'terminated': {'reason': "
                         "'OOMKilled', 'exitCode': 137, 'message': 'big'}}")) "]",
          FAILED("{'reason': 'ModelLoadFailed', 'message': 'OOMKilled: big', 'exitCode': 137, 'location': 'a'}"));
    check(&prg_compat_fixed, NULL,
          "[" POD("a", "01", SERVER("'state': {'waiting': {'reason': 'ErrImagePull', 'message': 'denied'}}")) "]",
          FAILED("{'reason': 'RuntimeUnhealthy', 'message': 'ErrImagePull: denied', 'location': 'a'}"));
    check(&prg_compat_fixed, NULL,
          "[" POD("a", "01", INITIALIZER("'state': {'waiting': {'reason': 'ImagePullBackOff'}}")) "]",
          FAILED("{'reason': 'RuntimeUnhealthy', 'message': 'ImagePullBackOff', 'location': 'a'}"));
}

static void a_completed_server_is_pending_in_both_answers(void **state)
{
    (void)state;
    static const char pods[] =
        "[" POD("a", "01", SERVER("'state': {'terminated': {'reason': 'Completed', 'exitCode': 0}}")) "]";
    check(&prg_compat_kserve, NULL, pods, PENDING);
    check(&prg_compat_fixed, NULL, pods, PENDING);
}

static void a_crash_loop_without_a_last_state_is_an_error_with_a_condition(void **state)
{
    (void)state;
    static const char *const pods[] = {
        "[" POD("a", "01", SERVER("'state': {'waiting': {'reason': 'CrashLoopBackOff'}}")) "]",
        "[" POD("a", "01", INITIALIZER("'state': {'waiting': {'reason': 'CrashLoopBackOff'}}, 'lastState': {}")) "]"};
    for (size_t i = 0; i < PRG_COUNT(pods); i++) {
        struct fx *fx = new_fx(&prg_compat_kserve, NULL, pods[i]);
        assert_true(look(fx));
        assert_non_null(strstr(fx->s.plan->error, "lastState.terminated"));
        const cJSON *ready = prg_status_get_condition(&fx->s, "PredictorReady");
        assert_string_equal(prg_json_get_text(ready, "reason"), "CrashLoopBackOff");
        assert_string_equal(prg_json_text(prg_json_at(model(fx), "states", "targetModelState")), "FailedToLoad");
        fx_free(fx);
    }
}

static void a_failure_gives_one_event_until_it_changes(void **state)
{
    (void)state;
    static const char pods[] =
        "[" POD("a", "01", SERVER("'state': {'terminated': {'reason': 'Error', 'exitCode': 2}}")) "]";
    struct fx *fx = new_fx(&prg_compat_kserve, NULL, pods);
    assert_true(look(fx));
    assert_string_equal(prg_json_get_text(fx_event(fx, "ModelLoadFailed"), "message"),
                        "pod a, container kserve-container: no message (exit code 2)");
    fx_free(fx);
    fx = new_fx(&prg_compat_kserve,
                "{'modelStatus': {'lastFailureInfo': {'reason': 'ModelLoadFailed', 'exitCode': 2}}}", pods);
    assert_true(look(fx));
    assert_null(fx_event(fx, "ModelLoadFailed"));
    fx_free(fx);
}

static void odd_pods_are_survived(void **state)
{
    (void)state;
    check(&prg_compat_fixed, "{'modelStatus': 'x'}",
          "[" POD("a", "01", "null") "," POD("b", "02",
                                             "{'containerStatuses': [1, {'name': 'kserve-container', "
                                             "'state': 'x'}], 'initContainerStatuses': {'a': 1}, "
                                             "'conditions': 'y', 'phase': 'Running'}") "]",
          PENDING);
}

static void an_invalid_spec_fails_the_target_and_keeps_the_active_state(void **state)
{
    (void)state;
    struct fx *fx = new_fx(&prg_compat_kserve, "{'modelStatus': {'states': {'activeModelState': 'Loaded'}}}", NULL);
    prg_status_model_transition(&fx->s, "InvalidSpec", "RuntimeDisabled", "Specified runtime is disabled");
    assert_json_is(fx, model(fx),
                   "{'transitionStatus': 'InvalidSpec', 'states': {'activeModelState': 'Loaded', 'targetModelState': "
                   "'FailedToLoad'}, 'lastFailureInfo': {'reason': 'RuntimeDisabled', 'message': 'Specified runtime is "
                   "disabled'}}");
    fx_free(fx);
}

static void a_knative_service_scaled_to_none_by_a_fault_has_failed(void **state)
{
    (void)state;
    struct fx *fx = new_fx(&prg_compat_kserve, NULL,
                           "[{'apiVersion': 'serving.knative.dev/v1', 'kind': 'Service', 'metadata': {'name': "
                           "'m-predictor', 'namespace': 'ns'}, 'status': {'conditions': [{'type': 'Ready', 'status': "
                           "'False'}]}}]");
    fx->s.mode = PRG_MODE_KNATIVE;
    assert_true(prg_status_model_from_pods(&fx->s, "serving.knative.dev/revision", NULL));
    assert_json_is(fx, prg_json_get(model(fx), "states"),
                   "{'activeModelState': '', 'targetModelState': 'FailedToLoad'}");
    assert_null(prg_json_get(model(fx), "lastFailureInfo"));
    fx_free(fx);
}

static void in_knative_mode_the_newest_revision_must_be_the_ready_one(void **state)
{
    (void)state;
    struct fx *fx = new_fx(&prg_compat_kserve,
                           "{'conditions': [{'type': 'Ready', 'status': 'True'}], 'components': {'predictor': "
                           "{'latestCreatedRevision': 'r2', 'latestReadyRevision': 'r1'}}}",
                           "[" POD("a", "01", SERVER("'state': {'running': {}}")) "]");
    fx->s.mode = PRG_MODE_KNATIVE;
    assert_true(look(fx));
    assert_string_equal(prg_json_text(prg_json_at(model(fx), "states", "targetModelState")), "Pending");
    fx_free(fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_pods_the_model_is_pending),
        cmocka_unit_test(pods_of_others_do_not_count),
        cmocka_unit_test(a_ready_service_has_its_model_loaded_and_counts_ready_pods),
        cmocka_unit_test(the_active_state_and_the_last_failure_outlive_a_new_load),
        cmocka_unit_test(an_initializer_that_runs_again_is_asked_about_later),
        cmocka_unit_test(failures_carry_message_and_exit_code),
        cmocka_unit_test(the_newest_pod_decides),
        cmocka_unit_test(a_pod_without_creation_time_is_the_oldest),
        cmocka_unit_test(the_original_answer_to_oom_and_image_pulls_is_pending),
        cmocka_unit_test(mended_they_are_failures_with_their_reason),
        cmocka_unit_test(a_completed_server_is_pending_in_both_answers),
        cmocka_unit_test(a_crash_loop_without_a_last_state_is_an_error_with_a_condition),
        cmocka_unit_test(a_failure_gives_one_event_until_it_changes),
        cmocka_unit_test(odd_pods_are_survived),
        cmocka_unit_test(an_invalid_spec_fails_the_target_and_keeps_the_active_state),
        cmocka_unit_test(a_knative_service_scaled_to_none_by_a_fault_has_failed),
        cmocka_unit_test(in_knative_mode_the_newest_revision_must_be_the_ready_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
