// SPDX-License-Identifier: Apache-2.0
// autoscale.c: which autoscaler the predictor's Deployment gets, the HorizontalPodAutoscaler itself, and when a stored
// one is taken over, left alone or removed. Rules: AutoscalerReconciler and HPAReconciler of KServe; KEDA's object is
// in keda.c.
#include "serving/render.h"

#include "object/quantity.h"

// ---- metrics ----

static cJSON *resource_metric(struct prg_serving *s, const char *name, cJSON *target)
{
    cJSON *metric = prg_json_object(s->arena), *resource = prg_json_object(s->arena);
    prg_json_set_string(s->arena, metric, "type", "Resource");
    prg_json_set_string(s->arena, resource, "name", name);
    prg_json_set(s->arena, resource, "target", target);
    prg_json_set(s->arena, metric, "resource", resource);
    return metric;
}

static cJSON *utilization_target(struct prg_serving *s, const cJSON *percent, int64_t fallback)
{
    cJSON *target = prg_json_object(s->arena);
    int64_t value = fallback;
    prg_json_set_string(s->arena, target, "type", "Utilization");
    if (prg_json_int64(percent, &value) || fallback > 0)
        prg_json_set_int(s->arena, target, "averageUtilization", value);
    return target;
}

// Memory has no default: what the service does not say stays away.
static int memory_target(struct prg_serving *s, const cJSON *given, cJSON **ret, struct prg_error *err)
{
    const char *type = prg_json_get_text(given, "type");
    if (prg_text_equal(type, "Utilization")) {
        *ret = utilization_target(s, prg_json_get(given, "averageUtilization"), 0);
        return PRG_OK;
    }
    cJSON *target = prg_json_object(s->arena);
    const cJSON *average = prg_render_given(given, "averageValue");
    bool by_value = prg_text_equal(type, "AverageValue");
    prg_json_set_string(s->arena, target, "type", by_value ? "AverageValue" : "");
    if (by_value && average) {
        const char *text = prg_json_is_number(average) ? prg_json_number_text(average) : prg_json_text(average);
        const char *canonical = NULL;
        if (prg_quantity_canonical(s->arena, text ? text : "", &canonical, err) != PRG_OK)
            return prg_wrap(err, "averageValue of the memory metric");
        prg_json_set_string(s->arena, target, "averageValue", canonical);
    }
    *ret = target;
    return PRG_OK;
}

// Metrics other than cpu and memory of the pods are for KEDA only.
static int metrics_of_list(struct prg_serving *s, const cJSON *list, cJSON *metrics, struct prg_error *err)
{
    const cJSON *item;
    prg_json_each (item, list) {
        const cJSON *resource = prg_render_given(item, "resource"), *given = prg_json_get(resource, "target");
        const char *name = prg_json_get_text(resource, "name");
        if (prg_text_equal(name, "cpu")) {
            cJSON *target = utilization_target(s, prg_json_get(given, "averageUtilization"), 80);
            prg_json_append(metrics, resource_metric(s, name, target));
        } else if (prg_text_equal(name, "memory")) {
            cJSON *target = NULL;
            if (memory_target(s, given, &target, err) != PRG_OK)
                return prg_wrap(err, "/spec/predictor/autoScaling/metrics");
            prg_json_append(metrics, resource_metric(s, name, target));
        }
    }
    return PRG_OK;
}

// scaleMetric and scaleTarget of the predictor: cpu at 80 % unless they say otherwise; anything but cpu and memory
// gives an HPA without metrics.
static void metrics_of_scale_target(struct prg_serving *s, cJSON *metrics)
{
    const cJSON *metric = prg_render_given(s->predictor, "scaleMetric");
    const cJSON *percent = prg_render_given(s->predictor, "scaleTarget");
    const char *name = metric ? prg_json_text(metric) : "cpu";
    if (prg_text_equal(name, "cpu"))
        prg_json_append(metrics, resource_metric(s, name, utilization_target(s, percent, 80)));
    else if (prg_text_equal(name, "memory") && percent)
        prg_json_append(metrics, resource_metric(s, name, utilization_target(s, percent, 0)));
}

