// SPDX-License-Identifier: Apache-2.0
// syntax.c: reads Lua 5.4 (manual, section 9) into a tree, each name bound to the local that it means.
#include "check/syntax.h"

#include <string.h>

#include "check/lexer.h"

enum {
    DEPTH = 400, // Lua's own compiler stops at 200
    CHAIN =
        20000, // operators and suffixes of a statement of the file: "a + b + c" is read in a loop, but is a deep tree
};

struct parser {
    struct prg_arena *arena;
    struct prg_lua_lexer lexer;
    struct prg_lua_token token, ahead; // under work; the one after it
    bool has_ahead, failed, is_too_deep;
    unsigned depth, chain;
    struct prg_lua_tree *tree;
    struct prg_lua_local *scope; // innermost local
};

// ---- tokens ----

static void advance(struct parser *p)
{
    if (p->has_ahead)
        p->token = p->ahead;
    else
        p->token = prg_lua_next(&p->lexer);
    p->has_ahead = false;
    if (p->token.kind == PRG_TOKEN_BAD)
        p->failed = true;
}

static const struct prg_lua_token *look_ahead(struct parser *p)
{
    if (!p->has_ahead)
        p->ahead = prg_lua_next(&p->lexer);
    p->has_ahead = true;
    return &p->ahead;
}

static bool is_text(const struct prg_lua_token *token, const char *text)
{
    return (token->kind == PRG_TOKEN_NAME || token->kind == PRG_TOKEN_SYMBOL) && token->length == strlen(text) &&
           memcmp(token->text, text, token->length) == 0;
}

static bool is(const struct parser *p, const char *text)
{
    return is_text(&p->token, text);
}

static bool take(struct parser *p, const char *text)
{
    if (!is(p, text))
        return false;
    advance(p);
    return true;
}

static void expect(struct parser *p, const char *text)
{
    if (!take(p, text))
        p->failed = true;
}

static bool is_name(const struct parser *p)
{
    static const char *const keywords[] = {"and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
                                           "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
                                           "repeat",   "return", "then", "true", "until",  "while"};
    if (p->token.kind != PRG_TOKEN_NAME)
        return false;
    for (size_t i = 0; i < PRG_COUNT(keywords); i++)
        if (is(p, keywords[i]))
            return false;
    return true;
}

// ---- nodes ----

static struct prg_lua_node *new_node(struct parser *p, enum prg_lua_kind kind)
{
    struct prg_lua_node *node = prg_arena_new(p->arena, struct prg_lua_node);
    node->kind = kind;
    node->line = p->token.line;
    node->column = p->token.column;
    node->width = p->token.width;
    node->text = p->token.text;
    node->length = p->token.length;
    node->is_plain = p->token.is_plain;
    node->doc = p->token.doc;
    node->doc_length = p->token.doc_length;
    return node;
}

// A node at the place of another one.
static struct prg_lua_node *node_at(struct parser *p, enum prg_lua_kind kind, const struct prg_lua_node *place)
{
    struct prg_lua_node *node = prg_arena_new(p->arena, struct prg_lua_node);
    node->kind = kind;
    node->line = place->line;
    node->column = place->column;
    node->width = place->width;
    node->doc = place->doc;
    node->doc_length = place->doc_length;
    return node;
}

// ---- scopes ----

static struct prg_lua_local *declare_text(struct parser *p, const char *name, size_t length)
{
    struct prg_lua_local *local = prg_arena_new(p->arena, struct prg_lua_local);
    local->name = name;
    local->length = length;
    local->outer = p->scope;
    local->previous = p->tree->locals;
    p->scope = p->tree->locals = local;
    return local;
}

static void declare(struct parser *p, struct prg_lua_node *name)
{
    name->local = declare_text(p, name->text, name->length);
}

static struct prg_lua_local *find(const struct parser *p, const char *name, size_t length)
{
    struct prg_lua_local *local = p->scope;
    while (local && (local->length != length || memcmp(local->name, name, length) != 0))
        local = local->outer;
    return local;
}

static struct prg_lua_node *take_name(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_NAME);
    if (!is_name(p))
        p->failed = true;
    advance(p);
    return node;
}

// ---- expressions ----

static struct prg_lua_node *expression(struct parser *p, int limit);
static struct prg_lua_node *block(struct parser *p);

static struct prg_lua_node *expressions(struct parser *p)
{
    struct prg_lua_node *first = expression(p, 0), *last = first;
    while (!p->failed && take(p, ","))
        last = last->next = expression(p, 0);
    return first;
}

