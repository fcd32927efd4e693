// SPDX-License-Identifier: Apache-2.0
// index.h: finding members of an object, or list entries by a value, without walking the list each time.
//
// Small parents are walked; from 17 children on a hash table is built, once. Borrows the tree: it must not change
// while the index is in use.
#pragma once
#include "json/value.h"

#define PRG_JSON_INDEX_SMALL 16

struct prg_json_index_slot {
    uint64_t hash;
    cJSON *node;
};
struct prg_json_index {
    const cJSON *parent;
    struct prg_json_index_slot *slots; // NULL for a small parent
    size_t slot_count;
};

void prg_json_index_members(struct prg_json_index *index, const cJSON *object); // NULL: an empty one
void prg_json_index_release(struct prg_json_index *index);
cJSON *prg_json_index_get(const struct prg_json_index *index, const char *key); // NULL when absent
