// SPDX-License-Identifier: Apache-2.0
// handshake.h: the WebSocket opening handshake (RFC 6455, section 4.2) of a Local Controller. Private to core/edge.
#pragma once
#include "httpd/httpd.h"

// NULL when request is a handshake, else why not, with the HTTP status to answer.
const char *prg_handshake_problem(const struct prg_httpd_request *request, unsigned *ret_status);
// The header Node-Name, or "". Valid while the request is.
const char *prg_handshake_node(struct MHD_Connection *connection);
bool prg_handshake_is_node_name(const char *text); // letters, digits, '-', '.', '_', at most 253; also none
// Queues the answer 101; upgraded is called with ctx when it has been sent.
enum MHD_Result prg_handshake_accept(struct MHD_Connection *connection, MHD_UpgradeHandler upgraded, void *ctx);
