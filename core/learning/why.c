// SPDX-License-Identifier: Apache-2.0
// why.c: a job's situation, told by asking the planner and the policy what they would do if this or that happened.
#include "learning/why.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "learning/conddata.h"
#include "learning/messages.h"
#include "learning/names.h"
#include "learning/outlook.h"
#include "learning/pick.h"
#include "learning/stage.h"
#include "learning/status.h"
#include "learning/upstream.h"
#include "object/meta.h"

struct asking {
    struct prg_arena *arena;
    const struct prg_learning_input *in;
    const struct prg_decider *decide;
    struct prg_job_condition latest;
    const char *worker_type; // of the stage
    const cJSON *pod;        // the stage's worker, or NULL
    struct prg_plan *plan;   // of the job as it is
    struct prg_learning_steps steps;
    cJSON *answer;
};

// ---- little things ----

static const char *state_text(struct prg_arena *arena, const char *stage, const char *type)
{
    return prg_arena_printf(arena, "%s %s", stage, type && *type ? type : "(not begun)");
}

// Seconds since an RFC 3339 time; -1 when it is none, or lies ahead.
static int64_t seconds_since(const struct asking *a, const char *since)
{
    int64_t at_ns = 0;
    if (!since || !prg_clock_parse(since, &at_ns) || at_ns > a->in->now_ns)
        return -1;
    return (a->in->now_ns - at_ns) / 1000000000;
}

static void set_since(struct asking *a, cJSON *object, const char *since)
{
    int64_t seconds = seconds_since(a, since);
    if (since && *since)
        prg_json_set_string(a->arena, object, "since", since);
    if (seconds >= 0)
        prg_json_set_int(a->arena, object, "seconds", seconds);
}

// What a plan does, in words: its error, or its pods and new state.
static const char *plan_text(struct asking *a, const struct prg_plan *plan, const struct prg_learning_steps *steps)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (plan->error)
        return prg_arena_printf(a->arena, "an error: %s", plan->error);
    for (const struct prg_learning_step *step = steps->first; step; step = step->next) {
        if (step->kind == PRG_STEP_PATCH_JOB)
            continue;
        prg_strbuf_printf(&text, "%s%s pod %s", text.length ? ", " : "",
                          step->kind == PRG_STEP_CREATE_POD ? "makes" : "deletes",
                          step->name ? step->name : prg_meta_name(step->object));
    }
    if (steps->has_status) {
        struct prg_job_condition next = prg_job_condition_latest(plan->resource);
        const char *reason = prg_json_get_text(next.node, "reason");
        prg_strbuf_printf(&text, "%s%s", text.length ? ", then " : "", state_text(a->arena, next.stage, next.type));
        if (reason)
            prg_strbuf_printf(&text, " (%s)", reason);
    }
    if (!text.length)
        prg_strbuf_printf(&text, "stays %s", state_text(a->arena, a->latest.stage, a->latest.type));
    return prg_arena_strdup(a->arena, text.text);
}

static struct prg_plan *plan_for(struct asking *a, const cJSON *job, struct prg_learning_steps *ret_steps)
{
    struct prg_plan *plan = prg_plan_new(a->arena);
    struct prg_learning_input in = *a->in;
    struct prg_error ignored = {0};
    in.job = job;
    if (prg_learning_plan(&in, a->decide, plan, ret_steps, &ignored) != PRG_OK)
        plan->error = "the job cannot be planned";
    return plan;
}

// ---- pods ----

static const char *waiting_container(struct asking *a, const cJSON *pod, const char *list)
{
    const cJSON *entry;
    prg_json_each (entry, prg_json_at(pod, "status", list)) {
        const cJSON *waiting = prg_json_at(entry, "state", "waiting"),
                    *ended = prg_json_at(entry, "state", "terminated");
        const cJSON *state = waiting ? waiting : ended;
        const char *reason = prg_json_get_text(state, "reason"), *message = prg_json_get_text(state, "message");
        const char *name = prg_json_get_text(entry, "name");
        if (!reason || strcmp(reason, "Completed") == 0)
            continue;
        return prg_arena_printf(a->arena, "container %s: %s%s%s", name ? name : "?", reason, message ? ": " : "",
                                message ? message : "");
    }
    return NULL;
}

