---@meta
-- SPDX-License-Identifier: Apache-2.0
-- Types of what policies get and return; docs/policy-guide.md says what they mean. `perigee check` reads them too.
-- The k8s.* classes are made from the schema tables: `perigee types DIR` writes them out.
error("this file declares types for editors and is not run")

--- An object of any kind.
---@class k8s.Object
---@field apiVersion string
---@field kind string
---@field metadata k8s.ObjectMeta
---@field [string] any

---@class perigee.Match the entry of supportedModelFormats that fits
---@field name string
---@field version? string
---@field autoSelect boolean
---@field priority? integer

---@class perigee.Candidate
---@field name string
---@field scope "namespace"|"cluster"
---@field object k8s.ServingRuntime the ServingRuntime or ClusterServingRuntime
---@field spec k8s.ServingRuntimeSpec object.spec
---@field created string RFC 3339, or ""
---@field protocol integer lowest: v1 1, v2 2, grpc-v1 3, grpc-v2 4, none or unknown 5
---@field match? perigee.Match

---@class perigee.RuntimeRequest
---@field service k8s.InferenceService as defaulted
---@field namespace? k8s.Object the Namespace object
---@field model k8s.ModelSpec spec.predictor.model
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
---@field service k8s.InferenceService

---@class perigee.GpuRequest
---@field resource string
---@field requested integer

---@class perigee.TopologyRequest
---@field backend "ray"|"mp"
---@field tensor_parallel integer
---@field pipeline_parallel integer
---@field head perigee.GpuRequest
---@field worker perigee.GpuRequest
---@field service k8s.InferenceService
---@field runtime k8s.ServingRuntime

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
---@field keep? fun(key: string, value: string, layer: string, service: k8s.InferenceService): boolean?, string?

---@class perigee.LabelPriorityPolicy
---@field api "label_priority/v1"
---@field options? table
---@field layers? fun(part: "labels"|"annotations", target: "head"|"worker"): string[]
---@field resolve? fun(key: string, values: perigee.LabelValue[], part: string, service: k8s.InferenceService): string|false|nil

---@class perigee.ContainerMergePolicy
---@field api "container_merge/v1"
---@field options? table
---@field args? fun(runtime: string[]?, service: string[]?, container: string): string[]?
---@field env? fun(name: string, runtime: k8s.EnvVar?, service: k8s.EnvVar?, container: string): table?

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
---@field patch? fun(object: k8s.Object, service: k8s.InferenceService): table?

---@class perigee.StagePod
---@field name string
---@field phase string "Pending", "Running", "Succeeded", "Failed", "Unknown"
---@field node? string
---@field created string RFC 3339
---@field deleting boolean

---@class perigee.StageCondition
---@field stage string "Train", "Eval", "Deploy"
---@field type string "" when there is none yet
---@field data? table
---@field reported boolean by an edge node
---@field reason? string
---@field since string

---@class perigee.StageEvent
---@field stage string
---@field type string
---@field at string
---@field reported boolean
---@field reason? string
---@field data? table

---@class perigee.StageInput
---@field job k8s.Object
---@field condition perigee.StageCondition the latest
---@field pod? perigee.StagePod the stage's
---@field inference? perigee.StagePod
---@field history perigee.StageEvent[]
---@field hot_update boolean
---@field now string

---@class perigee.StageDecision
---@field stage? string of the new condition; without stage and type none is written
---@field type? string
---@field actions? string[] "create_worker", "create_inference", "restart_inference", "record_node", "delete_worker"
---@field reason? string goes into the condition
---@field note? string for `perigee why`
---@field after? number seconds until it is asked again
---@field data? table goes into the condition
---@field keep? integer conditions kept; older ones go, but for the last data of each stage and type

---@class perigee.StageReport
---@field stage string
---@field type string
---@field data? table

---@class perigee.IlStagePolicy
---@field api "il_stage/v1"
---@field options? table
---@field transit? fun(input: perigee.StageInput): perigee.StageDecision?
---@field report? fun(input: perigee.StageInput, report: perigee.StageReport): boolean?, string?

---@class perigee.ShippedRuntimeSelection
---@field accept fun(candidate: perigee.Candidate, request: perigee.RuntimeRequest): boolean, string?, string?
---@field before fun(a: perigee.Candidate, b: perigee.Candidate, request: perigee.RuntimeRequest): boolean

---@class perigee.ShippedAnnotationFilter
---@field keep fun(key: string, value: string, layer: string, service: k8s.InferenceService): boolean?, string?

---@class perigee.ShippedLabelPriority
---@field layers fun(part: "labels"|"annotations", target: "head"|"worker"): string[]

---@class perigee.ShippedContainerMerge
---@field args fun(runtime: string[]?, service: string[]?, container: string): string[]?
---@field env fun(name: string, runtime: k8s.EnvVar?, service: k8s.EnvVar?, container: string): table?

---@class perigee.ShippedImage
---@field tag fun(image: string, request: perigee.ImageRequest): string?

---@class perigee.ShippedMultiNode
---@field topology fun(request: perigee.TopologyRequest): perigee.Topology?, string?

---@class perigee.ShippedObjectPatch
---@field patch fun(object: k8s.Object, service: k8s.InferenceService): table?

---@class perigee.ShippedIlStage
---@field transit fun(input: perigee.StageInput): perigee.StageDecision?
---@field report fun(input: perigee.StageInput, report: perigee.StageReport): boolean?, string?

--- The shipped policies, to be called by files that change a part of them.
---@class perigee.shipped
---@field annotation_filter perigee.ShippedAnnotationFilter
---@field container_merge perigee.ShippedContainerMerge
---@field il_stage perigee.ShippedIlStage
---@field image perigee.ShippedImage
---@field label_priority perigee.ShippedLabelPriority
---@field multi_node perigee.ShippedMultiNode
---@field object_patch perigee.ShippedObjectPatch
---@field runtime_selection perigee.ShippedRuntimeSelection
---@field [string] any files that `use` can switch to
