// SPDX-License-Identifier: Apache-2.0
// learning_loop.c: from "this object changed" and "this node reports" to the turns of jobs.
#include "controller/learning_loop.h"

#include <stdlib.h>
#include <string.h>

#include "controller/learning_state.h"
#include "learning/names.h"
#include "learning/pick.h"
#include "learning/plan.h"
#include "object/meta.h"

// ---- life ----

struct prg_learning_loop *prg_learning_loop_new(struct prg_store *store, struct prg_planner *planner,
                                                const struct prg_learning_loop_options *options)
{
    // The pauses of plans are this file's own affair (learning_enqueue); the queue knows none.
    struct prg_backoff backoff = {.base_ms = 1000, .max_ms = 1000};
    struct prg_learning_loop *loop = prg_xcalloc(1, sizeof(*loop));
    loop->store = store;
    loop->planner = planner;
    loop->options = *options;
    loop->queue = prg_workqueue_of("incrementallearningjob", &loop->options.workers, &backoff);
    loop->freshness = prg_freshness_new();
    prg_map_init(&loop->subjects);
    prg_map_init(&loop->owners);
    prg_vec_init(&loop->ended);
    return loop;
}

void learning_report_free(struct learning_report *report)
{
    prg_arena_release(&report->arena);
    free(report);
}

static void free_awaited(struct learning_awaited *awaited)
{
    free(awaited->name);
    free(awaited->uid);
    free(awaited);
}

static void subject_free(struct learning_subject *subject)
{
    for (size_t i = 0; i < subject->reports.count; i++)
        learning_report_free(subject->reports.items[i]);
    prg_vec_release(&subject->reports);
    for (size_t i = 0; i < subject->awaited.count; i++)
        free_awaited(subject->awaited.items[i]);
    prg_vec_release(&subject->awaited);
    if (subject->turn)
        learning_turn_free(subject->turn);
    prg_arena_release(&subject->entry_arena);
    free(subject->queue_key);
    free(subject->ns);
    free(subject->name);
    free(subject->told_error);
    free(subject->last);
    free(subject);
}

void prg_learning_loop_free(struct prg_learning_loop *loop)
{
    const struct prg_map_entry *entry;
    if (!loop)
        return;
    for (size_t i = 0; (entry = prg_map_next(&loop->subjects, &i));)
        subject_free(entry->value);
    for (size_t i = 0; (entry = prg_map_next(&loop->owners, &i));)
        free(entry->value);
    prg_map_release(&loop->subjects);
    prg_map_release(&loop->owners);
    prg_vec_release(&loop->ended);
    prg_freshness_free(loop->freshness);
    prg_workqueue_free(loop->queue);
    free(loop);
}

// ---- subjects ----

struct learning_subject *learning_subject_ensure(struct prg_learning_loop *loop, bool is_dataset, const char *ns,
                                                 const char *name)
{
    prg_auto_arena arena = {0};
    const char *key = prg_arena_printf(&arena, "%s %s/%s", is_dataset ? "dataset" : "job", ns, name);
    struct learning_subject *subject = prg_map_get(&loop->subjects, key);
    if (subject)
        return subject;
    subject = prg_xcalloc(1, sizeof(*subject));
    subject->loop = loop;
    subject->queue_key = prg_xstrdup(key);
    subject->ns = prg_xstrdup(ns);
    subject->name = prg_xstrdup(name);
    subject->is_dataset = is_dataset;
    prg_vec_init(&subject->reports);
    prg_vec_init(&subject->awaited);
    prg_map_put(&loop->subjects, key, subject);
    return subject;
}

void learning_subject_drop(struct learning_subject *subject)
{
    prg_map_remove(&subject->loop->subjects, subject->queue_key);
    prg_workqueue_forget(subject->loop->queue, subject->queue_key);
    subject_free(subject);
}

const cJSON *learning_subject_get(const struct learning_subject *subject)
{
    const struct prg_reader *reader = &subject->loop->store->reader;
    return prg_reader_get(reader, PRG_SEDNA_GROUP, subject->is_dataset ? PRG_KIND_DATASET : PRG_KIND_JOB, subject->ns,
                          subject->name);
}

void learning_enqueue(struct learning_subject *subject, uint64_t delay_ms)
{
    prg_workqueue_add_after(subject->loop->queue, subject->queue_key, subject->loop->now_ms, delay_ms);
}

// ---- what a change concerns ----

static const char *name_at(const cJSON *parent)
{
    const char *name = prg_json_get_text(parent, "name");
    return name ? name : "";
}

static const char *credential_of(const struct prg_reader *reader, const char *kind, const char *ns, const char *name)
{
    const cJSON *object = *name ? prg_reader_get(reader, PRG_SEDNA_GROUP, kind, ns, name) : NULL;
    const char *credential = prg_json_get_text(prg_json_get(object, "spec"), "credentialName");
    return credential ? credential : "";
}

