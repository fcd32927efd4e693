// SPDX-License-Identifier: Apache-2.0
// poddefaults.c: the fields that an API server would fill in on a pod spec, filled in beforehand so that comparing with
// a stored Deployment shows no difference. Rules: setDefaultPodSpec of KServe's deployment reconciler. Init containers
// are left alone there, so they are here.
#include "serving/render.h"

// A typed reader sees "" where the field is absent, null or empty.
static bool is_unset_text(const cJSON *node)
{
    return !node || prg_json_is_null(node) || (prg_json_is_string(node) && prg_json_text_length(node) == 0);
}

static bool is_unset(const cJSON *node)
{
    return !node || prg_json_is_null(node);
}

static void set(struct prg_arena *arena, cJSON *object, const char *key, cJSON *value)
{
    prg_json_tag(value, PRG_ORIGIN_KUBERNETES);
    prg_json_set(arena, object, key, value);
}

static void default_text(struct prg_arena *arena, cJSON *object, const char *key, const char *text)
{
    if (is_unset_text(prg_json_get(object, key)))
        set(arena, object, key, prg_json_string(arena, text));
}

// A TCP probe on the container's first port, 8080 without ports. This is KServe's own default, not Kubernetes'.
static cJSON *readiness_probe(struct prg_arena *arena, const cJSON *container)
{
    int64_t port = 8080;
    const cJSON *first = prg_json_item(prg_json_get(container, "ports"), 0);
    if (first && !prg_json_get_int64(first, "containerPort", &port))
        port = 0; // as a typed reader sees a port without number
    cJSON *probe = prg_json_object(arena), *socket = prg_json_object(arena);
    prg_json_set_int(arena, socket, "port", port);
    prg_json_set(arena, probe, "tcpSocket", socket);
    prg_json_set_int(arena, probe, "timeoutSeconds", 1);
    prg_json_set_int(arena, probe, "periodSeconds", 10);
    prg_json_set_int(arena, probe, "successThreshold", 1);
    prg_json_set_int(arena, probe, "failureThreshold", 3);
    return probe;
}

static void default_container(struct prg_arena *arena, cJSON *container)
{
    default_text(arena, container, "terminationMessagePath", "/dev/termination-log");
    default_text(arena, container, "terminationMessagePolicy", "File");
    default_text(arena, container, "imagePullPolicy", "IfNotPresent");
    const char *name = prg_json_get_text(container, "name");
    bool serves = prg_text_equal(name, PRG_CONTAINER_PREDICTOR) || prg_text_equal(name, PRG_CONTAINER_TRANSFORMER);
    if (serves && is_unset(prg_json_get(container, "readinessProbe"))) {
        cJSON *probe = readiness_probe(arena, container);
        prg_json_tag(probe, PRG_ORIGIN_RULE);
        prg_json_set(arena, container, "readinessProbe", probe);
    }
}

void prg_pod_defaults(struct prg_arena *arena, cJSON *pod_spec)
{
    default_text(arena, pod_spec, "dnsPolicy", "ClusterFirst");
    default_text(arena, pod_spec, "restartPolicy", "Always");
    default_text(arena, pod_spec, "schedulerName", "default-scheduler");
    if (is_unset(prg_json_get(pod_spec, "terminationGracePeriodSeconds")))
        set(arena, pod_spec, "terminationGracePeriodSeconds", prg_json_int(arena, 30));
    if (is_unset(prg_json_get(pod_spec, "securityContext")))
        set(arena, pod_spec, "securityContext", prg_json_object(arena));
    cJSON *container;
    prg_json_each (container, prg_json_get(pod_spec, "containers")) {
        if (prg_json_is_object(container))
            default_container(arena, container);
    }
}
