// SPDX-License-Identifier: Apache-2.0
// test_script.c: single scripts: the global they get, calling one of their functions, errors with their place.
#include "policy_support.h"

#include <string.h>

static int run(struct prg_arena *arena, const char *code, const char *as, const char *input, const char *call,
               cJSON **ret, struct prg_error *err)
{
    struct prg_script *script = NULL;
    int rc = prg_script_load("folder/health.lua", code, strlen(code), NULL, &script, err);
    if (rc == PRG_OK)
        rc = prg_script_run(script, arena, as, input ? json_of(arena, input) : NULL, call, ret, err);
    prg_script_free(script);
    return rc;
}

struct script_case {
    const char *code, *as, *input, *call, *want;
};

static void the_value_is_what_the_script_returns(void **state)
{
    static const struct script_case cases[] = {
        {"return obj.a + 1", "obj", "{'a': 1}", NULL, "2"},
        {"hs = {} hs.status = 'Healthy' if obj.status ~= nil then hs.status = 'Degraded' end return hs", "obj",
         "{'status': {}}", NULL, "{'status': 'Degraded'}"},
        {"return input == nil", "input", NULL, NULL, "true"},
        {"return obj == nil", "input", "{}", NULL, "true"},
        {"return input", NULL, "{}", NULL, "null"},
        {"return 1, 2, 3", NULL, NULL, NULL, "1"},
        {"function GetReplicas(obj) return obj.spec.replicas, {} end", "obj", "{'spec': {'replicas': 3}}",
         "GetReplicas", "3"},
        {"local M = {} function M.f(x) return {x} end return M", NULL, "[1]", "f", "[[1]]"},
        {"local M = {} function M.f(...) return select('#', ...) end return M", NULL, NULL, "f", "0"},
        {"function f() return 'global' end return {g = 1}", NULL, "1", "f", "'global'"},
        {"function f(x) return x == input end", "input", "{'a': 1}", "f", "true"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        const struct script_case *c = &cases[i];
        struct prg_error err = {0};
        cJSON *value = NULL;
        assert_ok(run(*state, c->code, c->as, c->input, c->call, &value, &err), &err);
        assert_json_text(*state, value, c->want);
    }
}

static void errors_have_file_and_line(void **state)
{
    static const struct script_case cases[] = {
        {"\n\nreturn obj.x.y", "obj", "{}", NULL, "folder/health.lua:3: attempt to index a nil value (field 'x')"},
        {"return 1 +", NULL, NULL, NULL, "folder/health.lua:1:11: unexpected symbol near <eof>"},
        {"return {f = 1}", NULL, NULL, "f",
         "there is no function 'f': the script neither returns it in a table nor sets it"},
        {"return 1", NULL, NULL, "type", "there is no function 'type'"},
        {"function f()\n  error('told')\nend", NULL, NULL, "f", "folder/health.lua:2: told"},
        {"return {a = print}", NULL, NULL, NULL, "value /a: a function cannot be turned into JSON"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        const struct script_case *c = &cases[i];
        struct prg_error err = {0};
        cJSON *value = NULL;
        assert_int_not_equal(run(*state, c->code, c->as, c->input, c->call, &value, &err), PRG_OK);
        assert_error_has(&err, c->want);
        assert_null(value);
    }
}

static void a_script_runs_on_one_input_after_the_other(void **state)
{
    struct prg_script *script;
    struct prg_error err = {0};
    const char *code = "if input.bad then error('bad') end return input.n";
    assert_ok(prg_script_load("x.lua", code, strlen(code), NULL, &script, &err), &err);
    for (int i = 0; i < 100; i++) {
        cJSON *value = NULL, *input = json_of(*state, i % 2 ? "{'bad': true}" : "{}");
        prg_json_set_int(*state, input, "n", i);
        int rc = prg_script_run(script, *state, "input", input, NULL, &value, &err);
        assert_int_equal(rc, i % 2 ? PRG_POLICY : PRG_OK);
        if (rc == PRG_OK)
            assert_json_equal(value, prg_json_int(*state, i));
    }
    prg_script_free(script);
    prg_script_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_value_is_what_the_script_returns),
        cmocka_unit_test(errors_have_file_and_line),
        cmocka_unit_test(a_script_runs_on_one_input_after_the_other),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
