// SPDX-License-Identifier: Apache-2.0
// outcome.c: how a plan ends.
#include "serving/outcome.h"

#include <string.h>

#include "base/clock.h"
#include "object/meta.h"
#include "serving/plan.h"
#include "serving/render.h"

#define POLICY_FAILED "PolicyFailed"
#define COMPONENTS_NOT_MANAGED "ComponentsNotManaged"
#define MODELMESH_NOT_MANAGED "ModelMeshNotManaged"

const char *const prg_serving_conditions[] = {"Ready",
                                              "PredictorReady",
                                              "PredictorRouteReady",
                                              "PredictorConfigurationReady",
                                              "IngressReady",
                                              "RoutesReady",
                                              "LatestDeploymentReady",
                                              "Stopped",
                                              "TransformerReady",
                                              "TransformerRouteReady",
                                              "TransformerConfigurationReady",
                                              "ExplainerReady",
                                              "ExplainerRoutesReady",
                                              "ExplainerConfigurationReady",
                                              POLICY_FAILED,
                                              COMPONENTS_NOT_MANAGED,
                                              MODELMESH_NOT_MANAGED,
                                              NULL};

static cJSON *conditions_of(struct prg_serving *s)
{
    return prg_json_at(s->service, "status", "conditions");
}

void prg_outcome_initialize(struct prg_serving *s)
{
    if (prg_json_count(conditions_of(s)) > 0)
        return;
    prg_status_condition(s, "IngressReady", "Unknown", NULL, NULL, NULL);
    prg_status_condition(s, "PredictorReady", "Unknown", NULL, NULL, NULL);
}

// ---- errors ----

static void take_everything_back(struct prg_serving *s, const char *text)
{
    s->plan->objects = prg_json_array(s->arena);
    s->plan->deletes = prg_json_array(s->arena);
    s->plan->events = prg_json_array(s->arena);
    s->plan->requeue_after_ms = 0;
    prg_json_remove(s->service, "status");
    if (s->stored_status)
        prg_json_set(s->arena, s->service, "status", prg_json_copy(s->arena, s->stored_status));
    prg_outcome_initialize(s);
    prg_status_condition(s, POLICY_FAILED, "True", "PolicyError", text, NULL);
}

void prg_outcome_error(struct prg_serving *s, const char *reason, const struct prg_error *err)
{
    char buffer[PRG_ERROR_LINE];
    const char *text = s->error_text;
    if (!text)
        text = prg_arena_strdup(s->arena, prg_error_text(err, buffer, sizeof(buffer)));
    s->plan->error = text;
    s->plan->error_code = err->code;
    if (err->code == PRG_POLICY) {
        take_everything_back(s, text);
        reason = POLICY_FAILED;
    }
    prg_plan_add_event(s->plan, "Warning", reason, "%s", text);
    prg_plan_trace(s->plan, "plan", NULL, s->name, reason, text);
}

// ---- what is not managed ----

void prg_outcome_modelmesh(struct prg_serving *s)
{
    static const char text[] = "services of deployment mode ModelMesh are left to the ModelMesh controller";
    prg_status_condition(s, MODELMESH_NOT_MANAGED, "True", "ModelMesh", text, NULL);
    prg_plan_trace(s->plan, "mode", NULL, s->name, "left alone", text);
}

static bool has_component(const struct prg_serving *s, const char *name)
{
    return prg_json_is_object(prg_json_at(s->service, "spec", name));
}

// The service is not ready by our word: what the components do is not known here.
static void withhold_ready(struct prg_serving *s, const char *text)
{
    const cJSON *ready = prg_status_get_condition(s, "Ready");
    if (prg_text_equal(prg_json_get_text(ready, "status"), "True"))
        prg_status_condition(s, "Ready", "Unknown", COMPONENTS_NOT_MANAGED, text, NULL);
}

static void report_components(struct prg_serving *s)
{
    bool transformer = has_component(s, "transformer"), explainer = has_component(s, "explainer");
    if (!transformer && !explainer)
        return;
    const char *text = "only the predictor is managed; the transformer and the explainer are not";
    if (!explainer)
        text = "only the predictor is managed; the transformer is not";
    else if (!transformer)
        text = "only the predictor is managed; the explainer is not";
    prg_status_condition(s, COMPONENTS_NOT_MANAGED, "True", COMPONENTS_NOT_MANAGED, text, NULL);
    withhold_ready(s, text);
    prg_plan_trace(s->plan, "components", NULL, s->name, "not managed", text);
}

static void drop_condition(struct prg_serving *s, const char *type)
{
    cJSON *conditions = conditions_of(s), *condition = prg_json_is_array(conditions) ? conditions->child : NULL;
    while (condition) {
        cJSON *next = condition->next;
        if (prg_text_equal(prg_json_get_text(condition, "type"), type))
            prg_json_detach(conditions, condition);
        condition = next;
    }
}

