// SPDX-License-Identifier: Apache-2.0
// catalog.c: the operations of the folder store. Each writes the file first and shows the change after that, so that
// what readers see is on disk.
#include "catalog/catalog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "catalog/folder.h"
#include "catalog/path.h"
#include "object/meta.h"
#include "store/intent.h"
#include "store/store_mem.h"
#include "yaml/dump.h"
#include "json/merge.h"

// ---- reading ----

static const cJSON *folder_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct prg_catalog *c = (const struct prg_catalog *)reader;
    return c->index->reader.get(&c->index->reader, key);
}

static const char *folder_file(const struct prg_reader *reader, const struct prg_key *key, struct prg_arena *arena)
{
    const struct prg_catalog *c = (const struct prg_catalog *)reader;
    const struct prg_folder_slot *slot = prg_folder_slot_find(c, key);
    const struct prg_folder_record *record = slot && slot->user ? slot->user : slot ? slot->rendered : NULL;
    return record ? prg_arena_printf(arena, "%s/%s", c->root, record->file->path) : NULL;
}

static void folder_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                        prg_reader_visit_fn visit, void *ctx)
{
    const struct prg_catalog *c = (const struct prg_catalog *)reader;
    c->index->reader.list(&c->index->reader, group, kind, ns, visit, ctx);
}

static void folder_list_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                                 const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    const struct prg_catalog *c = (const struct prg_catalog *)reader;
    prg_reader_list_labelled(&c->index->reader, group, kind, ns, label, value, visit, ctx);
}

static bool folder_state(const struct prg_reader *reader, const struct prg_reader_question *question,
                         struct prg_reader_state *ret)
{
    const struct prg_catalog *c = (const struct prg_catalog *)reader;
    return prg_reader_state(&c->index->reader, question, ret);
}

void prg_catalog_each_folder(const struct prg_store *store, void (*visit)(const char *path, void *ctx), void *ctx)
{
    const struct prg_catalog *c = (const struct prg_catalog *)store;
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    for (size_t i = 0; i < c->folders.count; i++) {
        const char *relative = c->folders.items[i];
        prg_strbuf_clear(&path);
        prg_strbuf_printf(&path, "%s%s%s", c->absolute, *relative ? "/" : "", relative);
        visit(path.text, ctx);
    }
}

void prg_catalog_on_problem(struct prg_store *store, prg_catalog_problem_fn problem, void *ctx)
{
    struct prg_catalog *c = (struct prg_catalog *)store;
    c->problem = problem;
    c->problem_ctx = ctx;
}

// ---- writing files ----

static uint64_t digest_of(const struct prg_strbuf *text)
{
    return prg_map_hash(text->text, text->length);
}

static int write_tree(struct prg_catalog *c, const char *path, const cJSON *tree, struct prg_file_sign *ret_sign,
                      uint64_t *ret_digest, struct prg_error *err)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_yaml_dump(&text, tree);
    *ret_digest = digest_of(&text);
    return prg_disk_write(c->root, path, text.text, text.length, ret_sign, err);
}

// The file now holds content, as it was just written. Returns the content it had, for the caller to release once
// nobody sees it any more.
static struct prg_folder_content file_written(struct prg_folder_file *file, struct prg_folder_content *content,
                                              const struct prg_file_sign *sign, uint64_t digest)
{
    struct prg_folder_content old = file->content;
    file->content = *content;
    file->sign = *sign;
    file->digest = digest;
    file->is_racy = true; // somebody may change it within this very tick of the clock
    file->is_broken = file->is_refused = false;
    return old;
}

int prg_folder_write_object(struct prg_catalog *c, struct prg_folder_slot *slot, struct prg_folder_content *content,
                            const cJSON *tree, struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    struct prg_file_sign sign;
    uint64_t digest;
    prg_strbuf_printf(&path, "%s/%s", PRG_FOLDER_OBJECTS, slot->path);
    int rc = write_tree(c, path.text, tree, &sign, &digest, err);
    if (rc != PRG_OK) {
        prg_folder_content_release(content);
        return rc;
    }
    struct prg_folder_file *file = prg_folder_file_ensure(c, PRG_SCAN_OBJECTS, path.text);
    slot->rendered = prg_folder_content_add(content, file, &slot->key, tree, 1);
    struct prg_folder_content old = file_written(file, content, &sign, digest);
    (void)prg_folder_slot_rebuild(c, slot);
    prg_folder_content_release(&old);
    c->is_play_due = true;
    return PRG_OK;
}

