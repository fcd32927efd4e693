// SPDX-License-Identifier: Apache-2.0
// natives.h: the C functions of the policies' standard library: planner functions and object types as perigee.* in Lua.
#pragma once

// Registers them with core/policy. Once, before any policy set or script is loaded.
void prg_stdlib_register(void);
