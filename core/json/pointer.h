// SPDX-License-Identifier: Apache-2.0
// pointer.h: RFC 6901.
#pragma once
#include "json/value.h"

// Resolves pointer ("" is the root). NULL when a step is missing or the pointer is malformed ("-" never resolves).
cJSON *prg_pointer_get(const cJSON *root, const char *pointer);
// Appends "/token" with ~ and / escaped.
void prg_pointer_push(struct prg_strbuf *pointer, const char *token);
void prg_pointer_push_index(struct prg_strbuf *pointer, size_t index);
bool prg_pointer_is_valid(const char *pointer);

// The way to a node, as a walk over a tree keeps it on its stack: the pointer is only written when there is something
// to tell. NULL is the root.
struct prg_step {
    const struct prg_step *up;
    const char *key; // NULL: an item, see index
    size_t index;
};
void prg_pointer_push_steps(struct prg_strbuf *pointer, const struct prg_step *at);

// One token of a pointer, still escaped, `length` bytes long: the member or item that it names, or NULL.
cJSON *prg_pointer_step(const cJSON *node, const char *token, size_t length);
// Reads a token as an array index: decimal digits, no zero in front.
bool prg_pointer_index(const char *token, size_t length, size_t *ret);
