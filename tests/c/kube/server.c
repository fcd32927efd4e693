// SPDX-License-Identifier: Apache-2.0
// server.c: connections, requests, answers; TLS through memory BIOs.
#include "server.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

struct connection {
    struct server *server;
    uv_tcp_t tcp;
    SSL *ssl;
    struct prg_strbuf in;
    unsigned number;
    bool is_ending;
    char chunk[16384];
};

struct write {
    uv_write_t request;
    unsigned end; // SERVER_CLOSE or SERVER_RESET when it is written
    struct connection *connection;
    char bytes[];
};

static void on_closed(uv_handle_t *handle)
{
    struct connection *c = handle->data;
    SSL_free(c->ssl);
    prg_strbuf_release(&c->in);
    free(c);
}

static void drop(struct connection *c, bool is_reset)
{
    struct server *server = c->server;
    if (uv_is_closing((uv_handle_t *)&c->tcp))
        return;
    for (size_t i = 0; server && i < server->connections.count; i++)
        if (server->connections.items[i] == c) {
            server->connections.items[i] = server->connections.items[--server->connections.count];
            break;
        }
    if (server && server->held == c)
        server->held = NULL;
    if (!is_reset || uv_tcp_close_reset(&c->tcp, on_closed) != 0)
        uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_written(uv_write_t *request, int status)
{
    struct write *write = (struct write *)request;
    (void)status;
    if (write->end)
        drop(write->connection, write->end & SERVER_RESET);
    free(write);
}

static void send_wire(struct connection *c, const void *bytes, size_t length, unsigned end)
{
    struct write *write = prg_xcalloc(1, sizeof(*write) + length);
    write->connection = c;
    write->end = end;
    memcpy(write->bytes, bytes, length);
    uv_buf_t buf = uv_buf_init(write->bytes, (unsigned)length);
    if (uv_is_closing((uv_handle_t *)&c->tcp) ||
        uv_write(&write->request, (uv_stream_t *)&c->tcp, &buf, 1, on_written) != 0)
        free(write);
}

static void flush_tls(struct connection *c, unsigned end)
{
    char *bytes;
    BIO *out = SSL_get_wbio(c->ssl);
    long length = BIO_get_mem_data(out, &bytes);
    if (length > 0 || end)
        send_wire(c, length > 0 ? bytes : "", length > 0 ? (size_t)length : 0, end);
    (void)BIO_reset(out);
}

static void send_bytes(struct connection *c, const void *bytes, size_t length, unsigned end)
{
    if (!c->ssl) {
        send_wire(c, bytes, length, end);
        return;
    }
    if (length)
        assert_int_equal(SSL_write(c->ssl, bytes, (int)length), (int)length);
    flush_tls(c, end);
}

// ---- answers ----

static void answer(struct connection *c, const struct answer *a)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    unsigned end = a->flags & (SERVER_CLOSE | SERVER_RESET);
    if (!(a->flags & SERVER_RAW)) {
        prg_strbuf_printf(&out, "HTTP/1.1 %d Text\r\nContent-Type: application/json\r\n%s", a->status, a->headers);
        if (a->flags & (SERVER_OPEN | SERVER_CHUNKED))
            prg_strbuf_puts(&out, "Transfer-Encoding: chunked\r\n\r\n");
        else
            prg_strbuf_printf(&out, "Content-Length: %zu\r\n\r\n", a->body_length);
    }
    if (a->flags & (SERVER_OPEN | SERVER_CHUNKED)) {
        if (a->body_length)
            prg_strbuf_printf(&out, "%zx\r\n%s\r\n", a->body_length, a->body);
        if (!(a->flags & SERVER_OPEN))
            prg_strbuf_puts(&out, "0\r\n\r\n");
    } else {
        prg_strbuf_add(&out, a->body, a->body_length);
    }
    if (a->flags & SERVER_OPEN)
        c->server->held = c;
    if (!(a->flags & SERVER_BYTEWISE)) {
        send_bytes(c, out.text, out.length, end);
        return;
    }
    for (size_t i = 0; i < out.length; i++)
        send_bytes(c, out.text + i, 1, i + 1 == out.length ? end : 0);
}

