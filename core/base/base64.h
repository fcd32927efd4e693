// SPDX-License-Identifier: Apache-2.0
// base64.h: standard base64 with padding (RFC 4648 section 4), as Secrets, kubeconfigs, YAML and the edge link carry
// it.
#pragma once
#include "base/arena.h"

// The bytes of text, terminated, in arena; line breaks are skipped. NULL when it is not base64.
char *prg_base64_decode(struct prg_arena *arena, const char *text, size_t length, size_t *ret_length);
char *prg_base64_encode(struct prg_arena *arena, const void *bytes, size_t length);
