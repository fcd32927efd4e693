// SPDX-License-Identifier: Apache-2.0
// plan_fixture.h: whole plans without a store and without Lua: objects from JSON, and deciders in C that answer as the
// shipped policies do. A test may replace single functions of the decider.
#pragma once
#include "support/support.h"

#include <string.h>

#include "kserve_image.h"
#include "kserve_rules.h"
#include "object/meta.h"
#include "serving/context.h"
#include "serving/plan.h"
#include "serving/podspec.h"

#define PX_NOW_NS 1780272000000000000 // 2026-06-01T00:00:00Z

struct px_reader {
    struct prg_reader base; // first: the reader's functions cast back
    struct prg_arena *arena;
    const cJSON *objects; // array
};

static inline bool px_is_kind(struct prg_arena *arena, const cJSON *object, const char *group, const char *kind)
{
    return prg_text_equal(prg_api_group(arena, prg_json_get_text(object, "apiVersion")), group) &&
           prg_text_equal(prg_json_get_text(object, "kind"), kind);
}

static inline const cJSON *px_get(const struct prg_reader *base, const struct prg_key *key)
{
    const struct px_reader *reader = (const struct px_reader *)base;
    const cJSON *object;
    prg_json_each (object, reader->objects) {
        if (px_is_kind(reader->arena, object, key->group, key->kind) &&
            prg_text_equal(prg_meta_name(object), key->name) && prg_text_equal(prg_meta_namespace(object), key->ns))
            return object;
    }
    return NULL;
}

static inline int px_compare(const cJSON *a, const cJSON *b)
{
    int by_ns = strcmp(prg_meta_namespace(a), prg_meta_namespace(b));
    return by_ns ? by_ns : strcmp(prg_meta_name(a), prg_meta_name(b));
}

// By namespace and name, as stores list: each time the least one after the last.
static inline void px_list(const struct prg_reader *base, const char *group, const char *kind, const char *ns,
                           prg_reader_visit_fn visit, void *ctx)
{
    const struct px_reader *reader = (const struct px_reader *)base;
    const cJSON *last = NULL;
    for (;;) {
        const cJSON *object, *next = NULL;
        prg_json_each (object, reader->objects) {
            if (!px_is_kind(reader->arena, object, group, kind) ||
                (ns && !prg_text_equal(prg_meta_namespace(object), ns)))
                continue;
            if ((!last || px_compare(object, last) > 0) && (!next || px_compare(object, next) < 0))
                next = object;
        }
        if (!next)
            return;
        visit(next, ctx);
        last = next;
    }
}

// ---- deciders ----

struct px_decider {
    struct prg_decider base; // first
    struct prg_arena *arena;
    const struct prg_serving_config *config;
    const struct prg_compat *compat;
    unsigned begun, ended;
};

static inline struct prg_policy_source px_source(const char *policy, const char *function)
{
    return (struct prg_policy_source){policy, function, "fixture.c", 1};
}

static inline const char *px_revision(void *ctx)
{
    (void)ctx;
    return "fixture";
}

static inline int px_begin(void *ctx, const struct prg_decision_context *context, struct prg_error *err)
{
    struct px_decider *d = (struct px_decider *)ctx;
    (void)context;
    (void)err;
    d->begun++;
    return PRG_OK;
}

static inline void px_end(void *ctx)
{
    struct px_decider *d = (struct px_decider *)ctx;
    d->ended++;
}

static inline int px_select(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates,
                            size_t count, struct prg_selection *ret, struct prg_error *err)
{
    struct px_decider *d = (struct px_decider *)ctx;
    (void)err;
    rules_select(d->arena, candidates, count, request, ret);
    ret->accept = px_source("runtime_selection", "accept");
    ret->before = px_source("runtime_selection", "before");
    return PRG_OK;
}

