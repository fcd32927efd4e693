// SPDX-License-Identifier: Apache-2.0
// library.c: what scripts find under `perigee`.
#include "policy/library.h"

#include <string.h>

#include "policy/builtin.h"
#include "policy/convert.h"
#include "policy/sandbox.h"
#include "policy/view.h"

enum { NATIVE_ARGS = 8 };
static const char *const arg_names[NATIVE_ARGS] = {"argument 1", "argument 2", "argument 3", "argument 4",
                                                   "argument 5", "argument 6", "argument 7", "argument 8"};

static const struct prg_native *natives;
static size_t native_count;

void prg_policy_set_natives(const struct prg_native *table, size_t count)
{
    natives = table;
    native_count = count;
}

// ---- C functions ----

// What a refusal is: the function was asked rightly and says no. The script gets nil and the text, as from Lua's own
// functions. Anything else is a mistake of the caller and raises.
static bool is_refusal(int code)
{
    return code == PRG_CONFLICT || code == PRG_NOTFOUND;
}

// upvalue 1: struct prg_native
static int call_native(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    const struct prg_native *native = lua_touserdata(L, lua_upvalueindex(1));
    const cJSON *args[NATIVE_ARGS];
    char text[PRG_VM_TEXT];
    int count = lua_gettop(L);
    if (!vm->arena)
        prg_vm_raise(L, 1, "perigee.%s cannot be called here", native->name);
    luaL_argcheck(L, count <= NATIVE_ARGS, NATIVE_ARGS + 1, "too many arguments");
    size_t before = vm->arena->used_bytes;
    for (int i = 1; i <= count; i++) {
        args[i - 1] = prg_convert_borrow(L, i, vm->arena, arg_names[i - 1]);
        prg_vm_charge(L, prg_json_count(args[i - 1]) / 8); // what it may walk through
    }
    struct prg_error err;
    cJSON *result = NULL;
    prg_error_clear(&err);
    int rc = native->fn(vm->arena, args, (size_t)count, &result, &err);
    prg_vm_charge(L, 10 + (vm->arena->used_bytes - before) / 64);
    prg_vm_charge_arena(L);
    if (rc == PRG_OK) {
        prg_view_push(L, result);
        return 1;
    }
    prg_error_text(&err, text, sizeof(text));
    if (!is_refusal(rc))
        prg_vm_raise(L, 1, "perigee.%s: %s", native->name, text);
    lua_pushnil(L);
    lua_pushstring(L, text);
    return 2;
}

static void push_native(lua_State *L, const struct prg_native *native)
{
    lua_pushlightuserdata(L, (void *)native);
    lua_pushcclosure(L, call_native, 1);
}

// Puts the functions "NAME.x" of the table into the module on top. *ret_found: there was one. When a function is called
// NAME itself it is pushed and true returned.
static bool add_natives(lua_State *L, const struct prg_native *table, size_t count, const char *name, bool *ret_found)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(table[i].name, name, length) != 0)
            continue;
        if (table[i].name[length] == '\0') {
            push_native(L, &table[i]);
            return true;
        }
        if (table[i].name[length] != '.')
            continue;
        push_native(L, &table[i]);
        lua_setfield(L, -2, table[i].name + length + 1);
        *ret_found = true;
    }
    return false;
}

// ---- modules ----

static const struct prg_builtin *find_module(const char *name)
{
    for (size_t i = 0; i < prg_builtin_module_count; i++)
        if (strcmp(prg_builtin_modules[i].name, name) == 0)
            return &prg_builtin_modules[i];
    return NULL;
}

// Runs the module's file; what its table holds goes into the module on top. The file gets the C functions of its name
// as its argument. Making a module is not the caller's work, so its steps do not count.
static void run_module(lua_State *L, const char *folder, const struct prg_builtin *file)
{
    struct prg_vm *vm = prg_vm_of(L);
    uint64_t steps = vm->steps;
    int module = lua_gettop(L);
    lua_pushfstring(L, "@%s/%s.lua", folder, file->name);
    if (luaL_loadbufferx(L, file->text, file->length, lua_tostring(L, -1), "t") != LUA_OK)
        lua_error(L);
    prg_sandbox_push_environment(L);
    lua_setupvalue(L, -2, 1);
    lua_pushvalue(L, module);
    lua_call(L, 1, 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, module);
    }
    lua_settop(L, module);
    vm->steps = steps;
}

// Pushes perigee.NAME, or nil when there is no such thing.
static void push_module(lua_State *L, const char *name)
{
    bool found = false;
    const struct prg_builtin *file = find_module(name);
    lua_newtable(L);
    int module = lua_gettop(L);
    if (add_natives(L, prg_core_natives, prg_core_native_count, name, &found) ||
        add_natives(L, natives, native_count, name, &found)) {
        lua_remove(L, module);
        return;
    }
    if (file)
        run_module(L, "perigee", file);
    if (file || found) {
        lua_pushfstring(L, "perigee.%s", name);
        lua_insert(L, module);
        prg_sandbox_freeze(L, lua_tostring(L, module));
        lua_remove(L, module);
    } else {
        lua_pop(L, 1);
        lua_pushnil(L);
    }
}

// Which parts of a table that fills itself are there already depends on earlier calls, so it cannot be walked.
static int refuse_pairs(lua_State *L)
{
    prg_vm_raise(L, 1, "%s cannot be walked; its parts are listed in the policy guide",
                 lua_tostring(L, lua_upvalueindex(1)));
}

static void freeze_lazy(lua_State *L, const char *name)
{
    prg_sandbox_freeze(L, name);
    lua_getmetatable(L, -1);
    lua_pushstring(L, name);
    lua_pushcclosure(L, refuse_pairs, 1);
    lua_setfield(L, -2, "__pairs");
    lua_pop(L, 1);
}