// Why a pod does not run, as far as it says so itself; or NULL.
static const char *pod_problem(struct asking *a, const cJSON *pod)
{
    const cJSON *condition;
    const char *problem = waiting_container(a, pod, "initContainerStatuses");
    if (!problem)
        problem = waiting_container(a, pod, "containerStatuses");
    if (problem)
        return problem;
    prg_json_each (condition, prg_json_at(pod, "status", "conditions")) {
        const char *reason = prg_json_get_text(condition, "reason"), *text = prg_json_get_text(condition, "message");
        if (prg_text_equal(prg_json_get_text(condition, "type"), "PodScheduled") &&
            prg_text_equal(prg_json_get_text(condition, "status"), "False"))
            return prg_arena_printf(a->arena, "%s%s%s", reason ? reason : "not scheduled", text ? ": " : "",
                                    text ? text : "");
    }
    return prg_json_get_text(prg_json_get(pod, "status"), "message");
}

static void tell_pods(struct asking *a)
{
    static const char *const types[] = {PRG_WORKER_INFERENCE, PRG_WORKER_TRAIN, PRG_WORKER_EVAL};
    cJSON *pods = prg_json_array(a->arena);
    for (size_t i = 0; i < PRG_COUNT(types); i++) {
        const cJSON *pod = prg_pick_worker(a->in->store, a->in->job, types[i]);
        if (!pod)
            continue;
        cJSON *entry = prg_json_object(a->arena);
        const char *node = prg_pod_node(pod);
        prg_json_set_string(a->arena, entry, "name", prg_meta_name(pod));
        prg_json_set_string(a->arena, entry, "type", types[i]);
        prg_json_set_string(a->arena, entry, "phase", prg_meta_is_deleting(pod) ? "Terminating" : prg_pod_phase(pod));
        prg_json_set_string(a->arena, entry, "node", *node ? node : NULL);
        prg_json_set_string(a->arena, entry, "created", prg_meta_created(pod));
        prg_json_set_string(a->arena, entry, "problem", pod_problem(a, pod));
        prg_json_append(pods, entry);
    }
    prg_json_set(a->arena, a->answer, "pods", pods);
}

// ---- who is awaited ----

static void await(struct asking *a, const char *who, const char *node, const char *what, const char *since)
{
    cJSON *awaited = prg_json_object(a->arena);
    prg_json_set_string(a->arena, awaited, "who", who);
    prg_json_set_string(a->arena, awaited, "node", node);
    prg_json_set_string(a->arena, awaited, "what", what);
    set_since(a, awaited, since);
    prg_json_set(a->arena, a->answer, "awaited", awaited);
}

static void await_edge(struct asking *a, const char *node)
{
    bool is_waiting = strcmp(a->latest.type, PRG_TYPE_WAITING) == 0;
    const char *what;
    if (!is_waiting)
        what = prg_arena_printf(
            a->arena, "the %s worker's result, which it reports through the node's Local Controller", a->worker_type);
    else if (strcmp(a->latest.stage, PRG_STAGE_DEPLOY) == 0)
        what = "its verdict on the evaluated model: Deploy Ready, or Completed when it is not needed";
    else
        what = prg_arena_printf(a->arena, "its report %s Ready, when the trigger fires", a->latest.stage);
    if (!*node)
        what = prg_arena_printf(a->arena, "%s; but no node is known%s", what,
                                is_waiting ? ": the Dataset names none, or no worker ran" : ": the pod has none yet");
    await(a, is_waiting ? "edge node" : "worker", *node ? node : NULL, what, a->latest.since);
}

static void await_pod(struct asking *a)
{
    const char *problem = a->pod ? pod_problem(a, a->pod) : NULL;
    if (!a->pod) {
        await(a, "nobody", NULL,
              prg_arena_printf(a->arena, "there is no %s pod: it was deleted, or its node went", a->worker_type),
              a->latest.since);
        return;
    }
    await(a, "kubelet", *prg_pod_node(a->pod) ? prg_pod_node(a->pod) : NULL,
          prg_arena_printf(a->arena, "pod %s is %s%s%s", prg_meta_name(a->pod), prg_pod_phase(a->pod),
                           problem ? ": " : "", problem ? problem : ""),
          prg_meta_created(a->pod));
}

static const char *note_of(const struct asking *a, const struct prg_trace_entry **ret_entry)
{
    for (const struct prg_trace_entry *entry = a->plan->trace_first; entry; entry = entry->next)
        if (strcmp(entry->decision, "stage") == 0) {
            *ret_entry = entry;
            return entry->reason;
        }
    *ret_entry = NULL;
    return NULL;
}

