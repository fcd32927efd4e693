// SPDX-License-Identifier: Apache-2.0
// recorded.h: the recorded reconcile cases (tests/cases/kserve/reconcile/*.json) with the project's own catalog and
// configuration beside them, as tests/golden/kserve.py puts them together.
#pragma once
#include "plan_fixture.h"

#include <dirent.h>
#include <stdlib.h>

#include "yaml/load.h"

#define RECORDED_FOLDER "cases/kserve/reconcile"

struct recorded_case {
    const char *name;
    const cJSON *input, *expected;
    const cJSON *objects;   // of the store, without service and configuration
    const cJSON *configmap; // or NULL
};
typedef void (*recorded_fn)(struct prg_arena *arena, const struct recorded_case *recorded, void *ctx);

static inline void recorded_load(struct prg_arena *arena, const char *path, cJSON *list)
{
    struct prg_yaml_docs docs;
    struct prg_error err = {0};
    assert_ok(prg_yaml_load_file(arena, path, NULL, &docs, &err), &err);
    for (size_t i = 0; i < docs.count; i++)
        prg_json_append(list, docs.items[i]);
}

static inline int recorded_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names of the files in a folder that end so, sorted.
static inline const char **recorded_files(struct prg_arena *arena, const char *folder, const char *end,
                                          size_t *ret_count)
{
    enum { MAX = 1000 };
    const char **names = prg_arena_array(arena, const char *, MAX);
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name), tail = strlen(end);
        if (entry->d_name[0] == '.' || length < tail || strcmp(entry->d_name + length - tail, end) != 0)
            continue;
        assert_true(count < MAX);
        names[count++] = prg_arena_strdup(arena, entry->d_name);
    }
    closedir(dir);
    qsort(names, count, sizeof(*names), recorded_compare);
    *ret_count = count;
    return names;
}

static inline void recorded_load_folder(struct prg_arena *arena, const char *folder, cJSON *list)
{
    size_t count;
    const char **names = recorded_files(arena, folder, ".yaml", &count);
    for (size_t i = 0; i < count; i++)
        recorded_load(arena, prg_arena_printf(arena, "%s/%s", folder, names[i]), list);
}

struct recorded_catalog {
    cJSON *configmaps, *runtimes, *storage_containers;
};

static inline void recorded_catalog_load(struct prg_arena *arena, struct recorded_catalog *catalog)
{
    catalog->configmaps = prg_json_array(arena);
    catalog->runtimes = prg_json_array(arena);
    catalog->storage_containers = prg_json_array(arena);
    recorded_load_folder(arena, "../runtime-catalog/config", catalog->configmaps);
    recorded_load_folder(arena, "../runtime-catalog/runtimes", catalog->runtimes);
    recorded_load_folder(arena, "../runtime-catalog/storagecontainers", catalog->storage_containers);
}

static inline void recorded_append(struct prg_arena *arena, cJSON *list, const cJSON *more)
{
    const cJSON *item;
    prg_json_each (item, more)
        prg_json_append(list, prg_json_copy(arena, item));
}

// The shipped configuration with the case's keys laid over it; null takes a key away.
static inline cJSON *recorded_configmap(struct prg_arena *arena, const struct recorded_catalog *catalog,
                                        const cJSON *patch)
{
    cJSON *configmap = prg_json_copy(arena, prg_json_item(catalog->configmaps, 0));
    cJSON *data = prg_json_get(configmap, "data");
    const cJSON *item;
    prg_json_each (item, patch) {
        if (prg_json_is_null(item))
            prg_json_remove(data, item->string);
        else
            prg_json_set(arena, data, item->string, prg_json_copy(arena, item));
    }
    return configmap;
}

static inline void recorded_build(struct prg_arena *arena, const struct recorded_catalog *catalog,
                                  struct recorded_case *recorded)
{
    const cJSON *given = prg_json_get(recorded->input, "objects");
    cJSON *objects = prg_json_is_array(given) ? prg_json_copy(arena, given) : prg_json_array(arena);
    if (prg_json_get_true(recorded->input, "useDefaultRuntimes"))
        recorded_append(arena, objects, catalog->runtimes);
    if (prg_json_get_true(recorded->input, "useDefaultStorageContainers"))
        recorded_append(arena, objects, catalog->storage_containers);
    recorded->objects = objects;
    recorded->configmap = prg_json_get_true(recorded->input, "noConfigMap")
                              ? NULL
                              : recorded_configmap(arena, catalog, prg_json_get(recorded->input, "configPatch"));
}

// Calls visit for every case, each with an arena of its own, and returns how many there are.
static inline size_t each_recorded(recorded_fn visit, void *ctx)
{
    prg_auto_arena shared, one;
    struct recorded_catalog catalog;
    size_t count;
    prg_arena_init(&shared);
    prg_arena_init(&one);
    recorded_catalog_load(&shared, &catalog);
    const char **names = recorded_files(&shared, RECORDED_FOLDER, ".json", &count);
    for (size_t i = 0; i < count; i++) {
        struct recorded_case recorded = {.name = names[i]};
        const cJSON *document = read_test_json(&one, prg_arena_printf(&one, RECORDED_FOLDER "/%s", names[i]));
        recorded.input = prg_json_get(document, "input");
        recorded.expected = prg_json_get(document, "expected");
        recorded_build(&one, &catalog, &recorded);
        visit(&one, &recorded, ctx);
        prg_arena_reset(&one);
    }
    return count;
}
