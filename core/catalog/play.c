// SPDX-License-Identifier: Apache-2.0
// play.c: --play-kubelet: carrying out what kubelet.c says.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "catalog/kubelet.h"
#include "catalog/path.h"
#include "catalog/sync.h"

struct play_pass {
    struct prg_sync *pass;
    struct prg_map pods;  // uid of the owner -> struct prg_vec of rendered pods' slots
    struct prg_vec slots; // to be looked at
};

static void play_gather(struct play_pass *play)
{
    const struct prg_catalog *c = play->pass->c;
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&c->slots, &i));) {
        struct prg_folder_slot *slot = entry->value;
        bool is_routed = prg_kubelet_routes(&slot->key);
        if ((is_routed ? !slot->user : !slot->rendered || slot->user) || !prg_kubelet_runs(&slot->key))
            continue;
        prg_vec_push(&play->slots, slot);
        const char *owner = prg_json_get_text(prg_owner_controller(slot->object), "uid");
        if (strcmp(slot->key.kind, "Pod") != 0 || !owner)
            continue;
        struct prg_vec *pods = prg_map_get(&play->pods, owner);
        if (!pods) {
            pods = prg_xcalloc(1, sizeof(*pods));
            prg_vec_init(pods);
            prg_map_put(&play->pods, owner, pods);
        }
        prg_vec_push(pods, slot);
    }
}

static int play_write_pod(struct play_pass *play, cJSON *pod, struct prg_error *err)
{
    struct prg_catalog *c = play->pass->c;
    struct prg_folder_content content = {0};
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    char uid[PRG_UID_TEXT], now[PRG_CLOCK_TEXT];
    struct prg_key key;
    cJSON *tree = prg_json_copy(&content.arena, pod), *meta = prg_json_get(tree, "metadata");
    prg_require(prg_key_of(&content.arena, tree, &key, NULL) == PRG_OK);
    prg_catalog_path(&path, &key);
    struct prg_folder_slot *slot = prg_folder_slot_ensure(c, &key, path.text);
    prg_sync_touch(play->pass, slot);
    if (slot->user || slot->rendered) { // runs already, maybe with a status edited by hand
        prg_folder_content_release(&content);
        return PRG_OK;
    }
    prg_json_set_string(&content.arena, meta, "uid", prg_catalog_uid(&key, uid));
    prg_json_set_string(&content.arena, meta, "creationTimestamp", prg_clock_format(prg_folder_now_ns(c), now));
    int rc = prg_folder_write_object(c, slot, &content, tree, err);
    if (rc == PRG_OK)
        prg_sync_mark_changed(play->pass, slot);
    return rc;
}

static bool has_pod(const cJSON *pods, const char *name)
{
    const cJSON *pod;
    prg_json_each (pod, pods)
        if (strcmp(prg_meta_name(pod), name) == 0)
            return true;
    return false;
}

// Pods of an earlier template or a larger scale.
static int play_remove_pods(struct play_pass *play, const struct prg_folder_slot *owner, const cJSON *wanted,
                            struct prg_error *err)
{
    const struct prg_vec *pods = prg_map_get(&play->pods, prg_meta_uid(owner->object));
    int rc = PRG_OK;
    for (size_t i = 0; pods && i < pods->count && rc == PRG_OK; i++) {
        struct prg_folder_slot *slot = pods->items[i];
        if (!slot->rendered || has_pod(wanted, slot->key.name))
            continue;
        rc = prg_folder_remove_object(play->pass->c, slot, err);
        prg_sync_mark_changed(play->pass, slot);
    }
    return rc;
}

static int play_write_status(struct play_pass *play, struct prg_folder_slot *slot, const cJSON *status,
                             struct prg_error *err)
{
    struct prg_catalog *c = play->pass->c;
    struct prg_folder_content content = {0};
    prg_sync_mark_changed(play->pass, slot);
    if (slot->status || slot->user)
        return prg_folder_write_status(c, slot, status, err);
    cJSON *tree = prg_json_copy(&content.arena, slot->rendered->tree);
    prg_json_set(&content.arena, tree, "status", prg_json_copy(&content.arena, status));
    return prg_folder_write_object(c, slot, &content, tree, err);
}

// The status is written last: it tells that the pods are there.
static int play_slot(struct play_pass *play, struct prg_folder_slot *slot, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    struct prg_kubelet_play result;
    int rc = PRG_OK;
    if (!slot->rendered && !slot->user) // a pod that went with its owner's last template
        return PRG_OK;
    prg_kubelet_play(&arena, &slot->key, slot->object, prg_folder_now_ns(play->pass->c), &result);
    if (!result.status)
        return PRG_OK;
    if (result.pods) {
        cJSON *pod;
        prg_json_each (pod, result.pods)
            if (rc == PRG_OK)
                rc = play_write_pod(play, pod, err);
        if (rc == PRG_OK)
            rc = play_remove_pods(play, slot, result.pods, err);
    }
    return rc == PRG_OK ? play_write_status(play, slot, result.status, err) : rc;
}

void prg_sync_play(struct prg_sync *pass)
{
    struct prg_catalog *c = pass->c;
    struct play_pass play = {.pass = pass};
    struct prg_error err = {0};
    const struct prg_map_entry *entry;
    if (!c->options.play_kubelet || !c->is_play_due || pass->rc != PRG_OK)
        return;
    prg_map_init(&play.pods);
    prg_vec_init(&play.slots);
    play_gather(&play);
    for (size_t i = 0; i < play.slots.count && pass->rc == PRG_OK; i++)
        if (play_slot(&play, play.slots.items[i], &err) != PRG_OK)
            prg_sync_note_error(pass, &err);
    for (size_t i = 0; (entry = prg_map_next(&play.pods, &i));) {
        prg_vec_release(entry->value);
        free(entry->value);
    }
    prg_map_release(&play.pods);
    prg_vec_release(&play.slots);
    c->is_play_due = pass->rc != PRG_OK;
}
