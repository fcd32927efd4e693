// SPDX-License-Identifier: Apache-2.0
// policy_load.h: loading one policy set with all its checks: contracts, its own specs, its answers on samples. Touches
// nothing but what it is given, so it runs on any thread.
#pragma once
#include <stdatomic.h>

#include "check/check.h"

struct prg_policy_load {
    // What is loaded: a folder, or texts (folder NULL) in arena.
    struct prg_arena arena;
    const char *folder;
    struct prg_vec texts; // struct prg_policy_text *
    // NULL: it is the set itself. Else the texts are a namespace's, checked over a copy of this one (borrowed).
    const struct prg_policy_set *base;
    uint32_t allowed; // policies that they may be about
    struct prg_policy_limits limits;
    const struct prg_compat *compat;
    bool is_brief;    // answers on samples are not checked
    atomic_bool stop; // nobody wants the result any more
    // What came of it.
    struct prg_policy_set *set; // the caller's reference; NULL: refused
    struct prg_strbuf problems; // every error, "; " between them
    double seconds;
};

void prg_policy_load_init(struct prg_policy_load *load);
void prg_policy_load_release(struct prg_policy_load *load);
void prg_policy_load_problem(struct prg_policy_load *load, const char *text); // one more error
void prg_policy_load_run(struct prg_policy_load *load);
