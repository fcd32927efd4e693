// SPDX-License-Identifier: Apache-2.0
// controller.c: the learning controller of simulations. Numbers are the original's: three tries for a write, 10 s · 2^n
// of pause.
#include "simulate/controller.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "learning/names.h"
#include "learning/upstream.h"
#include "object/meta.h"

enum { WRITE_TRIES = 3 };

void sim_controller_init(struct sim_controller *controller, struct sim_cluster *cluster,
                         const struct prg_decider *decide, const char *lc_server)
{
    *controller = (struct sim_controller){
        .cluster = cluster,
        .decide = decide,
        .lc_server = lc_server,
        .arena = cluster->arena,
        .messages = prg_json_array(cluster->arena),
        .syncs = prg_json_array(cluster->arena),
        .requeued = prg_json_array(cluster->arena),
    };
    prg_vec_init(&controller->queue);
}

void sim_controller_release(struct sim_controller *controller)
{
    prg_vec_release(&controller->queue);
}

// ---- queue ----

static struct sim_key *key_of(struct sim_controller *c, const char *ns, const char *name)
{
    struct sim_key *key = c->keys;
    while (key && (strcmp(key->ns, ns) != 0 || strcmp(key->name, name) != 0))
        key = key->next;
    if (key)
        return key;
    key = prg_arena_new(c->arena, struct sim_key);
    key->ns = prg_arena_strdup(c->arena, ns);
    key->name = prg_arena_strdup(c->arena, name);
    key->next = c->keys;
    c->keys = key;
    return key;
}

static void enqueue(struct sim_controller *c, struct sim_key *key)
{
    if (key->is_queued)
        return;
    key->is_queued = true;
    prg_vec_push(&c->queue, key);
}

static struct sim_key *dequeue(struct sim_controller *c)
{
    if (!c->queue.count)
        return NULL;
    struct sim_key *key = c->queue.items[0];
    memmove(c->queue.items, c->queue.items + 1, (c->queue.count - 1) * sizeof(*c->queue.items));
    c->queue.count--;
    key->is_queued = false;
    return key;
}

// A key waits once: the earlier time counts.
static void enqueue_after(struct sim_controller *c, struct sim_key *key, int64_t ms)
{
    cJSON *entry = prg_json_object(c->arena);
    prg_json_set(c->arena, entry, "key", prg_json_stringf(c->arena, "%s/%s", key->ns, key->name));
    prg_json_set(c->arena, entry, "after_seconds", prg_json_double(c->arena, (double)ms / 1000));
    prg_json_append(c->requeued, entry);
    if (!key->is_delayed || c->queue_ms + ms < key->due_ms)
        key->due_ms = c->queue_ms + ms;
    key->is_delayed = true;
}

int64_t sim_controller_next_due(const struct sim_controller *controller)
{
    int64_t due = -1;
    for (const struct sim_key *key = controller->keys; key; key = key->next)
        if (key->is_delayed && (due < 0 || key->due_ms < due))
            due = key->due_ms;
    return due;
}

// ---- events ----

static void on_pod(struct sim_controller *c, const cJSON *pod, bool is_deleted)
{
    const cJSON *owner = prg_owner_controller(pod);
    const char *name = prg_json_get_text(owner, "name"), *kind = prg_json_get_text(owner, "kind");
    const cJSON *job = name && prg_text_equal(kind, PRG_KIND_JOB)
                           ? sim_get(c->cluster, PRG_SEDNA_GROUP, PRG_KIND_JOB, prg_meta_namespace(pod), name)
                           : NULL;
    if (!job || !prg_owner_controls(job, pod))
        return;
    struct sim_key *key = key_of(c, prg_meta_namespace(pod), name);
    const char *phase = prg_json_get_text(prg_json_get(pod, "status"), "phase");
    // A pod that failed waits as long as the last retry did, so that a job whose pods fail does not spin.
    if (!is_deleted && !prg_meta_is_deleting(pod) && prg_text_equal(phase, "Failed") && key->failures > 0)
        enqueue_after(c, key, prg_learning_backoff_seconds(key->failures) * 1000);
    else
        enqueue(c, key);
}