static void parameters(struct parser *p, struct prg_lua_node *function)
{
    struct prg_lua_node **last = &function->list;
    expect(p, "(");
    while (!p->failed && !is(p, ")")) {
        if (take(p, "...")) {
            function->is_vararg = true;
        } else {
            *last = take_name(p);
            declare(p, *last);
            (*last)->local->is_parameter = true;
            last = &(*last)->next;
        }
        if (!take(p, ","))
            break;
    }
    expect(p, ")");
}

// From the parameters on.
static struct prg_lua_node *function_body(struct parser *p, bool is_method)
{
    struct prg_lua_node *function = new_node(p, PRG_LUA_FUNCTION);
    struct prg_lua_local *outside = p->scope;
    function->is_method = is_method;
    if (is_method)
        declare_text(p, "self", 4);
    parameters(p, function);
    function->body = block(p);
    expect(p, "end");
    p->scope = outside;
    return function;
}

static struct prg_lua_node *table(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_TABLE), **last = &node->list;
    expect(p, "{");
    while (!p->failed && !is(p, "}")) {
        struct prg_lua_node *field = new_node(p, PRG_LUA_FIELD);
        if (take(p, "[")) {
            field->left = expression(p, 0);
            expect(p, "]");
            expect(p, "=");
        } else if (is_name(p) && is_text(look_ahead(p), "=")) {
            field->left = new_node(p, PRG_LUA_STRING);
            field->left->is_plain = true;
            advance(p);
            advance(p);
        }
        field->right = expression(p, 0);
        *last = field;
        last = &field->next;
        if (!take(p, ",") && !take(p, ";"))
            break;
    }
    expect(p, "}");
    return node;
}

static bool begins_arguments(const struct parser *p)
{
    return is(p, "(") || is(p, "{") || p->token.kind == PRG_TOKEN_STRING;
}

static struct prg_lua_node *string(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_STRING);
    advance(p);
    return node;
}

static struct prg_lua_node *arguments(struct parser *p)
{
    struct prg_lua_node *list = NULL;
    if (p->token.kind == PRG_TOKEN_STRING)
        return string(p);
    if (is(p, "{"))
        return table(p);
    expect(p, "(");
    if (!is(p, ")"))
        list = expressions(p);
    expect(p, ")");
    return list;
}

static struct prg_lua_node *dot_key(struct parser *p)
{
    struct prg_lua_node *key = new_node(p, PRG_LUA_STRING);
    key->is_plain = true;
    if (!is_name(p))
        p->failed = true;
    advance(p);
    return key;
}

// One more node that the ones before it lie below.
static void link_chain(struct parser *p)
{
    if (++p->chain <= CHAIN)
        return;
    p->failed = p->is_too_deep = true;
}

// One of .name [key] :name(args) (args) after left; NULL: none follows.
static struct prg_lua_node *suffix(struct parser *p, struct prg_lua_node *left)
{
    struct prg_lua_node *node;
    if (take(p, ".")) {
        node = node_at(p, PRG_LUA_INDEX, left);
        node->right = dot_key(p);
    } else if (take(p, "[")) {
        node = node_at(p, PRG_LUA_INDEX, left);
        node->right = expression(p, 0);
        expect(p, "]");
    } else if (take(p, ":")) {
        node = new_node(p, PRG_LUA_METHOD);
        if (!is_name(p))
            p->failed = true;
        advance(p);
        if (!begins_arguments(p))
            p->failed = true;
        else
            node->list = arguments(p);
    } else if (begins_arguments(p)) {
        node = node_at(p, PRG_LUA_CALL, left);
        node->list = arguments(p);
    } else {
        return NULL;
    }
    node->left = left;
    return node;
}

static struct prg_lua_node *primary(struct parser *p)
{
    struct prg_lua_node *node;
    if (is(p, "(")) {
        node = new_node(p, PRG_LUA_PAREN);
        advance(p);
        node->left = expression(p, 0);
        expect(p, ")");
    } else {
        node = take_name(p);
        node->local = find(p, node->text, node->length);
    }
    for (struct prg_lua_node *more = node; more && !p->failed;) {
        more = suffix(p, node);
        node = more ? more : node;
        link_chain(p);
    }
    return node;
}

static struct prg_lua_node *simple(struct parser *p)
{
    static const struct {
        const char *text;
        enum prg_lua_kind kind;
    } words[] = {{"nil", PRG_LUA_NIL}, {"true", PRG_LUA_BOOLEAN}, {"false", PRG_LUA_BOOLEAN}, {"...", PRG_LUA_VARARG}};
    struct prg_lua_node *node = NULL;
    if (p->token.kind == PRG_TOKEN_STRING)
        return string(p);
    if (p->token.kind == PRG_TOKEN_NUMBER)
        node = new_node(p, PRG_LUA_NUMBER);
    for (size_t i = 0; i < PRG_COUNT(words) && !node; i++)
        if (is(p, words[i].text))
            node = new_node(p, words[i].kind);
    if (node) {
        advance(p);
        return node;
    }
    if (is(p, "{"))
        return table(p);
    if (take(p, "function"))
        return function_body(p, false);
    return primary(p);
}

