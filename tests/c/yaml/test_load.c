// SPDX-License-Identifier: Apache-2.0
// test_load.c: the YAML reader: types as Kubernetes reads them, positions, errors, bounds.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "yaml/load.h"
#include "yaml/scalar.h"

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

static struct prg_yaml_docs load(const char *text)
{
    struct prg_error err = {0};
    struct prg_yaml_docs docs = {0};
    assert_ok(prg_yaml_load(&arena, "test.yaml", text, strlen(text), NULL, &docs, &err), &err);
    return docs;
}

static cJSON *load_one(const char *text)
{
    struct prg_yaml_docs docs = load(text);
    assert_int_equal(docs.count, 1);
    return docs.items[0];
}

#define assert_loads(text, json) assert_json_text(&arena, load_one(text), json)

static int fails(const char *name, const char *text, size_t length, const struct prg_yaml_limits *limits,
                 const char *part)
{
    struct prg_error err = {0};
    struct prg_yaml_docs docs = {0};
    int rc = prg_yaml_load(&arena, name, text, length, limits, &docs, &err);
    if (rc == PRG_OK)
        print_error("accepted: %s\n", text);
    assert_int_not_equal(rc, PRG_OK);
    assert_error_has(&err, part);
    assert_null(docs.items);
    return rc;
}

#define assert_refused(text, part) assert_int_equal(fails("f.yaml", (text), strlen(text), NULL, (part)), PRG_INVALID)

static void every_row_of_the_recorded_table_holds(void **state)
{
    (void)state;
    const cJSON *table = read_test_json(&arena, "cases/tables/yaml_to_json.json");
    const cJSON *row;
    size_t rows = 0;
    prg_json_each (row, prg_json_get(table, "rows")) {
        const cJSON *yaml = prg_json_get(row, "yaml"), *strict = prg_json_get(row, "strictOk");
        bool want_ok = prg_json_get_true(row, "ok") && (!strict || prg_json_is_true(strict));
        struct prg_error err = {0};
        struct prg_yaml_docs docs = {0};
        int rc = prg_yaml_load(&arena, "row", prg_json_text(yaml), prg_json_text_length(yaml), NULL, &docs, &err);
        cJSON *got = docs.count ? docs.items[0] : prg_json_null(&arena);
        rows++;
        if ((rc == PRG_OK) == want_ok && (!want_ok || prg_json_equal(got, prg_json_get(row, "json"))))
            continue;
        print_error("row %s\nrc %d, got %s\n", prg_json_print_arena(&arena, row, 0), rc,
                    rc == PRG_OK ? prg_json_print_arena(&arena, got, 0) : err.frame[0].text);
        fail();
    }
    assert_int_equal(rows, 63);
}

