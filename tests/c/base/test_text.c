// SPDX-License-Identifier: Apache-2.0
// test_text.c: the small text helpers of base.h, and growing texts.
#include "support/support.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

static void comparisons_accept_null(void **state)
{
    (void)state;
    assert_true(prg_text_equal(NULL, NULL));
    assert_false(prg_text_equal(NULL, ""));
    assert_false(prg_text_equal("", NULL));
    assert_true(prg_text_equal("a", "a"));
    assert_false(prg_text_equal("a", "A"));
    assert_true(prg_text_has_prefix("abc", "ab"));
    assert_true(prg_text_has_prefix("abc", ""));
    assert_false(prg_text_has_prefix("a", "ab"));
    assert_false(prg_text_has_prefix(NULL, "a"));
    assert_false(prg_text_has_prefix("a", NULL));
    assert_true(prg_text_has_suffix("abc", "bc"));
    assert_true(prg_text_has_suffix("abc", "abc"));
    assert_false(prg_text_has_suffix("bc", "abc"));
    assert_false(prg_text_has_suffix(NULL, ""));
    assert_false(prg_text_has_suffix("a", NULL));
}

static void distance_counts_edits_and_swaps(void **state)
{
    static const struct {
        const char *a, *b;
        unsigned distance;
    } rows[] = {
        {"", "", 0},
        {"a", "a", 0},
        {"a", "", 1},
        {"", "abc", 3},
        {"image", "imgae", 1}, // two neighbours swapped
        {"image", "images", 1},
        {"image", "mage", 1},
        {"image", "imege", 1},
        {"ca", "abc", 3}, // no edit inside swapped letters
        {"kitten", "sitting", 3},
        {"containerPort", "conatinerPrt", 2},
        {"livenessProbe", "readinessProbe", 5},
        {NULL, "ab", 2},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        const char *a = rows[i].a ? rows[i].a : "NULL";
        for (unsigned max = 0; max < 6; max++) {
            unsigned want = rows[i].distance <= max ? rows[i].distance : max + 1;
            unsigned got = prg_text_distance(rows[i].a, rows[i].b, max);
            if (got != want || prg_text_distance(rows[i].b, rows[i].a, max) != want)
                fail_msg("distance of '%s' and '%s' up to %u: got %u, want %u", a, rows[i].b, max, got, want);
        }
    }
}

// The same by the textbook's table, to compare the band with.
static unsigned plain_distance(const char *a, const char *b)
{
    unsigned d[16][16];
    size_t m = strlen(a), n = strlen(b);
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            unsigned best = (unsigned)(i == 0 ? j : j == 0 ? i : 99);
            if (i && j) {
                best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
                best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
                best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
                if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                    best = d[i - 2][j - 2] + 1;
            }
            d[i][j] = best;
        }
    return d[m][n];
}

static void distance_within_the_band_is_the_whole_tables(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int round = 0; round < 2000; round++) {
        char texts[2][12] = {0};
        for (int t = 0; t < 2; t++) {
            seed = seed * 1103515245u + 12345u;
            size_t length = seed >> 16 & 7;
            for (size_t i = 0; i < length; i++) {
                seed = seed * 1103515245u + 12345u;
                texts[t][i] = (char)('a' + (seed >> 16) % 3);
            }
        }
        unsigned whole = plain_distance(texts[0], texts[1]);
        for (unsigned max = 0; max < 8; max++)
            assert_int_equal(prg_text_distance(texts[0], texts[1], max), whole <= max ? whole : max + 1);
    }
}

static void the_nearest_name_is_what_was_meant(void **state)
{
    static const char *const names[] = {"plan", "why", "image", "images", "nodeSelector", "storageUri", "replicas"};
    static const struct {
        const char *typed, *meant;
    } rows[] = {
        {"plna", "plan"},
        {"imge", "image"},
        {"imagess", "images"},
        {"IMAGES", "images"},
        {"storageURI", "storageUri"},
        {"NODESELECTOR", "nodeSelector"},
        {"replcia", "replicas"},
        {"image", "images"},
        {"foo", NULL},
        {"", NULL},
        {"nodes", NULL},
        {"whale", NULL},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        const char *got = prg_text_nearest(rows[i].typed, names, PRG_COUNT(names));
        if (!prg_text_equal(got, rows[i].meant))
            fail_msg("'%s': got %s, want %s", rows[i].typed, got ? got : "none",
                     rows[i].meant ? rows[i].meant : "none");
    }
}

