// SPDX-License-Identifier: Apache-2.0
// learning_driver.h: the learning loop with the link to the edge nodes (edge/edge.h), on a libuv loop: what a process
// runs beside the serving loop.
#pragma once
#include <uv.h>

#include "controller/learning_loop.h"
#include "controller/learning_settings.h"
#include "edge/edge.h"

struct prg_learning_driver_options {
    const struct prg_learning_settings *settings;
    unsigned workers;        // see learning_loop.h
    prg_reconcile_fn report; // may be NULL
    void *report_ctx;
    void (*wake)(void *ctx); // something came in, or ended: prg_learning_driver_run is wanted
    void *wake_ctx;
};

struct prg_learning_driver;

// loop may be NULL when settings have no edge. store and planner are borrowed; settings too, until free.
struct prg_learning_driver *prg_learning_driver_new(uv_loop_t *loop, struct prg_store *store,
                                                    struct prg_planner *planner,
                                                    const struct prg_learning_driver_options *options);
// Everything is read: jobs may be looked after, nodes may come. An address that is taken is tried again.
void prg_learning_driver_start(struct prg_learning_driver *driver, uint64_t now_ms);
// No more nodes and nothing is begun any more; what is under way ends by itself. start begins anew.
void prg_learning_driver_stop(struct prg_learning_driver *driver);
// Sockets that are still being closed are closed by the loop. NULL is fine.
void prg_learning_driver_free(struct prg_learning_driver *driver);

// The loop's own (learning_loop.h). The driver may be NULL: there is nothing to do then.
void prg_learning_driver_enqueue_all(struct prg_learning_driver *driver, uint64_t now_ms);
void prg_learning_driver_replan(struct prg_learning_driver *driver, const char *ns, uint64_t now_ms);
void prg_learning_driver_changed(struct prg_learning_driver *driver, const struct prg_key *key, uint64_t now_ms);
size_t prg_learning_driver_run(struct prg_learning_driver *driver, uint64_t now_ms, int64_t wall_ns);
int64_t prg_learning_driver_next_ms(const struct prg_learning_driver *driver, uint64_t now_ms);
size_t prg_learning_driver_open(const struct prg_learning_driver *driver); // the closing of the link counts as one
// Why no node can come though it should, or NULL.
const char *prg_learning_driver_problem(const struct prg_learning_driver *driver);
struct prg_edge *prg_learning_driver_edge(const struct prg_learning_driver *driver); // NULL: no link
