// SPDX-License-Identifier: Apache-2.0
// select.c: which runtime serves the model (Predictor.reconcileModel): the named one, checked, or the best of all that
// fit. What fits and what is best the runtime_selection policy says.
#include <string.h>

#include "serving/candidates.h"
#include "serving/context.h"
#include "serving/predictor.h"
#include "serving/runtimes.h"
#include "serving/typecheck.h"

static cJSON *model_of(struct prg_serving *s)
{
    return prg_json_get(s->predictor, "model");
}

static void set_text(struct prg_serving *s, cJSON *object, const char *key, const char *text, enum prg_origin origin)
{
    cJSON *value = prg_json_string(s->arena, text);
    prg_json_tag(value, origin);
    prg_json_set(s->arena, object, key, value);
}

static void invalid_spec(struct prg_serving *s, const char *reason, const char *message)
{
    prg_status_model_transition(s, "InvalidSpec", reason, message);
}

// ---- defaults that depend on the runtime (InferenceService.SetRuntimeDefaults) ----

static void append_env(struct prg_serving *s, const char *name, const char *value, bool unless_there)
{
    cJSON *env = prg_json_ensure_array(s->arena, model_of(s), "env");
    if (unless_there && prg_named_item(env, name))
        return;
    cJSON *entry = prg_json_object(s->arena);
    prg_json_set_string(s->arena, entry, "name", name);
    prg_json_set_string(s->arena, entry, "value", value);
    prg_json_tag(entry, PRG_ORIGIN_RULE);
    prg_json_append(env, entry);
    prg_plan_trace(s->plan, "default", NULL, prg_arena_printf(s->arena, "/spec/predictor/model/env/%s", name), "added",
                   prg_arena_printf(s->arena, "'%s', for this kind of server", value));
}

static void set_label(struct prg_serving *s, const char *key, const char *value)
{
    cJSON *metadata = prg_json_ensure_object(s->arena, s->service, "metadata");
    set_text(s, prg_json_ensure_object(s->arena, metadata, "labels"), key, value, PRG_ORIGIN_RULE);
    prg_plan_trace(s->plan, "default", NULL, prg_arena_printf(s->arena, "/metadata/labels/%s", key), "set",
                   prg_arena_printf(s->arena, "'%s', for this kind of server", value));
}

static void default_protocol(struct prg_serving *s, const char *protocol, const char *why)
{
    if (prg_json_get_text(model_of(s), "protocolVersion"))
        return;
    set_text(s, model_of(s), "protocolVersion", protocol, PRG_ORIGIN_RULE);
    prg_plan_trace(s->plan, "default", NULL, "/spec/predictor/model/protocolVersion", "set",
                   prg_arena_printf(s->arena, "'%s', %s", protocol, why));
}

static bool has_storage(struct prg_serving *s)
{
    return prg_json_get_text(model_of(s), "storageUri") || prg_json_is_object(prg_json_get(model_of(s), "storage"));
}

static void mlserver_defaults(struct prg_serving *s)
{
    static const char *const classes[][2] = {{"xgboost", "mlserver_xgboost.XGBoostModel"},
                                             {"lightgbm", "mlserver_lightgbm.LightGBMModel"},
                                             {"mlflow", "mlserver_mlflow.MLflowRuntime"}};
    const char *format = prg_json_text(prg_json_at(model_of(s), "modelFormat", "name"));
    const char *model_class = "mlserver_sklearn.SKLearnModel";
    default_protocol(s, "v2", "what mlserver speaks");
    if (!has_storage(s)) {
        append_env(s, "MLSERVER_LOAD_MODELS_AT_STARTUP", "false", true);
    } else {
        append_env(s, "MLSERVER_MODEL_NAME", s->name, true);
        append_env(s, "MLSERVER_MODEL_URI", PRG_MODEL_PATH, true);
    }
    for (size_t i = 0; i < PRG_COUNT(classes); i++)
        if (prg_text_equal(format, classes[i][0]))
            model_class = classes[i][1];
    set_label(s, "modelClass", model_class);
}

