// SPDX-License-Identifier: Apache-2.0
// metadata.h: labels and annotations as maps of texts: filtering and merging them. Pure; what the policies decide is in
// metadata.c. Results are new objects in arena whose members are sorted by key, so that the order in which somebody
// wrote a map shows nowhere.
#pragma once
#include "json/value.h"

// The members of object in the order of their keys, as an array in arena; not an object: none.
const cJSON **prg_members_sorted(struct prg_arena *arena, const cJSON *object, size_t *ret_count);

// utils.Filter with a disallowed list: the members whose key is not in disallowed (an array of texts, or NULL).
cJSON *prg_meta_filter(struct prg_arena *arena, const cJSON *map, const cJSON *disallowed);

// utils.Union: the members of all layers, later layers win. Layers may be NULL.
cJSON *prg_meta_union(struct prg_arena *arena, const cJSON *const *layers, size_t count);
