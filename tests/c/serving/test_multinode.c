// SPDX-License-Identifier: Apache-2.0
// test_multinode.c: workers, sizes, topology, variables and GPUs of multi-node services.
#include <stdio.h>

#include "serving/podspec.h"
#include "serving/predictor.h"
#include "serving/render_fixture.h"

// ---- a decider without Lua ----

struct policy {
    struct prg_topology answer; // nodes 0: the default arithmetic answers
    const char *refusal;
    struct prg_topology_request seen;
};

static int keep_annotation(void *ctx, const char *key, const char *value, const char *layer, enum prg_keep *ret,
                           const char **ret_reason, struct prg_policy_source *source, struct prg_error *err)
{
    (void)ctx;
    (void)value;
    (void)source;
    (void)err;
    assert_string_equal(layer, "worker");
    *ret = strcmp(key, "dropped") == 0 ? PRG_DROP : PRG_KEEP;
    *ret_reason = "disallowed";
    return PRG_OK;
}

static int label_layers(void *ctx, const char *part, const char *target, const char **ret_layers, size_t *ret_count,
                        size_t cap, struct prg_policy_source *source, struct prg_error *err)
{
    (void)ctx;
    (void)part;
    (void)cap;
    (void)source;
    (void)err;
    assert_string_equal(target, "worker");
    ret_layers[0] = "runtime";
    ret_layers[1] = "service";
    ret_layers[2] = "predictor";
    *ret_count = 3;
    return PRG_OK;
}

static int topology(void *ctx, const struct prg_topology_request *request, struct prg_topology *ret,
                    const char **ret_refusal, struct prg_policy_source *source, struct prg_error *err)
{
    struct policy *policy = ctx;
    (void)err;
    policy->seen = *request;
    *source = (struct prg_policy_source){"multi_node", "topology", "multi_node.lua", 5};
    *ret = policy->answer;
    *ret_refusal = policy->refusal;
    return PRG_OK;
}

// ---- one plan under way ----

struct worker_case {
    const struct prg_compat *compat;
    const char *predictor, *runtime, *head, *annotations;
    struct policy *policy; // NULL: the default arithmetic
};

static int run_worker(const struct worker_case *c, struct fx **ret_fx)
{
    struct fx *fx = fx_new(c->compat ? c->compat : &prg_compat_kserve,
                           c->predictor ? c->predictor : "{'model':{},'workerSpec':{}}", NULL, NULL);
    struct prg_decider *decide = prg_arena_new(&fx->arena, struct prg_decider);
    decide->ctx = c->policy;
    decide->keep_annotation = keep_annotation;
    decide->label_layers = label_layers;
    decide->topology = c->policy ? topology : NULL;
    fx->s.decide = decide;
    fx->s.multi_node = true;
    if (c->head)
        fx->w.pod_spec = json_of(&fx->arena, c->head);
    const struct prg_runtime_choice runtime = {
        .spec = json_of(&fx->arena,
                        c->runtime ? c->runtime : "{'workerSpec':{'containers':[{'name':'worker-container'}]}}"),
        .name = "r"};
    const cJSON *annotations = json_of(&fx->arena, c->annotations ? c->annotations : "{}");
    cJSON *untouched = prg_json_copy(&fx->arena, runtime.spec);
    int rc = prg_serving_worker(&fx->s, &runtime, annotations, NULL, &fx->w, &fx->err);
    assert_json_equal(runtime.spec, untouched); // in the original the sizes end up in it
    *ret_fx = fx;
    return rc;
}

static struct fx *worker(const struct worker_case *c)
{
    struct fx *fx;
    int rc = run_worker(c, &fx);
    assert_ok(rc, &fx->err);
    return fx;
}

static const char *variable(const cJSON *pod_spec, const char *name)
{
    const cJSON *container = prg_json_item(prg_json_get(pod_spec, "containers"), 0);
    return prg_json_get_text(prg_named_item(prg_json_get(container, "env"), name), "value");
}

