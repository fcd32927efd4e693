// SPDX-License-Identifier: Apache-2.0
// cluster.c: the API server of simulations.
#include "simulate/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "learning/names.h"
#include "object/meta.h"
#include "json/merge.h"

// ---- objects ----

static struct sim_object *find(const struct sim_cluster *cluster, const struct prg_key *key)
{
    for (struct sim_object *o = cluster->first; o; o = o->next)
        if (o->object && prg_key_equal(&o->key, key))
            return o;
    return NULL;
}

const cJSON *sim_get(const struct sim_cluster *cluster, const char *group, const char *kind, const char *ns,
                     const char *name)
{
    struct prg_key key = {group, kind, ns, name};
    const struct sim_object *o = find(cluster, &key);
    return o ? o->object : NULL;
}

static void add_event(struct sim_cluster *cluster, enum sim_event_kind kind, const cJSON *object)
{
    struct sim_event *event = prg_arena_new(cluster->arena, struct sim_event);
    event->kind = kind;
    event->object = object;
    if (cluster->last_event)
        cluster->last_event->next = event;
    else
        cluster->events = event;
    cluster->last_event = event;
}

struct sim_event *sim_next_event(struct sim_cluster *cluster)
{
    struct sim_event *event = cluster->events;
    if (event) {
        cluster->events = event->next;
        if (!cluster->events)
            cluster->last_event = NULL;
    }
    return event;
}

static void stamp(struct sim_cluster *cluster, cJSON *object)
{
    cJSON *meta = prg_json_ensure_object(cluster->arena, object, "metadata");
    prg_json_set(cluster->arena, meta, "resourceVersion",
                 prg_json_stringf(cluster->arena, "%" PRIu64, ++cluster->version));
}

static bool is_same(const cJSON *a, const cJSON *b)
{
    static const char *const parts[] = {"spec", "status", "data", "stringData", "type"};
    static const char *const meta[] = {"labels",     "annotations", "ownerReferences", "deletionTimestamp",
                                       "finalizers", "uid"};
    for (size_t i = 0; i < PRG_COUNT(parts); i++)
        if (!prg_json_equal(prg_json_get(a, parts[i]), prg_json_get(b, parts[i])))
            return false;
    for (size_t i = 0; i < PRG_COUNT(meta); i++)
        if (!prg_json_equal(prg_json_at(a, "metadata", meta[i]), prg_json_at(b, "metadata", meta[i])))
            return false;
    return true;
}

static void set_missing(struct sim_cluster *cluster, cJSON *object)
{
    char now[PRG_CLOCK_TEXT];
    cJSON *meta = prg_json_ensure_object(cluster->arena, object, "metadata");
    if (!*prg_meta_uid(object))
        prg_json_set(cluster->arena, meta, "uid", prg_json_stringf(cluster->arena, "uid-%05u", ++cluster->uid_count));
    if (!*prg_meta_created(object))
        prg_json_set_string(cluster->arena, meta, "creationTimestamp", prg_clock_format(cluster->now_ns, now));
}

// Takes object (a tree of ours), which was changed, over.
static void replace(struct sim_cluster *cluster, struct sim_object *o, cJSON *object)
{
    stamp(cluster, object);
    o->object = object;
    add_event(cluster, SIM_CHANGED, object);
}

int sim_put(struct sim_cluster *cluster, const cJSON *object, struct prg_error *err)
{
    struct prg_key key;
    cJSON *copy = prg_json_copy(cluster->arena, object);
    if (prg_key_of(cluster->arena, copy, &key, err) != PRG_OK)
        return err->code;
    struct sim_object *o = find(cluster, &key);
    if (o && is_same(o->object, copy))
        return PRG_OK;
    set_missing(cluster, copy);
    if (o) {
        replace(cluster, o, copy);
        return PRG_OK;
    }
    o = prg_arena_new(cluster->arena, struct sim_object);
    o->key = (struct prg_key){prg_arena_strdup(cluster->arena, key.group), prg_arena_strdup(cluster->arena, key.kind),
                              prg_arena_strdup(cluster->arena, key.ns), prg_arena_strdup(cluster->arena, key.name)};
    if (cluster->last)
        cluster->last->next = o;
    else
        cluster->first = o;
    cluster->last = o;
    stamp(cluster, copy);
    o->object = copy;
    add_event(cluster, SIM_ADDED, copy);
    return PRG_OK;
}

