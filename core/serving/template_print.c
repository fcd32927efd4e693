// SPDX-License-Identifier: Apache-2.0
// template_print.c: values as text: what Go's fmt package prints for them with %v, and the verbs that make sense for
// texts, numbers and booleans. A value whose text would hold an address of memory is refused.
#include <stdlib.h>
#include <string.h>

#include "serving/template.h"

static void put_items(const struct value *list, struct prg_strbuf *out)
{
    const cJSON *item;
    bool is_first = true;
    prg_strbuf_putc(out, '[');
    prg_json_each (item, list->node) {
        if (!is_first)
            prg_strbuf_putc(out, ' ');
        is_first = false;
        if (prg_json_is_string(item))
            prg_strbuf_add(out, prg_json_text(item), prg_json_text_length(item));
    }
    prg_strbuf_putc(out, ']');
}

static void put_map(struct template_run *run, const struct value *map, struct prg_strbuf *out)
{
    size_t count;
    const cJSON **members = template_sorted_members(run->arena, map->node, &count);
    prg_strbuf_puts(out, "map[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            prg_strbuf_putc(out, ' ');
        prg_strbuf_printf(out, "%s:", members[i]->string);
        if (prg_json_is_string(members[i]))
            prg_strbuf_add(out, prg_json_text(members[i]), prg_json_text_length(members[i]));
    }
    prg_strbuf_putc(out, ']');
}

static int put_plain(struct template_run *run, size_t offset, const struct value *value, struct prg_strbuf *out)
{
    switch (value->type) {
    case VALUE_NOTHING:
    case VALUE_NIL:
        prg_strbuf_puts(out, "<nil>");
        return PRG_OK;
    case VALUE_STRING:
    case VALUE_TIME:
        prg_strbuf_add(out, value->text, value->length);
        return PRG_OK;
    case VALUE_INT:
        prg_strbuf_printf(out, "%lld", (long long)value->number);
        return PRG_OK;
    case VALUE_BOOL:
        prg_strbuf_puts(out, value->number ? "true" : "false");
        return PRG_OK;
    case VALUE_MAP:
        put_map(run, value, out);
        return PRG_OK;
    case VALUE_STRINGS:
        put_items(value, out);
        return PRG_OK;
    case VALUE_OWNERS:
        if (prg_json_count(value->node) == 0) {
            prg_strbuf_puts(out, "[]");
            return PRG_OK;
        }
        break;
    case VALUE_META:
    case VALUE_OWNER:
        break;
    }
    return template_fail(run, offset, "a %s has no text of its own; name one of its fields", value->go_type);
}

int value_print(struct template_run *run, size_t offset, const struct value *value, struct prg_strbuf *out)
{
    return value->type == VALUE_NOTHING ? PRG_OK : put_plain(run, offset, value, out);
}

static int check_pointer(struct template_run *run, size_t offset, const struct value *value)
{
    if (!value->is_pointer)
        return PRG_OK;
    return template_fail(run, offset, "a %s has no fixed text here; use it without print", value->go_type);
}

// A function's text. It counts with all others of the run: a text may be printed into itself again and again.
static int made_text(struct template_run *run, size_t offset, const struct prg_strbuf *out, struct value *ret)
{
    int rc = template_check_length(run, offset, run->made + out->length);
    if (rc != PRG_OK)
        return rc;
    run->made += out->length;
    *ret = value_string(prg_arena_strndup(run->arena, out->text, out->length), out->length);
    return PRG_OK;
}

int value_sprint(struct template_run *run, size_t offset, const struct value *values, size_t count, bool is_line,
                 struct value *ret)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        bool has_space = i && (is_line || (values[i].type != VALUE_STRING && values[i - 1].type != VALUE_STRING));
        if (has_space)
            prg_strbuf_putc(&out, ' ');
        int rc = check_pointer(run, offset, &values[i]);
        if (rc == PRG_OK)
            rc = put_plain(run, offset, &values[i], &out);
        if (rc == PRG_OK)
            rc = template_check_length(run, offset, run->made + out.length);
        if (rc != PRG_OK)
            return rc;
    }
    if (is_line)
        prg_strbuf_putc(&out, '\n');
    return made_text(run, offset, &out, ret);
}

