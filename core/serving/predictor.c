// SPDX-License-Identifier: Apache-2.0
// predictor.c: reading spec.predictor.
#include "serving/predictor.h"

#include <string.h>

// The order of GetImplementations: it decides whose storage counts when a service names two.
static const char *const implementation_fields[] = {"xgboost",    "pytorch",     "triton", "sklearn",
                                                    "tensorflow", "onnx",        "pmml",   "lightgbm",
                                                    "paddle",     "huggingface", "model"};
// The order of setPredictorModelDefaults: only the first one becomes `model`.
static const char *const shorthands[] = {"sklearn", "tensorflow",  "xgboost", "pytorch",  "triton",
                                         "onnx",    "huggingface", "pmml",    "lightgbm", "paddle"};

const char *prg_predictor_shorthand(size_t index)
{
    return index < PRG_COUNT(shorthands) ? shorthands[index] : NULL;
}

cJSON *prg_named_item(const cJSON *list, const char *name)
{
    cJSON *item;
    if (!prg_json_is_array(list))
        return NULL;
    prg_json_each (item, list) {
        const char *text = prg_json_get_text(item, "name");
        if (prg_text_equal(text ? text : "", name))
            return item;
    }
    return NULL;
}

static void add_implementation(struct prg_implementation *ret, size_t cap, size_t *count, const char *field,
                               const cJSON *spec, bool is_custom)
{
    if (*count < cap)
        ret[*count] = (struct prg_implementation){field, spec, is_custom};
    (*count)++;
}

size_t prg_predictor_implementations(const cJSON *predictor, struct prg_implementation *ret, size_t cap)
{
    const cJSON *containers = prg_json_get(predictor, "containers"), *container;
    size_t count = 0;
    for (size_t i = 0; i < PRG_COUNT(implementation_fields); i++) {
        const cJSON *spec = prg_json_get(predictor, implementation_fields[i]);
        if (spec && !prg_json_is_null(spec))
            add_implementation(ret, cap, &count, implementation_fields[i], spec, false);
    }
    if (!prg_json_is_array(containers) || prg_json_count(containers) == 0)
        return count;
    prg_json_each (container, containers) {
        if (prg_text_equal(prg_json_get_text(container, "name"), PRG_CONTAINER_PREDICTOR))
            add_implementation(ret, cap, &count, "containers", containers, true);
    }
    // Without any other sign the first container is taken for the predictor.
    if (count == 0)
        add_implementation(ret, cap, &count, "containers", containers, true);
    return count;
}

bool prg_predictor_implementation(const cJSON *predictor, struct prg_implementation *ret)
{
    return prg_predictor_implementations(predictor, ret, 1) > 0;
}

static const char *custom_storage_uri(const cJSON *containers)
{
    const cJSON *container = prg_named_item(containers, PRG_CONTAINER_PREDICTOR);
    const cJSON *variable = prg_named_item(prg_json_get(container, "env"), "STORAGE_URI");
    if (!variable)
        return NULL;
    const char *value = prg_json_get_text(variable, "value");
    return value ? value : "";
}

const char *prg_predictor_storage_uri(const cJSON *predictor)
{
    struct prg_implementation implementation;
    if (!prg_predictor_implementation(predictor, &implementation))
        return NULL;
    if (implementation.is_custom)
        return custom_storage_uri(implementation.spec);
    return prg_json_get_text(implementation.spec, "storageUri");
}

static const cJSON *implementation_member(const cJSON *predictor, const char *key)
{
    struct prg_implementation implementation;
    if (!prg_predictor_implementation(predictor, &implementation) || implementation.is_custom)
        return NULL;
    const cJSON *member = prg_json_get(implementation.spec, key);
    return prg_json_is_object(member) ? member : NULL;
}

const cJSON *prg_predictor_storage(const cJSON *predictor)
{
    return implementation_member(predictor, "storage");
}

const cJSON *prg_predictor_confidential(const cJSON *predictor)
{
    return implementation_member(predictor, "confidential");
}

bool prg_predictor_is_multi_model(const cJSON *predictor)
{
    const cJSON *containers = prg_json_get(predictor, "containers");
    if (prg_json_count(containers) > 0) {
        // Any container beside the model decides alone, and of these only the first one is looked at.
        const cJSON *env = prg_json_get(prg_json_item(containers, 0), "env"), *variable;
        prg_json_each (variable, env) {
            if (prg_text_equal(prg_json_get_text(variable, "name"), "MULTI_MODEL_SERVER") &&
                prg_text_equal(prg_json_get_text(variable, "value"), "true"))
                return true;
        }
        return false;
    }
    // Hugging Face servers load a model by its id: no storage does not mean many models.
    if (prg_json_is_object(prg_json_get(predictor, "huggingface")) ||
        prg_text_equal(prg_json_text(prg_json_at(predictor, "model", "modelFormat", "name")), "huggingface"))
        return false;
    return !prg_predictor_storage_uri(predictor) && !prg_predictor_storage(predictor) &&
           prg_json_count(prg_json_get(predictor, "storageUris")) == 0;
}
