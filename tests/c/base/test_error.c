// SPDX-License-Identifier: Apache-2.0
// test_error.c: errors read from the outside in, keep their first code and are cut at character boundaries.
#include "support/support.h"

#include <string.h>

static void wraps_read_from_the_outside_in(void **state)
{
    (void)state;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    assert_int_equal(prg_fail(&err, PRG_INVALID, "bad quantity '%s'", "1Gib"), PRG_INVALID);
    assert_int_equal(prg_wrap(&err, "line %d", 7), PRG_INVALID);
    assert_int_equal(prg_wrap(&err, "runtime 'x'"), PRG_INVALID);
    assert_string_equal(prg_error_text(&err, text, sizeof(text)), "runtime 'x': line 7: bad quantity '1Gib'");
    assert_int_equal(err.code, PRG_INVALID);
    assert_non_null(strstr(err.frame[0].file, "test_error.c"));
    assert_true(err.frame[0].line > 0);
}

static void without_an_error_only_the_code_is_returned(void **state)
{
    (void)state;
    char text[8] = "left";
    assert_int_equal(prg_fail(NULL, PRG_LIMIT, "x"), PRG_LIMIT);
    assert_int_not_equal(prg_wrap(NULL, "x"), PRG_OK);
    prg_error_clear(NULL);
    assert_string_equal(prg_error_text(NULL, text, sizeof(text)), "");
    assert_string_equal(prg_error_text(NULL, text, 0), "");
}

static void a_new_failure_replaces_the_old_one(void **state)
{
    (void)state;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    prg_fail(&err, PRG_IO, "first");
    prg_wrap(&err, "outer");
    prg_fail(&err, PRG_CONFLICT, "second");
    assert_int_equal(err.code, PRG_CONFLICT);
    assert_string_equal(prg_error_text(&err, text, sizeof(text)), "second");
    prg_error_clear(&err);
    assert_int_equal(err.code, PRG_OK);
    assert_string_equal(prg_error_text(&err, text, sizeof(text)), "");
}

static void an_errors_own_text_can_be_an_argument(void **state)
{
    (void)state;
    struct prg_error err = {0};
    prg_fail(&err, PRG_IO, "cause");
    prg_fail(&err, PRG_INVALID, "because of %s", err.frame[0].text);
    assert_string_equal(err.frame[0].text, "because of cause");
}

static void wraps_beyond_the_last_frame_are_dropped(void **state)
{
    (void)state;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    prg_fail(&err, PRG_NOTFOUND, "cause");
    for (int i = 0; i < 20; i++)
        assert_int_equal(prg_wrap(&err, "%d", i), PRG_NOTFOUND);
    assert_string_equal(prg_error_text(&err, text, sizeof(text)), "6: 5: 4: 3: 2: 1: 0: cause");
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    char bulk[3 * PRG_ERROR_TEXT], text[PRG_ERROR_LINE];
    for (size_t shift = 0; shift < 4; shift++) {
        size_t used = shift;
        memset(bulk, 'x', shift);
        while (used + 3 < sizeof(bulk)) {
            memcpy(bulk + used, "\xe2\x82\xac", 3); // a Euro sign
            used += 3;
        }
        bulk[used] = '\0';
        struct prg_error err = {0};
        prg_fail(&err, PRG_INVALID, "%s", bulk);
        size_t length = strlen(err.frame[0].text);
        assert_true(length < PRG_ERROR_TEXT && length > PRG_ERROR_TEXT - 8);
        assert_string_equal(err.frame[0].text + length - 3, "...");
        assert_int_equal((length - 3 - shift) % 3, 0);
        for (size_t size = 1; size < 12; size++) {
            prg_error_text(&err, text, size);
            assert_true(strlen(text) < size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wraps_read_from_the_outside_in),
        cmocka_unit_test(without_an_error_only_the_code_is_returned),
        cmocka_unit_test(a_new_failure_replaces_the_old_one),
        cmocka_unit_test(an_errors_own_text_can_be_an_argument),
        cmocka_unit_test(wraps_beyond_the_last_frame_are_dropped),
        cmocka_unit_test(long_texts_are_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
