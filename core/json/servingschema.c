// SPDX-License-Identifier: Apache-2.0
// servingschema.c: the kinds of serving.kserve.io: InferenceService (v1beta1), ServingRuntime, ClusterServingRuntime
// and ClusterStorageContainer (v1alpha1). Written as podschema.c is.
//
// Source: KServe's pkg/apis/serving (v0.20) and its CRDs. A pod spec or container that the original embeds is inlined
// here too, so whatever podschema.c knows is known below predictor, workerSpec and the frameworks.
#include "json/podschema.h"
#include "json/schematable.h"

// One field a line: formatting would pack short ones into columns.
// clang-format off

// ---- models ----

static const struct prg_schema_field model_storage_spec_fields[] = {
    F_STRING("key", KEEP),
    F_MAP("parameters", KEEP, STRING),
    F_STRING("path", KEEP),
    F_STRING("schemaPath", KEEP),
};
static SCHEMA(model_storage_spec, "ModelStorageSpec");

static const struct prg_schema_field confidential_spec_fields[] = {
    F_BOOL("enabled", REQUIRED),
    F_STRING("resourceId", KEEP),
};
static SCHEMA(confidential_spec, "ConfidentialSpec");

static const struct prg_schema_field model_format_fields[] = {
    F_STRING("name", REQUIRED),
    F_STRING("version", KEEP),
};
static SCHEMA(model_format, "ModelFormat");

// What every framework has: its settings and those of the container.
static const struct prg_schema_field predictor_extension_fields[] = {
    F_OBJECT("confidential", 0, confidential_spec),
    F_STRING("protocolVersion", KEEP),
    F_STRING("runtimeVersion", KEEP),
    F_OBJECT("storage", 0, model_storage_spec),
    F_STRING("storageUri", KEEP),
};
static SCHEMA_INLINE(predictor_extension, "PredictorExtensionSpec", container);

static const struct prg_schema_field model_spec_fields[] = {
    F_OBJECT("modelFormat", REQUIRED, model_format),
    F_STRING("runtime", KEEP),
};
static SCHEMA_INLINE(model_spec, "ModelSpec", predictor_extension);

static const struct prg_schema_field storage_uri_fields[] = {
    F_STRING("mountPath", REQUIRED),
    F_STRING("uri", REQUIRED),
};
static SCHEMA(storage_uri, "StorageUri");

// ---- autoscaling ----

// MetricQuantity keeps the text that the user wrote, so these two are no quantities here.
static const struct prg_schema_field metric_target_fields[] = {
    F_INT("averageUtilization", KEEP),
    F_INTORSTRING("averageValue", KEEP),
    F_STRING("type", REQUIRED),
    F_INTORSTRING("value", KEEP),
};
static SCHEMA(metric_target, "MetricTarget");

static const struct prg_schema_field resource_metric_source_fields[] = {
    F_STRING("name", REQUIRED),
    F_OBJECT("target", REQUIRED, metric_target),
};
static SCHEMA(resource_metric_source, "ResourceMetricSource");

static const struct prg_schema_field external_metrics_fields[] = {
    F_STRING("backend", REQUIRED),
    F_STRING("namespace", 0),
    F_STRING("query", 0),
    F_STRING("serverAddress", 0),
};
static SCHEMA(external_metrics, "ExternalMetrics");

static const struct prg_schema_field authentication_ref_fields[] = {
    F_STRING("name", REQUIRED),
};
static SCHEMA(authentication_ref, "AuthenticationRef");

static const struct prg_schema_field ext_metric_authentication_fields[] = {
    F_STRING("authModes", 0),
    F_OBJECT("authenticationRef", REQUIRED, authentication_ref),
};
static SCHEMA(ext_metric_authentication, "ExtMetricAuthentication");

static const struct prg_schema_field external_metric_source_fields[] = {
    F_OBJECT("authenticationRef", 0, ext_metric_authentication),
    F_OBJECT("metric", REQUIRED, external_metrics),
    F_OBJECT("target", REQUIRED, metric_target),
};
static SCHEMA(external_metric_source, "ExternalMetricSource");

static const struct prg_schema_field pod_metrics_fields[] = {
    F_STRING("backend", REQUIRED),
    F_LIST("metricNames", 0, STRING),
    F_STRING("operationOverTime", 0),
    F_STRING("query", 0),
    F_STRING("serverAddress", 0),
};
static SCHEMA(pod_metrics, "PodMetrics");

