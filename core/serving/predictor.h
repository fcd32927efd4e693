// SPDX-License-Identifier: Apache-2.0
// predictor.h: reading spec.predictor: which implementation it holds, where its model is stored, whether it serves many
// models. Rules: PredictorSpec.GetImplementations and IsMMSPredictor of the original. All functions borrow from their
// arguments and accept NULL.
#pragma once
#include "json/value.h"

// Names that the rest of the world knows.
#define PRG_SERVING_GROUP "serving.kserve.io"
#define PRG_CONTAINER_PREDICTOR "kserve-container"
#define PRG_CONTAINER_TRANSFORMER "transformer-container"
#define PRG_CONTAINER_WORKER "worker-container"
#define PRG_MODEL_PATH "/mnt/models"
#define PRG_ANNOTATION_DEPLOYMENT_MODE "serving.kserve.io/deploymentMode"
#define PRG_ANNOTATION_SERVER_TYPE "serving.kserve.io/server-type"
#define PRG_ANNOTATION_STOP "serving.kserve.io/stop"
#define PRG_ANNOTATION_SOURCE_URI "internal.serving.kserve.io/storage-initializer-sourceuri"
#define PRG_ANNOTATION_STORAGE_CONTAINER "internal.serving.kserve.io/storage-container-name"
#define PRG_ANNOTATION_STORAGE_SPEC "internal.serving.kserve.io/storage-spec"
#define PRG_ANNOTATION_STORAGE_SPEC_PARAM "internal.serving.kserve.io/storage-spec-param"
#define PRG_ANNOTATION_STORAGE_SPEC_KEY "internal.serving.kserve.io/storage-spec-key"
#define PRG_ANNOTATION_AGENT "internal.serving.kserve.io/agent"
#define PRG_ANNOTATION_CONFIDENTIAL "internal.serving.kserve.io/confidential-enabled"
#define PRG_ANNOTATION_CONFIDENTIAL_ID "internal.serving.kserve.io/confidential-resource-id"

struct prg_implementation {
    const char *field; // "model", "sklearn" …; "containers" for a custom predictor
    const cJSON *spec; // that member of the predictor; of a custom predictor the list of containers
    bool is_custom;
};

// Fills ret (at most cap) in the order of the original and returns how many there are, which may be more than cap.
size_t prg_predictor_implementations(const cJSON *predictor, struct prg_implementation *ret, size_t cap);
// The first one; false when the predictor holds none.
bool prg_predictor_implementation(const cJSON *predictor, struct prg_implementation *ret);

// storageUri of the implementation, or the variable STORAGE_URI of a custom predictor's kserve-container. NULL: none.
const char *prg_predictor_storage_uri(const cJSON *predictor);
const cJSON *prg_predictor_storage(const cJSON *predictor);      // storage of the implementation, or NULL
const cJSON *prg_predictor_confidential(const cJSON *predictor); // confidential of the implementation, or NULL
// Serves models that are loaded later (TrainedModels): no storage of its own at all.
bool prg_predictor_is_multi_model(const cJSON *predictor);

// The shorthands (sklearn, tensorflow …) in the order in which defaulting looks for them; NULL beyond the end.
const char *prg_predictor_shorthand(size_t index);
// Entry of a list of objects whose `name` is name, or NULL.
cJSON *prg_named_item(const cJSON *list, const char *name);
