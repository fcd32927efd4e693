// SPDX-License-Identifier: Apache-2.0
// edge.c: connections of nodes, the messages to them (outbox.h) and the reports from them.
//
// A node has read a message when it answers the ping behind it: a Local Controller reads frames one by one and answers
// pings while it does. Reports are handed out in order for each object; what a node sends beyond a rate or a number of
// unfinished reports is left in the socket, so that it is late and never lost.
#include "edge/edge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "edge/envelope.h"
#include "edge/guard.h"
#include "edge/handshake.h"
#include "edge/outbox.h"
#include "edge/websocket.h"
#include "kube/timers.h"
#include "learning/names.h"
#include "learning/outlook.h"
#include "learning/status.h"
#include "object/meta.h"

enum {
    WINDOW = 8,             // messages that a node may leave unread
    QUEUED_BYTES = 1 << 20, // nothing more is given to a connection above it
    BURST_SECONDS = 4,      // of reports
    RETRY_MS = 1000,
    RETRY_MOST_MS = 60000,
    REPLACED_MS = 3000, // a connection that a newer one of its name replaced so soon: two controllers, one name
    LOGGED_ONCE = 4096, // texts remembered
};

enum pause { PAUSE_RATE = 1, PAUSE_REPORTS = 2 };

struct link { // one connection
    struct prg_edge *edge;
    char *node;
    struct prg_websocket *ws;
    bool is_current; // the newest of its node
    uint64_t number; // of the last message sent
    unsigned unanswered, pauses;
    size_t reports; // of its node, not finished
    double tokens;
    uint64_t tokens_ms, since_ms;
    struct prg_timer pump, ping, rate;
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
    bool is_out, is_ready;
};

struct wanted_model {
    char *node, *name;
};
struct job_record {
    struct prg_vec models;  // struct wanted_model
    struct prg_map remarks; // texts that hold; values are counts of tells
};

struct prg_edge {
    uv_loop_t *loop;
    struct prg_edge_options options;
    char *address;
    struct prg_vec allowed;
    struct prg_httpd *httpd;
    struct prg_timers *timers;
    struct prg_outbox *outbox;
    struct prg_map links;    // current ones by node
    struct prg_map jobs;     // "namespace/name" → struct job_record
    struct prg_map datasets; // "namespace/name" → node that was told (char *)
    struct prg_map logged;   // "reason/node" …
    struct prg_map replaced; // node → struct { uint64_t } when a young connection was replaced
    size_t open_count;       // connections, leaving ones too
    struct report *first_report, *last_report, *first_ready, *last_ready;
    struct prg_map chains; // the last report about each object
    size_t report_count;
    uint64_t report_number;
    struct prg_timer hand_out;
    struct prg_vec notices;
    struct prg_timer telling;
    bool is_closing;
    void (*closed)(void *ctx);
    void *closed_ctx;
    struct prg_timer closing;
    struct prg_edge_stats stats;
};

const char *prg_edge_refusal_name(enum prg_edge_refusal refusal)
{
    static const char *const names[] = {"unknown_node", "bad_handshake", "too_many", "malformed", "too_large",
                                        "operation",    "kind",          "refused",  "unanswered"};
    _Static_assert(PRG_COUNT(names) == PRG_EDGE_REFUSALS, "a name for each");
    return names[refusal];
}

// ---- saying once ----

static void refuse(struct prg_edge *edge, enum prg_edge_refusal refusal, const char *node, const char *why)
{
    static char once;
    prg_auto_strbuf key = PRG_STRBUF_INIT;
    edge->stats.refused[refusal]++;
    prg_strbuf_printf(&key, "%s/%s/%s", prg_edge_refusal_name(refusal), node, why);
    if (prg_map_get(&edge->logged, key.text))
        return;
    if (edge->logged.count >= LOGGED_ONCE)
        prg_map_clear(&edge->logged);
    prg_map_put(&edge->logged, key.text, &once);
    prg_log(PRG_LOG_WARNING, "edge link refuses", "node", node, "reason", prg_edge_refusal_name(refusal), "detail", why,
            NULL);
}

// ---- messages to nodes ----

static void on_pump(void *ctx);

static void send_item(struct link *link, struct prg_outbox_item *item)
{
    struct prg_edge *edge = link->edge;
    prg_auto_strbuf frame = PRG_STRBUF_INIT;
    const char *content;
    size_t length;
    uint8_t mark[8];
    bool is_deletion = prg_outbox_message(item, &content, &length);
    prg_envelope_write(&frame, item->ns, item->kind, item->name, is_deletion ? "delete" : "insert", content, length);
    prg_outbox_sent(edge->outbox, item, ++link->number, prg_timers_now(edge->timers));
    prg_log(PRG_LOG_DEBUG, "edge message", "node", link->node, "kind", item->kind, "namespace", item->ns, "name",
            item->name, "operation", is_deletion ? "delete" : "insert", NULL);
    edge->stats.messages_sent++;
    edge->stats.bytes_sent += frame.length;
    for (size_t i = 0; i < sizeof(mark); i++)
        mark[i] = (uint8_t)(link->number >> (8 * (7 - i)));
    prg_websocket_send_text(link->ws, frame.text, frame.length);
    prg_websocket_ping(link->ws, mark);
}

