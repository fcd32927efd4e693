// SPDX-License-Identifier: Apache-2.0
// intent.h: what an apply makes of a stored object. One rule for every store that keeps whole objects.
#pragma once
#include "json/value.h"

#define PRG_ANNOTATION_POLICY_REVISION "perigee.dev/policy-revision"

enum prg_intent_change {
    PRG_INTENT_SAME, // nothing to write; *ret is stored itself
    PRG_INTENT_META, // only metadata differs
    PRG_INTENT_SPEC, // something besides metadata differs: a new generation
};

// The object to store when `intent` is applied over `stored` (NULL: a new object, always PRG_INTENT_SPEC): the intent,
// except what belongs to others:
//   - status is the stored one; an intent's own status is never stored;
//   - of the metadata, what the store or other controllers set and the intent does not name: uid, resourceVersion,
//     generation, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, finalizers, selfLink,
//     managedFields;
//   - spec.replicas of a workload stays when the intent has none: an autoscaler, or somebody by hand, sets it;
//   - annotation perigee.dev/policy-revision alone is no change: it is only written along with a real one.
// *ret is a new tree in arena, or stored. The caller sets generation.
enum prg_intent_change prg_intent_merge(struct prg_arena *arena, const cJSON *stored, const cJSON *intent,
                                        const cJSON **ret);
