// SPDX-License-Identifier: Apache-2.0
// console.c: lines typed by hand, in the sandbox and its limits, over one environment that is kept.
#include <stdlib.h>
#include <string.h>

#include "policy/convert.h"
#include "policy/sandbox.h"
#include "policy/spec.h"
#include "policy/view.h"
#include "yaml/dump.h"

struct prg_console {
    struct prg_spec_state state; // policies under test, arena, the library (lua/spec/console.lua)
    struct prg_policy_set *set;
    int environment; // luaL_ref
};

// ---- opening ----

static int open_protected(lua_State *L)
{
    struct prg_console *console = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "console");
    prg_spec_push_host(L, &console->state);
    prg_spec_run_library(L, "support", 1);
    lua_setfield(L, 1, "support");
    prg_spec_run_library(L, "console", 1);
    prg_sandbox_push_environment(L);
    lua_getfield(L, 2, "globals");
    lua_pushnil(L);
    while (lua_next(L, 4)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, 3);
    }
    lua_settop(L, 3);
    console->environment = luaL_ref(L, LUA_REGISTRYINDEX);
    console->state.library = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

int prg_console_new(const struct prg_policy_limits *limits, struct prg_console **ret, struct prg_error *err)
{
    struct prg_console *console = prg_xcalloc(1, sizeof(*console));
    struct prg_spec_state *state = &console->state;
    state->path = "line";
    state->fixtures = ".";
    prg_arena_init(&state->arena);
    prg_map_init(&state->policies);
    state->vm = prg_vm_new(limits, err);
    if (state->vm) {
        state->vm->arena = &state->arena;
        state->vm->source = "@line";
        state->vm->config = state->vm->compat = prg_json_object(&state->arena);
    }
    if (!state->vm || prg_vm_call(state->vm, open_protected, console, err) != PRG_OK) {
        prg_console_free(console);
        return err ? err->code : PRG_LIMIT;
    }
    *ret = console;
    return PRG_OK;
}

void prg_console_free(struct prg_console *console)
{
    if (!console)
        return;
    prg_vm_free(console->state.vm);
    prg_map_release(&console->state.policies);
    prg_arena_release(&console->state.arena);
    prg_policy_set_unref(console->set);
    free(console);
}

void prg_console_set_policies(struct prg_console *console, struct prg_policy_set *set)
{
    const struct prg_map_entry *entry;
    struct prg_policy_set *old = console->set;
    for (size_t i = 0; (entry = prg_map_next(&console->state.policies, &i));)
        luaL_unref(console->state.vm->L, LUA_REGISTRYINDEX, ((const struct prg_spec_policy *)entry->value)->chunk);
    prg_map_clear(&console->state.policies);
    console->set = prg_policy_set_ref(set);
    console->state.set = set;
    prg_policy_set_unref(old);
}

void prg_console_interrupt(struct prg_console *console)
{
    console->state.vm->is_interrupted = 1;
}

// ---- globals ----

struct definition {
    struct prg_console *console;
    const char *name;
    const cJSON *value;
};

static int define_protected(lua_State *L)
{
    const struct definition *definition = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, definition->console->environment);
    lua_pushstring(L, definition->name);
    prg_view_push(L, definition->value);
    lua_rawset(L, -3);
    return 0;
}

int prg_console_define(struct prg_console *console, const char *name, const cJSON *value, struct prg_error *err)
{
    struct definition definition = {console, name, value};
    struct prg_vm *vm = console->state.vm;
    if (strcmp(name, "config") == 0 && value)
        vm->config = value;
    if (strcmp(name, "compat") == 0 && value)
        vm->compat = value;
    return prg_vm_call(vm, define_protected, &definition, err);
}

// ---- showing values ----

struct line {
    struct prg_console *console;
    const char *text;              // of the line, or the arguments of a call
    const char *policy, *function; // of a call
    struct prg_strbuf *out;
    bool is_incomplete;
};

// In a protected call of its own: 1 the value, 2 the line (light).
static int show_protected(lua_State *L)
{
    const struct line *line = lua_touserdata(L, 2);
    const cJSON *node = prg_convert(L, 1, &line->console->state.arena, PRG_SHAPE_ANY, "value");
    prg_yaml_dump(line->out, node);
    return 0;
}

// What JSON does not have: a table is shown by its names, anything else by its kind.
static void show_other(lua_State *L, int index, struct prg_strbuf *out)
{
    if (!lua_istable(L, index)) {
        prg_strbuf_printf(out, "%s\n", prg_base_type_name(L, index));
        return;
    }
    lua_pushnil(L);
    while (lua_next(L, index)) {
        if (lua_type(L, -2) == LUA_TSTRING)
            prg_strbuf_printf(out, "%.200s: %s\n", lua_tostring(L, -2), prg_base_type_name(L, lua_gettop(L)));
        lua_pop(L, 1);
    }
}

