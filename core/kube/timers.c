// SPDX-License-Identifier: Apache-2.0
// timers.c: a heap of timers behind one libuv timer.
#include "kube/timers.h"

#include <stdlib.h>

#include "base/clock.h"

struct prg_timers {
    struct prg_timer **heap; // heap[0] is due first
    size_t count, cap;
    uint64_t order;
    bool is_manual;
    uint64_t now_ms; // manual
    int64_t wall_ns; // manual
    uv_timer_t handle;
};

static bool is_before(const struct prg_timer *a, const struct prg_timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->order < b->order;
}

static void put_at(struct prg_timers *t, size_t i, struct prg_timer *timer)
{
    t->heap[i] = timer;
    timer->place = i + 1;
}

static void sift_up(struct prg_timers *t, size_t i, struct prg_timer *timer)
{
    for (; i > 0 && is_before(timer, t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        put_at(t, i, t->heap[(i - 1) / 2]);
    put_at(t, i, timer);
}

static void sift_down(struct prg_timers *t, size_t i, struct prg_timer *timer)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < t->count && is_before(t->heap[child + 1], t->heap[child]))
            child++;
        if (child >= t->count || !is_before(t->heap[child], timer))
            break;
        put_at(t, i, t->heap[child]);
        i = child;
    }
    put_at(t, i, timer);
}

static void take_out(struct prg_timers *t, struct prg_timer *timer)
{
    size_t i = timer->place - 1;
    struct prg_timer *last = t->heap[--t->count];
    timer->place = 0;
    if (last == timer)
        return;
    sift_down(t, i, last);
    sift_up(t, last->place - 1, last);
}

static void on_timer(uv_timer_t *handle);

// Sets the libuv timer to the first of the heap.
static void arm(struct prg_timers *t)
{
    if (t->is_manual)
        return;
    if (!t->count) {
        uv_timer_stop(&t->handle);
        return;
    }
    uint64_t now = prg_timers_now(t), due = t->heap[0]->due_ms;
    uv_update_time(t->handle.loop);
    // One more than the rest: libuv's clock may be behind ours by a part of a millisecond.
    uv_timer_start(&t->handle, on_timer, due > now ? due - now + 1 : 0, 0);
}

static void run_due(struct prg_timers *t, uint64_t now_ms)
{
    uint64_t last_order = t->order; // those started by a callback wait for the next round
    while (t->count && t->heap[0]->due_ms <= now_ms && t->heap[0]->order <= last_order) {
        struct prg_timer *timer = t->heap[0];
        take_out(t, timer);
        timer->fn(timer->ctx);
    }
}

static void on_timer(uv_timer_t *handle)
{
    struct prg_timers *t = handle->data;
    run_due(t, prg_timers_now(t));
    arm(t);
}

struct prg_timers *prg_timers_new(uv_loop_t *loop)
{
    struct prg_timers *t = prg_xcalloc(1, sizeof(*t));
    prg_require(uv_timer_init(loop, &t->handle) == 0);
    t->handle.data = t;
    return t;
}

struct prg_timers *prg_timers_new_manual(uint64_t now_ms, int64_t wall_ns)
{
    struct prg_timers *t = prg_xcalloc(1, sizeof(*t));
    t->is_manual = true;
    t->now_ms = now_ms;
    t->wall_ns = wall_ns;
    return t;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void prg_timers_free(struct prg_timers *t)
{
    if (!t)
        return;
    prg_require(t->count == 0);
    free(t->heap);
    if (t->is_manual)
        free(t);
    else
        uv_close((uv_handle_t *)&t->handle, on_closed);
}

uint64_t prg_timers_now(const struct prg_timers *t)
{
    return t->is_manual ? t->now_ms : (uint64_t)(prg_clock_monotonic_ns() / 1000000);
}

int64_t prg_timers_wall_ns(const struct prg_timers *t)
{
    return t->is_manual ? t->wall_ns : prg_clock_wall_ns();
}

void prg_timer_start(struct prg_timers *t, struct prg_timer *timer, uint64_t delay_ms, prg_timer_fn fn, void *ctx)
{
    if (timer->place)
        take_out(t, timer);
    uint64_t now = prg_timers_now(t);
    timer->fn = fn;
    timer->ctx = ctx;
    timer->due_ms = delay_ms > UINT64_MAX / 2 - now ? UINT64_MAX / 2 : now + delay_ms;
    timer->order = ++t->order;
    if (t->count == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 16;
        t->heap = prg_xrealloc(t->heap, t->cap * sizeof(*t->heap));
    }
    t->count++;
    sift_up(t, t->count - 1, timer);
    if (t->heap[0] == timer)
        arm(t);
}

void prg_timer_stop(struct prg_timers *t, struct prg_timer *timer)
{
    if (!timer->place)
        return;
    bool was_first = timer->place == 1;
    take_out(t, timer);
    if (was_first)
        arm(t);
}

void prg_timers_advance(struct prg_timers *t, uint64_t delta_ms)
{
    prg_require(t->is_manual);
    uint64_t target = t->now_ms + delta_ms;
    while (t->count && t->heap[0]->due_ms <= target)
        prg_timers_step(t);
    t->wall_ns += (int64_t)(target - t->now_ms) * 1000000;
    t->now_ms = target;
}

bool prg_timers_step(struct prg_timers *t)
{
    prg_require(t->is_manual);
    if (!t->count)
        return false;
    struct prg_timer *timer = t->heap[0];
    if (timer->due_ms > t->now_ms) {
        t->wall_ns += (int64_t)(timer->due_ms - t->now_ms) * 1000000;
        t->now_ms = timer->due_ms;
    }
    take_out(t, timer);
    timer->fn(timer->ctx);
    return true;
}

int64_t prg_timers_next_ms(const struct prg_timers *t)
{
    if (!t->count)
        return -1;
    uint64_t now = prg_timers_now(t), due = t->heap[0]->due_ms;
    return due > now ? (int64_t)(due - now) : 0;
}

// ---- back-off ----

double prg_random(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return (double)(z >> 11) / (double)(UINT64_C(1) << 53);
}

uint64_t prg_retry_next(struct prg_retry *retry, uint64_t now_ms)
{
    if (retry->reset_ms && retry->failures && now_ms - retry->last_ms >= retry->reset_ms)
        retry->failures = 0;
    retry->last_ms = now_ms;
    uint64_t delay = retry->base_ms;
    for (unsigned i = 0; i < retry->failures && delay < retry->max_ms; i++)
        delay *= 2;
    if (delay > retry->max_ms)
        delay = retry->max_ms;
    if (retry->failures < 64)
        retry->failures++;
    return delay + (uint64_t)((double)delay * retry->jitter * prg_random(&retry->seed));
}
