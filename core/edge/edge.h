// SPDX-License-Identifier: Apache-2.0
// edge.h: the link to the edge nodes: a WebSocket server for the Local Controllers of Sedna, on a libuv loop.
//
// What nodes should know is derived from the objects alone: the driver tells each job and each Dataset once at start
// and whenever it changes; the link works out the messages (core/learning/messages.h), takes from them what a Local
// Controller would not survive (edge/guard.h), and keeps for each node the last message per object until the node has
// read it. A node that connects again is told everything that it should know. Reports are kept until the driver has
// stored them: a Local Controller never repeats one.
//
// A node without a name ("") is a node like any other, but nobody knows which it is: what it should forget is told to
// it while it is there, and not kept for it.
//
// One thread. Callbacks but remark come from the loop, never from within a call of this header; they may call anything
// here but prg_edge_free. Texts and trees in callbacks are borrowed for the call, reports until prg_edge_report_finish.
#pragma once
#include <uv.h>

#include "learning/messages.h"
#include "object/reader.h"

struct prg_edge;

// ---- reports of nodes ----

struct prg_edge_report { // operation "status"; lives until it is finished
    const char *node;
    const char *kind; // "IncrementalLearningJob" or "Dataset"; other kinds are refused before
    const char *ns, *name;
    const cJSON *content; // the decoded content: object, or null; positions are those within the content's own text
    const char *text;     // that text
    size_t length;
    uint64_t number;   // counts up; for logs
    unsigned attempts; // how often it was handed out before
    int64_t received_ns;
};

enum prg_edge_outcome {
    PRG_EDGE_STORED,  // done with
    PRG_EDGE_REFUSED, // done with: counted as refused, logged once for each node and text
    PRG_EDGE_RETRY,   // handed out again after a pause (1 s, doubled up to 60 s)
};

// ---- what is told ----

enum prg_edge_refusal {     // counters of prg_edge_stats.refused
    PRG_EDGE_UNKNOWN_NODE,  // handshake: not in the allow list, not known, or no proper name
    PRG_EDGE_BAD_HANDSHAKE, // no WebSocket request, foreign Origin
    PRG_EDGE_TOO_MANY,      // handshake: connection limit
    PRG_EDGE_MALFORMED,     // not JSON, not base64, broken frames: the connection is closed
    PRG_EDGE_TOO_LARGE,     // closed with 1009
    PRG_EDGE_OPERATION,     // not "status"
    PRG_EDGE_KIND,          // no job or Dataset
    PRG_EDGE_BY_DRIVER,     // PRG_EDGE_REFUSED
    PRG_EDGE_UNANSWERED,    // closed: two pings without an answer, or a reader that does not read
    PRG_EDGE_REFUSALS
};
const char *prg_edge_refusal_name(enum prg_edge_refusal refusal); // "unknown_node" …: label of a metric

struct prg_edge_stats {
    size_t connected;                                  // nodes
    size_t nodes;                                      // with anything to know, connected or not
    size_t waiting_messages;                           // to nodes, not read yet
    size_t waiting_reports;                            // handed out or not, not finished
    uint64_t connections;                              // accepted since the start
    uint64_t messages_sent, messages_read, bytes_sent; // read: the node answered a ping behind it
    uint64_t reports, bytes_received;
    uint64_t held; // messages held back by a guard, ever
    uint64_t refused[PRG_EDGE_REFUSALS];
};

// ---- the link ----

