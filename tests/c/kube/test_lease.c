// SPDX-License-Identifier: Apache-2.0
// test_lease.c: leader election against answers given by hand, and between two replicas over one stored lease.
#include "kube/lease.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "script.h"

#define PATH "/apis/coordination.k8s.io/v1/namespaces/ns/leases/perigee"
#define LIST "/apis/coordination.k8s.io/v1/namespaces/ns/leases"

struct replica {
    struct script script;
    struct prg_lease *lease;
    const char *name;
    unsigned started, stopped, problems, released;
    struct prg_error problem;
    char observed[64];
    bool is_cut; // from the server
};

struct fixture {
    struct prg_timers *timers;
    struct replica a, b;
    struct prg_arena arena;
    // the server of the last tests
    const cJSON *stored;
    int version;
};

static void on_started(void *ctx)
{
    ((struct replica *)ctx)->started++;
}

static void on_stopped(void *ctx)
{
    ((struct replica *)ctx)->stopped++;
}

static void on_observed(const char *identity, void *ctx)
{
    strncpy(((struct replica *)ctx)->observed, identity, 63);
}

static void on_problem(const struct prg_error *err, void *ctx)
{
    struct replica *r = ctx;
    r->problems++;
    r->problem = *err;
}

static void on_released(void *ctx)
{
    ((struct replica *)ctx)->released++;
}

static void replica_init(struct fixture *f, struct replica *r, const char *name)
{
    struct prg_lease_options options = {.ns = "ns", .name = "perigee", .identity = name, .seed = 1};
    struct prg_lease_handler handler = {on_started, on_stopped, on_observed, on_problem, r};
    struct prg_error err = {0};
    script_init(&r->script);
    r->name = name;
    assert_ok(prg_lease_new(&r->script.transport, f->timers, &options, &handler, &r->lease, &err), &err);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int64_t wall_ns;
    assert_true(prg_clock_parse("2026-06-01T00:00:00Z", &wall_ns));
    f->timers = prg_timers_new_manual(100000, wall_ns + 123456000);
    replica_init(f, &f->a, "a");
    replica_init(f, &f->b, "b");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_lease_free(f->a.lease);
    prg_lease_free(f->b.lease);
    script_release(&f->a.script);
    script_release(&f->b.script);
    prg_timers_free(f->timers);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static const cJSON *body_of(struct fixture *f, const struct prg_call *call)
{
    return json_of(&f->arena, prg_arena_strndup(&f->arena, call->request.body, call->request.body_length));
}

static const char *lease_of(struct fixture *f, const char *holder, const char *renewed, int version)
{
    return prg_arena_printf(
        &f->arena,
        "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'perigee','namespace':"
        "'ns','resourceVersion':'%d'},'spec':{'holderIdentity':'%s','leaseDurationSeconds':15,"
        "'acquireTime':'2026-05-01T00:00:00.000000Z','renewTime':'%s','leaseTransitions':3}}",
        version, holder, renewed);
}

// What was written, as the server would return it.
static const char *echo(struct fixture *f, const struct prg_call *call)
{
    cJSON *lease = prg_json_copy(&f->arena, body_of(f, call));
    prg_json_set_string(&f->arena, prg_json_get(lease, "metadata"), "resourceVersion",
                        prg_arena_printf(&f->arena, "%d", ++f->version));
    return prg_json_print_arena(&f->arena, lease, PRG_JSON_COMPACT);
}

static void accept_write(struct fixture *f, struct replica *r, const char *method)
{
    struct prg_call *call = script_expect(&r->script, method, LIST, NULL);
    script_answer(&r->script, call, strcmp(method, "POST") == 0 ? 201 : 200, echo(f, call));
}

// a becomes the leader by making the lease.
static void lead(struct fixture *f)
{
    prg_lease_start(f->a.lease);
    script_answer(&f->a.script, script_expect(&f->a.script, "GET", PATH, NULL), 404, "{}");
    accept_write(f, &f->a, "POST");
    assert_true(prg_lease_is_leader(f->a.lease));
}

static void a_lease_that_is_not_there_is_made(void **state)
{
    struct fixture *f = *state;
    prg_lease_start(f->a.lease);
    struct prg_call *call = script_expect(&f->a.script, "GET", PATH, NULL);
    assert_true(call->request.is_urgent);
    assert_true(call->request.deadline_ms < 10000); // shorter than the renew deadline
    script_answer(&f->a.script, call, 404, "{}");
    call = script_expect(&f->a.script, "POST", LIST, NULL);
    assert_string_equal(call->request.path, LIST);
    assert_json_text(
        &f->arena, body_of(f, call),
        "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'perigee','namespace':'ns'},"
        "'spec':{'holderIdentity':'a','leaseDurationSeconds':15,'acquireTime':'2026-06-01T00:00:00.123456Z',"
        "'renewTime':'2026-06-01T00:00:00.123456Z','leaseTransitions':0}}");
    assert_int_equal(f->a.started, 0);
    script_answer(&f->a.script, call, 201, echo(f, call));
    assert_int_equal(f->a.started, 1);
    assert_string_equal(f->a.observed, "a");
}

static void a_leader_renews_without_reading(void **state)
{
    struct fixture *f = *state;
    lead(f);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(prg_timers_next_ms(f->timers), 2000);
        prg_timers_step(f->timers);
        struct prg_call *call = script_expect(&f->a.script, "PUT", PATH, NULL);
        const cJSON *body = body_of(f, call), *spec = prg_json_get(body, "spec");
        assert_string_equal(prg_json_get_text(prg_json_get(body, "metadata"), "resourceVersion"),
                            prg_arena_printf(&f->arena, "%d", f->version));
        assert_string_equal(prg_json_get_text(spec, "acquireTime"), "2026-06-01T00:00:00.123456Z");
        script_answer(&f->a.script, call, 200, echo(f, call));
    }
    assert_int_equal(f->a.started, 1);
    assert_int_equal(f->a.stopped, 0);
}

