// SPDX-License-Identifier: Apache-2.0
// client.c: apply, create, patch, status, delete.
//
// | a write is | until                                                            |
// | ---------- | ---------------------------------------------------------------- |
// | deciding   | the next timer, when there is nothing to send                    |
// | asking     | discovery has found its kind                                     |
// | preparing  | fields were taken over or given up (adopt.h): a read and a patch |
// | sent       | the answer; an apply with conflicts is sent a second time        |
#include "kube/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "kube/adopt.h"
#include "kube/status.h"
#include "object/meta.h"
#include "store/intent.h"
#include "json/merge.h"

#define WRITE_DEADLINE_MS 30000
#define FIGHT_COUNT 5 // fields taken over so often within FIGHT_MS: somebody takes them back each time
#define FIGHT_MS (10 * 60 * 1000)
#define MAX_REMEMBERED 200000

// What was applied last to an object, so that the same need not be sent again.
struct applied {
    struct applied *newer, *older; // by use
    uint64_t digest;
    int64_t generation;
    uint64_t uid_hash;
    unsigned forced; // in the window that began at forced_ms
    uint64_t forced_ms;
    char name[]; // in the map
};

struct prg_write {
    struct prg_client *client;
    struct prg_write *previous, *next;
    struct prg_arena arena;
    enum prg_write_kind kind;
    prg_write_fn fn;
    void *ctx;
    struct prg_timer timer;
    struct prg_question *question;
    struct prg_call *call;
    char *path;              // without query
    const char *api_version; // texts in arena
    struct prg_key key;
    cJSON *body;
    uint64_t digest;     // of the whole intent, before fields were left to others
    const char *version; // known resourceVersion, or ""
    bool is_forced;
    bool is_to_prepare;
    bool seems_in_place; // stored holds the metadata of the intent, and the rest where no generation speaks for it
    int64_t generation;  // of stored
    const char *taken_over;
    enum prg_write_result result; // of a write without a request
    struct prg_error err;
    enum prg_write_retry retry;
};

struct prg_client {
    struct prg_transport *transport;
    struct prg_timers *timers;
    struct prg_discovery *discovery;
    struct prg_client_options options;
    char *manager;
    struct prg_write *writes;
    size_t count;
    uint64_t requests;
    struct prg_map applied; // "group/kind/ns/name" -> struct applied
    struct applied *newest, *oldest;
};

// ---- comparing ----

bool prg_client_is_in_place(const cJSON *intent, const cJSON *stored)
{
    const cJSON *item, *other;
    if (prg_json_is_object(intent)) {
        if (!prg_json_is_object(stored))
            return false;
        prg_json_each (item, intent)
            if (!prg_client_is_in_place(item, prg_json_get(stored, item->string)))
                return false;
        return true;
    }
    if (!prg_json_is_array(intent))
        return prg_json_equal(intent, stored);
    if (!prg_json_is_array(stored))
        return false;
    other = stored->child;
    prg_json_each (item, intent) {
        if (!other || !prg_client_is_in_place(item, other))
            return false;
        other = other->next;
    }
    return other == NULL;
}

bool prg_client_is_foreign(const char *field, const char *manager)
{
    (void)manager;
    return strcmp(field, ".spec.replicas") == 0 ||
           prg_text_has_suffix(field, "annotations.kubectl.kubernetes.io/restartedAt");
}

// ---- conditions ----

static bool is_owned(const char *type, const cJSON *status, const char *const *owned)
{
    const cJSON *condition;
    for (size_t i = 0; owned && owned[i]; i++)
        if (prg_text_equal(owned[i], type))
            return true;
    prg_json_each (condition, prg_json_get(status, "conditions"))
        if (prg_text_equal(prg_json_get_text(condition, "type"), type))
            return true;
    return false;
}

static const cJSON *find_condition(const cJSON *conditions, const char *type)
{
    const cJSON *condition;
    prg_json_each (condition, conditions)
        if (prg_text_equal(prg_json_get_text(condition, "type"), type))
            return condition;
    return NULL;
}

// A list in which types come again is a history (as of Sedna's jobs), not one condition for each type.
static bool is_history(const cJSON *conditions)
{
    const cJSON *condition;
    prg_json_each (condition, conditions) {
        const char *type = prg_json_get_text(condition, "type");
        for (const cJSON *later = condition->next; later; later = later->next)
            if (prg_text_equal(prg_json_get_text(later, "type"), type))
                return true;
    }
    return false;
}

