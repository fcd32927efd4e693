// SPDX-License-Identifier: Apache-2.0
// library.c: types of the names that policies see: those of the sandbox below, `perigee` from lua/stdlib.
#include <string.h>

#include "check/types.h"
#include "policy/policy.h"
#include "serving/compat.h"

void prg_types_add_library(struct prg_types *types);

// Signatures of the sandbox's functions. A name of the sandbox that is not here may be called in any way; a test looks
// for such names.
static const struct {
    const char *name, *signature;
} signatures[] = {
    {"assert", "fun(v: any, message?: any, ...: any): any"},
    {"error", "fun(message?: any, level?: integer)"},
    {"ipairs", "fun(t: any): any, any, any"},
    {"next", "fun(t: any, key?: any): any, any"},
    {"pairs", "fun(t: any): any, any, any"},
    {"pcall", "fun(f: any, ...: any): boolean, any, any, any"},
    {"print", "fun(...: any)"},
    {"select", "fun(n: any, ...: any): any"},
    {"setmetatable", "fun(t: any, metatable: any): any"},
    {"tonumber", "fun(v: any, base?: integer): number"},
    {"tostring", "fun(v: any): string"},
    {"type", "fun(v: any): string"},
    {"math.abs", "fun(x: number): number"},
    {"math.ceil", "fun(x: number): number"},
    {"math.exp", "fun(x: number): number"},
    {"math.floor", "fun(x: number): number"},
    {"math.fmod", "fun(x: number, y: number): number"},
    {"math.huge", "number"},
    {"math.log", "fun(x: number, base?: number): number"},
    {"math.max", "fun(x: number, ...: number): number"},
    {"math.maxinteger", "integer"},
    {"math.min", "fun(x: number, ...: number): number"},
    {"math.mininteger", "integer"},
    {"math.modf", "fun(x: number): number, number"},
    {"math.pi", "number"},
    {"math.sqrt", "fun(x: number): number"},
    {"math.tointeger", "fun(x: any): number"},
    {"math.type", "fun(x: any): string"},
    {"math.ult", "fun(m: integer, n: integer): boolean"},
    {"string.byte", "fun(s: string, i?: integer, j?: integer): integer, any, any, any"},
    {"string.char", "fun(...: integer): string"},
    {"string.find", "fun(s: string, pattern: string, init?: integer, plain?: boolean): integer, integer, any, any"},
    {"string.format", "fun(format: string, ...: any): string"},
    {"string.gmatch", "fun(s: string, pattern: string, init?: integer): any"},
    {"string.gsub", "fun(s: string, pattern: string, replacement: any, n?: integer): string, integer"},
    {"string.len", "fun(s: string): integer"},
    {"string.lower", "fun(s: string): string"},
    {"string.match", "fun(s: string, pattern: string, init?: integer): any, any, any, any"},
    {"string.rep", "fun(s: string, n: integer, separator?: string): string"},
    {"string.reverse", "fun(s: string): string"},
    {"string.sub", "fun(s: string, i: integer, j?: integer): string"},
    {"string.upper", "fun(s: string): string"},
    {"table.concat", "fun(list: any, separator?: string, i?: integer, j?: integer): string"},
    {"table.insert", "fun(list: any, at: any, value?: any)"},
    {"table.pack", "fun(...: any): any"},
    {"table.remove", "fun(list: any, at?: integer): any"},
    {"table.sort", "fun(list: any, before?: any)"},
    {"table.unpack", "fun(list: any, i?: integer, j?: integer): any, any, any, any"},
    {"utf8.char", "fun(...: integer): string"},
    {"utf8.charpattern", "string"},
    {"utf8.codepoint", "fun(s: string, i?: integer, j?: integer, lax?: boolean): integer, any, any"},
    {"utf8.codes", "fun(s: string, lax?: boolean): any, any, any"},
    {"utf8.len", "fun(s: string, i?: integer, j?: integer, lax?: boolean): integer, integer"},
    {"utf8.offset", "fun(s: string, n: integer, i?: integer): integer"},
};

static const struct prg_type *signature_of(struct prg_types *types, const char *name)
{
    for (size_t i = 0; i < PRG_COUNT(signatures); i++) {
        const char *text = signatures[i].signature;
        if (strcmp(signatures[i].name, name) != 0)
            continue;
        struct prg_type *type = (struct prg_type *)prg_types_parse(types, &text, text + strlen(text), NULL);
        if (type->kind == PRG_TYPE_FUNCTION)
            type->name = signatures[i].name;
        return type;
    }
    return &prg_type_any;
}

// The class of a library ("string"), made when its first name comes.
static struct prg_type *library_class(struct prg_types *types, const char *name, size_t length)
{
    struct prg_type *class = prg_map_getn(&types->globals, name, length);
    if (!class) {
        class = prg_arena_new(types->arena, struct prg_type);
        class->kind = PRG_TYPE_CLASS;
        class->name = prg_arena_strndup(types->arena, name, length);
        prg_map_putn(&types->globals, name, length, class);
    }
    return class;
}

static void add_global(const char *name, void *ctx)
{
    struct prg_types *types = ctx;
    const char *dot = strchr(name, '.');
    const struct prg_type *type = signature_of(types, name);
    if (!dot) {
        prg_map_put(&types->globals, name, (void *)type);
        return;
    }
    struct prg_type *class = library_class(types, name, (size_t)(dot - name));
    struct prg_type_field *field = prg_arena_new(types->arena, struct prg_type_field);
    field->name = prg_arena_strdup(types->arena, dot + 1);
    field->type = type;
    field->next = class->fields;
    class->fields = field;
}

// perigee.NAME of a module without a declaration of its own in meta/perigee.lua.
static void add_module_field(struct prg_types *types, const char *path)
{
    struct prg_type *perigee = prg_map_get(&types->classes, "perigee");
    const char *start = strchr(path, '/') + 1, *name = prg_arena_strndup(types->arena, start, strcspn(start, "."));
    const char *class = prg_arena_printf(types->arena, "perigee.%s", name);
    if (!perigee || !prg_types_class(types, class) || prg_types_field(types, perigee, name))
        return;
    struct prg_type_field *field = prg_arena_new(types->arena, struct prg_type_field);
    field->name = name;
    field->type = prg_types_class(types, class);
    field->next = perigee->fields;
    perigee->fields = field;
}

static void add_text(const char *path, const char *text, size_t length, void *ctx)
{
    prg_types_read(ctx, text, length);
    if (prg_text_has_prefix(path, "perigee/"))
        add_module_field(ctx, path);
}

// perigee.compat: a boolean for each flag.
static void add_compat(struct prg_types *types)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_puts(&text, "---@class perigee.Compat\n");
    for (int flag = 0; flag < PRG_COMPAT_COUNT; flag++)
        prg_strbuf_printf(&text, "---@field %s boolean\n", prg_compat_flag_name((enum prg_compat_flag)flag));
    prg_types_read(types, text.text, text.length);
}

void prg_types_add_library(struct prg_types *types)
{
    prg_policy_each_global(add_global, types);
    add_compat(types);
    prg_policy_each_library(add_text, types);
    const struct prg_type *perigee = prg_types_class(types, "perigee");
    if (perigee)
        prg_map_put(&types->globals, "perigee", (void *)perigee);
}
