// SPDX-License-Identifier: Apache-2.0
// dump.c: trees to YAML that this project's reader, and others', read back as they were.
//
// A text is written plain where no reader takes it for anything else, as a literal block when it has several lines, in
// single quotes when only its punctuation is in the way, else in double quotes with escapes. Keys never take more than
// one line.
#include "yaml/dump.h"

#include <string.h>

#include "base/vec.h"
#include "yaml/scalar.h"

#define INDENT 2
#define MAX_SIMPLE_KEY 1000 // bytes; libyaml looks for the ':' of a key this long without '?' (1024 characters)

// ---- characters ----

// Decodes the character at p (valid UTF-8) and returns its length.
static size_t decode(const unsigned char *p, unsigned *ret)
{
    if (*p < 0x80) {
        *ret = *p;
        return 1;
    }
    if (*p < 0xe0) {
        *ret = (*p & 0x1fu) << 6 | (p[1] & 0x3fu);
        return 2;
    }
    if (*p < 0xf0) {
        *ret = (*p & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        return 3;
    }
    *ret = (*p & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
    return 4;
}

// Characters that may stand in a YAML file as they are. Line breaks and tabs are judged elsewhere, and what YAML 1.1
// takes for a line break (U+0085, U+2028, U+2029) is always escaped.
static bool is_printable(unsigned c)
{
    return (c >= 0x20 && c < 0x7f) || (c >= 0xa0 && c < 0xd800 && c != 0x2028 && c != 0x2029) ||
           (c >= 0xe000 && c < 0xfffe && c != 0xfeff) || c >= 0x10000;
}

// What stands in the way of writing a text as it is.
struct findings {
    bool is_special; // characters that need an escape (tabs and line feeds aside)
    bool has_tab;
    bool has_break;
};

static struct findings examine(const char *text, size_t length)
{
    struct findings found = {0};
    const unsigned char *p = (const unsigned char *)text, *end = p + length;
    while (p < end) {
        unsigned c;
        p += decode(p, &c);
        if (c == '\n')
            found.has_break = true;
        else if (c == '\t')
            found.has_tab = true;
        else if (!is_printable(c))
            found.is_special = true;
    }
    return found;
}

// ---- which style ----

// Numbers of base 60, which YAML 1.1 readers other than go-yaml know: 12:30, -1:30:00.5
static bool is_sexagesimal(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    size_t digits = strspn(p, "0123456789_");
    return digits && p[digits] == ':' && strspn(p, "0123456789_:.") == strlen(p);
}

// Whether an unquoted text would read as something else than itself, here or in another reader.
static bool is_ambiguous(const char *text, size_t length)
{
    return prg_yaml_resolve(text, length).type != PRG_YAML_TEXT || prg_yaml_is_timestamp(text) ||
           is_sexagesimal(text) || strcmp(text, "=") == 0 || strcmp(text, "<<") == 0;
}

// Whether the punctuation of a one-line text allows it to stand without quotes in block context.
static bool is_plain_form(const char *text, size_t length)
{
    if (strchr("?:,[]{}#&*!|>'\"%@` ", *text) || text[length - 1] == ' ' || text[length - 1] == ':')
        return false;
    if (*text == '-' && (length == 1 || text[1] == ' ' || strncmp(text, "---", 3) == 0))
        return false;
    if (strncmp(text, "...", 3) == 0)
        return false;
    return !strstr(text, ": ") && !strstr(text, " #");
}

// A literal block keeps any lines of printable characters. One that is nothing but line feeds would lose them.
static bool is_block_form(const char *text, size_t length, const struct findings *found)
{
    return found->has_break && !found->is_special && strspn(text, "\n \t") < length;
}

// ---- writing texts ----

static void put_escape(struct prg_strbuf *out, unsigned c)
{
    switch (c) {
    case 0:
        prg_strbuf_puts(out, "\\0");
        break;
    case '\t':
        prg_strbuf_puts(out, "\\t");
        break;
    case '\n':
        prg_strbuf_puts(out, "\\n");
        break;
    case '\r':
        prg_strbuf_puts(out, "\\r");
        break;
    case '"':
        prg_strbuf_puts(out, "\\\"");
        break;
    case '\\':
        prg_strbuf_puts(out, "\\\\");
        break;
    default:
        prg_strbuf_printf(out, c < 0x100 ? "\\x%02X" : c < 0x10000 ? "\\u%04X" : "\\U%08X", c);
    }
}

static void put_double_quoted(struct prg_strbuf *out, const char *text, size_t length)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + length;
    prg_strbuf_putc(out, '"');
    while (p < end) {
        unsigned c;
        size_t size = decode(p, &c);
        if (is_printable(c) && c != '"' && c != '\\')
            prg_strbuf_add(out, p, size);
        else
            put_escape(out, c);
        p += size;
    }
    prg_strbuf_putc(out, '"');
}

static void put_single_quoted(struct prg_strbuf *out, const char *text)
{
    prg_strbuf_putc(out, '\'');
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            prg_strbuf_putc(out, '\'');
        prg_strbuf_putc(out, *p);
    }
    prg_strbuf_putc(out, '\'');
}

