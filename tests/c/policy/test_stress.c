// SPDX-License-Identifier: Apache-2.0
// test_stress.c: the garbage collector at its worst moments, and memory that ends at each allocation in turn. Every
// allocation is a place where Lua may collect, so that a value that C forgot to keep is found by the sanitizer.
#include "policy_support.h"

#include <string.h>

#include "policy/set.h"

// Something of everything that C does for scripts.
static const char busy[] =
    "local t = {}\n"
    "for i = 1, 12 do t['k' .. i] = { i, ('%d|%s|%q'):format(i, i / 4, 'a\\0b'), tostring(input.list[i]) } end\n"
    "for k, v in pairs(t) do t[k] = perigee.labels.merge(input.labels, { x = k, y = v[2] }) end\n"
    "for k, v in pairs(input) do t[#t + 1] = perigee.kind(v) .. k end\n"
    "for i, v in ipairs(input.list) do t[#t + 1] = { i, v } end\n"
    "t.copy, t.list, t.none = perigee.copy(input), perigee.array({}), perigee.null\n"
    "t.big, t.view = input.big, input.labels\n"
    "t.text = ('a,b;c'):gsub('[,;]', { [','] = '<' }):rep(3, '-'):upper()\n"
    "t.words = {}\n"
    "for w in ('x yy zzz'):gmatch('%a+') do t.words[#t.words + 1] = w:reverse() .. utf8.char(228, 8364) end\n"
    "table.sort(t.words, function(a, b) return a > b end)\n"
    "t.packed = table.concat({ table.unpack(t.words) }, ' ', 1, 2)\n"
    "t.caught = { pcall(error, 'text', 0) }\n"
    "t.meta = tostring(setmetatable({}, { __tostring = function() return 'own' .. #t.words end }))\n"
    "t.json = perigee.json.decode(perigee.json.encode({ input, 1.5, 'x' }))\n"
    "t.same, t.next = input == perigee.json.decode(tostring(input)), (next(input))\n"
    "t.print = print(input, t.big, 1, nil)\n"
    "t[1] = nil\n"
    "local list = {}\n"
    "for k, v in pairs(t) do list[#list + 1] = { tostring(k), v } end\n"
    "return list\n";

static const char input_text[] =
    "{'list': [1, 2.5, 'x', null, {'a': []}], 'labels': {'a': 'b'}, 'big': 123456789012345678901}";

struct stressed {
    struct prg_script *script;
    struct prg_vm *vm; // the script's first member
    const cJSON *input;
};

static void open_busy(struct prg_arena *arena, struct stressed *stressed)
{
    struct prg_error err = {0};
    assert_ok(prg_script_load("busy.lua", busy, strlen(busy), NULL, &stressed->script, &err), &err);
    stressed->vm = *(struct prg_vm **)stressed->script;
    stressed->input = json_of(arena, input_text);
}

static int run_busy(struct prg_arena *arena, struct stressed *stressed, cJSON **ret, struct prg_error *err)
{
    prg_error_clear(err);
    return prg_script_run(stressed->script, arena, "input", stressed->input, NULL, ret, err);
}

static void a_collection_at_each_allocation_changes_nothing(void **state)
{
    struct stressed stressed;
    struct prg_error err = {0};
    cJSON *wanted, *got;
    open_busy(*state, &stressed);
    assert_ok(run_busy(*state, &stressed, &wanted, &err), &err);
    assert_true(prg_json_count(wanted) > 20);
    for (size_t every = 1; every <= 13; every += 4) {
        stressed.vm->stress.collect_every = every;
        assert_ok(run_busy(*state, &stressed, &got, &err), &err);
        assert_json_equal(got, wanted);
    }
    prg_script_free(stressed.script);
}

static void each_allocation_may_fail(void **state)
{
    struct stressed stressed;
    struct prg_error err = {0};
    cJSON *wanted, *got;
    size_t n = 0, step = 1;
    open_busy(*state, &stressed);
    assert_ok(run_busy(*state, &stressed, &wanted, &err), &err);
    for (;; n += step) {
        stressed.vm->stress.fail_at = n + 1;
        int rc = run_busy(*state, &stressed, &got, &err);
        if (stressed.vm->stress.count <= n) { // there were no more
            assert_ok(rc, &err);
            break;
        }
        assert_int_equal(rc, PRG_POLICY);
        assert_error_has(&err, "(limit memoryBytes)");
    }
    assert_true(n > 300);
    stressed.vm->stress.fail_at = 0;
    assert_ok(run_busy(*state, &stressed, &got, &err), &err);
    assert_json_equal(got, wanted);
    prg_script_free(stressed.script);
}

