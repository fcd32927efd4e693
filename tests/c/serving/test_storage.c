// SPDX-License-Identifier: Apache-2.0
// test_storage.c: which storage URIs are supported, and by which storage container.
#include "function_cases.h"

#include "object/meta.h"
#include "serving/storage.h"

// As runtime-catalog/storagecontainers/default.yaml has it.
#define DEFAULT_CONTAINER                                                                                              \
    "{'metadata': {'name': 'default'}, 'spec': {'workloadType': 'initContainer', 'supportedUriFormats': ["             \
    "{'prefix': 'gs://'}, {'prefix': 's3://'}, {'prefix': 'hdfs://'}, {'prefix': 'hf://'}, {'prefix': 'webhdfs://'}, " \
    "{'regex': 'https://(.+?).blob.core.windows.net/(.+)'}, {'regex': 'https://(.+?).file.core.windows.net/(.+)'}, "   \
    "{'regex': 'https?://(.+)/(.+)'}]}}"

// As a store lists them: by name.
static cJSON *by_name(struct prg_arena *arena, cJSON *list)
{
    cJSON *sorted = prg_json_array(arena), *item;
    while (list->child) {
        cJSON *least = list->child;
        prg_json_each (item, list) {
            if (strcmp(prg_meta_name(item), prg_meta_name(least)) < 0)
                least = item;
        }
        prg_json_detach(list, least);
        prg_json_append(sorted, least);
    }
    return sorted;
}

static void check_uri(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out)
{
    const cJSON *given = prg_json_get(in, "storageContainers");
    cJSON *containers = prg_json_is_array(given) ? prg_json_copy(arena, given) : prg_json_array(arena);
    struct prg_error err = {0};
    const char *why = NULL;
    if (prg_json_get_true(in, "useDefaultStorageContainers"))
        prg_json_append(containers, json_of(arena, DEFAULT_CONTAINER));
    int rc = prg_storage_validate_uri(arena, prg_json_get_text(in, "uri"), by_name(arena, containers), &why, &err);
    bool is_refused = prg_json_is_string(prg_json_get(out, "error"));
    if ((rc != PRG_OK) != is_refused)
        fail_msg("case %lld: %s is %s", (long long)id, prg_json_get_text(in, "uri"), rc ? "refused" : "accepted");
    assert_true(rc != PRG_OK || (why && *why));
}

static void uris_are_judged_as_recorded(void **state)
{
    (void)state;
    each_function_case("storage_uri", 300, check_uri);
}

static void what_is_accepted_has_a_reason(void **state)
{
    static const struct {
        const char *uri, *why; // NULL: refused
    } cases[] = {
        {"", "a local path"},
        {"/mnt/models", "a local path"},
        {"model://x", NULL},
        {"-://x", "a local path"},
        {"pvc://claim/path", "known prefix pvc://"},
        {"oci://r/i:1", "known prefix oci://"},
        {"https://a.blob.core.windows.net/c/p", "an Azure blob"},
        {"https://a.blob.core.windows.net/", NULL},
        {"s3://blob.core.windows.net", NULL}, // an Azure name anywhere makes it Azure's
        {"ftp://h/f", NULL},
        {"mine://x", "ClusterStorageContainer m takes it"},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *containers =
        json_of(&arena, "[{'metadata': {'name': 'm'}, 'spec': {'supportedUriFormats': [{'prefix': 'mine://'}]}}]");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_error err = {0};
        const char *why = NULL;
        int rc = prg_storage_validate_uri(&arena, cases[i].uri, containers, &why, &err);
        if (!cases[i].why) {
            assert_int_equal(rc, PRG_INVALID);
            assert_error_has(&err, cases[i].uri);
            assert_error_has(&err, "ClusterStorageContainer");
            continue;
        }
        assert_ok(rc, &err);
        assert_string_equal(why, cases[i].why);
    }
}

