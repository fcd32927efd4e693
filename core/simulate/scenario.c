// SPDX-License-Identifier: Apache-2.0
// scenario.c: runs the steps of a scenario against the simulated cluster and controller.
#include "simulate/scenario.h"

#include <string.h>

#include "base/clock.h"
#include "learning/names.h"
#include "learning/status.h"
#include "object/meta.h"
#include "simulate/controller.h"

#define START_NS INT64_C(1704067200000000000) // 2024-01-01T00:00:00Z
#define SECOND_NS INT64_C(1000000000)

struct running {
    struct prg_arena *arena;
    struct sim_cluster cluster;
    struct sim_controller controller;
    const cJSON *step;
    cJSON *result; // of the step, or NULL
};

static const char *text_or(const cJSON *step, const char *field, const char *otherwise)
{
    const char *text = prg_json_get_text(step, field);
    return text ? text : otherwise;
}

static void set_outcome(struct running *r, const char *outcome, const char *pod)
{
    r->result = prg_json_object(r->arena);
    prg_json_set_string(r->arena, r->result, "outcome", outcome);
    prg_json_set_string(r->arena, r->result, "pod", pod);
}

// ---- objects ----

static const char *group_of_kind(const char *kind)
{
    return strcmp(kind, PRG_KIND_JOB) == 0 || strcmp(kind, PRG_KIND_DATASET) == 0 || strcmp(kind, PRG_KIND_MODEL) == 0
               ? PRG_SEDNA_GROUP
               : "";
}

// The step's object with a namespace, and what is stored under its name (or NULL).
static int step_object(struct running *r, cJSON **ret, const cJSON **ret_stored, struct prg_error *err)
{
    struct prg_key key;
    const cJSON *object = prg_json_get(r->step, "object");
    if (!prg_json_is_object(object))
        return prg_fail(err, PRG_INVALID, "/object is missing");
    cJSON *copy = prg_json_copy(r->arena, object);
    if (prg_key_of(r->arena, copy, &key, err) != PRG_OK)
        return prg_wrap(err, "/object");
    if (!*prg_meta_namespace(copy) && !prg_kind_is_cluster_scoped(key.group, key.kind)) {
        prg_json_set_string(r->arena, prg_json_get(copy, "metadata"), "namespace", "default");
        key.ns = "default";
    }
    *ret = copy;
    *ret_stored = sim_get(&r->cluster, key.group, key.kind, key.ns, key.name);
    return PRG_OK;
}

// A pod that appears without a phase is Pending.
static void set_pod_phase(struct running *r, cJSON *object)
{
    if (prg_text_equal(prg_json_get_text(object, "kind"), "Pod") && !prg_json_at(object, "status", "phase"))
        prg_json_set_string(r->arena, prg_json_ensure_object(r->arena, object, "status"), "phase", "Pending");
}

static int op_create(struct running *r, struct prg_error *err)
{
    cJSON *object;
    const cJSON *stored;
    if (step_object(r, &object, &stored, err) != PRG_OK)
        return err->code;
    if (stored) {
        set_outcome(r, "there already", NULL);
        return PRG_OK;
    }
    set_pod_phase(r, object);
    return sim_put(&r->cluster, object, err);
}

static int op_update(struct running *r, struct prg_error *err)
{
    cJSON *object;
    const cJSON *stored;
    if (step_object(r, &object, &stored, err) != PRG_OK)
        return err->code;
    set_outcome(r, stored ? "ok" : "no such object", NULL);
    if (!stored)
        return PRG_OK;
    const cJSON *status = prg_json_get(stored, "status"), *annotations = prg_meta_annotations(stored);
    cJSON *meta = prg_json_get(object, "metadata");
    prg_json_remove(object, "status");
    if (status)
        prg_json_set(r->arena, object, "status", prg_json_copy(r->arena, status));
    if (annotations && !prg_meta_annotations(object))
        prg_json_set(r->arena, meta, "annotations", prg_json_copy(r->arena, annotations));
    prg_json_set_string(r->arena, meta, "uid", prg_meta_uid(stored));
    prg_json_set_string(r->arena, meta, "creationTimestamp", prg_meta_created(stored));
    return sim_put(&r->cluster, object, err);
}

