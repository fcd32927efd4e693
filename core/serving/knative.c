// SPDX-License-Identifier: Apache-2.0
// knative.c: Knative mode: the Knative Service of the predictor, and what its status means for the service's. Rules:
// Predictor.reconcileKnativeDeployment, KsvcReconciler and InferenceServiceStatus.PropagateStatus of KServe.
#include "serving/render.h"

#define GROUP "serving.knative.dev"
#define SCALING_PREFIX "autoscaling.knative.dev/"

// Annotations that belong to the Service instead of its revisions.
static const char *const service_annotations[] = {"serving.knative.dev/rollout-duration",
                                                  "serving.knative.openshift.io/enablePassthrough"};

// ---- building ----

static void set_number(struct prg_serving *s, cJSON *annotations, const char *key, int64_t value)
{
    prg_render_set_text(s, annotations, key, prg_arena_printf(s->arena, "%lld", (long long)value),
                        PRG_ORIGIN_AUTOSCALER);
}

// Source: SetAutoScalingAnnotations. Only the class can be chosen by annotation; the other values are overwritten.
static void set_scaling(struct prg_serving *s, cJSON *annotations)
{
    int64_t value;
    const cJSON *metric = prg_render_given(s->predictor, "scaleMetric");
    if (!prg_json_get(annotations, SCALING_PREFIX "class"))
        prg_render_set_text(s, annotations, SCALING_PREFIX "class", "kpa.autoscaling.knative.dev",
                            PRG_ORIGIN_AUTOSCALER);
    if (prg_json_get_int64(s->predictor, "scaleTarget", &value))
        set_number(s, annotations, SCALING_PREFIX "target", value);
    if (prg_json_is_string(metric))
        prg_render_set_text(s, annotations, SCALING_PREFIX "metric", prg_json_text(metric), PRG_ORIGIN_AUTOSCALER);
    set_number(s, annotations, SCALING_PREFIX "min-scale", prg_render_int(s->predictor, "minReplicas", 1));
    value = prg_render_int(s->predictor, "maxReplicas", 0);
    if (value != 0)
        set_number(s, annotations, SCALING_PREFIX "max-scale", value);
}

// Takes the Service's own annotations out of those of the revision.
static cJSON *take_service_annotations(struct prg_serving *s, cJSON *annotations)
{
    cJSON *ret = prg_json_object(s->arena);
    for (size_t i = 0; i < PRG_COUNT(service_annotations); i++) {
        cJSON *value = prg_json_remove(annotations, service_annotations[i]);
        if (value)
            prg_json_set(s->arena, ret, service_annotations[i], value);
    }
    return ret;
}

static cJSON *traffic_target(struct prg_serving *s, bool is_latest, int64_t percent, const char *tag)
{
    cJSON *target = prg_json_object(s->arena);
    prg_json_set_bool(s->arena, target, "latestRevision", is_latest);
    prg_json_set_int(s->arena, target, "percent", percent);
    prg_json_set_string(s->arena, target, "tag", tag);
    return target;
}

// A canary needs an earlier revision that was rolled out in full, as the status said before this run.
static cJSON *traffic(struct prg_serving *s, const cJSON *annotations)
{
    cJSON *targets = prg_json_array(s->arena);
    const cJSON *component = prg_json_at(s->service, "status", "components", "predictor");
    const char *earlier = prg_render_text(component, "latestRolledoutRevision");
    bool is_tagged = prg_text_equal(prg_json_get_text(annotations, "serving.kserve.io/enable-tag-routing"), "true");
    int64_t percent = 100;
    bool is_canary = prg_json_get_int64(s->predictor, "canaryTrafficPercent", &percent);
    if (is_canary && !*earlier) {
        percent = 100;
        prg_plan_trace(s->plan, "canary", NULL, s->predictor_name, "all traffic to the new revision",
                       "no earlier revision was rolled out in full yet");
    }
    prg_json_append(targets, traffic_target(s, true, percent, is_tagged ? "latest" : NULL));
    if (is_canary && *earlier && percent < 100) {
        int64_t others = (int64_t)(UINT64_C(100) - (uint64_t)percent); // wraps, as in Go
        cJSON *rest = traffic_target(s, false, others, "prev");
        prg_json_set_string(s->arena, rest, "revisionName", earlier);
        prg_json_append(targets, rest);
    }
    prg_json_tag(targets, is_canary && *earlier ? PRG_ORIGIN_PREDICTOR : PRG_ORIGIN_RULE);
    return targets;
}

