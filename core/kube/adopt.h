// SPDX-License-Identifier: Apache-2.0
// adopt.h: whose the fields of an object are (metadata.managedFields), before an apply that could not say so itself.
//
// Two things that server-side apply does not do alone, for which it lets a client rewrite managedFields:
//   - Objects made by the controller that ran before (with Update, under its own manager name) become ours: its fields
//     join our apply set, so that one that the intent does not have any more is removed by the next apply, as it would
//     be by that controller. Without it they would be owned by a manager that writes no more.
//   - A replica count that was ours and is left to an autoscaler from now on: dropped from an intent, it would be
//     removed, and the server would put its default of 1 in place. Given up beforehand, it stays as it is.
#pragma once
#include "json/value.h"

enum prg_adopt_marks {
    PRG_MARK_OLD_MANAGER = 1 << 0,  // an old controller owns fields of it
    PRG_MARK_OWN_REPLICAS = 1 << 1, // spec.replicas is ours
};
// Marks of an object as the server sends it. manager: ours.
uint32_t prg_adopt_mark(const cJSON *object, const char *manager);
// Is there something to be done before this intent is applied?
bool prg_adopt_is_due(uint32_t marks, const cJSON *intent);
// The managedFields that live should have, in arena; NULL when they are right as they are.
cJSON *prg_adopt_fields(struct prg_arena *arena, const cJSON *live, const cJSON *intent, const char *manager);
// Manager of a controller that Perigee takes over from: the names of KServe's and Sedna's binaries.
bool prg_adopt_is_old(const char *manager);
