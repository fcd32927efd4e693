// SPDX-License-Identifier: Apache-2.0
// initializer.h: making a pod spec load its models: volumes, the storage-initializer container with its credentials,
// modelcar containers for OCI images. Used for storageUris while planning, and by the pod webhook's own case, one
// storageUri. Pure: reads ServiceAccounts and Secrets of the store, changes pod_spec only.
//
// Source: pod.CommonStorageInitialization, utils (storage.go), credentials.CredentialBuilder. Error texts are those of
// the original, because they become messages of conditions.
#pragma once
#include "object/reader.h"
#include "serving/config.h"

struct prg_initializer {
    struct prg_arena *arena;
    const struct prg_reader *store;
    const struct prg_serving_config *config;
    const char *ns;
    const cJSON *annotations; // of the pod: object of texts, or NULL
    const cJSON *uris;        // array of {uri, mountPath}
    const cJSON *storage_key; // storage.key and storage.parameters; credentials come from a storage secret when both
    const cJSON *storage_parameters; // are there, else from the service account
    const cJSON *storage_container;  // the ClusterStorageContainer, or NULL
    bool is_single;                  // one storageUri, mounted at /mnt/models, as the pod webhook does it
};

// Settings of section storageInitializer, checked.
struct prg_initializer_config {
    const char *image;
    const char *cpu_request, *cpu_limit, *memory_request, *memory_limit; // quantities, canonical
    const char *cpu_modelcar, *memory_modelcar;                          // quantities, canonical
    const char *ca_bundle_config_map, *ca_bundle_path;                   // "" when not set
    bool is_modelcar_enabled, has_uid_modelcar;
    int64_t uid_modelcar;
};
int prg_initializer_config_read(struct prg_arena *arena, const struct prg_serving_config *config,
                                struct prg_initializer_config *ret, struct prg_error *err) PRG_MUST_USE;

// Whether loading uri takes a storage-initializer container: not for claims, nor for images while modelcars are
// enabled.
bool prg_initializer_loads(const struct prg_serving_config *config, const char *uri);

// Changes pod_spec in place. On failure what was done until then stays, as in the original.
int prg_initializer_apply(const struct prg_initializer *in, cJSON *pod_spec, struct prg_error *err) PRG_MUST_USE;

// ---- modelcar.c ----
// A modelcar for image reference uri ("oci://…") at path, for the container target of pod_spec. index: which one of
// several. PRG_NOTFOUND when there is no such container. Doing it twice changes nothing.
int prg_modelcar_add(struct prg_arena *arena, const struct prg_initializer_config *config, const char *uri,
                     const char *path, const char *target, size_t index, cJSON *pod_spec,
                     struct prg_error *err) PRG_MUST_USE;
// Several modelcars need mount paths with different parents: each brings a volume that is mounted there.
int prg_modelcar_check_paths(struct prg_arena *arena, const cJSON *uris, struct prg_error *err) PRG_MUST_USE;

// ---- credentials.c ----
// Variables from a storage secret; completes args[0] of the container (CreateStorageSpecSecretEnvs).
int prg_credentials_from_storage(const struct prg_initializer *in, cJSON *container,
                                 struct prg_error *err) PRG_MUST_USE;
// Variables and volumes from the secrets of a service account (CreateSecretVolumeAndEnv).
int prg_credentials_from_account(const struct prg_initializer *in, cJSON *container, cJSON *pod_spec,
                                 struct prg_error *err) PRG_MUST_USE;

// ---- small steps on containers, shared ----
void prg_env_append(struct prg_arena *arena, cJSON *container, const char *name, const char *value);
void prg_env_append_secret(struct prg_arena *arena, cJSON *container, const char *name, const char *secret,
                           const char *key);
// {name, mountPath, subPath, readOnly}; empty and false ones of the last two are left out.
cJSON *prg_volume_mount(struct prg_arena *arena, const char *name, const char *path, const char *sub_path,
                        bool is_read_only);
// Appends the volume unless one of its name is there.
void prg_volume_add(struct prg_arena *arena, cJSON *pod_spec, cJSON *volume);
cJSON *prg_empty_dir(struct prg_arena *arena, const char *name);
// {"limits": {cpu, memory}, "requests": {cpu, memory}}
cJSON *prg_resources(struct prg_arena *arena, const char *cpu_limit, const char *memory_limit, const char *cpu_request,
                     const char *memory_request);
