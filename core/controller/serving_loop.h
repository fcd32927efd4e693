// SPDX-License-Identifier: Apache-2.0
// serving_loop.h: reconciles InferenceServices over a store: plan, apply what the plan says, write status and Events.
// Knows no event loop: the driver brings the time, tells what changed and calls run.
#pragma once
#include "controller/planner.h"
#include "store/store.h"

struct prg_reconcile_report { // one reconcile; borrowed, valid during the callback
    const struct prg_key *key;
    struct prg_plan *plan;                       // NULL when the object is gone
    size_t created, updated, deleted, unchanged; // objects
    bool status_changed;
    const struct prg_error *error; // of applying, or NULL; plan->error is told by the plan
};
typedef void (*prg_reconcile_fn)(const struct prg_reconcile_report *report, void *ctx);

struct prg_serving_loop;

// store and planner are borrowed. report may be NULL.
struct prg_serving_loop *prg_serving_loop_new(struct prg_store *store, struct prg_planner *planner,
                                              prg_reconcile_fn report, void *ctx);
void prg_serving_loop_free(struct prg_serving_loop *loop); // NULL is fine

void prg_serving_loop_enqueue_all(struct prg_serving_loop *loop, uint64_t now_ms);
// Queues the services that an appeared, changed or vanished object concerns; reads the configuration again when it is
// the ConfigMap.
void prg_serving_loop_changed(struct prg_serving_loop *loop, const struct prg_key *key, uint64_t now_ms);
// Reconciles what is due. Returns how many were reconciled. wall_ns: the clock of the plans.
size_t prg_serving_loop_run(struct prg_serving_loop *loop, uint64_t now_ms, int64_t wall_ns);
// Milliseconds until something is due, -1 when nothing waits.
int64_t prg_serving_loop_next_ms(const struct prg_serving_loop *loop, uint64_t now_ms);
