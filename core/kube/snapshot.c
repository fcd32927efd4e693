// SPDX-License-Identifier: Apache-2.0
// snapshot.c: questions to the API server that are asked once, and the loop that waits for their answers.
#include "kube/snapshot.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "kube/http.h"
#include "kube/objects.h"
#include "kube/path.h"
#include "kube/split.h"
#include "kube/status.h"
#include "object/meta.h"

enum {
    PAGE_SIZE = 500,
    LIST_RESTARTS = 3,     // of a list whose continue token has expired
    GETS_BEFORE_LIST = 20, // single objects of a kind, in bulk mode
    GET_DEADLINE_MS = 30000,
    GET_IDLE_MS = 10000,
    LIST_DEADLINE_MS = 5 * 60 * 1000,
    LIST_IDLE_MS = 30000,
};

struct kind {
    struct prg_resource resource;
    bool is_bulk;    // worth a list of all in bulk mode
    bool may_miss;   // a plan can do without when it may not be read
    bool is_missing; // the server said so
    bool is_list_denied;
    unsigned gets;
};

// What plans read and make, under the versions that they use. Others are asked of the server.
static const struct kind known_kinds[] = {
    {.resource = {"serving.kserve.io", "v1beta1", "InferenceService", "inferenceservices", true}, .is_bulk = true},
    {.resource = {"serving.kserve.io", "v1alpha1", "ServingRuntime", "servingruntimes", true}, .is_bulk = true},
    {.resource = {"serving.kserve.io", "v1alpha1", "ClusterServingRuntime", "clusterservingruntimes", false},
     .is_bulk = true},
    {.resource = {"serving.kserve.io", "v1alpha1", "ClusterStorageContainer", "clusterstoragecontainers", false},
     .is_bulk = true},
    {.resource = {"sedna.io", "v1alpha1", "IncrementalLearningJob", "incrementallearningjobs", true}, .is_bulk = true},
    {.resource = {"sedna.io", "v1alpha1", "Dataset", "datasets", true}, .is_bulk = true},
    {.resource = {"sedna.io", "v1alpha1", "Model", "models", true}, .is_bulk = true},
    {.resource = {"apps", "v1", "Deployment", "deployments", true}, .is_bulk = true},
    {.resource = {"", "v1", "Service", "services", true}, .is_bulk = true},
    {.resource = {"", "v1", "Pod", "pods", true}, .is_bulk = true},
    {.resource = {"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true}, .is_bulk = true},
    {.resource = {"keda.sh", "v1alpha1", "ScaledObject", "scaledobjects", true}, .is_bulk = true},
    {.resource = {"serving.knative.dev", "v1", "Service", "services", true}, .is_bulk = true},
    {.resource = {"opentelemetry.io", "v1beta1", "OpenTelemetryCollector", "opentelemetrycollectors", true},
     .is_bulk = true},
    {.resource = {"gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes", true}, .is_bulk = true},
    {.resource = {"networking.k8s.io", "v1", "Ingress", "ingresses", true}, .is_bulk = true},
    {.resource = {"", "v1", "ConfigMap", "configmaps", true}},
    {.resource = {"", "v1", "Secret", "secrets", true}},
    {.resource = {"", "v1", "ServiceAccount", "serviceaccounts", true}},
    {.resource = {"", "v1", "Namespace", "namespaces", false}, .may_miss = true},
};

struct snapshot {
    struct prg_store store; // first
    struct prg_kube_config config;
    struct prg_snapshot_options options;
    pthread_mutex_t lock; // of all below
    struct prg_arena arena;
    uv_loop_t loop;
    struct prg_timers *timers;
    struct prg_http *http;
    struct prg_map kinds;      // group, kind -> struct kind
    struct prg_map answers;    // group, kind, namespace, name, selector -> struct answer
    struct prg_error trouble;  // the first; code PRG_OK: none
    bool has_asked, has_heard; // a question was sent, answered
    struct prg_vec waiting;    // struct answer * that are sent after that, see start
};

struct answer { // to one question; lives as long as the snapshot
    struct snapshot *snapshot;
    struct kind *kind;
    const char *ns;       // NULL: all namespaces, or cluster scope
    const char *name;     // NULL: a list
    const char *selector; // of a list: "label=value", or NULL
    bool is_done;
    const cJSON *object;
    struct prg_vec items;   // of a list, by namespace and name
    struct prg_map by_name; // namespace, name -> object
    struct prg_split *split;
    const char *next; // continue token
    unsigned restarts;
    struct prg_error err; // code PRG_OK: none
};

static const char PART_END = '\x1f'; // in no name

static struct snapshot *snapshot_of(const struct prg_store *store)
{
    prg_require(prg_snapshot_is(store));
    return (struct snapshot *)store;
}

// ---- what is asked ----

// "Secret default/x", "all of kind Pod in namespace default".
static const char *what_of(const struct answer *a, char *buffer, size_t size)
{
    const char *kind = a->kind->resource.kind;
    if (a->name)
        snprintf(buffer, size, "%s %s%s%s", kind, a->ns ? a->ns : "", a->ns ? "/" : "", a->name);
    else
        snprintf(buffer, size, "list of kind %s%s%s", kind, a->ns ? " in namespace " : "", a->ns ? a->ns : "");
    return buffer;
}

static void wrap_with_place(const struct answer *a, int status, struct prg_error *err)
{
    const struct prg_kube_config *config = &a->snapshot->config;
    char what[600];
    if (status == 401)
        prg_wrap(err, "the credentials of user '%s' are not accepted; log in again", config->user);
    prg_wrap(err, "%s", what_of(a, what, sizeof(what)));
    prg_wrap(err, "cluster '%s' (context '%s' of %s)", config->cluster, config->context, config->source);
}

// The object as plans read it: whole, but for what only the server needs.
static const cJSON *take_object(struct snapshot *s, const struct kind *kind, const char *text, size_t length,
                                bool is_item, struct prg_error *err)
{
    prg_auto_arena scratch = {0};
    cJSON *object;
    const struct prg_resource *r = &kind->resource;
    if (prg_json_parse(&scratch, text, length, NULL, &object, err) != PRG_OK)
        return NULL;
    cJSON *meta = prg_json_get(object, "metadata");
    if (!prg_json_is_object(meta) || !prg_json_get_text(meta, "name")) {
        prg_fail(err, PRG_INVALID, "the answer of the server is no object with a name");
        return NULL;
    }
    cJSON *annotations = prg_json_get(meta, "annotations");
    prg_json_remove(meta, "managedFields");
    if (annotations)
        prg_json_remove(annotations, "kubectl.kubernetes.io/last-applied-configuration");
    if (annotations && !prg_json_count(annotations))
        prg_json_remove(meta, "annotations");
    if (!prg_json_get_text(object, "apiVersion")) // items of a list come without
        prg_json_set(&scratch, object, "apiVersion",
                     prg_json_stringf(&scratch, "%s%s%s", r->group, *r->group ? "/" : "", r->version));
    if (!prg_json_get_text(object, "kind"))
        prg_json_set_string(&scratch, object, "kind", r->kind);
    if (is_item && strcmp(r->kind, "Pod") == 0 && !*r->group)
        prg_json_prune(object, prg_prune_pod);
    return prg_json_copy(&s->arena, object);
}

static void start(struct answer *a);
static void send_now(struct answer *a);

// The first answer is there, so the connection is.
static void send_waiting(struct snapshot *s)
{
    s->has_heard = true;
    for (size_t i = 0; i < s->waiting.count; i++)
        send_now(s->waiting.items[i]);
    s->waiting.count = 0;
}

static void finish(struct answer *a, int status)
{
    prg_split_free(a->split);
    a->split = NULL;
    a->is_done = true;
    if (a->err.code == PRG_OK)
        return;
    wrap_with_place(a, status, &a->err);
    a->object = NULL;
    a->items.count = 0;
    prg_map_clear(&a->by_name);
}

// ---- one object ----

// Of an object that is not there the server says its name; of a kind that is not there it does not.
static bool is_about_object(const struct prg_response *response)
{
    prg_auto_arena scratch = {0};
    struct prg_status status;
    prg_status_of(&scratch, response, &status);
    return prg_json_get_text(status.details, "name") != NULL;
}

static void on_got(const struct prg_response *response, void *ctx)
{
    struct answer *a = ctx;
    if (prg_response_ok(response))
        a->object = take_object(a->snapshot, a->kind, response->body, response->body_length, false, &a->err);
    else if (response->fault == PRG_FAULT_NONE && response->status == 404)
        a->kind->is_missing = a->kind->is_missing || !is_about_object(response);
    else
        prg_status_fail(response, &a->err);
    finish(a, response->status);
    send_waiting(a->snapshot);
}

// ---- lists ----

static const char *name_bytes(struct prg_strbuf *out, const char *ns, const char *name)
{
    prg_strbuf_clear(out);
    prg_strbuf_printf(out, "%s%c%s", ns, PART_END, name);
    return out->text;
}

static bool on_item(const char *type, const char *text, size_t length, void *ctx)
{
    struct answer *a = ctx;
    (void)type;
    const cJSON *object = take_object(a->snapshot, a->kind, text, length, true, &a->err);
    if (object)
        prg_vec_push(&a->items, (void *)object);
    return object != NULL;
}

static bool on_list_data(const char *bytes, size_t length, void *ctx)
{
    struct answer *a = ctx;
    struct prg_error err = {0};
    if (prg_split_feed(a->split, bytes, length, &err) == PRG_OK)
        return true;
    if (a->err.code == PRG_OK) // else the item's own
        a->err = err;
    return false;
}

static int compare_objects(const void *a, const void *b, void *ctx)
{
    int rc = strcmp(prg_meta_namespace(a), prg_meta_namespace(b));
    (void)ctx;
    return rc ? rc : strcmp(prg_meta_name(a), prg_meta_name(b));
}

static void index_items(struct answer *a)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    prg_vec_sort(&a->items, compare_objects, NULL);
    for (size_t i = 0; i < a->items.count; i++)
        prg_map_put(&a->by_name,
                    name_bytes(&bytes, prg_meta_namespace(a->items.items[i]), prg_meta_name(a->items.items[i])),
                    a->items.items[i]);
}

// The token of the next page, or NULL.
static const char *next_page(struct answer *a)
{
    prg_auto_arena scratch = {0};
    cJSON *meta = NULL;
    const char *text = prg_split_member(a->split, "metadata");
    if (!*text || prg_json_parse(&scratch, text, strlen(text), NULL, &meta, &a->err) != PRG_OK)
        return NULL;
    const char *token = prg_json_get_text(meta, "continue");
    return token && *token ? prg_arena_strdup(&a->snapshot->arena, token) : NULL;
}

static void on_listed(const struct prg_response *response, void *ctx)
{
    struct answer *a = ctx;
    send_waiting(a->snapshot);
    if (prg_response_ok(response)) {
        if (prg_split_finish(a->split, &a->err) == PRG_OK)
            a->next = next_page(a);
        if (a->err.code == PRG_OK && a->next) {
            start(a);
            return;
        }
        if (a->err.code == PRG_OK)
            index_items(a);
    } else if (response->fault == PRG_FAULT_NONE && response->status == 410 && a->next &&
               a->restarts++ < LIST_RESTARTS) {
        a->next = NULL; // the server has forgotten the state that the pages were of
        a->items.count = 0;
        start(a);
        return;
    } else if (response->fault == PRG_FAULT_NONE && response->status == 404) {
        a->kind->is_missing = true;
    } else if (a->err.code == PRG_OK) {
        prg_status_fail(response, &a->err);
    }
    finish(a, response->status);
}

// libcurl (7.88) lets requests that wait for a connection to share go one after the other, each after the answer of the
// one before; those that find the connection there go together.
static void start(struct answer *a)
{
    struct snapshot *s = a->snapshot;
    if (s->has_asked && !s->has_heard) {
        prg_vec_push(&s->waiting, a);
        return;
    }
    s->has_asked = true;
    send_now(a);
}

static void send_now(struct answer *a)
{
    struct snapshot *s = a->snapshot;
    struct prg_transport *transport = prg_http_transport(s->http);
    prg_auto_arena scratch = {0};
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    struct prg_request request = {.method = "GET", .deadline_ms = GET_DEADLINE_MS, .idle_ms = GET_IDLE_MS};
    struct prg_call_handler handler = {.done = on_got};
    prg_strbuf_puts(&path, prg_path_of(&scratch, &a->kind->resource, a->ns, a->name, NULL));
    if (!a->name) {
        struct prg_split_handler split = {on_item, a};
        prg_strbuf_printf(&path, "?limit=%d", PAGE_SIZE);
        if (a->selector) {
            prg_strbuf_puts(&path, "&labelSelector=");
            prg_path_escape(&path, a->selector);
        }
        if (a->next) {
            prg_strbuf_puts(&path, "&continue=");
            prg_path_escape(&path, a->next);
        }
        prg_split_free(a->split);
        a->split = prg_split_new(PRG_SPLIT_LIST, 0, &split);
        handler = (struct prg_call_handler){.data = on_list_data, .done = on_listed};
        request.deadline_ms = LIST_DEADLINE_MS;
        request.idle_ms = LIST_IDLE_MS;
    }
    request.path = path.text;
    transport->start(transport, &request, &handler, a);
}

static struct answer *find_selected(const struct snapshot *s, const struct kind *kind, const char *ns, const char *name,
                                    const char *selector, struct prg_strbuf *ret_bytes)
{
    const char *const parts[] = {kind->resource.group, kind->resource.kind, ns, name, selector};
    prg_strbuf_clear(ret_bytes);
    for (size_t i = 0; i < PRG_COUNT(parts); i++)
        prg_strbuf_printf(ret_bytes, "%s%c", parts[i] ? parts[i] : "", PART_END);
    return prg_map_get(&s->answers, ret_bytes->text);
}

static struct answer *find_answer(const struct snapshot *s, const struct kind *kind, const char *ns, const char *name)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    return find_selected(s, kind, ns, name, NULL, &bytes);
}

