// SPDX-License-Identifier: Apache-2.0
// strategic.c: applies a strategic merge patch.
//
// Rules: apimachinery util/strategicpatch of Kubernetes 1.36 (mergeMap, mergeSlice, mergePatchIntoOriginal,
// normalizeElementOrder), whose answers tests/cases/tables/strategic_merge_pod.json records. The reference changes its
// inputs in place; here the result is built anew from both, each node copied once. Where the reference's answer depends
// on the order of a Go map, additions to a list come before deletions from it.
#include "json/strategic.h"

#include <string.h>

#include "base/vec.h"
#include "json/index.h"
#include "json/mergelist.h"

struct merger {
    struct prg_arena *arena;  // of the result
    struct prg_arena scratch; // of lists while they are merged
    bool shares;              // what of an input is not changed is not copied either
    struct prg_error *err;
};

// A value on its way into the result: a node of an input, to be copied, or a new one.
struct value {
    const cJSON *node; // NULL: nothing
    bool is_new;
};

// A node of an input with everything below it.
static cJSON *take(struct merger *m, const cJSON *node)
{
    return m->shares ? prg_json_reference(m->arena, node) : prg_json_copy(m->arena, node);
}

// One of its scalars, or a container whose children are added one by one.
static cJSON *take_one(struct merger *m, const cJSON *node)
{
    return m->shares ? prg_json_clone_empty(m->arena, node) : prg_json_copy_empty(m->arena, node);
}

static void add(struct merger *m, cJSON *object, const char *key, cJSON *value)
{
    if (m->shares)
        prg_json_add_shared(object, key, value);
    else
        prg_json_add(m->arena, object, key, value);
}

static cJSON *finish(struct merger *m, struct value value)
{
    return value.is_new ? (cJSON *)value.node : take(m, value.node);
}

// ---- objects ----

// What a patch says about the members of one object.
struct changes {
    const cJSON *patch;
    struct prg_json_index by_key;
    bool has_orders, has_deletions;
    bool has_retained;
    struct prg_key_table retained;
};

static bool is_directive(const char *key)
{
    return key[0] == '$' && (strcmp(key, PRG_RETAIN_KEYS) == 0 || prg_text_has_prefix(key, PRG_SET_ORDER) ||
                             prg_text_has_prefix(key, PRG_DELETE_ITEMS));
}

static bool has_patch_directive(const cJSON *node, const char *value)
{
    const cJSON *directive = prg_json_get(node, PRG_DIRECTIVE);
    return prg_json_is_string(directive) && prg_json_text_length(directive) == strlen(value) &&
           strcmp(directive->valuestring, value) == 0;
}

// Whether copy_cleaned would leave something out.
static bool needs_cleaning(const cJSON *node, bool keep_nulls)
{
    const cJSON *item;
    bool is_object = prg_json_is_object(node);
    prg_json_each (item, node) {
        if (is_object && ((item->string[0] == '$' && strcmp(item->string, PRG_DIRECTIVE) == 0) ||
                          (!keep_nulls && prg_json_is_null(item))))
            return true;
        if (item->child && needs_cleaning(item, keep_nulls))
            return true;
    }
    return false;
}

// A copy for a place where nothing was to be merged with: objects that carry $patch are left out at any depth, and
// unless keep_nulls members that are null; NULL when node is such an object itself. Source: removeDirectives,
// discardNullValuesFromPatch.
static cJSON *copy_cleaned(struct merger *m, const cJSON *node, bool keep_nulls)
{
    if (!prg_json_is_object(node) && !prg_json_is_array(node))
        return take_one(m, node);
    const cJSON *directive = prg_json_get(node, PRG_DIRECTIVE);
    if (directive && (keep_nulls || !prg_json_is_null(directive)))
        return NULL;
    cJSON *copy = take_one(m, node);
    const cJSON *item;
    prg_json_each (item, node) {
        bool is_member = prg_json_is_object(node);
        bool is_dropped = is_member && !keep_nulls && prg_json_is_null(item);
        cJSON *value = is_dropped ? NULL : copy_cleaned(m, item, keep_nulls);
        if (value && is_member)
            add(m, copy, item->string, value);
        else if (value)
            prg_json_append(copy, value);
    }
    return copy;
}

