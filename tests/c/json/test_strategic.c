// SPDX-License-Identifier: Apache-2.0
// test_strategic.c: strategic merge patches: order, directives, what is refused and how it is named.
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/strategic.h"

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

static cJSON *apply(const struct prg_schema *schema, const char *original, const char *patch)
{
    cJSON *got = NULL;
    struct prg_error err = {0};
    assert_ok(prg_strategic_apply(&arena, schema, original ? json_of(&arena, original) : NULL, json_of(&arena, patch),
                                  &got, &err),
              &err);
    return got;
}

static void random_pods_merge_as_recorded(void **state)
{
    (void)state;
    const char *path = "cases/json/strategic_random.json";
    const cJSON *rows = prg_json_get(read_test_json(&arena, path), "rows"), *row;
    size_t index = 0, failed = 0;
    assert_true(prg_json_count(rows) >= 280);
    prg_json_each (row, rows) {
        const cJSON *from = prg_json_get(row, "from");
        cJSON *got = NULL;
        struct prg_error err = {0};
        int rc;
        if (strcmp(prg_json_get_text(row, "op"), "apply") == 0)
            rc = prg_strategic_apply(&arena, &prg_schema_pod, from, prg_json_get(row, "patch"), &got, &err);
        else
            rc = prg_strategic_create(&arena, &prg_schema_pod, from, prg_json_get(row, "to"), &got, &err);
        bool agrees = prg_json_get_true(row, "ok") ? rc == PRG_OK && prg_json_equal(got, prg_json_get(row, "result"))
                                                   : rc == PRG_INVALID && !got;
        if (!agrees) {
            print_error("%s row %zu: %s\n  answered %d %s\n", path, index, prg_json_print_arena(&arena, row, 0), rc,
                        prg_json_print_arena(&arena, got, PRG_JSON_SORTED));
            failed++;
        }
        index++;
    }
    assert_int_equal(failed, 0);
}

// Lists as "a b c": the names of the entries of a list of containers, env …
static const char *names_of(const cJSON *list)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    const cJSON *item;
    prg_json_each (item, list) {
        const char *name = prg_json_is_string(item) ? prg_json_text(item) : prg_json_get_text(item, "name");
        prg_strbuf_printf(&out, "%s%s", out.length ? " " : "", name ? name : "?");
    }
    return prg_arena_strdup(&arena, out.text);
}

static cJSON *list_of(const char *names, bool as_objects)
{
    cJSON *list = prg_json_array(&arena);
    for (const char *at = names; *at; at++) {
        if (*at == ' ')
            continue;
        cJSON *name = prg_json_stringn(&arena, at, 1), *entry = prg_json_object(&arena);
        prg_json_set(&arena, entry, "name", name);
        prg_json_append(list, as_objects ? entry : prg_json_copy(&arena, name));
    }
    return list;
}

static void entries_of_the_original_are_slipped_in_before_their_followers(void **state)
{
    static const struct {
        const char *original, *patch, *order, *merged; // order NULL: no $setElementOrder
    } rows[] = {
        {"a b c", "", NULL, "a b c"},
        {"a b c", "c a", NULL, "b c a"},
        {"a b c", "b", NULL, "a b c"},
        {"a b c", "n", NULL, "n a b c"},
        {"a b c", "n b", NULL, "n a b c"},
        {"a b c", "b n", NULL, "a b n c"},
        {"a b c", "b n c", NULL, "a b n c"},
        {"a b c d", "d b", NULL, "a c d b"},
        {"", "b a", NULL, "b a"},
        {"a b c", "", "c b a", "c b a"},
        {"a b c", "", "c", "a b c"},
        {"a b c", "n", "n c", "n a b c"},
        {"a b c", "n", "c n", "a b c n"},
        {"a b c", "n b", "n c b", "n a c b"},
        {"", "a b", "a x b", "a b"},
        // An empty order leaves the reference's sort without an answer; this is what it does.
        {"a b", "n", "", "a b n"},
        {"a b c", "n m b", "", "a b c m n"},
        {"", "a b c", "", "c b a"},
        {"a b c d e f", "x d y", "", "y a b c d e f x"},

    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++)
        for (int as_objects = 0; as_objects < 2; as_objects++) {
            const char *field = as_objects ? "containers" : "finalizers";
            cJSON *original = prg_json_object(&arena), *patch = prg_json_object(&arena), *got = NULL;
            struct prg_error err = {0};
            prg_json_set(&arena, original, field, list_of(rows[i].original, as_objects));
            if (*rows[i].patch)
                prg_json_set(&arena, patch, field, list_of(rows[i].patch, as_objects));
            if (rows[i].order)
                prg_json_set(&arena, patch, prg_arena_printf(&arena, "$setElementOrder/%s", field),
                             list_of(rows[i].order, as_objects));
            assert_ok(prg_strategic_apply(&arena, as_objects ? &prg_schema_pod_spec : &prg_schema_object_meta, original,
                                          patch, &got, &err),
                      &err);
            if (strcmp(names_of(prg_json_get(got, field)), rows[i].merged) != 0)
                fail_msg("%s with %s ordered %s gives %s", rows[i].original, rows[i].patch,
                         rows[i].order ? rows[i].order : "-", names_of(prg_json_get(got, field)));
        }
}

