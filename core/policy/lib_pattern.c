// SPDX-License-Identifier: Apache-2.0
// lib_pattern.c: find, match, gmatch and gsub. A pattern is first made into a list of items, so that every mistake in
// it is found whatever the text is; then it is matched with backtracking, each step charged to the budget.
#include <limits.h>
#include <string.h>

#include "policy/sandbox.h"
#include "policy/view.h"

enum {
    PATTERN_BYTES = 4096, // longest pattern
    PATTERN_INLINE = 40,  // items kept on the C stack; longer patterns take a userdata
    PATTERN_CAPTURES = 32,
    PATTERN_DEPTH = 200, // nested repeats and captures
    CHARGE_STEPS = 512,  // steps of the matcher between two charges
};

enum item_kind {
    ITEM_END,      // of the pattern
    ITEM_ONE,      // one byte of the set
    ITEM_STAR,     // as many as can be, none too
    ITEM_PLUS,     // as many as can be, one at least
    ITEM_LEAST,    // as few as can be
    ITEM_MAYBE,    // one or none
    ITEM_OPEN,     // (
    ITEM_CLOSE,    // ): a is the capture
    ITEM_PLACE,    // ()
    ITEM_BALANCED, // %bxy: a and b
    ITEM_FRONTIER, // %f[set]
    ITEM_AGAIN,    // %1: a is the capture
    ITEM_TEXT_END, // $ at the end
};

struct item {
    uint8_t kind, a, b;
    bool is_byte;    // the set is the one byte a
    uint64_t set[4]; // bit per byte value, unless is_byte
};

struct pattern {
    bool is_anchored;
    size_t count;
    int captures;
    struct item *items; // the last is ITEM_END
    struct item room[PATTERN_INLINE];
};

// ---- making items ----

struct maker {
    lua_State *L;
    const char *p, *end;
    struct pattern *pattern;
    uint8_t open[PATTERN_CAPTURES]; // captures not closed yet
    int open_count;
    bool closed[PATTERN_CAPTURES];
};

PRG_NORETURN static void malformed(lua_State *L, const char *what)
{
    prg_vm_raise(L, 1, "malformed pattern (%s)", what);
}

// Low and high 64 bits of ASCII for a class letter; false: not a class.
static bool class_bits(char letter, uint64_t *low, uint64_t *high)
{
    switch (letter) {
    case 'a':
        *low = 0, *high = 0x07fffffe07fffffe;
        break;
    case 'c':
        *low = 0x00000000ffffffff, *high = 0x8000000000000000;
        break;
    case 'd':
        *low = 0x03ff000000000000, *high = 0;
        break;
    case 'g':
        *low = 0xfffffffe00000000, *high = 0x7fffffffffffffff;
        break;
    case 'l':
        *low = 0, *high = 0x07fffffe00000000;
        break;
    case 'p':
        *low = 0xfc00fffe00000000, *high = 0x78000001f8000001;
        break;
    case 's':
        *low = 0x0000000100003e00, *high = 0;
        break;
    case 'u':
        *low = 0, *high = 0x0000000007fffffe;
        break;
    case 'w':
        *low = 0x03ff000000000000, *high = 0x07fffffe07fffffe;
        break;
    case 'x':
        *low = 0x03ff000000000000, *high = 0x0000007e0000007e;
        break;
    case 'z': // NUL; old, but stock Lua still knows it
        *low = 1, *high = 0;
        break;
    default:
        return false;
    }
    return true;
}

static void add_byte(uint64_t set[4], unsigned char c)
{
    set[c >> 6] |= (uint64_t)1 << (c & 63);
}

// Adds what %letter stands for: a class, its complement for a capital, else the byte itself.
static void add_class(uint64_t set[4], char letter)
{
    uint64_t low, high;
    bool is_upper = letter >= 'A' && letter <= 'Z';
    if (!class_bits(is_upper ? (char)(letter + 32) : letter, &low, &high)) {
        add_byte(set, (unsigned char)letter);
    } else if (is_upper) {
        set[0] |= ~low, set[1] |= ~high;
        set[2] = set[3] = UINT64_MAX;
    } else {
        set[0] |= low, set[1] |= high;
    }
}

