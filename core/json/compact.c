// SPDX-License-Identifier: Apache-2.0
// compact.c: reading and writing at once. The result is never longer than the text, so room is made once, and bytes are
// copied while they are looked at; what turns out to be left out is taken back.
#include "json/compact.h"

#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "base/utf8.h"
#include "json/number.h"

enum { FEW_KEYS = 24 }; // up to so many are compared each with each, more are sorted

struct key {
    const char *text;
    size_t length;
};

struct reader {
    const char *at, *end;
    char *put; // room for what is between at and end, and for 8 bytes more
    prg_compact_fn note;
    void *ctx;
    unsigned depth;
    struct key *keys; // of the open objects, the innermost one's last
    size_t key_count, key_cap;
    struct prg_arena arena; // of texts with escapes
};

static bool read_value(struct reader *r, const struct prg_compact_rule *rule, unsigned note);

// ---- pieces ----

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

// Moves over a character and copies it; false where there is none.
static bool copy_character(struct reader *r)
{
    size_t length = 1, room = (size_t)(r->end - r->at);
    if (room == 0 || (unsigned char)*r->at < 0x20)
        return false;
    if (*r->at == '\\')
        length = 2; // the rest of an escape is plain; decode looks at it
    else if ((unsigned char)*r->at >= 0x80)
        length = prg_utf8_length(r->at, room);
    if (!length || length > room)
        return false;
    memcpy(r->put, r->at, length);
    r->at += length;
    r->put += length;
    return true;
}

// The text of a string with escapes.
static bool decode(struct reader *r, const char *open, size_t length, struct key *ret)
{
    cJSON *value;
    if (prg_json_parse(&r->arena, open, length, NULL, &value, NULL) != PRG_OK)
        return false;
    *ret = (struct key){prg_json_text(value), prg_json_text_length(value)};
    return true;
}

// The string at r->at.
static bool read_string(struct reader *r, struct key *ret)
{
    const char *open = r->at;
    bool is_escaped = false;
    *r->put++ = *r->at++;
    for (;;) {
        for (unsigned plain = 8; plain == 8 && r->end - r->at >= 8; r->at += plain, r->put += plain) {
            memcpy(r->put, r->at, 8);
            plain = prg_scan_plain(r->at, true);
        }
        if (r->at < r->end && *r->at == '"')
            break;
        is_escaped = is_escaped || (r->at < r->end && *r->at == '\\');
        if (!copy_character(r))
            return false;
    }
    *r->put++ = *r->at++;
    *ret = (struct key){open + 1, (size_t)(r->at - open - 2)};
    return !is_escaped || decode(r, open, (size_t)(r->at - open), ret);
}

// Moves over the rest of a string that is left out.
static const char *skip_string(const char *at, const char *end)
{
    for (; at < end; at++) {
        for (unsigned plain = 8; plain == 8 && end - at >= 8; at += plain)
            plain = prg_scan_plain(at, false);
        if (at < end && *at == '"')
            return at + 1;
        if (at < end && *at == '\\')
            at++;
    }
    return end;
}

// Moves over a value that is left out, looking at its brackets and strings only.
static bool skip_value(struct reader *r)
{
    enum { QUOTE = 1, OPEN, CLOSE, COMMA };
    static const unsigned char kinds[256] = {
        ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE, [','] = COMMA};
    const char *at = r->at, *end = r->end;
    unsigned depth = 0;
    while (at < end) {
        unsigned kind = kinds[(unsigned char)*at];
        if (depth == 0 && kind >= CLOSE)
            break; // it ends a number or a word, and is no part of it
        at++;
        if (kind == QUOTE)
            at = skip_string(at, end);
        else if (kind == OPEN)
            depth++;
        else if (kind == CLOSE)
            depth--;
        if (depth == 0 && kind)
            break;
    }
    bool is_there = at > r->at && depth == 0;
    r->at = at;
    return is_there;
}

// ---- objects and lists ----

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int rc = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    return rc ? rc : (x->length > y->length) - (x->length < y->length);
}

