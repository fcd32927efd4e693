// SPDX-License-Identifier: Apache-2.0
// objects.c: the cache of API objects: cutting and reading watch events, the memory of a fleet, and what one change
// costs in small and large fleets: its time, and where the machine counts them its instructions, which are the same
// whatever the caches of the processor hold.
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "kube/objects.h"
#include "kube/split.h"

static const char *const pod_labels[] = {"serving.kserve.io/inferenceservice", "app", NULL};

static struct prg_object_kind *pods_of(struct prg_objects *objects)
{
    const struct prg_kind_options options = {
        .group = "", .version = "v1", .kind = "Pod", .labels = pod_labels, .prune = prg_prune_pod};
    return prg_objects_kind(objects, &options);
}

// ---- reading ----

struct reading {
    struct prg_objects *objects;
    struct prg_object_kind *kind;
    const char *text;
    size_t length;
    long events;
    bool is_read;
};

static bool take(const char *type, const char *text, size_t length, void *ctx)
{
    struct reading *r = ctx;
    struct prg_object *object;
    struct prg_error err = {0};
    (void)type;
    r->events++;
    if (!r->is_read)
        return true;
    bench_check(prg_object_read(r->kind, text, length, &object, &err), &err);
    prg_object_put(object, 0, NULL, NULL);
    return true;
}

// All events of the file, in pieces as a socket hands them out.
static void replay(void *ctx)
{
    enum { PIECE = 16384 };
    struct reading *r = ctx;
    struct prg_error err = {0};
    struct prg_split_handler handler = {.object = take, .ctx = r};
    struct prg_split *split = prg_split_new(PRG_SPLIT_WATCH, 0, &handler);
    r->events = 0;
    for (size_t at = 0; at < r->length; at += PIECE) {
        size_t length = r->length - at < PIECE ? r->length - at : PIECE;
        bench_check(prg_split_feed(split, r->text + at, length, &err), &err);
    }
    bench_check(prg_split_finish(split, &err), &err);
    prg_split_free(split);
}

void bench_objects(void)
{
    struct reading r = {.objects = prg_objects_new(0)};
    char *text = bench_read("pods.watch.json", &r.length);
    r.text = text;
    r.kind = pods_of(r.objects);
    double split = bench_measure("watch.split", replay, &r);
    bench_print("watch.split.rate", (double)r.events / split * 1e9, "events/s");
    r.is_read = true;
    double applied = bench_measure("watch.apply", replay, &r);
    bench_print("watch.apply.rate", (double)r.events / applied * 1e9, "events/s");
    size_t length;
    (void)prg_object_text(prg_object_find(r.kind, "team-00", "llm-00000-predictor-0000000000-00000"), &length);
    bench_print("watch.kept", (double)length, "bytes/pod");
    prg_objects_free(r.objects);
    free(text);
}

// ---- growth ----

struct fleet {
    struct prg_objects *objects;
    struct prg_object_kind *kind;
    size_t count, turn;
    unsigned version;
};

// more: further members of the metadata, from a comma.
static size_t print_pod(struct fleet *f, size_t i, const char *more, char *text, size_t size)
{
    return (size_t)snprintf(
        text, size,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%06zu\",\"namespace\":\"team-%02zu\","
        "\"uid\":\"uid-%zu\",\"resourceVersion\":\"%u\",\"labels\":{\"app\":\"a-%zu\","
        "\"serving.kserve.io/inferenceservice\":\"llm-%zu\"},\"ownerReferences\":[{\"uid\":\"owner-%zu\"}]%s},"
        "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}",
        i, i % 50, i, ++f->version, i / 3, i / 3, i / 3, more);
}

static struct prg_object *make(struct fleet *f, size_t i)
{
    struct prg_object *object;
    struct prg_error err = {0};
    char text[1024];
    size_t length = print_pod(f, i, "", text, sizeof(text));
    bench_check(prg_object_read(f->kind, text, length, &object, &err), &err);
    return object;
}

// A prime step, so that neighbours in time are none in memory.
static size_t next(struct fleet *f)
{
    f->turn = (f->turn + 7919) % f->count;
    return f->turn;
}

static void update_one(void *ctx)
{
    struct fleet *f = ctx;
    prg_object_put(make(f, next(f)), 0, NULL, NULL);
}

static bool take_change(const char *type, const char *text, size_t length, void *ctx)
{
    struct fleet *f = ctx;
    struct prg_object *object;
    struct prg_error err = {0};
    (void)type;
    bench_check(prg_object_read(f->kind, text, length, &object, &err), &err);
    prg_object_put(object, 0, NULL, NULL);
    return true;
}