// Ours and the others', in the order of the stored list, new ones behind; a history is ours as a whole. NULL when
// neither has any.
static cJSON *merge_conditions(struct prg_arena *arena, const cJSON *stored, const cJSON *status,
                               const char *const *owned)
{
    const cJSON *before = prg_json_get(stored, "conditions"), *ours = prg_json_get(status, "conditions"), *condition;
    cJSON *merged = prg_json_array(arena);
    if (!before && !ours)
        return NULL;
    if (ours && (is_history(before) || is_history(ours)))
        return prg_json_copy(arena, ours);
    prg_json_each (condition, before) {
        const char *type = prg_json_get_text(condition, "type");
        const cJSON *mine = find_condition(ours, type);
        if (mine || !is_owned(type, status, owned))
            prg_json_append(merged, prg_json_copy(arena, mine ? mine : condition));
    }
    prg_json_each (condition, ours)
        if (!find_condition(before, prg_json_get_text(condition, "type")))
            prg_json_append(merged, prg_json_copy(arena, condition));
    return merged;
}

// A copy; NULL: there is nothing.
static cJSON *without_nulls(struct prg_arena *arena, const cJSON *value)
{
    return value && !prg_json_is_null(value) ? prg_merge_apply(arena, NULL, value) : NULL;
}

int prg_client_status_patch(struct prg_arena *arena, const cJSON *stored, const cJSON *status, const char *const *owned,
                            cJSON **ret, struct prg_error *err)
{
    // A merge patch cannot say null, which says no more than an absent member does: a kept condition may hold some.
    const cJSON *before = without_nulls(arena, prg_json_get(stored, "status"));
    const cJSON *from = before ? before : prg_json_object(arena);
    cJSON *to = without_nulls(arena, status), *patch, *conditions = merge_conditions(arena, before, to, owned);
    to = to ? to : prg_json_object(arena);
    if (conditions)
        prg_json_set(arena, to, "conditions", conditions);
    if (prg_merge_create(arena, from, to, &patch, err) != PRG_OK)
        return prg_wrap(err, "status");
    *ret = prg_json_count(patch) ? patch : NULL;
    return PRG_OK;
}

// ---- what was applied ----

static const char *applied_name(struct prg_arena *arena, const struct prg_key *key)
{
    return prg_arena_printf(arena, "%s/%s/%s/%s", key->group, key->kind, key->ns, key->name);
}

static void unlink_applied(struct prg_client *client, struct applied *applied)
{
    *(applied->newer ? &applied->newer->older : &client->newest) = applied->older;
    *(applied->older ? &applied->older->newer : &client->oldest) = applied->newer;
}

static void link_applied(struct prg_client *client, struct applied *applied)
{
    applied->newer = NULL;
    applied->older = client->newest;
    *(client->newest ? &client->newest->newer : &client->oldest) = applied;
    client->newest = applied;
}

static struct applied *find_applied(struct prg_write *w)
{
    struct prg_client *client = w->client;
    struct applied *applied = prg_map_get(&client->applied, applied_name(&w->arena, &w->key));
    if (applied && applied != client->newest) {
        unlink_applied(client, applied);
        link_applied(client, applied);
    }
    return applied;
}

static void drop_applied(struct prg_client *client, struct applied *applied)
{
    if (!applied)
        return;
    prg_map_remove(&client->applied, applied->name);
    unlink_applied(client, applied);
    free(applied);
}

static void drop_all_applied(struct prg_client *client)
{
    while (client->oldest)
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): dropping moves oldest on
        drop_applied(client, client->oldest);
}

void prg_client_forget(struct prg_client *client, const struct prg_key *key)
{
    prg_auto_arena arena = {0};
    if (client->applied.count)
        drop_applied(client, prg_map_get(&client->applied, applied_name(&arena, key)));
}

static struct applied *ensure_applied(struct prg_write *w)
{
    struct applied *applied = find_applied(w);
    struct prg_client *client = w->client;
    if (applied)
        return applied;
    if (client->applied.count >= client->options.max_remembered)
        drop_applied(client, client->oldest); // costs a request, never correctness
    const char *name = applied_name(&w->arena, &w->key);
    applied = prg_xcalloc(1, sizeof(*applied) + strlen(name) + 1);
    memcpy(applied->name, name, strlen(name) + 1);
    prg_map_put(&client->applied, name, applied);
    link_applied(client, applied);
    return applied;
}

