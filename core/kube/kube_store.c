// SPDX-License-Identifier: Apache-2.0
// kube_store.c: cache, reflectors, client and recorder as one store.
#include "kube/kube_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "kube/adopt.h"
#include "object/meta.h"

struct watch { // one reflector
    struct prg_kube_store *store;
    struct prg_reflector *reflector;
    char *path, *api_version;
    bool is_counted; // as synced
    bool is_missing;
    bool may_be_denied;
};

struct prg_kube_store {
    struct prg_store store; // first
    struct prg_transport *transport;
    struct prg_timers *timers;
    struct prg_kube_store_options options;
    char **namespaces;
    struct prg_objects *objects, *metadata; // whole; of what only the metadata is kept
    struct prg_discovery *discovery;
    struct prg_client *client;
    struct prg_recorder *recorder;
    struct prg_vec watches; // struct watch
    size_t synced;          // of them
    bool is_started, has_told_sync;
};

// ---- reading ----

// A kind may be in both: some objects whole, all others as metadata.
static struct prg_object *find(const struct prg_kube_store *s, const struct prg_key *key)
{
    const struct prg_objects *caches[] = {s->objects, s->metadata};
    struct prg_object *object = NULL;
    for (size_t i = 0; !object && i < PRG_COUNT(caches); i++) {
        const struct prg_object_kind *kind = prg_objects_find_kind(caches[i], key->group, key->kind);
        object = kind ? prg_object_find(kind, key->ns, key->name) : NULL;
    }
    return object;
}

static const cJSON *kube_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct prg_object *object = find((const struct prg_kube_store *)reader, key);
    return object ? prg_object_tree(object) : NULL;
}

static const struct prg_reader *cache_of(const struct prg_reader *reader, const char *group, const char *kind)
{
    const struct prg_kube_store *s = (const struct prg_kube_store *)reader;
    return prg_objects_reader(prg_objects_find_kind(s->objects, group, kind) ? s->objects : s->metadata);
}

static void kube_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                      prg_reader_visit_fn visit, void *ctx)
{
    const struct prg_reader *cache = cache_of(reader, group, kind);
    cache->list(cache, group, kind, ns, visit, ctx);
}

static void kube_list_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                               const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    prg_reader_list_labelled(cache_of(reader, group, kind), group, kind, ns, label, value, visit, ctx);
}

struct summing {
    const char *ns; // NULL: all
    struct prg_reader_state state;
    bool is_unknown;
};

