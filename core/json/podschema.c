// SPDX-License-Identifier: Apache-2.0
// podschema.c: core/v1 Pod and everything below it, as Kubernetes 1.36 has it.
//
// A line says of a field what its Go declaration says: name, type, and
//   REQUIRED  neither a pointer nor omitempty: Go prints it always, the API server wants it;
//   KEEP      a pointer (or optional without omitempty): a zero value that is there is printed;
//   MERGE     patchStrategy:"merge", with the patchMergeKey where the list holds structs;
//   RETAIN    patchStrategy:"retainKeys".
// Source: k8s.io/api/core/v1/types.go and k8s.io/apimachinery/pkg/apis/meta/v1/types.go. Tables stand in the order of
// their use, simple ones first; fields are sorted by name.
#include "json/podschema.h"
#include "json/schematable.h"

// One field a line: formatting would pack short ones into columns.
// clang-format off

// ---- metadata (apimachinery meta/v1) ----

static const struct prg_schema_field owner_reference_fields[] = {
    F_STRING("apiVersion", REQUIRED),
    F_BOOL("blockOwnerDeletion", KEEP),
    F_BOOL("controller", KEEP),
    F_STRING("kind", REQUIRED),
    F_STRING("name", REQUIRED),
    F_STRING("uid", REQUIRED),
};
static SCHEMA(owner_reference, "OwnerReference");

static const struct prg_schema_field managed_fields_entry_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("fieldsType", 0),
    F_ANY("fieldsV1", 0),
    F_STRING("manager", 0),
    F_STRING("operation", 0),
    F_STRING("subresource", 0),
    F_TIME("time", 0),
};
static SCHEMA(managed_fields_entry, "ManagedFieldsEntry");

static const struct prg_schema_field object_meta_fields[] = {
    F_MAP("annotations", 0, STRING),
    F_TIME("creationTimestamp", 0),
    F_INT("deletionGracePeriodSeconds", KEEP),
    F_TIME("deletionTimestamp", 0),
    F_LIST("finalizers", MERGE, STRING),
    F_STRING("generateName", 0),
    F_INT("generation", 0),
    F_MAP("labels", 0, STRING),
    F_OBJECTS("managedFields", 0, managed_fields_entry, NULL),
    F_STRING("name", 0),
    F_STRING("namespace", 0),
    F_OBJECTS("ownerReferences", MERGE, owner_reference, "uid"),
    F_STRING("resourceVersion", 0),
    F_STRING("selfLink", 0),
    F_STRING("uid", 0),
};
SCHEMA(object_meta, "ObjectMeta");

static const struct prg_schema_field label_selector_requirement_fields[] = {
    F_STRING("key", REQUIRED),
    F_STRING("operator", REQUIRED),
    F_LIST("values", 0, STRING),
};
static SCHEMA(label_selector_requirement, "LabelSelectorRequirement");

static const struct prg_schema_field label_selector_fields[] = {
    F_OBJECTS("matchExpressions", 0, label_selector_requirement, NULL),
    F_MAP("matchLabels", 0, STRING),
};
SCHEMA(label_selector, "LabelSelector");

// ---- references ----

static const struct prg_schema_field local_object_reference_fields[] = {
    F_STRING("name", 0),
};
static SCHEMA(local_object_reference, "LocalObjectReference");

static const struct prg_schema_field typed_local_object_reference_fields[] = {
    F_STRING("apiGroup", KEEP),
    F_STRING("kind", REQUIRED),
    F_STRING("name", REQUIRED),
};
static SCHEMA(typed_local_object_reference, "TypedLocalObjectReference");

static const struct prg_schema_field typed_object_reference_fields[] = {
    F_STRING("apiGroup", KEEP),
    F_STRING("kind", REQUIRED),
    F_STRING("name", REQUIRED),
    F_STRING("namespace", KEEP),
};
static SCHEMA(typed_object_reference, "TypedObjectReference");

static const struct prg_schema_field object_field_selector_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("fieldPath", REQUIRED),
};
static SCHEMA(object_field_selector, "ObjectFieldSelector");

static const struct prg_schema_field resource_field_selector_fields[] = {
    F_STRING("containerName", 0),
    F_QUANTITY("divisor", 0),
    F_STRING("resource", REQUIRED),
};
static SCHEMA(resource_field_selector, "ResourceFieldSelector");

static const struct prg_schema_field key_to_path_fields[] = {
    F_STRING("key", REQUIRED),
    F_INT("mode", KEEP),
    F_STRING("path", REQUIRED),
};
static SCHEMA(key_to_path, "KeyToPath");

// ---- resources ----

static const struct prg_schema_field resource_claim_fields[] = {
    F_STRING("name", REQUIRED),
    F_STRING("request", 0),
};
static SCHEMA(resource_claim, "ResourceClaim");

static const struct prg_schema_field resources_fields[] = {
    F_OBJECTS("claims", 0, resource_claim, NULL),
    F_MAP("limits", 0, QUANTITY),
    F_MAP("requests", 0, QUANTITY),
};
SCHEMA(resources, "ResourceRequirements");

static const struct prg_schema_field volume_resource_requirements_fields[] = {
    F_MAP("limits", 0, QUANTITY),
    F_MAP("requests", 0, QUANTITY),
};
static SCHEMA(volume_resource_requirements, "VolumeResourceRequirements");

