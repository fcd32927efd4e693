// SPDX-License-Identifier: Apache-2.0
// test_credentials.c: files that rotate and credential plugins, with a clock moved by hand.
#include "kube/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "kube/exec.h"
#include "support/support.h"

#define PEM(x) "-----BEGIN CERTIFICATE-----\n" x "\n-----END CERTIFICATE-----\n"

struct fixture {
    uv_loop_t loop;
    struct prg_timers *timers;
    struct prg_arena arena;
    char folder[64];
    struct prg_kube_config config;
    struct prg_kube_exec exec;
    struct prg_credentials *credentials;
    struct prg_auth auth;
    struct prg_error err;
    unsigned wakes;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int64_t wall_ns;
    assert_true(prg_clock_parse("2026-06-01T00:00:00Z", &wall_ns));
    assert_int_equal(uv_loop_init(&f->loop), 0);
    f->timers = prg_timers_new_manual(1000000, wall_ns);
    f->config = (struct prg_kube_config){
        .source = "/k/config", .context = "", .cluster = "c", .user = "u", .ns = "", .server = "https://s"};
    strcpy(f->folder, "/tmp/perigee-credentials-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];
    prg_credentials_free(f->credentials);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    prg_timers_free(f->timers);
    snprintf(command, sizeof(command), "rm -r %s", f->folder);
    assert_int_equal(system(command), 0);
    prg_arena_release(&f->arena);
    free(f);
    return 0;
}

static const char *path_of(struct fixture *f, const char *name)
{
    return prg_arena_printf(&f->arena, "%s/%s", f->folder, name);
}

static const char *put(struct fixture *f, const char *name, const char *text)
{
    const char *path = path_of(f, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static void on_wake(void *ctx)
{
    ((struct fixture *)ctx)->wakes++;
}

static void begin(struct fixture *f)
{
    f->credentials = prg_credentials_new(&f->loop, f->timers, &f->config, on_wake, f);
}

static enum prg_auth_state get(struct fixture *f)
{
    prg_error_clear(&f->err);
    return prg_credentials_get(f->credentials, &f->auth, &f->err);
}

static void assert_token(struct fixture *f, const char *token)
{
    assert_int_equal(get(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.token, token);
}

// ---- files ----

static void a_token_file_is_read_again_after_a_minute(void **state)
{
    struct fixture *f = *state;
    f->config.token_file = put(f, "token", "one\n");
    begin(f);
    assert_token(f, "one");
    put(f, "token", "two");
    prg_timers_advance(f->timers, 49999);
    assert_token(f, "one");
    prg_timers_advance(f->timers, 1);
    assert_token(f, "two");
}

static void the_last_good_token_stays_when_the_file_fails(void **state)
{
    static const char *const bad[] = {"", " \n", "two\nlines"};
    struct fixture *f = *state;
    f->config.token_file = put(f, "token", "one");
    begin(f);
    assert_token(f, "one");
    for (size_t i = 0; i < PRG_COUNT(bad); i++) {
        put(f, "token", bad[i]);
        prg_timers_advance(f->timers, 60000);
        assert_token(f, "one");
    }
    unlink(f->config.token_file);
    prg_timers_advance(f->timers, 60000);
    assert_token(f, "one");
    put(f, "token", "new");
    prg_timers_advance(f->timers, 60000);
    assert_token(f, "new");
}

static void a_refused_token_is_read_again_at_once(void **state)
{
    struct fixture *f = *state;
    f->config.token_file = put(f, "token", "one");
    begin(f);
    assert_token(f, "one");
    uint64_t asked = prg_timers_now(f->timers);
    put(f, "token", "two");
    prg_timers_advance(f->timers, 1000);
    prg_credentials_refused(f->credentials, asked);
    assert_token(f, "two");
    put(f, "token", "three");
    prg_credentials_refused(f->credentials, asked); // of the old one
    assert_token(f, "two");
}

static void a_token_file_that_never_was_there_is_an_error(void **state)
{
    struct fixture *f = *state;
    f->config.token_file = path_of(f, "token");
    begin(f);
    assert_int_equal(get(f), PRG_AUTH_FAILED);
    assert_error_has(&f->err, "/k/config: token of user 'u': ");
    assert_error_has(&f->err, "token: cannot be read: No such file or directory");
    put(f, "token", "");
    assert_int_equal(get(f), PRG_AUTH_FAILED);
    assert_error_has(&f->err, "is empty, or no token in one line");
    put(f, "token", "late");
    assert_token(f, "late");
}

static void a_given_token_stands_in_until_its_file_can_be_read(void **state)
{
    struct fixture *f = *state;
    f->config.token = "given";
    f->config.token_file = path_of(f, "token");
    begin(f);
    assert_token(f, "given");
    put(f, "token", "read");
    assert_token(f, "read");
}

static void a_changed_ca_has_a_new_revision_and_a_broken_one_is_not_taken(void **state)
{
    struct fixture *f = *state;
    f->config.ca_file = put(f, "ca.crt", PEM("one"));
    begin(f);
    assert_int_equal(get(f), PRG_AUTH_READY);
    uint64_t first = f->auth.revision;
    put(f, "ca.crt", "-----BEGIN CERT");
    prg_timers_advance(f->timers, 300000);
    assert_int_equal(get(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.ca, PEM("one"));
    assert_int_equal(f->auth.revision, first);
    put(f, "ca.crt", PEM("two"));
    prg_timers_advance(f->timers, 299999);
    assert_int_equal(get(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.ca, PEM("one"));
    prg_credentials_distrusted(f->credentials); // a handshake failed: look at once
    assert_int_equal(get(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.ca, PEM("two"));
    assert_int_not_equal(f->auth.revision, first);
    put(f, "ca.crt", PEM("three"));
    prg_credentials_distrusted(f->credentials); // but not each time
    assert_int_equal(get(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.ca, PEM("two"));
}

static void missing_certificates_are_named(void **state)
{
    struct fixture *f = *state;
    f->config.cert_file = put(f, "me.crt", "nothing");
    f->config.key_file = path_of(f, "me.key");
    begin(f);
    assert_int_equal(get(f), PRG_AUTH_FAILED);
    assert_error_has(&f->err, "/k/config: client certificate of user 'u': ");
    assert_error_has(&f->err, "me.crt: holds no PEM text");
}

// ---- plugins ----

#define ANSWER "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{%s}}"

// A plugin that runs the shell text; `runs` counts how often.
static void plugin(struct fixture *f, const char *text)
{
    const char *script = prg_arena_printf(&f->arena, "#!/bin/sh\necho run >> %s\n%s\n", path_of(f, "runs"), text);
    f->exec = (struct prg_kube_exec){.api_version = "client.authentication.k8s.io/v1",
                                     .command = put(f, "plugin", script),
                                     .install_hint = "get it from example.org",
                                     .terminal = PRG_EXEC_TERMINAL_NEVER};
    chmod(f->exec.command, 0700);
    f->config.exec = &f->exec;
}

static void plugin_answers(struct fixture *f, const char *status)
{
    plugin(f, prg_arena_printf(&f->arena, "echo '" ANSWER "'", status));
}

static size_t runs(struct fixture *f)
{
    struct stat st;
    return stat(path_of(f, "runs"), &st) == 0 ? (size_t)st.st_size / 4 : 0;
}

// Gets until the plugin has ended.
static enum prg_auth_state get_waiting(struct fixture *f)
{
    enum prg_auth_state state;
    while ((state = get(f)) == PRG_AUTH_WAIT) {
        unsigned before = f->wakes;
        while (f->wakes == before)
            if (uv_run(&f->loop, UV_RUN_NOWAIT) == 0 || prg_timers_next_ms(f->timers) == 0)
                prg_timers_advance(f->timers, 0);
    }
    return state;
}

static void a_plugin_gives_a_token_until_it_expires(void **state)
{
    struct fixture *f = *state;
    plugin_answers(f, "\"token\":\"one\",\"expirationTimestamp\":\"2026-06-01T01:00:00Z\"");
    begin(f);
    assert_int_equal(get(f), PRG_AUTH_WAIT);
    assert_int_equal(get(f), PRG_AUTH_WAIT); // one run at a time
    assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.token, "one");
    prg_timers_advance(f->timers, 3599 * 1000);
    assert_token(f, "one");
    assert_int_equal(runs(f), 1);
    plugin_answers(f, "\"token\":\"two\"");
    prg_timers_advance(f->timers, 1000);
    assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.token, "two");
    assert_int_equal(runs(f), 2);
    prg_timers_advance(f->timers, 1000ull * 3600 * 24 * 365); // without an expiry
    assert_token(f, "two");
}

static void a_refusal_runs_the_plugin_again_but_not_in_a_storm(void **state)
{
    struct fixture *f = *state;
    plugin_answers(f, "\"token\":\"one\"");
    begin(f);
    assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    for (int i = 0; i < 10; i++) {
        prg_credentials_refused(f->credentials, prg_timers_now(f->timers));
        assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    }
    assert_int_equal(runs(f), 1);
    prg_timers_advance(f->timers, 5000);
    prg_credentials_refused(f->credentials, prg_timers_now(f->timers));
    assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    assert_int_equal(runs(f), 2);
}

static void a_plugin_may_give_a_client_certificate(void **state)
{
    struct fixture *f = *state;
    plugin_answers(f, "\"clientCertificateData\":\"CERT\",\"clientKeyData\":\"KEY\"");
    begin(f);
    assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.cert, "CERT");
    assert_string_equal(f->auth.key, "KEY");
    assert_int_not_equal(f->auth.revision, 0);
}

static void an_answer_that_is_expired_already_is_used_and_not_asked_for_at_once(void **state)
{
    struct fixture *f = *state;
    plugin_answers(f, "\"token\":\"old\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"");
    begin(f);
    assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    assert_token(f, "old");
    assert_token(f, "old");
    assert_int_equal(runs(f), 1);
}

static void what_a_plugin_does_wrong_is_said_with_its_name(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"echo no account >&2; exit 3", "it failed with exit code 3: no account"},
        {"kill -9 $$", "it was ended by signal 9"},
        {"echo hello", "its answer is not JSON"},
        {"true", "its answer is not JSON"},
        {"echo '{\"kind\":\"Pod\"}'", "its answer is of kind 'Pod'"},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}'",
         "it answers with apiVersion 'client.authentication.k8s.io/v1beta1', the kubeconfig asks for"},
        {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}'",
         "neither a token nor a client certificate"},
        {"head -c 2000000 /dev/zero", "its answer is longer than"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        plugin(f, cases[i].text);
        begin(f);
        assert_int_equal(get_waiting(f), PRG_AUTH_FAILED);
        assert_error_has(&f->err, cases[i].error);
        assert_error_has(&f->err, "/k/config: user 'u': exec plugin '/tmp/perigee-credentials-");
        prg_credentials_free(f->credentials);
    }
    f->credentials = NULL;
}

static void half_a_certificate_and_bad_dates_are_refused(void **state)
{
    static const struct {
        const char *status, *error;
    } cases[] = {
        {"'clientCertificateData':'x'", "must have both"},
        {"'token':'t','expirationTimestamp':'tomorrow'", "expirationTimestamp 'tomorrow' is not a time"},
        {"'token':'a\\nb'", "holds a line break"},
        {"'token':''", "neither a token"},
    };
    struct fixture *f = *state;
    plugin(f, "");
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_exec_answer answer;
        char *text = prg_arena_printf(&f->arena, ANSWER, cases[i].status);
        for (char *p = text; *p; p++)
            *p = *p == '\'' ? '"' : *p;
        prg_error_clear(&f->err);
        assert_int_equal(prg_exec_parse(&f->arena, &f->exec, text, strlen(text), &answer, &f->err), PRG_INVALID);
        assert_error_has(&f->err, cases[i].error);
    }
}

static void a_failing_plugin_is_asked_ever_more_rarely(void **state)
{
    struct fixture *f = *state;
    plugin(f, "exit 1");
    begin(f);
    assert_int_equal(get_waiting(f), PRG_AUTH_FAILED);
    assert_int_equal(get(f), PRG_AUTH_FAILED); // at once, from memory
    assert_int_equal(runs(f), 1);
    prg_timers_advance(f->timers, 1000);
    assert_int_equal(get_waiting(f), PRG_AUTH_FAILED);
    assert_int_equal(runs(f), 2);
    prg_timers_advance(f->timers, 1999);
    assert_int_equal(get(f), PRG_AUTH_FAILED);
    assert_int_equal(runs(f), 2);
    plugin_answers(f, "\"token\":\"back\"");
    prg_timers_advance(f->timers, 1);
    assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    assert_string_equal(f->auth.token, "back");
}

static void a_plugin_that_does_not_end_is_killed(void **state)
{
    struct fixture *f = *state;
    plugin(f, "echo waiting >&2; exec tail -f /dev/null");
    begin(f);
    assert_int_equal(get(f), PRG_AUTH_WAIT);
    while (runs(f) == 0)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    prg_timers_advance(f->timers, PRG_EXEC_LIMIT_MS);
    assert_int_equal(f->wakes, 1);
    assert_int_equal(get(f), PRG_AUTH_FAILED);
    assert_error_has(&f->err, "it did not answer within 60 seconds");
}

static void a_plugin_that_is_not_there_says_where_to_get_it(void **state)
{
    struct fixture *f = *state;
    plugin(f, "");
    f->exec.command = "perigee-no-such-plugin";
    begin(f);
    assert_int_equal(get_waiting(f), PRG_AUTH_FAILED);
    assert_error_has(&f->err, "exec plugin 'perigee-no-such-plugin': it cannot be started: no such file or directory; "
                              "get it from example.org");
}

static void a_plugin_is_told_version_cluster_and_environment(void **state)
{
    struct fixture *f = *state;
    static const struct prg_kube_pair env[] = {{"EXTRA", "from config"}};
    static const char *const args[] = {"first", "second one"};
    plugin(f, prg_arena_printf(&f->arena,
                               "echo \"$KUBERNETES_EXEC_INFO\" > %s; echo '" ANSWER "' | sed \"s/@/$EXTRA $2/\"",
                               path_of(f, "info"), "\"token\":\"@\""));
    f->exec.env = env;
    f->exec.env_count = 1;
    f->exec.args = args;
    f->exec.arg_count = 2;
    f->exec.wants_cluster = true;
    f->exec.cluster_extra = "{\"a\":1}";
    begin(f);
    assert_int_equal(get_waiting(f), PRG_AUTH_READY);
    assert_non_null(strstr(f->auth.token, "from config second one"));
    char text[1000] = "";
    FILE *file = fopen(path_of(f, "info"), "r");
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_json_text(&f->arena, json_of(&f->arena, text),
                     "{'kind':'ExecCredential','apiVersion':'client.authentication.k8s.io/v1','spec':{'interactive':"
                     "false,'cluster':{'server':'https://s','config':{'a':1}}}}");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_token_file_is_read_again_after_a_minute),
        TEST(the_last_good_token_stays_when_the_file_fails),
        TEST(a_refused_token_is_read_again_at_once),
        TEST(a_token_file_that_never_was_there_is_an_error),
        TEST(a_given_token_stands_in_until_its_file_can_be_read),
        TEST(a_changed_ca_has_a_new_revision_and_a_broken_one_is_not_taken),
        TEST(missing_certificates_are_named),
        TEST(a_plugin_gives_a_token_until_it_expires),
        TEST(a_refusal_runs_the_plugin_again_but_not_in_a_storm),
        TEST(a_plugin_may_give_a_client_certificate),
        TEST(an_answer_that_is_expired_already_is_used_and_not_asked_for_at_once),
        TEST(what_a_plugin_does_wrong_is_said_with_its_name),
        TEST(half_a_certificate_and_bad_dates_are_refused),
        TEST(a_failing_plugin_is_asked_ever_more_rarely),
        TEST(a_plugin_that_does_not_end_is_killed),
        TEST(a_plugin_that_is_not_there_says_where_to_get_it),
        TEST(a_plugin_is_told_version_cluster_and_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
