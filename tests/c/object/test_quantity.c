// SPDX-License-Identifier: Apache-2.0
// test_quantity.c: quantities against the recorded tables and against each other.
#include "object_test.h"

#include <inttypes.h>
#include <string.h>

#include "object/quantity.h"

static const char *const format_names[] = {"DecimalSI", "BinarySI", "DecimalExponent"};

static struct prg_quantity quantity(const char *text)
{
    struct prg_quantity q = {.scale = 0};
    struct prg_error err = {0};
    assert_ok(prg_quantity_parse(text, strlen(text), &q, &err), &err);
    return q;
}

static const char *canonical(const char *text)
{
    const char *ret = NULL;
    struct prg_error err = {0};
    assert_ok(prg_quantity_canonical(&arena, text, &ret, &err), &err);
    return ret;
}

static const char *number(int64_t value)
{
    return prg_arena_printf(&arena, "%" PRId64, value);
}

static void every_recorded_text_parses_or_not(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("quantity_parse")) {
        struct prg_quantity q = {.scale = 0};
        struct prg_error err = {0};
        const char *text = prg_json_get_text(row, "in");
        bool ok = prg_quantity_parse(text, strlen(text), &q, &err) == PRG_OK;
        bool same = ok == prg_json_get_true(row, "ok");
        const char *got = "an error";
        if (ok && same) {
            const char *value = number(prg_quantity_value(&q)), *milli = number(prg_quantity_milli_value(&q));
            const char *exact = prg_json_get_text(row, "exactInt64");
            int64_t sign = 9;
            got = prg_arena_printf(&arena, "%s ceil %s milli %s %s", canonical(text), value, milli,
                                   format_names[q.format]);
            same = row_text_is(row, "canonical", canonical(text)) && row_text_is(row, "ceil", value) &&
                   row_text_is(row, "ceilMilli", milli) && row_text_is(row, "format", format_names[q.format]) &&
                   prg_json_get_int64(row, "sign", &sign) && sign == prg_quantity_sign(&q) &&
                   (!exact || strcmp(exact, number(prg_quantity_value_saturated(&q))) == 0);
        }
        check_row(row, same, got);
    }
}

static void every_recorded_sum_and_difference_holds(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("quantity_arith")) {
        struct prg_quantity a = quantity(prg_json_get_text(row, "a")), b = quantity(prg_json_get_text(row, "b"));
        struct prg_quantity sum = prg_quantity_add(&a, &b), difference = prg_quantity_sub(&a, &b);
        int64_t want = 9;
        int compared = prg_quantity_compare(&a, &b);
        const char *sum_text = prg_quantity_print(&arena, &sum);
        const char *difference_text = prg_quantity_print(&arena, &difference);
        check_row(row,
                  prg_json_get_int64(row, "cmp", &want) && want == compared && row_text_is(row, "sum", sum_text) &&
                      row_text_is(row, "difference", difference_text),
                  prg_arena_printf(&arena, "%d %s %s", compared, sum_text, difference_text));
        assert_int_equal(prg_quantity_compare(&b, &a), -compared);
    }
}

// Texts as they stand in a JSON string; Go drops the spaces around them.
static void every_recorded_function_case_holds(void **state)
{
    (void)state;
    size_t length, count = 0;
    char *text = read_test_file(&arena, "cases/functions/quantity.ndjson", &length);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), count++) {
        const cJSON *row = json_of(&arena, line);
        const cJSON *in = prg_json_at(row, "in", "text"), *out = prg_json_get(row, "out");
        struct prg_quantity q = {.scale = 0};
        struct prg_error err = {0};
        const char *printed = NULL;
        bool ok = prg_quantity_of(in, &q, &err) == PRG_OK;
        assert_int_equal(prg_quantity_canonical(&arena, prg_json_text(in), &printed, &err) == PRG_OK, ok);
        bool same = ok == prg_json_is_null(prg_json_get(out, "error"));
        int64_t value = 0, milli = 0;
        if (ok && same)
            same = prg_json_get_int64(out, "value", &value) && value == prg_quantity_value(&q) &&
                   row_text_is(out, "json", printed) && prg_json_get_true(out, "isZero") == prg_quantity_is_zero(&q) &&
                   prg_json_get_int64(out, "milliValue", &milli) && milli == prg_quantity_milli_value(&q);
        check_row(row, same,
                  ok ? prg_arena_printf(&arena, "%s %" PRId64, printed, prg_quantity_value(&q)) : "an error");
    }
    assert_int_equal(count, 500);
}

