// SPDX-License-Identifier: Apache-2.0
// read.c: text to tree, strictly by RFC 8259.
//
// The reader does not recurse: open containers lie on a stack of PRG_JSON_DEPTH frames. All keys of the open objects
// lie on one growing array, the innermost object's last, so that a repeated key is found by comparing lengths and
// hashes of neighbours, and by a table once an object has more than 16 members.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "json/number.h"
#include "json/value.h"

#define MAX_BYTES ((size_t)64 * 1024 * 1024)
#define FEW_KEYS 16
#define SHOWN_KEY 60 // bytes of a key that an error repeats

struct key {
    const char *text;
    size_t length;
    uint64_t hash; // only for objects with a table
    uint32_t line, column;
};

struct frame {
    cJSON *container;
    size_t first_key; // in keys
    uint32_t *slots;  // indexes into keys plus one, 0 is free; NULL while the object is small
    size_t slot_count;
};

struct reader {
    struct prg_arena *arena;
    struct prg_error *err;
    const char *at, *end;
    const char *line_start;
    size_t line_extra; // bytes of this line that continue a character, so that columns count characters
    uint32_t line;
    unsigned depth, max_depth;
    struct key *keys;
    size_t key_count, key_cap;
    struct frame frames[PRG_JSON_DEPTH];
};

static uint32_t column_of(const struct reader *r, const char *at)
{
    return (uint32_t)((size_t)(at - r->line_start) - r->line_extra + 1);
}

static int fail_at(struct reader *r, const char *at, enum prg_code code, const char *what)
{
    return prg_fail(r->err, code, "line %u, column %u: %s", r->line, column_of(r, at), what);
}

static int fail_unexpected(struct reader *r, const char *wanted)
{
    if (r->at >= r->end)
        return prg_fail(r->err, PRG_INVALID, "line %u, column %u: the text ends where %s is expected", r->line,
                        column_of(r, r->at), wanted);
    unsigned char c = (unsigned char)*r->at;
    if (c < 0x20 || c >= 0x7f)
        return prg_fail(r->err, PRG_INVALID, "line %u, column %u: byte 0x%02x where %s is expected", r->line,
                        column_of(r, r->at), c, wanted);
    return prg_fail(r->err, PRG_INVALID, "line %u, column %u: '%c' where %s is expected", r->line, column_of(r, r->at),
                    c, wanted);
}

