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
    const struct prg_typed_form *form;
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

// Fills the error with the pointer of the place in front. Always NULL, for the caller to return.
static cJSON *wrong_type(struct walk *w, const struct prg_step *at, enum prg_schema_kind kind, const cJSON *node)
{
    prg_auto_strbuf pointer = PRG_STRBUF_INIT;
    prg_pointer_push_steps(&pointer, at);
    (void)prg_fail(w->err, PRG_INVALID, "%s: %s is expected here, not %s%s", pointer.length ? pointer.text : "/",
                   expected_name(kind), prg_json_type_name(node),
                   prg_json_number_text(node) ? prg_arena_printf(w->arena, " %s", prg_json_number_text(node)) : "");
    return NULL;
}

// ---- nodes of the result ----

static inline cJSON *tagged(struct walk *w, cJSON *value)
{
    if (prg_json_origin(value) == PRG_ORIGIN_NONE)
        prg_json_tag_one(value, w->form->origin);
    return value;
}

// A scalar, or a container without its children.
static inline cJSON *copy_one(struct walk *w, const cJSON *node)
{
    return tagged(w,
                  w->form->shares_texts ? prg_json_clone_empty(w->arena, node) : prg_json_copy_empty(w->arena, node));
}

// All of node, for what no table describes.
static cJSON *copy_all(struct walk *w, const cJSON *node)
{
    cJSON *copy = w->form->shares_texts ? prg_json_clone(w->arena, node) : prg_json_copy(w->arena, node);
    if (w->form->origin != PRG_ORIGIN_NONE)
        prg_podspec_tag(copy, w->form->origin);
    return copy;
}

// value stands where node stood.
static cJSON *in_place_of(struct walk *w, const cJSON *node, cJSON *value)
{
    struct prg_json_position position = prg_json_position(node);
    prg_json_set_position(value, position.line, position.column);
    prg_json_tag_one(value, prg_json_origin(node));
    return tagged(w, value);
}

// field NULL: the key is member's own.
static inline void add(struct walk *w, cJSON *object, const struct prg_schema_field *field, const cJSON *member,
                       cJSON *value)
{
    if (field)
        prg_json_add_shared(object, field->name, value);
    else if (w->form->shares_texts)
        prg_json_add_shared(object, member->string, value);
    else
        prg_json_add(w->arena, object, member->string, value);
}

