// SPDX-License-Identifier: Apache-2.0
// script.h: a transport whose answers the test gives by hand, in the order that it likes.
#pragma once
#include "kube/transport.h"
#include "support/support.h"

struct prg_call { // one that waits for its answer
    struct prg_arena arena;
    struct prg_request request;
    struct prg_call_handler handler;
    void *ctx;
    struct prg_call *next;
};

struct script {
    struct prg_transport transport; // first
    struct prg_call *calls;         // open, oldest first
    struct prg_arena arena;
    size_t started, cancelled;
};

void script_init(struct script *script);
void script_release(struct script *script); // drops open calls
// The oldest open call, which must be METHOD and a path that begins so (and, when part is given, holds it).
struct prg_call *script_expect(struct script *script, const char *method, const char *path, const char *part);
void script_expect_none(struct script *script);
size_t script_open(const struct script *script);
// Body as data in pieces of `size` (0: one piece). Single quotes stand for double quotes. False: the receiver stopped.
bool script_data(struct prg_call *call, const char *text, size_t size);
// Ends the call, which must be open. Body as above; goes to data when the status is 2xx and the call streams.
void script_answer(struct script *script, struct prg_call *call, int status, const char *body);
void script_answer_later(struct script *script, struct prg_call *call, int status, const char *body,
                         uint64_t retry_after_ms);
// Ends it with a fault, after the status that it had (0: none).
void script_fault(struct script *script, struct prg_call *call, int status, enum prg_fault fault);
