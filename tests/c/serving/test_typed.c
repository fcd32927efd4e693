// SPDX-License-Identifier: Apache-2.0
// test_typed.c: the normal form of typed values.
#include "serving/podspec.h"
#include "support/support.h"

static cJSON *normal(struct prg_arena *arena, const struct prg_schema *schema, const char *text)
{
    struct prg_error err = {0};
    cJSON *given = json_of(arena, text), *untouched = prg_json_copy(arena, given), *got = NULL;
    assert_ok(prg_typed_normal(arena, schema, given, &got, &err), &err);
    assert_json_equal(given, untouched);
    return got;
}

static void zero_values_vanish_where_the_type_says_so(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena,
                     normal(&arena, &prg_schema_container,
                            "{'name':'a','image':'','tty':false,'args':[],'ports':[],'workingDir':null,"
                            "'livenessProbe':{'periodSeconds':0,'timeoutSeconds':1},'resources':{'limits':{}}}"),
                     "{'name':'a','livenessProbe':{'timeoutSeconds':1},'resources':{}}");
}

static void pointers_keep_their_zero_values(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena,
                     normal(&arena, &prg_schema_pod_spec,
                            "{'terminationGracePeriodSeconds':0,'automountServiceAccountToken':false,"
                            "'securityContext':{'runAsUser':0},'hostNetwork':false,"
                            "'volumes':[{'name':'v','emptyDir':{}}],'affinity':{}}"),
                     "{'terminationGracePeriodSeconds':0,'automountServiceAccountToken':false,"
                     "'securityContext':{'runAsUser':0},'volumes':[{'name':'v','emptyDir':{}}],'affinity':{}}");
}

static void required_fields_are_always_there(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena,
                     normal(&arena, &prg_schema_container,
                            "{'ports':[{}],'volumeMounts':[{'mountPath':'/a'}],"
                            "'env':[{'name':'A','valueFrom':{'resourceFieldRef':{'resource':'limits.cpu'}}}],"
                            "'readinessProbe':{'tcpSocket':{}}}"),
                     "{'name':'','ports':[{'containerPort':0}],'volumeMounts':[{'mountPath':'/a','name':''}],"
                     "'env':[{'name':'A','valueFrom':{'resourceFieldRef':{'resource':'limits.cpu','divisor':'0'}}}],"
                     "'readinessProbe':{'tcpSocket':{'port':0}}}");
    assert_json_text(&arena,
                     normal(&arena, &prg_schema_pod_spec,
                            "{'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{}]}}}"),
                     "{'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':0,"
                     "'preference':{}}]}}}");
}

static void quantities_have_one_spelling(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena,
                     normal(&arena, &prg_schema_resources,
                            "{'limits':{'a':'0.5','b':1,'c':'2048Mi','d':'1.5Gi','e':1e3,'f':null,'g':'1.500'}}"),
                     "{'limits':{'a':'500m','b':'1','c':'2Gi','d':'1536Mi','e':'1e3','f':'0','g':'1.500'}}");
}

static void null_in_a_list_or_map_is_the_zero_value(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(&arena, normal(&arena, &prg_schema_container, "{'name':'a','args':[null,'x'],'env':[null]}"),
                     "{'name':'a','args':['','x'],'env':[{}]}");
    assert_json_text(&arena, normal(&arena, &prg_schema_pod_spec, "{'nodeSelector':{'a':null,'b':''}}"),
                     "{'nodeSelector':{'a':'','b':''}}");
}

static void whole_numbers_have_one_spelling(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    const cJSON *got = normal(&arena, &prg_schema_container, "{'name':'a','livenessProbe':{'periodSeconds':3.0}}");
    assert_string_equal(prg_json_number_text(prg_json_at(got, "livenessProbe", "periodSeconds")), "3");
}

static void unknown_fields_stay_and_directives_go(void **state)
{
    prg_auto_arena arena = {0};
    (void)state;
    prg_arena_init(&arena);
    assert_json_text(
        &arena, normal(&arena, &prg_schema_container, "{'name':'a','x':{'y':[],'z':''},'n':null,'$patch':'delete'}"),
        "{'name':'a','x':{'y':[],'z':''}}");
}

