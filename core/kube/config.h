// SPDX-License-Identifier: Apache-2.0
// config.h: how to reach an API server: kubeconfig files in full, or the account of the pod.
//
// Rules as in client-go tools/clientcmd: --kubeconfig alone; else the files of KUBECONFIG, of which missing ones are
// skipped and the first to name a cluster, user, context or the current context wins with its whole entry; else
// ~/.kube/config; else, inside a pod, the service account. Relative paths are relative to the file that holds them.
// Nothing is connected to and no credential is read from a file here (see credentials.h): files rotate.
#pragma once
#include "base/arena.h"
#include "base/error.h"

struct prg_kube_pair {
    const char *name, *value;
};

enum prg_exec_terminal { PRG_EXEC_TERMINAL_IF_THERE, PRG_EXEC_TERMINAL_NEVER, PRG_EXEC_TERMINAL_ALWAYS };

// An exec credential plugin (client.authentication.k8s.io).
struct prg_kube_exec {
    const char *api_version;
    const char *command; // with a slash: a path, made absolute; else looked up in PATH
    const char *const *args;
    size_t arg_count;
    const struct prg_kube_pair *env; // added to the environment
    size_t env_count;
    const char *install_hint;        // or NULL
    bool wants_cluster;              // provideClusterInfo
    const char *cluster_extra;       // JSON text of the cluster's extension for this plugin, or NULL
    enum prg_exec_terminal terminal; // interactiveMode
};

struct prg_kube_config {
    struct prg_arena arena;               // of all texts
    const char *source;                   // files it was read from, or "in-cluster"; for errors
    const char *context, *cluster, *user; // names; "" in a pod or when not named
    const char *ns;                       // of the context, else "default"

    const char *server; // "https://host:port/path" without a slash at the end
    const char *tls_server_name;
    const char *proxy_url;
    bool is_insecure; // certificates are not checked; only ever by the user's own word
    bool no_compression;
    // Of each pair at most one is set; data is PEM text.
    const char *ca_file, *ca_data;
    const char *cert_file, *cert_data;
    const char *key_file, *key_data;

    const char *token, *token_file; // with both, the file is read and the token stands in until that works
    const char *username, *password;
    const struct prg_kube_exec *exec; // or NULL
    const char *as, *as_uid;          // impersonation
    const char *const *as_groups;
    size_t as_group_count;
    const struct prg_kube_pair *as_extra;
    size_t as_extra_count;
};

// What the surroundings say; a zeroed struct is the real process.
struct prg_kube_env {
    const char *(*get)(const char *name, void *ctx); // NULL: getenv
    void *ctx;
    const char *account_folder; // NULL: where Kubernetes mounts it
};

// What the command line says; each may be NULL.
struct prg_kube_choice {
    const char *kubeconfig;
    const char *context, *cluster, *user;
    const char *ns;
};

// Errors name the file, the context, user or cluster, and what to do. PRG_NOTFOUND: there is no configuration at all.
// The caller releases *ret, also after an error. choice and env may be NULL.
int prg_kube_config_load(struct prg_kube_config *ret, const struct prg_kube_choice *choice,
                         const struct prg_kube_env *env, struct prg_error *err) PRG_MUST_USE;
void prg_kube_config_release(struct prg_kube_config *config); // a zeroed one is fine
// True when the process runs in a pod that may talk to its API server.
bool prg_kube_is_in_cluster(const struct prg_kube_env *env);
