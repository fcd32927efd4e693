// SPDX-License-Identifier: Apache-2.0
// format.h: the words of the file format that its writer and its reader share. Private to core/record.
#pragma once
#include "base/base.h"

#define PRG_FORMAT_VERSION 1
#define PRG_FORMAT_HEAD "perigeeRecording" // member of the first line: the version
#define PRG_FORMAT_DEFINE "define"
#define PRG_FORMAT_VALUE "value"
#define PRG_FORMAT_DECISION "decision"

// FNV-1a of a plan's text.
static inline uint64_t prg_format_digest(const char *text, size_t length)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return digest;
}