static void nothing_reads_as_an_empty_object(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got;
    (void)state;
    prg_arena_init(&arena);
    assert_ok(prg_typed_normal(&arena, &prg_schema_pod_spec, NULL, &got, &err), &err);
    assert_json_text(&arena, got, "{}");
    assert_json_text(&arena, normal(&arena, &prg_schema_pod_spec, "null"), "{}");
}

static void position_and_origin_stay(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got, *given = json_of(&arena, "{'name':'a','resources':{'limits':{'cpu':'0.5'}}}");
    (void)state;
    cJSON *cpu = prg_json_at(given, "resources", "limits", "cpu");
    prg_json_set_position(cpu, 7, 9);
    prg_json_tag(cpu, PRG_ORIGIN_CONFIG);
    assert_ok(prg_typed_normal(&arena, &prg_schema_container, given, &got, &err), &err);
    cpu = prg_json_at(got, "resources", "limits", "cpu");
    assert_string_equal(prg_json_text(cpu), "500m");
    assert_int_equal(prg_json_position(cpu).line, 7);
    assert_int_equal(prg_json_position(cpu).column, 9);
    assert_int_equal(prg_json_origin(cpu), PRG_ORIGIN_CONFIG);
}

static void wrong_types_name_the_pointer(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"[]", "/: an object is expected here, not array"},
        {"{'args':{}}", "/args: a list is expected here, not object"},
        {"{'args':[1]}", "/args/0: a text is expected here, not number 1"},
        {"{'env':[{'name':'a~/b'},'x']}", "/env/1: an object is expected here, not string"},
        {"{'tty':'true'}", "/tty: true or false is expected here, not string"},
        {"{'resources':{'limits':{'a~/b':[]}}}", "/resources/limits/a~0~1b: a quantity is expected here, not array"},
        {"{'resources':{'limits':[]}}", "/resources/limits: an object is expected here"},
        {"{'livenessProbe':{'periodSeconds':9223372036854775808}}", "/livenessProbe/periodSeconds: a whole number"},
        {"{'livenessProbe':{'httpGet':{'port':1.5}}}", "/livenessProbe/httpGet/port: a whole number or a text"},
        {"{'resources':{'limits':{'cpu':'1 Gi'}}}", "/resources/limits/cpu"},
    };
    (void)state;
    for (size_t i = 0; i < PRG_COUNT(cases); i++) {
        prg_auto_arena arena = {0};
        struct prg_error err = {0};
        cJSON *got = NULL;
        prg_arena_init(&arena);
        assert_int_equal(prg_typed_normal(&arena, &prg_schema_container, json_of(&arena, cases[i].text), &got, &err),
                         PRG_INVALID);
        assert_null(got);
        assert_error_has(&err, cases[i].error);
    }
}

static void all_kinds_of_a_table_are_known(void **state)
{
    static const struct prg_schema_field inner_fields[] = {{"is", PRG_KIND_BOOL, 0, PRG_FIELD_REQUIRED, NULL, NULL}};
    static const struct prg_schema inner = {.name = "Inner", .fields = inner_fields, .count = 1};
    static const struct prg_schema_field fields[] = {
        {"any", PRG_KIND_ANY, 0, 0, NULL, NULL},
        {"free", PRG_KIND_OBJECT, 0, 0, NULL, NULL},
        {"number", PRG_KIND_NUMBER, 0, 0, NULL, NULL},
        {"time", PRG_KIND_TIME, 0, 0, NULL, NULL},
    };
    static const struct prg_schema outer = {.name = "Outer", .fields = fields, .count = 4, .inlined = &inner};
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got;
    (void)state;
    assert_json_text(&arena, normal(&arena, &outer, "{'any':[null,''],'free':{'x':''},'number':1.5,'time':''}"),
                     "{'any':[null,''],'free':{'x':''},'number':1.5,'time':'','is':false}");
    assert_json_text(&arena, normal(&arena, &outer, "{'number':0.0,'is':true}"), "{'is':true}");
    assert_int_equal(prg_typed_normal(&arena, &outer, json_of(&arena, "{'number':'1'}"), &got, &err), PRG_INVALID);
    assert_error_has(&err, "/number: a number is expected here, not string");
    prg_error_clear(&err);
    assert_int_equal(prg_typed_normal(&arena, &outer, json_of(&arena, "{'time':1}"), &got, &err), PRG_INVALID);
    assert_error_has(&err, "/time: a text is expected here");
}

