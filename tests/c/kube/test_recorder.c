// SPDX-License-Identifier: Apache-2.0
// test_recorder.c: Events counted, gathered, limited and sent.
#include "kube/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "script.h"

struct fixture {
    struct script script;
    struct prg_timers *timers;
    struct prg_recorder *recorder;
    struct prg_arena arena;
    bool may_not;
};

static const struct prg_event_object about = {"serving.kserve.io/v1beta1", "InferenceService", "n", "iris", "u", "7"};

static bool may_write(void *ctx)
{
    return !((struct fixture *)ctx)->may_not;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int64_t wall_ns;
    assert_true(prg_clock_parse("2026-06-01T00:00:00Z", &wall_ns));
    script_init(&f->script);
    f->timers = prg_timers_new_manual(1000, wall_ns);
    f->recorder = prg_recorder_new(&f->script.transport, f->timers,
                                   &(struct prg_recorder_options){.may_write = may_write, .ctx = f, .seed = 1});
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_recorder_free(f->recorder);
    script_expect_none(&f->script);
    script_release(&f->script);
    prg_timers_free(f->timers);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static void add(struct fixture *f, const char *message)
{
    prg_recorder_add(f->recorder, &about, "Warning", "Failed", message);
}

static const cJSON *body_of(struct fixture *f, const struct prg_call *call)
{
    return json_of(&f->arena, prg_arena_strndup(&f->arena, call->request.body, call->request.body_length));
}

// Accepts what waits and returns the last body.
static const cJSON *accept_all(struct fixture *f)
{
    const cJSON *body = NULL;
    while (f->script.calls) {
        body = body_of(f, f->script.calls);
        script_answer(&f->script, f->script.calls, 201, "{}");
    }
    return body;
}

static int64_t count_of(const cJSON *event)
{
    int64_t count = 0;
    prg_json_get_int64(event, "count", &count);
    return count;
}

static void an_event_is_posted_with_all_that_the_server_asks_for(void **state)
{
    struct fixture *f = *state;
    add(f, "it broke");
    struct prg_call *call = script_expect(&f->script, "POST", "/api/v1/namespaces/n/events", NULL);
    cJSON *event = prg_json_copy(&f->arena, body_of(f, call));
    const char *name = prg_json_get_text(prg_json_get(event, "metadata"), "name");
    assert_true(prg_text_has_prefix(name, "iris."));
    prg_json_remove(prg_json_get(event, "metadata"), "name");
    assert_json_text(&f->arena, event,
                     "{'apiVersion':'v1','kind':'Event','metadata':{'namespace':'n'},'involvedObject':{'apiVersion':'"
                     "serving.kserve.io/"
                     "v1beta1','kind':'InferenceService','namespace':'n','name':'iris','uid':'u','resourceVersion':'7'}"
                     ",'type':'Warning',"
                     "'reason':'Failed','message':'it broke','firstTimestamp':'2026-06-01T00:00:00Z','lastTimestamp':"
                     "'2026-06-01T00:00:00Z','count':1,'source':{'component':'perigee'},'reportingComponent':'perigee',"
                     "'reportingInstance':'perigee'}");
    accept_all(f);
    assert_int_equal(prg_recorder_count(f->recorder)->sent, 1);
}

static void events_about_objects_without_a_namespace_go_to_default(void **state)
{
    struct fixture *f = *state;
    const struct prg_event_object node = {"v1", "Node", "", "w", "", ""};
    prg_recorder_add(f->recorder, &node, "Normal", "Seen", "hello");
    struct prg_call *call = script_expect(&f->script, "POST", "/api/v1/namespaces/default/events", NULL);
    assert_null(prg_json_at(body_of(f, call), "involvedObject", "namespace"));
    accept_all(f);
}

static void the_same_event_again_is_a_patch_of_its_count(void **state)
{
    struct fixture *f = *state;
    add(f, "it broke");
    const char *name = prg_json_get_text(prg_json_get(accept_all(f), "metadata"), "name");
    prg_timers_advance(f->timers, 60000);
    add(f, "it broke");
    struct prg_call *call = script_expect(&f->script, "PATCH", "/api/v1/namespaces/n/events/iris.", name);
    assert_string_equal(call->request.content_type, "application/strategic-merge-patch+json");
    assert_json_text(&f->arena, body_of(f, call),
                     "{'count':2,'lastTimestamp':'2026-06-01T00:01:00Z','message':'it broke'}");
    script_answer(&f->script, call, 404, "{}"); // it expired meanwhile
    call = script_expect(&f->script, "POST", "/api/v1/namespaces/n/events", NULL);
    assert_int_equal(count_of(body_of(f, call)), 2);
    accept_all(f);
}

static void many_different_messages_are_gathered(void **state)
{
    struct fixture *f = *state;
    for (int i = 1; i <= 9; i++)
        add(f, prg_arena_printf(&f->arena, "message %d", i));
    accept_all(f);
    assert_int_equal(f->script.started, 9);
    add(f, "message 3"); // a known one is no more than itself
    assert_int_equal(count_of(accept_all(f)), 2);
    add(f, "message 10");
    const cJSON *event = accept_all(f);
    assert_string_equal(prg_json_get_text(event, "message"), "(combined from similar events): message 10");
    assert_int_equal(count_of(event), 1);
    add(f, "message 11");
    event = accept_all(f);
    assert_string_equal(prg_json_get_text(event, "message"), "(combined from similar events): message 11");
    assert_int_equal(count_of(event), 2); // one event for all of them
    prg_timers_advance(f->timers, 10 * 60 * 1000 + 1);
    add(f, "message 12"); // after ten quiet minutes
    assert_string_equal(prg_json_get_text(accept_all(f), "message"), "message 12");
    assert_int_equal(prg_recorder_count(f->recorder)->gathered, 2);
}

static void an_object_has_a_budget(void **state)
{
    struct fixture *f = *state;
    const struct prg_event_object other = {"v1", "Pod", "n", "p", "u2", ""};
    for (int i = 0; i < 40; i++)
        add(f, "it broke");
    accept_all(f);
    assert_int_equal(f->script.started, 25);
    assert_int_equal(prg_recorder_count(f->recorder)->filtered, 15);
    prg_recorder_add(f->recorder, &other, "Normal", "Fine", "hello"); // others have their own
    accept_all(f);
    assert_int_equal(f->script.started, 26);
    prg_timers_advance(f->timers, 300000);
    add(f, "it broke");
    assert_int_equal(count_of(accept_all(f)), 41); // nothing was forgotten
    add(f, "it broke");
    assert_int_equal(f->script.started, 27);
}

static void one_request_at_a_time_in_order(void **state)
{
    struct fixture *f = *state;
    add(f, "one");
    add(f, "two");
    assert_int_equal(script_open(&f->script), 1);
    assert_string_equal(prg_json_get_text(body_of(f, f->script.calls), "message"), "one");
    script_answer(&f->script, f->script.calls, 201, "{}");
    assert_string_equal(prg_json_get_text(body_of(f, f->script.calls), "message"), "two");
    accept_all(f);
}

static void a_server_that_does_not_answer_is_tried_twelve_times(void **state)
{
    struct fixture *f = *state;
    add(f, "it broke");
    add(f, "and this");
    for (int i = 1; i <= 12; i++) {
        script_fault(&f->script, script_expect(&f->script, "POST", "/api/v1/namespaces/n/events", NULL), 0,
                     PRG_FAULT_CONNECT);
        if (i < 12) {
            int64_t next = prg_timers_next_ms(f->timers);
            assert_true(i == 1 ? next < 10000 : next == 10000);
            prg_timers_step(f->timers);
        }
    }
    assert_int_equal(prg_recorder_count(f->recorder)->dropped, 1);
    assert_string_equal(prg_json_get_text(body_of(f, f->script.calls), "message"), "and this");
    accept_all(f);
}

static void any_answer_ends_the_tries(void **state)
{
    static const int statuses[] = {409, 403, 429, 500, 422};
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(statuses); i++) {
        add(f, prg_arena_printf(&f->arena, "message %zu", i));
        script_answer(&f->script, f->script.calls, statuses[i], "{}");
        script_expect_none(&f->script);
    }
    assert_int_equal(prg_recorder_count(f->recorder)->dropped, 5);
}

