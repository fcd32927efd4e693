// SPDX-License-Identifier: Apache-2.0
// multinode.c: a model on several nodes: the worker's pod spec, how many nodes with how many GPUs (the multi_node
// policy decides), and the variables by which head and workers find each other (Predictor.reconcileWorker,
// multiNodeProcess; addGPUResourceToDeployment).
#include <limits.h>
#include <string.h>

#include "object/quantity.h"
#include "serving/context.h"
#include "serving/podspec.h"
#include "serving/predictor.h"

#define BACKEND_ANNOTATION "multinode/executor-backend" // of the runtime's spec.annotations only
#define GPU_COUNT_VARIABLE "REQUEST_GPU_COUNT"
#define DEFAULT_GPU "nvidia.com/gpu"
#define OWN_PREFIX "perigee.dev/"

struct sizes {
    int64_t pipeline, tensor;
};

// What one node's container asks for.
struct demand {
    const char *resource; // NULL: no GPUs
    int64_t count;
    const cJSON *custom_types;
};

// ---- sizes ----

// A size in object, where it is given. *ret_where says where it was found, for messages.
static int read_size(struct prg_serving *s, const cJSON *object, const char *key, const char *where, int64_t *ret,
                     const char **ret_where, struct prg_error *err)
{
    const cJSON *node = prg_json_get(object, key);
    if (!node || prg_json_is_null(node))
        return PRG_OK;
    *ret_where = prg_arena_printf(s->arena, "%s/%s", where, key);
    if (!prg_json_int64(node, ret))
        return prg_fail(err, PRG_INVALID, "%s: a whole number is expected here, not %s", *ret_where,
                        prg_json_type_name(node));
    return PRG_OK;
}

// The service's size, else the runtime's, else 1.
static int find_size(struct prg_serving *s, const cJSON *runtime_worker, const char *key, int64_t *ret,
                     struct prg_error *err)
{
    const cJSON *service_worker = prg_json_get(s->predictor, "workerSpec");
    const char *where = key;
    *ret = 1;
    int rc = read_size(s, runtime_worker, key, "runtime /spec/workerSpec", ret, &where, err);
    if (rc == PRG_OK)
        rc = read_size(s, service_worker, key, "/spec/predictor/workerSpec", ret, &where, err);
    if (rc == PRG_OK && *ret < 1 && prg_mended(s->compat, PRG_COMPAT_gpu_kinds))
        return prg_fail(err, PRG_INVALID, "%s is %lld; it must be 1 or more", where, (long long)*ret);
    if (rc == PRG_OK && (*ret > INT32_MAX || *ret < INT32_MIN)) // products of two stay within int64
        return prg_fail(err, PRG_INVALID, "%s is %lld; that is beyond any cluster", where, (long long)*ret);
    return rc;
}

// ---- demands ----