static void a_bad_expression_is_named(void **state)
{
    prg_auto_arena arena;
    struct prg_error err = {0};
    const cJSON *ret = NULL;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *containers = json_of(&arena, "[{'metadata': {'name': 'bad'}, 'spec': {'supportedUriFormats': "
                                              "[{'prefix': 'x://'}, {'regex': '(['}]}}]");
    assert_ok(prg_storage_container_for(containers, "x://y", NULL, &ret, &err), &err); // asked in order
    assert_non_null(ret);
    assert_int_equal(prg_storage_container_for(containers, "y://y", NULL, &ret, &err), PRG_INVALID);
    assert_error_has(&err, "'bad': /spec/supportedUriFormats/1/regex");
    err = (struct prg_error){0};
    assert_int_equal(prg_storage_validate_uri(&arena, "y://y", containers, NULL, &err), PRG_INVALID);
    assert_error_has(&err, "'y://y'");
}

static void the_first_enabled_one_for_init_containers_takes_it(void **state)
{
    prg_auto_arena arena;
    struct prg_error err = {0};
    const cJSON *ret = NULL;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *containers =
        json_of(&arena, "[{'metadata': {'name': 'a'}, 'disabled': true, 'spec': {'supportedUriFormats': [{'prefix': "
                        "'x://'}]}},"
                        " {'metadata': {'name': 'b'}, 'spec': {'workloadType': 'localModelDownloadJob', "
                        "'supportedUriFormats': [{'prefix': 'x://'}]}},"
                        " {'metadata': {'name': 'c'}, 'spec': {'supportedUriFormats': [{'prefix': 'x://'}]}},"
                        " {'metadata': {'name': 'd'}, 'spec': {'supportedUriFormats': [{'prefix': 'x://'}]}}]");
    assert_ok(prg_storage_container_for(containers, "x://y", NULL, &ret, &err), &err);
    assert_string_equal(prg_meta_name(ret), "c"); // no workloadType: initContainer, the CRD's default
    assert_ok(prg_storage_container_for(containers, "y://y", "", &ret, &err), &err);
    assert_null(ret);
}

static void a_named_one_must_fit(void **state)
{
    static const struct {
        const char *name, *error;
        int rc;
    } cases[] = {
        {"fits", NULL, PRG_OK},
        {"missing", "ClusterStorageContainer \"missing\" not found", PRG_NOTFOUND},
        {"off", "ClusterStorageContainer \"off\" is disabled", PRG_INVALID},
        {"job",
         "ClusterStorageContainer \"job\" has workloadType \"localModelDownloadJob\"; explicit selection requires "
         "\"initContainer\"",
         PRG_INVALID},
        {"other", "ClusterStorageContainer \"other\" does not support storageUri \"x://y\"", PRG_INVALID},
        {"bad", "regex", PRG_INVALID},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *containers = json_of(
        &arena, "[{'metadata': {'name': 'fits'}, 'spec': {'supportedUriFormats': [{'regex': '^x:'}]}},"
                " {'metadata': {'name': 'off'}, 'disabled': true, 'spec': {'supportedUriFormats': [{'prefix': 'x'}]}},"
                " {'metadata': {'name': 'job'}, 'spec': {'workloadType': 'localModelDownloadJob'}},"
                " {'metadata': {'name': 'other'}, 'spec': {'supportedUriFormats': [{'prefix': 'z'}, {}]}},"
                " {'metadata': {'name': 'bad'}, 'spec': {'supportedUriFormats': [{'regex': '('}]}}]");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_error err = {0};
        const cJSON *ret = NULL;
        assert_int_equal(prg_storage_container_for(containers, "x://y", cases[i].name, &ret, &err), cases[i].rc);
        if (cases[i].error)
            assert_error_has(&err, cases[i].error);
        else
            assert_string_equal(prg_meta_name(ret), cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uris_are_judged_as_recorded),
        cmocka_unit_test(what_is_accepted_has_a_reason),
        cmocka_unit_test(a_bad_expression_is_named),
        cmocka_unit_test(the_first_enabled_one_for_init_containers_takes_it),
        cmocka_unit_test(a_named_one_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
