// SPDX-License-Identifier: Apache-2.0
// redact.h: what of an object must not leave the cluster, and the stand-ins for it. Private to core/record.
//
// A stand-in is "redacted-" and a keyed hash of the value: equal values have equal stand-ins within one process, and
// nothing can be tried against it outside. The rules, as docs/recordings.md has them:
//   - each value in data and stringData of a Secret; of a value that is a JSON object the members stay, with their
//     texts replaced but for type, bucket and cabundle_configmap, on which plans depend;
//   - the annotation kubectl.kubernetes.io/last-applied-configuration;
//   - a text under a key, or the value beside a name (an environment variable), that names a credential, but for the
//     data of ConfigMaps;
//   - in any text: VALUE of NAME=VALUE and "NAME": "VALUE", the argument after --NAME, where NAME names a credential,
//     and the password of a URL.
// References ($(NAME), {{...}}), true, false and empty texts are no secrets.
#pragma once
#include "json/value.h"

// The object with stand-ins, in arena; the object itself when it holds no secret.
const cJSON *prg_redact(struct prg_arena *arena, const cJSON *object);
// HF_TOKEN, secretAccessKey, api-key, but not SECRET_NAME, tokenizer or max_tokens.
bool prg_redact_is_credential(const char *name, size_t length);