static const cJSON *resources(const cJSON *pod_spec)
{
    return prg_json_get(prg_json_item(prg_json_get(pod_spec, "containers"), 0), "resources");
}

#define HEAD(res) "{'containers':[{'name':'kserve-container','resources':{" res "}}]}"
#define RUNTIME(res, more) "{'workerSpec':{'containers':[{'name':'worker-container','resources':{" res "}}]" more "}}"

// ---- variables ----

static void head_and_worker_get_their_variables_in_order(void **state)
{
    const struct worker_case c = {.annotations =
                                      "{'internal.serving.kserve.io/storage-initializer-sourceuri':'pvc://c'}",
                                  .predictor = "{'model':{},'workerSpec':{'tensorParallelSize':2}}"};
    struct fx *fx = worker(&c);
    (void)state;
    const cJSON *head = prg_json_get(prg_json_item(prg_json_get(fx->w.pod_spec, "containers"), 0), "env");
    assert_json_is(fx, head,
                   "[{'name':'PIPELINE_PARALLEL_SIZE','value':'1'},{'name':'TENSOR_PARALLEL_SIZE','value':'2'},"
                   "{'name':'RAY_NODE_COUNT','value':'2'},{'name':'REQUEST_GPU_COUNT','value':'1'},"
                   "{'name':'MODEL_NAME','value':'m'},{'name':'MODEL_DIR','value':'/mnt/models'}]");
    const cJSON *env = prg_json_get(prg_json_item(prg_json_get(fx->w.worker_pod_spec, "containers"), 0), "env");
    assert_json_is(fx, env,
                   "[{'name':'RAY_NODE_COUNT','value':'2'},{'name':'REQUEST_GPU_COUNT','value':'1'},"
                   "{'name':'PIPELINE_PARALLEL_SIZE','value':'1'},{'name':'TENSOR_PARALLEL_SIZE','value':'2'},"
                   "{'name':'ISVC_NAME','value':'m'},{'name':'HEAD_SVC','value':'m-head-1'},"
                   "{'name':'WORKER_SVC','value':'m-workers-1'}]");
    assert_int_equal(fx->w.worker_nodes, 1);
    assert_int_equal(prg_json_origin(prg_json_item(env, 0)), PRG_ORIGIN_MULTI_NODE);
    assert_true(fx_traced(fx, "topology", "2 nodes: 1 GPUs on the head, 1 on each worker"));
    fx_free(fx);
}

static void the_model_folder_is_set_for_mounted_storage_only(void **state)
{
    static const char *const with[] = {"pvc://c/m", "oci://i", "pvc"}, *const without[] = {"s3://b", "pvcx://b", ""};
    char text[160];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (int is_with = 0; is_with < 2; is_with++) {
            snprintf(text, sizeof(text), "{'internal.serving.kserve.io/storage-initializer-sourceuri':'%s'}",
                     is_with ? with[i] : without[i]);
            struct fx *fx = worker(&(struct worker_case){.annotations = text});
            assert_int_equal(variable(fx->w.pod_spec, "MODEL_DIR") != NULL, is_with);
            fx_free(fx);
        }
    }
}

static void a_service_called_predictor_keeps_the_originals_names(void **state)
{
    struct fx *fx = fx_new(&prg_compat_kserve, "{'model':{},'workerSpec':{}}", NULL, NULL);
    struct prg_decider decide = {.keep_annotation = keep_annotation, .label_layers = label_layers};
    const struct prg_runtime_choice runtime = {
        .spec = json_of(&fx->arena, "{'workerSpec':{'containers':[{'name':'worker-container'}]}}")};
    (void)state;
    fx->s.decide = &decide;
    fx->s.name = "x-predictor";
    assert_ok(prg_serving_worker(&fx->s, &runtime, NULL, NULL, &fx->w, &fx->err), &fx->err);
    assert_string_equal(variable(fx->w.worker_pod_spec, "HEAD_SVC"), "x-head-1");
    assert_string_equal(variable(fx->w.worker_pod_spec, "WORKER_SVC"), "x-predictor-workers-1");
    fx_free(fx);
}

