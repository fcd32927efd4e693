// SPDX-License-Identifier: Apache-2.0
// outcome.h: how a plan ends: errors, failed policies, the conditions that are Perigee's own, and what the mode cannot
// express. Shared by plan.c only.
#pragma once
#include "serving/context.h"

// The three conditions of a service that nobody has looked at yet (InitializeConditions).
void prg_outcome_initialize(struct prg_serving *s);

// The plan failed at a step: its error, and an Event with this reason. A failed policy takes everything back that was
// planned: no objects, no deletes, the status as it came in, and condition PolicyFailed.
void prg_outcome_error(struct prg_serving *s, const char *reason, const struct prg_error *err);

// ModelMesh services are left alone, with a condition that says so.
void prg_outcome_modelmesh(struct prg_serving *s);

// What the service asks for and the mode has no place for: an Event and a trace entry each.
void prg_outcome_not_expressed(struct prg_serving *s);

// Transformer and explainer are not managed, and what no longer holds of our own conditions goes. Last step.
void prg_outcome_finish(struct prg_serving *s);
