// SPDX-License-Identifier: Apache-2.0
// test_select.c: runtime selection: the shipped rules on built candidates, and what other policies can do with it.
#include "policy_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/set.h"

struct choice {
    struct prg_selection selection;
    struct prg_error err;
    int rc;
};

// One candidate per object of the list: {name, scope?, created?, protocol?, match?, spec}.
static struct prg_candidate *candidates_of(struct prg_arena *arena, const cJSON *list, size_t *ret_count)
{
    struct prg_candidate *candidates = prg_arena_array(arena, struct prg_candidate, prg_json_count(list) + 1);
    const cJSON *item;
    int64_t protocol;
    *ret_count = 0;
    prg_json_each (item, list) {
        struct prg_candidate *candidate = &candidates[(*ret_count)++];
        const cJSON *match = prg_json_get(item, "match");
        candidate->name = prg_json_get_text(item, "name");
        candidate->is_cluster = prg_text_equal(prg_json_get_text(item, "scope"), "cluster");
        candidate->object = item;
        candidate->created = prg_json_get_text(item, "created") ? prg_json_get_text(item, "created") : "";
        candidate->protocol = prg_json_get_int64(item, "protocol", &protocol) ? (int)protocol : 5;
        candidate->match.present = match != NULL;
        candidate->match.name = prg_json_get_text(match, "name");
        candidate->match.version = prg_json_get_text(match, "version");
        candidate->match.auto_select = prg_json_get_true(match, "autoSelect");
        candidate->match.has_priority = prg_json_get_int64(match, "priority", &candidate->match.priority);
    }
    return candidates;
}

static struct prg_runtime_request default_request(struct prg_arena *arena)
{
    return (struct prg_runtime_request){.service =
                                            json_of(arena, "{'metadata': {'name': 's', 'labels': {'pin': 'b'}}}"),
                                        .model = json_of(arena, "{'modelFormat': {'name': 'sklearn'}}"),
                                        .format_name = "sklearn",
                                        .protocol = "v1"};
}

static struct choice choose(struct prg_arena *arena, struct prg_policy_set *set,
                            const struct prg_runtime_request *request, struct prg_candidate *candidates, size_t count)
{
    const struct prg_decider *decide = prg_policy_set_decider(set);
    struct prg_decision_context context = {
        .arena = arena, .service = request->service, .config = json_of(arena, "{}"), .compat = json_of(arena, "{}")};
    struct choice choice = {.rc = PRG_OK};
    assert_ok(decide->begin(decide->ctx, &context, &choice.err), &choice.err);
    choice.rc = decide->select(decide->ctx, request, candidates, count, &choice.selection, &choice.err);
    decide->end(decide->ctx);
    return choice;
}

// The names in order, "a b c", then "> chosen".
static const char *order_text(struct prg_arena *arena, const struct choice *choice)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    assert_ok(choice->rc, &choice->err);
    for (size_t i = 0; i < choice->selection.count; i++)
        prg_strbuf_printf(&text, "%s ", choice->selection.ordered[i]->name);
    prg_strbuf_printf(&text, "> %s", choice->selection.chosen ? choice->selection.chosen->name : "none");
    return prg_arena_strdup(arena, text.text);
}

// ---- accept ----

struct accept_case {
    const char *about, *candidate, *request; // request: which fields differ from the default
    const char *code, *reason;               // NULL: accepted
};

static const struct accept_case accept_cases[] = {
    {"an entry that fits", "{'match': {'name': 'sklearn', 'autoSelect': true}}", "", NULL, NULL},
    {"disabled", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'disabled': true}}", "", "disabled",
     "the runtime is disabled"},
    {"disabled but named", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'disabled': true}}", "named",
     "disabled", "the runtime is disabled"},
    {"disabled: false", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'disabled': false}}", "", NULL,
     NULL},
    {"other formats", "{'spec': {'supportedModelFormats': [{'name': 'xgboost', 'version': '1'}, {'name': 'onnx'}]}}",
     "", "format", "asked for sklearn, the runtime offers xgboost 1, onnx"},
    {"no formats", "{'spec': {}}", "", "format", "asked for sklearn, the runtime offers nothing"},
    {"formats null", "{'spec': {'supportedModelFormats': null}}", "", "format", "the runtime offers nothing"},
    {"another version", "{'spec': {'supportedModelFormats': [{'name': 'sklearn', 'version': '1'}]}}", "version",
     "version", "asked for sklearn 2, the runtime offers sklearn 1"},
    {"not for automatic selection", "{'match': {'name': 'sklearn', 'autoSelect': false}}", "", "auto_select",
     "the entry for sklearn is not for automatic selection (autoSelect)"},
    {"named needs no autoSelect", "{'match': {'name': 'sklearn', 'autoSelect': false}}", "named", NULL, NULL},
    {"protocol spoken",
     "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'protocolVersions': ['v2', 'v1']}}", "", NULL, NULL},
    {"protocol not spoken",
     "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'protocolVersions': ['v2', 'grpc-v2']}}", "",
     "protocol", "asked for protocol v1, the runtime speaks v2, grpc-v2"},
    {"protocols empty", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'protocolVersions': []}}", "",
     NULL, NULL},
    {"protocols null", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'protocolVersions': null}}", "",
     NULL, NULL},
    {"named, no protocol asked", "{'match': {'name': 'sklearn'}, 'spec': {'protocolVersions': ['v2']}}", "named", NULL,
     NULL},
    {"named, protocol asked", "{'match': {'name': 'sklearn'}, 'spec': {'protocolVersions': ['v2']}}", "named given",
     "protocol", "asked for protocol v1, the runtime speaks v2"},
    {"named: protocol before format", "{'spec': {'protocolVersions': ['v2']}}", "named given", "protocol", "v2"},
    {"multi-model runtime", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'multiModel': true}}", "",
     "multi_model", "the runtime is multi-model, the service has one model"},
    {"multi-model service", "{'match': {'name': 'sklearn', 'autoSelect': true}}", "multi_model", "multi_model",
     "the service is multi-model, the runtime serves one model"},
    {"both multi-model", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'multiModel': true}}",
     "multi_model", NULL, NULL},
    {"named multi-model runtime", "{'match': {'name': 'sklearn'}, 'spec': {'multiModel': true}}", "named", NULL, NULL},
    {"workerSpec in the runtime", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'workerSpec': {}}}", "",
     "multi_node", "the runtime has a workerSpec, the service has none"},
    {"workerSpec null", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'workerSpec': null}}", "", NULL,
     NULL},
    {"workerSpec in the service", "{'match': {'name': 'sklearn', 'autoSelect': true}}", "multi_node", "multi_node",
     "the service has a workerSpec, the runtime has none"},
    {"both with workerSpec", "{'match': {'name': 'sklearn', 'autoSelect': true}, 'spec': {'workerSpec': {}}}",
     "multi_node", NULL, NULL},
    {"named and multi-node", "{'match': {'name': 'sklearn'}}", "named multi_node", NULL, NULL},
};

