// SPDX-License-Identifier: Apache-2.0
// recorder.c: from an occurrence to a request. Source of the rules: client-go tools/record, event.go and
// events_cache.go.
//
//   gather: from the tenth different message about one object and reason within ten minutes on, one event stands for
//           all, "(combined from similar events): " and the last message;
//   count:  the same event again is a patch of its count and time;
//   filter: an object may have 25 at once and one more each five minutes;
//   send:   one after the other; twelve tries ten seconds apart, and only when the server did not answer at all.
#include "kube/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/path.h"

#define MAX_SIMILAR 10
#define SIMILAR_MS (10 * 60 * 1000)
#define BURST 25.0
#define REFILL_MS 300000.0
#define MAX_KEPT 4096 // of each memory
#define MAX_WAITING 1000
#define MAX_TRIES 12
#define TRY_MS 10000
#define MAX_MESSAGE 1024
#define PREFIX "(combined from similar events): "

struct memory { // map with the oldest forgotten first
    struct prg_map map;
};

struct similar { // messages of one object, type and reason
    uint64_t last_ms;
    struct prg_map messages; // message -> itself
};

struct seen { // an event that the server has
    char *name, *first_time;
    unsigned count;
};

struct bucket { // of one object
    double tokens;
    uint64_t last_ms;
};

struct waiting { // an event to send
    struct prg_arena arena;
    const char *ns, *name;
    cJSON *event; // whole
    bool is_patch;
    unsigned tries;
};

struct prg_recorder {
    struct prg_transport *transport;
    struct prg_timers *timers;
    struct prg_recorder_options options;
    char *component, *instance;
    struct memory similar, events, buckets;
    struct prg_vec queue;  // struct waiting, oldest first
    struct prg_call *call; // of queue[0]
    struct prg_timer timer;
    struct prg_recorder_counts counts;
};

// ---- memories ----

typedef void (*forget_fn)(void *value);

static void forget_similar(void *value)
{
    struct similar *similar = value;
    prg_map_release(&similar->messages);
    free(similar);
}

static void forget_seen(void *value)
{
    struct seen *seen = value;
    free(seen->name);
    free(seen->first_time);
    free(seen);
}

static void memory_clear(struct memory *memory, forget_fn forget)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&memory->map, &i));)
        forget(entry->value);
    prg_map_release(&memory->map);
}

// The value of key, made with `size` zeroed bytes when there is none; used last from now on.
static void *memory_use(struct memory *memory, const char *key, size_t size, forget_fn forget)
{
    void *value = prg_map_remove(&memory->map, key);
    size_t first = 0;
    if (!value)
        value = prg_xcalloc(1, size);
    if (memory->map.count >= MAX_KEPT) {
        const struct prg_map_entry *oldest = prg_map_next(&memory->map, &first);
        prg_auto_strbuf name = PRG_STRBUF_INIT;
        prg_strbuf_add(&name, oldest->key, oldest->key_length);
        forget(prg_map_remove(&memory->map, name.text));
    }
    prg_map_put(&memory->map, key, value);
    return value;
}

// ---- gather, count, filter ----

static void object_key(struct prg_strbuf *out, const struct prg_event_object *o)
{
    prg_strbuf_printf(out, "%s\x01%s\x01%s\x01%s\x01%s", o->api_version, o->kind, o->ns, o->name, o->uid);
}

// Whether the message is one too many of its kind.
static bool gather(struct prg_recorder *r, const char *key, const char *message)
{
    struct similar *similar = memory_use(&r->similar, key, sizeof(*similar), forget_similar);
    uint64_t now = prg_timers_now(r->timers);
    if (similar->messages.count && now - similar->last_ms > SIMILAR_MS)
        prg_map_clear(&similar->messages);
    similar->last_ms = now;
    if (prg_map_get(&similar->messages, message))
        return false;
    if (similar->messages.count >= MAX_SIMILAR - 1)
        return true;
    prg_map_put(&similar->messages, message, similar);
    return false;
}

static bool filter(struct prg_recorder *r, const char *key)
{
    uint64_t now = prg_timers_now(r->timers);
    struct bucket *bucket = memory_use(&r->buckets, key, sizeof(*bucket), free);
    if (!bucket->last_ms)
        bucket->tokens = BURST;
    else
        bucket->tokens += (double)(now - bucket->last_ms) / REFILL_MS;
    bucket->last_ms = now ? now : 1;
    if (bucket->tokens > BURST)
        bucket->tokens = BURST;
    if (bucket->tokens < 1)
        return false;
    bucket->tokens -= 1;
    return true;
}

// ---- events ----

