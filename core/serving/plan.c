// SPDX-License-Identifier: Apache-2.0
// plan.c: the plan of an InferenceService's predictor: the order of work of the original's Predictor.Reconcile.
//
//   check types, default, mode            nothing is asked of a policy yet
//   annotations, model config, storage    errors here leave the Ready condition alone
//   runtime, pod spec, metadata           errors here set modelStatus
//   worker                                errors here: PredictorReady False, InvalidGPUAllocation
//   Standard or Knative objects           errors here: PredictorReady False, ReconcileFailed
//   stop, model status from the pods
#include "serving/plan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "serving/annotations.h"
#include "serving/defaults.h"
#include "serving/outcome.h"
#include "serving/patch.h"
#include "serving/podspec.h"
#include "serving/predictor.h"
#include "serving/typecheck.h"
#include "json/diff.h"

// One run, with what its steps hand on.
struct run {
    struct prg_serving *s;
    struct prg_runtime_choice choice; // spec NULL for a custom predictor
    cJSON *annotations;               // of the service, filtered, with those for the pod webhook
    cJSON *predictor_annotations;     // filtered
    struct prg_workload workload;
    const char *failure;              // reason of the Event if the step at hand fails
    bool is_condition_set_on_failure; // the step at hand is one of the last two
};

// ---- before anything else ----

// Of spec.predictor the model's own part counts as the service's, the rest as the predictor's: pod fields, labels,
// scaling.
static void tag_service(cJSON *service)
{
    cJSON *predictor = prg_json_at(service, "spec", "predictor"), *item;
    if (prg_json_is_object(predictor))
        prg_json_each (item, predictor) {
            if (!prg_text_equal(item->string, "model"))
                prg_podspec_tag(item, PRG_ORIGIN_PREDICTOR);
        }
    prg_podspec_tag(service, PRG_ORIGIN_SERVICE);
}

// What defaulting changed, to be told in the order of the pointers, however the service was written.
struct default_trace {
    struct prg_serving *s;
    const char *prefix;
    struct default_change {
        const char *pointer, *outcome, *reason;
    } * changes;
    size_t count, cap;
};

static const char *short_text(struct prg_arena *arena, const cJSON *node)
{
    const char *text = prg_json_print_arena(arena, node, PRG_JSON_SORTED);
    return strlen(text) <= 200 ? text
                               : prg_arena_printf(arena, "%s of %zu bytes", prg_json_type_name(node), strlen(text));
}

// What Go writes for a field that nobody has set: it comes and goes without a meaning.
static bool is_nothing(const cJSON *node)
{
    if (prg_json_is_object(node) || prg_json_is_array(node))
        return !node->child;
    return !node || prg_json_is_null(node) || (prg_json_is_string(node) && prg_json_text_length(node) == 0);
}

static void note_change(const struct prg_diff_entry *entry, void *ctx)
{
    struct default_trace *t = ctx;
    if (is_nothing(entry->from) && is_nothing(entry->to))
        return;
    struct prg_arena *arena = t->s->arena;
    struct default_change change = {prg_arena_printf(arena, "%s%s", t->prefix, entry->pointer), "changed", NULL};
    if (!entry->from)
        change = (struct default_change){change.pointer, "set", short_text(arena, entry->to)};
    else if (!entry->to)
        change = (struct default_change){change.pointer, "removed", short_text(arena, entry->from)};
    else
        change.reason =
            prg_arena_printf(arena, "%s to %s", short_text(arena, entry->from), short_text(arena, entry->to));
    if (t->count == t->cap) {
        struct default_change *grown = prg_arena_array(arena, struct default_change, t->cap * 2 + 8);
        if (t->count)
            memcpy(grown, t->changes, t->count * sizeof(*grown));
        t->changes = grown;
        t->cap = t->cap * 2 + 8;
    }
    t->changes[t->count++] = change;
}

static int compare_changes(const void *a, const void *b)
{
    return strcmp(((const struct default_change *)a)->pointer, ((const struct default_change *)b)->pointer);
}

