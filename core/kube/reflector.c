// SPDX-License-Identifier: Apache-2.0
// reflector.c: list and watch.
//
// | happens                                            | then                                                    |
// | -------------------------------------------------- | ------------------------------------------------------- |
// | first list                                         | resourceVersion=0, pages of 500                         |
// | later list                                         | the last version, one page (a server's cache has it)    |
// | list: 410, or a version the server has not reached | at once, without a version (from etcd)                  |
// | page 2 or later: 410                               | the whole list in one page, pages so far are dropped    |
// | list older than what we had                        | without a version: that answer counts, whatever it is   |
// | list: 404 / 403                                    | missing (the cache is emptied) / denied; again slowly   |
// | list: anything else                                | back-off, list                                          |
// | watch: refused connection, 429                     | back-off, watch again from where we were                |
// | watch: any other refusal                           | back-off, list                                          |
// | watch ends after news, or after a second           | watch again at once                                     |
// | watch ends sooner, with nothing                    | back-off, list                                          |
// | ERROR 410                                          | back-off, list                                          |
// | ERROR 429; 500 (for half a minute)                 | back-off, watch again                                   |
// | any other ERROR, a line that cannot be read        | back-off, list                                          |
// | bookmark or object older than what we had          | list without a version: the server was restored         |
// | watch silent though bookmarks used to come         | watch again; the second time list without a version     |
#include "kube/reflector.h"

#include <stdlib.h>
#include <string.h>

#include "kube/path.h"
#include "kube/split.h"
#include "kube/status.h"
#include "object/meta.h"
#include "object/scalar.h"

#define PAGE_SIZE 500
#define LIST_DEADLINE_MS (5 * 60 * 1000)
#define LIST_IDLE_MS 60000
#define WATCH_MIN_S 300        // a watch is asked for a time in [5, 10) minutes
#define WATCH_GRACE_MS 15000   // after which the server should have ended it
#define BOOKMARK_IDLE_MS 90000 // bookmarks come each minute
#define SHORT_WATCH_MS 1000
#define INTERNAL_ERROR_MS 30000 // so long a watch is tried again after "internal error"
#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

enum state { STOPPED, LISTING, WATCHING, WAITING_TO_LIST, WAITING_TO_WATCH };

// What to do when a watch is over, if it said so itself.
enum verdict { VERDICT_NONE, VERDICT_LIST, VERDICT_WATCH, VERDICT_RESTORED };

struct prg_reflector {
    struct prg_transport *transport;
    struct prg_timers *timers;
    struct prg_object_kind *kind;
    struct prg_reflector_options options;
    char *path, *selector, *ns, *name; // the last two of options.scope
    struct prg_reflector_handler handler;

    enum state state;
    enum prg_reflector_health health;
    struct prg_error problem; // last told
    bool is_synced;
    struct prg_timer timer;
    struct prg_retry retry, slow_retry;
    struct prg_reflector_counts counts;

    char *version;              // last seen, "" before the first list
    bool is_version_unusable;   // list without one
    bool server_pages;          // it gave a continue token for a list with version 0 or none
    bool has_bookmarks;         // at least one came
    unsigned silent_watches;    // in a row
    uint64_t internal_error_ms; // of the first in a row, 0: none

    // the call under way
    struct prg_call *call;
    struct prg_split *split;
    struct prg_vec found; // objects of the list so far
    char *list_version;   // asked for with the first page
    char *continue_token; // of the page being read, "" for the first
    bool is_whole;        // limit was taken off after a token expired
    bool is_initial;      // a watch that streams the list first
    uint64_t began_ms;
    uint64_t news; // objects, or bookmarks that moved on
    bool had_bookmark;
    enum verdict verdict;
    uint64_t verdict_delay_ms;
    struct prg_error err; // why the call is to end
};

static void list(struct prg_reflector *r);
static void watch(struct prg_reflector *r);

static void set_text(char **place, const char *text)
{
    char *copy = prg_xstrdup(text);
    free(*place);
    *place = copy;
}

// ---- health ----

