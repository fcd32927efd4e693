// SPDX-License-Identifier: Apache-2.0
// plan.h: the predictor plan of an InferenceService. Pure: everything the answer depends on is in the input; same
// input, same bytes out.
#pragma once
#include "object/reader.h"
#include "plan/plan.h"
#include "serving/compat.h"
#include "serving/config.h"

struct prg_runtimes;

struct prg_serving_input {
    const cJSON *service; // as its user wrote it or as stored, with its status; never changed
    const struct prg_reader
        *store; // runtimes, storage containers, stored Deployments, pods, Secrets, Namespaces …; never changed
    const struct prg_serving_config *config;
    const struct prg_compat *compat;
    struct prg_runtimes *runtimes; // kept from plan to plan of this store (serving/runtimes.h), or NULL
    int64_t now_ns;
    uint64_t seed; // of random suffixes
};

// Plans into plan (made with prg_plan_new; its arena holds everything). What is wrong with the service, a runtime or a
// policy is plan->error with PRG_OK as answer; only broken input (not an InferenceService) returns an error.
int prg_serving_plan(const struct prg_serving_input *in, const struct prg_decider *decide, struct prg_plan *plan,
                     struct prg_error *err) PRG_MUST_USE;

// Condition types that KServe's controllers, and so a plan, decide about, NULL-ended: a plan may drop them. Others in a
// status are somebody else's.
extern const char *const prg_serving_conditions[];

// Writes into the plan's resource what the driver could not do with the plan: PredictorReady False with reason and
// message (Ready follows). Used when applying an object fails.
void prg_serving_plan_failed(struct prg_plan *plan, int64_t now_ns, const char *reason, const char *message);

// Where the configuration or the service says that there is to be no route, nobody else will set IngressReady: sets it
// once the predictor is ready, as KServe's controller does around its predictor. A condition that somebody has decided
// stays. See docs/decisions/011-around-the-predictor.md.
void prg_serving_plan_routeless(struct prg_plan *plan, const struct prg_serving_config *config, int64_t now_ns);
