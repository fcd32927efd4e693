// SPDX-License-Identifier: Apache-2.0
// spec_host.c: what specs get from C: the policies under test, run as in a plan, and files to test with.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/builtin.h"
#include "policy/convert.h"
#include "policy/library.h"
#include "policy/sandbox.h"
#include "policy/spec.h"
#include "policy/view.h"
#include "yaml/load.h"

enum { FIXTURE_BYTES = 2 << 20 };

static struct prg_spec_state *state_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

// line(level): the line at which the caller's caller … is.
static int host_line(lua_State *L)
{
    lua_Debug ar;
    int level = (int)luaL_checkinteger(L, 1);
    if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "l", &ar))
        ar.currentline = 0;
    lua_pushinteger(L, ar.currentline > 0 ? ar.currentline : 0);
    return 1;
}

// ---- the policies under test ----

// The file of that name in the set's folder, else the shipped one. NULL when there is neither.
static struct prg_spec_policy *find_policy(struct prg_spec_state *state, const char *name)
{
    struct prg_spec_policy *policy = prg_arena_new(&state->arena, struct prg_spec_policy);
    policy->name = prg_arena_strdup(&state->arena, name);
    for (size_t i = 0; state->set && i < state->set->source_count; i++) {
        const struct prg_set_source *found = &state->set->sources[i];
        if (strcmp(found->name, name) != 0)
            continue;
        policy->source = found->source;
        policy->options = found->options;
        return policy;
    }
    for (size_t i = 0; i < prg_builtin_policy_count; i++) {
        const struct prg_builtin *builtin = &prg_builtin_policies[i];
        if (strcmp(builtin->name, name) != 0)
            continue;
        policy->source = (struct prg_source){.path = prg_arena_printf(&state->arena, "shipped/%s.lua", name),
                                             .text = builtin->text,
                                             .length = builtin->length};
        const struct prg_contract *contract = prg_contract_by_name(name);
        for (int layer = 0; state->set && contract && layer < PRG_SET_LAYERS; layer++) {
            const struct prg_policy_file *file = state->set->files[contract - prg_contracts][layer];
            if (file && file->is_shipped && strcmp(file->name, name) == 0)
                policy->options = file->options;
        }
        return policy;
    }
    return NULL;
}

// Compiled once for each state.
static struct prg_spec_policy *get_policy(lua_State *L, struct prg_spec_state *state, const char *name)
{
    struct prg_spec_policy *policy = prg_map_get(&state->policies, name);
    if (policy)
        return policy;
    policy = find_policy(state, name);
    if (!policy)
        prg_vm_raise(L, 2, "there is no policy '%s': neither %s.lua in the folder nor among the shipped ones", name,
                     name);
    policy->chunk_name = prg_arena_printf(&state->arena, "@%s", policy->source.path);
    if (luaL_loadbufferx(L, policy->source.text, policy->source.length, policy->chunk_name, "t") != LUA_OK)
        lua_error(L);
    if (state->coverage)
        prg_coverage_add_chunk(state->coverage, L, policy->chunk_name);
    policy->chunk = luaL_ref(L, LUA_REGISTRYINDEX);
    prg_map_put(&state->policies, name, policy);
    return policy;
}

static const cJSON *field_tree(lua_State *L, struct prg_spec_state *state, const char *key)
{
    lua_getfield(L, 2, key);
    const cJSON *node = lua_isnil(L, -1) ? NULL : prg_convert(L, lua_gettop(L), &state->arena, PRG_SHAPE_OBJECT, key);
    lua_pop(L, 1);
    return node;
}

static bool is_own_field(const char *key)
{
    return strcmp(key, "config") == 0 || strcmp(key, "compat") == 0 || strcmp(key, "options") == 0;
}

// Fields that are to stand in for parts of `perigee` (a table at 2) go into the environment on top.
static void lay_over_perigee(lua_State *L)
{
    int environment = lua_gettop(L);
    lua_newtable(L);
    bool any = false;
    lua_pushnil(L);
    while (lua_next(L, 2)) {
        if (lua_type(L, -2) == LUA_TSTRING && !is_own_field(lua_tostring(L, -2))) {
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, environment + 1);
            any = true;
        }
        lua_pop(L, 1);
    }
    if (any) {
        lua_newtable(L);
        lua_getfield(L, environment, "perigee");
        lua_setfield(L, -2, "__index");
        lua_setmetatable(L, environment + 1);
        lua_setfield(L, environment, "perigee");
    }
    lua_settop(L, environment);
}

