// SPDX-License-Identifier: Apache-2.0
// test_limits.c: scripts that try to run for ever, eat memory, or get out of the sandbox. Each ends with the error that
// names the limit, quickly, and the state works on.
#include "policy_support.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "policy/vm.h"

struct attack {
    const char *code, *error;
};

static const struct prg_policy_limits tight = {
    .max_steps = 500000, .max_memory_bytes = (size_t)8 << 20, .max_block_bytes = (size_t)1 << 20, .max_wall_ms = 60000};

static int64_t cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Runs the code under tight limits and checks the error and the time after which it came.
static void attack(struct prg_arena *arena, const struct attack *a)
{
    int64_t start = cpu_ms();
    const char *text = script_error(arena, a->code, "{'list': [1, 2, 3]}", &tight);
    int64_t used_ms = cpu_ms() - start;
    if (!strstr(text, a->error) || used_ms > 2000 || getenv("PRG_TEST_TIMES"))
        print_message("%6lld ms %s\n -> %s\n", (long long)used_ms, a->code, text);
    assert_text_has(text, a->error);
    assert_true(used_ms < 2000); // under a sanitizer; in a release build 60 ms
}

static void attack_all(struct prg_arena *arena, const struct attack *attacks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        attack(arena, &attacks[i]);
}

static const char steps[] = "(limit steps)";
static const char memory[] = "(limit memoryBytes)";
static const char block[] = "(limit blockBytes)";

static void endless_loops_are_stopped(void **state)
{
    const struct attack attacks[] = {
        {"while true do end", steps},
        {"for i = 1, math.huge do end", steps},
        {"repeat until false", steps},
        {"::a:: goto a", steps},
        {"local function f() return f() end return f()", steps},
        {"local i = 0 while true do i = i + #('x'):rep(100) end", steps},
        {"while true do for _ in pairs(input) do end end", steps},
        {"while true do local _ = input.list[1] end", steps},
        {"for _ in function() return 1 end do end", steps},
        {"local t = {} while true do next(t) end", steps},
        {"setmetatable(_ENV, {}) while true do end", "steps"},
        {"local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) return t[1]", ""},
        {"while true do local s <const> = 1 end", steps},
    };
    attack_all(*state, attacks, PRG_COUNT(attacks));
}

static void a_caught_trip_trips_again(void **state)
{
    const struct attack attacks[] = {
        {"while true do pcall(function() while true do end end) end", steps},
        {"local function f() pcall(f) while true do end end f()", steps},
        {"local ok = pcall(function() while true do end end) return 'survived'", steps},
        {"pcall(string.rep, 'x', 2 << 20) return 'survived'", block},
        {"local s, n = ('x'):rep(1000), 0 pcall(function() local t while true do n = n + 1 t = {t, s .. n} end end) "
         "return 'survived'",
         memory},
        {"local ok, e = pcall(function() while true do end end) while true do pcall(error, e) end", steps},
        {"local t = setmetatable({}, {__index = function() while true do end end}) pcall(function() return t.x end) "
         "return 'survived'",
         steps},
        {"local t = setmetatable({}, {__eq = function() while true do end end}) pcall(function() return t == "
         "setmetatable({}, {__eq = function() while true do end end}) end) return 1",
         steps},
        {"local t = {3, 1, 2} pcall(table.sort, t, function() while true do end end) return 1", steps},
        {"pcall(string.gsub, 'x', 'x', function() while true do end end) return 1", steps},
        {"for i = 1, 1e9 do pcall(error) end", steps},
    };
    attack_all(*state, attacks, PRG_COUNT(attacks));
}

