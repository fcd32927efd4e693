// SPDX-License-Identifier: Apache-2.0
// config.c: kubeconfig files and the pod's account to one struct prg_kube_config.
//
// Sources of the rules: client-go tools/clientcmd loader.go (merging, relative paths), client_config.go (which
// credential wins), validation.go (what may not stand together), rest/config.go InClusterConfig.
#include "kube/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/map.h"
#include "base/vec.h"
#include "yaml/load.h"

#define ACCOUNT_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

// A named entry of a file: a cluster, user or context.
struct named {
    const char *file;
    const cJSON *node; // the inner object
};

struct loader {
    struct prg_kube_config *config;
    struct prg_arena *arena;
    const struct prg_kube_env *env;
    struct prg_error *err;
    struct prg_map clusters, users, contexts; // name -> struct named
    const char *current;                      // context
    const char *current_file;
    struct prg_vec files; // that were there
};

static const char *env_get(const struct prg_kube_env *env, const char *name)
{
    const char *value = env && env->get ? env->get(name, env->ctx) : getenv(name);
    return value ? value : "";
}

static const char *account_folder(const struct prg_kube_env *env)
{
    return env && env->account_folder ? env->account_folder : ACCOUNT_FOLDER;
}

// ---- reading files ----

static const char *at_line(struct loader *l, const char *file, const cJSON *node)
{
    struct prg_json_position at = prg_json_position(node);
    return at.line ? prg_arena_printf(l->arena, "%s:%u", file, at.line) : file;
}

// A text member, NULL when absent, null or empty; another type is an error.
static int get_text(struct loader *l, const char *file, const char *what, const cJSON *node, const char *key,
                    const char **ret)
{
    const cJSON *value = prg_json_get(node, key);
    *ret = NULL;
    if (!value || prg_json_is_null(value))
        return PRG_OK;
    if (!prg_json_is_string(value))
        return prg_fail(l->err, PRG_INVALID, "%s: %s: '%s' is a %s, it must be a string; put it in quotes",
                        at_line(l, file, value), what, key, prg_json_type_name(value));
    const char *text = prg_json_text(value);
    if (strlen(text) != prg_json_text_length(value))
        return prg_fail(l->err, PRG_INVALID, "%s: %s: '%s' holds a NUL character", at_line(l, file, value), what, key);
    if (*text)
        *ret = text;
    return PRG_OK;
}

static int get_bool(struct loader *l, const char *file, const char *what, const cJSON *node, const char *key, bool *ret)
{
    const cJSON *value = prg_json_get(node, key);
    *ret = false;
    if (!value || prg_json_is_null(value))
        return PRG_OK;
    if (!prg_json_is_bool(value))
        return prg_fail(l->err, PRG_INVALID, "%s: %s: '%s' is a %s, it must be true or false", at_line(l, file, value),
                        what, key, prg_json_type_name(value));
    *ret = prg_json_is_true(value);
    return PRG_OK;
}

// Adds the entries of list "clusters" (inner key "cluster") to map, unless an earlier file named them.
static int add_named(struct loader *l, const char *file, const cJSON *root, const char *list_key, const char *inner_key,
                     struct prg_map *map)
{
    const cJSON *item, *list = prg_json_get(root, list_key);
    if (list && !prg_json_is_null(list) && !prg_json_is_array(list))
        return prg_fail(l->err, PRG_INVALID, "%s: '%s' is a %s, it must be a list of entries with a name",
                        at_line(l, file, list), list_key, prg_json_type_name(list));
    prg_json_each (item, list) {
        const char *name = prg_json_get_text(item, "name");
        const cJSON *inner = prg_json_get(item, inner_key);
        if (!name)
            return prg_fail(l->err, PRG_INVALID, "%s: an entry of '%s' has no name; give it one",
                            at_line(l, file, item), list_key);
        if (inner && !prg_json_is_null(inner) && !prg_json_is_object(inner))
            return prg_fail(l->err, PRG_INVALID, "%s: %s '%s' is a %s, it must be a mapping", at_line(l, file, inner),
                            inner_key, name, prg_json_type_name(inner));
        const struct named *known = prg_map_get(map, name);
        if (known && strcmp(known->file, file) == 0)
            return prg_fail(l->err, PRG_INVALID, "%s: the %s '%s' is there twice; remove one of them",
                            at_line(l, file, item), inner_key, name);
        if (known)
            continue;
        struct named *named = prg_arena_new(l->arena, struct named);
        named->file = file;
        named->node = inner;
        prg_map_put(map, name, named);
    }
    return PRG_OK;
}

