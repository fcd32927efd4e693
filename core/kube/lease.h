// SPDX-License-Identifier: Apache-2.0
// lease.h: leader election over a coordination.k8s.io/v1 Lease, with client-go's timings.
//
// Who holds the lease is judged by how long its record has not changed by our own clock, never by the times in it. A
// leader that could not renew for the renew deadline has lost, whatever the server says later: prg_lease_is_leader is
// false from that moment on, also when no timer could run (a stopped process), so it is the gate of every write.
#pragma once
#include "kube/timers.h"
#include "kube/transport.h"

struct prg_lease;

struct prg_lease_options { // texts are copied
    const char *ns, *name;
    const char *identity; // unique per process: "host_1f3e…"
    uint64_t duration_ms; // 0: 15 s
    uint64_t renew_ms;    // deadline, 0: 10 s
    uint64_t retry_ms;    // 0: 2 s
    uint64_t seed;        // of the jitter
};

struct prg_lease_handler { // each may be NULL; none may free the lease
    void (*started)(void *ctx);
    void (*stopped)(void *ctx);                              // lost, or given back; writes must end now
    void (*observed)(const char *identity, void *ctx);       // another holder, "" for nobody
    void (*problem)(const struct prg_error *err, void *ctx); // told when it is another than before
    void *ctx;
};

// PRG_INVALID when the timings do not fit: duration > renew > 1.2 * retry.
int prg_lease_new(struct prg_transport *transport, struct prg_timers *timers, const struct prg_lease_options *options,
                  const struct prg_lease_handler *handler, struct prg_lease **ret, struct prg_error *err) PRG_MUST_USE;
void prg_lease_free(struct prg_lease *lease); // without giving back. NULL is fine
void prg_lease_start(struct prg_lease *lease);
// Stops leading (stopped is called first), then gives the lease back so that another need not wait; done comes when
// that is over or has failed. Starting again is fine afterwards.
void prg_lease_release(struct prg_lease *lease, void (*done)(void *ctx), void *ctx);
bool prg_lease_is_leader(const struct prg_lease *lease);

// "2026-06-01T00:00:00.000000Z": a MicroTime; the server refuses any other number of digits.
#define PRG_MICRO_TIME 40
const char *prg_lease_time(int64_t wall_ns, char buffer[PRG_MICRO_TIME]);
