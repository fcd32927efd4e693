// SPDX-License-Identifier: Apache-2.0
// policy_life.c: the policy sets of a running controller, and their changes.
//
// One load is under way at a time, on a thread of libuv's pool. It is given texts, or the name of a folder, and makes
// states of its own; nothing it touches is in use on the loop's thread. When it ends, the loop's thread swaps the set
// in between two plans. A change meanwhile makes the result worthless: it is thrown away and the load begins anew.
#include "controller/policy_life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/meters.h"
#include "base/utf8.h"
#include "controller/policy_load.h"
#include "controller/policy_place.h"
#include "object/meta.h"
#include "object/scalar.h"

enum {
    SETTLE_MS = 100,    // a second look at the policies: times of files are coarse
    EVENT_BYTES = 1000, // an API server takes messages of 1024
    SHORT_BYTES = 350,  // what an error holds without being cut
    REBASED_IN_A_TURN = 16,
    REBASE_MS = 1,        // until the next: a timer of 0 that is started anew comes in the same turn
    STOPPED_IN_A_ROW = 3, // loads given up for a newer change; the next one ends, however often a set changes
};

static const char scope_label[] = "perigee.dev/policy-scope", scope_namespace[] = "namespace";

// The set, or that of a namespace, and what became of it.
struct place {
    char *ns;                      // NULL: the set
    struct prg_policy_set *active; // a namespace's: over the active set; NULL: there has been no good one
    bool is_behind;                // over the set before the active one
    bool is_bare;                  // what everybody has decides until there is a good one; else nothing does
    struct prg_strbuf problem;     // all errors of the latest, as last told; empty when that is active
    uint64_t wanted;               // changed since it was last loaded: its turn, the least first; 0: not
    unsigned stopped;              // loads given up in a row for a newer change
    uint64_t accepted, refused;
    double load_seconds;
    char measured[17]; // the revision that metrics show, or ""
};

struct job {
    uv_work_t work;
    struct prg_policy_life *life;
    struct place *place;               // of a namespace: by name, as it may go meanwhile
    struct prg_policy_set *keeps_base; // a reference for the time of the load
    struct prg_policy_load load;
};

struct prg_policy_life {
    struct prg_arena arena;                 // of the next
    struct prg_policy_place at;             // where the set is
    struct prg_policy_life_options options; // its texts are not for use
    struct prg_key self;
    bool has_self;
    struct place set;
    struct prg_map namespaces; // namespace -> struct place *
    struct prg_planner *planner;
    uint64_t stamp;  // of the folder when it was last loaded
    bool is_noticed; // something happened in the folder
    bool is_started;
    struct job *job; // the load under way, or NULL
    uint64_t turn;   // counts what was wanted
    uv_loop_t *loop;
    uv_timer_t settle, rebasing;
    prg_policy_active_fn fn;
    void *ctx;
    void (*told)(void *ctx);
    void *told_ctx;
};

// ---- what is to be loaded ----

static void add_problem(const char *text, void *ctx)
{
    prg_policy_load_problem(ctx, text);
}

static void read_map(struct prg_policy_load *load, const cJSON *map)
{
    struct prg_error err = {0};
    if (prg_policy_config_map_read(&load->arena, map, &load->texts, add_problem, load, &err) != PRG_OK)
        prg_require(load->problems.length > 0);
}

static bool is_map_of_set(const struct prg_policy_life *life, const char *ns, const char *name)
{
    return life->at.name && strcmp(ns, life->at.ns) == 0 && strcmp(name, life->at.name) == 0;
}

static bool is_scoped(const struct prg_policy_life *life, const cJSON *map)
{
    return prg_text_equal(prg_meta_label(map, scope_label), scope_namespace) &&
           !is_map_of_set(life, prg_meta_namespace(map), prg_meta_name(map));
}

struct gathering {
    const struct prg_policy_life *life;
    struct prg_policy_load *load;
    size_t count;
};

static void gather_map(const cJSON *map, void *ctx)
{
    struct gathering *gathering = ctx;
    if (!is_scoped(gathering->life, map))
        return;
    gathering->count++;
    read_map(gathering->load, map);
}

static void list_maps(const struct prg_policy_life *life, const char *ns, prg_reader_visit_fn visit, void *ctx)
{
    prg_reader_list_labelled(life->options.objects, "", "ConfigMap", ns, scope_label, scope_namespace, visit, ctx);
}

