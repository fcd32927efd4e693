// SPDX-License-Identifier: Apache-2.0
// reconcile.c: the machine of one plan.
//
// | state    | goes on when                                                        |
// | -------- | ------------------------------------------------------------------- |
// | groups   | the last write of the group is told; all well: next group, or status |
// | status   | it is told: Events, done                                             |
// | failing  | the status that says so is told: done                                |
#include "controller/reconcile.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "controller/choice.h"
#include "object/meta.h"
#include "store/intent.h"

enum state { STATE_NEW, STATE_GROUPS, STATE_STATUS, STATE_FAILING, STATE_DONE };

struct write {
    struct prg_reconcile *reconcile;
    struct prg_write_request request;
    struct prg_key key;
    unsigned group;
    bool is_open;
};

struct prg_reconcile {
    struct prg_store *store;
    struct prg_reconcile_handler handler;
    struct prg_arena arena;
    struct prg_key key;
    cJSON *subject;                // as it was planned on; its resourceVersion moves on when we patched it
    struct prg_store_event choice; // of the runtime, in the arena, when there is one to tell
    bool has_choice;
    struct prg_plan *plan;
    struct prg_reconcile_report report;
    struct prg_vec writes; // struct write, in arena
    struct write status;
    unsigned groups, group; // made; under way, from 1
    size_t open;
    enum state state;
    bool has_no_status;
    const char *failed_reason;
    struct prg_error err;
    struct prg_vec written; // struct prg_written, in arena
    struct prg_strbuf taken_over, warnings;
    int64_t wall_ns;
};

// ---- making ----

static void key_in(struct prg_arena *arena, const cJSON *object, struct prg_key *ret)
{
    prg_require(prg_key_of(arena, object, ret, NULL) == PRG_OK);
}

struct prg_reconcile *prg_reconcile_new(struct prg_store *store, const cJSON *subject,
                                        const struct prg_reconcile_handler *handler)
{
    struct prg_reconcile *r = prg_xcalloc(1, sizeof(*r));
    prg_arena_init(&r->arena);
    r->store = store;
    r->handler = *handler;
    r->subject = prg_json_copy(&r->arena, subject);
    key_in(&r->arena, r->subject, &r->key);
    r->plan = prg_plan_new(&r->arena);
    r->report = (struct prg_reconcile_report){.key = &r->key, .plan = r->plan, .retry = PRG_RETRY_ON_CHANGE};
    prg_vec_init(&r->writes);
    prg_vec_init(&r->written);
    prg_strbuf_init(&r->taken_over);
    prg_strbuf_init(&r->warnings);
    return r;
}

void prg_reconcile_free(struct prg_reconcile *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->writes.count; i++)
        if (((struct write *)r->writes.items[i])->is_open)
            prg_store_cancel(r->store, r->writes.items[i]);
    if (r->status.is_open)
        prg_store_cancel(r->store, &r->status);
    prg_vec_release(&r->writes);
    prg_vec_release(&r->written);
    prg_strbuf_release(&r->taken_over);
    prg_strbuf_release(&r->warnings);
    prg_arena_release(&r->arena);
    free(r);
}

struct prg_plan *prg_reconcile_plan(struct prg_reconcile *r)
{
    return r->plan;
}

const struct prg_reconcile_report *prg_reconcile_report(const struct prg_reconcile *r)
{
    return &r->report;
}

bool prg_reconcile_is_overtaken(const struct prg_reconcile_report *report)
{
    return report->error && report->error->code == PRG_CONFLICT && report->retry == PRG_RETRY_SOON;
}

void prg_reconcile_skip_status(struct prg_reconcile *r)
{
    r->has_no_status = true;
}

void prg_reconcile_add(struct prg_reconcile *r, const struct prg_write_request *request, bool begins_group)
{
    struct write *write = prg_arena_new(&r->arena, struct write);
    *write = (struct write){.reconcile = r, .request = *request};
    if (request->stored)
        write->request.stored = prg_json_copy(&r->arena, request->stored);
    key_in(&r->arena, write->request.stored ? write->request.stored : request->object, &write->key);
    if (begins_group || !r->groups)
        r->groups++;
    write->group = r->groups;
    prg_vec_push(&r->writes, write);
}

static int check_objects(struct prg_reconcile *r, struct prg_error *err)
{
    const cJSON *object;
    struct prg_key key;
    prg_json_each (object, r->plan->objects)
        if (prg_key_of(&r->arena, object, &key, err) != PRG_OK)
            return prg_wrap(err, "rendered object");
    return PRG_OK;
}

// Which set of policies made it: in the object's own metadata, never in a template (that would roll pods). A store does
// not write it alone (store/intent.h).
static void mark_revision(const struct prg_plan *plan, cJSON *object)
{
    if (!plan->policy_revision)
        return;
    cJSON *metadata = prg_json_ensure_object(plan->arena, object, "metadata");
    cJSON *annotations = prg_json_ensure_object(plan->arena, metadata, "annotations");
    prg_json_set_string(plan->arena, annotations, PRG_ANNOTATION_POLICY_REVISION, plan->policy_revision);
}

