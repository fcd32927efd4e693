// SPDX-License-Identifier: Apache-2.0
// context.h: one learning plan under way. Private to core/learning.
#pragma once
#include "base/clock.h"
#include "learning/plan.h"

struct prg_learning {
    struct prg_arena *arena;
    const struct prg_learning_input *in;
    const struct prg_decider *decide;
    struct prg_plan *plan;
    struct prg_learning_steps *steps;
    cJSON *job;                  // plan->resource: the job with what this plan changes
    const char *name, *ns, *uid; // of the job
    bool has_hot_update;         // spec.deploySpec.model.hotUpdateEnabled
    char now[PRG_CLOCK_TEXT];
};
