// SPDX-License-Identifier: Apache-2.0
// sync.c: a client of the API server at --server (replay.py, or a real one over plain HTTP): lists and watches
// services, Deployments and Pods as the controller does, and tells what that took.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench.h"
#include "kube/http.h"
#include "kube/reflector.h"

struct resource {
    const char *path;
    struct prg_kind_options kind;
};

struct client {
    uv_loop_t loop;
    struct prg_http *http;
    size_t synced, waited;
    long updates;
    int64_t started_ns, first_ns;
    double first_cpu;
};

static void on_change(enum prg_object_change change, const struct prg_object *old, const struct prg_object *object,
                      void *ctx)
{
    struct client *c = ctx;
    (void)old;
    (void)object;
    if (change != PRG_OBJECT_UPDATED || c->synced < c->waited)
        return;
    if (c->updates++ == 0) {
        c->first_ns = prg_clock_monotonic_ns();
        c->first_cpu = bench_cpu_ns();
    }
    if (c->updates == bench_options.events)
        uv_stop(&c->loop);
}

static void on_synced(void *ctx)
{
    struct client *c = ctx;
    if (++c->synced == c->waited)
        uv_stop(&c->loop);
}

static void on_health(enum prg_reflector_health health, const struct prg_error *err, void *ctx)
{
    (void)ctx;
    if (health != PRG_REFLECTOR_OK && err)
        bench_fail(err);
}

static void on_started(const struct prg_response *response, void *ctx)
{
    (void)response; // a real server has no such path, and needs no word
    (void)ctx;
}

// Tells replay.py that its watch events may come now.
static void start_events(struct client *c)
{
    const struct prg_request request = {.method = "GET", .path = "/start", .kind = PRG_CALL_READ};
    const struct prg_call_handler handler = {.done = on_started};
    struct prg_transport *transport = prg_http_transport(c->http);
    transport->start(transport, &request, &handler, c);
}

static void print_synced(const struct client *c, size_t objects)
{
    bench_print("sync.time", (double)(prg_clock_monotonic_ns() - c->started_ns) / 1e6, "ms");
    bench_print("sync.cpu", bench_cpu_ns() / 1e6, "ms");
    bench_print("sync.objects", (double)objects, "objects");
    bench_print("sync.rss", bench_memory("VmRSS") / 1e6, "MB");
    bench_print("sync.rss.peak", bench_memory("VmHWM") / 1e6, "MB");
}

static void print_watched(const struct client *c)
{
    double cpu = bench_cpu_ns() - c->first_cpu, events = (double)bench_options.events;
    bench_print("sync.watch.rate", events / ((double)(prg_clock_monotonic_ns() - c->first_ns) / 1e9), "events/s");
    bench_print("sync.watch.cpu", cpu / 1e6 / events * 1e4, "ms/10k-events");
    bench_print("sync.watch.rss", bench_memory("VmRSS") / 1e6, "MB");
    bench_print("sync.watch.rss.peak", bench_memory("VmHWM") / 1e6, "MB");
}

void bench_sync(void)
{
    static const char *const labels[] = {"serving.kserve.io/inferenceservice", NULL};
    static const struct resource resources[] = {
        {"/apis/serving.kserve.io/v1beta1/inferenceservices",
         {.group = "serving.kserve.io", .version = "v1beta1", .kind = "InferenceService"}},
        {"/apis/apps/v1/deployments", {.group = "apps", .version = "v1", .kind = "Deployment", .labels = labels}},
        {"/api/v1/pods", {.group = "", .version = "v1", .kind = "Pod", .labels = labels, .prune = prg_prune_pod}},
    };
    struct client c = {.waited = PRG_COUNT(resources), .started_ns = prg_clock_monotonic_ns()};
    struct prg_reflector *reflectors[PRG_COUNT(resources)];
    struct prg_object_kind *kinds[PRG_COUNT(resources)];
    struct prg_kube_config config = {.server = bench_options.server, .ns = "default", .source = "--server"};
    struct prg_http_options options = {.rate = -1};
    struct prg_reflector_handler handler = {.changed = on_change, .health = on_health, .synced = on_synced, .ctx = &c};
    struct prg_objects *objects = prg_objects_new(0);
    struct prg_error err = {0};
    size_t count = 0;
    if (!bench_options.server)
        bench_check(prg_fail(&err, PRG_INVALID, "the group sync needs --server URL"), &err);
    uv_loop_init(&c.loop);
    struct prg_timers *timers = prg_timers_new(&c.loop);
    c.http = prg_http_new(&c.loop, timers, &config, &options);
    for (size_t i = 0; i < PRG_COUNT(resources); i++) {
        kinds[i] = prg_objects_kind(objects, &resources[i].kind);
        struct prg_reflector_options of = {.path = resources[i].path, .seed = i};
        reflectors[i] = prg_reflector_new(prg_http_transport(c.http), timers, kinds[i], &of, &handler);
        prg_reflector_start(reflectors[i]);
    }
    uv_run(&c.loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < PRG_COUNT(resources); i++)
        count += prg_object_kind_count(kinds[i]);
    print_synced(&c, count);
    if (bench_options.events) {
        start_events(&c);
        uv_run(&c.loop, UV_RUN_DEFAULT);
        print_watched(&c);
    }
    for (size_t i = 0; i < PRG_COUNT(resources); i++)
        prg_reflector_free(reflectors[i]);
    prg_http_close(c.http);
    uv_run(&c.loop, UV_RUN_DEFAULT);
    prg_timers_free(timers);
    uv_run(&c.loop, UV_RUN_DEFAULT);
    uv_loop_close(&c.loop);
    prg_objects_free(objects);
}