// ---- the shipped policies ----

static void each_vm(struct prg_policy_set *set, size_t collect_every, size_t fail_at)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        for (size_t layer = 0; layer < PRG_SET_LAYERS; layer++)
            if (set->files[i][layer]) {
                set->files[i][layer]->vm->stress.collect_every = collect_every;
                set->files[i][layer]->vm->stress.fail_at = fail_at;
            }
}

struct answers {
    int rc; // of the first that failed
    const char *image, *layers[4];
    size_t layer_count;
    enum prg_keep keep;
    struct prg_selection selection;
};

static void ask_all(struct prg_arena *arena, struct prg_policy_set *set, struct answers *ret, struct prg_error *err)
{
    static const struct prg_image_request request = {.runtime_name = "mine", .runtime_version = "2"};
    const struct prg_decider *decide = prg_policy_set_decider(set);
    const cJSON *runtime =
        json_of(arena, "{'metadata': {'name': 'rt'}, 'spec': {'supportedModelFormats': [{'name': 'a'}]}}");
    struct prg_decision_context context = {
        .arena = arena,
        .service = json_of(
            arena, "{'metadata': {'name': 's'}, 'spec': {'predictor': {'model': {'modelFormat': {'name': 'a'}}}}}"),
        .config = json_of(arena, "{'inferenceService': {'serviceAnnotationDisallowedList': ['x']}}"),
        .compat = json_of(arena, "{'image_suffix': true}")};
    struct prg_candidate candidates[2];
    const char *reason;
    *ret = (struct answers){0};
    for (size_t i = 0; i < 2; i++)
        candidates[i] = (struct prg_candidate){.name = i ? "b" : "a", .object = runtime, .created = "", .protocol = 1};
    struct prg_runtime_request asked = {
        .model = prg_json_at(context.service, "spec", "predictor", "model"), .format_name = "a", .protocol = "v1"};
    assert_ok(decide->begin(decide->ctx, &context, err), err);
    ret->rc = decide->image_tag(decide->ctx, "a/b:1", &request, &ret->image, NULL, err);
    if (ret->rc == PRG_OK)
        ret->rc = decide->label_layers(decide->ctx, "labels", "head", ret->layers, &ret->layer_count, 4, NULL, err);
    if (ret->rc == PRG_OK)
        ret->rc = decide->keep_annotation(decide->ctx, "x/y", "1", "service", &ret->keep, &reason, NULL, err);
    if (ret->rc == PRG_OK)
        ret->rc = decide->select(decide->ctx, &asked, candidates, 2, &ret->selection, err);
    decide->end(decide->ctx);
}

static void shipped_policies_decide_the_same_under_stress(void **state)
{
    struct prg_policy_set *set = load_set(NULL);
    struct prg_error err = {0};
    struct answers wanted, got;
    ask_all(*state, set, &wanted, &err);
    assert_ok(wanted.rc, &err);
    assert_string_equal(wanted.image, "a/b:2");
    each_vm(set, 1, 0);
    ask_all(*state, set, &got, &err);
    assert_ok(got.rc, &err);
    assert_string_equal(got.image, wanted.image);
    assert_int_equal(got.layer_count, wanted.layer_count);
    assert_int_equal(got.keep, wanted.keep);
    size_t failed = 0;
    for (size_t n = 1; n < 120; n++) {
        each_vm(set, 0, n);
        prg_error_clear(&err);
        ask_all(*state, set, &got, &err);
        if (got.rc != PRG_OK) {
            assert_int_equal(got.rc, PRG_POLICY);
            assert_error_has(&err, "(limit memoryBytes)");
            failed++;
        }
    }
    assert_true(failed > 10);
    each_vm(set, 0, 0);
    prg_error_clear(&err);
    ask_all(*state, set, &got, &err);
    assert_ok(got.rc, &err);
    assert_string_equal(got.image, wanted.image);
    prg_policy_set_unref(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collection_at_each_allocation_changes_nothing),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(shipped_policies_decide_the_same_under_stress),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
