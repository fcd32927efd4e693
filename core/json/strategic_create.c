// SPDX-License-Identifier: Apache-2.0
// strategic_create.c: the strategic merge patch that leads from one object to another.
//
// Rules: CreateTwoWayMergePatch of apimachinery util/strategicpatch (diffMaps, diffLists), whose answers
// tests/cases/tables/strategic_merge_create.json records. One thing differs on purpose: the reference sorts the old
// list of a set of scalars before it looks whether the order changed, so that it misses some changes of order and
// reports others that are none; here the lists are compared as they are.
#include <string.h>

#include "base/vec.h"
#include "json/index.h"
#include "json/mergelist.h"
#include "json/strategic.h"

struct maker {
    struct prg_arena *arena;  // of the patch
    struct prg_arena scratch; // of lists while they are compared
    struct prg_error *err;
};

static int diff_object(struct maker *m, const struct prg_schema_field *type, const struct prg_step *at,
                       const cJSON *from, const cJSON *to, cJSON *patch);

// ---- lists ----

struct entry {
    const cJSON *node, *key;
    const char *text; // of the key, by which both lists are sorted and matched
    size_t length;
    size_t place; // in its list
};

// The key as Go prints it with %v.
static void set_text(struct entry *entry)
{
    const cJSON *key = entry->key;
    entry->length = 0;
    if (prg_json_is_string(key)) {
        entry->text = key->valuestring;
        entry->length = (size_t)key->valueint;
        return;
    }
    entry->text = prg_json_is_number(key)  ? key->valuestring
                  : !prg_json_is_bool(key) ? "<nil>"
                                           : (prg_json_is_true(key) ? "true" : "false");
    entry->length = strlen(entry->text);
}

static int compare_texts(const void *a, const void *b, void *ctx)
{
    const struct entry *x = a, *y = b;
    (void)ctx;
    int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    if (order != 0)
        return order;
    return x->length == y->length ? 0 : x->length < y->length ? -1 : 1;
}

// Go's sort of short lists, with the reference's "less or equal", turns entries with the same key around.
static int compare_for_sorting(const void *a, const void *b, void *ctx)
{
    const struct entry *x = a, *y = b;
    int order = compare_texts(a, b, ctx);
    return order != 0 ? order : x->place > y->place ? -1 : 1;
}

static int compare_places(const void *a, const void *b, void *ctx)
{
    const struct entry *x = a, *y = b;
    (void)ctx;
    return x->place == y->place ? 0 : x->place < y->place ? -1 : 1;
}

// The entries of a list, sorted by key; *ret_sorted has `count` of them.
static int sort_entries(struct maker *m, const struct prg_step *at, const char *merge_key, const cJSON *list,
                        struct entry ***ret_sorted, size_t *ret_count)
{
    size_t count = prg_json_count(list), index = 0;
    struct entry *entries = prg_arena_array(&m->scratch, struct entry, count);
    struct entry **sorted = prg_arena_array(&m->scratch, struct entry *, count);
    const cJSON *item;
    prg_json_each (item, list) {
        struct entry *entry = &entries[index];
        entry->node = item;
        entry->place = index;
        int rc = prg_mergelist_key(m->err, at, merge_key, item, index, &entry->key);
        if (rc != PRG_OK)
            return rc;
        set_text(entry);
        sorted[index++] = entry;
    }
    prg_sort((void **)sorted, count, compare_for_sorting, NULL);
    *ret_sorted = sorted;
    *ret_count = count;
    return PRG_OK;
}

// What is to be done to a list, as two lists of entries.
struct changes {
    struct prg_vec changed; // struct entry: node is what the patch says of it, place where the new list has it
    struct prg_vec deleted; // struct entry of the old list, sorted by key
};

static int add_changed(struct maker *m, struct changes *changes, const struct entry *entry, const cJSON *node)
{
    struct entry *changed = prg_arena_new(&m->scratch, struct entry);
    *changed = *entry;
    changed->node = node;
    prg_vec_push(&changes->changed, changed);
    return PRG_OK;
}

// An entry that both lists have. Scalars are the same then; of an object the patch has what differs, and its key.
static int compare_entries(struct maker *m, const struct prg_schema_field *field, const struct prg_step *at,
                           const struct entry *from, const struct entry *to, struct changes *changes)
{
    if (!prg_json_is_object(to->node))
        return PRG_OK;
    struct prg_schema_field buffer;
    const struct prg_schema_field *type = prg_mergelist_entry(field, &buffer);
    if (type)
        buffer.flags = field->flags & PRG_FIELD_RETAIN_KEYS; // written on the list, meant for its entries
    struct prg_step place = {at, NULL, to->place};
    cJSON *patch = prg_json_object(m->arena);
    int rc = diff_object(m, type, &place, from->node, to->node, patch);
    if (rc != PRG_OK || !patch->child)
        return rc;
    prg_json_set(m->arena, patch, field->merge_key, prg_json_copy(m->arena, to->key));
    return add_changed(m, changes, to, patch);
}