int prg_reconcile_add_plan(struct prg_reconcile *r, struct prg_error *err)
{
    const struct prg_reader *reader = &r->store->reader;
    cJSON *item;
    bool is_first = true;
    int rc = check_objects(r, err);
    if (rc != PRG_OK)
        return rc;
    prg_json_each (item, r->plan->objects) {
        mark_revision(r->plan, item);
        prg_reconcile_add(r, &(struct prg_write_request){.kind = PRG_WRITE_APPLY, .object = item}, is_first);
        is_first = false;
    }
    is_first = true;
    prg_json_each (item, r->plan->deletes) {
        const char *ns = prg_json_get_text(item, "namespace");
        struct prg_key key = {prg_api_group(&r->arena, prg_json_get_text(item, "apiVersion")),
                              prg_json_get_text(item, "kind"), ns ? ns : "", prg_json_get_text(item, "name")};
        const cJSON *stored = reader->get(reader, &key); // the one that was planned with, no later one
        if (!stored)
            continue;
        prg_reconcile_add(r, &(struct prg_write_request){.kind = PRG_WRITE_DELETE, .stored = stored}, is_first);
        is_first = false;
    }
    return PRG_OK;
}

// ---- what a write came to ----

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
    case PRG_WRITE_FAILED:
        break;
    }
}

static void add_line(struct prg_strbuf *out, struct prg_arena *arena, const struct prg_key *key, const char *text)
{
    if (!text || !*text)
        return;
    prg_strbuf_printf(out, "%s%s: %s", out->length ? "\n" : "", prg_key_text(arena, key), text);
}

static void note_written(struct prg_reconcile *r, const struct write *write, const struct prg_write_outcome *outcome)
{
    struct prg_written *written = prg_arena_new(&r->arena, struct prg_written);
    const cJSON *object = write->request.kind == PRG_WRITE_DELETE ? write->request.stored : outcome->object;
    const char *version = prg_json_get_text(prg_json_get(object, "metadata"), "resourceVersion");
    if (outcome->result == PRG_WRITE_UNCHANGED || !version)
        return;
    written->key = write->key;
    written->uid = prg_arena_strdup(&r->arena, prg_meta_uid(object));
    written->version = prg_arena_strdup(&r->arena, version);
    written->is_gone = outcome->result == PRG_WRITE_DELETED;
    prg_vec_push(&r->written, written);
    // A patch of the subject itself: its status is to follow.
    if (outcome->object && prg_key_equal(&write->key, &r->key))
        prg_json_set_string(&r->arena, prg_json_get(r->subject, "metadata"), "resourceVersion", written->version);
}

// Notes the outcome; a failure is remembered, the first with its words.
static void note(struct prg_reconcile *r, const struct write *write, const struct prg_write_outcome *outcome)
{
    struct prg_reconcile_report *report = &r->report;
    add_line(&r->taken_over, &r->arena, &write->key, outcome->taken_over);
    add_line(&r->warnings, &r->arena, &write->key, outcome->warnings);
    report->is_unknown |= outcome->is_unknown;
    if (outcome->result != PRG_WRITE_FAILED) {
        note_written(r, write, outcome);
        return;
    }
    if (!report->error) {
        r->err = *outcome->err;
        report->error = &r->err;
    }
    if (outcome->retry < report->retry)
        report->retry = outcome->retry;
    if (outcome->retry_after_ms > report->retry_after_ms)
        report->retry_after_ms = outcome->retry_after_ms;
}

// ---- the end ----

static void finish(struct prg_reconcile *r)
{
    r->state = STATE_DONE;
    r->report.taken_over = r->taken_over.length ? r->taken_over.text : NULL;
    r->report.warnings = r->warnings.length ? r->warnings.text : NULL;
    r->handler.done(r, r->handler.ctx);
}

static int record(struct prg_reconcile *r, const struct prg_store_event *event, struct prg_error *err)
{
    return r->store->ops->record_event(r->store, &r->key, event, r->wall_ns, err);
}

static int record_events(struct prg_reconcile *r, struct prg_error *err)
{
    const cJSON *event;
    if (r->handler.is_news && !r->handler.is_news(&r->report, r->handler.ctx))
        return PRG_OK;
    prg_json_each (event, r->plan->events) {
        struct prg_store_event what = {prg_json_get_text(event, "type"), prg_json_get_text(event, "reason"),
                                       prg_json_get_text(event, "message")};
        if (record(r, &what, err) != PRG_OK)
            return prg_wrap(err, "event");
    }
    return PRG_OK;
}

// An Event that cannot be recorded is no reason to reconcile again.
static void tell_choice(struct prg_reconcile *r)
{
    struct prg_error ignored = {0};
    if (r->has_choice)
        (void)record(r, &r->choice, &ignored);
}

static void tell_events(struct prg_reconcile *r)
{
    struct prg_error err = {0};
    if (record_events(r, &err) == PRG_OK)
        return;
    r->err = err;
    r->report.error = &r->err;
    r->report.retry = PRG_RETRY_SOON;
}

// ---- status ----

static void on_status(const struct prg_write_outcome *outcome, void *ctx);

