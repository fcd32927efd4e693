// SPDX-License-Identifier: Apache-2.0
// test_http.c: the transport against a scripted server on loopback, with a clock moved by hand.
#include "kube/http.h"

#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "server.h"
#include "support/support.h"

#define BEGIN_MS 1000000

struct call { // what came of one
    struct prg_call *handle;
    bool is_done;
    unsigned data_calls;
    size_t stop_after; // bytes, 0: never
    int status;
    enum prg_fault fault;
    struct prg_error err;
    char *body, *warnings;
    struct prg_strbuf data;
    bool is_sent, has_retry_after;
    uint64_t retry_after_ms;
};

struct fixture {
    uv_loop_t loop;
    uv_timer_t pulse; // so that uv_run returns when only a timer had something to do
    struct prg_timers *timers;
    struct server *server;
    struct prg_kube_config config;
    struct prg_http *http;
    struct prg_arena arena;
    char folder[64];
    struct call call, other;
};

static void on_pulse(uv_timer_t *pulse)
{
    (void)pulse;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int64_t wall_ns;
    assert_true(prg_clock_parse("2026-06-01T00:00:00Z", &wall_ns));
    assert_int_equal(uv_loop_init(&f->loop), 0);
    uv_timer_init(&f->loop, &f->pulse);
    uv_timer_start(&f->pulse, on_pulse, 1, 1);
    f->timers = prg_timers_new_manual(BEGIN_MS, wall_ns);
    f->config = (struct prg_kube_config){.source = "test", .context = "", .cluster = "c", .user = "u", .ns = "default"};
    strcpy(f->folder, "/tmp/perigee-http-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    prg_strbuf_init(&f->call.data);
    prg_strbuf_init(&f->other.data);
    *state = f;
    return 0;
}

static void call_clear(struct call *call)
{
    free(call->body);
    free(call->warnings);
    prg_strbuf_release(&call->data);
    memset(call, 0, sizeof(*call));
    prg_strbuf_init(&call->data);
}

// Everything closes and the loop has nothing left.
static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_http_close(f->http);
    server_close(f->server);
    uv_close((uv_handle_t *)&f->pulse, NULL);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    prg_timers_free(f->timers);
    call_clear(&f->call);
    call_clear(&f->other);
    unlink(prg_arena_printf(&f->arena, "%s/token", f->folder));
    unlink(prg_arena_printf(&f->arena, "%s/ca.crt", f->folder));
    assert_int_equal(rmdir(f->folder), 0);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static void begin(struct fixture *f, SSL_CTX *tls, const struct prg_http_options *options)
{
    static const struct prg_http_options plain = {.rate = -1};
    f->server = server_new(&f->loop, tls);
    if (!f->config.server)
        f->config.server = prg_arena_printf(&f->arena, "%s://127.0.0.1:%d", tls ? "https" : "http", f->server->port);
    f->http = prg_http_new(&f->loop, f->timers, &f->config, options ? options : &plain);
}

static bool on_data(const char *bytes, size_t length, void *ctx)
{
    struct call *call = ctx;
    call->data_calls++;
    prg_strbuf_add(&call->data, bytes, length);
    return !call->stop_after || call->data.length < call->stop_after;
}

static void on_done(const struct prg_response *response, void *ctx)
{
    struct call *call = ctx;
    assert_false(call->is_done);
    call->is_done = true;
    call->status = response->status;
    call->fault = response->fault;
    call->body = prg_xstrndup(response->body, response->body_length);
    call->warnings = response->warnings ? prg_xstrdup(response->warnings) : NULL;
    call->is_sent = response->is_sent;
    call->has_retry_after = response->has_retry_after;
    call->retry_after_ms = response->retry_after_ms;
    if (response->error)
        call->err = *response->error;
}

static void start(struct fixture *f, struct call *call, const struct prg_request *request, bool streams)
{
    struct prg_call_handler handler = {.data = streams ? on_data : NULL, .done = on_done};
    struct prg_transport *transport = prg_http_transport(f->http);
    call_clear(call);
    call->handle = transport->start(transport, request, &handler, call);
    assert_false(call->is_done);
}

static void get(struct fixture *f, struct call *call, const char *path)
{
    struct prg_request request = {.method = "GET", .path = path};
    start(f, call, &request, false);
}

static void run_until_done(struct fixture *f, const struct call *call)
{
    while (!call->is_done)
        uv_run(&f->loop, UV_RUN_ONCE);
}

// Runs until the server has seen so many requests.
static void run_until_seen(struct fixture *f, size_t count)
{
    while (f->server->seen.count < count)
        uv_run(&f->loop, UV_RUN_ONCE);
}

// Runs until the only thing left is a timer of the clock that is moved by hand.
static void run_until_waiting(struct fixture *f, uint64_t delay_ms)
{
    while (prg_timers_next_ms(f->timers) != (int64_t)delay_ms)
        uv_run(&f->loop, UV_RUN_ONCE);
}

// ---- requests and answers ----

static void a_get_returns_status_and_body(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/api/v1/pods?limit=5", 200, "", "{\"a\":1}", SERVER_KEEP);
    get(f, &f->call, "/api/v1/pods?limit=5");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_NONE);
    assert_int_equal(f->call.status, 200);
    assert_string_equal(f->call.body, "{\"a\":1}");
    const struct seen *seen = server_seen(f->server, 0);
    assert_non_null(strstr(seen->head, "User-Agent: perigee"));
    assert_non_null(strstr(seen->head, "Accept: application/json\r\n"));
    assert_null(strstr(seen->head, "Accept-Encoding")); // loopback
    assert_null(strstr(seen->head, "Authorization"));
}

