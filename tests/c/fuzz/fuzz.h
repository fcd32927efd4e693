// SPDX-License-Identifier: Apache-2.0
// fuzz.h: what the fuzz programs share: the entry point, and inputs of two documents.
#pragma once
#include <string.h>

#include "json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// An input of two JSON documents: the first line, and the rest. False when there is no line feed or either does not
// parse.
static inline bool fuzz_two_documents(struct prg_arena *arena, const uint8_t *data, size_t size, cJSON **ret_first,
                                      cJSON **ret_second)
{
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    if (!line)
        return false;
    size_t length = (size_t)(line - text);
    return prg_json_parse(arena, text, length, NULL, ret_first, NULL) == PRG_OK &&
           prg_json_parse(arena, line + 1, size - length - 1, NULL, ret_second, NULL) == PRG_OK;
}