static const char *cut_message(struct prg_arena *arena, const char *message)
{
    size_t length = strlen(message);
    if (length <= MAX_MESSAGE)
        return prg_arena_strdup(arena, message);
    for (length = MAX_MESSAGE - 3; length > 0 && ((unsigned char)message[length] & 0xc0) == 0x80; length--)
        ;
    return prg_arena_printf(arena, "%.*s...", (int)length, message);
}

static cJSON *make_event(struct prg_recorder *r, struct waiting *w, const struct prg_event_object *o, const char *type,
                         const char *reason, const char *message, const struct seen *seen)
{
    struct prg_arena *arena = &w->arena;
    cJSON *event = prg_json_object(arena), *metadata = prg_json_ensure_object(arena, event, "metadata");
    cJSON *about = prg_json_ensure_object(arena, event, "involvedObject");
    char now[PRG_CLOCK_TEXT];
    prg_clock_format(prg_timers_wall_ns(r->timers), now);
    prg_json_set_string(arena, event, "apiVersion", "v1");
    prg_json_set_string(arena, event, "kind", "Event");
    prg_json_set_string(arena, metadata, "name", seen->name);
    prg_json_set_string(arena, metadata, "namespace", w->ns);
    prg_json_set_string(arena, about, "apiVersion", o->api_version);
    prg_json_set_string(arena, about, "kind", o->kind);
    if (*o->ns) // the server refuses an event in another namespace than its object's
        prg_json_set_string(arena, about, "namespace", o->ns);
    prg_json_set_string(arena, about, "name", o->name);
    if (o->uid && *o->uid)
        prg_json_set_string(arena, about, "uid", o->uid);
    if (o->version && *o->version)
        prg_json_set_string(arena, about, "resourceVersion", o->version);
    prg_json_set_string(arena, event, "type", type);
    prg_json_set_string(arena, event, "reason", reason);
    prg_json_set_string(arena, event, "message", message);
    prg_json_set_string(arena, event, "firstTimestamp", seen->first_time);
    prg_json_set_string(arena, event, "lastTimestamp", now);
    prg_json_set_int(arena, event, "count", seen->count);
    prg_json_set_string(arena, prg_json_ensure_object(arena, event, "source"), "component", r->component);
    prg_json_set_string(arena, event, "reportingComponent", r->component);
    prg_json_set_string(arena, event, "reportingInstance", r->instance);
    return event;
}

// Counts the event under key; the first gets a name.
static struct seen *count_event(struct prg_recorder *r, const char *key, const struct prg_event_object *o)
{
    struct seen *seen = memory_use(&r->events, key, sizeof(*seen), forget_seen);
    if (!seen->count) {
        prg_auto_arena arena = {0};
        char now[PRG_CLOCK_TEXT];
        prg_clock_format(prg_timers_wall_ns(r->timers), now);
        // Unique by the time in ns and some chance; a name is at most 253 characters.
        uint64_t stamp = (uint64_t)prg_timers_wall_ns(r->timers) + (uint64_t)(prg_random(&r->options.seed) * 1e6);
        seen->name = prg_xstrdup(prg_arena_printf(&arena, "%.230s.%llx", o->name, (unsigned long long)stamp));
        seen->first_time = prg_xstrdup(now);
    }
    seen->count++;
    return seen;
}

// ---- sending ----

static void send_next(struct prg_recorder *r);

static void waiting_free(struct waiting *w)
{
    prg_arena_release(&w->arena);
    free(w);
}

static void queue_shift(struct prg_recorder *r)
{
    waiting_free(r->queue.items[0]);
    r->queue.count--;
    memmove(r->queue.items, r->queue.items + 1, r->queue.count * sizeof(*r->queue.items));
}

static void on_timer(void *ctx)
{
    send_next(ctx);
}

static void on_done(const struct prg_response *response, void *ctx)
{
    struct prg_recorder *r = ctx;
    struct waiting *w = r->queue.items[0];
    r->call = NULL;
    if (response->fault == PRG_FAULT_NONE) {
        if (w->is_patch && response->status == 404) { // it was deleted: made anew
            w->is_patch = false;
            send_next(r);
            return;
        }
        *(prg_response_ok(response) ? &r->counts.sent : &r->counts.dropped) += 1;
        queue_shift(r);
        send_next(r);
    } else if (++w->tries >= MAX_TRIES) {
        r->counts.dropped++;
        queue_shift(r);
        send_next(r);
    } else {
        // The first wait is a part of the ten seconds, so that many replicas do not come at once.
        double part = w->tries == 1 ? prg_random(&r->options.seed) : 1;
        prg_timer_start(r->timers, &r->timer, (uint64_t)(TRY_MS * part), on_timer, r);
    }
}

