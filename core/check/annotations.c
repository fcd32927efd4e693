// SPDX-License-Identifier: Apache-2.0
// annotations.c: the part of LuaLS' annotation language that lua/stdlib and policies use.
//
//   ---@class NAME[: PARENT] …      ---@field NAME[?] TYPE …     ---@field [string] TYPE …
//   ---@alias NAME TYPE …           ---@param NAME[?] TYPE …     ---@return TYPE …    ---@generic NAME
//   TYPE: any of  T?  T[]  T|U  fun(a: T, b?: U, ...: V): R, S  {a: T, b?: U}  table<K, V>  "text"  NAME  (T)
#include <ctype.h>
#include <string.h>

#include "check/types.h"

struct cursor {
    struct prg_types *types;
    const char *at, *end;
    const char *generic; // NULL: none
    bool may_be_nil;     // the type read last has ? or nil in it
    unsigned depth;      // of the type under work
};

enum { TYPE_DEPTH = 64 }; // a type nested deeper is any

// ---- types ----

static void blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

static bool next_is(struct cursor *c, char wanted)
{
    blanks(c);
    return c->at < c->end && *c->at == wanted;
}

static bool take(struct cursor *c, char wanted)
{
    if (!next_is(c, wanted))
        return false;
    c->at++;
    return true;
}

static bool is_name_byte(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_' || ch == '.';
}

static const char *word(struct cursor *c)
{
    blanks(c);
    const char *start = c->at;
    while (c->at < c->end && is_name_byte(*c->at))
        c->at++;
    if (c->at - start == 3 && memcmp(start, "...", 3) == 0)
        return "...";
    while (c->at > start && c->at[-1] == '.') // the end of a sentence
        c->at--;
    return prg_arena_strndup(c->types->arena, start, (size_t)(c->at - start));
}

static const struct prg_type *type_of(struct cursor *c);

static struct prg_type *new_type(struct cursor *c, enum prg_type_kind kind)
{
    struct prg_type *type = prg_arena_new(c->types->arena, struct prg_type);
    type->kind = kind;
    return type;
}

static struct prg_type_field *new_field(struct cursor *c, const char *name, const struct prg_type *type)
{
    struct prg_type_field *field = prg_arena_new(c->types->arena, struct prg_type_field);
    field->name = name;
    field->type = type;
    return field;
}

// fun has been read.
static const struct prg_type *function_type(struct cursor *c)
{
    struct prg_type *type = new_type(c, PRG_TYPE_FUNCTION);
    struct prg_type_field **last = &type->fields;
    if (!take(c, '(')) {
        type->is_open = true;
        return type;
    }
    while (c->at < c->end && !next_is(c, ')')) {
        const char *name = word(c);
        bool is_optional = take(c, '?');
        const struct prg_type *given = &prg_type_any;
        c->may_be_nil = false;
        if (take(c, ':'))
            given = type_of(c);
        if (strcmp(name, "...") == 0) {
            type->is_open = true;
        } else {
            *last = new_field(c, name, given);
            (*last)->is_optional = is_optional || c->may_be_nil;
            last = &(*last)->next;
        }
        if (!take(c, ','))
            break;
    }
    take(c, ')');
    last = &type->returns;
    if (take(c, ':')) {
        do {
            *last = new_field(c, "", type_of(c));
            last = &(*last)->next;
        } while (take(c, ','));
    }
    return type;
}

// { has been read.
static const struct prg_type *shape_type(struct cursor *c)
{
    struct prg_type *type = new_type(c, PRG_TYPE_CLASS);
    struct prg_type_field **last = &type->fields;
    while (c->at < c->end && !next_is(c, '}')) {
        if (take(c, '[')) {
            type_of(c);
            take(c, ']');
            type->is_open = true;
            if (take(c, ':'))
                type_of(c);
        } else {
            const char *name = word(c);
            bool is_optional = take(c, '?');
            *last = new_field(c, name, &prg_type_any);
            (*last)->is_optional = is_optional;
            if (take(c, ':'))
                (*last)->type = type_of(c);
            last = &(*last)->next;
        }
        if (!take(c, ','))
            break;
    }
    take(c, '}');
    return type;
}

// table has been read; <K, V> may follow.
static const struct prg_type *table_type(struct cursor *c)
{
    if (c->at == c->end || *c->at != '<')
        return &prg_type_any;
    c->at++;
    const struct prg_type *key = type_of(c);
    take(c, ',');
    const struct prg_type *value = type_of(c);
    take(c, '>');
    struct prg_type *type = new_type(c, key->kind == PRG_TYPE_NUMBER ? PRG_TYPE_LIST : PRG_TYPE_MAP);
    type->element = value;
    return type;
}

