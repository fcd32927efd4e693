// SPDX-License-Identifier: Apache-2.0
// snapshot.c: lists of kinds, made once under a lock, then read without one.
//
// Kinds and indexes of labels are in linked lists that only grow: a new node is filled in completely, then published by
// one atomic store of the head, so a reader that sees it sees all of it.
#include "explain/snapshot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "object/meta.h"

struct item {
    const char *ns, *name;
    const cJSON *object;
};

struct bucket { // indices of the items of one namespace and label value
    size_t *items;
    size_t count, cap;
};

struct label_index {
    struct label_index *next;
    char *label;
    struct prg_map buckets; // "namespace \xff value" -> struct bucket
};

struct kind {
    struct kind *next;
    char *group, *name;
    struct item *items; // by namespace and name
    size_t count, cap;
    struct label_index *_Atomic labels;
};

struct prg_snapshot {
    struct prg_reader reader; // first member
    const struct prg_reader *base;
    pthread_mutex_t lock; // held while the base is read or an index is made
    struct kind *_Atomic kinds;
};

#define PART_END '\xff' // no UTF-8 text holds it

// ---- kinds ----

static struct kind *find_kind(struct kind *kind, const char *group, const char *name)
{
    for (; kind; kind = kind->next)
        if (strcmp(kind->name, name) == 0 && strcmp(kind->group, group) == 0)
            return kind;
    return NULL;
}

static void add_item(const cJSON *object, void *ctx)
{
    struct kind *kind = ctx;
    if (kind->count == kind->cap) {
        kind->cap = kind->cap ? kind->cap * 2 : 64;
        kind->items = prg_xrealloc(kind->items, kind->cap * sizeof(*kind->items));
    }
    if (prg_json_is_object(object))
        (void)prg_json_identity(object); // now, as several threads will ask for it
    kind->items[kind->count++] = (struct item){prg_meta_namespace(object), prg_meta_name(object), object};
}

static int compare_item(const struct item *item, const char *ns, const char *name)
{
    int order = strcmp(item->ns, ns);
    return order ? order : strcmp(item->name, name);
}

static struct kind *read_kind(struct prg_snapshot *snapshot, const char *group, const char *name)
{
    pthread_mutex_lock(&snapshot->lock);
    struct kind *kind = find_kind(atomic_load_explicit(&snapshot->kinds, memory_order_relaxed), group, name);
    if (!kind) {
        kind = prg_xcalloc(1, sizeof(*kind));
        kind->group = prg_xstrdup(group);
        kind->name = prg_xstrdup(name);
        snapshot->base->list(snapshot->base, group, name, NULL, add_item, kind);
        kind->next = atomic_load_explicit(&snapshot->kinds, memory_order_relaxed);
        atomic_store_explicit(&snapshot->kinds, kind, memory_order_release);
    }
    pthread_mutex_unlock(&snapshot->lock);
    return kind;
}

static struct kind *kind_of(const struct prg_reader *reader, const char *group, const char *name)
{
    // The reader is the snapshot's first member; what is added to it does not change what it answers.
    struct prg_snapshot *snapshot = (struct prg_snapshot *)(uintptr_t)reader;
    struct kind *kind = find_kind(atomic_load_explicit(&snapshot->kinds, memory_order_acquire), group, name);
    return kind ? kind : read_kind(snapshot, group, name);
}

