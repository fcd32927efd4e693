// SPDX-License-Identifier: Apache-2.0
// dump.h: a JSON tree as YAML that reads back to the same tree: members sorted by key, two-space indent, list items not
// indented below their key (kubectl's habit), strings quoted when plain text would read as another type (in this or
// another YAML reader), text with newlines as literal blocks.
//
// Numbers are written as they are. Those that Kubernetes' YAML reader cannot hold, whole numbers beyond uint64 and
// fractions of more than 17 digits, come back rounded to a double; beyond the range of a double as text.
#pragma once
#include "json/value.h"

// Appends node as one document, without "---", ending in a new line.
void prg_yaml_dump(struct prg_strbuf *out, const cJSON *node);
