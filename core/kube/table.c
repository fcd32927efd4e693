// SPDX-License-Identifier: Apache-2.0
// table.c: open addressing, step by step, without marks for what was removed: those behind move up.
#include "kube/table.h"

#include <stdlib.h>

#define SMALLEST 16

void prg_hash_table_release(struct prg_hash_table *table)
{
    free(table->slots);
    *table = (struct prg_hash_table){0};
}

void *prg_hash_table_find(const struct prg_hash_table *table, uint64_t hash, prg_hash_table_is_fn is, const void *key)
{
    size_t mask = table->size - 1;
    for (size_t i = hash & mask; table->size && table->slots[i].item; i = (i + 1) & mask)
        if (table->slots[i].hash == hash && is(table->slots[i].item, key))
            return table->slots[i].item;
    return NULL;
}

static void fill(struct prg_hash_table *table, uint64_t hash, void *item)
{
    size_t mask = table->size - 1, i = hash & mask;
    while (table->slots[i].item)
        i = (i + 1) & mask;
    table->slots[i] = (struct prg_hash_table_slot){hash, item};
}

static void resize(struct prg_hash_table *table, size_t size)
{
    struct prg_hash_table before = *table;
    table->slots = prg_xcalloc(size, sizeof(*table->slots));
    table->size = size;
    for (size_t i = 0; i < before.size; i++)
        if (before.slots[i].item)
            fill(table, before.slots[i].hash, before.slots[i].item);
    free(before.slots);
}

void prg_hash_table_add(struct prg_hash_table *table, uint64_t hash, void *item)
{
    prg_require(item);
    if ((table->count + 1) * 2 > table->size)
        resize(table, table->size ? table->size * 2 : SMALLEST);
    fill(table, hash, item);
    table->count++;
}

static size_t slot_of(const struct prg_hash_table *table, uint64_t hash, const void *item)
{
    size_t mask = table->size - 1, i = hash & mask;
    prg_require(table->size);
    while (table->slots[i].item != item) {
        prg_require(table->slots[i].item);
        i = (i + 1) & mask;
    }
    return i;
}

void prg_hash_table_replace(struct prg_hash_table *table, uint64_t hash, const void *old, void *item)
{
    table->slots[slot_of(table, hash, old)].item = item;
}

void prg_hash_table_remove(struct prg_hash_table *table, uint64_t hash, const void *item)
{
    size_t mask = table->size - 1, hole = slot_of(table, hash, item);
    // One behind moves into the hole unless its own way begins behind the hole.
    for (size_t i = (hole + 1) & mask; table->slots[i].item; i = (i + 1) & mask) {
        size_t home = table->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        table->slots[hole] = table->slots[i];
        hole = i;
    }
    table->slots[hole] = (struct prg_hash_table_slot){0};
    table->count--;
    if (table->size > SMALLEST && table->count * 8 < table->size)
        resize(table, table->size / 2);
}

void *prg_hash_table_next(const struct prg_hash_table *table, size_t *index)
{
    while (*index < table->size) {
        void *item = table->slots[(*index)++].item;
        if (item)
            return item;
    }
    return NULL;
}
