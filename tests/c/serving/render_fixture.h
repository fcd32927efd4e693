// SPDX-License-Identifier: Apache-2.0
// render_fixture.h: a plan under way, as the rendering tests need it: service m in namespace ns, one container, a
// configuration with the sections every plan needs, and stored objects from short JSON texts.
#pragma once
#include "support/support.h"

#include <string.h>

#include "serving/render.h"

#define FX_NOW "2026-06-01T00:00:00Z"
#define FX_OWNER                                                                                                       \
    "'ownerReferences': [{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', 'name': 'm', 'uid': " \
    "'u-1', 'controller': true, 'blockOwnerDeletion': true}]"
#define FX_FOREIGN                                                                                                     \
    "'ownerReferences': [{'apiVersion': 'apps/v1', 'kind': 'Other', 'name': 'x', 'uid': 'u-9', 'controller': true}]"

struct fx {
    struct prg_arena arena;
    struct prg_serving_config config;
    struct prg_serving_input in;
    struct prg_serving s;
    struct prg_workload w;
    struct {
        struct prg_reader base; // first: the reader's functions cast back
        struct fx *fx;
        const cJSON *objects;
    } reader;
    struct prg_error err;
};

static inline bool fx_is_kind(const struct fx *fx, const cJSON *object, const char *group, const char *kind)
{
    struct prg_arena *arena = (struct prg_arena *)&fx->arena;
    return prg_text_equal(prg_api_group(arena, prg_json_get_text(object, "apiVersion")), group) &&
           prg_text_equal(prg_json_get_text(object, "kind"), kind);
}

static inline const cJSON *fx_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct fx *fx = (const struct fx *)((const char *)reader - offsetof(struct fx, reader));
    const cJSON *object;
    prg_json_each (object, fx->reader.objects) {
        if (fx_is_kind(fx, object, key->group, key->kind) && prg_text_equal(prg_meta_name(object), key->name) &&
            prg_text_equal(prg_meta_namespace(object), key->ns))
            return object;
    }
    return NULL;
}

static inline void fx_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                           prg_reader_visit_fn visit, void *ctx)
{
    const struct fx *fx = (const struct fx *)((const char *)reader - offsetof(struct fx, reader));
    const cJSON *object;
    prg_json_each (object, fx->reader.objects) {
        if (fx_is_kind(fx, object, group, kind) && (!ns || prg_text_equal(prg_meta_namespace(object), ns)))
            visit(object, ctx);
    }
}

// sections: an object of configuration sections laid over the ones that every plan needs; a text stays as it is, null
// takes a section away. NULL: no change.
static inline void fx_configure(struct fx *fx, const char *sections)
{
    cJSON *all =
        json_of(&fx->arena, "{'ingress': {'ingressGateway': 'a/b'}, 'deploy': {'defaultDeploymentMode': 'Knative'},"
                            " 'storageInitializer': {'memoryRequest': '1Gi', 'memoryLimit': '1Gi', 'cpuRequest': '1',"
                            "                        'cpuLimit': '1'}}");
    cJSON *data = prg_json_object(&fx->arena), *configmap = prg_json_object(&fx->arena), *item, *next;
    cJSON *given = sections ? json_of(&fx->arena, sections) : prg_json_object(&fx->arena);
    for (item = given->child; item; item = next) {
        next = item->next;
        const char *key = item->string;
        prg_json_detach(given, item);
        if (prg_json_is_null(item))
            prg_json_remove(all, key);
        else
            prg_json_set(&fx->arena, all, key, item);
    }
    prg_json_each (item, all) {
        const char *text = prg_json_is_string(item) ? prg_json_text(item) : prg_json_print_arena(&fx->arena, item, 0);
        prg_json_set_string(&fx->arena, data, item->string, text);
    }
    prg_json_set(&fx->arena, configmap, "data", data);
    prg_serving_config_parse(&fx->arena, configmap, &fx->config);
}

