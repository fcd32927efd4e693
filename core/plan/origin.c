// SPDX-License-Identifier: Apache-2.0
// origin.c: the names of the layers, as people see them in the trace and in `why`.
#include "plan/origin.h"

static const char *const names[PRG_ORIGIN_COUNT] = {
    [PRG_ORIGIN_NONE] = "",
    [PRG_ORIGIN_RUNTIME] = "runtime",
    [PRG_ORIGIN_SERVICE] = "service",
    [PRG_ORIGIN_PREDICTOR] = "predictor",
    [PRG_ORIGIN_CONFIG] = "configuration",
    [PRG_ORIGIN_KUBERNETES] = "kubernetes default",
    [PRG_ORIGIN_RULE] = "rule",
    [PRG_ORIGIN_PLACEHOLDER] = "placeholder",
    [PRG_ORIGIN_IMAGE] = "image policy",
    [PRG_ORIGIN_MULTI_NODE] = "multi-node",
    [PRG_ORIGIN_STORAGE] = "storage",
    [PRG_ORIGIN_AUTOSCALER] = "autoscaler",
    [PRG_ORIGIN_MERGE_POLICY] = "container_merge policy",
    [PRG_ORIGIN_LABEL_POLICY] = "label_priority policy",
    [PRG_ORIGIN_PATCH_POLICY] = "object_patch policy",
    [PRG_ORIGIN_STORED] = "stored object",
};

const char *prg_origin_name(enum prg_origin origin)
{
    // The value often comes straight from a node's tag, which has room for more than there are layers.
    return (unsigned)origin < PRG_ORIGIN_COUNT ? names[origin] : "";
}
