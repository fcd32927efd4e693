// SPDX-License-Identifier: Apache-2.0
// websocket.c: wslay's frames over the socket that libmicrohttpd hands out after the upgrade.
//
// What wslay leaves to us: it reads until the socket is empty (so a turn has a budget of bytes), queues without bound
// (so a peer that does not read is not read from either), and its close frame may never leave (so there is a deadline).
// A reset by the peer makes libuv report an error although data is still to be read: it is read before the end.
#include "edge/websocket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <wslay/wslay.h>

enum {
    TURN_BYTES = 256 * 1024,   // read in one turn: others want theirs
    QUEUE_MESSAGES = 64,       // above: nothing is read, so no more answers to pings are queued
    QUEUE_MESSAGES_MOST = 512, // above: dropped
    CLOSE_MS = 1000,
};

struct prg_websocket {
    uv_poll_t poll;
    uv_timer_t deadline;
    uv_loop_t *loop;
    unsigned open_handles;
    struct MHD_UpgradeResponseHandle *handle;
    int fd;
    wslay_event_context_ptr wslay;
    char *early; // read by the HTTP server already
    size_t early_length, early_at;
    size_t turn_bytes; // that this turn may still read
    struct prg_websocket_options options;
    void *ctx;
    enum prg_websocket_end end;
    bool is_paused, has_queued, in_recv;
    bool is_closing;   // a close frame of ours is queued or sent
    bool is_unwanted;  // what else it says
    bool is_refused;   // by wslay: broken or oversized input
    bool is_ended;     // nothing more can be read: the peer has closed, or reset
    bool is_draining;  // the peer has gone: read what is left of it, whatever the limits
    bool is_lingering; // everything is said; input is dropped until the peer has heard it
    bool is_ending;    // handles are being closed
    bool has_mark;     // a ping that waits until every text before it is sent: wslay would send it first
    uint8_t mark[8];
};

// ---- wslay's callbacks ----

static ssize_t take_early(struct prg_websocket *ws, uint8_t *buffer, size_t length)
{
    size_t rest = ws->early_length - ws->early_at, count = rest < length ? rest : length;
    memcpy(buffer, ws->early + ws->early_at, count);
    ws->early_at += count;
    if (ws->early_at == ws->early_length) {
        free(ws->early);
        ws->early = NULL;
    }
    return (ssize_t)count;
}

