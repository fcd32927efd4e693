// SPDX-License-Identifier: Apache-2.0
// timers.h: the time for all of core/kube: a clock and one-shot timers, on a libuv loop or moved by hand (tests).
//
// All times are milliseconds of a clock that never goes back. Timers that are due at one time run in the order in which
// they were started. A timer is a member of its owner, which stops it before it dies.
#pragma once
#include <uv.h>

#include "base/base.h"

struct prg_timers;

typedef void (*prg_timer_fn)(void *ctx);

struct prg_timer { // zeroed: not running; all private
    prg_timer_fn fn;
    void *ctx;
    uint64_t due_ms, order;
    size_t place; // in the heap, from 1; 0: not running
};

struct prg_timers *prg_timers_new(uv_loop_t *loop);
// A clock that stands still but for prg_timers_advance.
struct prg_timers *prg_timers_new_manual(uint64_t now_ms, int64_t wall_ns);
// No timer may be running. Memory goes when the loop has run once more (at once for a manual clock). NULL is fine.
void prg_timers_free(struct prg_timers *timers);

uint64_t prg_timers_now(const struct prg_timers *timers);
int64_t prg_timers_wall_ns(const struct prg_timers *timers); // since 1970; only for showing and for expiry dates

// Runs fn once, delay_ms from now, never from within this call. A running timer is started anew.
void prg_timer_start(struct prg_timers *timers, struct prg_timer *timer, uint64_t delay_ms, prg_timer_fn fn, void *ctx);
void prg_timer_stop(struct prg_timers *timers, struct prg_timer *timer); // not running is fine
static inline bool prg_timer_is_running(const struct prg_timer *timer)
{
    return timer->place != 0;
}

// Manual clock: moves on by delta_ms, running what becomes due on the way, each at its own time.
void prg_timers_advance(struct prg_timers *timers, uint64_t delta_ms);
// Manual clock: moves on to the next due timer and runs it. False when none is running.
bool prg_timers_step(struct prg_timers *timers);
// Milliseconds until the next timer is due, -1 when none is running.
int64_t prg_timers_next_ms(const struct prg_timers *timers);

// ---- back-off ----

// delay of the n-th failure in a row: base * factor^n plus up to jitter * that, at most max (before the jitter).
struct prg_retry {
    uint64_t base_ms, max_ms;
    double jitter;     // 1.0: up to twice
    uint64_t reset_ms; // without a failure for so long: begins anew; 0: never
    uint64_t seed;     // state of the random numbers; private after the start
    unsigned failures;
    uint64_t last_ms;
};
uint64_t prg_retry_next(struct prg_retry *retry, uint64_t now_ms);
static inline void prg_retry_reset(struct prg_retry *retry)
{
    retry->failures = 0;
}
// A number in [0, 1) from a seed, which it moves on (splitmix64).
double prg_random(uint64_t *seed);