static void set_health(struct prg_reflector *r, enum prg_reflector_health health, const struct prg_error *err)
{
    char before[PRG_ERROR_LINE], after[PRG_ERROR_LINE];
    bool is_same = r->health == health && (!err || strcmp(prg_error_text(&r->problem, before, sizeof(before)),
                                                          prg_error_text(err, after, sizeof(after))) == 0);
    r->health = health;
    if (err)
        r->problem = *err;
    else
        prg_error_clear(&r->problem);
    if (!is_same && r->handler.health)
        r->handler.health(health, err, r->handler.ctx);
}

static void set_synced(struct prg_reflector *r)
{
    if (r->is_synced)
        return;
    r->is_synced = true;
    if (r->handler.synced)
        r->handler.synced(r->handler.ctx);
}

// ---- waiting ----

static void on_timer(void *ctx)
{
    struct prg_reflector *r = ctx;
    if (r->state == WAITING_TO_LIST)
        list(r);
    else if (r->state == WAITING_TO_WATCH)
        watch(r);
}

static void wait_for(struct prg_reflector *r, enum state state, uint64_t delay_ms)
{
    r->state = state;
    prg_timer_start(r->timers, &r->timer, delay_ms, on_timer, r);
}

// at_least_ms: what the server asked for.
static void back_off(struct prg_reflector *r, enum state state, uint64_t at_least_ms)
{
    uint64_t delay = prg_retry_next(&r->retry, prg_timers_now(r->timers));
    wait_for(r, state, delay > at_least_ms ? delay : at_least_ms);
}

static void fail(struct prg_reflector *r, const struct prg_error *err)
{
    struct prg_error wrapped = *err;
    prg_wrap(&wrapped, "%s", r->path);
    r->counts.failures++;
    set_health(r, PRG_REFLECTOR_BROKEN, &wrapped);
}

// ---- versions ----

// < 0 when version is before the last one seen. Texts that are no versions compare as equal: nothing follows from them.
static int compare_version(const struct prg_reflector *r, const char *version)
{
    int order = 0;
    if (!*r->version || prg_resource_version_compare(version, r->version, &order, NULL) != PRG_OK)
        return 0;
    return order;
}

static const char *version_of(const cJSON *metadata)
{
    const char *version = prg_json_get_text(metadata, "resourceVersion");
    return version ? version : "";
}

// ---- requests ----

static void forget_call(struct prg_reflector *r)
{
    r->call = NULL;
    prg_split_free(r->split);
    r->split = NULL;
}

static void forget_found(struct prg_reflector *r)
{
    for (size_t i = 0; i < r->found.count; i++)
        prg_object_unref(r->found.items[i]);
    r->found.count = 0;
}

static void begin_query(const struct prg_reflector *r, struct prg_strbuf *path)
{
    prg_strbuf_printf(path, "%s?", r->path);
    if (r->selector && *r->selector)
        prg_strbuf_printf(path, "%s&", r->selector);
}

static bool take_item(const char *type, const char *text, size_t length, void *ctx);
static bool take_event(const char *type, const char *text, size_t length, void *ctx);
static bool on_data(const char *bytes, size_t length, void *ctx);
static void on_list_done(const struct prg_response *response, void *ctx);
static void on_watch_done(const struct prg_response *response, void *ctx);

static const char *accept_of(const struct prg_reflector *r, bool is_watch)
{
    if (!r->options.is_metadata_only)
        return NULL;
    return is_watch ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
                    : "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
}

static void send_request(struct prg_reflector *r, struct prg_strbuf *path, bool is_watch, uint64_t deadline_ms,
                         uint64_t idle_ms)
{
    struct prg_split_handler handler = {is_watch ? take_event : take_item, r};
    struct prg_call_handler calls = {.data = on_data, .done = is_watch ? on_watch_done : on_list_done};
    if (path->text[path->length - 1] == '&')
        prg_strbuf_truncate(path, path->length - 1);
    struct prg_request request = {.method = "GET",
                                  .path = path->text,
                                  .accept = accept_of(r, is_watch),
                                  .kind = is_watch ? PRG_CALL_WATCH : PRG_CALL_READ,
                                  .deadline_ms = deadline_ms,
                                  .idle_ms = idle_ms};
    r->split = prg_split_new(is_watch ? PRG_SPLIT_WATCH : PRG_SPLIT_LIST, r->options.max_bytes, &handler);
    r->began_ms = prg_timers_now(r->timers);
    r->verdict = VERDICT_NONE;
    r->verdict_delay_ms = 0;
    prg_error_clear(&r->err);
    r->call = r->transport->start(r->transport, &request, &calls, r);
}

