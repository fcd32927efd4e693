// SPDX-License-Identifier: Apache-2.0
// metadata.c: which annotations pass, and whose label or annotation wins (Predictor.buildObjectMeta).
#include "serving/metadata.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "serving/context.h"

#define OWN_PREFIX "perigee.dev/" // instructions to Perigee itself; never passed on
#define LAYERS_MAX 8

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

const cJSON **prg_members_sorted(struct prg_arena *arena, const cJSON *object, size_t *ret_count)
{
    size_t count = prg_json_is_object(object) ? prg_json_count(object) : 0, i = 0;
    const cJSON **members = prg_arena_array(arena, const cJSON *, count ? count : 1);
    const cJSON *item;
    if (count)
        prg_json_each (item, object)
            members[i++] = item;
    qsort(members, count, sizeof(members[0]), compare_keys);
    *ret_count = count;
    return members;
}

static bool list_has(const cJSON *list, const char *text)
{
    const cJSON *item;
    prg_json_each (item, list) {
        if (prg_text_equal(prg_json_text(item), text))
            return true;
    }
    return false;
}

cJSON *prg_meta_filter(struct prg_arena *arena, const cJSON *map, const cJSON *disallowed)
{
    size_t count;
    const cJSON **members = prg_members_sorted(arena, map, &count);
    cJSON *ret = prg_json_object(arena);
    for (size_t i = 0; i < count; i++)
        if (!list_has(disallowed, members[i]->string))
            prg_json_add(arena, ret, members[i]->string, prg_json_copy(arena, members[i]));
    return ret;
}

static int compare_members(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const cJSON *)a)->string, ((const cJSON *)b)->string);
}

cJSON *prg_meta_union(struct prg_arena *arena, const cJSON *const *layers, size_t count)
{
    struct prg_vec members;
    prg_vec_init(&members);
    for (size_t i = 0; i < count; i++) {
        cJSON *item;
        if (prg_json_is_object(layers[i]))
            prg_json_each (item, layers[i])
                prg_vec_push(&members, item);
    }
    prg_vec_sort(&members, compare_members, NULL); // stable: of one key the highest layer's comes last
    cJSON *merged = prg_json_object(arena);
    for (size_t i = 0; i < members.count; i++) {
        const cJSON *item = members.items[i], *next = i + 1 < members.count ? members.items[i + 1] : NULL;
        if (!next || strcmp(item->string, next->string) != 0)
            prg_json_add(arena, merged, item->string, prg_json_copy(arena, item));
    }
    prg_vec_release(&members);
    return merged;
}

static int keep(struct prg_serving *s, const cJSON *item, const char *layer, bool *ret, struct prg_error *err)
{
    struct prg_policy_source source = {0};
    enum prg_keep answer = PRG_KEEP;
    const char *reason = NULL;
    *ret = false;
    if (prg_text_has_prefix(item->string, OWN_PREFIX)) {
        prg_plan_trace(s->plan, "annotation", NULL, item->string, "dropped",
                       prg_arena_printf(s->arena, "%s: annotations below " OWN_PREFIX " are never passed on", layer));
        return PRG_OK;
    }
    const char *value = prg_json_text(item);
    if (s->decide->keep_annotation(s->decide->ctx, item->string, value ? value : "", layer, &answer, &reason, &source,
                                   err) != PRG_OK)
        return prg_wrap(err, "annotation '%s' (%s)", item->string, layer);
    *ret = answer == PRG_KEEP;
    if (!*ret)
        prg_plan_trace(s->plan, "annotation", &source, item->string, "dropped",
                       prg_arena_printf(s->arena, "%s: %s", layer, reason ? reason : "the policy drops it"));
    return PRG_OK;
}

