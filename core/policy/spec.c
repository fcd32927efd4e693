// SPDX-License-Identifier: Apache-2.0
// spec.c: running one spec file: load it, then each of its tests as a call with a budget of its own.
#include "policy/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "policy/builtin.h"
#include "policy/sandbox.h"
#include "policy/text.h"

enum { SPEC_WALL_MS = 10000 };

// ---- the library ----

static const struct prg_builtin *library_file(const char *name)
{
    for (size_t i = 0; i < prg_builtin_spec_count; i++)
        if (strcmp(prg_builtin_specs[i].name, name) == 0)
            return &prg_builtin_specs[i];
    prg_require(!"lua/spec is part of the program");
    return NULL;
}

void prg_spec_run_library(lua_State *L, const char *name, int host)
{
    const struct prg_builtin *file = library_file(name);
    lua_pushfstring(L, "@spec/%s.lua", name);
    if (luaL_loadbufferx(L, file->text, file->length, lua_tostring(L, -1), "t") != LUA_OK)
        lua_error(L);
    prg_sandbox_push_environment(L);
    lua_setupvalue(L, -2, 1);
    lua_pushvalue(L, host);
    lua_call(L, 1, 1);
    lua_remove(L, -2);
}

static int open_library(lua_State *L)
{
    struct prg_spec_state *state = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "spec");
    prg_spec_push_host(L, state);
    prg_spec_run_library(L, "support", 1);
    lua_setfield(L, 1, "support");
    prg_spec_run_library(L, "busted", 1);
    state->library = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

// Pushes a function of the library.
static void push_library(lua_State *L, const struct prg_spec_state *state, const char *name)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, state->library);
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
}

// Runs the spec's top level: its blocks are walked, its tests collected.
static int load_tests(lua_State *L)
{
    struct prg_spec_state *state = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "spec");
    prg_sandbox_push_environment(L);
    push_library(L, state, "globals");
    lua_pushnil(L);
    while (lua_next(L, 2)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, 1);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, state->vm->ref.chunk);
    lua_pushvalue(L, 1);
    if (!lua_setupvalue(L, -2, 1))
        lua_pop(L, 1);
    lua_call(L, 0, 0);
    return 0;
}

// ---- one test ----

struct test {
    struct prg_spec_state *state;
    lua_Integer index;
    const char *name, *pending; // in the state's arena
    int line;
    bool is_wanted;
    char *text;         // of the error, for the verdict
    const char *detail; // of the assertion that failed
};

static const char *copy_field(lua_State *L, struct prg_arena *arena, const char *key)
{
    const char *text = lua_getfield(L, -1, key) == LUA_TSTRING ? prg_arena_strdup(arena, lua_tostring(L, -1)) : NULL;
    lua_pop(L, 1);
    return text;
}

static int look_at_test(lua_State *L)
{
    struct test *test = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 10, "spec");
    push_library(L, test->state, "tests");
    lua_rawgeti(L, 1, test->index);
    test->name = copy_field(L, &test->state->arena, "name");
    test->pending = copy_field(L, &test->state->arena, "pending");
    lua_getfield(L, -1, "line");
    test->line = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    lua_getfield(L, -1, "wanted");
    test->is_wanted = lua_toboolean(L, -1);
    return 0;
}

static int run_test(lua_State *L)
{
    const struct test *test = lua_touserdata(L, 1);
    luaL_checkstack(L, 10, "spec");
    push_library(L, test->state, "run");
    lua_pushinteger(L, test->index);
    lua_call(L, 1, 0);
    return 0;
}

static int run_after(lua_State *L)
{
    const struct test *test = lua_touserdata(L, 1);
    luaL_checkstack(L, 10, "spec");
    push_library(L, test->state, "after");
    lua_pushinteger(L, test->index);
    lua_call(L, 1, 0);
    return 0;
}

