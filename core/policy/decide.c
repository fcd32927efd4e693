// SPDX-License-Identifier: Apache-2.0
// decide.c: the decider over a policy set: one function per decision, each a call into the file that has the function.
// "No opinion" (nil, where the contract allows it) asks the next layer. runtime_selection: select.c.
#include <string.h>

#include "base/clock.h"
#include "base/meters.h"
#include "policy/convert.h"
#include "policy/sandbox.h"
#include "policy/set.h"
#include "policy/text.h"
#include "policy/tree.h"
#include "policy/view.h"

// ---- shared ----

int prg_set_call(const struct prg_policy_set *set, const struct prg_policy_file *file, int function, lua_CFunction body,
                 void *arg, const bool *is_answered, struct prg_error *err)
{
    struct prg_vm *vm = prg_set_vm(set, file);
    if (set->is_trial || !prg_meters_are_on())
        return prg_vm_call(vm, body, arg, err);
    int64_t begun_ns = prg_clock_monotonic_ns();
    int rc = prg_vm_call(vm, body, arg, err);
    prg_meter_policy(file->contract->name, file->contract->functions[function],
                     rc != PRG_OK   ? PRG_METER_ERROR
                     : *is_answered ? PRG_METER_ANSWERED
                                    : PRG_METER_NO_OPINION,
                     (double)(prg_clock_monotonic_ns() - begun_ns) / 1e9);
    return rc;
}

void prg_set_fill_source(const struct prg_policy_set *set, const struct prg_policy_file *file, int function,
                         struct prg_policy_source *source)
{
    if (!source)
        return;
    source->policy = file->contract->name;
    source->function = file->contract->functions[function];
    source->file = prg_arena_strdup(set->context->arena, file->source.path); // the plan may outlive the set
    source->line = file->lines[function];
}

int prg_set_wrap(const struct prg_policy_file *file, int function, struct prg_error *err)
{
    return prg_wrap(err, "policy %s, function %s", file->contract->name, file->contract->functions[function]);
}

struct prg_vm *prg_set_vm(const struct prg_policy_set *set, const struct prg_policy_file *file)
{
    file->vm->arena = set->context->arena;
    file->vm->config = set->context->config;
    file->vm->compat = set->context->compat;
    return file->vm;
}

// One question to one function.
struct question {
    struct prg_policy_set *set;
    const struct prg_policy_file *file;
    int function;
    int (*push)(lua_State *L, const void *in);                        // pushes the arguments, returns their count
    bool (*read)(lua_State *L, struct question *question, void *out); // first answer at index 1; false: no opinion
    const void *in;
    void *out;
    bool is_answered;
};

enum { ANSWERS = 3 };

static int ask_protected(lua_State *L)
{
    struct question *q = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "policy");
    prg_policy_file_push_function(L, q->file, q->function);
    lua_call(L, q->push(L, q->in), ANSWERS);
    q->is_answered = q->read(L, q, q->out);
    return 0;
}

// Asks the layers in turn. *ret_answered: one had an opinion.
static int ask(struct question *q, enum prg_policy_id policy, bool *ret_answered, struct prg_policy_source *source,
               struct prg_error *err)
{
    int layer = 0;
    *ret_answered = false;
    if (source)
        *source = (struct prg_policy_source){0};
    if (!q->set->context)
        return prg_fail(err, PRG_POLICY, "policy %s was asked outside a plan", prg_contracts[policy].name);
    while ((q->file = prg_set_find(q->set, policy, q->function, layer, &layer))) {
        if (prg_set_call(q->set, q->file, q->function, ask_protected, q, &q->is_answered, err) != PRG_OK)
            return prg_set_wrap(q->file, q->function, err);
        if (q->is_answered) {
            prg_set_fill_source(q->set, q->file, q->function, source);
            *ret_answered = true;
            return PRG_OK;
        }
        layer++;
    }
    return PRG_OK;
}

PRG_NORETURN static void wrong_answer(lua_State *L, int index, const char *wanted)
{
    prg_vm_raise(L, 0, "the answer must be %s, not %s", wanted, prg_base_answer_name(L, index));
}

static void push_service(lua_State *L, const struct prg_policy_set *set)
{
    prg_view_push(L, set->context->service);
}

static int begin(void *ctx, const struct prg_decision_context *context, struct prg_error *err)
{
    struct prg_policy_set *set = ctx;
    if (set->refusal)
        return prg_fail(err, PRG_POLICY, "%s", set->refusal);
    if (set->context)
        return prg_fail(err, PRG_POLICY, "a plan is under way with these policies already");
    set->context = context;
    return PRG_OK;
}

