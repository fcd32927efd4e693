// SPDX-License-Identifier: Apache-2.0
// serving_loop.c: from "this object changed" to "its service is planned and applied".
#include "controller/serving_loop.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "controller/freshness.h"
#include "controller/leftovers.h"
#include "controller/quiet.h"
#include "controller/remakes.h"
#include "controller/workqueue.h"
#include "object/meta.h"

static const char serving_group[] = "serving.kserve.io";

#define SLOWLY_MS 60000 // after what nothing that we do will change soon

// Services woken by a change that concerns many: so many at once, the others one after the other.
#define BURST 100
#define BURST_STEP_MS 10

struct prg_serving_loop {
    struct prg_store *store;
    struct prg_planner *planner;
    struct prg_serving_loop_options options;
    struct prg_workqueue *queue;
    struct prg_freshness *freshness;
    struct prg_quiet *quiet;
    struct prg_remakes remakes;
    struct prg_map open;  // queue key -> struct work
    struct prg_vec ended; // struct work, still in open
    struct prg_map told;  // queue key -> uint64_t * (heap): digest of the Events last seen in its plan
    struct prg_map
        owners;      // key text of a rendered object -> queue key of its service (heap): who to ask when it vanishes
    uint64_t now_ms; // of the call under way
    int64_t wall_ns; // of the last one
    bool is_running; // within prg_serving_loop_run
    bool is_paused;
};

struct work { // one reconcile
    struct prg_serving_loop *loop;
    char *queue_key;
    struct prg_reconcile *reconcile;
    struct prg_notes *notes; // what the plan has read, or NULL
    uint64_t planner;        // its state when the plan was made
    struct prg_error err;    // of the plan, which then has no writes
    bool has_no_plan;
};

struct prg_serving_loop *prg_serving_loop_new(struct prg_store *store, struct prg_planner *planner,
                                              const struct prg_serving_loop_options *options)
{
    struct prg_backoff backoff = {.base_ms = 5, .max_ms = 1000 * 1000}; // client-go's per-item limiter
    struct prg_serving_loop *loop = prg_xcalloc(1, sizeof(*loop));
    loop->store = store;
    loop->planner = planner;
    loop->options = *options;
    loop->queue = prg_workqueue_of("inferenceservice", &loop->options.workers, &backoff);
    loop->freshness = prg_freshness_new();
    loop->quiet = prg_quiet_new();
    prg_map_init(&loop->owners);
    prg_map_init(&loop->told);
    prg_map_init(&loop->open);
    prg_vec_init(&loop->ended);
    return loop;
}

static void work_free(struct work *work)
{
    prg_reconcile_free(work->reconcile);
    prg_notes_free(work->notes);
    free(work->queue_key);
    free(work);
}

