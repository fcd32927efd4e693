// SPDX-License-Identifier: Apache-2.0
// process.c: starting, turning and stopping what the controller consists of.
#include "controller/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/meters.h"
#include "controller/learning_part.h"
#include "record/record.h"

#define TURN_MS 20         // of planning services, then the event loop is gone through
#define SIGNAL_ECHO_MS 500 // one who ends a process group may reach us twice

struct part {
    struct prg_part part;
    void *ctx;
};

uint64_t prg_process_now_ms(void)
{
    return (uint64_t)(prg_clock_monotonic_ns() / 1000000);
}

void prg_process_log_error(const char *message, const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    prg_log(PRG_LOG_ERROR, message, "error", prg_error_text(err, text, sizeof(text)), NULL);
}

void prg_process_count(const char *controller, const struct prg_reconcile_report *report)
{
    bool is_overtaken = prg_reconcile_is_overtaken(report);
    bool has_failed = (report->error && !is_overtaken) || (report->plan && report->plan->error);
    bool comes_again = is_overtaken || (report->plan && report->plan->requeue_after_ms > 0);
    prg_meter_reconcile(controller, has_failed ? "error" : comes_again ? "requeue_after" : "success");
}

// ---- parts ----

void prg_process_add(struct prg_process *p, const struct prg_part *part, void *ctx)
{
    struct part *added = prg_xcalloc(1, sizeof(*added));
    *added = (struct part){*part, ctx};
    prg_vec_push(&p->parts, added);
}

