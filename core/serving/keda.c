// SPDX-License-Identifier: Apache-2.0
// keda.c: the ScaledObject of autoscaler class keda: triggers from the predictor's metrics, stabilization windows from
// the service or the configuration. Rules: KedaReconciler of KServe.
#include <errno.h>
#include <stdlib.h>

#include "serving/render.h"

// ---- triggers ----

// Texts for KEDA keep the quantity as its author wrote it.
static const char *quantity_text(struct prg_serving *s, const cJSON *node)
{
    int64_t value;
    if (prg_json_is_string(node) && prg_json_text_length(node) > 0)
        return prg_json_text(node);
    if (prg_json_int64(node, &value))
        return prg_arena_printf(s->arena, "%lld", (long long)value);
    return prg_json_is_number(node) ? prg_json_number_text(node) : "0";
}

// A trigger with empty metadata.
static cJSON *new_trigger(struct prg_serving *s, const char *type, cJSON **ret_metadata)
{
    cJSON *trigger = prg_json_object(s->arena);
    prg_json_set_string(s->arena, trigger, "type", type);
    *ret_metadata = prg_json_ensure_object(s->arena, trigger, "metadata");
    return trigger;
}

static cJSON *resource_trigger(struct prg_serving *s, const cJSON *resource)
{
    const cJSON *target = prg_json_get(resource, "target");
    const char *type = prg_render_text(target, "type"), *name = prg_render_text(resource, "name"), *value = "0";
    cJSON *metadata = NULL, *trigger = new_trigger(s, name, &metadata);
    int64_t percent;
    if (prg_text_equal(type, "Utilization")) {
        if (prg_json_get_int64(target, "averageUtilization", &percent))
            value = prg_arena_printf(s->arena, "%lld", (long long)percent);
        else if (prg_text_equal(name, "cpu"))
            value = "80";
    } else if (prg_text_equal(type, "AverageValue")) {
        value = quantity_text(s, prg_json_get(target, "averageValue"));
    } else if (prg_text_equal(type, "Value")) {
        value = quantity_text(s, prg_json_get(target, "value"));
    }
    prg_json_set_string(s->arena, metadata, "value", value);
    if (*type)
        prg_json_set_string(s->arena, trigger, "metricType", type);
    return trigger;
}

static cJSON *external_trigger(struct prg_serving *s, const cJSON *external)
{
    const cJSON *metric = prg_json_get(external, "metric"),
                *authentication = prg_json_get(external, "authenticationRef");
    const char *backend = prg_render_text(metric, "backend"), *ns = prg_render_text(metric, "namespace");
    const char *modes = prg_render_text(authentication, "authModes");
    const char *reference = prg_render_text(prg_json_get(authentication, "authenticationRef"), "name");
    cJSON *metadata = NULL, *trigger = new_trigger(s, backend, &metadata);
    prg_json_set_string(s->arena, metadata, "serverAddress", prg_render_text(metric, "serverAddress"));
    prg_json_set_string(s->arena, metadata, "query", prg_render_text(metric, "query"));
    prg_json_set_string(s->arena, metadata, "threshold", quantity_text(s, prg_json_at(external, "target", "value")));
    if (prg_text_equal(backend, "prometheus") && *ns)
        prg_json_set_string(s->arena, metadata, "namespace", ns);
    if (*modes)
        prg_json_set_string(s->arena, metadata, "authModes", modes);
    if (*reference)
        prg_json_set_string(s->arena, prg_json_ensure_object(s->arena, trigger, "authenticationRef"), "name",
                            reference);
    return trigger;
}

// The query is narrowed to this Deployment, so that services do not scale on each other's load. Back ends other than
// OpenTelemetry are not known and give an empty trigger.
static int pod_trigger(struct prg_serving *s, const cJSON *pod_metric, cJSON **ret, struct prg_error *err)
{
    const cJSON *metric = prg_json_get(pod_metric, "metric"), *section = NULL;
    const char *scaler = prg_render_text(metric, "serverAddress"),
               *operation = prg_render_text(metric, "operationOverTime");
    const char *configured = "";
    if (prg_render_section(s, "opentelemetryCollector", "otel", &section, err) != PRG_OK ||
        prg_render_config_text(section, "otel", "metricScalerEndpoint", &configured, err) != PRG_OK)
        return (int)err->code;
    bool is_otel = prg_text_equal(prg_render_text(metric, "backend"), "opentelemetry");
    cJSON *metadata = NULL, *trigger = new_trigger(s, is_otel ? "external" : "", &metadata);
    *ret = trigger;
    if (!is_otel)
        return PRG_OK;
    prg_json_set_string(s->arena, metadata, "metricQuery",
                        prg_arena_printf(s->arena, "sum(%s{namespace=\"%s\", deployment=\"%s\"})",
                                         prg_render_text(metric, "query"), s->ns, s->predictor_name));
    prg_json_set_string(s->arena, metadata, "targetValue",
                        quantity_text(s, prg_json_at(pod_metric, "target", "value")));
    prg_json_set_string(s->arena, metadata, "scalerAddress", *scaler ? scaler : configured);
    if (*operation)
        prg_json_set_string(s->arena, metadata, "operationOverTime", operation);
    return PRG_OK;
}