void prg_serving_loop_free(struct prg_serving_loop *loop)
{
    const struct prg_map_entry *entry;
    if (!loop)
        return;
    for (size_t i = 0; (entry = prg_map_next(&loop->open, &i));)
        work_free(entry->value);
    prg_map_release(&loop->open);
    prg_vec_release(&loop->ended);
    for (size_t i = 0; (entry = prg_map_next(&loop->owners, &i));)
        free(entry->value);
    prg_map_release(&loop->owners);
    for (size_t i = 0; (entry = prg_map_next(&loop->told, &i));)
        free(entry->value);
    prg_map_release(&loop->told);
    prg_freshness_free(loop->freshness);
    prg_quiet_free(loop->quiet);
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

struct waking {
    struct prg_serving_loop *loop;
    size_t count;
    bool is_slow;        // beyond a burst one after the other
    const char *runtime; // only services that may use it; NULL: all
};

// A service that names its runtime does not care about others.
static bool may_use(const cJSON *service, const char *runtime)
{
    const char *named = prg_json_get_text(prg_json_at(service, "spec", "predictor", "model"), "runtime");
    return !runtime || !named || !*named || strcmp(named, runtime) == 0;
}

static void enqueue_service(const cJSON *service, void *ctx)
{
    struct waking *waking = ctx;
    struct prg_serving_loop *loop = waking->loop;
    prg_auto_arena arena = {0};
    if (!may_use(service, waking->runtime))
        return;
    size_t late = waking->is_slow && waking->count >= BURST ? waking->count - BURST + 1 : 0;
    waking->count++;
    prg_workqueue_add_after(loop->queue,
                            prg_arena_printf(&arena, "%s/%s", prg_meta_namespace(service), prg_meta_name(service)),
                            loop->now_ms, late * BURST_STEP_MS);
}

static void enqueue_services(const char *ns, struct waking *waking)
{
    const struct prg_reader *reader = &waking->loop->store->reader;
    reader->list(reader, serving_group, "InferenceService", ns, enqueue_service, waking);
}

void prg_serving_loop_enqueue_all(struct prg_serving_loop *loop, uint64_t now_ms)
{
    struct waking waking = {.loop = loop};
    loop->now_ms = now_ms;
    enqueue_services(NULL, &waking);
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

static void enqueue_namespace(struct prg_serving_loop *loop, const struct prg_key *key)
{
    bool is_runtime = strcmp(key->kind, "ServingRuntime") == 0 || strcmp(key->kind, "ClusterServingRuntime") == 0;
    struct waking waking = {.loop = loop, .is_slow = true, .runtime = is_runtime ? key->name : NULL};
    // A Namespace is cluster-scoped and concerns the services in it.
    enqueue_services(strcmp(key->kind, "Namespace") == 0 ? key->name : *key->ns ? key->ns : NULL, &waking);
}

// Secrets that others write often and no plan has a use for: releases of Helm, tokens of service accounts.
static bool is_idle_secret(const struct prg_serving_loop *loop, const struct prg_key *key)
{
    const struct prg_reader *reader = &loop->store->reader;
    if (*key->group || strcmp(key->kind, "Secret") != 0)
        return false;
    const char *type = prg_json_get_text(reader->get(reader, key), "type");
    return prg_text_equal(type, "helm.sh/release.v1") || prg_text_equal(type, "kubernetes.io/service-account-token");
}

void prg_serving_loop_changed(struct prg_serving_loop *loop, const struct prg_key *key, uint64_t now_ms)
{
    loop->now_ms = now_ms;
    if (strcmp(key->kind, "InferenceService") == 0 && strcmp(key->group, serving_group) == 0) {
        enqueue(loop, key->ns, key->name);
    } else if (prg_planner_is_config(loop->planner, key)) {
        struct waking waking = {.loop = loop, .is_slow = true};
        prg_planner_load_config(loop->planner, &loop->store->reader);
        enqueue_services(NULL, &waking);
    } else if (concerns_namespace(key)) {
        if (!is_idle_secret(loop, key))
            enqueue_namespace(loop, key);
    } else {
        enqueue_owner(loop, key);
    }
}

// ---- one reconcile ----

static void remember_owner(struct work *work, const struct prg_key *key, struct prg_arena *arena)
{
    struct prg_map *owners = &work->loop->owners;
    const char *text = prg_key_text(arena, key);
    const char *known = prg_map_get(owners, text);
    if (!known || strcmp(known, work->queue_key) != 0)
        free(prg_map_put(owners, text, prg_xstrdup(work->queue_key)));
}

static void remember_objects(struct work *work, const struct prg_plan *plan)
{
    prg_auto_arena arena = {0};
    const cJSON *item;
    prg_json_each (item, plan->objects) {
        struct prg_key key;
        if (prg_key_of(&arena, item, &key, NULL) != PRG_OK)
            continue;
        remember_owner(work, &key, &arena);
        prg_notes_add(work->notes, &key); // it is compared with the one that is there
    }
    prg_json_each (item, plan->deletes) {
        const char *ns = prg_json_get_text(item, "namespace");
        struct prg_key key = {prg_api_group(&arena, prg_json_get_text(item, "apiVersion")),
                              prg_json_get_text(item, "kind"), ns ? ns : "", prg_json_get_text(item, "name")};
        free(prg_map_remove(&work->loop->owners, prg_key_text(&arena, &key)));
        prg_notes_add(work->notes, &key);
    }
}

// A plan says its Events each time it is made; they are recorded when something changed, or when they are others than
// last time. After a start, without a memory of what was told, only a change counts.
static bool are_events_news(const struct prg_reconcile_report *report, void *ctx)
{
    const struct work *work = ctx;
    struct prg_map *told = &work->loop->told;
    uint64_t digest = prg_json_digest(report->plan->events), *last = prg_map_get(told, work->queue_key);
    bool is_change = report->status_changed || report->created || report->updated || report->deleted;
    bool is_other = last && *last != digest;
    if (!last) {
        last = prg_xmalloc(sizeof(*last));
        prg_map_put(told, work->queue_key, last);
    }
    *last = digest;
    return is_change || is_other;
}

// As the original does for failures of its own writes.
static const char *set_failed(struct prg_plan *plan, const struct prg_error *err, void *ctx)
{
    static const char reason[] = "ReconcileFailed";
    const struct work *work = ctx;
    char text[PRG_ERROR_LINE];
    prg_error_text(err, text, sizeof(text));
    prg_serving_plan_failed(plan, work->loop->wall_ns, reason, prg_arena_strdup(plan->arena, text));
    return reason;
}

static void on_done(struct prg_reconcile *reconcile, void *ctx)
{
    struct work *work = ctx;
    struct prg_serving_loop *loop = work->loop;
    (void)reconcile;
    prg_vec_push(&loop->ended, work);
    if (!loop->is_running && loop->options.wake)
        loop->options.wake(loop->options.ctx);
}

static int plan(struct work *work, const struct prg_key *key, const cJSON *service)
{
    struct prg_serving_loop *loop = work->loop;
    struct prg_reconcile_handler handler = {set_failed, are_events_news, on_done, work, prg_serving_conditions};
    work->reconcile = prg_reconcile_new(loop->store, service, &handler);
    struct prg_plan *made = prg_reconcile_plan(work->reconcile);
    work->notes = prg_notes_new(&loop->store->reader, key);
    work->planner = prg_planner_state(loop->planner);
    const struct prg_reader *reader = prg_notes_reader(work->notes);
    int rc = prg_planner_plan(loop->planner, reader, key, loop->wall_ns, 1, made, &work->err);
    if (rc != PRG_OK || made->error_code == PRG_POLICY)
        return rc;
    prg_leftovers_add(reader, service, made);
    prg_serving_plan_routeless(made, prg_planner_serving_config(loop->planner), loop->wall_ns);
    remember_objects(work, made);
    return prg_reconcile_add_plan(work->reconcile, &work->err);
}

static void forget(struct prg_serving_loop *loop, const char *queue_key)
{
    free(prg_map_remove(&loop->told, queue_key));
    prg_quiet_forget(loop->quiet, queue_key);
    prg_workqueue_forget(loop->queue, queue_key);
}

// The original holds deletions up with a finalizer of its own. A service that has it from those days must not wait for
// a controller that runs no more; nothing else is done for one that is going, what it owns goes with it.
static const char old_finalizer[] = "inferenceservice.finalizers";

// False when there is nothing to take off.
static bool plan_deletion(struct work *work, const cJSON *service)
{
    struct prg_serving_loop *loop = work->loop;
    struct prg_reconcile_handler handler = {.done = on_done, .ctx = work};
    const cJSON *finalizer;
    work->reconcile = prg_reconcile_new(loop->store, service, &handler);
    struct prg_arena *arena = prg_reconcile_plan(work->reconcile)->arena;
    cJSON *patch = prg_json_object(arena), *metadata = prg_json_ensure_object(arena, patch, "metadata");
    cJSON *kept = prg_json_ensure_array(arena, metadata, "finalizers");
    bool is_held = false;
    prg_json_each (finalizer, prg_json_at(service, "metadata", "finalizers")) {
        if (prg_text_equal(prg_json_text(finalizer), old_finalizer))
            is_held = true;
        else
            prg_json_append(kept, prg_json_copy(arena, finalizer));
    }
    if (!is_held)
        return false;
    prg_reconcile_skip_status(work->reconcile);
    prg_reconcile_add(work->reconcile,
                      &(struct prg_write_request){.kind = PRG_WRITE_PATCH, .object = patch, .stored = service}, true);
    return true;
}

static struct work *work_new(struct prg_serving_loop *loop, const char *queue_key)
{
    struct work *work = prg_xcalloc(1, sizeof(*work));
    work->loop = loop;
    work->queue_key = prg_xstrdup(queue_key);
    return work;
}

static bool begin_deletion(struct prg_serving_loop *loop, const char *queue_key, const cJSON *service)
{
    struct work *work = work_new(loop, queue_key);
    if (!plan_deletion(work, service)) {
        work_free(work);
        forget(loop, queue_key);
        return true;
    }
    prg_map_put(&loop->open, queue_key, work);
    prg_reconcile_start(work->reconcile, loop->wall_ns);
    return false;
}

// Returns whether the key is done with already: nothing changed since there was nothing to do, there is no such service
// any more, or it is going.
static bool begin(struct prg_serving_loop *loop, const char *queue_key)
{
    prg_auto_arena arena = {0};
    const struct prg_reader *reader = &loop->store->reader;
    const char *slash = strchr(queue_key, '/');
    struct prg_key key = {serving_group, "InferenceService",
                          prg_arena_strndup(&arena, queue_key, (size_t)(slash - queue_key)),
                          prg_arena_strdup(&arena, slash + 1)};
    if (prg_quiet_holds(loop->quiet, queue_key, &key, reader, prg_planner_state(loop->planner))) {
        if (loop->options.unchanged)
            loop->options.unchanged(&key, loop->options.ctx);
        return true;
    }
    const cJSON *service = reader->get(reader, &key);
    if (!service) { // what it owned is collected by the store
        forget(loop, queue_key);
        return true;
    }
    if (prg_meta_is_deleting(service) && loop->store->ops->start) // a folder deletes by deleting
        return begin_deletion(loop, queue_key, service);
    struct work *work = work_new(loop, queue_key);
    prg_map_put(&loop->open, queue_key, work);
    work->has_no_plan = plan(work, &key, service) != PRG_OK;
    if (work->has_no_plan)
        on_done(work->reconcile, work);
    else
        prg_reconcile_start(work->reconcile, loop->wall_ns);
    return false;
}

// ---- and after it ----

// When to plan again though nothing happened.
static void plan_next(struct prg_serving_loop *loop, const struct work *work, const struct prg_reconcile_report *report)
{
    const struct prg_plan *made = report->plan;
    const char *key = work->queue_key;
    if (report->error && !work->has_no_plan && report->retry == PRG_RETRY_SLOWLY) {
        prg_workqueue_add_after(loop->queue, key, loop->now_ms,
                                report->retry_after_ms > SLOWLY_MS ? report->retry_after_ms : SLOWLY_MS);
    } else if (report->error && !work->has_no_plan && report->retry == PRG_RETRY_ON_CHANGE) {
        prg_workqueue_forget(loop->queue, key);
    } else if (report->error || made->error_code == PRG_POLICY) {
        // A policy that failed is asked again: after its back-off, or sooner when the set or the object changes.
        prg_workqueue_add_failed(loop->queue, key, loop->now_ms, report->retry_after_ms);
    } else {
        prg_workqueue_forget(loop->queue, key);
        if (made->requeue_after_ms > 0)
            prg_workqueue_add_after(loop->queue, key, loop->now_ms, (uint64_t)made->requeue_after_ms);
    }
}

// Nothing was to be done, nothing is awaited, and nothing will be without a change.
static bool is_quiet(const struct work *work, const struct prg_reconcile_report *report)
{
    const struct prg_plan *made = report->plan;
    return work->notes && !work->has_no_plan && !report->error && !made->error && made->error_code == PRG_OK &&
           !made->reads_clock && made->requeue_after_ms == 0 && !report->created && !report->updated &&
           !report->deleted && !report->status_changed && !report->is_unknown && !report->taken_over &&
           !report->warnings;
}

static void end(struct prg_serving_loop *loop, struct work *work)
{
    struct prg_reconcile_report report = *prg_reconcile_report(work->reconcile);
    if (work->has_no_plan)
        report.error = &work->err;
    if (is_quiet(work, &report))
        prg_quiet_keep(loop->quiet, work->queue_key, work->notes, work->planner);
    else
        prg_quiet_forget(loop->quiet, work->queue_key);
    prg_freshness_note(loop->freshness, work->queue_key, work->reconcile, loop->now_ms);
    bool is_refused = report.error && !work->has_no_plan && report.retry != PRG_RETRY_SOON;
    if (report.created || is_refused)
        prg_remakes_note(&loop->remakes, work->queue_key, loop->now_ms);
    plan_next(loop, work, &report);
    if (loop->options.report)
        loop->options.report(&report, loop->options.ctx);
    prg_map_remove(&loop->open, work->queue_key);
    prg_workqueue_done(loop->queue, work->queue_key, loop->now_ms);
    work_free(work);
}

static size_t end_all(struct prg_serving_loop *loop)
{
    size_t count = loop->ended.count;
    for (size_t i = 0; i < count; i++)
        end(loop, loop->ended.items[i]);
    loop->ended.count = 0;
    return count;
}

static bool has_hand(const struct prg_serving_loop *loop)
{
    return !loop->is_paused && loop->open.count < loop->options.workers;
}

// Takes a key that is due, unless all hands are full. Returns how many were done with at once, or -1: none was taken.
static int take(struct prg_serving_loop *loop)
{
    const char *key = has_hand(loop) ? prg_workqueue_take(loop->queue, loop->now_ms) : NULL;
    if (!key)
        return -1;
    uint64_t wait_ms = prg_freshness_wait_ms(loop->freshness, key, &loop->store->reader, loop->now_ms);
    uint64_t pause_ms = prg_remakes_wait_ms(&loop->remakes, key, loop->now_ms);
    if (wait_ms < pause_ms)
        wait_ms = pause_ms;
    if (wait_ms) // a change of what is awaited wakes it sooner
        prg_workqueue_add_after(loop->queue, key, loop->now_ms, wait_ms);
    else if (!begin(loop, key))
        return 0;
    prg_workqueue_done(loop->queue, key, loop->now_ms);
    return wait_ms ? 0 : 1;
}

size_t prg_serving_loop_run(struct prg_serving_loop *loop, uint64_t now_ms, int64_t wall_ns)
{
    size_t reconciled = 0;
    bool is_late = false;
    int taken;
    loop->now_ms = now_ms;
    loop->wall_ns = wall_ns;
    loop->is_running = true;
    do {
        reconciled += end_all(loop);
        while (!is_late && (taken = take(loop)) >= 0) {
            reconciled += (size_t)taken;
            is_late = loop->options.is_late && loop->options.is_late(loop->options.ctx);
        }
        prg_store_deliver(loop->store);
    } while (loop->ended.count);
    loop->is_running = false;
    return reconciled;
}

int64_t prg_serving_loop_next_ms(const struct prg_serving_loop *loop, uint64_t now_ms)
{
    if (loop->ended.count)
        return 0;
    return has_hand(loop) ? prg_workqueue_next_ms(loop->queue, now_ms) : -1;
}

void prg_serving_loop_pause(struct prg_serving_loop *loop, bool is_paused)
{
    loop->is_paused = is_paused;
}

size_t prg_serving_loop_open(const struct prg_serving_loop *loop)
{
    return loop->open.count;
}
