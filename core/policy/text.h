// SPDX-License-Identifier: Apache-2.0
// text.h: texts that come out of scripts: is it UTF-8, and how is it shown. Private to core/policy.
#pragma once
#include "base/base.h"

// Bytes of the longest beginning of text that is valid UTF-8 (no surrogates, nothing overlong); length when all is.
size_t prg_utf8_prefix(const char *text, size_t length);
// Copies text for people: control characters become spaces, bytes that are not UTF-8 become '?', and what does not fit
// into size is cut. Returns buffer, always terminated.
const char *prg_text_show(char *buffer, size_t size, const char *text, size_t length);
