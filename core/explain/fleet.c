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

enum { CHUNK = 8, PROGRESS_MS = 100 };

struct work {
    const struct prg_fleet_input *in;
    const struct prg_reader *stores[PRG_SIDE_COUNT];
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

// Where only the policies differ, a service is planned once while both sets are asked: when they gave the same answers,
// that is the plan of both sides (*ret_same); it is the base's in any case. *ret_base NULL: it is not so simple.
static int plan_both(const struct worker *worker, const struct prg_key *key, struct prg_arena *scratch,
                     struct prg_plan **ret_base, bool *ret_same, struct prg_error *err)
{
    const struct work *work = worker->work;
    const struct prg_fleet_input *in = work->in;
    const struct prg_planner *base = in->planners[PRG_SIDE_BASE][worker->index];
    const struct prg_planner *new = in->planners[PRG_SIDE_NEW][worker->index];
    const struct prg_reader *store = work->stores[PRG_SIDE_BASE];
    struct prg_twin twin;
    *ret_base = NULL;
    *ret_same = false;
    if (store != work->stores[PRG_SIDE_NEW] || strcmp(key->kind, "InferenceService") != 0 ||
        memcmp(prg_planner_compat(base), prg_planner_compat(new), sizeof(struct prg_compat)) != 0)
        return PRG_OK;
    struct prg_serving_input serving = {.service = store->get(store, key),
                                        .store = store,
                                        .config = prg_planner_serving_config(base),
                                        .compat = prg_planner_compat(base),
                                        .now_ns = in->now_ns,
                                        .seed = in->seed};
    if (!serving.service)
        return PRG_OK;
    struct prg_plan *plan = prg_plan_new(scratch);
    prg_twin_init(&twin, prg_planner_decider(base, key->ns), prg_planner_decider(new, key->ns), in->equal_policies);
    int rc = prg_serving_plan(&serving, &twin.decider, plan, err);
    if (rc == PRG_OK)
        rc = prg_reader_trouble(store, err);
    *ret_base = plan;
    *ret_same = !twin.differs && !plan->error;
    return rc;
}

static int compare_one(const struct worker *worker, size_t at, struct prg_arena *scratch, struct prg_error *err)
{
    const struct work *work = worker->work;
    const struct prg_key *key = &work->in->keys[at];
    struct prg_plan *base, *new;
    bool is_same;
    int rc = plan_both(worker, key, scratch, &base, &is_same, err);
    if (rc != PRG_OK)
        return prg_wrap(err, "%s %s/%s", key->kind, key->ns, key->name);
    if (!base)
        rc = plan_side(worker, PRG_SIDE_BASE, key, scratch, &base, err);
    new = base;
    if (rc == PRG_OK && !is_same)
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

int prg_fleet_compare(const struct prg_fleet_input *in, struct prg_fleet **ret, struct prg_error *err)
{
    struct work work = {.in = in, .fleet = new_fleet(in)};
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
