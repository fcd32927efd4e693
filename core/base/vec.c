// SPDX-License-Identifier: Apache-2.0
// vec.c: a growing array of pointers, and a stable sort of such arrays.
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void prg_vec_init(struct prg_vec *vec)
{
    *vec = (struct prg_vec){0};
}

void prg_vec_release(struct prg_vec *vec)
{
    free(vec->items);
    prg_vec_init(vec);
}

void prg_vec_push(struct prg_vec *vec, void *item)
{
    if (vec->count == vec->cap) {
        vec->cap = vec->cap ? vec->cap * 2 : 4;
        vec->items = prg_xrealloc(vec->items, vec->cap * sizeof(*vec->items));
    }
    vec->items[vec->count++] = item;
}

void prg_vec_sort(struct prg_vec *vec, prg_compare_fn compare, void *ctx)
{
    prg_sort(vec->items, vec->count, compare, ctx);
}

// Runs of this length are sorted by insertion, then merged pairwise.
#define RUN 12

static void sort_run(void **items, size_t count, prg_compare_fn compare, void *ctx)
{
    for (size_t i = 1; i < count; i++) {
        void *item = items[i];
        size_t j = i;
        for (; j > 0 && compare(items[j - 1], item, ctx) > 0; j--)
            items[j] = items[j - 1];
        items[j] = item;
    }
}

static void merge_runs(void **from, void **to, size_t middle, size_t end, prg_compare_fn compare, void *ctx)
{
    size_t left = 0, right = middle;
    for (size_t i = 0; i < end; i++) {
        bool take_left = left < middle && (right >= end || compare(from[left], from[right], ctx) <= 0);
        to[i] = take_left ? from[left++] : from[right++];
    }
}

void prg_sort(void **items, size_t count, prg_compare_fn compare, void *ctx)
{
    for (size_t i = 0; i < count; i += RUN)
        sort_run(items + i, count - i < RUN ? count - i : RUN, compare, ctx);
    if (count <= RUN)
        return;
    void **scratch = prg_xmalloc(count * sizeof(*scratch));
    void **from = items, **to = scratch;
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t rest = count - i;
            size_t middle = rest < width ? rest : width, end = rest < 2 * width ? rest : 2 * width;
            merge_runs(from + i, to + i, middle, end, compare, ctx);
        }
        void **sorted = to;
        to = from;
        from = sorted;
    }
    if (from != items)
        memcpy(items, from, count * sizeof(*items));
    free(scratch);
}