static struct answer *ask(struct snapshot *s, struct kind *kind, const char *ns, const char *name, const char *selector)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    struct answer *a = find_selected(s, kind, ns, name, selector, &bytes);
    if (a)
        return a;
    a = prg_arena_new(&s->arena, struct answer);
    a->snapshot = s;
    a->kind = kind;
    a->ns = ns ? prg_arena_strdup(&s->arena, ns) : NULL;
    a->name = name ? prg_arena_strdup(&s->arena, name) : NULL;
    a->selector = selector ? prg_arena_strdup(&s->arena, selector) : NULL;
    prg_vec_init(&a->items);
    prg_map_init(&a->by_name);
    prg_map_put(&s->answers, bytes.text, a);
    if (kind->is_missing)
        a->is_done = true;
    else
        start(a);
    return a;
}

static void wait_for(struct answer *a)
{
    while (!a->is_done)
        prg_require(uv_run(&a->snapshot->loop, UV_RUN_ONCE) || a->is_done);
}

// Waits, and keeps what went wrong.
static const struct answer *answered(struct answer *a)
{
    struct snapshot *s = a->snapshot;
    wait_for(a);
    if (a->err.code == PRG_OK)
        return a;
    if (!a->kind->may_miss) {
        if (s->trouble.code == PRG_OK)
            s->trouble = a->err;
    } else if (s->options.warn) {
        char text[PRG_ERROR_LINE];
        s->options.warn(prg_error_text(&a->err, text, sizeof(text)), s->options.ctx);
        prg_error_clear(&a->err); // once is enough
    }
    return a;
}