// Reads [set], p behind the bracket.
static void make_set(struct maker *m, struct item *item)
{
    bool inverted = false;
    if (m->p < m->end && *m->p == '^') {
        inverted = true;
        m->p++;
    }
    for (bool first = true;; first = false) { // a ] that comes first is a byte like others
        if (m->p == m->end)
            malformed(m->L, "missing ']'");
        char c = *m->p++;
        if (c == ']' && !first)
            break;
        if (c == '%') {
            if (m->p == m->end)
                malformed(m->L, "missing ']'");
            add_class(item->set, *m->p++);
        } else if (m->end - m->p >= 2 && m->p[0] == '-' && m->p[1] != ']') {
            for (unsigned i = (unsigned char)c; i <= (unsigned char)m->p[1]; i++)
                add_byte(item->set, (unsigned char)i);
            m->p += 2;
        } else {
            add_byte(item->set, (unsigned char)c);
        }
    }
    for (int i = 0; inverted && i < 4; i++)
        item->set[i] = ~item->set[i];
}

// Reads one single-byte class: x, ., %x or [set].
static void make_single(struct maker *m, struct item *item)
{
    char c = *m->p++;
    if (c == '.') {
        memset(item->set, 0xff, sizeof(item->set));
    } else if (c == '[') {
        make_set(m, item);
    } else if (c == '%') {
        if (m->p == m->end)
            malformed(m->L, "ends with '%'");
        add_class(item->set, *m->p++);
    } else {
        item->is_byte = true;
        item->a = (uint8_t)c;
    }
}

static void make_repeat(struct maker *m, struct item *item)
{
    static const char letters[] = "*+-?";
    static const uint8_t kinds[] = {ITEM_STAR, ITEM_PLUS, ITEM_LEAST, ITEM_MAYBE};
    const char *found = m->p < m->end && *m->p ? strchr(letters, *m->p) : NULL;
    item->kind = ITEM_ONE;
    if (found) {
        item->kind = kinds[found - letters];
        m->p++;
    }
}

static void make_open(struct maker *m, struct item *item)
{
    struct pattern *pattern = m->pattern;
    if (pattern->captures == PATTERN_CAPTURES)
        prg_vm_raise(m->L, 1, "too many captures");
    item->a = (uint8_t)pattern->captures++;
    if (m->p < m->end && *m->p == ')') {
        m->p++;
        item->kind = ITEM_PLACE;
        m->closed[item->a] = true;
        return;
    }
    item->kind = ITEM_OPEN;
    m->open[m->open_count++] = item->a;
}

static void make_close(struct maker *m, struct item *item)
{
    if (m->open_count == 0)
        prg_vm_raise(m->L, 1, "invalid pattern capture");
    item->kind = ITEM_CLOSE;
    item->a = m->open[--m->open_count];
    m->closed[item->a] = true;
}

// %b, %f, %1: p behind the percent sign, on the letter. false: something else.
static bool make_special(struct maker *m, struct item *item)
{
    char c = *m->p;
    if (c == 'b') {
        if (m->end - m->p < 3)
            malformed(m->L, "missing arguments to '%b'");
        item->kind = ITEM_BALANCED;
        item->a = (uint8_t)m->p[1];
        item->b = (uint8_t)m->p[2];
        m->p += 3;
    } else if (c == 'f') {
        if (m->end - m->p < 2 || m->p[1] != '[')
            malformed(m->L, "missing '[' after '%f'");
        m->p += 2;
        item->kind = ITEM_FRONTIER;
        make_set(m, item);
    } else if (c >= '0' && c <= '9') {
        int capture = c - '1';
        if (capture < 0 || capture >= m->pattern->captures || !m->closed[capture])
            prg_vm_raise(m->L, 1, "invalid capture index %%%d in pattern", capture + 1);
        item->kind = ITEM_AGAIN;
        item->a = (uint8_t)capture;
        m->p++;
    } else {
        return false;
    }
    return true;
}

static void make_item(struct maker *m, struct item *item)
{
    memset(item, 0, sizeof(*item));
    switch (*m->p) {
    case '(':
        m->p++;
        make_open(m, item);
        return;
    case ')':
        m->p++;
        make_close(m, item);
        return;
    case '$':
        if (m->p + 1 == m->end) {
            m->p++;
            item->kind = ITEM_TEXT_END;
            return;
        }
        break;
    case '%':
        m->p++;
        if (m->p < m->end && make_special(m, item))
            return;
        m->p--;
        break;
    default:
        break;
    }
    make_single(m, item);
    make_repeat(m, item);
}

