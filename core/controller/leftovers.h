// SPDX-License-Identifier: Apache-2.0
// leftovers.h: what a service leaves behind when its deployment mode changes.
#pragma once
#include "object/reader.h"
#include "plan/plan.h"

// The plan has a Knative Service and the store a Deployment of the same service, or the other way round: adds deletes
// of all that the service controls of those kinds and that the plan does not want any more. The original leaves them,
// and two sets of pods run; a Service of the plain mode would also be in the way of the one that Knative makes.
void prg_leftovers_add(const struct prg_reader *store, const cJSON *service, struct prg_plan *plan);
