// SPDX-License-Identifier: Apache-2.0
// selector.c: label selectors and field selectors.
//
// A label selector is a list of requirements, ordered by key, that all must hold. Text and LabelSelector objects come
// down to the same list. Source: apimachinery pkg/labels selector.go, pkg/fields selector.go, pkg/apis/meta/v1
// LabelSelectorAsSelector.
#include "object/selector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "object/scalar.h"

enum selector_operator {
    OP_IN,
    OP_NOT_IN,
    OP_EQUALS,
    OP_DOUBLE_EQUALS,
    OP_NOT_EQUALS,
    OP_EXISTS,
    OP_DOES_NOT_EXIST,
    OP_GREATER,
    OP_LESS,
};

struct requirement {
    const char *key;
    enum selector_operator op;
    const char **values; // sorted, for text without repetitions
    size_t count;
};

struct prg_selector {
    bool selects_nothing;
    struct requirement *requirements; // by key; of one key in the order given
    size_t count;
};

// ---- requirements ----

// Go's strconv.ParseInt with base 10.
static bool read_int64(const char *text, int64_t *ret)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")])
        return false;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    *ret = value;
    return errno == 0;
}

static int check_values(const struct requirement *r, struct prg_error *err)
{
    int64_t number;
    switch (r->op) {
    case OP_IN:
    case OP_NOT_IN:
        if (!r->count)
            return prg_fail(err, PRG_INVALID, "'in' and 'notin' need at least one value for '%s'", r->key);
        break;
    case OP_EXISTS:
    case OP_DOES_NOT_EXIST:
        if (r->count)
            return prg_fail(err, PRG_INVALID, "a check whether '%s' exists takes no values", r->key);
        break;
    case OP_GREATER:
    case OP_LESS:
        if (r->count != 1 || !read_int64(r->values[0], &number))
            return prg_fail(err, PRG_INVALID, "'<' and '>' need a whole number for '%s'", r->key);
        break;
    default:
        if (r->count != 1)
            return prg_fail(err, PRG_INVALID, "'%s' must be compared with exactly one value", r->key);
        break;
    }
    for (size_t i = 0; i < r->count; i++)
        if (!prg_name_is_label_value(r->values[i]))
            return prg_fail(err, PRG_INVALID, "'%s' is not a label value (at most 63 of A-Z a-z 0-9 - _ .)",
                            r->values[i]);
    return PRG_OK;
}

static int check(const struct requirement *r, struct prg_error *err)
{
    if (!prg_name_is_qualified(r->key))
        return prg_fail(err, PRG_INVALID, "'%s' is not a label key (name or prefix/name)", r->key);
    return check_values(r, err);
}

static int compare_texts(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(a, b);
}

static int compare_by_key(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp(((const struct requirement *)a)->key, ((const struct requirement *)b)->key);
}

static struct requirement *new_requirement(struct prg_arena *arena, const char *key, enum selector_operator op)
{
    struct requirement *r = prg_arena_new(arena, struct requirement);
    r->key = key;
    r->op = op;
    return r;
}

// Moves the sorted texts of values into r.
static void set_values(struct prg_arena *arena, struct requirement *r, struct prg_vec *values, bool drop_repeated)
{
    prg_vec_sort(values, compare_texts, NULL);
    r->values = prg_arena_array(arena, const char *, values->count + 1);
    for (size_t i = 0; i < values->count; i++)
        if (!drop_repeated || !r->count || strcmp(r->values[r->count - 1], values->items[i]) != 0)
            r->values[r->count++] = values->items[i];
}

static struct prg_selector *new_selector(struct prg_arena *arena, struct prg_vec *requirements)
{
    struct prg_selector *selector = prg_arena_new(arena, struct prg_selector);
    prg_vec_sort(requirements, compare_by_key, NULL);
    selector->requirements = prg_arena_array(arena, struct requirement, requirements->count + 1);
    for (size_t i = 0; i < requirements->count; i++)
        selector->requirements[i] = *(const struct requirement *)requirements->items[i];
    selector->count = requirements->count;
    return selector;
}

// ---- text ----

enum token { TOKEN_END, TOKEN_WORD, TOKEN_SYMBOL };

