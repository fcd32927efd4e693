// SPDX-License-Identifier: Apache-2.0
// fleet.c: threads that take services off a counter, plan each of them twice and keep what differs.
//
// Every thread has its own planners (and so its own Lua states), its own scratch arena, which is reset after each
// service, and an arena for what is kept. The objects are read through snapshots. Nothing else is shared but the
// counter.
#include "explain/fleet.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explain/snapshot.h"
#include "explain/twin.h"
#include "serving/predictor.h"

enum { CHUNK = 8, PROGRESS_MS = 100 };

struct work {
    const struct prg_fleet_input *in;
    const struct prg_reader *stores[PRG_SIDE_COUNT];
    bool has_same_settings; // of all planners: configuration and compatibility
    struct prg_fleet *fleet;
    atomic_size_t next, done;
    atomic_bool has_failed;
    pthread_mutex_t lock; // of the members below
    pthread_cond_t changed;
    size_t running;
    struct prg_error error; // the first
};

struct worker {
    struct work *work;
    size_t index;
    struct prg_arena *kept;
};

static void fail(struct work *work, const struct prg_error *err)
{
    pthread_mutex_lock(&work->lock);
    if (!atomic_exchange(&work->has_failed, true))
        work->error = *err;
    pthread_mutex_unlock(&work->lock);
}

// *ret NULL: the subject is not there on this side.
static int plan_side(const struct worker *worker, enum prg_side side, const struct prg_key *key,
                     struct prg_arena *scratch, struct prg_plan **ret, struct prg_error *err)
{
    const struct work *work = worker->work;
    const struct prg_reader *store = work->stores[side];
    struct prg_plan *plan = prg_plan_new(scratch);
    *ret = NULL;
    if (!store->get(store, key))
        return prg_reader_trouble(store, err);
    *ret = plan;
    return prg_planner_plan(work->in->planners[side][worker->index], store, key, work->in->now_ns, work->in->seed, plan,
                            err);
}

// ---- one plan instead of two ----
//
// A plan depends on its service, configuration, policies' answers and what it reads, on nothing else. So while the base
// is planned the new set is asked the same questions (explain/twin.h), and it is noted whether something was read that
// is another object on the new side. When neither makes a difference, the base's plan is that of both sides.
//
// A changed runtime is read by every service, since all runtimes are listed, and matters to few. There the new side is
// planned as far as its choice; when that is the very object that the base has chosen, the plan goes on as the base's
// did.

// The base's objects, noting what the overlay has others for.
struct watch {
    struct prg_reader reader; // first member
    const struct prg_reader *base;
    const struct prg_overlay *overlay;
    bool has_listed_runtimes; // some are others; only a choice lists them
    bool has_seen;            // something else that is another
};

static struct watch *watch_of(const struct prg_reader *reader)
{
    return (struct watch *)(uintptr_t)reader;
}

static const cJSON *watch_get(const struct prg_reader *reader, const struct prg_key *key)
{
    struct watch *watch = watch_of(reader);
    bool is_known;
    (void)prg_overlay_get(watch->overlay, key, &is_known);
    watch->has_seen = watch->has_seen || is_known;
    return watch->base->get(watch->base, key);
}

static void note_list(struct watch *watch, const char *group, const char *kind, const char *ns)
{
    bool is_runtime = strcmp(group, PRG_SERVING_GROUP) == 0 &&
                      (strcmp(kind, "ServingRuntime") == 0 || strcmp(kind, "ClusterServingRuntime") == 0);
    size_t count;
    const struct prg_key *keys = prg_overlay_keys(watch->overlay, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i].kind, kind) != 0 || strcmp(keys[i].group, group) != 0 || (ns && strcmp(keys[i].ns, ns) != 0))
            continue;
        *(is_runtime ? &watch->has_listed_runtimes : &watch->has_seen) = true;
    }
}

static void watch_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                       prg_reader_visit_fn visit, void *ctx)
{
    struct watch *watch = watch_of(reader);
    note_list(watch, group, kind, ns);
    watch->base->list(watch->base, group, kind, ns, visit, ctx);
}

static void watch_list_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                                const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    struct watch *watch = watch_of(reader);
    note_list(watch, group, kind, ns);
    prg_reader_list_labelled(watch->base, group, kind, ns, label, value, visit, ctx);
}

