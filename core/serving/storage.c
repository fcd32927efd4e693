// SPDX-License-Identifier: Apache-2.0
// storage.c: validating storage URIs.
#include "serving/storage.h"

#include <string.h>

#include "object/meta.h"
#include "serving/context.h"
#include "serving/predictor.h"
#include "serving/uriregex.h"

static const char *const prefixes[] = {"gs://",   "s3://",   "pvc://",     "file://", "https://",
                                       "http://", "hdfs://", "webhdfs://", "oci://",  "hf://"};
#define AZURE_HOST "blob.core.windows.net"
#define AZURE_EXPRESSION "https://(.+?).blob.core.windows.net/(.+)"

// IsStorageUriSupported. An entry's prefix goes before its regex.
static int takes_uri(const cJSON *container, const char *uri, bool *ret, struct prg_error *err)
{
    const cJSON *formats = prg_json_at(container, "spec", "supportedUriFormats"), *format;
    size_t index = 0;
    *ret = false;
    prg_json_each (format, formats) {
        const char *prefix = prg_json_get_text(format, "prefix"), *regex = prg_json_get_text(format, "regex");
        if (prefix && *prefix) {
            *ret = prg_text_has_prefix(uri, prefix);
        } else if (regex && *regex) {
            if (prg_uriregex_match(regex, uri, strlen(uri), ret, err) != PRG_OK)
                return prg_wrap(err, "ClusterStorageContainer '%s': /spec/supportedUriFormats/%zu/regex",
                                prg_meta_name(container), index);
        }
        if (*ret)
            return PRG_OK;
        index++;
    }
    return PRG_OK;
}

static bool is_disabled(const cJSON *container)
{
    return prg_json_get_true(container, "disabled"); // beside spec, not in it
}

static const char *workload_type(const cJSON *container)
{
    const char *type = prg_json_text(prg_json_at(container, "spec", "workloadType"));
    return type ? type : "initContainer"; // the default that the CRD gives
}

// The texts are those of the original: they become messages of conditions.
static int named_container(const cJSON *storage_containers, const char *uri, const char *name, const cJSON **ret,
                           struct prg_error *err)
{
    const cJSON *container;
    bool takes;
    prg_json_each (container, storage_containers) {
        if (prg_text_equal(prg_meta_name(container), name))
            break;
    }
    if (!container)
        return prg_fail(err, PRG_NOTFOUND, "ClusterStorageContainer \"%s\" not found", name);
    if (is_disabled(container))
        return prg_fail(err, PRG_INVALID, "ClusterStorageContainer \"%s\" is disabled", name);
    if (!prg_text_equal(workload_type(container), "initContainer"))
        return prg_fail(err, PRG_INVALID,
                        "ClusterStorageContainer \"%s\" has workloadType \"%s\"; explicit selection requires "
                        "\"initContainer\"",
                        name, workload_type(container));
    if (takes_uri(container, uri, &takes, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    if (!takes)
        return prg_fail(err, PRG_INVALID, "ClusterStorageContainer \"%s\" does not support storageUri \"%s\"", name,
                        uri);
    *ret = container;
    return PRG_OK;
}

int prg_storage_container_for(const cJSON *storage_containers, const char *uri, const char *explicit_name,
                              const cJSON **ret, struct prg_error *err)
{
    const cJSON *container;
    if (explicit_name && *explicit_name)
        return named_container(storage_containers, uri, explicit_name, ret, err);
    prg_json_each (container, storage_containers) {
        bool takes;
        if (is_disabled(container) || !prg_text_equal(workload_type(container), "initContainer"))
            continue;
        if (takes_uri(container, uri, &takes, err) != PRG_OK)
            return err ? err->code : PRG_INVALID;
        if (takes) {
            *ret = container;
            return PRG_OK;
        }
    }
    *ret = NULL;
    return PRG_OK;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "://" right after a word character makes a text a URI; anything else is a path.
static bool has_scheme(const char *uri)
{
    for (const char *at = strstr(uri, "://"); at; at = strstr(at + 1, "://"))
        if (at > uri && is_word(at[-1]))
            return true;
    return false;
}

static const char *known_prefix(const char *uri)
{
    for (size_t i = 0; i < PRG_COUNT(prefixes); i++)
        if (prg_text_has_prefix(uri, prefixes[i]))
            return prefixes[i];
    return NULL;
}

static int unsupported(const char *uri, const char *why, struct prg_error *err)
{
    prg_auto_strbuf list = PRG_STRBUF_INIT;
    for (size_t i = 0; i < PRG_COUNT(prefixes); i++)
        prg_strbuf_printf(&list, "%s%s", i ? ", " : "", prefixes[i]);
    // The URI comes last: it may be long, and what does not fit is cut.
    return prg_fail(err, PRG_INVALID,
                    "%s; use one of %s, a local path, or a ClusterStorageContainer that takes it: '%s'", why, list.text,
                    uri);
}

int prg_storage_validate_uri(struct prg_arena *arena, const char *uri, const cJSON *storage_containers,
                             const char **ret_why, struct prg_error *err)
{
    const cJSON *container = NULL;
    const char *why = NULL, *prefix = known_prefix(uri);
    bool matches = false;
    if (prg_storage_container_for(storage_containers, uri, NULL, &container, err) != PRG_OK)
        return prg_wrap(err, "looking for a storage container for '%s'", uri);
    if (container) {
        why = prg_arena_printf(arena, "ClusterStorageContainer %s takes it", prg_meta_name(container));
    } else if (!has_scheme(uri)) {
        why = "a local path";
    } else if (strstr(uri, AZURE_HOST)) {
        // A blob needs a container and a path, whatever its prefix says.
        if (prg_uriregex_match(AZURE_EXPRESSION, uri, strlen(uri), &matches, err) != PRG_OK)
            return err ? err->code : PRG_INVALID;
        if (!matches)
            return unsupported(uri, "an Azure blob is https://ACCOUNT." AZURE_HOST "/CONTAINER/PATH", err);
        why = "an Azure blob";
    } else if (prefix) {
        why = prg_arena_printf(arena, "known prefix %s", prefix);
    } else {
        return unsupported(uri, "its scheme is not known", err);
    }
    if (ret_why)
        *ret_why = why;
    return PRG_OK;
}

// ---- for plans ----

struct listing {
    struct prg_arena *arena;
    cJSON *ret;
};

static void list_one(const cJSON *object, void *ctx)
{
    struct listing *listing = ctx;
    prg_json_append(listing->ret, prg_json_copy(listing->arena, object));
}

cJSON *prg_storage_containers(struct prg_arena *arena, const struct prg_reader *store)
{
    struct listing listing = {arena, prg_json_array(arena)};
    store->list(store, PRG_SERVING_GROUP, "ClusterStorageContainer", NULL, list_one, &listing);
    return listing.ret;
}

int prg_serving_validate_storage_uri(struct prg_serving *s, const char *uri, struct prg_error *err)
{
    const char *why = NULL;
    cJSON *containers = prg_storage_containers(s->arena, s->in->store);
    if (prg_storage_validate_uri(s->arena, uri, containers, &why, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    prg_plan_trace(s->plan, "storage", NULL, uri, "accepted", why);
    return PRG_OK;
}
