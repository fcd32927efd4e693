// SPDX-License-Identifier: Apache-2.0
// text.c: texts that come out of scripts.
#include "policy/text.h"

#include <string.h>

// Bytes of the well-formed sequence that begins at text, or 0. The second byte's range depends on the first (RFC 3629).
static size_t sequence_length(const unsigned char *text, size_t length)
{
    unsigned char first = text[0];
    unsigned char low = 0x80, high = 0xbf;
    size_t need;
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf) {
        need = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        need = 3;
        if (first == 0xe0)
            low = 0xa0;
        else if (first == 0xed)
            high = 0x9f; // no surrogates
    } else if (first >= 0xf0 && first <= 0xf4) {
        need = 4;
        if (first == 0xf0)
            low = 0x90;
        else if (first == 0xf4)
            high = 0x8f;
    } else {
        return 0;
    }
    if (need > length || text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return need;
}

size_t prg_utf8_prefix(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        if (length - at >= sizeof(uint64_t)) { // eight letters of ASCII at once
            uint64_t eight;
            memcpy(&eight, text + at, sizeof(eight));
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof(eight);
                continue;
            }
        }
        size_t step = sequence_length((const unsigned char *)text + at, length - at);
        if (step == 0)
            break;
        at += step;
    }
    return at;
}

const char *prg_text_show(char *buffer, size_t size, const char *text, size_t length)
{
    size_t used = 0;
    for (size_t at = 0; at < length;) {
        unsigned char c = (unsigned char)text[at];
        size_t step = sequence_length((const unsigned char *)text + at, length - at);
        size_t kept = step ? step : 1;
        if (used + kept >= size)
            break;
        if (step == 0)
            buffer[used] = '?';
        else if (c < 0x20 || c == 0x7f)
            buffer[used] = ' ';
        else
            memcpy(buffer + used, text + at, step);
        used += kept;
        at += kept;
    }
    buffer[used] = '\0';
    return buffer;
}
