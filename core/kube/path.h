// SPDX-License-Identifier: Apache-2.0
// path.h: addresses of resources on the API server.
#pragma once
#include "base/arena.h"
#include "base/strbuf.h"

struct prg_resource {    // what the server knows a kind as
    const char *group;   // "" for the core group
    const char *version; // "v1"
    const char *kind;    // "Deployment"
    const char *plural;  // "deployments"
    bool is_namespaced;
};

// Appends text with everything but unreserved characters escaped.
void prg_path_escape(struct prg_strbuf *out, const char *text);
// "/apis/apps/v1/namespaces/NS/deployments/NAME/SUB". ns NULL or "": all namespaces, or cluster scope; name and
// subresource may be NULL.
char *prg_path_of(struct prg_arena *arena, const struct prg_resource *resource, const char *ns, const char *name,
                  const char *subresource);