static const struct prg_schema_field container_resize_policy_fields[] = {
    F_STRING("resourceName", REQUIRED),
    F_STRING("restartPolicy", REQUIRED),
};
static SCHEMA(container_resize_policy, "ContainerResizePolicy");

// ---- environment ----

static const struct prg_schema_field config_map_key_selector_fields[] = {
    F_STRING("key", REQUIRED),
    F_STRING("name", 0),
    F_BOOL("optional", KEEP),
};
static SCHEMA(config_map_key_selector, "ConfigMapKeySelector");

static const struct prg_schema_field secret_key_selector_fields[] = {
    F_STRING("key", REQUIRED),
    F_STRING("name", 0),
    F_BOOL("optional", KEEP),
};
static SCHEMA(secret_key_selector, "SecretKeySelector");

static const struct prg_schema_field file_key_selector_fields[] = {
    F_STRING("key", REQUIRED),
    F_BOOL("optional", KEEP),
    F_STRING("path", REQUIRED),
    F_STRING("volumeName", REQUIRED),
};
static SCHEMA(file_key_selector, "FileKeySelector");

static const struct prg_schema_field env_var_source_fields[] = {
    F_OBJECT("configMapKeyRef", 0, config_map_key_selector),
    F_OBJECT("fieldRef", 0, object_field_selector),
    F_OBJECT("fileKeyRef", 0, file_key_selector),
    F_OBJECT("resourceFieldRef", 0, resource_field_selector),
    F_OBJECT("secretKeyRef", 0, secret_key_selector),
};
static SCHEMA(env_var_source, "EnvVarSource");

static const struct prg_schema_field env_var_fields[] = {
    F_STRING("name", REQUIRED),
    F_STRING("value", 0),
    F_OBJECT("valueFrom", 0, env_var_source),
};
SCHEMA(env_var, "EnvVar");

static const struct prg_schema_field config_map_env_source_fields[] = {
    F_STRING("name", 0),
    F_BOOL("optional", KEEP),
};
static SCHEMA(config_map_env_source, "ConfigMapEnvSource");

static const struct prg_schema_field secret_env_source_fields[] = {
    F_STRING("name", 0),
    F_BOOL("optional", KEEP),
};
static SCHEMA(secret_env_source, "SecretEnvSource");

static const struct prg_schema_field env_from_source_fields[] = {
    F_OBJECT("configMapRef", 0, config_map_env_source),
    F_STRING("prefix", 0),
    F_OBJECT("secretRef", 0, secret_env_source),
};
static SCHEMA(env_from_source, "EnvFromSource");

// ---- probes and lifecycle ----

static const struct prg_schema_field exec_action_fields[] = {
    F_LIST("command", 0, STRING),
};
static SCHEMA(exec_action, "ExecAction");

static const struct prg_schema_field http_header_fields[] = {
    F_STRING("name", REQUIRED),
    F_STRING("value", REQUIRED),
};
static SCHEMA(http_header, "HTTPHeader");

static const struct prg_schema_field http_get_action_fields[] = {
    F_STRING("host", 0),
    F_OBJECTS("httpHeaders", 0, http_header, NULL),
    F_STRING("path", 0),
    F_INTORSTRING("port", REQUIRED),
    F_STRING("scheme", 0),
};
static SCHEMA(http_get_action, "HTTPGetAction");

static const struct prg_schema_field tcp_socket_action_fields[] = {
    F_STRING("host", 0),
    F_INTORSTRING("port", REQUIRED),
};
static SCHEMA(tcp_socket_action, "TCPSocketAction");

static const struct prg_schema_field grpc_action_fields[] = {
    F_INT("port", REQUIRED),
    F_STRING("service", KEEP),
};
static SCHEMA(grpc_action, "GRPCAction");

static const struct prg_schema_field sleep_action_fields[] = {
    F_INT("seconds", REQUIRED),
};
static SCHEMA(sleep_action, "SleepAction");

static const struct prg_schema_field probe_fields[] = {
    F_OBJECT("exec", 0, exec_action),
    F_INT("failureThreshold", 0),
    F_OBJECT("grpc", 0, grpc_action),
    F_OBJECT("httpGet", 0, http_get_action),
    F_INT("initialDelaySeconds", 0),
    F_INT("periodSeconds", 0),
    F_INT("successThreshold", 0),
    F_OBJECT("tcpSocket", 0, tcp_socket_action),
    F_INT("terminationGracePeriodSeconds", KEEP),
    F_INT("timeoutSeconds", 0),
};
SCHEMA(probe, "Probe");

static const struct prg_schema_field lifecycle_handler_fields[] = {
    F_OBJECT("exec", 0, exec_action),
    F_OBJECT("httpGet", 0, http_get_action),
    F_OBJECT("sleep", 0, sleep_action),
    F_OBJECT("tcpSocket", 0, tcp_socket_action),
};
static SCHEMA(lifecycle_handler, "LifecycleHandler");

static const struct prg_schema_field lifecycle_fields[] = {
    F_OBJECT("postStart", 0, lifecycle_handler),
    F_OBJECT("preStop", 0, lifecycle_handler),
    F_STRING("stopSignal", KEEP),
};
static SCHEMA(lifecycle, "Lifecycle");