static const struct {
    const char *text;
    int left, right; // binding powers
} operators[] = {{"or", 1, 1},   {"and", 2, 2}, {"<", 3, 3},   {">", 3, 3},   {"<=", 3, 3},  {">=", 3, 3},
                 {"~=", 3, 3},   {"==", 3, 3},  {"|", 4, 4},   {"~", 5, 5},   {"&", 6, 6},   {"<<", 7, 7},
                 {">>", 7, 7},   {"..", 9, 8},  {"+", 10, 10}, {"-", 10, 10}, {"*", 11, 11}, {"/", 11, 11},
                 {"//", 11, 11}, {"%", 11, 11}, {"^", 14, 13}};
enum { UNARY_POWER = 12 };

// An expression whose operators bind tighter than limit.
static struct prg_lua_node *expression(struct parser *p, int limit)
{
    struct prg_lua_node *left;
    if (p->failed || ++p->depth > DEPTH) {
        p->failed = true;
        return new_node(p, PRG_LUA_NIL);
    }
    if (is(p, "not") || is(p, "-") || is(p, "#") || is(p, "~")) {
        left = new_node(p, PRG_LUA_UNARY);
        advance(p);
        left->left = expression(p, UNARY_POWER);
    } else {
        left = simple(p);
    }
    for (size_t i = 0; !p->failed && i < PRG_COUNT(operators); i++) {
        if (!is(p, operators[i].text) || operators[i].left <= limit)
            continue;
        struct prg_lua_node *node = new_node(p, PRG_LUA_BINARY);
        advance(p);
        node->left = left;
        node->right = expression(p, operators[i].right);
        left = node;
        link_chain(p);
        i = (size_t)-1; // look at the operators anew
    }
    p->depth--;
    return left;
}

// ---- statements ----

static struct prg_lua_node *scoped_block(struct parser *p)
{
    struct prg_lua_local *outside = p->scope;
    struct prg_lua_node *body = block(p);
    p->scope = outside;
    return body;
}

static struct prg_lua_node *if_statement(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_IF), **last = &node->list;
    bool has_condition = true;
    do {
        struct prg_lua_node *clause = new_node(p, PRG_LUA_CLAUSE);
        has_condition = !is(p, "else");
        advance(p);
        if (has_condition) {
            clause->left = expression(p, 0);
            expect(p, "then");
        }
        clause->body = scoped_block(p);
        *last = clause;
        last = &clause->next;
    } while (!p->failed && has_condition && (is(p, "elseif") || is(p, "else")));
    expect(p, "end");
    return node;
}

static struct prg_lua_node *for_statement(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_FOR_RANGE), **last = &node->list, *name;
    struct prg_lua_local *outside = p->scope;
    advance(p);
    do {
        *last = take_name(p);
        last = &(*last)->next;
    } while (!p->failed && take(p, ","));
    if (!take(p, "=")) {
        node->kind = PRG_LUA_FOR_IN;
        expect(p, "in");
    }
    node->values = expressions(p);
    for (name = node->list; name; name = name->next)
        declare(p, name);
    expect(p, "do");
    node->body = block(p);
    expect(p, "end");
    p->scope = outside;
    return node;
}

static struct prg_lua_node *local_statement(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_LOCAL), **last = &node->list, *name;
    advance(p);
    if (take(p, "function")) {
        node->kind = PRG_LUA_LOCAL_FUNCTION;
        node->list = take_name(p);
        declare(p, node->list);
        node->right = function_body(p, false);
        node->list->local->function = node->right;
        return node;
    }
    do {
        *last = take_name(p);
        last = &(*last)->next;
        if (take(p, "<")) { // <const>, <close>
            take_name(p);
            expect(p, ">");
        }
    } while (!p->failed && take(p, ","));
    if (take(p, "="))
        node->values = expressions(p);
    for (name = node->list; name; name = name->next)
        declare(p, name);
    if (node->values && node->values->kind == PRG_LUA_FUNCTION)
        node->list->local->function = node->values;
    return node;
}

static struct prg_lua_node *function_statement(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_FUNCTION_OF);
    bool is_method = false;
    advance(p);
    node->left = take_name(p);
    node->left->local = find(p, node->left->text, node->left->length);
    while (!p->failed && !is_method && (is(p, ".") || is(p, ":"))) {
        is_method = is(p, ":");
        advance(p);
        struct prg_lua_node *index = node_at(p, PRG_LUA_INDEX, node->left);
        index->left = node->left;
        index->right = dot_key(p);
        node->left = index;
    }
    if (node->left->local)
        node->left->local->is_assigned = true;
    node->right = function_body(p, is_method);
    return node;
}

