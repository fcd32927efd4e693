// SPDX-License-Identifier: Apache-2.0
// lib_format.c: string.format. %p is absent: addresses must not get into a plan.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policy/sandbox.h"

// The formats come from a script, but only after every flag, width and conversion has been looked at.
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

enum { FORMAT_SPEC = 32, FORMAT_FLAGS = 20, FORMAT_NUMBER = 512 };

// Copies "%[flags][width][.precision]" from *p into spec, checked against the flags that the conversion knows. Returns
// the conversion letter.
static char read_spec(lua_State *L, const char **p, const char *end, char spec[FORMAT_SPEC])
{
    const char *start = *p, *s = start;
    int digits;
    while (s < end && *s && strchr("-+ #0", *s) && s - start < FORMAT_FLAGS)
        s++;
    for (digits = 0; digits < 2 && s < end && *s >= '0' && *s <= '9'; digits++)
        s++;
    if (s < end && *s == '.') {
        s++;
        for (digits = 0; digits < 2 && s < end && *s >= '0' && *s <= '9'; digits++)
            s++;
    }
    if (s == end || !*s || !strchr("aAcdeEfFgGioqsuxX", *s))
        prg_vm_raise(L, 1, "invalid conversion '%%%.*s' to 'format'", (int)(s - start + (s < end)), start);
    size_t length = (size_t)(s - start);
    spec[0] = '%';
    memcpy(spec + 1, start, length);
    spec[length + 1] = '\0';
    *p = s + 1;
    return *s;
}

static void add_integer(lua_State *L, luaL_Buffer *out, int arg, const char *spec, char letter)
{
    char format[FORMAT_SPEC + 4], text[FORMAT_NUMBER];
    long long value = luaL_checkinteger(L, arg);
    snprintf(format, sizeof(format), "%sll%c", spec, letter);
    int n = snprintf(text, sizeof(text), format, value);
    prg_vm_charge(L, 10);
    luaL_addlstring(out, text, (size_t)n);
}

static void add_float(lua_State *L, luaL_Buffer *out, int arg, const char *spec, char letter)
{
    char format[FORMAT_SPEC + 4], text[FORMAT_NUMBER];
    double value = luaL_checknumber(L, arg);
    snprintf(format, sizeof(format), "%s%c", spec, letter);
    int n = snprintf(text, sizeof(text), format, value); // %99.99f of the largest double: 309 + 101 bytes
    prg_vm_charge(L, 10 + (uint64_t)n / 2);
    luaL_addlstring(out, text, (size_t)n);
}

static void add_padding(luaL_Buffer *out, size_t count)
{
    for (; count; count--)
        luaL_addchar(out, ' ');
}

// %s and %c: width and precision by hand, so that texts with NUL bytes are whole.
static void add_text(luaL_Buffer *out, const char *text, size_t length, const char *spec)
{
    bool left = strchr(spec, '-') != NULL;
    const char *p = spec + 1;
    size_t width = 0, most = SIZE_MAX;
    while (*p && strchr("-+ #0", *p))
        p++;
    for (; *p >= '0' && *p <= '9'; p++)
        width = width * 10 + (size_t)(*p - '0');
    if (*p == '.')
        for (most = 0, p++; *p >= '0' && *p <= '9'; p++)
            most = most * 10 + (size_t)(*p - '0');
    if (length > most)
        length = most;
    size_t padding = width > length ? width - length : 0;
    if (!left)
        add_padding(out, padding);
    luaL_addlstring(out, text, length);
    if (left)
        add_padding(out, padding);
}

static void add_character(lua_State *L, luaL_Buffer *out, int arg, const char *spec, char letter)
{
    char byte = (char)luaL_checkinteger(L, arg);
    (void)letter;
    add_text(out, &byte, 1, spec);
}

static void add_string(lua_State *L, luaL_Buffer *out, int arg, const char *spec, char letter)
{
    size_t length;
    (void)letter;
    luaL_checkany(L, arg);
    const char *text = prg_base_push_text(L, arg, &length);
    prg_vm_charge_bytes(L, length);
    if (!spec[1]) {
        luaL_addvalue(out);
        return;
    }
    // The text lies above the buffer's own place on the stack, where only luaL_addvalue may find it.
    char *copy = lua_newuserdatauv(L, length + 1, 0);
    memcpy(copy, text, length);
    lua_replace(L, arg);
    lua_pop(L, 1);
    add_text(out, copy, length, spec);
}

