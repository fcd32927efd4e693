// SPDX-License-Identifier: Apache-2.0
// choice.h: the Event that tells which runtime a service got, and how it was chosen: the short form of `perigee why`.
#pragma once
#include "plan/plan.h"
#include "store/store.h"

// Only when the choice is another than the one that the subject's status names (as it was stored before the plan), so
// it is told once for each change. Reads candidates of the store, so it is asked before anything is written. Texts in
// the plan's arena. KServe tells nothing of it, so it is no part of a plan.
bool prg_choice_event(const cJSON *subject, const struct prg_plan *plan, struct prg_store_event *ret);
