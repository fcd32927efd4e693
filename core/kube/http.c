// SPDX-License-Identifier: Apache-2.0
// http.c: calls: waiting for their turn and a credential, on the wire, told.
//
// | state   | left by                                             |
// | ------- | --------------------------------------------------- |
// | queued  | its turn (rate limit) and a credential: running     |
// | running | an answer or a fault: told, or pausing (GET)        |
// | pausing | the time that the server or the rule says: queued   |
#include "kube/http.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/meters.h"
#include "base/strbuf.h"
#include "kube/credentials.h"
#include "kube/pool.h"

#define MAX_RETRIES 10
#define MAX_RETRY_AFTER_MS 60000
#define MAX_BYTES ((size_t)64 << 20)
#define MAX_COMPLAINT_BYTES ((size_t)256 << 10) // of the body of a refusal
#define MAX_WARNINGS ((size_t)8 << 10)
#define CONNECT_S 30L
#define USER_TIMEOUT_MS 45000U // data not acknowledged for so long: the other end is gone
#define DEADLINE_MS 60000U

enum call_state { CALL_QUEUED, CALL_RUNNING, CALL_PAUSING };

struct prg_call {
    struct prg_http *http;
    struct prg_call *previous, *next; // all calls, oldest first
    struct prg_request request;       // texts in arena
    struct prg_call_handler handler;
    void *ctx;
    struct prg_arena arena;
    enum call_state state;
    struct prg_timer deadline, idle, pause;
    uint64_t queued_ms, deadline_at_ms, asked_ms;
    unsigned retries;
    bool is_cancelled;

    // of the request on the wire
    CURL *easy;
    struct prg_pool *pool;
    struct curl_slist *headers, *connect_to;
    char complaint[CURL_ERROR_SIZE];
    size_t body_sent;
    long connection, stream; // of a write, as libcurl numbers them in its pool; -1: not known
    bool is_refused;         // the server has said that it did not look at the stream
    bool is_stopped, is_too_large;
    int status;
    bool has_retry_after;
    uint64_t retry_after_ms;
    struct prg_strbuf body, warnings;
};

struct prg_http {
    struct prg_transport transport; // first
    uv_loop_t *loop;
    struct prg_timers *timers;
    const struct prg_kube_config *config;
    struct prg_http_options options;
    char *user_agent;
    struct prg_credentials *credentials;
    struct prg_pool *pools[3];    // by kind, NULL until used
    struct prg_pool *retired[32]; // with calls still on them
    uint64_t revision;            // of the certificates that the pools were made with
    struct prg_call *first, *last;
    unsigned inside;  // libcurl
    unsigned telling; // callbacks of calls under way
    bool is_closed;
    uv_timer_t pump_timer;
    struct prg_timer rate_timer;
    double tokens;
    uint64_t tokens_ms;
    struct prg_http_counts counts;
};

static void pump_soon(struct prg_http *http);

// ---- pools ----

static void forget_idle_pools(struct prg_http *http)
{
    for (size_t i = 0; i < PRG_COUNT(http->retired); i++)
        if (http->retired[i] && prg_pool_count(http->retired[i]) == 0) {
            prg_pool_free(http->retired[i]);
            http->retired[i] = NULL;
        }
}

// New calls of this kind get new connections.
static void retire(struct prg_http *http, enum prg_call_kind kind)
{
    struct prg_pool *pool = http->pools[kind];
    if (!pool)
        return;
    for (size_t i = 0; i < PRG_COUNT(http->retired); i++)
        if (!http->retired[i]) {
            http->retired[i] = pool;
            http->pools[kind] = NULL;
            break; // with no room left, the pool is simply kept
        }
}

static void on_finished(CURL *easy, CURLcode result, void *ctx);

static struct prg_pool *pool_for(struct prg_http *http, enum prg_call_kind kind)
{
    if (!http->pools[kind])
        http->pools[kind] = prg_pool_new(http->loop, kind == PRG_CALL_WATCH ? 0 : 8, &http->inside, on_finished, http);
    return http->pools[kind];
}

// ---- the end of a call ----

