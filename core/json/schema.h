// SPDX-License-Identifier: Apache-2.0
// schema.h: compiled descriptions of Kubernetes types. One table serves three readers: the strategic merge (merge
// keys), the check for wrong types and misspelled fields, and the normal form that Go's typed round trip gives (empty
// fields dropped, quantities printed anew). Tables are constant data; fields newer than a table are carried through
// untouched everywhere.
#pragma once
#include "json/value.h"

enum prg_schema_kind {
    PRG_KIND_ANY, // anything (unknown extension, RawExtension)
    PRG_KIND_STRING,
    PRG_KIND_INT, // int32 or int64
    PRG_KIND_BOOL,
    PRG_KIND_NUMBER,   // float
    PRG_KIND_QUANTITY, // string or number, resource.Quantity
    PRG_KIND_INTORSTRING,
    PRG_KIND_TIME,   // RFC 3339 string or null
    PRG_KIND_OBJECT, // a struct: .type
    PRG_KIND_MAP,    // map from text to .element (with .type when that is OBJECT)
    PRG_KIND_LIST,   // list of .element (with .type when that is OBJECT)
};

enum prg_schema_flags {
    // In Go: a pointer, or no omitempty. A present zero value ("", 0, false, {}) stays. Without it zero values vanish
    // in a typed round trip, as do empty lists and maps; an OBJECT without it is a pointer or an always-present struct
    // and stays when present.
    PRG_FIELD_KEEP_ZERO = 1 << 0,
    PRG_FIELD_MERGE = 1 << 1, // list: patchStrategy=merge (by merge_key, or as a set of scalars when merge_key is NULL)
    PRG_FIELD_RETAIN_KEYS = 1 << 2, // patchStrategy=retainKeys
    PRG_FIELD_REQUIRED = 1 << 3,    // neither a pointer nor omitempty: Go prints it always, the API server wants it
};

struct prg_schema;
struct prg_schema_field {
    const char *name;
    enum prg_schema_kind kind;
    enum prg_schema_kind element; // of MAP and LIST
    unsigned flags;
    const struct prg_schema *type; // of OBJECT, or the element's
    const char *merge_key;         // patchMergeKey of a LIST with PRG_FIELD_MERGE
};
struct prg_schema_index; // private to schema.c; made when it is first used
struct prg_schema {
    const char *name;                      // Go name: "Container"
    const struct prg_schema_field *fields; // sorted by name (checked by a test)
    size_t count;
    const struct prg_schema *inlined; // Go's embedded struct: its fields stand among these (ours win); NULL when none
    _Atomic(struct prg_schema_index *) *index; // where it is kept; NULL: looked up by binary search
};

const struct prg_schema_field *prg_schema_find(const struct prg_schema *schema, const char *name); // NULL when unknown
// The fields that Go prints whether or not anybody set them: required ones, and quantities that are no pointers. In
// order of their names, those of schema->inlined not among them. *at begins at 0; NULL at the end.
const struct prg_schema_field *prg_schema_next_printed(const struct prg_schema *schema, size_t *at);
static inline bool prg_schema_is_printed(const struct prg_schema_field *field)
{
    return (field->flags & PRG_FIELD_REQUIRED) ||
           (field->kind == PRG_KIND_QUANTITY && !(field->flags & PRG_FIELD_KEEP_ZERO));
}
size_t prg_schema_printed_count(const struct prg_schema *schema); // of these, with those of schema->inlined
const struct prg_schema_field *prg_schema_nearest(const struct prg_schema *schema,
                                                  const char *name); // for "did you mean", or NULL

enum prg_schema_problem { PRG_PROBLEM_WRONG_TYPE, PRG_PROBLEM_UNKNOWN_FIELD };
struct prg_schema_finding {
    enum prg_schema_problem problem;
    const char *pointer;  // JSON pointer below the node checked; valid during the callback
    const cJSON *node;    // the bad node; its position tells line and column
    const char *expected; // "object", "list", "string", "integer", … for WRONG_TYPE
    const char *nearest;  // nearest known name for UNKNOWN_FIELD, or NULL
};
typedef void (*prg_schema_report_fn)(const struct prg_schema_finding *finding, void *ctx);
// Walks node against schema and reports each finding in document order. Null is accepted everywhere (Go reads it as
// absent).
void prg_schema_check(const struct prg_schema *schema, const cJSON *node, prg_schema_report_fn report, void *ctx);

// podschema.c: core/v1.
extern const struct prg_schema prg_schema_pod;          // metadata + spec (status ANY)
extern const struct prg_schema prg_schema_pod_template; // metadata + spec
extern const struct prg_schema prg_schema_object_meta;
extern const struct prg_schema prg_schema_pod_spec;
extern const struct prg_schema prg_schema_container;
extern const struct prg_schema prg_schema_probe;
extern const struct prg_schema prg_schema_resources;
// servingschema.c: serving.kserve.io, whole objects (apiVersion, kind, metadata, spec, status).
extern const struct prg_schema prg_schema_inference_service;
extern const struct prg_schema prg_schema_serving_runtime; // ClusterServingRuntime has the same shape
extern const struct prg_schema prg_schema_storage_container;
// NULL for kinds without a table.
const struct prg_schema *prg_schema_of_kind(const char *api_group, const char *kind);
