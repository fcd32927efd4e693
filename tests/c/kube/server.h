// SPDX-License-Identifier: Apache-2.0
// server.h: an HTTP/1.1 server on loopback, in the test's own loop, that answers as it was told. TLS if asked for.
#pragma once
#include <openssl/ssl.h>
#include <uv.h>

#include "base/strbuf.h"
#include "base/vec.h"

enum server_end {
    SERVER_KEEP = 0,     // ready for the next request
    SERVER_CLOSE = 1,    // FIN
    SERVER_RESET = 2,    // RST
    SERVER_OPEN = 4,     // the answer goes on: server_push and server_end
    SERVER_BYTEWISE = 8, // each byte in a write of its own
    SERVER_RAW = 16,     // the text is the whole answer, head included
    SERVER_CHUNKED = 32, // the body in one chunk, and an end; with SERVER_OPEN without the end
};

struct answer {
    char *method, *path; // path: a prefix
    int status;
    char *headers; // "Retry-After: 1\r\n" or ""
    char *body;
    size_t body_length;
    unsigned flags;
    unsigned times; // left
};

struct seen { // a request
    char *method, *path, *head, *body;
    unsigned connection; // from 1
};

struct server {
    uv_loop_t *loop;
    uv_tcp_t listener;
    int port;
    SSL_CTX *tls;           // NULL: plain
    struct prg_vec answers; // struct answer, looked through in order
    struct prg_vec seen;
    struct prg_vec connections;
    unsigned connection_count;
    void *held; // connection with an open answer, newest
};

struct server *server_new(uv_loop_t *loop, SSL_CTX *tls);
void server_close(struct server *server); // frees what the loop does not need any more; run the loop after it
// The next `times` requests that fit are answered so. Without a fitting answer: 404.
void server_answer(struct server *server, unsigned times, const char *method, const char *path, int status,
                   const char *headers, const char *body, unsigned flags);
void server_answer_raw(struct server *server, const char *method, const char *path, const void *text, size_t length,
                       unsigned flags);
void server_push(struct server *server, const char *text); // a chunk on the held answer
void server_push_raw(struct server *server, const void *bytes, size_t length);
void server_end_held(struct server *server, unsigned flags); // SERVER_KEEP: last chunk; SERVER_CLOSE, SERVER_RESET
const struct seen *server_seen(const struct server *server, size_t index);

// ---- certificates ----
struct identity {
    char *cert, *key; // PEM
    X509 *x509;
    EVP_PKEY *pkey;
};
// issuer NULL: self-signed CA. names: subjectAltName, "DNS:localhost,IP:127.0.0.1".
struct identity *identity_new(const char *name, const char *names, const struct identity *issuer);
void identity_free(struct identity *identity);
// Context of a server; client_ca: asks for a client certificate of it, or NULL.
SSL_CTX *identity_server(const struct identity *identity, const struct identity *client_ca);