struct policy_call {
    struct prg_spec_policy *policy;
    const cJSON *options; // given by the spec, laid over those of the set or the file; or NULL
};

// Pushes the options of a call: those of the set, else those that the file's table (at `table`) declares, with what the
// spec gives laid over them.
static void push_options(lua_State *L, const struct policy_call *call, int table)
{
    struct prg_arena *arena = prg_vm_of(L)->arena;
    const cJSON *item;
    cJSON *options = call->policy->options ? prg_json_copy(arena, call->policy->options) : NULL;
    if (!options) {
        if (lua_getfield(L, table, "options") == LUA_TTABLE)
            options = prg_convert(L, lua_gettop(L), arena, PRG_SHAPE_OBJECT, "options");
        lua_pop(L, 1);
    }
    if (!options)
        options = prg_json_object(arena);
    prg_json_each (item, call->options)
        prg_json_set(arena, options, item->string, prg_json_copy(arena, item));
    prg_view_push(L, options);
}

// 1 struct policy_call (light), 2 the fields, 3 the function's name or nil, 4 … the arguments. Runs the file anew, as a
// plan does, then the function. Returns its results, or what the file returns.
static int call_body(lua_State *L)
{
    const struct policy_call *call = lua_touserdata(L, 1);
    struct prg_vm *vm = prg_vm_of(L);
    int count = lua_gettop(L);
    luaL_checkstack(L, count + 20, "policy");
    prg_sandbox_push_environment(L);
    lay_over_perigee(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, call->policy->chunk);
    lua_pushvalue(L, count + 1);
    if (!lua_setupvalue(L, -2, 1))
        lua_pop(L, 1);
    vm->at_top_level = true;
    lua_call(L, 0, 1); // count + 2: what the file returns
    vm->at_top_level = false;
    if (lua_istable(L, count + 2)) {
        lua_pushliteral(L, "options");
        push_options(L, call, count + 2);
        lua_rawset(L, count + 1);
    }
    if (lua_isnil(L, 3))
        return 1;
    if (!lua_istable(L, count + 2) || lua_getfield(L, count + 2, lua_tostring(L, 3)) != LUA_TFUNCTION)
        prg_vm_raise(L, 0, "%s is not a function of the policy any more", lua_tostring(L, 3));
    for (int i = 4; i <= count; i++) {
        if (lua_istable(L, i))
            prg_view_push(L, prg_convert(L, i, vm->arena, PRG_SHAPE_ANY, "argument"));
        else
            lua_pushvalue(L, i);
    }
    int base = lua_gettop(L) - (count - 3) - 1;
    lua_call(L, count - 3, LUA_MULTRET);
    return lua_gettop(L) - base;
}

// run(name, fields): what the file returns. call(name, fields, function, …): what the function returns.
static int host_call(lua_State *L)
{
    struct prg_spec_state *state = state_of(L);
    struct prg_vm *vm = prg_vm_of(L);
    struct policy_call call = {get_policy(L, state, luaL_checkstring(L, 1)), NULL};
    luaL_checktype(L, 2, LUA_TTABLE);
    if (lua_gettop(L) < 3)
        lua_settop(L, 3);
    const cJSON *config = field_tree(L, state, "config"), *compat = field_tree(L, state, "compat");
    call.options = field_tree(L, state, "options");
    const char *source = vm->source;
    const cJSON *old_config = vm->config, *old_compat = vm->compat;
    if (config)
        vm->config = config;
    if (compat)
        vm->compat = compat;
    lua_pushlightuserdata(L, &call);
    lua_replace(L, 1);
    lua_pushcfunction(L, call_body);
    lua_insert(L, 1);
    lua_pushcfunction(L, prg_vm_handle_nested);
    lua_insert(L, 1);
    vm->source = call.policy->chunk_name; // errors and trips are told with the policy's line
    int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
    vm->source = source;
    vm->at_top_level = false;
    vm->config = old_config;
    vm->compat = old_compat;
    prg_vm_pass_trip(L);
    if (status != LUA_OK)
        return lua_error(L);
    return lua_gettop(L) - 1;
}

// mentions(name, word): is the word in the text of the policy?
static int host_mentions(lua_State *L)
{
    const struct prg_spec_policy *policy = get_policy(L, state_of(L), luaL_checkstring(L, 1));
    lua_pushboolean(L, prg_source_find(&policy->source, luaL_checkstring(L, 2), 0).line != 0);
    return 1;
}

