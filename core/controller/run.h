// SPDX-License-Identifier: Apache-2.0
// run.h: the controller process over a folder store: an event loop with file watchers, timers and signals around the
// serving loop.
#pragma once
#include "controller/serving_loop.h"

struct prg_run_options {
    const char *folder;          // of the store
    const char *policies;        // folder of the policy set, "configmap:NAMESPACE/NAME", or NULL
    uint32_t namespace_policies; // that namespaces may set; 0: none
    const char *config_namespace;
    const struct prg_compat *compat;
    struct prg_policy_limits limits;
    bool play_kubelet;
    bool once;               // return when nothing is left to do
    prg_reconcile_fn report; // may be NULL
    void *ctx;
};

// Runs until SIGINT or SIGTERM (or, with once, until nothing changes any more). Errors are those that nothing can be
// done without: the folder cannot be read, the policies do not load, two manifests for one object at start with once.
int prg_run_folder(const struct prg_run_options *options, struct prg_error *err) PRG_MUST_USE;
