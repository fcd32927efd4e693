// SPDX-License-Identifier: Apache-2.0
// test_learning_ledger.c: what is kept of a job for its edge nodes, and where they are listened to.
#include "support/support.h"

#include <string.h>

#include "controller/learning_ledger.h"
#include "controller/learning_settings.h"
#include "learning/messages.h"
#include "object/meta.h"
#include "store/store_mem.h"

struct fixture {
    struct prg_arena arena;
    struct prg_store *store;
};

static int set_up(void **state)
{
    static struct fixture f;
    prg_arena_init(&f.arena);
    f.store = prg_store_mem_new();
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
    return 0;
}

static cJSON *job(struct fixture *f, const char *annotations, const char *conditions)
{
    return json_of(&f->arena,
                   prg_arena_printf(&f->arena,
                                    "{'apiVersion': 'sedna.io/v1alpha1', 'kind': 'IncrementalLearningJob', 'metadata': "
                                    "{'name': 'helmet', 'namespace': 'ns', 'uid': 'u1', 'annotations': %s}, 'spec': "
                                    "{'dataset': {'name': 'photos'}}, 'status': {'conditions': %s}}",
                                    annotations, conditions));
}

static void put_dataset(struct fixture *f)
{
    struct prg_error err = {0};
    assert_ok(prg_store_mem_put(f->store,
                                json_of(&f->arena,
                                        "{'apiVersion': 'sedna.io/v1alpha1', 'kind': 'Dataset', 'metadata': {'name': "
                                        "'photos', 'namespace': 'ns'}, 'spec': {'nodeName': 'edge1'}}"),
                                false, true, &err),
              &err);
}

static const char *deletions(struct fixture *f, const struct prg_reader *reader, const cJSON *ghost)
{
    cJSON *messages = prg_json_array(&f->arena), *message;
    const char *text = "";
    prg_learning_downstream(&f->arena, reader, ghost, PRG_CHANGE_DELETED, messages);
    prg_json_each (message, messages)
        text = prg_arena_printf(&f->arena, "%s%s %s;", text, prg_json_get_text(message, "node"),
                                prg_json_get_text(prg_json_get(message, "header"), "operation"));
    return text;
}

static void a_job_that_no_node_knows_is_not_kept(void **state)
{
    struct fixture *f = *state;
    struct prg_ledger_entry entry;
    assert_false(prg_ledger_of(&f->arena, &f->store->reader, job(f, "{}", "[]"), NULL, &entry));
    put_dataset(f);
    assert_false(prg_ledger_of(&f->arena, &f->store->reader, job(f, "{}", "[]"), NULL, &entry));
    assert_true(prg_ledger_of(&f->arena, &f->store->reader, job(f, "{}", "[{'type': 'Waiting'}]"), NULL, &entry));
    assert_string_equal(entry.dataset, "edge1");
}

static void what_is_kept_reaches_the_same_nodes_when_all_else_is_gone(void **state)
{
    struct fixture *f = *state;
    struct prg_ledger_entry entry, read;
    struct prg_ledger_reader reader;
    put_dataset(f);
    const cJSON *stored = job(f,
                              "{'sedna.io/Train': 'edge2', 'sedna.io/Eval': 'edge3', 'sedna.io/Deploy': 'edge4', "
                              "'sedna.io/model-hot-update-config': '/x'}",
                              "[{'stage': 'Train', 'type': 'Waiting'}]");
    assert_true(prg_ledger_of(&f->arena, &f->store->reader, stored, NULL, &entry));
    const char *wanted = deletions(f, &f->store->reader, stored);
    assert_string_equal(wanted, "edge1 delete;edge2 delete;edge3 delete;edge4 delete;");
    const cJSON *object = prg_ledger_object(&f->arena, &entry);
    assert_string_equal(prg_meta_name(object), "perigee-edge-helmet");
    struct prg_key dataset = {"sedna.io", "Dataset", "ns", "photos"};
    assert_true(prg_store_mem_drop(f->store, &dataset));
    assert_true(prg_ledger_read(&f->arena, object, &read));
    assert_int_equal(prg_ledger_digest(&read), prg_ledger_digest(&entry));
    const cJSON *ghost = prg_ledger_ghost(&f->arena, &read);
    prg_ledger_reader_init(&reader, &f->arena, &f->store->reader, ghost, &read);
    assert_string_equal(deletions(f, &reader.reader, ghost), wanted);
}

