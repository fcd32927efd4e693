// SPDX-License-Identifier: Apache-2.0
// test_compact.c: what the one-pass reader keeps and drops, and that it takes what the reader of trees takes.
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "json/compact.h"

static void take_note(unsigned note, const char *text, size_t length, void *ctx)
{
    struct prg_strbuf *out = ctx;
    prg_strbuf_printf(out, "%u=%.*s ", note, (int)length, text);
}

static const struct prg_compact_member of_item[] = {{.key = "keep"}, {.key = "id", .note = 3}, {0}};
static const struct prg_compact_rule item_rule = {of_item, true};
static const struct prg_compact_member of_looked[] = {{.key = "who", .note = 4}, {0}};
static const struct prg_compact_rule looked_rule = {of_looked, true};
static const struct prg_compact_member of_root[] = {{.key = "gone", .is_dropped = true},
                                                    {.key = "name", .note = 1},
                                                    {.key = "type", .note = 2, .is_dropped = true},
                                                    {.key = "items", .inside = &item_rule},
                                                    {.key = "looked", .inside = &looked_rule, .is_dropped = true},
                                                    {0}};
static const struct prg_compact_rule root_rule = {of_root, false};

static void members_are_kept_dropped_and_noted_by_rule(void **state)
{
    static const struct {
        const char *text, *want, *notes;
    } cases[] = {
        {"{}", "{}", ""},
        {" { } ", "{}", ""},
        {"[ 1 , [ ] , { } ]", "[1,[],{}]", ""},
        {"{ \"gone\" : 1 }", "{}", ""},
        {"{\"gone\":1,\"a\":2}", "{\"a\":2}", ""},
        {"{\"a\":2 , \"gone\": {\"x\":[1,\"}\\\"\"]} }", "{\"a\":2}", ""},
        {"{\"a\":1,\"gone\":\"x\",\"b\":true,\"c\":null}", "{\"a\":1,\"b\":true,\"c\":null}", ""},
        {"{\"gone\":false,\"\\u0067one2\":1}", "{\"\\u0067one2\":1}", ""},
        {"{\"\\u0067one\":1}", "{}", ""},
        {"{\"name\":\"n\",\"type\":\"t\"}", "{\"name\":\"n\"}", "1=n 2=t "},
        {"{\"name\":\"a\\u00e9\\n\"}", "{\"name\":\"a\\u00e9\\n\"}", "1=a\xc3\xa9\n "},
        {"{\"name\":7,\"type\":[1]}", "{\"name\":7}", ""},
        {"{\"items\":[{\"keep\":{\"id\":\"no\"},\"id\":\"1\",\"x\":2},{\"x\":3},4,[{\"id\":\"2\",\"y\":1}]]}",
         "{\"items\":[{\"keep\":{\"id\":\"no\"},\"id\":\"1\"},{},4,[{\"id\":\"2\"}]]}", "3=1 3=2 "},
        {"{\"looked\":[{\"who\":\"w\",\"set\":{\"f:a\":{}}},{\"who\":\"v\"}],\"z\":1.50e3}", "{\"z\":1.50e3}",
         "4=w 4=v "},
        {"{\"a\":\"\xf0\x9f\x98\x80 and more than eight bytes \\\" \\\\ \"}",
         "{\"a\":\"\xf0\x9f\x98\x80 and more than eight bytes \\\" \\\\ \"}", ""},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_strbuf out = PRG_STRBUF_INIT, notes = PRG_STRBUF_INIT;
        // A block of just this size, so that a sanitizer sees a byte read behind it.
        size_t length = strlen(cases[i].text);
        char *text = prg_xmalloc(length);
        memcpy(text, cases[i].text, length);
        prg_strbuf_puts(&out, "before ");
        assert_true(prg_json_compact(text, length, &root_rule, &out, take_note, &notes));
        assert_string_equal(out.text + 7, cases[i].want);
        assert_string_equal(notes.text, cases[i].notes);
        free(text);
    }
}

