// SPDX-License-Identifier: Apache-2.0
// template_lex.c: placeholders in a text to tokens, as text/template's lexer finds them.
#include "serving/template.h"

#include <string.h>

struct lexer {
    struct prg_arena *arena;
    const char *source;
    size_t length, at;
    int paren_depth;
    struct token *items;
    size_t count, cap;
};

static void add(struct lexer *l, enum token_type type, size_t offset, const char *text, size_t length)
{
    if (l->count == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 32;
        struct token *items = prg_arena_array(l->arena, struct token, cap);
        if (l->count)
            memcpy(items, l->items, l->count * sizeof(*items));
        l->items = items;
        l->cap = cap;
    }
    l->items[l->count++] = (struct token){type, offset, text, length};
}

static void add_span(struct lexer *l, enum token_type type, size_t from)
{
    add(l, type, from, l->source + from, l->at - from);
}

// Ends the work: nothing behind an error is looked at. Always false.
static bool broken(struct lexer *l, size_t offset, const char *why)
{
    add(l, TOKEN_ERROR, offset, why, strlen(why));
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Letters of other scripts may stand in names; here every byte above ASCII passes for one.
static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static char peek(const struct lexer *l, size_t ahead)
{
    return l->at + ahead < l->length ? l->source[l->at + ahead] : '\0';
}

static bool at_text(const struct lexer *l, size_t offset, const char *text)
{
    size_t length = strlen(text);
    return offset + length <= l->length && memcmp(l->source + offset, text, length) == 0;
}

// "}}", or " -}}" with the white space before it. *ret_skip: bytes before the braces.
static bool at_right_delimiter(const struct lexer *l, size_t *ret_skip)
{
    if (at_text(l, l->at, "}}")) {
        *ret_skip = 0;
        return true;
    }
    if (l->at + 1 < l->length && is_space(l->source[l->at]) && at_text(l, l->at + 1, "-}}")) {
        *ret_skip = 2;
        return true;
    }
    return false;
}

// Past the right delimiter; with a trim mark also past the white space that follows.
static void right_delimiter(struct lexer *l, size_t skip)
{
    size_t from = l->at;
    l->at += skip + 2;
    add_span(l, TOKEN_RIGHT, from);
    if (skip)
        while (l->at < l->length && is_space(l->source[l->at]))
            l->at++;
}

static bool comment(struct lexer *l, size_t from)
{
    const char *end = memmem(l->source + l->at + 2, l->length - l->at - 2, "*/", 2);
    size_t skip;
    if (!end)
        return broken(l, from, "the comment is not closed by */");
    l->at = (size_t)(end - l->source) + 2;
    if (!at_right_delimiter(l, &skip))
        return broken(l, from, "a comment must end right before }}");
    l->at += skip + 2;
    add_span(l, TOKEN_COMMENT, from);
    if (skip)
        while (l->at < l->length && is_space(l->source[l->at]))
            l->at++;
    return true;
}

static bool quoted(struct lexer *l, char quote, enum token_type type, const char *why)
{
    size_t from = l->at++;
    for (;;) {
        if (l->at >= l->length || l->source[l->at] == '\n')
            return broken(l, from, why);
        char c = l->source[l->at++];
        if (c == quote)
            break;
        if (c == '\\') {
            if (l->at >= l->length || l->source[l->at] == '\n')
                return broken(l, from, why);
            l->at++;
        }
    }
    add_span(l, type, from);
    return true;
}

static bool raw_quoted(struct lexer *l)
{
    size_t from = l->at;
    const char *end = memchr(l->source + from + 1, '`', l->length - from - 1);
    if (!end)
        return broken(l, from, "the text in backquotes is not closed");
    l->at = (size_t)(end - l->source) + 1;
    add_span(l, TOKEN_RAW_STRING, from);
    return true;
}

// What may follow a name.
static bool at_terminator(const struct lexer *l)
{
    if (l->at >= l->length)
        return true;
    char c = l->source[l->at];
    return is_space(c) || (c && strchr(".,|:()", c)) || at_text(l, l->at, "}}");
}

static bool name(struct lexer *l, enum token_type type, size_t from, size_t text_from)
{
    while (l->at < l->length && is_name_char(l->source[l->at]))
        l->at++;
    if (!at_terminator(l))
        return broken(l, from,
                      prg_arena_printf(l->arena, "the character '%c' cannot follow '%.*s'; is a }} missing?",
                                       l->source[l->at], (int)(l->at - from), l->source + from));
    add(l, type, from, l->source + text_from, l->at - text_from);
    return true;
}

static bool identifier(struct lexer *l)
{
    static const char *const keywords[] = {"block", "break", "continue", "define",   "else",
                                           "end",   "if",    "range",    "template", "with"};
    size_t from = l->at;
    if (!name(l, TOKEN_IDENTIFIER, from, from))
        return false;
    struct token *token = &l->items[l->count - 1];
    for (size_t i = 0; i < PRG_COUNT(keywords); i++)
        if (token->length == strlen(keywords[i]) && memcmp(token->text, keywords[i], token->length) == 0)
            token->type = TOKEN_KEYWORD;
    if (token->length == 3 && memcmp(token->text, "nil", 3) == 0)
        token->type = TOKEN_NIL;
    if ((token->length == 4 && memcmp(token->text, "true", 4) == 0) ||
        (token->length == 5 && memcmp(token->text, "false", 5) == 0))
        token->type = TOKEN_BOOL;
    return true;
}

static bool number(struct lexer *l)
{
    size_t from = l->at;
    bool is_hex;
    if (peek(l, 0) == '+' || peek(l, 0) == '-')
        l->at++;
    is_hex = peek(l, 0) == '0' && (peek(l, 1) == 'x' || peek(l, 1) == 'X');
    if (is_hex)
        l->at += 2;
    size_t digits = l->at;
    while (l->at < l->length && (is_hex ? strchr("0123456789abcdefABCDEF_", l->source[l->at]) != NULL
                                        : (l->source[l->at] >= '0' && l->source[l->at] <= '9') ||
                                              l->source[l->at] == '_' || l->source[l->at] == '.'))
        l->at++;
    if (l->at == digits || (l->at < l->length && is_name_char(l->source[l->at]))) {
        while (l->at < l->length && is_name_char(l->source[l->at]))
            l->at++;
        return broken(l, from,
                      prg_arena_printf(l->arena, "'%.*s' is no number", (int)(l->at - from), l->source + from));
    }
    add_span(l, TOKEN_NUMBER, from);
    return true;
}

static void spaces(struct lexer *l)
{
    size_t from = l->at, skip;
    while (l->at < l->length && is_space(l->source[l->at])) {
        if (at_right_delimiter(l, &skip)) // a trim mark begins with the last space
            break;
        l->at++;
    }
    if (l->at > from)
        add_span(l, TOKEN_SPACE, from);
}

static bool single(struct lexer *l, enum token_type type)
{
    size_t from = l->at++;
    add_span(l, type, from);
    return true;
}

static bool paren(struct lexer *l)
{
    bool is_left = l->source[l->at] == '(';
    l->paren_depth += is_left ? 1 : -1;
    if (l->paren_depth < 0)
        return broken(l, l->at, "a ) without (");
    return single(l, is_left ? TOKEN_LEFT_PAREN : TOKEN_RIGHT_PAREN);
}

// One token inside an action. False: the work is over.
static bool inside_action(struct lexer *l)
{
    char c = l->source[l->at];
    size_t from = l->at;
    if (is_space(c)) {
        spaces(l);
        return true;
    }
    if (is_name_char(c) && !(c >= '0' && c <= '9'))
        return identifier(l);
    switch (c) {
    case '=':
        return single(l, TOKEN_ASSIGN);
    case ':':
        if (peek(l, 1) != '=')
            return broken(l, from, ":= is expected");
        l->at += 2;
        add_span(l, TOKEN_DECLARE, from);
        return true;
    case '|':
        return single(l, TOKEN_PIPE);
    case '"':
        return quoted(l, '"', TOKEN_STRING, "the text in quotes is not closed");
    case '\'':
        return quoted(l, '\'', TOKEN_CHAR_CONSTANT, "the character in quotes is not closed");
    case '`':
        return raw_quoted(l);
    case '$':
        l->at++;
        return name(l, TOKEN_VARIABLE, from, from);
    case '.':
        if (peek(l, 1) >= '0' && peek(l, 1) <= '9')
            return number(l);
        l->at++;
        if (at_terminator(l)) {
            add_span(l, TOKEN_DOT, from);
            return true;
        }
        return name(l, TOKEN_FIELD, from, l->at);
    case '(':
    case ')':
        return paren(l);
    default:
        break;
    }
    if (c == '+' || c == '-' || (c >= '0' && c <= '9'))
        return number(l);
    if (c > ' ' && c < 0x7f)
        return single(l, TOKEN_CHAR);
    return broken(l, from, "a character that cannot stand here");
}

// From "{{" to behind "}}".
static bool action(struct lexer *l)
{
    size_t from = l->at, skip;
    l->at += 2;
    if (peek(l, 0) == '-' && l->at + 1 < l->length && is_space(peek(l, 1)))
        l->at += 2;
    if (at_text(l, l->at, "/*"))
        return comment(l, from);
    add_span(l, TOKEN_LEFT, from);
    l->paren_depth = 0;
    while (l->at < l->length) {
        if (at_right_delimiter(l, &skip)) {
            if (l->paren_depth > 0)
                return broken(l, l->at, "a ( is not closed");
            right_delimiter(l, skip);
            return true;
        }
        if (!inside_action(l))
            return false;
    }
    return broken(l, from, "{{ is not closed by }}");
}

void template_lex(struct prg_arena *arena, const char *source, size_t length, struct tokens *ret)
{
    struct lexer l = {.arena = arena, .source = source, .length = length};
    bool is_going = true;
    while (is_going && l.at < length) {
        const char *left = memmem(source + l.at, length - l.at, "{{", 2);
        size_t from = l.at, end = left ? (size_t)(left - source) : length;
        l.at = end;
        // "{{- " takes the white space before it away.
        if (left && end + 3 < length && source[end + 2] == '-' && is_space(source[end + 3]))
            while (end > from && is_space(source[end - 1]))
                end--;
        if (end > from)
            add(&l, TOKEN_TEXT, from, source + from, end - from);
        if (left)
            is_going = action(&l);
    }
    if (is_going)
        add(&l, TOKEN_EOF, length, "", 0);
    ret->items = l.items;
    ret->count = l.count;
}