// ---- kinds ----

struct document { // of discovery
    struct snapshot *snapshot;
    struct prg_arena *arena;
    cJSON *root;
    struct prg_error err;
    bool is_done, is_missing;
};

static void on_document(const struct prg_response *response, void *ctx)
{
    struct document *d = ctx;
    if (prg_response_ok(response)) {
        if (prg_json_parse(d->arena, response->body, response->body_length, NULL, &d->root, &d->err) != PRG_OK)
            d->root = NULL;
    } else if (response->fault == PRG_FAULT_NONE && response->status == 404) {
        d->is_missing = true;
    } else {
        prg_status_fail(response, &d->err);
    }
    d->is_done = true;
    send_waiting(d->snapshot);
}

// NULL: not there, or trouble.
static cJSON *fetch_document(struct snapshot *s, struct prg_arena *arena, const char *path)
{
    struct prg_transport *transport = prg_http_transport(s->http);
    struct document d = {.snapshot = s, .arena = arena};
    struct prg_request request = {
        .method = "GET", .path = path, .deadline_ms = GET_DEADLINE_MS, .idle_ms = GET_IDLE_MS};
    struct prg_call_handler handler = {.done = on_document};
    transport->start(transport, &request, &handler, &d);
    while (!d.is_done)
        prg_require(uv_run(&s->loop, UV_RUN_ONCE) || d.is_done);
    if (d.err.code != PRG_OK && s->trouble.code == PRG_OK) {
        prg_wrap(&d.err, "cluster '%s': resources", s->config.cluster);
        s->trouble = d.err;
    }
    return d.root;
}

