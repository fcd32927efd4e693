// SPDX-License-Identifier: Apache-2.0
// outbox.c: items by node and object, a queue of those to be told for each connected node, and the list of what it has
// not read yet.
#include "edge/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

enum { UPDATE_GAP_MS = 200 }; // between two messages about one object: a node handles each on its own

struct prg_outbox_node {
    struct prg_outbox *outbox;
    char *name;
    struct prg_map items; // by "kind/namespace/name"
    bool is_connected;
    uint64_t next_ms; // not before
    size_t unread_count;
    struct prg_outbox_item *queue_first, *queue_last, *unread_first, *unread_last;
};

struct prg_outbox {
    struct prg_outbox_options options;
    struct prg_map nodes;
    struct prg_map objects; // "kind/namespace/name" → struct prg_outbox_item, the first of the nodes' items about it
    uint64_t order, now_ms; // now_ms: as last told
    size_t waiting, held;
    struct prg_outbox_item *over_first, *over_last; // that nobody wants, until they have settled
};

struct prg_outbox *prg_outbox_new(const struct prg_outbox_options *options)
{
    struct prg_outbox *outbox = prg_xcalloc(1, sizeof(*outbox));
    outbox->options = *options;
    prg_map_init(&outbox->nodes);
    prg_map_init(&outbox->objects);
    return outbox;
}

static char *key_of(const char *kind, const char *ns, const char *name)
{
    struct prg_strbuf key = PRG_STRBUF_INIT;
    prg_strbuf_printf(&key, "%s/%s/%s", kind, ns, name);
    return prg_strbuf_steal(&key, NULL);
}

static struct prg_outbox_node *node_of(struct prg_outbox *outbox, const char *name)
{
    struct prg_outbox_node *node = prg_map_get(&outbox->nodes, name);
    if (node)
        return node;
    node = prg_xcalloc(1, sizeof(*node));
    node->outbox = outbox;
    node->name = prg_xstrdup(name);
    prg_map_init(&node->items);
    prg_map_put(&outbox->nodes, name, node);
    return node;
}

// ---- counting: an item is waiting when its node has something to read about it ----

static bool is_due(const struct prg_outbox_item *item)
{
    if (!item->text || item->is_read)
        return false;
    if (item->sent == (item->is_deletion ? PRG_SENT_DELETION : PRG_SENT_INSERTION) && item->sent_digest == item->digest)
        return item->sent_number != 0; // sent, not read
    return true;
}

static void count(struct prg_outbox *outbox, const struct prg_outbox_item *item, size_t step)
{
    if (!is_due(item))
        return;
    if (item->held)
        outbox->held += step;
    else
        outbox->waiting += step;
}

// ---- the two lists ----

static void enqueue(struct prg_outbox_item *item)
{
    struct prg_outbox_node *node = item->node;
    if (item->is_waiting)
        return;
    item->is_waiting = true;
    item->queue_next = NULL;
    item->queue_previous = node->queue_last;
    if (node->queue_last)
        node->queue_last->queue_next = item;
    else
        node->queue_first = item;
    node->queue_last = item;
}

static void dequeue(struct prg_outbox_item *item)
{
    struct prg_outbox_node *node = item->node;
    if (!item->is_waiting)
        return;
    item->is_waiting = false;
    if (item->queue_previous)
        item->queue_previous->queue_next = item->queue_next;
    else
        node->queue_first = item->queue_next;
    if (item->queue_next)
        item->queue_next->queue_previous = item->queue_previous;
    else
        node->queue_last = item->queue_previous;
}

static void unlink_unread(struct prg_outbox_item *item)
{
    struct prg_outbox_node *node = item->node;
    struct prg_outbox_item **link = &node->unread_first, *before = NULL;
    while (*link && *link != item) {
        before = *link;
        link = &(*link)->unread_next;
    }
    if (!*link)
        return;
    *link = item->unread_next;
    if (node->unread_last == item)
        node->unread_last = before;
    item->unread_next = NULL;
    node->unread_count--;
}

static void append_unread(struct prg_outbox_item *item)
{
    struct prg_outbox_node *node = item->node;
    item->unread_next = NULL;
    if (node->unread_last)
        node->unread_last->unread_next = item;
    else
        node->unread_first = item;
    node->unread_last = item;
    node->unread_count++;
}