static void skip_space(struct reader *r)
{
    for (; r->at < r->end; r->at++) {
        char c = *r->at;
        if (c == '\n') {
            r->line++;
            r->line_start = r->at + 1;
            r->line_extra = 0;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

// ---- strings ----

// True when none of eight bytes is a quote, a backslash, a control character or beyond ASCII.
static bool all_plain(const char *at)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    uint64_t quotes = word ^ (ones * '"'), slashes = word ^ (ones * '\\');
    return ((word | (word - ones * 0x20) | ((quotes - ones) & ~quotes) | ((slashes - ones) & ~slashes)) & tops) == 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// The four digits behind "\u" at `at`, or -1.
static int hex4(const char *at, const char *end)
{
    int value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

// Checks the escape at r->at (a backslash) and returns how long it is, 0 after an error.
static size_t check_escape(struct reader *r)
{
    const char *at = r->at + 1;
    if (at >= r->end) {
        fail_at(r, r->at, PRG_INVALID, "the text ends inside a string");
        return 0;
    }
    if (*at != 'u') {
        if (*at && strchr("\"\\/bfnrt", *at))
            return 2;
        fail_at(r, r->at, PRG_INVALID, "unknown escape in a string; write \\\\ for a backslash");
        return 0;
    }
    int unit = hex4(at + 1, r->end);
    if (unit < 0) {
        fail_at(r, r->at, PRG_INVALID, "\\u needs four hexadecimal digits");
        return 0;
    }
    if (unit < 0xd800 || unit > 0xdfff)
        return 6;
    const char *second = at + 5;
    int low =
        unit <= 0xdbff && r->end - second >= 2 && second[0] == '\\' && second[1] == 'u' ? hex4(second + 2, r->end) : -1;
    if (low < 0xdc00 || low > 0xdfff) {
        fail_at(r, r->at, PRG_INVALID, "half of a surrogate pair in a string");
        return 0;
    }
    return 12;
}

// Moves r->at from behind the opening quote onto the closing one, checking everything on the way.
static int scan_string(struct reader *r, const char *open, bool *ret_escaped)
{
    *ret_escaped = false;
    for (;;) {
        while (r->end - r->at >= 8 && all_plain(r->at))
            r->at += 8;
        if (r->at >= r->end)
            return fail_at(r, open, PRG_INVALID, "this string is never closed");
        unsigned char c = (unsigned char)*r->at;
        if (c == '"')
            return PRG_OK;
        size_t length = 1;
        if (c == '\\') {
            length = check_escape(r);
            if (!length)
                return PRG_INVALID;
            *ret_escaped = true;
        } else if (c < 0x20) {
            return fail_at(r, r->at, PRG_INVALID,
                           c == '\n' ? "a line break inside a string; write \\n or close it with '\"'"
                                     : "a control character inside a string; write it as \\u00XX");
        } else if (c >= 0x80) {
            length = prg_utf8_length(r->at, (size_t)(r->end - r->at));
            if (!length)
                return fail_at(r, r->at, PRG_INVALID, "a string that is not valid UTF-8");
            r->line_extra += length - 1;
        }
        r->at += length;
    }
}

static size_t put_code_point(char *out, unsigned c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static char simple_escape(char c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c; // a quote, a backslash or a slash
    }
}

// Copies text that scan_string has checked, with its escapes resolved; the result is never longer.
static size_t unescape(char *out, const char *at, const char *end)
{
    char *start = out;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((escape ? escape : end) - at);
        memcpy(out, at, plain);
        out += plain;
        if (!escape)
            break;
        at = escape + 2;
        if (escape[1] != 'u') {
            *out++ = simple_escape(escape[1]);
            continue;
        }
        unsigned c = (unsigned)hex4(at, end);
        at += 4;
        if (c >= 0xd800 && c <= 0xdfff) {
            c = 0x10000 + ((c - 0xd800) << 10) + ((unsigned)hex4(at + 2, end) - 0xdc00);
            at += 6;
        }
        out += put_code_point(out, c);
    }
    *out = '\0';
    return (size_t)(out - start);
}

// Reads the string whose opening quote is at r->at.
static int read_string(struct reader *r, char **ret, size_t *ret_length)
{
    const char *open = r->at++;
    bool escaped;
    if (scan_string(r, open, &escaped) != PRG_OK)
        return PRG_INVALID;
    size_t length = (size_t)(r->at - open - 1);
    char *text = prg_arena_strndup(r->arena, open + 1, length);
    if (escaped)
        length = unescape(text, open + 1, r->at);
    r->at++;
    *ret = text;
    *ret_length = length;
    return PRG_OK;
}

// ---- keys ----

static struct key *push_key(struct reader *r)
{
    if (r->key_count == r->key_cap) {
        r->key_cap = r->key_cap ? r->key_cap * 2 : 64;
        r->keys = prg_xrealloc(r->keys, r->key_cap * sizeof(*r->keys));
    }
    return &r->keys[r->key_count++];
}

static bool same_key(const struct key *a, const struct key *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

// Puts keys[index] into the frame's table. Returns the key that is already there, or NULL.
static const struct key *put_slot(struct reader *r, struct frame *frame, size_t index)
{
    const struct key *key = &r->keys[index];
    size_t mask = frame->slot_count - 1;
    size_t i = key->hash & mask;
    for (; frame->slots[i]; i = (i + 1) & mask) {
        const struct key *other = &r->keys[frame->slots[i] - 1];
        if (other->hash == key->hash && same_key(other, key))
            return other;
    }
    frame->slots[i] = (uint32_t)(index + 1);
    return NULL;
}

static void grow_table(struct reader *r, struct frame *frame, size_t last)
{
    free(frame->slots);
    frame->slot_count = frame->slot_count ? frame->slot_count * 4 : FEW_KEYS * 8;
    frame->slots = prg_xcalloc(frame->slot_count, sizeof(*frame->slots));
    for (size_t i = frame->first_key; i < last; i++) {
        r->keys[i].hash = prg_map_hash(r->keys[i].text, r->keys[i].length);
        put_slot(r, frame, i);
    }
}

// The earlier key of the innermost object that equals the one pushed last, or NULL.
static const struct key *find_duplicate(struct reader *r, struct frame *frame)
{
    size_t last = r->key_count - 1, count = last - frame->first_key;
    struct key *key = &r->keys[last];
    if (count < FEW_KEYS) {
        for (size_t i = frame->first_key; i < last; i++)
            if (same_key(&r->keys[i], key))
                return &r->keys[i];
        return NULL;
    }
    if (!frame->slots || count * 2 > frame->slot_count)
        grow_table(r, frame, last);
    key->hash = prg_map_hash(key->text, key->length);
    return put_slot(r, frame, last);
}

// "key", shortened, its NULs and control characters made visible.
static const char *shown_key(struct reader *r, const char *text, size_t length)
{
    prg_auto_strbuf shown = PRG_STRBUF_INIT;
    size_t kept = length;
    if (kept > SHOWN_KEY)
        for (kept = SHOWN_KEY; kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80; kept--)
            ;
    for (size_t i = 0; i < kept; i++) {
        if ((unsigned char)text[i] < 0x20)
            prg_strbuf_printf(&shown, "\\u%04x", text[i]);
        else
            prg_strbuf_putc(&shown, text[i]);
    }
    if (kept < length)
        prg_strbuf_puts(&shown, "...");
    return prg_arena_strndup(r->arena, shown.text, shown.length);
}

// Reads `"key" :` and leaves r->at on the value.
static int read_key(struct reader *r, struct frame *frame, char **ret)
{
    if (r->at >= r->end || *r->at != '"')
        return fail_unexpected(r, "a quoted key");
    uint32_t line = r->line, column = column_of(r, r->at);
    char *text;
    size_t length;
    if (read_string(r, &text, &length) != PRG_OK)
        return PRG_INVALID;
    if (memchr(text, '\0', length))
        return prg_fail(r->err, PRG_INVALID, "line %u, column %u: the key '%s' holds a NUL character; rename it", line,
                        column, shown_key(r, text, length));
    *push_key(r) = (struct key){text, length, 0, line, column};
    const struct key *earlier = find_duplicate(r, frame);
    if (earlier)
        return prg_fail(r->err, PRG_INVALID,
                        "line %u, column %u: the key '%s' is already set at line %u, column %u; remove one of them",
                        line, column, shown_key(r, text, length), earlier->line, earlier->column);
    skip_space(r);
    if (r->at >= r->end || *r->at != ':')
        return fail_unexpected(r, "':'");
    r->at++;
    skip_space(r);
    *ret = text;
    return PRG_OK;
}

// ---- values ----

static cJSON *make(struct reader *r, int type)
{
    cJSON *node = prg_arena_new(r->arena, cJSON);
    node->type = type;
    prg_json_set_position(node, r->line, column_of(r, r->at));
    return node;
}

static int read_word(struct reader *r, const char *word, int type, cJSON **ret)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return fail_unexpected(r, "a value");
    *ret = make(r, type);
    r->at += length;
    return PRG_OK;
}

static int read_number(struct reader *r, cJSON **ret)
{
    const char *problem;
    size_t length = prg_number_scan(r->at, (size_t)(r->end - r->at), &problem);
    if (!length)
        return fail_at(r, r->at, PRG_INVALID, problem);
    *ret = make(r, cJSON_Number);
    (*ret)->valuestring = prg_arena_strndup(r->arena, r->at, length);
    r->at += length;
    return PRG_OK;
}

static int open_container(struct reader *r, int type, cJSON **ret)
{
    if (r->depth >= r->max_depth)
        return prg_fail(r->err, PRG_LIMIT, "line %u, column %u: nested more than %u levels deep", r->line,
                        column_of(r, r->at), r->max_depth);
    *ret = make(r, type);
    r->at++;
    r->frames[r->depth++] = (struct frame){.container = *ret, .first_key = r->key_count};
    return PRG_OK;
}

static void close_container(struct reader *r)
{
    struct frame *frame = &r->frames[--r->depth];
    free(frame->slots);
    r->key_count = frame->first_key;
}

// Reads the value at r->at: a scalar whole, of a container only its opening bracket.
static int read_value(struct reader *r, cJSON **ret)
{
    switch (r->at < r->end ? *r->at : '\0') {
    case '{':
        return open_container(r, cJSON_Object, ret);
    case '[':
        return open_container(r, cJSON_Array, ret);
    case '"': {
        cJSON *node = make(r, cJSON_String);
        size_t length;
        if (read_string(r, &node->valuestring, &length) != PRG_OK)
            return PRG_INVALID;
        node->valueint = (int)length;
        *ret = node;
        return PRG_OK;
    }
    case 't':
        return read_word(r, "true", cJSON_True, ret);
    case 'f':
        return read_word(r, "false", cJSON_False, ret);
    case 'n':
        return read_word(r, "null", cJSON_NULL, ret);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return read_number(r, ret);
    default:
        return fail_unexpected(r, "a value");
    }
}

static void append(cJSON *container, cJSON *node, char *key)
{
    node->string = key;
    if (!container->child) {
        container->child = node->prev = node;
        return;
    }
    node->prev = container->child->prev;
    node->prev->next = node;
    container->child->prev = node;
}

// Reads what comes next inside the innermost container: its end, or a comma where one is due and a child.
static int read_step(struct reader *r)
{
    struct frame *frame = &r->frames[r->depth - 1];
    cJSON *container = frame->container;
    bool is_object = prg_json_is_object(container);
    char closing = is_object ? '}' : ']';
    if (r->at < r->end && *r->at == closing) {
        r->at++;
        close_container(r);
        return PRG_OK;
    }
    if (container->child) {
        if (r->at >= r->end || *r->at != ',')
            return fail_unexpected(r, is_object ? "',' or '}'" : "',' or ']'");
        r->at++;
        skip_space(r);
        if (r->at < r->end && *r->at == closing)
            return fail_at(r, r->at, PRG_INVALID, "a comma must be followed by another entry; remove it");
    }
    char *key = NULL;
    if (is_object && read_key(r, frame, &key) != PRG_OK)
        return PRG_INVALID;
    cJSON *node = NULL;
    int rc = read_value(r, &node);
    if (node)
        append(container, node, key);
    return rc;
}

static int read_document(struct reader *r, cJSON **ret)
{
    cJSON *root = NULL;
    if (r->end - r->at >= 3 && memcmp(r->at, "\xef\xbb\xbf", 3) == 0)
        return fail_at(r, r->at, PRG_INVALID, "the text begins with a byte order mark; save it without one");
    skip_space(r);
    int rc = read_value(r, &root);
    while (rc == PRG_OK && r->depth > 0) {
        skip_space(r);
        rc = read_step(r);
    }
    if (rc != PRG_OK)
        return rc;
    skip_space(r);
    if (r->at < r->end)
        return fail_unexpected(r, "the end of the text");
    *ret = root;
    return PRG_OK;
}

int prg_json_parse(struct prg_arena *arena, const char *text, size_t length, const struct prg_json_limits *limits,
                   cJSON **ret, struct prg_error *err)
{
    size_t max_bytes = limits && limits->max_bytes ? limits->max_bytes : MAX_BYTES;
    if (max_bytes > INT32_MAX)
        max_bytes = INT32_MAX; // the length of a string is an int
    if (length > max_bytes)
        return prg_fail(err, PRG_LIMIT, "%zu bytes of JSON are more than the %zu allowed", length, max_bytes);
    struct reader r = {.arena = arena, .err = err, .at = text, .end = text + length, .line_start = text, .line = 1};
    r.max_depth =
        limits && limits->max_depth && limits->max_depth < PRG_JSON_DEPTH ? limits->max_depth : PRG_JSON_DEPTH;
    int rc = read_document(&r, ret);
    while (r.depth > 0)
        close_container(&r);
    free(r.keys);
    return rc;
}
