// SPDX-License-Identifier: Apache-2.0
// podmerge.c: merging what a serving runtime says about pods with what a service says (MergeRuntimeContainers,
// MergePodSpec, MergeServingRuntimeAndInferenceServiceSpecs): strategic merge of the two normal forms.
#include "serving/podspec.h"

#include <string.h>

#include "serving/predictor.h"
#include "json/podschema.h"
#include "json/strategic.h"

// Members that KServe put beside the fields of a container or of a pod spec.
static const char *const model_fields[] = {"confidential",   "modelFormat", "protocolVersion", "runtime",
                                           "runtimeVersion", "storage",     "storageUri",      NULL};
// Containers among them: they are not merged.
static const char *const predictor_fields[] = {"annotations",
                                               "autoScaling",
                                               "batcher",
                                               "canaryTrafficPercent",
                                               "confidential",
                                               "containerConcurrency",
                                               "containers",
                                               "deploymentStrategy",
                                               "huggingface",
                                               "labels",
                                               "lightgbm",
                                               "logger",
                                               "maxReplicas",
                                               "minReplicas",
                                               "model",
                                               "onnx",
                                               "paddle",
                                               "pipelineParallelSize",
                                               "pmml",
                                               "pytorch",
                                               "scaleMetric",
                                               "scaleMetricType",
                                               "scaleTarget",
                                               "sklearn",
                                               "storageContainerName",
                                               "storageUris",
                                               "tensorParallelSize",
                                               "tensorflow",
                                               "timeout",
                                               "triton",
                                               "workerSpec",
                                               "xgboost",
                                               NULL};
static const char *const runtime_fields[] = {"annotations",
                                             "builtInAdapter",
                                             "containers",
                                             "disabled",
                                             "grpcDataEndpoint",
                                             "grpcEndpoint",
                                             "httpDataEndpoint",
                                             "labels",
                                             "multiModel",
                                             "pipelineParallelSize",
                                             "protocolVersions",
                                             "replicas",
                                             "storageHelper",
                                             "supportedModelFormats",
                                             "tensorParallelSize",
                                             "workerSpec",
                                             NULL};
// What the original copies of a runtime's pod fields.
static const char *const copied_runtime_fields[] = {
    "affinity", "imagePullSecrets", "nodeSelector", "schedulerName", "tolerations", "volumes", NULL};

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

void prg_podspec_tag(cJSON *node, enum prg_origin origin)
{
    cJSON *child;
    if (!node)
        return;
    if (prg_json_origin(node) == PRG_ORIGIN_NONE)
        prg_json_tag_one(node, origin);
    if (!prg_json_is_object(node) && !prg_json_is_array(node))
        return;
    prg_json_each (child, node) {
        prg_podspec_tag(child, origin);
    }
}

// ---- fields that exclude each other (replace_exclusive) ----

// Takes from runtime every variant that service does not have, if service has one. variants NULL: all but the name.
static void replace_variant(cJSON *runtime, const cJSON *service, const char *const *variants)
{
    bool has_variant = false;
    const cJSON *given;
    if (!prg_json_is_object(runtime) || !prg_json_is_object(service))
        return;
    prg_json_each (given, service) {
        has_variant |= variants ? is_one_of(given->string, variants) : strcmp(given->string, "name") != 0;
    }
    for (cJSON *member = runtime->child, *next; member && has_variant; member = next) {
        next = member->next;
        bool is_variant = variants ? is_one_of(member->string, variants) : strcmp(member->string, "name") != 0;
        if (is_variant && !prg_json_get(service, member->string))
            prg_json_detach(runtime, member);
    }
}

static void replace_in_env(cJSON *runtime, const cJSON *service)
{
    static const char *const variants[] = {"value", "valueFrom", NULL};
    const cJSON *given;
    if (!runtime || !service)
        return;
    prg_json_each (given, service) {
        cJSON *variable = prg_named_item(runtime, prg_json_get_text(given, "name"));
        replace_variant(variable, given, variants);
        replace_variant(prg_json_get(variable, "valueFrom"), prg_json_get(given, "valueFrom"), NULL);
    }
}

