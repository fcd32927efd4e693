// SPDX-License-Identifier: Apache-2.0
// scenario.h: a scripted simulation of learning jobs: objects that exist at the start, then steps of the world. Pure.
//
//   {"options": {…}, "objects": [OBJECT …], "steps": [{"op": …} …]}; docs/incremental-learning.md lists options and
//   steps
#pragma once
#include "policy/decision.h"

// *ret: {"steps": [{"step", "op", "result"?, "api", "downstream", "state", "syncs", "requeued"} …]}, one entry for the
// start and one for each step, in arena. The same scenario and policies give the same bytes. PRG_INVALID names the step
// and what is wrong with it: FILE:LINE:COLUMN: /steps/0: …; file may be NULL. Keys that nobody reads are refused, but
// for those that recorded scenarios have besides.
int prg_simulate_scenario(struct prg_arena *arena, const char *file, const cJSON *scenario,
                          const struct prg_decider *decide, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
