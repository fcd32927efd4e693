// SPDX-License-Identifier: Apache-2.0
// test_failing.c: a policy that fails, wherever in a plan it is asked, leaves everything as it is and says so.
#include "plan_fixture.h"

// Which call of which function fails, counted from 1 over the plan.
static struct {
    const char *function;
    unsigned call, calls;
} failing;

static int failed(const char *function, struct prg_error *err)
{
    if (strcmp(failing.function, function) != 0 || ++failing.calls != failing.call)
        return PRG_OK;
    return prg_fail(err, PRG_POLICY, "my.lua:3: %s fails", function);
}

static int select_or_fail(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates,
                          size_t count, struct prg_selection *ret, struct prg_error *err)
{
    int rc = failed("select", err);
    return rc == PRG_OK ? px_select(ctx, request, candidates, count, ret, err) : rc;
}

static int keep_or_fail(void *ctx, const char *key, const char *value, const char *layer, enum prg_keep *ret,
                        const char **ret_reason, struct prg_policy_source *source, struct prg_error *err)
{
    int rc = failed(layer, err);
    return rc == PRG_OK ? px_keep(ctx, key, value, layer, ret, ret_reason, source, err) : rc;
}

static int layers_or_fail(void *ctx, const char *part, const char *target, const char **ret_layers, size_t *ret_count,
                          size_t cap, struct prg_policy_source *source, struct prg_error *err)
{
    int rc = failed("layers", err);
    return rc == PRG_OK ? px_layers(ctx, part, target, ret_layers, ret_count, cap, source, err) : rc;
}

static bool merges_args(void *ctx, const char *function)
{
    (void)ctx;
    return strcmp(failing.function, "args") == 0 && strcmp(function, "args") == 0;
}

static int args_or_fail(void *ctx, const cJSON *runtime_args, const cJSON *service_args, const char *container,
                        cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    (void)ctx;
    (void)runtime_args;
    (void)service_args;
    (void)container;
    (void)source;
    *ret = NULL;
    return failed("args", err);
}

static int image_or_fail(void *ctx, const char *image, const struct prg_image_request *request, const char **ret,
                         struct prg_policy_source *source, struct prg_error *err)
{
    int rc = failed("image", err);
    return rc == PRG_OK ? px_image(ctx, image, request, ret, source, err) : rc;
}

static int topology_or_fail(void *ctx, const struct prg_topology_request *request, struct prg_topology *ret,
                            const char **ret_refusal, struct prg_policy_source *source, struct prg_error *err)
{
    int rc = failed("topology", err);
    return rc == PRG_OK ? px_topology(ctx, request, ret, ret_refusal, source, err) : rc;
}

static const char service_text[] =
    "{'apiVersion':'serving.kserve.io/v1beta1','kind':'InferenceService','metadata':{'name':'m','namespace':'ns',"
    "'uid':'u','generation':2,'annotations':{'serving.kserve.io/deploymentMode':'Standard','a':'1'}},"
    "'spec':{'predictor':{'annotations':{'b':'2'},'model':{'modelFormat':{'name':'sklearn'},'storageUri':'gs://b/m',"
    "'args':['--y']},'workerSpec':{'containers':[{'name':'worker-container','args':['--z']}]}}},"
    "'status':{'url':'http://kept','conditions':[{'type':'PredictorReady','status':'True'}]}}";
static const char objects_text[] =
    "[{'apiVersion':'serving.kserve.io/v1alpha1','kind':'ClusterServingRuntime','metadata':{'name':'rt'},"
    "'spec':{'annotations':{'c':'3'},'supportedModelFormats':[{'name':'sklearn','autoSelect':true}],"
    "'containers':[{'name':'kserve-container','image':'i:1','args':['--x']}],"
    "'workerSpec':{'annotations':{'d':'4'},'containers':[{'name':'worker-container','image':'i:1'}]}}}]";
static const char configmap_text[] =
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'inferenceservice-config','namespace':'kserve'},'data':{"
    "'ingress':'{\\'ingressDomain\\':\\'example.com\\',\\'ingressGateway\\':\\'a/b\\'}',"
    "'storageInitializer':'{\\'cpuRequest\\':\\'1\\',\\'cpuLimit\\':\\'1\\',\\'memoryRequest\\':\\'1\\',"
    "\\'memoryLimit\\':\\'1\\'}'}}";

static struct prg_plan *plan_with(struct px *px, const char *runtime)
{
    cJSON *service = json_of(&px->arena, service_text);
    if (runtime)
        prg_json_set_string(&px->arena, prg_json_at(service, "spec", "predictor", "model"), "runtime", runtime);
    px_prepare(px, service, json_of(&px->arena, objects_text), json_of(&px->arena, configmap_text));
    px->decider.base.select = select_or_fail;
    px->decider.base.keep_annotation = keep_or_fail;
    px->decider.base.label_layers = layers_or_fail;
    px->decider.base.has_container_merge = merges_args;
    px->decider.base.merge_args = args_or_fail;
    px->decider.base.image_tag = image_or_fail;
    px->decider.base.topology = topology_or_fail;
    failing.calls = 0;
    assert_ok(prg_serving_plan(&px->in, &px->decider.base, px->plan, &px->err), &px->err);
    assert_int_equal(px->decider.begun, px->decider.ended);
    return px->plan;
}

static void check_left_alone(const struct prg_plan *plan)
{
    assert_non_null(plan->error);
    assert_int_equal(plan->error_code, PRG_POLICY);
    assert_non_null(strstr(plan->error, "my.lua:3"));
    assert_int_equal(prg_json_count(plan->objects), 0);
    assert_int_equal(prg_json_count(plan->deletes), 0);
    assert_non_null(px_event(plan, "PolicyFailed"));
    assert_string_equal(prg_json_get_text(px_condition(plan, "PolicyFailed"), "message"), plan->error);
    // The rest of the status is what it was: the service may well be running.
    assert_string_equal(prg_json_get_text(px_condition(plan, "PredictorReady"), "status"), "True");
    assert_string_equal(prg_json_get_text(prg_json_get(plan->resource, "status"), "url"), "http://kept");
    assert_null(prg_json_at(plan->resource, "status", "servingRuntimeName"));
    assert_null(prg_json_at(plan->resource, "status", "modelStatus", "lastFailureInfo"));
}

static void a_policy_that_fails_anywhere_leaves_the_service_as_it_is(void **state)
{
    static const struct {
        const char *function;
        unsigned calls; // how often it is asked in this plan, at least
    } asked[] = {{"service", 2}, {"predictor", 1}, {"runtime", 1}, {"worker", 1},  {"select", 1},
                 {"layers", 4},  {"args", 2},      {"image", 1},   {"topology", 1}};
    static const char *const runtimes[] = {NULL, "rt"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(asked); i++)
        for (unsigned call = 1; call <= asked[i].calls; call++)
            for (size_t named = 0; named < PRG_COUNT(runtimes); named++) {
                struct px px;
                px_init(&px, &prg_compat_fixed);
                failing.function = asked[i].function;
                failing.call = call;
                check_left_alone(plan_with(&px, runtimes[named]));
                px_release(&px);
            }
}

static void without_a_failure_the_same_service_is_planned(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    failing.function = "none";
    const struct prg_plan *plan = plan_with(&px, NULL);
    assert_null(plan->error);
    assert_non_null(px_object(plan, "Deployment", "m-predictor-worker"));
    px_release(&px);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_that_fails_anywhere_leaves_the_service_as_it_is),
        cmocka_unit_test(without_a_failure_the_same_service_is_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
