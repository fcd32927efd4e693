// SPDX-License-Identifier: Apache-2.0
// snapshot.h: an API server as a store to read from: what is asked for is fetched when it is asked for, once, and kept.
// For commands that look at a cluster and end; it watches nothing and writes nothing.
//
// Reading blocks: each question runs a loop of its own until its answer is there. What a plan is known to need can be
// asked for in advance (prg_snapshot_hint), so that the answers arrive together over one connection. Kinds that the
// server does not have are empty. Objects come without managedFields, pods of a list as prg_prune_pod leaves them.
//
// get and list may be called from several threads at a time.
#pragma once
#include "kube/config.h"
#include "store/store.h"

struct prg_snapshot_options { // texts are copied
    const char *user_agent;
    // Whole kinds are listed instead of single objects, in the cluster scope and this namespace (NULL: in all; "": in
    // that of the context).
    bool is_bulk;
    const char *bulk_ns;
    // Something that a plan can do without could not be read. NULL: nobody is told.
    void (*warn)(const char *text, void *ctx);
    void *ctx;
};

// Loads the kubeconfig as choice says (NULL: as the surroundings say) and connects to nothing yet. PRG_NOTFOUND: there
// is no kubeconfig at all. The store has no writing operations. Its reader has a trouble function (object/reader.h):
// refused, unreachable, not trusted, not allowed; all name the object and the cluster.
int prg_snapshot_open(const struct prg_kube_choice *choice, const struct prg_snapshot_options *options,
                      struct prg_store **ret, struct prg_error *err) PRG_MUST_USE;
// The namespace of the context, "default" when it has none.
const char *prg_snapshot_namespace(const struct prg_store *store);
// The store is one of prg_snapshot_open.
bool prg_snapshot_is(const struct prg_store *store);

// Begins to fetch one object, unless that has begun.
void prg_snapshot_hint(struct prg_store *store, const char *group, const char *kind, const char *ns, const char *name);
// The same for all of a kind in ns (NULL: in all namespaces), or those with the label unless it is NULL.
void prg_snapshot_hint_list(struct prg_store *store, const char *group, const char *kind, const char *ns,
                            const char *label, const char *value);
// False when the server said that it has no such kind, in an answer to a get or list.
bool prg_snapshot_has_kind(struct prg_store *store, const char *group, const char *kind);
// Forgets what went wrong: it is asked for again when it is needed.
void prg_snapshot_retry(struct prg_store *store);