static bool are_unique(struct key *keys, size_t count)
{
    if (count > FEW_KEYS) {
        qsort(keys, count, sizeof(*keys), compare_keys);
        for (size_t i = 1; i < count; i++)
            if (compare_keys(&keys[i - 1], &keys[i]) == 0)
                return false;
        return true;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (keys[i].length == keys[j].length && memcmp(keys[i].text, keys[j].text, keys[i].length) == 0)
                return false;
    return true;
}

static void push_key(struct reader *r, const struct key *key)
{
    if (r->key_count == r->key_cap) {
        r->key_cap = r->key_cap ? r->key_cap * 2 : 256;
        r->keys = prg_xrealloc(r->keys, r->key_cap * sizeof(*r->keys));
    }
    r->keys[r->key_count++] = *key;
}

static const struct prg_compact_member kept = {0}, dropped = {.is_dropped = true};

static const struct prg_compact_member *find_member(const struct prg_compact_rule *rule, const char *key, size_t length)
{
    if (!rule)
        return &kept;
    for (const struct prg_compact_member *member = rule->members; member->key; member++)
        if (strlen(member->key) == length && memcmp(member->key, key, length) == 0)
            return member;
    return rule->only ? &dropped : &kept;
}

// Key, colon and value of a member. *is_first: no member was kept so far.
static bool read_member(struct reader *r, const struct prg_compact_rule *rule, bool *is_first)
{
    char *start = r->put;
    struct key key;
    if (!*is_first)
        *r->put++ = ',';
    if (r->at >= r->end || *r->at != '"' || !read_string(r, &key) || memchr(key.text, '\0', key.length))
        return false;
    push_key(r, &key);
    const struct prg_compact_member *member = find_member(rule, key.text, key.length);
    skip_space(r);
    if (r->at >= r->end || *r->at++ != ':')
        return false;
    skip_space(r);
    if (member->is_dropped) {
        bool is_fine = member->inside || member->note ? read_value(r, member->inside, member->note) : skip_value(r);
        r->put = start;
        return is_fine;
    }
    *is_first = false;
    *r->put++ = ':';
    return read_value(r, member->inside, member->note);
}

static bool read_object(struct reader *r, const struct prg_compact_rule *rule)
{
    size_t first_key = r->key_count;
    bool is_first = true, is_over = false;
    *r->put++ = *r->at++;
    skip_space(r);
    if (r->at < r->end && *r->at == '}') {
        r->at++;
        is_over = true;
    }
    while (!is_over) {
        if (!read_member(r, rule, &is_first))
            return false;
        skip_space(r);
        if (r->at >= r->end || (*r->at != ',' && *r->at != '}'))
            return false;
        is_over = *r->at++ == '}';
        skip_space(r);
    }
    *r->put++ = '}';
    bool is_fine = are_unique(r->keys + first_key, r->key_count - first_key);
    r->key_count = first_key;
    return is_fine;
}

static bool read_list(struct reader *r, const struct prg_compact_rule *rule)
{
    *r->put++ = *r->at++;
    skip_space(r);
    if (r->at < r->end && *r->at == ']') {
        *r->put++ = *r->at++;
        return true;
    }
    for (;;) {
        if (!read_value(r, rule, 0))
            return false;
        skip_space(r);
        if (r->at >= r->end || (*r->at != ',' && *r->at != ']'))
            return false;
        *r->put++ = *r->at++;
        if (r->put[-1] == ']')
            return true;
        skip_space(r);
    }
}

// ---- values ----

static bool read_word(struct reader *r, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return false;
    memcpy(r->put, word, length);
    r->at += length;
    r->put += length;
    return true;
}

static bool read_number(struct reader *r)
{
    const char *problem;
    size_t length = prg_number_scan(r->at, (size_t)(r->end - r->at), &problem);
    memcpy(r->put, r->at, length);
    r->at += length;
    r->put += length;
    return length > 0;
}

static bool read_text(struct reader *r, unsigned note)
{
    struct key text;
    if (!read_string(r, &text))
        return false;
    if (note)
        r->note(note, text.text, text.length, r->ctx);
    return true;
}

static bool read_value(struct reader *r, const struct prg_compact_rule *rule, unsigned note)
{
    bool is_fine;
    switch (r->at < r->end ? *r->at : '\0') {
    case '{':
    case '[':
        if (r->depth == PRG_JSON_DEPTH)
            return false;
        r->depth++;
        is_fine = *r->at == '{' ? read_object(r, rule) : read_list(r, rule);
        r->depth--;
        return is_fine;
    case '"':
        return read_text(r, note);
    case 't':
        return read_word(r, "true");
    case 'f':
        return read_word(r, "false");
    case 'n':
        return read_word(r, "null");
    default:
        return read_number(r);
    }
}

bool prg_json_compact(const char *text, size_t length, const struct prg_compact_rule *rule, struct prg_strbuf *out,
                      prg_compact_fn note, void *ctx)
{
    struct reader r = {.at = text, .end = text + length, .note = note, .ctx = ctx};
    size_t before = out->length;
    prg_arena_init(&r.arena);
    prg_strbuf_pad(out, ' ', length + 8);
    char *start = out->text + before;
    r.put = start;
    skip_space(&r);
    bool is_fine = read_value(&r, rule, 0);
    skip_space(&r);
    is_fine = is_fine && r.at == r.end;
    prg_strbuf_truncate(out, before + (size_t)(r.put - start));
    free(r.keys);
    prg_arena_release(&r.arena);
    return is_fine;
}

void prg_json_prune(cJSON *value, const struct prg_compact_rule *rule)
{
    for (cJSON *child = value ? value->child : NULL, *next; child && rule; child = next) {
        next = child->next;
        if (prg_json_is_array(value)) {
            prg_json_prune(child, rule);
            continue;
        }
        const struct prg_compact_member *member = find_member(rule, child->string, strlen(child->string));
        if (member->is_dropped)
            prg_json_detach(value, child);
        else
            prg_json_prune(child, member->inside);
    }
}
