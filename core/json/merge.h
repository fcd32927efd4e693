// SPDX-License-Identifier: Apache-2.0
// merge.h: JSON merge patch, RFC 7386.
#pragma once
#include "json/value.h"

// Returns target patched, as a new tree in arena (inputs untouched). Source: RFC 7386 section 2, read as the API server
// does: null members vanish also inside the lists of a value that is new.
cJSON *prg_merge_apply(struct prg_arena *arena, const cJSON *target, const cJSON *patch);
// Returns the patch that leads from `from` to `to`; {} when equal. Exact, while the reference rounds numbers to
// doubles. Fails PRG_INVALID where no merge patch can express it (`to` holds a null that `from` does not), naming the
// pointer. Answers of the reference: tests/cases/tables/merge_patch_create.json.
int prg_merge_create(struct prg_arena *arena, const cJSON *from, const cJSON *to, cJSON **ret,
                     struct prg_error *err) PRG_MUST_USE;