static int add_document(struct loader *l, const char *file, const cJSON *root)
{
    const char *kind = prg_json_get_text(root, "kind"), *current;
    if (!prg_json_is_object(root))
        return prg_fail(l->err, PRG_INVALID, "%s: this is a %s, not a kubeconfig", file, prg_json_type_name(root));
    if (kind && *kind && strcmp(kind, "Config") != 0)
        return prg_fail(l->err, PRG_INVALID, "%s: this is a %s, not a kubeconfig (kind: Config)", file, kind);
    if (add_named(l, file, root, "clusters", "cluster", &l->clusters) != PRG_OK ||
        add_named(l, file, root, "users", "user", &l->users) != PRG_OK ||
        add_named(l, file, root, "contexts", "context", &l->contexts) != PRG_OK ||
        get_text(l, file, "the kubeconfig", root, "current-context", &current) != PRG_OK)
        return PRG_INVALID;
    if (current && !l->current) {
        l->current = current;
        l->current_file = file;
    }
    return PRG_OK;
}

static const char *absolute(struct prg_arena *arena, const char *folder, const char *path)
{
    return path[0] == '/' || !*folder ? path : prg_arena_printf(arena, "%s/%s", folder, path);
}

static const char *working_folder(struct prg_arena *arena)
{
    char *folder = getcwd(NULL, 0);
    const char *copy = prg_arena_strdup(arena, folder ? folder : "");
    free(folder);
    return copy;
}

// is_required: a missing file is an error.
static int add_file(struct loader *l, const char *path, bool is_required)
{
    struct prg_yaml_docs docs = {0};
    const struct prg_yaml_limits limits = {.max_bytes = 4u << 20};
    path = absolute(l->arena, working_folder(l->arena), path);
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        if (!is_required)
            return PRG_OK;
        return prg_fail(l->err, PRG_NOTFOUND, "kubeconfig %s does not exist", path);
    }
    if (prg_yaml_load_file(l->arena, path, &limits, &docs, l->err) != PRG_OK)
        return prg_wrap(l->err, "kubeconfig");
    prg_vec_push(&l->files, (void *)path);
    if (docs.count > 1)
        return prg_fail(l->err, PRG_INVALID,
                        "%s: holds %zu documents, a kubeconfig is one; list several files in "
                        "KUBECONFIG instead",
                        path, docs.count);
    return docs.count ? add_document(l, path, docs.items[0]) : PRG_OK;
}

static bool was_added(const struct loader *l, const char *path)
{
    for (size_t i = 0; i < l->files.count; i++)
        if (strcmp(l->files.items[i], path) == 0)
            return true;
    return false;
}

// The files of KUBECONFIG, between colons; empty places and repetitions are skipped.
static int add_list(struct loader *l, const char *list)
{
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ":");
        const char *path = prg_arena_strndup(l->arena, at, length);
        if (length && !was_added(l, absolute(l->arena, working_folder(l->arena), path)) &&
            add_file(l, path, false) != PRG_OK)
            return l->err ? l->err->code : PRG_INVALID;
        at += length + (at[length] == ':');
    }
    return PRG_OK;
}

static int add_files(struct loader *l, const struct prg_kube_choice *choice)
{
    if (choice->kubeconfig && *choice->kubeconfig)
        return add_file(l, choice->kubeconfig, true);
    const char *list = env_get(l->env, "KUBECONFIG"), *home = env_get(l->env, "HOME");
    if (*list)
        return add_list(l, list);
    if (*home)
        return add_file(l, prg_arena_printf(l->arena, "%s/.kube/config", home), false);
    return PRG_OK;
}

