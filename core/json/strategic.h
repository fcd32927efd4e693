// SPDX-License-Identifier: Apache-2.0
// strategic.h: Kubernetes' strategic merge patch, driven by schema tables. Rules: apimachinery util/strategicpatch;
// answers recorded in tests/cases/tables/strategic_merge_*.json.
#pragma once
#include "json/schema.h"

// Applies patch to original, both of type schema, into a new tree in arena; inputs are untouched, a NULL original is an
// empty object. Knows $patch: delete|replace (any other value is refused, "merge" too, as by the reference),
// $retainKeys, $deleteFromPrimitiveList/…, $setElementOrder/…. Fields unknown to schema (schema NULL: all) merge as
// JSON merge patch does (objects by key, lists replaced). Nodes keep position and origin of the side they come from.
// Fails PRG_INVALID, with the JSON pointer, on a list entry without its merge key, on entries of different types and on
// malformed directives.
int prg_strategic_apply(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *original,
                        const cJSON *patch, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
// The same, but nothing is copied that the result can share with the inputs: texts, keys and whole subtrees. For inputs
// that were made for this and are given up with it: both must live as long as the result, and a change of the result
// may show in them.
int prg_strategic_build(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *original,
                        const cJSON *patch, cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// Returns the two-way patch that leads from `from` to `to`, as CreateTwoWayMergePatch does; {} when they are equal.
// NULL stands for an empty object on either side.
int prg_strategic_create(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *from, const cJSON *to,
                         cJSON **ret, struct prg_error *err) PRG_MUST_USE;