static int find_demand(struct prg_serving *s, const cJSON *container, const cJSON *annotations, const char *node,
                       struct demand *ret, struct prg_error *err)
{
    const cJSON *resources = prg_json_get(container, "resources");
    bool is_mended = prg_mended(s->compat, PRG_COMPAT_gpu_kinds);
    cJSON *types;
    // In the original the annotation counts only where GPUs are set, in Standard mode. That is also where a bad one is
    // an error; here it names no kinds.
    if (prg_gpu_custom_types(s->arena, s->config, is_mended ? annotations : NULL, &types, NULL) != PRG_OK &&
        prg_gpu_custom_types(s->arena, s->config, NULL, &types, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    *ret = (struct demand){.custom_types = types};
    ret->resource = prg_gpu_resource(resources, types, s->compat, &ret->count);
    const char *other = ret->resource ? prg_gpu_other_kind(resources, types, s->compat, ret->resource) : NULL;
    if (is_mended && other && ret->count != 0)
        return prg_fail(err, PRG_INVALID, "the %s asks for %s and for %s; a model runs on GPUs of one kind", node,
                        ret->resource, other);
    if (ret->count > INT32_MAX || ret->count < (is_mended ? 0 : INT32_MIN))
        return prg_fail(err, PRG_INVALID, "the %s asks for %lld %s; there is no such node", node, (long long)ret->count,
                        ret->resource);
    return PRG_OK;
}

static int check_same_kind(struct prg_serving *s, const struct demand *head, const struct demand *worker,
                           struct prg_error *err)
{
    if (!prg_mended(s->compat, PRG_COMPAT_gpu_kinds) || head->count == 0 || worker->count == 0 ||
        strcmp(head->resource, worker->resource) == 0)
        return PRG_OK;
    return prg_fail(err, PRG_INVALID, "the head asks for %s and the worker for %s; a model runs on GPUs of one kind",
                    head->resource, worker->resource);
}

// ---- topology ----

static void default_topology(const struct prg_topology_request *request, struct prg_topology *ret,
                             const char **ret_refusal, struct prg_arena *arena)
{
    if (strcmp(request->backend, "mp") == 0) {
        prg_gpu_mp(request->pipeline_parallel, request->tensor_parallel, ret);
        return;
    }
    prg_gpu_ray(request->pipeline_parallel * request->tensor_parallel, // sizes are int32, see find_size
                request->head_requested, request->worker_requested, ret, ret_refusal, arena);
}

// One node of the mp backend holds all of the tensor-parallel GPUs; what its container asks for must not be less.
static int check_node(const struct prg_topology_request *request, const char *node, const char *resource,
                      int64_t requested, int64_t given, struct prg_error *err)
{
    if (strcmp(request->backend, "mp") != 0 || requested == 0 || requested >= given)
        return PRG_OK;
    return prg_fail(err, PRG_INVALID, "the %s asks for %lld %s, but the mp backend needs %lld on each node", node,
                    (long long)requested, resource, (long long)given);
}

// Whatever the policy is: the nodes must exist and hold the model.
static int check_capacity(const struct prg_topology_request *request, const struct prg_topology *found,
                          const struct prg_policy_source *source, struct prg_error *err)
{
    int64_t total = request->tensor_parallel * request->pipeline_parallel, workers, sum;
    if (found->nodes < 1 || found->nodes > INT32_MAX || found->head_gpus < 0 || found->worker_gpus < 0)
        return prg_fail(err, source->policy ? PRG_POLICY : PRG_INVALID,
                        "%s gives %lld nodes with %lld GPUs on the head and %lld on a worker", //
                        source->file ? source->file : "the topology", (long long)found->nodes,
                        (long long)found->head_gpus, (long long)found->worker_gpus);
    int rc = check_node(request, "head", request->head_resource, request->head_requested, found->head_gpus, err);
    if (rc == PRG_OK && found->nodes > 1)
        rc =
            check_node(request, "worker", request->worker_resource, request->worker_requested, found->worker_gpus, err);
    if (rc != PRG_OK)
        return rc;
    if (__builtin_mul_overflow(found->worker_gpus, found->nodes - 1, &workers) ||
        __builtin_add_overflow(found->head_gpus, workers, &sum))
        return PRG_OK; // more than any model needs
    if (sum < total)
        return prg_fail(err, PRG_INVALID,
                        "the model needs %lld GPUs (tensor parallel %lld, pipeline parallel %lld), but %lld nodes with "
                        "%lld on the head and %lld on each worker have %lld",
                        (long long)total, (long long)request->tensor_parallel, (long long)request->pipeline_parallel,
                        (long long)found->nodes, (long long)found->head_gpus, (long long)found->worker_gpus,
                        (long long)sum);
    return PRG_OK;
}

static const char *describe(struct prg_serving *s, const struct prg_topology_request *request)
{
    return prg_arena_printf(s->arena,
                            "%s, tensor parallel %lld, pipeline parallel %lld; the head asks for %lld %s, the worker "
                            "for %lld %s",
                            request->backend, (long long)request->tensor_parallel,
                            (long long)request->pipeline_parallel, (long long)request->head_requested,
                            request->head_resource, (long long)request->worker_requested, request->worker_resource);
}

static int decide_topology(struct prg_serving *s, const struct prg_topology_request *request, struct prg_topology *ret,
                           struct prg_error *err)
{
    struct prg_policy_source source = {0};
    const char *refusal = NULL;
    if (s->decide && s->decide->topology) {
        int rc = s->decide->topology(s->decide->ctx, request, ret, &refusal, &source, err);
        if (rc != PRG_OK)
            return rc;
    } else {
        default_topology(request, ret, &refusal, s->arena);
    }
    if (refusal) {
        prg_plan_trace(s->plan, "topology", &source, s->name, "refused",
                       prg_arena_printf(s->arena, "%s (%s)", refusal, describe(s, request)));
        return prg_fail(err, PRG_INVALID, "%s", refusal);
    }
    prg_plan_trace(s->plan, "topology", &source, s->name,
                   prg_arena_printf(s->arena, "%lld nodes: %lld GPUs on the head, %lld on each worker",
                                    (long long)ret->nodes, (long long)ret->head_gpus, (long long)ret->worker_gpus),
                   describe(s, request));
    return prg_mended(s->compat, PRG_COMPAT_gpu_kinds) ? check_capacity(request, ret, &source, err) : PRG_OK;
}

// ---- variables ----

struct variable {
    const char *name, *value;
};

static const char *number_text(struct prg_serving *s, int64_t number)
{
    return prg_arena_printf(s->arena, "%lld", (long long)number);
}

static int set_variables(struct prg_serving *s, cJSON *pod_spec, const char *container,
                         const struct variable *variables, size_t count, struct prg_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!variables[i].value)
            continue;
        int rc = prg_serving_set_env(s, pod_spec, container, variables[i].name, variables[i].value,
                                     PRG_ORIGIN_MULTI_NODE, err);
        if (rc != PRG_OK)
            return prg_wrap(err, "failed to add %s environment to the container(%s)", variables[i].name, container);
    }
    return PRG_OK;
}