static void a_held_lease_is_waited_for_by_our_own_clock(void **state)
{
    struct fixture *f = *state;
    prg_lease_start(f->a.lease);
    uint64_t began = prg_timers_now(f->timers);
    // Its times are years ago: they say nothing.
    while (prg_timers_now(f->timers) - began < 15000) {
        struct prg_call *call = script_expect(&f->a.script, "GET", PATH, NULL);
        script_answer(&f->a.script, call, 200, lease_of(f, "other", "2020-01-01T00:00:00.000000Z", 5));
        script_expect_none(&f->a.script);
        int64_t next = prg_timers_next_ms(f->timers);
        assert_true(next >= 2000 && next <= 4400);
        prg_timers_step(f->timers);
    }
    assert_string_equal(f->a.observed, "other");
    script_answer(&f->a.script, script_expect(&f->a.script, "GET", PATH, NULL), 200,
                  lease_of(f, "other", "2020-01-01T00:00:00.000000Z", 5));
    struct prg_call *call = script_expect(&f->a.script, "PUT", PATH, NULL);
    const cJSON *spec = prg_json_get(body_of(f, call), "spec");
    int64_t transitions = 0;
    assert_true(prg_json_get_int64(spec, "leaseTransitions", &transitions));
    assert_int_equal(transitions, 4);
    script_answer(&f->a.script, call, 200, echo(f, call));
    assert_true(prg_lease_is_leader(f->a.lease));
}

static void a_lease_that_is_renewed_is_never_taken(void **state)
{
    struct fixture *f = *state;
    prg_lease_start(f->a.lease);
    for (int i = 0; i < 40; i++) {
        const char *renewed = prg_arena_printf(&f->arena, "2026-01-01T00:00:%02d.000000Z", i);
        script_answer(&f->a.script, script_expect(&f->a.script, "GET", PATH, NULL), 200,
                      lease_of(f, "other", renewed, 5 + i));
        script_expect_none(&f->a.script);
        prg_timers_step(f->timers);
    }
}

static void an_empty_holder_is_taken_at_once(void **state)
{
    struct fixture *f = *state;
    prg_lease_start(f->a.lease);
    script_answer(&f->a.script, script_expect(&f->a.script, "GET", PATH, NULL), 200,
                  lease_of(f, "", "2026-01-01T00:00:00.000000Z", 5));
    accept_write(f, &f->a, "PUT");
    assert_int_equal(f->a.started, 1);
}

static void who_loses_the_race_goes_on_following_without_a_complaint(void **state)
{
    struct fixture *f = *state;
    prg_lease_start(f->a.lease);
    script_answer(&f->a.script, script_expect(&f->a.script, "GET", PATH, NULL), 200,
                  lease_of(f, "", "2026-01-01T00:00:00.000000Z", 5));
    script_answer(&f->a.script, script_expect(&f->a.script, "PUT", PATH, NULL), 409, "{'reason':'Conflict'}");
    assert_int_equal(f->a.started, 0);
    assert_int_equal(f->a.problems, 0);
    prg_timers_step(f->timers);
    script_expect(&f->a.script, "GET", PATH, NULL);
}

