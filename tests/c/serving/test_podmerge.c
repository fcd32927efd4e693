// SPDX-License-Identifier: Apache-2.0
// test_podmerge.c: merging containers and pod specs of runtime and service.
#include "serving/function_cases.h"
#include "serving/podspec.h"

static const struct prg_merge_options as_kserve = {.compat = &prg_compat_kserve};
static const struct prg_merge_options as_fixed = {.compat = &prg_compat_fixed};

// ---- recorded ----

static void check_container(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out)
{
    struct prg_error err = {0};
    cJSON *got;
    assert_ok(prg_podspec_merge_container(arena, &as_kserve, prg_json_get(in, "runtime"), prg_json_get(in, "isvc"),
                                          &got, &err),
              &err);
    assert_cleaned_equal(arena, got, prg_json_get(out, "container"), id);
}

static void check_specs(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out)
{
    struct prg_error err = {0};
    struct prg_merged_specs got;
    const cJSON *runtime = prg_json_get(in, "runtimePodSpec");
    int64_t index;
    char text[PRG_ERROR_LINE];
    int rc = prg_podspec_merge_specs(arena, &as_kserve, prg_json_get(runtime, "containers"),
                                     prg_json_get(in, "isvcContainer"), prg_json_get_text(in, "targetContainerName"),
                                     runtime, prg_json_get(in, "isvcPodSpec"), &got, &err);
    if (prg_json_get_text(out, "error")) {
        assert_int_equal(rc, PRG_NOTFOUND);
        assert_string_equal(prg_error_text(&err, text, sizeof(text)), prg_json_get_text(out, "error"));
        return;
    }
    assert_ok(rc, &err);
    assert_cleaned_equal(arena, got.container, prg_json_get(out, "container"), id);
    assert_cleaned_equal(arena, got.pod_spec, prg_json_get(out, "podSpec"), id);
    assert_true(prg_json_get_int64(out, "index", &index));
    assert_int_equal(got.index, index);
}

static void recorded_containers_merge_as_recorded(void **state)
{
    (void)state;
    each_function_case("merge_containers", 300, check_container);
}

static void recorded_specs_merge_as_recorded(void **state)
{
    (void)state;
    each_function_case("merge_specs", 300, check_specs);
}

// ---- containers ----

static cJSON *merged(struct prg_arena *arena, const struct prg_merge_options *options, const char *runtime,
                     const char *service)
{
    struct prg_error err = {0};
    cJSON *got = NULL;
    assert_ok(prg_podspec_merge_container(arena, options, json_of(arena, runtime), json_of(arena, service), &got, &err),
              &err);
    return got;
}

static void empty_values_cannot_override(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena,
                     merged(&arena, &as_kserve,
                            "{'name':'a','image':'i','tty':true,'command':['x'],'env':[{'name':'A','value':'1'}]}",
                            "{'name':'','image':'','tty':false,'command':[],'env':[{'name':'A','value':''}]}"),
                     "{'name':'a','image':'i','tty':true,'command':['x'],'env':[{'name':'A','value':'1'}]}");
}

static void a_name_in_the_model_replaces_the_runtimes(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena, merged(&arena, &as_kserve, "{'name':'a'}", "{'name':'b'}"), "{'name':'b'}");
}

static void fields_of_a_model_are_no_fields_of_a_container(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena,
                     merged(&arena, &as_kserve, "{'name':'a'}",
                            "{'modelFormat':{'name':'x'},'runtime':'r','runtimeVersion':'1','protocolVersion':'v1',"
                            "'storageUri':'s3://x','storage':{},'confidential':{},'image':'i'}"),
                     "{'name':'a','image':'i'}");
}

static void unknown_fields_survive_on_both_sides(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena,
                     merged(&arena, &as_kserve, "{'name':'a','fromRuntime':{'x':1,'y':[1]},'both':{'a':1,'b':1}}",
                            "{'fromService':[{'z':''}],'both':{'b':2},'env':[{'name':'A','new':true}]}"),
                     "{'name':'a','fromRuntime':{'x':1,'y':[1]},'both':{'a':1,'b':2},'fromService':[{'z':''}],"
                     "'env':[{'name':'A','new':true}]}");
}

static void a_directive_in_a_manifest_is_no_directive(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(
        &arena,
        merged(&arena, &as_kserve, "{'name':'a','image':'i','env':[{'name':'A','value':'1'}]}",
               "{'$patch':'delete','env':[{'name':'A','$patch':'delete'},{'$patch':'replace','name':'B'}]}"),
        "{'name':'a','image':'i','env':[{'name':'A','value':'1'},{'name':'B'}]}");
}

