// SPDX-License-Identifier: Apache-2.0
// test_annotations.c: annotations for the pod webhook.
#include "plan_fixture.h"

#include "serving/annotations.h"

// Runs one function on a predictor and compares what it adds to {'own': '1'}.
static void check(void (*annotate)(struct prg_serving *, cJSON *), const char *predictor, const char *want)
{
    struct px px;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(&px, predictor, NULL, NULL);
    cJSON *annotations = prg_json_object(&px.arena);
    annotate(&s, annotations);
    assert_json_text(&px.arena, annotations, want);
    px_release(&px);
}

static void logger_settings_become_annotations(void **state)
{
    (void)state;
    check(prg_annotate_logger, "{}", "{}");
    check(prg_annotate_logger, "{'logger': {}}",
          "{'internal.serving.kserve.io/logger': 'true', 'internal.serving.kserve.io/logger-mode': ''}");
    check(prg_annotate_logger,
          "{'logger': {'url': 'http://s', 'mode': 'request', 'metadataHeaders': ['a', 'b'], 'metadataAnnotations': "
          "['c']}}",
          "{'internal.serving.kserve.io/logger': 'true', 'internal.serving.kserve.io/logger-mode': 'request',"
          " 'internal.serving.kserve.io/logger-sink-url': 'http://s',"
          " 'internal.serving.kserve.io/logger-metadata-headers': 'a,b',"
          " 'internal.serving.kserve.io/logger-metadata-annotations': 'c'}");
}

static void batcher_settings_become_annotations(void **state)
{
    (void)state;
    check(prg_annotate_batcher, "{}", "{}");
    check(prg_annotate_batcher, "{'batcher': {}}", "{'internal.serving.kserve.io/batcher': 'true'}");
    check(prg_annotate_batcher, "{'batcher': {'maxBatchSize': 32, 'maxLatency': 500}}",
          "{'internal.serving.kserve.io/batcher': 'true',"
          " 'internal.serving.kserve.io/batcher-max-batchsize': '32',"
          " 'internal.serving.kserve.io/batcher-max-latency': '500'}");
}

#define SPEC "internal.serving.kserve.io/storage-spec"
#define SOURCE "internal.serving.kserve.io/storage-initializer-sourceuri"

static void storage_specs_become_annotations(void **state)
{
    (void)state;
    check(prg_annotate_storage_spec, "{'model': {'storageUri': 's3://b'}}", "{}");
    check(prg_annotate_storage_spec, "{'model': {'storage': {}}}", "{'" SPEC "': 'true'}");
    check(prg_annotate_storage_spec, "{'model': {'storage': {'key': 'k', 'path': 'a/b'}}}",
          "{'" SPEC "': 'true', '" SPEC "-key': 'k', '" SOURCE "': '<scheme-placeholder>://a/b'}");
    check(prg_annotate_storage_spec, "{'model': {'storage': {'path': '//a'}}}", // one slash goes
          "{'" SPEC "': 'true', '" SOURCE "': '<scheme-placeholder>:///a'}");
    check(prg_annotate_storage_spec, "{'model': {'storage': {'parameters': {'z': '<&>', 'a': '1'}}}}",
          "{\"" SPEC "\": \"true\", \"" SPEC "-param\": "
          "\"{\\\"a\\\":\\\"1\\\",\\\"z\\\":\\\"\\\\u003c\\\\u0026\\\\u003e\\\"}\"}");
}

static void services_of_many_models_get_an_agent(void **state)
{
    (void)state;
    check(prg_annotate_agent, "{'model': {'storageUri': 's3://b'}}", "{}");
    check(prg_annotate_agent, "{'model': {'modelFormat': {'name': 'sklearn'}}}",
          "{'internal.serving.kserve.io/agent': 'true',"
          " 'internal.serving.kserve.io/configVolumeName': 'modelconfig-m-0',"
          " 'internal.serving.kserve.io/configMountPath': '/mnt/configs',"
          " 'internal.serving.kserve.io/modelDir': '/mnt/models'}");
}

static void confidential_models_are_marked(void **state)
{
    (void)state;
    check(prg_annotate_confidential, "{'model': {'confidential': {'resourceId': 'kbs:///r'}}}", "{}");
    check(prg_annotate_confidential, "{'model': {'confidential': {'enabled': true, 'resourceId': ''}}}",
          "{'internal.serving.kserve.io/confidential-enabled': 'true'}");
    check(prg_annotate_confidential, "{'model': {'confidential': {'enabled': true, 'resourceId': 'kbs:///r'}}}",
          "{'internal.serving.kserve.io/confidential-enabled': 'true',"
          " 'internal.serving.kserve.io/confidential-resource-id': 'kbs:///r'}");
}

static void the_uri_of_the_model_is_annotated(void **state)
{
    static const struct {
        const char *predictor, *given, *want, *error;
    } cases[] = {
        {"{'model': {}, 'storageContainerName': 'c'}", "{}", "{}", NULL},
        {"{'model': {'storageUri': 's3://b'}}", "{}", "{'" SOURCE "': 's3://b'}", NULL},
        {"{'model': {'storageUri': 's3://b'}, 'storageContainerName': 'c'}", "{}",
         "{'" SOURCE "': 's3://b', 'internal.serving.kserve.io/storage-container-name': 'c'}", NULL},
        {"{'model': {'storageUri': 'what://b'}}", "{}", NULL, "StorageURI not supported: its scheme is not known"},
        {"{'model': {'storageUri': 's3://b'}}", "{'" SOURCE "': 's3://c'}", NULL, "two sources"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct px px;
        px_init(&px, &prg_compat_fixed);
        struct prg_serving s = px_serving(&px, cases[i].predictor, NULL, NULL);
        cJSON *annotations = json_of(&px.arena, cases[i].given);
        int rc = prg_annotate_storage_uri(&s, annotations, &px.err);
        if (cases[i].error) {
            assert_int_equal(rc, PRG_INVALID);
            assert_error_has(&px.err, cases[i].error);
        } else {
            assert_ok(rc, &px.err);
            assert_json_text(&px.arena, annotations, cases[i].want);
        }
        px_release(&px);
    }
}

static void a_runtime_that_loads_by_itself_needs_no_initializer(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(&px, "{}", NULL, NULL);
    cJSON *annotations = json_of(&px.arena, "{'" SOURCE "': 's3://b', '" SPEC "': 'true', 'a': '1'}");
    prg_annotate_no_initializer(&s, annotations, "r");
    assert_json_text(&px.arena, annotations, "{'a': '1'}");
    const struct prg_trace_entry *entry = px_traced(s.plan, SOURCE, "dropped");
    assert_non_null(entry);
    assert_string_equal(entry->reason, "runtime r loads models itself (storageHelper.disabled); was 's3://b'");
    // a claim is mounted, not loaded
    annotations = json_of(&px.arena, "{'" SOURCE "': 'pvc://c/p'}");
    prg_annotate_no_initializer(&s, annotations, "r");
    assert_json_text(&px.arena, annotations, "{'" SOURCE "': 'pvc://c/p'}");
    px_release(&px);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logger_settings_become_annotations),
        cmocka_unit_test(batcher_settings_become_annotations),
        cmocka_unit_test(storage_specs_become_annotations),
        cmocka_unit_test(services_of_many_models_get_an_agent),
        cmocka_unit_test(confidential_models_are_marked),
        cmocka_unit_test(the_uri_of_the_model_is_annotated),
        cmocka_unit_test(a_runtime_that_loads_by_itself_needs_no_initializer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