// Somebody may edit a status by hand while a plan is under way; that is never written over. What is left of the race is
// the time between this look and the rename.
static int check_unedited(const struct prg_catalog *c, const char *path, struct prg_error *err)
{
    const struct prg_folder_file *file = prg_map_get(&c->files, path);
    prg_auto_strbuf full = PRG_STRBUF_INIT, text = PRG_STRBUF_INIT;
    struct stat info;
    prg_strbuf_printf(&full, "%s/%s", c->root, path);
    if (stat(full.text, &info) != 0)
        return PRG_OK; // not there, or gone: nothing to be lost
    struct prg_file_sign sign = prg_file_sign_of(&info);
    if (file && !file->is_racy && prg_file_sign_equal(&sign, &file->sign))
        return PRG_OK;
    if (file && prg_disk_read(full.text, (size_t)info.st_size + 1, &text, NULL, NULL) == PRG_OK &&
        digest_of(&text) == file->digest)
        return PRG_OK;
    return prg_fail(err, PRG_CONFLICT, "%s was edited meanwhile; it is read again first", full.text);
}

static cJSON *status_document(struct prg_arena *arena, const struct prg_folder_slot *slot)
{
    cJSON *tree = prg_json_object(arena), *meta = prg_json_ensure_object(arena, tree, "metadata");
    prg_json_set_string(arena, tree, "apiVersion", prg_json_get_text(slot->object, "apiVersion"));
    prg_json_set_string(arena, tree, "kind", slot->key.kind);
    prg_json_set_string(arena, meta, "name", slot->key.name);
    if (*slot->key.ns)
        prg_json_set_string(arena, meta, "namespace", slot->key.ns);
    prg_json_set_string(arena, meta, "uid", prg_meta_uid(slot->object));
    return tree;
}

// Writes the status file. NULL: the file has no such member.
static int write_status_file(struct prg_catalog *c, struct prg_folder_slot *slot, const cJSON *annotations,
                             const cJSON *status, struct prg_error *err)
{
    struct prg_folder_content content = {0};
    struct prg_arena *arena = &content.arena;
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    struct prg_file_sign sign;
    uint64_t digest;
    cJSON *tree = status_document(arena, slot);
    if (prg_json_count(annotations)) {
        cJSON *kept = prg_json_copy(arena, annotations);
        prg_json_set(arena, prg_json_get(tree, "metadata"), "annotations", kept);
        content.annotations = kept;
    }
    if (status) {
        cJSON *kept = prg_json_copy(arena, status);
        prg_json_set(arena, tree, "status", kept);
        content.status = kept;
    }
    prg_strbuf_printf(&path, "%s/%s", PRG_FOLDER_STATUS, slot->path);
    int rc = check_unedited(c, path.text, err);
    if (rc == PRG_OK)
        rc = write_tree(c, path.text, tree, &sign, &digest, err);
    if (rc != PRG_OK) {
        prg_folder_content_release(&content);
        return rc;
    }
    struct prg_folder_file *file = prg_folder_file_ensure(c, PRG_SCAN_STATUS, path.text);
    struct prg_folder_content old = file_written(file, &content, &sign, digest);
    slot->status = file;
    (void)prg_folder_slot_rebuild(c, slot);
    prg_folder_content_release(&old);
    return PRG_OK;
}

int prg_folder_write_status(struct prg_catalog *c, struct prg_folder_slot *slot, const cJSON *status,
                            struct prg_error *err)
{
    prg_auto_arena arena = {0};
    const cJSON *annotations = slot->status ? slot->status->content.annotations : NULL;
    return write_status_file(c, slot, annotations, status ? status : prg_json_object(&arena), err);
}

static int remove_file(struct prg_catalog *c, const char *folder, const struct prg_folder_slot *slot,
                       struct prg_folder_file **ret, struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_strbuf_printf(&path, "%s/%s", folder, slot->path);
    int rc = prg_disk_remove(c->root, path.text, folder, err);
    if (rc == PRG_OK)
        *ret = prg_map_remove(&c->files, path.text);
    return rc;
}

