// SPDX-License-Identifier: Apache-2.0
// test_compat.c: the two answers and their flags.
#include "serving/compat.h"
#include "support/support.h"

static void the_two_answers_have_names(void **state)
{
    (void)state;
    assert_ptr_equal(prg_compat_by_name("kserve"), &prg_compat_kserve);
    assert_ptr_equal(prg_compat_by_name("fixed"), &prg_compat_fixed);
    assert_null(prg_compat_by_name("Fixed"));
    assert_null(prg_compat_by_name(""));
    assert_null(prg_compat_by_name(NULL));
}

static void kserve_mends_nothing_and_fixed_everything(void **state)
{
    (void)state;
    for (int i = 0; i < PRG_COMPAT_COUNT; i++) {
        assert_false(prg_mended(&prg_compat_kserve, (enum prg_compat_flag)i));
        assert_true(prg_mended(&prg_compat_fixed, (enum prg_compat_flag)i));
    }
}

static void policies_see_every_flag_by_name(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    const cJSON *fixed = prg_compat_to_json(&arena, &prg_compat_fixed);
    const cJSON *kserve = prg_compat_to_json(&arena, &prg_compat_kserve);
    assert_int_equal(prg_json_count(fixed), PRG_COMPAT_COUNT);
    for (int i = 0; i < PRG_COMPAT_COUNT; i++) {
        const char *name = prg_compat_flag_name((enum prg_compat_flag)i);
        assert_true(prg_json_get_true(fixed, name));
        assert_true(prg_json_is_bool(prg_json_get(kserve, name)) && !prg_json_get_true(kserve, name));
    }
    assert_string_equal(prg_compat_flag_name(PRG_COMPAT_placeholder_text), "placeholder_text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_two_answers_have_names),
        cmocka_unit_test(kserve_mends_nothing_and_fixed_everything),
        cmocka_unit_test(policies_see_every_flag_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