// The model folder is set for storage that every node mounts by itself.
static bool is_mounted_storage(const cJSON *annotations)
{
    const char *uri = prg_json_get_text(annotations, PRG_ANNOTATION_SOURCE_URI);
    return uri && (strcmp(uri, "pvc") == 0 || strcmp(uri, "oci") == 0 || prg_text_has_prefix(uri, "pvc://") ||
                   prg_text_has_prefix(uri, "oci://"));
}

static int add_variables(struct prg_serving *s, struct prg_workload *w, const struct sizes *sizes,
                         const struct prg_topology *topology, const cJSON *annotations, struct prg_error *err)
{
    const char *generation = number_text(s, prg_meta_generation(s->service));
    const char *pipeline = number_text(s, sizes->pipeline), *tensor = number_text(s, sizes->tensor);
    const char *nodes = number_text(s, topology->nodes);
    size_t length = strlen(s->name) - (prg_text_has_suffix(s->name, "-predictor") ? strlen("-predictor") : 0);
    const struct variable head[] = {
        {"PIPELINE_PARALLEL_SIZE", pipeline},
        {"TENSOR_PARALLEL_SIZE", tensor},
        {"RAY_NODE_COUNT", nodes},
        {GPU_COUNT_VARIABLE, number_text(s, topology->head_gpus)},
        {"MODEL_NAME", s->name},
        {"MODEL_DIR", is_mounted_storage(annotations) ? PRG_MODEL_PATH : NULL},
    };
    const struct variable worker[] = {
        {"RAY_NODE_COUNT", nodes},
        {GPU_COUNT_VARIABLE, number_text(s, topology->worker_gpus)},
        {"PIPELINE_PARALLEL_SIZE", pipeline},
        {"TENSOR_PARALLEL_SIZE", tensor},
        {"ISVC_NAME", s->name},
        {"HEAD_SVC", prg_arena_printf(s->arena, "%.*s-head-%s", (int)length, s->name, generation)},
        {"WORKER_SVC", prg_arena_printf(s->arena, "%s-workers-%s", s->name, generation)},
    };
    int rc = set_variables(s, w->pod_spec, PRG_CONTAINER_PREDICTOR, head, PRG_COUNT(head), err);
    if (rc == PRG_OK)
        rc = set_variables(s, w->worker_pod_spec, PRG_CONTAINER_WORKER, worker, PRG_COUNT(worker), err);
    return rc;
}

// ---- the worker ----

static int no_worker_spec(struct prg_serving *s, struct prg_error *err)
{
    static const char message[] =
        "you cannot set WorkerSpec in the InferenceService if the ServingRuntime does not have a WorkerSpec";
    prg_status_raw_with_message(s, "InvalidWorkerSpecNotSet", message, "False");
    return prg_fail(err, PRG_INVALID, "%s", message);
}

// The first container of the service's workerSpec is merged into worker-container of the runtime's, whatever its name;
// further ones are dropped.
static int merge_worker(struct prg_serving *s, const cJSON *runtime_worker, cJSON **ret, struct prg_error *err)
{
    const struct prg_merge_options options = {
        .compat = s->compat, .decide = s->decide, .plan = s->plan, .copies_runtime = true};
    const cJSON *service_worker = prg_json_get(s->predictor, "workerSpec"), *of_runtime, *of_service;
    struct prg_merged_specs merged;
    int rc = prg_serving_object_list(runtime_worker, "containers", "runtime /spec/workerSpec", &of_runtime, err);
    if (rc == PRG_OK)
        rc = prg_serving_object_list(service_worker, "containers", "/spec/predictor/workerSpec", &of_service, err);
    if (rc == PRG_OK && prg_json_count(of_runtime) == 0)
        rc = prg_fail(err, PRG_INVALID, "No workerSpec container configuration found in selected serving runtime");
    if (rc == PRG_OK)
        rc = prg_podspec_merge_specs(s->arena, &options, of_runtime, prg_json_item(of_service, 0), PRG_CONTAINER_WORKER,
                                     runtime_worker, service_worker, &merged, err);
    if (rc != PRG_OK)
        return prg_serving_invalid_spec(s, NULL, err);
    cJSON *containers = prg_json_array(s->arena);
    prg_json_append(containers, merged.container);
    prg_json_set(s->arena, merged.pod_spec, "containers", containers);
    *ret = merged.pod_spec;
    return PRG_OK;
}

