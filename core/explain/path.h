// SPDX-License-Identifier: Apache-2.0
// path.h: paths of fields as people write them: ".spec.template.spec.containers[0].env[MODEL_NAME].value".
//
//   .key            a member; a dot within a key is "\."
//   ['key']         a member whose key holds anything unusual
//   [2]             an item by its place
//   [NAME]          the item of a list that is called so: its name, key, containerPort, mountPath, …
//   /spec/replicas  a JSON pointer is a path as well
#pragma once
#include "json/value.h"

struct prg_path_found {
    const cJSON *node;   // NULL: there is no such field
    const char *path;    // of the node, in kubectl's form with places of items; of the deepest existing one when NULL
    const cJSON *parent; // the deepest node that exists when node is NULL
    const char *missing; // the step that is not there, when node is NULL
};

// PRG_INVALID when the path cannot be read, saying where. Texts in arena.
int prg_path_find(struct prg_arena *arena, const cJSON *root, const char *path, struct prg_path_found *ret,
                  struct prg_error *err) PRG_MUST_USE;

// The members by which Kubernetes tells the items of its lists apart, the most telling one first; ends with NULL.
extern const char *const prg_path_item_keys[];

// What an item of a list of objects is called, or NULL: the members by which Kubernetes merges lists. Ports are
// numbers; their text is in arena.
const char *prg_path_item_name(struct prg_arena *arena, const cJSON *item);

// Appends a step; a key that holds anything unusual in brackets and quotes.
void prg_path_push_key(struct prg_strbuf *path, const char *key);
void prg_path_push_index(struct prg_strbuf *path, size_t index);
void prg_path_push_name(struct prg_strbuf *path, const char *name); // [NAME]