// ---- all items about an object ----

static void join_object(struct prg_outbox *outbox, struct prg_outbox_item *item)
{
    struct prg_outbox_item *first = prg_map_put(&outbox->objects, item->key, item);
    item->object_next = first;
    if (first)
        first->object_previous = item;
}

static void leave_object(struct prg_outbox *outbox, struct prg_outbox_item *item)
{
    if (item->object_next)
        item->object_next->object_previous = item->object_previous;
    if (item->object_previous)
        item->object_previous->object_next = item->object_next;
    else if (item->object_next)
        prg_map_put(&outbox->objects, item->key, item->object_next);
    else
        prg_map_remove(&outbox->objects, item->key);
}

static bool is_over(const struct prg_outbox_item *item)
{
    return item->over_previous || item->node->outbox->over_first == item;
}

static void unlink_over(struct prg_outbox_item *item)
{
    struct prg_outbox *outbox = item->node->outbox;
    if (!is_over(item))
        return;
    *(item->over_previous ? &item->over_previous->over_next : &outbox->over_first) = item->over_next;
    *(item->over_next ? &item->over_next->over_previous : &outbox->over_last) = item->over_previous;
    item->over_next = item->over_previous = NULL;
}

static void drop_item(struct prg_outbox_item *item)
{
    dequeue(item);
    unlink_unread(item);
    unlink_over(item);
    leave_object(item->node->outbox, item);
    prg_map_remove(&item->node->items, item->key);
    free(item->key);
    free((char *)item->kind);
    free((char *)item->ns);
    free((char *)item->name);
    free((char *)item->text);
    free((char *)item->held);
    free(item->prelude);
    free(item);
}

// Nobody wants it. What is told of the object after all is not told before it has settled. The node may be empty then.
static void drop_when_settled(struct prg_outbox_item *item)
{
    struct prg_outbox *outbox = item->node->outbox;
    if (item->settled_ms <= outbox->now_ms) {
        drop_item(item);
    } else if (!is_over(item)) {
        item->over_previous = outbox->over_last;
        *(outbox->over_last ? &outbox->over_last->over_next : &outbox->over_first) = item;
        outbox->over_last = item;
    }
}

static void drop_node_if_empty(struct prg_outbox *outbox, struct prg_outbox_node *node)
{
    if (node->is_connected || node->items.count)
        return;
    prg_map_remove(&outbox->nodes, node->name);
    prg_map_release(&node->items);
    free(node->name);
    free(node);
}

void prg_outbox_clear(struct prg_outbox *outbox)
{
    const struct prg_map_entry *entry, *item;
    for (size_t i = 0; (entry = prg_map_next(&outbox->nodes, &i));) {
        struct prg_outbox_node *node = entry->value;
        for (size_t k = 0; (item = prg_map_next(&node->items, &k));)
            drop_item(item->value);
        drop_node_if_empty(outbox, node);
    }
    outbox->waiting = outbox->held = 0;
}

void prg_outbox_free(struct prg_outbox *outbox)
{
    const struct prg_map_entry *entry;
    if (!outbox)
        return;
    for (size_t i = 0; (entry = prg_map_next(&outbox->nodes, &i));)
        ((struct prg_outbox_node *)entry->value)->is_connected = false;
    prg_outbox_clear(outbox);
    prg_map_release(&outbox->nodes);
    prg_map_release(&outbox->objects);
    free(outbox);
}

// ---- wanting ----

static struct prg_outbox_item *item_of(struct prg_outbox *outbox, struct prg_outbox_node *node, const char *kind,
                                       const char *ns, const char *name)
{
    char *key = key_of(kind, ns, name);
    struct prg_outbox_item *item = prg_map_get(&node->items, key);
    if (item) {
        free(key);
        return item;
    }
    item = prg_xcalloc(1, sizeof(*item));
    item->node = node;
    item->key = key;
    item->kind = prg_xstrdup(kind);
    item->ns = prg_xstrdup(ns);
    item->name = prg_xstrdup(name);
    item->order = ++outbox->order;
    prg_map_put(&node->items, key, item);
    join_object(outbox, item);
    return item;
}

static void replace_text(char **text, size_t *length, const char *value, size_t value_length)
{
    free(*text);
    *text = value ? prg_xstrndup(value, value_length) : NULL;
    *length = value ? value_length : 0;
}