// ---- parts of the configuration ----

static const char *folder_of(struct prg_arena *arena, const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? prg_arena_strndup(arena, file, (size_t)(slash - file)) : "";
}

static int get_path(struct loader *l, const struct named *from, const char *what, const char *key, const char **ret)
{
    if (get_text(l, from->file, what, from->node, key, ret) != PRG_OK)
        return PRG_INVALID;
    if (*ret)
        *ret = absolute(l->arena, folder_of(l->arena, from->file), *ret);
    return PRG_OK;
}

// Reads "NAME-data" (base64 of PEM) or "NAME" (a file); the data wins, as in client-go.
static int get_pem(struct loader *l, const struct named *from, const char *what, const char *name,
                   const char **ret_file, const char **ret_data)
{
    const char *key = prg_arena_printf(l->arena, "%s-data", name), *text;
    size_t length;
    if (get_path(l, from, what, name, ret_file) != PRG_OK ||
        get_text(l, from->file, what, from->node, key, &text) != PRG_OK)
        return PRG_INVALID;
    if (!text)
        return PRG_OK;
    *ret_file = NULL;
    *ret_data = prg_base64_decode(l->arena, text, strlen(text), &length);
    if (!*ret_data || strlen(*ret_data) != length || !strstr(*ret_data, "-----BEGIN "))
        return prg_fail(l->err, PRG_INVALID, "%s: %s: '%s' is not base64 of PEM text; encode the file with base64",
                        at_line(l, from->file, prg_json_get(from->node, key)), what, key);
    return PRG_OK;
}

static int use_cluster(struct loader *l, const struct named *from, const char *name)
{
    struct prg_kube_config *c = l->config;
    const char *what = prg_arena_printf(l->arena, "cluster '%s'", name);
    if (get_text(l, from->file, what, from->node, "server", &c->server) != PRG_OK ||
        get_text(l, from->file, what, from->node, "tls-server-name", &c->tls_server_name) != PRG_OK ||
        get_text(l, from->file, what, from->node, "proxy-url", &c->proxy_url) != PRG_OK ||
        get_bool(l, from->file, what, from->node, "insecure-skip-tls-verify", &c->is_insecure) != PRG_OK ||
        get_bool(l, from->file, what, from->node, "disable-compression", &c->no_compression) != PRG_OK ||
        get_pem(l, from, what, "certificate-authority", &c->ca_file, &c->ca_data) != PRG_OK)
        return PRG_INVALID;
    if (!c->server)
        return prg_fail(l->err, PRG_INVALID, "%s: %s has no server; set 'server: https://HOST:PORT'",
                        at_line(l, from->file, from->node), what);
    if (c->is_insecure && (c->ca_file || c->ca_data))
        return prg_fail(l->err, PRG_INVALID,
                        "%s: %s has insecure-skip-tls-verify and a certificate-authority; remove one of them",
                        at_line(l, from->file, from->node), what);
    return PRG_OK;
}

static int use_exec_list(struct loader *l, const struct named *from, const char *what, const cJSON *node,
                         struct prg_kube_exec *exec)
{
    const cJSON *item, *args = prg_json_get(node, "args"), *env = prg_json_get(node, "env");
    const char **texts = prg_arena_array(l->arena, const char *, prg_json_count(args) + 1);
    struct prg_kube_pair *pairs = prg_arena_array(l->arena, struct prg_kube_pair, prg_json_count(env) + 1);
    prg_json_each (item, args) {
        const char *text = prg_json_text(item);
        if (!text)
            return prg_fail(l->err, PRG_INVALID,
                            "%s: %s: exec: an argument is a %s, it must be a string; put it in "
                            "quotes",
                            at_line(l, from->file, item), what, prg_json_type_name(item));
        texts[exec->arg_count++] = text;
    }
    prg_json_each (item, env) {
        struct prg_kube_pair pair = {prg_json_get_text(item, "name"), prg_json_get_text(item, "value")};
        if (!pair.name || !*pair.name || strchr(pair.name, '=') || !pair.value)
            return prg_fail(l->err, PRG_INVALID, "%s: %s: exec: an entry of env needs a name and a value, both strings",
                            at_line(l, from->file, item), what);
        pairs[exec->env_count++] = pair;
    }
    exec->args = texts;
    exec->env = pairs;
    return PRG_OK;
}

