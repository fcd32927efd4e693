// SPDX-License-Identifier: Apache-2.0
// test_read.c: what the reader accepts and refuses, and what it says about it.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Text with an explicit length, so that it may hold NUL.
#define TEXT(literal) (literal), sizeof(literal) - 1

static void accepts_what_rfc_8259_allows(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        const char *compact; // NULL: the text itself
    } rows[] = {
        {TEXT("null"), NULL},
        {TEXT("true"), NULL},
        {TEXT("false"), NULL},
        {TEXT("0"), NULL},
        {TEXT("-0"), NULL},
        {TEXT("-1"), NULL},
        {TEXT("10"), NULL},
        {TEXT("0.0"), NULL},
        {TEXT("0e0"), NULL},
        {TEXT("0E+00"), NULL},
        {TEXT("1.50e-05"), NULL},
        {TEXT("123456789012345678901234567890.000"), NULL},
        {TEXT("1e400"), NULL},
        {TEXT("-1e-99999999999999999999999"), NULL},
        {TEXT("9007199254740993"), NULL},
        {TEXT("\"\""), NULL},
        {TEXT("\"a/b\""), NULL},
        {TEXT("[]"), NULL},
        {TEXT("{}"), NULL},
        {TEXT("{\"\":0}"), NULL},
        {TEXT("{\"a\":{\"a\":{\"a\":[[],{},[{}]]}}}"), NULL},
        {TEXT(" \t\r\n[ 1 ,\n2 ]\r\n"), "[1,2]"},
        {TEXT("{ \"a\" : 1 , \"b\":2 }"), "{\"a\":1,\"b\":2}"},
        {TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {TEXT("\"\\u0041\\u00e9\\u20AC\\uffff\""), "\"A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf\""},
        {TEXT("\"\\ud83d\\ude00\\uDBFF\\uDFFF\""), "\"\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\""},
        {TEXT("\"\\u0000\""), NULL},
        {TEXT("\"a\\u0000b\\u001f\""), NULL},
        {TEXT("\"\\u007f\""), "\"\x7f\""},
        {TEXT("\"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf\""), NULL},
        {TEXT("\"\xe2\x80\xa8\xe2\x80\xa9\""), NULL},
        {TEXT("\"\\\\u0000\""), NULL},                    // a backslash, then plain text
        {TEXT("{\"\xc3\xa9\":1,\"e\xcc\x81\":2}"), NULL}, // the same letter composed and decomposed: two keys
        {TEXT("{\"a\":1,\"A\":2}"), NULL},
    };
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_error err = {0};
        cJSON *got = NULL;
        int rc = prg_json_parse(&arena, rows[i].text, rows[i].length, NULL, &got, &err);
        if (rc != PRG_OK)
            print_error("row %zu: %s\n", i, rows[i].text);
        assert_ok(rc, &err);
        assert_string_equal(prg_json_print_arena(&arena, got, 0), rows[i].compact ? rows[i].compact : rows[i].text);
    }
}

