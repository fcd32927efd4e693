// SPDX-License-Identifier: Apache-2.0
// test_reconcile.c: one plan carried out over a store whose answers come when the test says so, and what a cache has to
// have seen before the next one.
#include "controller/reconcile.h"

#include <stdlib.h>
#include <string.h>

#include "controller/freshness.h"
#include "controller/leftovers.h"
#include "object/meta.h"
#include "slow_store.h"
#include "store/store_mem.h"
#include "support/support.h"

struct fixture {
    struct slow_store slow;
    struct prg_arena arena;
    struct prg_reconcile *reconcile;
    struct prg_plan *plan;
    unsigned done;
    bool tells_failure;
};

#define SUBJECT                                                                                                        \
    "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'w','namespace':'n','uid':'u-w',"               \
    "'resourceVersion':'7'},'status':{'conditions':[{'type':'Ready','status':'False','reason':'R','message':'refused'" \
    ","                                                                                                                \
    "'lastTransitionTime':'T1'},{'type':'Old','status':'True'}]}}"

static const char *on_failed(struct prg_plan *plan, const struct prg_error *err, void *ctx)
{
    struct fixture *f = ctx;
    if (!f->tells_failure)
        return NULL;
    char text[PRG_ERROR_LINE];
    cJSON *status = prg_json_ensure_object(plan->arena, plan->resource, "status");
    cJSON *conditions = prg_json_array(plan->arena), *condition = prg_json_object(plan->arena);
    prg_json_set_string(plan->arena, condition, "type", "Ready");
    prg_json_set_string(plan->arena, condition, "status", "False");
    prg_json_set_string(plan->arena, condition, "reason", "R");
    prg_json_set_string(plan->arena, condition, "message", prg_error_text(err, text, sizeof(text)));
    prg_json_set_string(plan->arena, condition, "lastTransitionTime", "T2");
    prg_json_append(conditions, condition);
    prg_json_set(plan->arena, status, "conditions", conditions);
    return "Failed";
}

static const char *const conditions[] = {"Ready", NULL};

static void on_done(struct prg_reconcile *reconcile, void *ctx)
{
    struct fixture *f = ctx;
    assert_ptr_equal(reconcile, f->reconcile);
    f->done++;
}

static cJSON *thing(struct fixture *f, const char *name)
{
    return json_of(&f->arena,
                   prg_arena_printf(&f->arena,
                                    "{'apiVersion':'example.com/v1','kind':'Thing','metadata':{'name':'%s','namespace':"
                                    "'n','uid':'u-%s'},'spec':{'a':1}}",
                                    name, name));
}

