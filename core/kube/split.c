// SPDX-License-Identifier: Apache-2.0
// split.c: a machine over the members of a top-level object.
//
// | stage      | expects                       | then                                        |
// | ---------- | ----------------------------- | ------------------------------------------- |
// | START      | { (WATCH: or nothing)         | FIRST_KEY                                   |
// | FIRST_KEY  | a key or }                    | KEY, or the end of the object               |
// | NEXT_KEY   | a key                         | KEY                                         |
// | KEY        | the rest of a key             | COLON                                       |
// | COLON      | :                             | VALUE                                       |
// | VALUE      | a value; [ of "items"         | IN_VALUE, FIRST_ITEM                        |
// | IN_VALUE   | the rest of a value           | AFTER_VALUE                                 |
// | AFTER_VALUE| , or }                        | NEXT_KEY, or the end                        |
// | FIRST_ITEM | { or ]                        | IN_ITEM, AFTER_VALUE                        |
// | NEXT_ITEM  | {                             | IN_ITEM                                     |
// | IN_ITEM    | the rest of an item           | AFTER_ITEM                                  |
// | AFTER_ITEM | , or ]                        | NEXT_ITEM, AFTER_VALUE                      |
// | END        | nothing (LIST)                |                                             |
#include "kube/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "base/strbuf.h"

#define MAX_BYTES ((size_t)16 << 20)
#define MAX_KEY 256
#define MAX_DEPTH 1000 // only so that the count stays small; the parser knows the real limit

enum stage {
    START,
    FIRST_KEY,
    NEXT_KEY,
    KEY,
    COLON,
    VALUE,
    IN_VALUE,
    AFTER_VALUE,
    FIRST_ITEM,
    NEXT_ITEM,
    IN_ITEM,
    AFTER_ITEM,
    END
};

enum member { MEMBER_KIND, MEMBER_API_VERSION, MEMBER_METADATA, MEMBER_TYPE, MEMBER_OBJECT, MEMBER_COUNT };

static const char *const member_names[] = {"kind", "apiVersion", "metadata", "type", "object"};

struct prg_split {
    enum prg_split_kind kind;
    size_t max_bytes;
    struct prg_split_handler handler;
    enum stage stage;
    // of the value or item being read
    unsigned depth;
    bool in_string, is_escaped, is_scalar;
    struct prg_strbuf *keep; // where it goes, NULL: nowhere
    size_t value_length;

    struct prg_strbuf key, item, members[MEMBER_COUNT];
    uint64_t at; // bytes before the piece being fed
    bool has_items, is_broken;
};

// What a byte means in a value, outside of strings.
enum { PLAIN, QUOTE, OPEN, CLOSE, COMMA, SPACE, BAD };
static const unsigned char classes[256] = {
    [0 ... 8] = BAD,      ['\t'] = SPACE, ['\n'] = SPACE, [0xb ... 0xc] = BAD, ['\r'] = SPACE,
    [0xe ... 0x1f] = BAD, [' '] = SPACE,  ['"'] = QUOTE,  ['{'] = OPEN,        ['['] = OPEN,
    ['}'] = CLOSE,        [']'] = CLOSE,  [','] = COMMA,
};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static int fail_at(struct prg_split *s, size_t i, struct prg_error *err, const char *what)
{
    s->is_broken = true;
    return prg_fail(err, PRG_INVALID, "byte %llu of the answer: %s", (unsigned long long)(s->at + i), what);
}

static int fail_unexpected(struct prg_split *s, size_t i, char c, struct prg_error *err, const char *wanted)
{
    s->is_broken = true;
    if ((unsigned char)c < 0x20 || (unsigned char)c >= 0x7f)
        return prg_fail(err, PRG_INVALID, "byte %llu of the answer: 0x%02x where %s is expected",
                        (unsigned long long)(s->at + i), (unsigned char)c, wanted);
    return prg_fail(err, PRG_INVALID, "byte %llu of the answer: '%c' where %s is expected",
                    (unsigned long long)(s->at + i), c, wanted);
}