static int render_hpa(struct prg_serving *s, const struct prg_workload *w, cJSON **ret, struct prg_error *err)
{
    struct prg_arena *arena = s->arena;
    int64_t min = prg_render_int(s->predictor, "minReplicas", 1), max = prg_render_int(s->predictor, "maxReplicas", 0);
    cJSON *hpa =
        prg_render_object(s, "autoscaling/v2", "HorizontalPodAutoscaler", s->predictor_name, w->labels, w->annotations);
    cJSON *spec = prg_json_object(arena), *target = prg_json_object(arena), *metrics = prg_json_array(arena);
    const cJSON *scaling = prg_render_given(s->predictor, "autoScaling");
    if (scaling) {
        if (metrics_of_list(s, prg_json_get(scaling, "metrics"), metrics, err) != PRG_OK)
            return (int)err->code;
    } else {
        metrics_of_scale_target(s, metrics);
    }
    min = min < 1 ? 1 : min; // an HPA cannot scale to zero
    prg_json_set_string(arena, target, "apiVersion", "apps/v1");
    prg_json_set_string(arena, target, "kind", "Deployment");
    prg_json_set_string(arena, target, "name", s->predictor_name);
    prg_json_set(arena, spec, "scaleTargetRef", target);
    prg_json_set_int(arena, spec, "minReplicas", min);
    prg_json_set_int(arena, spec, "maxReplicas", max < min ? min : max);
    if (prg_json_count(metrics) > 0)
        prg_json_set(arena, spec, "metrics", metrics);
    prg_json_set(arena, spec, "behavior", prg_json_object(arena));
    prg_render_set(s, hpa, "spec", spec, PRG_ORIGIN_AUTOSCALER);
    *ret = hpa;
    return PRG_OK;
}

int prg_metric_part(const cJSON *metric, size_t index, const char *key, const cJSON **ret, struct prg_error *err)
{
    const cJSON *part = prg_render_given(metric, key);
    if (!prg_json_is_object(part))
        return prg_fail(err, PRG_INVALID, "/spec/predictor/autoScaling/metrics/%zu: type is %s, but %s is missing",
                        index, prg_json_get_text(metric, "type"), key);
    *ret = part;
    return PRG_OK;
}

int prg_render_scaler(struct prg_serving *s, const struct prg_workload *w, struct prg_scaler *ret,
                      struct prg_error *err)
{
    static const char *const classes[] = {"hpa", "keda", "external", "none"};
    const char *given = prg_json_get_text(w->annotations, PRG_ANNOTATION_SCALER), *class = NULL;
    for (size_t i = 0; i < PRG_COUNT(classes); i++)
        if (prg_text_equal(given ? given : "hpa", classes[i]))
            class = classes[i];
    if (!class)
        return prg_fail(err, PRG_INVALID, "unknown autoscaler class type: %s", given);
    *ret = (struct prg_scaler){.class = class};
    prg_plan_trace(s->plan, "autoscaler", NULL, s->predictor_name, class,
                   given ? "annotation " PRG_ANNOTATION_SCALER : "the default class");
    if (prg_text_equal(class, "keda"))
        return prg_render_scaled_object(s, w, &ret->scaled_object, err);
    return render_hpa(s, w, &ret->hpa, err);
}

// ---- placing: as the original does ----

static bool is_class(const struct prg_scaler *scaler, const char *class)
{
    return prg_text_equal(scaler->class, class);
}

// Any InferenceService will do, controller or not.
static bool is_owned_by_some_service(const cJSON *object)
{
    const cJSON *owner;
    prg_json_each (owner, prg_json_at(object, "metadata", "ownerReferences")) {
        if (prg_text_has_prefix(prg_json_get_text(owner, "apiVersion"), PRG_SERVING_GROUP) &&
            prg_text_equal(prg_json_get_text(owner, "kind"), "InferenceService"))
            return true;
    }
    return false;
}

