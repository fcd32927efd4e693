// SPDX-License-Identifier: Apache-2.0
// test_serving_loop.c: from changed objects to applied plans, over a store in memory with the shipped policies and
// runtimes.
#include "loop_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "object/meta.h"

struct fixture {
    struct loop_fixture is; // first
    // of the last reconcile
    size_t reconciled, created, updated, deleted, unchanged;
    bool status_changed;
    char error[PRG_ERROR_LINE];
};

static void on_report(const struct prg_reconcile_report *report, void *ctx)
{
    struct fixture *f = ctx;
    f->created = report->created;
    f->updated = report->updated;
    f->deleted = report->deleted;
    f->unchanged = report->unchanged;
    f->status_changed = report->status_changed;
    f->error[0] = 0;
    if (report->error)
        prg_error_text(report->error, f->error, sizeof(f->error));
    else if (report->plan->error)
        snprintf(f->error, sizeof(f->error), "%s", report->plan->error);
}

static void put_service(struct fixture *f, const char *name, const char *model)
{
    loop_fixture_put(
        &f->is,
        prg_arena_printf(
            &f->is.arena,
            "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', 'metadata': {'name': '%s', "
            "'namespace': 'default', 'uid': 'u-%s', 'generation': 1, 'annotations': "
            "{'serving.kserve.io/deploymentMode': 'Standard'}}, 'spec': {'predictor': {'model': %s}}}",
            name, name, model));
}

static const char sklearn[] = "{'modelFormat': {'name': 'sklearn'}, 'storageUri': 'gs://b/m'}";

static int setup(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    struct prg_serving_loop_options options = {.report = on_report, .ctx = f};
    loop_fixture_init(&f->is, NULL, &options);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    loop_fixture_release(&f->is);
    free(f);
    return 0;
}

static size_t run(struct fixture *f)
{
    f->created = f->updated = f->deleted = f->unchanged = 0;
    f->reconciled = prg_serving_loop_run(f->is.loop, f->is.now_ms, loop_fixture_wall_ns);
    return f->reconciled;
}

static void changed(struct fixture *f, const char *group, const char *kind, const char *ns, const char *name)
{
    struct prg_key key = {group, kind, ns, name};
    prg_serving_loop_changed(f->is.loop, &key, f->is.now_ms);
}

static const cJSON *get(struct fixture *f, const char *group, const char *kind, const char *name)
{
    return prg_reader_get(&f->is.store->reader, group, kind, "default", name);
}

static void a_new_service_gets_its_objects_and_a_status_and_then_rest(void **state)
{
    struct fixture *f = *state;
    put_service(f, "iris", sklearn);
    changed(f, "serving.kserve.io", "InferenceService", "default", "iris");
    assert_int_equal(run(f), 1);
    assert_string_equal(f->error, "");
    assert_int_equal(f->created, 3);
    assert_true(f->status_changed);
    assert_non_null(get(f, "apps", "Deployment", "iris-predictor"));
    changed(f, "serving.kserve.io", "InferenceService", "default", "iris");
    assert_int_equal(run(f), 1);
    assert_int_equal(f->unchanged, 3);
    assert_int_equal(f->created + f->updated + f->deleted, 0);
    assert_false(f->status_changed);
    assert_int_equal(prg_serving_loop_next_ms(f->is.loop, f->is.now_ms), -1);
}

static void a_changed_runtime_or_configuration_wakes_every_service_once(void **state)
{
    struct fixture *f = *state;
    put_service(f, "a", sklearn);
    put_service(f, "b", sklearn);
    prg_serving_loop_enqueue_all(f->is.loop, f->is.now_ms);
    assert_int_equal(run(f), 2);
    changed(f, "serving.kserve.io", "ClusterServingRuntime", "", "kserve-sklearnserver");
    changed(f, "", "ConfigMap", "kserve", "inferenceservice-config");
    assert_int_equal(run(f), 2);
    changed(f, "", "ConfigMap", "default", "something-else");
    assert_int_equal(run(f), 0);
    changed(f, "serving.kserve.io", "ServingRuntime", "elsewhere", "x");
    assert_int_equal(run(f), 0);
}

static void put_secret(struct fixture *f, const char *name, const char *type)
{
    loop_fixture_put(&f->is, prg_arena_printf(&f->is.arena,
                                              "{'apiVersion': 'v1', 'kind': 'Secret', 'type': '%s',"
                                              " 'metadata': {'name': '%s', 'namespace': 'default'}}",
                                              type, name));
    changed(f, "", "Secret", "default", name);
}