static bool names_model(const cJSON *job, const char *name)
{
    return strcmp(name_at(prg_json_at(job, "spec", "initialModel")), name) == 0 ||
           strcmp(name_at(prg_json_at(job, "spec", "deploySpec", "model")), name) == 0 ||
           strcmp(name_at(prg_json_at(job, "spec", "evalSpec", "initialEvalModel")), name) == 0;
}

static bool names_secret(const struct prg_reader *reader, const cJSON *job, const char *name)
{
    const char *own = prg_json_get_text(prg_json_get(job, "spec"), "credentialName"), *ns = prg_meta_namespace(job);
    const char *const models[] = {name_at(prg_json_at(job, "spec", "initialModel")),
                                  name_at(prg_json_at(job, "spec", "deploySpec", "model")),
                                  name_at(prg_json_at(job, "spec", "evalSpec", "initialEvalModel"))};
    if (prg_text_equal(own, name) ||
        strcmp(credential_of(reader, PRG_KIND_DATASET, ns, name_at(prg_json_at(job, "spec", "dataset"))), name) == 0)
        return true;
    for (size_t i = 0; i < PRG_COUNT(models); i++)
        if (strcmp(credential_of(reader, PRG_KIND_MODEL, ns, models[i]), name) == 0)
            return true;
    return false;
}

struct waking {
    struct prg_learning_loop *loop;
    const struct prg_key *key; // of what changed; NULL: wake all
};

static void wake_job(const cJSON *job, void *ctx)
{
    const struct waking *waking = ctx;
    const struct prg_key *key = waking->key;
    const struct prg_reader *reader = &waking->loop->store->reader;
    bool is_concerned = !key;
    if (key && strcmp(key->kind, PRG_KIND_DATASET) == 0)
        is_concerned = strcmp(name_at(prg_json_at(job, "spec", "dataset")), key->name) == 0;
    else if (key && strcmp(key->kind, PRG_KIND_MODEL) == 0)
        is_concerned = names_model(job, key->name);
    else if (key)
        is_concerned = names_secret(reader, job, key->name);
    if (is_concerned)
        learning_enqueue(learning_subject_ensure(waking->loop, false, prg_meta_namespace(job), prg_meta_name(job)), 0);
}

static void wake_dataset(const cJSON *dataset, void *ctx)
{
    const struct waking *waking = ctx;
    const char *credential = prg_json_get_text(prg_json_get(dataset, "spec"), "credentialName");
    if (!waking->key || prg_text_equal(credential, waking->key->name))
        learning_enqueue(
            learning_subject_ensure(waking->loop, true, prg_meta_namespace(dataset), prg_meta_name(dataset)), 0);
}

static void list(struct prg_learning_loop *loop, const char *kind, const char *ns, prg_reader_visit_fn visit,
                 const struct prg_key *key)
{
    struct waking waking = {loop, key};
    loop->store->reader.list(&loop->store->reader, PRG_SEDNA_GROUP, kind, ns, visit, &waking);
}

void learning_remember_pod(struct prg_learning_loop *loop, const char *pod, const struct learning_subject *job)
{
    prg_auto_arena arena = {0};
    free(prg_map_put(&loop->owners, prg_arena_printf(&arena, "%s/%s", job->ns, pod), prg_xstrdup(job->queue_key)));
}

// A pod that failed waits as long as the last retry did, so that a job whose pods fail does not spin.
static void wake_for_pod(struct learning_subject *job, const cJSON *pod)
{
    bool is_failed = pod && !prg_meta_is_deleting(pod) && strcmp(prg_pod_phase(pod), "Failed") == 0;
    int64_t seconds = is_failed && job->failures ? prg_learning_backoff_seconds(job->failures) : 0;
    learning_enqueue(job, (uint64_t)seconds * 1000);
}

static void pod_changed(struct prg_learning_loop *loop, const struct prg_key *key)
{
    prg_auto_arena arena = {0};
    const struct prg_reader *reader = &loop->store->reader;
    const cJSON *pod = reader->get(reader, key), *owner = prg_owner_controller(pod);
    const char *name = prg_json_get_text(owner, "name"), *text = prg_arena_printf(&arena, "%s/%s", key->ns, key->name);
    if (!pod) {
        char *known = prg_map_remove(&loop->owners, text);
        struct learning_subject *job = known ? prg_map_get(&loop->subjects, known) : NULL;
        if (job)
            wake_for_pod(job, NULL);
        free(known);
        return;
    }
    if (!owner) // made by hand: its labels may say whose it is
        name = prg_meta_label(pod, PRG_LABEL_JOB_NAME);
    else if (!prg_text_equal(prg_json_get_text(owner, "kind"), PRG_KIND_JOB))
        return;
    const cJSON *job = name ? prg_reader_get(reader, PRG_SEDNA_GROUP, PRG_KIND_JOB, key->ns, name) : NULL;
    if (!job || (owner && !prg_owner_controls(job, pod)))
        return;
    struct learning_subject *subject = learning_subject_ensure(loop, false, key->ns, name);
    learning_remember_pod(loop, key->name, subject);
    wake_for_pod(subject, pod);
}

