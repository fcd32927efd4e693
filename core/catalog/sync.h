// SPDX-License-Identifier: Apache-2.0
// sync.h: one pass over a folder store; shared by sync.c (reading the folder), collect.c (what lost its owner) and
// play.c (the kubelet) only.
#pragma once
#include "catalog/folder.h"

struct prg_sync {
    struct prg_catalog *c;
    struct prg_vec changes;    // struct change, of sync.c
    struct prg_vec touched;    // struct prg_folder_slot, each once; looked at when the pass ends
    struct prg_vec grave;      // struct prg_folder_content that may still be seen
    struct prg_map unreadable; // folders
    struct prg_error err;      // the first trouble that the caller gets
    int rc;
};

void prg_sync_note_error(struct prg_sync *pass, const struct prg_error *err);
// Slots that may have lost their last document are to be touched; those that show something else are changed.
void prg_sync_touch(struct prg_sync *pass, struct prg_folder_slot *slot);
void prg_sync_mark_changed(struct prg_sync *pass, struct prg_folder_slot *slot);
// The slot of a status file, or NULL.
struct prg_folder_slot *prg_sync_slot_of_status(struct prg_catalog *c, const struct prg_folder_file *file);

void prg_sync_collect(struct prg_sync *pass);
void prg_sync_play(struct prg_sync *pass);