static void torchserve_defaults(struct prg_serving *s)
{
    default_protocol(s, "v1", "what torchserve speaks");
    const char *protocol = prg_json_get_text(model_of(s), "protocolVersion");
    bool is_v2 = prg_text_equal(protocol, "v2") || prg_text_equal(protocol, "grpc-v2");
    set_label(s, "serviceEnvelope", is_v2 ? "kservev2" : "kserve");
    append_env(s, "PROTOCOL_VERSION", protocol, false); // after one of the user's, which it overrides
}

static void triton_defaults(struct prg_serving *s)
{
    default_protocol(s, "v2", "what triton speaks");
    if (has_storage(s))
        return;
    cJSON *argument = prg_json_string(s->arena, "--model-control-mode=explicit");
    prg_json_tag(argument, PRG_ORIGIN_RULE);
    prg_json_append(prg_json_ensure_array(s->arena, model_of(s), "args"), argument);
    prg_plan_trace(s->plan, "default", NULL, "/spec/predictor/model/args", "added",
                   "--model-control-mode=explicit, since there is no storage");
}

// The annotation tells the kind of server, also when it is empty; without it the well-known names do.
static void runtime_defaults(struct prg_serving *s, const struct prg_runtime_choice *choice)
{
    static const struct {
        const char *type, *runtime;
        void (*apply)(struct prg_serving *s);
    } servers[] = {{"mlserver", "kserve-mlserver", mlserver_defaults},
                   {"torchserve", "kserve-torchserve", torchserve_defaults},
                   {"tritonserver", "kserve-tritonserver", triton_defaults}};
    const char *type = prg_json_get_text(choice->annotations, PRG_ANNOTATION_SERVER_TYPE);
    for (size_t i = 0; i < PRG_COUNT(servers); i++)
        if (type ? prg_text_equal(type, servers[i].type) : prg_text_equal(choice->name, servers[i].runtime))
            servers[i].apply(s);
}

// ---- the store ----

static const cJSON *find_runtime(const struct prg_serving *s, const char *name, bool *ret_is_cluster)
{
    const struct prg_reader *store = s->in->store;
    const cJSON *object = *name ? prg_reader_get(store, PRG_SERVING_GROUP, "ServingRuntime", s->ns, name) : NULL;
    *ret_is_cluster = object == NULL;
    if (!object && *name)
        object = prg_reader_get(store, PRG_SERVING_GROUP, "ClusterServingRuntime", "", name);
    return object;
}

static bool is_text(const cJSON *node)
{
    return prg_json_is_string(node) && strlen(prg_json_text(node)) == prg_json_text_length(node);
}

static void tell_unreadable(const cJSON *object, const char *why, void *ctx)
{
    struct prg_serving *s = ctx;
    const char *kind = prg_json_get_text(object, "kind");
    prg_plan_trace(s->plan, "runtime", NULL,
                   prg_arena_printf(s->arena, "%s %s", kind ? kind : "", prg_meta_name(object)), "rejected",
                   prg_arena_printf(s->arena, "cannot be read: %s", why));
}

// ---- asking the policy ----

static const char *scope_of(const struct prg_candidate *candidate)
{
    return candidate->is_cluster ? "ClusterServingRuntime" : "ServingRuntime";
}

static void trace_selection(struct prg_serving *s, const struct prg_candidate *candidates, size_t count,
                            const struct prg_selection *selection)
{
    for (size_t i = 0; i < count; i++) {
        const struct prg_candidate *candidate = &candidates[i];
        const char *subject = prg_arena_join(s->arena, scope_of(candidate), " ", candidate->name);
        if (!candidate->accepted)
            prg_plan_trace(s->plan, "runtime", &selection->accept, subject, "rejected",
                           candidate->reason ? candidate->reason : candidate->code);
        else
            prg_plan_trace(s->plan, "runtime", &selection->accept, subject, "accepted", NULL);
    }
    if (!selection->chosen)
        return;
    const struct prg_policy_source *source = selection->choose.function ? &selection->choose : &selection->before;
    const char *reason = selection->reason;
    if (!reason && selection->count > 1)
        reason = prg_arena_printf(s->arena, "first of %zu accepted", selection->count);
    if (!reason)
        reason = "the only one accepted";
    prg_plan_trace(s->plan, "runtime", source,
                   prg_arena_printf(s->arena, "%s %s", scope_of(selection->chosen), selection->chosen->name), "chosen",
                   reason);
}

