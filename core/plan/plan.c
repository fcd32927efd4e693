// SPDX-License-Identifier: Apache-2.0
// plan.c: collecting a plan, its order, and its JSON form.
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "object/meta.h"

struct prg_plan *prg_plan_new(struct prg_arena *arena)
{
    struct prg_plan *plan = prg_arena_new(arena, struct prg_plan);
    plan->arena = arena;
    plan->objects = prg_json_array(arena);
    plan->deletes = prg_json_array(arena);
    plan->events = prg_json_array(arena);
    plan->messages = prg_json_array(arena);
    return plan;
}

void prg_plan_add_object(struct prg_plan *plan, cJSON *object)
{
    prg_json_append(plan->objects, object);
}

static void append_once(cJSON *array, cJSON *entry)
{
    const cJSON *other;
    prg_json_each (other, array) {
        if (prg_json_equal(other, entry))
            return;
    }
    prg_json_append(array, entry);
}

void prg_plan_add_delete(struct prg_plan *plan, const char *api_version, const char *kind, const char *ns,
                         const char *name)
{
    cJSON *entry = prg_json_object(plan->arena);
    prg_json_set_string(plan->arena, entry, "apiVersion", api_version);
    prg_json_set_string(plan->arena, entry, "kind", kind);
    prg_json_set_string(plan->arena, entry, "namespace", ns ? ns : "");
    prg_json_set_string(plan->arena, entry, "name", name);
    append_once(plan->deletes, entry);
}

void prg_plan_add_event(struct prg_plan *plan, const char *type, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = prg_arena_vprintf(plan->arena, format, args);
    va_end(args);
    cJSON *entry = prg_json_object(plan->arena);
    prg_json_set_string(plan->arena, entry, "type", type);
    prg_json_set_string(plan->arena, entry, "reason", reason);
    prg_json_set_string(plan->arena, entry, "message", message);
    append_once(plan->events, entry);
}

void prg_plan_trace(struct prg_plan *plan, const char *decision, const struct prg_policy_source *source,
                    const char *subject, const char *outcome, const char *reason)
{
    struct prg_trace_entry *entry = prg_arena_new(plan->arena, struct prg_trace_entry);
    entry->decision = decision;
    if (source)
        entry->source = *source;
    entry->subject = subject;
    entry->outcome = outcome;
    entry->reason = reason;
    if (plan->trace_last)
        plan->trace_last->next = entry;
    else
        plan->trace_first = entry;
    plan->trace_last = entry;
}

// ---- order ----

struct keyed_node {
    struct prg_key key;
    cJSON *node;
};

static int compare_keyed(const void *a, const void *b)
{
    return prg_key_compare(&((const struct keyed_node *)a)->key, &((const struct keyed_node *)b)->key);
}

// Of an entry of plan->deletes, which is flat.
static struct prg_key key_of_delete(struct prg_arena *arena, const cJSON *entry)
{
    return (struct prg_key){
        .group = prg_api_group(arena, prg_json_get_text(entry, "apiVersion")),
        .kind = prg_json_get_text(entry, "kind"),
        .ns = prg_json_get_text(entry, "namespace"),
        .name = prg_json_get_text(entry, "name"),
    };
}

static void sort_array(struct prg_plan *plan, cJSON *array, bool is_deletes)
{
    size_t count = prg_json_count(array), i = 0;
    if (count < 2)
        return;
    struct keyed_node *nodes = prg_arena_array(plan->arena, struct keyed_node, count);
    cJSON *node;
    prg_json_each (node, array) {
        nodes[i].node = node;
        if (is_deletes)
            nodes[i].key = key_of_delete(plan->arena, node);
        else
            prg_require(prg_key_of(plan->arena, node, &nodes[i].key, NULL) == PRG_OK);
        i++;
    }
    qsort(nodes, count, sizeof(*nodes), compare_keyed);
    array->child = NULL;
    for (i = 0; i < count; i++) {
        // The planner made the same object twice: a bug of ours, and applying either one would hide it.
        prg_require(i == 0 || is_deletes || !prg_key_equal(&nodes[i - 1].key, &nodes[i].key));
        nodes[i].node->next = nodes[i].node->prev = NULL;
        prg_json_append(array, nodes[i].node);
    }
}

void prg_plan_finish(struct prg_plan *plan)
{
    sort_array(plan, plan->objects, false);
    sort_array(plan, plan->deletes, true);
}

// ---- fields ----

typedef void (*field_fn)(const char *path, const cJSON *node, enum prg_origin origin, void *ctx);

struct field_walk {
    struct prg_strbuf path;
    field_fn visit;
    void *ctx;
};

static bool is_plain_key(const char *key)
{
    if (!*key)
        return false;
    for (const char *c = key; *c; c++)
        if (!strchr("/-_.", *c) && !(*c >= '0' && *c <= '9') && !(*c >= 'A' && *c <= 'Z') && !(*c >= 'a' && *c <= 'z'))
            return false;
    return true;
}

// kubectl's JSON path: ".key", dots within a key as "\.", and ['key'] for keys that hold anything unusual.
static void push_key(struct prg_strbuf *path, const char *key)
{
    bool plain = is_plain_key(key);
    prg_strbuf_puts(path, plain ? "." : "['");
    for (const char *c = key; *c; c++) {
        if (plain ? *c == '.' : *c == '\'' || *c == '\\')
            prg_strbuf_putc(path, '\\');
        prg_strbuf_putc(path, *c);
    }
    if (!plain)
        prg_strbuf_puts(path, "']");
}

