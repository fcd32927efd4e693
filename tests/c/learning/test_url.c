// SPDX-License-Identifier: Apache-2.0
#include "support/support.h"

#include <string.h>

#include "base/base64.h"
#include "learning/url.h"

static void urls_are_taken_apart_as_go_does(void **state)
{
    static const struct {
        const char *text, *scheme, *host, *path;
    } cases[] = {
        {"", "", "", ""},
        {"/a/b.txt", "", "", "/a/b.txt"},
        {"a/b", "", "", "a/b"},
        {"s3://bkt/k/m.ckpt", "s3", "bkt", "/k/m.ckpt"},
        {"S3://Bkt/x", "s3", "Bkt", "/x"},
        {"http://u:p@host:80/d%20e?q=1#f", "http", "host:80", "/d e"},
        {"//host/p", "", "host", "/p"},
        {"///p", "", "", "///p"},
        {"/a?b", "", "", "/a"},
        {"mailto:x@y", "mailto", "", ""},
        {"file:///d", "file", "", "/d"},
        {"/a:b", "", "", "/a:b"},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_url url;
        struct prg_error err = {0};
        assert_ok(prg_url_parse(&arena, cases[i].text, &url, &err), &err);
        assert_string_equal(url.scheme, cases[i].scheme);
        assert_string_equal(url.host, cases[i].host);
        assert_string_equal(url.path, cases[i].path);
    }
}

static void what_go_refuses_is_refused(void **state)
{
    static const char *const cases[] = {":x", "a:b/c\x01", "/a%zz", "/a%2", "1a:b", "/%00"};
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        struct prg_url url;
        struct prg_error err = {0};
        assert_int_equal(prg_url_parse(&arena, cases[i], &url, &err), PRG_INVALID);
        assert_error_has(&err, "is not a URL");
    }
}

static void paths_are_joined_and_cleaned(void **state)
{
    static const char *const cases[][3] = {
        {"/home/data", "/a//b/", "/home/data/a/b"},
        {"/home/data", "", "/home/data"},
        {"", "", ""},
        {"/d", "../../x", "/x"},
        {"/d", "./a/../b", "/d/b"},
        {"", "../a", "../a"},
        {"", "a/..", "."},
        {"/downloads", "h/p", "/downloads/h/p"},
    };
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_string_equal(prg_path_join(&arena, cases[i][0], cases[i][1]), cases[i][2]);
    assert_string_equal(prg_path_directory(&arena, "/a/b"), "/a/");
    assert_string_equal(prg_path_directory(&arena, "/a/b/"), "/a/b/");
    assert_string_equal(prg_path_directory(&arena, "b"), "");
}

static void base64_goes_both_ways(void **state)
{
    static const char *const cases[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}};
    static const char *const bad[] = {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Z g=", "Zm9v!"};
    prg_auto_arena arena;
    size_t length;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        assert_string_equal(prg_base64_encode(&arena, cases[i][0], strlen(cases[i][0])), cases[i][1]);
        assert_string_equal(prg_base64_decode(&arena, cases[i][1], strlen(cases[i][1]), &length), cases[i][0]);
        assert_int_equal(length, strlen(cases[i][0]));
    }
    assert_string_equal(prg_base64_decode(&arena, "Zm9v\nYg==", 9, &length), "foob");
    for (size_t i = 0; i < PRG_COUNT(bad); i++)
        assert_null(prg_base64_decode(&arena, bad[i], strlen(bad[i]), &length));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_taken_apart_as_go_does),
        cmocka_unit_test(what_go_refuses_is_refused),
        cmocka_unit_test(paths_are_joined_and_cleaned),
        cmocka_unit_test(base64_goes_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