static void a_write_sends_its_body_once_with_its_type(void **state)
{
    struct fixture *f = *state;
    f->config.token = "secret";
    f->config.as = "bob";
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "PATCH", "/x", 201, "Warning: 299 - \"one \\\"a\\\"\"\r\nWarning: 299 - \"two\"\r\n",
                  "{}", SERVER_KEEP);
    struct prg_request request = {.method = "PATCH",
                                  .path = "/x",
                                  .kind = PRG_CALL_WRITE,
                                  .content_type = "application/apply-patch+yaml",
                                  .body = "{\"b\":2}",
                                  .body_length = 7};
    start(f, &f->call, &request, false);
    run_until_done(f, &f->call);
    assert_int_equal(f->call.status, 201);
    assert_true(f->call.is_sent);
    assert_string_equal(f->call.warnings, "one \"a\"\ntwo");
    const struct seen *seen = server_seen(f->server, 0);
    assert_string_equal(seen->method, "PATCH");
    assert_string_equal(seen->body, "{\"b\":2}");
    assert_non_null(strstr(seen->head, "Content-Type: application/apply-patch+yaml\r\n"));
    assert_non_null(strstr(seen->head, "Authorization: Bearer secret\r\n"));
    assert_non_null(strstr(seen->head, "Impersonate-User: bob\r\n"));
    assert_null(strstr(seen->head, "Expect"));
}

static void the_body_of_a_refusal_is_kept_even_when_answers_are_streamed(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/x", 410, "", "{\"reason\":\"Expired\"}", SERVER_KEEP);
    struct prg_request request = {.method = "GET", .path = "/x"};
    start(f, &f->call, &request, true);
    run_until_done(f, &f->call);
    assert_int_equal(f->call.status, 410);
    assert_string_equal(f->call.body, "{\"reason\":\"Expired\"}");
    assert_int_equal(f->call.data_calls, 0);
}

static void reads_writes_and_watches_have_their_own_connections(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 9, "GET", "/", 200, "", "{}", SERVER_KEEP);
    server_answer(f->server, 9, "POST", "/", 200, "", "{}", SERVER_KEEP);
    static const struct {
        const char *method;
        enum prg_call_kind kind;
        unsigned connection;
    } steps[] = {{"GET", PRG_CALL_READ, 1}, {"POST", PRG_CALL_WRITE, 2}, {"GET", PRG_CALL_WATCH, 3},
                 {"GET", PRG_CALL_READ, 1}, {"POST", PRG_CALL_WRITE, 2}, {"GET", PRG_CALL_WATCH, 3}};
    for (size_t i = 0; i < PRG_COUNT(steps); i++) {
        struct prg_request request = {.method = steps[i].method, .path = "/", .kind = steps[i].kind};
        if (steps[i].kind == PRG_CALL_WRITE)
            request.body = "{}", request.body_length = 2;
        start(f, &f->call, &request, false);
        run_until_done(f, &f->call);
        assert_int_equal(f->call.status, 200);
        assert_int_equal(server_seen(f->server, i)->connection, steps[i].connection);
    }
}