static cJSON *patch_of(struct waiting *w)
{
    static const char *const keys[] = {"count", "lastTimestamp", "message"};
    cJSON *patch = prg_json_object(&w->arena);
    for (size_t i = 0; i < PRG_COUNT(keys); i++)
        prg_json_set(&w->arena, patch, keys[i], prg_json_copy(&w->arena, prg_json_get(w->event, keys[i])));
    return patch;
}

static void send_next(struct prg_recorder *r)
{
    static const struct prg_resource resource = {"", "v1", "Event", "events", true};
    struct prg_call_handler handler = {.done = on_done};
    if (r->call) // the first is under way, and waited for
        return;
    while (r->queue.count && r->options.may_write && !r->options.may_write(r->options.ctx)) {
        r->counts.dropped++;
        queue_shift(r);
    }
    if (!r->queue.count || prg_timer_is_running(&r->timer))
        return;
    struct waiting *w = r->queue.items[0];
    const cJSON *body = w->is_patch ? patch_of(w) : w->event;
    const char *text = prg_json_print_arena(&w->arena, body, PRG_JSON_COMPACT);
    struct prg_request request = {.method = w->is_patch ? "PATCH" : "POST",
                                  .path = prg_path_of(&w->arena, &resource, w->ns, w->is_patch ? w->name : NULL, NULL),
                                  .kind = PRG_CALL_WRITE,
                                  .content_type = w->is_patch ? "application/strategic-merge-patch+json" : NULL,
                                  .body = text,
                                  .body_length = strlen(text),
                                  .deadline_ms = 10000,
                                  .max_bytes = 1u << 20};
    r->call = r->transport->start(r->transport, &request, &handler, r);
}

// ---- interface ----

void prg_recorder_add(struct prg_recorder *r, const struct prg_event_object *object, const char *type,
                      const char *reason, const char *message)
{
    prg_auto_arena arena = {0};
    prg_auto_strbuf about = PRG_STRBUF_INIT, key = PRG_STRBUF_INIT;
    message = cut_message(&arena, message);
    object_key(&about, object);
    prg_strbuf_printf(&key, "%s\x01%s\x01%s", about.text, type, reason);
    if (gather(r, key.text, message)) {
        r->counts.gathered++;
        message = cut_message(&arena, prg_arena_printf(&arena, PREFIX "%s", message));
    } else {
        prg_strbuf_printf(&key, "\x01%s", message);
    }
    struct seen *seen = count_event(r, key.text, object);
    if (!filter(r, about.text)) {
        r->counts.filtered++;
        return;
    }
    if (r->queue.count >= MAX_WAITING) {
        r->counts.dropped++;
        return;
    }
    struct waiting *w = prg_xcalloc(1, sizeof(*w));
    prg_arena_init(&w->arena);
    w->ns = prg_arena_strdup(&w->arena, *object->ns ? object->ns : "default");
    w->name = prg_arena_strdup(&w->arena, seen->name);
    w->is_patch = seen->count > 1;
    w->event = make_event(r, w, object, type, reason, message, seen);
    prg_vec_push(&r->queue, w);
    send_next(r);
}

struct prg_recorder *prg_recorder_new(struct prg_transport *transport, struct prg_timers *timers,
                                      const struct prg_recorder_options *options)
{
    struct prg_recorder *r = prg_xcalloc(1, sizeof(*r));
    r->transport = transport;
    r->timers = timers;
    r->options = *options;
    r->options.component = r->component = prg_xstrdup(options->component ? options->component : "perigee");
    r->options.instance = r->instance = prg_xstrdup(options->instance ? options->instance : r->component);
    prg_map_init(&r->similar.map);
    prg_map_init(&r->events.map);
    prg_map_init(&r->buckets.map);
    prg_vec_init(&r->queue);
    return r;
}

void prg_recorder_free(struct prg_recorder *r)
{
    if (!r)
        return;
    prg_timer_stop(r->timers, &r->timer);
    if (r->call)
        r->transport->cancel(r->transport, r->call);
    while (r->queue.count)
        queue_shift(r);
    prg_vec_release(&r->queue);
    memory_clear(&r->similar, forget_similar);
    memory_clear(&r->events, forget_seen);
    memory_clear(&r->buckets, free);
    free(r->component);
    free(r->instance);
    free(r);
}

size_t prg_recorder_waiting(const struct prg_recorder *r)
{
    return r->queue.count;
}

const struct prg_recorder_counts *prg_recorder_count(const struct prg_recorder *r)
{
    return &r->counts;
}