static int read_retained(struct merger *m, const struct prg_step *at, struct changes *changes, const cJSON *list)
{
    if (!prg_json_is_array(list))
        return prg_mergelist_fail(m->err, at, PRG_RETAIN_KEYS " must be a list of field names");
    changes->has_retained = true;
    prg_key_table_init(&changes->retained, &m->scratch, prg_json_count(list));
    const cJSON *item;
    prg_json_each (item, list) {
        if (!prg_json_is_string(item))
            return prg_mergelist_fail(m->err, at, PRG_RETAIN_KEYS " must be a list of field names");
        prg_key_table_add(&changes->retained, item, 0);
    }
    return PRG_OK;
}

static bool is_retained(const struct changes *changes, const char *key)
{
    if (!changes->has_retained)
        return true;
    cJSON name = {.type = cJSON_String, .valuestring = (char *)key, .valueint = (int)strlen(key)};
    return prg_key_table_find(&changes->retained, &name) != PRG_NO_PLACE;
}

// Reads the directives of a patch object, $patch aside, and checks their form.
static int read_changes(struct merger *m, const struct prg_step *at, struct changes *changes)
{
    const cJSON *member;
    prg_json_each (member, changes->patch) {
        const char *key = member->string;
        if (!is_directive(key))
            continue;
        if (strcmp(key, PRG_RETAIN_KEYS) == 0) {
            int rc = read_retained(m, at, changes, member);
            if (rc != PRG_OK)
                return rc;
            continue;
        }
        bool is_order = prg_text_has_prefix(key, PRG_SET_ORDER);
        const char *prefix = is_order ? PRG_SET_ORDER : PRG_DELETE_ITEMS;
        if (key[strlen(prefix)] != '/')
            return prg_mergelist_fail(m->err, at, "'%s' must be written %s/FIELD", key, prefix);
        if (is_order && !prg_json_is_array(member))
            return prg_mergelist_fail(m->err, at, "'%s' must be a list", key);
        changes->has_orders |= is_order;
        changes->has_deletions |= !is_order;
    }
    prg_json_each (member, changes->patch) {
        if (changes->has_retained && !prg_json_is_null(member) && !is_directive(member->string) &&
            !is_retained(changes, member->string))
            return prg_mergelist_fail(m->err, at, "the patch sets '%s', which its " PRG_RETAIN_KEYS " does not name",
                                      member->string);
    }
    return PRG_OK;
}

static const cJSON *find_directive(struct merger *m, const struct changes *changes, const char *prefix, const char *key)
{
    return prg_json_index_get(&changes->by_key, prg_arena_printf(&m->scratch, "%s/%s", prefix, key));
}

static int merge_object(struct merger *m, const struct prg_schema_field *type, const struct prg_step *at,
                        const cJSON *original, const cJSON *patch, cJSON **ret);
static int merge_list(struct merger *m, const struct prg_schema_field *field, const struct prg_step *at,
                      const cJSON *original, const cJSON *patch, bool is_deletion, cJSON **ret);
static int merge_in_order(struct merger *m, const struct prg_schema_field *field, const struct prg_step *at,
                          const cJSON *original, const cJSON *patch, const cJSON *order, cJSON **ret);

// Changes value as the patch's member `change` says. is_deletion: change is a $deleteFromPrimitiveList, which cannot
// bring anything into being.
static int apply_change(struct merger *m, const struct prg_schema_field *field, const struct prg_step *at,
                        const cJSON *change, bool is_deletion, struct value *value)
{
    const cJSON *original = value->node;
    cJSON *merged = NULL;
    int rc = PRG_OK;
    if (prg_json_is_null(change)) {
        *value = (struct value){0};
        return PRG_OK;
    }
    if (prg_json_is_object(original) && prg_json_is_object(change))
        rc = merge_object(m, field, at, original, change, &merged);
    else if (prg_json_is_array(original) && prg_json_is_array(change))
        rc = merge_list(m, field, at, original, change, is_deletion, &merged);
    else if (!is_deletion)
        merged = m->shares && !needs_cleaning(change, false) ? take(m, change) : copy_cleaned(m, change, false);
    else
        return PRG_OK;
    if (rc == PRG_OK)
        *value = (struct value){merged, true};
    return rc;
}

