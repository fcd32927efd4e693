// SPDX-License-Identifier: Apache-2.0
// manifest.c: manifest files to single objects.
#include "catalog/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/parallel.h"
#include "base/vec.h"
#include "object/meta.h"

struct load {
    struct prg_arena *arena;
    const char *file, *default_namespace;
    prg_manifest_fn visit;
    void *ctx;
};

static int visit_object(const struct load *load, cJSON *object, struct prg_error *err)
{
    struct prg_manifest manifest = {.object = object, .file = load->file, .line = prg_json_position(object).line};
    if (!prg_json_is_object(object))
        return prg_fail(err, PRG_INVALID,
                        "%s:%u: a manifest is an object with apiVersion, kind and metadata; this is a %s", load->file,
                        manifest.line, prg_json_type_name(object));
    if (prg_key_of(load->arena, object, &manifest.key, err) != PRG_OK)
        return prg_wrap(err, "%s:%u", load->file, manifest.line);
    cJSON *meta = prg_json_ensure_object(load->arena, object, "metadata");
    bool is_cluster_scoped = prg_kind_is_cluster_scoped(manifest.key.group, manifest.key.kind);
    if (!manifest.key.ns[0] && !is_cluster_scoped) {
        prg_json_set_string(load->arena, meta, "namespace", load->default_namespace);
        manifest.key.ns = load->default_namespace;
    } else if (manifest.key.ns[0] && is_cluster_scoped) {
        prg_json_remove(meta, "namespace"); // as an API server does
        manifest.key.ns = "";
    }
    return load->visit(&manifest, load->ctx, err);
}

static bool is_list(const cJSON *document)
{
    const char *kind = prg_json_get_text(document, "kind");
    return kind && prg_text_has_suffix(kind, "List") && prg_json_is_array(prg_json_get(document, "items"));
}

// Items of a typed list ("PodList") may leave out what its kind says already.
static void complete_item(struct prg_arena *arena, const cJSON *list, cJSON *item)
{
    const char *kind = prg_json_get_text(list, "kind");
    if (!prg_json_is_object(item) || strcmp(kind, "List") == 0 || prg_json_get(item, "kind") ||
        prg_json_get(item, "apiVersion"))
        return;
    prg_json_set_string(arena, item, "apiVersion", prg_json_get_text(list, "apiVersion"));
    prg_json_set_string(arena, item, "kind", prg_arena_strndup(arena, kind, strlen(kind) - strlen("List")));
}

static int visit_document(const struct load *load, cJSON *document, struct prg_error *err)
{
    cJSON *item;
    if (!is_list(document))
        return visit_object(load, document, err);
    prg_json_each (item, prg_json_get(document, "items")) {
        if (is_list(item))
            return prg_fail(err, PRG_INVALID, "%s:%u: a List inside a List; put its items into the outer one",
                            load->file, prg_json_position(item).line);
        complete_item(load->arena, document, item);
        int rc = visit_object(load, item, err);
        if (rc != PRG_OK)
            return rc;
    }
    return PRG_OK;
}

int prg_manifest_load_docs(struct prg_arena *arena, const struct prg_yaml_docs *docs, const char *name,
                           const char *default_namespace, prg_manifest_fn visit, void *ctx, struct prg_error *err)
{
    struct load load = {arena, prg_arena_strdup(arena, name), default_namespace ? default_namespace : "default", visit,
                        ctx};
    int rc = PRG_OK;
    for (size_t i = 0; rc == PRG_OK && i < docs->count; i++)
        rc = visit_document(&load, docs->items[i], err);
    return rc;
}

int prg_manifest_load_text(struct prg_arena *arena, const char *name, const char *text, size_t length,
                           const char *default_namespace, prg_manifest_fn visit, void *ctx, struct prg_error *err)
{
    struct prg_yaml_docs docs;
    int rc = prg_yaml_load(arena, name, text, length, NULL, &docs, err);
    return rc == PRG_OK ? prg_manifest_load_docs(arena, &docs, name, default_namespace, visit, ctx, err) : rc;
}

int prg_manifest_load_file(struct prg_arena *arena, const char *path, const char *default_namespace,
                           prg_manifest_fn visit, void *ctx, struct prg_error *err)
{
    struct prg_yaml_docs docs;
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    int rc = prg_yaml_load_file(arena, path, NULL, &docs, err);
    return rc == PRG_OK ? prg_manifest_load_docs(arena, &docs, name, default_namespace, visit, ctx, err) : rc;
}

// ---- many files ----

enum { MOST_THREADS = 16 };

struct read_file {            // what a file holds
    struct prg_vec manifests; // struct prg_manifest *, in the arena of the thread that read it
    int rc;
    struct prg_error *err; // on the heap; NULL: it could be read
};

struct reading {
    const struct prg_vec *paths;
    const char *default_namespace;
    prg_manifest_mark_fn mark;
    struct prg_arena *arenas; // one a thread
    struct read_file *files;
};

struct keeping {
    struct read_file *file;
    struct prg_arena *arena;
    prg_manifest_mark_fn mark;
};