// ---- merging ----

static void the_first_worker_container_of_the_service_is_merged(void **state)
{
    struct fx *fx = worker(&(struct worker_case){
        .predictor = "{'model':{},'workerSpec':{'nodeSelector':{'b':'2'},'containers':[{'image':'mine','args':['b']},"
                     "{'name':'further'}]}}",
        .runtime = "{'workerSpec':{'nodeSelector':{'a':'1'},'hostIPC':true,"
                   "'containers':[{'name':'other'},{'name':'worker-container','image':'w','args':['a']}]}}"});
    (void)state;
    cJSON *pod_spec = fx->w.worker_pod_spec, *container = prg_json_item(prg_json_get(pod_spec, "containers"), 0);
    prg_json_remove(container, "env");
    assert_json_is(fx, pod_spec,
                   "{'nodeSelector':{'a':'1','b':'2'},"
                   "'containers':[{'name':'worker-container','image':'mine','args':['a','b']}]}");
    fx_free(fx);
}

static void labels_and_annotations_of_the_worker(void **state)
{
    static const char runtime[] =
        "{'workerSpec':{'containers':[{'name':'worker-container'}],'labels':{'l':'r','k':'r'},"
        "'annotations':{'dropped':'1','kept':'r','perigee.dev/x':'1'}}}";
    static const char predictor[] = "{'model':{},'labels':{'l':'p'},'workerSpec':{}}";
    const struct prg_compat *const both[] = {&prg_compat_kserve, &prg_compat_fixed};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fx *fx = worker(&(struct worker_case){
            .compat = both[i], .predictor = predictor, .runtime = runtime, .annotations = "{'of':'service'}"});
        assert_json_is(fx, fx->w.worker_labels,
                       "{'l':'p','k':'r','isvc.generation':'1','serving.kserve.io/inferenceservice':'m',"
                       "'component':'predictor'}");
        assert_json_is(fx, fx->w.worker_annotations,
                       i ? "{'kept':'r','of':'service'}" : "{'dropped':'1','kept':'r','of':'service'}");
        fx_free(fx);
    }
}

// ---- sizes and GPUs ----

static void sizes_of_the_service_win(void **state)
{
    struct policy policy = {.answer = {2, 4, 4}};
    struct fx *fx = worker(&(struct worker_case){
        .policy = &policy,
        .predictor = "{'model':{},'workerSpec':{'pipelineParallelSize':2}}",
        .runtime = "{'annotations':{'multinode/executor-backend':'mp'},'workerSpec':{'pipelineParallelSize':7,"
                   "'tensorParallelSize':4,'containers':[{'name':'worker-container'}]}}"});
    (void)state;
    assert_int_equal(policy.seen.pipeline_parallel, 2);
    assert_int_equal(policy.seen.tensor_parallel, 4);
    assert_string_equal(policy.seen.backend, "mp");
    assert_string_equal(policy.seen.head_resource, "nvidia.com/gpu");
    assert_string_equal(variable(fx->w.pod_spec, "REQUEST_GPU_COUNT"), "4");
    assert_string_equal(fx->s.plan->trace_last->source.file, "multi_node.lua");
    fx_free(fx);
}

static void the_policy_sees_what_both_ask_for(void **state)
{
    struct policy policy = {.answer = {2, 3, 1}};
    struct fx *fx = worker(
        &(struct worker_case){.policy = &policy,
                              .head = HEAD("'requests':{'amd.com/gpu':'2500m'}"),
                              .runtime = RUNTIME("'requests':{'habana.ai/gaudi':'1'}", ",'tensorParallelSize':4")});
    (void)state;
    assert_string_equal(policy.seen.backend, "ray");
    assert_string_equal(policy.seen.head_resource, "amd.com/gpu");
    assert_int_equal(policy.seen.head_requested, 3);
    assert_string_equal(policy.seen.worker_resource, "habana.ai/gaudi");
    assert_int_equal(policy.seen.worker_requested, 1);
    fx_free(fx);
}

