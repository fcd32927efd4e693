---@meta
-- SPDX-License-Identifier: Apache-2.0
-- Types of what policies get and return; docs/policy-guide.md says what they mean.
error("this file declares types for editors and is not run")

---@class perigee.Match the entry of supportedModelFormats that fits
---@field name string
---@field version? string
---@field autoSelect boolean
---@field priority? integer

---@class perigee.Candidate
---@field name string
---@field scope "namespace"|"cluster"
---@field object perigee.View the ServingRuntime or ClusterServingRuntime
---@field spec perigee.View object.spec
---@field created string RFC 3339, or ""
---@field protocol integer lowest: v1 1, v2 2, grpc-v1 3, grpc-v2 4, none or unknown 5
---@field match? perigee.Match

---@class perigee.RuntimeRequest
---@field service perigee.View the InferenceService as defaulted
---@field namespace? perigee.View the Namespace object
---@field model perigee.View spec.predictor.model
---@field format {name: string, version?: string}
---@field protocol string "v1" when the model names none
---@field protocol_given boolean
---@field named boolean the service names this runtime
---@field multi_node boolean
---@field multi_model boolean

---@class perigee.ImageRequest
---@field runtime_name string
---@field server_type? string
---@field runtime_version? string
---@field gpus {resource: string, count: string}[] limits of the merged container, zeros included
---@field service perigee.View

---@class perigee.GpuRequest
---@field resource string
---@field requested integer

---@class perigee.TopologyRequest
---@field backend "ray"|"mp"
---@field tensor_parallel integer
---@field pipeline_parallel integer
---@field head perigee.GpuRequest
---@field worker perigee.GpuRequest
---@field service perigee.View
---@field runtime perigee.View

---@class perigee.Topology
---@field nodes integer
---@field head_gpus integer
---@field worker_gpus integer

---@class perigee.LabelValue
---@field layer "runtime"|"service"|"predictor"|"fixed"
---@field value string

---@class perigee.RuntimeSelectionPolicy
---@field api "runtime_selection/v1"
---@field options? table
---@field accept? fun(candidate: perigee.Candidate, request: perigee.RuntimeRequest): boolean, string?, string?
---@field before? fun(a: perigee.Candidate, b: perigee.Candidate, request: perigee.RuntimeRequest): boolean
---@field choose? fun(candidates: perigee.Candidate[], request: perigee.RuntimeRequest): string?, string?

---@class perigee.AnnotationFilterPolicy
---@field api "annotation_filter/v1"
---@field options? table
---@field keep? fun(key: string, value: string, layer: string, service: perigee.View): boolean?, string?

---@class perigee.LabelPriorityPolicy
---@field api "label_priority/v1"
---@field options? table
---@field layers? fun(part: "labels"|"annotations", target: "head"|"worker"): string[]
---@field resolve? fun(key: string, values: perigee.LabelValue[], part: string, service: perigee.View): string|false|nil

---@class perigee.ContainerMergePolicy
---@field api "container_merge/v1"
---@field options? table
---@field args? fun(runtime: perigee.View?, service: perigee.View?, container: string): string[]?
---@field env? fun(name: string, runtime: perigee.View?, service: perigee.View?, container: string): table?

---@class perigee.ImagePolicy
---@field api "image/v1"
---@field options? table
---@field tag? fun(image: string, request: perigee.ImageRequest): string?

---@class perigee.MultiNodePolicy
---@field api "multi_node/v1"
---@field options? table
---@field topology? fun(request: perigee.TopologyRequest): perigee.Topology?, string?

---@class perigee.ObjectPatchPolicy
---@field api "object_patch/v1"
---@field options? table
---@field patch? fun(object: perigee.View, service: perigee.View): table?