static void tell_awaited(struct asking *a)
{
    const char *node = prg_learning_awaited_node(a->in->store, a->in->job);
    const struct prg_trace_entry *entry;
    const char *note = note_of(a, &entry);
    bool is_for_you = strcmp(a->latest.type, "Paused") == 0 || strcmp(a->latest.type, "GaveUp") == 0;
    if (prg_meta_is_deleting(a->in->job))
        await(a, "controller", NULL, "the job is being deleted", NULL);
    else if (a->plan->error)
        await(a, "you", NULL,
              "what the error says; the controller tries again with a growing pause, and at once when "
              "the job, a pod or what the job names changes",
              a->latest.since);
    else if (a->steps.has_status || a->steps.first)
        await(a, "controller", NULL, "a running controller does the next step at once", a->latest.since);
    else if (is_for_you || !a->latest.node)
        await(a, "you", NULL, note ? note : "nothing happens by itself", a->latest.since);
    else if (node && !(strcmp(a->latest.type, PRG_TYPE_RUNNING) == 0 && !a->pod))
        await_edge(a, node);
    else if (strcmp(a->latest.type, PRG_TYPE_STARTING) == 0 || strcmp(a->latest.type, PRG_TYPE_RUNNING) == 0)
        await_pod(a);
    else
        await(a, a->plan->requeue_after_ms ? "controller" : "nobody", NULL,
              note ? note : "the policy has nothing to do in this state", a->latest.since);
}

// ---- what happens next ----

static void tell_next(struct asking *a, cJSON *list, const char *condition, const char *then)
{
    cJSON *entry = prg_json_object(a->arena);
    prg_json_set_string(a->arena, entry, "if", condition);
    prg_json_set_string(a->arena, entry, "then", then);
    prg_json_append(list, entry);
}

static cJSON *model(struct asking *a, const char *url)
{
    cJSON *model = prg_json_object(a->arena);
    prg_json_set_string(a->arena, model, "url", url);
    return model;
}

// A report as an edge node would send it now: what a policy that looks into reports needs to see.
static cJSON *imagined_report(struct asking *a, const char *type)
{
    cJSON *content = prg_json_object(a->arena), *part = prg_json_object(a->arena), *models = prg_json_array(a->arena);
    const char *stage = a->latest.stage, *folder = prg_json_get_text(prg_json_get(a->in->job, "spec"), "outputDir");
    bool is_ready = strcmp(type, PRG_TYPE_READY) == 0, is_train = strcmp(stage, PRG_STAGE_TRAIN) == 0;
    const cJSON *asked = prg_conddata_latest(a->arena, a->in->job, stage, PRG_TYPE_READY, "input"),
                *made = prg_conddata_latest(a->arena, a->in->job, PRG_STAGE_TRAIN, PRG_TYPE_COMPLETED, "output"), *node;
    const cJSON *known = is_ready ? (is_train ? NULL : made) : (is_train ? NULL : asked);
    const char *output = prg_json_get_text(asked, "outputDir");
    prg_json_each (node, prg_json_get(known, "models"))
        prg_json_append(models, prg_json_copy(a->arena, node));
    if (!models->child)
        prg_json_append(models, model(a, prg_arena_printf(a->arena, "%s/model",
                                                          output && !is_ready ? output
                                                          : folder            ? folder
                                                                              : "")));
    prg_json_set_string(a->arena, content, "phase", stage);
    prg_json_set_string(a->arena, content, "status", type);
    prg_json_set(a->arena, part, "models", models);
    if (is_ready)
        prg_json_set_string(a->arena, part, "dataURL", "(the next samples)");
    prg_json_set(a->arena, content, is_ready ? "input" : "output", part);
    return content;
}

