// SPDX-License-Identifier: Apache-2.0
// storage.h: which storage URIs are supported, and by which ClusterStorageContainer. Pure.
//
// Source: isvcutils.ValidateStorageURI, pod.GetStorageContainerSpec, StorageContainerSpec.IsStorageUriSupported.
#pragma once
#include "object/reader.h"

// The storage container that takes uri: *ret is the ClusterStorageContainer, or NULL. storage_containers: array of
// objects, asked in its order (stores list by name). explicit_name NULL or "": the first enabled one for init
// containers that takes the URI. With a name: that one, and PRG_NOTFOUND or PRG_INVALID with the original's text when
// it is missing, disabled, of another workload type or does not take the URI. A bad regular expression is PRG_INVALID.
int prg_storage_container_for(const cJSON *storage_containers, const char *uri, const char *explicit_name,
                              const cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// PRG_OK when a storage container takes uri, when it is a local path, or when it begins with a known prefix. *ret_why
// (may be NULL) tells which of these, in arena.
int prg_storage_validate_uri(struct prg_arena *arena, const char *uri, const cJSON *storage_containers,
                             const char **ret_why, struct prg_error *err) PRG_MUST_USE;

// The ClusterStorageContainers of a store, as an array of copies in arena, by name.
cJSON *prg_storage_containers(struct prg_arena *arena, const struct prg_reader *store);
