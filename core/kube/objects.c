// SPDX-License-Identifier: Apache-2.0
// objects.c: the cache.
//
// An object lies in one block: the struct, its places in the indexes, its texts. An index is a table from a text ("n"
// and the namespace, "o" and an owner's uid, "l", label and value) to a bucket, an array of objects; each object knows
// its place in each bucket, so that it leaves by swapping with the last. Buckets of namespaces are put in order when
// they are read.
//
// In a large fleet the processor's cache has none of what a change touches, so what is touched together lies together:
// a bucket's key and first objects are in it, hashes are kept beside pointers (table.h). What is certain to be needed
// soon is fetched early.
#include "kube/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "kube/table.h"
#include "object/meta.h"
#include "object/scalar.h"

#define TREE_BYTES ((size_t)32 << 20)

#define FEW 4

struct bucket {
    uint64_t hash;
    struct prg_object **objects; // few, or on the heap
    uint32_t count, cap;
    struct prg_object *few[FEW];
    bool is_sorted;
    char key[];
};

struct place {
    struct bucket *bucket; // NULL: not in the cache
    uint32_t index;        // in it
    uint32_t key;          // offset of its text
};

struct tree {
    struct prg_arena arena;
    cJSON *root;
    struct prg_object *object;
    struct tree *newer, *older;
};

struct prg_object {
    struct prg_object_kind *kind;
    struct tree *tree; // or NULL
    uint32_t refs;
    uint32_t generation; // of the last replacement that had it
    uint32_t sources;    // a bit for each whose selection it is in; in the cache as long as there is one
    uint32_t marks;
    uint32_t ns, name, uid, version, text, text_length; // offsets into texts
    uint32_t place_count;
    uint64_t hash;         // of namespace and name
    struct place places[]; // then texts
};

struct prg_object_kind {
    struct prg_objects *objects;
    char *group, *version, *kind, *api_version;
    char **labels;
    size_t label_count;
    struct kind_rule *rule;
    char *head; // of the text of an object: {"apiVersion":"v1","kind":"Pod"
    bool (*concerns)(const char *manager);
    uint32_t (*mark)(const cJSON *object);
    struct prg_hash_table by_name; // struct prg_object
    struct prg_hash_table buckets; // all but namespaces
    struct prg_hash_table spaces;  // namespaces
    uint32_t generation;
    unsigned source_count; // given out
};

struct prg_objects {
    struct prg_reader reader; // first
    struct prg_map kinds;     // "group/kind"
    struct builder *builder;  // of one read
    struct tree *newest, *oldest;
    size_t tree_bytes, max_tree_bytes;
};

static const char *texts_of(const struct prg_object *object)
{
    return (const char *)&object->places[object->place_count];
}

const struct prg_object_kind *prg_object_kind_of(const struct prg_object *object)
{
    return object->kind;
}

const char *prg_object_namespace(const struct prg_object *object)
{
    return texts_of(object) + object->ns;
}

const char *prg_object_name(const struct prg_object *object)
{
    return texts_of(object) + object->name;
}

const char *prg_object_uid(const struct prg_object *object)
{
    return texts_of(object) + object->uid;
}

const char *prg_object_version(const struct prg_object *object)
{
    return texts_of(object) + object->version;
}

bool prg_object_is_same(const struct prg_object *a, const struct prg_object *b)
{
    const char *version = prg_object_version(a);
    return a == b || (*version && strcmp(version, prg_object_version(b)) == 0 &&
                      strcmp(prg_object_uid(a), prg_object_uid(b)) == 0 && a->marks == b->marks &&
                      a->text_length == b->text_length &&
                      memcmp(texts_of(a) + a->text, texts_of(b) + b->text, a->text_length) == 0);
}

const char *prg_object_text(const struct prg_object *object, size_t *ret_length)
{
    if (ret_length)
        *ret_length = object->text_length;
    return texts_of(object) + object->text;
}

uint32_t prg_object_marks(const struct prg_object *object)
{
    return object->marks;
}

struct prg_key prg_object_key(const struct prg_object *object)
{
    return (struct prg_key){object->kind->group, object->kind->kind, prg_object_namespace(object),
                            prg_object_name(object)};
}

// ---- trees ----

static void tree_unlink(struct prg_objects *o, struct tree *tree)
{
    *(tree->newer ? &tree->newer->older : &o->newest) = tree->older;
    *(tree->older ? &tree->older->newer : &o->oldest) = tree->newer;
}

static void tree_link(struct prg_objects *o, struct tree *tree)
{
    tree->newer = NULL;
    tree->older = o->newest;
    *(o->newest ? &o->newest->newer : &o->oldest) = tree;
    o->newest = tree;
}

static void tree_free(struct prg_objects *o, struct tree *tree)
{
    if (!tree)
        return;
    tree_unlink(o, tree);
    o->tree_bytes -= tree->arena.used_bytes;
    tree->object->tree = NULL;
    prg_arena_release(&tree->arena);
    free(tree);
}

