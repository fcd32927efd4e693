// SPDX-License-Identifier: Apache-2.0
// serving_loop.c: from "this object changed" to "its service is planned and applied".
#include "controller/serving_loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "controller/workqueue.h"
#include "object/meta.h"

static const char serving_group[] = "serving.kserve.io";

struct prg_serving_loop {
    struct prg_store *store;
    struct prg_planner *planner;
    prg_reconcile_fn report;
    void *report_ctx;
    struct prg_workqueue *queue;
    struct prg_map told; // queue key -> uint64_t * (heap): digest of the Events last seen in its plan
    struct prg_map
        owners;      // key text of a rendered object -> queue key of its service (heap): who to ask when it vanishes
    uint64_t now_ms; // of the call under way
};

struct prg_serving_loop *prg_serving_loop_new(struct prg_store *store, struct prg_planner *planner,
                                              prg_reconcile_fn report, void *ctx)
{
    struct prg_backoff backoff = {.base_ms = 5, .max_ms = 1000 * 1000}; // client-go's per-item limiter
    struct prg_serving_loop *loop = prg_xcalloc(1, sizeof(*loop));
    loop->store = store;
    loop->planner = planner;
    loop->report = report;
    loop->report_ctx = ctx;
    loop->queue = prg_workqueue_new(&backoff);
    prg_map_init(&loop->owners);
    prg_map_init(&loop->told);
    return loop;
}

void prg_serving_loop_free(struct prg_serving_loop *loop)
{
    const struct prg_map_entry *entry;
    if (!loop)
        return;
    for (size_t i = 0; (entry = prg_map_next(&loop->owners, &i));)
        free(entry->value);
    prg_map_release(&loop->owners);
    for (size_t i = 0; (entry = prg_map_next(&loop->told, &i));)
        free(entry->value);
    prg_map_release(&loop->told);
    prg_workqueue_free(loop->queue);
    free(loop);
}

// ---- what a change concerns ----

static void enqueue(struct prg_serving_loop *loop, const char *ns, const char *name)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    prg_workqueue_add(loop->queue, prg_arena_printf(&arena, "%s/%s", ns, name), loop->now_ms);
}

static void enqueue_service(const cJSON *service, void *ctx)
{
    enqueue(ctx, prg_meta_namespace(service), prg_meta_name(service));
}

static void enqueue_services(struct prg_serving_loop *loop, const char *ns)
{
    loop->store->reader.list(&loop->store->reader, serving_group, "InferenceService", ns, enqueue_service, loop);
}

void prg_serving_loop_enqueue_all(struct prg_serving_loop *loop, uint64_t now_ms)
{
    loop->now_ms = now_ms;
    enqueue_services(loop, NULL);
}

// Kinds whose change may change the plan of any service of a namespace (or of all, when they have none).
static bool concerns_namespace(const struct prg_key *key)
{
    static const struct {
        const char *group, *kind;
    } kinds[] = {{serving_group, "ServingRuntime"},
                 {serving_group, "ClusterServingRuntime"},
                 {serving_group, "ClusterStorageContainer"},
                 {"", "Secret"},
                 {"", "ServiceAccount"},
                 {"", "Namespace"}};
    for (size_t i = 0; i < PRG_COUNT(kinds); i++)
        if (strcmp(kinds[i].group, key->group) == 0 && strcmp(kinds[i].kind, key->kind) == 0)
            return true;
    return false;
}

// An object that is not ours but has the name of one that would be: NAME-predictor, NAME-predictor-worker …
static void enqueue_by_name(struct prg_serving_loop *loop, const struct prg_key *key)
{
    const char *end = strstr(key->name, "-predictor");
    for (const char *next = end; next; next = strstr(next + 1, "-predictor"))
        end = next;
    if (!end || end == key->name)
        return;
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const char *name = prg_arena_strndup(&arena, key->name, (size_t)(end - key->name));
    if (prg_reader_get(&loop->store->reader, serving_group, "InferenceService", key->ns, name))
        enqueue(loop, key->ns, name);
}

static void enqueue_owner(struct prg_serving_loop *loop, const struct prg_key *key)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const cJSON *object = loop->store->reader.get(&loop->store->reader, key);
    const cJSON *owner = prg_owner_controller(object);
    const char *service = prg_meta_label(object, "serving.kserve.io/inferenceservice");
    const char *text = prg_key_text(&arena, key);
    char *known = prg_map_get(&loop->owners, text);
    if (known)
        prg_workqueue_add(loop->queue, known, loop->now_ms);
    if (prg_text_equal(prg_json_get_text(owner, "kind"), "InferenceService") && prg_json_get_text(owner, "name"))
        enqueue(loop, key->ns, prg_json_get_text(owner, "name"));
    else if (service)
        enqueue(loop, key->ns, service);
    else if (!known)
        enqueue_by_name(loop, key);
    if (known && !object) // asked for the last time; who makes it anew is remembered anew
        free(prg_map_remove(&loop->owners, text));
}

