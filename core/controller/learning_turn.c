// SPDX-License-Identifier: Apache-2.0
// learning_turn.c: one turn of a job or a Dataset.
//
//   a report waits        judge it, store the status; conflict: again on what is stored then
//   the object is gone    tell the nodes that know of it; when all have read it, clear the ledger
//   else                  write the ledger when other nodes are to be told than before, tell the nodes what is stored,
//                         plan, carry the plan out
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/learning_state.h"
#include "edge/guard.h"
#include "learning/names.h"
#include "learning/outlook.h"
#include "learning/pick.h"
#include "learning/status.h"
#include "learning/upstream.h"
#include "object/meta.h"

enum kind { TURN_REPORT, TURN_LEDGER, TURN_CLEAR, TURN_PLAN };

enum { CONFLICT_MS = 50, MOST_DOUBLINGS = 10, NO_PROGRESS_MS = 1000 };
enum { LEDGER_MS = 500, LEDGER_TRIES = 3, LEDGER_AGAIN_MS = 600 * 1000, LEDGER_SOON_MS = 30 * 1000 };
enum { GONE_NOTED_SECONDS = 60, GONE_LOOK_SECONDS = 3600 };

struct learning_turn {
    struct learning_subject *subject;
    enum kind kind;
    struct prg_reconcile *reconcile; // of a report or a plan
    struct prg_learning_steps steps; // in the reconcile's arena
    struct prg_error err;            // of what was to be written, which then is not; or of the ledger
    enum prg_write_retry retry;      // of a ledger that could not be written
    bool has_error, is_store_open;   // a write of the ledger is under way
    bool is_stale;                   // begun before everything was forgotten
    uint64_t digest;                 // LEDGER: of the entry that is written
    int64_t stored_ns;               // REPORT: time of the condition that is stored
};

// ---- life ----

static struct learning_turn *turn_new(struct learning_subject *subject, enum kind kind)
{
    struct learning_turn *turn = prg_xcalloc(1, sizeof(*turn));
    turn->subject = subject;
    turn->kind = kind;
    subject->turn = turn;
    subject->loop->open++;
    return turn;
}

void learning_turn_free(struct learning_turn *turn)
{
    if (turn->is_store_open)
        prg_store_cancel(turn->subject->loop->store, turn);
    prg_reconcile_free(turn->reconcile);
    free(turn);
}

static void ended(struct learning_turn *turn)
{
    struct prg_learning_loop *loop = turn->subject->loop;
    prg_vec_push(&loop->ended, turn);
    if (!loop->is_running && loop->options.wake)
        loop->options.wake(loop->options.ctx);
}

static void on_done(struct prg_reconcile *reconcile, void *ctx)
{
    (void)reconcile;
    ended(ctx);
}

static void done(struct learning_subject *subject)
{
    prg_workqueue_done(subject->loop->queue, subject->queue_key, subject->loop->now_ms);
}

static const char *object_text(const struct learning_subject *subject, struct prg_arena *arena)
{
    return prg_arena_printf(arena, "%s/%s", subject->ns, subject->name);
}

static void record(const struct learning_subject *subject, const char *type, const char *reason, const char *message)
{
    struct prg_learning_loop *loop = subject->loop;
    struct prg_key key = {PRG_SEDNA_GROUP, subject->is_dataset ? PRG_KIND_DATASET : PRG_KIND_JOB, subject->ns,
                          subject->name};
    struct prg_store_event event = {type, reason, message};
    struct prg_error ignored = {0};
    (void)loop->store->ops->record_event(loop->store, &key, &event, loop->wall_ns, &ignored);
}

// ---- telling edge nodes ----

static void forget_last(struct learning_subject *subject)
{
    free(subject->last);
    subject->last = NULL;
    subject->entry = (struct prg_ledger_entry){0};
    prg_arena_reset(&subject->entry_arena);
}

void learning_turn_reset(struct learning_subject *subject)
{
    forget_last(subject);
    subject->recorded = subject->unrecorded = 0;
    subject->record_tries = 0;
    subject->is_gone_told = false;
    if (subject->turn)
        subject->turn->is_stale = true;
}

static void remember_last(struct learning_subject *subject, const cJSON *object)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_json_print(&text, object, PRG_JSON_COMPACT);
    free(subject->last);
    subject->last = prg_strbuf_steal(&text, NULL);
}