static void end(void *ctx)
{
    struct prg_policy_set *set = ctx;
    set->context = NULL;
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        for (size_t layer = 0; layer < PRG_SET_LAYERS; layer++) {
            struct prg_policy_file *file = set->files[i][layer];
            if (!file)
                continue;
            prg_vm_expire(file->vm);
            file->vm->arena = NULL;
            file->vm->config = file->vm->compat = NULL;
        }
}

static const char *revision(void *ctx)
{
    return ((struct prg_policy_set *)ctx)->revision;
}

static bool overlay_has(const struct prg_policy_set *set, enum prg_policy_id policy, int function)
{
    int layer = PRG_LAYER_SHIPPED;
    return prg_set_find(set, policy, function, 0, &layer) && layer != PRG_LAYER_SHIPPED;
}

// ---- annotation_filter ----

struct keep_in {
    const struct prg_policy_set *set;
    const char *key, *value, *layer;
};
struct keep_out {
    bool keep;
    const char *reason;
};

static int push_keep(lua_State *L, const void *in)
{
    const struct keep_in *keep = in;
    lua_pushstring(L, keep->key);
    lua_pushstring(L, keep->value);
    lua_pushstring(L, keep->layer);
    push_service(L, keep->set);
    return 4;
}

static bool read_keep(lua_State *L, struct question *q, void *out)
{
    struct keep_out *keep = out;
    (void)q;
    if (lua_isnil(L, 1))
        return false;
    if (!lua_isboolean(L, 1))
        wrong_answer(L, 1, "true, false or nil");
    keep->keep = lua_toboolean(L, 1);
    keep->reason = prg_convert_text(L, 2, "the reason");
    return true;
}

static int keep_annotation(void *ctx, const char *key, const char *value, const char *layer, enum prg_keep *ret,
                           const char **ret_reason, struct prg_policy_source *source, struct prg_error *err)
{
    struct keep_in in = {ctx, key, value, layer};
    struct keep_out out = {true, NULL};
    struct question q = {
        .set = ctx, .function = PRG_FN_KEEP, .push = push_keep, .read = read_keep, .in = &in, .out = &out};
    bool answered;
    int rc = ask(&q, PRG_POLICY_ANNOTATION_FILTER, &answered, source, err);
    if (rc != PRG_OK)
        return rc;
    *ret = out.keep ? PRG_KEEP : PRG_DROP;
    if (ret_reason)
        *ret_reason = out.reason;
    return PRG_OK;
}

// ---- label_priority ----

struct layers_in {
    const char *part, *target;
};
struct layers_out {
    const char **layers;
    size_t count, cap;
};

static int push_layers(lua_State *L, const void *in)
{
    const struct layers_in *layers = in;
    lua_pushstring(L, layers->part);
    lua_pushstring(L, layers->target);
    return 2;
}

// The layer's name as a constant; raises for anything else. "fixed" gives NULL.
static const char *known_layer(lua_State *L, const cJSON *item)
{
    static const char *const names[] = {"runtime", "service", "predictor", "fixed"};
    char shown[64];
    const char *text = prg_json_text(item);
    for (size_t i = 0; text && i < PRG_COUNT(names); i++)
        if (strcmp(text, names[i]) == 0)
            return i + 1 < PRG_COUNT(names) ? names[i] : NULL;
    prg_vm_raise(L, 0, "the answer names the layer %s; the layers are runtime, service and predictor",
                 text ? prg_text_show(shown, sizeof(shown), text, strlen(text)) : prg_json_type_name(item));
}

static bool read_layers(lua_State *L, struct question *q, void *out)
{
    struct layers_out *layers = out;
    const cJSON *list = prg_convert(L, 1, q->set->context->arena, PRG_SHAPE_LIST, "answer"), *item;
    if (!list)
        wrong_answer(L, 1, "a list of layers");
    layers->count = 0;
    prg_json_each (item, list) {
        const char *name = known_layer(L, item);
        if (!name)
            continue;
        for (size_t i = 0; i < layers->count; i++)
            if (layers->layers[i] == name)
                prg_vm_raise(L, 0, "the answer names the layer %s twice", name);
        if (layers->count == layers->cap)
            prg_vm_raise(L, 0, "the answer has more than %zu layers", layers->cap);
        layers->layers[layers->count++] = name;
    }
    return true;
}

