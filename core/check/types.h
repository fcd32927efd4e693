// SPDX-License-Identifier: Apache-2.0
// types.h: what is known of the values of a policy: kinds of objects from the schema tables, and the classes and
// functions that LuaLS annotations ("---@class", "---@field", "---@param" …) declare. One source for editors and for
// `perigee check`: lua/stdlib. Private to core/check.
//
// What a type leaves open (unions of different things, `table`, `any`) is PRG_TYPE_ANY, about which nothing is said.
#pragma once
#include "base/arena.h"
#include "base/map.h"
#include "json/schema.h"

enum prg_type_kind {
    PRG_TYPE_ANY,
    PRG_TYPE_NIL,
    PRG_TYPE_BOOLEAN,
    PRG_TYPE_NUMBER,
    PRG_TYPE_STRING,
    PRG_TYPE_EMPTY,    // a table constructor without entries: any table
    PRG_TYPE_FUNCTION, // params, returns
    PRG_TYPE_CLASS,    // fields
    PRG_TYPE_STRUCT,   // an object with a schema
    PRG_TYPE_MAP,      // text to element
    PRG_TYPE_LIST,     // of element
    PRG_TYPE_NAMED,    // a class by name, looked up when it is needed
    PRG_TYPE_GENERIC,  // of the function's "---@generic"
};

struct prg_type_field {
    const char *name;
    const struct prg_type *type;
    bool is_optional;
    struct prg_type_field *next;
};

struct prg_type {
    enum prg_type_kind kind;
    const char *name;                // of classes and functions ("string.sub", "perigee.json.at"), for messages
    const struct prg_schema *schema; // STRUCT
    const struct prg_type *element;
    struct prg_type_field *fields;  // CLASS: fields; FUNCTION: parameters in order
    struct prg_type_field *returns; // FUNCTION: names do not matter
    bool is_open;                   // CLASS: other fields are fine; FUNCTION: any number of further arguments
    const char *parent;             // CLASS: name of the one whose fields it has too
};

struct prg_types {
    struct prg_arena *arena;
    struct prg_map classes; // name -> struct prg_type
    struct prg_map structs; // "k8s.NAME" -> struct prg_type, in the order in which the tables name them
    struct prg_map globals; // name -> struct prg_type
};

extern const struct prg_type prg_type_any, prg_type_nil, prg_type_boolean, prg_type_number, prg_type_string,
    prg_type_empty;

// Everything that policies see: the sandbox's names, lua/stdlib, the kinds. In arena.
void prg_types_init(struct prg_types *types, struct prg_arena *arena);
void prg_types_release(struct prg_types *types);

// Adds the declarations of a Lua text.
void prg_types_read(struct prg_types *types, const char *text, size_t length);

// The type written at *text, which moves behind it. generic: name of a type variable, or NULL.
const struct prg_type *prg_types_parse(struct prg_types *types, const char **text, const char *end,
                                       const char *generic);

// Follows names. Never NULL.
const struct prg_type *prg_types_resolve(const struct prg_types *types, const struct prg_type *type);
// The class, or NULL.
const struct prg_type *prg_types_class(const struct prg_types *types, const char *name);
// Type of field `name` of a resolved type; NULL: it has none. Open types give any.
const struct prg_type *prg_types_field(struct prg_types *types, const struct prg_type *type, const char *name);
// The nearest field of the type, or NULL.
const char *prg_types_nearest(const struct prg_types *types, const struct prg_type *type, const char *name);
// Of the items of a list or map; any for others.
const struct prg_type *prg_types_element(const struct prg_types *types, const struct prg_type *type);
// What may be either; NULL is nothing.
const struct prg_type *prg_types_join(const struct prg_types *types, const struct prg_type *a,
                                      const struct prg_type *b);
// Type of values that a schema field holds.
const struct prg_type *prg_types_struct(struct prg_types *types, const struct prg_schema *schema);

// "InferenceServiceSpec", "a list", "a string" … for messages.
const char *prg_types_name(const struct prg_type *type);

// Root kinds, in the order in which they are written out: Go names and schemas. Ends with a NULL schema.
struct prg_types_kind {
    const char *name;
    const struct prg_schema *schema;
};
extern const struct prg_types_kind prg_types_kinds[];
// "k8s.PodSpec" for a schema; names that two schemas share are told apart by their inlined struct.
const char *prg_types_schema_name(struct prg_types *types, const struct prg_schema *schema);
