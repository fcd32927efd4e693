// SPDX-License-Identifier: Apache-2.0
// test_late.c: libraries that are loaded when they are needed, and what is said of one that is not there.
#include "support/support.h"

#include <string.h>

#include "base/late.h"

static void ask_for_no_library(void)
{
    prg_late_library("libnowhere.so.7", "libnowhere7");
}

static void ask_for_no_function(void)
{
    prg_late_symbol(prg_late_library("libm.so.6", "libc6"), "libm.so.6", "no_such_function");
}

static void a_library_that_is_not_there_is_named_with_its_package(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(exit_of(ask_for_no_library, said, sizeof(said)), 2);
    assert_non_null(strstr(said, "libnowhere.so.7"));
    assert_non_null(strstr(said, "libnowhere7"));
}

static void a_function_that_is_not_there_is_named_with_its_library(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(exit_of(ask_for_no_function, said, sizeof(said)), 2);
    assert_non_null(strstr(said, "libm.so.6"));
    assert_non_null(strstr(said, "no_such_function"));
}

static void a_function_that_is_there_can_be_called(void **state)
{
    (void)state;
    double (*root)(double) = NULL;
    *(void **)&root = prg_late_symbol(prg_late_library("libm.so.6", "libc6"), "libm.so.6", "sqrt");
    assert_true(root(16.0) == 4.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_is_not_there_is_named_with_its_package),
        cmocka_unit_test(a_function_that_is_not_there_is_named_with_its_library),
        cmocka_unit_test(a_function_that_is_there_can_be_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
