// SPDX-License-Identifier: Apache-2.0
// transport.h: a request to the API server and its answer, whoever carries it: kube/http.h, or a script in a test.
//
// Everything above (reflectors, writes, discovery, lease) speaks to this, so it can be tested without a network.
#pragma once
#include "base/error.h"

enum prg_call_kind {
    PRG_CALL_READ,  // may be repeated by the transport
    PRG_CALL_WRITE, // sent once, whatever happens; own connection
    PRG_CALL_WATCH, // long; own connection; never repeated
};

struct prg_request { // borrowed during start
    const char *method;
    const char *path; // with query, escaped, from "/": "/api/v1/pods?limit=500"
    enum prg_call_kind kind;
    const char *accept;       // NULL: application/json
    const char *content_type; // of the body
    const char *body;
    size_t body_length;
    uint64_t deadline_ms; // for everything, waiting and repeating included; 0: a default by kind
    uint64_t idle_ms;     // gives up when no byte came for so long; 0: no such limit
    size_t max_bytes;     // of an answer that is not taken as it comes; 0: a default
    bool is_urgent;       // not held up by the rate limit (leases)
};

// Why there is no answer.
enum prg_fault {
    PRG_FAULT_NONE,
    PRG_FAULT_CONNECT,    // refused, unreachable, name not found: nothing was sent
    PRG_FAULT_CUT,        // the connection ended before the answer did
    PRG_FAULT_TIMEOUT,    // deadline or idle limit
    PRG_FAULT_TLS,        // the server is not who it should be, or refuses our certificate
    PRG_FAULT_CREDENTIAL, // no credential could be had; nothing was sent
    PRG_FAULT_LIMIT,      // the answer is too large
    PRG_FAULT_STOPPED,    // the receiver of the data had enough
    PRG_FAULT_PROTOCOL,   // not HTTP, or a broken encoding
};

struct prg_response { // borrowed during done
    int status;       // HTTP, 0 when no answer began
    enum prg_fault fault;
    const struct prg_error *error; // when there is a fault
    const char *body;              // terminated; "" when it was taken as it came
    size_t body_length;
    bool has_retry_after;
    uint64_t retry_after_ms; // at most a minute
    bool is_sent;            // the request may have reached the server: a write without an answer may have been done
    const char *warnings;    // texts of Warning headers, one a line, or NULL
};

struct prg_call;

struct prg_call_handler {
    // Bytes of a 2xx answer as they come; false ends the call with PRG_FAULT_STOPPED. NULL: the body is collected.
    bool (*data)(const char *bytes, size_t length, void *ctx);
    // Once, last, never from within start. The call is gone then.
    void (*done)(const struct prg_response *response, void *ctx);
};

struct prg_transport {
    // Never fails: what goes wrong is told by done. handler is copied.
    struct prg_call *(*start)(struct prg_transport *transport, const struct prg_request *request,
                              const struct prg_call_handler *handler, void *ctx);
    // Neither data nor done come any more. Allowed from any callback, also of the call itself, but not after its done.
    void (*cancel)(struct prg_transport *transport, struct prg_call *call);
};

static inline bool prg_response_ok(const struct prg_response *response)
{
    return response->fault == PRG_FAULT_NONE && response->status >= 200 && response->status < 300;
}
