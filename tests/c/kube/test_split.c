// SPDX-License-Identifier: Apache-2.0
// test_split.c: cutting objects out of lists and watches, whatever the pieces.
#include "kube/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "support/support.h"

struct got { // objects as "TYPE|text\n"
    struct prg_strbuf text;
    unsigned stop_after; // 0: never
    unsigned count;
};

static bool take(const char *type, const char *text, size_t length, void *ctx)
{
    struct got *got = ctx;
    prg_strbuf_printf(&got->text, "%s|%.*s\n", type ? type : "-", (int)length, text);
    return ++got->count != got->stop_after;
}

// Feeds text in pieces of `size` bytes, of which the first has `first`; returns the first failure, or that of finish.
static int cut(enum prg_split_kind kind, size_t max, const char *text, size_t length, size_t first, size_t size,
               struct got *got, char **ret_metadata, struct prg_error *err)
{
    struct prg_split_handler handler = {take, got};
    struct prg_split *split = prg_split_new(kind, max, &handler);
    int rc = PRG_OK;
    for (size_t at = 0; at < length && rc == PRG_OK;) {
        size_t piece = at == 0 && first ? first : size;
        if (piece > length - at)
            piece = length - at;
        char *copy = prg_xstrndup(text + at, piece); // so that a sanitizer sees reads beyond the piece
        rc = prg_split_feed(split, copy, piece, err);
        free(copy);
        at += piece;
    }
    if (rc == PRG_OK)
        rc = prg_split_finish(split, err);
    if (ret_metadata)
        *ret_metadata = prg_xstrdup(prg_split_member(split, "metadata"));
    prg_split_free(split);
    return rc;
}

static void assert_cut(enum prg_split_kind kind, const char *text, const char *want)
{
    size_t length = strlen(text);
    for (size_t first = 0; first <= length; first++) {
        struct got got = {.text = PRG_STRBUF_INIT};
        struct prg_error err = {0};
        assert_ok(cut(kind, 0, text, length, first, first ? length : 1, &got, NULL, &err), &err);
        assert_string_equal(got.text.text, want);
        prg_strbuf_release(&got.text);
    }
}

static void assert_refused(enum prg_split_kind kind, const char *text, size_t length, enum prg_code code,
                           const char *part)
{
    for (size_t size = 1; size <= length; size += length) {
        struct got got = {.text = PRG_STRBUF_INIT};
        struct prg_error err = {0};
        assert_int_equal(cut(kind, 0, text, length, 0, size, &got, NULL, &err), code);
        assert_error_has(&err, part);
        prg_strbuf_release(&got.text);
    }
}

static void items_are_cut_wherever_the_pieces_end(void **state)
{
    (void)state;
    assert_cut(
        PRG_SPLIT_LIST,
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"a\":\"}]\\\"{\",\"b\":[1,{}]},"
        "{\"c\":\"\\\\\"}]}\n",
        "-|{\"a\":\"}]\\\"{\",\"b\":[1,{}]}\n-|{\"c\":\"\\\\\"}\n");
    assert_cut(PRG_SPLIT_LIST, " { \"other\" : 12.5e3 , \"more\":true,\"items\" : [ { } , {\n} ] , \"last\": \"x\" } ",
               "-|{ }\n-|{\n}\n");
    assert_cut(PRG_SPLIT_LIST, "{\"items\":[]}", "");
    assert_cut(PRG_SPLIT_LIST, "{\"items\":null,\"metadata\":{}}", "");
}

static void events_are_cut_wherever_the_pieces_end(void **state)
{
    (void)state;
    assert_cut(
        PRG_SPLIT_WATCH,
        "{\"type\":\"ADDED\",\"object\":{\"a\":\"\xc3\xa4\"}}\n\r\n\n{\"object\":{\"b\":{}},\"type\":\"DELETED\"}\r\n"
        "{\"type\":\"BOOKMARK\",\"x\":[{}],\"object\":{}}{\"type\":\"ERROR\",\"object\":{\"code\":410}}",
        "ADDED|{\"a\":\"\xc3\xa4\"}\nDELETED|{\"b\":{}}\nBOOKMARK|{}\nERROR|{\"code\":410}\n");
}

