// SPDX-License-Identifier: Apache-2.0
// merge.c: JSON merge patch: applying one, and the one that leads from a document to another.
//
// The rules are those of RFC 7386 as the API server applies them (json-patch v4, MergePatch and CreateMergePatch): a
// value that takes the place of nothing or of something other than an object loses the nulls of its objects, also of
// those inside its lists.
#include "json/merge.h"

#include <string.h>

#include "json/index.h"
#include "json/pointer.h"

// A copy without the members that are null, at any depth. Null list entries stay.
static cJSON *copy_without_nulls(struct prg_arena *arena, const cJSON *node)
{
    if (!prg_json_is_object(node) && !prg_json_is_array(node))
        return prg_json_copy(arena, node);
    cJSON *copy = prg_json_copy_empty(arena, node);
    const cJSON *item;
    prg_json_each (item, node) {
        if (prg_json_is_array(node))
            prg_json_append(copy, copy_without_nulls(arena, item));
        else if (!prg_json_is_null(item))
            prg_json_add(arena, copy, item->string, copy_without_nulls(arena, item));
    }
    return copy;
}

static cJSON *merge_objects(struct prg_arena *arena, const cJSON *target, const cJSON *patch);

static cJSON *merge_values(struct prg_arena *arena, const cJSON *target, const cJSON *patch)
{
    if (!prg_json_is_object(target))
        return copy_without_nulls(arena, patch);
    if (!prg_json_is_object(patch))
        return prg_json_copy(arena, patch);
    return merge_objects(arena, target, patch);
}

static cJSON *merge_objects(struct prg_arena *arena, const cJSON *target, const cJSON *patch)
{
    cJSON *merged = prg_json_copy_empty(arena, target);
    struct prg_json_index by_key;
    const cJSON *member;
    prg_json_index_members(&by_key, patch);
    prg_json_each (member, target) {
        const cJSON *change = prg_json_index_get(&by_key, member->string);
        if (!change)
            prg_json_add(arena, merged, member->string, prg_json_copy(arena, member));
        else if (!prg_json_is_null(change))
            prg_json_add(arena, merged, member->string, merge_values(arena, member, change));
    }
    prg_json_index_release(&by_key);
    prg_json_index_members(&by_key, target);
    prg_json_each (member, patch) {
        if (!prg_json_is_null(member) && !prg_json_index_get(&by_key, member->string))
            prg_json_add(arena, merged, member->string, copy_without_nulls(arena, member));
    }
    prg_json_index_release(&by_key);
    return merged;
}

cJSON *prg_merge_apply(struct prg_arena *arena, const cJSON *target, const cJSON *patch)
{
    if (!prg_json_is_object(target) || !prg_json_is_object(patch))
        return copy_without_nulls(arena, patch);
    return merge_objects(arena, target, patch);
}

// ---- creating ----

struct maker {
    struct prg_arena *arena;
    struct prg_error *err;
    struct prg_strbuf pointer; // of the place at hand
};

static int fail_null(struct maker *maker)
{
    return prg_fail(maker->err, PRG_INVALID,
                    "%s: a merge patch cannot set a field to null; leave the field out or use a JSON patch",
                    maker->pointer.length ? maker->pointer.text : "/");
}

static void push(struct maker *maker, const cJSON *parent, const cJSON *item, size_t index)
{
    if (prg_json_is_object(parent))
        prg_pointer_push(&maker->pointer, item->string);
    else
        prg_pointer_push_index(&maker->pointer, index);
}

// Refuses a value with null members, which would vanish when the patch is applied.
static int check_no_nulls(struct maker *maker, const cJSON *node)
{
    size_t index = 0, length = maker->pointer.length;
    const cJSON *item;
    prg_json_each (item, node) {
        push(maker, node, item, index++);
        if (prg_json_is_object(node) && prg_json_is_null(item))
            return fail_null(maker);
        int rc = check_no_nulls(maker, item);
        if (rc != PRG_OK)
            return rc;
        prg_strbuf_truncate(&maker->pointer, length);
    }
    return PRG_OK;
}

static int diff_objects(struct maker *maker, const cJSON *from, const cJSON *to, cJSON *patch);

// Adds what makes `from` (NULL when absent) into the member `to` of an object.
static int diff_member(struct maker *maker, const cJSON *from, const cJSON *to, cJSON *patch)
{
    if (from && prg_json_is_object(from) && prg_json_is_object(to)) {
        cJSON *inner = prg_json_object(maker->arena);
        int rc = diff_objects(maker, from, to, inner);
        if (rc == PRG_OK && inner->child)
            prg_json_add(maker->arena, patch, to->string, inner);
        return rc;
    }
    if (from && prg_json_equal(from, to))
        return PRG_OK;
    if (prg_json_is_null(to))
        return fail_null(maker);
    int rc = check_no_nulls(maker, to);
    if (rc == PRG_OK)
        prg_json_add(maker->arena, patch, to->string, prg_json_copy(maker->arena, to));
    return rc;
}

static int diff_objects(struct maker *maker, const cJSON *from, const cJSON *to, cJSON *patch)
{
    int rc = PRG_OK;
    size_t length = maker->pointer.length;
    struct prg_json_index by_key;
    const cJSON *member;
    prg_json_index_members(&by_key, from);
    for (member = to->child; member && rc == PRG_OK; member = member->next) {
        prg_pointer_push(&maker->pointer, member->string);
        rc = diff_member(maker, prg_json_index_get(&by_key, member->string), member, patch);
        if (rc == PRG_OK)
            prg_strbuf_truncate(&maker->pointer, length);
    }
    prg_json_index_release(&by_key);
    if (rc != PRG_OK)
        return rc;
    prg_json_index_members(&by_key, to);
    prg_json_each (member, from) {
        if (!prg_json_index_get(&by_key, member->string))
            prg_json_add(maker->arena, patch, member->string, prg_json_null(maker->arena));
    }
    prg_json_index_release(&by_key);
    return PRG_OK;
}

int prg_merge_create(struct prg_arena *arena, const cJSON *from, const cJSON *to, cJSON **ret, struct prg_error *err)
{
    struct maker maker = {.arena = arena, .err = err, .pointer = PRG_STRBUF_INIT};
    cJSON *patch = NULL;
    int rc;
    if (prg_json_is_object(from) && prg_json_is_object(to)) {
        patch = prg_json_object(arena);
        rc = diff_objects(&maker, from, to, patch);
    } else {
        rc = check_no_nulls(&maker, to);
        if (rc == PRG_OK)
            patch = to ? prg_json_copy(arena, to) : prg_json_null(arena);
    }
    prg_strbuf_release(&maker.pointer);
    if (rc == PRG_OK)
        *ret = patch;
    return rc;
}
