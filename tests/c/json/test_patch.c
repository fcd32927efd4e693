// SPDX-License-Identifier: Apache-2.0
// test_patch.c: JSON patches: each kind of operation of RFC 6902 and each way it can fail.
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "json/patch.h"

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

static void operations_change_the_document(void **state)
{
    static const struct {
        const char *document, *operations, *result;
    } rows[] = {
        {"{'a':1}", "[]", "{'a':1}"},
        // add
        {"{'a':1}", "[{'op':'add','path':'/b','value':2}]", "{'a':1,'b':2}"},
        {"{'a':1}", "[{'op':'add','path':'/a','value':2}]", "{'a':2}"},
        {"{'l':['x','z']}", "[{'op':'add','path':'/l/1','value':'y'}]", "{'l':['x','y','z']}"},
        {"{'l':['x']}", "[{'op':'add','path':'/l/0','value':'w'}]", "{'l':['w','x']}"},
        {"{'l':['x']}", "[{'op':'add','path':'/l/1','value':'y'}]", "{'l':['x','y']}"},
        {"{'l':['x']}", "[{'op':'add','path':'/l/-','value':['y']}]", "{'l':['x',['y']]}"},
        {"{'l':[]}", "[{'op':'add','path':'/l/-','value':1},{'op':'add','path':'/l/0','value':0}]", "{'l':[0,1]}"},
        {"{'a':{}}", "[{'op':'add','path':'/a/b','value':null}]", "{'a':{'b':null}}"},
        {"{'a':1}", "[{'op':'add','path':'','value':[1]}]", "[1]"},
        {"{}", "[{'op':'add','path':'/','value':1}]", "{'':1}"},
        {"{}", "[{'op':'add','path':'/a~1b','value':1},{'op':'add','path':'/~01','value':2}]", "{'a/b':1,'~1':2}"},
        {"{'l':{}}", "[{'op':'add','path':'/l/0','value':1}]", "{'l':{'0':1}}"}, // an object's key may be a digit
        // remove
        {"{'a':1,'b':2}", "[{'op':'remove','path':'/b'}]", "{'a':1}"},
        {"{'l':['x','y','z']}", "[{'op':'remove','path':'/l/1'}]", "{'l':['x','z']}"},
        {"{'l':['x','y']}", "[{'op':'remove','path':'/l/1'},{'op':'add','path':'/l/-','value':'z'}]",
         "{'l':['x','z']}"},
        // replace
        {"{'a':1,'b':2}", "[{'op':'replace','path':'/a','value':{'c':3}}]", "{'a':{'c':3},'b':2}"},
        {"{'l':['x','y','z']}", "[{'op':'replace','path':'/l/1','value':'Y'}]", "{'l':['x','Y','z']}"},
        {"{'l':['x','y']}", "[{'op':'replace','path':'/l/1','value':'Y'}]", "{'l':['x','Y']}"},
        {"{'a':1}", "[{'op':'replace','path':'','value':'whole'}]", "'whole'"},
        // move
        {"{'a':{'x':1},'b':{}}", "[{'op':'move','from':'/a/x','path':'/b/y'}]", "{'a':{},'b':{'y':1}}"},
        {"{'l':['p','q','r','s']}", "[{'op':'move','from':'/l/1','path':'/l/3'}]", "{'l':['p','r','s','q']}"},
        {"{'l':['p','q','r']}", "[{'op':'move','from':'/l/2','path':'/l/0'}]", "{'l':['r','p','q']}"},
        {"{'a':1}", "[{'op':'move','from':'/a','path':'/a'}]", "{'a':1}"},
        {"{'a':1,'ab':2}", "[{'op':'move','from':'/a','path':'/ab'}]", "{'ab':1}"},
        {"{'a':{'b':1}}", "[{'op':'move','from':'/a/b','path':'/a'}]", "{'a':1}"},
        {"{'a':{'b':1}}", "[{'op':'move','from':'/a','path':''}]", "{'b':1}"},
        // copy
        {"{'a':{'x':1}}", "[{'op':'copy','from':'/a','path':'/b'},{'op':'add','path':'/b/y','value':2}]",
         "{'a':{'x':1},'b':{'x':1,'y':2}}"},
        {"{'a':{'x':1}}", "[{'op':'copy','from':'/a','path':'/a/y'}]", "{'a':{'x':1,'y':{'x':1}}}"},
        {"{'a':1}", "[{'op':'copy','from':'','path':'/b'}]", "{'a':1,'b':{'a':1}}"},
        {"{'l':[1]}", "[{'op':'copy','from':'/l/0','path':'/l/-'}]", "{'l':[1,1]}"},
        // test
        {"{'a':[1,{'b':'x'}]}",
         "[{'op':'test','path':'/a','value':[1.0,{'b':'x'}]},{'op':'test','path':'/a/1/b','value':'x'}]",
         "{'a':[1,{'b':'x'}]}"},
        {"{'a':null}", "[{'op':'test','path':'/a','value':null},{'op':'test','path':'','value':{'a':null}}]",
         "{'a':null}"},
        // members that an operation does not know are passed over
        {"{}", "[{'op':'add','path':'/a','value':1,'from':7,'comment':'x'}]", "{'a':1}"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *document = json_of(&arena, rows[i].document), *operations = json_of(&arena, rows[i].operations);
        cJSON *got = NULL;
        struct prg_error err = {0};
        assert_ok(prg_patch_apply(&arena, document, operations, &got, &err), &err);
        if (!prg_json_equal(got, json_of(&arena, rows[i].result)))
            fail_msg("%s with %s gives %s", rows[i].document, rows[i].operations, prg_json_print_arena(&arena, got, 0));
        assert_json_text(&arena, document, rows[i].document);
        assert_json_text(&arena, operations, rows[i].operations);
    }
}

static void failing_operations_are_named_and_nothing_is_changed(void **state)
{
    static const struct {
        const char *document, *operations, *error;
        int code;
    } rows[] = {
        {"{}", "{}", "must be an array of operations; this is of type object", PRG_INVALID},
        {"{}", "null", "of type null", PRG_INVALID},
        {"{}", "[1]", "operation 0: must be an object with a string 'op'", PRG_INVALID},
        {"{}", "[{}]", "operation 0: must be an object with a string 'op'", PRG_INVALID},
        {"{}", "[{'op':7,'path':''}]", "string 'op'", PRG_INVALID},
        {"{}", "[{'op':'spam','path':''}]", "operation 0: unknown op 'spam'; known are add", PRG_INVALID},
        {"{}", "[{'op':'Add','path':'/a','value':1}]", "unknown op 'Add'", PRG_INVALID},
        {"{}", "[{'op':'re','path':'/a'}]", "unknown op 're'", PRG_INVALID},
        {"{}", "[{'op':'add','value':1}]", "operation 0 (add): 'path' must be a string", PRG_INVALID},
        {"{}", "[{'op':'add','path':1,'value':1}]", "'path' must be a string", PRG_INVALID},
        {"{}", "[{'op':'add','path':'a','value':1}]", "'path' is 'a', which is not a JSON pointer", PRG_INVALID},
        {"{}", "[{'op':'add','path':'/~2','value':1}]", "not a JSON pointer", PRG_INVALID},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a\\u0000b\",\"value\":1}]", "not a JSON pointer", PRG_INVALID},
        {"{}", "[{'op':'add','path':'/a'}]", "operation 0 (add): 'value' is missing for '/a'", PRG_INVALID},
        {"{}", "[{'op':'test','path':''}]", "'value' is missing", PRG_INVALID},
        {"{}", "[{'op':'move','path':'/a'}]", "operation 0 (move): 'from' must be a string", PRG_INVALID},
        {"{}", "[{'op':'copy','path':'/a','from':'b'}]", "'from' is 'b'", PRG_INVALID},
        {"{'a':1}", "[{'op':'add','path':'/b','value':1},{'op':'add','path':'/c/d','value':1}]",
         "operation 1 (add): there is nothing at '/c'", PRG_NOTFOUND},
        {"{'a':{'b':1}}", "[{'op':'add','path':'/a/b/c','value':1}]",
         "the parent of '/a/b/c' must be an object or array, but is of type number", PRG_INVALID},
        {"{'a':{'b':1}}", "[{'op':'add','path':'/a/b/c/d','value':1}]", "there is nothing at '/a/b/c'", PRG_NOTFOUND},
        {"'x'", "[{'op':'add','path':'/a','value':1}]",
         "the parent of '/a' must be an object or array, but is of type string", PRG_INVALID},
        {"{'l':[1]}", "[{'op':'add','path':'/l/2','value':1}]", "'/l/2' is beyond the end of an array of 1",
         PRG_NOTFOUND},
        {"{'l':[1]}", "[{'op':'add','path':'/l/x','value':1}]", "'/l/x' does not end in an array index", PRG_INVALID},
        {"{'l':[1]}", "[{'op':'add','path':'/l/01','value':1}]", "array index", PRG_INVALID},
        {"{'l':[1]}", "[{'op':'add','path':'/l/','value':1}]", "array index", PRG_INVALID},
        {"{'l':[1]}", "[{'op':'remove','path':'/l/-'}]", "there is nothing at '/l/-'", PRG_NOTFOUND},
        {"{'l':[1]}", "[{'op':'remove','path':'/l/1'}]", "there is nothing at '/l/1'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'remove','path':'/b'}]", "operation 0 (remove): there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'remove','path':'/b/c'}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'remove','path':''}]", "the whole document cannot be removed", PRG_INVALID},
        {"{'a':1}", "[{'op':'replace','path':'/b','value':1}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'replace','path':'/b/c','value':1}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':{'b':1}}", "[{'op':'move','from':'/a','path':'/a/b'}]", "'/a' cannot be moved into itself, to '/a/b'",
         PRG_INVALID},
        {"{'a':1}", "[{'op':'move','from':'/b','path':'/b'}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'move','from':'/b','path':'/a'}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'move','from':'/b/c','path':'/b/c'}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'move','from':'','path':'/a'}]", "'' cannot be moved into itself", PRG_INVALID},
        {"{'a':1}", "[{'op':'move','from':'/a','path':'/b/c'}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'copy','from':'/b','path':'/a'}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'copy','from':'/b/c','path':'/a'}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'copy','from':'/a','path':'/b/c'}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'test','path':'/a','value':2}]", "operation 0 (test): '/a' does not have the value",
         PRG_CONFLICT},
        {"{'a':1}", "[{'op':'test','path':'/a','value':'1'}]", "does not have the value", PRG_CONFLICT},
        {"{'n':9007199254740993}", "[{'op':'test','path':'/n','value':9007199254740992}]", "does not have the value",
         PRG_CONFLICT},
        {"{'a':1}", "[{'op':'test','path':'/b','value':null}]", "there is nothing at '/b'", PRG_NOTFOUND},
        {"{'a':1}", "[{'op':'test','path':'/b/c','value':null}]", "there is nothing at '/b'", PRG_NOTFOUND},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *document = json_of(&arena, rows[i].document), *got = NULL;
        struct prg_error err = {0};
        int rc = prg_patch_apply(&arena, document, json_of(&arena, rows[i].operations), &got, &err);
        if (rc != rows[i].code)
            fail_msg("%s gives %d, not %d", rows[i].operations, rc, rows[i].code);
        assert_error_has(&err, rows[i].error);
        assert_null(got);
        assert_json_text(&arena, document, rows[i].document);
    }
    cJSON *got = NULL;
    assert_int_equal(prg_patch_apply(&arena, NULL, prg_json_array(&arena), &got, NULL), PRG_INVALID);
}

