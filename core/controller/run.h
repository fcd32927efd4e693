// SPDX-License-Identifier: Apache-2.0
// run.h: the controller process, over a folder store or an API server.
#pragma once
#include "controller/learning_settings.h"
#include "controller/serving_loop.h"
#include "kube/config.h"

struct prg_run_options {
    const char *policies; // folder of the policy set, "configmap:NAMESPACE/NAME", or NULL
    const char *config_namespace;
    const struct prg_compat *compat;
    struct prg_policy_limits limits;
    prg_reconcile_fn report;                      // may be NULL
    void (*after_turn)(void *ctx);                // may be NULL
    void *ctx;                                    // of both
    const char *version;                          // of the program, for metrics
    const char *listen_address;                   // NULL: loopback
    const char *record;                           // file or folder of a recording of all plans, or NULL
    const struct prg_learning_settings *learning; // NULL: learning jobs are left alone
    uint32_t namespace_policies;                  // that namespaces may set; 0: none
    unsigned workers;                             // reconciles at a time of each loop, 0: 1
    uint16_t listen_port;                         // 0: any that is free
    bool listens;                                 // metrics and health are served over HTTP, unless once
    bool has_no_serving;                          // InferenceServices are left alone
    bool has_optional_policies;                   // a ConfigMap that is not there is an empty one

    bool play_kubelet, once; // a folder: see its catalog; return when nothing is left to do
    bool elects;             // an API server: writes only while it holds the lease
    const char *folder;

    // ---- an API server ----
    struct prg_kube_choice cluster;
    const char *const *namespaces; // that are looked after; none: all
    size_t namespace_count;
    const char *user_agent;
};

// Runs until SIGINT or SIGTERM (or, with once, until nothing changes any more). Errors are those that nothing can be
// done without: the folder cannot be read, the policies do not load, two manifests for one object at start with once.
int prg_run_folder(const struct prg_run_options *options, struct prg_error *err) PRG_MUST_USE;
// Runs until SIGINT or SIGTERM. Errors: no kubeconfig or a wrong one, the policies do not load. A server that cannot be
// reached, refuses, or lacks kinds is waited for.
int prg_run_kube(const struct prg_run_options *options, struct prg_error *err) PRG_MUST_USE;
