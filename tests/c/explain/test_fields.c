// SPDX-License-Identifier: Apache-2.0
// test_fields.c: two objects compared field by field.
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "explain/fields.h"
#include "explain/path.h"

static void note(const struct prg_field_change *change, void *ctx)
{
    struct prg_strbuf *out = ctx;
    prg_strbuf_printf(out, "%s%s: ", change->kind == PRG_FIELD_ORDER ? "order of " : "", change->path);
    if (change->from)
        prg_json_print(out, change->from, PRG_JSON_SORTED);
    prg_strbuf_puts(out, " -> ");
    if (change->to)
        prg_json_print(out, change->to, PRG_JSON_SORTED);
    prg_strbuf_putc(out, '\n');
}

struct example {
    const char *from, *to, *changes;
};

static void changes_are_told_by_member_and_by_name(void **state)
{
    static const struct example examples[] = {
        {"{'a': 1}", "{'a': 1.0}", ""},
        {"{'b': 1, 'a': 2}", "{'c': 3, 'a': 4}", ".a: 2 -> 4\n.b: 1 -> \n.c:  -> 3\n"},
        {"{'args': ['x']}", "{'args': ['x', 'y']}", ".args: [\"x\"] -> [\"x\",\"y\"]\n"},
        {"{'e': [{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}]}",
         "{'e': [{'name': 'N', 'value': '0'}, {'name': 'A', 'value': '1'}, {'name': 'B', 'value': '3'}]}",
         ".e[B].value: \"2\" -> \"3\"\n.e[N]:  -> {\"name\":\"N\",\"value\":\"0\"}\n"},
        {"{'e': [{'name': 'A'}, {'name': 'B'}]}", "{'e': [{'name': 'B'}, {'name': 'A'}]}",
         "order of .e: [\"A\",\"B\"] -> [\"B\",\"A\"]\n"},
        // a volume that is mounted twice: the mount's path tells its places apart
        {"{'m': [{'name': 'v', 'mountPath': '/a'}, {'name': 'v', 'mountPath': '/b'}]}",
         "{'m': [{'name': 'w', 'mountPath': '/a'}, {'name': 'v', 'mountPath': '/b'}]}",
         ".m[/a].name: \"v\" -> \"w\"\n"},
        // no name of their own: by place
        {"{'r': [{'x': 1}, {'x': 2}]}", "{'r': [{'x': 1}, {'x': 3}]}", ".r[1].x: 2 -> 3\n"},
        {"{'r': [{'name': 'a'}, {'name': 'a', 'y': 1}]}", "{'r': [{'name': 'a'}]}",
         ".r[1]: {\"name\":\"a\",\"y\":1} -> \n"},
        {"{'p': [{'containerPort': 1}]}", "{'p': [{'containerPort': 2}]}",
         ".p[1]: {\"containerPort\":1} -> \n.p[2]:  -> {\"containerPort\":2}\n"},
        {"{'x': {}}", "{'x': []}", ".x: {} -> []\n"},
        {"{'x': null}", "{}", ".x: null -> \n"},
        {"{'l': {'a.b/c': '1', 'odd key': '1'}}", "{'l': {'a.b/c': '2', 'odd key': '2'}}",
         ".l.a\\.b/c: \"1\" -> \"2\"\n.l['odd key']: \"1\" -> \"2\"\n"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(examples); i++) {
        prg_auto_arena arena = {0};
        prg_auto_strbuf out = PRG_STRBUF_INIT;
        const cJSON *from = json_of(&arena, examples[i].from), *to = json_of(&arena, examples[i].to);
        size_t count = prg_fields_diff(&arena, from, to, note, &out);
        assert_string_equal(out.text, examples[i].changes);
        assert_int_equal(count == 0, prg_json_equal(from, to));
        assert_int_equal(prg_fields_diff(&arena, from, to, NULL, NULL), count);
        assert_int_equal(prg_fields_diff(&arena, from, from, NULL, NULL), 0);
    }
}

// ---- trees by chance ----

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static cJSON *tree(struct prg_arena *arena, unsigned *seed, int depth)
{
    static const char *const keys[] = {"a", "b.c", "name", "spec", "odd key"};
    unsigned kind = next(seed) % (depth > 3 ? 2 : 4), count = next(seed) % 4;
    cJSON *node;
    switch (kind) {
    case 0:
        return prg_json_int(arena, next(seed) % 3);
    case 1:
        return prg_json_string(arena, next(seed) % 2 ? "x" : "y");
    case 2:
        node = prg_json_array(arena);
        for (unsigned i = 0; i < count; i++)
            prg_json_append(node, tree(arena, seed, depth + 1));
        return node;
    default:
        node = prg_json_object(arena);
        for (unsigned i = 0; i < count; i++)
            prg_json_set(arena, node, keys[next(seed) % PRG_COUNT(keys)], tree(arena, seed, depth + 1));
        return node;
    }
}

struct check {
    struct prg_arena *arena;
    const cJSON *from, *to;
};

// What a change says of the old tree is what its path finds there.
static void find_old(const struct prg_field_change *change, void *ctx)
{
    struct check *check = ctx;
    struct prg_path_found found;
    struct prg_error err = {0};
    if (change->kind == PRG_FIELD_ORDER || !change->from)
        return;
    assert_ok(prg_path_find(check->arena, check->from, change->path, &found, &err), &err);
    assert_non_null(found.node);
    if (!strchr(change->path, '[')) // two items may be called alike in another place of the list
        assert_ptr_equal(found.node, change->from);
}

static void trees_differ_exactly_when_there_is_a_change(void **state)
{
    unsigned seed = 1;
    (void)state;
    for (int i = 0; i < 4000; i++) {
        prg_auto_arena arena = {0};
        const cJSON *from = tree(&arena, &seed, 0), *to = tree(&arena, &seed, 0);
        struct check check = {&arena, from, to};
        size_t count = prg_fields_diff(&arena, from, to, find_old, &check);
        assert_int_equal(count == 0, prg_json_equal(from, to));
        assert_int_equal(prg_fields_diff(&arena, to, from, NULL, NULL), count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_told_by_member_and_by_name),
        cmocka_unit_test(trees_differ_exactly_when_there_is_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
