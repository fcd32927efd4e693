// SPDX-License-Identifier: Apache-2.0
// digest.h: FNV-1a over texts and numbers, for telling apart sets and states of a folder; no protection against
// somebody who looks for two alike. Private to core/policy.
#pragma once
#include "base/base.h"

#define PRG_DIGEST_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t prg_digest_bytes(uint64_t digest, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ p[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static inline uint64_t prg_digest_number(uint64_t digest, uint64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    return prg_digest_bytes(digest, bytes, sizeof(bytes));
}

// The length goes first, so that moving bytes from one text to the next changes the digest.
static inline uint64_t prg_digest_text(uint64_t digest, const char *text, size_t length)
{
    return prg_digest_bytes(prg_digest_number(digest, length), text, length);
}