// A version is a number that grows with every write of the server, so the greatest one and the count are others after
// each change of a list. A server whose data were put back to an older state gives versions a second time; a client
// notices that by having to read the kind anew, so how often it was read belongs to the state. Texts that are no such
// number tell nothing. The lowest bit of what is told says that only metadata is there.
static bool read_version(const struct prg_object *object, uint64_t *ret)
{
    const char *text = prg_object_version(object);
    uint64_t value = 0;
    size_t length = strlen(text);
    if (!length || length > 18 || strspn(text, "0123456789") != length || text[0] == '0')
        return false;
    for (; *text; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    *ret = value;
    return true;
}

static void sum(const struct prg_object *object, void *ctx)
{
    struct summing *summing = ctx;
    uint64_t version;
    if (summing->ns && strcmp(summing->ns, prg_object_namespace(object)) != 0)
        return;
    if (!read_version(object, &version)) {
        summing->is_unknown = true;
        return;
    }
    if (version > summing->state.newest)
        summing->state.newest = version;
    summing->state.count++;
    summing->state.sum += version;
}

static bool is_whole(const struct prg_kube_store *s, const struct prg_key *key)
{
    const struct prg_object_kind *kind = prg_objects_find_kind(s->objects, key->group, key->kind);
    return kind && prg_object_find(kind, key->ns, key->name);
}

// Above the versions that servers come to: 2^47 are four million a second for a year.
static uint64_t readings(const struct prg_object_kind *kind)
{
    return (uint64_t)prg_object_kind_readings(kind) << 48;
}

// A list is told by its objects, and where labels choose, by those that have the label, if there is an index of it.
static bool kube_state(const struct prg_reader *reader, const struct prg_reader_question *question,
                       struct prg_reader_state *ret)
{
    const struct prg_kube_store *s = (const struct prg_kube_store *)reader;
    struct summing summing = {.ns = question->ns};
    if (question->name) {
        struct prg_key key = {question->group, question->kind, question->ns ? question->ns : "", question->name};
        const struct prg_object *object = find(s, &key);
        if (!object)
            return true;
        bool is_known = read_version(object, &ret->newest);
        ret->newest = (ret->newest << 1 | !is_whole(s, &key)) + readings(prg_object_kind_of(object));
        return is_known;
    }
    const struct prg_object_kind *kind = prg_objects_find_kind(s->objects, question->group, question->kind);
    bool is_metadata = !kind;
    if (is_metadata)
        kind = prg_objects_find_kind(s->metadata, question->group, question->kind);
    if (kind && question->label && prg_object_kind_has_index(kind, question->label))
        prg_object_each_labelled(kind, question->label, question->value, sum, &summing);
    else if (kind)
        prg_object_each(kind, question->ns, sum, &summing);
    *ret = summing.state;
    if (ret->count)
        ret->newest = (ret->newest << 1 | is_metadata) + readings(kind);
    return !summing.is_unknown;
}

// ---- writing ----

// Fields of an old controller are taken over only on objects that the subject of the intent controls.
static bool is_controlled_alike(const cJSON *intent, const cJSON *stored)
{
    const char *ours = prg_json_get_text(prg_owner_controller(intent), "uid");
    return ours && prg_text_equal(ours, prg_json_get_text(prg_owner_controller(stored), "uid"));
}

static void apply(struct prg_kube_store *s, const cJSON *intent, prg_write_fn fn, void *ctx)
{
    prg_auto_arena arena = {0};
    struct prg_key key;
    const struct prg_object *object = prg_key_of(&arena, intent, &key, NULL) == PRG_OK ? find(s, &key) : NULL;
    const cJSON *stored = object ? prg_object_tree(object) : NULL;
    uint32_t marks = object ? prg_object_marks(object) : 0;
    if (!is_controlled_alike(intent, stored))
        marks &= ~(uint32_t)PRG_MARK_OLD_MANAGER;
    prg_client_apply(s->client, intent, stored, marks, fn, ctx);
}

static void kube_start(struct prg_store *store, const struct prg_write_request *request, prg_write_fn fn, void *ctx)
{
    struct prg_kube_store *s = (struct prg_kube_store *)store;
    prg_auto_arena arena = {0};
    struct prg_key key;
    switch (request->kind) {
    case PRG_WRITE_APPLY:
        apply(s, request->object, fn, ctx);
        break;
    case PRG_WRITE_CREATE:
        prg_client_create(s->client, request->object, fn, ctx);
        break;
    case PRG_WRITE_PATCH:
        prg_client_patch(s->client, request->stored, request->object, fn, ctx);
        break;
    case PRG_WRITE_STATUS:
        prg_client_set_status(s->client, request->stored, request->object, request->owned, fn, ctx);
        break;
    case PRG_WRITE_DELETE:
        prg_require(prg_key_of(&arena, request->stored, &key, NULL) == PRG_OK);
        prg_client_delete(s->client, prg_json_get_text(request->stored, "apiVersion"), &key,
                          prg_meta_uid(request->stored), NULL, fn, ctx);
        break;
    }
}

static void kube_cancel(struct prg_store *store, void *ctx)
{
    prg_client_cancel(((struct prg_kube_store *)store)->client, ctx);
}

static int kube_record_event(struct prg_store *store, const struct prg_key *key, const struct prg_store_event *event,
                             int64_t now_ns, struct prg_error *err)
{
    struct prg_kube_store *s = (struct prg_kube_store *)store;
    const cJSON *object = kube_get(&store->reader, key);
    (void)now_ns; // the recorder has a clock of its own
    (void)err;
    if (!object)
        return PRG_OK; // gone: nobody would find an Event about it
    const char *version = prg_json_get_text(prg_json_get(object, "metadata"), "resourceVersion");
    struct prg_event_object about = {prg_json_get_text(object, "apiVersion"),
                                     key->kind,
                                     key->ns,
                                     key->name,
                                     prg_meta_uid(object),
                                     version ? version : ""};
    prg_recorder_add(s->recorder, &about, event->type, event->reason, event->message);
    return PRG_OK;
}

static int kube_refresh(struct prg_store *store, prg_store_watch_fn changed, void *ctx, struct prg_error *err)
{
    (void)store;
    (void)changed;
    (void)ctx;
    (void)err;
    return PRG_OK;
}

// ---- watching ----

static void on_change(enum prg_object_change change, const struct prg_object *old, const struct prg_object *object,
                      void *ctx)
{
    struct prg_kube_store *s = ((struct watch *)ctx)->store;
    struct prg_key key = prg_object_key(object ? object : old);
    if (change == PRG_OBJECT_REMOVED)
        prg_client_forget(s->client, &key);
    if (change == PRG_OBJECT_SAME || !s->has_told_sync || !s->options.changed)
        return;
    s->options.changed(&key, s->options.ctx);
}

static void count_synced(struct watch *watch)
{
    struct prg_kube_store *s = watch->store;
    if (watch->is_counted)
        return;
    watch->is_counted = true;
    s->synced++;
    if (!s->is_started || s->has_told_sync || s->synced < s->watches.count)
        return;
    s->has_told_sync = true;
    if (s->options.synced)
        s->options.synced(s->options.ctx);
}

static void on_synced(void *ctx)
{
    count_synced(ctx);
}

static void on_health(enum prg_reflector_health health, const struct prg_error *err, void *ctx)
{
    struct watch *watch = ctx;
    struct prg_kube_store *s = watch->store;
    if (s->options.health)
        s->options.health(watch->path, health, err, s->options.ctx);
    if (health == PRG_REFLECTOR_DENIED && watch->may_be_denied)
        count_synced(watch);
    if (health == PRG_REFLECTOR_MISSING)
        watch->is_missing = true;
    if (health != PRG_REFLECTOR_OK || !watch->is_missing)
        return;
    watch->is_missing = false;
    prg_discovery_forget(s->discovery, watch->api_version);
    if (s->has_told_sync && s->options.installed)
        s->options.installed(watch->path, s->options.ctx);
}

static bool concerns(const char *manager)
{
    return strcmp(manager, PRG_MANAGER) == 0 || prg_adopt_is_old(manager);
}

static uint32_t mark(const cJSON *object)
{
    return prg_adopt_mark(object, PRG_MANAGER);
}

static void add_watch(struct prg_kube_store *s, const struct prg_kube_watch *of, struct prg_object_kind *kept,
                      const struct prg_object_scope *scope)
{
    struct prg_resource resource = {of->group, of->version, of->kind, of->plural, of->is_namespaced};
    const char *ns = scope->ns, *name = scope->name;
    struct watch *watch = prg_xcalloc(1, sizeof(*watch));
    prg_auto_arena arena = {0};
    prg_auto_strbuf selector = PRG_STRBUF_INIT;
    watch->store = s;
    watch->api_version = prg_xstrdup(prg_arena_printf(&arena, "%s%s%s", of->group, *of->group ? "/" : "", of->version));
    watch->path = prg_xstrdup(prg_path_of(&arena, &resource, ns, NULL, NULL));
    // Who is let into some namespaces only may not read what lies outside of them, and does without.
    watch->may_be_denied = s->options.namespace_count && !ns;
    if (name) {
        prg_strbuf_puts(&selector, "fieldSelector=metadata.name%3D");
        prg_path_escape(&selector, name);
    } else if (of->label) {
        prg_strbuf_puts(&selector, "labelSelector=");
        prg_path_escape(&selector, of->label);
    }
    prg_vec_push(&s->watches, watch);
    struct prg_reflector_options options = {.path = watch->path,
                                            .selector = selector.length ? selector.text : NULL,
                                            .seed = prg_map_hash(watch->path, strlen(watch->path)),
                                            .uses_watch_list = true,
                                            .scope = *scope,
                                            .is_metadata_only = of->is_metadata_only};
    struct prg_reflector_handler handler = {on_change, on_health, on_synced, watch};
    watch->reflector = prg_reflector_new(s->transport, s->timers, kept, &options, &handler);
    if (s->is_started)
        prg_reflector_start(watch->reflector);
}

void prg_kube_store_watch(struct prg_kube_store *s, const struct prg_kube_watch *watch)
{
    struct prg_kind_options kind = {watch->group, watch->version, watch->kind, watch->labels, watch->prune};
    struct prg_object_kind *kept = prg_objects_kind(watch->is_metadata_only ? s->metadata : s->objects, &kind);
    struct prg_object_scope scope = {prg_object_kind_add_source(kept), watch->ns, watch->name};
    size_t count = s->options.namespace_count;
    bool is_of_namespaces = strcmp(watch->kind, "Namespace") == 0 && !*watch->group;
    prg_require(!watch->name || watch->ns || !watch->is_namespaced);
    prg_object_kind_set_mark(kept, concerns, mark);
    if (!count || watch->ns || (!watch->is_namespaced && !is_of_namespaces)) {
        add_watch(s, watch, kept, &scope);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        *(is_of_namespaces ? &scope.name : &scope.ns) = s->namespaces[i];
        add_watch(s, watch, kept, &scope);
    }
}

void prg_kube_store_start(struct prg_kube_store *s)
{
    s->is_started = true;
    for (size_t i = 0; i < s->watches.count; i++)
        prg_reflector_start(((struct watch *)s->watches.items[i])->reflector);
}

bool prg_kube_store_is_read(const struct prg_kube_store *s, char *why, size_t size)
{
    if (!s->is_started) {
        snprintf(why, size, "reading has not begun");
        return false;
    }
    for (size_t i = 0; i < s->watches.count; i++) {
        const struct watch *watch = s->watches.items[i];
        bool is_denied = prg_reflector_health(watch->reflector) == PRG_REFLECTOR_DENIED && !watch->may_be_denied;
        if (!is_denied && watch->is_counted)
            continue;
        snprintf(why, size, is_denied ? "not allowed to list or watch %s" : "%s has not been read yet", watch->path);
        return false;
    }
    return true;
}

void prg_kube_store_halt(struct prg_kube_store *s)
{
    prg_client_halt(s->client);
}

void prg_kube_store_trim(struct prg_kube_store *s)
{
    prg_objects_trim(s->objects);
    prg_objects_trim(s->metadata);
}

void prg_kube_store_count(const struct prg_kube_store *s, struct prg_kube_store_counts *ret)
{
    *ret = (struct prg_kube_store_counts){.objects = prg_objects_count(s->objects) + prg_objects_count(s->metadata),
                                          .open_writes = prg_client_open(s->client),
                                          .events_waiting = prg_recorder_waiting(s->recorder),
                                          .writes = prg_client_requests(s->client)};
    for (size_t i = 0; i < s->watches.count; i++) {
        const struct prg_reflector_counts *counts =
            prg_reflector_count(((const struct watch *)s->watches.items[i])->reflector);
        ret->lists += counts->lists;
        ret->watches += counts->watches;
        ret->events += counts->events;
    }
}

// ---- life ----

static void kube_free(struct prg_store *store)
{
    struct prg_kube_store *s = (struct prg_kube_store *)store;
    for (size_t i = 0; i < s->watches.count; i++) {
        struct watch *watch = s->watches.items[i];
        prg_reflector_free(watch->reflector);
        free(watch->path);
        free(watch->api_version);
        free(watch);
    }
    prg_vec_release(&s->watches);
    prg_client_free(s->client);
    prg_recorder_free(s->recorder);
    prg_discovery_free(s->discovery);
    prg_objects_free(s->objects);
    prg_objects_free(s->metadata);
    for (size_t i = 0; i < s->options.namespace_count; i++)
        free(s->namespaces[i]);
    free(s->namespaces);
    free(s);
}

struct prg_kube_store *prg_kube_store_new(struct prg_transport *transport, struct prg_timers *timers,
                                          const struct prg_kube_store_options *options)
{
    static const struct prg_store_ops ops = {
        .start = kube_start,
        .cancel = kube_cancel,
        .record_event = kube_record_event,
        .refresh = kube_refresh,
        .free = kube_free,
    };
    struct prg_kube_store *s = prg_xcalloc(1, sizeof(*s));
    s->store.reader = (struct prg_reader){
        .get = kube_get, .list = kube_list, .list_labelled = kube_list_labelled, .state = kube_state};
    s->store.ops = &ops;
    s->transport = transport;
    s->timers = timers;
    s->options = *options;
    s->namespaces = prg_xcalloc(options->namespace_count + 1, sizeof(*s->namespaces));
    for (size_t i = 0; i < options->namespace_count; i++)
        s->namespaces[i] = prg_xstrdup(options->namespaces[i]);
    s->options.namespaces = (const char *const *)s->namespaces;
    s->options.instance = NULL; // the recorder has a copy
    prg_vec_init(&s->watches);
    s->objects = prg_objects_new(0);
    s->metadata = prg_objects_new(1 << 20);
    s->discovery = prg_discovery_new(transport, timers);
    struct prg_client_options client = {.may_write = options->may_write, .ctx = options->ctx};
    s->client = prg_client_new(transport, timers, s->discovery, &client);
    struct prg_recorder_options recorder = {.instance = options->instance,
                                            .may_write = options->may_write,
                                            .ctx = options->ctx,
                                            .seed = prg_map_hash("events", 6)};
    s->recorder = prg_recorder_new(transport, timers, &recorder);
    return s;
}

struct prg_store *prg_kube_store_base(struct prg_kube_store *s)
{
    return &s->store;
}
