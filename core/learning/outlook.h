// SPDX-License-Identifier: Apache-2.0
// outlook.h: what a Local Controller will never do (or always will), whatever the samples and models are, told from the
// job, its references and what was reported so far. An unmodified Local Controller says none of this: it just waits.
#pragma once
#include "object/reader.h"

// An array, in arena, of {"stage", "field", "problem", "fix"}: the stage that suffers, the JSON pointer of the job's
// field (or of the field of another object, then with "object": "Kind/name" beside it), what will not happen and why,
// and what to do. Empty when nothing is foreseen.
cJSON *prg_learning_outlook(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job);
