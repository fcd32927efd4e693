// SPDX-License-Identifier: Apache-2.0
// quantity.c: exact amounts with SI suffixes.
//
// The amount itself is a 256-bit count of 10^-9. Go keeps it in one of two forms, an int64 with a power of ten or an
// inf.Dec, and what it prints and rounds differs between them; is_dec and scale remember which form Go would have, so
// that Value, MilliValue and kept texts come out alike. Source: apimachinery pkg/api/resource quantity.go, amount.go,
// math.go, scale_int.go, suffix.go.
#include "object/quantity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object/wide.h"

#define NANO_DIGITS 9
#define MAX_TEXT 1000
#define MAX_AMOUNT_DIGITS 60 // 10^60 and more is refused
#define MAX_EXPONENT 9999    // more than any text of MAX_TEXT characters can make up for

static const uint64_t powers_of_ten[] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};
#define MAX_POWER 18 // of an int64

static struct prg_wide magnitude(const struct prg_quantity *q)
{
    struct prg_wide w;
    memcpy(w.limb, q->nano, sizeof(w.limb));
    return w;
}

static void set_magnitude(struct prg_quantity *q, const struct prg_wide *w, bool is_negative)
{
    memcpy(q->nano, w->limb, sizeof(q->nano));
    q->is_negative = is_negative && !prg_wide_is_zero(w);
}

// w = w / 10^digits; true when nothing is lost.
static bool drop_digits(struct prg_wide *w, int digits)
{
    bool exact = true;
    for (; digits > 0; digits -= MAX_POWER)
        exact = !prg_wide_divide(w, powers_of_ten[digits < MAX_POWER ? digits : MAX_POWER]) && exact;
    return exact;
}

static void add_one(struct prg_wide *w)
{
    prg_wide_multiply(w, 1, 1);
}

// ---- parsing ----

// The parts of a text.
struct parts {
    bool is_negative;
    bool has_digits;
    const char *whole; // digits before the point, without leading zeros
    size_t whole_length;
    const char *fraction; // digits behind it
    size_t fraction_length;
    const char *suffix;
    size_t suffix_length;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

// Splits as parseQuantityString does. Any part may be empty. False when something is left over.
static bool split(const char *text, size_t length, struct parts *ret)
{
    const char *p = text, *end = text + length;
    *ret = (struct parts){0};

    if (p < end && (*p == '-' || *p == '+'))
        ret->is_negative = *p++ == '-';
    const char *number = p;
    while (p < end && *p == '0')
        p++;
    ret->whole = p;
    p = skip_digits(p, end);
    ret->whole_length = (size_t)(p - ret->whole);
    ret->has_digits = p > number;
    if (p < end && *p == '.') {
        ret->fraction = ++p;
        p = skip_digits(p, end);
        ret->fraction_length = (size_t)(p - ret->fraction);
        ret->has_digits = ret->has_digits || ret->fraction_length;
    }
    ret->suffix = p;
    while (p < end && *p && strchr("eEinumkKMGTP", *p))
        p++;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    p = skip_digits(p, end);
    ret->suffix_length = (size_t)(p - ret->suffix);
    return p == end;
}

static const struct {
    const char *text;
    int exponent;
    bool is_binary;
} suffixes[] = {
    {"n", -9, false}, {"u", -6, false}, {"m", -3, false}, {"", 0, false},   {"k", 3, false},  {"M", 6, false},
    {"G", 9, false},  {"T", 12, false}, {"P", 15, false}, {"E", 18, false}, {"Ki", 10, true}, {"Mi", 20, true},
    {"Gi", 30, true}, {"Ti", 40, true}, {"Pi", 50, true}, {"Ei", 60, true},
};

// The digits behind an "e", clamped to what matters. False when they are no 32-bit number.
static bool read_exponent(const char *text, size_t length, int *ret)
{
    const char *p = text, *end = text + length;
    bool is_negative = p < end && *p == '-';
    int64_t value = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end)
        return false;
    for (; p < end; p++) {
        if (!is_digit(*p))
            return false;
        value = value * 10 + (*p - '0');
        if (value > INT32_MAX)
            return false;
    }
    if (value > MAX_EXPONENT)
        value = MAX_EXPONENT;
    *ret = (int)(is_negative ? -value : value);
    return true;
}

