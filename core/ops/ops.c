// SPDX-License-Identifier: Apache-2.0
// ops.c: the endpoints.
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "httpd/httpd.h"

struct check {
    const char *name;
    unsigned endpoints;
    prg_ops_check_fn fn;
    void *ctx;
};

struct prg_ops {
    uv_loop_t *loop;
    char *address;
    uint16_t port;
    struct prg_metrics *metrics;
    struct prg_vec checks;
    struct prg_httpd *httpd;
};

static bool ping(char *why, size_t size, void *ctx)
{
    (void)why;
    (void)size;
    (void)ctx;
    return true;
}

struct prg_ops *prg_ops_new(uv_loop_t *loop, const struct prg_ops_options *options)
{
    struct prg_ops *ops = prg_xcalloc(1, sizeof(*ops));
    ops->loop = loop;
    ops->address = prg_xstrdup(options->address ? options->address : "127.0.0.1");
    ops->port = options->port;
    ops->metrics = options->metrics;
    prg_ops_add(ops, "ping", PRG_OPS_HEALTH | PRG_OPS_READY, ping, NULL);
    return ops;
}

void prg_ops_add(struct prg_ops *ops, const char *name, unsigned endpoints, prg_ops_check_fn fn, void *ctx)
{
    struct check *check = NULL;
    for (size_t i = 0; i < ops->checks.count && !check; i++)
        if (strcmp(((struct check *)ops->checks.items[i])->name, name) == 0)
            check = ops->checks.items[i];
    if (!check) {
        check = prg_xcalloc(1, sizeof(*check));
        prg_vec_push(&ops->checks, check);
    }
    *check = (struct check){name, endpoints, fn, ctx};
}

// ---- checks ----

static bool is_excluded(const struct prg_httpd_request *request, const char *name);

struct outcome {
    struct prg_strbuf text; // "[+]name ok\n" …
    bool is_well;
};

static void run_check(struct outcome *outcome, const struct check *check)
{
    char why[512] = "";
    bool is_well = check->fn(why, sizeof(why), check->ctx);
    outcome->is_well = outcome->is_well && is_well;
    if (is_well)
        prg_strbuf_printf(&outcome->text, "[+]%s ok\n", check->name);
    else
        prg_strbuf_printf(&outcome->text, "[-]%s failed%s%s\n", check->name, *why ? ": " : "", why);
}

static void run_checks(struct prg_ops *ops, const struct prg_httpd_request *request, enum prg_ops_endpoint endpoint,
                       const char *title, struct outcome *outcome)
{
    for (size_t i = 0; i < ops->checks.count; i++) {
        const struct check *check = ops->checks.items[i];
        if (!(check->endpoints & (unsigned)endpoint))
            continue;
        if (is_excluded(request, check->name))
            prg_strbuf_printf(&outcome->text, "[+]%s excluded: ok\n", check->name);
        else
            run_check(outcome, check);
    }
    prg_strbuf_printf(&outcome->text, "%s check %s\n", title, outcome->is_well ? "passed" : "failed");
}

// ---- requests ----

// A query may have one argument several times.
struct exclusion {
    const char *name;
    bool is_found;
};

static enum MHD_Result look_for_exclusion(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct exclusion *exclusion = ctx;
    (void)kind;
    if (strcmp(key, "exclude") == 0 && value && strcmp(value, exclusion->name) == 0)
        exclusion->is_found = true;
    return MHD_YES;
}

static bool is_excluded(const struct prg_httpd_request *request, const char *name)
{
    struct exclusion exclusion = {name, false};
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, look_for_exclusion, &exclusion);
    return exclusion.is_found;
}

static enum MHD_Result look_for_verbose(void *ctx, enum MHD_ValueKind kind, const char *key, const char *value)
{
    (void)kind;
    (void)value; // "?verbose" has none
    if (strcmp(key, "verbose") == 0)
        *(bool *)ctx = true;
    return MHD_YES;
}

