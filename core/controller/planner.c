// SPDX-License-Identifier: Apache-2.0
// planner.c: one policy set and one configuration, ready to plan any object of a store.
#include "controller/planner.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "learning/names.h"
#include "object/meta.h"
#include "record/record.h"
#include "serving/runtimes.h"

static const char config_map_name[] = "inferenceservice-config";

struct prg_planner {
    struct prg_policy_set *policies;
    struct prg_map of_namespaces; // namespace -> struct prg_policy_set *, for those with one of their own
    const struct prg_compat *compat;
    char *config_namespace, *lc_server; // lc_server may be NULL
    struct prg_arena config_arena;
    struct prg_serving_config config;
    const cJSON *config_map;   // that config was read from, or NULL
    struct prg_record *record; // or NULL
    uint64_t state;            // counts what was set
    struct prg_runtimes *runtimes;
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
    planner->runtimes = prg_runtimes_new();
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
    prg_runtimes_free(planner->runtimes);
    free(planner->config_namespace);
    free(planner->lc_server);
    free(planner);
}

void prg_planner_set_policies(struct prg_planner *planner, struct prg_policy_set *policies)
{
    struct prg_policy_set *old = planner->policies;
    planner->policies = prg_policy_set_ref(policies);
    prg_policy_set_unref(old);
    planner->state++;
}

void prg_planner_set_namespace_policies(struct prg_planner *planner, const char *ns, struct prg_policy_set *policies)
{
    struct prg_policy_set *old = policies ? prg_map_put(&planner->of_namespaces, ns, prg_policy_set_ref(policies))
                                          : prg_map_remove(&planner->of_namespaces, ns);
    prg_policy_set_unref(old);
    planner->state++;
}

// The set that decides for the objects of a namespace.
static struct prg_policy_set *policies_of(const struct prg_planner *planner, const char *ns)
{
    struct prg_policy_set *own = prg_map_get(&planner->of_namespaces, ns);
    return own ? own : planner->policies;
}

void prg_planner_load_config(struct prg_planner *planner, const struct prg_reader *store)
{
    const cJSON *map = prg_reader_get(store, "", "ConfigMap", planner->config_namespace, config_map_name);
    prg_arena_reset(&planner->config_arena);
    // A copy: the configuration outlives the store's snapshot.
    planner->config_map = map ? prg_json_copy(&planner->config_arena, map) : NULL;
    prg_serving_config_parse(&planner->config_arena, planner->config_map, &planner->config);
    planner->state++;
}

uint64_t prg_planner_state(const struct prg_planner *planner)
{
    return planner->state;
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
    planner->state++;
}

const char *prg_planner_lc_server(const struct prg_planner *planner)
{
    return planner->lc_server;
}

const struct prg_serving_config *prg_planner_serving_config(const struct prg_planner *planner)
{
    return &planner->config;
}

const struct prg_compat *prg_planner_compat(const struct prg_planner *planner)
{
    return planner->compat;
}

struct prg_runtimes *prg_planner_runtimes(const struct prg_planner *planner)
{
    return planner->runtimes;
}

void prg_planner_each_namespace(const struct prg_planner *planner,
                                void (*visit)(const char *ns, struct prg_policy_set *policies, void *ctx), void *ctx)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&planner->of_namespaces, &i));)
        visit(entry->key, entry->value, ctx);
}

const struct prg_decider *prg_planner_decider(const struct prg_planner *planner, const char *ns)
{
    return prg_policy_set_decider(policies_of(planner, ns));
}

void prg_planner_record(struct prg_planner *planner, struct prg_record *record)
{
    planner->record = record;
}

// ---- plans ----

struct planning { // what a plan is made from
    const struct prg_planner *planner;
    const struct prg_serving_config *config;
    const struct prg_reader *store;
    struct prg_runtimes *runtimes; // or NULL
    int64_t now_ns;
    uint64_t seed;
};

static int plan_job(const struct planning *in, const cJSON *job, struct prg_plan *plan,
                    struct prg_learning_steps *ret_steps, struct prg_error *err)
{
    struct prg_policy_set *policies = policies_of(in->planner, prg_meta_namespace(job));
    struct prg_learning_input learning = {
        .job = job, .store = in->store, .lc_server = in->planner->lc_server, .now_ns = in->now_ns, .seed = in->seed};
    int rc = prg_learning_plan(&learning, prg_policy_set_decider(policies), plan, ret_steps, err);
    plan->policy_revision = prg_arena_strdup(plan->arena, prg_policy_set_revision(policies)); // it may outlive the set
    return rc == PRG_OK ? prg_reader_trouble(in->store, err) : rc;
}

static int plan_service(const struct planning *in, struct prg_policy_set *policies, const cJSON *service,
                        struct prg_plan *plan, struct prg_error *err)
{
    struct prg_serving_input serving = {.service = service,
                                        .store = in->store,
                                        .config = in->config,
                                        .compat = in->planner->compat,
                                        .runtimes = in->runtimes,
                                        .now_ns = in->now_ns,
                                        .seed = in->seed};
    return prg_serving_plan(&serving, prg_policy_set_decider(policies), plan, err);
}

