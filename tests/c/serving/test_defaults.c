// SPDX-License-Identifier: Apache-2.0
// test_defaults.c: the defaulting webhook.
#include "function_cases.h"
#include "recorded.h"

#include "serving/defaults.h"

static cJSON *defaulted(struct prg_arena *arena, const cJSON *service, const cJSON *configmap)
{
    struct prg_serving_config config;
    struct prg_error err = {0};
    cJSON *ret = NULL, *untouched = prg_json_copy(arena, service);
    prg_serving_config_parse(arena, configmap, &config);
    assert_ok(prg_serving_default(arena, service, &config, &ret, &err), &err);
    assert_json_equal(service, untouched);
    return ret;
}

// What defaulting does not touch: identity and status are given to the service later.
static cJSON *comparable(struct prg_arena *arena, const cJSON *service)
{
    cJSON *copy = prg_json_copy(arena, service);
    prg_json_remove(copy, "status");
    prg_json_remove(prg_json_get(copy, "metadata"), "uid");
    prg_json_remove(prg_json_get(copy, "metadata"), "generation");
    clean_case(copy);
    return copy;
}

static void check_recorded(struct prg_arena *arena, const struct recorded_case *recorded, void *ctx)
{
    size_t *count = ctx;
    const cJSON *input = recorded->input;
    if (!prg_json_get_true(input, "isvcIsDefaulted") || prg_json_get_true(input, "isvcIsResultOfEarlierReconcile"))
        return;
    cJSON *got = defaulted(arena, prg_json_get(input, "isvcRaw"), recorded->configmap);
    cJSON *a = comparable(arena, got), *b = comparable(arena, prg_json_get(input, "isvc"));
    if (!prg_json_equal(a, b))
        print_error("%s:\n", recorded->name);
    assert_json_equal(a, b);
    assert_json_equal(defaulted(arena, got, recorded->configmap), got); // twice is as good as once
    (*count)++;
}

static void services_are_defaulted_as_recorded(void **state)
{
    size_t count = 0;
    (void)state;
    each_recorded(check_recorded, &count);
    assert_int_equal(count, 348);
}

// data: sections as in a ConfigMap; NULL: no ConfigMap. service: metadata and spec.
static cJSON *default_of(struct prg_arena *arena, const char *data, const char *service)
{
    cJSON *configmap = NULL, *object = json_of(arena, service);
    if (data) {
        cJSON *sections = json_of(arena, data), *section;
        configmap = prg_json_object(arena);
        cJSON *texts = prg_json_ensure_object(arena, configmap, "data");
        prg_json_each (section, sections)
            prg_json_set_string(arena, texts, section->string, prg_json_print_arena(arena, section, 0));
    }
    prg_json_set_string(arena, object, "apiVersion", "serving.kserve.io/v1beta1");
    prg_json_set_string(arena, object, "kind", "InferenceService");
    return defaulted(arena, object, configmap);
}

static const char *mode_of(const cJSON *service)
{
    return prg_meta_annotation(service, "serving.kserve.io/deploymentMode");
}

