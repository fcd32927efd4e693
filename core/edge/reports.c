// SPDX-License-Identifier: Apache-2.0
// reports.c: what nodes say. Reports are handed out in order for each object, and kept until the driver has stored
// them; what a node sends beyond a rate or a number of unfinished reports is left in the socket, so that it is late and
// never lost.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "edge/envelope.h"
#include "edge/handshake.h"
#include "edge/link.h"
#include "learning/names.h"

enum {
    RETRY_MS = 1000,
    RETRY_MOST_MS = 60000,
};

struct report {
    struct prg_edge_report is;      // first: the driver's pointer is ours
    struct report *next, *previous; // of all
    struct report *behind;          // the next about the same object, which waits for this one
    struct report *ready_next;
    struct prg_arena arena;
    struct prg_timer retry;
    struct prg_edge *edge;
    const char *key; // "kind/namespace/name"
    size_t bytes;    // of the message; as a tree it may take thirty times as much
    bool is_out, is_ready;
};

// ---- handing out ----

static void on_hand_out(void *ctx)
{
    struct prg_edge *edge = ctx;
    struct report *report;
    while ((report = edge->first_ready)) {
        edge->first_ready = report->ready_next;
        if (!edge->first_ready)
            edge->last_ready = NULL;
        report->is_ready = false;
        report->is_out = true;
        edge->options.report(&report->is, edge->options.ctx); // may finish it
    }
}

// The next turn hands it out.
static void make_ready(struct report *report)
{
    struct prg_edge *edge = report->edge;
    report->is_ready = true;
    report->ready_next = NULL;
    if (edge->last_ready)
        edge->last_ready->ready_next = report;
    else
        edge->first_ready = report;
    edge->last_ready = report;
    prg_timer_start(edge->timers, &edge->hand_out, 0, on_hand_out, edge);
}

static void on_retry(void *ctx)
{
    make_ready(ctx);
}

void prg_edge_pause(struct prg_edge_link *link, enum prg_edge_pause pause, bool is_set)
{
    unsigned before = link->pauses;
    if (!link->is_current) // what it sent before its successor came is wanted all the same
        return;
    link->pauses = is_set ? link->pauses | (unsigned)pause : link->pauses & ~(unsigned)pause;
    if (!before && link->pauses)
        prg_websocket_pause(link->ws);
    else if (before && !link->pauses)
        prg_websocket_resume(link->ws);
}

static bool is_full(const struct prg_edge_link *link)
{
    const struct prg_edge_options *options = &link->edge->options;
    return link->reports >= options->max_reports || link->report_bytes >= options->max_report_bytes;
}

static void count_in(struct prg_edge_link *link, const struct report *report)
{
    link->reports++;
    link->report_bytes += report->bytes;
    if (is_full(link))
        prg_edge_pause(link, PRG_PAUSE_REPORTS, true);
}

// One that came over an older connection after this one began was not counted here.
static void count_out(struct prg_edge_link *link, size_t bytes)
{
    link->reports -= link->reports > 0;
    link->report_bytes -= bytes < link->report_bytes ? bytes : link->report_bytes;
    if (!is_full(link))
        prg_edge_pause(link, PRG_PAUSE_REPORTS, false);
}

static void drop_report(struct report *report)
{
    struct prg_edge *edge = report->edge;
    size_t bytes = report->bytes;
    struct prg_edge_link *link = prg_map_get(&edge->links, report->is.node);
    if (report->previous)
        report->previous->next = report->next;
    else
        edge->first_report = report->next;
    if (report->next)
        report->next->previous = report->previous;
    else
        edge->last_report = report->previous;
    edge->report_count--;
    if (report->behind)
        make_ready(report->behind);
    else
        prg_map_remove(&edge->chains, report->key);
    prg_timer_stop(edge->timers, &report->retry);
    prg_arena_release(&report->arena);
    free(report);
    if (link)
        count_out(link, bytes);
}

void prg_edge_report_finish(struct prg_edge *edge, const struct prg_edge_report *finished,
                            enum prg_edge_outcome outcome, const char *why)
{
    struct report *report = (struct report *)finished;
    prg_require(report->is_out);
    report->is_out = false;
    if (outcome == PRG_EDGE_RETRY) {
        uint64_t pause = RETRY_MS;
        for (unsigned i = 0; i < report->is.attempts && pause < RETRY_MOST_MS; i++)
            pause *= 2;
        if (pause > RETRY_MOST_MS)
            pause = RETRY_MOST_MS;
        report->is.attempts++;
        prg_timer_start(edge->timers, &report->retry, pause, on_retry, report);
        return;
    }
    if (outcome == PRG_EDGE_REFUSED) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        prg_strbuf_printf(&text, "%s: %s", report->key, why ? why : "refused");
        prg_edge_refuse(edge, PRG_EDGE_BY_DRIVER, report->is.node, text.text);
    }
    drop_report(report);
}

static const char *kind_of_report(const char *text)
{
    static const char *const kinds[] = {PRG_KIND_JOB, PRG_KIND_DATASET};
    for (size_t i = 0; i < PRG_COUNT(kinds); i++) {
        size_t k = 0; // in any letter case
        while (kinds[i][k] && (kinds[i][k] | 0x20) == (text[k] | 0x20))
            k++;
        if (!kinds[i][k] && !text[k])
            return kinds[i];
    }
    return NULL;
}