void prg_serving_loop_changed(struct prg_serving_loop *loop, const struct prg_key *key, uint64_t now_ms)
{
    loop->now_ms = now_ms;
    if (strcmp(key->kind, "InferenceService") == 0 && strcmp(key->group, serving_group) == 0) {
        enqueue(loop, key->ns, key->name);
    } else if (prg_planner_is_config(loop->planner, key)) {
        prg_planner_load_config(loop->planner, &loop->store->reader);
        enqueue_services(loop, NULL);
    } else if (concerns_namespace(key)) {
        // A Namespace is cluster-scoped and concerns the services in it.
        const char *ns = strcmp(key->kind, "Namespace") == 0 ? key->name : key->ns[0] ? key->ns : NULL;
        enqueue_services(loop, ns);
    } else {
        enqueue_owner(loop, key);
    }
}

// ---- applying ----

struct applying {
    struct prg_serving_loop *loop;
    struct prg_arena *arena;
    const char *queue_key;
    struct prg_reconcile_report *report;
    int64_t wall_ns;
};

static void count(struct prg_reconcile_report *report, enum prg_write_result result)
{
    switch (result) {
    case PRG_WRITE_CREATED:
        report->created++;
        break;
    case PRG_WRITE_UPDATED:
        report->updated++;
        break;
    case PRG_WRITE_DELETED:
        report->deleted++;
        break;
    case PRG_WRITE_UNCHANGED:
        report->unchanged++;
        break;
    case PRG_WRITE_FAILED: // reported as an error
        break;
    }
}

static void remember_owner(struct applying *applying, const struct prg_key *key)
{
    struct prg_map *owners = &applying->loop->owners;
    const char *text = prg_key_text(applying->arena, key);
    const char *known = prg_map_get(owners, text);
    if (!known || strcmp(known, applying->queue_key) != 0)
        free(prg_map_put(owners, text, prg_xstrdup(applying->queue_key)));
}

static int apply_objects(struct applying *applying, const struct prg_plan *plan, struct prg_error *err)
{
    struct prg_store *store = applying->loop->store;
    const cJSON *object;
    prg_json_each (object, plan->objects) {
        struct prg_key key;
        enum prg_write_result result;
        if (prg_key_of(applying->arena, object, &key, err) != PRG_OK)
            return prg_wrap(err, "rendered object");
        if (store->ops->apply(store, object, &result, err) != PRG_OK)
            return prg_wrap(err, "apply %s", prg_key_text(applying->arena, &key));
        count(applying->report, result);
        remember_owner(applying, &key);
    }
    return PRG_OK;
}

static int delete_objects(struct applying *applying, const struct prg_plan *plan, struct prg_error *err)
{
    struct prg_store *store = applying->loop->store;
    const cJSON *item;
    prg_json_each (item, plan->deletes) {
        const char *ns = prg_json_get_text(item, "namespace");
        struct prg_key key = {prg_api_group(applying->arena, prg_json_get_text(item, "apiVersion")),
                              prg_json_get_text(item, "kind"), ns ? ns : "", prg_json_get_text(item, "name")};
        const cJSON *stored = store->reader.get(&store->reader, &key);
        const char *uid =
            prg_arena_strdup(applying->arena, prg_meta_uid(stored)); // the one that was planned with, no later one
        enum prg_write_result result;
        if (stored && store->ops->remove(store, &key, uid, &result, err) != PRG_OK)
            return prg_wrap(err, "delete %s", prg_key_text(applying->arena, &key));
        if (stored)
            count(applying->report, result);
        free(prg_map_remove(&applying->loop->owners, prg_key_text(applying->arena, &key)));
    }
    return PRG_OK;
}

static int record(struct applying *applying, const struct prg_store_event *event, struct prg_error *err)
{
    struct prg_store *store = applying->loop->store;
    return store->ops->record_event(store, applying->report->key, event, applying->wall_ns, err);
}

// A plan says its Events each time it is made; they are recorded when something changed, or when they are others than
// last time. After a start, without a memory of what was told, only a change counts.
static bool are_events_news(struct applying *applying, const struct prg_plan *plan)
{
    struct prg_map *told = &applying->loop->told;
    const struct prg_reconcile_report *report = applying->report;
    uint64_t digest = prg_json_digest(plan->events), *last = prg_map_get(told, applying->queue_key);
    bool is_change = report->status_changed || report->created || report->updated || report->deleted;
    bool is_other = last && *last != digest;
    if (!last) {
        last = prg_xmalloc(sizeof(*last));
        prg_map_put(told, applying->queue_key, last);
    }
    *last = digest;
    return is_change || is_other;
}

