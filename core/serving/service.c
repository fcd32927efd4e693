// SPDX-License-Identifier: Apache-2.0
// service.c: the Services of Standard mode: the predictor's own, and the headless ones that head and workers of a
// multi-node service find each other by. Rules: createService and ServiceReconciler of KServe.
#include <string.h>

#include "serving/render.h"

// ---- ports ----

// Port names tell the protocol: gRPC and HTTP/2 without TLS are h2c for whatever routes to the Service.
static void set_app_protocol(struct prg_serving *s, cJSON *port, const char *name)
{
    if (name && (strstr(name, "grpc") || strstr(name, "h2c")))
        prg_render_set_text(s, port, "appProtocol", "kubernetes.io/h2c", PRG_ORIGIN_RULE);
}

static cJSON *service_port(struct prg_serving *s, const char *name, int64_t port, int64_t target, const char *protocol)
{
    cJSON *node = prg_json_object(s->arena);
    if (name && *name)
        prg_render_set_text(s, node, "name", name, PRG_ORIGIN_RULE);
    if (protocol && *protocol)
        prg_render_set_text(s, node, "protocol", protocol, PRG_ORIGIN_RULE);
    prg_render_set_int(s, node, "port", port, PRG_ORIGIN_RULE);
    prg_render_set_int(s, node, "targetPort", target, PRG_ORIGIN_RULE);
    return node;
}

// The container that takes requests: the transformer when it sits in the same pod, else the first.
static const cJSON *front_container(const cJSON *pod_spec)
{
    const cJSON *containers = prg_json_get(pod_spec, "containers"), *container;
    prg_json_each (container, containers) {
        if (prg_text_equal(prg_json_get_text(container, "name"), PRG_CONTAINER_TRANSFORMER))
            return container;
    }
    return prg_json_item(containers, 0);
}

static void trace_port(struct prg_serving *s, int64_t target, const char *reason)
{
    prg_plan_trace(s->plan, "port", NULL, s->predictor_name,
                   prg_arena_printf(s->arena, "80 to %lld", (long long)target), reason);
}

// Port 80 leads to the first port, the others keep their number. An unnamed first port stays without name, and without
// protocol where the container gives none; further ports are TCP then.
static void add_container_ports(struct prg_serving *s, cJSON *ports, const cJSON *container)
{
    const cJSON *port;
    bool first = true;
    prg_json_each (port, prg_json_get(container, "ports")) {
        const char *name = prg_json_get_text(port, "name"), *protocol = prg_json_get_text(port, "protocol");
        int64_t number = prg_render_int(port, "containerPort", 0);
        if (!first && (!protocol || !*protocol))
            protocol = "TCP";
        cJSON *node = service_port(s, name, first ? 80 : number, number, protocol);
        set_app_protocol(s, node, name);
        prg_json_append(ports, node);
        if (first)
            trace_port(s, number,
                       prg_arena_printf(s->arena, "first port of container %s",
                                        prg_json_get_text(container, "name") ? prg_json_get_text(container, "name")
                                                                             : "without name"));
        first = false;
    }
}

// The agent sidecar stands before the container when it has to log or batch.
static void lead_to_agent(struct prg_serving *s, cJSON *ports)
{
    cJSON *first = prg_json_item(ports, 0);
    bool logger = prg_render_given(s->predictor, "logger"), batcher = prg_render_given(s->predictor, "batcher");
    if (!first || (!logger && !batcher))
        return;
    prg_render_set_int(s, first, "targetPort", PRG_AGENT_PORT, PRG_ORIGIN_RULE);
    trace_port(s, PRG_AGENT_PORT,
               logger ? "the agent's port, because of spec.predictor.logger"
                      : "the agent's port, because of spec.predictor.batcher");
}

static cJSON *predictor_ports(struct prg_serving *s, const cJSON *pod_spec)
{
    cJSON *ports = prg_json_array(s->arena);
    const cJSON *container = front_container(pod_spec);
    if (container && prg_json_count(prg_json_get(container, "ports")) > 0) {
        add_container_ports(s, ports, container);
    } else if (container) {
        prg_json_append(ports, service_port(s, s->predictor_name, 80, 8080, "TCP"));
        trace_port(s, 8080, "the container names no port");
    }
    lead_to_agent(s, ports);
    return ports;
}

// ---- building ----

// An optional section: what cannot be read counts as absent (NewServiceConfig).
static bool is_headless(struct prg_serving *s)
{
    struct prg_error ignored = {0};
    const cJSON *section = NULL;
    if (prg_render_section(s, "service", "service", &section, &ignored) != PRG_OK)
        return false;
    return prg_json_is_true(prg_render_config_member(section, "serviceClusterIPNone"));
}

