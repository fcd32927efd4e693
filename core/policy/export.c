// SPDX-License-Identifier: Apache-2.0
// export.c: writing the shipped policies out for editing.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/builtin.h"
#include "policy/policy.h"

void prg_policy_each_shipped(void (*visit)(const char *name, const char *text, size_t length, void *ctx), void *ctx)
{
    for (size_t i = 0; i < prg_builtin_policy_count; i++)
        visit(prg_builtin_policies[i].name, prg_builtin_policies[i].text, prg_builtin_policies[i].length, ctx);
}

static void visit_library(const char *folder, const struct prg_builtin *files, size_t count,
                          void (*visit)(const char *path, const char *text, size_t length, void *ctx), void *ctx)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        prg_strbuf_clear(&path);
        prg_strbuf_printf(&path, "%s/%s.lua", folder, files[i].name);
        visit(path.text, files[i].text, files[i].length, ctx);
    }
}

void prg_policy_each_library(void (*visit)(const char *path, const char *text, size_t length, void *ctx), void *ctx)
{
    visit_library("meta", prg_builtin_metas, prg_builtin_meta_count, visit, ctx);
    visit_library("perigee", prg_builtin_modules, prg_builtin_module_count, visit, ctx);
}

enum standing { STANDING_ABSENT, STANDING_SAME, STANDING_DIFFERENT };

static int compare_with_file(const char *path, const struct prg_builtin *policy, enum standing *ret,
                             struct prg_error *err)
{
    FILE *file = fopen(path, "rb");
    char chunk[4096];
    size_t at = 0, n;
    *ret = STANDING_ABSENT;
    if (!file && errno == ENOENT)
        return PRG_OK;
    if (!file)
        return prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    *ret = STANDING_SAME;
    while (*ret == STANDING_SAME && (n = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        if (n > policy->length - at || memcmp(chunk, policy->text + at, n) != 0)
            *ret = STANDING_DIFFERENT;
        else
            at += n;
    }
    if (*ret == STANDING_SAME && at != policy->length)
        *ret = STANDING_DIFFERENT;
    bool failed = ferror(file) != 0;
    fclose(file);
    return failed ? prg_fail(err, PRG_IO, "%s: it cannot be read", path) : PRG_OK;
}

// Writes beside the file and renames, so that a controller that watches the folder never sees half a policy.
static int write_file(const char *path, const struct prg_builtin *policy, struct prg_error *err)
{
    prg_auto_strbuf draft = PRG_STRBUF_INIT;
    prg_strbuf_printf(&draft, "%s.new", path);
    FILE *file = fopen(draft.text, "wb");
    if (!file)
        return prg_fail(err, PRG_IO, "%s: %s", draft.text, strerror(errno));
    bool good = fwrite(policy->text, 1, policy->length, file) == policy->length;
    int saved = errno;
    if (fclose(file) != 0 && good) { // what is buffered gets to the disk here
        saved = errno;
        good = false;
    }
    if (good && rename(draft.text, path) == 0)
        return PRG_OK;
    if (good)
        saved = errno;
    remove(draft.text);
    return prg_fail(err, PRG_IO, "%s: %s", path, strerror(saved));
}

int prg_policy_export(const char *folder, bool force, struct prg_error *err)
{
    prg_auto_strbuf path = PRG_STRBUF_INIT;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return prg_fail(err, PRG_IO, "%s: %s", folder, strerror(errno));
    for (int pass = force ? 1 : 0; pass < 2; pass++) { // look at all of them before the first is written
        for (size_t i = 0; i < prg_builtin_policy_count; i++) {
            const struct prg_builtin *policy = &prg_builtin_policies[i];
            enum standing standing = STANDING_ABSENT;
            prg_strbuf_clear(&path);
            prg_strbuf_printf(&path, "%s/%s.lua", folder, policy->name);
            int rc = compare_with_file(path.text, policy, &standing, err);
            if (rc == PRG_OK && pass == 0 && standing == STANDING_DIFFERENT)
                return prg_fail(err, PRG_CONFLICT, "%s: it differs from the shipped one; --force overwrites it",
                                path.text);
            if (rc == PRG_OK && pass == 1 && standing != STANDING_SAME)
                rc = write_file(path.text, policy, err);
            if (rc != PRG_OK)
                return rc;
        }
    }
    return PRG_OK;
}
