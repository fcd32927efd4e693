// SPDX-License-Identifier: Apache-2.0
// base64.c: six bits a character, four characters for three bytes.
#include "base/base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *prg_base64_decode(struct prg_arena *arena, const char *text, size_t length, size_t *ret_length)
{
    char *out = prg_arena_alloc(arena, length / 4 * 3 + 4);
    size_t count = 0, digits = 0, padding = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < length; i++) {
        const char *digit = text[i] ? strchr(alphabet, text[i]) : NULL;
        if (text[i] == '\n' || text[i] == '\r')
            continue;
        if (text[i] == '=')
            padding++;
        else if (!digit || padding)
            return NULL;
        bits = bits << 6 | (digit ? (uint32_t)(digit - alphabet) : 0);
        if (++digits % 4 != 0)
            continue;
        if (padding > 2)
            return NULL;
        for (size_t byte = 0; byte + padding < 3; byte++)
            out[count++] = (char)(bits >> (16 - 8 * byte));
    }
    if (digits % 4 != 0)
        return NULL;
    out[count] = '\0';
    *ret_length = count;
    return out;
}

char *prg_base64_encode(struct prg_arena *arena, const void *bytes, size_t length)
{
    const unsigned char *in = bytes;
    char *out = prg_arena_alloc(arena, (length + 2) / 3 * 4 + 1), *p = out;
    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = (uint32_t)in[i] << 16;
        if (i + 1 < length)
            bits |= (uint32_t)in[i + 1] << 8;
        if (i + 2 < length)
            bits |= in[i + 2];
        *p++ = alphabet[bits >> 18];
        *p++ = alphabet[bits >> 12 & 63];
        *p++ = i + 1 < length ? alphabet[bits >> 6 & 63] : '=';
        *p++ = i + 2 < length ? alphabet[bits & 63] : '=';
    }
    *p = '\0';
    return out;
}