int prg_serving_filter_annotations(struct prg_serving *s, const cJSON *annotations, const char *layer,
                                   enum prg_origin origin, cJSON **ret, struct prg_error *err)
{
    size_t count;
    const cJSON **members = prg_members_sorted(s->arena, annotations, &count);
    cJSON *kept = prg_json_object(s->arena);
    for (size_t i = 0; i < count; i++) {
        bool passes;
        if (keep(s, members[i], layer, &passes, err) != PRG_OK)
            return err ? err->code : PRG_POLICY;
        if (!passes)
            continue;
        cJSON *value = prg_json_copy(s->arena, members[i]);
        if (prg_json_origin(value) == PRG_ORIGIN_NONE)
            prg_json_tag(value, origin);
        prg_json_add(s->arena, kept, members[i]->string, value);
    }
    *ret = kept;
    return PRG_OK;
}

// ---- whose value wins ----

struct layer {
    const char *name;
    const cJSON *map;
    const cJSON **members; // of map, by key
    size_t count;
};

static int compare_to_key(const void *key, const void *member)
{
    return strcmp(key, (*(const cJSON *const *)member)->string);
}

// What the layer says about key, or NULL.
static const cJSON *layer_get(const struct layer *layer, const char *key)
{
    const cJSON *const *found = bsearch(key, layer->members, layer->count, sizeof(layer->members[0]), compare_to_key);
    return found ? *found : NULL;
}

static int find_layers(struct prg_serving *s, const struct prg_meta_layers *layers, const char *part,
                       const char *target, struct layer ret[LAYERS_MAX + 1], size_t *ret_count,
                       struct prg_policy_source *source, struct prg_error *err)
{
    const char *names[LAYERS_MAX];
    size_t count = 0;
    if (s->decide->label_layers(s->decide->ctx, part, target, names, &count, LAYERS_MAX, source, err) != PRG_OK)
        return prg_wrap(err, "%s of the %s", part, target);
    for (size_t i = 0; i < count; i++) {
        ret[i].name = names[i];
        if (prg_text_equal(names[i], "runtime"))
            ret[i].map = layers->runtime;
        else if (prg_text_equal(names[i], "service"))
            ret[i].map = layers->service;
        else if (prg_text_equal(names[i], "predictor"))
            ret[i].map = layers->predictor;
        else
            return prg_fail(err, PRG_POLICY, "%s of the %s: '%s' is not a layer; use runtime, service, predictor", part,
                            target, names[i]);
    }
    ret[count].name = "fixed";
    ret[count].map = layers->fixed;
    *ret_count = count + 1;
    return PRG_OK;
}

static unsigned layer_origin(const char *name)
{
    if (prg_text_equal(name, "runtime"))
        return PRG_ORIGIN_RUNTIME;
    if (prg_text_equal(name, "service"))
        return PRG_ORIGIN_SERVICE;
    if (prg_text_equal(name, "predictor"))
        return PRG_ORIGIN_PREDICTOR;
    return PRG_ORIGIN_RULE;
}

struct contest {
    struct prg_serving *s;
    const char *part;
    struct layer *layers;
    size_t layer_count;
    const struct prg_policy_source *source; // of the order of layers
    bool is_resolved;                       // the set has a resolve function
    cJSON *ret;
};

// Only where layers disagree. outcome, or NULL: winner wins.
static void trace_contest(struct contest *c, const char *key, const struct prg_label_value *values, size_t count,
                          const struct prg_policy_source *source, const char *outcome, const char *winner)
{
    bool disagree = false;
    prg_auto_strbuf reason = PRG_STRBUF_INIT;
    for (size_t i = 1; i < count; i++)
        disagree |= !prg_text_equal(values[i].value, values[0].value);
    if (!disagree)
        return;
    for (size_t i = 0; i < count; i++)
        prg_strbuf_printf(&reason, "%s%s '%s'", i ? " < " : "", values[i].layer, values[i].value);
    prg_plan_trace(c->s->plan, prg_text_equal(c->part, "labels") ? "label" : "annotation", source,
                   prg_arena_strdup(c->s->arena, key), outcome ? outcome : prg_arena_join(c->s->arena, winner, " wins"),
                   prg_arena_strdup(c->s->arena, reason.text));
}

