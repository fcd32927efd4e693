// SPDX-License-Identifier: Apache-2.0
// print.c: tree to text, and the digest of the canonical text.
//
// Nothing here recurses: open containers lie on an explicit stack, so that a tree of any depth prints.
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/vec.h"
#include "json/number.h"
#include "json/value.h"

// ---- walking a tree without recursion ----

struct level {
    const cJSON *container;
    const cJSON *next;   // next child, in an unsorted walk and in arrays
    size_t first, index; // of a sorted object: its members among walk.sorted, and the next one
    size_t end;
    bool is_sorted;
};

struct walk {
    struct level *levels;
    size_t depth, cap;
    struct prg_vec sorted; // members of the open objects in order, the innermost object's last
    bool sort;
};

static int compare_keys(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const cJSON *)a)->string, ((const cJSON *)b)->string);
}

static bool is_in_order(const cJSON *object)
{
    for (const cJSON *member = object->child; member && member->next; member = member->next)
        if (strcmp(member->string, member->next->string) > 0)
            return false;
    return true;
}

static void walk_open(struct walk *walk, const cJSON *container)
{
    if (walk->depth == walk->cap) {
        walk->cap = walk->cap ? walk->cap * 2 : 32;
        walk->levels = prg_xrealloc(walk->levels, walk->cap * sizeof(*walk->levels));
    }
    struct level *level = &walk->levels[walk->depth++];
    *level = (struct level){.container = container, .next = container->child};
    if (!walk->sort || !prg_json_is_object(container) || is_in_order(container))
        return;
    level->is_sorted = true;
    level->first = level->index = walk->sorted.count;
    cJSON *member;
    prg_json_each (member, container)
        prg_vec_push(&walk->sorted, member);
    level->end = walk->sorted.count;
    prg_sort(walk->sorted.items + level->first, level->end - level->first, compare_keys, NULL);
}

// The next child of the innermost container, or NULL at its end.
static const cJSON *walk_next(struct walk *walk)
{
    struct level *level = &walk->levels[walk->depth - 1];
    if (level->is_sorted)
        return level->index < level->end ? walk->sorted.items[level->index++] : NULL;
    const cJSON *child = level->next;
    if (child)
        level->next = child->next;
    return child;
}

static void walk_close(struct walk *walk)
{
    const struct level *level = &walk->levels[--walk->depth];
    if (level->is_sorted)
        walk->sorted.count = level->first;
}

static void walk_release(struct walk *walk)
{
    free(walk->levels);
    prg_vec_release(&walk->sorted);
}

// ---- printing ----

// Bytes that stand for themselves in a string whatever the flags.
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

static void print_ascii(struct prg_strbuf *out, unsigned char c, unsigned flags)
{
    static const char shorter[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    bool is_html = c == '<' || c == '>' || c == '&';
    if (c == '"' || c == '\\') {
        prg_strbuf_putc(out, '\\');
        prg_strbuf_putc(out, (char)c);
    } else if (c < sizeof(shorter) && shorter[c]) {
        prg_strbuf_putc(out, '\\');
        prg_strbuf_putc(out, shorter[c]);
    } else if (c < 0x20 || (is_html && (flags & PRG_JSON_ESCAPE_HTML))) {
        prg_strbuf_printf(out, "\\u%04x", c);
    } else {
        prg_strbuf_putc(out, (char)c);
    }
}

// Bytes that are not UTF-8 (only texts made in memory can hold them) print as U+FFFD, so that the output is valid.
static void print_string(struct prg_strbuf *out, const char *text, size_t length, unsigned flags)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    prg_strbuf_putc(out, '"');
    while (at < end) {
        const unsigned char *plain = at;
        while (at < end && is_plain(*at))
            at++;
        prg_strbuf_add(out, plain, (size_t)(at - plain));
        if (at >= end)
            break;
        if (*at < 0x80) {
            print_ascii(out, *at++, flags);
            continue;
        }
        size_t sequence = prg_utf8_length((const char *)at, (size_t)(end - at));
        bool is_separator = sequence == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] & 0xfe) == 0xa8;
        if (!sequence)
            prg_strbuf_puts(out, "\\ufffd");
        else if (is_separator && (flags & PRG_JSON_ESCAPE_HTML))
            prg_strbuf_puts(out, at[2] == 0xa8 ? "\\u2028" : "\\u2029");
        else
            prg_strbuf_add(out, at, sequence);
        at += sequence ? sequence : 1;
    }
    prg_strbuf_putc(out, '"');
}

