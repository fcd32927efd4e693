// SPDX-License-Identifier: Apache-2.0
// planner.c: one policy set and one configuration, ready to plan any object of a store.
#include "controller/planner.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "learning/names.h"
#include "object/meta.h"

static const char config_map_name[] = "inferenceservice-config";

struct prg_planner {
    struct prg_policy_set *policies;
    struct prg_map of_namespaces; // namespace -> struct prg_policy_set *, for those with one of their own
    const struct prg_compat *compat;
    char *config_namespace, *lc_server; // lc_server may be NULL
    struct prg_arena config_arena;
    struct prg_serving_config config;
};

struct prg_planner *prg_planner_new(struct prg_policy_set *policies, const struct prg_compat *compat,
                                    const char *config_namespace)
{
    struct prg_planner *planner = prg_xcalloc(1, sizeof(*planner));
    planner->policies = prg_policy_set_ref(policies);
    prg_map_init(&planner->of_namespaces);
    planner->compat = compat;
    planner->config_namespace = prg_xstrdup(config_namespace);
    prg_arena_init(&planner->config_arena);
    prg_serving_config_parse(&planner->config_arena, NULL, &planner->config);
    return planner;
}

void prg_planner_free(struct prg_planner *planner)
{
    const struct prg_map_entry *entry;
    if (!planner)
        return;
    for (size_t i = 0; (entry = prg_map_next(&planner->of_namespaces, &i));)
        prg_policy_set_unref(entry->value);
    prg_map_release(&planner->of_namespaces);
    prg_policy_set_unref(planner->policies);
    prg_arena_release(&planner->config_arena);
    free(planner->config_namespace);
    free(planner->lc_server);
    free(planner);
}

void prg_planner_set_policies(struct prg_planner *planner, struct prg_policy_set *policies)
{
    struct prg_policy_set *old = planner->policies;
    planner->policies = prg_policy_set_ref(policies);
    prg_policy_set_unref(old);
}

void prg_planner_set_namespace_policies(struct prg_planner *planner, const char *ns, struct prg_policy_set *policies)
{
    struct prg_policy_set *old = policies ? prg_map_put(&planner->of_namespaces, ns, prg_policy_set_ref(policies))
                                          : prg_map_remove(&planner->of_namespaces, ns);
    prg_policy_set_unref(old);
}

// The set that decides for the objects of a namespace.
static struct prg_policy_set *policies_of(const struct prg_planner *planner, const char *ns)
{
    struct prg_policy_set *own = prg_map_get(&planner->of_namespaces, ns);
    return own ? own : planner->policies;
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

void prg_planner_set_lc_server(struct prg_planner *planner, const char *url)
{
    free(planner->lc_server);
    planner->lc_server = url ? prg_xstrdup(url) : NULL;
}

const char *prg_planner_lc_server(const struct prg_planner *planner)
{
    return planner->lc_server;
}

const struct prg_decider *prg_planner_decider(const struct prg_planner *planner, const char *ns)
{
    return prg_policy_set_decider(policies_of(planner, ns));
}

int prg_planner_plan_job(struct prg_planner *planner, const struct prg_reader *store, const cJSON *job, int64_t now_ns,
                         uint64_t seed, struct prg_plan *plan, struct prg_learning_steps *ret_steps,
                         struct prg_error *err)
{
    struct prg_policy_set *policies = policies_of(planner, prg_meta_namespace(job));
    struct prg_learning_input in = {
        .job = job, .store = store, .lc_server = planner->lc_server, .now_ns = now_ns, .seed = seed};
    int rc = prg_learning_plan(&in, prg_policy_set_decider(policies), plan, ret_steps, err);
    plan->policy_revision = prg_arena_strdup(plan->arena, prg_policy_set_revision(policies)); // it may outlive the set
    return rc == PRG_OK ? prg_reader_trouble(store, err) : rc;
}

static int plan_service(const struct prg_planner *planner, struct prg_policy_set *policies,
                        const struct prg_reader *store, const cJSON *service, int64_t now_ns, uint64_t seed,
                        struct prg_plan *plan, struct prg_error *err)
{
    struct prg_serving_input in = {.service = service,
                                   .store = store,
                                   .config = &planner->config,
                                   .compat = planner->compat,
                                   .now_ns = now_ns,
                                   .seed = seed};
    return prg_serving_plan(&in, prg_policy_set_decider(policies), plan, err);
}

int prg_planner_plan(struct prg_planner *planner, const struct prg_reader *store, const struct prg_key *key,
                     int64_t now_ns, uint64_t seed, struct prg_plan *plan, struct prg_error *err)
{
    const cJSON *subject = store->get(store, key);
    if (!subject && prg_reader_trouble(store, err) != PRG_OK)
        return err ? (int)err->code : PRG_IO;
    if (!subject)
        return prg_fail(err, PRG_NOTFOUND, "%s %s/%s: no such object", key->kind, key->ns, key->name);
    struct prg_policy_set *policies = policies_of(planner, key->ns);
    plan->policy_revision = prg_arena_strdup(plan->arena, prg_policy_set_revision(policies)); // it may outlive the set
    int rc = strcmp(key->kind, PRG_KIND_JOB) == 0
                 ? prg_planner_plan_job(planner, store, subject, now_ns, seed, plan, NULL, err)
                 : plan_service(planner, policies, store, subject, now_ns, seed, plan, err);
    if (rc == PRG_OK)
        rc = prg_reader_trouble(store, err); // a plan on half of the objects is none
    return rc == PRG_OK ? PRG_OK : prg_wrap(err, "%s %s/%s", key->kind, key->ns, key->name);
}
