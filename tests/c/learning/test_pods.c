// SPDX-License-Identifier: Apache-2.0
#include "learning_fixture.h"

static const cJSON *planned_pod(struct learning_fixture *f)
{
    plan_now(f);
    if (f->plan->error)
        print_error("%s\n", f->plan->error);
    assert_non_null(f->steps.first);
    assert_int_equal(f->steps.first->kind, PRG_STEP_CREATE_POD);
    return f->steps.first->object;
}

static const char *env_of(const cJSON *container, const char *name)
{
    const cJSON *entry;
    prg_json_each (entry, prg_json_get(container, "env"))
        if (strcmp(prg_json_get_text(entry, "name"), name) == 0)
            return prg_json_get_text(entry, "value");
    return NULL;
}

static const cJSON *container_of(const cJSON *pod, const char *list, size_t index)
{
    return prg_json_item(prg_json_at(pod, "spec", list), index);
}

static void secrets(struct learning_fixture *f)
{
    static const char *const names[] = {"base", "served", "job", "data"};
    for (size_t i = 0; i < PRG_COUNT(names); i++)
        put_yaml(f, prg_arena_printf(&f->arena,
                                     "{apiVersion: v1, kind: Secret, metadata: {name: %s-secret, namespace: ns, "
                                     "annotations: {s3-endpoint: %s.local, "
                                     "s3-usehttps: '%d'}}, data: {ACCESS_KEY_ID: QUs=, SECRET_ACCESS_KEY: U0s=}}",
                                     names[i], names[i], i == 0 ? 0 : 1));
}

static void set_url(struct learning_fixture *f, const char *kind, const char *name, const char *url, const char *secret)
{
    put_yaml(f, prg_arena_printf(
                    &f->arena,
                    "{apiVersion: sedna.io/v1alpha1, kind: %s, metadata: {name: %s, namespace: ns}, spec: {url: '%s', "
                    "credentialName: %s, nodeName: edge1}}",
                    kind, name, url, secret));
}

static void set_job_field(struct learning_fixture *f, const char *field, const char *value)
{
    cJSON *job = job_copy(f);
    prg_json_set_string(&f->arena, prg_json_get(job, "spec"), field, value);
    put(f, job);
}

static void paths_of_the_node_are_mounted_by_their_folder(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready",
              "{\"input\":{\"models\":[{\"url\":\"/m/a.ckpt\"}],\"dataURL\":\"/d/x.txt\",\"outputDir\":\"/o/1\"}}");
    const cJSON *pod = planned_pod(f), *worker = container_of(pod, "containers", 0);
    assert_string_equal(env_of(worker, "BASE_MODEL_URL"), "/home/data/m/a.ckpt");
    assert_string_equal(env_of(worker, "MODEL_URL"), "/home/data/o/1");
    assert_string_equal(env_of(worker, "TRAIN_DATASET_URL"), "/home/data/d/x.txt");
    assert_string_equal(env_of(worker, "ORIGINAL_DATASET_URL"), "/home/data/data/train.txt");
    assert_string_equal(env_of(worker, "DATA_PATH_PREFIX"), "/home/data");
    assert_string_equal(env_of(worker, "LC_SERVER"), "http://lc:9100");
    assert_int_equal(prg_json_count(prg_json_get(worker, "volumeMounts")), 4);
    assert_null(prg_json_at(pod, "spec", "initContainers"));
    assert_string_equal(prg_json_get_text(prg_json_get(pod, "spec"), "restartPolicy"), "OnFailure");
    assert_true(prg_json_get_true(prg_json_get(pod, "spec"), "hostNetwork"));
}

static void one_folder_is_mounted_once(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready",
              "{\"input\":{\"models\":[{\"url\":\"/d/a\"}],\"dataURL\":\"/d/b\",\"outputDir\":\"/d/c\"}}");
    const cJSON *worker = container_of(planned_pod(f), "containers", 0);
    assert_int_equal(prg_json_count(prg_json_get(worker, "volumeMounts")), 2); // /d and the Dataset's
}

