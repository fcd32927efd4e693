// SPDX-License-Identifier: Apache-2.0
// test_remakes.c: how long what vanished as often as it was made is waited for.
#include "support/support.h"

#include <stdio.h>

#include "controller/remakes.h"

static void each_time_waits_twice_as_long_up_to_a_bound(void **state)
{
    static const uint64_t expected[] = {0, 0, 200, 400, 800, 1600, 3200, 6400, 10000, 10000};
    struct prg_remakes remakes = {0};
    uint64_t now_ms = 1000;
    (void)state;
    assert_int_equal(prg_remakes_wait_ms(&remakes, "default/iris", now_ms), 0);
    for (size_t i = 0; i < PRG_COUNT(expected); i++) {
        prg_remakes_note(&remakes, "default/iris", now_ms);
        assert_int_equal(prg_remakes_wait_ms(&remakes, "default/iris", now_ms), expected[i]);
        assert_int_equal(prg_remakes_wait_ms(&remakes, "default/other", now_ms), 0);
        now_ms += expected[i];
        assert_int_equal(prg_remakes_wait_ms(&remakes, "default/iris", now_ms), 0);
        if (expected[i])
            assert_int_equal(prg_remakes_wait_ms(&remakes, "default/iris", now_ms - 1), 1);
    }
    for (int i = 0; i < 100; i++)
        prg_remakes_note(&remakes, "default/iris", now_ms);
    assert_int_equal(prg_remakes_wait_ms(&remakes, "default/iris", now_ms), PRG_REMAKES_MOST_MS);
}

static void after_half_a_minute_nothing_is_held_against_it(void **state)
{
    struct prg_remakes remakes = {0};
    (void)state;
    for (int times = 0; times < 3; times++)
        prg_remakes_note(&remakes, "default/iris", 0);
    assert_int_equal(prg_remakes_wait_ms(&remakes, "default/iris", 1), PRG_REMAKES_FIRST_MS - 1);
    prg_remakes_note(&remakes, "default/iris", PRG_REMAKES_FORGET_MS);
    prg_remakes_note(&remakes, "default/iris", PRG_REMAKES_FORGET_MS);
    assert_int_equal(prg_remakes_wait_ms(&remakes, "default/iris", PRG_REMAKES_FORGET_MS), 0);
    prg_remakes_note(&remakes, "default/iris", PRG_REMAKES_FORGET_MS + 1);
    assert_int_equal(prg_remakes_wait_ms(&remakes, "default/iris", PRG_REMAKES_FORGET_MS + 1), PRG_REMAKES_FIRST_MS);
}

static void of_many_keys_the_latest_are_known(void **state)
{
    struct prg_remakes remakes = {0};
    char key[32];
    (void)state;
    for (int i = 0; i <= PRG_REMAKES_KEPT; i++) {
        snprintf(key, sizeof(key), "default/s%d", i);
        for (int times = 0; times < 3; times++)
            prg_remakes_note(&remakes, key, (uint64_t)i);
    }
    assert_int_equal(prg_remakes_wait_ms(&remakes, "default/s0", PRG_REMAKES_KEPT), 0);
    assert_int_equal(prg_remakes_wait_ms(&remakes, "default/s200", 200), PRG_REMAKES_FIRST_MS);
    assert_int_equal(prg_remakes_wait_ms(&remakes, key, PRG_REMAKES_KEPT), PRG_REMAKES_FIRST_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_time_waits_twice_as_long_up_to_a_bound),
        cmocka_unit_test(after_half_a_minute_nothing_is_held_against_it),
        cmocka_unit_test(of_many_keys_the_latest_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
