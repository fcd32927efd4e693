// SPDX-License-Identifier: Apache-2.0
// test_value.c: making, changing, reading and comparing trees.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// The links of every list of children below node are what value.c promises.
static void check_links(const cJSON *node)
{
    const cJSON *item, *last = NULL;
    prg_json_each (item, node) {
        if (last)
            assert_ptr_equal(item->prev, last);
        assert_true(prg_json_is_object(node) == (item->string != NULL));
        check_links(item);
        last = item;
    }
    if (node->child)
        assert_ptr_equal(node->child->prev, last);
}

static void assert_compact(const cJSON *node, const char *want)
{
    check_links(node);
    assert_string_equal(prg_json_print_arena(&arena, node, 0), want);
}

static void an_object_is_built_member_by_member(void **state)
{
    (void)state;
    cJSON *object = prg_json_object(&arena);
    prg_json_set_string(&arena, object, "s", "text");
    prg_json_set_string(&arena, object, "none", NULL);
    prg_json_set_int(&arena, object, "i", INT64_MIN);
    prg_json_set_bool(&arena, object, "t", true);
    prg_json_set_bool(&arena, object, "f", false);
    prg_json_set(&arena, object, "n", prg_json_null(&arena));
    prg_json_set(&arena, object, "f1", prg_json_stringf(&arena, "%s-%d", "a", 1));
    prg_json_add(&arena, object, "d", prg_json_number(&arena, "1.50"));
    assert_compact(object,
                   "{\"s\":\"text\",\"i\":-9223372036854775808,\"t\":true,\"f\":false,\"n\":null,\"f1\":\"a-1\","
                   "\"d\":1.50}");
    prg_json_set_int(&arena, object, "s", 1); // replaced in place
    prg_json_set(&arena, object, "d", prg_json_array(&arena));
    assert_compact(object,
                   "{\"s\":1,\"i\":-9223372036854775808,\"t\":true,\"f\":false,\"n\":null,\"f1\":\"a-1\",\"d\":[]}");
}

static void keys_are_compared_byte_for_byte(void **state)
{
    (void)state;
    cJSON *object = json_of(&arena, "{'name':1,'Name':2}");
    prg_json_set_int(&arena, object, "NAME", 3);
    assert_compact(object, "{\"name\":1,\"Name\":2,\"NAME\":3}");
    int64_t value = 0;
    assert_true(prg_json_get_int64(object, "Name", &value) && value == 2);
    assert_null(prg_json_get(object, "nAME"));
}

static void members_and_items_come_and_go(void **state)
{
    (void)state;
    cJSON *object = json_of(&arena, "{'a':1,'b':2,'c':3}");
    cJSON *b = prg_json_remove(object, "b");
    assert_compact(object, "{\"a\":1,\"c\":3}");
    assert_null(prg_json_remove(object, "b"));
    prg_json_set(&arena, object, "again", b);
    assert_compact(object, "{\"a\":1,\"c\":3,\"again\":2}");
    prg_json_remove(object, "again");
    prg_json_remove(object, "a");
    prg_json_remove(object, "c");
    assert_compact(object, "{}");

    cJSON *array = prg_json_array(&arena);
    prg_json_insert(array, 5, prg_json_int(&arena, 2));
    prg_json_insert(array, 0, prg_json_int(&arena, 0));
    prg_json_insert(array, 1, prg_json_int(&arena, 1));
    prg_json_insert(array, 3, prg_json_int(&arena, 3));
    prg_json_append(array, b);
    assert_compact(array, "[0,1,2,3,2]");
    prg_json_detach(array, b);
    assert_compact(array, "[0,1,2,3]");
    prg_json_detach(array, prg_json_item(array, 1));
    assert_compact(array, "[0,2,3]");
    prg_json_replace(array, prg_json_item(array, 2), b);
    assert_compact(array, "[0,2,2]");
    prg_json_replace(array, prg_json_item(array, 0), prg_json_null(&arena));
    assert_compact(array, "[null,2,2]");
    prg_json_replace(array, b, b);
    assert_compact(array, "[null,2,2]");
    cJSON *single = json_of(&arena, "['x']");
    prg_json_replace(single, single->child, prg_json_bool(&arena, true));
    assert_compact(single, "[true]");
    prg_json_append(single, prg_json_bool(&arena, false));
    assert_compact(single, "[true,false]");
}

