// SPDX-License-Identifier: Apache-2.0
// status.c: refusals.
#include "kube/status.h"

#include <string.h>

static const char *text_or_empty(const cJSON *object, const char *key)
{
    const char *text = prg_json_get_text(object, key);
    return text ? text : "";
}

void prg_status_read(struct prg_arena *arena, const cJSON *object, struct prg_status *ret)
{
    int64_t code = 0, seconds = 0;
    (void)arena;
    prg_json_get_int64(object, "code", &code);
    const cJSON *details = prg_json_get(object, "details");
    prg_json_get_int64(details, "retryAfterSeconds", &seconds);
    *ret = (struct prg_status){
        .code = code > 0 && code < 1000 ? (int)code : 0,
        .reason = text_or_empty(object, "reason"),
        .message = text_or_empty(object, "message"),
        .cause = text_or_empty(prg_json_item(prg_json_get(details, "causes"), 0), "reason"),
        .details = details,
        .retry_after_ms = seconds > 0 ? (uint64_t)(seconds > 60 ? 60 : seconds) * 1000 : 0,
    };
}

void prg_status_of(struct prg_arena *arena, const struct prg_response *response, struct prg_status *ret)
{
    cJSON *object = NULL;
    bool is_status = prg_json_parse(arena, response->body, response->body_length, NULL, &object, NULL) == PRG_OK &&
                     prg_text_equal(prg_json_get_text(object, "kind"), "Status");
    prg_status_read(arena, is_status ? object : NULL, ret);
    ret->code = response->status;
    if (response->has_retry_after)
        ret->retry_after_ms = response->retry_after_ms;
    if (*ret->message)
        return;
    // Not a Status: a proxy's page, or nothing. Its first line may say something.
    size_t length = strcspn(response->body, "\r\n");
    ret->message = length && length <= 200 ? prg_arena_strndup(arena, response->body, length) : "no reason given";
}

bool prg_status_is_expired(const struct prg_status *status)
{
    return status->code == 410 || strcmp(status->reason, "Expired") == 0 || strcmp(status->reason, "Gone") == 0;
}

// Servers before 1.18 say so only in the message.
bool prg_status_is_too_large(const struct prg_status *status)
{
    return strcmp(status->cause, "ResourceVersionTooLarge") == 0 ||
           (status->code >= 500 && strstr(status->message, "Too large resource version"));
}

int prg_status_fail(const struct prg_response *response, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    struct prg_status status;
    if (response->fault != PRG_FAULT_NONE) {
        if (err)
            *err = *response->error;
        return response->error->code;
    }
    prg_status_of(&arena, response, &status);
    enum prg_code code = status.code == 404                         ? PRG_NOTFOUND
                         : status.code == 409                       ? PRG_CONFLICT
                         : status.code == 400 || status.code == 422 ? PRG_INVALID
                         : status.code == 413                       ? PRG_LIMIT
                                                                    : PRG_IO;
    return prg_fail(err, code, "the server answers %d%s%s: %s", status.code, *status.reason ? " " : "", status.reason,
                    status.message);
}
