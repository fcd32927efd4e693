// SPDX-License-Identifier: Apache-2.0
// lib_base.c: the plain functions of the sandbox. Differences to stock Lua: pcall does not catch a used-up budget,
// tostring shows no addresses (a plan must not depend on them), setmetatable copies its metatable and takes no hooks
// into the collector, print writes into a buffer of the call.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sandbox.h"
#include "policy/view.h"

const char prg_base_type_key;

// ---- errors ----

int prg_base_error(lua_State *L)
{
    int level = (int)luaL_optinteger(L, 2, 1);
    lua_settop(L, 1);
    if (lua_type(L, 1) == LUA_TSTRING && level > 0) {
        luaL_where(L, level);
        lua_pushvalue(L, 1);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

int prg_base_assert(lua_State *L)
{
    luaL_checkany(L, 1);
    if (lua_toboolean(L, 1))
        return lua_gettop(L);
    lua_remove(L, 1);
    lua_pushliteral(L, "assertion failed!");
    lua_settop(L, 1);
    return lua_error(L);
}

int prg_base_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    prg_vm_pass_trip(L);
    lua_pushboolean(L, status == LUA_OK);
    lua_insert(L, 1);
    return lua_gettop(L);
}

// ---- types and texts ----

const char *prg_base_type_name(lua_State *L, int index)
{
    const char *name = "userdata";
    if (lua_type(L, index) != LUA_TUSERDATA)
        return luaL_typename(L, index);
    if (lua_getmetatable(L, index)) {
        if (lua_rawgetp(L, -1, &prg_base_type_key) == LUA_TSTRING)
            name = lua_tostring(L, -1); // lives as long as the metatable
        lua_pop(L, 2);
    }
    return name;
}

const char *prg_base_answer_name(lua_State *L, int index)
{
    if (lua_isnoneornil(L, index))
        return "nil";
    return prg_view_is_null(L, index) ? "null" : prg_base_type_name(L, index);
}

int prg_base_type(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushstring(L, prg_base_type_name(L, 1));
    return 1;
}

const char *prg_base_push_text(lua_State *L, int index, size_t *ret_length)
{
    luaL_checkstack(L, 4, "tostring");
    if (luaL_callmeta(L, index, "__tostring")) {
        if (lua_type(L, -1) != LUA_TSTRING)
            prg_vm_raise(L, 1, "'__tostring' must return a string");
        return lua_tolstring(L, -1, ret_length);
    }
    switch (lua_type(L, index)) {
    case LUA_TSTRING:
    case LUA_TNUMBER:
        lua_pushvalue(L, index);
        break;
    case LUA_TBOOLEAN:
        lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
        break;
    case LUA_TLIGHTUSERDATA:
        lua_pushstring(L, prg_view_is_null(L, index) ? "null" : "userdata");
        break;
    default:
        lua_pushstring(L, luaL_typename(L, index));
        break;
    }
    return lua_tolstring(L, -1, ret_length);
}

int prg_base_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    prg_base_push_text(L, 1, NULL);
    return 1;
}

int prg_base_print(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    int count = lua_gettop(L);
    for (int i = 1; i <= count + 1; i++) {
        size_t length = 1;
        const char *text = i <= count ? prg_base_push_text(L, i, &length) : "\n";
        size_t room = PRG_VM_PRINTED - vm->printed.length;
        prg_vm_charge_bytes(L, length);
        if (i > 1 && i <= count && room > 0) {
            prg_strbuf_putc(&vm->printed, '\t');
            room--;
        }
        prg_strbuf_add(&vm->printed, text, length < room ? length : room);
        lua_settop(L, count);
    }
    return 0;
}