// Who knows that an answer is what it was has not read it, but knows it.
static bool watch_state(const struct prg_reader *reader, const struct prg_reader_question *question,
                        struct prg_reader_state *ret)
{
    struct watch *watch = watch_of(reader);
    struct prg_key key = {question->group, question->kind, question->ns ? question->ns : "", question->name};
    bool is_known = false;
    if (question->name)
        (void)prg_overlay_get(watch->overlay, &key, &is_known);
    else
        note_list(watch, question->group, question->kind, question->ns);
    watch->has_seen = watch->has_seen || is_known;
    return prg_reader_state(watch->base, question, ret);
}

static struct watch watch_over(const struct prg_reader *base, const struct prg_overlay *overlay)
{
    return (struct watch){.reader = {.get = watch_get,
                                     .list = watch_list,
                                     .list_labelled = watch_list_labelled,
                                     .state = watch_state,
                                     .keeps_trees = base->keeps_trees},
                          .base = base,
                          .overlay = overlay};
}

static int plan_service(const struct worker *worker, enum prg_side side, const struct prg_reader *store,
                        const struct prg_key *key, const struct prg_decider *decider, struct prg_plan *plan,
                        struct prg_error *err)
{
    const struct prg_fleet_input *in = worker->work->in;
    const struct prg_planner *planner = in->planners[side][worker->index];
    struct prg_serving_input serving = {.service = store->get(store, key),
                                        .store = store,
                                        .config = prg_planner_serving_config(planner),
                                        .compat = prg_planner_compat(planner),
                                        .runtimes = prg_planner_runtimes(planner),
                                        .now_ns = in->now_ns,
                                        .seed = in->seed};
    int rc = prg_serving_plan(&serving, decider, plan, err);
    return rc == PRG_OK ? prg_reader_trouble(worker->work->stores[side], err) : rc;
}

static const struct prg_decider *decider_of(const struct worker *worker, enum prg_side side, const char *ns)
{
    return prg_planner_decider(worker->work->in->planners[side][worker->index], ns);
}

// Nothing is known of the sets of namespaces.
static unsigned equal_policies(const struct worker *worker, const char *ns)
{
    for (int side = 0; side < PRG_SIDE_COUNT; side++)
        if (decider_of(worker, (enum prg_side)side, ns) != decider_of(worker, (enum prg_side)side, ""))
            return 0;
    return worker->work->in->equal_policies;
}

// The new side chooses the runtime that the base has chosen. *ret_plan is its plan when it does not.
static int choose_again(const struct worker *worker, const struct prg_key *key, const struct prg_plan *base,
                        struct prg_arena *scratch, struct prg_plan **ret_plan, bool *ret_same, struct prg_error *err)
{
    const struct prg_candidate *chosen = base->runtimes ? base->runtimes->selection.chosen : NULL;
    struct prg_twin twin;
    if (!chosen)
        return PRG_OK;
    struct prg_plan *plan = prg_plan_new(scratch);
    prg_twin_init_until(&twin, decider_of(worker, PRG_SIDE_NEW, key->ns), chosen->object);
    int rc = plan_service(worker, PRG_SIDE_NEW, worker->work->stores[PRG_SIDE_NEW], key, &twin.decider, plan, err);
    *ret_same = twin.has_stopped;
    *ret_plan = twin.has_stopped ? NULL : plan;
    return rc;
}

