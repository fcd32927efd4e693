// SPDX-License-Identifier: Apache-2.0
// test_containers.c: maps keep the order of insertion, vectors sort without changing the order of equals.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"

static int values[5000];

static void a_map_finds_what_was_put(void **state)
{
    (void)state;
    struct prg_map map;
    char key[32];
    prg_map_init(&map);
    assert_null(prg_map_get(&map, "absent"));
    assert_null(prg_map_remove(&map, "absent"));
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        assert_null(prg_map_put(&map, key, &values[i]));
    }
    assert_int_equal(map.count, 5000);
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        assert_ptr_equal(prg_map_get(&map, key), &values[i]);
    }
    assert_null(prg_map_get(&map, "key-5000"));
    assert_ptr_equal(prg_map_put(&map, "key-7", &values[0]), &values[7]);
    assert_ptr_equal(prg_map_get(&map, "key-7"), &values[0]);
    assert_int_equal(map.count, 5000);
    prg_map_release(&map);
}

static void keys_are_bytes_and_are_copied(void **state)
{
    (void)state;
    struct prg_map map;
    char key[4] = "a\0b";
    prg_map_init(&map);
    prg_map_putn(&map, key, 3, &values[1]);
    prg_map_putn(&map, key, 1, &values[2]);
    prg_map_putn(&map, "", 0, &values[3]);
    memset(key, 'z', sizeof(key));
    assert_ptr_equal(prg_map_getn(&map, "a\0b", 3), &values[1]);
    assert_ptr_equal(prg_map_get(&map, "a"), &values[2]);
    assert_ptr_equal(prg_map_get(&map, ""), &values[3]);
    prg_map_release(&map);
}

static void iteration_is_in_order_of_insertion_without_the_removed(void **state)
{
    (void)state;
    struct prg_map map;
    const struct prg_map_entry *entry;
    char key[32];
    prg_auto_strbuf seen = PRG_STRBUF_INIT;
    prg_map_init(&map);
    for (int i = 0; i < 8; i++) {
        snprintf(key, sizeof(key), "%c", 'h' - i);
        prg_map_put(&map, key, &values[i]);
    }
    assert_ptr_equal(prg_map_remove(&map, "h"), &values[0]);
    assert_ptr_equal(prg_map_remove(&map, "e"), &values[3]);
    assert_null(prg_map_remove(&map, "e"));
    prg_map_put(&map, "e", &values[9]);
    for (size_t i = 0; (entry = prg_map_next(&map, &i));)
        prg_strbuf_puts(&seen, entry->key);
    assert_string_equal(seen.text, "gfdcbae");
    for (size_t i = 0; (entry = prg_map_next(&map, &i));) // removing on the way
        prg_map_remove(&map, entry->key);
    assert_int_equal(map.count, 0);
    prg_map_release(&map);
}

static void a_map_survives_putting_and_removing_for_ever(void **state)
{
    (void)state;
    struct prg_map map;
    char key[32];
    prg_map_init(&map);
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        prg_map_put(&map, key, &values[i % 5000]);
        if (i < 3)
            continue;
        snprintf(key, sizeof(key), "k%d", i - 3);
        assert_ptr_equal(prg_map_remove(&map, key), &values[(i - 3) % 5000]);
    }
    assert_int_equal(map.count, 3);
    assert_true(map.cap < 100 && map.slot_count < 200); // holes are reused
    prg_map_clear(&map);
    assert_int_equal(map.count, 0);
    assert_null(prg_map_get(&map, "k19999"));
    prg_map_put(&map, "k", &values[1]);
    assert_ptr_equal(prg_map_get(&map, "k"), &values[1]);
    prg_map_release(&map);
    prg_map_clear(&map);
}

static int by_tens(const void *a, const void *b, void *ctx)
{
    int x = *(const int *)a / 10, y = *(const int *)b / 10;
    ++*(size_t *)ctx;
    return x < y ? -1 : x > y;
}

static void sorting_keeps_the_order_of_equals(void **state)
{
    (void)state;
    for (size_t count = 0; count < 400; count = count * 3 / 2 + 1) {
        struct prg_vec vec;
        size_t compared = 0;
        unsigned seed = (unsigned)count;
        int *numbers = prg_xcalloc(count + 1, sizeof(int));
        prg_vec_init(&vec);
        for (size_t i = 0; i < count; i++) {
            seed = seed * 1103515245u + 12345u;
            numbers[i] = (int)(seed >> 16) % 200;
            prg_vec_push(&vec, &numbers[i]);
        }
        prg_vec_sort(&vec, by_tens, &compared);
        for (size_t i = 1; i < count; i++) {
            const int *x = vec.items[i - 1], *y = vec.items[i];
            assert_true(*x / 10 < *y / 10 || (*x / 10 == *y / 10 && x < y));
        }
        assert_true(compared < count * 20 + 100);
        prg_vec_release(&vec);
        free(numbers);
    }
}

static void a_vector_keeps_what_was_pushed_in_its_order(void **state)
{
    (void)state;
    struct prg_vec vec;
    prg_vec_init(&vec);
    for (int i = 0; i < 100; i++)
        prg_vec_push(&vec, &values[i]);
    assert_int_equal(vec.count, 100);
    for (int i = 0; i < 100; i++)
        assert_ptr_equal(vec.items[i], &values[i]);
    prg_vec_release(&vec);
    prg_vec_release(&vec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_finds_what_was_put),
        cmocka_unit_test(keys_are_bytes_and_are_copied),
        cmocka_unit_test(iteration_is_in_order_of_insertion_without_the_removed),
        cmocka_unit_test(a_map_survives_putting_and_removing_for_ever),
        cmocka_unit_test(sorting_keeps_the_order_of_equals),
        cmocka_unit_test(a_vector_keeps_what_was_pushed_in_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