// predictor: spec.predictor; annotations: of the service and, as they are, of the workload. Both NULL: {}.
static inline struct fx *fx_new(const struct prg_compat *compat, const char *predictor, const char *annotations,
                                const char *objects)
{
    struct fx *fx = test_calloc(1, sizeof(*fx));
    prg_arena_init(&fx->arena);
    struct prg_arena *arena = &fx->arena;
    cJSON *service = json_of(arena, "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService',"
                                    " 'metadata': {'name': 'm', 'namespace': 'ns', 'uid': 'u-1', 'generation': 1},"
                                    " 'spec': {}}");
    prg_json_set(arena, prg_json_get(service, "spec"), "predictor", json_of(arena, predictor ? predictor : "{}"));
    prg_json_set(arena, prg_json_get(service, "metadata"), "annotations",
                 json_of(arena, annotations ? annotations : "{}"));
    fx_configure(fx, NULL);
    fx->reader.base = (struct prg_reader){.get = fx_get, .list = fx_list};
    fx->reader.fx = fx;
    fx->reader.objects = json_of(arena, objects ? objects : "[]");
    fx->in = (struct prg_serving_input){
        .service = service, .store = &fx->reader.base, .config = &fx->config, .compat = compat};
    fx->s = (struct prg_serving){
        .arena = arena,
        .in = &fx->in,
        .compat = compat,
        .config = &fx->config,
        .plan = prg_plan_new(arena),
        .service = service,
        .predictor = prg_json_at(service, "spec", "predictor"),
        .name = "m",
        .ns = "ns",
        .predictor_name = "m-predictor",
        .stopped = prg_render_is_stopped(prg_meta_annotations(service)),
        .now = FX_NOW,
    };
    fx->w = (struct prg_workload){
        .labels = json_of(arena, "{'serving.kserve.io/inferenceservice': 'm'}"),
        .annotations = json_of(arena, annotations ? annotations : "{}"),
        .pod_spec = json_of(arena, "{'containers': [{'name': 'kserve-container', 'image': 'i'}]}"),
    };
    return fx;
}

static inline void fx_free(struct fx *fx)
{
    prg_arena_release(&fx->arena);
    test_free(fx);
}

// The status as it came in, and as the one to be changed.
static inline void fx_set_status(struct fx *fx, const char *status)
{
    fx->s.stored_status = json_of(&fx->arena, status);
    prg_json_set(&fx->arena, fx->s.service, "status", json_of(&fx->arena, status));
}

static inline cJSON *fx_object(const struct fx *fx, const char *kind, const char *name)
{
    cJSON *object;
    prg_json_each (object, fx->s.plan->objects) {
        if (prg_text_equal(prg_json_get_text(object, "kind"), kind) && prg_text_equal(prg_meta_name(object), name))
            return object;
    }
    return NULL;
}

static inline bool fx_deletes(const struct fx *fx, const char *kind, const char *name)
{
    const cJSON *entry;
    prg_json_each (entry, fx->s.plan->deletes) {
        if (prg_text_equal(prg_json_get_text(entry, "kind"), kind) &&
            prg_text_equal(prg_json_get_text(entry, "name"), name))
            return true;
    }
    return false;
}

static inline const cJSON *fx_event(const struct fx *fx, const char *reason)
{
    const cJSON *entry;
    prg_json_each (entry, fx->s.plan->events) {
        if (prg_text_equal(prg_json_get_text(entry, "reason"), reason))
            return entry;
    }
    return NULL;
}

static inline bool fx_traced(const struct fx *fx, const char *decision, const char *outcome)
{
    for (const struct prg_trace_entry *entry = fx->s.plan->trace_first; entry; entry = entry->next)
        if (prg_text_equal(entry->decision, decision) && prg_text_equal(entry->outcome, outcome))
            return true;
    return false;
}

#define assert_json_is(fx, node, text) assert_json_equal((node), json_of(&(fx)->arena, (text)))