#define each_part(part, p)                                                                                             \
    for (size_t part##_index = 0; part##_index < (p)->parts.count && ((part) = (p)->parts.items[part##_index], true);  \
         part##_index++)

static void wake(void *ctx)
{
    prg_process_wake(ctx);
}

static void serving_work(bool is_working, void *ctx)
{
    prg_serving_loop_pause(ctx, !is_working);
    if (is_working)
        prg_serving_loop_enqueue_all(ctx, prg_process_now_ms());
}

static void serving_changed(const struct prg_key *key, uint64_t now_ms, void *ctx)
{
    prg_serving_loop_changed(ctx, key, now_ms);
}

static void serving_replan(const char *ns, uint64_t now_ms, void *ctx)
{
    struct prg_key key = {"", "Namespace", "", ns};
    if (ns)
        prg_serving_loop_changed(ctx, &key, now_ms);
    else
        prg_serving_loop_enqueue_all(ctx, now_ms);
}

static void serving_run(uint64_t now_ms, int64_t wall_ns, void *ctx)
{
    prg_serving_loop_run(ctx, now_ms, wall_ns);
}

static int64_t serving_next_ms(uint64_t now_ms, void *ctx)
{
    return prg_serving_loop_next_ms(ctx, now_ms);
}

static size_t serving_open(void *ctx)
{
    return prg_serving_loop_open(ctx);
}

static void serving_free(void *ctx)
{
    prg_serving_loop_free(ctx);
}

static void on_reconciled(const struct prg_reconcile_report *report, void *ctx)
{
    const struct prg_process *p = ctx;
    prg_process_count("inferenceservice", report);
    if (p->options->report)
        p->options->report(report, p->options->ctx);
}

static void on_unchanged(const struct prg_key *key, void *ctx)
{
    (void)key;
    (void)ctx;
    prg_meter_reconcile("inferenceservice", "success");
}

// Signals, health and changes are looked at between two turns.
static bool is_late(void *ctx)
{
    const struct prg_process *p = ctx;
    return prg_process_now_ms() - p->turn_ms >= TURN_MS;
}

static void add_serving(struct prg_process *p)
{
    static const struct prg_part part = {
        .name = "serving",
        .work = serving_work,
        .changed = serving_changed,
        .replan = serving_replan,
        .run = serving_run,
        .next_ms = serving_next_ms,
        .open = serving_open,
        .free = serving_free,
    };
    bool has_all_day = p->options->once; // there is nothing else to do
    struct prg_serving_loop_options options = {
        .workers = p->options->workers, .report = on_reconciled, .unchanged = on_unchanged, .wake = wake, .ctx = p};
    if (!has_all_day)
        options.is_late = is_late;
    p->serving = prg_serving_loop_new(p->store, p->planner, &options);
    prg_serving_loop_pause(p->serving, true);
    prg_process_add(p, &part, p->serving);
}

// Every part of the process is made here, but for those of a driver. They are started and given turns in this order,
// stopped and freed in the other.
static void add_parts(struct prg_process *p)
{
    if (!p->options->has_no_serving)
        add_serving(p);
    prg_process_add_learning(p);
}

// ---- turns ----

static void arm(struct prg_process *p);

void prg_process_turn(struct prg_process *p)
{
    struct part *part;
    uint64_t now = p->turn_ms = prg_process_now_ms();
    int64_t wall_ns = prg_clock_wall_ns();
    each_part(part, p) if (part->part.run) part->part.run(now, wall_ns, part->ctx);
    if (p->options->after_turn)
        p->options->after_turn(p->options->ctx);
}

static void on_work(uv_timer_t *timer)
{
    struct prg_process *p = timer->data;
    prg_process_turn(p);
    arm(p);
}

static void arm(struct prg_process *p)
{
    struct part *part;
    int64_t soonest = -1;
    uint64_t now = prg_process_now_ms();
    if (!p->is_started || p->is_closed)
        return;
    each_part(part, p)
    {
        int64_t next = part->part.next_ms ? part->part.next_ms(now, part->ctx) : -1;
        if (next >= 0 && (soonest < 0 || next < soonest))
            soonest = next;
    }
    if (soonest < 0)
        uv_timer_stop(&p->work);
    else
        uv_timer_start(&p->work, on_work, (uint64_t)soonest, 0);
}

void prg_process_wake(struct prg_process *p)
{
    arm(p);
}

void prg_process_changed(struct prg_process *p, const struct prg_key *key)
{
    struct part *part;
    uint64_t now = prg_process_now_ms();
    if (!p->store)
        return;
    prg_policy_life_changed(p->policies, key);
    each_part(part, p) if (part->part.changed) part->part.changed(key, now, part->ctx);
    arm(p);
}

void prg_process_replan(struct prg_process *p, const char *ns)
{
    struct part *part;
    uint64_t now = prg_process_now_ms();
    each_part(part, p) if (part->part.replan) part->part.replan(ns, now, part->ctx);
    arm(p);
}

static void on_policies(const char *ns, void *ctx)
{
    prg_process_replan(ctx, ns);
}

void prg_process_work(struct prg_process *p, bool is_working)
{
    struct part *part;
    if (p->is_working == is_working)
        return;
    p->is_working = is_working;
    each_part(part, p) if (part->part.work) part->part.work(is_working, part->ctx);
    arm(p);
}

size_t prg_process_open_count(const struct prg_process *p)
{
    const struct part *part;
    size_t count = 0;
    each_part(part, p) count += part->part.open ? part->part.open(part->ctx) : 0;
    return count;
}

// ---- life ----

static bool is_ready(char *why, size_t size, void *ctx)
{
    const struct prg_process *p = ctx;
    if (p->is_read && !p->is_read(why, size, p->ctx))
        return false;
    snprintf(why, size, "the policies are not loaded yet");
    return p->is_started;
}

int prg_process_open(struct prg_process *p, const struct prg_run_options *options, struct prg_error *err)
{
    *p = (struct prg_process){.options = options};
    int rc = uv_loop_init(&p->loop);
    if (rc != 0)
        return prg_fail(err, PRG_IO, "event loop: %s", uv_strerror(rc));
    prg_vec_init(&p->parts);
    uv_timer_init(&p->loop, &p->work);
    uv_signal_init(&p->loop, &p->sigint);
    uv_signal_init(&p->loop, &p->sigterm);
    p->work.data = p->sigint.data = p->sigterm.data = p;
    if (!options->once)
        rc = prg_operations_new(&p->loop, options, is_ready, p, &p->operations, err);
    if (rc != PRG_OK)
        prg_process_release(p);
    return rc;
}

// The controller goes on without.
static void on_record_problem(const struct prg_error *err, void *ctx)
{
    (void)ctx;
    prg_process_log_error("plans are not recorded any more", err);
}

static int open_record(struct prg_process *p, struct prg_error *err)
{
    const struct prg_run_options *options = p->options;
    struct prg_record_options record = {.path = options->record,
                                        .has_versions = options->folder == NULL,
                                        .limits = options->limits,
                                        .problem = on_record_problem};
    if (!options->record)
        return PRG_OK;
    if (prg_record_open(&record, &p->record, err) != PRG_OK)
        return prg_wrap(err, "--record");
    prg_planner_record(p->planner, p->record);
    prg_log(PRG_LOG_INFO, "recording plans", "file", prg_record_path(p->record), NULL);
    return PRG_OK;
}

static void close_record(struct prg_process *p)
{
    struct prg_error err = {0};
    bool is_broken = p->record && prg_record_is_broken(p->record); // which was told
    if (prg_record_close(p->record, &err) != PRG_OK && !is_broken)
        prg_process_log_error("the recording is not complete", &err);
    p->record = NULL;
}

int prg_process_load(struct prg_process *p, struct prg_store *store, const struct prg_key *self, struct prg_error *err)
{
    const struct prg_run_options *options = p->options;
    struct prg_policy_life_options policies = {.policies = options->policies,
                                               .is_optional = options->has_optional_policies,
                                               .namespace_policies = options->namespace_policies,
                                               .limits = options->limits,
                                               .compat = options->compat,
                                               .store = store,
                                               .self = self};
    int rc = prg_policy_life_new(&policies, &p->policies, err);
    if (rc != PRG_OK)
        return rc;
    p->store = store;
    p->planner = prg_planner_new(prg_policy_life_active(p->policies), options->compat, options->config_namespace);
    prg_policy_life_bind(p->policies, p->planner);
    prg_planner_load_config(p->planner, &store->reader);
    rc = open_record(p, err);
    if (rc == PRG_OK)
        add_parts(p);
    return rc;
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct prg_process *p = handle->data;
    const char *name = signum == SIGINT ? "SIGINT" : "SIGTERM";
    uint64_t now = prg_process_now_ms();
    if (!p->signalled_ms) {
        p->signalled_ms = now;
        prg_log(PRG_LOG_INFO, "stopping", "signal", name, NULL);
        p->signalled(p->ctx);
    } else if (now - p->signalled_ms > SIGNAL_ECHO_MS) {
        prg_log(PRG_LOG_WARNING, "stopping at once", "signal", name, NULL);
        _Exit(1);
    }
}

void prg_process_listen(struct prg_process *p)
{
    uv_signal_start(&p->sigint, on_signal, SIGINT);
    uv_signal_start(&p->sigterm, on_signal, SIGTERM);
}

void prg_process_start(struct prg_process *p)
{
    struct part *part;
    p->is_started = true;
    prg_policy_life_start(p->policies, &p->loop, on_policies, p);
    each_part(part, p) if (part->part.start) part->part.start(&p->loop, part->ctx);
    arm(p);
}

void prg_process_close(struct prg_process *p)
{
    if (p->is_closed)
        return;
    p->is_closed = true;
    for (size_t i = p->parts.count; p->is_started && i > 0; i--) {
        struct part *part = p->parts.items[i - 1];
        if (part->part.stop)
            part->part.stop(part->ctx);
    }
    if (p->is_started)
        prg_policy_life_stop(p->policies);
    prg_operations_close(p->operations);
    uv_close((uv_handle_t *)&p->work, NULL);
    uv_close((uv_handle_t *)&p->sigint, NULL);
    uv_close((uv_handle_t *)&p->sigterm, NULL);
}

void prg_process_free_parts(struct prg_process *p)
{
    uv_run(&p->loop, UV_RUN_NOWAIT); // their handles close
    for (size_t i = p->parts.count; i > 0; i--) {
        struct part *part = p->parts.items[i - 1];
        if (part->part.free)
            part->part.free(part->ctx);
        free(part);
    }
    p->parts.count = 0;
    p->serving = NULL;
}

void prg_process_release(struct prg_process *p)
{
    prg_process_close(p);
    prg_process_free_parts(p);
    uv_run(&p->loop, UV_RUN_DEFAULT);
    prg_operations_free(p->operations);
    prg_vec_release(&p->parts);
    prg_planner_free(p->planner);
    close_record(p);
    prg_policy_life_free(p->policies);
    prg_require(uv_loop_close(&p->loop) == 0);
}