static void print_break(struct prg_strbuf *out, size_t depth, unsigned flags)
{
    if (!(flags & PRG_JSON_PRETTY))
        return;
    prg_strbuf_putc(out, '\n');
    prg_strbuf_pad(out, ' ', depth * 2);
}

// Prints a scalar or an empty container whole; opens any other container.
static void print_value(struct prg_strbuf *out, struct walk *walk, const cJSON *node, unsigned flags)
{
    if (prg_json_is_string(node))
        print_string(out, node->valuestring, (size_t)node->valueint, flags);
    else if (prg_json_is_number(node))
        prg_strbuf_puts(out, node->valuestring);
    else if (prg_json_is_bool(node))
        prg_strbuf_puts(out, prg_json_is_true(node) ? "true" : "false");
    else if (!prg_json_is_object(node) && !prg_json_is_array(node))
        prg_strbuf_puts(out, "null");
    else if (!node->child)
        prg_strbuf_puts(out, prg_json_is_object(node) ? "{}" : "[]");
    else {
        prg_strbuf_putc(out, prg_json_is_object(node) ? '{' : '[');
        walk_open(walk, node);
    }
}

void prg_json_print(struct prg_strbuf *out, const cJSON *node, unsigned flags)
{
    struct walk walk = {.sort = flags & PRG_JSON_SORTED};
    bool is_first = true;
    print_value(out, &walk, node, flags);
    while (walk.depth > 0) {
        const cJSON *container = walk.levels[walk.depth - 1].container;
        const cJSON *child = walk_next(&walk);
        if (!child) {
            walk_close(&walk);
            print_break(out, walk.depth, flags);
            prg_strbuf_putc(out, prg_json_is_object(container) ? '}' : ']');
            is_first = false;
            continue;
        }
        if (!is_first)
            prg_strbuf_putc(out, ',');
        print_break(out, walk.depth, flags);
        if (prg_json_is_object(container)) {
            print_string(out, child->string, strlen(child->string), flags);
            prg_strbuf_puts(out, flags & PRG_JSON_PRETTY ? ": " : ":");
        }
        size_t depth = walk.depth;
        print_value(out, &walk, child, flags);
        is_first = walk.depth > depth;
    }
    walk_release(&walk);
}

char *prg_json_print_arena(struct prg_arena *arena, const cJSON *node, unsigned flags)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_json_print(&out, node, flags);
    return prg_arena_strndup(arena, out.text, out.length);
}

// ---- digest ----

#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint64_t fnv_byte(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * FNV_PRIME;
}

static uint64_t fnv(uint64_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = fnv_byte(hash, (unsigned char)bytes[i]);
    return hash;
}

// A text goes in with its length before it, so that its content cannot pass for structure.
static uint64_t fnv_text(uint64_t hash, char mark, const char *text, size_t length)
{
    hash = fnv_byte(hash, (unsigned char)mark);
    for (size_t rest = length; rest; rest >>= 8)
        hash = fnv_byte(hash, (unsigned char)rest);
    hash = fnv_byte(hash, ':');
    return fnv(hash, text, length);
}

static uint64_t digest_value(uint64_t hash, struct walk *walk, struct prg_strbuf *scratch, const cJSON *node)
{
    if (prg_json_is_object(node) || prg_json_is_array(node)) {
        walk_open(walk, node);
        return fnv_byte(hash, prg_json_is_object(node) ? '{' : '[');
    }
    if (prg_json_is_string(node))
        return fnv_text(hash, '"', node->valuestring, (size_t)node->valueint);
    if (prg_json_is_number(node)) {
        struct prg_number number = prg_number_read(node->valuestring);
        prg_strbuf_clear(scratch);
        prg_number_canonical(scratch, &number);
        return fnv_text(hash, '0', scratch->text, scratch->length);
    }
    if (prg_json_is_bool(node))
        return fnv_byte(hash, prg_json_is_true(node) ? 't' : 'f');
    return fnv_byte(hash, 'n');
}

uint64_t prg_json_digest(const cJSON *node)
{
    struct walk walk = {.sort = true};
    prg_auto_strbuf scratch = PRG_STRBUF_INIT;
    uint64_t hash = digest_value(FNV_BASIS, &walk, &scratch, node);
    while (walk.depth > 0) {
        const cJSON *container = walk.levels[walk.depth - 1].container;
        const cJSON *child = walk_next(&walk);
        if (!child) {
            walk_close(&walk);
            hash = fnv_byte(hash, prg_json_is_object(container) ? '}' : ']');
            continue;
        }
        if (prg_json_is_object(container))
            hash = fnv_text(hash, 'k', child->string, strlen(child->string));
        hash = digest_value(hash, &walk, &scratch, child);
    }
    walk_release(&walk);
    return hash;
}