// The exponent is one of two for a binary suffix, else of ten.
static bool read_suffix(const struct parts *parts, enum prg_quantity_format *ret_format, int *ret_exponent)
{
    const char *text = parts->suffix;
    size_t length = parts->suffix_length;
    for (size_t i = 0; i < PRG_COUNT(suffixes); i++) {
        if (strlen(suffixes[i].text) != length || memcmp(suffixes[i].text, text, length) != 0)
            continue;
        *ret_format = suffixes[i].is_binary ? PRG_QUANTITY_BINARY_SI : PRG_QUANTITY_DECIMAL_SI;
        *ret_exponent = suffixes[i].exponent;
        return true;
    }
    *ret_format = PRG_QUANTITY_DECIMAL_EXPONENT;
    return length > 1 && (*text == 'e' || *text == 'E') && read_exponent(text + 1, length - 1, ret_exponent);
}

// Reads count digits × 10^exponent × 10^9, rounded up. False when it is 10^MAX_AMOUNT_DIGITS or more.
static bool read_digits(const char *digits, size_t count, int exponent, struct prg_wide *ret)
{
    struct prg_wide w = {{0}};
    long shift = (long)exponent + NANO_DIGITS;
    long kept = (long)count + (shift < 0 ? shift : 0);

    while (count && *digits == '0')
        digits++, count--, kept--;
    if (count && kept + (shift > 0 ? shift : 0) > MAX_AMOUNT_DIGITS + NANO_DIGITS)
        return false;
    for (long i = 0; i < kept; i++)
        prg_wide_multiply(&w, 10, (uint64_t)(digits[i] - '0'));
    for (long i = kept < 0 ? 0 : kept; i < (long)count; i++)
        if (digits[i] != '0') {
            add_one(&w);
            break;
        }
    for (long i = 0; count && i < shift; i++)
        prg_wide_multiply(&w, 10, 0);
    *ret = w;
    return true;
}

// Multiplies a decimal number in place by 1024; digits has room for four more. Returns the new count.
static size_t multiply_digits(char *digits, size_t count)
{
    unsigned carry = 0;
    for (size_t i = count; i-- > 0;) {
        carry += (unsigned)(digits[i] - '0') * 1024;
        digits[i] = (char)('0' + carry % 10);
        carry /= 10;
    }
    char high[8];
    int added = carry ? snprintf(high, sizeof(high), "%u", carry) : 0;
    memmove(digits + added, digits, count);
    memcpy(digits, high, (size_t)added);
    return count + (size_t)added;
}

// Whether Go reads the number into an int64 with a scale, which is then *ret_scale.
static bool is_int64_form(const struct parts *parts, enum prg_quantity_format format, int exponent, int *ret_scale)
{
    int whole_length = parts->whole_length ? (int)parts->whole_length : 1; // an empty one counts as "0"
    int precision = 18 - whole_length - (int)parts->fraction_length;
    int scale = exponent;

    if (format == PRG_QUANTITY_BINARY_SI) {
        scale = 0;
        precision = parts->fraction_length ? -1 : 15 - whole_length - exponent * 3 / 10 - 1;
    }
    *ret_scale = scale - (int)parts->fraction_length;
    return precision >= 0 && *ret_scale >= -NANO_DIGITS;
}

// Whether Go keeps the text of a number in int64 form because it takes it for canonical.
static bool is_kept(const char *digits, size_t count, enum prg_quantity_format format, int scale)
{
    if (format == PRG_QUANTITY_BINARY_SI)
        return count && (strtoull(digits, NULL, 10) & 7) != 0;
    bool ends_in_000 = count >= 3 && memcmp(digits + count - 3, "000", 3) == 0;
    return scale % 3 == 0 && !ends_in_000 && digits[0] != '0';
}

// Go's inf.Dec form, rounded to 9 places unless it is 0. It caps a binary quantity at 2^63-1, and prints one below 1 as
// a decimal.
static void finish_dec(struct prg_quantity *q, struct prg_wide *w, int places)
{
    struct prg_wide one = {{1000000000}}, max = {{INT64_MAX}};
    prg_wide_multiply(&max, 1000000000, 0);

    q->is_dec = true;
    q->scale = prg_wide_is_zero(w) && places < NANO_DIGITS ? places : NANO_DIGITS;
    if (q->format != PRG_QUANTITY_BINARY_SI)
        return;
    if (prg_wide_compare(w, &max) > 0) {
        *w = max;
        q->scale = 0;
    }
    if (prg_wide_compare(w, &one) < 0 && !prg_wide_is_zero(w))
        q->format = PRG_QUANTITY_DECIMAL_SI;
}