// Adds the member called key of the merged object, if there is to be one. original is NULL when the patch brings it.
static int merge_member(struct merger *m, const struct prg_schema_field *type, const struct prg_step *up,
                        const struct changes *changes, const char *key, const cJSON *original, cJSON *merged)
{
    struct prg_step at = {up, key, 0};
    struct prg_schema_field buffer;
    // A directive that an earlier patch left in the original is a member like any other, not one to be merged.
    const cJSON *change = is_directive(key) ? NULL : prg_json_index_get(&changes->by_key, key);
    const cJSON *order = changes->has_orders ? find_directive(m, changes, PRG_SET_ORDER, key) : NULL;
    const cJSON *deletion = changes->has_deletions ? find_directive(m, changes, PRG_DELETE_ITEMS, key) : NULL;
    struct value value = {original, false};
    int rc = PRG_OK;
    if (change || order || deletion) {
        const struct prg_schema_field *field = prg_mergelist_member(type, key, &buffer);
        if (order) {
            cJSON *ordered = NULL;
            rc = merge_in_order(m, field, &at, original, change, order, &ordered);
            value = (struct value){ordered, true};
        } else if (change) {
            rc = apply_change(m, field, &at, change, false, &value);
        }
        if (rc == PRG_OK && deletion)
            rc = apply_change(m, field, &at, deletion, true, &value);
    }
    if (rc == PRG_OK && value.node)
        add(m, merged, key, finish(m, value));
    return rc;
}

// $patch in an object: replace takes the rest of the patch as it is, delete leaves an empty object.
static int apply_directive(struct merger *m, const struct prg_step *at, const cJSON *patch, cJSON **ret)
{
    if (has_patch_directive(patch, "replace")) {
        *ret = m->shares ? prg_json_clone(m->arena, patch) : prg_json_copy(m->arena, patch);
        prg_json_remove(*ret, PRG_DIRECTIVE);
        return PRG_OK;
    }
    if (has_patch_directive(patch, "delete")) {
        *ret = take_one(m, patch);
        return PRG_OK;
    }
    return prg_mergelist_fail(m->err, at, "unknown " PRG_DIRECTIVE " directive; an object knows replace and delete");
}

static int merge_object(struct merger *m, const struct prg_schema_field *type, const struct prg_step *at,
                        const cJSON *original, const cJSON *patch, cJSON **ret)
{
    if (prg_json_get(patch, PRG_DIRECTIVE))
        return apply_directive(m, at, patch, ret);
    struct changes changes = {.patch = patch};
    int rc = read_changes(m, at, &changes);
    if (rc != PRG_OK)
        return rc;
    cJSON *merged = take_one(m, original);
    prg_json_index_members(&changes.by_key, patch);
    const cJSON *member;
    for (member = original->child; member && rc == PRG_OK; member = member->next)
        if (is_retained(&changes, member->string))
            rc = merge_member(m, type, at, &changes, member->string, member, merged);
    struct prg_json_index present;
    prg_json_index_members(&present, original);
    for (member = patch->child; member && rc == PRG_OK; member = member->next) {
        if (is_directive(member->string))
            continue;
        if (!prg_json_index_get(&present, member->string) || !is_retained(&changes, member->string))
            rc = merge_member(m, type, at, &changes, member->string, NULL, merged);
    }
    prg_json_index_release(&present);
    prg_json_index_release(&changes.by_key);
    *ret = merged;
    return rc;
}

// ---- lists ----

struct entry {
    struct value value;
    const cJSON *key; // what identifies it
    size_t rank;      // its place in the list that orders its group, PRG_NO_PLACE when it is not in there
    size_t was;       // its place before the patch, likewise; of entries that are being arranged
    size_t index;     // where it stands in its group, so that sorting is stable
};

struct list {
    struct merger *m;
    const struct prg_step *at;
    const char *merge_key;
    struct entry *entries;
    size_t count, cap;
    // The order of the list before the patch, by which entries that the patch does not name are slipped in.
    struct prg_key_table before;
    size_t kept, deleted; // of the original's entries
};

static void list_init(struct list *list, struct merger *m, const struct prg_step *at, const char *merge_key, size_t cap)
{
    *list = (struct list){.m = m, .at = at, .merge_key = merge_key, .cap = cap};
    list->entries = prg_arena_array(&m->scratch, struct entry, cap);
    prg_key_table_init(&list->before, &m->scratch, cap);
}

static int list_push(struct list *list, struct value value, size_t index)
{
    const cJSON *key;
    int rc = prg_mergelist_key(list->m->err, list->at, list->merge_key, value.node, index, &key);
    if (rc != PRG_OK)
        return rc;
    prg_require(list->count < list->cap);
    list->entries[list->count++] = (struct entry){.value = value, .key = key};
    return PRG_OK;
}