static void secrets_that_no_plan_reads_wake_nobody(void **state)
{
    struct fixture *f = *state;
    put_service(f, "a", sklearn);
    prg_serving_loop_enqueue_all(f->is.loop, f->is.now_ms);
    assert_int_equal(run(f), 1);
    put_secret(f, "sh.helm.release.v1.x.v1", "helm.sh/release.v1");
    put_secret(f, "default-token", "kubernetes.io/service-account-token");
    assert_int_equal(run(f), 0);
    put_secret(f, "s3", "Opaque");
    assert_int_equal(run(f), 1);
    changed(f, "", "Secret", "default", "gone");
    assert_int_equal(run(f), 1);
}

static void an_owned_object_that_changes_or_vanishes_wakes_its_service(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"apps", "Deployment", "default", "iris-predictor"};
    enum prg_write_result result;
    struct prg_error err = {0};
    put_service(f, "iris", sklearn);
    put_service(f, "other", sklearn);
    prg_serving_loop_enqueue_all(f->is.loop, f->is.now_ms);
    run(f);
    changed(f, key.group, key.kind, key.ns, key.name);
    assert_int_equal(run(f), 1);
    assert_ok(f->is.store->ops->remove(f->is.store, &key, NULL, &result, &err), &err);
    changed(f, key.group, key.kind, key.ns, key.name);
    assert_int_equal(run(f), 1);
    assert_int_equal(f->created, 1);
    loop_fixture_put(&f->is,
                     "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p', 'namespace': 'default', 'labels': "
                     "{'serving.kserve.io/inferenceservice': 'iris'}}}");
    changed(f, "", "Pod", "default", "p");
    assert_int_equal(run(f), 1);
}

// As the garbage collector does when the service went and nobody here has heard of it yet.
static void what_vanishes_as_often_as_it_is_made_is_made_again_ever_more_slowly(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"", "Service", "default", "iris-predictor"};
    enum prg_write_result result;
    struct prg_error err = {0};
    unsigned made = 0;
    put_service(f, "iris", sklearn);
    changed(f, "serving.kserve.io", "InferenceService", "default", "iris");
    run(f);
    for (uint64_t end_ms = f->is.now_ms + 10000; f->is.now_ms < end_ms; f->is.now_ms += 10) {
        if (get(f, key.group, key.kind, key.name)) {
            assert_ok(f->is.store->ops->remove(f->is.store, &key, NULL, &result, &err), &err);
            changed(f, key.group, key.kind, key.ns, key.name);
        }
        run(f);
        made += f->created > 0;
    }
    assert_int_equal(made, 7); // twice at once, then after 0.2, 0.4, 0.8 … seconds
    put_service(f, "other", sklearn);
    changed(f, "serving.kserve.io", "InferenceService", "default", "other");
    assert_int_equal(run(f), 1); // which concerns nobody else
    f->is.now_ms += 30000;
    run(f);
    assert_non_null(get(f, key.group, key.kind, key.name));
}

static void a_foreign_object_of_a_name_that_would_be_ours_wakes_the_service(void **state)
{
    struct fixture *f = *state;
    put_service(f, "iris", "{'modelFormat': {'name': 'fortran'}, 'storageUri': 'gs://b/m'}");
    prg_serving_loop_enqueue_all(f->is.loop, f->is.now_ms);
    run(f);
    loop_fixture_put(
        &f->is,
        "{'apiVersion': 'autoscaling/v2', 'kind': 'HorizontalPodAutoscaler', 'metadata': {'name': 'iris-predictor', "
        "'namespace': 'default'}}");
    changed(f, "autoscaling", "HorizontalPodAutoscaler", "default", "iris-predictor");
    assert_int_equal(run(f), 1);
}

static void count_event(const struct prg_key *key, const struct prg_store_event *event, unsigned count, void *ctx)
{
    size_t *sum = ctx;
    (void)key;
    (void)event;
    *sum += count;
}

static void an_event_is_recorded_once_however_often_the_plan_says_it(void **state)
{
    struct fixture *f = *state;
    size_t recorded = 0;
    put_service(f, "odd", "{'modelFormat': {'name': 'fortran'}, 'storageUri': 'gs://b/m'}");
    for (int i = 0; i < 5; i++) {
        changed(f, "serving.kserve.io", "InferenceService", "default", "odd");
        assert_int_equal(run(f), 1);
        assert_non_null(strstr(f->error, "fortran"));
    }
    prg_store_mem_each_event(f->is.store, count_event, &recorded);
    assert_int_equal(recorded, 1);
}

struct told {
    size_t count;
    char last[400];
};

static void note_choice(const struct prg_key *key, const struct prg_store_event *event, unsigned count, void *ctx)
{
    struct told *told = ctx;
    (void)key;
    if (strcmp(event->reason, "RuntimeSelected") != 0)
        return;
    told->count += count;
    snprintf(told->last, sizeof(told->last), "%s %s", event->type, event->message);
}