static const struct prg_schema_field container_restart_rule_on_exit_codes_fields[] = {
    F_STRING("operator", 0),
    F_LIST("values", 0, INT),
};
static SCHEMA(container_restart_rule_on_exit_codes, "ContainerRestartRuleOnExitCodes");

static const struct prg_schema_field container_restart_rule_fields[] = {
    F_STRING("action", 0),
    F_OBJECT("exitCodes", 0, container_restart_rule_on_exit_codes),
};
static SCHEMA(container_restart_rule, "ContainerRestartRule");

// ---- security ----

static const struct prg_schema_field capabilities_fields[] = {
    F_LIST("add", 0, STRING),
    F_LIST("drop", 0, STRING),
};
static SCHEMA(capabilities, "Capabilities");

static const struct prg_schema_field selinux_options_fields[] = {
    F_STRING("level", 0),
    F_STRING("role", 0),
    F_STRING("type", 0),
    F_STRING("user", 0),
};
static SCHEMA(selinux_options, "SELinuxOptions");

static const struct prg_schema_field windows_security_context_options_fields[] = {
    F_STRING("gmsaCredentialSpec", KEEP),
    F_STRING("gmsaCredentialSpecName", KEEP),
    F_BOOL("hostProcess", KEEP),
    F_STRING("runAsUserName", KEEP),
};
static SCHEMA(windows_security_context_options, "WindowsSecurityContextOptions");

static const struct prg_schema_field seccomp_profile_fields[] = {
    F_STRING("localhostProfile", KEEP),
    F_STRING("type", REQUIRED),
};
static SCHEMA(seccomp_profile, "SeccompProfile");

static const struct prg_schema_field app_armor_profile_fields[] = {
    F_STRING("localhostProfile", KEEP),
    F_STRING("type", REQUIRED),
};
static SCHEMA(app_armor_profile, "AppArmorProfile");

static const struct prg_schema_field security_context_fields[] = {
    F_BOOL("allowPrivilegeEscalation", KEEP),
    F_OBJECT("appArmorProfile", 0, app_armor_profile),
    F_OBJECT("capabilities", 0, capabilities),
    F_BOOL("privileged", KEEP),
    F_STRING("procMount", KEEP),
    F_BOOL("readOnlyRootFilesystem", KEEP),
    F_INT("runAsGroup", KEEP),
    F_BOOL("runAsNonRoot", KEEP),
    F_INT("runAsUser", KEEP),
    F_OBJECT("seLinuxOptions", 0, selinux_options),
    F_OBJECT("seccompProfile", 0, seccomp_profile),
    F_OBJECT("windowsOptions", 0, windows_security_context_options),
};
static SCHEMA(security_context, "SecurityContext");

static const struct prg_schema_field sysctl_fields[] = {
    F_STRING("name", REQUIRED),
    F_STRING("value", REQUIRED),
};
static SCHEMA(sysctl, "Sysctl");

static const struct prg_schema_field pod_security_context_fields[] = {
    F_OBJECT("appArmorProfile", 0, app_armor_profile),
    F_INT("fsGroup", KEEP),
    F_STRING("fsGroupChangePolicy", KEEP),
    F_INT("runAsGroup", KEEP),
    F_BOOL("runAsNonRoot", KEEP),
    F_INT("runAsUser", KEEP),
    F_STRING("seLinuxChangePolicy", KEEP),
    F_OBJECT("seLinuxOptions", 0, selinux_options),
    F_OBJECT("seccompProfile", 0, seccomp_profile),
    F_LIST("supplementalGroups", 0, INT),
    F_STRING("supplementalGroupsPolicy", KEEP),
    F_OBJECTS("sysctls", 0, sysctl, NULL),
    F_OBJECT("windowsOptions", 0, windows_security_context_options),
};
static SCHEMA(pod_security_context, "PodSecurityContext");

// ---- containers ----

static const struct prg_schema_field container_port_fields[] = {
    F_INT("containerPort", REQUIRED),
    F_STRING("hostIP", 0),
    F_INT("hostPort", 0),
    F_STRING("name", 0),
    F_STRING("protocol", 0),
};
static SCHEMA(container_port, "ContainerPort");

static const struct prg_schema_field volume_mount_fields[] = {
    F_STRING("mountPath", REQUIRED),
    F_STRING("mountPropagation", KEEP),
    F_STRING("name", REQUIRED),
    F_BOOL("readOnly", 0),
    F_STRING("recursiveReadOnly", KEEP),
    F_STRING("subPath", 0),
    F_STRING("subPathExpr", 0),
};
static SCHEMA(volume_mount, "VolumeMount");

static const struct prg_schema_field volume_device_fields[] = {
    F_STRING("devicePath", REQUIRED),
    F_STRING("name", REQUIRED),
};
static SCHEMA(volume_device, "VolumeDevice");

