// SPDX-License-Identifier: Apache-2.0
// fuzz_strategic.c: two documents as a pod and a strategic merge patch, and as the two ends of a patch to be made.
#include "fuzz.h"

#include "json/strategic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *pod, *patch, *merged = NULL, *made = NULL, *again = NULL;
    struct prg_error err = {0};
    if (!fuzz_two_documents(&arena, data, size, &pod, &patch))
        return 0;
    uint64_t pod_before = prg_json_digest(pod), patch_before = prg_json_digest(patch);
    int rc = prg_strategic_apply(&arena, &prg_schema_pod, pod, patch, &merged, &err);
    prg_require(rc == PRG_OK ? prg_json_is_object(merged) : rc == PRG_INVALID && err.depth == 1 && !merged);
    if (rc == PRG_OK && prg_strategic_create(&arena, &prg_schema_pod, pod, merged, &made, NULL) == PRG_OK)
        (void)!prg_strategic_apply(&arena, &prg_schema_pod, pod, made, &again, NULL);
    if (prg_strategic_create(&arena, &prg_schema_pod, pod, pod, &made, NULL) == PRG_OK)
        prg_require(!made->child);
    cJSON *nothing = prg_json_object(&arena);
    if (prg_json_is_object(pod)) {
        prg_require(prg_strategic_apply(&arena, &prg_schema_pod, pod, nothing, &again, NULL) == PRG_OK);
        prg_require(prg_json_equal(again, pod));
    }
    prg_require(pod_before == prg_json_digest(pod) && patch_before == prg_json_digest(patch));
    return 0;
}
