// SPDX-License-Identifier: Apache-2.0
// report.h: a comparison of many services as text, JSON, or notes of a CI system.
#pragma once
#include "explain/fleet.h"

struct prg_gate {
    bool has_restarts, has_gpus; // a limit is given
    int64_t max_restarts, max_gpus;
};

struct prg_report {
    const struct prg_fleet *fleet;
    struct prg_gate gate;
    const struct prg_reader *stores[PRG_SIDE_COUNT]; // tell which file a service is from; NULL: nobody does
    const char *base, *new;                          // what is compared, in words: "revision 1234, compat fixed"
};

// "kserve" or "fixed"; "mixed" for a recording of flags that are neither.
const char *prg_report_compat(const struct prg_compat *compat);

// What the gate objects to, one line each, in arena; *ret_count 0: nothing. New errors are always among them when a
// limit is given.
const char *const *prg_report_objections(struct prg_arena *arena, const struct prg_report *report, size_t *ret_count);
bool prg_report_has_changes(const struct prg_fleet *fleet);

// Groups with counts, the most frequent changes, and the first services of each group.
void prg_report_summary(const struct prg_report *report, struct prg_strbuf *out);
// The field differences of each service that changes; at most `max` services (0: all).
void prg_report_details(const struct prg_report *report, size_t max, struct prg_strbuf *out);
// Everything: {apiVersion, kind: Diff, base, new, groups, restarts, gpus, objections, services}.
void prg_report_json(const struct prg_report *report, struct prg_strbuf *out);
// Workflow commands of GitHub: an error for each objection and for services that fail newly, warnings for restarts,
// GPUs and objects, notices for the rest; one line a group, since the page shows ten.
void prg_report_github(const struct prg_report *report, struct prg_strbuf *out);
