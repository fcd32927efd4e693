// SPDX-License-Identifier: Apache-2.0
// stage.h: what the policy il_stage is shown and what it answers. Private to core/learning.
#pragma once
#include "object/reader.h"
#include "policy/decision.h"

// perigee.StageInput of a job: latest condition, pods, history. now is RFC 3339. In arena; shares nodes with the job's
// tree.
cJSON *prg_stage_input(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job, const char *now);
// The worker type of a stage: "train", "inference" for Deploy, else (also for unknown stages) "eval".
const char *prg_stage_worker_type(const char *stage);

enum prg_stage_action {
    PRG_ACTION_CREATE_WORKER,
    PRG_ACTION_CREATE_INFERENCE,
    PRG_ACTION_RESTART_INFERENCE,
    PRG_ACTION_RECORD_NODE,
    PRG_ACTION_DELETE_WORKER,
    PRG_ACTION_COUNT
};

struct prg_stage_decision {   // the answer, checked
    const char *stage, *type; // NULL: stay where it is (only `after` and `note` count)
    enum prg_stage_action actions[8];
    size_t action_count;
    const char *reason, *note; // or NULL
    const char *data;          // JSON text, or NULL
    int64_t after_ms;          // 0: no time set
    int64_t keep;              // conditions kept; 0: all
};

// Reads a StageDecision that passed the policy's own checks. PRG_POLICY names the field that cannot be used.
int prg_stage_decision_read(struct prg_arena *arena, const cJSON *answer, struct prg_stage_decision *ret,
                            struct prg_error *err) PRG_MUST_USE;
