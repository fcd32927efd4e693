// SPDX-License-Identifier: Apache-2.0
// store_mem.c: objects in memory.
//
// One entry per object, found by hash, and listed in the list of its kind. Lists are put in order when they are read:
// loading a fleet appends, and sorts once. A removed entry stays in its list, without an object, until then. An index
// of a label is made when somebody asks for it, and lasts until an object of the kind changes.
#include "store/store_mem.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "object/meta.h"
#include "store/intent.h"

struct kind {
    char *group, *name;
    struct prg_vec entries; // struct entry, by namespace and name unless stale
    bool is_stale;          // out of order, or holds removed entries
    uint64_t changed;       // number of the last change of one of its objects
    struct prg_map indexes; // label -> struct prg_map: namespace and value -> struct prg_vec of const cJSON
};

struct entry {
    struct prg_key key;     // group and kind of the struct kind, the others of the object
    const cJSON *object;    // NULL: removed
    uint64_t changed;       // number of the change that put it there
    struct prg_arena arena; // of the object, unless borrowed
};

struct event {
    struct prg_arena arena;
    struct prg_key key;
    struct prg_store_event event;
    unsigned count;
};

struct mem {
    struct prg_store store;
    struct prg_map entries; // key bytes -> struct entry
    struct prg_map kinds;   // kind bytes -> struct kind
    struct prg_vec events;
    struct prg_map events_by_text;
    uint64_t changes; // so far
};

// ---- keys ----

// Parts end in a byte that UTF-8 text, and so no part, can hold.
#define PART_END '\xff'

static void key_bytes(struct prg_strbuf *out, const struct prg_key *key)
{
    const char *parts[] = {key->group, key->kind, key->ns, key->name};
    for (size_t i = 0; i < PRG_COUNT(parts); i++) {
        prg_strbuf_puts(out, parts[i]);
        prg_strbuf_putc(out, PART_END);
    }
}

static void kind_bytes(struct prg_strbuf *out, const char *group, const char *name)
{
    prg_strbuf_puts(out, group);
    prg_strbuf_putc(out, PART_END);
    prg_strbuf_puts(out, name);
}

static struct entry *find(const struct mem *mem, const struct prg_key *key)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    key_bytes(&bytes, key);
    return prg_map_get(&mem->entries, bytes.text);
}

static struct kind *kind_find(const struct mem *mem, const char *group, const char *name)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    kind_bytes(&bytes, group, name);
    return prg_map_get(&mem->kinds, bytes.text);
}

static struct kind *kind_ensure(struct mem *mem, const char *group, const char *name)
{
    struct kind *kind = kind_find(mem, group, name);
    if (kind)
        return kind;
    kind = prg_xcalloc(1, sizeof(*kind));
    kind->group = prg_xstrdup(group);
    kind->name = prg_xstrdup(name);
    prg_vec_init(&kind->entries);
    prg_map_init(&kind->indexes);
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    kind_bytes(&bytes, group, name);
    prg_map_put(&mem->kinds, bytes.text, kind);
    return kind;
}

// ---- lists ----

static int compare_entries(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return prg_key_compare(&((const struct entry *)a)->key, &((const struct entry *)b)->key);
}

static void kind_tidy(struct kind *kind)
{
    size_t kept = 0;
    if (!kind->is_stale)
        return;
    for (size_t i = 0; i < kind->entries.count; i++) {
        struct entry *entry = kind->entries.items[i];
        if (entry->object)
            kind->entries.items[kept++] = entry;
        else
            free(entry);
    }
    kind->entries.count = kept;
    prg_vec_sort(&kind->entries, compare_entries, NULL);
    kind->is_stale = false;
}

static void kind_append(struct kind *kind, struct entry *entry)
{
    size_t count = kind->entries.count;
    if (!kind->is_stale && count)
        kind->is_stale = compare_entries(kind->entries.items[count - 1], entry, NULL) > 0;
    prg_vec_push(&kind->entries, entry);
}

