// SPDX-License-Identifier: Apache-2.0
// test_library.c: the sandbox's own functions: what there is, the same answers as stock Lua, and the differences that
// are meant.
#include "policy_support.h"

#include <lualib.h>
#include <string.h>

#include "policy/vm.h"

// ---- the list of globals ----

static void add_name(const char *name, void *ctx)
{
    prg_strbuf_puts(ctx, name);
    prg_strbuf_putc(ctx, '\n');
}

static void the_globals_are_those_of_the_list(void **state)
{
    size_t length;
    prg_auto_strbuf names = PRG_STRBUF_INIT;
    const char *want = read_test_file(*state, "cases/policy/globals.txt", &length);
    prg_policy_each_global(add_name, &names);
    assert_string_equal(names.text, want);
}

// What a script really finds: each name is there, and the libraries hold nothing else.
static void scripts_find_exactly_the_listed_globals(void **state)
{
    size_t length;
    const char *list = read_test_file(*state, "cases/policy/globals.txt", &length);
    const char *code = "local listed, missing, extra = {}, {}, {} "
                       "for name in input.list:gmatch('%S+') do listed[name] = true "
                       "  local at = _ENV for word in name:gmatch('%w+') do at = at[word] end "
                       "  if at == nil then missing[#missing + 1] = name end end "
                       "for _, library in ipairs({'math', 'string', 'table', 'utf8'}) do "
                       "  for name in pairs(_ENV[library]) do name = library .. '.' .. name "
                       "    if not listed[name] then extra[#extra + 1] = name end end end "
                       "return {missing = perigee.array(missing), extra = perigee.array(extra)}";
    struct prg_error err = {0};
    struct prg_script *script;
    cJSON *input = prg_json_object(*state), *value;
    prg_json_set_string(*state, input, "list", list);
    assert_ok(prg_script_load("x.lua", code, strlen(code), NULL, &script, &err), &err);
    assert_ok(prg_script_run(script, *state, "input", input, NULL, &value, &err), &err);
    assert_json_text(*state, value, "{'missing': [], 'extra': []}");
    prg_script_free(script);
}

// ---- the same as stock Lua ----

static cJSON *run_stock(struct prg_arena *arena, const char *code, size_t length)
{
    lua_State *L = luaL_newstate();
    cJSON *list = prg_json_array(arena);
    luaL_openlibs(L);
    if (luaL_loadbuffer(L, code, length, "=stock") != LUA_OK || lua_pcall(L, 0, 1, 0) != LUA_OK)
        print_error("stock Lua: %s\n", lua_tostring(L, -1));
    assert_true(lua_istable(L, -1));
    for (lua_Integer i = 1; lua_geti(L, -1, i) != LUA_TNIL; i++) {
        size_t size;
        const char *text = lua_tolstring(L, -1, &size);
        prg_json_append(list, prg_json_stringn(arena, text, size));
        lua_pop(L, 1);
    }
    lua_close(L);
    return list;
}

// The list that the script returned is read in the vm, since not all of its texts are UTF-8.
struct listing {
    struct prg_arena *arena;
    cJSON *list;
    const char *code;
    size_t length;
};

static int list_in_sandbox(lua_State *L)
{
    struct listing *listing = lua_touserdata(L, 1);
    struct prg_vm *vm = prg_vm_of(L);
    if (luaL_loadbufferx(L, listing->code, listing->length, "=sandbox", "t") != LUA_OK)
        return lua_error(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, vm->ref.globals);
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    for (lua_Integer i = 1; lua_geti(L, -1, i) != LUA_TNIL; i++) {
        size_t size;
        const char *text = lua_tolstring(L, -1, &size);
        prg_json_append(listing->list, prg_json_stringn(listing->arena, text, size));
        lua_pop(L, 1);
    }
    return 0;
}

static void functions_answer_as_in_stock_lua(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_error err = {0};
    struct prg_policy_limits limits = {.max_steps = UINT64_MAX / 2, .max_wall_ms = 100000};
    struct listing listing = {.arena = arena, .list = prg_json_array(arena)};
    struct prg_vm *vm = prg_vm_new(&limits, &err);
    size_t differences = 0, count = 0;
    listing.code = read_test_file(arena, "cases/policy/library_compare.lua", &listing.length);
    const cJSON *stock = run_stock(arena, listing.code, listing.length);
    assert_non_null(vm);
    assert_ok(prg_vm_call(vm, list_in_sandbox, &listing, &err), &err);
    assert_int_equal(prg_json_count(listing.list), prg_json_count(stock));
    for (const cJSON *a = listing.list->child, *b = stock->child; a && b; a = a->next, b = b->next, count++)
        if (!prg_json_equal(a, b) && differences++ < 20)
            print_error("sandbox: %s\nstock:   %s\n", prg_json_text(a), prg_json_text(b));
    assert_int_equal(differences, 0);
    assert_true(count > 20000);
    prg_vm_free(vm);
}

// ---- meant differences ----