static void metadata_may_stand_on_either_side_of_the_items(void **state)
{
    static const char *const texts[] = {
        "{\"metadata\":{\"continue\":\"x\"},\"items\":[{}]}",
        "{\"items\":[{}],\"metadata\":{\"continue\":\"x\"}}",
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(texts); i++)
        for (size_t size = 1; size < 60; size += 7) {
            struct got got = {.text = PRG_STRBUF_INIT};
            struct prg_error err = {0};
            char *metadata;
            assert_ok(cut(PRG_SPLIT_LIST, 0, texts[i], strlen(texts[i]), 0, size, &got, &metadata, &err), &err);
            assert_string_equal(metadata, "{\"continue\":\"x\"}");
            free(metadata);
            prg_strbuf_release(&got.text);
        }
}

static void a_list_that_is_cut_is_refused(void **state)
{
    const char *text = "{\"metadata\":{},\"items\":[{\"a\":1},{\"b\":2}]}";
    (void)state;
    for (size_t length = 0; length < strlen(text); length++) {
        struct got got = {.text = PRG_STRBUF_INIT};
        struct prg_error err = {0};
        assert_int_equal(cut(PRG_SPLIT_LIST, 0, text, length, 0, 100, &got, NULL, &err), PRG_INVALID);
        assert_error_has(&err, "in the middle of the list");
        prg_strbuf_release(&got.text);
    }
}

static void a_last_event_that_is_cut_is_dropped(void **state)
{
    const char *text = "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"DELETED\",\"object\":{\"a\":1}}";
    (void)state;
    for (size_t length = 29; length < strlen(text); length++) {
        struct got got = {.text = PRG_STRBUF_INIT};
        struct prg_error err = {0};
        assert_ok(cut(PRG_SPLIT_WATCH, 0, text, length, 0, 5, &got, NULL, &err), &err);
        assert_string_equal(got.text.text, "ADDED|{}\n");
        prg_strbuf_release(&got.text);
    }
}

static void what_is_no_list_is_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"<html>", "byte 0 of the answer: '<' where '{' is expected"},
        {"[]", "'[' where '{' is expected"},
        {"{\"kind\":\"Status\"}", "the answer is no list: it has no items"},
        {"{}", "it has no items"},
        {"{\"items\":{}}", "byte 9 of the answer: '{' where '[' of the items is expected"},
        {"{\"items\":[1]}", "'1' where '{' of an item is expected"},
        {"{\"items\":[{},]}", "']' where '{' of an item is expected"},
        {"{\"items\":[{}{}]}", "'{' where ',' or ']' of the items is expected"},
        {"{\"items\":[],\"items\":[]}", "a second member 'items'"},
        {"{\"metadata\":{},\"metadata\":{},\"items\":[]}", "a member that is there already"},
        {"{\"items\":[]}x", "'x' where the end of the answer is expected"},
        {"{\"a\":,\"items\":[]}", "',' where a value is expected"},
        {"{\"a\" 1}", "'1' where ':' is expected"},
        {"{a:1}", "'a' where a key is expected"},
        {"{\"a\":1,}", "'}' where a key is expected"},
        {"{\"a\":1 2}", "'2' where ',' or '}' is expected"},
        {"{\"a\\n\":1}", "a key that is too long or not plain"},
        {"{\"a\":1\"b\"}", "a value that is not JSON"},
        {"{\"items\":[{\"a\":\"line\nbreak\"}]}", "a NUL or control character"},
        {"{\"items\":[{\x01}]}", "a NUL or control character"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_refused(PRG_SPLIT_LIST, cases[i].text, strlen(cases[i].text), PRG_INVALID, cases[i].error);
}

