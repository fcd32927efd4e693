// SPDX-License-Identifier: Apache-2.0
// natives.c: C functions for scripts that need no planner: JSON text, quantities, selectors, and texts for people.
#include <string.h>

#include "object/quantity.h"
#include "object/selector.h"
#include "policy/library.h"

static const cJSON *arg(const cJSON *const *args, size_t count, size_t index)
{
    return index < count ? args[index] : NULL;
}

// ---- perigee.json ----

// encode(value, pretty?)
static int json_encode(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                       struct prg_error *err)
{
    unsigned flags = PRG_JSON_SORTED | (prg_json_is_true(arg(args, count, 1)) ? PRG_JSON_PRETTY : 0U);
    (void)err;
    *ret = arg(args, count, 0) ? prg_json_string(arena, prg_json_print_arena(arena, args[0], flags))
                               : prg_json_string(arena, "null");
    return PRG_OK;
}

// decode(text): the value as a view; a text that is not JSON is nil and why.
static int json_decode(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                       struct prg_error *err)
{
    const cJSON *text = arg(args, count, 0);
    if (!prg_json_is_string(text))
        return prg_fail(err, PRG_INVALID, "a text is needed, not %s", prg_json_type_name(text));
    if (prg_json_parse(arena, prg_json_text(text), prg_json_text_length(text), NULL, ret, err) == PRG_OK)
        return PRG_OK;
    return PRG_CONFLICT;
}

// find(list, key, value): the first object of the list whose member key is value (a text), or nil.
static int json_find(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                     struct prg_error *err)
{
    const cJSON *list = arg(args, count, 0), *item;
    const char *key = prg_json_text(arg(args, count, 1)), *value = prg_json_text(arg(args, count, 2));
    (void)arena;
    if (!key || !value)
        return prg_fail(err, PRG_INVALID, "a list, a key and a text are needed");
    prg_json_each (item, prg_json_is_array(list) ? list : NULL) {
        if (!prg_text_equal(prg_json_get_text(item, key), value))
            continue;
        *ret = (cJSON *)item; // handed on as a view
        return PRG_OK;
    }
    return PRG_OK;
}

// ---- perigee.quantity ----

static int read_quantity(const cJSON *const *args, size_t count, size_t index, struct prg_quantity *ret,
                         struct prg_error *err)
{
    const cJSON *node = arg(args, count, index);
    if (!prg_json_is_string(node) && !prg_json_is_number(node))
        return prg_fail(err, PRG_INVALID, "argument %zu: a quantity is needed, not %s", index + 1,
                        prg_json_type_name(node));
    if (prg_quantity_of(node, ret, err) != PRG_OK)
        return prg_wrap(err, "argument %zu", index + 1);
    return PRG_OK;
}

static int quantity_compare(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                            struct prg_error *err)
{
    struct prg_quantity a, b;
    int rc = read_quantity(args, count, 0, &a, err);
    if (rc == PRG_OK)
        rc = read_quantity(args, count, 1, &b, err);
    if (rc == PRG_OK)
        *ret = prg_json_int(arena, prg_quantity_compare(&a, &b));
    return rc;
}

static int quantity_compute(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                            struct prg_error *err,
                            struct prg_quantity (*compute)(const struct prg_quantity *, const struct prg_quantity *))
{
    struct prg_quantity a, b;
    int rc = read_quantity(args, count, 0, &a, err);
    if (rc == PRG_OK)
        rc = read_quantity(args, count, 1, &b, err);
    if (rc == PRG_OK) {
        struct prg_quantity sum = compute(&a, &b);
        *ret = prg_json_string(arena, prg_quantity_print(arena, &sum));
    }
    return rc;
}

static int quantity_add(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                        struct prg_error *err)
{
    return quantity_compute(arena, args, count, ret, err, prg_quantity_add);
}

static int quantity_sub(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                        struct prg_error *err)
{
    return quantity_compute(arena, args, count, ret, err, prg_quantity_sub);
}

static int quantity_value(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                          struct prg_error *err)
{
    struct prg_quantity quantity;
    int rc = read_quantity(args, count, 0, &quantity, err);
    if (rc == PRG_OK)
        *ret = prg_json_int(arena, prg_quantity_value(&quantity));
    return rc;
}

static int quantity_milli(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                          struct prg_error *err)
{
    struct prg_quantity quantity;
    int rc = read_quantity(args, count, 0, &quantity, err);
    if (rc == PRG_OK)
        *ret = prg_json_int(arena, prg_quantity_milli_value(&quantity));
    return rc;
}

static int quantity_is_zero(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                            struct prg_error *err)
{
    struct prg_quantity quantity;
    int rc = read_quantity(args, count, 0, &quantity, err);
    if (rc == PRG_OK)
        *ret = prg_json_bool(arena, prg_quantity_is_zero(&quantity));
    return rc;
}

// is_valid(value): whether it is a quantity at all.
static int quantity_is_valid(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                             struct prg_error *err)
{
    struct prg_quantity quantity;
    *ret = prg_json_bool(arena, read_quantity(args, count, 0, &quantity, err) == PRG_OK);
    return PRG_OK;
}

