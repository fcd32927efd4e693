// SPDX-License-Identifier: Apache-2.0
// slow_store.h: a store in memory whose writes wait until the test lets them through, as those of an API server do.
#pragma once
#include "store/store.h"

struct slow_store {
    struct prg_store store;  // first
    struct prg_store *inner; // in memory: what is there
    struct slow_write *first, *last;
    size_t open, versions;
};

struct slow_write {
    struct slow_write *next;
    struct prg_arena arena;
    struct prg_write_request request;
    prg_write_fn fn;
    void *ctx;
};

void slow_store_init(struct slow_store *slow);
void slow_store_release(struct slow_store *slow);
// The oldest write that waits, or NULL.
const struct slow_write *slow_store_next(const struct slow_store *slow);
// Does the oldest and calls back, with the object as a server would answer it (a resourceVersion that counts up).
// is_seen: readers see it; else they go on seeing what was before.
void slow_store_answer(struct slow_store *slow, bool is_seen);
void slow_store_answer_all(struct slow_store *slow);
// Does the oldest, but the answer is lost: calls back with a failure that says so.
void slow_store_lose(struct slow_store *slow);
// Calls back with a failure (the first: PRG_IO); nothing is done.
void slow_store_refuse(struct slow_store *slow, enum prg_write_retry retry, uint64_t retry_after_ms);
void slow_store_refuse_as(struct slow_store *slow, enum prg_code code, enum prg_write_retry retry,
                          uint64_t retry_after_ms);