static int write_status(struct applying *applying, struct prg_plan *plan, struct prg_error *err)
{
    struct prg_store *store = applying->loop->store;
    const cJSON *event, *status = prg_json_get(plan->resource, "status");
    enum prg_write_result result;
    if (status) {
        if (store->ops->set_status(store, applying->report->key, status, &result, err) != PRG_OK)
            return prg_wrap(err, "status");
        applying->report->status_changed = result != PRG_WRITE_UNCHANGED;
    }
    if (!are_events_news(applying, plan))
        return PRG_OK;
    prg_json_each (event, plan->events) {
        struct prg_store_event what = {prg_json_get_text(event, "type"), prg_json_get_text(event, "reason"),
                                       prg_json_get_text(event, "message")};
        if (record(applying, &what, err) != PRG_OK)
            return prg_wrap(err, "event");
    }
    return PRG_OK;
}

// What could not be applied is told in the status, as the original does for failures of its own writes.
static void tell_failure(struct applying *applying, struct prg_plan *plan, const struct prg_error *failure)
{
    char text[PRG_ERROR_LINE];
    struct prg_error ignored = {0};
    struct prg_store_event event = {"Warning", "ReconcileFailed", prg_error_text(failure, text, sizeof(text))};
    prg_serving_plan_failed(plan, applying->wall_ns, "ReconcileFailed", text);
    // Both may fail for the reason that the apply failed for; that one is what is reported.
    if (write_status(applying, plan, &ignored) == PRG_OK && applying->report->status_changed)
        (void)record(applying, &event, &ignored);
}

static int apply_plan(struct applying *applying, struct prg_plan *plan, struct prg_error *err)
{
    int rc = PRG_OK;
    if (plan->error_code != PRG_POLICY)
        rc = apply_objects(applying, plan, err);
    if (rc == PRG_OK && plan->error_code != PRG_POLICY)
        rc = delete_objects(applying, plan, err);
    if (rc == PRG_OK)
        return write_status(applying, plan, err);
    tell_failure(applying, plan, err);
    return rc;
}

static void reconcile(struct prg_serving_loop *loop, const char *queue_key, uint64_t now_ms, int64_t wall_ns)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const char *slash = strchr(queue_key, '/');
    struct prg_key key = {serving_group, "InferenceService",
                          prg_arena_strndup(&arena, queue_key, (size_t)(slash - queue_key)),
                          prg_arena_strdup(&arena, slash + 1)};
    struct prg_plan *plan = prg_plan_new(&arena);
    struct prg_error err = {0};
    struct prg_reconcile_report report = {.key = &key, .plan = plan};
    struct applying applying = {loop, &arena, queue_key, &report, wall_ns};

    int rc = prg_planner_plan(loop->planner, &loop->store->reader, &key, wall_ns, 1, plan, &err);
    if (rc == PRG_NOTFOUND) { // gone: what it owned is collected by the store
        free(prg_map_remove(&loop->told, queue_key));
        prg_workqueue_forget(loop->queue, queue_key);
        return;
    }
    if (rc == PRG_OK)
        rc = apply_plan(&applying, plan, &err);
    report.error = rc == PRG_OK ? NULL : &err;
    // A policy that failed is asked again: after its back-off, or sooner when the set or the object changes.
    if (rc != PRG_OK || plan->error_code == PRG_POLICY) {
        prg_workqueue_add_failed(loop->queue, queue_key, now_ms);
    } else {
        prg_workqueue_forget(loop->queue, queue_key);
        if (plan->requeue_after_ms > 0)
            prg_workqueue_add_after(loop->queue, queue_key, now_ms, (uint64_t)plan->requeue_after_ms);
    }
    if (loop->report)
        loop->report(&report, loop->report_ctx);
}

size_t prg_serving_loop_run(struct prg_serving_loop *loop, uint64_t now_ms, int64_t wall_ns)
{
    const char *key;
    size_t reconciled = 0;
    loop->now_ms = now_ms;
    while ((key = prg_workqueue_take(loop->queue, now_ms))) {
        reconcile(loop, key, now_ms, wall_ns);
        prg_workqueue_done(loop->queue, key, now_ms);
        reconciled++;
    }
    return reconciled;
}

int64_t prg_serving_loop_next_ms(const struct prg_serving_loop *loop, uint64_t now_ms)
{
    return prg_workqueue_next_ms(loop->queue, now_ms);
}
