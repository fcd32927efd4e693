// SPDX-License-Identifier: Apache-2.0
// simulate_fixture.h: objects of a recorded scenario and the two shipped policies.
#pragma once
#include "support/support.h"

#include <string.h>

#include "policy/policy.h"

#define RESILIENT "../examples/learning/policies"

// NULL: the shipped policies.
static inline struct prg_policy_set *policies_of(const char *folder)
{
    struct prg_policy_options options = {.folder = folder};
    struct prg_policy_set *set = NULL;
    struct prg_error err = {0};
    assert_ok(prg_policy_set_load(&options, &set, &err), &err);
    return set;
}

static inline cJSON *scenario_of(struct prg_arena *arena, const char *name)
{
    return read_test_json(arena, prg_arena_printf(arena, "cases/sedna/scenarios/%s.json", name));
}
