// SPDX-License-Identifier: Apache-2.0
// lib_utf8.c: utf8 functions for well-formed UTF-8 (RFC 3629); the `lax` argument of stock Lua is refused. All loops
// are charged.
#include <limits.h>
#include <string.h>

#include "policy/sandbox.h"
#include "policy/text.h"

// Decodes the sequence at text into *ret. Returns its length, or 0 when it is not well formed.
static size_t decode(const char *text, size_t length, uint32_t *ret)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t count = 1;
    unsigned char first = (unsigned char)text[0];
    if (first >= 0x80)
        count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (count > length || prg_utf8_prefix(text, count) != count)
        return 0;
    uint32_t value = first & masks[count];
    for (size_t i = 1; i < count; i++)
        value = value << 6 | ((unsigned char)text[i] & 0x3f);
    *ret = value;
    return count;
}

static bool is_continuation(const char *text, size_t length, lua_Integer at)
{
    return at < (lua_Integer)length && ((unsigned char)text[at] & 0xc0) == 0x80;
}

static lua_Integer from_start(lua_Integer position, size_t length)
{
    if (position >= 0)
        return position;
    return position < -(lua_Integer)length ? 0 : (lua_Integer)length + position + 1;
}

static void refuse_lax(lua_State *L, int arg)
{
    luaL_argcheck(L, !lua_toboolean(L, arg), arg, "lax decoding is not offered here");
}

int prg_utf8_char(lua_State *L)
{
    int count = lua_gettop(L);
    luaL_Buffer out;
    prg_vm_charge(L, (uint64_t)count);
    luaL_buffinit(L, &out);
    for (int i = 1; i <= count; i++) {
        lua_Integer c = luaL_checkinteger(L, i);
        luaL_argcheck(L, c >= 0 && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff), i, "value out of range");
        if (c < 0x80) {
            luaL_addchar(&out, (char)c);
        } else if (c < 0x800) {
            luaL_addchar(&out, (char)(0xc0 | c >> 6));
            luaL_addchar(&out, (char)(0x80 | (c & 0x3f)));
        } else {
            if (c < 0x10000) {
                luaL_addchar(&out, (char)(0xe0 | c >> 12));
            } else {
                luaL_addchar(&out, (char)(0xf0 | c >> 18));
                luaL_addchar(&out, (char)(0x80 | (c >> 12 & 0x3f)));
            }
            luaL_addchar(&out, (char)(0x80 | (c >> 6 & 0x3f)));
            luaL_addchar(&out, (char)(0x80 | (c & 0x3f)));
        }
    }
    luaL_pushresult(&out);
    return 1;
}

int prg_utf8_len(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer at = from_start(luaL_optinteger(L, 2, 1), length) - 1;
    lua_Integer last = from_start(luaL_optinteger(L, 3, -1), length) - 1, count = 0;
    refuse_lax(L, 4);
    luaL_argcheck(L, at >= 0 && at <= (lua_Integer)length, 2, "initial position out of bounds");
    luaL_argcheck(L, last < (lua_Integer)length, 3, "final position out of bounds");
    while (at <= last) {
        uint32_t code;
        size_t step = decode(text + at, length - (size_t)at, &code);
        if (step == 0) {
            lua_pushnil(L);
            lua_pushinteger(L, at + 1);
            return 2;
        }
        at += (lua_Integer)step;
        if ((++count & 1023) == 0)
            prg_vm_charge(L, 1024 / 4);
    }
    lua_pushinteger(L, count);
    return 1;
}

int prg_utf8_codepoint(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer at = from_start(luaL_optinteger(L, 2, 1), length), last = from_start(luaL_optinteger(L, 3, at), length);
    int count = 0;
    refuse_lax(L, 4);
    luaL_argcheck(L, at >= 1, 2, "out of bounds");
    luaL_argcheck(L, last <= (lua_Integer)length, 3, "out of bounds");
    if (at > last)
        return 0;
    luaL_argcheck(L, last - at < INT_MAX, 3, "text slice too long");
    prg_vm_charge(L, (uint64_t)(last - at));
    luaL_checkstack(L, (int)(last - at) + 1, "text slice too long");
    for (at--; at < last; count++) {
        uint32_t code;
        size_t step = decode(text + at, length - (size_t)at, &code);
        if (step == 0)
            prg_vm_raise(L, 1, "invalid UTF-8 code");
        lua_pushinteger(L, code);
        at += (lua_Integer)step;
    }
    return count;
}

// Moves n characters on (or back) from byte at; -1: there are not so many.
static lua_Integer move(const char *text, size_t length, lua_Integer at, lua_Integer n)
{
    for (; n < 0 && at > 0; n++)
        do
            at--;
        while (at > 0 && is_continuation(text, length, at));
    for (; n > 0 && at < (lua_Integer)length; n--)
        do
            at++;
        while (is_continuation(text, length, at));
    return n == 0 ? at : -1;
}

int prg_utf8_offset(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer n = luaL_checkinteger(L, 2);
    lua_Integer at = from_start(luaL_optinteger(L, 3, n >= 0 ? 1 : (lua_Integer)length + 1), length) - 1;
    luaL_argcheck(L, at >= 0 && at <= (lua_Integer)length, 3, "position out of bounds");
    prg_vm_charge_bytes(L, length);
    if (n == 0) {
        while (at > 0 && is_continuation(text, length, at))
            at--;
    } else {
        if (is_continuation(text, length, at))
            prg_vm_raise(L, 1, "initial position is a continuation byte");
        at = move(text, length, at, n > 0 ? n - 1 : n);
    }
    if (at < 0)
        lua_pushnil(L);
    else
        lua_pushinteger(L, at + 1);
    return 1;
}

static int step_codes(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer at = lua_tointeger(L, 2);
    uint32_t code;
    if (at > 0)
        while (is_continuation(text, length, at))
            at++;
    if (at >= (lua_Integer)length)
        return 0;
    if (at < 0 || decode(text + at, length - (size_t)at, &code) == 0)
        prg_vm_raise(L, 1, "invalid UTF-8 code");
    lua_pushinteger(L, at + 1);
    lua_pushinteger(L, code);
    return 2;
}

int prg_utf8_codes(lua_State *L)
{
    luaL_checkstring(L, 1);
    refuse_lax(L, 2);
    lua_pushcfunction(L, step_codes);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}
