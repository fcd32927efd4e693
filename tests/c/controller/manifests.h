// SPDX-License-Identifier: Apache-2.0
// manifests.h: files of manifests into a store in memory.
#pragma once
#include "support/support.h"

#include "catalog/manifest.h"
#include "store/store_mem.h"

struct manifests {
    struct prg_arena *arena;
    struct prg_store *store;
};

static inline int manifests_put(const struct prg_manifest *manifest, void *ctx, struct prg_error *err)
{
    return prg_store_mem_put(((struct manifests *)ctx)->store, manifest->object, false, true, err);
}

static inline int manifests_read(const char *path, void *ctx, struct prg_error *err)
{
    return prg_manifest_load_file(((struct manifests *)ctx)->arena, path, NULL, manifests_put, ctx, err);
}

// A file, or a folder and those in it. Fails the test itself.
static inline void manifests_load(struct prg_arena *arena, struct prg_store *store, const char *path)
{
    struct manifests manifests = {arena, store};
    struct prg_error err = {0};
    assert_ok(prg_manifest_each_file(path, true, manifests_read, &manifests, &err), &err);
}
