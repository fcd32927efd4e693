// SPDX-License-Identifier: Apache-2.0
// patch.h: JSON patch, RFC 6902.
#pragma once
#include "json/value.h"

// Applies the operations in order to a copy of target; nothing is half done: on failure *ret is untouched and the error
// names the operation's index and the pointer.
int prg_patch_apply(struct prg_arena *arena, const cJSON *target, const cJSON *operations, cJSON **ret,
                    struct prg_error *err) PRG_MUST_USE;
