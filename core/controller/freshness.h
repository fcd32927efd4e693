// SPDX-License-Identifier: Apache-2.0
// freshness.h: has the cache of an API server seen our own writes yet? A plan from before them would do them again.
//
// Versions of one object are decimal numbers that grow (Kubernetes 1.35, KEP-5504). A write that the cache has not
// shown after a second holds nobody up any more: applying twice does no harm, waiting for ever does.
#pragma once
#include "controller/reconcile.h"
#include "object/reader.h"

#define PRG_FRESHNESS_MS 1000

struct prg_freshness;

struct prg_freshness *prg_freshness_new(void);
void prg_freshness_free(struct prg_freshness *freshness); // NULL is fine
// What the reconcile wrote under this queue key is to be seen before the next plan.
void prg_freshness_note(struct prg_freshness *freshness, const char *key, const struct prg_reconcile *reconcile,
                        uint64_t now_ms);
// Milliseconds that a plan of key should wait for at most, 0: go.
uint64_t prg_freshness_wait_ms(struct prg_freshness *freshness, const char *key, const struct prg_reader *reader,
                               uint64_t now_ms);
// a is b or a later one. Of other texts than decimal numbers: only when they are equal.
bool prg_freshness_is_reached(const char *a, const char *b);
