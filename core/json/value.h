// SPDX-License-Identifier: Apache-2.0
// value.h: the JSON tree. Nodes are cJSON structs, but they are made, read and printed only here: cJSON's own reader
// and printer lose numbers, NUL bytes and letter case.
//
// Differences to a stock cJSON tree, so that nothing is lost:
//   - every node and text lives in a prg_arena; there is no free, a tree dies with its arena; never call cJSON_Delete;
//   - numbers keep their text in valuestring ("1e3", "9007199254740993"); valuedouble is not the value;
//   - strings may hold NUL; their length is in valueint; of containers it is prg_json_identity;
//   - the place in the source (line, column) is kept in the bits of valuedouble, see prg_json_position;
//   - the high byte of type holds an origin tag, see prg_json_origin: which layer a node came from;
//   - keys are unique within an object, compared byte for byte, and hold no NUL.
// Trees that came from a store or a file are const: copy before changing. Depth is bounded by the readers
// (PRG_JSON_DEPTH).
#pragma once
#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

#define PRG_JSON_DEPTH 128 // deepest nesting any reader or converter accepts

// ---- making ----
cJSON *prg_json_object(struct prg_arena *arena);
cJSON *prg_json_array(struct prg_arena *arena);
cJSON *prg_json_string(struct prg_arena *arena, const char *text);
cJSON *prg_json_stringn(struct prg_arena *arena, const char *text, size_t length);
cJSON *prg_json_stringf(struct prg_arena *arena, const char *format, ...) PRG_PRINTF(2, 3);
cJSON *prg_json_int(struct prg_arena *arena, int64_t value);
cJSON *prg_json_double(struct prg_arena *arena, double value); // shortest text that reads back the same; finite only
cJSON *prg_json_number(struct prg_arena *arena, const char *text); // text must be a JSON number, kept as it is
cJSON *prg_json_bool(struct prg_arena *arena, bool value);
cJSON *prg_json_null(struct prg_arena *arena);
cJSON *prg_json_copy(struct prg_arena *arena,
                     const cJSON *node); // deep; keeps positions and origins; key is not copied
cJSON *prg_json_copy_empty(struct prg_arena *arena,
                           const cJSON *container); // an object or array without its children, else as above

// A deep copy that shares the texts and keys of node, which nobody ever writes to: for trees of one arena, or where
// node lives longer than the copy.
cJSON *prg_json_clone(struct prg_arena *arena, const cJSON *node);
static inline cJSON *prg_json_clone_empty(struct prg_arena *arena, const cJSON *node); // not NULL; see below
// A second head for a tree that stays where it is, to be a member or item elsewhere; null for NULL. Texts and children
// are shared: neither side may change the children while the other is in use.
cJSON *prg_json_reference(struct prg_arena *arena, const cJSON *node);

// A number that no other tree of this process has or had, given to root, an object or array, when it is first asked
// for: for caches of what was made of a tree. From then on the tree must not change; a copy of it has none yet. 0:
// there are none left.
uint32_t prg_json_identity(const cJSON *root);

// ---- changing (only trees of your own) ----
// Sets object[key] = value: replaces in place or appends. Copies key. value must not be in another tree.
void prg_json_set(struct prg_arena *arena, cJSON *object, const char *key, cJSON *value);
// Appends object[key] = value without looking for key: for callers who know that it is not there yet.
void prg_json_add(struct prg_arena *arena, cJSON *object, const char *key, cJSON *value);
// The same, with a key that is shared: a literal, or a text that lives as long as object.
static inline void prg_json_add_shared(cJSON *object, const char *key, cJSON *value);
void prg_json_set_string(struct prg_arena *arena, cJSON *object, const char *key,
                         const char *text); // NULL text: does nothing
void prg_json_set_int(struct prg_arena *arena, cJSON *object, const char *key, int64_t value);
void prg_json_set_bool(struct prg_arena *arena, cJSON *object, const char *key, bool value);
void prg_json_append(cJSON *array, cJSON *value);
void prg_json_insert(cJSON *array, size_t index, cJSON *value);   // index beyond the end appends
cJSON *prg_json_remove(cJSON *object, const char *key);           // detached member, or NULL
void prg_json_detach(cJSON *parent, cJSON *child);                // child must be in parent
void prg_json_replace(cJSON *parent, cJSON *child, cJSON *value); // value takes child's place and key
// Returns the object member key, made as an empty object or array when absent or of another type.
cJSON *prg_json_ensure_object(struct prg_arena *arena, cJSON *object, const char *key);
cJSON *prg_json_ensure_array(struct prg_arena *arena, cJSON *object, const char *key);

// ---- reading (NULL nodes are fine everywhere and read as absent) ----
static inline bool prg_json_is_object(const cJSON *node)
{
    return node && (node->type & 0xff) == cJSON_Object;
}
static inline bool prg_json_is_array(const cJSON *node)
{
    return node && (node->type & 0xff) == cJSON_Array;
}
static inline bool prg_json_is_string(const cJSON *node)
{
    return node && (node->type & 0xff) == cJSON_String;
}
static inline bool prg_json_is_number(const cJSON *node)
{
    return node && (node->type & 0xff) == cJSON_Number;
}
static inline bool prg_json_is_bool(const cJSON *node)
{
    return node && (node->type & (cJSON_True | cJSON_False));
}
static inline bool prg_json_is_true(const cJSON *node)
{
    return node && (node->type & 0xff) == cJSON_True;
}
static inline bool prg_json_is_null(const cJSON *node)
{
    return node && (node->type & 0xff) == cJSON_NULL;
}
const char *
prg_json_type_name(const cJSON *node); // "object", "array", "string", "number", "boolean", "null", "nothing"

