// SPDX-License-Identifier: Apache-2.0
// kubeschema.c: kinds besides the Pod that are read or rendered: Deployment, Service, HorizontalPodAutoscaler, Knative
// Service, ConfigMap, Secret. Written as podschema.c is.
//
// Sources: k8s.io/api/apps/v1, core/v1, autoscaling/v2 of Kubernetes 1.36; Knative's serving/v1. A status is read by
// planners, never merged or rendered, so it is left open.
#include "json/podschema.h"
#include "json/schematable.h"

// One field a line: formatting would pack short ones into columns.
// clang-format off

// ---- apps/v1 Deployment ----

static const struct prg_schema_field rolling_update_deployment_fields[] = {
    F_INTORSTRING("maxSurge", KEEP),
    F_INTORSTRING("maxUnavailable", KEEP),
};
static SCHEMA(rolling_update_deployment, "RollingUpdateDeployment");

static const struct prg_schema_field deployment_strategy_fields[] = {
    F_OBJECT("rollingUpdate", 0, rolling_update_deployment),
    F_STRING("type", 0),
};
SCHEMA(deployment_strategy, "DeploymentStrategy");

static const struct prg_schema_field deployment_spec_fields[] = {
    F_INT("minReadySeconds", 0),
    F_BOOL("paused", 0),
    F_INT("progressDeadlineSeconds", KEEP),
    F_INT("replicas", KEEP),
    F_INT("revisionHistoryLimit", KEEP),
    F_OBJECT("selector", 0, label_selector),
    F_OBJECT("strategy", RETAIN, deployment_strategy),
    F_OBJECT("template", REQUIRED, pod_template),
};
static SCHEMA(deployment_spec, "DeploymentSpec");

static const struct prg_schema_field deployment_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, deployment_spec),
    F_ANY("status", 0),
};
SCHEMA(deployment, "Deployment");

// ---- core/v1 Service ----

static const struct prg_schema_field service_port_fields[] = {
    F_STRING("appProtocol", KEEP),
    F_STRING("name", 0),
    F_INT("nodePort", 0),
    F_INT("port", REQUIRED),
    F_STRING("protocol", 0),
    F_INTORSTRING("targetPort", 0),
};
static SCHEMA(service_port, "ServicePort");

static const struct prg_schema_field client_ip_config_fields[] = {
    F_INT("timeoutSeconds", KEEP),
};
static SCHEMA(client_ip_config, "ClientIPConfig");

static const struct prg_schema_field session_affinity_config_fields[] = {
    F_OBJECT("clientIP", 0, client_ip_config),
};
static SCHEMA(session_affinity_config, "SessionAffinityConfig");

static const struct prg_schema_field service_spec_fields[] = {
    F_BOOL("allocateLoadBalancerNodePorts", KEEP),
    F_STRING("clusterIP", 0),
    F_LIST("clusterIPs", 0, STRING),
    F_LIST("externalIPs", 0, STRING),
    F_STRING("externalName", 0),
    F_STRING("externalTrafficPolicy", 0),
    F_INT("healthCheckNodePort", 0),
    F_STRING("internalTrafficPolicy", KEEP),
    F_LIST("ipFamilies", 0, STRING),
    F_STRING("ipFamilyPolicy", KEEP),
    F_STRING("loadBalancerClass", KEEP),
    F_STRING("loadBalancerIP", 0),
    F_LIST("loadBalancerSourceRanges", 0, STRING),
    F_OBJECTS("ports", MERGE, service_port, "port"),
    F_BOOL("publishNotReadyAddresses", 0),
    F_MAP("selector", 0, STRING),
    F_STRING("sessionAffinity", 0),
    F_OBJECT("sessionAffinityConfig", 0, session_affinity_config),
    F_STRING("trafficDistribution", KEEP),
    F_STRING("type", 0),
};
static SCHEMA(service_spec, "ServiceSpec");

static const struct prg_schema_field service_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, service_spec),
    F_ANY("status", 0),
};
SCHEMA(service, "Service");

// ---- autoscaling/v2 HorizontalPodAutoscaler ----

static const struct prg_schema_field cross_version_object_reference_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", REQUIRED),
    F_STRING("name", REQUIRED),
};
static SCHEMA(cross_version_object_reference, "CrossVersionObjectReference");

static const struct prg_schema_field metric_identifier_fields[] = {
    F_STRING("name", REQUIRED),
    F_OBJECT("selector", 0, label_selector),
};
static SCHEMA(metric_identifier, "MetricIdentifier");

static const struct prg_schema_field metric_target_fields[] = {
    F_INT("averageUtilization", KEEP),
    F_QUANTITY("averageValue", KEEP),
    F_STRING("type", REQUIRED),
    F_QUANTITY("value", KEEP),
};
static SCHEMA(metric_target, "MetricTarget");

static const struct prg_schema_field container_resource_metric_source_fields[] = {
    F_STRING("container", REQUIRED),
    F_STRING("name", REQUIRED),
    F_OBJECT("target", REQUIRED, metric_target),
};
static SCHEMA(container_resource_metric_source, "ContainerResourceMetricSource");