static int keep_manifest(const struct prg_manifest *manifest, void *ctx, struct prg_error *err)
{
    struct keeping *keeping = ctx;
    struct prg_manifest *kept = prg_arena_new(keeping->arena, struct prg_manifest);
    (void)err;
    *kept = *manifest;
    kept->is_marked = keeping->mark && keeping->mark(manifest);
    prg_vec_push(&keeping->file->manifests, kept);
    return PRG_OK;
}

static void read_piece(size_t piece, size_t worker, void *ctx)
{
    struct reading *reading = ctx;
    struct read_file *file = &reading->files[piece];
    struct keeping keeping = {file, &reading->arenas[worker], reading->mark};
    struct prg_error err = {0};
    file->rc = prg_manifest_load_file(keeping.arena, reading->paths->items[piece], reading->default_namespace,
                                      keep_manifest, &keeping, &err);
    if (file->rc != PRG_OK) {
        file->err = prg_xmalloc(sizeof(err));
        *file->err = err;
    }
}

static int visit_read(const struct read_file *file, prg_manifest_fn visit, void *ctx, struct prg_error *err)
{
    int rc = PRG_OK;
    for (size_t i = 0; rc == PRG_OK && i < file->manifests.count; i++)
        rc = visit(file->manifests.items[i], ctx, err);
    if (rc == PRG_OK && file->rc != PRG_OK && err)
        *err = *file->err;
    return rc == PRG_OK ? file->rc : rc;
}

int prg_manifest_load_files(struct prg_arena *arena, const struct prg_vec *paths, const char *default_namespace,
                            prg_manifest_mark_fn mark, prg_manifest_fn visit, void *ctx, struct prg_error *err)
{
    size_t threads = prg_parallel_threads(paths->count, MOST_THREADS);
    struct reading reading = {paths, default_namespace, mark, prg_xcalloc(threads, sizeof(struct prg_arena)),
                              prg_xcalloc(paths->count + 1, sizeof(struct read_file))};
    int rc = PRG_OK;
    for (size_t i = 0; i < paths->count; i++)
        prg_vec_init(&reading.files[i].manifests);
    prg_parallel(paths->count, threads, read_piece, &reading);
    for (size_t i = 0; i < threads; i++)
        prg_arena_adopt(arena, &reading.arenas[i]);
    for (size_t i = 0; rc == PRG_OK && i < paths->count; i++)
        rc = visit_read(&reading.files[i], visit, ctx, err);
    for (size_t i = 0; i < paths->count; i++) {
        prg_vec_release(&reading.files[i].manifests);
        free(reading.files[i].err);
    }
    free(reading.files);
    free(reading.arenas);
    return rc;
}

// ---- folders ----

bool prg_manifest_is_name(const char *name)
{
    return prg_text_has_suffix(name, ".yaml") || prg_text_has_suffix(name, ".yml") ||
           prg_text_has_suffix(name, ".json");
}

static int compare_text(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(a, b);
}

// Names of a folder's entries that matter, sorted. The texts are on the heap.
static int read_folder(const char *path, struct prg_vec *names, struct prg_error *err)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    if (!dir)
        return prg_fail(err, PRG_IO, "%s: cannot read the folder: %s", path, strerror(errno));
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            prg_vec_push(names, prg_xstrdup(entry->d_name));
    closedir(dir);
    prg_vec_sort(names, compare_text, NULL);
    return PRG_OK;
}

static int each_in_folder(const char *path, bool recursive,
                          int (*visit_file)(const char *path, void *ctx, struct prg_error *err), void *ctx,
                          struct prg_error *err)
{
    struct prg_vec names;
    prg_vec_init(&names);
    int rc = read_folder(path, &names, err);
    for (size_t i = 0; i < names.count && rc == PRG_OK; i++) {
        prg_auto_strbuf joined = PRG_STRBUF_INIT;
        struct stat info;
        const char *name = names.items[i];
        prg_strbuf_printf(&joined, "%s%s%s", path, prg_text_has_suffix(path, "/") ? "" : "/", name);
        const char *child = joined.text;
        bool is_link = lstat(child, &info) == 0 && S_ISLNK(info.st_mode);
        if (stat(child, &info) != 0) {
            // A dangling link or a file that went away meanwhile: an error only when it would have been read.
            if (prg_manifest_is_name(name))
                rc = prg_fail(err, PRG_IO, "%s: %s", child, strerror(errno));
        } else if (S_ISDIR(info.st_mode)) {
            if (recursive && !is_link)
                rc = each_in_folder(child, true, visit_file, ctx, err);
        } else if (S_ISREG(info.st_mode) && prg_manifest_is_name(name)) {
            rc = visit_file(child, ctx, err);
        }
    }
    for (size_t i = 0; i < names.count; i++)
        free(names.items[i]);
    prg_vec_release(&names);
    return rc;
}

int prg_manifest_each_file(const char *path, bool recursive,
                           int (*visit_file)(const char *path, void *ctx, struct prg_error *err), void *ctx,
                           struct prg_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return each_in_folder(path, recursive, visit_file, ctx, err);
    return visit_file(path, ctx, err);
}