static void plain_scalars_have_the_types_of_yaml_1_1(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json;
    } rows[] = {
        {"yes", "true"},
        {"YES", "true"},
        {"yEs", "\"yEs\""},
        {"on", "true"},
        {"Off", "false"},
        {"n", "false"},
        {"N", "false"},
        {"True", "true"},
        {"tRue", "\"tRue\""},
        {"null", "null"},
        {"Null", "null"},
        {"nUll", "\"nUll\""},
        {"0", "0"},
        {"00", "0"},
        {"-1", "-1"},
        {"+12", "12"},
        {"017", "15"},
        {"-017", "-15"},
        {"0o17", "15"},
        {"0O7", "7"},
        {"0x1F", "31"},
        {"0X1f", "31"},
        {"-0x10", "-16"},
        {"0b101", "5"},
        {"0x", "\"0x\""},
        {"08", "8"},
        {"09.5", "9.5"},
        {"1_000", "1000"},
        {"1__0_", "10"},
        {"0x_1", "1"},
        {"1_0.5_0", "10.5"},
        {".1_0", "0.1"},
        {"._1", "\"._1\""},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"5.", "5"},
        {".", "\".\""},
        {"1e3", "1000"},
        {"1E-2", "0.01"},
        {"1e", "\"1e\""},
        {"e3", "\"e3\""},
        {"1e400", "\"1e400\""},
        {"1.5e300", "1.5e300"},
        {"077777777777777777777777", "7.777777777777777e22"},
        {"0xFFFFFFFFFFFFFFFF", "18446744073709551615"},
        {"0x1FFFFFFFFFFFFFFFF", "\"0x1FFFFFFFFFFFFFFFF\""},
        {"-9223372036854775808", "-9223372036854775808"},
        {"-9223372036854775809", "-9223372036854776000"},
        {"+9223372036854775808", "9223372036854776000"},
        {"12:30", "\"12:30\""},
        {"20:00:00", "\"20:00:00\""},
        {"2001-01-01T00:00:00Z", "\"2001-01-01T00:00:00Z\""},
        {"1.2.3", "\"1.2.3\""},
        {"10Gi", "\"10Gi\""},
        {"1e3x", "\"1e3x\""},
        {"0x1p3", "\"0x1p3\""},
        {"Infinity", "\"Infinity\""},
        {"nan", "\"nan\""},
        {"'yes'", "\"yes\""},
        {"\"1\"", "\"1\""},
        {"! 1", "\"1\""},
        {"!!str yes", "\"yes\""},
        {"!!int \"3\"", "3"},
        {"!!float 3", "3"},
        {"!!float 9007199254740993", "9007199254740992"},
        {"!!null ~", "null"},
        {"!!bool on", "true"},
        {"!!timestamp 2001-02-28", "\"2001-02-28\""},
        {"!own 1", "\"1\""},
        {"!!binary aGVsbG8=", "\"hello\""},
        {"!!binary aGVsbA==", "\"hell\""},
        {"!!binary ''", "\"\""},
    };
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *got = prg_json_get(load_one(prg_arena_printf(&arena, "v: %s\n", rows[i].text)), "v");
        cJSON *want = json_of(&arena, rows[i].json);
        if (!prg_json_equal(got, want))
            print_error("%s: got %s, want %s\n", rows[i].text, prg_json_print_arena(&arena, got, 0), rows[i].json);
        assert_true(prg_json_equal(got, want));
    }
}

static void keys_become_strings_as_in_go(void **state)
{
    (void)state;
    assert_loads("1.10: a\n", "{'1.1': 'a'}");
    assert_loads("123456789.5: a\n", "{'1.2345679e+08': 'a'}");
    assert_loads("1e20: a\n", "{'1e+20': 'a'}");
    assert_loads("0.00001: a\n", "{'1e-05': 'a'}");
    assert_loads("0x10: a\n+5: b\nyes: c\n.inf: d\n-.INF: e\n.nan: f\n",
                 "{'16': 'a', '5': 'b', 'true': 'c', '.inf': 'd', '-.inf': 'e', '.nan': 'f'}");
    assert_loads("2001-01-01: a\n'yes': b\n!!str 1: c\n", "{'2001-01-01': 'a', 'yes': 'b', '1': 'c'}");
    assert_refused("a:\n  ~: b\n", "f.yaml:2:3: null cannot be a key");
    assert_refused("9223372036854775808: b\n", "f.yaml:1:1: a number this large cannot be a key");
    assert_refused("? [a]\n: b\n", "f.yaml:1:3: a list cannot be a key");
    assert_refused("{{x}}\n", "f.yaml:1:2: a mapping cannot be a key");
    assert_refused("\"a\\0b\": 1\n", "f.yaml:1:1: the key 'a?b' holds a NUL character");
}