static void respond(struct connection *c, const char *method, const char *path)
{
    static const struct answer missing = {.status = 404, .headers = "", .body = "{}", .body_length = 2};
    for (size_t i = 0; i < c->server->answers.count; i++) {
        struct answer *a = c->server->answers.items[i];
        if (a->times == 0 || strcmp(a->method, method) != 0 || !prg_text_has_prefix(path, a->path))
            continue;
        a->times--;
        answer(c, a);
        return;
    }
    answer(c, &missing);
}

// Takes one whole request from what has come; false when there is none.
static bool take_request(struct connection *c)
{
    char *end = strstr(c->in.text, "\r\n\r\n"), method[16], path[4096];
    if (!end || sscanf(c->in.text, "%15s %4095s", method, path) != 2)
        return false;
    size_t head = (size_t)(end - c->in.text) + 4, body = 0;
    const char *length = strcasestr(c->in.text, "\r\ncontent-length:");
    if (length && length < end)
        body = strtoul(length + 17, NULL, 10);
    if (c->in.length < head + body)
        return false;
    struct seen *seen = prg_xcalloc(1, sizeof(*seen));
    seen->method = prg_xstrdup(method);
    seen->path = prg_xstrdup(path);
    seen->head = prg_xstrndup(c->in.text, head);
    seen->body = prg_xstrndup(c->in.text + head, body);
    seen->connection = c->number;
    prg_vec_push(&c->server->seen, seen);
    size_t rest = c->in.length - head - body;
    memmove(c->in.text, c->in.text + head + body, rest);
    prg_strbuf_truncate(&c->in, rest);
    respond(c, method, path);
    return true;
}

static void take_plain(struct connection *c, const char *bytes, size_t length)
{
    prg_strbuf_add(&c->in, bytes, length);
    while (!uv_is_closing((uv_handle_t *)&c->tcp) && take_request(c))
        ;
}