// The object as it was last told; of a job of which only the ledger knows what that says.
static const cJSON *last_known(const struct learning_subject *subject, struct prg_arena *arena)
{
    cJSON *object = NULL;
    if (subject->last && prg_json_parse(arena, subject->last, strlen(subject->last), NULL, &object, NULL) == PRG_OK)
        return object;
    return subject->entry.name ? prg_ledger_ghost(arena, &subject->entry) : NULL;
}

void learning_turn_forgotten(struct learning_subject *subject, const char *node)
{
    prg_auto_arena arena = {0};
    const cJSON *told = last_known(subject, &arena);
    // That it takes part in a deployment may be what it is told next.
    bool takes_part = told && strcmp(prg_guard_deploying_node(told), node) == 0;
    prg_ledger_forgotten(&subject->entry, node, takes_part ? prg_guard_deployment(told) : "");
}

static void tell_job_gone(const struct learning_subject *subject)
{
    const struct prg_learning_edge *edge = &subject->loop->options.edge;
    prg_auto_arena arena = {0};
    const cJSON *job = edge->tell_job && subject->entry.name ? last_known(subject, &arena) : NULL;
    struct prg_ledger_reader reader;
    if (!job)
        return;
    prg_ledger_reader_init(&reader, &arena, &subject->loop->store->reader, job, &subject->entry);
    edge->tell_job(&reader.reader, job, subject->entry.deployed, PRG_CHANGE_DELETED, edge->ctx);
}

static void tell_dataset_gone(const struct learning_subject *subject)
{
    const struct prg_learning_edge *edge = &subject->loop->options.edge;
    prg_auto_arena arena = {0};
    const cJSON *dataset = edge->tell_dataset ? last_known(subject, &arena) : NULL;
    if (dataset)
        edge->tell_dataset(&subject->loop->store->reader, dataset, PRG_CHANGE_DELETED, edge->ctx);
}

// A node that reports about an object that there is not does not know that it is gone.
static void tell_reporter(const struct learning_subject *subject, const char *node)
{
    const struct prg_learning_edge *edge = &subject->loop->options.edge;
    prg_auto_arena arena = {0};
    struct prg_ledger_entry entry = {subject->ns, subject->name, "", node, "", "", "", "", NULL};
    struct prg_ledger_reader reader;
    cJSON *ghost = prg_ledger_ghost(&arena, &entry);
    prg_ledger_reader_init(&reader, &arena, &subject->loop->store->reader, ghost, &entry);
    if (!subject->is_dataset && edge->tell_job && !subject->entry.name) {
        edge->tell_job(&reader.reader, ghost, NULL, PRG_CHANGE_DELETED, edge->ctx);
    } else if (subject->is_dataset && edge->tell_dataset) {
        cJSON *dataset = prg_json_copy(&arena, reader.dataset), *meta = prg_json_get(dataset, "metadata");
        prg_json_set_string(&arena, meta, "name", subject->name);
        edge->tell_dataset(&subject->loop->store->reader, dataset, PRG_CHANGE_DELETED, edge->ctx);
    }
}

// ---- the ledger ----

static void on_ledger(const struct prg_write_outcome *outcome, void *ctx)
{
    struct learning_turn *turn = ctx;
    turn->is_store_open = false;
    turn->has_error = outcome->result == PRG_WRITE_FAILED;
    if (turn->has_error) {
        turn->err = *outcome->err;
        turn->retry = outcome->retry;
    }
    ended(turn);
}

// The entry, where the store has another one. Returns whether it is being written.
static bool begin_entry(struct learning_subject *subject)
{
    prg_auto_arena arena = {0};
    uint64_t digest = prg_ledger_digest(&subject->entry);
    if (digest == subject->recorded)
        return false;
    if (digest == subject->unrecorded && subject->loop->now_ms < subject->record_again_ms) {
        learning_enqueue(subject, subject->record_again_ms - subject->loop->now_ms);
        return false;
    }
    struct learning_turn *turn = turn_new(subject, TURN_LEDGER);
    turn->is_store_open = true;
    turn->digest = digest;
    prg_store_write(
        subject->loop->store,
        &(struct prg_write_request){.kind = PRG_WRITE_APPLY, .object = prg_ledger_object(&arena, &subject->entry)},
        on_ledger, turn);
    return true;
}

