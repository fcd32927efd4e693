// SPDX-License-Identifier: Apache-2.0
// tree.h: small trees for the arguments of policies. Keys and texts are borrowed, not copied: keys are literals, texts
// live as long as the plan. Private to core/policy.
#pragma once
#include "json/value.h"

struct prg_tree {
    struct prg_arena *arena;
    cJSON *object, *last;
};

struct prg_tree prg_tree_begin(struct prg_arena *arena);
// All of these append a member that is not there yet. A NULL text or node appends nothing.
void prg_tree_text(struct prg_tree *tree, const char *key, const char *text);
void prg_tree_bool(struct prg_tree *tree, const char *key, bool value);
void prg_tree_int(struct prg_tree *tree, const char *key, int64_t value);
void prg_tree_node(struct prg_tree *tree, const char *key, const cJSON *node); // shares node's children
