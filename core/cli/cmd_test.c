// SPDX-License-Identifier: Apache-2.0
// cmd_test.c: `perigee test`: the specs of a folder in the policies' sandbox; plain, TAP and JUnit output, coverage by
// line.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

struct kept { // a result, copied
    const char *file, *name, *message, *detail, *printed;
    int line;
    enum prg_spec_outcome outcome;
    int64_t duration_ns;
};

struct testing {
    struct prg_arena arena;
    const struct prg_cli_options *options;
    struct prg_vec results; // struct kept *
    size_t counts[PRG_SPEC_ERROR + 1];
};

static const char *copy(struct testing *testing, const char *text)
{
    return text ? prg_arena_strdup(&testing->arena, text) : NULL;
}

static void on_result(const struct prg_spec_result *result, void *ctx)
{
    struct testing *testing = ctx;
    struct kept *kept = prg_arena_new(&testing->arena, struct kept);
    *kept = (struct kept){.file = copy(testing, result->file),
                          .name = copy(testing, result->name),
                          .message = copy(testing, result->message),
                          .detail = copy(testing, result->detail),
                          .printed = copy(testing, result->printed),
                          .line = result->line,
                          .outcome = result->outcome,
                          .duration_ns = result->duration_ns};
    prg_vec_push(&testing->results, kept);
    testing->counts[result->outcome]++;
}

static bool is_bad(const struct kept *kept)
{
    return kept->outcome == PRG_SPEC_FAILED || kept->outcome == PRG_SPEC_ERROR;
}

// Adds text with every line behind indent.
static void add_lines(struct prg_strbuf *out, const char *indent, const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        prg_strbuf_puts(out, indent);
        prg_strbuf_add(out, text, length);
        prg_strbuf_putc(out, '\n');
        text += length + (text[length] == '\n');
    }
}

// ---- plain ----

static const char *const outcome_names[] = {"passed", "pending", "failed", "error"};

static void print_plain(struct testing *testing, struct prg_strbuf *out)
{
    const char *file = "";
    for (size_t i = 0; i < testing->results.count; i++) {
        const struct kept *kept = testing->results.items[i];
        bool is_quiet = kept->outcome == PRG_SPEC_PASSED && !testing->options->verbose;
        if (is_quiet)
            continue;
        if (strcmp(file, kept->file) != 0)
            prg_strbuf_printf(out, "%s\n", kept->file);
        file = kept->file;
        prg_strbuf_printf(out, "  %-8s %s", outcome_names[kept->outcome], kept->name);
        if (kept->line)
            prg_strbuf_printf(out, " (line %d)", kept->line);
        prg_strbuf_putc(out, '\n');
        add_lines(out, "           ", kept->message);
        add_lines(out, "           ", kept->detail);
        add_lines(out, "           | ", kept->printed);
    }
    prg_strbuf_printf(out, "%zu passed, %zu failed", testing->counts[PRG_SPEC_PASSED],
                      testing->counts[PRG_SPEC_FAILED] + testing->counts[PRG_SPEC_ERROR]);
    if (testing->counts[PRG_SPEC_PENDING])
        prg_strbuf_printf(out, ", %zu pending", testing->counts[PRG_SPEC_PENDING]);
    prg_strbuf_putc(out, '\n');
}

// ---- TAP 13 ----

// A description may not hold "#", which begins a directive.
static void add_description(struct prg_strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '#')
            prg_strbuf_putc(out, '\\');
        prg_strbuf_putc(out, *text == '\n' ? ' ' : *text);
    }
}

static void print_tap(struct testing *testing, struct prg_strbuf *out)
{
    prg_strbuf_printf(out, "TAP version 13\n1..%zu\n", testing->results.count);
    for (size_t i = 0; i < testing->results.count; i++) {
        const struct kept *kept = testing->results.items[i];
        prg_strbuf_printf(out, "%s %zu - ", is_bad(kept) ? "not ok" : "ok", i + 1);
        add_description(out, kept->name);
        if (kept->outcome == PRG_SPEC_PENDING) {
            prg_strbuf_puts(out, " # SKIP ");
            add_description(out, kept->message);
        }
        prg_strbuf_putc(out, '\n');
        if (is_bad(kept)) {
            add_lines(out, "# ", kept->message);
            add_lines(out, "# ", kept->detail);
        }
        add_lines(out, "# | ", kept->printed);
    }
}

