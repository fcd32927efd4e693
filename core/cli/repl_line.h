// SPDX-License-Identifier: Apache-2.0
// repl_line.h: lines for `perigee repl`: edited, with history and completion, on a terminal; plain from anything else.
#pragma once
#include "base/strbuf.h"

struct prg_repl_lines {
    bool is_terminal;
    bool is_abandoned;   // the latest line was given up with Ctrl-C; it came as an empty one
    const char *trouble; // why the latest line was not taken, or NULL; it came as an empty one
    char *history;       // file, or NULL
};
// Appends the ways in which a word can go on, one a line. start: where the word begins in line.
typedef void (*prg_repl_complete_fn)(const char *line, const char *word, size_t start, struct prg_strbuf *out,
                                     void *ctx);

// One at a time in a process: the line editor is the process's.
void prg_repl_lines_open(struct prg_repl_lines *lines, prg_repl_complete_fn complete, void *ctx);
// The next line without its end, heap, or NULL at the end of input. Plain lines have a limit, PRG_SOURCE_BYTES. prompt
// is shown on a terminal only. SIGINT waits until a line on a terminal is there: Ctrl-C is a key meanwhile.
char *prg_repl_lines_next(struct prg_repl_lines *lines, const char *prompt);
// Remembers a line (or several that belong together).
void prg_repl_lines_remember(struct prg_repl_lines *lines, const char *line);
void prg_repl_lines_close(struct prg_repl_lines *lines);
