// SPDX-License-Identifier: Apache-2.0
// policy_place.c: where a policy set is, and reading it when it is no folder.
#include "controller/policy_place.h"

#include <string.h>
#include <sys/stat.h>

#include "catalog/manifest.h"
#include "object/scalar.h"

static const char map_prefix[] = "configmap:";

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

int prg_policy_place_parse(struct prg_arena *arena, const char *text, struct prg_policy_place *ret,
                           struct prg_error *err)
{
    *ret = (struct prg_policy_place){0};
    if (!text)
        return PRG_OK;
    if (!prg_text_has_prefix(text, map_prefix)) {
        *(is_file(text) ? &ret->file : &ret->folder) = prg_arena_strdup(arena, text);
        return PRG_OK;
    }
    const char *ns = text + strlen(map_prefix), *slash = strchr(ns, '/');
    ret->ns = prg_arena_strndup(arena, ns, slash ? (size_t)(slash - ns) : 0);
    ret->name = prg_arena_strdup(arena, slash ? slash + 1 : "");
    if (!prg_name_is_dns1123_label(ret->ns) || !prg_name_is_dns1123_subdomain(ret->name))
        return prg_fail(err, PRG_INVALID, "policies %s: configmap:NAMESPACE/NAME is needed", text);
    return PRG_OK;
}

struct looking { // for the one ConfigMap of a file
    const char *file;
    const cJSON *map;
    uint32_t line;
};

static int look(const struct prg_manifest *manifest, void *ctx, struct prg_error *err)
{
    struct looking *looking = ctx;
    if (*manifest->key.group || strcmp(manifest->key.kind, "ConfigMap") != 0)
        return PRG_OK;
    if (looking->map)
        return prg_fail(err, PRG_INVALID, "%s:%u: a second ConfigMap, the first is at line %u; a policy set is one",
                        looking->file, manifest->line, looking->line);
    looking->map = manifest->object;
    looking->line = manifest->line;
    return PRG_OK;
}

static int find_in_file(struct prg_arena *arena, const char *file, const cJSON **ret, struct prg_error *err)
{
    struct looking looking = {.file = file};
    int rc = prg_manifest_load_file(arena, file, NULL, look, &looking, err);
    if (rc == PRG_OK && !looking.map)
        rc = prg_fail(err, PRG_INVALID,
                      "%s: no ConfigMap in it; a policy set is a folder, or a ConfigMap whose keys are file names",
                      file);
    *ret = looking.map;
    return rc;
}

static int find_in_objects(const struct prg_policy_place *place, const struct prg_reader *objects, const cJSON **ret,
                           struct prg_error *err)
{
    if (!objects)
        return prg_fail(err, PRG_INVALID, "policies configmap:%s/%s: there is no store to read it from", place->ns,
                        place->name);
    *ret = prg_reader_get(objects, "", "ConfigMap", place->ns, place->name);
    if (prg_reader_trouble(objects, err) != PRG_OK)
        return (int)err->code;
    if (!*ret && !place->is_optional)
        return prg_fail(err, PRG_NOTFOUND, "configmap %s/%s: there is no such object", place->ns, place->name);
    return PRG_OK;
}

int prg_policy_place_read(const struct prg_policy_place *place, const struct prg_reader *objects,
                          struct prg_arena *arena, struct prg_vec *texts, void (*report)(const char *text, void *ctx),
                          void *ctx, struct prg_error *err)
{
    const cJSON *map = NULL;
    int rc = PRG_OK;
    if (place->file)
        rc = find_in_file(arena, place->file, &map, err);
    else if (place->name)
        rc = find_in_objects(place, objects, &map, err);
    return rc == PRG_OK && map ? prg_policy_config_map_read(arena, map, texts, report, ctx, err) : rc;
}
