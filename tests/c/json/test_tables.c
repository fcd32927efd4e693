// SPDX-License-Identifier: Apache-2.0
// test_tables.c: the recorded answers of Kubernetes' libraries to merge patches, row by row.
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "json/merge.h"
#include "json/strategic.h"

// Called for each row: returns whether the answer is the recorded one. *ret_got is what was answered, NULL for a
// refusal.
typedef bool (*row_fn)(struct prg_arena *arena, const cJSON *row, const cJSON **ret_got, struct prg_error *err);

static void check_table(const char *path, size_t least_rows, row_fn check)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    const cJSON *rows = prg_json_get(read_test_json(&arena, path), "rows"), *row;
    size_t failed = 0, index = 0;
    assert_true(prg_json_count(rows) >= least_rows);
    prg_json_each (row, rows) {
        struct prg_error err = {0};
        const cJSON *got = NULL;
        char text[PRG_ERROR_LINE];
        if (!check(&arena, row, &got, &err)) {
            print_error("%s row %zu: %s\n  answered %s\n  error    %s\n", path, index,
                        prg_json_print_arena(&arena, row, PRG_JSON_SORTED),
                        got ? prg_json_print_arena(&arena, got, PRG_JSON_SORTED) : "nothing",
                        prg_error_text(&err, text, sizeof(text)));
            failed++;
        }
        index++;
    }
    assert_int_equal(failed, 0);
}

static bool strategic_row(struct prg_arena *arena, const cJSON *row, const cJSON **ret_got, struct prg_error *err)
{
    const cJSON *pod = prg_json_get(row, "pod"), *patch = prg_json_get(row, "patch");
    uint64_t pod_before = prg_json_digest(pod), patch_before = prg_json_digest(patch);
    cJSON *got = NULL;
    int rc = prg_strategic_apply(arena, &prg_schema_pod, pod, patch, &got, err);
    assert_true(pod_before == prg_json_digest(pod) && patch_before == prg_json_digest(patch)); // inputs untouched
    *ret_got = got;
    if (!prg_json_get_true(row, "ok"))
        return rc == PRG_INVALID;
    return rc == PRG_OK && prg_json_equal(got, prg_json_get(row, "result"));
}

static void strategic_merge_answers_as_recorded(void **state)
{
    (void)state;
    check_table("cases/tables/strategic_merge_pod.json", 75, strategic_row);
}

static bool strategic_create_row(struct prg_arena *arena, const cJSON *row, const cJSON **ret_got,
                                 struct prg_error *err)
{
    cJSON *got = NULL;
    int rc =
        prg_strategic_create(arena, &prg_schema_pod, prg_json_get(row, "from"), prg_json_get(row, "to"), &got, err);
    *ret_got = got;
    return rc == PRG_OK && prg_json_equal(got, prg_json_get(row, "patch"));
}

static void strategic_create_answers_as_recorded(void **state)
{
    (void)state;
    check_table("cases/tables/strategic_merge_create.json", 46, strategic_create_row);
}

static bool merge_row(struct prg_arena *arena, const cJSON *row, const cJSON **ret_got, struct prg_error *err)
{
    (void)err;
    *ret_got = prg_merge_apply(arena, prg_json_get(row, "doc"), prg_json_get(row, "patch"));
    return prg_json_get_true(row, "ok") && prg_json_equal(*ret_got, prg_json_get(row, "result"));
}

static void merge_answers_as_recorded(void **state)
{
    (void)state;
    check_table("cases/tables/merge_patch_apply.json", 13, merge_row);
}

// The tree with every number as the nearest double prints it.
static cJSON *as_doubles(struct prg_arena *arena, const cJSON *node)
{
    if (prg_json_is_number(node))
        return prg_json_double(arena, prg_json_as_double(node));
    cJSON *copy = prg_json_copy_empty(arena, node);
    const cJSON *item;
    prg_json_each (item, node) {
        if (prg_json_is_object(node))
            prg_json_add(arena, copy, item->string, as_doubles(arena, item));
        else
            prg_json_append(copy, as_doubles(arena, item));
    }
    return copy;
}

// The reference reads numbers as doubles, so that some recorded patches lead to 2^53 where 2^53 + 1 is asked for. Ours
// must lead to the document exactly, and be the recorded one, or the same as far as doubles can tell where the recorded
// one does not lead there.
static bool merge_create_row(struct prg_arena *arena, const cJSON *row, const cJSON **ret_got, struct prg_error *err)
{
    const cJSON *from = prg_json_get(row, "from"), *to = prg_json_get(row, "to"), *want = prg_json_get(row, "patch");
    cJSON *got = NULL;
    if (prg_merge_create(arena, from, to, &got, err) != PRG_OK)
        return false;
    *ret_got = got;
    if (!prg_json_equal(prg_merge_apply(arena, from, got), to))
        return false;
    if (prg_json_equal(prg_merge_apply(arena, from, want), to))
        return prg_json_equal(got, want);
    return prg_json_equal(as_doubles(arena, got), as_doubles(arena, want));
}

static void merge_create_answers_as_recorded(void **state)
{
    (void)state;
    check_table("cases/tables/merge_patch_create.json", 83, merge_create_row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategic_merge_answers_as_recorded),
        cmocka_unit_test(strategic_create_answers_as_recorded),
        cmocka_unit_test(merge_answers_as_recorded),
        cmocka_unit_test(merge_create_answers_as_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