static void a_leader_that_cannot_renew_stops_after_ten_seconds(void **state)
{
    struct fixture *f = *state;
    lead(f);
    uint64_t renewed = prg_timers_now(f->timers);
    prg_timers_step(f->timers);
    while (f->a.stopped == 0) {
        if (f->a.script.calls)
            script_fault(&f->a.script, f->a.script.calls, 0, PRG_FAULT_CONNECT);
        assert_true(prg_lease_is_leader(f->a.lease));
        prg_timers_step(f->timers);
    }
    assert_int_equal(prg_timers_now(f->timers) - renewed, 10000);
    assert_false(prg_lease_is_leader(f->a.lease));
    assert_int_equal(f->a.problems, 1);
    assert_error_has(&f->a.problem, "lease ns/perigee: fault");
    // It comes back as a follower.
    while (!f->a.script.calls)
        prg_timers_step(f->timers);
    script_expect(&f->a.script, "GET", PATH, NULL);
}

static void an_answer_slower_than_the_deadline_does_not_count(void **state)
{
    struct fixture *f = *state;
    lead(f);
    prg_timers_step(f->timers);
    script_expect(&f->a.script, "PUT", PATH, NULL);
    prg_timers_advance(f->timers, 8000);
    assert_int_equal(f->a.stopped, 1);
    script_expect_none(&f->a.script); // not listened to any more
    // Likewise while it follows: yes, but ten seconds ago.
    while (!f->a.script.calls)
        prg_timers_step(f->timers);
    script_answer(&f->a.script, script_expect(&f->a.script, "GET", PATH, NULL), 404, "{}");
    struct prg_call *call = script_expect(&f->a.script, "POST", LIST, NULL);
    const char *answer = echo(f, call);
    prg_timers_advance(f->timers, 10000);
    script_answer(&f->a.script, call, 201, answer);
    assert_false(prg_lease_is_leader(f->a.lease));
    assert_int_equal(f->a.started, 1);
}

static void the_time_of_a_renewal_is_that_of_its_request(void **state)
{
    struct fixture *f = *state;
    lead(f);
    prg_timers_step(f->timers);
    struct prg_call *call = script_expect(&f->a.script, "PUT", PATH, NULL);
    prg_timers_advance(f->timers, 7000);
    script_answer(&f->a.script, call, 200, echo(f, call));
    prg_timers_step(f->timers); // the next renewal, at 2 + 7 + 2 s, which is not answered
    prg_timers_advance(f->timers, 999);
    assert_true(prg_lease_is_leader(f->a.lease));
    prg_timers_advance(f->timers, 1);
    assert_false(prg_lease_is_leader(f->a.lease));
    assert_int_equal(f->a.stopped, 1);
}

static void a_lease_taken_by_somebody_else_ends_the_lead(void **state)
{
    struct fixture *f = *state;
    lead(f);
    prg_timers_step(f->timers);
    script_answer(&f->a.script, script_expect(&f->a.script, "PUT", PATH, NULL), 409, "{'reason':'Conflict'}");
    assert_int_equal(f->a.stopped, 0); // it may have been our own write that was told too late
    prg_timers_step(f->timers);
    script_answer(&f->a.script, script_expect(&f->a.script, "GET", PATH, NULL), 200,
                  lease_of(f, "thief", "2026-06-01T00:00:01.000000Z", 9));
    assert_int_equal(f->a.stopped, 1);
    assert_string_equal(f->a.observed, "thief");
    script_expect_none(&f->a.script);
}

static void a_lease_that_was_deleted_is_made_again(void **state)
{
    struct fixture *f = *state;
    lead(f);
    prg_timers_step(f->timers);
    script_answer(&f->a.script, script_expect(&f->a.script, "PUT", PATH, NULL), 404, "{'reason':'NotFound'}");
    prg_timers_step(f->timers);
    script_answer(&f->a.script, script_expect(&f->a.script, "GET", PATH, NULL), 404, "{}");
    accept_write(f, &f->a, "POST");
    assert_true(prg_lease_is_leader(f->a.lease));
    assert_int_equal(f->a.stopped, 0);
    assert_int_equal(f->a.started, 1);
}

static void a_lease_is_given_back_after_leading_has_stopped(void **state)
{
    struct fixture *f = *state;
    lead(f);
    prg_lease_release(f->a.lease, on_released, &f->a);
    assert_int_equal(f->a.stopped, 1); // before the request
    assert_false(prg_lease_is_leader(f->a.lease));
    struct prg_call *call = script_expect(&f->a.script, "PUT", PATH, NULL);
    const cJSON *spec = prg_json_get(body_of(f, call), "spec");
    int64_t seconds = 0;
    assert_string_equal(prg_json_get_text(spec, "holderIdentity"), "");
    assert_true(prg_json_get_int64(spec, "leaseDurationSeconds", &seconds));
    assert_int_equal(seconds, 1);
    assert_int_equal(f->a.released, 0);
    script_answer(&f->a.script, call, 200, echo(f, call));
    assert_int_equal(f->a.released, 1);
    assert_false(prg_timers_step(f->timers));
}

