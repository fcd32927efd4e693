// SPDX-License-Identifier: Apache-2.0
// compat.h: the one table of differences between the two answers: `kserve` reproduces the original, `fixed` mends what
// is plainly wrong. docs/compatibility.md is generated from it. Text: what `fixed` does; issue: upstream reference or
// "".
#pragma once
#include "json/value.h"

// X(flag, text, upstream issue)
#define PRG_COMPAT_TABLE(X)                                                                                            \
    X(placeholder_text, "placeholder values arrive as they are, not HTML-escaped", "")                                 \
    X(replace_exclusive,                                                                                               \
      "a value replaces a valueFrom of the same variable; a volume source or probe handler of the service replaces "   \
      "the "                                                                                                           \
      "runtime's",                                                                                                     \
      "kserve#4700")                                                                                                   \
    X(image_suffix,                                                                                                    \
      "accelerators other than NVIDIA get no -cpu image; runtimeVersion is literal text; empty means unset", "")       \
    X(matched_priority, "priority comes from the entry that matched format and version", "")                           \
    X(chosen_annotations,                                                                                              \
      "annotations of an auto-selected runtime come from the chosen one, also when a namespace runtime has its name",  \
      "")                                                                                                              \
    X(custom_containers, "a custom predictor keeps all its containers", "")                                            \
    X(runtime_pod_fields, "all pod fields of a runtime reach the pod, not only six of them", "")                       \
    X(worker_annotations, "runtime worker annotations are filtered like the others", "")                               \
    X(scaler_cleanup, "stop and class changes remove the HPA or ScaledObject that Perigee made, and only that", "")    \
    X(gpu_kinds,                                                                                                       \
      "GPU kinds beyond nvidia.com/gpu count; mixed kinds, sizes below 1 and capacity that cannot hold are errors",    \
      "")                                                                                                              \
    X(storage_helper_disabled,                                                                                         \
      "storageHelper.disabled on a runtime: nothing that makes a storage initializer is rendered", "")                 \
    X(pod_failures, "OOMKilled and ImagePullBackOff are failures of the model with their reason", "")

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