// A kind that is not in the table, in the version that the server prefers.
static void discover(struct snapshot *s, const char *group, const char *kind_name, struct kind *kind)
{
    prg_auto_arena scratch = {0};
    const cJSON *item;
    const char *version = *group ? NULL : "v1";
    kind->resource = (struct prg_resource){.group = prg_arena_strdup(&s->arena, group),
                                           .version = "",
                                           .kind = prg_arena_strdup(&s->arena, kind_name),
                                           .plural = ""};
    kind->is_missing = true;
    if (*group)
        version =
            prg_json_get_text(prg_json_get(fetch_document(s, &scratch, prg_arena_printf(&scratch, "/apis/%s", group)),
                                           "preferredVersion"),
                              "version");
    if (!version)
        return;
    const cJSON *list =
        fetch_document(s, &scratch, *group ? prg_arena_printf(&scratch, "/apis/%s/%s", group, version) : "/api/v1");
    prg_json_each (item, prg_json_get(list, "resources")) {
        const char *plural = prg_json_get_text(item, "name");
        if (!plural || strchr(plural, '/') || !prg_text_equal(prg_json_get_text(item, "kind"), kind_name))
            continue;
        kind->resource.version = prg_arena_strdup(&s->arena, version);
        kind->resource.plural = prg_arena_strdup(&s->arena, plural);
        kind->resource.is_namespaced = prg_json_get_true(item, "namespaced");
        kind->is_missing = false;
        return;
    }
}

