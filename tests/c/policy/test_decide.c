// SPDX-License-Identifier: Apache-2.0
// test_decide.c: the decisions other than runtime selection: the shipped answers, overlays, "no opinion", and answers
// that are refused.
#include "policy_support.h"

#include <stdio.h>
#include <string.h>

// ---- one plan with a set ----

struct plan {
    struct prg_arena *arena;
    char *folder;
    struct prg_policy_set *set;
    struct prg_decision_context context;
    const struct prg_decider *decide;
    struct prg_policy_source source;
    struct prg_error err;
};

// Opens a plan over a folder that holds one policy file (NULL: the shipped set).
static struct plan *open_plan(struct prg_arena *arena, const char *policy, const char *body)
{
    struct plan *plan = prg_arena_new(arena, struct plan);
    plan->arena = arena;
    if (policy)
        plan->folder =
            policy_folder(arena, prg_arena_printf(arena, "%s.lua", policy),
                          prg_arena_printf(arena, "local M = { api = '%s/v1' }\n%s\nreturn M\n", policy, body), NULL);
    plan->set = load_set(plan->folder);
    plan->decide = prg_policy_set_decider(plan->set);
    plan->context = (struct prg_decision_context){
        .arena = arena,
        .service = json_of(arena, "{'metadata': {'name': 's', 'annotations': {'a': 'b'}}}"),
        .config = json_of(arena, "{'inferenceService': {'serviceAnnotationDisallowedList': ['modelFormat', 'x/y']}}"),
        .compat = json_of(arena, "{'worker_annotations': true, 'image_suffix': true}")};
    assert_ok(plan->decide->begin(plan->decide->ctx, &plan->context, &plan->err), &plan->err);
    return plan;
}

static void close_plan(struct plan *plan)
{
    plan->decide->end(plan->decide->ctx);
    prg_policy_set_unref(plan->set);
    if (plan->folder)
        remove_folder(plan->folder);
}

static const char *error_of(struct plan *plan)
{
    char text[PRG_ERROR_LINE];
    assert_int_equal(plan->err.code, PRG_POLICY);
    return prg_arena_strdup(plan->arena, prg_error_text(&plan->err, text, sizeof(text)));
}

// ---- annotation_filter ----

static bool keeps(struct plan *plan, const char *key, const char *layer, const char **ret_reason)
{
    enum prg_keep keep;
    assert_ok(
        plan->decide->keep_annotation(plan->decide->ctx, key, "v", layer, &keep, ret_reason, &plan->source, &plan->err),
        &plan->err);
    return keep == PRG_KEEP;
}

static void the_disallowed_list_decides_about_annotations(void **state)
{
    struct plan *plan = open_plan(*state, NULL, NULL);
    const char *reason;
    assert_true(keeps(plan, "free", "service", &reason));
    assert_null(reason);
    assert_false(keeps(plan, "modelFormat", "service", &reason));
    assert_text_has(reason, "serviceAnnotationDisallowedList");
    assert_string_equal(plan->source.policy, "annotation_filter");
    assert_string_equal(plan->source.file, "shipped/annotation_filter.lua");
    assert_false(keeps(plan, "x/y", "predictor", NULL));
    assert_false(keeps(plan, "x/y", "runtime", NULL));
    assert_false(keeps(plan, "x/y", "worker", NULL));
    plan->decide->end(plan->decide->ctx);
    plan->context.compat = json_of(plan->arena, "{'worker_annotations': false}");
    plan->context.config = json_of(plan->arena, "{}");
    assert_ok(plan->decide->begin(plan->decide->ctx, &plan->context, &plan->err), &plan->err);
    assert_true(keeps(plan, "x/y", "worker", NULL));
    assert_true(keeps(plan, "x/y", "service", NULL));
    close_plan(plan);
}