#define prg_json_each(item, parent) for ((item) = (parent) ? (parent)->child : NULL; (item); (item) = (item)->next)

// Member of an object, or NULL (absent, or not an object). Like strchr the result is not const: change it only in trees
// of your own.
cJSON *prg_json_get(const cJSON *object, const char *key);
cJSON *prg_json_item(const cJSON *array, size_t index); // NULL beyond the end
size_t prg_json_count(const cJSON *node);               // items or members
// prg_json_at(node, "spec", "predictor"): member of a member …, NULL as soon as one is missing.
#define prg_json_at(node, ...) prg_json_at_path((node), (const char *const[]){__VA_ARGS__, NULL})
cJSON *prg_json_at_path(const cJSON *node, const char *const *keys);

const char *prg_json_text(const cJSON *node);     // string's text or NULL
size_t prg_json_text_length(const cJSON *string); // may be longer than strlen
const char *prg_json_get_text(const cJSON *object, const char *key);
const char *prg_json_number_text(const cJSON *node); // number's text or NULL
bool prg_json_int64(const cJSON *node,
                    int64_t *ret); // a number that is a whole number within int64 ("3", "3.0", "1e2"), exactly
bool prg_json_get_int64(const cJSON *object, const char *key, int64_t *ret);
bool prg_json_get_true(const cJSON *object, const char *key); // member is the boolean true
double prg_json_as_double(const cJSON *number);               // nearest double

// Same value: key order free, list order counts, numbers by exact numeric value (1 == 1.0 == 1e0). NULL equals NULL
// only.
bool prg_json_equal(const cJSON *a, const cJSON *b);

// ---- what copies of trees mostly consist of, inline ----
static inline cJSON *prg_json_clone_empty(struct prg_arena *arena, const cJSON *node)
{
    cJSON *copy = (cJSON *)prg_arena_alloc(arena, sizeof(*copy));
    copy->next = copy->prev = copy->child = NULL;
    copy->type = node->type;
    copy->valuestring = node->valuestring;
    copy->valueint = (node->type & 0xff) == cJSON_String ? node->valueint : 0; // of containers it is their identity
    copy->valuedouble = node->valuedouble;
    copy->string = NULL;
    return copy;
}

// Puts value behind the children of parent. The first child's prev is the last child.
static inline void prg_json_link(cJSON *parent, cJSON *value)
{
    cJSON *first = parent->child;
    value->next = NULL;
    if (!first) {
        parent->child = value;
        value->prev = value;
        return;
    }
    value->prev = first->prev;
    first->prev->next = value;
    first->prev = value;
}

static inline void prg_json_add_shared(cJSON *object, const char *key, cJSON *value)
{
    prg_require(prg_json_is_object(object));
    value->string = (char *)key; // never written to
    prg_json_link(object, value);
}

// ---- where a node comes from ----
struct prg_json_position {
    uint32_t line, column; // of the value's first character, from 1; columns count characters, not bytes; 0 = not known
};
struct prg_json_position prg_json_position(const cJSON *node);
void prg_json_set_position(cJSON *node, uint32_t line, uint32_t column);
static inline unsigned prg_json_origin(const cJSON *node)
{
    return node ? (unsigned)node->type >> 24 : 0;
}
void prg_json_tag(cJSON *node, unsigned origin);                  // this node and everything below it; origin 0..127
static inline void prg_json_tag_one(cJSON *node, unsigned origin) // this node only
{
    prg_require(origin <= 0x7f);
    if (node)
        node->type = (node->type & 0xffffff) | (int)(origin << 24);
}

// ---- text ----
struct prg_json_limits {
    size_t max_bytes;   // 0: 64 MiB
    unsigned max_depth; // 0: PRG_JSON_DEPTH
};
// Reads one RFC 8259 document: nothing before or after it but white space, unique keys, valid UTF-8, no lone
// surrogates, numbers kept as text. Errors name line and column. A key that holds NUL is refused by name. limits may be
// NULL.
int prg_json_parse(struct prg_arena *arena, const char *text, size_t length, const struct prg_json_limits *limits,
                   cJSON **ret, struct prg_error *err) PRG_MUST_USE;

enum prg_json_print_flags {
    PRG_JSON_COMPACT = 0,
    PRG_JSON_PRETTY = 1 << 0,      // two spaces, a new line after each member, none at the end
    PRG_JSON_SORTED = 1 << 1,      // members by key, byte order
    PRG_JSON_ESCAPE_HTML = 1 << 2, // < > & as \u003c \u003e \u0026, U+2028/2029 escaped, as Go's encoding/json writes
};
// Appends node as JSON. Never fails on a tree made here. Does not recurse.
void prg_json_print(struct prg_strbuf *out, const cJSON *node, unsigned flags);
char *prg_json_print_arena(struct prg_arena *arena, const cJSON *node, unsigned flags);

// 64-bit FNV-1a style digest of the canonical (sorted, compact) form; numbers that are equal digest equally.
uint64_t prg_json_digest(const cJSON *node);
