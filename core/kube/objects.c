// SPDX-License-Identifier: Apache-2.0
// objects.c: the cache.
//
// An object lies in one block: the struct, its places in the indexes, its texts. An index is a map from a text ("n" and
// the namespace, "o" and an owner's uid, "l", label and value) to a bucket, an array of objects; each object knows its
// place in each bucket, so that it leaves by swapping with the last. Buckets of namespaces are put in order when they
// are read.
#include "kube/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "object/meta.h"

#define TREE_BYTES ((size_t)32 << 20)

struct bucket {
    char *key;
    struct prg_vec objects;
    bool is_sorted;
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
    uint32_t source, marks;
    uint32_t ns, name, uid, version, text, text_length; // offsets into texts
    uint32_t place_count;
    struct place places[]; // then texts
};

struct prg_object_kind {
    struct prg_objects *objects;
    char *group, *version, *kind, *api_version;
    char **labels;
    size_t label_count;
    void (*prune)(struct prg_arena *arena, cJSON *object);
    uint32_t (*mark)(const cJSON *object);
    struct prg_map by_name; // "ns/name" -> struct prg_object
    struct prg_map buckets; // all but namespaces
    struct prg_map spaces;  // namespaces
    uint32_t generation;
};

struct prg_objects {
    struct prg_reader reader; // first
    struct prg_map kinds;     // "group/kind"
    struct prg_arena scratch; // of one read
    struct tree *newest, *oldest;
    size_t tree_bytes, max_tree_bytes;
};

