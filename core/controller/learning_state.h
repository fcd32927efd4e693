// SPDX-License-Identifier: Apache-2.0
// learning_state.h: what a learning loop knows between two turns. Shared by learning_loop.c (queue, changes, life) and
// learning_turn.c (one turn of one object) only.
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "controller/freshness.h"
#include "controller/learning_ledger.h"
#include "controller/learning_loop.h"
#include "controller/workqueue.h"

struct learning_turn;

struct learning_report { // of an edge node, until it is answered
    struct prg_arena arena;
    const char *node;
    const cJSON *content;
    prg_learning_answer_fn answer;
    void *ctx;
    unsigned conflicts;
    int64_t written_ns; // it may have been stored with this time: look before storing it again; 0: no
};

struct learning_awaited { // a pod that was made or deleted, until the store shows it
    char *name, *uid;     // uid: of a deleted one; NULL: it was made
    uint64_t until_ms;
};

struct learning_subject { // a job or a Dataset
    struct prg_learning_loop *loop;
    char *queue_key, *ns, *name;
    bool is_dataset;
    struct prg_vec reports; // struct learning_report, oldest first
    struct prg_vec awaited; // struct learning_awaited
    unsigned failures;      // plans in a row
    unsigned conflicts;     // writes in a row that somebody was ahead of
    uint64_t told_events;   // digest of the Events last seen in a plan, 0: none yet
    uint64_t told_outlook;  // digest of what was said last about what will never happen
    char *told_error;       // of the last ReconcileFailed, or NULL
    // What edge nodes were last told: the object as text, where it is known, and of a job its nodes.
    char *last;
    struct prg_arena entry_arena;
    struct prg_ledger_entry entry; // name NULL: no node knows of it
    uint64_t recorded;             // digest of the entry that the store has, 0: none
    uint64_t unrecorded;           // digest of the entry that the store refused, 0: none
    uint64_t record_again_ms;      // unrecorded is not tried before
    unsigned record_tries;
    bool is_gone_told;          // nodes were told that the job is gone
    struct learning_turn *turn; // under way, or NULL
};

struct prg_learning_loop {
    struct prg_store *store;
    struct prg_planner *planner;
    struct prg_learning_loop_options options;
    struct prg_workqueue *queue;
    struct prg_freshness *freshness;
    struct prg_map subjects; // queue key -> struct learning_subject
    struct prg_map owners;   // "ns/pod" -> queue key of its job (heap): who to ask when it vanishes
    struct prg_vec ended;    // struct learning_turn
    size_t open;
    size_t report_count; // not answered
    uint64_t now_ms;     // of the call under way
    int64_t wall_ns;     // of the last one
    bool is_running, is_paused;
};

#define LEARNING_AWAIT_MS 30000 // so long a view of pods may lag behind what was done
#define LEARNING_CONFLICTS 6    // writes in a row that somebody was ahead of, before it counts as a failure

struct learning_subject *learning_subject_ensure(struct prg_learning_loop *loop, bool is_dataset, const char *ns,
                                                 const char *name);
void learning_subject_drop(struct learning_subject *subject); // reports must be answered
void learning_enqueue(struct learning_subject *subject, uint64_t delay_ms);
// The object as stored, or NULL.
const cJSON *learning_subject_get(const struct learning_subject *subject);
void learning_remember_pod(struct prg_learning_loop *loop, const char *pod, const struct learning_subject *job);

// ---- learning_turn.c ----
// node has read that it is to forget the job.
void learning_turn_forgotten(struct learning_subject *subject, const char *node);
// Nothing is known of what nodes were told, and of what the store has about it.
void learning_turn_reset(struct learning_subject *subject);
// Begins a turn, and ends it at once when nothing has to be written. The subject may be gone afterwards.
void learning_turn_begin(struct learning_subject *subject);
// Draws the conclusions of a turn that ended, and frees it.
void learning_turn_end(struct learning_turn *turn);
void learning_turn_free(struct learning_turn *turn);
void learning_report_free(struct learning_report *report);
