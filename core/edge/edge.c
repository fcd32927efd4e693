// SPDX-License-Identifier: Apache-2.0
// edge.c: connections of nodes: who may connect, what is sent to them, when they end.
//
// A node has read a message when it answers the ping behind it: a Local Controller reads frames one by one and answers
// pings while it does.
#include "edge/edge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "edge/envelope.h"
#include "edge/handshake.h"
#include "edge/link.h"

enum {
    WINDOW = 8,             // messages that a node may leave unread
    QUEUED_BYTES = 1 << 20, // nothing more is given to a connection above it
    REPLACED_MS = 3000,     // a connection that a newer one of its name replaced so soon: two controllers, one name
    LOGGED_ONCE = 4096,     // texts remembered
};

const char *prg_edge_refusal_name(enum prg_edge_refusal refusal)
{
    static const char *const names[] = {"unknown_node", "bad_handshake", "too_many", "malformed", "too_large",
                                        "operation",    "kind",          "refused",  "unanswered"};
    _Static_assert(PRG_COUNT(names) == PRG_EDGE_REFUSALS, "a name for each");
    return names[refusal];
}
// ---- saying once ----

void prg_edge_refuse(struct prg_edge *edge, enum prg_edge_refusal refusal, const char *node, const char *why)
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

static void send_item(struct prg_edge_link *link, struct prg_outbox_item *item)
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
    prg_websocket_mark(link->ws, mark);
}

