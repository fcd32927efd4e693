// SPDX-License-Identifier: Apache-2.0
// world.c: random schedules: a list of things to come, run in the order of time, with faults; and the verdict on each.
//
// A job is stuck when nothing at all is on its way (no message, no worker, no deadline) over two resyncs in a row, and
// it neither gave up nor is paused. It is endless, and counts as stuck, when something does go on but repeats itself: a
// state whose plan keeps failing, or conditions without the end of a round. Train Waiting is no exception: edge nodes
// get new samples for ever.
#include "simulate/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "learning/names.h"
#include "learning/pick.h"
#include "learning/status.h"
#include "object/meta.h"

enum {
    SECOND = 1000,
    RESYNC_SECONDS = 60,
    RESYNC_MOST_SECONDS = 3600,
    ROUNDS = 3,
    ACTIONS_MOST = 50000,  // of one schedule
    FAILURES_MOST = 100,   // syncs and reports that fail in one state: it is tried for ever
    CONDITIONS_MOST = 500, // of one round: it goes in a circle
    CASES_MOST = 10,
    DEAD_RETRY_MS = 5000, // a report waits so long for a controller that is away
};
#define MEMORY_MOST ((size_t)1 << 30)         // bytes of one schedule
#define START_NS INT64_C(1704067200000000000) // 2024-01-01T00:00:00Z

// ---- chance ----

// splitmix64
uint64_t sim_random(struct sim_world *w, uint64_t below)
{
    uint64_t z = w->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return below ? z % below : 0;
}

bool sim_chance(struct sim_world *w, unsigned percent)
{
    return sim_random(w, 100) < percent;
}

static bool has_fault(struct sim_world *w, enum prg_random_faults fault, unsigned percent)
{
    return (w->options->faults & fault) && sim_chance(w, percent);
}

int prg_random_faults_parse(const char *text, unsigned *ret, struct prg_error *err)
{
    static const char *const names[] = {"drop", "repeat", "reorder", "delay", "kill"};
    *ret = 0;
    while (*text) {
        size_t length = strcspn(text, ","), i = 0;
        while (i < PRG_COUNT(names) && (strlen(names[i]) != length || strncmp(names[i], text, length) != 0))
            i++;
        if (i == PRG_COUNT(names))
            return prg_fail(err, PRG_INVALID,
                            "there is no fault '%.*s'; the faults are drop, repeat, reorder, delay and kill",
                            (int)length, text);
        *ret |= 1U << i;
        text += length + (text[length] == ',');
    }
    return PRG_OK;
}

// ---- things to come ----

void sim_say(struct sim_world *w, const char *format, ...)
{
    va_list args;
    char now[PRG_CLOCK_TEXT];
    va_start(args, format);
    const char *text = prg_arena_vprintf(w->arena, format, args);
    va_end(args);
    prg_json_append(w->timeline, prg_json_stringf(w->arena, "%s  %s", prg_clock_format(w->cluster.now_ns, now), text));
}

static void insert(struct sim_world *w, struct sim_action *action)
{
    struct sim_action **at = &w->actions;
    while (*at && (*at)->at_ms <= action->at_ms)
        at = &(*at)->next;
    action->next = *at;
    *at = action;
}

struct sim_action *sim_schedule(struct sim_world *w, int64_t after_ms, enum sim_action_kind kind)
{
    struct sim_action *action = prg_arena_new(w->arena, struct sim_action);
    action->at_ms = w->now_ms + after_ms;
    action->kind = kind;
    insert(w, action);
    return action;
}

static void put_on_way(struct sim_world *w, const struct sim_action *message, int64_t *last)
{
    int64_t at = w->now_ms + 10 + (int64_t)sim_random(w, 2 * SECOND);
    struct sim_action *action = prg_arena_new(w->arena, struct sim_action);
    if (has_fault(w, PRG_FAULT_DELAY, 10))
        at += (int64_t)sim_random(w, 3600) * SECOND;
    if (!has_fault(w, PRG_FAULT_REORDER, 30) && at <= *last)
        at = *last + 1;
    if (at > *last)
        *last = at;
    *action = *message;
    action->at_ms = at;
    insert(w, action);
}

void sim_send(struct sim_world *w, const struct sim_action *message, int64_t *last)
{
    if (has_fault(w, PRG_FAULT_DROP, 10)) {
        w->has_lost = true;
        sim_say(w, "  the message %s %s is lost", message->kind == SIM_ACT_TELL ? "to" : "from", message->edge->node);
        return;
    }
    put_on_way(w, message, last);
    if (has_fault(w, PRG_FAULT_REPEAT, 10))
        put_on_way(w, message, last);
}