static void anchors_merge_keys_and_their_order_work(void **state)
{
    (void)state;
    assert_loads("a: &x [1, &y {k: 2}]\nb: *x\nc: *y\n", "{'a': [1, {'k': 2}], 'b': [1, {'k': 2}], 'c': {'k': 2}}");
    assert_loads("&k key: v\nother: *k\n", "{'key': 'v', 'other': 'key'}");
    assert_loads("- &k key\n- *k : v\n", "['key', {'key': 'v'}]");
    assert_loads("- &k 1.0\n- *k : v\n", "[1, {'1': 'v'}]");
    assert_loads("a: &x {k: 1}\nb: {<<: *x, k: 2}\n", "{'a': {'k': 1}, 'b': {'k': 2}}");
    assert_loads("a: &x {k: 1}\nb: {k: 2, <<: *x}\n", "{'a': {'k': 1}, 'b': {'k': 1}}");
    assert_loads("- &x {k: 1, l: 1}\n- &y {k: 2, m: 2}\n- <<: [*x, *y]\n  o: 3\n",
                 "[{'k': 1, 'l': 1}, {'k': 2, 'm': 2}, {'k': 1, 'l': 1, 'm': 2, 'o': 3}]");
    assert_loads("<<: {a: 1}\nb: 2\n", "{'a': 1, 'b': 2}");
    assert_loads("'<<': 1\n", "{'<<': 1}");
    assert_loads("a: &x 1\nb: &x 2\nc: *x\n", "{'a': 1, 'b': 2, 'c': 2}");
    assert_refused("<<: 1\n", "f.yaml:1:5: '<<' needs a mapping");
    assert_refused("<<: [1]\n", "f.yaml:1:5: '<<' needs a mapping or a list of mappings, not a list with a number");
    assert_refused("a: &x [{b: 1}]\nc: {<<: *x}\n", "f.yaml:2:9: '<<' needs a mapping");
    assert_refused("a: *x\n", "f.yaml:1:4: no anchor '&x' stands before '*x'");
    assert_refused("a: &x [1, *x]\n", "f.yaml:1:11: '*x' stands inside its own anchor");
    assert_refused("a: &x [1]\n*x : 2\n", "f.yaml:2:1: '*x' cannot be a key: it stands for a list");
    assert_refused("--- {a: &x 1}\n--- {b: *x}\n", "f.yaml:2:9: no anchor '&x'");
}

static void a_copied_alias_can_be_changed_alone(void **state)
{
    (void)state;
    cJSON *doc = load_one("a: &x {k: 1}\nb: *x\n");
    prg_json_set_int(&arena, prg_json_get(doc, "b"), "k", 2);
    assert_json_text(&arena, doc, "{'a': {'k': 1}, 'b': {'k': 2}}");
}

static void duplicate_keys_are_refused_naming_both_places(void **state)
{
    (void)state;
    assert_refused("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
                   "f.yaml:5:3: the key 'c' is already set at line 3, column 3; remove one of them");
    assert_refused("1: a\n'1': b\n", "f.yaml:2:1: the key '1' is already set at line 1, column 1");
    assert_refused("{a: 1, a: 2}", "f.yaml:1:8: the key 'a' is already set at line 1, column 2");
    assert_refused("{\"a\": 1, \"a\": 2}", "f.yaml:1:10: the key 'a' is already set at line 1, column 2");
    assert_loads("a: {x: 1}\nb: {x: 1}\n", "{'a': {'x': 1}, 'b': {'x': 1}}");

    prg_auto_strbuf text = PRG_STRBUF_INIT;
    for (int i = 0; i < 3000; i++)
        prg_strbuf_printf(&text, "key%d:\n  nested: {x: 1}\n", i);
    assert_int_equal(prg_json_count(load_one(text.text)), 3000);
    prg_strbuf_puts(&text, "key17: 1\n");
    assert_refused(text.text, "f.yaml:6001:1: the key 'key17' is already set at line 35, column 1");
}

static void documents_without_content_are_left_out(void **state)
{
    (void)state;
    assert_int_equal(load("").count, 0);
    assert_int_equal(load("# nothing\n").count, 0);
    assert_int_equal(load("---\n---\n# x\n---\n").count, 0);
    assert_int_equal(load("--- ~\n").count, 1);
    struct prg_yaml_docs docs = load("# c\n---\na: 1\n---\n---\n# none\n---\nb: 2\n...\n---\nc: 3\n");
    assert_int_equal(docs.count, 3);
    assert_json_text(&arena, docs.items[0], "{'a': 1}");
    assert_json_text(&arena, docs.items[1], "{'b': 2}");
    assert_json_text(&arena, docs.items[2], "{'c': 3}");
}

static void assert_position(const cJSON *node, unsigned line, unsigned column)
{
    struct prg_json_position position = prg_json_position(node);
    assert_int_equal(position.line, line);
    assert_int_equal(position.column, column);
}

