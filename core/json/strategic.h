// SPDX-License-Identifier: Apache-2.0
// strategic.h: Kubernetes' strategic merge patch, driven by schema tables. Rules: apimachinery util/strategicpatch;
// answers recorded in tests/cases/tables/strategic_merge_*.json.
#pragma once
#include "json/schema.h"

// Applies patch to original, both of type schema, into a new tree in arena. Knows $patch: delete|replace|merge,
// $retainKeys, $deleteFromPrimitiveList/…, $setElementOrder/…. Fields unknown to schema merge as JSON merge patch does
// (objects by key, lists replaced). Nodes keep position and origin of the side they come from. Fails PRG_INVALID on a
// list entry without its merge key.
int prg_strategic_apply(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *original,
                        const cJSON *patch, cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// Returns the two-way patch that leads from `from` to `to`, as CreateTwoWayMergePatch does.
int prg_strategic_create(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *from, const cJSON *to,
                         cJSON **ret, struct prg_error *err) PRG_MUST_USE;
