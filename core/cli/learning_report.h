// SPDX-License-Identifier: Apache-2.0
// learning_report.h: learning jobs in `perigee controller`: its flags, what is logged of a job, the table of --once.
#pragma once
#include "cli/cli.h"
#include "controller/run.h"

// --controllers, the edge link's address and the settings into run. Without --edge-listen a controller over a cluster
// listens (in a pod at every address, else on loopback), one over a folder does not.
int prg_learning_options(const struct prg_cli_options *options, struct prg_settings *settings, bool is_cluster,
                         struct prg_run_options *run, struct prg_error *err) PRG_MUST_USE;

bool prg_learning_is_report(const struct prg_reconcile_report *report); // of a job, not of a service
void prg_learning_log(const struct prg_reconcile_report *report);

struct prg_learning_rows; // the last word on each job
struct prg_learning_rows *prg_learning_rows_new(void);
void prg_learning_rows_free(struct prg_learning_rows *rows);
void prg_learning_rows_keep(struct prg_learning_rows *rows, const struct prg_reconcile_report *report);
size_t prg_learning_rows_count(const struct prg_learning_rows *rows);
// Appends the table, after an empty line when there is something before it; nothing without jobs.
void prg_learning_rows_print(const struct prg_learning_rows *rows, struct prg_strbuf *out);