static void sizes_below_one_are_refused_when_mended(void **state)
{
    const struct worker_case c = {.predictor = "{'model':{},'workerSpec':{'tensorParallelSize':0}}"};
    struct worker_case mended = c;
    struct fx *fx = worker(&c);
    (void)state;
    assert_int_equal(fx->w.worker_nodes, -1);
    fx_free(fx);
    mended.compat = &prg_compat_fixed;
    assert_int_equal(run_worker(&mended, &fx), PRG_INVALID);
    assert_error_has(&fx->err, "/spec/predictor/workerSpec/tensorParallelSize is 0; it must be 1 or more");
    assert_null(fx->w.worker_pod_spec);
    fx_free(fx);
    mended = (struct worker_case){.compat = &prg_compat_fixed, .runtime = RUNTIME("", ",'pipelineParallelSize':-2")};
    assert_int_equal(run_worker(&mended, &fx), PRG_INVALID);
    assert_error_has(&fx->err, "runtime /spec/workerSpec/pipelineParallelSize is -2");
    fx_free(fx);
}

static void mixed_kinds_are_refused_when_mended(void **state)
{
    static const struct {
        const char *head, *runtime, *error;
    } cases[] = {
        {HEAD("'limits':{'nvidia.com/gpu':'1','amd.com/gpu':'1'}"), RUNTIME("", ""),
         "the head asks for nvidia.com/gpu and for amd.com/gpu; a model runs on GPUs of one kind"},
        {HEAD(""), RUNTIME("'limits':{'nvidia.com/gpu':'1','nvidia.com/mig-1g.5gb':'1'}", ""),
         "the worker asks for nvidia.com/gpu and for nvidia.com/mig-1g.5gb"},
        {HEAD("'requests':{'nvidia.com/gpu':'1'}"), RUNTIME("'limits':{'amd.com/gpu':'1'}", ""),
         "the head asks for nvidia.com/gpu and the worker for amd.com/gpu"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct worker_case c = {.compat = &prg_compat_fixed, .head = cases[i].head, .runtime = cases[i].runtime};
        struct fx *fx;
        assert_int_equal(run_worker(&c, &fx), PRG_INVALID);
        assert_error_has(&fx->err, cases[i].error);
        fx_free(fx);
        c.compat = &prg_compat_kserve;
        fx = worker(&c);
        fx_free(fx);
    }
    // None of another kind does not mix.
    struct fx *fx = worker(&(struct worker_case){.compat = &prg_compat_fixed,
                                                 .head = HEAD("'limits':{'nvidia.com/gpu':'1','amd.com/gpu':'0'}"),
                                                 .runtime = RUNTIME("'limits':{'amd.com/gpu':'0'}", "")});
    fx_free(fx);
}

static void mig_devices_count_the_same_on_head_and_worker_when_mended(void **state)
{
    struct fx *fx = worker(&(struct worker_case){
        .compat = &prg_compat_fixed,
        .head = HEAD("'limits':{'nvidia.com/mig-1g.5gb':'2'}"),
        .runtime = RUNTIME("'requests':{'nvidia.com/mig-1g.5gb':'2'}", ",'tensorParallelSize':4")});
    (void)state;
    assert_string_equal(variable(fx->w.pod_spec, "RAY_NODE_COUNT"), "2");
    assert_ok(prg_multinode_apply_gpus(&fx->s, &fx->w, &fx->err), &fx->err);
    assert_json_is(fx, resources(fx->w.pod_spec),
                   "{'limits':{'nvidia.com/mig-1g.5gb':'2'},'requests':{'nvidia.com/mig-1g.5gb':'2'}}");
    assert_json_is(fx, resources(fx->w.worker_pod_spec),
                   "{'limits':{'nvidia.com/mig-1g.5gb':'2'},'requests':{'nvidia.com/mig-1g.5gb':'2'}}");
    fx_free(fx);
}

static void a_refusal_is_the_error_in_the_originals_words(void **state)
{
    struct worker_case c = {.head = HEAD("'requests':{'nvidia.com/gpu':'1'}"),
                            .runtime = RUNTIME("'requests':{'nvidia.com/gpu':'4'}", ",'tensorParallelSize':8")};
    struct policy policy = {.refusal = "not today"};
    struct fx *fx;
    (void)state;
    assert_int_equal(run_worker(&c, &fx), PRG_INVALID);
    assert_error_has(&fx->err, "the total required number of GPUs(8) is less than the number of GPUs assigned to the "
                               "head node(1) + worker node(4)");
    assert_true(fx_traced(fx, "topology", "refused"));
    fx_free(fx);
    c.policy = &policy;
    assert_int_equal(run_worker(&c, &fx), PRG_INVALID);
    assert_error_has(&fx->err, "not today");
    fx_free(fx);
}

static void capacity_is_checked_whatever_the_policy_says_when_mended(void **state)
{
    static const struct {
        struct prg_topology answer;
        const char *backend, *error;
        int code;
    } cases[] = {
        {{0, 1, 1}, "ray", "multi_node.lua gives 0 nodes", PRG_POLICY},
        {{2, -1, 9}, "ray", "gives 2 nodes with -1 GPUs", PRG_POLICY},
        {{(int64_t)1 << 40, 1, 1}, "ray", "nodes", PRG_POLICY},
        {{2, 2, 1}, "ray", "the model needs 4 GPUs (tensor parallel 4, pipeline parallel 1), but 2 nodes", PRG_INVALID},
        {{1, 4, 4}, "mp", "the head asks for 2 nvidia.com/gpu, but the mp backend needs 4 on each node", PRG_INVALID},
        {{2, 2, 4}, "mp", "the worker asks for 1 nvidia.com/gpu, but the mp backend needs 4", PRG_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct policy policy = {.answer = cases[i].answer};
        char runtime[256];
        snprintf(
            runtime, sizeof(runtime),
            "{'annotations':{'multinode/executor-backend':'%s'},'workerSpec':{'tensorParallelSize':4,'containers':["
            "{'name':'worker-container','resources':{'requests':{'nvidia.com/gpu':'1'}}}]}}",
            cases[i].backend);
        struct worker_case c = {.compat = &prg_compat_fixed,
                                .policy = &policy,
                                .head = HEAD("'requests':{'nvidia.com/gpu':'2'}"),
                                .runtime = runtime};
        struct fx *fx;
        assert_int_equal(run_worker(&c, &fx), cases[i].code);
        assert_error_has(&fx->err, cases[i].error);
        fx_free(fx);
        c.compat = &prg_compat_kserve;
        fx = worker(&c);
        fx_free(fx);
    }
    // One node of many GPUs, and more GPUs than are needed, are fine.
    struct policy policy = {.answer = {INT32_MAX, INT64_MAX, INT64_MAX}};
    struct fx *fx = worker(&(struct worker_case){.compat = &prg_compat_fixed, .policy = &policy});
    fx_free(fx);
}

static void a_node_count_beyond_int32_is_none_as_in_the_original(void **state)
{
    struct policy policy = {.answer = {(int64_t)1 << 40, 1, 1}};
    struct fx *fx = worker(&(struct worker_case){.policy = &policy});
    (void)state;
    assert_int_equal(fx->w.worker_nodes, -1);
    fx_free(fx);
}

static void without_a_policy_the_arithmetic_of_the_backend_answers(void **state)
{
    struct fx *fx = worker(&(struct worker_case){
        .runtime = "{'annotations':{'multinode/executor-backend':'mp'},'workerSpec':{'tensorParallelSize':4,"
                   "'pipelineParallelSize':3,'containers':[{'name':'worker-container'}]}}"});
    (void)state;
    assert_string_equal(variable(fx->w.pod_spec, "RAY_NODE_COUNT"), "3");
    assert_string_equal(variable(fx->w.worker_pod_spec, "REQUEST_GPU_COUNT"), "4");
    fx_free(fx);
    fx = worker(&(struct worker_case){.runtime = RUNTIME("", ",'tensorParallelSize':2147483647,"
                                                             "'pipelineParallelSize':2147483647")});
    assert_string_equal(variable(fx->w.pod_spec, "RAY_NODE_COUNT"), "4611686014132420609");
    assert_int_equal(fx->w.worker_nodes, -1);
    fx_free(fx);
}

static void a_size_too_large_for_any_topology_is_refused_when_mended(void **state)
{
    struct policy policy = {.answer = {2, 1, 1}};
    struct fx *fx;
    (void)state;
    const struct worker_case c = {
        .compat = &prg_compat_fixed,
        .policy = &policy,
        .runtime = RUNTIME("", ",'tensorParallelSize':2147483647,'pipelineParallelSize':2147483647")};
    assert_int_equal(run_worker(&c, &fx), PRG_INVALID);
    assert_error_has(&fx->err, "the model needs 4611686014132420609 GPUs");
    fx_free(fx);
}

static void sizes_and_counts_beyond_any_cluster_are_refused(void **state)
{
    static const struct {
        const struct prg_compat *compat;
        const char *runtime, *head, *error;
    } cases[] = {
        {&prg_compat_kserve, RUNTIME("", ",'tensorParallelSize':2147483648"), NULL, "tensorParallelSize is 2147483648"},
        {&prg_compat_fixed, RUNTIME("", ",'pipelineParallelSize':9000000000"), NULL, "9000000000; that is beyond"},
        {&prg_compat_kserve, RUNTIME("", ""), HEAD("'requests':{'nvidia.com/gpu':'3G'}"), "3000000000 nvidia.com/gpu"},
        {&prg_compat_fixed, RUNTIME("", ""), HEAD("'requests':{'nvidia.com/gpu':'1e30'}"),
         "the head asks for 9223372036854775807 nvidia.com/gpu"},
        {&prg_compat_fixed, RUNTIME("", ""), HEAD("'requests':{'nvidia.com/gpu':'-1'}"), "the head asks for -1"},
        {&prg_compat_fixed, RUNTIME("'requests':{'amd.com/gpu':'-2'}", ""), NULL, "the worker asks for -2"},
    };
    struct fx *fx;
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        const struct worker_case c = {.compat = cases[i].compat, .runtime = cases[i].runtime, .head = cases[i].head};
        assert_int_equal(run_worker(&c, &fx), PRG_INVALID);
        assert_error_has(&fx->err, cases[i].error);
        fx_free(fx);
    }
}

// ---- GPUs of the Deployments ----

static void gpus_are_set_in_limits_and_requests(void **state)
{
    struct fx *fx = worker(&(struct worker_case){
        .head = HEAD("'limits':{'amd.com/gpu':'2','cpu':'1'}"),
        .runtime = RUNTIME("'requests':{'nvidia.com/gpu':'1000'}", ",'tensorParallelSize':3000")});
    (void)state;
    assert_ok(prg_multinode_apply_gpus(&fx->s, &fx->w, &fx->err), &fx->err);
    assert_json_is(fx, resources(fx->w.pod_spec),
                   "{'limits':{'amd.com/gpu':'1k','cpu':'1'},'requests':{'amd.com/gpu':'1k'}}");
    assert_json_is(fx, resources(fx->w.worker_pod_spec),
                   "{'limits':{'nvidia.com/gpu':'1k'},'requests':{'nvidia.com/gpu':'1k'}}");
    const cJSON *count = prg_json_at(resources(fx->w.pod_spec), "limits", "amd.com/gpu");
    assert_int_equal(prg_json_origin(count), PRG_ORIGIN_MULTI_NODE);
    fx_free(fx);
}

static void all_nodes_get_one_kind_when_mended(void **state)
{
    const struct prg_compat *const both[] = {&prg_compat_kserve, &prg_compat_fixed};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct fx *fx = worker(&(struct worker_case){
            .compat = both[i], .runtime = RUNTIME("'requests':{'amd.com/gpu':'1'}", ",'tensorParallelSize':2")});
        assert_ok(prg_multinode_apply_gpus(&fx->s, &fx->w, &fx->err), &fx->err);
        assert_json_is(fx, prg_json_get(resources(fx->w.pod_spec), "limits"),
                       i ? "{'amd.com/gpu':'1'}" : "{'nvidia.com/gpu':'1'}");
        fx_free(fx);
    }
}