// ---- streams ----

static void a_watch_is_told_as_bytes_come_whatever_their_pieces(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/w", 200, "", "{\"type\":\"ADDED\"}\n", SERVER_OPEN | SERVER_BYTEWISE);
    struct prg_request request = {.method = "GET", .path = "/w", .kind = PRG_CALL_WATCH, .deadline_ms = 600000};
    start(f, &f->call, &request, true);
    while (f->call.data.length < 17)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_false(f->call.is_done);
    server_push(f->server, "second\n");
    while (f->call.data.length < 24)
        uv_run(&f->loop, UV_RUN_ONCE);
    server_end_held(f->server, SERVER_KEEP);
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_NONE);
    assert_string_equal(f->call.data.text, "{\"type\":\"ADDED\"}\nsecond\n");
}

static void a_stream_that_is_cut_is_a_fault(void **state)
{
    static const unsigned ends[] = {SERVER_CLOSE, SERVER_RESET};
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    for (size_t i = 0; i < PRG_COUNT(ends); i++) {
        server_answer(f->server, 1, "GET", "/w", 200, "", "line\n", SERVER_OPEN);
        struct prg_request request = {.method = "GET", .path = "/w", .kind = PRG_CALL_WATCH, .deadline_ms = 600000};
        start(f, &f->call, &request, true);
        while (!f->call.data.length)
            uv_run(&f->loop, UV_RUN_ONCE);
        server_end_held(f->server, ends[i]);
        run_until_done(f, &f->call);
        assert_int_equal(f->call.fault, PRG_FAULT_CUT);
        assert_int_equal(f->call.status, 200);
        assert_error_has(&f->call.err, "GET http://127.0.0.1");
    }
}

static void a_receiver_that_had_enough_ends_the_call(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/w", 200, "", "0123456789", SERVER_OPEN);
    struct prg_request request = {.method = "GET", .path = "/w", .kind = PRG_CALL_WATCH};
    start(f, &f->call, &request, true);
    f->call.stop_after = 4;
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_STOPPED);
}

static void a_silent_stream_is_given_up_and_its_connection_left(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 2, "GET", "/w", 200, "", "line\n", SERVER_OPEN);
    struct prg_request request = {
        .method = "GET", .path = "/w", .kind = PRG_CALL_WATCH, .deadline_ms = 600000, .idle_ms = 90000};
    start(f, &f->call, &request, true);
    while (!f->call.data.length)
        uv_run(&f->loop, UV_RUN_ONCE);
    prg_timers_advance(f->timers, 60000);
    server_push(f->server, "more\n"); // silence begins anew
    while (f->call.data.length < 10)
        uv_run(&f->loop, UV_RUN_ONCE);
    prg_timers_advance(f->timers, 89999);
    assert_false(f->call.is_done);
    prg_timers_advance(f->timers, 1);
    assert_true(f->call.is_done);
    assert_int_equal(f->call.fault, PRG_FAULT_TIMEOUT);
    start(f, &f->call, &request, true);
    run_until_seen(f, 2);
    assert_int_equal(server_seen(f->server, 1)->connection, 2);
}

// ---- deadlines and limits ----

static void a_call_ends_at_its_deadline(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer_raw(f->server, "POST", "/x", "", 0, SERVER_KEEP); // says nothing
    struct prg_request request = {
        .method = "POST", .path = "/x", .kind = PRG_CALL_WRITE, .body = "{}", .body_length = 2, .deadline_ms = 5000};
    start(f, &f->call, &request, false);
    run_until_seen(f, 1);
    prg_timers_advance(f->timers, 4999);
    assert_false(f->call.is_done);
    prg_timers_advance(f->timers, 1);
    assert_int_equal(f->call.fault, PRG_FAULT_TIMEOUT);
    assert_true(f->call.is_sent); // it may have been done
    assert_error_has(&f->call.err, "/x: no complete answer before the deadline");
}

static void an_answer_over_its_limit_is_refused(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/x", 200, "", "0123456789", SERVER_KEEP);
    struct prg_request request = {.method = "GET", .path = "/x", .max_bytes = 9};
    start(f, &f->call, &request, false);
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_LIMIT);
    assert_error_has(&f->call.err, "too large");
}