struct prg_edge_options {
    const char *address;      // NULL: "127.0.0.1"; IPv4 or IPv6, no name
    uint16_t port;            // 0: any that is free, see prg_edge_port
    const char *const *nodes; // allow list of prg_edge_is_node_pattern; empty: nobody; NULL: all
    size_t node_count;
    bool (*is_known)(const char *node, void *ctx); // asked besides the list, at each handshake; NULL: all are
    size_t max_message_bytes;                      // of a report, 0: 1 MiB
    unsigned reports_per_second;                   // per node, read later above it; 0: 50, bursts of four times that
    size_t max_reports;                            // per node that wait; above it nothing is read from the node; 0: 256
    size_t max_report_bytes;                       // of their messages, likewise; 0: 4 MiB
    size_t max_connections;                        // 0: 1000
    unsigned ping_ms;                              // 0: 20000; two pings without an answer end a connection
    unsigned settle_ms; // between the first message about an object (or its deletion) and the next; 0: 2000
    unsigned gap_ms;    // between two messages to a node; 0: 20

    void (*report)(const struct prg_edge_report *report, void *ctx);    // required; must end in prg_edge_report_finish
    void (*connection)(const char *node, bool is_connected, void *ctx); // may be NULL
    // A node has read a message. For deletions: what waits for them may go on. May be NULL.
    void (*delivered)(const char *node, const char *kind, const char *ns, const char *name, bool is_deletion,
                      void *ctx);
    // Something that an edge node will not do, or is not asked to do, about a job or Dataset: once per text while it
    // holds, for an Event of type Warning. Comes from within prg_edge_tell_*. May be NULL.
    void (*remark)(const char *kind, const char *ns, const char *name, const char *reason, const char *message,
                   void *ctx);
    void *ctx;
};

// An entry of an allow list: what can be the name of a node, or the beginning of one and "*" for any rest.
bool prg_edge_is_node_pattern(const char *text);
// Nothing listens yet. Options are copied (the lists too).
struct prg_edge *prg_edge_new(uv_loop_t *loop, const struct prg_edge_options *options);
// Begins to accept nodes. PRG_IO when the address is taken, PRG_INVALID when it is none.
int prg_edge_listen(struct prg_edge *edge, struct prg_error *err) PRG_MUST_USE;
uint16_t prg_edge_port(const struct prg_edge *edge); // 0: not listening
// Stops accepting, tells every node that it goes (1001) and calls closed from the loop when all sockets are gone, after
// at most two seconds. prg_edge_listen begins anew (a replica that leads again).
void prg_edge_close(struct prg_edge *edge, void (*closed)(void *ctx), void *ctx);
// Everything is to be told anew, also what nodes have read: another controller may have told them otherwise since.
// After prg_edge_close was called, before prg_edge_listen. Reports that are not finished stay.
void prg_edge_forget(struct prg_edge *edge);
// After prg_edge_close has called closed, or when it never listened. Its last handle goes when the loop runs once more.
// NULL is fine. Reports that are not finished are lost.
void prg_edge_free(struct prg_edge *edge);

// A job or Dataset as stored now. PRG_CHANGE_STORED for each one at start and whenever it, or a Model, Dataset or
// Secret that it names, changed; PRG_CHANGE_DELETED with the last that is known of it. The same thing told twice sends
// nothing twice. deployed: as of prg_guard_job; a node's are taken out when delivered says that it read a deletion.
void prg_edge_tell_job(struct prg_edge *edge, const struct prg_reader *store, const cJSON *job, const cJSON *deployed,
                       enum prg_learning_change change);
void prg_edge_tell_dataset(struct prg_edge *edge, const struct prg_reader *store, const cJSON *dataset,
                           enum prg_learning_change change);

void prg_edge_report_finish(struct prg_edge *edge, const struct prg_edge_report *report, enum prg_edge_outcome outcome,
                            const char *why); // why: for the log, NULL is fine

bool prg_edge_is_connected(const struct prg_edge *edge, const char *node);
// Deletions of this object that a node has not read yet. kind as in a report.
size_t prg_edge_waiting_deletions(const struct prg_edge *edge, const char *kind, const char *ns, const char *name);
// They are not waited for any longer: forgotten and logged. A node that comes back all the same is told when it
// reports.
void prg_edge_give_up_deletions(struct prg_edge *edge, const char *kind, const char *ns, const char *name);
const struct prg_edge_stats *prg_edge_stats(const struct prg_edge *edge);
