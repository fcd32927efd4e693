// SPDX-License-Identifier: Apache-2.0
// load.h: YAML (and JSON, which is YAML) text to JSON trees, as Kubernetes' reader (sigs.k8s.io/yaml over go-yaml v2
// rules) does.
//
// Types of plain scalars: core/yaml/scalar.c, answers in tests/cases/tables/yaml_to_json.json. Every node keeps line
// and column. Bounded: bytes, depth, alias expansions. Duplicate keys are refused, naming both places.
#pragma once
#include "json/value.h"

struct prg_yaml_limits {
    size_t max_bytes;     // 0: 16 MiB
    unsigned max_depth;   // 0: PRG_JSON_DEPTH
    size_t max_expansion; // nodes made from aliases, 0: 100000
};

struct prg_yaml_docs {
    cJSON **items; // in the arena; empty documents (nothing or only comments) are left out
    size_t count;
};

// name is used in errors: "name:line:column: what". A text whose first character is '{' or '[' is still YAML; a file
// that is valid JSON gives the same tree as prg_json_parse. limits may be NULL.
int prg_yaml_load(struct prg_arena *arena, const char *name, const char *text, size_t length,
                  const struct prg_yaml_limits *limits, struct prg_yaml_docs *ret, struct prg_error *err) PRG_MUST_USE;
// The same from a file ("-" is standard input, named "<stdin>").
int prg_yaml_load_file(struct prg_arena *arena, const char *path, const struct prg_yaml_limits *limits,
                       struct prg_yaml_docs *ret, struct prg_error *err) PRG_MUST_USE;