// ---- JUnit ----

// Characters that XML does not have become '?'.
static void add_xml(struct prg_strbuf *out, const char *text)
{
    for (; text && *text; text++) {
        switch (*text) {
        case '<':
            prg_strbuf_puts(out, "&lt;");
            break;
        case '>':
            prg_strbuf_puts(out, "&gt;");
            break;
        case '&':
            prg_strbuf_puts(out, "&amp;");
            break;
        case '"':
            prg_strbuf_puts(out, "&quot;");
            break;
        case '\n':
            prg_strbuf_puts(out, "&#10;");
            break;
        default:
            prg_strbuf_putc(out, (unsigned char)*text < ' ' && *text != '\t' ? '?' : *text);
            break;
        }
    }
}

static void add_attribute(struct prg_strbuf *out, const char *name, const char *text)
{
    prg_strbuf_printf(out, " %s=\"", name);
    add_xml(out, text);
    prg_strbuf_putc(out, '"');
}

static void print_case(const struct kept *kept, struct prg_strbuf *out)
{
    prg_strbuf_puts(out, "    <testcase");
    add_attribute(out, "classname", kept->file);
    add_attribute(out, "name", kept->name);
    add_attribute(out, "file", kept->file);
    prg_strbuf_printf(out, " line=\"%d\" time=\"%.6f\">\n", kept->line, (double)kept->duration_ns / 1e9);
    if (kept->outcome == PRG_SPEC_PENDING) {
        prg_strbuf_puts(out, "      <skipped");
        add_attribute(out, "message", kept->message);
        prg_strbuf_puts(out, "/>\n");
    } else if (is_bad(kept)) {
        const char *element = kept->outcome == PRG_SPEC_FAILED ? "failure" : "error";
        prg_strbuf_printf(out, "      <%s", element);
        add_attribute(out, "message", kept->message);
        prg_strbuf_putc(out, '>');
        add_xml(out, kept->detail);
        prg_strbuf_printf(out, "</%s>\n", element);
    }
    if (*kept->printed) {
        prg_strbuf_puts(out, "      <system-out>");
        add_xml(out, kept->printed);
        prg_strbuf_puts(out, "</system-out>\n");
    }
    prg_strbuf_puts(out, "    </testcase>\n");
}

static void print_suite(struct testing *testing, size_t first, size_t end, struct prg_strbuf *out)
{
    size_t counts[PRG_SPEC_ERROR + 1] = {0};
    double seconds = 0;
    for (size_t i = first; i < end; i++) {
        const struct kept *kept = testing->results.items[i];
        counts[kept->outcome]++;
        seconds += (double)kept->duration_ns / 1e9;
    }
    prg_strbuf_puts(out, "  <testsuite");
    add_attribute(out, "name", ((const struct kept *)testing->results.items[first])->file);
    prg_strbuf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.6f\">\n",
                      end - first, counts[PRG_SPEC_FAILED], counts[PRG_SPEC_ERROR], counts[PRG_SPEC_PENDING], seconds);
    for (size_t i = first; i < end; i++)
        print_case(testing->results.items[i], out);
    prg_strbuf_puts(out, "  </testsuite>\n");
}

static void print_junit(struct testing *testing, struct prg_strbuf *out)
{
    prg_strbuf_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
        "skipped=\"%zu\">\n",
        testing->results.count, testing->counts[PRG_SPEC_FAILED], testing->counts[PRG_SPEC_ERROR],
        testing->counts[PRG_SPEC_PENDING]);
    for (size_t first = 0; first < testing->results.count;) {
        const struct kept *kept = testing->results.items[first];
        size_t end = first + 1;
        while (end < testing->results.count &&
               strcmp(((const struct kept *)testing->results.items[end])->file, kept->file) == 0)
            end++;
        print_suite(testing, first, end, out);
        first = end;
    }
    prg_strbuf_puts(out, "</testsuites>\n");
}

// ---- coverage ----

// "3-5, 9"
static void add_missed(struct prg_strbuf *out, const struct prg_coverage_line *lines, size_t count)
{
    const char *separator = "";
    for (size_t i = 0; i < count; i++) {
        if (lines[i].hits)
            continue;
        size_t end = i;
        while (end + 1 < count && !lines[end + 1].hits)
            end++;
        prg_strbuf_printf(out, "%s%u", separator, lines[i].line);
        if (end > i)
            prg_strbuf_printf(out, "-%u", lines[end].line);
        separator = ", ";
        i = end;
    }
}

