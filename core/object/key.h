// SPDX-License-Identifier: Apache-2.0
// key.h: what identifies an object: API group, kind, namespace, name. The version is not part of it.
#pragma once
#include "json/value.h"

struct prg_key {
    const char *group; // "" for the core group
    const char *kind;  // "InferenceService"
    const char *ns;    // "" for cluster scope
    const char *name;
};

// Borrows texts from object (group is written into arena). Fails PRG_INVALID naming what is missing: apiVersion, kind,
// metadata.name, or a wrong type.
int prg_key_of(struct prg_arena *arena, const cJSON *object, struct prg_key *ret, struct prg_error *err) PRG_MUST_USE;
int prg_key_compare(const struct prg_key *a,
                    const struct prg_key *b); // kind, namespace, name, group: the order of plans
bool prg_key_equal(const struct prg_key *a, const struct prg_key *b);
// "apps/Deployment default/m-predictor", "ClusterServingRuntime x" …: unique text of a key, in arena.
const char *prg_key_text(struct prg_arena *arena, const struct prg_key *key);
// Group of an apiVersion: "apps" for "apps/v1", "" for "v1". In arena unless "".
const char *prg_api_group(struct prg_arena *arena, const char *api_version);
// Well-known kinds that have no namespace (ClusterServingRuntime, Namespace, Node, …).
bool prg_kind_is_cluster_scoped(const char *group, const char *kind);