// The runtime's worker annotations pass as they are in the original; instructions to Perigee itself never do.
static int worker_annotations(struct prg_serving *s, const cJSON *runtime_worker, cJSON **ret, struct prg_error *err)
{
    const cJSON *given = prg_json_get(runtime_worker, "annotations"), *annotation;
    if (prg_mended(s->compat, PRG_COMPAT_worker_annotations))
        return prg_serving_filter_annotations(s, given, "worker", PRG_ORIGIN_RUNTIME, ret, err);
    *ret = prg_json_object(s->arena);
    if (!prg_json_is_object(given))
        return PRG_OK;
    prg_json_each (annotation, given) {
        if (prg_text_has_prefix(annotation->string, OWN_PREFIX))
            continue;
        cJSON *copy = prg_json_copy(s->arena, annotation);
        prg_podspec_tag(copy, PRG_ORIGIN_RUNTIME);
        prg_json_add(s->arena, *ret, annotation->string, copy);
    }
    return PRG_OK;
}

static int make_metadata(struct prg_serving *s, const cJSON *runtime_worker, const cJSON *annotations,
                         const cJSON *predictor_annotations, struct prg_workload *w, struct prg_error *err)
{
    cJSON *of_runtime, *fixed = prg_json_object(s->arena);
    prg_json_set_string(s->arena, fixed, "isvc.generation", number_text(s, prg_meta_generation(s->service)));
    prg_json_set_string(s->arena, fixed, "serving.kserve.io/inferenceservice", s->name);
    prg_json_set_string(s->arena, fixed, "component", "predictor");
    prg_json_tag(fixed, PRG_ORIGIN_RULE);
    int rc = worker_annotations(s, runtime_worker, &of_runtime, err);
    if (rc != PRG_OK)
        return rc;
    const struct prg_meta_layers labels = {.runtime = prg_json_get(runtime_worker, "labels"),
                                           .service = prg_meta_labels(s->service),
                                           .predictor = prg_json_get(s->predictor, "labels"),
                                           .fixed = fixed};
    const struct prg_meta_layers notes = {
        .runtime = of_runtime, .service = annotations, .predictor = predictor_annotations};
    rc = prg_serving_union(s, &labels, "labels", "worker", &w->worker_labels, err);
    if (rc == PRG_OK)
        rc = prg_serving_union(s, &notes, "annotations", "worker", &w->worker_annotations, err);
    return rc;
}

static int find_topology(struct prg_serving *s, const struct prg_runtime_choice *runtime, const struct sizes *sizes,
                         const struct prg_workload *w, struct prg_topology *ret, struct prg_error *err)
{
    struct demand head = {0}, worker = {0};
    int rc =
        find_demand(s, prg_json_item(prg_json_get(w->pod_spec, "containers"), 0), w->annotations, "head", &head, err);
    if (rc == PRG_OK)
        rc = find_demand(s, prg_json_item(prg_json_get(w->worker_pod_spec, "containers"), 0), w->worker_annotations,
                         "worker", &worker, err);
    if (rc == PRG_OK)
        rc = check_same_kind(s, &head, &worker, err);
    if (rc != PRG_OK)
        return rc;
    bool is_mp = prg_text_equal(prg_json_text(prg_json_at(runtime->spec, "annotations", BACKEND_ANNOTATION)), "mp");
    const struct prg_topology_request request = {
        .backend = is_mp ? "mp" : "ray",
        .tensor_parallel = sizes->tensor,
        .pipeline_parallel = sizes->pipeline,
        .head_resource = head.resource ? head.resource : DEFAULT_GPU,
        .worker_resource = worker.resource ? worker.resource : DEFAULT_GPU,
        .head_requested = head.count,
        .worker_requested = worker.count,
        .runtime = runtime->object,
    };
    return decide_topology(s, &request, ret, err);
}

