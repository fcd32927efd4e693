// SPDX-License-Identifier: Apache-2.0
// test_limits.c: the limits themselves: the clock, garbage, counting, memory that ends anywhere, what is left after a
// stopped call. Scripts that try to get around them: test_hostile.c.
#include "policy_support.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "policy/vm.h"

static const struct prg_policy_limits tight = {
    .max_steps = 500000, .max_memory_bytes = (size_t)8 << 20, .max_block_bytes = (size_t)1 << 20, .max_wall_ms = 60000};

static const char steps[] = "(limit steps)";

// C calls C calls C: Lua ends this by itself after 200 levels, with an ordinary error that the innermost pcall catches.
static void nested_pcalls_end_by_themselves(void **state)
{
    assert_script(*state,
                  "local depth = 0 local function f() depth = depth + 1 return pcall(f) end f() return depth < 300",
                  NULL, "true");
}

// Garbage is not use: a script may allocate much more than its cap as long as it keeps little.
static void garbage_is_collected_not_counted(void **state)
{
    static const char code[] = "local n = 0 for i = 1, 1500 do local s = ('x'):rep(2000) .. i n = n + #s end return n";
    struct prg_policy_limits limits = tight;
    struct prg_script *script;
    struct prg_error err = {0};
    cJSON *value;
    limits.max_memory_bytes = (size_t)1 << 20;
    limits.max_steps = 0;
    limits.max_wall_ms = 60000;
    assert_ok(prg_script_load("x.lua", code, strlen(code), &limits, &script, &err), &err);
    for (int i = 0; i < 3; i++)
        assert_ok(prg_script_run(script, *state, NULL, NULL, NULL, &value, &err), &err);
    prg_script_free(script);
}

static void the_wall_clock_is_a_limit_too(void **state)
{
    struct prg_policy_limits limits = {.max_steps = UINT64_MAX / 2, .max_wall_ms = 30};
    assert_text_has(script_error(*state, "while true do pcall(function() while true do end end) end", NULL, &limits),
                    "ran longer than 30 ms (limit wallMs)");
}

static void steps_are_counted_the_same_each_time(void **state)
{
    static const char code[] = "local t = {} for i = 1, 100 do t[i] = ('k%d'):format(i) end table.sort(t) "
                               "for _ in pairs(input) do end return perigee.labels.merge({a = 'b'}, input)";
    struct prg_error err = {0};
    (void)state;
    uint64_t first = 0;
    for (int i = 0; i < 3; i++) {
        struct prg_script *script;
        cJSON *value;
        assert_ok(prg_script_load("x.lua", code, strlen(code), NULL, &script, &err), &err);
        assert_ok(prg_script_run(script, *state, "input", json_of(*state, "{'x': 'y'}"), NULL, &value, &err), &err);
        uint64_t used = (*(struct prg_vm **)script)->steps; // the vm is the first member
        if (i == 0)
            first = used;
        assert_int_equal(used, first);
        assert_ok(prg_script_run(script, *state, "input", json_of(*state, "{'x': 'y'}"), NULL, &value, &err), &err);
        assert_int_equal((*(struct prg_vm **)script)->steps, first);
        prg_script_free(script);
    }
}

static void error_values_are_shown_without_running_them(void **state)
{
    const struct {
        const char *code, *error;
    } attacks[] = {
        {"error({code = 1})", "a table was raised as error; raise a text"},
        {"error(setmetatable({}, {__tostring = function() while true do end end}))", "a table was raised as error"},
        {"error()", "a nil was raised as error"},
        {"error(42)", "42"},
        {"error(print)", "a function was raised as error"},
        {"error(input)", "a userdata was raised as error"},
        {"error('a\\0b\\27[31mc\\xff')", "script.lua:1: a b [31mc?"},
        {"error(('x'):rep(100000))", "xxx"},
        {"error('plain', 0)", "script.lua:1: plain"},
        {"local function f() error('outer', 2) end\n\nf()", "script.lua:3: outer"},
        {"assert(false)", "assertion failed!"},
        {"assert(nil, 'told')", "script.lua:1: told"},
        {"local t\n\nreturn t.x", "script.lua:3: attempt to index a nil value (local 't')"},
    };
    for (size_t i = 0; i < PRG_COUNT(attacks); i++)
        assert_text_has(script_error(*state, attacks[i].code, "{'list': [1, 2, 3]}", &tight), attacks[i].error);
}