// Index of the first entry whose namespace is not before ns.
static size_t lower_bound(const struct kind *kind, const char *ns)
{
    size_t low = 0, high = kind->entries.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(((const struct entry *)kind->entries.items[middle])->key.ns, ns) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// ---- labels ----

static void index_drop(struct kind *kind)
{
    const struct prg_map_entry *entry, *bucket;
    if (!kind->indexes.count)
        return;
    for (size_t i = 0; (entry = prg_map_next(&kind->indexes, &i));) {
        struct prg_map *index = entry->value;
        for (size_t j = 0; (bucket = prg_map_next(index, &j));) {
            prg_vec_release(bucket->value);
            free(bucket->value);
        }
        prg_map_release(index);
        free(index);
    }
    prg_map_clear(&kind->indexes);
}

static void bucket_bytes(struct prg_strbuf *out, const char *ns, const char *value)
{
    prg_strbuf_puts(out, ns);
    prg_strbuf_putc(out, PART_END);
    prg_strbuf_puts(out, value);
}

static const struct prg_map *index_ensure(struct kind *kind, const char *label)
{
    struct prg_map *index = prg_map_get(&kind->indexes, label);
    if (index)
        return index;
    index = prg_xcalloc(1, sizeof(*index));
    prg_map_init(index);
    for (size_t i = 0; i < kind->entries.count; i++) { // tidied: in order, and no removed ones
        const struct entry *entry = kind->entries.items[i];
        const char *value = prg_meta_label(entry->object, label);
        prg_auto_strbuf bytes = PRG_STRBUF_INIT;
        if (!value)
            continue;
        bucket_bytes(&bytes, entry->key.ns, value);
        struct prg_vec *bucket = prg_map_get(index, bytes.text);
        if (!bucket) {
            bucket = prg_xcalloc(1, sizeof(*bucket));
            prg_vec_init(bucket);
            prg_map_put(index, bytes.text, bucket);
        }
        prg_vec_push(bucket, (void *)(uintptr_t)entry->object);
    }
    prg_map_put(&kind->indexes, label, index);
    return index;
}

// ---- reading ----

static const cJSON *mem_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct entry *entry = find((const struct mem *)reader, key);
    return entry ? entry->object : NULL;
}

static void mem_list(const struct prg_reader *reader, const char *group, const char *kind_name, const char *ns,
                     prg_reader_visit_fn visit, void *ctx)
{
    struct kind *kind = kind_find((const struct mem *)reader, group, kind_name);
    if (!kind)
        return;
    kind_tidy(kind);
    for (size_t i = ns ? lower_bound(kind, ns) : 0; i < kind->entries.count; i++) {
        const struct entry *entry = kind->entries.items[i];
        if (ns && strcmp(entry->key.ns, ns) != 0)
            break;
        visit(entry->object, ctx);
    }
}

static void mem_list_labelled(const struct prg_reader *reader, const char *group, const char *kind_name, const char *ns,
                              const char *label, const char *value, prg_reader_visit_fn visit, void *ctx)
{
    struct kind *kind = kind_find((const struct mem *)reader, group, kind_name);
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    if (!kind)
        return;
    kind_tidy(kind);
    if (!ns) { // nobody asks often
        struct prg_reader_filter filter = {label, value, visit, ctx};
        mem_list(reader, group, kind_name, NULL, prg_reader_visit_filtered, &filter);
        return;
    }
    bucket_bytes(&bytes, ns, value);
    const struct prg_vec *bucket = prg_map_get(index_ensure(kind, label), bytes.text);
    for (size_t i = 0; bucket && i < bucket->count; i++)
        visit(bucket->items[i], ctx);
}

// Of a list any change of its kind is one, in whichever namespace.
static bool mem_state(const struct prg_reader *reader, const struct prg_reader_question *question,
                      struct prg_reader_state *ret)
{
    const struct mem *mem = (const struct mem *)reader;
    if (question->name) {
        struct prg_key key = {question->group, question->kind, question->ns ? question->ns : "", question->name};
        const struct entry *entry = find(mem, &key);
        ret->newest = entry ? entry->changed : 0;
    } else {
        const struct kind *kind = kind_find(mem, question->group, question->kind);
        ret->newest = kind ? kind->changed : 0;
    }
    return true;
}

// ---- writing ----

// Makes object the entry's, taking over `arena` (zeroed when the object is borrowed).
static void entry_set(struct entry *entry, const struct prg_key *key, const struct kind *kind, const cJSON *object,
                      struct prg_arena arena)
{
    prg_arena_release(&entry->arena);
    entry->arena = arena;
    entry->object = object;
    entry->changed = kind->changed;
    entry->key = (struct prg_key){kind->group, kind->name, key->ns, key->name};
}