static void the_mode_annotation_gets_its_present_name(void **state)
{
    static const struct {
        const char *config, *given, *mode;
    } cases[] = {
        {"{}", NULL, NULL},
        {NULL, NULL, NULL},
        {"{'deploy': {'defaultDeploymentMode': 'Standard'}}", NULL, "Standard"},
        {"{'deploy': {'defaultDeploymentMode': 'RawDeployment'}}", NULL, "Standard"},
        {"{'deploy': {'defaultDeploymentMode': 'Serverless'}}", NULL, NULL},
        {"{'deploy': {'defaultDeploymentMode': 'ModelMesh'}}", NULL, "ModelMesh"},
        {"{'deploy': {'defaultDeploymentMode': 'Standard'}}", "Serverless", "Knative"},
        {"{'deploy': {'defaultDeploymentMode': 'Standard'}}", "Knative", "Knative"},
        {NULL, "RawDeployment", "Standard"},
        {NULL, "other", "other"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        const char *annotations =
            cases[i].given ? prg_arena_printf(&arena, "{'serving.kserve.io/deploymentMode': '%s'}", cases[i].given)
                           : "{}";
        const cJSON *service = default_of(
            &arena, cases[i].config,
            prg_arena_printf(&arena, "{'metadata': {'name': 'm', 'annotations': %s}, 'spec': {}}", annotations));
        if (!prg_text_equal(mode_of(service), cases[i].mode))
            fail_msg("case %zu: %s", i, mode_of(service) ? mode_of(service) : "(none)");
    }
}

static void the_first_shorthand_becomes_the_model(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *service =
        default_of(&arena, NULL,
                   "{'metadata': {'name': 'm'}, 'spec': {'predictor': {'onnx': {'storageUri': 's3://o'}, 'sklearn': "
                   "{'storageUri': 's3://s', 'runtime': 'not for us'}}}}");
    assert_cleaned_equal(&arena, prg_json_at(service, "spec", "predictor", "model"),
                         json_of(&arena, "{'modelFormat': {'name': 'sklearn'}, 'storageUri': 's3://s'}"), 0);
    assert_non_null(prg_json_at(service, "spec", "predictor", "onnx"));
    assert_null(prg_json_at(service, "spec", "predictor", "sklearn"));
    assert_string_equal(prg_meta_annotation(service, "modelFormat"), "sklearn");
}

static void some_formats_speak_v2(void **state)
{
    static const struct {
        const char *predictor, *protocol;
    } cases[] = {
        {"{'onnx': {}}", "v2"},
        {"{'triton': {}}", "v2"},
        {"{'huggingface': {}}", "v2"},
        {"{'huggingface': {'protocolVersion': 'v1'}}", "v1"},
        {"{'sklearn': {}}", NULL},
        {"{'model': {'modelFormat': {'name': 'triton'}}}", "v2"},
        {"{'model': {'modelFormat': {'name': 'vLLM'}}}", "v2"},
        {"{'model': {'modelFormat': {'name': 'onnx'}}}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        const cJSON *service = default_of(
            &arena, NULL,
            prg_arena_printf(&arena, "{'metadata': {'name': 'm'}, 'spec': {'predictor': %s}}", cases[i].predictor));
        const char *protocol = prg_json_text(prg_json_at(service, "spec", "predictor", "model", "protocolVersion"));
        if (!prg_text_equal(protocol, cases[i].protocol))
            fail_msg("case %zu: %s", i, protocol ? protocol : "(none)");
    }
}

#define RESOURCES "'resource': {'cpuRequest': '1', 'memoryRequest': '2048Mi', 'cpuLimit': '1000m', 'memoryLimit': ''}"

static void a_custom_container_gets_name_and_resources(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *service =
        default_of(&arena, "{'inferenceService': {" RESOURCES "}}",
                   "{'metadata': {'name': 'm'}, 'spec': {'predictor': {'containers': [{'name': 'c', 'image': 'i', "
                   "'resources': {'limits': {'cpu': '5'}}}]}}}");
    assert_json_text(&arena, prg_json_item(prg_json_at(service, "spec", "predictor", "containers"), 0),
                     "{'name': 'kserve-container', 'image': 'i', 'resources': {'limits': {'cpu': '5'}, 'requests': "
                     "{'cpu': '1', 'memory': '2Gi'}}}");
}

static void of_several_containers_only_the_first_is_completed(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *service = default_of(
        &arena, "{'inferenceService': {'resource': {'cpuRequest': '1'}}}",
        "{'metadata': {'name': 'm'}, 'spec': {'predictor': {'model': {'modelFormat': {'name': 'x'}}, 'containers': "
        "[{'name': 'a'}]}, 'transformer': {'containers': [{'name': 'a'}, {'name': 'b'}]}}}");
    // a model beside containers: the containers are not a custom predictor
    assert_null(prg_json_at(prg_json_item(prg_json_at(service, "spec", "predictor", "containers"), 0), "resources",
                            "requests"));
    const cJSON *containers = prg_json_at(service, "spec", "transformer", "containers");
    assert_json_text(&arena, prg_json_at(prg_json_item(containers, 0), "resources"), "{'requests': {'cpu': '1'}}");
    assert_string_equal(prg_json_get_text(prg_json_item(containers, 0), "name"), "a");
    assert_null(prg_json_at(prg_json_item(containers, 1), "resources", "requests"));
}

static void pods_get_no_token_unless_configured(void **state)
{
    static const struct {
        const char *config, *predictor, *token; // "true", "false" or NULL
    } cases[] = {
        {NULL, "{}", NULL},
        {"{}", "{}", "false"},
        {"{'security': {'autoMountServiceAccountToken': true}}", "{}", NULL},
        {"{'security': {'autoMountServiceAccountToken': false}}", "{}", "false"},
        {"{}", "{'automountServiceAccountToken': true}", "true"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        const cJSON *service = default_of(
            &arena, cases[i].config,
            prg_arena_printf(&arena, "{'metadata': {'name': 'm'}, 'spec': {'predictor': %s}}", cases[i].predictor));
        const cJSON *token = prg_json_at(service, "spec", "predictor", "automountServiceAccountToken");
        const char *got = token ? prg_json_print_arena(&arena, token, 0) : NULL;
        if (!prg_text_equal(got, cases[i].token))
            fail_msg("case %zu: %s", i, got ? got : "(none)");
    }
}

static void modelmesh_predictors_are_left_as_they_are(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *service =
        default_of(&arena, NULL,
                   "{'metadata': {'name': 'm', 'annotations': {'serving.kserve.io/deploymentMode': 'ModelMesh'}}, "
                   "'spec': {'predictor': {'sklearn': {}}}}");
    assert_non_null(prg_json_at(service, "spec", "predictor", "sklearn"));
    assert_null(prg_json_at(service, "spec", "predictor", "model"));
}

static void what_is_added_is_tagged_as_a_rule_or_configuration(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *service =
        default_of(&arena, "{'deploy': {'defaultDeploymentMode': 'Standard'}}",
                   "{'metadata': {'name': 'm'}, 'spec': {'predictor': {'onnx': {'storageUri': 's3://o'}}}}");
    const cJSON *model = prg_json_at(service, "spec", "predictor", "model");
    assert_int_equal(prg_json_origin(prg_json_get(model, "protocolVersion")), PRG_ORIGIN_RULE);
    assert_int_equal(prg_json_origin(prg_json_at(service, "spec", "predictor", "automountServiceAccountToken")),
                     PRG_ORIGIN_CONFIG);
    assert_int_equal(prg_json_origin(prg_json_get(model, "storageUri")), PRG_ORIGIN_NONE);
}

static void bad_configuration_is_named(void **state)
{
    static const struct {
        const char *key, *value, *predictor, *error;
    } cases[] = {
        {"deploy", "{", "{}", "default deployment mode: ConfigMap inferenceservice-config: key 'deploy'"},
        {"security", "[]", "{}", "automountServiceAccountToken: ConfigMap inferenceservice-config: key 'security'"},
        {"inferenceService", "1", "{'containers': [{'image': 'i'}]}", "key 'inferenceService'"},
        {"inferenceService", "{'resource': {'cpuLimit': 'lots'}}", "{'containers': [{'image': 'i'}]}",
         "key 'inferenceService': /resource/cpuLimit"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        struct prg_serving_config config;
        struct prg_error err = {0};
        prg_arena_init(&arena);
        cJSON *ret = NULL, *configmap = json_of(&arena, "{'data': {}}");
        const char *value = cases[i].value;
        if (strchr(value, '\''))
            value = prg_json_print_arena(&arena, json_of(&arena, value), 0);
        prg_json_set_string(&arena, prg_json_get(configmap, "data"), cases[i].key, value);
        prg_serving_config_parse(&arena, configmap, &config);
        const cJSON *service =
            json_of(&arena, prg_arena_printf(&arena, "{'metadata': {'name': 'm'}, 'spec': {'predictor': %s}}",
                                             cases[i].predictor));
        assert_int_equal(prg_serving_default(&arena, service, &config, &ret, &err), PRG_INVALID);
        assert_error_has(&err, cases[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_are_defaulted_as_recorded),
        cmocka_unit_test(the_mode_annotation_gets_its_present_name),
        cmocka_unit_test(the_first_shorthand_becomes_the_model),
        cmocka_unit_test(some_formats_speak_v2),
        cmocka_unit_test(a_custom_container_gets_name_and_resources),
        cmocka_unit_test(of_several_containers_only_the_first_is_completed),
        cmocka_unit_test(pods_get_no_token_unless_configured),
        cmocka_unit_test(modelmesh_predictors_are_left_as_they_are),
        cmocka_unit_test(what_is_added_is_tagged_as_a_rule_or_configuration),
        cmocka_unit_test(bad_configuration_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
