// SPDX-License-Identifier: Apache-2.0
// lib_table.c: table functions. They work on the entries of a table itself (no metamethods, so no made-up lengths), and
// those that only read take views of lists too. sort is stable.
#include <limits.h>
#include <string.h>

#include "policy/sandbox.h"
#include "policy/view.h"

// Length of the list at 1: a table, or a view of a list.
static lua_Integer list_length(lua_State *L)
{
    if (prg_view_is(L, 1))
        return luaL_len(L, 1);
    luaL_checktype(L, 1, LUA_TTABLE);
    return (lua_Integer)lua_rawlen(L, 1);
}

static int push_item(lua_State *L, lua_Integer i)
{
    return lua_type(L, 1) == LUA_TTABLE ? lua_rawgeti(L, 1, i) : lua_geti(L, 1, i);
}

static void check_writable(lua_State *L)
{
    if (prg_view_is(L, 1))
        luaL_argerror(L, 1, "views are read-only; perigee.copy gives a table");
    luaL_checktype(L, 1, LUA_TTABLE);
}

int prg_table_insert(lua_State *L)
{
    check_writable(L);
    lua_Integer length = (lua_Integer)lua_rawlen(L, 1), at = length + 1;
    switch (lua_gettop(L)) {
    case 2:
        break;
    case 3:
        at = luaL_checkinteger(L, 2);
        luaL_argcheck(L, at >= 1 && at <= length + 1, 2, "position out of bounds");
        prg_vm_charge(L, (uint64_t)(length + 1 - at));
        for (lua_Integer i = length; i >= at; i--) {
            lua_rawgeti(L, 1, i);
            lua_rawseti(L, 1, i + 1);
        }
        break;
    default:
        prg_vm_raise(L, 1, "wrong number of arguments to 'insert'");
    }
    lua_rawseti(L, 1, at);
    return 0;
}

int prg_table_remove(lua_State *L)
{
    check_writable(L);
    lua_Integer length = (lua_Integer)lua_rawlen(L, 1), at = luaL_optinteger(L, 2, length);
    if (lua_gettop(L) > 1)
        luaL_argcheck(L, (at >= 1 && at <= length + 1) || (length == 0 && at == 0), 2, "position out of bounds");
    lua_rawgeti(L, 1, at);
    if (at < length)
        prg_vm_charge(L, (uint64_t)(length - at));
    for (; at < length; at++) {
        lua_rawgeti(L, 1, at + 1);
        lua_rawseti(L, 1, at);
    }
    lua_pushnil(L);
    lua_rawseti(L, 1, at);
    return 1;
}

int prg_table_concat(lua_State *L)
{
    lua_Integer length = list_length(L);
    size_t between, size;
    const char *separator = luaL_optlstring(L, 2, "", &between);
    lua_Integer first = luaL_optinteger(L, 3, 1), last = luaL_optinteger(L, 4, length);
    luaL_Buffer out;
    luaL_buffinit(L, &out);
    for (lua_Integer i = first; i <= last; i++) {
        int type = push_item(L, i);
        if (type != LUA_TSTRING && type != LUA_TNUMBER)
            prg_vm_raise(L, 1, "invalid value (%s) at index %lld in table for 'concat'", prg_base_type_name(L, -1),
                         (long long)i);
        lua_tolstring(L, -1, &size);
        prg_vm_charge(L, 4 + (size + between) / 16);
        luaL_addvalue(&out);
        if (i < last)
            luaL_addlstring(&out, separator, between);
        if (i == LUA_MAXINTEGER)
            break;
    }
    luaL_pushresult(&out);
    return 1;
}

int prg_table_pack(lua_State *L)
{
    int count = lua_gettop(L);
    prg_vm_charge(L, (uint64_t)count);
    lua_createtable(L, count, 1);
    lua_insert(L, 1);
    for (int i = count; i >= 1; i--)
        lua_rawseti(L, 1, i);
    lua_pushinteger(L, count);
    lua_setfield(L, 1, "n");
    return 1;
}

int prg_table_unpack(lua_State *L)
{
    lua_Integer first = luaL_optinteger(L, 2, 1);
    lua_Integer last = lua_isnoneornil(L, 3) ? list_length(L) : luaL_checkinteger(L, 3);
    if (lua_type(L, 1) != LUA_TTABLE && !prg_view_is(L, 1))
        luaL_checktype(L, 1, LUA_TTABLE);
    if (first > last)
        return 0;
    lua_Unsigned count = (lua_Unsigned)last - (lua_Unsigned)first;
    if (count >= INT_MAX || !lua_checkstack(L, (int)(count + 1)))
        prg_vm_raise(L, 1, "too many results to unpack");
    prg_vm_charge(L, count);
    for (lua_Integer i = first; i < last; i++)
        push_item(L, i);
    push_item(L, last);
    return (int)count + 1;
}

// ---- sort ----

// Stack: 1 the list, 2 the function or nil, 3 a second table of the same length.
static bool is_before(lua_State *L, int list, lua_Integer a, lua_Integer b)
{
    bool before;
    prg_vm_charge(L, 1);
    if (lua_isnil(L, 2)) {
        lua_rawgeti(L, list, a);
        lua_rawgeti(L, list, b);
        before = lua_compare(L, -2, -1, LUA_OPLT);
        lua_pop(L, 2);
    } else {
        lua_pushvalue(L, 2);
        lua_rawgeti(L, list, a);
        lua_rawgeti(L, list, b);
        lua_call(L, 2, 1);
        before = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    return before;
}

static void move_item(lua_State *L, int from, lua_Integer i, int to, lua_Integer k)
{
    lua_rawgeti(L, from, i);
    lua_rawseti(L, to, k);
}

// Merges the sorted runs [first, middle) and [middle, end) of `from` into `to`.
static void merge_runs(lua_State *L, int from, int to, lua_Integer first, lua_Integer middle, lua_Integer end)
{
    lua_Integer a = first, b = middle;
    for (lua_Integer k = first; k < end; k++) {
        if (b >= end || (a < middle && !is_before(L, from, b, a)))
            move_item(L, from, a++, to, k);
        else
            move_item(L, from, b++, to, k);
    }
}

int prg_table_sort(lua_State *L)
{
    check_writable(L);
    if (!lua_isnoneornil(L, 2))
        luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_Integer length = (lua_Integer)lua_rawlen(L, 1);
    luaL_argcheck(L, length < INT_MAX, 1, "array too big");
    lua_createtable(L, (int)length, 0);
    int from = 1, to = 3;
    for (lua_Integer width = 1; width < length; width *= 2) {
        for (lua_Integer first = 1; first <= length; first += 2 * width) {
            lua_Integer middle = first + width <= length + 1 ? first + width : length + 1;
            lua_Integer end = middle + width <= length + 1 ? middle + width : length + 1;
            merge_runs(L, from, to, first, middle, end);
        }
        prg_vm_charge(L, (uint64_t)length);
        int other = from;
        from = to;
        to = other;
    }
    for (lua_Integer i = 1; from != 1 && i <= length; i++)
        move_item(L, from, i, 1, i);
    return 0;
}