static void on_job(struct sim_controller *c, const cJSON *job, enum prg_learning_change change)
{
    enqueue(c, key_of(c, prg_meta_namespace(job), prg_meta_name(job)));
    prg_learning_downstream(c->arena, &c->cluster->reader, job, change, c->messages);
}

static void on_event(struct sim_controller *c, const struct sim_event *event)
{
    const char *kind = prg_json_get_text(event->object, "kind");
    bool is_deleted = event->kind == SIM_DELETED;
    enum prg_learning_change change = is_deleted ? PRG_CHANGE_DELETED : PRG_CHANGE_STORED;
    if (prg_text_equal(kind, "Pod"))
        on_pod(c, event->object, is_deleted);
    else if (prg_text_equal(kind, PRG_KIND_JOB))
        on_job(c, event->object, change);
    else if (prg_text_equal(kind, PRG_KIND_DATASET))
        prg_dataset_downstream(c->arena, &c->cluster->reader, event->object, change, c->messages);
}

void sim_controller_tombstone(struct sim_controller *controller, const cJSON *job)
{
    on_job(controller, job, PRG_CHANGE_DELETED);
}

void sim_controller_resync(struct sim_controller *controller, bool with_datasets)
{
    for (const struct sim_object *o = controller->cluster->first; o; o = o->next) {
        if (o->object && strcmp(o->key.kind, PRG_KIND_JOB) == 0)
            on_job(controller, o->object, PRG_CHANGE_STORED);
        else if (with_datasets && o->object && strcmp(o->key.kind, PRG_KIND_DATASET) == 0)
            prg_dataset_downstream(controller->arena, &controller->cluster->reader, o->object, PRG_CHANGE_STORED,
                                   controller->messages);
    }
}

void sim_controller_restart(struct sim_controller *controller)
{
    controller->is_dead = false;
    controller->cluster->requests_until_crash = -1;
    controller->queue.count = 0;
    for (struct sim_key *key = controller->keys; key; key = key->next)
        key->is_queued = key->is_delayed = false, key->failures = 0;
    while (sim_next_event(controller->cluster))
        continue; // the list after the start shows what they would have said
    sim_controller_resync(controller, true);
}

// ---- one sync ----

static int run_step(struct sim_controller *c, const struct sim_key *key, const struct prg_learning_step *step,
                    struct prg_error *err)
{
    switch (step->kind) {
    case PRG_STEP_CREATE_POD:
        return sim_create_pod(c->cluster, step->object, err);
    case PRG_STEP_DELETE_POD:
        return sim_delete_pod(c->cluster, key->ns, step->name, err);
    case PRG_STEP_PATCH_JOB:
        return sim_patch_job(c->cluster, key->ns, key->name, step->object, err);
    }
    return PRG_OK;
}

// Stores the planned status over the one it was planned on. *ret_written false: somebody wrote meanwhile; the job is
// queued again by that write.
static int write_status(struct sim_controller *c, const struct sim_key *key, const cJSON *planned_on,
                        const cJSON *planned, bool *ret_written, struct prg_error *err)
{
    int rc = PRG_OK;
    *ret_written = false;
    for (int try = 0; try < WRITE_TRIES; try++) {
        const cJSON *fresh = sim_get(c->cluster, PRG_SEDNA_GROUP, PRG_KIND_JOB, key->ns, key->name);
        if (!fresh || !prg_json_equal(prg_json_get(fresh, "status"), prg_json_get(planned_on, "status")))
            return PRG_OK;
        cJSON *object = prg_json_copy(c->arena, fresh);
        prg_json_set(c->arena, object, "status", prg_json_copy(c->arena, prg_json_get(planned, "status")));
        rc = sim_update_status(c->cluster, object, err);
        *ret_written = rc == PRG_OK;
        if (rc == PRG_OK || rc == PRG_LIMIT)
            return rc;
    }
    return rc;
}

