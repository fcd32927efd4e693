// SPDX-License-Identifier: Apache-2.0
// test_config.c: reading KServe's ConfigMap.
#include "support/support.h"

#include "serving/config.h"

static void config_of(struct prg_arena *arena, const char *data, struct prg_serving_config *ret)
{
    cJSON *configmap = prg_json_object(arena);
    prg_json_set(arena, configmap, "data", json_of(arena, data));
    prg_serving_config_parse(arena, configmap, ret);
}

static void an_absent_configmap_has_no_sections(void **state)
{
    prg_auto_arena arena;
    struct prg_serving_config config;
    const cJSON *section = NULL;
    struct prg_error err = {0};
    (void)state;
    prg_arena_init(&arena);
    prg_serving_config_parse(&arena, NULL, &config);
    assert_false(config.present);
    assert_ok(prg_serving_config_section(&config, "deploy", &section, &err), &err);
    assert_null(section);
    assert_int_equal(prg_json_count(config.annotation_disallowed), 0);
}

static void sections_are_parsed_and_examples_are_not(void **state)
{
    prg_auto_arena arena;
    struct prg_serving_config config;
    const cJSON *section = NULL;
    struct prg_error err = {0};
    (void)state;
    prg_arena_init(&arena);
    config_of(&arena, "{\"_example\": \"### {\", \"deploy\": \"{\\\"defaultDeploymentMode\\\": \\\"Standard\\\"}\"}",
              &config);
    assert_true(config.present);
    assert_ok(prg_serving_config_section(&config, "deploy", &section, &err), &err);
    assert_json_text(&arena, section, "{'defaultDeploymentMode': 'Standard'}");
    assert_json_text(&arena, config.errors, "{}");
    assert_json_text(&arena, prg_serving_config_to_json(&arena, &config),
                     "{'deploy': {'defaultDeploymentMode': 'Standard'}}");
}

static void a_bad_section_is_an_error_only_for_who_asks(void **state)
{
    static const struct {
        const char *data, *error;
    } cases[] = {
        {"{\"deploy\": \"{\", \"security\": \"{}\"}", "not JSON"},
        {"{\"deploy\": \"[1]\", \"security\": \"{}\"}", "expected a JSON object, got array"},
        {"{\"deploy\": {\"a\": 1}, \"security\": \"{}\"}", "expected a text that holds JSON, got object"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        struct prg_serving_config config;
        const cJSON *section = NULL;
        struct prg_error err = {0};
        prg_arena_init(&arena);
        config_of(&arena, cases[i].data, &config);
        assert_ok(prg_serving_config_section(&config, "security", &section, &err), &err);
        assert_json_text(&arena, section, "{}");
        assert_int_equal(prg_serving_config_section(&config, "deploy", &section, &err), PRG_INVALID);
        assert_error_has(&err, "inferenceservice-config: key 'deploy'");
        assert_error_has(&err, cases[i].error);
    }
}

static void null_is_an_empty_section(void **state)
{
    prg_auto_arena arena;
    struct prg_serving_config config;
    const cJSON *section = NULL;
    struct prg_error err = {0};
    (void)state;
    prg_arena_init(&arena);
    config_of(&arena, "{'deploy': 'null'}", &config);
    assert_ok(prg_serving_config_section(&config, "deploy", &section, &err), &err);
    assert_json_text(&arena, section, "{}");
}

static void the_built_in_lists_count_with_the_section_only(void **state)
{
    prg_auto_arena arena;
    struct prg_serving_config config;
    (void)state;
    prg_arena_init(&arena);
    config_of(&arena, "{}", &config);
    assert_int_equal(prg_json_count(config.annotation_disallowed), 0);
    assert_int_equal(prg_json_count(config.label_disallowed), 0);
    config_of(&arena, "{'inferenceService': '{}'}", &config);
    assert_int_equal(prg_json_count(config.annotation_disallowed), 5);
    assert_json_text(&arena, config.label_disallowed, "['networking.knative.dev/visibility']");
}

static void configured_lists_add_to_the_built_in_ones(void **state)
{
    prg_auto_arena arena;
    struct prg_serving_config config;
    (void)state;
    prg_arena_init(&arena);
    config_of(&arena,
              "{\"inferenceService\": \"{\\\"serviceAnnotationDisallowedList\\\": [\\\"a\\\"], "
              "\\\"serviceLabelDisallowedList\\\": [\\\"b\\\", \\\"c\\\"]}\"}",
              &config);
    assert_int_equal(prg_json_count(config.annotation_disallowed), 6);
    assert_json_text(&arena, config.label_disallowed, "['networking.knative.dev/visibility', 'b', 'c']");
    const cJSON *effective = prg_json_get(prg_serving_config_to_json(&arena, &config), "inferenceService");
    assert_json_equal(prg_json_get(effective, "serviceAnnotationDisallowedList"), config.annotation_disallowed);
    assert_json_equal(prg_json_get(effective, "serviceLabelDisallowedList"), config.label_disallowed);
}

static void a_list_of_the_wrong_type_spoils_its_section(void **state)
{
    static const char *const sections[] = {"{\\\"serviceAnnotationDisallowedList\\\": \\\"a\\\"}",
                                           "{\\\"serviceLabelDisallowedList\\\": [1]}"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(sections); i++) {
        prg_auto_arena arena;
        struct prg_serving_config config;
        const cJSON *section = NULL;
        struct prg_error err = {0};
        prg_arena_init(&arena);
        config_of(&arena, prg_arena_printf(&arena, "{\"inferenceService\": \"%s\"}", sections[i]), &config);
        assert_int_equal(prg_serving_config_section(&config, "inferenceService", &section, &err), PRG_INVALID);
        assert_error_has(&err, "DisallowedList: expected a list of texts");
        assert_int_equal(prg_json_count(config.annotation_disallowed), 0);
    }
}

static void a_view_of_the_configuration_shows_what_its_json_says(void **state)
{
    static const char *const data[] = {"{}", "{\"deploy\": \"{}\"}",
                                       "{\"deploy\": \"{\\\"a\\\":[1]}\", \"inferenceService\": "
                                       "\"{\\\"serviceLabelDisallowedList\\\":[\\\"x\\\"],\\\"resource\\\":{}}\"}"};
    prg_auto_arena arena = {0};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(data); i++) {
        struct prg_serving_config config;
        config_of(&arena, data[i], &config);
        const char *before = prg_json_print_arena(&arena, config.sections, 0);
        cJSON *json = prg_serving_config_to_json(&arena, &config);
        assert_json_equal(prg_serving_config_view(&arena, &config), json);
        prg_json_set_int(&arena, prg_json_ensure_object(&arena, json, "inferenceService"), "mine", 1);
        assert_string_equal(prg_json_print_arena(&arena, config.sections, 0), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_absent_configmap_has_no_sections),
        cmocka_unit_test(sections_are_parsed_and_examples_are_not),
        cmocka_unit_test(a_bad_section_is_an_error_only_for_who_asks),
        cmocka_unit_test(null_is_an_empty_section),
        cmocka_unit_test(the_built_in_lists_count_with_the_section_only),
        cmocka_unit_test(configured_lists_add_to_the_built_in_ones),
        cmocka_unit_test(a_view_of_the_configuration_shows_what_its_json_says),
        cmocka_unit_test(a_list_of_the_wrong_type_spoils_its_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
