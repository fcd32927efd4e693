// SPDX-License-Identifier: Apache-2.0
// http.h: the transport over the network: libcurl on a libuv loop.
//
// Reads, writes and watches have connections of their own, so that a stuck watch blocks no write. Rules as in
// client-go:
//   - a GET is sent again, at most ten times in all, after a second when the connection broke before an answer began,
//     and as the server says when it answers 429 or 5xx with Retry-After (at most a minute); nothing else is repeated,
//     a write never, not even by libcurl on a connection that had been idle;
//   - redirects are not followed; certificates are always checked unless the configuration says otherwise;
//   - TCP keep-alive and TCP_USER_TIMEOUT find connections whose other end is gone; a call that ran into its deadline
//   or
//     idle limit leaves its connection behind, new calls use new ones;
//   - changed certificates or CA: new connections for new calls, running calls end on the old ones.
#pragma once
#include "kube/config.h"
#include "kube/timers.h"
#include "kube/transport.h"

struct prg_http;

struct prg_http_options { // zeroed: defaults
    const char *user_agent;
    double rate;       // requests per second, 0: 20; below 0: no limit
    unsigned burst;    // 0: 30
    bool no_http2;     // as client-go's DISABLE_HTTP2
    uint64_t retry_ms; // before a broken GET is sent again, 0: a second
    size_t max_bytes;  // of an answer kept in memory, 0: 64 MiB
};

struct prg_http_counts {
    uint64_t requests; // sent, repetitions included
    uint64_t retries;
    uint64_t throttled_ms; // time that requests waited for the rate limit
};

// config is borrowed. Nothing is connected yet, so it does not fail.
struct prg_http *prg_http_new(uv_loop_t *loop, struct prg_timers *timers, const struct prg_kube_config *config,
                              const struct prg_http_options *options);
struct prg_transport *prg_http_transport(struct prg_http *http);
const struct prg_http_counts *prg_http_count(const struct prg_http *http);
// Ends all calls, without a word to them. Handles close as the loop runs on. May be called from any callback. NULL is
// fine.
void prg_http_close(struct prg_http *http);

// Value of a Retry-After header, seconds or a date, in ms and at most a minute. False when it is neither.
bool prg_http_retry_after(const char *text, int64_t wall_ns, uint64_t *ret_ms);