// ---- printf ----

#define MAX_WIDTH 1000
struct verb {
    bool has_minus, has_plus, has_space, has_zero;
    bool has_precision;
    size_t width, precision;
    char letter;
};

// Go counts a width in characters, not bytes.
static size_t rune_count(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static void put_padded(struct prg_strbuf *out, const struct verb *verb, const char *text, size_t length)
{
    size_t runes = rune_count(text, length), pad = verb->width > runes ? verb->width - runes : 0;
    if (!verb->has_minus)
        prg_strbuf_pad(out, ' ', pad);
    prg_strbuf_add(out, text, length);
    if (verb->has_minus)
        prg_strbuf_pad(out, ' ', pad);
}

static int put_verb(struct template_run *run, size_t offset, const struct verb *verb, const struct value *value,
                    struct prg_strbuf *out);

// "%!d(string=x)", what Go prints for a verb that does not go with its value; flags and width hold for the value.
static int put_bad_verb(struct template_run *run, size_t offset, const struct verb *verb, const struct value *value,
                        struct prg_strbuf *out)
{
    struct verb plain = *verb;
    plain.letter = 'v';
    if (value->type == VALUE_NOTHING) {
        prg_strbuf_printf(out, "%%!%c(<nil>)", verb->letter);
        return PRG_OK;
    }
    prg_strbuf_printf(out, "%%!%c(%s=", verb->letter, value->go_type);
    int rc = put_verb(run, offset, &plain, value, out);
    prg_strbuf_putc(out, ')');
    return rc;
}

static struct value text_of(const cJSON *node)
{
    return prg_json_is_string(node) ? value_string(prg_json_text(node), prg_json_text_length(node))
                                    : value_string("", 0);
}

// A verb goes to every item of a list, and to keys and values of a map.
static int put_items_by_verb(struct template_run *run, size_t offset, const struct verb *verb,
                             const struct value *value, struct prg_strbuf *out)
{
    bool is_map = value->type == VALUE_MAP;
    size_t count = prg_json_count(value->node);
    const cJSON **members = is_map ? template_sorted_members(run->arena, value->node, &count) : NULL;
    const cJSON *item = value->node ? value->node->child : NULL;
    int rc = PRG_OK;
    prg_strbuf_puts(out, is_map ? "map[" : "[");
    for (size_t i = 0; i < count && (is_map || item) && rc == PRG_OK; i++) {
        if (i)
            prg_strbuf_putc(out, ' ');
        if (is_map) {
            item = members[i];
            struct value key = value_string(item->string, strlen(item->string));
            rc = put_verb(run, offset, verb, &key, out);
            prg_strbuf_putc(out, ':');
        }
        struct value text = text_of(item);
        if (rc == PRG_OK)
            rc = put_verb(run, offset, verb, &text, out);
        if (rc == PRG_OK)
            rc = template_check_length(run, offset, out->length);
        item = item->next;
    }
    prg_strbuf_putc(out, ']');
    return rc;
}

static void put_quoted(struct prg_strbuf *out, const char *text, size_t length)
{
    static const char escaped[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
    prg_strbuf_putc(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *found = c ? strchr(escaped, c) : NULL;
        if (found)
            prg_strbuf_printf(out, "\\%c", letters[found - escaped]);
        else if (c < ' ' || c == 0x7f)
            prg_strbuf_printf(out, "\\x%02x", c);
        else
            prg_strbuf_putc(out, (char)c);
    }
    prg_strbuf_putc(out, '"');
}

static void put_string(struct prg_strbuf *out, const struct verb *verb, const struct value *value)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    size_t length = value->length;
    if (verb->has_precision && verb->letter != 'x' && verb->letter != 'X') {
        size_t runes = 0;
        for (length = 0; length < value->length; length++)
            if (((unsigned char)value->text[length] & 0xc0) != 0x80 && ++runes > verb->precision)
                break;
    } else if (verb->has_precision && verb->precision < length) {
        length = verb->precision;
    }
    if (verb->letter == 'q')
        put_quoted(&text, value->text, length);
    else if (verb->letter == 'x' || verb->letter == 'X')
        for (size_t i = 0; i < length; i++)
            prg_strbuf_printf(&text, verb->letter == 'x' ? "%02x" : "%02X", (unsigned char)value->text[i]);
    else
        prg_strbuf_add(&text, value->text, length);
    put_padded(out, verb, text.text, text.length);
}

static void put_digits(struct prg_strbuf *out, uint64_t magnitude, unsigned base, bool is_upper)
{
    char digits[64];
    size_t count = 0;
    do {
        digits[count++] = (is_upper ? "0123456789ABCDEF" : "0123456789abcdef")[magnitude % base];
        magnitude /= base;
    } while (magnitude);
    while (count)
        prg_strbuf_putc(out, digits[--count]);
}

static void put_int(struct prg_strbuf *out, const struct verb *verb, int64_t number)
{
    unsigned base = verb->letter == 'x' || verb->letter == 'X' ? 16
                    : verb->letter == 'o'                      ? 8
                    : verb->letter == 'b'                      ? 2
                                                               : 10;
    prg_auto_strbuf digits = PRG_STRBUF_INIT, text = PRG_STRBUF_INIT;
    const char *sign = number < 0 ? "-" : verb->has_plus ? "+" : verb->has_space ? " " : "";
    put_digits(&digits, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, base, verb->letter == 'X');
    if (verb->has_precision && verb->precision == 0 && number == 0)
        prg_strbuf_truncate(&digits, 0);
    size_t wanted = verb->has_precision ? verb->precision : 0;
    if (verb->has_zero && !verb->has_minus && !verb->has_precision && verb->width > strlen(sign))
        wanted = verb->width - strlen(sign);
    prg_strbuf_puts(&text, sign);
    prg_strbuf_pad(&text, '0', wanted > digits.length ? wanted - digits.length : 0);
    prg_strbuf_add(&text, digits.text, digits.length);
    put_padded(out, verb, text.text, text.length);
}

static int put_verb(struct template_run *run, size_t offset, const struct verb *verb, const struct value *value,
                    struct prg_strbuf *out)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    char letter = verb->letter;
    if (letter <= ' ' || letter == 0x7f)
        return template_fail(run, offset, "a %% in the format of printf is followed by no letter");
    if (!strchr("vsqdxXobt", letter))
        return template_fail(run, offset, "printf's %%%c is not supported in placeholders", letter);
    if (verb->has_zero && value->type != VALUE_INT)
        return template_fail(run, offset, "printf pads only numbers with zeros in placeholders");
    int rc = check_pointer(run, offset, value);
    if (rc != PRG_OK)
        return rc;
    if (value->type == VALUE_MAP || value->type == VALUE_STRINGS)
        return put_items_by_verb(run, offset, verb, value, out);
    if (letter == 'v' && value->type != VALUE_INT && value->type != VALUE_STRING) {
        rc = put_plain(run, offset, value, &text);
        put_padded(out, verb, text.text, text.length);
        return rc;
    }
    switch (value->type) {
    case VALUE_STRING:
        if (!strchr("vsqxX", letter))
            return put_bad_verb(run, offset, verb, value, out);
        put_string(out, verb, value);
        return PRG_OK;
    case VALUE_INT:
        if (letter == 'q')
            return template_fail(run, offset, "printf's %%q of a number is not supported in placeholders");
        if (!strchr("vdxXob", letter))
            return put_bad_verb(run, offset, verb, value, out);
        put_int(out, verb, value->number);
        return PRG_OK;
    case VALUE_BOOL:
        if (letter != 't')
            return put_bad_verb(run, offset, verb, value, out);
        put_padded(out, verb, value->number ? "true" : "false", value->number ? 4 : 5);
        return PRG_OK;
    case VALUE_NOTHING:
        return put_bad_verb(run, offset, verb, value, out);
    case VALUE_TIME:
        if (letter == 's' && !verb->width && !verb->has_precision)
            return put_plain(run, offset, value, out);
        break;
    default:
        break;
    }
    return template_fail(run, offset, "printf's %%%c of a %s is not supported in placeholders", letter, value->go_type);
}