// Sets the amount and the form of q, whose format is known.
static int compute(const struct parts *parts, int exponent, struct prg_quantity *q, bool *ret_kept)
{
    char digits[MAX_TEXT + 32];
    size_t count = parts->whole_length;
    struct prg_wide w;
    bool is_int64 = is_int64_form(parts, q->format, exponent, &q->scale);

    memcpy(digits, parts->whole, count);
    if (!count)
        digits[count++] = '0';
    if (parts->fraction_length)
        memcpy(digits + count, parts->fraction, parts->fraction_length);
    count += parts->fraction_length;
    digits[count] = '\0';
    *ret_kept = is_int64 && is_kept(digits, count, q->format, q->scale);

    int power = -(int)parts->fraction_length;
    if (q->format != PRG_QUANTITY_BINARY_SI) {
        power += exponent;
    } else {
        for (int i = 0; i < exponent; i += 10)
            count = multiply_digits(digits, count);
    }
    if (!read_digits(digits, count, power, &w)) {
        if (q->format != PRG_QUANTITY_BINARY_SI)
            return PRG_INVALID;
        w = (struct prg_wide){{UINT64_MAX, UINT64_MAX}}; // to be capped
    }
    if (!is_int64)
        finish_dec(q, &w, -power);
    set_magnitude(q, &w, parts->is_negative);
    return PRG_OK;
}

// What nearly all quantities are: one to three digits and a usual suffix, all of which Go holds as an int64.
static bool parse_usual(const char *text, size_t length, struct prg_quantity *ret, bool *ret_kept)
{
    static const struct {
        const char *text;
        int scale; // power of ten
        bool is_binary;
        uint64_t nano; // of one
    } usual[] = {{"", 0, false, 1000000000},
                 {"m", -3, false, 1000000},
                 {"k", 3, false, 1000000000000},
                 {"M", 6, false, 1000000000000000},
                 {"G", 9, false, 1000000000000000000},
                 {"Ki", 0, true, UINT64_C(1000000000) << 10},
                 {"Mi", 0, true, UINT64_C(1000000000) << 20},
                 {"Gi", 0, true, UINT64_C(1000000000) << 30}};
    uint64_t value = 0;
    size_t digits = 0;
    for (; digits < length && digits < 4 && is_digit(text[digits]); digits++)
        value = value * 10 + (uint64_t)(text[digits] - '0');
    if (digits < 1 || digits > 3 || text[0] == '0')
        return false;
    for (size_t i = 0; i < PRG_COUNT(usual); i++) {
        if (strlen(usual[i].text) != length - digits || memcmp(text + digits, usual[i].text, length - digits) != 0)
            continue;
        struct prg_wide w = {{value}};
        prg_wide_multiply(&w, usual[i].nano, 0);
        *ret = (struct prg_quantity){.format = usual[i].is_binary ? PRG_QUANTITY_BINARY_SI : PRG_QUANTITY_DECIMAL_SI,
                                     .scale = usual[i].scale};
        set_magnitude(ret, &w, false);
        *ret_kept = !usual[i].is_binary || (value & 7) != 0; // see is_kept
        return true;
    }
    return false;
}

static int parse(const char *text, size_t length, struct prg_quantity *ret, bool *ret_kept, struct prg_error *err)
{
    if (parse_usual(text, length, ret, ret_kept))
        return PRG_OK;
    int shown = length > 60 ? 60 : (int)length;
    struct parts parts;
    struct prg_quantity q = {.format = PRG_QUANTITY_DECIMAL_SI};
    int exponent, scale;

    if (length > MAX_TEXT)
        return prg_fail(err, PRG_INVALID, "'%.*s...' is too long for a quantity", shown, text);
    if (!length || memchr(text, '\0', length) || !split(text, length, &parts))
        return prg_fail(err, PRG_INVALID,
                        "'%.*s' is not a quantity; a number with a suffix is expected, such as 500m, 2Gi or 1e3", shown,
                        text);
    if (!read_suffix(&parts, &q.format, &exponent))
        return prg_fail(err, PRG_INVALID,
                        "'%.*s' is not a quantity: the suffix must be one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei or "
                        "an exponent such as e3",
                        shown, text);
    // Go reads "." and "Gi" as 0, but only into an int64.
    if (!parts.has_digits && !is_int64_form(&parts, q.format, exponent, &scale))
        return prg_fail(err, PRG_INVALID, "'%.*s' is not a quantity: it has no digits", shown, text);
    if (compute(&parts, exponent, &q, ret_kept) != PRG_OK)
        return prg_fail(err, PRG_INVALID, "quantity '%.*s' is too large: it must be less than 1e%d", shown, text,
                        MAX_AMOUNT_DIGITS);
    *ret = q;
    return PRG_OK;
}

