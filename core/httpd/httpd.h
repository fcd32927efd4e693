// SPDX-License-Identifier: Apache-2.0
// httpd.h: an HTTP server (libmicrohttpd) on a libuv loop, without threads: its epoll descriptor in a poll handle, its
// timeouts in a timer.
//
// One thread. The answer callback runs inside the server's own turn: it may queue answers and start upgrades, and call
// prg_httpd_answer_text, nothing else of this header.
#pragma once
#include <microhttpd.h>
#include <uv.h>

#include "base/error.h"

struct prg_httpd;

struct prg_httpd_request {
    struct MHD_Connection *connection; // to look up headers and to queue the answer
    const char *method, *url, *version;
    bool has_body; // its bytes were read and dropped
};

struct prg_httpd_options {
    const char *address;      // IPv4 or IPv6
    uint16_t port;            // 0: any that is free
    bool with_upgrade;        // WebSockets: answer may queue a response of MHD_create_response_for_upgrade
    unsigned timeout_s;       // of a request, 0: 10; upgraded connections have none
    unsigned max_connections; // 0: 100; upgraded ones count, those above wait in the backlog
    size_t memory_bytes;      // per connection, 0: 16 KiB: request line, headers and the answer's headers must fit
    // Queues an answer (MHD_queue_response) for a whole request and returns what that returned.
    enum MHD_Result (*answer)(const struct prg_httpd_request *request, void *ctx);
    void *ctx;
};

// Whether a text is an IPv4 or IPv6 address.
bool prg_httpd_is_address(const char *text);
// Whether this machine lets a process listen there at all; an address that is in use now may be free later, and is
// fine. PRG_INVALID, PRG_IO as below.
int prg_httpd_try(const char *address, uint16_t port, struct prg_error *err) PRG_MUST_USE;
// Listens and serves. PRG_INVALID: no such address; PRG_IO: cannot listen there, the text says why.
int prg_httpd_start(uv_loop_t *loop, const struct prg_httpd_options *options, struct prg_httpd **ret,
                    struct prg_error *err) PRG_MUST_USE;
uint16_t prg_httpd_port(const struct prg_httpd *httpd);
// The server takes its next turn soon. To be called after MHD_upgrade_action, which it does not notice by itself, but
// not from within its turn.
void prg_httpd_wake(struct prg_httpd *httpd);
// Accepts nothing more; what is under way goes on.
void prg_httpd_quiesce(struct prg_httpd *httpd);
// Ends everything. Upgraded connections must have been closed before. Memory goes, and closed (may be NULL) is called,
// when the loop has run once more.
void prg_httpd_close(struct prg_httpd *httpd, void (*closed)(void *ctx), void *ctx);

// An answer of plain text; status such as 404. Returns what MHD_queue_response returned.
enum MHD_Result prg_httpd_answer_text(struct MHD_Connection *connection, unsigned status, const char *type,
                                      const char *text, size_t length);