static const struct prg_schema_field container_fields[] = {
    F_LIST("args", 0, STRING),
    F_LIST("command", 0, STRING),
    F_OBJECTS("env", MERGE, env_var, "name"),
    F_OBJECTS("envFrom", 0, env_from_source, NULL),
    F_STRING("image", 0),
    F_STRING("imagePullPolicy", 0),
    F_OBJECT("lifecycle", 0, lifecycle),
    F_OBJECT("livenessProbe", 0, probe),
    F_STRING("name", REQUIRED),
    F_OBJECTS("ports", MERGE, container_port, "containerPort"),
    F_OBJECT("readinessProbe", 0, probe),
    F_OBJECTS("resizePolicy", 0, container_resize_policy, NULL),
    F_OBJECT("resources", 0, resources),
    F_STRING("restartPolicy", KEEP),
    F_OBJECTS("restartPolicyRules", 0, container_restart_rule, NULL),
    F_OBJECT("securityContext", 0, security_context),
    F_OBJECT("startupProbe", 0, probe),
    F_BOOL("stdin", 0),
    F_BOOL("stdinOnce", 0),
    F_STRING("terminationMessagePath", 0),
    F_STRING("terminationMessagePolicy", 0),
    F_BOOL("tty", 0),
    F_OBJECTS("volumeDevices", MERGE, volume_device, "devicePath"),
    F_OBJECTS("volumeMounts", MERGE, volume_mount, "mountPath"),
    F_STRING("workingDir", 0),
};
SCHEMA(container, "Container");

static const struct prg_schema_field ephemeral_container_fields[] = {
    F_STRING("targetContainerName", 0),
};
static SCHEMA_INLINE(ephemeral_container, "EphemeralContainer", container);

// ---- volume sources ----

static const struct prg_schema_field aws_elastic_block_store_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_INT("partition", 0),
    F_BOOL("readOnly", 0),
    F_STRING("volumeID", REQUIRED),
};
static SCHEMA(aws_elastic_block_store_volume_source, "AWSElasticBlockStoreVolumeSource");

static const struct prg_schema_field azure_disk_volume_source_fields[] = {
    F_STRING("cachingMode", KEEP),
    F_STRING("diskName", REQUIRED),
    F_STRING("diskURI", REQUIRED),
    F_STRING("fsType", KEEP),
    F_STRING("kind", KEEP),
    F_BOOL("readOnly", KEEP),
};
static SCHEMA(azure_disk_volume_source, "AzureDiskVolumeSource");

static const struct prg_schema_field azure_file_volume_source_fields[] = {
    F_BOOL("readOnly", 0),
    F_STRING("secretName", REQUIRED),
    F_STRING("shareName", REQUIRED),
};
static SCHEMA(azure_file_volume_source, "AzureFileVolumeSource");

static const struct prg_schema_field cephfs_volume_source_fields[] = {
    F_LIST("monitors", REQUIRED, STRING),
    F_STRING("path", 0),
    F_BOOL("readOnly", 0),
    F_STRING("secretFile", 0),
    F_OBJECT("secretRef", 0, local_object_reference),
    F_STRING("user", 0),
};
static SCHEMA(cephfs_volume_source, "CephFSVolumeSource");

static const struct prg_schema_field cinder_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_BOOL("readOnly", 0),
    F_OBJECT("secretRef", 0, local_object_reference),
    F_STRING("volumeID", REQUIRED),
};
static SCHEMA(cinder_volume_source, "CinderVolumeSource");

static const struct prg_schema_field config_map_volume_source_fields[] = {
    F_INT("defaultMode", KEEP),
    F_OBJECTS("items", 0, key_to_path, NULL),
    F_STRING("name", 0),
    F_BOOL("optional", KEEP),
};
static SCHEMA(config_map_volume_source, "ConfigMapVolumeSource");

static const struct prg_schema_field csi_volume_source_fields[] = {
    F_STRING("driver", REQUIRED),
    F_STRING("fsType", KEEP),
    F_OBJECT("nodePublishSecretRef", 0, local_object_reference),
    F_BOOL("readOnly", KEEP),
    F_MAP("volumeAttributes", 0, STRING),
};
static SCHEMA(csi_volume_source, "CSIVolumeSource");

static const struct prg_schema_field downward_api_volume_file_fields[] = {
    F_OBJECT("fieldRef", 0, object_field_selector),
    F_INT("mode", KEEP),
    F_STRING("path", REQUIRED),
    F_OBJECT("resourceFieldRef", 0, resource_field_selector),
};
static SCHEMA(downward_api_volume_file, "DownwardAPIVolumeFile");

static const struct prg_schema_field downward_api_volume_source_fields[] = {
    F_INT("defaultMode", KEEP),
    F_OBJECTS("items", 0, downward_api_volume_file, NULL),
};
static SCHEMA(downward_api_volume_source, "DownwardAPIVolumeSource");

static const struct prg_schema_field empty_dir_volume_source_fields[] = {
    F_STRING("medium", 0),
    F_QUANTITY("sizeLimit", KEEP),
};
static SCHEMA(empty_dir_volume_source, "EmptyDirVolumeSource");

static const struct prg_schema_field persistent_volume_claim_spec_fields[] = {
    F_LIST("accessModes", 0, STRING),
    F_OBJECT("dataSource", 0, typed_local_object_reference),
    F_OBJECT("dataSourceRef", 0, typed_object_reference),
    F_OBJECT("resources", 0, volume_resource_requirements),
    F_OBJECT("selector", 0, label_selector),
    F_STRING("storageClassName", KEEP),
    F_STRING("volumeAttributesClassName", KEEP),
    F_STRING("volumeMode", KEEP),
    F_STRING("volumeName", 0),
};
static SCHEMA(persistent_volume_claim_spec, "PersistentVolumeClaimSpec");