static void long_lists_are_ordered_by_the_same_rule(void **state)
{
    (void)state;
    // Every third name is in the patch, backwards, with a new one behind each.
    const int count = 3000;
    cJSON *original = prg_json_object(&arena), *patch = prg_json_object(&arena), *got = NULL, *item;
    cJSON *old = prg_json_ensure_array(&arena, original, "env"), *new = prg_json_ensure_array(&arena, patch, "env");
    for (int i = 0; i < count; i++) {
        cJSON *entry = prg_json_object(&arena);
        prg_json_set(&arena, entry, "name", prg_json_stringf(&arena, "E%d", i));
        prg_json_append(old, entry);
        if (i % 3)
            continue;
        cJSON *named = prg_json_object(&arena), *added = prg_json_object(&arena);
        prg_json_set(&arena, named, "name", prg_json_stringf(&arena, "E%d", count - 3 - i));
        prg_json_set_string(&arena, named, "value", "patched");
        prg_json_set(&arena, added, "name", prg_json_stringf(&arena, "N%d", i));
        prg_json_append(new, named);
        prg_json_append(new, added);
    }
    struct prg_error err = {0};
    assert_ok(prg_strategic_apply(&arena, &prg_schema_container, original, patch, &got, &err), &err);
    cJSON *merged = prg_json_get(got, "env");
    assert_int_equal(prg_json_count(merged), count + count / 3);
    // E2997 is the first of the patch; all others of the original up to E2996 come before it, the rest at the end.
    assert_string_equal(prg_json_get_text(prg_json_item(merged, 0), "name"), "E1");
    assert_string_equal(prg_json_get_text(prg_json_item(merged, 2000 - 2), "name"), "E2997");
    assert_string_equal(prg_json_get_text(prg_json_item(merged, 2000 - 1), "name"), "N0");
    assert_string_equal(prg_json_get_text(merged->child->prev, "name"), "E2999");
    size_t patched = 0;
    prg_json_each (item, merged)
        patched += prg_json_get(item, "value") != NULL;
    assert_int_equal(patched, count / 3);
    cJSON *back = NULL;
    assert_ok(prg_strategic_create(&arena, &prg_schema_container, original, got, &back, &err), &err);
    assert_ok(prg_strategic_apply(&arena, &prg_schema_container, original, back, &back, &err), &err);
    assert_json_equal(back, got);
}

static void fields_that_are_not_known_merge_like_json(void **state)
{
    (void)state;
    assert_json_text(&arena,
                     apply(&prg_schema_pod, "{'spec':{'new':{'a':1,'b':{'c':2},'l':[{'name':'x','v':1}]}}}",
                           "{'spec':{'new':{'a':null,'b':{'d':3},'l':[{'name':'x','w':2}]}}}"),
                     "{'spec':{'new':{'b':{'c':2,'d':3},'l':[{'name':'x','w':2}]}}}");
    assert_json_text(&arena, apply(NULL, "{'containers':[{'name':'a'}]}", "{'containers':[{'name':'b'}]}"),
                     "{'containers':[{'name':'b'}]}");
    // Below a known list entry as well.
    assert_json_text(&arena,
                     apply(&prg_schema_pod_spec, "{'containers':[{'name':'a','novel':{'x':[1],'y':1}}]}",
                           "{'containers':[{'name':'a','novel':{'x':[2]}}]}"),
                     "{'containers':[{'name':'a','novel':{'x':[2],'y':1}}]}");
}