// Reads flags, width, precision and letter behind a '%'. False: there is no letter.
static bool read_verb(const char **at, const char *end, struct verb *verb)
{
    for (; *at < end && strchr("-+ 0", **at) && **at; (*at)++) {
        verb->has_minus |= **at == '-';
        verb->has_plus |= **at == '+';
        verb->has_space |= **at == ' ';
        verb->has_zero |= **at == '0';
    }
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
        verb->width = verb->width > MAX_WIDTH ? verb->width : verb->width * 10 + (size_t)(**at - '0');
    if (*at < end && **at == '.') {
        verb->has_precision = true;
        for ((*at)++; *at < end && **at >= '0' && **at <= '9'; (*at)++)
            verb->precision =
                verb->precision > MAX_WIDTH ? verb->precision : verb->precision * 10 + (size_t)(**at - '0');
    }
    if (*at >= end)
        return false;
    verb->letter = *(*at)++;
    return true;
}

static int put_extra(struct template_run *run, size_t offset, const struct value *values, size_t count,
                     struct prg_strbuf *out)
{
    prg_strbuf_puts(out, "%!(EXTRA ");
    for (size_t i = 0; i < count; i++) {
        if (i)
            prg_strbuf_puts(out, ", ");
        if (values[i].type == VALUE_NOTHING) {
            prg_strbuf_puts(out, "<nil>");
            continue;
        }
        prg_strbuf_printf(out, "%s=", values[i].go_type);
        int rc = check_pointer(run, offset, &values[i]);
        if (rc == PRG_OK)
            rc = put_plain(run, offset, &values[i], out);
        if (rc == PRG_OK)
            rc = template_check_length(run, offset, run->made + out->length);
        if (rc != PRG_OK)
            return rc;
    }
    prg_strbuf_putc(out, ')');
    return PRG_OK;
}