// Other nodes are told than those that the store knows of: that is written first. Returns whether it is.
static bool begin_ledger(struct learning_subject *subject, const cJSON *job)
{
    prg_auto_arena arena = {0};
    const struct prg_reader *reader = &subject->loop->store->reader;
    struct prg_ledger_entry entry, *before = subject->entry.name ? &subject->entry : NULL;
    bool is_known = prg_ledger_of(&arena, reader, job, before, &entry);
    bool is_another = before && strcmp(before->uid, entry.uid) != 0;
    if (!is_known && !is_another)
        return false;
    if (!before || prg_ledger_digest(&entry) != prg_ledger_digest(before)) {
        prg_arena_reset(&subject->entry_arena);
        (void)prg_ledger_of(&subject->entry_arena, reader, job, &entry, &subject->entry);
    }
    return is_known && begin_entry(subject);
}

// Some nodes have not read that the job is gone. Returns whether they are not waited for any longer. Most read it at
// once; only when one does not the time is written down.
static bool has_waited_enough(struct learning_subject *subject)
{
    const int64_t second = 1000000000, most = PRG_LEDGER_DAYS * 24 * 3600;
    int64_t since_ns, now_ns = subject->loop->wall_ns;
    char now[PRG_CLOCK_TEXT];
    if (!prg_clock_parse(subject->entry.gone, &since_ns) || since_ns > now_ns) {
        subject->entry.gone = prg_arena_strdup(&subject->entry_arena, prg_clock_format(now_ns, now));
        since_ns = now_ns;
    }
    int64_t waited = (now_ns - since_ns) / second;
    if (waited >= most)
        return true;
    if (waited >= GONE_NOTED_SECONDS && begin_entry(subject))
        return false;
    int64_t next = waited < GONE_NOTED_SECONDS ? GONE_NOTED_SECONDS - waited : most - waited;
    learning_enqueue(subject, (uint64_t)(next < GONE_LOOK_SECONDS ? next : GONE_LOOK_SECONDS) * 1000);
    return false;
}

static const cJSON *ledger_object(const struct learning_subject *subject)
{
    prg_auto_arena arena = {0};
    const struct prg_reader *reader = &subject->loop->store->reader;
    return prg_reader_get(reader, "", "ConfigMap", subject->ns, prg_ledger_name(&arena, subject->name));
}

static bool begin_clear(struct learning_subject *subject)
{
    const cJSON *object = ledger_object(subject);
    if (!object || !prg_text_equal(prg_meta_label(object, PRG_LEDGER_LABEL), PRG_LEDGER_VALUE))
        return false;
    struct learning_turn *turn = turn_new(subject, TURN_CLEAR);
    turn->is_store_open = true;
    prg_store_write(subject->loop->store, &(struct prg_write_request){.kind = PRG_WRITE_DELETE, .stored = object},
                    on_ledger, turn);
    return true;
}

static void end_ledger(struct learning_turn *turn)
{
    struct learning_subject *subject = turn->subject;
    char text[PRG_ERROR_LINE];
    prg_auto_arena arena = {0};
    if (turn->is_stale) {
        subject->recorded = 0; // it may lie over what was read since
        learning_enqueue(subject, 0);
        return;
    }
    if (!turn->has_error) {
        subject->recorded = turn->digest;
        subject->unrecorded = 0;
        subject->record_tries = 0;
    } else if (turn->retry == PRG_RETRY_SOON && subject->record_tries < LEDGER_TRIES) {
        learning_enqueue(subject, (uint64_t)LEDGER_MS << subject->record_tries++);
        return;
    } else {
        // Better to go on without, and to try again: only what happens while no controller runs would not be told.
        if (!subject->unrecorded)
            prg_log(
                PRG_LOG_WARNING,
                "what edge nodes know of the job cannot be kept, and is tried again; should the controller end before "
                "that, nodes will not learn that they are to forget the job",
                "incrementallearningjob", object_text(subject, &arena), "error",
                prg_error_text(&turn->err, text, sizeof(text)), NULL);
        subject->recorded = 0; // it may be there after all
        subject->unrecorded = turn->digest;
        subject->record_again_ms =
            subject->loop->now_ms + (turn->retry == PRG_RETRY_SOON ? LEDGER_SOON_MS : LEDGER_AGAIN_MS);
        subject->record_tries = 0;
    }
    learning_enqueue(subject, 0);
}

