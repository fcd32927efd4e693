// SPDX-License-Identifier: Apache-2.0
// policy_place.h: where a policy set is: in a folder, in a ConfigMap among objects, in a file with the manifest of its
// ConfigMap. The one reading of what --policies says, for the controller and for commands.
#pragma once
#include "object/reader.h"
#include "policy/policy.h"

struct prg_policy_place {  // at most one of folder, file and name; none: the shipped policies alone
    const char *folder;    // a path
    const char *file;      // of a manifest
    const char *ns, *name; // of the ConfigMap
    bool is_optional;      // when it is not there, it is an empty one
};

// text: a path, "configmap:NAMESPACE/NAME", or NULL. A path to a file is a manifest, any other a folder, whether it is
// there or not. Texts in arena.
int prg_policy_place_parse(struct prg_arena *arena, const char *text, struct prg_policy_place *ret,
                           struct prg_error *err) PRG_MUST_USE;
// Appends the files of a set that is no folder, struct prg_policy_text * in arena. PRG_INVALID: entries of the
// ConfigMap cannot be taken (each is told to report, NULL: nobody; the first is in err; the others are in texts), or
// the file holds no ConfigMap. PRG_NOTFOUND: it is not there. Else what kept file or objects (NULL: there are none)
// from being read.
int prg_policy_place_read(const struct prg_policy_place *place, const struct prg_reader *objects,
                          struct prg_arena *arena, struct prg_vec *texts, void (*report)(const char *text, void *ctx),
                          void *ctx, struct prg_error *err) PRG_MUST_USE;