static void put(struct fixture *f, const cJSON *object)
{
    assert_int_equal(prg_store_mem_put(f->slow.inner, object, false, true, NULL), PRG_OK);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    slow_store_init(&f->slow);
    prg_arena_init(&f->arena);
    const cJSON *subject = json_of(&f->arena, SUBJECT);
    put(f, subject);
    struct prg_reconcile_handler handler = {.failed = on_failed, .conditions = conditions, .done = on_done, .ctx = f};
    f->reconcile = prg_reconcile_new(&f->slow.store, subject, &handler);
    f->plan = prg_reconcile_plan(f->reconcile);
    f->plan->resource = prg_json_copy(f->plan->arena, subject);
    prg_json_remove(f->plan->resource, "status");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_reconcile_free(f->reconcile);
    slow_store_release(&f->slow);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static void set_status(struct fixture *f)
{
    prg_json_set(f->plan->arena, f->plan->resource, "status", json_of(f->plan->arena, "{'phase':'on'}"));
}

static void plan_two_and_a_delete(struct fixture *f)
{
    put(f, thing(f, "old"));
    prg_plan_add_object(f->plan, prg_json_copy(f->plan->arena, thing(f, "a")));
    prg_plan_add_object(f->plan, prg_json_copy(f->plan->arena, thing(f, "b")));
    prg_plan_add_delete(f->plan, "example.com/v1", "Thing", "n", "old");
    prg_plan_add_delete(f->plan, "example.com/v1", "Thing", "n", "never-was");
    prg_plan_add_event(f->plan, "Normal", "Made", "two");
    set_status(f);
    struct prg_error err = {0};
    assert_ok(prg_reconcile_add_plan(f->reconcile, &err), &err);
    prg_reconcile_start(f->reconcile, 0);
}

static void assert_next(struct fixture *f, enum prg_write_kind kind, const char *name)
{
    const struct slow_write *write = slow_store_next(&f->slow);
    assert_non_null(write);
    assert_int_equal(write->request.kind, kind);
    const cJSON *named = kind == PRG_WRITE_APPLY ? write->request.object : write->request.stored;
    assert_string_equal(prg_meta_name(named), name);
}

static void count_event(const struct prg_key *key, const struct prg_store_event *event, unsigned count, void *ctx)
{
    (void)key;
    (void)event;
    *(unsigned *)ctx += count;
}

static unsigned events(struct fixture *f)
{
    unsigned sum = 0;
    prg_store_mem_each_event(f->slow.inner, count_event, &sum);
    return sum;
}

static void objects_go_out_together_then_deletes_then_the_status_then_events(void **state)
{
    struct fixture *f = *state;
    plan_two_and_a_delete(f);
    assert_int_equal(f->slow.open, 2);
    assert_next(f, PRG_WRITE_APPLY, "a");
    slow_store_answer(&f->slow, true);
    assert_int_equal(f->slow.open, 1);
    assert_next(f, PRG_WRITE_APPLY, "b");
    slow_store_answer(&f->slow, true);
    assert_int_equal(f->slow.open, 1); // what was never there is not deleted
    assert_next(f, PRG_WRITE_DELETE, "old");
    slow_store_answer(&f->slow, true);
    assert_next(f, PRG_WRITE_STATUS, "w");
    assert_string_equal(
        prg_json_get_text(prg_json_get(slow_store_next(&f->slow)->request.stored, "metadata"), "resourceVersion"), "7");
    assert_int_equal(events(f), 0);
    assert_int_equal(f->done, 0);
    slow_store_answer(&f->slow, true);
    assert_int_equal(f->done, 1);
    assert_int_equal(events(f), 1);
    const struct prg_reconcile_report *report = prg_reconcile_report(f->reconcile);
    assert_null(report->error);
    assert_int_equal(report->created, 2);
    assert_int_equal(report->deleted, 1);
    assert_true(report->status_changed);
}

static void nothing_is_deleted_after_a_failure_and_the_rest_of_the_group_is_waited_for(void **state)
{
    struct fixture *f = *state;
    plan_two_and_a_delete(f);
    slow_store_refuse(&f->slow, PRG_RETRY_ON_CHANGE, 0);
    assert_int_equal(f->done, 0);
    slow_store_refuse(&f->slow, PRG_RETRY_SLOWLY, 2500);
    assert_int_equal(f->done, 1);
    assert_int_equal(f->slow.open, 0);
    const struct prg_reconcile_report *report = prg_reconcile_report(f->reconcile);
    assert_non_null(report->error);
    assert_int_equal(report->retry, PRG_RETRY_SLOWLY); // the sooner of the two
    assert_int_equal(report->retry_after_ms, 2500);
    assert_false(report->status_changed);
    assert_int_equal(events(f), 0);
}

static void a_failure_is_told_in_the_status_and_one_that_stays_the_same_changes_nothing(void **state)
{
    struct fixture *f = *state;
    f->tells_failure = true;
    prg_plan_add_object(f->plan, prg_json_copy(f->plan->arena, thing(f, "a")));
    struct prg_error err = {0};
    assert_ok(prg_reconcile_add_plan(f->reconcile, &err), &err);
    prg_reconcile_start(f->reconcile, 0);
    slow_store_refuse(&f->slow, PRG_RETRY_SOON, 0);
    assert_next(f, PRG_WRITE_STATUS, "w");
    const cJSON *condition = prg_json_item(prg_json_get(slow_store_next(&f->slow)->request.object, "conditions"), 0);
    assert_string_equal(prg_json_get_text(condition, "lastTransitionTime"), "T1");
    slow_store_answer(&f->slow, true);
    assert_int_equal(f->done, 1);
    assert_non_null(prg_reconcile_report(f->reconcile)->error);
}

static void what_changed_meanwhile_is_no_failure(void **state)
{
    struct fixture *f = *state;
    f->tells_failure = true;
    prg_plan_add_object(f->plan, prg_json_copy(f->plan->arena, thing(f, "a")));
    struct prg_error err = {0};
    assert_ok(prg_reconcile_add_plan(f->reconcile, &err), &err);
    prg_reconcile_start(f->reconcile, 0);
    slow_store_refuse_as(&f->slow, PRG_CONFLICT, PRG_RETRY_SOON, 0);
    assert_int_equal(f->slow.open, 0); // no status says that anything is wrong
    assert_int_equal(f->done, 1);
    assert_true(prg_reconcile_is_overtaken(prg_reconcile_report(f->reconcile)));
}

static void a_fight_over_a_field_is_a_failure(void **state)
{
    struct fixture *f = *state;
    set_status(f);
    prg_reconcile_start(f->reconcile, 0);
    slow_store_refuse_as(&f->slow, PRG_CONFLICT, PRG_RETRY_SLOWLY, 0);
    assert_false(prg_reconcile_is_overtaken(prg_reconcile_report(f->reconcile)));
}

static void only_conditions_of_the_planner_may_go(void **state)
{
    struct fixture *f = *state;
    set_status(f);
    prg_reconcile_start(f->reconcile, 0);
    assert_next(f, PRG_WRITE_STATUS, "w");
    const char *const *owned = slow_store_next(&f->slow)->request.owned;
    assert_ptr_equal(owned, conditions);
    slow_store_answer(&f->slow, true);
}

static void a_status_that_cannot_be_written_is_the_error(void **state)
{
    struct fixture *f = *state;
    set_status(f);
    prg_reconcile_start(f->reconcile, 0);
    assert_next(f, PRG_WRITE_STATUS, "w");
    slow_store_refuse(&f->slow, PRG_RETRY_SOON, 0);
    assert_int_equal(f->done, 1);
    assert_int_equal(prg_reconcile_report(f->reconcile)->retry, PRG_RETRY_SOON);
}

static void a_plan_that_says_nothing_is_done_at_once(void **state)
{
    struct fixture *f = *state;
    prg_reconcile_start(f->reconcile, 0);
    assert_int_equal(f->done, 1);
    assert_int_equal(f->slow.open, 0);
}

static void one_that_is_freed_is_told_nothing(void **state)
{
    struct fixture *f = *state;
    plan_two_and_a_delete(f);
    prg_reconcile_free(f->reconcile);
    f->reconcile = NULL;
    slow_store_answer_all(&f->slow);
    assert_int_equal(f->done, 0);
}

static void after_a_patch_of_the_subject_its_status_is_written_over_the_new_version(void **state)
{
    struct fixture *f = *state;
    const cJSON *subject = json_of(&f->arena, SUBJECT);
    prg_reconcile_add(
        f->reconcile,
        &(struct prg_write_request){.kind = PRG_WRITE_PATCH,
                                    .object = json_of(f->plan->arena, "{'metadata':{'annotations':{'a':'b'}}}"),
                                    .stored = subject},
        true);
    set_status(f);
    prg_reconcile_start(f->reconcile, 0);
    slow_store_answer(&f->slow, true);
    assert_next(f, PRG_WRITE_STATUS, "w");
    assert_string_equal(
        prg_json_get_text(prg_json_get(slow_store_next(&f->slow)->request.stored, "metadata"), "resourceVersion"),
        "101");
}

static void a_rendered_object_without_a_name_is_refused_before_anything_is_written(void **state)
{
    struct fixture *f = *state;
    struct prg_error err = {0};
    prg_plan_add_object(f->plan, json_of(f->plan->arena, "{'apiVersion':'v1','kind':'Service','metadata':{}}"));
    assert_int_equal(prg_reconcile_add_plan(f->reconcile, &err), PRG_INVALID);
    assert_int_equal(f->slow.open, 0);
}

// ---- freshness ----

static void a_key_waits_until_the_cache_has_seen_what_was_written(void **state)
{
    struct fixture *f = *state;
    struct prg_freshness *freshness = prg_freshness_new();
    plan_two_and_a_delete(f);
    slow_store_answer(&f->slow, false); // "a" is made, but not seen yet
    slow_store_answer_all(&f->slow);
    prg_freshness_note(freshness, "n/w", f->reconcile, 1000);
    const struct prg_reader *reader = &f->slow.store.reader;
    assert_int_equal(prg_freshness_wait_ms(freshness, "n/w", reader, 1200), 800);
    assert_int_equal(prg_freshness_wait_ms(freshness, "n/other", reader, 1200), 0);
    cJSON *seen = thing(f, "a");
    prg_json_set_string(&f->arena, prg_json_get(seen, "metadata"), "resourceVersion", "100");
    put(f, seen); // older than the answer
    assert_int_equal(prg_freshness_wait_ms(freshness, "n/w", reader, 1300), 700);
    prg_json_set_string(&f->arena, prg_json_get(seen, "metadata"), "resourceVersion", "1000");
    put(f, seen);
    assert_int_equal(prg_freshness_wait_ms(freshness, "n/w", reader, 1400), 0);
    prg_freshness_note(freshness, "n/w", f->reconcile, 2000);
    assert_int_equal(prg_freshness_wait_ms(freshness, "n/w", reader, 2000 + PRG_FRESHNESS_MS), 0); // not for ever
    prg_freshness_free(freshness);
}

static void versions_are_numbers_of_any_length(void **state)
{
    (void)state;
    assert_true(prg_freshness_is_reached("10", "9"));
    assert_true(prg_freshness_is_reached("18446744073709551617", "18446744073709551616"));
    assert_false(prg_freshness_is_reached("9", "10"));
    assert_true(prg_freshness_is_reached("abc", "abc"));
    assert_false(prg_freshness_is_reached("abd", "abc"));
    assert_false(prg_freshness_is_reached("", "1"));
    assert_false(prg_freshness_is_reached("0", "1"));
}

// ---- leftovers ----

static void put_owned(struct fixture *f, const char *version, const char *kind, const char *name, const char *owner)
{
    put(f, json_of(&f->arena, prg_arena_printf(&f->arena,
                                               "{'apiVersion':'%s','kind':'%s','metadata':{'name':'%s','namespace':'n',"
                                               "'uid':'x','ownerReferences':[{'uid':'%s','controller':true}]}}",
                                               version, kind, name, owner)));
}

static void plan_object(struct fixture *f, const char *version, const char *kind, const char *name)
{
    prg_plan_add_object(f->plan, json_of(f->plan->arena, prg_arena_printf(&f->arena,
                                                                          "{'apiVersion':'%s','kind':'%s','metadata':{"
                                                                          "'name':'%s','namespace':'n'}}",
                                                                          version, kind, name)));
}

static void assert_leftovers(struct fixture *f, const char *want)
{
    prg_auto_strbuf names = PRG_STRBUF_INIT;
    const cJSON *item;
    prg_leftovers_add(&f->slow.store.reader, json_of(&f->arena, SUBJECT), f->plan);
    prg_json_each (item, f->plan->deletes)
        prg_strbuf_printf(&names, "%s/%s ", prg_json_get_text(item, "kind"), prg_json_get_text(item, "name"));
    assert_string_equal(names.text ? names.text : "", want);
}

static void what_the_other_mode_made_is_deleted_when_the_service_controls_it(void **state)
{
    struct fixture *f = *state;
    put_owned(f, "apps/v1", "Deployment", "w-predictor", "u-w");
    put_owned(f, "apps/v1", "Deployment", "w-predictor-worker", "u-w");
    put_owned(f, "apps/v1", "Deployment", "elses", "u-else");
    put_owned(f, "autoscaling/v2", "HorizontalPodAutoscaler", "w-predictor", "u-w");
    put_owned(f, "v1", "Service", "w-predictor", "u-w");
    plan_object(f, "serving.knative.dev/v1", "Service", "w-predictor");
    assert_leftovers(f, "Deployment/w-predictor Deployment/w-predictor-worker HorizontalPodAutoscaler/w-predictor "
                        "Service/w-predictor ");
}

static void and_the_knative_service_when_the_mode_changes_back(void **state)
{
    struct fixture *f = *state;
    put_owned(f, "serving.knative.dev/v1", "Service", "w-predictor", "u-w");
    put_owned(f, "v1", "Service", "w-predictor", "u-w");
    plan_object(f, "apps/v1", "Deployment", "w-predictor");
    plan_object(f, "v1", "Service", "w-predictor");
    assert_leftovers(f, "Service/w-predictor ");
    assert_string_equal(prg_json_get_text(prg_json_item(f->plan->deletes, 0), "apiVersion"), "serving.knative.dev/v1");
}

static void nothing_is_a_leftover_while_the_mode_stays_or_the_plan_failed(void **state)
{
    struct fixture *f = *state;
    put_owned(f, "apps/v1", "Deployment", "w-predictor", "u-w");
    put_owned(f, "v1", "Service", "w-predictor", "u-w");
    plan_object(f, "apps/v1", "Deployment", "w-predictor");
    assert_leftovers(f, "");
    f->plan->objects = prg_json_array(f->plan->arena);
    plan_object(f, "serving.knative.dev/v1", "Service", "w-predictor");
    f->plan->error = "no runtime";
    assert_leftovers(f, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(objects_go_out_together_then_deletes_then_the_status_then_events),
        TEST(nothing_is_deleted_after_a_failure_and_the_rest_of_the_group_is_waited_for),
        TEST(a_failure_is_told_in_the_status_and_one_that_stays_the_same_changes_nothing),
        TEST(what_changed_meanwhile_is_no_failure),
        TEST(a_fight_over_a_field_is_a_failure),
        TEST(only_conditions_of_the_planner_may_go),
        TEST(a_status_that_cannot_be_written_is_the_error),
        TEST(a_plan_that_says_nothing_is_done_at_once),
        TEST(one_that_is_freed_is_told_nothing),
        TEST(after_a_patch_of_the_subject_its_status_is_written_over_the_new_version),
        TEST(a_rendered_object_without_a_name_is_refused_before_anything_is_written),
        TEST(a_key_waits_until_the_cache_has_seen_what_was_written),
        TEST(versions_are_numbers_of_any_length),
        TEST(what_the_other_mode_made_is_deleted_when_the_service_controls_it),
        TEST(and_the_knative_service_when_the_mode_changes_back),
        TEST(nothing_is_a_leftover_while_the_mode_stays_or_the_plan_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