static int list_push_all(struct list *list, const cJSON *array)
{
    size_t index = 0;
    const cJSON *item;
    prg_json_each (item, array) {
        int rc = list_push(list, (struct value){item, false}, index++);
        if (rc != PRG_OK)
            return rc;
    }
    return PRG_OK;
}

static void note_order_before(struct list *list)
{
    list->kept = list->count;
    for (size_t i = 0; i < list->count; i++)
        prg_key_table_add(&list->before, list->entries[i].key, i);
}

// Go's stable sort handles lists of up to this length by insertion, which shows where a comparison contradicts itself.
#define GO_BLOCK 20

static bool comes_before(const struct entry *a, const struct entry *b)
{
    // An entry without a place moves in front of all others and lets all others move in front of it: the reference's
    // comparison is "less" whenever it cannot tell.
    return a->rank == PRG_NO_PLACE || b->rank == PRG_NO_PLACE || a->rank < b->rank;
}

static int compare_ranks(const void *a, const void *b, void *ctx)
{
    const struct entry *x = a, *y = b;
    (void)ctx;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static void insertion_sort(struct entry **group, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && comes_before(group[j], group[j - 1]); j--) {
            struct entry *swapped = group[j];
            group[j] = group[j - 1];
            group[j - 1] = swapped;
        }
}

// Sorts a group by rank, entries that are marked as deleted last. Source: normalizeSliceOrder.
static void sort_group(struct entry **group, size_t count, struct entry **scratch)
{
    size_t live = 0, dead = 0;
    bool all_ranked = true, in_order = true;
    for (size_t i = 0; i < count; i++) {
        if (has_patch_directive(group[i]->value.node, "delete")) {
            scratch[dead++] = group[i];
            continue;
        }
        all_ranked &= group[i]->rank != PRG_NO_PLACE;
        in_order &= live == 0 || group[live - 1]->rank <= group[i]->rank;
        group[i]->index = live;
        group[live++] = group[i];
    }
    for (size_t i = 0; i < dead; i++)
        group[live + i] = scratch[i];
    if (!all_ranked && live <= GO_BLOCK)
        insertion_sort(group, live);
    else if (!in_order)
        prg_sort((void **)group, live, compare_ranks, NULL);
}

// Orders the entries: those that `order` names as it does; each other one goes in front of the first of these that came
// after it before. Source: normalizeElementOrder, mergeSortedSlice.
static void arrange(struct list *list, const struct prg_key_table *order, struct entry **ret)
{
    struct entry **named = prg_arena_array(&list->m->scratch, struct entry *, 2 * list->count + 1);
    struct entry **others = named + list->count;
    size_t named_count = 0, other_count = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct entry *entry = &list->entries[i];
        size_t place = prg_key_table_find(order, entry->key);
        entry->was = prg_key_table_find(&list->before, entry->key);
        entry->rank = place != PRG_NO_PLACE ? place : entry->was;
        if (place != PRG_NO_PLACE)
            named[named_count++] = entry;
        else
            others[other_count++] = entry;
    }
    sort_group(named, named_count, ret);
    sort_group(others, other_count, ret);
    size_t i = 0, j = 0;
    for (size_t k = 0; k < list->count; k++) {
        bool take_other = i < other_count;
        if (take_other && j < named_count) {
            size_t mine = others[i]->was, its = named[j]->was;
            take_other = mine != PRG_NO_PLACE && its != PRG_NO_PLACE && mine < its;
        }
        ret[k] = take_other ? others[i++] : named[j++];
    }
}

// The arranged entries become the list's own.
static void arrange_in_place(struct list *list, const struct prg_key_table *order)
{
    struct entry **arranged = prg_arena_array(&list->m->scratch, struct entry *, list->count + 1);
    arrange(list, order, arranged);
    struct entry *entries = prg_arena_array(&list->m->scratch, struct entry, list->cap);
    for (size_t i = 0; i < list->count; i++)
        entries[i] = *arranged[i];
    list->entries = entries;
}

static cJSON *list_print(struct list *list, const cJSON *like)
{
    cJSON *array = take_one(list->m, like);
    for (size_t i = 0; i < list->count; i++)
        prg_json_append(array, finish(list->m, list->entries[i].value));
    return array;
}

