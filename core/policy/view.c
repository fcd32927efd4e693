// SPDX-License-Identifier: Apache-2.0
// view.c: read-only userdata over JSON trees.
//
// The metamethods below are only called by the VM (nothing in the sandbox hands out a metatable), so the userdata at 1
// is always of the kind the metamethod belongs to.
#include "policy/view.h"

#include <stdlib.h>
#include <string.h>

#include "policy/sandbox.h"

struct view {
    const cJSON *node;
    uint64_t generation;
    const cJSON *at;                    // lists: the item looked at last …
    size_t at_index;                    // … and its index from 1; 0: none yet
    size_t count;                       // lists: items, SIZE_MAX: not counted yet
    bool is_watched;                    // a look at it is noted
    uint32_t front;                     // number of the front that it is or belongs to; 0: of none
    const struct prg_view_watch *watch; // a look at it is noted, but for one at a plain member; or NULL
};

enum {
    FRONT_MEMBERS = 64,   // of an object that gets a table; more are looked for, and charged
    FRONT_TEXT = 512,     // longest text that is put there unasked
    FRONT_BYTES = 131072, // more than a front can take
    FRONT_BLOCK = 131072, // more than its largest block, or the list of all fronts, can
};
enum { EAGER_INNER = 3 }; // members up to which an object inside an eager one is eager too

static const char view_key;   // in metatables of views: true
static const char number_key; // in the metatable of number views: true
static const char null_value; // its address is perigee.null

// ---- making ----

static void push_userdata(lua_State *L, const cJSON *node, int meta)
{
    struct view *view = lua_newuserdatauv(L, sizeof(*view), 0);
    view->node = node;
    view->generation = prg_vm_of(L)->generation;
    view->at = NULL;
    view->at_index = 0;
    view->count = SIZE_MAX;
    view->is_watched = false;
    view->watch = NULL;
    view->front = 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, meta);
    lua_setmetatable(L, -2);
}

// A number whose float prints as a number of the same value loses nothing as a float.
static bool is_exact_float(const cJSON *node, double value)
{
    char text[64];
    cJSON shortest = {.type = cJSON_Number, .valuestring = text};
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return prg_json_equal(node, &shortest);
}

static void push_number(lua_State *L, const cJSON *node)
{
    int64_t integer;
    if (prg_json_int64(node, &integer)) {
        lua_pushinteger(L, integer);
        return;
    }
    double value = prg_json_as_double(node);
    if (value - value == 0 && is_exact_float(node, value)) // finite
        lua_pushnumber(L, value);
    else
        push_userdata(L, node, prg_vm_of(L)->ref.number_meta);
}

void prg_view_push_null(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)&null_value);
}

void prg_view_push(lua_State *L, const cJSON *node)
{
    if (!node) {
        lua_pushnil(L);
        return;
    }
    switch (node->type & 0xff) {
    case cJSON_Object:
        push_userdata(L, node, prg_vm_of(L)->ref.object_meta);
        break;
    case cJSON_Array:
        push_userdata(L, node, prg_vm_of(L)->ref.array_meta);
        break;
    case cJSON_String:
        lua_pushlstring(L, prg_json_text(node), prg_json_text_length(node));
        break;
    case cJSON_Number:
        push_number(L, node);
        break;
    case cJSON_NULL:
        prg_view_push_null(L);
        break;
    default:
        lua_pushboolean(L, prg_json_is_true(node));
        break;
    }
}

// ---- asking ----

static bool has_key(lua_State *L, int index, const void *key)
{
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index))
        return false;
    bool found = lua_rawgetp(L, -1, key) != LUA_TNIL;
    lua_pop(L, 2);
    return found;
}

bool prg_view_is(lua_State *L, int index)
{
    return has_key(L, index, &view_key);
}

bool prg_view_is_null(lua_State *L, int index)
{
    return lua_type(L, index) == LUA_TLIGHTUSERDATA && lua_touserdata(L, index) == (void *)&null_value;
}

// When the view was given away.
static uint64_t generation_of(const struct prg_vm *vm, const struct view *view)
{
    const struct prg_vm_fronts *fronts = &vm->fronts;
    if (!view->front)
        return view->generation;
    return view->front > fronts->gone && view->front - fronts->gone <= fronts->count
               ? fronts->given[view->front - fronts->gone - 1]
               : 0;
}

