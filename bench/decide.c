// SPDX-License-Identifier: Apache-2.0
// decide.c: merge, runtime selection, whole plans and reconciles that change nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "controller/serving_loop.h"
#include "object/meta.h"
#include "policy/set.h"
#include "serving/podspec.h"
#include "serving/runtimes.h"
#include "store/store_mem.h"

static const int64_t now_ns = INT64_C(1780272000) * 1000000000; // 2026-06-01

// ---- merge ----

struct merge {
    struct prg_arena arena, inputs;
    struct prg_merge_options options;
    const cJSON *runtime, *predictor;
    struct prg_merged_specs merged;
};

static void merge_once(void *ctx)
{
    struct merge *m = ctx;
    struct prg_error err = {0};
    prg_arena_reset(&m->arena);
    bench_check(prg_podspec_merge_specs(&m->arena, &m->options, prg_json_get(m->runtime, "containers"),
                                        prg_json_get(m->predictor, "model"), "kserve-container", m->runtime,
                                        m->predictor, &m->merged, &err),
                &err);
}

void bench_merge(void)
{
    struct merge m = {.options = {.compat = &prg_compat_kserve}};
    prg_arena_init(&m.arena);
    prg_arena_init(&m.inputs);
    m.runtime = prg_json_get(bench_read_json(&m.inputs, "runtime.json"), "spec");
    m.predictor = prg_json_at(bench_read_json(&m.inputs, "isvc.json"), "spec", "predictor");
    merge_once(&m);
    cJSON *result = prg_json_object(&m.inputs);
    prg_json_set(&m.inputs, result, "container", prg_json_copy(&m.inputs, m.merged.container));
    prg_json_set(&m.inputs, result, "podSpec", prg_json_copy(&m.inputs, m.merged.pod_spec));
    bench_write_json("merge-perigee.json", result);
    bench_measure("merge", merge_once, &m);
    prg_arena_release(&m.arena);
    prg_arena_release(&m.inputs);
}

// ---- selection ----

// A cluster in memory with one service and count runtimes.
struct cluster {
    struct prg_arena arena; // of what lives as long as the cluster
    struct prg_store *store;
    struct prg_policy_set *policies;
    struct prg_runtimes *runtimes;
    cJSON *services[8]; // the service of isvc.json under other names and with other formats
    size_t turn;

    struct prg_arena plan_arena;
    const char *chosen;
    size_t candidates, accepted;
};

static void put(struct cluster *c, const cJSON *object)
{
    struct prg_error err = {0};
    bench_check(prg_store_mem_put(c->store, object, true, true, &err), &err);
}

// Service i of the cluster: the first is isvc.json as it is.
static cJSON *variant(struct cluster *c, const cJSON *service, size_t i)
{
    static const char *const formats[] = {"huggingface", "sklearn", "xgboost", "lightgbm",
                                          "tensorflow",  "onnx",    "pytorch", "triton"};
    cJSON *copy = prg_json_copy(&c->arena, service);
    if (i == 0)
        return copy;
    cJSON *model = prg_json_at(copy, "spec", "predictor", "model"), *metadata = prg_json_get(copy, "metadata");
    prg_json_set_string(&c->arena, metadata, "name", prg_arena_printf(&c->arena, "llm-%zu", i));
    prg_json_set_string(&c->arena, metadata, "uid", prg_arena_printf(&c->arena, "uid-%zu", i));
    prg_json_set_string(&c->arena, prg_json_get(model, "modelFormat"), "name", formats[i]);
    prg_json_remove(prg_json_get(model, "modelFormat"), "version");
    return copy;
}

static void cluster_init(struct cluster *c, int count, const char *policies)
{
    struct prg_policy_options options = {.folder = policies};
    struct prg_error err = {0};
    const cJSON *runtime;
    char name[64];
    memset(c, 0, sizeof(*c));
    prg_arena_init(&c->arena);
    prg_arena_init(&c->plan_arena);
    c->store = prg_store_mem_new();
    c->runtimes = prg_runtimes_new();
    bench_check(prg_policy_set_load(&options, &c->policies, &err), &err);
    snprintf(name, sizeof(name), "runtimes-%d.json", count);
    prg_json_each (runtime, prg_json_get(bench_read_json(&c->arena, name), "items"))
        put(c, runtime);
    put(c, bench_read_json(&c->arena, "config.json"));
    const cJSON *service = bench_read_json(&c->arena, "isvc.json");
    for (size_t i = 0; i < PRG_COUNT(c->services); i++) {
        c->services[i] = variant(c, service, i);
        put(c, c->services[i]);
    }
}

