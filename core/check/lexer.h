// SPDX-License-Identifier: Apache-2.0
// lexer.h: words of a Lua text. Private to core/check.
#pragma once
#include "base/base.h"

enum prg_lua_token_kind {
    PRG_TOKEN_END,
    PRG_TOKEN_NAME, // also keywords
    PRG_TOKEN_STRING,
    PRG_TOKEN_NUMBER,
    PRG_TOKEN_SYMBOL,
    PRG_TOKEN_BAD,
};

struct prg_lua_token {
    enum prg_lua_token_kind kind;
    const char *text; // strings: between the quotes
    size_t length;
    unsigned line, column, width; // width: characters, quotes and all
    bool is_plain;                // a string without escapes
    const char *doc;              // "---" comments on the lines right above, or NULL
    size_t doc_length;
};

struct prg_lua_lexer {
    const char *text, *end, *at;
    const char *line_start;
    unsigned line;
    // The block of "---" comments read last.
    const char *doc, *doc_end;
    unsigned doc_line; // its last line
    // Called for each "---@diagnostic …" line; may be NULL.
    void (*directive)(unsigned line, const char *text, size_t length, void *ctx);
    void *ctx;
};

void prg_lua_lexer_init(struct prg_lua_lexer *lexer, const char *text, size_t length);
struct prg_lua_token prg_lua_next(struct prg_lua_lexer *lexer);