// Walks both lists in the order of their keys.
static int compare_lists(struct maker *m, const struct prg_schema_field *field, const struct prg_step *at,
                         const cJSON *from, const cJSON *to, struct changes *changes)
{
    struct entry **old, **new;
    size_t old_count = 0, new_count = 0;
    int rc = sort_entries(m, at, field->merge_key, from, &old, &old_count);
    if (rc == PRG_OK)
        rc = sort_entries(m, at, field->merge_key, to, &new, &new_count);
    size_t i = 0, j = 0;
    while (rc == PRG_OK && (i < old_count || j < new_count)) {
        int order = i >= old_count ? 1 : j >= new_count ? -1 : compare_texts(old[i], new[j], NULL);
        if (order == 0) {
            rc = compare_entries(m, field, at, old[i], new[j], changes);
            i++;
            j++;
        } else if (order > 0) {
            rc = add_changed(m, changes, new[j], new[j]->node);
            j++;
        } else {
            prg_vec_push(&changes->deleted, old[i++]);
        }
    }
    return rc;
}

// Gives each changed entry the first place that its key has in the new list, and sorts by it.
static void sort_changed(struct maker *m, const struct prg_schema_field *field, const cJSON *to,
                         struct changes *changes)
{
    struct prg_key_table places;
    prg_key_table_init(&places, &m->scratch, prg_json_count(to));
    size_t index = 0;
    const cJSON *item;
    prg_json_each (item, to)
        prg_key_table_add(&places, field->merge_key ? prg_json_get(item, field->merge_key) : item, index++);
    for (size_t i = 0; i < changes->changed.count; i++) {
        struct entry *entry = changes->changed.items[i];
        entry->place = prg_key_table_find(&places, entry->key);
    }
    prg_vec_sort(&changes->changed, compare_places, NULL);
}

static bool same_keys(const char *merge_key, const cJSON *from, const cJSON *to)
{
    const cJSON *x = from->child, *y = to->child;
    for (; x && y; x = x->next, y = y->next)
        if (!prg_json_equal(merge_key ? prg_json_get(x, merge_key) : x, merge_key ? prg_json_get(y, merge_key) : y))
            return false;
    return !x && !y;
}

static cJSON *order_list(struct maker *m, const char *merge_key, const cJSON *to)
{
    cJSON *order = prg_json_array(m->arena);
    const cJSON *item;
    prg_json_each (item, to) {
        cJSON *entry = prg_json_copy(m->arena, merge_key ? prg_json_get(item, merge_key) : item);
        if (merge_key) {
            cJSON *object = prg_json_object(m->arena);
            prg_json_add(m->arena, object, merge_key, entry);
            entry = object;
        }
        prg_json_append(order, entry);
    }
    return order;
}

static void add_directive(struct maker *m, cJSON *patch, const char *prefix, const char *key, cJSON *value)
{
    prg_json_add(m->arena, patch, prg_arena_printf(&m->scratch, "%s/%s", prefix, key), value);
}

static void write_changes(struct maker *m, const struct prg_schema_field *field, const char *key, const cJSON *from,
                          const cJSON *to, const struct changes *changes, cJSON *patch)
{
    cJSON *list = prg_json_array(m->arena), *deletions = prg_json_array(m->arena);
    for (size_t i = 0; i < changes->changed.count; i++)
        prg_json_append(list, prg_json_copy(m->arena, ((struct entry *)changes->changed.items[i])->node));
    const struct entry *last = NULL;
    for (size_t i = 0; i < changes->deleted.count; i++) {
        const struct entry *entry = changes->deleted.items[i];
        if (field->merge_key) {
            cJSON *directive = prg_json_object(m->arena);
            prg_json_add(m->arena, directive, field->merge_key, prg_json_copy(m->arena, entry->key));
            prg_json_set_string(m->arena, directive, PRG_DIRECTIVE, "delete");
            prg_json_append(list, directive);
        } else if (!last || compare_texts(last, entry, NULL) != 0) {
            prg_json_append(deletions, prg_json_copy(m->arena, entry->node));
        }
        last = entry;
    }
    bool is_changed = list->child || deletions->child || !same_keys(field->merge_key, from, to);
    if (list->child)
        prg_json_add(m->arena, patch, key, list);
    if (deletions->child)
        add_directive(m, patch, PRG_DELETE_ITEMS, key, deletions);
    if (is_changed && to->child)
        add_directive(m, patch, PRG_SET_ORDER, key, order_list(m, field->merge_key, to));
}

