// SPDX-License-Identifier: Apache-2.0
// run_kube.c: the controller over an API server.
//
//   start   the kinds below are listed and watched; when all were read once, the policies are loaded (they may be
//           ConfigMaps) and the parts are made
//   leading the parts work only while this replica holds the lease; each write asks again (process stopped and woken,
//           lease lost). A replica without it keeps its cache and policies up to date, so that it can take over at once
//   end     nothing is begun any more; what is under way is waited for (at most DRAIN_MS), then the lease is given back
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/meters.h"
#include "controller/learning_ledger.h"
#include "controller/policy_status.h"
#include "controller/process.h"
#include "kube/http.h"
#include "kube/kube_store.h"
#include "kube/lease.h"
#include "learning/names.h"

enum {
    DRAIN_MS = 5000,
    DRAIN_STEP_MS = 20,
    REQUESTS_PER_SECOND = 50,        // a fleet of thousands starts within minutes; the server has limits of its own
    RESYNC_MS = 10 * 60 * 60 * 1000, // everything is planned again, as client-go's informers do
};

#define LEASE_NAME "perigee"
#define OWN_POLICIES "perigee-policies" // the set of a pod that is given none; absent: the shipped policies

struct run {
    struct prg_process process;
    struct prg_kube_config config;
    struct prg_timers *timers;
    struct prg_http *http;
    struct prg_kube_store *store;
    struct prg_lease *lease; // NULL: no election, always leading
    struct prg_timer drain, read, resync;
    uint64_t drain_until_ms;
    char identity[HOST_NAME_MAX + 32];
    const struct prg_key *self; // our own pod, or NULL
    struct prg_key self_key;
    const char *own_ns;             // namespace of our pod, NULL: we run in none
    struct prg_run_options options; // those given, with the policies of a pod
    char policies[sizeof("configmap:/" OWN_POLICIES) + 64];
    bool is_ending;
    struct prg_error err; // why it could not go on
};

// ---- what is watched ----

static const struct prg_kube_watch kinds[] = {
    {.group = "serving.kserve.io",
     .version = "v1beta1",
     .kind = "InferenceService",
     .plural = "inferenceservices",
     .is_namespaced = true},
    {.group = "serving.kserve.io",
     .version = "v1alpha1",
     .kind = "ServingRuntime",
     .plural = "servingruntimes",
     .is_namespaced = true},
    {.group = "serving.kserve.io",
     .version = "v1alpha1",
     .kind = "ClusterServingRuntime",
     .plural = "clusterservingruntimes"},
    {.group = "serving.kserve.io",
     .version = "v1alpha1",
     .kind = "ClusterStorageContainer",
     .plural = "clusterstoragecontainers"},
    {.group = "apps", .version = "v1", .kind = "Deployment", .plural = "deployments", .is_namespaced = true},
    {.group = "autoscaling",
     .version = "v2",
     .kind = "HorizontalPodAutoscaler",
     .plural = "horizontalpodautoscalers",
     .is_namespaced = true},
    {.group = "serving.knative.dev", .version = "v1", .kind = "Service", .plural = "services", .is_namespaced = true},
    {.group = "keda.sh",
     .version = "v1alpha1",
     .kind = "ScaledObject",
     .plural = "scaledobjects",
     .is_namespaced = true},
    {.group = "opentelemetry.io",
     .version = "v1beta1",
     .kind = "OpenTelemetryCollector",
     .plural = "opentelemetrycollectors",
     .is_namespaced = true},
    {.group = "", .version = "v1", .kind = "Service", .plural = "services", .is_namespaced = true},
    {.group = "", .version = "v1", .kind = "Secret", .plural = "secrets", .is_namespaced = true},
    {.group = "", .version = "v1", .kind = "ServiceAccount", .plural = "serviceaccounts", .is_namespaced = true},
    {.group = "", .version = "v1", .kind = "Namespace", .plural = "namespaces", .is_metadata_only = true},
    // Only whether one of a name is there; those whose content counts are watched besides.
    {.group = "",
     .version = "v1",
     .kind = "ConfigMap",
     .plural = "configmaps",
     .is_namespaced = true,
     .is_metadata_only = true},
};

static const struct prg_kube_watch learning_kinds[] = {
    {.group = PRG_SEDNA_GROUP,
     .version = "v1alpha1",
     .kind = PRG_KIND_JOB,
     .plural = "incrementallearningjobs",
     .is_namespaced = true},
    {.group = PRG_SEDNA_GROUP,
     .version = "v1alpha1",
     .kind = PRG_KIND_DATASET,
     .plural = "datasets",
     .is_namespaced = true},
    {.group = PRG_SEDNA_GROUP,
     .version = "v1alpha1",
     .kind = PRG_KIND_MODEL,
     .plural = "models",
     .is_namespaced = true},
};

