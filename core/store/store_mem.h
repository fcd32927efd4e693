// SPDX-License-Identifier: Apache-2.0
// store_mem.h: objects in memory: what `plan -f` reads, and the fake of the tests. Lookups are by hash, lists are kept
// sorted per kind.
#pragma once
#include "store/store.h"

struct prg_store *prg_store_mem_new(void);
// Adds or replaces an object. The tree is borrowed when borrow is true (it must outlive the store), else copied.
// PRG_CONFLICT when the key is there already and replace is false.
int prg_store_mem_put(struct prg_store *store, const cJSON *object, bool borrow, bool replace,
                      struct prg_error *err) PRG_MUST_USE;
