// SPDX-License-Identifier: Apache-2.0
// test_plan.c: order, JSON shape, trace and field walk of plans.
#include "support/support.h"

#include <string.h>

#include "plan/plan.h"

#define EMPTY_PLAN                                                                                                     \
    "{'objects': [], 'deletes': [], 'resource': null, 'events': [], 'messages': [], 'error': null,"                    \
    " 'requeueAfterSeconds': 0, 'policyRevision': '', 'trace': []}"

static cJSON *object_of(struct prg_arena *arena, const char *api_version, const char *kind, const char *ns,
                        const char *name)
{
    cJSON *object = prg_json_object(arena);
    prg_json_set_string(arena, object, "apiVersion", api_version);
    prg_json_set_string(arena, object, "kind", kind);
    cJSON *meta = prg_json_ensure_object(arena, object, "metadata");
    prg_json_set_string(arena, meta, "name", name);
    if (*ns)
        prg_json_set_string(arena, meta, "namespace", ns);
    return object;
}

static void an_empty_plan_has_every_key(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_plan *plan = prg_plan_new(&arena);
    (void)state;
    prg_plan_finish(plan);
    assert_json_text(&arena, prg_plan_to_json(plan, 0), EMPTY_PLAN);
}

static void keys_come_in_the_documented_order(void **state)
{
    static const char *const want[] = {
        "objects",        "deletes", "resource", "events", "messages", "error", "requeueAfterSeconds",
        "policyRevision", "trace",   NULL};
    prg_auto_arena arena = {0};
    size_t i = 0;
    const cJSON *member;
    (void)state;
    prg_json_each (member, prg_plan_to_json(prg_plan_new(&arena), 0)) {
        assert_string_equal(member->string, want[i]);
        i++;
    }
    assert_null(want[i]);
}

static void objects_are_sorted_by_kind_namespace_name(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_plan *plan = prg_plan_new(&arena);
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    const cJSON *object;
    (void)state;
    prg_plan_add_object(plan, object_of(&arena, "v1", "Service", "b", "x"));
    prg_plan_add_object(plan, object_of(&arena, "v1", "Service", "a", "y"));
    prg_plan_add_object(plan, object_of(&arena, "serving.knative.dev/v1", "Service", "a", "y"));
    prg_plan_add_object(plan, object_of(&arena, "v1", "Service", "a", "x"));
    prg_plan_add_object(plan, object_of(&arena, "apps/v1", "Deployment", "z", "z"));
    prg_plan_finish(plan);
    prg_json_each (object, plan->objects) {
        struct prg_key key;
        struct prg_error err = {0};
        assert_ok(prg_key_of(&arena, object, &key, &err), &err);
        prg_strbuf_printf(&got, "%s %s/%s %s;", key.kind, key.ns, key.name, key.group);
    }
    assert_string_equal(got.text, "Deployment z/z apps;Service a/x ;Service a/y ;Service a/y serving.knative.dev;"
                                  "Service b/x ;");
    assert_int_equal(prg_json_count(plan->objects), 5);
}

static void deletes_are_sorted_and_listed_once(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_plan *plan = prg_plan_new(&arena);
    (void)state;
    prg_plan_add_delete(plan, "v1", "Service", "ns", "b");
    prg_plan_add_delete(plan, "v1", "Service", "ns", "a");
    prg_plan_add_delete(plan, "v1", "Service", "ns", "b");
    prg_plan_add_delete(plan, "rbac.authorization.k8s.io/v1", "ClusterRole", NULL, "r");
    prg_plan_finish(plan);
    assert_json_text(
        &arena, plan->deletes,
        "[{'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRole', 'namespace': '', 'name': 'r'},"
        " {'apiVersion': 'v1', 'kind': 'Service', 'namespace': 'ns', 'name': 'a'},"
        " {'apiVersion': 'v1', 'kind': 'Service', 'namespace': 'ns', 'name': 'b'}]");
}

static void an_equal_event_is_added_once(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_plan *plan = prg_plan_new(&arena);
    (void)state;
    prg_plan_add_event(plan, "Warning", "NoRuntime", "no runtime for %s", "onnx");
    prg_plan_add_event(plan, "Warning", "NoRuntime", "no runtime for %s", "onnx");
    prg_plan_add_event(plan, "Warning", "NoRuntime", "no runtime for %s", "100%");
    assert_json_text(&arena, plan->events,
                     "[{'type': 'Warning', 'reason': 'NoRuntime', 'message': 'no runtime for onnx'},"
                     " {'type': 'Warning', 'reason': 'NoRuntime', 'message': 'no runtime for 100%'}]");
}

static void trace_keeps_the_order_and_names_the_policy(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_plan *plan = prg_plan_new(&arena);
    struct prg_policy_source source = {"runtime_selection", "accept", "runtime_selection.lua", 12};
    (void)state;
    prg_plan_trace(plan, "runtime", &source, "kserve-sklearnserver", "rejected", "format");
    prg_plan_trace(plan, "default", NULL, "spec.predictor.model.protocolVersion", "v1", NULL);
    assert_json_text(&arena, prg_json_get(prg_plan_to_json(plan, 0), "trace"),
                     "[{'decision': 'runtime', 'policy': 'runtime_selection', 'function': 'accept',"
                     "  'file': 'runtime_selection.lua', 'line': 12, 'subject': 'kserve-sklearnserver',"
                     "  'outcome': 'rejected', 'reason': 'format'},"
                     " {'decision': 'default', 'policy': null, 'function': null, 'file': null, 'line': null,"
                     "  'subject': 'spec.predictor.model.protocolVersion', 'outcome': 'v1', 'reason': null}]");
}