struct lexer {
    struct prg_arena *arena;
    struct prg_error *err;
    const char *whole; // for errors
    const char *next;
    enum token token; // the current one
    const char *text; // of a word or a symbol
};

static void advance(struct lexer *l)
{
    static const char symbols[] = "=!(),><";
    const char *p = l->next + strspn(l->next, " \t\r\n");
    size_t length;

    if (!*p) {
        l->token = TOKEN_END;
        l->text = "";
        l->next = p;
        return;
    }
    if (strchr(symbols, *p)) {
        l->token = TOKEN_SYMBOL;
        length = (*p == '=' || *p == '!') && p[1] == '=' ? 2 : 1;
    } else {
        l->token = TOKEN_WORD;
        length = strcspn(p, "=!(),>< \t\r\n");
    }
    l->text = prg_arena_strndup(l->arena, p, length);
    l->next = p + length;
}

static bool at_symbol(const struct lexer *l, const char *symbol)
{
    return l->token == TOKEN_SYMBOL && strcmp(l->text, symbol) == 0;
}

static int unexpected(struct lexer *l, const char *wanted)
{
    if (l->token == TOKEN_END)
        return prg_fail(l->err, PRG_INVALID, "label selector '%s' ends where %s is expected", l->whole, wanted);
    return prg_fail(l->err, PRG_INVALID, "label selector '%s': '%s' where %s is expected", l->whole, l->text, wanted);
}

static bool read_operator(struct lexer *l, enum selector_operator *ret)
{
    static const struct {
        const char *text;
        enum token token;
        enum selector_operator op;
    } operators[] = {
        {"=", TOKEN_SYMBOL, OP_EQUALS},   {"==", TOKEN_SYMBOL, OP_DOUBLE_EQUALS}, {"!=", TOKEN_SYMBOL, OP_NOT_EQUALS},
        {">", TOKEN_SYMBOL, OP_GREATER},  {"<", TOKEN_SYMBOL, OP_LESS},           {"in", TOKEN_WORD, OP_IN},
        {"notin", TOKEN_WORD, OP_NOT_IN},
    };
    for (size_t i = 0; i < PRG_COUNT(operators); i++) {
        if (l->token != operators[i].token || strcmp(l->text, operators[i].text) != 0)
            continue;
        *ret = operators[i].op;
        advance(l);
        return true;
    }
    return false;
}

// "(a,b)": a place between commas or parentheses without a word is the empty value.
static int read_list(struct lexer *l, struct prg_vec *ret)
{
    if (!at_symbol(l, "("))
        return unexpected(l, "'('");
    advance(l);
    for (;;) {
        if (l->token == TOKEN_WORD) {
            prg_vec_push(ret, (void *)l->text);
            advance(l);
        } else {
            prg_vec_push(ret, (void *)"");
        }
        if (at_symbol(l, ")"))
            break;
        if (!at_symbol(l, ","))
            return unexpected(l, "',' or ')'");
        advance(l);
    }
    advance(l);
    return PRG_OK;
}

static int read_exact(struct lexer *l, struct prg_vec *ret)
{
    if (l->token == TOKEN_END || at_symbol(l, ",")) {
        prg_vec_push(ret, (void *)"");
        return PRG_OK;
    }
    if (l->token != TOKEN_WORD)
        return unexpected(l, "a value");
    prg_vec_push(ret, (void *)l->text);
    advance(l);
    return PRG_OK;
}

static int read_requirement(struct lexer *l, struct requirement **ret)
{
    bool is_negated = at_symbol(l, "!");
    if (is_negated)
        advance(l);
    if (l->token != TOKEN_WORD)
        return unexpected(l, "a label key");
    struct requirement *r = new_requirement(l->arena, l->text, is_negated ? OP_DOES_NOT_EXIST : OP_EXISTS);
    advance(l);
    if (!is_negated && l->token != TOKEN_END && !at_symbol(l, ",")) {
        struct prg_vec values;
        prg_vec_init(&values);
        int rc = PRG_OK;
        if (!read_operator(l, &r->op))
            rc = unexpected(l, "one of = == != < > in notin");
        else if (r->op == OP_IN || r->op == OP_NOT_IN)
            rc = read_list(l, &values);
        else
            rc = read_exact(l, &values);
        if (rc == PRG_OK)
            set_values(l->arena, r, &values, true);
        prg_vec_release(&values);
        if (rc != PRG_OK)
            return rc;
    }
    if (check(r, l->err) != PRG_OK)
        return prg_wrap(l->err, "label selector '%s'", l->whole);
    *ret = r;
    return PRG_OK;
}