static int op_update_status(struct running *r, struct prg_error *err)
{
    cJSON *object;
    const cJSON *stored;
    if (step_object(r, &object, &stored, err) != PRG_OK)
        return err->code;
    set_outcome(r, stored ? "ok" : "no such object", NULL);
    if (!stored)
        return PRG_OK;
    cJSON *copy = prg_json_copy(r->arena, stored);
    const cJSON *status = prg_json_get(object, "status");
    prg_json_remove(copy, "status");
    if (status)
        prg_json_set(r->arena, copy, "status", prg_json_copy(r->arena, status));
    return sim_put(&r->cluster, copy, err);
}

static int op_delete(struct running *r, struct prg_error *err)
{
    const char *kind = prg_json_get_text(r->step, "kind"), *name = prg_json_get_text(r->step, "name");
    if (!kind || !name)
        return prg_fail(err, PRG_INVALID, "kind and name are needed");
    set_outcome(r,
                sim_remove(&r->cluster, group_of_kind(kind), kind, text_or(r->step, "namespace", "default"), name)
                    ? "ok"
                    : "no such object",
                NULL);
    return PRG_OK;
}

// ---- pods ----

// The pod that the step means, or NULL.
static int step_pod(struct running *r, const cJSON **ret, struct prg_error *err)
{
    const char *name = prg_json_get_text(r->step, "name"), *type = prg_json_get_text(r->step, "podType");
    const char *ns = text_or(r->step, "namespace", "default");
    if (!name && !type)
        return prg_fail(err, PRG_INVALID, "name or podType is needed");
    const cJSON *pod = name   ? sim_get(&r->cluster, "", "Pod", ns, name)
                       : type ? sim_newest_pod(&r->cluster, type)
                              : NULL;
    set_outcome(r, pod ? "ok" : "no such pod", pod ? prg_meta_name(pod) : NULL);
    *ret = pod;
    return PRG_OK;
}

static int op_pod_phase(struct running *r, struct prg_error *err)
{
    const cJSON *pod;
    const char *phase = prg_json_get_text(r->step, "phase");
    if (!phase)
        return prg_fail(err, PRG_INVALID, "phase, as in Running, is needed");
    if (step_pod(r, &pod, err) != PRG_OK || !pod)
        return err->code;
    cJSON *copy = prg_json_copy(r->arena, pod);
    prg_json_set_string(r->arena, prg_json_ensure_object(r->arena, copy, "status"), "phase", phase);
    prg_json_set_string(r->arena, prg_json_ensure_object(r->arena, copy, "spec"), "nodeName",
                        prg_json_get_text(r->step, "nodeName"));
    return sim_put(&r->cluster, copy, err);
}

static int op_pod_mark_deleted(struct running *r, struct prg_error *err)
{
    char now[PRG_CLOCK_TEXT];
    const cJSON *pod;
    if (step_pod(r, &pod, err) != PRG_OK || !pod)
        return err->code;
    cJSON *copy = prg_json_copy(r->arena, pod);
    prg_json_set_string(r->arena, prg_json_get(copy, "metadata"), "deletionTimestamp",
                        prg_clock_format(r->cluster.now_ns, now));
    return sim_put(&r->cluster, copy, err);
}

static int op_pod_delete(struct running *r, struct prg_error *err)
{
    const cJSON *pod;
    if (step_pod(r, &pod, err) != PRG_OK || !pod)
        return err->code;
    (void)sim_remove(&r->cluster, "", "Pod", prg_meta_namespace(pod), prg_meta_name(pod));
    return PRG_OK;
}

static int op_freeze(struct running *r, struct prg_error *err)
{
    (void)err;
    sim_freeze_pods(&r->cluster);
    return PRG_OK;
}

static int op_thaw(struct running *r, struct prg_error *err)
{
    (void)err;
    sim_thaw_pods(&r->cluster);
    return PRG_OK;
}

