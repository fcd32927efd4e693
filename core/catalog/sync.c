// SPDX-License-Identifier: Apache-2.0
// sync.c: bringing a folder store in line with its folder.
//
// One pass: scan (stat only) -> read what has a new sign -> take the old documents of changed files out and put the new
// ones in -> rebuild the slots concerned -> collect what lost its owner -> play the kubelet -> report. A file that
// cannot be read or whose documents are refused keeps its last good documents, which give way to any other file that
// holds the same object.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "catalog/manifest.h"
#include "catalog/path.h"
#include "catalog/sync.h"
#include "store/store_mem.h"
#include "yaml/load.h"

#define LARGEST_FILE ((size_t)16 * 1024 * 1024)
enum { FILES_PER_THREAD = 8, MOST_THREADS = 16 };

enum outcome { OUTCOME_SAME, OUTCOME_GOOD, OUTCOME_BROKEN, OUTCOME_GONE };

struct change { // a file that is new, changed or gone
    struct prg_folder_file *file;
    int link_error; // errno of a link that leads nowhere, or 0
    enum outcome outcome;
    uint64_t digest;
    struct prg_folder_content fresh; // OUTCOME_GOOD: what it holds now
    struct prg_error *err;           // OUTCOME_BROKEN, on the heap
};

// ---- trouble ----

void prg_sync_note_error(struct prg_sync *pass, const struct prg_error *err)
{
    if (pass->rc == PRG_OK) {
        pass->err = *err;
        pass->rc = err->code;
    }
}

static void note_problem(struct prg_sync *pass, const struct prg_error *err, bool is_news)
{
    if (is_news && pass->c->problem)
        pass->c->problem(err, pass->c->problem_ctx);
    else if (is_news)
        prg_sync_note_error(pass, err);
}

void prg_sync_touch(struct prg_sync *pass, struct prg_folder_slot *slot)
{
    if (slot->is_touched)
        return;
    slot->is_touched = true;
    prg_vec_push(&pass->touched, slot);
}

static void mark_dirty(struct prg_sync *pass, struct prg_folder_slot *slot)
{
    slot->is_dirty = true;
    prg_sync_touch(pass, slot);
}

void prg_sync_mark_changed(struct prg_sync *pass, struct prg_folder_slot *slot)
{
    slot->is_changed = true;
    prg_sync_touch(pass, slot);
}

// ---- scan ----

static struct change *add_change(struct prg_sync *pass, struct prg_folder_file *file)
{
    struct change *change = prg_xcalloc(1, sizeof(*change));
    change->file = file;
    prg_vec_push(&pass->changes, change);
    return change;
}

static void on_file(enum prg_scan_part part, const char *path, const struct stat *info, int error, void *ctx)
{
    struct prg_sync *pass = ctx;
    struct prg_folder_file *file = prg_folder_file_ensure(pass->c, part, path);
    struct prg_file_sign sign = {0};
    bool is_new = file->pass == 0;
    file->pass = pass->c->pass;
    if (info)
        sign = prg_file_sign_of(info);
    if (is_new || file->is_racy || file->is_refused || !prg_file_sign_equal(&sign, &file->sign))
        add_change(pass, file)->link_error = error;
}

static void on_folder(const char *path, void *ctx)
{
    struct prg_sync *pass = ctx;
    prg_vec_push(&pass->c->folders, prg_xstrdup(path));
}

static void on_unreadable(const char *path, const struct prg_error *err, void *ctx)
{
    struct prg_sync *pass = ctx;
    prg_map_put(&pass->unreadable, path, pass);
    note_problem(pass, err, !prg_map_get(&pass->c->unreadable, path));
}

// A file that was not seen is gone, unless a folder above it could not be read.
static bool is_hidden(const struct prg_sync *pass, const char *path)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&pass->unreadable, &i));)
        if (!entry->key_length || (strncmp(path, entry->key, entry->key_length) == 0 && path[entry->key_length] == '/'))
            return true;
    return false;
}

