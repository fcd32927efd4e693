// SPDX-License-Identifier: Apache-2.0
// adopt.c: rewriting managedFields. The form of an entry: ManagedFieldsEntry of apimachinery's meta/v1; of a field set:
// FieldsV1, nested objects whose members are "f:name", "k:{...}", "v:...", "i:0", and "." for the node itself.
#include "kube/adopt.h"

#include <string.h>

// A manager that names none is called after its binary (client-go rest.DefaultKubernetesUserAgent). KServe's image runs
// /manager; asked only about objects that our own subject controls.
static const char *const old_managers[] = {"manager", "kserve-controller-manager", "sedna-gm", "gm"};

bool prg_adopt_is_old(const char *manager)
{
    for (size_t i = 0; manager && i < PRG_COUNT(old_managers); i++)
        if (strcmp(manager, old_managers[i]) == 0)
            return true;
    return false;
}

static bool is_entry(const cJSON *entry, const char *operation)
{
    const char *subresource = prg_json_get_text(entry, "subresource");
    return prg_text_equal(prg_json_get_text(entry, "operation"), operation) && (!subresource || !*subresource);
}

static bool is_ours(const cJSON *entry, const char *manager)
{
    return is_entry(entry, "Apply") && prg_text_equal(prg_json_get_text(entry, "manager"), manager);
}

static bool is_of_old(const cJSON *entry)
{
    return is_entry(entry, "Update") && prg_adopt_is_old(prg_json_get_text(entry, "manager"));
}

uint32_t prg_adopt_mark(const cJSON *object, const char *manager)
{
    const cJSON *entry;
    uint32_t marks = 0;
    prg_json_each (entry, prg_json_at(object, "metadata", "managedFields")) {
        if (is_of_old(entry))
            marks |= PRG_MARK_OLD_MANAGER;
        if (is_ours(entry, manager) && prg_json_at(entry, "fieldsV1", "f:spec", "f:replicas"))
            marks |= PRG_MARK_OWN_REPLICAS;
    }
    return marks;
}

bool prg_adopt_is_due(uint32_t marks, const cJSON *intent)
{
    return marks & PRG_MARK_OLD_MANAGER || (marks & PRG_MARK_OWN_REPLICAS && !prg_json_at(intent, "spec", "replicas"));
}

// Adds the fields of one set to another. Both come from one server, so their depth is bounded.
static void join_fields(struct prg_arena *arena, cJSON *into, const cJSON *from)
{
    const cJSON *member;
    prg_json_each (member, from) {
        cJSON *known = prg_json_get(into, member->string);
        if (prg_json_is_object(known) && prg_json_is_object(member))
            join_fields(arena, known, member);
        else if (!known)
            prg_json_set(arena, into, member->string, prg_json_copy(arena, member));
    }
}

static void give_up_replicas(cJSON *entry)
{
    cJSON *spec = prg_json_at(entry, "fieldsV1", "f:spec");
    if (spec)
        prg_json_remove(spec, "f:replicas");
}

static bool has_all(const cJSON *item, const cJSON *key)
{
    const cJSON *member;
    prg_json_each (member, key)
        if (!prg_json_equal(prg_json_get(item, member->string), member))
            return false;
    return prg_json_is_object(item);
}

// What a field of a set is in the intent: member "f:name" of an object, or item "k:{...}" of a list; NULL: not there.
static const cJSON *value_of(struct prg_arena *arena, const char *field, const cJSON *intent)
{
    cJSON *key = NULL;
    const cJSON *item;
    if (prg_text_has_prefix(field, "f:"))
        return prg_json_get(intent, field + 2);
    if (!prg_text_has_prefix(field, "k:") || !prg_json_is_array(intent) ||
        prg_json_parse(arena, field + 2, strlen(field + 2), NULL, &key, NULL) != PRG_OK)
        return NULL;
    prg_json_each (item, intent)
        if (has_all(item, key))
            return item;
    return NULL;
}

// What the server put below an empty object of the intent as defaults stays nobody's: as ours it would be removed by
// the next apply, and the object with it.
static void leave_defaults(struct prg_arena *arena, cJSON *fields, const cJSON *intent)
{
    for (cJSON *field = fields ? fields->child : NULL, *next; field; field = next) {
        next = field->next;
        const cJSON *value = prg_json_is_object(field) ? value_of(arena, field->string, intent) : NULL;
        if (value && value->child)
            leave_defaults(arena, field, value);
        else if (prg_json_is_object(value))
            prg_json_replace(fields, field, prg_json_object(arena));
    }
}

cJSON *prg_adopt_fields(struct prg_arena *arena, const cJSON *live, const cJSON *intent, const char *manager)
{
    cJSON *entries = prg_json_copy(arena, prg_json_at(live, "metadata", "managedFields")), *ours = NULL;
    const char *version = prg_json_get_text(intent, "apiVersion");
    if (!prg_json_is_array(entries))
        return NULL;
    for (cJSON *entry = entries->child; entry; entry = entry->next)
        if (is_ours(entry, manager) && prg_text_equal(prg_json_get_text(entry, "apiVersion"), version))
            ours = entry;
    for (cJSON *entry = entries->child, *next; entry; entry = next) {
        next = entry->next;
        // Field sets of another version cannot be joined; those fields stay where they are.
        if (!is_of_old(entry) || !prg_text_equal(prg_json_get_text(entry, "apiVersion"), version))
            continue;
        if (!ours) {
            ours = entry;
            prg_json_set_string(arena, ours, "manager", manager);
            prg_json_set_string(arena, ours, "operation", "Apply");
            continue;
        }
        join_fields(arena, prg_json_ensure_object(arena, ours, "fieldsV1"), prg_json_get(entry, "fieldsV1"));
        prg_json_detach(entries, entry);
    }
    if (ours && !prg_json_at(intent, "spec", "replicas"))
        give_up_replicas(ours);
    if (ours)
        leave_defaults(arena, prg_json_get(ours, "fieldsV1"), intent);
    return prg_json_equal(entries, prg_json_at(live, "metadata", "managedFields")) ? NULL : entries;
}
