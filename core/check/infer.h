// SPDX-License-Identifier: Apache-2.0
// infer.h: walks the tree of a policy and says what is wrong with names, fields and calls. Private to core/check.
#pragma once
#include "check/syntax.h"
#include "check/types.h"

typedef void (*prg_infer_report_fn)(const struct prg_lua_node *node, bool is_warning, const char *rule,
                                    const char *message, void *ctx);

struct prg_infer_input {
    struct prg_types *types; // the file's own declarations added
    struct prg_lua_tree *tree;
    const char *const *extra_globals; // of specs; ends with NULL; NULL: none
    bool is_policy;                   // a table with an api is returned
    prg_infer_report_fn report;
    void *ctx;
};
void prg_infer(struct prg_arena *arena, const struct prg_infer_input *input);