static uint64_t hash_of(const char *text)
{
    return prg_map_hash(text, strlen(text));
}

static void remember(struct prg_write *w, const cJSON *answer)
{
    struct applied *applied = ensure_applied(w);
    applied->digest = w->digest;
    applied->generation = prg_meta_generation(answer);
    applied->uid_hash = hash_of(prg_meta_uid(answer));
}

// Which revision of the policies made an object is only written along with a real change (store/intent.h).
static cJSON *without_revision(struct prg_write *w)
{
    cJSON *body = prg_json_copy(&w->arena, w->body);
    cJSON *metadata = prg_json_get(body, "metadata"), *annotations = prg_json_get(metadata, "annotations");
    if (annotations && prg_json_remove(annotations, PRG_ANNOTATION_POLICY_REVISION) && !annotations->child)
        prg_json_remove(metadata, "annotations");
    return body;
}

// The cache shows what we applied last and nobody changed since. The generation covers the spec where there is one;
// everything else is compared. Defaults that the server filled in are in stored only, so this is no equality.
static bool is_unchanged(struct prg_write *w, const cJSON *stored)
{
    const struct applied *applied = find_applied(w);
    const cJSON *body = without_revision(w);
    if (!stored || !applied || applied->digest != w->digest || applied->uid_hash != hash_of(prg_meta_uid(stored)) ||
        prg_meta_is_deleting(stored))
        return false;
    if (!applied->generation)
        return prg_client_is_in_place(body, stored);
    return applied->generation == prg_meta_generation(stored) &&
           prg_client_is_in_place(prg_json_get(body, "metadata"), prg_json_get(stored, "metadata"));
}

// ---- the end of a write ----

static void write_free(struct prg_write *w)
{
    struct prg_client *client = w->client;
    prg_timer_stop(client->timers, &w->timer);
    prg_question_cancel(w->question);
    if (w->call)
        client->transport->cancel(client->transport, w->call);
    if (w->previous)
        w->previous->next = w->next;
    else
        client->writes = w->next;
    if (w->next)
        w->next->previous = w->previous;
    client->count--;
    prg_arena_release(&w->arena);
    free(w);
}

static void tell(struct prg_write *w, struct prg_write_outcome *outcome)
{
    prg_write_fn fn = w->fn;
    void *ctx = w->ctx;
    outcome->taken_over = w->taken_over;
    if (outcome->err)
        prg_wrap(&w->err, "%s %s", prg_write_verb(w->kind), prg_key_text(&w->arena, &w->key));
    // Out of the list first, so that a halt from within the callback does not find it; its memory lives until after.
    struct prg_write dying = *w;
    dying.err = w->err;
    if (outcome->err)
        outcome->err = &dying.err;
    w->arena = (struct prg_arena){0};
    write_free(w);
    fn(outcome, ctx);
    prg_arena_release(&dying.arena);
}

static void tell_failure(struct prg_write *w, enum prg_write_retry retry)
{
    struct prg_write_outcome outcome = {.result = PRG_WRITE_FAILED, .err = &w->err, .retry = retry};
    tell(w, &outcome);
}

static void on_decided(void *ctx)
{
    struct prg_write *w = ctx;
    struct prg_write_outcome outcome = {.result = w->result};
    if (w->result == PRG_WRITE_FAILED)
        tell_failure(w, w->retry);
    else
        tell(w, &outcome);
}

static struct prg_write *decide(struct prg_write *w, enum prg_write_result result, enum prg_write_retry retry)
{
    w->result = result;
    w->retry = retry;
    prg_timer_start(w->client->timers, &w->timer, 0, on_decided, w);
    return w;
}

// ---- conflicts ----

// "conflict with \"kubectl\" using apps/v1: .spec.x": the manager's name stands between the first quotes.
static const char *manager_of(struct prg_arena *arena, const char *message)
{
    const char *open = message ? strchr(message, '"') : NULL, *close = open ? strchr(open + 1, '"') : NULL;
    return close ? prg_arena_strndup(arena, open + 1, (size_t)(close - open - 1)) : "another manager";
}

// Takes the field ".spec.replicas" out of the body. Only plain paths; the rest of one may hold dots (annotations).
static void take_out(cJSON *object, const char *field)
{
    while (object && *field == '.') {
        const char *rest = field + 1;
        cJSON *member = prg_json_get(object, rest);
        if (member) {
            prg_json_detach(object, member);
            return;
        }
        size_t length = strcspn(rest, ".[");
        cJSON *next = NULL;
        for (cJSON *m = object->child; m && prg_json_is_object(object); m = m->next)
            if (strlen(m->string) == length && strncmp(m->string, rest, length) == 0)
                next = m;
        object = next;
        field = rest + length;
    }
}