// The cluster's extension that plugins are given, as JSON text, or NULL.
static const char *exec_extra(struct loader *l, const struct named *cluster)
{
    const cJSON *item;
    prg_json_each (item, prg_json_get(cluster ? cluster->node : NULL, "extensions"))
        if (prg_text_equal(prg_json_get_text(item, "name"), "client.authentication.k8s.io/exec") &&
            prg_json_get(item, "extension"))
            return prg_json_print_arena(l->arena, prg_json_get(item, "extension"), PRG_JSON_COMPACT);
    return NULL;
}

static int use_exec(struct loader *l, const struct named *from, const char *what, const struct named *cluster)
{
    static const char *const versions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};
    const cJSON *node = prg_json_get(from->node, "exec");
    struct prg_kube_exec *exec = prg_arena_new(l->arena, struct prg_kube_exec);
    const char *mode;
    what = prg_arena_printf(l->arena, "%s: exec", what);
    if (get_text(l, from->file, what, node, "command", &exec->command) != PRG_OK ||
        get_text(l, from->file, what, node, "apiVersion", &exec->api_version) != PRG_OK ||
        get_text(l, from->file, what, node, "installHint", &exec->install_hint) != PRG_OK ||
        get_text(l, from->file, what, node, "interactiveMode", &mode) != PRG_OK ||
        get_bool(l, from->file, what, node, "provideClusterInfo", &exec->wants_cluster) != PRG_OK ||
        use_exec_list(l, from, what, node, exec) != PRG_OK)
        return PRG_INVALID;
    if (!exec->command)
        return prg_fail(l->err, PRG_INVALID, "%s: %s has no command", at_line(l, from->file, node), what);
    if (!prg_text_equal(exec->api_version, versions[0]) && !prg_text_equal(exec->api_version, versions[1]))
        return prg_fail(l->err, PRG_INVALID, "%s: %s: apiVersion is '%s'; it must be %s or %s",
                        at_line(l, from->file, node), what, exec->api_version ? exec->api_version : "", versions[0],
                        versions[1]);
    if (mode && strcmp(mode, "Never") != 0 && strcmp(mode, "IfAvailable") != 0 && strcmp(mode, "Always") != 0)
        return prg_fail(l->err, PRG_INVALID, "%s: %s: interactiveMode is '%s'; it must be Never, IfAvailable or Always",
                        at_line(l, from->file, node), what, mode);
    exec->terminal = prg_text_equal(mode, "Always")  ? PRG_EXEC_TERMINAL_ALWAYS
                     : prg_text_equal(mode, "Never") ? PRG_EXEC_TERMINAL_NEVER
                                                     : PRG_EXEC_TERMINAL_IF_THERE;
    if (strchr(exec->command, '/'))
        exec->command = absolute(l->arena, folder_of(l->arena, from->file), exec->command);
    if (exec->wants_cluster)
        exec->cluster_extra = exec_extra(l, cluster);
    l->config->exec = exec;
    return PRG_OK;
}

static int fail_list(struct loader *l, const struct named *from, const char *what, const char *key, const cJSON *item)
{
    return prg_fail(l->err, PRG_INVALID, "%s: %s: '%s' holds a %s, it must hold strings; put it in quotes",
                    at_line(l, from->file, item), what, key, prg_json_type_name(item));
}

