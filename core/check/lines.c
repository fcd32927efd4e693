// SPDX-License-Identifier: Apache-2.0
// lines.c: where the lines of a text begin.
#include "check/lines.h"

#include <string.h>

static void find_lines(struct prg_check_lines *lines, struct prg_arena *arena)
{
    const char *end = lines->text + lines->length, *at = lines->text;
    size_t count = 1, n = 0;
    while ((at = memchr(at, '\n', (size_t)(end - at))) && at++)
        count++;
    size_t *starts = prg_arena_array(arena, size_t, count + 1);
    for (at = lines->text; n < count; n++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        starts[n] = (size_t)(at - lines->text);
        at = stop ? stop + 1 : end;
    }
    starts[count] = lines->length + 1; // as if the last line ended, too
    lines->starts = starts;
    lines->made = prg_arena_array(arena, const char *, count);
    lines->count = count;
}

const char *prg_check_line(struct prg_check_lines *lines, struct prg_arena *arena, unsigned line)
{
    if (!lines->text || !line)
        return NULL;
    if (!lines->starts)
        find_lines(lines, arena);
    if (line > lines->count)
        return NULL;
    size_t start = lines->starts[line - 1], end = lines->starts[line] - 1;
    if (end > start && lines->text[end - 1] == '\r')
        end--;
    if (!lines->made[line - 1])
        lines->made[line - 1] = prg_arena_strndup(arena, lines->text + start, end - start);
    return lines->made[line - 1];
}
