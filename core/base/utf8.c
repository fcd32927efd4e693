// SPDX-License-Identifier: Apache-2.0
// utf8.c: well-formed UTF-8.
#include "base/utf8.h"

#include <string.h>

size_t prg_utf8_length(const char *at, size_t room)
{
    const unsigned char *text = (const unsigned char *)at;
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        unsigned char length;
    } rules[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < PRG_COUNT(rules); i++) {
        if (text[0] < rules[i].first_low || text[0] > rules[i].first_high)
            continue;
        if (room < rules[i].length || text[1] < rules[i].second_low || text[1] > rules[i].second_high)
            return 0;
        for (size_t j = 2; j < rules[i].length; j++)
            if ((text[j] & 0xc0) != 0x80)
                return 0;
        return rules[i].length;
    }
    return 0;
}

size_t prg_utf8_cut(const char *text, size_t most)
{
    size_t length = strnlen(text, most + 1);
    if (length <= most)
        return length;
    for (length = most; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
        length--;
    return length;
}