// *ret_base NULL: it is not so simple. Else it is the base's plan and *ret_new that of the new side; NULL: it has to be
// made.
static int plan_both(const struct worker *worker, const struct prg_key *key, struct prg_arena *scratch,
                     struct prg_plan **ret_base, struct prg_plan **ret_new, struct prg_error *err)
{
    const struct work *work = worker->work;
    const struct prg_fleet_input *in = work->in;
    const struct prg_reader *store = work->stores[PRG_SIDE_BASE];
    struct prg_twin twin;
    bool is_same_store = store == work->stores[PRG_SIDE_NEW], is_same = false;
    *ret_base = *ret_new = NULL;
    if ((!is_same_store && !in->overlay) || strcmp(key->kind, "InferenceService") != 0 || !work->has_same_settings ||
        !store->get(store, key))
        return PRG_OK;
    struct watch watch = watch_over(store, in->overlay);
    struct prg_plan *plan = prg_plan_new(scratch);
    prg_twin_init(&twin, decider_of(worker, PRG_SIDE_BASE, key->ns), decider_of(worker, PRG_SIDE_NEW, key->ns),
                  equal_policies(worker, key->ns));
    int rc = plan_service(worker, PRG_SIDE_BASE, is_same_store ? store : &watch.reader, key, &twin.decider, plan, err);
    *ret_base = plan;
    if (rc != PRG_OK || twin.differs || plan->error || watch.has_seen)
        return rc;
    is_same = !watch.has_listed_runtimes;
    if (!is_same)
        rc = choose_again(worker, key, plan, scratch, ret_new, &is_same, err);
    if (is_same)
        *ret_new = plan;
    return rc;
}

static int compare_one(const struct worker *worker, size_t at, struct prg_arena *scratch, struct prg_error *err)
{
    const struct work *work = worker->work;
    const struct prg_key *key = &work->in->keys[at];
    struct prg_plan *base, *new;
    int rc = plan_both(worker, key, scratch, &base, &new, err);
    if (rc != PRG_OK)
        return prg_wrap(err, "%s %s/%s", key->kind, key->ns, key->name);
    if (!base)
        rc = plan_side(worker, PRG_SIDE_BASE, key, scratch, &base, err);
    if (rc == PRG_OK && !new)
        rc = plan_side(worker, PRG_SIDE_NEW, key, scratch, &new, err);
    if (rc == PRG_OK)
        prg_effect_of(worker->kept, work->stores[PRG_SIDE_BASE], base, new, &work->fleet->effects[at]);
    return rc;
}

static void *run_worker(void *arg)
{
    const struct worker *worker = arg;
    struct work *work = worker->work;
    prg_auto_arena scratch;
    prg_arena_init(&scratch);
    while (!atomic_load_explicit(&work->has_failed, memory_order_relaxed)) {
        size_t first = atomic_fetch_add_explicit(&work->next, CHUNK, memory_order_relaxed);
        for (size_t at = first; at < first + CHUNK && at < work->in->key_count; at++) {
            struct prg_error err = {0};
            if (compare_one(worker, at, &scratch, &err) != PRG_OK)
                fail(work, &err);
            prg_arena_reset(&scratch);
            atomic_fetch_add_explicit(&work->done, 1, memory_order_relaxed);
        }
        if (first >= work->in->key_count)
            break;
    }
    pthread_mutex_lock(&work->lock);
    work->running--;
    pthread_cond_signal(&work->changed);
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

// Until no worker runs.
static void wait_for_workers(struct work *work)
{
    const struct prg_fleet_input *in = work->in;
    pthread_mutex_lock(&work->lock);
    while (work->running) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += PROGRESS_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_nsec -= 1000000000L;
            until.tv_sec++;
        }
        (void)pthread_cond_timedwait(&work->changed, &work->lock, &until);
        if (in->progress) {
            pthread_mutex_unlock(&work->lock);
            in->progress(atomic_load(&work->done), in->key_count, in->progress_ctx);
            pthread_mutex_lock(&work->lock);
        }
    }
    pthread_mutex_unlock(&work->lock);
}

static void run_workers(struct work *work)
{
    size_t count = work->in->thread_count;
    struct worker *workers = prg_xcalloc(count, sizeof(*workers));
    pthread_t *threads = prg_xcalloc(count, sizeof(*threads));
    bool *is_started = prg_xcalloc(count, sizeof(*is_started));
    work->running = count;
    for (size_t i = 0; i < count; i++) {
        workers[i] = (struct worker){work, i, &work->fleet->arenas[i]};
        is_started[i] = pthread_create(&threads[i], NULL, run_worker, &workers[i]) == 0;
        if (!is_started[i]) // no more threads to be had: this one's share is done by the others, or here
            (void)run_worker(&workers[i]);
    }
    wait_for_workers(work);
    for (size_t i = 0; i < count; i++)
        if (is_started[i])
            pthread_join(threads[i], NULL);
    free(is_started);
    free(threads);
    free(workers);
}