static cJSON *predictor_service(struct prg_serving *s, const struct prg_workload *w)
{
    cJSON *service = prg_render_object(s, "v1", "Service", s->predictor_name, w->labels, w->annotations);
    cJSON *spec = prg_json_object(s->arena), *selector = prg_json_object(s->arena);
    cJSON *ports = predictor_ports(s, w->pod_spec);
    if (prg_json_count(ports) > 0)
        prg_json_set(s->arena, spec, "ports", ports);
    prg_json_set_string(s->arena, selector, PRG_LABEL_APP, prg_arena_printf(s->arena, "isvc.%s", s->predictor_name));
    prg_render_set(s, spec, "selector", selector, PRG_ORIGIN_RULE);
    if (is_headless(s))
        prg_render_set_text(s, spec, "clusterIP", "None", PRG_ORIGIN_CONFIG);
    prg_json_set(s->arena, service, "spec", spec);
    return service;
}

// Pods must find each other before they are ready. Both carry the head's labels, also where they select workers.
static cJSON *headless_service(struct prg_serving *s, const struct prg_workload *w, const char *name, const char *role,
                               const char *app, const char *generation)
{
    cJSON *labels = prg_json_clone(s->arena, w->labels);
    prg_render_set_text(s, labels, PRG_LABEL_ROLE, role, PRG_ORIGIN_MULTI_NODE);
    cJSON *service = prg_render_object(s, "v1", "Service", name, labels, w->annotations);
    cJSON *spec = prg_json_object(s->arena), *selector = prg_json_object(s->arena);
    prg_json_set_string(s->arena, selector, PRG_LABEL_APP, app);
    prg_json_set_string(s->arena, selector, PRG_LABEL_GENERATION, generation);
    prg_json_set(s->arena, spec, "selector", selector);
    prg_json_set_string(s->arena, spec, "clusterIP", "None");
    prg_json_set_bool(s->arena, spec, "publishNotReadyAddresses", true);
    prg_render_set(s, service, "spec", spec, PRG_ORIGIN_MULTI_NODE);
    return service;
}

cJSON *prg_render_services(struct prg_serving *s, const struct prg_workload *w)
{
    cJSON *services = prg_json_array(s->arena);
    prg_json_append(services, predictor_service(s, w));
    if (!w->worker_pod_spec)
        return services;
    const char *generation = prg_json_get_text(w->labels, PRG_LABEL_GENERATION);
    if (!generation)
        generation = "";
    prg_json_append(services,
                    headless_service(s, w, prg_arena_printf(s->arena, "%s-head-%s", s->name, generation), "head",
                                     prg_arena_printf(s->arena, "isvc.%s", s->predictor_name), generation));
    prg_json_append(services,
                    headless_service(s, w, prg_arena_printf(s->arena, "%s-workers-%s", s->name, generation), "worker",
                                     prg_arena_printf(s->arena, "isvc.%s-worker", s->predictor_name), generation));
    return services;
}

// ---- placing ----

// A stored Service is compared by ports and selector only. When both are the same, whatever else differs stays as it
// is stored: much of it cannot be changed anyway.
static void keep_stored_fields(struct prg_serving *s, cJSON *service, const cJSON *stored)
{
    cJSON *spec = prg_json_get(service, "spec");
    const cJSON *stored_spec = prg_json_get(stored, "spec");
    if (!prg_json_equal(prg_json_get(spec, "ports"), prg_json_get(stored_spec, "ports")) ||
        !prg_json_equal(prg_json_get(spec, "selector"), prg_json_get(stored_spec, "selector")))
        return;
    static const char *const names[] = {"clusterIP", "publishNotReadyAddresses"};
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        const cJSON *want = prg_json_get(spec, names[i]), *have = prg_json_get(stored_spec, names[i]);
        if (!want || prg_json_equal(want, have))
            continue;
        prg_json_remove(spec, names[i]);
        if (have)
            prg_render_set(s, spec, names[i], prg_json_copy(s->arena, have), PRG_ORIGIN_STORED);
        prg_plan_trace(s->plan, "service", NULL, prg_meta_name(service), "kept as stored",
                       prg_arena_printf(s->arena, "ports and selector are unchanged, so %s is not changed", names[i]));
    }
}

static void place(struct prg_serving *s, cJSON *service)
{
    const cJSON *stored = prg_render_stored(s, "", "Service", prg_meta_name(service));
    bool stopped = prg_render_is_stopped(prg_meta_annotations(service));
    if (stopped && !stored)
        return;
    if (stopped && prg_owner_controls(s->service, stored)) {
        prg_render_delete(s, stored, PRG_REASON_STOPPED);
        return;
    }
    if (stored)
        keep_stored_fields(s, service, stored);
    prg_plan_add_object(s->plan, service);
}

void prg_place_services(struct prg_serving *s, cJSON *services)
{
    cJSON *service;
    while ((service = services->child)) {
        prg_json_detach(services, service);
        place(s, service);
    }
}
