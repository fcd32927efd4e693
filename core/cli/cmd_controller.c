// SPDX-License-Identifier: Apache-2.0
// cmd_controller.c: `perigee controller`: the loops over a store.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "cli/commands.h"
#include "cli/learning_report.h"
#include "controller/policy_place.h"
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
    struct prg_learning_rows *jobs;
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
        bool is_overtaken = prg_reconcile_is_overtaken(report); // part of the trade, as client-go has it
        prg_log(is_overtaken ? PRG_LOG_DEBUG : PRG_LOG_ERROR,
                is_overtaken ? "changed meanwhile; planned again" : "reconcile failed", "inferenceservice", object,
                "error", prg_error_text(report->error, text, sizeof(text)), NULL);
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

static void log_warnings(const struct prg_reconcile_report *report)
{
    if (report->taken_over)
        prg_log(PRG_LOG_INFO, "fields taken over", "inferenceservice", report->key->name, "namespace", report->key->ns,
                "fields", report->taken_over, NULL);
    if (report->warnings)
        prg_log(PRG_LOG_WARNING, "the server warns", "inferenceservice", report->key->name, "namespace",
                report->key->ns, "warning", report->warnings, NULL);
}

static void on_reconciled(const struct prg_reconcile_report *report, void *ctx)
{
    struct reporting *reporting = ctx;
    if (report->error)
        reporting->has_failure = true;
    if (prg_learning_is_report(report)) {
        if (reporting->once)
            prg_learning_rows_keep(reporting->jobs, report);
        else
            prg_learning_log(report);
        return;
    }
    if (reporting->once) {
        keep_row(reporting, report);
        return;
    }
    log_report(report);
    log_warnings(report);
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
    if (!rows.count && prg_learning_rows_count(reporting->jobs))
        prg_strbuf_clear(&out); // there are only jobs
    prg_learning_rows_print(reporting->jobs, &out);
    prg_cli_write(&out);
    prg_vec_release(&rows);
}

static bool is_cluster(const struct prg_cli_options *options)
{
    return !options->store || strcmp(options->store, "kube") == 0;
}

#define METRICS_PORT 8080 // where manifests look for it

// Flags that mean nothing for the store that was chosen are mistakes.
static int check_options(const struct prg_cli_options *options, struct prg_error *err)
{
    const char *misplaced = NULL;
    if (options->arg_count)
        return prg_fail(err, PRG_INVALID, "perigee controller: unexpected argument '%s'", options->args[0]);
    if (is_cluster(options))
        misplaced = options->once ? "--once" : options->play_kubelet ? "--play-kubelet" : NULL;
    else
        misplaced = options->kubeconfig         ? "--kubeconfig"
                    : options->context          ? "--context"
                    : options->leader_elect     ? "--leader-elect"
                    : options->namespaces.count ? "--namespace"
                                                : NULL;
    if (!misplaced)
        return PRG_OK;
    return prg_fail(err, PRG_INVALID, "perigee controller: %s is for %s", misplaced,
                    is_cluster(options) ? "a folder: --store dir:PATH" : "a cluster, not for a folder");
}

static int read_workers(const struct prg_cli_options *options, unsigned *ret, struct prg_error *err)
{
    char *end = NULL;
    *ret = 4;
    if (!options->workers)
        return PRG_OK;
    unsigned long value = strtoul(options->workers, &end, 10);
    if (*end || end == options->workers || options->workers[0] == '-' || value < 1 || value > 1000)
        return prg_fail(err, PRG_INVALID, "--workers %s: a whole number from 1 to 1000", options->workers);
    *ret = (unsigned)value;
    return PRG_OK;
}

// In a pod at every address, since the kubelet asks; elsewhere only where somebody says so.
static int read_metrics_listen(const struct prg_cli_options *options, struct prg_settings *settings,
                               struct prg_run_options *run_options, struct prg_error *err)
{
    struct prg_learning_settings listen = {.has_edge = is_cluster(options) && prg_kube_is_in_cluster(NULL),
                                           .edge_address = "0.0.0.0",
                                           .edge_port = METRICS_PORT};
    if (settings->metrics_listen &&
        prg_learning_parse_listen(&settings->arena, settings->metrics_listen, &listen, err) != PRG_OK)
        return prg_wrap(err, options->metrics_listen ? "--metrics-listen" : "metrics.listen");
    run_options->version = PRG_VERSION;
    run_options->listens = listen.has_edge;
    run_options->listen_address = listen.edge_address;
    run_options->listen_port = listen.edge_port;
    return PRG_OK;
}

static void set_log(const struct prg_cli_options *options)
{
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    prg_log_set_json(options->log_format && strcmp(options->log_format, "json") == 0);
    for (size_t i = 0; options->log_level && i < PRG_COUNT(levels); i++)
        if (strcmp(options->log_level, levels[i]) == 0)
            prg_log_set_level((enum prg_log_level)i);
}

static int run_with(const struct prg_cli_options *options, struct prg_settings *settings,
                    struct prg_run_options *run_options, struct prg_error *err)
{
    int rc = read_workers(options, &run_options->workers, err);
    if (rc == PRG_OK)
        rc = prg_learning_options(options, settings, is_cluster(options), run_options, err);
    if (rc == PRG_OK)
        rc = read_metrics_listen(options, settings, run_options, err);
    if (rc == PRG_OK && !is_cluster(options))
        rc = prg_source_folder(options->store, &run_options->folder, err);
    if (rc != PRG_OK)
        return rc;
    if (!is_cluster(options))
        return prg_run_folder(run_options, err);
    run_options->cluster = (struct prg_kube_choice){.kubeconfig = options->kubeconfig, .context = options->context};
    run_options->namespaces = (const char *const *)options->namespaces.items;
    run_options->namespace_count = options->namespaces.count;
    run_options->elects = !options->leader_elect || strcmp(options->leader_elect, "true") == 0;
    run_options->user_agent = "perigee/" PRG_VERSION " (controller)";
    return prg_run_kube(run_options, err);
}

