// SPDX-License-Identifier: Apache-2.0
// set.c: loading a policy set: the shipped files, and over them those of a folder.
//
// A folder is flat, since the keys of a ConfigMap are file names: NAME.lua decides for the policy NAME (or for the one
// that `use` in policies.yaml gives it), NAME_spec.lua is its spec, names that begin with a dot are not looked at.
#include "policy/set.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "policy/builtin.h"
#include "policy/sandbox.h"
#include "policy/spec.h"

enum { MANIFEST_BYTES = 256 << 10, FOLDER_FILES = 256, READ_ATTEMPTS = 5 };

// ---- digests ----

static uint64_t add_digest(uint64_t digest, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ p[i]) * UINT64_C(0x100000001b3); // FNV-1a
    return digest;
}

static uint64_t add_number(uint64_t digest, uint64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    return add_digest(digest, bytes, sizeof(bytes));
}

// The length goes first, so that moving bytes from one text to the next changes the digest.
static uint64_t add_text(uint64_t digest, const char *text, size_t length)
{
    return add_digest(add_number(digest, length), text, length);
}

// ---- reading a folder ----

struct folder {
    struct prg_arena *arena;
    const char *path;
    struct prg_vec sources; // struct prg_source *, *.lua without specs, by name
    struct prg_vec specs;   // struct prg_source *, *_spec.lua, by name
    size_t count;           // of *.lua seen
    struct prg_set_manifest manifest;
};

static int compare_sources(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct prg_source *)a)->path, ((const struct prg_source *)b)->path);
}

// The text of a file of at most `most` bytes; NULL with a report.
static const char *read_file(struct prg_arena *arena, const char *path, size_t most, size_t *ret_length,
                             struct prg_report *report)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    if (!file || fstat(fileno(file), &st) != 0) {
        prg_report_add(report, "%s: %s", path, strerror(errno));
        if (file)
            fclose(file);
        return NULL;
    }
    char *text = NULL;
    if (S_ISREG(st.st_mode) && (uintmax_t)st.st_size <= most) {
        text = prg_arena_alloc(arena, most + 2);
        *ret_length = fread(text, 1, most + 1, file);
        if (ferror(file) || *ret_length > most)
            text = NULL;
        else
            text[*ret_length] = '\0';
    }
    fclose(file);
    if (!text)
        prg_report_add(report, "%s: not a file of at most %zu bytes", path, most);
    return text;
}

static void read_source(struct folder *folder, const char *path, struct prg_vec *into, struct prg_report *report)
{
    struct prg_arena scratch;
    struct prg_source *source = prg_arena_new(folder->arena, struct prg_source);
    prg_arena_init(&scratch);
    const char *text = read_file(&scratch, path, PRG_SOURCE_BYTES, &source->length, report);
    if (text) {
        source->path = path;
        source->text = prg_arena_strndup(folder->arena, text, source->length);
        prg_vec_push(into, source);
    }
    prg_arena_release(&scratch);
}