static void leave_wire(struct prg_call *call)
{
    if (call->easy) {
        if (call->pool)
            prg_pool_remove(call->pool, call->easy);
        curl_easy_cleanup(call->easy);
    }
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    call->easy = NULL;
    call->pool = NULL;
    call->headers = call->connect_to = NULL;
    prg_timer_stop(call->http->timers, &call->idle);
}

static void call_free(struct prg_call *call)
{
    struct prg_http *http = call->http;
    leave_wire(call);
    prg_timer_stop(http->timers, &call->deadline);
    prg_timer_stop(http->timers, &call->pause);
    if (call->previous)
        call->previous->next = call->next;
    else
        http->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    else
        http->last = call->previous;
    prg_strbuf_release(&call->body);
    prg_strbuf_release(&call->warnings);
    prg_arena_release(&call->arena);
    free(call);
}

static void close_now(struct prg_http *http);

static void count_answer(const struct prg_call *call)
{
    const char *server = call->http->config->server, *scheme = strstr(server, "://");
    const char *host = scheme ? scheme + 3 : server;
    char text[256];
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(host, "/"), host);
    prg_meter_request(text, call->request.method, call->status,
                      call->request.kind == PRG_CALL_WATCH
                          ? -1
                          : (double)(prg_timers_now(call->http->timers) - call->queued_ms) / 1000);
}

// Tells the answer and forgets the call.
static void finish(struct prg_call *call, enum prg_fault fault, bool is_sent, const struct prg_error *err)
{
    struct prg_http *http = call->http;
    struct prg_response response = {
        .status = call->status,
        .fault = fault,
        .error = fault == PRG_FAULT_NONE ? NULL : err,
        .body = call->body.text,
        .body_length = call->body.length,
        .has_retry_after = call->has_retry_after,
        .retry_after_ms = call->retry_after_ms,
        .is_sent = is_sent,
        .warnings = call->warnings.length ? call->warnings.text : NULL,
    };
    prg_require(http->inside == 0);
    count_answer(call);
    call->is_cancelled = true; // a cancel from within done has nothing left to do
    leave_wire(call);
    http->telling++;
    call->handler.done(&response, call->ctx);
    http->telling--;
    call_free(call);
    if (http->is_closed && !http->telling)
        close_now(http);
    else
        forget_idle_pools(http);
}

static int fail_call(const struct prg_call *call, struct prg_error *err, const char *what)
{
    int path_length = (int)strcspn(call->request.path, "?");
    return prg_fail(err, PRG_IO, "%s %s%.*s: %s", call->request.method, call->http->config->server, path_length,
                    call->request.path, what);
}

// ---- what comes from the wire ----

bool prg_http_retry_after(const char *text, int64_t wall_ns, uint64_t *ret_ms)
{
    char *end;
    text += strspn(text, " \t");
    if (*text >= '0' && *text <= '9') {
        unsigned long long seconds = strtoull(text, &end, 10);
        if (end[strspn(end, " \t\r\n")])
            return false;
        *ret_ms = seconds >= MAX_RETRY_AFTER_MS / 1000 ? MAX_RETRY_AFTER_MS : seconds * 1000;
        return true;
    }
    time_t date = curl_getdate(text, NULL);
    if (date == (time_t)-1)
        return false;
    int64_t ms = (int64_t)date * 1000 - wall_ns / 1000000;
    *ret_ms = ms < 0 ? 0 : ms > MAX_RETRY_AFTER_MS ? MAX_RETRY_AFTER_MS : (uint64_t)ms;
    return true;
}

// A header's value when it has the name, else NULL.
static const char *header_value(const char *line, const char *name)
{
    size_t length = strlen(name);
    return strncasecmp(line, name, length) == 0 && line[length] == ':' ? line + length + 1 : NULL;
}

// Warning: 299 - "text"
static void keep_warning(struct prg_call *call, const char *value)
{
    const char *open = strchr(value, '"'), *close = strrchr(value, '"');
    value += strspn(value, " ");
    if (strncmp(value, "299 ", 4) != 0 || !open || close == open || call->warnings.length > MAX_WARNINGS)
        return;
    if (call->warnings.length)
        prg_strbuf_putc(&call->warnings, '\n');
    for (const char *p = open + 1; p < close; p++) {
        if (*p == '\\' && p + 1 < close)
            p++;
        if ((unsigned char)*p >= 0x20)
            prg_strbuf_putc(&call->warnings, *p);
    }
}

