// SPDX-License-Identifier: Apache-2.0
// learning_report.c: jobs for people who run the controller.
#include "cli/learning_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "httpd/httpd.h"
#include "kube/config.h"
#include "learning/names.h"
#include "learning/status.h"
#include "object/meta.h"

// ---- flags ----

static int read_controllers(const char *text, struct prg_run_options *run, struct prg_learning_settings *learning,
                            struct prg_error *err)
{
    static const char *const names[] = {"serving", "learning"};
    bool wanted[PRG_COUNT(names)] = {false};
    for (const char *start = text, *end; start; start = *end ? end + 1 : NULL) {
        size_t length, found = PRG_COUNT(names);
        end = strchrnul(start, ',');
        length = (size_t)(end - start);
        for (size_t i = 0; i < PRG_COUNT(names); i++)
            if (strlen(names[i]) == length && strncmp(names[i], start, length) == 0)
                found = i;
        if (found == PRG_COUNT(names))
            return prg_fail(err, PRG_INVALID, "--controllers %s: serving, learning or serving,learning", text);
        wanted[found] = true;
    }
    run->has_no_serving = !wanted[0];
    learning->is_off = !wanted[1];
    return PRG_OK;
}

static int read_edge_listen(struct prg_settings *settings, struct prg_learning_settings *learning,
                            struct prg_error *err)
{
    int rc = PRG_OK;
    if (settings->edge_listen)
        rc = prg_learning_parse_listen(&settings->arena, settings->edge_listen, learning, err);
    if (rc == PRG_OK && learning->has_edge && !learning->is_off)
        rc = prg_httpd_try(learning->edge_address ? learning->edge_address : "127.0.0.1", learning->edge_port, err);
    return rc;
}

int prg_learning_options(const struct prg_cli_options *options, struct prg_settings *settings, bool is_cluster,
                         struct prg_run_options *run, struct prg_error *err)
{
    struct prg_learning_settings *learning = &settings->learning;
    int rc = options->controllers ? read_controllers(options->controllers, run, learning, err) : PRG_OK;
    learning->has_edge = is_cluster;
    learning->edge_port = PRG_LEARNING_EDGE_PORT;
    if (is_cluster && prg_kube_is_in_cluster(NULL))
        learning->edge_address = "0.0.0.0";
    if (rc == PRG_OK && read_edge_listen(settings, learning, err) != PRG_OK)
        rc = prg_wrap(err, settings->edge_listen && !options->edge_listen ? "learning.listen" : "--edge-listen");
    run->learning = learning;
    return rc;
}

// ---- what is said of a job ----

bool prg_learning_is_report(const struct prg_reconcile_report *report)
{
    return strcmp(report->key->kind, PRG_KIND_JOB) == 0;
}

static const char *state_of(const struct prg_reconcile_report *report)
{
    struct prg_job_condition latest = prg_job_condition_latest(report->plan->resource);
    return prg_arena_printf(report->plan->arena, "%s %s", latest.stage, *latest.type ? latest.type : "(not begun)");
}

// Its error, whose report it waits for, or why it stays.
static const char *outlook_of(const struct prg_reconcile_report *report)
{
    const struct prg_plan *plan = report->plan;
    const char *why = "", *edge = NULL;
    char text[PRG_ERROR_LINE];
    if (report->error)
        return prg_arena_strdup(plan->arena, prg_error_text(report->error, text, sizeof(text)));
    if (plan->error)
        return plan->error;
    for (const struct prg_trace_entry *entry = plan->trace_first; entry; entry = entry->next) {
        if (strcmp(entry->decision, "stage") == 0 && entry->reason)
            why = entry->reason;
        if (strcmp(entry->decision, "edge") == 0)
            edge = prg_arena_printf(plan->arena, "%s: %s", entry->subject, entry->reason ? entry->reason : "");
    }
    return edge ? edge : why;
}