static void replace_in_container(cJSON *runtime, const cJSON *service)
{
    static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
    static const char *const probe_handlers[] = {"exec", "grpc", "httpGet", "tcpSocket", NULL};
    static const char *const moments[] = {"postStart", "preStop"};
    static const char *const handlers[] = {"exec", "httpGet", "sleep", "tcpSocket", NULL};
    replace_in_env(prg_json_get(runtime, "env"), prg_json_get(service, "env"));
    for (size_t i = 0; i < PRG_COUNT(probes); i++)
        replace_variant(prg_json_get(runtime, probes[i]), prg_json_get(service, probes[i]), probe_handlers);
    for (size_t i = 0; i < PRG_COUNT(moments); i++)
        replace_variant(prg_json_at(runtime, "lifecycle", moments[i]), prg_json_at(service, "lifecycle", moments[i]),
                        handlers);
}

static void replace_in_pod_spec(cJSON *runtime, const cJSON *service)
{
    const cJSON *given, *list = prg_json_get(service, "volumes");
    prg_json_each (given, list) {
        replace_variant(prg_named_item(prg_json_get(runtime, "volumes"), prg_json_get_text(given, "name")), given,
                        NULL);
    }
    list = prg_json_get(service, "initContainers");
    prg_json_each (given, list) {
        replace_in_container(prg_named_item(prg_json_get(runtime, "initContainers"), prg_json_get_text(given, "name")),
                             given);
    }
}

// Go writes the service name of a gRPC probe as null when there is none, and a null in a patch removes.
static void remove_grpc_service(cJSON *runtime, const cJSON *service)
{
    static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
    for (size_t i = 0; i < PRG_COUNT(probes); i++) {
        const cJSON *grpc = prg_json_at(service, probes[i], "grpc");
        cJSON *old = prg_json_at(runtime, probes[i], "grpc");
        if (grpc && old && !prg_json_get(grpc, "service"))
            prg_json_remove(old, "service");
    }
}

// ---- container_merge policy ----

static bool asks_policy(const struct prg_merge_options *options, const char *function)
{
    const struct prg_decider *decide = options->decide;
    return decide && decide->has_container_merge && decide->has_container_merge(decide->ctx, function);
}

static void trace_policy(const struct prg_merge_options *options, const struct prg_policy_source *source,
                         const char *subject)
{
    if (options->plan)
        prg_plan_trace(options->plan, "merge", source, subject, "policy", NULL);
}

static cJSON *concatenated(struct prg_arena *arena, cJSON *runtime, cJSON *service)
{
    cJSON *all = prg_json_array(arena);
    cJSON *const lists[] = {runtime, service};
    for (size_t i = 0; i < PRG_COUNT(lists); i++) {
        if (!lists[i])
            continue;
        prg_json_tag_one(all, prg_json_origin(lists[i])); // of the list itself: the last one that adds to it
        for (cJSON *item = lists[i]->child, *next; item; item = next) {
            next = item->next;
            prg_json_detach(lists[i], item);
            prg_json_append(all, item);
        }
    }
    return all;
}

// Sets args of merged. runtime and service are the lists of the two sides, taken out of them; either may be NULL.
static int merge_args(struct prg_arena *arena, const struct prg_merge_options *options, cJSON *runtime, cJSON *service,
                      const char *container, cJSON *merged, struct prg_error *err)
{
    struct prg_policy_source source = {0};
    cJSON *args = NULL;
    if (asks_policy(options, "args")) {
        const cJSON *empty = prg_json_array(arena);
        int rc = options->decide->merge_args(options->decide->ctx, runtime ? runtime : empty, service ? service : empty,
                                             container, &args, &source, err);
        if (rc != PRG_OK)
            return rc;
        if (args) {
            prg_json_tag(args, PRG_ORIGIN_MERGE_POLICY);
            trace_policy(options, &source, prg_arena_printf(arena, "%s.args", container));
        }
    }
    if (!args)
        args = concatenated(arena, runtime, service);
    if (prg_json_count(args) > 0)
        prg_json_set(arena, merged, "args", args);
    return PRG_OK;
}