static cJSON *revision_labels(struct prg_serving *s, const cJSON *labels)
{
    cJSON *ret = prg_json_clone(s->arena, labels ? labels : prg_json_object(s->arena));
    const cJSON *key;
    prg_json_each (key, s->config->label_disallowed) {
        const char *name = prg_json_text(key);
        if (name && prg_json_remove(ret, name))
            prg_plan_trace(s->plan, "label", NULL, name, "dropped",
                           "serviceLabelDisallowedList: not passed on to revisions");
    }
    return ret;
}

static cJSON *revision_spec(struct prg_serving *s, cJSON *pod_spec)
{
    static const struct {
        const char *from, *to;
    } copied[] = {{"containerConcurrency", "containerConcurrency"},
                  {"timeout", "timeoutSeconds"},
                  {"timeout", "responseStartTimeoutSeconds"}};
    for (size_t i = 0; i < PRG_COUNT(copied); i++) {
        const cJSON *given = prg_render_given(s->predictor, copied[i].from);
        if (given)
            prg_render_set(s, pod_spec, copied[i].to, prg_json_copy(s->arena, given), PRG_ORIGIN_PREDICTOR);
    }
    return pod_spec;
}

static cJSON *knative_service(struct prg_serving *s, struct prg_workload *w)
{
    struct prg_arena *arena = s->arena;
    set_scaling(s, w->annotations);
    cJSON *own_annotations = take_service_annotations(s, w->annotations);
    cJSON *service = prg_render_object(s, GROUP "/v1", "Service", s->predictor_name, w->labels, own_annotations);
    cJSON *spec = prg_json_object(arena), *template = prg_json_object(arena), *meta = prg_json_object(arena);
    cJSON *labels = revision_labels(s, w->labels);
    if (prg_json_count(labels) > 0)
        prg_json_set(arena, meta, "labels", labels);
    prg_json_set(arena, meta, "annotations", prg_json_clone(arena, w->annotations));
    prg_json_set(arena, template, "metadata", meta);
    prg_json_set(arena, template, "spec", revision_spec(s, w->pod_spec));
    prg_json_set(arena, spec, "template", template);
    prg_json_set(arena, spec, "traffic", traffic(s, w->annotations));
    prg_json_set(arena, service, "spec", spec);
    return service;
}

// ---- placing ----

// Knative's webhook writes enableServiceLinks: false into the template; that is no difference.
static void keep_stored_fields(struct prg_serving *s, cJSON *service, const cJSON *stored)
{
    cJSON *spec = prg_json_at(service, "spec", "template", "spec");
    const cJSON *links = prg_json_get(prg_json_at(stored, "spec", "template", "spec"), "enableServiceLinks");
    if (!prg_render_given(spec, "enableServiceLinks") && links && prg_json_is_bool(links) && !prg_json_is_true(links))
        prg_render_set(s, spec, "enableServiceLinks", prg_json_bool(s->arena, false), PRG_ORIGIN_STORED);
}

static void place(struct prg_serving *s, cJSON *service, const cJSON *stored, bool stopped)
{
    if (stopped) {
        if (stored)
            prg_render_delete(s, stored, PRG_REASON_STOPPED);
        return;
    }
    if (stored)
        keep_stored_fields(s, service, stored);
    prg_plan_add_object(s->plan, service);
}

// ---- status ----

// Percent of all traffic that goes to revision, under whatever tag.
static int64_t traffic_of(const cJSON *targets, const char *revision)
{
    const cJSON *target;
    int64_t sum = 0;
    prg_json_each (target, targets) {
        if (prg_text_equal(prg_render_text(target, "revisionName"), revision))
            sum = prg_saturated_add(sum, prg_render_int(target, "percent", 0));
    }
    return sum;
}