static void a_patch_cannot_nest_too_deep(void **state)
{
    (void)state;
    cJSON *document = json_of(&arena, "{'a':{}}"), *got = NULL;
    cJSON *copy = json_of(&arena, "{'op':'copy','from':'/a','path':''}"), *operations = prg_json_array(&arena);
    struct prg_strbuf path = PRG_STRBUF_INIT;
    for (int i = 0; i < 10; i++) { // a into its own innermost a: twice as deep each time
        prg_strbuf_puts(&path, "/a");
        cJSON *operation = prg_json_copy(&arena, copy);
        prg_json_set(&arena, operation, "path", prg_json_stringf(&arena, "%s/a", path.text));
        prg_json_append(operations, operation);
        for (int j = 1; j < 1 << i && path.length < 500; j++)
            prg_strbuf_puts(&path, "/a");
    }
    prg_strbuf_release(&path);
    struct prg_error err = {0};
    assert_int_equal(prg_patch_apply(&arena, document, operations, &got, &err), PRG_LIMIT);
    assert_error_has(&err, "nested more than 128 levels deep");
}

static void a_patch_cannot_grow_without_end(void **state)
{
    (void)state;
    cJSON *document = json_of(&arena, "{'l':['a text of some length, so that it grows quickly']}"), *got = NULL;
    cJSON *operations = prg_json_array(&arena);
    for (int i = 0; i < 40; i++) { // the list into a new list of two, which becomes the list
        prg_json_append(operations, json_of(&arena, "{'op':'add','path':'/m','value':[]}"));
        prg_json_append(operations, json_of(&arena, "{'op':'copy','from':'/l','path':'/m/-'}"));
        prg_json_append(operations, json_of(&arena, "{'op':'copy','from':'/l','path':'/m/-'}"));
        prg_json_append(operations, json_of(&arena, "{'op':'move','from':'/m','path':'/l'}"));
    }
    struct prg_error err = {0};
    assert_int_equal(prg_patch_apply(&arena, document, operations, &got, &err), PRG_LIMIT);
    assert_error_has(&err, "grows beyond");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operations_change_the_document, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failing_operations_are_named_and_nothing_is_changed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_patch_cannot_nest_too_deep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_patch_cannot_grow_without_end, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