static void a_mount_of_the_template_stays_as_it_is(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready",
              "{\"input\":{\"models\":[{\"url\":\"/d/a\"}],\"dataURL\":\"/d/b\",\"outputDir\":\"/d/c\"}}");
    cJSON *job = job_copy(f), *spec = prg_json_at(job, "spec", "trainSpec", "template", "spec");
    prg_json_set(&f->arena, spec, "volumes", json_of(&f->arena, "[{'name': 'dz', 'emptyDir': {}}]"));
    prg_json_set(&f->arena, prg_json_item(prg_json_get(spec, "containers"), 0), "volumeMounts",
                 json_of(&f->arena, "[{'name': 'dz', 'mountPath': '/home/data/data/'}]"));
    put(f, job);
    const cJSON *pod = planned_pod(f), *mounts = prg_json_get(container_of(pod, "containers", 0), "volumeMounts");
    assert_int_equal(prg_json_count(mounts), 2);
    assert_string_equal(prg_json_get_text(prg_json_item(mounts, 0), "name"), "dz");
    assert_string_equal(prg_json_get_text(prg_json_item(prg_json_at(pod, "spec", "volumes"), 1), "name"), "dz-2");
}

static void the_volume_of_a_folder_with_a_dash_in_front_has_a_name_that_is_one(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready",
              "{\"input\":{\"models\":[{\"url\":\"/-data/a\"}],\"dataURL\":\"/-data/b\",\"outputDir\":\"/-data/c\"}}");
    assert_string_equal(prg_json_get_text(prg_json_item(prg_json_at(planned_pod(f), "spec", "volumes"), 0), "name"),
                        "zdataz");
}

static void two_folders_of_one_volume_name_are_told(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready",
              "{\"input\":{\"models\":[{\"url\":\"/a.b/m\"}],\"dataURL\":\"/a_b/d\",\"outputDir\":\"/o/1\"}}");
    (void)planned_pod(f);
    assert_string_equal(prg_json_get_text(prg_json_item(f->plan->events, 0), "reason"), "VolumeShared");
}

static void each_secret_has_an_init_container_of_its_own(void **state)
{
    struct learning_fixture *f = *state;
    secrets(f);
    set_url(f, "Model", "base", "s3://base/m", "base-secret");
    set_url(f, "Dataset", "photos", "s3://data/t.txt", "data-secret");
    set_job_field(f, "credentialName", "job-secret");
    set_state(f, "Train", "Ready",
              "{\"input\":{\"models\":[{\"url\":\"s3://base/m\"}],\"dataURL\":\"s3://job/d.txt\",\"outputDir\":\"s3://"
              "job/o\"}}");
    const cJSON *pod = planned_pod(f);
    assert_int_equal(prg_json_count(prg_json_at(pod, "spec", "initContainers")), 3);
    static const char *const endpoints[] = {"http://base.local", "https://job.local", "https://data.local"};
    static const char *const names[] = {"storage-initializer", "storage-initializer-2", "storage-initializer-3"};
    for (size_t i = 0; i < 3; i++) {
        const cJSON *container = container_of(pod, "initContainers", i);
        assert_string_equal(env_of(container, "S3_ENDPOINT_URL"), endpoints[i]);
        assert_string_equal(prg_json_get_text(container, "name"), names[i]);
        assert_int_equal(prg_json_count(prg_json_get(container, "args")), 2);
    }
    const cJSON *worker = container_of(pod, "containers", 0);
    assert_string_equal(env_of(worker, "S3_ENDPOINT_URL"), "https://job.local"); // the output's
    assert_string_equal(env_of(worker, "MODEL_URL"), "s3://job/o");
    assert_string_equal(env_of(worker, "BASE_MODEL_URL"), "/downloads/base/m");
}

static void evaluation_uses_the_secret_of_each_model(void **state)
{
    struct learning_fixture *f = *state;
    secrets(f);
    set_url(f, "Model", "served", "s3://served/m", "served-secret");
    set_job_field(f, "credentialName", "job-secret");
    set_state(
        f, "Eval", "Ready",
        "{\"input\":{\"models\":[{\"url\":\"s3://job/new\"},{\"url\":\"s3://served/m\"}],\"dataURL\":\"s3://job/d\"}}");
    const cJSON *pod = planned_pod(f);
    assert_string_equal(env_of(container_of(pod, "containers", 0), "MODEL_URLS"),
                        "/downloads/job/new;/downloads/served/m");
    assert_int_equal(prg_json_count(prg_json_at(pod, "spec", "initContainers")), 2);
    assert_string_equal(env_of(container_of(pod, "initContainers", 0), "S3_ENDPOINT_URL"), "https://job.local");
    assert_int_equal(prg_json_count(prg_json_get(container_of(pod, "initContainers", 0), "args")),
                     4); // the model and the data
    assert_string_equal(env_of(container_of(pod, "initContainers", 1), "S3_ENDPOINT_URL"), "https://served.local");
}

