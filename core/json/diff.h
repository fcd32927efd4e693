// SPDX-License-Identifier: Apache-2.0
// diff.h: the differences between two trees as a flat list, in document order of the first, for people and for tests.
#pragma once
#include "json/value.h"

struct prg_diff_entry {
    const char *pointer;    // JSON pointer
    const cJSON *from, *to; // NULL when absent on that side
};
typedef void (*prg_diff_fn)(const struct prg_diff_entry *entry, void *ctx);
// Calls fn once per differing leaf or added/removed subtree; returns their number. fn may be NULL (count only).
size_t prg_diff(const cJSON *from, const cJSON *to, prg_diff_fn fn, void *ctx);