static void maps_of_objects_merge_by_the_type_of_their_values(void **state)
{
    static const struct prg_schema_field item_fields[] = {{.name = "env",
                                                           .kind = PRG_KIND_LIST,
                                                           .element = PRG_KIND_OBJECT,
                                                           .flags = PRG_FIELD_MERGE,
                                                           .type = &prg_schema_container,
                                                           .merge_key = "name"}};
    static const struct prg_schema item = {.name = "Item", .fields = item_fields, .count = PRG_COUNT(item_fields)};
    static const struct prg_schema_field fields[] = {
        {.name = "items", .kind = PRG_KIND_MAP, .element = PRG_KIND_OBJECT, .type = &item},
        {.name = "texts", .kind = PRG_KIND_MAP, .element = PRG_KIND_STRING},
        {.name = "words",
         .kind = PRG_KIND_LIST,
         .element = PRG_KIND_STRING,
         .flags = PRG_FIELD_MERGE,
         .merge_key = "x"},
    };
    static const struct prg_schema whole = {.name = "Whole", .fields = fields, .count = PRG_COUNT(fields)};
    (void)state;
    assert_json_text(&arena,
                     apply(&whole, "{'items':{'a':{'env':[{'name':'x'}]}},'texts':{'t':{'env':[1]}}}",
                           "{'items':{'a':{'env':[{'name':'y'}]}},'texts':{'t':{'env':[2]}}}"),
                     "{'items':{'a':{'env':[{'name':'y'},{'name':'x'}]}},'texts':{'t':{'env':[2]}}}");
    // A list of objects by its description, but of scalars in fact: deleting from it needs no keys.
    assert_json_text(&arena, apply(&whole, "{'words':['a','b']}", "{'$deleteFromPrimitiveList/words':['a']}"),
                     "{'words':['b']}");
    cJSON *patch = NULL, *from = json_of(&arena, "{'words':[{'x':true},{'x':false},{'x':null}]}");
    assert_ok(prg_strategic_create(&arena, &whole, from, json_of(&arena, "{'words':[{'x':null,'v':1},{'x':true}]}"),
                                   &patch, NULL),
              NULL);
    assert_json_text(&arena, patch,
                     "{'$setElementOrder/words':[{'x':null},{'x':true}],"
                     "'words':[{'v':1,'x':null},{'$patch':'delete','x':false}]}");
}

static void an_absent_original_is_an_empty_object(void **state)
{
    (void)state;
    assert_json_text(&arena, apply(&prg_schema_pod, NULL, "{'spec':{'x':{'n':null,'k':1}},'gone':null}"),
                     "{'spec':{'x':{'k':1}}}");
}

