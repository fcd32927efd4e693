// SPDX-License-Identifier: Apache-2.0
// path.h: where the folder store keeps an object, and the uid it gives it. Both depend on the key alone.
#pragma once
#include "object/key.h"

// Appends "<group>/<Kind>/<namespace>/<name>.yaml": "core" for the empty group, "_cluster" for no namespace. Whatever
// is not a safe file name character is written %XX, so no key leads out of the folder or to a hidden file; parts too
// long for a file name are cut and end in a digest. Different keys have different paths.
void prg_catalog_path(struct prg_strbuf *out, const struct prg_key *key);

// A UUID (version 8) made from the key.
#define PRG_UID_TEXT 37
const char *prg_catalog_uid(const struct prg_key *key, char buffer[PRG_UID_TEXT]);
