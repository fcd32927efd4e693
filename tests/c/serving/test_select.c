// SPDX-License-Identifier: Apache-2.0
// test_select.c: which runtime serves the model, and what it changes on the service.
#include "plan_fixture.h"

#define RUNTIME(kind, ns, name, spec)                                                                                  \
    "{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': '" kind "', 'metadata': {'name': '" name "'" ns              \
    ", 'annotations': {'of': '" kind "'}}, 'spec': " spec "}"
#define CLUSTER(name, spec) RUNTIME("ClusterServingRuntime", "", name, spec)
#define LOCAL(name, spec) RUNTIME("ServingRuntime", ", 'namespace': 'ns'", name, spec)
#define AUTO(format) "'supportedModelFormats': [{'name': '" format "', 'autoSelect': true}]"
#define MODEL(more) "{'model': {'modelFormat': {'name': 'onnx'}, 'storageUri': 's3://b'" more "}}"

struct fixture {
    struct px px;
    struct prg_serving s;
    struct prg_runtime_choice choice;
    int rc;
};

static struct fixture *prepare(const struct prg_compat *compat, const char *predictor, const char *objects)
{
    struct fixture *f = test_calloc(1, sizeof(*f));
    px_init(&f->px, compat);
    f->s = px_serving(&f->px, predictor, objects, NULL);
    return f;
}

static void run(struct fixture *f)
{
    f->rc = prg_serving_select(&f->s, &f->choice, &f->px.err);
}

static struct fixture *selected(const struct prg_compat *compat, const char *predictor, const char *objects)
{
    struct fixture *f = prepare(compat, predictor, objects);
    run(f);
    return f;
}

static void done(struct fixture *f)
{
    px_release(&f->px);
    test_free(f);
}

static const cJSON *status(const struct fixture *f)
{
    return prg_json_get(f->s.service, "status");
}

static const cJSON *model(const struct fixture *f)
{
    return prg_json_get(f->s.predictor, "model");
}

// ---- the best of all ----

static void the_best_runtime_is_taken_and_named(void **state)
{
    struct fixture *f = selected(&prg_compat_fixed, MODEL(""),
                                 "[" CLUSTER("c", "{" AUTO("onnx") "}") ", " LOCAL(
                                     "l", "{" AUTO("onnx") "}") ", " LOCAL("other", "{" AUTO("pmml") "}") "]");
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(f->choice.name, "l");
    assert_false(f->choice.is_cluster);
    assert_string_equal(prg_json_get_text(model(f), "runtime"), "l");
    assert_string_equal(prg_json_get_text(status(f), "servingRuntimeName"), "l");
    assert_ptr_equal(f->choice.spec, prg_json_get(f->choice.object, "spec"));
    assert_int_equal(prg_json_origin(f->choice.spec), PRG_ORIGIN_NONE); // the store's own, which nobody marks
    assert_string_equal(px_traced(f->s.plan, "ServingRuntime l", "chosen")->reason, "first of 2 accepted");
    assert_string_equal(px_traced(f->s.plan, "ServingRuntime l", "chosen")->source.function, "before");
    assert_string_equal(px_traced(f->s.plan, "ServingRuntime other", "rejected")->reason, "no entry for format onnx");
    assert_non_null(px_traced(f->s.plan, "ClusterServingRuntime c", "accepted"));
    done(f);
}