static int ask_verdict(lua_State *L)
{
    struct test *test = lua_touserdata(L, 1);
    luaL_checkstack(L, 10, "spec");
    push_library(L, test->state, "verdict");
    lua_pushstring(L, test->text);
    lua_call(L, 1, 2);
    if (lua_type(L, -2) == LUA_TSTRING)
        test->detail = prg_arena_strdup(&test->state->arena, lua_tostring(L, -2));
    if (lua_type(L, -1) == LUA_TSTRING)
        test->pending = prg_arena_strdup(&test->state->arena, lua_tostring(L, -1));
    return 0;
}

static const char *keep_error(struct prg_arena *arena, const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    return prg_arena_strdup(arena, prg_error_text(err, text, sizeof(text)));
}

// Fills result from the error of the call that just ended.
static void judge(struct test *test, const struct prg_error *err, struct prg_spec_result *result)
{
    struct prg_error ignored = {0};
    bool tripped = test->state->vm->trip != PRG_TRIP_NONE;
    result->message = keep_error(&test->state->arena, err);
    result->outcome = PRG_SPEC_ERROR;
    if (tripped)
        return;
    test->text = (char *)(uintptr_t)result->message;
    if (prg_vm_call(test->state->vm, ask_verdict, test, &ignored) != PRG_OK)
        return;
    if (test->pending) {
        result->outcome = PRG_SPEC_PENDING;
        result->message = test->pending;
    } else if (test->detail) {
        result->outcome = PRG_SPEC_FAILED;
        result->detail = strstr(result->message, test->detail) ? NULL : test->detail;
    }
}

static void run_one(struct test *test, struct prg_spec_result *result)
{
    struct prg_vm *vm = test->state->vm;
    struct prg_error err = {0};
    int64_t start = prg_clock_monotonic_ns();
    int rc = prg_vm_call(vm, run_test, test, &err);
    result->steps = vm->steps;
    result->printed = prg_arena_strndup(&test->state->arena, vm->printed.text, vm->printed.length);
    if (rc != PRG_OK)
        judge(test, &err, result);
    prg_error_clear(&err);
    if (prg_vm_call(vm, run_after, test, &err) != PRG_OK && result->outcome <= PRG_SPEC_PENDING) {
        prg_wrap(&err, "after the test");
        result->outcome = PRG_SPEC_ERROR;
        result->message = keep_error(&test->state->arena, &err);
    }
    result->steps += vm->steps;
    result->duration_ns = prg_clock_monotonic_ns() - start;
}

// ---- the file ----

struct selecting {
    struct prg_spec_state *state;
    const char *filter;
    lua_Integer count;
};

static int select_tests(lua_State *L)
{
    struct selecting *selecting = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 10, "spec");
    push_library(L, selecting->state, "select");
    if (selecting->filter)
        lua_pushstring(L, selecting->filter);
    else
        lua_pushnil(L);
    lua_call(L, 1, 0);
    push_library(L, selecting->state, "tests");
    selecting->count = (lua_Integer)lua_rawlen(L, -1);
    return 0;
}

static void report_file(const struct prg_spec_state *state, const struct prg_spec_options *options,
                        const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    struct prg_spec_result result = {.file = state->path,
                                     .name = "(loading the file)",
                                     .outcome = PRG_SPEC_ERROR,
                                     .message = prg_error_text(err, text, sizeof(text)),
                                     .printed = state->vm ? state->vm->printed.text : ""};
    options->visit(&result, options->ctx);
}

static int run_tests(struct prg_spec_state *state, const struct prg_spec_options *options, struct prg_error *err)
{
    struct selecting selecting = {.state = state, .filter = options->filter};
    if (prg_vm_call(state->vm, select_tests, &selecting, err) != PRG_OK)
        return prg_wrap(err, "filter");
    for (lua_Integer i = 1; i <= selecting.count; i++) {
        struct test test = {.state = state, .index = i};
        if (prg_vm_call(state->vm, look_at_test, &test, err) != PRG_OK)
            return err->code;
        struct prg_spec_result result = {.file = state->path, .name = test.name, .line = test.line, .printed = ""};
        if (!test.is_wanted)
            continue;
        if (test.pending) {
            result.outcome = PRG_SPEC_PENDING;
            result.message = test.pending;
        } else {
            run_one(&test, &result);
        }
        options->visit(&result, options->ctx);
        state->steps += result.steps;
        if (options->max_total_steps && state->steps > options->max_total_steps)
            return prg_fail(err, PRG_LIMIT,
                            "%s: the specs that a set carries may take %d times the steps of one call in all; keep "
                            "long ones in a folder of their own and run them with perigee test",
                            state->path, PRG_SPEC_GATE_CALLS);
    }
    return PRG_OK;
}

