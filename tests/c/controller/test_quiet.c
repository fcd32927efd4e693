// SPDX-License-Identifier: Apache-2.0
// test_quiet.c: a plan is left out only when nothing that it would read has changed. Whatever a plan reads is found by
// watching it read, so a new input is tested without being named here.
#include "loop_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/quiet.h"
#include "object/meta.h"

struct fixture {
    struct loop_fixture is; // first
    int64_t wall_ns;
    size_t planned, left_out; // since the last look
    bool has_plan_error;
};

static void on_report(const struct prg_reconcile_report *report, void *ctx)
{
    struct fixture *f = ctx;
    f->planned++;
    f->has_plan_error = report->error || report->plan->error;
}

static void on_unchanged(const struct prg_key *key, void *ctx)
{
    assert_string_equal(key->kind, "InferenceService");
    ((struct fixture *)ctx)->left_out++;
}

static void put_service(struct fixture *f, const char *predictor)
{
    loop_fixture_put(
        &f->is,
        prg_arena_printf(&f->is.arena,
                         "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', 'metadata': "
                         "{'name': 'iris', 'namespace': 'default', 'uid': 'u-iris', 'generation': 1, 'annotations': "
                         "{'serving.kserve.io/deploymentMode': 'Standard'}}, 'spec': {'predictor': {%s}}}",
                         predictor));
}

// One of everything that a plan may read.
static void put_inputs(struct fixture *f)
{
    loop_fixture_put(
        &f->is, "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'default', 'labels': {'a': 'b'}}}");
    loop_fixture_put(
        &f->is,
        "{'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': 'reader', 'namespace': 'default'}, "
        "'secrets': [{'name': 's3'}]}");
    loop_fixture_put(
        &f->is,
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 's3', 'namespace': 'default', 'annotations': "
        "{'serving.kserve.io/s3-endpoint': 'minio:9000'}}, 'data': {'AWS_ACCESS_KEY_ID': 'eA==', "
        "'AWS_SECRET_ACCESS_KEY': 'eA=='}}");
    loop_fixture_put(
        &f->is, "{'apiVersion': 'serving.kserve.io/v1alpha1', 'kind': 'ServingRuntime', 'metadata': {'name': 'own', "
                "'namespace': 'default'}, 'spec': {'supportedModelFormats': [{'name': 'onnx', 'autoSelect': true}], "
                "'containers': [{'name': 'kserve-container', 'image': 'own:1'}]}}");
    loop_fixture_put(
        &f->is, "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'iris-predictor-1', 'namespace': 'default', "
                "'labels': {'app': 'isvc.iris-predictor'}}}");
    put_service(f, "'model': {'modelFormat': {'name': 'sklearn'}, 'storageUri': 's3://b/m'}");
}

