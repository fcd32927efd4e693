// SPDX-License-Identifier: Apache-2.0
// test_dump.c: the YAML writer: the layout people see, and that everything reads back as it was.
#include "support/support.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "yaml/dump.h"
#include "yaml/load.h"

static struct prg_arena arena;

static int setup(void **state)
{
    (void)state;
    prg_arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    prg_arena_release(&arena);
    return 0;
}

static const char *dump(const cJSON *node)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    prg_yaml_dump(&out, node);
    return prg_arena_strndup(&arena, out.text, out.length);
}

static void assert_round_trip(const cJSON *node)
{
    const char *text = dump(node);
    struct prg_error err = {0};
    struct prg_yaml_docs docs = {0};
    // Behind another document, so that what happens to be JSON is read as YAML all the same.
    const char *whole = prg_arena_printf(&arena, "first: 1\n---\n%s", text);
    int rc = prg_yaml_load(&arena, "dump.yaml", whole, strlen(whole), NULL, &docs, &err);
    if (rc != PRG_OK || docs.count != 2 || !prg_json_equal(docs.items[1], node))
        print_error("rc %d %s\ntree: %s\ntext:\n%s\ngot: %s\n", rc, rc ? err.frame[0].text : "",
                    prg_json_print_arena(&arena, node, 0), text,
                    docs.count == 2 ? prg_json_print_arena(&arena, docs.items[1], 0) : "nothing");
    assert_int_equal(rc, PRG_OK);
    assert_int_equal(docs.count, 2);
    assert_true(prg_json_equal(docs.items[1], node));
}

static void the_layout_is_that_of_kubectl(void **state)
{
    (void)state;
    cJSON *node = json_of(
        &arena, "{\"kind\": \"X\", \"apiVersion\": \"v1\", \"spec\": {\"args\": [\"--a=b\", \"-x\", \"{{.Name}}\"], "
                "\"empty\": {}, \"none\": [], \"lists\": [[1, [2]], {\"b\": null, \"a\": [{\"z\": true}]}], "
                "\"text\": \"one\\ntwo\\n\", \"more\": \"one\\n\\ntwo\", \"on\": \"yes\", \"when\": \"2001-01-01\", "
                "\"hash\": \"a #b\", \"colon\": \"a: b\", \"port\": 80, \"big\": 9007199254740993, \"q\": \"it's\", "
                "\"esc\": \"\\u0001\\\"\", \"many\": \"x\\n\\n\", \"lead\": \"  x\\ny\", \"\": \"\"}}");
    assert_string_equal(dump(node), "apiVersion: v1\n"
                                    "kind: X\n"
                                    "spec:\n"
                                    "  \"\": \"\"\n"
                                    "  args:\n"
                                    "  - --a=b\n"
                                    "  - -x\n"
                                    "  - '{{.Name}}'\n"
                                    "  big: 9007199254740993\n"
                                    "  colon: 'a: b'\n"
                                    "  empty: {}\n"
                                    "  esc: \"\\x01\\\"\"\n"
                                    "  hash: 'a #b'\n"
                                    "  lead: |2-\n"
                                    "      x\n"
                                    "    y\n"
                                    "  lists:\n"
                                    "  - - 1\n"
                                    "    - - 2\n"
                                    "  - a:\n"
                                    "    - z: true\n"
                                    "    b: null\n"
                                    "  many: |+\n"
                                    "    x\n"
                                    "\n"
                                    "  more: |-\n"
                                    "    one\n"
                                    "\n"
                                    "    two\n"
                                    "  none: []\n"
                                    "  \"on\": \"yes\"\n"
                                    "  port: 80\n"
                                    "  q: it's\n"
                                    "  text: |\n"
                                    "    one\n"
                                    "    two\n"
                                    "  when: \"2001-01-01\"\n");
    assert_round_trip(node);
}

static const char *const odd_texts[] = {
    "",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    " lead",
    "trail ",
    "a: b",
    "a:b",
    "a:",
    ":a",
    ": a",
    "#x",
    "a #b",
    "a#b",
    "-",
    "- a",
    "-a",
    "--",
    "---",
    "--- x",
    "...",
    "... x",
    "?",
    "? a",
    "?a",
    "!",
    "!x",
    "!!str x",
    "&a",
    "*a",
    "|",
    ">",
    "|x",
    "%",
    "%YAML 1.1",
    "@",
    "`",
    "'",
    "''",
    "\"",
    "it's",
    "say \"x\"",
    "\\",
    "a\\b",
    ",",
    "a,b",
    "[",
    "]",
    "[a]",
    "{",
    "}",
    "{a: b}",
    "{{.Name}}",
    "yes",
    "Yes",
    "no",
    "on",
    "off",
    "y",
    "N",
    "true",
    "FALSE",
    "~",
    "null",
    "NULL",
    "=",
    "<<",
    "1",
    "-1",
    "+1",
    "1e3",
    "1.5",
    ".5",
    "5.",
    ".",
    "..",
    "0x1",
    "0o17",
    "017",
    "0b1",
    "1_000",
    "_1",
    ".inf",
    "-.INF",
    ".nan",
    "12:30",
    "1:30:00.5",
    "-1:2",
    "2001-01-01",
    "2001-01-01T00:00:00Z",
    "9223372036854775808",
    "1e400",
    "500m",
    "2Gi",
    "nan",
    "Infinity",
    "a\nb",
    "a\nb\n",
    "a\nb\n\n",
    "a\nb\n\n\n",
    "\na",
    "\n\na\n",
    "  a\nb",
    "a\n  b\n c",
    "a\n\nb",
    "a \nb \n",
    "a\n \nb",
    "a\n   ",
    "a\n   \n",
    " \na",
    "\t\na",
    "a\tb",
    "\ta\nb",
    "a\n\tb\n",
    "a\n\t",
    "a\r\nb",
    "a\rb",
    "\r",
    "# a\n# b\n",
    "- a\n- b\n",
    "a: b\nc: d\n",
    "---\na\n",
    "a\n---\nb",
    "...\n",
    "|\n",
    "\x01",
    "\x1b[0m",
    "\x7f",
    "\xc2\x80",
    "\xc2\x85",
    "a\302\205b",
    "\xc2\xa0",
    "\xc2\xa0\nx",
    "\xe2\x80\xa8",
    "a\n\xe2\x80\xa9",
    "\xef\xbb\xbf",
    "\xef\xbb\xbfx\ny",
    "\xef\xbf\xbd",
    "\xef\xbf\xbf",
    "é",
    "日本語",
    "\xf0\x9f\x98\x80",
    "\xf0\x9f\x98\x80\nx\n",
    "a\vb",
    "#!/bin/sh\nset -e\n\techo \"hi\"\n",
    "end with colon:\nx",
    "x\n:",
};