// The order in which pods are listed makes no difference here.
static int op_pod_order(struct running *r, struct prg_error *err)
{
    (void)r;
    (void)err;
    return PRG_OK;
}

// ---- the edge, time, faults ----

static int op_upstream(struct running *r, struct prg_error *err)
{
    const char *text = prg_json_get_text(r->step, "contentText"), *outcome = NULL;
    cJSON *content = prg_json_get(r->step, "content");
    struct prg_error failure = {0};
    char message[PRG_ERROR_LINE];
    int rc = PRG_OK;
    if (!prg_json_get_text(r->step, "name"))
        return prg_fail(err, PRG_INVALID, "name, of what the node reports about, is needed");
    if (text)
        rc = prg_json_parse(r->arena, text, strlen(text), NULL, &content, &failure);
    if (rc == PRG_OK)
        rc = sim_controller_report(&r->controller, text_or(r->step, "kind", PRG_KIND_JOB),
                                   text_or(r->step, "operation", "status"), text_or(r->step, "namespace", "default"),
                                   text_or(r->step, "name", ""), content, &outcome, &failure);
    if (rc == PRG_OK) {
        set_outcome(r, outcome, NULL);
        return PRG_OK;
    }
    r->result = prg_json_object(r->arena);
    prg_json_set_string(r->arena, r->result, "error", prg_error_text(&failure, message, sizeof(message)));
    return PRG_OK;
}

static int op_resync(struct running *r, struct prg_error *err)
{
    (void)err;
    sim_controller_resync(&r->controller, false);
    return PRG_OK;
}

static int op_resync_tombstone(struct running *r, struct prg_error *err)
{
    cJSON *object;
    const cJSON *stored;
    if (step_object(r, &object, &stored, err) != PRG_OK)
        return err->code;
    if (prg_text_equal(prg_json_get_text(object, "kind"), PRG_KIND_JOB))
        sim_controller_tombstone(&r->controller, object);
    return PRG_OK;
}

static int op_advance(struct running *r, struct prg_error *err)
{
    int64_t seconds;
    if (!prg_json_get_int64(r->step, "seconds", &seconds) || seconds < 0 || seconds > 100 * 366 * 24 * 3600LL)
        return prg_fail(err, PRG_INVALID, "seconds, a whole number from 0 on, is needed");
    sim_controller_settle(&r->controller);
    sim_controller_jump(&r->controller, seconds * 1000);
    return PRG_OK;
}

static int op_inject(struct running *r, struct prg_error *err)
{
    struct sim_fault *fault = prg_arena_new(r->arena, struct sim_fault), **end = &r->cluster.faults;
    *fault = (struct sim_fault){.verb = prg_json_get_text(r->step, "verb"),
                                .resource = prg_json_get_text(r->step, "resource"),
                                .subresource = prg_json_get_text(r->step, "subresource"),
                                .error = text_or(r->step, "error", "internal"),
                                .times = 1};
    if (prg_json_get(r->step, "times") && (!prg_json_get_int64(r->step, "times", &fault->times) || fault->times < 0))
        return prg_fail(err, PRG_INVALID, "times must be a whole number from 0 on");
    if (!fault->verb || !fault->resource)
        return prg_fail(err, PRG_INVALID, "verb and resource are needed");
    while (*end)
        end = &(*end)->next;
    *end = fault;
    return PRG_OK;
}

static int op_interleave(struct running *r, struct prg_error *err)
{
    char now[PRG_CLOCK_TEXT];
    const char *stage = prg_json_get_text(r->step, "stage"), *type = prg_json_get_text(r->step, "type");
    if (!stage || !type)
        return prg_fail(err, PRG_INVALID, "stage and type are needed");
    r->cluster.interleaved =
        prg_job_condition_new(r->arena, stage, type, NULL, PRG_MESSAGE_REPORTED, prg_json_get_text(r->step, "data"),
                              prg_clock_format(r->cluster.now_ns, now));
    return PRG_OK;
}