static int label_layers(void *ctx, const char *part, const char *target, const char **ret_layers, size_t *ret_count,
                        size_t cap, struct prg_policy_source *source, struct prg_error *err)
{
    struct layers_in in = {part, target};
    struct layers_out out = {ret_layers, 0, cap};
    struct question q = {
        .set = ctx, .function = PRG_FN_LAYERS, .push = push_layers, .read = read_layers, .in = &in, .out = &out};
    bool answered;
    int rc = ask(&q, PRG_POLICY_LABEL_PRIORITY, &answered, source, err);
    if (rc == PRG_OK)
        *ret_count = out.count;
    return rc;
}

struct resolve_in {
    const struct prg_policy_set *set;
    const char *key, *part;
    const struct prg_label_value *values;
    size_t count;
};
struct resolve_out {
    const char *value;
    bool dropped;
};

static int push_resolve(lua_State *L, const void *in)
{
    const struct resolve_in *resolve = in;
    struct prg_arena *arena = resolve->set->context->arena;
    cJSON *values = prg_json_array(arena);
    for (size_t i = 0; i < resolve->count; i++) {
        struct prg_tree entry = prg_tree_begin(arena);
        prg_tree_text(&entry, "layer", resolve->values[i].layer);
        prg_tree_text(&entry, "value", resolve->values[i].value);
        prg_json_append(values, entry.object);
    }
    lua_pushstring(L, resolve->key);
    prg_view_push(L, values);
    lua_pushstring(L, resolve->part);
    push_service(L, resolve->set);
    return 4;
}

static bool read_resolve(lua_State *L, struct question *q, void *out)
{
    struct resolve_out *resolve = out;
    (void)q;
    if (lua_isnil(L, 1))
        return false;
    if (lua_isboolean(L, 1) && !lua_toboolean(L, 1))
        resolve->dropped = true;
    else if (lua_type(L, 1) == LUA_TSTRING)
        resolve->value = prg_convert_text(L, 1, "the answer");
    else
        wrong_answer(L, 1, "a text, false or nil");
    return true;
}

static int resolve_label(void *ctx, const char *key, const struct prg_label_value *values, size_t count,
                         const char *part, const char **ret_value, bool *ret_dropped, struct prg_policy_source *source,
                         struct prg_error *err)
{
    struct resolve_in in = {ctx, key, part, values, count};
    struct resolve_out out = {0};
    struct question q = {
        .set = ctx, .function = PRG_FN_RESOLVE, .push = push_resolve, .read = read_resolve, .in = &in, .out = &out};
    bool answered;
    int rc = ask(&q, PRG_POLICY_LABEL_PRIORITY, &answered, source, err);
    if (rc != PRG_OK)
        return rc;
    *ret_value = out.value;
    *ret_dropped = out.dropped;
    return PRG_OK;
}

static bool has_resolve_label(void *ctx)
{
    return prg_set_find(ctx, PRG_POLICY_LABEL_PRIORITY, PRG_FN_RESOLVE, 0, NULL) != NULL;
}

// ---- container_merge ----

struct merge_in {
    const char *name; // of the variable, or NULL for arguments
    const cJSON *runtime, *service;
    const char *container;
};

static int push_merge(lua_State *L, const void *in)
{
    const struct merge_in *merge = in;
    int count = merge->name ? 4 : 3;
    if (merge->name)
        lua_pushstring(L, merge->name);
    prg_view_push(L, merge->runtime);
    prg_view_push(L, merge->service);
    lua_pushstring(L, merge->container);
    return count;
}

static bool read_args(lua_State *L, struct question *q, void *out)
{
    cJSON *list = prg_convert(L, 1, q->set->context->arena, PRG_SHAPE_LIST, "answer");
    const cJSON *item;
    size_t index = 0;
    prg_json_each (item, list) {
        if (!prg_json_is_string(item))
            prg_vm_raise(L, 0, "answer /%zu: an argument must be a text, not %s", index, prg_json_type_name(item));
        index++;
    }
    *(cJSON **)out = list;
    return list != NULL;
}

static bool read_env(lua_State *L, struct question *q, void *out)
{
    const struct merge_in *in = q->in;
    cJSON *entry = prg_convert(L, 1, q->set->context->arena, PRG_SHAPE_OBJECT, "answer");
    if (entry && !prg_text_equal(prg_json_get_text(entry, "name"), in->name))
        prg_vm_raise(L, 0, "answer /name: the entry must keep the name %.200s", in->name);
    *(cJSON **)out = entry;
    return entry != NULL;
}

