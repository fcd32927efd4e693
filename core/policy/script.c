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
    const char *as, *call;
    const cJSON *input;
    cJSON *value;
};

// Stack of a run.
enum { SLOT_ENVIRONMENT = 1, SLOT_VALUE };

// Calls the function that the script returned in a table, or left as a global.
static void call_function(lua_State *L, const struct run *run)
{
    if (lua_istable(L, SLOT_VALUE))
        lua_getfield(L, SLOT_VALUE, run->call);
    else
        lua_pushnil(L);
    if (lua_isnil(L, -1)) {
        lua_pushstring(L, run->call);
        lua_rawget(L, SLOT_ENVIRONMENT);
    }
    if (lua_type(L, -1) != LUA_TFUNCTION)
        prg_vm_raise(L, 0, "there is no function '%s': the script neither returns it in a table nor sets it",
                     run->call);
    if (run->input)
        prg_view_push(L, run->input);
    lua_call(L, run->input ? 1 : 0, 1);
    lua_replace(L, SLOT_VALUE);
}

static int run_protected(lua_State *L)
{
    struct run *run = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 10, "script");
    prg_sandbox_push_environment(L);
    if (run->as && run->input) {
        lua_pushstring(L, run->as);
        prg_view_push(L, run->input);
        lua_rawset(L, SLOT_ENVIRONMENT);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, prg_vm_of(L)->ref.chunk);
    lua_pushvalue(L, SLOT_ENVIRONMENT);
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    if (run->call)
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
    int rc = script->vm ? prg_source_compile(script->vm, &source, script->chunk_name, err) : PRG_LIMIT;
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

int prg_script_run(struct prg_script *script, struct prg_arena *arena, const char *as, const cJSON *input,
                   const char *call, cJSON **ret, struct prg_error *err)
{
    struct run run = {.arena = arena, .as = as, .call = call, .input = input};
    script->vm->arena = arena;
    int rc = prg_vm_call(script->vm, run_protected, &run, err);
    script->vm->arena = NULL;
    prg_vm_expire(script->vm);
    if (rc == PRG_OK)
        *ret = run.value ? run.value : prg_json_null(arena);
    return rc;
}

const char *prg_script_printed(const struct prg_script *script, size_t *ret_length)
{
    if (ret_length)
        *ret_length = script->vm->printed.length;
    return script->vm->printed.text;
}
