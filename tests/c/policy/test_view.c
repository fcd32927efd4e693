// SPDX-License-Identifier: Apache-2.0
// test_view.c: JSON trees seen from Lua, and Lua values turned into JSON.
#include "policy_support.h"

#include <string.h>

#include "policy/view.h"
#include "policy/vm.h"

static void scalars_are_lua_values(void **state)
{
    assert_script(*state, "return {input.s, input.t, input.f, input.i, math.type(input.i), math.type(input.d)}",
                  "{'s': 'x', 't': true, 'f': false, 'i': 3, 'd': 0.5}", "['x', true, false, 3, 'integer', 'float']");
    assert_script(*state, "return input.absent == nil and input.null == perigee.null and input.null ~= nil",
                  "{'null': null}", "true");
}

static void int64_is_exact_both_ways(void **state)
{
    assert_script(*state, "return {input[1], input[1] == math.maxinteger, input[2] == math.mininteger, input[3] + 1}",
                  "[9223372036854775807, -9223372036854775808, 9007199254740992]",
                  "[9223372036854775807, true, true, 9007199254740993]");
    assert_script(*state, "return {math.type(input[1]), math.type(input[2]), input[1], input[2]}", "[3.0, 1e2]",
                  "['integer', 'integer', 3, 100]");
}

static void other_numbers_keep_their_value(void **state)
{
    assert_script(*state, "return {input[1], input[2], math.type(input[1])}", "[0.1, 1e300]", "[0.1, 1e300, 'float']");
    const char *big = "[18446744073709551617, 0.1000000000000000055511151231257827]";
    assert_script(*state, "return {input[1], input[2]}", big, big);
    assert_script(*state, "return {tostring(input[1]), type(input[1]), tonumber(input[1]) > 1e19, 'n=' .. input[1]}",
                  big, "['18446744073709551617', 'userdata', true, 'n=18446744073709551617']");
    assert_script(*state, "return {input[1] == input[3], input[1] == input[2]}", "[1e-400, 2e-400, 10e-401]",
                  "[true, false]");
    const char *text = script_error(*state, "return input[1] + 1", big, NULL);
    assert_text_has(text, "script.lua:1: the number 18446744073709551617 cannot be computed with exactly");
}

static void strings_keep_nul_and_length(void **state)
{
    assert_script(*state, "return {#input.s, input.s:byte(2), input.s, #input.u}",
                  "{\"s\": \"a\\u0000b\", \"u\": \"\\u00e4\"}", "[3, 0, \"a\\u0000b\", 2]");
}

// A loop over a list of 1001 zeros that needs more steps than there are.
static void assert_looks_are_charged(void **state, const char *loop)
{
    struct prg_policy_limits limits = {.max_steps = 150000};
    struct prg_strbuf list = PRG_STRBUF_INIT;
    prg_strbuf_puts(&list, "[0");
    for (int i = 0; i < 1000; i++)
        prg_strbuf_puts(&list, ",0");
    prg_strbuf_putc(&list, ']');
    assert_text_has(script_error(*state, loop, list.text, &limits), "(limit steps)");
    prg_strbuf_release(&list);
}

static void looking_from_the_end_of_a_list_is_charged(void **state)
{
    // Each of these goes through half the list from its beginning.
    assert_looks_are_charged(state, "for i = 1, 5000 do local a, b = input[500], input[1] end");
}

static void looking_back_in_a_list_is_charged(void **state)
{
    // Each of these goes back from the end.
    assert_looks_are_charged(state, "local n = #input for i = 1, 5000 do local a, b = input[n], input[520] end");
}