static void refuses_everything_else_and_says_where(void **state)
{
    static const struct {
        const char *text;
        size_t length;
        const char *error;
    } rows[] = {
        {TEXT(""), "line 1, column 1: the text ends where a value is expected"},
        {TEXT("  \n "), "line 2, column 2: the text ends"},
        {TEXT("\xef\xbb\xbf{}"), "byte order mark"},
        {TEXT("nul"), "line 1, column 1: 'n' where a value is expected"},
        {TEXT("nulll"), "line 1, column 5: 'l' where the end of the text is expected"},
        {TEXT("True"), "'T' where a value is expected"},
        {TEXT("NaN"), "'N'"},
        {TEXT("Infinity"), "'I'"},
        {TEXT("-Infinity"), "a number needs a digit after '-'"},
        {TEXT("01"), "must not begin with a zero"},
        {TEXT("-01"), "must not begin with a zero"},
        {TEXT("00"), "must not begin with a zero"},
        {TEXT("1."), "after its decimal point"},
        {TEXT("1.e5"), "after its decimal point"},
        {TEXT(".5"), "'.' where a value is expected"},
        {TEXT("+1"), "'+' where a value is expected"},
        {TEXT("1e"), "in its exponent"},
        {TEXT("1e+"), "in its exponent"},
        {TEXT("1E-x"), "in its exponent"},
        {TEXT("-"), "a number needs a digit"},
        {TEXT("0x10"), "'x' where the end"},
        {TEXT("1_000"), "'_' where the end"},
        {TEXT("1 2"), "line 1, column 3: '2' where the end"},
        {TEXT("{} x"), "'x' where the end"},
        {TEXT("[1]]"), "']' where the end"},
        {TEXT("null\0"), "byte 0x00 where the end"},
        {TEXT("\0null"), "byte 0x00 where a value"},
        {TEXT("[1,]"), "line 1, column 4: a comma must be followed"},
        {TEXT("[,1]"), "column 2: ',' where a value"},
        {TEXT("[1,,2]"), "column 4: ',' where a value"},
        {TEXT("[1 2]"), "column 4: '2' where ',' or ']' is expected"},
        {TEXT("[1;2]"), "';' where ',' or ']'"},
        {TEXT("[1"), "the text ends where ',' or ']'"},
        {TEXT("["), "the text ends where a value"},
        {TEXT("]"), "']' where a value"},
        {TEXT("[}"), "'}' where a value"},
        {TEXT("[1}"), "'}' where ',' or ']'"},
        {TEXT("{"), "the text ends where a quoted key"},
        {TEXT("{]"), "']' where a quoted key"},
        {TEXT("{\"a\":1,}"), "column 8: a comma must be followed"},
        {TEXT("{\"a\"}"), "'}' where ':' is expected"},
        {TEXT("{\"a\""), "the text ends where ':'"},
        {TEXT("{\"a\":}"), "'}' where a value"},
        {TEXT("{\"a\":1 \"b\":2}"), "'\"' where ',' or '}'"},
        {TEXT("{\"a\" 1}"), "'1' where ':'"},
        {TEXT("{a:1}"), "'a' where a quoted key"},
        {TEXT("{'a':1}"), "''' where a quoted key"},
        {TEXT("{1:2}"), "'1' where a quoted key"},
        {TEXT("{null:2}"), "'n' where a quoted key"},
        {TEXT("// no\n1"), "'/' where a value"},
        {TEXT("[1 /* no */]"), "'/' where ',' or ']'"},
        {TEXT("\xc2\xa0"
              "1"),
         "byte 0xc2 where a value"},
        {TEXT("[\f1]"), "byte 0x0c where a value"},
        {TEXT("\"abc"), "column 1: this string is never closed"},
        {TEXT("\""), "never closed"},
        {TEXT("\"abcdefgh\\"), "ends inside a string"},
        {TEXT("\"a\nb\""), "line 1, column 3: a line break inside a string"},
        {TEXT("\"a\tb\""), "column 3: a control character inside a string"},
        {TEXT("\"a\0b\""), "column 3: a control character"},
        {TEXT("\"\\x41\""), "column 2: unknown escape"},
        {TEXT("\"\\'\""), "unknown escape"},
        {TEXT("\"\\\0\""), "unknown escape"},
        {TEXT("\"\\U0041\""), "unknown escape"},
        {TEXT("\"\\u12\""), "four hexadecimal digits"},
        {TEXT("\"\\u12G4\""), "four hexadecimal digits"},
        {TEXT("\"\\u"), "four hexadecimal digits"},
        {TEXT("\"\\ud800\""), "half of a surrogate pair"},
        {TEXT("\"\\ud800x\""), "half of a surrogate pair"},
        {TEXT("\"\\ud800\\n\""), "half of a surrogate pair"},
        {TEXT("\"\\ud800\\u0041\""), "half of a surrogate pair"},
        {TEXT("\"\\ud800\\ud800\""), "half of a surrogate pair"},
        {TEXT("\"\\udc00\""), "half of a surrogate pair"},
        {TEXT("\"\\ud800\\u"), "half of a surrogate pair"},
        {TEXT("\"\x80\""), "column 2: a string that is not valid UTF-8"},
        {TEXT("\"\xc0\xaf\""), "not valid UTF-8"},     // overlong
        {TEXT("\"\xc1\xbf\""), "not valid UTF-8"},     // overlong
        {TEXT("\"\xe0\x9f\xbf\""), "not valid UTF-8"}, // overlong
        {TEXT("\"\xf0\x8f\xbf\xbf\""), "not valid UTF-8"},
        {TEXT("\"\xed\xa0\x80\""), "not valid UTF-8"}, // a surrogate
        {TEXT("\"\xf4\x90\x80\x80\""), "not valid UTF-8"},
        {TEXT("\"\xf5\x80\x80\x80\""), "not valid UTF-8"},
        {TEXT("\"\xff\""), "not valid UTF-8"},
        {TEXT("\"\xe2\x82\""), "not valid UTF-8"},
        {TEXT("\"\xe2\x82"), "not valid UTF-8"},
        {TEXT("\"\xe2\x28\xa1\""), "not valid UTF-8"},
        {TEXT("\"\xf0\x9f\x98 \""), "not valid UTF-8"},
        {TEXT("{\"a\\u0000b\":1}"), "column 2: the key 'a\\u0000b' holds a NUL character"},
        {TEXT("{\"a\":1,\"b\":2,\n \"a\":3}"),
         "line 2, column 2: the key 'a' is already set at line 1, column 2; remove one of them"},
        {TEXT("{\"\\u0061\":1,\"a\":2}"), "the key 'a' is already set"},
        {TEXT("[{\"x\":{\"k\":1,\"k\":1}}]"), "column 14: the key 'k' is already set at line 1, column 8"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        struct prg_error err = {0};
        cJSON *got = NULL;
        // An exact copy, so that the sanitizer sees reading beyond the end.
        char *text = malloc(rows[i].length ? rows[i].length : 1);
        memcpy(text, rows[i].text, rows[i].length);
        int rc = prg_json_parse(&arena, text, rows[i].length, NULL, &got, &err);
        free(text);
        if (rc != PRG_INVALID)
            fail_msg("row %zu was not refused: %s", i, rows[i].text);
        assert_null(got);
        assert_error_has(&err, rows[i].error);
    }
}

static void every_prefix_of_a_document_is_refused(void **state)
{
    static const char document[] =
        "{\"a\": [1.5e3, \"\\ud83d\\ude00 \xe2\x82\xac\", {\"b\": null}, true], \"c\": {\"d\": []}}";
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    for (size_t length = 0; length < sizeof(document) - 1; length++) {
        cJSON *got = NULL;
        char *text = malloc(length + 1);
        memcpy(text, document, length);
        assert_int_equal(prg_json_parse(&arena, text, length, NULL, &got, NULL), PRG_INVALID);
        free(text);
    }
}

static void nodes_know_line_and_column(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const char *text = "{\n  \"a\": 1,\r\n\t\"\xc3\xa9\xc3\xa9\": [\"\xe2\x82\xac\", {}]\n}";
    struct prg_error err = {0};
    cJSON *root = NULL;
    assert_ok(prg_json_parse(&arena, text, strlen(text), NULL, &root, &err), &err);
    struct {
        const cJSON *node;
        uint32_t line, column;
    } rows[] = {
        {root, 1, 1},
        {root->child, 2, 8},
        {root->child->next, 3, 8}, // columns count characters
        {root->child->next->child, 3, 9},
        {root->child->next->child->next, 3, 14},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_json_position position = prg_json_position(rows[i].node);
        assert_int_equal(position.line, rows[i].line);
        assert_int_equal(position.column, rows[i].column);
    }
    struct prg_json_position none = prg_json_position(NULL), made = prg_json_position(prg_json_object(&arena));
    assert_int_equal(none.line + none.column + made.line + made.column, 0);
}

static void strings_keep_nul_and_their_length(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *node = json_of(&arena, "\"a\\u0000b\"");
    assert_int_equal(prg_json_text_length(node), 3);
    assert_memory_equal(prg_json_text(node), "a\0b", 4);
    cJSON *copy = prg_json_copy(&arena, node);
    assert_int_equal(prg_json_text_length(copy), 3);
    assert_memory_equal(prg_json_text(copy), "a\0b", 4);
    assert_false(prg_json_equal(node, prg_json_string(&arena, "a")));
    assert_true(prg_json_equal(node, prg_json_stringn(&arena, "a\0b", 3)));
    assert_false(prg_json_equal(node, prg_json_stringn(&arena, "a\0c", 3)));
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const size_t bomb = 100000;
    char *text = malloc(2 * bomb);
    struct prg_error err = {0};
    cJSON *got = NULL;
    memset(text, '[', bomb);
    assert_int_equal(prg_json_parse(&arena, text, bomb, NULL, &got, &err), PRG_LIMIT);
    assert_error_has(&err, "line 1, column 129: nested more than 128 levels deep");
    for (size_t i = 0; i < bomb; i++)
        text[i] = "{\"a\":"[i % 5];
    assert_int_equal(prg_json_parse(&arena, text, bomb, NULL, &got, &err), PRG_LIMIT);

    memset(text, '[', PRG_JSON_DEPTH);
    memset(text + PRG_JSON_DEPTH, ']', PRG_JSON_DEPTH);
    assert_ok(prg_json_parse(&arena, text, 2 * PRG_JSON_DEPTH, NULL, &got, &err), &err);
    struct prg_json_limits limits = {.max_depth = PRG_JSON_DEPTH - 1};
    assert_int_equal(prg_json_parse(&arena, text, 2 * PRG_JSON_DEPTH, &limits, &got, &err), PRG_LIMIT);
    limits.max_depth = 100000; // the cap stays
    memset(text, '[', bomb);
    assert_int_equal(prg_json_parse(&arena, text, bomb, &limits, &got, &err), PRG_LIMIT);
    limits.max_depth = 1;
    assert_ok(prg_json_parse(&arena, TEXT("[1]"), &limits, &got, &err), &err);
    assert_int_equal(prg_json_parse(&arena, TEXT("[[]]"), &limits, &got, &err), PRG_LIMIT);
    free(text);
}

static void size_is_bounded(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_json_limits limits = {.max_bytes = 4};
    struct prg_error err = {0};
    cJSON *got = NULL;
    assert_ok(prg_json_parse(&arena, TEXT("1234"), &limits, &got, &err), &err);
    assert_int_equal(prg_json_parse(&arena, TEXT("12345"), &limits, &got, &err), PRG_LIMIT);
    assert_error_has(&err, "5 bytes of JSON are more than the 4 allowed");
    limits.max_bytes = SIZE_MAX;
    assert_ok(prg_json_parse(&arena, TEXT("[]"), &limits, &got, &err), &err);
}

// An object text with `count` members "k0".., the last one named `last` when it is not NULL.
static char *wide_object(size_t count, const char *last, size_t *ret_length)
{
    struct prg_strbuf out = PRG_STRBUF_INIT;
    prg_strbuf_putc(&out, '{');
    for (size_t i = 0; i < count; i++)
        if (last && i + 1 == count)
            prg_strbuf_printf(&out, "%s\"%s\":%zu", i ? "," : "", last, i);
        else
            prg_strbuf_printf(&out, "%s\"k%zu\":%zu", i ? "," : "", i, i);
    prg_strbuf_putc(&out, '}');
    return prg_strbuf_steal(&out, ret_length);
}

static void repeated_keys_are_found_in_objects_of_any_width(void **state)
{
    static const size_t widths[] = {2, 15, 16, 17, 18, 19, 64, 65, 66, 129, 257, 1000, 20000};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(widths); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        struct prg_error err = {0};
        cJSON *got = NULL;
        size_t length;
        char *text = wide_object(widths[i], NULL, &length);
        assert_ok(prg_json_parse(&arena, text, length, NULL, &got, &err), &err);
        assert_int_equal(prg_json_count(got), widths[i]);
        free(text);
        text = wide_object(widths[i], "k0", &length);
        assert_int_equal(prg_json_parse(&arena, text, length, NULL, &got, &err), PRG_INVALID);
        assert_error_has(&err, "the key 'k0' is already set at line 1, column 2");
        free(text);
        if (widths[i] > 2) {
            char last[32];
            snprintf(last, sizeof(last), "k%zu", widths[i] - 2);
            text = wide_object(widths[i], last, &length);
            assert_int_equal(prg_json_parse(&arena, text, length, NULL, &got, &err), PRG_INVALID);
            assert_error_has(&err, last);
            free(text);
        }
    }
}

