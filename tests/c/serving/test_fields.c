// SPDX-License-Identifier: Apache-2.0
// test_fields.c: every field that a pod or a container can have, walked in the tables of the API: what the runtime says
// alone arrives, what the service says alone arrives, and where both say something the rule of the field decides (the
// service's value, members one by one, lists by their merge key, sets, arguments one after the other). The expectation
// is built here from the tables, in the plainest way, without the strategic merge. Fields that no table knows merge
// like members of a map.
#include "support/support.h"

#include <string.h>

#include "serving/podspec.h"
#include "json/schema.h"

#define DEPTH_MAX 16

enum side { RUNTIME, SERVICE };
enum entry { SHARED, OWN }; // entries of a merged list: one that both sides have, one that only this side has

static cJSON *sample(struct prg_arena *arena, const struct prg_schema_field *field, enum side side, int depth);

static cJSON *sample_scalar(struct prg_arena *arena, enum prg_schema_kind kind, enum side side)
{
    switch (kind) {
    case PRG_KIND_INT:
    case PRG_KIND_INTORSTRING:
        return prg_json_int(arena, side == RUNTIME ? 11 : 22);
    case PRG_KIND_BOOL:
        return prg_json_bool(arena, true); // false is no value for most fields: it vanishes in Go's round trip
    case PRG_KIND_NUMBER:
        return prg_json_number(arena, side == RUNTIME ? "1.5" : "2.5");
    case PRG_KIND_QUANTITY:
        return prg_json_string(arena, side == RUNTIME ? "11" : "22");
    case PRG_KIND_TIME:
        return prg_json_string(arena, side == RUNTIME ? "2026-01-01T00:00:00Z" : "2026-02-02T00:00:00Z");
    default:
        return prg_json_string(arena, side == RUNTIME ? "of-runtime" : "of-service");
    }
}

// Every field of the type has a value.
static cJSON *sample_object(struct prg_arena *arena, const struct prg_schema *schema, enum side side, int depth)
{
    cJSON *object = prg_json_object(arena);
    for (; schema && depth < DEPTH_MAX; schema = schema->inlined)
        for (size_t i = 0; i < schema->count; i++)
            if (!prg_json_get(object, schema->fields[i].name))
                prg_json_set(arena, object, schema->fields[i].name, sample(arena, &schema->fields[i], side, depth + 1));
    return object;
}

static cJSON *sample_element(struct prg_arena *arena, const struct prg_schema_field *field, enum side side, int depth)
{
    return field->element == PRG_KIND_OBJECT && field->type ? sample_object(arena, field->type, side, depth + 1)
                                                            : sample_scalar(arena, field->element, side);
}

static cJSON *key_value(struct prg_arena *arena, const struct prg_schema_field *field, enum side side, enum entry entry)
{
    const struct prg_schema_field *key = prg_schema_find(field->type, field->merge_key);
    assert_non_null(key);
    if (key->kind == PRG_KIND_INT)
        return prg_json_int(arena, entry == SHARED ? 7 : side == RUNTIME ? 11 : 22);
    return prg_json_string(arena, entry == SHARED ? "shared" : side == RUNTIME ? "of-runtime" : "of-service");
}

static cJSON *sample_list(struct prg_arena *arena, const struct prg_schema_field *field, enum side side, int depth)
{
    cJSON *list = prg_json_array(arena), *element = sample_element(arena, field, side, depth);
    if (field->flags & PRG_FIELD_MERGE && field->merge_key) {
        cJSON *shared = prg_json_copy(arena, element);
        prg_json_set(arena, shared, field->merge_key, key_value(arena, field, side, SHARED));
        prg_json_append(list, shared);
        prg_json_set(arena, element, field->merge_key, key_value(arena, field, side, OWN));
    }
    prg_json_append(list, element);
    return list;
}

static cJSON *sample(struct prg_arena *arena, const struct prg_schema_field *field, enum side side, int depth)
{
    cJSON *map;
    switch (field->kind) {
    case PRG_KIND_OBJECT:
        return field->type ? sample_object(arena, field->type, side, depth) : prg_json_object(arena);
    case PRG_KIND_LIST:
        return sample_list(arena, field, side, depth);
    case PRG_KIND_MAP:
        map = prg_json_object(arena);
        prg_json_set(arena, map, "shared", sample_element(arena, field, side, depth));
        prg_json_set(arena, map, side == RUNTIME ? "of-runtime" : "of-service",
                     sample_element(arena, field, side, depth));
        return map;
    default:
        return sample_scalar(arena, field->kind, side);
    }
}

// ---- what must come out ----

// The entry of list whose key equals entry's, or for lists of scalars the equal one.
static const cJSON *same_entry(const cJSON *list, const char *key, const cJSON *entry)
{
    const cJSON *item;
    prg_json_each (item, list) {
        if (key ? prg_json_equal(prg_json_get(item, key), prg_json_get(entry, key)) : prg_json_equal(item, entry))
            return item;
    }
    return NULL;
}

