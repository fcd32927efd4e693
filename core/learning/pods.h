// SPDX-License-Identifier: Apache-2.0
// pods.h: the three workers of a job: what each gets as variables and mounts. Private to core/learning.
#pragma once
#include "learning/context.h"

// The pod that trains or evaluates ("train", "eval") with the input that condition (the Ready one) carries.
// PRG_NOTFOUND or PRG_INVALID say which reference or part of the input is missing.
int prg_make_stage_worker(struct prg_learning *l, const char *type, const cJSON *condition, cJSON **ret,
                          struct prg_error *err) PRG_MUST_USE;
// The inference pod. Its name tells what it is made for: condition, the one that asks for it, or (NULL) the pod
// `replaced` that it takes the place of, or NULL.
int prg_make_inference_worker(struct prg_learning *l, const cJSON *replaced, const cJSON *condition, cJSON **ret,
                              struct prg_error *err) PRG_MUST_USE;
