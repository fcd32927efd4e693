// SPDX-License-Identifier: Apache-2.0
// config.h: KServe's configuration: the ConfigMap inferenceservice-config, each key a JSON document. Parsed once per
// ConfigMap change.
#pragma once
#include "json/value.h"

struct prg_serving_config {
    bool present;    // false: there is no such ConfigMap
    cJSON *sections; // object: section name -> parsed JSON ("deploy", "ingress", "storageInitializer", …); bad ones are
                     // missing here
    cJSON *errors; // object: section name -> text, for sections that are not JSON
    // from inferenceService: the built-in list and what the configuration adds; both empty when there is no such
    // section
    cJSON *annotation_disallowed, *label_disallowed; // arrays of strings
};

// configmap NULL: absent. Never fails: what is wrong with a section becomes an error only for plans that need it (as in
// the original). Everything in arena; texts of configmap are borrowed.
void prg_serving_config_parse(struct prg_arena *arena, const cJSON *configmap, struct prg_serving_config *ret);
// Section or NULL when absent. PRG_INVALID, naming the ConfigMap and key, when it is not JSON.
int prg_serving_config_section(const struct prg_serving_config *config, const char *name, const cJSON **ret,
                               struct prg_error *err) PRG_MUST_USE;
// The effective configuration as policies see it (perigee.config): sections, with the lists above in inferenceService.
cJSON *prg_serving_config_to_json(struct prg_arena *arena, const struct prg_serving_config *config);
// The same, sharing its parts with config: for as long as config lives.
const cJSON *prg_serving_config_view(struct prg_arena *arena, const struct prg_serving_config *config);
