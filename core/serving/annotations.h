// SPDX-License-Identifier: Apache-2.0
// annotations.h: annotations of the pods that the pod webhook acts on: logger, batcher, storage, agent, confidential.
// Each function adds to annotations (an object in s->arena), in the order in which the original does.
#pragma once
#include "serving/context.h"

void prg_annotate_logger(struct prg_serving *s, cJSON *annotations);
void prg_annotate_batcher(struct prg_serving *s, cJSON *annotations);
void prg_annotate_storage_spec(struct prg_serving *s, cJSON *annotations); // storage: key, path, parameters
void prg_annotate_agent(struct prg_serving *s, cJSON *annotations);        // multi-model services
// storageUri and storageContainerName. PRG_INVALID when storage.path is given too, or the URI is not supported.
int prg_annotate_storage_uri(struct prg_serving *s, cJSON *annotations, struct prg_error *err) PRG_MUST_USE;
void prg_annotate_confidential(struct prg_serving *s, cJSON *annotations);

// Takes away what would make the pod webhook add a storage initializer (runtime with storageHelper.disabled).
void prg_annotate_no_initializer(struct prg_serving *s, cJSON *annotations, const char *runtime);

// "modelconfig-NAME-0": the list of models of a multi-model service. There is one shard only.
const char *prg_model_config_name(struct prg_arena *arena, const char *service);
