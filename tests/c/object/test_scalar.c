// SPDX-License-Identifier: Apache-2.0
// test_scalar.c: durations, IntOrString, names, resource versions.
#include "object_test.h"

#include <inttypes.h>
#include <string.h>

#include "object/scalar.h"

static void every_recorded_duration_holds(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("duration")) {
        int64_t ns = 0;
        struct prg_error err = {0};
        bool ok = prg_duration_parse(prg_json_get_text(row, "in"), &ns, &err) == PRG_OK;
        const char *number = prg_arena_printf(&arena, "%" PRId64, ns);
        const char *printed = prg_duration_print(&arena, ns);
        check_row(row,
                  ok == prg_json_get_true(row, "ok") &&
                      (!ok || (row_text_is(row, "ns", number) && row_text_is(row, "canonical", printed))),
                  prg_arena_printf(&arena, "%d %s %s", ok, number, printed));
    }
}

static void durations_are_read_and_printed_as_in_go(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
        const char *printed;
    } rows[] = {
        {"1ns", 1, "1ns"},
        {"1100ns", 1100, "1.1\xc2\xb5s"},
        {"1us", 1000, "1\xc2\xb5s"},
        {"2\xc2\xb5s", 2000, "2\xc2\xb5s"},
        {"3\xce\xbcs", 3000, "3\xc2\xb5s"},
        {"2200us", 2200000, "2.2ms"},
        {"3.3s", 3300000000, "3.3s"},
        {"-.5s", -500000000, "-500ms"},
        {"4m5s", 245000000000, "4m5s"},
        {"5h6m7.001s", 18367001000000, "5h6m7.001s"},
        {"0.3333333333333333333h", 1200000000000, "20m0s"},
        {"1h", 3600000000000, "1h0m0s"},
        {"-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s"},
        {"-0", 0, "0s"},
        {"0.000000001s", 1, "1ns"},
        {"1s1ms", 1001000000, "1.001s"},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        int64_t ns;
        struct prg_error err = {0};
        assert_ok(prg_duration_parse(rows[i].text, &ns, &err), &err);
        assert_true(ns == rows[i].ns);
        assert_string_equal(prg_duration_print(&arena, ns), rows[i].printed);
    }
    static const char *const bad[] = {"",
                                      "3",
                                      "-",
                                      "s",
                                      ".",
                                      "-.",
                                      ".s",
                                      "+.s",
                                      "1d",
                                      "1h1",
                                      "1 s",
                                      "--1s",
                                      "3000000h",
                                      "9223372036854775808ns",
                                      "9223372036854ms9223372036854ms",
                                      "1e3s",
                                      "99999999999999999999s"};
    for (size_t i = 0; i < PRG_COUNT(bad); i++) {
        int64_t ns;
        struct prg_error err = {0};
        assert_int_equal(prg_duration_parse(bad[i], &ns, &err), PRG_INVALID);
        assert_error_has(&err, "is not a duration such as");
    }
}

static void every_recorded_int_or_percent_holds(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("int_or_percent")) {
        int64_t total = 0, want = 0, got = 0;
        struct prg_error err = {0};
        assert_true(prg_json_get_int64(row, "total", &total));
        bool ok = prg_int_or_percent(prg_json_get(row, "value"), total, prg_json_get_true(row, "roundUp"), &got,
                                     &err) == PRG_OK;
        bool same = ok == prg_json_get_true(row, "ok");
        if (ok && same)
            same = prg_json_get_int64(row, "result", &want) && got == want;
        check_row(row, same, prg_arena_printf(&arena, "%d %" PRId64, ok, got));
    }
}

static void odd_int_or_percents_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"null",       "true",  "1.5",
                                      "2147483648", "{}",    "'9223372036854775808%'",
                                      "' 5%'",      "'5%%'", "'9223372036854775807%'"};
    for (size_t i = 0; i < PRG_COUNT(bad); i++) {
        int64_t got;
        assert_int_equal(prg_int_or_percent(json_of(&arena, bad[i]), 1000, true, &got, NULL), PRG_INVALID);
    }
    assert_int_equal(prg_int_or_percent(NULL, 1, true, &(int64_t){0}, NULL), PRG_INVALID);
}

static void every_recorded_name_rule_holds(void **state)
{
    (void)state;
    static const struct {
        const char *column;
        bool (*rule)(const char *text);
    } rules[] = {
        {"dns1123Label", prg_name_is_dns1123_label}, {"dns1123Subdomain", prg_name_is_dns1123_subdomain},
        {"dns1035Label", prg_name_is_dns1035_label}, {"qualifiedName", prg_name_is_qualified},
        {"labelValue", prg_name_is_label_value},     {"configMapKey", prg_name_is_config_map_key},
        {"envVarName", prg_name_is_env_var},
    };
    const cJSON *row;
    size_t count = 0;
    prg_json_each (row, table_rows("name_rules")) {
        for (size_t i = 0; i < PRG_COUNT(rules); i++, count++)
            check_row(row, rules[i].rule(prg_json_get_text(row, "in")) == prg_json_get_true(row, rules[i].column),
                      rules[i].column);
    }
    assert_int_equal(count, 19 * PRG_COUNT(rules));
}

static void names_at_the_edges_are_judged(void **state)
{
    (void)state;
    assert_true(prg_name_is_qualified("example.com/a_B.c-1"));
    assert_false(prg_name_is_qualified("a/b/c"));
    assert_false(prg_name_is_qualified("a/"));
    assert_false(prg_name_is_qualified("Example.com/a"));
    assert_true(prg_name_is_qualified(prg_arena_printf(&arena, "%0253d/a", 0)));
    assert_false(prg_name_is_qualified(prg_arena_printf(&arena, "%0254d/a", 0)));
    assert_false(prg_name_is_dns1123_subdomain("a.b-.c"));
    assert_false(prg_name_is_dns1123_subdomain("é"));
    assert_false(prg_name_is_config_map_key("."));
    assert_false(prg_name_is_config_map_key("..a"));
    assert_true(prg_name_is_config_map_key(".a..b"));
    assert_false(prg_name_is_config_map_key(prg_arena_printf(&arena, "%0254d", 0)));
    assert_false(prg_name_is_env_var(".."));
    assert_false(prg_name_is_env_var("1a"));
    assert_false(prg_name_is_env_var("a=b"));
}

static void every_recorded_resource_version_compares(void **state)
{
    (void)state;
    const cJSON *row;
    prg_json_each (row, table_rows("resource_version_compare")) {
        int got = 0;
        int64_t want = 0;
        struct prg_error err = {0};
        bool ok = prg_resource_version_compare(prg_json_get_text(row, "a"), prg_json_get_text(row, "b"), &got, &err) ==
                  PRG_OK;
        bool same = ok == prg_json_get_true(row, "ok");
        if (ok && same)
            same = prg_json_get_int64(row, "cmp", &want) && got == want;
        check_row(row, same, prg_arena_printf(&arena, "%d %d", ok, got));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_recorded_duration_holds),
        TEST(durations_are_read_and_printed_as_in_go),
        TEST(every_recorded_int_or_percent_holds),
        TEST(odd_int_or_percents_are_refused),
        TEST(every_recorded_name_rule_holds),
        TEST(names_at_the_edges_are_judged),
        TEST(every_recorded_resource_version_compares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