// The value of digits in base (2 to 36), wrapping as Lua's integers do.
static bool read_based(const char *text, size_t length, int base, lua_Integer *ret)
{
    static const char space[] = " \f\n\r\t\v";
    lua_Unsigned value = 0;
    bool negative = false;
    while (length && *text && strchr(space, *text)) // a NUL is no space
        text++, length--;
    while (length && text[length - 1] && strchr(space, text[length - 1]))
        length--;
    if (length && *text == '-') {
        negative = true;
        text++, length--;
    }
    if (!length)
        return false;
    for (; length; text++, length--) {
        int digit;
        if (*text >= '0' && *text <= '9')
            digit = *text - '0';
        else if (*text >= 'a' && *text <= 'z')
            digit = *text - 'a' + 10;
        else if (*text >= 'A' && *text <= 'Z')
            digit = *text - 'A' + 10;
        else
            return false;
        if (digit >= base)
            return false;
        value = value * (lua_Unsigned)base + (lua_Unsigned)digit;
    }
    *ret = (lua_Integer)(negative ? 0 - value : value);
    return true;
}

int prg_base_tonumber(lua_State *L)
{
    size_t length = 0;
    if (!lua_isnoneornil(L, 2)) {
        lua_Integer base = luaL_checkinteger(L, 2), value;
        luaL_checktype(L, 1, LUA_TSTRING);
        const char *text = lua_tolstring(L, 1, &length);
        luaL_argcheck(L, base >= 2 && base <= 36, 2, "base out of range");
        prg_vm_charge_bytes(L, length);
        if (read_based(text, length, (int)base, &value))
            lua_pushinteger(L, value);
        else
            lua_pushnil(L);
        return 1;
    }
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    if (lua_type(L, 1) == LUA_TNUMBER)
        return 1;
    if (lua_type(L, 1) == LUA_TSTRING) {
        const char *text = lua_tolstring(L, 1, &length);
        prg_vm_charge_bytes(L, length);
        if (lua_stringtonumber(L, text) == length + 1)
            return 1;
    } else if (prg_view_push_nearest(L, 1)) {
        return 1;
    }
    lua_pushnil(L);
    return 1;
}

int prg_base_select(lua_State *L)
{
    int count = lua_gettop(L);
    if (lua_type(L, 1) == LUA_TSTRING && strcmp(lua_tostring(L, 1), "#") == 0) {
        lua_pushinteger(L, count - 1);
        return 1;
    }
    lua_Integer first = luaL_checkinteger(L, 1);
    if (first < 0)
        first = count + first;
    else if (first > count)
        first = count;
    luaL_argcheck(L, first >= 1, 1, "index out of range");
    return count - (int)first;
}

// ---- metatables ----

// What would run outside the budget, outlive the call, or hide a value's nature from the functions of this sandbox.
static const char *const refused_fields[] = {"__gc", "__close", "__mode", "__len", "__metatable", "__name"};

int prg_base_setmetatable(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, lua_isnoneornil(L, 2) || lua_istable(L, 2), 2, "nil or table");
    lua_settop(L, 2);
    if (lua_getmetatable(L, 1)) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, vm->ref.array_mark);
        lua_rawgeti(L, LUA_REGISTRYINDEX, vm->ref.object_mark);
        if (lua_rawequal(L, -3, -1) || lua_rawequal(L, -3, -2))
            prg_vm_raise(L, 1, "a table made by perigee.array or perigee.object takes no metatable");
        lua_settop(L, 2);
    }
    if (lua_isnil(L, 2)) {
        lua_setmetatable(L, 1);
        return 1;
    }
    for (size_t i = 0; i < PRG_COUNT(refused_fields); i++) {
        lua_pushstring(L, refused_fields[i]);
        if (lua_rawget(L, 2) != LUA_TNIL)
            prg_vm_raise(L, 1, "a metatable may not have %s here", refused_fields[i]);
        lua_pop(L, 1);
    }
    // A copy: fields that come later have not been looked at.
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, 2)) {
        prg_vm_charge(L, 1);
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, 3);
    }
    lua_setmetatable(L, 1);
    lua_settop(L, 1);
    return 1;
}
