// SPDX-License-Identifier: Apache-2.0
// template.h: the part of Go's template language that placeholders are written in. Private to template_*.c and
// placeholders.c.
//
//   source ─ template_lex ─→ tokens ─ template_parse ─→ nodes ─ template_exec ─→ text
//
// Rules: text/template (parse/lex.go, parse/parse.go, exec.go, funcs.go) as html/template runs it in plain text. Taken
// over: fields, variables, pipes, parentheses, if, else, range, with, break, continue, comments, trim marks, and the
// functions and, or, not, eq, ne, lt, le, gt, ge, index, len, print, printf, println. Everything else is refused by
// name. Source, output, nesting and steps are bounded.
#pragma once
#include "json/value.h"

#define TEMPLATE_MAX_SOURCE (4u << 20)
#define TEMPLATE_MAX_OUTPUT (8u << 20)
#define TEMPLATE_MAX_DEPTH 64     // of blocks and parentheses
#define TEMPLATE_MAX_STEPS 200000 // actions, commands and iterations of one run

// ---- what a run and its parts share ----
struct template_run {
    struct prg_arena *arena;
    const char *source;
    size_t length;
    struct prg_error *err;
    size_t bad_offset; // in source, of the first error
    unsigned depth, steps;
    size_t made; // bytes of all texts that functions made
};
// Records the offset and fails with PRG_INVALID. Returns the code.
int template_fail(struct template_run *run, size_t offset, const char *format, ...) PRG_PRINTF(3, 4);
// Counts a step; fails with PRG_LIMIT when there were too many.
int template_step(struct template_run *run, size_t offset) PRG_MUST_USE;
// Fails with PRG_LIMIT when `length` bytes are more than may be made: printed, or all together by functions.
int template_check_length(struct template_run *run, size_t offset, size_t length) PRG_MUST_USE;
int template_enter(struct template_run *run, size_t offset) PRG_MUST_USE; // one level deeper
void template_leave(struct template_run *run);

// ---- tokens ----
enum token_type {
    TOKEN_EOF,
    TOKEN_ERROR, // .text says what is wrong; always the last one
    TOKEN_TEXT,
    TOKEN_LEFT,
    TOKEN_RIGHT,
    TOKEN_COMMENT, // with its braces
    TOKEN_SPACE,
    TOKEN_CHAR, // a character that means nothing by itself; ',' is one
    TOKEN_ASSIGN,
    TOKEN_DECLARE,
    TOKEN_PIPE,
    TOKEN_LEFT_PAREN,
    TOKEN_RIGHT_PAREN,
    TOKEN_DOT,
    TOKEN_FIELD,    // text without the dot
    TOKEN_VARIABLE, // text with the dollar sign
    TOKEN_IDENTIFIER,
    TOKEN_BOOL,
    TOKEN_NIL,
    TOKEN_NUMBER,
    TOKEN_CHAR_CONSTANT,
    TOKEN_STRING, // with its quotes
    TOKEN_RAW_STRING,
    TOKEN_KEYWORD, // block break continue define else end if range template with
};
struct token {
    enum token_type type;
    size_t offset; // in the source; of TEXT after trimming
    const char *text;
    size_t length;
};
struct tokens {
    struct token *items; // ends with EOF or ERROR
    size_t count;
};
// Never fails: what is wrong becomes the last token.
void template_lex(struct prg_arena *arena, const char *source, size_t length, struct tokens *ret);

// ---- nodes ----
struct pipe;
enum operand_type {
    OPERAND_DOT,
    OPERAND_NIL,
    OPERAND_BOOL,
    OPERAND_INT,
    OPERAND_STRING,
    OPERAND_FIELD,    // .names of dot
    OPERAND_VARIABLE, // text, and .names of it
    OPERAND_FUNCTION, // text
    OPERAND_PIPE,     // in parentheses, and .names of its value
};
struct operand {
    struct operand *next;
    enum operand_type type;
    size_t offset;
    const char *text;
    size_t length;
    int64_t number;
    const char **names; // ended by NULL, or NULL
    struct pipe *pipe;
};
struct command {
    struct command *next;
    struct operand *operands; // at least one
    size_t offset;
};
struct pipe {
    struct command *commands;
    const char *variables[2]; // declared or assigned to, in the order of the source
    unsigned variable_count;
    bool is_assign;
    size_t offset;
};
enum node_type { NODE_TEXT, NODE_ACTION, NODE_IF, NODE_RANGE, NODE_WITH, NODE_BREAK, NODE_CONTINUE };
struct node {
    struct node *next;
    enum node_type type;
    size_t offset;
    const char *text;
    size_t length;
    struct pipe *pipe;
    struct node *body, *otherwise;
};
int template_parse(struct template_run *run, struct node **ret) PRG_MUST_USE;

// ---- values ----
enum value_type {
    VALUE_NOTHING, // no value at all: an absent key of a map, nil
    VALUE_STRING,
    VALUE_INT,
    VALUE_BOOL,
    VALUE_NIL,     // a pointer to nothing
    VALUE_TIME,    // text: as Go prints it
    VALUE_MAP,     // node: an object of texts, or NULL when empty
    VALUE_STRINGS, // node: an array of texts, or NULL
    VALUE_OWNERS,  // node: an array of owner references, or NULL
    VALUE_META,    // node: ObjectMeta
    VALUE_OWNER,   // node: an owner reference
};
struct value {
    enum value_type type;
    bool is_pointer; // of INT and BOOL
    const char *text;
    size_t length;
    int64_t number; // of INT; of BOOL 0 or 1
    const cJSON *node;
    const char *go_type; // "string", "int64", "types.UID" …
};
struct value value_string(const char *text, size_t length);
struct value value_int(int64_t number, const char *go_type);
struct value value_bool(bool truth);
bool value_truth(const struct value *value);
// Members of an object (NULL: none) in byte order of their keys, in the arena.
const cJSON **template_sorted_members(struct prg_arena *arena, const cJSON *object, size_t *ret_count);
// template_print.c. fmt.Sprint and friends; PRG_INVALID for what has no fixed text (addresses).
int value_print(struct template_run *run, size_t offset, const struct value *value,
                struct prg_strbuf *out) PRG_MUST_USE;
int value_sprint(struct template_run *run, size_t offset, const struct value *values, size_t count, bool is_line,
                 struct value *ret) PRG_MUST_USE;
int value_sprintf(struct template_run *run, size_t offset, const struct value *values, size_t count,
                  struct value *ret) PRG_MUST_USE;

// ---- functions ----
#define TEMPLATE_MAX_ARGUMENTS 32
bool template_has_function(const char *name);
bool template_is_refused_function(const char *name); // exists in the original, not here
// and, or: evaluated by the caller, which must not look at what comes after the deciding argument.
int template_call(struct template_run *run, size_t offset, const char *name, const struct value *arguments,
                  size_t count, struct value *ret) PRG_MUST_USE;

// ---- running ----
// Called for each printed value; the text belongs to the caller for the time of the call.
typedef void (*template_emit_fn)(struct prg_strbuf *out, const char *text, size_t length);
int template_execute(struct template_run *run, const struct node *nodes, const cJSON *metadata, template_emit_fn emit,
                     struct prg_strbuf *out) PRG_MUST_USE;