static bool is_same_hpa(const cJSON *hpa, const cJSON *stored)
{
    return prg_json_equal(prg_json_get(hpa, "spec"), prg_json_get(stored, "spec")) &&
           prg_text_equal(prg_meta_annotation(hpa, PRG_ANNOTATION_SCALER),
                          prg_meta_annotation(stored, PRG_ANNOTATION_SCALER));
}

// The stop annotation is looked for on the stored HPA, and a class without HPA overwrites one that nobody owns.
static void place_hpa_as_original(struct prg_serving *s, struct prg_scaler *scaler)
{
    const cJSON *stored = prg_render_stored(s, "autoscaling", "HorizontalPodAutoscaler", s->predictor_name);
    bool stopped = prg_render_is_stopped(prg_meta_annotations(scaler->hpa)), is_hpa = is_class(scaler, "hpa");
    if (!stored) {
        if (is_hpa && !stopped)
            prg_plan_add_object(s->plan, scaler->hpa);
        return;
    }
    if (is_owned_by_some_service(stored) && (!is_hpa || prg_render_is_stopped(prg_meta_annotations(stored)))) {
        prg_render_delete(s, stored, is_hpa ? PRG_REASON_STOPPED : "the autoscaler class is external or none");
        return;
    }
    if ((is_hpa && !stopped) || !is_same_hpa(scaler->hpa, stored))
        prg_plan_add_object(s->plan, scaler->hpa);
    else
        prg_plan_trace(s->plan, "autoscaler", NULL, s->predictor_name, "left alone",
                       "the HorizontalPodAutoscaler stays as it is stored");
}

static void place_scaled_object_as_original(struct prg_serving *s, struct prg_scaler *scaler)
{
    const cJSON *stored = prg_render_stored(s, "keda.sh", "ScaledObject", s->predictor_name);
    if (!prg_render_is_stopped(prg_meta_annotations(scaler->scaled_object)))
        prg_plan_add_object(s->plan, scaler->scaled_object);
    else if (stored)
        prg_render_delete(s, stored, PRG_REASON_STOPPED);
}

// ---- placing: mended (scaler_cleanup) ----

// What of one kind is stored under the name, against what is wanted of that kind (NULL: nothing). Only what the service
// controls is changed or removed.
static void place_owned(struct prg_serving *s, const char *group, const char *kind, cJSON *wanted)
{
    const cJSON *stored = prg_render_stored(s, group, kind, s->predictor_name);
    bool is_ours = stored && prg_owner_controls(s->service, stored);
    if (wanted && stored && !is_ours) {
        prg_plan_add_event(s->plan, "Warning", "AutoscalerNotOwned",
                           "%s %s exists and does not belong to this service: it is left as it is; rename it or set "
                           "annotation " PRG_ANNOTATION_SCALER " to external",
                           kind, s->predictor_name);
        prg_plan_trace(s->plan, "autoscaler", NULL, kind, "left alone", "it does not belong to this service");
    } else if (wanted) {
        prg_plan_add_object(s->plan, wanted);
    } else if (is_ours) {
        prg_render_delete(s, stored, "made for this service, and neither class nor stop annotation want it now");
    } else if (stored) {
        prg_plan_trace(s->plan, "autoscaler", NULL, kind, "left alone", "it does not belong to this service");
    }
}

void prg_place_scaler(struct prg_serving *s, struct prg_scaler *scaler)
{
    if (!prg_mended(s->compat, PRG_COMPAT_scaler_cleanup)) {
        if (scaler->scaled_object)
            place_scaled_object_as_original(s, scaler);
        else
            place_hpa_as_original(s, scaler);
        return;
    }
    const cJSON *any = scaler->scaled_object ? scaler->scaled_object : scaler->hpa;
    bool stopped = prg_render_is_stopped(prg_meta_annotations(any));
    place_owned(s, "autoscaling", "HorizontalPodAutoscaler", is_class(scaler, "hpa") && !stopped ? scaler->hpa : NULL);
    place_owned(s, "keda.sh", "ScaledObject", stopped ? NULL : scaler->scaled_object);
}