static bool on_data(const char *bytes, size_t length, void *ctx)
{
    struct prg_reflector *r = ctx;
    struct prg_error err = {0};
    int rc = prg_split_feed(r->split, bytes, length, &err);
    if (r->state == STOPPED)
        return false;
    if (rc == PRG_OK)
        return true;
    if (r->err.code == PRG_OK && r->verdict == VERDICT_NONE) {
        r->counts.refused_lines++;
        r->err = err;
    }
    return false;
}

// ---- list ----

static const char *version_to_list(const struct prg_reflector *r)
{
    if (r->is_version_unusable)
        return "";
    if (*r->version)
        return r->version;
    return r->options.is_strict ? "" : "0";
}

static void send_page(struct prg_reflector *r)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    bool is_first = !*r->continue_token;
    const char *version = r->list_version;
    // A list at a version is answered from the server's cache, which knows no pages unless it has shown otherwise.
    bool is_paged = !r->is_whole && (!*version || strcmp(version, "0") == 0 || r->server_pages);
    begin_query(r, &path);
    if (is_paged)
        prg_strbuf_printf(&path, "limit=%u&", r->options.page_size ? r->options.page_size : PAGE_SIZE);
    if (is_first && *version)
        prg_strbuf_printf(&path, "resourceVersion=%s&", version);
    if (!is_first) {
        prg_strbuf_puts(&path, "continue=");
        prg_path_escape(&path, r->continue_token);
    }
    if (path.text[path.length - 1] == '?')
        prg_strbuf_truncate(&path, path.length - 1);
    r->state = LISTING;
    r->counts.lists++;
    send_request(r, &path, false, LIST_DEADLINE_MS, LIST_IDLE_MS);
}

static void list_from(struct prg_reflector *r, const char *version, bool is_whole)
{
    forget_found(r);
    set_text(&r->list_version, version);
    set_text(&r->continue_token, "");
    r->is_whole = is_whole;
    send_page(r);
}

static void list(struct prg_reflector *r)
{
    if (r->options.uses_watch_list) {
        r->is_initial = true;
        watch(r);
        return;
    }
    list_from(r, version_to_list(r), false);
}

// An object as it was is shared with the cache instead of being held twice.
static void add_found(struct prg_reflector *r, struct prg_object *object)
{
    struct prg_object *known = prg_object_find(r->kind, prg_object_namespace(object), prg_object_name(object));
    if (known && prg_object_is_same(known, object)) {
        prg_object_unref(object);
        object = prg_object_ref(known);
    }
    prg_vec_push(&r->found, object);
}

static bool take_item(const char *type, const char *text, size_t length, void *ctx)
{
    struct prg_reflector *r = ctx;
    struct prg_object *object;
    (void)type;
    if (prg_object_read(r->kind, text, length, &object, &r->err) != PRG_OK) {
        r->counts.refused_lines++;
        return false;
    }
    add_found(r, object);
    return true;
}

static void replace_cache(struct prg_reflector *r)
{
    prg_object_replace(r->kind, &r->options.scope, &r->found, r->handler.changed, r->handler.ctx);
}

static void list_finished(struct prg_reflector *r, const char *version)
{
    if (*r->list_version && compare_version(r, version) < 0) {
        // Another server with an older cache, or a restored etcd: only etcd knows.
        r->is_version_unusable = true;
        list_from(r, "", false);
        return;
    }
    set_text(&r->version, version);
    r->is_version_unusable = false;
    r->silent_watches = 0;
    replace_cache(r);
    if (r->state == STOPPED)
        return;
    set_health(r, PRG_REFLECTOR_OK, NULL);
    set_synced(r);
    if (r->state != STOPPED)
        watch(r);
}

