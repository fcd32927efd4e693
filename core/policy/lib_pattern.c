// SPDX-License-Identifier: Apache-2.0
// lib_pattern.c: find, match, gmatch and gsub.
#include <string.h>

#include "policy/pattern.h"
#include "policy/sandbox.h"
#include "policy/view.h"

// ---- captures ----

// Pushes capture i, or the whole match [s, e) for i == 0 of a pattern without captures.
static void push_capture(const struct prg_match *m, int i, const char *s, const char *e)
{
    if (i >= m->level) {
        if (i != 0)
            prg_vm_raise(m->L, 1, "invalid capture index %%%d", i + 1);
        lua_pushlstring(m->L, s, (size_t)(e - s));
    } else if (m->capture[i].length == PRG_CAPTURE_PLACE) {
        lua_pushinteger(m->L, m->capture[i].start - m->text + 1);
    } else {
        lua_pushlstring(m->L, m->capture[i].start, m->capture[i].length);
    }
}

// Pushes all captures; whole: the match itself when there are none.
static int push_captures(const struct prg_match *m, const char *s, const char *e, bool whole)
{
    int count = m->level == 0 && whole ? 1 : m->level;
    luaL_checkstack(m->L, count, "too many captures");
    for (int i = 0; i < count; i++)
        push_capture(m, i, s, e);
    return count;
}

// ---- find, match ----

// Byte offset that `init` at argument index names; more than length: no match can be.
static size_t start_offset(lua_State *L, int index, size_t length)
{
    lua_Integer init = luaL_optinteger(L, index, 1);
    if (init > 0)
        return (size_t)init - 1;
    if (init == 0 || init < -(lua_Integer)length)
        return 0;
    return length - (size_t)-init;
}

static bool is_plain(const char *pattern, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (pattern[i] && strchr("^$*+?.([%-", pattern[i]))
            return false;
    return true;
}

static int find_plain(lua_State *L, const char *text, size_t length, size_t start, const char *part, size_t part_length)
{
    prg_vm_charge_bytes(L, length - start);
    const char *found = memmem(text + start, length - start, part, part_length);
    if (!found) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, found - text + 1);
    lua_pushinteger(L, found - text + (lua_Integer)part_length);
    return 2;
}

static int find(lua_State *L, bool is_find)
{
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *source = luaL_checklstring(L, 2, &pattern_length);
    size_t start = start_offset(L, 3, length);
    if (start > length) {
        lua_pushnil(L);
        return 1;
    }
    if (is_find && (lua_toboolean(L, 4) || is_plain(source, pattern_length)))
        return find_plain(L, text, length, start, source, pattern_length);
    struct prg_pattern pattern;
    struct prg_match m;
    prg_pattern_make(L, &pattern, source, pattern_length, true);
    prg_match_begin(&m, L, &pattern, text, length);
    for (const char *s = text + start; s <= m.end; s++) {
        const char *e = prg_match_at(&m, s);
        if (e && is_find) {
            lua_pushinteger(L, s - text + 1);
            lua_pushinteger(L, e - text);
            return push_captures(&m, s, e, false) + 2;
        }
        if (e)
            return push_captures(&m, s, e, true);
        if (pattern.is_anchored)
            break;
    }
    prg_match_finish(&m);
    lua_pushnil(L);
    return 1;
}

int prg_string_find(lua_State *L)
{
    return find(L, true);
}

int prg_string_match(lua_State *L)
{
    return find(L, false);
}

// ---- gmatch ----

struct walk {
    size_t next; // offset to look on from
    size_t last; // end of the last match, SIZE_MAX: none; a match may not end where the one before it did
    struct prg_pattern pattern;
};

// Upvalues: 1 text, 2 pattern, 3 struct walk, 4 the items when they are many.
static int step_gmatch(lua_State *L)
{
    struct walk *walk = lua_touserdata(L, lua_upvalueindex(3));
    size_t length;
    const char *text = lua_tolstring(L, lua_upvalueindex(1), &length);
    struct prg_match m;
    prg_match_begin(&m, L, &walk->pattern, text, length);
    for (size_t at = walk->next; at <= length; at++) {
        const char *e = prg_match_at(&m, text + at);
        if (!e || (size_t)(e - text) == walk->last)
            continue;
        walk->next = walk->last = (size_t)(e - text);
        return push_captures(&m, text + at, e, true);
    }
    walk->next = length + 1;
    return 0;
}

