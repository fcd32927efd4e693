// SPDX-License-Identifier: Apache-2.0
// twin.h: a decider that asks two policy sets the same questions and answers as the first.
//
// A plan depends on its inputs and on the answers of its policies, on nothing else. So as long as both sets have given
// the same answers, the plan made with the first is the plan that the second would have got, and need not be made
// again.
#pragma once
#include "policy/decision.h"

struct prg_twin {
    struct prg_decider decider; // its ctx is the twin
    const struct prg_decider *first, *second;
    struct prg_arena *arena; // of the plan under way
    bool differs;            // some answer was another, or may have been: the second is not asked any more
    bool has_second_begun;
};

// Both deciders are borrowed, and used by no one else during a plan.
void prg_twin_init(struct prg_twin *twin, const struct prg_decider *first, const struct prg_decider *second);
