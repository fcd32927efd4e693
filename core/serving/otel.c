// SPDX-License-Identifier: Apache-2.0
// otel.c: the OpenTelemetry collector that carries the metrics of pods to the autoscaler, as a sidecar. It is made for
// any autoscaler class as soon as a metric names what to collect. Rules: OtelReconciler of KServe.
#include "serving/render.h"

#include "object/quantity.h"

static cJSON *texts(struct prg_serving *s, const char *const *items, size_t count)
{
    cJSON *list = prg_json_array(s->arena);
    for (size_t i = 0; i < count; i++)
        prg_json_append(list, prg_json_string(s->arena, items[i]));
    return list;
}
#define TEXTS(s, ...) texts((s), (const char *const[]){__VA_ARGS__}, PRG_COUNT(((const char *const[]){__VA_ARGS__})))

// Member key of object as a fresh object.
static cJSON *inside(struct prg_serving *s, cJSON *object, const char *key)
{
    return prg_json_ensure_object(s->arena, object, key);
}

// All metric names of OpenTelemetry metrics, in order.
static int metric_names(struct prg_serving *s, cJSON *names, struct prg_error *err)
{
    const cJSON *item, *name, *part = NULL;
    size_t index = 0;
    prg_json_each (item, prg_json_at(s->predictor, "autoScaling", "metrics")) {
        index++;
        if (!prg_text_equal(prg_json_get_text(item, "type"), "PodMetric"))
            continue;
        if (prg_metric_part(item, index - 1, "podmetric", &part, err) != PRG_OK)
            return (int)err->code;
        const cJSON *metric = prg_json_get(part, "metric");
        if (!prg_text_equal(prg_json_get_text(metric, "backend"), "opentelemetry"))
            continue;
        prg_json_each (name, prg_json_get(metric, "metricNames"))
            prg_json_append(names, prg_json_copy(s->arena, name));
    }
    return PRG_OK;
}

static void set_receivers(struct prg_serving *s, cJSON *config, const char *interval, const char *port)
{
    cJSON *prometheus = inside(s, inside(s, inside(s, config, "receivers"), "prometheus"), "config");
    cJSON *jobs = prg_json_ensure_array(s->arena, prometheus, "scrape_configs"), *job = prg_json_object(s->arena);
    prg_json_set_string(s->arena, job, "job_name", "otel-collector");
    if (*interval)
        prg_json_set_string(s->arena, job, "scrape_interval", interval);
    cJSON *targets = prg_json_object(s->arena);
    prg_json_set(s->arena, targets, "targets", TEXTS(s, prg_arena_printf(s->arena, "localhost:%s", port)));
    prg_json_append(prg_json_ensure_array(s->arena, job, "static_configs"), targets);
    prg_json_append(jobs, job);
}

static void set_exporters(struct prg_serving *s, cJSON *config, const char *endpoint)
{
    cJSON *otlp = inside(s, inside(s, config, "exporters"), "otlp");
    if (*endpoint)
        prg_json_set_string(s->arena, otlp, "endpoint", endpoint);
    prg_json_set_string(s->arena, otlp, "compression", "none");
    prg_json_set_bool(s->arena, inside(s, otlp, "tls"), "insecure", true);
}

// Where a metric comes from is copied into its attributes, since the scaler's queries select by them.
static void set_processors(struct prg_serving *s, cJSON *config, cJSON *names)
{
    cJSON *processors = inside(s, config, "processors");
    cJSON *detection = inside(s, processors, "resourcedetection/env");
    prg_json_set(s->arena, detection, "detectors", TEXTS(s, "env"));
    prg_json_set_string(s->arena, detection, "timeout", "2s");
    prg_json_set_bool(s->arena, detection, "override", false);

    cJSON *transform = inside(s, processors, "transform"), *statements = prg_json_object(s->arena);
    prg_json_set_string(s->arena, statements, "context", "datapoint");
    prg_json_set(s->arena, statements, "statements",
                 TEXTS(s, "set(attributes[\"namespace\"], resource.attributes[\"k8s.namespace.name\"])",
                       "set(attributes[\"deployment\"], resource.attributes[\"k8s.deployment.name\"])",
                       "set(attributes[\"pod\"], resource.attributes[\"k8s.pod.name\"])"));
    prg_json_append(prg_json_ensure_array(s->arena, transform, "metric_statements"), statements);

    cJSON *include = inside(s, inside(s, inside(s, processors, "filter/metrics"), "metrics"), "include");
    prg_json_set_string(s->arena, include, "match_type", "strict");
    prg_json_set(s->arena, include, "metric_names", names);
}