static void shipped_accept_follows_the_rules(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_policy_set *set = load_set(NULL);
    for (size_t i = 0; i < PRG_COUNT(accept_cases); i++) {
        const struct accept_case *c = &accept_cases[i];
        struct prg_runtime_request request = default_request(arena);
        cJSON *object = json_of(arena, c->candidate), *list = prg_json_array(arena);
        size_t count;
        prg_json_set_string(arena, object, "name", "rt");
        prg_json_append(list, object);
        request.named = strstr(c->request, "named") != NULL;
        request.protocol_given = strstr(c->request, "given") != NULL;
        request.multi_model = strstr(c->request, "multi_model") != NULL;
        request.multi_node = strstr(c->request, "multi_node") != NULL;
        request.format_version = strstr(c->request, "version") ? "2" : NULL;
        struct prg_candidate *candidates = candidates_of(arena, list, &count);
        struct choice choice = choose(arena, set, &request, candidates, count);
        assert_ok(choice.rc, &choice.err);
        if (candidates[0].accepted != !c->code || !prg_text_equal(candidates[0].code, c->code))
            print_error("%s: code %s\n", c->about, candidates[0].code ? candidates[0].code : "none");
        assert_int_equal(candidates[0].accepted, !c->code);
        assert_true(prg_text_equal(candidates[0].code, c->code));
        if (c->reason)
            assert_text_has(candidates[0].reason, c->reason);
        else
            assert_null(candidates[0].reason);
        assert_string_equal(choice.selection.accept.file, "shipped/runtime_selection.lua");
        assert_string_equal(choice.selection.accept.function, "accept");
        assert_true(choice.selection.accept.line > 1);
    }
    prg_policy_set_unref(set);
}

// ---- order ----

static const char order_list[] =
    "[{'name': 'h', 'scope': 'cluster', 'protocol': 1, 'created': '2026-01-01T00:00:00Z', 'match': {'name': 'sklearn', "
    "'autoSelect': true, 'priority': 9}},"
    "{'name': 'e', 'protocol': 2, 'created': '2026-01-01T00:00:00Z', 'match': {'name': 'sklearn', 'autoSelect': true}},"
    "{'name': 'd', 'protocol': 1, 'match': {'name': 'sklearn', 'autoSelect': true, 'priority': -3}},"
    "{'name': 'c', 'protocol': 2, 'match': {'name': 'sklearn', 'autoSelect': true, 'priority': 2}},"
    "{'name': 'a', 'protocol': 1, 'created': '2026-02-01T00:00:00Z', 'match': {'name': 'sklearn', 'autoSelect': true, "
    "'priority': 2}},"
    "{'name': 'b', 'protocol': 1, 'created': '2026-01-31T23:30:00+01:00', 'match': {'name': 'sklearn', 'autoSelect': "
    "true, "
    "'priority': 2}},"
    "{'name': 'b2', 'protocol': 1, 'created': '2026-01-31T22:30:00Z', 'match': {'name': 'sklearn', 'autoSelect': true, "
    "'priority': 2}},"
    "{'name': 'f', 'protocol': 2, 'match': {'name': 'sklearn', 'autoSelect': true}},"
    "{'name': 'g', 'protocol': 5, 'match': {'name': 'sklearn', 'autoSelect': true}},"
    "{'name': 'x', 'spec': {'disabled': true}, 'match': {'name': 'sklearn', 'autoSelect': true}}]";

static void shuffle(struct prg_candidate *candidates, size_t count, unsigned seed)
{
    for (size_t i = count; i > 1; i--) {
        seed = seed * 1103515245u + 12345u;
        size_t other = (seed >> 16) % i;
        struct prg_candidate swapped = candidates[i - 1];
        candidates[i - 1] = candidates[other];
        candidates[other] = swapped;
    }
}

static void shipped_order_is_that_of_the_rules_whatever_the_input_order(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_policy_set *set = load_set(NULL);
    struct prg_runtime_request request = default_request(arena);
    for (unsigned seed = 0; seed < 20; seed++) {
        size_t count;
        struct prg_candidate *candidates = candidates_of(arena, json_of(arena, order_list), &count);
        shuffle(candidates, count, seed);
        struct choice choice = choose(arena, set, &request, candidates, count);
        assert_string_equal(order_text(arena, &choice), "a b b2 c d e f g h > a");
        assert_null(choice.selection.choose.function);
        assert_string_equal(choice.selection.before.function, "before");
    }
    prg_policy_set_unref(set);
}

static void no_candidates_or_none_accepted_choose_nothing(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_policy_set *set = load_set(NULL);
    struct prg_runtime_request request = default_request(arena);
    size_t count;
    struct choice choice = choose(arena, set, &request, NULL, 0);
    assert_string_equal(order_text(arena, &choice), "> none");
    struct prg_candidate *candidates = candidates_of(arena, json_of(arena, "[{'name': 'a'}, {'name': 'b'}]"), &count);
    choice = choose(arena, set, &request, candidates, count);
    assert_string_equal(order_text(arena, &choice), "> none");
    prg_policy_set_unref(set);
}