static int plan_subject(const struct planning *in, const struct prg_key *key, struct prg_plan *plan,
                        struct prg_error *err)
{
    const struct prg_reader *store = in->store;
    const cJSON *subject = store->get(store, key);
    if (!subject && prg_reader_trouble(store, err) != PRG_OK)
        return err ? (int)err->code : PRG_IO;
    if (!subject)
        return prg_fail(err, PRG_NOTFOUND, "%s %s/%s: no such object", key->kind, key->ns, key->name);
    struct prg_policy_set *policies = policies_of(in->planner, key->ns);
    plan->policy_revision = prg_arena_strdup(plan->arena, prg_policy_set_revision(policies)); // it may outlive the set
    int rc = strcmp(key->kind, PRG_KIND_JOB) == 0 ? plan_job(in, subject, plan, NULL, err)
                                                  : plan_service(in, policies, subject, plan, err);
    if (rc == PRG_OK)
        rc = prg_reader_trouble(store, err); // a plan on half of the objects is none
    return rc == PRG_OK ? PRG_OK : prg_wrap(err, "%s %s/%s", key->kind, key->ns, key->name);
}

// ---- recorded plans ----

static cJSON *settings_to_json(const struct prg_planner *planner, struct prg_arena *arena)
{
    cJSON *settings = prg_json_object(arena);
    prg_json_set(arena, settings, "compat", prg_compat_to_json(arena, planner->compat));
    prg_json_set_string(arena, settings, "configNamespace", planner->config_namespace);
    prg_json_set_string(arena, settings, "lcServer", planner->lc_server);
    return settings;
}

static struct planning begin_recording(const struct planning *in)
{
    const struct prg_planner *planner = in->planner;
    struct planning recorded = *in;
    struct prg_key key = {"", "ConfigMap", planner->config_namespace, config_map_name};
    recorded.store = prg_record_begin(planner->record, in->store);
    prg_record_note(planner->record, &key, planner->config_map);
    return recorded;
}

// A plan that saw secrets is made once more from what the file may hold.
static void end_recording(const struct planning *in, const struct prg_key *key, struct prg_plan *plan, int rc,
                          const struct prg_error *err)
{
    const struct prg_planner *planner = in->planner;
    prg_auto_arena arena = {0};
    struct prg_error again = {0};
    struct prg_record_decision decision = {.key = key,
                                           .now_ns = in->now_ns,
                                           .seed = in->seed,
                                           .policies = policies_of(planner, key->ns),
                                           .settings = settings_to_json(planner, &arena),
                                           .plan = rc == PRG_OK ? plan : NULL,
                                           .err = err};
    const struct prg_reader *redacted = NULL;
    if (prg_reader_trouble(in->store, NULL) != PRG_OK) {
        prg_record_cancel(planner->record);
        return;
    }
    redacted = prg_record_redacted(planner->record);
    if (redacted) {
        struct prg_serving_config config;
        struct planning shadow = *in;
        prg_serving_config_parse(
            &arena, prg_reader_get(redacted, "", "ConfigMap", planner->config_namespace, config_map_name), &config);
        shadow.config = &config;
        shadow.store = redacted;
        shadow.runtimes = NULL;
        decision.plan = prg_plan_new(&arena);
        decision.err = &again;
        if (plan_subject(&shadow, key, decision.plan, &again) != PRG_OK)
            decision.plan = NULL;
    }
    prg_record_end(planner->record, &decision);
}

int prg_planner_plan_job(struct prg_planner *planner, const struct prg_reader *store, const cJSON *job, int64_t now_ns,
                         uint64_t seed, struct prg_plan *plan, struct prg_learning_steps *ret_steps,
                         struct prg_error *err)
{
    struct planning in = {planner, &planner->config, store, planner->runtimes, now_ns, seed};
    if (!planner->record)
        return plan_job(&in, job, plan, ret_steps, err);
    struct prg_key key = {PRG_SEDNA_GROUP, PRG_KIND_JOB, prg_meta_namespace(job), prg_meta_name(job)};
    in = begin_recording(&in);
    prg_record_note(planner->record, &key, job);
    int rc = plan_job(&in, job, plan, ret_steps, err);
    end_recording(&in, &key, plan, rc, err);
    return rc;
}

int prg_planner_plan(struct prg_planner *planner, const struct prg_reader *store, const struct prg_key *key,
                     int64_t now_ns, uint64_t seed, struct prg_plan *plan, struct prg_error *err)
{
    struct planning in = {planner, &planner->config, store, planner->runtimes, now_ns, seed};
    if (!planner->record)
        return plan_subject(&in, key, plan, err);
    in = begin_recording(&in);
    int rc = plan_subject(&in, key, plan, err);
    end_recording(&in, key, plan, rc, err);
    return rc;
}
