// SPDX-License-Identifier: Apache-2.0
// vm.h: one Lua state with its budgets, and the one protected way into it. Private to core/policy.
//
// A state belongs to one file of a policy set and is never shared. Everything that can raise runs inside prg_vm_call.
// When a budget is used up the vm *trips*: the trip is sticky until the call ends, its error value is one that no
// script can make, and pcall passes it on, so a script cannot go on after it.
#pragma once
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>

#include "base/map.h"
#include "policy/policy.h"

enum prg_trip {
    PRG_TRIP_NONE,
    PRG_TRIP_STEPS,
    PRG_TRIP_WALL,
    PRG_TRIP_INTERRUPT,
    PRG_TRIP_MEMORY,
    PRG_TRIP_BLOCK,
    PRG_TRIP_DEPTH,
};

#define PRG_VM_TEXT 1024         // longest message kept of an error
#define PRG_VM_PRINTED 65536     // bytes of `print` kept per call
#define PRG_VM_HOOK_INTERVAL 100 // VM instructions between two looks at the budget

// Places in the registry (luaL_ref numbers) that the binding files share.
struct prg_vm_refs {
    int globals;     // table: what every environment sees
    int env_meta;    // metatable of environments
    int object_meta; // metatables of views
    int array_meta;
    int number_meta;
    int array_mark; // metatables of perigee.array{} and perigee.object{}
    int object_mark;
    int chunk; // the file's main function
};

// Fronts: views that are kept from call to call, with their members as Lua values, of objects that do not change
// (view.c). Their memory is not the policy's.
struct prg_vm_fronts {
    struct prg_map by_key; // key bytes -> index + 1
    uint64_t *given;       // by index: the generation that it was given to last
    size_t count, cap;
    uint32_t gone;          // so many were there before; a front's number is gone + index + 1
    int table;              // registry: by index; 0: none yet
    struct prg_arena arena; // their trees
    size_t bytes;           // of Lua
    size_t reserved;        // for the one that is being made, 0: none is
    size_t making;          // what that one has taken so far
};

struct prg_vm {
    lua_State *L;
    struct prg_policy_limits limits; // complete: no zeros
    struct prg_vm_refs ref;
    const char *source; // "@FILE" of the script that runs here; "" before it is loaded

    // The call under way.
    bool is_running;
    bool at_top_level;    // the file's own top level runs: perigee.config is not there yet
    uint64_t steps;       // used so far
    uint64_t clock_steps; // steps at which the clock is looked at next
    int64_t deadline_ns;  // monotonic
    enum prg_trip trip;
    volatile sig_atomic_t is_interrupted; // set from a signal handler: the call is over
    struct prg_arena *arena;              // of the answers; NULL: C functions that need one are refused
    size_t arena_start_bytes;             // used_bytes of arena when the call began
    const cJSON *config, *compat;         // perigee.config, perigee.compat; NULL: absent
    uint64_t generation;                  // views made under another one have expired
    bool has_looked;                      // the call has read what an answer must not be kept for (view.h)
    struct prg_strbuf printed;            // what `print` wrote in this call
    struct prg_strbuf scratch;            // for texts on their way into Lua, so that a raise loses nothing
    struct prg_coverage *coverage;        // lines that run are counted there; NULL: not counted
    int function_line;                    // of the function asked, for errors about its answer; 0: none

    struct prg_vm_fronts fronts;

    // Memory.
    size_t used_bytes, peak_bytes;
    size_t refused_bytes; // size of the allocation refused last, while Lua collects and asks again

    // Set by tests only. Allocations of the call under way are numbered from 1.
    struct {
        size_t collect_every; // before each n-th allocation Lua collects all garbage; 0: never
        size_t fail_at;       // the allocation that fails, as if the memory had ended; 0: none
        size_t count;         // so far
        bool is_refused;      // the allocation asked for now was refused once already
    } stress;

    // The error of the call, filled by the message handler or at the trip.
    char error_file[512];
    int error_line; // 0: not known
    char error_text[PRG_VM_TEXT];
};

// Defaults for the zeros of limits.
struct prg_policy_limits prg_policy_limits_complete(const struct prg_policy_limits *limits);

// A state with the sandbox in it. NULL with err when the limits leave no room for it.
struct prg_vm *prg_vm_new(const struct prg_policy_limits *limits, struct prg_error *err);
void prg_vm_free(struct prg_vm *vm); // NULL is fine

static inline struct prg_vm *prg_vm_of(lua_State *L)
{
    return *(struct prg_vm **)lua_getextraspace(L);
}

// Runs body(L) protected, with arg as its only argument (a light userdata) and a fresh budget. Results go into what
// arg points to. On failure err is "FILE:LINE: message", code PRG_POLICY. Views made in the call live until
// prg_vm_expire.
int prg_vm_call(struct prg_vm *vm, lua_CFunction body, void *arg, struct prg_error *err) PRG_MUST_USE;
// All views handed out so far refuse to be used from now on.
void prg_vm_expire(struct prg_vm *vm);

// ---- for functions that run inside a call (all of these may raise) ----
// Adds to the steps of the call: for C loops, in units of about one VM instruction.
void prg_vm_charge(lua_State *L, uint64_t steps);
// Bytes that a C loop looks at, at 16 to a step.
static inline void prg_vm_charge_bytes(lua_State *L, size_t bytes)
{
    if (bytes >= 64)
        prg_vm_charge(L, bytes / 16);
}
// Trips when the arena of the answers has grown beyond the memory limit in this call.
void prg_vm_charge_arena(lua_State *L);
// Raises an error that is a text; unlike luaL_error long texts and `%s` of any length are fine. position: a Lua
// function's level (1: the caller of the C function), 0: none.
PRG_NORETURN void prg_vm_raise(lua_State *L, int level, const char *format, ...) PRG_PRINTF(3, 4);
// Called for each line that runs, when lines are counted (coverage.c). Never raises.
void prg_coverage_hit(struct prg_coverage *coverage, const char *chunk_name, int line);
// A message handler for a protected call inside a call (a policy that a spec runs): puts FILE:LINE before the text.
int prg_vm_handle_nested(lua_State *L);
// Raises the trip again when the vm has tripped.
void prg_vm_pass_trip(lua_State *L);