static void copies_have_a_terminator(void **state)
{
    (void)state;
    char *whole = prg_xstrdup("abc"), *part = prg_xstrndup("abcdef", 2), *nothing = prg_xstrndup(NULL, 0);
    assert_string_equal(whole, "abc");
    assert_string_equal(part, "ab");
    assert_string_equal(nothing, "");
    free(whole);
    free(part);
    free(nothing);
    void *empty = prg_xmalloc(0), *cleared = prg_xcalloc(0, 4);
    assert_non_null(empty);
    assert_non_null(cleared);
    empty = prg_xrealloc(empty, 0);
    assert_non_null(empty);
    free(empty);
    free(cleared);
}

static void break_invariant(void)
{
    prg_require(1 + 1 == 3);
}

static void a_broken_invariant_says_where_and_aborts(void **state)
{
    (void)state;
    char said[4096];
    assert_int_equal(death_of(break_invariant, said, sizeof(said)), SIGABRT);
    assert_non_null(strstr(said, "test_text.c"));
    assert_non_null(strstr(said, "1 + 1 == 3"));
}

static void texts_grow_and_keep_nul_bytes(void **state)
{
    (void)state;
    prg_auto_strbuf buf = PRG_STRBUF_INIT;
    assert_string_equal(buf.text, "");
    prg_strbuf_truncate(&buf, 0);
    prg_strbuf_clear(&buf);
    prg_strbuf_add(&buf, "a\0b", 3);
    prg_strbuf_putc(&buf, 'c');
    prg_strbuf_puts(&buf, "de");
    prg_strbuf_pad(&buf, ' ', 2);
    prg_strbuf_printf(&buf, "%d", 42);
    assert_int_equal(buf.length, 10);
    assert_memory_equal(buf.text, "a\0bcde  42", 11);
    prg_strbuf_truncate(&buf, 20); // beyond the end: nothing
    assert_int_equal(buf.length, 10);
    prg_strbuf_truncate(&buf, 2);
    assert_memory_equal(buf.text, "a\0", 3);
}

static void printing_grows_to_any_length(void **state)
{
    (void)state;
    prg_auto_strbuf buf = PRG_STRBUF_INIT;
    prg_strbuf_printf(&buf, "%5000d", 7);
    assert_int_equal(buf.length, 5000);
    assert_int_equal(buf.text[4999], '7');
    assert_int_equal(strlen(buf.text), 5000);
    for (int i = 0; i < 1000; i++)
        prg_strbuf_printf(&buf, "%d,", i);
    assert_int_equal(strlen(buf.text), buf.length);
    assert_string_equal(buf.text + buf.length - 8, "998,999,");
}

static void a_stolen_text_is_the_callers(void **state)
{
    (void)state;
    struct prg_strbuf buf;
    size_t length = 9;
    prg_strbuf_init(&buf);
    char *empty = prg_strbuf_steal(&buf, &length);
    assert_string_equal(empty, "");
    assert_int_equal(length, 0);
    free(empty);
    prg_strbuf_puts(&buf, "kept");
    char *text = prg_strbuf_steal(&buf, NULL);
    assert_string_equal(text, "kept");
    assert_int_equal(buf.length, 0);
    assert_string_equal(buf.text, "");
    free(text);
    prg_strbuf_release(&buf);
}

static void saturated_arithmetic_stays_at_the_nearest_end(void **state)
{
    (void)state;
    assert_int_equal(prg_saturated_add(2, 3), 5);
    assert_true(prg_saturated_add(INT64_MAX, 1) == INT64_MAX);
    assert_true(prg_saturated_add(INT64_MIN, -1) == INT64_MIN);
    assert_true(prg_saturated_add(INT64_MIN, INT64_MAX) == -1);
    assert_int_equal(prg_saturated_multiply(-2, 3), -6);
    assert_true(prg_saturated_multiply(INT64_MAX, 2) == INT64_MAX);
    assert_true(prg_saturated_multiply(INT64_MIN, -1) == INT64_MAX);
    assert_true(prg_saturated_multiply(INT64_MAX, -2) == INT64_MIN);
    assert_int_equal(prg_saturated_multiply(INT64_MAX, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_accept_null),
        cmocka_unit_test(distance_counts_edits_and_swaps),
        cmocka_unit_test(distance_within_the_band_is_the_whole_tables),
        cmocka_unit_test(the_nearest_name_is_what_was_meant),
        cmocka_unit_test(copies_have_a_terminator),
        cmocka_unit_test(a_broken_invariant_says_where_and_aborts),
        cmocka_unit_test(texts_grow_and_keep_nul_bytes),
        cmocka_unit_test(printing_grows_to_any_length),
        cmocka_unit_test(a_stolen_text_is_the_callers),
        cmocka_unit_test(saturated_arithmetic_stays_at_the_nearest_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
