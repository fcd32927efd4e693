// SPDX-License-Identifier: Apache-2.0
// error.c: errors as a code and a few frames of text.
#include "base/error.h"

#include <stdio.h>
#include <string.h>

// Cuts text (of `length` bytes, `room` of which fit besides the terminator) with "...", not inside a UTF-8 sequence.
static size_t cut_length(const char *text, size_t length, size_t room)
{
    if (length <= room)
        return length;
    size_t cut = room > 3 ? room - 3 : 0;
    while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--;
    return cut;
}

static void put_text(char *buffer, size_t size, const char *text)
{
    size_t length = strlen(text), room = size - 1;
    size_t kept = cut_length(text, length, room);
    memmove(buffer, text, kept);
    if (kept < length && room >= 3) {
        memcpy(buffer + kept, "...", 3);
        kept += 3;
    }
    buffer[kept] = '\0';
}

// Formats first, copies after: an argument may be the text of one of err's own frames.
static void put_frame(struct prg_error *err, int index, const char *file, int line, const char *format, va_list args)
{
    char text[PRG_ERROR_LINE];
    vsnprintf(text, sizeof(text), format, args);
    struct prg_error_frame *frame = &err->frame[index];
    put_text(frame->text, sizeof(frame->text), text);
    frame->file = file;
    frame->line = line;
}

int prg_error_set(struct prg_error *err, enum prg_code code, const char *file, int line, const char *format, ...)
{
    if (!err)
        return (int)code;
    va_list args;
    va_start(args, format);
    put_frame(err, 0, file, line, format, args);
    va_end(args);
    err->code = code;
    err->depth = 1;
    return (int)code;
}

int prg_error_wrap(struct prg_error *err, const char *file, int line, const char *format, ...)
{
    if (!err)
        return PRG_INVALID;
    if (err->depth < PRG_ERROR_FRAMES) {
        va_list args;
        va_start(args, format);
        put_frame(err, err->depth, file, line, format, args);
        va_end(args);
        err->depth++;
    }
    return (int)err->code;
}

void prg_error_clear(struct prg_error *err)
{
    if (!err)
        return;
    err->code = PRG_OK;
    err->depth = 0;
    err->frame[0].text[0] = '\0';
}

const char *prg_error_text(const struct prg_error *err, char *buffer, size_t size)
{
    char whole[PRG_ERROR_FRAMES * (PRG_ERROR_TEXT + 2)];
    size_t used = 0;
    whole[0] = '\0';
    for (int i = err ? err->depth - 1 : -1; i >= 0; i--) {
        size_t length = strlen(err->frame[i].text);
        memcpy(whole + used, err->frame[i].text, length);
        used += length;
        if (i > 0) {
            memcpy(whole + used, ": ", 2);
            used += 2;
        }
        whole[used] = '\0';
    }
    if (size)
        put_text(buffer, size, whole);
    return buffer;
}