static void directives_act_on_objects_and_lists(void **state)
{
    static const struct {
        const char *original, *patch, *merged;
    } rows[] = {
        {"{'nodeSelector':{'a':'1'}}", "{'nodeSelector':{'$patch':'replace','b':'2'}}", "{'nodeSelector':{'b':'2'}}"},
        {"{'nodeSelector':{'a':'1'}}", "{'nodeSelector':{'$patch':'delete'}}", "{'nodeSelector':{}}"},
        {"{}", "{'nodeSelector':{'$patch':'replace','b':'2'}}", "{}"},
        {"{'nodeSelector':1}", "{'nodeSelector':{'b':null,'c':'2'}}", "{'nodeSelector':{'c':'2'}}"},
        {"{'volumes':[{'name':'v','emptyDir':{}}]}",
         "{'volumes':[{'name':'v','secret':{'secretName':'s'},'$retainKeys':['name','secret']}]}",
         "{'volumes':[{'name':'v','secret':{'secretName':'s'}}]}"},
        {"{'containers':[{'name':'a'},{'name':'b'},{'name':'a','image':'twice'}]}",
         "{'containers':[{'name':'a','$patch':'delete'}]}", "{'containers':[{'name':'b'}]}"},
        {"{'containers':[{'name':'a'},{'name':'b'}]}", "{'containers':[{'$patch':'replace'}]}", "{'containers':[]}"},
        {"{'containers':[{'name':'a'}]}", "{'containers':[{'name':'a','$patch':'delete'},{'name':'a','image':'i'}]}",
         "{'containers':[{'name':'a','image':'i'}]}"},
        {"{'tolerations':[{'key':'a'}]}", "{'tolerations':[{'key':'b','$patch':'delete'}]}",
         "{'tolerations':[{'key':'b','$patch':'delete'}]}"}, // not a merged list: taken as it is
        {"{'containers':[{'name':'a','args':['x']}]}",
         "{'containers':[{'name':'a','$deleteFromPrimitiveList/args':['x']}]}",
         "{'containers':[{'name':'a','args':[]}]}"}, // from lists that are replaced, too
        {"{'containers':[{'name':'a','ports':[{'containerPort':80,'name':'h'}]}]}",
         "{'containers':[{'name':'a','ports':[{'containerPort':80.0,'protocol':'TCP'}]}]}",
         "{'containers':[{'name':'a','ports':[{'containerPort':80.0,'name':'h','protocol':'TCP'}]}]}"},
        // Entries of one name stay together; an entry of the original that is marked as deleted goes last.
        {"{'containers':[{'name':'a','image':'1'},{'name':'b'},{'name':'a','image':'2'}]}",
         "{'containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}",
         "{'containers':[{'name':'c'},{'name':'a','image':'1'},{'name':'a','image':'2'},{'name':'b'}]}"},
        {"{'containers':[{'name':'a','image':'1'},{'name':'b'},{'name':'a','image':'2'}]}",
         "{'containers':[{'name':'b'}]}",
         "{'containers':[{'name':'a','image':'1'},{'name':'a','image':'2'},{'name':'b'}]}"},
        {"{'containers':[{'name':'a','$patch':'delete'},{'name':'b'}]}", "{'containers':[{'name':'c'}]}",
         "{'containers':[{'name':'c'},{'name':'b'},{'name':'a','$patch':'delete'}]}"},
        {"{'containers':[{'name':'c','args':['x','y']}]}",
         "{'containers':[{'name':'c','args':['z'],'$setElementOrder/args':['y','z']}]}",
         "{'containers':[{'name':'c','args':['z']}]}"},
        {"{'containers':[{'name':'c','args':['x','y']}]}",
         "{'containers':[{'name':'c','$setElementOrder/args':['y','x']}]}",
         "{'containers':[{'name':'c','args':['y','x']}]}"},
        // Of the entries that take the place of deleted ones, as many as were deleted count as having been last.
        {"{'containers':[{'name':'a'},{'name':'c'},{'name':'x'}]}",
         "{'$setElementOrder/containers':[{'name':'c'},{'name':'n'}],"
         "'containers':[{'name':'n'},{'name':'a','$patch':'delete'}]}",
         "{'containers':[{'name':'c'},{'name':'x'},{'name':'n'}]}"},
        {"{'containers':[{'name':'c'},{'name':'x'}]}",
         "{'$setElementOrder/containers':[{'name':'c'},{'name':'n'}],'containers':[{'name':'n'}]}",
         "{'containers':[{'name':'c'},{'name':'n'},{'name':'x'}]}"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *got = apply(&prg_schema_pod_spec, rows[i].original, rows[i].patch);
        if (!prg_json_equal(got, json_of(&arena, rows[i].merged)))
            fail_msg("%s with %s gives %s", rows[i].original, rows[i].patch, prg_json_print_arena(&arena, got, 0));
    }
    assert_json_text(&arena,
                     apply(&prg_schema_object_meta, "{'finalizers':['a','b','a']}",
                           "{'$deleteFromPrimitiveList/finalizers':['a','c']}"),
                     "{'finalizers':['b']}");
    assert_json_text(&arena,
                     apply(&prg_schema_object_meta, "{'finalizers':['a','b']}",
                           "{'$deleteFromPrimitiveList/finalizers':['a'],'finalizers':['c']}"),
                     "{'finalizers':['c','b']}");
    assert_json_text(
        &arena, apply(&prg_schema_object_meta, "{'finalizers':['a']}", "{'$deleteFromPrimitiveList/finalizers':null}"),
        "{}");
    assert_json_text(
        &arena,
        apply(&prg_schema_object_meta, "{'finalizers':'text'}", "{'$deleteFromPrimitiveList/finalizers':['a']}"),
        "{'finalizers':'text'}");
}

static void what_cannot_be_merged_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *original, *patch, *error;
    } rows[] = {
        {"{}", "[]", "are objects, not array and object"},
        {"[]", "{}", "are objects, not object and array"},
        {"{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':'a'},{'image':'i'}]}}",
         "/spec/containers/1: 'name' is missing; entries of this list are merged by it"},
        {"{'spec':{'containers':[{'image':'i'}]}}", "{'spec':{'containers':[{'name':'a'}]}}",
         "/spec/containers/0: 'name' is missing"},
        {"{'spec':{'containers':[{'name':'a','env':[]}]}}", "{'spec':{'containers':[{'name':'a','env':[{}]}]}}",
         "/spec/containers/0/env/0: 'name' is missing"},
        {"{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':['a']}]}}",
         "/spec/containers/0: name must be a plain value, but is of type array"},
        {"{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':['a']}}",
         "/spec/containers: the entries of a merged list must be of one type, not object and string"},
        {"{'spec':{'containers':['a']}}", "{'spec':{'containers':['b']}}",
         "/spec/containers/0: must be an object with 'name', but is of type string"},
        {"{'spec':{'containers':[[]]}}", "{'spec':{'containers':[]}}",
         "/spec/containers: a merged list cannot hold lists"},
        {"{'spec':{'containers':[]}}", "{'spec':{'containers':[null]}}", "a merged list cannot hold null"},
        {"{'metadata':{'finalizers':[{}]}}", "{'metadata':{'finalizers':[{}]}}",
         "/metadata/finalizers: its objects have no merge key"},
        {"{'spec':{}}", "{'spec':{'$patch':'merge'}}",
         "/spec: unknown $patch directive; an object knows replace and delete"},
        {"{}", "{'$patch':7}", "unknown $patch directive"},
        {"{'spec':{'containers':[]}}", "{'spec':{'containers':[{'$patch':'merge'}]}}",
         "/spec/containers/0: unknown $patch directive; a list entry knows replace and delete"},
        {"{'spec':{'containers':[]}}", "{'spec':{'containers':[{'$patch':'delete'}]}}",
         "/spec/containers/0: 'name' is missing"},
        {"{'spec':{}}", "{'spec':{'$retainKeys':'a'}}", "/spec: $retainKeys must be a list of field names"},
        {"{'spec':{}}", "{'spec':{'$retainKeys':[1]}}", "/spec: $retainKeys must be a list of field names"},
        {"{'spec':{}}", "{'spec':{'$retainKeys':['a'],'b':1}}",
         "the patch sets 'b', which its $retainKeys does not name"},
        {"{'spec':{}}", "{'spec':{'$setElementOrder':[]}}",
         "'$setElementOrder' must be written $setElementOrder/FIELD"},
        {"{'spec':{}}", "{'spec':{'$setElementOrderX/a':[]}}", "must be written $setElementOrder/FIELD"},
        {"{'spec':{}}", "{'spec':{'$deleteFromPrimitiveList':[]}}", "must be written $deleteFromPrimitiveList/FIELD"},
        {"{'spec':{}}", "{'spec':{'$setElementOrder/containers':{}}}", "'$setElementOrder/containers' must be a list"},
        {"{'spec':{'x':[1]}}", "{'spec':{'$setElementOrder/x':[1]}}",
         "/spec/x: $setElementOrder is for lists of known type"},
        {"{'spec':{'nodeSelector':{}}}", "{'spec':{'$setElementOrder/nodeSelector':[]}}",
         "/spec/nodeSelector: $setElementOrder is for lists"},
        {"{'spec':{'containers':{}}}", "{'spec':{'$setElementOrder/containers':[]}}",
         "/spec/containers: $setElementOrder is for lists, but this is of type object"},
        {"{'spec':{'containers':[]}}", "{'spec':{'containers':null,'$setElementOrder/containers':[]}}",
         "but this is of type null"},
        {"{'spec':{'containers':[]}}", "{'spec':{'$setElementOrder/containers':[{'name':'a'}]}}",
         "$setElementOrder for an empty list"},
        {"{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'$setElementOrder/containers':[{}]}}",
         "/spec/containers/0: 'name' is missing"},
        {"{'spec':{'containers':[{'name':'a'}]}}",
         "{'spec':{'$setElementOrder/"
         "containers':[{'name':'b'},{'name':'a'}],'containers':[{'name':'a'},{'name':'b'}]}}",
         "/spec/containers/1: the patch's order differs from its $setElementOrder list"},
        {"{'spec':{'containers':[{'name':'a'}]}}",
         "{'spec':{'$setElementOrder/containers':[{'name':'b'}],'containers':[{'name':'a'}]}}",
         "/spec/containers/0: the patch's order differs from its $setElementOrder list, or is not in it"},
        {"{'spec':{'containers':[{'name':'a'}]}}",
         "{'spec':{'$setElementOrder/containers':[{'name':'b'}],'containers':[{'name':'b'},{'$patch':'replace'}]}}",
         "/spec/containers/1: a $patch entry must come before the last"},
        {"{'spec':{'tolerations':[{'key':'a'}]}}", "{'spec':{'$setElementOrder/tolerations':[{'key':'a'}]}}",
         "must be a plain value, but is of type object"},
        {"{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'name':null},{'name':null}]}}",
         "/spec/containers/1: 'name' is missing"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *got = NULL;
        struct prg_error err = {0};
        int rc = prg_strategic_apply(&arena, &prg_schema_pod, json_of(&arena, rows[i].original),
                                     json_of(&arena, rows[i].patch), &got, &err);
        if (rc != PRG_INVALID)
            fail_msg("%s with %s was not refused: %s", rows[i].original, rows[i].patch,
                     prg_json_print_arena(&arena, got, 0));
        assert_error_has(&err, rows[i].error);
        assert_null(got);
    }
}

