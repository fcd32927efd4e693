// SPDX-License-Identifier: Apache-2.0
// template_parse.c: tokens to nodes, as text/template's parser builds them. What it refuses (unknown functions,
// undeclared variables, unbalanced blocks) is refused before anything runs, also in branches that are never taken.
#include "serving/template.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARIABLES 256

struct parser {
    struct template_run *run;
    struct prg_arena *arena;
    const struct token *tokens;
    size_t at;
    const char *variables[MAX_VARIABLES]; // in scope, innermost last; "$" is always there
    size_t variable_count;
    unsigned range_depth;
};

static const struct token *next(struct parser *p)
{
    const struct token *token = &p->tokens[p->at];
    if (token->type != TOKEN_EOF && token->type != TOKEN_ERROR)
        p->at++;
    return token;
}

static const struct token *peek(const struct parser *p)
{
    return &p->tokens[p->at];
}

static const struct token *peek_non_space(struct parser *p)
{
    while (peek(p)->type == TOKEN_SPACE)
        p->at++;
    return peek(p);
}

static bool is_word(const struct token *token, enum token_type type, const char *word)
{
    return token->type == type && token->length == strlen(word) && memcmp(token->text, word, token->length) == 0;
}

static bool is_keyword(const struct token *token, const char *word)
{
    return is_word(token, TOKEN_KEYWORD, word);
}

static int unexpected(struct parser *p, const struct token *token, const char *context)
{
    switch (token->type) {
    case TOKEN_ERROR:
        return template_fail(p->run, token->offset, "%.*s", (int)token->length, token->text);
    case TOKEN_EOF:
        return template_fail(p->run, token->offset, "the text ends in the middle of %s", context);
    case TOKEN_RIGHT:
        return template_fail(p->run, token->offset, "}} comes too early in %s", context);
    case TOKEN_KEYWORD:
        return template_fail(p->run, token->offset, "'%.*s' cannot stand in %s", (int)token->length, token->text,
                             context);
    default:
        return template_fail(p->run, token->offset, "'%.*s' is not expected in %s", (int)token->length, token->text,
                             context);
    }
}

static const char *text_of(struct parser *p, const struct token *token)
{
    return prg_arena_strndup(p->arena, token->text, token->length);
}

// ---- literals ----