static void send_write(struct prg_write *w);

// Decides field by field who yields, and sends the write again; or fails it, when another manager does not yield.
static void resolve_conflict(struct prg_write *w, const struct prg_status *status)
{
    prg_auto_strbuf forced = PRG_STRBUF_INIT;
    const cJSON *cause;
    bool is_ours = false;
    bool (*is_foreign)(const char *, const char *) =
        w->client->options.is_foreign ? w->client->options.is_foreign : prg_client_is_foreign;
    prg_json_each (cause, prg_json_get(status->details, "causes")) {
        const char *field = prg_json_get_text(cause, "field");
        if (!prg_text_equal(prg_json_get_text(cause, "reason"), "FieldManagerConflict") || !field)
            continue;
        const char *manager = manager_of(&w->arena, prg_json_get_text(cause, "message"));
        if (is_foreign(field, manager)) {
            take_out(w->body, field);
            continue;
        }
        prg_strbuf_printf(&forced, "%s%s (%s)", is_ours ? ", " : "", field, manager);
        is_ours = true;
    }
    if (is_ours) {
        uint64_t now = prg_timers_now(w->client->timers);
        struct applied *applied = ensure_applied(w);
        if (!applied->forced || now - applied->forced_ms >= FIGHT_MS) {
            applied->forced = 0;
            applied->forced_ms = now;
        }
        w->taken_over = prg_arena_strndup(&w->arena, forced.text, forced.length);
        if (applied->forced++ >= FIGHT_COUNT) {
            prg_fail(
                &w->err, PRG_CONFLICT,
                "taken over %d times in ten minutes and each time changed back: %s; stop that manager from writing "
                "the field, or leave the field to it",
                FIGHT_COUNT, w->taken_over);
            tell_failure(w, PRG_RETRY_SLOWLY);
            return;
        }
    }
    w->is_forced = true;
    send_write(w);
}

// ---- answers ----

static enum prg_write_retry retry_of(const struct prg_status *status)
{
    if (strcmp(status->cause, "NamespaceTerminating") == 0)
        return PRG_RETRY_ON_CHANGE;
    if (status->code == 403) // also a full quota, and what an admission webhook says no to
        return PRG_RETRY_SLOWLY;
    if (status->code == 400 || status->code == 413 || status->code == 422)
        return PRG_RETRY_ON_CHANGE;
    // The server could not make sense of the intent, as of a list that names one key twice; it calls that its own
    // error.
    if (status->code == 500 && strstr(status->message, "failed to create typed patch object"))
        return PRG_RETRY_ON_CHANGE;
    return PRG_RETRY_SOON;
}

static void refused(struct prg_write *w, const struct prg_response *response)
{
    struct prg_status status;
    prg_status_of(&w->arena, response, &status);
    if (w->kind == PRG_WRITE_APPLY && status.code == 409 && strcmp(status.cause, "FieldManagerConflict") == 0 &&
        !w->is_forced) {
        resolve_conflict(w, &status);
        return;
    }
    bool is_there = w->kind == PRG_WRITE_CREATE && status.code == 409 && strcmp(status.reason, "AlreadyExists") == 0;
    if ((status.code == 404 && w->kind == PRG_WRITE_DELETE) || is_there) {
        struct prg_write_outcome outcome = {.result = PRG_WRITE_UNCHANGED};
        tell(w, &outcome);
        return;
    }
    if (status.code == 404)
        prg_discovery_forget(w->client->discovery, w->api_version); // the kind may be gone
    prg_status_fail(response, &w->err);
    struct prg_write_outcome outcome = {.result = PRG_WRITE_FAILED,
                                        .err = &w->err,
                                        .retry = retry_of(&status),
                                        .retry_after_ms = status.retry_after_ms,
                                        .warnings = response->warnings};
    tell(w, &outcome);
}

// Nothing came of the write: the version is the one that was known, or only others (a status) moved it on since.
static bool is_answer_unchanged(const struct prg_write *w, const cJSON *answer, const char *version)
{
    if (*w->version && prg_text_equal(version, w->version))
        return true;
    return w->kind == PRG_WRITE_APPLY && w->seems_in_place && w->generation == prg_meta_generation(answer);
}

