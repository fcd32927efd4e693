// SPDX-License-Identifier: Apache-2.0
// scalar.h: the small text types of the API: durations, IntOrString, names, resource versions.
#pragma once
#include "json/value.h"

// Go's time.ParseDuration / Duration.String.
int prg_duration_parse(const char *text, int64_t *ret_ns, struct prg_error *err) PRG_MUST_USE;
char *prg_duration_print(struct prg_arena *arena, int64_t ns);

// intstr.GetScaledValueFromIntOrPercent.
int prg_int_or_percent(const cJSON *value, int64_t total, bool round_up, int64_t *ret,
                       struct prg_error *err) PRG_MUST_USE;

// apimachinery util/validation and friends.
bool prg_name_is_dns1123_label(const char *text);
bool prg_name_is_dns1123_subdomain(const char *text);
bool prg_name_is_dns1035_label(const char *text);
bool prg_name_is_qualified(const char *text);
bool prg_name_is_label_value(const char *text);
bool prg_name_is_config_map_key(const char *text);
bool prg_name_is_env_var(const char *text);

// resourceVersions of one resource: *ret < 0, 0, > 0. PRG_INVALID when one is not well formed.
int prg_resource_version_compare(const char *a, const char *b, int *ret, struct prg_error *err) PRG_MUST_USE;
