// SPDX-License-Identifier: Apache-2.0
// discovery.c: one document per group and version, shared by all who ask for it meanwhile.
#include "kube/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "kube/status.h"

struct document { // of one apiVersion
    struct prg_discovery *discovery;
    char *api_version;
    struct prg_arena arena;
    struct prg_map kinds; // kind -> struct prg_resource
    bool is_there;        // the server has the group and version
    bool has_answer;
    uint64_t asked_ms;
    struct prg_call *call; // under way
    struct prg_error err;  // of the last question, code OK: none
};

struct prg_question {
    struct prg_discovery *discovery;
    struct prg_question *previous, *next;
    struct document *document;
    char *kind;
    prg_discovery_fn fn;
    void *ctx;
};

struct prg_discovery {
    struct prg_transport *transport;
    struct prg_timers *timers;
    struct prg_map documents; // apiVersion -> struct document
    struct prg_question *questions;
    struct prg_timer timer; // tells what is known
};

static void question_free(struct prg_question *q)
{
    if (q->previous)
        q->previous->next = q->next;
    else
        q->discovery->questions = q->next;
    if (q->next)
        q->next->previous = q->previous;
    free(q->kind);
    free(q);
}

// ---- documents ----

static void read_resource(struct document *d, const char *group, const char *version, const cJSON *item)
{
    const char *name = prg_json_get_text(item, "name"), *kind = prg_json_get_text(item, "kind");
    if (!name || !kind || strchr(name, '/')) // a subresource
        return;
    struct prg_resource *r = prg_arena_new(&d->arena, struct prg_resource);
    r->group = group;
    r->version = version;
    r->kind = prg_arena_strdup(&d->arena, kind);
    r->plural = prg_arena_strdup(&d->arena, name);
    r->is_namespaced = prg_json_get_true(item, "namespaced");
    if (!prg_map_get(&d->kinds, kind))
        prg_map_put(&d->kinds, r->kind, r);
}

static int read_document(struct document *d, const struct prg_response *response, struct prg_error *err)
{
    prg_auto_arena scratch = {0};
    cJSON *list, *item;
    if (prg_json_parse(&scratch, response->body, response->body_length, NULL, &list, err) != PRG_OK)
        return prg_wrap(err, "resources of %s", d->api_version);
    if (!prg_json_is_array(prg_json_get(list, "resources")))
        return prg_fail(err, PRG_INVALID, "resources of %s: the answer is no APIResourceList", d->api_version);
    const char *slash = strchr(d->api_version, '/');
    prg_map_clear(&d->kinds);
    prg_arena_reset(&d->arena);
    const char *group = slash ? prg_arena_strndup(&d->arena, d->api_version, (size_t)(slash - d->api_version)) : "";
    const char *version = prg_arena_strdup(&d->arena, slash ? slash + 1 : d->api_version);
    prg_json_each (item, prg_json_get(list, "resources"))
        read_resource(d, group, version, item);
    return PRG_OK;
}

// Answers one question whose document is not being asked for. False when there is none.
static bool answer_one(struct prg_discovery *discovery)
{
    struct prg_question *q = discovery->questions;
    while (q && q->document->call)
        q = q->next;
    if (!q)
        return false;
    struct document *d = q->document;
    const struct prg_resource *resource = d->is_there ? prg_map_get(&d->kinds, q->kind) : NULL;
    prg_discovery_fn fn = q->fn;
    void *ctx = q->ctx;
    struct prg_error err = d->err;
    bool has_failed = !d->has_answer && err.code != PRG_OK;
    question_free(q);
    fn(has_failed ? NULL : resource, has_failed ? &err : NULL, ctx);
    return true;
}

static void on_answers(void *ctx);

static void answer_soon(struct prg_discovery *discovery)
{
    prg_timer_start(discovery->timers, &discovery->timer, 0, on_answers, discovery);
}

// One at a time: a callback may ask more, or free all.
static void on_answers(void *ctx)
{
    struct prg_discovery *discovery = ctx;
    bool has_more = false;
    for (const struct prg_question *q = discovery->questions; q; q = q->next)
        has_more = has_more || !q->document->call;
    if (!has_more)
        return;
    answer_soon(discovery); // before the callback, which may free us and so stop it
    answer_one(discovery);
}

