// SPDX-License-Identifier: Apache-2.0
// seen.h: what the folder store remembers of users' objects, whose manifests it never writes: when each was first seen
// and which generation it has. Kept in .perigee/seen.ndjson, one line a change:
//   {"object": {"group", "kind", "namespace", "name"}, "creationTimestamp", "generation", "spec"}
// "spec" is the digest of what the generation counts; {"object": …, "gone": true} forgets an object. The last line of
// an object holds. The file is rewritten when most of it is out of date.
#pragma once
#include "object/key.h"

struct prg_seen_log;

struct prg_seen { // of one object
    char created[24];
    int64_t generation;
    uint64_t spec_digest;
};

// root is borrowed. Reads the file; changes nothing on disk.
int prg_seen_log_open(const char *root, struct prg_seen_log **ret, struct prg_error *err) PRG_MUST_USE;
void prg_seen_log_free(struct prg_seen_log *log);

// NULL when the object has not been seen. Lives until the next call that changes the log.
const struct prg_seen *prg_seen_get(const struct prg_seen_log *log, const char *path);
// path is the object's prg_catalog_path; it stands for the key. Both reach the file with the next flush.
void prg_seen_set(struct prg_seen_log *log, const char *path, const struct prg_key *key, const struct prg_seen *seen);
void prg_seen_forget(struct prg_seen_log *log, const char *path);
// Calls visit for each object that is remembered. visit may forget it.
void prg_seen_each(const struct prg_seen_log *log, void (*visit)(const char *path, void *ctx), void *ctx);
int prg_seen_flush(struct prg_seen_log *log, struct prg_error *err) PRG_MUST_USE;
