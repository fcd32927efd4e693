// SPDX-License-Identifier: Apache-2.0
// source.c: compiling a Lua file, with the column of a syntax error.
//
// Lua's messages have a line but no column. The reader below hands the text over byte by byte, so at the error it is
// known how far the lexer has read: one byte beyond the token it complains about.
#include "policy/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sandbox.h"
#include "policy/text.h"

// ---- places ----

static struct prg_source_place place_at(const struct prg_source *source, size_t offset)
{
    struct prg_source_place place = {1, 1};
    for (size_t i = 0; i < offset && i < source->length; i++) {
        unsigned char c = (unsigned char)source->text[i];
        if (c == '\n') {
            place.line++;
            place.column = 1;
        } else if ((c & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_word_at(const struct prg_source *source, size_t at, const char *word, size_t length)
{
    const char *text = source->text;
    if (at + length > source->length || memcmp(text + at, word, length) != 0)
        return false;
    if (is_word_byte(word[0]) && at > 0 && is_word_byte(text[at - 1]))
        return false;
    return !is_word_byte(word[length - 1]) || at + length == source->length || !is_word_byte(text[at + length]);
}

struct prg_source_place prg_source_find(const struct prg_source *source, const char *word, char next)
{
    size_t length = strlen(word);
    const char *found = source->text, *end = source->text + source->length;
    while (length && (found = memmem(found, (size_t)(end - found), word, length))) {
        size_t at = (size_t)(found++ - source->text);
        if (!is_word_at(source, at, word, length))
            continue;
        size_t after = at + length;
        while (after < source->length && (source->text[after] == ' ' || source->text[after] == '\t'))
            after++;
        if (!next || (after < source->length && source->text[after] == next))
            return place_at(source, at);
    }
    return (struct prg_source_place){0, 0};
}

static size_t line_start(const struct prg_source *source, unsigned line)
{
    size_t at = 0;
    for (unsigned n = 1; n < line && at < source->length; at++)
        if (source->text[at] == '\n')
            n++;
    return at;
}

unsigned prg_source_column(const struct prg_source *source, unsigned line, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = line_start(source, line); length && at < source->length && source->text[at] != '\n'; at++)
        if (is_word_at(source, at, word, length))
            return place_at(source, at).column;
    return 1;
}

// ---- syntax errors ----

struct reader {
    const struct prg_source *source;
    size_t given;
    bool at_end;
};

static const char *read_byte(lua_State *L, void *data, size_t *ret_size)
{
    struct reader *reader = data;
    (void)L;
    *ret_size = 0;
    if (reader->given == reader->source->length) {
        reader->at_end = true;
        return NULL;
    }
    *ret_size = 1;
    return reader->source->text + reader->given++;
}

// Where token is, read backwards from `end`.
static size_t find_back(const struct prg_source *source, size_t end, const char *token, size_t length)
{
    if (length <= end)
        for (size_t at = end - length;; at--) {
            if (memcmp(source->text + at, token, length) == 0)
                return at;
            if (at == 0)
                break;
        }
    return end;
}

// The column for a message without a token ("attempt to assign to const variable 'x'"): that of the name it quotes,
// else of the first word of the line.
static unsigned column_of_quoted(const struct prg_source *source, unsigned line, const char *message)
{
    const char *open = strchr(message, '\''), *close = open ? strchr(open + 1, '\'') : NULL;
    char word[128];
    if (close && close > open + 1 && (size_t)(close - open) < sizeof(word)) {
        memcpy(word, open + 1, (size_t)(close - open - 1));
        word[close - open - 1] = '\0';
        unsigned column = prg_source_column(source, line, word);
        if (column > 1)
            return column;
    }
    unsigned column = 1;
    for (size_t at = line_start(source, line); at < source->length && isblank((unsigned char)source->text[at]); at++)
        column++;
    return column;
}

// A goto without its label is only noticed at the end of the block; the message ends with where it stands.
static unsigned line_of_goto(const char *message, unsigned line)
{
    const char *found = strstr(message, " for <goto> at line ");
    return found ? (unsigned)strtoul(found + strlen(" for <goto> at line "), NULL, 10) : line;
}

// message: Lua's, without its "FILE:LINE: ".
static struct prg_source_place place_of_error(const struct prg_source *source, const struct reader *reader,
                                              unsigned line, const char *message)
{
    static const char near[] = " near '";
    const char *token = NULL;
    size_t length = strlen(message), end = reader->at_end ? source->length : reader->given - 1;
    for (const char *p = strstr(message, near); p; p = strstr(p + 1, near))
        token = p + sizeof(near) - 1;
    if (token && length && message[length - 1] == '\'') {
        size_t token_length = (size_t)(message + length - 1 - token);
        char byte;
        if (token[0] == '<' && token[1] == '\\' &&
            token[token_length - 1] == '>') { // '<\195>': a byte that has no face
            byte = (char)strtoul(token + 2, NULL, 10);
            token = &byte;
            token_length = 1;
        }
        size_t at = find_back(source, end, token, token_length);
        struct prg_source_place place = place_at(source, at);
        if (place.line == line)
            return place;
        return (struct prg_source_place){line, column_of_quoted(source, line, message)};
    }
    if (length >= 10 && strcmp(message + length - 10, "near <eof>") == 0)
        return place_at(source, source->length);
    line = line_of_goto(message, line);
    return (struct prg_source_place){line, column_of_quoted(source, line, message)};
}

struct compiling {
    const struct prg_source *source;
    const char *chunk_name;
    bool failed;
    struct prg_source_place place;
    char message[512];
};

// Splits "FILE:LINE: what", of which FILE has been cut by Lua.
static const char *split_message(const char *message, unsigned *ret_line)
{
    for (const char *p = message; (p = strchr(p, ':')); p++) {
        char *end;
        unsigned long line = strtoul(p + 1, &end, 10);
        if (end > p + 1 && end[0] == ':' && end[1] == ' ') {
            *ret_line = (unsigned)line;
            return end + 2;
        }
    }
    *ret_line = 0;
    return message;
}

static void keep_syntax_error(lua_State *L, struct compiling *c)
{
    struct reader reader = {.source = c->source};
    unsigned line;
    lua_pop(L, 1);
    if (lua_load(L, read_byte, &reader, c->chunk_name, "t") == LUA_OK)
        prg_vm_raise(L, 0, "the file changed while it was read");
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    char shown[512];
    prg_text_show(shown, sizeof(shown), text ? text : "?", text ? length : 1);
    const char *message = split_message(shown, &line);
    c->failed = true;
    snprintf(c->message, sizeof(c->message), "%s", message);
    if (line)
        c->place = place_of_error(c->source, &reader, line, message);
}

static int compile_protected(lua_State *L)
{
    struct compiling *c = lua_touserdata(L, 1);
    struct prg_vm *vm = prg_vm_of(L);
    if (luaL_loadbufferx(L, c->source->text, c->source->length, c->chunk_name, "t") == LUA_OK)
        vm->ref.chunk = luaL_ref(L, LUA_REGISTRYINDEX);
    else
        keep_syntax_error(L, c);
    return 0;
}

int prg_source_compile(struct prg_vm *vm, const struct prg_source *source, const char *chunk_name,
                       struct prg_error *err)
{
    struct compiling c = {.source = source, .chunk_name = chunk_name};
    if (source->length > PRG_SOURCE_BYTES)
        return prg_fail(err, PRG_INVALID, "%s: the file is larger than %zu bytes", source->path, PRG_SOURCE_BYTES);
    size_t good = prg_utf8_prefix(source->text, source->length);
    if (good != source->length) {
        struct prg_source_place place = place_at(source, good);
        return prg_fail(err, PRG_INVALID, "%s:%u:%u: the file is not a UTF-8 text", source->path, place.line,
                        place.column);
    }
    if (source->length >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
        return prg_fail(err, PRG_INVALID,
                        "%s:1:1: the file begins with a byte order mark; save it as UTF-8 without one", source->path);
    const char *nul = memchr(source->text, '\0', source->length);
    if (nul) {
        struct prg_source_place place = place_at(source, (size_t)(nul - source->text));
        return prg_fail(err, PRG_INVALID, "%s:%u:%u: the file holds a NUL byte", source->path, place.line,
                        place.column);
    }
    vm->source = chunk_name;
    if (prg_vm_call(vm, compile_protected, &c, err) != PRG_OK) {
        prg_wrap(err, "%s", source->path);
        return err ? err->code : PRG_POLICY;
    }
    if (!c.failed)
        return PRG_OK;
    if (c.place.line)
        return prg_fail(err, PRG_INVALID, "%s:%u:%u: %s", source->path, c.place.line, c.place.column, c.message);
    return prg_fail(err, PRG_INVALID, "%s: %s", source->path, c.message);
}

// ---- running ----

void prg_source_run(lua_State *L)
{
    struct prg_vm *vm = prg_vm_of(L);
    luaL_checkstack(L, 8, "file");
    prg_sandbox_push_environment(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, vm->ref.chunk);
    lua_pushvalue(L, -2);
    if (!lua_setupvalue(L, -2, 1))
        lua_pop(L, 1); // the file names no global at all
    vm->at_top_level = true;
    lua_call(L, 0, 1);
    vm->at_top_level = false;
}