static void inference_without_hot_update_does_not_count_as_a_node(void **state)
{
    struct fixture *f = *state;
    struct prg_ledger_entry entry;
    assert_true(prg_ledger_of(&f->arena, &f->store->reader,
                              job(f, "{'sedna.io/Train': 'edge2', 'sedna.io/Deploy': 'edge4'}", "[{'type': 'Ready'}]"),
                              NULL, &entry));
    assert_string_equal(entry.deploy, "");
}

static const char *deployed(struct fixture *f, const struct prg_ledger_entry *entry)
{
    struct prg_ledger_entry read;
    assert_true(prg_ledger_read(&f->arena, prg_ledger_object(&f->arena, entry), &read));
    assert_int_equal(prg_ledger_digest(&read), prg_ledger_digest(entry));
    const char *text = "";
    const cJSON *mark;
    prg_json_each (mark, read.deployed)
        text = prg_arena_printf(&f->arena, "%s%s%s@%s", text, *text ? " " : "", prg_json_get_text(mark, "node"),
                                prg_json_get_text(mark, "since"));
    return *text ? text : "nobody";
}

#define WAITING(since) "{'stage': 'Deploy', 'type': 'Waiting', 'lastTransitionTime': '" since "'}"

static void who_took_part_in_a_deployment_is_kept_until_it_forgets_the_job(void **state)
{
    static const char nodes[] = "{'sedna.io/Eval': 'edge2', 'sedna.io/Deploy': 'edge4'}";
    struct fixture *f = *state;
    struct prg_ledger_entry entries[6] = {{0}};
    const struct prg_reader *reader = &f->store->reader;
    const cJSON *evaluating = job(f, nodes, "[{'stage': 'Eval', 'type': 'Running'}]"),
                *deploying = job(f, nodes, "[" WAITING("10") "]"),
                *loading = job(f, nodes, "[" WAITING("10") ", {'stage': 'Deploy', 'type': 'Running'}]"),
                *over = job(f, nodes, "[" WAITING("10") ", {'stage': 'Deploy', 'type': 'Completed'}]"),
                *again = job(f, nodes, "[" WAITING("10") ", " WAITING("11") "]"),
                *here = job(f, "{'sedna.io/Eval': 'edge1'}", "[" WAITING("12") "]");
    put_dataset(f);
    assert_true(prg_ledger_of(&f->arena, reader, evaluating, NULL, &entries[0]));
    assert_string_equal(deployed(f, &entries[0]), "nobody");
    assert_true(prg_ledger_of(&f->arena, reader, deploying, &entries[0], &entries[1]));
    assert_string_equal(deployed(f, &entries[1]), "edge2@10");
    assert_true(prg_ledger_of(&f->arena, reader, loading, &entries[1], &entries[2]));
    assert_string_equal(deployed(f, &entries[2]), "edge2@10 edge4@10");
    prg_ledger_forgotten(&entries[2], "edge4", "");
    prg_ledger_forgotten(&entries[2], "edge3", "");
    assert_true(prg_ledger_of(&f->arena, reader, over, &entries[2], &entries[3]));
    assert_string_equal(deployed(f, &entries[3]), "edge2@10");
    assert_true(prg_ledger_of(&f->arena, reader, again, &entries[3], &entries[4]));
    assert_string_equal(deployed(f, &entries[4]), "edge2@10 edge2@11"); // the first is not forgotten yet
    prg_ledger_forgotten(&entries[4], "edge2", "11");
    assert_string_equal(deployed(f, &entries[4]), "edge2@11");
    prg_ledger_forgotten(&entries[4], "edge2", "");
    assert_string_equal(deployed(f, &entries[4]), "nobody");
    assert_true(prg_ledger_of(&f->arena, reader, here, &entries[4], &entries[5])); // it goes on from round to round
    assert_string_equal(deployed(f, &entries[5]), "nobody");
}

static void the_node_of_the_dataset_is_never_made_to_forget(void **state)
{
    struct fixture *f = *state;
    const struct prg_reader *reader = &f->store->reader;
    const cJSON *deploying = job(f, "{'sedna.io/Eval': 'edge1'}", "[{'stage': 'Deploy', 'type': 'Waiting'}]");
    struct prg_ledger_entry entries[3] = {{0}};
    // Its Dataset is replaced: for a moment nobody can tell whose node it is.
    assert_true(prg_ledger_of(&f->arena, reader, deploying, NULL, &entries[0]));
    assert_string_equal(deployed(f, &entries[0]), "nobody");
    // The Dataset moved to a node that took part in an earlier deployment.
    entries[1] = entries[0];
    entries[1].deployed = json_of(&f->arena, "[{'node': 'edge2', 'since': '10'}, {'node': 'edge1', 'since': '10'}]");
    put_dataset(f);
    assert_true(prg_ledger_of(&f->arena, reader, deploying, &entries[1], &entries[2]));
    assert_string_equal(deployed(f, &entries[2]), "edge2@10");
}