static void an_index_in_a_folder_of_the_node_is_read_by_the_initializer(void **state)
{
    struct learning_fixture *f = *state;
    secrets(f);
    set_url(f, "Dataset", "photos", "s3://data/t.txt", "data-secret");
    set_state(f, "Train", "Ready",
              "{\"input\":{\"models\":[{\"url\":\"/m/a\"}],\"dataURL\":\"/o/d.txt\",\"dataIndexURL\":\"/o/"
              "dataIndex.txt\",\"outputDir\":\"/o/1\"}}");
    const cJSON *pod = planned_pod(f), *initializer = container_of(pod, "initContainers", 0);
    assert_json_text(&f->arena, prg_json_get(initializer, "args"), "['/home/data/o/dataIndex.txt', '@/downloads/o/']");
    assert_int_equal(prg_json_count(prg_json_get(initializer, "volumeMounts")), 2);
    assert_string_equal(env_of(initializer, "S3_ENDPOINT_URL"), "https://data.local");
    assert_string_equal(env_of(container_of(pod, "containers", 0), "ORIGINAL_DATASET_URL"),
                        "/downloads/o/dataIndex.txt");
}

static void a_bad_url_is_an_error_that_names_it(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Ready", "{\"input\":{\"models\":[{\"url\":\"/m/%zz\"}],\"outputDir\":\"/o/1\"}}");
    plan_now(f);
    assert_non_null(strstr(f->plan->error, "BASE_MODEL_URL"));
    assert_non_null(strstr(f->plan->error, "'/m/%zz' is not a URL"));
    assert_null(f->steps.first);
}

static void inference_gets_mining_parameters_and_hot_update(void **state)
{
    struct learning_fixture *f = *state;
    cJSON *job = job_copy(f), *deploy = prg_json_at(job, "spec", "deploySpec");
    const cJSON *worker = container_of(planned_pod(f), "containers", 0);
    assert_string_equal(env_of(worker, "HEM_PARAMETERS"), "null");
    assert_string_equal(env_of(worker, "MODEL_URL"), "/home/data/models/served/m.ckpt");
    assert_null(env_of(worker, "MODEL_HOT_UPDATE"));
    prg_json_set(&f->arena, prg_json_get(deploy, "hardExampleMining"), "parameters",
                 json_of(&f->arena, "[{'key': 'a<b', 'value': '1'}]"));
    prg_json_set(&f->arena, deploy, "model",
                 json_of(&f->arena, "{'name': 'served', 'hotUpdateEnabled': true, 'pollPeriodSeconds': 7}"));
    put(f, job);
    worker = container_of(planned_pod(f), "containers", 0);
    assert_string_equal(env_of(worker, "HEM_PARAMETERS"), "[{\"key\":\"a\\u003cb\",\"value\":\"1\"}]");
    assert_string_equal(env_of(worker, "MODEL_POLL_PERIOD_SECONDS"), "7");
    assert_string_equal(env_of(worker, "MODEL_HOT_UPDATE_CONFIG"), "/model-hot-update/model_config.json");
}

static void labels_of_the_template_stay_below_those_of_the_job(void **state)
{
    struct learning_fixture *f = *state;
    cJSON *job = job_copy(f), *template = prg_json_at(job, "spec", "deploySpec", "template");
    prg_json_set(&f->arena, template, "metadata",
                 json_of(&f->arena, "{'name': 'ignored', 'labels': {'a': 'b', 'incrementallearningjob.sedna.io/uid': "
                                    "'x'}, 'annotations': {'c': 'd'}}"));
    put(f, job);
    const cJSON *pod = planned_pod(f);
    assert_string_equal(prg_meta_label(pod, "a"), "b");
    assert_string_equal(prg_meta_label(pod, "incrementallearningjob.sedna.io/uid"), "u1");
    assert_string_equal(prg_meta_annotation(pod, "c"), "d");
    assert_true(prg_owner_controls(job, pod));
    assert_true(prg_text_has_prefix(prg_meta_name(pod), "helmet-inference-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        learning_test(paths_of_the_node_are_mounted_by_their_folder),
        learning_test(one_folder_is_mounted_once),
        learning_test(a_mount_of_the_template_stays_as_it_is),
        learning_test(the_volume_of_a_folder_with_a_dash_in_front_has_a_name_that_is_one),
        learning_test(two_folders_of_one_volume_name_are_told),
        learning_test(each_secret_has_an_init_container_of_its_own),
        learning_test(evaluation_uses_the_secret_of_each_model),
        learning_test(an_index_in_a_folder_of_the_node_is_read_by_the_initializer),
        learning_test(a_bad_url_is_an_error_that_names_it),
        learning_test(inference_gets_mining_parameters_and_hot_update),
        learning_test(labels_of_the_template_stay_below_those_of_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
