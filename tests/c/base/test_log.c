// SPDX-License-Identifier: Apache-2.0
// test_log.c: what log lines look like, as text and as JSON.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static char logged[8192];

// Runs fn with standard error going into `logged`.
static void capture(void (*fn)(void))
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    fn();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    size_t length = fread(logged, 1, sizeof(logged) - 1, file);
    logged[length] = '\0';
    fclose(file);
}

static void log_some(void)
{
    prg_log(PRG_LOG_DEBUG, "hidden", NULL);
    prg_log(PRG_LOG_INFO, "reconciled", "object", "default/iris", "why", "a \"quoted\"\nreason", "empty", "", NULL);
    prg_log(PRG_LOG_ERROR, "two\nlines", NULL);
}

static int reset_log(void **state)
{
    (void)state;
    prg_log_set_level(PRG_LOG_INFO);
    prg_log_set_json(false);
    return 0;
}

static void a_text_line_has_level_message_and_pairs(void **state)
{
    (void)state;
    capture(log_some);
    assert_null(strstr(logged, "hidden"));
    assert_non_null(
        strstr(logged, "Z info reconciled object=default/iris why=\"a \\\"quoted\\\"\\nreason\" empty=\"\"\n"));
    assert_non_null(strstr(logged, "Z error two lines\n"));
}

static void a_json_line_is_json(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    prg_log_set_json(true);
    capture(log_some);
    char *second = strchr(logged, '\n');
    assert_non_null(second);
    *second++ = '\0';
    cJSON *line = json_of(&arena, logged);
    assert_string_equal(prg_json_get_text(line, "level"), "info");
    assert_string_equal(prg_json_get_text(line, "message"), "reconciled");
    assert_string_equal(prg_json_get_text(line, "object"), "default/iris");
    assert_string_equal(prg_json_get_text(line, "why"), "a \"quoted\"\nreason");
    assert_non_null(prg_json_get_text(line, "time"));
    assert_string_equal(prg_json_get_text(json_of(&arena, second), "message"), "two\nlines");
}

static void log_bytes(void)
{
    prg_log(PRG_LOG_INFO, "caf\xc3\xa9 \xff", "k", "\xe2\x82 \xc3\xa9", NULL);
}

static void a_json_line_is_utf8_whatever_is_logged(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    prg_log_set_json(true);
    capture(log_bytes);
    cJSON *line = json_of(&arena, logged); // which refuses anything else
    assert_string_equal(prg_json_get_text(line, "message"), "caf\xc3\xa9 \xef\xbf\xbd");
    assert_string_equal(prg_json_get_text(line, "k"), "\xef\xbf\xbd\xef\xbf\xbd \xc3\xa9");
}

static void log_controls(void)
{
    prg_log(PRG_LOG_DEBUG, "shown \x01", "k", "\x02\\", "cut", NULL, NULL);
    prg_log(PRG_LOG_WARNING, "w", NULL);
}

static void levels_below_the_least_are_dropped(void **state)
{
    (void)state;
    prg_log_set_level(PRG_LOG_DEBUG);
    capture(log_controls);
    assert_non_null(strstr(logged, "debug shown   k=\"\\u0002\\\\\"\n"));
    assert_non_null(strstr(logged, "warning w\n"));
    prg_log_set_level(PRG_LOG_ERROR);
    capture(log_controls);
    assert_string_equal(logged, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_line_has_level_message_and_pairs, reset_log, reset_log),
        cmocka_unit_test_setup_teardown(a_json_line_is_json, reset_log, reset_log),
        cmocka_unit_test_setup_teardown(a_json_line_is_utf8_whatever_is_logged, reset_log, reset_log),
        cmocka_unit_test_setup_teardown(levels_below_the_least_are_dropped, reset_log, reset_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
