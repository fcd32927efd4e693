// SPDX-License-Identifier: Apache-2.0
// test_candidates.c: which runtimes could serve a model, and KServe's rules for accepting and ordering them.
#include "function_cases.h"

#include "kserve_rules.h"

// A candidate from the spec of its runtime.
static struct prg_candidate candidate_of(struct prg_arena *arena, const char *spec,
                                         const struct prg_runtime_request *request, const struct prg_compat *compat)
{
    struct prg_candidate candidate;
    cJSON *object = json_of(arena, "{'kind': 'ClusterServingRuntime', 'metadata': {'name': 'r'}}");
    prg_json_set(arena, object, "spec", json_of(arena, spec));
    prg_candidate_of(object, true, request, compat, &candidate);
    return candidate;
}

static struct prg_runtime_request request_of(struct prg_arena *arena, const char *model)
{
    struct prg_runtime_request request;
    prg_candidates_request(NULL, NULL, json_of(arena, model), &request);
    return request;
}

static void a_request_assumes_protocol_v1(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    struct prg_runtime_request request = request_of(&arena, "{'modelFormat': {'name': 'onnx'}}");
    assert_string_equal(request.format_name, "onnx");
    assert_null(request.format_version);
    assert_string_equal(request.protocol, "v1");
    assert_false(request.protocol_given);
    assert_false(request.named);
    request = request_of(&arena, "{'modelFormat': {'name': 'onnx', 'version': '1'}, 'protocolVersion': 'grpc-v2',"
                                 " 'runtime': 'r'}");
    assert_string_equal(request.format_version, "1");
    assert_string_equal(request.protocol, "grpc-v2");
    assert_true(request.protocol_given);
    assert_true(request.named);
}

static void protocols_have_numbers(void **state)
{
    static const struct {
        const char *list;
        int lowest;
    } cases[] = {{"['v1']", 1},      {"['v2', 'v1']", 1}, {"['grpc-v2', 'grpc-v1']", 3},
                 {"['grpc-v2']", 4}, {"['v3']", 5},       {"['v3', 'v2']", 2},
                 {"[]", 5},          {"null", 5}};
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_int_equal(prg_protocol_lowest(json_of(&arena, cases[i].list)), cases[i].lowest);
    assert_int_equal(prg_protocol_lowest(NULL), PRG_PROTOCOL_UNKNOWN);
    for (int number = 1; number <= 4; number++)
        assert_int_equal(prg_protocol_number(prg_protocol_name(number)), number);
    assert_string_equal(prg_protocol_name(PRG_PROTOCOL_UNKNOWN), "");
}