// may_anchor: a ^ in front ties the match to the beginning (gmatch knows no anchor). Long patterns leave a userdata on
// the stack.
static void make_pattern(lua_State *L, struct pattern *pattern, const char *text, size_t length, bool may_anchor)
{
    struct maker m = {.L = L, .p = text, .end = text + length, .pattern = pattern};
    if (length > PATTERN_BYTES)
        prg_vm_raise(L, 1, "a pattern may not be longer than %d bytes", PATTERN_BYTES);
    pattern->is_anchored = may_anchor && length && *text == '^';
    pattern->count = 0;
    pattern->captures = 0;
    pattern->items = pattern->room;
    if (length + 1 > PATTERN_INLINE)
        pattern->items = lua_newuserdatauv(L, (length + 1) * sizeof(struct item), 0);
    prg_vm_charge(L, length);
    if (pattern->is_anchored)
        m.p++;
    while (m.p < m.end)
        make_item(&m, &pattern->items[pattern->count++]);
    if (m.open_count)
        prg_vm_raise(L, 1, "unfinished capture");
    memset(&pattern->items[pattern->count], 0, sizeof(struct item)); // ITEM_END
}

// ---- matching ----

#define LENGTH_OPEN SIZE_MAX        // capture not closed yet
#define LENGTH_PLACE (SIZE_MAX - 1) // a position, not a text

struct match {
    lua_State *L;
    const struct pattern *pattern;
    const char *text, *end;
    int level; // captures begun
    int depth;
    unsigned work;
    struct {
        const char *start;
        size_t length;
    } capture[PATTERN_CAPTURES];
};

static bool has(const struct item *item, char byte)
{
    unsigned char c = (unsigned char)byte;
    return item->is_byte ? item->a == c : (item->set[c >> 6] >> (c & 63)) & 1;
}

static void work(struct match *m, size_t steps)
{
    if (steps > CHARGE_STEPS || (m->work += (unsigned)steps) > CHARGE_STEPS) {
        prg_vm_charge(m->L, steps > CHARGE_STEPS ? steps : m->work);
        m->work = 0;
    }
}

static const char *match_items(struct match *m, size_t i, const char *s);

static const char *match_most(struct match *m, size_t i, const char *s, size_t least)
{
    const struct item *item = &m->pattern->items[i];
    size_t count = 0;
    while (s + count < m->end && has(item, s[count]))
        count++;
    work(m, count);
    for (;; count--) {
        if (count < least)
            return NULL;
        const char *found = match_items(m, i + 1, s + count);
        if (found)
            return found;
        if (count == 0)
            return NULL;
    }
}

static const char *match_least(struct match *m, size_t i, const char *s)
{
    const struct item *item = &m->pattern->items[i];
    for (;; s++) {
        const char *found = match_items(m, i + 1, s);
        if (found)
            return found;
        if (s == m->end || !has(item, *s))
            return NULL;
    }
}

static const char *match_balanced(struct match *m, const struct item *item, const char *s)
{
    size_t depth = 1;
    if (s == m->end || (uint8_t)*s != item->a)
        return NULL;
    for (const char *p = s + 1; p < m->end; p++) {
        work(m, 1);
        if ((uint8_t)*p == item->b) {
            if (--depth == 0)
                return p + 1;
        } else if ((uint8_t)*p == item->a) {
            depth++;
        }
    }
    return NULL;
}

static bool match_frontier(const struct match *m, const struct item *item, const char *s)
{
    char before = s == m->text ? '\0' : s[-1], here = s == m->end ? '\0' : *s;
    return !has(item, before) && has(item, here);
}

static const char *match_again(struct match *m, const struct item *item, const char *s)
{
    size_t length = m->capture[item->a].length;
    if ((size_t)(m->end - s) < length) // also for a position, which matches nothing
        return NULL;
    work(m, length / 16);
    return memcmp(m->capture[item->a].start, s, length) == 0 ? s + length : NULL;
}

// Begins capture item->a, goes on, and takes it back when the rest does not match.
static const char *match_open(struct match *m, size_t i, const char *s, size_t length)
{
    m->capture[m->level].start = s;
    m->capture[m->level].length = length;
    m->level++;
    const char *found = match_items(m, i + 1, s);
    if (!found)
        m->level--;
    return found;
}

static const char *match_close(struct match *m, size_t i, const char *s)
{
    uint8_t capture = m->pattern->items[i].a;
    m->capture[capture].length = (size_t)(s - m->capture[capture].start);
    const char *found = match_items(m, i + 1, s);
    if (!found)
        m->capture[capture].length = LENGTH_OPEN;
    return found;
}