// object (whose key is `key`, with texts that live as long as it does) becomes the stored one.
static void put(struct mem *mem, const struct prg_key *key, const cJSON *object, struct prg_arena arena)
{
    struct kind *kind = kind_ensure(mem, key->group, key->kind);
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    index_drop(kind);
    key_bytes(&bytes, key);
    kind->changed = ++mem->changes;
    struct entry *entry = prg_map_get(&mem->entries, bytes.text);
    if (entry) {
        entry_set(entry, key, kind, object, arena);
        return;
    }
    entry = prg_xcalloc(1, sizeof(*entry));
    entry_set(entry, key, kind, object, arena);
    prg_map_put(&mem->entries, bytes.text, entry);
    kind_append(kind, entry);
}

int prg_store_mem_put(struct prg_store *store, const cJSON *object, bool borrow, bool replace, struct prg_error *err)
{
    struct mem *mem = (struct mem *)store;
    struct prg_arena arena = {0};
    prg_auto_arena scratch = {0};
    struct prg_key key;
    if (prg_key_of(&scratch, object, &key, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    if (!replace && find(mem, &key))
        return prg_fail(err, PRG_CONFLICT, "%s is there already", prg_key_text(&scratch, &key));
    if (!borrow) {
        object = prg_json_copy(&arena, object);
        prg_require(prg_key_of(&scratch, object, &key, NULL) == PRG_OK);
    }
    put(mem, &key, object, arena);
    return PRG_OK;
}

bool prg_store_mem_drop(struct prg_store *store, const struct prg_key *key)
{
    struct mem *mem = (struct mem *)store;
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    key_bytes(&bytes, key);
    struct entry *entry = prg_map_remove(&mem->entries, bytes.text);
    if (!entry)
        return false;
    struct kind *kind = kind_find(mem, key->group, key->kind);
    index_drop(kind);
    kind->is_stale = true;
    kind->changed = ++mem->changes;
    entry->object = NULL; // the entry goes when its list is tidied
    prg_arena_release(&entry->arena);
    return true;
}

size_t prg_store_mem_count(const struct prg_store *store)
{
    return ((const struct mem *)store)->entries.count;
}

static int mem_apply(struct prg_store *store, const cJSON *object, enum prg_write_result *ret, struct prg_error *err)
{
    struct mem *mem = (struct mem *)store;
    struct prg_arena arena = {0};
    prg_auto_arena scratch = {0};
    struct prg_key key;
    const cJSON *result;
    if (prg_key_of(&scratch, object, &key, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    struct entry *entry = find(mem, &key);
    if (prg_intent_merge(&arena, entry ? entry->object : NULL, object, &result) == PRG_INTENT_SAME) {
        prg_arena_release(&arena);
        *ret = PRG_WRITE_UNCHANGED;
        return PRG_OK;
    }
    prg_require(prg_key_of(&scratch, result, &key, NULL) == PRG_OK);
    put(mem, &key, result, arena);
    *ret = entry ? PRG_WRITE_UPDATED : PRG_WRITE_CREATED;
    return PRG_OK;
}

static int mem_remove(struct prg_store *store, const struct prg_key *key, const char *uid, enum prg_write_result *ret,
                      struct prg_error *err)
{
    const struct entry *entry = find((const struct mem *)store, key);
    prg_auto_arena scratch = {0};
    if (entry && uid && *uid && strcmp(prg_meta_uid(entry->object), uid) != 0)
        return prg_fail(err, PRG_CONFLICT, "%s was replaced: its uid is '%s', not '%s'", prg_key_text(&scratch, key),
                        prg_meta_uid(entry->object), uid);
    *ret = prg_store_mem_drop(store, key) ? PRG_WRITE_DELETED : PRG_WRITE_UNCHANGED;
    return PRG_OK;
}

static int mem_set_status(struct prg_store *store, const struct prg_key *key, const cJSON *status,
                          enum prg_write_result *ret, struct prg_error *err)
{
    struct mem *mem = (struct mem *)store;
    const struct entry *entry = find(mem, key);
    prg_auto_arena scratch = {0};
    struct prg_arena arena = {0};
    struct prg_key new_key;
    if (!entry)
        return prg_fail(err, PRG_NOTFOUND, "%s does not exist", prg_key_text(&scratch, key));
    const cJSON *old = prg_json_get(entry->object, "status");
    *ret = PRG_WRITE_UNCHANGED;
    if (status ? prg_json_equal(old, status) : !old)
        return PRG_OK;
    cJSON *object = prg_json_copy(&arena, entry->object);
    if (status)
        prg_json_set(&arena, object, "status", prg_json_copy(&arena, status));
    else
        prg_json_remove(object, "status");
    prg_require(prg_key_of(&scratch, object, &new_key, NULL) == PRG_OK);
    put(mem, &new_key, object, arena);
    *ret = PRG_WRITE_UPDATED;
    return PRG_OK;
}

// ---- Events ----

static int mem_record_event(struct prg_store *store, const struct prg_key *key, const struct prg_store_event *event,
                            int64_t now_ns, struct prg_error *err)
{
    struct mem *mem = (struct mem *)store;
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    (void)now_ns;
    (void)err;
    key_bytes(&bytes, key);
    prg_strbuf_printf(&bytes, "%s%c%s%c%s", event->type, PART_END, event->reason, PART_END, event->message);
    struct event *kept = prg_map_get(&mem->events_by_text, bytes.text);
    if (!kept) {
        kept = prg_xcalloc(1, sizeof(*kept));
        struct prg_arena *arena = &kept->arena;
        kept->key = (struct prg_key){prg_arena_strdup(arena, key->group), prg_arena_strdup(arena, key->kind),
                                     prg_arena_strdup(arena, key->ns), prg_arena_strdup(arena, key->name)};
        kept->event =
            (struct prg_store_event){prg_arena_strdup(arena, event->type), prg_arena_strdup(arena, event->reason),
                                     prg_arena_strdup(arena, event->message)};
        prg_map_put(&mem->events_by_text, bytes.text, kept);
        prg_vec_push(&mem->events, kept);
    }
    kept->count++;
    return PRG_OK;
}

void prg_store_mem_each_event(const struct prg_store *store, prg_store_mem_event_fn visit, void *ctx)
{
    const struct mem *mem = (const struct mem *)store;
    for (size_t i = 0; i < mem->events.count; i++) {
        const struct event *event = mem->events.items[i];
        visit(&event->key, &event->event, event->count, ctx);
    }
}

// ---- life ----

static int mem_refresh(struct prg_store *store, prg_store_watch_fn changed, void *ctx, struct prg_error *err)
{
    (void)store;
    (void)changed;
    (void)ctx;
    (void)err;
    return PRG_OK;
}

static void kind_free(struct kind *kind)
{
    for (size_t i = 0; i < kind->entries.count; i++) {
        struct entry *entry = kind->entries.items[i];
        prg_arena_release(&entry->arena);
        free(entry);
    }
    prg_vec_release(&kind->entries);
    index_drop(kind);
    prg_map_release(&kind->indexes);
    free(kind->group);
    free(kind->name);
    free(kind);
}

static void mem_free(struct prg_store *store)
{
    struct mem *mem = (struct mem *)store;
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&mem->kinds, &i));)
        kind_free(entry->value);
    for (size_t i = 0; i < mem->events.count; i++) {
        struct event *event = mem->events.items[i];
        prg_arena_release(&event->arena);
        free(event);
    }
    prg_map_release(&mem->entries);
    prg_map_release(&mem->kinds);
    prg_map_release(&mem->events_by_text);
    prg_vec_release(&mem->events);
    free(mem);
}

struct prg_store *prg_store_mem_new(void)
{
    static const struct prg_store_ops ops = {
        .apply = mem_apply,
        .remove = mem_remove,
        .set_status = mem_set_status,
        .record_event = mem_record_event,
        .refresh = mem_refresh,
        .free = mem_free,
    };
    struct mem *mem = prg_xcalloc(1, sizeof(*mem));
    mem->store.reader.get = mem_get;
    mem->store.reader.list = mem_list;
    mem->store.reader.list_labelled = mem_list_labelled;
    mem->store.reader.state = mem_state;
    mem->store.reader.keeps_trees = prg_reader_next_number();
    mem->store.ops = &ops;
    prg_map_init(&mem->entries);
    prg_map_init(&mem->kinds);
    prg_map_init(&mem->events_by_text);
    prg_vec_init(&mem->events);
    return &mem->store;
}