static void list_page_done(struct prg_reflector *r)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *metadata = NULL;
    int rc = prg_split_finish(r->split, &err);
    if (rc == PRG_OK) {
        const char *text = prg_split_member(r->split, "metadata");
        rc = prg_json_parse(&arena, text, strlen(text), NULL, &metadata, &err);
    }
    const char *version = version_of(metadata), *token = prg_json_get_text(metadata, "continue");
    if (rc == PRG_OK && !*version)
        rc = prg_fail(&err, PRG_INVALID, "the list has no metadata.resourceVersion");
    forget_call(r);
    if (rc != PRG_OK) {
        forget_found(r);
        fail(r, &err);
        if (r->state != STOPPED)
            back_off(r, WAITING_TO_LIST, 0);
    } else if (token && *token) {
        if (!*r->list_version || strcmp(r->list_version, "0") == 0)
            r->server_pages = true;
        set_text(&r->continue_token, token);
        send_page(r);
    } else {
        list_finished(r, version);
    }
}

static void wait_slowly(struct prg_reflector *r, enum prg_reflector_health health, const struct prg_error *err)
{
    struct prg_error wrapped = *err;
    prg_wrap(&wrapped, "%s", r->path);
    set_health(r, health, &wrapped);
    if (r->state != STOPPED)
        wait_for(r, WAITING_TO_LIST, prg_retry_next(&r->slow_retry, prg_timers_now(r->timers)));
}

static void list_refused(struct prg_reflector *r, const struct prg_response *response)
{
    prg_auto_arena arena = {0};
    struct prg_status status;
    struct prg_error err = {0};
    bool was_later_page = *r->continue_token != '\0', was_versioned = *r->list_version != '\0';
    prg_status_of(&arena, response, &status);
    prg_status_fail(response, &err);
    bool is_expired = prg_status_is_expired(&status);
    forget_call(r);
    if (is_expired)
        r->counts.expired++;
    if (is_expired && was_later_page) {
        const char *version = prg_arena_strdup(&arena, r->list_version);
        list_from(r, version, true);
        return;
    }
    forget_found(r);
    if ((is_expired || prg_status_is_too_large(&status)) && was_versioned) {
        r->is_version_unusable = true;
        list_from(r, "", false);
        return;
    }
    r->counts.failures++;
    if (status.code == 404) {
        set_text(&r->version, "");
        replace_cache(r); // with nothing
        if (r->state == STOPPED)
            return;
        wait_slowly(r, PRG_REFLECTOR_MISSING, &err);
        set_synced(r);
    } else if (status.code == 403) {
        wait_slowly(r, PRG_REFLECTOR_DENIED, &err);
    } else {
        r->counts.failures--; // fail counts
        fail(r, &err);
        if (r->state != STOPPED)
            back_off(r, WAITING_TO_LIST, status.retry_after_ms);
    }
}

static void on_list_done(const struct prg_response *response, void *ctx)
{
    struct prg_reflector *r = ctx;
    struct prg_error err = {0};
    if (prg_response_ok(response)) {
        list_page_done(r);
        return;
    }
    if (response->fault == PRG_FAULT_NONE) {
        list_refused(r, response);
        return;
    }
    err = r->err.code != PRG_OK ? r->err : *response->error;
    forget_call(r);
    forget_found(r);
    fail(r, &err);
    if (r->state != STOPPED)
        back_off(r, WAITING_TO_LIST, response->retry_after_ms);
}

// ---- watch ----

static void watch(struct prg_reflector *r)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    unsigned seconds = WATCH_MIN_S + (unsigned)(prg_random(&r->options.seed) * WATCH_MIN_S);
    begin_query(r, &path);
    prg_strbuf_puts(&path, "watch=true&allowWatchBookmarks=true&");
    if (r->is_initial) {
        forget_found(r);
        set_text(&r->list_version, r->is_version_unusable ? "" : r->version);
        prg_strbuf_puts(&path, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&");
        if (*r->list_version)
            prg_strbuf_printf(&path, "resourceVersion=%s&", r->list_version);
    } else {
        prg_strbuf_printf(&path, "resourceVersion=%s&", r->version);
    }
    prg_strbuf_printf(&path, "timeoutSeconds=%u", seconds);
    r->state = WATCHING;
    r->news = 0;
    r->had_bookmark = false;
    r->counts.watches++;
    send_request(r, &path, true, (uint64_t)seconds * 1000 + WATCH_GRACE_MS,
                 r->has_bookmarks || r->is_initial ? BOOKMARK_IDLE_MS : 0);
}

