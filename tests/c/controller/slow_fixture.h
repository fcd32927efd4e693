// SPDX-License-Identifier: Apache-2.0
// slow_fixture.h: a slow store, the shipped policies and a planner: what tests of the loops over it begin with.
#pragma once
#include "support/support.h"

#include "controller/planner.h"
#include "slow_store.h"

struct slow_fixture { // first member of a test's own
    struct slow_store slow;
    struct prg_arena arena;
    struct prg_policy_set *policies;
    struct prg_planner *planner;
    uint64_t now_ms;
    unsigned woken;
};

static inline void slow_fixture_init(struct slow_fixture *f)
{
    struct prg_policy_options policies = {0};
    struct prg_error err = {0};
    prg_arena_init(&f->arena);
    slow_store_init(&f->slow);
    assert_ok(prg_policy_set_load(&policies, &f->policies, &err), &err);
    f->planner = prg_planner_new(f->policies, &prg_compat_fixed, "kserve");
}

// After the loop.
static inline void slow_fixture_release(struct slow_fixture *f)
{
    prg_planner_free(f->planner);
    prg_policy_set_unref(f->policies);
    slow_store_release(&f->slow);
    prg_arena_release(&f->arena);
}

static inline void slow_fixture_wake(void *ctx)
{
    ((struct slow_fixture *)ctx)->woken++;
}