static void pump(struct prg_edge_link *link)
{
    struct prg_edge *edge = link->edge;
    struct prg_outbox_item *item;
    int64_t wait_ms = -1;
    if (!link->is_current || edge->is_closing)
        return;
    if (prg_timers_now(edge->timers) < edge->quiet_until_ms) {
        prg_timer_start(edge->timers, &link->pump, edge->quiet_until_ms - prg_timers_now(edge->timers), on_pump, link);
        return;
    }
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

void prg_edge_pump(struct prg_edge *edge, const char *node)
{
    struct prg_edge_link *link = prg_map_get(&edge->links, node);
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

static void on_read(const char *node, const struct prg_outbox_item *item, bool is_deletion, void *ctx)
{
    struct prg_edge *edge = ctx;
    edge->stats.messages_read++;
    if (!edge->options.delivered)
        return;
    struct notice *notice = notice_of(edge, node);
    notice->kind = prg_xstrdup(prg_edge_kind_of_header(item->kind));
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
// ---- events of a connection ----

static void on_message(const char *text, size_t length, void *ctx)
{
    struct prg_edge_link *link = ctx;
    link->unanswered = 0;
    prg_edge_hear(link, text, length);
}

static void on_pong(const uint8_t *bytes, size_t length, void *ctx)
{
    struct prg_edge_link *link = ctx;
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
    struct prg_edge_link *link = ctx;
    struct prg_edge *edge = link->edge;
    static const uint8_t nothing[8]; // that its answer would say was read
    if (link->unanswered >= 2) {
        prg_edge_refuse(edge, PRG_EDGE_UNANSWERED, link->node, "two pings were not answered");
        prg_websocket_drop(link->ws);
        return;
    }
    link->unanswered++;
    prg_websocket_ping(link->ws, nothing);
    prg_timer_start(edge->timers, &link->ping, edge->options.ping_ms, on_ping, link);
}

static void let_go(struct prg_edge_link *link)
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
    if (!*link->node)
        prg_outbox_drop_deletions(edge->outbox, link->node);
}

static void close_if_alone(struct prg_edge *edge);

static void on_closed(enum prg_websocket_end end, void *ctx)
{
    static const char *const ends[] = {"the node closed it", "closed here", "broken frames",
                                       "a message above the limit", "it does not read"};
    struct prg_edge_link *link = ctx;
    struct prg_edge *edge = link->edge;
    bool was_current = link->is_current;
    if (end == PRG_WEBSOCKET_MALFORMED || end == PRG_WEBSOCKET_TOO_LARGE)
        prg_edge_refuse(edge, end == PRG_WEBSOCKET_MALFORMED ? PRG_EDGE_MALFORMED : PRG_EDGE_TOO_LARGE, link->node,
                        ends[end]);
    else if (end == PRG_WEBSOCKET_NOT_READING)
        prg_edge_refuse(edge, PRG_EDGE_UNANSWERED, link->node, ends[end]);
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

static void replace(struct prg_edge *edge, struct prg_edge_link *older)
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
    struct prg_edge_link *older = prg_map_get(&edge->links, node);
    if (older)
        replace(edge, older);
    struct prg_edge_link *link = prg_xcalloc(1, sizeof(*link));
    link->edge = edge;
    link->node = prg_xstrdup(node);
    link->since_ms = link->tokens_ms = prg_timers_now(edge->timers);
    link->tokens = (double)edge->options.reports_per_second * PRG_EDGE_BURST_SECONDS;
    link->is_current = true;
    link->ws = prg_websocket_new(edge->loop, handle, fd, early, early_length, &options, link);
    prg_map_put(&edge->links, node, link);
    edge->open_count++;
    edge->stats.connections++;
    prg_edge_count_reports(link);
    prg_timer_start(edge->timers, &link->ping, edge->options.ping_ms, on_ping, link);
    prg_outbox_connect(edge->outbox, node);
    prg_timer_start(edge->timers, &link->pump, 0, on_pump, link);
    prg_log(PRG_LOG_INFO, older ? "edge node connected again" : "edge node connected", "node", node, NULL);
    if (!older)
        tell_connection(edge, node, true);
}

bool prg_edge_is_node_pattern(const char *text)
{
    char name[256] = "";
    size_t length = strlen(text);
    if (length >= sizeof(name))
        return false;
    size_t kept = length && text[length - 1] == '*' ? length - 1 : length;
    memcpy(name, text, kept);
    return length && prg_handshake_is_node_name(name);
}

static bool is_listed(const struct prg_edge *edge, const char *node)
{
    if (!edge->has_list)
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
    prg_edge_refuse(edge, refusal, prg_handshake_is_node_name(node) ? node : "", why);
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
                      "the header Node-Name may hold letters, digits, '-', '.' and '_' only, 253 at most");
    if (!is_listed(edge, node) || (edge->options.is_known && !edge->options.is_known(node, edge->options.ctx)))
        return answer(edge, request, PRG_EDGE_UNKNOWN_NODE, MHD_HTTP_FORBIDDEN, "this node is not known here");
    if (edge->is_closing || edge->open_count >= edge->options.max_connections)
        return answer(edge, request, PRG_EDGE_TOO_MANY, MHD_HTTP_SERVICE_UNAVAILABLE, "no room for another connection");
    if (was_just_replaced(edge, node))
        return answer(edge, request, PRG_EDGE_TOO_MANY, MHD_HTTP_SERVICE_UNAVAILABLE,
                      "two Local Controllers use this node name");
    return prg_handshake_accept(request->connection, on_upgraded, edge);
}
// ---- beginning and ending ----

struct prg_edge *prg_edge_new(uv_loop_t *loop, const struct prg_edge_options *options)
{
    struct prg_edge *edge = prg_xcalloc(1, sizeof(*edge));
    struct prg_edge_options *o = &edge->options;
    edge->loop = loop;
    *o = *options;
    edge->address = prg_xstrdup(o->address ? o->address : "127.0.0.1");
    edge->has_list = o->nodes != NULL;
    for (size_t i = 0; i < o->node_count; i++)
        prg_vec_push(&edge->allowed, prg_xstrdup(o->nodes[i]));
    o->max_message_bytes = o->max_message_bytes ? o->max_message_bytes : 1 << 20;
    o->reports_per_second = o->reports_per_second ? o->reports_per_second : 50;
    o->max_reports = o->max_reports ? o->max_reports : 256;
    o->max_report_bytes = o->max_report_bytes ? o->max_report_bytes : (size_t)4 << 20;
    o->max_connections = o->max_connections ? o->max_connections : 1000;
    o->ping_ms = o->ping_ms ? o->ping_ms : 20000;
    edge->timers = prg_timers_new(loop);
    o->settle_ms = o->settle_ms ? o->settle_ms : 2000;
    struct prg_outbox_options outbox = {.settle_ms = o->settle_ms,
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
                                        // More than may be, so that those above can be told why they are refused.
                                        .max_connections = (unsigned)edge->options.max_connections + 64,
                                        .memory_bytes = 8192,
                                        .answer = on_request,
                                        .ctx = edge};
    if (edge->httpd)
        return PRG_OK;
    if (prg_httpd_start(edge->loop, &options, &edge->httpd, err) != PRG_OK)
        return prg_wrap(err, "edge link");
    edge->is_closing = false;
    edge->quiet_until_ms = prg_timers_now(edge->timers) + edge->options.settle_ms;
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
        prg_websocket_close(((struct prg_edge_link *)entry->value)->ws, 1001, "the controller goes");
    close_if_alone(edge);
}

void prg_edge_forget(struct prg_edge *edge)
{
    prg_require(!edge->httpd || edge->is_closing);
    prg_outbox_clear(edge->outbox);
    prg_edge_free_told(edge);
    prg_timer_stop(edge->timers, &edge->telling);
    give_notice(edge, false);
}

void prg_edge_free(struct prg_edge *edge)
{
    const struct prg_map_entry *entry;
    if (!edge)
        return;
    prg_require(!edge->httpd && edge->open_count == 0);
    prg_edge_free_reports(edge);
    prg_timer_stop(edge->timers, &edge->closing);
    prg_edge_forget(edge);
    prg_outbox_free(edge->outbox);
    for (size_t i = 0; i < edge->allowed.count; i++)
        free(edge->allowed.items[i]);
    prg_vec_release(&edge->allowed);
    prg_map_release(&edge->links);
    prg_map_release(&edge->logged);
    for (size_t i = 0; (entry = prg_map_next(&edge->replaced, &i));)
        free(entry->value);
    prg_map_release(&edge->replaced);
    prg_timers_free(edge->timers);
    free(edge->address);
    free(edge);
}
// ---- asking ----

bool prg_edge_is_connected(const struct prg_edge *edge, const char *node)
{
    return prg_map_get(&edge->links, node) != NULL;
}