int prg_quantity_parse(const char *text, size_t length, struct prg_quantity *ret, struct prg_error *err)
{
    bool kept;
    return parse(text, length, ret, &kept, err);
}

// Bytes of the white space at p that strings.TrimSpace drops and that can stand in JSON unescaped; 0 for other text.
static size_t space_length(const char *p, size_t room)
{
    static const char *const spaces[] = {
        " ",
        "\xc2\x85",
        "\xc2\xa0",
        "\xe1\x9a\x80",
        "\xe2\x80\xaf",
        "\xe2\x81\x9f",
        "\xe3\x80\x80",
        "\xe2\x80\x80",
        "\xe2\x80\x81",
        "\xe2\x80\x82",
        "\xe2\x80\x83",
        "\xe2\x80\x84",
        "\xe2\x80\x85",
        "\xe2\x80\x86",
        "\xe2\x80\x87",
        "\xe2\x80\x88",
        "\xe2\x80\x89",
        "\xe2\x80\x8a",
    };
    for (size_t i = 0; i < PRG_COUNT(spaces); i++) {
        size_t length = strlen(spaces[i]);
        if (length <= room && memcmp(p, spaces[i], length) == 0)
            return length;
    }
    return 0;
}

static void trim(const char **text, size_t *length)
{
    size_t count;
    while ((count = space_length(*text, *length)) > 0) {
        *text += count;
        *length -= count;
    }
    for (size_t back = 1; back <= 3 && back <= *length; back++) {
        if (space_length(*text + *length - back, back) == back) {
            *length -= back;
            back = 0;
        }
    }
}

// A number below a thousand moves to no larger suffix, and none of these is beyond the limits.
bool prg_quantity_is_plain(const char *text, size_t length)
{
    size_t digits = 0;
    while (digits < length && is_digit(text[digits]))
        digits++;
    const char *suffix = text + digits;
    if (digits < 1 || digits > 3 || text[0] == '0')
        return false;
    switch (length - digits) {
    case 0:
        return true;
    case 1:
        return *suffix && strchr("mkMGT", *suffix);
    case 2:
        return *suffix && strchr("KMGT", *suffix) && suffix[1] == 'i';
    default:
        return false;
    }
}

int prg_quantity_canonical(struct prg_arena *arena, const char *text, const char **ret, struct prg_error *err)
{
    struct prg_quantity q;
    size_t length = strlen(text);
    bool kept;

    if (prg_quantity_is_plain(text, length)) {
        *ret = prg_arena_strndup(arena, text, length);
        return PRG_OK;
    }
    trim(&text, &length);
    if (parse(text, length, &q, &kept, err) != PRG_OK)
        return PRG_INVALID;
    *ret = kept ? prg_arena_strndup(arena, text, length) : prg_quantity_print(arena, &q);
    return PRG_OK;
}

int prg_quantity_of(const cJSON *node, struct prg_quantity *ret, struct prg_error *err)
{
    if (prg_json_is_null(node)) {
        *ret = (struct prg_quantity){.format = PRG_QUANTITY_DECIMAL_SI};
        return PRG_OK;
    }
    if (prg_json_is_number(node)) {
        const char *number = prg_json_number_text(node);
        return prg_quantity_parse(number, strlen(number), ret, err);
    }
    if (!prg_json_is_string(node))
        return prg_fail(err, PRG_INVALID, "a quantity must be a string or a number, not %s", prg_json_type_name(node));
    const char *text = prg_json_text(node);
    size_t length = prg_json_text_length(node);
    trim(&text, &length);
    return prg_quantity_parse(text, length, ret, err);
}

// ---- printing ----

static const char *suffix_of(bool is_binary, int exponent)
{
    for (size_t i = 0; i < PRG_COUNT(suffixes); i++)
        if (suffixes[i].is_binary == is_binary && suffixes[i].exponent == exponent)
            return suffixes[i].text;
    return NULL;
}