static void pump(struct link *link)
{
    struct prg_edge *edge = link->edge;
    struct prg_outbox_item *item;
    int64_t wait_ms = -1;
    if (!link->is_current || edge->is_closing)
        return;
    while (prg_websocket_queued_bytes(link->ws) < QUEUED_BYTES &&
           (item = prg_outbox_next(edge->outbox, link->node, prg_timers_now(edge->timers), &wait_ms)))
        send_item(link, item);
    if (wait_ms >= 0)
        prg_timer_start(edge->timers, &link->pump, (uint64_t)wait_ms, on_pump, link);
}

static void on_pump(void *ctx)
{
    pump(ctx);
}

static void pump_node(struct prg_edge *edge, const char *node)
{
    struct link *link = prg_map_get(&edge->links, node);
    if (link)
        pump(link);
}

// What the driver is told when nothing here is under way: that a node has read a message, has come or has gone.
struct notice {
    enum { NOTICE_READ, NOTICE_CONNECTED, NOTICE_DISCONNECTED } what;
    char *node, *kind, *ns, *name;
    bool is_deletion;
};

static void on_telling(void *ctx);

static struct notice *notice_of(struct prg_edge *edge, const char *node)
{
    struct notice *notice = prg_xcalloc(1, sizeof(*notice));
    notice->node = prg_xstrdup(node);
    prg_vec_push(&edge->notices, notice);
    prg_timer_start(edge->timers, &edge->telling, 0, on_telling, edge);
    return notice;
}

static const char *kind_of_header(const char *kind)
{
    return strcmp(kind, "incrementallearningjob") == 0 ? PRG_KIND_JOB
           : strcmp(kind, "dataset") == 0              ? PRG_KIND_DATASET
                                                       : PRG_KIND_MODEL;
}

static const char *header_of_kind(const char *kind)
{
    return strcmp(kind, PRG_KIND_JOB) == 0       ? "incrementallearningjob"
           : strcmp(kind, PRG_KIND_DATASET) == 0 ? "dataset"
                                                 : "model";
}

static void on_read(const char *node, const struct prg_outbox_item *item, bool is_deletion, void *ctx)
{
    struct prg_edge *edge = ctx;
    edge->stats.messages_read++;
    if (!edge->options.delivered)
        return;
    struct notice *notice = notice_of(edge, node);
    notice->kind = prg_xstrdup(kind_of_header(item->kind));
    notice->ns = prg_xstrdup(item->ns);
    notice->name = prg_xstrdup(item->name);
    notice->is_deletion = is_deletion;
}

static void give_notice(struct prg_edge *edge, bool is_told)
{
    struct prg_vec notices = edge->notices;
    prg_vec_init(&edge->notices);
    for (size_t i = 0; i < notices.count; i++) {
        struct notice *notice = notices.items[i];
        if (is_told && notice->what == NOTICE_READ)
            edge->options.delivered(notice->node, notice->kind, notice->ns, notice->name, notice->is_deletion,
                                    edge->options.ctx);
        else if (is_told)
            edge->options.connection(notice->node, notice->what == NOTICE_CONNECTED, edge->options.ctx);
        free(notice->node);
        free(notice->kind);
        free(notice->ns);
        free(notice->name);
        free(notice);
    }
    prg_vec_release(&notices);
}

static void on_telling(void *ctx)
{
    give_notice(ctx, true);
}

static void tell_connection(struct prg_edge *edge, const char *node, bool is_connected)
{
    if (edge->options.connection)
        notice_of(edge, node)->what = is_connected ? NOTICE_CONNECTED : NOTICE_DISCONNECTED;
}

// ---- reports ----

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

static void set_pause(struct link *link, enum pause pause, bool is_set)
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

static void drop_report(struct report *report)
{
    struct prg_edge *edge = report->edge;
    struct link *link = prg_map_get(&edge->links, report->is.node);
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
    if (link && link->reports > 0 && --link->reports < edge->options.max_reports)
        set_pause(link, PAUSE_REPORTS, false);
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
        refuse(edge, PRG_EDGE_BY_DRIVER, report->is.node, text.text);
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

static void take_report(struct link *link, struct report *report, const struct prg_envelope *envelope, const char *kind)
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
    if (++link->reports >= edge->options.max_reports)
        set_pause(link, PAUSE_REPORTS, true);
    prg_log(PRG_LOG_DEBUG, "edge report", "node", link->node, "kind", kind, "namespace", envelope->ns, "name",
            envelope->name, NULL);
    struct report *before = prg_map_put(&edge->chains, report->key, report);
    if (before)
        before->behind = report;
    else
        make_ready(report);
}