static const struct prg_schema_field pod_metric_source_fields[] = {
    F_OBJECT("metric", REQUIRED, pod_metrics),
    F_OBJECT("target", REQUIRED, metric_target),
};
static SCHEMA(pod_metric_source, "PodMetricSource");

static const struct prg_schema_field metrics_spec_fields[] = {
    F_OBJECT("external", 0, external_metric_source),
    F_OBJECT("podmetric", 0, pod_metric_source),
    F_OBJECT("resource", 0, resource_metric_source),
    F_STRING("type", REQUIRED),
};
static SCHEMA(metrics_spec, "MetricsSpec");

static const struct prg_schema_field auto_scaling_spec_fields[] = {
    F_OBJECT("behavior", 0, hpa_behavior),
    F_OBJECTS("metrics", 0, metrics_spec, NULL),
};
static SCHEMA(auto_scaling_spec, "AutoScalingSpec");

// ---- components ----

static const struct prg_schema_field logger_storage_spec_fields[] = {
    F_STRING("key", KEEP),
    F_MAP("parameters", KEEP, STRING),
    F_STRING("path", KEEP),
    F_STRING("serviceAccountName", KEEP),
};
static SCHEMA(logger_storage_spec, "LoggerStorageSpec");

static const struct prg_schema_field logger_spec_fields[] = {
    F_STRING("batchInterval", KEEP),
    F_INT("batchSize", KEEP),
    F_STRING("marshallerUrl", KEEP),
    F_LIST("metadataAnnotations", 0, STRING),
    F_LIST("metadataHeaders", 0, STRING),
    F_STRING("mode", 0),
    F_OBJECT("storage", 0, logger_storage_spec),
    F_STRING("url", KEEP),
};
static SCHEMA(logger_spec, "LoggerSpec");

static const struct prg_schema_field batcher_fields[] = {
    F_INT("maxBatchSize", KEEP),
    F_INT("maxLatency", KEEP),
    F_INT("timeout", KEEP),
};
static SCHEMA(batcher, "Batcher");

// What predictor, transformer and explainer share: ComponentExtensionSpec and a pod spec whose containers are optional.
static const struct prg_schema_field component_spec_fields[] = {
    F_MAP("annotations", 0, STRING),
    F_OBJECT("autoScaling", 0, auto_scaling_spec),
    F_OBJECT("batcher", 0, batcher),
    F_INT("canaryTrafficPercent", KEEP),
    F_INT("containerConcurrency", KEEP),
    F_OBJECTS("containers", MERGE, container, "name"),
    F_OBJECT("deploymentStrategy", 0, deployment_strategy),
    F_MAP("labels", 0, STRING),
    F_OBJECT("logger", 0, logger_spec),
    F_INT("maxReplicas", 0),
    F_INT("minReplicas", KEEP),
    F_STRING("scaleMetric", KEEP),
    F_STRING("scaleMetricType", KEEP),
    F_INT("scaleTarget", KEEP),
    F_OBJECTS("storageUris", 0, storage_uri, NULL),
    F_INT("timeout", KEEP),
};
static SCHEMA_INLINE(component_spec, "ComponentSpec", pod_spec);

static const struct prg_schema_field worker_spec_fields[] = {
    F_OBJECTS("containers", MERGE, container, "name"),
    F_INT("pipelineParallelSize", KEEP),
    F_INT("tensorParallelSize", KEEP),
};
static SCHEMA_INLINE(worker_spec, "WorkerSpec", pod_spec);

static const struct prg_schema_field predictor_spec_fields[] = {
    F_OBJECT("huggingface", 0, predictor_extension),
    F_OBJECT("lightgbm", 0, predictor_extension),
    F_OBJECT("model", 0, model_spec),
    F_STRING("name", 0),
    F_OBJECT("onnx", 0, predictor_extension),
    F_OBJECT("paddle", 0, predictor_extension),
    F_OBJECT("pmml", 0, predictor_extension),
    F_OBJECT("pytorch", 0, predictor_extension),
    F_OBJECT("sklearn", 0, predictor_extension),
    F_STRING("storageContainerName", KEEP),
    F_OBJECT("tensorflow", 0, predictor_extension),
    F_OBJECT("triton", 0, predictor_extension),
    F_OBJECT("workerSpec", 0, worker_spec),
    F_OBJECT("xgboost", 0, predictor_extension),
};
static SCHEMA_INLINE(predictor_spec, "PredictorSpec", component_spec);