static struct kind *known_kind(struct snapshot *s, const char *group, const char *kind_name, bool may_ask)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    prg_strbuf_printf(&bytes, "%s%c%s", group, PART_END, kind_name);
    struct kind *kind = prg_map_get(&s->kinds, bytes.text);
    if (kind || !may_ask)
        return kind;
    kind = prg_arena_new(&s->arena, struct kind);
    discover(s, group, kind_name, kind);
    if (s->trouble.code == PRG_OK) // else nothing is known of it: prg_snapshot_retry lets it be asked for again
        prg_map_put(&s->kinds, bytes.text, kind);
    return kind;
}

static void learn_kinds(struct snapshot *s)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    for (size_t i = 0; i < PRG_COUNT(known_kinds); i++) {
        struct kind *kind = prg_arena_new(&s->arena, struct kind);
        *kind = known_kinds[i];
        prg_strbuf_clear(&bytes);
        prg_strbuf_printf(&bytes, "%s%c%s", kind->resource.group, PART_END, kind->resource.kind);
        prg_map_put(&s->kinds, bytes.text, kind);
    }
}

// ---- reading ----

static bool is_in_bulk(const struct snapshot *s, const struct kind *kind, const char *ns)
{
    return s->options.is_bulk &&
           (!kind->resource.is_namespaced || !s->options.bulk_ns || prg_text_equal(ns, s->options.bulk_ns));
}

// The namespace to list for a question about ns (NULL: all).
static const char *list_ns(const struct snapshot *s, const struct kind *kind, const char *ns)
{
    return !kind->resource.is_namespaced ? NULL : is_in_bulk(s, kind, ns) ? s->options.bulk_ns : ns;
}

// The list that an object would be in, when there is one or should be; NULL: the object is to be asked for alone.
static const struct answer *list_with(struct snapshot *s, struct kind *kind, const char *ns)
{
    struct answer *a = find_answer(s, kind, NULL, NULL);
    if (!a && kind->resource.is_namespaced)
        a = find_answer(s, kind, ns, NULL);
    if (a && a->is_done && a->err.code == PRG_OK)
        return a;
    if (!is_in_bulk(s, kind, ns) || kind->is_list_denied || (!kind->is_bulk && kind->gets++ < GETS_BEFORE_LIST))
        return NULL;
    a = ask(s, kind, list_ns(s, kind, ns), NULL, NULL);
    wait_for(a);
    // Who may get objects one by one may still not be allowed to list them.
    kind->is_list_denied = !kind->is_bulk && a->err.code != PRG_OK;
    return kind->is_list_denied ? NULL : answered(a);
}

