// SPDX-License-Identifier: Apache-2.0
// test_merge.c: JSON merge patches and differences, beyond what the recorded tables hold.
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "json/diff.h"
#include "json/merge.h"

static struct prg_arena arena;

static int set_up(void **state)
{
    (void)state;
    prg_arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    prg_arena_release(&arena);
    return 0;
}

static void merging_changes_only_what_the_patch_names(void **state)
{
    static const struct {
        const char *target, *patch, *result;
    } rows[] = {
        {"{'a':1,'b':2}", "{'a':null}", "{'b':2}"},
        {"{'a':1}", "{'b':2}", "{'a':1,'b':2}"},
        {"{'a':1}", "{}", "{'a':1}"},
        {"{'a':{'x':1,'y':2}}", "{'a':{'y':null,'z':3}}", "{'a':{'x':1,'z':3}}"},
        {"{'a':[1,2]}", "{'a':[3]}", "{'a':[3]}"},
        {"{'a':[1,2]}", "{'a':{'x':null,'y':1}}", "{'a':{'y':1}}"},
        {"{'a':{'x':1}}", "{'a':[1]}", "{'a':[1]}"},
        {"{'a':null}", "{'b':1}", "{'a':null,'b':1}"},
        {"{'a':null}", "{'a':{'b':{'c':null}}}", "{'a':{'b':{}}}"},
        {"{}", "{'a':{'b':{'c':null,'d':[null,{'e':null}]}}}", "{'a':{'b':{'d':[null,{}]}}}"},
        {"{'a':{'x':1}}", "{'a':[{'y':null}]}", "{'a':[{'y':null}]}"}, // a list in place of an object: as it is
        {"[1,2]", "{'a':1,'b':null}", "{'a':1}"},
        {"{'a':1}", "[1]", "[1]"},
        {"{'a':1}", "'text'", "'text'"},
        {"{'a':1}", "null", "null"},
        {"'text'", "{'a':{'b':null}}", "{'a':{}}"},
        {"{'a':'b'}", "{'a':{'b':null}}", "{'a':{}}"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *target = json_of(&arena, rows[i].target), *patch = json_of(&arena, rows[i].patch);
        cJSON *got = prg_merge_apply(&arena, target, patch);
        if (!prg_json_equal(got, json_of(&arena, rows[i].result)))
            fail_msg("%s with %s gives %s", rows[i].target, rows[i].patch, prg_json_print_arena(&arena, got, 0));
        assert_json_text(&arena, target, rows[i].target);
        assert_json_text(&arena, patch, rows[i].patch);
    }
    assert_json_text(&arena, prg_merge_apply(&arena, NULL, json_of(&arena, "{'a':1}")), "{'a':1}");
}

static void merged_nodes_keep_the_origin_of_their_side(void **state)
{
    (void)state;
    cJSON *target = json_of(&arena, "{'kept':1,'both':{'old':1,'changed':1}}");
    cJSON *patch = json_of(&arena, "{'both':{'changed':2,'new':3}}");
    prg_json_tag(target, 1);
    prg_json_tag(patch, 2);
    cJSON *got = prg_merge_apply(&arena, target, patch);
    assert_int_equal(prg_json_origin(prg_json_get(got, "kept")), 1);
    assert_int_equal(prg_json_origin(prg_json_at(got, "both")), 1);
    assert_int_equal(prg_json_origin(prg_json_at(got, "both", "old")), 1);
    assert_int_equal(prg_json_origin(prg_json_at(got, "both", "changed")), 2);
    assert_int_equal(prg_json_origin(prg_json_at(got, "both", "new")), 2);
}

static void a_created_patch_leads_from_one_to_the_other(void **state)
{
    static const struct {
        const char *from, *to, *patch; // patch NULL: there is none
    } rows[] = {
        {"{'a':1}", "{'a':1.0}", "{}"},
        {"{'a':null}", "{'a':null}", "{}"},
        {"{'a':null}", "{'a':1}", "{'a':1}"},
        {"{'a':[1,null]}", "{'a':[1,null]}", "{}"},
        {"{'a':[1]}", "{'a':[1,null]}", "{'a':[1,null]}"}, // null in a list is a value
        {"{'a':{'b':{'c':1,'d':2}}}", "{'a':{'b':{'c':1}}}", "{'a':{'b':{'d':null}}}"},
        {"{'a':1,'n':null}", "{'a':2,'n':null}", "{'a':2}"}, // a null that stays is not touched
        {"{'a':1}", "{'a':null}", NULL},
        {"{}", "{'a':null}", NULL},
        {"{}", "{'a':{'b':{'c':null}}}", NULL},
        {"{'a':[1]}", "{'a':[{'b':null}]}", NULL},
        {"[1]", "{'a':1}", "{'a':1}"},
        {"{'a':1}", "[1]", "[1]"},
        {"{'a':1}", "'x'", "'x'"},
        {"{'a':1}", "null", "null"},
        {"[1]", "{'a':null}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *from = json_of(&arena, rows[i].from), *to = json_of(&arena, rows[i].to), *got = NULL;
        struct prg_error err = {0};
        int rc = prg_merge_create(&arena, from, to, &got, &err);
        if (!rows[i].patch) {
            assert_int_equal(rc, PRG_INVALID);
            assert_null(got);
            continue;
        }
        assert_ok(rc, &err);
        if (!prg_json_equal(got, json_of(&arena, rows[i].patch)))
            fail_msg("from %s to %s: %s", rows[i].from, rows[i].to, prg_json_print_arena(&arena, got, 0));
        assert_json_equal(prg_merge_apply(&arena, from, got), to);
    }
}

static void a_null_that_no_patch_can_set_is_named(void **state)
{
    (void)state;
    struct prg_error err = {0};
    cJSON *got = NULL;
    assert_int_equal(prg_merge_create(&arena, json_of(&arena, "{'a':{}}"),
                                      json_of(&arena, "{'a':{'b/c':[0,{'d':null}]}}"), &got, &err),
                     PRG_INVALID);
    assert_error_has(&err, "/a/b~1c/1/d: a merge patch cannot set a field to null");
}

static void wide_objects_are_merged_through_an_index(void **state)
{
    (void)state;
    const int count = 20000;
    cJSON *from = prg_json_object(&arena), *to = prg_json_object(&arena);
    for (int i = 0; i < count; i++) {
        char key[24];
        snprintf(key, sizeof(key), "k%d", i);
        prg_json_add(&arena, from, key, prg_json_int(&arena, i));
        snprintf(key, sizeof(key), "k%d", count + 100 - i); // other order, other first and last members
        prg_json_add(&arena, to, key, prg_json_int(&arena, i % 7));
    }
    cJSON *patch = NULL;
    struct prg_error err = {0};
    assert_ok(prg_merge_create(&arena, from, to, &patch, &err), &err);
    assert_json_equal(prg_merge_apply(&arena, from, patch), to);
    assert_true(prg_diff(from, to, NULL, NULL) > 19000);
    assert_int_equal(prg_diff(to, prg_merge_apply(&arena, from, patch), NULL, NULL), 0);
}

static void note(const struct prg_diff_entry *entry, void *ctx)
{
    prg_strbuf_printf(ctx, "%s %s -> %s\n", entry->pointer,
                      entry->from ? prg_json_print_arena(&arena, entry->from, 0) : "nothing",
                      entry->to ? prg_json_print_arena(&arena, entry->to, 0) : "nothing");
}

static void differences_are_listed_in_the_order_of_the_first(void **state)
{
    static const struct {
        const char *from, *to, *differences;
    } rows[] = {
        {"{'a':1}", "{'a':1.0}", ""},
        {"{'b':1,'a':2}", "{'a':2,'b':1}", ""},
        {"1", "2", " 1 -> 2\n"},
        {"{}", "[]", " {} -> []\n"},
        {"{'b':1,'a':{'x':1}}", "{'a':{'x':2,'y':3},'c':4}",
         "/b 1 -> nothing\n/a/x 1 -> 2\n/a/y nothing -> 3\n/c nothing -> 4\n"},
        {"{'l':[1,2,3]}", "{'l':[1,4]}", "/l/1 2 -> 4\n/l/2 3 -> nothing\n"},
        {"{'l':[]}", "{'l':[{'a':1}]}", "/l/0 nothing -> {\"a\":1}\n"},
        {"{'a/b':{'~':1}}", "{'a/b':{'~':'1'}}", "/a~1b/~0 1 -> \"1\"\n"},
        {"{'a':null}", "{}", "/a null -> nothing\n"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        prg_auto_strbuf out = PRG_STRBUF_INIT;
        cJSON *from = json_of(&arena, rows[i].from), *to = json_of(&arena, rows[i].to);
        size_t count = prg_diff(from, to, note, &out), lines = 0;
        assert_string_equal(out.text, rows[i].differences);
        for (size_t j = 0; j < out.length; j++)
            lines += out.text[j] == '\n';
        assert_int_equal(count, lines);
        assert_int_equal(prg_diff(from, to, NULL, NULL), count);
    }
    assert_int_equal(prg_diff(NULL, NULL, NULL, NULL), 0);
    assert_int_equal(prg_diff(NULL, prg_json_null(&arena), NULL, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_changes_only_what_the_patch_names),
        cmocka_unit_test(merged_nodes_keep_the_origin_of_their_side),
        cmocka_unit_test(a_created_patch_leads_from_one_to_the_other),
        cmocka_unit_test(a_null_that_no_patch_can_set_is_named),
        cmocka_unit_test(wide_objects_are_merged_through_an_index),
        cmocka_unit_test(differences_are_listed_in_the_order_of_the_first),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
