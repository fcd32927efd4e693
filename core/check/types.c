// SPDX-License-Identifier: Apache-2.0
// types.c: kinds from the schema tables, and what can be asked of a type.
#include "check/types.h"

#include <string.h>

#include "json/podschema.h"

const struct prg_type prg_type_any = {.kind = PRG_TYPE_ANY}, prg_type_nil = {.kind = PRG_TYPE_NIL},
                      prg_type_boolean = {.kind = PRG_TYPE_BOOLEAN}, prg_type_number = {.kind = PRG_TYPE_NUMBER},
                      prg_type_string = {.kind = PRG_TYPE_STRING}, prg_type_empty = {.kind = PRG_TYPE_EMPTY};

const struct prg_types_kind prg_types_kinds[] = {
    {"InferenceService", &prg_schema_inference_service},
    {"ServingRuntime", &prg_schema_serving_runtime},
    {"ClusterStorageContainer", &prg_schema_storage_container},
    {"Pod", &prg_schema_pod},
    {"PodTemplateSpec", &prg_schema_pod_template},
    {"Deployment", &prg_schema_deployment},
    {"Service", &prg_schema_service},
    {"HorizontalPodAutoscaler", &prg_schema_hpa},
    {"KnativeService", &prg_schema_knative_service},
    {"ConfigMap", &prg_schema_config_map},
    {"Secret", &prg_schema_secret},
    {NULL, NULL},
};

// ---- kinds ----

static const struct prg_type *find_struct(const struct prg_types *types, const struct prg_schema *schema)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&types->structs, &i));)
        if (((const struct prg_type *)entry->value)->schema == schema)
            return entry->value;
    return NULL;
}

// Adds a table and those that it names. root: the kind that led here, for names that are taken.
static void add_struct(struct prg_types *types, const struct prg_schema *schema, const char *name, const char *root)
{
    if (!schema || find_struct(types, schema))
        return;
    const char *full = prg_arena_printf(types->arena, "k8s.%s", name);
    if (prg_map_get(&types->structs, full))
        full = prg_arena_printf(types->arena, "k8s.%s%s", root, name);
    prg_require(!prg_map_get(&types->structs, full));
    struct prg_type *type = prg_arena_new(types->arena, struct prg_type);
    *type = (struct prg_type){.kind = PRG_TYPE_STRUCT, .schema = schema};
    prg_map_put(&types->structs, full, type);
    type->name = full;
    if (schema->inlined)
        add_struct(types, schema->inlined, schema->inlined->name, root);
    for (size_t i = 0; i < schema->count; i++)
        if (schema->fields[i].type)
            add_struct(types, schema->fields[i].type, schema->fields[i].type->name, root);
}

static void add_kinds(struct prg_types *types)
{
    for (const struct prg_types_kind *kind = prg_types_kinds; kind->schema; kind++)
        add_struct(types, kind->schema, kind->name, kind->name);
}

const struct prg_type *prg_types_struct(struct prg_types *types, const struct prg_schema *schema)
{
    const struct prg_type *type = find_struct(types, schema);
    if (!type) {
        add_struct(types, schema, schema->name, schema->name);
        type = find_struct(types, schema);
    }
    return type;
}

const char *prg_types_schema_name(struct prg_types *types, const struct prg_schema *schema)
{
    return prg_types_struct(types, schema)->name;
}

static const struct prg_type *of_kind(struct prg_types *types, enum prg_schema_kind kind,
                                      const struct prg_schema_field *field)
{
    struct prg_type *type;
    switch (kind) {
    case PRG_KIND_STRING:
    case PRG_KIND_TIME:
        return &prg_type_string;
    case PRG_KIND_INT:
    case PRG_KIND_NUMBER:
        return &prg_type_number;
    case PRG_KIND_BOOL:
        return &prg_type_boolean;
    case PRG_KIND_OBJECT:
        return field->type ? prg_types_struct(types, field->type) : &prg_type_any;
    case PRG_KIND_MAP:
    case PRG_KIND_LIST:
        type = prg_arena_new(types->arena, struct prg_type);
        type->kind = kind == PRG_KIND_MAP ? PRG_TYPE_MAP : PRG_TYPE_LIST;
        type->element = of_kind(types, field->element, field);
        return type;
    case PRG_KIND_ANY:
    case PRG_KIND_QUANTITY:
    case PRG_KIND_INTORSTRING:
        break;
    }
    return &prg_type_any;
}

// ---- questions ----

const struct prg_type *prg_types_class(const struct prg_types *types, const char *name)
{
    const struct prg_type *type = prg_map_get(&types->classes, name);
    return type ? type : prg_map_get(&types->structs, name);
}

const struct prg_type *prg_types_resolve(const struct prg_types *types, const struct prg_type *type)
{
    for (unsigned depth = 0; type && type->kind == PRG_TYPE_NAMED && depth < 16; depth++)
        type = prg_types_class(types, type->name);
    return type && type->kind != PRG_TYPE_NAMED ? type : &prg_type_any;
}

