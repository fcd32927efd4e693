// SPDX-License-Identifier: Apache-2.0
// script.c: answers by hand.
#include "script.h"

#include <stdlib.h>
#include <string.h>

static struct prg_call *start(struct prg_transport *transport, const struct prg_request *request,
                              const struct prg_call_handler *handler, void *ctx)
{
    struct script *script = (struct script *)transport;
    struct prg_call *call = prg_xcalloc(1, sizeof(*call)), **last = &script->calls;
    prg_arena_init(&call->arena);
    call->request = *request;
    call->request.method = prg_arena_strdup(&call->arena, request->method);
    call->request.path = prg_arena_strdup(&call->arena, request->path);
    if (request->content_type)
        call->request.content_type = prg_arena_strdup(&call->arena, request->content_type);
    if (request->body)
        call->request.body = prg_arena_strndup(&call->arena, request->body, request->body_length);
    call->handler = *handler;
    call->ctx = ctx;
    while (*last)
        last = &(*last)->next;
    *last = call;
    script->started++;
    return call;
}

static void take_out(struct script *script, struct prg_call *call)
{
    struct prg_call **at = &script->calls;
    while (*at && *at != call)
        at = &(*at)->next;
    assert_non_null(*at);
    *at = call->next;
}

static void call_free(struct prg_call *call)
{
    prg_arena_release(&call->arena);
    free(call);
}

static void cancel(struct prg_transport *transport, struct prg_call *call)
{
    struct script *script = (struct script *)transport;
    take_out(script, call);
    call_free(call);
    script->cancelled++;
}

void script_init(struct script *script)
{
    memset(script, 0, sizeof(*script));
    script->transport.start = start;
    script->transport.cancel = cancel;
    prg_arena_init(&script->arena);
}

void script_release(struct script *script)
{
    while (script->calls)
        cancel(&script->transport, script->calls);
    prg_arena_release(&script->arena);
}

struct prg_call *script_expect(struct script *script, const char *method, const char *path, const char *part)
{
    struct prg_call *call = script->calls;
    if (!call)
        fail_msg("no request where %s %s was expected", method, path);
    if (strcmp(call->request.method, method) != 0 || !prg_text_has_prefix(call->request.path, path) ||
        (part && !strstr(call->request.path, part)))
        fail_msg("%s %s where %s %s with '%s' was expected", call->request.method, call->request.path, method, path,
                 part ? part : "");
    return call;
}

void script_expect_none(struct script *script)
{
    if (script->calls)
        fail_msg("unexpected %s %s", script->calls->request.method, script->calls->request.path);
}

size_t script_open(const struct script *script)
{
    size_t count = 0;
    for (const struct prg_call *call = script->calls; call; call = call->next)
        count++;
    return count;
}

static char *quoted(const char *text)
{
    char *copy = prg_xstrdup(text);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return copy;
}

bool script_data(struct prg_call *call, const char *text, size_t size)
{
    char *copy = quoted(text);
    size_t length = strlen(copy);
    bool goes_on = true;
    for (size_t at = 0; at < length && goes_on; at += size ? size : length) {
        size_t piece = size && size < length - at ? size : length - at;
        goes_on = call->handler.data(copy + at, piece, call->ctx);
    }
    free(copy);
    return goes_on;
}

static void finish(struct script *script, struct prg_call *call, const struct prg_response *response)
{
    take_out(script, call);
    call->handler.done(response, call->ctx);
    call_free(call);
}

void script_answer_later(struct script *script, struct prg_call *call, int status, const char *body,
                         uint64_t retry_after_ms)
{
    char *copy = quoted(body);
    bool is_streamed = call->handler.data && status >= 200 && status < 300;
    struct prg_response response = {.status = status,
                                    .body = is_streamed ? "" : copy,
                                    .body_length = is_streamed ? 0 : strlen(copy),
                                    .is_sent = true,
                                    .has_retry_after = retry_after_ms > 0,
                                    .retry_after_ms = retry_after_ms};
    struct prg_error err = {0};
    if (is_streamed && *copy && !call->handler.data(copy, strlen(copy), call->ctx)) {
        bool is_open = false; // it may have been cancelled meanwhile
        for (const struct prg_call *c = script->calls; c; c = c->next)
            is_open = is_open || c == call;
        response.fault = PRG_FAULT_STOPPED;
        prg_fail(&err, PRG_IO, "stopped");
        response.error = &err;
        if (!is_open) {
            free(copy);
            return;
        }
    }
    finish(script, call, &response);
    free(copy);
}

void script_answer(struct script *script, struct prg_call *call, int status, const char *body)
{
    script_answer_later(script, call, status, body, 0);
}

void script_fault(struct script *script, struct prg_call *call, int status, enum prg_fault fault)
{
    struct prg_error err = {0};
    prg_fail(&err, PRG_IO, "fault %d", (int)fault);
    struct prg_response response = {.status = status,
                                    .fault = fault,
                                    .error = &err,
                                    .body = "",
                                    .is_sent = fault != PRG_FAULT_CONNECT && fault != PRG_FAULT_CREDENTIAL};
    finish(script, call, &response);
}
