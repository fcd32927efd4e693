// SPDX-License-Identifier: Apache-2.0
// error.h: an error is a code and a few frames of text, outermost last. No allocation, nothing to free, safe to copy.
//
// Reads as "plan default/iris: runtime 'x': line 7: bad quantity '1Gib'": the first frame is the cause, each wrap adds
// what its level knows (object key, file, JSON pointer).
#pragma once
#include "base/base.h"

enum prg_code {
    PRG_OK = 0,
    PRG_INVALID = -1,  // input that cannot be used as it is
    PRG_NOTFOUND = -2, // named thing does not exist
    PRG_CONFLICT = -3, // stale version, or two things where one may be
    PRG_LIMIT = -4,    // a configured limit was passed
    PRG_IO = -5,       // file or network
    PRG_POLICY = -6,   // a policy failed while deciding
};

// Inline, so that the compiler sees that the answer of prg_fail is not PRG_OK.
static inline int prg_failed(int set, enum prg_code code)
{
    (void)set;
    return (int)code;
}

#define PRG_ERROR_FRAMES 8
#define PRG_ERROR_TEXT 400

struct prg_error_frame {
    char text[PRG_ERROR_TEXT]; // cut with "..." when longer, always at a UTF-8 boundary
    const char *file;          // C source, for debugging only; never shown to users
    int line;
};

struct prg_error {
    enum prg_code code; // of the cause; wrapping never changes it
    int depth;          // frames in use; further wraps are dropped
    struct prg_error_frame frame[PRG_ERROR_FRAMES];
};

// Both return err->code. err may be NULL: prg_fail then returns its code, prg_wrap, which knows none, PRG_INVALID.
#ifndef __clang_analyzer__
#define prg_fail(err, code, ...) prg_failed(prg_error_set((err), (code), __FILE__, __LINE__, __VA_ARGS__), (code))
#define prg_wrap(err, ...) prg_error_wrap((err), __FILE__, __LINE__, __VA_ARGS__)
#else // an analyzer sees one file at a time and would take either for PRG_OK, then find results unset
#define prg_fail(err, code, ...) (prg_error_set((err), (code), __FILE__, __LINE__, __VA_ARGS__), (int)(code))
#define prg_wrap(err, ...) (prg_error_wrap((err), __FILE__, __LINE__, __VA_ARGS__), (int)PRG_INVALID)
#endif
int prg_error_set(struct prg_error *err, enum prg_code code, const char *file, int line, const char *format, ...)
    PRG_PRINTF(5, 6);
int prg_error_wrap(struct prg_error *err, const char *file, int line, const char *format, ...) PRG_PRINTF(4, 5);
void prg_error_clear(struct prg_error *err);

// Writes "outer: inner: cause" into buffer (always terminated, cut when too long) and returns buffer.
const char *prg_error_text(const struct prg_error *err, char *buffer, size_t size);
#define PRG_ERROR_LINE 2048 // a buffer of this size holds any error that people should see whole
