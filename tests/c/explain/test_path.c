// SPDX-License-Identifier: Apache-2.0
// test_path.c: paths of fields, read and written.
#include "support/support.h"

#include <string.h>

#include "explain/path.h"
#include "plan/plan.h"

struct fixture {
    struct prg_arena arena;
    struct prg_error err;
    cJSON *root;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){0};
    fixture.root = json_of(&fixture.arena,
                           "{'spec': {'containers': [{'name': 'a', 'env': [{'name': 'X', 'value': '1'}], "
                           "'ports': [{'containerPort': 8080}], 'args': ['--x', '7']}, {'name': '0', 'image': 'i'}]}, "
                           "'labels': {'a.b/c': 'dotted', '': 'nothing', '7': 'seven'}}");
    prg_json_set_string(&fixture.arena, prg_json_get(fixture.root, "labels"), "it's", "quoted");
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    prg_arena_release(&((struct fixture *)*state)->arena);
    return 0;
}

static void a_path_finds_its_field_and_is_told_with_places(void **state)
{
    static const char *const cases[][3] = {
        {".spec.containers[0].env[X].value", "'1'", ".spec.containers[0].env[0].value"},
        {"spec.containers[a].env[0].value", "'1'", ".spec.containers[0].env[0].value"},
        {"/spec/containers/0/env/0/value", "'1'", ".spec.containers[0].env[0].value"},
        {".spec['containers'][0]['env'][X].value", "'1'", ".spec.containers[0].env[0].value"},
        {".spec.containers[0].ports[8080].containerPort", "8080", ".spec.containers[0].ports[0].containerPort"},
        {".spec.containers[0].args[7]", "'7'", ".spec.containers[0].args[1]"}, // an item of plain values by its value
        {".spec.containers[0].name", "'a'", ".spec.containers[0].name"},       // a place goes before a name
        {".labels.a\\.b/c", "'dotted'", ".labels.a\\.b/c"},
        {".labels['a.b/c']", "'dotted'", ".labels.a\\.b/c"},
        {".labels['it\\'s']", "'quoted'", ".labels['it\\'s']"},
        {".labels[7]", "'seven'", ".labels.7"},
        {".labels['']", "'nothing'", ".labels['']"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_path_found found;
        assert_ok(prg_path_find(&f->arena, f->root, cases[i][0], &found, &f->err), &f->err);
        assert_non_null(found.node);
        assert_json_text(&f->arena, found.node, cases[i][1]);
        assert_string_equal(found.path, cases[i][2]);
    }
}

static void the_root_is_a_dot_or_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const roots[] = {"", "."};
    for (size_t i = 0; i < PRG_COUNT(roots); i++) {
        struct prg_path_found found;
        assert_ok(prg_path_find(&f->arena, f->root, roots[i], &found, &f->err), &f->err);
        assert_ptr_equal(found.node, f->root);
        assert_string_equal(found.path, "");
    }
}

static void what_is_missing_is_told_with_the_deepest_place(void **state)
{
    static const char *const cases[][3] = {
        {".spec.containers[0].envv.x", ".spec.containers[0]", "envv"},
        {".spec.containers[nobody].env", ".spec.containers", "nobody"},
        {".spec.containers.a", ".spec.containers", "a"}, // an item by name needs brackets
        {".spec.containers[0].name.deeper", ".spec.containers[0].name", "deeper"},
        {"/spec/none/x", ".spec", "none"},
        {".x", "", "x"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_path_found found;
        assert_ok(prg_path_find(&f->arena, f->root, cases[i][0], &found, &f->err), &f->err);
        assert_null(found.node);
        assert_string_equal(found.path, cases[i][1]);
        assert_string_equal(found.missing, cases[i][2]);
        assert_non_null(found.parent);
    }
}

static void a_path_that_cannot_be_read_says_where(void **state)
{
    static const char *const cases[][2] = {
        {".a..b", "character 4: a key is missing"},
        {".a[", "nothing within [ ]"},
        {".a[]", "nothing within [ ]"},
        {".a[1", "[ is not closed"},
        {".a['b", "the quotes are not closed"},
        {".a['b'", "the quotes are not closed"},
        {".a.", "a key is missing"},
        {"/a~", "no JSON pointer"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_path_found found;
        f->err = (struct prg_error){0};
        assert_int_equal(prg_path_find(&f->arena, f->root, cases[i][0], &found, &f->err), PRG_INVALID);
        assert_error_has(&f->err, cases[i][1]);
    }
}

static void find_again(const char *path, const cJSON *node, enum prg_origin origin, void *ctx)
{
    struct fixture *f = ctx;
    struct prg_path_found found;
    (void)origin;
    assert_ok(prg_path_find(&f->arena, f->root, path, &found, &f->err), &f->err);
    assert_ptr_equal(found.node, node);
    assert_string_equal(found.path, path);
}

static void every_path_that_a_plan_tells_is_found_again(void **state)
{
    struct fixture *f = *state;
    prg_plan_each_field(f->root, find_again, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_path_finds_its_field_and_is_told_with_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_root_is_a_dot_or_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_is_told_with_the_deepest_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_that_cannot_be_read_says_where, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_path_that_a_plan_tells_is_found_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