static int setup(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    struct prg_serving_loop_options options = {.report = on_report, .unchanged = on_unchanged, .ctx = f};
    loop_fixture_init(&f->is, "../examples/cluster/config.yaml", &options);
    f->wall_ns = loop_fixture_wall_ns;
    put_inputs(f);
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

// Wakes the service and says whether a plan was made. Time goes on.
static bool is_planned(struct fixture *f)
{
    struct prg_key key = {"serving.kserve.io", "InferenceService", "default", "iris"};
    f->planned = f->left_out = 0;
    f->is.now_ms += 3600 * 1000;
    f->wall_ns += INT64_C(3600) * 1000000000;
    prg_serving_loop_changed(f->is.loop, &key, f->is.now_ms);
    prg_serving_loop_run(f->is.loop, f->is.now_ms, f->wall_ns);
    assert_int_equal(f->planned + f->left_out, 1);
    return f->planned == 1;
}

// Until there is nothing more to do.
static void settle(struct fixture *f)
{
    int turns = 0;
    while (is_planned(f))
        assert_true(++turns < 6);
}

// ---- what a plan reads ----

struct read { // one question
    struct prg_reader_question question;
};

static struct {
    struct prg_reader real;
    struct prg_arena arena;
    struct read reads[128];
    size_t count;
} spy;

static const char *kept(const char *text)
{
    return text ? prg_arena_strdup(&spy.arena, text) : NULL;
}

static bool is_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static void note(struct prg_reader_question q)
{
    for (size_t i = 0; i < spy.count; i++) {
        const struct prg_reader_question *known = &spy.reads[i].question;
        if (is_text(q.group, known->group) && is_text(q.kind, known->kind) && is_text(q.ns, known->ns) &&
            is_text(q.name, known->name) && is_text(q.label, known->label) && is_text(q.value, known->value))
            return;
    }
    assert_true(spy.count < PRG_COUNT(spy.reads));
    spy.reads[spy.count++].question = (struct prg_reader_question){kept(q.group), kept(q.kind),  kept(q.ns),
                                                                   kept(q.name),  kept(q.label), kept(q.value)};
}

static const cJSON *spy_get(const struct prg_reader *reader, const struct prg_key *key)
{
    note((struct prg_reader_question){key->group, key->kind, key->ns, key->name, NULL, NULL});
    return spy.real.get(reader, key);
}

static void spy_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                     prg_reader_visit_fn visit, void *ctx)
{
    note((struct prg_reader_question){group, kind, ns, NULL, NULL, NULL});
    spy.real.list(reader, group, kind, ns, visit, ctx);
}

static void spy_labelled(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                         const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    note((struct prg_reader_question){group, kind, ns, NULL, label, value});
    spy.real.list_labelled(reader, group, kind, ns, label, value, visit, ctx);
}

// Whoever asks for a state and keeps what it had then has read.
static bool spy_state(const struct prg_reader *reader, const struct prg_reader_question *question,
                      struct prg_reader_state *ret)
{
    note(*question);
    return spy.real.state(reader, question, ret);
}

static void watch_reads(struct fixture *f)
{
    spy.count = 0;
    prg_arena_init(&spy.arena);
    spy.real = f->is.store->reader;
    f->is.store->reader.get = spy_get;
    f->is.store->reader.list = spy_list;
    f->is.store->reader.list_labelled = spy_labelled;
    f->is.store->reader.state = spy_state;
    prg_planner_load_config(f->is.planner, &f->is.store->reader);
    assert_true(is_planned(f)); // the configuration was read again
    f->is.store->reader = spy.real;
}

// ---- changes ----

static const char *api_version_of(struct fixture *f, const struct prg_reader_question *q)
{
    if (strcmp(q->group, "serving.kserve.io") == 0)
        return strcmp(q->kind, "InferenceService") == 0 ? "serving.kserve.io/v1beta1" : "serving.kserve.io/v1alpha1";
    if (strcmp(q->group, "autoscaling") == 0)
        return "autoscaling/v2";
    return *q->group ? prg_arena_printf(&f->is.arena, "%s/v1", q->group) : "v1";
}

// A new object that the question's answer has in it.
static void put_answer(struct fixture *f, const struct prg_reader_question *q, const char *name)
{
    struct prg_error err = {0};
    cJSON *object = prg_json_object(&f->is.arena), *metadata = prg_json_ensure_object(&f->is.arena, object, "metadata");
    prg_json_set_string(&f->is.arena, object, "apiVersion", api_version_of(f, q));
    prg_json_set_string(&f->is.arena, object, "kind", q->kind);
    prg_json_set_string(&f->is.arena, metadata, "name", name);
    if (q->ns && *q->ns)
        prg_json_set_string(&f->is.arena, metadata, "namespace", q->ns);
    if (q->label)
        prg_json_set_string(&f->is.arena, prg_json_ensure_object(&f->is.arena, metadata, "labels"), q->label, q->value);
    assert_ok(prg_store_mem_put(f->is.store, object, false, true, &err), &err);
}

