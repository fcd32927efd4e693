// SPDX-License-Identifier: Apache-2.0
// test_fleet.c: comparing many services. What is found by asking both sets during one plan (explain/twin.h) is what two
// plans find, for sets that differ in every kind of policy; and the number of threads does not matter.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/fleet.h"
#include "explain/overlay.h"
#include "explain/report.h"
#include "explain/twin.h"
#include "object/meta.h"
#include "stdlib/natives.h"
#include "store/store_mem.h"
#include "yaml/load.h"

// ---- policies ----

struct variant {
    const char *name, *body; // NULL: the shipped set
};
static const struct variant variants[] = {
    {NULL, NULL},
    {"image", "function M.tag(image) if image:find('sklearn') then return image .. '-x' end end"},
    {"image", NULL}, // the shipped text, in a set
    {"image", "function M.tag(image) return image end"},
    {"image", "function M.tag() error('no tags today') end"},
    {"annotation_filter", "function M.keep(key) return key ~= 'drop-me' end"},
    {"label_priority", "function M.layers() return {'predictor', 'service', 'runtime'} end"},
    {"label_priority", "function M.resolve(key, values) if key == 'tier' then return false end end"},
    {"label_priority", "function M.resolve() end"},
    {"container_merge", "function M.args(a, b) return {'--only'} end"},
    {"container_merge", "function M.env(name, a, b) if name == 'A' then return {name = 'A', value = 'merged'} end end"},
    {"runtime_selection", "function M.choose(c) return c[#c].name end"},
    {"runtime_selection", "function M.before(a, b) return a.name < b.name end"},
    {"runtime_selection", "function M.accept(c) return c.name == 'kserve-sklearnserver', 'not mine', 'other' end"},
    {"runtime_selection", "function M.accept() return false, 'never', 'other' end"},
    {"multi_node", "function M.topology(r) return {nodes = 2, head_gpus = 4, worker_gpus = 4} end"},
    {"multi_node", "function M.topology() return nil, 'not on my cluster' end"},
    {"object_patch",
     "function M.patch(o) if o.kind == 'Service' then return {metadata = {labels = {x = 'y'}}} end end"},
    {"object_patch", "function M.patch() return {metadata = {name = 'other'}} end"},
    {"container_merge", NULL},
    {"runtime_selection", NULL},
};

static void take_shipped(const char *name, const char *text, size_t length, void *ctx)
{
    struct prg_policy_text *ret = ctx;
    if (strncmp(ret->name, name, strlen(name)) != 0 || strcmp(ret->name + strlen(name), ".lua") != 0)
        return;
    ret->text = text;
    ret->length = length;
}

static struct prg_policy_set *load(const struct variant *variant)
{
    struct prg_error err = {0};
    struct prg_policy_set *set = NULL;
    struct prg_vec texts;
    char text[1000], file[100];
    prg_vec_init(&texts);
    struct prg_policy_text only = {file, file, text, 0};
    if (variant->name) {
        snprintf(file, sizeof(file), "%s.lua", variant->name);
        if (variant->body)
            only.length = (size_t)snprintf(text, sizeof(text), "local M = { api = \"%s/v1\" }\n%s\nreturn M\n",
                                           variant->name, variant->body);
        if (!variant->body)
            prg_policy_each_shipped(take_shipped, &only);
        prg_vec_push(&texts, &only);
    }
    struct prg_policy_options options = {.texts = variant->name ? &texts : NULL};
    assert_ok(prg_policy_set_load(&options, &set, &err), &err);
    prg_vec_release(&texts);
    return set;
}

// ---- services ----

