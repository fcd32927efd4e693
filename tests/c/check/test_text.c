// SPDX-License-Identifier: Apache-2.0
// test_text.c: what `perigee check` says of a text, and what it must not say.
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "check/types.h"

static void append(const struct prg_check_finding *finding, void *ctx)
{
    prg_strbuf_printf(ctx, "%u:%u+%u %s%s: %s\n", finding->line, finding->column, finding->width,
                      finding->is_warning ? "(warning) " : "", finding->rule, finding->message);
}

static void assert_findings(const char *text, enum prg_check_text kind, const char *wanted)
{
    prg_auto_strbuf found = PRG_STRBUF_INIT;
    prg_check_text("x.lua", text, strlen(text), kind, append, &found);
    if (strcmp(found.text, wanted) != 0)
        fail_msg("of\n%s\nfound:\n%swanted:\n%s", text, found.text, wanted);
}

#define SELECTION "local M = { api = 'runtime_selection/v1' }\nfunction M.accept(candidate, request)\n  "
#define END "\n  return true\nend\nreturn M\n"

static const struct {
    const char *text, *wanted;
} cases[] = {
    // names
    {SELECTION "return reqest ~= nil" END, NULL},
    {SELECTION "local x = reqest" END, "3:13+6 undefined-global: undefined global 'reqest'; did you mean 'request'?\n"},
    {SELECTION "os.exit()" END,
     "3:3+2 undefined-global: 'os' is not there for policies; perigee check --globals lists what is\n"},
    {SELECTION "local x = zzzzzzzz" END, "3:13+8 undefined-global: undefined global 'zzzzzzzz'\n"},
    {SELECTION "x = 1 y = x" END, "3:3+1 (warning) lowercase-global: 'x' is global; `local x` keeps it in its place\n"
                                  "3:9+1 (warning) lowercase-global: 'y' is global; `local y` keeps it in its place\n"},
    {SELECTION "local x = string.dump" END, "3:20+4 undefined-field: string has no field 'dump'\n"},
    {SELECTION "local x = perigee.label" END,
     "3:21+5 undefined-field: perigee has no field 'label'; did you mean 'labels'?\n"},
    {SELECTION "local x = perigee.compat.image_sufix" END,
     "3:28+11 undefined-field: perigee.Compat has no field 'image_sufix'; did you mean 'image_suffix'?\n"},
    // fields of objects
    {SELECTION "local x = request.service.spec.predicter.model" END,
     "3:34+9 undefined-field: InferenceServiceSpec has no field 'predicter'; did you mean 'predictor'?\n"},
    {SELECTION "local spec = candidate.spec local x = spec.disabeld" END,
     "3:46+8 undefined-field: ServingRuntimeSpec has no field 'disabeld'; did you mean 'disabled'?\n"},
    {SELECTION
     "local a = request.service local b = a.spec local c = b.predictor local d = c.model local e = d.runtim" END,
     "3:98+6 undefined-field: ModelSpec has no field 'runtim'; did you mean 'runtime'?\n"},
    {SELECTION "local x = candidate.object.metadata.lables" END,
     "3:39+6 undefined-field: ObjectMeta has no field 'lables'; did you mean 'labels'?\n"},
    {SELECTION "local x = candidate.object['specc']" END,
     "3:30+7 undefined-field: ServingRuntime has no field 'specc'; did you mean 'spec'?\n"},
    {SELECTION "local x = request.protocl" END,
     "3:21+7 undefined-field: perigee.RuntimeRequest has no field 'protocl'; did you mean 'protocol'?\n"},
    {SELECTION "for _, c in ipairs(candidate.spec.containers or {}) do local x = c.imag end" END,
     "3:70+4 undefined-field: Container has no field 'imag'; did you mean 'image'?\n"},
    {SELECTION "for _, e in pairs(candidate.spec.containers[1].env) do local x = e.vlaue end" END,
     "3:70+5 undefined-field: EnvVar has no field 'vlaue'; did you mean 'value'?\n"},
    {SELECTION "local x = candidate.spec.containers.image" END,
     "3:39+5 undefined-field: a list has no field 'image'; take an item of it first\n"},
    {SELECTION "local x = perigee.json.at(request.service, 'spec', 'predictor', 'modle')" END,
     "3:67+7 undefined-field: PredictorSpec has no field 'modle'; did you mean 'model'?\n"},
    {SELECTION "local x = perigee.json.given(candidate.spec).workrSpec" END,
     "3:48+9 undefined-field: ServingRuntimeSpec has no field 'workrSpec'; did you mean 'workerSpec'?\n"},
    {SELECTION "local x = perigee.copy(request.model) x.storageURI = 1" END,
     "3:43+10 undefined-field: ModelSpec has no field 'storageURI'; did you mean 'storageUri'?\n"},
    {SELECTION "local x = (request.service.metadata.name):uper()" END,
     "3:45+4 undefined-field: a text has no field 'uper'; did you mean 'upper'?\n"},
    // through helpers
    {"local M = { api = 'runtime_selection/v1' }\nlocal function model(s) return s.spec.predictor.model end\n"
     "function M.accept(_, request) return model(request.service).nme ~= nil end\nreturn M",
     "3:61+3 undefined-field: ModelSpec has no field 'nme'; did you mean 'name'?\n"},
    {"local M = { api = 'runtime_selection/v1' }\nlocal function f(s) return s.spce end\n"
     "function M.before(a, b) return f(a) == f(b) end\nreturn M",
     "2:30+4 undefined-field: perigee.Candidate has no field 'spce'; did you mean 'spec'?\n"},
    {"local M = { api = 'runtime_selection/v1' }\n---@param s k8s.PodSpec\nlocal function f(s) return s.contianers "
     "end\n"
     "M.before = function(a, b) return f(a.spec) == f(b.spec) end\nreturn M",
     "3:30+10 undefined-field: PodSpec has no field 'contianers'; did you mean 'containers'?\n"},
    {"return { api = 'image/v1', tag = function(image, request) return request.runtime_nam end }",
     "1:74+11 undefined-field: perigee.ImageRequest has no field 'runtime_nam'; did you mean 'runtime_name'?\n"},
    {"local function tag(_, request) return request.gpu end\nreturn { api = 'image/v1', tag = tag }",
     "1:47+3 undefined-field: perigee.ImageRequest has no field 'gpu'; did you mean 'gpus'?\n"},
    // options
    {"local M = { api = 'image/v1', options = { mirror = 'x' } }\nfunction M.tag() return options.miror end\nreturn M",
     "2:33+5 undefined-field: options has no option 'miror'; did you mean 'mirror'?\n"},
    {"local M = { api = 'image/v1' }\nfunction M.tag() return options.mirror end\nreturn M",
     "2:33+6 undefined-field: there is no option 'mirror': the file declares none (M.options)\n"},
    // calls and contracts
    {"local M = { api = 'image/v1' }\nfunction M.tag(image, request, more) return more end\nreturn M",
     "2:32+4 redundant-parameter: tag gets 2 arguments, 'more' would always be nil\n"},
    {"local M = { api = 'runtime_selection/v1' }\nfunction M.before(a) return a.name < 'm' end\nreturn M",
     "2:12+6 missing-parameter: before compares two candidates, it needs two parameters\n"},
    {"local M = { api = 'image/v1', options = {} }\nreturn M",
     "1:11+1 contract: the file defines no function of its contract (tag)\n"},
    {SELECTION "local x = perigee.labels.get(candidate.object)" END,
     "3:28+3 missing-parameter: perigee.labels.get needs 2 arguments, here it gets 1\n"},
    {SELECTION "local x = perigee.quantity.less('1', '2', '3')" END,
     "3:30+4 redundant-parameter: perigee.quantity.less takes at most 2 arguments, here it gets 3\n"},
    {SELECTION "local x = ('a'):sub()" END, "3:19+3 missing-parameter: string.sub needs 1 argument, here it gets 0\n"},
    {SELECTION "local function f(a) return a end local x = f(1, 2)" END,
     "3:46+1 redundant-parameter: f takes 1 argument, here it gets 2\n"},
    // silence
    {SELECTION "---@diagnostic disable-next-line: undefined-field\n  local x = candidate.spec.newer" END, NULL},
    {"---@diagnostic disable: undefined-global\n" SELECTION "local x = zzzzz" END, NULL},
};

