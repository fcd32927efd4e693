// SPDX-License-Identifier: Apache-2.0
// upstream.h: what an edge node reports: checked, put into the form in which it is stored, and judged by the policy
// il_stage. Pure; the caller stores the answer, reads the job again when it changed meanwhile, and asks anew.
#pragma once
#include "object/reader.h"
#include "policy/decision.h"

struct prg_learning_report {
    const cJSON *content; // {"phase", "status", "input", "output"}; NULL and null read as {}
    const cJSON *job;     // as stored now; never changed
    const struct prg_reader *store;
    int64_t now_ns;
};

struct prg_learning_verdict {
    bool is_accepted;
    const char *reason; // of the policy, or NULL
    const char *stage, *type;
    cJSON *job; // accepted: the job with one condition more in its status
    struct prg_policy_source source;
};

// Checks the form alone: PRG_INVALID "invalid condition stage: X", "invalid condition type: X" or the JSON pointer of a
// field with a wrong type. For reports about jobs that do not exist. The texts are the original's where it has one.
int prg_learning_report_check(struct prg_arena *arena, const cJSON *content, struct prg_error *err) PRG_MUST_USE;
// PRG_INVALID as above; PRG_POLICY when the policy fails: the report is then neither accepted nor lost, ask again
// later.
int prg_learning_report(struct prg_arena *arena, const struct prg_learning_report *report,
                        const struct prg_decider *decide, struct prg_learning_verdict *ret,
                        struct prg_error *err) PRG_MUST_USE;

// The Dataset with the reported status and updateTime. PRG_INVALID when content is not an object with a whole
// numberOfSamples.
int prg_dataset_report(struct prg_arena *arena, const cJSON *dataset, const cJSON *content, int64_t now_ns, cJSON **ret,
                       struct prg_error *err) PRG_MUST_USE;
