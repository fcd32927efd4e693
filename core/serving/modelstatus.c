// SPDX-License-Identifier: Apache-2.0
// modelstatus.c: status.modelStatus: what the newest pod says about loading the model, and how many copies serve.
// Rules: UpdateModelTransitionStatus, UpdateModelRevisionStates and PropagateModelStatus of KServe's
// InferenceServiceStatus, and the mended answer to OOMKilled and failed image pulls (pod_failures).
#include "serving/render.h"

#include <string.h>

#include "base/clock.h"

// Why a model does not load. Reasons are those that the CRD allows.
struct failure {
    const char *reason;         // "ModelLoadFailed", "RuntimeUnhealthy"
    const char *message;        // "" allowed
    const char *location;       // pod, or NULL
    int64_t exit_code;          // 0: not known
    bool is_without_last_state; // CrashLoopBackOff, but the pod does not say how it ended
};

// ---- writing ----

// activeModelState is always printed, "" until the model was loaded once.
static cJSON *model_states(struct prg_serving *s)
{
    cJSON *states = prg_json_ensure_object(s->arena, prg_status_model(s), "states");
    if (!prg_json_is_string(prg_json_get(states, "activeModelState")))
        prg_json_set_string(s->arena, states, "activeModelState", "");
    return states;
}

static void set_failure(struct prg_serving *s, const struct failure *failure)
{
    cJSON *info = prg_json_object(s->arena);
    if (failure->location)
        prg_json_set_string(s->arena, info, "location", failure->location);
    prg_json_set_string(s->arena, info, "reason", failure->reason);
    if (*failure->message)
        prg_json_set_string(s->arena, info, "message", failure->message);
    if (failure->exit_code != 0)
        prg_json_set_int(s->arena, info, "exitCode", failure->exit_code);
    prg_json_set(s->arena, prg_status_model(s), "lastFailureInfo", info);
}

void prg_status_model_transition(struct prg_serving *s, const char *transition, const char *reason, const char *message)
{
    prg_json_set_string(s->arena, prg_status_model(s), "transitionStatus", transition);
    if (prg_text_equal(transition, "InvalidSpec"))
        prg_json_set_string(s->arena, model_states(s), "targetModelState", "FailedToLoad");
    if (reason)
        set_failure(s, &(struct failure){.reason = reason, .message = message ? message : ""});
}

static void set_target(struct prg_serving *s, const char *state, const char *transition)
{
    prg_json_set_string(s->arena, model_states(s), "targetModelState", state);
    prg_json_set_string(s->arena, prg_status_model(s), "transitionStatus", transition);
}

static void set_loaded(struct prg_serving *s)
{
    set_target(s, "Loaded", "UpToDate");
    prg_json_set_string(s->arena, model_states(s), "activeModelState", "Loaded");
}

static void set_copies(struct prg_serving *s, int64_t ready)
{
    cJSON *copies = prg_json_ensure_object(s->arena, prg_status_model(s), "copies");
    if (!prg_json_is_number(prg_json_get(copies, "failedCopies")))
        prg_json_set_int(s->arena, copies, "failedCopies", 0);
    prg_json_remove(copies, "totalCopies");
    if (ready != 0)
        prg_json_set_int(s->arena, copies, "totalCopies", ready);
}

// One Event for each new failure; a failure that the stored status knows already is not news.
static void set_failed(struct prg_serving *s, const struct failure *failure, const cJSON *pod, const char *container)
{
    set_target(s, "FailedToLoad", "BlockedByFailedLoad");
    set_failure(s, failure);
    const cJSON *before = prg_json_at(s->stored_status, "modelStatus", "lastFailureInfo");
    if (!prg_json_equal(before, prg_json_get(prg_status_model(s), "lastFailureInfo")))
        prg_plan_add_event(s->plan, "Warning", failure->reason, "pod %s, container %s: %s (exit code %lld)",
                           prg_meta_name(pod), container, *failure->message ? failure->message : "no message",
                           (long long)failure->exit_code);
    // The original crashes on this one. The pod lacks a part that it should have, so the answer may be wrong.
    if (!failure->is_without_last_state)
        return;
    const cJSON *ready = prg_status_get_condition(s, "PredictorReady");
    if (!prg_text_equal(prg_render_text(ready, "status"), "True"))
        prg_status_raw_with_message(s, "CrashLoopBackOff", failure->message, "False");
    s->plan->error = prg_arena_printf(s->arena, "pod %s: %s", prg_meta_name(pod), failure->message);
    s->plan->error_code = PRG_INVALID;
}