static void kinds_of_the_annotation_are_set(void **state)
{
    struct fx *fx = worker(&(struct worker_case){.head = HEAD("'limits':{'x.com/npu':'2'}")});
    (void)state;
    prg_json_set_string(&fx->arena, fx->w.annotations, "serving.kserve.io/gpu-resource-types", "[\"x.com/npu\"]");
    assert_ok(prg_multinode_apply_gpus(&fx->s, &fx->w, &fx->err), &fx->err);
    assert_json_is(fx, prg_json_get(resources(fx->w.pod_spec), "limits"), "{'x.com/npu':'1'}");
    prg_json_set_string(&fx->arena, fx->w.annotations, "serving.kserve.io/gpu-resource-types", "nope");
    assert_int_equal(prg_multinode_apply_gpus(&fx->s, &fx->w, &fx->err), PRG_INVALID);
    assert_error_has(&fx->err, "invalid GPU format(nope) for serving.kserve.io/gpu-resource-types annotation");
    fx_free(fx);
}

static void containers_of_other_names_get_no_gpus(void **state)
{
    struct fx *fx = worker(&(struct worker_case){0});
    (void)state;
    fx->w.pod_spec = json_of(&fx->arena, "{'containers':[{'name':'mine'}]}");
    fx->w.worker_pod_spec = json_of(&fx->arena, "{'containers':[{'name':'worker-container','env':[{'name':"
                                                "'REQUEST_GPU_COUNT','value':'many'}]}]}");
    assert_int_equal(prg_multinode_apply_gpus(&fx->s, &fx->w, &fx->err), PRG_INVALID);
    assert_error_has(&fx->err, "variable REQUEST_GPU_COUNT");
    assert_json_is(fx, fx->w.pod_spec, "{'containers':[{'name':'mine'}]}");
    fx_free(fx);
}

