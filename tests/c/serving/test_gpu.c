// SPDX-License-Identifier: Apache-2.0
// test_gpu.c: GPU kinds, counts and the spread over nodes.
#include "serving/function_cases.h"
#include "serving/podspec.h"

// ---- recorded ----

static int64_t requested(struct prg_arena *arena, const char *resource, const char *quantity)
{
    cJSON *resources = prg_json_object(arena);
    int64_t count;
    if (quantity[0])
        prg_json_set_string(arena, prg_json_ensure_object(arena, resources, "requests"), resource, quantity);
    prg_gpu_resource(resources, NULL, &prg_compat_kserve, &count);
    return count;
}

static int64_t number(const cJSON *object, const char *key)
{
    int64_t value = 0;
    assert_true(prg_json_get_int64(object, key, &value));
    return value;
}

static void assert_topology(const struct prg_topology *got, const cJSON *want, int64_t id)
{
    if (got->nodes != number(want, "nodeCount") || got->head_gpus != number(want, "headNodeGPUCount") ||
        got->worker_gpus != number(want, "workerNodeGPUCount"))
        print_error("case %lld\n", (long long)id);
    assert_int_equal(got->nodes, number(want, "nodeCount"));
    assert_int_equal(got->head_gpus, number(want, "headNodeGPUCount"));
    assert_int_equal(got->worker_gpus, number(want, "workerNodeGPUCount"));
}

static void check_ray(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out)
{
    struct prg_topology got = {0};
    const char *refusal, *error = prg_json_get_text(out, "error");
    int64_t head = requested(arena, prg_json_get_text(in, "headResource"), prg_json_get_text(in, "headRequest"));
    int64_t worker = requested(arena, prg_json_get_text(in, "workerResource"), prg_json_get_text(in, "workerRequest"));
    prg_gpu_ray(number(in, "totalRequestGPUCount"), head, worker, &got, &refusal, arena);
    if (error) {
        assert_non_null(refusal);
        assert_string_equal(refusal, error);
        return;
    }
    assert_null(refusal);
    assert_topology(&got, out, id);
}

static void check_mp(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out)
{
    struct prg_topology got;
    (void)arena;
    prg_gpu_mp(number(in, "pipelineParallelSize"), number(in, "tensorParallelSize"), &got);
    assert_topology(&got, out, id);
}

static void recorded_ray_topologies_come_out_as_recorded(void **state)
{
    (void)state;
    each_function_case("ray_gpus", 300, check_ray);
}

static void recorded_mp_topologies_come_out_as_recorded(void **state)
{
    (void)state;
    each_function_case("mp_gpus", 100, check_mp);
}

// ---- kinds ----

static const char *found(const char *resources, const char *custom, const struct prg_compat *compat, int64_t *count)
{
    static char name[64];
    prg_auto_arena arena = {0};
    prg_arena_init(&arena);
    const char *resource =
        prg_gpu_resource(json_of(&arena, resources), custom ? json_of(&arena, custom) : NULL, compat, count);
    if (!resource)
        return NULL;
    snprintf(name, sizeof(name), "%s", resource);
    return name;
}

static void the_original_counts_four_kinds_and_requests_only(void **state)
{
    int64_t count;
    (void)state;
    assert_string_equal(found("{'requests':{'cpu':'1','amd.com/gpu':'3'}}", NULL, &prg_compat_kserve, &count),
                        "amd.com/gpu");
    assert_int_equal(count, 3);
    assert_null(found("{'limits':{'nvidia.com/gpu':'2'}}", NULL, &prg_compat_kserve, &count));
    assert_int_equal(count, 0);
    assert_null(found("{'requests':{'nvidia.com/mig-1g.5gb':'2'}}", NULL, &prg_compat_kserve, &count));
    assert_null(found("{'requests':{'gpu.intel.com/i915':'2'}}", NULL, &prg_compat_kserve, &count));
    assert_string_equal(found("{'requests':{'x.com/gpu':'2.5'}}", "['x.com/gpu']", &prg_compat_kserve, &count),
                        "x.com/gpu");
    assert_int_equal(count, 3);
}

static void all_kinds_and_limits_count_when_mended(void **state)
{
    static const char *const kinds[] = {"nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "amd.com/gpu",
                                        "intel.com/gpu",  "gpu.intel.com/xe",      "habana.ai/gaudi"};
    int64_t count;
    char text[128];
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(kinds); i++) {
        snprintf(text, sizeof(text), "{'limits':{'%s':'4','memory':'1Gi'}}", kinds[i]);
        assert_string_equal(found(text, NULL, &prg_compat_fixed, &count), kinds[i]);
        assert_int_equal(count, 4);
    }
    // A request is what counts where there is one.
    assert_string_equal(
        found("{'limits':{'amd.com/gpu':'4'},'requests':{'amd.com/gpu':'1'}}", NULL, &prg_compat_fixed, &count),
        "amd.com/gpu");
    assert_int_equal(count, 1);
    // Shares of an Intel device are no devices.
    assert_string_equal(found("{'limits':{'gpu.intel.com/i915':'1','gpu.intel.com/millicores':'500'}}", NULL,
                              &prg_compat_fixed, &count),
                        "gpu.intel.com/i915");
    assert_null(found("{'limits':{'gpu.intel.com/i915_monitoring':'1'}}", NULL, &prg_compat_fixed, &count));
    assert_null(found("{'limits':{'example.com/gpu':'1'}}", NULL, &prg_compat_fixed, &count));
}

