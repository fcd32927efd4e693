// SPDX-License-Identifier: Apache-2.0
// test_key.c: keys of objects.
#include "object_test.h"

#include "object/key.h"

static void a_key_has_group_kind_namespace_and_name(void **state)
{
    (void)state;
    struct prg_key key;
    struct prg_error err = {0};
    const cJSON *object =
        json_of(&arena, "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'a', 'namespace': 'b'}}");
    assert_ok(prg_key_of(&arena, object, &key, &err), &err);
    assert_string_equal(key.group, "apps");
    assert_string_equal(key.kind, "Deployment");
    assert_string_equal(key.ns, "b");
    assert_string_equal(key.name, "a");
    assert_string_equal(prg_key_text(&arena, &key), "apps/Deployment b/a");

    object = json_of(&arena, "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'a', 'namespace': null}}");
    assert_ok(prg_key_of(&arena, object, &key, &err), &err);
    assert_string_equal(key.group, "");
    assert_string_equal(key.ns, "");
    assert_string_equal(prg_key_text(&arena, &key), "Namespace a");
}

static void what_is_missing_or_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *object, *problem;
    } rows[] = {
        {"[]", "an object is expected, not array"},
        {"{'kind': 'X', 'metadata': {'name': 'a'}}", "/apiVersion is missing"},
        {"{'apiVersion': 'v1', 'metadata': {'name': 'a'}}", "/kind is missing"},
        {"{'apiVersion': 'v1', 'kind': '', 'metadata': {'name': 'a'}}", "/kind is empty"},
        {"{'apiVersion': 'v1', 'kind': 'X'}", "/metadata/name is missing"},
        {"{'apiVersion': 'v1', 'kind': 'X', 'metadata': {}}", "/metadata/name is missing"},
        {"{'apiVersion': 'v1', 'kind': 'X', 'metadata': []}", "/metadata must be an object, not array"},
        {"{'apiVersion': 'v1', 'kind': 'X', 'metadata': {'name': 5}}", "/metadata/name must be a string, not number"},
        {"{'apiVersion': 'v1', 'kind': 'X', 'metadata': {'name': 'a', 'namespace': {}}}",
         "/metadata/namespace must be a string, not object"},
        {"{'apiVersion': 'v1', 'kind': 'X', 'metadata': {'name': 'a\\u0000b'}}", "/metadata/name holds a NUL byte"},
        {"{'apiVersion': 1, 'kind': 'X', 'metadata': {'name': 'a'}}", "/apiVersion must be a string, not number"},
        {"{'apiVersion': '/v1', 'kind': 'X', 'metadata': {'name': 'a'}}", "/apiVersion '/v1' is not of the form"},
        {"{'apiVersion': 'a/', 'kind': 'X', 'metadata': {'name': 'a'}}", "/apiVersion 'a/' is not of the form"},
        {"{'apiVersion': 'a/b/c', 'kind': 'X', 'metadata': {'name': 'a'}}", "/apiVersion 'a/b/c' is not of the form"},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        struct prg_key key;
        struct prg_error err = {0};
        assert_int_equal(prg_key_of(&arena, json_of(&arena, rows[i].object), &key, &err), PRG_INVALID);
        assert_error_has(&err, rows[i].problem);
    }
}

static void keys_are_ordered_by_kind_namespace_name_and_group(void **state)
{
    (void)state;
    static const struct prg_key keys[] = {
        {"z", "A", "", "x"}, {"", "B", "", "x"},   {"", "B", "a", "a"}, {"", "B", "a", "b"},
        {"", "B", "b", "a"}, {"g", "B", "b", "a"}, {"", "C", "", "a"},
    };
    for (size_t i = 0; i < PRG_COUNT(keys); i++)
        for (size_t j = 0; j < PRG_COUNT(keys); j++) {
            int c = prg_key_compare(&keys[i], &keys[j]);
            assert_int_equal((c > 0) - (c < 0), (i > j) - (i < j));
            assert_int_equal(prg_key_equal(&keys[i], &keys[j]), i == j);
        }
}

static void the_group_of_an_api_version_is_what_stands_before_the_slash(void **state)
{
    (void)state;
    assert_string_equal(prg_api_group(&arena, "v1"), "");
    assert_string_equal(prg_api_group(&arena, "serving.kserve.io/v1beta1"), "serving.kserve.io");
    assert_string_equal(prg_api_group(&arena, NULL), "");
}

static void well_known_kinds_without_namespace_are_known(void **state)
{
    (void)state;
    assert_true(prg_kind_is_cluster_scoped("", "Namespace"));
    assert_true(prg_kind_is_cluster_scoped("serving.kserve.io", "ClusterServingRuntime"));
    assert_true(prg_kind_is_cluster_scoped("serving.kserve.io", "ClusterStorageContainer"));
    assert_false(prg_kind_is_cluster_scoped("serving.kserve.io", "ServingRuntime"));
    assert_false(prg_kind_is_cluster_scoped("example.com", "Node"));
    assert_false(prg_kind_is_cluster_scoped("apps", "Deployment"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_key_has_group_kind_namespace_and_name),
        TEST(what_is_missing_or_wrong_is_named),
        TEST(keys_are_ordered_by_kind_namespace_name_and_group),
        TEST(the_group_of_an_api_version_is_what_stands_before_the_slash),
        TEST(well_known_kinds_without_namespace_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