static void add_quoted_text(luaL_Buffer *out, const char *text, size_t length)
{
    luaL_addchar(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool digit_follows = i + 1 < length && text[i + 1] >= '0' && text[i + 1] <= '9';
        char escape[8];
        if (c == '"' || c == '\\' || c == '\n') {
            luaL_addchar(out, '\\');
            luaL_addchar(out, (char)c);
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(escape, sizeof(escape), digit_follows ? "\\%03d" : "\\%d", c);
            luaL_addstring(out, escape);
        } else {
            luaL_addchar(out, (char)c);
        }
    }
    luaL_addchar(out, '"');
}

static void add_quoted(lua_State *L, luaL_Buffer *out, int arg, const char *spec, char letter)
{
    (void)spec;
    (void)letter;
    char text[64];
    size_t length;
    double value;
    switch (lua_type(L, arg)) {
    case LUA_TSTRING: {
        const char *string = lua_tolstring(L, arg, &length);
        prg_vm_charge_bytes(L, length);
        add_quoted_text(out, string, length);
        return;
    }
    case LUA_TNUMBER:
        value = lua_tonumber(L, arg);
        if (lua_isinteger(L, arg) && lua_tointeger(L, arg) == LUA_MININTEGER)
            snprintf(text, sizeof(text), "0x%llx", (unsigned long long)lua_tointeger(L, arg));
        else if (lua_isinteger(L, arg))
            snprintf(text, sizeof(text), "%lld", (long long)lua_tointeger(L, arg));
        else if (isinf(value))
            snprintf(text, sizeof(text), value > 0 ? "1e9999" : "-1e9999");
        else if (isnan(value))
            snprintf(text, sizeof(text), "(0/0)");
        else
            snprintf(text, sizeof(text), "%a", value);
        luaL_addstring(out, text);
        return;
    case LUA_TNIL:
        luaL_addstring(out, "nil");
        return;
    case LUA_TBOOLEAN:
        luaL_addstring(out, lua_toboolean(L, arg) ? "true" : "false");
        return;
    default:
        luaL_argerror(L, arg, "value has no literal form");
    }
}

// What each conversion takes besides a width.
static const struct conversion {
    const char *letters, *flags;
    bool has_precision;
    void (*add)(lua_State *L, luaL_Buffer *out, int arg, const char *spec, char letter);
} conversions[] = {
    {"di", "-+ 0", true, add_integer},      {"u", "-0", true, add_integer},   {"oxX", "-#0", true, add_integer},
    {"aAeEfFgG", "-+ #0", true, add_float}, {"c", "-", false, add_character}, {"s", "-", true, add_string},
    {"q", "", false, add_quoted},
};

static void add_conversion(lua_State *L, luaL_Buffer *out, int arg, const char *spec, char letter)
{
    const struct conversion *c = conversions;
    const char *p = spec + 1;
    while (!strchr(c->letters, letter))
        c++; // read_spec takes known letters only
    while (*p && strchr(c->flags, *p))
        p++;
    bool fits = *p == '\0' || (*p >= '1' && *p <= '9') || (*p == '.' && c->has_precision);
    if (!fits || (!c->has_precision && strchr(p, '.')) || (letter == 'q' && spec[1]))
        prg_vm_raise(L, 1, "invalid conversion '%s%c' to 'format'", spec, letter);
    c->add(L, out, arg, spec, letter);
}

int prg_string_format(lua_State *L)
{
    size_t length;
    int top = lua_gettop(L), arg = 1;
    const char *p = luaL_checklstring(L, 1, &length), *end = p + length;
    luaL_Buffer out;
    prg_vm_charge_bytes(L, length);
    luaL_buffinit(L, &out);
    while (p < end) {
        char spec[FORMAT_SPEC], c = *p++;
        if (c != '%' || (p < end && *p == '%')) {
            p += c == '%'; // %% is one
            luaL_addchar(&out, c);
            continue;
        }
        char letter = read_spec(L, &p, end, spec);
        if (++arg > top)
            luaL_argerror(L, arg, "no value");
        add_conversion(L, &out, arg, spec, letter);
    }
    luaL_pushresult(&out);
    return 1;
}