static int settle(struct contest *c, const char *key, struct prg_error *err)
{
    struct prg_serving *s = c->s;
    struct prg_label_value values[LAYERS_MAX + 1];
    const cJSON *nodes[LAYERS_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < c->layer_count; i++) {
        const cJSON *node = layer_get(&c->layers[i], key);
        if (!node)
            continue;
        const char *text = prg_json_text(node);
        nodes[count] = node;
        values[count++] = (struct prg_label_value){c->layers[i].name, text ? text : ""};
    }
    prg_require(count > 0); // the key comes from one of the layers
    const char *winner = values[count - 1].layer;
    // What is fixed holds the objects together; no policy is asked about it.
    if (c->is_resolved && !prg_text_equal(winner, "fixed")) {
        struct prg_policy_source source = {0};
        const char *answer = NULL;
        bool dropped = false;
        if (s->decide->resolve_label(s->decide->ctx, key, values, count, c->part, &answer, &dropped, &source, err) !=
            PRG_OK)
            return prg_wrap(err, "%s: '%s'", c->part, key);
        if (dropped || answer) {
            trace_contest(c, key, values, count, &source,
                          dropped ? "dropped" : prg_arena_join(s->arena, "'", answer, "' by policy"), NULL);
            if (dropped)
                return PRG_OK;
            cJSON *value = prg_json_string(s->arena, answer);
            prg_json_tag(value, PRG_ORIGIN_LABEL_POLICY);
            prg_json_add(s->arena, c->ret, key, value);
            return PRG_OK;
        }
    }
    trace_contest(c, key, values, count, c->source, NULL, winner);
    cJSON *value = prg_json_copy(s->arena, nodes[count - 1]);
    if (prg_json_origin(value) == PRG_ORIGIN_NONE)
        prg_json_tag(value, layer_origin(winner));
    prg_json_add(s->arena, c->ret, key, value);
    return PRG_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The keys of all layers, each once, sorted.
static const char **all_keys(struct prg_serving *s, const struct layer *layers, size_t layer_count, size_t *ret_count)
{
    size_t total = 0, count = 0, kept = 0;
    for (size_t i = 0; i < layer_count; i++)
        total += layers[i].count;
    const char **keys = prg_arena_array(s->arena, const char *, total + 1);
    for (size_t i = 0; i < layer_count; i++)
        for (size_t j = 0; j < layers[i].count; j++)
            keys[count++] = layers[i].members[j]->string;
    qsort(keys, count, sizeof(keys[0]), compare_texts);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(keys[i], keys[kept - 1]) != 0)
            keys[kept++] = keys[i];
    *ret_count = kept;
    return keys;
}

int prg_serving_union(struct prg_serving *s, const struct prg_meta_layers *layers, const char *part, const char *target,
                      cJSON **ret, struct prg_error *err)
{
    struct layer list[LAYERS_MAX + 1];
    struct prg_policy_source source = {0};
    size_t layer_count = 0, count;
    if (find_layers(s, layers, part, target, list, &layer_count, &source, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    for (size_t i = 0; i < layer_count; i++)
        list[i].members = prg_members_sorted(s->arena, list[i].map, &list[i].count);
    const char **keys = all_keys(s, list, layer_count, &count);
    struct contest c = {.s = s, .part = part, .layers = list, .layer_count = layer_count, .source = &source};
    c.is_resolved = s->decide->has_resolve_label && s->decide->has_resolve_label(s->decide->ctx);
    c.ret = prg_json_object(s->arena);
    for (size_t i = 0; i < count; i++)
        if (settle(&c, keys[i], err) != PRG_OK)
            return err ? err->code : PRG_POLICY;
    *ret = c.ret;
    return PRG_OK;
}