static void tell_report(struct asking *a, cJSON *list, const char *node, const char *type)
{
    struct prg_learning_verdict verdict;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    struct prg_learning_steps steps = {0};
    struct prg_learning_report report = {
        .content = imagined_report(a, type), .job = a->in->job, .store = a->in->store, .now_ns = a->in->now_ns};
    const char *condition =
        prg_arena_printf(a->arena, "%s reports %s %s", node && *node ? node : "an edge node", a->latest.stage, type);
    if (prg_learning_report(a->arena, &report, a->decide, &verdict, &err) != PRG_OK)
        tell_next(a, list, condition, prg_error_text(&err, text, sizeof(text)));
    else if (!verdict.is_accepted)
        tell_next(a, list, condition,
                  prg_arena_printf(a->arena, "the report does not count: %s",
                                   verdict.reason ? verdict.reason : "the policy says so"));
    else if (strcmp(type, PRG_TYPE_READY) == 0) // its pod depends on data that is not known yet
        tell_next(a, list, condition,
                  strcmp(a->latest.stage, PRG_STAGE_DEPLOY) == 0
                      ? plan_text(a, plan_for(a, verdict.job, &steps), &steps)
                      : prg_arena_printf(a->arena, "the %s worker is made with the input that the report names",
                                         a->worker_type));
    else
        tell_next(a, list, condition, plan_text(a, plan_for(a, verdict.job, &steps), &steps));
}

static const char *decision_text(struct asking *a, cJSON *input)
{
    struct prg_decision_context context = {.arena = a->arena,
                                           .service = a->in->job,
                                           .config = prg_json_object(a->arena),
                                           .compat = prg_json_object(a->arena)};
    struct prg_stage_decision decision = {0};
    struct prg_policy_source source = {0};
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    cJSON *answer = NULL;
    int rc = a->decide->begin(a->decide->ctx, &context, &err);
    if (rc == PRG_OK) {
        rc = a->decide->stage_transit(a->decide->ctx, input, &answer, &source, &err);
        if (rc == PRG_OK && answer)
            rc = prg_stage_decision_read(a->arena, answer, &decision, &err);
        a->decide->end(a->decide->ctx);
    }
    if (rc != PRG_OK)
        return prg_arena_strdup(a->arena, prg_error_text(&err, text, sizeof(text)));
    if (!decision.type)
        return prg_arena_printf(a->arena, "stays %s%s%s", state_text(a->arena, a->latest.stage, a->latest.type),
                                decision.note ? ": " : "", decision.note ? decision.note : "");
    return prg_arena_printf(a->arena, "%s%s%s%s", state_text(a->arena, decision.stage, decision.type),
                            decision.reason ? " (" : "", decision.reason ? decision.reason : "",
                            decision.reason ? ")" : "");
}

static cJSON *input_at(struct asking *a, int64_t now_ns)
{
    char now[PRG_CLOCK_TEXT];
    return prg_stage_input(a->arena, a->in->store, a->in->job, prg_clock_format(now_ns, now));
}

static void tell_phase(struct asking *a, cJSON *list, const char *phase)
{
    cJSON *input = input_at(a, a->in->now_ns), *pod = prg_json_get(input, "pod");
    if (strcmp(prg_pod_phase(a->pod), phase) == 0)
        return;
    prg_json_set_string(a->arena, pod, "phase", phase);
    tell_next(a, list, prg_arena_printf(a->arena, "pod %s is %s", prg_meta_name(a->pod), phase),
              decision_text(a, input));
}

static void tell_all_next(struct asking *a)
{
    cJSON *list = prg_json_array(a->arena);
    const char *node = prg_learning_awaited_node(a->in->store, a->in->job);
    bool is_waiting = strcmp(a->latest.type, PRG_TYPE_WAITING) == 0,
         is_deploy = strcmp(a->latest.stage, PRG_STAGE_DEPLOY) == 0;
    bool is_at_work = strcmp(a->latest.type, PRG_TYPE_RUNNING) == 0 || strcmp(a->latest.type, "Succeeded") == 0;
    prg_json_set(a->arena, a->answer, "next", list);
    if (prg_meta_is_deleting(a->in->job))
        return;
    if (a->plan->error || a->steps.has_status || a->steps.first) {
        tell_next(a, list, "the controller runs", plan_text(a, a->plan, &a->steps));
        return;
    }
    if (is_waiting)
        tell_report(a, list, node, PRG_TYPE_READY);
    if ((is_waiting && is_deploy) || is_at_work)
        tell_report(a, list, node, PRG_TYPE_COMPLETED);
    if (is_waiting || is_at_work)
        tell_report(a, list, node, PRG_TYPE_FAILED);
    if (a->pod && (strcmp(a->latest.type, PRG_TYPE_STARTING) == 0 || strcmp(a->latest.type, PRG_TYPE_RUNNING) == 0)) {
        tell_phase(a, list, "Running");
        tell_phase(a, list, "Succeeded");
        tell_phase(a, list, "Failed");
    }
}

