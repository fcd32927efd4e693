// SPDX-License-Identifier: Apache-2.0
// reflector.h: keeps one kind of the cache as the server has it: list, then watch, for ever.
//
// A machine over answers of a transport and timers; no network and no loop of its own. Rules: client-go
// tools/cache/reflector.go, and what its issues taught; the table is in reflector.c.
#pragma once
#include "kube/objects.h"
#include "kube/timers.h"
#include "kube/transport.h"

struct prg_reflector;

enum prg_reflector_health {
    PRG_REFLECTOR_STARTING, // no list yet
    PRG_REFLECTOR_OK,
    PRG_REFLECTOR_BROKEN,  // something went wrong; it goes on with what it has, and tries again
    PRG_REFLECTOR_MISSING, // the server does not know the kind (yet)
    PRG_REFLECTOR_DENIED,  // we may not list or watch it
};

struct prg_reflector_options {
    const char *path;              // of the collection: "/api/v1/pods"
    const char *selector;          // "labelSelector=a%3Db", escaped, or NULL
    uint64_t seed;                 // of the jitter
    unsigned page_size;            // 0: 500
    bool uses_watch_list;          // streams the first list where the server can; falls back by itself
    bool is_strict;                // first list from etcd and not from a server's cache, which may be old
    size_t max_bytes;              // of one object, 0: a default
    struct prg_object_scope scope; // of its objects, where several reflectors keep one kind: prg_object_replace
    bool is_metadata_only;         // nothing but their metadata is sent
};

struct prg_reflector_handler { // each may be NULL; none may free the reflector or change the cache; stopping is fine
    prg_object_change_fn changed;
    // health changed, or a new problem: err is NULL when all is well.
    void (*health)(enum prg_reflector_health health, const struct prg_error *err, void *ctx);
    // The cache holds the first whole list (or the kind is missing, which is an answer too).
    void (*synced)(void *ctx);
    void *ctx;
};

struct prg_reflector_counts {
    uint64_t lists, watches, events, bookmarks, expired, refused_lines, failures;
};

// All are borrowed but the texts of options.
struct prg_reflector *prg_reflector_new(struct prg_transport *transport, struct prg_timers *timers,
                                        struct prg_object_kind *kind, const struct prg_reflector_options *options,
                                        const struct prg_reflector_handler *handler);
void prg_reflector_free(struct prg_reflector *reflector); // stops it; the cache stays. NULL is fine
void prg_reflector_start(struct prg_reflector *reflector);
void prg_reflector_stop(struct prg_reflector *reflector);
// Lists anew at once when it is waiting because the kind was missing or denied: discovery has news.
void prg_reflector_retry(struct prg_reflector *reflector);

bool prg_reflector_is_synced(const struct prg_reflector *reflector);
enum prg_reflector_health prg_reflector_health(const struct prg_reflector *reflector);
const char *prg_reflector_version(const struct prg_reflector *reflector); // last resourceVersion seen, or ""
const struct prg_reflector_counts *prg_reflector_count(const struct prg_reflector *reflector);