static int add_trigger(struct prg_serving *s, const cJSON *metric, size_t index, cJSON *triggers, struct prg_error *err)
{
    const char *type = prg_render_text(metric, "type");
    const cJSON *part = NULL;
    cJSON *trigger = NULL;
    if (prg_text_equal(type, "Resource")) {
        if (prg_metric_part(metric, index, "resource", &part, err) != PRG_OK)
            return (int)err->code;
        trigger = resource_trigger(s, part);
    } else if (prg_text_equal(type, "External")) {
        if (prg_metric_part(metric, index, "external", &part, err) != PRG_OK)
            return (int)err->code;
        trigger = external_trigger(s, part);
    } else if (prg_text_equal(type, "PodMetric")) {
        if (prg_metric_part(metric, index, "podmetric", &part, err) != PRG_OK ||
            pod_trigger(s, part, &trigger, err) != PRG_OK)
            return (int)err->code;
    }
    if (trigger)
        prg_json_append(triggers, trigger);
    return PRG_OK;
}

// ---- stabilization windows ----

// Seconds as a text of the configuration; anything but a 32-bit number is passed over, as in the original.
static bool parse_seconds(const char *text, int64_t *ret)
{
    char *end = NULL;
    if (*text == '\0' || *text == ' ' || (*text >= '\t' && *text <= '\r'))
        return false;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || value < INT32_MIN || value > INT32_MAX)
        return false;
    *ret = value;
    return true;
}

// The service's value, else the configuration's. The configuration is read only when it is needed.
static int set_windows(struct prg_serving *s, const cJSON *scaling, cJSON *spec, struct prg_error *err)
{
    static const struct {
        const char *rule, *option;
    } sides[] = {{"scaleDown", "scaleDownStabilizationWindowSeconds"},
                 {"scaleUp", "scaleUpStabilizationWindowSeconds"}};
    const cJSON *behavior = prg_json_get(scaling, "behavior"), *section = NULL;
    cJSON *rules = prg_json_object(s->arena);
    for (size_t i = 0; i < PRG_COUNT(sides); i++) {
        const char *text = "";
        int64_t seconds;
        enum prg_origin origin = PRG_ORIGIN_PREDICTOR;
        if (!prg_json_get_int64(prg_json_get(behavior, sides[i].rule), "stabilizationWindowSeconds", &seconds)) {
            if (prg_render_section(s, "autoscaler", "autoscaler", &section, err) != PRG_OK ||
                prg_render_config_text(section, "autoscaler", sides[i].option, &text, err) != PRG_OK)
                return (int)err->code;
            if (!parse_seconds(text, &seconds))
                continue;
            origin = PRG_ORIGIN_CONFIG;
        }
        cJSON *rule = prg_json_object(s->arena);
        prg_json_set_int(s->arena, rule, "stabilizationWindowSeconds", seconds);
        prg_render_set(s, rules, sides[i].rule, rule, origin);
    }
    if (prg_json_count(rules) > 0) {
        cJSON *advanced = prg_json_ensure_object(s->arena, spec, "advanced");
        cJSON *config = prg_json_ensure_object(s->arena, advanced, "horizontalPodAutoscalerConfig");
        prg_json_set(s->arena, config, "behavior", rules);
    }
    return PRG_OK;
}

int prg_render_scaled_object(struct prg_serving *s, const struct prg_workload *w, cJSON **ret, struct prg_error *err)
{
    struct prg_arena *arena = s->arena;
    // Unlike an HPA, KEDA scales to zero.
    int64_t min = prg_render_int(s->predictor, "minReplicas", 1), max = prg_render_int(s->predictor, "maxReplicas", 0);
    const cJSON *scaling = prg_json_get(s->predictor, "autoScaling"), *metric;
    cJSON *object =
        prg_render_object(s, "keda.sh/v1alpha1", "ScaledObject", s->predictor_name, w->labels, w->annotations);
    cJSON *spec = prg_json_object(arena), *triggers = prg_json_array(arena);
    prg_json_set_string(arena, prg_json_ensure_object(arena, spec, "scaleTargetRef"), "name", s->predictor_name);
    prg_json_set_int(arena, spec, "minReplicaCount", min);
    prg_json_set_int(arena, spec, "maxReplicaCount", max < min ? min : max);
    prg_json_tag(spec, PRG_ORIGIN_AUTOSCALER);
    if (set_windows(s, scaling, spec, err) != PRG_OK)
        return (int)err->code;
    size_t index = 0;
    prg_json_each (metric, prg_json_get(scaling, "metrics")) {
        if (add_trigger(s, metric, index++, triggers, err) != PRG_OK)
            return (int)err->code;
    }
    prg_render_set(s, spec, "triggers", triggers, PRG_ORIGIN_AUTOSCALER);
    prg_json_set(arena, object, "spec", spec);
    *ret = object;
    return PRG_OK;
}