static void done_well(struct prg_write *w, const struct prg_response *response)
{
    cJSON *answer = NULL;
    if (prg_json_parse(&w->arena, response->body, response->body_length, NULL, &answer, &w->err) != PRG_OK) {
        struct prg_write_outcome outcome = {.result = PRG_WRITE_FAILED, .err = &w->err, .is_unknown = true};
        prg_wrap(&w->err, "the server's answer");
        tell(w, &outcome);
        return;
    }
    const char *version = prg_json_get_text(prg_json_get(answer, "metadata"), "resourceVersion");
    struct prg_write_outcome outcome = {.object = answer, .warnings = response->warnings};
    if (w->kind == PRG_WRITE_DELETE)
        outcome.result = PRG_WRITE_DELETED;
    else if (response->status == 201)
        outcome.result = PRG_WRITE_CREATED;
    else
        outcome.result = is_answer_unchanged(w, answer, version) ? PRG_WRITE_UNCHANGED : PRG_WRITE_UPDATED;
    if (w->kind == PRG_WRITE_APPLY)
        remember(w, answer);
    tell(w, &outcome);
}

static void on_done(const struct prg_response *response, void *ctx)
{
    struct prg_write *w = ctx;
    w->call = NULL;
    if (prg_response_ok(response)) {
        done_well(w, response);
    } else if (response->fault == PRG_FAULT_NONE) {
        refused(w, response);
    } else {
        w->err = *response->error;
        struct prg_write_outcome outcome = {.result = PRG_WRITE_FAILED,
                                            .err = &w->err,
                                            .is_unknown = response->is_sent,
                                            .retry_after_ms = response->retry_after_ms};
        tell(w, &outcome);
    }
}

// ---- sending ----

static const char *copied_version(struct prg_arena *arena, const cJSON *object)
{
    const char *version = prg_json_get_text(prg_json_get(object, "metadata"), "resourceVersion");
    return version ? prg_arena_strdup(arena, version) : "";
}

static bool may_write(struct prg_write *w)
{
    const struct prg_client_options *options = &w->client->options;
    if (!options->may_write || options->may_write(options->ctx))
        return true;
    prg_fail(&w->err, PRG_CONFLICT, "not sent: this replica does not lead");
    return false;
}

static void send_request(struct prg_write *w, const char *method, const char *path, const char *type, const cJSON *body,
                         void (*done)(const struct prg_response *response, void *ctx))
{
    struct prg_client *client = w->client;
    struct prg_call_handler handler = {.done = done};
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (body)
        prg_json_print(&text, body, PRG_JSON_COMPACT);
    struct prg_request request = {.method = method,
                                  .path = path,
                                  .kind = body ? PRG_CALL_WRITE : PRG_CALL_READ,
                                  .content_type = type,
                                  .body = body ? text.text : NULL,
                                  .body_length = text.length,
                                  .deadline_ms = WRITE_DEADLINE_MS,
                                  .max_bytes = 16u << 20};
    client->requests++;
    w->call = client->transport->start(client->transport, &request, &handler, w);
}

static void add_manager(struct prg_strbuf *path, const struct prg_client *client)
{
    prg_strbuf_puts(path, "?fieldManager=");
    prg_path_escape(path, client->manager);
}

static void send_write(struct prg_write *w)
{
    static const struct {
        const char *method, *type;
    } forms[] = {
        [PRG_WRITE_APPLY] = {"PATCH", "application/apply-patch+yaml"},
        [PRG_WRITE_CREATE] = {"POST", "application/json"},
        [PRG_WRITE_PATCH] = {"PATCH", "application/merge-patch+json"},
        [PRG_WRITE_STATUS] = {"PATCH", "application/merge-patch+json"},
        [PRG_WRITE_DELETE] = {"DELETE", "application/json"},
    };
    struct prg_client *client = w->client;
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    if (!may_write(w)) {
        decide(w, PRG_WRITE_FAILED, PRG_RETRY_SOON);
        return;
    }
    prg_strbuf_puts(&path, w->path);
    if (w->kind != PRG_WRITE_DELETE) {
        add_manager(&path, client);
        if (client->options.is_strict)
            prg_strbuf_puts(&path, "&fieldValidation=Strict");
    }
    if (w->kind == PRG_WRITE_APPLY)
        prg_strbuf_printf(&path, "&force=%s", w->is_forced ? "true" : "false");
    send_request(w, forms[w->kind].method, path.text, forms[w->kind].type, w->body, on_done);
}