static void ensure_makes_what_is_missing(void **state)
{
    (void)state;
    cJSON *object = json_of(&arena, "{'a':{'x':1},'b':[1],'c':'text'}");
    assert_ptr_equal(prg_json_ensure_object(&arena, object, "a"), prg_json_get(object, "a"));
    assert_ptr_equal(prg_json_ensure_array(&arena, object, "b"), prg_json_get(object, "b"));
    assert_compact(prg_json_ensure_object(&arena, object, "c"), "{}");
    assert_compact(prg_json_ensure_array(&arena, object, "d"), "[]");
    assert_compact(object, "{\"a\":{\"x\":1},\"b\":[1],\"c\":{},\"d\":[]}");
}

static void absent_nodes_read_as_absent(void **state)
{
    (void)state;
    int64_t value = 7;
    cJSON *text = prg_json_string(&arena, "x"), *object = json_of(&arena, "{'a':{'b':[1,true]},'n':'1'}"), *item;
    assert_null(prg_json_get(NULL, "a"));
    assert_null(prg_json_get(text, "a"));
    assert_null(prg_json_item(object, 0));
    assert_null(prg_json_item(NULL, 0));
    assert_null(prg_json_item(prg_json_at(object, "a", "b"), 2));
    assert_int_equal(prg_json_count(NULL), 0);
    assert_int_equal(prg_json_count(text), 0);
    assert_null(prg_json_at(object, "a", "x", "b"));
    assert_null(prg_json_at(NULL, "a"));
    assert_ptr_equal(prg_json_at_path(object, (const char *const[]){NULL}), object);
    assert_null(prg_json_text(NULL));
    assert_null(prg_json_text(object));
    assert_int_equal(prg_json_text_length(object), 0);
    assert_null(prg_json_get_text(object, "a"));
    assert_null(prg_json_number_text(text));
    assert_false(prg_json_get_int64(object, "n", &value));
    assert_false(prg_json_int64(NULL, &value));
    assert_int_equal(value, 7);
    assert_false(prg_json_get_true(object, "n"));
    assert_true(prg_json_is_true(prg_json_item(prg_json_at(object, "a", "b"), 1)));
    assert_true(prg_json_as_double(NULL) == 0.0 && prg_json_as_double(text) == 0.0);
    assert_null(prg_json_copy(&arena, NULL));
    assert_null(prg_json_copy_empty(&arena, NULL));
    prg_json_each (item, (cJSON *)NULL)
        fail();
    prg_json_tag(NULL, 1);
    prg_json_tag_one(NULL, 1);
    assert_int_equal(prg_json_origin(NULL), 0);
}

static void types_have_names(void **state)
{
    (void)state;
    cJSON *all = json_of(&arena, "[{},[],'',0,true,false,null]");
    static const char *const names[] = {"object", "array", "string", "number", "boolean", "boolean", "null"};
    for (size_t i = 0; i < PRG_COUNT(names); i++)
        assert_string_equal(prg_json_type_name(prg_json_item(all, i)), names[i]);
    assert_string_equal(prg_json_type_name(NULL), "nothing");
}

