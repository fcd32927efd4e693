// SPDX-License-Identifier: Apache-2.0
// scan.h: one walk over the folder store: which files and folders are there, without opening any file.
#pragma once
#include "base/error.h"

struct stat;

enum prg_scan_part {
    PRG_SCAN_MANIFESTS, // users' *.yaml, *.yml, *.json, anywhere but in folders (and files) that start with a dot
    PRG_SCAN_OBJECTS,   // .perigee/objects/**/*.yaml
    PRG_SCAN_STATUS,    // .perigee/status/**/*.yaml
};

struct prg_scan_visitor {
    // path is relative to root. Links to files are followed; info is NULL, and error the reason, for one that leads
    // nowhere.
    void (*file)(enum prg_scan_part part, const char *path, const struct stat *info, int error, void *ctx);
    void (*folder)(const char *path, void *ctx); // "" is root itself
    // A folder that cannot be read, with all that is below it.
    void (*unreadable)(const char *path, const struct prg_error *err, void *ctx);
    void *ctx;
    bool tidy; // remove the temporary files of killed writers
};

// Links to folders are not followed, so there are no loops. Names come in byte order. PRG_IO when root itself cannot be
// read. A policies.yaml beside Lua files is the settings of a policy set, and no manifest.
int prg_scan(const char *root, const struct prg_scan_visitor *visitor, struct prg_error *err) PRG_MUST_USE;
