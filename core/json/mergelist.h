// SPDX-License-Identifier: Apache-2.0
// mergelist.h: what applying and creating a strategic merge patch have in common: the types of members and entries, the
// place at hand for errors, and tables that find list entries by their merge key. Private to core/json.
#pragma once
#include "json/pointer.h"
#include "json/schema.h"

#define PRG_DIRECTIVE "$patch"
#define PRG_RETAIN_KEYS "$retainKeys"
#define PRG_SET_ORDER "$setElementOrder"
#define PRG_DELETE_ITEMS "$deleteFromPrimitiveList"

// ---- types ----
// The type of an object's member, NULL when it is not known. `type` describes the object (NULL: not known either);
// buffer may be written to and must live as long as the result.
const struct prg_schema_field *prg_mergelist_member(const struct prg_schema_field *type, const char *key,
                                                    struct prg_schema_field *buffer);
// The type of the entries of a list.
const struct prg_schema_field *prg_mergelist_entry(const struct prg_schema_field *type,
                                                   struct prg_schema_field *buffer);
static inline bool prg_mergelist_is_merged(const struct prg_schema_field *field)
{
    return field && field->kind == PRG_KIND_LIST && (field->flags & PRG_FIELD_MERGE);
}

// ---- the place at hand ----
// Fails PRG_INVALID with the JSON pointer of the place in front.
int prg_mergelist_fail(struct prg_error *err, const struct prg_step *at, const char *format, ...) PRG_PRINTF(3, 4);

// ---- entries ----
// Checks that the entries of both lists (either may be NULL) are all objects or all scalars of one type, as
// sliceElementType does. *ret_objects says which; false as well when there are none.
int prg_mergelist_kind(struct prg_error *err, const struct prg_step *at, const cJSON *a, const cJSON *b,
                       bool *ret_objects);
// What identifies an entry: its member merge_key, or itself when merge_key is NULL. A scalar always.
int prg_mergelist_key(struct prg_error *err, const struct prg_step *at, const char *merge_key, const cJSON *entry,
                      size_t index, const cJSON **ret);

// ---- tables from key to place in a list ----
#define PRG_NO_PLACE SIZE_MAX
struct prg_key_slot {
    const cJSON *key;
    uint64_t hash;
    size_t place;
};
struct prg_key_table {
    struct prg_key_slot *slots; // in the arena; in order of insertion while small, a hash table otherwise
    size_t count, cap;
    bool is_hashed;
};
void prg_key_table_init(struct prg_key_table *table, struct prg_arena *arena, size_t max_count);
void prg_key_table_add(struct prg_key_table *table, const cJSON *key, size_t place); // the first place of a key stays
size_t prg_key_table_find(const struct prg_key_table *table, const cJSON *key);
