// SPDX-License-Identifier: Apache-2.0
// value.c: making, changing, reading and comparing JSON trees.
//
// A list of children is kept as cJSON keeps it: forward links end in NULL, the first child's prev is the last child, so
// that appending takes one step (prg_json_link).
#include "json/value.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "json/index.h"
#include "json/number.h"

#define TYPE_MASK 0xff

// ---- making ----

static cJSON *make(struct prg_arena *arena, int type)
{
    cJSON *node = prg_arena_alloc(arena, sizeof(*node));
    *node = (cJSON){.type = type};
    return node;
}

cJSON *prg_json_object(struct prg_arena *arena)
{
    return make(arena, cJSON_Object);
}

cJSON *prg_json_array(struct prg_arena *arena)
{
    return make(arena, cJSON_Array);
}

cJSON *prg_json_string(struct prg_arena *arena, const char *text)
{
    return prg_json_stringn(arena, text, strlen(text));
}

// Makes a string of text that already lies in the arena.
static cJSON *string_of(struct prg_arena *arena, char *text, size_t length)
{
    prg_require(length <= INT32_MAX);
    cJSON *node = make(arena, cJSON_String);
    node->valuestring = text;
    node->valueint = (int)length;
    return node;
}

cJSON *prg_json_stringn(struct prg_arena *arena, const char *text, size_t length)
{
    return string_of(arena, prg_arena_strndup(arena, text, length), length);
}

cJSON *prg_json_stringf(struct prg_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = prg_arena_vprintf(arena, format, args);
    va_end(args);
    return string_of(arena, text, strlen(text));
}

cJSON *prg_json_int(struct prg_arena *arena, int64_t value)
{
    char text[24], *at = text + sizeof(text) - 1;
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    *at = '\0';
    do
        *--at = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (value < 0)
        *--at = '-';
    return prg_json_number(arena, at);
}

// The fewest digits that read back as value, laid out as Go's encoding/json does: plain between 1e-6 and 1e21.
cJSON *prg_json_double(struct prg_arena *arena, double value)
{
    prg_require(isfinite(value));
    char scientific[40];
    // 15 digits do for most; numbers below DBL_MIN have fewer bits and may need fewer digits than that.
    for (int precision = fabs(value) < DBL_MIN ? 0 : 14; precision <= 16; precision++) {
        snprintf(scientific, sizeof(scientific), "%.*e", precision, value);
        if (strtod(scientific, NULL) == value)
            break;
    }
    const char *sign = scientific[0] == '-' ? "-" : "";
    char digits[20] = "";
    size_t count = 0;
    const char *at = scientific + strlen(sign);
    for (; *at != 'e'; at++)
        if (*at != '.')
            digits[count++] = *at;
    int exponent = atoi(at + 1);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    int length = (int)count;
    char text[64];
    if (exponent < -6 || exponent >= 21)
        snprintf(text, sizeof(text), "%s%c%s%.*se%+d", sign, digits[0], length > 1 ? "." : "", length - 1, digits + 1,
                 exponent);
    else if (exponent < 0)
        snprintf(text, sizeof(text), "%s0.%.*s%.*s", sign, -exponent - 1, "000000", length, digits);
    else if (length <= exponent + 1)
        snprintf(text, sizeof(text), "%s%.*s%.*s", sign, length, digits, exponent + 1 - length, "00000000000000000000");
    else
        snprintf(text, sizeof(text), "%s%.*s.%.*s", sign, exponent + 1, digits, length - exponent - 1,
                 digits + exponent + 1);
    return prg_json_number(arena, text);
}

cJSON *prg_json_number(struct prg_arena *arena, const char *text)
{
    cJSON *node = make(arena, cJSON_Number);
    node->valuestring = prg_arena_strdup(arena, text);
    return node;
}

cJSON *prg_json_bool(struct prg_arena *arena, bool value)
{
    return make(arena, value ? cJSON_True : cJSON_False);
}

cJSON *prg_json_null(struct prg_arena *arena)
{
    return make(arena, cJSON_NULL);
}

cJSON *prg_json_copy_empty(struct prg_arena *arena, const cJSON *node)
{
    if (!node)
        return NULL;
    cJSON *copy = prg_json_clone_empty(arena, node);
    if (node->valuestring) {
        size_t length = prg_json_is_string(node) ? (size_t)node->valueint : strlen(node->valuestring);
        copy->valuestring = prg_arena_strndup(arena, node->valuestring, length);
    }
    return copy;
}

cJSON *prg_json_copy(struct prg_arena *arena, const cJSON *node)
{
    cJSON *copy = prg_json_copy_empty(arena, node);
    const cJSON *item;
    prg_json_each (item, node) {
        cJSON *value = prg_json_copy(arena, item);
        if (item->string)
            value->string = prg_arena_strdup(arena, item->string);
        prg_json_link(copy, value);
    }
    return copy;
}