// ---- pods ----

struct pod_list {
    int64_t count, ready;
    const cJSON *newest;
    int64_t newest_ns;
};

static bool is_pod_ready(const cJSON *pod)
{
    const cJSON *status = prg_json_get(pod, "status");
    if (!prg_text_equal(prg_render_text(status, "phase"), "Running"))
        return false;
    const cJSON *condition, *conditions = prg_json_get(status, "conditions");
    prg_json_each (condition, conditions) {
        if (prg_text_equal(prg_render_text(condition, "type"), "Ready") &&
            prg_text_equal(prg_render_text(condition, "status"), "True"))
            return true;
    }
    return false;
}

static void visit_pod(const cJSON *pod, void *ctx)
{
    struct pod_list *list = ctx;
    int64_t created;
    if (!prg_clock_parse(prg_meta_created(pod), &created))
        created = INT64_MIN; // not made yet, as far as anybody knows
    if (!list->newest || created > list->newest_ns) {
        list->newest = pod;
        list->newest_ns = created;
    }
    list->count++;
    list->ready += is_pod_ready(pod);
}

// A state of a container's status that is there: "running", "terminated", "waiting".
static const cJSON *state_of(const cJSON *container_status, const char *part, const char *key)
{
    const cJSON *state = prg_json_get(prg_json_get(container_status, part), key);
    return prg_json_is_object(state) ? state : NULL;
}

// Where the pod gives no text of its own, Kubernetes' reason stands in for it when that is mended.
static const char *failure_message(struct prg_serving *s, const cJSON *terminated)
{
    const char *message = prg_render_text(terminated, "message"), *reason = prg_render_text(terminated, "reason");
    if (!prg_mended(s->compat, PRG_COMPAT_pod_failures) || !prg_text_equal(reason, "OOMKilled"))
        return message;
    return *message ? prg_arena_printf(s->arena, "%s: %s", reason, message) : reason;
}

static struct failure terminated_failure(struct prg_serving *s, const cJSON *terminated)
{
    return (struct failure){
        .reason = "ModelLoadFailed",
        .message = failure_message(s, terminated),
        .exit_code = prg_render_int(terminated, "exitCode", 0),
    };
}

static bool crash_loop(struct prg_serving *s, const cJSON *container_status, struct failure *ret)
{
    const cJSON *last = state_of(container_status, "lastState", "terminated");
    if (last) {
        *ret = terminated_failure(s, last);
        return true;
    }
    *ret = (struct failure){
        .reason = "ModelLoadFailed",
        .message = prg_arena_printf(s->arena,
                                    "container %s is in CrashLoopBackOff, but its status has no lastState.terminated",
                                    prg_render_text(container_status, "name")),
        .is_without_last_state = true,
    };
    return true;
}

// Has this container failed for good, or again and again?
static bool has_failed(struct prg_serving *s, const cJSON *pod, const cJSON *container_status, struct failure *ret)
{
    const cJSON *terminated = state_of(container_status, "state", "terminated");
    const cJSON *waiting = state_of(container_status, "state", "waiting");
    const char *ended = prg_render_text(terminated, "reason"), *waits = prg_render_text(waiting, "reason");
    bool is_mended = prg_mended(s->compat, PRG_COMPAT_pod_failures);
    if (terminated && (prg_text_equal(ended, "Error") || (is_mended && prg_text_equal(ended, "OOMKilled")))) {
        *ret = terminated_failure(s, terminated);
    } else if (prg_text_equal(waits, "CrashLoopBackOff")) {
        crash_loop(s, container_status, ret);
    } else if (is_mended && (prg_text_equal(waits, "ImagePullBackOff") || prg_text_equal(waits, "ErrImagePull"))) {
        const char *message = prg_render_text(waiting, "message");
        *ret = (struct failure){
            .reason = "RuntimeUnhealthy",
            .message = *message ? prg_arena_printf(s->arena, "%s: %s", waits, message) : waits,
        };
    } else {
        return false;
    }
    if (is_mended)
        ret->location = prg_meta_name(pod);
    return true;
}

