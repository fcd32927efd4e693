// SPDX-License-Identifier: Apache-2.0
// pool.c: libcurl's sockets and timer on libuv.
//
// Traps that this file knows: a timeout of 0 must not call back into libcurl from its own timer callback (a timer of
// 1 ms does it); libuv frees no handle at once, so each socket's watcher lives until its close callback; libcurl tells
// finished transfers only when it is asked, after every action; an error of a watcher is an event for libcurl.
//
// And one of libcurl's own (7.88, HTTP/2): once the buffer of a transfer was full, what stands behind in the same
// record of TLS is told to nobody, and no event comes for it. So sockets are looked at once more when data have come
// for a transfer, and when one has ended (docs/decisions/012-knocking.md).
#include "kube/pool.h"

#include <stdlib.h>

struct prg_pool {
    CURLM *multi;
    uv_loop_t *loop;
    uv_timer_t timer;
    unsigned *inside;
    prg_pool_fn finished;
    void *ctx;
    size_t transfers;
    unsigned draining;
    bool is_closing;
    bool is_to_knock; // the timer does it
    unsigned open;    // handles of libuv
    struct watched *watched;
};

struct watched { // a socket
    uv_poll_t poll;
    struct prg_pool *pool;
    curl_socket_t fd;
    bool is_read, is_to_knock;
    struct watched *previous, *next;
};

static void one_closed(struct prg_pool *pool)
{
    if (--pool->open == 0)
        free(pool);
}

static void on_timer_closed(uv_handle_t *handle)
{
    one_closed(handle->data);
}

static void on_watched_closed(uv_handle_t *handle)
{
    struct watched *watched = handle->data;
    one_closed(watched->pool);
    free(watched);
}

static void close_now(struct prg_pool *pool)
{
    ++*pool->inside;
    curl_multi_cleanup(pool->multi);
    --*pool->inside;
    pool->multi = NULL;
    uv_timer_stop(&pool->timer);
    uv_close((uv_handle_t *)&pool->timer, on_timer_closed);
}

static void drain(struct prg_pool *pool)
{
    CURLMsg *message;
    int left;
    pool->draining++;
    while (!pool->is_closing && (message = curl_multi_info_read(pool->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result; // the message dies with the removal
        prg_pool_remove(pool, easy);
        pool->finished(easy, result, pool->ctx);
    }
    if (--pool->draining == 0 && pool->is_closing)
        close_now(pool);
}

static void act(struct prg_pool *pool, curl_socket_t fd, int events)
{
    int running;
    if (pool->is_closing)
        return;
    ++*pool->inside;
    curl_multi_socket_action(pool->multi, fd, events, &running);
    --*pool->inside;
    drain(pool);
}

static struct watched *next_to_knock(const struct prg_pool *pool)
{
    struct watched *watched = pool->watched;
    while (watched && !watched->is_to_knock)
        watched = watched->next;
    return watched;
}

// As if there were something to read on each socket. Any may be gone after each.
static void knock(struct prg_pool *pool)
{
    struct watched *watched;
    pool->is_to_knock = false;
    for (watched = pool->watched; watched; watched = watched->next)
        watched->is_to_knock = watched->is_read;
    while ((watched = next_to_knock(pool))) {
        watched->is_to_knock = false;
        act(pool, watched->fd, CURL_CSELECT_IN);
    }
}

static void on_timer(uv_timer_t *handle)
{
    struct prg_pool *pool = handle->data;
    if (pool->is_to_knock)
        knock(pool);
    act(pool, CURL_SOCKET_TIMEOUT, 0); // which sets the timer anew
}

static void knock_soon(struct prg_pool *pool)
{
    if (pool->is_to_knock || !pool->transfers)
        return;
    pool->is_to_knock = true;
    uv_timer_start(&pool->timer, on_timer, 1, 0);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct watched *watched = handle->data;
    int flags = status < 0 ? CURL_CSELECT_ERR : 0;
    if (events & UV_READABLE)
        flags |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        flags |= CURL_CSELECT_OUT;
    act(watched->pool, watched->fd, flags);
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct prg_pool *pool = ctx;
    (void)multi;
    if (pool->is_to_knock)
        return 0; // the timer is set, and asks for the time again
    if (timeout_ms < 0)
        uv_timer_stop(&pool->timer);
    else
        uv_timer_start(&pool->timer, on_timer, timeout_ms == 0 ? 1 : (uint64_t)timeout_ms, 0);
    return 0;
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
    struct prg_pool *pool = ctx;
    struct watched *watched = socket_ctx;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watched) {
            curl_multi_assign(pool->multi, fd, NULL);
            *(watched->previous ? &watched->previous->next : &pool->watched) = watched->next;
            if (watched->next)
                watched->next->previous = watched->previous;
            uv_poll_stop(&watched->poll);
            uv_close((uv_handle_t *)&watched->poll, on_watched_closed);
        }
        return 0;
    }
    if (!watched) {
        watched = prg_xcalloc(1, sizeof(*watched));
        watched->pool = pool;
        watched->fd = fd;
        prg_require(uv_poll_init_socket(pool->loop, &watched->poll, fd) == 0);
        watched->poll.data = watched;
        pool->open++;
        watched->next = pool->watched;
        if (watched->next)
            watched->next->previous = watched;
        pool->watched = watched;
        curl_multi_assign(pool->multi, fd, watched);
    }
    watched->is_read = what & CURL_POLL_IN;
    uv_poll_start(&watched->poll, (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0),
                  on_poll);
    return 0;
}

struct prg_pool *prg_pool_new(uv_loop_t *loop, long max_connections, unsigned *inside, prg_pool_fn finished, void *ctx)
{
    struct prg_pool *pool = prg_xcalloc(1, sizeof(*pool));
    pool->loop = loop;
    pool->inside = inside;
    pool->finished = finished;
    pool->ctx = ctx;
    pool->open = 1;
    uv_timer_init(loop, &pool->timer);
    pool->timer.data = pool;
    pool->multi = curl_multi_init();
    prg_require(pool->multi);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(pool->multi, CURLMOPT_MAX_HOST_CONNECTIONS, max_connections);
    return pool;
}

void prg_pool_free(struct prg_pool *pool)
{
    if (!pool || pool->is_closing)
        return;
    prg_require(pool->transfers == 0);
    pool->is_closing = true;
    if (!pool->draining)
        close_now(pool);
}

void prg_pool_add(struct prg_pool *pool, CURL *easy)
{
    prg_require(*pool->inside == 0 && !pool->is_closing);
    prg_require(curl_multi_add_handle(pool->multi, easy) == CURLM_OK);
    pool->transfers++;
}

void prg_pool_remove(struct prg_pool *pool, CURL *easy)
{
    prg_require(*pool->inside == 0);
    ++*pool->inside; // libcurl may tell us of sockets meanwhile
    prg_require(curl_multi_remove_handle(pool->multi, easy) == CURLM_OK);
    --*pool->inside;
    pool->transfers--;
    knock_soon(pool);
}

void prg_pool_heard(struct prg_pool *pool)
{
    knock_soon(pool);
}

size_t prg_pool_count(const struct prg_pool *pool)
{
    return pool->transfers;
}
