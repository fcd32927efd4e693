// SPDX-License-Identifier: Apache-2.0
// policy_status.h: what became of each policy set, as conditions in the ConfigMap perigee-status of the controller's
// own namespace: a ConfigMap that holds policies has no status, and no object of a user shows that an edit was refused.
//
//   data:
//     policies: |
//       - set: configmap perigee-system/perigee-policies
//         revision: 0123456789abcdef      # what decides now; "" while a namespace waits for a good set
//         conditions:
//         - type: PolicySetAccepted       # "False": the latest is refused, the revision above is an older one
//           status: "False"
//           reason: PolicySetRefused
//           message: every error, cut at MESSAGE_BYTES
//           lastTransitionTime: "2026-06-01T00:00:00Z"
//
// The set for everybody first, then those of namespaces. Written by the replica that leads, and again when somebody
// changes it.
#pragma once
#include "controller/policy_life.h"
#include "controller/process.h"

#define PRG_POLICY_STATUS_NAME "perigee-status"

struct prg_policy_status;

// ns, life and store outlive it. wake: a turn is wanted.
struct prg_policy_status *prg_policy_status_new(const char *ns, struct prg_policy_life *life, struct prg_store *store,
                                                void (*wake)(void *ctx), void *ctx);
extern const struct prg_part prg_policy_status_part; // its functions, to be added with a struct prg_policy_status *
