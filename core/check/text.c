// SPDX-License-Identifier: Apache-2.0
// text.c: one Lua text: reads it, has it walked, and puts the findings in order.
//
// A line "---@diagnostic disable-next-line: undefined-field" silences a rule for the line below it, as for editors;
// "---@diagnostic disable: RULE" for the whole file.
#include <string.h>

#include "check/check.h"
#include "check/infer.h"
#include "check/lines.h"

enum { FINDINGS = 200 }; // of a file, in the order in which it is walked

struct reading {
    struct prg_arena arena;
    const char *file;
    struct prg_check_lines lines;
    struct prg_lua_tree *tree;
    struct prg_vec findings; // struct prg_check_finding *
};

// "disable-next-line: a, b" names the rule; no names at all mean all rules.
static bool names_rule(const char *directive, const char *rule)
{
    const char *colon = strchr(directive, ':');
    size_t length = strlen(rule);
    if (!colon)
        return true;
    for (const char *at = colon + 1; *at;) {
        at += strspn(at, " ,\t\r");
        size_t word = strcspn(at, " ,\t\r");
        if (word == length && memcmp(at, rule, length) == 0)
            return true;
        at += word;
    }
    return false;
}

static bool is_silenced(const struct reading *r, unsigned line, const char *rule)
{
    for (size_t i = 0; i < r->tree->directives.count; i++) {
        const char *directive = r->tree->directives.items[i];
        uintptr_t at = (uintptr_t)r->tree->lines.items[i];
        while (*directive == ' ')
            directive++;
        bool is_next = prg_text_has_prefix(directive, "disable-next-line");
        bool is_same = prg_text_has_prefix(directive, "disable-line");
        bool is_file = !is_next && !is_same && prg_text_has_prefix(directive, "disable");
        bool applies = is_file || (is_next && at + 1 == line) || (is_same && at == line);
        if (applies && names_rule(directive, rule))
            return true;
    }
    return false;
}

static void keep(const struct prg_lua_node *node, bool is_warning, const char *rule, const char *message, void *ctx)
{
    struct reading *r = ctx;
    if (r->findings.count > FINDINGS || is_silenced(r, node->line, rule))
        return;
    if (r->findings.count == FINDINGS) {
        is_warning = true;
        message = "there is more; what follows in this file is not shown";
    }
    struct prg_check_finding *finding = prg_arena_new(&r->arena, struct prg_check_finding);
    *finding = (struct prg_check_finding){.file = r->file,
                                          .line = node->line,
                                          .column = node->column,
                                          .width = node->width,
                                          .rule = rule,
                                          .message = message,
                                          .is_warning = is_warning,
                                          .source = prg_check_line(&r->lines, &r->arena, node->line)};
    prg_vec_push(&r->findings, finding);
}

static int compare(const void *a, const void *b, void *ctx)
{
    const struct prg_check_finding *x = a, *y = b;
    (void)ctx;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return strcmp(x->message, y->message);
}

void prg_check_text(const char *file, const char *text, size_t length, enum prg_check_text kind,
                    prg_check_visit_fn visit, void *ctx)
{
    // What busted offers, and what core/policy's own test library does.
    static const char *const of_specs[] = {
        "describe", "context",     "it",         "spec",       "test",          "pending",      "setup",
        "teardown", "before_each", "after_each", "lazy_setup", "lazy_teardown", "strict_setup", "strict_teardown",
        "insulate", "expose",      "finally",    "spy",        "stub",          "mock",         "match",
        "require",  "file",        "randomize",  "async",      "done",          "options",      NULL};
    struct reading r = {.file = file, .lines = {.text = text, .length = length}};
    struct prg_types types;
    prg_arena_init(&r.arena);
    prg_vec_init(&r.findings);
    r.tree = prg_lua_parse(&r.arena, text, length);
    if (r.tree && r.tree->is_too_deep) {
        struct prg_check_finding deep = {.file = file,
                                         .rule = "syntax",
                                         .is_warning = true,
                                         .message = "not looked at: a statement has too many operators"};
        visit(&deep, ctx);
    } else if (r.tree) {
        prg_types_init(&types, &r.arena);
        prg_types_read(&types, text, length);
        if (kind == PRG_CHECK_SPEC) // busted makes `assert` a table that can be called
            prg_map_put(&types.globals, "assert", (void *)&prg_type_any);
        struct prg_infer_input input = {.types = &types,
                                        .tree = r.tree,
                                        .extra_globals = kind == PRG_CHECK_SPEC ? of_specs : NULL,
                                        .is_policy = kind == PRG_CHECK_POLICY,
                                        .report = keep,
                                        .ctx = &r};
        prg_infer(&r.arena, &input);
        prg_types_release(&types);
    }
    prg_vec_sort(&r.findings, compare, NULL);
    const struct prg_check_finding *last = NULL;
    for (size_t i = 0; i < r.findings.count; i++) {
        const struct prg_check_finding *finding = r.findings.items[i];
        if (!last || compare(last, finding, NULL) != 0)
            visit(finding, ctx);
        last = finding;
    }
    prg_lua_tree_release(r.tree);
    prg_vec_release(&r.findings);
    prg_arena_release(&r.arena);
}