static int scan(struct prg_sync *pass, bool tidy)
{
    struct prg_catalog *c = pass->c;
    const struct prg_scan_visitor visitor = {on_file, on_folder, on_unreadable, pass, tidy};
    const struct prg_map_entry *entry;
    struct prg_vec old_folders = c->folders;
    prg_vec_init(&c->folders);
    c->pass++;
    int rc = prg_scan(c->root, &visitor, &pass->err);
    if (rc != PRG_OK) { // nothing is known: go on with what was there
        for (size_t i = 0; i < c->folders.count; i++)
            free(c->folders.items[i]);
        prg_vec_release(&c->folders);
        c->folders = old_folders;
        return pass->rc = rc;
    }
    for (size_t i = 0; i < old_folders.count; i++)
        free(old_folders.items[i]);
    prg_vec_release(&old_folders);
    prg_map_release(&c->unreadable);
    c->is_blind = pass->unreadable.count > 0;
    for (size_t i = 0; (entry = prg_map_next(&c->files, &i));) {
        struct prg_folder_file *file = entry->value;
        if (file->pass == c->pass)
            continue;
        if (is_hidden(pass, file->path))
            file->pass = c->pass;
        else
            add_change(pass, file)->outcome = OUTCOME_GONE;
    }
    c->unreadable = pass->unreadable;
    prg_map_init(&pass->unreadable);
    return PRG_OK;
}

// ---- reading ----

static int add_manifest(const struct prg_manifest *manifest, void *ctx, struct prg_error *err)
{
    struct change *change = ctx;
    (void)err;
    prg_folder_content_add(&change->fresh, change->file, &manifest->key, manifest->object, manifest->line);
    return PRG_OK;
}

// The one document of a file of Perigee's own; *ret is NULL when there is none.
static int load_single(struct change *change, const char *shown, const struct prg_strbuf *text, const cJSON **ret,
                       struct prg_error *err)
{
    struct prg_yaml_docs docs;
    int rc = prg_yaml_load(&change->fresh.arena, shown, text->text, text->length, NULL, &docs, err);
    if (rc != PRG_OK)
        return rc;
    if (docs.count > 1)
        return prg_fail(err, PRG_INVALID, "%s: %zu documents in a file that holds one object", shown, docs.count);
    *ret = docs.count ? docs.items[0] : NULL;
    return PRG_OK;
}

static int load_object(struct change *change, const char *shown, const struct prg_strbuf *text, struct prg_error *err)
{
    const cJSON *tree;
    struct prg_key key;
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    int rc = load_single(change, shown, text, &tree, err);
    if (rc != PRG_OK)
        return rc;
    if (!tree)
        return prg_fail(err, PRG_INVALID, "%s: empty; remove the file", shown);
    if (prg_key_of(&change->fresh.arena, tree, &key, err) != PRG_OK)
        return prg_wrap(err, "%s:%u", shown, prg_json_position(tree).line);
    prg_strbuf_printf(&path, "%s/", PRG_FOLDER_OBJECTS);
    prg_catalog_path(&path, &key);
    if (strcmp(path.text, change->file->path) != 0)
        return prg_fail(err, PRG_INVALID, "%s: holds %s, whose place is %s", shown,
                        prg_key_text(&change->fresh.arena, &key), path.text);
    prg_folder_content_add(&change->fresh, change->file, &key, tree, prg_json_position(tree).line);
    return PRG_OK;
}

static int load_annotations(struct change *change, const char *shown, const cJSON *annotations, struct prg_error *err)
{
    const cJSON *item;
    if (!annotations || prg_json_is_null(annotations))
        return PRG_OK;
    if (!prg_json_is_object(annotations))
        return prg_fail(err, PRG_INVALID, "%s:%u: /metadata/annotations must be an object, not %s", shown,
                        prg_json_position(annotations).line, prg_json_type_name(annotations));
    prg_json_each (item, annotations)
        if (!prg_json_is_string(item))
            return prg_fail(err, PRG_INVALID, "%s:%u: the annotation %s must be a text, not %s", shown,
                            prg_json_position(item).line, item->string, prg_json_type_name(item));
    change->fresh.annotations = annotations->child ? annotations : NULL;
    return PRG_OK;
}

