// SPDX-License-Identifier: Apache-2.0
// What a client sees of the server, on connections of its own: one loop, both ends in this program.
#include "support/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "httpd/httpd.h"

#define DEADLINE_NS 20000000000 // of anything that is waited for

struct fixture {
    uv_loop_t loop;
    struct prg_httpd *httpd;
    struct prg_strbuf asked; // "METHOD URL[ +body]\n" of each request
    struct prg_strbuf read;  // what read_until has seen
    bool is_closed;
};

static enum MHD_Result answer(const struct prg_httpd_request *request, void *ctx)
{
    struct fixture *f = ctx;
    prg_strbuf_printf(&f->asked, "%s %s%s\n", request->method, request->url, request->has_body ? " +body" : "");
    return prg_httpd_answer_text(request->connection, MHD_HTTP_OK, "text/plain", request->url, strlen(request->url));
}

static int set_up(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    uv_loop_init(&f->loop);
    prg_strbuf_init(&f->asked);
    prg_strbuf_init(&f->read);
    *state = f;
    return 0;
}

static void on_closed(void *ctx)
{
    ((struct fixture *)ctx)->is_closed = true;
}

static void end(struct fixture *f)
{
    if (f->httpd)
        prg_httpd_close(f->httpd, on_closed, f);
    f->httpd = NULL;
    uv_run(&f->loop, UV_RUN_DEFAULT);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    end(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    prg_strbuf_release(&f->asked);
    prg_strbuf_release(&f->read);
    free(f);
    return 0;
}

static void start(struct fixture *f, struct prg_httpd_options options)
{
    struct prg_error err = {0};
    options.address = options.address ? options.address : "127.0.0.1";
    options.answer = answer;
    options.ctx = f;
    assert_ok(prg_httpd_start(&f->loop, &options, &f->httpd, &err), &err);
}

// ---- the client ----

static int open_connection(const struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(prg_httpd_port(f->httpd))};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void turn(struct fixture *f, int fd)
{
    uv_run(&f->loop, UV_RUN_NOWAIT);
    struct pollfd waiting[2] = {{fd, POLLIN, 0}, {uv_backend_fd(&f->loop), POLLIN, 0}};
    poll(waiting, 2, 5);
}

// Reads until all that came holds `end`; with end NULL until the server ends the connection. Returns all that came.
static const char *read_until(struct fixture *f, int fd, const char *end)
{
    prg_strbuf_clear(&f->read);
    for (int64_t deadline = prg_clock_monotonic_ns() + DEADLINE_NS;;) {
        char buffer[4096];
        ssize_t count = recv(fd, buffer, sizeof(buffer), 0);
        if (count > 0)
            prg_strbuf_add(&f->read, buffer, (size_t)count);
        bool is_over = count == 0 || (count < 0 && errno == ECONNRESET);
        if (end ? strstr(f->read.text, end) != NULL : is_over)
            return f->read.text;
        assert_false(is_over); // too early
        assert_true(prg_clock_monotonic_ns() < deadline);
        turn(f, fd);
    }
}

// ---- tests ----

static void a_body_is_read_and_dropped_and_the_connection_goes_on(void **state)
{
    struct fixture *f = *state;
    start(f, (struct prg_httpd_options){0});
    int fd = open_connection(f);
    say(fd, "POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /");
    assert_non_null(strstr(read_until(f, fd, "\r\n\r\n/one"), "HTTP/1.1 200 "));
    say(fd, "PUT /two HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    read_until(f, fd, "\r\n\r\n/two");
    say(fd, "GET /three HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(f, fd, "\r\n\r\n/three");
    close(fd);
    assert_string_equal(f->asked.text, "POST /one +body\nPUT /two +body\nGET /three\n");
}

static void requests_that_come_in_one_piece_are_answered_in_their_order(void **state)
{
    struct fixture *f = *state;
    start(f, (struct prg_httpd_options){0});
    int fd = open_connection(f);
    say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(f, fd, "\r\n\r\n/c");
    close(fd);
    assert_string_equal(f->asked.text, "GET /a\nGET /b\nGET /c\n");
}

static void what_is_no_request_never_reaches_the_program(void **state)
{
    struct fixture *f = *state;
    char *large = prg_xcalloc(1, 40000);
    memset(large, 'x', 39999);
    prg_auto_strbuf header = PRG_STRBUF_INIT;
    prg_strbuf_printf(&header, "GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", large);
    const char *const texts[] = {"nonsense\r\n\r\n",
                                 "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
                                 "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                                 "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
                                 "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                 header.text};
    start(f, (struct prg_httpd_options){0});
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        int fd = open_connection(f);
        say(fd, texts[i]);
        const char *got = read_until(f, fd, NULL);
        assert_true(*got == '\0' || strncmp(got, "HTTP/1.1 4", 10) == 0 || strncmp(got, "HTTP/1.1 5", 10) == 0);
        close(fd);
    }
    free(large);
    assert_string_equal(f->asked.text, "");
}

static void who_says_nothing_is_let_go(void **state)
{
    struct fixture *f = *state;
    start(f, (struct prg_httpd_options){.timeout_s = 1});
    int silent = open_connection(f), slow = open_connection(f);
    say(slow, "GET / HTTP/1.1\r\nHo");
    read_until(f, silent, NULL);
    read_until(f, slow, NULL);
    close(silent);
    close(slow);
    assert_string_equal(f->asked.text, "");
}

static void connections_above_the_limit_wait_for_their_turn(void **state)
{
    struct fixture *f = *state;
    start(f, (struct prg_httpd_options){.max_connections = 2});
    int fds[3];
    for (size_t i = 0; i < 3; i++)
        fds[i] = open_connection(f);
    say(fds[0], "GET /0 HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(f, fds[0], "\r\n\r\n/0");
    say(fds[1], "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
    say(fds[2], "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(f, fds[1], "\r\n\r\n/1");
    assert_string_equal(f->asked.text, "GET /0\nGET /1\n");
    close(fds[0]);
    read_until(f, fds[2], "\r\n\r\n/2");
    close(fds[1]);
    close(fds[2]);
}

static void a_server_that_is_quiet_answers_what_is_open_and_takes_nothing_new(void **state)
{
    struct fixture *f = *state;
    start(f, (struct prg_httpd_options){0});
    int fd = open_connection(f);
    say(fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(f, fd, "\r\n\r\n/a");
    prg_httpd_quiesce(f->httpd);
    assert_int_equal(open_connection(f), -1);
    say(fd, "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(f, fd, "\r\n\r\n/b");
    close(fd);
}

static void it_ends_with_requests_half_sent_and_says_so_once(void **state)
{
    struct fixture *f = *state;
    start(f, (struct prg_httpd_options){0});
    int half = open_connection(f), idle = open_connection(f);
    say(idle, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(f, idle, "\r\n\r\n/a");
    say(half, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    turn(f, half);
    end(f);
    assert_true(f->is_closed);
    read_until(f, half, NULL);
    read_until(f, idle, NULL);
    close(half);
    close(idle);
}

static void an_address_that_it_cannot_have_is_named_with_the_reason(void **state)
{
    struct fixture *f = *state;
    struct prg_error err = {0};
    struct prg_httpd *second = NULL;
    struct prg_httpd_options options = {.address = "localhost", .answer = answer, .ctx = f};
    assert_int_equal(prg_httpd_start(&f->loop, &options, &second, &err), PRG_INVALID);
    assert_error_has(&err, "'localhost' is no IP address to listen on");
    start(f, (struct prg_httpd_options){0});
    options.address = "127.0.0.1";
    options.port = prg_httpd_port(f->httpd);
    assert_int_equal(prg_httpd_start(&f->loop, &options, &second, &err), PRG_IO);
    assert_error_has(&err, "cannot listen on 127.0.0.1 port ");
    assert_error_has(&err, "in use");
    assert_null(second);
}

static void ipv6_will_do(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        skip(); // a machine without it
    }
    close(fd);
    start(f, (struct prg_httpd_options){.address = "::1"});
    address.sin6_port = htons(prg_httpd_port(f->httpd));
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    say(fd, "GET /six HTTP/1.1\r\nHost: x\r\n\r\n");
    read_until(f, fd, "\r\n\r\n/six");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_body_is_read_and_dropped_and_the_connection_goes_on),
        TEST(requests_that_come_in_one_piece_are_answered_in_their_order),
        TEST(what_is_no_request_never_reaches_the_program),
        TEST(who_says_nothing_is_let_go),
        TEST(connections_above_the_limit_wait_for_their_turn),
        TEST(a_server_that_is_quiet_answers_what_is_open_and_takes_nothing_new),
        TEST(it_ends_with_requests_half_sent_and_says_so_once),
        TEST(an_address_that_it_cannot_have_is_named_with_the_reason),
        TEST(ipv6_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
