// SPDX-License-Identifier: Apache-2.0
// natives.c: planner functions for policy authors: perigee.podspec, .placeholders, .image, .gpu, .storage, .meta,
// .runtimes. Each one reads its arguments strictly, calls the function that the planner calls, and never touches its
// inputs.
//
// The last argument of the functions that have two answers is an options table {compat = "kserve" | "fixed" |
// perigee.compat}; without it they answer as "fixed". A refusal that is an answer (GPUs that do not suffice) is nil and
// a text in Lua: PRG_CONFLICT here.
#include "stdlib/natives.h"

#include <string.h>

#include "policy/policy.h"
#include "serving/candidates.h"
#include "serving/metadata.h"
#include "serving/podspec.h"
#include "serving/storage.h"

// ---- arguments ----

static const cJSON *arg(const cJSON *const *args, size_t count, size_t index)
{
    const cJSON *node = index < count ? args[index] : NULL;
    return prg_json_is_null(node) ? NULL : node;
}

static int wrong(size_t index, const char *name, const char *wanted, const cJSON *node, struct prg_error *err)
{
    return prg_fail(err, PRG_INVALID, "argument %zu (%s): %s is needed, not %s", index + 1, name, wanted,
                    prg_json_type_name(node));
}

enum need { OPTIONAL, REQUIRED };

static int object_arg(const cJSON *const *args, size_t count, size_t index, const char *name, enum need need,
                      const cJSON **ret, struct prg_error *err)
{
    const cJSON *node = arg(args, count, index);
    if (node ? !prg_json_is_object(node) : need == REQUIRED)
        return wrong(index, name, "an object", node, err);
    *ret = node;
    return PRG_OK;
}

// An empty table of Lua is an object; as a list it is empty all the same.
static int list_arg(const cJSON *const *args, size_t count, size_t index, const char *name, const cJSON **ret,
                    struct prg_error *err)
{
    const cJSON *node = arg(args, count, index);
    if (node && !prg_json_is_array(node) && !(prg_json_is_object(node) && !node->child))
        return wrong(index, name, "a list", node, err);
    *ret = prg_json_is_array(node) ? node : NULL;
    return PRG_OK;
}

static int text_arg(const cJSON *const *args, size_t count, size_t index, const char *name, const char **ret,
                    struct prg_error *err)
{
    const cJSON *node = arg(args, count, index);
    if (!prg_json_is_string(node))
        return wrong(index, name, "a text", node, err);
    if (strlen(prg_json_text(node)) != prg_json_text_length(node))
        return prg_fail(err, PRG_INVALID, "argument %zu (%s): the text holds a NUL byte", index + 1, name);
    *ret = prg_json_text(node);
    return PRG_OK;
}

