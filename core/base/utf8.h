// SPDX-License-Identifier: Apache-2.0
// utf8.h: which bytes are text. One rule for everything that reads or prints it.
#pragma once
#include "base/base.h"

// Length of the sequence at `at`, whose first byte is beyond ASCII; 0 when it is not well formed (Unicode, table 3-7)
// or longer than `room` bytes, of which there is at least one.
size_t prg_utf8_length(const char *at, size_t room);
// Length of the longest beginning of a text of at most `most` bytes that ends between two characters.
size_t prg_utf8_cut(const char *text, size_t most);