// What the entries with $patch in a patch list say. Source: mergeSliceWithSpecialElements.
static int read_special(struct list *list, const cJSON *patch, struct prg_key_table *deletions, bool *ret_replaces)
{
    size_t index = 0;
    const cJSON *item;
    *ret_replaces = false;
    prg_key_table_init(deletions, &list->m->scratch, prg_json_count(patch));
    prg_json_each (item, patch) {
        struct prg_step at = {list->at, NULL, index};
        const cJSON *key;
        if (!prg_json_get(item, PRG_DIRECTIVE)) {
            index++;
            continue;
        }
        if (has_patch_directive(item, "delete")) {
            int rc = prg_mergelist_key(list->m->err, list->at, list->merge_key, item, index, &key);
            if (rc != PRG_OK)
                return rc;
            prg_key_table_add(deletions, key, index);
        } else if (has_patch_directive(item, "replace")) {
            *ret_replaces = true;
        } else {
            return prg_mergelist_fail(list->m->err, &at,
                                      "unknown " PRG_DIRECTIVE " directive; a list entry knows replace and delete");
        }
        index++;
    }
    return PRG_OK;
}

// Takes over the original's entries that are not deleted, or the patch's plain ones when it replaces the list.
static int keep_entries(struct list *list, const cJSON *original, const cJSON *patch,
                        const struct prg_key_table *deletions, bool replaces)
{
    size_t index = 0;
    const cJSON *item;
    prg_json_each (item, replaces ? patch : original) {
        bool is_special = replaces && prg_json_get(item, PRG_DIRECTIVE);
        const cJSON *key = deletions->count && !replaces ? prg_json_get(item, list->merge_key) : NULL;
        if (key && prg_key_table_find(deletions, key) != PRG_NO_PLACE) {
            list->deleted++;
        } else if (!is_special) {
            int rc = list_push(list, (struct value){item, false}, index);
            if (rc != PRG_OK)
                return rc;
        }
        index++;
    }
    note_order_before(list);
    return PRG_OK;
}

// Merges the patch's plain entries into those that have the same key, appends the others. The order of the patch goes
// into *order. Source: mergeSliceWithoutSpecialElements.
static int merge_entries(struct list *list, const struct prg_schema_field *field, const cJSON *patch,
                         struct prg_key_table *order)
{
    struct prg_schema_field buffer;
    const struct prg_schema_field *type = prg_mergelist_entry(field, &buffer);
    struct prg_key_table by_key;
    prg_key_table_init(&by_key, &list->m->scratch, list->cap);
    for (size_t i = 0; i < list->count; i++)
        prg_key_table_add(&by_key, list->entries[i].key, i);
    size_t index = 0, position = 0;
    const cJSON *item;
    prg_json_each (item, patch) {
        struct prg_step at = {list->at, NULL, index++};
        const cJSON *key;
        if (prg_json_get(item, PRG_DIRECTIVE))
            continue;
        int rc = prg_mergelist_key(list->m->err, list->at, list->merge_key, item, index - 1, &key);
        if (rc != PRG_OK)
            return rc;
        prg_key_table_add(order, key, position++);
        size_t place = prg_key_table_find(&by_key, key);
        if (place == PRG_NO_PLACE) {
            prg_key_table_add(&by_key, key, list->count);
            rc = list_push(list, (struct value){item, false}, index - 1);
        } else {
            cJSON *merged = NULL;
            rc = merge_object(list->m, type, &at, list->entries[place].value.node, item, &merged);
            list->entries[place].value = (struct value){merged, true};
            if (rc == PRG_OK) // a key that is null in the patch is gone now
                rc = prg_mergelist_key(list->m->err, list->at, list->merge_key, merged, index - 1,
                                       &list->entries[place].key);
        }
        if (rc != PRG_OK)
            return rc;
    }
    return PRG_OK;
}

// Merges a list of objects into *list.
static int merge_object_list(struct list *list, const struct prg_schema_field *field, const cJSON *original,
                             const cJSON *patch)
{
    if (!list->merge_key)
        return prg_mergelist_fail(list->m->err, list->at, "its objects have no merge key, so they cannot be merged");
    struct prg_key_table deletions, order;
    bool replaces;
    int rc = read_special(list, patch, &deletions, &replaces);
    if (rc == PRG_OK)
        rc = keep_entries(list, original, patch, &deletions, replaces);
    prg_key_table_init(&order, &list->m->scratch, prg_json_count(patch));
    if (rc == PRG_OK && !replaces)
        rc = merge_entries(list, field, patch, &order);
    if (rc != PRG_OK)
        return rc;
    size_t reused = list->count - list->kept < list->deleted ? list->count - list->kept : list->deleted;
    const struct entry *added = list->entries + list->kept;
    arrange_in_place(list, &order);
    // The reference deletes within the list's own storage and appends into the room that this leaves. Its
    // $setElementOrder looks at that storage again, so as many new entries as were deleted count as having stood at the
    // end of the list before.
    for (size_t i = 0; i < reused; i++)
        prg_key_table_add(&list->before, added[i].key, list->kept + i);
    return PRG_OK;
}