static const struct prg_schema_field art_explainer_spec_fields[] = {
    F_MAP("config", 0, STRING),
    F_STRING("runtimeVersion", KEEP),
    F_OBJECT("storage", 0, model_storage_spec),
    F_STRING("storageUri", 0),
    F_STRING("type", REQUIRED),
};
static SCHEMA_INLINE(art_explainer_spec, "ARTExplainerSpec", container);

static const struct prg_schema_field explainer_spec_fields[] = {
    F_OBJECT("art", 0, art_explainer_spec),
};
static SCHEMA_INLINE(explainer_spec, "ExplainerSpec", component_spec);

static const struct prg_schema_field canary_spec_fields[] = {
    F_OBJECT("predictor", REQUIRED, predictor_spec),
    F_INT("trafficPercent", REQUIRED),
};
static SCHEMA(canary_spec, "CanarySpec");

static const struct prg_schema_field service_spec_fields[] = {
    F_OBJECTS("canary", 0, canary_spec, NULL),
    F_OBJECT("explainer", 0, explainer_spec),
    F_OBJECT("predictor", REQUIRED, predictor_spec),
    F_OBJECT("transformer", 0, component_spec),
};
static SCHEMA(service_spec, "InferenceServiceSpec");

// ---- status ----

static const struct prg_schema_field condition_fields[] = {
    F_TIME("lastTransitionTime", 0),
    F_STRING("message", 0),
    F_STRING("reason", 0),
    F_STRING("severity", 0),
    F_STRING("status", REQUIRED),
    F_STRING("type", REQUIRED),
};
static SCHEMA(condition, "Condition");

static const struct prg_schema_field addressable_fields[] = {
    F_STRING("CACerts", KEEP),
    F_STRING("audience", KEEP),
    F_STRING("name", KEEP),
    F_STRING("url", KEEP),
};
static SCHEMA(addressable, "Addressable");

static const struct prg_schema_field traffic_target_fields[] = {
    F_STRING("configurationName", 0),
    F_BOOL("latestRevision", KEEP),
    F_INT("percent", KEEP),
    F_STRING("revisionName", 0),
    F_STRING("tag", 0),
    F_STRING("url", KEEP),
};
static SCHEMA(traffic_target, "TrafficTarget");

static const struct prg_schema_field component_status_spec_fields[] = {
    F_OBJECT("address", 0, addressable),
    F_STRING("grpcUrl", KEEP),
    F_STRING("latestCreatedRevision", 0),
    F_STRING("latestReadyRevision", 0),
    F_STRING("latestRolledoutRevision", 0),
    F_STRING("previousRolledoutRevision", 0),
    F_STRING("restUrl", KEEP),
    F_OBJECTS("traffic", 0, traffic_target, NULL),
    F_STRING("url", KEEP),
};
static SCHEMA(component_status_spec, "ComponentStatusSpec");

static const struct prg_schema_field model_revision_states_fields[] = {
    F_STRING("activeModelState", REQUIRED),
    F_STRING("targetModelState", 0),
};
static SCHEMA(model_revision_states, "ModelRevisionStates");

static const struct prg_schema_field failure_info_fields[] = {
    F_INT("exitCode", 0),
    F_STRING("location", 0),
    F_STRING("message", 0),
    F_STRING("modelRevisionName", 0),
    F_STRING("reason", 0),
    F_TIME("time", 0),
};
static SCHEMA(failure_info, "FailureInfo");

static const struct prg_schema_field model_copies_fields[] = {
    F_INT("failedCopies", REQUIRED),
    F_INT("totalCopies", 0),
};
static SCHEMA(model_copies, "ModelCopies");

static const struct prg_schema_field model_status_fields[] = {
    F_OBJECT("copies", 0, model_copies),
    F_OBJECT("lastFailureInfo", 0, failure_info),
    F_OBJECT("states", 0, model_revision_states),
    F_STRING("transitionStatus", REQUIRED),
};
static SCHEMA(model_status, "ModelStatus");

static const struct prg_schema_field canary_status_fields[] = {
    F_OBJECT("modelStatus", 0, model_status),
    F_STRING("name", REQUIRED),
    F_BOOL("ready", REQUIRED),
    F_INT("trafficPercent", REQUIRED),
};
static SCHEMA(canary_status, "CanaryStatus");

