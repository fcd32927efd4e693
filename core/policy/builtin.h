// SPDX-License-Identifier: Apache-2.0
// builtin.h: the Lua files that are part of the program. builtin.c is made by cmake/embed.cmake. Private to
// core/policy.
#pragma once
#include <stddef.h>

struct prg_builtin {
    const char *name; // "image" of lua/policies/image.lua, "labels" of lua/stdlib/perigee/labels.lua
    const char *text;
    size_t length;
};

extern const struct prg_builtin prg_builtin_policies[]; // by name
extern const size_t prg_builtin_policy_count;
extern const struct prg_builtin prg_builtin_modules[];
extern const size_t prg_builtin_module_count;
extern const struct prg_builtin prg_builtin_metas[]; // lua/stdlib/meta: declarations for editors
extern const size_t prg_builtin_meta_count;
extern const struct prg_builtin prg_builtin_specs[]; // lua/spec: the test library
extern const size_t prg_builtin_spec_count;
