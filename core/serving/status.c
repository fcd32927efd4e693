// SPDX-License-Identifier: Apache-2.0
// status.c: conditions of the service and what Deployments and the stop annotation make of them. Rules: the methods of
// KServe's InferenceServiceStatus over the condition set of knative.dev/pkg/apis, in which Ready depends on
// PredictorReady and IngressReady.
#include "serving/render.h"

#include <string.h>

#include "base/clock.h"

static const char *const dependents[] = {"PredictorReady", "IngressReady"};
#define HAPPY "Ready"

static bool is_dependent(const char *type)
{
    for (size_t i = 0; i < PRG_COUNT(dependents); i++)
        if (prg_text_equal(type, dependents[i]))
            return true;
    return false;
}

// ---- the tree ----

cJSON *prg_status_ensure(struct prg_serving *s)
{
    return prg_json_ensure_object(s->arena, s->service, "status");
}

cJSON *prg_status_component(struct prg_serving *s)
{
    return prg_json_ensure_object(s->arena, prg_json_ensure_object(s->arena, prg_status_ensure(s), "components"),
                                  "predictor");
}

// transitionStatus is always printed, "" while nothing is known.
cJSON *prg_status_model(struct prg_serving *s)
{
    cJSON *model = prg_json_ensure_object(s->arena, prg_status_ensure(s), "modelStatus");
    if (!prg_json_is_string(prg_json_get(model, "transitionStatus")))
        prg_json_set_string(s->arena, model, "transitionStatus", "");
    return model;
}

static bool has_text(const cJSON *object, const char *key, const char *text)
{
    return prg_text_equal(prg_render_text(object, key), text);
}

const cJSON *prg_condition_of(const cJSON *status, const char *type)
{
    const cJSON *conditions = prg_json_get(status, "conditions"), *condition;
    if (!prg_json_is_array(conditions))
        return NULL;
    prg_json_each (condition, conditions) {
        if (prg_json_is_object(condition) && has_text(condition, "type", type))
            return condition;
    }
    return NULL;
}

const cJSON *prg_status_get_condition(const struct prg_serving *s, const char *type)
{
    return prg_condition_of(prg_json_get(s->service, "status"), type);
}

// ---- one condition ----

static bool is_false(const cJSON *condition)
{
    return condition && has_text(condition, "status", "False");
}

static bool is_same(const cJSON *a, const cJSON *b)
{
    static const char *const keys[] = {"type", "status", "severity", "reason", "message"};
    for (size_t i = 0; i < PRG_COUNT(keys); i++) {
        if (!has_text(a, keys[i], prg_render_text(b, keys[i])))
            return false;
    }
    return true;
}

static cJSON *new_condition(struct prg_serving *s, const char *type, const char *status, const char *reason,
                            const char *message, const char *severity)
{
    cJSON *condition = prg_json_object(s->arena);
    prg_json_set_string(s->arena, condition, "type", type);
    prg_json_set_string(s->arena, condition, "status", status);
    if (severity && *severity)
        prg_json_set_string(s->arena, condition, "severity", severity);
    prg_json_set_string(s->arena, condition, "lastTransitionTime", s->now);
    if (reason && *reason)
        prg_json_set_string(s->arena, condition, "reason", reason);
    if (message && *message)
        prg_json_set_string(s->arena, condition, "message", message);
    return condition;
}

// Puts condition before the first one whose type comes after its own.
static void insert_sorted(cJSON *conditions, cJSON *condition)
{
    size_t index = 0;
    const cJSON *other;
    prg_json_each (other, conditions) {
        if (strcmp(prg_render_text(other, "type"), prg_render_text(condition, "type")) > 0)
            break;
        index++;
    }
    prg_json_insert(conditions, index, condition);
}

// Replaces whatever the type has, unless only the time would change. Entries that are no objects are dropped then.
static void put_condition(struct prg_serving *s, const char *type, const char *status, const char *reason,
                          const char *message, const char *severity)
{
    if (!severity)
        severity = is_dependent(type) || prg_text_equal(type, HAPPY) ? "" : "Info";
    cJSON *fresh = new_condition(s, type, status, reason, message, severity), *old;
    cJSON *conditions = prg_json_ensure_array(s->arena, prg_status_ensure(s), "conditions");
    prg_status_model(s);
    prg_json_each (old, conditions) {
        if (prg_json_is_object(old) && is_same(old, fresh))
            return;
    }
    cJSON *sorted = prg_json_array(s->arena);
    while ((old = conditions->child)) {
        prg_json_detach(conditions, old);
        if (prg_json_is_object(old) && !has_text(old, "type", type))
            insert_sorted(sorted, old);
    }
    insert_sorted(sorted, fresh);
    prg_json_set(s->arena, prg_status_ensure(s), "conditions", sorted);
    s->plan->reads_clock = true; // its time stays
}