// ---- the controller ----

static void tell_edges(struct sim_world *w)
{
    const cJSON *message, *messages = w->controller.messages;
    prg_json_each (message, messages) {
        const cJSON *header = prg_json_get(message, "header");
        const char *node = prg_json_get_text(message, "node");
        if (!*node || strcmp(prg_json_get_text(header, "resourceKind"), "incrementallearningjob") != 0)
            continue; // Models and Datasets do not matter to what edge nodes do here
        struct sim_action action = {.kind = SIM_ACT_TELL, .message = message};
        action.edge =
            sim_edge_of(w, node, prg_json_get_text(header, "namespace"), prg_json_get_text(header, "resourceName"));
        sim_send(w, &action, &action.edge->last_arrival_ms);
    }
    w->controller.messages = prg_json_array(w->arena);
    w->controller.syncs = prg_json_array(w->arena);
    w->controller.requeued = prg_json_array(w->arena);
    w->cluster.log = prg_json_array(w->arena);
}

static struct sim_watch *watch_of(struct sim_world *w, const cJSON *job)
{
    struct sim_watch *watch = w->watches;
    while (watch && (strcmp(watch->name, prg_meta_name(job)) != 0 || strcmp(watch->ns, prg_meta_namespace(job)) != 0))
        watch = watch->next;
    if (watch)
        return watch;
    watch = prg_arena_new(w->arena, struct sim_watch);
    *watch = (struct sim_watch){.next = w->watches, .ns = prg_meta_namespace(job), .name = prg_meta_name(job)};
    watch->stage = watch->type = watch->since = "";
    w->watches = watch;
    return watch;
}

struct counting {
    const cJSON *job;
    unsigned count;
};

static void count_train_worker(const cJSON *pod, void *ctx)
{
    struct counting *counting = ctx;
    char type[64];
    const char *phase = prg_pod_phase(pod);
    if (prg_worker_type_of(counting->job, pod, type) && strcmp(type, PRG_WORKER_TRAIN) == 0 &&
        !prg_meta_is_deleting(pod) && (strcmp(phase, "Pending") == 0 || strcmp(phase, "Running") == 0))
        counting->count++;
}

static const char *state_of(const struct sim_world *w, const struct sim_watch *watch)
{
    if (!watch->has_begun)
        return "(not begun)";
    return prg_arena_printf(w->arena, "%s %s", watch->stage, watch->type);
}

static const char *since_of(const struct sim_world *w, const struct sim_watch *watch)
{
    char start[PRG_CLOCK_TEXT];
    return watch->has_begun ? watch->since : prg_arena_strdup(w->arena, prg_clock_format(START_NS, start));
}

static void end_endless(struct sim_world *w, struct sim_watch *watch, const char *why)
{
    if (watch->is_ended)
        return;
    watch->is_ended = watch->is_stuck = watch->is_endless = true;
    watch->note = why;
    sim_say(w, "%s: endless in %s since %s: %s", watch->name, state_of(w, watch), since_of(w, watch), why);
}

static void watch_condition(struct sim_world *w, struct sim_watch *watch, const cJSON *node)
{
    struct prg_job_condition now = prg_job_condition_of(node);
    bool was_completed = strcmp(watch->type, PRG_TYPE_COMPLETED) == 0 && strcmp(watch->stage, PRG_STAGE_DEPLOY) == 0;
    const char *reason = prg_json_get_text(node, "reason");
    unsigned ended = watch->completed + watch->started_over + watch->gave_up;
    if (strcmp(now.stage, PRG_STAGE_TRAIN) == 0 && strcmp(now.type, PRG_TYPE_WAITING) == 0) {
        if (was_completed)
            watch->completed++;
        else if (*watch->type && strcmp(watch->type, "GaveUp") != 0 && strcmp(watch->type, "Paused") != 0)
            watch->started_over++;
    }
    if (strcmp(watch->stage, now.stage) != 0 || strcmp(watch->type, now.type) != 0)
        watch->failures = 0;
    watch->has_begun = true;
    watch->stage = now.stage;
    watch->type = now.type;
    watch->since = now.since;
    watch->reason = reason;
    watch->quiet_resyncs = 0;
    if (strcmp(now.type, "GaveUp") == 0)
        watch->gave_up++;
    sim_say(w, "%s: %s %s%s%s%s", watch->name, now.stage, now.type, now.is_reported ? " (reported)" : "",
            reason ? ": " : "", reason ? reason : "");
    unsigned rounds = w->options->rounds ? w->options->rounds : ROUNDS;
    if (strcmp(now.type, "GaveUp") == 0 || strcmp(now.type, "Paused") == 0 ||
        watch->completed + watch->started_over >= rounds)
        watch->is_ended = true;
    watch->conditions = watch->completed + watch->started_over + watch->gave_up > ended ? 0 : watch->conditions + 1;
    if (watch->conditions >= CONDITIONS_MOST)
        end_endless(w, watch, prg_arena_printf(w->arena, "%d conditions without the end of a round", CONDITIONS_MOST));
}