static void take_tls(struct connection *c, const char *bytes, size_t length)
{
    char plain[4096];
    int count;
    BIO_write(SSL_get_rbio(c->ssl), bytes, (int)length);
    if (!SSL_is_init_finished(c->ssl)) {
        int rc = SSL_accept(c->ssl);
        bool is_refused = rc <= 0 && SSL_get_error(c->ssl, rc) != SSL_ERROR_WANT_READ;
        flush_tls(c, is_refused ? SERVER_CLOSE : 0);
        if (rc <= 0)
            return;
    }
    while ((count = SSL_read(c->ssl, plain, sizeof(plain))) > 0)
        take_plain(c, plain, (size_t)count);
    if (!uv_is_closing((uv_handle_t *)&c->tcp))
        flush_tls(c, 0);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct connection *c = handle->data;
    (void)suggested;
    *ret = uv_buf_init(c->chunk, sizeof(c->chunk));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct connection *c = stream->data;
    if (count < 0)
        drop(c, false);
    else if (c->ssl)
        take_tls(c, buf->base, (size_t)count);
    else
        take_plain(c, buf->base, (size_t)count);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct server *server = listener->data;
    struct connection *c = prg_xcalloc(1, sizeof(*c));
    assert_int_equal(status, 0);
    c->server = server;
    c->number = ++server->connection_count;
    prg_strbuf_init(&c->in);
    uv_tcp_init(server->loop, &c->tcp);
    c->tcp.data = c;
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&c->tcp), 0);
    uv_tcp_nodelay(&c->tcp, 1);
    if (server->tls) {
        c->ssl = SSL_new(server->tls);
        SSL_set_bio(c->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_accept_state(c->ssl);
    }
    prg_vec_push(&server->connections, c);
    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

// ---- interface ----

struct server *server_new(uv_loop_t *loop, SSL_CTX *tls)
{
    struct server *server = prg_xcalloc(1, sizeof(*server));
    struct sockaddr_in address;
    int length = sizeof(address);
    server->loop = loop;
    server->tls = tls;
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(loop, &server->listener);
    server->listener.data = server;
    assert_int_equal(uv_tcp_bind(&server->listener, (struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&server->listener, 16, on_connection), 0);
    assert_int_equal(uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &length), 0);
    server->port = ntohs(address.sin_port);
    return server;
}

static void on_listener_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void server_close(struct server *server)
{
    while (server->connections.count) {
        struct connection *c = server->connections.items[0];
        drop(c, false);
        c->server = NULL;
    }
    for (size_t i = 0; i < server->answers.count; i++) {
        struct answer *a = server->answers.items[i];
        free(a->method);
        free(a->path);
        free(a->headers);
        free(a->body);
        free(a);
    }
    for (size_t i = 0; i < server->seen.count; i++) {
        struct seen *seen = server->seen.items[i];
        free(seen->method);
        free(seen->path);
        free(seen->head);
        free(seen->body);
        free(seen);
    }
    prg_vec_release(&server->answers);
    prg_vec_release(&server->seen);
    prg_vec_release(&server->connections);
    uv_close((uv_handle_t *)&server->listener, on_listener_closed);
}

static struct answer *add_answer(struct server *server, unsigned times, const char *method, const char *path,
                                 const void *body, size_t length)
{
    struct answer *a = prg_xcalloc(1, sizeof(*a));
    a->times = times;
    a->method = prg_xstrdup(method);
    a->path = prg_xstrdup(path);
    a->body = prg_xstrndup(body, length);
    a->body_length = length;
    prg_vec_push(&server->answers, a);
    return a;
}

void server_answer(struct server *server, unsigned times, const char *method, const char *path, int status,
                   const char *headers, const char *body, unsigned flags)
{
    struct answer *a = add_answer(server, times, method, path, body, strlen(body));
    a->status = status;
    a->headers = prg_xstrdup(headers);
    a->flags = flags;
}

void server_answer_raw(struct server *server, const char *method, const char *path, const void *text, size_t length,
                       unsigned flags)
{
    add_answer(server, 1, method, path, text, length)->flags = flags | SERVER_RAW;
}

void server_push_raw(struct server *server, const void *bytes, size_t length)
{
    assert_non_null(server->held);
    send_bytes(server->held, bytes, length, 0);
}

void server_push(struct server *server, const char *text)
{
    prg_auto_strbuf chunk = PRG_STRBUF_INIT;
    prg_strbuf_printf(&chunk, "%zx\r\n%s\r\n", strlen(text), text);
    server_push_raw(server, chunk.text, chunk.length);
}

void server_end_held(struct server *server, unsigned flags)
{
    struct connection *c = server->held;
    assert_non_null(c);
    server->held = NULL;
    if (flags == SERVER_KEEP)
        send_bytes(c, "0\r\n\r\n", 5, 0);
    else
        drop(c, flags & SERVER_RESET);
}

const struct seen *server_seen(const struct server *server, size_t index)
{
    assert_true(index < server->seen.count);
    return server->seen.items[index];
}

// ---- certificates ----

static char *pem_text(BIO *bio)
{
    char *bytes;
    long length = BIO_get_mem_data(bio, &bytes);
    char *text = prg_xstrndup(bytes, (size_t)length);
    BIO_free(bio);
    return text;
}

static void add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(extension);
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
}

struct identity *identity_new(const char *name, const char *names, const struct identity *issuer)
{
    static long serial = 1;
    struct identity *id = prg_xcalloc(1, sizeof(*id));
    id->pkey = EVP_EC_gen("P-256");
    id->x509 = X509_new();
    X509_set_version(id->x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(id->x509), serial++);
    X509_gmtime_adj(X509_getm_notBefore(id->x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(id->x509), 3600);
    X509_set_pubkey(id->x509, id->pkey);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(id->x509), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
                               0);
    X509_set_issuer_name(id->x509, X509_get_subject_name(issuer ? issuer->x509 : id->x509));
    if (!issuer)
        add_extension(id->x509, NID_basic_constraints, "critical,CA:TRUE");
    if (names)
        add_extension(id->x509, NID_subject_alt_name, names);
    assert_true(X509_sign(id->x509, issuer ? issuer->pkey : id->pkey, EVP_sha256()) > 0);
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, id->x509);
    id->cert = pem_text(bio);
    bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, id->pkey, NULL, NULL, 0, NULL, NULL);
    id->key = pem_text(bio);
    return id;
}

void identity_free(struct identity *id)
{
    if (!id)
        return;
    X509_free(id->x509);
    EVP_PKEY_free(id->pkey);
    free(id->cert);
    free(id->key);
    free(id);
}

SSL_CTX *identity_server(const struct identity *identity, const struct identity *client_ca)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(ctx, identity->x509);
    SSL_CTX_use_PrivateKey(ctx, identity->pkey);
    if (client_ca) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), client_ca->x509);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION); // a refusal comes during the handshake
    }
    return ctx;
}
