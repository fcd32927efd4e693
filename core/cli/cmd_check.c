// SPDX-License-Identifier: Apache-2.0
// cmd_check.c: `perigee check`: everything that is wrong with a policy set, before it decides anything.
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "cli/commands.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_GITHUB };

struct checking {
    enum format format;
    struct prg_arena arena;
    cJSON *findings; // for json
    size_t refused;  // entries of a ConfigMap
    struct prg_strbuf out;
};

// ---- text ----

static unsigned characters(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

// The line, and a caret below the column; tabs stay tabs, so that the caret stands where it should.
static void print_source(struct prg_strbuf *out, const struct prg_check_finding *finding)
{
    unsigned column = 1, last = finding->source ? characters(finding->source) : 0;
    if (!finding->source || !finding->column || finding->column > last + 1)
        return;
    prg_strbuf_printf(out, "  %s\n  ", finding->source);
    for (const char *at = finding->source; *at && column < finding->column; at++) {
        if (((unsigned char)*at & 0xc0) == 0x80)
            continue;
        prg_strbuf_putc(out, *at == '\t' ? '\t' : ' ');
        column++;
    }
    prg_strbuf_putc(out, '^');
    for (unsigned i = 1; i < finding->width && finding->column + i <= last; i++)
        prg_strbuf_putc(out, '~');
    prg_strbuf_putc(out, '\n');
}

static void print_text(struct prg_strbuf *out, const struct prg_check_finding *finding)
{
    if (finding->file[0])
        prg_strbuf_puts(out, finding->file);
    if (finding->line)
        prg_strbuf_printf(out, ":%u", finding->line);
    if (finding->column)
        prg_strbuf_printf(out, ":%u", finding->column);
    prg_strbuf_printf(out, "%s%s: %s [%s]\n", finding->file[0] ? ": " : "", finding->is_warning ? "warning" : "error",
                      finding->message, finding->rule);
    print_source(out, finding);
}

// ---- github: workflow commands, which become notes at the lines of a change ----

static void print_escaped(struct prg_strbuf *out, const char *text, bool is_property)
{
    for (; *text; text++) {
        if (*text == '%' || *text == '\r' || *text == '\n' || (is_property && (*text == ':' || *text == ',')))
            prg_strbuf_printf(out, "%%%02X", (unsigned char)*text);
        else
            prg_strbuf_putc(out, *text);
    }
}

static void print_github(struct prg_strbuf *out, const struct prg_check_finding *finding)
{
    prg_strbuf_printf(out, "::%s file=", finding->is_warning ? "warning" : "error");
    print_escaped(out, finding->file, true);
    if (finding->line)
        prg_strbuf_printf(out, ",line=%u", finding->line);
    if (finding->column)
        prg_strbuf_printf(out, ",col=%u", finding->column);
    if (finding->column && finding->width)
        prg_strbuf_printf(out, ",endColumn=%u", finding->column + finding->width);
    prg_strbuf_puts(out, ",title=");
    print_escaped(out, finding->rule, true);
    prg_strbuf_puts(out, "::");
    print_escaped(out, finding->message, false);
    prg_strbuf_putc(out, '\n');
}

// ---- json ----

static void keep_json(struct checking *checking, const struct prg_check_finding *finding)
{
    struct prg_arena *arena = &checking->arena;
    cJSON *object = prg_json_object(arena);
    prg_json_set_string(arena, object, "file", finding->file);
    if (finding->line)
        prg_json_set_int(arena, object, "line", finding->line);
    if (finding->column)
        prg_json_set_int(arena, object, "column", finding->column);
    if (finding->column && finding->width)
        prg_json_set_int(arena, object, "endColumn", (int64_t)finding->column + finding->width);
    prg_json_set_string(arena, object, "severity", finding->is_warning ? "warning" : "error");
    prg_json_set_string(arena, object, "rule", finding->rule);
    prg_json_set_string(arena, object, "message", finding->message);
    prg_json_append(checking->findings, object);
}

static void on_finding(const struct prg_check_finding *finding, void *ctx)
{
    struct checking *checking = ctx;
    if (checking->format == FORMAT_JSON)
        keep_json(checking, finding);
    else if (checking->format == FORMAT_GITHUB)
        print_github(&checking->out, finding);
    else
        print_text(&checking->out, finding);
}

static void print_end(struct checking *checking, const char *name, const struct prg_check_counts *counts)
{
    struct prg_arena *arena = &checking->arena;
    if (checking->format == FORMAT_JSON) {
        cJSON *object = prg_json_object(arena);
        prg_json_set(arena, object, "findings", checking->findings);
        prg_json_set_int(arena, object, "files", (int64_t)counts->files);
        prg_json_set_int(arena, object, "errors", (int64_t)counts->errors);
        prg_json_set_int(arena, object, "warnings", (int64_t)counts->warnings);
        prg_json_print(&checking->out, object, PRG_JSON_PRETTY);
        prg_strbuf_putc(&checking->out, '\n');
    } else if (checking->format == FORMAT_TEXT) {
        prg_strbuf_printf(&checking->out, "%s: %zu %s checked, %zu %s, %zu %s\n", name, counts->files,
                          prg_plural((int64_t)counts->files, "file", "files"), counts->errors,
                          prg_plural((int64_t)counts->errors, "error", "errors"), counts->warnings,
                          prg_plural((int64_t)counts->warnings, "warning", "warnings"));
    }
}

// ---- the command ----

static void print_global(const char *name, void *ctx)
{
    prg_strbuf_printf(ctx, "%s\n", name);
}

static int print_globals(void)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_policy_each_global(print_global, &out);
    prg_cli_write(&out);
    return PRG_EXIT_DONE;
}