static int load_status(struct change *change, const char *shown, const struct prg_strbuf *text, struct prg_error *err)
{
    const cJSON *tree;
    int rc = load_single(change, shown, text, &tree, err);
    if (rc != PRG_OK)
        return rc;
    const cJSON *status = prg_json_get(tree, "status");
    if (tree && !prg_json_is_object(tree))
        return prg_fail(err, PRG_INVALID, "%s: must be an object with the member status, not %s", shown,
                        prg_json_type_name(tree));
    if (status && !prg_json_is_object(status) && !prg_json_is_null(status))
        return prg_fail(err, PRG_INVALID, "%s:%u: /status must be an object, not %s", shown,
                        prg_json_position(status).line, prg_json_type_name(status));
    change->fresh.status = prg_json_is_object(status) ? status : NULL;
    return load_annotations(change, shown, prg_json_at(tree, "metadata", "annotations"), err);
}

static int load(const struct prg_catalog *c, struct change *change, const char *shown, const struct prg_strbuf *text,
                struct prg_error *err)
{
    switch (change->file->part) {
    case PRG_SCAN_OBJECTS:
        return load_object(change, shown, text, err);
    case PRG_SCAN_STATUS:
        return load_status(change, shown, text, err);
    case PRG_SCAN_MANIFESTS:
        break;
    }
    return prg_manifest_load_text(&change->fresh.arena, shown, text->text, text->length, c->default_namespace,
                                  add_manifest, change, err);
}

static void set_broken(struct change *change, const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    prg_error_text(err, text, sizeof(text));
    change->outcome = OUTCOME_BROKEN;
    change->err = prg_xmalloc(sizeof(*err));
    *change->err = *err;
    if (!change->digest) // there are no bytes that could tell the next failure from this one
        change->digest = prg_map_hash(text, strlen(text));
}

// Touches nothing but the change and its file: files are read by several threads when there are many.
static void read_change(const struct prg_catalog *c, struct change *change)
{
    struct prg_folder_file *file = change->file;
    prg_auto_strbuf shown = PRG_STRBUF_INIT, text = PRG_STRBUF_INIT;
    struct prg_error err = {0};
    prg_strbuf_printf(&shown, "%s/%s", c->root, file->path);
    if (change->link_error) {
        prg_fail(&err, PRG_IO, "%s: %s", shown.text, strerror(change->link_error));
        file->sign = (struct prg_file_sign){0};
        file->is_racy = false;
        set_broken(change, &err);
        return;
    }
    int rc = prg_disk_read(shown.text, LARGEST_FILE, &text, &file->sign, &err);
    if (rc == PRG_NOTFOUND) {
        change->outcome = OUTCOME_GONE;
        return;
    }
    file->is_racy = prg_file_sign_is_racy(&file->sign, prg_clock_wall_ns());
    if (rc == PRG_OK) {
        change->digest = prg_map_hash(text.text, text.length);
        if (change->digest == file->digest && !file->is_refused)
            return; // only touched
        rc = load(c, change, shown.text, &text, &err);
    }
    change->outcome = OUTCOME_GOOD;
    if (rc != PRG_OK)
        set_broken(change, &err);
}

// ---- putting documents into slots ----

struct prg_folder_slot *prg_sync_slot_of_status(struct prg_catalog *c, const struct prg_folder_file *file)
{
    return prg_map_get(&c->slots, file->path + strlen(PRG_FOLDER_STATUS) + 1);
}

// Takes the documents of the file's content out of their slots.
static void withdraw(struct prg_sync *pass, struct prg_folder_file *file)
{
    if (file->part == PRG_SCAN_STATUS) {
        struct prg_folder_slot *slot = prg_sync_slot_of_status(pass->c, file);
        if (slot) {
            slot->status = NULL;
            mark_dirty(pass, slot);
        }
        return;
    }
    for (struct prg_folder_record *record = file->content.first; record; record = record->next) {
        struct prg_folder_slot *slot = prg_map_get(&pass->c->slots, record->slot_path);
        if (!slot)
            continue;
        if (slot->user == record)
            slot->user = NULL;
        if (slot->rendered == record)
            slot->rendered = NULL;
        mark_dirty(pass, slot);
    }
}