// ---- Ready ----

static int64_t time_of(const cJSON *condition)
{
    int64_t ns;
    return prg_clock_parse(prg_render_text(condition, "lastTransitionTime"), &ns) ? ns : INT64_MIN;
}

// The latest condition of the given status among those that Ready depends on; the first of equal times.
static const cJSON *latest_with(const cJSON *conditions, const char *status, size_t *ret_count)
{
    const cJSON *condition, *found = NULL;
    size_t count = 0;
    prg_json_each (condition, conditions) {
        if (!prg_json_is_object(condition) || !has_text(condition, "severity", "") ||
            has_text(condition, "type", HAPPY))
            continue;
        count++;
        if (has_text(condition, "status", status) && (!found || time_of(condition) > time_of(found)))
            found = condition;
    }
    *ret_count = count;
    return found;
}

// After a condition turned True: Ready follows what is still False, then what is not known.
static void recompute_ready(struct prg_serving *s, const char *changed)
{
    size_t count;
    const cJSON *conditions = prg_json_get(prg_status_ensure(s), "conditions");
    const cJSON *unhappy = latest_with(conditions, "False", &count);
    if (!unhappy)
        unhappy = latest_with(conditions, "Unknown", &count);
    if (unhappy)
        put_condition(s, HAPPY, prg_render_text(unhappy, "status"), prg_render_text(unhappy, "reason"),
                      prg_render_text(unhappy, "message"), NULL);
    else if (count < PRG_COUNT(dependents))
        put_condition(s, HAPPY, "Unknown", NULL, NULL, NULL);
    else if (!prg_text_equal(changed, HAPPY))
        put_condition(s, HAPPY, "True", NULL, NULL, NULL);
}

static void mark_false(struct prg_serving *s, const char *type, const char *reason, const char *message,
                       const char *severity)
{
    put_condition(s, type, "False", reason, message, severity);
    if (is_dependent(type))
        put_condition(s, HAPPY, "False", reason, message, NULL);
}

static void mark_unknown(struct prg_serving *s, const char *type, const char *reason, const char *message,
                         const char *severity)
{
    put_condition(s, type, "Unknown", reason, message, severity);
    for (size_t i = 0; i < PRG_COUNT(dependents); i++) {
        if (!is_false(prg_status_get_condition(s, dependents[i])))
            continue;
        // What has failed counts more than what is not known.
        if (!is_false(prg_status_get_condition(s, HAPPY)))
            put_condition(s, HAPPY, "False", reason, message, NULL);
        return;
    }
    if (is_dependent(type))
        put_condition(s, HAPPY, "Unknown", reason, message, NULL);
}

void prg_status_condition(struct prg_serving *s, const char *type, const char *status, const char *reason,
                          const char *message, const char *severity)
{
    if (prg_text_equal(status, "True")) {
        put_condition(s, type, "True", reason, message, severity);
        recompute_ready(s, type);
    } else if (prg_text_equal(status, "False")) {
        mark_false(s, type, reason, message, severity);
    } else if (prg_text_equal(status, "Unknown")) {
        mark_unknown(s, type, reason, message, severity);
    }
}

bool prg_status_is_ready(const struct prg_serving *s)
{
    const cJSON *ready = prg_status_get_condition(s, HAPPY);
    return ready && has_text(ready, "status", "True");
}

void prg_status_raw_with_message(struct prg_serving *s, const char *reason, const char *message, const char *status)
{
    prg_status_component(s);
    prg_status_condition(s, "PredictorReady", status, reason, message, NULL);
}

// ---- Deployments ----

struct finding {
    const char *status, *reason, *message; // "" where not known
};

// Deployment names with "worker" in them are taken for the workers'; the original looks at nothing else.
static const char *side_of(const char *deployment_name)
{
    return strstr(deployment_name, "worker") ? "worker-container: " : "predictor-container: ";
}

// A condition that both Deployments of a multi-node service have.
static struct finding common_finding(struct prg_serving *s, const struct prg_deployments *deployments,
                                     const cJSON *head, const cJSON *worker)
{
    const char *head_side = side_of(prg_meta_name(deployments->head));
    const char *worker_side = side_of(prg_meta_name(deployments->worker));
    bool all_true = has_text(head, "status", "True") && has_text(worker, "status", "True");
    const char *head_reason = prg_render_text(head, "reason"), *worker_reason = prg_render_text(worker, "reason");
    return (struct finding){
        .status = all_true ? "True" : "False",
        .message = prg_arena_printf(s->arena, "%s%s, %s%s", head_side, prg_render_text(head, "message"), worker_side,
                                    prg_render_text(worker, "message")),
        .reason = prg_text_equal(head_reason, worker_reason)
                      ? head_reason
                      : prg_arena_printf(s->arena, "%s%s, %s%s", head_side, head_reason, worker_side, worker_reason),
    };
}