static void mistakes_are_found_where_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        if (cases[i].wanted)
            assert_findings(cases[i].text, PRG_CHECK_POLICY, cases[i].wanted);
    }
    assert_findings(cases[0].text, PRG_CHECK_POLICY,
                    "3:10+6 undefined-global: undefined global 'reqest'; did you mean 'request'?\n");
}

static void a_rule_can_be_silenced_for_a_line_or_a_file(void **state)
{
    (void)state;
    for (size_t i = 1; i < PRG_COUNT(cases); i++)
        if (!cases[i].wanted)
            assert_findings(cases[i].text, PRG_CHECK_POLICY, "");
    assert_findings("---@diagnostic disable-next-line: undefined-field\nlocal x = zzzzz", PRG_CHECK_POLICY,
                    "2:11+5 undefined-global: undefined global 'zzzzz'\n");
}

// What a correct policy may do without being complained about.
static const char *const fine[] = {
    SELECTION "local x x = candidate.spec x = 1 return x.foo" END,
    SELECTION "local t = perigee.copy(candidate) t.mine = 1 t.also = t.mine" END,
    SELECTION "local m = candidate.object.metadata.labels['a/b'] or candidate.object.metadata.labels.c" END,
    SELECTION "local x = request.namespace and request.namespace.spec.anything" END,
    SELECTION "local x = perigee.config.inferenceService.whatever.it.holds" END,
    SELECTION "local t = table.pack(1, 2) return t.n" END,
    SELECTION "local spec = candidate.spec or {} local x = spec.containers and spec.containers[1].name" END,
    SELECTION "local function each(...) return select('#', ...) end each(1, 2, 3)" END,
    SELECTION "local function f(a) return a.x end local g = f g({ x = 1 }) f({})" END,
    SELECTION "local function f(o) return o.any end f(candidate.spec) f({ any = 1 })" END,
    SELECTION "local v = candidate if request.named then v = { own = 1 } end local x = v.own" END,
    SELECTION "local s = tostring(1):rep(2) .. ('%d'):format(3) local n = #s" END,
    SELECTION "goto done local x ::done::" END,
    SELECTION "string.format('%s', perigee.json.encode(candidate.spec, true))" END,
    SELECTION "return perigee.shipped.runtime_selection.accept(candidate, request)" END,
    SELECTION "for name, value in pairs(candidate.spec) do local x = value.anything end" END,
    SELECTION "local ok, why = pcall(error, 'x') local x = math.max(table.unpack({ 1, 2 }))" END,
    SELECTION "local self = {} function self:go() return self.x end self:go()" END,
    SELECTION "local x = candidate.spec.containers[1].resources.limits['nvidia.com/gpu']" END,
    "local M = { api = 'image/v1' }\n---@param compat? table\nfunction M.tag(image, request, compat) return compat "
    "end\n"
    "return M",
    "local M = { api = 'image/v1' }\nfor _, name in ipairs({ 'tag' }) do M[name] = function() end end\nreturn M",
    "local M = { api = 'image/v1', options = { a = 1 } }\nM._own = 2\nfunction M.tag() return options.a .. M._own end\n"
    "return M",
    "helper = function() return 1 end\nreturn { api = 'image/v1', tag = function() return helper() end }",
};

