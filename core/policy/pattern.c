// SPDX-License-Identifier: Apache-2.0
// pattern.c: making and matching Lua's patterns.
#include "policy/pattern.h"

#include <string.h>

enum {
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

// ---- making items ----

struct maker {
    lua_State *L;
    const char *p, *end;
    struct prg_pattern *pattern;
    uint8_t open[PRG_PATTERN_CAPTURES]; // captures not closed yet
    int open_count;
    bool closed[PRG_PATTERN_CAPTURES];
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
static void make_set(struct maker *m, struct prg_pattern_item *item)
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
static void make_single(struct maker *m, struct prg_pattern_item *item)
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

static void make_repeat(struct maker *m, struct prg_pattern_item *item)
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

static void make_open(struct maker *m, struct prg_pattern_item *item)
{
    struct prg_pattern *pattern = m->pattern;
    if (pattern->captures == PRG_PATTERN_CAPTURES)
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

static void make_close(struct maker *m, struct prg_pattern_item *item)
{
    if (m->open_count == 0)
        prg_vm_raise(m->L, 1, "invalid pattern capture");
    item->kind = ITEM_CLOSE;
    item->a = m->open[--m->open_count];
    m->closed[item->a] = true;
}

// %b, %f, %1: p behind the percent sign, on the letter. false: something else.
static bool make_special(struct maker *m, struct prg_pattern_item *item)
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

static void make_item(struct maker *m, struct prg_pattern_item *item)
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

void prg_pattern_make(lua_State *L, struct prg_pattern *pattern, const char *text, size_t length, bool may_anchor)
{
    struct maker m = {.L = L, .p = text, .end = text + length, .pattern = pattern};
    if (length > PRG_PATTERN_BYTES)
        prg_vm_raise(L, 1, "a pattern may not be longer than %d bytes", PRG_PATTERN_BYTES);
    pattern->is_anchored = may_anchor && length && *text == '^';
    pattern->count = 0;
    pattern->captures = 0;
    pattern->items = pattern->room;
    if (length + 1 > PRG_PATTERN_INLINE)
        pattern->items = lua_newuserdatauv(L, (length + 1) * sizeof(struct prg_pattern_item), 0);
    prg_vm_charge(L, length);
    if (pattern->is_anchored)
        m.p++;
    while (m.p < m.end)
        make_item(&m, &pattern->items[pattern->count++]);
    if (m.open_count)
        prg_vm_raise(L, 1, "unfinished capture");
    memset(&pattern->items[pattern->count], 0, sizeof(struct prg_pattern_item)); // ITEM_END
}

// ---- matching ----

static bool has(const struct prg_pattern_item *item, char byte)
{
    unsigned char c = (unsigned char)byte;
    return item->is_byte ? item->a == c : (item->set[c >> 6] >> (c & 63)) & 1;
}

static void work(struct prg_match *m, size_t steps)
{
    if (steps > CHARGE_STEPS || (m->work += (unsigned)steps) > CHARGE_STEPS) {
        prg_vm_charge(m->L, steps > CHARGE_STEPS ? steps : m->work);
        m->work = 0;
    }
}

static const char *match_items(struct prg_match *m, size_t i, const char *s);

static const char *match_most(struct prg_match *m, size_t i, const char *s, size_t least)
{
    const struct prg_pattern_item *item = &m->pattern->items[i];
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

static const char *match_least(struct prg_match *m, size_t i, const char *s)
{
    const struct prg_pattern_item *item = &m->pattern->items[i];
    for (;; s++) {
        const char *found = match_items(m, i + 1, s);
        if (found)
            return found;
        if (s == m->end || !has(item, *s))
            return NULL;
    }
}

static const char *match_balanced(struct prg_match *m, const struct prg_pattern_item *item, const char *s)
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

static bool match_frontier(const struct prg_match *m, const struct prg_pattern_item *item, const char *s)
{
    char before = s == m->text ? '\0' : s[-1], here = s == m->end ? '\0' : *s;
    return !has(item, before) && has(item, here);
}

static const char *match_again(struct prg_match *m, const struct prg_pattern_item *item, const char *s)
{
    size_t length = m->capture[item->a].length;
    if ((size_t)(m->end - s) < length) // also for a position, which matches nothing
        return NULL;
    work(m, length / 16);
    return memcmp(m->capture[item->a].start, s, length) == 0 ? s + length : NULL;
}

// Begins capture item->a, goes on, and takes it back when the rest does not match.
static const char *match_open(struct prg_match *m, size_t i, const char *s, size_t length)
{
    m->capture[m->level].start = s;
    m->capture[m->level].length = length;
    m->level++;
    const char *found = match_items(m, i + 1, s);
    if (!found)
        m->level--;
    return found;
}

static const char *match_close(struct prg_match *m, size_t i, const char *s)
{
    uint8_t capture = m->pattern->items[i].a;
    m->capture[capture].length = (size_t)(s - m->capture[capture].start);
    const char *found = match_items(m, i + 1, s);
    if (!found)
        m->capture[capture].length = PRG_CAPTURE_OPEN;
    return found;
}

// What follows item i can begin at s: the end of the match, or NULL.
static const char *match_from(struct prg_match *m, size_t i, const char *s)
{
    for (;; i++) {
        const struct prg_pattern_item *item = &m->pattern->items[i];
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
            return match_open(m, i, s, PRG_CAPTURE_OPEN);
        case ITEM_PLACE:
            return match_open(m, i, s, PRG_CAPTURE_PLACE);
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

static const char *match_items(struct prg_match *m, size_t i, const char *s)
{
    if (++m->depth > PATTERN_DEPTH)
        prg_vm_raise(m->L, 1, "pattern too complex");
    const char *found = match_from(m, i, s);
    m->depth--;
    return found;
}

const char *prg_match_at(struct prg_match *m, const char *s)
{
    prg_require(s);
    m->level = 0;
    m->depth = 0;
    return match_items(m, 0, s);
}

void prg_match_begin(struct prg_match *m, lua_State *L, const struct prg_pattern *pattern, const char *text,
                     size_t length)
{
    m->L = L;
    m->pattern = pattern;
    m->text = text;
    m->end = text + length;
    m->level = m->depth = 0;
    m->work = 0;
}

void prg_match_finish(struct prg_match *m)
{
    prg_vm_charge(m->L, m->work);
    m->work = 0;
}
