// SPDX-License-Identifier: Apache-2.0
// learning_driver.c: reports from the link to the loop, what is stored from the loop to the link.
#include "controller/learning_driver.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "learning/names.h"

enum { LISTEN_AGAIN_MS = 5000 };

struct pending;

struct prg_learning_driver {
    struct prg_learning_driver_options options;
    struct prg_store *store;
    struct prg_learning_loop *loop;
    struct prg_edge *edge; // or NULL
    struct pending *pending;
    uv_timer_t again; // to listen, while the address is taken
    bool has_timer, is_started, is_listening, is_closing;
    bool is_freed; // but for what waits until the link is closed
    char listen_problem[PRG_ERROR_LINE];
};

static uint64_t now_ms(void)
{
    return (uint64_t)(prg_clock_monotonic_ns() / 1000000);
}

static void wake(struct prg_learning_driver *d)
{
    if (d->options.wake)
        d->options.wake(d->options.wake_ctx);
}

// ---- from the loop to the link ----

static void tell_job(const struct prg_reader *store, const cJSON *job, const cJSON *deployed,
                     enum prg_learning_change change, void *ctx)
{
    prg_edge_tell_job(((struct prg_learning_driver *)ctx)->edge, store, job, deployed, change);
}

static void tell_dataset(const struct prg_reader *store, const cJSON *dataset, enum prg_learning_change change,
                         void *ctx)
{
    prg_edge_tell_dataset(((struct prg_learning_driver *)ctx)->edge, store, dataset, change);
}

static size_t waiting_deletions(const char *ns, const char *name, void *ctx)
{
    return prg_edge_waiting_deletions(((struct prg_learning_driver *)ctx)->edge, PRG_KIND_JOB, ns, name);
}

static void give_up_deletions(const char *ns, const char *name, void *ctx)
{
    prg_edge_give_up_deletions(((struct prg_learning_driver *)ctx)->edge, PRG_KIND_JOB, ns, name);
}

// ---- from the link to the loop ----

struct pending { // a report that the loop has, until it is answered
    struct pending *next, **place;
    struct prg_learning_driver *driver;
    const struct prg_edge_report *report;
};

static void on_answer(enum prg_learning_answer answer, const char *why, void *ctx)
{
    static const enum prg_edge_outcome outcomes[] = {[PRG_LEARNING_STORED] = PRG_EDGE_STORED,
                                                     [PRG_LEARNING_REFUSED] = PRG_EDGE_REFUSED,
                                                     [PRG_LEARNING_RETRY] = PRG_EDGE_RETRY};
    struct pending *pending = ctx;
    struct prg_edge *edge = pending->driver->edge;
    const struct prg_edge_report *report = pending->report;
    *pending->place = pending->next;
    if (pending->next)
        pending->next->place = pending->place;
    free(pending);
    prg_edge_report_finish(edge, report, outcomes[answer], why);
}

static void on_report(const struct prg_edge_report *report, void *ctx)
{
    struct prg_learning_driver *d = ctx;
    if (d->is_freed)
        return;
    struct pending *pending = prg_xcalloc(1, sizeof(*pending));
    struct prg_learning_message message = {
        .node = report->node, .kind = report->kind, .ns = report->ns, .name = report->name, .content = report->content};
    *pending = (struct pending){.next = d->pending, .place = &d->pending, .driver = d, .report = report};
    if (d->pending)
        d->pending->place = &pending->next;
    d->pending = pending;
    prg_learning_loop_report(d->loop, &message, on_answer, pending, now_ms());
    wake(d);
}

static void on_delivered(const char *node, const char *kind, const char *ns, const char *name, bool is_deletion,
                         void *ctx)
{
    struct prg_learning_driver *d = ctx;
    if (d->is_freed || !is_deletion || strcmp(kind, PRG_KIND_JOB) != 0)
        return;
    prg_learning_loop_forgotten(d->loop, node, ns, name, now_ms());
    wake(d);
}

static void on_remark(const char *kind, const char *ns, const char *name, const char *reason, const char *message,
                      void *ctx)
{
    struct prg_learning_driver *d = ctx;
    struct prg_key key = {PRG_SEDNA_GROUP, kind, ns, name};
    struct prg_store_event event = {"Warning", reason, message};
    struct prg_error ignored = {0};
    if (d->store->reader.get(&d->store->reader, &key))
        (void)d->store->ops->record_event(d->store, &key, &event, prg_clock_wall_ns(), &ignored);
}

// ---- life ----

static struct prg_edge *edge_new(struct prg_learning_driver *d, uv_loop_t *loop)
{
    const struct prg_learning_settings *settings = d->options.settings;
    struct prg_edge_options options = {
        .address = settings->edge_address,
        .port = settings->edge_port,
        .nodes = settings->nodes,
        .node_count = settings->node_count,
        .report = on_report,
        .delivered = on_delivered,
        .remark = on_remark,
        .ctx = d,
    };
    return prg_edge_new(loop, &options);
}