static struct told choices(struct fixture *f)
{
    struct told told = {0};
    prg_store_mem_each_event(f->is.store, note_choice, &told);
    return told;
}

static void a_choice_is_told_once_for_each_change_with_how_it_was_made(void **state)
{
    struct fixture *f = *state;
    struct prg_error err = {0};
    put_service(f, "iris", sklearn);
    for (int i = 0; i < 3; i++) {
        changed(f, "serving.kserve.io", "InferenceService", "default", "iris");
        (void)run(f);
    }
    struct told told = choices(f);
    assert_int_equal(told.count, 1);
    assert_non_null(strstr(told.last, "Normal ClusterServingRuntime kserve-sklearnserver: "));
    assert_non_null(strstr(told.last, "runtime_selection.lua:"));
    cJSON *edited = prg_json_copy(&f->is.arena, get(f, "serving.kserve.io", "InferenceService", "iris"));
    assert_non_null(prg_json_get(edited, "status"));
    prg_json_set_string(&f->is.arena, prg_json_at(edited, "spec", "predictor", "model"), "runtime", "kserve-mlserver");
    prg_json_set_string(&f->is.arena, prg_json_at(edited, "spec", "predictor", "model"), "protocolVersion", "v2");
    assert_ok(prg_store_mem_put(f->is.store, edited, false, true, &err), &err);
    for (int i = 0; i < 3; i++) {
        changed(f, "serving.kserve.io", "InferenceService", "default", "iris");
        (void)run(f);
    }
    told = choices(f);
    assert_int_equal(told.count, 2);
    assert_string_equal(told.last, "Normal ClusterServingRuntime kserve-mlserver: the service names it");
}

static int broken_apply(struct prg_store *store, const cJSON *object, enum prg_write_result *ret, struct prg_error *err)
{
    (void)store;
    (void)object;
    (void)ret;
    return prg_fail(err, PRG_IO, "the disk is full");
}

static void what_cannot_be_applied_is_told_in_the_status_and_tried_again_later(void **state)
{
    struct fixture *f = *state;
    put_service(f, "iris", sklearn);
    f->is.ops.apply = broken_apply;
    changed(f, "serving.kserve.io", "InferenceService", "default", "iris");
    assert_int_equal(run(f), 1);
    assert_non_null(strstr(f->error, "the disk is full"));
    assert_null(get(f, "apps", "Deployment", "iris-predictor"));
    const cJSON *status = prg_json_get(get(f, "serving.kserve.io", "InferenceService", "iris"), "status");
    char *text = prg_json_print_arena(&f->is.arena, status, PRG_JSON_SORTED);
    assert_non_null(strstr(text, "ReconcileFailed"));
    assert_non_null(strstr(text, "the disk is full"));
    assert_int_equal(prg_serving_loop_next_ms(f->is.loop, f->is.now_ms), 5);
    assert_int_equal(run(f), 0); // not before its time
    f->is.now_ms += 5;
    assert_int_equal(run(f), 1);
    assert_int_equal(prg_serving_loop_next_ms(f->is.loop, f->is.now_ms), 10);
}

// The Deployment of the service is up; then what the service says about a condition.
static const char *condition_when_up(struct fixture *f, const char *name, const char *type)
{
    const char *deployment = prg_arena_printf(&f->is.arena, "%s-predictor", name);
    const cJSON *condition;
    changed(f, "serving.kserve.io", "InferenceService", "default", name);
    assert_int_equal(run(f), 1);
    assert_string_equal(f->error, "");
    cJSON *up = prg_json_copy(&f->is.arena, get(f, "apps", "Deployment", deployment));
    prg_json_set(&f->is.arena, up, "status",
                 json_of(&f->is.arena,
                         "{'replicas':1,'readyReplicas':1,'availableReplicas':1,'updatedReplicas':1,"
                         "'conditions':[{'type':'Available','status':'True'},{'type':'Progressing','status':"
                         "'True','reason':'NewReplicaSetAvailable'}]}"));
    loop_fixture_put(&f->is, prg_json_print_arena(&f->is.arena, up, PRG_JSON_COMPACT));
    changed(f, "apps", "Deployment", "default", deployment);
    assert_int_equal(run(f), 1);
    assert_string_equal(f->error, "");
    prg_json_each (condition,
                   prg_json_at(get(f, "serving.kserve.io", "InferenceService", name), "status", "conditions"))
        if (prg_text_equal(prg_json_get_text(condition, "type"), type))
            return prg_json_get_text(condition, "status");
    return "missing";
}

