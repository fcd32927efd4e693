// SPDX-License-Identifier: Apache-2.0
// build.h: libyaml's events to JSON trees. Private to core/yaml.
#pragma once
#include <yaml.h>

#include "base/map.h"
#include "base/vec.h"
#include "yaml/load.h"
#include "yaml/scalar.h"
#include "json/value.h"

// A key of an open mapping.
struct prg_yaml_key {
    const char *text;
    size_t length;
    uint32_t line, column;
    cJSON *member;  // NULL while its value is being read
    bool is_merged; // came from "<<"; a key that stands in the mapping itself may replace it
};

// An open mapping or sequence.
struct prg_yaml_frame {
    cJSON *node;
    struct prg_yaml_anchor *anchor; // complete when the frame closes, or NULL
    size_t first_key;               // of the builder's keys
    struct prg_yaml_key *pending;   // waits for its value, or NULL
    bool is_merging;                // the value to come is that of "<<"
    bool is_indexed;
    struct prg_map index; // text to key, once there are many
};

struct prg_yaml_builder {
    struct prg_arena *arena;
    const char *name; // for errors
    struct prg_error *err;
    unsigned max_depth;
    size_t max_expansion, max_bytes;

    struct prg_vec docs;
    cJSON *root; // of the open document, NULL while it is empty
    struct prg_arena scratch;
    struct prg_map anchors; // name to struct prg_yaml_anchor, of the open document
    size_t expansion, expansion_bytes;
    struct prg_vec keys; // of all open mappings, the innermost one's last; in scratch
    unsigned depth;
    struct prg_yaml_frame frames[PRG_JSON_DEPTH];
};

// limits has no zeros. The builder borrows arena, name and err.
void prg_yaml_builder_init(struct prg_yaml_builder *b, struct prg_arena *arena, const char *name,
                           const struct prg_yaml_limits *limits, struct prg_error *err);
void prg_yaml_builder_release(struct prg_yaml_builder *b);
// Takes in one event; finished documents are in b->docs.
int prg_yaml_builder_event(struct prg_yaml_builder *b, const yaml_event_t *event) PRG_MUST_USE;

// Fails with "name:line:column: what"; line and column from 1.
int prg_yaml_fail(struct prg_error *err, enum prg_code code, const char *name, size_t line, size_t column,
                  const char *format, ...) PRG_PRINTF(6, 7);