static void whole_numbers_are_read_exactly(void **state)
{
    static const struct {
        const char *text;
        bool is_whole;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"0.000", true, 0},
        {"0e99999999999999999999", true, 0},
        {"30.0", true, 30},
        {"1e2", true, 100},
        {"1E+2", true, 100},
        {"100e-2", true, 1},
        {"1.5e1", true, 15},
        {"0.00012e5", true, 12},
        {"120000e-4", true, 12},
        {"9007199254740993", true, INT64_C(9007199254740993)},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775808.00", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"922337203685477580.7e1", true, INT64_MAX},
        {"1e18", true, INT64_C(1000000000000000000)},
        {"9e18", true, INT64_C(9000000000000000000)},
        {"1e19", false, 0},
        {"99e17", false, 0},
        {"10000000000000000000000000000e-28", true, 1},
        {"1e99999999999999999999", false, 0},
        {"1e-99999999999999999999", false, 0},
        {"0.5", false, 0},
        {"1.000000000000000000000001", false, 0},
        {"1e-1", false, 0},
        {"12345678901234567890123", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        int64_t value = 7;
        bool is_whole = prg_json_int64(prg_json_number(&arena, rows[i].text), &value);
        if (is_whole != rows[i].is_whole || value != (is_whole ? rows[i].value : 7))
            fail_msg("%s: %d, %lld", rows[i].text, is_whole, (long long)value);
    }
}