bool sim_remove(struct sim_cluster *cluster, const char *group, const char *kind, const char *ns, const char *name)
{
    struct prg_key key = {group, kind, ns, name};
    struct sim_object *o = find(cluster, &key);
    if (!o)
        return false;
    add_event(cluster, SIM_DELETED, o->object);
    o->object = NULL;
    return true;
}

// ---- reading ----

static const cJSON *reader_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct sim_object *o = find((const struct sim_cluster *)reader, key);
    return o ? o->object : NULL;
}

static int compare_objects(const void *a, const void *b)
{
    const cJSON *const *x = a, *const *y = b;
    int order = strcmp(prg_meta_namespace(*x), prg_meta_namespace(*y));
    return order ? order : strcmp(prg_meta_name(*x), prg_meta_name(*y));
}

static bool is_listed(const struct sim_object *o, const char *group, const char *kind, const char *ns)
{
    return o->object && strcmp(o->key.kind, kind) == 0 && strcmp(o->key.group, group) == 0 &&
           (!ns || strcmp(o->key.ns, ns) == 0);
}

static void reader_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                        prg_reader_visit_fn visit, void *ctx)
{
    const struct sim_cluster *cluster = (const struct sim_cluster *)reader;
    struct prg_vec found;
    prg_vec_init(&found);
    if (cluster->frozen && strcmp(kind, "Pod") == 0) {
        for (size_t i = 0; i < cluster->frozen_count; i++)
            if (!ns || strcmp(prg_meta_namespace(cluster->frozen[i]), ns) == 0)
                prg_vec_push(&found, (void *)(uintptr_t)cluster->frozen[i]);
    } else {
        for (const struct sim_object *o = cluster->first; o; o = o->next)
            if (is_listed(o, group, kind, ns))
                prg_vec_push(&found, (void *)(uintptr_t)o->object);
    }
    if (found.count > 1)
        qsort(found.items, found.count, sizeof(*found.items), compare_objects);
    for (size_t i = 0; i < found.count; i++)
        visit(found.items[i], ctx);
    prg_vec_release(&found);
}

void sim_cluster_init(struct sim_cluster *cluster, struct prg_arena *arena, int64_t now_ns)
{
    *cluster = (struct sim_cluster){
        .reader = {.get = reader_get, .list = reader_list},
        .arena = arena,
        .now_ns = now_ns,
        .log = prg_json_array(arena),
        .requests_until_crash = -1,
    };
}

static bool name_has_type(const char *name, const char *type)
{
    const char *last = strrchr(name, '-'), *start = last;
    while (start && start > name && start[-1] != '-')
        start--;
    return last && (size_t)(last - start) == strlen(type) && strncmp(start, type, strlen(type)) == 0;
}

const cJSON *sim_newest_pod(const struct sim_cluster *cluster, const char *ns, const char *type)
{
    const cJSON *best = NULL;
    for (const struct sim_object *o = cluster->first; o; o = o->next) {
        if (!is_listed(o, "", "Pod", ns) || !name_has_type(o->key.name, type))
            continue;
        int order = best ? strcmp(prg_meta_created(o->object), prg_meta_created(best)) : 1;
        if (order > 0 || (order == 0 && strcmp(o->key.name, prg_meta_name(best)) > 0))
            best = o->object;
    }
    return best;
}

// ---- an old view of pods: what the controller did itself is always in it ----

