// SPDX-License-Identifier: Apache-2.0
// portable.h: a policy set with all its texts as one tree, and back: for recordings, which are replayed where neither
// the folder nor the ConfigMap is, and by another version of the program.
#pragma once
#include "policy/policy.h"

// {"revision": "...", "set": [FILE, ...], "shipped": [FILE, ...]}, for the set of a namespace with "namespace":
// [FILE, ...], for a refused one with "refusal": "why". FILE is {"name", "path", "text"}, or "hex" instead of "text"
// when its bytes are no UTF-8.
cJSON *prg_policy_set_to_json(struct prg_arena *arena, const struct prg_policy_set *set);
// The set anew, with the same paths in its errors and traces. The recorded shipped files are taken, not those of this
// program; the modules under perigee.* are this program's. Specs are not run. PRG_INVALID: it is no such tree, or this
// program refuses a file.
int prg_policy_set_from_json(const cJSON *tree, const struct prg_policy_limits *limits, struct prg_policy_set **ret,
                             struct prg_error *err) PRG_MUST_USE;
