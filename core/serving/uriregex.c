// SPDX-License-Identifier: Apache-2.0
// uriregex.c: Go's regular expressions on PCRE2. The first part reads the expression as Go's regexp/syntax does and
// refuses what Go refuses; the second one compiles and matches.
#include "serving/uriregex.h"

#include <stdio.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define EXPRESSION_MAX_BYTES 65536
#define NESTING_MAX 200
#define REPEAT_MAX 1000          // Go's own limit for {n}
#define MATCH_STEPS_MAX 1000000u // some 30 ms; RE2 needs no such limit, PCRE2 backtracks
#define MATCH_HEAP_KIB 20480u

// ---- Go's syntax ----

struct reader {
    const char *text;
    size_t at, length;
    struct prg_strbuf *out; // the expression as PCRE2 shall see it
    struct prg_error *err;
};

static int bad(struct reader *r, size_t at, const char *what)
{
    return prg_fail(r->err, PRG_INVALID, "%s at offset %zu of the expression '%s'", what, at, r->text);
}

static char peek(const struct reader *r, size_t ahead)
{
    return r->at + ahead < r->length ? r->text[r->at + ahead] : '\0';
}

static void copy(struct reader *r, size_t count)
{
    prg_strbuf_add(r->out, r->text + r->at, count);
    r->at += count;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// \Q…\E: what stands between is literal. An open end is fine in Go.
static void read_quoted(struct reader *r)
{
    r->at += 2;
    while (r->at < r->length) {
        if (peek(r, 0) == '\\' && peek(r, 1) == 'E') {
            r->at += 2;
            return;
        }
        if (!is_letter(peek(r, 0)) && !is_digit(peek(r, 0)) && (unsigned char)peek(r, 0) < 0x80)
            prg_strbuf_putc(r->out, '\\');
        copy(r, 1);
    }
}

// \p{Greek}, \pL, \p{^Greek}: the name is for PCRE2 to check.
static int read_property(struct reader *r)
{
    size_t start = r->at;
    copy(r, 2);
    if (peek(r, 0) != '{') {
        if (!is_letter(peek(r, 0)))
            return bad(r, start, "\\p needs the name of a character class");
        copy(r, 1);
        return PRG_OK;
    }
    while (r->at < r->length && peek(r, 0) != '}')
        copy(r, 1);
    if (peek(r, 0) != '}')
        return bad(r, start, "\\p{ is not closed");
    copy(r, 1);
    return PRG_OK;
}

static int read_hex(struct reader *r)
{
    size_t start = r->at;
    copy(r, 2);
    if (peek(r, 0) == '{') {
        while (r->at < r->length && peek(r, 0) != '}')
            copy(r, 1);
        if (peek(r, 0) != '}')
            return bad(r, start, "\\x{ is not closed");
        copy(r, 1);
        return PRG_OK;
    }
    for (int i = 0; i < 2; i++) {
        char c = peek(r, 0);
        if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F'))
            return bad(r, start, "\\x needs two hexadecimal digits");
        copy(r, 1);
    }
    return PRG_OK;
}

// At a backslash. in_class: between [ and ].
static int read_escape(struct reader *r, bool in_class)
{
    char c = peek(r, 1);
    if (r->at + 1 >= r->length)
        return bad(r, r->at, "a backslash ends the expression");
    if (c == 'p' || c == 'P')
        return read_property(r);
    if (c == 'x')
        return read_hex(r);
    if (c == 'v') { // a vertical tab in Go, a class in PCRE2
        prg_strbuf_puts(r->out, "\\x0b");
        r->at += 2;
        return PRG_OK;
    }
    if (c == '0' || (is_digit(c) && c < '8' && is_digit(peek(r, 2)) && peek(r, 2) < '8')) {
        unsigned value = 0;
        r->at++;
        for (int i = 0; i < 3 && is_digit(peek(r, 0)) && peek(r, 0) < '8'; i++, r->at++)
            value = value * 8 + (unsigned)(peek(r, 0) - '0');
        prg_strbuf_printf(r->out, "\\x{%x}", value);
        return PRG_OK;
    }
    if (is_digit(c))
        return bad(r, r->at, "references to groups are not supported");
    if (is_letter(c)) {
        const char *known = in_class ? "dDsSwWafnrt" : "dDsSwWafnrtAzbB";
        if (!strchr(known, c))
            return bad(r, r->at, "unknown escape");
    } else if ((unsigned char)c >= 0x80) {
        return bad(r, r->at, "only ASCII punctuation can be escaped");
    }
    copy(r, 2);
    return PRG_OK;
}

// [:alpha:] inside a class.
static int read_posix_class(struct reader *r)
{
    static const char *const names[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                        "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
    const char *end = memchr(r->text + r->at, ']', r->length - r->at);
    size_t size = end ? (size_t)(end - (r->text + r->at)) + 1 : 0;
    for (size_t i = 0; size && i < PRG_COUNT(names); i++) {
        char with[16], without[16];
        int with_length = snprintf(with, sizeof(with), "[:%s:]", names[i]);
        int without_length = snprintf(without, sizeof(without), "[:^%s:]", names[i]);
        if (((size_t)with_length == size && !memcmp(with, r->text + r->at, size)) ||
            ((size_t)without_length == size && !memcmp(without, r->text + r->at, size))) {
            copy(r, size);
            return PRG_OK;
        }
    }
    return bad(r, r->at, "unknown character class");
}

static int read_class(struct reader *r)
{
    size_t start = r->at;
    int rc = PRG_OK;
    bool is_first = true, after_set = false; // after_set: \d or [:alpha:], which cannot start a range
    copy(r, 1);
    if (peek(r, 0) == '^')
        copy(r, 1);
    while (r->at < r->length) {
        char c = peek(r, 0);
        if (c == ']' && !is_first) {
            copy(r, 1);
            return PRG_OK;
        }
        if (c == '-' && !is_first && peek(r, 1) != ']') {
            bool from_class = after_set;
            bool to_class = (peek(r, 1) == '\\' && peek(r, 2) && strchr("dDsSwWpP", peek(r, 2))) ||
                            (peek(r, 1) == '[' && peek(r, 2) == ':');
            if (from_class || to_class)
                return bad(r, r->at, "a range needs single characters");
        }
        is_first = false;
        after_set = false;
        if (c == '[' && peek(r, 1) == ':') {
            rc = read_posix_class(r);
            after_set = true;
        } else if (c == '[') {
            prg_strbuf_puts(r->out, "\\[");
            r->at++;
        } else if (c == '\\') {
            after_set = peek(r, 1) && strchr("dDsSwWpP", peek(r, 1));
            rc = read_escape(r, true);
        } else {
            copy(r, 1);
        }
        if (rc != PRG_OK)
            return rc;
    }
    return bad(r, start, "[ is not closed");
}

// After "(?": flags, or the start of a named or plain group.
static int read_group(struct reader *r, bool *ret_opens)
{
    size_t start = r->at;
    *ret_opens = true;
    copy(r, 1);
    if (peek(r, 0) == '*')
        return bad(r, start, "verbs are not supported");
    if (peek(r, 0) != '?')
        return PRG_OK;
    copy(r, 1);
    if (peek(r, 0) == 'P' && peek(r, 1) == '<')
        copy(r, 1);
    if (peek(r, 0) == '<') {
        if (peek(r, 1) == '=' || peek(r, 1) == '!')
            return bad(r, start, "lookbehind is not supported");
        copy(r, 1);
        if (peek(r, 0) == '>')
            return bad(r, start, "a group needs a name");
        while (is_letter(peek(r, 0)) || is_digit(peek(r, 0)) || peek(r, 0) == '_')
            copy(r, 1);
        if (peek(r, 0) != '>')
            return bad(r, start, "the name of a group is not closed");
        copy(r, 1);
        return PRG_OK;
    }
    if (peek(r, 0) == '=' || peek(r, 0) == '!')
        return bad(r, start, "lookahead is not supported");
    for (; r->at < r->length; copy(r, 1)) {
        char c = peek(r, 0);
        if (c == ':' || c == ')') {
            *ret_opens = c == ':';
            copy(r, 1);
            return PRG_OK;
        }
        if (!strchr("imsU-", c))
            break;
    }
    return bad(r, start, "this kind of group is not supported");
}

// {n}, {n,}, {n,m} at r->at. Returns its length, 0 when the brace is a literal, -1 when a number is too large.
static int counted_repeat(const struct reader *r)
{
    size_t i = 1, first = 0, last = 0;
    if (!is_digit(peek(r, i)))
        return 0;
    for (; is_digit(peek(r, i)); i++)
        first = first > REPEAT_MAX ? first : first * 10 + (size_t)(peek(r, i) - '0');
    last = first;
    if (peek(r, i) == ',') {
        i++;
        if (is_digit(peek(r, i)))
            for (last = 0; is_digit(peek(r, i)); i++)
                last = last > REPEAT_MAX ? last : last * 10 + (size_t)(peek(r, i) - '0');
    }
    if (peek(r, i) != '}')
        return 0;
    if (first > REPEAT_MAX || last > REPEAT_MAX || last < first)
        return -1;
    return (int)i + 1;
}

// * + ? {n,m}, perhaps followed by one ? that makes it lazy. A second repetition is an error in Go.
static int read_repeat(struct reader *r, bool *ret_is_repeat)
{
    int size = 1;
    *ret_is_repeat = true;
    if (peek(r, 0) == '{') {
        size = counted_repeat(r);
        if (size < 0)
            return bad(r, r->at, "a repeat count is above 1000 or upside down");
        *ret_is_repeat = size > 0;
        if (size == 0) { // literal in both, but PCRE2 may learn new forms
            prg_strbuf_puts(r->out, "\\{");
            r->at++;
            return PRG_OK;
        }
    }
    copy(r, (size_t)size);
    if (peek(r, 0) == '?')
        copy(r, 1);
    char c = peek(r, 0);
    if (c == '*' || c == '+' || c == '?' || (c == '{' && counted_repeat(r) != 0))
        return bad(r, r->at, "a repetition of a repetition is not supported");
    return PRG_OK;
}

static int translate(struct reader *r)
{
    unsigned depth = 0;
    bool ignored;
    while (r->at < r->length) {
        int rc = PRG_OK;
        switch (peek(r, 0)) {
        case '\\':
            if (peek(r, 1) == 'Q')
                read_quoted(r);
            else
                rc = read_escape(r, false);
            break;
        case '[':
            rc = read_class(r);
            break;
        case '(':
            rc = read_group(r, &ignored);
            depth += ignored ? 1 : 0;
            if (depth > NESTING_MAX)
                rc = bad(r, r->at, "groups are nested too deeply");
            break;
        case ')':
            if (depth == 0)
                return bad(r, r->at, ") without (");
            depth--;
            copy(r, 1);
            break;
        case '*':
        case '+':
        case '?':
        case '{':
            rc = read_repeat(r, &ignored);
            break;
        default:
            copy(r, 1);
        }
        if (rc != PRG_OK)
            return rc;
    }
    return depth ? bad(r, r->length, "( is not closed") : PRG_OK;
}

// ---- PCRE2 ----

static pcre2_code *compile(const char *expression, const char *pattern, size_t length, struct prg_error *err)
{
    int code = 0;
    PCRE2_SIZE offset = 0;
    unsigned char text[200];
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    prg_require(context != NULL);
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF); // what a dot does not match
    (void)pcre2_set_parens_nest_limit(context, NESTING_MAX + 1);
    // Without PCRE2_UCP \w, \d and \b mean ASCII, as in Go. The result is a yes or no, so captures are not needed.
    pcre2_code *ret = pcre2_compile((PCRE2_SPTR)pattern, length,
                                    PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C,
                                    &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!ret) {
        (void)pcre2_get_error_message(code, text, sizeof(text));
        prg_fail(err, PRG_INVALID, "%s in the expression '%s'", (const char *)text, expression);
    }
    return ret;
}

static int run(const pcre2_code *code, const char *expression, const char *text, size_t length, bool *ret,
               struct prg_error *err)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    prg_require(context && data);
    (void)pcre2_set_match_limit(context, MATCH_STEPS_MAX);
    (void)pcre2_set_heap_limit(context, MATCH_HEAP_KIB);
    int rc = pcre2_match(code, (PCRE2_SPTR)text, length, 0, 0, data, context);
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        return prg_fail(err, PRG_LIMIT,
                        "matching takes more than %u steps (PCRE2 code %d); simplify the expression '%s'",
                        MATCH_STEPS_MAX, rc, expression);
    *ret = rc != PCRE2_ERROR_NOMATCH;
    return PRG_OK;
}

int prg_uriregex_match(const char *expression, const char *text, size_t length, bool *ret, struct prg_error *err)
{
    prg_auto_strbuf pattern = PRG_STRBUF_INIT;
    struct reader r = {.text = expression, .length = strlen(expression), .out = &pattern, .err = err};
    if (r.length > EXPRESSION_MAX_BYTES)
        return prg_fail(err, PRG_LIMIT, "an expression of %zu bytes is longer than %d", r.length, EXPRESSION_MAX_BYTES);
    int rc = translate(&r);
    if (rc != PRG_OK)
        return rc;
    pcre2_code *code = compile(expression, pattern.text, pattern.length, err);
    if (!code)
        return PRG_INVALID;
    rc = run(code, expression, text, length, ret, err);
    pcre2_code_free(code);
    return rc;
}