static void exclusive_fields_stay_beside_each_other_as_in_the_original(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    const char *runtime =
        "{'name':'a','env':[{'name':'A','value':'1'},{'name':'B','valueFrom':{'fieldRef':{'fieldPath':'p'}}}],"
        "'livenessProbe':{'httpGet':{'port':1},'periodSeconds':3},"
        "'lifecycle':{'preStop':{'sleep':{'seconds':1}}}}";
    const char *service = "{'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'q'}}},{'name':'B','value':'2'}],"
                          "'livenessProbe':{'exec':{'command':['x']}},"
                          "'lifecycle':{'preStop':{'exec':{'command':['y']}}}}";
    assert_json_text(&arena, merged(&arena, &as_kserve, runtime, service),
                     "{'name':'a','env':[{'name':'A','value':'1','valueFrom':{'fieldRef':{'fieldPath':'q'}}},"
                     "{'name':'B','value':'2','valueFrom':{'fieldRef':{'fieldPath':'p'}}}],"
                     "'livenessProbe':{'httpGet':{'port':1},'exec':{'command':['x']},'periodSeconds':3},"
                     "'lifecycle':{'preStop':{'sleep':{'seconds':1},'exec':{'command':['y']}}}}");
    assert_json_text(
        &arena, merged(&arena, &as_fixed, runtime, service),
        "{'name':'a','env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'q'}}},{'name':'B','value':'2'}],"
        "'livenessProbe':{'exec':{'command':['x']},'periodSeconds':3},"
        "'lifecycle':{'preStop':{'exec':{'command':['y']}}}}");
}

static void another_source_of_a_variable_replaces_the_runtimes_when_mended(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena,
                     merged(&arena, &as_fixed,
                            "{'name':'a','env':[{'name':'A','valueFrom':{'secretKeyRef':{'name':'s','key':'k'}}}]}",
                            "{'env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'p'}}}]}"),
                     "{'name':'a','env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'p'}}}]}");
    // The same source merges as ever, and a probe without a handler changes times only.
    assert_json_text(&arena,
                     merged(&arena, &as_fixed, "{'name':'a','readinessProbe':{'httpGet':{'port':1,'path':'/a'}}}",
                            "{'readinessProbe':{'periodSeconds':9}}"),
                     "{'name':'a','readinessProbe':{'httpGet':{'port':1,'path':'/a'},'periodSeconds':9}}");
}

