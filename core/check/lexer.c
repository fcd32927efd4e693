// SPDX-License-Identifier: Apache-2.0
// lexer.c: words of a Lua text (Lua 5.4 manual, section 3.1).
#include "check/lexer.h"

#include <ctype.h>
#include <string.h>

void prg_lua_lexer_init(struct prg_lua_lexer *lexer, const char *text, size_t length)
{
    *lexer = (struct prg_lua_lexer){.text = text, .end = text + length, .at = text, .line_start = text, .line = 1};
    if (length && text[0] == '#') // Lua passes over a first line that begins so
        while (lexer->at < lexer->end && *lexer->at != '\n')
            lexer->at++;
}

static char peek(const struct prg_lua_lexer *lexer, size_t ahead)
{
    return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

static void newline(struct prg_lua_lexer *lexer)
{
    lexer->at++;
    lexer->line++;
    lexer->line_start = lexer->at;
}

static unsigned characters(const char *from, const char *to)
{
    unsigned count = 0;
    for (; from < to; from++)
        count += ((unsigned char)*from & 0xc0) != 0x80;
    return count;
}

// Number of '=' of a long bracket that opens here, or -1.
static int long_bracket(const struct prg_lua_lexer *lexer, size_t ahead)
{
    int level = 0;
    if (peek(lexer, ahead) != '[')
        return -1;
    while (peek(lexer, ahead + 1 + (size_t)level) == '=')
        level++;
    return peek(lexer, ahead + 1 + (size_t)level) == '[' ? level : -1;
}

// Reads a long bracket; the lexer stands at its first '['. Gives the text inside; false: it does not end.
static bool read_long(struct prg_lua_lexer *lexer, int level, const char **ret_text, size_t *ret_length)
{
    lexer->at += level + 2;
    const char *start = lexer->at;
    while (lexer->at < lexer->end) {
        if (*lexer->at == '\n') {
            newline(lexer);
            continue;
        }
        if (*lexer->at == ']') {
            int count = 0;
            while (peek(lexer, 1 + (size_t)count) == '=')
                count++;
            if (count == level && peek(lexer, 1 + (size_t)count) == ']') {
                *ret_text = start;
                *ret_length = (size_t)(lexer->at - start);
                lexer->at += level + 2;
                return true;
            }
        }
        lexer->at++;
    }
    return false;
}

// A comment of one line that begins with "---" joins the block above it, or begins a new one.
static void note_doc(struct prg_lua_lexer *lexer, const char *start)
{
    static const char directive[] = "---@diagnostic";
    size_t length = (size_t)(lexer->at - start);
    if (!lexer->doc || lexer->doc_line + 1 != lexer->line)
        lexer->doc = start;
    lexer->doc_end = lexer->at;
    lexer->doc_line = lexer->line;
    if (lexer->directive && length > sizeof(directive) && memcmp(start, directive, sizeof(directive) - 1) == 0)
        lexer->directive(lexer->line, start + sizeof(directive) - 1, length - sizeof(directive) + 1, lexer->ctx);
}

static bool skip_comment(struct prg_lua_lexer *lexer)
{
    const char *start = lexer->at, *text;
    size_t length;
    int level = long_bracket(lexer, 2);
    if (level >= 0) {
        lexer->at += 2;
        return read_long(lexer, level, &text, &length);
    }
    while (lexer->at < lexer->end && *lexer->at != '\n')
        lexer->at++;
    if (lexer->at - start >= 3 && start[2] == '-')
        note_doc(lexer, start);
    return true;
}

static bool skip_blanks(struct prg_lua_lexer *lexer)
{
    while (lexer->at < lexer->end) {
        if (*lexer->at == '\n')
            newline(lexer);
        else if (isspace((unsigned char)*lexer->at))
            lexer->at++;
        else if (*lexer->at == '-' && peek(lexer, 1) == '-') {
            if (!skip_comment(lexer))
                return false;
        } else
            break;
    }
    return true;
}

static bool read_quoted(struct prg_lua_lexer *lexer, struct prg_lua_token *token)
{
    char quote = *lexer->at++;
    token->text = lexer->at;
    token->is_plain = true;
    while (lexer->at < lexer->end && *lexer->at != quote) {
        if (*lexer->at == '\\') {
            token->is_plain = false;
            lexer->at++;
            if (peek(lexer, 0) == 'z') { // the blanks that follow do not count, line ends among them
                lexer->at++;
                while (lexer->at < lexer->end && isspace((unsigned char)*lexer->at)) {
                    if (*lexer->at == '\n')
                        newline(lexer);
                    else
                        lexer->at++;
                }
                continue;
            }
        }
        if (lexer->at < lexer->end && *lexer->at == '\n')
            newline(lexer);
        else if (lexer->at < lexer->end)
            lexer->at++;
    }
    if (lexer->at >= lexer->end)
        return false;
    token->length = (size_t)(lexer->at - token->text);
    lexer->at++;
    return true;
}

static void read_number(struct prg_lua_lexer *lexer)
{
    bool is_hex = *lexer->at == '0' && (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X');
    for (; lexer->at < lexer->end; lexer->at++) {
        char c = (char)tolower((unsigned char)*lexer->at), sign = peek(lexer, 1);
        if (c == (is_hex ? 'p' : 'e') && (sign == '+' || sign == '-'))
            lexer->at++;
        else if (!isalnum((unsigned char)c) && c != '.')
            break;
    }
}

static size_t symbol_length(const struct prg_lua_lexer *lexer)
{
    static const char *const symbols[] = {"...", "<<", ">>", "//", "==", "~=", "<=", ">=", "::", ".."};
    for (size_t i = 0; i < PRG_COUNT(symbols); i++) {
        size_t length = strlen(symbols[i]);
        if ((size_t)(lexer->end - lexer->at) >= length && memcmp(lexer->at, symbols[i], length) == 0)
            return length;
    }
    return strchr("+-*/%^#&~|<>=(){}[];:,.", *lexer->at) ? 1 : 0;
}

static void read_token(struct prg_lua_lexer *lexer, struct prg_lua_token *token)
{
    int level = long_bracket(lexer, 0);
    char c = *lexer->at;
    if (isalpha((unsigned char)c) || c == '_') {
        token->kind = PRG_TOKEN_NAME;
        while (isalnum((unsigned char)peek(lexer, 0)) || peek(lexer, 0) == '_')
            lexer->at++;
    } else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(lexer, 1)))) {
        token->kind = PRG_TOKEN_NUMBER;
        read_number(lexer);
    } else if (c == '"' || c == '\'') {
        token->kind = read_quoted(lexer, token) ? PRG_TOKEN_STRING : PRG_TOKEN_BAD;
    } else if (level >= 0) {
        token->is_plain = true;
        token->kind = read_long(lexer, level, &token->text, &token->length) ? PRG_TOKEN_STRING : PRG_TOKEN_BAD;
    } else {
        size_t length = symbol_length(lexer);
        token->kind = length ? PRG_TOKEN_SYMBOL : PRG_TOKEN_BAD;
        lexer->at += length ? length : 1;
    }
}

struct prg_lua_token prg_lua_next(struct prg_lua_lexer *lexer)
{
    struct prg_lua_token token = {.kind = PRG_TOKEN_BAD};
    bool good = skip_blanks(lexer);
    const char *start = lexer->at, *line_start = lexer->line_start;
    token.line = lexer->line;
    token.column = characters(line_start, start) + 1;
    token.text = start;
    if (lexer->doc && lexer->doc_line + 1 == lexer->line) {
        token.doc = lexer->doc;
        token.doc_length = (size_t)(lexer->doc_end - lexer->doc);
    }
    if (!good)
        return token;
    if (lexer->at == lexer->end) {
        token.kind = PRG_TOKEN_END;
        return token;
    }
    read_token(lexer, &token);
    if (token.kind != PRG_TOKEN_STRING) {
        token.text = start; // also of a string that does not end
        token.length = (size_t)(lexer->at - start);
    }
    token.width = lexer->line == token.line ? characters(start, lexer->at) : 1;
    return token;
}
