// SPDX-License-Identifier: Apache-2.0
// lines.h: the lines of a text by their numbers, for findings. Private to core/check.
#pragma once
#include "base/arena.h"

struct prg_check_lines { // {.text, .length}; the rest is made when the first line is asked for
    const char *text;
    size_t length;
    const size_t *starts;
    const char **made; // by line - 1
    size_t count;
};

// Line number line (from 1) without its end, in arena, the same text each time; NULL: there is none.
const char *prg_check_line(struct prg_check_lines *lines, struct prg_arena *arena, unsigned line);