enum verdict { VERDICT_NONE, VERDICT_DONE, VERDICT_ASK_AGAIN };

// The storage initializer comes first: while it runs the model is loading. When it runs after a failure, it may fail
// again any moment, so the answer waits.
static enum verdict judge_initializer(struct prg_serving *s, const cJSON *pod)
{
    const cJSON *container_status;
    struct failure failure;
    prg_json_each (container_status, prg_json_at(pod, "status", "initContainerStatuses")) {
        if (!prg_text_equal(prg_render_text(container_status, "name"), PRG_CONTAINER_INITIALIZER))
            continue;
        if (state_of(container_status, "state", "running")) {
            if (state_of(container_status, "lastState", "terminated"))
                return VERDICT_ASK_AGAIN;
            set_target(s, "Loading", "InProgress");
            return VERDICT_DONE;
        }
        if (has_failed(s, pod, container_status, &failure)) {
            set_failed(s, &failure, pod, PRG_CONTAINER_INITIALIZER);
            return VERDICT_DONE;
        }
    }
    return VERDICT_NONE;
}

static void judge_server(struct prg_serving *s, const cJSON *pod)
{
    const cJSON *container_status;
    struct failure failure;
    prg_json_each (container_status, prg_json_at(pod, "status", "containerStatuses")) {
        if (!prg_text_equal(prg_render_text(container_status, "name"), PRG_CONTAINER_PREDICTOR))
            continue;
        if (has_failed(s, pod, container_status, &failure))
            set_failed(s, &failure, pod, PRG_CONTAINER_PREDICTOR);
        else
            set_target(s, "Pending", "InProgress");
    }
}

// Without pods the model is pending, unless a Knative Service has scaled down to none because something is wrong. Its
// failure was reported while there were pods.
static void judge_without_pods(struct prg_serving *s)
{
    if (s->mode == PRG_MODE_KNATIVE) {
        const cJSON *stored = prg_render_stored(s, "serving.knative.dev", "Service", s->predictor_name), *condition;
        prg_json_each (condition, prg_json_at(stored, "status", "conditions")) {
            if (prg_text_equal(prg_render_text(condition, "status"), "False")) {
                set_target(s, "FailedToLoad", "BlockedByFailedLoad");
                return;
            }
        }
    }
    set_target(s, "Pending", "InProgress");
}

// A Knative Service is loaded only when the newest revision is the one that is ready.
static bool is_loaded(struct prg_serving *s)
{
    const cJSON *component = prg_json_at(s->service, "status", "components", "predictor");
    return prg_status_is_ready(s) &&
           (s->mode == PRG_MODE_STANDARD || prg_text_equal(prg_render_text(component, "latestCreatedRevision"),
                                                           prg_render_text(component, "latestReadyRevision")));
}

bool prg_status_model_from_pods(struct prg_serving *s, const char *pod_label, const char *pod_label_value)
{
    struct pod_list list = {0};
    prg_reader_list_labelled(s->in->store, "", "Pod", s->ns, pod_label, pod_label_value ? pod_label_value : "",
                             visit_pod, &list);
    set_copies(s, list.ready);
    if (!list.newest) {
        judge_without_pods(s);
        return true;
    }
    enum verdict verdict = judge_initializer(s, list.newest);
    if (verdict != VERDICT_NONE)
        return verdict == VERDICT_DONE;
    if (is_loaded(s))
        set_loaded(s);
    else
        judge_server(s, list.newest);
    return true;
}