static void set_or_drop(struct prg_serving *s, cJSON *object, const char *key, const char *text)
{
    if (*text)
        prg_json_set_string(s->arena, object, key, text);
    else
        prg_json_remove(object, key);
}

// Keeps track of the revision that last had all traffic, and of the one before it to go back to.
static void track_rollout(struct prg_serving *s, cJSON *component, const cJSON *status)
{
    const char *ready = prg_render_text(status, "latestReadyRevisionName"),
               *created = prg_render_text(status, "latestCreatedRevisionName");
    const cJSON *targets = prg_json_get(status, "traffic"), *target;
    prg_json_each (target, targets) {
        int64_t percent;
        if (!prg_text_equal(prg_render_text(target, "revisionName"), ready) ||
            !prg_json_get_true(target, "latestRevision") || !prg_json_get_int64(target, "percent", &percent))
            continue;
        const char *rolled_out = prg_render_text(component, "latestRolledoutRevision");
        const char *previous = prg_render_text(component, "previousRolledoutRevision");
        if (!prg_text_equal(rolled_out, ready)) {
            if (percent != 100)
                continue;
            set_or_drop(s, component, "previousRolledoutRevision", prg_arena_strdup(s->arena, rolled_out));
            set_or_drop(s, component, "latestRolledoutRevision", ready);
        } else if (prg_text_equal(ready, created) && percent < 100 && traffic_of(targets, ready) == 100 && *previous) {
            // All traffic is split over one revision: it was rolled back.
            set_or_drop(s, component, "latestRolledoutRevision", prg_arena_strdup(s->arena, previous));
        }
    }
}

static void propagate_condition(struct prg_serving *s, const cJSON *status, const char *from, const char *to)
{
    const cJSON *condition = prg_condition_of(status, from);
    if (condition)
        prg_status_condition(s, to, prg_render_text(condition, "status"), prg_render_text(condition, "reason"),
                             prg_render_text(condition, "message"), NULL);
}

static void copy_member(struct prg_serving *s, cJSON *to, const cJSON *from, const char *key)
{
    const cJSON *value = prg_render_given(from, key);
    if (value)
        prg_json_set(s->arena, to, key, prg_json_copy(s->arena, value));
}

// status: of the stored Knative Service; NULL: there is none yet.
static void propagate(struct prg_serving *s, const cJSON *status)
{
    cJSON *component = prg_status_component(s);
    set_or_drop(s, component, "latestCreatedRevision", prg_render_text(status, "latestCreatedRevisionName"));
    track_rollout(s, component, status);
    set_or_drop(s, component, "latestReadyRevision", prg_render_text(status, "latestReadyRevisionName"));
    if (prg_text_equal(prg_render_text(prg_condition_of(status, "Ready"), "status"), "True")) {
        copy_member(s, component, status, "address");
        copy_member(s, component, status, "url");
    }
    prg_json_remove(component, "traffic");
    if (prg_json_count(prg_json_get(status, "traffic")) > 0)
        copy_member(s, component, status, "traffic");
    propagate_condition(s, status, "Ready", "PredictorReady");
    propagate_condition(s, status, "RoutesReady", "PredictorRouteReady");
    propagate_condition(s, status, "ConfigurationsReady", "PredictorConfigurationReady");
    prg_json_remove(prg_status_ensure(s), "observedGeneration");
    int64_t generation = prg_render_int(status, "observedGeneration", 0);
    if (generation != 0)
        prg_json_set_int(s->arena, prg_status_ensure(s), "observedGeneration", generation);
}

int prg_serving_knative(struct prg_serving *s, struct prg_workload *w, struct prg_error *err)
{
    if (prg_render_check_config(s, err) != PRG_OK)
        return (int)err->code;
    cJSON *service = knative_service(s, w);
    // An unsuitable storage container is an error; what goes wrong later is told, but stops nothing in this mode.
    if (prg_serving_storage_uris(s, w->pod_spec, w->annotations, err) != PRG_OK)
        return (int)err->code;
    const cJSON *stored = prg_render_stored(s, GROUP, "Service", s->predictor_name);
    place(s, service, stored, prg_render_is_stopped(w->annotations));
    if (!s->stopped)
        propagate(s, prg_json_get(stored, "status"));
    return PRG_OK;
}
