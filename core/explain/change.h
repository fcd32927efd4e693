// SPDX-License-Identifier: Apache-2.0
// change.h: what the stored objects tell about the last change, and what applying the plan would change; shared by
// core/explain only.
#pragma once
#include "explain/why.h"

// Members `lastChange` and `objects` of a record (why.h).
cJSON *prg_change_last(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan);
cJSON *prg_change_objects(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan);
