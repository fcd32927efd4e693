// SPDX-License-Identifier: Apache-2.0
// file.c: loading one policy file and checking it against its contract.
//
// The file is run when it is loaded, to see what it defines, and again before each call, with a new environment: no
// global and no local of the file lives longer than one call.
#include "policy/file.h"

#include <stdlib.h>
#include <string.h>

#include "policy/convert.h"
#include "policy/text.h"
#include "policy/view.h"

enum { SHOWN_FIELDS = 50 }; // of a file, that are wrong

// ---- reports ----

void prg_report_add(struct prg_report *report, const char *format, ...)
{
    char text[PRG_ERROR_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (report->count && strcmp(report->latest, text) == 0)
        return; // what holds for every file is told once
    memcpy(report->latest, text, strlen(text) + 1);
    if (report->count++ == 0)
        prg_text_show(report->first, sizeof(report->first), text, strlen(text));
    if (report->visit)
        report->visit(text, report->ctx);
}

void prg_report_error(struct prg_report *report, const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    prg_report_add(report, "%s", prg_error_text(err, text, sizeof(text)));
}

// ---- looking at what the file returns ----

struct field {
    const char *key; // NULL: not a text
    int type;        // LUA_T…
    int line;        // of a function
};

struct survey {
    struct prg_policy_file *file;
    struct prg_arena *arena;
    int type;        // of what the file returned
    const char *api; // NULL: absent or not a text
    struct field *fields;
    size_t count;
    bool options_are_table;
};

static int function_line(lua_State *L, int index)
{
    lua_Debug ar;
    lua_pushvalue(L, index);
    lua_getinfo(L, ">S", &ar);
    return ar.linedefined > 0 ? ar.linedefined : 0;
}

static int compare_fields(const void *a, const void *b)
{
    const char *x = ((const struct field *)a)->key, *y = ((const struct field *)b)->key;
    return strcmp(x ? x : "", y ? y : "");
}

static void survey_table(lua_State *L, struct survey *s, int table)
{
    size_t room = 0;
    lua_pushnil(L);
    for (; lua_next(L, table); room++)
        lua_pop(L, 1);
    s->fields = prg_arena_array(s->arena, struct field, room);
    prg_vm_of(L)->function_line = (int)prg_source_find(&s->file->source, "options", '=').line; // for errors about them
    lua_pushnil(L);
    while (lua_next(L, table)) {
        struct field *field = &s->fields[s->count++];
        int value = lua_gettop(L);
        field->type = lua_type(L, value);
        if (lua_type(L, -2) == LUA_TSTRING)
            field->key = prg_arena_strdup(s->arena, lua_tostring(L, -2));
        if (field->type == LUA_TFUNCTION)
            field->line = function_line(L, value);
        if (field->key && strcmp(field->key, "api") == 0 && field->type == LUA_TSTRING)
            s->api = prg_arena_strdup(s->arena, lua_tostring(L, value));
        if (field->key && strcmp(field->key, "options") == 0 && field->type == LUA_TTABLE)
            s->file->options = prg_convert(L, value, s->arena, PRG_SHAPE_OBJECT, "options");
        lua_settop(L, value - 1);
    }
    qsort(s->fields, s->count, sizeof(*s->fields), compare_fields);
}

static int survey_protected(lua_State *L)
{
    struct survey *s = lua_touserdata(L, 1);
    prg_source_run(L);
    s->type = lua_type(L, -1);
    if (s->type == LUA_TTABLE)
        survey_table(L, s, lua_gettop(L));
    return 0;
}

// ---- checks ----

static void report_at(struct prg_report *report, const struct prg_source *source, struct prg_source_place place,
                      const char *format, ...) PRG_PRINTF(4, 5);
static void report_at(struct prg_report *report, const struct prg_source *source, struct prg_source_place place,
                      const char *format, ...)
{
    char text[PRG_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    prg_report_add(report, "%s:%u:%u: %s", source->path, place.line ? place.line : 1, place.column ? place.column : 1,
                   text);
}

static bool check_api(struct prg_policy_file *file, const struct survey *s, struct prg_report *report)
{
    const struct prg_source *source = &file->source;
    struct prg_source_place place = prg_source_find(source, "api", '=');
    const struct prg_contract *wanted = file->contract;
    if (!s->api) {
        report_at(report, source, place, "api is missing: the table that the file returns needs api = \"%s\"",
                  wanted ? wanted->api : "POLICY/v1");
        return false;
    }
    const struct prg_contract *found = prg_contract_by_api(s->api);
    if (wanted && found != wanted) {
        report_at(report, source, place, "api is \"%s\"; policy %s needs \"%s\"", s->api, wanted->name, wanted->api);
        return false;
    }
    if (!found) {
        char policy[64];
        snprintf(policy, sizeof(policy), "%.*s", (int)strcspn(s->api, "/"), s->api);
        const struct prg_contract *other = prg_contract_by_name(policy);
        const char *nearest = other ? other->name : prg_contract_nearest(policy);
        if (nearest)
            report_at(report, source, place, "there is no api \"%s\"; did you mean \"%s\"?", s->api,
                      prg_contract_by_name(nearest)->api);
        else
            report_at(report, source, place, "there is no api \"%s\"", s->api);
        return false;
    }
    file->contract = found;
    return true;
}

static struct prg_source_place place_of_field(const struct prg_source *source, const struct field *field)
{
    if (field->line > 0)
        return (struct prg_source_place){(unsigned)field->line,
                                         prg_source_column(source, (unsigned)field->line, field->key)};
    return prg_source_find(source, field->key, '=');
}

static size_t known_fields(const struct prg_contract *contract, const char *names[PRG_CONTRACT_FUNCTIONS + 2])
{
    size_t count = 0;
    for (const char *const *function = contract->functions; *function; function++)
        names[count++] = *function;
    names[count++] = "api";
    names[count++] = "options";
    return count;
}

static void check_field(struct prg_policy_file *file, const struct field *field, struct prg_report *report)
{
    const struct prg_source *source = &file->source;
    const char *names[PRG_CONTRACT_FUNCTIONS + 2];
    size_t count = known_fields(file->contract, names), functions = count - 2;
    if (!field->key) {
        report_at(report, source, (struct prg_source_place){0, 0}, "the table that the file returns has a %s as key",
                  "number or another value");
        return;
    }
    for (size_t i = 0; i < functions; i++) {
        if (strcmp(field->key, names[i]) != 0)
            continue;
        if (field->type != LUA_TFUNCTION)
            report_at(report, source, place_of_field(source, field), "%s must be a function", field->key);
        else
            file->lines[i] = field->line;
        return;
    }
    if (strcmp(field->key, "api") == 0 || field->key[0] == '_')
        return;
    if (strcmp(field->key, "options") == 0) {
        if (field->type != LUA_TTABLE)
            report_at(report, source, place_of_field(source, field), "options must be a table of names and defaults");
        return;
    }
    const char *nearest = prg_text_nearest(field->key, names, count);
    report_at(report, source, place_of_field(source, field), "%s has no %s '%s'%s%s%s", file->contract->api,
              field->type == LUA_TFUNCTION ? "function" : "field", field->key, nearest ? "; did you mean '" : "",
              nearest ? nearest : "", nearest ? "'?" : "; names of your own begin with '_'");
}

static void check_survey(struct prg_policy_file *file, const struct survey *s, struct prg_report *report)
{
    if (s->type != LUA_TTABLE) {
        struct prg_source_place end = prg_source_find(&file->source, "return", 0);
        report_at(report, &file->source, end, "the file must return a table, not %s",
                  s->type == LUA_TNIL ? "nothing" : lua_typename(file->vm->L, s->type));
        return;
    }
    if (!check_api(file, s, report))
        return;
    size_t before = report->count, at = 0;
    for (; at < s->count && report->count - before < SHOWN_FIELDS; at++)
        check_field(file, &s->fields[at], report);
    if (at < s->count && report->count - before == SHOWN_FIELDS)
        report_at(report, &file->source, (struct prg_source_place){0, 0}, "further fields are not looked at");
}

// ---- loading ----

struct prg_policy_file *prg_policy_file_load(struct prg_arena *arena, const char *name, const struct prg_source *source,
                                             const struct prg_contract *contract,
                                             const struct prg_policy_limits *limits, struct prg_report *report)
{
    struct prg_policy_file *file = prg_arena_new(arena, struct prg_policy_file);
    struct survey survey = {.file = file, .arena = arena};
    struct prg_error err;
    size_t errors = report->count;
    prg_error_clear(&err);
    file->name = name;
    file->source = *source;
    file->contract = contract;
    file->options = prg_json_object(arena);
    file->vm = prg_vm_new(limits, &err);
    if (!file->vm ||
        prg_source_compile(file->vm, source, prg_arena_printf(arena, "@%s", source->path), &err) != PRG_OK) {
        prg_report_error(report, &err);
    } else {
        file->vm->arena = arena;
        if (prg_vm_call(file->vm, survey_protected, &survey, &err) == PRG_OK)
            check_survey(file, &survey, report);
        else
            prg_report_error(report, &err);
        file->vm->arena = NULL;
    }
    if (report->count == errors)
        return file;
    prg_policy_file_free(file);
    return NULL;
}

void prg_policy_file_free(struct prg_policy_file *file)
{
    if (!file)
        return;
    prg_vm_free(file->vm);
    file->vm = NULL;
}

// ---- functions ----

void prg_policy_file_push_table(lua_State *L, const struct prg_policy_file *file)
{
    prg_source_run(L);
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_pushliteral(L, "options");
    prg_view_push(L, file->options);
    lua_rawset(L, -4); // the environment is below the table
    lua_remove(L, -2);
}

void prg_policy_file_push_field(lua_State *L, const struct prg_policy_file *file, int table, int function)
{
    lua_getfield(L, table, file->contract->functions[function]);
    if (lua_type(L, -1) != LUA_TFUNCTION)
        prg_vm_raise(L, 0, "%s is not a function any more", file->contract->functions[function]);
    prg_vm_of(L)->function_line = file->lines[function];
}

void prg_policy_file_push_function(lua_State *L, const struct prg_policy_file *file, int function)
{
    prg_policy_file_push_table(L, file);
    prg_policy_file_push_field(L, file, lua_gettop(L), function);
    lua_remove(L, -2);
}