// Whether item has to be in its node's queue.
static void requeue(struct prg_outbox_item *item)
{
    bool is_wanted = item->node->is_connected && is_due(item) && !item->held && item->sent_number == 0;
    if (!is_wanted)
        dequeue(item);
    else
        enqueue(item);
}

void prg_outbox_put(struct prg_outbox *outbox, const char *name, const struct prg_outbox_want *want)
{
    struct prg_outbox_node *node = node_of(outbox, name);
    if (want->is_deletion && node->items.count >= PRG_OUTBOX_DELETIONS &&
        !prg_outbox_find(outbox, name, want->kind, want->ns, want->name))
        return;
    struct prg_outbox_item *item = item_of(outbox, node, want->kind, want->ns, want->name);
    count(outbox, item, (size_t)-1);
    unlink_over(item);
    if (!want->is_deletion && item->is_deletion && !item->is_read && item->sent_number == 0 &&
        item->sent == PRG_SENT_DELETION)
        item->sent = PRG_SENT_NOTHING; // that was another deletion: this one is to be sent and read too
    bool is_repeated = want->is_deletion && item->is_deletion;             // what a deletion says does not matter
    bool forgets = want->deletes_first && item->sent != PRG_SENT_DELETION; // it may just have read that it is to
    item->deletes_first =
        !want->is_deletion && (forgets || item->deletes_first || (item->is_deletion && !item->is_read));
    if (item->is_deletion != want->is_deletion || !want->is_deletion)
        item->is_read = false;
    if (want->is_final && !item->is_final && item->sent == PRG_SENT_DELETION && item->sent_number == 0) {
        item->is_read = false; // the node forgot it for a while; now it is gone for good, and said so once more
        item->sent = PRG_SENT_NOTHING;
    }
    item->is_deletion = want->is_deletion;
    item->is_final = want->is_final;
    if (!is_repeated || !item->text) {
        size_t length = item->length;
        char *text = (char *)item->text;
        replace_text(&text, &length, want->text, want->length);
        item->text = text;
        item->length = length;
        if (!item->deletes_first || want->prelude)
            replace_text(&item->prelude, &item->prelude_length, want->prelude, want->prelude_length);
        item->digest = want->text ? prg_map_hash(want->text, want->length) : 0;
    }
    free((char *)item->held);
    item->held = want->held ? prg_xstrdup(want->held) : NULL;
    bool is_deleting = item->deletes_first && item->sent == PRG_SENT_DELETION; // that is to be read
    if (item->sent_number && !is_repeated && !is_deleting && item->text &&
        (item->sent_digest != item->digest || (item->sent == PRG_SENT_DELETION) != item->is_deletion)) {
        unlink_unread(item); // the answer for the older message is of no interest any more
        item->sent_number = 0;
    }
    count(outbox, item, 1);
    requeue(item);
    if (item->is_final && item->is_read) {
        drop_when_settled(item);
        drop_node_if_empty(outbox, node);
    }
}

void prg_outbox_hold(struct prg_outbox *outbox, const char *node, const char *kind, const char *ns, const char *name)
{
    struct prg_outbox_item *item = (struct prg_outbox_item *)prg_outbox_find(outbox, node, kind, ns, name);
    if (item)
        item->wanted++;
}

void prg_outbox_release(struct prg_outbox *outbox, const char *node, const char *kind, const char *ns, const char *name)
{
    struct prg_outbox_item *item = (struct prg_outbox_item *)prg_outbox_find(outbox, node, kind, ns, name);
    if (!item || (item->wanted > 0 && --item->wanted > 0))
        return;
    struct prg_outbox_node *owner = item->node;
    count(outbox, item, (size_t)-1);
    unlink_unread(item);
    dequeue(item);
    free((char *)item->text);
    item->text = NULL;
    item->length = 0;
    item->sent = PRG_SENT_NOTHING;
    item->sent_number = 0;
    drop_when_settled(item);
    drop_node_if_empty(outbox, owner);
}

void prg_outbox_drop(struct prg_outbox *outbox, const char *node, const char *kind, const char *ns, const char *name)
{
    struct prg_outbox_item *item = (struct prg_outbox_item *)prg_outbox_find(outbox, node, kind, ns, name);
    if (!item)
        return;
    struct prg_outbox_node *owner = item->node;
    count(outbox, item, (size_t)-1);
    drop_item(item);
    drop_node_if_empty(outbox, owner);
}

