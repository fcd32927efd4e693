// SPDX-License-Identifier: Apache-2.0
// test_workqueue.c: the rules of client-go's work queue, with a clock of numbers.
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "controller/workqueue.h"

static const struct prg_backoff backoff = {.base_ms = 5, .max_ms = 100};

static void a_key_added_twice_is_handed_out_once(void **state)
{
    struct prg_workqueue *queue = prg_workqueue_new(&backoff);
    (void)state;
    prg_workqueue_add(queue, "a", 10);
    prg_workqueue_add(queue, "a", 11);
    assert_string_equal(prg_workqueue_take(queue, 11), "a");
    assert_null(prg_workqueue_take(queue, 1000));
    prg_workqueue_done(queue, "a", 12);
    assert_null(prg_workqueue_take(queue, 1000));
    assert_int_equal(prg_workqueue_next_ms(queue, 1000), -1);
    prg_workqueue_free(queue);
}

static void a_key_added_while_processed_comes_again_after_done(void **state)
{
    struct prg_workqueue *queue = prg_workqueue_new(&backoff);
    (void)state;
    prg_workqueue_add(queue, "a", 0);
    assert_string_equal(prg_workqueue_take(queue, 0), "a");
    prg_workqueue_add(queue, "a", 1);
    assert_null(prg_workqueue_take(queue, 5)); // never twice at a time
    prg_workqueue_done(queue, "a", 6);
    assert_string_equal(prg_workqueue_take(queue, 6), "a");
    prg_workqueue_done(queue, "a", 7);
    assert_int_equal(prg_workqueue_next_ms(queue, 7), -1);
    prg_workqueue_free(queue);
}

static void keys_come_by_due_time_then_by_arrival(void **state)
{
    struct prg_workqueue *queue = prg_workqueue_new(&backoff);
    char order[16] = "";
    const char *key;
    (void)state;
    prg_workqueue_add_after(queue, "d", 0, 30);
    prg_workqueue_add(queue, "b", 0);
    prg_workqueue_add(queue, "a", 0);
    prg_workqueue_add_after(queue, "c", 0, 20);
    prg_workqueue_add_after(queue, "d", 0, 40); // later than what waits: no change
    while ((key = prg_workqueue_take(queue, 30)))
        strcat(order, key);
    assert_string_equal(order, "bacd");
    prg_workqueue_free(queue);
}

static void an_earlier_time_moves_a_waiting_key_forward(void **state)
{
    struct prg_workqueue *queue = prg_workqueue_new(&backoff);
    (void)state;
    prg_workqueue_add_after(queue, "a", 0, 1000);
    assert_int_equal(prg_workqueue_next_ms(queue, 0), 1000);
    prg_workqueue_add(queue, "a", 5);
    assert_int_equal(prg_workqueue_next_ms(queue, 5), 0);
    assert_string_equal(prg_workqueue_take(queue, 5), "a");
    assert_int_equal(prg_workqueue_next_ms(queue, 2000), -1); // once only
    prg_workqueue_done(queue, "a", 5);
    prg_workqueue_free(queue);
}

static void failures_wait_twice_as_long_each_time_up_to_the_cap_until_forgotten(void **state)
{
    static const int64_t want[] = {5, 10, 20, 40, 80, 100, 100};
    struct prg_workqueue *queue = prg_workqueue_new(&backoff);
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(want); i++) {
        prg_workqueue_add_failed(queue, "a", 0, 0);
        assert_int_equal(prg_workqueue_next_ms(queue, 0), want[i]);
        assert_string_equal(prg_workqueue_take(queue, 100), "a");
        prg_workqueue_done(queue, "a", 0);
    }
    prg_workqueue_forget(queue, "a");
    prg_workqueue_add_failed(queue, "a", 0, 0);
    assert_int_equal(prg_workqueue_next_ms(queue, 0), 5);
    prg_workqueue_free(queue);
}

static void many_keys_come_out_sorted_by_time(void **state)
{
    struct prg_workqueue *queue = prg_workqueue_new(&backoff);
    uint32_t random = 1;
    uint64_t last = 0;
    struct prg_map keys;
    (void)state;
    prg_map_init(&keys);
    for (int i = 0; i < 5000; i++) {
        char key[16];
        random = random * 1664525u + 1013904223u;
        snprintf(key, sizeof(key), "%u", random >> 8);
        prg_map_put(&keys, key, queue); // as many as there are different ones
        prg_workqueue_add_after(queue, key, 0, 1 + (random >> 16));
    }
    size_t count = keys.count, taken = 0;
    prg_map_release(&keys);
    for (int64_t wait; (wait = prg_workqueue_next_ms(queue, last)) >= 0; taken++) {
        last += (uint64_t)wait;
        const char *key = prg_workqueue_take(queue, last);
        assert_non_null(key);
        prg_workqueue_done(queue, key, last);
    }
    assert_int_equal(taken, count);
    prg_workqueue_free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_added_twice_is_handed_out_once),
        cmocka_unit_test(a_key_added_while_processed_comes_again_after_done),
        cmocka_unit_test(keys_come_by_due_time_then_by_arrival),
        cmocka_unit_test(an_earlier_time_moves_a_waiting_key_forward),
        cmocka_unit_test(failures_wait_twice_as_long_each_time_up_to_the_cap_until_forgotten),
        cmocka_unit_test(many_keys_come_out_sorted_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
