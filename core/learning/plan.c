// SPDX-License-Identifier: Apache-2.0
// plan.c: one sync of a job: the order of work of the original's sync and transitJobState.
//
//   never started     an inference pod, unless one is Pending or Running
//   policy il_stage   what comes next, with which actions
//   actions           pods to make or delete, the node in an annotation
//   status            at most one condition more; startTime with the first one that is written
#include "learning/plan.h"

#include <inttypes.h>
#include <string.h>

#include "learning/context.h"
#include "learning/messages.h"
#include "learning/names.h"
#include "learning/pick.h"
#include "learning/pods.h"
#include "learning/stage.h"
#include "learning/status.h"
#include "learning/worker.h"
#include "object/meta.h"

enum { BACKOFF_SECONDS = 10, BACKOFF_MOST_SECONDS = 360 };

int64_t prg_learning_backoff_seconds(unsigned failures)
{
    int64_t seconds = BACKOFF_SECONDS;
    for (unsigned i = 1; i < failures && seconds < BACKOFF_MOST_SECONDS; i++)
        seconds *= 2;
    return seconds < BACKOFF_MOST_SECONDS ? seconds : BACKOFF_MOST_SECONDS;
}

void prg_learning_suffix(const char *text, char ret[6])
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789"; // of k8s.io/apimachinery rand.String
    uint64_t hash = UINT64_C(0xcbf29ce484222325);                // FNV-1a
    for (const char *p = text; *p; p++)
        hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32; // the low bits of FNV depend on the last bytes only
    for (int i = 0; i < 5; i++) {
        ret[i] = letters[hash % (sizeof(letters) - 1)];
        hash /= sizeof(letters) - 1;
    }
    ret[5] = '\0';
}

// ---- steps ----

static struct prg_learning_step *add_step(struct prg_learning *l, enum prg_learning_step_kind kind)
{
    struct prg_learning_step *step = prg_arena_new(l->arena, struct prg_learning_step);
    step->kind = kind;
    if (l->steps->last)
        l->steps->last->next = step;
    else
        l->steps->first = step;
    l->steps->last = step;
    return step;
}

static void create_pod(struct prg_learning *l, cJSON *pod, const char *why)
{
    add_step(l, PRG_STEP_CREATE_POD)->object = pod;
    prg_plan_add_object(l->plan, pod);
    prg_plan_trace(l->plan, "pod", NULL, prg_meta_name(pod), "created", why);
}

static void delete_pod(struct prg_learning *l, const cJSON *pod, const char *why)
{
    struct prg_learning_step *step = add_step(l, PRG_STEP_DELETE_POD);
    step->name = prg_arena_strdup(l->arena, prg_meta_name(pod));
    step->uid = prg_arena_strdup(l->arena, prg_meta_uid(pod));
    prg_plan_add_delete(l->plan, "v1", "Pod", l->ns, step->name);
    prg_plan_trace(l->plan, "pod", NULL, step->name, "deleted", why);
}

// An absent annotation and an empty value are the same.
static void annotate_job(struct prg_learning *l, const char *key, const char *value)
{
    const char *present = prg_meta_annotation(l->job, key);
    if (prg_text_equal(present ? present : "", value))
        return;
    cJSON *patch = prg_json_object(l->arena), *meta = prg_json_object(l->arena),
          *annotations = prg_json_object(l->arena);
    prg_json_set_string(l->arena, annotations, key, value);
    prg_json_set(l->arena, meta, "annotations", annotations);
    prg_json_set(l->arena, patch, "metadata", meta);
    add_step(l, PRG_STEP_PATCH_JOB)->object = patch;
    meta = prg_json_ensure_object(l->arena, l->job, "metadata");
    prg_json_set_string(l->arena, prg_json_ensure_object(l->arena, meta, "annotations"), key, value);
    prg_plan_trace(l->plan, "annotation", NULL, key, "set", value);
}

// ---- actions ----

static bool makes_pod_of_type(const struct prg_learning *l, const char *type)
{
    for (const struct prg_learning_step *step = l->steps->first; step; step = step->next)
        if (step->kind == PRG_STEP_CREATE_POD &&
            prg_text_equal(prg_meta_label(step->object, PRG_LABEL_WORKER_TYPE), type))
            return true;
    return false;
}

