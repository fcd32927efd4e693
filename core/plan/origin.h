// SPDX-License-Identifier: Apache-2.0
// origin.h: the layers a field of a rendered object can come from. The tag of a JSON node (prg_json_origin) is one of
// these, so that copying and merging carry it along and every field can be asked who set it, at no extra cost.
#pragma once
#include "json/value.h"

enum prg_origin {
    PRG_ORIGIN_NONE,
    PRG_ORIGIN_RUNTIME,      // the serving runtime's manifest
    PRG_ORIGIN_SERVICE,      // the service's manifest: metadata, spec.predictor.model …
    PRG_ORIGIN_PREDICTOR,    // spec.predictor's own labels and annotations, its pod-level fields
    PRG_ORIGIN_CONFIG,       // the inferenceservice-config ConfigMap
    PRG_ORIGIN_KUBERNETES,   // a default that an API server would fill in
    PRG_ORIGIN_RULE,         // a rule of the planner: names, labels, owner references, fixed variables
    PRG_ORIGIN_PLACEHOLDER,  // text in which a placeholder was replaced
    PRG_ORIGIN_IMAGE,        // the image policy
    PRG_ORIGIN_MULTI_NODE,   // the multi-node rules and policy
    PRG_ORIGIN_STORAGE,      // storage set-up
    PRG_ORIGIN_AUTOSCALER,   // scaling rules
    PRG_ORIGIN_MERGE_POLICY, // container_merge policy
    PRG_ORIGIN_LABEL_POLICY, // label_priority resolve
    PRG_ORIGIN_PATCH_POLICY, // object_patch policy
    PRG_ORIGIN_STORED,       // kept from the stored object
    PRG_ORIGIN_COUNT,
};

// "runtime", "service", "kubernetes default", … for people and for the trace; "" for NONE.
const char *prg_origin_name(enum prg_origin origin);