// Conditions that were appended since the last look. Old ones may have been trimmed, so the times tell what is new; of
// one second the place.
static void watch_job(const cJSON *job, void *ctx)
{
    struct sim_world *w = ctx;
    struct sim_watch *watch = watch_of(w, job);
    const cJSON *node, *last = NULL;
    struct counting counting = {job, 0};
    for (node = prg_job_condition_first(job); node; node = prg_job_condition_next(node))
        if (prg_text_equal(prg_json_get_text(node, "lastTransitionTime"), watch->since) &&
            prg_text_equal(prg_json_get_text(node, "type"), watch->type) &&
            prg_text_equal(prg_json_get_text(node, "stage"), watch->stage))
            last = node;
    for (node = last ? prg_job_condition_next(last) : prg_job_condition_first(job); node;
         node = prg_job_condition_next(node))
        watch_condition(w, watch, node);
    w->cluster.reader.list(&w->cluster.reader, "", "Pod", watch->ns, count_train_worker, &counting);
    if (counting.count > 1 && !watch->has_two_workers) {
        watch->has_two_workers = true;
        sim_say(w, "%s: two train workers at once", watch->name);
    }
}

static void look_at_jobs(struct sim_world *w)
{
    w->cluster.reader.list(&w->cluster.reader, PRG_SEDNA_GROUP, PRG_KIND_JOB, NULL, watch_job, w);
}

// After anything that the controller may have done.
static void follow_up(struct sim_world *w, bool was_dead)
{
    look_at_jobs(w);
    if (w->controller.is_dead && !was_dead) {
        sim_say(w, "the controller dies");
        sim_schedule(w, (1 + (int64_t)sim_random(w, 30)) * SECOND, SIM_ACT_RESTART);
        w->controller.messages = prg_json_array(w->arena); // they were in its memory
    }
    tell_edges(w);
    sim_kubelet_look(w);
}

static void settle(struct sim_world *w)
{
    bool was_dead = w->controller.is_dead;
    if (!was_dead)
        sim_controller_settle(&w->controller);
    follow_up(w, was_dead);
}

static void count_failure(struct sim_world *w, struct sim_watch *watch, const char *error)
{
    if (++watch->failures == FAILURES_MOST)
        end_endless(w, watch, prg_arena_printf(w->arena, "tried %d times: %s", FAILURES_MOST, error));
}

static void on_sync(struct sim_controller *controller, const struct prg_plan *plan, const char *error, void *ctx)
{
    struct sim_world *w = ctx;
    (void)controller;
    if (error)
        sim_say(w, "%s: error: %s", prg_meta_name(plan->resource), error);
    struct sim_watch *watch = watch_of(w, plan->resource);
    for (const struct prg_trace_entry *entry = plan->trace_first; entry && !watch->is_endless; entry = entry->next)
        if (strcmp(entry->decision, "stage") == 0)
            watch->note = entry->reason;
    if (error)
        count_failure(w, watch, error);
}

// ---- what happens ----

static bool is_live(const struct sim_action *action)
{
    return action->kind != SIM_ACT_RESYNC && action->kind != SIM_ACT_FAULT;
}

// Nothing is on its way but, maybe, a deadline of the controller.
static bool is_calm(const struct sim_world *w)
{
    for (const struct sim_action *action = w->actions; action; action = action->next)
        if (is_live(action))
            return false;
    return true;
}