// Merges a list of scalars into *list: a set, or the original without the patch's values when is_deletion.
static int merge_scalar_list(struct list *list, const cJSON *original, const cJSON *patch, bool is_deletion)
{
    if (is_deletion)
        list->merge_key = NULL; // values are deleted whatever the list is merged by
    struct prg_key_table seen, order;
    prg_key_table_init(&seen, &list->m->scratch, list->cap);
    prg_key_table_init(&order, &list->m->scratch, prg_json_count(patch));
    size_t index = 0;
    const cJSON *item;
    prg_json_each (item, patch)
        prg_key_table_add(&order, item, index++);
    const cJSON *lists[] = {original, is_deletion ? NULL : patch};
    for (size_t i = 0; i < PRG_COUNT(lists); i++) {
        index = 0;
        prg_json_each (item, lists[i]) {
            bool is_dropped = is_deletion ? prg_key_table_find(&order, item) != PRG_NO_PLACE
                                          : prg_key_table_find(&seen, item) != PRG_NO_PLACE;
            int rc = is_dropped ? PRG_OK : list_push(list, (struct value){item, false}, index);
            if (rc != PRG_OK)
                return rc;
            prg_key_table_add(&seen, item, index++);
        }
        if (i == 0)
            note_order_before(list);
    }
    if (!is_deletion)
        arrange_in_place(list, &order);
    return PRG_OK;
}

static int merge_into_list(struct list *list, const struct prg_schema_field *field, const cJSON *original,
                           const cJSON *patch, bool is_deletion)
{
    bool are_objects;
    int rc = prg_mergelist_kind(list->m->err, list->at, original, patch, &are_objects);
    if (rc != PRG_OK)
        return rc;
    if (are_objects)
        return merge_object_list(list, field, original, patch);
    return merge_scalar_list(list, original, patch, is_deletion);
}

static int merge_list(struct merger *m, const struct prg_schema_field *field, const struct prg_step *at,
                      const cJSON *original, const cJSON *patch, bool is_deletion, cJSON **ret)
{
    bool is_merged = prg_mergelist_is_merged(field);
    if (!is_merged && !is_deletion) {
        *ret = take(m, patch);
        return PRG_OK;
    }
    struct list list;
    list_init(&list, m, at, is_merged ? field->merge_key : NULL, prg_json_count(original) + prg_json_count(patch));
    int rc = merge_into_list(&list, field, original, patch, is_deletion);
    if (rc == PRG_OK)
        *ret = list_print(&list, original);
    return rc;
}

// ---- $setElementOrder ----

// The plain entries of the patch must come in the order that the directive gives. Source:
// validatePatchWithSetOrderList.
static int check_order(struct list *list, const cJSON *patch, const cJSON *order)
{
    if (!prg_json_count(order))
        return PRG_OK;
    size_t index = 0, order_index = 0;
    const cJSON *item, *wanted = order->child;
    prg_json_each (item, patch) {
        const cJSON *key, *order_key;
        struct prg_step at = {list->at, NULL, index};
        if (list->merge_key && prg_json_get(item, PRG_DIRECTIVE)) {
            if (!wanted && !has_patch_directive(item, "delete"))
                return prg_mergelist_fail(list->m->err, &at,
                                          "a " PRG_DIRECTIVE " entry must come before the last that " PRG_SET_ORDER
                                          " names");
            index++;
            continue;
        }
        int rc = prg_mergelist_key(list->m->err, list->at, list->merge_key, item, index, &key);
        bool is_found = false;
        for (; rc == PRG_OK && wanted && !is_found; wanted = wanted->next) {
            rc = prg_mergelist_key(list->m->err, list->at, list->merge_key, wanted, order_index++, &order_key);
            is_found = rc == PRG_OK && prg_json_equal(key, order_key);
        }
        if (rc != PRG_OK)
            return rc;
        index++;
        if (!is_found)
            return prg_mergelist_fail(list->m->err, &at,
                                      "the patch's order differs from its " PRG_SET_ORDER " list, or is not in it");
    }
    return PRG_OK;
}

