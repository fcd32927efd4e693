// SPDX-License-Identifier: Apache-2.0
// scalar.c: types of plain scalars: a table of words, then integers in four bases, then floats, else text.
//
// The first character decides which of them are tried, as in go-yaml: a word table entry must start with one of
// "yYnNtTfFoO~.+-", a number with a digit, a sign or a dot. Sexagesimal numbers (12:30) and dates stay text.
#include "yaml/scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

static const struct {
    const char *word;
    enum prg_yaml_type type;
    bool boolean;
    double number;
} words[] = {
    {"", PRG_YAML_NULL, false, 0},
    {"~", PRG_YAML_NULL, false, 0},
    {"null", PRG_YAML_NULL, false, 0},
    {"Null", PRG_YAML_NULL, false, 0},
    {"NULL", PRG_YAML_NULL, false, 0},
    {"y", PRG_YAML_BOOL, true, 0},
    {"Y", PRG_YAML_BOOL, true, 0},
    {"yes", PRG_YAML_BOOL, true, 0},
    {"Yes", PRG_YAML_BOOL, true, 0},
    {"YES", PRG_YAML_BOOL, true, 0},
    {"true", PRG_YAML_BOOL, true, 0},
    {"True", PRG_YAML_BOOL, true, 0},
    {"TRUE", PRG_YAML_BOOL, true, 0},
    {"on", PRG_YAML_BOOL, true, 0},
    {"On", PRG_YAML_BOOL, true, 0},
    {"ON", PRG_YAML_BOOL, true, 0},
    {"n", PRG_YAML_BOOL, false, 0},
    {"N", PRG_YAML_BOOL, false, 0},
    {"no", PRG_YAML_BOOL, false, 0},
    {"No", PRG_YAML_BOOL, false, 0},
    {"NO", PRG_YAML_BOOL, false, 0},
    {"false", PRG_YAML_BOOL, false, 0},
    {"False", PRG_YAML_BOOL, false, 0},
    {"FALSE", PRG_YAML_BOOL, false, 0},
    {"off", PRG_YAML_BOOL, false, 0},
    {"Off", PRG_YAML_BOOL, false, 0},
    {"OFF", PRG_YAML_BOOL, false, 0},
    {".nan", PRG_YAML_FLOAT, false, NAN},
    {".NaN", PRG_YAML_FLOAT, false, NAN},
    {".NAN", PRG_YAML_FLOAT, false, NAN},
    {".inf", PRG_YAML_FLOAT, false, INFINITY},
    {".Inf", PRG_YAML_FLOAT, false, INFINITY},
    {".INF", PRG_YAML_FLOAT, false, INFINITY},
    {"+.inf", PRG_YAML_FLOAT, false, INFINITY},
    {"+.Inf", PRG_YAML_FLOAT, false, INFINITY},
    {"+.INF", PRG_YAML_FLOAT, false, INFINITY},
    {"-.inf", PRG_YAML_FLOAT, false, -INFINITY},
    {"-.Inf", PRG_YAML_FLOAT, false, -INFINITY},
    {"-.INF", PRG_YAML_FLOAT, false, -INFINITY},
};
#define LONGEST_WORD 5

static bool find_word(const char *text, size_t length, struct prg_yaml_scalar *ret)
{
    if (length > LONGEST_WORD)
        return false;
    for (size_t i = 0; i < PRG_COUNT(words); i++) {
        if (words[i].word[0] != *text || strcmp(words[i].word, text) != 0)
            continue;
        ret->type = words[i].type;
        ret->boolean = words[i].boolean;
        ret->number = words[i].number;
        return true;
    }
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *p)
{
    while (is_digit(*p))
        p++;
    return p;
}

static unsigned digit_value(char c)
{
    if (is_digit(c))
        return (unsigned)(c - '0');
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a' + 10) : 16;
}

