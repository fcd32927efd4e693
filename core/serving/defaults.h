// SPDX-License-Identifier: Apache-2.0
// defaults.h: the defaulting webhook: an InferenceService as its user wrote it -> as KServe's controller sees it.
#pragma once
#include "serving/config.h"

// A new tree in arena. Defaulting a defaulted service changes nothing.
int prg_serving_default(struct prg_arena *arena, const cJSON *service, const struct prg_serving_config *config,
                        cJSON **ret, struct prg_error *err) PRG_MUST_USE;

// The mode's present name: "Standard" for "RawDeployment", "Knative" for "Serverless", else text itself (NULL too).
const char *prg_deployment_mode_name(const char *text);
