// SPDX-License-Identifier: Apache-2.0
// lib_iter.c: next, pairs and ipairs. Tables are walked in the order of their keys: numbers ascending, then texts byte
// by byte, then false and true. Stock Lua's order depends on the addresses and hash seed of the process, and a plan
// must not. Keys that have no order (tables, functions) are refused.
#include <stdlib.h>
#include <string.h>

#include "policy/sandbox.h"
#include "policy/view.h"

enum rank { RANK_NUMBER, RANK_TEXT, RANK_BOOLEAN, RANK_NONE };

struct key {
    enum rank rank;
    long double number; // holds every int64 and every double exactly
    const char *text;
    size_t length;
    lua_Integer place; // in the table of keys
};

// Reads the key at index; texts are borrowed.
static struct key read_key(lua_State *L, int index)
{
    struct key key = {.rank = RANK_NONE};
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        key.rank = RANK_NUMBER;
        key.number =
            lua_isinteger(L, index) ? (long double)lua_tointeger(L, index) : (long double)lua_tonumber(L, index);
        break;
    case LUA_TSTRING:
        key.rank = RANK_TEXT;
        key.text = lua_tolstring(L, index, &key.length);
        break;
    case LUA_TBOOLEAN:
        key.rank = RANK_BOOLEAN;
        key.number = lua_toboolean(L, index);
        break;
    default:
        prg_vm_raise(L, 1, "a table with a %s as key cannot be walked: such keys have no order",
                     prg_base_type_name(L, index));
    }
    return key;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->rank != RANK_TEXT)
        return x->number < y->number ? -1 : x->number > y->number;
    size_t common = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, common);
    if (order == 0 && x->length != y->length)
        order = x->length < y->length ? -1 : 1;
    return order;
}

// ---- next ----

// next(t, k): the least key after k. Walks the whole table each time; pairs does not.
int prg_base_next(lua_State *L)
{
    if (prg_view_is(L, 1)) {
        lua_settop(L, 2);
        return prg_view_next(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    struct key after = {.rank = RANK_NUMBER}, best = {.rank = RANK_NONE};
    bool from_start = lua_isnil(L, 2);
    uint64_t count = 0;
    if (!from_start)
        after = read_key(L, 2);
    lua_pushnil(L); // 3: the best key
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        struct key key = read_key(L, -1);
        if ((++count & 255) == 0)
            prg_vm_charge(L, 256);
        if ((from_start || compare_keys(&key, &after) > 0) &&
            (best.rank == RANK_NONE || compare_keys(&key, &best) < 0)) {
            best = key;
            lua_pushvalue(L, -1);
            lua_replace(L, 3);
        }
    }
    prg_vm_charge(L, count & 255);
    if (best.rank == RANK_NONE) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 3);
    lua_rawget(L, 1);
    return 2;
}

// ---- pairs ----

// The steps are handed to scripts, which can call them with anything.

// Upvalues: 1 how many items, 2 where it is. For tables whose keys are 1 to n.
static int step_list(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer count = lua_tointeger(L, lua_upvalueindex(1));
    for (lua_Integer i = lua_tointeger(L, lua_upvalueindex(2)) + 1; i <= count; i++) {
        if (lua_rawgeti(L, 1, i) == LUA_TNIL) { // taken out on the way
            lua_pop(L, 1);
            continue;
        }
        lua_pushinteger(L, i);
        lua_copy(L, -1, lua_upvalueindex(2));
        lua_insert(L, -2);
        return 2;
    }
    lua_pushinteger(L, count);
    lua_replace(L, lua_upvalueindex(2));
    lua_pushnil(L);
    return 1;
}

// Upvalues: 1 the keys, 2 their sorted order (array of struct key), 3 how many were seen.
static int step_sorted(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    const struct key *order = lua_touserdata(L, lua_upvalueindex(2));
    size_t count = lua_rawlen(L, lua_upvalueindex(2)) / sizeof(*order);
    for (size_t i = (size_t)lua_tointeger(L, lua_upvalueindex(3)); i < count; i++) {
        lua_rawgeti(L, lua_upvalueindex(1), order[i].place);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 1) == LUA_TNIL) {
            lua_pop(L, 2);
            continue;
        }
        lua_pushinteger(L, (lua_Integer)i + 1);
        lua_replace(L, lua_upvalueindex(3));
        return 2;
    }
    lua_pushinteger(L, (lua_Integer)count);
    lua_replace(L, lua_upvalueindex(3));
    lua_pushnil(L);
    return 1;
}

// Counts the entries of the table at 1; *ret_is_list says whether the keys came as 1, 2, 3 …
static lua_Integer count_entries(lua_State *L, bool *ret_is_list)
{
    lua_Integer count = 0;
    *ret_is_list = true;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        count++;
        if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) != count)
            *ret_is_list = false;
        if ((count & 255) == 0)
            prg_vm_charge(L, 256);
    }
    return count;
}

static void push_sorted_step(lua_State *L, lua_Integer count)
{
    lua_createtable(L, (int)count, 0);
    struct key *order = lua_newuserdatauv(L, (size_t)count * sizeof(*order), 0);
    lua_pushnil(L);
    for (lua_Integer i = 0; i < count && lua_next(L, 1); i++) {
        lua_pop(L, 1);
        order[i] = read_key(L, -1);
        order[i].place = i + 1;
        lua_pushvalue(L, -1);
        lua_rawseti(L, 2, i + 1);
    }
    lua_settop(L, 3);
    uint64_t work = 10;
    for (lua_Integer n = count; n > 0; n >>= 1)
        work += (uint64_t)count;
    prg_vm_charge(L, work);
    qsort(order, (size_t)count, sizeof(*order), compare_keys);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, step_sorted, 3);
}

int prg_base_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    bool is_list;
    lua_Integer count = count_entries(L, &is_list);
    luaL_argcheck(L, count < INT32_MAX, 1, "too large to be walked");
    if (is_list) {
        lua_pushinteger(L, count);
        lua_pushinteger(L, 0);
        lua_pushcclosure(L, step_list, 2);
    } else {
        push_sorted_step(L, count);
    }
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

// ---- ipairs ----

static int step_index(lua_State *L)
{
    lua_Integer i = luaL_checkinteger(L, 2);
    luaL_argcheck(L, i < LUA_MAXINTEGER, 2, "out of range");
    lua_pushinteger(L, i + 1);
    return lua_geti(L, 1, i + 1) == LUA_TNIL ? 1 : 2;
}

int prg_base_ipairs(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushcfunction(L, step_index);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}