static void long_messages_are_cut_between_characters(void **state)
{
    struct fixture *f = *state;
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    while (text.length < 3000)
        prg_strbuf_puts(&text, "\xc3\xa4");
    add(f, text.text);
    const char *message = prg_json_get_text(accept_all(f), "message");
    assert_true(strlen(message) <= 1024 && strlen(message) > 1000);
    assert_true(prg_text_has_suffix(message, "\xc3\xa4..."));
}

static void the_queue_is_bounded_and_dropped_by_who_does_not_lead(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 1100; i++) {
        const struct prg_event_object pod = {"v1", "Pod", "n", prg_arena_printf(&f->arena, "p%d", i), "", ""};
        prg_recorder_add(f->recorder, &pod, "Normal", "Fine", "hello");
    }
    assert_int_equal(prg_recorder_waiting(f->recorder), 1000);
    assert_int_equal(prg_recorder_count(f->recorder)->dropped, 100);
    f->may_not = true;
    script_answer(&f->script, f->script.calls, 201, "{}");
    assert_int_equal(prg_recorder_waiting(f->recorder), 0);
    script_expect_none(&f->script);
}

static void an_event_under_way_when_the_lease_goes_is_waited_for(void **state)
{
    struct fixture *f = *state;
    add(f, "one");
    f->may_not = true;
    add(f, "two");
    assert_int_equal(prg_recorder_waiting(f->recorder), 2);
    script_answer(&f->script, script_expect(&f->script, "POST", "/api/v1/namespaces/n/events", NULL), 201, "{}");
    assert_int_equal(prg_recorder_waiting(f->recorder), 0);
    assert_int_equal(prg_recorder_count(f->recorder)->sent, 1);
    assert_int_equal(prg_recorder_count(f->recorder)->dropped, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_event_is_posted_with_all_that_the_server_asks_for),
        TEST(events_about_objects_without_a_namespace_go_to_default),
        TEST(the_same_event_again_is_a_patch_of_its_count),
        TEST(many_different_messages_are_gathered),
        TEST(an_object_has_a_budget),
        TEST(one_request_at_a_time_in_order),
        TEST(a_server_that_does_not_answer_is_tried_twelve_times),
        TEST(any_answer_ends_the_tries),
        TEST(long_messages_are_cut_between_characters),
        TEST(the_queue_is_bounded_and_dropped_by_who_does_not_lead),
        TEST(an_event_under_way_when_the_lease_goes_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