static const char services[] =
    "apiVersion: serving.kserve.io/v1beta1\n"
    "kind: InferenceService\n"
    "metadata: {name: plain, namespace: a, annotations: {serving.kserve.io/deploymentMode: Standard, drop-me: 'yes'}}\n"
    "spec: {predictor: {model: {modelFormat: {name: sklearn}, storageUri: 'gs://b/m', args: [--a], env: [{name: A, "
    "value: b}]}}}\n"
    "---\n"
    "apiVersion: serving.kserve.io/v1beta1\n"
    "kind: InferenceService\n"
    "metadata: {name: labels, namespace: a, labels: {tier: one}, annotations: {serving.kserve.io/deploymentMode: "
    "Standard}}\n"
    "spec: {predictor: {labels: {tier: two}, model: {modelFormat: {name: xgboost}, storageUri: 'gs://b/m'}}}\n"
    "---\n"
    "apiVersion: serving.kserve.io/v1beta1\n"
    "kind: InferenceService\n"
    "metadata: {name: knative, namespace: b}\n"
    "spec: {predictor: {model: {modelFormat: {name: lightgbm}, storageUri: 'gs://b/m'}}}\n"
    "---\n"
    "apiVersion: serving.kserve.io/v1beta1\n"
    "kind: InferenceService\n"
    "metadata: {name: nodes, namespace: b, annotations: {serving.kserve.io/deploymentMode: Standard}}\n"
    "spec: {predictor: {workerSpec: {tensorParallelSize: 2, pipelineParallelSize: 2}, "
    "model: {modelFormat: {name: huggingface}, storageUri: 'hf://m/m', env: [{name: A, value: b}]}}}\n"
    "---\n"
    "apiVersion: serving.kserve.io/v1beta1\n"
    "kind: InferenceService\n"
    "metadata: {name: custom, namespace: c, annotations: {serving.kserve.io/deploymentMode: Standard}}\n"
    "spec: {predictor: {containers: [{name: kserve-container, image: 'own/sklearn:1'}]}}\n"
    "---\n"
    "apiVersion: serving.kserve.io/v1beta1\n"
    "kind: InferenceService\n"
    "metadata: {name: named, namespace: c, annotations: {serving.kserve.io/deploymentMode: Standard}}\n"
    "spec: {predictor: {model: {modelFormat: {name: sklearn}, runtime: kserve-mlserver, storageUri: 'gs://b/m'}}}\n"
    "---\n"
    "apiVersion: serving.kserve.io/v1beta1\n"
    "kind: InferenceService\n"
    "metadata: {name: nobodys, namespace: d, annotations: {serving.kserve.io/deploymentMode: Standard}}\n"
    "spec: {predictor: {model: {modelFormat: {name: none-such}, storageUri: 'gs://b/m'}}}\n"
    "---\n"
    "apiVersion: serving.kserve.io/v1beta1\n"
    "kind: InferenceService\n"
    "metadata: {name: odd, namespace: d}\n"
    "spec: {predictor: {model: 7}}\n";

static const char *const files[] = {
    "../runtime-catalog/config/inferenceservice-config.yaml",
    "../runtime-catalog/runtimes/kserve-sklearnserver.yaml",
    "../runtime-catalog/runtimes/kserve-xgbserver.yaml",
    "../runtime-catalog/runtimes/kserve-lgbserver.yaml",
    "../runtime-catalog/runtimes/kserve-mlserver.yaml",
    "../runtime-catalog/runtimes/kserve-huggingfaceserver.yaml",
    "../runtime-catalog/runtimes/kserve-huggingfaceserver-multinode.yaml",
};

struct fixture {
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_overlay *overlay; // empty: the same objects behind another reader
    struct prg_key keys[16];
    size_t key_count;
    struct prg_policy_set *sets[PRG_COUNT(variants)];
};

static int compare_keys(const void *a, const void *b)
{
    return prg_key_compare(a, b);
}

static void put_all(struct fixture *f, const struct prg_yaml_docs *docs)
{
    struct prg_error err = {0};
    for (size_t i = 0; i < docs->count; i++) {
        struct prg_key key;
        assert_ok(prg_store_mem_put(f->store, docs->items[i], true, false, &err), &err);
        assert_ok(prg_key_of(&f->arena, docs->items[i], &key, &err), &err);
        if (strcmp(key.kind, "InferenceService") == 0)
            f->keys[f->key_count++] = key;
    }
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    struct prg_error err = {0};
    struct prg_yaml_docs docs;
    *f = (struct fixture){.store = prg_store_mem_new()};
    for (size_t i = 0; i < PRG_COUNT(files); i++) {
        assert_ok(prg_yaml_load_file(&f->arena, files[i], NULL, &docs, &err), &err);
        put_all(f, &docs);
    }
    assert_ok(prg_yaml_load(&f->arena, "services", services, strlen(services), NULL, &docs, &err), &err);
    put_all(f, &docs);
    qsort(f->keys, f->key_count, sizeof(*f->keys), compare_keys);
    f->overlay = prg_overlay_new(&f->store->reader);
    for (size_t i = 0; i < PRG_COUNT(variants); i++)
        f->sets[i] = load(&variants[i]);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(variants); i++)
        prg_policy_set_unref(f->sets[i]);
    prg_overlay_free(f->overlay);
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
    return 0;
}