// Somebody removed an entry of the ledger by hand: it is written again.
static void ledger_changed(struct prg_learning_loop *loop, const struct prg_key *key)
{
    const struct prg_map_entry *entry;
    prg_auto_arena arena = {0};
    if (!prg_text_has_prefix(key->name, prg_ledger_name(&arena, "")) ||
        loop->store->reader.get(&loop->store->reader, key))
        return;
    for (size_t i = 0; (entry = prg_map_next(&loop->subjects, &i));) {
        struct learning_subject *subject = entry->value;
        if (subject->is_dataset || strcmp(subject->ns, key->ns) != 0 || !subject->recorded || subject->turn ||
            strcmp(prg_ledger_name(&arena, subject->name), key->name) != 0)
            continue;
        subject->recorded = 0;
        learning_enqueue(subject, 0);
    }
}

static bool is_sedna(const struct prg_key *key, const char *kind)
{
    return strcmp(key->group, PRG_SEDNA_GROUP) == 0 && strcmp(key->kind, kind) == 0;
}

void prg_learning_loop_changed(struct prg_learning_loop *loop, const struct prg_key *key, uint64_t now_ms)
{
    loop->now_ms = now_ms;
    if (is_sedna(key, PRG_KIND_JOB)) {
        learning_enqueue(learning_subject_ensure(loop, false, key->ns, key->name), 0);
    } else if (is_sedna(key, PRG_KIND_DATASET)) {
        learning_enqueue(learning_subject_ensure(loop, true, key->ns, key->name), 0);
        list(loop, PRG_KIND_JOB, key->ns, wake_job, key);
    } else if (is_sedna(key, PRG_KIND_MODEL)) {
        list(loop, PRG_KIND_JOB, key->ns, wake_job, key);
    } else if (!*key->group && strcmp(key->kind, "Secret") == 0) {
        list(loop, PRG_KIND_JOB, key->ns, wake_job, key);
        list(loop, PRG_KIND_DATASET, key->ns, wake_dataset, key);
    } else if (!*key->group && strcmp(key->kind, "Pod") == 0) {
        pod_changed(loop, key);
    } else if (!*key->group && strcmp(key->kind, "ConfigMap") == 0) {
        ledger_changed(loop, key);
    }
}

// ---- at start ----

// A node knows of a job that may be gone.
static void read_ledger(const cJSON *object, void *ctx)
{
    struct prg_learning_loop *loop = ctx;
    prg_auto_arena arena = {0};
    struct prg_ledger_entry entry;
    if (!prg_ledger_read(&arena, object, &entry))
        return;
    struct learning_subject *subject = learning_subject_ensure(loop, false, entry.ns, entry.name);
    if (!subject->entry.name) {
        prg_arena_reset(&subject->entry_arena);
        prg_require(prg_ledger_read(&subject->entry_arena, object, &subject->entry));
        subject->recorded = prg_ledger_digest(&entry);
    }
    learning_enqueue(subject, 0);
}

void prg_learning_loop_reset(struct prg_learning_loop *loop)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&loop->subjects, &i));)
        learning_turn_reset(entry->value);
}

void prg_learning_loop_enqueue_all(struct prg_learning_loop *loop, uint64_t now_ms)
{
    const struct prg_map_entry *entry;
    loop->now_ms = now_ms;
    if (loop->options.edge.tell_job)
        prg_reader_list_labelled(&loop->store->reader, "", "ConfigMap", NULL, PRG_LEDGER_LABEL, PRG_LEDGER_VALUE,
                                 read_ledger, loop);
    list(loop, PRG_KIND_DATASET, NULL, wake_dataset, NULL);
    list(loop, PRG_KIND_JOB, NULL, wake_job, NULL);
    for (size_t i = 0; (entry = prg_map_next(&loop->subjects, &i));) // and those that are gone
        learning_enqueue(entry->value, 0);
}

void prg_learning_loop_replan(struct prg_learning_loop *loop, const char *ns, uint64_t now_ms)
{
    loop->now_ms = now_ms;
    list(loop, PRG_KIND_JOB, ns, wake_job, NULL);
}

// ---- reports ----