int prg_string_gmatch(lua_State *L)
{
    size_t length, pattern_length;
    luaL_checklstring(L, 1, &length);
    const char *source = luaL_checklstring(L, 2, &pattern_length);
    size_t start = start_offset(L, 3, length);
    lua_settop(L, 2);
    struct walk *walk = lua_newuserdatauv(L, sizeof(*walk), 0);
    walk->next = start;
    walk->last = SIZE_MAX;
    prg_pattern_make(L, &walk->pattern, source, pattern_length, false);
    lua_settop(L, 4);
    lua_pushcclosure(L, step_gmatch, 4);
    return 1;
}

// ---- gsub ----

static void add_expanded(struct prg_match *m, luaL_Buffer *out, const char *s, const char *e)
{
    size_t length;
    const char *text = lua_tolstring(m->L, 3, &length);
    prg_vm_charge_bytes(m->L, length);
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            luaL_addchar(out, text[i]);
            continue;
        }
        char c = ++i < length ? text[i] : '\0';
        if (i < length && c == '%') {
            luaL_addchar(out, '%');
        } else if (c == '0') {
            luaL_addlstring(out, s, (size_t)(e - s));
        } else if (c >= '1' && c <= '9') {
            if (c - '1' >= m->level && c != '1')
                prg_vm_raise(m->L, 1, "invalid capture index %%%c in replacement string", c);
            push_capture(m, c - '1', s, e);
            lua_tolstring(m->L, -1, NULL); // a position becomes a text
            luaL_addvalue(out);
        } else {
            prg_vm_raise(m->L, 1, "invalid use of '%%' in replacement string");
        }
    }
}

// Adds what stands for the match [s, e). Returns true when it was changed.
static bool add_replacement(struct prg_match *m, luaL_Buffer *out, const char *s, const char *e)
{
    lua_State *L = m->L;
    int type = lua_type(L, 3);
    if (type == LUA_TSTRING || type == LUA_TNUMBER) {
        add_expanded(m, out, s, e);
        return true;
    }
    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, e, true), 1);
    } else {
        push_capture(m, 0, s, e);
        lua_gettable(L, 3);
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(out, s, (size_t)(e - s));
        return false;
    }
    if (!lua_isstring(L, -1))
        prg_vm_raise(L, 1, "invalid replacement value (a %s)", prg_base_type_name(L, -1));
    luaL_addvalue(out);
    return true;
}

int prg_string_gsub(lua_State *L)
{
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *source = luaL_checklstring(L, 2, &pattern_length);
    int type = lua_type(L, 3);
    luaL_argexpected(L,
                     type == LUA_TSTRING || type == LUA_TNUMBER || type == LUA_TFUNCTION || type == LUA_TTABLE ||
                         prg_view_is(L, 3),
                     3, "string/function/table");
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)length + 1), count = 0;
    struct prg_pattern pattern;
    struct prg_match m;
    luaL_Buffer out;
    bool changed = false;
    lua_settop(L, 4);
    prg_pattern_make(L, &pattern, source, pattern_length, true);
    prg_match_begin(&m, L, &pattern, text, length);
    luaL_buffinit(L, &out);
    const char *s = text, *last = NULL;
    while (count < most) {
        const char *e = prg_match_at(&m, s);
        if (e && e != last) {
            count++;
            changed = add_replacement(&m, &out, s, e) || changed;
            s = last = e;
        } else if (s < m.end) {
            luaL_addlstring(&out, s++, 1);
        } else {
            break;
        }
        if (pattern.is_anchored)
            break;
    }
    prg_match_finish(&m);
    if (changed) {
        luaL_addlstring(&out, s, (size_t)(m.end - s));
        luaL_pushresult(&out);
    } else {
        lua_pushvalue(L, 1);
    }
    lua_pushinteger(L, count);
    return 2;
}