static void add_coverage_row(const char *path, const struct prg_coverage_line *lines, size_t count, void *ctx)
{
    char total[24], hit[24], percent[24];
    prg_auto_strbuf missed = PRG_STRBUF_INIT;
    size_t hits = 0;
    for (size_t i = 0; i < count; i++)
        hits += lines[i].hits > 0;
    snprintf(total, sizeof(total), "%zu", count);
    snprintf(hit, sizeof(hit), "%zu", hits);
    snprintf(percent, sizeof(percent), "%.1f%%", count ? 100.0 * (double)hits / (double)count : 100.0);
    add_missed(&missed, lines, count);
    const char *cells[] = {path, total, hit, percent, missed.length ? missed.text : "-"};
    prg_table_row(ctx, cells);
}

static void print_coverage(const struct prg_coverage *coverage, struct prg_strbuf *out)
{
    static const char *const head[] = {"FILE", "LINES", "HIT", "COVERED", "MISSED"};
    struct prg_table *table = prg_table_new(PRG_COUNT(head));
    prg_table_row(table, head);
    prg_coverage_each(coverage, add_coverage_row, table);
    prg_table_print(table, out);
}

// ---- the command ----

static int compare_names(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(a, b);
}

static int find_specs(struct testing *testing, const char *folder, struct prg_vec *paths, struct prg_error *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    if (!dir)
        return prg_fail(err, PRG_IO, "%s: %s", folder, strerror(errno));
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.' && prg_text_has_suffix(entry->d_name, "_spec.lua"))
            prg_vec_push(paths, prg_arena_printf(&testing->arena, "%s%s%s", folder,
                                                 prg_text_has_suffix(folder, "/") ? "" : "/", entry->d_name));
    closedir(dir);
    prg_vec_sort(paths, compare_names, NULL);
    if (!paths->count)
        return prg_fail(err, PRG_NOTFOUND, "%s: no specs in it; they are named NAME_spec.lua", folder);
    return PRG_OK;
}

static void print_set_error(const char *text, void *ctx)
{
    (void)ctx;
    fprintf(stderr, "error: %s\n", text);
}

// The specs of a folder, or those among texts.
static int run_each(struct testing *testing, const struct prg_cli_set *specs, const struct prg_policy_set *set,
                    const struct prg_spec_options *options, struct prg_error *err)
{
    struct prg_vec paths;
    size_t count = 0;
    int rc = PRG_OK;
    prg_vec_init(&paths);
    if (specs->folder)
        rc = find_specs(testing, specs->folder, &paths, err);
    for (size_t i = 0; rc == PRG_OK && i < paths.count; i++)
        rc = prg_spec_run(set, paths.items[i], options, err);
    prg_vec_release(&paths);
    for (size_t i = 0; i < specs->texts.count; i++) {
        const struct prg_policy_text *text = specs->texts.items[i];
        if (!prg_text_has_suffix(text->name, "_spec.lua"))
            continue;
        prg_spec_run_text(set, text, options);
        count++;
    }
    if (!specs->folder && !count)
        rc = prg_fail(err, PRG_NOTFOUND, "%s: no specs in it; they are named NAME_spec.lua", specs->name);
    return rc;
}

// name: of the set with the specs.
static int run_specs(struct testing *testing, const struct prg_settings *settings, const char *name,
                     struct prg_coverage *coverage, struct prg_error *err)
{
    const struct prg_cli_options *options = testing->options;
    struct prg_policy_set *set = NULL;
    struct prg_cli_set specs, tested = {0};
    int rc = prg_cli_set_read(options, name, NULL, &testing->arena, &specs, print_set_error, NULL, err);
    bool is_one = !settings->policies || strcmp(settings->policies, name) == 0;
    if (rc == PRG_OK && !is_one)
        rc = prg_cli_set_read(options, settings->policies, NULL, &testing->arena, &tested, print_set_error, NULL, err);
    const struct prg_cli_set *policies = is_one ? &specs : &tested;
    struct prg_policy_options load = {.folder = policies->folder,
                                      .texts = policies->folder ? NULL : &policies->texts,
                                      .limits = settings->limits,
                                      .report = print_set_error,
                                      .without_specs = true};
    struct prg_spec_options spec = {.fixtures = options->fixtures ? options->fixtures : specs.folder,
                                    .filter = options->filter,
                                    .limits = settings->limits,
                                    .coverage = coverage,
                                    .visit = on_result,
                                    .ctx = testing};
    if (rc == PRG_OK)
        rc = prg_policy_set_load(&load, &set, err);
    if (rc == PRG_OK)
        rc = run_each(testing, &specs, set, &spec, err);
    prg_policy_set_unref(set);
    prg_vec_release(&specs.texts);
    prg_vec_release(&tested.texts);
    return rc;
}