static void add_up(struct prg_fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++) {
        const struct prg_effect *effect = &fleet->effects[i];
        fleet->services[effect->group]++;
        fleet->pods[effect->group] = prg_saturated_add(fleet->pods[effect->group], effect->pods);
        fleet->gpus[effect->group] = prg_saturated_add(fleet->gpus[effect->group], effect->gpus);
        fleet->restarts = prg_saturated_add(fleet->restarts, effect->restarts);
        fleet->touched_gpus = prg_saturated_add(fleet->touched_gpus, effect->gpus);
        for (int side = 0; side < PRG_SIDE_COUNT; side++) {
            fleet->failing[side] += effect->error[side] != NULL;
            fleet->gpus_total[side] = prg_saturated_add(fleet->gpus_total[side], effect->gpus_total[side]);
        }
    }
}

static struct prg_fleet *new_fleet(const struct prg_fleet_input *in)
{
    struct prg_fleet *fleet = prg_xcalloc(1, sizeof(*fleet));
    fleet->keys = in->keys;
    fleet->count = in->key_count;
    fleet->effects = prg_xcalloc(in->key_count ? in->key_count : 1, sizeof(*fleet->effects));
    fleet->arena_count = in->thread_count;
    fleet->arenas = prg_xcalloc(in->thread_count, sizeof(*fleet->arenas));
    for (size_t i = 0; i < in->thread_count; i++)
        prg_arena_init(&fleet->arenas[i]);
    return fleet;
}

// The configuration is read once, by each planner.
static bool has_same_settings(const struct prg_fleet_input *in)
{
    const struct prg_planner *base = in->planners[PRG_SIDE_BASE][0], *new = in->planners[PRG_SIDE_NEW][0];
    prg_auto_arena arena;
    prg_arena_init(&arena);
    return memcmp(prg_planner_compat(base), prg_planner_compat(new), sizeof(struct prg_compat)) == 0 &&
           prg_json_equal(prg_planner_config(base, &arena), prg_planner_config(new, &arena));
}

static void ignore(const cJSON *object, void *ctx)
{
    (void)object;
    (void)ctx;
}

// Both sides share most runtimes; what is kept with their trees (prg_json_identity) is made before there are threads.
static void list_runtimes(const struct prg_reader *store)
{
    store->list(store, PRG_SERVING_GROUP, "ServingRuntime", NULL, ignore, NULL);
    store->list(store, PRG_SERVING_GROUP, "ClusterServingRuntime", NULL, ignore, NULL);
}

int prg_fleet_compare(const struct prg_fleet_input *in, struct prg_fleet **ret, struct prg_error *err)
{
    struct work work = {.in = in, .fleet = new_fleet(in), .has_same_settings = has_same_settings(in)};
    struct prg_snapshot *snapshots[PRG_SIDE_COUNT];
    pthread_condattr_t attributes;
    int rc = PRG_OK;
    pthread_mutex_init(&work.lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&work.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    for (int side = 0; side < PRG_SIDE_COUNT; side++) {
        bool is_same = side > 0 && in->stores[side] == in->stores[0];
        snapshots[side] = is_same ? NULL : prg_snapshot_new(in->stores[side]);
        work.stores[side] = is_same ? work.stores[0] : prg_snapshot_reader(snapshots[side]);
    }
    for (int side = 0; side < PRG_SIDE_COUNT; side++)
        list_runtimes(work.stores[side]);
    run_workers(&work);
    if (atomic_load(&work.has_failed)) {
        *err = work.error;
        rc = err->code;
    }
    for (int side = 0; side < PRG_SIDE_COUNT; side++)
        prg_snapshot_free(snapshots[side]);
    pthread_cond_destroy(&work.changed);
    pthread_mutex_destroy(&work.lock);
    if (rc != PRG_OK) {
        prg_fleet_free(work.fleet);
        return rc;
    }
    add_up(work.fleet);
    *ret = work.fleet;
    return PRG_OK;
}

void prg_fleet_free(struct prg_fleet *fleet)
{
    if (!fleet)
        return;
    for (size_t i = 0; i < fleet->arena_count; i++)
        prg_arena_release(&fleet->arenas[i]);
    free(fleet->arenas);
    free(fleet->effects);
    free(fleet);
}