void prg_outbox_drop_deletions(struct prg_outbox *outbox, const char *name)
{
    struct prg_outbox_node *node = prg_map_get(&outbox->nodes, name);
    const struct prg_map_entry *entry;
    for (size_t i = 0; node && (entry = prg_map_next(&node->items, &i));) {
        struct prg_outbox_item *item = entry->value;
        if (!item->is_deletion)
            continue;
        count(outbox, item, (size_t)-1);
        drop_item(item);
    }
    if (node)
        drop_node_if_empty(outbox, node);
}

// ---- connections ----

// Datasets and models before the jobs that need them.
static int rank_of(const struct prg_outbox_item *item)
{
    return strcmp(item->kind, "dataset") == 0 ? 0 : strcmp(item->kind, "model") == 0 ? 1 : 2;
}

static int compare_items(const void *a, const void *b, void *ctx)
{
    const struct prg_outbox_item *x = a, *y = b;
    (void)ctx;
    if (rank_of(x) != rank_of(y))
        return rank_of(x) - rank_of(y);
    return x->order < y->order ? -1 : x->order > y->order;
}

static void forget_connection(struct prg_outbox *outbox, struct prg_outbox_node *node)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&node->items, &i));) {
        struct prg_outbox_item *item = entry->value;
        count(outbox, item, (size_t)-1);
        dequeue(item);
        item->sent = PRG_SENT_NOTHING;
        item->sent_number = 0; // but it settles as before: perhaps only the connection broke
        item->unread_next = NULL;
        count(outbox, item, 1);
    }
    node->unread_first = node->unread_last = NULL;
    node->unread_count = 0;
    node->next_ms = 0;
}

void prg_outbox_connect(struct prg_outbox *outbox, const char *name)
{
    struct prg_outbox_node *node = node_of(outbox, name);
    const struct prg_map_entry *entry;
    struct prg_vec items;
    forget_connection(outbox, node);
    node->is_connected = true;
    prg_vec_init(&items);
    for (size_t i = 0; (entry = prg_map_next(&node->items, &i));)
        prg_vec_push(&items, entry->value);
    prg_vec_sort(&items, compare_items, NULL);
    for (size_t i = 0; i < items.count; i++)
        requeue(items.items[i]);
    prg_vec_release(&items);
}

void prg_outbox_disconnect(struct prg_outbox *outbox, const char *name)
{
    struct prg_outbox_node *node = prg_map_get(&outbox->nodes, name);
    if (!node)
        return;
    node->is_connected = false;
    forget_connection(outbox, node);
    drop_node_if_empty(outbox, node);
}

// ---- telling ----

static void drop_over(struct prg_outbox *outbox)
{
    struct prg_outbox_item *item = outbox->over_first, *next;
    for (; item && item->settled_ms <= outbox->now_ms; item = next) {
        struct prg_outbox_node *owner = item->node;
        next = item->over_next;
        drop_item(item);
        drop_node_if_empty(outbox, owner);
    }
}

struct prg_outbox_item *prg_outbox_next(struct prg_outbox *outbox, const char *name, uint64_t now_ms,
                                        int64_t *ret_wait_ms)
{
    uint64_t soonest = UINT64_MAX;
    *ret_wait_ms = -1;
    outbox->now_ms = now_ms;
    drop_over(outbox);
    struct prg_outbox_node *node = prg_map_get(&outbox->nodes, name);
    if (!node || !node->is_connected || node->unread_count >= outbox->options.window)
        return NULL;
    for (struct prg_outbox_item *item = node->queue_first; item; item = item->queue_next) {
        uint64_t due = item->settled_ms > node->next_ms ? item->settled_ms : node->next_ms;
        if (due <= now_ms)
            return item;
        if (due < soonest)
            soonest = due;
        if (node->next_ms > now_ms && item->settled_ms <= node->next_ms)
            break; // nothing behind it is due any sooner
    }
    if (soonest != UINT64_MAX)
        *ret_wait_ms = (int64_t)(soonest - now_ms);
    return NULL;
}

