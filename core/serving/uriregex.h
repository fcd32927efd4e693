// SPDX-License-Identifier: Apache-2.0
// uriregex.h: the regular expressions of ClusterStorageContainer: Go's syntax (RE2), matched by PCRE2.
//
// What RE2 does not have (references to groups, lookaround, possessive and nested repetition, recursion, callouts,
// comments …) is refused, so that an expression that works here works in the original too. Matching uses PCRE2's
// DFA matcher: like RE2 it never backtracks, so its time is bounded by the lengths of expression and text.
#pragma once
#include "base/error.h"
#include "base/strbuf.h"

// *ret: the expression matches somewhere in text (Go's regexp.MatchString). PRG_INVALID naming the offset for a bad
// expression, PRG_LIMIT for one that needs more memory or steps than uriregex.c allows.
int prg_uriregex_match(const char *expression, const char *text, size_t length, bool *ret,
                       struct prg_error *err) PRG_MUST_USE;