static void merged_nodes_keep_place_and_origin_of_their_side(void **state)
{
    (void)state;
    cJSON *original = json_of(&arena, "{'containers':[{'name':'a','image':'x','tty':true},{'name':'b'}]}");
    cJSON *patch = json_of(&arena, "{'containers':[{'name':'n'},\n{'name':'a','image':'y'}]}"), *got = NULL;
    prg_json_tag(original, 1);
    prg_json_tag(patch, 2);
    struct prg_error err = {0};
    assert_ok(prg_strategic_apply(&arena, &prg_schema_pod_spec, original, patch, &got, &err), &err);
    cJSON *list = prg_json_get(got, "containers"), *a = prg_json_item(list, 1);
    assert_string_equal(names_of(list), "n a b");
    assert_int_equal(prg_json_origin(list), 1);
    assert_int_equal(prg_json_origin(prg_json_item(list, 0)), 2);
    assert_int_equal(prg_json_origin(a), 1);
    assert_int_equal(prg_json_origin(prg_json_get(a, "image")), 2);
    assert_int_equal(prg_json_position(prg_json_get(a, "image")).line, 2);
    assert_int_equal(prg_json_origin(prg_json_get(a, "tty")), 1);
    assert_int_equal(prg_json_origin(prg_json_item(list, 2)), 1);
}