void prg_learning_log(const struct prg_reconcile_report *report)
{
    struct prg_arena *arena = report->plan->arena;
    const char *job = prg_arena_printf(arena, "%s/%s", report->key->ns, report->key->name);
    char created[24], deleted[24];
    if (report->error) {
        bool is_overtaken = prg_reconcile_is_overtaken(report); // part of the trade, as client-go has it
        prg_log(is_overtaken ? PRG_LOG_DEBUG : PRG_LOG_ERROR,
                is_overtaken ? "changed meanwhile; planned again" : "reconcile failed", "incrementallearningjob", job,
                "error", outlook_of(report), NULL);
        return;
    }
    if (!report->created && !report->updated && !report->deleted && !report->status_changed && !report->plan->error)
        return; // nothing was written: nothing to say
    snprintf(created, sizeof(created), "%zu", report->created);
    snprintf(deleted, sizeof(deleted), "%zu", report->deleted);
    prg_log(report->plan->error ? PRG_LOG_WARNING : PRG_LOG_INFO, "reconciled", "incrementallearningjob", job, "state",
            state_of(report), "podsMade", created, "podsDeleted", deleted, "note", outlook_of(report), NULL);
}

// ---- the table ----

enum { COLUMNS = 5 };

struct row {
    char *cells[COLUMNS];
};

struct prg_learning_rows {
    struct prg_map rows; // "ns/name" -> struct row
};

struct prg_learning_rows *prg_learning_rows_new(void)
{
    struct prg_learning_rows *rows = prg_xcalloc(1, sizeof(*rows));
    prg_map_init(&rows->rows);
    return rows;
}

static void row_free(struct row *row)
{
    for (size_t i = 0; row && i < COLUMNS; i++)
        free(row->cells[i]);
    free(row);
}

void prg_learning_rows_free(struct prg_learning_rows *rows)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&rows->rows, &i));)
        row_free(entry->value);
    prg_map_release(&rows->rows);
    free(rows);
}

void prg_learning_rows_keep(struct prg_learning_rows *rows, const struct prg_reconcile_report *report)
{
    struct row *row = prg_xcalloc(1, sizeof(*row));
    struct prg_job_condition latest = prg_job_condition_latest(report->plan->resource);
    const char *cells[COLUMNS] = {report->key->ns, report->key->name, state_of(report),
                                  *latest.since ? latest.since : "-", outlook_of(report)};
    for (size_t i = 0; i < COLUMNS; i++)
        row->cells[i] = prg_xstrdup(cells[i]);
    const char *key = prg_arena_printf(report->plan->arena, "%s/%s", report->key->ns, report->key->name);
    row_free(prg_map_put(&rows->rows, key, row));
}

size_t prg_learning_rows_count(const struct prg_learning_rows *rows)
{
    return rows->rows.count;
}

static int compare(const void *a, const void *b, void *ctx)
{
    const struct row *x = a, *y = b;
    int rc = strcmp(x->cells[0], y->cells[0]);
    (void)ctx;
    return rc ? rc : strcmp(x->cells[1], y->cells[1]);
}

void prg_learning_rows_print(const struct prg_learning_rows *rows, struct prg_strbuf *out)
{
    static const char *const head[COLUMNS] = {"NAMESPACE", "JOB", "STATE", "SINCE", "WAITS FOR"};
    const struct prg_map_entry *entry;
    struct prg_table *table = prg_table_new(COLUMNS);
    struct prg_vec sorted;
    prg_vec_init(&sorted);
    for (size_t i = 0; (entry = prg_map_next(&rows->rows, &i));)
        prg_vec_push(&sorted, entry->value);
    prg_vec_sort(&sorted, compare, NULL);
    if (sorted.count && out->length)
        prg_strbuf_putc(out, '\n');
    if (sorted.count)
        prg_table_row(table, head);
    for (size_t i = 0; i < sorted.count; i++)
        prg_table_row(table, (const char *const *)((struct row *)sorted.items[i])->cells);
    prg_table_print(table, out);
    prg_vec_release(&sorted);
}
