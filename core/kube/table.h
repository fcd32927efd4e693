// SPDX-License-Identifier: Apache-2.0
// table.h: a hash table of pointers that know their key themselves: what the cache's indexes are looked up in. Hash and
// pointer lie side by side, so that a lookup among many objects costs one miss of the processor's cache before the
// object itself; base/map.h, which copies keys and keeps an order, costs three.
#pragma once
#include "base/base.h"

struct prg_hash_table_slot {
    uint64_t hash;
    void *item; // NULL: free
};

struct prg_hash_table { // zeroed: empty
    struct prg_hash_table_slot *slots;
    size_t count, size; // slots: a power of two, at most half of them in use
};

typedef bool (*prg_hash_table_is_fn)(const void *item, const void *key);

void prg_hash_table_release(struct prg_hash_table *table); // items are the caller's
void *prg_hash_table_find(const struct prg_hash_table *table, uint64_t hash, prg_hash_table_is_fn is,
                          const void *key);                                       // or NULL
void prg_hash_table_add(struct prg_hash_table *table, uint64_t hash, void *item); // one that is not there
// item takes the place of old, which is there and has the same hash.
void prg_hash_table_replace(struct prg_hash_table *table, uint64_t hash, const void *old, void *item);
void prg_hash_table_remove(struct prg_hash_table *table, uint64_t hash, const void *item); // which is there
// for (size_t i = 0; (item = prg_hash_table_next(&table, &i));) in no order; nothing may change meanwhile.
void *prg_hash_table_next(const struct prg_hash_table *table, size_t *index);