static void tell_trouble(const struct prg_policy_life *life, struct prg_policy_load *load)
{
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    if (life->options.objects && prg_reader_trouble(life->options.objects, &err) != PRG_OK)
        prg_policy_load_problem(load, prg_error_text(&err, text, sizeof(text)));
}

static void gather_set(const struct prg_policy_life *life, struct prg_policy_load *load)
{
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    load->folder = life->at.folder ? prg_arena_strdup(&load->arena, life->at.folder) : NULL;
    int rc =
        prg_policy_place_read(&life->at, life->options.objects, &load->arena, &load->texts, add_problem, load, &err);
    if (rc != PRG_OK && !load->problems.length)
        prg_policy_load_problem(load, prg_error_text(&err, text, sizeof(text)));
}

// What the place is to hold now. Errors of its ConfigMaps are in load->problems. false: nothing, it is to go.
static bool gather(const struct prg_policy_life *life, const struct place *place, struct prg_policy_load *load)
{
    struct gathering gathering = {.life = life, .load = load};
    load->limits = life->options.limits;
    load->is_brief = life->options.is_brief;
    load->compat = life->options.compat;
    if (!place->ns) {
        gather_set(life, load);
        return true;
    }
    load->base = life->set.active;
    load->allowed = life->options.namespace_policies;
    list_maps(life, place->ns, gather_map, &gathering);
    tell_trouble(life, load);
    return gathering.count > 0 || load->problems.length > 0;
}

// ---- telling ----

struct telling {
    const struct prg_policy_life *life;
    struct prg_store_event event;
    struct prg_arena arena;
    struct prg_vec maps; // struct prg_key *
};

static void tell_object(const struct telling *telling, const struct prg_key *key)
{
    struct prg_store *store = telling->life->options.store;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    if (store->ops->record_event(store, key, &telling->event, prg_clock_wall_ns(), &err) != PRG_OK)
        prg_log(PRG_LOG_WARNING, "an Event about policies could not be recorded", "object", key->name, "error",
                prg_error_text(&err, text, sizeof(text)), NULL);
}

static void collect_map(const cJSON *map, void *ctx)
{
    struct telling *telling = ctx;
    struct prg_arena *arena = &telling->arena;
    if (!is_scoped(telling->life, map))
        return;
    struct prg_key *key = prg_arena_new(arena, struct prg_key);
    *key = (struct prg_key){"", "ConfigMap", prg_arena_strdup(arena, prg_meta_namespace(map)),
                            prg_arena_strdup(arena, prg_meta_name(map))};
    prg_vec_push(&telling->maps, key);
}

// Recording may change the store that is gone through.
static void tell_maps(struct telling *telling, const char *ns)
{
    prg_arena_init(&telling->arena);
    prg_vec_init(&telling->maps);
    list_maps(telling->life, ns, collect_map, telling);
    for (size_t i = 0; i < telling->maps.count; i++)
        tell_object(telling, telling->maps.items[i]);
    prg_vec_release(&telling->maps);
    prg_arena_release(&telling->arena);
}

// An Event on what the administrator edits: the ConfigMap, all those of the namespace; about a folder on our own pod.
static void tell_event(const struct prg_policy_life *life, const struct place *place, const char *type,
                       const char *reason, const char *text)
{
    char message[EVENT_BYTES + 1];
    snprintf(message, sizeof(message), "%.*s", (int)prg_utf8_cut(text, EVENT_BYTES), text);
    struct telling telling = {.life = life, .event = {type, reason, message}};
    struct prg_key map = {"", "ConfigMap", life->at.ns, life->at.name};
    if (!life->options.store)
        return;
    if (place->ns)
        tell_maps(&telling, place->ns);
    else if (life->at.name)
        tell_object(&telling, &map);
    else if (life->has_self)
        tell_object(&telling, &life->self);
}

static void told(const struct prg_policy_life *life)
{
    if (life->told)
        life->told(life->told_ctx);
}

// One line tells all errors of a set, once.
static void tell_refusal(const struct prg_policy_life *life, struct place *place, const char *problems)
{
    const struct prg_policy_set *stays = place->active ? place->active : place->is_bare ? life->set.active : NULL;
    const char *what = stays ? "policy set refused, the last good one stays"
                             : "policy set refused, nothing changes in its namespace until there is a good one";
    const char *active = stays ? prg_policy_set_revision(stays) : "none";
    if (strcmp(problems, place->problem.text) == 0)
        return;
    place->refused++;
    prg_log(PRG_LOG_ERROR, what, "errors", problems, "active", active, place->ns ? "namespace" : NULL, place->ns, NULL);
    tell_event(life, place, "Warning", "PolicySetRefused", problems);
    prg_strbuf_clear(&place->problem);
    prg_strbuf_puts(&place->problem, problems);
    told(life);
}