static bool is_deletion_next(const struct prg_outbox_item *item)
{
    return item->is_deletion || (item->deletes_first && item->sent != PRG_SENT_DELETION);
}

static bool is_prelude_next(const struct prg_outbox_item *item)
{
    return is_deletion_next(item) && item->prelude && item->sent != PRG_SENT_PRELUDE && item->sent != PRG_SENT_DELETION;
}

bool prg_outbox_message(const struct prg_outbox_item *item, const char **ret_text, size_t *ret_length)
{
    bool is_prelude = is_prelude_next(item);
    *ret_text = is_prelude ? item->prelude : item->text;
    *ret_length = is_prelude ? item->prelude_length : item->length;
    return is_deletion_next(item) && !is_prelude;
}

void prg_outbox_sent(struct prg_outbox *outbox, struct prg_outbox_item *item, uint64_t number, uint64_t now_ms)
{
    bool is_deletion = is_deletion_next(item);
    bool is_first = item->sent != PRG_SENT_INSERTION && item->sent != PRG_SENT_PRELUDE;
    item->node->next_ms = now_ms + outbox->options.gap_ms;
    dequeue(item);
    if (is_prelude_next(item)) {
        item->sent = PRG_SENT_PRELUDE;
        item->settled_ms = now_ms + outbox->options.settle_ms;
        enqueue(item);
        return;
    }
    item->sent = is_deletion ? PRG_SENT_DELETION : PRG_SENT_INSERTION;
    item->sent_digest = item->digest;
    item->sent_number = number;
    item->settled_ms = now_ms + (is_first || is_deletion ? outbox->options.settle_ms : UPDATE_GAP_MS);
    append_unread(item);
}

void prg_outbox_acknowledge(struct prg_outbox *outbox, const char *name, uint64_t number)
{
    struct prg_outbox_node *node = prg_map_get(&outbox->nodes, name);
    struct prg_outbox_item *item, *next = NULL;
    for (item = node ? node->unread_first : NULL; item && item->sent_number <= number; item = next) {
        next = item->unread_next;
        bool is_deletion = item->sent == PRG_SENT_DELETION;
        count(outbox, item, (size_t)-1);
        unlink_unread(item);
        item->sent_number = 0;
        item->is_read = is_deletion && item->is_deletion;
        if (is_deletion)
            item->deletes_first = false;
        count(outbox, item, 1);
        if (outbox->options.read)
            outbox->options.read(node->name, item, is_deletion, outbox->options.ctx);
        if (item->is_read && item->is_final)
            drop_when_settled(item);
        else
            requeue(item);
    }
    if (node)
        drop_node_if_empty(outbox, node);
}

// ---- asking ----

const struct prg_outbox_item *prg_outbox_find(const struct prg_outbox *outbox, const char *name, const char *kind,
                                              const char *ns, const char *object)
{
    const struct prg_outbox_node *node = prg_map_get(&outbox->nodes, name);
    char *key = key_of(kind, ns, object);
    const struct prg_outbox_item *item = node ? prg_map_get(&node->items, key) : NULL;
    free(key);
    return item;
}

static int compare_nodes(const void *a, const void *b, void *ctx)
{
    const struct prg_outbox_item *x = a, *y = b;
    (void)ctx;
    return strcmp(x->node->name, y->node->name);
}

void prg_outbox_each(const struct prg_outbox *outbox, const char *kind, const char *ns, const char *name,
                     prg_outbox_visit_fn visit, void *ctx)
{
    char *key = key_of(kind, ns, name);
    struct prg_vec items;
    prg_vec_init(&items);
    for (struct prg_outbox_item *item = prg_map_get(&outbox->objects, key); item; item = item->object_next)
        prg_vec_push(&items, item);
    prg_vec_sort(&items, compare_nodes, NULL);
    for (size_t i = 0; i < items.count; i++) {
        const struct prg_outbox_item *item = items.items[i];
        visit(item->node->name, item, ctx);
    }
    prg_vec_release(&items);
    free(key);
}

size_t prg_outbox_node_count(const struct prg_outbox *outbox)
{
    return outbox->nodes.count;
}

size_t prg_outbox_waiting(const struct prg_outbox *outbox)
{
    return outbox->waiting;
}

size_t prg_outbox_held(const struct prg_outbox *outbox)
{
    return outbox->held;
}
