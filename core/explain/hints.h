// SPDX-License-Identifier: Apache-2.0
// hints.h: what would help a service that no runtime serves, tried out; shared by core/explain only.
#pragma once
#include "explain/why.h"

// [{text, checked}] for a plan whose runtime could not be found, else empty.
cJSON *prg_hints(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan);
