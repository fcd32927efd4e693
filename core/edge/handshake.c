// SPDX-License-Identifier: Apache-2.0
// handshake.c: checking and answering the opening handshake.
#include "edge/handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

// Whether a header, which may stand several times and hold a list each time, has the token, in any letter case.
struct token_search {
    const char *name, *token;
    bool is_found;
};

static enum MHD_Result look_for_token(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct token_search *search = ctx;
    size_t length = strlen(search->token);
    (void)kind;
    if (strcasecmp(name, search->name) != 0)
        return MHD_YES;
    for (const char *at = value; at && *at;) {
        at += strspn(at, " \t,");
        size_t count = strcspn(at, " \t,");
        if (count == length && strncasecmp(at, search->token, count) == 0)
            search->is_found = true;
        at += count;
    }
    return MHD_YES;
}

static bool has_token(struct MHD_Connection *connection, const char *name, const char *token)
{
    struct token_search search = {name, token, false};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look_for_token, &search);
    return search.is_found;
}

static enum MHD_Result count_names(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
    unsigned *count = ctx;
    (void)kind;
    (void)value;
    *count += strcasecmp(name, "Node-Name") == 0;
    return MHD_YES;
}

// A browser says from which page it comes; only pages of this very host may connect.
static bool is_foreign(struct MHD_Connection *connection)
{
    const char *origin = header(connection, "Origin"), *host = header(connection, "Host");
    const char *start = origin ? strstr(origin, "://") : NULL;
    if (!origin)
        return false;
    return !start || !host || strcasecmp(start + 3, host) != 0;
}

static bool is_key(const char *key)
{
    unsigned char bytes[24];
    return key && strlen(key) == 24 && EVP_DecodeBlock(bytes, (const unsigned char *)key, 24) == 18 && key[22] == '=' &&
           key[23] == '=';
}

const char *prg_handshake_problem(const struct prg_httpd_request *request, unsigned *ret_status)
{
    struct MHD_Connection *connection = request->connection;
    const char *version = header(connection, "Sec-WebSocket-Version");
    unsigned name_count = 0;
    *ret_status = MHD_HTTP_BAD_REQUEST;
    if (strcmp(request->method, "GET") != 0 || strcmp(request->version, "HTTP/1.1") != 0 || request->has_body)
        return "Local Controllers connect here with a WebSocket: GET, HTTP/1.1, no body";
    if (!has_token(connection, "Connection", "upgrade") || !has_token(connection, "Upgrade", "websocket"))
        return "Local Controllers connect here with a WebSocket: the headers Connection and Upgrade do not ask for one";
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_names, &name_count);
    if (name_count > 1) // whoever stands between may have looked at another one
        return "the header Node-Name may stand once only";
    *ret_status = MHD_HTTP_UPGRADE_REQUIRED;
    if (!version || strcmp(version, "13") != 0)
        return "Sec-WebSocket-Version must be 13";
    *ret_status = MHD_HTTP_BAD_REQUEST;
    if (!is_key(header(connection, "Sec-WebSocket-Key")))
        return "Sec-WebSocket-Key must be 16 bytes in base64";
    *ret_status = MHD_HTTP_FORBIDDEN;
    return is_foreign(connection) ? "Origin is another host" : NULL;
}

const char *prg_handshake_node(struct MHD_Connection *connection)
{
    const char *node = header(connection, "Node-Name"); // the library cuts it at a NUL and does not tell
    return node ? node : "";
}

bool prg_handshake_is_node_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");
    return length <= 253 && !text[length];
}

enum MHD_Result prg_handshake_accept(struct MHD_Connection *connection, MHD_UpgradeHandler upgraded, void *ctx)
{
    char proof[64];
    unsigned char digest[SHA_DIGEST_LENGTH], accept[32];
    snprintf(proof, sizeof(proof), "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
             header(connection, "Sec-WebSocket-Key"));
    SHA1((const unsigned char *)proof, strlen(proof), digest);
    EVP_EncodeBlock(accept, digest, SHA_DIGEST_LENGTH);
    struct MHD_Response *response = MHD_create_response_for_upgrade(upgraded, ctx);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Upgrade", "websocket"); // the library adds Connection: Upgrade
    MHD_add_response_header(response, "Sec-WebSocket-Accept", (const char *)accept);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_SWITCHING_PROTOCOLS, response);
    MHD_destroy_response(response);
    return result;
}