static void the_protocol_is_the_lowest_of_the_runtime_unless_given(void **state)
{
    struct fixture *f = selected(&prg_compat_fixed, MODEL(""), "[" CLUSTER("c", "{" AUTO("onnx") "}") "]");
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(prg_json_get_text(model(f), "protocolVersion"), ""); // what Go's zero value gives
    assert_string_equal(prg_json_get_text(status(f), "clusterServingRuntimeName"), "c");
    done(f);
    f = selected(&prg_compat_fixed, MODEL(""),
                 "[" CLUSTER("c", "{'protocolVersions': ['grpc-v2', 'v1'], " AUTO("onnx") "}") "]");
    assert_string_equal(prg_json_get_text(model(f), "protocolVersion"), "v1");
    done(f);
    f = selected(&prg_compat_fixed, MODEL(", 'protocolVersion': 'grpc-v2'"),
                 "[" CLUSTER("c", "{'protocolVersions': ['grpc-v2', 'v1'], " AUTO("onnx") "}") "]");
    assert_string_equal(prg_json_get_text(model(f), "protocolVersion"), "grpc-v2");
    done(f);
}

static void a_refusal_tells_what_was_asked_and_why_each_was_refused(void **state)
{
    struct fixture *f = selected(
        &prg_compat_fixed, "{'model': {'modelFormat': {'name': 'onnx', 'version': '2'}, 'protocolVersion': 'v2'}}",
        "[" CLUSTER("far", "{" AUTO("pmml") "}") ", " CLUSTER(
            "near", "{'supportedModelFormats': [{'name': 'onnx', 'version': '1'}]}") "]");
    (void)state;
    assert_int_equal(f->rc, PRG_INVALID);
    assert_string_equal(f->s.error_text,
                        "no runtime serves format 'onnx', version '2', protocol v2: near: no entry for version 2 of "
                        "format onnx; far: no entry for format onnx");
    assert_json_text(&f->px.arena, prg_json_get(status(f), "modelStatus"),
                     "{'transitionStatus': 'InvalidSpec', 'lastFailureInfo': {'reason': 'NoSupportingRuntime', "
                     "'message': 'No runtime found to support specified framework/version'}, "
                     "'states': {'activeModelState': '', 'targetModelState': 'FailedToLoad'}}");
    assert_null(prg_json_get(model(f), "runtime"));
    done(f);
}

static void no_runtimes_at_all_is_said(void **state)
{
    struct fixture *f = selected(&prg_compat_fixed, MODEL(""), NULL);
    (void)state;
    assert_int_equal(f->rc, PRG_INVALID);
    assert_string_equal(f->s.error_text,
                        "no runtime serves format 'onnx', protocol v1 (assumed): there are no runtimes at all");
    done(f);
}

static void a_service_of_several_nodes_needs_a_runtime_for_them(void **state)
{
    struct fixture *f = prepare(
        &prg_compat_fixed, MODEL(""),
        "[" CLUSTER("one", "{" AUTO("onnx") "}") ", " CLUSTER("many", "{'workerSpec': {}, " AUTO("onnx") "}") "]");
    (void)state;
    f->s.multi_node = true;
    run(f);
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(f->choice.name, "many");
    done(f);
    f = prepare(&prg_compat_fixed, MODEL(""), "[" CLUSTER("one", "{" AUTO("onnx") "}") "]");
    f->s.multi_node = true;
    run(f);
    assert_int_equal(f->rc, PRG_INVALID);
    assert_non_null(strstr(f->s.error_text, "on several nodes: one: has no workerSpec"));
    done(f);
}

// A cluster runtime is chosen while a disabled one of the namespace has its name.
#define SAME_NAME "[" CLUSTER("r", "{" AUTO("onnx") "}") ", " LOCAL("r", "{'disabled': true, " AUTO("onnx") "}") "]"

static void annotations_are_those_of_the_chosen_one(void **state)
{
    struct fixture *f = selected(&prg_compat_fixed, MODEL(""), SAME_NAME);
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(prg_json_get_text(f->choice.annotations, "of"), "ClusterServingRuntime");
    assert_string_equal(prg_json_get_text(status(f), "clusterServingRuntimeName"), "r");
    done(f);
    f = selected(&prg_compat_kserve, MODEL(""), SAME_NAME); // the original fetches it again by its name
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(prg_json_get_text(f->choice.annotations, "of"), "ServingRuntime");
    assert_non_null(px_traced(f->s.plan, "r", "annotations of another runtime"));
    done(f);
}