static ssize_t on_recv(wslay_event_context_ptr wslay, uint8_t *buffer, size_t length, int flags, void *user)
{
    struct prg_websocket *ws = user;
    (void)flags;
    // Answers to pings go out between turns, so that a peer that sends nothing else does not keep the loop.
    bool is_behind = wslay_event_get_queued_msg_count(wslay) > QUEUE_MESSAGES;
    if (((ws->is_paused || is_behind) && !ws->is_draining) || ws->is_ending || ws->turn_bytes == 0) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (length > ws->turn_bytes)
        length = ws->turn_bytes;
    ssize_t count;
    if (ws->early) {
        count = take_early(ws, buffer, length);
    } else {
        do
            count = recv(ws->fd, buffer, length, 0);
        while (count < 0 && errno == EINTR);
    }
    if (count > 0) {
        ws->turn_bytes -= (size_t)count;
        return count;
    }
    bool is_empty = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    ws->is_ended = !is_empty;
    wslay_event_set_error(wslay, is_empty ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t on_send(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t length, int flags, void *user)
{
    struct prg_websocket *ws = user;
    ssize_t count;
    do
        count = send(ws->fd, bytes, length, MSG_NOSIGNAL | ((flags & WSLAY_MSG_MORE) ? MSG_MORE : 0));
    while (count < 0 && errno == EINTR);
    if (count < 0)
        wslay_event_set_error(wslay, errno == EAGAIN || errno == EWOULDBLOCK ? WSLAY_ERR_WOULDBLOCK
                                                                             : WSLAY_ERR_CALLBACK_FAILURE);
    return count;
}

static void on_message(wslay_event_context_ptr wslay, const struct wslay_event_on_msg_recv_arg *arg, void *user)
{
    struct prg_websocket *ws = user;
    (void)wslay;
    if (ws->is_ending || ws->is_unwanted)
        return;
    if (arg->opcode == WSLAY_TEXT_FRAME || arg->opcode == WSLAY_BINARY_FRAME)
        ws->options.events->message((const char *)arg->msg, arg->msg_length, ws->ctx);
    else if (arg->opcode == WSLAY_PONG)
        ws->options.events->pong(arg->msg, arg->msg_length, ws->ctx);
}

// ---- the end ----

static void on_handle_closed(uv_handle_t *handle)
{
    struct prg_websocket *ws = handle->data;
    if (--ws->open_handles > 0)
        return;
    ws->options.events->closed(ws->end, ws->ctx);
    wslay_event_context_free(ws->wslay);
    MHD_upgrade_action(ws->handle, MHD_UPGRADE_ACTION_CLOSE);
    ws->options.released(ws->options.server);
    free(ws->early);
    free(ws);
}

static void finish(struct prg_websocket *ws, enum prg_websocket_end end)
{
    if (ws->is_ending)
        return;
    ws->is_ending = true;
    if (ws->is_refused)
        ws->end = wslay_event_get_status_code_sent(ws->wslay) == WSLAY_CODE_MESSAGE_TOO_BIG ? PRG_WEBSOCKET_TOO_LARGE
                                                                                            : PRG_WEBSOCKET_MALFORMED;
    else
        ws->end = ws->is_closing ? PRG_WEBSOCKET_BY_US : end;
    uv_close((uv_handle_t *)&ws->poll, on_handle_closed);
    uv_close((uv_handle_t *)&ws->deadline, on_handle_closed);
}

static void on_deadline(uv_timer_t *timer)
{
    finish(timer->data, PRG_WEBSOCKET_BY_US);
}

// wslay refuses broken and oversized input by queueing a close frame of its own.
static void notice_refusal(struct prg_websocket *ws)
{
    if (ws->is_closing || ws->is_refused || wslay_event_get_read_enabled(ws->wslay) ||
        wslay_event_get_close_received(ws->wslay))
        return;
    ws->is_refused = true;
    uv_timer_start(&ws->deadline, on_deadline, CLOSE_MS, 0);
}

static void on_lingering(uv_poll_t *poll, int status, int events)
{
    static char dropped[16384];
    struct prg_websocket *ws = poll->data;
    (void)events;
    ssize_t count = status < 0 ? 0 : recv(ws->fd, dropped, sizeof(dropped), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        finish(ws, PRG_WEBSOCKET_BY_US);
}

// Closing a socket with unread input resets it, and the peer may never see why. So the peer goes first.
static void linger(struct prg_websocket *ws)
{
    ws->is_lingering = true;
    shutdown(ws->fd, SHUT_WR);
    uv_poll_start(&ws->poll, UV_READABLE | UV_DISCONNECT, on_lingering);
    if (!uv_is_active((uv_handle_t *)&ws->deadline))
        uv_timer_start(&ws->deadline, on_deadline, CLOSE_MS, 0);
}

// ---- turns ----

static void on_poll(uv_poll_t *poll, int status, int events);

// After anything happened: what to wait for next, or the end.
static void settle(struct prg_websocket *ws)
{
    if (ws->is_ending || ws->is_lingering)
        return;
    notice_refusal(ws);
    if (ws->has_mark && !wslay_event_want_write(ws->wslay)) {
        const struct wslay_event_msg ping = {WSLAY_PING, ws->mark, sizeof(ws->mark)};
        ws->has_mark = false;
        wslay_event_queue_msg(ws->wslay, &ping);
    }
    size_t queued = wslay_event_get_queued_msg_count(ws->wslay);
    bool wants_read = wslay_event_want_read(ws->wslay), wants_write = wslay_event_want_write(ws->wslay);
    if (queued > QUEUE_MESSAGES_MOST) {
        finish(ws, PRG_WEBSOCKET_NOT_READING);
        return;
    }
    if (!wants_read && !wants_write) {
        if (ws->is_refused)
            linger(ws);
        else
            finish(ws, PRG_WEBSOCKET_BY_PEER);
        return;
    }
    bool may_read = wants_read && !ws->is_paused && queued <= QUEUE_MESSAGES;
    // Disconnect is asked for always: a paused connection that is reset must not linger.
    int events = (may_read ? UV_READABLE : 0) | (wants_write ? UV_WRITABLE : 0) | UV_DISCONNECT;
    if (may_read && ws->early)
        events |= UV_WRITABLE; // comes at once: no need to wait for what is here already
    uv_poll_start(&ws->poll, events, on_poll);
    if (!wants_write && ws->has_queued) {
        ws->has_queued = false;
        ws->options.events->drained(ws->ctx);
    }
}

static bool receive(struct prg_websocket *ws, size_t most)
{
    ws->turn_bytes = most;
    ws->in_recv = true;
    int result = wslay_event_recv(ws->wslay);
    ws->in_recv = false;
    if (result == 0 || ws->is_ending)
        return true;
    finish(ws, ws->is_ended ? PRG_WEBSOCKET_BY_PEER : PRG_WEBSOCKET_MALFORMED);
    return false;
}

// The peer has gone, in order or not. What had arrived before is still to be read, and will never be sent again.
static void take_leave(struct prg_websocket *ws)
{
    ws->is_draining = true;
    do {
        if (!wslay_event_get_read_enabled(ws->wslay) || !receive(ws, TURN_BYTES))
            break;
    } while (ws->turn_bytes < TURN_BYTES && !ws->is_ending);
    if (!ws->is_ending && wslay_event_want_write(ws->wslay))
        (void)!wslay_event_send(ws->wslay); // the answer to its close frame, if it still listens
    finish(ws, PRG_WEBSOCKET_BY_PEER);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct prg_websocket *ws = poll->data;
    if (status < 0 || (events & UV_DISCONNECT)) {
        take_leave(ws);
        return;
    }
    bool wants_read = !ws->is_paused && wslay_event_want_read(ws->wslay);
    if (((events & UV_READABLE) || ws->early) && wants_read && !receive(ws, TURN_BYTES))
        return;
    if (!ws->is_ending && wslay_event_want_write(ws->wslay) && wslay_event_send(ws->wslay) != 0) {
        finish(ws, PRG_WEBSOCKET_BY_PEER);
        return;
    }
    settle(ws);
}

// ---- for the link ----

struct prg_websocket *prg_websocket_new(uv_loop_t *loop, struct MHD_UpgradeResponseHandle *handle, int fd,
                                        const void *early, size_t early_length,
                                        const struct prg_websocket_options *options, void *ctx)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_recv, .send_callback = on_send, .on_msg_recv_callback = on_message};
    struct prg_websocket *ws = prg_xcalloc(1, sizeof(*ws));
    int on = 1;
    ws->loop = loop;
    ws->handle = handle;
    ws->fd = fd;
    ws->options = *options;
    ws->ctx = ctx;
    if (early_length) {
        ws->early = prg_xmalloc(early_length);
        memcpy(ws->early, early, early_length);
        ws->early_length = early_length;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));                     // without it only slower
    prg_require(wslay_event_context_server_init(&ws->wslay, &callbacks, ws) == 0); // fails for lack of memory only
    wslay_event_config_set_max_recv_msg_length(ws->wslay, options->max_message_bytes);
    prg_require(uv_poll_init(loop, &ws->poll, fd) == 0);
    prg_require(uv_timer_init(loop, &ws->deadline) == 0);
    ws->poll.data = ws->deadline.data = ws;
    ws->open_handles = 2;
    settle(ws);
    return ws;
}