static void frozen_add(struct sim_cluster *cluster, const cJSON *pod)
{
    if (cluster->frozen_count == cluster->frozen_cap) {
        size_t cap = cluster->frozen_cap ? cluster->frozen_cap * 2 : 16;
        const cJSON **grown = prg_arena_array(cluster->arena, const cJSON *, cap);
        if (cluster->frozen_count)
            memcpy(grown, cluster->frozen, cluster->frozen_count * sizeof(*grown));
        cluster->frozen = grown;
        cluster->frozen_cap = cap;
    }
    cluster->frozen[cluster->frozen_count++] = pod;
}

static void frozen_drop(struct sim_cluster *cluster, const char *ns, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < cluster->frozen_count; i++)
        if (strcmp(prg_meta_name(cluster->frozen[i]), name) != 0 ||
            strcmp(prg_meta_namespace(cluster->frozen[i]), ns) != 0)
            cluster->frozen[kept++] = cluster->frozen[i];
    cluster->frozen_count = kept;
}

void sim_freeze_pods(struct sim_cluster *cluster)
{
    cluster->frozen_count = cluster->frozen_cap = 0;
    cluster->frozen = prg_arena_array(cluster->arena, const cJSON *, 1);
    for (const struct sim_object *o = cluster->first; o; o = o->next)
        if (is_listed(o, "", "Pod", NULL))
            frozen_add(cluster, o->object);
}

void sim_thaw_pods(struct sim_cluster *cluster)
{
    cluster->frozen = NULL;
}

// ---- requests ----

struct request {
    const char *verb, *resource, *subresource, *ns, *name;
};

static cJSON *log_request(struct sim_cluster *cluster, const struct request *request)
{
    cJSON *entry = prg_json_object(cluster->arena);
    prg_json_set_string(cluster->arena, entry, "verb", request->verb);
    prg_json_set_string(cluster->arena, entry, "resource", request->resource);
    prg_json_set_string(cluster->arena, entry, "subresource", request->subresource);
    prg_json_set_string(cluster->arena, entry, "namespace", request->ns);
    prg_json_set_string(cluster->arena, entry, "name", request->name);
    prg_json_append(cluster->log, entry);
    return entry;
}

static int conflict(const struct request *request, struct prg_error *err)
{
    return prg_fail(
        err, PRG_CONFLICT,
        "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please apply your changes to "
        "the latest version and try again",
        request->resource, request->name ? request->name : "");
}

// The faults that somebody ordered, and the controller's own death. On failure entry says so.
static int admit(struct sim_cluster *cluster, const struct request *request, cJSON *entry, struct prg_error *err)
{
    int rc = PRG_OK;
    char text[PRG_ERROR_LINE];
    for (struct sim_fault *fault = cluster->faults; fault && rc == PRG_OK; fault = fault->next) {
        if (fault->times <= 0 || !prg_text_equal(fault->verb, request->verb) ||
            !prg_text_equal(fault->resource, request->resource) ||
            !prg_text_equal(fault->subresource ? fault->subresource : "",
                            request->subresource ? request->subresource : ""))
            continue;
        fault->times--;
        if (prg_text_equal(fault->error, "conflict"))
            rc = conflict(request, err);
        else
            rc = prg_fail(err, PRG_IO, "Internal error occurred: injected");
    }
    if (rc == PRG_OK)
        return PRG_OK;
    const char *name = request->name ? request->name : "";
    prg_json_set_string(cluster->arena, entry, "error", prg_error_text(err, text, sizeof(text)));
    if (strcmp(request->resource, "pods") == 0) // as the short form of recorded cases writes it
        prg_json_set(cluster->arena, entry, "assignedName",
                     prg_json_stringf(cluster->arena, "%s error: %s", name, text));
    return rc;
}