static void put_annotated(struct fixture *f, const cJSON *object, const char *value)
{
    struct prg_error err = {0};
    cJSON *copy = prg_json_copy(&f->is.arena, object);
    cJSON *metadata = prg_json_ensure_object(&f->is.arena, copy, "metadata");
    prg_json_set_string(&f->is.arena, prg_json_ensure_object(&f->is.arena, metadata, "annotations"), "changed", value);
    assert_ok(prg_store_mem_put(f->is.store, copy, false, true, &err), &err);
}

static void changes_of_an_object_are_planned(struct fixture *f, const struct prg_reader_question *q)
{
    struct prg_key key = {q->group, q->kind, q->ns ? q->ns : "", q->name};
    const cJSON *object = f->is.store->reader.get(&f->is.store->reader, &key);
    bool is_subject = strcmp(q->kind, "InferenceService") == 0;
    if (!object) {
        put_answer(f, q, q->name);
        assert_true(is_planned(f));
        settle(f);
        assert_true(prg_store_mem_drop(f->is.store, &key));
        assert_true(is_planned(f));
        settle(f);
        return;
    }
    const cJSON *before = prg_json_copy(&f->is.arena, object);
    put_annotated(f, object, "1");
    assert_true(is_planned(f));
    settle(f);
    put_annotated(f, f->is.store->reader.get(&f->is.store->reader, &key), "2");
    assert_true(is_planned(f));
    settle(f);
    if (is_subject)
        return;
    assert_true(prg_store_mem_drop(f->is.store, &key));
    assert_true(is_planned(f));
    for (int i = 0; i < 3; i++) // without it, the service may wait for it
        is_planned(f);
    struct prg_error err = {0};
    assert_ok(prg_store_mem_put(f->is.store, before, false, true, &err), &err);
    assert_true(is_planned(f));
    settle(f);
}

static void changes_of_a_list_are_planned(struct fixture *f, const struct prg_reader_question *q)
{
    struct prg_key key = {q->group, q->kind, q->ns ? q->ns : "", "one-more"};
    put_answer(f, q, key.name);
    assert_true(is_planned(f));
    settle(f);
    put_annotated(f, f->is.store->reader.get(&f->is.store->reader, &key), "1");
    assert_true(is_planned(f));
    settle(f);
    assert_true(prg_store_mem_drop(f->is.store, &key));
    assert_true(is_planned(f));
    settle(f);
}

static bool has_read(const char *kind)
{
    for (size_t i = 0; i < spy.count; i++)
        if (strcmp(spy.reads[i].question.kind, kind) == 0)
            return true;
    return false;
}

static void every_change_is_planned(struct fixture *f)
{
    settle(f);
    watch_reads(f);
    settle(f);
    for (size_t i = 0; i < spy.count; i++) {
        const struct prg_reader_question *q = &spy.reads[i].question;
        struct prg_key key = {q->group, q->kind, q->ns ? q->ns : "", q->name ? q->name : ""};
        if (prg_planner_is_config(f->is.planner, &key)) // read when it changes, see below
            continue;
        if (q->name)
            changes_of_an_object_are_planned(f, q);
        else
            changes_of_a_list_are_planned(f, q);
    }
}

static void need_reads(const char *const *kinds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!has_read(kinds[i])) // the test would be about less than it says
            fail_msg("no plan reads a %s", kinds[i]);
    prg_arena_release(&spy.arena);
}

static void a_change_of_anything_that_a_plan_reads_leads_to_a_plan(void **state)
{
    static const char *const kinds[] = {
        "InferenceService", "ServingRuntime", "ClusterServingRuntime",  "ClusterStorageContainer", "Namespace", "Pod",
        "Deployment",       "Service",        "HorizontalPodAutoscaler"};
    every_change_is_planned(*state);
    need_reads(kinds, PRG_COUNT(kinds));
}

