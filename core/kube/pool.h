// SPDX-License-Identifier: Apache-2.0
// pool.h: a libcurl multi handle, and with it a set of connections, driven by a libuv loop.
#pragma once
#include <curl/curl.h>
#include <uv.h>

#include "base/base.h"

struct prg_pool;

// A transfer has ended and was taken out of the pool. Called outside of libcurl: anything is allowed.
typedef void (*prg_pool_fn)(CURL *easy, CURLcode result, void *ctx);

// max_connections: to one host, 0: no limit. inside counts how deep we are in libcurl's callbacks, where handles must
// not be added or taken out.
struct prg_pool *prg_pool_new(uv_loop_t *loop, long max_connections, unsigned *inside, prg_pool_fn finished, void *ctx);
// All transfers must be out. Closes the connections; memory goes when the loop has run on. NULL is fine. May be called
// from finished.
void prg_pool_free(struct prg_pool *pool);
void prg_pool_add(struct prg_pool *pool, CURL *easy);
void prg_pool_remove(struct prg_pool *pool, CURL *easy); // no finished comes for it
// Data have come for a transfer, from libcurl's callback: the sockets are looked at once more soon.
void prg_pool_heard(struct prg_pool *pool);
size_t prg_pool_count(const struct prg_pool *pool); // transfers in it