// ---- preparing ----

static void on_prepared(const struct prg_response *response, void *ctx)
{
    struct prg_write *w = ctx;
    if (!prg_response_ok(response)) {
        on_done(response, w); // a conflict: it changed meanwhile, and is looked at again
        return;
    }
    w->call = NULL;
    send_write(w);
}

static void on_live(const struct prg_response *response, void *ctx)
{
    struct prg_write *w = ctx;
    cJSON *live = NULL, *fields = NULL;
    if (prg_response_ok(response) &&
        prg_json_parse(&w->arena, response->body, response->body_length, NULL, &live, NULL) == PRG_OK)
        fields = prg_adopt_fields(&w->arena, live, w->body, w->client->manager);
    w->call = NULL;
    if (!fields) { // gone, or all is well; or it cannot be read, which the apply will tell
        send_write(w);
        return;
    }
    if (!may_write(w)) {
        decide(w, PRG_WRITE_FAILED, PRG_RETRY_SOON);
        return;
    }
    struct prg_arena *arena = &w->arena;
    const char *paths[] = {"/metadata/managedFields", "/metadata/resourceVersion"};
    cJSON *values[] = {fields, prg_json_string(arena, copied_version(arena, live))}, *patch = prg_json_array(arena);
    for (size_t i = 0; i < PRG_COUNT(paths); i++) {
        cJSON *step = prg_json_object(arena);
        prg_json_set_string(arena, step, "op", "replace");
        prg_json_set_string(arena, step, "path", paths[i]);
        prg_json_set(arena, step, "value", values[i]);
        prg_json_append(patch, step);
    }
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_strbuf_puts(&path, w->path);
    add_manager(&path, w->client);
    send_request(w, "PATCH", path.text, "application/json-patch+json", patch, on_prepared);
}

static void begin_write(struct prg_write *w)
{
    if (w->is_to_prepare)
        send_request(w, "GET", w->path, NULL, NULL, on_live);
    else
        send_write(w);
}

static void on_resource(const struct prg_resource *resource, const struct prg_error *err, void *ctx)
{
    struct prg_write *w = ctx;
    w->question = NULL;
    if (err) {
        w->err = *err;
        tell_failure(w, PRG_RETRY_SOON);
    } else if (!resource && w->kind == PRG_WRITE_DELETE) {
        struct prg_write_outcome outcome = {.result = PRG_WRITE_UNCHANGED}; // no kind, no object
        tell(w, &outcome);
    } else if (!resource) {
        prg_fail(&w->err, PRG_NOTFOUND, "the server has no kind %s of %s; install it, or choose a mode that needs none",
                 w->key.kind, w->api_version);
        tell_failure(w, PRG_RETRY_SLOWLY);
    } else if (resource->is_namespaced != (*w->key.ns != '\0')) {
        prg_fail(&w->err, PRG_INVALID, "%s of %s %s", w->key.kind, w->api_version,
                 resource->is_namespaced ? "needs a metadata.namespace" : "has no namespace; leave it out");
        tell_failure(w, PRG_RETRY_ON_CHANGE);
    } else {
        w->path = prg_path_of(&w->arena, resource, w->key.ns, w->kind == PRG_WRITE_CREATE ? NULL : w->key.name,
                              w->kind == PRG_WRITE_STATUS ? "status" : NULL);
        begin_write(w);
    }
}

// ---- interface ----

static struct prg_write *write_new(struct prg_client *client, enum prg_write_kind kind, prg_write_fn fn, void *ctx)
{
    struct prg_write *w = prg_xcalloc(1, sizeof(*w));
    prg_arena_init(&w->arena);
    w->client = client;
    w->kind = kind;
    w->fn = fn;
    w->ctx = ctx;
    w->version = "";
    w->key = (struct prg_key){"", "", "", ""};
    w->next = client->writes;
    if (w->next)
        w->next->previous = w;
    client->writes = w;
    client->count++;
    return w;
}

static struct prg_write *ask(struct prg_write *w)
{
    w->question = prg_discovery_find(w->client->discovery, w->api_version, w->key.kind, on_resource, w);
    return w;
}

