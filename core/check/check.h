// SPDX-License-Identifier: Apache-2.0
// check.h: what can be said of a policy set before it decides anything: about its texts (without running them), and
// about its answers on sample objects.
#pragma once
#include <stdatomic.h>

#include "object/reader.h"
#include "policy/policy.h"
#include "serving/compat.h"

struct prg_check_finding {
    const char *file;
    unsigned line, column; // from 1, in characters; 0: not known
    unsigned width;        // characters that the mistake covers; 0: not known
    const char *rule;      // see docs/cli.md; those that editors know carry LuaLS' names ("undefined-field")
    const char *message;
    const char *source; // the text of the line, or NULL
    bool is_warning;    // does not make the check fail
};
typedef void (*prg_check_visit_fn)(const struct prg_check_finding *finding, void *ctx);

// ---- texts ----
enum prg_check_text { PRG_CHECK_POLICY, PRG_CHECK_SPEC };
// Looks at one Lua text that compiles: names, fields, calls. Findings in order of their places.
void prg_check_text(const char *file, const char *text, size_t length, enum prg_check_text kind,
                    prg_check_visit_fn visit, void *ctx);

// Everything that is wrong with the files of a set: what loading says (syntax, contract, settings), then the texts.
// folder: where they are; NULL: they are texts, struct prg_policy_text *. PRG_IO when the folder cannot be read.
// *ret_set: the loaded set, or NULL when something is wrong with it; the caller's reference.
struct prg_check_counts {
    size_t files, errors, warnings;
};
int prg_check_set(const char *folder, const struct prg_vec *texts, const struct prg_policy_limits *limits,
                  prg_check_visit_fn visit, void *ctx, struct prg_check_counts *ret_counts,
                  struct prg_policy_set **ret_set, struct prg_error *err) PRG_MUST_USE;

// ---- answers ----
// Plans the services among the objects (NULL: built-in samples) with the set, and asks what plans do not show:
//   policy-error        a policy that raises or answers against its contract
//   pure                the same plan asked twice gives different answers, or one about a candidate depends on what was
//                       asked before it
//   permutation         the answer depends on the order of runtimes, or of the members of objects
//   strict-weak-order   `before` contradicts itself; the candidates are named
//   fixed-point         a patch that changes its own result
struct prg_check_samples {
    const struct prg_reader *objects; // NULL: built-in; without KServe's ConfigMap a plain one is taken
    const struct prg_compat *compat;  // NULL: fixed
    const char *config_namespace;     // NULL: "kserve"
    bool leaves_shipped; // policies that are decided by the shipped files, which the project's own tests know, are left
                         // out
    const atomic_bool *stop; // set by another thread: PRG_CONFLICT between two questions; NULL: nobody does
};
int prg_check_answers(struct prg_policy_set *set, const struct prg_check_samples *samples, prg_check_visit_fn visit,
                      void *ctx, struct prg_check_counts *counts, struct prg_error *err) PRG_MUST_USE;

// ---- types for editors ----
// Writes LuaLS meta files into folder (made when missing): perigee.lua (stdlib), contracts.lua, kinds.lua.
int prg_check_write_types(const char *folder, struct prg_error *err) PRG_MUST_USE;
