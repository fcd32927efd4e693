// SPDX-License-Identifier: Apache-2.0
// typed.c: the normal form of a typed value: what decoding JSON into a Go struct and encoding it again gives. Merging
// works on this form, so that an empty text of a service cannot override a runtime's, and a quantity has one spelling.
//
// Differences to Go, all on purpose: fields that the table does not know stay (except those of patch directives, which
// begin with '$': a manifest is data, never a patch), and a null is left out where Go prints null.
#include "serving/podspec.h"

#include <string.h>

#include "object/quantity.h"
#include "json/pointer.h"

struct walk {
    struct prg_arena *arena;
    struct prg_strbuf pointer; // of the node at hand, below the root
    struct prg_error *err;
};

static const char *expected_name(enum prg_schema_kind kind)
{
    switch (kind) {
    case PRG_KIND_STRING:
    case PRG_KIND_TIME:
        return "a text";
    case PRG_KIND_INT:
        return "a whole number";
    case PRG_KIND_BOOL:
        return "true or false";
    case PRG_KIND_NUMBER:
        return "a number";
    case PRG_KIND_QUANTITY:
        return "a quantity";
    case PRG_KIND_INTORSTRING:
        return "a whole number or a text";
    case PRG_KIND_OBJECT:
    case PRG_KIND_MAP:
        return "an object";
    case PRG_KIND_LIST:
        return "a list";
    case PRG_KIND_ANY:
        break;
    }
    return "a value";
}

static int wrong_type(struct walk *w, enum prg_schema_kind kind, const cJSON *node)
{
    return prg_fail(w->err, PRG_INVALID, "%s: %s is expected here, not %s%s", w->pointer.length ? w->pointer.text : "/",
                    expected_name(kind), prg_json_type_name(node),
                    prg_json_number_text(node) ? prg_arena_printf(w->arena, " %s", prg_json_number_text(node)) : "");
}

// Puts value in the place of node, with node's position and origin.
static void put(cJSON *parent, cJSON *node, cJSON *value)
{
    struct prg_json_position position = prg_json_position(node);
    prg_json_set_position(value, position.line, position.column);
    prg_json_tag_one(value, prg_json_origin(node));
    prg_json_replace(parent, node, value);
}

// The value that Go has for a field that nobody set. NULL: it encodes as null or not at all.
static cJSON *zero_value(struct prg_arena *arena, enum prg_schema_kind kind)
{
    switch (kind) {
    case PRG_KIND_STRING:
        return prg_json_string(arena, "");
    case PRG_KIND_INT:
    case PRG_KIND_NUMBER:
    case PRG_KIND_INTORSTRING:
        return prg_json_int(arena, 0);
    case PRG_KIND_BOOL:
        return prg_json_bool(arena, false);
    case PRG_KIND_QUANTITY:
        return prg_json_string(arena, "0");
    case PRG_KIND_OBJECT:
        return prg_json_object(arena);
    case PRG_KIND_MAP:
    case PRG_KIND_LIST:
    case PRG_KIND_TIME:
    case PRG_KIND_ANY:
        break;
    }
    return NULL;
}

static bool is_zero(enum prg_schema_kind kind, const cJSON *node)
{
    int64_t number;
    switch (kind) {
    case PRG_KIND_STRING:
        return prg_json_text_length(node) == 0;
    case PRG_KIND_INT:
        return prg_json_int64(node, &number) && number == 0;
    case PRG_KIND_NUMBER:
        return prg_json_as_double(node) == 0;
    case PRG_KIND_BOOL:
        return !prg_json_is_true(node);
    case PRG_KIND_MAP:
    case PRG_KIND_LIST:
        return prg_json_count(node) == 0;
    case PRG_KIND_QUANTITY:    // these three are structs in Go, never
    case PRG_KIND_INTORSTRING: // left out
    case PRG_KIND_TIME:
    case PRG_KIND_OBJECT:
    case PRG_KIND_ANY:
        break;
    }
    return false;
}

static int normal_quantity(struct walk *w, cJSON *parent, cJSON *node)
{
    const char *text = prg_json_is_number(node) ? prg_json_number_text(node) : prg_json_text(node);
    const char *canonical;
    if (!text)
        return wrong_type(w, PRG_KIND_QUANTITY, node);
    if (prg_json_is_string(node) && strlen(text) != prg_json_text_length(node))
        return prg_fail(w->err, PRG_INVALID, "%s: a quantity cannot hold a NUL byte", w->pointer.text);
    if (prg_quantity_canonical(w->arena, text, &canonical, w->err) != PRG_OK)
        return prg_wrap(w->err, "%s", w->pointer.text);
    if (prg_json_is_number(node) || strcmp(text, canonical) != 0)
        put(parent, node, prg_json_string(w->arena, canonical));
    return PRG_OK;
}

static int normal_int(struct walk *w, enum prg_schema_kind kind, cJSON *parent, cJSON *node)
{
    int64_t value;
    if (!prg_json_int64(node, &value))
        return wrong_type(w, kind, node);
    if (strpbrk(prg_json_number_text(node), ".eE"))
        put(parent, node, prg_json_int(w->arena, value));
    return PRG_OK;
}

static int normal_value(struct walk *w, const struct prg_schema_field *field, cJSON *parent, cJSON *node);

