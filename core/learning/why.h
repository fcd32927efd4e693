// SPDX-License-Identifier: Apache-2.0
// why.h: why a learning job is where it is: whose message is awaited and since when, what happens next, what will never
// happen. Pure; asks the policy what it would do, so the answer holds for any il_stage.
#pragma once
#include "learning/plan.h"

// The answer, in arena:
//   job       {"namespace", "name"}
//   round     how many rounds have begun
//   state     {"stage", "type", "since", "seconds", "reason"?, "isReported"}; type "" before the first condition
//   error     what stands in the way of the next step, or absent
//   awaited   {"who": "edge node" | "worker" | "kubelet" | "controller" | "you" | "nobody", "node"?, "what", "since"?,
//             "seconds"?}
//   pods      [{"name", "type", "phase", "node"?, "created", "problem"?}]: the newest of each worker type
//   next      [{"if", "then"}]: what happens when, as the policy answers now
//   deadline  {"seconds", "at", "then"}, or absent
//   never     what will never happen: learning/outlook.h
//   policy    {"file", "line", "note"?}: who decided that the job stays, or absent
// in->job, store, lc_server, now_ns and seed as for a plan. A policy that fails is `error`; only input that is no
// IncrementalLearningJob returns an error.
int prg_learning_why(struct prg_arena *arena, const struct prg_learning_input *in, const struct prg_decider *decide,
                     cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// The same for people.
void prg_learning_why_text(const cJSON *why, struct prg_strbuf *out);
