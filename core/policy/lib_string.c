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

// ---- texts in arithmetic ----

// Pushes the number that the argument is or spells; false (and nothing pushed) when it is none.
static bool push_number(lua_State *L, int index)
{
    size_t length;
    if (lua_type(L, index) == LUA_TNUMBER) {
        lua_pushvalue(L, index);
        return true;
    }
    const char *text = lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &length) : NULL;
    if (!text)
        return false;
    prg_vm_charge_bytes(L, length);
    if (lua_stringtonumber(L, text) == length + 1)
        return true;
    return false;
}

// upvalues: 1 the operator, 2 the name of its metamethod. One operand is a text; the other may have a metamethod of its
// own.
static int arithmetic(lua_State *L)
{
    int top = 2;
    lua_settop(L, top);
    if (push_number(L, 1) && push_number(L, 2)) {
        lua_arith(L, (int)lua_tointeger(L, lua_upvalueindex(1)));
        return 1;
    }
    lua_settop(L, top);
    const char *name = lua_tostring(L, lua_upvalueindex(2));
    if (lua_type(L, 2) == LUA_TSTRING || luaL_getmetafield(L, 2, name) == LUA_TNIL)
        prg_vm_raise(L, 1, "attempt to perform arithmetic on a %s value",
                     prg_base_type_name(L, lua_type(L, 1) == LUA_TSTRING && lua_type(L, 2) != LUA_TSTRING ? 2 : 1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

void prg_string_set_arithmetic(lua_State *L)
{
    static const struct {
        const char *name;
        int operator;
    } operators[] = {{"__add", LUA_OPADD}, {"__sub", LUA_OPSUB}, {"__mul", LUA_OPMUL},   {"__mod", LUA_OPMOD},
                     {"__pow", LUA_OPPOW}, {"__div", LUA_OPDIV}, {"__idiv", LUA_OPIDIV}, {"__unm", LUA_OPUNM}};
    for (size_t i = 0; i < PRG_COUNT(operators); i++) {
        lua_pushinteger(L, operators[i].operator);
        lua_pushstring(L, operators[i].name);
        lua_pushcclosure(L, arithmetic, 2);
        lua_setfield(L, -2, operators[i].name);
    }
}
