// SPDX-License-Identifier: Apache-2.0
// syntax.h: Lua 5.4 texts as trees with places and scopes, for looking at policies without running them.
//
// Only for texts that Lua itself compiles (core/policy says what is wrong with the others), so a text that cannot be
// read gives NULL and no message. Nodes and locals live in the arena of the tree; texts point into the source, which
// must outlive it.
#pragma once
#include "base/arena.h"
#include "base/vec.h"

enum prg_lua_kind {
    // expressions
    PRG_LUA_NIL,
    PRG_LUA_BOOLEAN,
    PRG_LUA_NUMBER,
    PRG_LUA_STRING,
    PRG_LUA_VARARG,
    PRG_LUA_FUNCTION, // list: parameters; body
    PRG_LUA_NAME,     // local: what it is bound to; NULL: a global
    PRG_LUA_INDEX,    // left[right]; right is a PRG_LUA_STRING for left.name
    PRG_LUA_CALL,     // left(list)
    PRG_LUA_METHOD,   // left:text(list)
    PRG_LUA_TABLE,    // list of PRG_LUA_FIELD
    PRG_LUA_FIELD,    // [left] = right; left NULL: an item
    PRG_LUA_BINARY,   // left text right
    PRG_LUA_UNARY,    // text left
    PRG_LUA_PAREN,    // (left)
    // statements
    PRG_LUA_LOCAL,          // local list = values
    PRG_LUA_ASSIGN,         // list = values
    PRG_LUA_EXPRESSION,     // left, a call
    PRG_LUA_BLOCK,          // do body end
    PRG_LUA_WHILE,          // while left do body end
    PRG_LUA_REPEAT,         // repeat body until left
    PRG_LUA_IF,             // list of PRG_LUA_CLAUSE
    PRG_LUA_CLAUSE,         // left: condition, NULL for else; body
    PRG_LUA_FOR_RANGE,      // for list = values do body end
    PRG_LUA_FOR_IN,         // for list in values do body end
    PRG_LUA_FUNCTION_OF,    // function left right
    PRG_LUA_LOCAL_FUNCTION, // local function list right
    PRG_LUA_RETURN,         // return values
    PRG_LUA_JUMP,           // break, goto, label
};

struct prg_type;
struct prg_lua_node;

struct prg_lua_local {
    const char *name;
    size_t length;
    struct prg_lua_local *outer;    // next one in scope, outwards
    struct prg_lua_local *previous; // next one of the file
    struct prg_lua_node *function;  // that it names (local function f, local f = function), or NULL
    bool is_assigned;               // anywhere after its declaration
    bool is_parameter;
    // For infer.c:
    const struct prg_type *given; // by an annotation or a contract
    const struct prg_type *known; // from the last pass
    const struct prg_type *seen;  // in this pass: joined over all values that it gets
};

struct prg_lua_node {
    enum prg_lua_kind kind;
    unsigned line, column; // from 1; columns count characters
    unsigned width;        // characters of the token at the place
    const char *text;      // of names, strings (between the quotes), numbers, operators, methods
    size_t length;
    bool is_plain;   // STRING: no escapes in it
    bool is_method;  // FUNCTION: has a hidden self
    bool is_vararg;  // FUNCTION
    bool is_open;    // FUNCTION: used otherwise than by being called, so its callers are not all known
    const char *doc; // comment lines "---…" right above a statement, or NULL
    size_t doc_length;
    struct prg_lua_node *next; // in a list
    struct prg_lua_node *left, *right;
    struct prg_lua_node *list, *values, *body;
    struct prg_lua_local *local;
    const struct prg_type *returns; // FUNCTION, for infer.c: joined over its returns, last pass
    const struct prg_type *returns_seen;
};

struct prg_lua_tree {
    struct prg_lua_node *body; // statements of the file
    bool is_too_deep;          // to be walked; body is NULL
    struct prg_lua_local *locals;
    struct prg_vec directives; // const char *: texts after "---@diagnostic", with their lines in `lines`
    struct prg_vec lines;      // (uintptr_t) line of each directive
};

// NULL when the text is not Lua. Release the vectors with prg_lua_tree_release.
struct prg_lua_tree *prg_lua_parse(struct prg_arena *arena, const char *text, size_t length);
void prg_lua_tree_release(struct prg_lua_tree *tree); // NULL is fine