static void odd_texts_survive_as_values_keys_and_items(void **state)
{
    (void)state;
    cJSON *all = prg_json_object(&arena), *list = prg_json_array(&arena);
    for (size_t i = 0; i < PRG_COUNT(odd_texts); i++) {
        cJSON *value = prg_json_string(&arena, odd_texts[i]);
        assert_round_trip(value);
        cJSON *object = prg_json_object(&arena);
        prg_json_set(&arena, object, odd_texts[i], prg_json_copy(&arena, value));
        assert_round_trip(object);
        cJSON *items = prg_json_array(&arena);
        prg_json_append(items, prg_json_copy(&arena, value));
        prg_json_append(items, prg_json_copy(&arena, object));
        assert_round_trip(items);
        prg_json_append(list, prg_json_copy(&arena, items));
        prg_json_set(&arena, all, odd_texts[i], items);
    }
    assert_round_trip(all);
    assert_round_trip(list);
    assert_round_trip(prg_json_stringn(&arena, "a\0b", 3));
    assert_round_trip(prg_json_stringn(&arena, "a\n\0b", 4));
}

static void texts_of_random_pieces_survive(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "a",  "b c", " ", "  ", "\n", "\n", "\t",           ":",    ": ",  "#",  " #", "-", "- ", "'",
        "\"", "\\",  "|", "1",  ".",  "é",  "\xe2\x80\xa8", "\x01", "---", "\r", "{",  "]"};
    unsigned seed = 1;
    for (int round = 0; round < 4000; round++) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        unsigned count = (seed >> 16) % 8 + 1;
        for (unsigned i = 0; i < count; i++) {
            seed = seed * 1103515245 + 12345;
            prg_strbuf_puts(&text, pieces[(seed >> 16) % PRG_COUNT(pieces)]);
        }
        cJSON *object = prg_json_object(&arena), *items = prg_json_array(&arena);
        prg_json_append(items, prg_json_string(&arena, text.text));
        prg_json_append(items, prg_json_string(&arena, "next"));
        prg_json_set_string(&arena, object, "text", text.text);
        prg_json_set_string(&arena, object, text.text, "value");
        prg_json_set(&arena, object, "zz", items);
        assert_round_trip(object);
        prg_arena_reset(&arena);
    }
}

static void long_keys_and_long_texts_survive(void **state)
{
    (void)state;
    for (int length = 990; length <= 1040; length += 5) {
        cJSON *object = prg_json_object(&arena);
        const char *key = prg_arena_printf(&arena, "%0*d: x", length, 1);
        prg_json_set_string(&arena, object, key, "v");
        prg_json_set(&arena, object, prg_arena_printf(&arena, "a%s", key), json_of(&arena, "{'b': ['c', {'d': 1}]}"));
        assert_round_trip(object);
    }
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (int i = 0; i < 5000; i++)
        prg_strbuf_printf(&text, "word%d%s", i, i % 97 ? " " : "\n");
    assert_round_trip(prg_json_string(&arena, text.text));
}

static void numbers_survive_exactly(void **state)
{
    (void)state;
    static const char *const numbers[] = {
        "0",
        "-0",
        "1",
        "-1",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "0.1",
        "1.5",
        "1e3",
        "1E3",
        "1e-7",
        "-2.5e-300",
        "1.7976931348623157e308",
        "5e-324",
        "100000000000000000000000",
        "1.10",
        "0.30000000000000004",
        "123456789.123456",
    };
    cJSON *list = prg_json_array(&arena);
    for (size_t i = 0; i < PRG_COUNT(numbers); i++)
        prg_json_append(list, prg_json_number(&arena, numbers[i]));
    assert_round_trip(list);
}

static void every_recorded_case_survives(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob("cases/kserve/reconcile/*.json", 0, NULL, &files), 0);
    assert_true(files.gl_pathc > 400);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        assert_round_trip(read_test_json(&arena, files.gl_pathv[i]));
        prg_arena_reset(&arena);
    }
    globfree(&files);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_layout_is_that_of_kubectl),  TEST(odd_texts_survive_as_values_keys_and_items),
        TEST(texts_of_random_pieces_survive), TEST(long_keys_and_long_texts_survive),
        TEST(numbers_survive_exactly),        TEST(every_recorded_case_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