static const struct prg_type *named_type(struct cursor *c)
{
    static const struct {
        const char *name;
        const struct prg_type *type;
    } simple[] = {{"any", &prg_type_any},       {"nil", &prg_type_nil},           {"boolean", &prg_type_boolean},
                  {"true", &prg_type_boolean},  {"false", &prg_type_boolean},     {"string", &prg_type_string},
                  {"number", &prg_type_number}, {"integer", &prg_type_number},    {"function", &prg_type_any},
                  {"userdata", &prg_type_any},  {"lightuserdata", &prg_type_any}, {"perigee.View", &prg_type_any}};
    const char *name = word(c);
    for (size_t i = 0; i < PRG_COUNT(simple); i++)
        if (strcmp(name, simple[i].name) == 0)
            return simple[i].type;
    if (strcmp(name, "table") == 0)
        return table_type(c);
    if (strcmp(name, "fun") == 0)
        return function_type(c);
    if (!name[0])
        return &prg_type_any;
    struct prg_type *type =
        new_type(c, c->generic && strcmp(name, c->generic) == 0 ? PRG_TYPE_GENERIC : PRG_TYPE_NAMED);
    type->name = name;
    return type;
}

static const struct prg_type *quoted_type(struct cursor *c)
{
    char quote = *c->at++;
    while (c->at < c->end && *c->at != quote)
        c->at++;
    if (c->at < c->end)
        c->at++;
    return &prg_type_string;
}

static const struct prg_type *single_type(struct cursor *c)
{
    const struct prg_type *type;
    blanks(c);
    if (c->depth >= TYPE_DEPTH) {
        c->at = c->end;
        return &prg_type_any;
    }
    c->depth++;
    if (c->at < c->end && (*c->at == '"' || *c->at == '\''))
        type = quoted_type(c);
    else if (take(c, '{'))
        type = shape_type(c);
    else if (take(c, '(')) {
        type = type_of(c);
        take(c, ')');
    } else {
        type = named_type(c);
    }
    c->depth--;
    for (; c->at < c->end; c->at++) {
        if (*c->at == '?') {
            c->may_be_nil = true;
        } else if (*c->at == '[' && c->at + 1 < c->end && c->at[1] == ']') {
            struct prg_type *list = new_type(c, PRG_TYPE_LIST);
            list->element = type;
            type = list;
            c->at++;
        } else {
            break;
        }
    }
    return type;
}

// Alternatives that are all of one kind are that kind; nil does not count.
static const struct prg_type *type_of(struct cursor *c)
{
    const struct prg_type *type = NULL;
    bool may_be_nil = false;
    do {
        c->may_be_nil = false;
        const struct prg_type *one = single_type(c);
        if (one->kind == PRG_TYPE_NIL)
            c->may_be_nil = true;
        else
            type = !type || (type->kind == one->kind && one->kind <= PRG_TYPE_STRING) ? one : &prg_type_any;
        may_be_nil = may_be_nil || c->may_be_nil;
    } while (c->at < c->end && *c->at == '|' && c->at++);
    c->may_be_nil = may_be_nil;
    return type ? type : &prg_type_nil;
}

const struct prg_type *prg_types_parse(struct prg_types *types, const char **text, const char *end, const char *generic)
{
    struct cursor c = {.types = types, .at = *text, .end = end, .generic = generic};
    const struct prg_type *type = type_of(&c);
    *text = c.at;
    return type;
}

// ---- declarations ----

struct reading {
    struct prg_types *types;
    struct prg_type *current;     // class of the @field lines
    const char *variable_class;   // class that the next variable holds
    struct prg_map variables;     // variable -> struct prg_type of its class
    struct prg_type *constructor; // class whose table constructor is being read
    // The annotations above the next function.
    struct prg_type_field *params, *returns;
    const char *generic;
};

static void forget_function(struct reading *r)
{
    r->params = r->returns = NULL;
    r->generic = NULL;
}

static void append(struct prg_type_field **list, struct prg_type_field *field)
{
    while (*list)
        list = &(*list)->next;
    *list = field;
}

static void read_class(struct reading *r, struct cursor *c)
{
    const char *name = word(c);
    struct prg_type *type = prg_map_get(&r->types->classes, name);
    if (!type) {
        type = new_type(c, PRG_TYPE_CLASS);
        type->name = name;
        prg_map_put(&r->types->classes, name, type);
    }
    if (c->at < c->end && *c->at == ':') {
        c->at++;
        type->parent = word(c);
    }
    r->current = type;
    r->variable_class = name;
}

static void read_field(struct reading *r, struct cursor *c)
{
    if (!r->current)
        return;
    if (take(c, '[')) {
        r->current->is_open = true;
        return;
    }
    const char *name = word(c);
    bool is_optional = take(c, '?');
    struct prg_type_field *field = new_field(c, name, type_of(c));
    field->is_optional = is_optional;
    if (field->type->kind == PRG_TYPE_FUNCTION)
        ((struct prg_type *)field->type)->name = prg_arena_printf(r->types->arena, "%s.%s", r->current->name, name);
    append(&r->current->fields, field);
}

