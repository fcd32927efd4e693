// SPDX-License-Identifier: Apache-2.0
// random.h: jobs against a policy in random schedules: edge nodes and a kubelet that behave as the real ones do, with
// faults between them and the controller. Pure: the same seed gives the same schedule.
#pragma once
#include "policy/decision.h"

enum prg_random_faults {
    PRG_FAULT_DROP = 1 << 0,    // messages either way are lost; a request to the API server fails
    PRG_FAULT_REPEAT = 1 << 1,  // messages arrive twice
    PRG_FAULT_REORDER = 1 << 2, // a later message overtakes an earlier one
    PRG_FAULT_DELAY = 1 << 3,   // a message takes up to an hour
    PRG_FAULT_KILL =
        1 << 4, // the controller dies between two requests; workers vanish; edge nodes forget what they knew
    PRG_FAULT_ALL = (1 << 5) - 1,
};

struct prg_random_options {
    uint64_t schedules, seed; // schedule i has seed + i: with 1 and that seed it runs again
    unsigned faults;          // enum prg_random_faults
    unsigned rounds;          // of each job in a schedule; 0: 3
    const char *lc_server;
    void (*progress)(uint64_t done, uint64_t stuck, void *ctx); // after each schedule; may be NULL
    void *ctx;
};

// "drop,kill" to flags. PRG_INVALID names the unknown word.
int prg_random_faults_parse(const char *text, unsigned *ret, struct prg_error *err) PRG_MUST_USE;

// objects: a list with jobs and what they need. *ret, in arena: {"schedules", "rounds": {"completed", "gaveUp",
// "startedOver"}, "stuck": N, "twoWorkers": N, "cases": [{"seed", "job", "problem", "state", "since", "reason",
// "timeline": [TEXT …]} …]}, the first ten problems as cases: "stuck", "endless" (counted as stuck) or "two train
// workers at once".
int prg_simulate_random(struct prg_arena *arena, const cJSON *objects, const struct prg_decider *decide,
                        const struct prg_random_options *options, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
