// SPDX-License-Identifier: Apache-2.0
// folder.c: a temporary folder store for tests.
#include "folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "yaml/load.h"

static int64_t clock_of(void *ctx)
{
    return ((struct folder *)ctx)->now_ns;
}

int folder_set_up(void **state)
{
    static struct folder folder;
    folder = (struct folder){.now_ns = NOON, .changed = PRG_STRBUF_INIT, .problems = PRG_STRBUF_INIT};
    snprintf(folder.root, sizeof(folder.root), "/tmp/perigee-test-XXXXXX");
    assert_non_null(mkdtemp(folder.root));
    *state = &folder;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static const char *full_path(struct folder *f, const char *path)
{
    return prg_arena_printf(&f->arena, "%s/%s", f->root, path);
}

int folder_tear_down(void **state)
{
    struct folder *f = *state;
    prg_store_free(f->store);
    nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    prg_strbuf_release(&f->changed);
    prg_strbuf_release(&f->problems);
    prg_arena_release(&f->arena);
    return 0;
}

// ---- files ----

static void make_folders(const char *path)
{
    char *copy = strdup(path);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(copy, 0777);
        *slash = '/';
    }
    free(copy);
}

void write_file(struct folder *f, const char *path, const char *text)
{
    static long tick;
    const char *full = full_path(f, path);
    make_folders(full);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    // A time of its own for each write, well in the past so that no file counts as just written.
    struct timespec times[2] = {{1700000000 + ++tick, 123456789}, {1700000000 + tick, 123456789}};
    assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

void remove_path(struct folder *f, const char *path)
{
    assert_int_equal(nftw(full_path(f, path), remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

bool has_file(const struct folder *f, const char *path)
{
    char full[4096];
    snprintf(full, sizeof(full), "%s/%s", f->root, path);
    return access(full, F_OK) == 0;
}

const char *file_text(struct folder *f, const char *path)
{
    size_t length;
    return read_test_file(&f->arena, full_path(f, path), &length);
}

cJSON *yaml_of(struct prg_arena *arena, const char *yaml)
{
    struct prg_yaml_docs docs;
    struct prg_error err = {0};
    assert_ok(prg_yaml_load(arena, "test", yaml, strlen(yaml), NULL, &docs, &err), &err);
    assert_int_equal(docs.count, 1);
    return docs.items[0];
}

cJSON *file_tree(struct folder *f, const char *path)
{
    return yaml_of(&f->arena, file_text(f, path));
}

static size_t files_found, temporary_found;

static int count_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    if (type == FTW_F)
        files_found++;
    if (strncmp(path + at->base, ".perigee-tmp-", 13) == 0)
        temporary_found++;
    return 0;
}

size_t file_count(const struct folder *f, const char *path)
{
    char full[4096];
    snprintf(full, sizeof(full), "%s/%s", f->root, path);
    files_found = temporary_found = 0;
    nftw(full, count_one, 16, FTW_PHYS);
    return files_found;
}

void assert_no_temporary_files(struct folder *f)
{
    file_count(f, "");
    assert_int_equal(temporary_found, 0);
}

// ---- the store ----

static int open_with(struct folder *f, bool play_kubelet)
{
    struct prg_catalog_options options = {.play_kubelet = play_kubelet, .now_ns = clock_of, .now_ctx = f};
    prg_store_free(f->store);
    f->store = NULL;
    prg_error_clear(&f->err);
    return prg_catalog_open(f->root, &options, &f->store, &f->err);
}

int try_open_folder(struct folder *f)
{
    return open_with(f, false);
}

void open_folder(struct folder *f)
{
    assert_ok(open_with(f, false), &f->err);
}

void open_folder_with_kubelet(struct folder *f)
{
    assert_ok(open_with(f, true), &f->err);
}

static void note_changed(const struct prg_key *key, void *ctx)
{
    struct folder *f = ctx;
    prg_strbuf_printf(&f->changed, "%s %s/%s;", key->kind, key->ns, key->name);
}

static void note_problem(const struct prg_error *err, void *ctx)
{
    struct folder *f = ctx;
    char text[PRG_ERROR_LINE];
    prg_strbuf_printf(&f->problems, "%s\n", prg_error_text(err, text, sizeof(text)));
}

void refresh(struct folder *f)
{
    prg_strbuf_clear(&f->changed);
    prg_strbuf_clear(&f->problems);
    prg_catalog_on_problem(f->store, note_problem, f);
    assert_ok(f->store->ops->refresh(f->store, note_changed, f, &f->err), &f->err);
}

void assert_changed(struct folder *f, const char *want)
{
    char *copy = strdup(want), *save = NULL;
    size_t length = 0;
    for (char *key = strtok_r(copy, ";", &save); key; key = strtok_r(NULL, ";", &save)) {
        const char *text = prg_arena_printf(&f->arena, "%s;", key);
        if (!strstr(f->changed.text, text))
            fail_msg("'%s' was not reported, only '%s'", key, f->changed.text);
        length += strlen(text);
    }
    free(copy);
    if (length != f->changed.length)
        fail_msg("reported: '%s', expected '%s'", f->changed.text, want);
}

const cJSON *get(const struct folder *f, const char *group, const char *kind, const char *ns, const char *name)
{
    return prg_reader_get(&f->store->reader, group, kind, ns, name);
}

const cJSON *get_widget(const struct folder *f, const char *name)
{
    return get(f, "example.com", "Widget", "default", name);
}

int try_apply(struct folder *f, const char *yaml, enum prg_write_result *ret)
{
    prg_error_clear(&f->err);
    return f->store->ops->apply(f->store, yaml_of(&f->arena, yaml), ret, &f->err);
}

enum prg_write_result apply(struct folder *f, const char *yaml)
{
    enum prg_write_result result;
    assert_ok(try_apply(f, yaml, &result), &f->err);
    return result;
}

enum prg_write_result set_status(struct folder *f, const struct prg_key *key, const char *json)
{
    enum prg_write_result result;
    assert_ok(f->store->ops->set_status(f->store, key, json_of(&f->arena, json), &result, &f->err), &f->err);
    return result;
}