// The state of the list before ordering: merged, or taken over from the side that has it.
static int fill_ordered(struct list *list, const struct prg_schema_field *field, const cJSON *original,
                        const cJSON *patch)
{
    if (!original) {
        // Its entries become the list's own, so they must leave the copy first.
        cJSON *cleaned = copy_cleaned(list->m, patch, true);
        int rc = PRG_OK;
        while (rc == PRG_OK && cleaned->child) {
            cJSON *entry = cleaned->child;
            prg_json_detach(cleaned, entry);
            rc = list_push(list, (struct value){entry, true}, list->count);
        }
        return rc;
    }
    if (patch && prg_mergelist_is_merged(field))
        return merge_into_list(list, field, original, patch, false);
    int rc = list_push_all(list, patch ? patch : original);
    if (rc == PRG_OK && !patch)
        note_order_before(list);
    return rc;
}

static int merge_in_order(struct merger *m, const struct prg_schema_field *field, const struct prg_step *at,
                          const cJSON *original, const cJSON *patch, const cJSON *order, cJSON **ret)
{
    if (!field || field->kind != PRG_KIND_LIST)
        return prg_mergelist_fail(m->err, at, PRG_SET_ORDER " is for lists of known type, which this is not");
    if ((original && !prg_json_is_array(original)) || (patch && !prg_json_is_array(patch)))
        return prg_mergelist_fail(m->err, at, PRG_SET_ORDER " is for lists, but this is of type %s",
                                  prg_json_type_name(patch && !prg_json_is_array(patch) ? patch : original));
    struct list list;
    const char *merge_key = prg_mergelist_is_merged(field) ? field->merge_key : NULL;
    list_init(&list, m, at, merge_key, prg_json_count(original) + prg_json_count(patch));
    int rc = check_order(&list, patch, order);
    if (rc == PRG_OK && !prg_json_count(original) && !prg_json_count(patch))
        return prg_mergelist_fail(m->err, at, PRG_SET_ORDER " for an empty list");
    bool are_objects;
    if (rc == PRG_OK)
        rc = prg_mergelist_kind(m->err, at, original, patch, &are_objects);
    if (rc == PRG_OK)
        rc = fill_ordered(&list, field, original, patch);
    struct prg_key_table by_key;
    prg_key_table_init(&by_key, &m->scratch, prg_json_count(order));
    size_t index = 0;
    for (const cJSON *item = order->child; item && rc == PRG_OK; item = item->next) {
        const cJSON *key;
        rc = prg_mergelist_key(m->err, at, merge_key, item, index, &key);
        if (rc == PRG_OK)
            prg_key_table_add(&by_key, key, index++);
    }
    if (rc != PRG_OK)
        return rc;
    arrange_in_place(&list, &by_key);
    *ret = list_print(&list, original ? original : patch);
    return PRG_OK;
}

static int merge(struct prg_arena *arena, bool shares, const struct prg_schema *schema, const cJSON *original,
                 const cJSON *patch, cJSON **ret, struct prg_error *err)
{
    if ((original && !prg_json_is_object(original)) || !prg_json_is_object(patch))
        return prg_fail(err, PRG_INVALID, "a strategic merge patch and what it changes are objects, not %s and %s",
                        prg_json_type_name(patch), prg_json_type_name(original));
    struct merger m = {.arena = arena, .shares = shares, .err = err};
    prg_arena_init(&m.scratch);
    struct prg_schema_field root = {.kind = PRG_KIND_OBJECT, .type = schema};
    cJSON *merged = NULL;
    int rc = merge_object(&m, &root, NULL, original ? original : prg_json_object(&m.scratch), patch, &merged);
    prg_arena_release(&m.scratch);
    if (rc == PRG_OK)
        *ret = merged;
    return rc;
}

int prg_strategic_apply(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *original,
                        const cJSON *patch, cJSON **ret, struct prg_error *err)
{
    return merge(arena, false, schema, original, patch, ret, err);
}

int prg_strategic_build(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *original,
                        const cJSON *patch, cJSON **ret, struct prg_error *err)
{
    return merge(arena, true, schema, original, patch, ret, err);
}
