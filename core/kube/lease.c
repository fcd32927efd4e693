// SPDX-License-Identifier: Apache-2.0
// lease.c: the election. Source of the rules: client-go tools/leaderelection.
//
// | state     | does                                                                         |
// | --------- | ---------------------------------------------------------------------------- |
// | following | reads the lease each 2 s (plus jitter); takes it when free or not renewed     |
// | leading   | renews each 2 s: writes what it knows, or reads first after a failure         |
// | releasing | has stopped leading and writes an empty holder                               |
#include "kube/lease.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube/status.h"

#define JITTER 1.2

enum lease_state { STOPPED, FOLLOWING, LEADING, RELEASING };

struct record { // as last read or written
    char *holder, *acquired, *version;
    int64_t transitions;
    uint64_t changed_ms;  // by our clock
    uint64_t duration_ms; // that its holder promised
    uint64_t digest;
    bool is_there;
};

struct prg_lease {
    struct prg_transport *transport;
    struct prg_timers *timers;
    struct prg_lease_options options;
    char *ns, *name, *identity, *path;
    struct prg_lease_handler handler;
    enum lease_state state;
    struct record record;
    struct prg_timer retry, deadline;
    struct prg_call *call;
    uint64_t asked_ms;   // when the call under way was started
    uint64_t renewed_ms; // when the last write that succeeded was started
    bool must_read;      // what we know may be old
    struct prg_error problem;
    void (*released)(void *ctx);
    void *released_ctx;
    char *told_holder;
};

static void try_now(struct prg_lease *l);

static void set_text(char **place, const char *text)
{
    char *copy = prg_xstrdup(text ? text : "");
    free(*place);
    *place = copy;
}

const char *prg_lease_time(int64_t wall_ns, char buffer[PRG_MICRO_TIME])
{
    char seconds[PRG_CLOCK_TEXT];
    prg_clock_format(wall_ns, seconds);
    struct prg_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_printf(&text, "%.19s.%06dZ", seconds, (int)(wall_ns / 1000 % 1000000));
    memcpy(buffer, text.text, text.length + 1 < PRG_MICRO_TIME ? text.length + 1 : PRG_MICRO_TIME - 1);
    buffer[PRG_MICRO_TIME - 1] = '\0';
    prg_strbuf_release(&text);
    return buffer;
}

// ---- leading and not ----

bool prg_lease_is_leader(const struct prg_lease *l)
{
    return l->state == LEADING && prg_timers_now(l->timers) - l->renewed_ms < l->options.renew_ms;
}

static void stop_leading(struct prg_lease *l, enum lease_state next)
{
    bool was_leading = l->state == LEADING;
    l->state = next;
    prg_timer_stop(l->timers, &l->deadline);
    if (was_leading && l->handler.stopped)
        l->handler.stopped(l->handler.ctx);
}

static void schedule(struct prg_lease *l, double jitter);

static void on_deadline(void *ctx)
{
    struct prg_lease *l = ctx;
    if (l->call) // a late yes must not make us believe
        l->transport->cancel(l->transport, l->call);
    l->call = NULL;
    l->must_read = true;
    stop_leading(l, FOLLOWING);
    if (l->state == FOLLOWING)
        schedule(l, JITTER);
}

static void renewed(struct prg_lease *l)
{
    l->renewed_ms = l->asked_ms;
    uint64_t spent = prg_timers_now(l->timers) - l->asked_ms;
    uint64_t left = spent < l->options.renew_ms ? l->options.renew_ms - spent : 0;
    if (l->state != LEADING && !left)
        return; // the answer took so long that the lease may be another's by now
    prg_timer_start(l->timers, &l->deadline, left, on_deadline, l);
    if (l->state == LEADING)
        return;
    l->state = LEADING;
    if (l->handler.started)
        l->handler.started(l->handler.ctx);
}

static void on_retry(void *ctx)
{
    try_now(ctx);
}

static void schedule(struct prg_lease *l, double jitter)
{
    double delay = (double)l->options.retry_ms;
    delay += delay * jitter * prg_random(&l->options.seed);
    prg_timer_start(l->timers, &l->retry, (uint64_t)delay, on_retry, l);
}

static void next_round(struct prg_lease *l)
{
    if (l->state == FOLLOWING)
        schedule(l, JITTER);
    else if (l->state == LEADING)
        schedule(l, 0);
}

static void problem(struct prg_lease *l, const struct prg_error *err)
{
    char before[PRG_ERROR_LINE], after[PRG_ERROR_LINE];
    struct prg_error wrapped = *err;
    prg_wrap(&wrapped, "lease %s/%s", l->ns, l->name);
    prg_error_text(&l->problem, before, sizeof(before));
    prg_error_text(&wrapped, after, sizeof(after));
    l->problem = wrapped;
    if (strcmp(before, after) != 0 && l->handler.problem)
        l->handler.problem(&wrapped, l->handler.ctx);
}

// ---- the record ----