static bool is_dead(struct sim_cluster *cluster)
{
    if (cluster->requests_until_crash < 0)
        return false;
    if (cluster->requests_until_crash == 0)
        return true;
    cluster->requests_until_crash--;
    return false;
}

static int died(struct prg_error *err)
{
    return prg_fail(err, PRG_LIMIT, "the controller was killed");
}

static bool is_made_already(const struct sim_cluster *cluster, const char *ns, const char *planned_name)
{
    for (const struct sim_object *o = cluster->first; o; o = o->next)
        if (o->object && o->planned_name && strcmp(o->planned_name, planned_name) == 0 && strcmp(o->key.ns, ns) == 0)
            return true;
    return false;
}

int sim_create_pod(struct sim_cluster *cluster, const cJSON *pod, struct prg_error *err)
{
    struct prg_arena *arena = cluster->arena;
    const char *ns = prg_meta_namespace(pod), *planned = prg_meta_name(pod);
    struct request request = {"create", "pods", NULL, ns, NULL};
    if (is_dead(cluster))
        return died(err);
    if (is_made_already(cluster, ns, planned))
        return PRG_OK;
    cJSON *copy = prg_json_copy(arena, pod), *sent = prg_json_copy(arena, pod), *entry = log_request(cluster, &request);
    prg_json_remove(prg_json_get(sent, "metadata"), "name"); // this server names pods itself
    prg_json_remove(sent, "apiVersion");
    prg_json_remove(sent, "kind");
    prg_json_set(arena, entry, "object", sent);
    int rc = admit(cluster, &request, entry, err);
    if (rc != PRG_OK)
        return rc;
    const char *base = prg_json_get_text(prg_json_get(pod, "metadata"), "generateName");
    const char *name = prg_arena_printf(arena, "%s%05u", base ? base : "", ++cluster->pod_count);
    cJSON *status = prg_json_object(arena);
    prg_json_set_string(arena, prg_json_get(copy, "metadata"), "name", name);
    prg_json_set_string(arena, status, "phase", "Pending");
    prg_json_set(arena, copy, "status", status);
    prg_json_set_string(arena, entry, "assignedName", name);
    rc = sim_put(cluster, copy, err);
    if (rc != PRG_OK)
        return rc;
    cluster->last->planned_name = prg_arena_strdup(arena, planned);
    if (cluster->frozen)
        frozen_add(cluster, cluster->last->object);
    return PRG_OK;
}

int sim_delete_pod(struct sim_cluster *cluster, const char *ns, const char *name, struct prg_error *err)
{
    struct request request = {"delete", "pods", NULL, ns, name};
    struct prg_key key = {"", "Pod", ns, name};
    if (is_dead(cluster))
        return died(err);
    struct sim_object *o = find(cluster, &key);
    int rc = admit(cluster, &request, log_request(cluster, &request), err);
    if (rc != PRG_OK || !o)
        return rc;
    if (cluster->frozen)
        frozen_drop(cluster, ns, name);
    if (!cluster->is_graceful) {
        (void)sim_remove(cluster, "", "Pod", ns, name);
    } else if (!prg_meta_is_deleting(o->object)) {
        char now[PRG_CLOCK_TEXT];
        cJSON *copy = prg_json_copy(cluster->arena, o->object);
        prg_json_set_string(cluster->arena, prg_json_get(copy, "metadata"), "deletionTimestamp",
                            prg_clock_format(cluster->now_ns, now));
        replace(cluster, o, copy);
    }
    return PRG_OK;
}