static void put_ingress_config(struct fixture *f, const char *ingress)
{
    loop_fixture_put(
        &f->is,
        prg_arena_printf(&f->is.arena,
                         "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'inferenceservice-config',"
                         "'namespace':'kserve'},'data':{'ingress':'%s','storageInitializer':'{\\'image\\':\\'i\\',"
                         "\\'memoryRequest\\':\\'1Mi\\',\\'memoryLimit\\':\\'1Mi\\',\\'cpuRequest\\':\\'1\\',"
                         "\\'cpuLimit\\':\\'1\\'}'}}",
                         ingress));
    prg_planner_load_config(f->is.planner, &f->is.store->reader);
}

#define GATEWAY "\\'ingressGateway\\':\\'a/b\\',\\'kserveIngressGateway\\':\\'a/b\\'"

static void where_there_is_to_be_no_route_a_service_is_ready_without_one(void **state)
{
    struct fixture *f = *state;
    put_ingress_config(f, "{" GATEWAY "}");
    put_service(f, "routed", sklearn);
    assert_string_equal(condition_when_up(f, "routed", "PredictorReady"), "True");
    assert_string_equal(condition_when_up(f, "routed", "Ready"), "Unknown"); // somebody else is to make the route
    put_ingress_config(f, "{" GATEWAY ",\\'disableIngressCreation\\':true}");
    put_service(f, "a", sklearn);
    assert_string_equal(condition_when_up(f, "a", "IngressReady"), "True");
    assert_string_equal(condition_when_up(f, "a", "Ready"), "True");
    assert_false(f->status_changed); // once
    put_ingress_config(f, "{" GATEWAY ",\\'ingressDomain\\':\\'svc.cluster.local\\'}");
    put_service(f, "b", sklearn);
    assert_string_equal(condition_when_up(f, "b", "Ready"), "True");
}

static bool is_late(void *ctx)
{
    unsigned *keys = ctx;
    return ++*keys % 3 == 0;
}

static void others_have_their_turn_between_services(void **state)
{
    struct fixture *f = *state;
    unsigned keys = 0;
    struct prg_serving_loop_options options = {.is_late = is_late, .ctx = &keys};
    struct prg_serving_loop *loop = prg_serving_loop_new(f->is.store, f->is.planner, &options);
    for (int i = 0; i < 7; i++)
        put_service(f, prg_arena_printf(&f->is.arena, "s%d", i), sklearn);
    prg_serving_loop_enqueue_all(loop, 1000);
    assert_int_equal(prg_serving_loop_run(loop, 1000, loop_fixture_wall_ns), 3);
    assert_int_equal(prg_serving_loop_next_ms(loop, 1000), 0);
    assert_int_equal(prg_serving_loop_open(loop), 0); // what was begun is ended
    assert_int_equal(prg_serving_loop_run(loop, 1000, loop_fixture_wall_ns), 3);
    assert_int_equal(prg_serving_loop_run(loop, 1000, loop_fixture_wall_ns), 1);
    assert_int_equal(prg_serving_loop_next_ms(loop, 1000), -1);
    for (int i = 0; i < 7; i++)
        assert_non_null(prg_reader_get(&f->is.store->reader, "apps", "Deployment", "default",
                                       prg_arena_printf(&f->is.arena, "s%d-predictor", i)));
    prg_serving_loop_free(loop);
}

static void a_service_that_is_gone_is_forgotten(void **state)
{
    struct fixture *f = *state;
    changed(f, "serving.kserve.io", "InferenceService", "default", "never-was");
    assert_int_equal(run(f), 1);
    assert_int_equal(prg_serving_loop_next_ms(f->is.loop, f->is.now_ms), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_service_gets_its_objects_and_a_status_and_then_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(a_changed_runtime_or_configuration_wakes_every_service_once, setup, teardown),
        cmocka_unit_test_setup_teardown(secrets_that_no_plan_reads_wake_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(an_owned_object_that_changes_or_vanishes_wakes_its_service, setup, teardown),
        cmocka_unit_test_setup_teardown(what_vanishes_as_often_as_it_is_made_is_made_again_ever_more_slowly, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_foreign_object_of_a_name_that_would_be_ours_wakes_the_service, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_event_is_recorded_once_however_often_the_plan_says_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_choice_is_told_once_for_each_change_with_how_it_was_made, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_applied_is_told_in_the_status_and_tried_again_later, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(where_there_is_to_be_no_route_a_service_is_ready_without_one, setup, teardown),
        cmocka_unit_test_setup_teardown(others_have_their_turn_between_services, setup, teardown),
        cmocka_unit_test_setup_teardown(a_service_that_is_gone_is_forgotten, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