static void lists_behave_like_lua_lists(void **state)
{
    const char *list = "[10, 20, null, 40]";
    assert_script(*state, "local t = {} for i, v in ipairs(input) do t[i] = v end return t", list, list);
    assert_script(*state, "local t = {} for i, v in pairs(input) do t[i] = v end return t", list, list);
    assert_script(*state, "local t = {} for i = 1, #input do t[i] = input[i] end return {#input, t}", list,
                  "[4, [10, 20, null, 40]]");
    assert_script(*state, "local t = {} for i = #input, 1, -1 do t[#t + 1] = input[i] end return t", list,
                  "[40, null, 20, 10]");
    assert_script(
        *state, // from one to any other, whether the list was counted or not
        "local t = {} for from = 1, 9 do for to = 1, 9 do t[#t + 1] = input[from] * 10 + input[to] end end "
        "for from = #input, 1, -1 do for to = 9, 1, -1 do t[#t + 1] = -input[from] * 10 - input[to] end end "
        "local n = 0 for i = 1, 81 do local a, b = (i - 1) // 9 + 1, (i - 1) % 9 + 1 "
        "if t[i] ~= a * 10 + b or t[163 - i] ~= -a * 10 - b then n = n + 1 end end return {#t, n, input[10] == nil}",
        "[1, 2, 3, 4, 5, 6, 7, 8, 9]", "[162, 0, true]");
    assert_script(*state,
                  "return {input[0] == nil, input[5] == nil, input[-1] == nil, input.x == nil, input['1'] == nil}",
                  list, "[true, true, true, true, true]");
    assert_script(*state, "return {next(input), next(input, 4) == nil, select('#', table.unpack(input))}", list,
                  "[1, true, 4]");
    assert_script(*state, "return {table.concat(input, '-'), table.concat(input, '-', 2, 3)}", "['a', 'b', 'c']",
                  "['a-b-c', 'b-c']");
}

static void objects_are_walked_by_key(void **state)
{
    const char *object = "{'b': 1, 'a': 2, 'c': {'x': 1}}";
    assert_script(*state, "local t = {} for k in pairs(input) do t[#t + 1] = k end return t", object,
                  "['a', 'b', 'c']");
    assert_script(*state, "local t, k = {}, nil repeat k = next(input, k) t[#t + 1] = k until not k return t", object,
                  "['a', 'b', 'c']");
    assert_script(*state, "return {#input, type(input), type(input.c), next({}) == nil, input[1] == nil}", object,
                  "[0, 'table', 'table', true, true]");
    assert_script(*state, "local n = 0 for _ in pairs(input) do n = n + 1 end return n", "{}", "0");
}

static void views_compare_by_value_and_print_as_json(void **state)
{
    assert_script(*state,
                  "return {input[1] == input[2], input[1] == input[3], input[1] ~= input[4], tostring(input[1])}",
                  "[{'a': 1, 'b': [1.0]}, {'b': [1], 'a': 1}, {'a': 2}, {}]",
                  "[true, false, true, \"{\\\"a\\\":1,\\\"b\\\":[1.0]}\"]");
    assert_script(*state, "return string.format('%s|%-8s|', input, input)", "[1, 2]", "'[1,2]|[1,2]   |'");
}

static void views_cannot_be_written(void **state)
{
    struct prg_arena *arena = *state;
    assert_text_has(script_error(arena, "input.a = 1", "{'a': 0}", NULL), "script.lua:1: views are read-only");
    assert_text_has(script_error(arena, "input[1] = 1", "[0]", NULL), "views are read-only");
    assert_text_has(script_error(arena, "table.insert(input, 1)", "[0]", NULL), "perigee.copy gives a table");
    assert_text_has(script_error(arena, "table.sort(input)", "[0]", NULL), "perigee.copy gives a table");
    assert_text_has(script_error(arena, "setmetatable(input, {})", "[0]", NULL), "bad argument");
    assert_text_has(script_error(arena, "return input.a.b.c", "{'a': {}}", NULL), "field 'b'");
    assert_text_has(script_error(arena, "return 'x' .. input.a", "{'a': {}}", NULL), "concatenate");
}

static void a_copy_can_be_changed_and_keeps_its_kinds(void **state)
{
    assert_script(
        *state,
        "local t = perigee.copy(input) t.list[2] = 5 t.new = true table.sort(t.list, function(a, b) return a > b end) "
        "return t",
        "{'list': [1], 'none': [], 'empty': {}, 'null': null, 'big': 18446744073709551617}",
        "{'list': [5, 1], 'none': [], 'empty': {}, 'null': null, 'big': 18446744073709551617, 'new': true}");
    assert_script(*state, "local t = perigee.copy(input) t[1] = nil return t", "[1]", "[]");
}

