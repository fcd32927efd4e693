// SPDX-License-Identifier: Apache-2.0
// rank.h: the candidates of runtime_selection as a list with the reason why each one lost; shared by core/explain only.
#pragma once
#include "explain/why.h"
#include "plan/plan.h"
#include "serving/compat.h"

// The member `runtimes` of a record (why.h): what the plan asked the policy about, and the runtimes that could not be
// read. Empty when nothing was asked.
cJSON *prg_rank_runtimes(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan);
// Why the chosen one came before the next: "priority 2 before 1", "the only one of 15 that fits". In arena.
const char *prg_rank_verdict(struct prg_arena *arena, const struct prg_plan *plan);
// Nearness of a refusal by its code: 0 is a disabled runtime that would fit, the format comes last.
int prg_rank_nearness(const char *code);
