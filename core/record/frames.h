// SPDX-License-Identifier: Apache-2.0
// frames.h: lines in a file compressed with Zstandard, readable however the writer ended. Private to core/record.
//
// The writer flushes after each group of lines, so that a killed one leaves a file whose whole lines can be read up to
// the last group; a frame that was ended has a checksum. `zstdcat FILE` shows the lines.
#pragma once
#include "base/error.h"
#include "base/strbuf.h"

struct prg_frames_writer;

// Creates path, which must not exist; readable by its owner only.
int prg_frames_create(const char *path, struct prg_frames_writer **ret, struct prg_error *err) PRG_MUST_USE;
// Adds whole lines and hands them to the operating system.
int prg_frames_write(struct prg_frames_writer *writer, const struct prg_strbuf *lines,
                     struct prg_error *err) PRG_MUST_USE;
uint64_t prg_frames_written(const struct prg_frames_writer *writer,
                            uint64_t *ret_plain); // bytes, and before compression
// Ends the frame, syncs and closes. The writer is gone in any case. NULL is fine.
int prg_frames_close(struct prg_frames_writer *writer, struct prg_error *err) PRG_MUST_USE;
void prg_frames_abandon(struct prg_frames_writer *writer); // closes as it is. NULL is fine

struct prg_frames_limits { // 0: the default in parentheses
    size_t line_bytes;     // (64 MiB)
    uint64_t plain_bytes;  // of all lines (1 GiB)
};

// Calls visit for each line, numbered from 1; text is borrowed, without its end, not terminated. *ret_is_cut: the file
// ends in the middle of a frame or line, as that of a killed writer does; the lines before were visited.
// PRG_INVALID: no such file, or damaged; PRG_LIMIT: more than the limits. Errors name the file and line.
int prg_frames_read(const char *path, const struct prg_frames_limits *limits,
                    int (*visit)(const char *text, size_t length, unsigned line, void *ctx, struct prg_error *err),
                    void *ctx, bool *ret_is_cut, struct prg_error *err) PRG_MUST_USE;
// The file begins as such a file does, or is empty.
bool prg_frames_is_one(const char *path);
