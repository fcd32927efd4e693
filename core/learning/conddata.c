// SPDX-License-Identifier: Apache-2.0
// conddata.c: reading and re-writing the data of conditions. Source: IncrementalCondData and runtime.Model of Sedna's
// Global Manager, which decodes a report and encodes it again, so that only known fields survive.
#include "learning/conddata.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "learning/status.h"

const cJSON *prg_field(const cJSON *object, const char *name)
{
    const cJSON *item, *found = NULL;
    if (!prg_json_is_object(object))
        return NULL;
    prg_json_each (item, object)
        if (strcasecmp(item->string, name) == 0 && !prg_json_is_null(item))
            found = item;
    return found;
}

const char *prg_field_text(const cJSON *object, const char *name)
{
    return prg_json_text(prg_field(object, name));
}

cJSON *prg_conddata_parse(struct prg_arena *arena, const char *text)
{
    struct prg_error ignored = {0};
    cJSON *data = NULL;
    if (!text || !*text || prg_json_parse(arena, text, strlen(text), NULL, &data, &ignored) != PRG_OK)
        return NULL;
    return prg_json_is_object(data) ? data : NULL;
}

const cJSON *prg_conddata_latest(struct prg_arena *arena, const cJSON *job, const char *stage, const char *type,
                                 const char *part)
{
    const cJSON *node = prg_job_condition_last(job), *found = NULL;
    for (; node && !found; node = prg_job_condition_before(node)) {
        struct prg_job_condition condition = prg_job_condition_of(node);
        if (condition.data && strcmp(condition.stage, stage) == 0 && strcmp(condition.type, type) == 0)
            found = prg_field(prg_conddata_parse(arena, condition.data), part);
    }
    return found;
}

cJSON *prg_conddata_model_urls(struct prg_arena *arena, const cJSON *part)
{
    cJSON *urls = prg_json_array(arena);
    const cJSON *model = prg_field(part, "model"), *models = prg_field(part, "models"), *item;
    if (prg_json_is_object(model)) {
        const char *url = prg_field_text(model, "url");
        prg_json_append(urls, prg_json_string(arena, url ? url : ""));
        return urls;
    }
    prg_json_each (item, prg_json_is_array(models) ? models : NULL) {
        const char *url = prg_field_text(item, "url");
        prg_json_append(urls, prg_json_string(arena, url ? url : ""));
    }
    return urls;
}

// ---- writing anew ----

struct normalising {
    struct prg_arena *arena;
    struct prg_error *err;
};

static int wrong_type(struct normalising *n, const char *pointer, const cJSON *node, const char *wanted)
{
    return prg_fail(n->err, PRG_INVALID, "%s: must be %s, not %s", pointer, wanted, prg_json_type_name(node));
}

static const char *below(struct normalising *n, const char *pointer, const char *name)
{
    return prg_arena_printf(n->arena, "%s/%s", pointer, name);
}

enum text_presence { TEXT_ALWAYS, TEXT_UNLESS_EMPTY };

static int copy_text(struct normalising *n, const cJSON *from, const char *pointer, const char *name,
                     enum text_presence presence, cJSON *to)
{
    const cJSON *node = prg_field(from, name);
    if (node && !prg_json_is_string(node))
        return wrong_type(n, below(n, pointer, name), node, "a text");
    size_t length = node ? prg_json_text_length(node) : 0;
    if (node && strlen(prg_json_text(node)) != length) // a path would end there, or a URL be none
        return prg_fail(n->err, PRG_INVALID, "%s: holds a NUL character", below(n, pointer, name));
    if (length || presence == TEXT_ALWAYS)
        prg_json_add(n->arena, to, name, prg_json_stringn(n->arena, node ? prg_json_text(node) : "", length));
    return PRG_OK;
}

static int copy_texts(struct normalising *n, const cJSON *from, const char *pointer, const char *name,
                      enum text_presence presence, cJSON *to)
{
    const cJSON *node = prg_field(from, name), *item;
    if (node && !prg_json_is_array(node))
        return wrong_type(n, below(n, pointer, name), node, "a list of texts");
    if (!node && presence == TEXT_ALWAYS)
        prg_json_add(n->arena, to, name, prg_json_null(n->arena));
    if (!node || (presence == TEXT_UNLESS_EMPTY && !prg_json_count(node)))
        return PRG_OK;
    cJSON *texts = prg_json_array(n->arena);
    prg_json_each (item, node) {
        if (!prg_json_is_string(item) && !prg_json_is_null(item))
            return wrong_type(n, below(n, pointer, name), item, "a list of texts");
        prg_json_append(texts, prg_json_is_null(item)
                                   ? prg_json_string(n->arena, "")
                                   : prg_json_stringn(n->arena, prg_json_text(item), prg_json_text_length(item)));
    }
    prg_json_add(n->arena, to, name, texts);
    return PRG_OK;
}

