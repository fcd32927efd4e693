// SPDX-License-Identifier: Apache-2.0
// config_map.c: the entries of a ConfigMap as the files of a policy set. What a folder would pass over is an error
// here: every key of such a ConfigMap is meant for us.
#include <stdio.h>
#include <string.h>

#include "object/meta.h"
#include "policy/set.h"
#include "policy/text.h"
#include "json/pointer.h"

// An API server holds ConfigMaps to 1 MiB; a folder store does not.
enum { KEY_BYTES = 253, MAP_BYTES = 1 << 20 };

struct reading {
    struct prg_arena *arena;
    const char *object; // "configmap NS/NAME"
    struct prg_vec *texts;
    struct prg_report *report;
    size_t bytes;
};

static void refuse(struct reading *r, const char *section, const char *key, const char *format, ...) PRG_PRINTF(4, 5);
static void refuse(struct reading *r, const char *section, const char *key, const char *format, ...)
{
    prg_auto_strbuf pointer = PRG_STRBUF_INIT;
    char what[PRG_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    prg_pointer_push(&pointer, section);
    if (key)
        prg_pointer_push(&pointer, key);
    prg_report_add(r->report, "%s: %.300s: %s", r->object, pointer.text, what);
}

// As Kubernetes takes them, but without a dot in front: a mounted file of such a name is not looked at.
static bool is_key(const char *key)
{
    static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t length = strlen(key);
    return length > 0 && length <= KEY_BYTES && key[0] != '.' && strspn(key, bytes) == length;
}

static bool is_known(struct reading *r, const char *key)
{
    static const char *const manifests[] = {"policies.yaml"};
    if (strcmp(key, "policies.yaml") == 0 || (prg_text_has_suffix(key, ".lua") && strcmp(key, "_spec.lua") != 0))
        return true;
    const char *nearest = prg_text_nearest(key, manifests, PRG_COUNT(manifests));
    refuse(r, "data", key, "a set is made of NAME.lua, NAME_spec.lua and policies.yaml%s",
           nearest ? "; did you mean 'policies.yaml'?" : "");
    return false;
}

static const struct prg_policy_text *find(const struct prg_vec *texts, const char *name)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(((const struct prg_policy_text *)texts->items[i])->name, name) == 0)
            return texts->items[i];
    return NULL;
}

static bool is_text(struct reading *r, const cJSON *item)
{
    const char *text = prg_json_text(item);
    size_t length = text ? prg_json_text_length(item) : 0;
    if (!text) {
        refuse(r, "data", item->string, "must be a text, not %s", prg_json_type_name(item));
        return false;
    }
    size_t good = strnlen(text, prg_utf8_prefix(text, length));
    if (good < length)
        refuse(r, "data", item->string, "byte %zu is %s", good + 1, text[good] ? "not UTF-8" : "NUL");
    else if (length > PRG_SOURCE_BYTES)
        refuse(r, "data", item->string, "longer than %zu bytes", PRG_SOURCE_BYTES);
    r->bytes += length;
    return good == length && length <= PRG_SOURCE_BYTES;
}

static void read_entry(struct reading *r, const cJSON *item)
{
    const char *key = item->string;
    if (!is_key(key)) {
        refuse(r, "data", key, "not the name of a file: letters, digits, '-', '_' and '.', none in front");
        return;
    }
    if (!is_known(r, key) || !is_text(r, item))
        return;
    if (r->texts->count == PRG_SET_FILES) {
        refuse(r, "data", key, "a set has at most %d files", PRG_SET_FILES);
        return;
    }
    const struct prg_policy_text *other = find(r->texts, key);
    if (other) {
        refuse(r, "data", key, "there is one of that name already, in %.*s",
               (int)(strlen(other->path) - strlen(key) - 1), other->path);
        return;
    }
    struct prg_policy_text *text = prg_arena_new(r->arena, struct prg_policy_text);
    text->name = prg_arena_strdup(r->arena, key);
    text->path = prg_arena_printf(r->arena, "%s:%s", r->object, key);
    text->length = prg_json_text_length(item);
    text->text = prg_arena_strndup(r->arena, prg_json_text(item), text->length);
    prg_vec_push(r->texts, text);
}

static void refuse_binary(struct reading *r, const cJSON *map)
{
    const cJSON *item, *binary = prg_json_get(map, "binaryData");
    if (binary && !prg_json_is_object(binary) && !prg_json_is_null(binary))
        refuse(r, "binaryData", NULL, "must be an object, not %s", prg_json_type_name(binary));
    prg_json_each (item, prg_json_is_object(binary) ? binary : NULL)
        refuse(r, "binaryData", item->string, "policies are texts and belong under data");
}

static int compare_texts(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct prg_policy_text *)a)->name, ((const struct prg_policy_text *)b)->name);
}

int prg_policy_config_map_read(struct prg_arena *arena, const cJSON *map, struct prg_vec *texts,
                               void (*report)(const char *text, void *ctx), void *ctx, struct prg_error *err)
{
    struct prg_report own = {.visit = report, .ctx = ctx};
    struct reading r = {.arena = arena, .texts = texts, .report = &own};
    const cJSON *item, *data = prg_json_get(map, "data");
    r.object = prg_arena_printf(arena, "configmap %s/%s", prg_meta_namespace(map), prg_meta_name(map));
    refuse_binary(&r, map);
    if (data && !prg_json_is_object(data) && !prg_json_is_null(data))
        refuse(&r, "data", NULL, "must be an object of texts, not %s", prg_json_type_name(data));
    prg_json_each (item, prg_json_is_object(data) ? data : NULL)
        read_entry(&r, item);
    if (r.bytes > MAP_BYTES)
        refuse(&r, "data", NULL, "%zu bytes; a set has at most %d", r.bytes, MAP_BYTES);
    prg_vec_sort(texts, compare_texts, NULL);
    return own.count ? prg_fail(err, PRG_INVALID, "%s", own.first) : PRG_OK;
}
