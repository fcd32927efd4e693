// SPDX-License-Identifier: Apache-2.0
// test_initializer.c: making pods load their models: storageUris of a plan, and one URI as the pod webhook has it.
#include "function_cases.h"
#include "recorded.h"

#include "serving/initializer.h"
#include "serving/predictor.h"
#include "serving/storage.h"

// ---- recorded pods: one URI ----

#define PODS "cases/kserve/pods"

// A modelcar for the server, or the worker of a multi-node service, and for the transformer when there is one.
static int inject_image(struct prg_arena *arena, const struct prg_initializer_config *config, const char *uri,
                        cJSON *pod_spec, struct prg_error *err)
{
    const cJSON *containers = prg_json_get(pod_spec, "containers");
    bool is_worker =
        !prg_named_item(containers, PRG_CONTAINER_PREDICTOR) && prg_named_item(containers, PRG_CONTAINER_WORKER);
    int rc = prg_modelcar_add(arena, config, uri, PRG_MODEL_PATH,
                              is_worker ? PRG_CONTAINER_WORKER : PRG_CONTAINER_PREDICTOR, 0, pod_spec, err);
    if (rc == PRG_OK && prg_named_item(containers, PRG_CONTAINER_TRANSFORMER))
        rc = prg_modelcar_add(arena, config, uri, PRG_MODEL_PATH, PRG_CONTAINER_TRANSFORMER, 0, pod_spec, err);
    return rc;
}

// What the pod webhook does around prg_initializer_apply for a pod with a source URI.
static int inject(struct prg_arena *arena, const struct px *px, const char *ns, const cJSON *pod, struct prg_error *err)
{
    cJSON *pod_spec = prg_json_get(pod, "spec");
    const cJSON *annotations = prg_meta_annotations(pod), *container = NULL;
    const char *uri = prg_json_get_text(annotations, PRG_ANNOTATION_SOURCE_URI);
    const char *name = prg_json_get_text(annotations, PRG_ANNOTATION_STORAGE_CONTAINER);
    const char *key = prg_json_get_text(annotations, PRG_ANNOTATION_STORAGE_SPEC_KEY);
    const char *parameters = prg_json_get_text(annotations, PRG_ANNOTATION_STORAGE_SPEC_PARAM);
    struct prg_initializer_config config;
    cJSON *uris = prg_json_array(arena), *entry = prg_json_object(arena), *given = NULL;
    if (!uri)
        return PRG_OK;
    int rc = prg_initializer_config_read(arena, &px->config, &config, err);
    if (rc == PRG_OK && prg_text_has_prefix(uri, "oci://") && !prg_initializer_loads(&px->config, uri))
        rc = inject_image(arena, &config, uri, pod_spec, err);
    if (rc == PRG_OK)
        rc = prg_storage_container_for(prg_storage_containers(arena, &px->reader.base), uri, name, &container, err);
    if (rc == PRG_OK && parameters)
        rc = prg_json_parse(arena, parameters, strlen(parameters), NULL, &given, err);
    if (rc != PRG_OK)
        return rc;
    prg_json_set_string(arena, entry, "uri", uri);
    prg_json_set_string(arena, entry, "mountPath", PRG_MODEL_PATH);
    prg_json_append(uris, entry);
    bool has_spec = prg_text_equal(prg_json_get_text(annotations, PRG_ANNOTATION_STORAGE_SPEC), "true");
    struct prg_initializer in = {
        .arena = arena,
        .store = &px->reader.base,
        .config = &px->config,
        .ns = ns,
        .annotations = annotations,
        .uris = uris,
        .storage_key = has_spec ? prg_json_string(arena, key ? key : "") : NULL,
        .storage_parameters = has_spec ? (given ? given : prg_json_object(arena)) : NULL,
        .storage_container = container,
        .is_single = true,
    };
    return prg_initializer_apply(&in, pod_spec, err);
}