static void every_node_knows_its_line_and_column(void **state)
{
    (void)state;
    struct prg_yaml_docs docs = load("a: 1\nb:\n  - x\n  - c: \"é\"\n    d: e\nz:\n---\n{k: [v]}\n");
    const cJSON *b = prg_json_get(docs.items[0], "b");
    assert_position(docs.items[0], 1, 1);
    assert_position(prg_json_get(docs.items[0], "a"), 1, 4);
    assert_position(b, 3, 3);
    assert_position(prg_json_item(b, 0), 3, 5);
    assert_position(prg_json_at(prg_json_item(b, 1), "c"), 4, 8);
    assert_position(prg_json_at(prg_json_item(b, 1), "d"), 5, 8);
    assert_position(prg_json_get(docs.items[0], "z"), 6, 3);
    assert_position(prg_json_item(prg_json_get(docs.items[1], "k"), 0), 8, 6);
    assert_position(prg_json_get(load_one("{\"a\":\n  {\"b\": 1}}"), "a"), 2, 3);
}

static void json_reads_as_the_json_reader_reads_it(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"a\": 1e400, \"b\": 18446744073709551617, \"c\": \"\\ud83d\\ude00\", \"d\": \"yes\", \"e\": \"\\/\"}",
        "[1.10, -0, 0.1234567890123456789, true, null, {}, []]",
        "\"\\u0000 text\"",
        "  {\n \"k\": \"tab\\tand\\u2028\" }\n",
    };
    for (size_t i = 0; i < PRG_COUNT(texts); i++) {
        struct prg_error err = {0};
        cJSON *want = NULL;
        assert_ok(prg_json_parse(&arena, texts[i], strlen(texts[i]), NULL, &want, &err), &err);
        cJSON *got = load_one(texts[i]);
        assert_string_equal(prg_json_print_arena(&arena, got, 0), prg_json_print_arena(&arena, want, 0));
    }
}

static void what_only_looks_like_json_is_yaml(void **state)
{
    (void)state;
    assert_loads("{a: yes, b: [1, 2,],} # c\n", "{'a': true, 'b': [1, 2]}");
    assert_loads("\"a\": 1\n", "{'a': 1}");
    assert_int_equal(load("{\"a\": 1}\n---\n{\"b\": 2}\n").count, 2);
    assert_refused("{\"a\": [1, 2}", "f.yaml:1:12: '}' where ',' or ']' is expected");
    assert_refused("{", "f.yaml:1:2: the text ends where a quoted key is expected");
    assert_refused("[{\"a\": 1}, {\"b\": tru}, {\"c\" 1}]", "f.yaml:1:29:");
    assert_refused("{a: 1, b: [}", "f.yaml:1:12:");
    // A forgotten comma would make one text of two members; in a .json file nobody means that.
    const char *text = "{\"a\":1 \"b\":2}";
    assert_loads(text, "{\"a\": \"1 \\\"b\\\":2\"}");
    assert_int_equal(fails("f.json", text, strlen(text), NULL, "f.json:1:8: '\"' where ',' or '}' is expected"),
                     PRG_INVALID);
}

