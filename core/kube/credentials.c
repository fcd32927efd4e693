// SPDX-License-Identifier: Apache-2.0
// credentials.c: files read again as they rotate, and what a plugin gave.
#include "kube/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "kube/exec.h"

#define TOKEN_MS 50000 // a minute, less ten seconds
#define PEM_MS (5 * 60 * 1000)
#define DISTRUST_MS 10000
#define REFUSED_MS 5000 // what a plugin gave is used so long, whatever the server says
#define MAX_FILE ((size_t)1 << 20)

struct file {         // content of a file as it was last good
    const char *path; // NULL: none
    char *text;       // heap, or NULL: never read
    uint64_t read_ms;
    bool is_stale; // read at the next chance
};

struct prg_credentials {
    uv_loop_t *loop;
    struct prg_timers *timers;
    const struct prg_kube_config *config;
    prg_wake_fn wake;
    void *ctx;
    struct file token, ca, cert, key;
    uint64_t revision;
    uint64_t distrusted_ms;
    bool was_distrusted;

    struct prg_exec_run *run; // under way, or NULL
    char *exec_token, *exec_cert, *exec_key;
    bool has_exec;
    int64_t exec_expires_ns;
    uint64_t exec_got_ms;
    struct prg_retry exec_retry;
    uint64_t exec_not_before_ms; // after a failure
    struct prg_error exec_error; // of the last run, depth 0: none
};

// ---- files ----

// The whole file, or NULL with errno. Symbolic links are followed: mounted secrets are links that are switched.
static char *read_file(const char *path)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    char chunk[8192];
    ssize_t count = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    while (text.length <= MAX_FILE && (count = read(fd, chunk, sizeof(chunk))) > 0)
        prg_strbuf_add(&text, chunk, (size_t)count);
    int problem = count < 0 ? errno : text.length > MAX_FILE ? EFBIG : strlen(text.text) != text.length ? EILSEQ : 0;
    close(fd);
    errno = problem;
    return problem ? NULL : prg_strbuf_steal(&text, NULL);
}

static void trim(char *text)
{
    size_t length = strlen(text), start = strspn(text, " \t\r\n");
    while (length > start && strchr(" \t\r\n", text[length - 1]))
        length--;
    memmove(text, text + start, length - start);
    text[length - start] = '\0';
}

static bool is_good(const char *text, bool is_pem)
{
    return is_pem ? strstr(text, "-----BEGIN ") && strstr(text, "-----END ") : *text && !strpbrk(text, "\r\n");
}

// Reads file again when it is old enough. Returns true when its content is another than before. Fails only when there
// never was a good content.
static int refresh(struct prg_credentials *c, struct file *file, uint64_t life_ms, bool is_pem, bool *ret_changed,
                   struct prg_error *err)
{
    uint64_t now = prg_timers_now(c->timers);
    if (!file->path || (file->text && !file->is_stale && now - file->read_ms < life_ms))
        return PRG_OK;
    char *text = read_file(file->path);
    int problem = errno;
    if (text && !is_pem)
        trim(text);
    bool is_kept = file->text != NULL;
    if (text && is_good(text, is_pem)) {
        *ret_changed = *ret_changed || !is_kept || strcmp(text, file->text) != 0;
        free(file->text);
        file->text = text;
        is_kept = true;
    } else if (!is_kept && text) {
        prg_fail(err, PRG_INVALID, "%s: %s", file->path,
                 is_pem ? "holds no PEM text" : "is empty, or no token in one line");
        free(text);
    } else if (!is_kept) {
        prg_fail(err, PRG_IO, "%s: cannot be read: %s", file->path, strerror(problem));
    } else {
        free(text);
    }
    file->read_ms = now;
    file->is_stale = false;
    return is_kept ? PRG_OK : PRG_IO;
}

// Certificate and key change together: half of a rotation is not taken.
static int refresh_pair(struct prg_credentials *c, bool *ret_changed, struct prg_error *err)
{
    return refresh(c, &c->cert, PEM_MS, true, ret_changed, err) == PRG_OK &&
                   refresh(c, &c->key, PEM_MS, true, ret_changed, err) == PRG_OK
               ? PRG_OK
               : PRG_IO;
}

static int refresh_files(struct prg_credentials *c, struct prg_error *err)
{
    bool changed = false, token_changed = false;
    // The token stands in while its file cannot be read yet.
    int rc = refresh(c, &c->token, TOKEN_MS, false, &token_changed, c->config->token ? NULL : err);
    if (rc != PRG_OK && !c->config->token)
        return prg_wrap(err, "%s: token of user '%s'", c->config->source, c->config->user);
    if (refresh(c, &c->ca, PEM_MS, true, &changed, err) != PRG_OK)
        return prg_wrap(err, "%s: certificate-authority of cluster '%s'", c->config->source, c->config->cluster);
    if (refresh_pair(c, &changed, err) != PRG_OK)
        return prg_wrap(err, "%s: client certificate of user '%s'", c->config->source, c->config->user);
    if (changed)
        c->revision++;
    return PRG_OK;
}

// ---- the plugin ----

