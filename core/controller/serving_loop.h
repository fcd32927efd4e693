// SPDX-License-Identifier: Apache-2.0
// serving_loop.h: reconciles InferenceServices over a store: plan, apply what the plan says, write status and Events.
// Knows no event loop: the driver brings the time, tells what changed and calls run.
#pragma once
#include "controller/planner.h"
#include "controller/reconcile.h"

struct prg_serving_loop;

struct prg_serving_loop_options {
    unsigned workers;        // reconciles under way at a time, of different services; 0: 1
    prg_reconcile_fn report; // after each; may be NULL
    // Instead of a report: nothing has changed since the last one, which had nothing to do (quiet.h); may be NULL.
    void (*unchanged)(const struct prg_key *key, void *ctx);
    void (*wake)(void *ctx); // something ended outside of run: run is wanted; may be NULL
    // Asked after each key that run takes. True: the next one waits for the next run, so that others have their turn.
    // NULL: run goes on as long as something is due.
    bool (*is_late)(void *ctx);
    void *ctx;
};

// store and planner are borrowed.
struct prg_serving_loop *prg_serving_loop_new(struct prg_store *store, struct prg_planner *planner,
                                              const struct prg_serving_loop_options *options);
void prg_serving_loop_free(struct prg_serving_loop *loop); // NULL is fine

void prg_serving_loop_enqueue_all(struct prg_serving_loop *loop, uint64_t now_ms);
// Queues the services that an appeared, changed or vanished object concerns; reads the configuration again when it is
// the ConfigMap.
void prg_serving_loop_changed(struct prg_serving_loop *loop, const struct prg_key *key, uint64_t now_ms);
// Goes on with what ended, begins what is due while hands are free, and delivers the store's answers. Returns how many
// reconciles ended, those included that found nothing changed. wall_ns: the clock of the plans.
size_t prg_serving_loop_run(struct prg_serving_loop *loop, uint64_t now_ms, int64_t wall_ns);
// Milliseconds until run has something to do, -1 when only a change or an answer brings something.
int64_t prg_serving_loop_next_ms(const struct prg_serving_loop *loop, uint64_t now_ms);
// Nothing is begun any more; what is under way ends. Changes still queue up.
void prg_serving_loop_pause(struct prg_serving_loop *loop, bool is_paused);
size_t prg_serving_loop_open(const struct prg_serving_loop *loop); // under way
