// SPDX-License-Identifier: Apache-2.0
#include "support/support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "ops/ops.h"

struct fixture {
    uv_loop_t loop;
    struct prg_metrics *metrics;
    struct prg_ops *ops;
    struct prg_strbuf answer;
    const char *trouble; // of the check "store"
};

static bool check_store(char *why, size_t size, void *ctx)
{
    const struct fixture *f = ctx;
    if (f->trouble)
        snprintf(why, size, "%s", f->trouble);
    return !f->trouble;
}

static bool check_queue(char *why, size_t size, void *ctx)
{
    (void)why;
    (void)size;
    (void)ctx;
    return true;
}

static int set_up(void **state)
{
    struct fixture *f = prg_xcalloc(1, sizeof(*f));
    struct prg_error err = {0};
    uv_loop_init(&f->loop);
    prg_strbuf_init(&f->answer);
    f->metrics = prg_metrics_new();
    struct prg_ops_options options = {.metrics = f->metrics};
    f->ops = prg_ops_new(&f->loop, &options);
    prg_ops_add(f->ops, "store", PRG_OPS_READY, check_store, f);
    prg_ops_add(f->ops, "queue", PRG_OPS_READY | PRG_OPS_HEALTH, check_queue, f);
    assert_ok(prg_ops_listen(f->ops, &err), &err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    prg_ops_close(f->ops);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    prg_metrics_free(f->metrics);
    prg_strbuf_release(&f->answer);
    free(f);
    return 0;
}

// Asks and waits for the answer: "STATUS BODY".
static const char *ask(struct fixture *f, const char *request)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(prg_ops_port(f->ops))};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_printf(&text, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", request);
    assert_int_equal(send(fd, text.text, text.length, 0), text.length);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    prg_strbuf_clear(&f->answer);
    for (int64_t deadline = prg_clock_monotonic_ns() + 5000000000;;) {
        char buffer[4096];
        ssize_t count = recv(fd, buffer, sizeof(buffer), 0);
        if (count == 0)
            break;
        if (count > 0)
            prg_strbuf_add(&f->answer, buffer, (size_t)count);
        assert_true(prg_clock_monotonic_ns() < deadline);
        uv_run(&f->loop, UV_RUN_NOWAIT);
        struct pollfd waiting[2] = {{fd, POLLIN, 0}, {uv_backend_fd(&f->loop), POLLIN, 0}};
        poll(waiting, 2, 5);
    }
    close(fd);
    char *body = strstr(f->answer.text, "\r\n\r\n");
    assert_non_null(body);
    memmove(body - 4, f->answer.text + strlen("HTTP/1.1 "), 3); // the status in front of the body
    body[-1] = ' ';
    memmove(body, body + 4, strlen(body + 4) + 1);
    return body - 4;
}

static void all_is_well(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(ask(f, "GET /healthz"), "200 ok");
    assert_string_equal(ask(f, "GET /livez"), "200 ok");
    assert_string_equal(ask(f, "GET /readyz"), "200 ok");
    assert_string_equal(ask(f, "GET /readyz/"), "200 ok");
    assert_string_equal(ask(f, "GET /readyz?verbose"),
                        "200 [+]ping ok\n[+]store ok\n[+]queue ok\nreadyz check passed\n");
    assert_string_equal(ask(f, "GET /healthz?verbose=1"), "200 [+]ping ok\n[+]queue ok\nhealthz check passed\n");
    assert_string_equal(ask(f, "GET /readyz/store"), "200 ok");
    assert_string_equal(ask(f, "HEAD /readyz"), "200 ");
}

static void a_check_that_fails_is_named(void **state)
{
    struct fixture *f = *state;
    f->trouble = "not read yet";
    assert_string_equal(ask(f, "GET /healthz"), "200 ok");
    assert_string_equal(ask(f, "GET /readyz"),
                        "500 [+]ping ok\n[-]store failed: not read yet\n[+]queue ok\nreadyz check failed\n");
    assert_string_equal(ask(f, "GET /readyz/store"), "500 [-]store failed: not read yet\n");
    assert_string_equal(ask(f, "GET /readyz/queue"), "200 ok");
    assert_string_equal(ask(f, "GET /readyz?exclude=store"), "200 ok");
    assert_string_equal(ask(f, "GET /readyz?exclude=queue&exclude=store&verbose"),
                        "200 [+]ping ok\n[+]store excluded: ok\n[+]queue excluded: ok\nreadyz check passed\n");
}

static void other_requests_are_refused(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(ask(f, "GET /healthz/store"), "404 no such check\n"); // it is one of readyz
    assert_string_equal(ask(f, "GET /readyzz"), "404 /healthz, /livez, /readyz, /metrics\n");
    assert_string_equal(ask(f, "GET /"), "404 /healthz, /livez, /readyz, /metrics\n");
    assert_string_equal(ask(f, "DELETE /readyz"), "405 GET or HEAD\n");
}

static void metrics_are_there(void **state)
{
    struct fixture *f = *state;
    prg_ops_add_process(f->metrics, "1.2.3");
    prg_metric_add(prg_metric_only(prg_metrics_counter(f->metrics, "beans_total", "Beans.", NULL)), 3);
    const char *text = ask(f, "GET /metrics");
    assert_non_null(strstr(f->answer.text, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
    assert_non_null(strstr(text, "\nbeans_total 3\n"));
    assert_non_null(strstr(text, "\nperigee_build_info{version=\"1.2.3\"} 1\n"));
    const char *resident = strstr(text, "\nprocess_resident_memory_bytes ");
    assert_non_null(resident);
    assert_true(strtod(strchr(resident + 1, ' '), NULL) > 1e5);
    assert_non_null(strstr(text, "\nprocess_open_fds "));
    assert_non_null(strstr(text, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 0."));
}

#define OPS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        OPS_TEST(all_is_well),
        OPS_TEST(a_check_that_fails_is_named),
        OPS_TEST(other_requests_are_refused),
        OPS_TEST(metrics_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
