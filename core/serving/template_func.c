// SPDX-License-Identifier: Apache-2.0
// template_func.c: the functions of placeholders, with the rules of text/template's builtins.
#include "serving/template.h"

#include <string.h>

typedef int (*function_fn)(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                           struct value *ret);

enum comparison { LESS, LESS_OR_EQUAL, GREATER, GREATER_OR_EQUAL };

static int wrong_count(struct template_run *run, size_t offset, const char *name, const char *wanted)
{
    return template_fail(run, offset, "%s needs %s", name, wanted);
}

static const char *type_of(const struct value *value)
{
    return value->go_type ? value->go_type : "nil";
}

// ---- comparing ----

// Texts with texts, numbers with numbers, booleans with booleans. Nothing (an absent key) equals only nothing.
static int is_equal(struct template_run *run, size_t offset, const struct value *a, const struct value *b, bool *ret)
{
    bool is_plain = (a->type == VALUE_STRING || a->type == VALUE_INT || a->type == VALUE_BOOL) && !a->is_pointer;
    if (a->type == VALUE_NOTHING || b->type == VALUE_NOTHING) {
        // A nil map or pointer is nothing too; what has a kind that can be compared is not.
        const struct value *other = a->type == VALUE_NOTHING ? b : a;
        bool is_nil = other->type == VALUE_NOTHING || other->type == VALUE_NIL;
        if (!is_nil && (other->type == VALUE_MAP || other->type == VALUE_STRINGS || other->type == VALUE_OWNERS))
            is_nil = !other->node;
        *ret = is_nil;
        return PRG_OK;
    }
    if (a->type != b->type || a->is_pointer != b->is_pointer)
        return template_fail(run, offset, "a %s and a %s cannot be compared", type_of(a), type_of(b));
    if (!is_plain)
        return template_fail(run, offset, "a %s cannot be compared", type_of(a));
    *ret = a->type == VALUE_STRING ? a->length == b->length && memcmp(a->text, b->text, a->length) == 0
                                   : a->number == b->number;
    return PRG_OK;
}

// True when the first argument equals any other one.
static int function_eq(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                       struct value *ret)
{
    bool truth = false;
    if (count < 2)
        return wrong_count(run, offset, "eq", "two arguments at least");
    for (size_t i = 1; i < count && !truth; i++) {
        int rc = is_equal(run, offset, &arguments[0], &arguments[i], &truth);
        if (rc != PRG_OK)
            return rc;
    }
    *ret = value_bool(truth);
    return PRG_OK;
}

static int function_ne(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                       struct value *ret)
{
    if (count != 2)
        return wrong_count(run, offset, "ne", "two arguments");
    int rc = function_eq(run, offset, arguments, count, ret);
    if (rc == PRG_OK)
        ret->number = !ret->number;
    return rc;
}

static int compare(struct template_run *run, size_t offset, const char *name, const struct value *arguments,
                   size_t count, enum comparison comparison, struct value *ret)
{
    if (count != 2)
        return wrong_count(run, offset, name, "two arguments");
    const struct value *a = &arguments[0], *b = &arguments[1];
    if (a->type != b->type || a->is_pointer || b->is_pointer || (a->type != VALUE_STRING && a->type != VALUE_INT))
        return template_fail(run, offset, "%s compares two texts or two numbers, not a %s and a %s", name, type_of(a),
                             type_of(b));
    int order;
    if (a->type == VALUE_INT) {
        order = a->number < b->number ? -1 : a->number > b->number;
    } else {
        size_t shorter = a->length < b->length ? a->length : b->length;
        order = memcmp(a->text, b->text, shorter);
        if (order == 0)
            order = a->length < b->length ? -1 : a->length > b->length;
    }
    switch (comparison) {
    case LESS:
        *ret = value_bool(order < 0);
        break;
    case LESS_OR_EQUAL:
        *ret = value_bool(order <= 0);
        break;
    case GREATER:
        *ret = value_bool(order > 0);
        break;
    case GREATER_OR_EQUAL:
        *ret = value_bool(order >= 0);
        break;
    }
    return PRG_OK;
}

static int function_lt(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                       struct value *ret)
{
    return compare(run, offset, "lt", arguments, count, LESS, ret);
}

static int function_le(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                       struct value *ret)
{
    return compare(run, offset, "le", arguments, count, LESS_OR_EQUAL, ret);
}

static int function_gt(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                       struct value *ret)
{
    return compare(run, offset, "gt", arguments, count, GREATER, ret);
}

static int function_ge(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                       struct value *ret)
{
    return compare(run, offset, "ge", arguments, count, GREATER_OR_EQUAL, ret);
}

static int function_not(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                        struct value *ret)
{
    if (count != 1)
        return wrong_count(run, offset, "not", "one argument");
    *ret = value_bool(!value_truth(&arguments[0]));
    return PRG_OK;
}

// ---- looking into values ----