static int copy_int(struct normalising *n, const cJSON *from, const char *pointer, const char *name, cJSON *to)
{
    const cJSON *node = prg_field(from, name);
    const char *text = prg_json_number_text(node);
    int64_t value;
    if (!node)
        return PRG_OK;
    if (!text || strpbrk(text, ".eE") || !prg_json_int64(node, &value))
        return wrong_type(n, below(n, pointer, name), node, "a whole number");
    if (value)
        prg_json_add(n->arena, to, name, prg_json_int(n->arena, value));
    return PRG_OK;
}

// A number as Go's float32 prints it: the shortest text that reads back the same.
static int float32_node(struct normalising *n, const char *pointer, const cJSON *node, cJSON **ret)
{
    const char *text = prg_json_number_text(node);
    float value = text ? strtof(text, NULL) : 0;
    char buffer[40];
    if (!text)
        return wrong_type(n, pointer, node, "a number");
    if (!isfinite(value))
        return prg_fail(n->err, PRG_INVALID, "%s: %s is beyond the range of a float", pointer, text);
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(buffer, sizeof(buffer), "%.*g", digits, (double)value);
        if (!(strtof(buffer, NULL) < value) && !(strtof(buffer, NULL) > value))
            break;
    }
    *ret = prg_json_double(n->arena, strtod(buffer, NULL));
    return PRG_OK;
}

static int compare_names(const void *a, const void *b)
{
    const cJSON *const *x = a, *const *y = b;
    return strcmp((*x)->string, (*y)->string);
}

// Members of a Go map: printed by key.
static const cJSON **sorted_members(struct normalising *n, const cJSON *object)
{
    const cJSON **members = prg_arena_array(n->arena, const cJSON *, prg_json_count(object) + 1), *item;
    size_t count = 0;
    prg_json_each (item, object)
        members[count++] = item;
    qsort(members, count, sizeof(*members), compare_names);
    return members;
}

// Any value; numbers pass through a double. Depth is bounded by the reader.
static int any_node(struct normalising *n, const char *pointer, const cJSON *node, cJSON **ret)
{
    const cJSON *item;
    if (prg_json_is_number(node)) {
        double value = prg_json_as_double(node);
        if (!isfinite(value))
            return prg_fail(n->err, PRG_INVALID, "%s: %s is beyond the range of a float", pointer,
                            prg_json_number_text(node));
        *ret = prg_json_double(n->arena, value);
    } else if (prg_json_is_object(node)) {
        cJSON *object = prg_json_object(n->arena), *value = NULL;
        for (const cJSON **member = sorted_members(n, node); *member; member++) {
            if (any_node(n, below(n, pointer, (*member)->string), *member, &value) != PRG_OK)
                return PRG_INVALID;
            prg_json_add(n->arena, object, (*member)->string, value);
        }
        *ret = object;
    } else if (prg_json_is_array(node)) {
        cJSON *list = prg_json_array(n->arena), *value = NULL;
        prg_json_each (item, node) {
            if (any_node(n, pointer, item, &value) != PRG_OK)
                return PRG_INVALID;
            prg_json_append(list, value);
        }
        *ret = list;
    } else {
        *ret = prg_json_copy(n->arena, node);
    }
    return PRG_OK;
}

static int copy_metrics(struct normalising *n, const cJSON *model, const char *pointer, cJSON *to)
{
    const cJSON *node = prg_field(model, "metrics");
    cJSON *metrics = NULL;
    if (!node)
        return PRG_OK;
    if (!prg_json_is_object(node))
        return wrong_type(n, below(n, pointer, "metrics"), node, "an object");
    if (any_node(n, below(n, pointer, "metrics"), node, &metrics) != PRG_OK)
        return PRG_INVALID;
    if (prg_json_count(metrics))
        prg_json_add(n->arena, to, "metrics", metrics);
    return PRG_OK;
}

static int copy_history_metric(struct normalising *n, const cJSON *model, const char *pointer, cJSON *to)
{
    const cJSON *node = prg_field(model, "history_metric");
    cJSON *value = NULL;
    if (!node)
        return PRG_OK;
    if (float32_node(n, below(n, pointer, "history_metric"), node, &value) != PRG_OK)
        return PRG_INVALID;
    if (fpclassify(prg_json_as_double(value)) != FP_ZERO)
        prg_json_add(n->arena, to, "history_metric", value);
    return PRG_OK;
}