// Items of a list and members of a map: null is the zero value of the element's type.
static int normal_elements(struct walk *w, const struct prg_schema_field *field, cJSON *node)
{
    const struct prg_schema_field element = {.name = "", .kind = field->element, .type = field->type};
    bool is_list = prg_json_is_array(node);
    size_t index = 0;
    for (cJSON *item = node->child, *next; item; item = next, index++) {
        size_t length = w->pointer.length;
        next = item->next;
        if (is_list)
            prg_pointer_push_index(&w->pointer, index);
        else
            prg_pointer_push(&w->pointer, item->string);
        cJSON *zero = prg_json_is_null(item) ? zero_value(w->arena, element.kind) : NULL;
        int rc = PRG_OK;
        if (zero)
            put(node, item, zero);
        else
            rc = normal_value(w, &element, node, item);
        if (rc != PRG_OK)
            return rc;
        prg_strbuf_truncate(&w->pointer, length);
    }
    return PRG_OK;
}

// What Go always encodes is there even when nobody wrote it: required fields, and a struct that is no pointer.
static void add_always(struct prg_arena *arena, const struct prg_schema *schema, cJSON *node)
{
    for (; schema; schema = schema->inlined) {
        for (size_t i = 0; i < schema->count; i++) {
            const struct prg_schema_field *field = &schema->fields[i];
            bool is_always = (field->flags & PRG_FIELD_REQUIRED) ||
                             (field->kind == PRG_KIND_QUANTITY && !(field->flags & PRG_FIELD_KEEP_ZERO));
            cJSON *zero = is_always && !prg_json_get(node, field->name) ? zero_value(arena, field->kind) : NULL;
            if (!zero)
                continue;
            if (field->kind == PRG_KIND_OBJECT)
                add_always(arena, field->type, zero);
            prg_json_add(arena, node, field->name, zero);
        }
    }
}

static bool is_printed_anew(enum prg_schema_kind kind)
{
    return kind == PRG_KIND_INT || kind == PRG_KIND_INTORSTRING || kind == PRG_KIND_QUANTITY;
}

static int normal_struct(struct walk *w, const struct prg_schema *schema, cJSON *node)
{
    for (cJSON *member = node->child, *next; member; member = next) {
        const struct prg_schema_field *field = prg_schema_find(schema, member->string);
        size_t length = w->pointer.length;
        next = member->next;
        if (prg_json_is_null(member) || (!field && member->string[0] == '$')) {
            prg_json_detach(node, member);
            continue;
        }
        if (!field)
            continue;
        prg_pointer_push(&w->pointer, field->name);
        int rc = normal_value(w, field, node, member);
        if (rc != PRG_OK)
            return rc;
        prg_strbuf_truncate(&w->pointer, length);
        if (is_printed_anew(field->kind))
            member = prg_json_get(node, field->name); // it may be another node now
        if (!(field->flags & (PRG_FIELD_KEEP_ZERO | PRG_FIELD_REQUIRED)) && is_zero(field->kind, member))
            prg_json_detach(node, member);
    }
    add_always(w->arena, schema, node);
    return PRG_OK;
}

static int normal_value(struct walk *w, const struct prg_schema_field *field, cJSON *parent, cJSON *node)
{
    switch (field->kind) {
    case PRG_KIND_ANY:
        return PRG_OK;
    case PRG_KIND_STRING:
    case PRG_KIND_TIME:
        return prg_json_is_string(node) ? PRG_OK : wrong_type(w, field->kind, node);
    case PRG_KIND_BOOL:
        return prg_json_is_bool(node) ? PRG_OK : wrong_type(w, field->kind, node);
    case PRG_KIND_NUMBER:
        return prg_json_is_number(node) ? PRG_OK : wrong_type(w, field->kind, node);
    case PRG_KIND_INT:
        return normal_int(w, field->kind, parent, node);
    case PRG_KIND_INTORSTRING:
        return prg_json_is_string(node) ? PRG_OK : normal_int(w, field->kind, parent, node);
    case PRG_KIND_QUANTITY:
        return normal_quantity(w, parent, node);
    case PRG_KIND_OBJECT:
        if (!prg_json_is_object(node))
            return wrong_type(w, field->kind, node);
        return field->type ? normal_struct(w, field->type, node) : PRG_OK;
    case PRG_KIND_MAP:
        return prg_json_is_object(node) ? normal_elements(w, field, node) : wrong_type(w, field->kind, node);
    case PRG_KIND_LIST:
        return prg_json_is_array(node) ? normal_elements(w, field, node) : wrong_type(w, field->kind, node);
    }
    return PRG_OK;
}

int prg_typed_normal(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *node, cJSON **ret,
                     struct prg_error *err)
{
    struct walk w = {.arena = arena, .pointer = PRG_STRBUF_INIT, .err = err};
    int rc;
    cJSON *copy = NULL;
    if (!node || prg_json_is_null(node)) {
        copy = prg_json_object(arena);
        rc = normal_struct(&w, schema, copy);
    } else if (!prg_json_is_object(node)) {
        rc = wrong_type(&w, PRG_KIND_OBJECT, node);
    } else {
        copy = prg_json_copy(arena, node);
        rc = normal_struct(&w, schema, copy);
    }
    prg_strbuf_release(&w.pointer);
    if (rc == PRG_OK)
        *ret = copy;
    return rc;
}
