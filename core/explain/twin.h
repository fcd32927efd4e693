// SPDX-License-Identifier: Apache-2.0
// twin.h: a decider that asks two policy sets the same questions and answers as the first.
//
// A plan depends on its inputs and on the answers of its policies, on nothing else. So as long as both sets have given
// the same answers, the plan made with the first is the plan that the second would have got, and need not be made
// again.
#pragma once
#include "policy/policy.h"

// Policies of which both sets have the same text, so that their answers cannot differ.
enum prg_twin_policies {
    PRG_TWIN_RUNTIME_SELECTION = 1 << 0,
    PRG_TWIN_ANNOTATION_FILTER = 1 << 1,
    PRG_TWIN_LABEL_PRIORITY = 1 << 2,
    PRG_TWIN_CONTAINER_MERGE = 1 << 3,
    PRG_TWIN_IMAGE = 1 << 4,
    PRG_TWIN_MULTI_NODE = 1 << 5,
    PRG_TWIN_OBJECT_PATCH = 1 << 6,
};
// Of two sets that run with the same limits. None when there are settings (policies.yaml), files of namespaces or files
// that are no policy, which may matter to any of them.
unsigned prg_twin_equal_policies(const struct prg_policy_set *a, const struct prg_policy_set *b);

struct prg_twin {
    struct prg_decider decider; // its ctx is the twin
    const struct prg_decider *first, *second;
    unsigned equal;          // enum prg_twin_policies: the second is not asked about them
    const cJSON *stop_at;    // prg_twin_init_until; NULL: the plan goes on to its end
    bool has_stopped;        // it was chosen, and the plan given up there
    struct prg_arena *arena; // of the plan under way
    bool differs;            // some answer was another, or may have been: the second is not asked any more
    bool has_second_begun;
};

// Both deciders are borrowed, and used by no one else during a plan.
void prg_twin_init(struct prg_twin *twin, const struct prg_decider *first, const struct prg_decider *second,
                   unsigned equal);
// A decider that answers as `first` and gives a plan up (has_stopped) as soon as it chooses the runtime `stop_at`, by
// identity: for a caller who knows what becomes of it from there on.
void prg_twin_init_until(struct prg_twin *twin, const struct prg_decider *first, const cJSON *stop_at);
