// SPDX-License-Identifier: Apache-2.0
// loop_fixture.h: a store in memory with the runtime catalog, the shipped policies and a loop over them.
#pragma once
#include "manifests.h"

#include "controller/serving_loop.h"
#include "stdlib/natives.h"

struct loop_fixture { // first member of a test's own
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_store_ops ops; // a copy that a test may break
    struct prg_policy_set *policies;
    struct prg_planner *planner;
    struct prg_serving_loop *loop;
    uint64_t now_ms;
};

static const int64_t loop_fixture_wall_ns = INT64_C(1780272000) * 1000000000; // 2026-06-01

// config: a file with the configuration, or NULL.
static inline void loop_fixture_init(struct loop_fixture *f, const char *config,
                                     const struct prg_serving_loop_options *options)
{
    struct prg_policy_options policies = {0};
    struct prg_error err = {0};
    prg_arena_init(&f->arena);
    prg_stdlib_register();
    f->store = prg_store_mem_new();
    f->ops = *f->store->ops;
    f->store->ops = &f->ops;
    manifests_load(&f->arena, f->store, "../runtime-catalog");
    if (config)
        manifests_load(&f->arena, f->store, config);
    assert_ok(prg_policy_set_load(&policies, &f->policies, &err), &err);
    f->planner = prg_planner_new(f->policies, &prg_compat_fixed, "kserve");
    prg_planner_load_config(f->planner, &f->store->reader);
    f->loop = prg_serving_loop_new(f->store, f->planner, options);
}

static inline void loop_fixture_release(struct loop_fixture *f)
{
    prg_serving_loop_free(f->loop);
    prg_planner_free(f->planner);
    prg_policy_set_unref(f->policies);
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
}

static inline void loop_fixture_put(struct loop_fixture *f, const char *text)
{
    struct prg_error err = {0};
    assert_ok(prg_store_mem_put(f->store, json_of(&f->arena, text), false, true, &err), &err);
}