// A text on one line.
static void put_inline(struct prg_strbuf *out, const char *text, size_t length)
{
    struct findings found = examine(text, length);
    if (found.is_special || found.has_tab || found.has_break || is_ambiguous(text, length))
        put_double_quoted(out, text, length);
    else if (is_plain_form(text, length))
        prg_strbuf_add(out, text, length);
    else
        put_single_quoted(out, text);
}

// "|", how its end is kept ("-" drops the last line feed, "+" keeps several), and the lines, without a line feed behind
// the last one. indent is that of the lines.
static void put_block(struct prg_strbuf *out, const char *text, size_t length, size_t indent)
{
    bool ends_in_break = text[length - 1] == '\n';
    bool needs_hint = *text == ' ' || *text == '\n' || *text == '\t';

    prg_strbuf_putc(out, '|');
    if (needs_hint)
        prg_strbuf_printf(out, "%d", INDENT);
    if (!ends_in_break)
        prg_strbuf_putc(out, '-');
    else if (length > 1 && text[length - 2] == '\n')
        prg_strbuf_putc(out, '+');
    const char *end = text + length - ends_in_break;
    for (const char *line = text; line <= end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            stop = end;
        prg_strbuf_putc(out, '\n');
        if (stop > line) {
            prg_strbuf_pad(out, ' ', indent);
            prg_strbuf_add(out, line, (size_t)(stop - line));
        }
        line = stop + 1;
    }
}

// ---- writing trees ----

static bool is_empty(const cJSON *node)
{
    return !node->child;
}

static bool is_collection(const cJSON *node)
{
    return prg_json_is_object(node) || prg_json_is_array(node);
}

static void put_scalar(struct prg_strbuf *out, const cJSON *node, size_t indent)
{
    if (prg_json_is_string(node)) {
        const char *text = prg_json_text(node);
        size_t length = prg_json_text_length(node);
        struct findings found = examine(text, length);
        if (is_block_form(text, length, &found))
            put_block(out, text, length, indent);
        else
            put_inline(out, text, length);
    } else if (prg_json_is_object(node)) {
        prg_strbuf_puts(out, "{}");
    } else if (prg_json_is_array(node)) {
        prg_strbuf_puts(out, "[]");
    } else {
        prg_json_print(out, node, PRG_JSON_COMPACT);
    }
}

static void put_object(struct prg_strbuf *out, const cJSON *node, size_t indent);
static void put_array(struct prg_strbuf *out, const cJSON *node, size_t indent);

// What follows "key:". Lists stand at the indentation of the key, as kubectl prints them.
static void put_member_value(struct prg_strbuf *out, const cJSON *node, size_t indent)
{
    if (!is_collection(node) || is_empty(node)) {
        prg_strbuf_putc(out, ' ');
        put_scalar(out, node, indent + INDENT);
        prg_strbuf_putc(out, '\n');
    } else if (prg_json_is_object(node)) {
        prg_strbuf_putc(out, '\n');
        prg_strbuf_pad(out, ' ', indent + INDENT);
        put_object(out, node, indent + INDENT);
    } else {
        prg_strbuf_putc(out, '\n');
        prg_strbuf_pad(out, ' ', indent);
        put_array(out, node, indent);
    }
}

static int compare_keys(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const cJSON *)a)->string, ((const cJSON *)b)->string);
}

static void put_key(struct prg_strbuf *out, const char *key, size_t indent)
{
    size_t length = strlen(key);
    if (length > MAX_SIMPLE_KEY) {
        prg_strbuf_puts(out, "? ");
        put_inline(out, key, length);
        prg_strbuf_putc(out, '\n');
        prg_strbuf_pad(out, ' ', indent);
    } else {
        put_inline(out, key, length);
    }
    prg_strbuf_putc(out, ':');
}

// The first line's indentation is already there, in both of these: it may follow "- ".
static void put_object(struct prg_strbuf *out, const cJSON *node, size_t indent)
{
    struct prg_vec members;
    cJSON *member;

    prg_vec_init(&members);
    prg_json_each (member, node)
        prg_vec_push(&members, member);
    prg_vec_sort(&members, compare_keys, NULL);
    for (size_t i = 0; i < members.count; i++) {
        member = members.items[i];
        if (i)
            prg_strbuf_pad(out, ' ', indent);
        put_key(out, member->string, indent);
        put_member_value(out, member, indent);
    }
    prg_vec_release(&members);
}

static void put_array(struct prg_strbuf *out, const cJSON *node, size_t indent)
{
    const cJSON *item;
    prg_json_each (item, node) {
        if (item != node->child)
            prg_strbuf_pad(out, ' ', indent);
        prg_strbuf_puts(out, "- ");
        if (prg_json_is_object(item) && !is_empty(item)) {
            put_object(out, item, indent + INDENT);
        } else if (prg_json_is_array(item) && !is_empty(item)) {
            put_array(out, item, indent + INDENT);
        } else {
            put_scalar(out, item, indent + INDENT);
            prg_strbuf_putc(out, '\n');
        }
    }
}

void prg_yaml_dump(struct prg_strbuf *out, const cJSON *node)
{
    if (prg_json_is_object(node) && !is_empty(node)) {
        put_object(out, node, 0);
    } else if (prg_json_is_array(node) && !is_empty(node)) {
        put_array(out, node, 0);
    } else {
        put_scalar(out, node, INDENT);
        prg_strbuf_putc(out, '\n');
    }
}