static void add_inference(struct prg_learning *l, cJSON *pod, const char *why)
{
    create_pod(l, pod, why);
    if (l->has_hot_update)
        annotate_job(
            l, PRG_ANNOTATION_HOT_UPDATE,
            prg_arena_printf(l->arena, "%smodel_config.json", prg_hot_update_directory(l->arena, l->ns, l->name)));
}

static int create_inference(struct prg_learning *l, const cJSON *replaced, const char *why, struct prg_error *err)
{
    cJSON *pod = NULL;
    if (makes_pod_of_type(l, PRG_WORKER_INFERENCE))
        return PRG_OK; // this very plan starts the job
    int rc = prg_make_inference_worker(l, replaced, NULL, &pod, err);
    if (rc == PRG_OK)
        add_inference(l, pod, why);
    return rc;
}

// The pod is made for the condition that asks for the restart. When it is there already, a controller died between
// making it and storing the status: the restart is done, and not done twice.
static int restart_inference(struct prg_learning *l, const struct prg_job_condition *latest, struct prg_error *err)
{
    const cJSON *old = prg_pick_worker(l->in->store, l->in->job, PRG_WORKER_INFERENCE);
    cJSON *pod = NULL;
    if (makes_pod_of_type(l, PRG_WORKER_INFERENCE))
        return PRG_OK; // this very plan starts the job
    int rc = prg_make_inference_worker(l, old, latest->node, &pod, err);
    if (rc != PRG_OK)
        return rc;
    if (!old || strcmp(prg_meta_name(old), prg_meta_name(pod)) != 0) {
        if (old)
            delete_pod(l, old, "a new model is deployed by a restart");
        add_inference(l, pod, "it starts with the new model");
        return PRG_OK;
    }
    if (!prg_meta_is_deleting(old)) {
        prg_plan_trace(l->plan, "pod", NULL, prg_meta_name(old), "kept", "it was made for this deployment already");
        return PRG_OK;
    }
    return create_inference(l, old, "the one that was made for this deployment goes", err);
}

static int create_worker(struct prg_learning *l, const struct prg_job_condition *latest, struct prg_error *err)
{
    const char *type = prg_stage_worker_type(latest->stage);
    cJSON *pod = NULL;
    if (strcmp(type, PRG_WORKER_INFERENCE) == 0)
        return create_inference(l, prg_pick_worker(l->in->store, l->in->job, type), "the stage needs it", err);
    int rc = prg_make_stage_worker(l, type, latest->node, &pod, err);
    if (rc != PRG_OK)
        return rc;
    create_pod(l, pod, prg_arena_printf(l->arena, "%s is %s", latest->stage, latest->type));
    return PRG_OK;
}

static int run_action(struct prg_learning *l, enum prg_stage_action action, const struct prg_job_condition *latest,
                      struct prg_error *err)
{
    const cJSON *pod = prg_pick_worker(l->in->store, l->in->job, prg_stage_worker_type(latest->stage));
    switch (action) {
    case PRG_ACTION_CREATE_WORKER:
        return create_worker(l, latest, err);
    case PRG_ACTION_CREATE_INFERENCE:
        return create_inference(l, prg_pick_worker(l->in->store, l->in->job, PRG_WORKER_INFERENCE),
                                "the policy asks for it", err);
    case PRG_ACTION_RESTART_INFERENCE:
        return restart_inference(l, latest, err);
    case PRG_ACTION_RECORD_NODE:
        if (pod)
            annotate_job(l, prg_arena_printf(l->arena, PRG_ANNOTATION_NODE_PREFIX "%s", latest->stage),
                         prg_pod_node(pod));
        return PRG_OK;
    case PRG_ACTION_DELETE_WORKER:
        if (pod && !prg_meta_is_deleting(pod))
            delete_pod(l, pod, "the policy asks for it");
        return PRG_OK;
    case PRG_ACTION_COUNT:
        break;
    }
    return PRG_OK;
}

// ---- the decision ----

static const char *state_text(struct prg_learning *l, const char *stage, const char *type)
{
    return prg_arena_printf(l->arena, "%s %s", stage, *type ? type : "(not begun)");
}