static const struct prg_schema_field persistent_volume_claim_template_fields[] = {
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", REQUIRED, persistent_volume_claim_spec),
};
static SCHEMA(persistent_volume_claim_template, "PersistentVolumeClaimTemplate");

static const struct prg_schema_field ephemeral_volume_source_fields[] = {
    F_OBJECT("volumeClaimTemplate", 0, persistent_volume_claim_template),
};
static SCHEMA(ephemeral_volume_source, "EphemeralVolumeSource");

static const struct prg_schema_field fc_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_INT("lun", KEEP),
    F_BOOL("readOnly", 0),
    F_LIST("targetWWNs", 0, STRING),
    F_LIST("wwids", 0, STRING),
};
static SCHEMA(fc_volume_source, "FCVolumeSource");

static const struct prg_schema_field flex_volume_source_fields[] = {
    F_STRING("driver", REQUIRED),
    F_STRING("fsType", 0),
    F_MAP("options", 0, STRING),
    F_BOOL("readOnly", 0),
    F_OBJECT("secretRef", 0, local_object_reference),
};
static SCHEMA(flex_volume_source, "FlexVolumeSource");

static const struct prg_schema_field flocker_volume_source_fields[] = {
    F_STRING("datasetName", 0),
    F_STRING("datasetUUID", 0),
};
static SCHEMA(flocker_volume_source, "FlockerVolumeSource");

static const struct prg_schema_field gce_persistent_disk_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_INT("partition", 0),
    F_STRING("pdName", REQUIRED),
    F_BOOL("readOnly", 0),
};
static SCHEMA(gce_persistent_disk_volume_source, "GCEPersistentDiskVolumeSource");

static const struct prg_schema_field git_repo_volume_source_fields[] = {
    F_STRING("directory", 0),
    F_STRING("repository", REQUIRED),
    F_STRING("revision", 0),
};
static SCHEMA(git_repo_volume_source, "GitRepoVolumeSource");

static const struct prg_schema_field glusterfs_volume_source_fields[] = {
    F_STRING("endpoints", REQUIRED),
    F_STRING("path", REQUIRED),
    F_BOOL("readOnly", 0),
};
static SCHEMA(glusterfs_volume_source, "GlusterfsVolumeSource");

static const struct prg_schema_field host_path_volume_source_fields[] = {
    F_STRING("path", REQUIRED),
    F_STRING("type", KEEP),
};
static SCHEMA(host_path_volume_source, "HostPathVolumeSource");

static const struct prg_schema_field image_volume_source_fields[] = {
    F_STRING("pullPolicy", 0),
    F_STRING("reference", 0),
};
static SCHEMA(image_volume_source, "ImageVolumeSource");

static const struct prg_schema_field iscsi_volume_source_fields[] = {
    F_BOOL("chapAuthDiscovery", 0),
    F_BOOL("chapAuthSession", 0),
    F_STRING("fsType", 0),
    F_STRING("initiatorName", KEEP),
    F_STRING("iqn", REQUIRED),
    F_STRING("iscsiInterface", 0),
    F_INT("lun", REQUIRED),
    F_LIST("portals", 0, STRING),
    F_BOOL("readOnly", 0),
    F_OBJECT("secretRef", 0, local_object_reference),
    F_STRING("targetPortal", REQUIRED),
};
static SCHEMA(iscsi_volume_source, "ISCSIVolumeSource");

static const struct prg_schema_field nfs_volume_source_fields[] = {
    F_STRING("path", REQUIRED),
    F_BOOL("readOnly", 0),
    F_STRING("server", REQUIRED),
};
static SCHEMA(nfs_volume_source, "NFSVolumeSource");

static const struct prg_schema_field persistent_volume_claim_volume_source_fields[] = {
    F_STRING("claimName", REQUIRED),
    F_BOOL("readOnly", 0),
};
static SCHEMA(persistent_volume_claim_volume_source, "PersistentVolumeClaimVolumeSource");

static const struct prg_schema_field photon_persistent_disk_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_STRING("pdID", REQUIRED),
};
static SCHEMA(photon_persistent_disk_volume_source, "PhotonPersistentDiskVolumeSource");

static const struct prg_schema_field portworx_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_BOOL("readOnly", 0),
    F_STRING("volumeID", REQUIRED),
};
static SCHEMA(portworx_volume_source, "PortworxVolumeSource");

static const struct prg_schema_field quobyte_volume_source_fields[] = {
    F_STRING("group", 0),
    F_BOOL("readOnly", 0),
    F_STRING("registry", REQUIRED),
    F_STRING("tenant", 0),
    F_STRING("user", 0),
    F_STRING("volume", REQUIRED),
};
static SCHEMA(quobyte_volume_source, "QuobyteVolumeSource");

static const struct prg_schema_field rbd_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_STRING("image", REQUIRED),
    F_STRING("keyring", 0),
    F_LIST("monitors", REQUIRED, STRING),
    F_STRING("pool", 0),
    F_BOOL("readOnly", 0),
    F_OBJECT("secretRef", 0, local_object_reference),
    F_STRING("user", 0),
};
static SCHEMA(rbd_volume_source, "RBDVolumeSource");