static void read_param(struct reading *r, struct cursor *c)
{
    const char *name = word(c);
    bool is_optional = take(c, '?');
    struct prg_type_field *field = new_field(c, name, type_of(c));
    field->is_optional = is_optional || c->may_be_nil;
    append(&r->params, field);
}

// line begins with "---@".
static void read_annotation(struct reading *r, const char *line, const char *end)
{
    struct cursor c = {.types = r->types, .at = line + 4, .end = end, .generic = r->generic};
    const char *tag = word(&c);
    if (strcmp(tag, "class") == 0) {
        read_class(r, &c);
    } else if (strcmp(tag, "field") == 0) {
        read_field(r, &c);
    } else if (strcmp(tag, "alias") == 0) {
        const char *name = word(&c);
        const struct prg_type *type = type_of(&c);
        prg_map_put(&r->types->classes, name, (void *)type);
    } else if (strcmp(tag, "generic") == 0) {
        r->generic = word(&c);
    } else if (strcmp(tag, "param") == 0) {
        read_param(r, &c);
    } else if (strcmp(tag, "return") == 0) {
        append(&r->returns, new_field(&c, "", type_of(&c)));
    }
}

static const struct prg_type_field *param_named(const struct reading *r, const char *name)
{
    const struct prg_type_field *param = r->params;
    while (param && strcmp(param->name, name) != 0)
        param = param->next;
    return param;
}

// "function VARIABLE.NAME(a, b)" with the annotations above it.
static void read_function(struct reading *r, const char *line, const char *end)
{
    struct cursor c = {.types = r->types, .at = line + strlen("function "), .end = end, .generic = NULL};
    const char *path = word(&c), *dot = strrchr(path, '.');
    struct prg_type *class = dot ? prg_map_getn(&r->variables, path, (size_t)(dot - path)) : NULL;
    if (!class || !take(&c, '('))
        return;
    struct prg_type *type = new_type(&c, PRG_TYPE_FUNCTION);
    struct prg_type_field **last = &type->fields;
    while (c.at < end && !next_is(&c, ')')) {
        const char *name = word(&c);
        const struct prg_type_field *param = param_named(r, name);
        if (strcmp(name, "...") == 0) {
            type->is_open = true;
        } else {
            *last = new_field(&c, name, param ? param->type : &prg_type_any);
            (*last)->is_optional = param && param->is_optional;
            last = &(*last)->next;
        }
        if (!take(&c, ','))
            break;
    }
    type->returns = r->returns;
    type->name = prg_arena_printf(r->types->arena, "%s%s", class->name, dot);
    append(&class->fields, new_field(&c, prg_arena_strdup(r->types->arena, dot + 1), type));
}

// "local NAME = …" or "NAME = …" below a class: the variable holds it, and the entries of its constructor are fields.
static void read_variable(struct reading *r, const char *line, const char *end)
{
    struct cursor c = {.types = r->types, .at = line, .end = end, .generic = NULL};
    const char *name = word(&c);
    if (strcmp(name, "local") == 0)
        name = word(&c);
    struct prg_type *class = prg_map_get(&r->types->classes, r->variable_class);
    if (!take(&c, '=') || !class)
        return;
    prg_map_put(&r->variables, name, class);
    if (take(&c, '{') && c.at == end)
        r->constructor = class;
}

static void read_entry(struct reading *r, const char *line, const char *end)
{
    struct cursor c = {.types = r->types, .at = line, .end = end, .generic = NULL};
    const char *name = word(&c);
    if (name[0] && take(&c, '='))
        append(&r->constructor->fields, new_field(&c, name, &prg_type_any));
}

static void read_line(struct reading *r, const char *line, const char *end)
{
    static const char function[] = "function ", annotation[] = "---@";
    size_t length = (size_t)(end - line);
    if (r->constructor) {
        if (length && line[0] == '}')
            r->constructor = NULL;
        else
            read_entry(r, line, end);
        return;
    }
    if (length > 4 && memcmp(line, annotation, 4) == 0) {
        read_annotation(r, line, end);
        return;
    }
    if (length > 1 && memcmp(line, "--", 2) == 0)
        return;
    if (length > sizeof(function) && memcmp(line, function, sizeof(function) - 1) == 0)
        read_function(r, line, end);
    else if (length && r->variable_class && (isalpha((unsigned char)line[0]) || line[0] == '_'))
        read_variable(r, line, end);
    r->current = NULL;
    r->variable_class = NULL;
    forget_function(r);
}

void prg_types_read(struct prg_types *types, const char *text, size_t length)
{
    struct reading r = {.types = types};
    const char *end = text + length;
    prg_map_init(&r.variables);
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        stop = stop ? stop : end;
        read_line(&r, text, stop > text && stop[-1] == '\r' ? stop - 1 : stop);
        text = stop < end ? stop + 1 : end;
    }
    prg_map_release(&r.variables);
}
