// SPDX-License-Identifier: Apache-2.0
// output.c: tables and errors on the terminal.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int prg_cli_error(const struct prg_error *err, enum prg_exit exit_code)
{
    char text[PRG_ERROR_LINE];
    fprintf(stderr, "error: %s\n", prg_error_text(err, text, sizeof(text)));
    return exit_code;
}

static int write_trouble; // errno of the latest write to stdout that failed here; stdout keeps only that one did

void prg_cli_write(const struct prg_strbuf *text)
{
    if (fwrite(text->text, 1, text->length, stdout) == text->length && fflush(stdout) == 0)
        return;
    write_trouble = errno;
    if (errno == EPIPE)
        clearerr(stdout); // nobody wants the rest; anything else shows in prg_cli_finish
}

bool prg_cli_finish(void)
{
    bool has_failed = ferror(stdout) != 0;
    if (fflush(stdout) != 0) {
        write_trouble = errno;
        has_failed = errno != EPIPE;
    }
    if (has_failed)
        fprintf(stderr, "error: standard output: %s\n", write_trouble ? strerror(write_trouble) : "cannot be written");
    return !has_failed;
}

struct prg_table {
    struct prg_arena arena;
    size_t columns;
    size_t *widths;
    struct prg_vec rows; // const char ** of `columns` cells
};

// Terminal columns of UTF-8 text; wide characters are counted as one.
static size_t text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

struct prg_table *prg_table_new(size_t columns)
{
    struct prg_table *table = prg_xcalloc(1, sizeof(*table));
    prg_arena_init(&table->arena);
    table->columns = columns;
    table->widths = prg_arena_array(&table->arena, size_t, columns);
    return table;
}

char *prg_cli_one_line(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    return text;
}

void prg_table_row(struct prg_table *table, const char *const *cells)
{
    const char **row = prg_arena_array(&table->arena, const char *, table->columns);
    for (size_t i = 0; i < table->columns; i++) {
        char *cell = prg_cli_one_line(prg_arena_strdup(&table->arena, cells[i] && cells[i][0] ? cells[i] : "-"));
        row[i] = cell;
        size_t width = text_width(cell);
        if (width > table->widths[i])
            table->widths[i] = width;
    }
    prg_vec_push(&table->rows, row);
}

void prg_table_print(struct prg_table *table, struct prg_strbuf *out)
{
    for (size_t r = 0; r < table->rows.count; r++) {
        const char *const *row = table->rows.items[r];
        for (size_t i = 0; i < table->columns; i++) {
            prg_strbuf_puts(out, row[i]);
            if (i + 1 < table->columns)
                prg_strbuf_pad(out, ' ', table->widths[i] - text_width(row[i]) + 2);
        }
        prg_strbuf_putc(out, '\n');
    }
    prg_vec_release(&table->rows);
    prg_arena_release(&table->arena);
    free(table);
}
