// SPDX-License-Identifier: Apache-2.0
// vec.h: a growing array of pointers on the heap.
#pragma once
#include "base/base.h"

struct prg_vec {
    void **items;
    size_t count, cap;
};

void prg_vec_init(struct prg_vec *vec);
void prg_vec_release(struct prg_vec *vec); // frees the array, not what it points to
void prg_vec_push(struct prg_vec *vec, void *item);
// Orders two items (not pointers to them): < 0, 0, > 0.
typedef int (*prg_compare_fn)(const void *a, const void *b, void *ctx);
void prg_vec_sort(struct prg_vec *vec, prg_compare_fn compare, void *ctx);    // stable
void prg_sort(void **items, size_t count, prg_compare_fn compare, void *ctx); // the same for a plain array
