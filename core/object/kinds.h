// SPDX-License-Identifier: Apache-2.0
// kinds.h: names of kinds as people type them.
#pragma once
#include <stdbool.h>

#include "base/arena.h"

struct prg_kind {
    const char *group, *kind;
};

// The kind that the first length bytes of text name, in any case and number, short or with its group and version as
// kubectl takes them: "isvc", "deployments", "deploy.apps", "inferenceservices.v1beta1.serving.kserve.io". Other kinds
// than those that serving and learning are made of are given as Kind.group. Texts in arena. false: it is neither.
bool prg_kind_named(struct prg_arena *arena, const char *text, size_t length, struct prg_kind *ret);
