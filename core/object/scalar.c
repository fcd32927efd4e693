// SPDX-License-Identifier: Apache-2.0
// scalar.c: durations, IntOrString, names and resource versions.
#include "object/scalar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- durations ----

#define LIMIT (UINT64_C(1) << 63) // magnitude of the smallest int64

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const struct {
    const char *text;
    uint64_t ns;
} units[] = {
    {"ns", 1},
    {"us", 1000},
    {"\xc2\xb5s", 1000}, // U+00B5
    {"\xce\xbcs", 1000}, // U+03BC
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", UINT64_C(60) * 1000000000},
    {"h", UINT64_C(3600) * 1000000000},
};

static uint64_t read_unit(const char *text, size_t length)
{
    for (size_t i = 0; i < PRG_COUNT(units); i++)
        if (strlen(units[i].text) == length && memcmp(units[i].text, text, length) == 0)
            return units[i].ns;
    return 0;
}

// Digits behind the point; those that do not fit are dropped, as in Go.
static const char *read_fraction(const char *p, uint64_t *ret, double *ret_scale)
{
    bool is_full = false;
    *ret = 0;
    *ret_scale = 1;
    for (; is_digit(*p); p++) {
        is_full = is_full || *ret > (LIMIT - 1) / 10;
        if (is_full)
            continue;
        *ret = *ret * 10 + (uint64_t)(*p - '0');
        *ret_scale *= 10;
    }
    return p;
}

// Reads one number with its unit and adds it to *sum. NULL when there is none or the sum is too large.
static const char *read_part(const char *p, uint64_t *sum)
{
    const char *start = p;
    uint64_t whole = 0, fraction = 0;
    double scale = 1;

    for (; is_digit(*p); p++) {
        if (whole > LIMIT / 10 || (whole = whole * 10 + (uint64_t)(*p - '0')) > LIMIT)
            return NULL;
    }
    bool has_digits = p > start;
    if (*p == '.') {
        start = ++p;
        p = read_fraction(p, &fraction, &scale);
        has_digits = has_digits || p > start;
    }
    size_t length = strcspn(p, ".0123456789");
    uint64_t unit = read_unit(p, length);
    if (!has_digits || !unit || whole > LIMIT / unit)
        return NULL;
    whole *= unit;
    if (fraction)
        whole += (uint64_t)((double)fraction * ((double)unit / scale));
    if (whole > LIMIT || *sum + whole > LIMIT)
        return NULL;
    *sum += whole;
    return p + length;
}

int prg_duration_parse(const char *text, int64_t *ret_ns, struct prg_error *err)
{
    bool is_negative = *text == '-';
    const char *p = text + (*text == '-' || *text == '+');
    uint64_t sum = 0;

    if (strcmp(p, "0") == 0) {
        *ret_ns = 0;
        return PRG_OK;
    }
    const char *rest = *p ? p : NULL;
    while (rest && *rest)
        rest = read_part(rest, &sum);
    if (!rest || (sum == LIMIT && !is_negative))
        return prg_fail(err, PRG_INVALID, "'%s' is not a duration such as 300ms, 1.5h or 2h45m", text);
    *ret_ns = (int64_t)(is_negative ? UINT64_C(0) - sum : sum);
    return PRG_OK;
}

// value / 10^places without trailing zeros.
static void print_fraction(struct prg_strbuf *out, uint64_t value, int places)
{
    uint64_t power = 1;
    for (int i = 0; i < places; i++)
        power *= 10;
    prg_strbuf_printf(out, "%llu", (unsigned long long)(value / power));
    value %= power;
    if (!value)
        return;
    while (value % 10 == 0) {
        value /= 10;
        places--;
    }
    prg_strbuf_printf(out, ".%0*llu", places, (unsigned long long)value);
}

char *prg_duration_print(struct prg_arena *arena, int64_t ns)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    uint64_t size = ns < 0 ? UINT64_C(0) - (uint64_t)ns : (uint64_t)ns;
    uint64_t minutes = size / units[6].ns;

    if (!size)
        return prg_arena_strdup(arena, "0s");
    if (ns < 0)
        prg_strbuf_putc(&out, '-');
    if (size < 1000000000) {
        int places = size < 1000 ? 0 : size < 1000000 ? 3 : 6;
        print_fraction(&out, size, places);
        prg_strbuf_puts(&out, places == 0 ? "ns" : places == 3 ? "\xc2\xb5s" : "ms");
        return prg_arena_strndup(arena, out.text, out.length);
    }
    if (minutes >= 60)
        prg_strbuf_printf(&out, "%lluh", (unsigned long long)(minutes / 60));
    if (minutes)
        prg_strbuf_printf(&out, "%llum", (unsigned long long)(minutes % 60));
    print_fraction(&out, size % units[6].ns, 9);
    prg_strbuf_putc(&out, 's');
    return prg_arena_strndup(arena, out.text, out.length);
}

// ---- IntOrString ----

