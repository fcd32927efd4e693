// SPDX-License-Identifier: Apache-2.0
// test_syntax.c: reading Lua: everything that Lua 5.4 accepts, places, and which local a name means.
#include "support/support.h"

#include <string.h>

#include "check/syntax.h"
#include "policy/policy.h"

static struct prg_lua_tree *parse(struct prg_arena *arena, const char *text)
{
    return prg_lua_parse(arena, text, strlen(text));
}

static void every_form_of_the_grammar_is_read(void **state)
{
    static const char *const texts[] = {
        "",
        "#!/usr/bin/lua\nreturn 1",
        ";;; local x <const> = 1; local y <close>, z = nil",
        "a.b['c'].d = 1, 2 f() a.b:c'd' a.b:c{} f{...} f'x'.y = 2",
        "return function(...) local a, b = ... return a or b and not a == -b ^ 2 .. 'x' .. #'y' end",
        "x = 0x.8p-3 + 3. + .5e+3 + 0xA // 1 | 2 & 3 ~ ~4 << 5 >> 6",
        "x = [==[\n]=] ]==] .. [[]]  -- [[ not long\n--[==[ long\n]] ]==] y = 1",
        "goto done do ::again:: goto again end while true do break end repeat local z until z ::done::",
        "for i = 1, 2, 3 do end for k, v, w in next, {} do end if a then elseif b then else end",
        "local function f() end function a.b.c:d(e, ...) return self end function g() end",
        "t = {1; 2, ['x'] = 3, y = 4, f(), ...,} return {}, (f()), ('x'):rep(2)",
        "s = 'a\\z  \n  b\\\n c\\x41\\u{7FFFFFFF}\\065' .. \"'\" return",
        "return a < b, a <= b, a ~= b, a > b == (c >= d)",
        "---@type x\nlocal x\n--- doc\n-- plain\nreturn",
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        struct prg_lua_tree *tree = parse(&arena, texts[i]);
        if (!tree)
            fail_msg("not read: %s", texts[i]);
        prg_lua_tree_release(tree);
    }
}

static void what_is_not_lua_gives_nothing(void **state)
{
    static const char *const texts[] = {"return return",   "x = ",         "f(",  "'abc",    "[[abc",
                                        "if x then",       "end",          "a.b", "local 1", "x = }",
                                        "--[[ never ends", "for x do end", "@"};
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        prg_auto_arena arena;
        prg_arena_init(&arena);
        if (parse(&arena, texts[i]))
            fail_msg("read: %s", texts[i]);
    }
}

static void deep_nesting_ends_without_a_crash(void **state)
{
    prg_auto_arena arena;
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    (void)state;
    prg_arena_init(&arena);
    prg_strbuf_puts(&text, "return ");
    prg_strbuf_pad(&text, '(', 100000);
    assert_null(prg_lua_parse(&arena, text.text, text.length));
    prg_strbuf_clear(&text);
    for (int i = 0; i < 100000; i++)
        prg_strbuf_puts(&text, "do ");
    assert_null(prg_lua_parse(&arena, text.text, text.length));
}

static void places_are_lines_and_characters(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    struct prg_lua_tree *tree = parse(&arena, "local a = 1\nx = 'äö' .. name\n");
    assert_non_null(tree);
    const struct prg_lua_node *sum = tree->body->next->values;
    assert_int_equal(PRG_LUA_BINARY, sum->kind);
    assert_int_equal(2, sum->right->line);
    assert_int_equal(13, sum->right->column);
    assert_int_equal(4, sum->right->width);
    prg_lua_tree_release(tree);
}

static void names_mean_the_innermost_local(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    struct prg_lua_tree *tree = parse(&arena, "local x = 1 local x = x do local x = 3 y = x end y = x z = 1");
    assert_non_null(tree);
    const struct prg_lua_node *first = tree->body, *second = first->next, *block = second->next;
    const struct prg_lua_node *last = block->next;
    assert_ptr_equal(first->list->local, second->values->local);
    assert_ptr_equal(block->body->list->local, block->body->next->values->local);
    assert_ptr_equal(second->list->local, last->values->local);
    assert_null(last->list->local);
    prg_lua_tree_release(tree);
}

static void read_file(const char *path, const char *text, size_t length, void *ctx)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_lua_tree *tree = prg_lua_parse(&arena, text, length);
    if (!tree)
        fail_msg("not read: %s", path);
    ++*(int *)ctx;
    prg_lua_tree_release(tree);
}

static void the_library_and_the_shipped_policies_are_read(void **state)
{
    int count = 0;
    (void)state;
    prg_policy_each_library(read_file, &count);
    prg_policy_each_shipped(read_file, &count);
    assert_true(count > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_the_grammar_is_read),
        cmocka_unit_test(what_is_not_lua_gives_nothing),
        cmocka_unit_test(deep_nesting_ends_without_a_crash),
        cmocka_unit_test(places_are_lines_and_characters),
        cmocka_unit_test(names_mean_the_innermost_local),
        cmocka_unit_test(the_library_and_the_shipped_policies_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