static const struct prg_schema_field scaleio_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_STRING("gateway", REQUIRED),
    F_STRING("protectionDomain", 0),
    F_BOOL("readOnly", 0),
    F_OBJECT("secretRef", 0, local_object_reference),
    F_BOOL("sslEnabled", 0),
    F_STRING("storageMode", 0),
    F_STRING("storagePool", 0),
    F_STRING("system", REQUIRED),
    F_STRING("volumeName", 0),
};
static SCHEMA(scaleio_volume_source, "ScaleIOVolumeSource");

static const struct prg_schema_field secret_volume_source_fields[] = {
    F_INT("defaultMode", KEEP),
    F_OBJECTS("items", 0, key_to_path, NULL),
    F_BOOL("optional", KEEP),
    F_STRING("secretName", 0),
};
static SCHEMA(secret_volume_source, "SecretVolumeSource");

static const struct prg_schema_field storageos_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_BOOL("readOnly", 0),
    F_OBJECT("secretRef", 0, local_object_reference),
    F_STRING("volumeName", 0),
    F_STRING("volumeNamespace", 0),
};
static SCHEMA(storageos_volume_source, "StorageOSVolumeSource");

static const struct prg_schema_field vsphere_virtual_disk_volume_source_fields[] = {
    F_STRING("fsType", 0),
    F_STRING("storagePolicyID", 0),
    F_STRING("storagePolicyName", 0),
    F_STRING("volumePath", REQUIRED),
};
static SCHEMA(vsphere_virtual_disk_volume_source, "VsphereVirtualDiskVolumeSource");

// ---- projected volumes ----

static const struct prg_schema_field cluster_trust_bundle_projection_fields[] = {
    F_OBJECT("labelSelector", 0, label_selector),
    F_STRING("name", KEEP),
    F_BOOL("optional", KEEP),
    F_STRING("path", REQUIRED),
    F_STRING("signerName", KEEP),
};
static SCHEMA(cluster_trust_bundle_projection, "ClusterTrustBundleProjection");

static const struct prg_schema_field config_map_projection_fields[] = {
    F_OBJECTS("items", 0, key_to_path, NULL),
    F_STRING("name", 0),
    F_BOOL("optional", KEEP),
};
static SCHEMA(config_map_projection, "ConfigMapProjection");

static const struct prg_schema_field downward_api_projection_fields[] = {
    F_OBJECTS("items", 0, downward_api_volume_file, NULL),
};
static SCHEMA(downward_api_projection, "DownwardAPIProjection");

static const struct prg_schema_field pod_certificate_projection_fields[] = {
    F_STRING("certificateChainPath", 0),
    F_STRING("credentialBundlePath", 0),
    F_STRING("keyPath", 0),
    F_STRING("keyType", 0),
    F_INT("maxExpirationSeconds", KEEP),
    F_STRING("signerName", 0),
    F_MAP("userAnnotations", 0, STRING),
};
static SCHEMA(pod_certificate_projection, "PodCertificateProjection");

static const struct prg_schema_field secret_projection_fields[] = {
    F_OBJECTS("items", 0, key_to_path, NULL),
    F_STRING("name", 0),
    F_BOOL("optional", KEEP),
};
static SCHEMA(secret_projection, "SecretProjection");

static const struct prg_schema_field service_account_token_projection_fields[] = {
    F_STRING("audience", 0),
    F_INT("expirationSeconds", KEEP),
    F_STRING("path", REQUIRED),
};
static SCHEMA(service_account_token_projection, "ServiceAccountTokenProjection");

static const struct prg_schema_field volume_projection_fields[] = {
    F_OBJECT("clusterTrustBundle", 0, cluster_trust_bundle_projection),
    F_OBJECT("configMap", 0, config_map_projection),
    F_OBJECT("downwardAPI", 0, downward_api_projection),
    F_OBJECT("podCertificate", 0, pod_certificate_projection),
    F_OBJECT("secret", 0, secret_projection),
    F_OBJECT("serviceAccountToken", 0, service_account_token_projection),
};
static SCHEMA(volume_projection, "VolumeProjection");

static const struct prg_schema_field projected_volume_source_fields[] = {
    F_INT("defaultMode", KEEP),
    F_OBJECTS("sources", KEEP, volume_projection, NULL),
};
static SCHEMA(projected_volume_source, "ProjectedVolumeSource");

