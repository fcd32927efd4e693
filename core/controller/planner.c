// SPDX-License-Identifier: Apache-2.0
// planner.c: one policy set and one configuration, ready to plan any object of a store.
#include "controller/planner.h"

#include <stdlib.h>
#include <string.h>

#include "learning/names.h"
#include "learning/plan.h"

static const char config_map_name[] = "inferenceservice-config";

struct prg_planner {
    struct prg_policy_set *policies;
    const struct prg_compat *compat;
    char *config_namespace;
    struct prg_arena config_arena;
    struct prg_serving_config config;
};

struct prg_planner *prg_planner_new(struct prg_policy_set *policies, const struct prg_compat *compat,
                                    const char *config_namespace)
{
    struct prg_planner *planner = prg_xcalloc(1, sizeof(*planner));
    planner->policies = prg_policy_set_ref(policies);
    planner->compat = compat;
    planner->config_namespace = prg_xstrdup(config_namespace);
    prg_arena_init(&planner->config_arena);
    prg_serving_config_parse(&planner->config_arena, NULL, &planner->config);
    return planner;
}

void prg_planner_free(struct prg_planner *planner)
{
    if (!planner)
        return;
    prg_policy_set_unref(planner->policies);
    prg_arena_release(&planner->config_arena);
    free(planner->config_namespace);
    free(planner);
}

void prg_planner_set_policies(struct prg_planner *planner, struct prg_policy_set *policies)
{
    struct prg_policy_set *old = planner->policies;
    planner->policies = prg_policy_set_ref(policies);
    prg_policy_set_unref(old);
}

const char *prg_planner_revision(const struct prg_planner *planner)
{
    return prg_policy_set_revision(planner->policies);
}

void prg_planner_load_config(struct prg_planner *planner, const struct prg_reader *store)
{
    const cJSON *map = prg_reader_get(store, "", "ConfigMap", planner->config_namespace, config_map_name);
    prg_arena_reset(&planner->config_arena);
    // A copy: the configuration outlives the store's snapshot.
    prg_serving_config_parse(&planner->config_arena, map ? prg_json_copy(&planner->config_arena, map) : NULL,
                             &planner->config);
}

cJSON *prg_planner_config(const struct prg_planner *planner, struct prg_arena *arena)
{
    return prg_serving_config_to_json(arena, &planner->config);
}

bool prg_planner_is_config(const struct prg_planner *planner, const struct prg_key *key)
{
    return !key->group[0] && strcmp(key->kind, "ConfigMap") == 0 && strcmp(key->name, config_map_name) == 0 &&
           strcmp(key->ns, planner->config_namespace) == 0;
}

static int plan_job(struct prg_planner *planner, const struct prg_reader *store, const cJSON *job, int64_t now_ns,
                    uint64_t seed, struct prg_plan *plan, struct prg_error *err)
{
    struct prg_learning_input in = {.job = job, .store = store, .now_ns = now_ns, .seed = seed};
    return prg_learning_plan(&in, prg_policy_set_decider(planner->policies), plan, NULL, err);
}

static int plan_service(struct prg_planner *planner, const struct prg_reader *store, const cJSON *service,
                        int64_t now_ns, uint64_t seed, struct prg_plan *plan, struct prg_error *err)
{
    struct prg_serving_input in = {.service = service,
                                   .store = store,
                                   .config = &planner->config,
                                   .compat = planner->compat,
                                   .now_ns = now_ns,
                                   .seed = seed};
    return prg_serving_plan(&in, prg_policy_set_decider(planner->policies), plan, err);
}

int prg_planner_plan(struct prg_planner *planner, const struct prg_reader *store, const struct prg_key *key,
                     int64_t now_ns, uint64_t seed, struct prg_plan *plan, struct prg_error *err)
{
    const cJSON *subject = store->get(store, key);
    if (!subject)
        return prg_fail(err, PRG_NOTFOUND, "%s %s/%s: no such object", key->kind, key->ns, key->name);
    plan->policy_revision = prg_policy_set_revision(planner->policies);
    int rc = strcmp(key->kind, PRG_KIND_JOB) == 0 ? plan_job(planner, store, subject, now_ns, seed, plan, err)
                                                  : plan_service(planner, store, subject, now_ns, seed, plan, err);
    return rc == PRG_OK ? PRG_OK : prg_wrap(err, "%s %s/%s", key->kind, key->ns, key->name);
}
