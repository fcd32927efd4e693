// SPDX-License-Identifier: Apache-2.0
// websocket.h: one accepted WebSocket connection on a libuv loop: frames by wslay, limits, an orderly end. Private to
// core/edge.
//
// One thread. Callbacks come from the loop or from within prg_websocket_resume. After `closed` the connection is gone.
#pragma once
#include <microhttpd.h>
#include <uv.h>

#include "base/base.h"

struct prg_websocket;

enum prg_websocket_end {      // why a connection ended
    PRG_WEBSOCKET_BY_PEER,    // it closed, or its host vanished
    PRG_WEBSOCKET_BY_US,      // prg_websocket_close or _drop
    PRG_WEBSOCKET_MALFORMED,  // frames against the protocol, text that is not UTF-8
    PRG_WEBSOCKET_TOO_LARGE,  // a message above the limit
    PRG_WEBSOCKET_NOT_READING // answers to its pings pile up, because it does not read
};

struct prg_websocket_events {
    // A whole text or binary message; text is not terminated.
    void (*message)(const char *text, size_t length, void *ctx);
    void (*pong)(const uint8_t *bytes, size_t length, void *ctx);
    void (*drained)(void *ctx); // all that was queued is in the hands of the kernel
    // The last call. The socket is closed a moment later, when the server has taken its next turn.
    void (*closed)(enum prg_websocket_end end, void *ctx);
};

struct prg_websocket_options {
    size_t max_message_bytes;
    const struct prg_websocket_events *events; // must stay
    void (*released)(void *ctx);               // of the HTTP server: MHD_upgrade_action was called; wake it
    void *server;                              // ctx of released
};

// Takes over an upgraded connection: fd, and what was read of it already. Nothing is read before the loop runs.
struct prg_websocket *prg_websocket_new(uv_loop_t *loop, struct MHD_UpgradeResponseHandle *handle, int fd,
                                        const void *early, size_t early_length,
                                        const struct prg_websocket_options *options, void *ctx);
void prg_websocket_send_text(struct prg_websocket *ws, const char *text, size_t length); // copied
void prg_websocket_ping(struct prg_websocket *ws, const uint8_t bytes[8]);               // before all texts that wait
// A ping behind all texts that were given before it: who answers it has read them. A newer one takes its place.
void prg_websocket_mark(struct prg_websocket *ws, const uint8_t bytes[8]);
size_t prg_websocket_queued_bytes(const struct prg_websocket *ws);
// Nothing is read until resume; the peer's sending then stalls.
void prg_websocket_pause(struct prg_websocket *ws);
void prg_websocket_resume(struct prg_websocket *ws);
// Sends a close frame, before all texts that wait and are then not sent, and waits for the answer, at most a second.
// Messages that the peer sent before it answers still come.
void prg_websocket_close(struct prg_websocket *ws, unsigned code, const char *reason);
// The same for a peer whose messages are not wanted any more.
void prg_websocket_refuse(struct prg_websocket *ws, unsigned code, const char *reason);
void prg_websocket_drop(struct prg_websocket *ws); // at once; closed is still called, from the loop
