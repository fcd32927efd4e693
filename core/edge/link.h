// SPDX-License-Identifier: Apache-2.0
// link.h: the link and its connections, as its files share them: edge.c (connections), reports.c (what nodes say),
// told.c (what they should know). Private to core/edge.
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "edge/edge.h"
#include "edge/outbox.h"
#include "edge/websocket.h"
#include "httpd/httpd.h"
#include "kube/timers.h"

enum { PRG_EDGE_BURST_SECONDS = 4 }; // of reports
enum prg_edge_pause { PRG_PAUSE_RATE = 1, PRG_PAUSE_REPORTS = 2 };

struct prg_edge_link { // one connection
    struct prg_edge *edge;
    char *node;
    struct prg_websocket *ws;
    bool is_current; // the newest of its node
    uint64_t number; // of the last message sent
    unsigned unanswered, pauses;
    size_t reports, report_bytes; // of its node, not finished
    double tokens;
    uint64_t tokens_ms, since_ms;
    struct prg_timer pump, ping, rate;
};

struct report; // reports.c

struct prg_edge {
    uv_loop_t *loop;
    struct prg_edge_options options;
    char *address;
    bool has_list; // of nodes that may connect
    struct prg_vec allowed;
    struct prg_httpd *httpd;
    struct prg_timers *timers;
    struct prg_outbox *outbox;
    struct prg_map links;    // current ones by node
    struct prg_map jobs;     // "namespace/name" → struct job_record
    struct prg_map datasets; // "namespace/name" → why it is held back (char *), as it was remarked
    struct prg_map logged;   // "reason/node" …
    struct prg_map replaced; // node → uint64_t *, until when a new connection is refused
    size_t open_count;       // connections, leaving ones too
    struct report *first_report, *last_report, *first_ready, *last_ready;
    struct prg_map chains; // the last report about each object
    size_t report_count;
    uint64_t report_number;
    struct prg_timer hand_out;
    struct prg_vec notices;
    struct prg_timer telling;
    bool is_closing;
    uint64_t quiet_until_ms; // another controller may have told the nodes something just before this one listened
    void (*closed)(void *ctx);
    void *closed_ctx;
    struct prg_timer closing;
    struct prg_edge_stats stats;
};

// Counts, and logs once for each node and reason.
void prg_edge_refuse(struct prg_edge *edge, enum prg_edge_refusal refusal, const char *node, const char *why);
// Sends what may be sent to the node now, if it is connected.
void prg_edge_pump(struct prg_edge *edge, const char *node);

// ---- reports.c ----
// Takes a message of a node: keeps it as a report, or refuses it.
void prg_edge_hear(struct prg_edge_link *link, const char *text, size_t length);
void prg_edge_pause(struct prg_edge_link *link, enum prg_edge_pause pause, bool is_set);
void prg_edge_count_reports(struct prg_edge_link *link); // of its node, that came before; too many pause it
void prg_edge_free_reports(struct prg_edge *edge);

// ---- told.c ----
const char *prg_edge_kind_of_header(const char *kind); // "dataset" → "Dataset"
void prg_edge_free_told(struct prg_edge *edge);