static int use_impersonation(struct loader *l, const struct named *from, const char *what)
{
    struct prg_kube_config *c = l->config;
    const cJSON *item, *value, *groups = prg_json_get(from->node, "as-groups");
    const cJSON *extra = prg_json_get(from->node, "as-user-extra");
    if (get_text(l, from->file, what, from->node, "as", &c->as) != PRG_OK ||
        get_text(l, from->file, what, from->node, "as-uid", &c->as_uid) != PRG_OK)
        return PRG_INVALID;
    const char **texts = prg_arena_array(l->arena, const char *, prg_json_count(groups) + 1);
    prg_json_each (item, groups) {
        if (!prg_json_text(item))
            return fail_list(l, from, what, "as-groups", item);
        texts[c->as_group_count++] = prg_json_text(item);
    }
    c->as_groups = texts;
    size_t room = 1;
    prg_json_each (item, extra)
        room += prg_json_count(item);
    struct prg_kube_pair *pairs = prg_arena_array(l->arena, struct prg_kube_pair, room);
    prg_json_each (item, extra)
        prg_json_each (value, item) {
            if (!prg_json_text(value))
                return fail_list(l, from, what, "as-user-extra", value);
            pairs[c->as_extra_count++] = (struct prg_kube_pair){item->string, prg_json_text(value)};
        }
    c->as_extra = pairs;
    if (!c->as && (c->as_uid || c->as_group_count || c->as_extra_count))
        return prg_fail(l->err, PRG_INVALID,
                        "%s: %s has as-uid, as-groups or as-user-extra without as; name the user "
                        "to act as",
                        at_line(l, from->file, from->node), what);
    return PRG_OK;
}

// Which credentials may stand together: client-go validation.go.
static int check_user(struct loader *l, const struct named *from, const char *what)
{
    struct prg_kube_config *c = l->config;
    const char *where = at_line(l, from->file, from->node);
    bool has_cert = c->cert_file || c->cert_data, has_key = c->key_file || c->key_data;
    if (has_cert != has_key)
        return prg_fail(l->err, PRG_INVALID, "%s: %s has a %s without a %s; both are needed", where, what,
                        has_cert ? "client-certificate" : "client-key", has_cert ? "client-key" : "client-certificate");
    if ((c->token || c->token_file) && (c->username || c->password))
        return prg_fail(l->err, PRG_INVALID,
                        "%s: %s has a token and a user name with password; only one is sent, "
                        "remove the other",
                        where, what);
    if (c->password && !c->username)
        return prg_fail(l->err, PRG_INVALID, "%s: %s has a password without a username", where, what);
    const cJSON *provider = prg_json_get(from->node, "auth-provider");
    if (provider && !prg_json_is_null(provider))
        return prg_fail(l->err, PRG_INVALID,
                        "%s: %s uses auth-provider, which Kubernetes removed in 1.26; use an exec plugin", where, what);
    // A plugin is only asked where nothing else is given.
    if (c->token || c->token_file || c->username || has_cert)
        c->exec = NULL;
    return PRG_OK;
}

static int use_user(struct loader *l, const struct named *from, const char *name, const struct named *cluster)
{
    struct prg_kube_config *c = l->config;
    const char *what = prg_arena_printf(l->arena, "user '%s'", name);
    const cJSON *exec = prg_json_get(from->node, "exec");
    if (get_text(l, from->file, what, from->node, "token", &c->token) != PRG_OK ||
        get_path(l, from, what, "tokenFile", &c->token_file) != PRG_OK ||
        get_text(l, from->file, what, from->node, "username", &c->username) != PRG_OK ||
        get_text(l, from->file, what, from->node, "password", &c->password) != PRG_OK ||
        get_pem(l, from, what, "client-certificate", &c->cert_file, &c->cert_data) != PRG_OK ||
        get_pem(l, from, what, "client-key", &c->key_file, &c->key_data) != PRG_OK ||
        use_impersonation(l, from, what) != PRG_OK)
        return PRG_INVALID;
    if (exec && !prg_json_is_null(exec) && use_exec(l, from, what, cluster) != PRG_OK)
        return PRG_INVALID;
    return check_user(l, from, what);
}

// ---- choosing ----