int prg_folder_remove_object(struct prg_catalog *c, struct prg_folder_slot *slot, struct prg_error *err)
{
    struct prg_folder_file *object = NULL, *status = NULL;
    int rc = remove_file(c, PRG_FOLDER_OBJECTS, slot, &object, err);
    if (rc == PRG_OK && slot->status && !slot->user)
        rc = remove_file(c, PRG_FOLDER_STATUS, slot, &status, err);
    if (object)
        slot->rendered = NULL;
    if (status)
        slot->status = NULL;
    (void)prg_folder_slot_rebuild(c, slot);
    if (object)
        prg_folder_file_free(object);
    if (status)
        prg_folder_file_free(status);
    return rc;
}

// ---- the store's operations ----

// The first writing call makes what was seen at open lasting.
static int begin_write(struct prg_catalog *c, struct prg_error *err)
{
    return prg_seen_flush(c->seen, err);
}

static int refuse_users_object(const struct prg_catalog *c, const struct prg_folder_slot *slot, const char *what,
                               struct prg_error *err)
{
    prg_auto_arena scratch = {0};
    return prg_fail(err, PRG_CONFLICT,
                    "%s: %s is a manifest of yours, which is never %s; remove it there or give it another name",
                    prg_folder_place(c, &scratch, slot->user), prg_key_text(&scratch, &slot->key), what);
}

// What an API server sets on the way in. Returns the object to be stored, in content's arena, or NULL: no change.
static const cJSON *admit(struct prg_catalog *c, const struct prg_folder_slot *slot, const cJSON *intent,
                          struct prg_folder_content *content)
{
    const cJSON *stored = slot && slot->rendered ? slot->rendered->tree : NULL, *merged;
    char text[PRG_CLOCK_TEXT > PRG_UID_TEXT ? PRG_CLOCK_TEXT : PRG_UID_TEXT];
    enum prg_intent_change change = prg_intent_merge(&content->arena, stored, intent, &merged);
    if (change == PRG_INTENT_SAME)
        return NULL;
    cJSON *object = (cJSON *)(uintptr_t)merged, *meta = prg_json_get(object, "metadata");
    struct prg_key key;
    prg_require(prg_key_of(&content->arena, object, &key, NULL) == PRG_OK);
    if (!*prg_meta_uid(object))
        prg_json_set_string(&content->arena, meta, "uid", prg_catalog_uid(&key, text));
    if (!*prg_meta_created(object))
        prg_json_set_string(&content->arena, meta, "creationTimestamp", prg_clock_format(prg_folder_now_ns(c), text));
    if (change == PRG_INTENT_SPEC && prg_json_get(object, "spec"))
        prg_json_set_int(&content->arena, meta, "generation", prg_meta_generation(stored) + 1);
    return object;
}

static int folder_apply(struct prg_store *store, const cJSON *intent, enum prg_write_result *ret, struct prg_error *err)
{
    struct prg_catalog *c = (struct prg_catalog *)store;
    struct prg_folder_content content = {0};
    prg_auto_arena scratch = {0};
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    struct prg_key key;
    int rc = prg_key_of(&scratch, intent, &key, err);
    if (rc != PRG_OK)
        return rc;
    struct prg_folder_slot *slot = prg_folder_slot_find(c, &key);
    if (slot && slot->user)
        return refuse_users_object(c, slot, "overwritten", err);
    bool is_new = !slot || !slot->rendered;
    const cJSON *tree = admit(c, slot, intent, &content);
    if (!tree) {
        prg_folder_content_release(&content);
        *ret = PRG_WRITE_UNCHANGED;
        return PRG_OK;
    }
    rc = begin_write(c, err);
    if (rc != PRG_OK) {
        prg_folder_content_release(&content);
        return rc;
    }
    prg_catalog_path(&path, &key);
    slot = prg_folder_slot_ensure(c, &key, path.text);
    rc = prg_folder_write_object(c, slot, &content, tree, err);
    if (rc != PRG_OK) {
        if (!slot->rendered)
            prg_folder_slot_drop(c, slot);
        return rc;
    }
    *ret = is_new ? PRG_WRITE_CREATED : PRG_WRITE_UPDATED;
    return PRG_OK;
}