static int apply(struct sim_controller *c, const struct sim_key *key, const cJSON *job, const struct prg_plan *plan,
                 const struct prg_learning_steps *steps, bool *ret_written, struct prg_error *err)
{
    for (const struct prg_learning_step *step = steps->first; step; step = step->next) {
        int rc = run_step(c, key, step, err);
        if (rc != PRG_OK)
            return rc;
    }
    if (plan->error)
        return prg_fail(err, plan->error_code, "%s", plan->error);
    return steps->has_status ? write_status(c, key, job, plan->resource, ret_written, err) : PRG_OK;
}

static void log_sync(struct sim_controller *c, const struct sim_key *key, bool is_forgotten, const char *error)
{
    cJSON *entry = prg_json_object(c->arena);
    prg_json_set(c->arena, entry, "key", prg_json_stringf(c->arena, "%s/%s", key->ns, key->name));
    prg_json_set_bool(c->arena, entry, "forget", is_forgotten);
    prg_json_set_string(c->arena, entry, "error", error);
    prg_json_append(c->syncs, entry);
}

static void sync(struct sim_controller *c, struct sim_key *key)
{
    const cJSON *job = sim_get(c->cluster, PRG_SEDNA_GROUP, PRG_KIND_JOB, key->ns, key->name);
    struct prg_error err = {0};
    struct prg_learning_steps steps = {0};
    char text[PRG_ERROR_LINE];
    bool is_written = false;
    key->synced = key->synced_ns == c->cluster->now_ns ? key->synced + 1 : 1;
    key->synced_ns = c->cluster->now_ns;
    if (key->synced > SIM_SYNCS_MOST) {
        c->circling = key;
        return;
    }
    if (!job) {
        key->failures = 0;
        log_sync(c, key, true, NULL);
        return;
    }
    struct prg_plan *plan = prg_plan_new(c->arena);
    struct prg_learning_input in = {.job = job,
                                    .store = &c->cluster->reader,
                                    .lc_server = c->lc_server,
                                    .now_ns = c->cluster->now_ns,
                                    .seed = c->seed};
    int rc = prg_learning_plan(&in, c->decide, plan, &steps, &err);
    if (rc == PRG_OK)
        rc = apply(c, key, job, plan, &steps, &is_written, &err);
    if (rc == PRG_LIMIT && c->cluster->requests_until_crash == 0) {
        c->is_dead = true;
        return;
    }
    const char *error = rc == PRG_OK ? NULL : prg_arena_strdup(c->arena, prg_error_text(&err, text, sizeof(text)));
    log_sync(c, key, is_written, error);
    if (c->on_sync)
        c->on_sync(c, plan, error, c->ctx);
    if (rc != PRG_OK) {
        key->failures++;
        enqueue_after(c, key, prg_learning_backoff_seconds(key->failures) * 1000);
    } else if (is_written) {
        key->failures = 0;
    } else if (plan->requeue_after_ms > 0) {
        enqueue_after(c, key, plan->requeue_after_ms);
    }
}

// Dataset messages first: they come from an informer of their own.
static void deliver_events(struct sim_controller *c)
{
    struct sim_event *event, *later = NULL, **end = &later;
    while ((event = sim_next_event(c->cluster))) {
        event->next = NULL;
        if (prg_text_equal(prg_json_get_text(event->object, "kind"), PRG_KIND_DATASET))
            on_event(c, event);
        else
            *end = event, end = &event->next;
    }
    for (; later; later = later->next)
        on_event(c, later);
}

void sim_controller_settle(struct sim_controller *controller)
{
    for (;;) {
        deliver_events(controller);
        struct sim_key *key = dequeue(controller);
        if (!key)
            return;
        sync(controller, key);
        if (controller->is_dead)
            return;
    }
}

static void fire(struct sim_controller *c)
{
    for (struct sim_key *key = c->keys; key; key = key->next)
        if (key->is_delayed && key->due_ms <= c->queue_ms) {
            key->is_delayed = false;
            enqueue(c, key);
        }
    sim_controller_settle(c);
}