static void check_pod(struct prg_arena *arena, const char *name, const cJSON *document,
                      const struct recorded_catalog *catalog)
{
    struct px px;
    struct prg_error err = {0};
    const cJSON *expected = prg_json_get(document, "expected");
    struct recorded_case recorded = {.name = name, .input = prg_json_get(document, "input")};
    recorded_build(arena, catalog, &recorded);
    px_init(&px, &prg_compat_kserve);
    px_prepare(&px, NULL, recorded.objects, recorded.configmap);
    cJSON *pod = prg_json_copy(arena, prg_json_get(recorded.input, "pod"));
    int rc = inject(arena, &px, prg_json_get_text(recorded.input, "namespace"), pod, &err);
    const char *error = prg_json_get_text(expected, "error");
    if ((rc != PRG_OK) != (error != NULL)) {
        char text[PRG_ERROR_LINE];
        fail_msg("%s: %s, expected %s", name, rc ? prg_error_text(&err, text, sizeof(text)) : "no error",
                 error ? error : "none");
    }
    if (!error) {
        cJSON *want = prg_json_copy(arena, prg_json_at(expected, "pod", "spec")), *got = prg_json_get(pod, "spec");
        clean_case(want);
        clean_case(got);
        if (!prg_json_equal(want, got))
            print_error("%s:\n", name);
        assert_json_equal(got, want);
    }
    px_release(&px);
}

static void single_uris_are_loaded_as_recorded(void **state)
{
    // other parts of the pod webhook: the agent, and the proxy's user for Istio's CNI plugin
    static const char *const others[] = {"storage--agent-annotation-blocks.json", "storage--istio-cni.json",
                                         "storage--istio-cni-proxy-uid.json"};
    prg_auto_arena shared, one;
    struct recorded_catalog catalog;
    size_t count, checked = 0;
    (void)state;
    prg_arena_init(&shared);
    prg_arena_init(&one);
    recorded_catalog_load(&shared, &catalog);
    const char **names = recorded_files(&shared, PODS, ".json", &count);
    for (size_t i = 0; i < count; i++) {
        bool is_other = !prg_text_has_prefix(names[i], "storage--") && !prg_text_has_prefix(names[i], "credentials--");
        for (size_t j = 0; j < PRG_COUNT(others); j++)
            is_other |= prg_text_equal(names[i], others[j]);
        if (is_other)
            continue;
        check_pod(&one, names[i], read_test_json(&one, prg_arena_printf(&one, PODS "/%s", names[i])), &catalog);
        prg_arena_reset(&one);
        checked++;
    }
    assert_int_equal(checked, 47);
}

// ---- storageUris of a plan ----

#define SETTINGS "\"memoryRequest\": \"100Mi\", \"memoryLimit\": \"1Gi\", \"cpuRequest\": \"100m\", \"cpuLimit\": \"1\""
#define SERVER "{'containers': [{'name': 'kserve-container'}]}"

struct fixture {
    struct px px;
    struct prg_initializer in;
    cJSON *pod_spec;
    int rc;
};

// settings: more members of section storageInitializer, each after a comma.
static struct fixture *prepare(const char *uris, const char *pod_spec, const char *settings, const char *objects)
{
    struct fixture *f = test_calloc(1, sizeof(*f));
    px_init(&f->px, &prg_compat_fixed);
    struct prg_arena *arena = &f->px.arena;
    cJSON *configmap = json_of(arena, "{'data': {}}");
    prg_json_set_string(arena, prg_json_get(configmap, "data"), "storageInitializer",
                        prg_arena_printf(arena, "{%s%s}", SETTINGS, settings));
    px_prepare(&f->px, NULL, json_of(arena, objects ? objects : "[]"), configmap);
    f->pod_spec = json_of(arena, pod_spec);
    f->in = (struct prg_initializer){
        .arena = arena, .store = &f->px.reader.base, .config = &f->px.config, .ns = "ns", .uris = json_of(arena, uris)};
    return f;
}

static void run(struct fixture *f)
{
    f->rc = prg_initializer_apply(&f->in, f->pod_spec, &f->px.err);
}

#define MODELCARS ", \"enableModelcar\": true"

static struct fixture *applied(const char *uris, const char *settings)
{
    struct fixture *f = prepare(uris, SERVER, settings, NULL);
    run(f);
    return f;
}

static void done(struct fixture *f)
{
    px_release(&f->px);
    test_free(f);
}

static const cJSON *container(const struct fixture *f, const char *list, const char *name)
{
    return prg_named_item(prg_json_get(f->pod_spec, list), name);
}

static const cJSON *member(const struct fixture *f, const char *list, const char *name, const char *key)
{
    return prg_json_get(container(f, list, name), key);
}