int sim_patch_job(struct sim_cluster *cluster, const char *ns, const char *name, const cJSON *patch,
                  struct prg_error *err)
{
    struct request request = {"patch", "incrementallearningjobs", NULL, ns, name};
    struct prg_key key = {PRG_SEDNA_GROUP, PRG_KIND_JOB, ns, name};
    if (is_dead(cluster))
        return died(err);
    struct sim_object *o = find(cluster, &key);
    cJSON *entry = log_request(cluster, &request);
    prg_json_set(cluster->arena, entry, "patch", prg_json_copy(cluster->arena, patch));
    prg_json_set_string(cluster->arena, entry, "patchType", "application/merge-patch+json");
    int rc = admit(cluster, &request, entry, err);
    if (rc != PRG_OK)
        return rc;
    if (!o)
        return prg_fail(err, PRG_NOTFOUND, "incrementallearningjobs.sedna.io \"%s\" not found", name);
    cJSON *patched = prg_merge_apply(cluster->arena, o->object, patch);
    if (!is_same(o->object, patched))
        replace(cluster, o, patched);
    return PRG_OK;
}

static void log_status(struct sim_cluster *cluster, cJSON *entry, const cJSON *object)
{
    const cJSON *status = prg_json_get(object, "status"), *condition;
    cJSON *list = prg_json_array(cluster->arena);
    if (!prg_text_equal(prg_json_get_text(object, "kind"), PRG_KIND_JOB))
        return;
    prg_json_each (condition, prg_json_get(status, "conditions")) {
        const char *stage = prg_json_get_text(condition, "stage"), *type = prg_json_get_text(condition, "type");
        prg_json_append(list, prg_json_stringf(cluster->arena, "%s/%s", stage ? stage : "", type ? type : ""));
    }
    prg_json_set(cluster->arena, entry, "conditions", list);
    prg_json_set_bool(cluster->arena, entry, "startTimeSet", prg_json_get_text(status, "startTime") != NULL);
}

// Somebody else appends a condition while the controller is about to write.
static void interleave(struct sim_cluster *cluster, struct sim_object *o)
{
    if (!cluster->interleaved)
        return;
    cJSON *copy = prg_json_copy(cluster->arena, o->object);
    cJSON *status = prg_json_ensure_object(cluster->arena, copy, "status");
    prg_json_append(prg_json_ensure_array(cluster->arena, status, "conditions"),
                    prg_json_copy(cluster->arena, cluster->interleaved));
    cluster->interleaved = NULL;
    replace(cluster, o, copy);
}

int sim_update_status(struct sim_cluster *cluster, const cJSON *object, struct prg_error *err)
{
    struct prg_key key;
    if (is_dead(cluster))
        return died(err);
    if (prg_key_of(cluster->arena, object, &key, err) != PRG_OK)
        return err->code;
    bool is_job = strcmp(key.kind, PRG_KIND_JOB) == 0;
    struct request request = {"update", is_job ? "incrementallearningjobs" : "datasets", "status", key.ns, key.name};
    cJSON *entry = log_request(cluster, &request);
    char text[PRG_ERROR_LINE];
    log_status(cluster, entry, object);
    int rc = admit(cluster, &request, entry, err);
    if (rc != PRG_OK)
        return rc;
    struct sim_object *o = find(cluster, &key);
    if (!o)
        return prg_fail(err, PRG_NOTFOUND, "%s.sedna.io \"%s\" not found", request.resource, key.name);
    if (is_job)
        interleave(cluster, o);
    if (!prg_text_equal(prg_json_get_text(prg_json_get(object, "metadata"), "resourceVersion"),
                        prg_json_get_text(prg_json_get(o->object, "metadata"), "resourceVersion"))) {
        rc = conflict(&request, err);
        prg_json_set_string(cluster->arena, entry, "error", prg_error_text(err, text, sizeof(text)));
        return rc;
    }
    cJSON *copy = prg_json_copy(cluster->arena, o->object);
    const cJSON *status = prg_json_get(object, "status");
    prg_json_set(cluster->arena, copy, "status",
                 status ? prg_json_copy(cluster->arena, status) : prg_json_object(cluster->arena));
    if (is_same(o->object, copy))
        prg_json_set_bool(cluster->arena, entry, "noop", true);
    else
        replace(cluster, o, copy);
    return PRG_OK;
}