// An intent to be sent: without what the server refuses in an apply, or what would tie it to a version.
static bool set_intent(struct prg_write *w, const cJSON *intent)
{
    static const char *const not_applied[] = {"managedFields", "resourceVersion", "creationTimestamp",
                                              "generation",    "selfLink",        "uid"};
    w->body = prg_json_copy(&w->arena, intent);
    if (prg_key_of(&w->arena, w->body, &w->key, &w->err) != PRG_OK)
        return false;
    w->api_version = prg_json_get_text(w->body, "apiVersion");
    prg_json_remove(w->body, "status");
    for (size_t i = 0; i < PRG_COUNT(not_applied); i++)
        prg_json_remove(prg_json_get(w->body, "metadata"), not_applied[i]);
    return true;
}

static void look_in_place(struct prg_write *w, const cJSON *stored)
{
    const cJSON *body = without_revision(w);
    w->generation = prg_meta_generation(stored);
    w->seems_in_place = stored &&
                        prg_client_is_in_place(prg_json_get(body, "metadata"), prg_json_get(stored, "metadata")) &&
                        (w->generation || prg_client_is_in_place(body, stored));
}

// Nothing is known of an earlier apply, but all of the intent is in place: another revision of the policies is no
// reason to write.
static void keep_revision(struct prg_write *w, const cJSON *stored)
{
    cJSON *metadata = prg_json_get(w->body, "metadata"), *annotations = prg_json_get(metadata, "annotations");
    const char *revision = prg_meta_annotation(stored, PRG_ANNOTATION_POLICY_REVISION);
    if (!prg_json_get(annotations, PRG_ANNOTATION_POLICY_REVISION) ||
        !prg_client_is_in_place(without_revision(w), stored))
        return;
    if (revision) {
        prg_json_set_string(&w->arena, annotations, PRG_ANNOTATION_POLICY_REVISION, revision);
        return;
    }
    prg_json_remove(annotations, PRG_ANNOTATION_POLICY_REVISION);
    if (!annotations->child)
        prg_json_remove(metadata, "annotations");
}

struct prg_write *prg_client_apply(struct prg_client *client, const cJSON *intent, const cJSON *stored, uint32_t marks,
                                   prg_write_fn fn, void *ctx)
{
    struct prg_write *w = write_new(client, PRG_WRITE_APPLY, fn, ctx);
    if (!set_intent(w, intent))
        return decide(w, PRG_WRITE_FAILED, PRG_RETRY_ON_CHANGE);
    w->version = copied_version(&w->arena, stored);
    w->digest = prg_json_digest(without_revision(w));
    w->is_to_prepare = stored && prg_adopt_is_due(marks, intent);
    look_in_place(w, stored);
    if (!w->is_to_prepare && is_unchanged(w, stored))
        return decide(w, PRG_WRITE_UNCHANGED, PRG_RETRY_SOON);
    keep_revision(w, stored);
    return ask(w);
}

struct prg_write *prg_client_create(struct prg_client *client, const cJSON *intent, prg_write_fn fn, void *ctx)
{
    struct prg_write *w = write_new(client, PRG_WRITE_CREATE, fn, ctx);
    return set_intent(w, intent) ? ask(w) : decide(w, PRG_WRITE_FAILED, PRG_RETRY_ON_CHANGE);
}

// The body of a patch holds uid and version of what it is for.
static void tie(struct prg_write *w, const cJSON *stored)
{
    w->api_version = prg_json_get_text(stored, "apiVersion");
    w->version = copied_version(&w->arena, stored);
    cJSON *metadata = prg_json_ensure_object(&w->arena, w->body, "metadata");
    if (*prg_meta_uid(stored))
        prg_json_set_string(&w->arena, metadata, "uid", prg_meta_uid(stored));
    if (*w->version)
        prg_json_set_string(&w->arena, metadata, "resourceVersion", w->version);
}

struct prg_write *prg_client_patch(struct prg_client *client, const cJSON *stored, const cJSON *patch, prg_write_fn fn,
                                   void *ctx)
{
    struct prg_write *w = write_new(client, PRG_WRITE_PATCH, fn, ctx);
    const cJSON *own = prg_json_copy(&w->arena, stored);
    if (prg_key_of(&w->arena, own, &w->key, &w->err) != PRG_OK)
        return decide(w, PRG_WRITE_FAILED, PRG_RETRY_ON_CHANGE);
    if (prg_json_equal(prg_merge_apply(&w->arena, own, patch), own))
        return decide(w, PRG_WRITE_UNCHANGED, PRG_RETRY_SOON);
    w->body = prg_json_copy(&w->arena, patch);
    tie(w, own);
    return ask(w);
}