// A resync changes nothing by itself: when nothing is on its way twice in a row, nothing will ever come.
static void resync(struct sim_world *w)
{
    bool calm = is_calm(w), quiet = calm && sim_controller_next_due(&w->controller) < 0;
    if (!w->controller.is_dead)
        sim_controller_resync(&w->controller, false);
    w->resync_ms = calm ? w->resync_ms * 2 : RESYNC_SECONDS * SECOND;
    if (w->resync_ms > RESYNC_MOST_SECONDS * SECOND)
        w->resync_ms = RESYNC_MOST_SECONDS * SECOND;
    sim_schedule(w, w->resync_ms, SIM_ACT_RESYNC);
    for (struct sim_watch *watch = w->watches; watch; watch = watch->next) {
        watch->quiet_resyncs = quiet && !w->has_lost ? watch->quiet_resyncs + 1 : 0;
        if (watch->quiet_resyncs > 2 && !watch->is_ended) {
            watch->is_ended = watch->is_stuck = true;
            sim_say(w, "%s: stuck in %s since %s", watch->name, state_of(w, watch), since_of(w, watch));
        }
    }
    w->has_lost = false;
}

static const cJSON *random_pod(struct sim_world *w)
{
    const cJSON *found = NULL;
    uint64_t seen = 0;
    for (const struct sim_object *o = w->cluster.first; o; o = o->next)
        if (o->object && strcmp(o->key.kind, "Pod") == 0 && sim_random(w, ++seen) == 0)
            found = o->object;
    return found;
}

static void kill_something(struct sim_world *w)
{
    uint64_t dice = sim_random(w, 3);
    const cJSON *pod = dice == 1 ? random_pod(w) : NULL;
    if (dice == 0 && !w->controller.is_dead) {
        w->cluster.requests_until_crash = (int64_t)sim_random(w, 3);
    } else if (pod) {
        sim_say(w, "%s vanishes", prg_meta_name(pod));
        (void)sim_remove(&w->cluster, "", "Pod", prg_meta_namespace(pod), prg_meta_name(pod));
    } else if (dice == 2 && w->edges) {
        uint64_t seen = 0;
        const char *node = w->edges->node;
        for (const struct sim_edge *edge = w->edges; edge; edge = edge->next)
            if (sim_random(w, ++seen) == 0)
                node = edge->node;
        sim_say(w, "%s starts anew and forgets its jobs", node);
        sim_edge_forget(w, node);
        w->has_lost = true;
    }
    sim_schedule(w, (60 + (int64_t)sim_random(w, 1200)) * SECOND, SIM_ACT_FAULT);
}

static void fail_a_request(struct sim_world *w)
{
    static const char *const requests[][3] = {{"update", "incrementallearningjobs", "status"},
                                              {"create", "pods", NULL},
                                              {"delete", "pods", NULL},
                                              {"patch", "incrementallearningjobs", NULL}};
    if (!has_fault(w, PRG_FAULT_DROP, 5))
        return;
    const char *const *request = requests[sim_random(w, PRG_COUNT(requests))];
    struct sim_fault *fault = prg_arena_new(w->arena, struct sim_fault);
    *fault = (struct sim_fault){.next = w->cluster.faults,
                                .verb = request[0],
                                .resource = request[1],
                                .subresource = request[2],
                                .error = sim_chance(w, 50) ? "conflict" : "internal",
                                .times = 1 + (int64_t)sim_random(w, 4)};
    w->cluster.faults = fault;
}

static void deliver_report(struct sim_world *w, const struct sim_action *action)
{
    struct prg_error err = {0};
    const char *outcome = "";
    char text[PRG_ERROR_LINE];
    int rc = PRG_IO;
    if (!w->controller.is_dead)
        rc = sim_controller_report(&w->controller, PRG_KIND_JOB, "status", action->ns, action->name,
                                   prg_json_get(action->message, "content"), &outcome, &err);
    if (rc == PRG_OK || rc == PRG_INVALID || rc == PRG_NOTFOUND) {
        if (rc != PRG_OK || strcmp(outcome, "ok") != 0)
            sim_say(w, "  the report of %s: %s", action->edge->node,
                    rc == PRG_OK ? outcome : prg_error_text(&err, text, sizeof(text)));
        return;
    }
    if (w->controller.is_dead && rc == PRG_LIMIT) {
        sim_say(w, "  the report of %s dies with the controller", action->edge->node);
        return;
    }
    if (!w->controller.is_dead) {
        const char *error = prg_arena_strdup(w->arena, prg_error_text(&err, text, sizeof(text)));
        const cJSON *job = sim_get(&w->cluster, PRG_SEDNA_GROUP, PRG_KIND_JOB, action->ns, action->name);
        sim_say(w, "  the report of %s waits: %s", action->edge->node, error);
        if (job)
            count_failure(w, watch_of(w, job), error);
    }
    struct sim_action *later =
        sim_schedule(w, DEAD_RETRY_MS, SIM_ACT_REPORT); // the edge node or the edge link keeps it
    later->edge = action->edge;
    later->message = action->message;
    later->ns = action->ns;
    later->name = action->name;
}

