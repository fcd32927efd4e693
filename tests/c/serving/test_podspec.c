// SPDX-License-Identifier: Apache-2.0
// test_podspec.c: the pod spec of a predictor, step by step.
#include <stdio.h>

#include "serving/podspec.h"
#include "serving/predictor.h"
#include "serving/render_fixture.h"

#define MODEL "'model':{'modelFormat':{'name':'x'},'runtime':'r','image':'mine:1','args':['--m={{.Name}}']}"

static struct prg_runtime_choice choice(struct fx *fx, const char *spec)
{
    return (struct prg_runtime_choice){.spec = json_of(&fx->arena, spec), .name = "r"};
}

static cJSON *built(struct fx *fx, const char *runtime_spec)
{
    const struct prg_runtime_choice runtime = choice(fx, runtime_spec);
    cJSON *untouched = prg_json_copy(&fx->arena, runtime.spec), *pod_spec = NULL;
    assert_ok(prg_serving_pod_spec(&fx->s, &runtime, &pod_spec, &fx->err), &fx->err);
    assert_json_equal(runtime.spec, untouched);
    return pod_spec;
}

static const struct prg_trace_entry *traced(const struct fx *fx, const char *decision, const char *subject)
{
    for (const struct prg_trace_entry *entry = fx->s.plan->trace_first; entry; entry = entry->next)
        if (prg_text_equal(entry->decision, decision) && prg_text_equal(entry->subject, subject))
            return entry;
    return NULL;
}

static const char *failure(const struct fx *fx)
{
    return prg_json_text(prg_json_at(fx->s.service, "status", "modelStatus", "lastFailureInfo", "message"));
}

static void the_model_is_merged_into_the_runtimes_container(void **state)
{
    struct fx *fx = fx_new(&prg_compat_fixed, "{" MODEL ",'nodeSelector':{'b':'2'}}", NULL, NULL);
    (void)state;
    const cJSON *pod_spec = built(fx, "{'containers':[{'name':'kserve-container','image':'i:1','args':['--a']}],"
                                      "'nodeSelector':{'a':'1'}}");
    assert_json_is(fx, pod_spec,
                   "{'nodeSelector':{'a':'1','b':'2'},"
                   "'containers':[{'name':'kserve-container','image':'mine:1','args':['--a','--m=m']}]}");
    const cJSON *container = prg_json_item(prg_json_get(pod_spec, "containers"), 0);
    assert_int_equal(prg_json_origin(prg_json_get(container, "image")), PRG_ORIGIN_SERVICE);
    assert_int_equal(prg_json_origin(prg_json_item(prg_json_get(container, "args"), 0)), PRG_ORIGIN_RUNTIME);
    assert_int_equal(prg_json_origin(prg_json_item(prg_json_get(container, "args"), 1)), PRG_ORIGIN_PLACEHOLDER);
    assert_int_equal(prg_json_origin(prg_json_at(pod_spec, "nodeSelector", "b")), PRG_ORIGIN_PREDICTOR);
    const struct prg_trace_entry *entry = traced(fx, "placeholder", "kserve-container.args[1]");
    assert_non_null(entry);
    assert_string_equal(entry->outcome, "--m=m");
    assert_string_equal(entry->reason, "from --m={{.Name}}");
    entry = traced(fx, "merge", "kserve-container");
    assert_string_equal(entry->outcome, "merged");
    assert_string_equal(entry->reason, "from the service: args, image");
    fx_free(fx);
}

// Captures what the image policy gets to see.
struct image_policy {
    struct prg_image_request seen;
    const char *answer;
    int rc;
};

static int image_policy(void *ctx, const char *image, const struct prg_image_request *request, const char **ret,
                        struct prg_policy_source *source, struct prg_error *err)
{
    struct image_policy *policy = ctx;
    policy->seen = *request;
    *source = (struct prg_policy_source){"image", "tag", "image.lua", 3};
    *ret = policy->answer;
    assert_string_equal(image, "i:1");
    return policy->rc == PRG_OK ? PRG_OK : prg_fail(err, policy->rc, "image.lua:3: broken");
}