// ---- values ----

static void begin_value(struct prg_split *s, enum stage stage, struct prg_strbuf *keep)
{
    s->stage = stage;
    s->depth = 0;
    s->in_string = s->is_escaped = s->is_scalar = false;
    s->keep = keep;
    s->value_length = 0;
    if (keep)
        prg_strbuf_clear(keep);
}

// Moves on in a string, to behind its quote, to a byte that must not be there, or to the end of the piece. It is over
// when in_string is false then.
static const char *scan_string(struct prg_split *s, const char *at, const char *end)
{
    while (at < end) {
        if (!s->is_escaped) {
            for (unsigned plain = 8; plain == 8 && end - at >= 8; at += plain)
                plain = prg_scan_plain(at, false);
            if (at == end)
                break;
        }
        if ((unsigned char)*at < 0x20)
            break;
        if (*at == '"' && !s->is_escaped) {
            s->in_string = false;
            return at + 1;
        }
        s->is_escaped = *at == '\\' && !s->is_escaped;
        at++;
    }
    return at;
}

enum scan { SCAN_MORE, SCAN_DONE, SCAN_BAD };

// Moves *ret_at over bytes of a value up to its end or the end of the piece.
static enum scan scan_value(struct prg_split *s, const char *end, const char **ret_at)
{
    const char *at = *ret_at;
    enum scan result = SCAN_MORE;
    while (at < end && result == SCAN_MORE) {
        unsigned class = s->in_string ? QUOTE : classes[(unsigned char)*at];
        switch (class) {
        case PLAIN:
            do
                at++;
            while (at < end && classes[(unsigned char)*at] == PLAIN);
            break;
        case QUOTE:
            if (s->is_scalar) {
                result = SCAN_BAD;
                break;
            }
            at += !s->in_string;
            s->in_string = true;
            at = scan_string(s, at, end);
            if (s->in_string && at < end)
                result = SCAN_BAD;
            else if (!s->in_string && s->depth == 0)
                result = SCAN_DONE;
            break;
        case OPEN:
            if (s->is_scalar || ++s->depth > MAX_DEPTH)
                result = SCAN_BAD;
            else
                at++;
            break;
        case BAD:
            result = SCAN_BAD;
            break;
        default: // at the top these end a number or a word, and are no part of it
            if (s->depth == 0) {
                result = SCAN_DONE;
                break;
            }
            at++;
            if (class == CLOSE && --s->depth == 0)
                result = SCAN_DONE;
            break;
        }
    }
    *ret_at = at;
    return result;
}

// Reads on in the value; *ret_done when it is over.
static int read_value(struct prg_split *s, const char *bytes, size_t length, size_t *at, bool *ret_done,
                      struct prg_error *err)
{
    size_t from = *at;
    const char *end = bytes + from;
    enum scan scan = scan_value(s, bytes + length, &end);
    *at = (size_t)(end - bytes);
    if (scan == SCAN_BAD)
        return fail_at(s, *at, err, "a NUL or control character, or a value that is not JSON");
    s->value_length += *at - from;
    if (s->value_length > s->max_bytes) {
        s->is_broken = true;
        return prg_fail(err, PRG_LIMIT, "byte %llu of the answer: an object of more than %zu bytes",
                        (unsigned long long)(s->at + *at), s->max_bytes);
    }
    if (s->keep)
        prg_strbuf_add(s->keep, bytes + from, *at - from);
    *ret_done = scan == SCAN_DONE;
    return PRG_OK;
}

// ---- members ----

static int hand_out(struct prg_split *s, size_t i, const char *type, const struct prg_strbuf *text,
                    struct prg_error *err)
{
    if (s->handler.object(type, text->text, text->length, s->handler.ctx))
        return PRG_OK;
    s->is_broken = true;
    return prg_fail(err, PRG_CONFLICT, "byte %llu of the answer: no more is wanted", (unsigned long long)(s->at + i));
}

