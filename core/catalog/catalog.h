// SPDX-License-Identifier: Apache-2.0
// catalog.h: the folder store: manifests anywhere under a folder are the user's and never written; Perigee's own live
// in .perigee/.
//
//   PATH/**/*.yaml|yml|json   users' manifests, multi-document, List kinds; folders and files starting with a dot are
//                             skipped, and so is a policies.yaml beside Lua files; links to files are followed, links
//                             to folders are not
//   PATH/.perigee/objects/<group>/<Kind>/<namespace>/<name>.yaml
//                             rendered objects, one a file, with their status ("core" for the empty group, "_cluster"
//                             for no namespace; unusual characters as %XX)
//   PATH/.perigee/status/<group>/<Kind>/<namespace>/<name>.yaml
//                             status of users' objects: {apiVersion, kind, metadata, status}, of which only `status`
//                             counts, and metadata.annotations, which are laid over a manifest's. Where `status` is, it
//                             wins over the status in the manifest or rendered object
//   PATH/.perigee/seen.ndjson when each user's object was first seen, and its generation: seen.h
//   PATH/.perigee/events.ndjson
//                             Events, one a line, equal ones counted: events.h
//
// What readers see of a user's object is its manifest with metadata.uid (a UUID made from the key), creationTimestamp
// (first seen) and, when it has a spec, generation (counts its changes), each unless the manifest has it, and the
// status. Rendered objects are stored with the same three. There is no resourceVersion: the content of the file is the
// version.
//
// Every write is to a temporary file in the same folder, fsync, rename, fsync of the folder: a kill leaves the old or
// the new file. What is equal is not written again. Opening writes nothing but removes temporary files of killed
// writers; the first writing call, or refresh, makes what was first seen lasting.
//
// A user's manifest wins over a rendered object of the same key. apply and remove of it are PRG_CONFLICT naming the
// file, and so is a patch of anything but annotations; annotations and set_status go to the status file. When somebody
// has edited that file and it was not read again yet, writing it is PRG_CONFLICT: nobody's edit is lost.
//
// refresh
//   - reads files whose stat has changed, and reports each object that is not what it was (own writes are not
//     reported);
//   - removes rendered objects whose controller owner (by uid) is gone, and theirs, and reports them; nothing goes
//     while a file or folder cannot be read, as the owner may be in there;
//   - with play_kubelet makes rendered Deployments and Knative Services available, with running pods of their own, and
//     lets rendered Pods run, once per generation, and reports all of it. So a driver that reconciles once calls
//     refresh and reconciles again until nothing is reported.
// `changed` must not change the store.
#pragma once
#include "store/store.h"

struct prg_catalog_options {
    const char *default_namespace; // for namespaced manifests without one; NULL: "default"
    bool play_kubelet;             // rendered Deployments become available, pods run, routes get ready; at refresh
    int64_t (*now_ns)(void *ctx);  // for timestamps it makes; NULL: the wall clock
    void *now_ctx;
};

// Reads the whole folder. Two documents for one object, unparsable files and unreadable folders are errors naming the
// places. options may be NULL; it is copied.
int prg_catalog_open(const char *path, const struct prg_catalog_options *options, struct prg_store **ret,
                     struct prg_error *err) PRG_MUST_USE;

// From now on tolerant: refresh reports a file that cannot be used to `problem`, once per content, and goes on with its
// last good objects. Without it refresh does the same, but returns the first such error.
typedef void (*prg_catalog_problem_fn)(const struct prg_error *err, void *ctx);
void prg_catalog_on_problem(struct prg_store *store, prg_catalog_problem_fn problem, void *ctx);

// Folders to watch for changes (absolute paths), for the driver's file watchers. Valid until the next refresh.
void prg_catalog_each_folder(const struct prg_store *store, void (*visit)(const char *path, void *ctx), void *ctx);