static struct prg_lua_node *return_statement(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_RETURN);
    advance(p);
    if (!is(p, "end") && !is(p, "else") && !is(p, "elseif") && !is(p, "until") && !is(p, ";") &&
        p->token.kind != PRG_TOKEN_END)
        node->values = expressions(p);
    take(p, ";");
    return node;
}

static struct prg_lua_node *expression_statement(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_EXPRESSION), *last;
    node->left = primary(p);
    if (!is(p, "=") && !is(p, ",")) {
        if (node->left->kind != PRG_LUA_CALL && node->left->kind != PRG_LUA_METHOD)
            p->failed = true;
        return node;
    }
    node->kind = PRG_LUA_ASSIGN;
    node->list = last = node->left;
    node->left = NULL;
    while (!p->failed && take(p, ","))
        last = last->next = primary(p);
    expect(p, "=");
    node->values = expressions(p);
    for (last = node->list; last; last = last->next)
        if (last->local)
            last->local->is_assigned = true;
    return node;
}

static struct prg_lua_node *loop_statement(struct parser *p)
{
    struct prg_lua_local *outside = p->scope;
    struct prg_lua_node *node = new_node(p, is(p, "while") ? PRG_LUA_WHILE : PRG_LUA_REPEAT);
    advance(p);
    if (node->kind == PRG_LUA_WHILE) {
        node->left = expression(p, 0);
        expect(p, "do");
        node->body = block(p);
        expect(p, "end");
    } else {
        node->body = block(p); // its locals are seen by the condition
        expect(p, "until");
        node->left = expression(p, 0);
    }
    p->scope = outside;
    return node;
}

static struct prg_lua_node *do_statement(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_BLOCK);
    advance(p);
    node->body = scoped_block(p);
    expect(p, "end");
    return node;
}

static struct prg_lua_node *jump_statement(struct parser *p)
{
    struct prg_lua_node *node = new_node(p, PRG_LUA_JUMP);
    bool is_label = is(p, "::"), is_break = is(p, "break");
    advance(p);
    if (!is_break)
        take_name(p);
    if (is_label)
        expect(p, "::");
    return node;
}

static struct prg_lua_node *statement(struct parser *p)
{
    if (is(p, "if"))
        return if_statement(p);
    if (is(p, "while") || is(p, "repeat"))
        return loop_statement(p);
    if (is(p, "do"))
        return do_statement(p);
    if (is(p, "for"))
        return for_statement(p);
    if (is(p, "function"))
        return function_statement(p);
    if (is(p, "local"))
        return local_statement(p);
    if (is(p, "return"))
        return return_statement(p);
    if (is(p, "break") || is(p, "::") || (is(p, "goto") && look_ahead(p)->kind == PRG_TOKEN_NAME))
        return jump_statement(p);
    return expression_statement(p);
}

static struct prg_lua_node *block(struct parser *p)
{
    struct prg_lua_node *first = NULL, **last = &first;
    if (++p->depth > DEPTH)
        p->failed = true;
    while (!p->failed && p->token.kind != PRG_TOKEN_END && !is(p, "end") && !is(p, "else") && !is(p, "elseif") &&
           !is(p, "until")) {
        if (take(p, ";"))
            continue;
        if (p->depth == 1)
            p->chain = 0;
        *last = statement(p);
        last = &(*last)->next;
    }
    p->depth--;
    return first;
}

// ---- the file ----

static void keep_directive(unsigned line, const char *text, size_t length, void *ctx)
{
    struct parser *p = ctx;
    prg_vec_push(&p->tree->directives, prg_arena_strndup(p->arena, text, length));
    prg_vec_push(&p->tree->lines, (void *)(uintptr_t)line);
}

struct prg_lua_tree *prg_lua_parse(struct prg_arena *arena, const char *text, size_t length)
{
    struct parser p = {.arena = arena, .tree = prg_arena_new(arena, struct prg_lua_tree)};
    prg_vec_init(&p.tree->directives);
    prg_vec_init(&p.tree->lines);
    prg_lua_lexer_init(&p.lexer, text, length);
    p.lexer.directive = keep_directive;
    p.lexer.ctx = &p;
    advance(&p);
    p.tree->body = block(&p);
    if (!p.failed && p.token.kind == PRG_TOKEN_END)
        return p.tree;
    p.tree->body = NULL;
    p.tree->is_too_deep = p.is_too_deep;
    if (p.is_too_deep)
        return p.tree;
    prg_lua_tree_release(p.tree);
    return NULL;
}

void prg_lua_tree_release(struct prg_lua_tree *tree)
{
    if (!tree)
        return;
    prg_vec_release(&tree->directives);
    prg_vec_release(&tree->lines);
}