static void read_entry(struct folder *folder, const char *name, struct prg_report *report)
{
    const char *path = prg_arena_printf(folder->arena, "%s%s%s", folder->path,
                                        prg_text_has_suffix(folder->path, "/") ? "" : "/", name);
    size_t length;
    if (strcmp(name, "policies.yaml") == 0) {
        const char *text = read_file(folder->arena, path, MANIFEST_BYTES, &length, report);
        if (text)
            prg_set_manifest_read(folder->arena, path, text, length, &folder->manifest, report);
    } else if (prg_text_has_suffix(name, ".lua")) {
        bool is_spec = prg_text_has_suffix(name, "_spec.lua");
        if (folder->count++ < FOLDER_FILES)
            read_source(folder, path, is_spec ? &folder->specs : &folder->sources, report);
        else if (folder->count == FOLDER_FILES + 1)
            prg_report_add(report, "%s: more than %d Lua files", folder->path, FOLDER_FILES);
    }
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
        uint64_t one = add_text(UINT64_C(0xcbf29ce484222325), entry->d_name, strlen(entry->d_name));
        one = add_number(add_number(one, (uint64_t)st.st_dev), (uint64_t)st.st_ino);
        one = add_number(one, (uint64_t)st.st_size);
        one = add_number(add_number(one, (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec);
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

// Files of two states of the folder never make one set: what changed while it was read is read again.
static void read_folder(struct folder *folder, struct prg_report *report)
{
    struct prg_vec reports;
    bool is_whole = false;
    prg_vec_init(&reports);
    for (int attempt = 0; attempt < READ_ATTEMPTS && !is_whole; attempt++) {
        struct prg_report own = {.visit = keep_report, .ctx = &reports};
        uint64_t before = prg_policy_folder_stamp(folder->path);
        forget_reports(&reports);
        folder->sources.count = folder->specs.count = folder->count = 0;
        folder->manifest = (struct prg_set_manifest){0};
        read_files(folder, &own);
        is_whole = prg_policy_folder_stamp(folder->path) == before;
    }
    for (size_t i = 0; i < reports.count; i++)
        prg_report_add(report, "%s", (const char *)reports.items[i]);
    if (!is_whole)
        prg_report_add(report, "%s: its files keep changing while they are read", folder->path);
    forget_reports(&reports);
    prg_vec_release(&reports);
    prg_vec_sort(&folder->sources, compare_sources, NULL);
    prg_vec_sort(&folder->specs, compare_sources, NULL);
}

// "image" of "DIR/image.lua".
static const char *name_of(struct prg_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return prg_arena_strndup(arena, name, strlen(name) - strlen(".lua"));
}

// ---- loading ----

// A built-in file as layer `layer` of its policy.
static void load_builtin(struct prg_policy_set *set, const struct prg_builtin *builtin,
                         const struct prg_contract *contract, int layer, const struct prg_policy_limits *limits,
                         const struct prg_set_manifest *manifest, struct prg_report *report)
{
    struct prg_source source = {.path = prg_arena_printf(&set->arena, "shipped/%s.lua", builtin->name),
                                .text = builtin->text,
                                .length = builtin->length};
    struct prg_policy_limits own = prg_set_manifest_limits(manifest, contract, limits, report);
    struct prg_policy_file *file = prg_policy_file_load(&set->arena, builtin->name, &source, contract, &own, report);
    if (!file)
        return;
    file->is_shipped = true;
    set->files[file->contract - prg_contracts][layer] = file;
}

// Built-in files that are not named after a policy are alternatives: `use` switches to them.
static void load_shipped(struct prg_policy_set *set, const struct prg_policy_limits *limits,
                         const struct prg_set_manifest *manifest, struct prg_report *report)
{
    for (size_t i = 0; i < prg_builtin_policy_count; i++) {
        const struct prg_contract *contract = prg_contract_by_name(prg_builtin_policies[i].name);
        if (contract)
            load_builtin(set, &prg_builtin_policies[i], contract, 1, limits, manifest, report);
    }
}

static const struct prg_builtin *builtin_by_name(const char *name)
{
    for (size_t i = 0; i < prg_builtin_policy_count; i++)
        if (strcmp(prg_builtin_policies[i].name, name) == 0)
            return &prg_builtin_policies[i];
    return NULL;
}

// The policy that decides with the file `name`: by `use`, else by its own name unless another file is used for that.
static const struct prg_contract *policy_of(const struct prg_set_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        if (manifest->use[i] && strcmp(manifest->use[i], name) == 0)
            return &prg_contracts[i];
    const struct prg_contract *contract = prg_contract_by_name(name);
    return contract && !manifest->use[contract - prg_contracts] ? contract : NULL;
}

static void load_overlay(struct prg_policy_set *set, const struct folder *folder,
                         const struct prg_policy_limits *limits, struct prg_report *report)
{
    bool is_found[PRG_POLICY_COUNT] = {false};
    set->sources = prg_arena_array(&set->arena, struct prg_set_source, folder->sources.count + 1);
    for (size_t i = 0; i < folder->sources.count; i++) {
        const struct prg_source *source = folder->sources.items[i];
        const char *name = name_of(&set->arena, source->path);
        const struct prg_contract *contract = policy_of(&folder->manifest, name);
        struct prg_report ignored = {0};
        struct prg_policy_limits own = prg_set_manifest_limits(&folder->manifest, contract, limits, &ignored);
        if (contract)
            is_found[contract - prg_contracts] = true;
        struct prg_policy_file *file = prg_policy_file_load(&set->arena, name, source, contract, &own, report);
        if (!file)
            continue;
        set->sources[set->source_count++] =
            (struct prg_set_source){.name = name, .source = *source, .options = file->options};
        if (contract)
            set->files[contract - prg_contracts][0] = file;
        else // checked, so that `use` can switch to it, but nobody asks it
            prg_policy_file_free(file);
    }
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++) {
        const struct prg_builtin *builtin = NULL;
        if (!folder->manifest.use[i] || is_found[i])
            continue;
        builtin = builtin_by_name(folder->manifest.use[i]);
        if (builtin)
            load_builtin(set, builtin, &prg_contracts[i], 0, limits, &folder->manifest, report);
        else
            prg_report_add(report, "%s: use of %s: there is no %s.lua in the set, nor among the shipped ones",
                           folder->manifest.path, prg_contracts[i].name, folder->manifest.use[i]);
    }
}

// ---- revision ----

static void make_revision(struct prg_policy_set *set)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++) {
        for (size_t layer = 0; layer < PRG_SET_LAYERS; layer++) {
            const struct prg_policy_file *file = set->files[i][layer];
            prg_auto_strbuf options = PRG_STRBUF_INIT;
            if (!file)
                continue;
            prg_json_print(&options, file->options, PRG_JSON_SORTED);
            digest = add_text(digest, prg_contracts[i].name, strlen(prg_contracts[i].name));
            digest = add_text(digest, file->source.text, file->source.length);
            digest = add_text(digest, options.text, options.length);
        }
    }
    snprintf(set->revision, sizeof(set->revision), "%016" PRIx64, digest);
}