static void the_image_policy_sees_the_devices_of_the_merged_container(void **state)
{
    struct fx *fx =
        fx_new(&prg_compat_fixed, "{'model':{'resources':{'limits':{'amd.com/gpu':0,'cpu':'1'}}}}", NULL, NULL);
    struct image_policy policy = {.answer = "other:2"};
    const struct prg_decider decide = {.ctx = &policy, .image_tag = image_policy};
    (void)state;
    fx->s.decide = &decide;
    struct prg_runtime_choice runtime = choice(
        fx, "{'containers':[{'name':'kserve-container','image':'i:1','resources':{'limits':{'rdma/hca':'1','nvidia.com/"
            "gpu':'2'}}}]}");
    runtime.annotations = json_of(&fx->arena, "{'serving.kserve.io/server-type':'torchserve'}");
    cJSON *pod_spec;
    assert_ok(prg_serving_pod_spec(&fx->s, &runtime, &pod_spec, &fx->err), &fx->err);
    assert_string_equal(policy.seen.server_type, "torchserve");
    assert_string_equal(policy.seen.runtime_name, "r");
    assert_null(policy.seen.runtime_version);
    assert_int_equal(policy.seen.gpu_count, 2);
    assert_string_equal(policy.seen.gpus[0].resource, "amd.com/gpu");
    assert_string_equal(policy.seen.gpus[0].count, "0");
    assert_string_equal(policy.seen.gpus[1].resource, "nvidia.com/gpu");
    assert_string_equal(policy.seen.gpus[1].count, "2");
    assert_string_equal(prg_json_get_text(prg_json_item(prg_json_get(pod_spec, "containers"), 0), "image"), "other:2");
    assert_string_equal(traced(fx, "image", "kserve-container")->source.file, "image.lua");
    fx_free(fx);
}

static void the_image_that_the_policy_gives_is_traced(void **state)
{
    struct fx *fx = fx_new(&prg_compat_fixed, "{'model':{'runtimeVersion':'7'}}", NULL, NULL);
    struct image_policy policy = {.answer = "i:7"};
    const struct prg_decider decide = {.ctx = &policy, .image_tag = image_policy};
    (void)state;
    fx->s.decide = &decide;
    const cJSON *pod_spec = built(fx, "{'containers':[{'name':'kserve-container','image':'i:1'}]}");
    const cJSON *image = prg_json_get(prg_json_item(prg_json_get(pod_spec, "containers"), 0), "image");
    assert_string_equal(policy.seen.runtime_version, "7");
    assert_string_equal(prg_json_text(image), "i:7");
    assert_int_equal(prg_json_origin(image), PRG_ORIGIN_IMAGE);
    assert_string_equal(traced(fx, "image", "kserve-container")->outcome, "i:7");
    assert_string_equal(traced(fx, "image", "kserve-container")->reason, "was i:1");
    fx_free(fx);
}

static void no_answer_of_the_policy_leaves_the_image(void **state)
{
    struct fx *fx = fx_new(&prg_compat_fixed, "{'model':{}}", NULL, NULL);
    (void)state;
    const cJSON *pod_spec = built(fx, "{'containers':[{'name':'kserve-container','image':'i:1'}]}");
    const cJSON *image = prg_json_get(prg_json_item(prg_json_get(pod_spec, "containers"), 0), "image");
    assert_string_equal(prg_json_text(image), "i:1");
    assert_int_equal(prg_json_origin(image), PRG_ORIGIN_RUNTIME);
    assert_string_equal(traced(fx, "image", "kserve-container")->reason, "unchanged");
    fx_free(fx);
}

static void a_failing_policy_is_no_fault_of_the_service(void **state)
{
    struct fx *fx = fx_new(&prg_compat_fixed, "{'model':{}}", NULL, NULL);
    struct image_policy policy = {.rc = PRG_POLICY};
    const struct prg_decider decide = {.ctx = &policy, .image_tag = image_policy};
    const struct prg_runtime_choice runtime = choice(fx, "{'containers':[{'name':'kserve-container','image':'i:1'}]}");
    cJSON *pod_spec;
    (void)state;
    fx->s.decide = &decide;
    assert_int_equal(prg_serving_pod_spec(&fx->s, &runtime, &pod_spec, &fx->err), PRG_POLICY);
    assert_error_has(&fx->err, "image.lua:3: broken");
    assert_null(failure(fx));
    fx_free(fx);
}

// ---- collocation ----