static void end_clear(struct learning_turn *turn)
{
    struct learning_subject *subject = turn->subject;
    if (turn->has_error) {
        learning_enqueue(subject, LEARNING_AWAIT_MS);
        return;
    }
    subject->recorded = 0;
    if (!turn->is_stale)
        forget_last(subject);
    learning_enqueue(subject, 0);
}

// ---- reports ----

static void answer(struct learning_subject *subject, enum prg_learning_answer value, const char *why)
{
    struct learning_report *report = subject->reports.items[0];
    subject->reports.count--;
    subject->loop->report_count--;
    memmove(subject->reports.items, subject->reports.items + 1, subject->reports.count * sizeof(void *));
    subject->conflicts = 0;
    report->answer(value, why, report->ctx);
    learning_report_free(report);
}

// The very condition is there: an earlier try got through after all.
static bool is_stored(const cJSON *job, const cJSON *wanted)
{
    const cJSON *node = prg_job_condition_latest(wanted).node, *conditions = prg_json_at(job, "status", "conditions");
    const cJSON *known = prg_json_is_array(conditions) ? conditions->child : NULL;
    while (known && !prg_json_equal(known, node))
        known = known->next;
    return known != NULL;
}

static void refuse(struct learning_subject *subject, const struct learning_report *report,
                   const struct prg_learning_verdict *verdict)
{
    prg_auto_arena arena = {0};
    const char *why = verdict->reason ? verdict->reason : "the policy does not count it";
    record(subject, "Normal", "ReportIgnored",
           prg_arena_printf(&arena, "%s: %s %s: %s", report->node, verdict->stage, verdict->type, why));
    answer(subject, PRG_LEARNING_REFUSED, prg_arena_strdup(&arena, why));
}

// Judges the report; the job with its condition in *ret, or NULL: it is answered.
static void judge(struct learning_subject *subject, const cJSON *job, struct prg_arena *arena, int64_t now_ns,
                  cJSON **ret)
{
    struct prg_learning_loop *loop = subject->loop;
    struct learning_report *report = subject->reports.items[0];
    struct prg_learning_report in = {
        .content = report->content, .job = job, .store = &loop->store->reader, .now_ns = now_ns};
    struct prg_learning_verdict verdict;
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    *ret = NULL;
    int rc = prg_learning_report(arena, &in, prg_planner_decider(loop->planner, subject->ns), &verdict, &err);
    if (rc == PRG_OK && !verdict.is_accepted)
        refuse(subject, report, &verdict);
    else if (rc == PRG_OK && report->written_ns && is_stored(job, verdict.job))
        answer(subject, PRG_LEARNING_STORED, NULL);
    else if (rc == PRG_OK)
        *ret = verdict.job;
    else
        answer(subject, rc == PRG_INVALID ? PRG_LEARNING_REFUSED : PRG_LEARNING_RETRY,
               prg_error_text(&err, text, sizeof(text)));
}

static void judge_dataset(struct learning_subject *subject, const cJSON *dataset, struct prg_arena *arena, cJSON **ret)
{
    const struct learning_report *report = subject->reports.items[0];
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    if (prg_dataset_report(arena, dataset, report->content, subject->loop->wall_ns, ret, &err) == PRG_OK)
        return;
    *ret = NULL;
    answer(subject, PRG_LEARNING_REFUSED, prg_error_text(&err, text, sizeof(text)));
}

static void refuse_unknown(struct learning_subject *subject)
{
    const struct learning_report *report = subject->reports.items[0];
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    if (prg_reader_trouble(&subject->loop->store->reader, &err) != PRG_OK) {
        answer(subject, PRG_LEARNING_RETRY, prg_error_text(&err, text, sizeof(text)));
        return;
    }
    tell_reporter(subject, report->node);
    answer(subject, PRG_LEARNING_REFUSED,
           prg_arena_printf(&arena, "there is no %s %s", subject->is_dataset ? PRG_KIND_DATASET : PRG_KIND_JOB,
                            object_text(subject, &arena)));
}

