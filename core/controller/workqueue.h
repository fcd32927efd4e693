// SPDX-License-Identifier: Apache-2.0
// workqueue.h: keyed queue with delays and per-key back-off. A data structure only: the caller brings the time.
//
// A key waits at most once, at the earliest time asked for. A key being processed is never handed out a second time;
// adding it meanwhile queues it again when prg_workqueue_done is called. Source of the rules: client-go util/workqueue.
#pragma once
#include "base/base.h"

struct prg_workqueue; // opaque

struct prg_backoff {
    uint64_t base_ms, max_ms; // delay of the n-th failure in a row: base * 2^n, at most max
};

struct prg_workqueue *prg_workqueue_new(const struct prg_backoff *backoff);
void prg_workqueue_free(struct prg_workqueue *queue); // NULL is fine
// The queue of a controller with so many hands (0: made 1): what it does is counted (base/meters.h) under the
// controller's name, which must stay.
struct prg_workqueue *prg_workqueue_of(const char *controller, unsigned *workers, const struct prg_backoff *backoff);

// Copies key.
void prg_workqueue_add(struct prg_workqueue *queue, const char *key, uint64_t now_ms);
void prg_workqueue_add_after(struct prg_workqueue *queue, const char *key, uint64_t now_ms, uint64_t delay_ms);
// After its back-off, and not before least_ms.
void prg_workqueue_add_failed(struct prg_workqueue *queue, const char *key, uint64_t now_ms, uint64_t least_ms);
void prg_workqueue_forget(struct prg_workqueue *queue, const char *key); // resets the back-off

// The next key that is due, in order of due time then of arrival, now being processed; NULL when none is due. The text
// lives until done.
const char *prg_workqueue_take(struct prg_workqueue *queue, uint64_t now_ms);
void prg_workqueue_done(struct prg_workqueue *queue, const char *key, uint64_t now_ms);

// Milliseconds until the next key is due, 0 when one is; -1 when nothing waits.
int64_t prg_workqueue_next_ms(const struct prg_workqueue *queue, uint64_t now_ms);