static void numbers_are_compared_by_their_exact_value(void **state)
{
    static const char *const equal[][2] = {
        {"1", "1.0"},
        {"1", "1e0"},
        {"1", "10e-1"},
        {"1", "0.01E+2"},
        {"0", "-0"},
        {"0", "0.0e5"},
        {"-120", "-1.2e2"},
        {"1e400", "10e399"},
        {"1e400", "0.1e401"},
        {"123.4500", "12345e-2"},
        {"1e99999999999999999", "10e99999999999999998"},
        {"1e99999999999999999999", "1E+0099999999999999999999"},
        {"1000000000000000000000000000000", "1e30"},
    };
    static const char *const different[][2] = {
        {"9007199254740993", "9007199254740992"},
        {"9007199254740993", "9007199254740993.0000000000000000001"},
        {"1e400", "1e401"},
        {"1e400", "-1e400"},
        {"1e-400", "0"},
        {"1", "-1"},
        {"12", "1.2"},
        {"1e99999999999999999999", "1e99999999999999999998"},
        {"1e99999999999999999999", "1e-99999999999999999999"},
        {"1e99999999999999999999", "1"},
        {"12", "123"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(equal); i++) {
        cJSON *a = prg_json_number(&arena, equal[i][0]), *b = prg_json_number(&arena, equal[i][1]);
        if (!prg_json_equal(a, b) || !prg_json_equal(b, a) || prg_json_digest(a) != prg_json_digest(b))
            fail_msg("%s and %s are one number", equal[i][0], equal[i][1]);
    }
    for (size_t i = 0; i < PRG_COUNT(different); i++) {
        cJSON *a = prg_json_number(&arena, different[i][0]), *b = prg_json_number(&arena, different[i][1]);
        if (prg_json_equal(a, b) || prg_json_equal(b, a) || prg_json_digest(a) == prg_json_digest(b))
            fail_msg("%s and %s are two numbers", different[i][0], different[i][1]);
    }
}

static void doubles_print_with_the_fewest_digits(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {100, "100"},
        {123456.789, "123456.789"},
        {1e15, "1000000000000000"},
        {9007199254740991.0, "9007199254740991"},
        {1e17, "100000000000000000"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1.5e300, "1.5e+300"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {0.000001, "0.000001"},
        {0.00000123, "0.00000123"},
        {1e-7, "1e-7"},
        {-1.25e-9, "-1.25e-9"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *node = prg_json_double(&arena, rows[i].value);
        assert_string_equal(prg_json_number_text(node), rows[i].text);
        assert_true(prg_json_as_double(node) == rows[i].value);
    }
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        double value;
        bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407u;
        memcpy(&value, &bits, sizeof(value));
        if (value - value != 0)
            continue; // not finite
        assert_true(prg_json_as_double(prg_json_double(&arena, value)) == value);
    }
}

static void the_order_of_keys_is_free_that_of_lists_is_not(void **state)
{
    static const struct {
        const char *a, *b;
        bool are_equal;
    } rows[] = {
        {"{'a':1,'b':[1,2]}", "{'b':[1,2],'a':1}", true},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"[1,2,3]", "[1,2]", false},
        {"{}", "[]", false},
        {"null", "false", false},
        {"true", "true", true},
        {"true", "false", false},
        {"'1'", "1", false},
        {"'a'", "'ab'", false},
        {"{'a':null}", "{}", false},
        {"{}", "{'a':null}", false},
        {"{'a':1,'b':2}", "{'a':1,'c':2}", false},
        {"{'a':1,'b':2,'c':3}", "{'b':2,'a':1}", false},
        {"{'b':2,'a':1}", "{'a':1,'b':2,'c':3}", false},
        {"{'a':{'x':[{'y':1.0}]}}", "{'a':{'x':[{'y':1}]}}", true},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *a = json_of(&arena, rows[i].a), *b = json_of(&arena, rows[i].b);
        if (prg_json_equal(a, b) != rows[i].are_equal || prg_json_equal(b, a) != rows[i].are_equal ||
            (prg_json_digest(a) == prg_json_digest(b)) != rows[i].are_equal)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
    assert_true(prg_json_equal(NULL, NULL));
    assert_false(prg_json_equal(NULL, prg_json_null(&arena)));
    assert_false(prg_json_equal(prg_json_null(&arena), NULL));
}

static void wide_objects_are_compared_through_an_index(void **state)
{
    (void)state;
    const int count = 20000;
    cJSON *forward = prg_json_object(&arena), *backward = prg_json_object(&arena);
    for (int i = 0; i < count; i++) {
        char key[24];
        snprintf(key, sizeof(key), "k%d", i);
        prg_json_add(&arena, forward, key, prg_json_int(&arena, i));
        snprintf(key, sizeof(key), "k%d", count - 1 - i);
        prg_json_add(&arena, backward, key, prg_json_int(&arena, count - 1 - i));
    }
    assert_true(prg_json_equal(forward, backward));
    assert_true(prg_json_digest(forward) == prg_json_digest(backward));
    assert_string_equal(prg_json_print_arena(&arena, forward, PRG_JSON_SORTED),
                        prg_json_print_arena(&arena, backward, PRG_JSON_SORTED));
    prg_json_set_int(&arena, backward, "k12345", 0);
    assert_false(prg_json_equal(forward, backward));
    assert_true(prg_json_digest(forward) != prg_json_digest(backward));
    prg_json_remove(backward, "k12345");
    prg_json_add(&arena, backward, "other", prg_json_int(&arena, 12345));
    assert_false(prg_json_equal(forward, backward));
}

static void the_digest_does_not_change_between_releases(void **state)
{
    (void)state;
    // Stored in annotations: a change here makes every object be written once more.
    assert_int_equal(prg_json_digest(json_of(&arena, "{}")), UINT64_C(0x08f44b07b5901a25));
    assert_int_equal(prg_json_digest(json_of(&arena, "{'b':[1,2.50,{'x':null}],'a':'text','t':true,'f':false}")),
                     UINT64_C(0x8139f2530d3c810e));
    assert_true(prg_json_digest(json_of(&arena, "['ab','c']")) != prg_json_digest(json_of(&arena, "['a','bc']")));
    assert_true(prg_json_digest(json_of(&arena, "[[],1]")) != prg_json_digest(json_of(&arena, "[[1]]")));
}

static void origins_and_positions_travel_with_copies(void **state)
{
    (void)state;
    cJSON *tree = json_of(&arena, "{'a':[1,{'b':'x'}]}");
    prg_json_tag(tree, 5);
    prg_json_tag_one(prg_json_get(tree, "a"), 127);
    struct prg_arena other = {0};
    cJSON *copy = prg_json_copy(&other, tree);
    assert_int_equal(prg_json_origin(copy), 5);
    assert_int_equal(prg_json_origin(prg_json_get(copy, "a")), 127);
    assert_int_equal(prg_json_origin(prg_json_get(copy, "a")->child->next->child), 5);
    assert_true(prg_json_is_object(copy) && prg_json_is_array(prg_json_get(copy, "a")));
    assert_int_equal(prg_json_position(prg_json_get(copy, "a")).column, 6);
    check_links(copy);
    assert_true(prg_json_equal(copy, tree)); // origins do not count
    assert_true(prg_json_digest(copy) == prg_json_digest(tree));
    prg_json_set_position(copy, UINT32_MAX, 7);
    assert_int_equal(prg_json_position(copy).line, UINT32_MAX);
    assert_int_equal(prg_json_position(copy).column, 7);
    prg_json_tag(copy, 0);
    assert_int_equal(prg_json_origin(prg_json_get(copy, "a")), 0);
    prg_json_set_int(&other, copy, "a", 1);
    assert_compact(tree, "{\"a\":[1,{\"b\":\"x\"}]}"); // untouched
    cJSON *empty = prg_json_copy_empty(&arena, tree);
    assert_compact(empty, "{}");
    assert_int_equal(prg_json_origin(empty), 5);
    prg_arena_release(&other);
}

static void a_clone_has_nodes_of_its_own_and_the_same_texts(void **state)
{
    (void)state;
    cJSON *tree = json_of(&arena, "{'a':['x',{'b':'y'},1.50],'c':{}}");
    uint32_t identity = prg_json_identity(tree);
    prg_json_tag(tree, 5);
    struct prg_arena other = {0};
    cJSON *clone = prg_json_clone(&other, tree), *x = prg_json_get(clone, "a")->child;
    assert_compact(clone, "{\"a\":[\"x\",{\"b\":\"y\"},1.50],\"c\":{}}");
    assert_ptr_equal(prg_json_text(x), prg_json_text(prg_json_get(tree, "a")->child));
    assert_ptr_equal(clone->child->string, tree->child->string);
    assert_int_equal(prg_json_origin(x), 5);
    assert_int_not_equal(prg_json_identity(clone), identity);
    prg_json_set_string(&other, clone, "c", "z");
    prg_json_detach(prg_json_get(clone, "a"), x);
    prg_json_tag(clone, 6);
    assert_compact(tree, "{\"a\":[\"x\",{\"b\":\"y\"},1.50],\"c\":{}}");
    assert_int_equal(prg_json_origin(tree->child), 5);
    assert_null(prg_json_clone(&other, NULL));
    prg_arena_release(&other);
}

static void a_shared_key_is_not_copied(void **state)
{
    (void)state;
    static const char key[] = "key";
    cJSON *object = prg_json_object(&arena);
    prg_json_add_shared(object, key, prg_json_int(&arena, -10));
    prg_json_add_shared(object, "other", prg_json_null(&arena));
    assert_ptr_equal(object->child->string, key);
    assert_compact(object, "{\"key\":-10,\"other\":null}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_built_member_by_member),
        cmocka_unit_test(keys_are_compared_byte_for_byte),
        cmocka_unit_test(members_and_items_come_and_go),
        cmocka_unit_test(ensure_makes_what_is_missing),
        cmocka_unit_test(absent_nodes_read_as_absent),
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(whole_numbers_are_read_exactly),
        cmocka_unit_test(numbers_are_compared_by_their_exact_value),
        cmocka_unit_test(doubles_print_with_the_fewest_digits),
        cmocka_unit_test(the_order_of_keys_is_free_that_of_lists_is_not),
        cmocka_unit_test(wide_objects_are_compared_through_an_index),
        cmocka_unit_test(the_digest_does_not_change_between_releases),
        cmocka_unit_test(origins_and_positions_travel_with_copies),
        cmocka_unit_test(a_clone_has_nodes_of_its_own_and_the_same_texts),
        cmocka_unit_test(a_shared_key_is_not_copied),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
