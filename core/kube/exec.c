// SPDX-License-Identifier: Apache-2.0
// exec.c: a plugin process, its two pipes and its time limit.
//
// Source of the protocol: client-go plugin/pkg/client/auth/exec and the ExecCredential type of
// client.authentication.k8s.io.
#include "kube/exec.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "json/value.h"

#define MAX_ANSWER ((size_t)1 << 20)
#define MAX_COMPLAINT ((size_t)600) // of what it writes to its standard error, the end is kept

extern char **environ;

struct prg_exec_run {
    struct prg_timers *timers;
    const struct prg_kube_config *config;
    prg_exec_fn done; // NULL: told, or cancelled
    void *ctx;
    struct prg_timer limit;
    uint64_t limit_ms;
    uv_process_t process;
    uv_pipe_t out, complaint;
    unsigned open;    // handles not closed yet
    unsigned waiting; // of: exit, end of out, end of complaint
    int64_t exit_status;
    int exit_signal;
    bool has_process; // the handle was initialised
    bool is_late, is_too_long;
    struct prg_strbuf text, complaints;
    char chunk[16384];
};

// ---- what it is told and what it answers ----

char *prg_exec_info(struct prg_arena *arena, const struct prg_kube_config *config, bool is_interactive)
{
    cJSON *info = prg_json_object(arena), *spec = prg_json_ensure_object(arena, info, "spec");
    prg_json_set_string(arena, info, "kind", "ExecCredential");
    prg_json_set_string(arena, info, "apiVersion", config->exec->api_version);
    prg_json_set_bool(arena, spec, "interactive", is_interactive);
    if (config->exec->wants_cluster) {
        cJSON *cluster = prg_json_ensure_object(arena, spec, "cluster");
        prg_json_set_string(arena, cluster, "server", config->server);
        prg_json_set_string(arena, cluster, "tls-server-name", config->tls_server_name);
        prg_json_set_string(arena, cluster, "proxy-url", config->proxy_url);
        if (config->is_insecure)
            prg_json_set_bool(arena, cluster, "insecure-skip-tls-verify", true);
        cJSON *extra = NULL;
        const char *text = config->exec->cluster_extra;
        if (text && prg_json_parse(arena, text, strlen(text), NULL, &extra, NULL) == PRG_OK)
            prg_json_set(arena, cluster, "config", extra);
    }
    return prg_json_print_arena(arena, info, PRG_JSON_COMPACT);
}

int prg_exec_parse(struct prg_arena *arena, const struct prg_kube_exec *exec, const char *text, size_t length,
                   struct prg_exec_answer *ret, struct prg_error *err)
{
    cJSON *answer = NULL;
    if (prg_json_parse(arena, text, length, NULL, &answer, err) != PRG_OK)
        return prg_wrap(err, "its answer is not JSON");
    const char *kind = prg_json_get_text(answer, "kind"), *version = prg_json_get_text(answer, "apiVersion");
    if (!prg_text_equal(kind, "ExecCredential"))
        return prg_fail(err, PRG_INVALID, "its answer is of kind '%s', it must be ExecCredential", kind ? kind : "");
    if (!prg_text_equal(version, exec->api_version))
        return prg_fail(err, PRG_INVALID,
                        "it answers with apiVersion '%s', the kubeconfig asks for '%s'; make them the "
                        "same",
                        version ? version : "", exec->api_version);
    const cJSON *status = prg_json_get(answer, "status");
    const char *expires = prg_json_get_text(status, "expirationTimestamp");
    struct prg_exec_answer found = {.token = prg_json_get_text(status, "token"),
                                    .cert = prg_json_get_text(status, "clientCertificateData"),
                                    .key = prg_json_get_text(status, "clientKeyData")};
    found.token = found.token && *found.token ? found.token : NULL;
    found.cert = found.cert && *found.cert ? found.cert : NULL;
    found.key = found.key && *found.key ? found.key : NULL;
    if (!found.token && !found.cert && !found.key)
        return prg_fail(err, PRG_INVALID, "its answer has neither a token nor a client certificate in status");
    if (!found.cert != !found.key)
        return prg_fail(err, PRG_INVALID,
                        "its answer must have both clientCertificateData and clientKeyData or neither of them");
    if (found.token && strpbrk(found.token, "\r\n"))
        return prg_fail(err, PRG_INVALID, "its token holds a line break");
    if (expires && !prg_clock_parse(expires, &found.expires_ns))
        return prg_fail(err, PRG_INVALID, "expirationTimestamp '%s' is not a time as 2026-01-31T00:00:00Z", expires);
    *ret = found;
    return PRG_OK;
}

