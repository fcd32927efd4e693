// SPDX-License-Identifier: Apache-2.0
// leftovers.c: deletes for objects of the other deployment mode.
#include "controller/leftovers.h"

#include <string.h>

#include "object/meta.h"

static const struct {
    const char *group, *kind;
} kinds[] = {{"apps", "Deployment"},
             {"autoscaling", "HorizontalPodAutoscaler"},
             {"keda.sh", "ScaledObject"},
             {"opentelemetry.io", "OpenTelemetryCollector"},
             {"", "Service"},
             {"serving.knative.dev", "Service"}};

struct looking {
    const cJSON *service;
    struct prg_plan *plan;
};

static bool is_named(const cJSON *item, const cJSON *object)
{
    return prg_text_equal(prg_json_get_text(item, "kind"), prg_json_get_text(object, "kind")) &&
           prg_text_equal(prg_json_get_text(item, "apiVersion"), prg_json_get_text(object, "apiVersion"));
}

static bool is_wanted(const struct prg_plan *plan, const cJSON *object)
{
    const cJSON *item;
    prg_json_each (item, plan->objects)
        if (is_named(item, object) && strcmp(prg_meta_name(item), prg_meta_name(object)) == 0)
            return true;
    prg_json_each (item, plan->deletes) // said already
        if (is_named(item, object) && prg_text_equal(prg_json_get_text(item, "name"), prg_meta_name(object)))
            return true;
    return false;
}

static void visit(const cJSON *object, void *ctx)
{
    struct looking *looking = ctx;
    struct prg_plan *plan = looking->plan;
    if (!prg_owner_controls(looking->service, object) || prg_meta_is_deleting(object) || is_wanted(plan, object))
        return;
    prg_plan_add_delete(plan, prg_arena_strdup(plan->arena, prg_json_get_text(object, "apiVersion")),
                        prg_arena_strdup(plan->arena, prg_json_get_text(object, "kind")),
                        prg_arena_strdup(plan->arena, prg_meta_namespace(object)),
                        prg_arena_strdup(plan->arena, prg_meta_name(object)));
}

static const cJSON *find_kind(const struct prg_plan *plan, const char *group, const char *kind)
{
    const cJSON *item;
    prg_auto_arena arena = {0};
    prg_json_each (item, plan->objects)
        if (prg_text_equal(prg_json_get_text(item, "kind"), kind) &&
            strcmp(prg_api_group(&arena, prg_json_get_text(item, "apiVersion")), group) == 0)
            return item;
    return NULL;
}

// In the one mode the head has the name that the Knative Service has in the other.
static bool has_other_mode(const struct prg_reader *store, const cJSON *service, const struct prg_plan *plan)
{
    const cJSON *knative = find_kind(plan, "serving.knative.dev", "Service");
    const cJSON *deployment = find_kind(plan, "apps", "Deployment");
    const cJSON *head = knative ? knative : deployment, *other;
    if (!head || (knative && deployment))
        return false;
    other = prg_reader_get(store, knative ? "apps" : "serving.knative.dev", knative ? "Deployment" : "Service",
                           prg_meta_namespace(head), prg_meta_name(head));
    return other && prg_owner_controls(service, other);
}

void prg_leftovers_add(const struct prg_reader *store, const cJSON *service, struct prg_plan *plan)
{
    struct looking looking = {service, plan};
    if (plan->error || !has_other_mode(store, service, plan))
        return;
    for (size_t i = 0; i < PRG_COUNT(kinds); i++)
        store->list(store, kinds[i].group, kinds[i].kind, prg_meta_namespace(service), visit, &looking);
    prg_plan_finish(plan);
}
