// SPDX-License-Identifier: Apache-2.0
// discovery.h: which kinds the server knows, and under which addresses. Asked for when needed, kept for a while.
//
// A group or kind that is not there is an answer, not an error: it may be installed later, so it is asked for again.
#pragma once
#include "kube/path.h"
#include "kube/timers.h"
#include "kube/transport.h"

struct prg_discovery;

#define PRG_DISCOVERY_KEEP_MS (10 * 60 * 1000) // what is there
#define PRG_DISCOVERY_MISS_MS 10000            // what was missing is not asked for more often

struct prg_discovery *prg_discovery_new(struct prg_transport *transport, struct prg_timers *timers);
void prg_discovery_free(struct prg_discovery *discovery); // questions under way are not answered. NULL is fine

// resource is NULL when the server does not have the kind (err NULL), or when it could not be asked (err says why).
// Borrowed during the call.
typedef void (*prg_discovery_fn)(const struct prg_resource *resource, const struct prg_error *err, void *ctx);

struct prg_question;
// Finds api_version ("apps/v1") and kind. fn comes once, never from within this call, but soon when the answer is
// known.
struct prg_question *prg_discovery_find(struct prg_discovery *discovery, const char *api_version, const char *kind,
                                        prg_discovery_fn fn, void *ctx);
void prg_question_cancel(struct prg_question *question); // fn does not come. Not after fn
// The server said 404 where we thought to know better: asks anew next time.
void prg_discovery_forget(struct prg_discovery *discovery, const char *api_version);
