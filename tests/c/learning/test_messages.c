// SPDX-License-Identifier: Apache-2.0
#include "learning_fixture.h"

#include "learning/messages.h"

static cJSON *told(struct learning_fixture *f, enum prg_learning_change change)
{
    cJSON *messages = prg_json_array(&f->arena);
    prg_learning_downstream(&f->arena, &f->store->reader, job_copy(f), change, messages);
    return messages;
}

// "insert model base -> edge1; …"
static const char *brief(struct learning_fixture *f, const cJSON *messages)
{
    const cJSON *message;
    const char *text = "";
    prg_json_each (message, messages) {
        const cJSON *header = prg_json_get(message, "header");
        text = prg_arena_printf(&f->arena, "%s%s%s %s %s -> %s", text, *text ? "; " : "",
                                prg_json_get_text(header, "operation"), prg_json_get_text(header, "resourceKind"),
                                prg_json_get_text(header, "resourceName"), prg_json_get_text(message, "node"));
    }
    return text;
}

static void annotate(struct learning_fixture *f, const char *key, const char *value)
{
    cJSON *job = job_copy(f);
    cJSON *meta = prg_json_get(job, "metadata");
    prg_json_set_string(&f->arena, prg_json_ensure_object(&f->arena, meta, "annotations"), key, value);
    put(f, job);
}

static void each_state_tells_whom_it_concerns(void **state)
{
    static const char *const cases[][3] = {
        {"Train", "Waiting", "insert model base -> edge1; insert incrementallearningjob helmet -> edge1"},
        {"Eval", "Waiting", "insert model served -> edge1; insert incrementallearningjob helmet -> edge1"},
        {"Deploy", "Waiting", "insert model served -> edge3; insert incrementallearningjob helmet -> edge3"},
        {"Train", "Running", "insert incrementallearningjob helmet -> edge2"},
        {"Eval", "Running",
         "delete incrementallearningjob helmet -> edge2; insert incrementallearningjob helmet -> edge3"},
        {"Train", "Completed", "delete incrementallearningjob helmet -> edge2"},
        {"Train", "Failed", "delete incrementallearningjob helmet -> edge2"},
        {"Eval", "Completed", ""}, // its node deploys
        {"Deploy", "Completed", ""},
        {"Train", "Ready", ""},
        {"Train", "Starting", ""},
        {"Train", "GaveUp", ""},
    };
    struct learning_fixture *f = *state;
    annotate(f, "sedna.io/Train", "edge2");
    annotate(f, "sedna.io/Eval", "edge3");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        set_state(f, cases[i][0], cases[i][1], NULL);
        assert_string_equal(brief(f, told(f, PRG_CHANGE_STORED)), cases[i][2]);
    }
}

static void a_deleted_job_is_deleted_from_every_node_once(void **state)
{
    struct learning_fixture *f = *state;
    assert_string_equal(brief(f, told(f, PRG_CHANGE_DELETED)), ""); // nobody has heard of it
    set_state(f, "Train", "Waiting", NULL);
    annotate(f, "sedna.io/Train", "edge2");
    annotate(f, "sedna.io/Eval", "edge2");
    annotate(f, "sedna.io/Deploy", "edge4"); // does not count without hot update
    assert_string_equal(brief(f, told(f, PRG_CHANGE_DELETED)),
                        "delete incrementallearningjob helmet -> edge1; delete incrementallearningjob helmet -> edge2; "
                        "delete incrementallearningjob helmet -> ");
}

static void nothing_is_told_without_a_dataset_on_a_node(void **state)
{
    struct learning_fixture *f = *state;
    set_state(f, "Train", "Waiting", NULL);
    put_yaml(
        f, "{apiVersion: sedna.io/v1alpha1, kind: Dataset, metadata: {name: photos, namespace: ns}, spec: {url: /d}}");
    assert_string_equal(brief(f, told(f, PRG_CHANGE_STORED)), "");
}

static void secrets_travel_as_an_annotation(void **state)
{
    struct learning_fixture *f = *state;
    put_yaml(f, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, data: {b: QUs=, a: /w==}}\n---\n"
                "{apiVersion: sedna.io/v1alpha1, kind: Model, metadata: {name: base, namespace: ns}, spec: {url: "
                "s3://x/m, credentialName: s}}");
    set_state(f, "Train", "Waiting", NULL);
    cJSON *messages = told(f, PRG_CHANGE_STORED);
    const cJSON *content = prg_json_get(prg_json_item(messages, 0), "content");
    assert_string_equal(prg_meta_annotation(content, "sedna.io/credential"), "{\"a\":\"\xef\xbf\xbd\",\"b\":\"AK\"}");
    assert_null(prg_meta_annotation(prg_reader_get(&f->store->reader, "sedna.io", "Model", "ns", "base"),
                                    "sedna.io/credential"));
}

static void datasets_go_to_their_node(void **state)
{
    struct learning_fixture *f = *state;
    cJSON *messages = prg_json_array(&f->arena);
    const cJSON *dataset = prg_reader_get(&f->store->reader, "sedna.io", "Dataset", "ns", "photos");
    prg_dataset_downstream(&f->arena, &f->store->reader, dataset, PRG_CHANGE_STORED, messages);
    prg_dataset_downstream(&f->arena, &f->store->reader, dataset, PRG_CHANGE_DELETED, messages);
    assert_string_equal(brief(f, messages), "insert dataset photos -> edge1; delete dataset photos -> edge1");
}

static void the_awaited_node_is_named(void **state)
{
    struct learning_fixture *f = *state;
    assert_null(prg_learning_awaited_node(&f->store->reader, job_copy(f)));
    set_state(f, "Eval", "Waiting", NULL);
    assert_string_equal(prg_learning_awaited_node(&f->store->reader, job_copy(f)), "edge1");
    set_state(f, "Deploy", "Waiting", NULL);
    assert_string_equal(prg_learning_awaited_node(&f->store->reader, job_copy(f)), "");
    set_state(f, "Train", "Ready", NULL);
    assert_null(prg_learning_awaited_node(&f->store->reader, job_copy(f)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        learning_test(each_state_tells_whom_it_concerns),
        learning_test(a_deleted_job_is_deleted_from_every_node_once),
        learning_test(nothing_is_told_without_a_dataset_on_a_node),
        learning_test(secrets_travel_as_an_annotation),
        learning_test(datasets_go_to_their_node),
        learning_test(the_awaited_node_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
