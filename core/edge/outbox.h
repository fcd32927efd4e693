// SPDX-License-Identifier: Apache-2.0
// outbox.h: what each node should know, and what of it the node has read. A data structure: the caller brings the time
// and the wire. Private to core/edge and its tests.
//
// One item per node and object holds the last message alone. A node that connects is to be told every insertion again,
// and each deletion until it has read it. Between the first message about an object on a connection (the node starts
// something then) or its deletion and the next one lies the settling time, meanwhile later messages replace each other,
// but for a deletion: a node has to forget an object before it is told of it anew. Never are more than a few messages
// unread.
//
// A deletion of an object that nothing is kept about is not kept either for a node with PRG_OUTBOX_DELETIONS items: a
// node that makes up names and never reads what it is told about them costs no more than that.
#pragma once
#include "base/strbuf.h"
#include "object/reader.h"

enum { PRG_OUTBOX_DELETIONS = 5000 };

struct prg_outbox;
struct prg_outbox_node;

struct prg_outbox_item {
    const char *kind, *ns, *name; // as in headers
    bool is_deletion;
    const char *text; // content as JSON, or NULL: nothing to be sent
    size_t length;
    const char *held; // why it is not sent, or NULL
    // private
    struct prg_outbox_node *node;
    char *key, *prelude; // prelude: content of the message before a gentle deletion
    size_t prelude_length;
    uint64_t digest, order;
    unsigned wanted;    // by so many jobs; 0: once
    bool is_waiting;    // in the node's queue
    bool is_read;       // a deletion that the node has read: never told again
    bool deletes_first; // the node has to forget the object before it is told anew
    bool is_final;      // the object is gone: the item goes when its deletion has been read and has settled
    enum { PRG_SENT_NOTHING, PRG_SENT_PRELUDE, PRG_SENT_INSERTION, PRG_SENT_DELETION } sent; // on this connection
    uint64_t sent_digest, sent_number, settled_ms;
    struct prg_outbox_item *queue_next, *queue_previous, *unread_next;
    struct prg_outbox_item *object_next, *object_previous; // of other nodes, about the same object
    struct prg_outbox_item *over_next, *over_previous;     // that nobody wants, until they have settled
};

struct prg_outbox_options {
    uint64_t settle_ms, gap_ms;
    size_t window; // messages that may be unread
    // A node has read a message about item. May call nothing here. NULL is fine.
    void (*read)(const char *node, const struct prg_outbox_item *item, bool is_deletion, void *ctx);
    void *ctx;
};

struct prg_outbox_want { // borrowed during the call
    const char *kind, *ns, *name;
    const char *text; // NULL: nothing to be sent now, but the node may go on knowing the object
    size_t length;
    bool is_deletion, is_final;
    bool deletes_first;  // an insertion: the node has to forget the object before
    const char *prelude; // of a deletion: content to be told first, or NULL
    size_t prelude_length;
    const char *held; // or NULL
};

struct prg_outbox *prg_outbox_new(const struct prg_outbox_options *options);
void prg_outbox_free(struct prg_outbox *outbox); // NULL is fine
// Nothing is known of what nodes should know, or were told. Connections stay.
void prg_outbox_clear(struct prg_outbox *outbox);

void prg_outbox_put(struct prg_outbox *outbox, const char *node, const struct prg_outbox_want *want);
// Says that a job wants item (a model) to be known, or no more so: with the last one it is not told again.
void prg_outbox_hold(struct prg_outbox *outbox, const char *node, const char *kind, const char *ns, const char *name);
void prg_outbox_release(struct prg_outbox *outbox, const char *node, const char *kind, const char *ns,
                        const char *name);

// Nothing is known about item any more.
void prg_outbox_drop(struct prg_outbox *outbox, const char *node, const char *kind, const char *ns, const char *name);
void prg_outbox_drop_deletions(struct prg_outbox *outbox, const char *node);

void prg_outbox_connect(struct prg_outbox *outbox, const char *node); // everything is to be told anew
void prg_outbox_disconnect(struct prg_outbox *outbox, const char *node);
// The next message for a connected node: what is sent is told by prg_outbox_sent. NULL: none now; ret_wait_ms is when
// to ask again, -1 when something has to happen first.
struct prg_outbox_item *prg_outbox_next(struct prg_outbox *outbox, const char *node, uint64_t now_ms,
                                        int64_t *ret_wait_ms);
// The operation and content of item's next message.
bool prg_outbox_message(const struct prg_outbox_item *item, const char **ret_text, size_t *ret_length); // is deletion
void prg_outbox_sent(struct prg_outbox *outbox, struct prg_outbox_item *item, uint64_t number, uint64_t now_ms);
// The node has read all messages up to number.
void prg_outbox_acknowledge(struct prg_outbox *outbox, const char *node, uint64_t number);

const struct prg_outbox_item *prg_outbox_find(const struct prg_outbox *outbox, const char *node, const char *kind,
                                              const char *ns, const char *name);
// Every node that has an item about the object, sorted by node.
typedef void (*prg_outbox_visit_fn)(const char *node, const struct prg_outbox_item *item, void *ctx);
void prg_outbox_each(const struct prg_outbox *outbox, const char *kind, const char *ns, const char *name,
                     prg_outbox_visit_fn visit, void *ctx);
size_t prg_outbox_node_count(const struct prg_outbox *outbox);
size_t prg_outbox_waiting(const struct prg_outbox *outbox); // messages that no node has read yet, held ones aside
size_t prg_outbox_held(const struct prg_outbox *outbox);    // for tests