static void a_node_that_the_dataset_left_is_to_forget_the_job_unless_it_works_for_it(void **state)
{
    static const struct {
        const char *train, *want;
    } cases[] = {{"", "edge9@"}, {"edge9", "nobody"}};
    struct fixture *f = *state;
    put_dataset(f);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_ledger_entry before, after;
        const cJSON *waiting = job(f, "{}", "[{'stage': 'Train', 'type': 'Waiting'}]");
        assert_true(prg_ledger_of(&f->arena, &f->store->reader, waiting, NULL, &before));
        before.dataset = "edge9";
        before.train = cases[i].train;
        assert_true(prg_ledger_of(&f->arena, &f->store->reader, waiting, &before, &after));
        assert_string_equal(deployed(f, &after), cases[i].want);
    }
}

// Also the Dataset's node: its samples were another job's.
static void who_knew_a_job_of_the_name_is_to_forget_it(void **state)
{
    struct fixture *f = *state;
    const struct prg_reader *reader = &f->store->reader;
    struct prg_ledger_entry entries[4] = {{0}};
    cJSON *anew = job(f, "{}", "[]"), *begun = job(f, "{}", "[{'stage': 'Train', 'type': 'Waiting'}]");
    put_dataset(f);
    assert_true(prg_ledger_of(&f->arena, reader,
                              job(f,
                                  "{'sedna.io/Train': 'edge2', 'sedna.io/Eval': 'edge3', 'sedna.io/Deploy': 'edge4', "
                                  "'sedna.io/model-hot-update-config': '/x'}",
                                  "[{'stage': 'Train', 'type': 'Waiting'}]"),
                              NULL, &entries[0]));
    entries[0].deployed = json_of(&f->arena, "[{'node': 'edge5', 'since': '10'}, {'node': 'edge3', 'since': '11'}]");
    prg_json_set_string(&f->arena, prg_json_get(anew, "metadata"), "uid", "u2");
    prg_json_set_string(&f->arena, prg_json_get(begun, "metadata"), "uid", "u2");
    assert_false(prg_ledger_of(&f->arena, reader, anew, &entries[0], &entries[1])); // but what was is not lost
    assert_string_equal(deployed(f, &entries[1]), "edge5@ edge3@ edge1@ edge2@ edge4@");
    assert_true(prg_ledger_of(&f->arena, reader, begun, &entries[1], &entries[2]));
    assert_string_equal(deployed(f, &entries[2]), "edge5@ edge3@ edge1@ edge2@ edge4@");
    prg_ledger_forgotten(&entries[2], "edge1", "");
    assert_true(prg_ledger_of(&f->arena, reader, begun, &entries[2], &entries[3]));
    assert_string_equal(deployed(f, &entries[3]), "edge5@ edge3@ edge2@ edge4@");
}

static void marks_have_a_bound_and_nonsense_is_none(void **state)
{
    struct fixture *f = *state;
    struct prg_ledger_entry entry;
    const char *odd = "5, 'edge2', null, {'node': 'a'}, {'node': 5, 'since': ''}, {'node': '', 'since': ''}, [], "
                      "{'node': 'last', 'since': '10'}, {'node': 'last', 'since': '10'}",
               *many = "";
    for (int i = 0; i < PRG_LEDGER_MARKS + 10; i++)
        many = prg_arena_printf(&f->arena, "%s{'node': 'edge%d', 'since': '10'}, ", many, i);
    const char *const lists[] = {prg_arena_printf(&f->arena, "[%s]", odd),
                                 prg_arena_printf(&f->arena, "[%s%s]", many, odd), "{'a': 1}", "'x'"};
    const size_t counts[] = {1, PRG_LEDGER_MARKS, 0, 0};
    for (size_t i = 0; i < PRG_COUNT(lists); i++) {
        cJSON *object = json_of(&f->arena, "{'metadata': {'name': 'perigee-edge-a', 'labels': {'perigee.dev/ledger': "
                                           "'edge'}}, 'data': {}}");
        cJSON *tree =
            json_of(&f->arena, prg_arena_printf(&f->arena, "{'name': 'a', 'uid': 'u1', 'deployed': %s}", lists[i]));
        prg_json_set_string(&f->arena, prg_json_get(object, "data"), "job",
                            prg_json_print_arena(&f->arena, tree, PRG_JSON_COMPACT));
        assert_true(prg_ledger_read(&f->arena, object, &entry));
        assert_int_equal(prg_json_count(entry.deployed), counts[i]);
        if (counts[i])
            assert_string_equal(prg_json_get_text(entry.deployed->child->prev, "node"), "last");
    }
}