const cJSON *prg_object_tree(const struct prg_object *object)
{
    struct prg_objects *o = object->kind->objects;
    struct tree *tree = object->tree;
    size_t length;
    if (tree) {
        tree_unlink(o, tree);
        tree_link(o, tree);
        return tree->root;
    }
    tree = prg_xcalloc(1, sizeof(*tree));
    prg_arena_init(&tree->arena);
    const char *text = prg_object_text(object, &length);
    // It was printed from a tree, so it reads.
    prg_require(prg_json_parse(&tree->arena, text, length, NULL, &tree->root, NULL) == PRG_OK);
    tree->object = (struct prg_object *)object;
    tree->object->tree = tree;
    o->tree_bytes += tree->arena.used_bytes;
    tree_link(o, tree);
    return tree->root;
}

void prg_objects_trim(struct prg_objects *o)
{
    while (o->oldest && o->tree_bytes > o->max_tree_bytes)
        tree_free(o, o->oldest); // NOLINT(clang-analyzer-unix.Malloc): tree_unlink has moved oldest on
}

size_t prg_objects_tree_bytes(const struct prg_objects *o)
{
    return o->tree_bytes;
}

// ---- reading ----

enum {
    NOTE_API_VERSION = 1,
    NOTE_KIND,
    NOTE_NAMESPACE,
    NOTE_NAME,
    NOTE_UID,
    NOTE_VERSION,
    NOTE_OWNER,
    NOTE_MANAGER,
    NOTE_LABEL
};

// What is kept of an object of a kind, and what is noted on the way.
struct kind_rule {
    struct prg_compact_rule root, metadata, labels;
    struct prg_compact_member of_metadata[9];
    struct prg_compact_member members[]; // of root, then of labels
};

static const struct prg_compact_member of_annotations[] = {
    {.key = "kubectl.kubernetes.io/last-applied-configuration", .is_dropped = true}, {0}};
static const struct prg_compact_member of_owners[] = {{.key = "uid", .note = NOTE_OWNER}, {0}};
static const struct prg_compact_member of_managed[] = {{.key = "manager", .note = NOTE_MANAGER}, {0}};
static const struct prg_compact_rule annotations_rule = {of_annotations, false}, owners_rule = {of_owners, false},
                                     managed_rule = {of_managed, true};

static struct kind_rule *kind_rule_new(const struct prg_object_kind *kind, const struct prg_compact_rule *prune)
{
    size_t own = 3, count = 0;
    while (prune && prune->members[count].key)
        count++;
    size_t all = own + count + 1 + kind->label_count + 1; // with the ends
    struct kind_rule *rule = prg_xcalloc(1, sizeof(*rule) + all * sizeof(rule->members[0]));
    struct prg_compact_member *root = rule->members, *label = root + own + count + 1;
    const struct prg_compact_member of_metadata[] = {
        {.key = "name", .note = NOTE_NAME},
        {.key = "namespace", .note = NOTE_NAMESPACE},
        {.key = "uid", .note = NOTE_UID},
        {.key = "resourceVersion", .note = NOTE_VERSION},
        {.key = "labels", .inside = &rule->labels},
        {.key = "annotations", .inside = &annotations_rule},
        {.key = "ownerReferences", .inside = &owners_rule},
        {.key = "managedFields", .inside = &managed_rule, .is_dropped = true},
        {0}};
    memcpy(rule->of_metadata, of_metadata, sizeof(of_metadata));
    root[0] = (struct prg_compact_member){.key = "apiVersion", .note = NOTE_API_VERSION, .is_dropped = true};
    root[1] = (struct prg_compact_member){.key = "kind", .note = NOTE_KIND, .is_dropped = true};
    root[2] = (struct prg_compact_member){.key = "metadata", .inside = &rule->metadata};
    for (size_t i = 0; i < count; i++)
        root[own + i] = prune->members[i];
    for (size_t i = 0; i < kind->label_count; i++)
        label[i] = (struct prg_compact_member){.key = kind->labels[i], .note = NOTE_LABEL + (unsigned)i};
    rule->root = (struct prg_compact_rule){root, prune && prune->only};
    rule->metadata = (struct prg_compact_rule){rule->of_metadata, false};
    rule->labels = (struct prg_compact_rule){label, false};
    return rule;
}

// An object being made: its texts one after the other, each ended.
struct builder {
    struct prg_object_kind *kind;
    struct prg_object head;
    struct prg_strbuf texts;                          // the first is empty
    struct prg_strbuf text;                           // the compact object
    struct prg_vec keys;                              // offsets of index texts
    bool is_other_version, is_other_kind, is_partial; // what the object says it is
    bool is_marked;                                   // a manager concerns the kind's mark
};

static uint32_t add_text(struct builder *b, const char *text, size_t length)
{
    size_t offset = b->texts.length;
    prg_strbuf_add(&b->texts, text, length);
    prg_strbuf_putc(&b->texts, '\0');
    return (uint32_t)offset;
}