int value_sprintf(struct template_run *run, size_t offset, const struct value *values, size_t count, struct value *ret)
{
    const char *at = values[0].text, *end = at + values[0].length;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    size_t used = 1;
    int rc = PRG_OK;
    while (at < end && rc == PRG_OK) {
        if (*at != '%') {
            prg_strbuf_putc(&out, *at++);
            continue;
        }
        struct verb verb = {0};
        at++;
        if (!read_verb(&at, end, &verb)) {
            prg_strbuf_puts(&out, "%!(NOVERB)");
            break;
        }
        if (verb.width > MAX_WIDTH || verb.precision > MAX_WIDTH)
            return template_fail(run, offset, "a width in printf is at most %d", MAX_WIDTH);
        if (verb.letter == '%')
            prg_strbuf_putc(&out, '%');
        else if (used >= count)
            prg_strbuf_printf(&out, "%%!%c(MISSING)", verb.letter);
        else
            rc = put_verb(run, offset, &verb, &values[used++], &out);
        if (rc == PRG_OK)
            rc = template_check_length(run, offset, run->made + out.length);
    }
    if (rc == PRG_OK && used < count)
        rc = put_extra(run, offset, values + used, count - used, &out);
    return rc == PRG_OK ? made_text(run, offset, &out, ret) : rc;
}