static const struct {
    const char *name;
    int (*run)(struct running *r, struct prg_error *err);
} operations[] = {
    {"create", op_create},
    {"update", op_update},
    {"updateStatus", op_update_status},
    {"delete", op_delete},
    {"podPhase", op_pod_phase},
    {"podDelete", op_pod_delete},
    {"podMarkDeleted", op_pod_mark_deleted},
    {"upstream", op_upstream},
    {"resync", op_resync},
    {"resyncTombstone", op_resync_tombstone},
    {"advance", op_advance},
    {"inject", op_inject},
    {"interleaveAppend", op_interleave},
    {"freezePodCache", op_freeze},
    {"thawPodCache", op_thaw},
    {"podOrder", op_pod_order},
};

// ---- what happened ----

static void add_job_state(struct running *r, cJSON *jobs, const cJSON *job)
{
    cJSON *entry = prg_json_object(r->arena);
    const cJSON *annotations = prg_meta_annotations(job), *status = prg_json_get(job, "status");
    prg_json_set_string(r->arena, entry, "namespace", prg_meta_namespace(job));
    prg_json_set_string(r->arena, entry, "name", prg_meta_name(job));
    prg_json_set(r->arena, entry, "annotations",
                 annotations ? prg_json_copy(r->arena, annotations) : prg_json_object(r->arena));
    prg_json_set(r->arena, entry, "status", status ? prg_json_copy(r->arena, status) : prg_json_object(r->arena));
    prg_json_append(jobs, entry);
}

static void add_pod_state(struct running *r, cJSON *pods, const cJSON *pod)
{
    cJSON *entry = prg_json_object(r->arena);
    prg_json_set_string(r->arena, entry, "namespace", prg_meta_namespace(pod));
    prg_json_set_string(r->arena, entry, "name", prg_meta_name(pod));
    prg_json_set_string(r->arena, entry, "phase", prg_json_get_text(prg_json_get(pod, "status"), "phase"));
    prg_json_set_string(r->arena, entry, "nodeName", prg_json_get_text(prg_json_get(pod, "spec"), "nodeName"));
    prg_json_set_string(r->arena, entry, "creationTimestamp", prg_meta_created(pod));
    prg_json_set_string(r->arena, entry, "deletionTimestamp",
                        prg_json_get_text(prg_json_get(pod, "metadata"), "deletionTimestamp"));
    prg_json_append(pods, entry);
}

struct state_visit {
    struct running *r;
    cJSON *list;
    void (*add)(struct running *r, cJSON *list, const cJSON *object);
};

static void visit_state(const cJSON *object, void *ctx)
{
    struct state_visit *visit = ctx;
    visit->add(visit->r, visit->list, object);
}

static cJSON *state_of(struct running *r)
{
    struct prg_reader *reader = &r->cluster.reader;
    cJSON *state = prg_json_object(r->arena), *jobs = prg_json_array(r->arena), *pods = prg_json_array(r->arena);
    struct state_visit visit_job = {r, jobs, add_job_state}, visit_pod = {r, pods, add_pod_state};
    const cJSON **frozen = r->cluster.frozen;
    r->cluster.frozen = NULL; // the state is what is, not what the cache shows
    reader->list(reader, PRG_SEDNA_GROUP, PRG_KIND_JOB, NULL, visit_state, &visit_job);
    reader->list(reader, "", "Pod", NULL, visit_state, &visit_pod);
    r->cluster.frozen = frozen;
    prg_json_set(r->arena, state, "jobs", jobs);
    prg_json_set(r->arena, state, "pods", pods);
    return state;
}

