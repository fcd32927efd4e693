// SPDX-License-Identifier: Apache-2.0
// store.h: one interface over every place objects live in: memory (tests, plan -f), a folder (core/catalog), an API
// server (core/kube).
//
// Single-threaded. Objects handed out are immutable and borrowed: they live until the next call that changes the store
// or lets it change (a turn of the event loop); copy what is kept. Writes are by intent: apply merges what Perigee owns
// into what is stored and leaves fields of others alone.
//
// A write is asked for with a callback that comes exactly once, later, never from within the call, with its outcome.
// An API server calls back from the event loop. Memory and folder do the write at once and call back from
// prg_store_deliver, which the driver calls after each turn: so there is one order of things for all stores.
#pragma once
#include "object/reader.h"
#include "store/write.h"

struct prg_store;

struct prg_store_event { // a Kubernetes Event about an object
    const char *type;    // "Normal" or "Warning"
    const char *reason;
    const char *message;
};

typedef void (*prg_store_watch_fn)(const struct prg_key *key,
                                   void *ctx); // key of an object that appeared, changed or vanished

struct prg_store_ops {
    // ---- stores that write at once; NULL in the others ----
    // Makes object as given the stored intent; fields of others (status, a replica count an autoscaler owns) stay. The
    // rule: store/intent.h.
    int (*apply)(struct prg_store *store, const cJSON *object, enum prg_write_result *ret, struct prg_error *err);
    // Deletes only when the stored uid equals uid (NULL or "": any), else PRG_CONFLICT. Absent is PRG_WRITE_UNCHANGED.
    int (*remove)(struct prg_store *store, const struct prg_key *key, const char *uid, enum prg_write_result *ret,
                  struct prg_error *err);
    // Replaces the status of an existing object.
    int (*set_status)(struct prg_store *store, const struct prg_key *key, const cJSON *status,
                      enum prg_write_result *ret, struct prg_error *err);
    // Changes an existing object by a JSON merge patch. NULL: apply of the patched object.
    int (*patch)(struct prg_store *store, const struct prg_key *key, const cJSON *patch, enum prg_write_result *ret,
                 struct prg_error *err);
    // ---- stores whose writes take time; NULL in the others ----
    void (*start)(struct prg_store *store, const struct prg_write_request *request, prg_write_fn fn, void *ctx);
    void (*cancel)(struct prg_store *store, void *ctx);
    // ---- all ----
    int (*record_event)(struct prg_store *store, const struct prg_key *key, const struct prg_store_event *event,
                        int64_t now_ns, struct prg_error *err);
    // Reads again what changed outside since the last call and reports each key once. No-op for stores that are told.
    int (*refresh)(struct prg_store *store, prg_store_watch_fn changed, void *ctx, struct prg_error *err);
    void (*free)(struct prg_store *store);
};

struct prg_store_outcome; // of a write that was done at once, on its way to the callback

struct prg_store {
    struct prg_reader reader; // first member: &store->reader is a prg_reader
    const struct prg_store_ops *ops;
    struct prg_store_outcome *first, *last; // private
};

// Asks for a write: fn comes once, later.
void prg_store_write(struct prg_store *store, const struct prg_write_request *request, prg_write_fn fn, void *ctx);
// The callbacks of the writes that were asked for with this ctx do not come; what was sent may still be done.
void prg_store_cancel(struct prg_store *store, void *ctx);
// Calls back for the writes done at once so far, in their order, and for those asked for meanwhile. Returns how many.
size_t prg_store_deliver(struct prg_store *store);
static inline bool prg_store_is_delivered(const struct prg_store *store)
{
    return store->first == NULL;
}

void prg_store_free(struct prg_store *store); // callbacks under way do not come. NULL is fine