static int read_all(struct lexer *l, struct prg_vec *ret)
{
    advance(l);
    while (l->token != TOKEN_END) {
        struct requirement *r = NULL;
        if (read_requirement(l, &r) != PRG_OK)
            return PRG_INVALID;
        prg_vec_push(ret, r);
        if (l->token == TOKEN_END)
            break;
        if (!at_symbol(l, ","))
            return unexpected(l, "',' or the end");
        advance(l);
        if (l->token == TOKEN_END)
            return unexpected(l, "a label key");
    }
    return PRG_OK;
}

int prg_selector_parse(struct prg_arena *arena, const char *text, struct prg_selector **ret, struct prg_error *err)
{
    struct lexer lexer = {.arena = arena, .err = err, .whole = text, .next = text};
    struct prg_vec requirements;
    prg_vec_init(&requirements);
    int rc = read_all(&lexer, &requirements);
    if (rc == PRG_OK)
        *ret = new_selector(arena, &requirements);
    prg_vec_release(&requirements);
    return rc;
}

// ---- LabelSelector objects ----

static int read_match_labels(struct prg_arena *arena, const cJSON *labels, struct prg_vec *ret, struct prg_error *err)
{
    const cJSON *label;
    if (!labels || prg_json_is_null(labels))
        return PRG_OK;
    if (!prg_json_is_object(labels))
        return prg_fail(err, PRG_INVALID, "/matchLabels must be an object, not %s", prg_json_type_name(labels));
    prg_json_each (label, labels) {
        struct requirement *r = new_requirement(arena, label->string, OP_EQUALS);
        if (!prg_json_is_string(label))
            return prg_fail(err, PRG_INVALID, "/matchLabels/%s must be a string, not %s", label->string,
                            prg_json_type_name(label));
        r->values = prg_arena_array(arena, const char *, 1);
        r->values[r->count++] = prg_json_text(label);
        if (check(r, err) != PRG_OK)
            return prg_wrap(err, "/matchLabels");
        prg_vec_push(ret, r);
    }
    return PRG_OK;
}

static int read_expression(struct prg_arena *arena, const cJSON *expression, struct requirement **ret,
                           struct prg_error *err)
{
    static const struct {
        const char *text;
        enum selector_operator op;
    } operators[] = {{"In", OP_IN}, {"NotIn", OP_NOT_IN}, {"Exists", OP_EXISTS}, {"DoesNotExist", OP_DOES_NOT_EXIST}};
    const char *key = prg_json_get_text(expression, "key");
    const char *op = prg_json_get_text(expression, "operator");
    const cJSON *values = prg_json_get(expression, "values"), *value;
    size_t i = 0;

    while (op && i < PRG_COUNT(operators) && strcmp(operators[i].text, op) != 0)
        i++;
    if (!op || i == PRG_COUNT(operators))
        return prg_fail(err, PRG_INVALID, "/operator must be In, NotIn, Exists or DoesNotExist, not '%s'",
                        op ? op : "");
    if (values && !prg_json_is_null(values) && !prg_json_is_array(values))
        return prg_fail(err, PRG_INVALID, "/values must be a list, not %s", prg_json_type_name(values));
    struct requirement *r = new_requirement(arena, key ? key : "", operators[i].op);
    struct prg_vec texts;
    prg_vec_init(&texts);
    int rc = PRG_OK;
    prg_json_each (value, values) {
        if (!prg_json_is_string(value))
            rc = prg_fail(err, PRG_INVALID, "/values must hold strings, not %s", prg_json_type_name(value));
        else
            prg_vec_push(&texts, (void *)prg_json_text(value));
    }
    set_values(arena, r, &texts, false);
    prg_vec_release(&texts);
    if (rc == PRG_OK)
        rc = check(r, err);
    *ret = r;
    return rc;
}