cJSON *prg_json_clone(struct prg_arena *arena, const cJSON *node)
{
    if (!node)
        return NULL;
    cJSON *copy = prg_json_clone_empty(arena, node);
    const cJSON *item;
    prg_json_each (item, node) {
        cJSON *value = prg_json_clone(arena, item);
        value->string = item->string;
        prg_json_link(copy, value);
    }
    return copy;
}

cJSON *prg_json_reference(struct prg_arena *arena, const cJSON *node)
{
    if (!node)
        return prg_json_null(arena);
    cJSON *head = prg_json_clone_empty(arena, node);
    head->child = node->child;
    return head;
}

uint32_t prg_json_identity(const cJSON *root)
{
    static atomic_uint last; // policy sets are checked on a thread of their own
    prg_require(prg_json_is_object(root) || prg_json_is_array(root));
    if (!root->valueint &&
        atomic_load_explicit(&last, memory_order_relaxed) < INT32_MAX - 1000) // room for those who look at once
        ((cJSON *)root)->valueint =
            (int)(atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1); // no part of the value
    return (uint32_t)root->valueint;
}

// ---- changing ----

void prg_json_set(struct prg_arena *arena, cJSON *object, const char *key, cJSON *value)
{
    cJSON *present = prg_json_get(object, key);
    if (present)
        prg_json_replace(object, present, value);
    else
        prg_json_add(arena, object, key, value);
}

void prg_json_add(struct prg_arena *arena, cJSON *object, const char *key, cJSON *value)
{
    prg_require(prg_json_is_object(object));
    value->string = prg_arena_strdup(arena, key);
    prg_json_link(object, value);
}

void prg_json_set_string(struct prg_arena *arena, cJSON *object, const char *key, const char *text)
{
    if (text)
        prg_json_set(arena, object, key, prg_json_string(arena, text));
}

void prg_json_set_int(struct prg_arena *arena, cJSON *object, const char *key, int64_t value)
{
    prg_json_set(arena, object, key, prg_json_int(arena, value));
}

void prg_json_set_bool(struct prg_arena *arena, cJSON *object, const char *key, bool value)
{
    prg_json_set(arena, object, key, prg_json_bool(arena, value));
}

void prg_json_append(cJSON *array, cJSON *value)
{
    prg_require(prg_json_is_array(array));
    value->string = NULL;
    prg_json_link(array, value);
}

void prg_json_insert(cJSON *array, size_t index, cJSON *value)
{
    cJSON *follower = prg_json_item(array, index);
    if (!follower) {
        prg_json_append(array, value);
        return;
    }
    value->string = NULL;
    value->next = follower;
    value->prev = follower->prev; // the last child when follower is the first
    if (array->child == follower)
        array->child = value;
    else
        follower->prev->next = value;
    follower->prev = value;
}

cJSON *prg_json_remove(cJSON *object, const char *key)
{
    cJSON *member = prg_json_get(object, key);
    if (member)
        prg_json_detach(object, member);
    return member;
}

void prg_json_detach(cJSON *parent, cJSON *child)
{
    cJSON *first = parent->child;
    prg_require(first);
    if (child == first) {
        parent->child = child->next;
        if (child->next)
            child->next->prev = child->prev;
    } else {
        child->prev->next = child->next;
        if (child->next)
            child->next->prev = child->prev;
        else
            first->prev = child->prev;
    }
    child->next = child->prev = NULL;
}

void prg_json_replace(cJSON *parent, cJSON *child, cJSON *value)
{
    if (child == value)
        return;
    prg_require(parent->child);
    value->string = child->string;
    value->next = child->next;
    value->prev = child->prev == child ? value : child->prev;
    if (parent->child == child)
        parent->child = value;
    else
        value->prev->next = value;
    if (value->next)
        value->next->prev = value;
    else
        parent->child->prev = value;
    child->next = child->prev = NULL;
}

static cJSON *ensure(struct prg_arena *arena, cJSON *object, const char *key, int type)
{
    cJSON *member = prg_json_get(object, key);
    if (member && (member->type & TYPE_MASK) == type)
        return member;
    member = make(arena, type);
    prg_json_set(arena, object, key, member);
    return member;
}

cJSON *prg_json_ensure_object(struct prg_arena *arena, cJSON *object, const char *key)
{
    return ensure(arena, object, key, cJSON_Object);
}

cJSON *prg_json_ensure_array(struct prg_arena *arena, cJSON *object, const char *key)
{
    return ensure(arena, object, key, cJSON_Array);
}

// ---- reading ----

const char *prg_json_type_name(const cJSON *node)
{
    switch (node ? node->type & TYPE_MASK : cJSON_Invalid) {
    case cJSON_False:
    case cJSON_True:
        return "boolean";
    case cJSON_NULL:
        return "null";
    case cJSON_Number:
        return "number";
    case cJSON_String:
        return "string";
    case cJSON_Array:
        return "array";
    case cJSON_Object:
        return "object";
    default:
        return "nothing";
    }
}