static void a_bad_annotation_does_not_stop_the_worker_step(void **state)
{
    struct fx *fx = worker(&(struct worker_case){.compat = &prg_compat_fixed,
                                                 .annotations = "{'serving.kserve.io/gpu-resource-types':'nope'}"});
    (void)state;
    assert_non_null(fx->w.worker_pod_spec);
    fx_free(fx);
}

// ---- what cannot be ----

static void a_runtime_without_worker_spec_is_an_error_with_a_condition(void **state)
{
    static const char *const runtimes[] = {"{}", "{'workerSpec':null}", "{'workerSpec':[]}"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(runtimes); i++) {
        struct fx *fx;
        const struct worker_case c = {.runtime = runtimes[i]};
        assert_int_equal(run_worker(&c, &fx), PRG_INVALID);
        assert_error_has(&fx->err, "you cannot set WorkerSpec in the InferenceService if the ServingRuntime does not "
                                   "have a WorkerSpec");
        assert_string_equal(prg_json_get_text(prg_status_get_condition(&fx->s, "PredictorReady"), "reason"),
                            "InvalidWorkerSpecNotSet");
        fx_free(fx);
    }
    struct fx *fx = fx_new(&prg_compat_kserve, "{'workerSpec':{}}", NULL, NULL);
    assert_int_equal(prg_serving_worker(&fx->s, NULL, NULL, NULL, &fx->w, &fx->err), PRG_INVALID);
    fx_free(fx);
}