// ---- the named one ----

static void a_named_runtime_of_the_namespace_goes_first(void **state)
{
    struct fixture *f = selected(&prg_compat_fixed, MODEL(", 'runtime': 'r'"),
                                 "[" CLUSTER("r", "{" AUTO("onnx") "}") ", " LOCAL("r", "{" AUTO("onnx") "}") "]");
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_false(f->choice.is_cluster);
    assert_string_equal(px_traced(f->s.plan, "ServingRuntime r", "chosen")->reason, "the only one accepted");
    done(f);
}

static void a_runtime_of_another_namespace_does_not_count(void **state)
{
    struct fixture *f =
        selected(&prg_compat_fixed, MODEL(", 'runtime': 'r'"),
                 "[" RUNTIME("ServingRuntime", ", 'namespace': 'elsewhere'", "r", "{" AUTO("onnx") "}") "]");
    (void)state;
    assert_int_equal(f->rc, PRG_NOTFOUND);
    assert_error_has(&f->px.err, "/spec/predictor/model/runtime: there is no ServingRuntime 'r' in namespace ns");
    const cJSON *failure = prg_json_at(status(f), "modelStatus", "lastFailureInfo");
    assert_string_equal(prg_json_get_text(failure, "reason"), "RuntimeNotRecognized");
    assert_string_equal(prg_json_get_text(failure, "message"), "Waiting for runtime to become available");
    done(f);
}

static void a_refused_named_runtime_sets_the_status_of_the_original(void **state)
{
    static const struct {
        const char *objects, *model, *reason, *message, *error;
    } cases[] = {
        {"[" CLUSTER("r", "{'disabled': true, " AUTO("onnx") "}") "]", MODEL(", 'runtime': 'r'"), "RuntimeDisabled",
         "Specified runtime is disabled", "cannot serve format 'onnx', protocol v1 (assumed): disabled"},
        {"[" CLUSTER("r", "{'protocolVersions': ['v2'], " AUTO("onnx") "}") "]",
         MODEL(", 'runtime': 'r', 'protocolVersion': 'v1'"), "NoSupportingRuntime",
         "Specified runtime does not support specified protocol version", "does not speak protocol v1"},
        {"[" CLUSTER("r", "{" AUTO("pmml") "}") "]", MODEL(", 'runtime': 'r'"), "NoSupportingRuntime",
         "Specified runtime does not support specified framework/version", "no entry for format onnx"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fixture *f = selected(&prg_compat_fixed, cases[i].model, cases[i].objects);
        assert_int_equal(f->rc, PRG_INVALID);
        assert_error_has(&f->px.err, "ClusterServingRuntime r");
        assert_error_has(&f->px.err, cases[i].error);
        const cJSON *failure = prg_json_at(status(f), "modelStatus", "lastFailureInfo");
        assert_string_equal(prg_json_get_text(failure, "reason"), cases[i].reason);
        assert_string_equal(prg_json_get_text(failure, "message"), cases[i].message);
        done(f);
    }
}

static void a_runtime_of_wrong_types_is_refused_by_pointer(void **state)
{
    struct fixture *f =
        selected(&prg_compat_fixed, MODEL(", 'runtime': 'r'"), "[" CLUSTER("r", "{'containers': {}}") "]");
    (void)state;
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "ClusterServingRuntime r: /spec/containers: expected ");
    done(f);
}

// ---- policies ----

static int refuse_all(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates,
                      size_t count, struct prg_selection *ret, struct prg_error *err)
{
    (void)ctx;
    (void)request;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        candidates[i].code = "other";
        candidates[i].reason = "not on Sundays";
    }
    ret->accept = px_source("runtime_selection", "accept");
    return PRG_OK;
}

