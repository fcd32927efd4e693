// SPDX-License-Identifier: Apache-2.0
// compat.h: the one table of differences between the two answers: `kserve` reproduces the original, `fixed` mends what
// is plainly wrong. docs/compatibility.md is generated from it. Text: what `fixed` does; issue: upstream reference or
// "".
#pragma once
#include "json/value.h"

// X(flag, text, upstream issue)
// clang-format off
#define PRG_COMPAT_TABLE(X) \
    X(placeholder_text, "placeholder values arrive as they are (`a&b`, `a+b`, quotes, backslashes, newlines), not HTML-escaped; a placeholder may hold double quotes", "") \
    X(replace_exclusive, "a value replaces a valueFrom of the same variable; a volume source or probe handler given by the service replaces the runtime's", "") \
    X(image_suffix, "accelerators other than NVIDIA get no `-cpu` image; runtimeVersion is literal text, empty means unset", "") \
    X(matched_priority, "priority comes from the entry that matched format and version", "kserve#3180") \
    X(chosen_annotations, "annotations of an auto-selected runtime come from the chosen one, also when a namespace runtime has the same name", "") \
    X(custom_containers, "a custom predictor keeps all its containers", "kserve#4986") \
    X(runtime_pod_fields, "runtime pod fields beyond the six that the original copies reach the pod", "kserve#2095, #2147, #2440, #5057") \
    X(worker_annotations, "runtime worker annotations are filtered like the others", "") \
    X(scaler_cleanup, "stop and class changes remove the HPA or ScaledObject that Perigee made, and only that; a user's own is never overwritten", "kserve#4312, #4360, #4363") \
    X(gpu_kinds, "GPU kinds beyond nvidia.com/gpu count; mixed kinds, sizes below 1 and capacity that cannot hold are errors before anything is written", "kserve#4776, #4946") \
    X(storage_helper_disabled, "`storageHelper.disabled: true` on a runtime: nothing that would make a storage initializer is rendered for it", "") \
    X(pod_failures, "OOMKilled and ImagePullBackOff are failures of the model with their reason, not Pending for ever", "kserve#1859, #5113")
// clang-format on

enum prg_compat_flag {
#define X(flag, text, issue) PRG_COMPAT_##flag,
    PRG_COMPAT_TABLE(X)
#undef X
        PRG_COMPAT_COUNT
};

struct prg_compat {
    bool mended[PRG_COMPAT_COUNT];
};

extern const struct prg_compat prg_compat_kserve; // nothing mended
extern const struct prg_compat prg_compat_fixed;  // everything mended; the default

static inline bool prg_mended(const struct prg_compat *compat, enum prg_compat_flag flag)
{
    return compat->mended[flag];
}
const char *prg_compat_flag_name(enum prg_compat_flag flag);
const struct prg_compat *prg_compat_by_name(const char *name); // "kserve", "fixed"; NULL for anything else
cJSON *prg_compat_to_json(struct prg_arena *arena, const struct prg_compat *compat); // {"placeholder_text": true, …}
