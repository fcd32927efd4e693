// SPDX-License-Identifier: Apache-2.0
// render.c: metadata of rendered objects, stored objects, and values of the configuration as the rendering files need
// them.
#include "serving/render.h"

#include <string.h>
#include <strings.h>

#include "object/quantity.h"

// ---- objects ----

void prg_render_set(struct prg_serving *s, cJSON *object, const char *key, cJSON *value, enum prg_origin origin)
{
    prg_json_tag(value, origin);
    prg_json_set(s->arena, object, key, value);
}

void prg_render_set_text(struct prg_serving *s, cJSON *object, const char *key, const char *text,
                         enum prg_origin origin)
{
    if (text)
        prg_render_set(s, object, key, prg_json_string(s->arena, text), origin);
}

void prg_render_set_int(struct prg_serving *s, cJSON *object, const char *key, int64_t value, enum prg_origin origin)
{
    prg_render_set(s, object, key, prg_json_int(s->arena, value), origin);
}

cJSON *prg_render_object(struct prg_serving *s, const char *api_version, const char *kind, const char *name,
                         const cJSON *labels, const cJSON *annotations)
{
    struct prg_arena *arena = s->arena;
    cJSON *object = prg_json_object(arena), *meta = prg_json_object(arena), *owners = prg_json_array(arena);
    prg_json_set_string(arena, object, "apiVersion", api_version);
    prg_json_set_string(arena, object, "kind", kind);
    prg_json_set_string(arena, meta, "name", name);
    prg_json_set_string(arena, meta, "namespace", s->ns);
    prg_json_append(owners, prg_owner_reference(arena, s->service));
    prg_json_set(arena, meta, "ownerReferences", owners);
    prg_json_set(arena, object, "metadata", meta);
    prg_json_tag(object, PRG_ORIGIN_RULE);
    if (prg_json_count(labels) > 0) // these know where they come from
        prg_json_set(arena, meta, "labels", prg_json_clone(arena, labels));
    if (prg_json_count(annotations) > 0)
        prg_json_set(arena, meta, "annotations", prg_json_clone(arena, annotations));
    return object;
}

const cJSON *prg_render_stored(const struct prg_serving *s, const char *group, const char *kind, const char *name)
{
    return prg_reader_get(s->in->store, group, kind, s->ns, name);
}

void prg_render_delete(struct prg_serving *s, const cJSON *stored, const char *reason)
{
    const char *kind = prg_json_get_text(stored, "kind"), *name = prg_meta_name(stored);
    if (prg_meta_is_deleting(stored))
        return;
    prg_plan_add_delete(s->plan, prg_json_get_text(stored, "apiVersion"), kind, prg_meta_namespace(stored), name);
    prg_plan_trace(s->plan, "delete", NULL, prg_arena_printf(s->arena, "%s %s", kind, name), "removed", reason);
}

bool prg_render_is_stopped(const cJSON *annotations)
{
    const char *value = prg_json_get_text(annotations, PRG_ANNOTATION_STOP);
    return value && strcasecmp(value, "true") == 0;
}

int64_t prg_render_int(const cJSON *object, const char *key, int64_t fallback)
{
    int64_t value;
    return prg_json_get_int64(object, key, &value) ? value : fallback;
}

const char *prg_render_text(const cJSON *object, const char *key)
{
    const char *text = prg_json_get_text(object, key);
    return text ? text : "";
}

const cJSON *prg_render_given(const cJSON *object, const char *key)
{
    const cJSON *value = prg_json_get(object, key);
    return prg_json_is_null(value) ? NULL : value;
}

// ---- configuration ----

int prg_render_section(struct prg_serving *s, const char *name, const char *what, const cJSON **ret,
                       struct prg_error *err)
{
    if (prg_serving_config_section(s->config, name, ret, err) != PRG_OK)
        return prg_wrap(err, "unable to parse %s config json", what);
    return PRG_OK;
}

const cJSON *prg_render_config_member(const cJSON *section, const char *name)
{
    const cJSON *member, *found = NULL;
    prg_json_each (member, section) {
        if (strcasecmp(member->string, name) == 0 && !prg_json_is_null(member))
            found = member;
    }
    return found;
}

int prg_render_config_text(const cJSON *section, const char *what, const char *name, const char **ret,
                           struct prg_error *err)
{
    const cJSON *member = prg_render_config_member(section, name);
    if (member && !prg_json_is_string(member)) {
        prg_fail(err, PRG_INVALID, "ConfigMap inferenceservice-config: %s must be a string, not %s", name,
                 prg_json_type_name(member));
        return prg_wrap(err, "unable to parse %s config json", what);
    }
    *ret = member ? prg_json_text(member) : "";
    return PRG_OK;
}

// Source: GetStorageInitializerConfigs. The four sizes must be quantities, so they must be there; the two of the
// modelcar only when they are given.
static int check_initializer_sizes(const cJSON *section, struct prg_error *err)
{
    static const struct {
        const char *name;
        bool optional;
    } sizes[] = {{"memoryRequest", false}, {"memoryLimit", false}, {"cpuRequest", false},
                 {"cpuLimit", false},      {"cpuModelcar", true},  {"memoryModelcar", true}};
    for (size_t i = 0; i < PRG_COUNT(sizes); i++) {
        const char *text = "";
        struct prg_quantity quantity;
        if (prg_render_config_text(section, "storageInitializer", sizes[i].name, &text, err) != PRG_OK)
            return PRG_INVALID;
        if (!*text && sizes[i].optional)
            continue;
        if (!*text)
            return prg_fail(err, PRG_INVALID,
                            "ConfigMap inferenceservice-config: /data/storageInitializer has no %s; give a quantity",
                            sizes[i].name);
        if (prg_quantity_parse(text, strlen(text), &quantity, err) != PRG_OK)
            return prg_wrap(err, "ConfigMap inferenceservice-config: /data/storageInitializer, %s", sizes[i].name);
    }
    return PRG_OK;
}

int prg_render_check_config(struct prg_serving *s, struct prg_error *err)
{
    const cJSON *section = NULL;
    if (!s->config->present) {
        prg_fail(err, PRG_NOTFOUND, "configmaps \"inferenceservice-config\" not found");
        return prg_wrap(err, "failed to get InferenceService ConfigMap");
    }
    if (prg_render_section(s, "storageInitializer", "storageInitializer", &section, err) != PRG_OK ||
        check_initializer_sizes(section, err) != PRG_OK)
        return prg_wrap(err, "failed to get StorageInitializer config");
    return PRG_OK;
}
