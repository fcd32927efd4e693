// SPDX-License-Identifier: Apache-2.0
// world.h: one random schedule: what is about to happen, to whom, and what happened. Private to core/simulate.
#pragma once
#include "simulate/controller.h"
#include "simulate/random.h"

enum sim_action_kind {
    SIM_ACT_RESYNC,
    SIM_ACT_FAULT,   // something is killed
    SIM_ACT_RESTART, // the controller comes back
    SIM_ACT_TELL,    // a message reaches an edge node
    SIM_ACT_EDGE,    // an edge node reports, if it still sees a reason to
    SIM_ACT_REPORT,  // a report reaches the controller
    SIM_ACT_POD_RUNS,
    SIM_ACT_POD_ENDS,
};

struct sim_action {
    struct sim_action *next; // by time, then by order of making
    int64_t at_ms;
    enum sim_action_kind kind;
    struct sim_edge *edge;
    const cJSON *message; // TELL: the message; REPORT: {namespace, name, content}
    const char *ns, *name;
    const char *stage; // EDGE
    unsigned visit;    // EDGE: of the state that gave the reason
    bool is_success;   // POD_ENDS
};

// What an edge node knows of a job. Source: the Local Controller, spec section 5.
struct sim_edge {
    struct sim_edge *next;
    const char *node, *ns, *name; // of the job
    bool is_known;
    const cJSON *job; // as last sent
    const char *stage, *type;
    unsigned visit; // counts changes of stage and type
    bool is_eval_done, is_deploy_done;
    unsigned round;
    int64_t last_arrival_ms; // of messages either way, to keep them in order
    int64_t last_departure_ms;
};

struct sim_worker { // a pod that the kubelet has seen
    struct sim_worker *next;
    const char *ns, *name;
    const cJSON *result; // what it will report when it is done
};

struct sim_watch { // what the schedule says about a job
    struct sim_watch *next;
    const char *ns, *name;
    const char *stage, *type;
    const char *since, *reason, *note;
    unsigned completed, gave_up, started_over, quiet_resyncs;
    unsigned failures;   // syncs and reports that failed since the state changed
    unsigned conditions; // since the last end of a round
    bool has_begun, is_ended, is_stuck, is_endless, has_two_workers;
};

struct sim_world {
    struct prg_arena *arena;
    struct sim_cluster cluster;
    struct sim_controller controller;
    const struct prg_random_options *options;
    uint64_t state; // of the random numbers
    int64_t now_ms; // as the controller's queue time
    struct sim_action *actions;
    struct sim_edge *edges;
    struct sim_worker *workers;
    struct sim_watch *watches;
    int64_t resync_ms;
    unsigned events; // so far, deadlines among them
    bool has_lost;   // a message, or what a node knew, since the last resync: the next one may say it again
    cJSON *timeline;
};

// ---- world.c ----
uint64_t sim_random(struct sim_world *w, uint64_t below);
bool sim_chance(struct sim_world *w, unsigned percent);
void sim_say(struct sim_world *w, const char *format, ...) PRG_PRINTF(2, 3);
struct sim_action *sim_schedule(struct sim_world *w, int64_t after_ms, enum sim_action_kind kind);
// Puts a message on its way, with the faults that are on. `last`: when the one before arrives.
void sim_send(struct sim_world *w, const struct sim_action *message, int64_t *last);

// ---- edge.c: edge nodes and workers ----
struct sim_edge *sim_edge_of(struct sim_world *w, const char *node, const char *ns, const char *name);
void sim_edge_hear(struct sim_world *w, const struct sim_action *action);
void sim_edge_act(struct sim_world *w, const struct sim_action *action);
void sim_edge_forget(struct sim_world *w, const char *node);
void sim_kubelet_look(struct sim_world *w);
void sim_pod_runs(struct sim_world *w, const struct sim_action *action);
void sim_pod_ends(struct sim_world *w, const struct sim_action *action);