static void assert_merged(struct prg_arena *arena, const struct prg_schema_field *field, const char *path,
                          const cJSON *runtime, const cJSON *service, const cJSON *got);

static void assert_merged_object(struct prg_arena *arena, const struct prg_schema *schema, const char *path,
                                 const cJSON *runtime, const cJSON *service, const cJSON *got)
{
    const cJSON *member;
    const cJSON *const sides[] = {runtime, service};
    for (size_t i = 0; i < PRG_COUNT(sides); i++)
        prg_json_each (member, sides[i]) {
            const struct prg_schema_field *field = prg_schema_find(schema, member->string);
            assert_non_null(field);
            assert_merged(arena, field, prg_arena_printf(arena, "%s.%s", path, member->string),
                          prg_json_get(runtime, member->string), prg_json_get(service, member->string),
                          prg_json_get(got, member->string));
        }
}

static void assert_entries(struct prg_arena *arena, const struct prg_schema_field *field, const char *path,
                           const cJSON *runtime, const cJSON *service, const cJSON *got)
{
    size_t expected = 0;
    const cJSON *const sides[] = {runtime, service}, *item;
    for (size_t i = 0; i < PRG_COUNT(sides); i++)
        prg_json_each (item, sides[i]) {
            const cJSON *entry = same_entry(got, field->merge_key, item);
            if (!entry)
                print_error("%s: an entry of the %s is lost\n", path, i == RUNTIME ? "runtime" : "service");
            assert_non_null(entry);
            const cJSON *other = same_entry(sides[1 - i], field->merge_key, item);
            expected += i == RUNTIME || !other;
            if (field->element == PRG_KIND_OBJECT)
                assert_merged_object(arena, field->type, path, i == RUNTIME ? item : other, i == RUNTIME ? other : item,
                                     entry);
        }
    assert_int_equal(prg_json_count(got), expected);
}

static void assert_concatenated(struct prg_arena *arena, const cJSON *runtime, const cJSON *service, const cJSON *got)
{
    cJSON *want = prg_json_array(arena);
    const cJSON *item, *const sides[] = {runtime, service};
    for (size_t i = 0; i < PRG_COUNT(sides); i++)
        prg_json_each (item, sides[i])
            prg_json_append(want, prg_json_copy(arena, item));
    assert_json_equal(got, want);
}

static void assert_merged(struct prg_arena *arena, const struct prg_schema_field *field, const char *path,
                          const cJSON *runtime, const cJSON *service, const cJSON *got)
{
    if (!got)
        print_error("%s is lost\n", path);
    assert_non_null(got);
    if (!runtime || !service) {
        assert_json_equal(got, runtime ? runtime : service);
    } else if (strcmp(path, "Container.args") == 0) {
        assert_concatenated(arena, runtime, service, got);
    } else if (field->kind == PRG_KIND_LIST && field->flags & PRG_FIELD_MERGE) {
        assert_entries(arena, field, path, runtime, service, got);
    } else if (field->kind == PRG_KIND_OBJECT && field->type) {
        assert_merged_object(arena, field->type, path, runtime, service, got);
    } else if (field->kind == PRG_KIND_MAP) {
        assert_json_equal(prg_json_get(got, "of-runtime"), prg_json_get(runtime, "of-runtime"));
        assert_json_equal(prg_json_get(got, "of-service"), prg_json_get(service, "of-service"));
        assert_json_equal(prg_json_get(got, "shared"), prg_json_get(service, "shared"));
        assert_int_equal(prg_json_count(got), 3);
    } else {
        assert_json_equal(got, service);
    }
}

// ---- walking the tables ----

typedef int (*merge_fn)(struct prg_arena *arena, const struct prg_merge_options *options, const cJSON *runtime,
                        const cJSON *service, cJSON **ret, struct prg_error *err);

static cJSON *with(struct prg_arena *arena, const char *name, const cJSON *value)
{
    cJSON *object = prg_json_object(arena);
    if (value)
        prg_json_set(arena, object, name, prg_json_copy(arena, value));
    if (!prg_json_get(object, "name"))
        prg_json_set_string(arena, object, "name", "c"); // of a container; no field of a pod
    return object;
}