static bool end_watch(struct prg_reflector *r, enum verdict verdict)
{
    r->verdict = verdict;
    return false;
}

// The version went back though we asked for later ones.
static bool restored(struct prg_reflector *r, const char *version)
{
    prg_fail(&r->err, PRG_CONFLICT, "the server went back from resourceVersion %s to %s; listing anew", r->version,
             version);
    return end_watch(r, VERDICT_RESTORED);
}

static bool refuse_event(struct prg_reflector *r, const char *what)
{
    r->counts.refused_lines++;
    if (r->err.code == PRG_OK)
        prg_fail(&r->err, PRG_INVALID, "%s", what);
    return end_watch(r, VERDICT_LIST);
}

static bool take_error(struct prg_reflector *r, const cJSON *object)
{
    prg_auto_arena arena = {0};
    struct prg_status status;
    uint64_t now = prg_timers_now(r->timers);
    prg_status_read(&arena, object, &status);
    prg_fail(&r->err, PRG_IO, "the watch says %d%s%s: %s", status.code, *status.reason ? " " : "", status.reason,
             status.message);
    r->verdict_delay_ms = status.retry_after_ms;
    if (prg_status_is_expired(&status)) {
        r->counts.expired++;
        return end_watch(r, VERDICT_LIST);
    }
    if (status.code == 429)
        return end_watch(r, VERDICT_WATCH);
    if (status.code == 500) {
        if (!r->internal_error_ms)
            r->internal_error_ms = now;
        return end_watch(r, now - r->internal_error_ms < INTERNAL_ERROR_MS ? VERDICT_WATCH : VERDICT_LIST);
    }
    return end_watch(r, VERDICT_LIST);
}

// The streamed list is whole: it becomes the cache.
static bool initial_events_end(struct prg_reflector *r, const char *version)
{
    if (*r->list_version && compare_version(r, version) < 0)
        return restored(r, version);
    r->is_initial = false;
    set_text(&r->version, version);
    r->is_version_unusable = false;
    replace_cache(r);
    if (r->state != STOPPED) {
        set_health(r, PRG_REFLECTOR_OK, NULL);
        set_synced(r);
    }
    return r->state != STOPPED;
}

static bool take_bookmark(struct prg_reflector *r, const cJSON *object)
{
    const cJSON *metadata = prg_json_get(object, "metadata");
    const char *version = version_of(metadata);
    if (!*version)
        return refuse_event(r, "a bookmark without a resourceVersion");
    r->counts.bookmarks++;
    r->had_bookmark = true;
    r->silent_watches = 0;
    if (r->is_initial) {
        if (!prg_text_equal(prg_meta_annotation(object, INITIAL_EVENTS_END), "true"))
            return true; // its version says nothing while the list is on its way
        return initial_events_end(r, version);
    }
    r->has_bookmarks = true;
    int order = compare_version(r, version);
    if (order < 0)
        return restored(r, version);
    if (order > 0) {
        r->news++;
        set_text(&r->version, version);
    }
    return true;
}

static void drop_found(struct prg_reflector *r, const struct prg_object *object)
{
    for (size_t i = 0; i < r->found.count; i++) {
        struct prg_object *found = r->found.items[i];
        if (strcmp(prg_object_name(found), prg_object_name(object)) != 0 ||
            strcmp(prg_object_namespace(found), prg_object_namespace(object)) != 0)
            continue;
        r->found.items[i] = r->found.items[--r->found.count];
        prg_object_unref(found);
        return;
    }
}