static void trace_defaults(struct prg_serving *s, const cJSON *given)
{
    static const char *const parts[] = {"metadata", "spec"};
    struct default_trace t = {.s = s};
    for (size_t i = 0; i < PRG_COUNT(parts); i++) {
        t.prefix = prg_arena_printf(s->arena, "/%s", parts[i]);
        (void)prg_diff(prg_json_get(given, parts[i]), prg_json_get(s->service, parts[i]), note_change, &t);
    }
    if (t.count)
        qsort(t.changes, t.count, sizeof(*t.changes), compare_changes);
    for (size_t i = 0; i < t.count; i++)
        prg_plan_trace(s->plan, "default", NULL, t.changes[i].pointer, t.changes[i].outcome, t.changes[i].reason);
}

static void set_service(struct prg_serving *s, cJSON *service)
{
    prg_json_remove(service, "status"); // the status is not defaulted; it starts as it came in
    if (s->stored_status)
        prg_json_set(s->arena, service, "status", prg_json_copy(s->arena, s->stored_status));
    s->service = service;
    s->plan->resource = service;
    s->predictor = prg_json_at(service, "spec", "predictor");
}

// The service stays as it came. A field of a wrong type is told before anything else; what could be defaulted has none.
static int explain_refusal(struct prg_serving *s, const cJSON *given, struct prg_error *err)
{
    const char *what = prg_arena_printf(s->arena, "InferenceService %s/%s", s->ns, s->name);
    struct prg_error types = {0};
    set_service(s, prg_json_copy(s->arena, given));
    if (prg_check_types(s->arena, &prg_schema_inference_service, given, what, &types) == PRG_OK)
        return prg_wrap(err, "%s", what);
    *err = types;
    return (int)err->code;
}

static int default_service(struct prg_serving *s, struct prg_error *err)
{
    const cJSON *given = s->in->service;
    cJSON *service = NULL;
    if (prg_serving_default(s->arena, given, s->config, &service, err) != PRG_OK)
        return explain_refusal(s, given, err);
    tag_service(service);
    set_service(s, service);
    trace_defaults(s, given);
    if (!prg_json_is_object(s->predictor))
        return prg_fail(err, PRG_INVALID, "InferenceService %s/%s: /spec/predictor is missing", s->ns, s->name);
    return PRG_OK;
}

// ---- deployment mode (GetDeploymentMode) ----

static bool mode_of(const char *text, enum prg_mode *ret)
{
    const char *name = prg_deployment_mode_name(text);
    if (prg_text_equal(name, "Standard"))
        *ret = PRG_MODE_STANDARD;
    else if (prg_text_equal(name, "Knative"))
        *ret = PRG_MODE_KNATIVE;
    else if (prg_text_equal(name, "ModelMesh"))
        *ret = PRG_MODE_MODELMESH;
    else
        return false;
    return true;
}

static int find_mode(struct prg_serving *s, struct prg_error *err)
{
    static const char *const names[] = {"Standard", "Knative", "ModelMesh"};
    const cJSON *deploy = NULL;
    const char *why = "status.deploymentMode";
    bool is_found = mode_of(prg_json_get_text(s->stored_status, "deploymentMode"), &s->mode);
    if (!is_found) {
        why = "annotation " PRG_ANNOTATION_DEPLOYMENT_MODE;
        is_found = mode_of(prg_meta_annotation(s->service, PRG_ANNOTATION_DEPLOYMENT_MODE), &s->mode);
    }
    if (!is_found) {
        if (prg_serving_config_section(s->config, "deploy", &deploy, err) != PRG_OK)
            return prg_wrap(err, "deployment mode");
        const char *text = prg_json_get_text(deploy, "defaultDeploymentMode");
        why = "defaultDeploymentMode of the configuration";
        s->mode = PRG_MODE_KNATIVE;
        if (!deploy)
            why = "nothing says otherwise";
        else if (!mode_of(text, &s->mode))
            return prg_fail(err, PRG_INVALID,
                            "ConfigMap inferenceservice-config: key 'deploy': /defaultDeploymentMode: '%s' is not one "
                            "of Standard, Knative, ModelMesh",
                            text ? text : "");
    }
    prg_plan_trace(s->plan, "mode", NULL, s->name, names[s->mode], why);
    return PRG_OK;
}

