// SPDX-License-Identifier: Apache-2.0
// test_pointer.c: JSON pointers.
#include "support/support.h"

#include <string.h>

#include "json/pointer.h"

static void every_step_of_a_pointer_is_unescaped(void **state)
{
    static const struct {
        const char *pointer, *value; // value NULL: nothing there
    } rows[] = {
        {"", NULL},
        {"/list/0", "1"},
        {"/list/1/deep", "\"x\""},
        {"/", "\"empty key\""},
        {"/a~1b", "\"slash\""},
        {"/m~0n", "\"tilde\""},
        {"/~01", "\"escaped escape\""},
        {"/ ", "\"space\""},
        {"/c%d", "\"percent\""},
        {"/\xc3\xa9", "\"accent\""},
        {"/0", "\"a digit as key\""},
        {"/-", "\"a dash as key\""},
        {"/list/2", NULL},
        {"/list/00", NULL},
        {"/list/01", NULL},
        {"/list/-", NULL},
        {"/list/-1", NULL},
        {"/list/+1", NULL},
        {"/list/1e0", NULL},
        {"/list/ 1", NULL},
        {"/list/", NULL},
        {"/list/99999999999999999999", NULL},
        {"/list/0/x", NULL},
        {"/absent", NULL},
        {"/lis", NULL},
        {"/list2", NULL},
        {"/m~n", NULL},
        {"/m~2n", NULL},
        {"/m~", NULL},
        {"list", NULL},
        {"a/b", NULL},
        {"/list/1/deep/", NULL},
    };
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *root = json_of(&arena, "{'list':[1,{'deep':'x'}],'':'empty key','a/b':'slash','m~n':'tilde',"
                                  "'~1':'escaped escape',' ':'space','c%d':'percent','\xc3\xa9':'accent',"
                                  "'0':'a digit as key','-':'a dash as key'}");
    for (size_t i = 1; i < PRG_COUNT(rows); i++) {
        cJSON *got = prg_pointer_get(root, rows[i].pointer);
        const char *text = got ? prg_json_print_arena(&arena, got, 0) : NULL;
        if (!prg_text_equal(text, rows[i].value))
            fail_msg("'%s' leads to %s, not %s", rows[i].pointer, text ? text : "nothing",
                     rows[i].value ? rows[i].value : "nothing");
    }
    assert_ptr_equal(prg_pointer_get(root, ""), root);
    assert_null(prg_pointer_get(NULL, ""));
    assert_null(prg_pointer_get(NULL, "/a"));
}

static void pushed_tokens_lead_back(void **state)
{
    static const char *const keys[] = {"", "a", "a/b", "~", "~1", "~0/", "//~~", "0", "\xc3\xa9", "a b"};
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *root = prg_json_object(&arena);
    for (size_t i = 0; i < PRG_COUNT(keys); i++) {
        cJSON *list = prg_json_array(&arena);
        prg_json_append(list, prg_json_null(&arena));
        prg_json_append(list, prg_json_string(&arena, keys[i]));
        prg_json_set(&arena, root, keys[i], list);
    }
    for (size_t i = 0; i < PRG_COUNT(keys); i++) {
        prg_auto_strbuf pointer = PRG_STRBUF_INIT;
        prg_pointer_push(&pointer, keys[i]);
        prg_pointer_push_index(&pointer, 1);
        assert_true(prg_pointer_is_valid(pointer.text));
        assert_string_equal(prg_json_text(prg_pointer_get(root, pointer.text)), keys[i]);
    }
}

static void validity_is_a_matter_of_form(void **state)
{
    static const struct {
        const char *pointer;
        bool is_valid;
    } rows[] = {
        {"", true},   {"/", true},    {"/a/b", true}, {"//", true},   {"/~0~1", true},  {"/-/01", true},
        {"a", false}, {" /a", false}, {"/~", false},  {"/~2", false}, {"/a~/b", false}, {"#/a", false},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++)
        if (prg_pointer_is_valid(rows[i].pointer) != rows[i].is_valid)
            fail_msg("'%s'", rows[i].pointer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_of_a_pointer_is_unescaped),
        cmocka_unit_test(pushed_tokens_lead_back),
        cmocka_unit_test(validity_is_a_matter_of_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
