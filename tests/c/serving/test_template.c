// SPDX-License-Identifier: Apache-2.0
// test_template.c: corners of the placeholder language: what ends too early, what is too much, what is no escape.
#include "support/support.h"

#include <string.h>

#include "serving/podspec.h"

static int replaced(struct prg_arena *arena, const char *template, const char **ret, struct prg_error *err)
{
    cJSON *container = prg_json_object(arena), *filled = NULL;
    prg_json_set_string(arena, container, "name", "c");
    prg_json_append(prg_json_ensure_array(arena, container, "args"), prg_json_string(arena, template));
    int rc = prg_placeholders_replace(
        arena, container, json_of(arena, "{'name':'m','namespace':'n','labels':{'a':'x'}}"), false, &filled, err);
    if (rc == PRG_OK)
        *ret = prg_json_text(prg_json_item(prg_json_get(filled, "args"), 0));
    return rc;
}

static void what_is_wrong_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *template, *error;
    } cases[] = {
        {"{{ (.Name }}", "is not closed"},
        {"{{ if }}x{{ end }}", "a value is missing in if"},
        {"{{ range $i, }}x{{ end }}", "only variables can stand"},
        {"{{ .Name", "is a }} missing?"},
        {"{{ (", "not closed"},
        {"{{ \"a\\", "not closed"},
        {"{{ \"a\\x4\" }}", "\\x4"},
        {"{{ \"a\\400\" }}", "\\400"},
        {"{{ \"\\189\" }}", "\\189"},
        {"{{ \"\\q\" }}", "\\q"},
        {"{{ .5 }}", "number .5 is not supported"},
        {"{{ $x = 1 }}", "$x is not declared"},
        {"{{ range $k, $v = .Labels }}{{ end }}", "$k"},
        {"{{ printf \"%s\" (index .Labels 1 2) }}", "index"},
        {"{{ nope .Name }}", "no function 'nope'"},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_error err = {0};
        const char *text = NULL;
        int rc = replaced(&arena, cases[i].template, &text, &err);
        if (rc == PRG_OK)
            print_error("%s gives '%s'\n", cases[i].template, text);
        assert_int_equal(rc, PRG_INVALID);
        assert_error_has(&err, cases[i].error);
        prg_error_clear(&err);
    }
}

static void trim_marks_take_the_space_around_them(void **state)
{
    prg_auto_arena arena;
    struct prg_error err = {0};
    const char *text = NULL;
    (void)state;
    prg_arena_init(&arena);
    assert_ok(replaced(&arena, "a  {{-  .Name   -}}  b", &text, &err), &err);
    assert_string_equal(text, "amb");
    assert_ok(replaced(&arena, "{{ printf \"%s\\x41\\101\\u00e9\\t\" .Name }}", &text, &err), &err);
    assert_string_equal(text, "mAA\xc3\xa9\t");
}

static void variables_steps_and_nesting_are_bounded(void **state)
{
    static const struct {
        const char *part, *error;
        size_t count;
    } cases[] = {
        {"{{ $x := 1 }}", "variables", 600},
        {"{{ if .Name }}", "nested", 1000},
        {"{{ .Name }}{{ range .Labels }}{{ . }}{{ end }}", "steps", 60000},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_strbuf template = PRG_STRBUF_INIT;
        struct prg_error err = {0};
        const char *text = NULL;
        for (size_t n = 0; n < cases[i].count; n++)
            prg_strbuf_puts(&template, cases[i].part);
        assert_int_not_equal(replaced(&arena, template.text, &text, &err), PRG_OK);
        assert_error_has(&err, cases[i].error);
        prg_error_clear(&err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_refused_with_its_reason),
        cmocka_unit_test(trim_marks_take_the_space_around_them),
        cmocka_unit_test(variables_steps_and_nesting_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
