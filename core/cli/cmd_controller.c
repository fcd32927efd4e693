// SPDX-License-Identifier: Apache-2.0
// cmd_controller.c: `perigee controller`: the loops over a store.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "cli/commands.h"
#include "controller/run.h"
#include "controller/summary.h"
#include "object/meta.h"

struct row {
    char *cells[7];
};

struct reporting {
    bool once;
    bool has_failure;    // something could not be applied
    struct prg_map rows; // "ns/name" -> struct row: the last word on each service, for the table of --once
};

static void free_row(struct row *row)
{
    for (size_t i = 0; row && i < PRG_COUNT(row->cells); i++)
        free(row->cells[i]);
    free(row);
}

static void keep_row(struct reporting *reporting, const struct prg_reconcile_report *report)
{
    struct prg_plan_summary summary;
    struct row *row = prg_xcalloc(1, sizeof(*row));
    char text[PRG_ERROR_LINE];
    prg_plan_summarise(report->plan, &summary);
    const char *cells[] = {report->key->ns,
                           report->key->name,
                           summary.runtime,
                           summary.image,
                           summary.gpus,
                           summary.objects,
                           report->error ? prg_error_text(report->error, text, sizeof(text)) : summary.ready};
    for (size_t i = 0; i < PRG_COUNT(cells); i++)
        row->cells[i] = prg_xstrdup(cells[i]);
    const char *key = prg_arena_printf(report->plan->arena, "%s/%s", report->key->ns, report->key->name);
    free_row(prg_map_put(&reporting->rows, key, row));
}

static void log_report(const struct prg_reconcile_report *report)
{
    char text[PRG_ERROR_LINE], created[24], updated[24], deleted[24];
    struct prg_arena *arena = report->plan->arena;
    const char *object = prg_arena_printf(arena, "%s/%s", report->key->ns, report->key->name);
    if (report->error) {
        prg_log(PRG_LOG_ERROR, "reconcile failed", "inferenceservice", object, "error",
                prg_error_text(report->error, text, sizeof(text)), NULL);
        return;
    }
    if (!report->created && !report->updated && !report->deleted && !report->status_changed)
        return; // nothing was written: nothing to say
    struct prg_plan_summary summary;
    prg_plan_summarise(report->plan, &summary);
    snprintf(created, sizeof(created), "%zu", report->created);
    snprintf(updated, sizeof(updated), "%zu", report->updated);
    snprintf(deleted, sizeof(deleted), "%zu", report->deleted);
    prg_log(report->plan->error ? PRG_LOG_WARNING : PRG_LOG_INFO, "reconciled", "inferenceservice", object, "runtime",
            summary.runtime, "created", created, "updated", updated, "deleted", deleted, "ready", summary.ready, NULL);
}

static void on_reconciled(const struct prg_reconcile_report *report, void *ctx)
{
    struct reporting *reporting = ctx;
    if (report->error)
        reporting->has_failure = true;
    if (reporting->once)
        keep_row(reporting, report);
    else
        log_report(report);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct row *x = a, *y = b;
    int rc = strcmp(x->cells[0], y->cells[0]);
    (void)ctx;
    return rc ? rc : strcmp(x->cells[1], y->cells[1]);
}

static void print_rows(struct reporting *reporting)
{
    static const char *const head[] = {"NAMESPACE", "SERVICE", "RUNTIME", "IMAGE", "GPUS", "OBJECTS", "READY"};
    struct prg_table *table = prg_table_new(PRG_COUNT(head));
    const struct prg_map_entry *entry;
    struct prg_vec rows;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_vec_init(&rows);
    for (size_t i = 0; (entry = prg_map_next(&reporting->rows, &i));)
        prg_vec_push(&rows, entry->value);
    prg_vec_sort(&rows, compare_rows, NULL);
    prg_table_row(table, head);
    for (size_t i = 0; i < rows.count; i++)
        prg_table_row(table, (const char *const *)((struct row *)rows.items[i])->cells);
    prg_table_print(table, &out);
    prg_cli_write(&out);
    prg_vec_release(&rows);
}

static int run(struct prg_cli_options *options)
{
    struct reporting reporting = {.once = options->once};
    struct prg_settings settings;
    struct prg_error err = {0};
    const char *folder;
    if (options->arg_count) {
        fprintf(stderr, "error: perigee controller: unexpected argument '%s'\n", options->args[0]);
        return PRG_EXIT_TROUBLE;
    }
    if (!options->store) {
        fprintf(stderr, "error: perigee controller: --store dir:PATH is needed; see perigee controller --help\n");
        return PRG_EXIT_TROUBLE;
    }
    if (prg_source_folder(options->store, &folder, &err) != PRG_OK ||
        prg_settings_load(options, &settings, &err) != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    prg_log_set_json(options->log_format && strcmp(options->log_format, "json") == 0);
    prg_map_init(&reporting.rows);
    struct prg_run_options run_options = {
        .folder = folder,
        .policies = settings.policies,
        .config_namespace = settings.config_namespace,
        .compat = settings.compat,
        .limits = settings.limits,
        .play_kubelet = options->play_kubelet,
        .once = options->once,
        .report = on_reconciled,
        .ctx = &reporting,
    };
    int rc = prg_run_folder(&run_options, &err);
    if (rc == PRG_OK && options->once)
        print_rows(&reporting);
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&reporting.rows, &i));)
        free_row(entry->value);
    prg_map_release(&reporting.rows);
    prg_arena_release(&settings.arena);
    if (rc != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    return options->once && reporting.has_failure ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
}

static const struct prg_option options[] = {
    {"store", 0, PRG_OPTION_TEXT, PRG_AT(store), "dir:PATH", "the folder of manifests to run over", NULL},
    {"once", 0, PRG_OPTION_FLAG, PRG_AT(once), NULL, "reconcile until nothing changes, print a table, end", NULL},
    {"play-kubelet", 0, PRG_OPTION_FLAG, PRG_AT(play_kubelet), NULL, "rendered Deployments become available, pods run",
     NULL},
    {"log-format", 0, PRG_OPTION_TEXT, PRG_AT(log_format), "FORMAT", "text (default) or json", "text|json"},
    PRG_OPTIONS_POLICY,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_controller = {
    .name = "controller",
    .summary = "Reconcile InferenceServices over a store, once or until stopped",
    .usage = "controller --store dir:PATH [--once] [--policies DIR]",
    .text =
        "Manifests below PATH are never rewritten; rendered objects, status and events are kept in PATH/.perigee/.\n"
        "Edited manifests, runtimes, configuration and policies are noticed. SIGINT and SIGTERM end it.\n",
    .options = options,
    .run = run,
};
