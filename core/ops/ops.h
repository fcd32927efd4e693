// SPDX-License-Identifier: Apache-2.0
// ops.h: the port for operators: /healthz, /livez and /readyz with named checks as an API server has them, and /metrics
// for Prometheus. Plain HTTP.
//
//   GET /readyz              200 "ok", or 500 and the list of checks
//   GET /readyz?verbose      the list in any case
//   GET /readyz?exclude=X    without the check X
//   GET /readyz/X            the check X alone
#pragma once
#include <uv.h>

#include "base/error.h"
#include "base/metrics.h"

struct prg_ops;

enum prg_ops_endpoint { // where a check counts
    PRG_OPS_HEALTH = 1, // /healthz and /livez: false means that only a new start helps
    PRG_OPS_READY = 2,  // /readyz
};

struct prg_ops_options {
    const char *address;         // NULL: "127.0.0.1"
    uint16_t port;               // 0: any that is free
    struct prg_metrics *metrics; // borrowed; NULL: /metrics is not there
};

// Every endpoint has the check "ping", which holds while the loop runs.
struct prg_ops *prg_ops_new(uv_loop_t *loop, const struct prg_ops_options *options);
// check answers whether all is well, else with a reason of at most `size` bytes (terminated) in `why`. name: letters,
// digits and '-'; must stay. A check of that name is replaced.
typedef bool (*prg_ops_check_fn)(char *why, size_t size, void *ctx);
void prg_ops_add(struct prg_ops *ops, const char *name, unsigned endpoints, prg_ops_check_fn check, void *ctx);
int prg_ops_listen(struct prg_ops *ops, struct prg_error *err) PRG_MUST_USE;
uint16_t prg_ops_port(const struct prg_ops *ops); // 0: not listening
// Ends listening. Memory goes when the loop has run once more. NULL is fine.
void prg_ops_close(struct prg_ops *ops);

// What Prometheus' client libraries tell of a process: memory, processor time, open files, start, version.
void prg_ops_add_process(struct prg_metrics *metrics, const char *version);
