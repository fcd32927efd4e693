// SPDX-License-Identifier: Apache-2.0
// test_print.c: what trees look like as text.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_prints(const cJSON *node, unsigned flags, const char *want)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_json_print(&out, node, flags);
    assert_string_equal(out.text, want);
}

static void pretty_text_has_a_line_per_member(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *tree = json_of(&arena, "{'b':[1,[],{'x':{}}],'a':null,'A':'t'}");
    assert_prints(tree, 0, "{\"b\":[1,[],{\"x\":{}}],\"a\":null,\"A\":\"t\"}");
    assert_prints(tree, PRG_JSON_SORTED, "{\"A\":\"t\",\"a\":null,\"b\":[1,[],{\"x\":{}}]}");
    assert_prints(
        tree, PRG_JSON_PRETTY | PRG_JSON_SORTED,
        "{\n  \"A\": \"t\",\n  \"a\": null,\n  \"b\": [\n    1,\n    [],\n    {\n      \"x\": {}\n    }\n  ]\n}");
    assert_prints(json_of(&arena, "{}"), PRG_JSON_PRETTY, "{}");
    assert_prints(json_of(&arena, "[[]]"), PRG_JSON_PRETTY, "[\n  []\n]");
    assert_prints(json_of(&arena, "'x'"), PRG_JSON_PRETTY, "\"x\"");
    assert_prints(NULL, 0, "null");
}

static void sorting_is_by_bytes_and_deep(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    assert_prints(
        json_of(&arena, "{\"\xc3\xa9\":1,\"z\":{\"b\":1,\"a\":{\"d\":1,\"c\":2}},\"Z\":2,\"\":3,\"aa\":4,\"a\":5}"),
        PRG_JSON_SORTED, "{\"\":3,\"Z\":2,\"a\":5,\"aa\":4,\"z\":{\"a\":{\"c\":2,\"d\":1},\"b\":1},\"\xc3\xa9\":1}");
}

static void strings_are_escaped_as_go_does(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    static const char text[] = "\0\x01\b\t\n\v\f\r\x1f \"\\/<>&\x7f\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xb0";
    cJSON *node = prg_json_stringn(&arena, text, sizeof(text) - 1);
    assert_prints(node, 0,
                  "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/<>&\x7f\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9"
                  "\xe2\x80\xb0\"");
    assert_prints(node, PRG_JSON_ESCAPE_HTML,
                  "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\\u003c\\u003e\\u0026\x7f\xe2\x80\xa7\\u2028"
                  "\\u2029\xe2\x80\xb0\"");
    cJSON *object = prg_json_object(&arena);
    prg_json_set_int(&arena, object, "<\">", 1);
    assert_prints(object, PRG_JSON_ESCAPE_HTML, "{\"\\u003c\\\"\\u003e\":1}");
}

static void bytes_that_are_not_utf8_still_give_valid_json(void **state)
{
    static const char *const rows[][2] = {
        {"\x80", "\"\\ufffd\""},
        {"a\xff", "\"a\\ufffd\""},
        {"\xc3", "\"\\ufffd\""},
        {"\xc3(", "\"\\ufffd(\""},
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},
        {"\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\""},
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
        {"\xf0\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xf8\x88\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
        {"\xe0\xa0\x80\xdf\xbf", "\"\xe0\xa0\x80\xdf\xbf\""},
    };
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(rows); i++)
        assert_prints(prg_json_string(&arena, rows[i][0]), 0, rows[i][1]);
}

static void what_is_printed_reads_back(void **state)
{
    static const unsigned flags[] = {0, PRG_JSON_PRETTY, PRG_JSON_SORTED, PRG_JSON_ESCAPE_HTML,
                                     PRG_JSON_PRETTY | PRG_JSON_SORTED | PRG_JSON_ESCAPE_HTML};
    static const char *const files[] = {"cases/tables/merge_patch_create.json", "cases/tables/strategic_merge_pod.json",
                                        "cases/tables/quantity_parse.json", "cases/tables/yaml_to_json.json",
                                        "cases/tables/label_selector_match.json"};
    (void)state;
    for (size_t f = 0; f < PRG_COUNT(files); f++)
        for (size_t i = 0; i < PRG_COUNT(flags); i++) {
            prg_auto_arena arena;
            prg_arena_init(&arena);
            cJSON *tree = read_test_json(&arena, files[f]);
            char *text = prg_json_print_arena(&arena, tree, flags[i]);
            cJSON *again = json_of(&arena, text);
            assert_json_equal(again, tree);
            assert_string_equal(prg_json_print_arena(&arena, again, flags[i]), text);
            assert_true(prg_json_digest(again) == prg_json_digest(tree));
        }
}

static void a_tree_of_any_depth_prints(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const size_t depth = 300000;
    cJSON *root = prg_json_array(&arena), *deepest = root;
    for (size_t i = 1; i < depth; i++) {
        cJSON *inner = prg_json_object(&arena);
        if (prg_json_is_array(deepest))
            prg_json_append(deepest, inner);
        else
            prg_json_add(&arena, deepest, "k", inner);
        deepest = inner;
    }
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_json_print(&out, root, PRG_JSON_SORTED);
    assert_int_equal(out.length, 2 * depth + 4 * (depth - 2));
    assert_true(prg_json_digest(root) != 0);
}

static void members_of_one_name_print_in_their_order(void **state)
{
    (void)state; // a tree made in memory may break the rule of unique keys; printing must not depend on the sort then
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *object = prg_json_object(&arena);
    for (int i = 0; i < 40; i++)
        prg_json_add(&arena, object, i % 2 ? "b" : "a", prg_json_int(&arena, i));
    char *text = prg_json_print_arena(&arena, object, PRG_JSON_SORTED);
    assert_non_null(strstr(text, "\"a\":36,\"a\":38,\"b\":1,\"b\":3,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pretty_text_has_a_line_per_member),
        cmocka_unit_test(sorting_is_by_bytes_and_deep),
        cmocka_unit_test(strings_are_escaped_as_go_does),
        cmocka_unit_test(bytes_that_are_not_utf8_still_give_valid_json),
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(a_tree_of_any_depth_prints),
        cmocka_unit_test(members_of_one_name_print_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