static void a_server_that_is_not_there_is_told_as_such(void **state)
{
    struct fixture *f = *state;
    f->config.server = "http://127.0.0.1:1";
    begin(f, NULL, NULL);
    get(f, &f->call, "/x?secret=1");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_CONNECT);
    assert_false(f->call.is_sent);
    assert_int_equal(f->call.status, 0);
    assert_error_has(&f->call.err, "GET http://127.0.0.1:1/x: ");
}

static void what_is_not_http_is_a_fault(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer_raw(f->server, "GET", "/x", "SSH-2.0-OpenSSH\r\n", 17, SERVER_CLOSE);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_int_not_equal(f->call.fault, PRG_FAULT_NONE);
}

// ---- repetitions ----

static void a_get_is_repeated_as_retry_after_says(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/x", 429, "Retry-After: 7\r\n", "{}", SERVER_KEEP);
    server_answer(f->server, 1, "GET", "/x", 503, "Retry-After: Mon, 01 Jun 2026 00:00:17 GMT\r\n", "{}", SERVER_KEEP);
    server_answer(f->server, 1, "GET", "/x", 200, "", "yes", SERVER_KEEP);
    get(f, &f->call, "/x");
    run_until_waiting(f, 7000);
    assert_int_equal(f->server->seen.count, 1);
    prg_timers_advance(f->timers, 7000);
    run_until_waiting(f, 10000);
    prg_timers_advance(f->timers, 10000);
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");
    assert_int_equal(prg_http_count(f->http)->retries, 2);
}

static void a_get_is_not_repeated_for_ever(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 99, "GET", "/x", 503, "Retry-After: 1\r\n", "{}", SERVER_KEEP);
    get(f, &f->call, "/x");
    for (int i = 0; i < 10; i++) {
        run_until_waiting(f, 1000);
        prg_timers_advance(f->timers, 1000);
    }
    run_until_done(f, &f->call);
    assert_int_equal(f->call.status, 503);
    assert_int_equal(f->server->seen.count, 11);
}

static void a_refusal_without_retry_after_is_not_repeated(void **state)
{
    static const int statuses[] = {429, 500, 503, 404};
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    for (size_t i = 0; i < PRG_COUNT(statuses); i++) {
        server_answer(f->server, 1, "GET", "/x", statuses[i], i == 3 ? "Retry-After: 1\r\n" : "", "{}", SERVER_KEEP);
        get(f, &f->call, "/x");
        run_until_done(f, &f->call);
        assert_int_equal(f->call.status, statuses[i]);
        assert_int_equal(f->server->seen.count, i + 1);
    }
}

static void a_get_whose_connection_breaks_is_sent_again_after_a_second(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer_raw(f->server, "GET", "/x", "", 0, SERVER_CLOSE);
    server_answer(f->server, 1, "GET", "/x", 200, "", "yes", SERVER_KEEP);
    get(f, &f->call, "/x");
    run_until_waiting(f, 1000);
    prg_timers_advance(f->timers, 1000);
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");
    assert_int_equal(f->server->seen.count, 2);
}

static void a_repetition_that_would_come_after_the_deadline_is_not_waited_for(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/x", 429, "Retry-After: 30\r\n", "{}", SERVER_KEEP);
    struct prg_request request = {.method = "GET", .path = "/x", .deadline_ms = 10000};
    start(f, &f->call, &request, false);
    run_until_done(f, &f->call);
    assert_int_equal(f->call.status, 429);
    assert_int_equal(f->call.retry_after_ms, 30000);
}

static void a_write_is_never_sent_twice(void **state)
{
    struct fixture *f = *state;
    struct prg_request request = {
        .method = "POST", .path = "/x", .kind = PRG_CALL_WRITE, .body = "{}", .body_length = 2};
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "POST", "/x", 429, "Retry-After: 7\r\n", "{}", SERVER_KEEP);
    start(f, &f->call, &request, false);
    run_until_done(f, &f->call);
    assert_int_equal(f->call.status, 429);
    assert_int_equal(f->call.retry_after_ms, 7000);
    assert_int_equal(f->server->seen.count, 1);
    // Neither on a kept connection that breaks under it, where libcurl by itself would send it again.
    server_answer_raw(f->server, "POST", "/x", "", 0, SERVER_CLOSE);
    server_answer(f->server, 9, "POST", "/x", 200, "", "{}", SERVER_KEEP);
    start(f, &f->call, &request, false);
    run_until_done(f, &f->call);
    assert_int_equal(f->server->seen.count, 2);
    assert_int_equal(server_seen(f->server, 1)->connection, 1);
    assert_int_equal(f->call.fault, PRG_FAULT_CUT);
    assert_true(f->call.is_sent);
}

