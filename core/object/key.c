// SPDX-License-Identifier: Apache-2.0
// key.c: keys of objects, their order and text, and the scope of well-known kinds.
#include "object/key.h"

#include <string.h>

// Reads a required or optional text member. Texts with NUL are refused: keys are C strings from here on.
static int text_member(const cJSON *object, const char *key, const char *pointer, bool required, const char **ret,
                       struct prg_error *err)
{
    const cJSON *node = prg_json_get(object, key);
    if (!node || prg_json_is_null(node)) {
        if (required)
            return prg_fail(err, PRG_INVALID, "%s is missing", pointer);
        *ret = "";
        return PRG_OK;
    }
    if (!prg_json_is_string(node))
        return prg_fail(err, PRG_INVALID, "%s must be a string, not %s", pointer, prg_json_type_name(node));
    const char *text = prg_json_text(node);
    if (strlen(text) != prg_json_text_length(node))
        return prg_fail(err, PRG_INVALID, "%s holds a NUL byte", pointer);
    if (required && !*text)
        return prg_fail(err, PRG_INVALID, "%s is empty", pointer);
    *ret = text;
    return PRG_OK;
}

int prg_key_of(struct prg_arena *arena, const cJSON *object, struct prg_key *ret, struct prg_error *err)
{
    struct prg_key key;
    const char *api_version;

    if (!prg_json_is_object(object))
        return prg_fail(err, PRG_INVALID, "an object is expected, not %s", prg_json_type_name(object));
    const cJSON *meta = prg_json_get(object, "metadata");
    if (meta && !prg_json_is_null(meta) && !prg_json_is_object(meta))
        return prg_fail(err, PRG_INVALID, "/metadata must be an object, not %s", prg_json_type_name(meta));
    if (text_member(object, "apiVersion", "/apiVersion", true, &api_version, err) ||
        text_member(object, "kind", "/kind", true, &key.kind, err) ||
        text_member(meta, "name", "/metadata/name", true, &key.name, err) ||
        text_member(meta, "namespace", "/metadata/namespace", false, &key.ns, err))
        return PRG_INVALID;
    const char *slash = strchr(api_version, '/');
    if (slash && (slash == api_version || !slash[1] || strchr(slash + 1, '/')))
        return prg_fail(err, PRG_INVALID, "/apiVersion '%s' is not of the form VERSION or GROUP/VERSION", api_version);
    key.group = prg_api_group(arena, api_version);
    *ret = key;
    return PRG_OK;
}

int prg_key_compare(const struct prg_key *a, const struct prg_key *b)
{
    int c = strcmp(a->kind, b->kind);
    if (!c)
        c = strcmp(a->ns, b->ns);
    if (!c)
        c = strcmp(a->name, b->name);
    return c ? c : strcmp(a->group, b->group);
}

bool prg_key_equal(const struct prg_key *a, const struct prg_key *b)
{
    return prg_key_compare(a, b) == 0;
}

const char *prg_key_text(struct prg_arena *arena, const struct prg_key *key)
{
    return prg_arena_printf(arena, "%s%s%s %s%s%s", key->group, *key->group ? "/" : "", key->kind, key->ns,
                            *key->ns ? "/" : "", key->name);
}

const char *prg_api_group(struct prg_arena *arena, const char *api_version)
{
    const char *slash = api_version ? strchr(api_version, '/') : NULL;
    return slash ? prg_arena_strndup(arena, api_version, (size_t)(slash - api_version)) : "";
}

// Source: the `scope: Cluster` of each API. Kinds that are not here are namespaced.
static const struct {
    const char *group, *kind;
} cluster_scoped[] = {
    {"", "ComponentStatus"},
    {"", "Namespace"},
    {"", "Node"},
    {"", "PersistentVolume"},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicy"},
    {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
    {"apiextensions.k8s.io", "CustomResourceDefinition"},
    {"apiregistration.k8s.io", "APIService"},
    {"authentication.k8s.io", "SelfSubjectReview"},
    {"authentication.k8s.io", "TokenReview"},
    {"authorization.k8s.io", "SelfSubjectAccessReview"},
    {"authorization.k8s.io", "SelfSubjectRulesReview"},
    {"authorization.k8s.io", "SubjectAccessReview"},
    {"cert-manager.io", "ClusterIssuer"},
    {"certificates.k8s.io", "CertificateSigningRequest"},
    {"certificates.k8s.io", "ClusterTrustBundle"},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema"},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"},
    {"gateway.networking.k8s.io", "GatewayClass"},
    {"keda.sh", "ClusterTriggerAuthentication"},
    {"networking.internal.knative.dev", "ClusterDomainClaim"},
    {"networking.k8s.io", "IPAddress"},
    {"networking.k8s.io", "IngressClass"},
    {"networking.k8s.io", "ServiceCIDR"},
    {"node.k8s.io", "RuntimeClass"},
    {"rbac.authorization.k8s.io", "ClusterRole"},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    {"resource.k8s.io", "DeviceClass"},
    {"resource.k8s.io", "DeviceTaintRule"},
    {"resource.k8s.io", "ResourceSlice"},
    {"scheduling.k8s.io", "PriorityClass"},
    {"serving.kserve.io", "ClusterServingRuntime"},
    {"serving.kserve.io", "ClusterStorageContainer"},
    {"serving.kserve.io", "LocalModelCache"},
    {"serving.kserve.io", "LocalModelNode"},
    {"serving.kserve.io", "LocalModelNodeGroup"},
    {"storage.k8s.io", "CSIDriver"},
    {"storage.k8s.io", "CSINode"},
    {"storage.k8s.io", "StorageClass"},
    {"storage.k8s.io", "VolumeAttachment"},
    {"storage.k8s.io", "VolumeAttributesClass"},
};

bool prg_kind_is_cluster_scoped(const char *group, const char *kind)
{
    for (size_t i = 0; i < PRG_COUNT(cluster_scoped); i++)
        if (prg_text_equal(cluster_scoped[i].kind, kind) && prg_text_equal(cluster_scoped[i].group, group))
            return true;
    return false;
}