static int refuse_second(const struct prg_sync *pass, const struct prg_folder_record *record,
                         const struct prg_folder_record *first, struct prg_error *err)
{
    prg_auto_arena scratch = {0};
    return prg_fail(err, PRG_CONFLICT, "%s: %s is also at %s; keep one of the two",
                    prg_folder_place(pass->c, &scratch, record), prg_key_text(&scratch, &record->key),
                    prg_folder_place(pass->c, &scratch, first));
}

// Puts the documents of content into their slots; all or none.
static int install(struct prg_sync *pass, struct prg_folder_file *file, struct prg_folder_content *content,
                   struct prg_error *err)
{
    struct prg_folder_record *record, *stop = NULL;
    int rc = PRG_OK;
    for (record = content->first; record && !stop; record = record->next) {
        struct prg_folder_slot *slot = prg_folder_slot_ensure(pass->c, &record->key, record->slot_path);
        mark_dirty(pass, slot);
        if (file->part == PRG_SCAN_OBJECTS) {
            slot->rendered = record;
        } else if (slot->user && !slot->user->file->is_broken) {
            rc = refuse_second(pass, record, slot->user, err);
            stop = record;
        } else {
            slot->user = record;
        }
    }
    for (record = content->first; stop && record != stop; record = record->next) {
        struct prg_folder_slot *slot = prg_map_get(&pass->c->slots, record->slot_path);
        if (slot->user == record)
            slot->user = NULL;
    }
    return rc;
}

static void install_change(struct prg_sync *pass, struct change *change)
{
    struct prg_folder_file *file = change->file;
    uint64_t reported = file->reported;
    struct prg_error err = {0};
    file->digest = change->digest;
    file->is_broken = file->is_refused = false;
    file->reported = 0;
    if (file->part == PRG_SCAN_STATUS) {
        struct prg_folder_slot *slot = prg_sync_slot_of_status(pass->c, file);
        if (slot) {
            slot->status = file;
            mark_dirty(pass, slot);
        }
    } else if (install(pass, file, &change->fresh, &err) != PRG_OK) {
        set_broken(change, &err);
        file->is_refused = true;
        file->reported = reported;
        return;
    }
    // The old documents may be what readers see until the slots are rebuilt.
    struct prg_folder_content *old = prg_xmalloc(sizeof(*old));
    *old = file->content;
    prg_vec_push(&pass->grave, old);
    file->content = change->fresh;
    change->fresh = (struct prg_folder_content){0};
}

static void report_broken(struct prg_sync *pass, struct change *change)
{
    struct prg_folder_file *file = change->file;
    note_problem(pass, change->err, file->reported != change->digest);
    file->reported = file->digest = change->digest;
    file->is_broken = true;
}

// Goes on with the last good documents, as far as no other file has them now.
static void keep_last_good(struct prg_sync *pass, struct prg_folder_file *file)
{
    for (struct prg_folder_record *record = file->content.first; record; record = record->next) {
        struct prg_folder_slot *slot = prg_folder_slot_ensure(pass->c, &record->key, record->slot_path);
        if (file->part == PRG_SCAN_OBJECTS ? slot->rendered == record : slot->user != NULL)
            continue;
        if (file->part == PRG_SCAN_OBJECTS)
            slot->rendered = record;
        else
            slot->user = record;
        mark_dirty(pass, slot);
    }
}

static void install_changes(struct prg_sync *pass)
{
    struct change **changes = (struct change **)pass->changes.items;
    const struct prg_map_entry *entry;
    size_t count = pass->changes.count;
    for (size_t i = 0; i < count; i++) {
        if (changes[i]->outcome == OUTCOME_GOOD || changes[i]->outcome == OUTCOME_GONE)
            withdraw(pass, changes[i]->file);
        changes[i]->file->is_gone = changes[i]->outcome == OUTCOME_GONE;
        if (changes[i]->outcome != OUTCOME_SAME) // others may take over the objects of a broken one
            changes[i]->file->is_broken = changes[i]->outcome == OUTCOME_BROKEN;
    }
    for (size_t i = 0; i < count; i++)
        if (changes[i]->outcome == OUTCOME_GOOD)
            install_change(pass, changes[i]);
    for (size_t i = 0; i < count; i++)
        if (changes[i]->outcome == OUTCOME_BROKEN)
            report_broken(pass, changes[i]);
    for (size_t i = 0; count && (entry = prg_map_next(&pass->c->files, &i));)
        if (((struct prg_folder_file *)entry->value)->is_broken)
            keep_last_good(pass, entry->value);
}