static const char *known_names(struct loader *l, const struct prg_map *map)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    const struct prg_map_entry *entry;
    for (size_t i = 0, n = 0; (entry = prg_map_next(map, &i)) && n < 10; n++)
        prg_strbuf_printf(&out, "%s%s", n ? ", " : "", entry->key);
    return out.length ? prg_arena_strdup(l->arena, out.text) : "none";
}

static int find_named(struct loader *l, const struct prg_map *map, const char *what, const char *name, const char *why,
                      const struct named **ret)
{
    const struct named *named = prg_map_get(map, name);
    if (!named || !named->node)
        return prg_fail(l->err, PRG_INVALID, "%s: there is no %s '%s' (%s); known: %s", l->config->source, what, name,
                        why, known_names(l, map));
    *ret = named;
    return PRG_OK;
}

static int use_context(struct loader *l, const struct prg_kube_choice *choice)
{
    struct prg_kube_config *c = l->config;
    const struct named *context = NULL, *cluster, *user;
    const char *name = choice->context && *choice->context ? choice->context : l->current;
    const char *cluster_name = NULL, *user_name = NULL, *ns = NULL;
    if (name) {
        const char *why = name == l->current ? "its current-context" : "asked for with --context";
        if (find_named(l, &l->contexts, "context", name, why, &context) != PRG_OK ||
            get_text(l, context->file, "context", context->node, "cluster", &cluster_name) != PRG_OK ||
            get_text(l, context->file, "context", context->node, "user", &user_name) != PRG_OK ||
            get_text(l, context->file, "context", context->node, "namespace", &ns) != PRG_OK)
            return PRG_INVALID;
        c->context = prg_arena_strdup(l->arena, name);
    }
    if (choice->cluster)
        cluster_name = prg_arena_strdup(l->arena, choice->cluster);
    if (choice->user)
        user_name = prg_arena_strdup(l->arena, choice->user);
    if (ns)
        c->ns = ns;
    if (!cluster_name && !name)
        return prg_fail(l->err, PRG_INVALID, "%s: no current-context is set; name one with --context (known: %s)",
                        c->source, known_names(l, &l->contexts));
    if (!cluster_name)
        return prg_fail(l->err, PRG_INVALID, "%s: context '%s' names no cluster",
                        at_line(l, context->file, context->node), name);
    c->cluster = cluster_name;
    const char *why = name ? prg_arena_printf(l->arena, "context '%s'", name) : "asked for";
    if (find_named(l, &l->clusters, "cluster", cluster_name, why, &cluster) != PRG_OK ||
        use_cluster(l, cluster, cluster_name) != PRG_OK)
        return PRG_INVALID;
    if (!user_name)
        return PRG_OK;
    c->user = user_name;
    if (find_named(l, &l->users, "user", user_name, why, &user) != PRG_OK)
        return PRG_INVALID;
    return use_user(l, user, user_name, cluster);
}

// ---- in a pod ----

bool prg_kube_is_in_cluster(const struct prg_kube_env *env)
{
    prg_auto_arena arena = {0};
    return *env_get(env, "KUBERNETES_SERVICE_HOST") && *env_get(env, "KUBERNETES_SERVICE_PORT") &&
           access(prg_arena_printf(&arena, "%s/token", account_folder(env)), F_OK) == 0;
}