// canonical(text): as an API server prints it.
static int quantity_canonical(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                              struct prg_error *err)
{
    const cJSON *node = arg(args, count, 0);
    const char *text = prg_json_is_number(node) ? prg_json_number_text(node) : prg_json_text(node), *canonical;
    if (!text)
        return prg_fail(err, PRG_INVALID, "a quantity is needed, not %s", prg_json_type_name(node));
    int rc = prg_quantity_canonical(arena, text, &canonical, err);
    if (rc == PRG_OK)
        *ret = prg_json_string(arena, canonical);
    return rc;
}

// ---- perigee.selectors ----

static int read_selector(struct prg_arena *arena, const cJSON *node, struct prg_selector **ret, struct prg_error *err)
{
    if (prg_json_is_string(node))
        return prg_selector_parse(arena, prg_json_text(node), ret, err);
    if (!node || prg_json_is_null(node) || prg_json_is_object(node))
        return prg_selector_of(arena, node, ret, err);
    return prg_fail(err, PRG_INVALID, "argument 1: a selector is a text or a LabelSelector, not %s",
                    prg_json_type_name(node));
}

// matches(selector, labels): selector is a text ("a=b,c in (d,e)") or a LabelSelector; nil selects nothing.
static int selector_matches(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                            struct prg_error *err)
{
    struct prg_selector *selector;
    const cJSON *labels = arg(args, count, 1), *item;
    int rc = read_selector(arena, arg(args, count, 0), &selector, err);
    if (rc != PRG_OK)
        return PRG_INVALID;
    if (labels && !prg_json_is_object(labels))
        return prg_fail(err, PRG_INVALID, "argument 2: labels are an object, not %s", prg_json_type_name(labels));
    prg_json_each (item, labels)
        if (!prg_json_is_string(item))
            return prg_fail(err, PRG_INVALID, "argument 2: label '%s' is not a text", item->string);
    *ret = prg_json_bool(arena, prg_selector_matches(selector, labels));
    return PRG_OK;
}

// text(selector): its canonical text.
static int selector_text(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                         struct prg_error *err)
{
    struct prg_selector *selector;
    if (read_selector(arena, arg(args, count, 0), &selector, err) != PRG_OK)
        return PRG_INVALID;
    *ret = prg_json_string(arena, prg_selector_print(arena, selector));
    return PRG_OK;
}

// ---- perigee.explain ----

enum { SHOWN = 200 }; // bytes of a list in a reason

struct line {
    char text[SHOWN + 400];
    size_t used;
};

static bool add(struct line *line, const char *text, size_t most)
{
    size_t length = strlen(text);
    if (length > most - line->used)
        return false;
    memcpy(line->text + line->used, text, length);
    line->used += length;
    return true;
}

// "sklearn 1", or "sklearn" without a version; false (and nothing added) when it does not fit.
static bool add_format(struct line *line, const cJSON *format, const char *before, size_t most)
{
    const char *name = prg_json_get_text(format, "name"), *version = prg_json_get_text(format, "version");
    size_t start = line->used;
    if (name && add(line, before, most) && add(line, name, most) &&
        (!version || (add(line, " ", most) && add(line, version, most))))
        return true;
    line->used = start;
    return !name;
}

// "sklearn 1, xgboost"; "nothing" when there are none.
static void add_formats(struct line *line, const cJSON *formats)
{
    size_t start = line->used;
    const cJSON *item;
    prg_json_each (item, prg_json_is_array(formats) ? formats : NULL) {
        if (add_format(line, item, line->used > start ? ", " : "", start + SHOWN))
            continue;
        add(line, line->used > start ? ", …" : "…", sizeof(line->text));
        return;
    }
    if (line->used == start)
        add(line, "nothing", sizeof(line->text));
}

// formats(list): the texts of supportedModelFormats, for reasons.
static int explain_formats(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                           struct prg_error *err)
{
    struct line line = {.used = 0};
    (void)err;
    add_formats(&line, arg(args, count, 0));
    *ret = prg_json_stringn(arena, line.text, line.used);
    return PRG_OK;
}

// offer(asked, list): "asked for sklearn 2, the runtime offers sklearn 1, xgboost".
static int explain_offer(struct prg_arena *arena, const cJSON *const *args, size_t count, cJSON **ret,
                         struct prg_error *err)
{
    struct line line = {.used = 0};
    (void)err;
    if (!add_format(&line, arg(args, count, 0), "asked for ", SHOWN))
        add(&line, "asked for …", SHOWN);
    add(&line, ", the runtime offers ", sizeof(line.text));
    add_formats(&line, arg(args, count, 1));
    *ret = prg_json_stringn(arena, line.text, line.used);
    return PRG_OK;
}

const struct prg_native prg_core_natives[] = {
    {"explain.formats", explain_formats},
    {"explain.offer", explain_offer},
    {"json.decode", json_decode},
    {"json.encode", json_encode},
    {"json.find", json_find},
    {"quantity.add", quantity_add},
    {"quantity.canonical", quantity_canonical},
    {"quantity.compare", quantity_compare},
    {"quantity.is_valid", quantity_is_valid},
    {"quantity.is_zero", quantity_is_zero},
    {"quantity.milli", quantity_milli},
    {"quantity.sub", quantity_sub},
    {"quantity.value", quantity_value},
    {"selectors.matches", selector_matches},
    {"selectors.text", selector_text},
};
const size_t prg_core_native_count = PRG_COUNT(prg_core_natives);