static void resources_of_pods_get_their_canonical_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        {"0.5", "500m"},
        {"2048Mi", "2Gi"},
        {"8.874", "8.874"},
        {"1.0", "1"},
        {"1000m", "1"},
        {"1024", "1024"},
        {"0.1Ki", "102400m"},
        {"1000Mi", "1000Mi"},
        {"0.5Gi", "512Mi"},
        {" 1 ", "1"},
        {"\xc2\xa0"
         "1\xe3\x80\x80",
         "1"},
        {"00.0", "0"},
        {"-0.5", "-500m"},
        {"1e3", "1e3"},
        {"1000e0", "1e3"},
        {"100e9", "100e9"},
        {"1000E", "1e21"},
        {"1000000000000000000000", "1e21"},
        {"0.0000000001", "1n"},
        {"-0.0000000001", "-1n"},
        {"16Ei", "9223372036854775807"},
        {"-16Ei", "-9223372036854775807"},
        {"1.5", "1500m"},
        {"+5", "+5"},
        {"12345678901234567890.5", "12345678901234567890500m"},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++)
        assert_string_equal(canonical(rows[i].text), rows[i].canonical);
}

static void a_canonical_text_stays_as_it_is(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("quantity_parse")) {
        if (!prg_json_get_true(row, "ok"))
            continue;
        struct prg_quantity q = quantity(prg_json_get_text(row, "in"));
        const char *printed = prg_quantity_print(&arena, &q);
        struct prg_quantity again = quantity(printed);
        check_row(row, prg_quantity_compare(&q, &again) == 0, printed);
        check_row(row, strcmp(prg_quantity_print(&arena, &again), printed) == 0, printed);
    }
}

static void what_is_no_quantity_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text, *problem;
    } rows[] = {
        {"", "'' is not a quantity; a number with a suffix is expected, such as 500m, 2Gi or 1e3"},
        {"one", "'one' is not a quantity; a number"},
        {"1 Gi", "'1 Gi' is not a quantity; a number"},
        {"1..5", "'1..5' is not a quantity; a number"},
        {"1K", "'1K' is not a quantity: the suffix must be one of"},
        {"1gi", "'1gi' is not a quantity"},
        {"1e", "the suffix must be one of"},
        {"1e99999999999", "the suffix must be one of"},
        {"+e-10", "'+e-10' is not a quantity: it has no digits"},
        {"1e60", "quantity '1e60' is too large: it must be less than 1e60"},
        {"1e2000000000", "is too large"},
        {"100000000000000000000000000000000000000000000E", "is too large"},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_quantity q;
        struct prg_error err = {0};
        assert_int_equal(prg_quantity_parse(rows[i].text, strlen(rows[i].text), &q, &err), PRG_INVALID);
        assert_error_has(&err, rows[i].problem);
    }
    struct prg_error err = {0};
    struct prg_quantity q;
    assert_int_equal(prg_quantity_parse("1\0", 2, &q, &err), PRG_INVALID);
    assert_int_equal(prg_quantity_parse(prg_arena_printf(&arena, "%01001d", 0), 1001, &q, &err), PRG_INVALID);
    assert_error_has(&err, "is too long for a quantity");
}

static void the_largest_amounts_stay_exact(void **state)
{
    (void)state;
    struct prg_quantity big = quantity("999999999999999999999999999999999999999999999999999999999999.999999999");
    struct prg_quantity small = quantity("1n");
    assert_string_equal(prg_quantity_print(&arena, &big),
                        "999999999999999999999999999999999999999999999999999999999999999999999n");
    struct prg_quantity sum = prg_quantity_add(&big, &small);
    assert_string_equal(prg_quantity_print(&arena, &sum), "1e60");
    struct prg_quantity difference = prg_quantity_sub(&sum, &big);
    assert_string_equal(prg_quantity_print(&arena, &difference), "1n");
    assert_string_equal(canonical(prg_arena_printf(&arena, "-%0700dEi", 0)), "0");
    assert_string_equal(canonical("1000000000000000000000000000000000000000000000000000000000000000000Ki"),
                        "9223372036854775807");
    // 1000 digits that come to almost nothing.
    assert_string_equal(canonical(prg_arena_printf(&arena, "0.%0997d", 1)), "1n");
    assert_string_equal(canonical(prg_arena_printf(&arena, "0.%0990dEi", 1)), "1n");
    assert_string_equal(canonical("1.0000000000000000000000000001Ki"), "1024000000001n");
}

static void saturated_values_stay_at_the_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        {"1.5", 2},
        {"-1.5", -2},
        {"1u", 1},
        {"-1u", -1},
        {"12E", INT64_MAX},
        {"-12E", INT64_MIN},
        {"9223372036854775807", INT64_MAX},
        {"18446744073709551615", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036854775807m", 9223372036854776},
        {"-1078Ti", -1185273534742528},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_quantity q = quantity(rows[i].text);
        assert_string_equal(number(prg_quantity_value_saturated(&q)), number(rows[i].value));
    }
}