static void tell_deadline(struct asking *a)
{
    int64_t after_ms = a->plan->requeue_after_ms, at_ns = a->in->now_ns + after_ms * 1000000;
    char at[PRG_CLOCK_TEXT];
    if (after_ms <= 0)
        return;
    cJSON *deadline = prg_json_object(a->arena);
    prg_json_set_int(a->arena, deadline, "seconds", (after_ms + 999) / 1000);
    prg_json_set_string(a->arena, deadline, "at", prg_clock_format(at_ns, at));
    prg_json_set_string(a->arena, deadline, "then", decision_text(a, input_at(a, at_ns)));
    prg_json_set(a->arena, a->answer, "deadline", deadline);
}

// ---- all ----

static void tell_state(struct asking *a)
{
    cJSON *job = prg_json_object(a->arena), *state = prg_json_object(a->arena);
    int64_t rounds = 0;
    prg_json_set_string(a->arena, job, "namespace", prg_meta_namespace(a->in->job));
    prg_json_set_string(a->arena, job, "name", prg_meta_name(a->in->job));
    prg_json_set(a->arena, a->answer, "job", job);
    for (const cJSON *node = prg_job_condition_first(a->in->job); node; node = prg_job_condition_next(node)) {
        struct prg_job_condition c = prg_job_condition_of(node);
        rounds += strcmp(c.stage, PRG_STAGE_TRAIN) == 0 && strcmp(c.type, PRG_TYPE_WAITING) == 0;
    }
    prg_json_set_int(a->arena, a->answer, "round", rounds);
    prg_json_set_string(a->arena, state, "stage", a->latest.stage);
    prg_json_set_string(a->arena, state, "type", a->latest.type);
    set_since(a, state, a->latest.since);
    prg_json_set_string(a->arena, state, "reason", prg_json_get_text(a->latest.node, "reason"));
    prg_json_set_bool(a->arena, state, "isReported", a->latest.is_reported);
    prg_json_set(a->arena, a->answer, "state", state);
}

static void tell_policy(struct asking *a)
{
    const struct prg_trace_entry *entry;
    const char *note = note_of(a, &entry);
    if (!entry || !entry->source.file)
        return;
    cJSON *policy = prg_json_object(a->arena);
    prg_json_set_string(a->arena, policy, "file", entry->source.file);
    prg_json_set_int(a->arena, policy, "line", entry->source.line);
    prg_json_set_string(a->arena, policy, "note", note);
    prg_json_set(a->arena, a->answer, "policy", policy);
}

int prg_learning_why(struct prg_arena *arena, const struct prg_learning_input *in, const struct prg_decider *decide,
                     cJSON **ret, struct prg_error *err)
{
    struct asking a = {.arena = arena, .in = in, .decide = decide, .answer = prg_json_object(arena)};
    a.latest = prg_job_condition_latest(in->job);
    a.worker_type = prg_stage_worker_type(a.latest.stage);
    a.pod = a.latest.node ? prg_pick_worker(in->store, in->job, a.worker_type) : NULL;
    a.plan = prg_plan_new(arena);
    int rc = prg_learning_plan(in, decide, a.plan, &a.steps, err);
    if (rc != PRG_OK)
        return rc;
    tell_state(&a);
    prg_json_set_string(arena, a.answer, "error", a.plan->error);
    tell_awaited(&a);
    tell_pods(&a);
    tell_all_next(&a);
    tell_deadline(&a);
    prg_json_set(arena, a.answer, "never", prg_learning_outlook(arena, in->store, in->job));
    tell_policy(&a);
    *ret = a.answer;
    return PRG_OK;
}

// ---- text ----

static void put_duration(struct prg_strbuf *out, int64_t seconds)
{
    if (seconds >= 2 * 86400)
        prg_strbuf_printf(out, "%" PRId64 " days", seconds / 86400);
    else if (seconds >= 2 * 3600)
        prg_strbuf_printf(out, "%" PRId64 " hours", seconds / 3600);
    else if (seconds >= 120)
        prg_strbuf_printf(out, "%" PRId64 " minutes", seconds / 60);
    else
        prg_strbuf_printf(out, "%" PRId64 " s", seconds);
}