static void downloads_share_one_volume_at_their_common_parent(void **state)
{
    struct fixture *f = applied("[{'uri': 's3://a', 'mountPath': '/mnt/models/a'}, {'uri': 'gs://b', 'mountPath': "
                                "'/mnt/models/b/'}]",
                                "");
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_json_text(&f->px.arena, member(f, "initContainers", "storage-initializer", "args"),
                     "['s3://a', '/mnt/models/a', 'gs://b', '/mnt/models/b/']");
    assert_json_text(&f->px.arena, member(f, "initContainers", "storage-initializer", "volumeMounts"),
                     "[{'name': 'mnt-models', 'mountPath': '/mnt/models'}]");
    assert_json_text(&f->px.arena, member(f, "containers", "kserve-container", "volumeMounts"),
                     "[{'name': 'mnt-models', 'mountPath': '/mnt/models', 'readOnly': true}]");
    assert_json_text(&f->px.arena, prg_json_get(f->pod_spec, "volumes"), "[{'name': 'mnt-models', 'emptyDir': {}}]");
    assert_int_equal(prg_json_origin(container(f, "initContainers", "storage-initializer")), PRG_ORIGIN_STORAGE);
    done(f);
}

static void common_parents_end_at_whole_names(void **state)
{
    static const struct {
        const char *first, *second, *parent;
    } cases[] = {
        {"/mnt/a", "/mnt/b", "/mnt"},
        {"/mnt/models", "/mnt/models2", "/mnt"},
        {"/mnt/models", "/mnt/models/x", "/mnt/models"},
        {"/a/b/c/", "/a/b/d", "/a/b"},
        {"/a", "/b", "/"},
        {"mnt/a", "/mnt/b", "/mnt"},
        {"/a/same", "/a/same", "/a/same"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        struct fixture *f = applied(prg_arena_printf(&arena,
                                                     "[{'uri': 's3://a', 'mountPath': '%s'}, {'uri': "
                                                     "'s3://b', 'mountPath': '%s'}]",
                                                     cases[i].first, cases[i].second),
                                    "");
        assert_ok(f->rc, &f->px.err);
        const cJSON *mounts = member(f, "containers", "kserve-container", "volumeMounts");
        assert_string_equal(prg_json_get_text(prg_json_item(mounts, 0), "mountPath"), cases[i].parent);
        done(f);
    }
}

static void a_single_path_is_its_own_parent(void **state)
{
    struct fixture *f = applied("[{'uri': 's3://a', 'mountPath': '/mnt/a/'}]", "");
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_json_text(&f->px.arena, member(f, "containers", "kserve-container", "volumeMounts"),
                     "[{'name': 'mnt-a', 'mountPath': '/mnt/a/', 'readOnly': true}]");
    done(f);
}

static void an_empty_path_beside_others_is_refused(void **state)
{
    struct fixture *f = applied("[{'uri': 's3://a'}, {'uri': 's3://b', 'mountPath': '/mnt/b'}]", "");
    (void)state;
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "storageUris: an empty mountPath beside others");
    done(f);
}

static void claims_are_mounted_where_they_are_wanted(void **state)
{
    struct fixture *f = applied("[{'uri': 'pvc://c1/sub/dir', 'mountPath': '/mnt/a'}, {'uri': 'pvc://c2', 'mountPath': "
                                "'/mnt/b'}]",
                                "");
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_null(prg_json_get(f->pod_spec, "initContainers"));
    assert_json_text(&f->px.arena, member(f, "containers", "kserve-container", "volumeMounts"),
                     "[{'name': 'mnt-a', 'mountPath': '/mnt/a', 'readOnly': true},"
                     " {'name': 'mnt-b', 'mountPath': '/mnt/b', 'readOnly': true}]");
    assert_json_text(&f->px.arena, prg_json_get(f->pod_spec, "volumes"),
                     "[{'name': 'mnt-a', 'persistentVolumeClaim': {'claimName': 'c1'}},"
                     " {'name': 'mnt-b', 'persistentVolumeClaim': {'claimName': 'c2'}}]");
    done(f);
}

