// SPDX-License-Identifier: Apache-2.0
// manifest.h: manifest files to single objects: the one way files become objects, for the folder store and for -f
// alike.
//
// Multi-document YAML or JSON; kind List (and any kind ending in "List" with an items array) is opened up; items of a
// PodList that name no kind are Pods. Each object gets a key; namespaced ones without a namespace get the default one.
// Errors name file:line.
#pragma once
#include "base/vec.h"
#include "object/key.h"
#include "yaml/load.h"

struct prg_manifest {
    cJSON *object; // in the arena given; changed only by adding the default namespace, or by removing the one of a
                   // kind that has none
    struct prg_key key;
    const char *file; // as given
    uint32_t line;    // of the object
    bool is_marked;   // of prg_manifest_load_files
};
// Returns PRG_OK to go on; anything else ends the load with that error.
typedef int (*prg_manifest_fn)(const struct prg_manifest *manifest, void *ctx, struct prg_error *err);

// Loads one file ("-": standard input). default_namespace NULL: "default".
int prg_manifest_load_file(struct prg_arena *arena, const char *path, const char *default_namespace,
                           prg_manifest_fn visit, void *ctx, struct prg_error *err) PRG_MUST_USE;
// The same of documents that were read already.
int prg_manifest_load_docs(struct prg_arena *arena, const struct prg_yaml_docs *docs, const char *name,
                           const char *default_namespace, prg_manifest_fn visit, void *ctx,
                           struct prg_error *err) PRG_MUST_USE;
// The same of a text; name is what errors and manifests call it.
int prg_manifest_load_text(struct prg_arena *arena, const char *name, const char *text, size_t length,
                           const char *default_namespace, prg_manifest_fn visit, void *ctx,
                           struct prg_error *err) PRG_MUST_USE;

// Many files, read by several threads. `mark`, when it is given, is asked about every object by the thread that read
// it, and its answer is manifest->is_marked; visit is called by the caller's thread, in the order of files and objects,
// as prg_manifest_load_file does, up to the first file that cannot be read. "-" may be among the paths once.
typedef bool (*prg_manifest_mark_fn)(const struct prg_manifest *manifest);
int prg_manifest_load_files(struct prg_arena *arena, const struct prg_vec *paths, const char *default_namespace,
                            prg_manifest_mark_fn mark, prg_manifest_fn visit, void *ctx,
                            struct prg_error *err) PRG_MUST_USE;
// *.yaml, *.yml, *.json.
bool prg_manifest_is_name(const char *name);
// Calls visit_file for each *.yaml, *.yml, *.json below path in byte order of their paths; a path that is a file is
// visited itself whatever its ending. recursive false: only files right in the folder. Folders and files starting with
// '.' are skipped; links to folders are not followed. PRG_IO for unreadable folders.
int prg_manifest_each_file(const char *path, bool recursive,
                           int (*visit_file)(const char *path, void *ctx, struct prg_error *err), void *ctx,
                           struct prg_error *err) PRG_MUST_USE;