static void errors_name_file_line_and_column_and_say_what_to_do(void **state)
{
    (void)state;
    assert_refused("a:\n\tb: 1\n", "f.yaml:2:1: a tab stands where only spaces may; indent with spaces");
    assert_refused("a: b: c\n", "f.yaml:1:5: no key may stand here");
    assert_refused("a: @x\n", "f.yaml:1:4: no text can begin with this character; quote it");
    assert_refused("a:\n  b: 1\n c: 2\n", "f.yaml:3:2: this line does not fit into the mapping around it");
    assert_refused("- a\nb: 1\n", "f.yaml:2:1: this line does not fit into the list around it");
    assert_refused("a: 1\nb\nc: 2\n", "f.yaml:3:1: a key without ':'");
    assert_refused("a: 'x\n", "the text ends inside quotes");
    assert_refused("a: {b: 1\n", "f.yaml:2:1: did not find expected ',' or '}'");
    assert_refused("a: \"\\ud83d\\ude00\"\n", "f.yaml:1:7: an escape that stands for no character");
    assert_refused("a: .inf\n", "f.yaml:1:4: .inf is no number in JSON; quote it if it is meant as text");
    assert_refused("a: [1, -.INF, .nan]\n", "f.yaml:1:8: -.INF is no number");
    assert_refused("%YAML 1.2\n---\na: 1\n", "f.yaml:1:1: YAML 1.2 is declared");
    assert_refused("a: !!int x\n", "f.yaml:1:4: 'x' is not a !!int");
    assert_refused("a: !!timestamp 2001-02-29\n", "f.yaml:1:4: '2001-02-29' is not a !!timestamp");
    assert_refused("a: !!bool 1\n", "'1' is not a !!bool");
    assert_refused("a: !!float 18446744073709551615\n", "is not a !!float");
    assert_refused("a: !!binary x\n", "f.yaml:1:4: the value of !!binary is not base64");
    assert_refused("a: !!binary aGk==\n", "is not base64");
    assert_refused("a: !!binary /w==\n", "the value of !!binary is not text (UTF-8)");
    static const char *const not_utf8[] = {"wIA=", "4ICA", "7aCA", "8ICAgA==", "9JCAgA==", "9YCAgA==", "w0E=", "4oI="};
    for (size_t i = 0; i < PRG_COUNT(not_utf8); i++)
        assert_refused(prg_arena_printf(&arena, "a: !!binary %s\n", not_utf8[i]), "is not text (UTF-8)");
    assert_loads("a: !!binary |\n  w6nigqw=\nb: !!binary 8J+YgA==\n", "{\"a\": \"é€\", \"b\": \"\xf0\x9f\x98\x80\"}");
    assert_refused("a: !!int a long text with é in it that is not shown whole\n", "...' is not a !!int");
    assert_refused("é: @\n", "f.yaml:1:4: no text can begin with this character");
    assert_refused("a: 1\n--- b: 2\n x: 1", "f.yaml:2:");
    assert_refused("--- [a]\nb\n", "f.yaml:2:1: the document has ended, but more text follows");
}

static void bytes_that_are_no_text_are_refused_where_they_stand(void **state)
{
    (void)state;
    fails("f.yaml", "a: 1\nb: x\0y\n", 11, NULL, "f.yaml:2:5: the text holds a NUL byte");
    fails("f.yaml", "a: \xff\n", 5, NULL, "f.yaml:1:4: the text is not valid UTF-8");
    fails("f.yaml", "a: \xc3", 4, NULL, "f.yaml:1:4: the text is not valid UTF-8");
    fails("f.yaml", "é: \x01\n", 6, NULL, "f.yaml:1:4: control character 0x01");
    assert_loads("a: \"x\\0y\"\n", "{'a': 'x\\u0000y'}");
    assert_int_equal(prg_json_text_length(prg_json_get(load_one("a: \"x\\0y\"\n"), "a")), 3);
}

static void depth_is_bounded_and_nesting_costs_no_time(void **state)
{
    (void)state;
    static const char *const units[] = {"[", "{a: ", "- "};
    for (size_t i = 0; i < PRG_COUNT(units); i++) {
        prg_auto_strbuf text = PRG_STRBUF_INIT;
        for (int depth = 0; depth < 200000; depth++)
            prg_strbuf_puts(&text, units[i]);
        assert_int_equal(fails("f.yaml", text.text, text.length, NULL, "nested more than 128 levels deep"), PRG_LIMIT);
    }
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_puts(&text, "a: x\n---\n"); // keeps it from being JSON
    prg_strbuf_pad(&text, '[', 128);
    prg_strbuf_pad(&text, ']', 128);
    assert_int_equal(load(text.text).count, 2);
    struct prg_yaml_limits limits = {.max_depth = 3};
    assert_int_equal(fails("f.yaml", "[[[[]]]]", 8, &limits, "f.yaml:1:4: nested more than 3 levels deep"), PRG_LIMIT);
    assert_int_equal(fails("f.yaml", "a: &x [[1]]\nb: [*x]", 19, &limits, "f.yaml:2:5: nested more than 3"), PRG_LIMIT);
}

