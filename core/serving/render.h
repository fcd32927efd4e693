// SPDX-License-Identifier: Apache-2.0
// render.h: shared by the files of core/serving that turn a computed workload into objects and status: raw, deployment,
// service, autoscale, keda, otel, url, knative, status, modelstatus. Nobody else includes it. All trees live in
// s->arena; labels and annotations given as JSON objects may be NULL.
#pragma once
#include "serving/context.h"
#include "serving/predictor.h"

#define PRG_ANNOTATION_SCALER "serving.kserve.io/autoscalerClass"
#define PRG_LABEL_APP "app"
#define PRG_LABEL_GENERATION "isvc.generation"
#define PRG_LABEL_ROLE "multinode/role"
#define PRG_CONTAINER_INITIALIZER "storage-initializer"
#define PRG_AGENT_PORT 9081

// ---- render.c: metadata, stored objects, configuration values ----
// An object with name, namespace, labels, annotations (copies; left out when empty) and the service as its controller.
cJSON *prg_render_object(struct prg_serving *s, const char *api_version, const char *kind, const char *name,
                         const cJSON *labels, const cJSON *annotations);
// Object and array members that carry an origin; the value given is taken as it is.
void prg_render_set(struct prg_serving *s, cJSON *object, const char *key, cJSON *value, enum prg_origin origin);
void prg_render_set_text(struct prg_serving *s, cJSON *object, const char *key, const char *text,
                         enum prg_origin origin); // NULL: does nothing
void prg_render_set_int(struct prg_serving *s, cJSON *object, const char *key, int64_t value, enum prg_origin origin);
// The stored object of this service's namespace, or NULL.
const cJSON *prg_render_stored(const struct prg_serving *s, const char *group, const char *kind, const char *name);
// Plans the deletion of a stored object, unless it is being deleted already. reason: for the trace.
void prg_render_delete(struct prg_serving *s, const cJSON *stored, const char *reason);
#define PRG_REASON_STOPPED "annotation " PRG_ANNOTATION_STOP " is true"
// The stop annotation is "true", in any letter case (utils.GetForceStopRuntime).
bool prg_render_is_stopped(const cJSON *annotations);
// A member of an object as integer, or fallback when it is absent or no whole number.
int64_t prg_render_int(const cJSON *object, const char *key, int64_t fallback);
// A member that is a text, or "".
const char *prg_render_text(const cJSON *object, const char *key);
// A member that is present and not null.
const cJSON *prg_render_given(const cJSON *object, const char *key);

// Checks that the ConfigMap is there and that its storageInitializer section has usable sizes: both modes need it
// before anything else (Predictor.reconcileRawDeployment, .reconcileKnativeDeployment).
int prg_render_check_config(struct prg_serving *s, struct prg_error *err) PRG_MUST_USE;
// A section as an object, or NULL when it is absent. `what` is how errors call it: "ingress".
int prg_render_section(struct prg_serving *s, const char *name, const char *what, const cJSON **ret,
                       struct prg_error *err) PRG_MUST_USE;
// A text of a section, "" when absent or null. Names fit in any letter case, as in Go's reader; the last one counts.
int prg_render_config_text(const cJSON *section, const char *what, const char *name, const char **ret,
                           struct prg_error *err) PRG_MUST_USE;
const cJSON *prg_render_config_member(const cJSON *section, const char *name); // NULL when absent or null

// ---- poddefaults.c: setDefaultPodSpec ----
void prg_pod_defaults(struct prg_arena *arena, cJSON *pod_spec);

// ---- url.c ----
// "http://HOST" of the predictor from the domain template of the configuration (createRawURL, GenerateDomainName).
int prg_render_url(struct prg_serving *s, const cJSON *labels, const cJSON *annotations, const char **ret,
                   struct prg_error *err) PRG_MUST_USE;

// ---- deployment.c ----
struct prg_deployments {
    cJSON *head, *worker;                     // intents; worker NULL unless multi-node
    const cJSON *stored_head, *stored_worker; // what the store has, or NULL
};
// Builds the intents (createRawDeployment). Adds the defaults of Kubernetes to the pod specs of w.
int prg_render_deployments(struct prg_serving *s, struct prg_workload *w, struct prg_deployments *ret,
                           struct prg_error *err) PRG_MUST_USE;
// Puts them (or their deletion) into the plan (DeploymentReconciler.Reconcile).
void prg_place_deployments(struct prg_serving *s, struct prg_deployments *deployments);

// ---- service.c ----
// Predictor Service and, for multi-node, the headless Services of head and workers: an array of intents.
cJSON *prg_render_services(struct prg_serving *s, const struct prg_workload *w);
void prg_place_services(struct prg_serving *s, cJSON *services);

// ---- autoscale.c, keda.c, otel.c ----
struct prg_scaler {
    const char *class;    // "hpa", "keda", "external", "none"
    cJSON *hpa;           // for all classes but keda: what an HPA would be
    cJSON *scaled_object; // for keda
};
int prg_render_scaler(struct prg_serving *s, const struct prg_workload *w, struct prg_scaler *ret,
                      struct prg_error *err) PRG_MUST_USE;
void prg_place_scaler(struct prg_serving *s, struct prg_scaler *scaler);
int prg_render_scaled_object(struct prg_serving *s, const struct prg_workload *w, cJSON **ret,
                             struct prg_error *err) PRG_MUST_USE;
// *ret is NULL when no OpenTelemetry metric names are asked for.
int prg_render_collector(struct prg_serving *s, const struct prg_workload *w, cJSON **ret,
                         struct prg_error *err) PRG_MUST_USE;
void prg_place_collector(struct prg_serving *s, cJSON *collector);
// Item of predictor.autoScaling.metrics: the part called key, PRG_INVALID naming the place when it is missing (the
// original crashes there).
int prg_metric_part(const cJSON *metric, size_t index, const char *key, const cJSON **ret,
                    struct prg_error *err) PRG_MUST_USE;

// ---- status.c ----
cJSON *prg_status_ensure(struct prg_serving *s);    // service.status, made when absent
cJSON *prg_status_component(struct prg_serving *s); // status.components.predictor, made when absent
cJSON *prg_status_model(struct prg_serving *s);     // status.modelStatus with a transitionStatus
bool prg_status_is_ready(const struct prg_serving *s);
// The condition of a Knative or Deployment status with this type, or NULL. Odd entries are passed over.
const cJSON *prg_condition_of(const cJSON *status, const char *type);
// PropagateRawStatus from the stored Deployments (each may be NULL).
void prg_status_raw(struct prg_serving *s, const struct prg_deployments *deployments, const char *url);