// The entry that counts in a patch: the last one of the name.
static const cJSON *last_named(const cJSON *list, const char *name)
{
    const cJSON *item, *found = NULL;
    prg_json_each (item, list) {
        if (prg_text_equal(prg_json_get_text(item, "name"), name))
            found = item;
    }
    return found;
}

// Asks the policy for every variable that both sides name.
static int merge_env(struct prg_arena *arena, const struct prg_merge_options *options, const cJSON *runtime,
                     const cJSON *service, const char *container, cJSON *merged, struct prg_error *err)
{
    const cJSON *variable;
    if (!asks_policy(options, "env"))
        return PRG_OK;
    prg_json_each (variable, runtime) {
        const char *name = prg_json_get_text(variable, "name");
        const cJSON *given = last_named(service, name);
        struct prg_policy_source source = {0};
        cJSON *answer = NULL, *entry;
        if (!given || prg_named_item(runtime, name) != variable)
            continue;
        int rc =
            options->decide->merge_env(options->decide->ctx, name, variable, given, container, &answer, &source, err);
        if (rc != PRG_OK)
            return rc;
        if (!answer)
            continue;
        if (!prg_text_equal(prg_json_get_text(answer, "name"), name))
            return prg_fail(err, PRG_POLICY, "%s.%s, %s:%d: the entry for variable %s of %s must have that name",
                            source.policy ? source.policy : "container_merge",
                            source.function ? source.function : "env", source.file ? source.file : "?", source.line,
                            name, container);
        rc = prg_typed_normal(arena, &prg_schema_env_var, answer, &entry, err);
        if (rc != PRG_OK)
            return prg_wrap(err, "variable %s, as the container_merge policy gives it", name);
        prg_json_tag(entry, PRG_ORIGIN_MERGE_POLICY);
        cJSON *env = prg_json_get(merged, "env"), *old = prg_named_item(env, name);
        if (!old)
            continue;
        prg_json_replace(env, old, entry);
        trace_policy(options, &source, prg_arena_printf(arena, "%s.env.%s", container, name));
    }
    return PRG_OK;
}

// ---- containers ----

struct side {
    const cJSON *given;
    struct prg_typed_form form;
    cJSON *normal;
};

static int normal_sides(struct prg_arena *arena, const struct prg_schema *schema, struct side *runtime,
                        struct side *service, struct prg_error *err)
{
    if (prg_typed_make(arena, schema, runtime->given, &runtime->form, &runtime->normal, err) != PRG_OK)
        return prg_wrap(err, "runtime");
    if (prg_typed_make(arena, schema, service->given, &service->form, &service->normal, err) != PRG_OK)
        return prg_wrap(err, "service");
    return PRG_OK;
}

// The strategic merge, whose error says which of the two sides has the bad place.
static int apply(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *base, const cJSON *patch,
                 cJSON **ret, struct prg_error *err)
{
    cJSON *ignored;
    int rc = prg_strategic_build(arena, schema, base, patch, ret, err);
    if (rc == PRG_OK)
        return PRG_OK;
    bool is_patch = prg_strategic_build(arena, schema, patch, patch, &ignored, NULL) != PRG_OK;
    return prg_wrap(err, "%s", is_patch ? "service" : "runtime");
}

int prg_podspec_merge_container(struct prg_arena *arena, const struct prg_merge_options *options, const cJSON *runtime,
                                const cJSON *service, cJSON **ret, struct prg_error *err)
{
    struct side from = {runtime, {.origin = PRG_ORIGIN_RUNTIME, .shares_texts = !options->copies_runtime}, NULL};
    struct side to = {service, {.origin = PRG_ORIGIN_SERVICE, .shares_texts = true, .without = model_fields}, NULL};
    int rc = normal_sides(arena, &prg_schema_container, &from, &to, err);
    if (rc != PRG_OK)
        return rc;
    cJSON *base = from.normal, *patch = to.normal, *merged;
    if (prg_json_text_length(prg_json_get(patch, "name")) == 0) // an empty name would win: Go always writes it
        prg_json_remove(patch, "name");
    cJSON *base_args = prg_json_remove(base, "args"), *patch_args = prg_json_remove(patch, "args");
    remove_grpc_service(base, patch);
    if (prg_mended(options->compat, PRG_COMPAT_replace_exclusive))
        replace_in_container(base, patch);
    rc = apply(arena, &prg_schema_container, base, patch, &merged, err);
    if (rc != PRG_OK)
        return rc;
    const char *name = prg_json_get_text(merged, "name");
    rc = merge_args(arena, options, base_args, patch_args, name, merged, err);
    if (rc == PRG_OK)
        rc = merge_env(arena, options, prg_json_get(base, "env"), prg_json_get(patch, "env"), name, merged, err);
    if (rc == PRG_OK)
        *ret = merged;
    return rc;
}