static int read_match_expressions(struct prg_arena *arena, const cJSON *expressions, struct prg_vec *ret,
                                  struct prg_error *err)
{
    const cJSON *expression;
    unsigned index = 0;
    if (!expressions || prg_json_is_null(expressions))
        return PRG_OK;
    if (!prg_json_is_array(expressions))
        return prg_fail(err, PRG_INVALID, "/matchExpressions must be a list, not %s", prg_json_type_name(expressions));
    prg_json_each (expression, expressions) {
        struct requirement *r = NULL;
        if (read_expression(arena, expression, &r, err) != PRG_OK)
            return prg_wrap(err, "/matchExpressions/%u", index);
        prg_vec_push(ret, r);
        index++;
    }
    return PRG_OK;
}

int prg_selector_of(struct prg_arena *arena, const cJSON *label_selector, struct prg_selector **ret,
                    struct prg_error *err)
{
    struct prg_vec requirements;
    if (!label_selector || prg_json_is_null(label_selector)) {
        *ret = prg_arena_new(arena, struct prg_selector);
        (*ret)->selects_nothing = true;
        return PRG_OK;
    }
    if (!prg_json_is_object(label_selector))
        return prg_fail(err, PRG_INVALID, "a label selector must be an object, not %s",
                        prg_json_type_name(label_selector));
    prg_vec_init(&requirements);
    int rc = read_match_labels(arena, prg_json_get(label_selector, "matchLabels"), &requirements, err);
    if (rc == PRG_OK)
        rc = read_match_expressions(arena, prg_json_get(label_selector, "matchExpressions"), &requirements, err);
    if (rc == PRG_OK)
        *ret = new_selector(arena, &requirements);
    prg_vec_release(&requirements);
    return rc;
}

// ---- matching and printing ----

static bool has_value(const struct requirement *r, const char *value)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->values[i], value) == 0)
            return true;
    return false;
}

static bool holds(const struct requirement *r, const char *value)
{
    int64_t have, want;
    switch (r->op) {
    case OP_IN:
    case OP_EQUALS:
    case OP_DOUBLE_EQUALS:
        return value && has_value(r, value);
    case OP_NOT_IN:
    case OP_NOT_EQUALS:
        return !value || !has_value(r, value);
    case OP_EXISTS:
        return value;
    case OP_DOES_NOT_EXIST:
        return !value;
    default:
        if (!value || !read_int64(value, &have) || !read_int64(r->values[0], &want))
            return false;
        return r->op == OP_GREATER ? have > want : have < want;
    }
}

bool prg_selector_matches(const struct prg_selector *selector, const cJSON *labels)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!holds(&selector->requirements[i], prg_json_get_text(labels, selector->requirements[i].key)))
            return false;
    return !selector->selects_nothing;
}

static void print_requirement(struct prg_strbuf *out, const struct requirement *r)
{
    static const char *const infix[] = {
        [OP_IN] = " in (",         [OP_NOT_IN] = " notin (", [OP_EQUALS] = "=",
        [OP_DOUBLE_EQUALS] = "==", [OP_NOT_EQUALS] = "!=",   [OP_EXISTS] = "",
        [OP_DOES_NOT_EXIST] = "",  [OP_GREATER] = ">",       [OP_LESS] = "<",
    };
    prg_strbuf_printf(out, "%s%s%s", r->op == OP_DOES_NOT_EXIST ? "!" : "", r->key, infix[r->op]);
    for (size_t i = 0; i < r->count; i++)
        prg_strbuf_printf(out, "%s%s", i ? "," : "", r->values[i]);
    if (r->op == OP_IN || r->op == OP_NOT_IN)
        prg_strbuf_putc(out, ')');
}

char *prg_selector_print(struct prg_arena *arena, const struct prg_selector *selector)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    for (size_t i = 0; i < selector->count; i++) {
        if (i)
            prg_strbuf_putc(&out, ',');
        print_requirement(&out, &selector->requirements[i]);
    }
    return prg_arena_strndup(arena, out.text, out.length);
}

