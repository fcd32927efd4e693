// SPDX-License-Identifier: Apache-2.0
// lib_string.c: string functions without patterns. All loops are charged; letters are those of ASCII, whatever the
// locale of the process.
#include <limits.h>
#include <string.h>

#include "policy/sandbox.h"

// A position as Lua counts them (1 is the first byte, -1 the last) to one from 1; 0 or less: before the text.
static lua_Integer from_start(lua_Integer position, size_t length)
{
    if (position >= 0)
        return position;
    return position < -(lua_Integer)length ? 0 : (lua_Integer)length + position + 1;
}

// The bytes [*ret_first, *ret_first + result) that positions first to last (inclusive) name.
static size_t range(lua_Integer first, lua_Integer last, size_t length, size_t *ret_first)
{
    first = from_start(first, length);
    last = from_start(last, length);
    if (first < 1)
        first = 1;
    if (last > (lua_Integer)length)
        last = (lua_Integer)length;
    *ret_first = (size_t)first - 1;
    return first > last ? 0 : (size_t)(last - first + 1);
}

int prg_string_len(lua_State *L)
{
    size_t length;
    luaL_checklstring(L, 1, &length);
    lua_pushinteger(L, (lua_Integer)length);
    return 1;
}

int prg_string_sub(lua_State *L)
{
    size_t length, first;
    const char *text = luaL_checklstring(L, 1, &length);
    size_t count = range(luaL_checkinteger(L, 2), luaL_optinteger(L, 3, -1), length, &first);
    prg_vm_charge_bytes(L, count);
    lua_pushlstring(L, count ? text + first : "", count);
    return 1;
}

int prg_string_byte(lua_State *L)
{
    size_t length, first;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer from = luaL_optinteger(L, 2, 1);
    size_t count = range(from, luaL_optinteger(L, 3, from), length, &first);
    luaL_argcheck(L, count < INT_MAX, 3, "text slice too long");
    prg_vm_charge(L, count);
    luaL_checkstack(L, (int)count, "text slice too long");
    for (size_t i = 0; i < count; i++)
        lua_pushinteger(L, (unsigned char)text[first + i]);
    return (int)count;
}

int prg_string_char(lua_State *L)
{
    int count = lua_gettop(L);
    luaL_Buffer buffer;
    prg_vm_charge(L, (uint64_t)count);
    char *out = luaL_buffinitsize(L, &buffer, (size_t)count);
    for (int i = 1; i <= count; i++) {
        lua_Integer c = luaL_checkinteger(L, i);
        luaL_argcheck(L, c >= 0 && c <= UCHAR_MAX, i, "value out of range");
        out[i - 1] = (char)c;
    }
    luaL_pushresultsize(&buffer, (size_t)count);
    return 1;
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static char to_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
}

static int map_bytes(lua_State *L, char (*map)(char))
{
    size_t length;
    luaL_Buffer buffer;
    const char *text = luaL_checklstring(L, 1, &length);
    prg_vm_charge_bytes(L, length);
    char *out = luaL_buffinitsize(L, &buffer, length);
    for (size_t i = 0; i < length; i++)
        out[i] = map(text[i]);
    luaL_pushresultsize(&buffer, length);
    return 1;
}

int prg_string_lower(lua_State *L)
{
    return map_bytes(L, to_lower);
}

int prg_string_upper(lua_State *L)
{
    return map_bytes(L, to_upper);
}

int prg_string_reverse(lua_State *L)
{
    size_t length;
    luaL_Buffer buffer;
    const char *text = luaL_checklstring(L, 1, &length);
    prg_vm_charge_bytes(L, length);
    char *out = luaL_buffinitsize(L, &buffer, length);
    for (size_t i = 0; i < length; i++)
        out[i] = text[length - 1 - i];
    luaL_pushresultsize(&buffer, length);
    return 1;
}

int prg_string_rep(lua_State *L)
{
    size_t length, between;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer count = luaL_checkinteger(L, 2);
    const char *separator = luaL_optlstring(L, 3, "", &between);
    if (count <= 0 || (length == 0 && between == 0)) {
        lua_pushliteral(L, "");
        return 1;
    }
    size_t most = prg_vm_of(L)->limits.max_memory_bytes, total = length;
    if ((size_t)(count - 1) > most / (length + between ? length + between : 1))
        prg_vm_raise(L, 1, "the text would be too long");
    total += (size_t)(count - 1) * (length + between);
    luaL_Buffer buffer;
    char *out = luaL_buffinitsize(L, &buffer, total); // refused by the allocator when it is over a limit
    prg_vm_charge(L, (uint64_t)count / 4 + total / 16);
    memcpy(out, text, length);
    out += length;
    for (lua_Integer i = 1; i < count; i++) {
        memcpy(out, separator, between);
        memcpy(out + between, text, length);
        out += between + length;
    }
    luaL_pushresultsize(&buffer, total);
    return 1;
}