static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
    struct prg_call *call = ctx;
    prg_auto_strbuf line = PRG_STRBUF_INIT;
    const char *value;
    prg_strbuf_add(&line, bytes, size * count);
    if (prg_text_has_prefix(line.text, "HTTP/")) { // the answer proper; one before it was a 1xx
        const char *space = strchr(line.text, ' ');
        call->status = space ? (int)strtol(space, NULL, 10) : 0;
        call->has_retry_after = false;
        prg_strbuf_clear(&call->warnings);
    } else if ((value = header_value(line.text, "retry-after"))) {
        call->has_retry_after =
            prg_http_retry_after(value, prg_timers_wall_ns(call->http->timers), &call->retry_after_ms);
    } else if ((value = header_value(line.text, "warning"))) {
        keep_warning(call, value);
    }
    return size * count;
}

static void on_idle(void *ctx);

static size_t on_data(char *bytes, size_t size, size_t count, void *ctx)
{
    struct prg_call *call = ctx;
    size_t length = size * count;
    bool is_answer = call->status >= 200 && call->status < 300;
    prg_pool_heard(call->pool);
    if (call->is_cancelled || call->http->is_closed)
        return 0;
    if (call->request.idle_ms)
        prg_timer_start(call->http->timers, &call->idle, call->request.idle_ms, on_idle, call);
    if (is_answer && call->handler.data) {
        call->is_stopped = !call->handler.data(bytes, length, call->ctx);
        return call->is_stopped ? 0 : length;
    }
    size_t max = call->request.max_bytes ? call->request.max_bytes : call->http->options.max_bytes;
    if (is_answer && call->body.length + length > max) {
        call->is_too_large = true;
        return 0;
    }
    if (!is_answer && call->body.length + length > MAX_COMPLAINT_BYTES)
        return length; // enough of it
    prg_strbuf_add(&call->body, bytes, length);
    return length;
}

static size_t on_send(char *buffer, size_t size, size_t count, void *ctx)
{
    struct prg_call *call = ctx;
    size_t rest = call->request.body_length - call->body_sent;
    size_t length = rest < size * count ? rest : size * count;
    memcpy(buffer, call->request.body + call->body_sent, length);
    call->body_sent += length;
    return length;
}

// Number behind the words in text, or -1.
static long number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    char *end;
    if (!at)
        return -1;
    long number = strtol(at + strlen(words), &end, 10);
    return end == at + strlen(words) ? -1 : number;
}

// GOAWAY names the last stream that was or may yet be looked at; those behind it may be sent again elsewhere (RFC 9113,
// 6.8).
static void refuse_streams(const struct prg_call *told, long last)
{
    for (struct prg_call *call = told->http->first; call && told->connection >= 0; call = call->next)
        if (call->state == CALL_RUNNING && call->pool == told->pool && call->connection == told->connection)
            call->is_refused = call->is_refused || call->stream > last;
}

// What libcurl says for people is where it says which connection and stream a request went to, and that a GOAWAY came.
// Words that a later version puts otherwise are not understood, and a write is then not sent again.
static int on_words(CURL *easy, curl_infotype type, char *bytes, size_t length, void *ctx)
{
    struct prg_call *call = ctx;
    char text[256];
    long number;
    (void)easy;
    if (type != CURLINFO_TEXT)
        return 0;
    snprintf(text, sizeof(text), "%.*s", (int)length, bytes);
    if (prg_text_has_prefix(text, "Re-using existing connection") || prg_text_has_prefix(text, "Connected to "))
        call->connection = number_after(text, "#");
    else if ((number = number_after(text, "Using Stream ID: ")) > 0)
        call->stream = number;
    else if (strstr(text, "GOAWAY, error=0,") && (number = number_after(text, "last_stream=")) >= 0)
        refuse_streams(call, number);
    return 0;
}