void prg_policy_life_retell(const struct prg_policy_life *life)
{
    const struct prg_map_entry *entry;
    if (life->set.problem.length)
        tell_event(life, &life->set, "Warning", "PolicySetRefused", life->set.problem.text);
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));) {
        const struct place *place = entry->value;
        if (place->problem.length)
            tell_event(life, place, "Warning", "PolicySetRefused", place->problem.text);
    }
}

static void tell_activation(const struct prg_policy_life *life, struct place *place, bool is_other)
{
    const char *revision = prg_policy_set_revision(place->active);
    if (is_other || place->problem.length)
        prg_log(PRG_LOG_INFO, "policy set active", "revision", revision, place->ns ? "namespace" : NULL, place->ns,
                NULL);
    if (place->problem.length)
        tell_event(life, place, "Normal", "PolicySetActive", revision);
    prg_strbuf_clear(&place->problem);
    told(life);
}

// ---- what is active ----

static void measure(struct place *place)
{
    const char *revision = place->active ? prg_policy_set_revision(place->active) : NULL;
    prg_meter_policy_set(place->ns ? place->ns : "", place->measured[0] ? place->measured : NULL, revision,
                         place->problem.length > 0);
    snprintf(place->measured, sizeof(place->measured), "%s", revision ? revision : "");
}

static void notify(const struct prg_policy_life *life, const char *ns)
{
    if (life->fn)
        life->fn(ns, life->ctx);
}

// Gives the planner what a namespace is planned with.
static void put_namespace(const struct prg_policy_life *life, const struct place *place)
{
    if (!life->planner)
        return;
    if (place->active || place->is_bare) {
        prg_planner_set_namespace_policies(life->planner, place->ns, place->active);
        return;
    }
    prg_auto_strbuf why = PRG_STRBUF_INIT;
    prg_strbuf_printf(&why, "the policies of namespace %s are refused: %s", place->ns, place->problem.text);
    struct prg_policy_set *refused = prg_policy_set_refused(life->set.active, why.text);
    prg_planner_set_namespace_policies(life->planner, place->ns, refused);
    prg_policy_set_unref(refused);
}

// Lays a namespace over the set that is active. Settings that do not fit it any more are found out by loading them
// again; nothing is planned with them until then.
static void rebase(struct prg_policy_life *life, struct place *place)
{
    struct prg_policy_set *moved = NULL;
    struct prg_error err = {0};
    if (place->active && prg_policy_set_rebase(place->active, life->set.active, &moved, &err) != PRG_OK)
        prg_log(PRG_LOG_WARNING, "the set of a namespace does not fit the new one and is loaded again", "namespace",
                place->ns, NULL);
    if (!moved && !place->wanted)
        place->wanted = ++life->turn;
    place->is_behind = false;
    prg_policy_set_unref(place->active);
    place->active = moved;
    put_namespace(life, place);
    measure(place);
}

static void start_next(struct prg_policy_life *life);

// Lays some namespaces over the active set; false: all are. Until its turn comes each is planned with the one before.
// is_told: plans of all objects have been asked for before, and may have been made already.
static bool rebase_some(struct prg_policy_life *life, bool is_told)
{
    const struct prg_map_entry *entry;
    size_t moved = 0;
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));) {
        struct place *place = entry->value;
        if (!place->is_behind)
            continue;
        if (moved++ == REBASED_IN_A_TURN)
            return true;
        rebase(life, place);
        if (is_told)
            notify(life, place->ns);
    }
    return false;
}

static void on_rebase(uv_timer_t *timer)
{
    struct prg_policy_life *life = timer->data;
    if (rebase_some(life, true))
        uv_timer_start(&life->rebasing, on_rebase, REBASE_MS, 0);
    start_next(life);
    told(life);
}

static void rebase_namespaces(struct prg_policy_life *life)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));)
        ((struct place *)entry->value)->is_behind = true;
    if (rebase_some(life, false))
        uv_timer_start(&life->rebasing, on_rebase, REBASE_MS, 0);
}

