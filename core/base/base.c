// SPDX-License-Identifier: Apache-2.0
// base.c: allocation that cannot fail, the check for invariants, small text helpers.
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

PRG_NORETURN static void out_of_memory(size_t size)
{
    fprintf(stderr, "perigee: out of memory (asked for %zu bytes)\n", size);
    abort();
}

void *prg_xmalloc(size_t size)
{
    void *block = malloc(size ? size : 1);
    if (!block)
        out_of_memory(size);
    return block;
}

void *prg_xcalloc(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block)
        out_of_memory(count * size);
    return block;
}

void *prg_xrealloc(void *block, size_t size)
{
    void *grown = realloc(block, size ? size : 1);
    if (!grown)
        out_of_memory(size);
    return grown;
}

char *prg_xstrdup(const char *text)
{
    return prg_xstrndup(text, strlen(text));
}

char *prg_xstrndup(const char *text, size_t length)
{
    char *copy = prg_xmalloc(length + 1);
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void prg_require_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "perigee: %s:%d: broken invariant: %s\n", file, line, condition);
    abort();
}

bool prg_text_equal(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool prg_text_has_prefix(const char *text, const char *prefix)
{
    return text && prefix && strncmp(text, prefix, strlen(prefix)) == 0;
}

bool prg_text_has_suffix(const char *text, const char *suffix)
{
    if (!text || !suffix)
        return false;
    size_t text_length = strlen(text), suffix_length = strlen(suffix);
    return text_length >= suffix_length && memcmp(text + text_length - suffix_length, suffix, suffix_length) == 0;
}

static unsigned min_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

// Three rows of the distance table are enough: a swap of neighbours looks two rows back. Only the band of cells at
// most `max` away from the diagonal is computed, so long texts cost their length times max.
unsigned prg_text_distance(const char *a, const char *b, unsigned max)
{
    size_t a_length = a ? strlen(a) : 0, b_length = b ? strlen(b) : 0;
    size_t gap = a_length > b_length ? a_length - b_length : b_length - a_length;
    if (gap > max)
        return max + 1;
    size_t width = b_length + 1;
    unsigned *rows = prg_xmalloc(3 * width * sizeof(*rows));
    unsigned *before = rows, *above = rows + width, *row = rows + 2 * width;
    for (size_t j = 0; j < 3 * width; j++)
        rows[j] = max + 1; // cells outside the band
    for (size_t j = 0; j <= b_length && j <= max; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t first = i > max ? i - max : 0, last = i + max < b_length ? i + max : b_length;
        for (size_t j = first; j <= last; j++) {
            if (j == 0) {
                row[0] = (unsigned)i;
                continue;
            }
            unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = min_of(best, above[j] + 1);
            if (j > first || first == 0) // left of the band lies what an earlier use of the row left there
                best = min_of(best, row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = min_of(best, before[j - 2] + 1);
            row[j] = min_of(best, max + 1);
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    unsigned distance = above[b_length];
    free(rows);
    return distance;
}

bool prg_nearest_offer(struct prg_nearest *nearest, const char *name)
{
    size_t length = strlen(nearest->text);
    unsigned most = length <= 3 ? 1 : length <= 6 ? 2 : 3;
    if (nearest->name)
        most = min_of(most, nearest->distance - 1);
    unsigned distance = strcasecmp(nearest->text, name) == 0 ? 1 : prg_text_distance(nearest->text, name, most);
    if (distance > most || strcmp(nearest->text, name) == 0)
        return false;
    nearest->name = name;
    nearest->distance = distance;
    return true;
}

const char *prg_text_nearest(const char *text, const char *const *names, size_t count)
{
    struct prg_nearest nearest = {.text = text};
    for (size_t i = 0; i < count; i++)
        prg_nearest_offer(&nearest, names[i]);
    return nearest.name;
}
