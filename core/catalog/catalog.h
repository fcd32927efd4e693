// SPDX-License-Identifier: Apache-2.0
// catalog.h: the folder store: manifests anywhere under a folder are the user's and never written; Perigee's own live
// in .perigee/.
//
//   PATH/**/*.yaml|yml|json                      users' manifests, multi-document, List kinds; folders starting with a
//   dot skipped PATH/.perigee/objects/<group>/<Kind>/<namespace>/<name>.yaml   rendered objects ("core" for "",
//   "_cluster" for no namespace) PATH/.perigee/status/<group>/<Kind>/<namespace>/<name>.yaml    status (and uid,
//   generation) of users' objects PATH/.perigee/events.ndjson                                     one Event a line,
//   bounded, rotated
// Every write is to a temporary file in the same folder, fsync, rename, fsync of the folder: a kill leaves the old or
// the new file.
#pragma once
#include "store/store.h"

struct prg_catalog_options {
    const char *default_namespace; // for namespaced manifests without one; NULL: "default"
    bool play_kubelet;             // rendered Deployments become available, pods run
    int64_t (*now_ns)(void *ctx);  // for timestamps it makes; NULL: the wall clock
    void *now_ctx;
};

// Reads the whole folder. Two documents for one object, unparsable files and unreadable folders are errors naming the
// places; with `tolerant` such files are left out and reported to `problem` instead (the running controller goes on
// with the rest).
typedef void (*prg_catalog_problem_fn)(const struct prg_error *err, void *ctx);
int prg_catalog_open(const char *path, const struct prg_catalog_options *options, struct prg_store **ret,
                     struct prg_error *err) PRG_MUST_USE;
void prg_catalog_on_problem(struct prg_store *store, prg_catalog_problem_fn problem, void *ctx); // from now on tolerant

// Where an object came from: "path:line" of the manifest, in arena, or NULL.
const char *prg_catalog_source(const struct prg_store *store, struct prg_arena *arena, const struct prg_key *key);
// Folders to watch for changes (absolute paths), for the driver's file watchers. Valid until the next refresh.
void prg_catalog_each_folder(const struct prg_store *store, void (*visit)(const char *path, void *ctx), void *ctx);

// Loads manifests of files and folders given with -f ("-" is stdin) into a memory store: what plan and friends read.
struct prg_store_source {
    const char *path;
    bool recursive;
};