static void mistakes_in_a_pattern_are_found_whatever_the_text_is(void **state)
{
    assert_script_error(*state, "return ('x'):find('b[')", "malformed pattern (missing ']')");
    assert_script_error(*state, "return ('x'):find('b%')", "malformed pattern (ends with '%')");
    assert_script_error(*state, "return ('x'):gsub('(b', '')", "unfinished capture");
    assert_script_error(*state, "return ('x'):find(('a'):rep(5000) .. '*')", "longer than 4096 bytes");
    assert_script_error(*state, "return ('a'):rep(300):match(('a?'):rep(250))", "pattern too complex");
}

static void texts_with_nul_and_broken_utf8_are_told_apart(void **state)
{
    assert_script(*state, "return string.format('%5s|%.2s', 'a\\0b', 'a\\0b') == '  a\\0b|a\\0'", NULL, "true");
    assert_script_error(*state, "for _ in utf8.codes('\\x80') do end", "invalid UTF-8 code");
    assert_script_error(*state, "return utf8.len('\\u{7FFFFFFF}', 1, -1, true)", "lax decoding is not offered here");
}

static void no_text_holds_an_address(void **state)
{
    assert_script(*state,
                  "return {tostring({}), tostring(print), tostring(string), tostring(perigee), tostring(perigee.null)}",
                  NULL, "['table', 'function', 'string', 'perigee', 'null']");
    assert_script_error(*state, "return string.format('%p', {})", "invalid conversion '%p' to 'format'");
}

static void tables_are_walked_in_the_order_of_their_keys(void **state)
{
    assert_script(*state,
                  "local t = {z = 1, a = 2, [3] = 3, [1] = 4, [-1] = 5, [2.5] = 6, [true] = 7, [false] = 8, aa = 9} "
                  "local keys = {} for k in pairs(t) do keys[#keys + 1] = tostring(k) end "
                  "local more, k = {}, nil repeat k = next(t, k) more[#more + 1] = tostring(k) until k == nil "
                  "return {keys, more}",
                  NULL,
                  "[['-1', '1', '2.5', '3', 'a', 'aa', 'z', 'false', 'true'], "
                  "['-1', '1', '2.5', '3', 'a', 'aa', 'z', 'false', 'true', 'nil']]");
    assert_script(
        *state,
        "local t, keys = {a = 1, b = 2, c = 3}, {} for k in pairs(t) do keys[#keys + 1] = k t[k] = nil t.b = nil end "
        "return keys",
        NULL, "['a', 'c']");
    assert_script(*state, "local t, n = {1, 2, 3}, 0 for i, v in pairs(t) do n = n + v t[i] = nil end return n", NULL,
                  "6");
}

static void sort_keeps_equal_ones_in_order(void **state)
{
    assert_script(
        *state,
        "local t = {} for i = 1, 40 do t[i] = {i % 3, i} end table.sort(t, function(a, b) return a[1] < b[1] end) "
        "local good = true for i = 2, 40 do good = good and (t[i - 1][1] < t[i][1] or "
        "(t[i - 1][1] == t[i][1] and t[i - 1][2] < t[i][2])) end return good",
        NULL, "true");
    assert_script(*state, "local t = {3, 1, 2} table.sort(t, function() return true end) return #t", NULL, "3");
}

static void print_is_kept_for_the_caller(void **state)
{
    struct prg_script *script;
    struct prg_error err = {0};
    cJSON *value;
    size_t length;
    const char *code = "print('a', 1, nil) print(input) if input.more then for i = 1, 20000 do print(i) end end";
    assert_ok(prg_script_load("x.lua", code, strlen(code), NULL, &script, &err), &err);
    assert_ok(prg_script_run(script, *state, "input", json_of(*state, "{}"), NULL, &value, &err), &err);
    assert_string_equal(prg_script_printed(script, &length), "a\t1\tnil\n{}\n");
    assert_ok(prg_script_run(script, *state, "input", json_of(*state, "{'more': true}"), NULL, &value, &err), &err);
    prg_script_printed(script, &length);
    assert_int_equal(length, 65536);
    prg_script_free(script);
}

static void library_functions_take_views(void **state)
{
    assert_script(*state, "return {('a-b'):gsub('%a', input.map), (input.text):upper(), #input.text}",
                  "{'map': {'a': 'x'}, 'text': 'abc'}", "['x-b', 'ABC', 3]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_globals_are_those_of_the_list),
        cmocka_unit_test(scripts_find_exactly_the_listed_globals),
        cmocka_unit_test(functions_answer_as_in_stock_lua),
        cmocka_unit_test(mistakes_in_a_pattern_are_found_whatever_the_text_is),
        cmocka_unit_test(texts_with_nul_and_broken_utf8_are_told_apart),
        cmocka_unit_test(no_text_holds_an_address),
        cmocka_unit_test(tables_are_walked_in_the_order_of_their_keys),
        cmocka_unit_test(sort_keeps_equal_ones_in_order),
        cmocka_unit_test(print_is_kept_for_the_caller),
        cmocka_unit_test(library_functions_take_views),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
