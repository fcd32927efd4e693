// SPDX-License-Identifier: Apache-2.0
// script.c: one Lua file in the sandbox, run on one JSON value after the other (perigee eval).
#include <stdlib.h>
#include <string.h>

#include "policy/convert.h"
#include "policy/sandbox.h"
#include "policy/source.h"
#include "policy/view.h"

struct prg_script {
    struct prg_vm *vm;
    char *chunk_name; // "@NAME"
};

struct run {
    struct prg_arena *arena;
    const struct prg_script_call *call;
    const cJSON *input;
    cJSON *value;
};

// Stack of a run.
enum { SLOT_ENVIRONMENT = 1, SLOT_VALUE };

enum { MOST_ARGUMENTS = 64 };

// ---- names of Lua 5.1 ----

// A name that is not there: the field of perigee.lua51, or of its table for a library. upvalue 1: name of the library,
// or nil for globals. Scripts that other systems run are written for Lua 5.1.
static int lua51_index(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING)
        return 0;
    luaL_checkstack(L, 8, "Lua 5.1");
    lua_rawgeti(L, LUA_REGISTRYINDEX, prg_vm_of(L)->ref.globals);
    lua_pushliteral(L, "perigee");
    lua_rawget(L, -2);
    lua_getfield(L, -1, "lua51");
    if (!lua_isnil(L, lua_upvalueindex(1)))
        lua_getfield(L, -1, lua_tostring(L, lua_upvalueindex(1)));
    lua_getfield(L, -1, lua_tostring(L, 2));
    return 1;
}

// Lets the table on top ask lua51_index for what it lacks; pops it.
static void extend(lua_State *L, const char *library)
{
    lua_createtable(L, 0, 1);
    lua_pushstring(L, library); // nil for NULL
    lua_pushcclosure(L, lua51_index, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

static int extend_protected(lua_State *L)
{
    static const char *const libraries[] = {"math", "string", "table"};
    luaL_checkstack(L, 8, "Lua 5.1");
    lua_rawgeti(L, LUA_REGISTRYINDEX, prg_vm_of(L)->ref.globals);
    for (size_t i = 0; i < PRG_COUNT(libraries); i++) {
        lua_getfield(L, -1, libraries[i]);
        lua_getmetatable(L, -1); // of the read-only front
        lua_getfield(L, -1, "__index");
        extend(L, libraries[i]);
        lua_pop(L, 2);
    }
    extend(L, NULL);
    return 0;
}

// ---- running ----

// Pushes the arguments of the function; their number.
static int push_arguments(lua_State *L, const struct run *run)
{
    int count = 0;
    const cJSON *item;
    if (!run->input)
        return 0;
    if (!run->call->is_spread) {
        prg_view_push(L, run->input);
        return 1;
    }
    if (!prg_json_is_array(run->input))
        prg_vm_raise(L, 0, "the line must be a list of arguments, not %s", prg_json_type_name(run->input));
    luaL_checkstack(L, MOST_ARGUMENTS, "arguments");
    prg_json_each (item, run->input) {
        if (++count > MOST_ARGUMENTS)
            prg_vm_raise(L, 0, "more than %d arguments", MOST_ARGUMENTS);
        prg_convert_push_copy(L, item);
    }
    return count;
}

// All results, from index first on, as a list in their place.
static void pack_results(lua_State *L, int first)
{
    int count = lua_gettop(L) - first + 1;
    luaL_checkstack(L, 6, "results");
    lua_createtable(L, count, 0);
    lua_insert(L, first);
    for (int i = count; i > 0; i--) {
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
            prg_view_push_null(L);
        }
        lua_rawseti(L, first, i);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, prg_vm_of(L)->ref.array_mark);
    lua_setmetatable(L, first);
}

// Calls the function that the script returned in a table, or left as a global.
static void call_function(lua_State *L, const struct run *run)
{
    const char *name = run->call->function;
    if (lua_istable(L, SLOT_VALUE))
        lua_getfield(L, SLOT_VALUE, name);
    else
        lua_pushnil(L);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushstring(L, name);
        lua_rawget(L, SLOT_ENVIRONMENT);
    }
    if (lua_type(L, -1) != LUA_TFUNCTION)
        prg_vm_raise(L, 0, "there is no function '%s': the script neither returns it in a table nor sets it", name);
    int function = lua_gettop(L), count = push_arguments(L, run);
    lua_call(L, count, run->call->wants_all ? LUA_MULTRET : 1);
    if (run->call->wants_all)
        pack_results(L, function);
    lua_settop(L, function);
    lua_replace(L, SLOT_VALUE);
}

static int run_protected(lua_State *L)
{
    struct run *run = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 10, "script");
    prg_sandbox_push_environment(L);
    if (run->call->as && run->input) {
        lua_pushstring(L, run->call->as);
        prg_view_push(L, run->input);
        lua_rawset(L, SLOT_ENVIRONMENT);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, prg_vm_of(L)->ref.chunk);
    lua_pushvalue(L, SLOT_ENVIRONMENT);
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    if (run->call->function)
        call_function(L, run);
    run->value = prg_convert(L, SLOT_VALUE, run->arena, PRG_SHAPE_ANY, "value");
    return 0;
}

int prg_script_load(const char *name, const char *text, size_t length, const struct prg_policy_limits *limits,
                    struct prg_script **ret, struct prg_error *err)
{
    struct prg_script *script = prg_xcalloc(1, sizeof(*script));
    struct prg_source source = {.path = name, .text = text, .length = length};
    size_t size = strlen(name) + 2;
    script->chunk_name = prg_xmalloc(size);
    script->chunk_name[0] = '@';
    memcpy(script->chunk_name + 1, name, size - 1);
    script->vm = prg_vm_new(limits, err);
    int rc = script->vm ? prg_vm_call(script->vm, extend_protected, NULL, err) : PRG_LIMIT;
    if (rc == PRG_OK)
        rc = prg_source_compile(script->vm, &source, script->chunk_name, err);
    if (rc != PRG_OK) {
        prg_script_free(script);
        return rc;
    }
    *ret = script;
    return PRG_OK;
}

void prg_script_free(struct prg_script *script)
{
    if (!script)
        return;
    prg_vm_free(script->vm);
    free(script->chunk_name);
    free(script);
}

int prg_script_call(struct prg_script *script, struct prg_arena *arena, const struct prg_script_call *call,
                    const cJSON *input, cJSON **ret, struct prg_error *err)
{
    struct run run = {.arena = arena, .call = call, .input = input};
    script->vm->arena = arena;
    int rc = prg_vm_call(script->vm, run_protected, &run, err);
    script->vm->arena = NULL;
    prg_vm_expire(script->vm);
    if (rc == PRG_OK)
        *ret = run.value ? run.value : prg_json_null(arena);
    return rc;
}

int prg_script_run(struct prg_script *script, struct prg_arena *arena, const char *as, const cJSON *input,
                   const char *call, cJSON **ret, struct prg_error *err)
{
    struct prg_script_call all = {.as = as, .function = call};
    return prg_script_call(script, arena, &all, input, ret, err);
}

const char *prg_script_printed(const struct prg_script *script, size_t *ret_length)
{
    if (ret_length)
        *ret_length = script->vm->printed.length;
    return script->vm->printed.text;
}