static bool take_object(struct prg_reflector *r, struct prg_object *object, bool is_deleted)
{
    prg_auto_arena arena = {0};
    const char *version = prg_arena_strdup(&arena, prg_object_version(object));
    r->news++;
    if (r->is_initial) {
        if (is_deleted) {
            drop_found(r, object);
            prg_object_unref(object);
        } else {
            add_found(r, object);
        }
        return true; // in order of names: their versions are not those of the stream
    }
    int order = compare_version(r, version);
    if (order < 0 && !is_deleted) {
        prg_object_unref(object);
        return restored(r, version);
    }
    if (is_deleted) {
        prg_object_drop(r->kind, r->options.scope.source, prg_object_namespace(object), prg_object_name(object),
                        r->handler.changed, r->handler.ctx);
        prg_object_unref(object);
    } else {
        prg_object_put(object, r->options.scope.source, r->handler.changed, r->handler.ctx);
    }
    // Servers of old sent deletions with the version of the object's last change: those do not count.
    if (order > 0)
        set_text(&r->version, version);
    return r->state != STOPPED;
}

static bool take_event(const char *type, const char *text, size_t length, void *ctx)
{
    struct prg_reflector *r = ctx;
    prg_auto_arena arena = {0};
    struct prg_object *object;
    bool is_bookmark = strcmp(type, "BOOKMARK") == 0, is_error = strcmp(type, "ERROR") == 0;
    bool is_deleted = strcmp(type, "DELETED") == 0;
    r->counts.events++;
    if (is_bookmark || is_error) {
        cJSON *tree;
        if (prg_json_parse(&arena, text, length, NULL, &tree, &r->err) != PRG_OK)
            return refuse_event(r, "");
        return is_bookmark ? take_bookmark(r, tree) : take_error(r, tree);
    }
    if (!is_deleted && strcmp(type, "ADDED") != 0 && strcmp(type, "MODIFIED") != 0) {
        prg_fail(&r->err, PRG_INVALID, "an event of unknown type '%.40s'", type);
        return refuse_event(r, "");
    }
    if (prg_object_read(r->kind, text, length, &object, &r->err) != PRG_OK)
        return refuse_event(r, "");
    r->internal_error_ms = 0;
    return take_object(r, object, is_deleted);
}

// ---- the end of a watch ----

static void watch_refused(struct prg_reflector *r, const struct prg_response *response)
{
    prg_auto_arena arena = {0};
    struct prg_status status;
    struct prg_error err = {0};
    bool was_initial = r->is_initial;
    prg_status_of(&arena, response, &status);
    prg_status_fail(response, &err);
    if (was_initial && (status.code == 400 || status.code == 422)) { // a server without this
        r->options.uses_watch_list = false;
        r->is_initial = false;
        list(r);
        return;
    }
    if (prg_status_is_expired(&status) || prg_status_is_too_large(&status)) {
        r->counts.expired++;
        r->is_version_unusable = r->is_version_unusable || was_initial;
    }
    if (status.code == 404 || status.code == 403) {
        // The list finds out what that means, and says so.
        r->is_initial = false;
        list_from(r, version_to_list(r), false);
        return;
    }
    fail(r, &err);
    if (r->state != STOPPED)
        back_off(r, status.code == 429 && !was_initial ? WAITING_TO_WATCH : WAITING_TO_LIST, status.retry_after_ms);
}

static void silent_watch(struct prg_reflector *r)
{
    // A watch at a version that the server has not reached is silent for ever: after a restore of etcd.
    if (++r->silent_watches < 2) {
        watch(r);
        return;
    }
    r->silent_watches = 0;
    r->is_version_unusable = true;
    back_off(r, WAITING_TO_LIST, 0);
}

static void judge_watch(struct prg_reflector *r, const struct prg_response *response)
{
    uint64_t lasted_ms = prg_timers_now(r->timers) - r->began_ms;
    struct prg_error err = {0};
    if (r->verdict == VERDICT_NONE && r->err.code == PRG_OK && (r->news || lasted_ms >= SHORT_WATCH_MS) &&
        !r->is_initial) {
        if (response->fault == PRG_FAULT_TIMEOUT && r->has_bookmarks && !r->had_bookmark && !r->news)
            silent_watch(r);
        else
            watch(r);
        return;
    }
    if (r->err.code != PRG_OK)
        err = r->err;
    else if (response->fault != PRG_FAULT_NONE)
        err = *response->error;
    else
        prg_fail(&err, PRG_IO, "the server ended the watch at once, without an event");
    if (r->verdict == VERDICT_RESTORED)
        r->is_version_unusable = true;
    fail(r, &err);
    if (r->state != STOPPED)
        back_off(r, r->verdict == VERDICT_WATCH && !r->is_initial ? WAITING_TO_WATCH : WAITING_TO_LIST,
                 r->verdict_delay_ms);
}