static void a_created_patch_leads_there(void **state)
{
    static const struct {
        const char *from, *to, *patch; // patch NULL: only that it leads there
    } rows[] = {
        {"{'finalizers':['b','a']}", "{'finalizers':['b','a']}", "{}"},
        {"{'finalizers':['b','a']}", "{'finalizers':['a','b']}", "{'$setElementOrder/finalizers':['a','b']}"},
        {"{'finalizers':['b','a','c']}", "{'finalizers':['c','d']}",
         "{'$setElementOrder/finalizers':['c','d'],'$deleteFromPrimitiveList/"
         "finalizers':['a','b'],'finalizers':['d']}"},
        {"{'finalizers':['a']}", "{'finalizers':[]}", "{'$deleteFromPrimitiveList/finalizers':['a']}"},
        {"{'finalizers':[]}", "{'finalizers':[]}", "{}"},
        {"{'finalizers':[]}", "{'finalizers':['a']}", "{'finalizers':['a']}"},
        {"{'labels':{'a':'1','b':'2'}}", "{'labels':{'a':'2'}}", "{'labels':{'a':'2','b':null}}"},
        {"{'labels':{'a':'1'}}", "{}", "{'labels':null}"},
        {"{'labels':{'a':'1'}}", "{'labels':'text'}", "{'labels':'text'}"},
        {"{'name':'a','n':1}", "{'name':'a','n':1.0}", "{}"},
        {"{'new':[{'name':'a'}]}", "{'new':[{'name':'b'}]}", "{'new':[{'name':'b'}]}"},
        {"{'$patch':'x'}", "{'$patch':'x'}", "{}"},
        {"{'$patch':'x'}", "{'$patch':'y'}", "{'$patch':'y'}"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *from = json_of(&arena, rows[i].from), *to = json_of(&arena, rows[i].to), *patch = NULL, *got = NULL;
        struct prg_error err = {0};
        assert_ok(prg_strategic_create(&arena, &prg_schema_object_meta, from, to, &patch, &err), &err);
        if (!prg_json_equal(patch, json_of(&arena, rows[i].patch)))
            fail_msg("from %s to %s: %s", rows[i].from, rows[i].to, prg_json_print_arena(&arena, patch, 0));
        if (strchr(rows[i].from, '$'))
            continue;
        assert_ok(prg_strategic_apply(&arena, &prg_schema_object_meta, from, patch, &got, &err), &err);
        assert_json_equal(got, to);
    }
    cJSON *patch = NULL;
    assert_ok(prg_strategic_create(&arena, &prg_schema_pod, NULL, json_of(&arena, "{'a':1}"), &patch, NULL), NULL);
    assert_json_text(&arena, patch, "{'a':1}");
    assert_ok(prg_strategic_create(&arena, &prg_schema_pod, json_of(&arena, "{'a':1}"), NULL, &patch, NULL), NULL);
    assert_json_text(&arena, patch, "{'a':null}");
}

static void a_union_is_patched_with_the_fields_to_retain(void **state)
{
    (void)state;
    cJSON *patch = NULL;
    struct prg_error err = {0};
    cJSON *from = json_of(&arena, "{'volumes':[{'name':'v','emptyDir':{}},{'name':'w','secret':{'secretName':'s'}}]}");
    cJSON *to =
        json_of(&arena, "{'volumes':[{'name':'v','configMap':{'name':'c'}},{'name':'w','secret':{'secretName':'s'}}]}");
    assert_ok(prg_strategic_create(&arena, &prg_schema_pod_spec, from, to, &patch, &err), &err);
    assert_json_text(
        &arena, patch,
        "{'$setElementOrder/volumes':[{'name':'v'},{'name':'w'}],"
        "'volumes':[{'$retainKeys':['configMap','name'],'configMap':{'name':'c'},'emptyDir':null,'name':'v'}]}");
    cJSON *got = NULL;
    assert_ok(prg_strategic_apply(&arena, &prg_schema_pod_spec, from, patch, &got, &err), &err);
    assert_json_equal(got, to);
}

static void what_has_no_patch_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *error;
    } rows[] = {
        {"[]", "{}", "not from array to object"},
        {"{}", "'x'", "not from object to string"},
        {"{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'image':'a'}]}}",
         "/spec/containers/0: 'name' is missing"},
        {"{'spec':{'containers':[{}]}}", "{'spec':{'containers':[]}}", "/spec/containers/0: 'name' is missing"},
        {"{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':['a']}}", "must be of one type"},
        {"{'metadata':{'finalizers':[{'a':1}]}}", "{'metadata':{'finalizers':[]}}", "have no merge key"},
        {"{'$patch':1}", "{'$patch':'x'}", "/$patch: must be a string"},
        {"{'spec':{'containers':[{'name':'a','env':[{'name':'E'}]}]}}",
         "{'spec':{'containers':[{'name':'a','env':[{'value':'x'}]}]}}", "/spec/containers/0/env/0: 'name' is missing"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(rows); i++) {
        cJSON *got = NULL;
        struct prg_error err = {0};
        assert_int_equal(prg_strategic_create(&arena, &prg_schema_pod, json_of(&arena, rows[i].from),
                                              json_of(&arena, rows[i].to), &got, &err),
                         PRG_INVALID);
        assert_error_has(&err, rows[i].error);
        assert_null(got);
    }
}