static void cluster_release(struct cluster *c)
{
    prg_runtimes_free(c->runtimes);
    prg_store_free(c->store);
    prg_policy_set_unref(c->policies);
    prg_arena_release(&c->arena);
    prg_arena_release(&c->plan_arena);
}

// What KServe's GetSupportingRuntimes does: list the runtimes of the namespace and the cluster, keep those that fit,
// put them in order.
static void select_for(struct cluster *c, const cJSON *service)
{
    const struct prg_decider *decide = prg_policy_set_decider(c->policies);
    const struct prg_reader *reader = &c->store->reader;
    struct prg_runtime_request request;
    struct prg_selection selection;
    struct prg_error err = {0};
    struct prg_arena *arena = &c->plan_arena;
    prg_arena_reset(arena);
    struct prg_decision_context context = {
        .arena = arena, .service = service, .config = prg_json_object(arena), .compat = prg_json_object(arena)};
    prg_candidates_request(service, NULL, prg_json_at(service, "spec", "predictor", "model"), &request);
    static const struct prg_runtimes_handler handler = {NULL, NULL};
    struct prg_candidate *candidates;
    size_t count = prg_runtimes_candidates(c->runtimes, reader, prg_meta_namespace(service), &request,
                                           &prg_compat_kserve, arena, &handler, &candidates);
    bench_check(decide->begin(decide->ctx, &context, &err), &err);
    bench_check(decide->select(decide->ctx, &request, candidates, count, &selection, &err), &err);
    decide->end(decide->ctx);
    c->chosen = selection.chosen ? selection.chosen->name : "";
    c->candidates = count;
    c->accepted = selection.count;
}

static void select_same(void *ctx)
{
    struct cluster *c = ctx;
    select_for(c, c->services[0]);
}

static void select_turn(void *ctx)
{
    struct cluster *c = ctx;
    select_for(c, c->services[c->turn++ % PRG_COUNT(c->services)]);
}

// A question that was not asked before: what is kept of questions is forgotten each time, not what is kept of runtimes.
static void select_first(void *ctx)
{
    struct cluster *c = ctx;
    prg_answers_release(&c->policies->answers);
    prg_answers_init(&c->policies->answers);
    prg_runtimes_forget_candidates(c->runtimes);
    select_for(c, c->services[0]);
}

static void select_measures(const char *group, const char *policies, const int *counts, size_t count)
{
    char name[64];
    for (size_t i = 0; i < count; i++) {
        struct cluster c;
        cluster_init(&c, counts[i], policies);
        select_same(&c);
        printf("%s.%d.answer %s:%zu answer\n", group, counts[i], c.chosen, c.accepted);
        snprintf(name, sizeof(name), "%s.%d", group, counts[i]);
        bench_measure(name, select_same, &c);
        snprintf(name, sizeof(name), "%s.turn.%d", group, counts[i]);
        bench_measure(name, select_turn, &c);
        snprintf(name, sizeof(name), "%s.first.%d", group, counts[i]);
        bench_measure(name, select_first, &c);
        cluster_release(&c);
    }
}

void bench_select(void)
{
    static const int counts[] = {15, 100, 1000};
    select_measures("select", NULL, counts, PRG_COUNT(counts));
}

void bench_policy(void)
{
    static const int counts[] = {15, 100};
    select_measures("policy", bench_options.policies, counts, PRG_COUNT(counts));
}

// ---- plans ----

struct planning {
    struct cluster cluster;
    struct prg_planner *planner;
    struct prg_serving_loop *loop;
    struct prg_key key;
    cJSON *namespace_object;
    size_t written;
};

static void plan_once(void *ctx)
{
    struct planning *p = ctx;
    struct prg_error err = {0};
    prg_arena_reset(&p->cluster.plan_arena);
    struct prg_plan *plan = prg_plan_new(&p->cluster.plan_arena);
    bench_check(prg_planner_plan(p->planner, &p->cluster.store->reader, &p->key, now_ns, 1, plan, &err), &err);
    if (plan->error)
        bench_check(prg_fail(&err, PRG_INVALID, "the plan has an error: %s", plan->error), &err);
}

