// SPDX-License-Identifier: Apache-2.0
// map.h: hash map from text (any bytes, by length) to a pointer. Keys are copied. Iteration in order of insertion.
#pragma once
#include "base/base.h"

struct prg_map_entry {
    const char *key;
    size_t key_length;
    void *value; // never NULL in a live entry; prg_map_put refuses it
    uint64_t hash;
};

struct prg_map {
    struct prg_map_entry *entries; // count_all entries, holes have key NULL
    size_t count;                  // live
    size_t count_all, cap;
    uint32_t *slots; // private
    size_t slot_count;
};

void prg_map_init(struct prg_map *map);
void prg_map_release(struct prg_map *map); // values are the caller's
void prg_map_clear(struct prg_map *map);
void *prg_map_get(const struct prg_map *map, const char *key); // NULL when absent
void *prg_map_getn(const struct prg_map *map, const char *key, size_t length);
void *prg_map_put(struct prg_map *map, const char *key, void *value); // returns the value replaced, or NULL
void *prg_map_putn(struct prg_map *map, const char *key, size_t length, void *value);
void *prg_map_remove(struct prg_map *map, const char *key); // returns the value removed, or NULL

// for (size_t i = 0; (e = prg_map_next(&map, &i));). Removing while iterating is fine, putting a new key is not.
const struct prg_map_entry *prg_map_next(const struct prg_map *map, size_t *index);

// The hash that the map uses (SipHash-1-3, random key per process), for tables of one's own. Never store it.
uint64_t prg_map_hash(const char *key, size_t length);