static void keys_of_other_types_tell_entries_apart(void **state)
{
    (void)state;
    // Strings, numbers and booleans are different keys, and are matched through the table of long lists too.
    for (int extra = 0; extra < 40; extra += 20) {
        cJSON *original = json_of(&arena, "{'ports':[{'containerPort':80},{'containerPort':443}]}"), *got = NULL;
        cJSON *ports = prg_json_get(original, "ports");
        for (int i = 0; i < extra; i++) {
            cJSON *port = prg_json_object(&arena);
            prg_json_set_int(&arena, port, "containerPort", 1000 + i);
            prg_json_append(ports, port);
        }
        struct prg_error err = {0};
        cJSON *patch = json_of(&arena, "{'ports':[{'containerPort':'80'},{'containerPort':8e1,'name':'h'},"
                                       "{'containerPort':true},{'containerPort':false},{'containerPort':null},"
                                       "{'containerPort':-0.0,'name':'z'},{'containerPort':0,'name':'y'}]}");
        assert_ok(prg_strategic_apply(&arena, &prg_schema_container, original, patch, &got, &err), &err);
        assert_int_equal(prg_json_count(prg_json_get(got, "ports")), 2 + extra + 5);
        assert_json_text(&arena, prg_json_item(prg_json_get(got, "ports"), 1), "{'containerPort':80,'name':'h'}");
    }
}