static const cJSON *get_locked(struct snapshot *s, const struct prg_key *key)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    struct kind *kind = s->trouble.code == PRG_OK ? known_kind(s, key->group, key->kind, true) : NULL;
    if (!kind || kind->is_missing || !*key->name)
        return NULL;
    const char *ns = kind->resource.is_namespaced ? key->ns : NULL;
    struct answer *single = find_answer(s, kind, ns, key->name);
    const struct answer *list = single ? NULL : list_with(s, kind, ns);
    if (s->trouble.code != PRG_OK)
        return NULL;
    if (list)
        return prg_map_get(&list->by_name, name_bytes(&bytes, ns ? ns : "", key->name));
    return answered(single ? single : ask(s, kind, ns, key->name, NULL))->object;
}

static const cJSON *snapshot_get(const struct prg_reader *reader, const struct prg_key *key)
{
    struct snapshot *s = (struct snapshot *)reader;
    pthread_mutex_lock(&s->lock);
    const cJSON *object = get_locked(s, key);
    pthread_mutex_unlock(&s->lock);
    return object;
}

// selector: of objects that are not all in a list already.
static const struct answer *list_locked(struct snapshot *s, const char *group, const char *kind_name, const char *ns,
                                        const char *selector)
{
    struct kind *kind = s->trouble.code == PRG_OK ? known_kind(s, group, kind_name, true) : NULL;
    if (!kind || kind->is_missing)
        return NULL;
    struct answer *a = find_answer(s, kind, NULL, NULL);
    if (!a && selector && !is_in_bulk(s, kind, ns))
        a = ask(s, kind, kind->resource.is_namespaced ? ns : NULL, NULL, selector);
    a = a ? a : ask(s, kind, list_ns(s, kind, ns), NULL, NULL);
    const struct answer *list = answered(a);
    return list->err.code == PRG_OK ? list : NULL;
}

static void visit_list(const struct answer *list, const char *ns, prg_reader_visit_fn visit, void *ctx)
{
    for (size_t i = 0; list && i < list->items.count; i++)
        if (!ns || strcmp(prg_meta_namespace(list->items.items[i]), ns) == 0)
            visit(list->items.items[i], ctx);
}

static void snapshot_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                          prg_reader_visit_fn visit, void *ctx)
{
    struct snapshot *s = (struct snapshot *)reader;
    pthread_mutex_lock(&s->lock);
    const struct answer *list = list_locked(s, group, kind, ns, NULL);
    pthread_mutex_unlock(&s->lock); // visit may read on; the list does not change any more
    visit_list(list, ns, visit, ctx);
}

static const char *selector_of(struct prg_arena *arena, const char *label, const char *value)
{
    return prg_arena_printf(arena, "%s=%s", label, value);
}

static void snapshot_list_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                                   const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    struct snapshot *s = (struct snapshot *)reader;
    struct prg_reader_filter filter = {label, value, visit, ctx};
    prg_auto_arena arena = {0};
    pthread_mutex_lock(&s->lock);
    const struct answer *list = list_locked(s, group, kind, ns, selector_of(&arena, label, value));
    pthread_mutex_unlock(&s->lock);
    visit_list(list, ns, prg_reader_visit_filtered, &filter);
}

static int snapshot_trouble(const struct prg_reader *reader, struct prg_error *err)
{
    struct snapshot *s = (struct snapshot *)reader;
    pthread_mutex_lock(&s->lock);
    struct prg_error trouble = s->trouble;
    pthread_mutex_unlock(&s->lock);
    if (err && trouble.code != PRG_OK)
        *err = trouble;
    return trouble.code;
}

// ---- the store ----

static int refresh_nothing(struct prg_store *store, prg_store_watch_fn changed, void *ctx, struct prg_error *err)
{
    (void)store;
    (void)changed;
    (void)ctx;
    (void)err;
    return PRG_OK;
}