static void reasons_of_a_policy_reach_the_user(void **state)
{
    struct fixture *f =
        prepare(&prg_compat_fixed, MODEL(", 'runtime': 'r'"), "[" CLUSTER("r", "{" AUTO("onnx") "}") "]");
    (void)state;
    f->px.decider.base.select = refuse_all;
    run(f);
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "not on Sundays");
    assert_string_equal(prg_json_text(prg_json_at(status(f), "modelStatus", "lastFailureInfo", "message")),
                        "not on Sundays");
    done(f);
    f = prepare(&prg_compat_fixed, MODEL(""), "[" CLUSTER("r", "{" AUTO("onnx") "}") "]");
    f->px.decider.base.select = refuse_all;
    run(f);
    assert_non_null(strstr(f->s.error_text, "r: not on Sundays"));
    done(f);
}

static int choose_last(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates,
                       size_t count, struct prg_selection *ret, struct prg_error *err)
{
    int rc = px_select(ctx, request, candidates, count, ret, err);
    ret->chosen = ret->ordered[ret->count - 1];
    ret->reason = "the last shall be first";
    ret->choose = px_source("runtime_selection", "choose");
    return rc;
}

static void a_policy_may_choose_another_one(void **state)
{
    struct fixture *f = prepare(&prg_compat_fixed, MODEL(""),
                                "[" CLUSTER("a", "{" AUTO("onnx") "}") ", " CLUSTER("b", "{" AUTO("onnx") "}") "]");
    (void)state;
    f->px.decider.base.select = choose_last;
    run(f);
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(f->choice.name, "b");
    const struct prg_trace_entry *entry = px_traced(f->s.plan, "ClusterServingRuntime b", "chosen");
    assert_string_equal(entry->source.function, "choose");
    assert_string_equal(entry->reason, "the last shall be first");
    done(f);
}

static int fail_select(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates,
                       size_t count, struct prg_selection *ret, struct prg_error *err)
{
    (void)ctx;
    (void)request;
    (void)candidates;
    (void)count;
    (void)ret;
    return prg_fail(err, PRG_POLICY, "runtime_selection.accept: f.lua:9: boom");
}

static void a_failing_policy_sets_no_status(void **state)
{
    struct fixture *f = prepare(&prg_compat_fixed, MODEL(""), "[" CLUSTER("a", "{" AUTO("onnx") "}") "]");
    (void)state;
    f->px.decider.base.select = fail_select;
    run(f);
    assert_int_equal(f->rc, PRG_POLICY);
    assert_error_has(&f->px.err, "runtime selection: runtime_selection.accept: f.lua:9: boom");
    assert_null(status(f));
    done(f);
}

// The policy is told about service, namespace and model.
static struct prg_runtime_request seen;
static int look(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates, size_t count,
                struct prg_selection *ret, struct prg_error *err)
{
    seen = *request;
    return px_select(ctx, request, candidates, count, ret, err);
}

static void a_policy_sees_service_and_namespace(void **state)
{
    struct fixture *f = prepare(
        &prg_compat_fixed, MODEL(""),
        "[{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'ns', 'labels': {'tier': 'x'}}}, " CLUSTER(
            "a", "{" AUTO("onnx") "}") "]");
    (void)state;
    f->px.decider.base.select = look;
    run(f);
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(prg_meta_label(seen.namespace_object, "tier"), "x");
    assert_string_equal(prg_meta_name(seen.service), "m");
    assert_false(seen.named);
    assert_false(seen.multi_node);
    done(f);
}

// ---- defaults of well-known servers ----

static const char *env_value(const struct fixture *f, const char *name)
{
    const cJSON *entry, *last = NULL;
    prg_json_each (entry, prg_json_get(model(f), "env")) {
        if (prg_text_equal(prg_json_get_text(entry, "name"), name))
            last = entry;
    }
    return prg_json_get_text(last, "value");
}