static void take_record(struct prg_lease *l, const cJSON *lease)
{
    struct record *r = &l->record;
    const cJSON *spec = prg_json_get(lease, "spec");
    uint64_t digest = prg_json_digest(spec);
    int64_t seconds = 0;
    if (!r->is_there || digest != r->digest)
        r->changed_ms = prg_timers_now(l->timers);
    r->digest = digest;
    r->is_there = true;
    r->transitions = 0;
    prg_json_get_int64(spec, "leaseTransitions", &r->transitions);
    prg_json_get_int64(spec, "leaseDurationSeconds", &seconds);
    r->duration_ms = seconds > 0 && seconds < 3600 ? (uint64_t)seconds * 1000 : l->options.duration_ms;
    set_text(&r->holder, prg_json_get_text(spec, "holderIdentity"));
    set_text(&r->acquired, prg_json_get_text(spec, "acquireTime"));
    set_text(&r->version, prg_json_get_text(prg_json_get(lease, "metadata"), "resourceVersion"));
    if (strcmp(l->told_holder, r->holder) != 0) {
        set_text(&l->told_holder, r->holder);
        if (l->handler.observed)
            l->handler.observed(r->holder, l->handler.ctx);
    }
}

static bool is_ours(const struct prg_lease *l)
{
    return l->record.is_there && strcmp(l->record.holder, l->identity) == 0;
}

// Somebody else holds it and may still believe so.
static bool is_held(const struct prg_lease *l)
{
    const struct record *r = &l->record;
    uint64_t age = prg_timers_now(l->timers) - r->changed_ms;
    uint64_t duration = r->duration_ms > l->options.duration_ms ? r->duration_ms : l->options.duration_ms;
    return r->is_there && *r->holder && !is_ours(l) && age < duration;
}

static cJSON *make_lease(struct prg_lease *l, struct prg_arena *arena, bool is_release)
{
    char now[PRG_MICRO_TIME];
    cJSON *lease = prg_json_object(arena), *metadata = prg_json_ensure_object(arena, lease, "metadata");
    cJSON *spec = prg_json_ensure_object(arena, lease, "spec");
    prg_lease_time(prg_timers_wall_ns(l->timers), now);
    prg_json_set_string(arena, lease, "apiVersion", "coordination.k8s.io/v1");
    prg_json_set_string(arena, lease, "kind", "Lease");
    prg_json_set_string(arena, metadata, "name", l->name);
    prg_json_set_string(arena, metadata, "namespace", l->ns);
    if (l->record.is_there) // no other may have written since we read
        prg_json_set_string(arena, metadata, "resourceVersion", l->record.version);
    bool keeps_time = is_ours(l) && *l->record.acquired && !is_release;
    prg_json_set_string(arena, spec, "holderIdentity", is_release ? "" : l->identity);
    prg_json_set_int(arena, spec, "leaseDurationSeconds",
                     is_release ? 1 : (int64_t)((l->options.duration_ms + 999) / 1000));
    prg_json_set_string(arena, spec, "acquireTime", keeps_time ? l->record.acquired : now);
    prg_json_set_string(arena, spec, "renewTime", now);
    prg_json_set_int(arena, spec, "leaseTransitions",
                     l->record.transitions + (l->record.is_there && !is_ours(l) ? 1 : 0));
    return lease;
}

// ---- requests ----

static void request(struct prg_lease *l, const char *method, const char *path, const char *body,
                    void (*done)(const struct prg_response *response, void *ctx))
{
    struct prg_call_handler handler = {.done = done};
    struct prg_request r = {.method = method,
                            .path = path,
                            .kind = PRG_CALL_WRITE, // its own connections, sent once
                            .body = body,
                            .body_length = body ? strlen(body) : 0,
                            .deadline_ms = l->options.renew_ms / 2,
                            .max_bytes = 1u << 20,
                            .is_urgent = true};
    l->asked_ms = prg_timers_now(l->timers);
    l->call = l->transport->start(l->transport, &r, &handler, l);
}

static void on_written(const struct prg_response *response, void *ctx)
{
    struct prg_lease *l = ctx;
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *lease;
    l->call = NULL;
    if (prg_response_ok(response) &&
        prg_json_parse(&arena, response->body, response->body_length, NULL, &lease, &err) == PRG_OK) {
        l->must_read = false;
        prg_error_clear(&l->problem);
        take_record(l, lease);
        if (is_ours(l))
            renewed(l);
    } else {
        l->must_read = true;
        if (err.code == PRG_OK)
            prg_status_fail(response, &err);
        if (response->status != 409 || l->state == LEADING) // who loses a race to acquire has no problem
            problem(l, &err);
    }
    next_round(l);
}

static void write_lease(struct prg_lease *l)
{
    prg_auto_arena arena = {0};
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    const char *body = prg_json_print_arena(&arena, make_lease(l, &arena, false), PRG_JSON_COMPACT);
    if (l->record.is_there) {
        request(l, "PUT", l->path, body, on_written);
    } else {
        prg_strbuf_add(&path, l->path, (size_t)(strrchr(l->path, '/') - l->path));
        request(l, "POST", path.text, body, on_written);
    }
}

