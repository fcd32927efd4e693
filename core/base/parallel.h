// SPDX-License-Identifier: Apache-2.0
// parallel.h: numbered pieces of work, done by several threads.
#pragma once
#include "base/base.h"

// worker: which of the threads it is, below `threads`; what belongs to a worker is used by one thread at a time.
typedef void (*prg_parallel_fn)(size_t piece, size_t worker, void *ctx);

// Calls fn for every piece below count, each once, and returns when all of it is done. The caller's thread is one of
// the `threads` (from 1); when there are no more threads to be had, fewer do the work. Pieces are begun in their order.
void prg_parallel(size_t count, size_t threads, prg_parallel_fn fn, void *ctx);

// As many threads as there are processors, but no more than there are pieces, nor than `most`; at least one.
size_t prg_parallel_threads(size_t pieces, size_t most);
