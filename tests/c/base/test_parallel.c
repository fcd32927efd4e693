// SPDX-License-Identifier: Apache-2.0
// test_parallel.c: pieces of work over several threads, and the arenas that they leave behind.
#include "support/support.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/parallel.h"

enum { PIECES = 1000, THREADS = 7 };

struct seen {
    atomic_uint times[PIECES];
    atomic_uint inside[THREADS]; // calls of a worker under way
    atomic_bool has_met;         // two calls of one worker at once
    size_t threads;
};

static void see(size_t piece, size_t worker, void *ctx)
{
    struct seen *seen = ctx;
    assert_true(worker < seen->threads);
    if (atomic_fetch_add(&seen->inside[worker], 1) != 0)
        atomic_store(&seen->has_met, true);
    atomic_fetch_add(&seen->times[piece], 1);
    atomic_fetch_sub(&seen->inside[worker], 1);
}

static void every_piece_is_done_once_whatever_the_number_of_threads(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= THREADS; threads++)
        for (size_t count = 0; count <= PIECES; count += count ? PIECES - 1 : 1) {
            struct seen *seen = calloc(1, sizeof(*seen));
            seen->threads = threads;
            prg_parallel(count, threads, see, seen);
            for (size_t i = 0; i < PIECES; i++)
                assert_int_equal(atomic_load(&seen->times[i]), i < count);
            assert_false(atomic_load(&seen->has_met));
            free(seen);
        }
}

static void there_are_no_more_threads_than_pieces(void **state)
{
    (void)state;
    assert_int_equal(prg_parallel_threads(0, 8), 1);
    assert_int_equal(prg_parallel_threads(1, 8), 1);
    assert_int_equal(prg_parallel_threads(1000, 1), 1);
    assert_true(prg_parallel_threads(1000, 3) <= 3);
}

static void what_an_arena_adopts_lives_as_long_as_it(void **state)
{
    static const size_t sizes[] = {1, 100, 5000, 300000, 3000000};
    (void)state;
    for (int has_own = 0; has_own < 2; has_own++) {
        struct prg_arena arena = {0}, other = {0};
        char *texts[PRG_COUNT(sizes)], *own = has_own ? prg_arena_strdup(&arena, "own") : NULL;
        for (size_t i = 0; i < PRG_COUNT(sizes); i++) {
            texts[i] = prg_arena_alloc(&other, sizes[i]);
            memset(texts[i], (int)('a' + i), sizes[i]);
        }
        size_t used = arena.used_bytes + other.used_bytes;
        prg_arena_adopt(&arena, &other);
        assert_int_equal(arena.used_bytes, used);
        assert_int_equal(other.used_bytes, 0);
        assert_string_equal(prg_arena_strdup(&other, "still of use"), "still of use");
        prg_arena_release(&other);
        assert_string_equal(prg_arena_strdup(&arena, "goes on"), "goes on");
        for (size_t i = 0; i < PRG_COUNT(sizes); i++)
            for (size_t at = 0; at < sizes[i]; at += 97)
                assert_int_equal(texts[i][at], 'a' + i);
        if (own)
            assert_string_equal(own, "own");
        prg_arena_adopt(&arena, &other); // empty
        prg_arena_reset(&arena);
        assert_string_equal(prg_arena_strdup(&arena, "anew"), "anew");
        prg_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_done_once_whatever_the_number_of_threads),
        cmocka_unit_test(there_are_no_more_threads_than_pieces),
        cmocka_unit_test(what_an_arena_adopts_lives_as_long_as_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