static void snapshot_free(struct prg_store *store)
{
    struct snapshot *s = snapshot_of(store);
    const struct prg_map_entry *entry;
    prg_http_close(s->http);
    prg_timers_free(s->timers);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    prg_require(uv_loop_close(&s->loop) == 0);
    for (size_t i = 0; (entry = prg_map_next(&s->answers, &i));) {
        struct answer *a = entry->value;
        prg_split_free(a->split);
        prg_vec_release(&a->items);
        prg_map_release(&a->by_name);
    }
    prg_map_release(&s->answers);
    prg_map_release(&s->kinds);
    prg_vec_release(&s->waiting);
    prg_arena_release(&s->arena);
    prg_kube_config_release(&s->config);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

// Nothing is written: there are no writing operations.
static const struct prg_store_ops snapshot_ops = {
    .refresh = refresh_nothing,
    .free = snapshot_free,
};

bool prg_snapshot_is(const struct prg_store *store)
{
    return store->ops == &snapshot_ops;
}

int prg_snapshot_open(const struct prg_kube_choice *choice, const struct prg_snapshot_options *options,
                      struct prg_store **ret, struct prg_error *err)
{
    struct snapshot *s = prg_xcalloc(1, sizeof(*s));
    // As kubectl: bursts are fine for a command that ends.
    struct prg_http_options http = {.user_agent = options->user_agent, .rate = 50, .burst = 300};
    if (prg_kube_config_load(&s->config, choice, NULL, err) != PRG_OK) {
        prg_kube_config_release(&s->config);
        free(s);
        return err ? (int)err->code : PRG_INVALID;
    }
    s->store.ops = &snapshot_ops;
    s->store.reader.get = snapshot_get;
    s->store.reader.list = snapshot_list;
    s->store.reader.list_labelled = snapshot_list_labelled;
    s->store.reader.trouble = snapshot_trouble;
    prg_arena_init(&s->arena);
    s->options = *options;
    s->options.user_agent = NULL; // http has a copy
    if (options->bulk_ns)
        s->options.bulk_ns = prg_arena_strdup(&s->arena, *options->bulk_ns ? options->bulk_ns : s->config.ns);
    pthread_mutex_init(&s->lock, NULL);
    prg_map_init(&s->kinds);
    prg_map_init(&s->answers);
    learn_kinds(s);
    prg_require(uv_loop_init(&s->loop) == 0);
    s->timers = prg_timers_new(&s->loop);
    s->http = prg_http_new(&s->loop, s->timers, &s->config, &http);
    s->has_heard = !prg_text_has_prefix(s->config.server, "https://"); // there is no connection to share, see start
    *ret = &s->store;
    return PRG_OK;
}

const char *prg_snapshot_namespace(const struct prg_store *store)
{
    return snapshot_of(store)->config.ns;
}

void prg_snapshot_hint(struct prg_store *store, const char *group, const char *kind_name, const char *ns,
                       const char *name)
{
    struct snapshot *s = snapshot_of(store);
    pthread_mutex_lock(&s->lock);
    struct kind *kind = known_kind(s, group, kind_name, false);
    if (kind && s->trouble.code == PRG_OK)
        ask(s, kind, kind->resource.is_namespaced ? ns : NULL, name, NULL);
    pthread_mutex_unlock(&s->lock);
}

void prg_snapshot_hint_list(struct prg_store *store, const char *group, const char *kind_name, const char *ns,
                            const char *label, const char *value)
{
    struct snapshot *s = snapshot_of(store);
    prg_auto_arena arena = {0};
    pthread_mutex_lock(&s->lock);
    struct kind *kind = known_kind(s, group, kind_name, false);
    if (kind && s->trouble.code == PRG_OK)
        ask(s, kind, list_ns(s, kind, ns), NULL,
            label && !is_in_bulk(s, kind, ns) ? selector_of(&arena, label, value) : NULL);
    pthread_mutex_unlock(&s->lock);
}

bool prg_snapshot_has_kind(struct prg_store *store, const char *group, const char *kind_name)
{
    struct snapshot *s = snapshot_of(store);
    pthread_mutex_lock(&s->lock);
    const struct kind *kind = known_kind(s, group, kind_name, false);
    bool is_missing = kind && kind->is_missing;
    pthread_mutex_unlock(&s->lock);
    return !is_missing;
}

void prg_snapshot_retry(struct prg_store *store)
{
    struct snapshot *s = snapshot_of(store);
    const struct prg_map_entry *entry;
    pthread_mutex_lock(&s->lock);
    prg_error_clear(&s->trouble);
    for (size_t i = 0; (entry = prg_map_next(&s->answers, &i));) {
        struct answer *a = entry->value;
        if (!a->is_done || a->err.code == PRG_OK)
            continue;
        prg_error_clear(&a->err);
        a->is_done = false;
        a->next = NULL;
        a->restarts = 0;
        start(a);
    }
    pthread_mutex_unlock(&s->lock);
}