// libcurl wants to send a body a second time, on another connection. It may where the first was certainly not looked
// at, and nowhere else.
static int on_rewind(void *ctx, curl_off_t offset, int origin)
{
    struct prg_call *call = ctx;
    bool is_start = offset == 0 && origin == SEEK_SET;
    if (!is_start || (call->body_sent && !call->is_refused))
        return CURL_SEEKFUNC_FAIL;
    call->body_sent = 0;
    call->is_refused = false;
    return CURL_SEEKFUNC_OK;
}

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    unsigned ms = USER_TIMEOUT_MS;
    (void)ctx;
    (void)purpose;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms)); // where it is not known, keep-alive must do
    return CURL_SOCKOPT_OK;
}

// ---- putting a call on the wire ----

static void add_header(struct prg_call *call, const char *format, ...) PRG_PRINTF(2, 3);
static void add_header(struct prg_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *line = prg_arena_vprintf(&call->arena, format, args);
    va_end(args);
    line[strcspn(line, "\r\n")] = '\0';
    call->headers = curl_slist_append(call->headers, line);
}

static void set_headers(struct prg_call *call, const struct prg_auth *auth)
{
    const struct prg_kube_config *config = call->http->config;
    add_header(call, "Accept: %s", call->request.accept ? call->request.accept : "application/json");
    if (call->request.body)
        add_header(call, "Content-Type: %s",
                   call->request.content_type ? call->request.content_type : "application/json");
    add_header(call, "Expect:"); // no waiting for 100 Continue
    if (auth->token)
        add_header(call, "Authorization: Bearer %s", auth->token);
    if (config->as)
        add_header(call, "Impersonate-User: %s", config->as);
    if (config->as_uid)
        add_header(call, "Impersonate-Uid: %s", config->as_uid);
    for (size_t i = 0; i < config->as_group_count; i++)
        add_header(call, "Impersonate-Group: %s", config->as_groups[i]);
    for (size_t i = 0; i < config->as_extra_count; i++) {
        char *name = curl_easy_escape(call->easy, config->as_extra[i].name, 0);
        add_header(call, "Impersonate-Extra-%s: %s", name, config->as_extra[i].value);
        curl_free(name);
    }
}

static void set_blob(CURL *easy, CURLoption option, const char *pem)
{
    struct curl_blob blob = {.data = (void *)pem, .len = strlen(pem), .flags = CURL_BLOB_COPY};
    curl_easy_setopt(easy, option, &blob);
}

static void set_tls(struct prg_call *call, const struct prg_auth *auth)
{
    bool is_checked = !call->http->config->is_insecure;
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, is_checked ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, is_checked ? 2L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2); // at least, as client-go
    if (auth->ca) {
        set_blob(easy, CURLOPT_CAINFO_BLOB, auth->ca);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL); // only this CA, not the system's besides
    }
    if (auth->cert && auth->key) {
        curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
        curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
        set_blob(easy, CURLOPT_SSLCERT_BLOB, auth->cert);
        set_blob(easy, CURLOPT_SSLKEY_BLOB, auth->key);
    }
}

// libcurl checks the certificate against the host of the URL, so tls-server-name becomes that host, and the connection
// is led to the real one.
static void set_url(struct prg_call *call)
{
    const struct prg_kube_config *config = call->http->config;
    const char *rest = strstr(config->server, "://") + 3;
    size_t host_length = strcspn(rest, "/");
    const char *host = prg_arena_strndup(&call->arena, rest, host_length);
    bool is_tls = prg_text_has_prefix(config->server, "https://");
    if (config->tls_server_name && is_tls) {
        const char *bracket = strrchr(host, ']'), *colon = strrchr(bracket ? bracket : host, ':');
        const char *port = colon ? colon + 1 : "443";
        int name_length = colon ? (int)(colon - host) : (int)host_length;
        add_header(call, "Host: %s", host);
        call->connect_to =
            curl_slist_append(NULL, prg_arena_printf(&call->arena, "::%.*s:%s", name_length, host, port));
        curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, call->connect_to);
        curl_easy_setopt(call->easy, CURLOPT_URL,
                         prg_arena_printf(&call->arena, "https://%s:%s%s%s", config->tls_server_name, port,
                                          rest + host_length, call->request.path));
    } else {
        curl_easy_setopt(call->easy, CURLOPT_URL,
                         prg_arena_printf(&call->arena, "%s%s", config->server, call->request.path));
    }
    curl_easy_setopt(call->easy, CURLOPT_PROTOCOLS_STR, is_tls ? "https" : "http");
}

