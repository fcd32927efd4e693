// SPDX-License-Identifier: Apache-2.0
// learning_loop.h: reconciles IncrementalLearningJobs over a store: plans them, carries the plans out, stores what edge
// nodes report, tells the link to the edge nodes what is stored. Knows no event loop and no socket: the driver brings
// the time, tells what changed and calls run.
//
// One job is in one hand at a time. Its turn is either the oldest report that waits, or a plan. All that has to be
// remembered is in the store: a loop that is made anew goes on where another one was killed.
//
//   pods       in the order of the plan's steps, each only when the one before succeeded; then the job's annotations
//   status     over the one that was planned on and no other: when somebody wrote meanwhile, the job is planned anew
//   failures   a pause of 10 s · 2^n, at most 360 s, as the original's; n is 0 again when a status was written
//   views      after making or deleting pods the job is not planned before the store shows it (or 30 s have passed)
//   deletions  what edge nodes were told is kept in the store (learning_ledger.h), so that they learn of a job's end
//              though nobody was there to see it
#pragma once
#include "controller/planner.h"
#include "controller/reconcile.h"
#include "learning/messages.h"

struct prg_learning_loop;

// What the loop needs of the link to edge nodes (edge/edge.h). All NULL: the edge is played by hand.
struct prg_learning_edge {
    // deployed: nodes that took part in a deployment and have not forgotten the job since (edge/guard.h), or NULL.
    void (*tell_job)(const struct prg_reader *store, const cJSON *job, const cJSON *deployed,
                     enum prg_learning_change change, void *ctx);
    void (*tell_dataset)(const struct prg_reader *store, const cJSON *dataset, enum prg_learning_change change,
                         void *ctx);
    // Deletions of the job that a node has not read yet.
    size_t (*waiting_deletions)(const char *ns, const char *name, void *ctx);
    void (*give_up_deletions)(const char *ns, const char *name, void *ctx); // they are not waited for any longer
    void *ctx;
};

struct prg_learning_loop_options {
    unsigned workers; // turns under way at a time, of different jobs; 0: 1
    struct prg_learning_edge edge;
    prg_reconcile_fn report; // after each plan that was carried out, or could not be; may be NULL
    void (*wake)(void *ctx); // something ended outside of run: run is wanted; may be NULL
    void *ctx;
};

// store and planner are borrowed.
struct prg_learning_loop *prg_learning_loop_new(struct prg_store *store, struct prg_planner *planner,
                                                const struct prg_learning_loop_options *options);
void prg_learning_loop_free(struct prg_learning_loop *loop); // answers of reports do not come any more. NULL is fine

// Before the first prg_learning_loop_enqueue_all of a term: another controller may have told nodes otherwise since, and
// kept that in the store. Nothing of what they were told counts any more.
void prg_learning_loop_reset(struct prg_learning_loop *loop);
// At start and after a time without watching: everything is looked at and told again.
void prg_learning_loop_enqueue_all(struct prg_learning_loop *loop, uint64_t now_ms);
// Other policies decide in a namespace: its jobs are planned anew.
void prg_learning_loop_replan(struct prg_learning_loop *loop, const char *ns, uint64_t now_ms);
// Queues the jobs that an appeared, changed or vanished object concerns.
void prg_learning_loop_changed(struct prg_learning_loop *loop, const struct prg_key *key, uint64_t now_ms);
// Goes on with what ended, begins what is due while hands are free, and delivers the store's answers. Returns how many
// turns ended. wall_ns: the clock of plans and reports.
size_t prg_learning_loop_run(struct prg_learning_loop *loop, uint64_t now_ms, int64_t wall_ns);
// Milliseconds until run has something to do, -1 when only a change or an answer brings something.
int64_t prg_learning_loop_next_ms(const struct prg_learning_loop *loop, uint64_t now_ms);
// While it is paused no plan is made; what is under way ends, and reports that came in are stored. After a pause
// prg_learning_loop_enqueue_all is due.
void prg_learning_loop_pause(struct prg_learning_loop *loop, bool is_paused);
size_t prg_learning_loop_open(const struct prg_learning_loop *loop); // turns under way, and reports that wait

// ---- reports of edge nodes ----

enum prg_learning_answer {
    PRG_LEARNING_STORED,
    PRG_LEARNING_REFUSED, // malformed, about nothing that there is, or the policy does not count it
    PRG_LEARNING_RETRY,   // not stored, not lost: hand it in again later
};
typedef void (*prg_learning_answer_fn)(enum prg_learning_answer answer, const char *why, void *ctx);

struct prg_learning_message { // borrowed during the call
    const char *node;
    const char *kind; // "IncrementalLearningJob" or "Dataset"
    const char *ns, *name;
    const cJSON *content;
};
// Queues the report behind those of the same object that wait. answer comes once, from run.
void prg_learning_loop_report(struct prg_learning_loop *loop, const struct prg_learning_message *message,
                              prg_learning_answer_fn answer, void *ctx, uint64_t now_ms);
// A node has read that it is to forget a job: that it is gone, or that its round is over.
void prg_learning_loop_forgotten(struct prg_learning_loop *loop, const char *node, const char *ns, const char *name,
                                 uint64_t now_ms);