static void returned_views_are_the_same_tree(void **state)
{
    const char *tree = "{'a': [1.50, 1e2, {}, [], null], 'b': {'c': 'x'}}";
    assert_script(*state, "return input", tree, tree);
    assert_script(*state, "return {x = input.a, y = input.b}", tree,
                  "{'x': [1.5, 100, {}, [], null], 'y': {'c': 'x'}}");
}

static void kinds_tell_values_apart(void **state)
{
    assert_script(*state,
                  "local k = perigee.kind return {k(input.o), k(input.l), k(input.s), k(input.n), k(input.b), "
                  "k(input.z), k(input.absent), k({}), k({1}), k(perigee.array{}), k(input.big)}",
                  "{'o': {}, 'l': [], 's': 'x', 'n': 1, 'b': true, 'z': null, 'big': 18446744073709551617}",
                  "['object', 'array', 'string', 'number', 'boolean', 'null', 'nothing', 'object', 'array', 'array', "
                  "'number']");
}

static void tables_become_json(void **state)
{
    assert_script(*state, "return {}", NULL, "{}");
    assert_script(*state, "return perigee.array{}", NULL, "[]");
    assert_script(*state, "return {a = perigee.array{}, o = perigee.object{}, n = perigee.null, l = {1, {2}}}", NULL,
                  "{'a': [], 'o': {}, 'n': null, 'l': [1, [2]]}");
    assert_script(*state, "return {z = 1, a = 2, m = 3}", NULL, "{'a': 2, 'm': 3, 'z': 1}");
    assert_script(*state, "return {10 / 2, 2^53, 0.1, -0.0, 1e300, 9007199254740991.0}", NULL,
                  "[5, 9007199254740992, 0.1, 0, 1e300, 9007199254740991]");
    assert_script(*state, "return nil", NULL, "null");
    assert_script(*state, "", NULL, "null");
    assert_script(*state, "return 'text'", NULL, "'text'");
}

static void keys_are_sorted_in_the_result(void **state)
{
    struct prg_arena *arena = *state;
    const cJSON *value =
        run_script(arena, "local t = {} for i = 1, 50 do t['k' .. (i * 7 % 50)] = i end return t", NULL);
    const char *last = "";
    const cJSON *item;
    prg_json_each (item, value) {
        assert_true(strcmp(last, item->string) < 0);
        last = item->string;
    }
    assert_int_equal(prg_json_count(value), 50);
}

static void results_are_checked_strictly(void **state)
{
    struct prg_arena *arena = *state;
    static const struct {
        const char *code, *error;
    } cases[] = {
        {"return {1, a = 2}", "value: the table has both texts and numbers as keys"},
        {"return {x = {1, nil, 3}}", "value /x: the list has a hole"},
        {"return {x = {[0] = 1}}", "value /x: the keys of a table must be texts, or 1 to n"},
        {"return {x = {[true] = 1}}", "value /x: the keys of a table must be texts"},
        {"return {['a/b'] = {function() end}}", "value /a~1b/0: a function cannot be turned into JSON"},
        {"return print", "a function cannot be turned into JSON"},
        {"return 0/0", "value: JSON has no 'nan'"},
        {"return {math.huge}", "value /0: JSON has no infinite numbers"},
        {"return '\\xff'", "value: the text is not valid UTF-8"},
        {"return {['\\xff'] = 1}", "value: a key is not valid UTF-8"},
        {"return {['a\\0b'] = 1}", "value: a key holds a NUL byte"},
        {"local t = {} t.t = t return t", "nested too deeply"},
        {"return setmetatable({}, {__index = {a = 1}})", "a table with a metatable"},
        {"local t = perigee.array{} t.x = 1 return t", "perigee.array holds texts as keys"},
        {"local t = perigee.object{} t[1] = 1 return t", "perigee.object holds numbers as keys"},
        {"return string", "a table cannot be turned into JSON"},
        {"local t = {} for i = 1, 100001 do t[i] = 1 end return t",
         "holds more than 100000 values (limit resultNodes)"},
        {"local t = {1} for i = 1, 40 do t = {t, t} end return t", "holds more than 100000 values (limit resultNodes)"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_script_error(arena, cases[i].code, cases[i].error);
    assert_script_error(arena, "return perigee.array(perigee.object{})", "of another kind");
    assert_script_error(arena, "return setmetatable(perigee.array{}, nil)", "takes no metatable");
}

// ---- expiry: only the state itself can keep a view, a script cannot ----

struct keeping {
    const cJSON *node;
    bool is_kept;
};

static int keep_view(lua_State *L)
{
    struct keeping *keeping = lua_touserdata(L, 1);
    prg_view_push(L, keeping->node);
    lua_setfield(L, LUA_REGISTRYINDEX, "kept");
    return 0;
}

static int use_kept_view(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "kept");
    lua_getfield(L, -1, "a");
    return 0;
}

static int measure_kept_view(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "kept");
    luaL_len(L, -1);
    return 0;
}

