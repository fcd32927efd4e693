// SPDX-License-Identifier: Apache-2.0
// test_adopt.c: whose fields are whose before an apply.
#include "kube/adopt.h"

#include "support/support.h"

#define ENTRY(manager, operation, version, fields)                                                                     \
    "{'manager':'" manager "','operation':'" operation "','apiVersion':'" version                                      \
    "','fieldsType':'FieldsV1','fieldsV1':" fields "}"
#define OBJECT(entries) "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'managedFields':[" entries "]}}"
#define INTENT "{'apiVersion':'apps/v1','spec':{'template':{}}}"
#define INTENT_REPLICAS "{'apiVersion':'apps/v1','spec':{'replicas':3}}"

static void assert_fields(const char *live, const char *intent, const char *want)
{
    prg_auto_arena arena = {0};
    cJSON *fields = prg_adopt_fields(&arena, json_of(&arena, live), json_of(&arena, intent), "perigee");
    if (!want) {
        assert_null(fields);
        return;
    }
    assert_non_null(fields);
    cJSON *wanted = json_of(&arena, want);
    assert_string_equal(prg_json_print_arena(&arena, fields, PRG_JSON_SORTED),
                        prg_json_print_arena(&arena, wanted, PRG_JSON_SORTED));
}

static uint32_t mark(const char *text)
{
    prg_auto_arena arena = {0};
    return prg_adopt_mark(json_of(&arena, text), "perigee");
}

static void the_fields_of_an_old_controller_become_ours(void **state)
{
    (void)state;
    assert_fields(OBJECT(ENTRY("manager", "Update", "apps/v1", "{'f:spec':{'f:template':{}}}")), INTENT,
                  "[" ENTRY("perigee", "Apply", "apps/v1", "{'f:spec':{'f:template':{}}}") "]");
}

static void they_join_what_is_ours_already_and_others_keep_theirs(void **state)
{
    (void)state;
    assert_fields(OBJECT(ENTRY("kubectl", "Update", "apps/v1", "{'f:a':{}}") "," ENTRY(
                      "manager", "Update", "apps/v1",
                      "{'f:spec':{'f:x':{'.':{},'f:y':{}}},'f:z':{}}") "," ENTRY("perigee", "Apply", "apps/v1",
                                                                                 "{'f:spec':{'f:x':{'f:w':{}}}}")),
                  INTENT,
                  "[" ENTRY("kubectl", "Update", "apps/v1", "{'f:a':{}}") "," ENTRY(
                      "perigee", "Apply", "apps/v1", "{'f:spec':{'f:x':{'.':{},'f:w':{},'f:y':{}}},'f:z':{}}") "]");
}

static void two_old_managers_become_one(void **state)
{
    (void)state;
    assert_fields(OBJECT(ENTRY("manager", "Update", "apps/v1",
                               "{'f:a':{}}") "," ENTRY("kserve-controller-manager", "Update", "apps/v1", "{'f:b':{}}")),
                  INTENT, "[" ENTRY("perigee", "Apply", "apps/v1", "{'f:a':{},'f:b':{}}") "]");
}

static void what_cannot_be_joined_stays_where_it_is(void **state)
{
    (void)state;
    assert_fields(OBJECT(ENTRY("manager", "Update", "apps/v1beta1", "{'f:a':{}}")), INTENT, NULL);
    assert_fields(OBJECT("{'manager':'manager','operation':'Update','apiVersion':'apps/v1','subresource':'status',"
                         "'fieldsV1':{'f:status':{}}}"),
                  INTENT, NULL);
    assert_fields(OBJECT(ENTRY("manager", "Apply", "apps/v1", "{'f:a':{}}")), INTENT, NULL);
    assert_fields(OBJECT(ENTRY("kubectl-edit", "Update", "apps/v1", "{'f:a':{}}")), INTENT, NULL);
    assert_fields("{'metadata':{}}", INTENT, NULL);
    assert_fields("{'metadata':{'managedFields':'odd'}}", INTENT, NULL);
}

static void a_replica_count_is_given_up_when_the_intent_has_none(void **state)
{
    static const char ours[] = OBJECT(ENTRY("perigee", "Apply", "apps/v1", "{'f:spec':{'f:replicas':{},'f:x':{}}}"));
    (void)state;
    assert_fields(ours, INTENT, "[" ENTRY("perigee", "Apply", "apps/v1", "{'f:spec':{'f:x':{}}}") "]");
    assert_fields(ours, INTENT_REPLICAS, NULL);
    assert_fields(OBJECT(ENTRY("manager", "Update", "apps/v1", "{'f:spec':{'f:replicas':{},'f:x':{}}}")), INTENT,
                  "[" ENTRY("perigee", "Apply", "apps/v1", "{'f:spec':{'f:x':{}}}") "]");
    assert_fields(OBJECT(ENTRY("kube-controller-manager", "Update", "apps/v1", "{'f:spec':{'f:replicas':{}}}")), INTENT,
                  NULL);
}