static int function_len(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                        struct value *ret)
{
    if (count != 1)
        return wrong_count(run, offset, "len", "one argument");
    switch (arguments[0].type) {
    case VALUE_STRING:
        *ret = value_int((int64_t)arguments[0].length, "int");
        return PRG_OK;
    case VALUE_MAP:
    case VALUE_STRINGS:
    case VALUE_OWNERS:
        *ret = value_int((int64_t)prg_json_count(arguments[0].node), "int");
        return PRG_OK;
    default:
        return template_fail(run, offset, "a %s has no length", type_of(&arguments[0]));
    }
}

static int index_map(struct template_run *run, size_t offset, const struct value *map, const struct value *key,
                     struct value *ret)
{
    if (key->type != VALUE_STRING || strcmp(key->go_type, "string") != 0)
        return template_fail(run, offset, "the key of a map is a text, not a %s", type_of(key));
    // A key with a NUL byte is in no map; an absent key gives the empty text here, not nothing.
    const cJSON *node = strlen(key->text) == key->length ? prg_json_get(map->node, key->text) : NULL;
    *ret =
        prg_json_is_string(node) ? value_string(prg_json_text(node), prg_json_text_length(node)) : value_string("", 0);
    return PRG_OK;
}

static int index_list(struct template_run *run, size_t offset, const struct value *list, const struct value *key,
                      struct value *ret)
{
    if (key->type != VALUE_INT || key->is_pointer)
        return template_fail(run, offset, "a list is indexed by a number, not by a %s", type_of(key));
    int64_t count = list->type == VALUE_STRING ? (int64_t)list->length : (int64_t)prg_json_count(list->node);
    if (key->number < 0 || key->number >= count)
        return template_fail(run, offset, "index %lld is out of range: there are %lld", (long long)key->number,
                             (long long)count);
    if (list->type == VALUE_STRING) {
        *ret = value_int((unsigned char)list->text[key->number], "uint8");
        return PRG_OK;
    }
    const cJSON *item = prg_json_item(list->node, (size_t)key->number);
    if (list->type == VALUE_OWNERS)
        *ret = (struct value){.type = VALUE_OWNER, .node = item, .go_type = "v1.OwnerReference"};
    else
        *ret = prg_json_is_string(item) ? value_string(prg_json_text(item), prg_json_text_length(item))
                                        : value_string("", 0);
    return PRG_OK;
}

static int function_index(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                          struct value *ret)
{
    if (count < 1)
        return wrong_count(run, offset, "index", "a map or list, and a key");
    struct value value = arguments[0];
    if (value.type == VALUE_NOTHING)
        return template_fail(run, offset, "index of nothing");
    for (size_t i = 1; i < count; i++) {
        int rc;
        switch (value.type) {
        case VALUE_MAP:
            rc = index_map(run, offset, &value, &arguments[i], &value);
            break;
        case VALUE_STRING:
        case VALUE_STRINGS:
        case VALUE_OWNERS:
            rc = index_list(run, offset, &value, &arguments[i], &value);
            break;
        default:
            rc = template_fail(run, offset, "a %s cannot be indexed", type_of(&value));
        }
        if (rc != PRG_OK)
            return rc;
    }
    *ret = value;
    return PRG_OK;
}

// ---- texts ----

static int function_print(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                          struct value *ret)
{
    return value_sprint(run, offset, arguments, count, false, ret);
}

static int function_println(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                            struct value *ret)
{
    return value_sprint(run, offset, arguments, count, true, ret);
}

static int function_printf(struct template_run *run, size_t offset, const struct value *arguments, size_t count,
                           struct value *ret)
{
    if (count < 1)
        return wrong_count(run, offset, "printf", "a format");
    if (arguments[0].type != VALUE_STRING || strcmp(arguments[0].go_type, "string") != 0)
        return template_fail(run, offset, "the format of printf is a text, not a %s", type_of(&arguments[0]));
    return value_sprintf(run, offset, arguments, count, ret);
}

static const struct {
    const char *name;
    function_fn call; // NULL: and, or, which the caller evaluates
} functions[] = {
    {"and", NULL},
    {"eq", function_eq},
    {"ge", function_ge},
    {"gt", function_gt},
    {"index", function_index},
    {"le", function_le},
    {"len", function_len},
    {"lt", function_lt},
    {"ne", function_ne},
    {"not", function_not},
    {"or", NULL},
    {"print", function_print},
    {"printf", function_printf},
    {"println", function_println},
};

bool template_has_function(const char *name)
{
    for (size_t i = 0; i < PRG_COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0)
            return true;
    return false;
}

bool template_is_refused_function(const char *name)
{
    static const char *const refused[] = {"call", "html", "js", "slice", "urlquery"};
    for (size_t i = 0; i < PRG_COUNT(refused); i++)
        if (strcmp(refused[i], name) == 0)
            return true;
    return false;
}

int template_call(struct template_run *run, size_t offset, const char *name, const struct value *arguments,
                  size_t count, struct value *ret)
{
    for (size_t i = 0; i < PRG_COUNT(functions); i++)
        if (functions[i].call && strcmp(functions[i].name, name) == 0)
            return functions[i].call(run, offset, arguments, count, ret);
    return template_fail(run, offset, "there is no function '%s'", name);
}
