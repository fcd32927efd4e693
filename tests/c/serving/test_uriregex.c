// SPDX-License-Identifier: Apache-2.0
// test_uriregex.c: Go's regular expressions on PCRE2.
#include "support/support.h"

#include <string.h>

#include "serving/uriregex.h"

static int match(const char *expression, const char *text, bool *ret, struct prg_error *err)
{
    return prg_uriregex_match(expression, text, strlen(text), ret, err);
}

static void expressions_match_anywhere_as_in_go(void **state)
{
    static const struct {
        const char *expression, *text;
        bool matches;
    } cases[] = {
        {"https://(.+?).blob.core.windows.net/(.+)", "https://a.blob.core.windows.net/c/p", true},
        {"https://(.+?).blob.core.windows.net/(.+)", "https://.blob.core.windows.net/c", false},
        {"https://(.+?).blob.core.windows.net/(.+)", "https://a.blob.core.windows.net/", false},
        {"https?://(.+)/(.+)", "see http://host/x", true},
        {"b/m$", "s3://b/m", true},
        {"b/m$", "s3://b/m\n", false}, // $ is the very end
        {"^ftp://.*", "ftp://h", true},
        {"[a-z]+3://", "s3://", true},
        {"(?i)FTP", "ftp://x", true},
        {"(?i:A)b", "ab", true},
        {"(?i:A)b", "aB", false},
        {"(?P<host>[^/]+)/", "h/p", true},
        {"(?<host>[^/]+)/", "h/p", true},
        {"(?:a|b){2,3}c", "abc", true},
        {"a.c", "a\nc", false},
        {"(?s)a.c", "a\nc", true},
        {"\\Qa.b\\E$", "a.b", true},
        {"\\Qa.b", "axb", false},
        {"\\x41\\x{42}\\101", "ABA", true},
        {"[\\d\\-]+$", "4-2", true},
        {"[[:alpha:]]{3}", "ab1", false},
        {"[[:^digit:]]", "1a", true},
        {"\\pL\\p{Greek}", "aλ", true},
        {"\\bfoo\\b", "a foo b", true},
        {"\\w", "é", false}, // ASCII only
        {"a{,2}", "a{,2}", true},
        {"[]a]+", "]", true},
        {"[^]a]", "]", false},
        {"[[]", "[", true},
        {"\\v", "\x0b", true},
        {"", "anything", true},
        {"x*?y", "y", true},
        {"\\Aab\\z", "ab", true},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        bool matches = false;
        struct prg_error err = {0};
        assert_ok(match(cases[i].expression, cases[i].text, &matches, &err), &err);
        if (matches != cases[i].matches)
            print_error("'%s' on '%s'\n", cases[i].expression, cases[i].text);
        assert_int_equal(matches, cases[i].matches);
    }
}

static void what_go_does_not_have_is_refused(void **state)
{
    static const char *const expressions[] = {
        "([",
        "(",
        ")",
        "a)",
        "[a",
        "[[:foo:]]",
        "(a)\\1",
        "\\8",
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "(?>a)",
        "a++",
        "a**",
        "a{2}{3}",
        "a*??",
        "(?R)",
        "(?1)",
        "(?&x)",
        "(?C1)",
        "(?#c)",
        "(*ACCEPT)",
        "(?|a)",
        "\\K",
        "\\R",
        "\\X",
        "\\Z",
        "\\h",
        "\\e",
        "\\cA",
        "\\g1",
        "\\k<a>",
        "(?P=a)",
        "(?x)a",
        "(?'a'b)",
        "a{1001}",
        "a{3,2}",
        "*a",
        "\\",
        "\\xZ",
        "\\x{41",
        "\\p{Nope}",
        "\\p{L",
        "\\p1",
        "[a-\\d]",
        "[\\d-z]",
        "(?<>a)",
        "(?<a b>c)",
        "\\C",
        "[z-a]",
        "[[:alpha:]-z]",
        "(?P<a>x)(?P<a>y)",
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(expressions); i++) {
        bool matches = false;
        struct prg_error err = {0};
        int rc = match(expressions[i], "a", &matches, &err);
        if (rc != PRG_INVALID)
            print_error("'%s' gives %d\n", expressions[i], rc);
        assert_int_equal(rc, PRG_INVALID);
        assert_error_has(&err, expressions[i]);
    }
}

// Without a limit the first two would take 2^4000 steps; that they end is the test.
static void matching_takes_a_bounded_number_of_steps(void **state)
{
    static const struct {
        const char *expression;
        int rc;
    } cases[] = {
        {"(a+)+$", PRG_LIMIT},
        {"(a|aa)+$", PRG_LIMIT},
        {"(a*)*b", PRG_OK}, // no b, no match: PCRE2 looks for it first
        {"(.*)(.*)(.*)(.*)(.*)[x]$", PRG_OK},
    };
    char text[4001];
    (void)state;
    memset(text, 'a', sizeof(text) - 2);
    text[sizeof(text) - 2] = '!';
    text[sizeof(text) - 1] = '\0';
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        bool matches = false;
        struct prg_error err = {0};
        assert_int_equal(match(cases[i].expression, text, &matches, &err), cases[i].rc);
        assert_false(matches);
        if (cases[i].rc == PRG_LIMIT)
            assert_error_has(&err, "matching takes more than 1000000 steps");
    }
}

static void long_and_deep_expressions_are_refused(void **state)
{
    bool matches = false;
    struct prg_error err = {0};
    char *expression = test_calloc(1, 70001);
    (void)state;
    memset(expression, 'a', 70000);
    assert_int_equal(match(expression, "a", &matches, &err), PRG_LIMIT);
    memset(expression, '(', 300);
    memset(expression + 300, ')', 300);
    expression[600] = '\0';
    assert_int_equal(match(expression, "a", &matches, &err), PRG_INVALID);
    assert_error_has(&err, "nested too deeply");
    test_free(expression);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_match_anywhere_as_in_go),
        cmocka_unit_test(what_go_does_not_have_is_refused),
        cmocka_unit_test(matching_takes_a_bounded_number_of_steps),
        cmocka_unit_test(long_and_deep_expressions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
