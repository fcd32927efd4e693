// SPDX-License-Identifier: Apache-2.0
// test_predictor.c: reading spec.predictor.
#include "support/support.h"

#include <string.h>

#include "serving/predictor.h"

static void implementations_have_the_original_order(void **state)
{
    prg_auto_arena arena;
    struct prg_implementation list[16];
    (void)state;
    prg_arena_init(&arena);
    const cJSON *predictor = json_of(&arena, "{'model': {}, 'sklearn': {}, 'xgboost': {}, 'onnx': null, 'containers': "
                                             "[{'name': 'x'}, {'name': 'kserve-container'}]}");
    assert_int_equal(prg_predictor_implementations(predictor, list, PRG_COUNT(list)), 4);
    assert_string_equal(list[0].field, "xgboost");
    assert_string_equal(list[1].field, "sklearn");
    assert_string_equal(list[2].field, "model");
    assert_string_equal(list[3].field, "containers");
    assert_true(list[3].is_custom);
    assert_int_equal(prg_predictor_implementations(predictor, list, 1), 4); // more than fit are counted
}

static void containers_alone_are_a_custom_predictor_whatever_their_names(void **state)
{
    prg_auto_arena arena;
    struct prg_implementation one;
    (void)state;
    prg_arena_init(&arena);
    assert_true(prg_predictor_implementation(json_of(&arena, "{'containers': [{'image': 'i'}]}"), &one));
    assert_true(one.is_custom);
    assert_true(prg_predictor_implementation(json_of(&arena, "{'model': {}, 'containers': [{'name': 'side'}]}"), &one));
    assert_string_equal(one.field, "model");
    assert_false(prg_predictor_implementation(json_of(&arena, "{'containers': []}"), &one));
    assert_false(prg_predictor_implementation(json_of(&arena, "{'minReplicas': 1}"), &one));
    assert_false(prg_predictor_implementation(NULL, &one));
}

static void storage_is_that_of_the_implementation(void **state)
{
    static const struct {
        const char *predictor, *uri;
    } cases[] = {
        {"{'model': {'storageUri': 's3://b'}}", "s3://b"},
        {"{'model': {'storageUri': 's3://b'}, 'sklearn': {'storageUri': 's3://c'}}", "s3://c"},
        {"{'model': {}}", NULL},
        {"{'containers': [{'name': 'kserve-container', 'env': [{'name': 'STORAGE_URI', 'value': 'gs://x'}]}]}",
         "gs://x"},
        {"{'containers': [{'name': 'kserve-container', 'env': [{'name': 'STORAGE_URI', 'valueFrom': {}}]}]}", ""},
        {"{'containers': [{'name': 'other', 'env': [{'name': 'STORAGE_URI', 'value': 'gs://x'}]}]}", NULL},
        {"{}", NULL},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        const char *uri = prg_predictor_storage_uri(json_of(&arena, cases[i].predictor));
        if (!prg_text_equal(uri, cases[i].uri))
            fail_msg("case %zu: '%s'", i, uri ? uri : "(none)");
    }
    const cJSON *predictor = json_of(
        &arena, "{'model': {'storage': {'key': 'k'}, 'confidential': {'enabled': true}, 'storageUri': 's3://b'}}");
    assert_json_text(&arena, prg_predictor_storage(predictor), "{'key': 'k'}");
    assert_json_text(&arena, prg_predictor_confidential(predictor), "{'enabled': true}");
    assert_null(prg_predictor_storage(json_of(&arena, "{'containers': [{'name': 'kserve-container'}]}")));
    assert_null(prg_predictor_storage(json_of(&arena, "{'model': {'storage': 'x'}}")));
}

static void a_service_without_storage_serves_many_models(void **state)
{
    static const struct {
        const char *predictor;
        bool is_multi_model;
    } cases[] = {
        {"{'model': {'modelFormat': {'name': 'sklearn'}}}", true},
        {"{'model': {'storageUri': 's3://b'}}", false},
        {"{'model': {'storage': {}}}", false},
        {"{'model': {}, 'storageUris': [{'uri': 's3://b'}]}", false},
        {"{'model': {}, 'storageUris': []}", true},
        {"{'model': {'modelFormat': {'name': 'huggingface'}}}", false},
        {"{'huggingface': {}}", false},
        {"{'containers': [{'name': 'kserve-container'}]}", false},
        {"{'containers': [{'env': [{'name': 'MULTI_MODEL_SERVER', 'value': 'true'}]}]}", true},
        {"{'containers': [{'env': [{'name': 'MULTI_MODEL_SERVER', 'value': 'yes'}]}]}", false},
        {"{'containers': [{}, {'env': [{'name': 'MULTI_MODEL_SERVER', 'value': 'true'}]}]}", false},
        {"{'model': {}, 'containers': [{'name': 'side'}]}", false}, // any container decides alone
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        if (prg_predictor_is_multi_model(json_of(&arena, cases[i].predictor)) != cases[i].is_multi_model)
            fail_msg("case %zu: %s", i, cases[i].predictor);
}

static void shorthands_are_frameworks(void **state)
{
    size_t count = 0;
    (void)state;
    assert_string_equal(prg_predictor_shorthand(0), "sklearn");
    while (prg_predictor_shorthand(count))
        assert_string_not_equal(prg_predictor_shorthand(count++), "model");
    assert_int_equal(count, 10);
}

static void an_entry_without_a_name_is_called_nothing(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *list = json_of(&arena, "[{'name': 'a', 'v': 1}, {'v': 2}, {'name': 'a', 'v': 3}]");
    assert_json_text(&arena, prg_named_item(list, "a"), "{'name': 'a', 'v': 1}");
    assert_json_text(&arena, prg_named_item(list, ""), "{'v': 2}");
    assert_null(prg_named_item(list, "b"));
    assert_null(prg_named_item(NULL, "a"));
    assert_null(prg_named_item(json_of(&arena, "{'name': 'a'}"), "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(implementations_have_the_original_order),
        cmocka_unit_test(containers_alone_are_a_custom_predictor_whatever_their_names),
        cmocka_unit_test(storage_is_that_of_the_implementation),
        cmocka_unit_test(a_service_without_storage_serves_many_models),
        cmocka_unit_test(shorthands_are_frameworks),
        cmocka_unit_test(an_entry_without_a_name_is_called_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