static int compare_members(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static void walk_fields(struct field_walk *walk, const cJSON *node);

// By key, so that the fields come in one order whoever wrote the object.
static void walk_members(struct field_walk *walk, const cJSON *object)
{
    size_t length = walk->path.length, count = prg_json_count(object), index = 0;
    const cJSON **members = prg_xcalloc(count, sizeof(*members)), *child;
    prg_json_each (child, object)
        members[index++] = child;
    qsort(members, count, sizeof(*members), compare_members);
    for (index = 0; index < count; index++) {
        push_key(&walk->path, members[index]->string);
        walk_fields(walk, members[index]);
        prg_strbuf_truncate(&walk->path, length);
    }
    free(members);
}

// Recursion is as deep as the tree, which the readers bound (PRG_JSON_DEPTH).
static void walk_fields(struct field_walk *walk, const cJSON *node)
{
    bool is_array = prg_json_is_array(node);
    if (!node->child || !(is_array || prg_json_is_object(node))) {
        walk->visit(walk->path.text, node, (enum prg_origin)prg_json_origin(node), walk->ctx);
        return;
    }
    if (!is_array) {
        walk_members(walk, node);
        return;
    }
    size_t length = walk->path.length, index = 0;
    const cJSON *child;
    prg_json_each (child, node) {
        prg_strbuf_printf(&walk->path, "[%zu]", index++);
        walk_fields(walk, child);
        prg_strbuf_truncate(&walk->path, length);
    }
}

void prg_plan_each_field(const cJSON *object, field_fn visit, void *ctx)
{
    struct field_walk walk = {.path = PRG_STRBUF_INIT, .visit = visit, .ctx = ctx};
    if (object)
        walk_fields(&walk, object);
    prg_strbuf_release(&walk.path);
}

// ---- JSON ----

static void set_text_or_null(struct prg_arena *arena, cJSON *object, const char *key, const char *text)
{
    prg_json_set(arena, object, key, text ? prg_json_string(arena, text) : prg_json_null(arena));
}

static cJSON *trace_to_json(struct prg_arena *arena, const struct prg_trace_entry *entry)
{
    cJSON *node = prg_json_object(arena);
    set_text_or_null(arena, node, "decision", entry->decision);
    set_text_or_null(arena, node, "policy", entry->source.policy);
    set_text_or_null(arena, node, "function", entry->source.function);
    set_text_or_null(arena, node, "file", entry->source.file);
    prg_json_set(arena, node, "line",
                 entry->source.line > 0 ? prg_json_int(arena, entry->source.line) : prg_json_null(arena));
    set_text_or_null(arena, node, "subject", entry->subject);
    set_text_or_null(arena, node, "outcome", entry->outcome);
    set_text_or_null(arena, node, "reason", entry->reason);
    return node;
}

struct field_trace {
    struct prg_arena *arena;
    cJSON *trace;
    const cJSON *object;
};

static void trace_field(const char *path, const cJSON *node, enum prg_origin origin, void *ctx)
{
    struct field_trace *fields = ctx;
    (void)node;
    struct prg_trace_entry entry = {
        .decision = "field",
        .subject = prg_arena_printf(fields->arena, "%s/%s %s", prg_json_get_text(fields->object, "kind"),
                                    prg_meta_name(fields->object), path),
        .outcome = prg_origin_name(origin),
    };
    prg_json_append(fields->trace, trace_to_json(fields->arena, &entry));
}

static cJSON *seconds(struct prg_arena *arena, int64_t ms)
{
    if (ms % 1000 == 0)
        return prg_json_int(arena, ms / 1000);
    return prg_json_double(arena, (double)ms / 1000);
}

cJSON *prg_plan_to_json(struct prg_plan *plan, unsigned flags)
{
    struct prg_arena *arena = plan->arena;
    cJSON *out = prg_json_object(arena);
    prg_json_set(arena, out, "objects", prg_json_reference(arena, plan->objects));
    prg_json_set(arena, out, "deletes", prg_json_reference(arena, plan->deletes));
    prg_json_set(arena, out, "resource", prg_json_reference(arena, plan->resource));
    prg_json_set(arena, out, "events", prg_json_reference(arena, plan->events));
    prg_json_set(arena, out, "messages", prg_json_reference(arena, plan->messages));
    set_text_or_null(arena, out, "error", plan->error);
    prg_json_set(arena, out, "requeueAfterSeconds", seconds(arena, plan->requeue_after_ms));
    prg_json_set_string(arena, out, "policyRevision", plan->policy_revision ? plan->policy_revision : "");

    cJSON *trace = prg_json_array(arena);
    for (const struct prg_trace_entry *entry = plan->trace_first; entry; entry = entry->next)
        prg_json_append(trace, trace_to_json(arena, entry));
    if (flags & PRG_PLAN_FIELDS) {
        struct field_trace fields = {.arena = arena, .trace = trace};
        prg_json_each (fields.object, plan->objects)
            prg_plan_each_field(fields.object, trace_field, &fields);
    }
    prg_json_set(arena, out, "trace", trace);
    return out;
}
