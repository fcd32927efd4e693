// SPDX-License-Identifier: Apache-2.0
// workqueue.c: a binary heap of (due time, arrival) over items found by key.
#include "controller/workqueue.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/meters.h"

struct item {
    char *key;
    uint64_t due_ms, arrival;
    unsigned failures;
    size_t heap_index; // from 1; 0: not waiting
    bool processing;
    bool dirty; // added while processing
    uint64_t dirty_due_ms, taken_ms;
};

struct prg_workqueue {
    const char *controller; // for meters, NULL: not counted
    struct prg_backoff backoff;
    struct prg_map items;
    struct item **heap; // [1..count]
    size_t count, cap;
    uint64_t arrivals;
};

struct prg_workqueue *prg_workqueue_new(const struct prg_backoff *backoff)
{
    struct prg_workqueue *queue = prg_xcalloc(1, sizeof(*queue));
    queue->backoff = *backoff;
    prg_map_init(&queue->items);
    return queue;
}

struct prg_workqueue *prg_workqueue_of(const char *controller, unsigned *workers, const struct prg_backoff *backoff)
{
    struct prg_workqueue *queue = prg_workqueue_new(backoff);
    queue->controller = controller;
    if (!*workers)
        *workers = 1;
    prg_meter_workers(controller, 0, (int)*workers);
    return queue;
}

static void count_depth(const struct prg_workqueue *queue)
{
    if (queue->controller)
        prg_meter_queue_depth(queue->controller, queue->count);
}

static void free_item(struct item *item)
{
    free(item->key);
    free(item);
}

void prg_workqueue_free(struct prg_workqueue *queue)
{
    const struct prg_map_entry *entry;
    if (!queue)
        return;
    for (size_t i = 0; (entry = prg_map_next(&queue->items, &i));)
        free_item(entry->value);
    prg_map_release(&queue->items);
    free(queue->heap);
    free(queue);
}

static bool is_before(const struct item *a, const struct item *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->arrival < b->arrival;
}

static void place(struct prg_workqueue *queue, size_t index, struct item *item)
{
    queue->heap[index] = item;
    item->heap_index = index;
}

static void sift_up(struct prg_workqueue *queue, size_t index)
{
    struct item *item = queue->heap[index];
    for (; index > 1 && is_before(item, queue->heap[index / 2]); index /= 2)
        place(queue, index, queue->heap[index / 2]);
    place(queue, index, item);
}

static void sift_down(struct prg_workqueue *queue, size_t index)
{
    struct item *item = queue->heap[index];
    for (size_t child; (child = index * 2) <= queue->count; index = child) {
        if (child < queue->count && is_before(queue->heap[child + 1], queue->heap[child]))
            child++;
        if (!is_before(queue->heap[child], item))
            break;
        place(queue, index, queue->heap[child]);
    }
    place(queue, index, item);
}

static struct item *get_item(struct prg_workqueue *queue, const char *key)
{
    struct item *item = prg_map_get(&queue->items, key);
    if (!item) {
        item = prg_xcalloc(1, sizeof(*item));
        item->key = prg_xstrdup(key);
        prg_map_put(&queue->items, key, item);
    }
    return item;
}

static void push(struct prg_workqueue *queue, struct item *item, uint64_t due_ms)
{
    if (item->heap_index) {
        if (due_ms >= item->due_ms)
            return;
        item->due_ms = due_ms;
        sift_up(queue, item->heap_index);
        return;
    }
    if (queue->count + 1 >= queue->cap) {
        queue->cap = queue->cap ? queue->cap * 2 : 64;
        queue->heap = prg_xrealloc(queue->heap, queue->cap * sizeof(struct item *));
    }
    item->due_ms = due_ms;
    item->arrival = queue->arrivals++;
    place(queue, ++queue->count, item);
    sift_up(queue, queue->count);
    if (queue->controller)
        prg_meter_queue_added(queue->controller);
    count_depth(queue);
}

void prg_workqueue_add_after(struct prg_workqueue *queue, const char *key, uint64_t now_ms, uint64_t delay_ms)
{
    struct item *item = get_item(queue, key);
    uint64_t due_ms = now_ms + delay_ms;
    if (!item->processing) {
        push(queue, item, due_ms);
        return;
    }
    if (!item->dirty || due_ms < item->dirty_due_ms)
        item->dirty_due_ms = due_ms;
    item->dirty = true;
}

void prg_workqueue_add(struct prg_workqueue *queue, const char *key, uint64_t now_ms)
{
    prg_workqueue_add_after(queue, key, now_ms, 0);
}

void prg_workqueue_add_failed(struct prg_workqueue *queue, const char *key, uint64_t now_ms, uint64_t least_ms)
{
    struct item *item = get_item(queue, key);
    uint64_t delay = queue->backoff.base_ms;
    for (unsigned i = 0; i < item->failures && delay < queue->backoff.max_ms; i++)
        delay *= 2;
    if (delay > queue->backoff.max_ms)
        delay = queue->backoff.max_ms;
    item->failures++;
    if (queue->controller)
        prg_meter_queue_retried(queue->controller);
    prg_workqueue_add_after(queue, key, now_ms, delay < least_ms ? least_ms : delay);
}

// An item that neither waits, nor is processed, nor has a back-off to remember is dropped: the queue does not grow with
// the fleet.
static void drop_if_idle(struct prg_workqueue *queue, struct item *item)
{
    if (item->heap_index || item->processing || item->failures)
        return;
    prg_map_remove(&queue->items, item->key);
    free_item(item);
}

void prg_workqueue_forget(struct prg_workqueue *queue, const char *key)
{
    struct item *item = prg_map_get(&queue->items, key);
    if (!item)
        return;
    item->failures = 0;
    drop_if_idle(queue, item);
}

const char *prg_workqueue_take(struct prg_workqueue *queue, uint64_t now_ms)
{
    if (!queue->count || queue->heap[1]->due_ms > now_ms)
        return NULL;
    struct item *item = queue->heap[1], *last = queue->heap[queue->count--];
    item->heap_index = 0;
    if (last != item) {
        place(queue, 1, last);
        sift_down(queue, 1);
    }
    item->processing = true;
    item->taken_ms = now_ms;
    count_depth(queue);
    if (queue->controller) {
        prg_meter_queue_taken(queue->controller, (double)(now_ms - item->due_ms) / 1000);
        prg_meter_workers(queue->controller, 1, 0);
    }
    return item->key;
}

void prg_workqueue_done(struct prg_workqueue *queue, const char *key, uint64_t now_ms)
{
    struct item *item = prg_map_get(&queue->items, key);
    prg_require(item && item->processing);
    item->processing = false;
    if (queue->controller) {
        prg_meter_queue_done(queue->controller, (double)(now_ms - item->taken_ms) / 1000);
        prg_meter_workers(queue->controller, -1, 0);
    }
    if (item->dirty) {
        item->dirty = false;
        push(queue, item, item->dirty_due_ms > now_ms ? item->dirty_due_ms : now_ms);
    }
    drop_if_idle(queue, item);
}

int64_t prg_workqueue_next_ms(const struct prg_workqueue *queue, uint64_t now_ms)
{
    if (!queue->count)
        return -1;
    return queue->heap[1]->due_ms <= now_ms ? 0 : (int64_t)(queue->heap[1]->due_ms - now_ms);
}
