// SPDX-License-Identifier: Apache-2.0
// folder.c: the files of a set: what loading says of them, and what their texts show.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "check/check.h"
#include "check/lines.h"

enum { FILE_BYTES = 256 << 10 };

struct file {
    const char *path, *text; // text NULL: it cannot be read
    size_t length;
    bool is_lua, is_spec, is_broken; // broken: loading has said so
    bool is_known;                   // it decides, or was shipped
    struct prg_check_lines lines;
};

struct checking {
    struct prg_arena arena;
    struct prg_vec files;    // struct file *
    const struct file *file; // whose text is looked at
    prg_check_visit_fn visit;
    void *ctx;
    struct prg_check_counts *counts;
};

static void report(struct checking *c, const struct prg_check_finding *finding)
{
    if (finding->is_warning)
        c->counts->warnings++;
    else
        c->counts->errors++;
    c->visit(finding, c->ctx);
}

// The contract of a file that does not load has been spoken of.
static void on_text_finding(const struct prg_check_finding *finding, void *ctx)
{
    struct checking *c = ctx;
    if (!c->file->is_broken || strcmp(finding->rule, "contract") != 0)
        report(c, finding);
}

// ---- files ----

static struct file *read_file(struct checking *c, const char *path)
{
    struct file *file = prg_arena_new(&c->arena, struct file);
    struct prg_error ignored = {0};
    file->path = path;
    file->is_lua = prg_text_has_suffix(path, ".lua");
    file->is_spec = prg_text_has_suffix(path, "_spec.lua");
    if (prg_policy_read_file(&c->arena, path, FILE_BYTES, &file->text, &file->length, &ignored) != PRG_OK)
        file->text = NULL; // loading says why
    return file;
}

