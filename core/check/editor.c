// SPDX-License-Identifier: Apache-2.0
// editor.c: `---@meta` files, from which editors (LuaLS, EmmyLua) complete and check policies: the contracts and the
// global `perigee` as lua/stdlib declares them, the modules of the library without their code, and the kinds of objects
// from the schema tables.
//
// Fields of objects are not marked as optional, though most of them are: a policy that reads spec.predictor.model would
// have to test each step for an editor's sake.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "check/check.h"
#include "check/types.h"

static const char head[] = "---@meta\n-- Written by `perigee types`.\n\n";

// ---- kinds ----

static void add_kind(struct prg_strbuf *out, struct prg_types *types, const struct prg_schema_field *field,
                     enum prg_schema_kind kind)
{
    static const char *const names[] = {[PRG_KIND_ANY] = "any",
                                        [PRG_KIND_STRING] = "string",
                                        [PRG_KIND_INT] = "integer",
                                        [PRG_KIND_BOOL] = "boolean",
                                        [PRG_KIND_NUMBER] = "number",
                                        [PRG_KIND_QUANTITY] = "string|number",
                                        [PRG_KIND_INTORSTRING] = "integer|string",
                                        [PRG_KIND_TIME] = "string",
                                        [PRG_KIND_OBJECT] = "any",
                                        [PRG_KIND_MAP] = "table",
                                        [PRG_KIND_LIST] = "table"};
    bool is_alternative = kind == PRG_KIND_QUANTITY || kind == PRG_KIND_INTORSTRING;
    switch (kind) {
    case PRG_KIND_OBJECT:
        prg_strbuf_puts(out, field->type ? prg_types_schema_name(types, field->type) : "any");
        break;
    case PRG_KIND_MAP:
        prg_strbuf_puts(out, "table<string, ");
        add_kind(out, types, field, field->element);
        prg_strbuf_putc(out, '>');
        break;
    case PRG_KIND_LIST:
        is_alternative = field->element == PRG_KIND_QUANTITY || field->element == PRG_KIND_INTORSTRING;
        prg_strbuf_puts(out, is_alternative ? "(" : "");
        add_kind(out, types, field, field->element);
        prg_strbuf_puts(out, is_alternative ? ")[]" : "[]");
        break;
    default:
        prg_strbuf_puts(out, names[kind]);
    }
}

static bool is_identifier(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '_')
            return false;
    return name[0] && !isdigit((unsigned char)name[0]);
}

static void add_struct(struct prg_strbuf *out, struct prg_types *types, const struct prg_type *type)
{
    const struct prg_schema *schema = type->schema;
    prg_strbuf_printf(out, "---@class %s", type->name);
    if (schema->inlined)
        prg_strbuf_printf(out, ": %s", prg_types_schema_name(types, schema->inlined));
    prg_strbuf_putc(out, '\n');
    for (size_t i = 0; i < schema->count; i++) {
        const struct prg_schema_field *field = &schema->fields[i];
        prg_strbuf_printf(out, is_identifier(field->name) ? "---@field %s " : "---@field [\"%s\"] ", field->name);
        add_kind(out, types, field, field->kind);
        prg_strbuf_putc(out, '\n');
    }
    prg_strbuf_putc(out, '\n');
}

static void add_kinds(struct prg_strbuf *out)
{
    struct prg_types types;
    const struct prg_map_entry *entry;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    prg_types_init(&types, &arena);
    prg_strbuf_puts(out, head);
    prg_strbuf_puts(out, "--- What `compat: fixed` mends; see docs/compatibility.md.\n---@class perigee.Compat\n");
    for (int flag = 0; flag < PRG_COMPAT_COUNT; flag++)
        prg_strbuf_printf(out, "---@field %s boolean\n", prg_compat_flag_name((enum prg_compat_flag)flag));
    prg_strbuf_putc(out, '\n');
    for (size_t i = 0; (entry = prg_map_next(&types.structs, &i));)
        add_struct(out, &types, entry->value);
    prg_types_release(&types);
}

// ---- modules without their code ----