static inline int px_keep(void *ctx, const char *key, const char *value, const char *layer, enum prg_keep *ret,
                          const char **ret_reason, struct prg_policy_source *source, struct prg_error *err)
{
    struct px_decider *d = (struct px_decider *)ctx;
    const cJSON *item;
    (void)value;
    (void)layer;
    (void)err;
    *ret = PRG_KEEP;
    *source = px_source("annotation_filter", "keep");
    prg_json_each (item, d->config->annotation_disallowed) {
        if (prg_text_equal(prg_json_text(item), key)) {
            *ret = PRG_DROP;
            *ret_reason = "on the disallowed list";
        }
    }
    return PRG_OK;
}

static inline int px_layers(void *ctx, const char *part, const char *target, const char **ret_layers, size_t *ret_count,
                            size_t cap, struct prg_policy_source *source, struct prg_error *err)
{
    static const char *const layers[] = {"runtime", "service", "predictor"};
    (void)ctx;
    (void)part;
    (void)target;
    (void)cap;
    (void)err;
    for (size_t i = 0; i < PRG_COUNT(layers); i++)
        ret_layers[i] = layers[i];
    *ret_count = PRG_COUNT(layers);
    *source = px_source("label_priority", "layers");
    return PRG_OK;
}

static inline bool px_no(void *ctx)
{
    (void)ctx;
    return false;
}

static inline bool px_no_merge(void *ctx, const char *function)
{
    (void)ctx;
    (void)function;
    return false;
}

static inline int px_image(void *ctx, const char *image, const struct prg_image_request *request, const char **ret,
                           struct prg_policy_source *source, struct prg_error *err)
{
    struct px_decider *d = (struct px_decider *)ctx;
    (void)err;
    *ret = rules_image_tag(d->arena, d->compat, image, request);
    *source = px_source("image", "tag");
    return PRG_OK;
}

static inline int px_topology(void *ctx, const struct prg_topology_request *request, struct prg_topology *ret,
                              const char **ret_refusal, struct prg_policy_source *source, struct prg_error *err)
{
    struct px_decider *d = (struct px_decider *)ctx;
    (void)err;
    *source = px_source("multi_node", "topology");
    if (prg_text_equal(request->backend, "mp"))
        prg_gpu_mp(request->pipeline_parallel, request->tensor_parallel, ret);
    else
        prg_gpu_ray(request->tensor_parallel * request->pipeline_parallel, request->head_requested,
                    request->worker_requested, ret, ret_refusal, d->arena);
    return PRG_OK;
}

static inline void px_decider_init(struct px_decider *d, struct prg_arena *arena,
                                   const struct prg_serving_config *config, const struct prg_compat *compat)
{
    *d = (struct px_decider){
        .base = {.revision = px_revision,
                 .begin = px_begin,
                 .end = px_end,
                 .select = px_select,
                 .keep_annotation = px_keep,
                 .label_layers = px_layers,
                 .has_resolve_label = px_no,
                 .has_container_merge = px_no_merge,
                 .image_tag = px_image,
                 .topology = px_topology,
                 .has_object_patch = px_no},
        .arena = arena,
        .config = config,
        .compat = compat,
    };
    d->base.ctx = d;
}

// ---- a plan ----

struct px {
    struct prg_arena arena;
    struct prg_serving_config config;
    struct px_reader reader;
    struct px_decider decider;
    struct prg_serving_input in;
    struct prg_plan *plan;
    struct prg_error err;
};

// A ConfigMap with the sections that every plan needs, and sections over them (objects; NULL: none).
static inline cJSON *px_config(struct prg_arena *arena, const char *sections)
{
    cJSON *all = json_of(arena, "{'ingress': {'ingressGateway': 'a/b'}, 'deploy': {'defaultDeploymentMode': "
                                "'Standard'}, 'storageInitializer': {'memoryRequest': '100Mi', 'memoryLimit': '1Gi', "
                                "'cpuRequest': '100m', 'cpuLimit': '1'}}");
    cJSON *configmap = prg_json_object(arena), *data = prg_json_ensure_object(arena, configmap, "data"), *item;
    const cJSON *given = sections ? json_of(arena, sections) : NULL;
    prg_json_each (item, given)
        prg_json_set(arena, all, item->string, prg_json_copy(arena, item));
    prg_json_each (item, all)
        prg_json_set_string(arena, data, item->string, prg_json_print_arena(arena, item, 0));
    return configmap;
}