static void wide_objects_within_each_other_keep_their_keys_apart(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_strbuf out = PRG_STRBUF_INIT;
    for (int level = 0; level < 3; level++) {
        prg_strbuf_putc(&out, '{');
        for (int i = 0; i < 40; i++)
            prg_strbuf_printf(&out, "\"k%d\":0,", i);
        prg_strbuf_puts(&out, "\"inner\":");
    }
    prg_strbuf_puts(&out, "1,\"k40\":0}, \"k40\":0}, \"k40\":0}");
    struct prg_error err = {0};
    cJSON *got = NULL;
    assert_ok(prg_json_parse(&arena, out.text, out.length, NULL, &got, &err), &err);
    assert_int_equal(prg_json_count(got), 42);
    prg_strbuf_truncate(&out, out.length - 12);
    prg_strbuf_puts(&out, "\"k7\":0}");
    assert_int_equal(prg_json_parse(&arena, out.text, out.length, NULL, &got, &err), PRG_INVALID);
    prg_strbuf_release(&out);
}

static void long_keys_are_shortened_in_errors(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_strbuf out = PRG_STRBUF_INIT;
    prg_strbuf_puts(&out, "{\"");
    for (int i = 0; i < 2000; i++)
        prg_strbuf_puts(&out, "\xe2\x82\xac");
    prg_strbuf_puts(&out, "\\u0000\":1}");
    struct prg_error err = {0};
    cJSON *got = NULL;
    assert_int_equal(prg_json_parse(&arena, out.text, out.length, NULL, &got, &err), PRG_INVALID);
    assert_error_has(&err, "\xe2\x82\xac...' holds a NUL character; rename it");
    assert_true(strlen(err.frame[0].text) < 200);
    prg_strbuf_release(&out);
}

