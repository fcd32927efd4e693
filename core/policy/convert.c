// SPDX-License-Identifier: Apache-2.0
// convert.c: Lua values to JSON trees, strictly.
#include "policy/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sandbox.h"
#include "policy/text.h"
#include "policy/view.h"
#include "json/pointer.h"

// Where a value is: a chain up the C stack, made into a JSON pointer only for an error.
struct place {
    const struct place *up;
    const char *key; // NULL: index
    size_t index;
    unsigned depth;
};

struct conversion {
    lua_State *L;
    struct prg_arena *arena;
    const char *what;
    size_t nodes;
};

static void add_pointer(struct prg_strbuf *out, const struct place *place)
{
    if (!place || !place->up)
        return; // the root
    add_pointer(out, place->up);
    if (place->key)
        prg_pointer_push(out, place->key);
    else
        prg_pointer_push_index(out, place->index);
}

PRG_NORETURN static void refuse(struct conversion *c, const struct place *place, const char *problem)
{
    struct prg_strbuf *pointer = &prg_vm_of(c->L)->scratch; // problem must not lie in it
    char shown[256];
    prg_strbuf_clear(pointer);
    add_pointer(pointer, place);
    prg_text_show(shown, sizeof(shown), pointer->text, pointer->length);
    prg_vm_raise(c->L, 1, "%s%s%s: %s", c->what, shown[0] ? " " : "", shown, problem);
}

static cJSON *convert(struct conversion *c, int index, const struct place *place, enum prg_shape shape);

static cJSON *convert_number(struct conversion *c, int index, const struct place *place)
{
    if (lua_isinteger(c->L, index))
        return prg_json_int(c->arena, lua_tointeger(c->L, index));
    double value = lua_tonumber(c->L, index);
    if (!isfinite(value))
        refuse(c, place, isnan(value) ? "JSON has no 'nan'" : "JSON has no infinite numbers");
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        return prg_json_int(c->arena, (int64_t)value);
    return prg_json_double(c->arena, value);
}

static cJSON *convert_text(struct conversion *c, int index, const struct place *place)
{
    size_t length;
    const char *text = lua_tolstring(c->L, index, &length);
    prg_vm_charge_bytes(c->L, length);
    if (prg_utf8_prefix(text, length) != length)
        refuse(c, place, "the text is not valid UTF-8");
    return prg_json_stringn(c->arena, text, length);
}

// ---- tables ----

struct member {
    const char *key;
    cJSON *value;
};

static int compare_members(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

// What kind of keys the table at index has.
struct survey {
    size_t count, texts, integers;
    lua_Integer largest;
    bool has_other;      // a key that is neither
    const char *example; // its type
};

static struct survey survey_keys(struct conversion *c, int index)
{
    struct survey survey = {0};
    lua_State *L = c->L;
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        survey.count++;
        if (lua_type(L, -1) == LUA_TSTRING) {
            survey.texts++;
        } else if (lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1) {
            survey.integers++;
            if (lua_tointeger(L, -1) > survey.largest)
                survey.largest = lua_tointeger(L, -1);
        } else {
            survey.has_other = true;
            survey.example = prg_base_type_name(L, -1);
        }
    }
    prg_vm_charge(L, survey.count);
    return survey;
}