static void check_field(struct prg_arena *arena, const struct prg_schema *schema, const struct prg_schema_field *field,
                        merge_fn merge)
{
    const struct prg_merge_options options = {.compat = &prg_compat_fixed};
    const cJSON *runtime = sample(arena, field, RUNTIME, 0), *service = sample(arena, field, SERVICE, 0);
    const char *path = prg_arena_printf(arena, "%s.%s", schema->name, field->name);
    for (int sides = 1; sides <= 3; sides++) {
        const cJSON *of_runtime = sides & 1 ? runtime : NULL, *of_service = sides & 2 ? service : NULL;
        // A container's name is the service's own, or the runtime's where the service has none.
        bool is_name = strcmp(field->name, "name") == 0;
        cJSON *base = with(arena, field->name, of_runtime), *patch = with(arena, field->name, of_service), *got = NULL;
        struct prg_error err = {0};
        if (is_name && !of_service)
            prg_json_remove(patch, "name");
        assert_ok(merge(arena, &options, base, patch, &got, &err), &err);
        assert_merged(arena, field, path, of_runtime, of_service, prg_json_get(got, field->name));
    }
}

static size_t check_all(const struct prg_schema *schema, const char *except, merge_fn merge)
{
    prg_auto_arena arena;
    size_t count = 0;
    prg_arena_init(&arena);
    for (; schema; schema = schema->inlined)
        for (size_t i = 0; i < schema->count; i++) {
            if (except && strcmp(schema->fields[i].name, except) == 0)
                continue;
            check_field(&arena, schema, &schema->fields[i], merge);
            prg_arena_reset(&arena);
            count++;
        }
    return count;
}

static void every_field_of_a_container_survives_and_merges_by_its_rule(void **state)
{
    (void)state;
    assert_true(check_all(&prg_schema_container, NULL, prg_podspec_merge_container) >= 23);
}

static void every_field_of_a_pod_survives_and_merges_by_its_rule(void **state)
{
    (void)state;
    // Containers are put together by other rules, see test_podspec.c.
    assert_true(check_all(&prg_schema_pod_spec, "containers", prg_podspec_merge) >= 38);
}

static void fields_that_no_table_knows_survive_and_merge(void **state)
{
    static const merge_fn merges[] = {prg_podspec_merge_container, prg_podspec_merge};
    const struct prg_merge_options options = {.compat = &prg_compat_fixed};
    prg_auto_arena arena;
    (void)state;
    prg_arena_init(&arena);
    for (size_t i = 0; i < PRG_COUNT(merges); i++) {
        struct prg_error err = {0};
        cJSON *got = NULL;
        const cJSON *runtime = json_of(&arena, "{'name':'c','newText':'r','newMap':{'a':1,'deep':{'x':[1],'y':null}},"
                                               "'newList':[{'name':'r'}],'onlyRuntime':{'z':0}}");
        const cJSON *service = json_of(&arena, "{'name':'c','newText':'s','newMap':{'b':2,'deep':{'x':[2,3]}},"
                                               "'newList':[{'name':'s'}],'onlyService':[{},[]]}");
        assert_ok(merges[i](&arena, &options, runtime, service, &got, &err), &err);
        assert_json_text(&arena, prg_json_get(got, "newText"), "'s'");
        assert_json_text(&arena, prg_json_get(got, "newMap"), "{'a':1,'b':2,'deep':{'x':[2,3],'y':null}}");
        assert_json_text(&arena, prg_json_get(got, "newList"), "[{'name':'s'}]");
        assert_json_text(&arena, prg_json_get(got, "onlyRuntime"), "{'z':0}");
        assert_json_text(&arena, prg_json_get(got, "onlyService"), "[{},[]]");
    }
}

static void fields_inside_known_ones_that_no_table_knows_survive_too(void **state)
{
    const struct prg_merge_options options = {.compat = &prg_compat_fixed};
    struct prg_error err = {0};
    prg_auto_arena arena;
    cJSON *got = NULL;
    (void)state;
    prg_arena_init(&arena);
    const cJSON *runtime = json_of(&arena, "{'name':'c','env':[{'name':'A','value':'1','new':{'r':1}}],"
                                           "'livenessProbe':{'newHandler':{'a':1},'periodSeconds':3},"
                                           "'securityContext':{'new':'r'}}");
    const cJSON *service = json_of(&arena, "{'name':'c','env':[{'name':'A','value':'2','new':{'s':2}}],"
                                           "'livenessProbe':{'newHandler':{'b':2}},'securityContext':{'runAsUser':5}}");
    assert_ok(prg_podspec_merge_container(&arena, &options, runtime, service, &got, &err), &err);
    assert_json_text(&arena, prg_json_get(got, "env"), "[{'name':'A','value':'2','new':{'r':1,'s':2}}]");
    assert_json_text(&arena, prg_json_get(got, "livenessProbe"), "{'newHandler':{'a':1,'b':2},'periodSeconds':3}");
    assert_json_text(&arena, prg_json_get(got, "securityContext"), "{'new':'r','runAsUser':5}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_container_survives_and_merges_by_its_rule),
        cmocka_unit_test(every_field_of_a_pod_survives_and_merges_by_its_rule),
        cmocka_unit_test(fields_that_no_table_knows_survive_and_merge),
        cmocka_unit_test(fields_inside_known_ones_that_no_table_knows_survive_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