static void watch_config_map(struct run *run, const char *ns, const char *name, const char *label)
{
    struct prg_kube_watch watch = {.group = "",
                                   .version = "v1",
                                   .kind = "ConfigMap",
                                   .plural = "configmaps",
                                   .is_namespaced = true,
                                   .ns = ns,
                                   .name = name,
                                   .label = label};
    prg_kube_store_watch(run->store, &watch);
}

// Of all pods in a cluster only those that are ours to look at are read.
static void watch_pods(struct run *run, const char *ns, const char *name, const char *label)
{
    static const char *const looked_for[] = {"app", "serving.knative.dev/revision", PRG_LABEL_JOB_NAME, NULL};
    struct prg_kube_watch watch = {.group = "",
                                   .version = "v1",
                                   .kind = "Pod",
                                   .plural = "pods",
                                   .is_namespaced = true,
                                   .ns = ns,
                                   .name = name,
                                   .label = label,
                                   .labels = looked_for,
                                   .prune = prg_prune_pod};
    prg_kube_store_watch(run->store, &watch);
}

static void watch_all(struct run *run)
{
    static const char map[] = "configmap:";
    const struct prg_run_options *options = run->process.options;
    for (size_t i = 0; i < PRG_COUNT(kinds); i++)
        prg_kube_store_watch(run->store, &kinds[i]);
    for (size_t i = 0; options->learning && !options->learning->is_off && i < PRG_COUNT(learning_kinds); i++)
        prg_kube_store_watch(run->store, &learning_kinds[i]);
    watch_pods(run, NULL, NULL, "serving.kserve.io/inferenceservice");
    if (run->self) // what is told about the policies
        watch_pods(run, run->self->ns, run->self->name, NULL);
    if (options->learning && !options->learning->is_off) {
        watch_pods(run, NULL, NULL, PRG_LABEL_JOB_NAME);
        watch_config_map(run, NULL, NULL, PRG_LEDGER_LABEL "=" PRG_LEDGER_VALUE);
    }
    watch_config_map(run, options->config_namespace, "inferenceservice-config", NULL);
    if (options->namespace_policies)
        watch_config_map(run, NULL, NULL, "perigee.dev/policy-scope=namespace");
    if (run->own_ns)
        watch_config_map(run, run->own_ns, PRG_POLICY_STATUS_NAME, NULL);
    if (!options->policies || !prg_text_has_prefix(options->policies, map))
        return;
    prg_auto_arena arena = {0};
    char *ns = prg_arena_strdup(&arena, options->policies + strlen(map)), *slash = strchr(ns, '/');
    if (!slash) // refused later, with words
        return;
    *slash = '\0';
    watch_config_map(run, ns, slash + 1, NULL);
}

static void on_health(const char *path, enum prg_reflector_health health, const struct prg_error *err, void *ctx)
{
    char text[PRG_ERROR_LINE] = "";
    (void)ctx;
    if (err)
        prg_error_text(err, text, sizeof(text));
    if (health == PRG_REFLECTOR_MISSING)
        prg_log(PRG_LOG_INFO, "the server does not have this kind; it is taken up when it is installed", "path", path,
                NULL);
    else if (health == PRG_REFLECTOR_DENIED)
        prg_log(PRG_LOG_ERROR, "not allowed to read", "path", path, "error", text, NULL);
    else if (err)
        prg_log(PRG_LOG_WARNING, "reading is disturbed; going on with what is known", "path", path, "error", text,
                NULL);
    else
        prg_log(PRG_LOG_DEBUG, "reading", "path", path, NULL);
}

// What failed for want of the kind is planned at once.
static void on_installed(const char *path, void *ctx)
{
    struct run *run = ctx;
    prg_log(PRG_LOG_INFO, "the server has this kind now", "path", path, NULL);
    if (run->process.is_started)
        prg_process_replan(&run->process, NULL);
}

// ---- leading ----

static bool may_write(void *ctx)
{
    const struct run *run = ctx;
    return !run->lease || prg_lease_is_leader(run->lease);
}

// Works when the store is read and this replica leads.
static void work_if_ready(struct run *run)
{
    if (run->process.is_started)
        prg_process_work(&run->process, !run->is_ending && may_write(run));
}