// ---- other policies ----

// The order that a policy's file gives the list above, or the error.
static const char *order_with(struct prg_arena *arena, const char *body)
{
    const char *lua = prg_arena_printf(arena, "local M = { api = 'runtime_selection/v1' }\n%s\nreturn M\n", body);
    char *folder = policy_folder(arena, "runtime_selection.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder);
    struct prg_runtime_request request = default_request(arena);
    size_t count;
    struct prg_candidate *candidates = candidates_of(arena, json_of(arena, order_list), &count);
    struct choice choice = choose(arena, set, &request, candidates, count);
    const char *text;
    if (choice.rc == PRG_OK) {
        text = order_text(arena, &choice);
        if (choice.selection.reason)
            text = prg_arena_printf(arena, "%s (%s)", text, choice.selection.reason);
    } else {
        char line[PRG_ERROR_LINE];
        text = prg_arena_strdup(arena, prg_error_text(&choice.err, line, sizeof(line)));
    }
    prg_policy_set_unref(set);
    remove_folder(folder);
    return text;
}

static void an_overlay_answers_for_the_functions_it_has(void **state)
{
    struct prg_arena *arena = *state;
    assert_string_equal(order_with(arena, ""), "a b b2 c d e f g h > a");
    assert_string_equal(order_with(arena, "function M.before(a, b) return a.name > b.name end"),
                        "h g f e d c b2 b a > h");
    assert_string_equal(order_with(arena, "function M.accept(c) return c.name < 'd', 'too late' end"), "a b b2 c > a");
    assert_string_equal(order_with(arena, "function M.accept(c) return c.name < 'd' end\n"
                                          "function M.before(a, b) return a.name > b.name end"),
                        "c b2 b a > c");
}

static void candidates_that_before_holds_equal_stay_in_the_default_order(void **state)
{
    assert_string_equal(order_with(*state, "function M.before() return false end"), "a b b2 c d e f g h > a");
    assert_string_equal(order_with(*state, "function M.before(a, b) return a.protocol > b.protocol end"),
                        "g c e f a b b2 d h > g");
}

static void a_before_that_is_no_order_cannot_hurt(void **state)
{
    struct prg_arena *arena = *state;
    const char *text = order_with(arena, "function M.before() return true end");
    assert_int_equal(strlen(text), strlen("a b b2 c d e f g h > a"));
    text = order_with(arena, "local n = 0\nfunction M.before(a, b) n = n * 7 + #a.name + 1 return n % 3 == 0 end");
    for (const char *name = "abcdefgh"; *name; name++)
        assert_non_null(strchr(text, *name));
}

static void choose_overrides_the_first(void **state)
{
    struct prg_arena *arena = *state;
    assert_string_equal(order_with(arena,
                                   "function M.choose(list, request) return request.service.metadata.labels.pin, "
                                   "'pinned among ' .. #list end"),
                        "a b b2 c d e f g h > b (pinned among 9)");
    assert_string_equal(order_with(arena, "function M.choose() return nil end"), "a b b2 c d e f g h > a");
    assert_text_has(order_with(arena, "function M.choose() return 'x' end"),
                    "/runtime_selection.lua:2: it chose 'x', which is none of the accepted candidates");
    assert_text_has(order_with(arena, "function M.choose() return 7 end"), "the name must be a text, not number");
}

static void candidates_have_the_fields_of_the_contract(void **state)
{
    struct prg_arena *arena = *state;
    const char *body =
        "function M.accept(c, r)\n"
        "  if c.name == 'h' then\n"
        "    assert(c.scope == 'cluster' and c.object.name == 'h' and c.protocol == 1)\n"
        "    assert(c.match.name == 'sklearn' and c.match.autoSelect == true and c.match.priority == 9)\n"
        "    assert(c.match.version == nil and c.created == '2026-01-01T00:00:00Z')\n"
        "    assert(not pcall(function() c.name = 'y' end) and c.name == 'h')\n"
        "    assert(not pcall(function() c.match.priority = 1 end))\n"
        "  end\n"
        "  if c.name == 'x' then assert(c.spec.disabled and c.object.spec == c.spec) end\n"
        "  if c.name == 'd' then assert(c.created == '' and c.match.priority == -3) end\n"
        "  if c.name == 'b' then assert(c.created == '2026-01-31T22:30:00Z') end\n"
        "  assert(r.format.name == 'sklearn' and r.format.version == nil and r.protocol == 'v1')\n"
        "  assert(r.protocol_given == false and r.named == false and r.multi_node == false)\n"
        "  assert(r.model.modelFormat.name == 'sklearn' and r.service.metadata.name == 's')\n"
        "  assert(r.namespace == nil and r.multi_model == false)\n"
        "  return true\n"
        "end";
    assert_string_equal(order_with(arena, body), "a b b2 c d e f g x h > a");
}

static void errors_name_policy_function_place_and_candidate(void **state)
{
    struct prg_arena *arena = *state;
    static const struct {
        const char *body, *error;
    } cases[] = {
        {"function M.accept(c)\n  return c.spec.none.x == 1\nend",
         "runtime_selection.lua:3: attempt to index a nil value (field 'none')"},
        {"function M.accept(c) return 1 end", "runtime_selection.lua:2: the answer must be true or false, not number"},
        {"function M.accept(c) return nil, 'x' end", "the answer must be true or false, not nil"},
        {"function M.accept(c) return perigee.null end", "the answer must be true or false, not null"},
        {"function M.accept(c) return c end", "the answer must be true or false, not table"},
        {"function M.before(a, b) return a.spec end", "the answer must be true or false, not table"},
        {"function M.accept(c) return false, 7 end", "the reason must be a text, not number"},
        {"function M.accept(c) return false, 'x', 'nope' end",
         "the code of a refusal must be disabled, format, version, auto_select, protocol, multi_model, multi_node or "
         "other, not nope"},
        {"function M.accept(c) return false, '\\xff' end", "the reason must be UTF-8 without NUL bytes"},
        {"function M.before(a, b) return a.priority < b.priority end", "attempt to compare two nil values"},
        {"function M.before(a, b) return 1 end", "the answer must be true or false, not number"},
        {"function M.before(a, b) while true do end end", "stopped: it "},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        const char *text = order_with(arena, cases[i].body);
        assert_text_has(text, strstr(cases[i].body, "accept")
                                  ? "policy runtime_selection, function accept: candidate '"
                                  : "policy runtime_selection, function before: candidate '");
        assert_text_has(text, cases[i].error);
    }
}

static void a_refusal_without_a_code_is_other(void **state)
{
    struct prg_arena *arena = *state;
    char *folder = policy_folder(arena, "runtime_selection.lua",
                                 "return { api = 'runtime_selection/v1', accept = function() return false end }", NULL);
    struct prg_policy_set *set = load_set(folder);
    struct prg_runtime_request request = default_request(arena);
    size_t count;
    struct prg_candidate *candidates = candidates_of(arena, json_of(arena, "[{'name': 'a'}]"), &count);
    struct choice choice = choose(arena, set, &request, candidates, count);
    assert_ok(choice.rc, &choice.err);
    assert_string_equal(candidates[0].code, "other");
    assert_null(candidates[0].reason);
    assert_string_equal(choice.selection.accept.file, prg_arena_printf(arena, "%s/runtime_selection.lua", folder));
    assert_string_equal(choice.selection.before.file, "shipped/runtime_selection.lua");
    prg_policy_set_unref(set);
    remove_folder(folder);
}

static void nothing_is_kept_between_calls(void **state)
{
    struct prg_arena *arena = *state;
    const char *lua =
        "local M = { api = 'runtime_selection/v1' }\n"
        "local seen = 0\n"
        "function M.accept() seen = seen + 1 count = (count or 0) + 1 return false, seen .. ' ' .. count end\n"
        "return M\n";
    char *folder = policy_folder(arena, "runtime_selection.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder);
    struct prg_runtime_request request = default_request(arena);
    for (int i = 0; i < 3; i++) {
        size_t count;
        struct prg_candidate *candidates = candidates_of(arena, json_of(arena, "[{'name': 'a'}]"), &count);
        struct choice choice = choose(arena, set, &request, candidates, count);
        assert_ok(choice.rc, &choice.err);
        assert_string_equal(candidates[0].reason, "1 1");
    }
    prg_policy_set_unref(set);
    remove_folder(folder);
}

// What the policy says about the one candidate, for a service with this pin.
static const char *verdict_on(struct prg_arena *arena, struct prg_policy_set *set, const cJSON *list, const char *pin,
                              const cJSON *config)
{
    const struct prg_decider *decide = prg_policy_set_decider(set);
    struct prg_runtime_request request = default_request(arena);
    size_t count;
    struct prg_candidate *candidates = candidates_of(arena, list, &count);
    struct prg_selection selection;
    struct prg_error err = {0};
    request.service =
        json_of(arena, prg_arena_printf(arena, "{'metadata': {'name': 's', 'labels': {'pin': '%s'}}}", pin));
    request.namespace_object = strcmp(pin, "b") == 0 ? json_of(arena, "{}") : NULL;
    struct prg_decision_context context = {
        .arena = arena, .service = request.service, .config = config, .compat = json_of(arena, "{}")};
    assert_ok(decide->begin(decide->ctx, &context, &err), &err);
    assert_ok(decide->select(decide->ctx, &request, candidates, count, &selection, &err), &err);
    decide->end(decide->ctx);
    return candidates[0].reason ? candidates[0].reason : "accepted";
}

static void answers_are_given_again_only_where_they_cannot_differ(void **state)
{
    static const struct {
        const char *reason; // a Lua expression
        bool is_kept;
    } cases[] = {
        {"'always the same'", true},
        {"request.protocol .. request.format.name .. candidate.name", true},
        {"tostring(candidate.object)", true},
        {"request.service.metadata.labels.pin", false},
        {"tostring(request.namespace)", false},
        {"request.model.modelFormat.name", false},
        {"tostring(request)", false},
        {"(function() for key in pairs(request) do return key end end)()", false},
        {"tostring(next(request))", false},
        {"tostring(request == candidate)", false},
        {"tostring(perigee.copy(request).named)", false},
        {"perigee.json.encode(request)", false},
        {"tostring(perigee.config.a)", false},
        {"tostring(perigee.compat.image_suffix)", false},
    };
    struct prg_arena *arena = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        const char *lua = prg_arena_printf(arena,
                                           "return { api = 'runtime_selection/v1',\n"
                                           "  accept = function(candidate, request) return false, %s end }\n",
                                           cases[i].reason);
        char *folder = policy_folder(arena, "runtime_selection.lua", lua, NULL);
        struct prg_policy_set *set = load_set(folder), *fresh = load_set(folder);
        const cJSON *list = json_of(arena, "[{'name': 'x', 'spec': {}}]");
        const char *first = verdict_on(arena, set, list, "a", json_of(arena, "{'a': 1}"));
        assert_string_equal(verdict_on(arena, set, list, "a", json_of(arena, "{'a': 1}")), first);
        assert_int_equal(set->answers.by_question.count, cases[i].is_kept);
        // Another service, namespace and configuration, and the same asked of a set that has kept nothing.
        const char *again = verdict_on(arena, set, list, "b", json_of(arena, "{'a': 2}"));
        assert_string_equal(again, verdict_on(arena, fresh, list, "b", json_of(arena, "{'a': 2}")));
        // A runtime that changed is another tree.
        list = json_of(arena, "[{'name': 'y', 'spec': {'disabled': true}}]");
        const char *other = verdict_on(arena, set, list, "a", json_of(arena, "{'a': 1}"));
        assert_string_equal(other, verdict_on(arena, fresh, list, "a", json_of(arena, "{'a': 1}")));
        prg_policy_set_unref(set);
        prg_policy_set_unref(fresh);
        remove_folder(folder);
    }
}

static void kept_answers_have_the_order_and_the_choice(void **state)
{
    struct prg_arena *arena = *state;
    const char *lua = "local M = { api = 'runtime_selection/v1' }\n"
                      "function M.accept(candidate) return candidate.name ~= 'b', 'no b', 'other' end\n"
                      "function M.before(a, b) return a.name > b.name end\n"
                      "function M.choose(accepted) return 'c', 'the third' end\n"
                      "return M\n";
    char *folder = policy_folder(arena, "runtime_selection.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder);
    const cJSON *list = json_of(arena, "[{'name': 'a'}, {'name': 'b'}, {'name': 'c'}, {'name': 'd'}]");
    struct prg_runtime_request request = default_request(arena);
    for (int i = 0; i < 3; i++) {
        size_t count;
        struct prg_candidate *candidates = candidates_of(arena, list, &count);
        struct choice choice = choose(arena, set, &request, candidates, count);
        assert_string_equal(order_text(arena, &choice), "d c a > c");
        assert_string_equal(choice.selection.reason, "the third");
        assert_string_equal(candidates[1].reason, "no b");
        assert_string_equal(candidates[1].code, "other");
        assert_int_equal(choice.selection.accept.line, 2);
        assert_int_equal(choice.selection.choose.line, 4);
        assert_int_equal(set->answers.by_question.count, 1);
    }
    prg_policy_set_unref(set);
    remove_folder(folder);
}

static void kept_answers_take_no_more_than_their_room(void **state)
{
    struct prg_arena *arena = *state;
    const char *lua = "return { api = 'runtime_selection/v1',\n"
                      "  accept = function() return false, ('x'):rep(1000000) end }\n";
    char *folder = policy_folder(arena, "runtime_selection.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder);
    for (int i = 0; i < 40; i++) {
        verdict_on(arena, set, json_of(arena, "[{'name': 'x'}]"), "a", json_of(arena, "{}"));
        assert_in_range(set->answers.bytes, 1000000, 9000000);
    }
    prg_policy_set_unref(set);
    remove_folder(folder);
}

// ---- candidates that are alike, and ranks ----

static uint32_t next_random(uint32_t *random, uint32_t limit)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % limit;
}

static const char *const alike_specs[] = {
    "{}",
    "{'disabled': true, 'containers': [1]}",
    "{'multiModel': true}",
    "{'supportedModelFormats': [{'name': 'sklearn', 'version': '1', 'autoSelect': true}]}",
    "{'supportedModelFormats': [{'name': 'sklearn', 'autoSelect': true}], 'protocolVersions': ['v2']}",
    "{'supportedModelFormats': [{'name': 'sklearn', 'autoSelect': false}]}",
    "{'supportedModelFormats': [{'name': 'onnx'}, {'name': 'xgboost', 'version': '3'}], 'protocolVersions': null}",
    "{'supportedModelFormats': [{'name': 'sklearn', 'autoSelect': true}], 'workerSpec': {}}",
};

// Candidates of a few kinds, with what the one who lists them knows: `alike` and `rank`.
static struct prg_candidate *alike_candidates(struct prg_arena *arena, uint32_t *random, size_t count)
{
    struct prg_candidate *candidates = prg_arena_array(arena, struct prg_candidate, count);
    for (size_t i = 0; i < count; i++) {
        struct prg_candidate *c = &candidates[i];
        uint32_t kind = next_random(random, PRG_COUNT(alike_specs));
        const cJSON *spec = json_of(arena, alike_specs[kind]), *entry;
        c->name = prg_arena_printf(arena, "r%zu", i);
        c->is_cluster = i >= count / 3;
        cJSON *object = prg_json_object(arena);
        prg_json_set(arena, object, "spec", (cJSON *)spec);
        c->object = object;
        c->created = next_random(random, 2) ? "2026-01-01T00:00:00Z" : "2026-02-01T00:00:00Z";
        c->protocol = kind == 4 ? 2 : 5;
        c->alike = kind + 1;
        prg_json_each (entry, prg_json_get(spec, "supportedModelFormats")) {
            if (!prg_text_equal(prg_json_get_text(entry, "name"), "sklearn"))
                continue;
            c->match.present = true;
            c->match.name = "sklearn";
            c->match.version = prg_json_get_text(entry, "version");
            c->match.auto_select = prg_json_get_true(entry, "autoSelect");
            c->match.has_priority = kind == 3;
            c->match.priority = kind == 3 ? 7 : 0;
        }
    }
    return candidates;
}

static struct prg_candidate *without_kinds(struct prg_arena *arena, const struct prg_candidate *from, size_t count)
{
    struct prg_candidate *candidates = prg_arena_array(arena, struct prg_candidate, count);
    memcpy(candidates, from, count * sizeof(*candidates));
    for (size_t i = 0; i < count; i++)
        candidates[i].alike = candidates[i].rank = 0;
    return candidates;
}

static void assert_same_answers(struct prg_arena *arena, const struct choice *a, const struct prg_candidate *of_a,
                                const struct choice *b, const struct prg_candidate *of_b, size_t count)
{
    assert_string_equal(order_text(arena, a), order_text(arena, b));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(of_a[i].accepted, of_b[i].accepted);
        assert_string_equal(of_a[i].code ? of_a[i].code : "none", of_b[i].code ? of_b[i].code : "none");
        assert_string_equal(of_a[i].reason ? of_a[i].reason : "none", of_b[i].reason ? of_b[i].reason : "none");
    }
}

static void the_shipped_rule_answers_for_all_that_are_alike(void **state)
{
    struct prg_arena *arena = *state;
    struct prg_policy_set *set = load_set(NULL), *fresh = load_set(NULL);
    uint32_t random = 7;
    for (int i = 0; i < 200; i++) {
        size_t count = 1 + next_random(&random, 40);
        struct prg_candidate *known = alike_candidates(arena, &random, count);
        struct prg_candidate *unknown = without_kinds(arena, known, count);
        struct prg_runtime_request request = default_request(arena);
        request.protocol = next_random(&random, 2) ? "v1" : "v2";
        request.multi_node = next_random(&random, 4) == 0;
        request.multi_model = next_random(&random, 4) == 0;
        struct choice one = choose(arena, set, &request, known, count);
        struct choice other = choose(arena, fresh, &request, unknown, count);
        assert_same_answers(arena, &one, known, &other, unknown, count);
    }
    prg_policy_set_unref(set);
    prg_policy_set_unref(fresh);
}

static void other_rules_are_asked_about_each_candidate(void **state)
{
    struct prg_arena *arena = *state;
    const char *lua = "local M = { api = 'runtime_selection/v1' }\n"
                      "local seen = 0\n"
                      "function M.accept(c) seen = seen + 1 return seen % 3 == 0, c.name .. seen end\n"
                      "return M\n";
    char *folder = policy_folder(arena, "runtime_selection.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder), *fresh = load_set(folder);
    uint32_t random = 11;
    struct prg_candidate *known = alike_candidates(arena, &random, 30);
    struct prg_candidate *unknown = without_kinds(arena, known, 30);
    struct prg_runtime_request request = default_request(arena);
    struct choice one = choose(arena, set, &request, known, 30);
    struct choice other = choose(arena, fresh, &request, unknown, 30);
    assert_int_equal(one.selection.count, 10);
    assert_same_answers(arena, &one, known, &other, unknown, 30);
    prg_policy_set_unref(set);
    prg_policy_set_unref(fresh);
    remove_folder(folder);
}

// What was not done again costs as much as if it had been.
static void answers_for_all_cost_the_steps_of_each(void **state)
{
    struct prg_arena *arena = *state;
    char *folder = policy_folder(arena, "policies.yaml", "limits: {steps: 20000}\n", NULL);
    struct prg_policy_set *set = load_set(folder);
    struct prg_runtime_request request = default_request(arena);
    struct prg_candidate *known = prg_arena_array(arena, struct prg_candidate, 4000);
    const cJSON *object = json_of(arena, "{'spec': {'disabled': true}}");
    for (size_t i = 0; i < 4000; i++)
        known[i] = (struct prg_candidate){.name = "r", .object = object, .created = "", .protocol = 5, .alike = 1};
    struct choice choice = choose(arena, set, &request, known, 4000);
    assert_int_equal(choice.rc, PRG_POLICY);
    char line[PRG_ERROR_LINE];
    assert_non_null(strstr(prg_error_text(&choice.err, line, sizeof(line)), "steps"));
    prg_policy_set_unref(set);
    remove_folder(folder);
}

// Whether its view is made for it or was kept.
static void each_candidate_costs_the_same_steps_each_time(void **state)
{
    enum { COUNT = 500 };
    struct prg_arena *arena = *state;
    const char *lua = "local M = { api = 'runtime_selection/v1' }\nfunction M.accept() return true end\nreturn M\n";
    char *folder = policy_folder(arena, "runtime_selection.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder);
    const struct prg_vm *vm = set->files[PRG_POLICY_RUNTIME_SELECTION][PRG_LAYER_SET]->vm;
    struct prg_runtime_request request = default_request(arena);
    struct prg_candidate *known = prg_arena_array(arena, struct prg_candidate, COUNT);
    uint64_t first = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const cJSON *object = json_of(arena, "{'spec': {'disabled': true}}");
        known[i] = (struct prg_candidate){.name = prg_arena_printf(arena, "r%03zu", i),
                                          .object = object,
                                          .created = "",
                                          .identity = prg_json_identity(object)};
    }
    for (request.candidates = 1; request.candidates < 4; request.candidates++) {
        struct choice choice = choose(arena, set, &request, known, COUNT);
        assert_ok(choice.rc, &choice.err);
        first = first ? first : vm->steps;
        assert_int_equal(vm->steps, first);
    }
    assert_true(first > COUNT * 20);
    prg_policy_set_unref(set);
    remove_folder(folder);
}

static int compare_by_rule(const void *x, const void *y)
{
    const struct prg_candidate *a = *(struct prg_candidate *const *)x, *b = *(struct prg_candidate *const *)y;
    int order = (int)a->is_cluster - (int)b->is_cluster;
    order = order ? order : a->protocol - b->protocol;
    order = order ? order : strcmp(b->created, a->created);
    return order ? order : strcmp(a->name, b->name);
}

static void ranks_give_the_order_that_comparing_gives(void **state)
{
    struct prg_arena *arena = *state;
    const char *lua = "return { api = 'runtime_selection/v1', accept = function() return true end,\n"
                      "  before = function() return false end }\n";
    char *folder = policy_folder(arena, "runtime_selection.lua", lua, NULL);
    struct prg_policy_set *set = load_set(folder);
    uint32_t random = 3;
    for (int i = 0; i < 200; i++) {
        size_t count = 1 + next_random(&random, 40);
        struct prg_candidate *known = alike_candidates(arena, &random, count);
        struct prg_candidate **by_rank = prg_arena_array(arena, struct prg_candidate *, count);
        for (size_t k = 0; k < count; k++) {
            by_rank[k] = &known[k];
            known[k].match.has_priority = known[k].match.present && next_random(&random, 2);
            known[k].match.priority = (int64_t)next_random(&random, 3) - 1;
        }
        struct prg_candidate *unknown = without_kinds(arena, known, count);
        qsort(by_rank, count, sizeof(struct prg_candidate *), compare_by_rule);
        for (size_t k = 0; k < count; k++)
            by_rank[k]->rank = (uint32_t)(2 * k + 1); // those between them were left out
        struct prg_runtime_request request = default_request(arena);
        struct choice plain = choose(arena, set, &request, unknown, count);
        request.candidates = (uint64_t)i + 1;
        struct choice ranked = choose(arena, set, &request, known, count);
        assert_same_answers(arena, &ranked, known, &plain, unknown, count);
    }
    prg_policy_set_unref(set);
    remove_folder(folder);
}

// ---- fronts: views that are kept ----

// Everything that a policy can do with a candidate, as one text.
static const char look_at_all[] =
    "local M = { api = 'runtime_selection/v1' }\n"
    "local out\n"
    "local function say(...) for _, v in ipairs({ ... }) do out[#out + 1] = tostring(v):gsub('\\0', 'NUL') end end\n"
    "local function try(f, ...) say(select(2, pcall(f, ...))) end\n"
    "local function look(v, depth)\n"
    "  say(type(v), v)\n"
    "  if type(v) ~= 'table' then return end\n"
    "  say(#v, next(v), v.nothing, v[1], v[0], v[true])\n"
    "  for k, w in pairs(v) do say(k) if depth < 4 then look(w, depth + 1) say(w == v[k], v[k]) end end\n"
    "  for i, w in ipairs(v) do say(i, w) end\n"
    "  say(v == v, v == perigee.copy(v), perigee.kind(v), perigee.json.encode(v))\n"
    "  try(function() v.name = 'changed' end)\n"
    "  try(function() v.new = 1 end)\n"
    "  try(function() v[1] = 1 end)\n"
    "  try(table.insert, v, 1) try(table.remove, v) try(table.sort, v) try(setmetatable, v, {})\n"
    "  try(function() return v + 1 end) try(function() return v() end)\n"
    "  try(function() return v .. '' end) try(function() return v < v end) try(function() return -v end)\n"
    "  try(next, v, 'no such key')\n"
    "  say(v.__index, v.__name, v.__pairs, v.__newindex)\n"
    "end\n"
    "function M.accept(c) out = {} look(c, 0) look(c.spec, 1) look(c.match, 1) look(c.object, 1)\n"
    "  return c.name ~= 'refused', table.concat(out, '|') end\n"
    "function M.before(a, b) out = {} look(a, 2) look(b, 2) return a.name < b.name end\n"
    "return M\n";

static struct prg_candidate *odd_candidates(struct prg_arena *arena, bool is_kept)
{
    static const char *const specs[] = {
        "{}",
        "{'a': 1.5, 'b': 1e400, 'c': [], 'd': {}, 'e': null, 'f': 'x\\u0000y', '__index': {'g': 1}, '__newindex': 'h'}",
        "{'list': [1, [2, {'deep': [null]}], {'o': true}], 'number': 9007199254740993, 'name': 'inner'}",
    };
    struct prg_candidate *candidates = prg_arena_array(arena, struct prg_candidate, 6);
    for (size_t i = 0; i < 6; i++) {
        struct prg_candidate *c = &candidates[i];
        cJSON *object = prg_json_object(arena), *spec = json_of(arena, specs[i % 3]);
        if (i != 3)
            prg_json_set(arena, object, "spec", spec);
        if (i == 2) // more members than a front has
            for (int k = 0; k < 100; k++)
                prg_json_set_int(arena, spec, prg_arena_printf(arena, "member%d", k), k);
        *c = (struct prg_candidate){.name = i == 4 ? "refused" : prg_arena_printf(arena, "r%zu", i),
                                    .is_cluster = i & 1,
                                    .object = object,
                                    .created = "",
                                    .protocol = 5,
                                    .identity = is_kept ? prg_json_identity(object) : 0};
        c->match.present = i > 2;
        c->match.name = i > 2 ? "sklearn" : NULL;
        c->match.version = i > 4 ? "1" : NULL;
        c->match.has_priority = i == 5;
        c->match.priority = i == 5 ? -3 : 0;
    }
    return candidates;
}

static void a_kept_view_is_like_any_other(void **state)
{
    struct prg_arena *arena = *state;
    char *folder = policy_folder(arena, "runtime_selection.lua", look_at_all, NULL);
    struct prg_policy_set *set = load_set(folder), *fresh = load_set(folder);
    struct prg_candidate *kept = odd_candidates(arena, true), *plain = odd_candidates(arena, false);
    struct prg_runtime_request request = default_request(arena);
    struct choice other = choose(arena, fresh, &request, plain, 6);
    for (int i = 0; i < 4; i++) {
        struct prg_candidate *again = prg_arena_array(arena, struct prg_candidate, 6);
        memcpy(again, kept, 6 * sizeof(*again));
        again[5].match.priority = i < 2 ? -3 : -3 - i;
        request.candidates = (uint64_t)i + 1; // not asked before
        struct choice one = choose(arena, set, &request, again, 6);
        assert_ok(one.rc, &one.err);
        if (i < 2)
            assert_same_answers(arena, &one, again, &other, plain, 6);
    }
    assert_int_equal(set->files[PRG_POLICY_RUNTIME_SELECTION][PRG_LAYER_SET]->vm->fronts.count, 8); // two more matches
    prg_policy_set_unref(set);
    prg_policy_set_unref(fresh);
    remove_folder(folder);
}

static void a_kept_view_does_not_outlive_its_call(void **state)
{
    struct prg_arena *arena = *state;
    char *folder = policy_folder(arena, "runtime_selection.lua", look_at_all, NULL);
    struct prg_policy_set *set = load_set(folder);
    struct prg_vm *vm = set->files[PRG_POLICY_RUNTIME_SELECTION][PRG_LAYER_SET]->vm;
    struct prg_candidate *kept = odd_candidates(arena, true);
    struct prg_runtime_request request = default_request(arena);
    request.candidates = 1;
    struct choice choice = choose(arena, set, &request, kept, 6);
    assert_ok(choice.rc, &choice.err);
    assert_int_equal(vm->fronts.count, 6);
    for (size_t i = 0; i < vm->fronts.count; i++) // whoever had held one back would find it expired
        assert_true(vm->fronts.given[i] < vm->generation);
    prg_policy_set_unref(set);
    remove_folder(folder);
}

// Runtimes that come and go fill no memory, and what is kept of them is not the policy's.
static void kept_views_take_no_more_than_their_room(void **state)
{
    struct prg_arena *arena = *state;
    char *folder = policy_folder(arena, "policies.yaml", "limits: {memoryBytes: 1000000}\n", NULL);
    struct prg_policy_set *set = load_set(folder);
    struct prg_vm *vm = prg_set_find(set, PRG_POLICY_RUNTIME_SELECTION, 0, 0, NULL)->vm;
    struct prg_runtime_request request = default_request(arena);
    bool was_dropped = false;
    for (uint64_t i = 1; i <= 400; i++) {
        size_t before = vm->fronts.count;
        request.candidates = i;
        struct choice choice = choose(arena, set, &request, odd_candidates(arena, true), 6);
        assert_ok(choice.rc, &choice.err);
        was_dropped = was_dropped || vm->fronts.count < before;
        assert_in_range(vm->fronts.bytes + vm->fronts.arena.used_bytes, 1, 400000);
        assert_in_range(vm->used_bytes, 1, 1400000);
    }
    assert_true(was_dropped);
    prg_policy_set_unref(set);
    remove_folder(folder);
}

// What a policy does not touch costs it nothing, however large it is and however tight its limits are.
static void what_is_kept_trips_no_limit(void **state)
{
    static const char *const limits[] = {"limits: {blockBytes: 6000}\n", "limits: {memoryBytes: 100000}\n", ""};
    struct prg_arena *arena = *state;
    const char *lua = "local M = { api = 'runtime_selection/v1' }\n"
                      "function M.accept(c) return c.spec.short == 's' and c.spec.nothing == nil end\n"
                      "function M.before(a, b) return a.name > b.name end\n"
                      "return M\n";
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_pad(&text, 'x', 8 << 20); // more than a block may have by default
    for (size_t i = 0; i < PRG_COUNT(limits); i++) {
        char *folder = policy_folder(arena, "runtime_selection.lua", lua, "policies.yaml", limits[i], NULL);
        struct prg_policy_set *set = load_set(folder);
        struct prg_candidate candidates[20];
        struct prg_runtime_request request = default_request(arena);
        memset(candidates, 0, sizeof(candidates));
        for (size_t k = 0; k < PRG_COUNT(candidates); k++) {
            cJSON *object = json_of(arena, "{'spec': {'short': 's', 'list': [1, 2]}}"), *spec = object->child;
            if (k % 2)
                prg_json_set_string(arena, spec, "long", text.text);
            for (size_t member = 0; k % 3 == 0 && member < 60; member++)
                prg_json_set_int(arena, spec, prg_arena_printf(arena, "m%zu", member), 1);
            candidates[k] = (struct prg_candidate){.name = prg_arena_printf(arena, "r%02zu", k),
                                                   .object = object,
                                                   .created = "",
                                                   .identity = prg_json_identity(object)};
        }
        for (request.candidates = 1; request.candidates < 5; request.candidates++) {
            struct choice choice = choose(arena, set, &request, candidates, PRG_COUNT(candidates));
            assert_ok(choice.rc, &choice.err);
            assert_int_equal(choice.selection.count, PRG_COUNT(candidates));
            assert_string_equal(choice.selection.chosen->name, "r19");
        }
        prg_policy_set_unref(set);
        remove_folder(folder);
    }
}

static void many_candidates_are_sorted_with_few_questions(void **state)
{
    enum { COUNT = 1000 };
    struct prg_arena *arena = *state;
    const char *lua = "local M = { api = 'runtime_selection/v1' }\n"
                      "function M.accept() return true end\n"
                      "function M.before(a, b) return a.name > b.name end\n"
                      "return M\n";
    char *folder =
        policy_folder(arena, "runtime_selection.lua", lua, "policies.yaml", "limits: {steps: 1000000}\n", NULL);
    struct prg_policy_set *set = load_set(folder);
    struct prg_runtime_request request = default_request(arena);
    struct prg_candidate *candidates = prg_arena_array(arena, struct prg_candidate, COUNT);
    for (int i = 0; i < COUNT; i++) {
        candidates[i].name = prg_arena_printf(arena, "%04d", i * 7919 % COUNT);
        candidates[i].object = json_of(arena, "{}");
        candidates[i].created = "";
    }
    struct choice choice = choose(arena, set, &request, candidates, COUNT);
    assert_ok(choice.rc, &choice.err);
    for (int i = 0; i < COUNT; i++)
        assert_string_equal(choice.selection.ordered[i]->name, prg_arena_printf(arena, "%04d", COUNT - 1 - i));
    prg_policy_set_unref(set);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_accept_follows_the_rules),
        cmocka_unit_test(shipped_order_is_that_of_the_rules_whatever_the_input_order),
        cmocka_unit_test(answers_are_given_again_only_where_they_cannot_differ),
        cmocka_unit_test(kept_answers_have_the_order_and_the_choice),
        cmocka_unit_test(kept_answers_take_no_more_than_their_room),
        cmocka_unit_test(the_shipped_rule_answers_for_all_that_are_alike),
        cmocka_unit_test(other_rules_are_asked_about_each_candidate),
        cmocka_unit_test(answers_for_all_cost_the_steps_of_each),
        cmocka_unit_test(each_candidate_costs_the_same_steps_each_time),
        cmocka_unit_test(ranks_give_the_order_that_comparing_gives),
        cmocka_unit_test(a_kept_view_is_like_any_other),
        cmocka_unit_test(a_kept_view_does_not_outlive_its_call),
        cmocka_unit_test(kept_views_take_no_more_than_their_room),
        cmocka_unit_test(what_is_kept_trips_no_limit),
        cmocka_unit_test(no_candidates_or_none_accepted_choose_nothing),
        cmocka_unit_test(an_overlay_answers_for_the_functions_it_has),
        cmocka_unit_test(candidates_that_before_holds_equal_stay_in_the_default_order),
        cmocka_unit_test(a_before_that_is_no_order_cannot_hurt),
        cmocka_unit_test(choose_overrides_the_first),
        cmocka_unit_test(candidates_have_the_fields_of_the_contract),
        cmocka_unit_test(errors_name_policy_function_place_and_candidate),
        cmocka_unit_test(a_refusal_without_a_code_is_other),
        cmocka_unit_test(nothing_is_kept_between_calls),
        cmocka_unit_test(many_candidates_are_sorted_with_few_questions),
    };
    return cmocka_run_group_tests(tests, set_up_arena, tear_down_arena);
}
