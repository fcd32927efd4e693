// SPDX-License-Identifier: Apache-2.0
// test_config.c: kubeconfig files and the pod's account.
#include "kube/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/support.h"

struct place { // a folder of files and an environment
    struct prg_arena arena;
    char folder[64];
    const char *kubeconfig, *home, *host, *port;
    struct prg_kube_env env;
    struct prg_kube_config config;
    struct prg_error err;
};

static const char *get(const char *name, void *ctx)
{
    const struct place *p = ctx;
    if (strcmp(name, "KUBECONFIG") == 0)
        return p->kubeconfig;
    if (strcmp(name, "HOME") == 0)
        return p->home;
    if (strcmp(name, "KUBERNETES_SERVICE_HOST") == 0)
        return p->host;
    return strcmp(name, "KUBERNETES_SERVICE_PORT") == 0 ? p->port : NULL;
}

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    strcpy(p->folder, "/tmp/perigee-config-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    p->env = (struct prg_kube_env){.get = get, .ctx = p, .account_folder = p->folder};
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", p->folder);
    assert_int_equal(system(command), 0);
    prg_kube_config_release(&p->config);
    prg_arena_release(&p->arena);
    free(p);
    return 0;
}

static const char *put(struct place *p, const char *name, const char *text)
{
    const char *path = prg_arena_printf(&p->arena, "%s/%s", p->folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static int load(struct place *p, const struct prg_kube_choice *choice)
{
    prg_kube_config_release(&p->config);
    prg_error_clear(&p->err);
    return prg_kube_config_load(&p->config, choice, &p->env, &p->err);
}

// Loads text as the only file.
static int load_text(struct place *p, const char *text)
{
    p->kubeconfig = put(p, "config", text);
    return load(p, NULL);
}

// A kubeconfig whose user is `user` (flow YAML) and whose cluster is `cluster`.
static int load_user(struct place *p, const char *cluster, const char *user)
{
    return load_text(p, prg_arena_printf(&p->arena,
                                         "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
                                         "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                                         "clusters: [{name: c, cluster: %s}]\nusers: [{name: u, user: %s}]\n",
                                         cluster, user));
}

static void the_current_context_names_cluster_user_and_namespace(void **state)
{
    struct place *p = *state;
    assert_ok(load_text(p, "current-context: b\n"
                           "contexts:\n- {name: a, context: {cluster: one}}\n"
                           "- {name: b, context: {cluster: two, user: me, namespace: team}}\n"
                           "clusters:\n- {name: one, cluster: {server: 'https://one'}}\n"
                           "- {name: two, cluster: {server: 'https://two:6443/k8s/', tls-server-name: real}}\n"
                           "users:\n- {name: me, user: {token: secret}}\n"),
              &p->err);
    assert_string_equal(p->config.server, "https://two:6443/k8s");
    assert_string_equal(p->config.tls_server_name, "real");
    assert_string_equal(p->config.token, "secret");
    assert_string_equal(p->config.ns, "team");
    assert_string_equal(p->config.context, "b");

    struct prg_kube_choice choice = {.context = "a", .ns = "other"};
    assert_ok(load(p, &choice), &p->err);
    assert_string_equal(p->config.server, "https://one");
    assert_string_equal(p->config.ns, "other");
    assert_null(p->config.token);

    choice = (struct prg_kube_choice){.user = "me", .context = "a"};
    assert_ok(load(p, &choice), &p->err);
    assert_string_equal(p->config.token, "secret");
}

static void the_first_file_that_names_an_entry_wins_with_all_of_it(void **state)
{
    struct place *p = *state;
    const char *one = put(p, "one",
                          "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                          "users: [{name: u, user: {username: ann, password: pw}}]\n");
    const char *two = put(p, "two",
                          "current-context: x\n"
                          "contexts: [{name: x, context: {cluster: other}}]\n"
                          "clusters: [{name: c, cluster: {server: 'https://c'}}]\n"
                          "users: [{name: u, user: {token: t}}]\n");
    p->kubeconfig = prg_arena_printf(&p->arena, "%s::%s/missing:%s:%s", one, p->folder, two, one);
    assert_ok(load(p, NULL), &p->err);
    assert_string_equal(p->config.server, "https://c");
    assert_string_equal(p->config.username, "ann");
    assert_null(p->config.token); // not mixed into the first file's user
    assert_string_equal(p->config.source, prg_arena_printf(&p->arena, "%s:%s", one, two));
}

static void the_file_in_the_home_folder_is_read_when_nothing_else_is_said(void **state)
{
    struct place *p = *state;
    assert_int_equal(mkdir(prg_arena_printf(&p->arena, "%s/.kube", p->folder), 0700), 0);
    put(p, ".kube/config",
        "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://h:8080'}}]\n");
    p->home = p->folder;
    assert_ok(load(p, NULL), &p->err);
    assert_string_equal(p->config.server, "http://h:8080");
}

static void paths_are_relative_to_the_file_that_holds_them(void **state)
{
    struct place *p = *state;
    assert_ok(load_user(p, "{server: 'https://c', certificate-authority: pki/ca.crt}",
                        "{client-certificate: me.crt, client-key: /abs/me.key}"),
              &p->err);
    assert_string_equal(p->config.ca_file, prg_arena_printf(&p->arena, "%s/pki/ca.crt", p->folder));
    assert_string_equal(p->config.cert_file, prg_arena_printf(&p->arena, "%s/me.crt", p->folder));
    assert_string_equal(p->config.key_file, "/abs/me.key");
}

static void inline_certificates_win_over_files(void **state)
{
    struct place *p = *state;
    assert_ok(load_user(p,
                        "{server: 'https://c', certificate-authority: ca.crt, certificate-authority-data: "
                        "LS0tLS1CRUdJTiBYLS0tLS0K}",
                        "{}"),
              &p->err);
    assert_null(p->config.ca_file);
    assert_string_equal(p->config.ca_data, "-----BEGIN X-----\n");
    static const char *const bad[] = {"AAA", "====", "LS0tLS1CRUdJTiBYLS0tLS0K=", "not base64", "aGVsbG8="};
    for (size_t i = 0; i < PRG_COUNT(bad); i++) {
        const char *cluster =
            prg_arena_printf(&p->arena, "{server: 'https://c', certificate-authority-data: '%s'}", bad[i]);
        assert_int_equal(load_user(p, cluster, "{}"), PRG_INVALID);
        assert_error_has(&p->err, "config:5: cluster 'c': 'certificate-authority-data' is not base64 of PEM text");
    }
}

static void an_exec_plugin_is_read_with_its_arguments_and_environment(void **state)
{
    struct place *p = *state;
    const char *user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [a, b c], "
                       "env: [{name: K, value: V}], provideClusterInfo: true, installHint: get it}}";
    assert_ok(load_user(p,
                        "{server: 'https://c', extensions: [{name: client.authentication.k8s.io/exec, extension: {a: "
                        "1}}]}",
                        user),
              &p->err);
    const struct prg_kube_exec *exec = p->config.exec;
    assert_non_null(exec);
    assert_string_equal(exec->command, prg_arena_printf(&p->arena, "%s/./bin/login", p->folder));
    assert_int_equal(exec->arg_count, 2);
    assert_string_equal(exec->args[1], "b c");
    assert_string_equal(exec->env[0].value, "V");
    assert_string_equal(exec->cluster_extra, "{\"a\":1}");
    assert_string_equal(exec->install_hint, "get it");
    // Any other credential is used instead.
    assert_ok(load_user(p, "{server: 'https://c'}",
                        "{token: t, exec: {apiVersion: client.authentication.k8s.io/v1, command: x}}"),
              &p->err);
    assert_null(p->config.exec);
}

static void impersonation_is_read(void **state)
{
    struct place *p = *state;
    assert_ok(load_user(p, "{server: 'https://c'}",
                        "{token: t, as: bob, as-uid: '7', as-groups: [g, h], as-user-extra: {scopes: [a, b]}}"),
              &p->err);
    assert_string_equal(p->config.as, "bob");
    assert_int_equal(p->config.as_group_count, 2);
    assert_int_equal(p->config.as_extra_count, 2);
    assert_string_equal(p->config.as_extra[1].name, "scopes");
    assert_string_equal(p->config.as_extra[1].value, "b");
}

static void what_is_wrong_is_said_with_file_and_name(void **state)
{
    static const struct {
        const char *cluster, *user, *error;
    } cases[] = {
        {"{}", "{}", "config:5: cluster 'c' has no server; set 'server: https://HOST:PORT'"},
        {"{server: 7}", "{}", "config:5: cluster 'c': 'server' is a number, it must be a string"},
        {"{server: 'ftp://c'}", "{}", "must begin with https:// or http://"},
        {"{server: 'https://me:pw@c'}", "{}", "must be a plain address"},
        {"{server: 'https://c', proxy-url: 'c:1'}", "{}", "proxy-url must begin with"},
        {"{server: 'https://c', insecure-skip-tls-verify: true, certificate-authority: x}", "{}",
         "cluster 'c' has insecure-skip-tls-verify and a certificate-authority"},
        {"{server: 'https://c', insecure-skip-tls-verify: 'true'}", "{}", "is a string, it must be true or false"},
        {"{server: 'https://c'}", "{client-certificate: x}", "user 'u' has a client-certificate without a client-key"},
        {"{server: 'https://c'}", "{token: t, username: u, password: p}", "a token and a user name"},
        {"{server: 'https://c'}", "{password: p}", "a password without a username"},
        {"{server: 'https://c'}", "{auth-provider: {name: gcp}}", "use an exec plugin"},
        {"{server: 'https://c'}", "{as-groups: [a]}", "without as"},
        {"{server: 'https://c'}", "{as: a, as-groups: [1]}", "user 'u': 'as-groups' holds a number"},
        {"{server: 'https://c'}", "{as: a, as-user-extra: {k: [true]}}", "user 'u': 'as-user-extra' holds a boolean"},
        {"{server: 'https://c'}", "{exec: {command: x}}", "user 'u': exec: apiVersion is ''"},
        {"{server: 'https://c'}", "{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}",
         "apiVersion is 'client.authentication.k8s.io/v1alpha1'"},
        {"{server: 'https://c'}", "{exec: {apiVersion: client.authentication.k8s.io/v1}}", "exec has no command"},
        {"{server: 'https://c'}",
         "{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Sometimes}}",
         "interactiveMode is 'Sometimes'"},
        {"{server: 'https://c'}", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, args: [1]}}",
         "an argument is a number"},
        {"{server: 'https://c'}", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: x, env: [{name: A}]}}",
         "a name and a value"},
        {"7", "{}", "cluster 'c' is a number, it must be a mapping"},
    };
    struct place *p = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        assert_int_equal(load_user(p, cases[i].cluster, cases[i].user), PRG_INVALID);
        assert_error_has(&p->err, cases[i].error);
        assert_error_has(&p->err, "config");
    }
}