// Looks at a message; true when it is kept as a report.
static bool look_at(struct link *link, struct report *report, const char *text, size_t length)
{
    struct prg_edge *edge = link->edge;
    struct prg_envelope envelope;
    struct prg_error err = {0};
    char line[PRG_ERROR_LINE];
    if (prg_envelope_read(&report->arena, text, length, &envelope, &err) != PRG_OK) {
        refuse(edge, PRG_EDGE_MALFORMED, link->node, prg_error_text(&err, line, sizeof(line)));
        prg_websocket_refuse(link->ws, 1007, "not a message");
        return false;
    }
    const char *kind = kind_of_report(envelope.kind), *name = envelope.name;
    if (envelope.is_bare)
        return false;
    if (strcmp(envelope.operation, "status") != 0) {
        refuse(edge, PRG_EDGE_OPERATION, link->node,
               prg_arena_printf(&report->arena, "operation '%.60s' about kind '%.60s'", envelope.operation,
                                envelope.kind));
        return false;
    }
    if (!kind) {
        refuse(edge, PRG_EDGE_KIND, link->node,
               prg_arena_printf(&report->arena, "kind '%.60s' is none of this controller", envelope.kind));
        return false;
    }
    if (envelope.problem || !*name || strchr(name, '/') || strchr(envelope.ns, '/')) {
        refuse(edge, PRG_EDGE_MALFORMED, link->node,
               prg_arena_printf(&report->arena, "%s '%.60s/%.253s': %.200s", kind, envelope.ns, name,
                                envelope.problem ? envelope.problem : "not the name of an object"));
        return false;
    }
    take_report(link, report, &envelope, kind);
    return true;
}

static void on_rate(void *ctx)
{
    struct link *link = ctx;
    link->tokens = link->tokens < 1 ? 1 : link->tokens;
    set_pause(link, PAUSE_RATE, false);
}

static void count_rate(struct link *link)
{
    struct prg_edge *edge = link->edge;
    uint64_t now_ms = prg_timers_now(edge->timers);
    double rate = edge->options.reports_per_second, most = rate * BURST_SECONDS;
    link->tokens += (double)(now_ms - link->tokens_ms) * rate / 1000;
    link->tokens_ms = now_ms;
    if (link->tokens > most)
        link->tokens = most;
    link->tokens -= 1;
    if (link->tokens >= 0)
        return;
    set_pause(link, PAUSE_RATE, true);
    prg_timer_start(edge->timers, &link->rate, (uint64_t)(1000 * (1 - link->tokens) / rate) + 1, on_rate, link);
}

// ---- events of a connection ----

static void on_message(const char *text, size_t length, void *ctx)
{
    struct link *link = ctx;
    link->edge->stats.bytes_received += length;
    link->unanswered = 0;
    count_rate(link);
    struct report *report = prg_xcalloc(1, sizeof(*report));
    prg_arena_init(&report->arena);
    if (!look_at(link, report, text, length)) {
        prg_arena_release(&report->arena);
        free(report);
    }
}

static void on_pong(const uint8_t *bytes, size_t length, void *ctx)
{
    struct link *link = ctx;
    struct prg_edge *edge = link->edge;
    uint64_t number = 0;
    link->unanswered = 0;
    for (size_t i = 0; i < 8 && length == 8; i++)
        number = number << 8 | bytes[i];
    if (!link->is_current || number > link->number)
        return;
    prg_outbox_acknowledge(edge->outbox, link->node, number);
    pump(link);
}

static void on_drained(void *ctx)
{
    pump(ctx);
}

static void on_ping(void *ctx)
{
    struct link *link = ctx;
    struct prg_edge *edge = link->edge;
    uint8_t mark[8];
    if (link->unanswered >= 2) {
        refuse(edge, PRG_EDGE_UNANSWERED, link->node, "two pings were not answered");
        prg_websocket_drop(link->ws);
        return;
    }
    link->unanswered++;
    for (size_t i = 0; i < sizeof(mark); i++)
        mark[i] = (uint8_t)(link->number >> (8 * (7 - i)));
    prg_websocket_ping(link->ws, mark);
    prg_timer_start(edge->timers, &link->ping, edge->options.ping_ms, on_ping, link);
}

static void let_go(struct link *link)
{
    struct prg_edge *edge = link->edge;
    prg_timer_stop(edge->timers, &link->pump);
    prg_timer_stop(edge->timers, &link->ping);
    prg_timer_stop(edge->timers, &link->rate);
    if (!link->is_current)
        return;
    link->is_current = false;
    prg_map_remove(&edge->links, link->node);
    prg_outbox_disconnect(edge->outbox, link->node);
}

static void close_if_alone(struct prg_edge *edge);