static struct prg_planner *planner_of(struct fixture *f, struct prg_policy_set *set)
{
    struct prg_planner *planner = prg_planner_new(set, &prg_compat_fixed, "kserve");
    prg_planner_load_config(planner, &f->store->reader);
    return planner;
}

// Everything that a comparison says, as text.
static void compare_over(struct fixture *f, struct prg_planner *const *base, struct prg_planner *const *new,
                         size_t threads, const struct prg_reader *store_of_new, const struct prg_overlay *overlay,
                         unsigned equal, struct prg_strbuf *out)
{
    struct prg_error err = {0};
    struct prg_fleet *fleet = NULL;
    struct prg_fleet_input in = {.planners = {base, new},
                                 .thread_count = threads,
                                 .equal_policies = equal,
                                 .stores = {&f->store->reader, store_of_new},
                                 .overlay = overlay,
                                 .keys = f->keys,
                                 .key_count = f->key_count,
                                 .now_ns = 1780272000000000000,
                                 .seed = 1};
    assert_ok(prg_fleet_compare(&in, &fleet, &err), &err);
    struct prg_report report = {.fleet = fleet, .base = "base", .new = "new"};
    prg_report_json(&report, out);
    prg_fleet_free(fleet);
}

static void compare(struct fixture *f, struct prg_planner *const *base, struct prg_planner *const *new, size_t threads,
                    const struct prg_reader *store_of_new, unsigned equal, struct prg_strbuf *out)
{
    compare_over(f, base, new, threads, store_of_new, NULL, equal, out);
}

static void one_plan_with_both_sets_finds_what_two_plans_find(void **state)
{
    struct fixture *f = *state;
    size_t different = 0;
    for (size_t i = 0; i < PRG_COUNT(variants); i++)
        for (size_t j = 0; j < PRG_COUNT(variants); j++) {
            prg_auto_strbuf together = PRG_STRBUF_INIT, apart = PRG_STRBUF_INIT, some = PRG_STRBUF_INIT;
            if (i == j) // one state cannot answer for both sides
                continue;
            struct prg_planner *base = planner_of(f, f->sets[i]), *new = planner_of(f, f->sets[j]);
            compare(f, &base, &new, 1, &f->store->reader, 0, &together);
            compare(f, &base, &new, 1, &f->store->reader, prg_twin_equal_policies(f->sets[i], f->sets[j]), &some);
            compare(f, &base, &new, 1, prg_overlay_reader(f->overlay), 0, &apart);
            assert_string_equal(together.text, apart.text);
            assert_string_equal(some.text, apart.text);
            different += strstr(together.text, "\"group\":") != NULL;
            prg_planner_free(base);
            prg_planner_free(new);
        }
    assert_true(different > PRG_COUNT(variants) * (PRG_COUNT(variants) - 1) / 2);
}

// ---- other objects ----

struct change_of_objects {
    const char *text;             // of objects that are others, or new
    const char *kind, *ns, *name; // of one that is gone
};

