// SPDX-License-Identifier: Apache-2.0
// change.c: who changed the subject last (managedFields), what its conditions say since when, with which policies its
// objects were written, and what applying the plan would change now.
#include "explain/change.h"

#include <string.h>

#include "explain/doc.h"
#include "explain/fields.h"
#include "explain/path.h"
#include "object/meta.h"
#include "store/intent.h"

// ---- managedFields ----

// Paths of a fieldsV1 tree ("f:spec": {"f:replicas": {}}), the first few of them.
struct owned {
    struct prg_strbuf path, out;
    size_t count;
};
enum { OWNED_SHOWN = 4, OWNED_DEPTH = 24 };

static void walk_owned(struct owned *owned, const cJSON *node, int depth)
{
    const cJSON *child, *fields = prg_json_is_object(node) && depth < OWNED_DEPTH ? node : NULL;
    size_t length = owned->path.length;
    bool is_leaf = true;
    prg_json_each (child, fields) {
        const char *key = child->string;
        if (prg_text_has_prefix(key, "f:"))
            prg_path_push_key(&owned->path, key + 2);
        else if (prg_text_has_prefix(key, "k:") || prg_text_has_prefix(key, "v:"))
            prg_strbuf_printf(&owned->path, "[%s]", key + 2);
        else
            continue;
        is_leaf = false;
        walk_owned(owned, child, depth + 1);
        prg_strbuf_truncate(&owned->path, length);
    }
    if (!is_leaf || !length)
        return;
    if (owned->count++ < OWNED_SHOWN)
        prg_strbuf_printf(&owned->out, "%s%s", owned->out.length ? ", " : "", owned->path.text);
}

static const char *owned_fields(struct prg_arena *arena, const cJSON *fields)
{
    struct owned owned = {.path = PRG_STRBUF_INIT, .out = PRG_STRBUF_INIT};
    walk_owned(&owned, fields, 0);
    if (owned.count > OWNED_SHOWN)
        prg_strbuf_printf(&owned.out, " and %zu more", owned.count - OWNED_SHOWN);
    const char *text = prg_arena_strndup(arena, owned.out.text, owned.out.length);
    prg_strbuf_release(&owned.path);
    prg_strbuf_release(&owned.out);
    return text;
}

// The entry with the latest time that is not about the status; times are all in UTC, so they compare as texts.
static const cJSON *last_manager(const cJSON *object)
{
    const cJSON *entry, *last = NULL;
    prg_json_each (entry, prg_json_at(object, "metadata", "managedFields")) {
        const char *time = prg_json_get_text(entry, "time"), *best = prg_json_get_text(last, "time");
        if (!time || prg_text_equal(prg_json_get_text(entry, "subresource"), "status"))
            continue;
        if (!best || strcmp(time, best) > 0)
            last = entry;
    }
    return last;
}

static cJSON *change_of(struct prg_arena *arena, const cJSON *object)
{
    const cJSON *entry = last_manager(object);
    cJSON *node = prg_json_object(arena);
    if (!entry)
        return node;
    prg_doc_text(arena, node, "at", prg_json_get_text(entry, "time"));
    prg_doc_text(arena, node, "by", prg_json_get_text(entry, "manager"));
    prg_doc_text(arena, node, "operation", prg_json_get_text(entry, "operation"));
    prg_doc_text(arena, node, "fields", owned_fields(arena, prg_json_get(entry, "fieldsV1")));
    return node;
}

// ---- status ----

static const cJSON *last_condition(const cJSON *object)
{
    const cJSON *condition, *last = NULL;
    prg_json_each (condition, prg_json_at(object, "status", "conditions")) {
        const char *time = prg_json_get_text(condition, "lastTransitionTime");
        const char *best = prg_json_get_text(last, "lastTransitionTime");
        if (time && (!best || strcmp(time, best) > 0))
            last = condition;
    }
    return last;
}

static cJSON *condition_of(struct prg_arena *arena, const cJSON *object)
{
    static const char *const members[] = {"type", "status", "reason", "message"};
    const cJSON *condition = last_condition(object);
    cJSON *node = prg_json_object(arena);
    if (!condition)
        return node;
    prg_doc_text(arena, node, "at", prg_json_get_text(condition, "lastTransitionTime"));
    for (size_t i = 0; i < PRG_COUNT(members); i++)
        prg_doc_text(arena, node, members[i], prg_json_get_text(condition, members[i]));
    return node;
}

// The policies with which the stored objects were written, if they carry a revision.
static const char *applied_revision(const struct prg_why_input *in, const struct prg_plan *plan)
{
    const cJSON *object;
    prg_json_each (object, plan->objects) {
        prg_auto_arena scratch;
        struct prg_key key;
        prg_arena_init(&scratch);
        if (prg_key_of(&scratch, object, &key, NULL) != PRG_OK)
            continue;
        const char *revision = prg_meta_annotation(in->store->get(in->store, &key), PRG_ANNOTATION_POLICY_REVISION);
        if (revision)
            return revision;
    }
    return NULL;
}

