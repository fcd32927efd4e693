// SPDX-License-Identifier: Apache-2.0
// write.h: a write and what became of it, whichever store it goes to.
#pragma once
#include "base/error.h"
#include "json/value.h"

enum prg_write_result {
    PRG_WRITE_UNCHANGED,
    PRG_WRITE_CREATED,
    PRG_WRITE_UPDATED,
    PRG_WRITE_DELETED,
    PRG_WRITE_FAILED
};

enum prg_write_retry {   // after a failure
    PRG_RETRY_SOON,      // a conflict, a fault: with back-off, from fresh state
    PRG_RETRY_SLOWLY,    // forbidden, a full quota: nothing that we do will change it soon
    PRG_RETRY_ON_CHANGE, // invalid, or the namespace is going: only another intent helps
};

struct prg_write_outcome { // borrowed during the callback
    enum prg_write_result result;
    const struct prg_error *err; // when it failed: what, where, and the server's words
    enum prg_write_retry retry;
    uint64_t retry_after_ms; // as the server asks, or 0
    bool is_unknown;         // sent, but not answered: it may have been done; read before writing again
    const cJSON *object;     // the object as an API server stored it, or NULL
    const char *warnings;    // the server's, one a line, or NULL
    const char *taken_over;  // "field (manager), ..." that were forced, or NULL
};
typedef void (*prg_write_fn)(const struct prg_write_outcome *outcome, void *ctx);

enum prg_write_kind {
    PRG_WRITE_APPLY,  // object as given, over what is stored: fields of others stay
    PRG_WRITE_CREATE, // object as given unless one of its name is there: then UNCHANGED, whatever it holds
    PRG_WRITE_PATCH,  // stored with the JSON merge patch `object`
    PRG_WRITE_STATUS, // status of stored
    PRG_WRITE_DELETE, // stored; gone already is UNCHANGED
};

struct prg_write_request { // only read during the call
    enum prg_write_kind kind;
    const cJSON *object; // APPLY, CREATE: the intent; PATCH: the patch; STATUS: the status, NULL: none
    // PATCH, STATUS, DELETE: the object as it was read when this was decided. One of another uid, or (not for DELETE)
    // of another resourceVersion where the store has those, is PRG_CONFLICT. APPLY: as the reader has it now, or NULL.
    const cJSON *stored;
    // STATUS: condition types that are ours, NULL-ended; others stay as they are. NULL: those in object.
    const char *const *owned;
};

// "apply", "create", "patch", "status of", "delete": for errors.
const char *prg_write_verb(enum prg_write_kind kind);