// A map of maps of float32.
static int copy_current_metric(struct normalising *n, const cJSON *model, const char *pointer, cJSON *to)
{
    const cJSON *node = prg_field(model, "current_metric");
    const char *where = below(n, pointer, "current_metric");
    cJSON *devices = prg_json_object(n->arena);
    if (!node)
        return PRG_OK;
    if (!prg_json_is_object(node))
        return wrong_type(n, where, node, "an object");
    for (const cJSON **device = sorted_members(n, node); *device; device++) {
        cJSON *metrics = prg_json_object(n->arena), *value = NULL;
        if (prg_json_is_null(*device)) {
            prg_json_add(n->arena, devices, (*device)->string, prg_json_null(n->arena));
            continue;
        }
        if (!prg_json_is_object(*device))
            return wrong_type(n, below(n, where, (*device)->string), *device, "an object of numbers");
        for (const cJSON **metric = sorted_members(n, *device); *metric; metric++) {
            value = prg_json_int(n->arena, 0);
            if (!prg_json_is_null(*metric) &&
                float32_node(n, below(n, where, (*device)->string), *metric, &value) != PRG_OK)
                return PRG_INVALID;
            prg_json_add(n->arena, metrics, (*metric)->string, value);
        }
        prg_json_add(n->arena, devices, (*device)->string, metrics);
    }
    if (prg_json_count(devices))
        prg_json_add(n->arena, to, "current_metric", devices);
    return PRG_OK;
}

static int model_node(struct normalising *n, const char *pointer, const cJSON *model, cJSON **ret)
{
    cJSON *to = prg_json_object(n->arena);
    if (!prg_json_is_object(model) && !prg_json_is_null(model))
        return wrong_type(n, pointer, model, "a model, an object");
    if (copy_text(n, model, pointer, "format", TEXT_ALWAYS, to) != PRG_OK ||
        copy_text(n, model, pointer, "url", TEXT_ALWAYS, to) != PRG_OK ||
        copy_texts(n, model, pointer, "device_soc_versions", TEXT_UNLESS_EMPTY, to) != PRG_OK ||
        copy_metrics(n, model, pointer, to) != PRG_OK || copy_history_metric(n, model, pointer, to) != PRG_OK ||
        copy_current_metric(n, model, pointer, to) != PRG_OK ||
        copy_texts(n, model, pointer, "classes", TEXT_ALWAYS, to) != PRG_OK ||
        copy_int(n, model, pointer, "number_of_labeled_unseen_sample", to) != PRG_OK ||
        copy_int(n, model, pointer, "number_of_model", to) != PRG_OK ||
        copy_int(n, model, pointer, "number_of_unseen_sample", to) != PRG_OK)
        return PRG_INVALID;
    *ret = to;
    return PRG_OK;
}

static int copy_models(struct normalising *n, const cJSON *part, const char *pointer, cJSON *to)
{
    const cJSON *model = prg_field(part, "model"), *models = prg_field(part, "models"), *item;
    cJSON *list = prg_json_array(n->arena), *value = NULL;
    size_t index = 0;
    if (model) {
        if (model_node(n, below(n, pointer, "model"), model, &value) != PRG_OK)
            return PRG_INVALID;
        prg_json_add(n->arena, to, "model", value);
    }
    if (models && !prg_json_is_array(models))
        return wrong_type(n, below(n, pointer, "models"), models, "a list of models");
    prg_json_each (item, models) {
        if (model_node(n, prg_arena_printf(n->arena, "%s/models/%zu", pointer, index++), item, &value) != PRG_OK)
            return PRG_INVALID;
        prg_json_append(list, value);
    }
    if (index)
        prg_json_add(n->arena, to, "models", list);
    return PRG_OK;
}

int prg_conddata_normalise(struct prg_arena *arena, const cJSON *content, cJSON **ret, struct prg_error *err)
{
    static const char *const parts[] = {"input", "output"};
    static const char *const texts[] = {"dataURL", "dataIndexURL", "outputDir"};
    struct normalising n = {arena, err};
    cJSON *data = prg_json_object(arena);
    for (size_t i = 0; i < PRG_COUNT(parts); i++) {
        const cJSON *part = prg_field(content, parts[i]);
        const char *pointer = below(&n, "", parts[i]);
        cJSON *to = prg_json_object(arena);
        if (!part)
            continue;
        if (!prg_json_is_object(part))
            return wrong_type(&n, pointer, part, "an object");
        if (copy_models(&n, part, pointer, to) != PRG_OK)
            return PRG_INVALID;
        for (size_t k = 0; i == 0 && k < PRG_COUNT(texts); k++)
            if (copy_text(&n, part, pointer, texts[k], TEXT_UNLESS_EMPTY, to) != PRG_OK)
                return PRG_INVALID;
        prg_json_add(arena, data, parts[i], to);
    }
    *ret = data;
    return PRG_OK;
}