static void add_index(struct builder *b, char type, const char *first, const char *text, size_t length)
{
    size_t offset = b->texts.length;
    prg_strbuf_putc(&b->texts, type);
    if (first) {
        prg_strbuf_puts(&b->texts, first);
        prg_strbuf_putc(&b->texts, '=');
    }
    add_text(b, text, length);
    prg_vec_push(&b->keys, (void *)(uintptr_t)offset);
}

static bool is_text(const char *want, const char *text, size_t length)
{
    return strlen(want) == length && memcmp(want, text, length) == 0;
}

static void note_manager(struct builder *b, const char *text, size_t length)
{
    char name[128];
    if (!b->kind->mark || b->is_marked || length >= sizeof(name))
        return;
    memcpy(name, text, length);
    name[length] = '\0';
    b->is_marked = b->kind->concerns(name);
}

static void note(unsigned what, const char *text, size_t length, void *ctx)
{
    struct builder *b = ctx;
    switch (what) {
    case NOTE_API_VERSION:
        b->is_other_version = !is_text(b->kind->api_version, text, length);
        break;
    case NOTE_KIND:
        b->is_partial = is_text("PartialObjectMetadata", text, length); // only the metadata was asked for
        b->is_other_kind = !is_text(b->kind->kind, text, length);
        break;
    case NOTE_NAMESPACE:
        b->head.ns = add_text(b, text, length);
        break;
    case NOTE_NAME:
        b->head.name = add_text(b, text, length);
        break;
    case NOTE_UID:
        b->head.uid = add_text(b, text, length);
        break;
    case NOTE_VERSION:
        b->head.version = add_text(b, text, length);
        break;
    case NOTE_OWNER:
        if (length)
            add_index(b, 'o', NULL, text, length);
        break;
    case NOTE_MANAGER:
        note_manager(b, text, length);
        break;
    default:
        add_index(b, 'l', b->kind->labels[what - NOTE_LABEL], text, length);
        break;
    }
}

static void builder_begin(struct builder *b, struct prg_object_kind *kind)
{
    b->kind = kind;
    b->head = (struct prg_object){.kind = kind, .refs = 1};
    b->is_other_version = b->is_other_kind = b->is_partial = b->is_marked = false;
    b->keys.count = 0;
    prg_strbuf_clear(&b->texts);
    prg_strbuf_clear(&b->text);
    prg_vec_push(&b->keys, NULL); // the namespace's comes first
    prg_strbuf_putc(&b->texts, '\0');
    prg_strbuf_puts(&b->text, kind->head);
}

static void index_namespace(struct builder *b)
{
    size_t length = strlen(b->texts.text + b->head.ns);
    b->keys.items[0] = (void *)(uintptr_t)b->texts.length;
    prg_strbuf_pad(&b->texts, 'n', length + 2); // made first: adding moves the texts
    memcpy(b->texts.text + b->texts.length - length - 1, b->texts.text + b->head.ns, length + 1);
}

static struct prg_object *make(struct builder *b)
{
    struct prg_object head = b->head;
    index_namespace(b);
    size_t places = b->keys.count * sizeof(struct place);
    head.text = (uint32_t)b->texts.length;
    head.text_length = (uint32_t)b->text.length;
    head.place_count = (uint32_t)b->keys.count;
    struct prg_object *object = prg_xmalloc(sizeof(*object) + places + b->texts.length + b->text.length + 1);
    *object = head;
    for (size_t i = 0; i < b->keys.count; i++)
        object->places[i] = (struct place){.key = (uint32_t)(uintptr_t)b->keys.items[i]};
    char *texts = (char *)&object->places[head.place_count];
    memcpy(texts, b->texts.text, b->texts.length);
    memcpy(texts + head.text, b->text.text, b->text.length + 1);
    return object;
}

// Says why text is no object of the kind.
static int refuse(const struct prg_object_kind *kind, const char *text, size_t length, struct prg_error *err)
{
    prg_auto_arena arena;
    struct prg_error own = {0};
    cJSON *tree = NULL;
    prg_arena_init(&arena);
    err = err ? err : &own;
    if (prg_json_parse(&arena, text, length, NULL, &tree, err) != PRG_OK)
        return prg_wrap(err, "%s from the server", kind->kind);
    if (!prg_json_is_object(tree))
        return prg_fail(err, PRG_INVALID, "%s from the server: not an object", kind->kind);
    const char *version = prg_json_get_text(tree, "apiVersion"), *name = prg_json_get_text(tree, "kind");
    bool is_other = (version && strcmp(version, kind->api_version) != 0) || (name && strcmp(name, kind->kind) != 0);
    if (is_other && !prg_text_equal(name, "PartialObjectMetadata"))
        return prg_fail(err, PRG_INVALID, "the server sent a %s %s where a %s %s was expected", version ? version : "",
                        name ? name : "", kind->api_version, kind->kind);
    return prg_fail(err, PRG_INVALID, "%s from the server: metadata.name is missing", kind->kind);
}