static void set_text(char **place, const char *text)
{
    char *copy = text ? prg_xstrdup(text) : NULL;
    free(*place);
    *place = copy;
}

static void on_answer(const struct prg_exec_answer *answer, const struct prg_error *err, void *ctx)
{
    struct prg_credentials *c = ctx;
    uint64_t now = prg_timers_now(c->timers);
    c->run = NULL;
    if (answer) {
        if (!prg_text_equal(c->exec_cert, answer->cert) || !prg_text_equal(c->exec_key, answer->key))
            c->revision++;
        set_text(&c->exec_token, answer->token);
        set_text(&c->exec_cert, answer->cert);
        set_text(&c->exec_key, answer->key);
        c->exec_expires_ns = answer->expires_ns;
        c->exec_got_ms = now;
        c->has_exec = true;
        prg_error_clear(&c->exec_error);
        if (answer->expires_ns && answer->expires_ns <= prg_timers_wall_ns(c->timers)) // do not ask again at once
            c->exec_not_before_ms = now + prg_retry_next(&c->exec_retry, now);
        else
            prg_retry_reset(&c->exec_retry);
    } else {
        c->exec_error = *err;
        c->exec_not_before_ms = now + prg_retry_next(&c->exec_retry, now);
    }
    c->wake(c->ctx);
}

static enum prg_auth_state ask_plugin(struct prg_credentials *c, struct prg_error *err)
{
    uint64_t now = prg_timers_now(c->timers);
    bool is_expired = c->exec_expires_ns && c->exec_expires_ns <= prg_timers_wall_ns(c->timers);
    if (c->run)
        return PRG_AUTH_WAIT;
    if (c->has_exec && (!is_expired || now < c->exec_not_before_ms))
        return PRG_AUTH_READY; // expired, but just given: the server judges by its own clock
    if (c->exec_error.depth && now < c->exec_not_before_ms) {
        *err = c->exec_error;
        return PRG_AUTH_FAILED;
    }
    c->has_exec = false;
    c->run = prg_exec_start(c->loop, c->timers, c->config, PRG_EXEC_LIMIT_MS, on_answer, c);
    return PRG_AUTH_WAIT;
}

// ---- interface ----

struct prg_credentials *prg_credentials_new(uv_loop_t *loop, struct prg_timers *timers,
                                            const struct prg_kube_config *config, prg_wake_fn wake, void *ctx)
{
    struct prg_credentials *c = prg_xcalloc(1, sizeof(*c));
    c->loop = loop;
    c->timers = timers;
    c->config = config;
    c->wake = wake;
    c->ctx = ctx;
    c->token.path = config->token_file;
    c->ca.path = config->ca_file;
    c->cert.path = config->cert_file;
    c->key.path = config->key_file;
    c->exec_retry = (struct prg_retry){.base_ms = 1000, .max_ms = 60000};
    return c;
}

void prg_credentials_free(struct prg_credentials *c)
{
    if (!c)
        return;
    prg_exec_cancel(c->run);
    free(c->token.text);
    free(c->ca.text);
    free(c->cert.text);
    free(c->key.text);
    free(c->exec_token);
    free(c->exec_cert);
    free(c->exec_key);
    free(c);
}

enum prg_auth_state prg_credentials_get(struct prg_credentials *c, struct prg_auth *ret, struct prg_error *err)
{
    const struct prg_kube_config *config = c->config;
    struct prg_error own = {0};
    if (refresh_files(c, err ? err : &own) != PRG_OK)
        return PRG_AUTH_FAILED;
    enum prg_auth_state state = config->exec ? ask_plugin(c, err ? err : &own) : PRG_AUTH_READY;
    if (state != PRG_AUTH_READY)
        return state;
    *ret = (struct prg_auth){
        .token = c->token.text   ? c->token.text
                 : config->token ? config->token
                                 : c->exec_token,
        .username = config->username,
        .password = config->password ? config->password : "",
        .ca = c->ca.text ? c->ca.text : config->ca_data,
        .cert = c->cert.text        ? c->cert.text
                : config->cert_data ? config->cert_data
                                    : c->exec_cert,
        .key = c->key.text        ? c->key.text
               : config->key_data ? config->key_data
                                  : c->exec_key,
        .revision = c->revision,
    };
    return PRG_AUTH_READY;
}

void prg_credentials_refused(struct prg_credentials *c, uint64_t asked_ms)
{
    if (c->token.text && c->token.read_ms <= asked_ms)
        c->token.is_stale = true;
    // A server that refuses everything must not start a plugin for each request.
    if (c->exec_got_ms <= asked_ms && prg_timers_now(c->timers) - c->exec_got_ms >= REFUSED_MS)
        c->has_exec = false;
}

void prg_credentials_distrusted(struct prg_credentials *c)
{
    uint64_t now = prg_timers_now(c->timers);
    if (c->was_distrusted && now - c->distrusted_ms < DISTRUST_MS)
        return;
    c->was_distrusted = true;
    c->distrusted_ms = now;
    c->ca.is_stale = c->cert.is_stale = c->key.is_stale = true;
}
