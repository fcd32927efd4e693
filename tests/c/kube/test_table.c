// SPDX-License-Identifier: Apache-2.0
// test_table.c: the hash table of the cache's indexes, against a plain array.
#include "kube/table.h"

#include <string.h>

#include "kube/timers.h"
#include "support/support.h"

enum { ITEMS = 300 };

static bool is(const void *item, const void *key)
{
    return item == key;
}

// Hashes of few values, so that ways are long and cross, at the end of the slots too.
static uint64_t hash_of(size_t i, unsigned spread)
{
    return spread == 1 ? UINT64_MAX : (i * 7919) % spread + (UINT64_MAX - spread / 2);
}

static void it_agrees_with_a_plain_array_after_any_changes(void **state)
{
    static const unsigned spreads[] = {1, 3, 50, 100000};
    static char items[ITEMS];
    uint64_t seed = 11;
    (void)state;
    for (size_t s = 0; s < PRG_COUNT(spreads); s++) {
        bool is_in[ITEMS] = {false};
        size_t count = 0, seen = 0;
        struct prg_hash_table table = {0};
        assert_null(prg_hash_table_find(&table, 1, is, &items[0]));
        for (int round = 0; round < 20000; round++) {
            // Grows, then shrinks, then grows again.
            size_t i = (size_t)(prg_random(&seed) * ITEMS);
            bool wants = prg_random(&seed) < (round / 5000 % 2 ? 0.2 : 0.8);
            uint64_t hash = hash_of(i, spreads[s]);
            assert_ptr_equal(prg_hash_table_find(&table, hash, is, &items[i]), is_in[i] ? &items[i] : NULL);
            if (wants && !is_in[i])
                prg_hash_table_add(&table, hash, &items[i]);
            else if (!wants && is_in[i])
                prg_hash_table_remove(&table, hash, &items[i]);
            count += (size_t)wants - (size_t)is_in[i];
            is_in[i] = wants;
            assert_int_equal(table.count, count);
        }
        for (size_t i = 0; i < ITEMS; i++)
            assert_ptr_equal(prg_hash_table_find(&table, hash_of(i, spreads[s]), is, &items[i]),
                             is_in[i] ? &items[i] : NULL);
        for (size_t i = 0; prg_hash_table_next(&table, &i);)
            seen++;
        assert_int_equal(seen, count);
        prg_hash_table_release(&table);
    }
}

static void one_takes_the_place_of_another(void **state)
{
    struct prg_hash_table table = {0};
    char a, b, c;
    (void)state;
    prg_hash_table_add(&table, 5, &a);
    prg_hash_table_add(&table, 5, &b);
    prg_hash_table_replace(&table, 5, &a, &c);
    assert_null(prg_hash_table_find(&table, 5, is, &a));
    assert_ptr_equal(prg_hash_table_find(&table, 5, is, &b), &b);
    assert_ptr_equal(prg_hash_table_find(&table, 5, is, &c), &c);
    assert_int_equal(table.count, 2);
    prg_hash_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_agrees_with_a_plain_array_after_any_changes),
        cmocka_unit_test(one_takes_the_place_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