void sim_controller_jump(struct sim_controller *controller, int64_t ms)
{
    controller->queue_ms += ms;
    controller->cluster->now_ns += ms * 1000000;
    fire(controller);
}

void sim_controller_advance(struct sim_controller *controller, int64_t ms)
{
    int64_t end = controller->queue_ms + ms, due;
    while (!controller->is_dead && (due = sim_controller_next_due(controller)) >= 0 && due <= end) {
        if (due > controller->queue_ms) {
            controller->cluster->now_ns += (due - controller->queue_ms) * 1000000;
            controller->queue_ms = due;
        }
        fire(controller);
    }
    if (end > controller->queue_ms)
        controller->cluster->now_ns += (end - controller->queue_ms) * 1000000;
    controller->queue_ms = end;
}

// ---- reports ----

static int report_on_job(struct sim_controller *c, const char *ns, const char *name, const cJSON *content,
                         const char **ret_outcome, struct prg_error *err)
{
    int rc = prg_learning_report_check(c->arena, content, err);
    for (int try = 0; try < WRITE_TRIES && rc != PRG_INVALID; try++) {
        struct prg_learning_verdict verdict;
        struct prg_learning_report report = {.content = content,
                                             .job = sim_get(c->cluster, PRG_SEDNA_GROUP, PRG_KIND_JOB, ns, name),
                                             .store = &c->cluster->reader,
                                             .now_ns = c->cluster->now_ns};
        if (!report.job)
            return prg_fail(err, PRG_NOTFOUND,
                            "failed to append condition, err:incrementallearningjobs.sedna.io \"%s\" not found", name);
        rc = prg_learning_report(c->arena, &report, c->decide, &verdict, err);
        if (rc != PRG_OK)
            return rc;
        *ret_outcome = "ok";
        if (!verdict.is_accepted) {
            *ret_outcome = prg_arena_printf(c->arena, "refused: %s", verdict.reason ? verdict.reason : "by the policy");
            return PRG_OK;
        }
        rc = sim_update_status(c->cluster, verdict.job, err);
        if (rc == PRG_OK || rc == PRG_LIMIT)
            return rc;
    }
    return rc == PRG_INVALID ? rc : prg_wrap(err, "failed to append condition");
}

static int report_on_dataset(struct sim_controller *c, const char *ns, const char *name, const cJSON *content,
                             const char **ret_outcome, struct prg_error *err)
{
    int rc = PRG_OK;
    for (int try = 0; try < WRITE_TRIES; try++) {
        const cJSON *dataset = sim_get(c->cluster, PRG_SEDNA_GROUP, PRG_KIND_DATASET, ns, name);
        cJSON *reported = NULL;
        if (!dataset)
            return prg_fail(err, PRG_NOTFOUND, "datasets.sedna.io \"%s\" not found", name);
        rc = prg_dataset_report(c->arena, dataset, content, c->cluster->now_ns, &reported, err);
        if (rc != PRG_OK)
            return rc;
        *ret_outcome = "ok";
        rc = sim_update_status(c->cluster, reported, err);
        if (rc == PRG_OK || rc == PRG_LIMIT)
            return rc;
    }
    return rc;
}

int sim_controller_report(struct sim_controller *controller, const char *kind, const char *operation, const char *ns,
                          const char *name, const cJSON *content, const char **ret_outcome, struct prg_error *err)
{
    int rc;
    *ret_outcome = "ignored";
    if (strcmp(operation, "status") != 0)
        return PRG_OK;
    if (strcasecmp(kind, PRG_KIND_JOB) == 0)
        rc = report_on_job(controller, ns, name, content, ret_outcome, err);
    else if (strcasecmp(kind, PRG_KIND_DATASET) == 0)
        rc = report_on_dataset(controller, ns, name, content, ret_outcome, err);
    else
        rc = prg_fail(err, PRG_INVALID, "No handler for resource kind %s", kind);
    if (rc == PRG_LIMIT && controller->cluster->requests_until_crash == 0)
        controller->is_dead = true;
    return rc;
}