static const struct change_of_objects changes_of_objects[] = {
    // a runtime that serves some of them, one that nobody chooses, one that everybody would
    {.text =
         "{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ClusterServingRuntime', 'metadata': {'name': "
         "'kserve-xgbserver'}, 'spec': {'supportedModelFormats': [{'name': 'xgboost', 'version': '3', 'autoSelect': "
         "true, 'priority': 9}], 'protocolVersions': ['v1', 'v2'], 'containers': [{'name': 'kserve-container', "
         "'image': 'other:1'}]}}"},
    {.text = "{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ClusterServingRuntime', 'metadata': {'name': "
             "'unwanted'}, 'spec': {'supportedModelFormats': [{'name': 'sklearn', 'version': '1', 'autoSelect': "
             "false}], 'containers': [{'name': 'kserve-container', 'image': 'other:1'}]}}"},
    {.text = "{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ServingRuntime', 'metadata': {'name': 'mine', "
             "'namespace': 'a'}, 'spec': {'supportedModelFormats': [{'name': 'sklearn', 'version': '1', 'autoSelect': "
             "true, 'priority': 9}, {'name': 'xgboost', 'version': '3', 'autoSelect': true, 'priority': 9}], "
             "'protocolVersions': ['v1', 'v2'], 'containers': [{'name': 'kserve-container', 'image': 'other:1'}]}}"},
    // the one that a service names, and a second of the name of one that is chosen
    {.kind = "ClusterServingRuntime", .ns = "", .name = "kserve-mlserver"},
    {.text = "{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ServingRuntime', 'metadata': {'name': "
             "'kserve-sklearnserver', 'namespace': 'a', 'annotations': {'x': 'y'}}, 'spec': {'disabled': true, "
             "'supportedModelFormats': [], 'containers': [{'name': 'kserve-container', 'image': 'other:1'}]}}"},
    {.kind = "ClusterServingRuntime", .ns = "", .name = "kserve-lgbserver"},
    // what is read beside runtimes
    {.text = "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'a', 'labels': {'x': 'y'}}}"},
    {.text = "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'unread', 'namespace': 'a'}}"},
    {.text = "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'plain-predictor', 'namespace': "
             "'a'}, 'spec': {'replicas': 4}}"},
    {.text = "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', 'metadata': {'name': 'labels', "
             "'namespace': 'a'}, 'spec': {'predictor': {'model': {'modelFormat': {'name': 'sklearn'}, 'storageUri': "
             "'gs://b/other'}}}}"},
    {.kind = "InferenceService", .ns = "c", .name = "named"},
};

static const char *group_of_kind(const char *kind)
{
    return strcmp(kind, "ClusterServingRuntime") == 0 || strcmp(kind, "InferenceService") == 0 ? "serving.kserve.io"
                                                                                               : "";
}

static void what_a_changed_object_changes_is_found_without_planning_all_twice(void **state)
{
    struct fixture *f = *state;
    // The same policies, and such as change something besides; the faults kept as well.
    static const size_t others[] = {2, 7, 11};
    size_t different = 0;
    for (size_t i = 0; i < PRG_COUNT(changes_of_objects); i++)
        for (size_t j = 0; j < PRG_COUNT(others); j++) {
            const struct change_of_objects *change = &changes_of_objects[i];
            prg_auto_arena arena = {0};
            prg_auto_strbuf shorter = PRG_STRBUF_INIT, apart = PRG_STRBUF_INIT;
            struct prg_error err = {0};
            struct prg_overlay *overlay = prg_overlay_new(&f->store->reader);
            if (change->text)
                assert_ok(prg_overlay_put(overlay, json_of(&arena, change->text), NULL, &err), &err);
            struct prg_key gone = {change->kind ? group_of_kind(change->kind) : NULL, change->kind, change->ns,
                                   change->name};
            if (change->kind)
                prg_overlay_hide(overlay, &gone);
            struct prg_planner *base = planner_of(f, f->sets[0]), *new = planner_of(f, f->sets[others[j]]);
            const struct prg_reader *reader = prg_overlay_reader(overlay);
            unsigned equal = prg_twin_equal_policies(f->sets[0], f->sets[others[j]]);
            compare_over(f, &base, &new, 1, reader, overlay, equal, &shorter);
            compare_over(f, &base, &new, 1, reader, NULL, 0, &apart);
            assert_string_equal(shorter.text, apart.text);
            different += strstr(apart.text, "\"group\":") != NULL;
            prg_planner_free(base);
            prg_planner_free(new);
            prg_overlay_free(overlay);
        }
    assert_true(different > PRG_COUNT(changes_of_objects));
}