// Source: getDeploymentCondition.
static struct finding find(struct prg_serving *s, const struct prg_deployments *deployments, const char *type)
{
    const cJSON *head = prg_condition_of(prg_json_get(deployments->stored_head, "status"), type);
    if (deployments->worker) {
        const cJSON *worker = prg_condition_of(prg_json_get(deployments->stored_worker, "status"), type);
        if (head && worker)
            return common_finding(s, deployments, head, worker);
        return (struct finding){"", "", ""};
    }
    return (struct finding){prg_render_text(head, "status"), prg_render_text(head, "reason"),
                            prg_render_text(head, "message")};
}

static bool is(const struct finding *finding, const char *status)
{
    return prg_text_equal(finding->status, status);
}

// Source: PropagateRawStatus. Later rules win.
static struct finding predictor_ready(struct prg_serving *s, const struct prg_deployments *deployments)
{
    struct finding available = find(s, deployments, "Available"), progressing = find(s, deployments, "Progressing");
    struct finding failure = find(s, deployments, "ReplicaFailure"), ready = {"False", "", ""};
    if (is(&available, "True"))
        ready = available;
    if (is(&progressing, "False") && *progressing.message) {
        ready = progressing; // most often the progress deadline
    } else if (is(&progressing, "True")) {
        // A finished roll-out stays Progressing True with this reason.
        if (prg_text_equal(progressing.reason, "NewReplicaSetAvailable")) {
            ready = progressing;
        } else if (!is(&available, "True")) {
            ready = progressing;
            ready.status = "Unknown";
        }
    }
    if (is(&available, "False"))
        ready = available;
    if (is(&failure, "True")) {
        ready = failure;
        ready.status = "False";
    }
    return ready;
}

void prg_status_raw(struct prg_serving *s, const struct prg_deployments *deployments, const char *url)
{
    cJSON *component = prg_status_component(s);
    struct finding ready = predictor_ready(s, deployments);
    int64_t generation = prg_render_int(prg_json_get(deployments->stored_head, "status"), "observedGeneration", 0);
    if (is(&ready, "True"))
        prg_json_set_string(s->arena, component, "url", url);
    prg_status_condition(s, "PredictorReady", ready.status, ready.reason, ready.message, NULL);
    prg_json_remove(prg_status_ensure(s), "observedGeneration");
    if (generation != 0)
        prg_json_set_int(s->arena, prg_status_ensure(s), "observedGeneration", generation);
}

// ---- stop ----

// Says what was running, from the status as it came in.
static void stopped_event(struct prg_serving *s)
{
    const cJSON *status = s->stored_status, *component = prg_json_at(status, "components", "predictor"), *deleted;
    const char *runtime = prg_render_text(status, "servingRuntimeName"), *url = prg_render_text(component, "url");
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (!*runtime)
        runtime = prg_render_text(status, "clusterServingRuntimeName");
    int64_t copies = prg_render_int(prg_json_at(status, "modelStatus", "copies"), "totalCopies", 0);
    const cJSON *ready = prg_condition_of(status, HAPPY);
    prg_strbuf_printf(&text, "stopped by annotation %s; was %s", PRG_ANNOTATION_STOP,
                      ready && has_text(ready, "status", "True") ? "ready" : "not ready");
    if (*runtime)
        prg_strbuf_printf(&text, " on runtime %s", runtime);
    prg_strbuf_printf(&text, " with %lld ready %s", (long long)copies, copies == 1 ? "copy" : "copies");
    if (*url)
        prg_strbuf_printf(&text, " at %s", url);
    const char *separator = "; removed: ";
    prg_json_each (deleted, s->plan->deletes) {
        prg_strbuf_printf(&text, "%s%s %s", separator, prg_render_text(deleted, "kind"),
                          prg_render_text(deleted, "name"));
        separator = ", ";
    }
    prg_plan_add_event(s->plan, "Normal", "Stopped", "%s", text.text);
}

void prg_status_stopped(struct prg_serving *s)
{
    const cJSON *ready = prg_status_get_condition(s, "PredictorReady");
    if (is_false(ready) && has_text(ready, "reason", "Stopped"))
        return; // said before; whatever this run has changed stays
    stopped_event(s);
    const cJSON *mode = prg_render_given(prg_status_ensure(s), "deploymentMode");
    cJSON *fresh = prg_json_object(s->arena);
    if (mode)
        prg_json_set(s->arena, fresh, "deploymentMode", prg_json_copy(s->arena, mode));
    prg_json_set(s->arena, s->service, "status", fresh);
    prg_status_model(s);
    prg_status_condition(s, "PredictorReady", "False", "Stopped", NULL, NULL);
}