static void take_entry(struct running *r, cJSON *steps, const char *op)
{
    cJSON *entry = prg_json_object(r->arena);
    char now[PRG_CLOCK_TEXT];
    prg_json_set_int(r->arena, entry, "step", (int64_t)prg_json_count(steps));
    prg_json_set_string(r->arena, entry, "op", op);
    prg_json_set_string(r->arena, entry, "at", prg_clock_format(r->cluster.now_ns, now));
    if (r->result)
        prg_json_set(r->arena, entry, "result", r->result);
    prg_json_set(r->arena, entry, "api", r->cluster.log);
    prg_json_set(r->arena, entry, "downstream", r->controller.messages);
    prg_json_set(r->arena, entry, "syncs", r->controller.syncs);
    prg_json_set(r->arena, entry, "requeued", r->controller.requeued);
    prg_json_set(r->arena, entry, "state", state_of(r));
    prg_json_append(steps, entry);
    r->result = NULL;
    r->cluster.log = prg_json_array(r->arena);
    r->controller.messages = prg_json_array(r->arena);
    r->controller.syncs = prg_json_array(r->arena);
    r->controller.requeued = prg_json_array(r->arena);
}

// ---- running ----

static int put_objects(struct running *r, const cJSON *objects, struct prg_error *err)
{
    const cJSON *object;
    size_t index = 0;
    prg_json_each (object, objects) {
        cJSON *copy = prg_json_copy(r->arena, object);
        struct prg_key key;
        if (prg_key_of(r->arena, copy, &key, err) != PRG_OK)
            return prg_wrap(err, "/objects/%zu", index);
        if (!*prg_meta_namespace(copy) && !prg_kind_is_cluster_scoped(key.group, key.kind))
            prg_json_set_string(r->arena, prg_json_get(copy, "metadata"), "namespace", "default");
        set_pod_phase(r, copy);
        if (sim_put(&r->cluster, copy, err) != PRG_OK)
            return prg_wrap(err, "/objects/%zu", index);
        index++;
    }
    return PRG_OK;
}

static int run_step(struct running *r, struct prg_error *err)
{
    const char *op = prg_json_get_text(r->step, "op");
    for (size_t i = 0; op && i < PRG_COUNT(operations); i++)
        if (strcmp(operations[i].name, op) == 0)
            return operations[i].run(r, err);
    return prg_fail(err, PRG_INVALID, "there is no operation '%s'", op ? op : "");
}

static int run_all(struct running *r, const cJSON *scenario, cJSON *steps, struct prg_error *err)
{
    static const char *const lists[] = {"objects", "steps"};
    int64_t number = 0;
    for (size_t i = 0; i < PRG_COUNT(lists); i++)
        if (prg_json_get(scenario, lists[i]) && !prg_json_is_array(prg_json_get(scenario, lists[i])))
            return prg_fail(err, PRG_INVALID, "/%s: must be a list, not %s", lists[i],
                            prg_json_type_name(prg_json_get(scenario, lists[i])));
    if (put_objects(r, prg_json_get(scenario, "objects"), err) != PRG_OK)
        return err->code;
    sim_controller_settle(&r->controller);
    take_entry(r, steps, "start");
    prg_json_each (r->step, prg_json_get(scenario, "steps")) {
        number++;
        r->cluster.now_ns = START_NS + number * SECOND_NS + r->controller.queue_ms * 1000000;
        if (run_step(r, err) != PRG_OK)
            return prg_wrap(err, "/steps/%lld", (long long)number - 1);
        sim_controller_settle(&r->controller);
        take_entry(r, steps, prg_json_get_text(r->step, "op"));
    }
    return PRG_OK;
}

int prg_simulate_scenario(struct prg_arena *arena, const cJSON *scenario, const struct prg_decider *decide, cJSON **ret,
                          struct prg_error *err)
{
    struct running r = {.arena = arena};
    const cJSON *options = prg_json_get(scenario, "options");
    cJSON *answer = prg_json_object(arena), *steps = prg_json_array(arena);
    sim_cluster_init(&r.cluster, arena, START_NS);
    sim_controller_init(&r.controller, &r.cluster, decide, prg_json_get_text(options, "lcServer"));
    r.cluster.is_graceful = prg_json_get_true(options, "gracefulDelete");
    int rc = run_all(&r, scenario, steps, err);
    sim_controller_release(&r.controller);
    if (rc != PRG_OK)
        return rc;
    prg_json_set(arena, answer, "steps", steps);
    *ret = answer;
    return PRG_OK;
}