static void on_done(const struct prg_response *response, void *ctx)
{
    struct document *d = ctx;
    struct prg_error err = {0};
    d->call = NULL;
    prg_error_clear(&d->err);
    if (prg_response_ok(response)) {
        if (read_document(d, response, &err) == PRG_OK)
            d->has_answer = d->is_there = true;
    } else if (response->fault == PRG_FAULT_NONE && response->status == 404) {
        d->has_answer = true;
        d->is_there = false;
    } else {
        prg_status_fail(response, &err);
        prg_wrap(&err, "resources of %s", d->api_version);
    }
    d->err = err; // an older answer stays good
    answer_soon(d->discovery);
}

static void ask(struct document *d)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    struct prg_call_handler handler = {.done = on_done};
    prg_strbuf_printf(&path, "%s/%s", strchr(d->api_version, '/') ? "/apis" : "/api", d->api_version);
    struct prg_request request = {.method = "GET", .path = path.text, .deadline_ms = 30000, .max_bytes = 4u << 20};
    d->asked_ms = prg_timers_now(d->discovery->timers);
    d->call = d->discovery->transport->start(d->discovery->transport, &request, &handler, d);
}

static struct document *document_of(struct prg_discovery *discovery, const char *api_version)
{
    struct document *d = prg_map_get(&discovery->documents, api_version);
    if (d)
        return d;
    d = prg_xcalloc(1, sizeof(*d));
    d->discovery = discovery;
    d->api_version = prg_xstrdup(api_version);
    prg_map_init(&d->kinds);
    prg_arena_init(&d->arena);
    prg_map_put(&discovery->documents, api_version, d);
    return d;
}

static bool is_stale(const struct document *d, const char *kind)
{
    uint64_t age = prg_timers_now(d->discovery->timers) - d->asked_ms;
    bool is_known = d->is_there && prg_map_get(&d->kinds, kind);
    return !d->has_answer || age >= (is_known ? PRG_DISCOVERY_KEEP_MS : PRG_DISCOVERY_MISS_MS);
}

// ---- interface ----

struct prg_discovery *prg_discovery_new(struct prg_transport *transport, struct prg_timers *timers)
{
    struct prg_discovery *discovery = prg_xcalloc(1, sizeof(*discovery));
    discovery->transport = transport;
    discovery->timers = timers;
    prg_map_init(&discovery->documents);
    return discovery;
}

void prg_discovery_free(struct prg_discovery *discovery)
{
    const struct prg_map_entry *entry;
    if (!discovery)
        return;
    prg_timer_stop(discovery->timers, &discovery->timer);
    while (discovery->questions)
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freeing takes the first out of the list
        question_free(discovery->questions);
    for (size_t i = 0; (entry = prg_map_next(&discovery->documents, &i));) {
        struct document *d = entry->value;
        if (d->call)
            discovery->transport->cancel(discovery->transport, d->call);
        prg_map_release(&d->kinds);
        prg_arena_release(&d->arena);
        free(d->api_version);
        free(d);
    }
    prg_map_release(&discovery->documents);
    free(discovery);
}

struct prg_question *prg_discovery_find(struct prg_discovery *discovery, const char *api_version, const char *kind,
                                        prg_discovery_fn fn, void *ctx)
{
    struct prg_question *q = prg_xcalloc(1, sizeof(*q));
    q->discovery = discovery;
    q->document = document_of(discovery, api_version);
    q->kind = prg_xstrdup(kind);
    q->fn = fn;
    q->ctx = ctx;
    q->next = discovery->questions;
    if (q->next)
        q->next->previous = q;
    discovery->questions = q;
    if (q->document->call)
        return q;
    if (is_stale(q->document, kind))
        ask(q->document);
    else
        answer_soon(discovery);
    return q;
}

void prg_question_cancel(struct prg_question *question)
{
    if (question)
        question_free(question);
}

void prg_discovery_forget(struct prg_discovery *discovery, const char *api_version)
{
    struct document *d = prg_map_get(&discovery->documents, api_version);
    if (d)
        d->has_answer = false;
}