static int report(struct testing *testing, const struct prg_coverage *coverage)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT, lines = PRG_STRBUF_INIT;
    const char *format = testing->options->output ? testing->options->output : "plain";
    if (strcmp(format, "tap") == 0)
        print_tap(testing, &out);
    else if (strcmp(format, "junit") == 0)
        print_junit(testing, &out);
    else
        print_plain(testing, &out);
    if (coverage)
        print_coverage(coverage, strcmp(format, "plain") == 0 ? &out : &lines);
    prg_cli_write(&out);
    if (lines.length) // the other formats are for programs
        fputs(lines.text, stderr);
    return testing->counts[PRG_SPEC_FAILED] + testing->counts[PRG_SPEC_ERROR] ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
}

static int run(struct prg_cli_options *options)
{
    struct testing testing = {.options = options};
    struct prg_settings settings;
    struct prg_error err = {0};
    if (options->arg_count > 1) {
        fprintf(stderr, "error: perigee test: one set at most; see perigee test --help\n");
        return PRG_EXIT_TROUBLE;
    }
    if (prg_settings_load(options, &settings, &err) != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    const char *name = options->arg_count ? options->args[0] : settings.policies ? settings.policies : ".";
    struct prg_coverage *coverage = options->coverage ? prg_coverage_new() : NULL;
    prg_arena_init(&testing.arena);
    prg_vec_init(&testing.results);
    int code;
    if (run_specs(&testing, &settings, name, coverage, &err) == PRG_OK) {
        code = report(&testing, coverage);
        if (!testing.results.count) {
            fprintf(stderr, "error: no test has a name that matches '%s'\n", options->filter);
            code = PRG_EXIT_TROUBLE;
        }
    } else {
        code = prg_cli_error(&err, PRG_EXIT_TROUBLE);
    }
    prg_coverage_free(coverage);
    prg_vec_release(&testing.results);
    prg_arena_release(&testing.arena);
    prg_arena_release(&settings.arena);
    return code;
}

static const struct prg_option options[] = {
    {"filter", 0, PRG_OPTION_TEXT, PRG_AT(filter), "PATTERN", "run only tests whose full name has this Lua pattern",
     NULL},
    {"coverage", 0, PRG_OPTION_FLAG, PRG_AT(coverage), NULL, "show which lines of the policies ran", NULL},
    {"fixtures", 0, PRG_OPTION_TEXT, PRG_AT(fixtures), "DIR", "folder whose files specs may read (DIR of the specs)",
     NULL},
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT", "what to print", "plain|tap|junit"},
    {"verbose", 'v', PRG_OPTION_FLAG, PRG_AT(verbose), NULL, "show passed tests too", NULL},
    {"policies", 0, PRG_OPTION_TEXT, PRG_AT(policies), "SET", "policy set under test (that of the specs)", NULL},
    {"limit", 0, PRG_OPTION_LIST, PRG_AT(limits), "NAME=N", "limit per test: steps, memory, block, result, wall-ms",
     NULL},
    {"config", 0, PRG_OPTION_TEXT, PRG_AT(config), "FILE", "settings of Perigee itself (YAML); flags win over it",
     NULL},
    PRG_OPTIONS_CLUSTER,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_test = {
    .name = "test",
    .summary = "Run the specs of a policy set in the policies' sandbox",
    .usage = "test [SET] [--filter PATTERN] [--coverage] [-o plain|tap|junit]",
    .text = "Runs each NAME_spec.lua of SET (a folder, configmap:NAMESPACE/NAME, a file with the manifest of such a\n"
            "ConfigMap; default: that of --policies, else this folder) with busted's blocks and assertions. Policies "
            "of SET\n"
            "are under test, or those of --policies, and the shipped ones where it has none. Exit status 1: a test "
            "failed.\n",
    .options = options,
    .run = run,
};
