// SPDX-License-Identifier: Apache-2.0
#include "learning_fixture.h"

#include "learning/messages.h"
#include "learning/stage.h"
#include "learning/status.h"

static void set_conditions(struct learning_fixture *f, const char *conditions)
{
    cJSON *job = job_copy(f);
    prg_json_set(
        &f->arena, job, "status",
        json_of(&f->arena,
                prg_arena_printf(&f->arena, "{'startTime': '2026-01-01T00:00:00Z', 'conditions': %s}", conditions)));
    put(f, job);
}

// Whatever stands in the list beside objects.
static void what_is_no_object_among_conditions_counts_as_absent(void **state)
{
    static const char *const lists[][2] = {
        {"null", " "},
        {"[]", " "},
        {"[null]", " "},
        {"[null, 5, 'x', []]", " "},
        {"[{'stage': 'Eval', 'type': 'Failed'}, null]", "Eval Failed"},
        {"[null, {'stage': 'Eval', 'type': 'Failed'}]", "Eval Failed"},
        {"[{'stage': 'Deploy', 'type': 'Waiting'}, null, {'stage': 'Eval', 'type': 'Failed'}, null, 7]", "Eval Failed"},
    };
    struct learning_fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(lists); i++) {
        bool is_begun = strcmp(lists[i][1], " ") != 0;
        set_conditions(f, lists[i][0]);
        cJSON *job = job_copy(f);
        size_t count = 0, back = 0;
        for (const cJSON *node = prg_job_condition_first(job); node; node = prg_job_condition_next(node))
            count++;
        for (const cJSON *node = prg_job_condition_last(job); node; node = prg_job_condition_before(node))
            back++;
        assert_int_equal(count, back);
        assert_int_equal(prg_json_count(prg_json_get(
                             prg_stage_input(&f->arena, &f->store->reader, job, "2026-01-01T00:00:00Z"), "history")),
                         count);
        struct prg_job_condition latest = prg_job_condition_latest(job);
        assert_string_equal(latest.stage, is_begun ? "Eval" : "Train");
        assert_string_equal(latest.type, is_begun ? "Failed" : "");
        plan_now(f);
        assert_null(f->plan->error);
        const cJSON *conditions = prg_json_at(f->plan->resource, "status", "conditions");
        assert_int_equal(prg_json_count(conditions), count + 1); // the others go with the first write
        assert_json_text(&f->arena, prg_json_get(prg_json_item(conditions, count), "stage"), "'Train'");
        assert_json_text(&f->arena, prg_json_get(prg_json_item(conditions, count), "type"), "'Waiting'");
    }
}

static void edge_nodes_are_told_of_objects_only(void **state)
{
    struct learning_fixture *f = *state;
    set_conditions(f, "[{'stage': 'Train', 'type': 'Waiting'}, null]");
    cJSON *messages = prg_json_array(&f->arena);
    const cJSON *message;
    size_t jobs = 0;
    prg_learning_downstream(&f->arena, &f->store->reader, job_copy(f), PRG_CHANGE_STORED, messages);
    prg_json_each (message, messages) {
        const cJSON *conditions = prg_json_at(prg_json_get(message, "content"), "status", "conditions");
        jobs += conditions != NULL;
        assert_true(!conditions || prg_json_count(conditions) == 1);
    }
    assert_int_equal(jobs, 1);
}

// The slow way, as the header says it.
static bool is_kept(const cJSON *node)
{
    struct prg_job_condition this = prg_job_condition_of(node);
    for (const cJSON *later = node->next; later; later = later->next) {
        struct prg_job_condition other = prg_job_condition_of(later);
        if (other.data && strcmp(other.stage, this.stage) == 0 && strcmp(other.type, this.type) == 0)
            return false;
    }
    return this.data != NULL;
}

static void trimming_keeps_the_newest_data_of_each_stage_and_type(void **state)
{
    struct learning_fixture *f = *state;
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        cJSON *job = prg_json_object(&f->arena), *trimmed, *node, *next;
        for (int i = 0; i < 24; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const char *const words[] = {"Train", "Eval", "a/b", "b", ""};
            prg_job_condition_append(&f->arena, job,
                                     prg_job_condition_new(&f->arena, words[(seed >> 33) % 5], words[(seed >> 40) % 5],
                                                           NULL, NULL, (seed >> 50) % 2 ? "{}" : NULL, "now"));
        }
        size_t most = (seed >> 20) % 26, count = 24, dropped = 0;
        trimmed = prg_json_copy(&f->arena, job);
        cJSON *conditions = prg_json_at(job, "status", "conditions");
        for (node = conditions->child; node && count > most && node->next; node = next) {
            next = node->next;
            if (is_kept(node))
                continue;
            prg_json_detach(conditions, node);
            count--;
            dropped++;
        }
        assert_int_equal(prg_job_condition_trim(trimmed, most), dropped);
        assert_json_equal(trimmed, job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        learning_test(what_is_no_object_among_conditions_counts_as_absent),
        learning_test(edge_nodes_are_told_of_objects_only),
        learning_test(trimming_keeps_the_newest_data_of_each_stage_and_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