static uint32_t marks_of(const struct builder *b, const char *text, size_t length)
{
    prg_auto_arena arena;
    cJSON *tree = NULL;
    prg_arena_init(&arena);
    if (!b->is_marked || prg_json_parse(&arena, text, length, NULL, &tree, NULL) != PRG_OK)
        return 0;
    return b->kind->mark(tree);
}

int prg_object_read(struct prg_object_kind *kind, const char *text, size_t length, struct prg_object **ret,
                    struct prg_error *err)
{
    struct builder *b = kind->objects->builder;
    builder_begin(b, kind);
    size_t head = b->text.length;
    bool is_json = prg_json_compact(text, length, &kind->rule->root, &b->text, note, b);
    if (!is_json || b->text.text[head] != '{' || !b->texts.text[b->head.name] ||
        (!b->is_partial && (b->is_other_version || b->is_other_kind)))
        return refuse(kind, text, length, err);
    b->text.text[head] = ','; // behind apiVersion and kind, which items of a list of a built-in kind lack
    *ret = make(b);
    (*ret)->marks = marks_of(b, text, length);
    return PRG_OK;
}

struct prg_object *prg_object_ref(struct prg_object *object)
{
    object->refs++;
    return object;
}

void prg_object_unref(struct prg_object *object)
{
    if (!object || --object->refs)
        return;
    tree_free(object->kind->objects, object->tree);
    free(object);
}

// ---- indexes ----

static void fetch(const void *at)
{
    __builtin_prefetch(at);
}

// Its head, places and first texts: names, uid, version, indexes.
static void fetch_object(const struct prg_object *object)
{
    for (size_t i = 0; i < 256; i += 64)
        fetch((const char *)object + i);
}

static struct prg_hash_table *index_of(struct prg_object_kind *kind, const char *key)
{
    return key[0] == 'n' ? &kind->spaces : &kind->buckets;
}

static int compare_names(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(prg_object_name(a), prg_object_name(b));
}

static bool has_key(const void *bucket, const void *key)
{
    return strcmp(((const struct bucket *)bucket)->key, key) == 0;
}

static struct bucket *ensure_bucket(struct prg_hash_table *index, const char *key)
{
    size_t length = strlen(key);
    uint64_t hash = prg_map_hash(key, length);
    struct bucket *bucket = prg_hash_table_find(index, hash, has_key, key);
    if (bucket)
        return bucket;
    bucket = prg_xmalloc(sizeof(*bucket) + length + 1);
    *bucket = (struct bucket){.hash = hash, .objects = bucket->few, .cap = FEW};
    memcpy(bucket->key, key, length + 1);
    prg_hash_table_add(index, hash, bucket);
    return bucket;
}

static void bucket_push(struct bucket *bucket, struct prg_object *object)
{
    if (bucket->count == bucket->cap) {
        bool was_few = bucket->objects == bucket->few;
        bucket->cap *= 2;
        bucket->objects = prg_xrealloc(was_few ? NULL : bucket->objects, bucket->cap * sizeof(*bucket->objects));
        if (was_few)
            memcpy(bucket->objects, bucket->few, sizeof(bucket->few));
    }
    bucket->objects[bucket->count++] = object;
}

static void bucket_free(struct bucket *bucket)
{
    if (bucket->objects != bucket->few)
        free(bucket->objects);
    free(bucket);
}

static void index_add(struct prg_object *object)
{
    for (size_t i = 0; i < object->place_count; i++) {
        struct place *place = &object->places[i];
        const char *key = texts_of(object) + place->key;
        struct bucket *bucket = ensure_bucket(index_of(object->kind, key), key);
        place->bucket = bucket;
        place->index = bucket->count;
        bucket_push(bucket, object);
        bucket->is_sorted = place->index == 0 || (bucket->is_sorted && key[0] == 'n' &&
                                                  compare_names(bucket->objects[place->index - 1], object, NULL) < 0);
    }
}

static struct place *place_in(struct prg_object *object, const struct bucket *bucket, uint32_t index)
{
    for (size_t i = 0; i < object->place_count; i++)
        if (object->places[i].bucket == bucket && object->places[i].index == index)
            return &object->places[i];
    prg_require(!"an object is not where its index has it");
    return NULL;
}

static void fetch_buckets(const struct prg_object *object)
{
    for (size_t i = 0; i < object->place_count; i++)
        fetch(object->places[i].bucket);
}