static enum prg_shape shape_of(struct conversion *c, int index, const struct place *place, enum prg_shape expected)
{
    lua_State *L = c->L;
    struct prg_vm *vm = prg_vm_of(L);
    enum prg_shape marked = PRG_SHAPE_ANY;
    if (lua_getmetatable(L, index)) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, vm->ref.array_mark);
        lua_rawgeti(L, LUA_REGISTRYINDEX, vm->ref.object_mark);
        if (lua_rawequal(L, -3, -2))
            marked = PRG_SHAPE_LIST;
        else if (lua_rawequal(L, -3, -1))
            marked = PRG_SHAPE_OBJECT;
        else
            refuse(c, place, "a table with a metatable cannot be turned into JSON");
        lua_pop(L, 3);
    }
    struct survey keys = survey_keys(c, index);
    if (keys.has_other)
        refuse(c, place, "the keys of a table must be texts, or 1 to n");
    if (keys.texts && keys.integers)
        refuse(c, place, "the table has both texts and numbers as keys");
    if (keys.integers && (size_t)keys.largest != keys.count)
        refuse(c, place, "the list has a hole");
    if (keys.count == 0)
        return marked != PRG_SHAPE_ANY ? marked : expected != PRG_SHAPE_ANY ? expected : PRG_SHAPE_OBJECT;
    enum prg_shape shape = keys.integers ? PRG_SHAPE_LIST : PRG_SHAPE_OBJECT;
    if (marked != PRG_SHAPE_ANY && marked != shape)
        refuse(c, place,
               marked == PRG_SHAPE_LIST ? "perigee.array holds texts as keys" : "perigee.object holds numbers as keys");
    return shape;
}

static cJSON *convert_list(struct conversion *c, int index, const struct place *place)
{
    lua_State *L = c->L;
    cJSON *list = prg_json_array(c->arena);
    lua_Integer count = (lua_Integer)lua_rawlen(L, index);
    for (lua_Integer i = 1; i <= count; i++) {
        struct place item = {.up = place, .index = (size_t)i - 1, .depth = place->depth + 1};
        lua_rawgeti(L, index, i);
        prg_json_append(list, convert(c, lua_gettop(L), &item, PRG_SHAPE_ANY));
        lua_pop(L, 1);
    }
    return list;
}

// Links members, which are sorted, below object.
static void link_members(cJSON *object, const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cJSON *value = members[i].value;
        value->string = (char *)members[i].key;
        value->next = i + 1 < count ? members[i + 1].value : NULL;
        value->prev = members[i > 0 ? i - 1 : count - 1].value; // the first one's prev is the last
    }
    object->child = count ? members[0].value : NULL;
}

static cJSON *convert_object(struct conversion *c, int index, const struct place *place)
{
    lua_State *L = c->L;
    cJSON *object = prg_json_object(c->arena);
    size_t count = 0, at = 0;
    lua_pushnil(L);
    for (; lua_next(L, index); count++)
        lua_pop(L, 1);
    struct member *members = prg_arena_array(c->arena, struct member, count);
    lua_pushnil(L);
    for (; lua_next(L, index); at++) {
        size_t length;
        const char *key = lua_tolstring(L, -2, &length);
        struct place member = {.up = place, .key = key, .depth = place->depth + 1};
        if (strlen(key) != length)
            refuse(c, place, "a key holds a NUL byte");
        if (prg_utf8_prefix(key, length) != length)
            refuse(c, place, "a key is not valid UTF-8");
        members[at].key = prg_arena_strndup(c->arena, key, length);
        members[at].value = convert(c, lua_gettop(L), &member, PRG_SHAPE_ANY);
        lua_pop(L, 1);
    }
    qsort(members, count, sizeof(*members), compare_members);
    link_members(object, members, count);
    return object;
}

static cJSON *convert_table(struct conversion *c, int index, const struct place *place, enum prg_shape expected)
{
    if (place->depth >= PRG_JSON_DEPTH)
        refuse(c, NULL, "tables are nested too deeply; does one hold itself?");
    luaL_checkstack(c->L, 8, "conversion");
    if (shape_of(c, index, place, expected) == PRG_SHAPE_LIST)
        return convert_list(c, index, place);
    return convert_object(c, index, place);
}

static size_t count_nodes(const cJSON *node)
{
    size_t count = 1;
    const cJSON *item;
    prg_json_each (item, node)
        count += count_nodes(item); // depth is bounded by the readers
    return count;
}

static void count(struct conversion *c, size_t nodes)
{
    struct prg_vm *vm = prg_vm_of(c->L);
    char problem[96];
    c->nodes += nodes;
    prg_vm_charge(c->L, nodes);
    prg_vm_charge_arena(c->L);
    if (c->nodes <= vm->limits.max_result_nodes)
        return;
    snprintf(problem, sizeof(problem), "holds more than %zu values (limit resultNodes)", vm->limits.max_result_nodes);
    refuse(c, NULL, problem);
}