static int compare_files(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static int read_folder(struct checking *c, const char *folder, struct prg_error *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    if (!dir)
        return prg_fail(err, PRG_IO, "%s: %s", folder, strerror(errno));
    while ((entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (name[0] == '.' || !(prg_text_has_suffix(name, ".lua") || strcmp(name, "policies.yaml") == 0))
            continue;
        const char *slash = prg_text_has_suffix(folder, "/") ? "" : "/";
        prg_vec_push(&c->files, read_file(c, prg_arena_printf(&c->arena, "%s%s%s", folder, slash, name)));
    }
    closedir(dir);
    prg_vec_sort(&c->files, compare_files, NULL);
    if (c->files.count == 0)
        return prg_fail(err, PRG_INVALID, "%s: no policies in it (files end in .lua)", folder);
    return PRG_OK;
}

static void take_texts(struct checking *c, const struct prg_vec *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        const struct prg_policy_text *text = texts->items[i];
        struct file *file = prg_arena_new(&c->arena, struct file);
        *file = (struct file){.path = text->path,
                              .text = text->text,
                              .length = text->length,
                              .is_lua = prg_text_has_suffix(text->name, ".lua"),
                              .is_spec = prg_text_has_suffix(text->name, "_spec.lua")};
        prg_vec_push(&c->files, file);
    }
}

static struct file *find_file(const struct checking *c, const char *path, size_t length)
{
    for (size_t i = 0; i < c->files.count; i++) {
        struct file *file = c->files.items[i];
        if (strlen(file->path) == length && memcmp(file->path, path, length) == 0)
            return file;
    }
    return NULL;
}

static const char *line_of(struct checking *c, struct file *file, unsigned line)
{
    file->lines.text = file->text;
    file->lines.length = file->length;
    return prg_check_line(&file->lines, &c->arena, line);
}

// ---- what loading says ----

// Reads ":LINE" or ":LINE:COLUMN" and the ": " behind it. The text behind, or NULL.
static const char *read_place(const char *at, unsigned *line, unsigned *column)
{
    char *end;
    *line = *column = 0;
    if (*at != ':')
        return NULL;
    unsigned long number = strtoul(at + 1, &end, 10);
    if (end == at + 1)
        return at[1] == ' ' ? at + 2 : NULL;
    *line = (unsigned)number;
    if (end[0] == ':' && end[1] >= '0' && end[1] <= '9') {
        *column = (unsigned)strtoul(end + 1, &end, 10);
        return end[0] == ':' && end[1] == ' ' ? end + 2 : end;
    }
    return end[0] == ':' && end[1] == ' ' ? end + 2 : end;
}

// Characters of the word at a column of a line, at least 1.
static unsigned word_width(const char *line, unsigned column)
{
    unsigned width = 0;
    for (unsigned n = 1; line && *line && n < column; line++)
        n += ((unsigned char)line[1] & 0xc0) != 0x80;
    while (line && (line[width] == '_' || (line[width] >= '0' && line[width] <= '9') ||
                    ((line[width] | 0x20) >= 'a' && (line[width] | 0x20) <= 'z')))
        width++;
    return width ? width : 1;
}

static void on_load_error(const char *text, void *ctx)
{
    struct checking *c = ctx;
    struct prg_check_finding finding = {.file = "", .message = text, .rule = "contract"};
    struct file *found = NULL;
    for (const char *colon = strchr(text, ':'); colon && !found; colon = strchr(colon + 1, ':')) {
        found = find_file(c, text, (size_t)(colon - text));
        const char *message = found ? read_place(colon, &finding.line, &finding.column) : NULL;
        if (!found)
            continue;
        found->is_broken = true;
        finding.file = found->path;
        finding.source = line_of(c, found, finding.line);
        finding.message = message ? message : text;
        finding.width = finding.column && finding.source ? word_width(finding.source, finding.column) : 0;
        if (strstr(finding.message, " near ") || strstr(finding.message, " expected"))
            finding.rule = "syntax";
    }
    report(c, &finding);
}

static void check_texts(struct checking *c)
{
    for (size_t i = 0; i < c->files.count; i++) {
        const struct file *file = c->files.items[i];
        c->counts->files++;
        c->file = file;
        if (file->is_lua && file->text)
            prg_check_text(file->path, file->text, file->length, file->is_spec ? PRG_CHECK_SPEC : PRG_CHECK_POLICY,
                           on_text_finding, c);
    }
}

static void note_asked(const char *policy, const char *path, bool shipped, void *ctx)
{
    struct file *file = shipped ? NULL : find_file(ctx, path, strlen(path));
    (void)policy;
    if (file)
        file->is_known = true;
}

// The shipped files may lie in a set unasked: alternatives, which use switches to.
static void note_shipped(const char *name, const char *text, size_t length, void *ctx)
{
    struct checking *c = ctx;
    size_t count = strlen(name);
    (void)text;
    (void)length;
    for (size_t i = 0; i < c->files.count; i++) {
        struct file *file = c->files.items[i];
        size_t whole = strlen(file->path), at = whole - strlen(".lua") - count;
        if (file->is_lua && whole > count + strlen(".lua") && strchr("/:", file->path[at - 1]) &&
            strncmp(file->path + at, name, count) == 0)
            file->is_known = true;
    }
}

// A file with a mistake in its name loads, and then nobody asks it.
static void check_names(struct checking *c, const struct prg_policy_set *set)
{
    prg_policy_set_each_file(set, note_asked, c);
    prg_policy_each_shipped(note_shipped, c);
    for (size_t i = 0; i < c->files.count; i++) {
        const struct file *file = c->files.items[i];
        struct prg_check_finding finding = {
            .file = file->path,
            .rule = "unused-file",
            .is_warning = true,
            .message = "decides nothing: no policy has this name, and no use in policies.yaml names it"};
        if (file->is_lua && !file->is_spec && !file->is_known)
            report(c, &finding);
    }
}

int prg_check_set(const char *folder, const struct prg_vec *texts, const struct prg_policy_limits *limits,
                  prg_check_visit_fn visit, void *ctx, struct prg_check_counts *ret_counts,
                  struct prg_policy_set **ret_set, struct prg_error *err)
{
    struct prg_check_counts counts = {0};
    struct checking c = {.visit = visit, .ctx = ctx, .counts = &counts};
    struct prg_policy_set *set = NULL;
    struct prg_policy_options options = {
        .folder = folder, .texts = folder ? NULL : texts, .limits = *limits, .without_specs = true};
    struct prg_error ignored = {0};
    int rc = PRG_OK;
    options.report = on_load_error;
    options.report_ctx = &c;
    prg_arena_init(&c.arena);
    prg_vec_init(&c.files);
    if (folder)
        rc = read_folder(&c, folder, err);
    else
        take_texts(&c, texts);
    if (rc == PRG_OK) {
        bool is_good = prg_policy_set_load(&options, &set, &ignored) == PRG_OK;
        prg_require(is_good || counts.errors > 0);
        check_texts(&c);
        if (is_good)
            check_names(&c, set);
        *ret_counts = counts;
        *ret_set = set;
    }
    prg_vec_release(&c.files);
    prg_arena_release(&c.arena);
    return rc;
}
