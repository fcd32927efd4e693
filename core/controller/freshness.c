// SPDX-License-Identifier: Apache-2.0
// freshness.c: what each key is waiting to see.
#include "controller/freshness.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "object/meta.h"

struct awaited { // of one key
    struct prg_arena arena;
    struct prg_vec written; // struct prg_written, in arena
    uint64_t until_ms;
};

struct prg_freshness {
    struct prg_map keys; // struct awaited
};

struct prg_freshness *prg_freshness_new(void)
{
    struct prg_freshness *freshness = prg_xcalloc(1, sizeof(*freshness));
    prg_map_init(&freshness->keys);
    return freshness;
}

static void awaited_free(struct awaited *awaited)
{
    if (!awaited)
        return;
    prg_vec_release(&awaited->written);
    prg_arena_release(&awaited->arena);
    free(awaited);
}

void prg_freshness_free(struct prg_freshness *freshness)
{
    const struct prg_map_entry *entry;
    if (!freshness)
        return;
    for (size_t i = 0; (entry = prg_map_next(&freshness->keys, &i));)
        awaited_free(entry->value);
    prg_map_release(&freshness->keys);
    free(freshness);
}

static void add_written(const struct prg_written *written, void *ctx)
{
    struct awaited *awaited = ctx;
    struct prg_arena *arena = &awaited->arena;
    struct prg_written *copy = prg_arena_new(arena, struct prg_written);
    const struct prg_key *key = &written->key;
    *copy = (struct prg_written){
        .key = {prg_arena_strdup(arena, key->group), prg_arena_strdup(arena, key->kind),
                prg_arena_strdup(arena, key->ns), prg_arena_strdup(arena, key->name)},
        .uid = prg_arena_strdup(arena, written->uid),
        .version = prg_arena_strdup(arena, written->version),
        .is_gone = written->is_gone,
    };
    prg_vec_push(&awaited->written, copy);
}

void prg_freshness_note(struct prg_freshness *freshness, const char *key, const struct prg_reconcile *reconcile,
                        uint64_t now_ms)
{
    struct awaited *awaited = prg_xcalloc(1, sizeof(*awaited));
    prg_arena_init(&awaited->arena);
    prg_vec_init(&awaited->written);
    awaited->until_ms = now_ms + PRG_FRESHNESS_MS;
    prg_reconcile_each_written(reconcile, add_written, awaited);
    if (awaited->written.count) {
        awaited_free(prg_map_put(&freshness->keys, key, awaited));
        return;
    }
    awaited_free(awaited);
    awaited_free(prg_map_remove(&freshness->keys, key));
}

static bool is_version(const char *text)
{
    return *text && *text != '0' && strspn(text, "0123456789") == strlen(text);
}

bool prg_freshness_is_reached(const char *a, const char *b)
{
    size_t length_a = strlen(a), length_b = strlen(b);
    if (!is_version(a) || !is_version(b))
        return strcmp(a, b) == 0;
    return length_a != length_b ? length_a > length_b : strcmp(a, b) >= 0;
}

static bool is_seen(const struct prg_written *written, const struct prg_reader *reader)
{
    const cJSON *object = reader->get(reader, &written->key);
    bool is_same = object && strcmp(prg_meta_uid(object), written->uid) == 0;
    const char *version = prg_json_get_text(prg_json_get(object, "metadata"), "resourceVersion");
    if (written->is_gone) // or about to be: its pods may have to go first
        return !is_same || prg_meta_is_deleting(object);
    return version && prg_freshness_is_reached(version, written->version);
}

uint64_t prg_freshness_wait_ms(struct prg_freshness *freshness, const char *key, const struct prg_reader *reader,
                               uint64_t now_ms)
{
    struct awaited *awaited = prg_map_get(&freshness->keys, key);
    if (!awaited)
        return 0;
    bool is_waiting = now_ms < awaited->until_ms;
    for (size_t i = 0; is_waiting && i < awaited->written.count; i++)
        if (!is_seen(awaited->written.items[i], reader))
            return awaited->until_ms - now_ms;
    awaited_free(prg_map_remove(&freshness->keys, key));
    return 0;
}