static const struct prg_schema_field service_status_fields[] = {
    F_OBJECT("address", 0, addressable),
    F_MAP("annotations", 0, STRING),
    F_OBJECTS("canaryStatuses", 0, canary_status, NULL),
    F_STRING("clusterServingRuntimeName", 0),
    F_OBJECT_MAP("components", 0, component_status_spec),
    F_OBJECTS("conditions", MERGE, condition, "type"),
    F_STRING("deploymentMode", 0),
    F_OBJECT("modelStatus", 0, model_status),
    F_INT("observedGeneration", 0),
    F_STRING("servingRuntimeName", 0),
    F_STRING("url", KEEP),
};
static SCHEMA(service_status, "InferenceServiceStatus");

static const struct prg_schema_field inference_service_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, service_spec),
    F_OBJECT("status", 0, service_status),
};
SCHEMA(inference_service, "InferenceService");

// ---- runtimes ----

static const struct prg_schema_field supported_model_format_fields[] = {
    F_BOOL("autoSelect", KEEP),
    F_STRING("name", REQUIRED),
    F_INT("priority", KEEP),
    F_STRING("version", KEEP),
};
static SCHEMA(supported_model_format, "SupportedModelFormat");

static const struct prg_schema_field storage_helper_fields[] = {
    F_BOOL("disabled", 0),
};
static SCHEMA(storage_helper, "StorageHelper");

static const struct prg_schema_field built_in_adapter_fields[] = {
    F_OBJECTS("env", 0, env_var, NULL),
    F_INT("memBufferBytes", 0),
    F_INT("modelLoadingTimeoutMillis", 0),
    F_INT("runtimeManagementPort", 0),
    F_STRING("serverType", 0),
};
static SCHEMA(built_in_adapter, "BuiltInAdapter");

// The original knows ten pod-level fields only. Here all of a pod's are known, since they may reach the pod
// (serving/compat.h, runtime_pod_fields).
static const struct prg_schema_field runtime_pod_spec_fields[] = {
    F_MAP("annotations", 0, STRING),
    F_MAP("labels", 0, STRING),
};
static SCHEMA_INLINE(runtime_pod_spec, "ServingRuntimePodSpec", pod_spec);

static const struct prg_schema_field runtime_worker_spec_fields[] = {
    F_INT("pipelineParallelSize", KEEP),
    F_INT("tensorParallelSize", KEEP),
};
static SCHEMA_INLINE(runtime_worker_spec, "WorkerSpec", runtime_pod_spec);

static const struct prg_schema_field runtime_spec_fields[] = {
    F_OBJECT("builtInAdapter", 0, built_in_adapter),
    F_BOOL("disabled", KEEP),
    F_STRING("grpcDataEndpoint", KEEP),
    F_STRING("grpcEndpoint", KEEP),
    F_STRING("httpDataEndpoint", KEEP),
    F_BOOL("multiModel", KEEP),
    F_LIST("protocolVersions", 0, STRING),
    F_INT("replicas", KEEP),
    F_OBJECT("storageHelper", 0, storage_helper),
    F_OBJECTS("supportedModelFormats", 0, supported_model_format, NULL),
    F_OBJECT("workerSpec", 0, runtime_worker_spec),
};
static SCHEMA_INLINE(runtime_spec, "ServingRuntimeSpec", runtime_pod_spec);

static const struct prg_schema_field serving_runtime_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, runtime_spec),
    F_ANY("status", 0),
};
SCHEMA(serving_runtime, "ServingRuntime");

// ---- storage containers ----

static const struct prg_schema_field supported_uri_format_fields[] = {
    F_STRING("prefix", 0),
    F_STRING("regex", 0),
};
static SCHEMA(supported_uri_format, "SupportedUriFormat");

static const struct prg_schema_field storage_container_spec_fields[] = {
    F_OBJECT("container", REQUIRED, container),
    F_OBJECTS("supportedUriFormats", REQUIRED, supported_uri_format, NULL),
    F_BOOL("supportsMultiModelDownload", KEEP),
    F_STRING("workloadType", 0),
};
static SCHEMA(storage_container_spec, "StorageContainerSpec");

static const struct prg_schema_field storage_container_fields[] = {
    F_STRING("apiVersion", 0),
    F_BOOL("disabled", KEEP),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, storage_container_spec),
};
SCHEMA(storage_container, "ClusterStorageContainer");
