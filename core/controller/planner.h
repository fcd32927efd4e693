// SPDX-License-Identifier: Apache-2.0
// planner.h: everything of a plan but the object: one policy set, one parsed configuration, one compatibility mode.
// What `plan` and the controller share.
#pragma once
#include "learning/plan.h"
#include "policy/policy.h"
#include "serving/plan.h"

struct prg_planner;
struct prg_record;

// Takes a reference to policies. compat is borrowed (static).
struct prg_planner *prg_planner_new(struct prg_policy_set *policies, const struct prg_compat *compat,
                                    const char *config_namespace);
void prg_planner_free(struct prg_planner *planner); // NULL is fine

void prg_planner_set_policies(struct prg_planner *planner, struct prg_policy_set *policies); // takes a reference
// Another set for the objects of one namespace; NULL: it has none of its own. Takes a reference.
void prg_planner_set_namespace_policies(struct prg_planner *planner, const char *ns, struct prg_policy_set *policies);
// LC_SERVER of the workers of learning jobs; NULL: the default. Copied.
void prg_planner_set_lc_server(struct prg_planner *planner, const char *url);
// Reads the ConfigMap inferenceservice-config again. Call once before the first plan and whenever it may have changed.
void prg_planner_load_config(struct prg_planner *planner, const struct prg_reader *store);
// Another number each time any of the above was called: with an equal one, plans of the same objects are the same.
uint64_t prg_planner_state(const struct prg_planner *planner);
// From now on every plan becomes a decision of a recording (record/record.h); NULL: no more. Borrowed.
void prg_planner_record(struct prg_planner *planner, struct prg_record *record);
// The configuration as policies see it (perigee.config).
cJSON *prg_planner_config(const struct prg_planner *planner, struct prg_arena *arena);
bool prg_planner_is_config(const struct prg_planner *planner, const struct prg_key *key);

// Plans the InferenceService or IncrementalLearningJob key. PRG_NOTFOUND when the store has no such object.
int prg_planner_plan(struct prg_planner *planner, const struct prg_reader *store, const struct prg_key *key,
                     int64_t now_ns, uint64_t seed, struct prg_plan *plan, struct prg_error *err) PRG_MUST_USE;
// The same for a learning job at hand, with its steps for a driver.
int prg_planner_plan_job(struct prg_planner *planner, const struct prg_reader *store, const cJSON *job, int64_t now_ns,
                         uint64_t seed, struct prg_plan *plan, struct prg_learning_steps *ret_steps,
                         struct prg_error *err) PRG_MUST_USE;
// What that plan is made of: for whoever asks the policies about a job otherwise. Borrowed until the sets change.
const struct prg_decider *prg_planner_decider(const struct prg_planner *planner, const char *ns);
const char *prg_planner_lc_server(const struct prg_planner *planner); // or NULL
const struct prg_serving_config *prg_planner_serving_config(const struct prg_planner *planner);
const struct prg_compat *prg_planner_compat(const struct prg_planner *planner);
struct prg_runtimes *prg_planner_runtimes(const struct prg_planner *planner); // of the store that it plans from
// The sets of namespaces that have one of their own.
void prg_planner_each_namespace(const struct prg_planner *planner,
                                void (*visit)(const char *ns, struct prg_policy_set *policies, void *ctx), void *ctx);