static enum format format_of(const char *text)
{
    return !text || strcmp(text, "text") == 0 ? FORMAT_TEXT : strcmp(text, "json") == 0 ? FORMAT_JSON : FORMAT_GITHUB;
}

// An entry of a ConfigMap that is no file of a set.
static void on_refusal(const char *text, void *ctx)
{
    struct checking *checking = ctx;
    struct prg_check_finding finding = {.file = "", .message = text, .rule = "contract"};
    checking->refused++;
    on_finding(&finding, checking);
}

static int check_texts(struct checking *checking, const struct prg_cli_options *options, const char *name,
                       const struct prg_store *store, const struct prg_settings *settings,
                       struct prg_check_counts *ret_counts, struct prg_policy_set **ret_set, struct prg_error *err)
{
    struct prg_cli_set set;
    int rc = prg_cli_set_read(options, name, store, &checking->arena, &set, on_refusal, checking, err);
    if (rc == PRG_OK || checking->refused)
        rc = prg_check_set(set.folder, &set.texts, &settings->limits, on_finding, checking, ret_counts, ret_set, err);
    ret_counts->errors += checking->refused;
    prg_vec_release(&set.texts);
    return rc;
}

static int check_set(struct checking *checking, const struct prg_cli_options *options, const char *name,
                     const struct prg_settings *settings, bool *ret_failed, struct prg_error *err)
{
    struct prg_check_counts counts = {0};
    struct prg_policy_set *set = NULL;
    struct prg_store *store = NULL;
    int rc = PRG_OK;
    if (!prg_source_is_cluster(options) || options->kubeconfig || options->context)
        rc = prg_source_open(options, &checking->arena, &store, err);
    if (rc == PRG_OK)
        rc = check_texts(checking, options, name, store, settings, &counts, &set, err);
    if (rc == PRG_OK && set && !checking->refused) {
        struct prg_check_samples samples = {.objects = store ? &store->reader : NULL,
                                            .compat = settings->compat,
                                            .config_namespace = settings->config_namespace};
        rc = prg_check_answers(set, &samples, on_finding, checking, &counts, err);
    }
    if (rc == PRG_OK) {
        print_end(checking, name, &counts);
        prg_cli_write(&checking->out);
        *ret_failed = counts.errors > 0;
    }
    prg_policy_set_unref(set);
    prg_store_free(store);
    return rc;
}

static int run(struct prg_cli_options *options)
{
    struct checking checking = {.format = format_of(options->output), .out = PRG_STRBUF_INIT};
    struct prg_settings settings;
    struct prg_error err = {0};
    bool failed = false;
    if (options->globals)
        return print_globals();
    if (options->arg_count > 1) {
        fprintf(stderr, "error: perigee check: one set at a time; see perigee check --help\n");
        return PRG_EXIT_TROUBLE;
    }
    prg_arena_init(&checking.arena);
    checking.findings = prg_json_array(&checking.arena);
    int rc = prg_settings_load(options, &settings, &err);
    const char *name = options->arg_count ? options->args[0] : rc == PRG_OK ? settings.policies : NULL;
    if (rc == PRG_OK)
        rc = check_set(&checking, options, name ? name : ".", &settings, &failed, &err);
    prg_strbuf_release(&checking.out);
    prg_arena_release(&checking.arena);
    prg_arena_release(&settings.arena);
    if (rc != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    return failed ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
}

static const struct prg_option options[] = {
    {"globals", 0, PRG_OPTION_FLAG, PRG_AT(globals), NULL, "print the names that policies can use, and nothing else",
     NULL},
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT", "text (default), json, or github (notes at the lines)",
     "text|json|github"},
    PRG_OPTIONS_SOURCE,
    PRG_OPTIONS_POLICY,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_check = {
    .name = "check",
    .summary = "Find mistakes in a policy set without running it on a cluster",
    .usage = "check [SET] [-f FILE…] [-o text|json|github] | check --globals",
    .text = "Checked are syntax, contracts, settings, names, fields of objects and calls, then the answers on sample\n"
            "objects, or on those of -f or --store: the same question has the same answer, in whatever order objects\n"
            "come; `before` is an order; patches are fixed points. SET is a folder, configmap:NAMESPACE/NAME, or a "
            "file with\n"
            "the manifest of such a ConfigMap; without it that of --policies, else this folder.\n"
            "Exit status: 0 nothing wrong, 1 errors were found, 2 the set cannot be read.\n",
    .options = options,
    .run = run,
};