static void files_that_are_no_kubeconfig_are_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"kind: Pod", "this is a Pod, not a kubeconfig"},
        {"- a", "this is a array, not a kubeconfig"},
        {"clusters: 7", "config:1: 'clusters' is a number, it must be a list"},
        {"clusters: [{cluster: {}}]", "an entry of 'clusters' has no name"},
        {"users: [{name: a, user: {}}, {name: a, user: {}}]", "the user 'a' is there twice"},
        {"clusters: [{name: a, cluster: {server: x}}]", "no current-context is set; name one with --context"},
        {"current-context: gone\ncontexts: [{name: old, context: {}}]",
         "there is no context 'gone' (its current-context); known: old"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]",
         "there is no cluster 'c' (context 'x'); known: none"},
        {"current-context: x\ncontexts: [{name: x, context: {}}]", "context 'x' names no cluster"},
        {"a: [", "config:"},
        {"a: 1\n---\nb: 1\n", "holds 2 documents"},
    };
    struct place *p = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        assert_int_equal(load_text(p, cases[i].text), PRG_INVALID);
        assert_error_has(&p->err, cases[i].error);
    }
}

static void a_named_file_must_exist_and_listed_ones_need_not(void **state)
{
    struct place *p = *state;
    struct prg_kube_choice choice = {.kubeconfig = "/nowhere/config"};
    assert_int_equal(load(p, &choice), PRG_NOTFOUND);
    assert_error_has(&p->err, "kubeconfig /nowhere/config does not exist");
    p->kubeconfig = "/nowhere/config";
    assert_int_equal(load(p, NULL), PRG_NOTFOUND);
    assert_error_has(&p->err, "no kubeconfig: set KUBECONFIG");
}