static void run_action(struct sim_world *w, const struct sim_action *action)
{
    bool was_dead = w->controller.is_dead;
    fail_a_request(w);
    switch (action->kind) {
    case SIM_ACT_RESYNC:
        resync(w);
        break;
    case SIM_ACT_FAULT:
        kill_something(w);
        break;
    case SIM_ACT_RESTART:
        sim_say(w, "the controller is back");
        sim_controller_restart(&w->controller);
        was_dead = false;
        break;
    case SIM_ACT_TELL:
        sim_edge_hear(w, action);
        break;
    case SIM_ACT_EDGE:
        sim_edge_act(w, action);
        break;
    case SIM_ACT_REPORT:
        deliver_report(w, action);
        break;
    case SIM_ACT_POD_RUNS:
        sim_pod_runs(w, action);
        break;
    case SIM_ACT_POD_ENDS:
        sim_pod_ends(w, action);
        break;
    }
    if (w->controller.is_dead && !was_dead)
        follow_up(w, false);
    else
        settle(w);
}

static bool is_over(const struct sim_world *w)
{
    for (const struct sim_watch *watch = w->watches; watch; watch = watch->next)
        if (!watch->is_ended)
            return false;
    return true;
}

static bool has_room(const struct sim_world *w)
{
    return w->events < ACTIONS_MOST && w->arena->used_bytes < MEMORY_MOST;
}

static void go_to(struct sim_world *w, int64_t at_ms)
{
    int64_t due = w->controller.is_dead ? -1 : sim_controller_next_due(&w->controller);
    bool was_dead = w->controller.is_dead;
    while (due >= 0 && due < at_ms && !w->controller.is_dead &&
           has_room(w)) { // deadlines and pauses of the controller on the way
        int64_t ms = due > w->now_ms ? due - w->now_ms : 0;
        w->now_ms += ms;
        sim_controller_advance(&w->controller, ms);
        follow_up(w, was_dead);
        w->events++;
        due = sim_controller_next_due(&w->controller);
        if (w->actions && w->actions->at_ms < at_ms)
            return; // something new comes first
    }
    if (at_ms > w->now_ms) {
        w->cluster.now_ns += (at_ms - w->now_ms) * 1000000;
        w->controller.queue_ms += at_ms - w->now_ms;
        w->now_ms = at_ms;
    }
}

static int too_large(const struct sim_world *w, struct prg_error *err)
{
    unsigned ended = 0;
    for (const struct sim_watch *watch = w->watches; watch; watch = watch->next)
        ended += watch->completed + watch->started_over + watch->gave_up;
    return prg_fail(err, PRG_LIMIT,
                    "the schedule fills more than %zu MiB of memory after %u rounds; give fewer --rounds or jobs, or a "
                    "policy il_stage that keeps fewer conditions (`keep`)",
                    MEMORY_MOST >> 20, ended);
}

static int run_world(struct sim_world *w, struct prg_error *err)
{
    settle(w);
    w->resync_ms = RESYNC_SECONDS * SECOND;
    sim_schedule(w, w->resync_ms, SIM_ACT_RESYNC);
    if (w->options->faults & PRG_FAULT_KILL)
        sim_schedule(w, (int64_t)sim_random(w, 600) * SECOND, SIM_ACT_FAULT);
    for (; w->actions && !is_over(w); w->events++) {
        struct sim_action *action = w->actions;
        if (w->arena->used_bytes >= MEMORY_MOST)
            return too_large(w, err);
        if (w->events >= ACTIONS_MOST) {
            const char *why = prg_arena_printf(w->arena, "the end is not in sight after %d events", ACTIONS_MOST);
            for (struct sim_watch *watch = w->watches; watch; watch = watch->next)
                end_endless(w, watch, why);
            return PRG_OK;
        }
        go_to(w, action->at_ms);
        if (w->actions != action || w->now_ms < action->at_ms)
            continue; // a deadline made something that comes before
        w->actions = action->next;
        run_action(w, action);
    }
    return PRG_OK;
}

// ---- all schedules ----