static const struct prg_type_field *class_field(const struct prg_types *types, const struct prg_type *type,
                                                const char *name, bool *ret_open)
{
    *ret_open = false;
    for (unsigned depth = 0; type && type->kind == PRG_TYPE_CLASS && depth < 16; depth++) {
        for (const struct prg_type_field *field = type->fields; field; field = field->next)
            if (strcmp(field->name, name) == 0)
                return field;
        *ret_open = *ret_open || type->is_open;
        const char *parent = type->parent;
        type = parent ? prg_types_class(types, parent) : NULL;
        if (parent && (!type || type->kind != PRG_TYPE_CLASS))
            *ret_open = true;
    }
    return NULL;
}

const struct prg_type *prg_types_field(struct prg_types *types, const struct prg_type *type, const char *name)
{
    const struct prg_schema_field *member;
    const struct prg_type_field *field;
    bool is_open;
    switch (type->kind) {
    case PRG_TYPE_STRUCT:
        member = prg_schema_find(type->schema, name);
        return member ? of_kind(types, member->kind, member) : NULL;
    case PRG_TYPE_CLASS:
        field = class_field(types, type, name, &is_open);
        if (field)
            return prg_types_resolve(types, field->type);
        return is_open ? &prg_type_any : NULL;
    case PRG_TYPE_STRING:
        return prg_types_field(types, prg_types_resolve(types, prg_map_get(&types->globals, "string")), name);
    case PRG_TYPE_MAP:
        return type->element;
    case PRG_TYPE_LIST:
    case PRG_TYPE_NUMBER:
    case PRG_TYPE_BOOLEAN:
        return NULL;
    default:
        return &prg_type_any;
    }
}

const char *prg_types_nearest(const struct prg_types *types, const struct prg_type *type, const char *name)
{
    struct prg_nearest nearest = {.text = name};
    if (type->kind == PRG_TYPE_STRUCT) {
        const struct prg_schema_field *member = prg_schema_nearest(type->schema, name);
        return member ? member->name : NULL;
    }
    if (type->kind == PRG_TYPE_STRING)
        type = prg_types_resolve(types, prg_map_get(&types->globals, "string"));
    for (; type && type->kind == PRG_TYPE_CLASS; type = type->parent ? prg_types_class(types, type->parent) : NULL)
        for (const struct prg_type_field *field = type->fields; field; field = field->next)
            prg_nearest_offer(&nearest, field->name);
    return nearest.name;
}

const struct prg_type *prg_types_element(const struct prg_types *types, const struct prg_type *type)
{
    if ((type->kind == PRG_TYPE_LIST || type->kind == PRG_TYPE_MAP) && type->element)
        return prg_types_resolve(types, type->element);
    return &prg_type_any;
}

static bool is_same(const struct prg_types *types, const struct prg_type *a, const struct prg_type *b)
{
    a = prg_types_resolve(types, a);
    b = prg_types_resolve(types, b);
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return false;
    if (a->kind == PRG_TYPE_LIST || a->kind == PRG_TYPE_MAP)
        return is_same(types, prg_types_element(types, a), prg_types_element(types, b));
    return a->kind < PRG_TYPE_FUNCTION;
}

const struct prg_type *prg_types_join(const struct prg_types *types, const struct prg_type *a, const struct prg_type *b)
{
    if (!a || !b)
        return a ? a : b;
    a = prg_types_resolve(types, a);
    b = prg_types_resolve(types, b);
    if (a->kind == PRG_TYPE_NIL)
        return b;
    if (b->kind == PRG_TYPE_NIL || is_same(types, a, b))
        return a;
    if (a->kind == PRG_TYPE_EMPTY && b->kind >= PRG_TYPE_CLASS)
        return b;
    if (b->kind == PRG_TYPE_EMPTY && a->kind >= PRG_TYPE_CLASS)
        return a;
    return &prg_type_any;
}

const char *prg_types_name(const struct prg_type *type)
{
    static const char *const names[] = {
        [PRG_TYPE_ANY] = "a value",         [PRG_TYPE_NIL] = "nil",       [PRG_TYPE_BOOLEAN] = "a boolean",
        [PRG_TYPE_NUMBER] = "a number",     [PRG_TYPE_STRING] = "a text", [PRG_TYPE_EMPTY] = "a table",
        [PRG_TYPE_FUNCTION] = "a function", [PRG_TYPE_CLASS] = "a table", [PRG_TYPE_STRUCT] = "an object",
        [PRG_TYPE_MAP] = "a map",           [PRG_TYPE_LIST] = "a list",   [PRG_TYPE_NAMED] = "a value",
        [PRG_TYPE_GENERIC] = "a value"};
    if ((type->kind == PRG_TYPE_STRUCT || type->kind == PRG_TYPE_CLASS) && type->name)
        return strncmp(type->name, "k8s.", 4) == 0 ? type->name + 4 : type->name;
    return names[type->kind];
}

void prg_types_release(struct prg_types *types)
{
    prg_map_release(&types->classes);
    prg_map_release(&types->structs);
    prg_map_release(&types->globals);
}

void prg_types_add_library(struct prg_types *types); // library.c

void prg_types_init(struct prg_types *types, struct prg_arena *arena)
{
    types->arena = arena;
    prg_map_init(&types->classes);
    prg_map_init(&types->structs);
    prg_map_init(&types->globals);
    add_kinds(types);
    prg_types_add_library(types);
}
