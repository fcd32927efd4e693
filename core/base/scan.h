// SPDX-License-Identifier: Apache-2.0
// scan.h: eight bytes of a JSON string at a time.
#pragma once
#include <string.h>

#include "base/base.h"

// How many of the eight bytes at `at` come before the first quote, backslash or control character; with ascii_only,
// before the first byte beyond ASCII too. 8: all of them.
static inline unsigned prg_scan_plain(const char *at, bool ascii_only)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);
    uint64_t word;
    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    // Per byte: the top bit of (x - n) & ~x is set where x < n. A borrow can only come from a byte that is one itself,
    // so the lowest is right.
    uint64_t quotes = word ^ (ones * '"'), slashes = word ^ (ones * '\\');
    uint64_t stops = ((word - ones * 0x20) & ~word) | ((quotes - ones) & ~quotes) | ((slashes - ones) & ~slashes);
    stops = (stops | (ascii_only ? word : 0)) & tops;
    return stops ? (unsigned)__builtin_ctzll(stops) / 8 : 8;
}