static void json_nodes_of_any_fitting_kind_are_quantities(void **state)
{
    (void)state;
    struct prg_quantity q;
    struct prg_error err = {0};
    assert_ok(prg_quantity_of(json_of(&arena, "1.5"), &q, &err), &err);
    assert_int_equal(prg_quantity_milli_value(&q), 1500);
    assert_ok(prg_quantity_of(json_of(&arena, "1e3"), &q, &err), &err);
    assert_int_equal(prg_quantity_value(&q), 1000);
    assert_ok(prg_quantity_of(json_of(&arena, "' 2Gi '"), &q, &err), &err);
    assert_int_equal(prg_quantity_value(&q), 2147483648);
    assert_ok(prg_quantity_of(json_of(&arena, "null"), &q, &err), &err);
    assert_true(prg_quantity_is_zero(&q));
    assert_int_equal(prg_quantity_of(json_of(&arena, "true"), &q, &err), PRG_INVALID);
    assert_error_has(&err, "a quantity must be a string or a number, not boolean");
    assert_int_equal(prg_quantity_of(NULL, &q, &err), PRG_INVALID);
    assert_int_equal(prg_quantity_of(json_of(&arena, "'1\\u0000'"), &q, &err), PRG_INVALID);
}

static void sums_keep_the_laws_of_arithmetic(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",   "1",   "-1",   "1n",   "999999999n", "0.5",  "1Ki", "-3Gi",
        "8Ei", "12E", "1e30", "-7e9", "1.1Ti",      "500m", "100", "9223372036854775807"};
    for (size_t i = 0; i < PRG_COUNT(texts); i++)
        for (size_t j = 0; j < PRG_COUNT(texts); j++) {
            struct prg_quantity a = quantity(texts[i]), b = quantity(texts[j]);
            struct prg_quantity ab = prg_quantity_add(&a, &b), ba = prg_quantity_add(&b, &a);
            struct prg_quantity back = prg_quantity_sub(&ab, &b);
            struct prg_quantity difference = prg_quantity_sub(&a, &b);
            assert_int_equal(prg_quantity_compare(&ab, &ba), 0);
            assert_int_equal(prg_quantity_compare(&back, &a), 0);
            assert_int_equal(prg_quantity_sign(&difference), prg_quantity_compare(&a, &b));
        }
}

static void short_quantities_are_canonical_as_they_are(void **state)
{
    static const char *const suffixes[] = {"", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"};
    prg_auto_arena own = {0};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(suffixes); i++)
        for (int n = 1; n < 1000; n++) {
            struct prg_quantity quantity;
            const char *canonical, *text = prg_arena_printf(&own, "%d%s", n, suffixes[i]);
            assert_int_equal(prg_quantity_parse(text, strlen(text), &quantity, NULL), PRG_OK);
            assert_int_equal(prg_quantity_canonical(&own, text, &canonical, NULL), PRG_OK);
            assert_string_equal(canonical, prg_quantity_print(&own, &quantity));
        }
}

// A sign is not among the usual, so such a text goes the long way.
static void the_usual_quantities_are_read_like_all_others(void **state)
{
    static const char *const suffixes[] = {"", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"};
    prg_auto_arena own = {0};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(suffixes); i++)
        for (int n = 0; n < 1100; n++) {
            const char *text = prg_arena_printf(&own, "%d%s", n, suffixes[i]);
            struct prg_quantity usual = quantity(text), other = quantity(prg_arena_join(&own, "+", text));
            assert_memory_equal(usual.nano, other.nano, sizeof(usual.nano));
            assert_int_equal(usual.is_negative, other.is_negative);
            assert_int_equal(usual.is_dec, other.is_dec);
            assert_int_equal(usual.scale, other.scale);
            assert_int_equal(usual.format, other.format);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_recorded_text_parses_or_not),
        TEST(every_recorded_sum_and_difference_holds),
        TEST(every_recorded_function_case_holds),
        TEST(resources_of_pods_get_their_canonical_text),
        TEST(short_quantities_are_canonical_as_they_are),
        TEST(the_usual_quantities_are_read_like_all_others),
        TEST(a_canonical_text_stays_as_it_is),
        TEST(what_is_no_quantity_is_refused_with_a_reason),
        TEST(the_largest_amounts_stay_exact),
        TEST(saturated_values_stay_at_the_bounds),
        TEST(json_nodes_of_any_fitting_kind_are_quantities),
        TEST(sums_keep_the_laws_of_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