static void to_json_leaves_the_plan_usable(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_plan *plan = prg_plan_new(&arena);
    (void)state;
    prg_plan_add_object(plan, object_of(&arena, "v1", "Service", "ns", "a"));
    plan->resource = object_of(&arena, "serving.kserve.io/v1beta1", "InferenceService", "ns", "m");
    plan->error = "bad";
    plan->requeue_after_ms = 1500;
    plan->policy_revision = "0123456789abcdef";
    cJSON *first = prg_plan_to_json(plan, 0);
    cJSON *second = prg_plan_to_json(plan, 0);
    assert_json_equal(first, second);
    prg_plan_add_object(plan, object_of(&arena, "v1", "Service", "ns", "b"));
    prg_plan_finish(plan);
    cJSON *third = prg_plan_to_json(plan, 0);
    assert_int_equal(prg_json_count(prg_json_get(third, "objects")), 2);
    assert_string_equal(prg_json_get_text(third, "error"), "bad");
    assert_string_equal(prg_json_number_text(prg_json_get(third, "requeueAfterSeconds")), "1.5");
    assert_string_equal(prg_json_get_text(third, "policyRevision"), "0123456789abcdef");
    assert_string_equal(prg_json_get_text(prg_json_at(third, "resource", "metadata"), "name"), "m");
}

static void fields_are_traced_with_path_and_layer(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_plan *plan = prg_plan_new(&arena);
    cJSON *object =
        json_of(&arena, "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'm-predictor',"
                        " 'labels': {'serving.kserve.io/inferenceservice': 'm'}},"
                        " 'spec': {'containers': [{'name': 'kserve-container', 'image': 'x:1'}]}}");
    (void)state;
    prg_json_tag(object, PRG_ORIGIN_RULE);
    prg_json_tag(prg_json_item(prg_json_at(object, "spec", "containers"), 0), PRG_ORIGIN_RUNTIME);
    prg_json_tag(prg_json_get(prg_json_item(prg_json_at(object, "spec", "containers"), 0), "image"), PRG_ORIGIN_IMAGE);
    prg_plan_add_object(plan, object);
    const cJSON *entry;
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    prg_json_each (entry, prg_json_get(prg_plan_to_json(plan, PRG_PLAN_FIELDS), "trace")) {
        assert_string_equal(prg_json_get_text(entry, "decision"), "field");
        prg_strbuf_printf(&got, "%s = %s\n", prg_json_get_text(entry, "subject"), prg_json_get_text(entry, "outcome"));
    }
    assert_string_equal(got.text,
                        "Deployment/m-predictor .apiVersion = rule\n"
                        "Deployment/m-predictor .kind = rule\n"
                        "Deployment/m-predictor .metadata.labels.serving\\.kserve\\.io/inferenceservice = rule\n"
                        "Deployment/m-predictor .metadata.name = rule\n"
                        "Deployment/m-predictor .spec.containers[0].image = image policy\n"
                        "Deployment/m-predictor .spec.containers[0].name = runtime\n");
    // Without the flag there is no entry for a field.
    assert_int_equal(prg_json_count(prg_json_get(prg_plan_to_json(plan, 0), "trace")), 0);
}

static void collect_path(const char *path, const cJSON *node, enum prg_origin origin, void *ctx)
{
    prg_strbuf_printf(ctx, "%s:%s:%d ", path, prg_json_type_name(node), (int)origin);
}

static void field_walk_visits_empty_containers_and_quotes_odd_keys(void **state)
{
    prg_auto_arena arena = {0};
    prg_auto_strbuf got = PRG_STRBUF_INIT;
    (void)state;
    prg_plan_each_field(json_of(&arena, "{\"a\": {}, \"b\": [[], [1, null]], \"it's\": true, \"\": \"\", \"x y\": 1}"),
                        collect_path, &got);
    // By key, whatever the order in the object.
    assert_string_equal(got.text, "['']:string:0 .a:object:0 .b[0]:array:0 .b[1][0]:number:0 .b[1][1]:null:0 "
                                  "['it\\'s']:boolean:0 ['x y']:number:0 ");
}

static void every_origin_has_a_name_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(prg_origin_name(PRG_ORIGIN_NONE), "");
    assert_string_equal(prg_origin_name(PRG_ORIGIN_COUNT), "");
    for (int i = 1; i < PRG_ORIGIN_COUNT; i++) {
        assert_true(strlen(prg_origin_name((enum prg_origin)i)) > 0);
        for (int j = 1; j < i; j++)
            assert_string_not_equal(prg_origin_name((enum prg_origin)i), prg_origin_name((enum prg_origin)j));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_plan_has_every_key),
        cmocka_unit_test(keys_come_in_the_documented_order),
        cmocka_unit_test(objects_are_sorted_by_kind_namespace_name),
        cmocka_unit_test(deletes_are_sorted_and_listed_once),
        cmocka_unit_test(an_equal_event_is_added_once),
        cmocka_unit_test(trace_keeps_the_order_and_names_the_policy),
        cmocka_unit_test(to_json_leaves_the_plan_usable),
        cmocka_unit_test(fields_are_traced_with_path_and_layer),
        cmocka_unit_test(field_walk_visits_empty_containers_and_quotes_odd_keys),
        cmocka_unit_test(every_origin_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
