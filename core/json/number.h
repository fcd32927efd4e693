// SPDX-License-Identifier: Apache-2.0
// number.h: the exact value of a JSON number's text. Private to core/json.
#pragma once
#include "base/strbuf.h"

// digits × 10^exponent. Digits have no zeros at either end; a zero has none at all and is never negative.
struct prg_number {
    const char *digits; // in the text; a decimal point may stand between them
    size_t length;      // of the span from the first digit to the last, with the point
    size_t count;       // digits in the span, without the point
    bool is_negative;
    int64_t exponent;         // of the last digit
    const char *far_exponent; // set instead of exponent when the text's own has more than 17 digits
    size_t far_length;
    bool far_negative;
};

// text must be a JSON number.
struct prg_number prg_number_read(const char *text);
bool prg_number_equal(const struct prg_number *a, const struct prg_number *b);
bool prg_number_int64(const struct prg_number *number, int64_t *ret);
// Appends a text that is the same for all numbers of one value: "-123e-4".
void prg_number_canonical(struct prg_strbuf *out, const struct prg_number *number);

// Bytes of the JSON number that text (length bytes, not terminated) begins with, by the grammar of RFC 8259 section 6.
// 0 when there is none; *ret_problem then says why.
size_t prg_number_scan(const char *text, size_t length, const char **ret_problem);
