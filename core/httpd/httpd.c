// SPDX-License-Identifier: Apache-2.0
// httpd.c: libmicrohttpd in the mode in which the caller brings the loop (MHD_USE_EPOLL without threads).
//
// Two things the library does not tell by itself: that it has work left after MHD_upgrade_action (hence wake), and that
// a client has gone that it does not look at any more (hence the connection timeout, which is never off).
#include "httpd/httpd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

enum { BACKLOG = 256 };

struct prg_httpd {
    uv_poll_t poll; // the epoll descriptor of the daemon
    uv_timer_t timer;
    unsigned open_handles;
    struct MHD_Daemon *daemon;
    int listener; // -1: the daemon has it
    uint16_t port;
    enum MHD_Result (*answer)(const struct prg_httpd_request *request, void *ctx);
    void *ctx;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

// ---- turns of the daemon ----

static void take_turn(struct prg_httpd *httpd);

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status; // an error of the descriptor shows in the turn
    (void)events;
    take_turn(poll->data);
}

static void on_timer(uv_timer_t *timer)
{
    take_turn(timer->data);
}

static void take_turn(struct prg_httpd *httpd)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms;
    MHD_run(httpd->daemon);
    if (MHD_get_timeout(httpd->daemon, &timeout_ms) == MHD_YES)
        uv_timer_start(&httpd->timer, on_timer, timeout_ms, 0);
    else
        uv_timer_stop(&httpd->timer);
}

void prg_httpd_wake(struct prg_httpd *httpd)
{
    uv_timer_start(&httpd->timer, on_timer, 0, 0);
}

// ---- requests ----

static char first_call, body_seen; // addresses that mark how far a request is

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload_data, size_t *upload_size, void **state)
{
    struct prg_httpd *httpd = ctx;
    (void)upload_data;
    if (!*state) { // headers only; answering now would close the connection after a request with a body
        *state = &first_call;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        *state = &body_seen;
        return MHD_YES;
    }
    struct prg_httpd_request request = {connection, method, url, version, *state == &body_seen};
    return httpd->answer(&request, httpd->ctx);
}

static void on_daemon_log(void *ctx, const char *format, va_list args) PRG_PRINTF(2, 0);
static void on_daemon_log(void *ctx, const char *format, va_list args)
{
    char text[512];
    (void)ctx;
    vsnprintf(text, sizeof(text), format, args);
    text[strcspn(text, "\n")] = '\0';
    prg_log(PRG_LOG_DEBUG, "http server", "detail", text, NULL);
}

enum MHD_Result prg_httpd_answer_text(struct MHD_Connection *connection, unsigned status, const char *type,
                                      const char *text, size_t length)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, (void *)text, MHD_RESPMEM_MUST_COPY); // not written to
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

// ---- starting and ending ----

union address {
    struct sockaddr any;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
};

// Length of the address, 0: the text is none.
static socklen_t read_address(const char *text, uint16_t port, union address *ret)
{
    *ret = (union address){0};
    if (uv_ip4_addr(text, port, &ret->ip4) == 0)
        return sizeof(ret->ip4);
    return uv_ip6_addr(text, port, &ret->ip6) == 0 ? sizeof(ret->ip6) : 0;
}

