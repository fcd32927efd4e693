// SPDX-License-Identifier: Apache-2.0
// policy_set.c: the policy sets that commands are given.
#include <stdio.h>

#include "cli/cli.h"
#include "controller/policy_place.h"
#include "kube/snapshot.h"

// For one ConfigMap: whole kinds of a cluster are not listed for it.
static int open_objects(const struct prg_cli_options *options, struct prg_arena *arena, struct prg_store **ret,
                        struct prg_error *err)
{
    struct prg_kube_choice choice = {.kubeconfig = options->kubeconfig, .context = options->context, .ns = options->ns};
    struct prg_snapshot_options snapshot = {.is_bulk = false};
    return prg_source_is_cluster(options) ? prg_snapshot_open(&choice, &snapshot, ret, err)
                                          : prg_source_open(options, arena, ret, err);
}

int prg_cli_set_read(const struct prg_cli_options *options, const char *name, const struct prg_store *store,
                     struct prg_arena *arena, struct prg_cli_set *ret, void (*report)(const char *text, void *ctx),
                     void *ctx, struct prg_error *err)
{
    struct prg_policy_place place;
    struct prg_store *opened = NULL;
    *ret = (struct prg_cli_set){.name = name};
    prg_vec_init(&ret->texts);
    int rc = prg_policy_place_parse(arena, name, &place, err);
    if (rc == PRG_OK && place.name && !store) {
        rc = open_objects(options, arena, &opened, err);
        if (rc != PRG_OK)
            return prg_wrap(err, "policies %s", name);
        store = opened;
    }
    ret->folder = place.folder;
    if (rc == PRG_OK)
        rc = prg_policy_place_read(&place, store ? &store->reader : NULL, arena, &ret->texts, report, ctx, err);
    prg_store_free(opened);
    return rc == PRG_INVALID ? prg_wrap(err, "policies") : rc;
}

static void print_error(const char *text, void *ctx)
{
    ++*(size_t *)ctx;
    fprintf(stderr, "error: %s\n", text);
}

// One policy of a set: whether the set, and not the program, has a word in it.
struct own_word {
    const struct prg_policy_set *set;
    bool is_there;
};

static void look_for_word(const char *policy, const char *file, bool shipped, void *ctx)
{
    struct own_word *own = ctx;
    (void)file;
    own->is_there = own->is_there || !shipped || prg_policy_set_differs(own->set, policy);
}

void prg_cli_note_idle_set(const char *name, const struct prg_policy_set *set)
{
    struct own_word own = {set, false};
    prg_policy_set_each_file(set, look_for_word, &own);
    if (name && !own.is_there)
        fprintf(stderr,
                "note: %s: no file in it decides anything, so the shipped policies do; files are named after their "
                "policy, as in image.lua, or named under use in policies.yaml\n",
                name);
}

int prg_cli_set_load(const struct prg_cli_options *options, const char *name, const struct prg_store *store,
                     const struct prg_policy_limits *limits, bool is_told, struct prg_policy_set **ret,
                     struct prg_error *err)
{
    prg_auto_arena arena;
    struct prg_cli_set set;
    size_t told = 0;
    void (*report)(const char *text, void *ctx) = is_told ? print_error : NULL;
    prg_arena_init(&arena);
    int rc = prg_cli_set_read(options, name, store, &arena, &set, report, &told, err);
    struct prg_policy_options load = {.folder = set.folder,
                                      .texts = set.folder ? NULL : &set.texts,
                                      .limits = *limits,
                                      .report = report,
                                      .report_ctx = &told};
    if (rc == PRG_OK)
        rc = prg_policy_set_load(&load, ret, err);
    prg_vec_release(&set.texts);
    if (rc != PRG_OK && told) {
        prg_error_clear(err);
        return prg_fail(err, (enum prg_code)rc, "%s is refused: it has %zu %s", name, told,
                        prg_plural((int64_t)told, "error", "errors"));
    }
    if (rc == PRG_OK)
        prg_cli_note_idle_set(name, *ret);
    return rc;
}
