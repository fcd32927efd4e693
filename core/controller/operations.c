// SPDX-License-Identifier: Apache-2.0
// operations.c: metrics and health of the controller process.
#include "controller/operations.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/meters.h"
#include "edge/edge.h"

enum counter { // of the link to edge nodes, as prg_edge_stats has them
    CONNECTIONS,
    SENT,
    READ,
    SENT_BYTES,
    REPORTS,
    RECEIVED_BYTES,
    HELD,
    COUNTERS
};

struct prg_operations {
    struct prg_metrics *metrics;
    struct prg_ops *ops;
    prg_ops_check_fn is_ready;
    void *ctx;
    const struct prg_learning_driver *learning;
    struct {
        struct prg_metric *connected, *nodes, *waiting_messages, *waiting_reports, *counters[COUNTERS];
        struct prg_metric_family *refused;
    } edge;
};

// ---- what the link counts ----

static struct prg_metric *gauge(struct prg_metrics *metrics, const char *name, const char *help)
{
    return prg_metric_only(prg_metrics_gauge(metrics, name, help, NULL));
}

static void make_edge_metrics(struct prg_operations *o)
{
    static const struct {
        const char *name, *help;
    } counters[COUNTERS] = {
        [CONNECTIONS] = {"perigee_edge_connections_total", "Connections of edge nodes that were accepted."},
        [SENT] = {"perigee_edge_messages_sent_total", "Messages to edge nodes."},
        [READ] = {"perigee_edge_messages_read_total", "Messages that edge nodes have read."},
        [SENT_BYTES] = {"perigee_edge_sent_bytes_total", "Bytes of messages to edge nodes."},
        [REPORTS] = {"perigee_edge_reports_total", "Reports of edge nodes that were taken."},
        [RECEIVED_BYTES] = {"perigee_edge_received_bytes_total", "Bytes of messages from edge nodes."},
        [HELD] = {"perigee_edge_messages_held_total", "Messages held back, since a node would not survive them."},
    };
    static const char *const labels[] = {"reason", NULL};
    o->edge.connected = gauge(o->metrics, "perigee_edge_connected_nodes", "Edge nodes that are connected.");
    o->edge.nodes = gauge(o->metrics, "perigee_edge_nodes", "Edge nodes that are to know something.");
    o->edge.waiting_messages =
        gauge(o->metrics, "perigee_edge_waiting_messages", "Messages that edge nodes have not read yet.");
    o->edge.waiting_reports =
        gauge(o->metrics, "perigee_edge_waiting_reports", "Reports of edge nodes that are not stored yet.");
    for (size_t i = 0; i < COUNTERS; i++)
        o->edge.counters[i] =
            prg_metric_only(prg_metrics_counter(o->metrics, counters[i].name, counters[i].help, NULL));
    o->edge.refused = prg_metrics_counter(o->metrics, "perigee_edge_refused_total",
                                          "Connections and messages of edge nodes that were refused.", labels);
}

static void on_print(void *ctx)
{
    struct prg_operations *o = ctx;
    const struct prg_edge *edge = prg_learning_driver_edge(o->learning);
    if (!edge)
        return;
    const struct prg_edge_stats *stats = prg_edge_stats(edge);
    const uint64_t counts[COUNTERS] = {
        [CONNECTIONS] = stats->connections,
        [SENT] = stats->messages_sent,
        [READ] = stats->messages_read,
        [SENT_BYTES] = stats->bytes_sent,
        [REPORTS] = stats->reports,
        [RECEIVED_BYTES] = stats->bytes_received,
        [HELD] = stats->held,
    };
    if (!o->edge.connected)
        make_edge_metrics(o);
    prg_metric_set(o->edge.connected, (double)stats->connected);
    prg_metric_set(o->edge.nodes, (double)stats->nodes);
    prg_metric_set(o->edge.waiting_messages, (double)stats->waiting_messages);
    prg_metric_set(o->edge.waiting_reports, (double)stats->waiting_reports);
    for (size_t i = 0; i < COUNTERS; i++)
        prg_metric_set(o->edge.counters[i], (double)counts[i]);
    for (int i = 0; i < PRG_EDGE_REFUSALS; i++)
        prg_metric_set(prg_metric_of(o->edge.refused, prg_edge_refusal_name((enum prg_edge_refusal)i)),
                       (double)stats->refused[i]);
}

// ---- checks ----

static bool check_store(char *why, size_t size, void *ctx)
{
    const struct prg_operations *o = ctx;
    return o->is_ready(why, size, o->ctx);
}

static bool check_edge(char *why, size_t size, void *ctx)
{
    const struct prg_operations *o = ctx;
    const char *problem = prg_learning_driver_problem(o->learning);
    if (!problem)
        return true;
    snprintf(why, size, "%s", problem);
    return false;
}

// ---- beginning and ending ----

int prg_operations_new(uv_loop_t *loop, const struct prg_run_options *options, prg_ops_check_fn is_ready, void *ctx,
                       struct prg_operations **ret, struct prg_error *err)
{
    struct prg_operations *o = prg_xcalloc(1, sizeof(*o));
    char port[8];
    o->is_ready = is_ready;
    o->ctx = ctx;
    o->metrics = prg_metrics_new();
    *ret = o;
    if (!options->listens)
        return PRG_OK;
    struct prg_ops_options ops = {
        .address = options->listen_address, .port = options->listen_port, .metrics = o->metrics};
    o->ops = prg_ops_new(loop, &ops);
    prg_ops_add(o->ops, "store", PRG_OPS_READY, check_store, o);
    prg_ops_add(o->ops, "edge", PRG_OPS_READY, check_edge, o);
    prg_ops_add_process(o->metrics, options->version ? options->version : "");
    prg_metrics_on_print(o->metrics, on_print, o);
    prg_meters_start(o->metrics);
    if (prg_ops_listen(o->ops, err) != PRG_OK)
        return err ? (int)err->code : PRG_IO;
    snprintf(port, sizeof(port), "%u", (unsigned)prg_ops_port(o->ops));
    prg_log(PRG_LOG_INFO, "metrics and health", "address",
            options->listen_address ? options->listen_address : "127.0.0.1", "port", port, NULL);
    return PRG_OK;
}

void prg_operations_set_learning(struct prg_operations *operations, const struct prg_learning_driver *driver)
{
    if (operations)
        operations->learning = driver;
}

void prg_operations_close(struct prg_operations *operations)
{
    if (!operations)
        return;
    prg_meters_start(NULL);
    prg_ops_close(operations->ops);
    operations->ops = NULL;
    operations->learning = NULL;
}

void prg_operations_free(struct prg_operations *operations)
{
    if (!operations)
        return;
    prg_metrics_free(operations->metrics);
    free(operations);
}
