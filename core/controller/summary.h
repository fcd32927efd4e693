// SPDX-License-Identifier: Apache-2.0
// summary.h: a plan in a few words, for tables, and its trace for people.
#pragma once
#include "plan/plan.h"

struct prg_plan_summary { // texts in the plan's arena, never NULL
    const char *runtime;  // name, or "(containers)" for a custom predictor
    const char *image;    // of the first container of the predictor
    const char *gpus;     // of all pods: "4 (1 + 3x1)", "0"
    const char *objects;  // "3: Deployment, HorizontalPodAutoscaler, Service"
    const char *ready;    // "True", or why not
};
// Limits of its containers on GPUs; gpu_types: of the plan.
int64_t prg_pod_gpus(const cJSON *pod_spec, const cJSON *gpu_types);

void prg_plan_summarise(struct prg_plan *plan, struct prg_plan_summary *ret);

// The trace, grouped by decision; fields: with one line for each field of each rendered object and the layer that set
// it.
void prg_plan_explain(struct prg_plan *plan, bool fields, struct prg_strbuf *out);