static void a_change_of_credentials_leads_to_a_plan(void **state)
{
    static const char *const kinds[] = {"Secret", "ServiceAccount"};
    struct fixture *f = *state;
    put_service(f, "'serviceAccountName': 'reader', 'storageUris': [{'uri': 's3://b/m', 'mountPath': '/mnt/models'}], "
                   "'model': {'modelFormat': {'name': 'sklearn'}}");
    every_change_is_planned(f);
    need_reads(kinds, PRG_COUNT(kinds));
}

static void a_change_of_what_no_plan_reads_does_not(void **state)
{
    struct fixture *f = *state;
    settle(f);
    loop_fixture_put(&f->is,
                     "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'other', 'namespace': 'default'}}");
    loop_fixture_put(
        &f->is, "{'apiVersion': 'v1', 'kind': 'ServiceAccount', 'metadata': {'name': 's3', 'namespace': 'default'}}");
    loop_fixture_put(
        &f->is,
        "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'iris', 'namespace': 'default'}}");
    loop_fixture_put(&f->is, "{'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'elsewhere'}}");
    assert_false(is_planned(f));
}

static void other_settings_or_policies_lead_to_a_plan(void **state)
{
    struct fixture *f = *state;
    struct prg_policy_options options = {0};
    struct prg_policy_set *again;
    struct prg_error err = {0};
    settle(f);
    prg_planner_load_config(f->is.planner, &f->is.store->reader);
    assert_true(is_planned(f));
    settle(f);
    assert_ok(prg_policy_set_load(&options, &again, &err), &err);
    prg_planner_set_policies(f->is.planner, again);
    assert_true(is_planned(f));
    settle(f);
    prg_planner_set_namespace_policies(f->is.planner, "default", again);
    assert_true(is_planned(f));
    settle(f);
    prg_planner_set_namespace_policies(f->is.planner, "default", NULL);
    assert_true(is_planned(f));
    settle(f);
    prg_planner_set_lc_server(f->is.planner, "http://x");
    assert_true(is_planned(f));
    prg_policy_set_unref(again);
}

// ---- never left out ----

static int forgetful_status(struct prg_store *store, const struct prg_key *key, const cJSON *status,
                            enum prg_write_result *ret, struct prg_error *err)
{
    (void)store;
    (void)key;
    (void)status;
    (void)err;
    *ret = PRG_WRITE_UNCHANGED;
    return PRG_OK;
}

static void a_plan_that_looked_at_the_clock_is_never_left_out(void **state)
{
    struct fixture *f = *state;
    f->is.ops.set_status = forgetful_status; // each plan has a new condition, with its time
    for (int i = 0; i < 4; i++)
        assert_true(is_planned(f));
    assert_false(f->has_plan_error);
}

static int broken_apply(struct prg_store *store, const cJSON *object, enum prg_write_result *ret, struct prg_error *err)
{
    (void)store;
    (void)object;
    (void)ret;
    return prg_fail(err, PRG_IO, "the disk is full");
}

static void after_an_error_nothing_is_left_out(void **state)
{
    struct fixture *f = *state;
    settle(f);
    put_annotated(f, prg_reader_get(&f->is.store->reader, "serving.kserve.io", "InferenceService", "default", "iris"),
                  "1");
    f->is.ops.apply = broken_apply;
    for (int i = 0; i < 4; i++) {
        assert_true(is_planned(f));
        assert_true(f->has_plan_error);
    }
}

static void a_plan_with_an_error_is_never_left_out(void **state)
{
    struct fixture *f = *state;
    put_service(f, "'model': {'modelFormat': {'name': 'fortran'}, 'storageUri': 'gs://b/m'}");
    for (int i = 0; i < 4; i++) {
        assert_true(is_planned(f));
        assert_true(f->has_plan_error);
    }
}

static void where_states_cannot_be_told_every_plan_is_made(void **state)
{
    struct fixture *f = *state;
    f->is.store->reader.state = NULL;
    for (int i = 0; i < 6; i++)
        assert_true(is_planned(f));
}

