// SPDX-License-Identifier: Apache-2.0
// disk.c: single files on disk.
//
// A writer holds a lock on its temporary file until the rename. So a reader that finds one can tell a leftover (no
// lock: the writer is dead) from a write under way, across containers that share the folder as well.
#include "catalog/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_PREFIX ".perigee-tmp-"
#define WRITE_TRIES 3

#define NS_PER_S INT64_C(1000000000)

static int64_t to_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

struct prg_file_sign prg_file_sign_of(const struct stat *info)
{
    return (struct prg_file_sign){
        .device = (uint64_t)info->st_dev,
        .inode = (uint64_t)info->st_ino,
        .size = (int64_t)info->st_size,
        .mtime_ns = to_ns(info->st_mtim),
        .ctime_ns = to_ns(info->st_ctim),
    };
}

bool prg_file_sign_equal(const struct prg_file_sign *a, const struct prg_file_sign *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns &&
           a->ctime_ns == b->ctime_ns;
}

bool prg_file_sign_is_racy(const struct prg_file_sign *sign, int64_t now_ns)
{
    // Kernels stamp files with the time of the last tick (10 ms at most); whole seconds mean a file system that keeps
    // no more (2 s at most).
    int64_t window_ns = sign->mtime_ns % NS_PER_S ? NS_PER_S / 50 : 2 * NS_PER_S;
    return sign->mtime_ns > now_ns - window_ns;
}

// ---- reading ----

static int read_all(int fd, const char *path, size_t max_bytes, struct prg_strbuf *ret, struct prg_error *err)
{
    char chunk[65536];
    for (size_t total = 0;;) {
        ssize_t count = read(fd, chunk, sizeof(chunk));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return prg_fail(err, PRG_IO, "%s: cannot read: %s", path, strerror(errno));
        if (count == 0)
            return PRG_OK;
        total += (size_t)count;
        if (total > max_bytes)
            return prg_fail(err, PRG_LIMIT, "%s: larger than %zu MiB; split it", path, max_bytes >> 20);
        prg_strbuf_add(ret, chunk, (size_t)count);
    }
}

int prg_disk_read(const char *path, size_t max_bytes, struct prg_strbuf *ret, struct prg_file_sign *ret_sign,
                  struct prg_error *err)
{
    // A pipe of that name must not block.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (fd < 0)
        return prg_fail(err, errno == ENOENT ? PRG_NOTFOUND : PRG_IO, "%s: %s", path, strerror(errno));
    int rc = PRG_OK;
    if (fstat(fd, &info) != 0)
        rc = prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        rc = prg_fail(err, PRG_INVALID, "%s: not a regular file", path);
    else
        rc = read_all(fd, path, max_bytes, ret, err);
    close(fd);
    if (rc == PRG_OK && ret_sign)
        *ret_sign = prg_file_sign_of(&info);
    return rc;
}

// ---- folders ----

static int sync_folder(const char *path, struct prg_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    // EINVAL: a file system that has no fsync for folders.
    int rc = fsync(fd) == 0 || errno == EINVAL ? PRG_OK : prg_fail(err, PRG_IO, "%s: fsync: %s", path, strerror(errno));
    close(fd);
    return rc;
}

// Cuts the last part off; false when there is only one.
static bool to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

// Makes the folders of `path` (root and more parts; not root itself) that are missing.
static int make_folders(const char *path, size_t root_length, struct prg_error *err)
{
    prg_auto_strbuf part = PRG_STRBUF_INIT;
    for (const char *slash = path + root_length; slash;) {
        slash = strchr(slash + 1, '/');
        prg_strbuf_clear(&part);
        prg_strbuf_add(&part, path, slash ? (size_t)(slash - path) : strlen(path));
        if (mkdir(part.text, 0777) == 0) {
            to_parent(part.text);
            int rc = sync_folder(part.text, err);
            if (rc != PRG_OK)
                return rc;
        } else if (errno != EEXIST) {
            return prg_fail(err, PRG_IO, "%s: cannot make the folder: %s", part.text, strerror(errno));
        }
    }
    return PRG_OK;
}

// Removes the folder and those above it that are empty then, down to a length of keep_length.
static void prune_folders(char *path, size_t keep_length)
{
    while (strlen(path) > keep_length && rmdir(path) == 0 && to_parent(path))
        ;
}

// ---- writing ----

static int write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t count = write(fd, text, length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        text += count;
        length -= (size_t)count;
    }
    return 0;
}

struct temporary {
    char path[PATH_MAX];
    int fd;
};

