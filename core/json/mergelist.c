// SPDX-License-Identifier: Apache-2.0
// mergelist.c: types, errors and key tables of strategic merge patches.
#include "json/mergelist.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "json/number.h"

#define SMALL 16 // tables of up to this many keys are searched from front to back

const struct prg_schema_field *prg_mergelist_member(const struct prg_schema_field *type, const char *key,
                                                    struct prg_schema_field *buffer)
{
    if (!type || !type->type)
        return NULL;
    if (type->kind == PRG_KIND_OBJECT)
        return prg_schema_find(type->type, key);
    if (type->kind != PRG_KIND_MAP || type->element != PRG_KIND_OBJECT)
        return NULL;
    *buffer = (struct prg_schema_field){.kind = PRG_KIND_OBJECT, .type = type->type};
    return buffer;
}

const struct prg_schema_field *prg_mergelist_entry(const struct prg_schema_field *type, struct prg_schema_field *buffer)
{
    if (!type || type->kind != PRG_KIND_LIST || type->element != PRG_KIND_OBJECT || !type->type)
        return NULL;
    *buffer = (struct prg_schema_field){.kind = PRG_KIND_OBJECT, .type = type->type};
    return buffer;
}

int prg_mergelist_fail(struct prg_error *err, const struct prg_step *at, const char *format, ...)
{
    char text[PRG_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    prg_auto_strbuf pointer = PRG_STRBUF_INIT;
    prg_pointer_push_steps(&pointer, at);
    return prg_fail(err, PRG_INVALID, "%s%s%s", pointer.text, pointer.length ? ": " : "", text);
}

static bool is_same_type(const cJSON *a, const cJSON *b)
{
    return (a->type & 0xff) == (b->type & 0xff) || (prg_json_is_bool(a) && prg_json_is_bool(b));
}

int prg_mergelist_kind(struct prg_error *err, const struct prg_step *at, const cJSON *a, const cJSON *b,
                       bool *ret_objects)
{
    const cJSON *lists[] = {a, b}, *first = NULL, *item;
    for (size_t i = 0; i < PRG_COUNT(lists); i++) {
        prg_json_each (item, lists[i]) {
            if (!first)
                first = item;
            if (prg_json_is_array(item) || prg_json_is_null(item))
                return prg_mergelist_fail(err, at, "a merged list cannot hold %s",
                                          prg_json_is_null(item) ? "null" : "lists");
            if (!is_same_type(item, first))
                return prg_mergelist_fail(err, at, "the entries of a merged list must be of one type, not %s and %s",
                                          prg_json_type_name(first), prg_json_type_name(item));
        }
    }
    *ret_objects = prg_json_is_object(first);
    return PRG_OK;
}

int prg_mergelist_key(struct prg_error *err, const struct prg_step *at, const char *merge_key, const cJSON *entry,
                      size_t index, const cJSON **ret)
{
    struct prg_step place = {at, NULL, index};
    const cJSON *key = entry;
    if (merge_key) {
        if (!prg_json_is_object(entry))
            return prg_mergelist_fail(err, &place, "must be an object with '%s', but is of type %s", merge_key,
                                      prg_json_type_name(entry));
        key = prg_json_get(entry, merge_key);
        if (!key)
            return prg_mergelist_fail(err, &place, "'%s' is missing; entries of this list are merged by it", merge_key);
    }
    if (prg_json_is_object(key) || prg_json_is_array(key))
        return prg_mergelist_fail(err, &place, "%s%s must be a plain value, but is of type %s",
                                  merge_key ? merge_key : "", merge_key ? "" : "the entry", prg_json_type_name(key));
    *ret = key;
    return PRG_OK;
}

// ---- key tables ----

static uint64_t hash_of(const cJSON *key)
{
    if (prg_json_is_string(key))
        return prg_map_hash(key->valuestring, (size_t)key->valueint);
    if (!prg_json_is_number(key))
        return prg_json_is_true(key);
    // Equal numbers have equal doubles, however they are written.
    double value = prg_json_as_double(key);
    if (value == 0)
        value = 0; // not -0
    return prg_map_hash((const char *)&value, sizeof(value));
}

void prg_key_table_init(struct prg_key_table *table, struct prg_arena *arena, size_t max_count)
{
    *table = (struct prg_key_table){.cap = max_count, .is_hashed = max_count > SMALL};
    if (table->is_hashed)
        for (table->cap = 64; table->cap < max_count * 2;)
            table->cap *= 2;
    table->slots = prg_arena_array(arena, struct prg_key_slot, table->cap);
}

static bool is_same_key(const cJSON *a, const cJSON *b)
{
    if (!prg_json_is_string(a) || !prg_json_is_string(b))
        return prg_json_equal(a, b);
    return a->valueint == b->valueint && memcmp(a->valuestring, b->valuestring, (size_t)a->valueint) == 0;
}

// The slot that holds key, or the one it belongs into.
static struct prg_key_slot *find_slot(const struct prg_key_table *table, const cJSON *key, uint64_t hash)
{
    if (!table->is_hashed) {
        struct prg_key_slot *slot = table->slots, *end = table->slots + table->count;
        while (slot < end && !is_same_key(slot->key, key))
            slot++;
        return slot;
    }
    size_t i = hash & (table->cap - 1);
    for (; table->slots[i].key; i = (i + 1) & (table->cap - 1))
        if (table->slots[i].hash == hash && prg_json_equal(table->slots[i].key, key))
            break;
    return &table->slots[i];
}

void prg_key_table_add(struct prg_key_table *table, const cJSON *key, size_t place)
{
    uint64_t hash = table->is_hashed ? hash_of(key) : 0;
    struct prg_key_slot *slot = find_slot(table, key, hash);
    if (slot < table->slots + table->cap && slot->key)
        return;
    prg_require(table->count < table->cap);
    *slot = (struct prg_key_slot){key, hash, place};
    table->count++;
}

size_t prg_key_table_find(const struct prg_key_table *table, const cJSON *key)
{
    if (!table->count)
        return PRG_NO_PLACE;
    const struct prg_key_slot *slot = find_slot(table, key, table->is_hashed ? hash_of(key) : 0);
    if (slot >= table->slots + table->cap || !slot->key)
        return PRG_NO_PLACE;
    return slot->place;
}
