// SPDX-License-Identifier: Apache-2.0
// patch.c: JSON patch: each operation changes a private copy of the document; the copy is handed out when all went
// well.
#include "json/patch.h"

#include <string.h>

#include "json/pointer.h"

// "copy" can double a document with each operation; together they may make this much.
#define MAX_GROWTH ((size_t)64 * 1024 * 1024)

struct patcher {
    struct prg_arena *arena;
    struct prg_error *err;
    cJSON *root;
    size_t index; // of the operation at hand
    const char *op;
    size_t start_bytes; // of the arena
};

// A pointer split in front of its last token. parent is NULL for the root ("").
struct place {
    const char *pointer;
    cJSON *parent;
    const char *token; // escaped, up to the end of pointer
    size_t depth;      // tokens
};

#define fail_op(patcher, code, format, ...)                                                                            \
    prg_fail((patcher)->err, (code), "operation %zu (%s): " format, (patcher)->index, (patcher)->op, __VA_ARGS__)

// The text of a member that must be a JSON pointer.
static int read_pointer(struct patcher *patcher, const cJSON *operation, const char *key, const char **ret)
{
    const cJSON *member = prg_json_get(operation, key);
    const char *text = prg_json_text(member);
    if (!text)
        return fail_op(patcher, PRG_INVALID, "'%s' must be a string with a JSON pointer", key);
    if (strlen(text) != prg_json_text_length(member) || !prg_pointer_is_valid(text))
        return fail_op(patcher, PRG_INVALID,
                       "'%s' is '%s', which is not a JSON pointer; it begins with '/', '~' is "
                       "written ~0 and '/' in a key ~1",
                       key, text);
    *ret = text;
    return PRG_OK;
}

static int find_place(struct patcher *patcher, const char *pointer, struct place *ret)
{
    *ret = (struct place){.pointer = pointer, .token = pointer};
    if (!*pointer)
        return PRG_OK;
    cJSON *node = patcher->root;
    const char *at = pointer + 1;
    ret->depth = 1;
    for (;;) {
        size_t length = strcspn(at, "/");
        if (!at[length])
            break;
        node = prg_pointer_step(node, at, length);
        at += length;
        if (!node)
            return fail_op(patcher, PRG_NOTFOUND, "there is nothing at '%.*s'", (int)(at - pointer), pointer);
        at++;
        ret->depth++;
    }
    if (!prg_json_is_object(node) && !prg_json_is_array(node))
        return fail_op(patcher, PRG_INVALID, "the parent of '%s' must be an object or array, but is of type %s",
                       pointer, prg_json_type_name(node));
    ret->parent = node;
    ret->token = at;
    return PRG_OK;
}

// What stands at a place, which must exist.
static int find_target(struct patcher *patcher, const struct place *place, cJSON **ret)
{
    *ret = place->parent ? prg_pointer_step(place->parent, place->token, strlen(place->token)) : patcher->root;
    if (!*ret)
        return fail_op(patcher, PRG_NOTFOUND, "there is nothing at '%s'", place->pointer);
    return PRG_OK;
}

static const char *unescaped(struct patcher *patcher, const char *token)
{
    char *key = prg_arena_strdup(patcher->arena, token), *out = key;
    for (const char *at = token; *at; at++) {
        if (*at == '~')
            *out++ = *++at == '0' ? '~' : '/';
        else
            *out++ = *at;
    }
    *out = '\0';
    return key;
}