static void on_closed(enum prg_websocket_end end, void *ctx)
{
    static const char *const ends[] = {"the node closed it", "closed here", "broken frames",
                                       "a message above the limit", "it does not read"};
    struct link *link = ctx;
    struct prg_edge *edge = link->edge;
    bool was_current = link->is_current;
    if (end == PRG_WEBSOCKET_MALFORMED || end == PRG_WEBSOCKET_TOO_LARGE)
        refuse(edge, end == PRG_WEBSOCKET_MALFORMED ? PRG_EDGE_MALFORMED : PRG_EDGE_TOO_LARGE, link->node, ends[end]);
    else if (end == PRG_WEBSOCKET_NOT_READING)
        refuse(edge, PRG_EDGE_UNANSWERED, link->node, ends[end]);
    let_go(link);
    edge->open_count--;
    prg_log(PRG_LOG_INFO, "edge node disconnected", "node", link->node, "reason", ends[end], NULL);
    if (was_current)
        tell_connection(edge, link->node, false);
    free(link->node);
    free(link);
    close_if_alone(edge);
}

static const struct prg_websocket_events events = {on_message, on_pong, on_drained, on_closed};

static void on_released(void *server)
{
    struct prg_edge *edge = server;
    if (edge->httpd)
        prg_httpd_wake(edge->httpd);
}

// ---- new connections ----

static size_t count_reports(const struct prg_edge *edge, const char *node)
{
    size_t count = 0;
    for (const struct report *report = edge->first_report; report; report = report->next)
        count += strcmp(report->is.node, node) == 0;
    return count;
}

static void replace(struct prg_edge *edge, struct link *older)
{
    uint64_t now_ms = prg_timers_now(edge->timers);
    uint64_t *when = prg_map_get(&edge->replaced, older->node);
    if (now_ms - older->since_ms < REPLACED_MS) {
        if (!when) {
            if (edge->replaced.count >= LOGGED_ONCE) {
                const struct prg_map_entry *entry;
                for (size_t i = 0; (entry = prg_map_next(&edge->replaced, &i));)
                    free(entry->value);
                prg_map_clear(&edge->replaced);
            }
            when = prg_xcalloc(1, sizeof(*when));
            prg_map_put(&edge->replaced, older->node, when);
        }
        *when = now_ms + REPLACED_MS;
    }
    let_go(older);
    prg_websocket_close(older->ws, 1008, "a newer connection of this node");
}

static void on_upgraded(void *ctx, struct MHD_Connection *connection, void *state, const char *early,
                        size_t early_length, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
    struct prg_edge *edge = ctx;
    const char *node = prg_handshake_node(connection);
    struct prg_websocket_options options = {edge->options.max_message_bytes, &events, on_released, edge};
    (void)state;
    if (edge->is_closing || !prg_handshake_is_node_name(node)) {
        MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
        return;
    }
    struct link *older = prg_map_get(&edge->links, node);
    if (older)
        replace(edge, older);
    struct link *link = prg_xcalloc(1, sizeof(*link));
    link->edge = edge;
    link->node = prg_xstrdup(node);
    link->since_ms = link->tokens_ms = prg_timers_now(edge->timers);
    link->tokens = (double)edge->options.reports_per_second * BURST_SECONDS;
    link->is_current = true;
    link->reports = count_reports(edge, node);
    link->ws = prg_websocket_new(edge->loop, handle, fd, early, early_length, &options, link);
    prg_map_put(&edge->links, node, link);
    edge->open_count++;
    edge->stats.connections++;
    if (link->reports >= edge->options.max_reports)
        set_pause(link, PAUSE_REPORTS, true);
    prg_timer_start(edge->timers, &link->ping, edge->options.ping_ms, on_ping, link);
    prg_outbox_connect(edge->outbox, node);
    prg_timer_start(edge->timers, &link->pump, 0, on_pump, link);
    prg_log(PRG_LOG_INFO, older ? "edge node connected again" : "edge node connected", "node", node, NULL);
    if (!older)
        tell_connection(edge, node, true);
}

static bool is_listed(const struct prg_edge *edge, const char *node)
{
    if (!edge->allowed.count)
        return true;
    for (size_t i = 0; i < edge->allowed.count; i++) {
        const char *name = edge->allowed.items[i];
        size_t length = strlen(name);
        if (length && name[length - 1] == '*' ? strncmp(name, node, length - 1) == 0 : strcmp(name, node) == 0)
            return true;
    }
    return false;
}

static bool was_just_replaced(struct prg_edge *edge, const char *node)
{
    uint64_t *when = prg_map_get(&edge->replaced, node);
    if (!when)
        return false;
    if (prg_timers_now(edge->timers) < *when)
        return true;
    free(prg_map_remove(&edge->replaced, node));
    return false;
}

static enum MHD_Result answer(struct prg_edge *edge, const struct prg_httpd_request *request,
                              enum prg_edge_refusal refusal, unsigned status, const char *why)
{
    const char *node = prg_handshake_node(request->connection);
    char text[512];
    refuse(edge, refusal, prg_handshake_is_node_name(node) ? node : "", why);
    int length = snprintf(text, sizeof(text), "%s\n", why);
    return prg_httpd_answer_text(request->connection, status, "text/plain; charset=utf-8", text, (size_t)length);
}

