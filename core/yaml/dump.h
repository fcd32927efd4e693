// SPDX-License-Identifier: Apache-2.0
// dump.h: a JSON tree as YAML that reads back to the same tree: members sorted by key, two-space indent, list items not
// indented below their key (kubectl's habit), strings quoted when plain text would read as another type, long text with
// newlines as literal blocks.
#pragma once
#include "json/value.h"

// Appends node as one document, without "---", ending in a new line.
void prg_yaml_dump(struct prg_strbuf *out, const cJSON *node);
