// SPDX-License-Identifier: Apache-2.0
// clock.h: wall and monotonic time, and RFC 3339 text. Pure modules get the time as a value and only format or parse
// here.
#pragma once
#include "base/base.h"

int64_t prg_clock_wall_ns(void);      // since 1970-01-01T00:00:00Z
int64_t prg_clock_monotonic_ns(void); // for measuring only

#define PRG_CLOCK_TEXT 40
// "2026-06-01T00:00:00Z" (whole seconds, UTC). Returns buffer.
const char *prg_clock_format(int64_t wall_ns, char buffer[PRG_CLOCK_TEXT]);
// The time in a form in which texts of times compare as the times do: text itself when it is whole seconds of UTC
// already or no time at all, else buffer; "" for NULL.
const char *prg_clock_plain(const char *text, char buffer[PRG_CLOCK_TEXT]);
// Accepts RFC 3339 with offsets and fractions; false when it is anything else.
bool prg_clock_parse(const char *text, int64_t *ret_wall_ns);