static void workers_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *predictor, *runtime, *head, *error;
    } cases[] = {
        {NULL, "{'workerSpec':{}}", NULL, "No workerSpec container configuration found in selected serving runtime"},
        {NULL, "{'workerSpec':{'containers':[]}}", NULL, "No workerSpec container configuration found"},
        {NULL, "{'workerSpec':{'containers':[{'name':'x'}]}}", NULL,
         "failed to find worker-container in ServingRuntime containers"},
        {NULL, "{'workerSpec':{'containers':7}}", NULL, "runtime /spec/workerSpec/containers: a list is expected"},
        {"{'workerSpec':{'containers':{}}}", NULL, NULL, "/spec/predictor/workerSpec/containers: a list is expected"},
        {"{'workerSpec':{'containers':[{'tty':1}]}}", NULL, NULL, "failed to merge container. Detail: service: /tty"},
        {"{'workerSpec':{'pipelineParallelSize':'2'}}", NULL, NULL,
         "/spec/predictor/workerSpec/pipelineParallelSize: a whole number is expected here, not string"},
        {"{'workerSpec':{'containers':[{'name':'mine'}]}}", NULL, NULL,
         "failed to add RAY_NODE_COUNT environment to the container(worker-container): target "
         "container(worker-container) does not exist"},
        {NULL, NULL, "{'containers':[{'name':'mine'}]}",
         "failed to add PIPELINE_PARALLEL_SIZE environment to the container(kserve-container): target "
         "container(kserve-container) does not exist"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fx *fx;
        const struct worker_case c = {
            .predictor = cases[i].predictor, .runtime = cases[i].runtime, .head = cases[i].head};
        assert_int_not_equal(run_worker(&c, &fx), PRG_OK);
        assert_error_has(&fx->err, cases[i].error);
        assert_null(fx->w.worker_pod_spec);
        fx_free(fx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_and_worker_get_their_variables_in_order),
        cmocka_unit_test(the_model_folder_is_set_for_mounted_storage_only),
        cmocka_unit_test(a_service_called_predictor_keeps_the_originals_names),
        cmocka_unit_test(the_first_worker_container_of_the_service_is_merged),
        cmocka_unit_test(labels_and_annotations_of_the_worker),
        cmocka_unit_test(sizes_of_the_service_win),
        cmocka_unit_test(the_policy_sees_what_both_ask_for),
        cmocka_unit_test(sizes_below_one_are_refused_when_mended),
        cmocka_unit_test(mixed_kinds_are_refused_when_mended),
        cmocka_unit_test(mig_devices_count_the_same_on_head_and_worker_when_mended),
        cmocka_unit_test(a_refusal_is_the_error_in_the_originals_words),
        cmocka_unit_test(capacity_is_checked_whatever_the_policy_says_when_mended),
        cmocka_unit_test(a_node_count_beyond_int32_is_none_as_in_the_original),
        cmocka_unit_test(without_a_policy_the_arithmetic_of_the_backend_answers),
        cmocka_unit_test(a_size_too_large_for_any_topology_is_refused_when_mended),
        cmocka_unit_test(sizes_and_counts_beyond_any_cluster_are_refused),
        cmocka_unit_test(containers_of_other_names_get_no_gpus),
        cmocka_unit_test(gpus_are_set_in_limits_and_requests),
        cmocka_unit_test(all_nodes_get_one_kind_when_mended),
        cmocka_unit_test(kinds_of_the_annotation_are_set),
        cmocka_unit_test(a_bad_annotation_does_not_stop_the_worker_step),
        cmocka_unit_test(a_runtime_without_worker_spec_is_an_error_with_a_condition),
        cmocka_unit_test(workers_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