static void size_and_alias_expansion_are_bounded(void **state)
{
    (void)state;
    struct prg_yaml_limits limits = {.max_bytes = 10};
    assert_int_equal(fails("f.yaml", "a: 12345678", 11, &limits, "f.yaml: 11 bytes are more than the 10 allowed"),
                     PRG_LIMIT);

    prg_auto_strbuf bomb = PRG_STRBUF_INIT;
    prg_strbuf_puts(&bomb, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 20; i++)
        prg_strbuf_printf(&bomb, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1,
                          i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    assert_int_equal(fails("f.yaml", bomb.text, bomb.length, NULL, "aliases make more than 100000 values"), PRG_LIMIT);

    limits = (struct prg_yaml_limits){.max_bytes = 1000, .max_expansion = 5};
    assert_int_equal(
        fails("f.yaml", "[&a [1, 2], *a, *a]", 19, &limits, "f.yaml:1:17: aliases make more than 5 values"), PRG_LIMIT);
    char *text = prg_arena_printf(&arena, "[&a \"%0400d\", *a, *a, *a]", 0);
    assert_int_equal(fails("f.yaml", text, strlen(text), &limits, "aliases make more than 1000 bytes"), PRG_LIMIT);
}

static void files_are_read_and_named_in_errors(void **state)
{
    (void)state;
    char path[] = "/tmp/perigee-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1\nb: [", 9), 9);
    close(fd);
    struct prg_error err = {0};
    struct prg_yaml_docs docs;
    assert_int_equal(prg_yaml_load_file(&arena, path, NULL, &docs, &err), PRG_INVALID);
    assert_error_has(&err, prg_arena_printf(&arena, "%s:3:1: ", path));
    struct prg_yaml_limits limits = {.max_bytes = 4};
    assert_int_equal(prg_yaml_load_file(&arena, path, &limits, &docs, &err), PRG_LIMIT);
    assert_error_has(&err, "more than the 4 bytes allowed");
    unlink(path);
    assert_int_equal(prg_yaml_load_file(&arena, path, NULL, &docs, &err), PRG_NOTFOUND);
    assert_error_has(&err, "No such file");
    assert_int_equal(prg_yaml_load_file(&arena, "/tmp", NULL, &docs, &err), PRG_IO);
    assert_error_has(&err, "/tmp: cannot be read: Is a directory");
    assert_ok(prg_yaml_load_file(&arena, "cases/tables/duration.json", NULL, &docs, &err), &err);
    assert_int_equal(docs.count, 1);
}

static void dates_are_told_from_other_text(void **state)
{
    (void)state;
    static const char *const dates[] = {"2001-01-01",           "2001-1-1",
                                        "2024-02-29",           "2001-12-14t21:59:43.10-05:00",
                                        "2001-12-14T21:59:43Z", "2001-12-14 21:59:43.1"};
    static const char *const others[] = {"2001-13-01",
                                         "2023-02-29",
                                         "201-01-01",
                                         "2001-01-01T",
                                         "2001-01-01 ",
                                         "2001-12-14 21:59:43Z",
                                         "2001-12-14T21:59:43",
                                         "2001-12-14T24:00:00Z",
                                         "2001-01",
                                         "20010101"};
    for (size_t i = 0; i < PRG_COUNT(dates); i++)
        assert_true(prg_yaml_is_timestamp(dates[i]));
    for (size_t i = 0; i < PRG_COUNT(others); i++)
        assert_false(prg_yaml_is_timestamp(others[i]));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_row_of_the_recorded_table_holds),
        TEST(plain_scalars_have_the_types_of_yaml_1_1),
        TEST(keys_become_strings_as_in_go),
        TEST(anchors_merge_keys_and_their_order_work),
        TEST(a_copied_alias_can_be_changed_alone),
        TEST(duplicate_keys_are_refused_naming_both_places),
        TEST(documents_without_content_are_left_out),
        TEST(every_node_knows_its_line_and_column),
        TEST(json_reads_as_the_json_reader_reads_it),
        TEST(what_only_looks_like_json_is_yaml),
        TEST(errors_name_file_line_and_column_and_say_what_to_do),
        TEST(bytes_that_are_no_text_are_refused_where_they_stand),
        TEST(depth_is_bounded_and_nesting_costs_no_time),
        TEST(size_and_alias_expansion_are_bounded),
        TEST(files_are_read_and_named_in_errors),
        TEST(dates_are_told_from_other_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