static void several_images_have_numbered_modelcars(void **state)
{
    struct fixture *f = applied("[{'uri': 'oci://r/a:1', 'mountPath': '/mnt/models'}, {'uri': 'oci://r/b:1', "
                                "'mountPath': '/data/b'}]",
                                MODELCARS);
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(prg_json_get_text(container(f, "containers", "modelcar"), "image"), "r/a:1");
    assert_string_equal(prg_json_get_text(container(f, "containers", "modelcar-1"), "image"), "r/b:1");
    assert_non_null(container(f, "initContainers", "modelcar-init"));
    assert_non_null(container(f, "initContainers", "modelcar-init-1"));
    assert_null(container(f, "initContainers", "storage-initializer"));
    assert_json_text(&f->px.arena, member(f, "containers", "kserve-container", "volumeMounts"),
                     "[{'name': 'kserve-provision-location', 'mountPath': '/mnt'},"
                     " {'name': 'kserve-provision-location-1', 'mountPath': '/data'}]");
    assert_json_text(&f->px.arena, member(f, "containers", "kserve-container", "env"),
                     "[{'name': 'MODEL_INIT_MODE', 'value': 'async'}]");
    assert_true(prg_json_get_true(f->pod_spec, "shareProcessNamespace"));
    const cJSON *args = member(f, "containers", "modelcar-1", "args");
    assert_string_equal(prg_json_text(prg_json_item(args, 2)),
                        "mkdir -p '/data' && ln -sf /proc/$$$$/root/models '/data/b' && sleep infinity");
    done(f);
}

static void images_that_would_hide_each_other_are_refused(void **state)
{
    prg_auto_strbuf many = PRG_STRBUF_INIT;
    struct fixture *f = applied("[{'uri': 'oci://a', 'mountPath': '/mnt/a'}, {'uri': 'oci://b', 'mountPath': "
                                "'/mnt/b'}]",
                                MODELCARS);
    (void)state;
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "OCI mount paths \"/mnt/a\" and \"/mnt/b\" share parent directory \"/mnt\"");
    done(f);
    for (int i = 0; i < 11; i++)
        prg_strbuf_printf(&many, "%s{'uri': 'oci://r/%d', 'mountPath': '/p%d/m'}", i ? ", " : "[", i, i);
    prg_strbuf_puts(&many, "]");
    f = applied(many.text, MODELCARS);
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "11 OCI storage URIs; a pod holds at most 10");
    done(f);
}

static void paths_are_quoted_for_the_shell(void **state)
{
    struct fixture *f = applied("[{\"uri\": \"oci://r/a\", \"mountPath\": \"/m/it's; reboot\"}]", MODELCARS);
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(prg_json_text(prg_json_item(member(f, "containers", "modelcar", "args"), 2)),
                        "mkdir -p '/m' && ln -sf /proc/$$$$/root/models '/m/it'\\''s; reboot' && sleep infinity");
    done(f);
}

static void images_are_downloaded_when_modelcars_are_off(void **state)
{
    struct fixture *f = applied("[{'uri': 'oci://r/a', 'mountPath': '/mnt/a'}]", "");
    (void)state;
    assert_ok(f->rc, &f->px.err);
    assert_json_text(&f->px.arena, member(f, "initContainers", "storage-initializer", "args"),
                     "['oci://r/a', '/mnt/a']");
    assert_null(container(f, "containers", "modelcar"));
    done(f);
}

static void the_transformer_beside_the_model_reads_it_too(void **state)
{
    struct fixture *f = prepare("[{'uri': 's3://a', 'mountPath': '/mnt/a'}]",
                                "{'containers': [{'name': 'transformer-container'}, {'name': 'kserve-container'}, "
                                "{'name': 'other'}]}",
                                "", NULL);
    (void)state;
    run(f);
    assert_ok(f->rc, &f->px.err);
    assert_json_equal(member(f, "containers", "transformer-container", "volumeMounts"),
                      member(f, "containers", "kserve-container", "volumeMounts"));
    assert_null(member(f, "containers", "other", "volumeMounts"));
    done(f);
}

static void workers_load_models_as_well(void **state)
{
    struct fixture *f = prepare("[{'uri': 's3://a', 'mountPath': '/mnt/a'}]",
                                "{'containers': [{'name': 'worker-container'}]}", "", NULL);
    (void)state;
    run(f);
    assert_ok(f->rc, &f->px.err);
    assert_int_equal(prg_json_count(member(f, "containers", "worker-container", "volumeMounts")), 1);
    done(f);
    f = prepare("[{'uri': 's3://a', 'mountPath': '/mnt/a'}]", "{'containers': [{'name': 'x'}]}", "", NULL);
    run(f);
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "Invalid configuration: cannot find container: kserve-container");
    done(f);
}

