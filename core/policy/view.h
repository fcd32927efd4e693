// SPDX-License-Identifier: Apache-2.0
// view.h: JSON trees as Lua values: read-only userdata over the tree, nothing converted until it is touched. Private to
// core/policy.
//
//   object, list   a view: index, #, pairs, ipairs, next, ==, tostring work as on a table; writing is an error
//   string         a Lua string, NUL bytes included
//   number         an integer when it is a whole number within int64 (1, 3.0, 1e2); a float when the float's shortest
//                  text has the same value (0.1, 1e300); else a number view, which keeps its text: tostring gives it,
//                  == compares exactly, tonumber gives the nearest float, and it may be returned as it is
//   null           perigee.null
//   absent         nil
// A view knows the generation of its vm (prg_vm_expire) and refuses to be used in a later one.
#pragma once
#include "policy/vm.h"

// Makes the metatables of a state. Raises.
void prg_view_open(lua_State *L);
// Pushes what stands for node; NULL gives nil. node must outlive the generation. Raises.
void prg_view_push(lua_State *L, const cJSON *node);
// The same for an object that is read often: its members are turned into Lua values at once.
void prg_view_push_eager(lua_State *L, const cJSON *object);
// The same, but only of the members in `plain` (NULL-ended); reading another one, or the object as a whole, is noted in
// the vm's has_looked.
void prg_view_push_watched(lua_State *L, const cJSON *object, const char *const *plain);
// The same for a member in turn: a view that notes reads of other members than the plain ones, in it and, if it is an
// object, in its member `key`. Cheap to make, for an object that is not read often.
struct prg_view_watch {
    const char *const *plain; // NULL-ended
    const char *key;          // NULL: none
    const struct prg_view_watch *inner;
};
void prg_view_push_noting(lua_State *L, const cJSON *object, const struct prg_view_watch *watch); // watch is borrowed
// ---- fronts ----
// Views that are kept in the state from call to call, so that reading them costs no call into C: their members, and
// those of the objects among them, are Lua values already. To a policy a front is a view like others: it is read-only,
// and expires with the call that it was given to. key: what it is of, bytes that mean the same object in the same state
// whenever they come again. What is kept does not count against the policy's memory, and is dropped when it is too
// much.

// Pushes the front; false: there is none, and nothing is pushed.
bool prg_view_push_front(lua_State *L, const char *key, size_t length);
// Makes it, and pushes it; a view that is not kept if the object is too large or the limits are too tight. object: in
// vm->fronts.arena, may refer to trees that live as long as the key means anything.
void prg_view_make_front(lua_State *L, const char *key, size_t length, const cJSON *object);

void prg_view_push_null(lua_State *L); // perigee.null

bool prg_view_is(lua_State *L, int index); // a view of an object or list
bool prg_view_is_null(lua_State *L, int index);
// The tree behind a view or number view; NULL when the value is neither. Raises when it has expired.
const cJSON *prg_view_node(lua_State *L, int index);
// Pushes the nearest float of a number view; false (and nothing pushed) for anything else.
bool prg_view_push_nearest(lua_State *L, int index);
// next(view, key): view at 1, key or nil at 2. Returns the count of results.
int prg_view_next(lua_State *L);
