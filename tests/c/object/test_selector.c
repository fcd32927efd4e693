// SPDX-License-Identifier: Apache-2.0
// test_selector.c: label and field selectors.
#include "object_test.h"

#include <string.h>

#include "object/selector.h"

static const char *error_text(const struct prg_error *err)
{
    return err->depth ? err->frame[0].text : "no error";
}

static void every_recorded_label_selector_parses_or_not(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("label_selector_parse")) {
        struct prg_selector *selector = NULL;
        struct prg_error err = {0};
        bool ok = prg_selector_parse(&arena, prg_json_get_text(row, "in"), &selector, &err) == PRG_OK;
        const char *printed = ok ? prg_selector_print(&arena, selector) : error_text(&err);
        check_row(row, ok == prg_json_get_true(row, "ok") && (!ok || row_text_is(row, "canonical", printed)), printed);
    }
}

static void a_canonical_selector_reads_back_the_same(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("label_selector_parse")) {
        struct prg_selector *selector = NULL;
        struct prg_error err = {0};
        if (!prg_json_get_true(row, "ok"))
            continue;
        const char *canonical = prg_json_get_text(row, "canonical");
        assert_ok(prg_selector_parse(&arena, canonical, &selector, &err), &err);
        assert_string_equal(prg_selector_print(&arena, selector), canonical);
    }
}

static void every_recorded_match_holds(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("label_selector_match")) {
        struct prg_selector *selector = NULL;
        struct prg_error err = {0};
        assert_ok(prg_selector_parse(&arena, prg_json_get_text(row, "selector"), &selector, &err), &err);
        bool matches = prg_selector_matches(selector, prg_json_get(row, "labels"));
        check_row(row, matches == prg_json_get_true(row, "match"), matches ? "match" : "no match");
    }
}

static void every_recorded_selector_object_holds(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("label_selector_object")) {
        struct prg_selector *selector = NULL;
        struct prg_error err = {0};
        bool ok = prg_selector_of(&arena, prg_json_get(row, "selector"), &selector, &err) == PRG_OK;
        bool same = ok == prg_json_get_true(row, "ok");
        const char *printed = ok ? prg_selector_print(&arena, selector) : error_text(&err);
        if (ok && same)
            same = row_text_is(row, "canonical", printed) &&
                   prg_selector_matches(selector, prg_json_get(row, "labels")) == prg_json_get_true(row, "match");
        check_row(row, same, printed);
    }
}

static void selectors_match_objects_without_labels(void **state)
{
    (void)state;
    struct prg_selector *selector = NULL;
    struct prg_error err = {0};
    assert_ok(prg_selector_parse(&arena, "!a,b!=c", &selector, &err), &err);
    assert_true(prg_selector_matches(selector, NULL));
    assert_ok(prg_selector_parse(&arena, "n>5", &selector, &err), &err);
    assert_true(prg_selector_matches(selector, json_of(&arena, "{'n': '+6'}")));
    assert_false(prg_selector_matches(selector, json_of(&arena, "{'n': '5'}")));
    assert_false(prg_selector_matches(selector, json_of(&arena, "{'n': 'x'}")));
    assert_false(prg_selector_matches(selector, json_of(&arena, "{'n': '9223372036854775808'}")));
    assert_false(prg_selector_matches(selector, NULL));
    assert_ok(prg_selector_of(&arena, NULL, &selector, &err), &err);
    assert_false(prg_selector_matches(selector, NULL));
}

static void errors_of_label_selectors_say_what_is_expected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *problem;
    } rows[] = {
        {"a b", "label selector 'a b': 'b' where one of = == != < > in notin is expected"},
        {"a=b,", "label selector 'a=b,' ends where a label key is expected"},
        {"a in b", "'b' where '(' is expected"},
        {"a in (b", "ends where ',' or ')' is expected"},
        {"a=b c", "'c' where ',' or the end is expected"},
        {"a=(", "'(' where a value is expected"},
        {"=a", "'=' where a label key is expected"},
        {"a>x", "label selector 'a>x': '<' and '>' need a whole number for 'a'"},
        {"a=-", "label selector 'a=-': '-' is not a label value"},
        {"a_=b", "label selector 'a_=b': 'a_' is not a label key"},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_selector *selector;
        struct prg_error err = {0};
        assert_int_equal(prg_selector_parse(&arena, rows[i].text, &selector, &err), PRG_INVALID);
        assert_error_has(&err, rows[i].problem);
    }
}

