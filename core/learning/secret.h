// SPDX-License-Identifier: Apache-2.0
// secret.h: what a Secret gives to a worker and to an edge node. Private to core/learning.
#pragma once
#include "json/value.h"

// One value of a Secret, decoded (data wins over stringData); bytes that are not UTF-8 become U+FFFD. NULL when it has
// no such key.
const char *prg_secret_value(struct prg_arena *arena, const cJSON *secret, const char *key);

// Environment for S3: S3_ENDPOINT_URL, ACCESS_KEY_ID, SECRET_ACCESS_KEY, as {name, value} in this order. NULL for NULL
// and for a Secret without the annotation s3-endpoint. Source: buildS3SecretEnvs.
cJSON *prg_secret_environment(struct prg_arena *arena, const cJSON *secret);

// The text of the annotation sedna.io/credential: the Secret's annotations with its decoded data laid over them, as a
// JSON object with sorted keys. Source: injectSecretObj.
const char *prg_secret_credential(struct prg_arena *arena, const cJSON *secret);