struct tally {
    uint64_t completed, gave_up, started_over, stuck, two_workers;
    cJSON *cases;
};

static void add_case(struct prg_arena *arena, struct tally *tally, const struct sim_world *w,
                     const struct sim_watch *watch, uint64_t seed)
{
    cJSON *entry = prg_json_object(arena);
    if (prg_json_count(tally->cases) == CASES_MOST)
        return;
    prg_json_set(arena, entry, "seed", prg_json_stringf(arena, "%" PRIu64, seed));
    prg_json_set(arena, entry, "job", prg_json_stringf(arena, "%s/%s", watch->ns, watch->name));
    prg_json_set_string(arena, entry, "problem",
                        watch->is_endless ? "endless"
                        : watch->is_stuck ? "stuck"
                                          : "two train workers at once");
    prg_json_set(arena, entry, "state", prg_json_string(arena, state_of(w, watch)));
    prg_json_set_string(arena, entry, "since", since_of(w, watch));
    prg_json_set_string(arena, entry, "reason", watch->note ? watch->note : "the policy has nothing to do here");
    prg_json_set(arena, entry, "timeline", prg_json_copy(arena, w->timeline));
    prg_json_append(tally->cases, entry);
}

static int run_schedule(struct prg_arena *arena, struct prg_arena *own, const cJSON *objects,
                        const struct prg_decider *decide, const struct prg_random_options *options, uint64_t seed,
                        struct tally *tally, struct prg_error *err)
{
    struct sim_world w = {.arena = own, .options = options, .state = seed, .timeline = prg_json_array(own)};
    const cJSON *object;
    int rc = PRG_OK;
    sim_cluster_init(&w.cluster, own, START_NS);
    sim_controller_init(&w.controller, &w.cluster, decide, options->lc_server);
    w.controller.on_sync = on_sync;
    w.controller.ctx = &w;
    prg_json_each (object, objects) {
        rc = sim_put(&w.cluster, object, err);
        if (rc != PRG_OK)
            break;
    }
    if (rc == PRG_OK && run_world(&w, err) != PRG_OK)
        rc = prg_wrap(err, "seed %" PRIu64, seed);
    for (const struct sim_watch *watch = w.watches; watch; watch = watch->next) {
        tally->completed += watch->completed;
        tally->gave_up += watch->gave_up;
        tally->started_over += watch->started_over;
        tally->stuck += watch->is_stuck;
        tally->two_workers += watch->has_two_workers;
        if (watch->is_stuck || watch->has_two_workers)
            add_case(arena, tally, &w, watch, seed);
    }
    sim_controller_release(&w.controller);
    return rc;
}

static bool has_job(const cJSON *objects)
{
    const cJSON *object;
    prg_json_each (object, objects)
        if (prg_text_equal(prg_json_get_text(object, "kind"), PRG_KIND_JOB))
            return true;
    return false;
}

int prg_simulate_random(struct prg_arena *arena, const cJSON *objects, const struct prg_decider *decide,
                        const struct prg_random_options *options, cJSON **ret, struct prg_error *err)
{
    struct tally tally = {.cases = prg_json_array(arena)};
    prg_auto_arena own;
    prg_arena_init(&own);
    cJSON *answer = prg_json_object(arena), *rounds = prg_json_object(arena);
    if (!has_job(objects))
        return prg_fail(err, PRG_NOTFOUND, "no IncrementalLearningJob among the objects");
    for (uint64_t i = 0; i < options->schedules; i++) {
        int rc = run_schedule(arena, &own, objects, decide, options, options->seed + i, &tally, err);
        if (rc != PRG_OK)
            return rc;
        prg_arena_reset(&own);
        if (options->progress)
            options->progress(i + 1, tally.stuck, options->ctx);
    }
    prg_json_set_int(arena, rounds, "completed", (int64_t)tally.completed);
    prg_json_set_int(arena, rounds, "gaveUp", (int64_t)tally.gave_up);
    prg_json_set_int(arena, rounds, "startedOver", (int64_t)tally.started_over);
    prg_json_set_int(arena, answer, "schedules", (int64_t)options->schedules);
    prg_json_set(arena, answer, "rounds", rounds);
    prg_json_set_int(arena, answer, "stuck", (int64_t)tally.stuck);
    prg_json_set_int(arena, answer, "twoWorkers", (int64_t)tally.two_workers);
    prg_json_set(arena, answer, "cases", tally.cases);
    *ret = answer;
    return PRG_OK;
}