static void on_report(const struct prg_reconcile_report *report, void *ctx)
{
    struct planning *p = ctx;
    if (report->error)
        bench_fail(report->error);
    p->written += report->created + report->updated + report->deleted + report->status_changed;
}

// Nothing changed.
static void reconcile_once(void *ctx)
{
    struct planning *p = ctx;
    prg_serving_loop_changed(p->loop, &p->key, 0);
    while (prg_serving_loop_next_ms(p->loop, 0) == 0)
        prg_serving_loop_run(p->loop, 0, now_ns);
}

// Something that the plan reads changed, to no effect: its namespace.
static void reconcile_anew(void *ctx)
{
    struct planning *p = ctx;
    put(&p->cluster, p->namespace_object);
    reconcile_once(p);
}

static void planning_init(struct planning *p, int runtimes)
{
    memset(p, 0, sizeof(*p));
    cluster_init(&p->cluster, runtimes, NULL);
    p->planner = prg_planner_new(p->cluster.policies, &prg_compat_kserve, "kserve");
    prg_planner_load_config(p->planner, &p->cluster.store->reader);
    const struct prg_serving_loop_options options = {.report = on_report, .ctx = p};
    p->loop = prg_serving_loop_new(p->cluster.store, p->planner, &options);
    const cJSON *service = p->cluster.services[0];
    p->key =
        (struct prg_key){"serving.kserve.io", "InferenceService", prg_meta_namespace(service), prg_meta_name(service)};
    p->namespace_object = prg_json_object(&p->cluster.arena);
    prg_json_set_string(&p->cluster.arena, p->namespace_object, "apiVersion", "v1");
    prg_json_set_string(&p->cluster.arena, p->namespace_object, "kind", "Namespace");
    prg_json_set_string(&p->cluster.arena, prg_json_ensure_object(&p->cluster.arena, p->namespace_object, "metadata"),
                        "name", p->key.ns);
}

static void planning_release(struct planning *p)
{
    prg_serving_loop_free(p->loop);
    prg_planner_free(p->planner);
    cluster_release(&p->cluster);
}

// The runtime that is chosen gets further containers.
static void add_containers(struct planning *p, int count)
{
    struct prg_arena *arena = &p->cluster.arena;
    const struct prg_reader *reader = &p->cluster.store->reader;
    cJSON *runtime = prg_json_copy(
        arena, prg_reader_get(reader, "serving.kserve.io", "ClusterServingRuntime", "", "rt-huggingface-lab"));
    cJSON *containers = prg_json_at(runtime, "spec", "containers");
    for (int i = 1; i < count; i++) {
        cJSON *container = prg_json_copy(arena, containers->child);
        prg_json_set(arena, container, "name", prg_json_stringf(arena, "sidecar-%d", i));
        prg_json_append(containers, container);
    }
    put(&p->cluster, runtime);
}

static void measure_containers(void)
{
    static const int counts[] = {1, 4, 16, 64};
    char name[64];
    for (size_t i = 0; i < PRG_COUNT(counts); i++) {
        struct planning p;
        planning_init(&p, 15);
        add_containers(&p, counts[i]);
        snprintf(name, sizeof(name), "plan.containers.%d", counts[i]);
        bench_measure(name, plan_once, &p);
        planning_release(&p);
    }
}

void bench_plan(void)
{
    static const int counts[] = {15, 100, 1000};
    char name[64];
    for (size_t i = 0; i < PRG_COUNT(counts) && (size_t)counts[i] <= bench_options.most; i++) {
        struct planning p;
        planning_init(&p, counts[i]);
        snprintf(name, sizeof(name), "plan.%d", counts[i]);
        bench_measure(name, plan_once, &p);
        reconcile_once(&p); // makes everything
        reconcile_once(&p); // sees its own status
        reconcile_once(&p);
        size_t before = p.written;
        snprintf(name, sizeof(name), "noop.%d", counts[i]);
        bench_measure(name, reconcile_once, &p);
        snprintf(name, sizeof(name), "noop.planned.%d", counts[i]);
        bench_measure(name, reconcile_anew, &p);
        snprintf(name, sizeof(name), "noop.%d.writes", counts[i]);
        bench_print(name, (double)(p.written - before), "writes");
        planning_release(&p);
    }
    measure_containers();
}