static void on_watch_done(const struct prg_response *response, void *ctx)
{
    struct prg_reflector *r = ctx;
    struct prg_error err;
    forget_call(r);
    if (r->is_initial)
        forget_found(r);
    if (response->status >= 300) {
        watch_refused(r, response);
    } else if (response->status == 0 && r->err.code == PRG_OK) {
        err = *response->error;
        fail(r, &err);
        if (r->state != STOPPED)
            back_off(r, response->fault == PRG_FAULT_CONNECT && !r->is_initial ? WAITING_TO_WATCH : WAITING_TO_LIST, 0);
    } else {
        judge_watch(r, response);
    }
}

// ---- interface ----

struct prg_reflector *prg_reflector_new(struct prg_transport *transport, struct prg_timers *timers,
                                        struct prg_object_kind *kind, const struct prg_reflector_options *options,
                                        const struct prg_reflector_handler *handler)
{
    struct prg_reflector *r = prg_xcalloc(1, sizeof(*r));
    r->transport = transport;
    r->timers = timers;
    r->kind = kind;
    r->options = *options;
    r->options.path = r->path = prg_xstrdup(options->path);
    r->options.selector = r->selector = options->selector ? prg_xstrdup(options->selector) : NULL;
    r->options.scope.ns = r->ns = options->scope.ns ? prg_xstrdup(options->scope.ns) : NULL;
    r->options.scope.name = r->name = options->scope.name ? prg_xstrdup(options->scope.name) : NULL;
    r->handler = *handler;
    r->version = prg_xstrdup("");
    r->list_version = prg_xstrdup("");
    r->continue_token = prg_xstrdup("");
    r->retry = (struct prg_retry){
        .base_ms = 800, .max_ms = 30000, .jitter = 1.0, .reset_ms = 120000, .seed = options->seed ^ 0x5ea1};
    r->slow_retry = (struct prg_retry){
        .base_ms = 10000, .max_ms = 60000, .jitter = 0.2, .reset_ms = 600000, .seed = options->seed ^ 0x510e};
    prg_vec_init(&r->found);
    return r;
}

void prg_reflector_free(struct prg_reflector *r)
{
    if (!r)
        return;
    prg_reflector_stop(r);
    prg_split_free(r->split);
    forget_found(r);
    prg_vec_release(&r->found);
    free(r->path);
    free(r->selector);
    free(r->ns);
    free(r->name);
    free(r->version);
    free(r->list_version);
    free(r->continue_token);
    free(r);
}

void prg_reflector_start(struct prg_reflector *r)
{
    if (r->state != STOPPED)
        return;
    prg_split_free(r->split); // of a call that was stopped
    r->split = NULL;
    r->is_initial = false;
    list(r);
}

void prg_reflector_stop(struct prg_reflector *r)
{
    r->state = STOPPED;
    prg_timer_stop(r->timers, &r->timer);
    if (r->call)
        r->transport->cancel(r->transport, r->call);
    r->call = NULL; // what was cut so far may be under our feet: it goes at start or free
}

void prg_reflector_retry(struct prg_reflector *r)
{
    if (r->state != WAITING_TO_LIST || (r->health != PRG_REFLECTOR_MISSING && r->health != PRG_REFLECTOR_DENIED))
        return;
    prg_timer_stop(r->timers, &r->timer);
    list(r);
}

bool prg_reflector_is_synced(const struct prg_reflector *r)
{
    return r->is_synced;
}

enum prg_reflector_health prg_reflector_health(const struct prg_reflector *r)
{
    return r->health;
}

const char *prg_reflector_version(const struct prg_reflector *r)
{
    return r->version;
}

const struct prg_reflector_counts *prg_reflector_count(const struct prg_reflector *r)
{
    return &r->counts;
}