// A set that nobody would notice a change of.
static int check_policies(const struct prg_cli_options *options, struct prg_settings *settings, struct prg_error *err)
{
    struct prg_policy_place place;
    int rc = prg_policy_place_parse(&settings->arena, settings->policies, &place, err);
    if (rc == PRG_OK && place.file && !options->once)
        rc = prg_fail(err, PRG_INVALID,
                      "--policies %s: a folder or configmap:NAMESPACE/NAME is needed; a file is not watched",
                      place.file);
    return rc;
}

static int run(struct prg_cli_options *options)
{
    struct reporting reporting = {.once = options->once};
    struct prg_settings settings;
    struct prg_error err = {0};
    if (check_options(options, &err) != PRG_OK || prg_settings_load(options, &settings, &err) != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    if (check_policies(options, &settings, &err) != PRG_OK) {
        prg_arena_release(&settings.arena);
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    }
    set_log(options);
    prg_map_init(&reporting.rows);
    reporting.jobs = prg_learning_rows_new();
    struct prg_run_options run_options = {
        .policies = settings.policies,
        .namespace_policies = settings.namespace_policies,
        .config_namespace = settings.config_namespace,
        .compat = settings.compat,
        .limits = settings.limits,
        .record = settings.record,
        .play_kubelet = options->play_kubelet,
        .once = options->once,
        .report = on_reconciled,
        .ctx = &reporting,
    };
    int rc = run_with(options, &settings, &run_options, &err);
    if (rc == PRG_OK && options->once)
        print_rows(&reporting);
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&reporting.rows, &i));)
        free_row(entry->value);
    prg_map_release(&reporting.rows);
    prg_learning_rows_free(reporting.jobs);
    prg_arena_release(&settings.arena);
    if (rc != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    return options->once && reporting.has_failure ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
}

static const struct prg_option options[] = {
    {"store", 0, PRG_OPTION_TEXT, PRG_AT(store), "STORE", "kube (default): a cluster; dir:PATH: a folder of manifests",
     NULL},
    {"kubeconfig", 0, PRG_OPTION_TEXT, PRG_AT(kubeconfig), "FILE", "how to reach the cluster; in a pod its account",
     NULL},
    {"context", 0, PRG_OPTION_TEXT, PRG_AT(context), "NAME", "context of the kubeconfig", NULL},
    {"namespace", 'n', PRG_OPTION_LIST, PRG_AT(namespaces), "NAMESPACE",
     "look after this namespace only; repeatable (all)", NULL},
    {"leader-elect", 0, PRG_OPTION_TEXT, PRG_AT(leader_elect), "BOOL",
     "write only while holding the lease (true); false: nobody else runs", "true|false"},
    {"workers", 0, PRG_OPTION_TEXT, PRG_AT(workers), "N", "reconciles at a time, of different services (4)", NULL},
    {"controllers", 0, PRG_OPTION_TEXT, PRG_AT(controllers), "LIST", "what is looked after (serving,learning)", NULL},
    {"edge-listen", 0, PRG_OPTION_TEXT, PRG_AT(edge_listen), "ADDR:PORT",
     "where Local Controllers of edge nodes connect; off: nowhere", NULL},
    {"lc-server", 0, PRG_OPTION_TEXT, PRG_AT(lc_server), "URL",
     "where workers find their node's Local Controller (http://localhost:9100)", NULL},
    {"metrics-listen", 0, PRG_OPTION_TEXT, PRG_AT(metrics_listen), "ADDR:PORT",
     "where /metrics, /healthz and /readyz are served; off: nowhere", NULL},
    {"once", 0, PRG_OPTION_FLAG, PRG_AT(once), NULL, "a folder: reconcile until nothing changes, print a table, end",
     NULL},
    {"play-kubelet", 0, PRG_OPTION_FLAG, PRG_AT(play_kubelet), NULL,
     "a folder: rendered Deployments become available, pods run", NULL},
    {"record", 0, PRG_OPTION_TEXT, PRG_AT(record), "PATH",
     "write all plans and what they were made from to a file or folder, without secrets, for perigee replay", NULL},
    {"log-format", 0, PRG_OPTION_TEXT, PRG_AT(log_format), "FORMAT", "text (default) or json", "text|json"},
    {"log-level", 0, PRG_OPTION_TEXT, PRG_AT(log_level), "LEVEL", "the least that is logged (info)",
     "debug|info|warning|error"},
    PRG_OPTIONS_POLICY,
    PRG_OPTION_NAMESPACE_POLICIES,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_controller = {
    .name = "controller",
    .summary = "Reconcile InferenceServices and learning jobs over a cluster or a folder, until stopped",
    .usage = "controller [--store kube|dir:PATH] [--policies DIR]",
    .text = "Over a cluster two or more replicas may run: one writes, the others stand by. Kinds that the cluster does "
            "not\n"
            "have (Knative, KEDA, OpenTelemetry) are taken up when they are installed.\n"
            "Over a folder, manifests below PATH are never rewritten; rendered objects, status and events are kept in\n"
            "PATH/.perigee/. Edited manifests, runtimes, configuration and policies are noticed.\n"
            "SIGINT and SIGTERM end it: what is under way is finished, the lease given back.\n",
    .options = options,
    .run = run,
};
