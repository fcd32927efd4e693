// SPDX-License-Identifier: Apache-2.0
// policy_life.h: the policy set of a running controller: loaded at start, tried again when its folder changes, the last
// good one kept while the folder holds none.
#pragma once
#include <uv.h>

#include "policy/policy.h"

struct prg_policy_life;

// Another set than before is active. Borrowed.
typedef void (*prg_policy_active_fn)(struct prg_policy_set *set, void *ctx);

// Loads the set of folder (NULL: the shipped policies, which never change). Errors are those of the set.
int prg_policy_life_new(const char *folder, const struct prg_policy_limits *limits, struct prg_policy_life **ret,
                        struct prg_error *err) PRG_MUST_USE;
void prg_policy_life_free(struct prg_policy_life *life); // stopped, and its loop has run since. NULL is fine

struct prg_policy_set *prg_policy_life_active(const struct prg_policy_life *life); // borrowed
const char *prg_policy_life_folder(const struct prg_policy_life *life);            // or NULL

// From now on changes are taken up; active is called from within reload and from the loop.
void prg_policy_life_start(struct prg_policy_life *life, uv_loop_t *loop, prg_policy_active_fn active, void *ctx);
void prg_policy_life_stop(struct prg_policy_life *life);    // closes its handles
void prg_policy_life_noticed(struct prg_policy_life *life); // something happened in the folder: the next reload looks
void prg_policy_life_reload(struct prg_policy_life *life);  // looks whether there is another set, and loads it