struct stripping {
    struct prg_strbuf *out;
    struct prg_strbuf docs; // comment lines that wait for what they are about
    const char *module;     // "labels"
    bool in_constructor;
};

static bool begins(const char *line, size_t length, const char *with)
{
    size_t wanted = strlen(with);
    return length >= wanted && memcmp(line, with, wanted) == 0;
}

// Classes and aliases stand alone; comments of what is left out go.
static void drop_docs(struct stripping *s)
{
    if (strstr(s->docs.text, "---@class") || strstr(s->docs.text, "---@alias")) {
        prg_strbuf_puts(s->out, s->docs.text);
        prg_strbuf_putc(s->out, '\n');
    }
    prg_strbuf_clear(&s->docs);
}

static void strip_line(struct stripping *s, const char *line, size_t length)
{
    static const char function[] = "function M.";
    if (s->in_constructor) {
        s->in_constructor = !begins(line, length, "}");
    } else if (begins(line, length, "---")) {
        prg_strbuf_add(&s->docs, line, length);
        prg_strbuf_putc(&s->docs, '\n');
    } else if (begins(line, length, function)) {
        size_t skip = sizeof(function) - 1;
        prg_strbuf_printf(s->out, "%sfunction %s.%.*s end\n\n", s->docs.text, s->module, (int)(length - skip),
                          line + skip);
        prg_strbuf_clear(&s->docs);
    } else if (begins(line, length, "local M = {")) {
        prg_strbuf_printf(s->out, "%slocal %s = {}\n\n", s->docs.text, s->module);
        prg_strbuf_clear(&s->docs);
        s->in_constructor = line[length - 1] == '{';
    } else {
        drop_docs(s);
    }
}

static void add_module(const char *path, const char *text, size_t length, void *ctx)
{
    static const char folder[] = "perigee/";
    const char *end = text + length;
    char name[64];
    struct stripping s = {.out = ctx, .docs = PRG_STRBUF_INIT, .module = name};
    if (!prg_text_has_prefix(path, folder))
        return;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(path + sizeof(folder) - 1, "."), path + sizeof(folder) - 1);
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        strip_line(&s, text, (size_t)(stop - text));
        text = stop < end ? stop + 1 : end;
    }
    prg_strbuf_release(&s.docs);
}

// ---- files ----

static int write_file(const char *folder, const char *name, const char *text, size_t length, struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_strbuf_printf(&path, "%s/%s", folder, name);
    FILE *file = fopen(path.text, "wb");
    if (!file)
        return prg_fail(err, PRG_IO, "%s: %s", path.text, strerror(errno));
    bool good = fwrite(text, 1, length, file) == length;
    int saved = errno;
    good = fclose(file) == 0 && good;
    return good ? PRG_OK : prg_fail(err, PRG_IO, "%s: %s", path.text, strerror(saved ? saved : errno));
}

struct writing {
    const char *folder;
    int rc;
    struct prg_error *err;
};

// Files that are declarations already.
static void write_meta(const char *path, const char *text, size_t length, void *ctx)
{
    struct writing *writing = ctx;
    if (prg_text_has_prefix(path, "meta/") && writing->rc == PRG_OK)
        writing->rc = write_file(writing->folder, path + strlen("meta/"), text, length, writing->err);
}

int prg_check_write_types(const char *folder, struct prg_error *err)
{
    struct writing writing = {folder, PRG_OK, err};
    prg_auto_strbuf kinds = PRG_STRBUF_INIT, modules = PRG_STRBUF_INIT;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return prg_fail(err, PRG_IO, "%s: %s", folder, strerror(errno));
    prg_policy_each_library(write_meta, &writing);
    if (writing.rc != PRG_OK)
        return writing.rc;
    add_kinds(&kinds);
    prg_strbuf_puts(&modules, head);
    prg_policy_each_library(add_module, &modules);
    int rc = write_file(folder, "kinds.lua", kinds.text, kinds.length, err);
    return rc == PRG_OK ? write_file(folder, "modules.lua", modules.text, modules.length, err) : rc;
}