static bool is_near(const struct prg_kube_config *config)
{
    const char *host = strstr(config->server, "://") + 3;
    return strcmp(config->source, "in-cluster") == 0 || prg_text_has_prefix(host, "127.") ||
           prg_text_has_prefix(host, "localhost") || prg_text_has_prefix(host, "[::1]");
}

static void set_method(struct prg_call *call)
{
    CURL *easy = call->easy;
    if (strcmp(call->request.method, "GET") != 0)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->request.method);
    if (!call->request.body)
        return;
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->request.body_length);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_send);
    curl_easy_setopt(easy, CURLOPT_READDATA, call);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, call);
    curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_words);
    curl_easy_setopt(easy, CURLOPT_DEBUGDATA, call);
    curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L); // told to on_words only
}

static void set_connection(struct prg_call *call, const struct prg_auth *auth)
{
    const struct prg_http *http = call->http;
    CURL *easy = call->easy;
    long version = http->options.no_http2 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS;
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version);
    // Wait for a shared HTTP/2 connection rather than open one's own. Not where there can be none: libcurl would let a
    // second watch wait for the end of the first.
    bool may_share = prg_text_has_prefix(http->config->server, "https://") && version == CURL_HTTP_VERSION_2TLS;
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, may_share ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (http->config->proxy_url)
        curl_easy_setopt(easy, CURLOPT_PROXY, http->config->proxy_url);
    if (!http->config->no_compression && !is_near(http->config))
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    if (auth->username && !auth->token) {
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        curl_easy_setopt(easy, CURLOPT_USERNAME, auth->username);
        curl_easy_setopt(easy, CURLOPT_PASSWORD, auth->password);
    }
}

static void launch(struct prg_call *call, const struct prg_auth *auth)
{
    struct prg_http *http = call->http;
    CURL *easy = call->easy = curl_easy_init();
    prg_require(easy);
    call->state = CALL_RUNNING;
    call->status = 0;
    call->has_retry_after = call->is_stopped = call->is_too_large = call->is_refused = false;
    call->connection = call->stream = -1;
    call->body_sent = 0;
    call->complaint[0] = '\0';
    call->asked_ms = prg_timers_now(http->timers);
    prg_strbuf_clear(&call->body);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->complaint);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, http->user_agent);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    set_url(call);
    set_headers(call, auth);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    set_method(call);
    set_tls(call, auth);
    set_connection(call, auth);
    http->counts.requests++;
    if (call->request.idle_ms)
        prg_timer_start(http->timers, &call->idle, call->request.idle_ms, on_idle, call);
    call->pool = pool_for(http, call->request.kind);
    prg_pool_add(call->pool, easy);
}

// ---- the queue ----

static bool take_token(struct prg_http *http, uint64_t *ret_wait_ms)
{
    double rate = http->options.rate;
    uint64_t now = prg_timers_now(http->timers);
    if (rate < 0)
        return true;
    http->tokens += (double)(now - http->tokens_ms) * rate / 1000;
    http->tokens_ms = now;
    if (http->tokens > http->options.burst)
        http->tokens = http->options.burst;
    if (http->tokens < 1) {
        *ret_wait_ms = (uint64_t)((1 - http->tokens) * 1000 / rate) + 1;
        return false;
    }
    http->tokens -= 1;
    return true;
}

static void on_rate(void *ctx)
{
    pump_soon(ctx);
}

// Starts call if it may. False: neither may those behind it.
static bool try_start(struct prg_http *http, struct prg_call *call, const struct prg_auth *auth)
{
    uint64_t wait_ms;
    if (!call->request.is_urgent && !take_token(http, &wait_ms)) {
        prg_timer_start(http->timers, &http->rate_timer, wait_ms, on_rate, http);
        return false;
    }
    http->counts.throttled_ms += prg_timers_now(http->timers) - call->queued_ms;
    launch(call, auth);
    return true;
}

