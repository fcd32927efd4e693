// SPDX-License-Identifier: Apache-2.0
// collect.c: removing what lost its owner: rendered objects whose controller is gone, status files and memories of
// objects that are no more. As the garbage collector of a cluster does.
#include "catalog/sync.h"
#include "object/meta.h"

static bool has_broken_file(const struct prg_catalog *c)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&c->files, &i));)
        if (((const struct prg_folder_file *)entry->value)->is_broken)
            return true;
    return false;
}

static void map_uids(const struct prg_catalog *c, struct prg_map *ret)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&c->slots, &i));) {
        struct prg_folder_slot *slot = entry->value;
        const char *uid = prg_meta_uid(slot->object);
        if (*uid)
            prg_map_put(ret, uid, slot);
    }
}

// Removes rendered objects whose controller does not exist. Returns how many; their pods are next.
static size_t collect_once(struct prg_sync *pass)
{
    struct prg_catalog *c = pass->c;
    const struct prg_map_entry *entry;
    struct prg_map uids;
    size_t count = 0;
    prg_map_init(&uids);
    map_uids(c, &uids);
    for (size_t i = 0; (entry = prg_map_next(&c->slots, &i)) && pass->rc == PRG_OK;) {
        struct prg_folder_slot *slot = entry->value;
        const char *owner =
            slot->rendered ? prg_json_get_text(prg_owner_controller(slot->rendered->tree), "uid") : NULL;
        struct prg_error err = {0};
        if (!owner || !*owner || prg_map_get(&uids, owner))
            continue;
        if (!slot->user)
            prg_sync_mark_changed(pass, slot);
        if (prg_folder_remove_object(c, slot, &err) != PRG_OK)
            prg_sync_note_error(pass, &err);
        prg_sync_touch(pass, slot);
        count++;
    }
    prg_map_release(&uids);
    return count;
}

static void collect_status_files(struct prg_sync *pass)
{
    struct prg_catalog *c = pass->c;
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&c->files, &i)) && pass->rc == PRG_OK;) {
        struct prg_folder_file *file = entry->value;
        struct prg_folder_slot *slot = file->part == PRG_SCAN_STATUS ? prg_sync_slot_of_status(c, file) : NULL;
        struct prg_error err = {0};
        if (file->part != PRG_SCAN_STATUS || (slot && slot->object))
            continue;
        if (prg_disk_remove(c->root, file->path, PRG_FOLDER_STATUS, &err) != PRG_OK) {
            prg_sync_note_error(pass, &err);
            continue;
        }
        if (slot)
            slot->status = NULL;
        prg_map_remove(&c->files, file->path);
        prg_folder_file_free(file);
    }
}

static void forget_if_gone(const char *slot_path, void *ctx)
{
    struct prg_catalog *c = ctx;
    const struct prg_folder_slot *slot = prg_map_get(&c->slots, slot_path);
    if (!slot || !slot->user)
        prg_seen_forget(c->seen, slot_path);
}

void prg_sync_collect(struct prg_sync *pass)
{
    struct prg_catalog *c = pass->c;
    // What cannot be read now may be an owner.
    if (!c->is_collect_due || c->is_blind || has_broken_file(c))
        return;
    while (collect_once(pass) > 0 && pass->rc == PRG_OK)
        ;
    collect_status_files(pass);
    prg_seen_each(c->seen, forget_if_gone, c);
    c->is_collect_due = pass->rc != PRG_OK;
}