static bool is_stopped(const cJSON *service)
{
    const char *value = prg_meta_annotation(service, PRG_ANNOTATION_STOP);
    return value && strcasecmp(value, "true") == 0;
}

// ---- the steps ----

static int check_implementation(struct run *r, struct prg_error *err)
{
    struct prg_implementation implementation;
    if (prg_predictor_implementation(r->s->predictor, &implementation))
        return PRG_OK;
    return prg_fail(err, PRG_INVALID,
                    "/spec/predictor has neither a model nor containers; give model, a framework such as sklearn, or "
                    "a container called " PRG_CONTAINER_PREDICTOR);
}

static int prepare_annotations(struct run *r, struct prg_error *err)
{
    struct prg_serving *s = r->s;
    r->failure = "AnnotationsFailed";
    if (prg_serving_filter_annotations(s, prg_meta_annotations(s->service), "service", PRG_ORIGIN_SERVICE,
                                       &r->annotations, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    prg_annotate_logger(s, r->annotations);
    prg_annotate_batcher(s, r->annotations);
    prg_annotate_storage_spec(s, r->annotations);
    prg_annotate_agent(s, r->annotations);
    r->failure = "ModelConfigFailed";
    if (prg_serving_model_config(s, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    r->failure = "StorageNotSupported";
    if (prg_annotate_storage_uri(s, r->annotations, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    prg_annotate_confidential(s, r->annotations);
    return PRG_OK;
}

static void respect_storage_helper(struct run *r)
{
    struct prg_serving *s = r->s;
    if (!prg_mended(s->compat, PRG_COMPAT_storage_helper_disabled) ||
        !prg_json_is_true(prg_json_at(r->choice.spec, "storageHelper", "disabled")))
        return;
    s->no_initializer = true;
    prg_annotate_no_initializer(s, r->annotations, r->choice.name);
}

static int make_pod_spec(struct run *r, struct prg_error *err)
{
    struct prg_serving *s = r->s;
    int rc;
    if (prg_json_is_object(prg_json_get(s->predictor, "model"))) {
        r->failure = "RuntimeNotSelected";
        if (prg_serving_select(s, &r->choice, err) != PRG_OK)
            return err ? err->code : PRG_INVALID;
        respect_storage_helper(r);
        r->failure = "PodSpecFailed";
        rc = prg_serving_pod_spec(s, &r->choice, &r->workload.pod_spec, err);
    } else {
        r->failure = "PodSpecFailed";
        rc = prg_serving_custom_pod_spec(s, &r->workload.pod_spec, err);
    }
    return rc;
}

// INFERENCE_SERVICE_NAME in every container, so that servers and transformers know whom they belong to.
static int name_service(struct run *r, struct prg_error *err)
{
    cJSON *container;
    (void)err;
    prg_json_each (container, prg_json_get(r->workload.pod_spec, "containers"))
        prg_serving_set_variable(r->s, container, "INFERENCE_SERVICE_NAME", r->s->name, PRG_ORIGIN_RULE);
    return PRG_OK;
}

static cJSON *fixed_labels(struct prg_serving *s)
{
    cJSON *labels = prg_json_object(s->arena);
    prg_json_set_string(s->arena, labels, "serving.kserve.io/inferenceservice", s->name);
    prg_json_set_string(s->arena, labels, "component", "predictor");
    if (s->multi_node)
        prg_json_set(s->arena, labels, "isvc.generation",
                     prg_json_stringf(s->arena, "%lld", (long long)prg_meta_generation(s->service)));
    prg_json_tag(labels, PRG_ORIGIN_RULE);
    return labels;
}

static int make_metadata(struct run *r, struct prg_error *err)
{
    struct prg_serving *s = r->s;
    cJSON *runtime_annotations = NULL;
    r->failure = "MetadataFailed";
    if (prg_serving_filter_annotations(s, prg_json_get(s->predictor, "annotations"), "predictor", PRG_ORIGIN_PREDICTOR,
                                       &r->predictor_annotations, err) != PRG_OK ||
        prg_serving_filter_annotations(s, prg_json_get(r->choice.spec, "annotations"), "runtime", PRG_ORIGIN_RUNTIME,
                                       &runtime_annotations, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    struct prg_meta_layers labels = {prg_json_get(r->choice.spec, "labels"), prg_meta_labels(s->service),
                                     prg_json_get(s->predictor, "labels"), fixed_labels(s)};
    struct prg_meta_layers annotations = {runtime_annotations, r->annotations, r->predictor_annotations, NULL};
    if (prg_serving_union(s, &labels, "labels", "head", &r->workload.labels, err) != PRG_OK ||
        prg_serving_union(s, &annotations, "annotations", "head", &r->workload.annotations, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    return PRG_OK;
}

static int make_worker(struct run *r, struct prg_error *err)
{
    struct prg_serving *s = r->s;
    if (!s->multi_node)
        return PRG_OK;
    r->failure = "InvalidGPUAllocation";
    r->is_condition_set_on_failure = true;
    if (!r->choice.spec)
        return prg_fail(err, PRG_INVALID,
                        "/spec/predictor/workerSpec needs a model that a runtime serves; a custom predictor has no "
                        "worker containers");
    return prg_serving_worker(s, &r->choice, r->annotations, r->predictor_annotations, &r->workload, err);
}

static int make_objects(struct run *r, struct prg_error *err)
{
    r->failure = "ReconcileFailed";
    r->is_condition_set_on_failure = true;
    return r->s->mode == PRG_MODE_STANDARD ? prg_serving_raw(r->s, &r->workload, err)
                                           : prg_serving_knative(r->s, &r->workload, err);
}

static void finish_status(struct prg_serving *s)
{
    if (s->stopped) {
        prg_status_stopped(s);
        return;
    }
    const cJSON *component = prg_json_at(s->service, "status", "components", "predictor");
    const char *revision = prg_json_get_text(component, "latestCreatedRevision");
    bool is_done = s->mode == PRG_MODE_STANDARD
                       ? prg_status_model_from_pods(s, "app", prg_arena_printf(s->arena, "isvc.%s", s->predictor_name))
                       : prg_status_model_from_pods(s, "serving.knative.dev/revision", revision ? revision : "");
    if (!is_done)
        s->plan->requeue_after_ms = 1000;
}

static int run_steps(struct run *r, struct prg_error *err)
{
    static int (*const steps[])(struct run *, struct prg_error *) = {
        check_implementation, prepare_annotations, make_pod_spec, name_service,
        make_metadata,        make_worker,         make_objects,
    };
    for (size_t i = 0; i < PRG_COUNT(steps); i++) {
        int rc = steps[i](r, err);
        if (rc != PRG_OK)
            return rc;
    }
    return PRG_OK;
}

// Messages of conditions are the original's texts, without what is only meant for plans.
static void set_failed_condition(struct run *r, const struct prg_error *err)
{
    char text[PRG_ERROR_LINE];
    if (r->is_condition_set_on_failure && err->code != PRG_POLICY)
        prg_status_raw_with_message(r->s, r->failure, prg_error_text(err, text, sizeof(text)), "False");
}

static void run_predictor(struct prg_serving *s)
{
    struct run r = {.s = s, .failure = "InvalidPredictor"};
    struct prg_error err = {0};
    prg_outcome_not_expressed(s);
    if (run_steps(&r, &err) == PRG_OK) {
        finish_status(s);
    } else {
        set_failed_condition(&r, &err);
        // Conditions have the original's texts; the error of the plan says which runtime it is about, too.
        if (err.code != PRG_POLICY && r.choice.name && strcmp(r.failure, "RuntimeNotSelected") != 0)
            prg_wrap(&err, "with %s %s", r.choice.is_cluster ? "ClusterServingRuntime" : "ServingRuntime",
                     r.choice.name);
        prg_outcome_error(s, r.failure, &err);
    }
    prg_error_clear(&err);
    if (s->plan->error_code != PRG_POLICY && prg_serving_patch_objects(s, &err) != PRG_OK) {
        s->error_text = NULL;
        prg_outcome_error(s, "PolicyFailed", &err);
    }
}

// ---- the plan ----

static void plan_service(struct prg_serving *s)
{
    struct prg_error err = {0};
    if (default_service(s, &err) != PRG_OK) {
        prg_outcome_error(s, "InvalidService", &err);
        return;
    }
    if (prg_meta_is_deleting(s->service)) {
        prg_plan_trace(s->plan, "plan", NULL, s->name, "nothing to do", "the service is being deleted");
        return;
    }
    s->stopped = is_stopped(s->service);
    s->multi_node = prg_json_is_object(prg_json_get(s->predictor, "workerSpec"));
    if (find_mode(s, &err) != PRG_OK) {
        prg_outcome_error(s, "InvalidConfiguration", &err);
        return;
    }
    if (s->mode == PRG_MODE_MODELMESH) {
        prg_outcome_modelmesh(s);
        prg_outcome_finish(s);
        return;
    }
    prg_outcome_initialize(s);
    struct prg_decision_context context = {
        .arena = s->arena,
        .service = s->service,
        .config = prg_serving_config_view(s->arena, s->config),
        .compat = prg_compat_to_json(s->arena, s->compat),
    };
    if (s->decide->begin(s->decide->ctx, &context, &err) != PRG_OK) {
        prg_outcome_error(s, "PolicyFailed", &err);
        return;
    }
    run_predictor(s);
    s->decide->end(s->decide->ctx);
    prg_outcome_finish(s);
}

// For those who count; a bad annotation is an error of the plan where the original has it, and names no kinds.
static const cJSON *gpu_types(const struct prg_serving *s)
{
    cJSON *types = NULL;
    if (prg_gpu_custom_types(s->arena, s->config, prg_meta_annotations(s->in->service), &types, NULL) != PRG_OK &&
        prg_gpu_custom_types(s->arena, s->config, NULL, &types, NULL) != PRG_OK)
        return NULL;
    return types;
}

int prg_serving_plan(const struct prg_serving_input *in, const struct prg_decider *decide, struct prg_plan *plan,
                     struct prg_error *err)
{
    struct prg_key key;
    struct prg_serving s = {.arena = plan->arena, .in = in, .decide = decide, .plan = plan};
    if (prg_key_of(plan->arena, in->service, &key, err) != PRG_OK)
        return prg_wrap(err, "the subject of the plan");
    if (!prg_text_equal(key.group, PRG_SERVING_GROUP) || !prg_text_equal(key.kind, "InferenceService"))
        return prg_fail(err, PRG_INVALID, "the subject of the plan is a %s, not an InferenceService",
                        prg_key_text(plan->arena, &key));
    s.compat = in->compat;
    s.config = in->config;
    s.name = prg_arena_strdup(plan->arena, key.name);
    s.ns = prg_arena_strdup(plan->arena, key.ns && *key.ns ? key.ns : "default");
    s.predictor_name = prg_arena_printf(plan->arena, "%s-predictor", s.name);
    s.stored_status = prg_json_get(in->service, "status");
    if (!prg_json_is_object(s.stored_status))
        s.stored_status = NULL;
    (void)prg_clock_format(in->now_ns, s.now);
    if (decide->revision) // the plan may outlive the set
        plan->policy_revision = prg_arena_strdup(plan->arena, decide->revision(decide->ctx));
    plan->gpu_types = gpu_types(&s);
    plan_service(&s);
    prg_plan_finish(plan);
    return PRG_OK;
}
