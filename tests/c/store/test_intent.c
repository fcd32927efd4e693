// SPDX-License-Identifier: Apache-2.0
// test_intent.c: what belongs to whom when an intent is laid over a stored object.
#include "support/support.h"

#include "store/intent.h"

static void check(const char *stored, const char *intent, enum prg_intent_change change, const char *want)
{
    prg_auto_arena arena = {0};
    const cJSON *got;
    const cJSON *stored_tree = stored ? json_of(&arena, stored) : NULL;
    assert_int_equal(prg_intent_merge(&arena, stored_tree, json_of(&arena, intent), &got), change);
    assert_json_text(&arena, got, want);
    if (change == PRG_INTENT_SAME)
        assert_ptr_equal(got, stored_tree);
}

static void a_new_object_is_the_intent_without_its_status(void **state)
{
    (void)state;
    check(NULL, "{'kind': 'X', 'metadata': {'name': 'a'}, 'status': {'a': 1}}", PRG_INTENT_SPEC,
          "{'kind': 'X', 'metadata': {'name': 'a'}}");
}

static void an_equal_intent_is_no_change_whatever_others_have_added(void **state)
{
    (void)state;
    check("{'kind': 'X', 'metadata': {'name': 'a', 'uid': 'u', 'generation': 3, 'creationTimestamp': 't'},"
          " 'spec': {'a': 1}, 'status': {'s': 1}}",
          "{'spec': {'a': 1.0}, 'metadata': {'name': 'a'}, 'kind': 'X'}", PRG_INTENT_SAME,
          "{'kind': 'X', 'metadata': {'name': 'a', 'uid': 'u', 'generation': 3, 'creationTimestamp': 't'},"
          " 'spec': {'a': 1}, 'status': {'s': 1}}");
}

static void the_stored_status_stays(void **state)
{
    (void)state;
    check("{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'a': 1}, 'status': {'s': 1}}",
          "{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'a': 2}, 'status': {'s': 2}}", PRG_INTENT_SPEC,
          "{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'a': 2}, 'status': {'s': 1}}");
}

static void what_the_intent_no_longer_says_goes(void **state)
{
    (void)state;
    check("{'kind': 'X', 'metadata': {'name': 'a', 'labels': {'l': '1'}}, 'spec': {'a': 1, 'b': 2}}",
          "{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'a': 1}}", PRG_INTENT_SPEC,
          "{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'a': 1}}");
}

static void a_label_alone_is_no_new_generation(void **state)
{
    (void)state;
    check("{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {}}",
          "{'kind': 'X', 'metadata': {'name': 'a', 'labels': {'l': '1'}}, 'spec': {}}", PRG_INTENT_META,
          "{'kind': 'X', 'metadata': {'name': 'a', 'labels': {'l': '1'}}, 'spec': {}}");
}

static void replicas_that_the_intent_leaves_out_stay(void **state)
{
    (void)state;
    check("{'kind': 'Deployment', 'metadata': {'name': 'a'}, 'spec': {'replicas': 5, 'x': 1}}",
          "{'kind': 'Deployment', 'metadata': {'name': 'a'}, 'spec': {'x': 1}}", PRG_INTENT_SAME,
          "{'kind': 'Deployment', 'metadata': {'name': 'a'}, 'spec': {'replicas': 5, 'x': 1}}");
    check("{'kind': 'Deployment', 'metadata': {'name': 'a'}, 'spec': {'replicas': 5}}",
          "{'kind': 'Deployment', 'metadata': {'name': 'a'}, 'spec': {'replicas': 2}}", PRG_INTENT_SPEC,
          "{'kind': 'Deployment', 'metadata': {'name': 'a'}, 'spec': {'replicas': 2}}");
    // Other kinds with a field of the name have no autoscaler that would own it.
    check("{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'replicas': 5, 'x': 1}}",
          "{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'x': 1}}", PRG_INTENT_SPEC,
          "{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'x': 1}}");
}

static void the_policy_revision_is_written_only_with_a_real_change(void **state)
{
    (void)state;
    const char *stored = "{'kind': 'X', 'metadata': {'name': 'a', 'annotations': {'perigee.dev/policy-revision': '1'}},"
                         " 'spec': {'a': 1}}";
    check(stored,
          "{'kind': 'X', 'metadata': {'name': 'a', 'annotations': {'perigee.dev/policy-revision': '2'}},"
          " 'spec': {'a': 1}}",
          PRG_INTENT_SAME, stored);
    check(stored, "{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {'a': 1}}", PRG_INTENT_SAME, stored);
    check(stored,
          "{'kind': 'X', 'metadata': {'name': 'a', 'annotations': {'perigee.dev/policy-revision': '2'}},"
          " 'spec': {'a': 2}}",
          PRG_INTENT_SPEC,
          "{'kind': 'X', 'metadata': {'name': 'a', 'annotations': {'perigee.dev/policy-revision': '2'}},"
          " 'spec': {'a': 2}}");
}

static void finalizers_of_others_stay_unless_the_intent_names_its_own(void **state)
{
    (void)state;
    check("{'kind': 'X', 'metadata': {'name': 'a', 'finalizers': ['f']}, 'data': {}}",
          "{'kind': 'X', 'metadata': {'name': 'a'}, 'data': {'k': 'v'}}", PRG_INTENT_SPEC,
          "{'kind': 'X', 'metadata': {'name': 'a', 'finalizers': ['f']}, 'data': {'k': 'v'}}");
    check("{'kind': 'X', 'metadata': {'name': 'a', 'finalizers': ['f']}}",
          "{'kind': 'X', 'metadata': {'name': 'a', 'finalizers': []}}", PRG_INTENT_META,
          "{'kind': 'X', 'metadata': {'name': 'a', 'finalizers': []}}");
}

static void the_inputs_are_not_touched(void **state)
{
    prg_auto_arena arena = {0};
    const char *stored_text = "{'kind': 'X', 'metadata': {'name': 'a', 'uid': 'u'}, 'status': {'s': 1}}";
    const char *intent_text = "{'kind': 'X', 'metadata': {'name': 'a'}, 'spec': {}, 'status': {'s': 2}}";
    cJSON *stored = json_of(&arena, stored_text), *intent = json_of(&arena, intent_text);
    const cJSON *got;
    (void)state;
    assert_int_equal(prg_intent_merge(&arena, stored, intent, &got), PRG_INTENT_SPEC);
    assert_json_text(&arena, stored, stored_text);
    assert_json_text(&arena, intent, intent_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_object_is_the_intent_without_its_status),
        cmocka_unit_test(an_equal_intent_is_no_change_whatever_others_have_added),
        cmocka_unit_test(the_stored_status_stays),
        cmocka_unit_test(what_the_intent_no_longer_says_goes),
        cmocka_unit_test(a_label_alone_is_no_new_generation),
        cmocka_unit_test(replicas_that_the_intent_leaves_out_stay),
        cmocka_unit_test(the_policy_revision_is_written_only_with_a_real_change),
        cmocka_unit_test(finalizers_of_others_stay_unless_the_intent_names_its_own),
        cmocka_unit_test(the_inputs_are_not_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