static void c_loops_are_charged(void **state)
{
    const struct attack attacks[] = {
        {"while true do string.rep('x', 100000) end", ""},
        {"while true do string.rep('', 1e18) end", steps},
        {"return ('x'):rep(1e18)", "the text would be too long"},
        {"local s = ('a'):rep(40) return s:find(('a*'):rep(20) .. 'b')", steps},
        {"local s = ('a'):rep(100000) return s:find('.-b')", steps},
        {"local s = ('a'):rep(100000) return s:gsub('a*b', '')", steps},
        {"local s = ('a'):rep(100000) for _ in s:gmatch('a-b') do end", steps},
        {"local s = ('('):rep(100000) return s:match('%b()')", ""},
        {"local s = ('('):rep(100000) return s:find('%b()x')", steps},
        {"local s = ('a'):rep(200000) while true do s:find('b', 1, true) end", steps},
        {"local s = ('a'):rep(200000) while true do s:upper() end", ""},
        {"local s = ('a'):rep(200000) while true do utf8.len(s) end", steps},
        {"local s = ('a'):rep(200000) while true do s:byte(1, 1000) end", steps},
        {"local s = ('a'):rep(200000) while true do tonumber(s, 16) end", steps},
        {"local t = {} for i = 1, 10000 do t[i] = i end while true do table.concat(t) end", ""},
        {"local t = {} for i = 1, 10000 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end",
         steps},
        {"local t = {} for i = 1, 10000 do t[i] = -i end while true do table.sort(t) end", steps},
        {"local t = {} for i = 1, 10000 do t[i] = i end while true do local _ = select('#', table.unpack(t)) end", ""},
        {"local t = {} for i = 1, 1000 do t['k' .. i] = i end while true do next(t) end", steps},
        {"local t = {} for i = 1, 1000 do t['k' .. i] = i end while true do pairs(t) end", ""},
        {"while true do perigee.json.encode(input) end", ""},
        {"while true do tostring(input) end", steps},
        {"while true do print('x') end", steps},
        {"while true do string.format('%99.99f', 1e308) end", steps},
        {"while true do local _ = input == perigee.json.decode('{}') end", ""},
        {"local t = setmetatable({}, {__len = 1})", "may not have __len"},
        {"table.concat({}, 'x', 1, 1e15)", "invalid value (at index 1)"},
        {"local a, b = ('x'):rep(900000), ('x'):rep(900000) while true do local _ = a == b end", ""},
        {"local a = ('x'):rep(500000) while true do local _ = a .. 'y' end", ""},
    };
    attack_all(*state, attacks, PRG_COUNT(attacks));
}

static void memory_is_capped(void **state)
{
    const struct attack attacks[] = {
        {"local s, n, t = ('x'):rep(1000), 0 while true do n = n + 1 t = {t, s .. n} end", memory},
        {"local t = {} for i = 1, 1e9 do t[i] = i end", block},
        {"local s = 'x' while true do s = s .. s end", block},
        {"return string.rep('x', 2 << 20)", block},
        {"local t = {} for i = 1, 1e9 do t['k' .. i] = true end", ""},
        {"local s, x = {}, ('x'):rep(1000) for i = 1, 1e6 do s[i] = x .. i end", memory},
        {"local function f(n) return n == 0 and 0 or 1 + f(n - 1) end return f(1e9)", "nested too deeply"},
        {"local function f(...) return f(1, ...) end return f()", ""},
        {"local x, t = ('x'):rep(1000), {} for i = 1, 4000 do t[i] = x end return table.concat(t)", block},
        {"return ('x'):rep(40000):gsub('x', ('y'):rep(40))", block},
        {"local t = {} for i = 1, 1e6 do t[i] = function() return i end end", ""},
        {"for i = 1, 1e6 do perigee.json.encode({('x'):rep(10000)}) end", ""},
        {"local v = perigee.copy(input) while true do v = {v, perigee.copy(input)} end", ""},
        {"return string.format('%s', ('x'):rep(900000)):rep(2)", block},
    };
    attack_all(*state, attacks, PRG_COUNT(attacks));
}

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
    static const char code[] = "local n = 0 for i = 1, 20000 do local s = ('x'):rep(2000) .. i n = n + #s end return n";
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
    int64_t start = prg_clock_monotonic_ns();
    assert_text_has(script_error(*state, "while true do pcall(function() while true do end end) end", NULL, &limits),
                    "ran longer than 30 ms (limit wallMs)");
    assert_true(prg_clock_monotonic_ns() - start < 1000000000);
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

