// SPDX-License-Identifier: Apache-2.0
// spec.h: a spec file in a Lua state of its own, with busted's blocks, luassert's assertions and the policies under
// test. Private to core/policy.
#pragma once
#include "base/map.h"
#include "policy/set.h"

// A policy file under test, compiled in the state of the spec.
struct prg_spec_policy {
    const char *name;
    struct prg_source source;
    const char *chunk_name; // "@PATH"
    const cJSON *options;   // as the set gives them, or NULL: those of the file
    int chunk;              // luaL_ref of its main function
};

struct prg_spec_state {
    struct prg_vm *vm;
    struct prg_arena arena; // of everything that the spec converts and reads; lives as long as the state
    const struct prg_policy_set *set;
    const char *fixtures;          // folder that specs read files of, or NULL
    const char *path;              // of the spec file
    struct prg_map policies;       // name -> struct prg_spec_policy *, in the arena
    struct prg_coverage *coverage; // or NULL
    uint64_t steps;                // of all tests so far
    int library;                   // luaL_ref of lua/spec/busted.lua's table
};

// Runs a spec whose text is at hand, against the policies of the set.
void prg_spec_run_source(const struct prg_policy_set *set, const struct prg_source *source,
                         const struct prg_spec_options *options);
// The gate: runs the specs that a layer of the set carries and reports each test that fails. folder: where they may
// read files, or NULL. All of them together may take PRG_SPEC_GATE_CALLS times the steps of one call.
#define PRG_SPEC_GATE_CALLS 4
void prg_spec_gate(const struct prg_policy_set *set, const struct prg_set_layer *layer, const char *folder,
                   const struct prg_policy_limits *limits, struct prg_report *report);
// Pushes the table of C functions that lua/spec is given. Raises.
void prg_spec_push_host(lua_State *L, struct prg_spec_state *state);

// Runs a file of lua/spec ("busted") with the host table at `host`; pushes what it returns. Raises.
void prg_spec_run_library(lua_State *L, const char *name, int host);

// ---- coverage ----
// Compiles nothing; the chunk on top of the stack is a main function whose source is chunk_name. Raises.
void prg_coverage_add_chunk(struct prg_coverage *coverage, lua_State *L, const char *chunk_name);