static void what_is_no_event_is_refused(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{}", "an event without a type"},
        {"{\"type\":7,\"object\":{}}", "an event without a type"},
        {"{\"type\":\"\",\"object\":{}}", "an event without a type"},
        {"{\"type\":\"A\\u0000\",\"object\":{}}", "an event without a type"},
        {"{\"type\":\"ADDED\"}", "an event without an object"},
        {"{\"type\":\"ADDED\",\"object\":[]}", "an event without an object"},
        {"{\"type\":\"ADDED\",\"object\":null}", "an event without an object"},
        {"{\"type\":\"ADDED\",\"type\":\"ADDED\",\"object\":{}}", "there already"},
        {"too old resource version", "'t' where '{' is expected"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++)
        assert_refused(PRG_SPLIT_WATCH, cases[i].text, strlen(cases[i].text), PRG_INVALID, cases[i].error);
}

static void nul_bytes_are_refused_everywhere(void **state)
{
    const char text[] = "{\"type\":\"ADDED\",\"object\":{\"a\":\"b\"}}\n{";
    (void)state;
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        char copy[sizeof(text)];
        memcpy(copy, text, sizeof(text));
        copy[i] = '\0';
        assert_refused(PRG_SPLIT_WATCH, copy, sizeof(text) - 1, PRG_INVALID, "byte ");
    }
}

static void an_object_over_its_limit_is_refused_as_it_comes(void **state)
{
    struct got got = {.text = PRG_STRBUF_INIT};
    struct prg_error err = {0};
    (void)state;
    const char *text = "{\"items\":[{\"a\":1},{\"a\":\"0123456789\"";
    assert_int_equal(cut(PRG_SPLIT_LIST, 10, text, strlen(text), 0, 1, &got, NULL, &err), PRG_LIMIT);
    assert_error_has(&err, "an object of more than 10 bytes");
    assert_string_equal(got.text.text, "-|{\"a\":1}\n");
    prg_strbuf_release(&got.text);
}

static void a_handler_may_end_it(void **state)
{
    struct got got = {.text = PRG_STRBUF_INIT, .stop_after = 2};
    struct prg_error err = {0};
    (void)state;
    const char *text = "{\"items\":[{},{},{},{}]}";
    assert_int_equal(cut(PRG_SPLIT_LIST, 0, text, strlen(text), 0, 100, &got, NULL, &err), PRG_CONFLICT);
    assert_int_equal(got.count, 2);
    prg_strbuf_release(&got.text);
}

static void an_object_of_a_mebibyte_in_small_pieces_comes_whole(void **state)
{
    struct prg_strbuf text = PRG_STRBUF_INIT;
    struct got got = {.text = PRG_STRBUF_INIT};
    struct prg_error err = {0};
    (void)state;
    prg_strbuf_puts(&text, "{\"type\":\"ADDED\",\"object\":{\"a\":\"");
    prg_strbuf_pad(&text, 'x', 1 << 20);
    prg_strbuf_puts(&text, "\"}}\n");
    assert_ok(cut(PRG_SPLIT_WATCH, 0, text.text, text.length, 0, 1000, &got, NULL, &err), &err);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.text.length, (1 << 20) + strlen("ADDED|{\"a\":\"\"}\n"));
    prg_strbuf_release(&got.text);
    prg_strbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_cut_wherever_the_pieces_end),
        cmocka_unit_test(events_are_cut_wherever_the_pieces_end),
        cmocka_unit_test(metadata_may_stand_on_either_side_of_the_items),
        cmocka_unit_test(a_list_that_is_cut_is_refused),
        cmocka_unit_test(a_last_event_that_is_cut_is_dropped),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(what_is_no_event_is_refused),
        cmocka_unit_test(nul_bytes_are_refused_everywhere),
        cmocka_unit_test(an_object_over_its_limit_is_refused_as_it_comes),
        cmocka_unit_test(a_handler_may_end_it),
        cmocka_unit_test(an_object_of_a_mebibyte_in_small_pieces_comes_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
