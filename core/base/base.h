// SPDX-License-Identifier: Apache-2.0
// base.h: what every file may use: attributes, allocation that cannot fail, invariants, small text helpers.
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define PRG_MUST_USE __attribute__((warn_unused_result))
#define PRG_NORETURN __attribute__((noreturn))
#define PRG_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Out of memory is fatal: these print one line and abort, so no caller checks for NULL.
void *prg_xmalloc(size_t size);
void *prg_xcalloc(size_t count, size_t size);
void *prg_xrealloc(void *block, size_t size);
char *prg_xstrdup(const char *text);
char *prg_xstrndup(const char *text, size_t length);

// A broken invariant of this program (never of its input): prints file, line and text and aborts, in release builds
// too.
#define prg_require(condition) ((condition) ? (void)0 : prg_require_failed(#condition, __FILE__, __LINE__))
PRG_NORETURN void prg_require_failed(const char *condition, const char *file, int line);

// Sums and products that stay at the nearest int64 when they do not fit.
static inline int64_t prg_saturated_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}
static inline int64_t prg_saturated_multiply(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : product;
}

// Text comparisons that accept NULL (NULL equals only NULL).
bool prg_text_equal(const char *a, const char *b);
bool prg_text_has_prefix(const char *text, const char *prefix);
bool prg_text_has_suffix(const char *text, const char *suffix);

// The word, or words, that stand behind a number.
static inline const char *prg_plural(int64_t count, const char *one, const char *other)
{
    return count == 1 ? one : other;
}

// Optimal-string-alignment distance, capped: returns max + 1 when it is larger than max.
unsigned prg_text_distance(const char *a, const char *b, unsigned max);

// For "did you mean": of the names that are offered the one that `text` was meant to be, borrowed; NULL: none is near.
// About one slip in three letters may be made; wrong capitals are one slip, however many there are.
struct prg_nearest { // {.text}; the rest is filled in by offers
    const char *text;
    const char *name;
    unsigned distance; // of name
};
// Whether it is the nearest so far; the first of several as near. The same text is never what was meant.
bool prg_nearest_offer(struct prg_nearest *nearest, const char *name);
// The same of a list.
const char *prg_text_nearest(const char *text, const char *const *names, size_t count);