static void put_since(struct prg_strbuf *out, const cJSON *object)
{
    const char *since = prg_json_get_text(object, "since");
    int64_t seconds;
    if (!since)
        return;
    prg_strbuf_printf(out, ", since %s", since);
    if (!prg_json_get_int64(object, "seconds", &seconds))
        return;
    prg_strbuf_puts(out, " (");
    put_duration(out, seconds);
    prg_strbuf_putc(out, ')');
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = prg_json_get_text(object, key);
    return text ? text : "";
}

static void put_head(const cJSON *why, struct prg_strbuf *out)
{
    const cJSON *job = prg_json_get(why, "job"), *state = prg_json_get(why, "state");
    const char *type = text_of(state, "type"), *reason = prg_json_get_text(state, "reason");
    int64_t round = 0;
    (void)prg_json_get_int64(why, "round", &round);
    prg_strbuf_printf(out, "incrementallearningjob %s/%s: %s %s", text_of(job, "namespace"), text_of(job, "name"),
                      text_of(state, "stage"), *type ? type : "(not begun)");
    put_since(out, state);
    if (round)
        prg_strbuf_printf(out, ", round %" PRId64, round);
    prg_strbuf_putc(out, '\n');
    if (reason)
        prg_strbuf_printf(out, "  reason: %s\n", reason);
    if (prg_json_get_text(why, "error"))
        prg_strbuf_printf(out, "  error: %s\n", prg_json_get_text(why, "error"));
}

static void put_awaited(const cJSON *why, struct prg_strbuf *out)
{
    const cJSON *awaited = prg_json_get(why, "awaited"), *policy = prg_json_get(why, "policy");
    const char *node = prg_json_get_text(awaited, "node");
    int64_t line = 0;
    prg_strbuf_printf(out, "waits for\n  %s%s%s: %s", text_of(awaited, "who"), node ? " " : "", node ? node : "",
                      text_of(awaited, "what"));
    put_since(out, awaited);
    prg_strbuf_putc(out, '\n');
    if (!policy)
        return;
    (void)prg_json_get_int64(policy, "line", &line);
    prg_strbuf_printf(out, "  [%s:%" PRId64 "%s%s]\n", text_of(policy, "file"), line,
                      prg_json_get_text(policy, "note") ? ": " : "", text_of(policy, "note"));
}

static void put_pods(const cJSON *why, struct prg_strbuf *out)
{
    const cJSON *pod;
    prg_strbuf_puts(out, prg_json_count(prg_json_get(why, "pods")) ? "pods\n" : "pods\n  none\n");
    prg_json_each (pod, prg_json_get(why, "pods")) {
        const char *node = prg_json_get_text(pod, "node"), *problem = prg_json_get_text(pod, "problem");
        prg_strbuf_printf(out, "  %s: %s%s%s%s%s\n", text_of(pod, "name"), text_of(pod, "phase"), node ? " on " : "",
                          node ? node : "", problem ? ": " : "", problem ? problem : "");
    }
}

static void put_next(const cJSON *why, struct prg_strbuf *out)
{
    const cJSON *entry, *deadline = prg_json_get(why, "deadline");
    int64_t seconds = 0;
    if (prg_json_count(prg_json_get(why, "next")) || deadline)
        prg_strbuf_puts(out, "what happens next\n");
    prg_json_each (entry, prg_json_get(why, "next"))
        prg_strbuf_printf(out, "  when %s: %s\n", text_of(entry, "if"), text_of(entry, "then"));
    if (!deadline)
        return;
    (void)prg_json_get_int64(deadline, "seconds", &seconds);
    prg_strbuf_puts(out, "  after ");
    put_duration(out, seconds);
    prg_strbuf_printf(out, ", at %s: %s\n", text_of(deadline, "at"), text_of(deadline, "then"));
}

void prg_learning_why_text(const cJSON *why, struct prg_strbuf *out)
{
    const cJSON *entry;
    put_head(why, out);
    put_awaited(why, out);
    put_pods(why, out);
    put_next(why, out);
    if (prg_json_count(prg_json_get(why, "never")))
        prg_strbuf_puts(out, "what will not happen\n");
    prg_json_each (entry, prg_json_get(why, "never")) {
        const char *object = prg_json_get_text(entry, "object");
        prg_strbuf_printf(out, "  %s: %s\n    %s%s%s: %s\n", text_of(entry, "stage"), text_of(entry, "problem"),
                          object ? object : "", object ? " " : "", text_of(entry, "field"), text_of(entry, "fix"));
    }
}
