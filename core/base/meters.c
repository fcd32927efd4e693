// SPDX-License-Identifier: Apache-2.0
// meters.c: the families, and adding to them.
#include "base/meters.h"

#include <stdio.h>

static const char *const of_controller[] = {"controller", NULL};
static const char *const of_queue[] = {"controller", "name", NULL};

static struct {
    bool is_on;
    struct prg_metric_family *reconciles, *errors, *time, *active, *most;
    struct prg_metric_family *depth, *adds, *retries, *waited, *worked;
    struct prg_metric_family *requests, *request_time, *leader;
    struct prg_metric_family *calls, *call_time, *loads, *set_info, *set_refused;
} meters; // of this process, as its log

static void start_reconciles(struct prg_metrics *m)
{
    static const char *const labels[] = {"controller", "result", NULL};
    meters.reconciles = prg_metrics_counter(m, "controller_runtime_reconcile_total",
                                            "Total number of reconciliations per controller.", labels);
    meters.errors = prg_metrics_counter(m, "controller_runtime_reconcile_errors_total",
                                        "Total number of reconciliation errors per controller.", of_controller);
    meters.time = prg_metrics_histogram(m, "controller_runtime_reconcile_time_seconds",
                                        "Length of time per reconciliation per controller.", of_controller,
                                        prg_metric_bounds_work, PRG_COUNT(prg_metric_bounds_work));
    meters.active = prg_metrics_gauge(m, "controller_runtime_active_workers",
                                      "Number of reconciliations under way per controller.", of_controller);
    meters.most = prg_metrics_gauge(m, "controller_runtime_max_concurrent_reconciles",
                                    "Most reconciliations at a time per controller.", of_controller);
}

static void start_queues(struct prg_metrics *m)
{
    meters.depth = prg_metrics_gauge(m, "workqueue_depth", "Current depth of workqueue.", of_queue);
    meters.adds =
        prg_metrics_counter(m, "workqueue_adds_total", "Total number of adds handled by workqueue.", of_queue);
    meters.retries =
        prg_metrics_counter(m, "workqueue_retries_total", "Total number of retries handled by workqueue.", of_queue);
    meters.waited = prg_metrics_histogram(m, "workqueue_queue_duration_seconds",
                                          "How long an item stays in workqueue before being requested.", of_queue,
                                          prg_metric_bounds_queue, PRG_COUNT(prg_metric_bounds_queue));
    meters.worked =
        prg_metrics_histogram(m, "workqueue_work_duration_seconds", "How long processing an item from workqueue takes.",
                              of_queue, prg_metric_bounds_queue, PRG_COUNT(prg_metric_bounds_queue));
}

static void start_client(struct prg_metrics *m)
{
    static const char *const labels[] = {"code", "host", "method", NULL}, *const timed[] = {"host", "verb", NULL};
    static const char *const name[] = {"name", NULL};
    meters.requests = prg_metrics_counter(m, "rest_client_requests_total",
                                          "Number of HTTP requests, by status code, method and host.", labels);
    meters.request_time = prg_metrics_histogram(m, "rest_client_request_duration_seconds",
                                                "Request latency in seconds, by verb and host; watches aside.", timed,
                                                prg_metric_bounds_work, PRG_COUNT(prg_metric_bounds_work));
    meters.leader = prg_metrics_gauge(m, "leader_election_master_status",
                                      "Whether this replica leads: 1, or 0 while it stands by.", name);
}

static void start_policies(struct prg_metrics *m)
{
    static const char *const labels[] = {"policy", "function", "result", NULL};
    static const char *const timed[] = {"policy", "function", NULL}, *const result[] = {"result", NULL};
    static const char *const set[] = {"namespace", "revision", NULL}, *const ns[] = {"namespace", NULL};
    meters.calls = prg_metrics_counter(m, "perigee_policy_calls_total",
                                       "Calls of policy functions: answered, no_opinion or error.", labels);
    meters.call_time = prg_metrics_histogram(m, "perigee_policy_call_seconds", "How long policy functions take.", timed,
                                             prg_metric_bounds_call, PRG_COUNT(prg_metric_bounds_call));
    meters.loads = prg_metrics_counter(m, "perigee_policy_loads_total",
                                       "Policy sets that were loaded: active, or refused for their mistakes.", result);
    meters.set_info =
        prg_metrics_gauge(m, "perigee_policy_set_info", "The active policy set of a namespace, or of all others.", set);
    meters.set_refused = prg_metrics_gauge(m, "perigee_policy_set_refused",
                                           "Whether the latest policy set was refused and is not the active one.", ns);
}