// The value of "type" without its quotes; event types are plain words.
static bool take_type(struct prg_strbuf *type)
{
    if (type->length < 3 || type->text[0] != '"' || strchr(type->text, '\\'))
        return false;
    memmove(type->text, type->text + 1, type->length - 2);
    prg_strbuf_truncate(type, type->length - 2);
    return true;
}

static int end_object(struct prg_split *s, size_t i, struct prg_error *err)
{
    struct prg_strbuf *type = &s->members[MEMBER_TYPE], *object = &s->members[MEMBER_OBJECT];
    if (s->kind == PRG_SPLIT_LIST) {
        s->stage = END;
        return PRG_OK;
    }
    s->stage = START;
    if (!take_type(type))
        return fail_at(s, i, err, "an event without a type");
    if (object->length == 0 || object->text[0] != '{')
        return fail_at(s, i, err, "an event without an object");
    int rc = hand_out(s, i, type->text, object, err);
    prg_strbuf_clear(type);
    prg_strbuf_clear(object);
    return rc;
}

// Decides what becomes of the value whose key was read; c is its first byte.
static int begin_member(struct prg_split *s, size_t i, char c, struct prg_error *err)
{
    bool is_list = s->kind == PRG_SPLIT_LIST;
    if (is_list && strcmp(s->key.text, "items") == 0) {
        if (s->has_items)
            return fail_at(s, i, err, "a second member 'items'");
        s->has_items = true;
        if (c == '[') {
            s->stage = FIRST_ITEM;
            return PRG_OK;
        }
        if (c != 'n')
            return fail_unexpected(s, i, c, err, "'[' of the items");
    }
    struct prg_strbuf *keep = NULL;
    for (size_t m = is_list ? MEMBER_KIND : MEMBER_TYPE; m <= (size_t)(is_list ? MEMBER_METADATA : MEMBER_OBJECT); m++)
        if (strcmp(s->key.text, member_names[m]) == 0)
            keep = &s->members[m];
    if (keep && keep->length)
        return fail_at(s, i, err, "a member that is there already");
    begin_value(s, IN_VALUE, keep);
    s->is_scalar = c != '{' && c != '[' && c != '"';
    return PRG_OK;
}

static int read_key(struct prg_split *s, const char *bytes, size_t length, size_t *at, struct prg_error *err)
{
    size_t i = *at;
    while (i < length && bytes[i] != '"') {
        if ((unsigned char)bytes[i] < 0x20 || bytes[i] == '\\' || s->key.length + (i - *at) > MAX_KEY)
            return fail_at(s, i, err, "a key that is too long or not plain");
        i++;
    }
    prg_strbuf_add(&s->key, bytes + *at, i - *at);
    if (i < length) {
        i++;
        s->stage = COLON;
    }
    *at = i;
    return PRG_OK;
}