// Returns whether a turn is under way; else the report is answered.
static bool begin_report(struct learning_subject *subject, const cJSON *object)
{
    struct prg_learning_loop *loop = subject->loop;
    const struct learning_report *report = subject->reports.items[0];
    cJSON *reported = NULL;
    if (!object) {
        refuse_unknown(subject);
        return false;
    }
    struct learning_turn *turn = turn_new(subject, TURN_REPORT);
    struct prg_reconcile_handler handler = {.done = on_done, .ctx = turn};
    turn->stored_ns = report->written_ns ? report->written_ns : loop->wall_ns;
    turn->reconcile = prg_reconcile_new(loop->store, object, &handler);
    struct prg_plan *plan = prg_reconcile_plan(turn->reconcile);
    if (subject->is_dataset)
        judge_dataset(subject, object, plan->arena, &reported);
    else
        judge(subject, object, plan->arena, turn->stored_ns, &reported);
    if (!reported) {
        subject->turn = NULL;
        loop->open--;
        learning_turn_free(turn);
        return false;
    }
    plan->resource = reported;
    prg_reconcile_start(turn->reconcile, loop->wall_ns);
    return true;
}

static void end_report(struct learning_turn *turn)
{
    struct learning_subject *subject = turn->subject;
    struct learning_report *report = subject->reports.items[0];
    const struct prg_reconcile_report *came = prg_reconcile_report(turn->reconcile);
    char text[PRG_ERROR_LINE];
    if (!came->error) {
        answer(subject, PRG_LEARNING_STORED, NULL);
    } else {
        if (came->is_unknown)
            report->written_ns = turn->stored_ns;
        bool was_raced = came->error->code == PRG_CONFLICT && report->conflicts < LEARNING_CONFLICTS;
        // One that may be stored stays in hand: handed in again it would be stored twice.
        if (was_raced || report->written_ns) {
            learning_enqueue(subject, (uint64_t)CONFLICT_MS << report->conflicts);
            if (report->conflicts < MOST_DOUBLINGS)
                report->conflicts++;
            return;
        }
        prg_error_text(came->error, text, sizeof(text));
        if (came->retry == PRG_RETRY_ON_CHANGE) { // what it says cannot be stored, however often it is tried
            record(subject, "Warning", "ReportIgnored", text);
            answer(subject, PRG_LEARNING_REFUSED, text);
        } else {
            answer(subject, PRG_LEARNING_RETRY, text);
        }
    }
    learning_enqueue(subject, 0);
}

// ---- plans ----

// A plan says its Events each time it is made; they are recorded when something changed, or when they are others than
// last time. After a start, without a memory of what was told, only a change and an error count.
static bool are_events_news(const struct prg_reconcile_report *report, void *ctx)
{
    struct learning_subject *subject = ((struct learning_turn *)ctx)->subject;
    uint64_t digest = prg_json_digest(report->plan->events), last = subject->told_events;
    subject->told_events = digest ? digest : 1;
    return report->status_changed || report->created || report->updated || report->deleted ||
           (last != subject->told_events && (last || report->plan->error));
}

// Pods in the order of the steps, each a group; then all annotations with one patch.
static void add_steps(struct learning_turn *turn, const cJSON *job)
{
    const struct prg_reader *reader = &turn->subject->loop->store->reader;
    struct prg_arena *arena = prg_reconcile_plan(turn->reconcile)->arena;
    cJSON *annotations = NULL;
    const cJSON *item;
    for (const struct prg_learning_step *step = turn->steps.first; step; step = step->next) {
        struct prg_write_request request = {.kind = PRG_WRITE_CREATE, .object = step->object};
        if (step->kind == PRG_STEP_PATCH_JOB) {
            annotations = annotations ? annotations : prg_json_object(arena);
            prg_json_each (item, prg_json_at(step->object, "metadata", "annotations"))
                prg_json_set(arena, annotations, item->string, prg_json_copy(arena, item));
            continue;
        }
        if (step->kind == PRG_STEP_DELETE_POD) {
            request.kind = PRG_WRITE_DELETE;
            request.stored = prg_reader_get(reader, "", "Pod", turn->subject->ns, step->name);
            if (!request.stored || strcmp(prg_meta_uid(request.stored), step->uid) != 0)
                continue; // gone already
        }
        prg_reconcile_add(turn->reconcile, &request, true);
    }
    if (!annotations)
        return;
    cJSON *patch = prg_json_object(arena), *meta = prg_json_object(arena);
    prg_json_set(arena, meta, "annotations", annotations);
    prg_json_set(arena, patch, "metadata", meta);
    prg_reconcile_add(turn->reconcile,
                      &(struct prg_write_request){.kind = PRG_WRITE_PATCH, .object = patch, .stored = job}, true);
}

