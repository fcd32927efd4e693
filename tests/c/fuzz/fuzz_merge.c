// SPDX-License-Identifier: Apache-2.0
// fuzz_merge.c: two documents as target and patch, and as the two ends of a patch to be made.
#include "fuzz.h"

#include "json/diff.h"
#include "json/merge.h"

static bool has_null_member(const cJSON *node)
{
    const cJSON *item;
    prg_json_each (item, node)
        if ((prg_json_is_object(node) && prg_json_is_null(item)) || has_null_member(item))
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *a, *b, *patch = NULL;
    if (!fuzz_two_documents(&arena, data, size, &a, &b))
        return 0;
    uint64_t a_before = prg_json_digest(a), b_before = prg_json_digest(b);
    prg_require((prg_diff(a, b, NULL, NULL) == 0) == prg_json_equal(a, b));
    cJSON *merged = prg_merge_apply(&arena, a, b);
    prg_require(prg_json_equal(prg_merge_apply(&arena, merged, b), merged) || has_null_member(a) || has_null_member(b));
    if (prg_merge_create(&arena, a, b, &patch, NULL) == PRG_OK)
        prg_require(prg_json_equal(prg_merge_apply(&arena, a, patch), b));
    else
        prg_require(has_null_member(b));
    prg_require(a_before == prg_json_digest(a) && b_before == prg_json_digest(b));
    return 0;
}
