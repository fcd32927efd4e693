// SPDX-License-Identifier: Apache-2.0
#include "learning_fixture.h"

#include "learning/upstream.h"

static int report(struct learning_fixture *f, const char *content, struct prg_learning_verdict *ret,
                  struct prg_error *err)
{
    struct prg_learning_report in = {.content = content ? json_of(&f->arena, content) : NULL,
                                     .job = job_copy(f),
                                     .store = &f->store->reader,
                                     .now_ns = INT64_C(1780272060000000000)};
    return prg_learning_report(&f->arena, &in, prg_policy_set_decider(f->policies), ret, err);
}

static void a_report_appends_a_condition(void **state)
{
    struct learning_fixture *f = *state;
    struct prg_learning_verdict verdict;
    struct prg_error err = {0};
    set_state(f, "Train", "Waiting", NULL);
    assert_ok(report(f, "{'phase': 'TRAIN', 'status': 'ready', 'input': {'dataURL': '/d', 'x': 1}, 'output': null}",
                     &verdict, &err),
              &err);
    assert_true(verdict.is_accepted);
    const cJSON *conditions = prg_json_at(verdict.job, "status", "conditions");
    assert_int_equal(prg_json_count(conditions), 2);
    assert_json_text(
        &f->arena, prg_json_item(conditions, 1),
        "{\"type\": \"Ready\", \"status\": \"True\", \"stage\": \"Train\", \"message\": \"reported by lc\", "
        "\"lastHeartbeatTime\": \"2026-06-01T00:01:00Z\", \"lastTransitionTime\": \"2026-06-01T00:01:00Z\", "
        "\"data\": \"{\\\"input\\\":{\\\"dataURL\\\":\\\"/d\\\"}}\"}");
}

static void unknown_words_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {NULL, "invalid condition stage: "},
        {"{'phase': 'infer', 'status': 'ready'}", "invalid condition stage: infer"},
        {"{'phase': 'Train', 'status': 'running'}", "invalid condition type: running"},
        {"{'phase': 'Train', 'status': 'ready '}", "invalid condition type: ready "},
        {"{'phase': 'Train', 'status': 'ready\\u0000'}", "/status: holds a NUL character"},
        {"{'phase': 'Train\\u0000x', 'status': 'ready'}", "/phase: holds a NUL character"},
        {"{'phase': 'Train', 'status': 'ready', 'input': {'dataURL': '/a\\u0000b'}}",
         "/input/dataURL: holds a NUL character"},
        {"{'phase': 'Train', 'status': 'completed', 'output': {'models': [{'url': '/a\\u0000b'}]}}",
         "/output/models/0/url: holds a NUL character"},
        {"{'phase': 1}", "/phase: must be a text"},
        {"[]", "the content must be an object"},
        {"{'phase': 'Train', 'status': 'ready', 'input': 'x'}", "/input: must be an object"},
    };
    struct learning_fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_learning_verdict verdict;
        struct prg_error err = {0};
        assert_int_equal(report(f, cases[i][0], &verdict, &err), PRG_INVALID);
        assert_error_has(&err, cases[i][1]);
        struct prg_error check = {0};
        assert_int_equal(
            prg_learning_report_check(&f->arena, cases[i][0] ? json_of(&f->arena, cases[i][0]) : NULL, &check),
            PRG_INVALID);
    }
}

static void a_dataset_report_is_its_status(void **state)
{
    struct learning_fixture *f = *state;
    struct prg_error err = {0};
    cJSON *dataset = NULL;
    const cJSON *stored = prg_reader_get(&f->store->reader, "sedna.io", "Dataset", "ns", "photos");
    assert_ok(prg_dataset_report(&f->arena, stored, json_of(&f->arena, "{'numberOfSamples': 12}"),
                                 INT64_C(1780272060000000000), &dataset, &err),
              &err);
    assert_json_text(&f->arena, prg_json_get(dataset, "status"),
                     "{'numberOfSamples': 12, 'updateTime': '2026-06-01T00:01:00Z'}");
    assert_int_equal(
        prg_dataset_report(&f->arena, stored, json_of(&f->arena, "{'numberOfSamples': 'x'}"), 0, &dataset, &err),
        PRG_INVALID);
    assert_int_equal(prg_dataset_report(&f->arena, stored, json_of(&f->arena, "[]"), 0, &dataset, &err), PRG_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        learning_test(a_report_appends_a_condition),
        learning_test(unknown_words_are_refused),
        learning_test(a_dataset_report_is_its_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