#define SERVER(name, type)                                                                                             \
    "[{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ClusterServingRuntime', 'metadata': {'name': '" name       \
    "', 'annotations': {'serving.kserve.io/server-type': '" type "'}}, 'spec': {" AUTO("onnx") "}}]"

static void mlserver_is_told_where_the_model_is(void **state)
{
    struct fixture *f = selected(&prg_compat_fixed, MODEL(""), SERVER("x", "mlserver"));
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(env_value(f, "MLSERVER_MODEL_NAME"), "m");
    assert_string_equal(env_value(f, "MLSERVER_MODEL_URI"), "/mnt/models");
    assert_string_equal(prg_json_get_text(model(f), "protocolVersion"), "v2");
    assert_string_equal(prg_meta_label(f->s.service, "modelClass"), "mlserver_sklearn.SKLearnModel");
    done(f);
    f = selected(&prg_compat_fixed, "{'model': {'modelFormat': {'name': 'onnx'}}}", SERVER("x", "mlserver"));
    assert_string_equal(env_value(f, "MLSERVER_LOAD_MODELS_AT_STARTUP"), "false");
    assert_null(env_value(f, "MLSERVER_MODEL_NAME"));
    done(f);
}

static void torchserve_and_triton_get_theirs(void **state)
{
    struct fixture *f = selected(&prg_compat_fixed, MODEL(", 'env': [{'name': 'PROTOCOL_VERSION', 'value': 'mine'}]"),
                                 SERVER("x", "torchserve"));
    (void)state;
    assert_string_equal(prg_meta_label(f->s.service, "serviceEnvelope"), "kserve");
    assert_string_equal(env_value(f, "PROTOCOL_VERSION"), "v1"); // the last one counts
    done(f);
    f = selected(&prg_compat_fixed, "{'model': {'modelFormat': {'name': 'onnx'}}}", SERVER("x", "tritonserver"));
    assert_json_text(&f->px.arena, prg_json_get(model(f), "args"), "['--model-control-mode=explicit']");
    done(f);
}

static void the_annotation_goes_before_the_well_known_name(void **state)
{
    struct fixture *f = selected(&prg_compat_fixed, MODEL(""), SERVER("kserve-mlserver", ""));
    (void)state;
    assert_null(prg_meta_label(f->s.service, "modelClass")); // an empty annotation says: none of them
    done(f);
    f = selected(&prg_compat_fixed, MODEL(""), "[" CLUSTER("kserve-mlserver", "{" AUTO("onnx") "}") "]");
    assert_string_equal(prg_meta_label(f->s.service, "modelClass"), "mlserver_sklearn.SKLearnModel");
    done(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_runtime_is_taken_and_named),
        cmocka_unit_test(the_protocol_is_the_lowest_of_the_runtime_unless_given),
        cmocka_unit_test(a_refusal_tells_what_was_asked_and_why_each_was_refused),
        cmocka_unit_test(no_runtimes_at_all_is_said),
        cmocka_unit_test(a_service_of_several_nodes_needs_a_runtime_for_them),
        cmocka_unit_test(annotations_are_those_of_the_chosen_one),
        cmocka_unit_test(a_named_runtime_of_the_namespace_goes_first),
        cmocka_unit_test(a_runtime_of_another_namespace_does_not_count),
        cmocka_unit_test(a_refused_named_runtime_sets_the_status_of_the_original),
        cmocka_unit_test(a_runtime_of_wrong_types_is_refused_by_pointer),
        cmocka_unit_test(reasons_of_a_policy_reach_the_user),
        cmocka_unit_test(a_policy_may_choose_another_one),
        cmocka_unit_test(a_failing_policy_sets_no_status),
        cmocka_unit_test(a_policy_sees_service_and_namespace),
        cmocka_unit_test(mlserver_is_told_where_the_model_is),
        cmocka_unit_test(torchserve_and_triton_get_theirs),
        cmocka_unit_test(the_annotation_goes_before_the_well_known_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