// As an Update of the old controller has it once the server filled in defaults: they are in its field set.
static void defaults_below_an_empty_object_are_not_taken_over(void **state)
{
    static const char intent[] =
        "{'apiVersion':'apps/v1','kind':'Deployment','spec':{'replicas':1,'strategy':{},'template':{'spec':{'volumes':["
        "{'name':'a','emptyDir':{}},{'name':'b','secret':{'secretName':'s'}}],'containers':[{'name':'c','args':[],"
        "'ports':[{'containerPort':80,'protocol':'TCP'}],'securityContext':{}}]}}}}";
    static const char update[] =
        "{'f:spec':{'f:replicas':{},'f:strategy':{'f:rollingUpdate':{'.':{},'f:maxSurge':{}},'f:type':{}},'f:template':"
        "{"
        "'f:spec':{'f:volumes':{'.':{},'k:{\\'name\\':\\'a\\'}':{'.':{},'f:emptyDir':{'f:medium':{}},'f:name':{}},"
        "'k:{\\'name\\':\\'b\\'}':{'.':{},'f:name':{},'f:secret':{'.':{},'f:defaultMode':{},'f:secretName':{}}},"
        "'k:not json':{'f:x':{}},'k:{\\'name\\':\\'gone\\'}':{'.':{},'f:emptyDir':{'f:medium':{}}}},"
        "'f:containers':{'k:{\\'name\\':\\'c\\'}':{'.':{},'f:args':{},'f:ports':{'k:{\\'containerPort\\':80,"
        "\\'protocol\\':\\'TCP\\'}':{'.':{},'f:containerPort':{}}},'f:securityContext':{'f:x':{}}}}}}}}";
    static const char ours[] =
        "{'f:spec':{'f:replicas':{},'f:strategy':{},'f:template':{"
        "'f:spec':{'f:volumes':{'.':{},'k:{\\'name\\':\\'a\\'}':{'.':{},'f:emptyDir':{},'f:name':{}},"
        "'k:{\\'name\\':\\'b\\'}':{'.':{},'f:name':{},'f:secret':{'.':{},'f:defaultMode':{},'f:secretName':{}}},"
        "'k:not json':{'f:x':{}},'k:{\\'name\\':\\'gone\\'}':{'.':{},'f:emptyDir':{'f:medium':{}}}},"
        "'f:containers':{'k:{\\'name\\':\\'c\\'}':{'.':{},'f:args':{},'f:ports':{'k:{\\'containerPort\\':80,"
        "\\'protocol\\':\\'TCP\\'}':{'.':{},'f:containerPort':{}}},'f:securityContext':{}}}}}}}";
    prg_auto_arena arena = {0};
    (void)state;
    assert_fields(prg_arena_printf(&arena,
                                   OBJECT("{'manager':'manager','operation':'Update','apiVersion':'apps/v1',"
                                          "'fieldsV1':%s}"),
                                   update),
                  intent,
                  prg_arena_printf(&arena,
                                   "[{'manager':'perigee','operation':'Apply','apiVersion':'apps/v1','fieldsV1':"
                                   "%s}]",
                                   ours));
}

static void marks_say_beforehand_whether_anything_is_due(void **state)
{
    prg_auto_arena arena = {0};
    const cJSON *bare = json_of(&arena, INTENT), *replicas = json_of(&arena, INTENT_REPLICAS);
    (void)state;
    uint32_t old = mark(OBJECT(ENTRY("manager", "Update", "apps/v1", "{'f:a':{}}")));
    uint32_t own = mark(OBJECT(ENTRY("perigee", "Apply", "apps/v1", "{'f:spec':{'f:replicas':{}}}")));
    assert_int_equal(old, PRG_MARK_OLD_MANAGER);
    assert_int_equal(own, PRG_MARK_OWN_REPLICAS);
    assert_int_equal(mark(OBJECT(ENTRY("perigee", "Update", "apps/v1", "{'f:spec':{'f:replicas':{}}}"))), 0);
    assert_int_equal(mark("{'metadata':{'managedFields':[7,null,{}]}}"), 0);
    assert_true(prg_adopt_is_due(old, replicas));
    assert_true(prg_adopt_is_due(own, bare));
    assert_false(prg_adopt_is_due(own, replicas));
    assert_false(prg_adopt_is_due(0, bare));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fields_of_an_old_controller_become_ours),
        cmocka_unit_test(they_join_what_is_ours_already_and_others_keep_theirs),
        cmocka_unit_test(two_old_managers_become_one),
        cmocka_unit_test(what_cannot_be_joined_stays_where_it_is),
        cmocka_unit_test(a_replica_count_is_given_up_when_the_intent_has_none),
        cmocka_unit_test(defaults_below_an_empty_object_are_not_taken_over),
        cmocka_unit_test(marks_say_beforehand_whether_anything_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