static void index_remove(struct prg_object *object)
{
    fetch_buckets(object);
    for (size_t i = 0; i < object->place_count; i++) // those that will move
        fetch_object(object->places[i].bucket->objects[object->places[i].bucket->count - 1]);
    for (size_t i = 0; i < object->place_count; i++) {
        struct place *place = &object->places[i];
        struct bucket *bucket = place->bucket;
        uint32_t last = bucket->count - 1;
        struct prg_object *moved = bucket->objects[last];
        place_in(moved, bucket, last)->index = place->index;
        bucket->objects[place->index] = moved;
        bucket->count--;
        bucket->is_sorted = bucket->is_sorted && place->index == last;
        place->bucket = NULL;
        if (!bucket->count) {
            prg_hash_table_remove(index_of(object->kind, bucket->key), bucket->hash, bucket);
            bucket_free(bucket);
        }
    }
}

// A new object takes the places of its predecessor where the index texts are the same: nothing moves.
static bool index_swap(struct prg_object *old, struct prg_object *object)
{
    if (old->place_count != object->place_count)
        return false;
    fetch_buckets(old);
    for (size_t i = 0; i < old->place_count; i++)
        if (strcmp(texts_of(old) + old->places[i].key, texts_of(object) + object->places[i].key) != 0)
            return false;
    for (size_t i = 0; i < old->place_count; i++)
        fetch(&old->places[i].bucket->objects[old->places[i].index]);
    for (size_t i = 0; i < old->place_count; i++) {
        struct place *from = &old->places[i], *to = &object->places[i];
        to->bucket = from->bucket;
        to->index = from->index;
        to->bucket->objects[to->index] = object;
        from->bucket = NULL;
    }
    return true;
}

static void bucket_sort(struct bucket *bucket)
{
    if (bucket->is_sorted)
        return;
    prg_sort((void **)bucket->objects, bucket->count, compare_names, NULL);
    for (size_t i = 0; i < bucket->count; i++) {
        struct prg_object *object = bucket->objects[i];
        object->places[0].index = (uint32_t)i; // the namespace is always the first
    }
    bucket->is_sorted = true;
}

// ---- changes ----

static void name_bytes(struct prg_strbuf *out, const char *ns, const char *name)
{
    prg_strbuf_puts(out, ns);
    prg_strbuf_putc(out, '/');
    prg_strbuf_puts(out, name);
}

struct named {
    const char *ns, *name;
};

// Names are of any length here, though the server knows none beyond 253 bytes.
static uint64_t hash_name(const struct named *named)
{
    char bytes[640];
    size_t ns = strlen(named->ns), name = strlen(named->name);
    if (ns + name + 1 <= sizeof(bytes)) {
        memcpy(bytes, named->ns, ns);
        bytes[ns] = '/';
        memcpy(bytes + ns + 1, named->name, name);
        return prg_map_hash(bytes, ns + name + 1);
    }
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    name_bytes(&text, named->ns, named->name);
    return prg_map_hash(text.text, text.length);
}

static bool is_named(const void *item, const void *key)
{
    const struct prg_object *object = item;
    const struct named *named = key;
    fetch_object(object);
    return strcmp(prg_object_name(object), named->name) == 0 && strcmp(prg_object_namespace(object), named->ns) == 0;
}

static void tell(prg_object_change_fn changed, enum prg_object_change change, const struct prg_object *old,
                 const struct prg_object *object, void *ctx)
{
    if (changed)
        changed(change, old, object, ctx);
}

static void remove_object(struct prg_object *object, prg_object_change_fn changed, void *ctx)
{
    prg_hash_table_remove(&object->kind->by_name, object->hash, object);
    index_remove(object);
    tell(changed, PRG_OBJECT_REMOVED, object, object, ctx);
    prg_objects_trim(object->kind->objects);
    prg_object_unref(object);
}

static uint32_t bit_of(unsigned source)
{
    prg_require(source < PRG_OBJECT_SOURCES);
    return UINT32_C(1) << source;
}

// What a source tells of an object that another has told more of already. Each source tells in order, so it will follow
// with what it lacks.
static bool is_behind(const struct prg_object *old, const struct prg_object *object, uint32_t source)
{
    int order;
    return (old->sources & ~source) &&
           prg_resource_version_compare(prg_object_version(object), prg_object_version(old), &order, NULL) == PRG_OK &&
           order < 0;
}

static void put(struct prg_object *object, uint32_t source, prg_object_change_fn changed, void *ctx)
{
    struct prg_object_kind *kind = object->kind;
    const struct named named = {prg_object_namespace(object), prg_object_name(object)};
    object->hash = hash_name(&named);
    struct prg_object *old = prg_hash_table_find(&kind->by_name, object->hash, is_named, &named);
    if (old && strcmp(prg_object_uid(old), prg_object_uid(object)) != 0) {
        remove_object(old, changed, ctx);
        old = NULL;
    }
    object->generation = kind->generation;
    if (old && prg_object_is_same(old, object)) {
        old->generation = kind->generation;
        old->sources |= source;
        prg_object_unref(object);
        return;
    }
    object->sources = source | (old ? old->sources : 0);
    prg_objects_trim(kind->objects);
    if (old)
        prg_hash_table_replace(&kind->by_name, object->hash, old, object);
    else
        prg_hash_table_add(&kind->by_name, object->hash, object);
    if (!old || !index_swap(old, object)) {
        if (old)
            index_remove(old);
        index_add(object);
    }
    tell(changed, old ? PRG_OBJECT_UPDATED : PRG_OBJECT_ADDED, old, object, ctx);
    prg_object_unref(old);
}

