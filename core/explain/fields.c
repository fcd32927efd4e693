// SPDX-License-Identifier: Apache-2.0
// fields.c: two trees walked side by side, items of lists found by name.
#include "explain/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "explain/path.h"
#include "json/index.h"

struct walk {
    struct prg_arena *arena;
    struct prg_strbuf path;
    prg_field_change_fn visit;
    void *ctx;
    size_t count;
};

static void report(struct walk *walk, enum prg_field_change_kind kind, const cJSON *from, const cJSON *to)
{
    struct prg_field_change change = {kind, walk->path.text, from, to};
    walk->count++;
    if (walk->visit)
        walk->visit(&change, walk->ctx);
}

static void compare(struct walk *walk, const cJSON *from, const cJSON *to);

// ---- members ----

struct pair { // a member that is not the same on both sides
    const char *key;
    const cJSON *from, *to; // NULL: not there
};

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

// Most members of most objects are equal, and most objects list the same members in the same order: what is equal is
// passed over before anything is looked up, sorted or named.
static struct pair *different_members(const cJSON *from, const cJSON *to, size_t *ret_count)
{
    struct prg_json_index of_from, of_to;
    struct pair *pairs;
    const cJSON *member, *beside = to->child;
    size_t count = 0;
    prg_json_index_members(&of_from, from);
    prg_json_index_members(&of_to, to);
    pairs = prg_xcalloc(prg_json_count(from) + prg_json_count(to) + 1, sizeof(*pairs));
    prg_json_each (member, from) {
        bool is_beside = beside && strcmp(beside->string, member->string) == 0;
        const cJSON *other = is_beside ? beside : prg_json_index_get(&of_to, member->string);
        if (!prg_json_equal(member, other))
            pairs[count++] = (struct pair){member->string, member, other};
        beside = other ? other->next : beside;
    }
    prg_json_each (member, to)
        if (!prg_json_index_get(&of_from, member->string))
            pairs[count++] = (struct pair){member->string, NULL, member};
    prg_json_index_release(&of_from);
    prg_json_index_release(&of_to);
    if (count > 1)
        qsort(pairs, count, sizeof(*pairs), compare_pairs);
    *ret_count = count;
    return pairs;
}

static void compare_objects(struct walk *walk, const cJSON *from, const cJSON *to)
{
    size_t length = walk->path.length, count;
    struct pair *pairs = different_members(from, to, &count);
    for (size_t i = 0; i < count; i++) {
        prg_path_push_key(&walk->path, pairs[i].key);
        compare(walk, pairs[i].from, pairs[i].to);
        prg_strbuf_truncate(&walk->path, length);
    }
    free(pairs);
}

// ---- items ----

static const char *key_text(const cJSON *item, const char *key)
{
    const cJSON *member = prg_json_get(item, key);
    const char *text = prg_json_text(member);
    return text ? text : prg_json_number_text(member);
}

// item of list by its key, into map. false: an item has none, or two have the same.
static bool index_items(struct prg_map *map, const cJSON *list, const char *key)
{
    const cJSON *item;
    prg_json_each (item, list) {
        const char *text = key_text(item, key);
        if (!text || !*text || prg_map_put(map, text, (void *)(uintptr_t)item))
            return false;
    }
    return true;
}

// The key by which both lists can be indexed, which they then are, or NULL.
static const char *common_key(struct prg_map *from_map, struct prg_map *to_map, const cJSON *from, const cJSON *to)
{
    for (const char *const *key = prg_path_item_keys; *key; key++) {
        prg_map_clear(from_map);
        prg_map_clear(to_map);
        if (index_items(from_map, from, *key) && index_items(to_map, to, *key))
            return *key;
    }
    return NULL;
}

static void compare_named(struct walk *walk, const cJSON *item, const struct prg_map *others, const char *key)
{
    size_t length = walk->path.length;
    const cJSON *other = prg_map_get(others, key_text(item, key));
    if (prg_json_equal(item, other))
        return;
    prg_path_push_name(&walk->path, key_text(item, key));
    compare(walk, item, other);
    prg_strbuf_truncate(&walk->path, length);
}

// Names of the items that the other list has as well, in the order of list.
static cJSON *common_names(struct prg_arena *arena, const cJSON *list, const struct prg_map *others, const char *key)
{
    cJSON *names = prg_json_array(arena);
    const cJSON *item;
    prg_json_each (item, list)
        if (prg_map_get(others, key_text(item, key)))
            prg_json_append(names, prg_json_string(arena, key_text(item, key)));
    return names;
}

static void compare_by_name(struct walk *walk, const cJSON *from, const cJSON *to, const struct prg_map *of_from,
                            const struct prg_map *of_to, const char *key)
{
    const cJSON *item;
    size_t length = walk->path.length;
    prg_json_each (item, from)
        compare_named(walk, item, of_to, key);
    prg_json_each (item, to) {
        if (prg_map_get(of_from, key_text(item, key)))
            continue;
        prg_path_push_name(&walk->path, key_text(item, key));
        report(walk, PRG_FIELD_VALUE, NULL, item);
        prg_strbuf_truncate(&walk->path, length);
    }
    cJSON *old = common_names(walk->arena, from, of_to, key), *new = common_names(walk->arena, to, of_from, key);
    if (!prg_json_equal(old, new))
        report(walk, PRG_FIELD_ORDER, old, new);
}

static void compare_by_place(struct walk *walk, const cJSON *from, const cJSON *to)
{
    size_t length = walk->path.length, index = 0;
    const cJSON *x = from->child, *y = to->child;
    for (; x || y; x = x ? x->next : NULL, y = y ? y->next : NULL) {
        prg_path_push_index(&walk->path, index++);
        compare(walk, x, y);
        prg_strbuf_truncate(&walk->path, length);
    }
}

static bool holds_containers(const cJSON *list)
{
    const cJSON *item;
    prg_json_each (item, list)
        if (prg_json_is_object(item) || prg_json_is_array(item))
            return true;
    return false;
}

static void compare_lists(struct walk *walk, const cJSON *from, const cJSON *to)
{
    struct prg_map of_from, of_to;
    if (!holds_containers(from) && !holds_containers(to)) {
        if (!prg_json_equal(from, to))
            report(walk, PRG_FIELD_VALUE, from, to);
        return;
    }
    prg_map_init(&of_from);
    prg_map_init(&of_to);
    const char *key = common_key(&of_from, &of_to, from, to);
    if (key)
        compare_by_name(walk, from, to, &of_from, &of_to, key);
    else
        compare_by_place(walk, from, to);
    prg_map_release(&of_from);
    prg_map_release(&of_to);
}

// Recursion is as deep as the trees, which the readers bound (PRG_JSON_DEPTH).
static void compare(struct walk *walk, const cJSON *from, const cJSON *to)
{
    if (prg_json_is_object(from) && prg_json_is_object(to))
        compare_objects(walk, from, to);
    else if (prg_json_is_array(from) && prg_json_is_array(to))
        compare_lists(walk, from, to);
    else if (!prg_json_equal(from, to))
        report(walk, PRG_FIELD_VALUE, from, to);
}

size_t prg_fields_diff(struct prg_arena *arena, const cJSON *from, const cJSON *to, prg_field_change_fn visit,
                       void *ctx)
{
    struct walk walk = {.arena = arena, .path = PRG_STRBUF_INIT, .visit = visit, .ctx = ctx};
    compare(&walk, from, to);
    prg_strbuf_release(&walk.path);
    return walk.count;
}