static void refusals_have_a_code_and_a_reason(void **state)
{
    static const struct {
        const char *spec, *model;
        bool multi_model, multi_node;
        const char *code, *reason; // NULL: accepted
    } cases[] = {
#define FORMATS "'supportedModelFormats': [{'name': 'onnx', 'version': '1', 'autoSelect': true}]"
#define ONNX "{'modelFormat': {'name': 'onnx'}"
        {"{" FORMATS "}", ONNX "}", false, false, NULL, NULL},
        {"{'disabled': true, " FORMATS "}", ONNX "}", false, false, "disabled", "disabled"},
        {"{'multiModel': true, " FORMATS "}", ONNX "}", false, false, "multi_model", "many models"},
        {"{" FORMATS "}", ONNX "}", true, false, "multi_model", "a single model"},
        {"{'workerSpec': {}, " FORMATS "}", ONNX "}", false, false, "multi_node", "for several nodes"},
        {"{" FORMATS "}", ONNX "}", false, true, "multi_node", "no workerSpec"},
        {"{'workerSpec': {}, " FORMATS "}", ONNX "}", false, true, NULL, NULL},
        {"{" FORMATS "}", "{'modelFormat': {'name': 'pmml'}}", false, false, "format", "no entry for format pmml"},
        {"{" FORMATS "}", "{'modelFormat': {'name': 'onnx', 'version': '2'}}", false, false, "version",
         "no entry for version 2 of format onnx"},
        {"{'supportedModelFormats': [{'name': 'onnx'}]}", ONNX "}", false, false, "auto_select", "autoSelect"},
        {"{'protocolVersions': ['v2'], " FORMATS "}", ONNX "}", false, false, "protocol", "protocol v1"},
        {"{'protocolVersions': [], " FORMATS "}", ONNX ", 'protocolVersion': 'v7'}", false, false, NULL, NULL},
        {"{}", ONNX "}", false, false, "format", "no entry"},
        // a named runtime: neither autoSelect nor the number of models or nodes matters, and a protocol only if given
        {"{'protocolVersions': ['v2'], 'supportedModelFormats': [{'name': 'onnx'}]}", ONNX ", 'runtime': 'r'}", true,
         true, NULL, NULL},
        {"{'protocolVersions': ['v2'], " FORMATS "}", ONNX ", 'runtime': 'r', 'protocolVersion': 'v1'}", false, false,
         "protocol", "protocol v1"},
        {"{'disabled': true, " FORMATS "}", ONNX ", 'runtime': 'r'}", false, false, "disabled", "disabled"},
        {"{" FORMATS "}", "{'modelFormat': {'name': 'onnx', 'version': '3'}, 'runtime': 'r'}", false, false, "version",
         "version 3"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        const char *code = NULL, *reason = NULL;
        prg_arena_init(&arena);
        struct prg_runtime_request request = request_of(&arena, cases[i].model);
        request.multi_model = cases[i].multi_model;
        request.multi_node = cases[i].multi_node;
        struct prg_candidate candidate = candidate_of(&arena, cases[i].spec, &request, &prg_compat_fixed);
        bool accepted = rules_accept(&arena, &candidate, &request, &code, &reason);
        if (accepted != (cases[i].code == NULL))
            fail_msg("case %zu: %s, %s", i, accepted ? "accepted" : code, reason ? reason : "");
        if (accepted)
            continue;
        assert_string_equal(code, cases[i].code);
        if (!strstr(reason, cases[i].reason))
            fail_msg("case %zu: reason '%s'", i, reason);
    }
}

static void an_entry_for_automatic_selection_goes_first(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    struct prg_runtime_request request = request_of(&arena, "{'modelFormat': {'name': 'onnx', 'version': '1'}}");
    struct prg_candidate candidate =
        candidate_of(&arena,
                     "{'supportedModelFormats': [{'name': 'onnx', 'version': '2', 'autoSelect': true},"
                     " {'name': 'onnx', 'version': '1'}, {'name': 'onnx', 'version': '1', 'autoSelect': true}]}",
                     &request, &prg_compat_fixed);
    assert_true(candidate.match.present);
    assert_true(candidate.match.auto_select);
    assert_string_equal(candidate.match.version, "1");
}

static void priority_comes_from_the_entry_that_fits_when_mended(void **state)
{
    static const char spec[] = "{'supportedModelFormats': [{'name': 'onnx', 'version': '1', 'priority': 1},"
                               " {'name': 'onnx', 'version': '2', 'autoSelect': true, 'priority': 7}]}";
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    struct prg_runtime_request request = request_of(&arena, "{'modelFormat': {'name': 'onnx', 'version': '2'}}");
    struct prg_candidate candidate = candidate_of(&arena, spec, &request, &prg_compat_fixed);
    assert_int_equal(candidate.match.priority, 7);
    candidate = candidate_of(&arena, spec, &request, &prg_compat_kserve);
    assert_int_equal(candidate.match.priority, 1);
}

// ---- the order ----

#define AGE(n) "2026-01-0" #n "T00:00:00Z"
static const struct prg_candidate best_first[] = {
    {.name = "z", .match = {.has_priority = true, .priority = 2}, .protocol = 5, .created = ""},
    {.name = "z", .match = {.has_priority = true, .priority = -1}, .protocol = 1, .created = AGE(1)},
    {.name = "z", .protocol = 1, .created = AGE(3)},
    {.name = "z", .protocol = 2, .created = AGE(3)},
    {.name = "a", .protocol = 2, .created = AGE(2)},
    {.name = "b", .protocol = 2, .created = AGE(2)},
    {.name = "a", .protocol = 2, .created = ""},
    {.name = "b", .protocol = 2, .created = NULL},
    {.name = "a", .is_cluster = true, .match = {.has_priority = true, .priority = 9}, .protocol = 1, .created = AGE(9)},
    {.name = "a", .is_cluster = true, .protocol = 1, .created = AGE(9)},
};

static void scope_then_priority_then_protocol_then_age_then_name_decide(void **state)
{
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(best_first); i++)
        for (size_t j = 0; j < PRG_COUNT(best_first); j++)
            if (rules_before(&best_first[i], &best_first[j]) != (i < j))
                fail_msg("%zu before %zu is %s", i, j, i < j ? "false" : "true");
}

static void ages_compare_as_times_not_as_texts(void **state)
{
    const struct prg_candidate early = {.name = "a", .created = "2026-01-01T10:00:00+02:00"};
    const struct prg_candidate late = {.name = "b", .created = "2026-01-01T09:30:00Z"};
    (void)state;
    assert_true(rules_before(&late, &early));
    assert_false(rules_before(&early, &late));
}

static void candidates_are_those_of_the_namespace_then_of_the_cluster(void **state)
{
    prg_auto_arena arena;
    struct prg_candidate *candidates;
    (void)state;
    prg_arena_init(&arena);
    struct prg_runtime_request request = request_of(&arena, "{'modelFormat': {'name': 'onnx'}}");
    const cJSON *runtimes = json_of(&arena, "[{'metadata': {'name': 'b', 'namespace': 'ns'}},"
                                            " {'metadata': {'name': 'other', 'namespace': 'elsewhere'}},"
                                            " {'metadata': {'name': 'a', 'namespace': 'ns'}}]");
    const cJSON *cluster = json_of(&arena, "[{'metadata': {'name': 'c'}}]");
    size_t count = prg_candidates_collect(&arena, runtimes, cluster, "ns", &request, &prg_compat_fixed, &candidates);
    assert_int_equal(count, 3);
    assert_string_equal(candidates[0].name, "b");
    assert_string_equal(candidates[1].name, "a");
    assert_false(candidates[1].is_cluster);
    assert_string_equal(candidates[2].name, "c");
    assert_true(candidates[2].is_cluster);
    assert_int_equal(prg_candidates_collect(&arena, runtimes, NULL, NULL, &request, &prg_compat_fixed, &candidates), 3);
    assert_int_equal(prg_candidates_collect(&arena, NULL, NULL, "ns", &request, &prg_compat_fixed, &candidates), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_assumes_protocol_v1),
        cmocka_unit_test(protocols_have_numbers),
        cmocka_unit_test(refusals_have_a_code_and_a_reason),
        cmocka_unit_test(an_entry_for_automatic_selection_goes_first),
        cmocka_unit_test(priority_comes_from_the_entry_that_fits_when_mended),
        cmocka_unit_test(scope_then_priority_then_protocol_then_age_then_name_decide),
        cmocka_unit_test(ages_compare_as_times_not_as_texts),
        cmocka_unit_test(candidates_are_those_of_the_namespace_then_of_the_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