static const struct prg_schema_field volume_fields[] = {
    F_OBJECT("awsElasticBlockStore", 0, aws_elastic_block_store_volume_source),
    F_OBJECT("azureDisk", 0, azure_disk_volume_source),
    F_OBJECT("azureFile", 0, azure_file_volume_source),
    F_OBJECT("cephfs", 0, cephfs_volume_source),
    F_OBJECT("cinder", 0, cinder_volume_source),
    F_OBJECT("configMap", 0, config_map_volume_source),
    F_OBJECT("csi", 0, csi_volume_source),
    F_OBJECT("downwardAPI", 0, downward_api_volume_source),
    F_OBJECT("emptyDir", 0, empty_dir_volume_source),
    F_OBJECT("ephemeral", 0, ephemeral_volume_source),
    F_OBJECT("fc", 0, fc_volume_source),
    F_OBJECT("flexVolume", 0, flex_volume_source),
    F_OBJECT("flocker", 0, flocker_volume_source),
    F_OBJECT("gcePersistentDisk", 0, gce_persistent_disk_volume_source),
    F_OBJECT("gitRepo", 0, git_repo_volume_source),
    F_OBJECT("glusterfs", 0, glusterfs_volume_source),
    F_OBJECT("hostPath", 0, host_path_volume_source),
    F_OBJECT("image", 0, image_volume_source),
    F_OBJECT("iscsi", 0, iscsi_volume_source),
    F_STRING("name", REQUIRED),
    F_OBJECT("nfs", 0, nfs_volume_source),
    F_OBJECT("persistentVolumeClaim", 0, persistent_volume_claim_volume_source),
    F_OBJECT("photonPersistentDisk", 0, photon_persistent_disk_volume_source),
    F_OBJECT("portworxVolume", 0, portworx_volume_source),
    F_OBJECT("projected", 0, projected_volume_source),
    F_OBJECT("quobyte", 0, quobyte_volume_source),
    F_OBJECT("rbd", 0, rbd_volume_source),
    F_OBJECT("scaleIO", 0, scaleio_volume_source),
    F_OBJECT("secret", 0, secret_volume_source),
    F_OBJECT("storageos", 0, storageos_volume_source),
    F_OBJECT("vsphereVolume", 0, vsphere_virtual_disk_volume_source),
};
static SCHEMA(volume, "Volume");

// ---- scheduling ----

static const struct prg_schema_field node_selector_requirement_fields[] = {
    F_STRING("key", REQUIRED),
    F_STRING("operator", REQUIRED),
    F_LIST("values", 0, STRING),
};
static SCHEMA(node_selector_requirement, "NodeSelectorRequirement");

static const struct prg_schema_field node_selector_term_fields[] = {
    F_OBJECTS("matchExpressions", 0, node_selector_requirement, NULL),
    F_OBJECTS("matchFields", 0, node_selector_requirement, NULL),
};
static SCHEMA(node_selector_term, "NodeSelectorTerm");

static const struct prg_schema_field node_selector_fields[] = {
    F_OBJECTS("nodeSelectorTerms", REQUIRED, node_selector_term, NULL),
};
static SCHEMA(node_selector, "NodeSelector");

static const struct prg_schema_field preferred_scheduling_term_fields[] = {
    F_OBJECT("preference", REQUIRED, node_selector_term),
    F_INT("weight", REQUIRED),
};
static SCHEMA(preferred_scheduling_term, "PreferredSchedulingTerm");

static const struct prg_schema_field node_affinity_fields[] = {
    F_OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", 0, preferred_scheduling_term, NULL),
    F_OBJECT("requiredDuringSchedulingIgnoredDuringExecution", 0, node_selector),
};
static SCHEMA(node_affinity, "NodeAffinity");

static const struct prg_schema_field pod_affinity_term_fields[] = {
    F_OBJECT("labelSelector", 0, label_selector),
    F_LIST("matchLabelKeys", 0, STRING),
    F_LIST("mismatchLabelKeys", 0, STRING),
    F_OBJECT("namespaceSelector", 0, label_selector),
    F_LIST("namespaces", 0, STRING),
    F_STRING("topologyKey", REQUIRED),
};
static SCHEMA(pod_affinity_term, "PodAffinityTerm");

static const struct prg_schema_field weighted_pod_affinity_term_fields[] = {
    F_OBJECT("podAffinityTerm", REQUIRED, pod_affinity_term),
    F_INT("weight", REQUIRED),
};
static SCHEMA(weighted_pod_affinity_term, "WeightedPodAffinityTerm");

static const struct prg_schema_field pod_affinity_fields[] = {
    F_OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", 0, weighted_pod_affinity_term, NULL),
    F_OBJECTS("requiredDuringSchedulingIgnoredDuringExecution", 0, pod_affinity_term, NULL),
};
static SCHEMA(pod_affinity, "PodAffinity");

static const struct prg_schema_field pod_anti_affinity_fields[] = {
    F_OBJECTS("preferredDuringSchedulingIgnoredDuringExecution", 0, weighted_pod_affinity_term, NULL),
    F_OBJECTS("requiredDuringSchedulingIgnoredDuringExecution", 0, pod_affinity_term, NULL),
};
static SCHEMA(pod_anti_affinity, "PodAntiAffinity");

static const struct prg_schema_field affinity_fields[] = {
    F_OBJECT("nodeAffinity", 0, node_affinity),
    F_OBJECT("podAffinity", 0, pod_affinity),
    F_OBJECT("podAntiAffinity", 0, pod_anti_affinity),
};
static SCHEMA(affinity, "Affinity");

static const struct prg_schema_field toleration_fields[] = {
    F_STRING("effect", 0),
    F_STRING("key", 0),
    F_STRING("operator", 0),
    F_INT("tolerationSeconds", KEEP),
    F_STRING("value", 0),
};
static SCHEMA(toleration, "Toleration");