static void activate_set(struct prg_policy_life *life, struct prg_policy_set *set)
{
    struct place *place = &life->set;
    bool is_other = strcmp(prg_policy_set_revision(set), prg_policy_set_revision(place->active)) != 0;
    place->accepted++;
    if (is_other) {
        struct prg_policy_set *old = place->active;
        place->active = prg_policy_set_ref(set);
        rebase_namespaces(life);
        if (life->planner)
            prg_planner_set_policies(life->planner, set);
        prg_policy_set_unref(old);
    }
    tell_activation(life, place, is_other);
    if (is_other)
        notify(life, NULL);
}

// set lies over a copy of the active one, or of one before it.
static void activate_namespace(struct prg_policy_life *life, struct place *place, const struct prg_policy_set *set)
{
    struct prg_policy_set *moved = NULL;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    if (prg_policy_set_rebase(set, life->set.active, &moved, &err) != PRG_OK) {
        tell_refusal(life, place, prg_error_text(&err, text, sizeof(text)));
        put_namespace(life, place);
        return;
    }
    bool is_other =
        !place->active || strcmp(prg_policy_set_revision(moved), prg_policy_set_revision(place->active)) != 0;
    prg_policy_set_unref(place->active);
    place->active = moved;
    place->is_bare = place->is_behind = false;
    place->accepted++;
    put_namespace(life, place);
    tell_activation(life, place, is_other);
    if (is_other)
        notify(life, place->ns);
}

static void free_place(struct place *place)
{
    prg_policy_set_unref(place->active);
    prg_strbuf_release(&place->problem);
    free(place->ns);
}

static void drop_namespace(struct prg_policy_life *life, struct place *place)
{
    prg_map_remove(&life->namespaces, place->ns);
    prg_meter_policy_set_gone(place->ns, place->measured[0] ? place->measured : NULL);
    if (life->planner)
        prg_planner_set_namespace_policies(life->planner, place->ns, NULL);
    prg_log(PRG_LOG_INFO, "a namespace has no policy set of its own any more", "namespace", place->ns, NULL);
    notify(life, place->ns);
    told(life); // it is out of the map: nobody finds it
    free_place(place);
    free(place);
}

// Takes up what came of a load.
static void take(struct prg_policy_life *life, struct place *place, const struct prg_policy_load *load)
{
    place->load_seconds = load->seconds;
    prg_meter_policy_load(load->set != NULL);
    if (load->set && place->ns) {
        activate_namespace(life, place, load->set);
    } else if (load->set) {
        activate_set(life, load->set);
    } else {
        bool is_waiting = place->ns && !place->active && !place->is_bare;
        tell_refusal(life, place, load->problems.text);
        if (is_waiting) {
            put_namespace(life, place); // its plans say the reason
            notify(life, place->ns);
        }
    }
    measure(place);
}

// ---- loads ----

static void free_job(struct job *job)
{
    prg_policy_load_release(&job->load);
    prg_policy_set_unref(job->keeps_base);
    free(job);
}

static void on_work(uv_work_t *work)
{
    struct job *job = work->data;
    prg_policy_load_run(&job->load);
}

static void on_worked(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct prg_policy_life *life = job->life;
    life->job = NULL;
    if (life->is_started && status == 0 && !atomic_load(&job->load.stop)) {
        job->place->stopped = 0;
        take(life, job->place, &job->load);
    }
    free_job(job);
    if (life->is_started)
        start_next(life);
}

static void start_job(struct prg_policy_life *life, struct place *place)
{
    struct job *job = prg_xcalloc(1, sizeof(*job));
    place->wanted = 0;
    prg_policy_load_init(&job->load);
    bool is_there = gather(life, place, &job->load);
    if (is_there && !job->load.problems.length) {
        job->work.data = job;
        job->life = life;
        job->place = place;
        job->keeps_base = place->ns ? prg_policy_set_ref(life->set.active) : NULL;
        life->job = job;
        prg_require(uv_queue_work(life->loop, &job->work, on_work, on_worked) == 0);
        return;
    }
    if (is_there)
        take(life, place, &job->load);
    else
        drop_namespace(life, place);
    free_job(job);
}

// Namespaces in the order in which they changed: one that changes all the time does not keep others waiting.
static struct place *next_place(struct prg_policy_life *life)
{
    const struct prg_map_entry *entry;
    struct place *first = NULL;
    if (life->set.wanted)
        return &life->set;
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));) {
        struct place *place = entry->value;
        if (place->wanted && (!first || place->wanted < first->wanted))
            first = place;
    }
    return first;
}