// ---- things to test with ----

static int host_view(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    if (lua_istable(L, 1))
        prg_view_push(L, prg_convert(L, 1, prg_vm_of(L)->arena, PRG_SHAPE_ANY, "view"));
    return 1;
}

// Specs read below the folder of fixtures, nowhere else.
static const char *fixture_path(lua_State *L, const struct prg_spec_state *state, const char *path)
{
    bool climbs = false;
    for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
        climbs = climbs || (p[0] == '.' && p[1] == '.' && (p[2] == '/' || !p[2]));
    if (!state->fixtures)
        prg_vm_raise(L, 2, "%.200s: this spec reads no files", path);
    if (path[0] == '/' || climbs || !*path)
        prg_vm_raise(L, 2, "%.200s: a spec reads files below %s only", path, state->fixtures);
    return prg_arena_printf(prg_vm_of(L)->arena, "%s/%s", state->fixtures, path);
}

// In an arena: a raise loses nothing.
static const char *read_fixture(lua_State *L, const char *path, size_t *ret_length)
{
    struct prg_arena *arena = prg_vm_of(L)->arena;
    const char *full = fixture_path(L, state_of(L), path);
    const char *text;
    struct prg_error err;
    prg_error_clear(&err);
    if (prg_policy_read_file(arena, full, FIXTURE_BYTES, &text, ret_length, &err) != PRG_OK) {
        char why[PRG_VM_TEXT];
        prg_vm_raise(L, 2, "%s", prg_error_text(&err, why, sizeof(why)));
    }
    prg_vm_charge(L, 10 + *ret_length / 16);
    prg_vm_charge_arena(L);
    return text;
}

static int host_read(lua_State *L)
{
    size_t length;
    const char *text = read_fixture(L, luaL_checkstring(L, 1), &length);
    lua_pushlstring(L, text, length);
    return 1;
}

static int push_documents(lua_State *L, const char *name, const char *text, size_t length)
{
    struct prg_vm *vm = prg_vm_of(L);
    struct prg_yaml_docs docs;
    struct prg_error err;
    char shown[PRG_VM_TEXT];
    prg_error_clear(&err);
    if (prg_yaml_load(vm->arena, name, text, length, NULL, &docs, &err) != PRG_OK)
        prg_vm_raise(L, 2, "%s", prg_error_text(&err, shown, sizeof(shown)));
    prg_vm_charge(L, 10 + length / 4);
    prg_vm_charge_arena(L);
    lua_createtable(L, (int)docs.count, 0);
    for (size_t i = 0; i < docs.count; i++) {
        prg_view_push(L, docs.items[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int host_objects(lua_State *L)
{
    size_t length;
    const char *path = luaL_checkstring(L, 1), *text = read_fixture(L, path, &length);
    return push_documents(L, path, text, length);
}

static int host_yaml(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    return push_documents(L, "yaml", text, length);
}

// ---- names, for completion ----

static void add_name(const char *name, size_t length, void *ctx)
{
    prg_strbuf_add(ctx, name, length);
    prg_strbuf_putc(ctx, ' ');
}

static void add_global(const char *name, void *ctx)
{
    if (!strchr(name, '.'))
        add_name(name, strlen(name), ctx);
}

static int host_library_names(lua_State *L)
{
    struct prg_strbuf *names = &prg_vm_of(L)->scratch;
    prg_strbuf_clear(names);
    prg_library_each_name(add_name, names);
    lua_pushlstring(L, names->text, names->length);
    return 1;
}

static int host_global_names(lua_State *L)
{
    struct prg_strbuf *names = &prg_vm_of(L)->scratch;
    prg_strbuf_clear(names);
    prg_sandbox_each_global(add_global, names);
    prg_strbuf_puts(names, "math string table utf8");
    lua_pushlstring(L, names->text, names->length);
    return 1;
}

void prg_spec_push_host(lua_State *L, struct prg_spec_state *state)
{
    static const luaL_Reg functions[] = {{"call", host_call},
                                         {"global_names", host_global_names},
                                         {"library_names", host_library_names},
                                         {"line", host_line},
                                         {"mentions", host_mentions},
                                         {"objects", host_objects},
                                         {"read", host_read},
                                         {"run", host_call},
                                         {"view", host_view},
                                         {"yaml", host_yaml},
                                         {NULL, NULL}};
    lua_newtable(L);
    lua_pushlightuserdata(L, state);
    luaL_setfuncs(L, functions, 1);
}
