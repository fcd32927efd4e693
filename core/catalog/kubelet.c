// SPDX-License-Identifier: Apache-2.0
// kubelet.c: playing the outside world for rendered workloads.
#include "catalog/kubelet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define LONGEST_BASE 220 // of a pod's name, before its suffixes
#define MOST_PODS 1000   // of one workload; more would only fill the disk

struct play {
    struct prg_arena *arena;
    const struct prg_key *key;
    const cJSON *object;
    const char *now;
};

// ---- names ----

// Digits that make no words, as in names that Kubernetes generates.
static const char *suffix(struct prg_arena *arena, uint64_t number, size_t length)
{
    static const char digits[] = "bcdfghjklmnpqrstvwxz2456789";
    char *text = prg_arena_zalloc(arena, length + 1);
    for (size_t i = 0; i < length; i++) {
        text[i] = digits[number % (sizeof(digits) - 1)];
        number /= sizeof(digits) - 1;
    }
    return text;
}

static const char *pod_name(const struct play *play, const char *set, uint64_t digest, int64_t index)
{
    uint64_t number = (digest ^ (uint64_t)(index + 1) * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    return prg_arena_printf(play->arena, "%.*s-%s-%s", LONGEST_BASE, play->key->name, set,
                            suffix(play->arena, number >> 20, 5));
}

// ---- conditions ----

// {type, status True} and the rest, keeping the time of transition of an equal one that is there.
static cJSON *add_condition(const struct play *play, cJSON *conditions, const char *type, const char *reason,
                            const char *message)
{
    cJSON *condition = prg_json_object(play->arena);
    const char *since = play->now;
    const cJSON *old;
    prg_json_each (old, prg_json_at(play->object, "status", "conditions"))
        if (prg_text_equal(prg_json_get_text(old, "type"), type) &&
            prg_text_equal(prg_json_get_text(old, "status"), "True") && prg_json_get_text(old, "lastTransitionTime"))
            since = prg_json_get_text(old, "lastTransitionTime");
    prg_json_set_string(play->arena, condition, "type", type);
    prg_json_set_string(play->arena, condition, "status", "True");
    prg_json_set_string(play->arena, condition, "reason", reason);
    prg_json_set_string(play->arena, condition, "message", message);
    prg_json_set_string(play->arena, condition, "lastTransitionTime", since);
    prg_json_append(conditions, condition);
    return condition;
}

// ---- pods ----

static void add_container_statuses(const struct play *play, cJSON *status, const char *member, const cJSON *containers,
                                   bool is_init)
{
    const cJSON *container;
    if (!prg_json_count(containers))
        return;
    cJSON *list = prg_json_ensure_array(play->arena, status, member);
    prg_json_each (container, containers) {
        // An init container that restarts always is a sidecar and goes on running.
        bool is_done = is_init && !prg_text_equal(prg_json_get_text(container, "restartPolicy"), "Always");
        cJSON *entry = prg_json_object(play->arena);
        prg_json_set_string(play->arena, entry, "name", prg_json_get_text(container, "name"));
        prg_json_set_string(play->arena, entry, "image", prg_json_get_text(container, "image"));
        prg_json_set_bool(play->arena, entry, "ready", true);
        prg_json_set_bool(play->arena, entry, "started", !is_done);
        prg_json_set_int(play->arena, entry, "restartCount", 0);
        cJSON *state = prg_json_ensure_object(play->arena, prg_json_ensure_object(play->arena, entry, "state"),
                                              is_done ? "terminated" : "running");
        prg_json_set_string(play->arena, state, "startedAt", play->now);
        if (is_done) {
            prg_json_set_int(play->arena, state, "exitCode", 0);
            prg_json_set_string(play->arena, state, "reason", "Completed");
            prg_json_set_string(play->arena, state, "finishedAt", play->now);
        }
        prg_json_append(list, entry);
    }
}

static cJSON *running_status(const struct play *play, const cJSON *pod_spec)
{
    static const char *const types[] = {"PodScheduled", "Initialized", "ContainersReady", "Ready"};
    cJSON *status = prg_json_object(play->arena);
    prg_json_set_string(play->arena, status, "phase", "Running");
    cJSON *conditions = prg_json_ensure_array(play->arena, status, "conditions");
    for (size_t i = 0; i < PRG_COUNT(types); i++) {
        cJSON *condition = prg_json_object(play->arena);
        prg_json_set_string(play->arena, condition, "type", types[i]);
        prg_json_set_string(play->arena, condition, "status", "True");
        prg_json_set_string(play->arena, condition, "lastTransitionTime", play->now);
        prg_json_append(conditions, condition);
    }
    prg_json_set_string(play->arena, status, "startTime", play->now);
    add_container_statuses(play, status, "initContainerStatuses", prg_json_get(pod_spec, "initContainers"), true);
    add_container_statuses(play, status, "containerStatuses", prg_json_get(pod_spec, "containers"), false);
    return status;
}

static cJSON *make_pod(const struct play *play, const cJSON *template, const char *name)
{
    struct prg_arena *arena = play->arena;
    cJSON *pod = prg_json_object(arena), *meta = prg_json_ensure_object(arena, pod, "metadata");
    const cJSON *annotations = prg_json_at(template, "metadata", "annotations");
    const cJSON *labels = prg_json_at(template, "metadata", "labels");
    prg_json_set_string(arena, pod, "apiVersion", "v1");
    prg_json_set_string(arena, pod, "kind", "Pod");
    prg_json_set_string(arena, meta, "name", name);
    if (*play->key->ns)
        prg_json_set_string(arena, meta, "namespace", play->key->ns);
    if (prg_json_is_object(labels))
        prg_json_set(arena, meta, "labels", prg_json_copy(arena, labels));
    if (prg_json_is_object(annotations))
        prg_json_set(arena, meta, "annotations", prg_json_copy(arena, annotations));
    cJSON *owners = prg_json_ensure_array(arena, meta, "ownerReferences");
    prg_json_append(owners, prg_owner_reference(arena, play->object));
    const cJSON *spec = prg_json_get(template, "spec");
    cJSON *pod_spec = prg_json_is_object(spec) ? prg_json_copy(arena, spec) : prg_json_object(arena);
    prg_json_set(arena, pod, "spec", pod_spec);
    prg_json_set(arena, pod, "status", running_status(play, pod_spec));
    return pod;
}

static void set_label(const struct play *play, cJSON *pod, const char *key, const char *value)
{
    cJSON *meta = prg_json_get(pod, "metadata");
    prg_json_set_string(play->arena, prg_json_ensure_object(play->arena, meta, "labels"), key, value);
}

// ---- Deployment ----

static void play_deployment(const struct play *play, struct prg_kubelet_play *ret)
{
    struct prg_arena *arena = play->arena;
    static const char *const counts[] = {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"};
    const cJSON *spec = prg_json_get(play->object, "spec"), *template = prg_json_get(spec, "template");
    int64_t replicas = 1;
    (void)prg_json_get_int64(spec, "replicas", &replicas);
    uint64_t digest = template ? prg_json_digest(template) : 0;
    const char *hash = suffix(arena, digest, 10);

    ret->status = prg_json_object(arena);
    prg_json_set_int(arena, ret->status, "observedGeneration", prg_meta_generation(play->object));
    for (size_t i = 0; i < PRG_COUNT(counts) && replicas > 0; i++)
        prg_json_set_int(arena, ret->status, counts[i], replicas);
    cJSON *conditions = prg_json_ensure_array(arena, ret->status, "conditions");
    cJSON *available =
        add_condition(play, conditions, "Available", "MinimumReplicasAvailable", "enough pods run for the Deployment");
    cJSON *progressing = add_condition(play, conditions, "Progressing", "NewReplicaSetAvailable",
                                       prg_arena_printf(arena, "pods of %s-%s run", play->key->name, hash));
    prg_json_set_string(arena, available, "lastUpdateTime", play->now);
    prg_json_set_string(arena, progressing, "lastUpdateTime", play->now);

    ret->pods = prg_json_array(arena);
    for (int64_t i = 0; i < replicas && i < MOST_PODS; i++) {
        cJSON *pod = make_pod(play, template, pod_name(play, hash, digest, i));
        set_label(play, pod, "pod-template-hash", hash);
        prg_json_append(ret->pods, pod);
    }
}

// ---- Knative Service ----

// The pods that its autoscaler would keep: annotation min-scale, else one.
static int64_t minimum_scale(const cJSON *template)
{
    static const char *const keys[] = {"autoscaling.knative.dev/min-scale", "autoscaling.knative.dev/minScale"};
    for (size_t i = 0; i < PRG_COUNT(keys); i++) {
        const char *text = prg_json_get_text(prg_json_at(template, "metadata", "annotations"), keys[i]);
        char *end;
        long value = text ? strtol(text, &end, 10) : 0;
        if (text && *text && !*end && value > 0)
            return value;
    }
    return 1;
}

static cJSON *traffic_status(const struct play *play, const char *revision)
{
    struct prg_arena *arena = play->arena;
    cJSON *traffic = prg_json_array(arena);
    const cJSON *given = prg_json_at(play->object, "spec", "traffic"), *target;
    prg_json_each (target, given) {
        cJSON *entry = prg_json_copy(arena, target);
        if (prg_json_is_object(entry) && !prg_json_get(entry, "revisionName"))
            prg_json_set_string(arena, entry, "revisionName", revision);
        prg_json_append(traffic, entry);
    }
    if (!prg_json_count(given)) {
        cJSON *entry = prg_json_object(arena);
        prg_json_set_bool(arena, entry, "latestRevision", true);
        prg_json_set_int(arena, entry, "percent", 100);
        prg_json_set_string(arena, entry, "revisionName", revision);
        prg_json_append(traffic, entry);
    }
    return traffic;
}

static void play_knative(const struct play *play, struct prg_kubelet_play *ret)
{
    struct prg_arena *arena = play->arena;
    static const char *const types[] = {"ConfigurationsReady", "Ready", "RoutesReady"};
    const cJSON *template = prg_json_at(play->object, "spec", "template");
    int64_t generation = prg_meta_generation(play->object), scale = minimum_scale(template);
    const char *revision = prg_json_get_text(prg_json_get(template, "metadata"), "name");
    if (!revision || !*revision)
        revision = prg_arena_printf(arena, "%.*s-%05" PRId64, LONGEST_BASE, play->key->name, generation);

    ret->status = prg_json_object(arena);
    prg_json_set_int(arena, ret->status, "observedGeneration", generation);
    cJSON *conditions = prg_json_ensure_array(arena, ret->status, "conditions");
    for (size_t i = 0; i < PRG_COUNT(types); i++)
        add_condition(play, conditions, types[i], NULL, NULL);
    prg_json_set_string(arena, ret->status, "latestCreatedRevisionName", revision);
    prg_json_set_string(arena, ret->status, "latestReadyRevisionName", revision);
    prg_json_set(arena, ret->status, "url",
                 prg_json_stringf(arena, "http://%s.%s.example.com", play->key->name, play->key->ns));
    prg_json_set(arena, prg_json_ensure_object(arena, ret->status, "address"), "url",
                 prg_json_stringf(arena, "http://%s.%s.svc.cluster.local", play->key->name, play->key->ns));
    prg_json_set(arena, ret->status, "traffic", traffic_status(play, revision));

    uint64_t digest = template ? prg_json_digest(template) : 0;
    const char *hash = suffix(arena, digest ^ (uint64_t)generation, 10);
    ret->pods = prg_json_array(arena);
    for (int64_t i = 0; i < scale && i < MOST_PODS; i++) {
        cJSON *pod = make_pod(play, template, pod_name(play, hash, digest, i));
        set_label(play, pod, "serving.knative.dev/configuration", play->key->name);
        set_label(play, pod, "serving.knative.dev/revision", revision);
        set_label(play, pod, "serving.knative.dev/service", play->key->name);
        prg_json_append(ret->pods, pod);
    }
}

// ---- route ----

static const cJSON *condition_of(const cJSON *object, const char *type)
{
    const cJSON *condition;
    prg_json_each (condition, prg_json_at(object, "status", "conditions"))
        if (prg_text_equal(prg_json_get_text(condition, "type"), type))
            return condition;
    return NULL;
}

// A ready predictor waits for whoever makes routes; a False of somebody stays.
static bool is_route_awaited(const cJSON *service)
{
    const cJSON *predictor = condition_of(service, "PredictorReady"), *ingress = condition_of(service, "IngressReady");
    return prg_text_equal(prg_json_get_text(predictor, "status"), "True") && ingress &&
           prg_text_equal(prg_json_get_text(ingress, "status"), "Unknown");
}

static void play_route(const struct play *play, struct prg_kubelet_play *ret)
{
    cJSON *condition;
    ret->status = prg_json_copy(play->arena, prg_json_get(play->object, "status"));
    prg_json_each (condition, prg_json_get(ret->status, "conditions")) {
        if (!prg_text_equal(prg_json_get_text(condition, "type"), "IngressReady"))
            continue;
        prg_json_set_string(play->arena, condition, "status", "True");
        prg_json_set_string(play->arena, condition, "lastTransitionTime", play->now);
        prg_json_remove(condition, "reason");
        prg_json_remove(condition, "message");
    }
}

// ---- all ----

enum runner { RUNS_NOT, RUNS_DEPLOYMENT, RUNS_KNATIVE, RUNS_POD, RUNS_ROUTE };

bool prg_kubelet_routes(const struct prg_key *key)
{
    return strcmp(key->group, "serving.kserve.io") == 0 && strcmp(key->kind, "InferenceService") == 0;
}

static enum runner runner_of(const struct prg_key *key)
{
    if (strcmp(key->group, "apps") == 0 && strcmp(key->kind, "Deployment") == 0)
        return RUNS_DEPLOYMENT;
    if (strcmp(key->group, "serving.knative.dev") == 0 && strcmp(key->kind, "Service") == 0)
        return RUNS_KNATIVE;
    if (prg_kubelet_routes(key))
        return RUNS_ROUTE;
    return !*key->group && strcmp(key->kind, "Pod") == 0 ? RUNS_POD : RUNS_NOT;
}

bool prg_kubelet_runs(const struct prg_key *key)
{
    return runner_of(key) != RUNS_NOT;
}

static bool is_played(enum runner runner, const cJSON *object)
{
    const cJSON *status = prg_json_get(object, "status");
    int64_t observed = 0;
    if (runner == RUNS_POD)
        return prg_json_get(status, "phase") != NULL;
    if (runner == RUNS_ROUTE)
        return !is_route_awaited(object);
    (void)prg_json_get_int64(status, "observedGeneration", &observed);
    return prg_json_count(status) && observed >= prg_meta_generation(object);
}

void prg_kubelet_play(struct prg_arena *arena, const struct prg_key *key, const cJSON *object, int64_t now_ns,
                      struct prg_kubelet_play *ret)
{
    char now[PRG_CLOCK_TEXT];
    struct play play = {arena, key, object, prg_arena_strdup(arena, prg_clock_format(now_ns, now))};
    enum runner runner = runner_of(key);
    *ret = (struct prg_kubelet_play){0};
    if (runner == RUNS_NOT || is_played(runner, object))
        return;
    if (runner == RUNS_DEPLOYMENT)
        play_deployment(&play, ret);
    else if (runner == RUNS_KNATIVE)
        play_knative(&play, ret);
    else if (runner == RUNS_ROUTE)
        play_route(&play, ret);
    else
        ret->status = running_status(&play, prg_json_get(object, "spec"));
}