static void queue(struct prg_websocket *ws, uint8_t opcode, const uint8_t *bytes, size_t length)
{
    const struct wslay_event_msg message = {opcode, bytes, length};
    if (ws->is_ending || ws->is_closing || ws->is_refused)
        return;
    wslay_event_queue_msg(ws->wslay, &message); // refused once a close frame is queued: then it is late anyway
    ws->has_queued = true;
    if (!ws->in_recv) // else settle comes behind this turn
        settle(ws);
}

void prg_websocket_send_text(struct prg_websocket *ws, const char *text, size_t length)
{
    queue(ws, WSLAY_TEXT_FRAME, (const uint8_t *)text, length);
}

void prg_websocket_ping(struct prg_websocket *ws, const uint8_t bytes[8])
{
    queue(ws, WSLAY_PING, bytes, 8);
}

void prg_websocket_mark(struct prg_websocket *ws, const uint8_t bytes[8])
{
    if (ws->is_ending || ws->is_closing || ws->is_refused)
        return;
    memcpy(ws->mark, bytes, sizeof(ws->mark));
    ws->has_mark = ws->has_queued = true;
    if (!ws->in_recv)
        settle(ws);
}

size_t prg_websocket_queued_bytes(const struct prg_websocket *ws)
{
    return wslay_event_get_queued_msg_length(ws->wslay);
}

void prg_websocket_pause(struct prg_websocket *ws)
{
    ws->is_paused = true;
    if (!ws->in_recv)
        settle(ws);
}

void prg_websocket_resume(struct prg_websocket *ws)
{
    if (!ws->is_paused || ws->is_ending)
        return;
    ws->is_paused = false;
    if (!ws->in_recv)
        settle(ws);
}

void prg_websocket_close(struct prg_websocket *ws, unsigned code, const char *reason)
{
    if (ws->is_ending || ws->is_closing || ws->is_refused)
        return;
    ws->is_closing = true;
    ws->is_paused = false; // the answer has to be read
    wslay_event_queue_close(ws->wslay, (uint16_t)code, (const uint8_t *)reason, strlen(reason));
    uv_timer_start(&ws->deadline, on_deadline, CLOSE_MS, 0);
    if (!ws->in_recv)
        settle(ws);
}

void prg_websocket_refuse(struct prg_websocket *ws, unsigned code, const char *reason)
{
    ws->is_unwanted = true;
    prg_websocket_close(ws, code, reason);
}

void prg_websocket_drop(struct prg_websocket *ws)
{
    finish(ws, PRG_WEBSOCKET_BY_US);
}