// ---- field selectors ----

struct field_term {
    const char *field;
    bool is_negated;
    const char *value;
};

struct prg_field_selector {
    struct field_term *terms;
    size_t count;
};

// Splits at commas that no backslash escapes.
static void split_terms(struct prg_arena *arena, const char *text, struct prg_vec *ret)
{
    const char *start = text;
    for (const char *p = text;; p++) {
        if (*p == '\\' && p[1]) {
            p++;
            continue;
        }
        if (*p && *p != ',')
            continue;
        prg_vec_push(ret, prg_arena_strndup(arena, start, (size_t)(p - start)));
        if (!*p)
            return;
        start = p + 1;
    }
}

// \\ \, and \= stand for the second character; alone, none of the three may stand in a value.
static int unescape(struct prg_arena *arena, const char *text, const char **ret, struct prg_error *err)
{
    char *out = prg_arena_alloc(arena, strlen(text) + 1), *end = out;
    for (const char *p = text; *p; p++) {
        if (*p == '\\') {
            p++;
            if (!*p || !strchr("\\,=", *p))
                return prg_fail(err, PRG_INVALID, "'%s': a backslash stands before \\ , or = only", text);
        } else if (*p == ',' || *p == '=') {
            return prg_fail(err, PRG_INVALID, "'%s': write '\\%c' for '%c' in a value", text, *p, *p);
        }
        *end++ = *p;
    }
    *end = '\0';
    *ret = out;
    return PRG_OK;
}

static int read_term(struct prg_arena *arena, const char *text, struct field_term *ret, struct prg_error *err)
{
    const char *p = text;
    while (*p && *p != '=' && strncmp(p, "!=", 2) != 0)
        p++;
    if (!*p)
        return prg_fail(err, PRG_INVALID, "'%s': FIELD=VALUE or FIELD!=VALUE is expected", text);
    ret->field = prg_arena_strndup(arena, text, (size_t)(p - text));
    ret->is_negated = *p == '!';
    return unescape(arena, p + (p[1] == '=' ? 2 : 1), &ret->value, err);
}

int prg_field_selector_parse(struct prg_arena *arena, const char *text, struct prg_field_selector **ret,
                             struct prg_error *err)
{
    struct prg_vec texts;
    prg_vec_init(&texts);
    split_terms(arena, text, &texts);
    prg_vec_sort(&texts, compare_texts, NULL);

    struct prg_field_selector *selector = prg_arena_new(arena, struct prg_field_selector);
    selector->terms = prg_arena_array(arena, struct field_term, texts.count);
    int rc = PRG_OK;
    for (size_t i = 0; i < texts.count && rc == PRG_OK; i++) {
        struct field_term term;
        if (!*(const char *)texts.items[i])
            continue;
        rc = read_term(arena, texts.items[i], &term, err);
        if (rc == PRG_OK && (*term.field || *term.value))
            selector->terms[selector->count++] = term;
    }
    prg_vec_release(&texts);
    if (rc != PRG_OK)
        return prg_wrap(err, "field selector '%s'", text);
    *ret = selector;
    return PRG_OK;
}

bool prg_field_selector_matches(const struct prg_field_selector *selector, const cJSON *fields)
{
    for (size_t i = 0; i < selector->count; i++) {
        const struct field_term *term = &selector->terms[i];
        const char *value = prg_json_get_text(fields, term->field);
        if ((strcmp(value ? value : "", term->value) == 0) == term->is_negated)
            return false;
    }
    return true;
}

char *prg_field_selector_print(struct prg_arena *arena, const struct prg_field_selector *selector)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    for (size_t i = 0; i < selector->count; i++) {
        const struct field_term *term = &selector->terms[i];
        prg_strbuf_printf(&out, "%s%s%s", i ? "," : "", term->field, term->is_negated ? "!=" : "=");
        for (const char *p = term->value; *p; p++) {
            if (strchr("\\,=", *p))
                prg_strbuf_putc(&out, '\\');
            prg_strbuf_putc(&out, *p);
        }
    }
    return prg_arena_strndup(arena, out.text, out.length);
}
