// SPDX-License-Identifier: Apache-2.0
// context.h: one serving plan under way; shared by the files of core/serving only. Order of work: plan.c.
#pragma once
#include "base/clock.h"
#include "object/meta.h"
#include "serving/plan.h"

enum prg_mode { PRG_MODE_STANDARD, PRG_MODE_KNATIVE, PRG_MODE_MODELMESH };

struct prg_serving {
    struct prg_arena *arena; // == plan->arena
    const struct prg_serving_input *in;
    const struct prg_decider *decide;
    const struct prg_compat *compat;
    const struct prg_serving_config *config;
    struct prg_plan *plan;
    cJSON *service;   // defaulted copy. As the original's in-memory object: planning writes model.runtime,
                      // model.protocolVersion, labels; its "status" member is the new status. Becomes plan->resource.
    cJSON *predictor; // service.spec.predictor
    const cJSON *stored_status; // status as it came in, or NULL
    const char *name, *ns;
    const char *predictor_name; // NAME-predictor
    enum prg_mode mode;
    bool stopped;             // force-stop annotation on the service ("true", any case)
    bool multi_node;          // spec.predictor.workerSpec is there
    bool no_initializer;      // the runtime wants no storage initializer (storageHelper.disabled, when mended)
    const char *error_text;   // the whole text of an error that is too long for a prg_error; else NULL
    char now[PRG_CLOCK_TEXT]; // RFC 3339
};

// The workload that the earlier steps have computed, ready to be rendered.
struct prg_workload {
    cJSON *labels, *annotations;                                 // objects of strings, of all objects (head)
    cJSON *pod_spec;                                             // head
    cJSON *worker_labels, *worker_annotations, *worker_pod_spec; // NULL unless multi-node
    int64_t worker_nodes; // RAY_NODE_COUNT - 1 …: replicas of the worker Deployment
};

// ---- select.c: runtime selection (explicit and automatic). Sets status (modelStatus, …RuntimeName) and model defaults
// on s->service. ----
struct prg_runtime_choice {
    const cJSON *object;      // the runtime; the store's, as its spec and annotations
    const cJSON *spec;        // its spec
    const cJSON *annotations; // metadata.annotations used for server-type (see compat chosen_annotations), or NULL
    const char *name;
    bool is_cluster;
};
int prg_serving_select(struct prg_serving *s, struct prg_runtime_choice *ret, struct prg_error *err) PRG_MUST_USE;

// ---- podspec.c: the predictor's pod spec from runtime and service (Predictor.buildPodSpec), placeholders and image
// included. ----
int prg_serving_pod_spec(struct prg_serving *s, const struct prg_runtime_choice *runtime, cJSON **ret,
                         struct prg_error *err) PRG_MUST_USE;
// The pod spec of a custom predictor (containers given by the service).
int prg_serving_custom_pod_spec(struct prg_serving *s, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
// Sets the value of a variable of the planner in a container, appending the variable where it is not there yet. A
// valueFrom stays beside it, or with replace_exclusive mended makes way for it.
void prg_serving_set_variable(struct prg_serving *s, cJSON *container, const char *name, const char *value,
                              enum prg_origin origin);
// The same in every container called so (AddEnvVarToPodSpec). PRG_NOTFOUND when there is no such container.
int prg_serving_set_env(struct prg_serving *s, cJSON *pod_spec, const char *container, const char *name,
                        const char *value, enum prg_origin origin, struct prg_error *err) PRG_MUST_USE;

// ---- multinode.c: worker pod spec, sizes, GPUs, variables of head and worker (Predictor.reconcileWorker). ----
// annotations: the filtered service annotations; head pod spec in w->pod_spec is completed, worker parts of w are made.
int prg_serving_worker(struct prg_serving *s, const struct prg_runtime_choice *runtime, const cJSON *annotations,
                       const cJSON *predictor_annotations, struct prg_workload *w, struct prg_error *err) PRG_MUST_USE;

// ---- metadata.c: filtered annotations and merged labels and annotations. ----
// layer "service", "predictor", "runtime", "worker"; NULL map gives {}; perigee.dev/ is never passed on. Traces what is
// dropped.
int prg_serving_filter_annotations(struct prg_serving *s, const cJSON *annotations, const char *layer,
                                   enum prg_origin origin, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
struct prg_meta_layers {
    const cJSON *runtime, *service, *predictor, *fixed;
}; // each may be NULL
// part "labels" or "annotations", target "head" or "worker".
int prg_serving_union(struct prg_serving *s, const struct prg_meta_layers *layers, const char *part, const char *target,
                      cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// ---- storage.c: storageUri validation; volumes and init container of storageUris. ----
int prg_serving_validate_storage_uri(struct prg_serving *s, const char *uri, struct prg_error *err) PRG_MUST_USE;
// Looks up the storage container of storageUris, if there are any: whether it exists and fits is an error in both
// modes, whatever else goes wrong later.
int prg_serving_check_storage_uris(struct prg_serving *s, struct prg_error *err) PRG_MUST_USE;
// CommonStorageInitialization for storageUris: changes pod_spec in place. For head and worker, Standard and Knative.
int prg_serving_storage_uris(struct prg_serving *s, cJSON *pod_spec, const cJSON *annotations,
                             struct prg_error *err) PRG_MUST_USE;

// ---- modelconfig.c ----
int prg_serving_model_config(struct prg_serving *s, struct prg_error *err) PRG_MUST_USE;

// ---- raw.c: Standard mode: Deployment(s), Services, HPA / ScaledObject, collector; status from stored Deployments
// ---- Adds to plan->objects and plan->deletes, and propagates status. Errors mean: ReconcileFailed.
int prg_serving_raw(struct prg_serving *s, struct prg_workload *w, struct prg_error *err) PRG_MUST_USE;

// ---- knative.c: Knative Service, status propagation. ----
int prg_serving_knative(struct prg_serving *s, struct prg_workload *w, struct prg_error *err) PRG_MUST_USE;

// ---- status.c: conditions and modelStatus on s->service.status, as the InferenceServiceStatus methods of the
// original. ----
void prg_status_model_transition(struct prg_serving *s, const char *transition, const char *reason,
                                 const char *message); // UpdateModelTransitionStatus
void prg_status_raw_with_message(struct prg_serving *s, const char *reason, const char *message,
                                 const char *status); // PropagateRawStatusWithMessages
// PropagateModelStatus from the pods; false: ask again after one second.
bool prg_status_model_from_pods(struct prg_serving *s, const char *pod_label, const char *pod_label_value);
// The stop branch: clears the status, sets PredictorReady and Ready False with reason Stopped.
void prg_status_stopped(struct prg_serving *s);
// Sets a condition (knative condition-set semantics: sorted by type, lastTransitionTime changes only with status,
// reason or message; recomputes Ready). NULL texts: left out.
void prg_status_condition(struct prg_serving *s, const char *type, const char *status, const char *reason,
                          const char *message, const char *severity);
const cJSON *prg_status_get_condition(const struct prg_serving *s, const char *type);