// objects: JSON array of what the store holds (configuration and service are given apart). configmap NULL: absent.
static inline void px_init(struct px *px, const struct prg_compat *compat)
{
    memset(px, 0, sizeof(*px));
    prg_arena_init(&px->arena);
    px->in.compat = compat;
    px->in.now_ns = PX_NOW_NS;
    px->in.seed = 1;
}

static inline void px_release(struct px *px)
{
    prg_arena_release(&px->arena);
}

static inline void px_prepare(struct px *px, const cJSON *service, const cJSON *objects, const cJSON *configmap)
{
    px->reader = (struct px_reader){{.get = px_get, .list = px_list}, &px->arena, objects};
    prg_serving_config_parse(&px->arena, configmap, &px->config);
    if (!px->decider.base.ctx)
        px_decider_init(&px->decider, &px->arena, &px->config, px->in.compat);
    px->in.service = service;
    px->in.store = &px->reader.base;
    px->in.config = &px->config;
    px->plan = prg_plan_new(&px->arena);
}

static inline int px_plan(struct px *px, const cJSON *service, const cJSON *objects, const cJSON *configmap)
{
    px_prepare(px, service, objects, configmap);
    return prg_serving_plan(&px->in, &px->decider.base, px->plan, &px->err);
}

// For single steps: a plan under way for service m in namespace ns with this predictor.
static inline struct prg_serving px_serving(struct px *px, const char *predictor, const char *objects,
                                            const char *sections)
{
    cJSON *service = json_of(&px->arena, "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService',"
                                         " 'metadata': {'name': 'm', 'namespace': 'ns', 'uid': 'u-1'}, 'spec': {}}");
    prg_json_set(&px->arena, prg_json_get(service, "spec"), "predictor", json_of(&px->arena, predictor));
    px_prepare(px, service, json_of(&px->arena, objects ? objects : "[]"), px_config(&px->arena, sections));
    return (struct prg_serving){
        .arena = &px->arena,
        .in = &px->in,
        .decide = &px->decider.base,
        .compat = px->in.compat,
        .config = &px->config,
        .plan = px->plan,
        .service = service,
        .predictor = prg_json_at(service, "spec", "predictor"),
        .name = "m",
        .ns = "ns",
        .predictor_name = "m-predictor",
        .now = "2026-06-01T00:00:00Z",
    };
}

static inline const struct prg_trace_entry *px_traced(const struct prg_plan *plan, const char *subject,
                                                      const char *outcome)
{
    const struct prg_trace_entry *entry = plan->trace_first;
    while (entry && !(prg_text_equal(entry->subject, subject) && prg_text_equal(entry->outcome, outcome)))
        entry = entry->next;
    return entry;
}

static inline const cJSON *px_event(const struct prg_plan *plan, const char *reason)
{
    const cJSON *event;
    prg_json_each (event, plan->events) {
        if (prg_text_equal(prg_json_get_text(event, "reason"), reason))
            return event;
    }
    return NULL;
}

static inline const cJSON *px_condition(const struct prg_plan *plan, const char *type)
{
    const cJSON *condition;
    prg_json_each (condition, prg_json_at(plan->resource, "status", "conditions")) {
        if (prg_text_equal(prg_json_get_text(condition, "type"), type))
            return condition;
    }
    return NULL;
}

static inline const cJSON *px_object(const struct prg_plan *plan, const char *kind, const char *name)
{
    const cJSON *object;
    prg_json_each (object, plan->objects) {
        if (prg_text_equal(prg_json_get_text(object, "kind"), kind) && prg_text_equal(prg_meta_name(object), name))
            return object;
    }
    return NULL;
}