static size_t depth_of(const cJSON *node)
{
    size_t deepest = 0;
    const cJSON *item;
    prg_json_each (item, node) {
        size_t depth = depth_of(item);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + (prg_json_is_object(node) || prg_json_is_array(node));
}

// Puts value at place: sets a member, inserts an item, or becomes the document.
static int add_at(struct patcher *patcher, const struct place *place, cJSON *value)
{
    if (place->depth + depth_of(value) > PRG_JSON_DEPTH)
        return fail_op(patcher, PRG_LIMIT, "'%s' would be nested more than %d levels deep", place->pointer,
                       PRG_JSON_DEPTH);
    if (patcher->arena->used_bytes - patcher->start_bytes > MAX_GROWTH)
        return fail_op(patcher, PRG_LIMIT, "'%s': the patched document grows beyond %zu bytes", place->pointer,
                       MAX_GROWTH);
    if (!place->parent) {
        value->string = NULL;
        patcher->root = value;
    } else if (prg_json_is_object(place->parent)) {
        prg_json_set(patcher->arena, place->parent, unescaped(patcher, place->token), value);
    } else if (strcmp(place->token, "-") == 0) {
        prg_json_append(place->parent, value);
    } else {
        size_t index, count = prg_json_count(place->parent);
        if (!prg_pointer_index(place->token, strlen(place->token), &index))
            return fail_op(patcher, PRG_INVALID, "'%s' does not end in an array index or '-'", place->pointer);
        if (index > count)
            return fail_op(patcher, PRG_NOTFOUND, "'%s' is beyond the end of an array of %zu", place->pointer, count);
        prg_json_insert(place->parent, index, value);
    }
    return PRG_OK;
}

static int apply_add(struct patcher *patcher, const char *path, const cJSON *value)
{
    struct place place;
    int rc = find_place(patcher, path, &place);
    return rc == PRG_OK ? add_at(patcher, &place, prg_json_copy(patcher->arena, value)) : rc;
}

// Takes out what stands at path.
static int take(struct patcher *patcher, const char *path, cJSON **ret)
{
    struct place place;
    int rc = find_place(patcher, path, &place);
    if (rc != PRG_OK)
        return rc;
    if (!place.parent)
        return fail_op(patcher, PRG_INVALID, "%s", "the whole document cannot be removed");
    rc = find_target(patcher, &place, ret);
    if (rc == PRG_OK)
        prg_json_detach(place.parent, *ret);
    return rc;
}

static int apply_replace(struct patcher *patcher, const char *path, const cJSON *value)
{
    struct place place;
    cJSON *target;
    int rc = find_place(patcher, path, &place);
    if (rc == PRG_OK)
        rc = find_target(patcher, &place, &target);
    if (rc != PRG_OK)
        return rc;
    if (place.parent && prg_json_is_array(place.parent))
        prg_json_detach(place.parent, target); // add_at inserts where it was
    return add_at(patcher, &place, prg_json_copy(patcher->arena, value));
}

static int apply_move(struct patcher *patcher, const char *from, const char *path)
{
    size_t length = strlen(from);
    cJSON *value;
    if (strcmp(from, path) == 0) {
        struct place place;
        int rc = find_place(patcher, from, &place);
        return rc == PRG_OK ? find_target(patcher, &place, &value) : rc;
    }
    if (strncmp(path, from, length) == 0 && path[length] == '/')
        return fail_op(patcher, PRG_INVALID, "'%s' cannot be moved into itself, to '%s'", from, path);
    int rc = take(patcher, from, &value);
    struct place place;
    if (rc == PRG_OK)
        rc = find_place(patcher, path, &place);
    return rc == PRG_OK ? add_at(patcher, &place, value) : rc;
}

static int apply_copy(struct patcher *patcher, const char *from, const char *path)
{
    struct place place;
    cJSON *source;
    int rc = find_place(patcher, from, &place);
    if (rc == PRG_OK)
        rc = find_target(patcher, &place, &source);
    return rc == PRG_OK ? apply_add(patcher, path, source) : rc;
}

static int apply_test(struct patcher *patcher, const char *path, const cJSON *value)
{
    struct place place;
    cJSON *target;
    int rc = find_place(patcher, path, &place);
    if (rc == PRG_OK)
        rc = find_target(patcher, &place, &target);
    if (rc != PRG_OK)
        return rc;
    if (!prg_json_equal(target, value))
        return fail_op(patcher, PRG_CONFLICT, "'%s' does not have the value that is tested for", path);
    return PRG_OK;
}

static int apply_operation(struct patcher *patcher, const cJSON *operation)
{
    const char *op = prg_json_get_text(operation, "op");
    if (!op)
        return prg_fail(patcher->err, PRG_INVALID, "operation %zu: must be an object with a string 'op'",
                        patcher->index);
    patcher->op = op;
    bool wants_from = strcmp(op, "move") == 0 || strcmp(op, "copy") == 0;
    bool wants_value = strcmp(op, "add") == 0 || strcmp(op, "replace") == 0 || strcmp(op, "test") == 0;
    if (!wants_from && !wants_value && strcmp(op, "remove") != 0)
        return prg_fail(patcher->err, PRG_INVALID,
                        "operation %zu: unknown op '%s'; known are add, remove, replace, move, copy and test",
                        patcher->index, op);
    const char *path = "", *from = "";
    const cJSON *value = prg_json_get(operation, "value");
    int rc = read_pointer(patcher, operation, "path", &path);
    if (rc == PRG_OK && wants_from)
        rc = read_pointer(patcher, operation, "from", &from);
    if (rc != PRG_OK)
        return rc;
    if (wants_value && !value)
        return fail_op(patcher, PRG_INVALID, "'value' is missing for '%s'", path);
    cJSON *removed;
    switch (op[0]) {
    case 'a':
        return apply_add(patcher, path, value);
    case 'c':
        return apply_copy(patcher, from, path);
    case 'm':
        return apply_move(patcher, from, path);
    case 't':
        return apply_test(patcher, path, value);
    default:
        return strcmp(op, "remove") == 0 ? take(patcher, path, &removed) : apply_replace(patcher, path, value);
    }
}

int prg_patch_apply(struct prg_arena *arena, const cJSON *target, const cJSON *operations, cJSON **ret,
                    struct prg_error *err)
{
    if (!target)
        return prg_fail(err, PRG_INVALID, "there is no document to patch");
    if (!prg_json_is_array(operations))
        return prg_fail(err, PRG_INVALID, "a JSON patch must be an array of operations; this is of type %s",
                        prg_json_type_name(operations));
    struct patcher patcher = {.arena = arena, .err = err};
    patcher.root = prg_json_copy(arena, target);
    patcher.start_bytes = arena->used_bytes;
    const cJSON *operation;
    prg_json_each (operation, operations) {
        int rc = apply_operation(&patcher, operation);
        if (rc != PRG_OK)
            return rc;
        patcher.index++;
    }
    *ret = patcher.root;
    return PRG_OK;
}
