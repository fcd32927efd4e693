// SPDX-License-Identifier: Apache-2.0
// podschema.h: tables of core/v1 that other tables build upon, besides those in schema.h.
#pragma once
#include "json/schema.h"

extern const struct prg_schema prg_schema_env_var;
extern const struct prg_schema prg_schema_label_selector;

// kubeschema.c: other kinds that plans render.
extern const struct prg_schema prg_schema_config_map;
extern const struct prg_schema prg_schema_deployment;
extern const struct prg_schema prg_schema_deployment_strategy;
extern const struct prg_schema prg_schema_hpa;
extern const struct prg_schema prg_schema_hpa_behavior;
extern const struct prg_schema prg_schema_knative_service;
extern const struct prg_schema prg_schema_secret;
extern const struct prg_schema prg_schema_service;