// Go's strconv.ParseInt and then ParseUint with base 0: 0x, 0o, 0b and plain 0 choose the base.
static bool parse_int(const char *text, struct prg_yaml_scalar *ret)
{
    const char *p = text;
    bool has_sign = *p == '+' || *p == '-';
    bool negative = *p == '-';
    unsigned base = 10;

    p += has_sign;
    if (!is_digit(*p))
        return false;
    if (*p == '0') {
        char prefix = (char)(p[1] | 0x20);
        base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
        if (base)
            p += 2;
        else
            base = 8, p++;
        if (!*p && p[-1] != '0')
            return false; // "0x" alone
    }
    uint64_t value = 0;
    for (; *p; p++) {
        unsigned digit = digit_value(*p);
        if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    if (has_sign && value > (uint64_t)INT64_MAX + negative)
        return false; // ParseUint takes no sign
    ret->type = PRG_YAML_INT;
    ret->is_negative = negative && value;
    ret->magnitude = value;
    return true;
}

// The float form of go-yaml: [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
static bool is_float_form(const char *text)
{
    const char *p = text + (*text == '+' || *text == '-');
    const char *digits = skip_digits(p);
    if (digits > p) {
        p = *digits == '.' ? skip_digits(digits + 1) : digits;
    } else {
        if (*p != '.' || !is_digit(p[1]))
            return false;
        p = skip_digits(p + 1);
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '+' || *p == '-';
        if (!is_digit(*p))
            return false;
        p = skip_digits(p);
    }
    return *p == '\0';
}

// A float that overflows is no float for Go, so it stays text.
static bool parse_float(const char *text, struct prg_yaml_scalar *ret)
{
    if (!is_float_form(text))
        return false;
    double number = strtod(text, NULL);
    if (isinf(number))
        return false;
    ret->type = PRG_YAML_FLOAT;
    ret->number = number;
    return true;
}

// Underscores within a text that starts with a dot: between digits only (Go's rule for number literals).
static bool underscores_part_digits(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p == '_' && (p == text || !is_digit(p[-1]) || !is_digit(p[1])))
            return false;
    return true;
}

static bool parse_number(const char *text, struct prg_yaml_scalar *ret)
{
    if (*text == '.')
        return parse_float(text, ret);
    return parse_int(text, ret) || parse_float(text, ret);
}

static bool could_be_number(const char *text)
{
    for (const char *p = text; *p; p++)
        if (!is_digit(*p) && !strchr("+-._abcdefxoABCDEFXO", *p))
            return false;
    return true;
}

static bool resolve_number(const char *text, size_t length, struct prg_yaml_scalar *ret)
{
    if (!could_be_number(text))
        return false;
    if (!memchr(text, '_', length))
        return parse_number(text, ret);
    if (*text == '.' && !underscores_part_digits(text))
        return false;
    prg_auto_strbuf plain = PRG_STRBUF_INIT;
    for (const char *p = text; *p; p++)
        if (*p != '_')
            prg_strbuf_putc(&plain, *p);
    return parse_number(plain.text, ret);
}

struct prg_yaml_scalar prg_yaml_resolve(const char *text, size_t length)
{
    struct prg_yaml_scalar ret = {.type = PRG_YAML_TEXT};
    if (length && (strlen(text) != length || !strchr("+-.0123456789yYnNtTfFoO~", *text)))
        return ret;
    if (!find_word(text, length, &ret) && (is_digit(*text) || strchr("+-.", *text)))
        resolve_number(text, length, &ret);
    return ret;
}

#define STANDARD "tag:yaml.org,2002:"

bool prg_yaml_resolve_tagged(const char *tag, const char *text, size_t length, struct prg_yaml_scalar *ret)
{
    static const struct {
        const char *tag;
        enum prg_yaml_type type;
    } types[] = {
        {STANDARD "null", PRG_YAML_NULL},   {STANDARD "bool", PRG_YAML_BOOL},      {STANDARD "int", PRG_YAML_INT},
        {STANDARD "float", PRG_YAML_FLOAT}, {STANDARD "timestamp", PRG_YAML_TEXT},
    };
    struct prg_yaml_scalar scalar = {.type = PRG_YAML_TEXT};

    for (size_t i = 0; i < PRG_COUNT(types); i++) {
        if (strcmp(types[i].tag, tag) != 0)
            continue;
        scalar = prg_yaml_resolve(text, length);
        if (types[i].type == PRG_YAML_FLOAT && scalar.type == PRG_YAML_INT && scalar.magnitude <= INT64_MAX) {
            scalar.type = PRG_YAML_FLOAT;
            scalar.number = scalar.is_negative ? -(double)scalar.magnitude : (double)scalar.magnitude;
        }
        if (scalar.type != types[i].type || (scalar.type == PRG_YAML_TEXT && !prg_yaml_is_timestamp(text)))
            return false;
    }
    *ret = scalar;
    return true;
}

