// SPDX-License-Identifier: Apache-2.0
// podspec.h: merging runtime and service, and the pure functions that policies may call too (perigee.podspec.*,
// perigee.image.*, perigee.gpu.*, perigee.placeholders.*). None of them touches its inputs.
#pragma once
#include "policy/decision.h"
#include "serving/compat.h"
#include "json/schema.h"

// The normal form that Go's typed decode and encode give: zero values and empty lists dropped where the type says
// omitempty, quantities printed anew; unknown fields carried through. Wrong types are PRG_INVALID with the JSON
// pointer.
int prg_typed_normal(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *node, cJSON **ret,
                     struct prg_error *err) PRG_MUST_USE;

struct prg_merge_options {
    const struct prg_compat *compat;
    const struct prg_decider *decide; // NULL: container_merge's defaults
};
// MergeRuntimeContainers: strategic merge of two containers, arguments concatenated.
int prg_podspec_merge_container(struct prg_arena *arena, const struct prg_merge_options *options, const cJSON *runtime,
                                const cJSON *service, cJSON **ret, struct prg_error *err) PRG_MUST_USE;
// MergePodSpec: strategic merge of pod-level fields (runtime: the six that the original copies, or all but containers
// when runtime_pod_fields is mended; containers of neither side are kept).
int prg_podspec_merge(struct prg_arena *arena, const struct prg_merge_options *options, const cJSON *runtime_spec,
                      const cJSON *service_spec, cJSON **ret, struct prg_error *err) PRG_MUST_USE;

struct prg_merged_specs {
    cJSON *container; // merged target container
    cJSON *pod_spec;  // without containers
    size_t index;     // of the target in the runtime's containers
};
// MergeServingRuntimeAndInferenceServiceSpecs. PRG_NOTFOUND when the runtime has no container called target.
int prg_podspec_merge_specs(struct prg_arena *arena, const struct prg_merge_options *options,
                            const cJSON *runtime_containers, const cJSON *service_container, const char *target,
                            const cJSON *runtime_spec, const cJSON *service_spec, struct prg_merged_specs *ret,
                            struct prg_error *err) PRG_MUST_USE;

// ReplacePlaceholders: the template language of docs/policy-guide.md over every text of the container; metadata is the
// service's ObjectMeta. html: escape as html/template does (compat kserve).
int prg_placeholders_replace(struct prg_arena *arena, const cJSON *container, const cJSON *metadata, bool html,
                             cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// UpdateImageTag's rule, the default of the image policy (in Lua in lua/policies/image.lua; this is perigee.image.tag).
// Returns the image unchanged where the rule does not apply.
const char *prg_image_tag(struct prg_arena *arena, const struct prg_compat *compat, const char *image,
                          const struct prg_image_request *request);

// computeRayNodeAndGPUs and computeMpNodeAndGPUs on counts. *ret_refusal is set (and PRG_OK returned) when the GPUs do
// not suffice.
void prg_gpu_ray(int64_t total, int64_t head_requested, int64_t worker_requested, struct prg_topology *ret,
                 const char **ret_refusal, struct prg_arena *arena);
void prg_gpu_mp(int64_t pipeline_parallel, int64_t tensor_parallel, struct prg_topology *ret);
// The GPU resource of a container's resources (GetGPUResourceQtyByType): name or NULL, and the request's value rounded
// up.
const char *prg_gpu_resource(const cJSON *resources, const cJSON *custom_types, const struct prg_compat *compat,
                             int64_t *ret_requested);
