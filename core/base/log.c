// SPDX-License-Identifier: Apache-2.0
// log.c: one line per call on standard error, written at once so that lines of several threads do not mix.
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/utf8.h"

// The two settings of the process's one log.
static enum prg_log_level least_level = PRG_LOG_INFO;
static bool as_json = false;

void prg_log_set_level(enum prg_log_level level)
{
    least_level = level;
}

void prg_log_set_json(bool json)
{
    as_json = json;
}

static const char *level_name(enum prg_log_level level)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    return (unsigned)level < PRG_COUNT(names) ? names[level] : "error";
}

// One character beyond ASCII, or U+FFFD for a byte that is none: a line is UTF-8 whatever is logged. Returns the bytes.
static size_t add_sequence(struct prg_strbuf *line, const char *at)
{
    size_t length = prg_utf8_length(at, strlen(at));
    if (length)
        prg_strbuf_add(line, at, length);
    else
        prg_strbuf_puts(line, "\xef\xbf\xbd");
    return length ? length : 1;
}

static void add_quoted(struct prg_strbuf *line, const char *text)
{
    prg_strbuf_putc(line, '"');
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            prg_strbuf_printf(line, "\\%c", *p);
        else if (*p == '\n')
            prg_strbuf_puts(line, "\\n");
        else if (*p < 0x20 || *p == 0x7f)
            prg_strbuf_printf(line, "\\u%04x", *p);
        else if (*p < 0x80)
            prg_strbuf_putc(line, (char)*p);
        else
            p += add_sequence(line, (const char *)p) - 1;
    }
    prg_strbuf_putc(line, '"');
}

// Plain when nothing in it could be mistaken for the end of the value.
static void add_value(struct prg_strbuf *line, const char *text)
{
    bool is_plain = *text != '\0';
    for (const unsigned char *p = (const unsigned char *)text; *p && is_plain; p++)
        is_plain = *p > ' ' && *p != '"' && *p != '\\' && *p != '=' && *p < 0x7f;
    if (is_plain)
        prg_strbuf_puts(line, text);
    else
        add_quoted(line, text);
}

// A message stays readable: only control characters are taken out of it.
static void add_message(struct prg_strbuf *line, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        prg_strbuf_putc(line, *p < 0x20 || *p == 0x7f ? ' ' : (char)*p);
}

static void add_pairs(struct prg_strbuf *line, va_list args)
{
    const char *key;
    while ((key = va_arg(args, const char *))) {
        const char *value = va_arg(args, const char *);
        if (!value)
            break; // an absent value ends the list as well; a pair is never half printed
        if (as_json) {
            prg_strbuf_putc(line, ',');
            add_quoted(line, key);
            prg_strbuf_putc(line, ':');
            add_quoted(line, value);
        } else {
            prg_strbuf_printf(line, " %s=", key);
            add_value(line, value);
        }
    }
}

static void write_all(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, length);
        if (written <= 0)
            return; // nowhere left to complain
        text += written;
        length -= (size_t)written;
    }
}

void prg_log(enum prg_log_level level, const char *message, ...)
{
    if (level < least_level)
        return;
    char when[PRG_CLOCK_TEXT];
    prg_clock_format(prg_clock_wall_ns(), when);
    prg_auto_strbuf line = PRG_STRBUF_INIT;
    if (as_json) {
        prg_strbuf_printf(&line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", when, level_name(level));
        add_quoted(&line, message);
    } else {
        prg_strbuf_printf(&line, "%s %s ", when, level_name(level));
        add_message(&line, message);
    }
    va_list args;
    va_start(args, message);
    add_pairs(&line, args);
    va_end(args);
    prg_strbuf_puts(&line, as_json ? "}\n" : "\n");
    fflush(stderr); // keeps the order with lines printed through stdio
    write_all(line.text, line.length);
}