static struct prg_call *next_queued(struct prg_http *http, bool is_urgent)
{
    struct prg_call *call = http->first;
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freeing takes a call out of the list
    while (call && (call->state != CALL_QUEUED || call->is_cancelled || call->request.is_urgent != is_urgent))
        call = call->next;
    return call;
}

static void pump(struct prg_http *http)
{
    struct prg_call *call;
    while (!http->is_closed && ((call = next_queued(http, true)) || (call = next_queued(http, false)))) {
        struct prg_auth auth;
        struct prg_error err = {0};
        enum prg_auth_state state = prg_credentials_get(http->credentials, &auth, &err);
        if (state == PRG_AUTH_WAIT)
            return; // on_credential continues
        if (state == PRG_AUTH_FAILED) {
            finish(call, PRG_FAULT_CREDENTIAL, false, &err);
            continue;
        }
        if (auth.revision != http->revision) {
            for (int kind = PRG_CALL_READ; kind <= PRG_CALL_WATCH; kind++)
                retire(http, (enum prg_call_kind)kind);
            forget_idle_pools(http);
            http->revision = auth.revision;
        }
        if (!try_start(http, call, &auth))
            return;
    }
}

static void reap_cancelled(struct prg_http *http)
{
    for (struct prg_call *call = http->first, *next; call; call = next) {
        next = call->next;
        if (call->is_cancelled)
            call_free(call);
    }
}

static void on_pump(uv_timer_t *handle)
{
    struct prg_http *http = handle->data;
    if (http->is_closed)
        return;
    http->telling++; // nothing is freed under our feet
    if (http->telling == 1)
        reap_cancelled(http);
    pump(http);
    if (--http->telling == 0 && http->is_closed)
        close_now(http);
    else
        forget_idle_pools(http);
}

static void pump_soon(struct prg_http *http)
{
    if (!http->is_closed)
        uv_timer_start(&http->pump_timer, on_pump, 0, 0);
}

static void on_credential(void *ctx)
{
    pump_soon(ctx);
}

// ---- results ----

static enum prg_fault fault_of(const struct prg_call *call, CURLcode result, bool is_sent)
{
    switch (result) {
    case CURLE_OK:
        return PRG_FAULT_NONE;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
        return PRG_FAULT_CONNECT;
    case CURLE_OPERATION_TIMEDOUT: // only connecting has a limit of libcurl's
        return is_sent ? PRG_FAULT_TIMEOUT : PRG_FAULT_CONNECT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        return PRG_FAULT_TLS;
    case CURLE_WRITE_ERROR:
        return call->is_stopped ? PRG_FAULT_STOPPED : call->is_too_large ? PRG_FAULT_LIMIT : PRG_FAULT_PROTOCOL;
    case CURLE_SEND_ERROR:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return PRG_FAULT_CUT;
    default:
        return is_sent ? PRG_FAULT_PROTOCOL : PRG_FAULT_CONNECT;
    }
}

static void on_pause_over(void *ctx)
{
    struct prg_call *call = ctx;
    call->state = CALL_QUEUED;
    call->queued_ms = prg_timers_now(call->http->timers);
    pump_soon(call->http);
}

// Whether this end of a call is worth another try, and after how long: of a GET, or of what was certainly not looked
// at.
static bool may_repeat(const struct prg_call *call, enum prg_fault fault, uint64_t *ret_ms)
{
    bool is_get = call->request.kind == PRG_CALL_READ && strcmp(call->request.method, "GET") == 0;
    if (call->retries >= MAX_RETRIES)
        return false;
    if (is_get && fault == PRG_FAULT_NONE && (call->status == 429 || call->status >= 500) && call->has_retry_after)
        *ret_ms = call->retry_after_ms;
    else if (is_get && fault == PRG_FAULT_CUT && call->status == 0)
        *ret_ms = call->http->options.retry_ms;
    else if (call->is_refused && fault == PRG_FAULT_CUT && call->status == 0)
        *ret_ms = call->retries ? call->http->options.retry_ms : 0;
    else
        return false;
    return prg_timers_now(call->http->timers) + *ret_ms < call->deadline_at_ms;
}

