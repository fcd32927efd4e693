// SPDX-License-Identifier: Apache-2.0
// split.h: cuts the objects out of LIST answers and WATCH streams while their bytes arrive, wherever the pieces end.
//
// Memory is that of the largest object, whatever the length of the list. Only the outer form is read here: what is
// handed out is balanced text without NUL and control characters in strings; whoever takes it parses it strictly
// (which finds invalid UTF-8). Metadata of a list may stand before its items (built-in kinds) or after (custom ones).
// Events of a watch are JSON texts one after the other; new lines between them are white space like any other.
#pragma once
#include "base/error.h"

struct prg_split;

enum prg_split_kind { PRG_SPLIT_LIST, PRG_SPLIT_WATCH };

struct prg_split_handler {
    // LIST: an item; type is NULL. WATCH: an event, type is "ADDED", "BOOKMARK", "ERROR" … Text is borrowed, not
    // terminated. False: no more, please.
    bool (*object)(const char *type, const char *text, size_t length, void *ctx);
    void *ctx;
};

// max_bytes: of one object, 0: 16 MiB.
struct prg_split *prg_split_new(enum prg_split_kind kind, size_t max_bytes, const struct prg_split_handler *handler);
void prg_split_free(struct prg_split *split); // NULL is fine

// PRG_INVALID: not what it should be, naming the byte; PRG_LIMIT: an object is too large; PRG_CONFLICT: the handler
// wants no more. Nothing may be fed after an error.
int prg_split_feed(struct prg_split *split, const char *bytes, size_t length, struct prg_error *err) PRG_MUST_USE;
// The answer is over. LIST: PRG_INVALID unless it was whole. WATCH: always fine; a last, cut event is dropped.
int prg_split_finish(struct prg_split *split, struct prg_error *err) PRG_MUST_USE;

// LIST, after finish: the text of member "metadata", "kind" or "apiVersion", "" when it was not there.
const char *prg_split_member(const struct prg_split *split, const char *key);