#define RUNTIME_TRANSFORMER "{'name':'transformer-container','image':'t:1','args':['{{.Name}}','a']}"
#define SERVICE_TRANSFORMER "{'name':'transformer-container','image':'t:2','args':['b']}"
#define RUNTIME_PREDICTOR "{'name':'kserve-container','image':'i:1'}"

static void the_four_cases_of_a_transformer(void **state)
{
    static const struct {
        const char *runtime, *service, *containers;
    } cases[] = {
        {"", "", "[" RUNTIME_PREDICTOR "]"},
        {"," RUNTIME_TRANSFORMER, "",
         "[" RUNTIME_PREDICTOR ",{'name':'transformer-container','image':'t:1','args':['m','a']}]"},
        {"", SERVICE_TRANSFORMER, "[" RUNTIME_PREDICTOR "," SERVICE_TRANSFORMER "]"},
        {"," RUNTIME_TRANSFORMER, SERVICE_TRANSFORMER,
         "[" RUNTIME_PREDICTOR ",{'name':'transformer-container','image':'t:2','args':['m','a','b']}]"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        char predictor[256], runtime[256];
        snprintf(predictor, sizeof(predictor), "{'model':{},'containers':[%s]}", cases[i].service);
        snprintf(runtime, sizeof(runtime), "{'containers':[" RUNTIME_PREDICTOR "%s]}", cases[i].runtime);
        struct fx *fx = fx_new(&prg_compat_kserve, predictor, NULL, NULL);
        assert_json_is(fx, prg_json_get(built(fx, runtime), "containers"), cases[i].containers);
        fx_free(fx);
    }
}

static void further_containers_come_last_runtime_first(void **state)
{
    struct fx *fx = fx_new(&prg_compat_kserve,
                           "{'model':{},'containers':[{'name':'s','args':['{{.Name}}']},{'name':'kserve-container'},"
                           "{'name':'transformer-container'},{'name':'transformer-container','image':'second'}]}",
                           NULL, NULL);
    (void)state;
    const cJSON *pod_spec = built(fx, "{'containers':[{'name':'r1'}," RUNTIME_PREDICTOR
                                      ",{'name':'r2','tty':false},{'name':'kserve-container','image':'twice'}]}");
    assert_json_is(fx, prg_json_get(pod_spec, "containers"),
                   "[" RUNTIME_PREDICTOR ",{'name':'transformer-container'},{'name':'r1'},{'name':'r2'},"
                   "{'name':'s','args':['{{.Name}}']},{'name':'kserve-container'}]");
    assert_string_equal(traced(fx, "merge", "r2")->outcome, "runtime");
    assert_string_equal(traced(fx, "merge", "s")->outcome, "service");
    fx_free(fx);
}

// ---- what cannot be built ----

static void a_failure_is_in_the_error_and_in_the_status(void **state)
{
    static const struct {
        const char *predictor, *runtime, *error;
    } cases[] = {
        {"{'model':{}}", "{}", "no container configuration found in selected serving runtime"},
        {"{'model':{}}", "{'containers':[]}", "no container configuration found in selected serving runtime"},
        {"{'model':{}}", "{'containers':[{'name':'x'}]}",
         "failed to find kserve-container in ServingRuntime containers"},
        {"{'model':{}}", "{'containers':{}}", "runtime /spec/containers: a list is expected here, not object"},
        {"{'model':{}}", "{'containers':['x']}", "runtime /spec/containers/0: an object is expected here, not string"},
        {"{'model':{},'containers':'x'}", "{'containers':[" RUNTIME_PREDICTOR "]}",
         "/spec/predictor/containers: a list is expected here, not string"},
        {"{'model':{'env':{}}}", "{'containers':[" RUNTIME_PREDICTOR "]}",
         "failed to merge container. Detail: service: /env: a list is expected here, not object"},
        {"{'model':{},'volumes':3}", "{'containers':[" RUNTIME_PREDICTOR "]}",
         "failed to consolidate serving runtime PodSpecs. Detail: service: /volumes: a list is expected here"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx = fx_new(&prg_compat_fixed, cases[i].predictor, NULL, NULL);
        const struct prg_runtime_choice runtime = choice(fx, cases[i].runtime);
        cJSON *pod_spec = NULL;
        assert_int_not_equal(prg_serving_pod_spec(&fx->s, &runtime, &pod_spec, &fx->err), PRG_OK);
        assert_null(pod_spec);
        assert_error_has(&fx->err, cases[i].error);
        assert_non_null(strstr(failure(fx), cases[i].error));
        assert_string_equal(prg_json_text(prg_json_at(fx->s.service, "status", "modelStatus", "transitionStatus")),
                            "InvalidSpec");
        fx_free(fx);
    }
}

static void a_bad_placeholder_names_runtime_container_and_field(void **state)
{
    struct fx *fx = fx_new(&prg_compat_fixed, "{'model':{}}", NULL, NULL);
    const struct prg_runtime_choice runtime =
        choice(fx, "{'containers':[{'name':'kserve-container','args':['{{.Nope}}']}]}");
    cJSON *pod_spec;
    (void)state;
    assert_int_equal(prg_serving_pod_spec(&fx->s, &runtime, &pod_spec, &fx->err), PRG_INVALID);
    assert_error_has(&fx->err, "failed to replace placeholders in serving runtime r Container kserve-container: "
                               "/args/0: {{.Nope}}: there is no field .Nope");
    assert_string_equal(failure(fx), "failed to replace placeholders in serving runtime r Container kserve-container");
    fx_free(fx);
}

static void other_containers_are_checked_too(void **state)
{
    struct fx *fx = fx_new(&prg_compat_fixed, "{'model':{},'containers':[{'name':'s','ports':{}}]}", NULL, NULL);
    const struct prg_runtime_choice runtime = choice(fx, "{'containers':[" RUNTIME_PREDICTOR "]}");
    cJSON *pod_spec;
    (void)state;
    assert_int_equal(prg_serving_pod_spec(&fx->s, &runtime, &pod_spec, &fx->err), PRG_INVALID);
    assert_error_has(&fx->err, "/containers/0/ports: a list is expected");
    fx_free(fx);
}

// ---- custom predictors ----

static cJSON *custom(struct fx *fx)
{
    cJSON *pod_spec = NULL, *untouched = prg_json_copy(&fx->arena, fx->s.predictor);
    assert_ok(prg_serving_custom_pod_spec(&fx->s, &pod_spec, &fx->err), &fx->err);
    assert_json_equal(fx->s.predictor, untouched);
    return pod_spec;
}

static void a_custom_predictor_keeps_its_pod_fields_and_placeholders(void **state)
{
    struct fx *fx = fx_new(&prg_compat_kserve,
                           "{'minReplicas':1,'hostIPC':true,'containers':[{'name':'kserve-container','image':'i',"
                           "'args':['{{.Name}}'],'resources':{'limits':{'cpu':'0.5'}}}]}",
                           NULL, NULL);
    (void)state;
    assert_json_is(fx, custom(fx),
                   "{'hostIPC':true,'containers':[{'name':'kserve-container','image':'i','args':['{{.Name}}'],"
                   "'resources':{'limits':{'cpu':'500m'}}}]}");
    fx_free(fx);
}

static void the_first_container_is_lost_in_the_original_only(void **state)
{
    static const char predictor[] = "{'containers':[{'name':'side'},{'name':'kserve-container','image':'i'}]}";
    struct fx *kserve = fx_new(&prg_compat_kserve, predictor, NULL, NULL);
    struct fx *fixed = fx_new(&prg_compat_fixed, predictor, NULL, NULL);
    (void)state;
    assert_json_is(kserve, prg_json_get(custom(kserve), "containers"),
                   "[{'name':'kserve-container','image':'i'},{'name':'kserve-container','image':'i'}]");
    assert_json_is(fixed, prg_json_get(custom(fixed), "containers"),
                   "[{'name':'side'},{'name':'kserve-container','image':'i'}]");
    fx_free(kserve);
    fx_free(fixed);
}

static void a_custom_predictor_without_kserve_container_is_an_error_with_a_condition(void **state)
{
    static const char *const predictors[] = {"{}", "{'containers':[]}", "{'containers':[{'name':'a'},{'name':'b'}]}",
                                             "{'containers':{}}"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(predictors); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, predictors[i], NULL, NULL);
        cJSON *pod_spec;
        assert_int_equal(prg_serving_custom_pod_spec(&fx->s, &pod_spec, &fx->err), PRG_INVALID);
        assert_error_has(&fx->err, "/spec/predictor/containers");
        const cJSON *condition = prg_status_get_condition(&fx->s, "PredictorReady");
        assert_string_equal(prg_json_get_text(condition, "status"), "False");
        assert_string_equal(prg_json_get_text(condition, "reason"), "InvalidPredictorSpec");
        fx_free(fx);
    }
}

// ---- variables ----

static void a_variable_is_appended_or_overwritten_in_place(void **state)
{
    struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, NULL);
    cJSON *pod_spec = json_of(&fx->arena, "{'containers':[{'name':'a'},{'name':'b','env':[{'name':'X','value':'1'},"
                                          "{'name':'Y'}]},{'name':'b'}]}");
    (void)state;
    for (int i = 0; i < 2; i++) { // a second time changes nothing
        assert_ok(prg_serving_set_env(&fx->s, pod_spec, "a", "X", "v", PRG_ORIGIN_RULE, &fx->err), &fx->err);
        assert_ok(prg_serving_set_env(&fx->s, pod_spec, "b", "X", "w", PRG_ORIGIN_RULE, &fx->err), &fx->err);
        assert_json_is(fx, pod_spec,
                       "{'containers':[{'name':'a','env':[{'name':'X','value':'v'}]},{'name':'b','env':[{'name':'X',"
                       "'value':'w'},{'name':'Y'}]},{'name':'b','env':[{'name':'X','value':'w'}]}]}");
    }
    const cJSON *env = prg_json_get(prg_json_item(prg_json_get(pod_spec, "containers"), 0), "env");
    assert_int_equal(prg_json_origin(prg_json_get(prg_json_item(env, 0), "value")), PRG_ORIGIN_RULE);
    fx_free(fx);
}