static void an_opinion_on_an_annotation_may_be_left_to_the_next_layer(void **state)
{
    struct plan *plan = open_plan(*state, "annotation_filter",
                                  "function M.keep(key, value, layer, service)\n"
                                  "  if service.metadata.annotations.a ~= 'b' or value ~= 'v' then error('no') end\n"
                                  "  if key == 'mine' then return false, layer .. ' not here' end\n"
                                  "end");
    const char *reason;
    assert_false(keeps(plan, "mine", "runtime", &reason));
    assert_string_equal(reason, "runtime not here");
    assert_int_equal(plan->source.line, 2);
    assert_false(keeps(plan, "x/y", "runtime", NULL));
    assert_string_equal(plan->source.file, "shipped/annotation_filter.lua");
    assert_true(keeps(plan, "other", "runtime", NULL));
    close_plan(plan);
}

static void wrong_answers_about_annotations_are_errors(void **state)
{
    static const struct {
        const char *body, *error;
    } cases[] = {
        {"function M.keep() return 'yes' end",
         "annotation_filter.lua:2: the answer must be true, false or nil, not string"},
        {"function M.keep() return true, {} end", "the reason must be a text, not table"},
        {"function M.keep(key) return key.x.y end", "annotation_filter.lua:2: attempt to index a nil value"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct plan *plan = open_plan(*state, "annotation_filter", cases[i].body);
        enum prg_keep keep;
        assert_int_equal(
            plan->decide->keep_annotation(plan->decide->ctx, "k", "v", "service", &keep, NULL, NULL, &plan->err),
            PRG_POLICY);
        assert_text_has(error_of(plan), "policy annotation_filter, function keep: /tmp/");
        assert_text_has(error_of(plan), cases[i].error);
        close_plan(plan);
    }
}

// ---- label_priority ----

static const char *layers_of(struct plan *plan)
{
    const char *layers[3];
    size_t count = 0;
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (plan->decide->label_layers(plan->decide->ctx, "labels", "head", layers, &count, 3, &plan->source, &plan->err) !=
        PRG_OK)
        return error_of(plan);
    for (size_t i = 0; i < count; i++)
        prg_strbuf_printf(&text, "%s ", layers[i]);
    return prg_arena_strdup(plan->arena, text.text);
}

static void label_layers_are_names_lowest_first(void **state)
{
    static const struct {
        const char *body, *answer;
    } cases[] = {
        {"", "runtime service predictor "},
        {"function M.layers(part, target) assert(part == 'labels' and target == 'head') return {'predictor', "
         "'runtime', "
         "'fixed'} end",
         "predictor runtime "},
        {"function M.layers() return {} end", ""},
        {"function M.layers() return {'rntime'} end", "the answer names the layer rntime; the layers are"},
        {"function M.layers() return {'runtime', 'runtime'} end", "the answer names the layer runtime twice"},
        {"function M.layers() return {1} end", "the answer names the layer number; the layers are"},
        {"function M.layers() return 'runtime' end", "answer: must be a list"},
        {"function M.layers() return {a = 'runtime'} end", "label_priority.lua:2: answer: must be a list"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct plan *plan = open_plan(*state, "label_priority", cases[i].body);
        assert_text_has(layers_of(plan), cases[i].answer);
        close_plan(plan);
    }
}

static void nil_is_no_answer_about_layers(void **state)
{
    struct plan *plan = open_plan(*state, "label_priority", "function M.layers() end");
    assert_text_has(layers_of(plan), "the answer must be a list of layers, not nil");
    close_plan(plan);
}

static void a_label_can_be_resolved_dropped_or_left(void **state)
{
    struct plan *plan =
        open_plan(*state, "label_priority",
                  "function M.resolve(key, values, part, service)\n"
                  "  if key == 'drop' then return false end\n"
                  "  if key == 'bad' then return true end\n"
                  "  if key == 'join' then return part .. ':' .. values[1].value .. '/' .. values[2].layer .. "
                  "#values .. service.metadata.name end\n"
                  "end");
    const struct prg_label_value values[] = {{"runtime", "r"}, {"service", "s"}};
    const char *value;
    bool dropped;
    void *ctx = plan->decide->ctx;
    assert_true(plan->decide->has_resolve_label(ctx));
    assert_ok(
        plan->decide->resolve_label(ctx, "join", values, 2, "labels", &value, &dropped, &plan->source, &plan->err),
        &plan->err);
    assert_string_equal(value, "labels:r/service2s");
    assert_false(dropped);
    assert_ok(plan->decide->resolve_label(ctx, "drop", values, 2, "labels", &value, &dropped, NULL, &plan->err),
              &plan->err);
    assert_true(dropped);
    assert_ok(
        plan->decide->resolve_label(ctx, "none", values, 2, "labels", &value, &dropped, &plan->source, &plan->err),
        &plan->err);
    assert_null(value);
    assert_false(dropped);
    assert_null(plan->source.policy);
    assert_int_equal(plan->decide->resolve_label(ctx, "bad", values, 2, "labels", &value, &dropped, NULL, &plan->err),
                     PRG_POLICY);
    assert_text_has(error_of(plan), "the answer must be a text, false or nil, not boolean");
    close_plan(plan);
    plan = open_plan(*state, NULL, NULL);
    assert_false(plan->decide->has_resolve_label(plan->decide->ctx));
    close_plan(plan);
}

// ---- container_merge ----

static void arguments_are_merged_by_the_overlay_only(void **state)
{
    struct prg_arena *arena = *state;
    struct plan *plan = open_plan(arena, "container_merge",
                                  "function M.args(runtime, service, name)\n"
                                  "  if name == 'other' then return nil end\n"
                                  "  if name == 'empty' then return {} end\n"
                                  "  if name == 'bad' then return {1} end\n"
                                  "  return perigee.flags.merge(runtime, service)\n"
                                  "end");
    const cJSON *runtime = json_of(arena, "['--a=1', '--b', '2']"), *service = json_of(arena, "['--b=3']");
    cJSON *merged = NULL;
    void *ctx = plan->decide->ctx;
    assert_true(plan->decide->has_container_merge(ctx, "args"));
    assert_false(plan->decide->has_container_merge(ctx, "env"));
    assert_ok(plan->decide->merge_args(ctx, runtime, service, "c", &merged, &plan->source, &plan->err), &plan->err);
    assert_json_text(arena, merged, "['--a=1', '--b=3']");
    assert_ok(plan->decide->merge_args(ctx, NULL, service, "c", &merged, NULL, &plan->err), &plan->err);
    assert_json_text(arena, merged, "['--b=3']");
    assert_ok(plan->decide->merge_args(ctx, runtime, service, "empty", &merged, NULL, &plan->err), &plan->err);
    assert_json_text(arena, merged, "[]");
    assert_ok(plan->decide->merge_args(ctx, runtime, service, "other", &merged, NULL, &plan->err), &plan->err);
    assert_null(merged);
    assert_int_equal(plan->decide->merge_args(ctx, runtime, service, "bad", &merged, NULL, &plan->err), PRG_POLICY);
    assert_text_has(error_of(plan), "container_merge.lua:2: answer /0: an argument must be a text, not number");
    close_plan(plan);
}

static void variables_keep_their_name(void **state)
{
    struct prg_arena *arena = *state;
    struct plan *plan = open_plan(arena, "container_merge",
                                  "function M.env(name, runtime, service, container)\n"
                                  "  if name == 'BAD' then return {name = 'OTHER'} end\n"
                                  "  if name == 'KEEP' then return runtime end\n"
                                  "  return nil\n"
                                  "end");
    const cJSON *entry = json_of(arena, "{'name': 'KEEP', 'valueFrom': {'fieldRef': {'fieldPath': 'x'}}}");
    cJSON *merged = NULL;
    void *ctx = plan->decide->ctx;
    assert_true(plan->decide->has_container_merge(ctx, "env"));
    assert_ok(plan->decide->merge_env(ctx, "KEEP", entry, NULL, "c", &merged, NULL, &plan->err), &plan->err);
    assert_json_equal(merged, entry);
    assert_ok(plan->decide->merge_env(ctx, "ELSE", entry, entry, "c", &merged, NULL, &plan->err), &plan->err);
    assert_null(merged);
    assert_int_equal(plan->decide->merge_env(ctx, "BAD", entry, entry, "c", &merged, NULL, &plan->err), PRG_POLICY);
    assert_text_has(error_of(plan), "answer /name: the entry must keep the name BAD");
    close_plan(plan);
    plan = open_plan(arena, NULL, NULL);
    assert_false(plan->decide->has_container_merge(plan->decide->ctx, "args"));
    assert_ok(plan->decide->merge_args(plan->decide->ctx, entry, entry, "c", &merged, NULL, &plan->err), &plan->err);
    assert_null(merged);
    close_plan(plan);
}

// ---- image ----

struct image_case {
    const char *image, *runtime, *type, *version, *gpu, *want;
};

static void shipped_image_tags(void **state)
{
    static const struct image_case cases[] = {
        {"a/b:1", "mine", NULL, NULL, NULL, NULL},
        {"a/b:1", "mine", NULL, "2", NULL, "a/b:2"},
        {"a/b:1", "mine", NULL, "", NULL, NULL},
        {"a/b:1", "mine", NULL, "v$1", NULL, "a/b:v$1"},
        {"a/b", "mine", NULL, "2", NULL, "a/b:2"},
        {"h:5000/b", "mine", NULL, "2", NULL, "h:5000/b:2"},
        {"a@sha256:0", "kserve-torchserve", NULL, "2", "nvidia.com/gpu", NULL},
        {"a/b:1", "kserve-torchserve", NULL, NULL, "nvidia.com/gpu", "a/b:1-gpu"},
        {"a/b:1", "kserve-torchserve", NULL, NULL, "nvidia.com/mig-1g.5gb", "a/b:1-gpu"},
        {"a/b:1-gpu", "kserve-torchserve", NULL, NULL, "nvidia.com/gpu", NULL},
        {"a/b:1", "kserve-torchserve", NULL, NULL, "amd.com/gpu", NULL},
        {"a/b:1", "x", "vllmserver", NULL, NULL, "a/b-cpu:1"},
        {"a/b-cpu:1", "x", "vllmserver", NULL, NULL, NULL},
        {"a/b:1", "x", "vllmserver", NULL, "amd.com/gpu", NULL},
        {"a/b:1", "x", "vllmserver", NULL, "nvidia.com/gpu", NULL},
        {"a/b:1", "kserve-torchserve", "other", NULL, "nvidia.com/gpu", NULL},
        {"a/b:1", "kserve-torchserve", "", NULL, "nvidia.com/gpu", "a/b:1-gpu"},
    };
    struct plan *plan = open_plan(*state, NULL, NULL);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        const struct image_case *c = &cases[i];
        struct prg_gpu_count gpu = {c->gpu, prg_text_has_prefix(c->gpu, "nvidia.com/") ? "0" : "1"};
        struct prg_image_request request = {.runtime_name = c->runtime,
                                            .server_type = c->type,
                                            .runtime_version = c->version,
                                            .gpus = &gpu,
                                            .gpu_count = c->gpu ? 1 : 0};
        const char *image = "unset";
        assert_ok(plan->decide->image_tag(plan->decide->ctx, c->image, &request, &image, &plan->source, &plan->err),
                  &plan->err);
        if (!prg_text_equal(image, c->want))
            print_error("case %zu: %s\n", i, image ? image : "nil");
        assert_true(prg_text_equal(image, c->want));
    }
    close_plan(plan);
}

static void an_image_must_be_a_text(void **state)
{
    static const struct {
        const char *body, *error;
    } cases[] = {
        {"function M.tag() return 1 end", "image.lua:2: the answer must be an image or nil, not number"},
        {"function M.tag() return perigee.null end", "image.lua:2: the answer must be an image or nil, not null"},
        {"function M.tag(i, r) return r.gpus end", "image.lua:2: the answer must be an image or nil, not table"},
        {"function M.tag() return '' end", "image.lua:2: the answer must be an image or nil, not an empty text"},
        {"function M.tag() return 'a\\0b' end", "the answer must be UTF-8 without NUL bytes"},
        {"function M.tag(i, r) return r.gpus[1].resource .. r.service.metadata.name .. r.runtime_name end",
         "attempt to index a nil value"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct plan *plan = open_plan(*state, "image", cases[i].body);
        struct prg_image_request request = {.runtime_name = "r"};
        const char *image;
        assert_int_equal(plan->decide->image_tag(plan->decide->ctx, "a", &request, &image, NULL, &plan->err),
                         PRG_POLICY);
        assert_text_has(error_of(plan), cases[i].error);
        close_plan(plan);
    }
}

// ---- multi_node, and C functions for policies ----

static int test_ray(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret, struct prg_error *err)
{
    int64_t tensor, pipeline, requested;
    if (count != 1 || !prg_json_get_int64(args[0], "tensor_parallel", &tensor) ||
        !prg_json_get_int64(args[0], "pipeline_parallel", &pipeline) ||
        !prg_json_get_int64(prg_json_get(args[0], "worker"), "requested", &requested))
        return prg_fail(err, PRG_INVALID, "a request is needed");
    if (requested > tensor * pipeline)
        return prg_fail(err, PRG_CONFLICT, "too many GPUs");
    *ret = prg_json_object(arena);
    prg_json_set_int(arena, *ret, "nodes", tensor * pipeline);
    prg_json_set_int(arena, *ret, "head_gpus", 1);
    prg_json_set_int(arena, *ret, "worker_gpus", requested);
    return PRG_OK;
}

static int test_mp(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret, struct prg_error *err)
{
    (void)args;
    (void)count;
    (void)err;
    *ret = json_of(arena, "{'nodes': 2, 'head_gpus': 4, 'worker_gpus': 4}");
    return PRG_OK;
}

static int test_echo(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                     struct prg_error *err)
{
    (void)arena;
    (void)err;
    *ret = count ? (cJSON *)args[0] : NULL;
    return PRG_OK;
}

static int test_hoard(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                      struct prg_error *err)
{
    (void)args;
    (void)count;
    (void)err;
    prg_arena_alloc(arena, 1 << 20);
    *ret = NULL;
    return PRG_OK;
}

static const struct prg_native natives[] = {{"gpu.ray", test_ray},
                                            {"gpu.mp", test_mp},
                                            {"test.echo", test_echo},
                                            {"test.hoard", test_hoard},
                                            {"alone", test_mp}};

static void shipped_topology_asks_the_arithmetic(void **state)
{
    struct plan *plan = open_plan(*state, NULL, NULL);
    struct prg_topology_request request = {.backend = "ray",
                                           .tensor_parallel = 2,
                                           .pipeline_parallel = 3,
                                           .head_resource = "nvidia.com/gpu",
                                           .worker_resource = "nvidia.com/gpu",
                                           .head_requested = 1,
                                           .worker_requested = 2,
                                           .runtime = json_of(*state, "{'spec': {}}")};
    struct prg_topology topology = {0};
    const char *refusal;
    void *ctx = plan->decide->ctx;
    assert_ok(plan->decide->topology(ctx, &request, &topology, &refusal, &plan->source, &plan->err), &plan->err);
    assert_null(refusal);
    assert_int_equal(topology.nodes, 6);
    assert_int_equal(topology.worker_gpus, 2);
    assert_string_equal(plan->source.function, "topology");
    request.worker_requested = 7;
    topology.nodes = -1;
    assert_ok(plan->decide->topology(ctx, &request, &topology, &refusal, NULL, &plan->err), &plan->err);
    assert_string_equal(refusal, "too many GPUs");
    assert_int_equal(topology.nodes, -1);
    request.backend = "mp";
    assert_ok(plan->decide->topology(ctx, &request, &topology, &refusal, NULL, &plan->err), &plan->err);
    assert_int_equal(topology.head_gpus, 4);
    close_plan(plan);
}

static void a_topology_is_three_whole_numbers(void **state)
{
    static const struct {
        const char *body, *error;
    } cases[] = {
        {"function M.topology() return {nodes = 1, head_gpus = 1} end",
         "answer /worker_gpus: must be a whole number, not nothing"},
        {"function M.topology() return {nodes = 'x', head_gpus = 1, worker_gpus = 1} end",
         "answer /nodes: must be a whole number, not string"},
        {"function M.topology() return {nodes = 1.5, head_gpus = 1, worker_gpus = 1} end",
         "answer /nodes: must be a whole number, not a fraction"},
        {"function M.topology() return {nodes = 1, head_gpus = 1, worker_gpus = 1, x = 1} end",
         "answer /x: the fields are nodes, head_gpus and worker_gpus"},
        {"function M.topology() return 4 end", "multi_node.lua:2: answer: must be a table with texts as keys"},
        {"function M.topology() return nil end", "or nil and a text"},
        {"function M.topology() return nil, 5 end", "the error text must be a text, not number"},
        {"function M.topology(r) return perigee.gpu.ray({}) end",
         "multi_node.lua:2: perigee.gpu.ray: a request is needed"},
        {"function M.topology(r) return perigee.test.echo({print}) end",
         "argument 1 /0: a function cannot be turned into JSON"},
        {"function M.topology(r) while true do perigee.test.hoard() end end", "(limit memoryBytes)"},
        {"function M.topology(r) return perigee.gpu.rai(r) end", "field 'rai'"},
        {"function M.topology(r)\n  return perigee.labels.merge(7)\nend", "multi_node.lua:2: perigee/labels.lua:"},
    };
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct plan *plan = open_plan(*state, "multi_node", cases[i].body);
        struct prg_topology_request request = {.backend = "ray"};
        struct prg_topology topology;
        const char *refusal;
        assert_int_equal(plan->decide->topology(plan->decide->ctx, &request, &topology, &refusal, NULL, &plan->err),
                         PRG_POLICY);
        assert_text_has(error_of(plan), cases[i].error);
        close_plan(plan);
    }
}

static void c_functions_take_and_give_trees(void **state)
{
    assert_script(*state,
                  "return {perigee.test.echo(input), perigee.test.echo({a = {}}), perigee.test.echo() == nil, "
                  "perigee.test.echo(7), perigee.alone().nodes}",
                  "{'b': [1.0]}", "[{'b': [1]}, {'a': {}}, true, 7, 2]");
    assert_script(
        *state,
        "local value, why = perigee.gpu.ray({tensor_parallel = 1, pipeline_parallel = 1, worker = {requested = 2}}) "
        "return {value == nil, why}",
        NULL, "[true, 'too many GPUs']");
    assert_script(*state, "return {perigee.nothing == nil, perigee[1] == nil}", NULL, "[true, true]");
}

// ---- object_patch ----

static void objects_can_be_patched(void **state)
{
    struct prg_arena *arena = *state;
    struct plan *plan = open_plan(arena, "object_patch",
                                  "function M.patch(object, service)\n"
                                  "  if object.kind == 'Service' then return nil end\n"
                                  "  if object.kind == 'Bad' then return perigee.array{} end\n"
                                  "  return {metadata = {labels = {of = service.metadata.name}, annotations = {}}}\n"
                                  "end");
    cJSON *patch = NULL;
    void *ctx = plan->decide->ctx;
    assert_true(plan->decide->has_object_patch(ctx));
    assert_ok(
        plan->decide->object_patch(ctx, json_of(arena, "{'kind': 'Deployment'}"), &patch, &plan->source, &plan->err),
        &plan->err);
    assert_json_text(arena, patch, "{'metadata': {'labels': {'of': 's'}, 'annotations': {}}}");
    assert_ok(plan->decide->object_patch(ctx, json_of(arena, "{'kind': 'Service'}"), &patch, NULL, &plan->err),
              &plan->err);
    assert_null(patch);
    assert_int_equal(plan->decide->object_patch(ctx, json_of(arena, "{'kind': 'Bad'}"), &patch, NULL, &plan->err),
                     PRG_POLICY);
    assert_text_has(error_of(plan), "object_patch.lua:2: answer: must be a table with texts as keys");
    close_plan(plan);
    plan = open_plan(arena, NULL, NULL);
    assert_false(plan->decide->has_object_patch(plan->decide->ctx));
    close_plan(plan);
}

// ---- plans ----

static void a_set_serves_one_plan_at_a_time(void **state)
{
    struct plan *plan = open_plan(*state, NULL, NULL);
    enum prg_keep keep;
    assert_int_equal(plan->decide->begin(plan->decide->ctx, &plan->context, &plan->err), PRG_POLICY);
    assert_text_has(error_of(plan), "a plan is under way");
    plan->decide->end(plan->decide->ctx);
    assert_int_equal(
        plan->decide->keep_annotation(plan->decide->ctx, "k", "v", "service", &keep, NULL, NULL, &plan->err),
        PRG_POLICY);
    assert_text_has(error_of(plan), "policy annotation_filter was asked outside a plan");
    assert_ok(plan->decide->begin(plan->decide->ctx, &plan->context, &plan->err), &plan->err);
    assert_true(keeps(plan, "k", "service", NULL));
    assert_string_equal(plan->decide->revision(plan->decide->ctx), prg_policy_set_revision(plan->set));
    close_plan(plan);
}

static void a_policy_that_fails_works_again_in_the_next_call(void **state)
{
    struct plan *plan = open_plan(*state, "annotation_filter",
                                  "function M.keep(key)\n  if key == 'loop' then while true do end end\n"
                                  "  if key == 'eat' then local t = {} while true do t = {t, key .. 'x'} end end\n"
                                  "  return true\nend");
    enum prg_keep keep;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(plan->decide->keep_annotation(plan->decide->ctx, i == 1 ? "eat" : "loop", "v", "service",
                                                       &keep, NULL, NULL, &plan->err),
                         PRG_POLICY);
        assert_text_has(error_of(plan), "stopped: it ");
        assert_true(keeps(plan, "k", "service", NULL));
    }
    close_plan(plan);
}

static int set_up(void **state)
{
    prg_policy_set_natives(natives, PRG_COUNT(natives));
    return set_up_arena(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_disallowed_list_decides_about_annotations),
        cmocka_unit_test(an_opinion_on_an_annotation_may_be_left_to_the_next_layer),
        cmocka_unit_test(wrong_answers_about_annotations_are_errors),
        cmocka_unit_test(label_layers_are_names_lowest_first),
        cmocka_unit_test(nil_is_no_answer_about_layers),
        cmocka_unit_test(a_label_can_be_resolved_dropped_or_left),
        cmocka_unit_test(arguments_are_merged_by_the_overlay_only),
        cmocka_unit_test(variables_keep_their_name),
        cmocka_unit_test(shipped_image_tags),
        cmocka_unit_test(an_image_must_be_a_text),
        cmocka_unit_test(shipped_topology_asks_the_arithmetic),
        cmocka_unit_test(a_topology_is_three_whole_numbers),
        cmocka_unit_test(c_functions_take_and_give_trees),
        cmocka_unit_test(objects_can_be_patched),
        cmocka_unit_test(a_set_serves_one_plan_at_a_time),
        cmocka_unit_test(a_policy_that_fails_works_again_in_the_next_call),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down_arena);
}