static void foreign_config_maps_are_no_entries(void **state)
{
    static const char *const objects[] = {
        "{'metadata': {'name': 'perigee-edge-a'}, 'data': {'job': '{}'}}",
        "{'metadata': {'name': 'perigee-edge-a', 'labels': {'perigee.dev/ledger': 'edge'}}, 'data': {}}",
        "{'metadata': {'name': 'perigee-edge-a', 'labels': {'perigee.dev/ledger': 'edge'}}, 'data': {'job': 5}}",
        "{'metadata': {'name': 'perigee-edge-a', 'labels': {'perigee.dev/ledger': 'edge'}}, 'data': {'job': '['}}",
        "{'metadata': {'name': 'perigee-edge-a', 'labels': {'perigee.dev/ledger': 'edge'}}, 'data': {'job': '[1]'}}",
        "{}",
        "[]",
        "null"};
    struct fixture *f = *state;
    struct prg_ledger_entry entry;
    for (size_t i = 0; i < PRG_COUNT(objects); i++)
        assert_false(prg_ledger_read(&f->arena, json_of(&f->arena, objects[i]), &entry));
    assert_false(prg_ledger_read(&f->arena, NULL, &entry));
}

static void long_names_are_told_apart(void **state)
{
    struct fixture *f = *state;
    char a[300], b[300];
    memset(a, 'x', sizeof(a));
    memset(b, 'x', sizeof(b));
    a[250] = b[250] = '\0';
    b[249] = 'y';
    const char *x = prg_ledger_name(&f->arena, a), *y = prg_ledger_name(&f->arena, b);
    assert_int_equal(strlen(x), 253);
    assert_string_not_equal(x, y);
}

static void places_to_listen_at_are_read(void **state)
{
    static const struct {
        const char *text, *address;
        unsigned port;
    } good[] = {{"127.0.0.1:9000", "127.0.0.1", 9000}, {":9000", NULL, 9000}, {"0", NULL, 0},
                {"[::1]:65535", "::1", 65535},         {"::1:80", "::1", 80}, {"0.0.0.0:1", "0.0.0.0", 1}};
    static const char *const bad[] = {
        "", ":", "x", "1.2.3.4", "1.2.3.4:", "a:b", "a:-1", "a:65536", "a: 1", "a:99999999999999999999"};
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(good); i++) {
        struct prg_learning_settings settings = {0};
        struct prg_error err = {0};
        assert_ok(prg_learning_parse_listen(&f->arena, good[i].text, &settings, &err), &err);
        assert_true(settings.has_edge);
        assert_int_equal(settings.edge_port, good[i].port);
        assert_true(prg_text_equal(settings.edge_address, good[i].address));
    }
    for (size_t i = 0; i < PRG_COUNT(bad); i++) {
        struct prg_learning_settings settings = {0};
        struct prg_error err = {0};
        assert_int_equal(prg_learning_parse_listen(&f->arena, bad[i], &settings, &err), PRG_INVALID);
    }
    struct prg_learning_settings settings = {.has_edge = true};
    assert_int_equal(prg_learning_parse_listen(&f->arena, "off", &settings, NULL), PRG_OK);
    assert_false(settings.has_edge);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_no_node_knows_is_not_kept),
        TEST(what_is_kept_reaches_the_same_nodes_when_all_else_is_gone),
        TEST(inference_without_hot_update_does_not_count_as_a_node),
        TEST(who_took_part_in_a_deployment_is_kept_until_it_forgets_the_job),
        TEST(the_node_of_the_dataset_is_never_made_to_forget),
        TEST(a_node_that_the_dataset_left_is_to_forget_the_job_unless_it_works_for_it),
        TEST(who_knew_a_job_of_the_name_is_to_forget_it),
        TEST(marks_have_a_bound_and_nonsense_is_none),
        TEST(foreign_config_maps_are_no_entries),
        TEST(long_names_are_told_apart),
        TEST(places_to_listen_at_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
