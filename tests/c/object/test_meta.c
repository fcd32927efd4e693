// SPDX-License-Identifier: Apache-2.0
// test_meta.c: reading and making ObjectMeta.
#include "object_test.h"

#include "object/meta.h"

static void metadata_is_read(void **state)
{
    (void)state;
    const cJSON *object =
        json_of(&arena, "{'metadata': {'name': 'n', 'namespace': 's', 'uid': 'u', 'generation': 7, "
                        "'creationTimestamp': '2026-01-01T00:00:00Z', 'labels': {'a': 'b'}, 'annotations': {'c': 'd'}, "
                        "'deletionTimestamp': '2026-01-02T00:00:00Z'}}");
    assert_string_equal(prg_meta_name(object), "n");
    assert_string_equal(prg_meta_namespace(object), "s");
    assert_string_equal(prg_meta_uid(object), "u");
    assert_int_equal(prg_meta_generation(object), 7);
    assert_string_equal(prg_meta_created(object), "2026-01-01T00:00:00Z");
    assert_json_text(&arena, prg_meta_labels(object), "{'a': 'b'}");
    assert_json_text(&arena, prg_meta_annotations(object), "{'c': 'd'}");
    assert_string_equal(prg_meta_label(object, "a"), "b");
    assert_null(prg_meta_label(object, "A"));
    assert_string_equal(prg_meta_annotation(object, "c"), "d");
    assert_true(prg_meta_is_deleting(object));
}

static void what_is_absent_or_of_another_type_reads_as_empty(void **state)
{
    (void)state;
    const cJSON *objects[] = {
        NULL,
        json_of(&arena, "{}"),
        json_of(&arena, "{'metadata': null}"),
        json_of(&arena, "{'metadata': {'name': 1, 'uid': null, 'generation': 'x', 'labels': [], 'annotations': 1, "
                        "'deletionTimestamp': null, 'creationTimestamp': null, 'ownerReferences': {}}}"),
    };
    for (size_t i = 0; i < PRG_COUNT(objects); i++) {
        assert_string_equal(prg_meta_name(objects[i]), "");
        assert_string_equal(prg_meta_namespace(objects[i]), "");
        assert_string_equal(prg_meta_uid(objects[i]), "");
        assert_int_equal(prg_meta_generation(objects[i]), 0);
        assert_string_equal(prg_meta_created(objects[i]), "");
        assert_null(prg_meta_labels(objects[i]));
        assert_null(prg_meta_annotations(objects[i]));
        assert_null(prg_meta_label(objects[i], "a"));
        assert_false(prg_meta_is_deleting(objects[i]));
        assert_null(prg_owner_controller(objects[i]));
        assert_false(prg_owner_controls(objects[0], objects[i]));
    }
}

static void an_owner_reference_names_and_controls(void **state)
{
    (void)state;
    const cJSON *owner = json_of(&arena, "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', "
                                         "'metadata': {'name': 'iris', 'namespace': 'd', 'uid': 'u1'}}");
    cJSON *reference = prg_owner_reference(&arena, owner);
    assert_json_text(&arena, reference,
                     "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', 'name': 'iris', "
                     "'uid': 'u1', 'controller': true, 'blockOwnerDeletion': true}");

    cJSON *object =
        json_of(&arena, "{'metadata': {'ownerReferences': [{'uid': 'u2'}, {'uid': 'u0', 'controller': false}]}}");
    assert_false(prg_owner_controls(owner, object));
    assert_null(prg_owner_controller(object));
    prg_json_append(prg_json_at(object, "metadata", "ownerReferences"), reference);
    assert_true(prg_owner_controls(owner, object));
    assert_ptr_equal(prg_owner_controller(object), reference);
    prg_json_set_string(&arena, reference, "uid", "u9");
    assert_false(prg_owner_controls(owner, object));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(metadata_is_read),
        TEST(what_is_absent_or_of_another_type_reads_as_empty),
        TEST(an_owner_reference_names_and_controls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
