// SPDX-License-Identifier: Apache-2.0
// parallel.c: threads that take pieces off a counter.
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct work {
    prg_parallel_fn fn;
    void *ctx;
    size_t count;
    atomic_size_t next;
};

struct worker {
    struct work *work;
    size_t number;
    pthread_t thread;
    bool is_started;
};

static void *run(void *arg)
{
    const struct worker *worker = arg;
    struct work *work = worker->work;
    size_t piece;
    while ((piece = atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed)) < work->count)
        work->fn(piece, worker->number, work->ctx);
    return NULL;
}

void prg_parallel(size_t count, size_t threads, prg_parallel_fn fn, void *ctx)
{
    struct work work = {.fn = fn, .ctx = ctx, .count = count};
    struct worker *workers = prg_xcalloc(threads ? threads : 1, sizeof(*workers));
    for (size_t i = 0; i == 0 || i < threads; i++)
        workers[i] = (struct worker){.work = &work, .number = i};
    for (size_t i = 1; i < threads && i < count; i++)
        workers[i].is_started = pthread_create(&workers[i].thread, NULL, run, &workers[i]) == 0;
    (void)run(&workers[0]);
    for (size_t i = 1; i < threads; i++)
        if (workers[i].is_started)
            pthread_join(workers[i].thread, NULL);
    free(workers);
}

size_t prg_parallel_threads(size_t pieces, size_t most)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = processors > 0 ? (size_t)processors : 1;
    if (threads > most)
        threads = most;
    if (threads > pieces)
        threads = pieces;
    return threads ? threads : 1;
}
