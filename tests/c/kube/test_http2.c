// SPDX-License-Identifier: Apache-2.0
// test_http2.c: one connection for many calls, GOAWAY and refused streams, against frames written by hand.
//
// The server knows just enough of RFC 9113: it reads frames, acknowledges settings, and answers what the test tells it
// to. Header blocks are not decoded: streams are told apart by their numbers, which the client counts up by two.
#include "kube/http.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "support/support.h"

enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7 };
#define END_STREAM 0x1
#define END_HEADERS 0x4
#define ACK 0x1
#define PREFACE 24 // bytes
#define REFUSED_STREAM 7

struct connection {
    uv_tcp_t tcp;
    struct peer *peer;
    SSL *ssl;
    struct prg_strbuf in;
    bool is_greeted;
    bool is_deaf;     // looks at no further request, as after a GOAWAY
    unsigned streams; // requests whose headers have come
    uint32_t last;    // their last number
    size_t body;      // bytes of DATA that have come
    char chunk[16384];
};

struct peer {
    uv_tcp_t listener;
    int port;
    SSL_CTX *tls;
    struct connection *connections[16];
    unsigned count;
    unsigned streams; // of all connections
    bool answers_all; // each request at once with 200 and "ok"
};

struct call {
    bool is_done;
    int status;
    enum prg_fault fault;
    bool is_sent;
    bool has_enough; // of data, with the first of them
    struct prg_error err;
    struct prg_strbuf data;
};

struct fixture {
    uv_loop_t loop;
    uv_timer_t pulse; // so that uv_run returns when only a timer had something to do
    struct prg_timers *timers;
    struct peer peer;
    struct identity *identity;
    struct prg_kube_config config;
    struct prg_http *http;
    struct prg_arena arena;
    struct call a, b, watch;
};

// ---- the server ----

struct write {
    uv_write_t request;
    char bytes[];
};

static void on_written(uv_write_t *request, int status)
{
    (void)status;
    free(request);
}

// What TLS has to say goes out.
static void flush(struct connection *c)
{
    char *bytes;
    BIO *out = SSL_get_wbio(c->ssl);
    size_t length = (size_t)BIO_get_mem_data(out, &bytes);
    if (!length)
        return;
    struct write *write = prg_xcalloc(1, sizeof(*write) + length);
    memcpy(write->bytes, bytes, length);
    (void)BIO_reset(out);
    uv_buf_t buf = uv_buf_init(write->bytes, (unsigned)length);
    if (uv_write(&write->request, (uv_stream_t *)&c->tcp, &buf, 1, on_written) != 0)
        free(write);
}

static void add_frame(struct prg_strbuf *frames, unsigned type, unsigned flags, uint32_t stream, const void *payload,
                      size_t length)
{
    const char head[9] = {(char)(length >> 16), (char)(length >> 8),  (char)length,        (char)type,  (char)flags,
                          (char)(stream >> 24), (char)(stream >> 16), (char)(stream >> 8), (char)stream};
    prg_strbuf_add(frames, head, sizeof(head));
    prg_strbuf_add(frames, payload, length);
}

// At most 16 KiB are one record of TLS.
static void send_frames(struct connection *c, const struct prg_strbuf *frames)
{
    assert_int_equal(SSL_write(c->ssl, frames->text, (int)frames->length), (int)frames->length);
    flush(c);
}

static void send_frame(struct connection *c, unsigned type, unsigned flags, uint32_t stream, const void *payload,
                       size_t length)
{
    prg_auto_strbuf frame = PRG_STRBUF_INIT;
    add_frame(&frame, type, flags, stream, payload, length);
    send_frames(c, &frame);
}

static void send_head(struct connection *c, uint32_t stream)
{
    send_frame(c, HEADERS, END_HEADERS, stream, "\x88", 1); // :status 200
}

static void send_text(struct connection *c, uint32_t stream, const char *text, bool is_last)
{
    send_frame(c, DATA, is_last ? END_STREAM : 0, stream, text, strlen(text));
}

static void send_goaway(struct connection *c, uint32_t last)
{
    const char payload[8] = {(char)(last >> 24), (char)(last >> 16), (char)(last >> 8), (char)last, 0, 0, 0, 0};
    send_frame(c, GOAWAY, 0, 0, payload, sizeof(payload));
}