// A condition that ended where it was stored has not changed, whatever it was in between: its time stays, so that
// nothing is written.
static void keep_times(struct prg_serving *s)
{
    static const char *const texts[] = {"status", "severity", "reason", "message"};
    cJSON *condition;
    prg_json_each (condition, conditions_of(s)) {
        const cJSON *stored = prg_condition_of(s->stored_status, prg_json_get_text(condition, "type"));
        const cJSON *time = prg_json_get(stored, "lastTransitionTime");
        bool is_same = time != NULL;
        for (size_t i = 0; i < PRG_COUNT(texts); i++)
            is_same = is_same && prg_json_equal(prg_json_get(condition, texts[i]), prg_json_get(stored, texts[i]));
        if (is_same)
            prg_json_set(s->arena, condition, "lastTransitionTime", prg_json_copy(s->arena, time));
    }
}

void prg_outcome_finish(struct prg_serving *s)
{
    if (s->plan->error_code == PRG_POLICY)
        return; // the status is as it came in
    drop_condition(s, POLICY_FAILED);
    if (s->mode != PRG_MODE_MODELMESH)
        drop_condition(s, MODELMESH_NOT_MANAGED);
    if (!has_component(s, "transformer") && !has_component(s, "explainer"))
        drop_condition(s, COMPONENTS_NOT_MANAGED);
    report_components(s);
    keep_times(s);
}

// ---- what the mode cannot express ----

static void not_expressed(struct prg_serving *s, const char *field, const char *reason, const char *text)
{
    if (!prg_json_get(s->predictor, field))
        return;
    const char *pointer = prg_arena_printf(s->arena, "/spec/predictor/%s", field);
    prg_plan_add_event(s->plan, "Warning", reason, "%s: %s", pointer, text);
    prg_plan_trace(s->plan, "mode", NULL, pointer, "no effect", text);
}

void prg_outcome_not_expressed(struct prg_serving *s)
{
    if (s->mode == PRG_MODE_STANDARD) {
        not_expressed(s, "canaryTrafficPercent", "CanaryNotSupported",
                      "Standard mode has one Deployment and sends it all traffic; a canary needs mode Knative");
        not_expressed(s, "containerConcurrency", "ConcurrencyNotSupported",
                      "Standard mode has no limit of requests per container; it needs mode Knative");
        return;
    }
    not_expressed(s, "workerSpec", "MultiNodeNotSupported",
                  "Knative mode runs the head only; workers need mode Standard");
    not_expressed(s, "deploymentStrategy", "StrategyNotSupported",
                  "Knative rolls revisions out by itself; a strategy needs mode Standard");
}

// ---- no route ----

static bool is_routeless(const cJSON *service, const struct prg_serving_config *config)
{
    const cJSON *ingress = NULL;
    if (prg_text_equal(prg_meta_label(service, "networking.kserve.io/visibility"), "cluster-local"))
        return true;
    if (prg_serving_config_section(config, "ingress", &ingress, NULL) != PRG_OK)
        return false;
    return prg_json_get_true(ingress, "disableIngressCreation") ||
           prg_text_equal(prg_json_get_text(ingress, "ingressDomain"), "svc.cluster.local");
}

// Of the modes only Standard leaves the route to an Ingress.
static bool has_deployment(const struct prg_plan *plan)
{
    const cJSON *object;
    prg_json_each (object, plan->objects)
        if (prg_text_equal(prg_json_get_text(object, "kind"), "Deployment"))
            return true;
    return false;
}

void prg_serving_plan_routeless(struct prg_plan *plan, const struct prg_serving_config *config, int64_t now_ns)
{
    struct prg_serving s = {.arena = plan->arena, .plan = plan, .service = plan->resource};
    const cJSON *ready = prg_status_get_condition(&s, "PredictorReady");
    const cJSON *route = prg_status_get_condition(&s, "IngressReady");
    const char *decided = prg_json_get_text(route, "status");
    if (!prg_text_equal(prg_json_get_text(ready, "status"), "True") || !is_routeless(s.service, config) ||
        !has_deployment(plan) || (decided && strcmp(decided, "Unknown") != 0) || has_component(&s, "transformer") ||
        has_component(&s, "explainer"))
        return;
    prg_clock_format(now_ns, s.now);
    prg_status_condition(&s, "IngressReady", "True", NULL, NULL, NULL);
    prg_plan_trace(plan, "route", NULL, prg_meta_name(s.service), "none", "there is to be none; the service is ready");
}

void prg_serving_plan_failed(struct prg_plan *plan, int64_t now_ns, const char *reason, const char *message)
{
    struct prg_serving s = {.arena = plan->arena, .plan = plan, .service = plan->resource};
    prg_clock_format(now_ns, s.now);
    prg_status_condition(&s, "PredictorReady", "False", reason, message, NULL);
}