static enum MHD_Result on_request(const struct prg_httpd_request *request, void *ctx)
{
    struct prg_edge *edge = ctx;
    unsigned status;
    const char *why = prg_handshake_problem(request, &status), *node = prg_handshake_node(request->connection);
    if (why)
        return answer(edge, request, PRG_EDGE_BAD_HANDSHAKE, status, why);
    if (!prg_handshake_is_node_name(node))
        return answer(edge, request, PRG_EDGE_UNKNOWN_NODE, MHD_HTTP_FORBIDDEN,
                      "the header Node-Name must name the node: letters, digits, '-', '.' and '_'");
    if (!is_listed(edge, node) || (edge->options.is_known && !edge->options.is_known(node, edge->options.ctx)))
        return answer(edge, request, PRG_EDGE_UNKNOWN_NODE, MHD_HTTP_FORBIDDEN, "this node is not known here");
    if (edge->is_closing || edge->open_count >= edge->options.max_connections)
        return answer(edge, request, PRG_EDGE_TOO_MANY, MHD_HTTP_SERVICE_UNAVAILABLE, "no room for another connection");
    if (was_just_replaced(edge, node))
        return answer(edge, request, PRG_EDGE_TOO_MANY, MHD_HTTP_SERVICE_UNAVAILABLE,
                      "two Local Controllers use this node name");
    return prg_handshake_accept(request->connection, on_upgraded, edge);
}

// ---- what nodes should know ----

static char *pair(const char *ns, const char *name)
{
    struct prg_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_printf(&text, "%s/%s", ns, name);
    return prg_strbuf_steal(&text, NULL);
}

static struct job_record *record_of(struct prg_edge *edge, const char *key)
{
    struct job_record *record = prg_map_get(&edge->jobs, key);
    if (record)
        return record;
    record = prg_xcalloc(1, sizeof(*record));
    prg_map_init(&record->remarks);
    prg_map_put(&edge->jobs, key, record);
    return record;
}

static void release_models(struct prg_edge *edge, struct prg_vec *models, const char *ns)
{
    for (size_t i = 0; i < models->count; i++) {
        struct wanted_model *model = models->items[i];
        if (ns)
            prg_outbox_release(edge->outbox, model->node, "model", ns, model->name);
        free(model->node);
        free(model->name);
        free(model);
    }
    prg_vec_release(models);
}

static void free_record(struct prg_edge *edge, struct job_record *record, const char *ns)
{
    release_models(edge, &record->models, ns);
    prg_map_release(&record->remarks);
    free(record);
}

// What a node is told before it forgets a job whose folder it must leave alone: that there is no such folder, in a
// state in which it does nothing.
static const char *prelude_of(struct prg_arena *arena, const struct prg_guard_entry *entry)
{
    cJSON *object = prg_json_object(arena), *status = prg_json_object(arena), *conditions = prg_json_array(arena);
    cJSON *meta = prg_json_object(arena);
    prg_json_set_string(arena, object, "kind", PRG_KIND_JOB);
    prg_json_set_string(arena, meta, "name", entry->name);
    prg_json_set_string(arena, meta, "namespace", entry->ns);
    prg_json_set(arena, meta, "annotations", prg_json_null(arena));
    prg_json_set(arena, object, "metadata", meta);
    prg_json_append(conditions,
                    prg_job_condition_new(arena, PRG_STAGE_TRAIN, PRG_TYPE_COMPLETED, NULL, NULL, "", NULL));
    prg_json_set(arena, status, "conditions", conditions);
    prg_json_set(arena, object, "status", status);
    return prg_json_print_arena(arena, object, PRG_JSON_COMPACT);
}

static void put(struct prg_edge *edge, struct prg_arena *arena, const struct prg_guard_entry *entry, bool is_final)
{
    const char *text = entry->content ? prg_json_print_arena(arena, entry->content, PRG_JSON_ESCAPE_HTML) : NULL;
    const char *prelude = entry->is_gentle ? prelude_of(arena, entry) : NULL;
    struct prg_outbox_want want = {.kind = entry->kind,
                                   .ns = entry->ns,
                                   .name = entry->name,
                                   .text = text,
                                   .length = text ? strlen(text) : 0,
                                   .is_deletion = entry->is_deletion,
                                   .is_final = is_final,
                                   .prelude = prelude,
                                   .prelude_length = prelude ? strlen(prelude) : 0,
                                   .held = entry->held};
    const struct prg_outbox_item *item =
        prg_outbox_find(edge->outbox, entry->node, entry->kind, entry->ns, entry->name);
    if (entry->held && !(item && item->held))
        edge->stats.held++;
    prg_outbox_put(edge->outbox, entry->node, &want);
}