void prg_object_put(struct prg_object *object, unsigned source, prg_object_change_fn changed, void *ctx)
{
    uint32_t bit = bit_of(source);
    struct prg_object *old = prg_object_find(object->kind, prg_object_namespace(object), prg_object_name(object));
    if (!old || !is_behind(old, object, bit)) {
        put(object, bit, changed, ctx);
        return;
    }
    if (strcmp(prg_object_uid(old), prg_object_uid(object)) == 0)
        old->sources |= bit;
    prg_object_unref(object);
}

// The object is in the source's selection no more.
static void leave(struct prg_object *object, uint32_t source, prg_object_change_fn changed, void *ctx)
{
    object->sources &= ~source;
    if (!object->sources)
        remove_object(object, changed, ctx);
}

void prg_object_drop(struct prg_object_kind *kind, unsigned source, const char *ns, const char *name,
                     prg_object_change_fn changed, void *ctx)
{
    struct prg_object *object = prg_object_find(kind, ns, name);
    if (object)
        leave(object, bit_of(source), changed, ctx);
}

static int compare_places(const void *a, const void *b, void *ctx)
{
    int rc = strcmp(prg_object_namespace(a), prg_object_namespace(b));
    return rc ? rc : compare_names(a, b, ctx);
}

struct leaving {
    uint32_t source, generation;
    struct prg_vec gone;
};

static void find_gone(const struct prg_object *object, void *ctx)
{
    struct leaving *leaving = ctx;
    if (object && (object->sources & leaving->source) && object->generation != leaving->generation)
        prg_vec_push(&leaving->gone, (void *)(uintptr_t)object);
}

void prg_object_replace(struct prg_object_kind *kind, const struct prg_object_scope *scope, struct prg_vec *objects,
                        prg_object_change_fn changed, void *ctx)
{
    const struct prg_object *object;
    struct leaving leaving = {.source = bit_of(scope->source), .generation = ++kind->generation};
    prg_vec_init(&leaving.gone);
    for (size_t i = 0; i < objects->count; i++)
        put(objects->items[i], leaving.source, changed, ctx);
    objects->count = 0;
    if (scope->name)
        find_gone(prg_object_find(kind, scope->ns ? scope->ns : "", scope->name), &leaving);
    else if (scope->ns)
        prg_object_each(kind, scope->ns, find_gone, &leaving);
    else
        for (size_t i = 0; (object = prg_hash_table_next(&kind->by_name, &i));)
            find_gone(object, &leaving);
    prg_vec_sort(&leaving.gone, compare_places, NULL);
    for (size_t i = 0; i < leaving.gone.count; i++)
        leave(leaving.gone.items[i], leaving.source, changed, ctx);
    prg_vec_release(&leaving.gone);
}

// ---- looking up ----

struct prg_object *prg_object_find(const struct prg_object_kind *kind, const char *ns, const char *name)
{
    const struct named named = {ns, name};
    return prg_hash_table_find(&kind->by_name, hash_name(&named), is_named, &named);
}

static void each_in(const struct bucket *bucket, prg_object_visit_fn visit, void *ctx)
{
    enum { AHEAD = 4 };
    size_t count = bucket ? bucket->count : 0;
    for (size_t i = 0; i < count && i < AHEAD; i++)
        fetch_object(bucket->objects[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            fetch_object(bucket->objects[i + AHEAD]);
        visit(bucket->objects[i], ctx);
    }
}

static void each_indexed(const struct prg_object_kind *kind, char type, const char *first, const char *second,
                         prg_object_visit_fn visit, void *ctx)
{
    prg_auto_strbuf key = PRG_STRBUF_INIT;
    prg_strbuf_putc(&key, type);
    prg_strbuf_puts(&key, first);
    if (second) {
        prg_strbuf_putc(&key, '=');
        prg_strbuf_puts(&key, second);
    }
    struct bucket *bucket = prg_hash_table_find(type == 'n' ? &kind->spaces : &kind->buckets,
                                                prg_map_hash(key.text, key.length), has_key, key.text);
    if (bucket && type == 'n')
        bucket_sort(bucket);
    each_in(bucket, visit, ctx);
}

static int compare_buckets(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct bucket *)a)->key, ((const struct bucket *)b)->key);
}

void prg_object_each(const struct prg_object_kind *kind, const char *ns, prg_object_visit_fn visit, void *ctx)
{
    struct bucket *space;
    struct prg_vec spaces;
    if (ns) {
        each_indexed(kind, 'n', ns, NULL, visit, ctx);
        return;
    }
    prg_vec_init(&spaces);
    for (size_t i = 0; (space = prg_hash_table_next(&kind->spaces, &i));)
        prg_vec_push(&spaces, space);
    prg_vec_sort(&spaces, compare_buckets, NULL);
    for (size_t i = 0; i < spaces.count; i++) {
        bucket_sort(spaces.items[i]);
        each_in(spaces.items[i], visit, ctx);
    }
    prg_vec_release(&spaces);
}