// Go's strconv.Atoi of the text before a final '%'.
static bool read_percent(const char *text, int64_t *ret)
{
    const char *digits = text + (*text == '-' || *text == '+');
    size_t count = strspn(digits, "0123456789");
    if (!count || strcmp(digits + count, "%") != 0)
        return false;
    errno = 0;
    *ret = strtoll(text, NULL, 10);
    return errno == 0;
}

int prg_int_or_percent(const cJSON *value, int64_t total, bool round_up, int64_t *ret, struct prg_error *err)
{
    int64_t number;
    if (prg_json_is_number(value)) {
        if (!prg_json_int64(value, &number) || number < INT32_MIN || number > INT32_MAX)
            return prg_fail(err, PRG_INVALID, "%s is not a whole number of 32 bits", prg_json_number_text(value));
        *ret = number;
        return PRG_OK;
    }
    if (!prg_json_is_string(value))
        return prg_fail(err, PRG_INVALID, "a whole number or a percentage is expected, not %s",
                        prg_json_type_name(value));
    if (!read_percent(prg_json_text(value), &number))
        return prg_fail(err, PRG_INVALID, "'%s' is not a percentage such as 25%%", prg_json_text(value));
    double scaled = (double)number * (double)total / 100;
    scaled = round_up ? ceil(scaled) : floor(scaled);
    if (scaled < -0x1p63 || scaled >= 0x1p63)
        return prg_fail(err, PRG_INVALID, "%s of %lld is too large", prg_json_text(value), (long long)total);
    *ret = (int64_t)scaled;
    return PRG_OK;
}

// ---- names ----

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define MAX_LABEL 63
#define MAX_SUBDOMAIN 253

static bool is_in(const char *set, char c)
{
    return c && strchr(set, c);
}

// length characters, the first and the last of `ends`, those between of `ends` or `inner`.
static bool is_word(const char *text, size_t length, const char *ends, const char *inner)
{
    if (!length || !is_in(ends, text[0]) || !is_in(ends, text[length - 1]))
        return false;
    for (size_t i = 1; i + 1 < length; i++)
        if (!is_in(ends, text[i]) && !is_in(inner, text[i]))
            return false;
    return true;
}

bool prg_name_is_dns1123_label(const char *text)
{
    size_t length = strlen(text);
    return length <= MAX_LABEL && is_word(text, length, LOWER DIGITS, "-");
}

bool prg_name_is_dns1035_label(const char *text)
{
    return is_in(LOWER, *text) && prg_name_is_dns1123_label(text);
}

static bool is_subdomain(const char *text, size_t length)
{
    if (length > MAX_SUBDOMAIN)
        return false;
    for (const char *p = text, *end = text + length;; p++) {
        size_t part = strcspn(p, ".");
        if (part > (size_t)(end - p))
            part = (size_t)(end - p);
        if (!is_word(p, part, LOWER DIGITS, "-"))
            return false;
        p += part;
        if (p == end)
            return true;
    }
}

bool prg_name_is_dns1123_subdomain(const char *text)
{
    return is_subdomain(text, strlen(text));
}

static bool is_label_name(const char *text)
{
    size_t length = strlen(text);
    return length <= MAX_LABEL && is_word(text, length, LOWER UPPER DIGITS, "-_.");
}

bool prg_name_is_qualified(const char *text)
{
    const char *slash = strchr(text, '/');
    if (!slash)
        return is_label_name(text);
    return is_subdomain(text, (size_t)(slash - text)) && is_label_name(slash + 1);
}

bool prg_name_is_label_value(const char *text)
{
    return !*text || is_label_name(text);
}

// Names that become files or could be taken for a folder.
static bool is_folder_name(const char *text)
{
    return strcmp(text, ".") == 0 || strncmp(text, "..", 2) == 0;
}

bool prg_name_is_config_map_key(const char *text)
{
    size_t length = strlen(text);
    return length && length <= MAX_SUBDOMAIN && strspn(text, LOWER UPPER DIGITS "-._") == length &&
           !is_folder_name(text);
}

bool prg_name_is_env_var(const char *text)
{
    size_t length = strlen(text);
    return length && strspn(text, LOWER UPPER DIGITS "-._") == length && !is_digit(*text) && !is_folder_name(text);
}

// ---- resource versions ----

static int check_version(const char *text, struct prg_error *err)
{
    size_t length = strlen(text);
    if (!length || *text == '0' || strspn(text, DIGITS) != length)
        return prg_fail(err, PRG_INVALID, "'%s' is not a resourceVersion (a whole number above 0)", text);
    return PRG_OK;
}

// Source: apimachinery resourceversion.CompareResourceVersion.
int prg_resource_version_compare(const char *a, const char *b, int *ret, struct prg_error *err)
{
    if (check_version(a, err) != PRG_OK || check_version(b, err) != PRG_OK)
        return PRG_INVALID;
    size_t x = strlen(a), y = strlen(b);
    int c = x != y ? (x < y ? -1 : 1) : strcmp(a, b);
    *ret = (c > 0) - (c < 0);
    return PRG_OK;
}