static void on_leading(void *ctx)
{
    struct run *run = ctx;
    prg_log(PRG_LOG_INFO, "leading", "identity", run->identity, NULL);
    prg_meter_leader(LEASE_NAME, true);
    work_if_ready(run);
    if (run->process.policies)
        prg_policy_life_retell(run->process.policies);
}

static void on_lost(void *ctx)
{
    struct run *run = ctx;
    prg_meter_leader(LEASE_NAME, false);
    if (!run->is_ending)
        prg_log(PRG_LOG_WARNING, "not leading any more: nothing is written until this replica leads again", NULL);
    work_if_ready(run);
    prg_kube_store_halt(run->store);
}

static void on_observed(const char *identity, void *ctx)
{
    const struct run *run = ctx;
    if (strcmp(identity, run->identity) != 0)
        prg_log(PRG_LOG_INFO, "the lease is held by", "identity", *identity ? identity : "nobody", NULL);
}

static void on_lease_problem(const struct prg_error *err, void *ctx)
{
    (void)ctx;
    prg_process_log_error("the lease cannot be had", err);
}

// Where the replicas meet: the namespace of their own pods, so that leave to write there is all they need.
static const char *lease_namespace(const struct run *run)
{
    return run->own_ns ? run->own_ns : run->process.options->config_namespace;
}

static int elect(struct run *run, struct prg_error *err)
{
    struct prg_lease_options options = {.ns = lease_namespace(run),
                                        .name = LEASE_NAME,
                                        .identity = run->identity,
                                        .seed = prg_map_hash(run->identity, strlen(run->identity))};
    struct prg_lease_handler handler = {on_leading, on_lost, on_observed, on_lease_problem, run};
    if (!run->process.options->elects)
        return PRG_OK;
    prg_meter_leader(LEASE_NAME, false);
    return prg_lease_new(prg_http_transport(run->http), run->timers, &options, &handler, &run->lease, err);
}

// ---- the end ----

static void close_all(struct run *run)
{
    prg_process_close(&run->process);
    uv_stop(&run->process.loop);
}

static void on_released(void *ctx)
{
    close_all(ctx);
}

static void on_drain(void *ctx)
{
    struct run *run = ctx;
    struct prg_kube_store_counts counts;
    prg_kube_store_count(run->store, &counts);
    size_t open = prg_process_open_count(&run->process) + counts.open_writes + counts.events_waiting;
    if (open && prg_timers_now(run->timers) < run->drain_until_ms)
        prg_timer_start(run->timers, &run->drain, DRAIN_STEP_MS, on_drain, run);
    else if (run->lease)
        prg_lease_release(run->lease, on_released, run);
    else
        close_all(run);
}

static void end(struct run *run)
{
    if (run->is_ending)
        return;
    run->is_ending = true;
    work_if_ready(run);
    run->drain_until_ms = prg_timers_now(run->timers) + DRAIN_MS;
    prg_timer_start(run->timers, &run->drain, 0, on_drain, run);
}

static bool is_read(char *why, size_t size, void *ctx)
{
    return prg_kube_store_is_read(((const struct run *)ctx)->store, why, size);
}

static void on_signalled(void *ctx)
{
    end(ctx);
}

// ---- the beginning ----

static void on_changed(const struct prg_key *key, void *ctx)
{
    struct run *run = ctx;
    if (run->process.is_started)
        prg_process_changed(&run->process, key);
}

static void trim(uint64_t now_ms, int64_t wall_ns, void *ctx)
{
    (void)now_ms;
    (void)wall_ns;
    prg_kube_store_trim(ctx);
}

static void wake(void *ctx)
{
    struct run *run = ctx;
    prg_process_wake(&run->process);
}

static void on_resync(void *ctx)
{
    struct run *run = ctx;
    prg_process_replan(&run->process, NULL);
    prg_timer_start(run->timers, &run->resync, RESYNC_MS, on_resync, run);
}

// Out of the reflector's hands: what is begun here may read as it likes.
static void on_read(void *ctx)
{
    struct run *run = ctx;
    struct prg_kube_store_counts counts;
    char objects[24];
    if (run->is_ending)
        return;
    prg_kube_store_count(run->store, &counts);
    snprintf(objects, sizeof(objects), "%zu", counts.objects);
    prg_log(PRG_LOG_INFO, "the cluster has been read", "objects", objects, NULL);
    if (prg_process_load(&run->process, prg_kube_store_base(run->store), run->self, &run->err) != PRG_OK) {
        end(run);
        return;
    }
    prg_process_add(&run->process, &(struct prg_part){.name = "cache", .run = trim}, run->store);
    if (run->own_ns)
        prg_process_add(&run->process, &prg_policy_status_part,
                        prg_policy_status_new(run->own_ns, run->process.policies, run->process.store, wake, run));
    prg_process_start(&run->process);
    prg_timer_start(run->timers, &run->resync, RESYNC_MS, on_resync, run);
    work_if_ready(run);
}