static int folder_remove(struct prg_store *store, const struct prg_key *key, const char *uid,
                         enum prg_write_result *ret, struct prg_error *err)
{
    struct prg_catalog *c = (struct prg_catalog *)store;
    struct prg_folder_slot *slot = prg_folder_slot_find(c, key);
    prg_auto_arena scratch = {0};
    *ret = PRG_WRITE_UNCHANGED;
    if (!slot)
        return PRG_OK;
    if (slot->user)
        return refuse_users_object(c, slot, "removed", err);
    if (uid && *uid && strcmp(prg_meta_uid(slot->object), uid) != 0)
        return prg_fail(err, PRG_CONFLICT, "%s was replaced: its uid is '%s', not '%s'", prg_key_text(&scratch, key),
                        prg_meta_uid(slot->object), uid);
    int rc = begin_write(c, err);
    if (rc == PRG_OK)
        rc = prg_folder_remove_object(c, slot, err);
    if (rc != PRG_OK)
        return rc;
    prg_folder_slot_drop(c, slot);
    c->is_collect_due = true;
    *ret = PRG_WRITE_DELETED;
    return PRG_OK;
}

static int folder_set_status(struct prg_store *store, const struct prg_key *key, const cJSON *status,
                             enum prg_write_result *ret, struct prg_error *err)
{
    struct prg_catalog *c = (struct prg_catalog *)store;
    struct prg_folder_slot *slot = prg_folder_slot_find(c, key);
    prg_auto_arena scratch = {0};
    if (!slot || !slot->object)
        return prg_fail(err, PRG_NOTFOUND, "%s does not exist", prg_key_text(&scratch, key));
    const cJSON *old = prg_json_get(slot->object, "status");
    *ret = PRG_WRITE_UNCHANGED;
    if (prg_json_equal(old, status))
        return PRG_OK;
    int rc = begin_write(c, err);
    if (rc != PRG_OK)
        return rc;
    c->is_play_due = true; // a predictor that got ready has its route played
    if (slot->user || slot->status) {
        rc = prg_folder_write_status(c, slot, status, err);
    } else {
        struct prg_folder_content content = {0};
        cJSON *tree = prg_json_copy(&content.arena, slot->rendered->tree);
        prg_json_remove(tree, "status");
        if (status)
            prg_json_set(&content.arena, tree, "status", prg_json_copy(&content.arena, status));
        rc = prg_folder_write_object(c, slot, &content, tree, err);
    }
    if (rc == PRG_OK)
        *ret = PRG_WRITE_UPDATED;
    return rc;
}

// Of a user's object only annotations can be changed; they are kept beside its status, laid over the manifest's.
static int patch_users_object(struct prg_catalog *c, struct prg_folder_slot *slot, const cJSON *merge_patch,
                              enum prg_write_result *ret, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    const cJSON *meta = prg_json_get(merge_patch, "metadata"), *change = prg_json_get(meta, "annotations"), *item;
    const cJSON *known = slot->status ? slot->status->content.annotations : NULL;
    const cJSON *status = slot->status ? slot->status->content.status : NULL;
    if (!prg_json_is_object(change) || prg_json_count(merge_patch) != 1 || prg_json_count(meta) != 1)
        return refuse_users_object(c, slot, "changed", err);
    prg_json_each (item, change)
        if (!prg_json_is_string(item) && !prg_json_is_null(item))
            return prg_fail(err, PRG_INVALID, "the annotation %s must be a text, not %s", item->string,
                            prg_json_type_name(item));
    cJSON *wanted = prg_merge_apply(&arena, known ? known : prg_json_object(&arena), change);
    *ret = PRG_WRITE_UNCHANGED;
    if (prg_json_equal(prg_merge_apply(&arena, slot->object, merge_patch), slot->object))
        return PRG_OK;
    int rc = begin_write(c, err);
    if (rc == PRG_OK)
        rc = write_status_file(c, slot, wanted, status, err);
    if (rc == PRG_OK)
        *ret = PRG_WRITE_UPDATED;
    return rc;
}

static int folder_patch(struct prg_store *store, const struct prg_key *key, const cJSON *merge_patch,
                        enum prg_write_result *ret, struct prg_error *err)
{
    struct prg_catalog *c = (struct prg_catalog *)store;
    struct prg_folder_slot *slot = prg_folder_slot_find(c, key);
    prg_auto_arena arena = {0};
    if (!slot || !slot->object)
        return prg_fail(err, PRG_NOTFOUND, "%s does not exist", prg_key_text(&arena, key));
    if (slot->user)
        return patch_users_object(c, slot, merge_patch, ret, err);
    return folder_apply(store, prg_merge_apply(&arena, slot->rendered->tree, merge_patch), ret, err);
}

