// SPDX-License-Identifier: Apache-2.0
// test_arena.c: blocks are aligned, do not overlap and stay where they are until the arena is reset.
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

static void structs_are_aligned_and_zeroed(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    for (size_t i = 0; i < 500; i++) {
        char *block = prg_arena_zalloc(&arena, i % 37 + 1);
        assert_int_equal((uintptr_t)block % 16, 0);
        for (size_t j = 0; j < i % 37 + 1; j++)
            assert_int_equal(block[j], 0);
        memset(block, 0xff, i % 37 + 1);
        assert_int_equal(prg_arena_strdup(&arena, "x")[0], 'x');
    }
    uint64_t *numbers = prg_arena_array(&arena, uint64_t, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(numbers[i], 0);
}

static void blocks_of_all_sizes_keep_their_bytes(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    static const size_t sizes[] = {1, 15, 16, 17, 100, 5000, 300000, 2000000, 3, 262144, 262145};
    unsigned char *blocks[220];
    char *texts[220];
    for (size_t i = 0; i < PRG_COUNT(blocks); i++) {
        size_t size = sizes[i % PRG_COUNT(sizes)] / (i > 30 ? 64 : 1) + 1;
        blocks[i] = prg_arena_alloc(&arena, size);
        memset(blocks[i], (int)i, size);
        texts[i] = prg_arena_printf(&arena, "text %zu", i);
    }
    for (size_t i = 0; i < PRG_COUNT(blocks); i++) {
        size_t size = sizes[i % PRG_COUNT(sizes)] / (i > 30 ? 64 : 1) + 1;
        char want[32];
        assert_int_equal(blocks[i][0], i & 0xff);
        assert_int_equal(blocks[i][size - 1], i & 0xff);
        snprintf(want, sizeof(want), "text %zu", i);
        assert_string_equal(texts[i], want);
    }
}

static void texts_may_be_of_any_length_and_hold_nul(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    assert_string_equal(prg_arena_strdup(&arena, ""), "");
    assert_memory_equal(prg_arena_strndup(&arena, "a\0b", 3), "a\0b", 4);
    assert_string_equal(prg_arena_strndup(&arena, NULL, 0), "");
    for (int width = 250; width < 262; width++) { // around the length that fits on the stack
        char *text = prg_arena_printf(&arena, "%*d|", width, 1);
        assert_int_equal(strlen(text), width + 1);
        assert_int_equal(text[width], '|');
    }
    char *long_text = prg_arena_printf(&arena, "%1000000d", 1);
    assert_int_equal(strlen(long_text), 1000000);
}

static void a_reset_arena_starts_again(void **state)
{
    (void)state;
    struct prg_arena arena = {0};
    prg_arena_reset(&arena);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 1000; i++)
            memset(prg_arena_alloc(&arena, 200), round, 200);
        assert_int_equal(arena.used_bytes, 200000);
        prg_arena_reset(&arena);
        assert_int_equal(arena.used_bytes, 0);
    }
    memset(prg_arena_alloc(&arena, 3 << 20), 1, 3 << 20);
    prg_arena_reset(&arena);
    prg_arena_release(&arena);
    memset(prg_arena_alloc(&arena, 3 << 20), 1, 3 << 20); // as the first block
    prg_arena_reset(&arena);                              // does not keep that much
    assert_null(arena.chunk);
    assert_string_equal(prg_arena_strdup(&arena, "usable"), "usable");
    prg_arena_release(&arena);
    prg_arena_release(&arena);
}

static void two_arenas_do_not_share(void **state)
{
    (void)state;
    prg_auto_arena a;
    prg_auto_arena b;
    prg_arena_init(&a);
    prg_arena_init(&b);
    const char *kept = prg_arena_strdup(&b, "kept");
    prg_arena_strdup(&a, "gone");
    prg_arena_release(&a);
    assert_string_equal(kept, "kept");
}

static void joined_texts_stand_behind_each_other(void **state)
{
    (void)state;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    assert_string_equal(prg_arena_join(&arena, "a", "", "bc"), "abc");
    assert_string_equal(prg_arena_join(&arena, ""), "");
    char wide[10000];
    memset(wide, 'w', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    const char *joined = prg_arena_join(&arena, "<", wide, ">");
    assert_int_equal(strlen(joined), sizeof(wide) + 1);
    assert_true(joined[0] == '<' && joined[sizeof(wide)] == '>');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_are_aligned_and_zeroed),
        cmocka_unit_test(blocks_of_all_sizes_keep_their_bytes),
        cmocka_unit_test(texts_may_be_of_any_length_and_hold_nul),
        cmocka_unit_test(joined_texts_stand_behind_each_other),
        cmocka_unit_test(a_reset_arena_starts_again),
        cmocka_unit_test(two_arenas_do_not_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
