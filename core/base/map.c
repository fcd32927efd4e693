// SPDX-License-Identifier: Apache-2.0
// map.c: hash map from text to pointer: entries in order of insertion, and open addressing over their indexes.
//
// Keys come from files and the network, so the hash is SipHash-1-3 with a random key per process: nobody can choose
// keys that all collide. Nothing visible depends on it, as iteration goes by insertion.
#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define SLOT_FREE 0u
#define SLOT_REMOVED UINT32_MAX // any other slot is an index into entries, plus one
#define SMALLEST_SLOTS 16

static uint64_t hash_key[2];
static pthread_once_t hash_key_once = PTHREAD_ONCE_INIT;

static void make_hash_key(void)
{
    if (getrandom(hash_key, sizeof(hash_key), GRND_NONBLOCK) != (ssize_t)sizeof(hash_key)) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        hash_key[0] = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u;
        hash_key[1] = (uint64_t)(uintptr_t)&now;
    }
}

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

uint64_t prg_map_hash(const char *key, size_t length)
{
    pthread_once(&hash_key_once, make_hash_key);
    uint64_t v[4] = {hash_key[0] ^ 0x736f6d6570736575u, hash_key[1] ^ 0x646f72616e646f6du,
                     hash_key[0] ^ 0x6c7967656e657261u, hash_key[1] ^ 0x7465646279746573u};
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, key + i, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)length << 56;
    if (length > i)
        memcpy(&last, key + i, length - i); // the length's byte is never reached: fewer than 8 are left
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void prg_map_init(struct prg_map *map)
{
    *map = (struct prg_map){0};
}

void prg_map_release(struct prg_map *map)
{
    for (size_t i = 0; i < map->count_all; i++)
        free((char *)map->entries[i].key);
    free(map->entries);
    free(map->slots);
    prg_map_init(map);
}

void prg_map_clear(struct prg_map *map)
{
    for (size_t i = 0; i < map->count_all; i++)
        free((char *)map->entries[i].key);
    if (map->slots)
        memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
    map->count = map->count_all = 0;
}

// The slot that holds key, or NULL.
static uint32_t *find_slot(const struct prg_map *map, const char *key, size_t length, uint64_t hash)
{
    if (!map->count)
        return NULL;
    for (size_t i = hash & (map->slot_count - 1);; i = (i + 1) & (map->slot_count - 1)) {
        uint32_t slot = map->slots[i];
        if (slot == SLOT_FREE)
            return NULL;
        if (slot == SLOT_REMOVED)
            continue;
        const struct prg_map_entry *entry = &map->entries[slot - 1];
        if (entry->hash == hash && entry->key_length == length && memcmp(entry->key, key, length) == 0)
            return &map->slots[i];
    }
}

static void fill_slot(struct prg_map *map, size_t index)
{
    size_t i = map->entries[index].hash & (map->slot_count - 1);
    while (map->slots[i] != SLOT_FREE)
        i = (i + 1) & (map->slot_count - 1);
    map->slots[i] = (uint32_t)(index + 1);
}

// Closes the holes that removals left and makes the slots fit; at most half of them are in use afterwards.
static void rebuild(struct prg_map *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->count_all; i++)
        if (map->entries[i].key)
            map->entries[kept++] = map->entries[i];
    map->count_all = kept;
    size_t slot_count = SMALLEST_SLOTS;
    while (slot_count < (kept + 1) * 2)
        slot_count *= 2;
    prg_require(slot_count < UINT32_MAX);
    if (slot_count != map->slot_count) {
        free(map->slots);
        map->slots = prg_xcalloc(slot_count, sizeof(*map->slots));
        map->slot_count = slot_count;
    } else {
        memset(map->slots, 0, slot_count * sizeof(*map->slots));
    }
    for (size_t i = 0; i < kept; i++)
        fill_slot(map, i);
}

void *prg_map_get(const struct prg_map *map, const char *key)
{
    return prg_map_getn(map, key, strlen(key));
}

void *prg_map_getn(const struct prg_map *map, const char *key, size_t length)
{
    if (!map->count)
        return NULL;
    const uint32_t *slot = find_slot(map, key, length, prg_map_hash(key, length));
    return slot ? map->entries[*slot - 1].value : NULL;
}

void *prg_map_put(struct prg_map *map, const char *key, void *value)
{
    return prg_map_putn(map, key, strlen(key), value);
}

void *prg_map_putn(struct prg_map *map, const char *key, size_t length, void *value)
{
    prg_require(value);
    uint64_t hash = prg_map_hash(key, length);
    const uint32_t *slot = find_slot(map, key, length, hash);
    if (slot) {
        struct prg_map_entry *entry = &map->entries[*slot - 1];
        void *replaced = entry->value;
        entry->value = value;
        return replaced;
    }
    // Removed entries still fill slots, so they count for the load.
    if ((map->count_all + 1) * 4 > map->slot_count * 3)
        rebuild(map);
    if (map->count_all == map->cap) {
        map->cap = map->cap ? map->cap * 2 : 8;
        map->entries = prg_xrealloc(map->entries, map->cap * sizeof(*map->entries));
    }
    map->entries[map->count_all] = (struct prg_map_entry){prg_xstrndup(key, length), length, value, hash};
    fill_slot(map, map->count_all);
    map->count_all++;
    map->count++;
    return NULL;
}

void *prg_map_remove(struct prg_map *map, const char *key)
{
    size_t length = strlen(key);
    uint32_t *slot = find_slot(map, key, length, prg_map_hash(key, length));
    if (!slot)
        return NULL;
    struct prg_map_entry *entry = &map->entries[*slot - 1];
    void *removed = entry->value;
    free((char *)entry->key);
    *entry = (struct prg_map_entry){0};
    *slot = SLOT_REMOVED;
    map->count--;
    return removed;
}

const struct prg_map_entry *prg_map_next(const struct prg_map *map, size_t *index)
{
    while (*index < map->count_all) {
        const struct prg_map_entry *entry = &map->entries[(*index)++];
        if (entry->key)
            return entry;
    }
    return NULL;
}
