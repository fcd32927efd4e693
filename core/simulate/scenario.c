// SPDX-License-Identifier: Apache-2.0
// scenario.c: runs the steps of a scenario against the simulated cluster and controller.
#include "simulate/scenario.h"

#include <string.h>

#include "base/clock.h"
#include "learning/names.h"
#include "learning/status.h"
#include "object/meta.h"
#include "simulate/controller.h"
#include "json/pointer.h"

#define START_NS INT64_C(1704067200000000000) // 2024-01-01T00:00:00Z
#define SECOND_NS INT64_C(1000000000)

struct running {
    struct prg_arena *arena;
    const char *file; // or NULL
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
    const char *ns = prg_json_get_text(r->step, "namespace");
    if (!name && !type)
        return prg_fail(err, PRG_INVALID, "name or podType is needed");
    const cJSON *pod =
        name ? sim_get(&r->cluster, "", "Pod", ns ? ns : "default", name) : sim_newest_pod(&r->cluster, ns, type);
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

// Of all steps together: enough for any deadline, and far from where times end.
#define ADVANCE_MOST_SECONDS (INT64_C(100) * 366 * 24 * 3600)

static int op_advance(struct running *r, struct prg_error *err)
{
    int64_t seconds;
    if (!prg_json_get_int64(r->step, "seconds", &seconds) || seconds < 0)
        return prg_fail(err, PRG_INVALID, "seconds, a whole number from 0 on, is needed");
    if (seconds > ADVANCE_MOST_SECONDS - r->controller.queue_ms / 1000)
        return prg_fail(err, PRG_INVALID, "seconds: all steps together may advance by %lld seconds (100 years) at most",
                        (long long)ADVANCE_MOST_SECONDS);
    sim_controller_settle(&r->controller);
    sim_controller_jump(&r->controller, seconds * 1000);
    return PRG_OK;
}

// value, of the step's field, is one of known.
static int check_word(const char *field, const char *value, const char *const *known, struct prg_error *err)
{
    size_t count = 0;
    prg_auto_strbuf words = PRG_STRBUF_INIT;
    for (; known[count]; count++) {
        if (strcmp(known[count], value) == 0)
            return PRG_OK;
        prg_strbuf_printf(&words, "%s%s", count ? ", " : "", known[count]);
    }
    const char *nearest = prg_text_nearest(value, known, count);
    if (nearest)
        return prg_fail(err, PRG_INVALID, "there is no %s '%s'; did you mean '%s'?", field, value, nearest);
    return prg_fail(err, PRG_INVALID, "there is no %s '%s'; known here: %s", field, value, words.text);
}

static int op_inject(struct running *r, struct prg_error *err)
{
    static const char *const verbs[] = {"create", "update", "patch", "delete", NULL},
                             *const resources[] = {"pods", "incrementallearningjobs", "datasets", NULL},
                             *const errors[] = {"conflict", "internal", NULL};
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
    if (check_word("verb", fault->verb, verbs, err) != PRG_OK ||
        check_word("resource", fault->resource, resources, err) != PRG_OK ||
        check_word("error", fault->error, errors, err) != PRG_OK)
        return err->code;
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

enum { FIELDS_MOST = 6 };

struct operation {
    const char *name;
    int (*run)(struct running *r, struct prg_error *err);
    const char *fields[FIELDS_MOST + 1]; // besides op; ends with NULL
};

static const struct operation operations[] = {
    {"create", op_create, {"object"}},
    {"update", op_update, {"object"}},
    {"updateStatus", op_update_status, {"object"}},
    {"delete", op_delete, {"kind", "namespace", "name"}},
    {"podPhase", op_pod_phase, {"podType", "namespace", "name", "phase", "nodeName"}},
    {"podDelete", op_pod_delete, {"podType", "namespace", "name"}},
    {"podMarkDeleted", op_pod_mark_deleted, {"podType", "namespace", "name"}},
    {"upstream", op_upstream, {"namespace", "name", "kind", "operation", "content", "contentText"}},
    {"resync", op_resync, {NULL}},
    {"resyncTombstone", op_resync_tombstone, {"object"}},
    {"advance", op_advance, {"seconds"}},
    {"inject", op_inject, {"verb", "resource", "subresource", "error", "times"}},
    {"interleaveAppend", op_interleave, {"stage", "type", "data"}},
    {"freezePodCache", op_freeze, {NULL}},
    {"thawPodCache", op_thaw, {NULL}},
    {"podOrder", op_pod_order, {"order"}},
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

// Puts the place before an error: FILE:LINE:COLUMN: POINTER.
static int at_place(struct running *r, const cJSON *node, const char *pointer, struct prg_error *err)
{
    struct prg_json_position at = prg_json_position(node);
    if (!r->file)
        return prg_wrap(err, "%s", pointer);
    return prg_wrap(err, "%s:%u:%u: %s", r->file, at.line, at.column, pointer);
}

static int unknown_key(struct running *r, const cJSON *item, const char *pointer, const char *const *known,
                       const char *otherwise, struct prg_error *err)
{
    size_t count = 0;
    while (known[count])
        count++;
    const char *nearest = prg_text_nearest(item->string, known, count);
    if (nearest)
        prg_fail(err, PRG_INVALID, "unknown; did you mean '%s'?", nearest);
    else
        prg_fail(err, PRG_INVALID, "unknown; %s", otherwise);
    prg_auto_strbuf place = PRG_STRBUF_INIT;
    prg_strbuf_puts(&place, pointer);
    prg_pointer_push(&place, item->string);
    return at_place(r, item, place.text, err);
}

static bool is_among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

// What recorded scenarios say besides is about them, not for them.
static int check_scenario(struct running *r, const cJSON *scenario, struct prg_error *err)
{
    static const char *const known[] = {"options", "objects", "steps", NULL};
    static const char *const notes[] = {"name", "theme", "description", "case", "flags", "seed", "expected", NULL};
    const cJSON *item;
    prg_json_each (item, scenario) {
        if (is_among(notes, item->string))
            continue;
        if (!is_among(known, item->string))
            return unknown_key(r, item, "", known, "a scenario has options, objects and steps", err);
        bool is_options = strcmp(item->string, "options") == 0;
        if (is_options ? prg_json_is_object(item) : prg_json_is_array(item))
            continue;
        prg_fail(err, PRG_INVALID, "must be %s, not %s", is_options ? "an object" : "a list", prg_json_type_name(item));
        return at_place(r, item, prg_arena_printf(r->arena, "/%s", item->string), err);
    }
    return PRG_OK;
}

static int check_options(struct running *r, const cJSON *options, struct prg_error *err)
{
    // The order in which pods are listed and the form in which messages are recorded make no difference here.
    static const char *const known[] = {"lcServer", "gracefulDelete", "podOrder", "fullContent", NULL};
    const cJSON *item;
    prg_json_each (item, options) {
        bool is_server = strcmp(item->string, "lcServer") == 0;
        if (!is_among(known, item->string))
            return unknown_key(r, item, "/options", known, "known here: lcServer, gracefulDelete", err);
        if (is_server ? !prg_json_is_string(item)
                      : strcmp(item->string, "gracefulDelete") == 0 && !prg_json_is_bool(item)) {
            prg_fail(err, PRG_INVALID, "must be %s, not %s", is_server ? "a text" : "true or false",
                     prg_json_type_name(item));
            return at_place(r, item, prg_arena_printf(r->arena, "/options/%s", item->string), err);
        }
    }
    return PRG_OK;
}

static const char *fields_text(struct running *r, const struct operation *operation)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (size_t i = 0; operation->fields[i]; i++)
        prg_strbuf_printf(&text, "%s%s", i ? ", " : "known here: ", operation->fields[i]);
    if (!text.length)
        prg_strbuf_printf(&text, "%s has no fields", operation->name);
    return prg_arena_strdup(r->arena, text.text);
}

static int check_fields(struct running *r, const struct operation *operation, const char *pointer,
                        struct prg_error *err)
{
    const cJSON *item;
    prg_json_each (item, r->step)
        if (strcmp(item->string, "op") != 0 && !is_among(operation->fields, item->string))
            return unknown_key(r, item, pointer, operation->fields, fields_text(r, operation), err);
    return PRG_OK;
}

static int put_objects(struct running *r, const cJSON *objects, struct prg_error *err)
{
    const cJSON *object;
    size_t index = 0;
    prg_json_each (object, objects) {
        cJSON *copy = prg_json_copy(r->arena, object);
        struct prg_key key;
        const char *pointer = prg_arena_printf(r->arena, "/objects/%zu", index++);
        if (prg_key_of(r->arena, copy, &key, err) != PRG_OK)
            return at_place(r, object, pointer, err);
        if (!*key.ns && !prg_kind_is_cluster_scoped(key.group, key.kind)) {
            prg_json_set_string(r->arena, prg_json_get(copy, "metadata"), "namespace", "default");
            key.ns = "default";
        }
        if (sim_get(&r->cluster, key.group, key.kind, key.ns, key.name)) {
            prg_fail(err, PRG_CONFLICT, "%s is among the objects already; keep one of the two",
                     prg_key_text(r->arena, &key));
            return at_place(r, object, pointer, err);
        }
        set_pod_phase(r, copy);
        if (sim_put(&r->cluster, copy, err) != PRG_OK)
            return at_place(r, object, pointer, err);
    }
    return PRG_OK;
}

static int run_step(struct running *r, const char *pointer, struct prg_error *err)
{
    const char *op = prg_json_get_text(r->step, "op"), *names[PRG_COUNT(operations)], *nearest;
    for (size_t i = 0; i < PRG_COUNT(operations); i++) {
        names[i] = operations[i].name;
        if (!prg_text_equal(names[i], op))
            continue;
        if (check_fields(r, &operations[i], pointer, err) != PRG_OK)
            return err->code;
        return operations[i].run(r, err) == PRG_OK ? PRG_OK : at_place(r, r->step, pointer, err);
    }
    nearest = op ? prg_text_nearest(op, names, PRG_COUNT(names)) : NULL;
    prg_fail(err, PRG_INVALID, "there is no operation '%s'%s%s%s", op ? op : "", nearest ? "; did you mean '" : "",
             nearest ? nearest : "", nearest ? "'?" : "");
    return at_place(r, r->step, pointer, err);
}

static int settle(struct running *r, struct prg_error *err)
{
    sim_controller_settle(&r->controller);
    const struct sim_key *key = r->controller.circling;
    if (!key)
        return PRG_OK;
    return prg_fail(err, PRG_LIMIT,
                    "%s/%s goes on for ever: %d syncs at one moment; let the policy il_stage wait with `after`",
                    key->ns, key->name, SIM_SYNCS_MOST);
}

static int run_all(struct running *r, const cJSON *scenario, cJSON *steps, struct prg_error *err)
{
    int64_t number = 0;
    if (check_scenario(r, scenario, err) != PRG_OK ||
        check_options(r, prg_json_get(scenario, "options"), err) != PRG_OK ||
        put_objects(r, prg_json_get(scenario, "objects"), err) != PRG_OK)
        return err->code;
    if (settle(r, err) != PRG_OK)
        return at_place(r, scenario, "/objects", err);
    take_entry(r, steps, "start");
    prg_json_each (r->step, prg_json_get(scenario, "steps")) {
        const char *pointer = prg_arena_printf(r->arena, "/steps/%lld", (long long)number++);
        r->cluster.now_ns = START_NS + number * SECOND_NS + r->controller.queue_ms * 1000000;
        if (run_step(r, pointer, err) != PRG_OK)
            return err->code;
        if (settle(r, err) != PRG_OK)
            return at_place(r, r->step, pointer, err);
        take_entry(r, steps, prg_json_get_text(r->step, "op"));
    }
    return PRG_OK;
}

int prg_simulate_scenario(struct prg_arena *arena, const char *file, const cJSON *scenario,
                          const struct prg_decider *decide, cJSON **ret, struct prg_error *err)
{
    struct running r = {.arena = arena, .file = file};
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
