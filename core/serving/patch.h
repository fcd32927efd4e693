// SPDX-License-Identifier: Apache-2.0
// patch.h: the object_patch policy: a last strategic merge patch on every rendered object.
#pragma once
#include "serving/context.h"

// Patches s->plan->objects. PRG_POLICY when the policy fails, when a patch touches what holds objects together (kind,
// name, namespace, owner references, selectors), or when patching the result again would change it.
int prg_serving_patch_objects(struct prg_serving *s, struct prg_error *err) PRG_MUST_USE;
