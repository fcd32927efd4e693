// SPDX-License-Identifier: Apache-2.0
// test_clock.c: RFC 3339 text and back.
#include "support/support.h"

#include <string.h>

#include "base/clock.h"

#define S INT64_C(1000000000)

static void formats_whole_seconds_in_utc(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00Z"},
        {999999999, "1970-01-01T00:00:00Z"},
        {-1, "1969-12-31T23:59:59Z"},
        {-S, "1969-12-31T23:59:59Z"},
        {-S - 1, "1969-12-31T23:59:58Z"},
        {1780272000 * S, "2026-06-01T00:00:00Z"},
        {951782400 * S, "2000-02-29T00:00:00Z"},
        {INT64_MAX, "2262-04-11T23:47:16Z"},
        {INT64_MIN, "1677-09-21T00:12:43Z"},
    };
    (void)state;
    char buffer[PRG_CLOCK_TEXT];
    for (size_t i = 0; i < PRG_COUNT(rows); i++)
        assert_string_equal(prg_clock_format(rows[i].ns, buffer), rows[i].text);
}

static void reads_offsets_and_fractions(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.5Z", S / 2},
        {"1970-01-01T00:00:00.000000001Z", 1},
        {"1970-01-01T00:00:00.0000000019Z", 1},
        {"1970-01-01T01:00:00+01:00", 0},
        {"1969-12-31T18:30:00-05:30", 0},
        {"1970-01-01T00:00:00-00:00", 0},
        {"2026-06-01T00:00:00Z", 1780272000 * S},
        {"2024-02-29T12:00:00Z", 1709208000 * S},
        {"1969-12-31T23:59:59Z", -S},
        {"1969-12-31T23:59:59.25Z", -S + S / 4},
        {"2262-04-11T23:47:16.854775807Z", INT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        int64_t got = 7;
        if (!prg_clock_parse(rows[i].text, &got) || got != rows[i].ns)
            fail_msg("%s: got %lld, want %lld", rows[i].text, (long long)got, (long long)rows[i].ns);
    }
}

static void refuses_what_is_no_time(void **state)
{
    static const char *const rows[] = {
        "",
        "now",
        "2026-06-01",
        "2026-06-01T00:00:00",
        "2026-06-01 00:00:00Z",
        "2026-06-01t00:00:00z",
        "2026-6-01T00:00:00Z",
        "2026-06-1T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-06-00T00:00:00Z",
        "2026-06-31T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-06-01T24:00:00Z",
        "2026-06-01T00:60:00Z",
        "2026-06-01T00:00:60Z",
        "2026-06-01T00:00:00.Z",
        "2026-06-01T00:00:00,5Z",
        "2026-06-01T00:00:00+1:00",
        "2026-06-01T00:00:00+24:00",
        "2026-06-01T00:00:00+00:60",
        "2026-06-01T00:00:00+0000",
        "2026-06-01T00:00:00ZZ",
        "2026-06-01T00:00:00Z ",
        " 2026-06-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "2262-04-11T23:47:17Z",
        "9999-12-31T23:59:59Z",
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        int64_t got = 7;
        if (prg_clock_parse(rows[i], &got) || got != 7)
            fail_msg("'%s' was read as %lld", rows[i], (long long)got);
    }
    int64_t got = 7;
    assert_false(prg_clock_parse(NULL, &got));
}

static void every_day_of_four_centuries_reads_back(void **state)
{
    (void)state;
    char buffer[PRG_CLOCK_TEXT];
    for (int64_t day = -106000; day < 106000; day += 1) {
        int64_t ns = day * 86400 * S + (day & 0xffff) * S, got;
        assert_true(prg_clock_parse(prg_clock_format(ns, buffer), &got));
        assert_true(got == ns);
    }
}

static void clocks_go_forward(void **state)
{
    (void)state;
    int64_t wall = prg_clock_wall_ns(), mono = prg_clock_monotonic_ns(), parsed;
    assert_true(prg_clock_monotonic_ns() >= mono);
    assert_true(prg_clock_parse("2020-01-01T00:00:00Z", &parsed));
    assert_true(wall > parsed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_whole_seconds_in_utc),
        cmocka_unit_test(reads_offsets_and_fractions),
        cmocka_unit_test(refuses_what_is_no_time),
        cmocka_unit_test(every_day_of_four_centuries_reads_back),
        cmocka_unit_test(clocks_go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
