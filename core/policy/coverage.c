// SPDX-License-Identifier: Apache-2.0
// coverage.c: which lines of the policies under test have run.
//
// Lua tells the lines of functions that exist, not of those that were never made, so the lines that can run are read
// from the compiled form of the whole file (lua_dump, format of Lua 5.4).
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "policy/spec.h"

struct file {
    char *path;
    unsigned char *can_run; // by line, from 0
    uint64_t *hits;
    size_t lines;
};

struct prg_coverage {
    struct prg_map files; // chunk name -> struct file *
    const char *last_name;
    struct file *last;
};

struct prg_coverage *prg_coverage_new(void)
{
    struct prg_coverage *coverage = prg_xcalloc(1, sizeof(*coverage));
    prg_map_init(&coverage->files);
    return coverage;
}

void prg_coverage_free(struct prg_coverage *coverage)
{
    const struct prg_map_entry *entry;
    if (!coverage)
        return;
    for (size_t i = 0; (entry = prg_map_next(&coverage->files, &i));) {
        struct file *file = entry->value;
        free(file->path);
        free(file->can_run);
        free(file->hits);
        free(file);
    }
    prg_map_release(&coverage->files);
    free(coverage);
}

// ---- the compiled form ----

struct reader {
    const unsigned char *at, *end;
    bool broken;
    struct file *file;
};

static const unsigned char *take(struct reader *r, size_t count)
{
    static const unsigned char nothing[16];
    if (r->broken || (size_t)(r->end - r->at) < count) {
        r->broken = true;
        return nothing;
    }
    r->at += count;
    return r->at - count;
}

static size_t take_size(struct reader *r)
{
    size_t value = 0;
    for (unsigned char byte = 0; !(byte & 0x80) && !r->broken;) {
        byte = *take(r, 1);
        value = value << 7 | (byte & 0x7f);
    }
    return r->broken ? 0 : value;
}

static void skip_text(struct reader *r)
{
    size_t size = take_size(r);
    if (size)
        take(r, size - 1);
}

static void skip_constants(struct reader *r)
{
    for (size_t n = take_size(r); n && !r->broken; n--) {
        switch (*take(r, 1)) {
        case 0x03: // integer
            take(r, sizeof(lua_Integer));
            break;
        case 0x13: // float
            take(r, sizeof(lua_Number));
            break;
        case 0x04: // texts, short and long
        case 0x14:
            skip_text(r);
            break;
        default: // nil, false, true
            break;
        }
    }
}

static void mark(struct file *file, size_t line)
{
    if (line >= file->lines) {
        size_t lines = line + 64;
        file->can_run = prg_xrealloc(file->can_run, lines);
        file->hits = prg_xrealloc(file->hits, lines * sizeof(*file->hits));
        memset(file->can_run + file->lines, 0, lines - file->lines);
        memset(file->hits + file->lines, 0, (lines - file->lines) * sizeof(*file->hits));
        file->lines = lines;
    }
    file->can_run[line] = 1;
}

// Lines as differences from the one before; -128 stands for a line that the second table gives.
static void read_lines(struct reader *r, size_t line, bool is_vararg)
{
    size_t count = take_size(r);
    const signed char *deltas = (const signed char *)take(r, count);
    size_t known = take_size(r);
    size_t pc_known = known ? take_size(r) : SIZE_MAX, line_known = known ? take_size(r) : 0;
    for (size_t pc = 0; pc < count && !r->broken; pc++) {
        if (deltas[pc] == -128 && pc == pc_known) {
            line = line_known;
            known--;
            pc_known = known ? take_size(r) : SIZE_MAX;
            line_known = known ? take_size(r) : 0;
        } else {
            line = (size_t)((long)line + deltas[pc]);
        }
        // Not lines of the author's: the preparation of "..." and the return that every function ends with.
        bool is_made = (pc == 0 && is_vararg) || (pc + 1 == count && count > 1);
        if (!is_made && line < PRG_SOURCE_BYTES)
            mark(r->file, line);
    }
}

static void read_function(struct reader *r)
{
    skip_text(r); // source
    size_t line = take_size(r);
    take_size(r); // last line
    bool is_vararg = take(r, 3)[1] != 0;
    take(r, take_size(r) * 4); // instructions
    skip_constants(r);
    take(r, take_size(r) * 3); // upvalues
    for (size_t n = take_size(r); n && !r->broken; n--)
        read_function(r);
    read_lines(r, line, is_vararg);
    for (size_t n = take_size(r); n && !r->broken; n--) { // local variables
        skip_text(r);
        take_size(r);
        take_size(r);
    }
    for (size_t n = take_size(r); n && !r->broken; n--) // names of upvalues
        skip_text(r);
}

static int keep_dump(lua_State *L, const void *bytes, size_t size, void *ud)
{
    (void)L;
    prg_strbuf_add(ud, bytes, size);
    return 0;
}

void prg_coverage_add_chunk(struct prg_coverage *coverage, lua_State *L, const char *chunk_name)
{
    enum { HEADER = 4 + 1 + 1 + 6 + 3 + sizeof(lua_Integer) + sizeof(lua_Number) + 1 };
    prg_auto_strbuf dump = PRG_STRBUF_INIT;
    coverage->last_name = NULL; // names of another state may stand where those of one that is gone stood
    if (prg_map_get(&coverage->files, chunk_name))
        return;
    struct file *file = prg_xcalloc(1, sizeof(*file));
    file->path = prg_xstrdup(chunk_name[0] == '@' ? chunk_name + 1 : chunk_name);
    prg_map_put(&coverage->files, chunk_name, file);
    lua_dump(L, keep_dump, &dump, 0); // a Lua function: it does not fail
    struct reader reader = {.at = (unsigned char *)dump.text, .end = (unsigned char *)dump.text + dump.length};
    reader.file = file;
    take(&reader, HEADER);
    read_function(&reader);
}

// ---- counting ----

void prg_coverage_hit(struct prg_coverage *coverage, const char *chunk_name, int line)
{
    if (chunk_name != coverage->last_name) { // texts of Lua live as long as their functions
        coverage->last_name = chunk_name;
        coverage->last = prg_map_get(&coverage->files, chunk_name);
    }
    if (coverage->last && line > 0 && (size_t)line < coverage->last->lines)
        coverage->last->hits[line]++;
}

static int compare_files(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

void prg_coverage_each(const struct prg_coverage *coverage,
                       void (*visit)(const char *path, const struct prg_coverage_line *lines, size_t count, void *ctx),
                       void *ctx)
{
    const struct prg_map_entry *entry;
    struct prg_vec files;
    prg_vec_init(&files);
    for (size_t i = 0; (entry = prg_map_next(&coverage->files, &i));)
        prg_vec_push(&files, entry->value);
    prg_vec_sort(&files, compare_files, NULL);
    for (size_t i = 0; i < files.count; i++) {
        const struct file *file = files.items[i];
        struct prg_coverage_line *lines = prg_xcalloc(file->lines + 1, sizeof(*lines));
        size_t count = 0;
        for (size_t line = 0; line < file->lines; line++)
            if (file->can_run[line])
                lines[count++] = (struct prg_coverage_line){(unsigned)line, file->hits[line]};
        visit(file->path, lines, count, ctx);
        free(lines);
    }
    prg_vec_release(&files);
}