static void show_values(lua_State *L, struct line *line, int first)
{
    struct prg_vm *vm = prg_vm_of(L);
    int top = lua_gettop(L);
    prg_strbuf_add(line->out, vm->printed.text, vm->printed.length);
    prg_strbuf_clear(&vm->printed);
    luaL_checkstack(L, 10, "values");
    for (int i = first; i <= top; i++) {
        if (i > first)
            prg_strbuf_puts(line->out, "---\n");
        if (lua_isnil(L, i)) {
            prg_strbuf_puts(line->out, "nil\n");
            continue;
        }
        size_t length = line->out->length;
        lua_pushcfunction(L, show_protected);
        lua_pushvalue(L, i);
        lua_pushlightuserdata(L, line);
        int status = lua_pcall(L, 2, 0, 0);
        prg_vm_pass_trip(L);
        if (status != LUA_OK) {
            prg_strbuf_truncate(line->out, length);
            show_other(L, i, line->out);
        }
        lua_settop(L, top);
    }
}

// ---- lines ----

static bool ends_too_early(lua_State *L)
{
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    return text && length >= 5 && strcmp(text + length - 5, "<eof>") == 0;
}

// Pushes the compiled line: as an expression when it is one.
static bool compile(lua_State *L, struct line *line)
{
    lua_pushfstring(L, "return %s", line->text);
    size_t length;
    const char *expression = lua_tolstring(L, -1, &length);
    if (luaL_loadbufferx(L, expression, length, "@line", "t") != LUA_OK) {
        lua_pop(L, 1);
        if (luaL_loadbufferx(L, line->text, strlen(line->text), "@line", "t") != LUA_OK) {
            line->is_incomplete = ends_too_early(L);
            if (line->is_incomplete)
                return false;
            lua_error(L);
        }
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, line->console->environment);
    if (!lua_setupvalue(L, -2, 1))
        lua_pop(L, 1);
    return true;
}

static int run_protected(lua_State *L)
{
    struct line *line = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "line");
    if (!compile(L, line))
        return 0;
    int first = lua_gettop(L);
    lua_call(L, 0, LUA_MULTRET);
    show_values(L, line, first);
    return 0;
}

static int call_protected(lua_State *L)
{
    struct line *line = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "call");
    lua_rawgeti(L, LUA_REGISTRYINDEX, line->console->state.library);
    lua_getfield(L, 1, "call");
    int first = lua_gettop(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, line->console->environment);
    lua_pushstring(L, line->policy);
    lua_pushstring(L, line->function);
    if (!compile(L, line))
        prg_vm_raise(L, 0, "the arguments end too early");
    lua_remove(L, -2); // the text of the expression
    lua_call(L, 0, LUA_MULTRET);
    lua_call(L, lua_gettop(L) - first, LUA_MULTRET);
    show_values(L, line, first);
    return 0;
}

// What was printed before an error is shown too.
static int run_line(struct line *line, lua_CFunction body, struct prg_error *err)
{
    struct prg_vm *vm = line->console->state.vm;
    int rc = prg_vm_call(vm, body, line, err);
    if (rc == PRG_OK)
        return rc;
    prg_strbuf_add(line->out, vm->printed.text, vm->printed.length);
    if (!vm->trip && prg_text_has_prefix(vm->error_file, "spec/")) { // the library's own lines say nothing to people
        prg_error_clear(err);
        return prg_fail(err, PRG_POLICY, "%s", vm->error_text);
    }
    return rc;
}

int prg_console_run(struct prg_console *console, const char *text, struct prg_strbuf *out, bool *ret_incomplete,
                    struct prg_error *err)
{
    struct line line = {.console = console, .text = text, .out = out};
    int rc = run_line(&line, run_protected, err);
    *ret_incomplete = line.is_incomplete;
    return rc;
}

int prg_console_call(struct prg_console *console, const char *policy, const char *function, const char *arguments,
                     struct prg_strbuf *out, struct prg_error *err)
{
    struct line line = {.console = console, .text = arguments, .policy = policy, .function = function, .out = out};
    return run_line(&line, call_protected, err);
}

// ---- specs and completion ----

struct texts {
    struct prg_console *console;
    const char *given;
    struct prg_strbuf *first, *second;
};

static void add_result(lua_State *L, int index, struct prg_strbuf *out)
{
    size_t length;
    const char *text = lua_tolstring(L, index, &length);
    if (text)
        prg_strbuf_add(out, text, length);
}

static int spec_protected(lua_State *L)
{
    const struct texts *texts = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, texts->console->state.library);
    lua_getfield(L, -1, "spec");
    lua_call(L, 0, 2);
    add_result(L, -2, texts->first);
    add_result(L, -1, texts->second);
    return 0;
}

int prg_console_spec(struct prg_console *console, struct prg_strbuf *text, struct prg_strbuf *policy,
                     struct prg_error *err)
{
    struct texts texts = {.console = console, .first = text, .second = policy};
    if (prg_vm_call(console->state.vm, spec_protected, &texts, err) != PRG_OK)
        return err->code;
    return text->length ? PRG_OK : prg_fail(err, PRG_INVALID, "nothing to save: call POLICY FUNCTION comes first");
}

static int complete_protected(lua_State *L)
{
    const struct texts *texts = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, texts->console->state.library);
    lua_getfield(L, -1, "complete");
    lua_rawgeti(L, LUA_REGISTRYINDEX, texts->console->environment);
    lua_pushstring(L, texts->given);
    lua_call(L, 2, 1);
    add_result(L, -1, texts->first);
    return 0;
}

void prg_console_complete(struct prg_console *console, const char *text, struct prg_strbuf *out)
{
    struct texts texts = {.console = console, .given = text, .first = out};
    struct prg_error ignored = {0};
    (void)!prg_vm_call(console->state.vm, complete_protected, &texts, &ignored);
}