static void a_quantity_with_a_nul_byte_is_refused(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got, *resources = prg_json_object(&arena);
    (void)state;
    prg_json_set(&arena, prg_json_ensure_object(&arena, resources, "limits"), "cpu",
                 prg_json_stringn(&arena, "1\0Gi", 4));
    assert_int_equal(prg_typed_normal(&arena, &prg_schema_resources, resources, &got, &err), PRG_INVALID);
    assert_error_has(&err, "/limits/cpu");
}

static void a_form_marks_and_leaves_out_in_the_same_pass(void **state)
{
    static const char *const only[] = {"name", "newer", NULL}, *const without[] = {"image", "newer", NULL};
    struct prg_typed_form form = {.origin = PRG_ORIGIN_SERVICE, .only = only};
    prg_auto_arena arena = {0}, theirs = {0};
    struct prg_error err = {0};
    cJSON *got, *given = json_of(&theirs, "{'image':'i','name':'n','newer':{'image':'x'},'tty':true}");
    (void)state;
    prg_json_tag_one(prg_json_get(given, "name"), PRG_ORIGIN_CONFIG);
    assert_ok(prg_typed_make(&arena, &prg_schema_container, given, &form, &got, &err), &err);
    assert_json_text(&arena, got, "{'name':'n','newer':{'image':'x'}}");
    assert_int_equal(prg_json_origin(got), PRG_ORIGIN_SERVICE);
    assert_int_equal(prg_json_origin(prg_json_get(got, "name")), PRG_ORIGIN_CONFIG);
    assert_int_equal(prg_json_origin(prg_json_at(got, "newer", "image")), PRG_ORIGIN_SERVICE);
    form = (struct prg_typed_form){.without = without, .shares_texts = true};
    assert_ok(prg_typed_make(&arena, &prg_schema_container, given, &form, &got, &err), &err);
    assert_ptr_equal(prg_json_get_text(got, "name"), prg_json_get_text(given, "name"));
    form.shares_texts = false;
    assert_ok(prg_typed_make(&arena, &prg_schema_container, given, &form, &got, &err), &err);
    prg_arena_release(&theirs); // the result has texts of its own
    assert_json_text(&arena, got, "{'name':'n','tty':true}");
}

static void whole_numbers_of_any_length_are_told_from_others(void **state)
{
    prg_auto_arena arena = {0};
    struct prg_error err = {0};
    cJSON *got = NULL;
    (void)state;
    assert_json_text(&arena,
                     normal(&arena, &prg_schema_probe,
                            "{'periodSeconds':-0,'timeoutSeconds':0,"
                            "'successThreshold':999999999999999999,'failureThreshold':9223372036854775807}"),
                     "{'successThreshold':999999999999999999,'failureThreshold':9223372036854775807}");
    assert_int_equal(prg_typed_normal(&arena, &prg_schema_probe,
                                      json_of(&arena, "{'periodSeconds':9223372036854775808}"), &got, &err),
                     PRG_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_values_vanish_where_the_type_says_so),
        cmocka_unit_test(pointers_keep_their_zero_values),
        cmocka_unit_test(required_fields_are_always_there),
        cmocka_unit_test(quantities_have_one_spelling),
        cmocka_unit_test(null_in_a_list_or_map_is_the_zero_value),
        cmocka_unit_test(whole_numbers_have_one_spelling),
        cmocka_unit_test(unknown_fields_stay_and_directives_go),
        cmocka_unit_test(nothing_reads_as_an_empty_object),
        cmocka_unit_test(position_and_origin_stay),
        cmocka_unit_test(a_form_marks_and_leaves_out_in_the_same_pass),
        cmocka_unit_test(whole_numbers_of_any_length_are_told_from_others),
        cmocka_unit_test(wrong_types_name_the_pointer),
        cmocka_unit_test(all_kinds_of_a_table_are_known),
        cmocka_unit_test(a_quantity_with_a_nul_byte_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