static void use_account(struct loader *l)
{
    struct prg_kube_config *c = l->config;
    const char *host = env_get(l->env, "KUBERNETES_SERVICE_HOST"), *port = env_get(l->env, "KUBERNETES_SERVICE_PORT");
    const char *folder = prg_arena_strdup(l->arena, account_folder(l->env));
    bool is_v6 = strchr(host, ':') != NULL;
    c->source = "in-cluster";
    c->server = prg_arena_printf(l->arena, "https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    c->token_file = prg_arena_printf(l->arena, "%s/token", folder);
    c->ca_file = prg_arena_printf(l->arena, "%s/ca.crt", folder);
    struct prg_yaml_docs docs = {0};
    // A plain word is YAML for itself; without the file the namespace stays "default".
    const char *path = prg_arena_printf(l->arena, "%s/namespace", folder);
    if (prg_yaml_load_file(l->arena, path, NULL, &docs, NULL) == PRG_OK && docs.count == 1 &&
        prg_json_text(docs.items[0]))
        c->ns = prg_json_text(docs.items[0]);
}

// ---- all of it ----

static int check_server(struct loader *l)
{
    struct prg_kube_config *c = l->config;
    if (!strstr(c->server, "://"))
        c->server = prg_arena_printf(l->arena, "%s://%s", c->ca_file || c->ca_data ? "https" : "http", c->server);
    if (!prg_text_has_prefix(c->server, "https://") && !prg_text_has_prefix(c->server, "http://"))
        return prg_fail(l->err, PRG_INVALID, "%s: cluster '%s': server '%s' must begin with https:// or http://",
                        c->source, c->cluster, c->server);
    if (strpbrk(c->server, "?# \t\r\n") || strchr(strstr(c->server, "://"), '@'))
        return prg_fail(l->err, PRG_INVALID,
                        "%s: cluster '%s': server '%s' must be a plain address, without user, query or fragment",
                        c->source, c->cluster, c->server);
    size_t length = strlen(c->server);
    while (c->server[length - 1] == '/')
        length--;
    c->server = prg_arena_strndup(l->arena, c->server, length);
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    if (!c->proxy_url)
        return PRG_OK;
    for (size_t i = 0; i < PRG_COUNT(schemes); i++)
        if (prg_text_has_prefix(c->proxy_url, schemes[i]))
            return PRG_OK;
    return prg_fail(l->err, PRG_INVALID,
                    "%s: cluster '%s': proxy-url must begin with http://, https://, socks5:// or socks5h://", c->source,
                    c->cluster);
}

static int load(struct loader *l, const struct prg_kube_choice *choice)
{
    struct prg_kube_config *c = l->config;
    prg_auto_strbuf source = PRG_STRBUF_INIT;
    if (add_files(l, choice) != PRG_OK)
        return l->err ? l->err->code : PRG_INVALID;
    for (size_t i = 0; i < l->files.count; i++)
        prg_strbuf_printf(&source, "%s%s", i ? ":" : "", (const char *)l->files.items[i]);
    c->source = prg_arena_strdup(l->arena, source.text);
    bool is_empty = !l->clusters.count && !l->contexts.count && !l->users.count;
    if (is_empty && !choice->kubeconfig && prg_kube_is_in_cluster(l->env)) {
        use_account(l);
    } else if (is_empty && !l->files.count) {
        return prg_fail(l->err, PRG_NOTFOUND,
                        "no kubeconfig: set KUBECONFIG, write ~/.kube/config or give "
                        "--kubeconfig FILE (and this is not a pod with a service account)");
    } else if (use_context(l, choice) != PRG_OK) {
        return PRG_INVALID;
    }
    if (choice->ns && *choice->ns)
        c->ns = prg_arena_strdup(l->arena, choice->ns);
    return check_server(l);
}

int prg_kube_config_load(struct prg_kube_config *ret, const struct prg_kube_choice *choice,
                         const struct prg_kube_env *env, struct prg_error *err)
{
    static const struct prg_kube_choice nothing = {0};
    struct prg_error own = {0};
    *ret = (struct prg_kube_config){.source = "", .context = "", .cluster = "", .user = "", .ns = "default"};
    prg_arena_init(&ret->arena);
    struct loader l = {.config = ret, .arena = &ret->arena, .env = env, .err = err ? err : &own};
    prg_map_init(&l.clusters);
    prg_map_init(&l.users);
    prg_map_init(&l.contexts);
    prg_vec_init(&l.files);
    int rc = load(&l, choice ? choice : &nothing);
    prg_map_release(&l.clusters);
    prg_map_release(&l.users);
    prg_map_release(&l.contexts);
    prg_vec_release(&l.files);
    return rc == PRG_OK ? PRG_OK : (int)l.err->code;
}

void prg_kube_config_release(struct prg_kube_config *config)
{
    if (!config)
        return;
    prg_arena_release(&config->arena);
    memset(config, 0, sizeof(*config));
}