// A socket of the address, or -1 with the reason in errno.
static int bind_to(const union address *address, socklen_t length)
{
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (fd >= 0 &&
        (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 || bind(fd, &address->any, length) != 0)) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static int cannot_listen(const char *text, uint16_t port, struct prg_error *err)
{
    return prg_fail(err, PRG_IO, "cannot listen on %s port %u: %s%s", text, port, strerror(errno),
                    errno == EADDRNOTAVAIL ? "; it has to be an address of this machine, 0.0.0.0 is every one" : "");
}

bool prg_httpd_is_address(const char *text)
{
    union address address;
    return read_address(text, 0, &address) > 0;
}

int prg_httpd_try(const char *text, uint16_t port, struct prg_error *err)
{
    union address address;
    socklen_t length = read_address(text, port, &address);
    if (!length)
        return prg_fail(err, PRG_INVALID, "'%s' is no IP address to listen on", text);
    int fd = bind_to(&address, length);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == EADDRINUSE ? PRG_OK : cannot_listen(text, port, err);
}

static int listen_at(const char *text, uint16_t port, int *ret_fd, uint16_t *ret_port, struct prg_error *err)
{
    union address address;
    socklen_t length = read_address(text, port, &address);
    if (!length)
        return prg_fail(err, PRG_INVALID, "'%s' is no IP address to listen on", text);
    int fd = bind_to(&address, length);
    if (fd >= 0 && listen(fd, BACKLOG) == 0) {
        length = sizeof(address);
        prg_require(getsockname(fd, &address.any, &length) == 0);
        *ret_fd = fd;
        *ret_port = ntohs(address.any.sa_family == AF_INET ? address.ip4.sin_port : address.ip6.sin6_port);
        return PRG_OK;
    }
    (void)cannot_listen(text, port, err);
    if (fd >= 0)
        close(fd);
    return PRG_IO;
}

int prg_httpd_start(uv_loop_t *loop, const struct prg_httpd_options *options, struct prg_httpd **ret,
                    struct prg_error *err)
{
    int fd = -1;
    uint16_t port = 0;
    if (listen_at(options->address, options->port, &fd, &port, err) != PRG_OK)
        return err ? (int)err->code : PRG_IO;
    struct prg_httpd *httpd = prg_xcalloc(1, sizeof(*httpd));
    httpd->listener = -1;
    httpd->port = port;
    httpd->answer = options->answer;
    httpd->ctx = options->ctx;
    unsigned flags = (unsigned)MHD_USE_EPOLL | (unsigned)MHD_USE_ERROR_LOG |
                     (options->with_upgrade ? (unsigned)MHD_ALLOW_UPGRADE : 0u);
    // The logger comes first: it is used for complaints about the options after it.
    httpd->daemon =
        MHD_start_daemon(flags, port, NULL, NULL, on_request, httpd, MHD_OPTION_EXTERNAL_LOGGER, on_daemon_log, NULL,
                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_TIMEOUT,
                         options->timeout_s ? options->timeout_s : 10, MHD_OPTION_CONNECTION_LIMIT,
                         options->max_connections ? options->max_connections : 100, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         options->memory_bytes ? options->memory_bytes : (size_t)16384, MHD_OPTION_END);
    if (!httpd->daemon) {
        close(fd);
        free(httpd);
        return prg_fail(err, PRG_IO, "the HTTP server on port %u does not start", port);
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(httpd->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    prg_require(info);
    prg_require(uv_poll_init(loop, &httpd->poll, info->epoll_fd) == 0);
    prg_require(uv_timer_init(loop, &httpd->timer) == 0);
    httpd->poll.data = httpd->timer.data = httpd;
    httpd->open_handles = 2;
    prg_require(uv_poll_start(&httpd->poll, UV_READABLE, on_readable) == 0);
    *ret = httpd;
    return PRG_OK;
}

uint16_t prg_httpd_port(const struct prg_httpd *httpd)
{
    return httpd->port;
}

void prg_httpd_quiesce(struct prg_httpd *httpd)
{
    if (httpd->listener < 0) {
        httpd->listener = MHD_quiesce_daemon(httpd->daemon); // ours from here on; closed only after the daemon
        if (httpd->listener >= 0)
            shutdown(httpd->listener, SHUT_RD); // whoever waits in the backlog sees that nobody comes
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct prg_httpd *httpd = handle->data;
    if (--httpd->open_handles > 0)
        return;
    MHD_stop_daemon(httpd->daemon); // after the poll handle: it closes the epoll descriptor
    if (httpd->listener >= 0)
        close(httpd->listener);
    void (*closed)(void *ctx) = httpd->closed;
    void *ctx = httpd->closed_ctx;
    free(httpd);
    if (closed)
        closed(ctx);
}

void prg_httpd_close(struct prg_httpd *httpd, void (*closed)(void *ctx), void *ctx)
{
    prg_httpd_quiesce(httpd);
    MHD_run(httpd->daemon); // sockets of upgraded connections that ended just now are closed in here
    httpd->closed = closed;
    httpd->closed_ctx = ctx;
    uv_close((uv_handle_t *)&httpd->poll, on_handle_closed);
    uv_close((uv_handle_t *)&httpd->timer, on_handle_closed);
}