// ---- notes ----

static void a_kept_plan_takes_a_few_hundred_bytes(void **state)
{
    struct fixture *f = *state;
    struct prg_key key = {"serving.kserve.io", "InferenceService", "default", "iris"};
    struct prg_quiet *quiet = prg_quiet_new();
    struct prg_notes *notes = prg_notes_new(&f->is.store->reader, &key);
    struct prg_error err = {0};
    struct prg_plan *plan = prg_plan_new(&f->is.arena);
    assert_ok(prg_planner_plan(f->is.planner, prg_notes_reader(notes), &key, f->wall_ns, 1, plan, &err), &err);
    prg_quiet_keep(quiet, "default/iris", notes, 1);
    assert_true(prg_quiet_holds(quiet, "default/iris", &key, &f->is.store->reader, 1));
    assert_false(prg_quiet_holds(quiet, "default/iris", &key, &f->is.store->reader, 2));
    assert_false(prg_quiet_holds(quiet, "default/other", &key, &f->is.store->reader, 1));
    assert_in_range(prg_quiet_bytes(quiet), 100, 500);
    prg_quiet_keep(quiet, "default/iris", notes, 2);
    assert_in_range(prg_quiet_bytes(quiet), 100, 500);
    prg_quiet_forget(quiet, "default/iris");
    assert_int_equal(prg_quiet_bytes(quiet), 0);
    assert_false(prg_quiet_holds(quiet, "default/iris", &key, &f->is.store->reader, 2));
    prg_notes_free(notes);
    prg_quiet_free(quiet);
}

// Names that look like each other's ends, namespaces of others, kinds that have no number, odd bytes.
static void every_question_is_asked_again_as_it_was(void **state)
{
    static const struct prg_reader_question questions[] = {
        {"", "Secret", "default", "iris-x", NULL, NULL},      {"", "Secret", "default", "x", NULL, NULL},
        {"", "Secret", "iris", "iris", NULL, NULL},           {"example.com", "Thing", "default", "ir", NULL, NULL},
        {"example.com", "Thing", "", "\xff\x01", NULL, NULL}, {"", "Pod", "other", NULL, "a/b", ""},
        {"example.com", "Thing", NULL, NULL, NULL, NULL},     {"apps", "Deployment", "default", NULL, NULL, NULL}};
    struct fixture *f = *state;
    struct prg_key key = {"serving.kserve.io", "InferenceService", "default", "iris"};
    for (size_t i = 0; i < PRG_COUNT(questions); i++) {
        const struct prg_reader_question *q = &questions[i];
        struct prg_quiet *quiet = prg_quiet_new();
        struct prg_notes *notes = prg_notes_new(&f->is.store->reader, &key);
        struct prg_reader_state before;
        assert_true(prg_reader_state(prg_notes_reader(notes), q, &before));
        prg_quiet_keep(quiet, "k", notes, 0);
        assert_true(prg_quiet_holds(quiet, "k", &key, &f->is.store->reader, 0));
        put_answer(f, q, q->name ? q->name : "one-more");
        assert_false(prg_quiet_holds(quiet, "k", &key, &f->is.store->reader, 0));
        prg_notes_free(notes);
        prg_quiet_free(quiet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_of_anything_that_a_plan_reads_leads_to_a_plan, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_of_credentials_leads_to_a_plan, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_of_what_no_plan_reads_does_not, setup, teardown),
        cmocka_unit_test_setup_teardown(other_settings_or_policies_lead_to_a_plan, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_that_looked_at_the_clock_is_never_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(after_an_error_nothing_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_with_an_error_is_never_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(where_states_cannot_be_told_every_plan_is_made, setup, teardown),
        cmocka_unit_test_setup_teardown(a_kept_plan_takes_a_few_hundred_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(every_question_is_asked_again_as_it_was, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
