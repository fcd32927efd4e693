// SPDX-License-Identifier: Apache-2.0
// test_kubelet.c: --play-kubelet: workloads become available, pods run, once per generation.
#include "folder.h"

#include <string.h>

#include "catalog/kubelet.h"

#define DEPLOYMENT(name, image, more)                                                                                  \
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " name ", namespace: ns, uid: uid-" name "}\n"            \
    "spec:\n" more "  template:\n    metadata:\n      labels: {app: " name "}\n      annotations: {note: here}\n"      \
    "    spec:\n      initContainers:\n      - {name: fetch, image: fetch:1}\n"                                        \
    "      - {name: proxy, image: proxy:1, restartPolicy: Always}\n"                                                   \
    "      containers:\n      - {name: kserve-container, image: \"" image "\"}\n"

#define KNATIVE(name, more)                                                                                            \
    "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: " name ", namespace: ns}\n"                   \
    "spec:\n  template:\n    metadata:\n      labels: {l: x}\n" more                                                   \
    "    spec:\n      containers:\n      - {name: kserve-container, image: m:1}\n"

struct pods {
    const cJSON *pod[16];
    size_t count;
};

static void add_pod(const cJSON *object, void *ctx)
{
    struct pods *pods = ctx;
    assert_true(pods->count < PRG_COUNT(pods->pod));
    pods->pod[pods->count++] = object;
}

static struct pods pods_of(struct folder *f)
{
    struct pods pods = {.count = 0};
    f->store->reader.list(&f->store->reader, "", "Pod", "ns", add_pod, &pods);
    return pods;
}

static const cJSON *condition(const cJSON *object, const char *type)
{
    const cJSON *item;
    prg_json_each (item, prg_json_at(object, "status", "conditions"))
        if (prg_text_equal(prg_json_get_text(item, "type"), type))
            return item;
    return NULL;
}

static void assert_true_condition(const cJSON *object, const char *type, const char *reason)
{
    const cJSON *item = condition(object, type);
    assert_non_null(item);
    assert_string_equal(prg_json_get_text(item, "status"), "True");
    if (reason)
        assert_string_equal(prg_json_get_text(item, "reason"), reason);
}

static void a_deployment_becomes_available(void **state)
{
    struct folder *f = *state;
    open_folder_with_kubelet(f);
    apply(f, DEPLOYMENT("m", "m:1", "  replicas: 2\n"));
    assert_null(prg_json_get(get(f, "apps", "Deployment", "ns", "m"), "status"));
    refresh(f);
    const cJSON *deployment = get(f, "apps", "Deployment", "ns", "m"), *status = prg_json_get(deployment, "status");
    const char *counts[] = {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"};
    for (size_t i = 0; i < PRG_COUNT(counts); i++)
        assert_json_text(&f->arena, prg_json_get(status, counts[i]), "2");
    assert_json_text(&f->arena, prg_json_get(status, "observedGeneration"), "1");
    assert_true_condition(deployment, "Available", "MinimumReplicasAvailable");
    assert_true_condition(deployment, "Progressing", "NewReplicaSetAvailable");
    struct pods pods = pods_of(f);
    assert_int_equal(pods.count, 2);
    assert_changed(f, prg_arena_printf(&f->arena, "Deployment ns/m;Pod ns/%s;Pod ns/%s", prg_meta_name(pods.pod[0]),
                                       prg_meta_name(pods.pod[1])));
    refresh(f);
    assert_changed(f, "");
}

static void its_pods_run_with_its_labels_and_belong_to_it(void **state)
{
    struct folder *f = *state;
    open_folder_with_kubelet(f);
    apply(f, DEPLOYMENT("m", "m:1", ""));
    refresh(f);
    struct pods pods = pods_of(f);
    assert_int_equal(pods.count, 1);
    const cJSON *pod = pods.pod[0];
    assert_true(prg_text_has_prefix(prg_meta_name(pod), "m-"));
    assert_string_equal(prg_meta_label(pod, "app"), "m");
    assert_string_equal(prg_meta_annotation(pod, "note"), "here");
    assert_true(prg_owner_controls(get(f, "apps", "Deployment", "ns", "m"), pod));
    assert_int_equal(strlen(prg_meta_uid(pod)), 36);
    assert_string_equal(prg_json_get_text(prg_json_get(pod, "status"), "phase"), "Running");
    assert_true_condition(pod, "Ready", NULL);
    assert_true_condition(pod, "ContainersReady", NULL);
    assert_json_text(&f->arena, prg_json_at(pod, "status", "containerStatuses"),
                     "[{'name': 'kserve-container', 'image': 'm:1', 'ready': true, 'started': true, 'restartCount': 0,"
                     " 'state': {'running': {'startedAt': '" NOON_TEXT "'}}}]");
    assert_json_text(&f->arena, prg_json_at(pod, "status", "initContainerStatuses"),
                     "[{'name': 'fetch', 'image': 'fetch:1', 'ready': true, 'started': false, 'restartCount': 0,"
                     " 'state': {'terminated': {'exitCode': 0, 'reason': 'Completed', 'startedAt': '" NOON_TEXT "',"
                     " 'finishedAt': '" NOON_TEXT "'}}},"
                     " {'name': 'proxy', 'image': 'proxy:1', 'ready': true, 'started': true, 'restartCount': 0,"
                     " 'state': {'running': {'startedAt': '" NOON_TEXT "'}}}]");
    assert_true(has_file(f, prg_arena_printf(&f->arena, ".perigee/objects/core/Pod/ns/%s.yaml", prg_meta_name(pod))));
}

static void a_new_template_brings_new_pods_in_place_of_the_old(void **state)
{
    struct folder *f = *state;
    open_folder_with_kubelet(f);
    apply(f, DEPLOYMENT("m", "m:1", "  replicas: 2\n"));
    refresh(f);
    const char *old = prg_arena_strdup(&f->arena, prg_meta_name(pods_of(f).pod[0]));
    f->now_ns += INT64_C(60000000000);
    apply(f, DEPLOYMENT("m", "m:2", "  replicas: 1\n"));
    refresh(f);
    struct pods pods = pods_of(f);
    assert_int_equal(pods.count, 1);
    assert_string_not_equal(prg_meta_name(pods.pod[0]), old);
    assert_false(has_file(f, prg_arena_printf(&f->arena, ".perigee/objects/core/Pod/ns/%s.yaml", old)));
    const cJSON *deployment = get(f, "apps", "Deployment", "ns", "m");
    assert_json_text(&f->arena, prg_json_at(deployment, "status", "observedGeneration"), "2");
    // It was available all the time.
    assert_string_equal(prg_json_get_text(condition(deployment, "Available"), "lastTransitionTime"), NOON_TEXT);
}

static void a_changed_scale_keeps_the_pods_that_stay(void **state)
{
    struct folder *f = *state;
    open_folder_with_kubelet(f);
    apply(f, DEPLOYMENT("m", "m:1", "  replicas: 1\n"));
    refresh(f);
    const char *name = prg_arena_strdup(&f->arena, prg_meta_name(pods_of(f).pod[0]));
    apply(f, DEPLOYMENT("m", "m:1", "  replicas: 3\n"));
    refresh(f);
    assert_int_equal(pods_of(f).count, 3);
    assert_non_null(get(f, "", "Pod", "ns", name));
    apply(f, DEPLOYMENT("m", "m:1", "  replicas: 0\n"));
    refresh(f);
    assert_int_equal(pods_of(f).count, 0);
    assert_true_condition(get(f, "apps", "Deployment", "ns", "m"), "Available", NULL);
    assert_null(prg_json_at(get(f, "apps", "Deployment", "ns", "m"), "status", "replicas"));
}

static void a_status_edited_by_hand_stays(void **state)
{
    struct folder *f = *state;
    struct prg_key key = {"apps", "Deployment", "ns", "m"};
    open_folder_with_kubelet(f);
    apply(f, DEPLOYMENT("m", "m:1", ""));
    refresh(f);
    set_status(f, &key, "{'observedGeneration': 1, 'conditions': [{'type': 'Available', 'status': 'False'}]}");
    refresh(f);
    assert_changed(f, "");
    assert_string_equal(prg_json_get_text(condition(get(f, "apps", "Deployment", "ns", "m"), "Available"), "status"),
                        "False");
}

static void pods_go_with_their_deployment(void **state)
{
    struct folder *f = *state;
    struct prg_key key = {"apps", "Deployment", "ns", "m"};
    enum prg_write_result result;
    open_folder_with_kubelet(f);
    apply(f, DEPLOYMENT("m", "m:1", ""));
    apply(f, DEPLOYMENT("other", "m:1", ""));
    refresh(f);
    assert_int_equal(pods_of(f).count, 2);
    assert_ok(f->store->ops->remove(f->store, &key, NULL, &result, &f->err), &f->err);
    refresh(f);
    struct pods pods = pods_of(f);
    assert_int_equal(pods.count, 1);
    assert_string_equal(prg_meta_label(pods.pod[0], "app"), "other");
}

static void a_knative_service_becomes_ready(void **state)
{
    struct folder *f = *state;
    open_folder_with_kubelet(f);
    apply(f, KNATIVE("k", "      annotations: {autoscaling.knative.dev/min-scale: \"2\"}\n"));
    refresh(f);
    const cJSON *service = get(f, "serving.knative.dev", "Service", "ns", "k");
    assert_true_condition(service, "Ready", NULL);
    assert_true_condition(service, "RoutesReady", NULL);
    assert_true_condition(service, "ConfigurationsReady", NULL);
    assert_json_text(&f->arena, prg_json_at(service, "status", "traffic"),
                     "[{'latestRevision': true, 'percent': 100, 'revisionName': 'k-00001'}]");
    assert_string_equal(prg_json_get_text(prg_json_get(service, "status"), "latestReadyRevisionName"), "k-00001");
    assert_string_equal(prg_json_get_text(prg_json_get(service, "status"), "url"), "http://k.ns.example.com");
    struct pods pods = pods_of(f);
    assert_int_equal(pods.count, 2);
    assert_string_equal(prg_meta_label(pods.pod[0], "serving.knative.dev/revision"), "k-00001");
    assert_string_equal(prg_meta_label(pods.pod[0], "l"), "x");
    assert_true(prg_owner_controls(service, pods.pod[0]));
}

static void traffic_of_a_knative_service_is_answered_target_by_target(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_key key = {"serving.knative.dev", "Service", "ns", "k"};
    struct prg_kubelet_play play;
    (void)state;
    const cJSON *service = json_of(&arena, "{'metadata': {'name': 'k', 'namespace': 'ns', 'generation': 12}, 'spec': {"
                                           "'traffic': [{'latestRevision': true, 'percent': 10},"
                                           " {'revisionName': 'k-00007', 'percent': 90, 'tag': 'prev'}]}}");
    prg_kubelet_play(&arena, &key, service, NOON, &play);
    assert_json_text(&arena, prg_json_get(play.status, "traffic"),
                     "[{'latestRevision': true, 'percent': 10, 'revisionName': 'k-00012'},"
                     " {'revisionName': 'k-00007', 'percent': 90, 'tag': 'prev'}]");
}

static void a_rendered_pod_runs(void **state)
{
    struct folder *f = *state;
    open_folder_with_kubelet(f);
    apply(f, "apiVersion: v1\nkind: Pod\nmetadata: {name: worker, namespace: ns}\n"
             "spec: {containers: [{name: w, image: \"w:1\"}]}\n");
    refresh(f);
    assert_changed(f, "Pod ns/worker");
    assert_string_equal(prg_json_get_text(prg_json_get(get(f, "", "Pod", "ns", "worker"), "status"), "phase"),
                        "Running");
    refresh(f);
    assert_changed(f, "");
}

static void users_workloads_and_other_kinds_are_left_alone(void **state)
{
    struct folder *f = *state;
    write_file(f, "mine.yaml", DEPLOYMENT("mine", "m:1", ""));
    open_folder_with_kubelet(f);
    apply(f, "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: ns}\nspec: {}\n");
    refresh(f);
    assert_changed(f, "");
    assert_null(prg_json_get(get(f, "apps", "Deployment", "ns", "mine"), "status"));
    assert_null(prg_json_get(get(f, "", "Service", "ns", "s"), "status"));
}

#define SERVICE(predictor, ingress)                                                                                    \
    "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: i, namespace: ns}\nspec: {}\n"    \
    "status:\n  conditions:\n  - {type: IngressReady, status: \"" ingress "\", reason: Why}\n"                         \
    "  - {type: PredictorReady, status: \"" predictor "\"}\n"

static void the_route_of_a_ready_predictor_gets_ready(void **state)
{
    static const struct {
        const char *manifest, *want;
    } rows[] = {{SERVICE("True", "Unknown"), "True"},
                {SERVICE("Unknown", "Unknown"), "Unknown"},
                {SERVICE("True", "False"), "False"}};
    struct folder *f = *state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        write_file(f, "i.yaml", rows[i].manifest);
        open_folder_with_kubelet(f);
        refresh(f);
        const cJSON *ingress = condition(get(f, "serving.kserve.io", "InferenceService", "ns", "i"), "IngressReady");
        assert_string_equal(prg_json_get_text(ingress, "status"), rows[i].want);
        assert_int_equal(prg_json_get(ingress, "reason") == NULL, i == 0);
        refresh(f);
        assert_changed(f, "");
        if (has_file(f, ".perigee/status"))
            remove_path(f, ".perigee/status");
    }
}

static void without_the_option_nothing_runs(void **state)
{
    struct folder *f = *state;
    open_folder(f);
    apply(f, DEPLOYMENT("m", "m:1", ""));
    refresh(f);
    assert_changed(f, "");
    assert_int_equal(pods_of(f).count, 0);
    // A later process with the option catches up.
    open_folder_with_kubelet(f);
    refresh(f);
    assert_int_equal(pods_of(f).count, 1);
}

static void the_same_object_and_time_give_the_same_answer(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_key key = {"apps", "Deployment", "ns", "m"};
    struct prg_kubelet_play a, b;
    (void)state;
    const cJSON *deployment = yaml_of(&arena, DEPLOYMENT("m", "m:1", "  replicas: 3\n"));
    prg_kubelet_play(&arena, &key, deployment, NOON, &a);
    prg_kubelet_play(&arena, &key, deployment, NOON, &b);
    assert_json_equal(a.status, b.status);
    assert_json_equal(a.pods, b.pods);
    assert_int_equal(prg_json_count(a.pods), 3);
    assert_string_not_equal(prg_meta_name(prg_json_item(a.pods, 0)), prg_meta_name(prg_json_item(a.pods, 1)));
}

static void odd_workloads_do_no_harm(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_kubelet_play play;
    struct prg_key deployment = {"apps", "Deployment", "ns", "m"},
                   knative = {"serving.knative.dev", "Service", "ns", "m"}, pod = {"", "Pod", "ns", "m"};
    const struct prg_key *keys[] = {&deployment, &knative, &pod};
    const char *odd[] = {"{'metadata': {'name': 'm', 'namespace': 'ns'}}",
                         "{'metadata': {'name': 'm'}, 'spec': {'template': 5, 'replicas': 'x', 'containers': {}}}",
                         "{'metadata': {'name': 'm'}, 'spec': {'template': {'metadata': {'labels': 5,"
                         " 'annotations': []}, 'spec': {'containers': [5, {}], 'initContainers': [[]]}},"
                         " 'traffic': [5]}}",
                         "{'metadata': {'name': 'm'}, 'spec': {'replicas': 99999999}}"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(keys); i++) {
        for (size_t j = 0; j < PRG_COUNT(odd); j++) {
            prg_kubelet_play(&arena, keys[i], json_of(&arena, odd[j]), NOON, &play);
            assert_non_null(play.status);
            assert_true(prg_json_count(play.pods) <= 1000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_deployment_becomes_available),
        FOLDER_TEST(its_pods_run_with_its_labels_and_belong_to_it),
        FOLDER_TEST(a_new_template_brings_new_pods_in_place_of_the_old),
        FOLDER_TEST(a_changed_scale_keeps_the_pods_that_stay),
        FOLDER_TEST(a_status_edited_by_hand_stays),
        FOLDER_TEST(pods_go_with_their_deployment),
        FOLDER_TEST(a_knative_service_becomes_ready),
        cmocka_unit_test(traffic_of_a_knative_service_is_answered_target_by_target),
        FOLDER_TEST(a_rendered_pod_runs),
        FOLDER_TEST(users_workloads_and_other_kinds_are_left_alone),
        FOLDER_TEST(the_route_of_a_ready_predictor_gets_ready),
        FOLDER_TEST(without_the_option_nothing_runs),
        cmocka_unit_test(the_same_object_and_time_give_the_same_answer),
        cmocka_unit_test(odd_workloads_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
