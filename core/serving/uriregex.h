// SPDX-License-Identifier: Apache-2.0
// uriregex.h: the regular expressions of ClusterStorageContainer: Go's syntax (RE2), matched by PCRE2.
//
// What RE2 does not have (references to groups, lookaround, possessive and nested repetition, recursion, callouts,
// comments …) is refused, so that an expression that works here works in the original too. RE2 never backtracks and
// PCRE2 does, so the steps of one match are limited; an expression that needs more is an error.
#pragma once
#include "base/error.h"
#include "base/strbuf.h"

// *ret: the expression matches somewhere in text (Go's regexp.MatchString). PRG_INVALID naming the offset for a bad
// expression, PRG_LIMIT for one that needs more memory or steps than uriregex.c allows.
int prg_uriregex_match(const char *expression, const char *text, size_t length, bool *ret,
                       struct prg_error *err) PRG_MUST_USE;