static void wrong_types_name_side_and_pointer(void **state)
{
    static const struct {
        const char *runtime, *service, *error;
    } cases[] = {
        {"{'name':'a','env':{}}", "{}", "runtime: /env: a list is expected here, not object"},
        {"{'name':'a'}", "{'env':[{'name':1}]}", "service: /env/0/name: a text is expected here, not number 1"},
        {"{'name':'a'}", "{'ports':[{'containerPort':'80'}]}",
         "service: /ports/0/containerPort: a whole number is expected here, not string"},
        {"{'name':'a'}", "{'ports':[{'containerPort':8080.5}]}", "not number 8080.5"},
        {"{'name':'a'}", "{'resources':{'limits':{'cpu':'a lot'}}}", "/resources/limits/cpu"},
        {"{'name':'a'}", "{'resources':{'limits':{'cpu':true}}}", "a quantity is expected here, not boolean"},
        {"{'name':'a'}", "[]", "service: /: an object is expected here, not array"},
        {"{'name':'a'}", "{'args':'x'}", "/args: a list is expected"},
        {"{'name':'a'}", "{'tty':'yes'}", "/tty: true or false is expected"},
        {"{'name':'a'}", "{'livenessProbe':{'httpGet':{'port':{}}}}", "/livenessProbe/httpGet/port: a whole number"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena = {0};
        struct prg_error err = {0};
        cJSON *got;
        prg_arena_init(&arena);
        assert_int_equal(prg_podspec_merge_container(&arena, &as_fixed, json_of(&arena, cases[i].runtime),
                                                     json_of(&arena, cases[i].service), &got, &err),
                         PRG_INVALID);
        assert_error_has(&err, cases[i].error);
    }
}

static void every_field_knows_its_layer(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    cJSON *got = merged(&arena, &as_fixed, "{'name':'a','image':'i','args':['x'],'env':[{'name':'A','value':'1'}]}",
                        "{'image':'j','args':['y'],'env':[{'name':'A','value':'2'},{'name':'B','value':'3'}]}");
    const cJSON *env = prg_json_get(got, "env");
    assert_int_equal(prg_json_origin(prg_json_get(got, "name")), PRG_ORIGIN_RUNTIME);
    assert_int_equal(prg_json_origin(prg_json_get(got, "image")), PRG_ORIGIN_SERVICE);
    assert_int_equal(prg_json_origin(prg_json_item(prg_json_get(got, "args"), 0)), PRG_ORIGIN_RUNTIME);
    assert_int_equal(prg_json_origin(prg_json_item(prg_json_get(got, "args"), 1)), PRG_ORIGIN_SERVICE);
    assert_int_equal(prg_json_origin(prg_json_get(prg_json_item(env, 0), "value")), PRG_ORIGIN_SERVICE);
    assert_int_equal(prg_json_origin(prg_json_item(env, 1)), PRG_ORIGIN_SERVICE);
}

// ---- pods ----

static cJSON *merged_pod(struct prg_arena *arena, const struct prg_merge_options *options, const char *runtime,
                         const char *service)
{
    struct prg_error err = {0};
    cJSON *got = NULL;
    assert_ok(prg_podspec_merge(arena, options, json_of(arena, runtime), json_of(arena, service), &got, &err), &err);
    return got;
}

static void six_fields_of_the_runtime_or_all_reach_the_pod(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    const char *runtime = "{'supportedModelFormats':[],'disabled':false,'labels':{'l':'1'},'containers':[{'name':'c'}],"
                          "'hostIPC':true,'runtimeClassName':'nv','newField':{'x':1},'schedulerName':'s',"
                          "'nodeSelector':{'a':'b'}}";
    const char *service = "{'model':{},'minReplicas':3,'labels':{'m':'2'},'priorityClassName':'p','newToo':[1],"
                          "'containers':[{'name':'extra'}]}";
    assert_json_text(&arena, merged_pod(&arena, &as_kserve, runtime, service),
                     "{'schedulerName':'s','nodeSelector':{'a':'b'},'priorityClassName':'p','newToo':[1],"
                     "'containers':[{'name':'extra'}]}");
    assert_json_text(&arena, merged_pod(&arena, &as_fixed, runtime, service),
                     "{'schedulerName':'s','nodeSelector':{'a':'b'},'priorityClassName':'p','newToo':[1],"
                     "'hostIPC':true,'runtimeClassName':'nv','newField':{'x':1},'containers':[{'name':'extra'}]}");
}

static void a_volume_source_of_the_service_replaces_the_runtimes_when_mended(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    const char *runtime =
        "{'volumes':[{'name':'v','emptyDir':{'medium':'Memory'}},{'name':'w','hostPath':{'path':'/h'}}]}";
    const char *service =
        "{'volumes':[{'name':'v','hostPath':{'path':'/x'}},{'name':'w','hostPath':{'path':'/h','type':'File'}}]}";
    assert_json_text(&arena, merged_pod(&arena, &as_kserve, runtime, service),
                     "{'volumes':[{'name':'v','emptyDir':{'medium':'Memory'},'hostPath':{'path':'/x'}},"
                     "{'name':'w','hostPath':{'path':'/h','type':'File'}}]}");
    assert_json_text(
        &arena, merged_pod(&arena, &as_fixed, runtime, service),
        "{'volumes':[{'name':'v','hostPath':{'path':'/x'}},{'name':'w','hostPath':{'path':'/h','type':'File'}}]}");
}

static void init_containers_of_both_sides_follow_the_same_rule(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(
        &arena,
        merged_pod(&arena, &as_fixed, "{'initContainers':[{'name':'i','env':[{'name':'A','value':'1'}]}]}",
                   "{'initContainers':[{'name':'i','env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'p'}}}]}]}"),
        "{'initContainers':[{'name':'i','env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'p'}}}]}]}");
}

static void hostile_pod_specs_are_refused(void **state)
{
    static const struct {
        const char *service, *error;
    } cases[] = {
        {"{'volumes':{}}", "/volumes: a list is expected"},
        {"{'nodeSelector':{'a':1}}", "/nodeSelector/a: a text is expected"},
        {"{'containers':[{'name':'a','env':[1]}]}", "/containers/0/env/0: an object is expected"},
        {"{'tolerations':[{'tolerationSeconds':'1'}]}", "/tolerations/0/tolerationSeconds"},
        {"'x'", "an object is expected"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena = {0};
        struct prg_error err = {0};
        cJSON *got;
        prg_arena_init(&arena);
        assert_int_equal(prg_podspec_merge(&arena, &as_fixed, NULL, json_of(&arena, cases[i].service), &got, &err),
                         PRG_INVALID);
        assert_error_has(&err, cases[i].error);
    }
}

// ---- container_merge policy ----

struct policy {
    struct prg_arena *arena;
    const char *args, *env;
};

static bool policy_has(void *ctx, const char *function)
{
    const struct policy *policy = ctx;
    return strcmp(function, "args") == 0 ? policy->args != NULL : policy->env != NULL;
}

static int policy_args(void *ctx, const cJSON *runtime_args, const cJSON *service_args, const char *container,
                       cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    const struct policy *policy = ctx;
    (void)err;
    assert_string_equal(container, "a");
    assert_true(prg_json_is_array(runtime_args) && prg_json_is_array(service_args));
    *source = (struct prg_policy_source){"container_merge", "args", "container_merge.lua", 7};
    *ret = strcmp(policy->args, "nil") == 0 ? NULL : json_of(policy->arena, policy->args);
    return PRG_OK;
}

static int policy_env(void *ctx, const char *name, const cJSON *runtime_entry, const cJSON *service_entry,
                      const char *container, cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    const struct policy *policy = ctx;
    (void)err;
    assert_string_equal(container, "a");
    assert_string_equal(name, "A");
    assert_string_equal(prg_json_get_text(runtime_entry, "value"), "1");
    assert_string_equal(prg_json_get_text(service_entry, "value"), "3");
    *source = (struct prg_policy_source){"container_merge", "env", "container_merge.lua", 9};
    *ret = json_of(policy->arena, policy->env);
    return PRG_OK;
}

static int merge_by_policy(struct prg_arena *arena, const char *args, const char *env, cJSON **got,
                           struct prg_plan **ret_plan, struct prg_error *err)
{
    struct policy policy = {arena, args, env};
    struct prg_decider decide = {
        .ctx = &policy, .has_container_merge = policy_has, .merge_args = policy_args, .merge_env = policy_env};
    struct prg_plan *plan = prg_plan_new(arena);
    const struct prg_merge_options options = {.compat = &prg_compat_fixed, .decide = &decide, .plan = plan};
    *ret_plan = plan;
    return prg_podspec_merge_container(
        arena, &options, json_of(arena, "{'name':'a','args':['x'],'env':[{'name':'A','value':'1'},{'name':'C'}]}"),
        json_of(arena, "{'args':['y'],'env':[{'name':'A','value':'2'},{'name':'A','value':'3'},{'name':'B'}]}"), got,
        err);
}

static void a_policy_decides_arguments_and_variables_that_both_sides_name(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    struct prg_plan *plan;
    cJSON *got;
    (void)state;
    prg_arena_init(&arena);
    assert_ok(merge_by_policy(&arena, "['y','x']", "{'name':'A','value':'13'}", &got, &plan, &err), &err);
    assert_json_text(&arena, prg_json_get(got, "args"), "['y','x']");
    assert_string_equal(prg_json_text(prg_json_get(prg_json_item(prg_json_get(got, "env"), 0), "value")), "13");
    assert_int_equal(prg_json_origin(prg_json_get(got, "args")), PRG_ORIGIN_MERGE_POLICY);
    assert_non_null(plan->trace_first);
    assert_string_equal(plan->trace_first->subject, "a.args");
    assert_string_equal(plan->trace_last->subject, "a.env.A");
    assert_string_equal(plan->trace_last->source.file, "container_merge.lua");
}

static void no_opinion_of_a_policy_is_the_default(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    struct prg_plan *plan;
    cJSON *got;
    (void)state;
    prg_arena_init(&arena);
    assert_ok(merge_by_policy(&arena, "nil", NULL, &got, &plan, &err), &err);
    assert_json_text(&arena, prg_json_get(got, "args"), "['x','y']");
    assert_null(plan->trace_first);
}

static void a_policy_cannot_rename_a_variable(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    struct prg_plan *plan;
    cJSON *got;
    (void)state;
    prg_arena_init(&arena);
    assert_int_equal(merge_by_policy(&arena, NULL, "{'name':'B','value':'13'}", &got, &plan, &err), PRG_POLICY);
    assert_error_has(&err, "container_merge.env, container_merge.lua:9");
    assert_error_has(&err, "variable A");
}

static void an_entry_of_a_policy_is_checked(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    struct prg_plan *plan;
    cJSON *got;
    (void)state;
    assert_int_equal(merge_by_policy(&arena, NULL, "{'name':'A','value':13}", &got, &plan, &err), PRG_INVALID);
    assert_error_has(&err, "variable A, as the container_merge policy gives it: /value: a text is expected");
}

static void a_list_entry_without_its_merge_key_is_refused(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got;
    (void)state;
    assert_int_equal(prg_podspec_merge(&arena, &as_fixed, json_of(&arena, "{'imagePullSecrets':[{'name':'a'}]}"),
                                       json_of(&arena, "{'imagePullSecrets':[{}]}"), &got, &err),
                     PRG_INVALID);
    struct prg_merged_specs specs;
    assert_int_equal(
        prg_podspec_merge_specs(&arena, &as_fixed, json_of(&arena, "{}"), NULL, "x", NULL, NULL, &specs, &err),
        PRG_NOTFOUND);
}

static void a_copied_runtime_may_go_before_the_result(void **state)
{
    static const char runtime[] =
        "{'name':'a','image':'i','args':['x'],'newer':{'k':'v'},'env':[{'name':'A','value':'1'},"
        "{'name':'C','value':'3'}],'resources':{'limits':{'cpu':'1000m'}}}";
    static const char service[] = "{'args':['y'],'env':[{'name':'A','value':'2'},{'name':'B','value':''}]}";
    struct prg_merge_options options = {.compat = &prg_compat_kserve};
    prg_auto_arena arena = {0}, theirs = {0};
    struct prg_error err = {0};
    cJSON *shared, *copied;
    (void)state;
    const cJSON *of_runtime = json_of(&theirs, runtime), *of_service = json_of(&arena, service);
    const char *before = prg_json_print_arena(&arena, of_runtime, 0);
    assert_ok(prg_podspec_merge_container(&arena, &options, of_runtime, of_service, &shared, &err), &err);
    const char *text = prg_json_print_arena(&arena, shared, 0);
    options.copies_runtime = true;
    assert_ok(prg_podspec_merge_container(&arena, &options, of_runtime, of_service, &copied, &err), &err);
    prg_json_set_string(&arena, shared, "image", "mine");
    prg_json_tag(shared, PRG_ORIGIN_IMAGE);
    assert_string_equal(prg_json_print_arena(&arena, of_runtime, 0), before);
    assert_int_equal(prg_json_origin(of_runtime->child), PRG_ORIGIN_NONE);
    prg_arena_release(&theirs);
    assert_string_equal(prg_json_print_arena(&arena, copied, 0), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_containers_merge_as_recorded),
        cmocka_unit_test(recorded_specs_merge_as_recorded),
        cmocka_unit_test(empty_values_cannot_override),
        cmocka_unit_test(a_name_in_the_model_replaces_the_runtimes),
        cmocka_unit_test(fields_of_a_model_are_no_fields_of_a_container),
        cmocka_unit_test(unknown_fields_survive_on_both_sides),
        cmocka_unit_test(a_directive_in_a_manifest_is_no_directive),
        cmocka_unit_test(exclusive_fields_stay_beside_each_other_as_in_the_original),
        cmocka_unit_test(another_source_of_a_variable_replaces_the_runtimes_when_mended),
        cmocka_unit_test(wrong_types_name_side_and_pointer),
        cmocka_unit_test(every_field_knows_its_layer),
        cmocka_unit_test(a_copied_runtime_may_go_before_the_result),
        cmocka_unit_test(six_fields_of_the_runtime_or_all_reach_the_pod),
        cmocka_unit_test(a_volume_source_of_the_service_replaces_the_runtimes_when_mended),
        cmocka_unit_test(init_containers_of_both_sides_follow_the_same_rule),
        cmocka_unit_test(hostile_pod_specs_are_refused),
        cmocka_unit_test(a_policy_decides_arguments_and_variables_that_both_sides_name),
        cmocka_unit_test(no_opinion_of_a_policy_is_the_default),
        cmocka_unit_test(a_policy_cannot_rename_a_variable),
        cmocka_unit_test(an_entry_of_a_policy_is_checked),
        cmocka_unit_test(a_list_entry_without_its_merge_key_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