static void on_finished(CURL *easy, CURLcode result, void *ctx)
{
    struct prg_http *http = ctx;
    struct prg_call *call;
    struct prg_error err = {0};
    long sent = 0;
    uint64_t pause_ms;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &call);
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
    call->pool = NULL; // taken out already
    if (call->is_cancelled || http->is_closed) {
        pump_soon(http);
        return;
    }
    enum prg_fault fault = fault_of(call, result, sent > 0);
    if (fault == PRG_FAULT_TLS)
        prg_credentials_distrusted(http->credentials);
    if (call->status == 401)
        prg_credentials_refused(http->credentials, call->asked_ms);
    if (may_repeat(call, fault, &pause_ms)) {
        leave_wire(call);
        call->retries++;
        http->counts.retries++;
        call->state = CALL_PAUSING;
        prg_timer_start(http->timers, &call->pause, pause_ms, on_pause_over, call);
        return;
    }
    bool is_write_cut = fault == PRG_FAULT_CUT && call->request.kind == PRG_CALL_WRITE && sent > 0;
    const char *what = call->is_too_large   ? "the answer is too large"
                       : is_write_cut       ? "the connection ended before the answer came; it may have been done"
                       : call->complaint[0] ? call->complaint
                                            : curl_easy_strerror(result);
    if (fault != PRG_FAULT_NONE)
        fail_call(call, &err, what);
    if (fault == PRG_FAULT_TLS)
        prg_wrap(&err,
                 "%s: cluster '%s' (certificate-authority, tls-server-name and the client certificate decide this)",
                 http->config->source, http->config->cluster);
    finish(call, fault, sent > 0, &err);
}

static void time_out(struct prg_call *call, const char *what)
{
    struct prg_http *http = call->http;
    struct prg_error err = {0};
    long sent = 0;
    if (call->is_cancelled || http->is_closed)
        return;
    if (call->easy)
        curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &sent);
    if (sent > 0)
        retire(http, call->request.kind); // its connection may be dead
    fail_call(call, &err, what);
    finish(call, PRG_FAULT_TIMEOUT, sent > 0, &err);
}

static void on_deadline(void *ctx)
{
    time_out(ctx, "no complete answer before the deadline");
}

// Not a byte came for a GET: its connection may be one that the server has forgotten, so it is asked once more on
// another.
static bool ask_elsewhere(struct prg_call *call)
{
    if (call->request.kind != PRG_CALL_READ || strcmp(call->request.method, "GET") != 0 || call->status ||
        call->retries || call->is_cancelled || call->http->is_closed)
        return false;
    retire(call->http, call->request.kind);
    leave_wire(call);
    call->retries++;
    call->http->counts.retries++;
    call->state = CALL_PAUSING;
    prg_timer_start(call->http->timers, &call->pause, 0, on_pause_over, call);
    return true;
}

static void on_idle(void *ctx)
{
    if (!ask_elsewhere(ctx))
        time_out(ctx, "nothing came from the server for too long");
}

// ---- interface ----

static struct prg_call *http_start(struct prg_transport *transport, const struct prg_request *request,
                                   const struct prg_call_handler *handler, void *ctx)
{
    struct prg_http *http = (struct prg_http *)transport;
    struct prg_call *call = prg_xcalloc(1, sizeof(*call));
    prg_require(!http->is_closed);
    prg_arena_init(&call->arena);
    prg_strbuf_init(&call->body);
    prg_strbuf_init(&call->warnings);
    call->http = http;
    call->handler = *handler;
    call->ctx = ctx;
    call->request = *request;
    call->request.method = prg_arena_strdup(&call->arena, request->method);
    call->request.path = prg_arena_strdup(&call->arena, request->path);
    if (request->accept)
        call->request.accept = prg_arena_strdup(&call->arena, request->accept);
    if (request->content_type)
        call->request.content_type = prg_arena_strdup(&call->arena, request->content_type);
    if (request->body)
        call->request.body = prg_arena_strndup(&call->arena, request->body, request->body_length);
    call->queued_ms = prg_timers_now(http->timers);
    uint64_t deadline_ms = request->deadline_ms ? request->deadline_ms : DEADLINE_MS;
    call->deadline_at_ms = call->queued_ms + deadline_ms;
    prg_timer_start(http->timers, &call->deadline, deadline_ms, on_deadline, call);
    call->previous = http->last;
    *(http->last ? &http->last->next : &http->first) = call;
    http->last = call;
    pump_soon(http);
    return call;
}