static void the_rule_does_the_same_to_trees(void **state)
{
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    const char *text = "{'gone':1,'a':{'gone':2},'type':'t','items':[{'keep':1,'x':2},[{'id':'i','y':3}]],'looked':[]}";
    cJSON *tree = json_of(&arena, text);
    prg_json_prune(tree, &root_rule);
    assert_json_text(&arena, tree, "{'a':{'gone':2},'items':[{'keep':1},[{'id':'i'}]]}");
    prg_arena_release(&arena);
}

static bool reads(struct prg_arena *arena, const char *text, size_t length, cJSON **ret)
{
    return prg_json_parse(arena, text, length, NULL, ret, NULL) == PRG_OK;
}

static void assert_agreed(const char *text, size_t length)
{
    prg_auto_arena arena;
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    cJSON *tree = NULL, *again = NULL;
    prg_arena_init(&arena);
    char *copy = prg_xmalloc(length ? length : 1);
    memcpy(copy, text, length);
    bool is_fine = prg_json_compact(copy, length, NULL, &out, NULL, NULL);
    if (is_fine != reads(&arena, copy, length, &tree))
        fail_msg("only one of the readers takes: %.*s", (int)length, text);
    if (is_fine) {
        assert_true(reads(&arena, out.text, out.length, &again));
        assert_true(prg_json_equal(tree, again));
        assert_true(out.length <= length);
    }
    free(copy);
}

static void it_takes_what_the_reader_of_trees_takes(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "{]",
        "[}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "nul",
        "nulll",
        "tru",
        "truefalse",
        "01",
        "1.",
        "-",
        "-0",
        "1e",
        "1e5",
        "+1",
        ".5",
        "\"",
        "\"a",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ude00\"",
        "\"\n\"",
        "\"\x01\"",
        "\"\xff\"",
        "\"\xc3\xa9\"",
        "\"\xc3\"",
        "\"\xe2\x82\"",
        "\"\xed\xa0\x80\"",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"a\\u0000\":1}",
        "\"a\\u0000\"",
        "[1]x",
        "1 1",
        "{\"\":1}",
        "\xef\xbb\xbf{}",
        "'a'",
        "{a:1}",
        "[\"a\" , {\"b\" : [ ] } ]",
        "{\"a\":{\"b\":1,\"b\":1}}",
        "/**/1",
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(texts); i++)
        assert_agreed(texts[i], strlen(texts[i]));
}

static void it_agrees_on_texts_with_random_faults(void **state)
{
    static const char sample[] =
        "{\"metadata\":{\"name\":\"a-0\",\"labels\":{\"k\\u0038s\":\"v\\\"1\\\\\",\"\xc3\xa9\":\"\xe2\x82\xac\"},"
        "\"n\":[-1.5e+10,0,true,false,null,{},[]]},\"long text of many bytes\":\"and a longer one, of more bytes\"}";
    static const char bytes[] = "{}[]\",:\\u0 1a\n\x01\xc3\xff";
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[sizeof(sample)];
        memcpy(text, sample, sizeof(sample));
        for (int faults = 0; faults < 2; faults++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            text[(seed >> 33) % (sizeof(sample) - 1)] = bytes[(seed >> 20) % (sizeof(bytes) - 1)];
        }
        assert_agreed(text, sizeof(sample) - 1);
    }
}

static void depth_and_many_keys_are_bounded_alike(void **state)
{
    (void)state;
    for (size_t depth = PRG_JSON_DEPTH - 1; depth <= PRG_JSON_DEPTH + 1; depth++) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        prg_strbuf_pad(&text, '[', depth);
        prg_strbuf_pad(&text, ']', depth);
        assert_agreed(text.text, text.length);
    }
    for (int twice = 0; twice < 2; twice++) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        for (int i = 0; i < 1000; i++)
            prg_strbuf_printf(&text, "%s\"key-%d\":%d", i ? "," : "{", twice && i == 900 ? 3 : i, i);
        prg_strbuf_putc(&text, '}');
        assert_agreed(text.text, text.length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_kept_dropped_and_noted_by_rule),
        cmocka_unit_test(the_rule_does_the_same_to_trees),
        cmocka_unit_test(it_takes_what_the_reader_of_trees_takes),
        cmocka_unit_test(it_agrees_on_texts_with_random_faults),
        cmocka_unit_test(depth_and_many_keys_are_bounded_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