static void strings_around_the_fast_paths_step_read_right(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    // A special byte at each offset within the reader's steps of eight.
    static const char *const specials[] = {"\\n", "\\u00e9", "\xc3\xa9", "\\\"", "~", " ", "\x7f"};
    static const char *const plain[] = {"\n", "\xc3\xa9", "\xc3\xa9", "\"", "~", " ", "\x7f"};
    for (size_t s = 0; s < PRG_COUNT(specials); s++)
        for (size_t before = 0; before < 20; before++)
            for (size_t after = 0; after < 20; after++) {
                char text[100], want[100];
                snprintf(text, sizeof(text), "\"%.*s%s%.*s\"", (int)before, "abcdefghijklmnopqrst", specials[s],
                         (int)after, "ABCDEFGHIJKLMNOPQRST");
                snprintf(want, sizeof(want), "%.*s%s%.*s", (int)before, "abcdefghijklmnopqrst", plain[s], (int)after,
                         "ABCDEFGHIJKLMNOPQRST");
                assert_string_equal(prg_json_text(json_of(&arena, text)), want);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_rfc_8259_allows),
        cmocka_unit_test(refuses_everything_else_and_says_where),
        cmocka_unit_test(every_prefix_of_a_document_is_refused),
        cmocka_unit_test(nodes_know_line_and_column),
        cmocka_unit_test(strings_keep_nul_and_their_length),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(repeated_keys_are_found_in_objects_of_any_width),
        cmocka_unit_test(wide_objects_within_each_other_keep_their_keys_apart),
        cmocka_unit_test(long_keys_are_shortened_in_errors),
        cmocka_unit_test(strings_around_the_fast_paths_step_read_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