static int merge(void *ctx, const struct merge_in *in, cJSON **ret, struct prg_policy_source *source,
                 struct prg_error *err)
{
    cJSON *out = NULL;
    struct question q = {.set = ctx,
                         .function = in->name ? PRG_FN_ENV : PRG_FN_ARGS,
                         .push = push_merge,
                         .read = in->name ? read_env : read_args,
                         .in = in,
                         .out = &out};
    bool answered;
    int rc = ask(&q, PRG_POLICY_CONTAINER_MERGE, &answered, source, err);
    if (rc == PRG_OK)
        *ret = out;
    return rc;
}

static int merge_args(void *ctx, const cJSON *runtime_args, const cJSON *service_args, const char *container,
                      cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    struct merge_in in = {NULL, runtime_args, service_args, container};
    return merge(ctx, &in, ret, source, err);
}

static int merge_env(void *ctx, const char *name, const cJSON *runtime_entry, const cJSON *service_entry,
                     const char *container, cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    struct merge_in in = {name, runtime_entry, service_entry, container};
    return merge(ctx, &in, ret, source, err);
}

// The shipped file has no opinion, so the planner need not ask it.
static bool has_container_merge(void *ctx, const char *function)
{
    return overlay_has(ctx, PRG_POLICY_CONTAINER_MERGE, strcmp(function, "env") == 0 ? PRG_FN_ENV : PRG_FN_ARGS);
}

// ---- image ----

struct image_in {
    const struct prg_policy_set *set;
    const char *image;
    const struct prg_image_request *request;
};

static int push_image(lua_State *L, const void *in)
{
    const struct image_in *image = in;
    const struct prg_decision_context *context = image->set->context;
    struct prg_arena *arena = context->arena;
    struct prg_tree request = prg_tree_begin(arena);
    cJSON *gpus = prg_json_array(arena);
    for (size_t i = 0; i < image->request->gpu_count; i++) {
        struct prg_tree gpu = prg_tree_begin(arena);
        prg_tree_text(&gpu, "count", image->request->gpus[i].count);
        prg_tree_text(&gpu, "resource", image->request->gpus[i].resource);
        prg_json_append(gpus, gpu.object);
    }
    prg_tree_node(&request, "gpus", gpus);
    prg_tree_text(&request, "runtime_name", image->request->runtime_name);
    prg_tree_text(&request, "runtime_version", image->request->runtime_version);
    prg_tree_text(&request, "server_type", image->request->server_type);
    prg_tree_node(&request, "service", context->service);
    lua_pushstring(L, image->image);
    prg_view_push(L, request.object);
    return 2;
}

static bool read_image(lua_State *L, struct question *q, void *out)
{
    (void)q;
    if (lua_isnil(L, 1))
        return false;
    if (lua_type(L, 1) != LUA_TSTRING)
        wrong_answer(L, 1, "an image or nil");
    if (lua_rawlen(L, 1) == 0)
        prg_vm_raise(L, 0, "the answer must be an image or nil, not an empty text");
    *(const char **)out = prg_convert_text(L, 1, "the answer");
    return true;
}

static int image_tag(void *ctx, const char *image, const struct prg_image_request *request, const char **ret,
                     struct prg_policy_source *source, struct prg_error *err)
{
    struct image_in in = {ctx, image, request};
    const char *out = NULL;
    struct question q = {
        .set = ctx, .function = PRG_FN_TAG, .push = push_image, .read = read_image, .in = &in, .out = &out};
    bool answered;
    int rc = ask(&q, PRG_POLICY_IMAGE, &answered, source, err);
    if (rc == PRG_OK)
        *ret = out;
    return rc;
}

// ---- multi_node ----

struct topology_in {
    const struct prg_policy_set *set;
    const struct prg_topology_request *request;
};
struct topology_out {
    struct prg_topology topology;
    const char *refusal;
};

static cJSON *gpus_tree(struct prg_arena *arena, const char *resource, int64_t requested)
{
    struct prg_tree gpus = prg_tree_begin(arena);
    prg_tree_int(&gpus, "requested", requested);
    prg_tree_text(&gpus, "resource", resource);
    return gpus.object;
}

static int push_topology(lua_State *L, const void *in)
{
    const struct topology_in *topology = in;
    const struct prg_topology_request *asked = topology->request;
    const struct prg_decision_context *context = topology->set->context;
    struct prg_arena *arena = context->arena;
    struct prg_tree request = prg_tree_begin(arena);
    prg_tree_text(&request, "backend", asked->backend);
    prg_tree_node(&request, "head", gpus_tree(arena, asked->head_resource, asked->head_requested));
    prg_tree_int(&request, "pipeline_parallel", asked->pipeline_parallel);
    prg_tree_node(&request, "runtime", asked->runtime);
    prg_tree_node(&request, "service", context->service);
    prg_tree_int(&request, "tensor_parallel", asked->tensor_parallel);
    prg_tree_node(&request, "worker", gpus_tree(arena, asked->worker_resource, asked->worker_requested));
    prg_view_push(L, request.object);
    return 1;
}

