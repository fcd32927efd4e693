// SPDX-License-Identifier: Apache-2.0
// fields.h: two objects compared field by field, as people compare manifests: items of lists by their names where every
// item has one of its own (containers, variables, ports, volumes), lists of plain values as a whole.
#pragma once
#include "json/value.h"

enum prg_field_change_kind {
    PRG_FIELD_VALUE, // from and to differ; NULL: the field is not there
    PRG_FIELD_ORDER, // a list has the same items in another order; from and to are its names
};

struct prg_field_change {
    enum prg_field_change_kind kind;
    const char *path; // explain/path.h; valid during the call
    const cJSON *from, *to;
};

typedef void (*prg_field_change_fn)(const struct prg_field_change *change, void *ctx);

// Visits what differs, members by key. Returns the number of changes. visit may be NULL. Lists of names are in arena.
size_t prg_fields_diff(struct prg_arena *arena, const cJSON *from, const cJSON *to, prg_field_change_fn visit,
                       void *ctx);