static void retry_after_is_read_in_both_forms_and_capped(void **state)
{
    static const struct {
        const char *text;
        bool is_good;
        uint64_t ms;
    } cases[] = {
        {" 7\r\n", true, 7000},
        {"0", true, 0},
        {"99999", true, 60000},
        {"99999999999999999999999", true, 60000},
        {"Mon, 01 Jun 2026 00:00:05 GMT\r\n", true, 5000},
        {"Mon, 01 Jun 2020 00:00:05 GMT", true, 0},
        {"Mon, 01 Jun 2030 00:00:05 GMT", true, 60000},
        {"soon", false, 0},
        {"-1", false, 0},
        {"7x", false, 0},
    };
    int64_t wall_ns;
    (void)state;
    assert_true(prg_clock_parse("2026-06-01T00:00:00Z", &wall_ns));
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        uint64_t ms = 0;
        if (prg_http_retry_after(cases[i].text, wall_ns, &ms) != cases[i].is_good || ms != cases[i].ms)
            fail_msg("'%s' gives %llu", cases[i].text, (unsigned long long)ms);
    }
}

// ---- rate limit, cancelling ----

static void requests_over_the_rate_wait_and_urgent_ones_do_not(void **state)
{
    struct fixture *f = *state;
    struct prg_http_options options = {.rate = 10, .burst = 2};
    struct call third = {0};
    struct prg_request urgent = {.method = "GET", .path = "/urgent", .is_urgent = true};
    begin(f, NULL, &options);
    server_answer(f->server, 9, "GET", "/", 200, "", "{}", SERVER_KEEP);
    get(f, &f->call, "/1");
    run_until_done(f, &f->call);
    get(f, &f->call, "/2");
    run_until_done(f, &f->call);
    get(f, &f->call, "/3");
    start(f, &third, &urgent, false);
    run_until_done(f, &third);
    assert_false(f->call.is_done);
    assert_int_equal(f->server->seen.count, 3);
    prg_timers_advance(f->timers, 101);
    run_until_done(f, &f->call);
    assert_string_equal(server_seen(f->server, 3)->path, "/3");
    assert_true(prg_http_count(f->http)->throttled_ms >= 100);
    call_clear(&third);
}

static bool cancel_other(const char *bytes, size_t length, void *ctx)
{
    struct fixture *f = ctx;
    struct prg_transport *transport = prg_http_transport(f->http);
    (void)bytes;
    (void)length;
    if (!f->other.is_done) {
        f->other.is_done = true;
        transport->cancel(transport, f->other.handle);
        transport->cancel(transport, f->call.handle); // and itself
        get(f, &f->call, "/next");                    // a new call from within data
    }
    return true;
}

static void refuse(const struct prg_response *response, void *ctx)
{
    (void)response;
    (void)ctx;
    fail_msg("a cancelled call was told");
}

static void calls_may_be_cancelled_and_started_from_callbacks(void **state)
{
    struct fixture *f = *state;
    struct prg_call_handler handler = {.data = cancel_other, .done = refuse};
    struct prg_request request = {.method = "GET", .path = "/w", .kind = PRG_CALL_WATCH};
    begin(f, NULL, NULL);
    struct prg_transport *transport = prg_http_transport(f->http);
    server_answer(f->server, 1, "GET", "/w", 200, "", "", SERVER_OPEN);
    f->other.handle = transport->start(transport, &request, &handler, f);
    run_until_seen(f, 1);
    server_answer(f->server, 1, "GET", "/w", 200, "", "line\n", SERVER_OPEN);
    server_answer(f->server, 1, "GET", "/next", 200, "", "next", SERVER_KEEP);
    f->call.handle = transport->start(transport, &request, &handler, f);
    while (!f->other.is_done)
        uv_run(&f->loop, UV_RUN_ONCE);
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "next");
}

