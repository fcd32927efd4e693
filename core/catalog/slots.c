// SPDX-License-Identifier: Apache-2.0
// slots.c: files, their documents, and which of them a key shows.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "catalog/folder.h"
#include "catalog/path.h"
#include "object/meta.h"
#include "store/store_mem.h"

int64_t prg_folder_now_ns(const struct prg_catalog *c)
{
    return c->options.now_ns ? c->options.now_ns(c->options.now_ctx) : prg_clock_wall_ns();
}

// ---- files ----

struct prg_folder_file *prg_folder_file_ensure(struct prg_catalog *c, enum prg_scan_part part, const char *path)
{
    struct prg_folder_file *file = prg_map_get(&c->files, path);
    if (file)
        return file;
    file = prg_xcalloc(1, sizeof(*file));
    file->path = prg_xstrdup(path);
    file->part = part;
    prg_map_put(&c->files, path, file);
    return file;
}

void prg_folder_file_free(struct prg_folder_file *file)
{
    prg_folder_content_release(&file->content);
    free(file->path);
    free(file);
}

void prg_folder_content_release(struct prg_folder_content *content)
{
    prg_arena_release(&content->arena);
    *content = (struct prg_folder_content){0};
}

struct prg_folder_record *prg_folder_content_add(struct prg_folder_content *content, struct prg_folder_file *file,
                                                 const struct prg_key *key, const cJSON *tree, uint32_t line)
{
    struct prg_folder_record *record = prg_arena_new(&content->arena, struct prg_folder_record);
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_catalog_path(&path, key);
    record->file = file;
    record->key = *key;
    record->slot_path = prg_arena_strdup(&content->arena, path.text);
    record->tree = tree;
    record->line = line;
    if (content->last)
        content->last->next = record;
    else
        content->first = record;
    content->last = record;
    return record;
}

const char *prg_folder_place(const struct prg_catalog *c, struct prg_arena *arena,
                             const struct prg_folder_record *record)
{
    return prg_arena_printf(arena, "%s/%s:%u", c->root, record->file->path, record->line);
}

// ---- slots ----

struct prg_folder_slot *prg_folder_slot_find(const struct prg_catalog *c, const struct prg_key *key)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_catalog_path(&path, key);
    return prg_map_get(&c->slots, path.text);
}

struct prg_folder_slot *prg_folder_slot_ensure(struct prg_catalog *c, const struct prg_key *key, const char *slot_path)
{
    struct prg_folder_slot *slot = prg_map_get(&c->slots, slot_path);
    if (slot)
        return slot;
    prg_auto_strbuf status = PRG_STRBUF_INIT;
    slot = prg_xcalloc(1, sizeof(*slot));
    slot->path = prg_xstrdup(slot_path);
    slot->key =
        (struct prg_key){prg_xstrdup(key->group), prg_xstrdup(key->kind), prg_xstrdup(key->ns), prg_xstrdup(key->name)};
    prg_strbuf_printf(&status, "%s/%s", PRG_FOLDER_STATUS, slot_path);
    struct prg_folder_file *file = prg_map_get(&c->files, status.text);
    slot->status = file && !file->is_gone ? file : NULL;
    prg_map_put(&c->slots, slot_path, slot);
    return slot;
}

void prg_folder_slot_drop(struct prg_catalog *c, struct prg_folder_slot *slot)
{
    prg_store_mem_drop(c->index, &slot->key);
    prg_map_remove(&c->slots, slot->path);
    prg_arena_release(&slot->arena);
    const char *texts[] = {slot->key.group, slot->key.kind, slot->key.ns, slot->key.name, slot->path};
    for (size_t i = 0; i < PRG_COUNT(texts); i++)
        free((void *)(uintptr_t)texts[i]);
    free(slot);
}

// ---- what readers see ----

static cJSON *reference_members(struct prg_arena *arena, const cJSON *object, const char *skip_a, const char *skip_b)
{
    cJSON *copy = prg_json_object(arena);
    const cJSON *member;
    prg_json_each (member, object)
        if (strcmp(member->string, skip_a) != 0 && strcmp(member->string, skip_b) != 0)
            prg_json_set(arena, copy, member->string, prg_json_reference(arena, member));
    struct prg_json_position at = prg_json_position(object);
    prg_json_set_position(copy, at.line, at.column);
    return copy;
}