static void an_expired_view_is_an_error(void **state)
{
    struct prg_error err = {0};
    struct prg_vm *vm = prg_vm_new(NULL, &err);
    struct keeping keeping = {.node = json_of(*state, "{'a': 1}")};
    assert_non_null(vm);
    assert_ok(prg_vm_call(vm, keep_view, &keeping, &err), &err);
    assert_ok(prg_vm_call(vm, use_kept_view, NULL, &err), &err);
    prg_vm_expire(vm);
    assert_int_equal(prg_vm_call(vm, use_kept_view, NULL, &err), PRG_POLICY);
    assert_error_has(&err, "this view has expired");
    assert_int_equal(prg_vm_call(vm, measure_kept_view, NULL, &err), PRG_POLICY);
    prg_vm_free(vm);
}

static void long_lists_and_objects_are_walked_in_linear_time(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_script *script;
    struct prg_error err = {0};
    struct prg_policy_limits limits = {.max_steps = 3000000};
    cJSON *list = prg_json_array(arena), *value;
    const char *code =
        "local n = 0 for i = 1, #input do n = n + input[i] end for _, v in ipairs(input) do n = n + v end "
        "for _, v in pairs(input) do n = n + v end "
        "for i = #input, 1, -1 do n = n + input[i] end return n";
    for (int i = 0; i < 50000; i++)
        prg_json_append(list, prg_json_int(arena, 1));
    assert_ok(prg_script_load("x.lua", code, strlen(code), &limits, &script, &err), &err);
    assert_ok(prg_script_run(script, arena, "input", list, NULL, &value, &err), &err);
    assert_json_text(arena, value, "200000");
    prg_script_free(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_lua_values),
        cmocka_unit_test(int64_is_exact_both_ways),
        cmocka_unit_test(other_numbers_keep_their_value),
        cmocka_unit_test(strings_keep_nul_and_length),
        cmocka_unit_test(looking_from_the_end_of_a_list_is_charged),
        cmocka_unit_test(looking_back_in_a_list_is_charged),
        cmocka_unit_test(lists_behave_like_lua_lists),
        cmocka_unit_test(objects_are_walked_by_key),
        cmocka_unit_test(views_compare_by_value_and_print_as_json),
        cmocka_unit_test(views_cannot_be_written),
        cmocka_unit_test(a_copy_can_be_changed_and_keeps_its_kinds),
        cmocka_unit_test(returned_views_are_the_same_tree),
        cmocka_unit_test(kinds_tell_values_apart),
        cmocka_unit_test(tables_become_json),
        cmocka_unit_test(keys_are_sorted_in_the_result),
        cmocka_unit_test(results_are_checked_strictly),
        cmocka_unit_test(an_expired_view_is_an_error),
        cmocka_unit_test(long_lists_and_objects_are_walked_in_linear_time),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