static char *print_with(struct prg_arena *arena, const struct prg_quantity *q, const struct prg_wide *w,
                        const char *suffix)
{
    char buffer[PRG_WIDE_DIGITS + 1];
    return prg_arena_printf(arena, "%s%s%s", q->is_negative ? "-" : "", prg_wide_print(*w, buffer), suffix);
}

static char *print_decimal(struct prg_arena *arena, const struct prg_quantity *q)
{
    struct prg_wide w = magnitude(q), next = w;
    int exponent = -NANO_DIGITS;

    while (!prg_wide_divide(&next, 1000)) {
        w = next;
        exponent += 3;
    }
    const char *suffix = q->format == PRG_QUANTITY_DECIMAL_EXPONENT ? NULL : suffix_of(false, exponent);
    if (!suffix)
        suffix = exponent ? prg_arena_printf(arena, "e%d", exponent) : "";
    return print_with(arena, q, &w, suffix);
}

char *prg_quantity_print(struct prg_arena *arena, const struct prg_quantity *quantity)
{
    struct prg_wide w = magnitude(quantity), next, small = {{1024}};

    if (prg_wide_is_zero(&w))
        return prg_arena_strdup(arena, "0");
    // A binary quantity with a fraction, or between -1024 and 1024, is printed as a decimal one.
    bool is_whole = drop_digits(&w, NANO_DIGITS);
    if (quantity->format != PRG_QUANTITY_BINARY_SI || !is_whole || prg_wide_compare(&w, &small) < 0) {
        struct prg_quantity q = *quantity;
        if (q.format == PRG_QUANTITY_BINARY_SI)
            q.format = PRG_QUANTITY_DECIMAL_SI;
        return print_decimal(arena, &q);
    }
    int exponent = 0;
    for (next = w; exponent < 60 && !prg_wide_divide(&next, 1024); exponent += 10)
        w = next;
    return print_with(arena, quantity, &w, exponent ? suffix_of(true, exponent) : "");
}

// ---- rounding ----

// The low 64 bits of the two's complement, as big.Int's Int64.
static int64_t low_bits(const struct prg_wide *w, bool is_negative)
{
    return (int64_t)(is_negative ? UINT64_C(0) - w->limb[0] : w->limb[0]);
}

static bool fits_int64(const struct prg_wide *w, bool is_negative)
{
    struct prg_wide max = {{(uint64_t)INT64_MAX + is_negative}};
    return prg_wide_compare(w, &max) <= 0;
}

// In units of 10^-places, rounded away from zero.
static struct prg_wide rounded(const struct prg_quantity *q, int places)
{
    struct prg_wide w = magnitude(q);
    if (!drop_digits(&w, NANO_DIGITS - places))
        add_one(&w);
    return w;
}

// Source: scaledValue. unscaled × 10^-q->scale in units of 10^-places, with its ways to overflow: a negative number
// below int64 counts as small, what is scaled down is rounded up, not away from zero.
static int64_t dec_value(const struct prg_quantity *q, int places)
{
    struct prg_wide unscaled = magnitude(q);
    drop_digits(&unscaled, NANO_DIGITS - q->scale);
    int64_t low = low_bits(&unscaled, q->is_negative);
    int extra = q->scale - places;

    if (extra <= 0) {
        // Go multiplies by int64(math.Pow10(n)), which is the smallest int64 once it overflows.
        uint64_t factor = -extra <= MAX_POWER ? powers_of_ten[-extra] : UINT64_C(1) << 63;
        return (int64_t)((uint64_t)low * factor);
    }
    struct prg_wide max = {{INT64_MAX}};
    if (q->is_negative || prg_wide_compare(&unscaled, &max) < 0) {
        int64_t divisor = (int64_t)powers_of_ten[extra];
        return low / divisor + (low % divisor != 0);
    }
    bool exact = drop_digits(&unscaled, extra);
    return (int64_t)((uint64_t)low_bits(&unscaled, false) + !exact);
}

