// SPDX-License-Identifier: Apache-2.0
// convert.h: Lua values to JSON trees, strictly. Private to core/policy.
//
//   table      object when its keys are texts, list when they are 1 to n, anything else is an error; an empty one is
//   what
//              the caller expects, else an object; perigee.array{} and perigee.object{} say it themselves
//   view       a copy of its tree, numbers and all (or the tree itself, see prg_convert_borrow)
//   number     integers as they are; floats that are whole and below 2^53 as integers, others as the shortest text that
//              reads back the same; nan and inf are errors
//   string     must be UTF-8
//   perigee.null, true, false
// Functions, other userdata, tables with a metatable of their own, cycles (nesting beyond PRG_JSON_DEPTH) and answers
// of more than max_result_nodes values are errors that name the JSON pointer.
#pragma once
#include "policy/vm.h"

enum prg_shape { PRG_SHAPE_ANY, PRG_SHAPE_OBJECT, PRG_SHAPE_LIST };

// The value at index (positive) as a tree in arena; nil gives NULL. what names it in errors ("answer"). Raises; also
// when the value is of another shape than the expected one.
cJSON *prg_convert(lua_State *L, int index, struct prg_arena *arena, enum prg_shape shape, const char *what);
// The same, but a view gives the tree behind it, which must not be changed.
const cJSON *prg_convert_borrow(lua_State *L, int index, struct prg_arena *arena, const char *what);

// The text at index in the arena of the call; nil gives NULL. Anything but UTF-8 without NUL bytes raises, naming
// `what`.
const char *prg_convert_text(lua_State *L, int index, const char *what);

// Pushes a Lua table (deep) equal to the tree, lists marked as perigee.array, objects as perigee.object. Raises.
void prg_convert_push_copy(lua_State *L, const cJSON *node);
