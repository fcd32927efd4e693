// SPDX-License-Identifier: Apache-2.0
// source.h: the text of a Lua file: compiling it, and where things are in it. Private to core/policy.
#pragma once
#include "policy/vm.h"

#define PRG_SOURCE_BYTES ((size_t)256 << 10) // largest Lua file

struct prg_source {
    const char *path; // as shown: "DIR/image.lua", "shipped/image.lua"
    const char *text;
    size_t length;
};

struct prg_source_place {
    unsigned line, column; // from 1; columns count characters; 0: not known
};

// Compiles source as text and keeps its main function in vm->ref.chunk; vm->source becomes "@PATH", which must live as
// long as the vm. err: "PATH:LINE:COLUMN: what".
int prg_source_compile(struct prg_vm *vm, const struct prg_source *source, const char *chunk_name,
                       struct prg_error *err) PRG_MUST_USE;

// Where word stands for the first time as a whole word, followed by next (after blanks) unless next is 0. {0, 0} when
// nowhere.
struct prg_source_place prg_source_find(const struct prg_source *source, const char *word, char next);
// Column of word in a line, or 1.
unsigned prg_source_column(const struct prg_source *source, unsigned line, const char *word);

// Runs the main function with a fresh environment, in a call. Pushes the environment and what the file returns; vm's
// perigee.config is out of reach while it runs. Raises.
void prg_source_run(lua_State *L);
