// SPDX-License-Identifier: Apache-2.0
// load.h: YAML (and JSON, which is YAML) text to JSON trees, as Kubernetes' reader (sigs.k8s.io/yaml over go-yaml v2
// rules) does.
//
// Types of plain scalars: core/yaml/scalar.c, answers in tests/cases/tables/yaml_to_json.json. Every node keeps line
// and column, nodes from an alias those of the anchor. Bounded: bytes, depth, alias expansions. Duplicate keys are
// refused, naming both places; a key from "<<" gives way to one written behind it and overrules one written before it,
// as in go-yaml. Stricter than Kubernetes' reader: !!binary must hold text, and text after the first document must be
// YAML too.
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

// name is used in errors: "name:line:column: what". A text that is valid JSON gives the same tree as prg_json_parse
// (one document). A text that begins with '{' or '[' and is not valid JSON is read as YAML, unless name ends in
// ".json". Where YAML's JSON-like forms and JSON differ in meaning (1e400, "\ud83d\ude00"), valid JSON wins. limits may
// be NULL.
int prg_yaml_load(struct prg_arena *arena, const char *name, const char *text, size_t length,
                  const struct prg_yaml_limits *limits, struct prg_yaml_docs *ret, struct prg_error *err) PRG_MUST_USE;
// The same from a file ("-" is standard input, named "<stdin>").
int prg_yaml_load_file(struct prg_arena *arena, const char *path, const struct prg_yaml_limits *limits,
                       struct prg_yaml_docs *ret, struct prg_error *err) PRG_MUST_USE;
