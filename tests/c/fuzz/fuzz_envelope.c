// SPDX-License-Identifier: Apache-2.0
// fuzz_envelope.c: messages of edge nodes: whatever comes, it is refused or understood, and what is understood can be
// written again.
#include "fuzz.h"

#include <string.h>

#include "edge/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prg_auto_arena arena;
    struct prg_envelope envelope, again;
    struct prg_error err = {0};
    prg_arena_init(&arena);
    if (prg_envelope_read(&arena, (const char *)data, size, &envelope, &err) != PRG_OK) {
        prg_require(err.code == PRG_INVALID);
        return 0;
    }
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_envelope_write(&out, envelope.ns, envelope.kind, envelope.name, envelope.operation, envelope.text,
                       envelope.length);
    prg_require(prg_envelope_read(&arena, out.text, out.length, &again, &err) == PRG_OK);
    prg_require(strcmp(envelope.kind, again.kind) == 0 && strcmp(envelope.operation, again.operation) == 0);
    prg_require(envelope.length == again.length && memcmp(envelope.text, again.text, again.length) == 0);
    return 0;
}
