// SPDX-License-Identifier: Apache-2.0
// pattern.h: Lua's patterns: made into a list of items first, so that every mistake in one is found whatever the text
// is, then matched with backtracking, each step charged to the budget. Private to core/policy.
#pragma once
#include "policy/vm.h"

enum {
    PRG_PATTERN_BYTES = 4096, // longest pattern
    PRG_PATTERN_INLINE = 40,  // items kept in the struct; longer patterns take a userdata
    PRG_PATTERN_CAPTURES = 32,
};

struct prg_pattern_item {
    uint8_t kind, a, b;
    bool is_byte;    // the set is the one byte a
    uint64_t set[4]; // bit per byte value, unless is_byte
};

struct prg_pattern {
    bool is_anchored;
    size_t count;
    int captures;
    struct prg_pattern_item *items; // the last one ends the pattern
    struct prg_pattern_item room[PRG_PATTERN_INLINE];
};

#define PRG_CAPTURE_OPEN SIZE_MAX        // length of a capture that is not closed yet
#define PRG_CAPTURE_PLACE (SIZE_MAX - 1) // of a position, not a text

struct prg_match {
    lua_State *L;
    const struct prg_pattern *pattern;
    const char *text, *end;
    int level; // captures begun
    int depth;
    unsigned work;
    struct {
        const char *start;
        size_t length;
    } capture[PRG_PATTERN_CAPTURES];
};

// Reads text as a pattern. may_anchor: a ^ in front ties the match to the beginning (gmatch knows no anchor). A long
// pattern leaves a userdata with its items on the stack. Raises.
void prg_pattern_make(lua_State *L, struct prg_pattern *pattern, const char *text, size_t length, bool may_anchor);
void prg_match_begin(struct prg_match *m, lua_State *L, const struct prg_pattern *pattern, const char *text,
                     size_t length);
// The end of the match that begins exactly at s, or NULL. Raises.
const char *prg_match_at(struct prg_match *m, const char *s);
// Charges what is left of the work done. Raises.
void prg_match_finish(struct prg_match *m);