static struct view *check_live(lua_State *L, int index)
{
    struct view *view = lua_touserdata(L, index);
    const struct prg_vm *vm = prg_vm_of(L);
    if (generation_of(vm, view) != vm->generation)
        prg_vm_raise(L, 1, "this view has expired: nothing may be kept from an earlier call");
    return view;
}

// For whoever looks at the whole of it.
static struct view *check(lua_State *L, int index)
{
    struct view *view = check_live(L, index);
    struct prg_vm *vm = prg_vm_of(L);
    vm->has_looked = vm->has_looked || view->is_watched || view->watch;
    return view;
}

const cJSON *prg_view_node(lua_State *L, int index)
{
    if (!has_key(L, index, &view_key) && !has_key(L, index, &number_key))
        return NULL;
    return check(L, index)->node;
}

bool prg_view_push_nearest(lua_State *L, int index)
{
    if (!has_key(L, index, &number_key))
        return false;
    lua_pushnumber(L, prg_json_as_double(check(L, index)->node));
    return true;
}

// ---- objects ----

static bool is_named(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return !names;
}

// Pushes the member of a view that notes what is read.
static void push_noting(lua_State *L, const struct prg_view_watch *watch, const cJSON *member)
{
    bool has_inner = watch->key && strcmp(member->string, watch->key) == 0 && prg_json_is_object(member);
    prg_view_push(L, member);
    if (has_inner)
        ((struct view *)lua_touserdata(L, -1))->watch = watch->inner;
}

static int object_index(lua_State *L)
{
    const struct view *view = check_live(L, 1);
    struct prg_vm *vm = prg_vm_of(L);
    size_t length, seen = 0;
    if (lua_type(L, 2) != LUA_TSTRING)
        return 0;
    const char *key = lua_tolstring(L, 2, &length);
    const cJSON *item;
    if (view->is_watched || (view->watch && !is_named(view->watch->plain, key)))
        vm->has_looked = true;
    prg_json_each (item, view->node) {
        seen++;
        if (item->string[0] == key[0] && strcmp(item->string, key) == 0)
            break;
    }
    if (seen > 64)
        prg_vm_charge(L, seen / 8);
    if (!item || strlen(key) != length) // keys hold no NUL
        return 0;
    if (view->watch)
        push_noting(L, view->watch, item);
    else
        prg_view_push(L, item);
    return 1;
}

// Tables with text keys have no length either.
static int object_len(lua_State *L)
{
    check(L, 1);
    lua_pushinteger(L, 0);
    return 1;
}