// What is built shares with its inputs, but until somebody changes it they stay as they were.
static void what_is_built_is_what_is_applied(void **state)
{
    (void)state;
    const cJSON *rows = prg_json_get(read_test_json(&arena, "cases/json/strategic_random.json"), "rows"), *row;
    size_t count = 0;
    prg_json_each (row, rows) {
        const cJSON *from = prg_json_get(row, "from"), *patch = prg_json_get(row, "patch");
        cJSON *applied = NULL, *built = NULL;
        if (strcmp(prg_json_get_text(row, "op"), "apply") != 0)
            continue;
        const char *before = prg_json_print_arena(&arena, row, 0);
        int rc = prg_strategic_apply(&arena, &prg_schema_pod, from, patch, &applied, NULL);
        assert_int_equal(prg_strategic_build(&arena, &prg_schema_pod, from, patch, &built, NULL), rc);
        assert_string_equal(prg_json_print_arena(&arena, row, 0), before);
        if (rc == PRG_OK)
            assert_string_equal(prg_json_print_arena(&arena, built, 0), prg_json_print_arena(&arena, applied, 0));
        count++;
    }
    assert_true(count >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_pods_merge_as_recorded),
        cmocka_unit_test(what_is_built_is_what_is_applied),
        cmocka_unit_test(entries_of_the_original_are_slipped_in_before_their_followers),
        cmocka_unit_test(long_lists_are_ordered_by_the_same_rule),
        cmocka_unit_test(fields_that_are_not_known_merge_like_json),
        cmocka_unit_test(maps_of_objects_merge_by_the_type_of_their_values),
        cmocka_unit_test(an_absent_original_is_an_empty_object),
        cmocka_unit_test(directives_act_on_objects_and_lists),
        cmocka_unit_test(what_cannot_be_merged_is_refused_with_its_place),
        cmocka_unit_test(merged_nodes_keep_place_and_origin_of_their_side),
        cmocka_unit_test(a_created_patch_leads_there),
        cmocka_unit_test(a_union_is_patched_with_the_fields_to_retain),
        cmocka_unit_test(what_has_no_patch_is_refused),
        cmocka_unit_test(keys_of_other_types_tell_entries_apart),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