// ---- perigee.shipped ----

// perigee.shipped.NAME has no such field yet: 1 the table, 2 the name. The shipped policy's table, in the state of the
// caller: a set calls the rule that it replaces. It sees no options.
static int shipped_index(lua_State *L)
{
    const struct prg_builtin *file = NULL;
    if (lua_type(L, 2) != LUA_TSTRING)
        return 0;
    for (size_t i = 0; i < prg_builtin_policy_count; i++)
        if (strcmp(prg_builtin_policies[i].name, lua_tostring(L, 2)) == 0)
            file = &prg_builtin_policies[i];
    if (!file)
        return 0;
    luaL_checkstack(L, 10, "shipped policy");
    lua_newtable(L);
    run_module(L, "shipped", file);
    lua_pushfstring(L, "perigee.shipped.%s", file->name);
    lua_insert(L, -2);
    prg_sandbox_freeze(L, lua_tostring(L, -2));
    lua_remove(L, -2);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_rawset(L, 1);
    return 1;
}

static void push_shipped(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushcfunction(L, shipped_index);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    freeze_lazy(L, "perigee.shipped");
}

// ---- perigee ----

static int refuse_at_top_level(lua_State *L, const char *name)
{
    prg_vm_raise(L, 1, "perigee.%s can be read inside the functions of a policy only", name);
}

// perigee's own table has no such field yet: 1 the table, 2 the name.
static int library_index(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    if (lua_type(L, 2) != LUA_TSTRING)
        return 0;
    const char *name = lua_tostring(L, 2);
    bool is_config = strcmp(name, "config") == 0;
    if (is_config || strcmp(name, "compat") == 0) {
        if (vm->at_top_level)
            return refuse_at_top_level(L, name);
        vm->has_looked = true;
        prg_view_push(L, is_config ? vm->config : vm->compat);
        return 1;
    }
    luaL_checkstack(L, 10, "module");
    if (strcmp(name, "shipped") == 0)
        push_shipped(L);
    else
        push_module(L, name);
    if (lua_isnil(L, -1))
        return 1;
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_rawset(L, 1);
    return 1;
}

static int mark(lua_State *L, int mark_ref, const char *function)
{
    if (lua_gettop(L) == 0)
        lua_newtable(L);
    lua_settop(L, 1);
    if (prg_view_is(L, 1))
        prg_convert_push_copy(L, prg_view_node(L, 1));
    luaL_checktype(L, -1, LUA_TTABLE);
    if (lua_getmetatable(L, -1)) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, mark_ref);
        if (!lua_rawequal(L, -1, -2))
            prg_vm_raise(L, 1, "perigee.%s: the table is of another kind or has a metatable", function);
        lua_pop(L, 2);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, mark_ref);
    lua_setmetatable(L, -2);
    return 1;
}

// perigee.array(t): the same table, a list even when it is empty. A view of a list gives a copy.
static int library_array(lua_State *L)
{
    return mark(L, prg_vm_of(L)->ref.array_mark, "array");
}

static int library_object(lua_State *L)
{
    return mark(L, prg_vm_of(L)->ref.object_mark, "object");
}

// perigee.copy(v): a view as tables that can be changed; other values as they are.
static int library_copy(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    if (prg_view_is(L, 1))
        prg_convert_push_copy(L, prg_view_node(L, 1));
    return 1;
}

// perigee.kind(v): "object", "array", "string", "number", "boolean", "null", "nothing", or Lua's type.
static int library_kind(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    const char *kind = luaL_typename(L, 1);
    lua_settop(L, 1);
    const cJSON *node = prg_view_node(L, 1);
    if (node) {
        kind = prg_json_type_name(node);
    } else if (prg_view_is_null(L, 1)) {
        kind = "null";
    } else if (lua_isnil(L, 1)) {
        kind = "nothing";
    } else if (lua_istable(L, 1)) {
        kind = lua_rawlen(L, 1) > 0 ? "array" : "object";
        if (lua_getmetatable(L, 1)) {
            lua_rawgeti(L, LUA_REGISTRYINDEX, vm->ref.array_mark);
            if (lua_rawequal(L, -1, -2))
                kind = "array";
        }
    }
    lua_pushstring(L, kind);
    return 1;
}

void prg_library_push(lua_State *L)
{
    static const luaL_Reg functions[] = {{"array", library_array},
                                         {"copy", library_copy},
                                         {"kind", library_kind},
                                         {"object", library_object},
                                         {NULL, NULL}};
    struct prg_vm *vm = prg_vm_of(L);
    luaL_checkstack(L, 8, "perigee");
    lua_newtable(L);
    vm->ref.array_mark = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L);
    vm->ref.object_mark = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    prg_view_push_null(L);
    lua_setfield(L, -2, "null");
    lua_newtable(L);
    lua_pushcfunction(L, library_index);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    freeze_lazy(L, "perigee");
}

void prg_library_each_name(void (*visit)(const char *name, size_t length, void *ctx), void *ctx)
{
    static const char *const own[] = {"array", "compat", "config", "copy", "kind", "null", "object", "shipped"};
    const struct prg_native *tables[] = {prg_core_natives, natives};
    const size_t counts[] = {prg_core_native_count, native_count};
    for (size_t i = 0; i < PRG_COUNT(own); i++)
        visit(own[i], strlen(own[i]), ctx);
    for (size_t i = 0; i < prg_builtin_module_count; i++)
        visit(prg_builtin_modules[i].name, strlen(prg_builtin_modules[i].name), ctx);
    for (size_t table = 0; table < PRG_COUNT(tables); table++)
        for (size_t i = 0; i < counts[table]; i++)
            visit(tables[table][i].name, strcspn(tables[table][i].name, "."), ctx);
}