// ---- the process ----

static void on_closed(uv_handle_t *handle)
{
    struct prg_exec_run *run = handle->data;
    if (--run->open)
        return;
    prg_strbuf_release(&run->text);
    prg_strbuf_release(&run->complaints);
    free(run);
}

static void close_all(struct prg_exec_run *run)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&run->process, (uv_handle_t *)&run->out, (uv_handle_t *)&run->complaint};
    prg_timer_stop(run->timers, &run->limit);
    for (size_t i = 0; i < PRG_COUNT(handles); i++)
        if ((i > 0 || run->has_process) && !uv_is_closing(handles[i]))
            uv_close(handles[i], on_closed);
}

// What the plugin complained of, in one line.
static const char *complaint_text(struct prg_exec_run *run, struct prg_arena *arena)
{
    struct prg_strbuf *said = &run->complaints;
    while (said->length && strchr(" \r\n\t", said->text[said->length - 1]))
        prg_strbuf_truncate(said, said->length - 1);
    if (!said->length)
        return "";
    size_t from = said->length > MAX_COMPLAINT ? said->length - MAX_COMPLAINT : 0;
    char *text = prg_arena_printf(arena, ": %s%s", from ? "..." : "", said->text + from);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20)
            *p = ' ';
    return text;
}

static int judge(struct prg_exec_run *run, struct prg_arena *arena, struct prg_exec_answer *ret, struct prg_error *err)
{
    if (run->is_late)
        return prg_fail(err, PRG_LIMIT, "it did not answer within %u seconds%s", (unsigned)(run->limit_ms / 1000),
                        complaint_text(run, arena));
    if (run->is_too_long)
        return prg_fail(err, PRG_LIMIT, "its answer is longer than %zu bytes", MAX_ANSWER);
    if (run->exit_signal)
        return prg_fail(err, PRG_IO, "it was ended by signal %d%s", run->exit_signal, complaint_text(run, arena));
    if (run->exit_status)
        return prg_fail(err, PRG_IO, "it failed with exit code %d%s", (int)run->exit_status,
                        complaint_text(run, arena));
    return prg_exec_parse(arena, run->config->exec, run->text.text, run->text.length, ret, err);
}

static void finish(struct prg_exec_run *run)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    struct prg_exec_answer answer;
    prg_exec_fn done = run->done;
    void *ctx = run->ctx;
    run->done = NULL;
    close_all(run); // memory goes later
    if (!done)
        return;
    int rc = judge(run, &arena, &answer, &err);
    if (rc != PRG_OK)
        prg_wrap(&err, "%s: user '%s': exec plugin '%s'", run->config->source, run->config->user,
                 run->config->exec->command);
    done(rc == PRG_OK ? &answer : NULL, rc == PRG_OK ? NULL : &err, ctx);
}

static void one_less(struct prg_exec_run *run)
{
    if (--run->waiting == 0)
        finish(run);
}

static void on_exited(uv_process_t *process, int64_t exit_status, int signal)
{
    struct prg_exec_run *run = process->data;
    run->exit_status = exit_status;
    run->exit_signal = signal;
    one_less(run);
}

static void on_late(void *ctx)
{
    struct prg_exec_run *run = ctx;
    run->is_late = true;
    uv_process_kill(&run->process, SIGKILL);
    finish(run);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct prg_exec_run *run = handle->data;
    (void)suggested;
    *ret = uv_buf_init(run->chunk, sizeof(run->chunk));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct prg_exec_run *run = stream->data;
    if (count < 0) {
        uv_read_stop(stream);
        one_less(run);
        return;
    }
    if (stream == (uv_stream_t *)&run->complaint) {
        if (run->complaints.length > 16 * MAX_COMPLAINT)
            prg_strbuf_clear(&run->complaints);
        prg_strbuf_add(&run->complaints, buf->base, (size_t)count);
    } else if (run->text.length + (size_t)count > MAX_ANSWER) {
        run->is_too_long = true;
        uv_process_kill(&run->process, SIGKILL);
        finish(run);
    } else {
        prg_strbuf_add(&run->text, buf->base, (size_t)count);
    }
}

// ---- start ----