struct prg_learning_driver *prg_learning_driver_new(uv_loop_t *loop, struct prg_store *store,
                                                    struct prg_planner *planner,
                                                    const struct prg_learning_driver_options *options)
{
    struct prg_learning_driver *d = prg_xcalloc(1, sizeof(*d));
    struct prg_learning_loop_options loop_options = {
        .workers = options->workers, .report = options->report, .wake = options->wake, .ctx = options->report_ctx};
    d->options = *options;
    d->store = store;
    if (options->settings->lc_server)
        prg_planner_set_lc_server(planner, options->settings->lc_server);
    if (options->settings->has_edge && loop) {
        d->edge = edge_new(d, loop);
        loop_options.edge = (struct prg_learning_edge){tell_job, tell_dataset, waiting_deletions, give_up_deletions, d};
        uv_timer_init(loop, &d->again);
        d->again.data = d;
        d->has_timer = true;
    }
    d->loop = prg_learning_loop_new(store, planner, &loop_options);
    prg_learning_loop_pause(d->loop, true);
    return d;
}

static void on_again(uv_timer_t *timer);

static void listen_for_nodes(struct prg_learning_driver *d)
{
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE], port[8];
    const char *address = d->options.settings->edge_address;
    if (prg_edge_listen(d->edge, &err) == PRG_OK) {
        d->is_listening = true;
        d->listen_problem[0] = '\0';
        snprintf(port, sizeof(port), "%u", (unsigned)prg_edge_port(d->edge));
        prg_log(PRG_LOG_INFO, "listening for edge nodes", "address", address ? address : "127.0.0.1", "port", port,
                NULL);
        return;
    }
    prg_error_text(&err, text, sizeof(text));
    if (strcmp(text, d->listen_problem) != 0)
        prg_log(PRG_LOG_ERROR, "edge nodes cannot be listened to; tried again", "error", text, NULL);
    snprintf(d->listen_problem, sizeof(d->listen_problem), "%s", text);
    uv_timer_start(&d->again, on_again, LISTEN_AGAIN_MS, 0);
}

static void on_again(uv_timer_t *timer)
{
    listen_for_nodes(timer->data);
}

void prg_learning_driver_start(struct prg_learning_driver *driver, uint64_t now)
{
    if (!driver || driver->is_started)
        return;
    driver->is_started = true;
    if (driver->edge) {
        prg_learning_loop_reset(driver->loop);
        prg_edge_forget(driver->edge);
    }
    prg_learning_loop_pause(driver->loop, false);
    prg_learning_loop_enqueue_all(driver->loop, now);
    if (driver->edge && !driver->is_closing)
        listen_for_nodes(driver);
}

static void destroy(struct prg_learning_driver *d);

static void on_edge_closed(void *ctx)
{
    struct prg_learning_driver *d = ctx;
    d->is_closing = false;
    if (d->is_freed)
        destroy(d);
    else if (d->is_started) // it leads again already
        listen_for_nodes(d);
}

void prg_learning_driver_stop(struct prg_learning_driver *driver)
{
    if (!driver)
        return;
    driver->is_started = false;
    prg_learning_loop_pause(driver->loop, true);
    prg_learning_loop_run(driver->loop, now_ms(), prg_clock_wall_ns()); // reports that came in
    if (driver->has_timer)
        uv_timer_stop(&driver->again);
    if (!driver->is_listening)
        return;
    driver->is_listening = false;
    driver->is_closing = true;
    prg_edge_close(driver->edge, on_edge_closed, driver);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void destroy(struct prg_learning_driver *d)
{
    struct pending *next;
    prg_edge_free(d->edge);
    for (struct pending *pending = d->pending; pending; pending = next) {
        next = pending->next;
        free(pending);
    }
    if (d->has_timer)
        uv_close((uv_handle_t *)&d->again, on_timer_closed);
    else
        free(d);
}

void prg_learning_driver_free(struct prg_learning_driver *driver)
{
    if (!driver)
        return;
    prg_learning_driver_stop(driver);
    prg_learning_loop_free(driver->loop);
    driver->loop = NULL;
    driver->is_freed = true;
    if (!driver->is_closing)
        destroy(driver);
}

// ---- the loop's own ----

void prg_learning_driver_enqueue_all(struct prg_learning_driver *driver, uint64_t now)
{
    if (driver)
        prg_learning_loop_enqueue_all(driver->loop, now);
}

void prg_learning_driver_replan(struct prg_learning_driver *driver, const char *ns, uint64_t now)
{
    if (driver)
        prg_learning_loop_replan(driver->loop, ns, now);
}

void prg_learning_driver_changed(struct prg_learning_driver *driver, const struct prg_key *key, uint64_t now)
{
    if (driver)
        prg_learning_loop_changed(driver->loop, key, now);
}

size_t prg_learning_driver_run(struct prg_learning_driver *driver, uint64_t now, int64_t wall_ns)
{
    return driver ? prg_learning_loop_run(driver->loop, now, wall_ns) : 0;
}

int64_t prg_learning_driver_next_ms(const struct prg_learning_driver *driver, uint64_t now)
{
    return driver ? prg_learning_loop_next_ms(driver->loop, now) : -1;
}

size_t prg_learning_driver_open(const struct prg_learning_driver *driver)
{
    return driver ? prg_learning_loop_open(driver->loop) + driver->is_closing : 0;
}

const char *prg_learning_driver_problem(const struct prg_learning_driver *driver)
{
    return driver && driver->is_started && driver->edge && *driver->listen_problem ? driver->listen_problem : NULL;
}

struct prg_edge *prg_learning_driver_edge(const struct prg_learning_driver *driver)
{
    return driver ? driver->edge : NULL;
}
