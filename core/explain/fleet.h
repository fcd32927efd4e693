// SPDX-License-Identifier: Apache-2.0
// fleet.h: what another policy set, runtime, configuration or compatibility mode would change for many services: every
// one is planned twice and compared, by several threads. The result does not depend on their number.
#pragma once
#include "controller/planner.h"
#include "explain/effect.h"
#include "explain/overlay.h"

enum prg_side { PRG_SIDE_BASE, PRG_SIDE_NEW, PRG_SIDE_COUNT };

struct prg_fleet_input {
    // One planner a thread: a policy set serves one thread at a time. Their sets must be equal, of each side.
    struct prg_planner *const *planners[PRG_SIDE_COUNT];
    size_t thread_count;
    unsigned equal_policies; // of the two sets: prg_twin_equal_policies; 0 is always right. Of namespaces' sets nothing
    // The objects of each side, which may be the same reader. Read by one thread at a time.
    const struct prg_reader *stores[PRG_SIDE_COUNT];
    // The new side's store is this one's reader, and it lies over the base's. NULL is always right: then every service
    // is planned twice when the stores are not the same.
    const struct prg_overlay *overlay;
    const struct prg_key *keys; // of services and jobs, sorted; may be missing on one side
    size_t key_count;
    int64_t now_ns;
    uint64_t seed;
    // Called now and then by the calling thread; may be NULL.
    void (*progress)(size_t done, size_t total, void *ctx);
    void *progress_ctx;
};

struct prg_fleet {
    const struct prg_key *keys; // borrowed from the input
    struct prg_effect *effects; // of each
    size_t count;
    // Sums:
    size_t services[PRG_EFFECT_COUNT];
    int64_t pods[PRG_EFFECT_COUNT], gpus[PRG_EFFECT_COUNT]; // touched, by group
    int64_t restarts;                                       // pods that restart
    int64_t touched_gpus;                                   // of pods that restart, appear or vanish
    int64_t gpus_total[PRG_SIDE_COUNT];
    size_t failing[PRG_SIDE_COUNT]; // services whose plan has an error
    // private:
    struct prg_arena *arenas;
    size_t arena_count;
};

// Fails when the objects cannot be read or one is not what its key says; what is wrong with a single service is part of
// its effect.
int prg_fleet_compare(const struct prg_fleet_input *in, struct prg_fleet **ret, struct prg_error *err) PRG_MUST_USE;
void prg_fleet_free(struct prg_fleet *fleet); // NULL is fine