static int64_t read_count(lua_State *L, const cJSON *answer, const char *key)
{
    int64_t value;
    const cJSON *node = prg_json_get(answer, key);
    if (!prg_json_int64(node, &value))
        prg_vm_raise(L, 0, "answer /%s: must be a whole number, not %s", key,
                     prg_json_is_number(node) ? "a fraction" : prg_json_type_name(node));
    return value;
}

static bool read_topology(lua_State *L, struct question *q, void *out)
{
    static const char *const known[] = {"nodes", "head_gpus", "worker_gpus"};
    struct topology_out *topology = out;
    if (lua_isnil(L, 1)) {
        topology->refusal = prg_convert_text(L, 2, "the error text");
        if (!topology->refusal)
            prg_vm_raise(L, 0, "the answer must be {nodes=, head_gpus=, worker_gpus=}, or nil and a text");
        return true;
    }
    const cJSON *answer = prg_convert(L, 1, q->set->context->arena, PRG_SHAPE_OBJECT, "answer"), *item;
    prg_json_each (item, answer)
        if (!prg_text_equal(item->string, known[0]) && !prg_text_equal(item->string, known[1]) &&
            !prg_text_equal(item->string, known[2]))
            prg_vm_raise(L, 0, "answer /%.100s: the fields are nodes, head_gpus and worker_gpus", item->string);
    topology->topology.nodes = read_count(L, answer, known[0]);
    topology->topology.head_gpus = read_count(L, answer, known[1]);
    topology->topology.worker_gpus = read_count(L, answer, known[2]);
    return true;
}

static int topology(void *ctx, const struct prg_topology_request *request, struct prg_topology *ret,
                    const char **ret_refusal, struct prg_policy_source *source, struct prg_error *err)
{
    struct topology_in in = {ctx, request};
    struct topology_out out = {0};
    struct question q = {
        .set = ctx, .function = PRG_FN_TOPOLOGY, .push = push_topology, .read = read_topology, .in = &in, .out = &out};
    bool answered;
    int rc = ask(&q, PRG_POLICY_MULTI_NODE, &answered, source, err);
    if (rc != PRG_OK)
        return rc;
    *ret_refusal = out.refusal;
    if (!out.refusal)
        *ret = out.topology;
    return PRG_OK;
}

// ---- object_patch ----

struct patch_in {
    const struct prg_policy_set *set;
    const cJSON *object;
};

static int push_patch(lua_State *L, const void *in)
{
    const struct patch_in *patch = in;
    prg_view_push(L, patch->object);
    push_service(L, patch->set);
    return 2;
}

static bool read_patch(lua_State *L, struct question *q, void *out)
{
    *(cJSON **)out = prg_convert(L, 1, q->set->context->arena, PRG_SHAPE_OBJECT, "answer");
    return *(cJSON **)out != NULL;
}

static int object_patch(void *ctx, const cJSON *object, cJSON **ret, struct prg_policy_source *source,
                        struct prg_error *err)
{
    struct patch_in in = {ctx, object};
    cJSON *out = NULL;
    struct question q = {
        .set = ctx, .function = PRG_FN_PATCH, .push = push_patch, .read = read_patch, .in = &in, .out = &out};
    bool answered;
    int rc = ask(&q, PRG_POLICY_OBJECT_PATCH, &answered, source, err);
    if (rc == PRG_OK)
        *ret = out;
    return rc;
}

// The shipped file patches nothing, so the planner need not ask it.
static bool has_object_patch(void *ctx)
{
    return overlay_has(ctx, PRG_POLICY_OBJECT_PATCH, PRG_FN_PATCH);
}

void prg_set_fill_decider(struct prg_policy_set *set)
{
    set->decider = (struct prg_decider){
        .ctx = set,
        .revision = revision,
        .begin = begin,
        .end = end,
        .select = prg_set_select,
        .keep_annotation = keep_annotation,
        .label_layers = label_layers,
        .resolve_label = resolve_label,
        .has_resolve_label = has_resolve_label,
        .merge_args = merge_args,
        .merge_env = merge_env,
        .has_container_merge = has_container_merge,
        .image_tag = image_tag,
        .topology = topology,
        .object_patch = object_patch,
        .has_object_patch = has_object_patch,
        .stage_transit = prg_set_stage_transit,
        .stage_report = prg_set_stage_report,
    };
}