static bool is_option(const char *name)
{
    static const char *const names[] = {"compat", "multi_model", "multi_node", "namespace"};
    for (size_t i = 0; i < PRG_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

// The compat of an options table at index into storage; *ret points there or at a fixed table.
static int compat_arg(const cJSON *const *args, size_t count, size_t index, struct prg_compat *storage,
                      const struct prg_compat **ret, struct prg_error *err)
{
    const cJSON *options, *flag, *compat;
    *ret = &prg_compat_fixed;
    if (object_arg(args, count, index, "options", OPTIONAL, &options, err) != PRG_OK)
        return err->code;
    compat = prg_json_get(options, "compat");
    prg_json_each (flag, options) {
        if (!is_option(flag->string))
            return prg_fail(err, PRG_INVALID, "options: unknown option '%s'", flag->string);
    }
    if (!compat)
        return PRG_OK;
    if (prg_json_is_object(compat)) {
        for (int i = 0; i < PRG_COMPAT_COUNT; i++)
            storage->mended[i] = prg_json_get_true(compat, prg_compat_flag_name((enum prg_compat_flag)i));
        *ret = storage;
        return PRG_OK;
    }
    *ret = prg_json_text(compat) ? prg_compat_by_name(prg_json_text(compat)) : NULL;
    return *ret ? PRG_OK : prg_fail(err, PRG_INVALID, "options: compat is \"kserve\", \"fixed\" or perigee.compat");
}

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_rc = (call);                                                                                           \
        if (try_rc != PRG_OK)                                                                                          \
            return try_rc;                                                                                             \
    } while (0)

// ---- perigee.podspec ----

// merge_container(runtime, service, options?) -> container
static int podspec_merge_container(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                                   struct prg_error *err)
{
    struct prg_compat storage;
    struct prg_merge_options options = {0};
    const cJSON *runtime, *service;
    TRY(object_arg(args, count, 0, "runtime", REQUIRED, &runtime, err));
    TRY(object_arg(args, count, 1, "service", REQUIRED, &service, err));
    TRY(compat_arg(args, count, 2, &storage, &options.compat, err));
    return prg_podspec_merge_container(arena, &options, runtime, service, ret, err);
}

// merge(runtime_spec, service_container, service_spec, target, options?) -> {container, podSpec, index}
static int podspec_merge(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                         struct prg_error *err)
{
    struct prg_compat storage;
    struct prg_merge_options options = {0};
    struct prg_merged_specs merged;
    const cJSON *runtime, *container, *service;
    const char *target;
    TRY(object_arg(args, count, 0, "runtime_spec", REQUIRED, &runtime, err));
    TRY(object_arg(args, count, 1, "service_container", OPTIONAL, &container, err));
    TRY(object_arg(args, count, 2, "service_spec", OPTIONAL, &service, err));
    TRY(text_arg(args, count, 3, "target", &target, err));
    TRY(compat_arg(args, count, 4, &storage, &options.compat, err));
    TRY(prg_podspec_merge_specs(arena, &options, prg_json_get(runtime, "containers"), container, target, runtime,
                                service, &merged, err));
    *ret = prg_json_object(arena);
    prg_json_set(arena, *ret, "container", merged.container);
    prg_json_set(arena, *ret, "podSpec", merged.pod_spec);
    prg_json_set_int(arena, *ret, "index", (int64_t)merged.index);
    return PRG_OK;
}

// ---- perigee.placeholders ----

// replace(container, metadata, options?) -> container
static int placeholders_replace(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                                struct prg_error *err)
{
    struct prg_compat storage;
    const struct prg_compat *compat;
    const cJSON *container, *metadata;
    TRY(object_arg(args, count, 0, "container", REQUIRED, &container, err));
    TRY(object_arg(args, count, 1, "metadata", REQUIRED, &metadata, err));
    TRY(compat_arg(args, count, 2, &storage, &compat, err));
    return prg_placeholders_replace(arena, container, metadata, !prg_mended(compat, PRG_COMPAT_placeholder_text), ret,
                                    err);
}

// ---- perigee.gpu ----

static cJSON *topology_to_json(struct prg_arena *arena, const struct prg_topology *topology)
{
    cJSON *ret = prg_json_object(arena);
    prg_json_set_int(arena, ret, "nodes", topology->nodes);
    prg_json_set_int(arena, ret, "head_gpus", topology->head_gpus);
    prg_json_set_int(arena, ret, "worker_gpus", topology->worker_gpus);
    return ret;
}

// The sizes of a topology request: {tensor_parallel, pipeline_parallel, head = {requested}, worker = {requested}}, as
// the policy gets it.
static int request_int(const char *path, const cJSON *node, int64_t *ret, struct prg_error *err)
{
    if (!prg_json_int64(node, ret))
        return prg_fail(err, PRG_INVALID, "request: %s: a whole number is needed, not %s", path,
                        prg_json_type_name(node));
    // Sums and products of two such numbers stay within int64.
    if (*ret > INT32_MAX || *ret < INT32_MIN)
        return prg_fail(err, PRG_INVALID, "request: %s: %lld is out of range", path, (long long)*ret);
    return PRG_OK;
}

static int parallel_sizes(const cJSON *request, int64_t *ret_tensor, int64_t *ret_pipeline, struct prg_error *err)
{
    TRY(request_int("tensor_parallel", prg_json_get(request, "tensor_parallel"), ret_tensor, err));
    return request_int("pipeline_parallel", prg_json_get(request, "pipeline_parallel"), ret_pipeline, err);
}

// ray(request) -> {nodes, head_gpus, worker_gpus}, or nil and why the GPUs do not suffice
static int gpu_ray(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret, struct prg_error *err)
{
    int64_t tensor, pipeline, head, worker;
    struct prg_topology topology;
    const char *refusal = NULL;
    const cJSON *request;
    TRY(object_arg(args, count, 0, "request", REQUIRED, &request, err));
    TRY(parallel_sizes(request, &tensor, &pipeline, err));
    TRY(request_int("head.requested", prg_json_at(request, "head", "requested"), &head, err));
    TRY(request_int("worker.requested", prg_json_at(request, "worker", "requested"), &worker, err));
    prg_gpu_ray(tensor * pipeline, head, worker, &topology, &refusal, arena);
    if (refusal)
        return prg_fail(err, PRG_CONFLICT, "%s", refusal);
    *ret = topology_to_json(arena, &topology);
    return PRG_OK;
}

// mp(request) -> {nodes, head_gpus, worker_gpus}
static int gpu_mp(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret, struct prg_error *err)
{
    int64_t pipeline, tensor;
    struct prg_topology topology;
    const cJSON *request;
    TRY(object_arg(args, count, 0, "request", REQUIRED, &request, err));
    TRY(parallel_sizes(request, &tensor, &pipeline, err));
    prg_gpu_mp(pipeline, tensor, &topology);
    *ret = topology_to_json(arena, &topology);
    return PRG_OK;
}

// requested(resources, custom_types?, options?) -> {resource, count} or nil
static int gpu_requested(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                         struct prg_error *err)
{
    struct prg_compat storage;
    const struct prg_compat *compat;
    const cJSON *resources, *types;
    int64_t requested = 0;
    TRY(object_arg(args, count, 0, "resources", OPTIONAL, &resources, err));
    TRY(list_arg(args, count, 1, "custom_types", &types, err));
    TRY(compat_arg(args, count, 2, &storage, &compat, err));
    const char *resource = prg_gpu_resource(resources, types, compat, &requested);
    if (!resource) {
        *ret = NULL;
        return PRG_OK;
    }
    *ret = prg_json_object(arena);
    prg_json_set_string(arena, *ret, "resource", resource);
    prg_json_set_int(arena, *ret, "count", requested);
    return PRG_OK;
}

// ---- perigee.runtimes ----

static cJSON *candidate_to_json(struct prg_arena *arena, const struct prg_candidate *candidate)
{
    cJSON *ret = prg_json_object(arena), *match;
    prg_json_set_string(arena, ret, "name", candidate->name);
    prg_json_set_string(arena, ret, "scope", candidate->is_cluster ? "cluster" : "namespace");
    prg_json_set_string(arena, ret, "created", candidate->created);
    prg_json_set_int(arena, ret, "protocol", candidate->protocol);
    prg_json_set(arena, ret, "object", prg_json_copy(arena, candidate->object));
    const cJSON *spec = prg_json_get(candidate->object, "spec");
    prg_json_set(arena, ret, "spec", spec ? prg_json_copy(arena, spec) : prg_json_object(arena));
    if (!candidate->match.present)
        return ret;
    match = prg_json_object(arena);
    prg_json_set_string(arena, match, "name", candidate->match.name);
    prg_json_set_string(arena, match, "version", candidate->match.version);
    prg_json_set_bool(arena, match, "autoSelect", candidate->match.auto_select);
    if (candidate->match.has_priority)
        prg_json_set_int(arena, match, "priority", candidate->match.priority);
    prg_json_set(arena, ret, "match", match);
    return ret;
}

static cJSON *request_to_json(struct prg_arena *arena, const cJSON *model, const struct prg_runtime_request *request)
{
    cJSON *ret = prg_json_object(arena), *format = prg_json_ensure_object(arena, ret, "format");
    prg_json_set_string(arena, format, "name", request->format_name);
    prg_json_set_string(arena, format, "version", request->format_version);
    prg_json_set(arena, ret, "model", prg_json_copy(arena, model));
    prg_json_set_string(arena, ret, "protocol", request->protocol);
    prg_json_set_bool(arena, ret, "protocol_given", request->protocol_given);
    prg_json_set_bool(arena, ret, "named", false); // candidates are for choosing among them
    prg_json_set_bool(arena, ret, "multi_model", request->multi_model);
    prg_json_set_bool(arena, ret, "multi_node", request->multi_node);
    return ret;
}

// candidates(runtimes, cluster_runtimes, model, options?) -> {request, candidates}, as the policy runtime_selection
// gets them. options: compat, multi_model, multi_node, namespace (of the runtimes that count).
static int runtimes_candidates(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                               struct prg_error *err)
{
    struct prg_compat storage;
    const struct prg_compat *compat;
    const cJSON *runtimes, *cluster_runtimes, *model, *options = arg(args, count, 3);
    struct prg_runtime_request request;
    struct prg_candidate *candidates;
    TRY(list_arg(args, count, 0, "runtimes", &runtimes, err));
    TRY(list_arg(args, count, 1, "cluster_runtimes", &cluster_runtimes, err));
    TRY(object_arg(args, count, 2, "model", REQUIRED, &model, err));
    TRY(compat_arg(args, count, 3, &storage, &compat, err));
    prg_candidates_request(NULL, NULL, model, &request);
    request.multi_model = prg_json_get_true(options, "multi_model");
    request.multi_node = prg_json_get_true(options, "multi_node");
    size_t found = prg_candidates_collect(arena, runtimes, cluster_runtimes, prg_json_get_text(options, "namespace"),
                                          &request, compat, &candidates);
    // A model that names a runtime makes autoSelect irrelevant, nothing else (RuntimeSupportsModel).
    for (size_t i = 0; request.named && i < found; i++)
        candidates[i].match.auto_select = true;
    *ret = prg_json_object(arena);
    prg_json_set(arena, *ret, "request", request_to_json(arena, model, &request));
    cJSON *list = prg_json_ensure_array(arena, *ret, "candidates");
    for (size_t i = 0; i < found; i++)
        prg_json_append(list, candidate_to_json(arena, &candidates[i]));
    return PRG_OK;
}

// ---- perigee.storage ----

// validate_uri(uri, storage_containers) -> text that says why it is supported, or nil and why not
static int storage_validate_uri(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                                struct prg_error *err)
{
    const char *uri, *why = NULL;
    const cJSON *containers;
    char text[PRG_ERROR_LINE];
    TRY(text_arg(args, count, 0, "uri", &uri, err));
    TRY(list_arg(args, count, 1, "storage_containers", &containers, err));
    if (prg_storage_validate_uri(arena, uri, containers, &why, err) != PRG_OK) {
        struct prg_error cause = *err;
        return prg_fail(err, PRG_CONFLICT, "%s", prg_error_text(&cause, text, sizeof(text)));
    }
    *ret = prg_json_string(arena, why ? why : "supported");
    return PRG_OK;
}

// ---- perigee.meta ----

// union(layer, ...) -> object; later layers win; nil layers are passed over
static int meta_union(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                      struct prg_error *err)
{
    const cJSON **layers = prg_arena_array(arena, const cJSON *, count + 1);
    for (size_t i = 0; i < count; i++)
        TRY(object_arg(args, count, i, "layer", OPTIONAL, &layers[i], err));
    *ret = prg_meta_union(arena, layers, count);
    return PRG_OK;
}

// filter(map, disallowed) -> object without the keys in the list
static int meta_filter(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                       struct prg_error *err)
{
    const cJSON *map, *disallowed;
    TRY(object_arg(args, count, 0, "map", OPTIONAL, &map, err));
    TRY(list_arg(args, count, 1, "disallowed", &disallowed, err));
    *ret = prg_meta_filter(arena, map, disallowed);
    return PRG_OK;
}

static const struct prg_native natives[] = {
    {"podspec.merge", podspec_merge},
    {"podspec.merge_container", podspec_merge_container},
    {"placeholders.replace", placeholders_replace},
    {"gpu.ray", gpu_ray},
    {"gpu.mp", gpu_mp},
    {"gpu.requested", gpu_requested},
    {"runtimes.candidates", runtimes_candidates},
    {"storage.validate_uri", storage_validate_uri},
    {"meta.union", meta_union},
    {"meta.filter", meta_filter},
};

void prg_stdlib_register(void)
{
    prg_policy_set_natives(natives, PRG_COUNT(natives));
}