static size_t put_utf8(char *out, uint32_t rune)
{
    if (rune < 0x80) {
        out[0] = (char)rune;
        return 1;
    }
    if (rune < 0x800) {
        out[0] = (char)(0xc0 | (rune >> 6));
        out[1] = (char)(0x80 | (rune & 0x3f));
        return 2;
    }
    if (rune < 0x10000) {
        out[0] = (char)(0xe0 | (rune >> 12));
        out[1] = (char)(0x80 | ((rune >> 6) & 0x3f));
        out[2] = (char)(0x80 | (rune & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (rune >> 18));
    out[1] = (char)(0x80 | ((rune >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((rune >> 6) & 0x3f));
    out[3] = (char)(0x80 | (rune & 0x3f));
    return 4;
}

// The digits of \xHH, \uHHHH, \UHHHHHHHH or \OOO; false when one is missing.
static bool escape_digits(const char **at, const char *end, size_t count, int base, uint32_t *ret)
{
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++, (*at)++) {
        if (*at >= end || !isxdigit((unsigned char)**at))
            return false;
        int digit = isdigit((unsigned char)**at) ? **at - '0' : tolower((unsigned char)**at) - 'a' + 10;
        if (digit >= base)
            return false;
        value = value * (uint32_t)base + (uint32_t)digit;
    }
    *ret = value;
    return true;
}

// One escape; *at stands behind the backslash. Bytes written, 0 when it is none.
static size_t unescape(const char **at, const char *end, char *out)
{
    static const char plain[] = "abfnrtv\\\"'", meant[] = "\a\b\f\n\r\t\v\\\"'";
    uint32_t value;
    if (*at >= end)
        return 0;
    char c = *(*at)++;
    const char *found = c ? strchr(plain, c) : NULL;
    if (found && c != '\'') {
        out[0] = meant[found - plain];
        return 1;
    }
    if (c == 'x' || (c >= '0' && c <= '7')) {
        *at -= c == 'x' ? 0 : 1;
        if (!escape_digits(at, end, c == 'x' ? 2 : 3, c == 'x' ? 16 : 8, &value) || value > 0xff)
            return 0;
        out[0] = (char)value;
        return 1;
    }
    if (c != 'u' && c != 'U')
        return 0;
    if (!escape_digits(at, end, c == 'u' ? 4 : 8, 16, &value) || value > 0x10ffff ||
        (value >= 0xd800 && value < 0xe000))
        return 0;
    return put_utf8(out, value);
}

static int unquote(struct parser *p, const struct token *token, struct operand *operand)
{
    const char *at = token->text + 1, *end = token->text + token->length - 1;
    char *out = prg_arena_alloc(p->arena, token->length + 1);
    size_t length = 0;
    while (at < end) {
        if (*at != '\\') {
            out[length++] = *at++;
            continue;
        }
        at++;
        size_t written = unescape(&at, end, out + length);
        if (!written)
            return template_fail(p->run, token->offset, "%.*s holds an escape that there is not", (int)token->length,
                                 token->text);
        length += written;
    }
    out[length] = '\0';
    operand->text = out;
    operand->length = length;
    return PRG_OK;
}

// Whole numbers only: decimal or 0x. A leading zero would be octal in the original.
static int parse_number(struct parser *p, const struct token *token, struct operand *operand)
{
    const char *text = text_of(p, token), *digits = text + (text[0] == '+' || text[0] == '-' ? 1 : 0);
    char *end;
    bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    if (strpbrk(text, "._") || (!is_hex && digits[0] == '0' && digits[1]))
        return template_fail(p->run, token->offset,
                             "the number %s is not supported in placeholders; write a whole "
                             "decimal number",
                             text);
    errno = 0;
    long long value = strtoll(text, &end, is_hex ? 16 : 10);
    if (errno || *end || end == text)
        return template_fail(p->run, token->offset, "%s is no number, or too large", text);
    operand->number = value;
    return PRG_OK;
}

// ---- pipelines ----

static int parse_pipe(struct parser *p, const char *context, bool is_range, enum token_type end, struct pipe **ret);

static bool is_declared(const struct parser *p, const char *name)
{
    for (size_t i = 0; i < p->variable_count; i++)
        if (strcmp(p->variables[i], name) == 0)
            return true;
    return false;
}

static int declare(struct parser *p, struct pipe *pipe, const struct token *token)
{
    if (p->variable_count == MAX_VARIABLES)
        return template_fail(p->run, token->offset, "there are more than %d variables", MAX_VARIABLES);
    const char *name = text_of(p, token);
    pipe->variables[pipe->variable_count++] = name;
    p->variables[p->variable_count++] = name;
    return PRG_OK;
}

static int function_operand(struct parser *p, const struct token *token, struct operand *operand)
{
    operand->type = OPERAND_FUNCTION;
    operand->text = text_of(p, token);
    operand->length = token->length;
    if (template_has_function(operand->text))
        return PRG_OK;
    if (template_is_refused_function(operand->text))
        return template_fail(p->run, token->offset, "the function '%s' is not supported in placeholders",
                             operand->text);
    return template_fail(p->run, token->offset, "there is no function '%s'", operand->text);
}

static int variable_operand(struct parser *p, const struct token *token, struct operand *operand)
{
    operand->type = OPERAND_VARIABLE;
    operand->text = text_of(p, token);
    operand->length = token->length;
    if (!is_declared(p, operand->text))
        return template_fail(p->run, token->offset, "the variable %s is not declared", operand->text);
    return PRG_OK;
}

// One term without the fields that may follow. *ret stays NULL when there is none.
static int parse_term(struct parser *p, struct operand **ret)
{
    const struct token *token = peek_non_space(p);
    struct operand *operand = prg_arena_new(p->arena, struct operand);
    int rc = PRG_OK;
    operand->offset = token->offset;
    p->at++;
    switch (token->type) {
    case TOKEN_IDENTIFIER:
        rc = function_operand(p, token, operand);
        break;
    case TOKEN_DOT:
        operand->type = OPERAND_DOT;
        break;
    case TOKEN_NIL:
        operand->type = OPERAND_NIL;
        break;
    case TOKEN_BOOL:
        operand->type = OPERAND_BOOL;
        operand->number = token->text[0] == 't';
        break;
    case TOKEN_VARIABLE:
        rc = variable_operand(p, token, operand);
        break;
    case TOKEN_FIELD:
        operand->type = OPERAND_FIELD;
        p->at--; // read with those that follow
        break;
    case TOKEN_NUMBER:
        operand->type = OPERAND_INT;
        rc = parse_number(p, token, operand);
        break;
    case TOKEN_CHAR_CONSTANT:
        return template_fail(p->run, token->offset, "the character constant %.*s is not supported in placeholders",
                             (int)token->length, token->text);
    case TOKEN_RAW_STRING:
        operand->type = OPERAND_STRING;
        operand->text = prg_arena_strndup(p->arena, token->text + 1, token->length - 2);
        operand->length = token->length - 2;
        break;
    case TOKEN_STRING:
        operand->type = OPERAND_STRING;
        rc = unquote(p, token, operand);
        break;
    case TOKEN_LEFT_PAREN:
        operand->type = OPERAND_PIPE;
        rc = parse_pipe(p, "the parentheses", false, TOKEN_RIGHT_PAREN, &operand->pipe);
        break;
    default:
        p->at--;
        *ret = NULL;
        return PRG_OK;
    }
    *ret = operand;
    return rc;
}

static int parse_operand(struct parser *p, struct operand **ret)
{
    struct operand *operand = NULL;
    int rc = parse_term(p, &operand);
    if (rc != PRG_OK || !operand || peek(p)->type != TOKEN_FIELD) {
        *ret = operand;
        return rc;
    }
    switch (operand->type) {
    case OPERAND_FIELD:
    case OPERAND_VARIABLE:
    case OPERAND_PIPE:
        break;
    default:
        return template_fail(p->run, operand->offset, "this has no fields");
    }
    size_t count = 0, cap = 4;
    const char **names = prg_arena_array(p->arena, const char *, cap);
    while (peek(p)->type == TOKEN_FIELD) {
        if (count + 1 == cap) {
            const char **more = prg_arena_array(p->arena, const char *, cap * 2);
            memcpy(more, names, cap * sizeof(*names));
            names = more;
            cap *= 2;
        }
        names[count++] = text_of(p, next(p));
    }
    operand->names = names;
    *ret = operand;
    return PRG_OK;
}

// The token at hand begins an operand.
static int parse_command(struct parser *p, struct command **ret)
{
    struct command *command = prg_arena_new(p->arena, struct command);
    struct operand **last = &command->operands;
    size_t count = 0;
    command->offset = peek_non_space(p)->offset;
    for (;;) {
        struct operand *operand = NULL;
        int rc = parse_operand(p, &operand);
        if (rc != PRG_OK)
            return rc;
        if (operand) {
            if (++count > TEMPLATE_MAX_ARGUMENTS)
                return template_fail(p->run, operand->offset, "a function gets at most %d arguments",
                                     TEMPLATE_MAX_ARGUMENTS - 1);
            *last = operand;
            last = &operand->next;
        }
        const struct token *token = peek(p);
        if (token->type == TOKEN_SPACE) {
            p->at++;
            continue;
        }
        if (token->type == TOKEN_PIPE)
            p->at++;
        else if (token->type != TOKEN_RIGHT && token->type != TOKEN_RIGHT_PAREN)
            return unexpected(p, token, "a command");
        break;
    }
    *ret = command;
    return PRG_OK;
}

// "$x := ", "$x = ", and in a range "$k, $v := ".
static int parse_variables(struct parser *p, const char *context, bool is_range, struct pipe *pipe)
{
    while (peek_non_space(p)->type == TOKEN_VARIABLE) {
        size_t back = p->at;
        const struct token *variable = next(p), *token = peek_non_space(p);
        bool is_last = token->type == TOKEN_ASSIGN || token->type == TOKEN_DECLARE;
        if (!is_last && !is_word(token, TOKEN_CHAR, ",")) {
            p->at = back;
            return PRG_OK;
        }
        if (is_last)
            pipe->is_assign = token->type == TOKEN_ASSIGN;
        p->at++;
        int rc = declare(p, pipe, variable);
        if (rc != PRG_OK || is_last)
            return rc;
        if (!is_range || pipe->variable_count == 2)
            return template_fail(p->run, variable->offset, "%s declares too many variables", context);
        if (peek_non_space(p)->type != TOKEN_VARIABLE)
            return template_fail(p->run, variable->offset, "only variables can stand before the := of a range");
    }
    return PRG_OK;
}

// Only the first command of a pipeline may be a plain value.
static int check_pipe(struct parser *p, const struct pipe *pipe, const char *context)
{
    if (!pipe->commands)
        return template_fail(p->run, pipe->offset, "a value is missing in %s", context);
    for (const struct command *c = pipe->commands->next; c; c = c->next) {
        switch (c->operands->type) {
        case OPERAND_BOOL:
        case OPERAND_DOT:
        case OPERAND_NIL:
        case OPERAND_INT:
        case OPERAND_STRING:
            return template_fail(p->run, c->offset, "a | must lead to a function");
        default:
            break;
        }
    }
    return PRG_OK;
}

static int parse_pipe(struct parser *p, const char *context, bool is_range, enum token_type end, struct pipe **ret)
{
    struct pipe *pipe = prg_arena_new(p->arena, struct pipe);
    struct command **last = &pipe->commands;
    pipe->offset = peek_non_space(p)->offset;
    int rc = template_enter(p->run, pipe->offset);
    if (rc == PRG_OK)
        rc = parse_variables(p, context, is_range, pipe);
    while (rc == PRG_OK) {
        const struct token *token = peek_non_space(p);
        struct command *command = NULL;
        if (token->type == end) {
            p->at++;
            rc = check_pipe(p, pipe, context);
            break;
        }
        switch (token->type) {
        case TOKEN_BOOL:
        case TOKEN_CHAR_CONSTANT:
        case TOKEN_DOT:
        case TOKEN_FIELD:
        case TOKEN_IDENTIFIER:
        case TOKEN_NUMBER:
        case TOKEN_NIL:
        case TOKEN_RAW_STRING:
        case TOKEN_STRING:
        case TOKEN_VARIABLE:
        case TOKEN_LEFT_PAREN:
            rc = parse_command(p, &command);
            if (rc == PRG_OK && command) {
                *last = command;
                last = &command->next;
            }
            break;
        default:
            rc = unexpected(p, token, context);
        }
    }
    template_leave(p->run);
    *ret = pipe;
    return rc;
}

// ---- blocks ----

enum list_end { END_OF_TEXT, END_OF_BLOCK, END_BY_ELSE };

static int parse_list(struct parser *p, struct node **ret, enum list_end *ret_end, size_t *ret_offset);

static int end_of_action(struct parser *p, const char *context)
{
    const struct token *token = peek_non_space(p);
    if (token->type != TOKEN_RIGHT)
        return unexpected(p, token, context);
    p->at++;
    return PRG_OK;
}

static int parse_control(struct parser *p, enum node_type type, const char *context, struct node *node);

// "{{else if …}}" and "{{else with …}}" are a block of their own in the else branch; they share its {{end}}.
static int parse_else(struct parser *p, enum node_type type, struct node *node)
{
    const struct token *token = peek_non_space(p);
    enum list_end end;
    size_t offset;
    if ((type == NODE_IF && is_keyword(token, "if")) || (type == NODE_WITH && is_keyword(token, "with"))) {
        p->at++;
        node->otherwise = prg_arena_new(p->arena, struct node);
        node->otherwise->offset = token->offset;
        return parse_control(p, type, type == NODE_IF ? "if" : "with", node->otherwise);
    }
    int rc = end_of_action(p, "else");
    if (rc == PRG_OK)
        rc = parse_list(p, &node->otherwise, &end, &offset);
    if (rc == PRG_OK && end == END_OF_TEXT)
        return template_fail(p->run, node->offset, "the block is not closed by {{end}}");
    if (rc == PRG_OK && end == END_BY_ELSE)
        return template_fail(p->run, offset, "a second {{else}}; {{end}} is expected");
    return rc;
}

static int parse_control(struct parser *p, enum node_type type, const char *context, struct node *node)
{
    size_t scope = p->variable_count, offset;
    enum list_end end = END_OF_TEXT;
    node->type = type;
    int rc = parse_pipe(p, context, type == NODE_RANGE, TOKEN_RIGHT, &node->pipe);
    p->range_depth += type == NODE_RANGE ? 1 : 0;
    if (rc == PRG_OK)
        rc = template_enter(p->run, node->offset);
    else
        return rc;
    if (rc == PRG_OK)
        rc = parse_list(p, &node->body, &end, &offset);
    p->range_depth -= type == NODE_RANGE ? 1 : 0;
    if (rc == PRG_OK && end == END_OF_TEXT)
        rc = template_fail(p->run, node->offset, "the block is not closed by {{end}}");
    if (rc == PRG_OK && end == END_BY_ELSE)
        rc = parse_else(p, type, node);
    template_leave(p->run);
    p->variable_count = scope;
    return rc;
}

static int parse_jump(struct parser *p, enum node_type type, const struct token *token, struct node *node)
{
    node->type = type;
    if (p->range_depth == 0)
        return template_fail(p->run, token->offset, "'%.*s' outside a range", (int)token->length, token->text);
    return end_of_action(p, "break or continue");
}

static int parse_action(struct parser *p, struct node *node)
{
    const struct token *token = peek_non_space(p);
    if (token->type != TOKEN_KEYWORD) {
        node->type = NODE_ACTION;
        return parse_pipe(p, "a placeholder", false, TOKEN_RIGHT, &node->pipe);
    }
    p->at++;
    if (is_keyword(token, "if"))
        return parse_control(p, NODE_IF, "if", node);
    if (is_keyword(token, "range"))
        return parse_control(p, NODE_RANGE, "range", node);
    if (is_keyword(token, "with"))
        return parse_control(p, NODE_WITH, "with", node);
    if (is_keyword(token, "break"))
        return parse_jump(p, NODE_BREAK, token, node);
    if (is_keyword(token, "continue"))
        return parse_jump(p, NODE_CONTINUE, token, node);
    return template_fail(p->run, token->offset, "'%.*s' is not supported in placeholders", (int)token->length,
                         token->text);
}

// Nodes up to the end of the text or the {{end}} or {{else}} of the block, which is read too ({{else}} up to its
// word).
static int parse_list(struct parser *p, struct node **ret, enum list_end *ret_end, size_t *ret_offset)
{
    struct node **last = ret;
    for (;;) {
        const struct token *token = peek_non_space(p);
        if (token->type == TOKEN_EOF) {
            *ret_end = END_OF_TEXT;
            return PRG_OK;
        }
        if (token->type == TOKEN_COMMENT) {
            p->at++;
            continue;
        }
        if (token->type != TOKEN_TEXT && token->type != TOKEN_LEFT)
            return unexpected(p, token, "the text");
        p->at++;
        struct node *node = prg_arena_new(p->arena, struct node);
        node->offset = token->offset;
        if (token->type == TOKEN_TEXT) {
            node->type = NODE_TEXT;
            node->text = token->text;
            node->length = token->length;
        } else {
            const struct token *word = peek_non_space(p);
            *ret_offset = word->offset;
            if (is_keyword(word, "end")) {
                p->at++;
                *ret_end = END_OF_BLOCK;
                return end_of_action(p, "end");
            }
            if (is_keyword(word, "else")) {
                p->at++;
                *ret_end = END_BY_ELSE;
                return PRG_OK;
            }
            int rc = parse_action(p, node);
            if (rc != PRG_OK)
                return rc;
        }
        *last = node;
        last = &node->next;
    }
}

int template_parse(struct template_run *run, struct node **ret)
{
    struct tokens tokens;
    struct parser p = {.run = run, .arena = run->arena, .variables = {"$"}, .variable_count = 1};
    enum list_end end = END_OF_TEXT;
    size_t offset = 0;
    if (run->length > TEMPLATE_MAX_SOURCE) {
        return prg_fail(run->err, PRG_LIMIT, "a container with placeholders may have %u bytes, this one has %zu",
                        TEMPLATE_MAX_SOURCE, run->length);
    }
    template_lex(run->arena, run->source, run->length, &tokens);
    p.tokens = tokens.items;
    *ret = NULL;
    int rc = parse_list(&p, ret, &end, &offset);
    if (rc == PRG_OK && end != END_OF_TEXT)
        return template_fail(run, offset, end == END_OF_BLOCK ? "{{end}} without a block" : "{{else}} without a block");
    return rc;
}
