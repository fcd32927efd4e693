// SPDX-License-Identifier: Apache-2.0
// disk.h: reading and writing single files, so that a kill or a full disk leaves the old content or the new.
#pragma once
#include "base/error.h"
#include "base/strbuf.h"

struct stat;

// What tells that a file was changed without reading it.
struct prg_file_sign {
    uint64_t device, inode;
    int64_t size, mtime_ns, ctime_ns;
};
struct prg_file_sign prg_file_sign_of(const struct stat *info);
bool prg_file_sign_equal(const struct prg_file_sign *a, const struct prg_file_sign *b);
// A file written within the resolution of its file system's clock before `now_ns` can change again without a new sign:
// it has to be read once more.
bool prg_file_sign_is_racy(const struct prg_file_sign *sign, int64_t now_ns);

// Appends the content. The sign (may be NULL) is of before the reading. PRG_NOTFOUND: there is no such file; PRG_LIMIT:
// larger than max_bytes; PRG_INVALID: not a regular file.
int prg_disk_read(const char *path, size_t max_bytes, struct prg_strbuf *ret, struct prg_file_sign *ret_sign,
                  struct prg_error *err) PRG_MUST_USE;
// Writes root/relative: a temporary file in the same folder, fsync, rename, fsync of the folder. Makes missing folders
// below root. On failure the old file is as it was and nothing else is left.
int prg_disk_write(const char *root, const char *relative, const char *text, size_t length,
                   struct prg_file_sign *ret_sign, struct prg_error *err) PRG_MUST_USE;
// Adds text (whole lines) at the end of root/relative with one write; puts a new line first when the file ends within a
// line, as a killed writer leaves it. is_lasting: with fsync; without it the text can be lost when the power goes.
int prg_disk_append(const char *root, const char *relative, const char *text, size_t length, bool is_lasting,
                    struct prg_error *err) PRG_MUST_USE;
// Removes root/relative and the folders above it that are empty then, up to but not including root/keep. A file that is
// gone already is fine.
int prg_disk_remove(const char *root, const char *relative, const char *keep, struct prg_error *err) PRG_MUST_USE;

// Temporary files: is `name` one, and removal of one unless its writer is still alive.
bool prg_disk_is_temporary(const char *name);
void prg_disk_remove_temporary(int folder_fd, const char *name);