static void correct_policies_are_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(fine); i++) {
        prg_auto_strbuf found = PRG_STRBUF_INIT;
        prg_check_text("x.lua", fine[i], strlen(fine[i]), PRG_CHECK_POLICY, append, &found);
        if (found.length && !strstr(found.text, "(warning)"))
            fail_msg("of\n%s\nfound:\n%s", fine[i], found.text);
    }
}

static void specs_may_use_the_names_of_busted(void **state)
{
    (void)state;
    assert_findings(
        "local s = require('support.perigee')\ndescribe('x', function() before_each(s.f) it('y', function()\n"
        "assert.are.equal(1, 1) asert.x() end) end)",
        PRG_CHECK_SPEC, "3:24+5 undefined-global: undefined global 'asert'; did you mean 'assert'?\n");
}

static void check_shipped(const char *name, const char *text, size_t length, void *ctx)
{
    prg_auto_strbuf found = PRG_STRBUF_INIT;
    prg_check_text(name, text, length, PRG_CHECK_POLICY, append, &found);
    if (found.length)
        fail_msg("%s:\n%s", name, found.text);
    ++*(int *)ctx;
}

static void the_shipped_policies_are_clean(void **state)
{
    int count = 0;
    (void)state;
    prg_policy_each_shipped(check_shipped, &count);
    assert_true(count >= 8);
}