static const cJSON *find_condition(const cJSON *conditions, const char *type)
{
    const cJSON *condition;
    prg_json_each (condition, conditions)
        if (prg_text_equal(prg_json_get_text(condition, "type"), type))
            return condition;
    return NULL;
}

// A plan that fails each time in the same way says nothing new: its conditions went to and fro, so they have new times.
// Those that came out as they were keep theirs, else each status would wake the next plan.
static void keep_times(struct prg_reconcile *r, cJSON *status)
{
    const cJSON *before = prg_json_at(r->subject, "status", "conditions");
    cJSON *conditions = prg_json_get(status, "conditions");
    for (cJSON *condition = conditions ? conditions->child : NULL; condition; condition = condition->next) {
        const cJSON *known = find_condition(before, prg_json_get_text(condition, "type"));
        const char *time = prg_json_get_text(known, "lastTransitionTime");
        cJSON *same = prg_json_copy(&r->arena, condition);
        if (!time)
            continue;
        prg_json_set_string(&r->arena, same, "lastTransitionTime", time);
        if (prg_json_equal(same, known))
            prg_json_set_string(&r->arena, condition, "lastTransitionTime", time);
    }
}

// False when the plan says nothing about the status.
static bool write_status(struct prg_reconcile *r, enum state state)
{
    cJSON *status = prg_json_get(r->plan->resource, "status");
    if (!status || r->has_no_status)
        return false;
    if (state == STATE_FAILING)
        keep_times(r, status);
    r->state = state;
    r->status = (struct write){
        .reconcile = r,
        .request = {.kind = PRG_WRITE_STATUS, .object = status, .stored = r->subject, .owned = r->handler.conditions},
        .key = r->key,
        .is_open = true};
    prg_store_write(r->store, &r->status.request, on_status, &r->status);
    return true;
}

// What could not be applied is told in the status. That may fail for the same reason, which is what is reported.
static void tell_failure(struct prg_reconcile *r)
{
    struct prg_store_event event = {"Warning", r->failed_reason, ""};
    char text[PRG_ERROR_LINE];
    if (r->report.status_changed) {
        event.message = prg_error_text(&r->err, text, sizeof(text));
        (void)record(r, &event, NULL);
    }
    finish(r);
}

static void on_status(const struct prg_write_outcome *outcome, void *ctx)
{
    struct write *write = ctx;
    struct prg_reconcile *r = write->reconcile;
    write->is_open = false;
    bool is_done = outcome->result != PRG_WRITE_FAILED;
    r->report.status_changed = is_done && outcome->result != PRG_WRITE_UNCHANGED;
    if (is_done || r->state == STATE_STATUS)
        note(r, write, outcome);
    if (r->state == STATE_FAILING) {
        struct prg_error ignored = {0};
        if (is_done)
            (void)record_events(r, &ignored);
        tell_failure(r);
        return;
    }
    if (is_done) {
        tell_choice(r);
        tell_events(r);
    }
    finish(r);
}

static void fail(struct prg_reconcile *r)
{
    if (prg_reconcile_is_overtaken(&r->report)) {
        finish(r);
        return;
    }
    r->failed_reason = r->handler.failed ? r->handler.failed(r->plan, &r->err, r->handler.ctx) : NULL;
    if (!r->failed_reason || !write_status(r, STATE_FAILING))
        finish(r);
}

// ---- groups ----

static void on_written(const struct prg_write_outcome *outcome, void *ctx);

static void go_on(struct prg_reconcile *r)
{
    while (!r->open) {
        if (r->report.error) {
            fail(r);
            return;
        }
        if (r->group == r->groups) {
            if (!write_status(r, STATE_STATUS)) {
                tell_events(r);
                finish(r);
            }
            return;
        }
        r->group++;
        for (size_t i = 0; i < r->writes.count; i++) {
            struct write *write = r->writes.items[i];
            if (write->group != r->group)
                continue;
            if (write->request.kind == PRG_WRITE_APPLY)
                write->request.stored = r->store->reader.get(&r->store->reader, &write->key);
            write->is_open = true;
            r->open++;
            prg_store_write(r->store, &write->request, on_written, write);
        }
    }
}

static void on_written(const struct prg_write_outcome *outcome, void *ctx)
{
    struct write *write = ctx;
    struct prg_reconcile *r = write->reconcile;
    write->is_open = false;
    r->open--;
    count(&r->report, outcome->result);
    note(r, write, outcome);
    if (!r->open)
        go_on(r);
}

void prg_reconcile_start(struct prg_reconcile *r, int64_t wall_ns)
{
    r->wall_ns = wall_ns;
    // Now: candidates are of the store, whose trees may go as soon as the loop turns.
    r->has_choice = prg_choice_event(r->subject, r->plan, &r->choice);
    r->state = STATE_GROUPS;
    go_on(r);
}

void prg_reconcile_each_written(const struct prg_reconcile *r, void (*visit)(const struct prg_written *, void *),
                                void *ctx)
{
    for (size_t i = 0; i < r->written.count; i++)
        visit(r->written.items[i], ctx);
}