static void a_follower_has_nothing_to_give_back(void **state)
{
    struct fixture *f = *state;
    prg_lease_start(f->a.lease);
    prg_lease_release(f->a.lease, on_released, &f->a);
    prg_timers_step(f->timers);
    assert_int_equal(f->a.released, 1);
    assert_int_equal(f->a.stopped, 0);
    script_expect_none(&f->a.script);
    prg_lease_start(f->a.lease);
    script_expect(&f->a.script, "GET", PATH, NULL);
}

static void timings_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        uint64_t duration, renew, retry;
    } cases[] = {{10000, 10000, 2000}, {15000, 2400, 2000}};
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_lease_options options = {.ns = "n",
                                            .name = "x",
                                            .identity = "a",
                                            .duration_ms = cases[i].duration,
                                            .renew_ms = cases[i].renew,
                                            .retry_ms = cases[i].retry};
        struct prg_lease_handler handler = {0};
        struct prg_lease *lease = NULL;
        struct prg_error err = {0};
        assert_int_equal(prg_lease_new(&f->a.script.transport, f->timers, &options, &handler, &lease, &err),
                         PRG_INVALID);
        assert_error_has(&err, "must be longer");
    }
}

static void lease_times_have_six_digits(void **state)
{
    char text[PRG_MICRO_TIME];
    (void)state;
    assert_string_equal(prg_lease_time(0, text), "1970-01-01T00:00:00.000000Z");
    assert_string_equal(prg_lease_time(INT64_C(1780272000) * 1000000000 + 5999, text), "2026-06-01T00:00:00.000005Z");
}

// ---- two replicas and one server ----

static void serve_one(struct fixture *f, struct replica *r)
{
    struct prg_call *call = r->script.calls;
    const char *asked = NULL;
    if (r->is_cut) {
        script_fault(&r->script, call, 0, PRG_FAULT_TIMEOUT);
        return;
    }
    const char *now = f->stored ? prg_json_get_text(prg_json_get(f->stored, "metadata"), "resourceVersion") : NULL;
    if (strcmp(call->request.method, "GET") == 0) {
        script_answer(&r->script, call, f->stored ? 200 : 404,
                      f->stored ? prg_json_print_arena(&f->arena, f->stored, PRG_JSON_COMPACT) : "{}");
        return;
    }
    asked = prg_json_get_text(prg_json_get(body_of(f, call), "metadata"), "resourceVersion");
    if (!prg_text_equal(asked, now)) {
        script_answer(&r->script, call, 409, "{'reason':'Conflict'}");
        return;
    }
    const char *text = echo(f, call);
    f->stored = json_of(&f->arena, text);
    script_answer(&r->script, call, 200, text);
}

static void there_is_never_more_than_one_leader(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 3;
    unsigned changes = 0, leaderless = 0;
    prg_lease_start(f->a.lease);
    prg_lease_start(f->b.lease);
    for (int round = 0; round < 20000; round++) {
        struct replica *r = prg_random(&seed) < 0.5 ? &f->a : &f->b;
        if (r->script.calls && prg_random(&seed) < 0.7)
            serve_one(f, r);
        else
            prg_timers_advance(f->timers, (uint64_t)(prg_random(&seed) * 900));
        if (prg_random(&seed) < 0.002) {
            r->is_cut = !r->is_cut;
            changes++;
        }
        bool a_leads = prg_lease_is_leader(f->a.lease), b_leads = prg_lease_is_leader(f->b.lease);
        assert_false(a_leads && b_leads);
        leaderless += !a_leads && !b_leads;
    }
    assert_true(changes > 10);
    assert_true(f->a.started > 1 && f->b.started > 1);
    assert_true(leaderless < 15000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_lease_that_is_not_there_is_made),
        TEST(a_leader_renews_without_reading),
        TEST(a_held_lease_is_waited_for_by_our_own_clock),
        TEST(a_lease_that_is_renewed_is_never_taken),
        TEST(an_empty_holder_is_taken_at_once),
        TEST(who_loses_the_race_goes_on_following_without_a_complaint),
        TEST(a_leader_that_cannot_renew_stops_after_ten_seconds),
        TEST(an_answer_slower_than_the_deadline_does_not_count),
        TEST(the_time_of_a_renewal_is_that_of_its_request),
        TEST(a_lease_taken_by_somebody_else_ends_the_lead),
        TEST(a_lease_that_was_deleted_is_made_again),
        TEST(a_lease_is_given_back_after_leading_has_stopped),
        TEST(a_follower_has_nothing_to_give_back),
        TEST(timings_that_do_not_fit_are_refused),
        TEST(lease_times_have_six_digits),
        TEST(there_is_never_more_than_one_leader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
