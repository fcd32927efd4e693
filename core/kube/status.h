// SPDX-License-Identifier: Apache-2.0
// status.h: what the API server says when it refuses: metav1.Status.
#pragma once
#include "kube/transport.h"
#include "json/value.h"

struct prg_status {      // texts in the arena, never NULL
    int code;            // HTTP's, or the one inside
    const char *reason;  // "Expired", "Conflict", "AlreadyExists" …
    const char *message; // for people
    const char *cause;   // reason of the first cause: "ResourceVersionTooLarge", "FieldManagerConflict" …
    const cJSON *details;
    uint64_t retry_after_ms; // details.retryAfterSeconds, 0: none
};

// Of an answer without a fault and with a status of 400 or more, whatever its body is.
void prg_status_of(struct prg_arena *arena, const struct prg_response *response, struct prg_status *ret);
// Of a Status object, as in an ERROR event.
void prg_status_read(struct prg_arena *arena, const cJSON *object, struct prg_status *ret);
bool prg_status_is_expired(const struct prg_status *status);   // 410 Expired or Gone
bool prg_status_is_too_large(const struct prg_status *status); // a resourceVersion that the server has not reached
// Sets err from a fault or a refusal: what, then why. 404 is PRG_NOTFOUND, 409 PRG_CONFLICT, 403 names what is missing.
int prg_status_fail(const struct prg_response *response, struct prg_error *err);
