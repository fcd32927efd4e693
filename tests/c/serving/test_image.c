// SPDX-License-Identifier: Apache-2.0
// test_image.c: the image tag rule.
#include "serving/function_cases.h"
#include "serving/podspec.h"

static const char *tagged(struct prg_arena *arena, const struct prg_compat *compat, const char *image,
                          const char *version, const char *server, const char *resource, const char *count)
{
    const struct prg_gpu_count gpu = {resource, count};
    const struct prg_image_request request = {
        .runtime_name = "mine",
        .server_type = server,
        .runtime_version = version,
        .gpus = &gpu,
        .gpu_count = resource ? 1 : 0,
    };
    return prg_image_tag(arena, compat, image, &request);
}

static void check_recorded(struct prg_arena *arena, int64_t id, const cJSON *in, const cJSON *out)
{
    const cJSON *limits = prg_json_get(in, "limits"), *limit;
    struct prg_gpu_count gpus[8];
    struct prg_image_request request = {
        .runtime_name = prg_json_get_text(in, "runtimeName"),
        .server_type = prg_json_text(prg_json_at(in, "runtimeAnnotations", "serving.kserve.io/server-type")),
        .runtime_version = prg_json_get_text(in, "runtimeVersion"),
        .gpus = gpus,
    };
    prg_json_each (limit, limits) {
        gpus[request.gpu_count++] = (struct prg_gpu_count){limit->string, prg_json_text(limit)};
    }
    const char *got = prg_image_tag(arena, &prg_compat_kserve, prg_json_get_text(in, "image"), &request);
    if (strcmp(got, prg_json_get_text(out, "image")) != 0)
        print_error("case %lld\n", (long long)id);
    assert_string_equal(got, prg_json_get_text(out, "image"));
}

static void recorded_images_come_out_as_recorded(void **state)
{
    (void)state;
    each_function_case("image_tag", 300, check_recorded);
}

static void a_version_is_literal_text_when_mended(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_string_equal(tagged(&arena, &prg_compat_fixed, "a/b:1", "v$1", NULL, NULL, NULL), "a/b:v$1");
    assert_string_equal(tagged(&arena, &prg_compat_kserve, "a/b:1", "v$1", NULL, NULL, NULL), "a/b:v:1");
    assert_string_equal(tagged(&arena, &prg_compat_kserve, "a/b:1", "v$$1", NULL, NULL, NULL), "a/b:v$1");
    assert_string_equal(tagged(&arena, &prg_compat_kserve, "a/b:1", "${01}$", NULL, NULL, NULL), "a/b:$");
    assert_string_equal(tagged(&arena, &prg_compat_kserve, "a/b:1", "${1$x", NULL, NULL, NULL), "a/b:${1");
}

static void an_empty_version_is_unset_when_mended(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_string_equal(tagged(&arena, &prg_compat_fixed, "a/b:1", "", "torchserve", "nvidia.com/gpu", "1"),
                        "a/b:1-gpu");
    assert_string_equal(tagged(&arena, &prg_compat_kserve, "a/b:1", "", "torchserve", "nvidia.com/gpu", "1"), "a/b:");
}

static void other_accelerators_get_no_cpu_image_when_mended(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    const char *const resources[] = {"amd.com/gpu", "intel.com/gpu", "gpu.intel.com/i915", "habana.ai/gaudi"};
    for (size_t i = 0; i < PRG_COUNT(resources); i++) {
        assert_string_equal(tagged(&arena, &prg_compat_fixed, "v/v:1", NULL, "vllmserver", resources[i], "1"), "v/v:1");
        assert_string_equal(tagged(&arena, &prg_compat_kserve, "v/v:1", NULL, "vllmserver", resources[i], "1"),
                            "v/v-cpu:1");
        // None of it is no accelerator.
        assert_string_equal(tagged(&arena, &prg_compat_fixed, "v/v:1", NULL, "vllmserver", resources[i], "0"),
                            "v/v-cpu:1");
    }
    assert_string_equal(tagged(&arena, &prg_compat_fixed, "v/v:1", NULL, "vllmserver", "cpu", "1"), "v/v-cpu:1");
    assert_string_equal(tagged(&arena, &prg_compat_fixed, "v/v:1", NULL, "vllmserver", "nvidia.com/gpu", "0"), "v/v:1");
}

static void odd_images_are_no_crash(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_string_equal(tagged(&arena, &prg_compat_kserve, "", NULL, "torchserve", "nvidia.com/gpu", "1"), "");
    assert_string_equal(tagged(&arena, &prg_compat_kserve, ":", NULL, "torchserve", "nvidia.com/gpu", "1"), ":-gpu");
    assert_string_equal(tagged(&arena, &prg_compat_fixed, "a:b", NULL, "vllmserver", "x/y", "no quantity"), "a-cpu:b");
    assert_string_equal(tagged(&arena, &prg_compat_fixed, "a", "1", NULL, NULL, NULL), "a:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_images_come_out_as_recorded),
        cmocka_unit_test(a_version_is_literal_text_when_mended),
        cmocka_unit_test(an_empty_version_is_unset_when_mended),
        cmocka_unit_test(other_accelerators_get_no_cpu_image_when_mended),
        cmocka_unit_test(odd_images_are_no_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