// Index of the first item that does not come before ns and name.
static size_t lower_bound(const struct kind *kind, const char *ns, const char *name)
{
    size_t low = 0, high = kind->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_item(&kind->items[middle], ns, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// ---- labels ----

static void bucket_key(struct prg_strbuf *out, const char *ns, const char *value)
{
    prg_strbuf_puts(out, ns);
    prg_strbuf_putc(out, PART_END);
    prg_strbuf_puts(out, value);
}

static void add_to_bucket(struct prg_map *buckets, const char *ns, const char *value, size_t item)
{
    prg_auto_strbuf key = PRG_STRBUF_INIT;
    bucket_key(&key, ns, value);
    struct bucket *bucket = prg_map_get(buckets, key.text);
    if (!bucket) {
        bucket = prg_xcalloc(1, sizeof(*bucket));
        prg_map_put(buckets, key.text, bucket);
    }
    if (bucket->count == bucket->cap) {
        bucket->cap = bucket->cap ? bucket->cap * 2 : 4;
        bucket->items = prg_xrealloc(bucket->items, bucket->cap * sizeof(*bucket->items));
    }
    bucket->items[bucket->count++] = item;
}

static const struct label_index *find_index(const struct label_index *index, const char *label)
{
    while (index && strcmp(index->label, label) != 0)
        index = index->next;
    return index;
}

static const struct label_index *make_index(const struct prg_reader *reader, struct kind *kind, const char *label)
{
    struct prg_snapshot *snapshot = (struct prg_snapshot *)(uintptr_t)reader;
    pthread_mutex_lock(&snapshot->lock);
    struct label_index *first = atomic_load_explicit(&kind->labels, memory_order_relaxed);
    const struct label_index *found = find_index(first, label);
    if (!found) {
        struct label_index *index = prg_xcalloc(1, sizeof(*index));
        index->label = prg_xstrdup(label);
        prg_map_init(&index->buckets);
        for (size_t i = 0; i < kind->count; i++) {
            const char *value = prg_meta_label(kind->items[i].object, label);
            if (value)
                add_to_bucket(&index->buckets, kind->items[i].ns, value, i);
        }
        index->next = first;
        atomic_store_explicit(&kind->labels, index, memory_order_release);
        found = index;
    }
    pthread_mutex_unlock(&snapshot->lock);
    return found;
}

// ---- reading ----

static const cJSON *snapshot_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct kind *kind = kind_of(reader, key->group, key->kind);
    size_t at = lower_bound(kind, key->ns, key->name);
    return at < kind->count && compare_item(&kind->items[at], key->ns, key->name) == 0 ? kind->items[at].object : NULL;
}

static void snapshot_list(const struct prg_reader *reader, const char *group, const char *kind_name, const char *ns,
                          prg_reader_visit_fn visit, void *ctx)
{
    const struct kind *kind = kind_of(reader, group, kind_name);
    for (size_t i = ns ? lower_bound(kind, ns, "") : 0; i < kind->count; i++) {
        if (ns && strcmp(kind->items[i].ns, ns) != 0)
            break;
        visit(kind->items[i].object, ctx);
    }
}

static void snapshot_list_labelled(const struct prg_reader *reader, const char *group, const char *kind_name,
                                   const char *ns, const char *label, const char *value, prg_reader_visit_fn visit,
                                   void *ctx)
{
    struct kind *kind = kind_of(reader, group, kind_name);
    if (!ns) { // rare: nobody plans over all namespaces
        struct prg_reader_filter filter = {label, value, visit, ctx};
        snapshot_list(reader, group, kind_name, NULL, prg_reader_visit_filtered, &filter);
        return;
    }
    const struct label_index *index = find_index(atomic_load_explicit(&kind->labels, memory_order_acquire), label);
    if (!index)
        index = make_index(reader, kind, label);
    prg_auto_strbuf key = PRG_STRBUF_INIT;
    bucket_key(&key, ns, value);
    const struct bucket *bucket = prg_map_get(&index->buckets, key.text);
    for (size_t i = 0; bucket && i < bucket->count; i++)
        visit(kind->items[bucket->items[i]].object, ctx);
}

// Nothing ever changes: every answer has one state.
static bool snapshot_state(const struct prg_reader *reader, const struct prg_reader_question *question,
                           struct prg_reader_state *ret)
{
    (void)reader;
    (void)question;
    *ret = (struct prg_reader_state){1, 1, 1};
    return true;
}

static int snapshot_trouble(const struct prg_reader *reader, struct prg_error *err)
{
    struct prg_snapshot *snapshot = (struct prg_snapshot *)(uintptr_t)reader;
    if (!snapshot->base->trouble)
        return PRG_OK;
    pthread_mutex_lock(&snapshot->lock);
    int rc = prg_reader_trouble(snapshot->base, err);
    pthread_mutex_unlock(&snapshot->lock);
    return rc;
}

// ---- life ----

struct prg_snapshot *prg_snapshot_new(const struct prg_reader *base)
{
    struct prg_snapshot *snapshot = prg_xcalloc(1, sizeof(*snapshot));
    snapshot->reader = (struct prg_reader){.get = snapshot_get,
                                           .list = snapshot_list,
                                           .list_labelled = snapshot_list_labelled,
                                           .trouble = snapshot_trouble,
                                           .state = snapshot_state,
                                           .keeps_trees = prg_reader_next_number()};
    snapshot->base = base;
    pthread_mutex_init(&snapshot->lock, NULL);
    return snapshot;
}

static void free_kind(struct kind *kind)
{
    struct label_index *index = atomic_load(&kind->labels);
    while (index) {
        struct label_index *next = index->next;
        const struct prg_map_entry *entry;
        for (size_t i = 0; (entry = prg_map_next(&index->buckets, &i));) {
            struct bucket *bucket = entry->value;
            free(bucket->items);
            free(bucket);
        }
        prg_map_release(&index->buckets);
        free(index->label);
        free(index);
        index = next;
    }
    free(kind->items);
    free(kind->group);
    free(kind->name);
    free(kind);
}

void prg_snapshot_free(struct prg_snapshot *snapshot)
{
    if (!snapshot)
        return;
    struct kind *kind = atomic_load(&snapshot->kinds);
    while (kind) {
        struct kind *next = kind->next;
        free_kind(kind);
        kind = next;
    }
    pthread_mutex_destroy(&snapshot->lock);
    free(snapshot);
}

const struct prg_reader *prg_snapshot_reader(const struct prg_snapshot *snapshot)
{
    return &snapshot->reader;
}