// Remarks that hold now; one that was not there at the last telling is passed on.
static void remark(struct prg_edge *edge, struct job_record *record, struct prg_map *now, const char *kind,
                   const cJSON *object, const char *reason, const char *message)
{
    static char mark;
    if (prg_map_put(now, message, &mark) || (record && prg_map_get(&record->remarks, message)))
        return;
    if (edge->options.remark)
        edge->options.remark(kind, prg_meta_namespace(object), prg_meta_name(object), reason, message,
                             edge->options.ctx);
}

static void remark_all(struct prg_edge *edge, struct prg_arena *arena, const struct prg_reader *store, const cJSON *job,
                       struct job_record *record, const struct prg_guard_answer *guarded)
{
    struct prg_map now;
    const cJSON *entry;
    prg_map_init(&now);
    for (const struct prg_guard_entry *e = guarded->first; e; e = e->next)
        if (e->held && e->is_for_people)
            remark(edge, record, &now, PRG_KIND_JOB, job, "EdgeMessageHeld",
                   prg_arena_printf(arena, "node %s is not told about %s %s: %s", e->node, kind_of_header(e->kind),
                                    e->name, e->held));
    prg_json_each (entry, prg_learning_outlook(arena, store, job)) {
        const char *object = prg_json_get_text(entry, "object");
        remark(edge, record, &now, PRG_KIND_JOB, job, "EdgeOutlook",
               prg_arena_printf(arena, "%s: %s%s%s: %s; %s", prg_json_get_text(entry, "stage"), object ? object : "",
                                object ? " " : "", prg_json_get_text(entry, "field"),
                                prg_json_get_text(entry, "problem"), prg_json_get_text(entry, "fix")));
    }
    prg_map_release(&record->remarks);
    record->remarks = now;
}

// Nodes that were told of the job and that the objects do not name any more.
struct leftover {
    const struct prg_guard_answer *answer;
    struct prg_vec nodes;
    bool is_deleted;
};

static void find_leftover(const char *node, const struct prg_outbox_item *item, void *ctx)
{
    struct leftover *leftover = ctx;
    if (item->is_deletion && !leftover->is_deleted)
        return;
    for (const struct prg_guard_entry *entry = leftover->answer->first; entry; entry = entry->next)
        if (strcmp(entry->kind, item->kind) == 0 && strcmp(entry->node, node) == 0)
            return;
    prg_vec_push(&leftover->nodes, (void *)node);
}

static void forget_leftovers(struct prg_edge *edge, struct prg_arena *arena, const cJSON *object, const char *kind,
                             const struct prg_guard_answer *answer, bool is_deleted)
{
    struct leftover leftover = {.answer = answer, .is_deleted = is_deleted};
    prg_outbox_each(edge->outbox, kind, prg_meta_namespace(object), prg_meta_name(object), find_leftover, &leftover);
    for (size_t i = 0; i < leftover.nodes.count; i++) {
        cJSON *content = prg_json_copy(arena, object);
        struct prg_guard_entry entry = {.node = prg_arena_strdup(arena, leftover.nodes.items[i]),
                                        .kind = kind,
                                        .ns = prg_meta_namespace(object),
                                        .name = prg_meta_name(object),
                                        .content = content,
                                        .is_deletion = true};
        prg_json_set_string(arena, content, "kind", kind_of_header(kind));
        put(edge, arena, &entry, is_deleted);
        pump_node(edge, entry.node);
    }
    prg_vec_release(&leftover.nodes);
}

static void put_all(struct prg_edge *edge, struct prg_arena *arena, const struct prg_guard_answer *answer,
                    bool is_final)
{
    for (const struct prg_guard_entry *entry = answer->first; entry; entry = entry->next)
        put(edge, arena, entry, is_final);
}

static void pump_all(struct prg_edge *edge, const struct prg_guard_answer *answer)
{
    for (const struct prg_guard_entry *entry = answer->first; entry; entry = entry->next)
        pump_node(edge, entry->node);
}

static void keep_models(struct prg_edge *edge, struct job_record *record, const struct prg_guard_answer *answer,
                        const char *ns)
{
    struct prg_vec before = record->models;
    prg_vec_init(&record->models);
    for (const struct prg_guard_entry *entry = answer->first; entry; entry = entry->next) {
        if (strcmp(entry->kind, "model") != 0)
            continue;
        struct wanted_model *model = prg_xcalloc(1, sizeof(*model));
        model->node = prg_xstrdup(entry->node);
        model->name = prg_xstrdup(entry->name);
        prg_vec_push(&record->models, model);
        prg_outbox_hold(edge->outbox, entry->node, "model", ns, entry->name);
    }
    release_models(edge, &before, ns);
}