cJSON *prg_json_get(const cJSON *object, const char *key)
{
    if (!prg_json_is_object(object))
        return NULL;
    cJSON *member;
    if (!key[0]) {
        prg_json_each (member, object)
            if (!member->string[0])
                return member;
        return NULL;
    }
    // Two bytes tell most keys apart.
    prg_json_each (member, object)
        if (member->string[0] == key[0] && member->string[1] == key[1] && strcmp(member->string, key) == 0)
            return member;
    return NULL;
}

cJSON *prg_json_item(const cJSON *array, size_t index)
{
    if (!prg_json_is_array(array))
        return NULL;
    cJSON *item = array->child;
    while (item && index-- > 0)
        item = item->next;
    return item;
}

size_t prg_json_count(const cJSON *node)
{
    size_t count = 0;
    const cJSON *item;
    prg_json_each (item, node)
        count++;
    return count;
}

cJSON *prg_json_at_path(const cJSON *node, const char *const *keys)
{
    for (; *keys && node; keys++)
        node = prg_json_get(node, *keys);
    return (cJSON *)node;
}

const char *prg_json_text(const cJSON *node)
{
    return prg_json_is_string(node) ? node->valuestring : NULL;
}

size_t prg_json_text_length(const cJSON *string)
{
    return prg_json_is_string(string) ? (size_t)string->valueint : 0;
}

const char *prg_json_get_text(const cJSON *object, const char *key)
{
    return prg_json_text(prg_json_get(object, key));
}

const char *prg_json_number_text(const cJSON *node)
{
    return prg_json_is_number(node) ? node->valuestring : NULL;
}

bool prg_json_int64(const cJSON *node, int64_t *ret)
{
    if (!prg_json_is_number(node))
        return false;
    // Nearly all are a few digits and nothing else.
    const char *at = node->valuestring + (*node->valuestring == '-');
    int64_t value = 0;
    for (int count = 0; *at >= '0' && *at <= '9' && count < 18; count++)
        value = value * 10 + (*at++ - '0');
    if (!*at) {
        *ret = *node->valuestring == '-' ? -value : value;
        return true;
    }
    struct prg_number number = prg_number_read(node->valuestring);
    return prg_number_int64(&number, ret);
}

bool prg_json_get_int64(const cJSON *object, const char *key, int64_t *ret)
{
    return prg_json_int64(prg_json_get(object, key), ret);
}

bool prg_json_get_true(const cJSON *object, const char *key)
{
    return prg_json_is_true(prg_json_get(object, key));
}

double prg_json_as_double(const cJSON *number)
{
    return prg_json_is_number(number) ? strtod(number->valuestring, NULL) : 0.0;
}

// ---- comparing ----

static bool equal_arrays(const cJSON *a, const cJSON *b)
{
    const cJSON *x = a->child, *y = b->child;
    for (; x && y; x = x->next, y = y->next)
        if (!prg_json_equal(x, y))
            return false;
    return !x && !y;
}

// Mostly both sides list their members in the same order; only from the first difference on are they looked up.
static bool equal_objects(const cJSON *a, const cJSON *b)
{
    const cJSON *x = a->child, *y = b->child;
    for (; x && y && strcmp(x->string, y->string) == 0; x = x->next, y = y->next)
        if (!prg_json_equal(x, y))
            return false;
    if (!x || !y)
        return !x && !y;
    if (prg_json_count(a) != prg_json_count(b))
        return false;
    struct prg_json_index index;
    prg_json_index_members(&index, b);
    bool equal = true;
    for (; x && equal; x = x->next)
        equal = prg_json_equal(x, prg_json_index_get(&index, x->string));
    prg_json_index_release(&index);
    return equal;
}

bool prg_json_equal(const cJSON *a, const cJSON *b)
{
    if (!a || !b || a == b)
        return a == b;
    int type = a->type & TYPE_MASK;
    if (type != (b->type & TYPE_MASK))
        return false;
    switch (type) {
    case cJSON_Number: {
        if (strcmp(a->valuestring, b->valuestring) == 0)
            return true;
        struct prg_number x = prg_number_read(a->valuestring), y = prg_number_read(b->valuestring);
        return prg_number_equal(&x, &y);
    }
    case cJSON_String:
        return a->valueint == b->valueint && memcmp(a->valuestring, b->valuestring, (size_t)a->valueint) == 0;
    case cJSON_Array:
        return equal_arrays(a, b);
    case cJSON_Object:
        return equal_objects(a, b);
    default:
        return true;
    }
}

// ---- where a node comes from ----

struct prg_json_position prg_json_position(const cJSON *node)
{
    struct prg_json_position position = {0, 0};
    _Static_assert(sizeof(position) == sizeof(node->valuedouble), "a position takes the place of a double");
    if (node)
        memcpy(&position, &node->valuedouble, sizeof(position));
    return position;
}

void prg_json_set_position(cJSON *node, uint32_t line, uint32_t column)
{
    struct prg_json_position position = {line, column};
    memcpy(&node->valuedouble, &position, sizeof(position));
}

void prg_json_tag(cJSON *node, unsigned origin)
{
    if (!node)
        return;
    prg_json_tag_one(node, origin);
    cJSON *item;
    prg_json_each (item, node)
        prg_json_tag(item, origin);
}