static void ways_out_are_closed(void **state)
{
    const struct attack attacks[] = {
        {"load('return 1')", "global 'load'"},
        {"loadstring('return 1')", "global 'loadstring'"},
        {"dofile('/etc/passwd')", "global 'dofile'"},
        {"require('os')", "global 'require'"},
        {"os.exit()", "global 'os'"},
        {"io.open('/etc/passwd')", "global 'io'"},
        {"debug.sethook()", "global 'debug'"},
        {"coroutine.wrap(function() end)", "global 'coroutine'"},
        {"collectgarbage()", "global 'collectgarbage'"},
        {"xpcall(print, print)", "global 'xpcall'"},
        {"getmetatable('').__index = {}", "global 'getmetatable'"},
        {"rawset(_ENV, 'x', 1)", "global 'rawset'"},
        {"rawget(string, 'rep')", "global 'rawget'"},
        {"_G.string = nil", "global '_G'"},
        {"string.dump(print)", "field 'dump'"},
        {"string.pack('i', 1)", "field 'pack'"},
        {"table.move({}, 1, 2, 3)", "field 'move'"},
        {"math.random()", "field 'random'"},
        {"string.rep = nil", "'string' is read-only"},
        {"string.evil = 1", "'string' is read-only"},
        {"perigee.labels.merge = nil", "'perigee.labels' is read-only"},
        {"perigee.x = 1", "'perigee' is read-only"},
        {"table.insert(string, 1)", "bad argument #1 to 'insert'"},
        {"table.sort(string)", "bad argument #1 to 'sort'"},
        {"local f, t = pairs(string) t.rep = nil error(('x'):rep(3))", "xxx"},
        {"setmetatable('', {})", "bad argument #1 to 'setmetatable'"},
        {"setmetatable(string, {})", "bad argument #1 to 'setmetatable'"},
        {"setmetatable({}, {__gc = print})", "may not have __gc"},
        {"setmetatable({}, {__close = print})", "may not have __close"},
        {"setmetatable({}, {__mode = 'k'})", "may not have __mode"},
        {"setmetatable({}, {__metatable = 1})", "may not have __metatable"},
        {"setmetatable({}, {__name = 'x'})", "may not have __name"},
        {"local m = {} local t = setmetatable({}, m) m.__close = function() end local x <close> = t", "non-closable"},
        {"local m = {} setmetatable({}, m) m.__gc = error(m.__gc == nil and 'copied')", "copied"},
        {"for k in pairs(perigee) do end", "perigee cannot be walked"},
        {"return pairs({[{}] = 1})", "such keys have no order"},
    };
    attack_all(*state, attacks, PRG_COUNT(attacks));
}

static void error_values_are_shown_without_running_them(void **state)
{
    const struct attack attacks[] = {
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
    attack_all(*state, attacks, PRG_COUNT(attacks));
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
    for (size_t size = 12000; size < 120000; size += 512) {
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
    assert_true(failed > 20);
    assert_true(good > 20);
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
        cmocka_unit_test(endless_loops_are_stopped),
        cmocka_unit_test(a_caught_trip_trips_again),
        cmocka_unit_test(c_loops_are_charged),
        cmocka_unit_test(memory_is_capped),
        cmocka_unit_test(nested_pcalls_end_by_themselves),
        cmocka_unit_test(garbage_is_collected_not_counted),
        cmocka_unit_test(the_wall_clock_is_a_limit_too),
        cmocka_unit_test(steps_are_counted_the_same_each_time),
        cmocka_unit_test(ways_out_are_closed),
        cmocka_unit_test(error_values_are_shown_without_running_them),
        cmocka_unit_test(bytecode_is_refused),
        cmocka_unit_test(nothing_leaks_into_the_next_run),
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(limits_that_leave_no_room_are_an_error),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