void prg_edge_tell_job(struct prg_edge *edge, const struct prg_reader *store, const cJSON *job,
                       enum prg_learning_change change)
{
    prg_auto_arena arena;
    struct prg_guard_answer answer;
    const char *ns = prg_meta_namespace(job);
    char *key = pair(ns, prg_meta_name(job));
    prg_arena_init(&arena);
    prg_guard_job(&arena, store, job, change, &answer);
    bool is_deleted = change == PRG_CHANGE_DELETED;
    if (!is_deleted) {
        struct job_record *record = record_of(edge, key);
        remark_all(edge, &arena, store, job, record, &answer);
        if (!answer.is_unknown) {
            put_all(edge, &arena, &answer, false);
            keep_models(edge, record, &answer, ns);
        }
    } else {
        struct job_record *record = prg_map_remove(&edge->jobs, key);
        put_all(edge, &arena, &answer, true);
        if (record)
            free_record(edge, record, ns);
    }
    if (is_deleted || !answer.is_unknown)
        forget_leftovers(edge, &arena, job, "incrementallearningjob", &answer, is_deleted);
    pump_all(edge, &answer);
    free(key);
}

void prg_edge_tell_dataset(struct prg_edge *edge, const struct prg_reader *store, const cJSON *dataset,
                           enum prg_learning_change change)
{
    prg_auto_arena arena;
    struct prg_guard_answer answer;
    bool is_deleted = change == PRG_CHANGE_DELETED;
    prg_arena_init(&arena);
    prg_guard_dataset(&arena, store, dataset, change, &answer);
    char *key = pair(prg_meta_namespace(dataset), prg_meta_name(dataset));
    char *held = prg_map_get(&edge->datasets, key);
    const char *now = NULL;
    for (const struct prg_guard_entry *entry = answer.first; entry; entry = entry->next)
        if (entry->held)
            now = prg_arena_printf(&arena, "node %s is not told about it: %s", entry->node, entry->held);
    if (now && !prg_text_equal(now, held) && edge->options.remark)
        edge->options.remark(PRG_KIND_DATASET, prg_meta_namespace(dataset), prg_meta_name(dataset), "EdgeMessageHeld",
                             now, edge->options.ctx);
    free(prg_map_remove(&edge->datasets, key));
    if (now)
        prg_map_put(&edge->datasets, key, prg_xstrdup(now));
    put_all(edge, &arena, &answer, is_deleted);
    forget_leftovers(edge, &arena, dataset, "dataset", &answer, is_deleted);
    pump_all(edge, &answer);
    free(key);
}

// ---- beginning and ending ----

struct prg_edge *prg_edge_new(uv_loop_t *loop, const struct prg_edge_options *options)
{
    struct prg_edge *edge = prg_xcalloc(1, sizeof(*edge));
    struct prg_edge_options *o = &edge->options;
    edge->loop = loop;
    *o = *options;
    edge->address = prg_xstrdup(o->address ? o->address : "127.0.0.1");
    for (size_t i = 0; i < o->node_count; i++)
        prg_vec_push(&edge->allowed, prg_xstrdup(o->nodes[i]));
    o->max_message_bytes = o->max_message_bytes ? o->max_message_bytes : 1 << 20;
    o->reports_per_second = o->reports_per_second ? o->reports_per_second : 50;
    o->max_reports = o->max_reports ? o->max_reports : 256;
    o->max_connections = o->max_connections ? o->max_connections : 1000;
    o->ping_ms = o->ping_ms ? o->ping_ms : 20000;
    edge->timers = prg_timers_new(loop);
    struct prg_outbox_options outbox = {.settle_ms = o->settle_ms ? o->settle_ms : 2000,
                                        .gap_ms = o->gap_ms ? o->gap_ms : 20,
                                        .window = WINDOW,
                                        .read = on_read,
                                        .ctx = edge};
    edge->outbox = prg_outbox_new(&outbox);
    prg_map_init(&edge->links);
    prg_map_init(&edge->jobs);
    prg_map_init(&edge->datasets);
    prg_map_init(&edge->logged);
    prg_map_init(&edge->replaced);
    prg_map_init(&edge->chains);
    return edge;
}

int prg_edge_listen(struct prg_edge *edge, struct prg_error *err)
{
    struct prg_httpd_options options = {.address = edge->address,
                                        .port = edge->options.port,
                                        .with_upgrade = true,
                                        // One more than may be, so that the next can be told why it is refused.
                                        .max_connections = (unsigned)edge->options.max_connections + 64,
                                        .memory_bytes = 8192,
                                        .answer = on_request,
                                        .ctx = edge};
    if (edge->httpd)
        return PRG_OK;
    if (prg_httpd_start(edge->loop, &options, &edge->httpd, err) != PRG_OK)
        return prg_wrap(err, "edge link");
    edge->is_closing = false;
    return PRG_OK;
}

uint16_t prg_edge_port(const struct prg_edge *edge)
{
    return edge->httpd ? prg_httpd_port(edge->httpd) : 0;
}

static void on_httpd_closed(void *ctx)
{
    struct prg_edge *edge = ctx;
    edge->httpd = NULL;
    if (edge->closed)
        edge->closed(edge->closed_ctx);
}