// One byte, not white space, between the parts of the answer. Sets *ret_again when the byte belongs to what comes next.
static int step(struct prg_split *s, size_t i, char c, bool *ret_again, struct prg_error *err)
{
    *ret_again = false;
    switch (s->stage) {
    case START:
        if (c != '{')
            return fail_unexpected(s, i, c, err, "'{'");
        s->stage = FIRST_KEY;
        return PRG_OK;
    case FIRST_KEY:
        if (c == '}')
            return end_object(s, i, err);
        __attribute__((fallthrough));
    case NEXT_KEY:
        if (c != '"')
            return fail_unexpected(s, i, c, err, "a key");
        prg_strbuf_clear(&s->key);
        s->stage = KEY;
        return PRG_OK;
    case COLON:
        if (c != ':')
            return fail_unexpected(s, i, c, err, "':'");
        s->stage = VALUE;
        return PRG_OK;
    case VALUE:
        if (c == ',' || c == '}' || c == ']' || c == ':')
            return fail_unexpected(s, i, c, err, "a value");
        if (begin_member(s, i, c, err) != PRG_OK)
            return PRG_INVALID;
        *ret_again = s->stage == IN_VALUE;
        return PRG_OK;
    case AFTER_VALUE:
        if (c == '}')
            return end_object(s, i, err);
        if (c != ',')
            return fail_unexpected(s, i, c, err, "',' or '}'");
        s->stage = NEXT_KEY;
        return PRG_OK;
    case AFTER_ITEM:
        if (c != ',' && c != ']')
            return fail_unexpected(s, i, c, err, "',' or ']' of the items");
        s->stage = c == ',' ? NEXT_ITEM : AFTER_VALUE;
        return PRG_OK;
    case FIRST_ITEM:
        if (c == ']') {
            s->stage = AFTER_VALUE;
            return PRG_OK;
        }
        __attribute__((fallthrough));
    case NEXT_ITEM:
        if (c != '{')
            return fail_unexpected(s, i, c, err, "'{' of an item");
        begin_value(s, IN_ITEM, &s->item);
        *ret_again = true;
        return PRG_OK;
    default:
        return fail_unexpected(s, i, c, err, "the end of the answer");
    }
}

static int feed(struct prg_split *s, const char *bytes, size_t length, struct prg_error *err)
{
    size_t i = 0;
    while (i < length) {
        bool again = false, is_done;
        if (s->stage == KEY) {
            if (read_key(s, bytes, length, &i, err) != PRG_OK)
                return PRG_INVALID;
            continue;
        }
        if (s->stage == IN_VALUE || s->stage == IN_ITEM) {
            bool is_item = s->stage == IN_ITEM;
            int rc = read_value(s, bytes, length, &i, &is_done, err);
            if (rc != PRG_OK)
                return rc;
            if (is_done)
                s->stage = is_item ? AFTER_ITEM : AFTER_VALUE;
            if (is_done && is_item && hand_out(s, i, NULL, &s->item, err) != PRG_OK)
                return PRG_CONFLICT;
            continue;
        }
        if (is_space(bytes[i])) {
            i++;
            continue;
        }
        int rc = step(s, i, bytes[i], &again, err);
        if (rc != PRG_OK)
            return rc;
        i += !again;
    }
    s->at += length;
    return PRG_OK;
}

// ---- interface ----

struct prg_split *prg_split_new(enum prg_split_kind kind, size_t max_bytes, const struct prg_split_handler *handler)
{
    struct prg_split *s = prg_xcalloc(1, sizeof(*s));
    s->kind = kind;
    s->max_bytes = max_bytes ? max_bytes : MAX_BYTES;
    s->handler = *handler;
    prg_strbuf_init(&s->key);
    prg_strbuf_init(&s->item);
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        prg_strbuf_init(&s->members[i]);
    return s;
}

void prg_split_free(struct prg_split *s)
{
    if (!s)
        return;
    prg_strbuf_release(&s->key);
    prg_strbuf_release(&s->item);
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        prg_strbuf_release(&s->members[i]);
    free(s);
}

int prg_split_feed(struct prg_split *s, const char *bytes, size_t length, struct prg_error *err)
{
    prg_require(!s->is_broken);
    return feed(s, bytes, length, err);
}

int prg_split_finish(struct prg_split *s, struct prg_error *err)
{
    if (s->kind == PRG_SPLIT_WATCH)
        return PRG_OK;
    if (s->stage != END)
        return prg_fail(err, PRG_INVALID, "the answer ends after %llu bytes in the middle of the list",
                        (unsigned long long)s->at);
    if (!s->has_items)
        return prg_fail(err, PRG_INVALID, "the answer is no list: it has no items");
    return PRG_OK;
}

const char *prg_split_member(const struct prg_split *s, const char *key)
{
    for (size_t m = 0; m < MEMBER_COUNT; m++)
        if (strcmp(member_names[m], key) == 0)
            return s->members[m].text;
    return "";
}
