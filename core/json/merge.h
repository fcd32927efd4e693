// SPDX-License-Identifier: Apache-2.0
// merge.h: JSON merge patch, RFC 7386.
#pragma once
#include "json/value.h"

// Returns target patched, as a new tree in arena (inputs untouched). Source: RFC 7386 section 2.
cJSON *prg_merge_apply(struct prg_arena *arena, const cJSON *target, const cJSON *patch);
// Returns the patch that leads from `from` to `to`; {} when equal. Fails PRG_INVALID where no merge patch can express
// it
// (`to` holds a null that `from` does not); see tests/cases/tables/merge_patch_create.json for the exact answers of the
// reference.
int prg_merge_create(struct prg_arena *arena, const cJSON *from, const cJSON *to, cJSON **ret,
                     struct prg_error *err) PRG_MUST_USE;