static bool is_named(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

// Our own environment, the plugin's additions, and what it is told.
static char **environment(struct prg_arena *arena, const struct prg_kube_config *config, bool is_interactive)
{
    const struct prg_kube_exec *exec = config->exec;
    size_t count = 0, n = 0;
    while (environ[count])
        count++;
    char **env = prg_arena_array(arena, char *, count + exec->env_count + 2);
    for (size_t i = 0; i < count; i++) {
        bool is_replaced = is_named(environ[i], "KUBERNETES_EXEC_INFO");
        for (size_t j = 0; j < exec->env_count; j++)
            is_replaced = is_replaced || is_named(environ[i], exec->env[j].name);
        if (!is_replaced)
            env[n++] = environ[i];
    }
    for (size_t j = 0; j < exec->env_count; j++)
        if (strcmp(exec->env[j].name, "KUBERNETES_EXEC_INFO") != 0)
            env[n++] = prg_arena_printf(arena, "%s=%s", exec->env[j].name, exec->env[j].value);
    env[n] = prg_arena_printf(arena, "KUBERNETES_EXEC_INFO=%s", prg_exec_info(arena, config, is_interactive));
    return env;
}

static int spawn(struct prg_exec_run *run, uv_loop_t *loop, struct prg_arena *arena)
{
    const struct prg_kube_exec *exec = run->config->exec;
    char **args = prg_arena_array(arena, char *, exec->arg_count + 2);
    bool is_interactive = exec->terminal != PRG_EXEC_TERMINAL_NEVER && isatty(STDIN_FILENO);
    args[0] = prg_arena_strdup(arena, exec->command);
    for (size_t i = 0; i < exec->arg_count; i++)
        args[i + 1] = prg_arena_strdup(arena, exec->args[i]);
    uv_stdio_container_t stdio[] = {
        {.flags = is_interactive ? UV_INHERIT_FD : UV_IGNORE, .data.fd = STDIN_FILENO},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&run->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&run->complaint}};
    uv_process_options_t options = {.file = exec->command,
                                    .args = args,
                                    .env = environment(arena, run->config, is_interactive),
                                    .exit_cb = on_exited,
                                    .stdio = stdio,
                                    .stdio_count = 3};
    return uv_spawn(loop, &run->process, &options);
}

// The process could not be started: told from a timer, as done never comes from within start.
static void on_unstarted(void *ctx)
{
    struct prg_exec_run *run = ctx;
    prg_exec_fn done = run->done;
    void *done_ctx = run->ctx;
    struct prg_error err = {0};
    const struct prg_kube_exec *exec = run->config->exec;
    if (exec->terminal == PRG_EXEC_TERMINAL_ALWAYS && !run->exit_status)
        prg_fail(&err, PRG_INVALID, "it wants a terminal (interactiveMode: Always) and there is none");
    else
        prg_fail(&err, PRG_IO, "it cannot be started: %s%s%s", uv_strerror((int)run->exit_status),
                 exec->install_hint ? "; " : "", exec->install_hint ? exec->install_hint : "");
    prg_wrap(&err, "%s: user '%s': exec plugin '%s'", run->config->source, run->config->user, exec->command);
    run->done = NULL;
    close_all(run);
    if (done)
        done(NULL, &err, done_ctx);
}

struct prg_exec_run *prg_exec_start(uv_loop_t *loop, struct prg_timers *timers, const struct prg_kube_config *config,
                                    uint64_t limit_ms, prg_exec_fn done, void *ctx)
{
    prg_auto_arena arena = {0};
    struct prg_exec_run *run = prg_xcalloc(1, sizeof(*run));
    run->timers = timers;
    run->config = config;
    run->done = done;
    run->ctx = ctx;
    run->limit_ms = limit_ms;
    run->process.data = run->out.data = run->complaint.data = run;
    run->waiting = 3;
    prg_strbuf_init(&run->text);
    prg_strbuf_init(&run->complaints);
    uv_pipe_init(loop, &run->out, 0);
    uv_pipe_init(loop, &run->complaint, 0);
    bool lacks_terminal = config->exec->terminal == PRG_EXEC_TERMINAL_ALWAYS && !isatty(STDIN_FILENO);
    run->has_process = !lacks_terminal;
    run->open = run->has_process ? 3 : 2;
    int rc = lacks_terminal ? 0 : spawn(run, loop, &arena);
    if (lacks_terminal || rc != 0) {
        run->exit_status = rc;
        prg_timer_start(timers, &run->limit, 0, on_unstarted, run);
        return run;
    }
    uv_read_start((uv_stream_t *)&run->out, on_alloc, on_read);
    uv_read_start((uv_stream_t *)&run->complaint, on_alloc, on_read);
    prg_timer_start(timers, &run->limit, limit_ms, on_late, run);
    return run;
}

void prg_exec_cancel(struct prg_exec_run *run)
{
    if (!run)
        return;
    run->done = NULL;
    if (run->has_process && uv_is_active((uv_handle_t *)&run->process))
        uv_process_kill(&run->process, SIGKILL);
    close_all(run);
}