struct prg_write *prg_client_set_status(struct prg_client *client, const cJSON *stored, const cJSON *status,
                                        const char *const *owned, prg_write_fn fn, void *ctx)
{
    struct prg_write *w = write_new(client, PRG_WRITE_STATUS, fn, ctx);
    const cJSON *own = prg_json_copy(&w->arena, stored);
    cJSON *patch = NULL;
    if (prg_key_of(&w->arena, own, &w->key, &w->err) != PRG_OK ||
        prg_client_status_patch(&w->arena, own, status, owned, &patch, &w->err) != PRG_OK)
        return decide(w, PRG_WRITE_FAILED, PRG_RETRY_ON_CHANGE);
    if (!patch)
        return decide(w, PRG_WRITE_UNCHANGED, PRG_RETRY_SOON);
    w->body = prg_json_object(&w->arena);
    tie(w, own); // the list of conditions is replaced as a whole, so it must not have changed since it was read
    prg_json_set(&w->arena, w->body, "status", patch);
    return ask(w);
}

struct prg_write *prg_client_delete(struct prg_client *client, const char *api_version, const struct prg_key *key,
                                    const char *uid, const char *version, prg_write_fn fn, void *ctx)
{
    struct prg_write *w = write_new(client, PRG_WRITE_DELETE, fn, ctx);
    struct prg_arena *arena = &w->arena;
    w->api_version = prg_arena_strdup(arena, api_version);
    w->key = (struct prg_key){prg_arena_strdup(arena, key->group), prg_arena_strdup(arena, key->kind),
                              prg_arena_strdup(arena, key->ns), prg_arena_strdup(arena, key->name)};
    w->body = prg_json_object(arena);
    prg_json_set_string(arena, w->body, "apiVersion", "v1");
    prg_json_set_string(arena, w->body, "kind", "DeleteOptions");
    prg_json_set_string(arena, w->body, "propagationPolicy", "Background");
    if ((uid && *uid) || (version && *version)) {
        cJSON *conditions = prg_json_ensure_object(arena, w->body, "preconditions");
        if (uid && *uid)
            prg_json_set_string(arena, conditions, "uid", uid);
        if (version && *version)
            prg_json_set_string(arena, conditions, "resourceVersion", version);
    }
    prg_client_forget(client, &w->key);
    return ask(w);
}

void prg_client_cancel(struct prg_client *client, const void *ctx)
{
    for (struct prg_write *w = client->writes, *next; w; w = next) {
        next = w->next;
        if (w->ctx == ctx)
            write_free(w);
    }
}

struct prg_client *prg_client_new(struct prg_transport *transport, struct prg_timers *timers,
                                  struct prg_discovery *discovery, const struct prg_client_options *options)
{
    struct prg_client *client = prg_xcalloc(1, sizeof(*client));
    client->transport = transport;
    client->timers = timers;
    client->discovery = discovery;
    if (options)
        client->options = *options;
    if (!client->options.max_remembered)
        client->options.max_remembered = MAX_REMEMBERED;
    client->options.manager = client->manager =
        prg_xstrdup(options && options->manager ? options->manager : PRG_MANAGER);
    prg_map_init(&client->applied);
    return client;
}

void prg_client_free(struct prg_client *client)
{
    if (!client)
        return;
    while (client->writes)
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freeing takes a write out of the list
        write_free(client->writes);
    drop_all_applied(client);
    prg_map_release(&client->applied);
    free(client->manager);
    free(client);
}

void prg_client_halt(struct prg_client *client)
{
    // Only those that are open now: a callback may ask for more, which may_write then refuses.
    for (size_t left = client->count; left && client->writes; left--) {
        struct prg_write *w = client->writes;
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freeing takes a write out of the list
        while (w->next)
            w = w->next;
        bool was_sent = w->call != NULL;
        prg_error_clear(&w->err);
        prg_fail(&w->err, PRG_CONFLICT, "given up: this replica does not lead any more");
        struct prg_write_outcome outcome = {
            .result = PRG_WRITE_FAILED, .err = &w->err, .retry = PRG_RETRY_SOON, .is_unknown = was_sent};
        tell(w, &outcome);
    }
    drop_all_applied(client); // another replica writes meanwhile
}

size_t prg_client_open(const struct prg_client *client)
{
    return client->count;
}

uint64_t prg_client_requests(const struct prg_client *client)
{
    return client->requests;
}
