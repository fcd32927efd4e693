// SPDX-License-Identifier: Apache-2.0
// store.h: one interface over every place objects live in: memory (tests, plan -f), a folder (core/catalog), an API
// server (core/kube).
//
// Single-threaded. Objects handed out are immutable and borrowed: they live until the next call that changes the store;
// copy what is kept. Writes are by intent: apply merges what Perigee owns into what is stored and leaves fields of
// others alone.
#pragma once
#include "object/reader.h"

struct prg_store;

enum prg_store_result { PRG_STORE_UNCHANGED, PRG_STORE_CREATED, PRG_STORE_UPDATED, PRG_STORE_DELETED };

struct prg_store_event { // a Kubernetes Event about an object
    const char *type;    // "Normal" or "Warning"
    const char *reason;
    const char *message;
};

typedef void (*prg_store_watch_fn)(const struct prg_key *key,
                                   void *ctx); // key of an object that appeared, changed or vanished

struct prg_store_ops {
    // Makes object as given the stored intent; fields of others (status, a replica count an autoscaler owns) stay. The
    // rule: store/intent.h.
    int (*apply)(struct prg_store *store, const cJSON *object, enum prg_store_result *ret, struct prg_error *err);
    // Deletes only when the stored uid equals uid (NULL or "": any), else PRG_CONFLICT. Absent is PRG_STORE_UNCHANGED.
    int (*remove)(struct prg_store *store, const struct prg_key *key, const char *uid, enum prg_store_result *ret,
                  struct prg_error *err);
    // Replaces the status of an existing object.
    int (*set_status)(struct prg_store *store, const struct prg_key *key, const cJSON *status,
                      enum prg_store_result *ret, struct prg_error *err);
    int (*record_event)(struct prg_store *store, const struct prg_key *key, const struct prg_store_event *event,
                        int64_t now_ns, struct prg_error *err);
    // Reads again what changed outside since the last call and reports each key once. No-op for memory stores.
    int (*refresh)(struct prg_store *store, prg_store_watch_fn changed, void *ctx, struct prg_error *err);
    void (*free)(struct prg_store *store);
};

struct prg_store {
    struct prg_reader reader; // first member: &store->reader is a prg_reader
    const struct prg_store_ops *ops;
};

static inline void prg_store_free(struct prg_store *store)
{
    if (store)
        store->ops->free(store);
}