static void calls_that_wait_may_be_cancelled(void **state)
{
    struct fixture *f = *state;
    begin(f, NULL, NULL);
    struct prg_transport *transport = prg_http_transport(f->http);
    get(f, &f->call, "/queued");
    transport->cancel(transport, f->call.handle);
    server_answer(f->server, 1, "GET", "/pausing", 429, "Retry-After: 7\r\n", "{}", SERVER_KEEP);
    get(f, &f->call, "/pausing");
    run_until_waiting(f, 7000);
    transport->cancel(transport, f->call.handle);
    get(f, &f->other, "/last");
    run_until_done(f, &f->other);
    assert_false(f->call.is_done);
    assert_int_equal(f->server->seen.count, 2);
    assert_false(prg_timers_step(f->timers)); // nothing is left running
}

static bool close_all(const char *bytes, size_t length, void *ctx)
{
    struct fixture *f = ctx;
    (void)bytes;
    (void)length;
    prg_http_close(f->http);
    f->http = NULL;
    return true;
}

static void everything_may_be_closed_from_within_a_callback(void **state)
{
    struct fixture *f = *state;
    struct prg_call_handler handler = {.data = close_all, .done = refuse};
    struct prg_request request = {.method = "GET", .path = "/w", .kind = PRG_CALL_WATCH};
    begin(f, NULL, NULL);
    struct prg_transport *transport = prg_http_transport(f->http);
    server_answer(f->server, 1, "GET", "/w", 200, "", "line\n", SERVER_OPEN);
    transport->start(transport, &request, &handler, f);
    get(f, &f->other, "/other");
    while (f->http)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_false(prg_timers_step(f->timers));
}

static void close_when_done(const struct prg_response *response, void *ctx)
{
    struct fixture *f = ctx;
    assert_int_equal(response->status, 200);
    prg_http_close(f->http);
    f->http = NULL;
}

static void everything_may_be_closed_when_a_call_is_done(void **state)
{
    struct fixture *f = *state;
    struct prg_call_handler handler = {.done = close_when_done};
    struct prg_request request = {.method = "GET", .path = "/x"};
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/x", 200, "", "{}", SERVER_KEEP);
    prg_http_transport(f->http)->start(prg_http_transport(f->http), &request, &handler, f);
    get(f, &f->other, "/other");
    while (f->http)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_false(prg_timers_step(f->timers));
}

// ---- TLS ----

struct pki {
    struct identity *ca, *server, *other_ca, *client;
    SSL_CTX *tls;
};

static struct pki pki_new(const char *names, bool asks_client)
{
    struct pki p = {0};
    p.ca = identity_new("ca", NULL, NULL);
    p.other_ca = identity_new("other", NULL, NULL);
    p.server = identity_new("server", names, p.ca);
    p.client = identity_new("client", NULL, p.other_ca);
    p.tls = identity_server(p.server, asks_client ? p.other_ca : NULL);
    return p;
}

static void pki_free(struct pki *p)
{
    identity_free(p->ca);
    identity_free(p->other_ca);
    identity_free(p->server);
    identity_free(p->client);
    SSL_CTX_free(p->tls);
}

static void the_server_is_checked_against_its_ca(void **state)
{
    struct fixture *f = *state;
    struct pki p = pki_new("IP:127.0.0.1", false);
    f->config.ca_data = p.ca->cert;
    begin(f, p.tls, NULL);
    server_answer(f->server, 9, "GET", "/x", 200, "", "yes", SERVER_KEEP);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");

    f->config.ca_data = p.other_ca->cert;
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_TLS);
    assert_false(f->call.is_sent);
    assert_error_has(&f->call.err, "test: cluster 'c' (certificate-authority");

    f->config.ca_data = NULL; // what the system trusts does not help
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_TLS);

    f->config.is_insecure = true;
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");
    pki_free(&p);
}

static void the_name_in_the_certificate_counts(void **state)
{
    struct fixture *f = *state;
    struct pki p = pki_new("DNS:api.internal", false);
    f->config.ca_data = p.ca->cert;
    begin(f, p.tls, NULL);
    server_answer(f->server, 9, "GET", "/x", 200, "", "yes", SERVER_KEEP);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_TLS);

    f->config.tls_server_name = "api.internal";
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");
    const char *host = prg_arena_printf(&f->arena, "Host: 127.0.0.1:%d\r\n", f->server->port);
    assert_non_null(strstr(server_seen(f->server, 0)->head, host));
    pki_free(&p);
}