// One or two digits within [low, high]; NULL when there are none.
static const char *read_part(const char *p, int low, int high, int *ret)
{
    if (!p || !is_digit(*p))
        return NULL;
    int value = *p++ - '0';
    if (is_digit(*p))
        value = value * 10 + (*p++ - '0');
    *ret = value;
    return value >= low && value <= high ? p : NULL;
}

static const char *expect(const char *p, char c)
{
    return p && *p == c ? p + 1 : NULL;
}

static const char *read_clock(const char *p)
{
    int part;
    p = read_part(p, 0, 23, &part);
    p = read_part(expect(p, ':'), 0, 59, &part);
    p = read_part(expect(p, ':'), 0, 59, &part);
    if (p && *p == '.' && is_digit(p[1]))
        p = skip_digits(p + 1);
    return p;
}

bool prg_yaml_is_timestamp(const char *text)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int month, day, part;

    if (skip_digits(text) != text + 4)
        return false;
    long year = strtol(text, NULL, 10);
    const char *p = read_part(expect(text + 4, '-'), 1, 12, &month);
    p = read_part(expect(p, '-'), 1, 31, &day);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (!p || day > days[month - 1] || (month == 2 && day == 29 && !leap))
        return false;
    if (*p == '\0')
        return true;
    bool zoned = *p == 'T' || *p == 't';
    if (!zoned && *p != ' ')
        return false;
    p = read_clock(p + 1);
    if (zoned && p && (*p == '+' || *p == '-')) {
        p = read_part(p + 1, 0, 24, &part);
        p = read_part(expect(p, ':'), 0, 60, &part);
    } else if (zoned) {
        p = expect(p, 'Z');
    }
    return p && *p == '\0';
}

const char *prg_yaml_int_text(char buffer[PRG_YAML_INT_TEXT], const struct prg_yaml_scalar *scalar)
{
    snprintf(buffer, PRG_YAML_INT_TEXT, "%s%" PRIu64, scalar->is_negative ? "-" : "", scalar->magnitude);
    return buffer;
}

// Source: sigs.k8s.io/yaml convertToJSONableObject: floats as keys are printed as %g with the fewest digits that tell
// 32-bit floats apart, so 123456789.5 becomes 1.2345679e+08.
static const char *float_key_text(struct prg_arena *arena, double number)
{
    float single = (float)number;
    if (isnan(single))
        return ".nan";
    if (isinf(single))
        return single < 0 ? "-.inf" : ".inf";

    char text[40];
    int precision = 1;
    do
        snprintf(text, sizeof(text), "%.*e", precision - 1, (double)single);
    while (strtof(text, NULL) != single && ++precision <= 9);
    int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 6)
        return prg_arena_strdup(arena, text);
    int decimals = precision - 1 - exponent;
    return prg_arena_printf(arena, "%.*f", decimals > 0 ? decimals : 0, (double)single);
}

const char *prg_yaml_key_text(struct prg_arena *arena, const struct prg_yaml_scalar *scalar)
{
    switch (scalar->type) {
    case PRG_YAML_BOOL:
        return scalar->boolean ? "true" : "false";
    case PRG_YAML_INT:
        if (!scalar->is_negative && scalar->magnitude > INT64_MAX)
            return NULL;
        return prg_arena_strdup(arena, prg_yaml_int_text((char[PRG_YAML_INT_TEXT]){0}, scalar));
    case PRG_YAML_FLOAT:
        return float_key_text(arena, scalar->number);
    default:
        return NULL;
    }
}
