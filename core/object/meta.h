// SPDX-License-Identifier: Apache-2.0
// meta.h: reading and making ObjectMeta. All getters accept NULL and objects without metadata.
#pragma once
#include "object/key.h"

const char *prg_meta_name(const cJSON *object);                        // or ""
const char *prg_meta_namespace(const cJSON *object);                   // or ""
const char *prg_meta_uid(const cJSON *object);                         // or ""
int64_t prg_meta_generation(const cJSON *object);                      // or 0
const char *prg_meta_created(const cJSON *object);                     // RFC 3339 or ""
const cJSON *prg_meta_labels(const cJSON *object);                     // object or NULL
const cJSON *prg_meta_annotations(const cJSON *object);                // object or NULL
const char *prg_meta_label(const cJSON *object, const char *key);      // or NULL
const char *prg_meta_annotation(const cJSON *object, const char *key); // or NULL
bool prg_meta_is_deleting(const cJSON *object);

// A controller owner reference to owner (controller and blockOwnerDeletion true), as
// controllerutil.SetControllerReference makes it.
cJSON *prg_owner_reference(struct prg_arena *arena, const cJSON *owner);
// object has an ownerReference with controller: true and owner's uid.
bool prg_owner_controls(const cJSON *owner, const cJSON *object);
// The controller reference of object, or NULL.
const cJSON *prg_owner_controller(const cJSON *object);
