// SPDX-License-Identifier: Apache-2.0
// folder.h: the state of one folder store. Shared by catalog.c (the store's operations), sync.c (reading the folder)
// and slots.c (which document is the object of a key) only.
//
// Three levels: a file holds records (its documents); a slot is a key with the records and the status file that speak
// of it; the index (a memory store that borrows) has the object which a slot shows to readers. Everything read from a
// file lies in the file's arena, what a slot adds to a manifest in the slot's.
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "catalog/catalog.h"
#include "catalog/disk.h"
#include "catalog/events.h"
#include "catalog/scan.h"
#include "catalog/seen.h"

#define PRG_FOLDER_OBJECTS ".perigee/objects"
#define PRG_FOLDER_STATUS ".perigee/status"

struct prg_folder_file;

struct prg_folder_record { // one document
    struct prg_folder_record *next;
    struct prg_folder_file *file;
    struct prg_key key;
    const char *slot_path; // prg_catalog_path of the key
    const cJSON *tree;
    uint32_t line;
    bool is_shown; // has been what a slot shows
};

struct prg_folder_content {
    struct prg_arena arena;
    struct prg_folder_record *first, *last;
    const cJSON *status;      // PRG_SCAN_STATUS: the status, or NULL
    const cJSON *annotations; // PRG_SCAN_STATUS: those laid over the manifest's, or NULL
};

struct prg_folder_file {
    char *path; // relative to the root
    enum prg_scan_part part;
    struct prg_file_sign sign;
    uint64_t digest;                   // of the bytes last read
    struct prg_folder_content content; // of the last good bytes
    uint64_t reported;                 // digest of the bytes that were last reported as broken
    unsigned pass;                     // the last scan that saw it
    bool is_racy;                      // may have changed without a new sign
    bool is_broken;                    // content is older than the file
    bool is_gone;                      // about to be freed
    bool is_refused;                   // broken because of what is in another file; tried again each time
};

struct prg_folder_slot {
    char *path; // of the key; also the key in the map
    struct prg_key key;
    struct prg_folder_record *user, *rendered; // user wins; both NULL: about to vanish
    struct prg_folder_file *status;            // or NULL
    const cJSON *object;                       // what readers see
    struct prg_arena arena;                    // of what object adds to the documents, but for the first time
    bool is_touched, is_dirty, is_changed;     // marks of a refresh
};

struct prg_catalog {
    struct prg_store store;
    char *root;     // as given, without a slash at the end
    char *absolute; // real path
    struct prg_catalog_options options;
    char *default_namespace;
    prg_catalog_problem_fn problem; // NULL: strict
    void *problem_ctx;
    struct prg_store *index;
    struct prg_map slots;      // slot path -> struct prg_folder_slot
    struct prg_map files;      // path -> struct prg_folder_file
    struct prg_vec folders;    // char *, relative
    struct prg_map unreadable; // folders that could not be read in the last pass -> (void *)1
    struct prg_event_log *events;
    struct prg_seen_log *seen;
    unsigned pass;
    bool is_collect_due, is_play_due; // owners may be gone; there may be something to run
    bool is_blind;                    // the last pass could not read everything: nothing may be taken for gone
};

int64_t prg_folder_now_ns(const struct prg_catalog *c);

// ---- slots.c ----
struct prg_folder_file *prg_folder_file_ensure(struct prg_catalog *c, enum prg_scan_part part, const char *path);
void prg_folder_file_free(struct prg_folder_file *file); // records of it must not be in a slot any more
void prg_folder_content_release(struct prg_folder_content *content);
// Makes a record in content and returns it; tree lies in content's arena.
struct prg_folder_record *prg_folder_content_add(struct prg_folder_content *content, struct prg_folder_file *file,
                                                 const struct prg_key *key, const cJSON *tree, uint32_t line);
struct prg_folder_slot *prg_folder_slot_find(const struct prg_catalog *c, const struct prg_key *key); // or NULL
struct prg_folder_slot *prg_folder_slot_ensure(struct prg_catalog *c, const struct prg_key *key, const char *slot_path);
// Works out anew what readers see. Returns whether that changed. What was seen before must still be in memory.
bool prg_folder_slot_rebuild(struct prg_catalog *c, struct prg_folder_slot *slot);
void prg_folder_slot_drop(struct prg_catalog *c, struct prg_folder_slot *slot); // takes it out and frees it
// "ROOT/FILE:LINE" of the record.
const char *prg_folder_place(const struct prg_catalog *c, struct prg_arena *arena,
                             const struct prg_folder_record *record);

// ---- catalog.c ----
// Writes tree as the rendered object of the slot, and shows it. content holds tree, and is taken over, on failure too.
int prg_folder_write_object(struct prg_catalog *c, struct prg_folder_slot *slot, struct prg_folder_content *content,
                            const cJSON *tree, struct prg_error *err) PRG_MUST_USE;
// Keeps the annotations in the file. PRG_CONFLICT: somebody edited the file since it was read; refresh, and decide
// anew.
int prg_folder_write_status(struct prg_catalog *c, struct prg_folder_slot *slot, const cJSON *status,
                            struct prg_error *err) PRG_MUST_USE;
// Removes the rendered object of the slot from disk and from the slot, with its status file when nothing else is left.
int prg_folder_remove_object(struct prg_catalog *c, struct prg_folder_slot *slot, struct prg_error *err) PRG_MUST_USE;

// ---- sync.c ----
int prg_folder_open(struct prg_catalog *c, struct prg_error *err) PRG_MUST_USE; // the first, strict reading
int prg_folder_refresh(struct prg_catalog *c, prg_store_watch_fn changed, void *ctx,
                       struct prg_error *err) PRG_MUST_USE;
