// SPDX-License-Identifier: Apache-2.0
// scan.c: walking the folder store.
#include "catalog/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "catalog/disk.h"
#include "catalog/manifest.h"

#define DEEPEST_FOLDER 100

struct walk {
    const struct prg_scan_visitor *visitor;
    enum prg_scan_part part;
    const char *root;
    struct prg_strbuf path; // relative, of the folder at hand
    int depth;
};

static void walk_folder(struct walk *walk, int fd);

// What readdir alone can tell: DT_UNKNOWN on some file systems, DT_LNK for links.
struct name {
    unsigned char type;
    char text[];
};

static int compare_names(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static bool is_wanted(enum prg_scan_part part, const char *name, bool has_lua)
{
    if (part != PRG_SCAN_MANIFESTS)
        return prg_text_has_suffix(name, ".yaml");
    return prg_manifest_is_name(name) && !(has_lua && strcmp(name, "policies.yaml") == 0);
}

static void push_part(struct prg_strbuf *path, const char *name)
{
    if (path->length)
        prg_strbuf_putc(path, '/');
    prg_strbuf_puts(path, name);
}

static void report_unreadable(struct walk *walk, const char *reason)
{
    struct prg_error err = {0};
    prg_error_set(&err, PRG_IO, __FILE__, __LINE__, "%s%s%s: cannot read the folder: %s", walk->root,
                  walk->path.length ? "/" : "", walk->path.text, reason);
    walk->visitor->unreadable(walk->path.text, &err, walk->visitor->ctx);
}

static void enter_folder(struct walk *walk, int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && walk->depth < DEEPEST_FOLDER) {
        walk_folder(walk, fd);
        return;
    }
    if (fd >= 0)
        close(fd);
    if (fd >= 0)
        report_unreadable(walk, "too many folders within each other");
    else if (errno != ENOENT && errno != ENOTDIR) // gone since it was listed
        report_unreadable(walk, strerror(errno));
}

static void visit_file(const struct walk *walk, const struct stat *info)
{
    if (S_ISREG(info->st_mode)) // no pipes, and no folders behind links
        walk->visitor->file(walk->part, walk->path.text, info, 0, walk->visitor->ctx);
}

static void visit_name(struct walk *walk, int fd, const struct name *name, bool has_lua)
{
    const struct prg_scan_visitor *visitor = walk->visitor;
    bool wanted = is_wanted(walk->part, name->text, has_lua);
    bool is_folder = name->type == DT_DIR;
    struct stat info;
    size_t length = walk->path.length;
    if (name->type != DT_DIR && name->type != DT_UNKNOWN && !wanted)
        return;
    push_part(&walk->path, name->text);
    if (name->type == DT_UNKNOWN)
        is_folder = fstatat(fd, name->text, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
    if (is_folder)
        enter_folder(walk, fd, name->text);
    else if (!wanted)
        ;
    else if (fstatat(fd, name->text, &info, 0) == 0)
        visit_file(walk, &info);
    else if (errno != ENOENT || name->type == DT_LNK) // else it is gone since it was listed
        visitor->file(walk->part, walk->path.text, NULL, errno, visitor->ctx);
    prg_strbuf_truncate(&walk->path, length);
}

// Collects the names that matter; false with errno when the folder cannot be read.
static bool read_names(struct walk *walk, DIR *dir, struct prg_vec *names, bool *ret_has_lua)
{
    *ret_has_lua = false;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry)
            break;
        if (walk->visitor->tidy && prg_disk_is_temporary(entry->d_name))
            prg_disk_remove_temporary(dirfd(dir), entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        *ret_has_lua = *ret_has_lua || prg_text_has_suffix(entry->d_name, ".lua");
        size_t size = strlen(entry->d_name) + 1;
        struct name *name = prg_xmalloc(sizeof(*name) + size);
        name->type = entry->d_type;
        memcpy(name->text, entry->d_name, size);
        prg_vec_push(names, name);
    }
    int error = errno;
    prg_vec_sort(names, compare_names, NULL);
    errno = error;
    return error == 0;
}

// Takes over fd.
static void walk_folder(struct walk *walk, int fd)
{
    struct prg_vec names;
    bool has_lua;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        report_unreadable(walk, strerror(errno));
        close(fd);
        return;
    }
    prg_vec_init(&names);
    walk->visitor->folder(walk->path.text, walk->visitor->ctx);
    walk->depth++;
    if (!read_names(walk, dir, &names, &has_lua))
        report_unreadable(walk, strerror(errno));
    for (size_t i = 0; i < names.count; i++) {
        visit_name(walk, fd, names.items[i], has_lua);
        free(names.items[i]);
    }
    walk->depth--;
    prg_vec_release(&names);
    closedir(dir);
}

static int walk_part(struct walk *walk, enum prg_scan_part part, const char *path)
{
    prg_auto_strbuf full = PRG_STRBUF_INIT;
    prg_strbuf_printf(&full, "%s%s%s", walk->root, *path ? "/" : "", path);
    walk->part = part;
    prg_strbuf_clear(&walk->path);
    prg_strbuf_puts(&walk->path, path);
    int fd = open(full.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    walk_folder(walk, fd);
    return 0;
}

// Leftovers right in .perigee, which no part covers.
static void tidy_own_folder(const char *root)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    prg_strbuf_printf(&path, "%s/.perigee", root);
    DIR *dir = opendir(path.text);
    struct dirent *entry;
    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (prg_disk_is_temporary(entry->d_name))
            prg_disk_remove_temporary(dirfd(dir), entry->d_name);
    closedir(dir);
}

int prg_scan(const char *root, const struct prg_scan_visitor *visitor, struct prg_error *err)
{
    static const struct {
        enum prg_scan_part part;
        const char *path;
    } own[] = {{PRG_SCAN_OBJECTS, ".perigee/objects"}, {PRG_SCAN_STATUS, ".perigee/status"}};
    struct walk walk = {.visitor = visitor, .root = root, .path = PRG_STRBUF_INIT};
    int rc = PRG_OK;
    if (walk_part(&walk, PRG_SCAN_MANIFESTS, "") != 0)
        rc = prg_fail(err, PRG_IO, "%s: cannot read the folder: %s", root, strerror(errno));
    for (size_t i = 0; i < PRG_COUNT(own) && rc == PRG_OK; i++)
        if (walk_part(&walk, own[i].part, own[i].path) != 0 && errno != ENOENT)
            report_unreadable(&walk, strerror(errno));
    if (visitor->tidy)
        tidy_own_folder(root);
    prg_strbuf_release(&walk.path);
    return rc;
}