static const struct prg_schema_field external_metric_source_fields[] = {
    F_OBJECT("metric", REQUIRED, metric_identifier),
    F_OBJECT("target", REQUIRED, metric_target),
};
static SCHEMA(external_metric_source, "ExternalMetricSource");

static const struct prg_schema_field object_metric_source_fields[] = {
    F_OBJECT("describedObject", REQUIRED, cross_version_object_reference),
    F_OBJECT("metric", REQUIRED, metric_identifier),
    F_OBJECT("target", REQUIRED, metric_target),
};
static SCHEMA(object_metric_source, "ObjectMetricSource");

static const struct prg_schema_field pods_metric_source_fields[] = {
    F_OBJECT("metric", REQUIRED, metric_identifier),
    F_OBJECT("target", REQUIRED, metric_target),
};
static SCHEMA(pods_metric_source, "PodsMetricSource");

static const struct prg_schema_field resource_metric_source_fields[] = {
    F_STRING("name", REQUIRED),
    F_OBJECT("target", REQUIRED, metric_target),
};
static SCHEMA(resource_metric_source, "ResourceMetricSource");

static const struct prg_schema_field metric_spec_fields[] = {
    F_OBJECT("containerResource", 0, container_resource_metric_source),
    F_OBJECT("external", 0, external_metric_source),
    F_OBJECT("object", 0, object_metric_source),
    F_OBJECT("pods", 0, pods_metric_source),
    F_OBJECT("resource", 0, resource_metric_source),
    F_STRING("type", REQUIRED),
};
static SCHEMA(metric_spec, "MetricSpec");

static const struct prg_schema_field hpa_scaling_policy_fields[] = {
    F_INT("periodSeconds", REQUIRED),
    F_STRING("type", REQUIRED),
    F_INT("value", REQUIRED),
};
static SCHEMA(hpa_scaling_policy, "HPAScalingPolicy");

static const struct prg_schema_field hpa_scaling_rules_fields[] = {
    F_OBJECTS("policies", 0, hpa_scaling_policy, NULL),
    F_STRING("selectPolicy", KEEP),
    F_INT("stabilizationWindowSeconds", KEEP),
    F_QUANTITY("tolerance", KEEP),
};
static SCHEMA(hpa_scaling_rules, "HPAScalingRules");

static const struct prg_schema_field hpa_behavior_fields[] = {
    F_OBJECT("scaleDown", 0, hpa_scaling_rules),
    F_OBJECT("scaleUp", 0, hpa_scaling_rules),
};
SCHEMA(hpa_behavior, "HorizontalPodAutoscalerBehavior");

static const struct prg_schema_field hpa_spec_fields[] = {
    F_OBJECT("behavior", 0, hpa_behavior),
    F_INT("maxReplicas", REQUIRED),
    F_OBJECTS("metrics", 0, metric_spec, NULL),
    F_INT("minReplicas", KEEP),
    F_OBJECT("scaleTargetRef", REQUIRED, cross_version_object_reference),
};
static SCHEMA(hpa_spec, "HorizontalPodAutoscalerSpec");

static const struct prg_schema_field hpa_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, hpa_spec),
    F_ANY("status", 0),
};
SCHEMA(hpa, "HorizontalPodAutoscaler");

// ---- serving.knative.dev/v1 Service ----

static const struct prg_schema_field revision_spec_fields[] = {
    F_INT("containerConcurrency", KEEP),
    F_INT("idleTimeoutSeconds", KEEP),
    F_INT("responseStartTimeoutSeconds", KEEP),
    F_INT("timeoutSeconds", KEEP),
};
static SCHEMA_INLINE(revision_spec, "RevisionSpec", pod_spec);

static const struct prg_schema_field revision_template_fields[] = {
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, revision_spec),
};
static SCHEMA(revision_template, "RevisionTemplateSpec");

static const struct prg_schema_field traffic_target_fields[] = {
    F_STRING("configurationName", 0),
    F_BOOL("latestRevision", KEEP),
    F_INT("percent", KEEP),
    F_STRING("revisionName", 0),
    F_STRING("tag", 0),
    F_STRING("url", KEEP),
};
static SCHEMA(traffic_target, "TrafficTarget");

static const struct prg_schema_field knative_service_spec_fields[] = {
    F_OBJECT("template", 0, revision_template),
    F_OBJECTS("traffic", 0, traffic_target, NULL),
};
static SCHEMA(knative_service_spec, "ServiceSpec");

static const struct prg_schema_field knative_service_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, knative_service_spec),
    F_ANY("status", 0),
};
SCHEMA(knative_service, "Service");

// ---- core/v1 ConfigMap and Secret ----

static const struct prg_schema_field config_map_fields[] = {
    F_STRING("apiVersion", 0),
    F_MAP("binaryData", 0, STRING),
    F_MAP("data", 0, STRING),
    F_BOOL("immutable", KEEP),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
};
SCHEMA(config_map, "ConfigMap");

static const struct prg_schema_field secret_fields[] = {
    F_STRING("apiVersion", 0),
    F_MAP("data", 0, STRING),
    F_BOOL("immutable", KEEP),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_MAP("stringData", 0, STRING),
    F_STRING("type", 0),
};
SCHEMA(secret, "Secret");
