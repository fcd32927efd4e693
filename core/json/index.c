// SPDX-License-Identifier: Apache-2.0
// index.c: hash tables over the children of one node.
#include "json/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

static void put(struct prg_json_index *index, const char *text, size_t length, cJSON *node)
{
    uint64_t hash = prg_map_hash(text, length);
    size_t i = hash & (index->slot_count - 1);
    while (index->slots[i].node)
        i = (i + 1) & (index->slot_count - 1);
    index->slots[i] = (struct prg_json_index_slot){hash, node};
}

void prg_json_index_members(struct prg_json_index *index, const cJSON *object)
{
    *index = (struct prg_json_index){.parent = object};
    size_t count = prg_json_is_object(object) ? prg_json_count(object) : 0;
    if (count <= PRG_JSON_INDEX_SMALL)
        return;
    index->slot_count = 64;
    while (index->slot_count < count * 2)
        index->slot_count *= 2;
    index->slots = prg_xcalloc(index->slot_count, sizeof(*index->slots));
    cJSON *member;
    prg_json_each (member, object)
        put(index, member->string, strlen(member->string), member);
}

void prg_json_index_release(struct prg_json_index *index)
{
    free(index->slots);
    *index = (struct prg_json_index){0};
}

cJSON *prg_json_index_get(const struct prg_json_index *index, const char *key)
{
    if (!index->slots)
        return prg_json_get(index->parent, key);
    uint64_t hash = prg_map_hash(key, strlen(key));
    for (size_t i = hash & (index->slot_count - 1); index->slots[i].node; i = (i + 1) & (index->slot_count - 1))
        if (index->slots[i].hash == hash && strcmp(index->slots[i].node->string, key) == 0)
            return index->slots[i].node;
    return NULL;
}
