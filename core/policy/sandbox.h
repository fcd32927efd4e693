// SPDX-License-Identifier: Apache-2.0
// sandbox.h: what scripts can name: the allow list, read-only library tables, and a fresh environment per call. Private
// to core/policy.
//
// Nothing is taken over from Lua's own libraries but constant-time functions of math: Lua's string and table functions
// loop in C where no budget sees them. Absent on purpose: load, loadstring, dofile, require, package, os, io, debug,
// coroutine, collectgarbage, xpcall, getmetatable, rawget, rawset, rawlen, rawequal, string.dump, string.pack,
// table.move, math.random.
#pragma once
#include "policy/vm.h"

// The one table of functions: X(library, name, C function); library "" is for plain globals.
#define PRG_SANDBOX_FUNCTIONS(X)                                                                                       \
    X("", assert, prg_base_assert)                                                                                     \
    X("", error, prg_base_error)                                                                                       \
    X("", ipairs, prg_base_ipairs)                                                                                     \
    X("", next, prg_base_next)                                                                                         \
    X("", pairs, prg_base_pairs)                                                                                       \
    X("", pcall, prg_base_pcall)                                                                                       \
    X("", print, prg_base_print)                                                                                       \
    X("", select, prg_base_select)                                                                                     \
    X("", setmetatable, prg_base_setmetatable)                                                                         \
    X("", tonumber, prg_base_tonumber)                                                                                 \
    X("", tostring, prg_base_tostring)                                                                                 \
    X("", type, prg_base_type)                                                                                         \
    X("string", byte, prg_string_byte)                                                                                 \
    X("string", char, prg_string_char)                                                                                 \
    X("string", find, prg_string_find)                                                                                 \
    X("string", format, prg_string_format)                                                                             \
    X("string", gmatch, prg_string_gmatch)                                                                             \
    X("string", gsub, prg_string_gsub)                                                                                 \
    X("string", len, prg_string_len)                                                                                   \
    X("string", lower, prg_string_lower)                                                                               \
    X("string", match, prg_string_match)                                                                               \
    X("string", rep, prg_string_rep)                                                                                   \
    X("string", reverse, prg_string_reverse)                                                                           \
    X("string", sub, prg_string_sub)                                                                                   \
    X("string", upper, prg_string_upper)                                                                               \
    X("table", concat, prg_table_concat)                                                                               \
    X("table", insert, prg_table_insert)                                                                               \
    X("table", pack, prg_table_pack)                                                                                   \
    X("table", remove, prg_table_remove)                                                                               \
    X("table", sort, prg_table_sort)                                                                                   \
    X("table", unpack, prg_table_unpack)                                                                               \
    X("utf8", char, prg_utf8_char)                                                                                     \
    X("utf8", codepoint, prg_utf8_codepoint)                                                                           \
    X("utf8", codes, prg_utf8_codes)                                                                                   \
    X("utf8", len, prg_utf8_len)                                                                                       \
    X("utf8", offset, prg_utf8_offset)

// Names taken from Lua's own math library: constant time, no state, no randomness.
#define PRG_SANDBOX_MATH(X)                                                                                            \
    X(abs)                                                                                                             \
    X(ceil)                                                                                                            \
    X(exp)                                                                                                             \
    X(floor)                                                                                                           \
    X(fmod)                                                                                                            \
    X(huge)                                                                                                            \
    X(log)                                                                                                             \
    X(max)                                                                                                             \
    X(maxinteger)                                                                                                      \
    X(min)                                                                                                             \
    X(mininteger)                                                                                                      \
    X(modf)                                                                                                            \
    X(pi)                                                                                                              \
    X(sqrt)                                                                                                            \
    X(tointeger)                                                                                                       \
    X(type)                                                                                                            \
    X(ult)

#define X(library, name, function) int function(lua_State *L);
PRG_SANDBOX_FUNCTIONS(X)
#undef X

// Fills a new state. Raises.
void prg_sandbox_open(lua_State *L);
// Calls visit for each name a script can use, sorted: "assert", "math.abs", …, "perigee", "string.byte", …
void prg_sandbox_each_global(void (*visit)(const char *name, void *ctx), void *ctx);

// Pushes a fresh environment over the globals: what a script sets in it dies with it. Raises.
void prg_sandbox_push_environment(lua_State *L);
// Replaces the table on top by a read-only front of it, and tables in it likewise. name appears in the error of a
// write. Raises.
void prg_sandbox_freeze(lua_State *L, const char *name);

// Pushes the text that `tostring` gives for the value at index (positive); no addresses in it. Raises.
const char *prg_base_push_text(lua_State *L, int index, size_t *ret_length);
// What the sandbox's `type` answers: views and read-only tables are "table".
const char *prg_base_type_name(lua_State *L, int index);
// The same in errors about an answer: null and nil are named.
const char *prg_base_answer_name(lua_State *L, int index);

// Sets the metamethods that let texts take part in arithmetic ("10" + 1) in the metatable on top. Raises.
void prg_string_set_arithmetic(lua_State *L);

// Metatables of userdata keep under this key (a light userdata) what `type` says about them; absent: "userdata".
extern const char prg_base_type_key;