static void rebuild_slots(struct prg_sync *pass)
{
    struct prg_catalog *c = pass->c;
    for (size_t i = 0; i < pass->touched.count; i++) {
        struct prg_folder_slot *slot = pass->touched.items[i];
        if (!slot->is_dirty)
            continue;
        slot->is_dirty = false;
        if (prg_folder_slot_rebuild(c, slot)) {
            prg_sync_mark_changed(pass, slot);
            c->is_collect_due = true;
        }
        if (slot->rendered)
            c->is_play_due = true;
    }
    for (size_t i = 0; i < pass->grave.count; i++) {
        prg_folder_content_release(pass->grave.items[i]);
        free(pass->grave.items[i]);
    }
    pass->grave.count = 0;
    for (size_t i = 0; i < pass->changes.count; i++) {
        struct change *change = pass->changes.items[i];
        if (change->outcome != OUTCOME_GONE)
            continue;
        prg_map_remove(&c->files, change->file->path);
        prg_folder_file_free(change->file);
        change->file = NULL;
    }
}

// ---- passes ----

static void report(struct prg_sync *pass, prg_store_watch_fn changed, void *ctx)
{
    for (size_t i = 0; i < pass->touched.count; i++) {
        struct prg_folder_slot *slot = pass->touched.items[i];
        if (slot->is_changed && changed)
            changed(&slot->key, ctx);
        slot->is_touched = slot->is_changed = slot->is_dirty = false;
        if (!slot->user && !slot->rendered)
            prg_folder_slot_drop(pass->c, slot);
    }
}

static void pass_release(struct prg_sync *pass)
{
    for (size_t i = 0; i < pass->changes.count; i++) {
        struct change *change = pass->changes.items[i];
        prg_folder_content_release(&change->fresh);
        free(change->err);
        free(change);
    }
    prg_vec_release(&pass->changes);
    prg_vec_release(&pass->touched);
    prg_vec_release(&pass->grave);
    prg_map_release(&pass->unreadable);
}

static void pass_init(struct prg_sync *pass, struct prg_catalog *c)
{
    *pass = (struct prg_sync){.c = c};
    prg_vec_init(&pass->changes);
    prg_vec_init(&pass->touched);
    prg_vec_init(&pass->grave);
    prg_map_init(&pass->unreadable);
}

static void read_piece(size_t piece, size_t worker, void *ctx)
{
    struct prg_sync *pass = ctx;
    struct change *change = pass->changes.items[piece];
    (void)worker;
    if (change->outcome != OUTCOME_GONE)
        read_change(pass->c, change);
}

// Scans and reads; what could not be read is noted.
static void read_folder(struct prg_sync *pass, bool tidy)
{
    if (scan(pass, tidy) != PRG_OK)
        return;
    size_t count = pass->changes.count;
    prg_parallel(count, prg_parallel_threads(count / FILES_PER_THREAD, MOST_THREADS), read_piece, pass);
    install_changes(pass);
    rebuild_slots(pass);
}

int prg_folder_open(struct prg_catalog *c, struct prg_error *err)
{
    struct prg_sync pass;
    pass_init(&pass, c);
    read_folder(&pass, true);
    report(&pass, NULL, NULL);
    int rc = pass.rc;
    if (rc != PRG_OK && err)
        *err = pass.err;
    pass_release(&pass);
    return rc;
}

int prg_folder_refresh(struct prg_catalog *c, prg_store_watch_fn changed, void *ctx, struct prg_error *err)
{
    struct prg_sync pass;
    pass_init(&pass, c);
    read_folder(&pass, false);
    if (pass.rc == PRG_OK) {
        prg_sync_collect(&pass);
        prg_sync_play(&pass);
    }
    report(&pass, changed, ctx);
    int rc = pass.rc;
    if (rc != PRG_OK && err)
        *err = pass.err;
    pass_release(&pass);
    return rc;
}