// ---- the set ----

static void keep_specs(struct prg_policy_set *set, const struct folder *folder)
{
    const struct prg_source **specs = prg_arena_array(&set->arena, const struct prg_source *, folder->specs.count + 1);
    for (size_t i = 0; i < folder->specs.count; i++)
        specs[i] = folder->specs.items[i];
    set->specs = specs;
    set->spec_count = folder->specs.count;
}

static int report_to_error(const struct prg_report *report, struct prg_error *err)
{
    prg_fail(err, PRG_INVALID, "%s", report->first);
    if (report->count > 1)
        prg_wrap(err, "%zu errors, the first", report->count);
    return prg_wrap(err, "policies");
}

int prg_policy_set_load(const struct prg_policy_options *options, struct prg_policy_set **ret, struct prg_error *err)
{
    struct prg_policy_set *set = prg_xcalloc(1, sizeof(*set));
    struct prg_report report = {.visit = options->report, .ctx = options->report_ctx};
    struct folder folder = {.arena = &set->arena, .path = options->folder};
    set->refs = 1;
    prg_arena_init(&set->arena);
    prg_vec_init(&folder.sources);
    prg_vec_init(&folder.specs);
    if (folder.path)
        read_folder(&folder, &report);
    load_shipped(set, &options->limits, &folder.manifest, &report);
    load_overlay(set, &folder, &options->limits, &report);
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        prg_set_manifest_apply_options(&set->arena, &folder.manifest, &prg_contracts[i], set->files[i], &report);
    keep_specs(set, &folder);
    prg_vec_release(&folder.sources);
    prg_vec_release(&folder.specs);
    if (!report.count && !options->without_specs)
        prg_spec_gate(set, folder.path, &options->limits, &report);
    if (report.count) {
        prg_policy_set_unref(set);
        return report_to_error(&report, err);
    }
    make_revision(set);
    prg_set_fill_decider(set);
    *ret = set;
    return PRG_OK;
}

struct prg_policy_set *prg_policy_set_ref(struct prg_policy_set *set)
{
    set->refs++;
    return set;
}

void prg_policy_set_unref(struct prg_policy_set *set)
{
    if (!set || --set->refs)
        return;
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        for (size_t layer = 0; layer < PRG_SET_LAYERS; layer++)
            prg_policy_file_free(set->files[i][layer]);
    prg_arena_release(&set->arena);
    free(set);
}

const struct prg_decider *prg_policy_set_decider(struct prg_policy_set *set)
{
    return &set->decider;
}

const char *prg_policy_set_revision(const struct prg_policy_set *set)
{
    return set->revision;
}

void prg_policy_set_each_file(const struct prg_policy_set *set,
                              void (*visit)(const char *policy, const char *file, bool shipped, void *ctx), void *ctx)
{
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        for (size_t layer = 0; layer < PRG_SET_LAYERS; layer++)
            if (set->files[i][layer])
                visit(prg_contracts[i].name, set->files[i][layer]->source.path, set->files[i][layer]->is_shipped, ctx);
}

void prg_policy_each_global(void (*visit)(const char *name, void *ctx), void *ctx)
{
    prg_sandbox_each_global(visit, ctx);
}