static int folder_record_event(struct prg_store *store, const struct prg_key *key, const struct prg_store_event *event,
                               int64_t now_ns, struct prg_error *err)
{
    struct prg_catalog *c = (struct prg_catalog *)store;
    int rc = begin_write(c, err);
    return rc == PRG_OK ? prg_event_log_record(c->events, key, event, now_ns, err) : rc;
}

static int folder_refresh(struct prg_store *store, prg_store_watch_fn changed, void *ctx, struct prg_error *err)
{
    struct prg_catalog *c = (struct prg_catalog *)store;
    int rc = prg_folder_refresh(c, changed, ctx, err);
    if (rc == PRG_OK)
        rc = prg_seen_flush(c->seen, err);
    return rc == PRG_OK ? prg_event_log_flush(c->events, err) : rc;
}

// ---- life ----

static void folder_free(struct prg_store *store)
{
    struct prg_catalog *c = (struct prg_catalog *)store;
    const struct prg_map_entry *entry;
    int lost = prg_event_log_flush(c->events, NULL);
    (void)lost; // only counts
    prg_event_log_free(c->events);
    prg_seen_log_free(c->seen);
    for (size_t i = 0; (entry = prg_map_next(&c->slots, &i));)
        prg_folder_slot_drop(c, entry->value);
    for (size_t i = 0; (entry = prg_map_next(&c->files, &i));)
        prg_folder_file_free(entry->value);
    for (size_t i = 0; i < c->folders.count; i++)
        free(c->folders.items[i]);
    prg_map_release(&c->slots);
    prg_map_release(&c->files);
    prg_map_release(&c->unreadable);
    prg_vec_release(&c->folders);
    prg_store_free(c->index);
    free(c->default_namespace);
    free(c->root);
    free(c->absolute);
    free(c);
}

static struct prg_catalog *folder_new(const char *root, char *absolute, const struct prg_catalog_options *options)
{
    static const struct prg_store_ops ops = {
        .apply = folder_apply,
        .remove = folder_remove,
        .set_status = folder_set_status,
        .patch = folder_patch,
        .record_event = folder_record_event,
        .refresh = folder_refresh,
        .free = folder_free,
    };
    struct prg_catalog *c = prg_xcalloc(1, sizeof(*c));
    c->store.reader.get = folder_get;
    c->store.reader.list = folder_list;
    c->store.reader.file = folder_file;
    c->store.reader.list_labelled = folder_list_labelled;
    c->store.reader.state = folder_state;
    c->store.ops = &ops;
    size_t length = strlen(root);
    while (length > 1 && root[length - 1] == '/')
        length--;
    c->root = prg_xstrndup(root, length);
    c->absolute = absolute;
    if (options)
        c->options = *options;
    c->default_namespace = prg_xstrdup(c->options.default_namespace ? c->options.default_namespace : "default");
    c->index = prg_store_mem_new();
    c->store.reader.keeps_trees = c->index->reader.keeps_trees;
    c->events = prg_event_log_new(c->root);
    c->is_collect_due = c->is_play_due = true;
    prg_map_init(&c->slots);
    prg_map_init(&c->files);
    prg_map_init(&c->unreadable);
    prg_vec_init(&c->folders);
    return c;
}

int prg_catalog_open(const char *path, const struct prg_catalog_options *options, struct prg_store **ret,
                     struct prg_error *err)
{
    struct stat info;
    char *absolute = realpath(path, NULL);
    if (!absolute || stat(absolute, &info) != 0) {
        free(absolute);
        return prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
        free(absolute);
        return prg_fail(err, PRG_INVALID, "%s: not a folder; a folder store is a folder of manifests", path);
    }
    struct prg_catalog *c = folder_new(path, absolute, options);
    int rc = prg_seen_log_open(c->root, &c->seen, err);
    if (rc == PRG_OK)
        rc = prg_folder_open(c, err);
    if (rc != PRG_OK) {
        folder_free(&c->store);
        return rc;
    }
    *ret = &c->store;
    return PRG_OK;
}