static void http_cancel(struct prg_transport *transport, struct prg_call *call)
{
    struct prg_http *http = (struct prg_http *)transport;
    if (call->is_cancelled)
        return;
    call->is_cancelled = true;
    prg_timer_stop(http->timers, &call->deadline);
    prg_timer_stop(http->timers, &call->pause);
    prg_timer_stop(http->timers, &call->idle);
    if (http->inside || http->telling)
        pump_soon(http); // taken down there
    else
        call_free(call);
}

struct prg_http *prg_http_new(uv_loop_t *loop, struct prg_timers *timers, const struct prg_kube_config *config,
                              const struct prg_http_options *options)
{
    struct prg_http *http = prg_xcalloc(1, sizeof(*http));
    // Without memory libcurl would drop an option, a header or a socket, and go on.
    prg_require(curl_global_init_mem(CURL_GLOBAL_DEFAULT, prg_xmalloc, free, prg_xrealloc, prg_xstrdup, prg_xcalloc) ==
                CURLE_OK);
    http->transport.start = http_start;
    http->transport.cancel = http_cancel;
    http->loop = loop;
    http->timers = timers;
    http->config = config;
    if (options)
        http->options = *options;
    http->options.user_agent = http->user_agent =
        prg_xstrdup(options && options->user_agent ? options->user_agent : "perigee (libcurl; kubernetes client)");
    if (http->options.rate == 0)
        http->options.rate = 20;
    if (!http->options.burst)
        http->options.burst = 30;
    if (!http->options.retry_ms)
        http->options.retry_ms = 1000;
    if (!http->options.max_bytes)
        http->options.max_bytes = MAX_BYTES;
    http->tokens = http->options.burst;
    http->tokens_ms = prg_timers_now(timers);
    http->credentials = prg_credentials_new(loop, timers, config, on_credential, http);
    uv_timer_init(loop, &http->pump_timer);
    http->pump_timer.data = http;
    return http;
}

struct prg_transport *prg_http_transport(struct prg_http *http)
{
    return &http->transport;
}

const struct prg_http_counts *prg_http_count(const struct prg_http *http)
{
    return &http->counts;
}

static void on_pump_closed(uv_handle_t *handle)
{
    struct prg_http *http = handle->data;
    free(http->user_agent);
    free(http);
    curl_global_cleanup();
}

static void close_now(struct prg_http *http)
{
    while (http->first)
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freeing takes a call out of the list
        call_free(http->first);
    for (size_t i = 0; i < PRG_COUNT(http->pools); i++)
        prg_pool_free(http->pools[i]);
    for (size_t i = 0; i < PRG_COUNT(http->retired); i++)
        prg_pool_free(http->retired[i]);
    prg_credentials_free(http->credentials);
    prg_timer_stop(http->timers, &http->rate_timer);
    uv_close((uv_handle_t *)&http->pump_timer, on_pump_closed);
}

// Between the callbacks of libcurl nothing may be taken down; a timer does it.
static void on_close_late(uv_timer_t *handle)
{
    close_now(handle->data);
}

void prg_http_close(struct prg_http *http)
{
    if (!http || http->is_closed)
        return;
    http->is_closed = true;
    for (struct prg_call *call = http->first; call; call = call->next) {
        prg_timer_stop(http->timers, &call->deadline);
        prg_timer_stop(http->timers, &call->pause);
        prg_timer_stop(http->timers, &call->idle);
    }
    prg_timer_stop(http->timers, &http->rate_timer);
    if (http->telling)
        return; // the last one out closes
    if (http->inside)
        uv_timer_start(&http->pump_timer, on_close_late, 0, 0);
    else
        close_now(http);
}
