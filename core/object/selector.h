// SPDX-License-Identifier: Apache-2.0
// selector.h: label selectors (text and LabelSelector objects) and field selectors. Source: apimachinery pkg/labels,
// pkg/fields.
#pragma once
#include "json/value.h"

struct prg_selector; // in an arena

int prg_selector_parse(struct prg_arena *arena, const char *text, struct prg_selector **ret,
                       struct prg_error *err) PRG_MUST_USE;
// NULL or null selects nothing, {} everything.
int prg_selector_of(struct prg_arena *arena, const cJSON *label_selector, struct prg_selector **ret,
                    struct prg_error *err) PRG_MUST_USE;
bool prg_selector_matches(const struct prg_selector *selector,
                          const cJSON *labels); // labels: object of strings or NULL
char *prg_selector_print(struct prg_arena *arena, const struct prg_selector *selector); // canonical text

struct prg_field_selector;
int prg_field_selector_parse(struct prg_arena *arena, const char *text, struct prg_field_selector **ret,
                             struct prg_error *err) PRG_MUST_USE;
bool prg_field_selector_matches(const struct prg_field_selector *selector, const cJSON *fields);
char *prg_field_selector_print(struct prg_arena *arena, const struct prg_field_selector *selector);
