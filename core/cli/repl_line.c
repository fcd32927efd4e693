// SPDX-License-Identifier: Apache-2.0
// repl_line.c: libedit (BSD licence) behind its readline interface.
#include "cli/repl_line.h"

#include <editline/readline.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HISTORY_LINES = 1000 };

// The editor calls back without a context.
static struct {
    prg_repl_complete_fn complete;
    void *ctx;
    struct prg_strbuf found; // candidates not yet handed out, from `at` on
    size_t at;
} completion;

static char *next_match(const char *text, int state)
{
    (void)text;
    (void)state;
    const char *start = completion.found.text + completion.at;
    size_t length = strcspn(start, "\n");
    if (!length)
        return NULL;
    completion.at += length + (start[length] == '\n');
    return prg_xstrndup(start, length);
}

static char **complete(const char *text, int start, int end)
{
    (void)end;
    rl_attempted_completion_over = 1; // never file names
    prg_strbuf_clear(&completion.found);
    completion.at = 0;
    completion.complete(rl_line_buffer, text, (size_t)start, &completion.found, completion.ctx);
    return completion.found.length ? rl_completion_matches(text, next_match) : NULL;
}

// $XDG_STATE_HOME/perigee/history, else ~/.local/state/perigee/history; NULL without a home.
static char *history_file(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct prg_strbuf path = PRG_STRBUF_INIT;
    if (state && *state)
        prg_strbuf_printf(&path, "%s/perigee/history", state);
    else if (home && *home)
        prg_strbuf_printf(&path, "%s/.local/state/perigee/history", home);
    else
        return NULL;
    for (char *slash = path.text + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        int rc = mkdir(path.text, 0700);
        int saved = errno;
        *slash = '/';
        if (rc != 0 && saved != EEXIST) {
            prg_strbuf_release(&path);
            return NULL;
        }
    }
    return prg_strbuf_steal(&path, NULL);
}

void prg_repl_lines_open(struct prg_repl_lines *lines, prg_repl_complete_fn fn, void *ctx)
{
    static char program[] = "perigee";
    *lines = (struct prg_repl_lines){.is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
    completion.complete = fn;
    completion.ctx = ctx;
    prg_strbuf_init(&completion.found);
    if (!lines->is_terminal)
        return;
    rl_readline_name = program;
    rl_completer_word_break_characters = (char *)(uintptr_t) " \t\n\"\\'`@$><=;|&{}(),+-*/%#~^"; // not "." and ":"
    rl_completion_append_character = '\0';
    rl_attempted_completion_function = complete;
    using_history();
    stifle_history(HISTORY_LINES);
    lines->history = history_file();
    if (lines->history)
        read_history(lines->history);
}

static char *read_plain(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t length = getline(&line, &cap, stdin);
    if (length < 0) {
        free(line);
        return NULL;
    }
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        line[--length] = '\0';
    return line;
}

char *prg_repl_lines_next(struct prg_repl_lines *lines, const char *prompt)
{
    return lines->is_terminal ? readline(prompt) : read_plain();
}

void prg_repl_lines_remember(struct prg_repl_lines *lines, const char *line)
{
    if (lines->is_terminal && *line)
        add_history(line);
}

void prg_repl_lines_close(struct prg_repl_lines *lines)
{
    if (lines->history) {
        write_history(lines->history);
        clear_history();
    }
    free(lines->history);
    prg_strbuf_release(&completion.found);
}