// Source: AsScaledInt64. Of the powers of ten by which Go multiplies, those with a case of their own in
// positiveScaleInt64 leave the wrapped product behind when it overflows, the others 0.
static int64_t int64_value(const struct prg_quantity *q, int places)
{
    struct prg_wide w = rounded(q, places), unscaled = magnitude(q);
    int up = q->scale + places;
    bool wraps = up == 0 || up == 1 || up == 2 || up == 3 || up == 6 || up == 9;
    drop_digits(&unscaled, NANO_DIGITS + q->scale);
    bool is_smallest = low_bits(&unscaled, q->is_negative) == INT64_MIN;
    return fits_int64(&w, q->is_negative) || (wraps && !is_smallest) ? low_bits(&w, q->is_negative) : 0;
}

static int64_t go_value(const struct prg_quantity *q, int places)
{
    return q->is_dec ? dec_value(q, places) : int64_value(q, places);
}

int64_t prg_quantity_value(const struct prg_quantity *quantity)
{
    return go_value(quantity, 0);
}

int64_t prg_quantity_milli_value(const struct prg_quantity *quantity)
{
    return go_value(quantity, 3);
}

int64_t prg_quantity_value_saturated(const struct prg_quantity *quantity)
{
    struct prg_wide w = rounded(quantity, 0);
    if (fits_int64(&w, quantity->is_negative))
        return low_bits(&w, quantity->is_negative);
    return quantity->is_negative ? INT64_MIN : INT64_MAX;
}

// ---- arithmetic ----

bool prg_quantity_is_zero(const struct prg_quantity *quantity)
{
    return prg_quantity_sign(quantity) == 0;
}

int prg_quantity_sign(const struct prg_quantity *quantity)
{
    struct prg_wide w = magnitude(quantity);
    return prg_wide_is_zero(&w) ? 0 : quantity->is_negative ? -1 : 1;
}

int prg_quantity_compare(const struct prg_quantity *a, const struct prg_quantity *b)
{
    int sign = prg_quantity_sign(a), other = prg_quantity_sign(b);
    if (sign != other || !sign)
        return (sign > other) - (sign < other);
    struct prg_wide x = magnitude(a), y = magnitude(b);
    int c = prg_wide_compare(&x, &y);
    return a->is_negative ? -c : c;
}

// The form Go's sum of two int64 forms has: an int64 of the finer scale if both addends and the sum fit it.
static void set_sum_form(struct prg_quantity *sum, const struct prg_quantity *a, const struct prg_quantity *b)
{
    if (prg_quantity_is_zero(b) || prg_quantity_is_zero(a)) {
        sum->scale = prg_quantity_is_zero(b) ? a->scale : b->scale;
        return;
    }
    int scale = a->scale < b->scale ? a->scale : b->scale;
    const struct prg_quantity *parts[] = {a, b, sum};
    bool fits = true;
    for (size_t i = 0; i < PRG_COUNT(parts); i++) {
        struct prg_wide w = magnitude(parts[i]);
        drop_digits(&w, NANO_DIGITS + scale);
        fits = fits && fits_int64(&w, parts[i]->is_negative);
    }
    sum->is_dec = !fits;
    sum->scale = fits ? scale : -scale;
}

static int dec_scale(const struct prg_quantity *q)
{
    return q->is_dec ? q->scale : -q->scale;
}

struct prg_quantity prg_quantity_add(const struct prg_quantity *a, const struct prg_quantity *b)
{
    struct prg_wide x = magnitude(a), y = magnitude(b);
    struct prg_quantity sum = {.format = prg_quantity_is_zero(a) ? b->format : a->format};

    if (a->is_negative == b->is_negative) {
        if (!prg_wide_add(&x, &y))
            memset(&x, 0xff, sizeof(x));
        set_magnitude(&sum, &x, a->is_negative);
    } else if (prg_wide_compare(&x, &y) >= 0) {
        prg_wide_subtract(&x, &y);
        set_magnitude(&sum, &x, a->is_negative);
    } else {
        prg_wide_subtract(&y, &x);
        set_magnitude(&sum, &y, b->is_negative);
    }
    if (a->is_dec || b->is_dec) {
        sum.is_dec = true;
        sum.scale = dec_scale(a) > dec_scale(b) ? dec_scale(a) : dec_scale(b);
    } else {
        set_sum_form(&sum, a, b);
    }
    return sum;
}

struct prg_quantity prg_quantity_sub(const struct prg_quantity *a, const struct prg_quantity *b)
{
    struct prg_quantity negated = *b;
    negated.is_negative = prg_quantity_sign(b) > 0;
    return prg_quantity_add(a, &negated);
}