// ---- values ----

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
    const char *digits;
    switch (kind) {
    case PRG_KIND_STRING:
        return prg_json_text_length(node) == 0;
    case PRG_KIND_INT:
        digits = prg_json_number_text(node);
        digits += *digits == '-';
        return *digits == '0' && prg_json_int64(node, &number) && number == 0; // no number begins with a zero but 0
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

static cJSON *normal_quantity(struct walk *w, const struct prg_step *at, const cJSON *node)
{
    const char *text = prg_json_is_number(node) ? prg_json_number_text(node) : prg_json_text(node);
    const char *canonical;
    prg_auto_strbuf pointer = PRG_STRBUF_INIT;
    if (!text)
        return wrong_type(w, at, PRG_KIND_QUANTITY, node);
    if (prg_quantity_is_plain(text, prg_json_text_length(node))) // the usual case
        return copy_one(w, node);
    bool has_nul = prg_json_is_string(node) && strlen(text) != prg_json_text_length(node);
    if (!has_nul && prg_quantity_canonical(w->arena, text, &canonical, w->err) == PRG_OK) {
        if (prg_json_is_string(node) && strcmp(text, canonical) == 0)
            return copy_one(w, node);
        return in_place_of(w, node, prg_json_string(w->arena, canonical));
    }
    prg_pointer_push_steps(&pointer, at);
    if (has_nul)
        (void)prg_fail(w->err, PRG_INVALID, "%s: a quantity cannot hold a NUL byte", pointer.text);
    else
        (void)prg_wrap(w->err, "%s", pointer.text);
    return NULL;
}

static cJSON *normal_int(struct walk *w, const struct prg_step *at, enum prg_schema_kind kind, const cJSON *node)
{
    const char *digits = prg_json_number_text(node);
    int64_t value;
    while (digits && *digits >= '0' && *digits <= '9')
        digits++;
    if (digits && !*digits && digits - prg_json_number_text(node) <= 18) // the usual case: digits that fit
        return copy_one(w, node);
    if (!prg_json_int64(node, &value))
        return wrong_type(w, at, kind, node);
    if (strpbrk(prg_json_number_text(node), ".eE"))
        return in_place_of(w, node, prg_json_int(w->arena, value));
    return copy_one(w, node);
}

// These give the value of the result, or NULL and an error.
static cJSON *normal_value(struct walk *w, const struct prg_schema_field *field, const struct prg_step *at,
                           const cJSON *node);

// Items of a list and members of a map: null is the zero value of the element's type.
static cJSON *normal_elements(struct walk *w, const struct prg_schema_field *field, const struct prg_step *up,
                              const cJSON *node)
{
    const struct prg_schema_field element = {.name = "", .kind = field->element, .type = field->type};
    bool is_list = prg_json_is_array(node);
    cJSON *copy = copy_one(w, node);
    struct prg_step at = {up, NULL, 0};
    const cJSON *item;
    prg_json_each (item, node) {
        at.key = item->string;
        cJSON *value = prg_json_is_null(item) ? zero_value(w->arena, element.kind) : NULL;
        value = value ? in_place_of(w, item, value) : normal_value(w, &element, &at, item);
        if (!value)
            return NULL;
        if (is_list)
            prg_json_append(copy, value);
        else
            add(w, copy, NULL, item, value);
        at.index++;
    }
    return copy;
}

// What Go always encodes is there even when nobody wrote it: required fields, and a struct that is no pointer.
static void add_always(struct walk *w, const struct prg_schema *schema, cJSON *node)
{
    const struct prg_schema_field *field;
    for (; schema; schema = schema->inlined) {
        for (size_t at = 0; (field = prg_schema_next_printed(schema, &at));) {
            cJSON *zero = prg_json_get(node, field->name) ? NULL : zero_value(w->arena, field->kind);
            if (!zero)
                continue;
            if (field->kind == PRG_KIND_OBJECT)
                add_always(w, field->type, zero);
            prg_json_add_shared(node, field->name, tagged(w, zero));
        }
    }
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && (*names)[0] < name[0])
        names++;
    for (; *names && (*names)[0] == name[0]; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

// Members of the value itself that the form leaves out.
static bool is_left_out(const struct prg_typed_form *form, const char *name)
{
    return (form->only && !is_one_of(name, form->only)) || (form->without && is_one_of(name, form->without));
}

static cJSON *normal_struct(struct walk *w, const struct prg_schema *schema, const struct prg_step *up,
                            const cJSON *node)
{
    cJSON *copy = copy_one(w, node);
    struct prg_step at = {up, NULL, 0};
    const cJSON *member;
    size_t printed = 0;
    prg_json_each (member, node) {
        if (prg_json_is_null(member) || (!up && is_left_out(w->form, member->string)))
            continue;
        const struct prg_schema_field *field = prg_schema_find(schema, member->string);
        bool drops_zero = field && !(field->flags & (PRG_FIELD_KEEP_ZERO | PRG_FIELD_REQUIRED));
        if (!field && member->string[0] == '$')
            continue;
        cJSON *value;
        if (field && field->kind == PRG_KIND_STRING && prg_json_is_string(member)) { // most are
            if (drops_zero && prg_json_text_length(member) == 0)
                continue;
            value = copy_one(w, member);
        } else {
            at.key = member->string;
            value = field ? normal_value(w, field, &at, member) : copy_all(w, member);
            if (!value)
                return NULL;
            if (drops_zero && is_zero(field->kind, value))
                continue;
        }
        add(w, copy, field, member, value);
        printed += field && prg_schema_is_printed(field);
    }
    if (printed < prg_schema_printed_count(schema))
        add_always(w, schema, copy);
    return copy;
}

static cJSON *normal_value(struct walk *w, const struct prg_schema_field *field, const struct prg_step *at,
                           const cJSON *node)
{
    bool accepted = true;
    switch (field->kind) {
    case PRG_KIND_ANY:
        return copy_all(w, node);
    case PRG_KIND_INT:
        return normal_int(w, at, field->kind, node);
    case PRG_KIND_INTORSTRING:
        if (!prg_json_is_string(node))
            return normal_int(w, at, field->kind, node);
        break;
    case PRG_KIND_QUANTITY:
        return normal_quantity(w, at, node);
    case PRG_KIND_STRING:
    case PRG_KIND_TIME:
        accepted = prg_json_is_string(node);
        break;
    case PRG_KIND_BOOL:
        accepted = prg_json_is_bool(node);
        break;
    case PRG_KIND_NUMBER:
        accepted = prg_json_is_number(node);
        break;
    case PRG_KIND_OBJECT:
        if (prg_json_is_object(node))
            return field->type ? normal_struct(w, field->type, at, node) : copy_all(w, node);
        accepted = false;
        break;
    case PRG_KIND_MAP:
        if (prg_json_is_object(node))
            return normal_elements(w, field, at, node);
        accepted = false;
        break;
    case PRG_KIND_LIST:
        if (prg_json_is_array(node))
            return normal_elements(w, field, at, node);
        accepted = false;
        break;
    }
    return accepted ? copy_one(w, node) : wrong_type(w, at, field->kind, node);
}

int prg_typed_make(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *node,
                   const struct prg_typed_form *form, cJSON **ret, struct prg_error *err)
{
    struct walk w = {.arena = arena, .form = form, .err = err};
    if (!node || prg_json_is_null(node))
        node = prg_json_object(arena);
    cJSON *made =
        prg_json_is_object(node) ? normal_struct(&w, schema, NULL, node) : wrong_type(&w, NULL, PRG_KIND_OBJECT, node);
    if (!made)
        return PRG_INVALID; // the only code there is here
    *ret = made;
    return PRG_OK;
}

int prg_typed_normal(struct prg_arena *arena, const struct prg_schema *schema, const cJSON *node, cJSON **ret,
                     struct prg_error *err)
{
    static const struct prg_typed_form plain = {.origin = PRG_ORIGIN_NONE};
    return prg_typed_make(arena, schema, node, &plain, ret, err);
}