static void on_synced(void *ctx)
{
    struct run *run = ctx;
    prg_timer_start(run->timers, &run->read, 0, on_read, run);
}

// "host_1f3e…": another one for each process.
static void make_identity(struct run *run)
{
    char host[HOST_NAME_MAX + 1] = "perigee";
    uint64_t random = 0;
    (void)gethostname(host, sizeof(host));
    host[sizeof(host) - 1] = '\0';
    if (uv_random(NULL, NULL, &random, sizeof(random), 0, NULL) != 0)
        random = (uint64_t)getpid();
    snprintf(run->identity, sizeof(run->identity), "%s_%016llx", host, (unsigned long long)random);
}

static const char *own_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

// POD_NAME and POD_NAMESPACE, as a Deployment sets them from fieldRefs.
static void find_self(struct run *run)
{
    const char *ns = own_variable("POD_NAMESPACE"), *name = own_variable("POD_NAME");
    if (ns && name)
        run->own_ns = ns;
    else if (prg_kube_is_in_cluster(NULL) && strcmp(run->config.source, "in-cluster") == 0)
        run->own_ns = run->config.ns;
    if (!ns || !name)
        return;
    run->self_key = (struct prg_key){"", "Pod", ns, name};
    run->self = &run->self_key;
}

static void choose_policies(struct run *run)
{
    if (run->options.policies || !run->own_ns)
        return;
    snprintf(run->policies, sizeof(run->policies), "configmap:%s/" OWN_POLICIES, run->own_ns);
    run->options.policies = run->policies;
    run->options.has_optional_policies = true;
}

static int connect_all(struct run *run, struct prg_error *err)
{
    const struct prg_run_options *options = run->process.options;
    struct prg_http_options http = {
        .user_agent = options->user_agent, .rate = REQUESTS_PER_SECOND, .burst = 2 * REQUESTS_PER_SECOND};
    struct prg_kube_store_options store = {
        .namespaces = options->namespaces,
        .namespace_count = options->namespace_count,
        .instance = run->identity,
        .may_write = may_write,
        .changed = on_changed,
        .synced = on_synced,
        .installed = on_installed,
        .health = on_health,
        .ctx = run,
    };
    run->timers = prg_timers_new(&run->process.loop);
    run->http = prg_http_new(&run->process.loop, run->timers, &run->config, &http);
    run->store = prg_kube_store_new(prg_http_transport(run->http), run->timers, &store);
    watch_all(run);
    return elect(run, err);
}

// After the loop has ended, whatever was begun.
static void release(struct run *run)
{
    prg_process_close(&run->process);
    prg_timer_stop(run->timers, &run->read);
    prg_timer_stop(run->timers, &run->drain);
    prg_timer_stop(run->timers, &run->resync);
    prg_process_free_parts(&run->process); // their open writes are the store's
    prg_store_free(prg_kube_store_base(run->store));
    prg_lease_free(run->lease); // until here writes ask it
    prg_http_close(run->http);
    prg_timers_free(run->timers);
    prg_process_release(&run->process);
}

int prg_run_kube(const struct prg_run_options *options, struct prg_error *err)
{
    struct run run = {.options = *options};
    int rc = prg_kube_config_load(&run.config, &options->cluster, NULL, err);
    if (rc != PRG_OK) {
        prg_kube_config_release(&run.config);
        return rc;
    }
    find_self(&run);
    choose_policies(&run);
    rc = prg_process_open(&run.process, &run.options, err);
    if (rc == PRG_OK) {
        make_identity(&run);
        run.process.signalled = on_signalled;
        run.process.is_read = is_read;
        run.process.ctx = &run;
        rc = connect_all(&run, err);
        if (rc == PRG_OK) {
            prg_log(PRG_LOG_INFO, "connecting", "server", run.config.server, "context", run.config.context, NULL);
            prg_process_listen(&run.process);
            prg_kube_store_start(run.store);
            if (run.lease)
                prg_lease_start(run.lease);
            uv_run(&run.process.loop, UV_RUN_DEFAULT);
        }
        release(&run);
        if (rc == PRG_OK && run.err.code != PRG_OK) {
            *err = run.err;
            rc = run.err.code;
        }
    }
    prg_kube_config_release(&run.config);
    return rc;
}
