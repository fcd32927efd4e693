// SPDX-License-Identifier: Apache-2.0
// client.c: see client.h.
#include "client.h"

#include "support/support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/clock.h"

static int64_t now_ms(void)
{
    return prg_clock_monotonic_ns() / 1000000;
}

// One turn of the server, and what arrives meanwhile.
static void turn(struct client *client)
{
    char buffer[65536];
    uv_run(client->loop, UV_RUN_NOWAIT);
    ssize_t count = client->is_gone ? -1 : recv(client->fd, buffer, sizeof(buffer), 0);
    if (count > 0)
        prg_strbuf_add(&client->in, buffer, (size_t)count);
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
        client->is_gone = true;
    struct pollfd waiting[2] = {{uv_backend_fd(client->loop), POLLIN, 0}, {client->fd, POLLIN, 0}};
    if (count <= 0)
        poll(waiting, client->is_gone ? 1 : 2, 5);
}

void client_connect(struct client *client, uv_loop_t *loop, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int on = 1;
    *client = (struct client){.loop = loop, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    prg_strbuf_init(&client->in);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    assert_int_equal(connect(client->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); // as Go's connections are
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
}

void client_send(struct client *client, const void *bytes, size_t length)
{
    const char *at = bytes;
    for (int64_t deadline = now_ms() + 5000; length > 0 && !client->is_gone;) {
        ssize_t count = send(client->fd, at, length, MSG_NOSIGNAL);
        if (count > 0) {
            at += count;
            length -= (size_t)count;
        } else if (errno != EAGAIN && errno != EINTR) {
            return; // the server has gone: the test sees it when it reads
        } else {
            turn(client);
            assert_true(now_ms() < deadline);
        }
    }
}

void client_handshake(struct client *client, const char *node, const char *extra)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_puts(&text, "GET / HTTP/1.1\r\nHost: gm:9000\r\nUser-Agent: Go-http-client/1.1\r\n");
    prg_strbuf_puts(&text, "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
    prg_strbuf_puts(&text, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    if (node)
        prg_strbuf_printf(&text, "Node-Name: %s\r\n", node);
    prg_strbuf_printf(&text, "%s\r\n", extra ? extra : "");
    client_send(client, text.text, text.length);
}

unsigned client_status(struct client *client)
{
    const char *end = NULL;
    for (int64_t deadline = now_ms() + 5000; !(end = strstr(client->in.text, "\r\n\r\n"));) {
        if (client->is_gone)
            return 0;
        assert_true(now_ms() < deadline);
        turn(client);
    }
    unsigned status = (unsigned)strtoul(client->in.text + strlen("HTTP/1.1 "), NULL, 10);
    size_t head = (size_t)(end + 4 - client->in.text), rest = client->in.length - head;
    if (status == 101)
        assert_non_null(strstr(client->in.text, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")); // RFC 6455, section 1.3
    memmove(client->in.text, client->in.text + head, rest);
    prg_strbuf_truncate(&client->in, rest);
    return status;
}

void client_open(struct client *client, uv_loop_t *loop, uint16_t port, const char *node)
{
    client_connect(client, loop, port);
    client_handshake(client, node, NULL);
    assert_int_equal(client_status(client), 101);
}

void client_close(struct client *client)
{
    close(client->fd);
    prg_strbuf_release(&client->in);
}

void client_reset(struct client *client)
{
    struct linger linger = {1, 0};
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    client_close(client);
}

void client_send_frame(struct client *client, unsigned first, const void *payload, size_t length)
{
    static const unsigned char mask[4] = {0x12, 0x34, 0x56, 0x78};
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    prg_strbuf_putc(&bytes, (char)first);
    if (length < 126) {
        prg_strbuf_putc(&bytes, (char)(0x80 | length));
    } else if (length < 65536) {
        prg_strbuf_putc(&bytes, (char)(0x80 | 126));
        prg_strbuf_putc(&bytes, (char)(length >> 8));
        prg_strbuf_putc(&bytes, (char)length);
    } else {
        prg_strbuf_putc(&bytes, (char)(0x80 | 127));
        for (int shift = 56; shift >= 0; shift -= 8)
            prg_strbuf_putc(&bytes, (char)((uint64_t)length >> shift));
    }
    prg_strbuf_add(&bytes, mask, sizeof(mask));
    for (size_t i = 0; i < length; i++)
        prg_strbuf_putc(&bytes, (char)(((const unsigned char *)payload)[i] ^ mask[i % 4]));
    client_send(client, bytes.text, bytes.length);
}

void client_send_text(struct client *client, const char *text)
{
    client_send_frame(client, 0x81, text, strlen(text));
}

void client_report(struct client *client, const char *kind, const char *name, const char *content)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    client_send_text(client, prg_arena_printf(&arena,
                                              "{\"header\":{\"namespace\":\"ns\",\"resourceKind\":\"%s\","
                                              "\"resourceName\":\"%s\",\"operation\":\"status\"},\"content\":\"%s\"}\n",
                                              kind, name, prg_base64_encode(&arena, content, strlen(content))));
}

// A whole frame at the front of the input.
static bool take_frame(struct client *client, struct frame *ret)
{
    const unsigned char *in = (const unsigned char *)client->in.text;
    size_t head = 2, length;
    if (client->in.length < 2)
        return false;
    length = in[1] & 0x7fu;
    assert_int_equal(in[1] & 0x80, 0); // servers do not mask
    if (length == 126) {
        head = 4;
        length = client->in.length < 4 ? SIZE_MAX / 2 : (size_t)in[2] << 8 | in[3];
    } else if (length == 127) {
        head = 10;
        length = 0;
        for (size_t i = 2; i < 10 && client->in.length >= 10; i++)
            length = length << 8 | in[i];
    }
    if (client->in.length < head || client->in.length - head < length)
        return false;
    ret->opcode = in[0] & 0x0f;
    ret->is_whole = in[0] & 0x80;
    ret->length = length;
    assert_true(length < sizeof(ret->text));
    memcpy(ret->text, in + head, length);
    ret->text[length] = '\0';
    memmove(client->in.text, client->in.text + head + length, client->in.length - head - length);
    prg_strbuf_truncate(&client->in, client->in.length - head - length);
    return true;
}

bool client_next(struct client *client, struct frame *ret, unsigned wait_ms)
{
    for (int64_t deadline = now_ms() + wait_ms;;) {
        while (take_frame(client, ret)) {
            if (ret->opcode != 9)
                return true;
            client->pings++;
            if (!client->is_mute)
                client_send_frame(client, 0x8a, ret->text, ret->length);
        }
        if (client->is_gone || now_ms() >= deadline)
            return false;
        turn(client);
    }
}

bool run_until(uv_loop_t *loop, bool (*holds)(void *ctx), void *ctx)
{
    for (int64_t deadline = now_ms() + 5000; !holds(ctx);) {
        if (now_ms() >= deadline)
            return false;
        uv_run(loop, UV_RUN_NOWAIT);
        struct pollfd waiting = {uv_backend_fd(loop), POLLIN, 0};
        poll(&waiting, 1, 2);
    }
    return true;
}