static void errors_of_selector_objects_name_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *object, *problem;
    } rows[] = {
        {"[]", "a label selector must be an object, not array"},
        {"{'matchLabels': []}", "/matchLabels must be an object, not array"},
        {"{'matchLabels': {'a': 1}}", "/matchLabels/a must be a string, not number"},
        {"{'matchExpressions': {}}", "/matchExpressions must be a list, not object"},
        {"{'matchExpressions': [{'key': 'a', 'operator': 'Exists'}, {'key': 'a', 'operator': 'Is'}]}",
         "/matchExpressions/1: /operator must be In, NotIn, Exists or DoesNotExist, not 'Is'"},
        {"{'matchExpressions': [{'key': 'a', 'operator': 'In', 'values': 'x'}]}",
         "/matchExpressions/0: /values must be a list, not string"},
        {"{'matchExpressions': [{'key': 'a', 'operator': 'In', 'values': [1]}]}",
         "/matchExpressions/0: /values must hold strings, not number"},
        {"{'matchExpressions': ['a']}", "/matchExpressions/0: /operator must be"},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_selector *selector;
        struct prg_error err = {0};
        assert_int_equal(prg_selector_of(&arena, json_of(&arena, rows[i].object), &selector, &err), PRG_INVALID);
        assert_error_has(&err, rows[i].problem);
    }
}

static void every_recorded_field_selector_holds(void **state)
{
    (void)state;
    static const char prefix[] = "match ";
    const cJSON *row, *column;
    prg_json_each (row, table_rows("field_selector")) {
        struct prg_field_selector *selector = NULL;
        struct prg_error err = {0};
        bool ok = prg_field_selector_parse(&arena, prg_json_get_text(row, "in"), &selector, &err) == PRG_OK;
        const char *printed = ok ? prg_field_selector_print(&arena, selector) : error_text(&err);
        check_row(row, ok == prg_json_get_true(row, "ok") && (!ok || row_text_is(row, "canonical", printed)), printed);
        prg_json_each (column, row) {
            if (!ok || !prg_text_has_prefix(column->string, prefix))
                continue;
            const cJSON *fields = json_of(&arena, column->string + strlen(prefix));
            check_row(row, prg_field_selector_matches(selector, fields) == prg_json_is_true(column), column->string);
        }
    }
}

static void field_selectors_are_split_escaped_and_sorted(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        {"", ""},
        {",", ""},
        {"=", ""},
        {"b=1,a!=2", "a!=2,b=1"},
        {"a==x\\=y", "a=x\\=y"},
        {"a=\\\\", "a=\\\\"},
        {"a=x\\,b=y", NULL},
        {"a=b=c", NULL},
        {"a=x\\", NULL},
        {"a", NULL},
        {"a=é,", "a=é"},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_field_selector *selector;
        struct prg_error err = {0};
        int rc = prg_field_selector_parse(&arena, rows[i].text, &selector, &err);
        assert_int_equal(rc, rows[i].canonical ? PRG_OK : PRG_INVALID);
        if (rc == PRG_OK)
            assert_string_equal(prg_field_selector_print(&arena, selector), rows[i].canonical);
        else
            assert_error_has(&err, prg_arena_printf(&arena, "field selector '%s': ", rows[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_recorded_label_selector_parses_or_not),
        TEST(a_canonical_selector_reads_back_the_same),
        TEST(every_recorded_match_holds),
        TEST(every_recorded_selector_object_holds),
        TEST(selectors_match_objects_without_labels),
        TEST(errors_of_label_selectors_say_what_is_expected),
        TEST(errors_of_selector_objects_name_the_place),
        TEST(every_recorded_field_selector_holds),
        TEST(field_selectors_are_split_escaped_and_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