static void trace_decision(struct prg_learning *l, const struct prg_job_condition *latest,
                           const struct prg_stage_decision *decision, const struct prg_policy_source *source)
{
    const char *from = state_text(l, latest->stage, latest->type), *why = decision->note;
    const char *awaited = prg_learning_awaited_node(l->in->store, l->in->job);
    if (!why)
        why = decision->reason;
    if (decision->type) {
        prg_plan_trace(l->plan, "stage", source, from, state_text(l, decision->stage, decision->type), why);
    } else {
        prg_plan_trace(l->plan, "stage", source, from, "stays", why ? why : "nothing to do until something happens");
        if (awaited)
            prg_plan_trace(l->plan, "edge", NULL, *awaited ? awaited : "(no node is known yet)", "awaited",
                           prg_arena_printf(l->arena, "its report on %s, since %s", latest->stage, latest->since));
    }
    if (decision->after_ms)
        prg_plan_trace(l->plan, "requeue", source, l->name,
                       prg_arena_printf(l->arena, "after %" PRId64 " s", decision->after_ms / 1000), why);
}

static int ask_policy(struct prg_learning *l, struct prg_stage_decision *ret, struct prg_policy_source *source,
                      struct prg_error *err)
{
    cJSON *answer = NULL;
    *ret = (struct prg_stage_decision){0};
    int rc = l->decide->stage_transit(l->decide->ctx, prg_stage_input(l->arena, l->in->store, l->in->job, l->now),
                                      &answer, source, err);
    if (rc != PRG_OK || !answer)
        return rc;
    if (prg_stage_decision_read(l->arena, answer, ret, err) != PRG_OK)
        return prg_wrap(err, "%s:%d: policy il_stage, function transit", source->file ? source->file : "?",
                        source->line);
    return PRG_OK;
}

// A policy that answers the state the job has reached this very second would never end.
static int check_progress(const struct prg_learning *l, const struct prg_job_condition *latest,
                          const struct prg_stage_decision *decision, struct prg_error *err)
{
    if (!decision->type || strcmp(decision->type, latest->type) != 0 || strcmp(decision->stage, latest->stage) != 0 ||
        strcmp(latest->since, l->now) != 0)
        return PRG_OK;
    return prg_fail(err, PRG_POLICY,
                    "policy il_stage, function transit: answers %s %s, which the job reached at %s, this very "
                    "second; let it wait with `after`",
                    decision->stage, decision->type, latest->since);
}

static void write_condition(struct prg_learning *l, const struct prg_stage_decision *decision)
{
    cJSON *status = prg_json_ensure_object(l->arena, l->job, "status");
    const char *start = prg_json_get_text(status, "startTime");
    if (!start)
        prg_json_set_string(l->arena, status, "startTime", l->now);
    prg_job_condition_append(l->arena, l->job,
                             prg_job_condition_new(l->arena, decision->stage, decision->type, decision->reason, NULL,
                                                   decision->data, l->now));
    if (decision->keep > 0)
        (void)prg_job_condition_trim(l->job, (size_t)decision->keep);
    l->steps->has_status = true;
}

static int transit(struct prg_learning *l, struct prg_error *err)
{
    struct prg_job_condition latest = prg_job_condition_latest(l->in->job);
    struct prg_stage_decision decision;
    struct prg_policy_source source = {0};
    int rc = ask_policy(l, &decision, &source, err);
    if (rc == PRG_OK)
        rc = check_progress(l, &latest, &decision, err);
    if (rc != PRG_OK)
        return rc;
    trace_decision(l, &latest, &decision, &source);
    for (size_t i = 0; rc == PRG_OK && i < decision.action_count; i++)
        rc = run_action(l, decision.actions[i], &latest, err);
    if (rc != PRG_OK)
        return rc;
    if (decision.type)
        write_condition(l, &decision);
    l->plan->requeue_after_ms = decision.after_ms;
    return PRG_OK;
}

// ---- the plan ----

static int start(struct prg_learning *l, struct prg_error *err)
{
    const cJSON *pod = prg_pick_worker(l->in->store, l->in->job, PRG_WORKER_INFERENCE);
    const char *phase = prg_pod_phase(pod);
    if (prg_json_get_text(prg_json_get(l->in->job, "status"), "startTime"))
        return PRG_OK;
    if (pod && (strcmp(phase, "Running") == 0 || strcmp(phase, "Pending") == 0))
        return PRG_OK;
    return create_inference(l, pod, "the job starts: inference goes on while it learns", err);
}