static void set_pipeline(struct prg_serving *s, cJSON *config)
{
    cJSON *metrics = inside(s, inside(s, inside(s, config, "service"), "pipelines"), "metrics");
    prg_json_set(s->arena, metrics, "receivers", TEXTS(s, "prometheus"));
    prg_json_set(s->arena, metrics, "processors", TEXTS(s, "resourcedetection/env", "transform", "filter/metrics"));
    prg_json_set(s->arena, metrics, "exporters", TEXTS(s, "otlp"));
}

// The four sizes of the configuration, printed anew. The original crashes on one that is not a quantity.
static int set_resources(struct prg_serving *s, const cJSON *section, cJSON *spec, struct prg_error *err)
{
    static const struct {
        const char *option, *part, *resource;
    } sizes[] = {{"cpuRequest", "requests", "cpu"},
                 {"memoryRequest", "requests", "memory"},
                 {"cpuLimit", "limits", "cpu"},
                 {"memoryLimit", "limits", "memory"}};
    const cJSON *given = prg_render_config_member(section, "resource");
    cJSON *resources = prg_json_object(s->arena);
    for (size_t i = 0; i < PRG_COUNT(sizes); i++) {
        const char *text = "", *canonical = NULL;
        if (prg_render_config_text(given, "otel", sizes[i].option, &text, err) != PRG_OK)
            return (int)err->code;
        if (!*text)
            continue;
        if (prg_quantity_canonical(s->arena, text, &canonical, err) != PRG_OK)
            return prg_wrap(err, "ConfigMap inferenceservice-config: /data/opentelemetryCollector, resource.%s",
                            sizes[i].option);
        prg_json_set_string(s->arena, inside(s, resources, sizes[i].part), sizes[i].resource, canonical);
    }
    if (prg_json_count(resources) > 0)
        prg_render_set(s, spec, "resources", resources, PRG_ORIGIN_CONFIG);
    return PRG_OK;
}

int prg_render_collector(struct prg_serving *s, const struct prg_workload *w, cJSON **ret, struct prg_error *err)
{
    const cJSON *section = NULL;
    const char *interval = "", *endpoint = "";
    const char *port = prg_json_get_text(w->annotations, "prometheus.kserve.io/port");
    cJSON *names = prg_json_array(s->arena);
    *ret = NULL;
    if (metric_names(s, names, err) != PRG_OK)
        return (int)err->code;
    if (prg_json_count(names) == 0)
        return PRG_OK;
    if (prg_render_section(s, "opentelemetryCollector", "otel", &section, err) != PRG_OK ||
        prg_render_config_text(section, "otel", "scrapeInterval", &interval, err) != PRG_OK ||
        prg_render_config_text(section, "otel", "metricReceiverEndpoint", &endpoint, err) != PRG_OK)
        return (int)err->code;
    cJSON *collector = prg_render_object(s, "opentelemetry.io/v1beta1", "OpenTelemetryCollector", s->predictor_name,
                                         NULL, w->annotations);
    cJSON *spec = prg_json_object(s->arena);
    prg_json_set_string(s->arena, spec, "mode", "sidecar");
    cJSON *config = inside(s, spec, "config");
    set_receivers(s, config, interval, port ? port : "8080");
    set_exporters(s, config, endpoint);
    set_processors(s, config, names);
    set_pipeline(s, config);
    prg_render_set(s, collector, "spec", spec, PRG_ORIGIN_AUTOSCALER);
    if (set_resources(s, section, spec, err) != PRG_OK)
        return (int)err->code;
    prg_plan_trace(s->plan, "autoscaler", NULL, s->predictor_name, "collector",
                   "a metric of back end opentelemetry names what to collect");
    *ret = collector;
    return PRG_OK;
}

// A stopped service loses its collector whoever made it, as in the original.
void prg_place_collector(struct prg_serving *s, cJSON *collector)
{
    const cJSON *stored = prg_render_stored(s, "opentelemetry.io", "OpenTelemetryCollector", s->predictor_name);
    if (!prg_render_is_stopped(prg_meta_annotations(collector)))
        prg_plan_add_object(s->plan, collector);
    else if (stored)
        prg_render_delete(s, stored, PRG_REASON_STOPPED);
}