void prg_meters_start(struct prg_metrics *metrics)
{
    meters.is_on = metrics != NULL;
    if (!metrics)
        return;
    start_reconciles(metrics);
    start_queues(metrics);
    start_client(metrics);
    start_policies(metrics);
}

bool prg_meters_are_on(void)
{
    return meters.is_on;
}

// ---- reconciles ----

void prg_meter_reconcile(const char *controller, const char *result)
{
    if (!meters.is_on)
        return;
    prg_metric_add(prg_metric_of(meters.reconciles, controller, result), 1);
    prg_metric_add(prg_metric_of(meters.errors, controller), prg_text_equal(result, "error"));
}

void prg_meter_workers(const char *controller, int active_change, int most)
{
    if (!meters.is_on)
        return;
    prg_metric_move(prg_metric_of(meters.active, controller), active_change);
    if (most)
        prg_metric_set(prg_metric_of(meters.most, controller), most);
}

// ---- queues: one a controller, of its name ----

void prg_meter_queue_added(const char *controller)
{
    if (meters.is_on)
        prg_metric_add(prg_metric_of(meters.adds, controller, controller), 1);
}

void prg_meter_queue_retried(const char *controller)
{
    if (meters.is_on)
        prg_metric_add(prg_metric_of(meters.retries, controller, controller), 1);
}

void prg_meter_queue_depth(const char *controller, size_t depth)
{
    if (meters.is_on)
        prg_metric_set(prg_metric_of(meters.depth, controller, controller), (double)depth);
}

void prg_meter_queue_taken(const char *controller, double seconds_waited)
{
    if (meters.is_on)
        prg_metric_observe(prg_metric_of(meters.waited, controller, controller), seconds_waited);
}

void prg_meter_queue_done(const char *controller, double seconds_worked)
{
    if (!meters.is_on)
        return;
    prg_metric_observe(prg_metric_of(meters.worked, controller, controller), seconds_worked);
    prg_metric_observe(prg_metric_of(meters.time, controller), seconds_worked);
}

// ---- the API server ----

void prg_meter_request(const char *host, const char *method, int status, double seconds)
{
    char code[16] = "<error>";
    if (!meters.is_on)
        return;
    if (status)
        snprintf(code, sizeof(code), "%d", status);
    prg_metric_add(prg_metric_of(meters.requests, code, host, method), 1);
    if (seconds >= 0)
        prg_metric_observe(prg_metric_of(meters.request_time, host, method), seconds);
}

void prg_meter_leader(const char *name, bool is_leader)
{
    if (meters.is_on)
        prg_metric_set(prg_metric_of(meters.leader, name), is_leader ? 1 : 0);
}

// ---- policies ----

void prg_meter_policy(const char *policy, const char *function, enum prg_meter_answer answer, double seconds)
{
    static const char *const answers[] = {"answered", "no_opinion", "error"};
    if (!meters.is_on)
        return;
    prg_metric_add(prg_metric_of(meters.calls, policy, function, answers[answer]), 1);
    prg_metric_observe(prg_metric_of(meters.call_time, policy, function), seconds);
}

void prg_meter_policy_load(bool is_active)
{
    if (meters.is_on)
        prg_metric_add(prg_metric_of(meters.loads, is_active ? "active" : "refused"), 1);
}

void prg_meter_policy_set(const char *ns, const char *before, const char *revision, bool is_refused)
{
    if (!meters.is_on)
        return;
    if (before && !prg_text_equal(before, revision))
        prg_metric_drop(meters.set_info, (const char *const[]){ns, before});
    if (revision)
        prg_metric_set(prg_metric_of(meters.set_info, ns, revision), 1);
    prg_metric_set(prg_metric_of(meters.set_refused, ns), is_refused ? 1 : 0);
}

void prg_meter_policy_set_gone(const char *ns, const char *before)
{
    if (!meters.is_on)
        return;
    if (before)
        prg_metric_drop(meters.set_info, (const char *const[]){ns, before});
    prg_metric_drop(meters.set_refused, (const char *const[]){ns});
}