// ---- pods ----

int prg_podspec_merge(struct prg_arena *arena, const struct prg_merge_options *options, const cJSON *runtime_spec,
                      const cJSON *service_spec, cJSON **ret, struct prg_error *err)
{
    static const char *const containers_only[] = {"containers", NULL};
    bool has_all = prg_mended(options->compat, PRG_COMPAT_runtime_pod_fields);
    struct side from = {runtime_spec, {.origin = PRG_ORIGIN_RUNTIME, .shares_texts = !options->copies_runtime}, NULL};
    struct side to = {
        service_spec, {.origin = PRG_ORIGIN_PREDICTOR, .shares_texts = true, .without = predictor_fields}, NULL};
    struct side rest = {
        service_spec, {.origin = PRG_ORIGIN_SERVICE, .shares_texts = true, .only = containers_only}, NULL};
    if (has_all)
        from.form.without = runtime_fields;
    else
        from.form.only = copied_runtime_fields;
    int rc = normal_sides(arena, &prg_schema_pod_spec, &from, &to, err);
    if (rc == PRG_OK && prg_json_get(service_spec, "containers") &&
        prg_typed_make(arena, &prg_schema_pod_spec, rest.given, &rest.form, &rest.normal, err) != PRG_OK)
        rc = prg_wrap(err, "service");
    if (rc != PRG_OK)
        return rc;
    cJSON *base = from.normal, *patch = to.normal, *merged;
    if (prg_mended(options->compat, PRG_COMPAT_replace_exclusive))
        replace_in_pod_spec(base, patch);
    rc = apply(arena, &prg_schema_pod_spec, base, patch, &merged, err);
    if (rc != PRG_OK)
        return rc;
    cJSON *containers = prg_json_remove(rest.normal, "containers");
    if (containers)
        prg_json_set(arena, merged, "containers", containers);
    *ret = merged;
    return PRG_OK;
}

// Index of the first container called name; false when there is none.
static bool find_container(const cJSON *containers, const char *name, size_t *ret)
{
    const cJSON *container;
    size_t index = 0;
    if (!prg_json_is_array(containers))
        return false;
    prg_json_each (container, containers) {
        if (prg_text_equal(prg_json_get_text(container, "name"), name)) {
            *ret = index;
            return true;
        }
        index++;
    }
    return false;
}

int prg_podspec_merge_specs(struct prg_arena *arena, const struct prg_merge_options *options,
                            const cJSON *runtime_containers, const cJSON *service_container, const char *target,
                            const cJSON *runtime_spec, const cJSON *service_spec, struct prg_merged_specs *ret,
                            struct prg_error *err)
{
    struct prg_merged_specs merged = {0};
    if (!find_container(runtime_containers, target, &merged.index))
        return prg_fail(err, PRG_NOTFOUND, "failed to find %s in ServingRuntime containers", target);
    int rc = prg_podspec_merge_container(arena, options, prg_json_item(runtime_containers, merged.index),
                                         service_container, &merged.container, err);
    if (rc != PRG_OK)
        return prg_wrap(err, "failed to merge container. Detail");
    rc = prg_podspec_merge(arena, options, runtime_spec, service_spec, &merged.pod_spec, err);
    if (rc != PRG_OK)
        return prg_wrap(err, "failed to consolidate serving runtime PodSpecs. Detail");
    *ret = merged;
    return PRG_OK;
}