static enum MHD_Result say(const struct prg_httpd_request *request, unsigned status, const char *text)
{
    return prg_httpd_answer_text(request->connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result answer_checks(struct prg_ops *ops, const struct prg_httpd_request *request,
                                     enum prg_ops_endpoint endpoint, const char *title)
{
    struct outcome outcome = {.text = PRG_STRBUF_INIT, .is_well = true};
    bool is_verbose = false;
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, look_for_verbose, &is_verbose);
    run_checks(ops, request, endpoint, title, &outcome);
    enum MHD_Result result = say(request, outcome.is_well ? MHD_HTTP_OK : MHD_HTTP_INTERNAL_SERVER_ERROR,
                                 outcome.is_well && !is_verbose ? "ok" : outcome.text.text);
    prg_strbuf_release(&outcome.text);
    return result;
}

static enum MHD_Result answer_check(struct prg_ops *ops, const struct prg_httpd_request *request,
                                    enum prg_ops_endpoint endpoint, const char *name)
{
    for (size_t i = 0; i < ops->checks.count; i++) {
        const struct check *check = ops->checks.items[i];
        if (!(check->endpoints & (unsigned)endpoint) || strcmp(check->name, name) != 0)
            continue;
        struct outcome outcome = {.text = PRG_STRBUF_INIT, .is_well = true};
        run_check(&outcome, check);
        enum MHD_Result result = say(request, outcome.is_well ? MHD_HTTP_OK : MHD_HTTP_INTERNAL_SERVER_ERROR,
                                     outcome.is_well ? "ok" : outcome.text.text);
        prg_strbuf_release(&outcome.text);
        return result;
    }
    return say(request, MHD_HTTP_NOT_FOUND, "no such check\n");
}

static enum MHD_Result answer_metrics(struct prg_ops *ops, const struct prg_httpd_request *request)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_metrics_print(ops->metrics, &text);
    return prg_httpd_answer_text(request->connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                                 text.text, text.length);
}

static enum MHD_Result on_request(const struct prg_httpd_request *request, void *ctx)
{
    static const struct {
        const char *path, *title;
        enum prg_ops_endpoint endpoint;
    } endpoints[] = {{"/healthz", "healthz", PRG_OPS_HEALTH},
                     {"/livez", "livez", PRG_OPS_HEALTH},
                     {"/readyz", "readyz", PRG_OPS_READY}};
    struct prg_ops *ops = ctx;
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
        return say(request, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD\n");
    for (size_t i = 0; i < PRG_COUNT(endpoints); i++) {
        size_t length = strlen(endpoints[i].path);
        if (strncmp(request->url, endpoints[i].path, length) != 0)
            continue;
        const char *rest = request->url + length;
        if (!*rest || strcmp(rest, "/") == 0)
            return answer_checks(ops, request, endpoints[i].endpoint, endpoints[i].title);
        if (*rest == '/')
            return answer_check(ops, request, endpoints[i].endpoint, rest + 1);
    }
    if (ops->metrics && strcmp(request->url, "/metrics") == 0)
        return answer_metrics(ops, request);
    return say(request, MHD_HTTP_NOT_FOUND, "/healthz, /livez, /readyz, /metrics\n");
}

// ---- beginning and ending ----

int prg_ops_listen(struct prg_ops *ops, struct prg_error *err)
{
    struct prg_httpd_options options = {
        .address = ops->address, .port = ops->port, .max_connections = 64, .answer = on_request, .ctx = ops};
    if (ops->httpd)
        return PRG_OK;
    if (prg_httpd_start(ops->loop, &options, &ops->httpd, err) != PRG_OK)
        return prg_wrap(err, "metrics and health");
    return PRG_OK;
}

uint16_t prg_ops_port(const struct prg_ops *ops)
{
    return ops->httpd ? prg_httpd_port(ops->httpd) : 0;
}

static void on_closed(void *ctx)
{
    struct prg_ops *ops = ctx;
    for (size_t i = 0; i < ops->checks.count; i++)
        free(ops->checks.items[i]);
    prg_vec_release(&ops->checks);
    free(ops->address);
    free(ops);
}

void prg_ops_close(struct prg_ops *ops)
{
    if (!ops)
        return;
    if (ops->httpd)
        prg_httpd_close(ops->httpd, on_closed, ops);
    else
        on_closed(ops);
}
