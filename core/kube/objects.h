// SPDX-License-Identifier: Apache-2.0
// objects.h: the cache of what the server holds: one compact, immutable, counted object per API object, and indexes.
//
// A JSON tree takes six times the room of its text, so the cache keeps text: compact JSON without managedFields and
// whatever else the kind's rule drops, with the few fields beside it that lookups need. Readers get trees,
// which are parsed when they are asked for and kept for a while: a tree lives until the next change of the cache.
//
// Indexes: by namespace, by owner (every owner reference's uid), by the labels that the kind names. Adding and removing
// cost the same however many objects there are.
#pragma once
#include "base/vec.h"
#include "object/reader.h"
#include "json/compact.h"

struct prg_objects;     // the cache
struct prg_object_kind; // one kind in it
struct prg_object;      // an object; counted

struct prg_kind_options { // texts are copied
    const char *group, *version, *kind;
    const char *const *labels; // NULL-ended keys with an index, or NULL
    // Drops what nobody reads, outside of metadata; may be NULL; borrowed. metadata.managedFields and the last-applied
    // annotation of kubectl go in any case.
    const struct prg_compact_rule *prune;
};

// tree_bytes: trees beyond so much are dropped at the next change, 0: 32 MiB.
struct prg_objects *prg_objects_new(size_t tree_bytes);
void prg_objects_free(struct prg_objects *objects); // all objects must be back. NULL is fine
// First member of objects' own data: get and list of store readers.
const struct prg_reader *prg_objects_reader(const struct prg_objects *objects);
// Drops trees down to the limit now: for drivers, between two plans.
void prg_objects_trim(struct prg_objects *objects);
size_t prg_objects_count(const struct prg_objects *objects); // objects of all kinds
size_t prg_objects_tree_bytes(const struct prg_objects *objects);

// The kind, made at the first call. Kinds are told apart by group and kind.
struct prg_object_kind *prg_objects_kind(struct prg_objects *objects, const struct prg_kind_options *options);
struct prg_object_kind *prg_objects_find_kind(const struct prg_objects *objects, const char *group, const char *kind);
// mark looks at an object as the server sends it, before anything is dropped; its answer is kept beside the object. It
// is asked about those whose managedFields name a manager that concerns it; the others have none.
void prg_object_kind_set_mark(struct prg_object_kind *kind, bool (*concerns)(const char *manager),
                              uint32_t (*mark)(const cJSON *object));
// Another source that will read the kind, as several may: by namespaces, by labels. Returns its number.
#define PRG_OBJECT_SOURCES 32
unsigned prg_object_kind_add_source(struct prg_object_kind *kind);
size_t prg_object_kind_count(const struct prg_object_kind *kind);
bool prg_object_kind_has_index(const struct prg_object_kind *kind, const char *label);
uint32_t prg_object_kind_readings(const struct prg_object_kind *kind); // how often it was read anew, by whatever source

// ---- objects ----

// Reads one object as the server sends it (items of a list lack apiVersion and kind, which are filled in; of a
// PartialObjectMetadata they are put right). The caller holds the reference.
int prg_object_read(struct prg_object_kind *kind, const char *text, size_t length, struct prg_object **ret,
                    struct prg_error *err) PRG_MUST_USE;
struct prg_object *prg_object_ref(struct prg_object *object);
void prg_object_unref(struct prg_object *object); // NULL is fine

const char *prg_object_namespace(const struct prg_object *object); // "" for cluster scope
const char *prg_object_name(const struct prg_object *object);
const char *prg_object_uid(const struct prg_object *object);
const char *prg_object_version(const struct prg_object *object); // metadata.resourceVersion
const struct prg_object_kind *prg_object_kind_of(const struct prg_object *object);
// Two of one place in a cluster: version, uid and what is kept are equal. The version alone does not tell: a server
// whose data were put back to an older state gives versions a second time, for other contents.
bool prg_object_is_same(const struct prg_object *a, const struct prg_object *b);
const char *prg_object_text(const struct prg_object *object, size_t *ret_length);
uint32_t prg_object_marks(const struct prg_object *object);
struct prg_key prg_object_key(const struct prg_object *object); // borrows from it
const cJSON *prg_object_tree(const struct prg_object *object);  // until the next change of the cache

// ---- changes ----

enum prg_object_change { PRG_OBJECT_SAME, PRG_OBJECT_ADDED, PRG_OBJECT_UPDATED, PRG_OBJECT_REMOVED };

// old is NULL for ADDED, object for REMOVED (whose last state may have been missed).
typedef void (*prg_object_change_fn)(enum prg_object_change change, const struct prg_object *old,
                                     const struct prg_object *object, void *ctx);

// One kind may be read by several sources, each of which sees those objects that its selector takes. An object is in
// the cache as long as one of them has it.

// source has the object: adds or replaces; takes the reference. An object of another uid is a removal and an addition.
// The same resourceVersion is no change, nor is an older one than another source told. changed may be NULL; it must not
// change the cache.
void prg_object_put(struct prg_object *object, unsigned source, prg_object_change_fn changed, void *ctx);
// source has it no more.
void prg_object_drop(struct prg_object_kind *kind, unsigned source, const char *ns, const char *name,
                     prg_object_change_fn changed, void *ctx);
struct prg_object_scope { // where a list was looked for
    unsigned source;
    const char *ns, *name; // NULL: in all namespaces; all names
};
// In the scope, source has just these (struct prg_object); takes their references, empties the vector.
void prg_object_replace(struct prg_object_kind *kind, const struct prg_object_scope *scope, struct prg_vec *objects,
                        prg_object_change_fn changed, void *ctx);

// ---- looking up ----

struct prg_object *prg_object_find(const struct prg_object_kind *kind, const char *ns, const char *name); // or NULL
typedef void (*prg_object_visit_fn)(const struct prg_object *object, void *ctx);
// In order of namespace and name; ns NULL: all. visit must not change the cache.
void prg_object_each(const struct prg_object_kind *kind, const char *ns, prg_object_visit_fn visit, void *ctx);
// Those with an owner reference to uid, in no order.
void prg_object_each_owned(const struct prg_object_kind *kind, const char *uid, prg_object_visit_fn visit, void *ctx);
// Those with the label, which must be one of the kind's, in no order.
void prg_object_each_labelled(const struct prg_object_kind *kind, const char *label, const char *value,
                              prg_object_visit_fn visit, void *ctx);

// For Pods: of the spec only node name and the containers' names, images and resources stay, of the status all but
// addresses, identities of containers and images, and the class of service.
extern const struct prg_compact_rule prg_prune_pod[1];