// When the object was first seen and which generation it is: brings what is remembered up to date.
static struct prg_seen look_at(struct prg_catalog *c, const struct prg_folder_slot *slot)
{
    prg_auto_arena scratch = {0};
    uint64_t digest = prg_json_digest(reference_members(&scratch, slot->user->tree, "metadata", "status"));
    const struct prg_seen *known = prg_seen_get(c->seen, slot->path);
    struct prg_seen seen = {.generation = 1, .spec_digest = digest};
    if (known)
        seen = *known;
    else
        snprintf(seen.created, sizeof(seen.created), "%s",
                 prg_clock_format(prg_folder_now_ns(c), (char[PRG_CLOCK_TEXT]){0}));
    if (known && seen.spec_digest == digest)
        return seen;
    if (known) {
        seen.generation++;
        seen.spec_digest = digest;
    }
    prg_seen_set(c->seen, slot->path, &slot->key, &seen);
    return seen;
}

static const cJSON *status_of(const struct prg_folder_slot *slot, const struct prg_folder_record *record)
{
    const cJSON *status = slot->status ? slot->status->content.status : NULL;
    return status ? status : prg_json_get(record->tree, "status");
}

static void set_missing_text(struct prg_arena *arena, cJSON *object, const char *key, const char *text)
{
    const cJSON *given = prg_json_get(object, key);
    if (!given || prg_json_is_null(given))
        prg_json_set_string(arena, object, key, text);
}

// The annotations of the status file over those of the manifest.
static void lay_annotations(struct prg_arena *arena, const struct prg_folder_slot *slot, cJSON *meta)
{
    const cJSON *added = slot->status ? slot->status->content.annotations : NULL, *item;
    if (!added)
        return;
    cJSON *all = reference_members(arena, prg_json_get(meta, "annotations"), "", "");
    prg_json_each (item, added)
        prg_json_set(arena, all, item->string, prg_json_reference(arena, item));
    prg_json_set(arena, meta, "annotations", all);
}

// A manifest with what an API server would have added.
static const cJSON *compose_user(struct prg_catalog *c, struct prg_folder_slot *slot)
{
    // The first time beside the manifest, which costs no memory of its own; later ones replace each other.
    struct prg_arena *arena = slot->user->is_shown ? &slot->arena : &slot->user->file->content.arena;
    const cJSON *tree = slot->user->tree, *status = status_of(slot, slot->user);
    struct prg_seen seen = look_at(c, slot);
    char uid[PRG_UID_TEXT];
    slot->user->is_shown = true;
    cJSON *object = reference_members(arena, tree, "metadata", "status");
    cJSON *meta = reference_members(arena, prg_json_get(tree, "metadata"), "", "");
    set_missing_text(arena, meta, "uid", prg_catalog_uid(&slot->key, uid));
    set_missing_text(arena, meta, "creationTimestamp", seen.created);
    if (prg_json_get(tree, "spec") && !prg_json_is_number(prg_json_get(meta, "generation")))
        prg_json_set_int(arena, meta, "generation", seen.generation);
    lay_annotations(arena, slot, meta);
    prg_json_set(arena, object, "metadata", meta);
    if (status)
        prg_json_set(arena, object, "status", prg_json_reference(arena, status));
    return object;
}

static const cJSON *compose(struct prg_catalog *c, struct prg_folder_slot *slot)
{
    if (slot->user)
        return compose_user(c, slot);
    if (!slot->rendered)
        return NULL;
    const cJSON *tree = slot->rendered->tree;
    if (!slot->status || !slot->status->content.status)
        return tree;
    cJSON *object = reference_members(&slot->arena, tree, "status", "");
    prg_json_set(&slot->arena, object, "status", prg_json_reference(&slot->arena, slot->status->content.status));
    return object;
}

bool prg_folder_slot_rebuild(struct prg_catalog *c, struct prg_folder_slot *slot)
{
    struct prg_arena old_arena = slot->arena;
    const cJSON *old = slot->object;
    slot->arena = (struct prg_arena){0};
    slot->object = compose(c, slot);
    bool is_changed = !prg_json_equal(old, slot->object);
    if (slot->object)
        prg_require(prg_store_mem_put(c->index, slot->object, true, true, NULL) == PRG_OK);
    else
        prg_store_mem_drop(c->index, &slot->key);
    prg_arena_release(&old_arena);
    return is_changed;
}
