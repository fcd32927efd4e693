// SPDX-License-Identifier: Apache-2.0
// wide.h: unsigned integers of 256 bits, as much of them as quantities need. Private to core/object.
#pragma once
#include <string.h>

#include "base/base.h"

#define PRG_WIDE_LIMBS 4
#define PRG_WIDE_DIGITS 78 // of the largest value, in decimal

struct prg_wide {
    uint64_t limb[PRG_WIDE_LIMBS]; // lowest first
};

static inline bool prg_wide_is_zero(const struct prg_wide *w)
{
    return !(w->limb[0] | w->limb[1] | w->limb[2] | w->limb[3]);
}

static inline int prg_wide_compare(const struct prg_wide *a, const struct prg_wide *b)
{
    for (int i = PRG_WIDE_LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

// w = w * factor + addend; false when it does not fit.
static inline bool prg_wide_multiply(struct prg_wide *w, uint64_t factor, uint64_t addend)
{
    unsigned __int128 carry = addend;
    for (int i = 0; i < PRG_WIDE_LIMBS; i++) {
        carry += (unsigned __int128)w->limb[i] * factor;
        w->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}

// w = w / divisor; returns the remainder.
static inline uint64_t prg_wide_divide(struct prg_wide *w, uint64_t divisor)
{
    unsigned __int128 rest = 0;
    for (int i = PRG_WIDE_LIMBS - 1; i >= 0; i--) {
        rest = rest << 64 | w->limb[i];
        w->limb[i] = (uint64_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint64_t)rest;
}

// a = a + b; false when it does not fit.
static inline bool prg_wide_add(struct prg_wide *a, const struct prg_wide *b)
{
    unsigned __int128 carry = 0;
    for (int i = 0; i < PRG_WIDE_LIMBS; i++) {
        carry += (unsigned __int128)a->limb[i] + b->limb[i];
        a->limb[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}

// a = a - b; b is not larger.
static inline void prg_wide_subtract(struct prg_wide *a, const struct prg_wide *b)
{
    unsigned borrow = 0;
    for (int i = 0; i < PRG_WIDE_LIMBS; i++) {
        uint64_t less;
        unsigned over = __builtin_sub_overflow(a->limb[i], b->limb[i], &less);
        over |= __builtin_sub_overflow(less, (uint64_t)borrow, &a->limb[i]);
        borrow = over;
    }
}

// Decimal digits, ending at the end of buffer; returns the first.
static inline const char *prg_wide_print(struct prg_wide w, char buffer[PRG_WIDE_DIGITS + 1])
{
    char *p = buffer + PRG_WIDE_DIGITS;
    *p = '\0';
    do
        *--p = (char)('0' + prg_wide_divide(&w, 10));
    while (!prg_wide_is_zero(&w));
    return p;
}