static int open_temporary(const char *folder, struct temporary *ret)
{
    static unsigned counter; // names are unique in the process; O_EXCL covers the rest
    for (int tries = 0; tries < 100; tries++) {
        int length =
            snprintf(ret->path, sizeof(ret->path), "%s/%s%ld-%u", folder, TEMPORARY_PREFIX, (long)getpid(), counter++);
        if (length < 0 || (size_t)length >= sizeof(ret->path)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        ret->fd = open(ret->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (ret->fd >= 0)
            return flock(ret->fd, LOCK_EX | LOCK_NB); // fails when somebody just takes it for a leftover
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

// 0, or -1 with errno. Nothing is left behind on failure.
static int write_once(const char *folder, const char *path, const char *text, size_t length,
                      struct prg_file_sign *ret_sign)
{
    struct temporary temporary = {.fd = -1};
    struct stat info;
    int rc = open_temporary(folder, &temporary);
    if (rc == 0)
        rc = write_all(temporary.fd, text, length);
    if (rc == 0)
        rc = fsync(temporary.fd);
    if (rc == 0)
        rc = rename(temporary.path, path);
    // After the rename, which sets the change time.
    if (rc == 0 && fstat(temporary.fd, &info) == 0)
        *ret_sign = prg_file_sign_of(&info);
    int error = errno;
    if (temporary.fd >= 0) {
        if (rc != 0)
            unlink(temporary.path);
        close(temporary.fd);
    }
    errno = error;
    return rc;
}

int prg_disk_write(const char *root, const char *relative, const char *text, size_t length,
                   struct prg_file_sign *ret_sign, struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT, folder = PRG_STRBUF_INIT;
    prg_strbuf_printf(&path, "%s/%s", root, relative);
    prg_strbuf_puts(&folder, path.text);
    to_parent(folder.text);
    struct prg_file_sign sign = {0};
    int rc = -1, error = 0;
    for (int tries = 0; tries < WRITE_TRIES && rc != 0; tries++) {
        rc = write_once(folder.text, path.text, text, length, &sign);
        error = errno;
        // Not made yet, or gone or locked under our hands: another process tidied up just now.
        if (rc != 0 && error != ENOENT && error != EWOULDBLOCK)
            break;
        if (rc != 0 && error == ENOENT && make_folders(folder.text, strlen(root), err) != PRG_OK) {
            prune_folders(folder.text, strlen(root));
            return prg_wrap(err, "%s", path.text);
        }
    }
    if (rc == 0 && sync_folder(folder.text, err) != PRG_OK)
        return prg_wrap(err, "%s", path.text);
    if (rc != 0) {
        prune_folders(folder.text, strlen(root));
        return prg_fail(err, PRG_IO, "%s: cannot write: %s", path.text, strerror(error));
    }
    if (ret_sign)
        *ret_sign = sign;
    return PRG_OK;
}

static int append_to(int fd, const char *text, size_t length, bool is_lasting)
{
    prg_auto_strbuf line = PRG_STRBUF_INIT;
    off_t size = lseek(fd, 0, SEEK_END);
    char last = '\n';
    if (size < 0 || (size > 0 && pread(fd, &last, 1, size - 1) < 0))
        return -1;
    if (last != '\n')
        prg_strbuf_putc(&line, '\n');
    prg_strbuf_add(&line, text, length);
    if (write_all(fd, line.text, line.length) == 0 && (!is_lasting || fsync(fd) == 0))
        return 0;
    int error = errno;
    if (ftruncate(fd, size) != 0) // no half line; if even this fails, readers skip it
        error = errno;
    errno = error;
    return -1;
}

int prg_disk_append(const char *root, const char *relative, const char *text, size_t length, bool is_lasting,
                    struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT, folder = PRG_STRBUF_INIT;
    prg_strbuf_printf(&path, "%s/%s", root, relative);
    prg_strbuf_puts(&folder, path.text);
    to_parent(folder.text);
    int fd = open(path.text, O_RDWR | O_APPEND | O_CLOEXEC);
    bool is_new = fd < 0 && errno == ENOENT;
    if (is_new && make_folders(folder.text, strlen(root), err) != PRG_OK)
        return prg_wrap(err, "%s", path.text);
    if (is_new)
        fd = open(path.text, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return prg_fail(err, PRG_IO, "%s: cannot write: %s", path.text, strerror(errno));
    int rc = PRG_OK;
    if (append_to(fd, text, length, is_lasting) != 0)
        rc = prg_fail(err, PRG_IO, "%s: cannot write: %s", path.text, strerror(errno));
    close(fd);
    return rc == PRG_OK && is_new && is_lasting ? sync_folder(folder.text, err) : rc;
}

int prg_disk_remove(const char *root, const char *relative, const char *keep, struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_strbuf_printf(&path, "%s/%s", root, relative);
    if (unlink(path.text) != 0 && errno != ENOENT && errno != ENOTDIR)
        return prg_fail(err, PRG_IO, "%s: cannot remove: %s", path.text, strerror(errno));
    to_parent(path.text);
    prune_folders(path.text, strlen(root) + 1 + strlen(keep));
    // What is left of the chain holds the removal.
    prg_auto_strbuf left = PRG_STRBUF_INIT;
    prg_strbuf_puts(&left, path.text);
    return access(left.text, F_OK) == 0 ? sync_folder(left.text, err) : PRG_OK;
}

bool prg_disk_is_temporary(const char *name)
{
    return prg_text_has_prefix(name, TEMPORARY_PREFIX);
}

void prg_disk_remove_temporary(int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    // Failing is fine: it may be a read-only folder, and the file is ignored anyway.
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder_fd, name, 0);
    close(fd);
}
