// SPDX-License-Identifier: Apache-2.0
// sandbox.c: builds the globals of a state from the allow list.
#include "policy/sandbox.h"

#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "policy/library.h"
#include "policy/view.h"

struct entry {
    const char *library, *name;
    lua_CFunction function; // NULL: a value of Lua's math library, or made by the code below
};

static const struct entry entries[] = {
#define X(library, name, function) {library, #name, function},
    PRG_SANDBOX_FUNCTIONS(X)
#undef X
#define X(name) {"math", #name, NULL},
        PRG_SANDBOX_MATH(X)
#undef X
            {"utf8", "charpattern", NULL},
    {"", "perigee", NULL},
};

static const char *const libraries[] = {"math", "string", "table", "utf8"};

// ---- read-only tables ----

// Writes to a front. upvalue 1: the name of the library.
static int refuse_write(lua_State *L)
{
    prg_vm_raise(L, 1, "'%s' is read-only", lua_tostring(L, lua_upvalueindex(1)));
}

// pairs hands out what it walks, so it walks a copy. upvalue 1: the table behind the front.
static int front_pairs(lua_State *L)
{
    lua_settop(L, 0);
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, lua_upvalueindex(1))) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, 1);
    }
    return prg_base_pairs(L);
}

static int front_text(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
}

static int front_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, lua_upvalueindex(1)));
    return 1;
}

// Puts fronts in the place of the tables in the table on top. They are the program's own: shallow, without cycles.
static void freeze_inner(lua_State *L, const char *name)
{
    int table = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, table)) {
        if (lua_istable(L, -1)) {
            prg_sandbox_freeze(L, name);
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, table); // a field that is there may be set while walking
        } else {
            lua_pop(L, 1);
        }
    }
}

// A front is a userdata, not a proxy table: no function of the sandbox can write into it, whatever it is given.
void prg_sandbox_freeze(lua_State *L, const char *name)
{
    luaL_checkstack(L, 8, "read-only table");
    freeze_inner(L, name);
    lua_newuserdatauv(L, 0, 0);
    lua_createtable(L, 0, 6);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, front_pairs, 1);
    lua_setfield(L, -2, "__pairs");
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, front_len, 1);
    lua_setfield(L, -2, "__len");
    lua_pushstring(L, name);
    lua_pushcclosure(L, refuse_write, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushstring(L, name);
    lua_pushcclosure(L, front_text, 1);
    lua_setfield(L, -2, "__tostring");
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pushliteral(L, "table");
    lua_rawsetp(L, -2, &prg_base_type_key);
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

// ---- globals ----

static void push_math(lua_State *L, const char *name)
{
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_MATHLIBNAME);
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
}

static void push_entry(lua_State *L, const struct entry *entry)
{
    if (entry->function)
        lua_pushcfunction(L, entry->function);
    else if (strcmp(entry->library, "math") == 0)
        push_math(L, entry->name);
    else if (strcmp(entry->library, "utf8") == 0)
        lua_pushlstring(L, "[\0-\x7F\xC2-\xFD][\x80-\xBF]*", 14);
    else
        prg_library_push(L);
}

static void push_library(lua_State *L, const char *library)
{
    lua_createtable(L, 0, 16);
    for (size_t i = 0; i < PRG_COUNT(entries); i++) {
        if (strcmp(entries[i].library, library) != 0)
            continue;
        push_entry(L, &entries[i]);
        lua_setfield(L, -2, entries[i].name);
    }
}

// Methods of texts. The metatable is out of reach: there is no getmetatable, and setmetatable takes tables only.
static void set_text_methods(lua_State *L)
{
    lua_pushliteral(L, "");
    lua_createtable(L, 0, 16);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    prg_string_set_arithmetic(L);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

void prg_sandbox_open(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    luaL_checkstack(L, 10, "sandbox");
    prg_view_open(L);
    luaopen_math(L);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_MATHLIBNAME);
    push_library(L, "");
    for (size_t i = 0; i < PRG_COUNT(libraries); i++) {
        push_library(L, libraries[i]);
        if (strcmp(libraries[i], "string") == 0)
            set_text_methods(L);
        prg_sandbox_freeze(L, libraries[i]);
        lua_setfield(L, -2, libraries[i]);
    }
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "__index");
    vm->ref.env_meta = luaL_ref(L, LUA_REGISTRYINDEX);
    vm->ref.globals = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_MATHLIBNAME);
}

void prg_sandbox_push_environment(lua_State *L)
{
    lua_createtable(L, 0, 4);
    lua_rawgeti(L, LUA_REGISTRYINDEX, prg_vm_of(L)->ref.env_meta);
    lua_setmetatable(L, -2);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void prg_sandbox_each_global(void (*visit)(const char *name, void *ctx), void *ctx)
{
    const char *names[PRG_COUNT(entries)];
    prg_auto_arena arena;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(entries); i++)
        names[i] = entries[i].library[0] ? prg_arena_printf(&arena, "%s.%s", entries[i].library, entries[i].name)
                                         : entries[i].name;
    qsort(names, PRG_COUNT(names), sizeof(names[0]), compare_names);
    for (size_t i = 0; i < PRG_COUNT(names); i++)
        visit(names[i], ctx);
}
