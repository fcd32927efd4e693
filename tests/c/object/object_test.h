// SPDX-License-Identifier: Apache-2.0
// object_test.h: what the tests of core/object share: an arena per test, and tables with the row shown on failure.
#pragma once
#include "support/support.h"

static struct prg_arena arena;

static int setup(void **state)
{
    (void)state;
    prg_arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    prg_arena_release(&arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

// The rows of tests/cases/tables/<name>.json.
static inline const cJSON *table_rows(const char *name)
{
    const cJSON *rows =
        prg_json_get(read_test_json(&arena, prg_arena_printf(&arena, "cases/tables/%s.json", name)), "rows");
    assert_true(prg_json_count(rows) > 0); // a table without rows would hold whatever the code does
    return rows;
}

// Fails the test with the row and what was got instead.
static inline void check_row(const cJSON *row, bool holds, const char *got)
{
    if (!holds)
        print_error("row %s\ngot %s\n", prg_json_print_arena(&arena, row, PRG_JSON_SORTED), got);
    assert_true(holds);
}

static inline bool row_text_is(const cJSON *row, const char *column, const char *text)
{
    return prg_text_equal(prg_json_get_text(row, column), text);
}