static int make_worker(struct prg_serving *s, const struct prg_runtime_choice *runtime, const cJSON *annotations,
                       const cJSON *predictor_annotations, struct prg_workload *w, struct prg_error *err)
{
    const cJSON *runtime_worker = runtime ? prg_json_get(runtime->spec, "workerSpec") : NULL;
    struct prg_topology topology = {0};
    struct sizes sizes;
    if (!prg_json_is_object(runtime_worker))
        return no_worker_spec(s, err);
    int rc = merge_worker(s, runtime_worker, &w->worker_pod_spec, err);
    if (rc == PRG_OK)
        rc = find_size(s, runtime_worker, "pipelineParallelSize", &sizes.pipeline, err);
    if (rc == PRG_OK)
        rc = find_size(s, runtime_worker, "tensorParallelSize", &sizes.tensor, err);
    if (rc == PRG_OK)
        rc = make_metadata(s, runtime_worker, annotations, predictor_annotations, w, err);
    if (rc == PRG_OK)
        rc = find_topology(s, runtime, &sizes, w, &topology, err);
    if (rc == PRG_OK)
        rc = add_variables(s, w, &sizes, &topology, annotations, err);
    // The original reads the count back as an int32, and takes 0 for what does not fit.
    bool is_int32 = topology.nodes >= INT32_MIN && topology.nodes <= INT32_MAX;
    w->worker_nodes = is_int32 ? topology.nodes - 1 : -1;
    return rc;
}

int prg_serving_worker(struct prg_serving *s, const struct prg_runtime_choice *runtime, const cJSON *annotations,
                       const cJSON *predictor_annotations, struct prg_workload *w, struct prg_error *err)
{
    struct prg_error own = {0};
    int rc = make_worker(s, runtime, annotations, predictor_annotations, w, &own);
    if (rc == PRG_OK)
        return PRG_OK;
    w->worker_labels = w->worker_annotations = w->worker_pod_spec = NULL;
    if (err)
        *err = own;
    return rc;
}

// ---- GPUs of the Deployments ----

static cJSON *find_container(cJSON *pod_spec, const char *name)
{
    return prg_named_item(prg_json_get(pod_spec, "containers"), name);
}

static const char *gpu_count(const cJSON *container)
{
    return prg_json_get_text(prg_named_item(prg_json_get(container, "env"), GPU_COUNT_VARIABLE), "value");
}

// The kind of GPU that a container names; *ret NULL when it names none.
static int declared(struct prg_serving *s, const cJSON *container, const cJSON *annotations, const char **ret,
                    struct prg_error *err)
{
    cJSON *types;
    int rc = prg_gpu_custom_types(s->arena, s->config, annotations, &types, err);
    if (rc == PRG_OK)
        *ret = prg_gpu_declared(prg_json_get(container, "resources"), types, s->compat);
    return rc;
}

// Quantities are printed as Go prints them: 1000 GPUs are "1k".
static int set_gpus(struct prg_serving *s, cJSON *container, const char *resource, struct prg_error *err)
{
    static const char *const lists[] = {"limits", "requests"};
    const char *count = gpu_count(container), *printed;
    if (!container || !count)
        return PRG_OK;
    if (prg_quantity_canonical(s->arena, count, &printed, err) != PRG_OK)
        return prg_wrap(err, "variable %s", GPU_COUNT_VARIABLE);
    cJSON *resources = prg_json_ensure_object(s->arena, container, "resources");
    for (size_t i = 0; i < PRG_COUNT(lists); i++) {
        cJSON *quantity = prg_json_string(s->arena, printed);
        prg_json_tag(quantity, PRG_ORIGIN_MULTI_NODE);
        prg_json_set(s->arena, prg_json_ensure_object(s->arena, resources, lists[i]), resource, quantity);
    }
    return PRG_OK;
}

int prg_multinode_apply_gpus(struct prg_serving *s, struct prg_workload *w, struct prg_error *err)
{
    cJSON *head = find_container(w->pod_spec, PRG_CONTAINER_PREDICTOR);
    cJSON *worker = find_container(w->worker_pod_spec, PRG_CONTAINER_WORKER);
    const char *of_head, *of_worker;
    int rc = declared(s, head, w->annotations, &of_head, err);
    if (rc == PRG_OK)
        rc = declared(s, worker, w->worker_annotations, &of_worker, err);
    if (rc != PRG_OK)
        return rc;
    if (prg_mended(s->compat, PRG_COMPAT_gpu_kinds)) { // one kind for all nodes; the plan has checked that they agree
        of_head = of_head ? of_head : of_worker;
        of_worker = of_worker ? of_worker : of_head;
    }
    rc = set_gpus(s, head, of_head ? of_head : DEFAULT_GPU, err);
    return rc == PRG_OK ? set_gpus(s, worker, of_worker ? of_worker : DEFAULT_GPU, err) : rc;
}
