// SPDX-License-Identifier: Apache-2.0
// kube_store.h: an API server as a store: reflectors keep a cache, which readers read; writes go through a client.
//
// A kind that the server does not have is empty, and fills when it is installed. Writes call back from the event loop,
// Events go through a recorder, nobody waits for them. Nothing is written while may_write says no.
#pragma once
#include "kube/client.h"
#include "kube/discovery.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "kube/reflector.h"
#include "store/store.h"

struct prg_kube_store;

struct prg_kube_watch { // a kind to be kept; texts are copied
    const char *group, *version, *kind, *plural;
    bool is_namespaced;
    bool is_metadata_only;     // nothing but metadata is asked for. Other watches of the kind may keep some whole
    const char *ns;            // only of this namespace. NULL: of those of the store
    const char *name;          // only the object of this name, then with ns unless cluster-scoped; NULL: all
    const char *label;         // only those that it selects, "key=value" or "key"; NULL: all
    const char *const *labels; // NULL-ended keys with an index, or NULL
    const struct prg_compact_rule *prune;
};

struct prg_kube_store_options {    // texts are copied
    const char *const *namespaces; // that are read and written; none: all
    size_t namespace_count;
    const char *instance;         // of the Events, NULL: the component
    bool (*may_write)(void *ctx); // NULL: always
    // An object appeared, changed or vanished after the first reading. Must not write.
    prg_store_watch_fn changed;
    void (*synced)(void *ctx);                      // everything was read once; comes once
    void (*installed)(const char *path, void *ctx); // a kind that was missing is there now, and read
    // Something is wrong with reading (err), or well again (NULL). path: of the collection.
    void (*health)(const char *path, enum prg_reflector_health health, const struct prg_error *err, void *ctx);
    void *ctx;
};

// transport and timers are borrowed. prg_store_free ends it; writes under way are dropped without a word.
struct prg_kube_store *prg_kube_store_new(struct prg_transport *transport, struct prg_timers *timers,
                                          const struct prg_kube_store_options *options);
struct prg_store *prg_kube_store_base(struct prg_kube_store *store);
// Before or after the start. A watch that is added later counts for is_read, but synced does not come again.
void prg_kube_store_watch(struct prg_kube_store *store, const struct prg_kube_watch *watch);
void prg_kube_store_start(struct prg_kube_store *store);
// Everything was read once, and we are still let in to read on. Else why tells what is missing, in at most size bytes.
bool prg_kube_store_is_read(const struct prg_kube_store *store, char *why, size_t size);
// Ends every write under way with a failure: the lease is lost.
void prg_kube_store_halt(struct prg_kube_store *store);
// Drops trees beyond the limit: between two turns, when no tree is in use.
void prg_kube_store_trim(struct prg_kube_store *store);

struct prg_kube_store_counts {
    size_t objects, open_writes, events_waiting;
    uint64_t writes, lists, watches, events;
};
void prg_kube_store_count(const struct prg_kube_store *store, struct prg_kube_store_counts *ret);