static void bytecode_is_refused(void **state)
{
    struct prg_script *script;
    struct prg_error err = {0};
    (void)state;
    assert_int_equal(prg_script_load("x.lua", "\x1bLua\x54\0\x19\x93", 8, NULL, &script, &err), PRG_INVALID);
    assert_error_has(&err, "x.lua");
}

static void nothing_leaks_into_the_next_run(void **state)
{
    static const char code[] = "local seen = kept local first = (input.n == 1) kept = input.n upvalue = upvalue or 0 "
                               "if first then while true do end end return {seen == nil, upvalue}";
    struct prg_script *script;
    struct prg_error err = {0};
    cJSON *value;
    assert_ok(prg_script_load("x.lua", code, strlen(code), &tight, &script, &err), &err);
    assert_int_equal(prg_script_run(script, *state, "input", json_of(*state, "{'n': 1}"), NULL, &value, &err),
                     PRG_POLICY);
    assert_error_has(&err, steps);
    for (int i = 0; i < 2; i++) {
        assert_ok(prg_script_run(script, *state, "input", json_of(*state, "{'n': 2}"), NULL, &value, &err), &err);
        assert_json_text(*state, value, "[true, 0]");
    }
    prg_script_free(script);
}

// Wherever the memory ends, the call ends with an error, nothing is lost (the leak checker looks) and nothing breaks.
static void memory_may_end_anywhere(void **state)
{
    static const char code[] =
        "local t = {} for i = 1, 40 do t['k' .. i] = {i, tostring(i):rep(20)} end "
        "for k, v in pairs(t) do t[k] = perigee.labels.merge(input, {x = k}) end "
        "table.sort(t) return perigee.json.decode(perigee.json.encode({t, perigee.copy(input)}))";
    size_t failed = 0, good = 0;
    for (size_t size = 12000; size < 120000; size += 1536) {
        struct prg_policy_limits limits = {.max_memory_bytes = size};
        struct prg_script *script = NULL;
        struct prg_error err = {0};
        cJSON *value = NULL;
        int rc = prg_script_load("x.lua", code, sizeof(code) - 1, &limits, &script, &err);
        for (int i = 0; i < 2 && rc == PRG_OK; i++)
            rc = prg_script_run(script, *state, "input", json_of(*state, "{'a': 'b'}"), NULL, &value, &err);
        if (rc == PRG_OK)
            good++;
        else
            assert_error_has(&err, "memory");
        failed += rc != PRG_OK;
        prg_script_free(script);
    }
    assert_true(failed > 10);
    assert_true(good > 10);
}

static void limits_that_leave_no_room_are_an_error(void **state)
{
    struct prg_script *script;
    struct prg_error err = {0};
    const size_t sizes[] = {1, 1000, 5000, 10000};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(sizes); i++) {
        struct prg_policy_limits limits = {.max_memory_bytes = sizes[i]};
        prg_error_clear(&err);
        assert_int_not_equal(prg_script_load("x.lua", "return 1", 8, &limits, &script, &err), PRG_OK);
        assert_error_has(&err, "memory");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_pcalls_end_by_themselves),
        cmocka_unit_test(garbage_is_collected_not_counted),
        cmocka_unit_test(the_wall_clock_is_a_limit_too),
        cmocka_unit_test(steps_are_counted_the_same_each_time),
        cmocka_unit_test(error_values_are_shown_without_running_them),
        cmocka_unit_test(bytecode_is_refused),
        cmocka_unit_test(nothing_leaks_into_the_next_run),
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(limits_that_leave_no_room_are_an_error),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