// candidates live in the plan's arena.
static int ask(struct prg_serving *s, const struct prg_runtime_request *request, struct prg_candidate *candidates,
               size_t count, struct prg_selection *ret, struct prg_error *err)
{
    struct prg_runtime_record *record = prg_arena_new(s->arena, struct prg_runtime_record);
    memset(ret, 0, sizeof(*ret));
    if (s->decide->select(s->decide->ctx, request, candidates, count, ret, err) != PRG_OK)
        return prg_wrap(err, "runtime selection");
    *record = (struct prg_runtime_record){*request, candidates, count, *ret};
    s->plan->runtimes = record;
    trace_selection(s, candidates, count, ret);
    return PRG_OK;
}

// ---- what is chosen ----

// The runtime stays the store's: what the plan takes of it is copied there.
static int take(struct prg_serving *s, const cJSON *object, bool is_cluster, struct prg_runtime_choice *ret,
                struct prg_error *err)
{
    const char *name = prg_meta_name(object);
    const char *what = prg_arena_join(s->arena, is_cluster ? "ClusterServingRuntime " : "ServingRuntime ", name);
    if (prg_check_types(s->arena, &prg_schema_serving_runtime, object, what, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    ret->object = object;
    ret->spec = prg_json_get(object, "spec");
    ret->annotations = prg_meta_annotations(object);
    ret->name = prg_arena_strdup(s->arena, name); // the plan may outlive the store's object
    ret->is_cluster = is_cluster;
    return PRG_OK;
}

static void set_runtime_name(struct prg_serving *s, const char *name, bool is_cluster)
{
    cJSON *status = prg_json_ensure_object(s->arena, s->service, "status");
    prg_json_remove(status, is_cluster ? "servingRuntimeName" : "clusterServingRuntimeName");
    prg_json_set_string(s->arena, status, is_cluster ? "clusterServingRuntimeName" : "servingRuntimeName", name);
}

// ---- the named runtime ----

static int no_such_runtime(struct prg_serving *s, const char *name, struct prg_error *err)
{
    invalid_spec(s, "RuntimeNotRecognized", "Waiting for runtime to become available");
    return prg_fail(err, PRG_NOTFOUND,
                    "/spec/predictor/model/runtime: there is no ServingRuntime '%s' in namespace %s and no "
                    "ClusterServingRuntime of that name",
                    name, s->ns);
}

static const char *asked_for(struct prg_serving *s, const struct prg_runtime_request *request)
{
    return prg_arena_printf(s->arena, "format '%s'%s%s%s, protocol %s%s", request->format_name,
                            request->format_version ? ", version '" : "",
                            request->format_version ? request->format_version : "", request->format_version ? "'" : "",
                            request->protocol, request->protocol_given ? "" : " (assumed)");
}

static int refused(struct prg_serving *s, const struct prg_runtime_request *request,
                   const struct prg_candidate *candidate, struct prg_error *err)
{
    const char *reason = candidate->reason ? candidate->reason : "the policy refuses it";
    if (prg_text_equal(candidate->code, "disabled"))
        invalid_spec(s, "RuntimeDisabled", "Specified runtime is disabled");
    else if (prg_text_equal(candidate->code, "protocol"))
        invalid_spec(s, "NoSupportingRuntime", "Specified runtime does not support specified protocol version");
    else if (prg_text_equal(candidate->code, "format") || prg_text_equal(candidate->code, "version"))
        invalid_spec(s, "NoSupportingRuntime", "Specified runtime does not support specified framework/version");
    else
        invalid_spec(s, "NoSupportingRuntime", reason);
    return prg_fail(err, PRG_INVALID, "/spec/predictor/model/runtime: %s %s cannot serve %s: %s", scope_of(candidate),
                    candidate->name, asked_for(s, request), reason);
}

static int select_named(struct prg_serving *s, struct prg_runtime_request *request, struct prg_runtime_choice *ret,
                        struct prg_error *err)
{
    const char *name = prg_json_get_text(model_of(s), "runtime");
    bool is_cluster;
    struct prg_candidate *candidate = prg_arena_new(s->arena, struct prg_candidate);
    struct prg_selection selection;
    const cJSON *object = find_runtime(s, name, &is_cluster);
    if (!object)
        return no_such_runtime(s, name, err);
    if (take(s, object, is_cluster, ret, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    const char *why = prg_runtime_unreadable(object);
    if (why)
        return prg_fail(err, PRG_INVALID, "%s %s: %s", is_cluster ? "ClusterServingRuntime" : "ServingRuntime", name,
                        why);
    prg_candidate_of(object, is_cluster, request, s->compat, candidate);
    if (ask(s, request, candidate, 1, &selection, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    return selection.chosen ? PRG_OK : refused(s, request, candidate, err);
}

// ---- the best of all ----

static int none_fits(struct prg_serving *s, const struct prg_runtime_request *request,
                     const struct prg_candidate *candidates, size_t count, struct prg_error *err)
{
    prg_auto_strbuf why = PRG_STRBUF_INIT;
    // Those that serve the format at all are the ones that somebody may have meant; they come first.
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            bool is_near = !prg_text_equal(candidates[i].code, "format");
            if (is_near == (pass == 0))
                prg_strbuf_printf(&why, "%s%s: %s", why.length ? "; " : "", candidates[i].name,
                                  candidates[i].reason ? candidates[i].reason : "refused");
        }
    invalid_spec(s, "NoSupportingRuntime", "No runtime found to support specified framework/version");
    s->error_text = prg_arena_printf(s->arena, "no runtime serves %s%s: %s", asked_for(s, request),
                                     request->multi_node ? " on several nodes" : "",
                                     count ? why.text : "there are no runtimes at all");
    return prg_fail(err, PRG_INVALID, "%s", s->error_text);
}

static int select_best(struct prg_serving *s, struct prg_runtime_request *request, struct prg_runtime_choice *ret,
                       struct prg_error *err)
{
    struct prg_candidate *candidates;
    struct prg_selection selection;
    struct prg_runtimes_handler handler = {tell_unreadable, s};
    size_t count = prg_runtimes_candidates(s->in->runtimes, s->in->store, s->ns, request, s->compat, s->arena, &handler,
                                           &candidates);
    if (ask(s, request, candidates, count, &selection, err) != PRG_OK)
        return err ? err->code : PRG_POLICY;
    if (!selection.chosen)
        return none_fits(s, request, candidates, count, err);
    const struct prg_candidate *chosen = selection.chosen;
    if (take(s, chosen->object, chosen->is_cluster, ret, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    set_text(s, model_of(s), "runtime", ret->name, PRG_ORIGIN_RULE);
    if (prg_mended(s->compat, PRG_COMPAT_chosen_annotations))
        return PRG_OK;
    // The original fetches the chosen one again, by its name only.
    bool is_cluster;
    const cJSON *other = find_runtime(s, ret->name, &is_cluster);
    if (other && is_cluster != chosen->is_cluster) {
        const cJSON *annotations = prg_meta_annotations(other);
        ret->annotations = annotations;
        ret->is_cluster = is_cluster;
        prg_plan_trace(s->plan, "runtime", NULL, ret->name, "annotations of another runtime",
                       "a ServingRuntime of this namespace has the chosen one's name (compat chosen_annotations)");
    }
    return PRG_OK;
}

int prg_serving_select(struct prg_serving *s, struct prg_runtime_choice *ret, struct prg_error *err)
{
    struct prg_runtime_request request;
    const cJSON *namespace_object = prg_reader_get(s->in->store, "", "Namespace", "", s->ns);
    static const char *const texts[] = {"name", "version"};
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        const cJSON *text = prg_json_at(model_of(s), "modelFormat", texts[i]);
        if (text && !prg_json_is_null(text) && !is_text(text))
            return prg_fail(err, PRG_INVALID, "/spec/predictor/model/modelFormat/%s is no text without NUL", texts[i]);
    }
    prg_candidates_request(s->service, namespace_object, model_of(s), &request);
    request.multi_node = s->multi_node;
    int rc = request.named ? select_named(s, &request, ret, err) : select_best(s, &request, ret, err);
    if (rc != PRG_OK)
        return rc;
    runtime_defaults(s, ret);
    set_runtime_name(s, ret->name, ret->is_cluster);
    default_protocol(s, prg_protocol_name(prg_protocol_lowest(prg_json_get(ret->spec, "protocolVersions"))),
                     "the lowest of the runtime");
    return PRG_OK;
}
