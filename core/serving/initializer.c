// SPDX-License-Identifier: Apache-2.0
// initializer.c: making a pod spec load its models.
#include "serving/initializer.h"

#include <string.h>

#include "object/quantity.h"
#include "plan/origin.h"
#include "serving/podspec.h"
#include "serving/predictor.h"
#include "json/strategic.h"

#define CONTAINER_NAME "storage-initializer"
#define READONLY_ANNOTATION "storage.kserve.io/readonly"
#define SINGLE_VOLUME "kserve-provision-location"
#define CLAIM_VOLUME "kserve-pvc-source"
#define CA_VOLUME "cabundle-cert"
#define CA_DEFAULT_PATH "/etc/ssl/custom-certs"

// ---- small steps ----

static cJSON *env_entry(struct prg_arena *arena, cJSON *container, const char *name)
{
    cJSON *entry = prg_json_object(arena);
    prg_json_set_string(arena, entry, "name", name);
    prg_json_append(prg_json_ensure_array(arena, container, "env"), entry);
    return entry;
}

void prg_env_append(struct prg_arena *arena, cJSON *container, const char *name, const char *value)
{
    cJSON *entry = env_entry(arena, container, name);
    if (value && *value)
        prg_json_set_string(arena, entry, "value", value);
    prg_json_tag(entry, PRG_ORIGIN_STORAGE);
}

void prg_env_append_secret(struct prg_arena *arena, cJSON *container, const char *name, const char *secret,
                           const char *key)
{
    cJSON *entry = env_entry(arena, container, name);
    cJSON *from = prg_json_ensure_object(arena, entry, "valueFrom");
    cJSON *ref = prg_json_ensure_object(arena, from, "secretKeyRef");
    prg_json_set_string(arena, ref, "name", secret);
    prg_json_set_string(arena, ref, "key", key);
    prg_json_tag(entry, PRG_ORIGIN_STORAGE);
}

cJSON *prg_volume_mount(struct prg_arena *arena, const char *name, const char *path, const char *sub_path,
                        bool is_read_only)
{
    cJSON *mount = prg_json_object(arena);
    prg_json_set_string(arena, mount, "name", name);
    if (is_read_only)
        prg_json_set_bool(arena, mount, "readOnly", true);
    prg_json_set_string(arena, mount, "mountPath", path);
    if (sub_path && *sub_path)
        prg_json_set_string(arena, mount, "subPath", sub_path);
    prg_json_tag(mount, PRG_ORIGIN_STORAGE);
    return mount;
}

void prg_volume_add(struct prg_arena *arena, cJSON *pod_spec, cJSON *volume)
{
    cJSON *volumes = prg_json_ensure_array(arena, pod_spec, "volumes");
    const char *name = prg_json_get_text(volume, "name");
    if (prg_named_item(volumes, name ? name : ""))
        return;
    prg_json_tag(volume, PRG_ORIGIN_STORAGE);
    prg_json_append(volumes, volume);
}

static cJSON *volume_named(struct prg_arena *arena, const char *name)
{
    cJSON *volume = prg_json_object(arena);
    prg_json_set_string(arena, volume, "name", name);
    return volume;
}

cJSON *prg_empty_dir(struct prg_arena *arena, const char *name)
{
    cJSON *volume = volume_named(arena, name);
    prg_json_set(arena, volume, "emptyDir", prg_json_object(arena));
    return volume;
}

static cJSON *claim_volume(struct prg_arena *arena, const char *name, const char *claim)
{
    cJSON *volume = volume_named(arena, name);
    prg_json_set_string(arena, prg_json_ensure_object(arena, volume, "persistentVolumeClaim"), "claimName", claim);
    return volume;
}