static void a_client_certificate_is_shown(void **state)
{
    struct fixture *f = *state;
    struct pki p = pki_new("IP:127.0.0.1", true);
    f->config.ca_data = p.ca->cert;
    begin(f, p.tls, NULL);
    server_answer(f->server, 9, "GET", "/x", 200, "", "yes", SERVER_KEEP);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_TLS);
    f->config.cert_data = p.client->cert;
    f->config.key_data = p.client->key;
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");
    pki_free(&p);
}

// ---- credentials ----

static const char *put_file(struct fixture *f, const char *name, const char *text)
{
    const char *path = prg_arena_printf(&f->arena, "%s/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static void a_token_that_is_refused_is_read_again(void **state)
{
    struct fixture *f = *state;
    f->config.token_file = put_file(f, "token", "old");
    begin(f, NULL, NULL);
    server_answer(f->server, 1, "GET", "/x", 401, "", "{}", SERVER_KEEP);
    server_answer(f->server, 1, "GET", "/x", 200, "", "{}", SERVER_KEEP);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.status, 401); // told to the caller, who tries again
    put_file(f, "token", "new");
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_non_null(strstr(server_seen(f->server, 0)->head, "Authorization: Bearer old\r\n"));
    assert_non_null(strstr(server_seen(f->server, 1)->head, "Authorization: Bearer new\r\n"));
}

static void without_a_credential_nothing_is_sent(void **state)
{
    struct fixture *f = *state;
    f->config.token_file = prg_arena_printf(&f->arena, "%s/missing", f->folder);
    begin(f, NULL, NULL);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_CREDENTIAL);
    assert_error_has(&f->call.err, "missing: cannot be read");
    assert_int_equal(f->server->connection_count, 0);
}

static void a_password_is_sent_as_basic_authentication(void **state)
{
    struct fixture *f = *state;
    f->config.username = "ann";
    f->config.password = "pw";
    begin(f, NULL, NULL);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_non_null(strstr(server_seen(f->server, 0)->head, "Authorization: Basic YW5uOnB3\r\n"));
}

static void a_rotated_ca_is_taken_up_when_a_handshake_fails(void **state)
{
    struct fixture *f = *state;
    struct pki old = pki_new("IP:127.0.0.1", false), new = pki_new("IP:127.0.0.1", false);
    f->config.ca_file = put_file(f, "ca.crt", old.ca->cert);
    begin(f, old.tls, NULL);
    server_answer(f->server, 9, "GET", "/x", 200, "Connection: close\r\n", "yes", SERVER_CLOSE);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");
    f->server->tls = new.tls; // as after a rotation
    put_file(f, "ca.crt", new.ca->cert);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_TLS); // the file is read every five minutes only
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");
    pki_free(&old);
    pki_free(&new);
}

static void a_changed_ca_opens_new_connections(void **state)
{
    struct fixture *f = *state;
    struct pki p = pki_new("IP:127.0.0.1", false);
    f->config.ca_file = put_file(f, "ca.crt", p.ca->cert);
    begin(f, p.tls, NULL);
    server_answer(f->server, 9, "GET", "/x", 200, "", "yes", SERVER_KEEP);
    for (int i = 0; i < 2; i++) {
        get(f, &f->call, "/x");
        run_until_done(f, &f->call);
    }
    assert_int_equal(f->server->connection_count, 1);
    put_file(f, "ca.crt", prg_arena_printf(&f->arena, "%s%s", p.ca->cert, p.other_ca->cert));
    prg_timers_advance(f->timers, 300000);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "yes");
    assert_int_equal(f->server->connection_count, 2);
    pki_free(&p);
}

// ---- proxies and compression ----