static void on_read(const struct prg_response *response, void *ctx)
{
    struct prg_lease *l = ctx;
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *lease;
    l->call = NULL;
    if (response->fault == PRG_FAULT_NONE && response->status == 404) {
        l->record.is_there = false;
        write_lease(l);
        return;
    }
    if (prg_response_ok(response) &&
        prg_json_parse(&arena, response->body, response->body_length, NULL, &lease, &err) == PRG_OK) {
        prg_error_clear(&l->problem);
        take_record(l, lease);
        if (l->state == LEADING && !is_ours(l)) { // taken from us, or edited by hand
            l->must_read = true;
            stop_leading(l, FOLLOWING);
            next_round(l);
        } else if (is_held(l)) {
            next_round(l);
        } else {
            write_lease(l);
        }
        return;
    }
    if (err.code == PRG_OK)
        prg_status_fail(response, &err);
    problem(l, &err);
    next_round(l);
}

static void try_now(struct prg_lease *l)
{
    if (l->call || (l->state != FOLLOWING && l->state != LEADING))
        return;
    if (l->state == LEADING && !l->must_read)
        write_lease(l); // nobody else writes while we renew, so what we know is new enough
    else
        request(l, "GET", l->path, NULL, on_read);
}

// ---- interface ----

int prg_lease_new(struct prg_transport *transport, struct prg_timers *timers, const struct prg_lease_options *options,
                  const struct prg_lease_handler *handler, struct prg_lease **ret, struct prg_error *err)
{
    struct prg_lease_options o = *options;
    o.duration_ms = o.duration_ms ? o.duration_ms : 15000;
    o.renew_ms = o.renew_ms ? o.renew_ms : 10000;
    o.retry_ms = o.retry_ms ? o.retry_ms : 2000;
    if (o.duration_ms <= o.renew_ms || (double)o.renew_ms <= JITTER * (double)o.retry_ms)
        return prg_fail(
            err, PRG_INVALID,
            "leader election: the lease (%llu ms) must be longer than the renew deadline (%llu ms), and that "
            "longer than 1.2 times the retry period (%llu ms)",
            (unsigned long long)o.duration_ms, (unsigned long long)o.renew_ms, (unsigned long long)o.retry_ms);
    struct prg_lease *l = prg_xcalloc(1, sizeof(*l));
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_strbuf_printf(&path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s", o.ns, o.name);
    l->path = prg_strbuf_steal(&path, NULL);
    l->transport = transport;
    l->timers = timers;
    l->options = o;
    l->handler = *handler;
    l->options.ns = l->ns = prg_xstrdup(o.ns);
    l->options.name = l->name = prg_xstrdup(o.name);
    l->options.identity = l->identity = prg_xstrdup(o.identity);
    l->told_holder = prg_xstrdup("");
    set_text(&l->record.holder, "");
    set_text(&l->record.acquired, "");
    set_text(&l->record.version, "");
    l->must_read = true;
    *ret = l;
    return PRG_OK;
}

static void stop_calls(struct prg_lease *l)
{
    prg_timer_stop(l->timers, &l->retry);
    prg_timer_stop(l->timers, &l->deadline);
    if (l->call)
        l->transport->cancel(l->transport, l->call);
    l->call = NULL;
}

void prg_lease_free(struct prg_lease *l)
{
    if (!l)
        return;
    stop_calls(l);
    free(l->ns);
    free(l->name);
    free(l->identity);
    free(l->path);
    free(l->told_holder);
    free(l->record.holder);
    free(l->record.acquired);
    free(l->record.version);
    free(l);
}

void prg_lease_start(struct prg_lease *l)
{
    if (l->state != STOPPED)
        return;
    l->state = FOLLOWING;
    l->must_read = true;
    try_now(l);
}

static void tell_released(struct prg_lease *l)
{
    void (*done)(void *ctx) = l->released;
    l->state = STOPPED;
    l->released = NULL;
    if (done)
        done(l->released_ctx);
}

static void on_released(const struct prg_response *response, void *ctx)
{
    struct prg_lease *l = ctx;
    struct prg_error err = {0};
    l->call = NULL;
    l->record.is_there = false; // read anew when started again
    if (!prg_response_ok(response)) {
        prg_status_fail(response, &err);
        problem(l, &err);
    }
    tell_released(l);
}

static void on_nothing_to_release(void *ctx)
{
    tell_released(ctx);
}

void prg_lease_release(struct prg_lease *l, void (*done)(void *ctx), void *ctx)
{
    prg_auto_arena arena = {0};
    bool was_leading = l->state == LEADING;
    stop_calls(l);
    stop_leading(l, RELEASING);
    l->released = done;
    l->released_ctx = ctx;
    if (was_leading && is_ours(l))
        request(l, "PUT", l->path, prg_json_print_arena(&arena, make_lease(l, &arena, true), PRG_JSON_COMPACT),
                on_released);
    else
        prg_timer_start(l->timers, &l->retry, 0, on_nothing_to_release, l);
}