static void take_report(struct prg_edge_link *link, struct report *report, const struct prg_envelope *envelope,
                        const char *kind)
{
    struct prg_edge *edge = link->edge;
    report->is.node = prg_arena_strdup(&report->arena, link->node);
    report->is.kind = kind;
    report->is.ns = envelope->ns;
    report->is.name = envelope->name;
    report->is.content = envelope->content;
    report->is.text = envelope->text;
    report->is.length = envelope->length;
    report->is.number = ++edge->report_number;
    report->is.received_ns = prg_timers_wall_ns(edge->timers);
    report->key = prg_arena_printf(&report->arena, "%s/%s/%s", kind, envelope->ns, envelope->name);
    report->edge = edge;
    report->previous = edge->last_report;
    if (edge->last_report)
        edge->last_report->next = report;
    else
        edge->first_report = report;
    edge->last_report = report;
    edge->report_count++;
    edge->stats.reports++;
    count_in(link, report);
    prg_log(PRG_LOG_DEBUG, "edge report", "node", link->node, "kind", kind, "namespace", envelope->ns, "name",
            envelope->name, NULL);
    struct report *before = prg_map_put(&edge->chains, report->key, report);
    if (before)
        before->behind = report;
    else
        make_ready(report);
}

// What could name an object of a cluster: nothing that is kept by its name is longer, or leads elsewhere.
static bool is_name(const char *text)
{
    return *text && *text != '.' && prg_handshake_is_node_name(text);
}

// Looks at a message; true when it is kept as a report.
static bool look_at(struct prg_edge_link *link, struct report *report, const char *text, size_t length)
{
    struct prg_edge *edge = link->edge;
    struct prg_envelope envelope;
    struct prg_error err = {0};
    char line[PRG_ERROR_LINE];
    if (prg_envelope_read(&report->arena, text, length, &envelope, &err) != PRG_OK) {
        prg_edge_refuse(edge, PRG_EDGE_MALFORMED, link->node, prg_error_text(&err, line, sizeof(line)));
        prg_websocket_refuse(link->ws, 1007, "not a message");
        return false;
    }
    const char *kind = kind_of_report(envelope.kind), *name = envelope.name;
    if (envelope.is_bare)
        return false;
    if (strcmp(envelope.operation, "status") != 0) {
        prg_edge_refuse(edge, PRG_EDGE_OPERATION, link->node,
                        prg_arena_printf(&report->arena, "operation '%.60s' about kind '%.60s'", envelope.operation,
                                         envelope.kind));
        return false;
    }
    if (!kind) {
        prg_edge_refuse(edge, PRG_EDGE_KIND, link->node,
                        prg_arena_printf(&report->arena, "kind '%.60s' is none of this controller", envelope.kind));
        return false;
    }
    if (envelope.problem || !is_name(name) || (*envelope.ns && !is_name(envelope.ns))) {
        prg_edge_refuse(edge, PRG_EDGE_MALFORMED, link->node,
                        prg_arena_printf(&report->arena, "%s '%.60s/%.253s': %.200s", kind, envelope.ns, name,
                                         envelope.problem ? envelope.problem : "not the name of an object"));
        return false;
    }
    take_report(link, report, &envelope, kind);
    return true;
}

static void on_rate(void *ctx)
{
    struct prg_edge_link *link = ctx;
    link->tokens = link->tokens < 1 ? 1 : link->tokens;
    prg_edge_pause(link, PRG_PAUSE_RATE, false);
}

static void count_rate(struct prg_edge_link *link)
{
    struct prg_edge *edge = link->edge;
    uint64_t now_ms = prg_timers_now(edge->timers);
    double rate = edge->options.reports_per_second, most = rate * PRG_EDGE_BURST_SECONDS;
    link->tokens += (double)(now_ms - link->tokens_ms) * rate / 1000;
    link->tokens_ms = now_ms;
    if (link->tokens > most)
        link->tokens = most;
    link->tokens -= 1;
    if (link->tokens >= 0)
        return;
    prg_edge_pause(link, PRG_PAUSE_RATE, true);
    prg_timer_start(edge->timers, &link->rate, (uint64_t)(1000 * (1 - link->tokens) / rate) + 1, on_rate, link);
}
void prg_edge_hear(struct prg_edge_link *link, const char *text, size_t length)
{
    link->edge->stats.bytes_received += length;
    count_rate(link);
    struct report *report = prg_xcalloc(1, sizeof(*report));
    prg_arena_init(&report->arena);
    report->bytes = length;
    if (!look_at(link, report, text, length)) {
        prg_arena_release(&report->arena);
        free(report);
    }
}

void prg_edge_count_reports(struct prg_edge_link *link)
{
    for (const struct report *report = link->edge->first_report; report; report = report->next)
        if (strcmp(report->is.node, link->node) == 0)
            count_in(link, report);
}

void prg_edge_free_reports(struct prg_edge *edge)
{
    struct report *next;
    for (struct report *report = edge->first_report; report; report = next) {
        next = report->next;
        prg_timer_stop(edge->timers, &report->retry);
        prg_arena_release(&report->arena);
        free(report);
    }
    edge->first_report = NULL;
    prg_timer_stop(edge->timers, &edge->hand_out);
    prg_map_release(&edge->chains);
}