// {"a":1}
static const char zipped[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\x54\xb2\x32\xac\x05\x00\xaf\xac\x1b\x56\x07\x00\x00\x00";
#define ZIPPED (sizeof(zipped) - 1)

// Answers path with the first `length` bytes of the compressed text, as if they were all.
static void answer_zipped(struct fixture *f, const char *path, size_t length)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_printf(&text, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", length);
    prg_strbuf_add(&text, zipped, length);
    server_answer_raw(f->server, "GET", path, text.text, text.length, SERVER_KEEP);
}

static void a_proxy_is_used_and_distant_answers_come_compressed(void **state)
{
    struct fixture *f = *state;
    f->config.server = "http://api.example";
    begin(f, NULL, NULL);
    f->config.proxy_url = prg_arena_printf(&f->arena, "http://127.0.0.1:%d", f->server->port);
    answer_zipped(f, "http://api.example/x", ZIPPED);
    get(f, &f->call, "/x");
    run_until_done(f, &f->call);
    assert_string_equal(f->call.body, "{\"a\":1}");
    assert_non_null(strstr(server_seen(f->server, 0)->head, "Accept-Encoding: gzip\r\n"));
    // Broken in the middle, it is no answer.
    answer_zipped(f, "http://api.example/broken", 14);
    get(f, &f->call, "/broken");
    run_until_done(f, &f->call);
    assert_true(f->call.fault != PRG_FAULT_NONE || strcmp(f->call.body, "{\"a\":1}") != 0);
    static const char garbage[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello";
    server_answer_raw(f->server, "GET", "http://api.example/garbage", garbage, sizeof(garbage) - 1, SERVER_KEEP);
    get(f, &f->call, "/garbage");
    run_until_done(f, &f->call);
    assert_int_equal(f->call.fault, PRG_FAULT_PROTOCOL);
}

const char *__asan_default_options(void);
const char *__asan_default_options(void) // NOLINT(bugprone-reserved-identifier): a block that is too large is NULL
{
    return "allocator_may_return_null=1";
}

static void ask_too_much_of_libcurl(void)
{
    uv_loop_t loop;
    struct prg_kube_config config = {.source = "test", .context = "", .cluster = "c", .user = "u", .ns = ""};
    uv_loop_init(&loop);
    prg_http_new(&loop, prg_timers_new_manual(BEGIN_MS, 0), &config, NULL);
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)1 << 50);
    curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, "x");
}

// A call that libcurl could not make whole would be sent without its method or its headers, or never be told.
static void out_of_memory_in_libcurl_ends_the_program(void **state)
{
    char said[4096];
    (void)state;
    assert_int_equal(death_of(ask_too_much_of_libcurl, said, sizeof(said)), SIGABRT);
    assert_non_null(strstr(said, "perigee: out of memory (asked for 1125899906842624 bytes)"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_get_returns_status_and_body),
        cmocka_unit_test(out_of_memory_in_libcurl_ends_the_program),
        TEST(a_write_sends_its_body_once_with_its_type),
        TEST(the_body_of_a_refusal_is_kept_even_when_answers_are_streamed),
        TEST(reads_writes_and_watches_have_their_own_connections),
        TEST(a_watch_is_told_as_bytes_come_whatever_their_pieces),
        TEST(a_stream_that_is_cut_is_a_fault),
        TEST(a_receiver_that_had_enough_ends_the_call),
        TEST(a_silent_stream_is_given_up_and_its_connection_left),
        TEST(a_call_ends_at_its_deadline),
        TEST(an_answer_over_its_limit_is_refused),
        TEST(a_server_that_is_not_there_is_told_as_such),
        TEST(what_is_not_http_is_a_fault),
        TEST(a_get_is_repeated_as_retry_after_says),
        TEST(a_get_is_not_repeated_for_ever),
        TEST(a_refusal_without_retry_after_is_not_repeated),
        TEST(a_get_whose_connection_breaks_is_sent_again_after_a_second),
        TEST(a_repetition_that_would_come_after_the_deadline_is_not_waited_for),
        TEST(a_write_is_never_sent_twice),
        cmocka_unit_test(retry_after_is_read_in_both_forms_and_capped),
        TEST(requests_over_the_rate_wait_and_urgent_ones_do_not),
        TEST(calls_may_be_cancelled_and_started_from_callbacks),
        TEST(calls_that_wait_may_be_cancelled),
        TEST(everything_may_be_closed_from_within_a_callback),
        TEST(everything_may_be_closed_when_a_call_is_done),
        TEST(the_server_is_checked_against_its_ca),
        TEST(the_name_in_the_certificate_counts),
        TEST(a_client_certificate_is_shown),
        TEST(a_token_that_is_refused_is_read_again),
        TEST(without_a_credential_nothing_is_sent),
        TEST(a_password_is_sent_as_basic_authentication),
        TEST(a_rotated_ca_is_taken_up_when_a_handshake_fails),
        TEST(a_changed_ca_opens_new_connections),
        TEST(a_proxy_is_used_and_distant_answers_come_compressed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