cJSON *prg_resources(struct prg_arena *arena, const char *cpu_limit, const char *memory_limit, const char *cpu_request,
                     const char *memory_request)
{
    cJSON *resources = prg_json_object(arena);
    cJSON *limits = prg_json_ensure_object(arena, resources, "limits");
    cJSON *requests = prg_json_ensure_object(arena, resources, "requests");
    prg_json_set_string(arena, limits, "cpu", cpu_limit);
    prg_json_set_string(arena, limits, "memory", memory_limit);
    prg_json_set_string(arena, requests, "cpu", cpu_request);
    prg_json_set_string(arena, requests, "memory", memory_request);
    return resources;
}

// ---- configuration ----

static int read_quantity(struct prg_arena *arena, const cJSON *section, const char *key, const char *fallback,
                         const char **ret, struct prg_error *err)
{
    const char *text = prg_json_get_text(section, key);
    if (!text || !*text)
        text = fallback ? fallback : "";
    if (prg_quantity_canonical(arena, text, ret, err) != PRG_OK)
        return prg_wrap(err, "ConfigMap inferenceservice-config: key 'storageInitializer': /%s", key);
    return PRG_OK;
}

int prg_initializer_config_read(struct prg_arena *arena, const struct prg_serving_config *config,
                                struct prg_initializer_config *ret, struct prg_error *err)
{
    const cJSON *section = NULL;
    memset(ret, 0, sizeof(*ret));
    if (prg_serving_config_section(config, "storageInitializer", &section, err) != PRG_OK ||
        read_quantity(arena, section, "memoryRequest", NULL, &ret->memory_request, err) != PRG_OK ||
        read_quantity(arena, section, "memoryLimit", NULL, &ret->memory_limit, err) != PRG_OK ||
        read_quantity(arena, section, "cpuRequest", NULL, &ret->cpu_request, err) != PRG_OK ||
        read_quantity(arena, section, "cpuLimit", NULL, &ret->cpu_limit, err) != PRG_OK ||
        read_quantity(arena, section, "cpuModelcar", "10m", &ret->cpu_modelcar, err) != PRG_OK ||
        read_quantity(arena, section, "memoryModelcar", "15Mi", &ret->memory_modelcar, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    const char *image = prg_json_get_text(section, "image");
    const char *config_map = prg_json_get_text(section, "caBundleConfigMapName");
    const char *path = prg_json_get_text(section, "caBundleVolumeMountPath");
    ret->image = image && *image ? image : "kserve/storage-initializer:latest";
    ret->ca_bundle_config_map = config_map ? config_map : "";
    ret->ca_bundle_path = path ? path : "";
    ret->is_modelcar_enabled = prg_json_get_true(section, "enableModelcar");
    ret->has_uid_modelcar = prg_json_get_int64(section, "uidModelcar", &ret->uid_modelcar);
    return PRG_OK;
}

bool prg_initializer_loads(const struct prg_serving_config *config, const char *uri)
{
    const cJSON *section = prg_json_get(config->sections, "storageInitializer");
    if (prg_text_has_prefix(uri, "pvc://"))
        return false;
    return !(prg_text_has_prefix(uri, "oci://") && prg_json_get_true(section, "enableModelcar"));
}

// ---- paths ----

// Text without its leading and trailing slashes.
static const char *trim_slashes(struct prg_arena *arena, const char *path)
{
    size_t length;
    while (*path == '/')
        path++;
    length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    return prg_arena_strndup(arena, path, length);
}

// GetVolumeNameFromPath: "/mnt/models/a" -> "mnt-models-a".
static const char *volume_name(struct prg_arena *arena, const char *path)
{
    char *name = prg_arena_strdup(arena, trim_slashes(arena, path));
    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '-';
    return name;
}

static const char *uri_of(const cJSON *entry)
{
    const char *text = prg_json_get_text(entry, "uri");
    return text ? text : "";
}

static const char *path_of(const cJSON *entry)
{
    const char *text = prg_json_get_text(entry, "mountPath");
    return text ? text : "";
}

// Length of the path components that both have in common, at a component's end.
static size_t common_length(const char *a, const char *b)
{
    size_t i = 0, last = 0;
    while (a[i] && a[i] == b[i]) {
        if (a[i] == '/')
            last = i;
        i++;
    }
    bool ends_a = !a[i] || a[i] == '/', ends_b = !b[i] || b[i] == '/';
    return ends_a && ends_b ? i : last;
}

// FindCommonParentPath. One path is its own parent, unchanged; without anything in common it is "/".
static int common_parent(struct prg_arena *arena, const cJSON *uris, const char **ret, struct prg_error *err)
{
    const cJSON *entry;
    char *common = NULL;
    bool is_some_empty = false, is_some_full = false;
    if (prg_json_count(uris) == 1) {
        *ret = path_of(prg_json_item(uris, 0));
        return PRG_OK;
    }
    prg_json_each (entry, uris) {
        const char *path = trim_slashes(arena, path_of(entry));
        is_some_empty |= !*path;
        is_some_full |= *path != '\0';
        if (!common)
            common = prg_arena_strdup(arena, path);
        else
            common[common_length(common, path)] = '\0';
    }
    if (is_some_empty && is_some_full) // the original crashes
        return prg_fail(err, PRG_INVALID, "storageUris: an empty mountPath beside others; give each entry a path");
    *ret = common && *common ? prg_arena_printf(arena, "/%s", common) : "/";
    return PRG_OK;
}

// ---- mounting ----

struct work {
    const struct prg_initializer *in;
    struct prg_arena *arena;
    struct prg_initializer_config config;
    cJSON *pod_spec;
    cJSON *user, *transformer; // containers that read the model
    cJSON *initializer;        // the storage-initializer container, when one was added
    bool is_read_only;
};

static cJSON *list_of(struct work *w, const char *key)
{
    cJSON *list = prg_json_get(w->pod_spec, key);
    return prg_json_is_array(list) ? list : NULL;
}

// AddModelMount for one container: the mount, then its volume. A mount of that name that is there already keeps both
// away. The initializer always needs to write.
static void mount(struct work *w, cJSON *container, const char *name, const char *path, const char *sub_path,
                  const char *claim)
{
    cJSON *mounts = prg_json_ensure_array(w->arena, container, "volumeMounts");
    if (prg_named_item(mounts, name))
        return;
    bool is_read_only = w->is_read_only && container != w->initializer;
    prg_json_append(mounts, prg_volume_mount(w->arena, name, path, sub_path, is_read_only));
    prg_volume_add(w->arena, w->pod_spec, *claim ? claim_volume(w->arena, name, claim) : prg_empty_dir(w->arena, name));
}

static void mount_readers(struct work *w, const char *name, const char *path, const char *sub_path, const char *claim)
{
    mount(w, w->user, name, path, sub_path, claim);
    if (w->transformer)
        mount(w, w->transformer, name, path, sub_path, claim);
}

// "pvc://CLAIM/PATH": the claim, and the rest in *ret_path.
static const char *claim_of(struct prg_arena *arena, const char *uri, const char **ret_path)
{
    const char *rest = uri + strlen("pvc://"), *slash = strchr(rest, '/');
    *ret_path = slash ? slash + 1 : "";
    return slash ? prg_arena_strndup(arena, rest, (size_t)(slash - rest)) : rest;
}

// CreateInitContainerWithConfig
static void add_initializer(struct work *w, cJSON *args)
{
    cJSON *container = prg_json_object(w->arena);
    prg_json_set_string(w->arena, container, "name", CONTAINER_NAME);
    prg_json_set_string(w->arena, container, "image", w->config.image);
    prg_json_set(w->arena, container, "args", args);
    prg_json_set(w->arena, container, "resources",
                 prg_resources(w->arena, w->config.cpu_limit, w->config.memory_limit, w->config.cpu_request,
                               w->config.memory_request));
    prg_json_set_string(w->arena, container, "terminationMessagePolicy", "FallbackToLogsOnError");
    prg_json_tag(container, PRG_ORIGIN_STORAGE);
    prg_json_append(prg_json_ensure_array(w->arena, w->pod_spec, "initContainers"), container);
    w->initializer = container;
}

static void add_args(struct work *w, cJSON *args, const char *uri, const char *path)
{
    prg_json_append(args, prg_json_string(w->arena, uri));
    prg_json_append(args, prg_json_string(w->arena, path));
}

// ---- several URIs ----

static int add_modelcars(struct work *w, const cJSON *images, struct prg_error *err)
{
    const cJSON *entry;
    size_t index = 0;
    if (prg_modelcar_check_paths(w->arena, images, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    prg_json_each (entry, images) {
        const char *targets[] = {prg_json_get_text(w->user, "name"), w->transformer ? PRG_CONTAINER_TRANSFORMER : NULL};
        for (size_t i = 0; i < PRG_COUNT(targets); i++)
            if (targets[i] && prg_modelcar_add(w->arena, &w->config, uri_of(entry), path_of(entry), targets[i], index,
                                               w->pod_spec, err) != PRG_OK)
                return err ? err->code : PRG_INVALID;
        index++;
    }
    return PRG_OK;
}

static int check_several(struct work *w, struct prg_error *err)
{
    const cJSON *spec = prg_json_get(w->in->storage_container, "spec");
    const char *name = prg_json_text(prg_json_at(spec, "container", "name"));
    if (spec && !prg_json_get_true(spec, "supportsMultiModelDownload"))
        return prg_fail(err, PRG_INVALID,
                        "storage container \"%s\" does not support multi-model download; use the default kserve "
                        "storage initializer or a compatible storage container",
                        name ? name : "");
    return PRG_OK;
}

static int mount_several(struct work *w, struct prg_error *err)
{
    cJSON *images = prg_json_array(w->arena), *downloads = prg_json_array(w->arena);
    const cJSON *entry;
    if (check_several(w, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    prg_json_each (entry, w->in->uris) {
        if (w->config.is_modelcar_enabled && prg_text_has_prefix(uri_of(entry), "oci://"))
            prg_json_append(images, prg_json_copy(w->arena, entry));
        else if (!prg_text_has_prefix(uri_of(entry), "pvc://"))
            prg_json_append(downloads, prg_json_copy(w->arena, entry));
    }
    if (prg_json_count(images) && add_modelcars(w, images, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    prg_json_each (entry, w->in->uris) {
        const char *path;
        if (prg_text_has_prefix(uri_of(entry), "pvc://"))
            mount_readers(w, volume_name(w->arena, path_of(entry)), path_of(entry), "",
                          claim_of(w->arena, uri_of(entry), &path));
    }
    if (prg_json_count(downloads) == 0)
        return PRG_OK;
    const char *parent;
    cJSON *args = prg_json_array(w->arena);
    if (common_parent(w->arena, downloads, &parent, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    prg_json_each (entry, downloads)
        add_args(w, args, uri_of(entry), path_of(entry));
    add_initializer(w, args);
    mount_readers(w, volume_name(w->arena, parent), parent, "", "");
    mount(w, w->initializer, volume_name(w->arena, parent), parent, "", "");
    return PRG_OK;
}

// ---- one URI, as the pod webhook has it ----

static void mount_single(struct work *w)
{
    const cJSON *entry = prg_json_item(w->in->uris, 0);
    const char *uri = uri_of(entry), *path = "";
    cJSON *variable;
    if (prg_text_has_prefix(uri, "pvc://")) {
        const char *claim = claim_of(w->arena, uri, &path);
        mount_readers(w, CLAIM_VOLUME, PRG_MODEL_PATH, path, claim);
    } else {
        cJSON *args = prg_json_array(w->arena);
        add_args(w, args, uri, path_of(entry));
        add_initializer(w, args);
        mount_readers(w, SINGLE_VOLUME, PRG_MODEL_PATH, "", "");
        mount(w, w->initializer, SINGLE_VOLUME, PRG_MODEL_PATH, "", "");
    }
    // A custom predictor finds its model where it is now.
    prg_json_each (variable, prg_json_get(w->user, "env")) {
        const char *value = prg_json_get_text(variable, "value");
        if (prg_text_equal(prg_json_get_text(variable, "name"), "STORAGE_URI") && value && *value)
            prg_json_set_string(w->arena, variable, "value", PRG_MODEL_PATH);
    }
}

// ---- the initializer's own settings ----

static const char *env_value(const cJSON *container, const char *name)
{
    return prg_json_get_text(prg_named_item(prg_json_get(container, "env"), name), "value");
}

// The directory of a path, as filepath.Dir gives it for the paths that stand here.
static const char *directory_of(struct prg_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    while (slash > path && slash[-1] == '/')
        slash--;
    return slash == path ? "/" : prg_arena_strndup(arena, path, (size_t)(slash - path));
}

static void add_ca_bundle(struct work *w)
{
    const char *config_map = w->config.ca_bundle_config_map, *path = w->config.ca_bundle_path;
    const cJSON *from_secret = prg_named_item(prg_json_get(w->initializer, "env"), "AWS_CA_BUNDLE_CONFIGMAP");
    if (!*config_map && !from_secret)
        return;
    if (!prg_text_equal(w->in->ns, "kserve"))
        config_map = "global-ca-bundle"; // the copy that the controller keeps in every namespace
    if (!*path)
        path = CA_DEFAULT_PATH;
    if (from_secret) {
        const char *value = prg_json_get_text(from_secret, "value");
        config_map = value ? value : "";
    }
    const char *bundle = env_value(w->initializer, "AWS_CA_BUNDLE");
    if (bundle)
        path = directory_of(w->arena, bundle);
    prg_env_append(w->arena, w->initializer, "CA_BUNDLE_CONFIGMAP_NAME", config_map);
    prg_env_append(w->arena, w->initializer, "CA_BUNDLE_VOLUME_MOUNT_POINT", path);
    cJSON *volume = volume_named(w->arena, CA_VOLUME);
    prg_json_set_string(w->arena, prg_json_ensure_object(w->arena, volume, "configMap"), "name", config_map);
    prg_json_tag(volume, PRG_ORIGIN_STORAGE);
    prg_json_append(prg_json_ensure_array(w->arena, w->pod_spec, "volumes"), volume);
    prg_json_append(prg_json_ensure_array(w->arena, w->initializer, "volumeMounts"),
                    prg_volume_mount(w->arena, CA_VOLUME, path, "", true));
}

// Variables of the storage container replace ours of the same name where they stand; the others follow.
static cJSON *merge_env(struct prg_arena *arena, const cJSON *ours, const cJSON *theirs)
{
    cJSON *env = prg_json_array(arena);
    const cJSON *entry;
    prg_json_each (entry, ours) {
        const char *name = prg_json_get_text(entry, "name");
        const cJSON *other = prg_named_item(theirs, name ? name : "");
        prg_json_append(env, prg_json_copy(arena, other ? other : entry));
    }
    prg_json_each (entry, theirs) {
        const char *name = prg_json_get_text(entry, "name");
        if (!prg_named_item(env, name ? name : ""))
            prg_json_append(env, prg_json_copy(arena, entry));
    }
    return env;
}

// mergeContainerSpecs: the storage container's own settings over what was made here.
static int merge_storage_container(struct work *w, struct prg_error *err)
{
    const cJSON *spec = prg_json_at(w->in->storage_container, "spec", "container");
    cJSON *theirs = NULL, *merged = NULL;
    if (!spec)
        return PRG_OK;
    if (prg_typed_normal(w->arena, &prg_schema_container, spec, &theirs, err) != PRG_OK)
        return prg_wrap(err, "storage container: /spec/container");
    prg_json_tag(theirs, PRG_ORIGIN_STORAGE);
    cJSON *their_env = prg_json_remove(theirs, "env"), *our_env = prg_json_remove(w->initializer, "env");
    if (prg_strategic_apply(w->arena, &prg_schema_container, w->initializer, theirs, &merged, err) != PRG_OK)
        return prg_wrap(err, "storage container: /spec/container");
    cJSON *env = merge_env(w->arena, our_env, their_env);
    if (prg_json_count(env))
        prg_json_set(w->arena, merged, "env", env);
    prg_json_replace(prg_json_get(w->pod_spec, "initContainers"), w->initializer, merged);
    w->initializer = merged;
    return PRG_OK;
}

static void add_download_settings(struct work *w)
{
    static const char *const defaults[][2] = {{"HF_HUB_ENABLE_HF_TRANSFER", "1"},
                                              {"HF_XET_HIGH_PERFORMANCE", "1"},
                                              {"HF_XET_NUM_CONCURRENT_RANGE_GETS", "8"}};
    for (size_t i = 0; i < PRG_COUNT(defaults); i++)
        if (!prg_named_item(prg_json_get(w->initializer, "env"), defaults[i][0]))
            prg_env_append(w->arena, w->initializer, defaults[i][0], defaults[i][1]);
    const char *id = prg_json_get_text(w->in->annotations, PRG_ANNOTATION_CONFIDENTIAL_ID);
    if (!prg_text_equal(prg_json_get_text(w->in->annotations, PRG_ANNOTATION_CONFIDENTIAL), "true"))
        return;
    prg_env_append(w->arena, w->initializer, "CONFIDENTIAL_ENABLED", "true");
    if (id && *id)
        prg_env_append(w->arena, w->initializer, "CONFIDENTIAL_RESOURCE_ID", id);
}

static int complete_initializer(struct work *w, struct prg_error *err)
{
    int rc = w->in->storage_key && w->in->storage_parameters
                 ? prg_credentials_from_storage(w->in, w->initializer, err)
                 : prg_credentials_from_account(w->in, w->initializer, w->pod_spec, err);
    if (rc != PRG_OK)
        return rc;
    add_ca_bundle(w);
    if (merge_storage_container(w, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    add_download_settings(w);
    return PRG_OK;
}

// What keeps the initializer away: an agent loads the models, a modelcar brings them, or somebody added one already.
static bool is_not_needed(const struct work *w)
{
    const cJSON *first = prg_json_item(w->in->uris, 0);
    if (!first || prg_json_get(w->in->annotations, PRG_ANNOTATION_AGENT))
        return true;
    if (w->in->is_single && w->config.is_modelcar_enabled && prg_text_has_prefix(uri_of(first), "oci://"))
        return true;
    return prg_named_item(prg_json_get(w->pod_spec, "initContainers"), CONTAINER_NAME) != NULL;
}

int prg_initializer_apply(const struct prg_initializer *in, cJSON *pod_spec, struct prg_error *err)
{
    struct work w = {.in = in, .arena = in->arena, .pod_spec = pod_spec};
    if (prg_initializer_config_read(in->arena, in->config, &w.config, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    if (is_not_needed(&w))
        return PRG_OK;
    w.is_read_only = !prg_text_equal(prg_json_get_text(in->annotations, READONLY_ANNOTATION), "false");
    w.user = prg_named_item(list_of(&w, "containers"), PRG_CONTAINER_PREDICTOR);
    w.transformer = prg_named_item(list_of(&w, "containers"), PRG_CONTAINER_TRANSFORMER);
    if (!w.user)
        w.user = prg_named_item(list_of(&w, "containers"), PRG_CONTAINER_WORKER);
    if (!w.user)
        return prg_fail(err, PRG_INVALID, "Invalid configuration: cannot find container: " PRG_CONTAINER_PREDICTOR);
    if (in->is_single)
        mount_single(&w);
    else if (mount_several(&w, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    return w.initializer ? complete_initializer(&w, err) : PRG_OK;
}