static void run_in_state(struct prg_spec_state *state, const struct prg_source *source,
                         const struct prg_spec_options *options)
{
    struct prg_error err = {0};
    struct prg_policy_limits limits = options->limits;
    if (!limits.max_wall_ms)
        limits.max_wall_ms = SPEC_WALL_MS;
    state->vm = prg_vm_new(&limits, &err);
    int rc = state->vm ? PRG_OK : PRG_LIMIT;
    if (rc == PRG_OK) {
        state->vm->arena = &state->arena;
        state->vm->config = state->vm->compat = prg_json_object(&state->arena);
        rc = prg_vm_call(state->vm, open_library, state, &err);
    }
    if (rc == PRG_OK)
        rc = prg_source_compile(state->vm, source, prg_arena_printf(&state->arena, "@%s", source->path), &err);
    if (rc == PRG_OK) {
        state->vm->coverage = options->coverage;
        rc = prg_vm_call(state->vm, load_tests, state, &err);
    }
    if (rc == PRG_OK)
        rc = run_tests(state, options, &err);
    if (rc != PRG_OK)
        report_file(state, options, &err);
}

void prg_spec_run_source(const struct prg_policy_set *set, const struct prg_source *source,
                         const struct prg_spec_options *options)
{
    struct prg_spec_state state = {
        .set = set, .fixtures = options->fixtures, .path = source->path, .coverage = options->coverage};
    prg_arena_init(&state.arena);
    prg_map_init(&state.policies);
    run_in_state(&state, source, options);
    prg_vm_free(state.vm);
    prg_map_release(&state.policies);
    prg_arena_release(&state.arena);
}

int prg_spec_run(const struct prg_policy_set *set, const char *path, const struct prg_spec_options *options,
                 struct prg_error *err)
{
    prg_auto_arena arena;
    struct prg_source source = {.path = path};
    prg_arena_init(&arena);
    int rc = prg_policy_read_file(&arena, path, PRG_SOURCE_BYTES, &source.text, &source.length, err);
    if (rc == PRG_OK)
        prg_spec_run_source(set, &source, options);
    return rc;
}

void prg_spec_run_text(const struct prg_policy_set *set, const struct prg_policy_text *text,
                       const struct prg_spec_options *options)
{
    struct prg_source source = {.path = text->path, .text = text->text, .length = text->length};
    prg_spec_run_source(set, &source, options);
}

// ---- the gate of a set ----

struct gate {
    struct prg_report *report;
    uint64_t steps;
};

static void on_gate_result(const struct prg_spec_result *result, void *ctx)
{
    struct gate *gate = ctx;
    gate->steps += result->steps;
    if (result->outcome != PRG_SPEC_FAILED && result->outcome != PRG_SPEC_ERROR)
        return;
    if (result->line)
        prg_report_add(gate->report, "%s (spec \"%s\")", result->message, result->name);
    else
        prg_report_add(gate->report, "%s", result->message);
}

void prg_spec_gate(const struct prg_policy_set *set, const struct prg_set_layer *layer, const char *folder,
                   const struct prg_policy_limits *limits, struct prg_report *report)
{
    struct gate gate = {.report = report};
    struct prg_spec_options options = {.fixtures = folder, .limits = *limits, .visit = on_gate_result, .ctx = &gate};
    uint64_t most = prg_policy_limits_complete(limits).max_steps * PRG_SPEC_GATE_CALLS;
    for (size_t i = 0; i < layer->spec_count && gate.steps <= most; i++) {
        options.max_total_steps = most - gate.steps + 1;
        prg_spec_run_source(set, layer->specs[i], &options);
    }
}
