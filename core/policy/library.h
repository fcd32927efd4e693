// SPDX-License-Identifier: Apache-2.0
// library.h: the global `perigee` of scripts: values, configuration, C functions, and modules of lua/stdlib. Private to
// core/policy.
#pragma once
#include "policy/vm.h"

// Pushes the read-only `perigee` of a state. Its modules are made when they are first named. Raises.
void prg_library_push(lua_State *L);

// Visits the names below `perigee`: its own functions, modules, and what comes from C.
void prg_library_each_name(void (*visit)(const char *name, size_t length, void *ctx), void *ctx);

// C functions that need no planner (perigee.json, perigee.quantity, perigee.selectors, perigee.explain).
extern const struct prg_native prg_core_natives[];
extern const size_t prg_core_native_count;
