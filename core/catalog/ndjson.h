// SPDX-License-Identifier: Apache-2.0
// ndjson.h: files with one JSON object a line, as events.ndjson and seen.ndjson are.
#pragma once
#include "object/key.h"

typedef void (*prg_ndjson_fn)(const cJSON *line, void *ctx);
// Calls visit for each line that is a JSON object. Other lines (the torn end of a killed writer) are skipped. A missing
// file has no lines. Trees live in arena. *ret_size (may be NULL) is the size of the file in bytes.
int prg_ndjson_read(struct prg_arena *arena, const char *path, prg_ndjson_fn visit, void *ctx, size_t *ret_size,
                    struct prg_error *err) PRG_MUST_USE;

// {"group": …, "kind": …, "namespace": …, "name": …} and back; false when a part is missing. Texts are borrowed.
cJSON *prg_ndjson_of_key(struct prg_arena *arena, const struct prg_key *key);
bool prg_ndjson_to_key(const cJSON *node, struct prg_key *ret);