static void a_value_of_the_planner_replaces_a_value_from_when_mended(void **state)
{
    const struct prg_compat *const both[] = {&prg_compat_kserve, &prg_compat_fixed};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(both); i++) {
        struct fx *fx = fx_new(both[i], NULL, NULL, NULL);
        cJSON *pod_spec = json_of(&fx->arena, "{'containers':[{'name':'a','env':[{'name':'X','valueFrom':{}}]}]}");
        assert_ok(prg_serving_set_env(&fx->s, pod_spec, "a", "X", "v", PRG_ORIGIN_RULE, &fx->err), &fx->err);
        assert_json_is(fx, prg_json_get(prg_json_item(prg_json_get(pod_spec, "containers"), 0), "env"),
                       i ? "[{'name':'X','value':'v'}]" : "[{'name':'X','value':'v','valueFrom':{}}]");
        fx_free(fx);
    }
}

static void a_variable_needs_its_container(void **state)
{
    static const char *const texts[] = {"{}", "{'containers':{}}", "{'containers':['a',{'name':1}]}"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        struct fx *fx = fx_new(&prg_compat_kserve, NULL, NULL, NULL);
        assert_int_equal(
            prg_serving_set_env(&fx->s, json_of(&fx->arena, texts[i]), "a", "X", "v", PRG_ORIGIN_RULE, &fx->err),
            PRG_NOTFOUND);
        assert_error_has(&fx->err, "target container(a) does not exist");
        fx_free(fx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_is_merged_into_the_runtimes_container),
        cmocka_unit_test(the_image_that_the_policy_gives_is_traced),
        cmocka_unit_test(no_answer_of_the_policy_leaves_the_image),
        cmocka_unit_test(the_image_policy_sees_the_devices_of_the_merged_container),
        cmocka_unit_test(a_failing_policy_is_no_fault_of_the_service),
        cmocka_unit_test(the_four_cases_of_a_transformer),
        cmocka_unit_test(further_containers_come_last_runtime_first),
        cmocka_unit_test(a_failure_is_in_the_error_and_in_the_status),
        cmocka_unit_test(a_bad_placeholder_names_runtime_container_and_field),
        cmocka_unit_test(other_containers_are_checked_too),
        cmocka_unit_test(a_custom_predictor_keeps_its_pod_fields_and_placeholders),
        cmocka_unit_test(the_first_container_is_lost_in_the_original_only),
        cmocka_unit_test(a_custom_predictor_without_kserve_container_is_an_error_with_a_condition),
        cmocka_unit_test(a_variable_is_appended_or_overwritten_in_place),
        cmocka_unit_test(a_value_of_the_planner_replaces_a_value_from_when_mended),
        cmocka_unit_test(a_variable_needs_its_container),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