static void start_next(struct prg_policy_life *life)
{
    struct place *place;
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a place that goes is taken out of the map first
    while (!life->job && (place = next_place(life)))
        start_job(life, place);
}

static void want(struct prg_policy_life *life, struct place *place)
{
    if (!place->wanted)
        place->wanted = ++life->turn;
    if (life->job && life->job->place == place && place->stopped < STOPPED_IN_A_ROW &&
        !atomic_exchange(&life->job->load.stop, true))
        place->stopped++;
    start_next(life);
}

// ---- changes ----

// What was written within the tick of the clock in which the set was loaded leaves no trace in the stamp.
static void on_settle(uv_timer_t *timer)
{
    struct prg_policy_life *life = timer->data;
    life->stamp = 0;
    prg_policy_life_reload(life);
}

void prg_policy_life_reload(struct prg_policy_life *life)
{
    if (!life->at.folder || !life->is_started)
        return;
    uint64_t stamp = prg_policy_folder_stamp(life->at.folder);
    if (stamp == life->stamp && !life->is_noticed)
        return;
    if (life->is_noticed)
        uv_timer_start(&life->settle, on_settle, SETTLE_MS, 0);
    life->is_noticed = false;
    life->stamp = stamp;
    want(life, &life->set);
}

void prg_policy_life_noticed(struct prg_policy_life *life)
{
    life->is_noticed = true;
}

// is_bare: a namespace that has had no set so far.
static struct place *get_namespace(struct prg_policy_life *life, const char *ns, bool is_bare)
{
    struct place *place = prg_map_get(&life->namespaces, ns);
    if (place)
        return place;
    place = prg_xcalloc(1, sizeof(*place));
    place->ns = prg_xstrdup(ns);
    place->is_bare = is_bare;
    prg_strbuf_init(&place->problem);
    prg_map_put(&life->namespaces, ns, place);
    return place;
}

void prg_policy_life_changed(struct prg_policy_life *life, const struct prg_key *key)
{
    if (!life->is_started || key->group[0] || strcmp(key->kind, "ConfigMap") != 0)
        return;
    if (is_map_of_set(life, key->ns, key->name)) {
        want(life, &life->set);
        return;
    }
    if (!life->options.namespace_policies)
        return;
    const cJSON *map = life->options.objects->get(life->options.objects, key);
    // One that has gone, or has lost its label, was perhaps part of the set that there is.
    if (is_scoped(life, map))
        want(life, get_namespace(life, key->ns, true));
    else if (prg_map_get(&life->namespaces, key->ns))
        want(life, prg_map_get(&life->namespaces, key->ns));
}

// ---- life ----

// At start: nothing runs yet that a thread would keep from waiting.
static int load_set(struct prg_policy_life *life, struct prg_error *err)
{
    struct prg_policy_load load;
    int rc = PRG_OK;
    prg_policy_load_init(&load);
    (void)gather(life, &life->set, &load);
    if (!load.problems.length)
        prg_policy_load_run(&load);
    life->set.load_seconds = load.seconds;
    if (load.set) {
        life->set.active = prg_policy_set_ref(load.set);
        life->set.accepted = 1;
    } else {
        if (load.problems.length > SHORT_BYTES)
            prg_log(PRG_LOG_ERROR, "policy set refused", "errors", load.problems.text, NULL);
        tell_event(life, &life->set, "Warning", "PolicySetRefused", load.problems.text);
        rc = prg_fail(err, PRG_INVALID, "policies: %s", load.problems.text);
    }
    prg_policy_load_release(&load);
    return rc;
}

static void note_namespace(const cJSON *map, void *ctx)
{
    struct prg_policy_life *life = ctx;
    if (is_scoped(life, map))
        (void)get_namespace(life, prg_meta_namespace(map), false); // it may have had one before we started
}

static void load_namespaces(struct prg_policy_life *life)
{
    const struct prg_map_entry *entry;
    if (!life->options.namespace_policies || !life->options.objects)
        return;
    list_maps(life, NULL, note_namespace, life);
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));) {
        struct place *place = entry->value;
        struct prg_policy_load load;
        prg_policy_load_init(&load);
        (void)gather(life, place, &load);
        if (!load.problems.length)
            prg_policy_load_run(&load);
        take(life, place, &load);
        prg_policy_load_release(&load);
    }
}