static const char *texts_of(const struct prg_object *object)
{
    return (const char *)&object->places[object->place_count];
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

void prg_object_set_source(struct prg_object *object, uint32_t source)
{
    object->source = source;
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
        tree_free(o, o->oldest);
}

size_t prg_objects_tree_bytes(const struct prg_objects *o)
{
    return o->tree_bytes;
}

// ---- reading ----

// Texts of an object being made: one after the other, each ended.
struct builder {
    struct prg_strbuf texts;
    struct prg_vec keys; // offsets of index texts
};

static uint32_t add_text(struct builder *b, const char *text, size_t length)
{
    size_t offset = b->texts.length;
    prg_strbuf_add(&b->texts, text, length);
    prg_strbuf_putc(&b->texts, '\0');
    return (uint32_t)offset;
}

static void add_index(struct builder *b, char type, const char *first, const char *second)
{
    size_t offset = b->texts.length;
    prg_strbuf_putc(&b->texts, type);
    prg_strbuf_puts(&b->texts, first);
    if (second) {
        prg_strbuf_putc(&b->texts, '=');
        prg_strbuf_puts(&b->texts, second);
    }
    prg_strbuf_putc(&b->texts, '\0');
    prg_vec_push(&b->keys, (void *)(uintptr_t)offset);
}

static void prune(struct prg_object_kind *kind, struct prg_arena *arena, cJSON *object)
{
    cJSON *metadata = prg_json_get(object, "metadata"), *annotations = prg_json_get(metadata, "annotations");
    prg_json_remove(metadata, "managedFields");
    if (annotations)
        prg_json_remove(annotations, "kubectl.kubernetes.io/last-applied-configuration");
    if (kind->prune)
        kind->prune(arena, object);
}

// apiVersion and kind, which items of a list of a built-in kind lack.
static int check_type(struct prg_object_kind *kind, struct prg_arena *arena, cJSON *object, struct prg_error *err)
{
    const char *version = prg_json_get_text(object, "apiVersion"), *name = prg_json_get_text(object, "kind");
    if (prg_text_equal(name, "PartialObjectMetadata")) { // only the metadata was asked for
        prg_json_set_string(arena, object, "apiVersion", kind->api_version);
        prg_json_set_string(arena, object, "kind", kind->kind);
        return PRG_OK;
    }
    if ((version && strcmp(version, kind->api_version) != 0) || (name && strcmp(name, kind->kind) != 0))
        return prg_fail(err, PRG_INVALID, "the server sent a %s %s where a %s %s was expected", version ? version : "",
                        name ? name : "", kind->api_version, kind->kind);
    if (!version)
        prg_json_set_string(arena, object, "apiVersion", kind->api_version);
    if (!name)
        prg_json_set_string(arena, object, "kind", kind->kind);
    return PRG_OK;
}

static void collect(struct builder *b, const struct prg_object_kind *kind, const cJSON *object)
{
    const cJSON *owner, *metadata = prg_json_get(object, "metadata");
    add_index(b, 'n', prg_meta_namespace(object), NULL);
    prg_json_each (owner, prg_json_get(metadata, "ownerReferences")) {
        const char *uid = prg_json_get_text(owner, "uid");
        if (uid && *uid)
            add_index(b, 'o', uid, NULL);
    }
    for (size_t i = 0; i < kind->label_count; i++) {
        const char *value = prg_meta_label(object, kind->labels[i]);
        if (value)
            add_index(b, 'l', kind->labels[i], value);
    }
}

static struct prg_object *make(struct prg_object_kind *kind, const cJSON *tree)
{
    struct builder b = {.texts = PRG_STRBUF_INIT};
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const char *version = prg_json_get_text(prg_json_get(tree, "metadata"), "resourceVersion");
    prg_vec_init(&b.keys);
    prg_json_print(&text, tree, PRG_JSON_COMPACT);
    struct prg_object head = {.kind = kind, .refs = 1};
    head.ns = add_text(&b, prg_meta_namespace(tree), strlen(prg_meta_namespace(tree)));
    head.name = add_text(&b, prg_meta_name(tree), strlen(prg_meta_name(tree)));
    head.uid = add_text(&b, prg_meta_uid(tree), strlen(prg_meta_uid(tree)));
    head.version = add_text(&b, version ? version : "", version ? strlen(version) : 0);
    collect(&b, kind, tree);
    head.text = add_text(&b, text.text, text.length);
    head.text_length = (uint32_t)text.length;
    head.place_count = (uint32_t)b.keys.count;
    size_t places = b.keys.count * sizeof(struct place);
    struct prg_object *object = prg_xmalloc(sizeof(*object) + places + b.texts.length);
    *object = head;
    for (size_t i = 0; i < b.keys.count; i++)
        object->places[i] = (struct place){.key = (uint32_t)(uintptr_t)b.keys.items[i]};
    memcpy((char *)texts_of(object), b.texts.text, b.texts.length);
    prg_strbuf_release(&b.texts);
    prg_vec_release(&b.keys);
    return object;
}

int prg_object_read(struct prg_object_kind *kind, const char *text, size_t length, struct prg_object **ret,
                    struct prg_error *err)
{
    struct prg_arena *arena = &kind->objects->scratch;
    struct prg_error own = {0};
    cJSON *tree = NULL;
    err = err ? err : &own;
    prg_arena_reset(arena);
    if (prg_json_parse(arena, text, length, NULL, &tree, err) != PRG_OK)
        return prg_wrap(err, "%s from the server", kind->kind);
    if (!prg_json_is_object(tree) || check_type(kind, arena, tree, err) != PRG_OK)
        return err->code ? err->code : prg_fail(err, PRG_INVALID, "%s from the server: not an object", kind->kind);
    if (!*prg_meta_name(tree))
        return prg_fail(err, PRG_INVALID, "%s from the server: metadata.name is missing", kind->kind);
    uint32_t marks = kind->mark ? kind->mark(tree) : 0;
    prune(kind, arena, tree);
    *ret = make(kind, tree);
    (*ret)->marks = marks;
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

static struct prg_map *index_of(struct prg_object_kind *kind, const char *key)
{
    return key[0] == 'n' ? &kind->spaces : &kind->buckets;
}

static int compare_names(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(prg_object_name(a), prg_object_name(b));
}

static void index_add(struct prg_object *object)
{
    for (size_t i = 0; i < object->place_count; i++) {
        struct place *place = &object->places[i];
        const char *key = texts_of(object) + place->key;
        struct prg_map *map = index_of(object->kind, key);
        struct bucket *bucket = prg_map_get(map, key);
        if (!bucket) {
            bucket = prg_xcalloc(1, sizeof(*bucket));
            bucket->key = prg_xstrdup(key);
            prg_map_put(map, key, bucket);
        }
        place->bucket = bucket;
        place->index = (uint32_t)bucket->objects.count;
        prg_vec_push(&bucket->objects, object);
        bucket->is_sorted =
            place->index == 0 || (bucket->is_sorted && key[0] == 'n' &&
                                  compare_names(bucket->objects.items[place->index - 1], object, NULL) < 0);
    }
}

static void bucket_free(struct bucket *bucket)
{
    prg_vec_release(&bucket->objects);
    free(bucket->key);
    free(bucket);
}

static struct place *place_in(struct prg_object *object, const struct bucket *bucket, uint32_t index)
{
    for (size_t i = 0; i < object->place_count; i++)
        if (object->places[i].bucket == bucket && object->places[i].index == index)
            return &object->places[i];
    prg_require(!"an object is not where its index has it");
    return NULL;
}

static void index_remove(struct prg_object *object)
{
    for (size_t i = 0; i < object->place_count; i++) {
        struct place *place = &object->places[i];
        struct bucket *bucket = place->bucket;
        struct prg_vec *objects = &bucket->objects;
        uint32_t last = (uint32_t)objects->count - 1;
        struct prg_object *moved = objects->items[last];
        place_in(moved, bucket, last)->index = place->index;
        objects->items[place->index] = moved;
        objects->count--;
        bucket->is_sorted = bucket->is_sorted && place->index == last;
        place->bucket = NULL;
        if (!objects->count) {
            prg_map_remove(index_of(object->kind, bucket->key), bucket->key);
            bucket_free(bucket);
        }
    }
}

// A new object takes the places of its predecessor where the index texts are the same: nothing moves.
static bool index_swap(struct prg_object *old, struct prg_object *object)
{
    if (old->place_count != object->place_count)
        return false;
    for (size_t i = 0; i < old->place_count; i++)
        if (strcmp(texts_of(old) + old->places[i].key, texts_of(object) + object->places[i].key) != 0)
            return false;
    for (size_t i = 0; i < old->place_count; i++) {
        struct place *from = &old->places[i], *to = &object->places[i];
        to->bucket = from->bucket;
        to->index = from->index;
        to->bucket->objects.items[to->index] = object;
        from->bucket = NULL;
    }
    return true;
}

static void bucket_sort(struct bucket *bucket)
{
    if (bucket->is_sorted)
        return;
    prg_vec_sort(&bucket->objects, compare_names, NULL);
    for (size_t i = 0; i < bucket->objects.count; i++) {
        struct prg_object *object = bucket->objects.items[i];
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

static void tell(prg_object_change_fn changed, enum prg_object_change change, const struct prg_object *old,
                 const struct prg_object *object, void *ctx)
{
    if (changed)
        changed(change, old, object, ctx);
}

static void remove_object(struct prg_object *object, prg_object_change_fn changed, void *ctx)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    name_bytes(&bytes, prg_object_namespace(object), prg_object_name(object));
    prg_map_remove(&object->kind->by_name, bytes.text);
    index_remove(object);
    tell(changed, PRG_OBJECT_REMOVED, object, object, ctx);
    prg_objects_trim(object->kind->objects);
    prg_object_unref(object);
}

void prg_object_put(struct prg_object *object, prg_object_change_fn changed, void *ctx)
{
    struct prg_object_kind *kind = object->kind;
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    name_bytes(&bytes, prg_object_namespace(object), prg_object_name(object));
    struct prg_object *old = prg_map_get(&kind->by_name, bytes.text);
    const char *version = prg_object_version(object);
    object->generation = kind->generation;
    if (old && strcmp(prg_object_uid(old), prg_object_uid(object)) != 0) {
        remove_object(old, changed, ctx);
        old = NULL;
    }
    if (old == object || (old && *version && strcmp(prg_object_version(old), version) == 0)) {
        old->generation = kind->generation;
        prg_object_unref(object);
        return;
    }
    prg_objects_trim(kind->objects);
    prg_map_put(&kind->by_name, bytes.text, object);
    if (!old || !index_swap(old, object)) {
        if (old)
            index_remove(old);
        index_add(object);
    }
    tell(changed, old ? PRG_OBJECT_UPDATED : PRG_OBJECT_ADDED, old, object, ctx);
    prg_object_unref(old);
}

void prg_object_drop(struct prg_object_kind *kind, const char *ns, const char *name, prg_object_change_fn changed,
                     void *ctx)
{
    struct prg_object *object = prg_object_find(kind, ns, name);
    if (object)
        remove_object(object, changed, ctx);
}

void prg_object_replace(struct prg_object_kind *kind, uint32_t source, struct prg_vec *objects,
                        prg_object_change_fn changed, void *ctx)
{
    const struct prg_map_entry *entry;
    struct prg_vec gone;
    prg_vec_init(&gone);
    kind->generation++;
    for (size_t i = 0; i < objects->count; i++)
        prg_object_put(objects->items[i], changed, ctx);
    objects->count = 0;
    for (size_t i = 0; (entry = prg_map_next(&kind->by_name, &i));) {
        const struct prg_object *object = entry->value;
        if (object->source == source && object->generation != kind->generation)
            prg_vec_push(&gone, entry->value);
    }
    for (size_t i = 0; i < gone.count; i++)
        remove_object(gone.items[i], changed, ctx);
    prg_vec_release(&gone);
}

// ---- looking up ----

struct prg_object *prg_object_find(const struct prg_object_kind *kind, const char *ns, const char *name)
{
    prg_auto_strbuf bytes = PRG_STRBUF_INIT;
    name_bytes(&bytes, ns, name);
    return prg_map_get(&kind->by_name, bytes.text);
}

static void each_in(const struct bucket *bucket, prg_object_visit_fn visit, void *ctx)
{
    for (size_t i = 0; bucket && i < bucket->objects.count; i++)
        visit(bucket->objects.items[i], ctx);
}

static void each_indexed(const struct prg_object_kind *kind, char type, const char *first, const char *second,
                         prg_object_visit_fn visit, void *ctx)
{
    prg_auto_strbuf key = PRG_STRBUF_INIT;
    prg_strbuf_printf(&key, "%c%s%s%s", type, first, second ? "=" : "", second ? second : "");
    struct bucket *bucket = prg_map_get(type == 'n' ? &kind->spaces : &kind->buckets, key.text);
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
    const struct prg_map_entry *entry;
    struct prg_vec spaces;
    if (ns) {
        each_indexed(kind, 'n', ns, NULL, visit, ctx);
        return;
    }
    prg_vec_init(&spaces);
    for (size_t i = 0; (entry = prg_map_next(&kind->spaces, &i));)
        prg_vec_push(&spaces, entry->value);
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

static int compare_places(const void *a, const void *b, void *ctx)
{
    int rc = strcmp(prg_object_namespace(a), prg_object_namespace(b));
    return rc ? rc : compare_names(a, b, ctx);
}

static bool has_index(const struct prg_object_kind *kind, const char *label)
{
    for (size_t i = 0; i < kind->label_count; i++)
        if (strcmp(kind->labels[i], label) == 0)
            return true;
    return false;
}

static void reader_list_labelled(const struct prg_reader *reader, const char *group, const char *kind_name,
                                 const char *ns, const char *label, const char *value, prg_reader_visit_fn visit,
                                 void *ctx)
{
    const struct prg_object_kind *kind = prg_objects_find_kind((const struct prg_objects *)reader, group, kind_name);
    struct gathering gathering = {.ns = ns};
    if (kind && !has_index(kind, label)) {
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
    prg_arena_init(&o->scratch);
    return o;
}

static struct prg_object *first_of(const struct prg_object_kind *kind)
{
    size_t i = 0;
    const struct prg_map_entry *entry = prg_map_next(&kind->by_name, &i);
    return entry ? entry->value : NULL;
}

static void kind_free(struct prg_object_kind *kind)
{
    struct prg_object *object;
    while ((object = first_of(kind)))
        remove_object(object, NULL, NULL);
    prg_map_release(&kind->by_name);
    prg_map_release(&kind->buckets);
    prg_map_release(&kind->spaces);
    for (size_t i = 0; i < kind->label_count; i++)
        free(kind->labels[i]);
    free(kind->labels);
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
    prg_arena_release(&o->scratch);
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
    kind->prune = options->prune;
    static const char *const no_labels[] = {NULL};
    const char *const *labels = options->labels ? options->labels : no_labels;
    while (labels[kind->label_count])
        kind->label_count++;
    kind->labels = prg_xcalloc(kind->label_count + 1, sizeof(*kind->labels));
    for (size_t i = 0; i < kind->label_count; i++)
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): label_count is where the names end
        kind->labels[i] = prg_xstrdup(labels[i]);
    prg_map_init(&kind->by_name);
    prg_map_init(&kind->buckets);
    prg_map_init(&kind->spaces);
    prg_strbuf_clear(&bytes);
    name_bytes(&bytes, options->group, options->kind);
    prg_map_put(&o->kinds, bytes.text, kind);
    return kind;
}

void prg_object_kind_set_mark(struct prg_object_kind *kind, uint32_t (*mark)(const cJSON *object))
{
    kind->mark = mark;
}

size_t prg_object_kind_count(const struct prg_object_kind *kind)
{
    return kind->by_name.count;
}

// ---- pruning ----

// Keeps only the named members.
static void keep_only(cJSON *object, const char *const *keys)
{
    for (cJSON *member = object ? object->child : NULL, *next; member; member = next) {
        bool is_kept = false;
        next = member->next;
        for (size_t i = 0; keys[i]; i++)
            is_kept = is_kept || strcmp(member->string, keys[i]) == 0;
        if (!is_kept)
            prg_json_detach(object, member);
    }
}

void prg_prune_pod(struct prg_arena *arena, cJSON *pod)
{
    static const char *const of_spec[] = {"nodeName", "containers", "initContainers", NULL};
    static const char *const of_container[] = {"name", "image", "resources", NULL};
    static const char *const lists[] = {"containers", "initContainers"};
    cJSON *spec = prg_json_get(pod, "spec"), *container;
    (void)arena;
    if (!prg_json_is_object(spec))
        return;
    keep_only(spec, of_spec);
    for (size_t i = 0; i < PRG_COUNT(lists); i++)
        prg_json_each (container, prg_json_get(spec, lists[i]))
            if (prg_json_is_object(container))
                keep_only(container, of_container);
}