// What follows item i can begin at s: the end of the match, or NULL.
static const char *match_from(struct match *m, size_t i, const char *s)
{
    for (;; i++) {
        const struct item *item = &m->pattern->items[i];
        work(m, 1);
        switch (item->kind) {
        case ITEM_END:
            return s;
        case ITEM_ONE:
            if (s == m->end || !has(item, *s))
                return NULL;
            s++;
            break;
        case ITEM_STAR:
            return match_most(m, i, s, 0);
        case ITEM_PLUS:
            return match_most(m, i, s, 1);
        case ITEM_LEAST:
            return match_least(m, i, s);
        case ITEM_MAYBE:
            if (s < m->end && has(item, *s)) {
                const char *found = match_items(m, i + 1, s + 1);
                if (found)
                    return found;
            }
            break;
        case ITEM_OPEN:
            return match_open(m, i, s, LENGTH_OPEN);
        case ITEM_PLACE:
            return match_open(m, i, s, LENGTH_PLACE);
        case ITEM_CLOSE:
            return match_close(m, i, s);
        case ITEM_BALANCED:
            s = match_balanced(m, item, s);
            break;
        case ITEM_FRONTIER:
            if (!match_frontier(m, item, s))
                return NULL;
            break;
        case ITEM_AGAIN:
            s = match_again(m, item, s);
            break;
        default: // ITEM_TEXT_END
            return s == m->end ? s : NULL;
        }
        if (!s)
            return NULL;
    }
}

static const char *match_items(struct match *m, size_t i, const char *s)
{
    if (++m->depth > PATTERN_DEPTH)
        prg_vm_raise(m->L, 1, "pattern too complex");
    const char *found = match_from(m, i, s);
    m->depth--;
    return found;
}

static const char *match_at(struct match *m, const char *s)
{
    m->level = 0;
    m->depth = 0;
    return match_items(m, 0, s);
}

static void begin_match(struct match *m, lua_State *L, const struct pattern *pattern, const char *text, size_t length)
{
    m->L = L;
    m->pattern = pattern;
    m->text = text;
    m->end = text + length;
    m->level = m->depth = 0;
    m->work = 0;
}

// ---- captures ----

// Pushes capture i, or the whole match [s, e) for i == 0 of a pattern without captures.
static void push_capture(const struct match *m, int i, const char *s, const char *e)
{
    if (i >= m->level) {
        if (i != 0)
            prg_vm_raise(m->L, 1, "invalid capture index %%%d", i + 1);
        lua_pushlstring(m->L, s, (size_t)(e - s));
    } else if (m->capture[i].length == LENGTH_PLACE) {
        lua_pushinteger(m->L, m->capture[i].start - m->text + 1);
    } else {
        lua_pushlstring(m->L, m->capture[i].start, m->capture[i].length);
    }
}

// Pushes all captures; whole: the match itself when there are none.
static int push_captures(const struct match *m, const char *s, const char *e, bool whole)
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
    struct pattern pattern;
    struct match m;
    make_pattern(L, &pattern, source, pattern_length, true);
    begin_match(&m, L, &pattern, text, length);
    for (const char *s = text + start; s <= m.end; s++) {
        const char *e = match_at(&m, s);
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
    prg_vm_charge(L, m.work);
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
    struct pattern pattern;
};

// Upvalues: 1 text, 2 pattern, 3 struct walk, 4 the items when they are many.
static int step_gmatch(lua_State *L)
{
    struct walk *walk = lua_touserdata(L, lua_upvalueindex(3));
    size_t length;
    const char *text = lua_tolstring(L, lua_upvalueindex(1), &length);
    struct match m;
    begin_match(&m, L, &walk->pattern, text, length);
    for (size_t at = walk->next; at <= length; at++) {
        const char *e = match_at(&m, text + at);
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
    make_pattern(L, &walk->pattern, source, pattern_length, false);
    lua_settop(L, 4);
    lua_pushcclosure(L, step_gmatch, 4);
    return 1;
}

// ---- gsub ----

static void add_expanded(struct match *m, luaL_Buffer *out, const char *s, const char *e)
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
static bool add_replacement(struct match *m, luaL_Buffer *out, const char *s, const char *e)
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
    struct pattern pattern;
    struct match m;
    luaL_Buffer out;
    bool changed = false;
    lua_settop(L, 4);
    make_pattern(L, &pattern, source, pattern_length, true);
    begin_match(&m, L, &pattern, text, length);
    luaL_buffinit(L, &out);
    const char *s = text, *last = NULL;
    while (count < most) {
        const char *e = match_at(&m, s);
        if (e && e != last) {
            count++;
            changed = add_replacement(&m, &out, s, e) || changed;
            s = last = e;
        } else if (s < m.end) {
            luaL_addchar(&out, *s++);
        } else {
            break;
        }
        if (pattern.is_anchored)
            break;
    }
    prg_vm_charge(L, m.work);
    if (changed) {
        luaL_addlstring(&out, s, (size_t)(m.end - s));
        luaL_pushresult(&out);
    } else {
        lua_pushvalue(L, 1);
    }
    lua_pushinteger(L, count);
    return 2;
}