static void in_a_pod_the_account_is_used(void **state)
{
    struct place *p = *state;
    put(p, "token", "t");
    put(p, "namespace", "team-a");
    p->host = "fd00::1";
    p->port = "443";
    assert_true(prg_kube_is_in_cluster(&p->env));
    assert_ok(load(p, NULL), &p->err);
    assert_string_equal(p->config.server, "https://[fd00::1]:443");
    assert_string_equal(p->config.ns, "team-a");
    assert_string_equal(p->config.token_file, prg_arena_printf(&p->arena, "%s/token", p->folder));
    assert_string_equal(p->config.ca_file, prg_arena_printf(&p->arena, "%s/ca.crt", p->folder));
    // A kubeconfig goes first.
    assert_ok(load_user(p, "{server: 'https://c'}", "{}"), &p->err);
    assert_string_equal(p->config.server, "https://c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_current_context_names_cluster_user_and_namespace, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_file_that_names_an_entry_wins_with_all_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(the_file_in_the_home_folder_is_read_when_nothing_else_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(paths_are_relative_to_the_file_that_holds_them, setup, teardown),
        cmocka_unit_test_setup_teardown(inline_certificates_win_over_files, setup, teardown),
        cmocka_unit_test_setup_teardown(an_exec_plugin_is_read_with_its_arguments_and_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(impersonation_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said_with_file_and_name, setup, teardown),
        cmocka_unit_test_setup_teardown(files_that_are_no_kubeconfig_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_named_file_must_exist_and_listed_ones_need_not, setup, teardown),
        cmocka_unit_test_setup_teardown(in_a_pod_the_account_is_used, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