// managedFields, which are most of what a server sends of a Pod.
static const char *managed_fields(void)
{
    static char text[7400];
    size_t at = 0;
    if (*text)
        return text;
    at += (size_t)snprintf(text, sizeof(text),
                           ",\"managedFields\":[{\"manager\":\"kubelet\",\"operation\":\"Update\","
                           "\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:a\":{}");
    for (unsigned i = 0; at + 100 < sizeof(text); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               ",\"k:{\\\"type\\\":\\\"C%03u\\\"}\":{\".\":{},\"f:status\":{},\"f:type\":{}}", i);
    snprintf(text + at, sizeof(text) - at, "}}]");
    return text;
}

// The update as it comes: a watch event of 7.7 KB, to be cut out, read and put.
static void take_event(void *ctx)
{
    static const char head[] = "{\"type\":\"MODIFIED\",\"object\":";
    struct fleet *f = ctx;
    struct prg_error err = {0};
    struct prg_split_handler handler = {.object = take_change, .ctx = f};
    struct prg_split *split = prg_split_new(PRG_SPLIT_WATCH, 0, &handler);
    char text[9000];
    size_t at = sizeof(head) - 1;
    memcpy(text, head, at);
    at += print_pod(f, next(f), managed_fields(), text + at, sizeof(text) - at);
    memcpy(text + at, "}\n", 2);
    bench_check(prg_split_feed(split, text, at + 2, &err), &err);
    prg_split_free(split);
}

static void remove_and_add_one(void *ctx)
{
    struct fleet *f = ctx;
    char ns[16], name[32];
    size_t i = next(f);
    snprintf(ns, sizeof(ns), "team-%02zu", i % 50);
    snprintf(name, sizeof(name), "pod-%06zu", i);
    prg_object_drop(f->kind, 0, ns, name, NULL, NULL);
    prg_object_put(make(f, i), 0, NULL, NULL);
}

static void visit(const struct prg_object *object, void *ctx)
{
    *(size_t *)ctx += prg_object_version(object)[0] != '\0';
}

static void look_up(void *ctx)
{
    struct fleet *f = ctx;
    char value[32];
    size_t seen = 0;
    snprintf(value, sizeof(value), "llm-%zu", next(f) / 3);
    prg_object_each_labelled(f->kind, pod_labels[0], value, visit, &seen);
    prg_require(seen > 0);
}

// Prints NAME.instructions, of one call, where there is a counter (virtual machines often have none).
static void count_instructions(const char *name, void (*fn)(void *ctx), void *ctx)
{
    enum { CALLS = 2000 };
    struct perf_event_attr counted = {.type = PERF_TYPE_HARDWARE,
                                      .size = sizeof(counted),
                                      .config = PERF_COUNT_HW_INSTRUCTIONS,
                                      .disabled = 1,
                                      .exclude_kernel = 1,
                                      .exclude_hv = 1};
    char text[128];
    uint64_t count = 0;
    int fd = (int)syscall(SYS_perf_event_open, &counted, 0, -1, -1, 0);
    if (fd < 0)
        return;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    for (int i = 0; i < CALLS; i++)
        fn(ctx);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    snprintf(text, sizeof(text), "%s.instructions", name);
    if (read(fd, &count, sizeof(count)) == sizeof(count) && count)
        bench_print(text, (double)count / CALLS, "instructions/op");
    close(fd);
}

void bench_growth(void)
{
    static const size_t counts[] = {1000, 5000, 10000, 50000};
    static const struct {
        const char *name;
        void (*fn)(void *ctx);
    } works[] = {{"event", take_event}, {"update", update_one}, {"replace", remove_and_add_one}, {"lookup", look_up}};
    char name[64];
    for (size_t i = 0; i < PRG_COUNT(counts); i++) {
        struct fleet f = {.objects = prg_objects_new(0), .count = counts[i]};
        f.kind = pods_of(f.objects);
        if (f.count > bench_options.most)
            f.count = bench_options.most;
        for (size_t n = 0; n < f.count; n++)
            prg_object_put(make(&f, n), 0, NULL, NULL);
        for (size_t w = 0; w < PRG_COUNT(works); w++) {
            snprintf(name, sizeof(name), "growth.%s.%zu", works[w].name, counts[i]);
            bench_measure(name, works[w].fn, &f);
            count_instructions(name, works[w].fn, &f);
        }
        prg_objects_free(f.objects);
    }
}
