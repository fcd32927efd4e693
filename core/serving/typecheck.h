// SPDX-License-Identifier: Apache-2.0
// typecheck.h: refusing objects whose fields have wrong types, before anything is planned from them.
#pragma once
#include "json/schema.h"

// PRG_INVALID for the first field, by JSON pointer, of the wrong type, naming the object (what), JSON pointer, line
// when it is known, and what was expected. Unknown fields are left alone: they may be newer than this program.
int prg_check_types(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *object, const char *what,
                    struct prg_error *err) PRG_MUST_USE;