void prg_object_each_owned(const struct prg_object_kind *kind, const char *uid, prg_object_visit_fn visit, void *ctx)
{
    each_indexed(kind, 'o', uid, NULL, visit, ctx);
}

void prg_object_each_labelled(const struct prg_object_kind *kind, const char *label, const char *value,
                              prg_object_visit_fn visit, void *ctx)
{
    each_indexed(kind, 'l', label, value, visit, ctx);
}

// ---- as a reader ----

static const cJSON *reader_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct prg_object_kind *kind =
        prg_objects_find_kind((const struct prg_objects *)reader, key->group, key->kind);
    const struct prg_object *object = kind ? prg_object_find(kind, key->ns, key->name) : NULL;
    return object ? prg_object_tree(object) : NULL;
}

struct visiting {
    prg_reader_visit_fn visit;
    void *ctx;
};

static void visit_tree(const struct prg_object *object, void *ctx)
{
    const struct visiting *visiting = ctx;
    visiting->visit(prg_object_tree(object), visiting->ctx);
}

static void reader_list(const struct prg_reader *reader, const char *group, const char *kind_name, const char *ns,
                        prg_reader_visit_fn visit, void *ctx)
{
    const struct prg_object_kind *kind = prg_objects_find_kind((const struct prg_objects *)reader, group, kind_name);
    struct visiting visiting = {visit, ctx};
    if (kind)
        prg_object_each(kind, ns, visit_tree, &visiting);
}

struct gathering {
    const char *ns; // NULL: all
    struct prg_vec objects;
};

static void gather(const struct prg_object *object, void *ctx)
{
    struct gathering *gathering = ctx;
    if (!gathering->ns || strcmp(gathering->ns, prg_object_namespace(object)) == 0)
        prg_vec_push(&gathering->objects, (void *)(uintptr_t)object);
}

static void reader_list_labelled(const struct prg_reader *reader, const char *group, const char *kind_name,
                                 const char *ns, const char *label, const char *value, prg_reader_visit_fn visit,
                                 void *ctx)
{
    const struct prg_object_kind *kind = prg_objects_find_kind((const struct prg_objects *)reader, group, kind_name);
    struct gathering gathering = {.ns = ns};
    if (kind && !prg_object_kind_has_index(kind, label)) {
        struct prg_reader_filter filter = {label, value, visit, ctx};
        reader_list(reader, group, kind_name, ns, prg_reader_visit_filtered, &filter);
        return;
    }
    if (!kind)
        return;
    prg_vec_init(&gathering.objects);
    prg_object_each_labelled(kind, label, value, gather, &gathering);
    prg_vec_sort(&gathering.objects, compare_places, NULL);
    for (size_t i = 0; i < gathering.objects.count; i++)
        visit(prg_object_tree(gathering.objects.items[i]), ctx);
    prg_vec_release(&gathering.objects);
}

// ---- life ----

struct prg_objects *prg_objects_new(size_t tree_bytes)
{
    struct prg_objects *o = prg_xcalloc(1, sizeof(*o));
    o->reader.get = reader_get;
    o->reader.list = reader_list;
    o->reader.list_labelled = reader_list_labelled;
    o->max_tree_bytes = tree_bytes ? tree_bytes : TREE_BYTES;
    prg_map_init(&o->kinds);
    o->builder = prg_xcalloc(1, sizeof(*o->builder));
    prg_strbuf_init(&o->builder->texts);
    prg_strbuf_init(&o->builder->text);
    prg_vec_init(&o->builder->keys);
    return o;
}

static void kind_free(struct prg_object_kind *kind)
{
    struct prg_object *object;
    struct prg_vec all;
    prg_vec_init(&all);
    for (size_t i = 0; (object = prg_hash_table_next(&kind->by_name, &i));)
        prg_vec_push(&all, object);
    for (size_t i = 0; i < all.count; i++)
        remove_object(all.items[i], NULL, NULL);
    prg_vec_release(&all);
    prg_hash_table_release(&kind->by_name);
    prg_hash_table_release(&kind->buckets);
    prg_hash_table_release(&kind->spaces);
    for (size_t i = 0; i < kind->label_count; i++)
        free(kind->labels[i]);
    free(kind->labels);
    free(kind->rule);
    free(kind->head);
    free(kind->group);
    free(kind->version);
    free(kind->kind);
    free(kind->api_version);
    free(kind);
}