static void one_answer_whatever_the_order_of_the_map(void **state)
{
    int64_t count;
    (void)state;
    const struct prg_compat *const both[] = {&prg_compat_kserve, &prg_compat_fixed};
    for (size_t i = 0; i < PRG_COUNT(both); i++) {
        assert_string_equal(found("{'requests':{'amd.com/gpu':'1','nvidia.com/gpu':'2'}}", NULL, both[i], &count),
                            "nvidia.com/gpu");
        assert_string_equal(found("{'requests':{'nvidia.com/gpu':'2','amd.com/gpu':'1'}}", NULL, both[i], &count),
                            "nvidia.com/gpu");
        // Some of one kind goes before none of another.
        assert_string_equal(found("{'requests':{'nvidia.com/gpu':'0','amd.com/gpu':'1'}}", NULL, both[i], &count),
                            "amd.com/gpu");
        assert_int_equal(count, 1);
    }
    assert_string_equal(found("{'requests':{'nvidia.com/mig-2g.10gb':'1','nvidia.com/mig-1g.5gb':'1'}}", NULL,
                              &prg_compat_fixed, &count),
                        "nvidia.com/mig-1g.5gb");
}

static void a_second_kind_is_found(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    const cJSON *mixed = json_of(&arena, "{'limits':{'nvidia.com/gpu':'1','amd.com/gpu':'1'}}");
    const cJSON *none = json_of(&arena, "{'limits':{'nvidia.com/gpu':'1','amd.com/gpu':'0'}}");
    assert_string_equal(prg_gpu_other_kind(mixed, NULL, &prg_compat_fixed, "nvidia.com/gpu"), "amd.com/gpu");
    assert_null(prg_gpu_other_kind(none, NULL, &prg_compat_fixed, "nvidia.com/gpu"));
}

static void hostile_resources_count_as_none(void **state)
{
    static const char *const texts[] = {"null",
                                        "[]",
                                        "{'requests':[]}",
                                        "{'requests':{'nvidia.com/gpu':{}}}",
                                        "{'requests':{'nvidia.com/gpu':'many'}}",
                                        "{'requests':'x'}"};
    int64_t count;
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        found(texts[i], NULL, &prg_compat_fixed, &count);
        assert_int_equal(count, 0);
    }
    assert_string_equal(found("{'requests':{'nvidia.com/gpu':'9E'}}", NULL, &prg_compat_fixed, &count),
                        "nvidia.com/gpu");
    assert_int_equal(count, 9000000000000000000);
}

static void huge_sizes_do_not_overflow(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_topology got = {0};
    const char *refusal;
    (void)state;
    prg_arena_init(&arena);
    prg_gpu_ray(INT64_MAX, INT64_MAX, INT64_MAX, &got, &refusal, &arena);
    assert_null(refusal);
    assert_int_equal(got.nodes, 1);
    prg_gpu_ray(INT64_MIN, 1, INT64_MAX, &got, &refusal, &arena);
    prg_gpu_ray(INT64_MAX, INT64_MIN, 1, &got, &refusal, &arena);
    prg_gpu_ray(INT64_MAX, 1, 0, &got, &refusal, &arena);
    assert_int_equal(got.nodes, INT64_MAX);
    prg_gpu_ray(-1, 0, 3, &got, &refusal, &arena);
    assert_int_equal(got.nodes, 0);
}

// ---- kinds that an administrator adds ----

static void custom_kinds_come_from_configuration_and_annotation(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *types;
    (void)state;
    prg_arena_init(&arena);
    struct prg_serving_config config = {
        .sections = json_of(&arena, "{'multiNode':{'customGPUResourceTypeList':['a.com/gpu']}}")};
    cJSON *annotations = prg_json_object(&arena);
    prg_json_set_string(&arena, annotations, "serving.kserve.io/gpu-resource-types", "[\"b.com/gpu\"]");
    assert_ok(prg_gpu_custom_types(&arena, &config, annotations, &types, &err), &err);
    assert_json_text(&arena, types, "['a.com/gpu','b.com/gpu']");
    assert_ok(prg_gpu_custom_types(&arena, NULL, NULL, &types, &err), &err);
    assert_json_text(&arena, types, "[]");
}

static void a_bad_annotation_is_refused(void **state)
{
    static const char *const texts[] = {"nope",   "[]",  "{}", "[1]", "[\"\"]", "[[[[[[[[[[\"a\"]]]]]]]]]]",
                                        "[\"a\"", "null"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        prg_auto_arena arena = {0};
        struct prg_error err = {0};
        cJSON *types;
        prg_arena_init(&arena);
        cJSON *annotations = prg_json_object(&arena);
        prg_json_set_string(&arena, annotations, "serving.kserve.io/gpu-resource-types", texts[i]);
        assert_int_equal(prg_gpu_custom_types(&arena, NULL, annotations, &types, &err), PRG_INVALID);
        assert_error_has(&err, "serving.kserve.io/gpu-resource-types annotation: must be a valid JSON array");
        assert_error_has(&err, texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_ray_topologies_come_out_as_recorded),
        cmocka_unit_test(recorded_mp_topologies_come_out_as_recorded),
        cmocka_unit_test(the_original_counts_four_kinds_and_requests_only),
        cmocka_unit_test(all_kinds_and_limits_count_when_mended),
        cmocka_unit_test(one_answer_whatever_the_order_of_the_map),
        cmocka_unit_test(a_second_kind_is_found),
        cmocka_unit_test(hostile_resources_count_as_none),
        cmocka_unit_test(huge_sizes_do_not_overflow),
        cmocka_unit_test(custom_kinds_come_from_configuration_and_annotation),
        cmocka_unit_test(a_bad_annotation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
