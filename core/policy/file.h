// SPDX-License-Identifier: Apache-2.0
// file.h: one file of a policy set: loaded, checked against its contract, in a Lua state of its own. Private to
// core/policy.
#pragma once
#include "policy/contract.h"
#include "policy/source.h"

// Collects the errors of a set. The first is kept, all are passed on.
struct prg_report {
    void (*visit)(const char *text, void *ctx); // may be NULL
    void *ctx;
    size_t count;
    char first[PRG_ERROR_TEXT];
    char latest[PRG_ERROR_LINE];
};
// The same again is not told.
void prg_report_add(struct prg_report *report, const char *format, ...) PRG_PRINTF(2, 3);
void prg_report_error(struct prg_report *report, const struct prg_error *err);

struct prg_policy_file {
    struct prg_vm *vm;
    const struct prg_contract *contract;
    const char *name; // "image"
    struct prg_source source;
    bool is_shipped;
    int lines[PRG_CONTRACT_FUNCTIONS]; // where each function of the contract is defined; 0: the file has none
    cJSON *options;                    // effective ones: object, never NULL
};

// Loads source as the file `name` and checks it: syntax, api, functions, options. Errors go into report, and NULL comes
// back. Texts and trees live in arena. contract: the one the file has to have, or NULL: the one that its api names.
struct prg_policy_file *prg_policy_file_load(struct prg_arena *arena, const char *name, const struct prg_source *source,
                                             const struct prg_contract *contract,
                                             const struct prg_policy_limits *limits, struct prg_report *report);
void prg_policy_file_free(struct prg_policy_file *file); // NULL is fine; frees the state only

// In a call: runs the file anew and pushes its function (index in the contract), which must be there. The environment's
// `options` is set, and errors about its answer name its line. Raises.
void prg_policy_file_push_function(lua_State *L, const struct prg_policy_file *file, int function);
// The same for several functions of one run: pushes the file's table, then functions from it.
void prg_policy_file_push_table(lua_State *L, const struct prg_policy_file *file);
void prg_policy_file_push_field(lua_State *L, const struct prg_policy_file *file, int table, int function);