static const struct prg_schema_field topology_spread_constraint_fields[] = {
    F_OBJECT("labelSelector", 0, label_selector),
    F_LIST("matchLabelKeys", 0, STRING),
    F_INT("maxSkew", REQUIRED),
    F_INT("minDomains", KEEP),
    F_STRING("nodeAffinityPolicy", KEEP),
    F_STRING("nodeTaintsPolicy", KEEP),
    F_STRING("topologyKey", REQUIRED),
    F_STRING("whenUnsatisfiable", REQUIRED),
};
static SCHEMA(topology_spread_constraint, "TopologySpreadConstraint");

static const struct prg_schema_field pod_scheduling_gate_fields[] = {
    F_STRING("name", REQUIRED),
};
static SCHEMA(pod_scheduling_gate, "PodSchedulingGate");

static const struct prg_schema_field pod_scheduling_group_fields[] = {
    F_STRING("podGroupName", KEEP),
};
static SCHEMA(pod_scheduling_group, "PodSchedulingGroup");

static const struct prg_schema_field pod_resource_claim_fields[] = {
    F_STRING("name", REQUIRED),
    F_STRING("resourceClaimName", KEEP),
    F_STRING("resourceClaimTemplateName", KEEP),
};
static SCHEMA(pod_resource_claim, "PodResourceClaim");

// ---- the pod ----

static const struct prg_schema_field host_alias_fields[] = {
    F_LIST("hostnames", 0, STRING),
    F_STRING("ip", REQUIRED),
};
static SCHEMA(host_alias, "HostAlias");

static const struct prg_schema_field pod_dns_config_option_fields[] = {
    F_STRING("name", 0),
    F_STRING("value", KEEP),
};
static SCHEMA(pod_dns_config_option, "PodDNSConfigOption");

static const struct prg_schema_field pod_dns_config_fields[] = {
    F_LIST("nameservers", 0, STRING),
    F_OBJECTS("options", 0, pod_dns_config_option, NULL),
    F_LIST("searches", 0, STRING),
};
static SCHEMA(pod_dns_config, "PodDNSConfig");

static const struct prg_schema_field pod_os_fields[] = {
    F_STRING("name", REQUIRED),
};
static SCHEMA(pod_os, "PodOS");

static const struct prg_schema_field pod_readiness_gate_fields[] = {
    F_STRING("conditionType", REQUIRED),
};
static SCHEMA(pod_readiness_gate, "PodReadinessGate");

static const struct prg_schema_field pod_spec_fields[] = {
    F_INT("activeDeadlineSeconds", KEEP),
    F_OBJECT("affinity", 0, affinity),
    F_BOOL("automountServiceAccountToken", KEEP),
    F_OBJECTS("containers", REQUIRED | MERGE, container, "name"),
    F_OBJECT("dnsConfig", 0, pod_dns_config),
    F_STRING("dnsPolicy", 0),
    F_BOOL("enableServiceLinks", KEEP),
    F_OBJECTS("ephemeralContainers", MERGE, ephemeral_container, "name"),
    F_OBJECTS("hostAliases", MERGE, host_alias, "ip"),
    F_BOOL("hostIPC", 0),
    F_BOOL("hostNetwork", 0),
    F_BOOL("hostPID", 0),
    F_BOOL("hostUsers", KEEP),
    F_STRING("hostname", 0),
    F_STRING("hostnameOverride", KEEP),
    F_OBJECTS("imagePullSecrets", MERGE, local_object_reference, "name"),
    F_OBJECTS("initContainers", MERGE, container, "name"),
    F_STRING("nodeName", 0),
    F_MAP("nodeSelector", 0, STRING),
    F_OBJECT("os", 0, pod_os),
    F_MAP("overhead", 0, QUANTITY),
    F_STRING("preemptionPolicy", KEEP),
    F_INT("priority", KEEP),
    F_STRING("priorityClassName", 0),
    F_OBJECTS("readinessGates", 0, pod_readiness_gate, NULL),
    F_OBJECTS("resourceClaims", MERGE | RETAIN, pod_resource_claim, "name"),
    F_OBJECT("resources", 0, resources),
    F_STRING("restartPolicy", 0),
    F_STRING("runtimeClassName", KEEP),
    F_STRING("schedulerName", 0),
    F_OBJECTS("schedulingGates", MERGE, pod_scheduling_gate, "name"),
    F_OBJECT("schedulingGroup", 0, pod_scheduling_group),
    F_OBJECT("securityContext", 0, pod_security_context),
    F_STRING("serviceAccount", 0),
    F_STRING("serviceAccountName", 0),
    F_BOOL("setHostnameAsFQDN", KEEP),
    F_BOOL("shareProcessNamespace", KEEP),
    F_STRING("subdomain", 0),
    F_INT("terminationGracePeriodSeconds", KEEP),
    F_OBJECTS("tolerations", 0, toleration, NULL),
    F_OBJECTS("topologySpreadConstraints", MERGE, topology_spread_constraint, "topologyKey"),
    F_OBJECTS("volumes", MERGE | RETAIN, volume, "name"),
};
SCHEMA(pod_spec, "PodSpec");

static const struct prg_schema_field pod_template_fields[] = {
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, pod_spec),
};
SCHEMA(pod_template, "PodTemplateSpec");

// The status is read by planners, never merged or rendered.
static const struct prg_schema_field pod_fields[] = {
    F_STRING("apiVersion", 0),     F_STRING("kind", 0), F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", 0, pod_spec), F_ANY("status", 0),
};
SCHEMA(pod, "Pod");
