// SPDX-License-Identifier: Apache-2.0
// number.c: numbers as their text, compared by exact decimal value and never through a double.
#include "json/number.h"

#include <string.h>

#define NEAR_DIGITS 17 // exponents of up to this many digits, and any shift by a text's length, fit into an int64

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// The part behind 'e'. Exponents too long to calculate with are kept as text.
static void read_exponent(const char *text, struct prg_number *number, int64_t shift)
{
    bool is_negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    while (*text == '0')
        text++;
    size_t length = strspn(text, "0123456789");
    if (length > NEAR_DIGITS) {
        number->far_exponent = text;
        number->far_length = length;
        number->far_negative = is_negative;
        number->exponent = shift;
        return;
    }
    int64_t value = 0;
    for (size_t i = 0; i < length; i++)
        value = value * 10 + (text[i] - '0');
    number->exponent = (is_negative ? -value : value) + shift;
}

struct prg_number prg_number_read(const char *text)
{
    struct prg_number number = {0};
    number.is_negative = *text == '-';
    const char *at = text + number.is_negative;
    const char *first = NULL, *last = NULL; // nonzero digits
    int64_t digits_behind_point = 0, zeros_behind_last = 0;
    bool past_point = false;
    for (; is_digit(*at) || *at == '.'; at++) {
        if (*at == '.') {
            past_point = true;
            continue;
        }
        digits_behind_point += past_point;
        zeros_behind_last++;
        if (*at == '0')
            continue;
        if (!first)
            first = at;
        last = at;
        zeros_behind_last = 0;
    }
    if (!first)
        return (struct prg_number){0};
    number.digits = first;
    number.length = (size_t)(last - first) + 1;
    number.count = number.length - (memchr(first, '.', number.length) != NULL);
    int64_t shift = zeros_behind_last - digits_behind_point;
    number.exponent = shift;
    if (*at == 'e' || *at == 'E')
        read_exponent(at + 1, &number, shift);
    return number;
}

static bool same_digits(const struct prg_number *a, const struct prg_number *b)
{
    if (a->count != b->count)
        return false;
    const char *x = a->digits, *y = b->digits;
    for (size_t i = 0; i < a->count; i++, x++, y++) {
        x += *x == '.';
        y += *y == '.';
        if (*x != *y)
            return false;
    }
    return true;
}

// Numbers with exponents of more than 17 digits count as equal only when digits, shift and exponent are the same; such
// a number written in two ways is told apart although it is one value. Never the other way round.
static bool same_far_exponent(const struct prg_number *a, const struct prg_number *b)
{
    if (!a->far_exponent || !b->far_exponent)
        return a->far_exponent == b->far_exponent;
    return a->far_negative == b->far_negative && a->far_length == b->far_length &&
           memcmp(a->far_exponent, b->far_exponent, a->far_length) == 0;
}

bool prg_number_equal(const struct prg_number *a, const struct prg_number *b)
{
    return a->is_negative == b->is_negative && a->exponent == b->exponent && same_far_exponent(a, b) &&
           same_digits(a, b);
}

bool prg_number_int64(const struct prg_number *number, int64_t *ret)
{
    if (number->count == 0) {
        *ret = 0;
        return true;
    }
    if (number->far_exponent || number->exponent < 0 || number->exponent > 18 || number->count > 19)
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < number->length; i++) {
        char c = number->digits[i];
        if (c == '.')
            continue;
        int digit = number->is_negative ? -(c - '0') : c - '0';
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    for (int64_t i = 0; i < number->exponent; i++)
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    *ret = value;
    return true;
}

void prg_number_canonical(struct prg_strbuf *out, const struct prg_number *number)
{
    if (number->count == 0) {
        prg_strbuf_putc(out, '0');
        return;
    }
    if (number->is_negative)
        prg_strbuf_putc(out, '-');
    for (size_t i = 0; i < number->length; i++)
        if (number->digits[i] != '.')
            prg_strbuf_putc(out, number->digits[i]);
    if (number->exponent || number->far_exponent)
        prg_strbuf_printf(out, "e%lld", (long long)number->exponent);
    if (number->far_exponent) {
        prg_strbuf_puts(out, number->far_negative ? "e-" : "e");
        prg_strbuf_add(out, number->far_exponent, number->far_length);
    }
}

static size_t scan_digits(const char *text, size_t at, size_t length)
{
    while (at < length && is_digit(text[at]))
        at++;
    return at;
}

size_t prg_number_scan(const char *text, size_t length, const char **ret_problem)
{
    size_t at = length > 0 && text[0] == '-';
    size_t whole = at;
    at = scan_digits(text, at, length);
    *ret_problem = NULL;
    if (at == whole)
        *ret_problem = "a number needs a digit after '-'";
    else if (text[whole] == '0' && at > whole + 1)
        *ret_problem = "a number must not begin with a zero";
    if (*ret_problem)
        return 0;
    if (at < length && text[at] == '.') {
        size_t fraction = at + 1;
        at = scan_digits(text, fraction, length);
        if (at == fraction) {
            *ret_problem = "a number needs a digit after its decimal point";
            return 0;
        }
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += at < length && (text[at] == '+' || text[at] == '-');
        size_t exponent = at;
        at = scan_digits(text, exponent, length);
        if (at == exponent) {
            *ret_problem = "a number needs a digit in its exponent";
            return 0;
        }
    }
    return at;
}
