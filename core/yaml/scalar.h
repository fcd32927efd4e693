// SPDX-License-Identifier: Apache-2.0
// scalar.h: what an unquoted YAML text means. One table for the reader and the writer.
//
// Source: go-yaml v2 resolve.go, the reader below sigs.k8s.io/yaml.
#pragma once
#include "base/arena.h"

enum prg_yaml_type {
    PRG_YAML_NULL,
    PRG_YAML_BOOL,
    PRG_YAML_INT,   // within int64 or uint64
    PRG_YAML_FLOAT, // also whole numbers beyond uint64; may be infinite or not a number
    PRG_YAML_TEXT,  // everything else, dates and 12:30 included
};

struct prg_yaml_scalar {
    enum prg_yaml_type type;
    bool boolean;       // of BOOL
    bool is_negative;   // of INT
    uint64_t magnitude; // of INT
    double number;      // of FLOAT
};

// Resolves a plain (unquoted, untagged) scalar. text is terminated and length is its strlen, else it is a TEXT.
struct prg_yaml_scalar prg_yaml_resolve(const char *text, size_t length);

// Resolves a scalar with an explicit tag ("tag:yaml.org,2002:int", "!foo"). False when text is not of that type. Tags
// other than the standard scalar ones give a TEXT; !!binary is not handled here.
bool prg_yaml_resolve_tagged(const char *tag, const char *text, size_t length, struct prg_yaml_scalar *ret);

// A date or date and time that go-yaml knows (2001-01-01, 2001-01-01T00:00:00Z, …). It stays text, but other readers
// differ.
bool prg_yaml_is_timestamp(const char *text);

// Decimal digits of an INT, written into buffer, which is returned.
#define PRG_YAML_INT_TEXT 24
const char *prg_yaml_int_text(char buffer[PRG_YAML_INT_TEXT], const struct prg_yaml_scalar *scalar);

// The text a scalar becomes as a key, as sigs.k8s.io/yaml converts it (true, 16, 1.5, .inf). NULL for what cannot be a
// key there: null, and whole numbers beyond int64. TEXT is not handled here.
const char *prg_yaml_key_text(struct prg_arena *arena, const struct prg_yaml_scalar *scalar);