struct walk {
    struct prg_types *types;
    int known; // names that are there for sure
};

static void check_signature(const char *name, void *ctx)
{
    struct walk *walk = ctx;
    struct prg_types *types = walk->types;
    char library[32];
    walk->known += strcmp(name, "string.format") == 0 || strcmp(name, "pairs") == 0 || strcmp(name, "utf8.codes") == 0;
    const char *dot = strchr(name, '.');
    if (strcmp(name, "perigee") == 0)
        return;
    snprintf(library, sizeof(library), "%.*s", (int)strcspn(name, "."), name);
    const struct prg_type *type = prg_map_get(&types->globals, library);
    if (dot)
        type = prg_types_field(types, prg_types_resolve(types, type), dot + 1);
    if (!type || prg_types_resolve(types, type)->kind == PRG_TYPE_ANY)
        fail_msg("no signature of %s in core/check/library.c", name);
}

static void every_name_of_the_sandbox_has_a_signature(void **state)
{
    struct prg_types types;
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    prg_types_init(&types, &arena);
    struct walk walk = {&types, 0};
    prg_policy_each_global(check_signature, &walk);
    assert_int_equal(walk.known, 3);
    prg_types_release(&types);
}

static void check_contract(struct prg_types *types, const char *policy, const char *const *functions)
{
    const struct prg_type *class = prg_types_class(types, policy);
    assert_non_null(class);
    for (; *functions; functions++) {
        const struct prg_type *type = prg_types_field(types, class, *functions);
        if (!type || type->kind != PRG_TYPE_FUNCTION || !type->fields)
            fail_msg("%s.%s is not declared in lua/stdlib/meta/contracts.lua", policy, *functions);
    }
}

static void every_contract_is_declared(void **state)
{
    struct prg_types types;
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    prg_types_init(&types, &arena);
    check_contract(&types, "perigee.AnnotationFilterPolicy", (const char *const[]){"keep", NULL});
    check_contract(&types, "perigee.ContainerMergePolicy", (const char *const[]){"args", "env", NULL});
    check_contract(&types, "perigee.IlStagePolicy", (const char *const[]){"transit", "report", NULL});
    check_contract(&types, "perigee.ImagePolicy", (const char *const[]){"tag", NULL});
    check_contract(&types, "perigee.LabelPriorityPolicy", (const char *const[]){"layers", "resolve", NULL});
    check_contract(&types, "perigee.MultiNodePolicy", (const char *const[]){"topology", NULL});
    check_contract(&types, "perigee.ObjectPatchPolicy", (const char *const[]){"patch", NULL});
    check_contract(&types, "perigee.RuntimeSelectionPolicy", (const char *const[]){"accept", "before", "choose", NULL});
    prg_types_release(&types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_found_where_they_are),
        cmocka_unit_test(a_rule_can_be_silenced_for_a_line_or_a_file),
        cmocka_unit_test(correct_policies_are_left_alone),
        cmocka_unit_test(specs_may_use_the_names_of_busted),
        cmocka_unit_test(the_shipped_policies_are_clean),
        cmocka_unit_test(every_name_of_the_sandbox_has_a_signature),
        cmocka_unit_test(every_contract_is_declared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