static void nothing_is_added_where_it_is_not_needed(void **state)
{
    static const struct {
        const char *uris, *pod_spec, *annotations;
    } cases[] = {
        {"[]", SERVER, "{}"},
        {"[{'uri': 's3://a', 'mountPath': '/mnt/a'}]", SERVER, "{'internal.serving.kserve.io/agent': 'true'}"},
        {"[{'uri': 's3://a', 'mountPath': '/mnt/a'}]",
         "{'containers': [{'name': 'kserve-container'}], 'initContainers': [{'name': 'storage-initializer'}]}", "{}"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct fixture *f = prepare(cases[i].uris, cases[i].pod_spec, "", NULL);
        f->in.annotations = json_of(&f->px.arena, cases[i].annotations);
        run(f);
        assert_ok(f->rc, &f->px.err);
        assert_json_text(&f->px.arena, f->pod_spec, cases[i].pod_spec);
        done(f);
    }
}

static void applying_twice_changes_nothing(void **state)
{
    struct fixture *f = applied("[{'uri': 'oci://a', 'mountPath': '/x/a'}, {'uri': 's3://b', 'mountPath': '/mnt/b'}, "
                                "{'uri': 'pvc://c', 'mountPath': '/mnt/c'}]",
                                MODELCARS);
    (void)state;
    assert_ok(f->rc, &f->px.err);
    cJSON *once = prg_json_copy(&f->px.arena, f->pod_spec);
    run(f);
    assert_ok(f->rc, &f->px.err);
    assert_json_equal(f->pod_spec, once);
    done(f);
}

static void readonly_false_mounts_writable(void **state)
{
    struct fixture *f = prepare("[{'uri': 's3://a', 'mountPath': '/mnt/a'}]", SERVER, "", NULL);
    (void)state;
    f->in.annotations = json_of(&f->px.arena, "{'storage.kserve.io/readonly': 'false'}");
    run(f);
    assert_json_text(&f->px.arena, member(f, "containers", "kserve-container", "volumeMounts"),
                     "[{'name': 'mnt-a', 'mountPath': '/mnt/a'}]");
    done(f);
}

static void a_storage_container_must_load_several_models(void **state)
{
    struct fixture *f = prepare("[{'uri': 's3://a', 'mountPath': '/mnt/a'}]", SERVER, "", NULL);
    (void)state;
    f->in.storage_container = json_of(&f->px.arena, "{'spec': {'container': {'name': 'storage-initializer', 'image': "
                                                    "'own:1', 'env': [{'name': 'HF_XET_HIGH_PERFORMANCE', 'value': "
                                                    "'0'}]}}}");
    run(f);
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "storage container \"storage-initializer\" does not support multi-model download");
    done(f);
    f = prepare("[{'uri': 's3://a', 'mountPath': '/mnt/a'}]", SERVER, "", NULL);
    f->in.storage_container =
        json_of(&f->px.arena, "{'spec': {'supportsMultiModelDownload': true, 'container': {'name': "
                              "'storage-initializer', 'image': 'own:1', 'env': [{'name': 'HF_XET_HIGH_PERFORMANCE', "
                              "'value': '0'}]}}}");
    run(f);
    assert_ok(f->rc, &f->px.err);
    assert_string_equal(prg_json_get_text(container(f, "initContainers", "storage-initializer"), "image"), "own:1");
    assert_json_text(&f->px.arena, member(f, "initContainers", "storage-initializer", "env"),
                     "[{'name': 'HF_XET_HIGH_PERFORMANCE', 'value': '0'}, {'name': 'HF_HUB_ENABLE_HF_TRANSFER', "
                     "'value': '1'}, {'name': 'HF_XET_NUM_CONCURRENT_RANGE_GETS', 'value': '8'}]");
    done(f);
}

static void a_bad_quantity_is_named(void **state)
{
    struct fixture *f =
        prepare("[{'uri': 's3://a', 'mountPath': '/mnt/a'}]", SERVER, ", \"cpuModelcar\": \"many\"", NULL);
    (void)state;
    run(f);
    assert_int_equal(f->rc, PRG_INVALID);
    assert_error_has(&f->px.err, "ConfigMap inferenceservice-config: key 'storageInitializer': /cpuModelcar");
    done(f);
}

static void what_is_loaded_depends_on_uri_and_configuration(void **state)
{
    struct fixture *f = prepare("[]", SERVER, MODELCARS, NULL);
    (void)state;
    assert_true(prg_initializer_loads(&f->px.config, "s3://a"));
    assert_false(prg_initializer_loads(&f->px.config, "pvc://a"));
    assert_false(prg_initializer_loads(&f->px.config, "oci://a"));
    done(f);
    f = prepare("[]", SERVER, "", NULL);
    assert_true(prg_initializer_loads(&f->px.config, "oci://a"));
    done(f);
}

// ---- storageUris in a plan: storageuris.c ----