void prg_learning_loop_report(struct prg_learning_loop *loop, const struct prg_learning_message *message,
                              prg_learning_answer_fn answer, void *ctx, uint64_t now_ms)
{
    struct learning_report *report = prg_xcalloc(1, sizeof(*report));
    bool is_dataset = strcmp(message->kind, PRG_KIND_DATASET) == 0;
    loop->now_ms = now_ms;
    report->node = prg_arena_strdup(&report->arena, message->node);
    report->content = message->content ? prg_json_copy(&report->arena, message->content) : NULL;
    report->answer = answer;
    report->ctx = ctx;
    struct learning_subject *subject = learning_subject_ensure(loop, is_dataset, message->ns, message->name);
    prg_vec_push(&subject->reports, report);
    loop->report_count++;
    learning_enqueue(subject, 0);
}

void prg_learning_loop_forgotten(struct prg_learning_loop *loop, const char *node, const char *ns, const char *name,
                                 uint64_t now_ms)
{
    prg_auto_arena arena = {0};
    struct learning_subject *subject = prg_map_get(&loop->subjects, prg_arena_printf(&arena, "job %s/%s", ns, name));
    loop->now_ms = now_ms;
    if (!subject)
        return;
    learning_turn_forgotten(subject, node);
    learning_enqueue(subject, 0);
}

// ---- turns ----

static bool is_waiting_for_pods(struct learning_subject *subject)
{
    const struct prg_reader *reader = &subject->loop->store->reader;
    size_t kept = 0;
    for (size_t i = 0; i < subject->awaited.count; i++) {
        struct learning_awaited *awaited = subject->awaited.items[i];
        const cJSON *pod = prg_reader_get(reader, "", "Pod", subject->ns, awaited->name);
        bool is_seen = awaited->uid ? !pod || strcmp(prg_meta_uid(pod), awaited->uid) != 0 || prg_meta_is_deleting(pod)
                                    : pod != NULL;
        if (is_seen || subject->loop->now_ms >= awaited->until_ms)
            free_awaited(awaited);
        else
            subject->awaited.items[kept++] = awaited;
    }
    subject->awaited.count = kept;
    return kept > 0;
}

// Takes a key that is due, unless all hands are full. Returns how many turns ended at once, or -1: none was taken.
static int take(struct prg_learning_loop *loop)
{
    const char *key = loop->open < loop->options.workers ? prg_workqueue_take(loop->queue, loop->now_ms) : NULL;
    if (!key)
        return -1;
    struct learning_subject *subject = prg_map_get(&loop->subjects, key);
    if (loop->is_paused && (!subject || !subject->reports.count)) { // everything is queued anew when it goes on
        prg_workqueue_done(loop->queue, key, loop->now_ms);
        return 0;
    }
    uint64_t wait_ms = prg_freshness_wait_ms(loop->freshness, key, &loop->store->reader, loop->now_ms);
    if (subject && !wait_ms && is_waiting_for_pods(subject))
        wait_ms = PRG_FRESHNESS_MS;
    if (subject && !wait_ms) {
        learning_turn_begin(subject);
        return 0;
    }
    if (wait_ms) // a change of what is awaited wakes it sooner
        prg_workqueue_add_after(loop->queue, key, loop->now_ms, wait_ms);
    prg_workqueue_done(loop->queue, key, loop->now_ms);
    return 0;
}

// Ending one may call back who then begins anew: those that end meanwhile wait for the next time.
static size_t end_all(struct prg_learning_loop *loop)
{
    struct prg_vec ended = loop->ended;
    size_t count = ended.count;
    prg_vec_init(&loop->ended);
    for (size_t i = 0; i < count; i++) {
        loop->open--;
        learning_turn_end(ended.items[i]);
    }
    prg_vec_release(&ended);
    return count;
}

size_t prg_learning_loop_run(struct prg_learning_loop *loop, uint64_t now_ms, int64_t wall_ns)
{
    size_t ended = 0;
    loop->now_ms = now_ms;
    loop->wall_ns = wall_ns;
    loop->is_running = true;
    do {
        ended += end_all(loop);
        while (take(loop) >= 0)
            ended += end_all(loop);
        prg_store_deliver(loop->store);
    } while (loop->ended.count);
    loop->is_running = false;
    return ended;
}

int64_t prg_learning_loop_next_ms(const struct prg_learning_loop *loop, uint64_t now_ms)
{
    if (loop->ended.count)
        return 0;
    bool is_resting = loop->is_paused && !loop->report_count;
    return !is_resting && loop->open < loop->options.workers ? prg_workqueue_next_ms(loop->queue, now_ms) : -1;
}

void prg_learning_loop_pause(struct prg_learning_loop *loop, bool is_paused)
{
    loop->is_paused = is_paused;
}

size_t prg_learning_loop_open(const struct prg_learning_loop *loop)
{
    return loop->open + loop->report_count;
}