static int diff_list(struct maker *m, const struct prg_schema_field *field, const struct prg_step *at,
                     const cJSON *from, const cJSON *to, cJSON *patch)
{
    const char *key = at->key;
    if (!prg_mergelist_is_merged(field) || !from->child) {
        bool is_same = prg_mergelist_is_merged(field) ? !to->child : prg_json_equal(from, to);
        if (!is_same)
            prg_json_add(m->arena, patch, key, prg_json_copy(m->arena, to));
        return PRG_OK;
    }
    bool are_objects;
    int rc = prg_mergelist_kind(m->err, at, from, to, &are_objects);
    if (rc == PRG_OK && are_objects && !field->merge_key)
        rc = prg_mergelist_fail(m->err, at, "its objects have no merge key, so they cannot be merged");
    struct changes changes = {0};
    if (rc == PRG_OK)
        rc = compare_lists(m, field, at, from, to, &changes);
    if (rc == PRG_OK) {
        sort_changed(m, field, to, &changes);
        write_changes(m, field, key, from, to, &changes, patch);
    }
    prg_vec_release(&changes.changed);
    prg_vec_release(&changes.deleted);
    return rc;
}

// ---- objects ----

static int diff_member(struct maker *m, const struct prg_schema_field *type, const struct prg_step *up,
                       const cJSON *from, const cJSON *to, cJSON *patch)
{
    struct prg_step at = {up, to->string, 0};
    struct prg_schema_field buffer;
    if (prg_json_is_object(from) && prg_json_is_object(to)) {
        cJSON *inner = prg_json_object(m->arena);
        int rc = diff_object(m, prg_mergelist_member(type, to->string, &buffer), &at, from, to, inner);
        if (rc == PRG_OK && inner->child)
            prg_json_add(m->arena, patch, to->string, inner);
        return rc;
    }
    if (prg_json_is_array(from) && prg_json_is_array(to))
        return diff_list(m, prg_mergelist_member(type, to->string, &buffer), &at, from, to, patch);
    if (strcmp(to->string, PRG_DIRECTIVE) == 0 && from && !(prg_json_is_string(from) && prg_json_is_string(to)))
        return prg_mergelist_fail(m->err, &at, "must be a string");
    if (!from || !prg_json_equal(from, to))
        prg_json_add(m->arena, patch, to->string, prg_json_copy(m->arena, to));
    return PRG_OK;
}

static int compare_names(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const cJSON *)a)->string, ((const cJSON *)b)->string);
}

// $retainKeys names all fields that are to be set, so that applying the patch clears the others of a union.
static void add_retained(struct maker *m, const cJSON *to, cJSON *patch)
{
    struct prg_vec names = {0};
    cJSON *list = prg_json_array(m->arena), *member;
    prg_json_each (member, to)
        if (!prg_json_is_null(member))
            prg_vec_push(&names, member);
    prg_vec_sort(&names, compare_names, NULL);
    for (size_t i = 0; i < names.count; i++)
        prg_json_append(list, prg_json_string(m->arena, ((const cJSON *)names.items[i])->string));
    if (names.count)
        prg_json_set(m->arena, patch, PRG_RETAIN_KEYS, list);
    prg_vec_release(&names);
}

static int diff_object(struct maker *m, const struct prg_schema_field *type, const struct prg_step *at,
                       const cJSON *from, const cJSON *to, cJSON *patch)
{
    int rc = PRG_OK;
    struct prg_json_index by_key;
    const cJSON *member;
    prg_json_index_members(&by_key, from);
    for (member = to->child; member && rc == PRG_OK; member = member->next)
        rc = diff_member(m, type, at, prg_json_index_get(&by_key, member->string), member, patch);
    prg_json_index_release(&by_key);
    if (rc != PRG_OK)
        return rc;
    prg_json_index_members(&by_key, to);
    prg_json_each (member, from) {
        if (!prg_json_index_get(&by_key, member->string))
            prg_json_add(m->arena, patch, member->string, prg_json_null(m->arena));
    }
    prg_json_index_release(&by_key);
    if (patch->child && type && (type->flags & PRG_FIELD_RETAIN_KEYS))
        add_retained(m, to, patch);
    return PRG_OK;
}

int prg_strategic_create(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *from, const cJSON *to,
                         cJSON **ret, struct prg_error *err)
{
    if ((from && !prg_json_is_object(from)) || (to && !prg_json_is_object(to)))
        return prg_fail(err, PRG_INVALID, "a strategic merge patch leads from object to object, not from %s to %s",
                        prg_json_type_name(from), prg_json_type_name(to));
    struct maker m = {.arena = arena, .err = err};
    prg_arena_init(&m.scratch);
    struct prg_schema_field root = {.kind = PRG_KIND_OBJECT, .type = schema};
    cJSON *patch = prg_json_object(arena), *empty = prg_json_object(&m.scratch);
    int rc = diff_object(&m, &root, NULL, from ? from : empty, to ? to : empty, patch);
    prg_arena_release(&m.scratch);
    if (rc == PRG_OK)
        *ret = patch;
    return rc;
}