static int compare_members(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

// Upvalues: 1 the members by key (array of const cJSON *), 2 how many were seen, 3 the view.
static int step_object(lua_State *L)
{
    const cJSON *const *members = lua_touserdata(L, lua_upvalueindex(1));
    size_t count = lua_rawlen(L, lua_upvalueindex(1)) / sizeof(*members);
    size_t at = (size_t)lua_tointeger(L, lua_upvalueindex(2));
    check(L, lua_upvalueindex(3));
    if (at >= count)
        return 0;
    lua_pushinteger(L, (lua_Integer)at + 1);
    lua_replace(L, lua_upvalueindex(2));
    lua_pushstring(L, members[at]->string);
    prg_view_push(L, members[at]);
    return 2;
}

static int object_pairs(lua_State *L)
{
    const struct view *view = check(L, 1);
    size_t count = prg_json_count(view->node), at = 0;
    const cJSON *item;
    lua_settop(L, 1);
    const cJSON **members = lua_newuserdatauv(L, count * sizeof(*members), 0);
    prg_vm_charge(L, 10 + 2 * count);
    prg_json_each (item, view->node)
        members[at++] = item;
    qsort(members, count, sizeof(*members), compare_members);
    lua_pushinteger(L, 0);
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, step_object, 3);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

static int object_next(lua_State *L, const cJSON *object)
{
    const cJSON *best = NULL, *item;
    size_t count = 0;
    const char *after = lua_isnil(L, 2) ? NULL : luaL_checkstring(L, 2);
    prg_json_each (item, object) {
        count++;
        if ((!after || strcmp(item->string, after) > 0) && (!best || strcmp(item->string, best->string) < 0))
            best = item;
    }
    prg_vm_charge(L, count / 8);
    if (!best) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushstring(L, best->string);
    prg_view_push(L, best);
    return 2;
}

// ---- lists ----

// Item number index (from 1) or NULL. Going on from the last one, forward or back, is one step; so is the end of a list
// that was counted. The first item of a list points back at the last one.
static const cJSON *list_item(lua_State *L, struct view *view, lua_Integer index)
{
    if (index < 1)
        return NULL;
    if (view->count != SIZE_MAX && (size_t)index > view->count)
        return NULL;
    if (view->count != SIZE_MAX && view->count - (size_t)index < (size_t)index &&
        (view->at_index == 0 || view->at_index + view->count < 2 * (size_t)index)) {
        view->at = view->node->child->prev;
        view->at_index = view->count;
    } else if (view->at_index == 0 || (size_t)index < view->at_index / 2) {
        view->at = view->node->child;
        view->at_index = 1;
    }
    size_t walked = 0;
    while (view->at_index > (size_t)index) {
        view->at = view->at->prev;
        view->at_index--;
        if ((++walked & 511) == 0)
            prg_vm_charge(L, 64);
    }
    const cJSON *item = view->at;
    size_t at = view->at_index;
    while (item && at < (size_t)index) {
        view->at = item;
        view->at_index = at;
        item = item->next;
        at++;
        if ((++walked & 511) == 0)
            prg_vm_charge(L, 64);
    }
    if (walked >= 8)
        prg_vm_charge(L, (walked & 511) / 8);
    if (item) {
        view->at = item;
        view->at_index = at;
    }
    return item;
}

static int array_index(lua_State *L)
{
    struct view *view = check(L, 1);
    int is_integer;
    lua_Integer index = lua_type(L, 2) == LUA_TNUMBER ? lua_tointegerx(L, 2, &is_integer) : (is_integer = 0);
    if (!is_integer)
        return 0;
    prg_view_push(L, list_item(L, view, index));
    return 1;
}

static int array_len(lua_State *L)
{
    struct view *view = check(L, 1);
    if (view->count == SIZE_MAX) {
        view->count = prg_json_count(view->node);
        prg_vm_charge(L, view->count / 8);
    }
    lua_pushinteger(L, (lua_Integer)view->count);
    return 1;
}

static int array_next(lua_State *L, struct view *view)
{
    lua_Integer index = lua_isnil(L, 2) ? 0 : luaL_checkinteger(L, 2);
    const cJSON *item = index < 0 || index == LUA_MAXINTEGER ? NULL : list_item(L, view, index + 1);
    if (!item) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushinteger(L, index + 1);
    prg_view_push(L, item);
    return 2;
}

static int step_array(lua_State *L)
{
    lua_settop(L, 2);
    return prg_view_next(L);
}

static int array_pairs(lua_State *L)
{
    check(L, 1);
    lua_pushcfunction(L, step_array);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

int prg_view_next(lua_State *L)
{
    luaL_argcheck(L, prg_view_is(L, 1), 1, "table expected");
    struct view *view = check(L, 1);
    return prg_json_is_array(view->node) ? array_next(L, view) : object_next(L, view->node);
}

// ---- all of them ----

static int view_newindex(lua_State *L)
{
    prg_vm_raise(L, 1, "views are read-only; perigee.copy gives a table that can be changed");
}

static size_t count_nodes(const cJSON *node)
{
    size_t count = 1;
    const cJSON *item;
    prg_json_each (item, node)
        count += count_nodes(item); // depth is bounded by the readers
    return count;
}

static int view_eq(lua_State *L)
{
    const cJSON *a = prg_view_node(L, 1), *b = prg_view_node(L, 2);
    bool same = a && a == b;
    if (a && b && !same) {
        prg_vm_charge(L, count_nodes(a) / 4);
        same = prg_json_equal(a, b);
    }
    lua_pushboolean(L, same);
    return 1;
}

static int view_text(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    const cJSON *node = check(L, 1)->node;
    prg_vm_charge(L, 10 + 4 * count_nodes(node));
    prg_strbuf_clear(&vm->scratch);
    prg_json_print(&vm->scratch, node, PRG_JSON_SORTED);
    prg_vm_charge_bytes(L, vm->scratch.length);
    lua_pushlstring(L, vm->scratch.text, vm->scratch.length);
    return 1;
}

static int number_text(lua_State *L)
{
    lua_pushstring(L, prg_json_number_text(check(L, 1)->node));
    return 1;
}

static int number_concat(lua_State *L)
{
    lua_settop(L, 2);
    prg_base_push_text(L, 1, NULL);
    prg_base_push_text(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

static int number_arithmetic(lua_State *L)
{
    int index = has_key(L, 1, &number_key) ? 1 : 2; // the other one may be any value
    prg_vm_raise(L, 1, "the number %.100s cannot be computed with exactly; tonumber gives the nearest float",
                 prg_json_number_text(prg_view_node(L, index)));
}

static const luaL_Reg object_functions[] = {{"__index", object_index},
                                            {"__len", object_len},
                                            {"__pairs", object_pairs},
                                            {"__newindex", view_newindex},
                                            {"__eq", view_eq},
                                            {"__tostring", view_text},
                                            {NULL, NULL}};

// Fills the metatable on top.
static void fill_meta(lua_State *L, const luaL_Reg *functions, const char *name, const char *type, const void *key)
{
    for (; functions->name; functions++) {
        lua_pushcfunction(L, functions->func);
        lua_setfield(L, -2, functions->name);
    }
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pushstring(L, type);
    lua_rawsetp(L, -2, &prg_base_type_key);
    lua_pushboolean(L, true);
    lua_rawsetp(L, -2, key);
}

// Pushes a view whose __index is a table, which the VM reads without a call; that table lies on top of it. plain: the
// members to put there, NULL: all.
static void push_with_table(lua_State *L, const cJSON *object, const char *const *plain)
{
    const cJSON *item;
    luaL_checkstack(L, 7, "view");
    push_userdata(L, object, prg_vm_of(L)->ref.object_meta);
    lua_createtable(L, 0, 9); // a metatable of its own
    fill_meta(L, object_functions + 1, "object", "table", &view_key);
    lua_createtable(L, 0, (int)prg_json_count(object));
    prg_json_each (item, object) {
        if (!is_named(plain, item->string))
            continue;
        lua_pushstring(L, item->string);
        if (prg_json_is_object(item) && prg_json_count(item) <= EAGER_INNER)
            prg_view_push_eager(L, item);
        else
            prg_view_push(L, item);
        lua_rawset(L, -3);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__index");
    lua_insert(L, -2);
    lua_setmetatable(L, -3);
}

void prg_view_push_eager(lua_State *L, const cJSON *object)
{
    push_with_table(L, object, NULL);
    lua_pop(L, 1);
}

// A member that is not in the table of a watched view (upvalue 1): 1 the table, 2 the key.
static int watched_index(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_replace(L, 1);
    return object_index(L);
}

void prg_view_push_watched(lua_State *L, const cJSON *object, const char *const *plain)
{
    push_with_table(L, object, plain);
    ((struct view *)lua_touserdata(L, -2))->is_watched = true;
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, watched_index, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

void prg_view_push_noting(lua_State *L, const cJSON *object, const struct prg_view_watch *watch)
{
    push_userdata(L, object, prg_vm_of(L)->ref.object_meta);
    ((struct view *)lua_touserdata(L, -1))->watch = watch;
}

// ---- fronts ----

static bool fits_front(const cJSON *object)
{
    const cJSON *item;
    size_t count = 0;
    prg_json_each (item, object) {
        if (++count > FRONT_MEMBERS || strlen(item->string) > FRONT_TEXT ||
            (prg_json_is_string(item) && prg_json_text_length(item) > FRONT_TEXT))
            return false;
    }
    return true;
}

// Pushes the view of a front's object. depth: levels below it whose objects get tables as well.
static void push_in_front(lua_State *L, uint32_t number, const cJSON *object, int depth)
{
    const cJSON *item;
    luaL_checkstack(L, 8, "view");
    push_userdata(L, object, prg_vm_of(L)->ref.object_meta);
    ((struct view *)lua_touserdata(L, -1))->front = number;
    lua_createtable(L, 0, 9);
    fill_meta(L, object_functions + 1, "object", "table", &view_key);
    lua_createtable(L, 0, (int)prg_json_count(object));
    prg_json_each (item, object) {
        lua_pushstring(L, item->string);
        if (prg_json_is_object(item) && depth > 0 && fits_front(item)) {
            push_in_front(L, number, item, depth - 1);
        } else {
            prg_view_push(L, item);
            if (lua_type(L, -1) == LUA_TUSERDATA)
                ((struct view *)lua_touserdata(L, -1))->front = number;
        }
        lua_rawset(L, -3);
    }
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

static void push_front_table(lua_State *L, struct prg_vm_fronts *fronts)
{
    if (!fronts->table) {
        lua_newtable(L);
        fronts->table = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, fronts->table);
}

static void give_front(struct prg_vm *vm, size_t index)
{
    vm->fronts.given[index] = vm->generation;
}

bool prg_view_push_front(lua_State *L, const char *key, size_t length)
{
    struct prg_vm *vm = prg_vm_of(L);
    size_t place = (size_t)(uintptr_t)prg_map_getn(&vm->fronts.by_key, key, length);
    if (!place)
        return false;
    push_front_table(L, &vm->fronts);
    lua_rawgeti(L, -1, (lua_Integer)place);
    lua_remove(L, -2);
    give_front(vm, place - 1);
    return true;
}

void prg_view_make_front(lua_State *L, const char *key, size_t length, const cJSON *object)
{
    struct prg_vm *vm = prg_vm_of(L);
    struct prg_vm_fronts *fronts = &vm->fronts;
    size_t index = fronts->count;
    if (!fits_front(object) || vm->limits.max_block_bytes < FRONT_BLOCK || vm->limits.max_memory_bytes < FRONT_BYTES) {
        prg_view_push(L, object);
        return;
    }
    luaL_checkstack(L, 8, "view");
    fronts->reserved = FRONT_BYTES; // until the next call if something raises below; then nothing is kept
    fronts->making = 0;
    push_front_table(L, fronts);
    push_in_front(L, (uint32_t)(fronts->gone + index + 1), object, 1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, (lua_Integer)index + 1);
    lua_remove(L, -2);
    fronts->bytes += fronts->making;
    fronts->reserved = 0;
    if (index == fronts->cap) {
        fronts->cap = fronts->cap ? fronts->cap * 2 : 64;
        fronts->given = prg_xrealloc(fronts->given, fronts->cap * sizeof(*fronts->given));
    }
    fronts->count++;
    prg_map_putn(&fronts->by_key, key, length, (void *)(uintptr_t)(index + 1)); // NOLINT(performance-no-int-to-ptr)
    give_front(vm, index);
}

static void make_meta(lua_State *L, const luaL_Reg *functions, const char *name, const char *type, const void *key,
                      int *ret_ref)
{
    lua_newtable(L);
    fill_meta(L, functions, name, type, key);
    *ret_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

void prg_view_open(lua_State *L)
{
    static const luaL_Reg array[] = {{"__index", array_index},
                                     {"__len", array_len},
                                     {"__pairs", array_pairs},
                                     {"__newindex", view_newindex},
                                     {"__eq", view_eq},
                                     {"__tostring", view_text},
                                     {NULL, NULL}};
    static const luaL_Reg number[] = {{"__eq", view_eq},
                                      {"__tostring", number_text},
                                      {"__concat", number_concat},
                                      {"__add", number_arithmetic},
                                      {"__sub", number_arithmetic},
                                      {"__mul", number_arithmetic},
                                      {"__div", number_arithmetic},
                                      {"__mod", number_arithmetic},
                                      {"__idiv", number_arithmetic},
                                      {"__pow", number_arithmetic},
                                      {"__unm", number_arithmetic},
                                      {"__lt", number_arithmetic},
                                      {"__le", number_arithmetic},
                                      {NULL, NULL}};
    struct prg_vm *vm = prg_vm_of(L);
    make_meta(L, object_functions, "object", "table", &view_key, &vm->ref.object_meta);
    make_meta(L, array, "list", "table", &view_key, &vm->ref.array_meta);
    make_meta(L, number, "number view", "userdata", &number_key, &vm->ref.number_meta);
}