cJSON *prg_change_last(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan)
{
    static const char *const counts[][2] = {{"metadata", "generation"}, {"status", "observedGeneration"}};
    const cJSON *stored = in->store->get(in->store, &in->subject);
    cJSON *node = prg_json_object(arena);
    for (size_t i = 0; i < PRG_COUNT(counts); i++) {
        int64_t number;
        if (prg_json_get_int64(prg_json_get(stored, counts[i][0]), counts[i][1], &number))
            prg_json_set_int(arena, node, counts[i][1], number);
    }
    prg_doc_node(arena, node, "change", change_of(arena, stored));
    prg_doc_node(arena, node, "condition", condition_of(arena, stored));
    prg_doc_text(arena, node, "revision", applied_revision(in, plan));
    return node;
}

// ---- what applying would change ----

struct pending {
    struct prg_arena *arena;
    bool is_shared; // an API server keeps the object: what the intent does not name is left as it is
    cJSON *fields;
};

static void add_field(const struct prg_field_change *change, void *ctx)
{
    struct pending *pending = ctx;
    struct prg_arena *arena = pending->arena;
    if (pending->is_shared && !change->to)
        return;
    cJSON *node = prg_json_object(arena);
    prg_doc_text(arena, node, "path", change->path);
    if (change->from)
        prg_json_add(arena, node, "from", prg_json_copy(arena, change->from));
    if (change->to)
        prg_json_add(arena, node, "to", prg_json_copy(arena, change->to));
    prg_doc_text(arena, node, "layer", prg_origin_name((enum prg_origin)prg_json_origin(change->to)));
    prg_json_append(pending->fields, node);
}

// The parts of an object that an intent is about.
static const cJSON *own_parts(struct prg_arena *arena, const cJSON *object)
{
    static const char *const parts[] = {"spec", "data", "stringData", "type"};
    static const char *const meta[] = {"labels", "annotations"};
    cJSON *own = prg_json_object(arena), *metadata = prg_json_object(arena);
    for (size_t i = 0; i < PRG_COUNT(parts); i++)
        if (prg_json_get(object, parts[i]))
            prg_json_add(arena, own, parts[i], prg_json_reference(arena, prg_json_get(object, parts[i])));
    for (size_t i = 0; i < PRG_COUNT(meta); i++) {
        const cJSON *part = prg_json_at(object, "metadata", meta[i]), *item;
        cJSON *copy = prg_json_object(arena);
        prg_json_each (item, part)
            if (strcmp(item->string, PRG_ANNOTATION_POLICY_REVISION) != 0)
                prg_json_add(arena, copy, item->string, prg_json_reference(arena, item));
        prg_doc_node(arena, metadata, meta[i], copy);
    }
    prg_doc_node(arena, own, "metadata", metadata);
    return own;
}

static cJSON *object_of(struct prg_arena *arena, const struct prg_why_input *in, const cJSON *intent)
{
    struct prg_key key;
    const cJSON *merged = NULL;
    cJSON *node = prg_doc_subject(arena, intent);
    const cJSON *stored = prg_key_of(arena, intent, &key, NULL) == PRG_OK ? in->store->get(in->store, &key) : NULL;
    struct pending pending = {arena, prg_json_at(stored, "metadata", "managedFields") != NULL, prg_json_array(arena)};
    const char *state = "new";
    if (stored) {
        enum prg_intent_change change = prg_intent_merge(arena, stored, intent, &merged);
        if (change != PRG_INTENT_SAME)
            (void)prg_fields_diff(arena, own_parts(arena, stored), own_parts(arena, merged), add_field, &pending);
        state = prg_json_count(pending.fields) ? "changes" : "unchanged";
    }
    prg_doc_text(arena, node, "state", state);
    prg_doc_node(arena, node, "fields", pending.fields);
    return node;
}

cJSON *prg_change_objects(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan)
{
    cJSON *list = prg_json_array(arena);
    const cJSON *object;
    prg_json_each (object, plan->objects)
        prg_json_append(list, object_of(arena, in, object));
    prg_json_each (object, plan->deletes) {
        cJSON *node = prg_json_object(arena);
        prg_doc_text(arena, node, "kind", prg_json_get_text(object, "kind"));
        prg_doc_text(arena, node, "namespace", prg_json_get_text(object, "namespace"));
        prg_doc_text(arena, node, "name", prg_json_get_text(object, "name"));
        prg_doc_text(arena, node, "state", "deleted");
        prg_json_append(list, node);
    }
    return list;
}
