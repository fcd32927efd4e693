// SPDX-License-Identifier: Apache-2.0
// strbuf.c: a growing text. Its terminator is always in place.
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 64

void prg_strbuf_init(struct prg_strbuf *buf)
{
    *buf = (struct prg_strbuf)PRG_STRBUF_INIT;
}

void prg_strbuf_release(struct prg_strbuf *buf)
{
    if (buf->cap)
        free(buf->text);
    prg_strbuf_init(buf);
}

void prg_strbuf_clear(struct prg_strbuf *buf)
{
    prg_strbuf_truncate(buf, 0);
}

// Makes room for `more` bytes and the terminator.
static void make_room(struct prg_strbuf *buf, size_t more)
{
    prg_require(more < SIZE_MAX / 4 && buf->length < SIZE_MAX / 4);
    size_t needed = buf->length + more + 1;
    if (needed <= buf->cap)
        return;
    size_t cap = buf->cap ? buf->cap * 2 : SMALLEST;
    if (cap < needed)
        cap = needed;
    buf->text = prg_xrealloc(buf->cap ? buf->text : NULL, cap);
    buf->cap = cap;
}

void prg_strbuf_add(struct prg_strbuf *buf, const void *bytes, size_t length)
{
    make_room(buf, length);
    if (length)
        memcpy(buf->text + buf->length, bytes, length);
    buf->length += length;
    buf->text[buf->length] = '\0';
}

void prg_strbuf_puts(struct prg_strbuf *buf, const char *text)
{
    prg_strbuf_add(buf, text, strlen(text));
}

void prg_strbuf_putc(struct prg_strbuf *buf, char c)
{
    make_room(buf, 1);
    buf->text[buf->length++] = c;
    buf->text[buf->length] = '\0';
}

void prg_strbuf_pad(struct prg_strbuf *buf, char c, size_t count)
{
    make_room(buf, count);
    memset(buf->text + buf->length, c, count);
    buf->length += count;
    buf->text[buf->length] = '\0';
}

void prg_strbuf_printf(struct prg_strbuf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    prg_strbuf_vprintf(buf, format, args);
    va_end(args);
}

void prg_strbuf_vprintf(struct prg_strbuf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    make_room(buf, SMALLEST);
    size_t room = buf->cap - buf->length;
    int length = vsnprintf(buf->text + buf->length, room, format, args);
    prg_require(length >= 0);
    if ((size_t)length >= room) {
        make_room(buf, (size_t)length);
        vsnprintf(buf->text + buf->length, (size_t)length + 1, format, again);
    }
    va_end(again);
    buf->length += (size_t)length;
}

void prg_strbuf_truncate(struct prg_strbuf *buf, size_t length)
{
    if (!buf->cap || length > buf->length)
        return;
    buf->length = length;
    buf->text[length] = '\0';
}

char *prg_strbuf_steal(struct prg_strbuf *buf, size_t *ret_length)
{
    make_room(buf, 0);
    char *text = buf->text;
    text[buf->length] = '\0';
    if (ret_length)
        *ret_length = buf->length;
    prg_strbuf_init(buf);
    return text;
}
