// SPDX-License-Identifier: Apache-2.0
// envelope.h: the messages on the wire: {"header": {namespace, resourceKind, resourceName, operation}, "content":
// base64 of JSON}, one JSON document with a new line behind it. Private to core/edge and its tests.
#pragma once
#include "json/value.h"

struct prg_envelope {                         // all in the arena
    const char *ns, *kind, *name, *operation; // "" when absent
    bool is_bare;                             // the header alone, as a Local Controller sends it first
    const char *text;                         // the content, decoded
    size_t length;
    cJSON *content;      // NULL: see problem
    const char *problem; // why the content is no JSON, or NULL
};

// PRG_INVALID for what is no message at all: not JSON, fields of the wrong type, content that is no base64.
int prg_envelope_read(struct prg_arena *arena, const char *text, size_t length, struct prg_envelope *ret,
                      struct prg_error *err) PRG_MUST_USE;
// Appends the message. content is JSON text.
void prg_envelope_write(struct prg_strbuf *out, const char *ns, const char *kind, const char *name,
                        const char *operation, const char *content, size_t length);