// What will never happen is said by the link to the edge nodes; where the edge is played by hand, here.
static void tell_outlook(struct learning_subject *subject, const cJSON *job)
{
    prg_auto_arena arena = {0};
    if (subject->loop->options.edge.tell_job)
        return;
    const cJSON *outlook = prg_learning_outlook(&arena, &subject->loop->store->reader, job), *entry;
    uint64_t digest = prg_json_digest(outlook);
    if (digest == subject->told_outlook)
        return;
    subject->told_outlook = digest;
    prg_json_each (entry, outlook) {
        const char *object = prg_json_get_text(entry, "object");
        record(subject, "Warning", "EdgeOutlook",
               prg_arena_printf(&arena, "%s: %s%s%s: %s; %s", prg_json_get_text(entry, "stage"), object ? object : "",
                                object ? " " : "", prg_json_get_text(entry, "field"),
                                prg_json_get_text(entry, "problem"), prg_json_get_text(entry, "fix")));
    }
}

static void begin_plan(struct learning_subject *subject, const cJSON *job)
{
    struct prg_learning_loop *loop = subject->loop;
    tell_outlook(subject, job);
    struct learning_turn *turn = turn_new(subject, TURN_PLAN);
    struct prg_reconcile_handler handler = {.is_news = are_events_news, .done = on_done, .ctx = turn};
    turn->reconcile = prg_reconcile_new(loop->store, job, &handler);
    struct prg_plan *plan = prg_reconcile_plan(turn->reconcile);
    turn->has_error = prg_planner_plan_job(loop->planner, &loop->store->reader, job, loop->wall_ns, 1, plan,
                                           &turn->steps, &turn->err) != PRG_OK;
    if (turn->has_error) {
        ended(turn);
        return;
    }
    if (plan->error_code != PRG_POLICY)
        add_steps(turn, job);
    if (!turn->steps.has_status || plan->error)
        prg_reconcile_skip_status(turn->reconcile);
    prg_reconcile_start(turn->reconcile, loop->wall_ns);
}

static void await_pods(struct learning_turn *turn)
{
    struct learning_subject *subject = turn->subject;
    for (const struct prg_learning_step *step = turn->steps.first; step; step = step->next) {
        if (step->kind == PRG_STEP_PATCH_JOB)
            continue;
        struct learning_awaited *awaited = prg_xcalloc(1, sizeof(*awaited));
        bool is_delete = step->kind == PRG_STEP_DELETE_POD;
        awaited->name = prg_xstrdup(is_delete ? step->name : prg_meta_name(step->object));
        awaited->uid = is_delete ? prg_xstrdup(step->uid) : NULL;
        awaited->until_ms = subject->loop->now_ms + LEARNING_AWAIT_MS;
        prg_vec_push(&subject->awaited, awaited);
        if (!is_delete)
            learning_remember_pod(subject->loop, awaited->name, subject);
    }
}

static void tell_failure(struct learning_subject *subject, const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    prg_error_text(err, text, sizeof(text));
    if (prg_text_equal(text, subject->told_error))
        return;
    free(subject->told_error);
    subject->told_error = prg_xstrdup(text);
    record(subject, "Warning", "ReconcileFailed", text);
}

static void plan_failed(struct learning_turn *turn, const struct prg_error *err,
                        const struct prg_reconcile_report *came)
{
    struct learning_subject *subject = turn->subject;
    if (err && err->code == PRG_CONFLICT && !turn->has_error && subject->conflicts < LEARNING_CONFLICTS) {
        learning_enqueue(subject, (uint64_t)CONFLICT_MS << subject->conflicts++); // somebody was ahead of it
        return;
    }
    if (err)
        tell_failure(subject, err);
    subject->failures++;
    uint64_t pause_ms = (uint64_t)prg_learning_backoff_seconds(subject->failures) * 1000;
    learning_enqueue(subject, pause_ms > came->retry_after_ms ? pause_ms : came->retry_after_ms);
}

static void end_plan(struct learning_turn *turn)
{
    struct learning_subject *subject = turn->subject;
    struct prg_reconcile_report came = *prg_reconcile_report(turn->reconcile);
    if (turn->has_error)
        came.error = &turn->err;
    prg_freshness_note(subject->loop->freshness, subject->queue_key, turn->reconcile, subject->loop->now_ms);
    if (!came.error) // else the same names are planned again: nothing is made twice
        await_pods(turn);
    if (came.error || came.plan->error) {
        plan_failed(turn, came.error, &came);
    } else {
        subject->conflicts = 0;
        if (came.status_changed) {
            subject->failures = 0;
            free(subject->told_error);
            subject->told_error = NULL;
            learning_enqueue(subject, 0); // a store does not report our own writes
        } else if (came.created || came.updated || came.deleted) {
            learning_enqueue(subject, NO_PROGRESS_MS);
        } else if (came.plan->requeue_after_ms > 0) {
            learning_enqueue(subject, (uint64_t)came.plan->requeue_after_ms);
        }
    }
    if (subject->loop->options.report)
        subject->loop->options.report(&came, subject->loop->options.ctx);
}

