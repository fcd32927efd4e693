// SPDX-License-Identifier: Apache-2.0
// config.c: KServe's configuration, the ConfigMap inferenceservice-config: each key a JSON document of its own.
//
// A section that cannot be read is remembered with the reason and becomes an error only for a plan that asks for it, as
// in the original, where each reconciler parses the sections it needs. Source: NewInferenceServicesConfig and friends.
#include "serving/config.h"

#include <string.h>

static const char *const builtin_annotations[] = {
    "autoscaling.knative.dev/min-scale",
    "autoscaling.knative.dev/max-scale",
    "internal.serving.kserve.io/storage-initializer-sourceuri",
    "kubectl.kubernetes.io/last-applied-configuration",
    "modelFormat",
};
static const char *const builtin_labels[] = {"networking.knative.dev/visibility"};

static void set_error(struct prg_arena *arena, struct prg_serving_config *config, const char *name, const char *text)
{
    prg_json_remove(config->sections, name);
    prg_json_set(arena, config->errors, name, prg_json_string(arena, text));
}

static void parse_section(struct prg_arena *arena, struct prg_serving_config *config, const cJSON *item)
{
    struct prg_error err = {0};
    char text[PRG_ERROR_LINE];
    cJSON *parsed = NULL;
    const char *source = prg_json_text(item);
    if (!source) {
        set_error(arena, config, item->string,
                  prg_arena_printf(arena, "expected a text that holds JSON, got %s", prg_json_type_name(item)));
        return;
    }
    if (prg_json_parse(arena, source, prg_json_text_length(item), NULL, &parsed, &err) != PRG_OK) {
        set_error(arena, config, item->string,
                  prg_arena_printf(arena, "not JSON: %s", prg_error_text(&err, text, sizeof(text))));
        return;
    }
    if (prg_json_is_null(parsed))
        parsed = prg_json_object(arena); // Go leaves the struct as it was
    if (!prg_json_is_object(parsed)) {
        set_error(arena, config, item->string,
                  prg_arena_printf(arena, "expected a JSON object, got %s", prg_json_type_name(parsed)));
        return;
    }
    prg_json_set(arena, config->sections, item->string, parsed);
}

// The built-in entries, then those of the section. False when the section's list has a wrong type.
static bool disallowed_list(struct prg_arena *arena, const cJSON *section, const char *key, const char *const *builtin,
                            size_t count, cJSON *ret)
{
    const cJSON *list = prg_json_get(section, key), *item;
    for (size_t i = 0; i < count; i++)
        prg_json_append(ret, prg_json_string(arena, builtin[i]));
    if (!list || prg_json_is_null(list))
        return true;
    if (!prg_json_is_array(list))
        return false;
    prg_json_each (item, list) {
        if (!prg_json_is_string(item))
            return false;
        prg_json_append(ret, prg_json_copy(arena, item));
    }
    return true;
}

// Without the section the built-in entries do not count either: the original adds them while it reads the section.
static void read_disallowed(struct prg_arena *arena, struct prg_serving_config *config)
{
    const cJSON *section = prg_json_get(config->sections, "inferenceService");
    cJSON *annotations = prg_json_array(arena), *labels = prg_json_array(arena);
    config->annotation_disallowed = prg_json_array(arena);
    config->label_disallowed = prg_json_array(arena);
    if (!section)
        return;
    if (!disallowed_list(arena, section, "serviceAnnotationDisallowedList", builtin_annotations,
                         PRG_COUNT(builtin_annotations), annotations)) {
        set_error(arena, config, "inferenceService", "/serviceAnnotationDisallowedList: expected a list of texts");
        return;
    }
    if (!disallowed_list(arena, section, "serviceLabelDisallowedList", builtin_labels, PRG_COUNT(builtin_labels),
                         labels)) {
        set_error(arena, config, "inferenceService", "/serviceLabelDisallowedList: expected a list of texts");
        return;
    }
    config->annotation_disallowed = annotations;
    config->label_disallowed = labels;
}

void prg_serving_config_parse(struct prg_arena *arena, const cJSON *configmap, struct prg_serving_config *ret)
{
    const cJSON *data = prg_json_get(configmap, "data"), *item;
    memset(ret, 0, sizeof(*ret));
    ret->present = configmap != NULL;
    ret->sections = prg_json_object(arena);
    ret->errors = prg_json_object(arena);
    if (prg_json_is_object(data))
        prg_json_each (item, data) {
            // Keys such as _example hold documentation, not configuration.
            if (item->string[0] != '_')
                parse_section(arena, ret, item);
        }
    read_disallowed(arena, ret);
}

int prg_serving_config_section(const struct prg_serving_config *config, const char *name, const cJSON **ret,
                               struct prg_error *err)
{
    const char *text = prg_json_get_text(config->errors, name);
    if (text)
        return prg_fail(err, PRG_INVALID, "ConfigMap inferenceservice-config: key '%s': %s", name, text);
    *ret = prg_json_get(config->sections, name);
    return PRG_OK;
}

// An object whose members are those of another: to be given further ones.
static cJSON *shared_members(struct prg_arena *arena, const cJSON *object)
{
    cJSON *ret = prg_json_clone_empty(arena, object);
    const cJSON *member;
    prg_json_each (member, object)
        prg_json_add_shared(ret, member->string, prg_json_reference(arena, member));
    return ret;
}

const cJSON *prg_serving_config_view(struct prg_arena *arena, const struct prg_serving_config *config)
{
    const cJSON *given = prg_json_get(config->sections, "inferenceService");
    if (!given)
        return config->sections; // then both lists are empty, and policies see what the original sees
    cJSON *ret = shared_members(arena, config->sections), *section = shared_members(arena, given);
    prg_json_set(arena, section, "serviceAnnotationDisallowedList",
                 prg_json_reference(arena, config->annotation_disallowed));
    prg_json_set(arena, section, "serviceLabelDisallowedList", prg_json_reference(arena, config->label_disallowed));
    prg_json_set(arena, ret, "inferenceService", section);
    return ret;
}

cJSON *prg_serving_config_to_json(struct prg_arena *arena, const struct prg_serving_config *config)
{
    return prg_json_copy(arena, prg_serving_config_view(arena, config));
}
