// SPDX-License-Identifier: Apache-2.0
// controller.h: the learning controller of simulations: watch events, a queue with delays in virtual time, syncs
// through prg_learning_plan, reports of edge nodes. The same rules as in a cluster, with nothing happening at the same
// time. Private to core/simulate.
#pragma once
#include "base/vec.h"
#include "learning/messages.h"
#include "learning/plan.h"
#include "simulate/cluster.h"

struct sim_key { // a job in the queue
    struct sim_key *next;
    const char *ns, *name;
    bool is_queued;
    bool is_delayed;
    int64_t due_ms; // of the delayed entry, in queue time
    unsigned failures;
    int64_t synced_ns; // when it was synced last, and how often at that moment
    unsigned synced;
};

#define SIM_SYNCS_MOST 500

struct sim_controller {
    struct sim_cluster *cluster;
    const struct prg_decider *decide;
    const char *lc_server;
    struct prg_arena *arena;
    struct sim_key *keys; // all ever seen
    struct prg_vec queue; // struct sim_key *, first first
    int64_t queue_ms;     // time of delayed entries: goes on only when somebody lets it
    uint64_t seed;
    bool is_dead;                   // killed in the middle of a sync
    const struct sim_key *circling; // a job that was synced SIM_SYNCS_MOST times at one moment and is let be, or NULL
    // What happened since the last sim_controller_take.
    cJSON *messages, *syncs, *requeued;
    void (*on_sync)(struct sim_controller *controller, const struct prg_plan *plan, const char *error,
                    void *ctx); // or NULL
    void *ctx;
};

void sim_controller_init(struct sim_controller *controller, struct sim_cluster *cluster,
                         const struct prg_decider *decide, const char *lc_server);
void sim_controller_release(struct sim_controller *controller);
// Handles events and syncs until all is quiet. Stops early when the controller dies.
void sim_controller_settle(struct sim_controller *controller);
// Queue time goes on by ms in one jump; what was due meanwhile is handled after it. The cluster's clock goes on alike.
void sim_controller_jump(struct sim_controller *controller, int64_t ms);
// The same, but delayed entries are handled when they are due.
void sim_controller_advance(struct sim_controller *controller, int64_t ms);
// When the next delayed entry is due, in queue time; -1 when there is none.
int64_t sim_controller_next_due(const struct sim_controller *controller);
// All jobs (and Datasets) are delivered again, as at a resync; after a restart with a queue that is empty.
void sim_controller_resync(struct sim_controller *controller, bool with_datasets);
void sim_controller_restart(struct sim_controller *controller);
// A job that is seen to be gone only afterwards.
void sim_controller_tombstone(struct sim_controller *controller, const cJSON *job);
// A report of an edge node. *ret_outcome: "ok", or "ignored" for operations other than status, or "refused: REASON" of
// the policy.
int sim_controller_report(struct sim_controller *controller, const char *kind, const char *operation, const char *ns,
                          const char *name, const cJSON *content, const char **ret_outcome,
                          struct prg_error *err) PRG_MUST_USE;
