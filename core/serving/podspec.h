// SPDX-License-Identifier: Apache-2.0
// podspec.h: merging runtime and service, and the pure functions that policies may call too (perigee.podspec.*,
// perigee.image.*, perigee.gpu.*, perigee.placeholders.*). None of them touches its inputs.
#pragma once
#include "plan/plan.h"
#include "serving/compat.h"
#include "serving/config.h"
#include "json/schema.h"

// The normal form that Go's typed decode and encode give: zero values and empty lists dropped where the type says
// omitempty, quantities printed anew, required fields there (with their zero value); unknown fields carried through.
// Wrong types are PRG_INVALID with the JSON pointer. Nodes keep position and origin. A NULL or null node reads as {}.
int prg_typed_normal(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *node, cJSON **ret,
                     struct prg_error *err) PRG_MUST_USE;

// The same in one pass with what mostly comes next.
struct prg_typed_form {
    enum prg_origin origin;     // of all nodes that have none yet
    bool shares_texts;          // texts and keys are node's, which must live as long as the result
    const char *const *only;    // names of the members of node that count, sorted, NULL at the end; NULL: all
    const char *const *without; // names of those that do not count, likewise; NULL: none
};
int prg_typed_make(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *node,
                   const struct prg_typed_form *form, cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// Marks node and everything below it that has no origin yet: a default of the configuration, say, keeps its own.
void prg_podspec_tag(cJSON *node, enum prg_origin origin);

struct prg_merge_options {
    const struct prg_compat *compat;
    const struct prg_decider *decide; // NULL: container_merge's defaults
    struct prg_plan *plan;            // gets a trace entry for each answer of a container_merge policy; may be NULL
    bool copies_runtime;              // the runtime may go before the result does
};
// The results of these share texts with both sides, which must live as long, unless copies_runtime says otherwise.
// MergeRuntimeContainers: strategic merge of two containers, arguments concatenated. Nodes without an origin get
// RUNTIME or SERVICE in the result.
int prg_podspec_merge_container(struct prg_arena *arena, const struct prg_merge_options *options, const cJSON *runtime,
                                const cJSON *service, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
// MergePodSpec: strategic merge of pod-level fields (runtime: the six that the original copies, or all but containers
// when runtime_pod_fields is mended). Containers of the service are kept as they are, as in the original; the caller
// replaces them. Both specs may be a whole ServingRuntime spec, worker spec or predictor: fields of KServe's own
// (supportedModelFormats, model, minReplicas …) are passed over.
int prg_podspec_merge(struct prg_arena *arena, const struct prg_merge_options *options, const cJSON *runtime_spec,
                      const cJSON *service_spec, cJSON **ret, struct prg_error *err) PRG_MUST_USE;

struct prg_merged_specs {
    cJSON *container; // merged target container
    cJSON *pod_spec;  // without containers
    size_t index;     // of the target in the runtime's containers
};
// MergeServingRuntimeAndInferenceServiceSpecs. PRG_NOTFOUND when the runtime has no container called target.
// service_container may be a whole model: what is no field of a container (modelFormat, storageUri …) is passed over.
int prg_podspec_merge_specs(struct prg_arena *arena, const struct prg_merge_options *options,
                            const cJSON *runtime_containers, const cJSON *service_container, const char *target,
                            const cJSON *runtime_spec, const cJSON *service_spec, struct prg_merged_specs *ret,
                            struct prg_error *err) PRG_MUST_USE;

// ReplacePlaceholders: the template language of docs/policy-guide.md over every text of the container; metadata is the
// service's ObjectMeta. html: escape as html/template does (compat kserve).
int prg_placeholders_replace(struct prg_arena *arena, const cJSON *container, const cJSON *metadata, bool html,
                             cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// The same for a container in normal form that is given up with it: what holds no placeholder is shared with the
// result, which is container itself when there are none at all.
int prg_placeholders_fill(struct prg_arena *arena, cJSON *container, const cJSON *metadata, bool html, cJSON **ret,
                          struct prg_error *err) PRG_MUST_USE;

// computeRayNodeAndGPUs and computeMpNodeAndGPUs on counts. *ret_refusal is set (and PRG_OK returned) when the GPUs do
// not suffice.
void prg_gpu_ray(int64_t total, int64_t head_requested, int64_t worker_requested, struct prg_topology *ret,
                 const char **ret_refusal, struct prg_arena *arena);
void prg_gpu_mp(int64_t pipeline_parallel, int64_t tensor_parallel, struct prg_topology *ret);
// Whether a resource is a GPU, of the known kinds or a further one (an array of names or NULL).
// resource NULL, as of an item of a list: no.
bool prg_gpu_is(const char *resource, const cJSON *custom_types);
// The GPU resource of a container's resources (GetGPUResourceQtyByType): name or NULL, and the request's value rounded
// up. custom_types: further kinds, an array of names or NULL. With gpu_kinds mended a limit counts where there is no
// request. One answer whatever the order of the map: a kind of which there is some before one of which there is none,
// then in the order of the kinds.
const char *prg_gpu_resource(const cJSON *resources, const cJSON *custom_types, const struct prg_compat *compat,
                             int64_t *ret_requested);
// A kind different from `resource` of which there is some in resources, or NULL.
const char *prg_gpu_other_kind(const cJSON *resources, const cJSON *custom_types, const struct prg_compat *compat,
                               const char *resource);
// The kinds that an administrator adds: customGPUResourceTypeList of the configuration's multiNode section, then those
// of the annotation serving.kserve.io/gpu-resource-types (a JSON list of texts; annotations may be NULL). PRG_INVALID
// in the words of the original when the annotation is not such a list.
int prg_gpu_custom_types(struct prg_arena *arena, const struct prg_serving_config *config, const cJSON *annotations,
                         cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// A kind of which there is some in limits or requests, whatever the compatibility says about counting; the first in the
// order of the kinds, or NULL.
const char *prg_gpu_declared(const cJSON *resources, const cJSON *custom_types, const struct prg_compat *compat);

// ---- steps of a plan (context.h), shared by podspec.c and multinode.c ----
struct prg_serving;
struct prg_workload;
// The service or the runtime cannot be used as it is: the failure goes into status.modelStatus (InvalidSpec,
// InvalidPredictorSpec). message NULL: the text of err, which must hold an error. What a policy did wrong is no fault
// of theirs and goes nowhere. Returns err's code.
int prg_serving_invalid_spec(struct prg_serving *s, const char *message, struct prg_error *err);
// Member of object that must be a list of objects where it is there; *ret NULL when it is absent or null. where: what
// the errors call object: "/spec/predictor".
int prg_serving_object_list(const cJSON *object, const char *key, const char *where, const cJSON **ret,
                            struct prg_error *err) PRG_MUST_USE;
// Sets the GPUs of head and worker (limits and requests of kserve-container and worker-container) from their variables
// REQUEST_GPU_COUNT, as addGPUResourceToDeployment: in Standard mode only, after the defaults of Kubernetes. The
// annotations looked at are w->annotations and w->worker_annotations. PRG_INVALID for a bad gpu-resource-types
// annotation; the original reports that as "fails to create NewRawKubeReconciler for predictor: failed to create
// deployment reconciler: failed to create raw deployment: …".
int prg_multinode_apply_gpus(struct prg_serving *s, struct prg_workload *w, struct prg_error *err) PRG_MUST_USE;