static void on_frame(struct connection *c, unsigned type, unsigned flags, uint32_t stream, size_t length)
{
    if (type == SETTINGS && !(flags & ACK))
        send_frame(c, SETTINGS, ACK, 0, "", 0);
    if (type == DATA)
        c->body += length;
    if (type != HEADERS || c->is_deaf)
        return;
    c->streams++;
    c->peer->streams++;
    c->last = stream;
    if (c->peer->answers_all) {
        send_head(c, stream);
        send_text(c, stream, "ok", true);
    }
}

static void on_closed(uv_handle_t *handle)
{
    struct connection *c = handle->data;
    prg_strbuf_release(&c->in);
    SSL_free(c->ssl);
    free(c);
}

static void drop(struct connection *c)
{
    for (unsigned i = 0; i < c->peer->count; i++)
        if (c->peer->connections[i] == c)
            c->peer->connections[i] = NULL;
    if (!uv_is_closing((uv_handle_t *)&c->tcp))
        uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct connection *c = handle->data;
    (void)suggested;
    *ret = uv_buf_init(c->chunk, sizeof(c->chunk));
}

static void take(struct connection *c, const char *bytes, size_t count)
{
    prg_strbuf_add(&c->in, bytes, count);
    size_t at = c->is_greeted ? 0 : PREFACE;
    if (c->in.length < at)
        return;
    c->is_greeted = true;
    for (;;) {
        const unsigned char *f = (const unsigned char *)c->in.text + at;
        size_t length = c->in.length - at >= 9 ? (size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2] : 0;
        if (c->in.length - at < 9 || c->in.length - at < 9 + length)
            break;
        on_frame(c, f[3], f[4], (uint32_t)(f[5] & 0x7f) << 24 | (uint32_t)f[6] << 16 | (uint32_t)f[7] << 8 | f[8],
                 length);
        at += 9 + length;
    }
    memmove(c->in.text, c->in.text + at, c->in.length - at);
    prg_strbuf_truncate(&c->in, c->in.length - at);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct connection *c = stream->data;
    char plain[4096];
    int length;
    if (count < 0) {
        drop(c);
        return;
    }
    BIO_write(SSL_get_rbio(c->ssl), buf->base, (int)count);
    if (!SSL_is_init_finished(c->ssl)) {
        bool is_done = SSL_accept(c->ssl) == 1;
        flush(c);
        if (!is_done)
            return;
        send_frame(c, SETTINGS, 0, 0, "", 0);
    }
    while ((length = SSL_read(c->ssl, plain, sizeof(plain))) > 0)
        take(c, plain, (size_t)length);
}

static int choose_http2(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *offered,
                        unsigned offered_length, void *ctx)
{
    static const unsigned char wanted[] = "\x02h2";
    (void)ssl;
    (void)ctx;
    return SSL_select_next_proto((unsigned char **)out, length, wanted, 3, offered, offered_length) ==
                   OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct peer *peer = listener->data;
    struct connection *c = prg_xcalloc(1, sizeof(*c));
    assert_int_equal(status, 0);
    assert_true(peer->count < PRG_COUNT(peer->connections));
    c->peer = peer;
    prg_strbuf_init(&c->in);
    c->ssl = SSL_new(peer->tls);
    SSL_set_bio(c->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(c->ssl);
    uv_tcp_init(listener->loop, &c->tcp);
    c->tcp.data = c;
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&c->tcp), 0);
    peer->connections[peer->count++] = c;
    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

// ---- fixture ----