static cJSON *convert_value(struct conversion *c, int index, const struct place *place, enum prg_shape shape)
{
    lua_State *L = c->L;
    char problem[96];
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
        return prg_json_bool(c->arena, lua_toboolean(L, index));
    case LUA_TNUMBER:
        return convert_number(c, index, place);
    case LUA_TSTRING:
        return convert_text(c, index, place);
    case LUA_TTABLE:
        return convert_table(c, index, place, shape);
    default:
        break;
    }
    if (prg_view_is_null(L, index))
        return prg_json_null(c->arena);
    const cJSON *node = prg_view_node(L, index);
    if (node) {
        count(c, count_nodes(node) - 1);
        return prg_json_copy(c->arena, node);
    }
    snprintf(problem, sizeof(problem), "a %s cannot be turned into JSON", prg_base_type_name(L, index));
    refuse(c, place, problem);
}

static cJSON *convert(struct conversion *c, int index, const struct place *place, enum prg_shape shape)
{
    count(c, 1);
    cJSON *node = convert_value(c, index, place, shape);
    if (shape == PRG_SHAPE_OBJECT && !prg_json_is_object(node))
        refuse(c, place, "must be a table with texts as keys");
    if (shape == PRG_SHAPE_LIST && !prg_json_is_array(node))
        refuse(c, place, "must be a list");
    return node;
}

cJSON *prg_convert(lua_State *L, int index, struct prg_arena *arena, enum prg_shape shape, const char *what)
{
    struct conversion c = {.L = L, .arena = arena, .what = what};
    struct place root = {0};
    if (lua_isnoneornil(L, index))
        return NULL;
    return convert(&c, index, &root, shape);
}

const cJSON *prg_convert_borrow(lua_State *L, int index, struct prg_arena *arena, const char *what)
{
    if (lua_type(L, index) == LUA_TSTRING) { // the usual argument, made without ado
        size_t length;
        const char *text = lua_tolstring(L, index, &length);
        if (length < 256 && prg_utf8_prefix(text, length) == length)
            return prg_json_stringn(arena, text, length);
    }
    const cJSON *node = prg_view_node(L, index);
    return node ? node : prg_convert(L, index, arena, PRG_SHAPE_ANY, what);
}

const char *prg_convert_text(lua_State *L, int index, const char *what)
{
    size_t length;
    if (lua_isnil(L, index))
        return NULL;
    if (lua_type(L, index) != LUA_TSTRING)
        prg_vm_raise(L, 0, "%s must be a text, not %s", what, prg_base_answer_name(L, index));
    const char *text = lua_tolstring(L, index, &length);
    if (prg_utf8_prefix(text, length) != length || memchr(text, '\0', length))
        prg_vm_raise(L, 0, "%s must be UTF-8 without NUL bytes", what);
    return prg_arena_strndup(prg_vm_of(L)->arena, text, length);
}

// ---- the other way ----

void prg_convert_push_copy(lua_State *L, const cJSON *node)
{
    struct prg_vm *vm = prg_vm_of(L);
    const cJSON *item;
    lua_Integer i = 1;
    if (!prg_json_is_object(node) && !prg_json_is_array(node)) {
        prg_view_push(L, node);
        return;
    }
    bool is_list = prg_json_is_array(node);
    luaL_checkstack(L, 4, "copy");
    lua_newtable(L);
    prg_json_each (item, node) {
        prg_vm_charge(L, 1);
        if (!is_list)
            lua_pushstring(L, item->string);
        prg_convert_push_copy(L, item);
        if (is_list)
            lua_rawseti(L, -2, i++);
        else
            lua_rawset(L, -3);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, is_list ? vm->ref.array_mark : vm->ref.object_mark);
    lua_setmetatable(L, -2);
}
