// SPDX-License-Identifier: Apache-2.0
// decodable.h: whether a Local Controller could decode an object: Go's encoding/json into its types. Private to
// core/edge and its tests.
#pragma once
#include "json/schema.h"

// The objects of sedna.io as they go into messages; pod templates are ANY here.
extern const struct prg_schema prg_schema_edge_job;
extern const struct prg_schema prg_schema_edge_dataset;
extern const struct prg_schema prg_schema_edge_model;

// Takes out of node, a tree of our own, the fields that the schema does not know (of a pod template,
// prg_schema_pod_template, only those that Go would take for others that are spelled in other letters), and looks at
// all the rest: NULL when all can be decoded, else "POINTER: what is wrong", in arena.
const char *prg_decodable(struct prg_arena *arena, const struct prg_schema *schema, cJSON *node);
