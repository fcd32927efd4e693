// SPDX-License-Identifier: Apache-2.0
// runtimes.h: what choosing needs of each serving runtime, kept from plan to plan beside the store: one line per
// runtime in one array, with its formats and protocol, so that listing and matching a thousand of them does not walk
// through a thousand trees. A line is made anew when its tree is another one (prg_json_identity).
//
// Candidates that were made for one question (format, version, flags) are kept as well, and copied the next time. They
// then have a number (prg_runtime_request.candidates) by which policies know that they are the same.
#pragma once
#include "object/reader.h"
#include "serving/candidates.h"

struct prg_runtimes; // of one store

struct prg_runtimes *prg_runtimes_new(void);
void prg_runtimes_free(struct prg_runtimes *runtimes); // NULL is fine

// The candidates of a namespace: its ServingRuntimes, then the ClusterServingRuntimes, each in the order of the store.
// Those that cannot be read are told to refuse, in that order, and left out. What is given lives in arena and in the
// store's trees. runtimes may be NULL: nothing is kept, and request->candidates is 0.
struct prg_runtimes_handler {
    void (*refuse)(const cJSON *object, const char *why, void *ctx); // may be NULL
    void *ctx;
};
size_t prg_runtimes_candidates(struct prg_runtimes *runtimes, const struct prg_reader *store, const char *ns,
                               struct prg_runtime_request *request, const struct prg_compat *compat,
                               struct prg_arena *arena, const struct prg_runtimes_handler *handler,
                               struct prg_candidate **ret);

// What was made for questions is forgotten, the lines stay: for measuring.
void prg_runtimes_forget_candidates(struct prg_runtimes *runtimes);

// Where a runtime is not what policies may expect of one, or NULL. A runtime that somebody broke is no reason why
// services cannot get another one. Only what choosing looks at; the one that is chosen is checked as a whole.
const char *prg_runtime_unreadable(const cJSON *object);