static void another_configuration_is_no_small_change(void **state)
{
    struct fixture *f = *state;
    prg_auto_arena arena = {0};
    prg_auto_strbuf shorter = PRG_STRBUF_INIT, apart = PRG_STRBUF_INIT;
    struct prg_error err = {0};
    struct prg_overlay *overlay = prg_overlay_new(&f->store->reader);
    const cJSON *map = json_of(&arena, "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': "
                                       "'inferenceservice-config', 'namespace': 'kserve'}, 'data': {'deploy': "
                                       "'{\\u0022defaultDeploymentMode\\u0022: \\u0022Standard\\u0022}'}}");
    assert_ok(prg_overlay_put(overlay, map, NULL, &err), &err);
    const struct prg_reader *reader = prg_overlay_reader(overlay);
    struct prg_planner *base = planner_of(f, f->sets[0]), *new = planner_of(f, f->sets[2]);
    prg_planner_load_config(new, reader);
    compare_over(f, &base, &new, 1, reader, overlay, 0, &shorter);
    compare_over(f, &base, &new, 1, reader, NULL, 0, &apart);
    assert_string_equal(shorter.text, apart.text);
    assert_non_null(strstr(apart.text, "\"group\":"));
    prg_planner_free(base);
    prg_planner_free(new);
    prg_overlay_free(overlay);
}

static void the_number_of_threads_does_not_matter(void **state)
{
    enum { THREADS = 5 };
    struct fixture *f = *state;
    struct prg_policy_set *sets[2][THREADS];
    struct prg_planner *planners[2][THREADS];
    struct prg_policy_limits limits = {0};
    struct prg_error err = {0};
    prg_auto_strbuf one = PRG_STRBUF_INIT;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < THREADS; i++) {
            assert_ok(prg_policy_set_copy(f->sets[side ? 7 : 0], &limits, &sets[side][i], &err), &err);
            planners[side][i] = planner_of(f, sets[side][i]);
        }
    compare(f, planners[0], planners[1], 1, &f->store->reader, 0, &one);
    for (size_t threads = 2; threads <= THREADS; threads++) {
        prg_auto_strbuf many = PRG_STRBUF_INIT;
        compare(f, planners[0], planners[1], threads, &f->store->reader, 0, &many);
        assert_string_equal(many.text, one.text);
    }
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < THREADS; i++) {
            prg_planner_free(planners[side][i]);
            prg_policy_set_unref(sets[side][i]);
        }
}

static void policies_with_the_same_text_are_known_to_be_equal(void **state)
{
    struct fixture *f = *state;
    const unsigned all = (PRG_TWIN_OBJECT_PATCH << 1) - 1;
    assert_int_equal(prg_twin_equal_policies(f->sets[0], f->sets[0]), all);
    assert_int_equal(prg_twin_equal_policies(f->sets[0], f->sets[2]), all); // the shipped text, in a set
    assert_int_equal(prg_twin_equal_policies(f->sets[0], f->sets[1]), all & ~(unsigned)PRG_TWIN_IMAGE);
    assert_int_equal(prg_twin_equal_policies(f->sets[1], f->sets[3]), all & ~(unsigned)PRG_TWIN_IMAGE);
    assert_int_equal(prg_twin_equal_policies(f->sets[1], f->sets[5]),
                     all & ~(unsigned)(PRG_TWIN_IMAGE | PRG_TWIN_ANNOTATION_FILTER));
}

static int fail_to_read(const struct prg_reader *reader, struct prg_error *err)
{
    (void)reader;
    return prg_fail(err, PRG_IO, "the server refuses");
}

static void objects_that_cannot_be_read_end_the_comparison(void **state)
{
    struct fixture *f = *state;
    struct prg_error err = {0};
    struct prg_fleet *fleet = NULL;
    struct prg_planner *base = planner_of(f, f->sets[0]), *new = planner_of(f, f->sets[1]);
    struct prg_fleet_input in = {.planners = {&base, &new},
                                 .thread_count = 1,
                                 .stores = {&f->store->reader, &f->store->reader},
                                 .keys = f->keys,
                                 .key_count = f->key_count};
    f->store->reader.trouble = fail_to_read;
    assert_int_equal(prg_fleet_compare(&in, &fleet, &err), PRG_IO);
    assert_error_has(&err, "the server refuses");
    assert_null(fleet);
    f->store->reader.trouble = NULL;
    prg_planner_free(base);
    prg_planner_free(new);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_plan_with_both_sets_finds_what_two_plans_find, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_changed_object_changes_is_found_without_planning_all_twice, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_configuration_is_no_small_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_number_of_threads_does_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(policies_with_the_same_text_are_known_to_be_equal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(objects_that_cannot_be_read_end_the_comparison, set_up, tear_down),
    };
    prg_stdlib_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