void prg_objects_free(struct prg_objects *o)
{
    const struct prg_map_entry *entry;
    if (!o)
        return;
    for (size_t i = 0; (entry = prg_map_next(&o->kinds, &i));)
        kind_free(entry->value);
    prg_require(!o->newest);
    prg_map_release(&o->kinds);
    prg_strbuf_release(&o->builder->texts);
    prg_strbuf_release(&o->builder->text);
    prg_vec_release(&o->builder->keys);
    free(o->builder);
    free(o);
}

const struct prg_reader *prg_objects_reader(const struct prg_objects *o)
{
    return &o->reader;
}

size_t prg_objects_count(const struct prg_objects *o)
{
    const struct prg_map_entry *entry;
    size_t count = 0;
    for (size_t i = 0; (entry = prg_map_next(&o->kinds, &i));)
        count += prg_object_kind_count(entry->value);
    return count;
}

struct prg_object_kind *prg_objects_find_kind(const struct prg_objects *o, const char *group, const char *kind)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    name_bytes(&bytes, group, kind);
    return prg_map_get(&o->kinds, bytes.text);
}

struct prg_object_kind *prg_objects_kind(struct prg_objects *o, const struct prg_kind_options *options)
{
    struct prg_object_kind *kind = prg_objects_find_kind(o, options->group, options->kind);
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    if (kind)
        return kind;
    kind = prg_xcalloc(1, sizeof(*kind));
    kind->objects = o;
    kind->group = prg_xstrdup(options->group);
    kind->version = prg_xstrdup(options->version);
    kind->kind = prg_xstrdup(options->kind);
    prg_strbuf_printf(&bytes, "%s%s%s", options->group, *options->group ? "/" : "", options->version);
    kind->api_version = prg_xstrdup(bytes.text);
    prg_strbuf_clear(&bytes);
    prg_strbuf_printf(&bytes, "{\"apiVersion\":\"%s\",\"kind\":\"%s\"", kind->api_version, kind->kind);
    kind->head = prg_xstrdup(bytes.text);
    static const char *const no_labels[] = {NULL};
    const char *const *labels = options->labels ? options->labels : no_labels;
    while (labels[kind->label_count])
        kind->label_count++;
    kind->labels = prg_xcalloc(kind->label_count + 1, sizeof(*kind->labels));
    for (size_t i = 0; i < kind->label_count; i++)
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): label_count is where the names end
        kind->labels[i] = prg_xstrdup(labels[i]);
    kind->rule = kind_rule_new(kind, options->prune);
    prg_strbuf_clear(&bytes);
    name_bytes(&bytes, options->group, options->kind);
    prg_map_put(&o->kinds, bytes.text, kind);
    return kind;
}

void prg_object_kind_set_mark(struct prg_object_kind *kind, bool (*concerns)(const char *manager),
                              uint32_t (*mark)(const cJSON *object))
{
    kind->concerns = concerns;
    kind->mark = mark;
}

unsigned prg_object_kind_add_source(struct prg_object_kind *kind)
{
    prg_require(kind->source_count < PRG_OBJECT_SOURCES);
    return kind->source_count++;
}

bool prg_object_kind_has_index(const struct prg_object_kind *kind, const char *label)
{
    for (size_t i = 0; i < kind->label_count; i++)
        if (strcmp(kind->labels[i], label) == 0)
            return true;
    return false;
}

uint32_t prg_object_kind_readings(const struct prg_object_kind *kind)
{
    return kind->generation;
}

size_t prg_object_kind_count(const struct prg_object_kind *kind)
{
    return kind->by_name.count;
}

// ---- pruning ----

static const struct prg_compact_member of_container[] = {{.key = "name"}, {.key = "image"}, {.key = "resources"}, {0}};
static const struct prg_compact_rule container_rule = {of_container, true};
static const struct prg_compact_member of_pod_spec[] = {{.key = "nodeName"},
                                                        {.key = "containers", .inside = &container_rule},
                                                        {.key = "initContainers", .inside = &container_rule},
                                                        {0}};
static const struct prg_compact_rule pod_spec_rule = {of_pod_spec, true};
static const struct prg_compact_member of_container_status[] = {
    {.key = "containerID", .is_dropped = true}, {.key = "imageID", .is_dropped = true}, {0}};
static const struct prg_compact_rule container_status_rule = {of_container_status, false};
static const struct prg_compact_member of_pod_status[] = {
    {.key = "hostIP", .is_dropped = true},
    {.key = "hostIPs", .is_dropped = true},
    {.key = "podIP", .is_dropped = true},
    {.key = "podIPs", .is_dropped = true},
    {.key = "qosClass", .is_dropped = true},
    {.key = "containerStatuses", .inside = &container_status_rule},
    {.key = "initContainerStatuses", .inside = &container_status_rule},
    {0}};
static const struct prg_compact_rule pod_status_rule = {of_pod_status, false};
static const struct prg_compact_member of_pod[] = {
    {.key = "spec", .inside = &pod_spec_rule}, {.key = "status", .inside = &pod_status_rule}, {0}};
const struct prg_compact_rule prg_prune_pod[1] = {{of_pod, false}};
