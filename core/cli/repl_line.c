// SPDX-License-Identifier: Apache-2.0
// repl_line.c: libedit (BSD licence) behind its readline interface.
#include "cli/repl_line.h"

#include <editline/readline.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/source.h"

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

// ---- Ctrl-C, Ctrl-Z ----

// libedit's own way with SIGINT leaves the terminal as it was before the line and has read() fail, which ends the
// input. So the terminal sends no signals while a line is edited, and the keys are bound.
static bool was_abandoned;

static int abandon(int count, int key)
{
    (void)count;
    (void)key;
    was_abandoned = true;
    rl_done = 1; // ends the line as the end of input would
    return 0;
}

// libedit's handler stops us with the terminal as it was. Without a shell above us nobody could wake us.
static int suspend(int count, int key)
{
    (void)count;
    (void)key;
    if (getpgrp() != getsid(0)) {
        raise(SIGTSTP);
        rl_prep_terminal(1);
        rl_forced_update_display();
    }
    return 0;
}

// Called when the line begins: the editor looks at the terminal anew each time, and only then is the mode it will set
// known. It would set it after the prompt is shown, when a Ctrl-D or Ctrl-C typed at once is the terminal's still.
static int prepare_terminal(void)
{
    char no_signals[] = "setty -d -isig";
    rl_parse_and_bind(no_signals);
    rl_prep_terminal(1);
    return 0;
}

static char *read_edited(struct prg_repl_lines *lines, const char *prompt)
{
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    was_abandoned = false;
    sigprocmask(SIG_BLOCK, &interrupt, &before); // one sent by somebody else
    char *line = readline(prompt);
    sigprocmask(SIG_SETMASK, &before, NULL);
    lines->is_abandoned = was_abandoned;
    if (!was_abandoned)
        return line;
    free(line);
    puts("^C");
    return prg_xstrdup("");
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
    rl_initialize();
    rl_pre_input_hook = prepare_terminal;
    rl_add_defun("perigee-abandon-line", abandon, 'C' & 0x1f);
    rl_add_defun("perigee-suspend", suspend, 'Z' & 0x1f);
    using_history();
    stifle_history(HISTORY_LINES);
    lines->history = history_file();
    if (lines->history)
        read_history(lines->history);
}

// What is too long is read on to its end, but not kept.
static char *read_plain(struct prg_repl_lines *lines)
{
    struct prg_strbuf line = PRG_STRBUF_INIT;
    int c;
    lines->trouble = NULL;
    while ((c = getc(stdin)) != EOF && c != '\n') {
        if (c == '\0')
            lines->trouble = "there is a NUL byte in the line";
        else if (line.length == PRG_SOURCE_BYTES)
            lines->trouble = "the line is longer than 256 KiB";
        else
            prg_strbuf_putc(&line, (char)c);
    }
    bool is_end = c == EOF && !line.length && !lines->trouble;
    while (line.length && (lines->trouble || line.text[line.length - 1] == '\r'))
        prg_strbuf_truncate(&line, lines->trouble ? 0 : line.length - 1);
    if (is_end)
        prg_strbuf_release(&line);
    return is_end ? NULL : prg_strbuf_steal(&line, NULL);
}

char *prg_repl_lines_next(struct prg_repl_lines *lines, const char *prompt)
{
    return lines->is_terminal ? read_edited(lines, prompt) : read_plain(lines);
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
