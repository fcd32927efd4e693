// SPDX-License-Identifier: Apache-2.0
// annotations.c: annotations of the pods that the pod webhook acts on (addLoggerAnnotations and its siblings).
#include "serving/annotations.h"

#include "serving/initializer.h"
#include "serving/predictor.h"

#define INTERNAL "internal.serving.kserve.io/"

static void set(struct prg_serving *s, cJSON *annotations, const char *key, const char *value, enum prg_origin origin)
{
    cJSON *node = prg_json_string(s->arena, value);
    prg_json_tag(node, origin);
    prg_json_set(s->arena, annotations, key, node);
}

static void set_list(struct prg_serving *s, cJSON *annotations, const char *key, const cJSON *list)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const cJSON *item;
    if (!prg_json_is_array(list))
        return;
    prg_json_each (item, list) {
        const char *part = prg_json_text(item);
        prg_strbuf_printf(&text, "%s%s", item == list->child ? "" : ",", part ? part : "");
    }
    set(s, annotations, key, text.text, PRG_ORIGIN_PREDICTOR);
}

void prg_annotate_logger(struct prg_serving *s, cJSON *annotations)
{
    const cJSON *logger = prg_json_get(s->predictor, "logger");
    if (!prg_json_is_object(logger))
        return;
    const char *url = prg_json_get_text(logger, "url"), *mode = prg_json_get_text(logger, "mode");
    set(s, annotations, INTERNAL "logger", "true", PRG_ORIGIN_PREDICTOR);
    if (url)
        set(s, annotations, INTERNAL "logger-sink-url", url, PRG_ORIGIN_PREDICTOR);
    set(s, annotations, INTERNAL "logger-mode", mode ? mode : "", PRG_ORIGIN_PREDICTOR);
    set_list(s, annotations, INTERNAL "logger-metadata-headers", prg_json_get(logger, "metadataHeaders"));
    set_list(s, annotations, INTERNAL "logger-metadata-annotations", prg_json_get(logger, "metadataAnnotations"));
}

static void set_number(struct prg_serving *s, cJSON *annotations, const char *key, const cJSON *number)
{
    int64_t value;
    if (prg_json_int64(number, &value))
        set(s, annotations, key, prg_arena_printf(s->arena, "%lld", (long long)value), PRG_ORIGIN_PREDICTOR);
}

void prg_annotate_batcher(struct prg_serving *s, cJSON *annotations)
{
    const cJSON *batcher = prg_json_get(s->predictor, "batcher");
    if (!prg_json_is_object(batcher))
        return;
    set(s, annotations, INTERNAL "batcher", "true", PRG_ORIGIN_PREDICTOR);
    set_number(s, annotations, INTERNAL "batcher-max-batchsize", prg_json_get(batcher, "maxBatchSize"));
    set_number(s, annotations, INTERNAL "batcher-max-latency", prg_json_get(batcher, "maxLatency"));
}

void prg_annotate_storage_spec(struct prg_serving *s, cJSON *annotations)
{
    const cJSON *storage = prg_predictor_storage(s->predictor);
    if (!storage)
        return;
    const cJSON *parameters = prg_json_get(storage, "parameters");
    const char *key = prg_json_get_text(storage, "key"), *path = prg_json_get_text(storage, "path");
    set(s, annotations, PRG_ANNOTATION_STORAGE_SPEC, "true", PRG_ORIGIN_STORAGE);
    if (prg_json_is_object(parameters)) // as Go's encoding/json writes a map
        set(s, annotations, PRG_ANNOTATION_STORAGE_SPEC_PARAM,
            prg_json_print_arena(s->arena, parameters, PRG_JSON_SORTED | PRG_JSON_ESCAPE_HTML), PRG_ORIGIN_STORAGE);
    if (key)
        set(s, annotations, PRG_ANNOTATION_STORAGE_SPEC_KEY, key, PRG_ORIGIN_STORAGE);
    if (path) // only the first slash goes
        set(s, annotations, PRG_ANNOTATION_SOURCE_URI,
            prg_arena_printf(s->arena, "<scheme-placeholder>://%s", path[0] == '/' ? path + 1 : path),
            PRG_ORIGIN_STORAGE);
}