static void set_error(struct prg_learning *l, const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    l->plan->error = prg_arena_strdup(l->arena, prg_error_text(err, text, sizeof(text)));
    l->plan->error_code = err->code;
    l->plan->requeue_after_ms = 0;
    if (err->code == PRG_POLICY) { // nothing may be applied or deleted
        *l->steps = (struct prg_learning_steps){0};
        l->plan->objects = prg_json_array(l->arena);
        l->plan->deletes = prg_json_array(l->arena);
        l->job = prg_json_copy(l->arena, l->in->job);
        l->plan->resource = l->job;
    }
    prg_plan_add_event(l->plan, "Warning", err->code == PRG_POLICY ? "PolicyFailed" : "StageBlocked", "%s",
                       l->plan->error);
    prg_plan_trace(l->plan, "plan", NULL, l->name, "error", l->plan->error);
}

static void tell_failure(struct prg_learning *l)
{
    struct prg_job_condition latest = prg_job_condition_latest(l->job);
    static const char *const bad[] = {PRG_TYPE_FAILED, "GaveUp"};
    for (size_t i = 0; l->steps->has_status && i < PRG_COUNT(bad); i++)
        if (strcmp(latest.type, bad[i]) == 0) {
            const char *reason = prg_json_get_text(latest.node, "reason");
            prg_plan_add_event(l->plan, "Warning", i == 0 ? "StageFailed" : "GaveUp", "%s %s%s%s", latest.stage,
                               latest.type, reason ? ": " : "", reason ? reason : "");
        }
}

static void plan_job(struct prg_learning *l)
{
    struct prg_error err = {0};
    struct prg_decision_context context = {.arena = l->arena,
                                           .service = l->in->job,
                                           .config = prg_json_object(l->arena),
                                           .compat = prg_json_object(l->arena)};
    if (prg_meta_is_deleting(l->in->job)) {
        prg_plan_trace(l->plan, "plan", NULL, l->name, "nothing to do", "the job is being deleted");
        return;
    }
    int rc = l->decide->begin(l->decide->ctx, &context, &err);
    if (rc == PRG_OK) {
        rc = start(l, &err);
        if (rc == PRG_OK)
            rc = transit(l, &err);
        l->decide->end(l->decide->ctx);
    }
    if (rc != PRG_OK)
        set_error(l, &err);
    tell_failure(l);
    if (l->steps->has_status)
        prg_learning_downstream(l->arena, l->in->store, l->job, PRG_CHANGE_STORED, l->plan->messages);
}

int prg_learning_plan(const struct prg_learning_input *in, const struct prg_decider *decide, struct prg_plan *plan,
                      struct prg_learning_steps *ret_steps, struct prg_error *err)
{
    struct prg_key key;
    struct prg_learning_steps own = {0};
    struct prg_learning l = {
        .arena = plan->arena, .in = in, .decide = decide, .plan = plan, .steps = ret_steps ? ret_steps : &own};
    if (prg_key_of(plan->arena, in->job, &key, err) != PRG_OK)
        return prg_wrap(err, "the subject of the plan");
    if (!prg_text_equal(key.group, PRG_SEDNA_GROUP) || !prg_text_equal(key.kind, PRG_KIND_JOB))
        return prg_fail(err, PRG_INVALID, "the subject of the plan is a %s, not an IncrementalLearningJob",
                        prg_key_text(plan->arena, &key));
    *l.steps = (struct prg_learning_steps){0};
    l.name = prg_arena_strdup(plan->arena, key.name);
    l.ns = prg_arena_strdup(plan->arena, key.ns && *key.ns ? key.ns : "default");
    l.uid = prg_arena_strdup(plan->arena, prg_meta_uid(in->job));
    l.has_hot_update = prg_json_get_true(prg_json_at(in->job, "spec", "deploySpec", "model"), "hotUpdateEnabled");
    (void)prg_clock_format(in->now_ns, l.now);
    l.job = prg_json_copy(plan->arena, in->job);
    plan->resource = l.job;
    if (decide->revision) // the plan may outlive the set
        plan->policy_revision = prg_arena_strdup(plan->arena, decide->revision(decide->ctx));
    plan_job(&l);
    prg_plan_finish(plan);
    return PRG_OK;
}