static void on_closing(void *ctx)
{
    struct prg_edge *edge = ctx;
    if (edge->httpd)
        prg_httpd_close(edge->httpd, on_httpd_closed, edge);
    else
        on_httpd_closed(edge);
}

static void close_if_alone(struct prg_edge *edge)
{
    // Not from here: the socket of the last connection is given back a moment after this.
    if (edge->is_closing && edge->open_count == 0 && !prg_timer_is_running(&edge->closing))
        prg_timer_start(edge->timers, &edge->closing, 0, on_closing, edge);
}

void prg_edge_close(struct prg_edge *edge, void (*closed)(void *ctx), void *ctx)
{
    const struct prg_map_entry *entry;
    edge->is_closing = true;
    edge->closed = closed;
    edge->closed_ctx = ctx;
    if (edge->httpd)
        prg_httpd_quiesce(edge->httpd);
    for (size_t i = 0; (entry = prg_map_next(&edge->links, &i));)
        prg_websocket_close(((struct link *)entry->value)->ws, 1001, "the controller goes");
    close_if_alone(edge);
}

static void free_map_texts(struct prg_map *map)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(map, &i));)
        free(entry->value);
    prg_map_release(map);
}

void prg_edge_free(struct prg_edge *edge)
{
    const struct prg_map_entry *entry;
    if (!edge)
        return;
    prg_require(!edge->httpd && edge->open_count == 0);
    for (struct report *report = edge->first_report; report; report = report->next)
        report->behind = NULL;
    while (edge->first_report)
        drop_report(edge->first_report);
    prg_map_release(&edge->chains);
    for (size_t i = 0; (entry = prg_map_next(&edge->jobs, &i));)
        free_record(edge, entry->value, NULL);
    prg_map_release(&edge->jobs);
    prg_timer_stop(edge->timers, &edge->hand_out);
    prg_timer_stop(edge->timers, &edge->closing);
    prg_timer_stop(edge->timers, &edge->telling);
    prg_outbox_free(edge->outbox);
    give_notice(edge, false);
    for (size_t i = 0; i < edge->allowed.count; i++)
        free(edge->allowed.items[i]);
    prg_vec_release(&edge->allowed);
    prg_map_release(&edge->links);
    prg_map_release(&edge->logged);
    free_map_texts(&edge->datasets);
    free_map_texts(&edge->replaced);
    prg_timers_free(edge->timers);
    free(edge->address);
    free(edge);
}

// ---- asking ----

bool prg_edge_is_connected(const struct prg_edge *edge, const char *node)
{
    return prg_map_get(&edge->links, node) != NULL;
}

static void count_deletion(const char *node, const struct prg_outbox_item *item, void *ctx)
{
    size_t *count = ctx;
    (void)node;
    *count += item->is_deletion && !item->is_read;
}

size_t prg_edge_waiting_deletions(const struct prg_edge *edge, const char *kind, const char *ns, const char *name)
{
    size_t count = 0;
    prg_outbox_each(edge->outbox, header_of_kind(kind), ns, name, count_deletion, &count);
    return count;
}

const struct prg_edge_stats *prg_edge_stats(const struct prg_edge *edge)
{
    struct prg_edge_stats *stats = (struct prg_edge_stats *)&edge->stats; // counted when asked for
    stats->connected = edge->links.count;
    stats->nodes = prg_outbox_node_count(edge->outbox);
    stats->waiting_messages = prg_outbox_waiting(edge->outbox);
    stats->waiting_reports = edge->report_count;
    return stats;
}

struct explaining {
    const struct prg_edge *edge;
    struct prg_arena *arena;
    cJSON *list;
};

static void explain_item(const char *node, const struct prg_outbox_item *item, void *ctx)
{
    struct explaining *x = ctx;
    cJSON *entry = prg_json_object(x->arena);
    const char *state = item->held                                   ? "held"
                        : item->is_deletion && item->is_read         ? "read"
                        : !item->text                                ? "nothing to tell"
                        : item->sent == PRG_SENT_NOTHING             ? "waiting"
                        : item->sent_number != 0 || item->is_waiting ? "sent"
                                                                     : "read";
    prg_json_set_string(x->arena, entry, "node", node);
    prg_json_set_bool(x->arena, entry, "connected", prg_edge_is_connected(x->edge, node));
    prg_json_set_string(x->arena, entry, "operation", item->is_deletion ? "delete" : "insert");
    prg_json_set_string(x->arena, entry, "state", state);
    prg_json_set_string(x->arena, entry, "held", item->held);
    prg_json_append(x->list, entry);
}

cJSON *prg_edge_explain(const struct prg_edge *edge, struct prg_arena *arena, const char *kind, const char *ns,
                        const char *name)
{
    struct explaining x = {edge, arena, prg_json_array(arena)};
    prg_outbox_each(edge->outbox, header_of_kind(kind), ns, name, explain_item, &x);
    return x.list;
}
