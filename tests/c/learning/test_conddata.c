// SPDX-License-Identifier: Apache-2.0
#include "support/support.h"

#include "learning/conddata.h"

static const char *normal(struct prg_arena *arena, const char *text)
{
    struct prg_error err = {0};
    cJSON *data = NULL;
    assert_ok(prg_conddata_normalise(arena, json_of(arena, text), &data, &err), &err);
    return prg_json_print_arena(arena, data, PRG_JSON_ESCAPE_HTML);
}

static void known_fields_stay_in_a_fixed_order(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    assert_string_equal(
        normal(
            &arena,
            "{'output': {'models': [{'url': '/m', 'x': 1, 'format': 'pb', 'metrics': {'b': [0.9], 'a': 1}}], 'y': 2}}"),
        "{\"output\":{\"models\":[{\"format\":\"pb\",\"url\":\"/"
        "m\",\"metrics\":{\"a\":1,\"b\":[0.9]},\"classes\":null}]}}");
    assert_string_equal(
        normal(&arena, "{'input': {'outputDir': '/o', 'dataURL': '/d?a&b', 'Model': {'URL': '/x'}}}"),
        "{\"input\":{\"model\":{\"format\":\"\",\"url\":\"/x\",\"classes\":null},\"dataURL\":\"/d?a\\u0026b\","
        "\"outputDir\":\"/o\"}}");
}

static void nothing_gives_an_empty_object(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    assert_string_equal(normal(&arena, "{'input': null, 'phase': 'Train'}"), "{}");
    assert_string_equal(normal(&arena, "{'input': {}, 'output': {}}"), "{\"input\":{},\"output\":{}}");
}

static void zeros_are_left_out_and_numbers_pass_through_floats(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    assert_string_equal(
        normal(&arena,
               "{'input': {'model': {'number_of_model': 0, 'number_of_unseen_sample': 4, 'history_metric': 0.1, "
               "'current_metric': {'d': {'acc': 0.2222}}, 'metrics': {}, 'classes': ['a', null]}}}"),
        "{\"input\":{\"model\":{\"format\":\"\",\"url\":\"\",\"history_metric\":0.1,\"current_metric\":{\"d\":{\"acc\":"
        "0.2222}},"
        "\"classes\":[\"a\",\"\"],\"number_of_unseen_sample\":4}}}");
}

static void wrong_types_are_refused_by_pointer(void **state)
{
    static const char *const cases[][2] = {
        {"{'input': 'x'}", "/input: must be an object, not string"},
        {"{'input': {'models': {}}}", "/input/models: must be a list"},
        {"{'output': {'models': [{}, 5]}}", "/output/models/1: must be a model"},
        {"{'input': {'model': {'url': 5}}}", "/input/model/url: must be a text"},
        {"{'input': {'dataURL': []}}", "/input/dataURL: must be a text"},
        {"{'input': {'model': {'number_of_model': 1.0}}}", "/input/model/number_of_model: must be a whole number"},
        {"{'input': {'model': {'metrics': {'a': 1e999}}}}", "beyond the range"},
        {"{'input': {'model': {'history_metric': 'x'}}}", "/input/model/history_metric: must be a number"},
        {"{'input': {'model': {'classes': 'x'}}}", "/input/model/classes: must be a list of texts"},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_error err = {0};
        cJSON *data = NULL;
        assert_int_equal(prg_conddata_normalise(&arena, json_of(&arena, cases[i][0]), &data, &err), PRG_INVALID);
        assert_error_has(&err, cases[i][1]);
    }
}

static void model_urls_prefer_the_single_model(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(
        &arena, prg_conddata_model_urls(&arena, json_of(&arena, "{'model': {'url': 'a'}, 'models': [{'url': 'b'}]}")),
        "['a']");
    assert_json_text(&arena, prg_conddata_model_urls(&arena, json_of(&arena, "{'models': [{'url': 'b'}, {}]}")),
                     "['b', '']");
    assert_json_text(&arena, prg_conddata_model_urls(&arena, NULL), "[]");
}

static void the_newest_condition_that_has_the_part_counts(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *job = json_of(
        &arena, "{'status': {'conditions': ["
                "{'stage': 'Train', 'type': 'Completed', 'data': '{\\'output\\': 1}'}, "
                "{'stage': 'Train', 'type': 'Completed', 'data': '{\\'Output\\': 2, \\'input\\': null}'}, "
                "{'stage': 'Train', 'type': 'Completed', 'data': '{\\'input\\': 3}'}, "
                "{'stage': 'Train', 'type': 'Completed', 'data': 'no JSON'}, {'stage': 'Train', 'type': 'Completed'}, "
                "null, {'stage': 'Eval', 'type': 'Completed', 'data': '{\\'output\\': 4}'}]}}");
    assert_json_text(&arena, prg_conddata_latest(&arena, job, "Train", "Completed", "output"), "2");
    assert_json_text(&arena, prg_conddata_latest(&arena, job, "Train", "Completed", "input"), "3");
    assert_json_text(&arena, prg_conddata_latest(&arena, job, "Eval", "Completed", "output"), "4");
    assert_null(prg_conddata_latest(&arena, job, "Eval", "Completed", "input"));
    assert_null(prg_conddata_latest(&arena, job, "Deploy", "Completed", "output"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_fields_stay_in_a_fixed_order),
        cmocka_unit_test(nothing_gives_an_empty_object),
        cmocka_unit_test(zeros_are_left_out_and_numbers_pass_through_floats),
        cmocka_unit_test(wrong_types_are_refused_by_pointer),
        cmocka_unit_test(model_urls_prefer_the_single_model),
        cmocka_unit_test(the_newest_condition_that_has_the_part_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
