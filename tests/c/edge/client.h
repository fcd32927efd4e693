// SPDX-License-Identifier: Apache-2.0
// client.h: a WebSocket client for tests: it writes its frames byte by byte itself, so that it can write wrong ones,
// and runs the server's loop while it waits.
#pragma once
#include <uv.h>

#include "base/strbuf.h"

struct client {
    uv_loop_t *loop; // of the server
    int fd;
    struct prg_strbuf in; // received, not looked at yet
    bool is_gone;         // the server closed, or reset
    bool is_mute;         // does not answer pings
    unsigned pings;
};

struct frame {
    unsigned opcode;
    bool is_whole; // FIN
    char text[65536];
    size_t length;
};

// Connects and sends a handshake; extra are further header lines, each with "\r\n", or NULL. Without a node there is no
// header Node-Name.
void client_connect(struct client *client, uv_loop_t *loop, uint16_t port);
void client_handshake(struct client *client, const char *node, const char *extra);
// Connects, shakes hands and reads the answer 101; fails the test otherwise.
void client_open(struct client *client, uv_loop_t *loop, uint16_t port, const char *node);
void client_close(struct client *client); // the socket, without a word
void client_reset(struct client *client); // the same, with RST

void client_send(struct client *client, const void *bytes, size_t length);
// first: FIN, reserved bits and opcode; masked as clients have to.
void client_send_frame(struct client *client, unsigned first, const void *payload, size_t length);
void client_send_text(struct client *client, const char *text);
// Header of a message and its content in base64.
void client_report(struct client *client, const char *kind, const char *name, const char *content);

// Status of the HTTP answer, 0 when the connection ended instead. Its headers are taken off the input.
unsigned client_status(struct client *client);
// The next frame that is no ping; false when the connection ended or nothing came in time.
bool client_next(struct client *client, struct frame *ret, unsigned wait_ms);
// Runs the loop until the condition holds; false after five seconds.
bool run_until(uv_loop_t *loop, bool (*holds)(void *ctx), void *ctx);