const char *prg_model_config_name(struct prg_arena *arena, const char *service)
{
    return prg_arena_printf(arena, "modelconfig-%s-0", service);
}

void prg_annotate_agent(struct prg_serving *s, cJSON *annotations)
{
    if (!prg_predictor_is_multi_model(s->predictor))
        return;
    set(s, annotations, PRG_ANNOTATION_AGENT, "true", PRG_ORIGIN_RULE);
    set(s, annotations, INTERNAL "configVolumeName", prg_model_config_name(s->arena, s->name), PRG_ORIGIN_RULE);
    set(s, annotations, INTERNAL "configMountPath", "/mnt/configs", PRG_ORIGIN_RULE);
    set(s, annotations, INTERNAL "modelDir", PRG_MODEL_PATH, PRG_ORIGIN_RULE);
}

int prg_annotate_storage_uri(struct prg_serving *s, cJSON *annotations, struct prg_error *err)
{
    const char *uri = prg_predictor_storage_uri(s->predictor);
    const char *container = prg_json_get_text(s->predictor, "storageContainerName");
    if (!uri)
        return PRG_OK; // then storageContainerName has no meaning either, except for storageUris
    const char *taken = prg_json_get_text(annotations, PRG_ANNOTATION_SOURCE_URI);
    if (taken)
        return prg_fail(err, PRG_INVALID,
                        "the model has two sources, storageUri '%s' and '%s' (storage.path or the "
                        "annotation " PRG_ANNOTATION_SOURCE_URI "); give only one",
                        uri, taken);
    set(s, annotations, PRG_ANNOTATION_SOURCE_URI, uri, PRG_ORIGIN_STORAGE);
    if (prg_serving_validate_storage_uri(s, uri, err) != PRG_OK)
        return prg_wrap(err, "StorageURI not supported");
    if (container && *container)
        set(s, annotations, PRG_ANNOTATION_STORAGE_CONTAINER, container, PRG_ORIGIN_STORAGE);
    return PRG_OK;
}

void prg_annotate_confidential(struct prg_serving *s, cJSON *annotations)
{
    const cJSON *confidential = prg_predictor_confidential(s->predictor);
    const char *id = prg_json_get_text(confidential, "resourceId");
    if (!prg_json_get_true(confidential, "enabled"))
        return;
    set(s, annotations, PRG_ANNOTATION_CONFIDENTIAL, "true", PRG_ORIGIN_STORAGE);
    if (id && *id)
        set(s, annotations, PRG_ANNOTATION_CONFIDENTIAL_ID, id, PRG_ORIGIN_STORAGE);
}

void prg_annotate_no_initializer(struct prg_serving *s, cJSON *annotations, const char *runtime)
{
    static const char *const keys[] = {PRG_ANNOTATION_SOURCE_URI, PRG_ANNOTATION_STORAGE_CONTAINER,
                                       PRG_ANNOTATION_STORAGE_SPEC, PRG_ANNOTATION_STORAGE_SPEC_PARAM,
                                       PRG_ANNOTATION_STORAGE_SPEC_KEY};
    const char *uri = prg_json_get_text(annotations, PRG_ANNOTATION_SOURCE_URI);
    if (uri && !prg_initializer_loads(s->config, uri))
        return; // mounted, not loaded
    for (size_t i = 0; i < PRG_COUNT(keys); i++) {
        const char *value = prg_json_get_text(annotations, keys[i]);
        if (!value)
            continue;
        prg_json_remove(annotations, keys[i]);
        prg_plan_trace(s->plan, "storage", NULL, keys[i], "dropped",
                       prg_arena_printf(s->arena, "runtime %s loads models itself (storageHelper.disabled); was '%s'",
                                        runtime, value));
    }
}
