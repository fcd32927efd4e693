// SPDX-License-Identifier: Apache-2.0
// folder.c: the files of a policy set's folder, all of one state of it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/digest.h"
#include "policy/set.h"
#include "policy/text.h"

enum { MANIFEST_BYTES = 256 << 10, READ_ATTEMPTS = 5 };

// ---- reading ----

struct folder {
    struct prg_arena *arena;
    const char *path;
    struct prg_vec *texts; // struct prg_policy_text *
    size_t count;          // of *.lua seen
};

int prg_policy_read_file(struct prg_arena *arena, const char *path, size_t most, const char **ret, size_t *ret_length,
                         struct prg_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!file || fstat(fd, &st) != 0) {
        prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
        if (file)
            fclose(file);
        else if (fd >= 0)
            close(fd);
        return PRG_IO;
    }
    prg_auto_arena scratch;
    prg_arena_init(&scratch);
    *ret = NULL;
    if (S_ISREG(st.st_mode) && (uintmax_t)st.st_size <= most) {
        size_t room = (size_t)st.st_size + 1; // one more: it may grow meanwhile
        char *text = prg_arena_alloc(&scratch, room);
        *ret_length = fread(text, 1, room, file);
        if (!ferror(file) && *ret_length < room)
            *ret = prg_arena_strndup(arena, text, *ret_length);
    }
    fclose(file);
    return *ret ? PRG_OK : prg_fail(err, PRG_INVALID, "%s: not a file of at most %zu bytes", path, most);
}

// In an error it stays on its line.
static bool is_printable(const char *name)
{
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    return prg_utf8_prefix(name, strlen(name)) == strlen(name);
}

static void read_entry(struct folder *folder, const char *name, struct prg_report *report)
{
    bool is_lua = prg_text_has_suffix(name, ".lua");
    if (!is_lua && strcmp(name, "policies.yaml") != 0)
        return;
    if (is_lua && folder->count++ >= PRG_SET_FILES) {
        if (folder->count == PRG_SET_FILES + 1)
            prg_report_add(report, "%s: more than %d Lua files", folder->path, PRG_SET_FILES);
        return;
    }
    const char *slash = prg_text_has_suffix(folder->path, "/") ? "" : "/";
    if (!is_printable(name)) {
        char shown[256];
        prg_report_add(report, "%s%s%s: the name of a file holds control characters or bytes that are not UTF-8",
                       folder->path, slash, prg_text_show(shown, sizeof(shown), name, strlen(name)));
        return;
    }
    struct prg_policy_text *text = prg_arena_new(folder->arena, struct prg_policy_text);
    text->name = prg_arena_strdup(folder->arena, name);
    text->path = prg_arena_printf(folder->arena, "%s%s%s", folder->path, slash, name);
    size_t most = is_lua ? PRG_SOURCE_BYTES : MANIFEST_BYTES;
    struct prg_error err = {0};
    if (prg_policy_read_file(folder->arena, text->path, most, &text->text, &text->length, &err) == PRG_OK)
        prg_vec_push(folder->texts, text);
    else
        prg_report_error(report, &err);
}

static void read_files(struct folder *folder, struct prg_report *report)
{
    DIR *dir = opendir(folder->path);
    const struct dirent *entry;
    if (!dir) {
        prg_report_add(report, "%s: %s", folder->path, strerror(errno));
        return;
    }
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            read_entry(folder, entry->d_name, report);
    closedir(dir);
}

// What the files of the folder are, without reading them: names, and the inode, size and time behind each. Links are
// followed, so the swap of a ConfigMap mount's "..data" changes it.
uint64_t prg_policy_folder_stamp(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    uint64_t digest = dir != NULL;
    while (dir && (entry = readdir(dir))) {
        struct stat st;
        if (entry->d_name[0] == '.' || fstatat(dirfd(dir), entry->d_name, &st, 0) != 0)
            continue;
        uint64_t one = prg_digest_text(PRG_DIGEST_START, entry->d_name, strlen(entry->d_name));
        one = prg_digest_number(prg_digest_number(one, (uint64_t)st.st_dev), (uint64_t)st.st_ino);
        one = prg_digest_number(one, (uint64_t)st.st_size);
        one = prg_digest_number(prg_digest_number(one, (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec);
        digest += one; // a sum: whatever the order of the entries
    }
    if (dir)
        closedir(dir);
    return digest;
}

static void keep_report(const char *text, void *ctx)
{
    prg_vec_push(ctx, prg_xstrdup(text));
}

static void forget_reports(struct prg_vec *reports)
{
    for (size_t i = 0; i < reports->count; i++)
        free(reports->items[i]);
    reports->count = 0;
}

static int compare_texts(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct prg_policy_text *)a)->name, ((const struct prg_policy_text *)b)->name);
}

// Files of two states of the folder never make one set: what changed while it was read is read again.
void prg_set_read_folder(struct prg_arena *arena, const char *path, struct prg_vec *texts, struct prg_report *report)
{
    struct folder folder = {.arena = arena, .path = path, .texts = texts};
    struct prg_vec reports;
    bool is_whole = false;
    prg_vec_init(&reports);
    for (int attempt = 0; attempt < READ_ATTEMPTS && !is_whole; attempt++) {
        struct prg_report own = {.visit = keep_report, .ctx = &reports};
        uint64_t before = prg_policy_folder_stamp(path);
        forget_reports(&reports);
        texts->count = folder.count = 0;
        read_files(&folder, &own);
        is_whole = prg_policy_folder_stamp(path) == before;
    }
    for (size_t i = 0; i < reports.count; i++)
        prg_report_add(report, "%s", (const char *)reports.items[i]);
    if (!is_whole)
        prg_report_add(report, "%s: its files keep changing while they are read", path);
    forget_reports(&reports);
    prg_vec_release(&reports);
    prg_vec_sort(texts, compare_texts, NULL);
}
