// SPDX-License-Identifier: Apache-2.0
// process.h: what the controller process consists of, whatever its store: an event loop with signals, the policy sets,
// the planner, and parts that do the work. run_folder.c and run_kube.c drive it. Private to core/controller.
//
// A part is a loop over objects, a link to edge nodes, a server of metrics, a recorder of inputs: whatever is started,
// told of changes, given turns and stopped together with the others. All parts are made in one place: add_parts in
// process.c.
#pragma once
#include <uv.h>

#include "base/vec.h"
#include "controller/operations.h"
#include "controller/policy_life.h"
#include "controller/run.h"

struct prg_part { // each function may be NULL
    const char *name;
    // The event loop runs. Handles may be opened.
    void (*start)(uv_loop_t *loop, void *ctx);
    // True: this replica leads and the store has been read: work, on everything there is. False: no more, for now; what
    // is under way ends by itself.
    void (*work)(bool is_working, void *ctx);
    void (*changed)(const struct prg_key *key, uint64_t now_ms, void *ctx); // an object appeared, changed or vanished
    void (*replan)(const char *ns, uint64_t now_ms, void *ctx); // other policies decide, there (NULL: everywhere)
    // Does what is due. next_ms: until there is something, -1: only after a change or an answer.
    void (*run)(uint64_t now_ms, int64_t wall_ns, void *ctx);
    int64_t (*next_ms)(uint64_t now_ms, void *ctx);
    size_t (*open)(void *ctx); // things under way that are worth waiting for before the end
    void (*stop)(void *ctx);   // closes its handles
    void (*free)(void *ctx);   // the event loop took a turn since
};

struct prg_process {
    const struct prg_run_options *options;
    uv_loop_t loop;
    uv_timer_t work;
    uv_signal_t sigint, sigterm;
    struct prg_store *store; // NULL before prg_process_load
    struct prg_policy_life *policies;
    struct prg_planner *planner;
    struct prg_record *record; // or NULL
    struct prg_serving_loop *serving;
    struct prg_vec parts;              // private
    struct prg_operations *operations; // metrics and health; NULL with options->once
    bool is_working, is_started, is_closed;
    uint64_t turn_ms;             // when the turn under way began
    uint64_t signalled_ms;        // 0: not yet
    void (*signalled)(void *ctx); // SIGINT or SIGTERM came, for the first time: the driver is to end the process
    prg_ops_check_fn is_read;     // the store was read and can be read on; NULL: as soon as it is loaded
    void *ctx;                    // of both
};

uint64_t prg_process_now_ms(void);
// Counts a reconcile that ended (base/meters.h).
void prg_process_count(const char *controller, const struct prg_reconcile_report *report);
void prg_process_log_error(const char *message, const struct prg_error *err);

int prg_process_open(struct prg_process *process, const struct prg_run_options *options,
                     struct prg_error *err) PRG_MUST_USE;
// Policies, planner and parts over a store that can be read. self: the controller's own pod, or NULL.
int prg_process_load(struct prg_process *process, struct prg_store *store, const struct prg_key *self,
                     struct prg_error *err) PRG_MUST_USE;
void prg_process_add(struct prg_process *process, const struct prg_part *part, void *ctx);

void prg_process_listen(struct prg_process *process); // for signals
void prg_process_start(struct prg_process *process);  // what runs on the event loop; loaded
void prg_process_work(struct prg_process *process, bool is_working);
void prg_process_changed(struct prg_process *process, const struct prg_key *key);
void prg_process_replan(struct prg_process *process, const char *ns); // all objects there (NULL: everywhere) anew
void prg_process_turn(struct prg_process *process);                   // runs what is due, now
void prg_process_wake(struct prg_process *process);                   // a turn soon: something happened
size_t prg_process_open_count(const struct prg_process *process);

// Closes all handles; the driver closes its own.
void prg_process_close(struct prg_process *process);
void prg_process_free_parts(struct prg_process *process); // closed; before the store goes, which has their writes
// Runs the loop until no handle is left, and frees everything but the store.
void prg_process_release(struct prg_process *process);