// ---- turns ----

// Once: the link would send it again to nodes that have read it.
static void tell_gone_once(struct learning_subject *subject)
{
    if (!subject->is_gone_told)
        tell_job_gone(subject);
    subject->is_gone_told = true;
}

// Nothing is stored under this name any more. Returns whether the turn is over and the subject with it.
static bool begin_gone(struct learning_subject *subject)
{
    const struct prg_learning_edge *edge = &subject->loop->options.edge;
    if (subject->is_dataset) {
        tell_dataset_gone(subject);
        return true;
    }
    tell_gone_once(subject);
    if (subject->entry.name && edge->waiting_deletions &&
        edge->waiting_deletions(subject->ns, subject->name, edge->ctx) > 0) {
        subject->failures = subject->conflicts = 0;
        if (!has_waited_enough(subject))
            return false; // prg_learning_loop_forgotten wakes it
        edge->give_up_deletions(subject->ns, subject->name, edge->ctx);
    }
    if ((subject->entry.name || subject->recorded) && begin_clear(subject))
        return false;
    return true;
}

// What is stored, to the nodes. Returns whether a turn is under way: the ledger comes first.
static bool tell_stored(struct learning_subject *subject, const cJSON *object)
{
    const struct prg_learning_edge *edge = &subject->loop->options.edge;
    const struct prg_reader *reader = &subject->loop->store->reader;
    if (subject->is_dataset && edge->tell_dataset) {
        edge->tell_dataset(reader, object, PRG_CHANGE_STORED, edge->ctx);
        remember_last(subject, object);
    } else if (!subject->is_dataset && edge->tell_job) {
        subject->is_gone_told = false;
        if (subject->entry.name && strcmp(subject->entry.uid, prg_meta_uid(object)) != 0) { // made anew
            tell_job_gone(subject);
            free(subject->last); // of its nodes begin_ledger keeps who is to forget it
            subject->last = NULL;
        }
        if (begin_ledger(subject, object))
            return true;
        edge->tell_job(reader, object, subject->entry.deployed, PRG_CHANGE_STORED, edge->ctx);
        if (subject->entry.name)
            remember_last(subject, object);
    }
    return false;
}

// Returns whether a turn is under way, *ret_is_gone: the subject is to be dropped.
static bool begin(struct learning_subject *subject, bool *ret_is_gone)
{
    const cJSON *object = learning_subject_get(subject);
    while (subject->reports.count) {
        if (begin_report(subject, object))
            return true;
        object = learning_subject_get(subject);
    }
    if (subject->loop->is_paused)
        return false;
    if (!object) {
        *ret_is_gone = begin_gone(subject);
        return subject->turn != NULL;
    }
    if (!subject->is_dataset && prg_meta_is_deleting(object)) { // somebody's finalizer holds it
        tell_gone_once(subject);
        return false;
    }
    if (tell_stored(subject, object))
        return true;
    if (subject->is_dataset)
        return false;
    begin_plan(subject, object);
    return true;
}

void learning_turn_begin(struct learning_subject *subject)
{
    bool is_gone = false;
    if (begin(subject, &is_gone))
        return;
    done(subject);
    if (is_gone && !subject->reports.count)
        learning_subject_drop(subject);
}

void learning_turn_end(struct learning_turn *turn)
{
    struct learning_subject *subject = turn->subject;
    switch (turn->kind) {
    case TURN_REPORT:
        prg_freshness_note(subject->loop->freshness, subject->queue_key, turn->reconcile, subject->loop->now_ms);
        end_report(turn);
        break;
    case TURN_LEDGER:
        end_ledger(turn);
        break;
    case TURN_CLEAR:
        end_clear(turn);
        break;
    case TURN_PLAN:
        end_plan(turn);
        break;
    }
    subject->turn = NULL;
    learning_turn_free(turn);
    done(subject);
}
