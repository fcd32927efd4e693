// SPDX-License-Identifier: Apache-2.0
// url.h: URLs of datasets and models as Go's net/url takes them apart, and paths as path/filepath cleans them. Private
// to core/learning.
#pragma once
#include "base/arena.h"
#include "base/error.h"

struct prg_url {
    const char *scheme; // lower case, or ""
    const char *host;   // with its port, without user and password; or ""
    const char *path;   // unescaped, without query and fragment; or ""
};

// Fails PRG_INVALID where net/url fails: a control character, a bad escape, a scheme that begins with ':' …
int prg_url_parse(struct prg_arena *arena, const char *text, struct prg_url *ret, struct prg_error *err) PRG_MUST_USE;

// filepath.Join of two parts: joined by '/', then cleaned of "//", "." and "..".
const char *prg_path_join(struct prg_arena *arena, const char *a, const char *b);
// Everything up to the last '/', which is kept; "" without one (filepath.Split).
const char *prg_path_directory(struct prg_arena *arena, const char *path);
