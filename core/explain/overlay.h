// SPDX-License-Identifier: Apache-2.0
// overlay.h: a reader with some objects replaced, added or taken out: "what if this runtime were another".
#pragma once
#include "object/reader.h"

struct prg_overlay;

struct prg_overlay *prg_overlay_new(const struct prg_reader *base);
void prg_overlay_free(struct prg_overlay *overlay); // NULL is fine
// object (borrowed) is seen in the place of what the base has under its key; file (borrowed, may be NULL): where it was
// read from. PRG_INVALID: it has no key; PRG_CONFLICT: it is in the overlay already.
int prg_overlay_put(struct prg_overlay *overlay, const cJSON *object, const char *file,
                    struct prg_error *err) PRG_MUST_USE;
void prg_overlay_hide(struct prg_overlay *overlay, const struct prg_key *key);
const struct prg_reader *prg_overlay_reader(const struct prg_overlay *overlay);

// The keys that are replaced, added or hidden, sorted.
const struct prg_key *prg_overlay_keys(const struct prg_overlay *overlay, size_t *ret_count);
// What the overlay has under the key: an object, NULL with *ret_known when it is hidden, NULL when it says nothing.
const cJSON *prg_overlay_get(const struct prg_overlay *overlay, const struct prg_key *key, bool *ret_known);
