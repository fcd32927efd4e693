// SPDX-License-Identifier: Apache-2.0
// store_mem.h: objects in memory: what `plan -f` reads, the fake of the tests, and the index of the folder store.
// Lookups are by hash, lists are kept sorted per kind.
#pragma once
#include "store/store.h"

struct prg_store *prg_store_mem_new(void);
// Adds or replaces an object. The tree is borrowed when borrow is true (it must outlive the store or its own
// replacement or removal), else copied. PRG_CONFLICT when the key is there already and replace is false.
int prg_store_mem_put(struct prg_store *store, const cJSON *object, bool borrow, bool replace,
                      struct prg_error *err) PRG_MUST_USE;
// Takes the object out, if it is there. A borrowed tree is the caller's again.
bool prg_store_mem_drop(struct prg_store *store, const struct prg_key *key);
size_t prg_store_mem_count(const struct prg_store *store);

// The Events recorded so far, equal ones counted, in the order in which they first came. Texts are borrowed.
typedef void (*prg_store_mem_event_fn)(const struct prg_key *key, const struct prg_store_event *event, unsigned count,
                                       void *ctx);
void prg_store_mem_each_event(const struct prg_store *store, prg_store_mem_event_fn visit, void *ctx);