int prg_policy_life_new(const struct prg_policy_life_options *options, struct prg_policy_life **ret,
                        struct prg_error *err)
{
    struct prg_policy_life *life = prg_xcalloc(1, sizeof(*life));
    life->options = *options;
    if (!options->objects && options->store)
        life->options.objects = &options->store->reader;
    life->has_self = options->self != NULL;
    if (life->has_self)
        life->self = (struct prg_key){"", "Pod", prg_arena_strdup(&life->arena, options->self->ns),
                                      prg_arena_strdup(&life->arena, options->self->name)};
    prg_strbuf_init(&life->set.problem);
    prg_map_init(&life->namespaces);
    int rc = prg_policy_place_parse(&life->arena, options->policies, &life->at, err);
    life->at.is_optional = options->is_optional;
    if (rc == PRG_OK) {
        life->stamp = life->at.folder ? prg_policy_folder_stamp(life->at.folder) : 0;
        rc = load_set(life, err);
    }
    if (rc != PRG_OK) {
        prg_policy_life_free(life);
        return rc;
    }
    load_namespaces(life);
    *ret = life;
    return PRG_OK;
}

void prg_policy_life_free(struct prg_policy_life *life)
{
    const struct prg_map_entry *entry;
    if (!life)
        return;
    prg_require(!life->job);
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));) {
        free_place(entry->value);
        free(entry->value);
    }
    prg_map_release(&life->namespaces);
    free_place(&life->set);
    prg_arena_release(&life->arena);
    free(life);
}

struct prg_policy_set *prg_policy_life_active(const struct prg_policy_life *life)
{
    return life->set.active;
}

const char *prg_policy_life_folder(const struct prg_policy_life *life)
{
    return life->at.folder;
}

void prg_policy_life_bind(struct prg_policy_life *life, struct prg_planner *planner)
{
    const struct prg_map_entry *entry;
    life->planner = planner;
    prg_planner_set_policies(planner, life->set.active);
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));)
        put_namespace(life, entry->value);
}

void prg_policy_life_start(struct prg_policy_life *life, uv_loop_t *loop, prg_policy_active_fn active, void *ctx)
{
    life->fn = active;
    life->ctx = ctx;
    life->is_started = true;
    life->loop = loop;
    life->settle.data = life->rebasing.data = life;
    uv_timer_init(loop, &life->settle);
    uv_timer_init(loop, &life->rebasing);
    // Counting may have begun after the sets were loaded.
    const struct prg_map_entry *entry;
    measure(&life->set);
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));)
        measure(entry->value);
}

// A load under way ends by itself; the loop waits for it.
void prg_policy_life_stop(struct prg_policy_life *life)
{
    if (life->is_started) {
        uv_close((uv_handle_t *)&life->settle, NULL);
        uv_close((uv_handle_t *)&life->rebasing, NULL);
    }
    life->is_started = false;
    if (life->job)
        atomic_store(&life->job->load.stop, true);
}

// ---- for metrics and conditions ----

void prg_policy_life_on_told(struct prg_policy_life *life, void (*fn)(void *ctx), void *ctx)
{
    life->told = fn;
    life->told_ctx = ctx;
}

const char *prg_policy_life_describe(const struct prg_policy_life *life, struct prg_arena *arena)
{
    if (life->at.name)
        return prg_arena_printf(arena, "configmap %s/%s", life->at.ns, life->at.name);
    const char *path = life->at.folder ? life->at.folder : life->at.file;
    return path ? prg_arena_printf(arena, "folder %s", path) : "shipped";
}

static struct prg_policy_life_state state_of(const struct place *place)
{
    return (struct prg_policy_life_state){.ns = place->ns,
                                          .revision = place->active ? prg_policy_set_revision(place->active) : "",
                                          .is_refused = place->problem.length > 0,
                                          .problem = place->problem.text,
                                          .accepted = place->accepted,
                                          .refused = place->refused,
                                          .load_seconds = place->load_seconds};
}

void prg_policy_life_each(const struct prg_policy_life *life,
                          void (*visit)(const struct prg_policy_life_state *state, void *ctx), void *ctx)
{
    const struct prg_map_entry *entry;
    struct prg_policy_life_state state = state_of(&life->set);
    visit(&state, ctx);
    for (size_t i = 0; (entry = prg_map_next(&life->namespaces, &i));) {
        state = state_of(entry->value);
        visit(&state, ctx);
    }
}