#define ONE_URI "{'model': {}, 'storageUris': [{'uri': 's3://a', 'mountPath': '/mnt/a'}]"
static void a_plan_loads_its_uris_and_says_so(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(&px, ONE_URI "}", NULL, NULL);
    cJSON *pod_spec = json_of(&px.arena, SERVER);
    assert_ok(prg_serving_storage_uris(&s, pod_spec, NULL, &px.err), &px.err);
    assert_non_null(prg_named_item(prg_json_get(pod_spec, "initContainers"), "storage-initializer"));
    assert_non_null(strstr(px_traced(s.plan, "s3://a", "accepted")->reason, "loaded at '/mnt/a'"));
    px_release(&px);
}

static void failing_storage_ends_standard_plans_and_is_an_event_in_knative_mode(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(&px, ONE_URI "}", NULL, NULL);
    cJSON *pod_spec = json_of(&px.arena, "{'containers': []}");
    assert_int_equal(prg_serving_storage_uris(&s, pod_spec, NULL, &px.err), PRG_INVALID);
    assert_error_has(&px.err, "cannot find container");
    s.mode = PRG_MODE_KNATIVE;
    assert_ok(prg_serving_storage_uris(&s, pod_spec, NULL, &px.err), &px.err);
    assert_string_equal(prg_json_get_text(px_event(s.plan, "StorageNotSetUp"), "message"),
                        "storageUris: Invalid configuration: cannot find container: kserve-container");
    px_release(&px);
}

static void a_named_storage_container_that_is_missing_counts_in_both_modes(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(&px, ONE_URI ", 'storageContainerName': 'c'}", NULL, NULL);
    s.mode = PRG_MODE_KNATIVE;
    assert_int_equal(prg_serving_storage_uris(&s, json_of(&px.arena, SERVER), NULL, &px.err), PRG_NOTFOUND);
    assert_error_has(&px.err, "failed to get storage container spec: ClusterStorageContainer \"c\" not found");
    px_release(&px);
}

static void a_runtime_without_initializer_keeps_what_is_mounted(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(&px,
                                      "{'model': {}, 'storageUris': [{'uri': 's3://a', 'mountPath': '/mnt/a'}, "
                                      "{'uri': 'pvc://c', 'mountPath': '/mnt/c'}]}",
                                      NULL, NULL);
    cJSON *pod_spec = json_of(&px.arena, SERVER);
    s.no_initializer = true;
    assert_ok(prg_serving_storage_uris(&s, pod_spec, NULL, &px.err), &px.err);
    assert_null(prg_json_get(pod_spec, "initContainers"));
    assert_json_text(&px.arena, prg_json_get(pod_spec, "volumes"),
                     "[{'name': 'mnt-c', 'persistentVolumeClaim': {'claimName': 'c'}}]");
    assert_non_null(px_traced(s.plan, "s3://a", "dropped"));
    px_release(&px);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_uris_are_loaded_as_recorded),
        cmocka_unit_test(downloads_share_one_volume_at_their_common_parent),
        cmocka_unit_test(common_parents_end_at_whole_names),
        cmocka_unit_test(a_single_path_is_its_own_parent),
        cmocka_unit_test(an_empty_path_beside_others_is_refused),
        cmocka_unit_test(claims_are_mounted_where_they_are_wanted),
        cmocka_unit_test(several_images_have_numbered_modelcars),
        cmocka_unit_test(images_that_would_hide_each_other_are_refused),
        cmocka_unit_test(paths_are_quoted_for_the_shell),
        cmocka_unit_test(images_are_downloaded_when_modelcars_are_off),
        cmocka_unit_test(the_transformer_beside_the_model_reads_it_too),
        cmocka_unit_test(workers_load_models_as_well),
        cmocka_unit_test(nothing_is_added_where_it_is_not_needed),
        cmocka_unit_test(applying_twice_changes_nothing),
        cmocka_unit_test(readonly_false_mounts_writable),
        cmocka_unit_test(a_storage_container_must_load_several_models),
        cmocka_unit_test(a_bad_quantity_is_named),
        cmocka_unit_test(what_is_loaded_depends_on_uri_and_configuration),
        cmocka_unit_test(a_plan_loads_its_uris_and_says_so),
        cmocka_unit_test(failing_storage_ends_standard_plans_and_is_an_event_in_knative_mode),
        cmocka_unit_test(a_named_storage_container_that_is_missing_counts_in_both_modes),
        cmocka_unit_test(a_runtime_without_initializer_keeps_what_is_mounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