static void on_pulse(uv_timer_t *pulse)
{
    (void)pulse;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct prg_http_options options = {.rate = -1};
    struct sockaddr_in address;
    int length = sizeof(address);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    uv_timer_init(&f->loop, &f->pulse);
    uv_timer_start(&f->pulse, on_pulse, 1, 1);
    f->timers = prg_timers_new_manual(1000000, 0);
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(&f->loop, &f->peer.listener);
    f->peer.listener.data = &f->peer;
    assert_int_equal(uv_tcp_bind(&f->peer.listener, (struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&f->peer.listener, 8, on_connection), 0);
    uv_tcp_getsockname(&f->peer.listener, (struct sockaddr *)&address, &length);
    f->config = (struct prg_kube_config){
        .source = "test",
        .context = "",
        .cluster = "c",
        .user = "u",
        .ns = "",
        .server = prg_arena_printf(&f->arena, "https://127.0.0.1:%d", ntohs(address.sin_port))};
    f->identity = identity_new("server", "IP:127.0.0.1", NULL);
    f->peer.tls = identity_server(f->identity, NULL);
    SSL_CTX_set_alpn_select_cb(f->peer.tls, choose_http2, NULL);
    f->config.ca_data = f->identity->cert;
    f->http = prg_http_new(&f->loop, f->timers, &f->config, &options);
    prg_strbuf_init(&f->a.data);
    prg_strbuf_init(&f->b.data);
    prg_strbuf_init(&f->watch.data);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    prg_http_close(f->http);
    for (unsigned i = 0; i < f->peer.count; i++)
        if (f->peer.connections[i])
            drop(f->peer.connections[i]);
    uv_close((uv_handle_t *)&f->peer.listener, NULL);
    uv_close((uv_handle_t *)&f->pulse, NULL);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    SSL_CTX_free(f->peer.tls);
    identity_free(f->identity);
    prg_timers_free(f->timers);
    prg_strbuf_release(&f->a.data);
    prg_strbuf_release(&f->b.data);
    prg_strbuf_release(&f->watch.data);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static bool on_data(const char *bytes, size_t length, void *ctx)
{
    struct call *call = ctx;
    prg_strbuf_add(&call->data, bytes, length);
    return !call->has_enough;
}

static void on_done(const struct prg_response *response, void *ctx)
{
    struct call *call = ctx;
    assert_false(call->is_done); // once, whatever happens
    call->is_done = true;
    call->status = response->status;
    call->fault = response->fault;
    call->is_sent = response->is_sent;
    if (response->error)
        call->err = *response->error;
}

static void start(struct fixture *f, struct call *call, const char *method, enum prg_call_kind kind)
{
    struct prg_call_handler handler = {on_data, on_done};
    struct prg_request request = {.method = method, .path = "/x", .kind = kind, .deadline_ms = 600000};
    if (kind == PRG_CALL_WRITE)
        request.body = "{\"a\":1}", request.body_length = 7;
    prg_http_transport(f->http)->start(prg_http_transport(f->http), &request, &handler, call);
}

static void run_until_streams(struct fixture *f, unsigned count)
{
    while (f->peer.streams < count)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void run_until_done(struct fixture *f, const struct call *call)
{
    for (unsigned turns = 0; !call->is_done; turns++) {
        assert_true(turns < 10000); // it will not be any more
        uv_run(&f->loop, UV_RUN_ONCE);
    }
}

// ---- tests ----

static void calls_of_one_kind_share_a_connection(void **state)
{
    struct fixture *f = *state;
    start(f, &f->a, "GET", PRG_CALL_READ);
    start(f, &f->b, "GET", PRG_CALL_READ);
    run_until_streams(f, 2);
    assert_int_equal(f->peer.count, 1);
    struct connection *c = f->peer.connections[0];
    send_head(c, 3); // the second first
    send_text(c, 3, "b", true);
    run_until_done(f, &f->b);
    assert_false(f->a.is_done);
    send_head(c, 1);
    send_text(c, 1, "a", true);
    run_until_done(f, &f->a);
    assert_string_equal(f->a.data.text, "a");
    assert_string_equal(f->b.data.text, "b");
    start(f, &f->watch, "GET", PRG_CALL_WATCH);
    run_until_streams(f, 3);
    assert_int_equal(f->peer.count, 2);
}

static void a_read_that_goaway_refuses_is_sent_again_unseen(void **state)
{
    struct fixture *f = *state;
    start(f, &f->a, "GET", PRG_CALL_READ);
    start(f, &f->b, "GET", PRG_CALL_READ);
    run_until_streams(f, 2);
    struct connection *c = f->peer.connections[0];
    f->peer.answers_all = true;
    send_goaway(c, 1); // stream 3 was not looked at
    send_head(c, 1);
    send_text(c, 1, "a", true);
    run_until_done(f, &f->a);
    while (!f->b.is_done) {
        if (prg_timers_next_ms(f->timers) == 1000) // the pause before a repetition
            prg_timers_advance(f->timers, 1000);
        uv_run(&f->loop, UV_RUN_ONCE);
    }
    assert_int_equal(f->a.fault, PRG_FAULT_NONE);
    assert_int_equal(f->b.fault, PRG_FAULT_NONE);
    assert_string_equal(f->b.data.text, "ok");
    assert_int_equal(f->peer.count, 2);
}

static void a_read_that_nobody_answers_is_asked_once_more_elsewhere(void **state)
{
    struct fixture *f = *state;
    struct prg_call_handler handler = {on_data, on_done};
    struct prg_request request = {
        .method = "GET", .path = "/x", .kind = PRG_CALL_READ, .deadline_ms = 600000, .idle_ms = 10000};
    struct call *calls[] = {&f->a, &f->b};
    for (size_t i = 0; i < PRG_COUNT(calls); i++) { // the second gets no answer there either
        unsigned streams = f->peer.streams;
        f->peer.answers_all = false;
        prg_http_transport(f->http)->start(prg_http_transport(f->http), &request, &handler, calls[i]);
        run_until_streams(f, streams + 1);
        f->peer.answers_all = i == 0;
        prg_timers_advance(f->timers, 10000);
        run_until_streams(f, streams + 2);
        if (i == 1)
            prg_timers_advance(f->timers, 10000);
        run_until_done(f, calls[i]);
    }
    assert_string_equal(f->a.data.text, "ok");
    assert_int_equal(f->b.fault, PRG_FAULT_TIMEOUT);
    assert_int_equal(f->peer.count, 3);
}

// However the second try ends, the call is told once.
static void a_read_that_is_asked_elsewhere_is_told_once(void **state)
{
    struct fixture *f = *state;
    struct prg_transport *transport = prg_http_transport(f->http);
    struct prg_call_handler handler = {on_data, on_done};
    struct prg_request request = {
        .method = "GET", .path = "/x", .kind = PRG_CALL_READ, .deadline_ms = 15000, .idle_ms = 10000};
    transport->start(transport, &request, &handler, &f->a); // no answer there either: its deadline ends it
    run_until_streams(f, 1);
    struct prg_call *cancelled = transport->start(transport, &request, &handler, &f->watch);
    run_until_streams(f, 2);
    prg_timers_advance(f->timers, 10000);
    run_until_streams(f, 4);
    transport->cancel(transport, cancelled);
    prg_timers_advance(f->timers, 5000);
    run_until_done(f, &f->a);
    assert_int_equal(f->a.fault, PRG_FAULT_TIMEOUT);
    assert_error_has(&f->a.err, "no complete answer before the deadline");
    transport->start(transport, &request, &handler, &f->b);
    run_until_streams(f, 5);
    f->config.server = "https://127.0.0.1:1"; // nobody is there
    prg_timers_advance(f->timers, 10000);
    run_until_done(f, &f->b);
    assert_int_equal(f->b.fault, PRG_FAULT_CONNECT);
    prg_timers_advance(f->timers, 600000);
    for (int turns = 0; turns < 20; turns++)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_false(f->watch.is_done);
}

// libcurl reads a record of TLS at once and halts within it when a stream's own buffer of 16 KiB is full. What stands
// behind, of other streams, must not be left lying when that stream ends there: nothing more comes on the socket.
static void send_full_and_small(struct connection *c, bool has_length)
{
    enum { FIELDS = 30, BODY = 16200 };
    prg_auto_strbuf head = PRG_STRBUF_INIT, body = PRG_STRBUF_INIT, frames = PRG_STRBUF_INIT;
    prg_strbuf_putc(&head, (char)0x88); // :status 200
    if (has_length)
        prg_strbuf_add(&head,
                       "\x0f\x0d\x05"
                       "16200",
                       8); // content-length
    for (int i = 0; i < FIELDS; i++)
        prg_strbuf_putc(&head, (char)0x92); // accept-ranges, one byte here, 17 in the buffer
    for (int i = 0; i < BODY; i++)
        prg_strbuf_putc(&body, 'a');
    add_frame(&frames, HEADERS, END_HEADERS, 1, head.text, head.length);
    add_frame(&frames, DATA, END_STREAM, 1, body.text, body.length);
    add_frame(&frames, HEADERS, END_HEADERS, 3, "\x88", 1);
    add_frame(&frames, DATA, END_STREAM, 3, "b", 1);
    assert_true(frames.length <= 16384);
    send_frames(c, &frames);
}

static void start_two(struct fixture *f)
{
    start(f, &f->a, "GET", PRG_CALL_READ);
    start(f, &f->b, "GET", PRG_CALL_READ);
    run_until_streams(f, 2);
}

static void an_answer_behind_the_end_of_another_is_heard(void **state)
{
    struct fixture *f = *state;
    start_two(f);
    send_full_and_small(f->peer.connections[0], true);
    run_until_done(f, &f->a);
    assert_int_equal(f->a.data.length, 16200);
    run_until_done(f, &f->b);
    assert_string_equal(f->b.data.text, "b");
}

static void an_answer_behind_one_that_is_given_up_is_heard(void **state)
{
    struct fixture *f = *state;
    f->a.has_enough = true;
    start_two(f);
    send_full_and_small(f->peer.connections[0], false);
    run_until_done(f, &f->a);
    assert_int_equal(f->a.fault, PRG_FAULT_STOPPED);
    run_until_done(f, &f->b);
    assert_string_equal(f->b.data.text, "b");
}

// The same without an end: what comes for a stream while another one is read fills its buffer in the middle of a
// record, and nothing comes behind that.
static void the_rest_of_an_answer_that_filled_its_buffer_is_heard(void **state)
{
    enum { FIRST = 16200 };
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (int i = 0; i < FIRST; i++)
        prg_strbuf_putc(&text, 'a');
    for (uint32_t large = 1; large <= 3; large += 2)
        for (size_t second = 0; second <= 16000; second += 800) {
            setup(state);
            struct fixture *f = *state;
            struct call *calls[] = {&f->a, &f->b};
            struct call *first = calls[large == 3], *other = calls[large == 1];
            start_two(f);
            struct connection *c = f->peer.connections[0];
            prg_auto_strbuf frames = PRG_STRBUF_INIT;
            add_frame(&frames, HEADERS, END_HEADERS, large, "\x88", 1);
            add_frame(&frames, DATA, 0, large, text.text, FIRST);
            assert_int_equal(SSL_write(c->ssl, frames.text, (int)frames.length), (int)frames.length);
            prg_strbuf_clear(&frames);
            add_frame(&frames, DATA, 0, large, text.text, second);
            add_frame(&frames, DATA, END_STREAM, large, "b", 1);
            add_frame(&frames, HEADERS, END_HEADERS, 4 - large, "\x88", 1);
            add_frame(&frames, DATA, END_STREAM, 4 - large, "c", 1);
            send_frames(c, &frames); // both records at once
            run_until_done(f, first);
            assert_int_equal(first->data.length, FIRST + second + 1);
            run_until_done(f, other);
            assert_string_equal(other->data.text, "c");
            teardown(state);
        }
}

static bool are_done(const struct call *calls, size_t count)
{
    size_t done = 0;
    for (size_t i = 0; i < count; i++)
        done += calls[i].is_done;
    return done == count;
}

static void all_reads_that_goaway_refuses_are_sent_again(void **state)
{
    enum { READS = 12 };
    struct fixture *f = *state;
    struct call calls[READS] = {0};
    for (size_t i = 0; i < READS; i++) {
        prg_strbuf_init(&calls[i].data);
        start(f, &calls[i], "GET", PRG_CALL_READ);
    }
    run_until_streams(f, READS);
    struct connection *c = f->peer.connections[0];
    f->peer.answers_all = true;
    send_head(c, 3);
    send_goaway(c, 5);
    send_text(c, 3, "ok", true);
    send_head(c, 1);
    send_text(c, 1, "ok", true);
    send_head(c, 5);
    send_text(c, 5, "ok", true);
    while (!are_done(calls, READS)) {
        if (prg_timers_next_ms(f->timers) <= 1000)
            prg_timers_advance(f->timers, 1000);
        uv_run(&f->loop, UV_RUN_ONCE);
    }
    for (size_t i = 0; i < READS; i++) {
        assert_int_equal(calls[i].fault, PRG_FAULT_NONE);
        assert_string_equal(calls[i].data.text, "ok");
        prg_strbuf_release(&calls[i].data);
    }
}

// The server is done with the connection while nobody uses it, and leaves it open for a while.
static void a_connection_with_goaway_is_used_no_more(void **state)
{
    struct fixture *f = *state;
    f->peer.answers_all = true;
    start(f, &f->a, "GET", PRG_CALL_READ);
    run_until_done(f, &f->a);
    send_goaway(f->peer.connections[0], 1);
    f->peer.connections[0]->is_deaf = true;
    start(f, &f->b, "GET", PRG_CALL_READ);
    start(f, &f->watch, "GET", PRG_CALL_READ);
    while (!f->b.is_done || !f->watch.is_done) {
        if (prg_timers_next_ms(f->timers) == 1000) // the pause before a repetition
            prg_timers_advance(f->timers, 1000);
        uv_run(&f->loop, UV_RUN_ONCE);
    }
    assert_int_equal(f->b.fault, PRG_FAULT_NONE);
    assert_string_equal(f->b.data.text, "ok");
    assert_string_equal(f->watch.data.text, "ok");
}

static void a_watch_goes_on_after_goaway_and_new_ones_go_elsewhere(void **state)
{
    struct fixture *f = *state;
    start(f, &f->watch, "GET", PRG_CALL_WATCH);
    run_until_streams(f, 1);
    struct connection *c = f->peer.connections[0];
    send_head(c, 1);
    send_text(c, 1, "one\n", false);
    send_goaway(c, 0x7fffffff);
    send_text(c, 1, "two\n", false);
    while (f->watch.data.length < 8)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_false(f->watch.is_done);
    start(f, &f->a, "GET", PRG_CALL_WATCH);
    run_until_streams(f, 2);
    assert_int_equal(f->peer.count, 2);
    send_text(c, 1, "three\n", true);
    run_until_done(f, &f->watch);
    assert_string_equal(f->watch.data.text, "one\ntwo\nthree\n");
    assert_int_equal(f->watch.fault, PRG_FAULT_NONE);
}

static void a_write_that_may_have_been_received_is_not_sent_again(void **state)
{
    struct fixture *f = *state;
    start(f, &f->a, "POST", PRG_CALL_WRITE);
    run_until_streams(f, 1);
    struct connection *c = f->peer.connections[0];
    while (c->body < 7)
        uv_run(&f->loop, UV_RUN_ONCE);
    drop(c); // no answer
    run_until_done(f, &f->a);
    assert_int_equal(f->a.fault, PRG_FAULT_CUT);
    assert_true(f->a.is_sent);
    assert_int_equal(f->peer.streams, 1);
}

// A write on a connection that carried one before: libcurl then has a mind to send it again by itself.
static struct connection *write_on_used_connection(struct fixture *f)
{
    f->peer.answers_all = true;
    start(f, &f->a, "POST", PRG_CALL_WRITE);
    run_until_done(f, &f->a);
    f->peer.answers_all = false;
    start(f, &f->b, "POST", PRG_CALL_WRITE);
    struct connection *c = f->peer.connections[0];
    while (c->body < 14)
        uv_run(&f->loop, UV_RUN_ONCE);
    assert_int_equal(f->peer.count, 1);
    return c;
}

static void a_write_that_goaway_refuses_is_sent_again_unseen(void **state)
{
    struct fixture *f = *state;
    struct connection *c = write_on_used_connection(f);
    f->peer.answers_all = true;
    send_goaway(c, 1); // stream 3 was not looked at
    while (!f->b.is_done) {
        if (prg_timers_next_ms(f->timers) == 0)
            prg_timers_advance(f->timers, 0);
        uv_run(&f->loop, UV_RUN_ONCE);
    }
    assert_int_equal(f->b.fault, PRG_FAULT_NONE);
    assert_int_equal(f->b.status, 200);
    assert_int_equal(f->peer.count, 2);
    assert_int_equal(f->peer.streams, 3);
    assert_int_equal(f->peer.connections[1]->body, 7);
}

static void of_two_writes_goaway_refuses_only_the_later(void **state)
{
    struct fixture *f = *state;
    struct connection *c = write_on_used_connection(f);
    f->a.is_done = false;
    start(f, &f->a, "POST", PRG_CALL_WRITE);
    while (c->body < 21)
        uv_run(&f->loop, UV_RUN_ONCE);
    f->peer.answers_all = true;
    send_goaway(c, 3);
    while (!f->a.is_done) {
        if (prg_timers_next_ms(f->timers) == 0)
            prg_timers_advance(f->timers, 0);
        uv_run(&f->loop, UV_RUN_ONCE);
    }
    assert_int_equal(f->a.fault, PRG_FAULT_NONE);
    assert_int_equal(f->a.status, 200);
    assert_false(f->b.is_done);
    send_head(c, 3);
    send_text(c, 3, "b", true);
    run_until_done(f, &f->b);
    assert_int_equal(f->b.fault, PRG_FAULT_NONE);
    assert_int_equal(f->peer.streams, 4);
}

static void a_write_that_goaway_let_through_is_not_sent_again(void **state)
{
    struct fixture *f = *state;
    struct connection *c = write_on_used_connection(f);
    f->peer.answers_all = true;
    send_goaway(c, 3);
    drop(c); // no answer all the same
    run_until_done(f, &f->b);
    assert_int_equal(f->b.fault, PRG_FAULT_CUT);
    assert_true(f->b.is_sent);
    assert_error_has(&f->b.err, "POST https://127.0.0.1:");
    assert_error_has(&f->b.err, "/x: the connection ended before the answer came; it may have been done");
    assert_int_equal(f->peer.streams, 2);
}

static void a_write_on_a_used_connection_that_is_cut_is_not_sent_again(void **state)
{
    struct fixture *f = *state;
    drop(write_on_used_connection(f));
    run_until_done(f, &f->b);
    assert_int_equal(f->b.fault, PRG_FAULT_CUT);
    assert_true(f->b.is_sent);
    assert_error_has(&f->b.err, "/x: the connection ended before the answer came; it may have been done");
    assert_int_equal(f->peer.streams, 2);
}

static void a_stream_that_is_cut_is_a_fault(void **state)
{
    struct fixture *f = *state;
    start(f, &f->watch, "GET", PRG_CALL_WATCH);
    run_until_streams(f, 1);
    struct connection *c = f->peer.connections[0];
    send_head(c, 1);
    send_text(c, 1, "half", false);
    while (!f->watch.data.length)
        uv_run(&f->loop, UV_RUN_ONCE);
    send_frame(c, RST_STREAM, 0, 1, "\0\0\0\2", 4);
    run_until_done(f, &f->watch);
    assert_int_equal(f->watch.fault, PRG_FAULT_CUT);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); // as the program does
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(calls_of_one_kind_share_a_connection),
        TEST(a_read_that_goaway_refuses_is_sent_again_unseen),
        TEST(a_read_that_nobody_answers_is_asked_once_more_elsewhere),
        TEST(a_read_that_is_asked_elsewhere_is_told_once),
        TEST(an_answer_behind_the_end_of_another_is_heard),
        TEST(an_answer_behind_one_that_is_given_up_is_heard),
        cmocka_unit_test(the_rest_of_an_answer_that_filled_its_buffer_is_heard),
        TEST(all_reads_that_goaway_refuses_are_sent_again),
        TEST(a_connection_with_goaway_is_used_no_more),
        TEST(a_watch_goes_on_after_goaway_and_new_ones_go_elsewhere),
        TEST(a_write_that_may_have_been_received_is_not_sent_again),
        TEST(a_write_that_goaway_refuses_is_sent_again_unseen),
        TEST(of_two_writes_goaway_refuses_only_the_later),
        TEST(a_write_that_goaway_let_through_is_not_sent_again),
        TEST(a_write_on_a_used_connection_that_is_cut_is_not_sent_again),
        TEST(a_stream_that_is_cut_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
