// SPDX-License-Identifier: Apache-2.0
// test_effect.c: what it means for a service when its plan becomes another.
#include "support/support.h"

#include <string.h>

#include "explain/effect.h"
#include "store/store_mem.h"

struct fixture {
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_error err;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.store = prg_store_mem_new()};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    prg_store_free(f->store);
    prg_arena_release(&f->arena);
    return 0;
}

#define DEPLOYMENT                                                                                                     \
    "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'd', 'namespace': 'n', 'labels': {'a': "     \
    "'1'}}, "                                                                                                          \
    "'spec': {'replicas': 3, 'selector': {'x': 'y'}, 'template': {'metadata': {'labels': {'x': 'y'}}, 'spec': "        \
    "{'containers': [{'name': 'c', 'image': 'i', 'resources': {'limits': {'nvidia.com/gpu': '2', 'cpu': '1'}}}]}}}}"

static struct prg_plan *plan_of(struct fixture *f, const char *objects, const char *error)
{
    struct prg_plan *plan = prg_plan_new(&f->arena);
    cJSON *list = json_of(&f->arena, objects);
    while (list->child) {
        cJSON *object = list->child;
        prg_json_detach(list, object);
        prg_plan_add_object(plan, object);
    }
    plan->resource = json_of(&f->arena, "{'apiVersion': 'serving.kserve.io/v1beta1', 'kind': 'InferenceService', "
                                        "'metadata': {'name': 's', 'namespace': 'n'}, 'status': {'a': 1}}");
    plan->error = error;
    prg_plan_finish(plan);
    return plan;
}

// The Deployment with one text replaced.
static const char *with(struct fixture *f, const char *old, const char *new)
{
    const char *at = strstr(DEPLOYMENT, old);
    assert_non_null(at);
    return prg_arena_printf(&f->arena, "[%.*s%s%s]", (int)(at - DEPLOYMENT), DEPLOYMENT, new, at + strlen(old));
}

static void a_service_is_in_the_group_of_its_gravest_change(void **state)
{
    static const struct {
        const char *old, *new;
        enum prg_effect_group group;
        int64_t restarts, pods, gpus, gpus_after;
    } examples[] = {
        {"'a': '1'", "'a': '1'", PRG_EFFECT_UNCHANGED, 0, 0, 0, 6},
        {"'a': '1'", "'a': '2'", PRG_EFFECT_METADATA, 0, 0, 0, 6},
        {"'replicas': 3,", "'replicas': 3, 'paused': true,", PRG_EFFECT_IN_PLACE, 0, 0, 0, 6},
        {"'image': 'i'", "'image': 'j'", PRG_EFFECT_RESTART, 3, 3, 6, 6},
        {"{'labels': {'x': 'y'}}", "{'labels': {'x': 'z'}}", PRG_EFFECT_RESTART, 3, 3, 6, 6},
        {"'selector': {'x': 'y'}", "'selector': {'x': 'z'}", PRG_EFFECT_RESTART, 3, 3, 6, 6},
        {"'nvidia.com/gpu': '2'", "'nvidia.com/gpu': '4'", PRG_EFFECT_GPUS, 3, 3, 12, 12},
        {"'nvidia.com/gpu': '2'", "'amd.com/gpu': '2'", PRG_EFFECT_GPUS, 3, 3, 6, 6},
        {"'replicas': 3", "'replicas': 5", PRG_EFFECT_GPUS, 0, 0, 0, 10},
        {"'cpu': '1'", "'cpu': '2'", PRG_EFFECT_RESTART, 3, 3, 6, 6},
        {"'name': 'd'", "'name': 'e'", PRG_EFFECT_OBJECTS, 0, 6, 12, 6},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < PRG_COUNT(examples); i++) {
        struct prg_effect effect;
        prg_effect_of(&f->arena, NULL, plan_of(f, "[" DEPLOYMENT "]", NULL),
                      plan_of(f, with(f, examples[i].old, examples[i].new), NULL), &effect);
        assert_string_equal(prg_effect_name(effect.group), prg_effect_name(examples[i].group));
        assert_int_equal(effect.restarts, examples[i].restarts);
        assert_int_equal(effect.pods, examples[i].pods);
        assert_int_equal(effect.gpus, examples[i].gpus);
        assert_int_equal(effect.gpus_total[0], 6);
        assert_int_equal(effect.gpus_total[1], examples[i].gpus_after);
    }
}

static void pods_are_those_that_run(void **state)
{
    struct fixture *f = *state;
    struct prg_effect effect;
    cJSON *stored = json_of(&f->arena, DEPLOYMENT);
    prg_json_set(&f->arena, stored, "status", json_of(&f->arena, "{'replicas': 7}"));
    assert_ok(prg_store_mem_put(f->store, stored, true, true, &f->err), &f->err);
    prg_effect_of(&f->arena, &f->store->reader, plan_of(f, with(f, "'replicas': 3, ", ""), NULL),
                  plan_of(f, with(f, "'replicas': 3, ", "'minReadySeconds': 1, "), NULL), &effect);
    assert_int_equal(effect.gpus_total[0], 14);
}

static void a_plan_that_fails_leaves_running_what_runs(void **state)
{
    struct fixture *f = *state;
    struct prg_effect effect;
    prg_effect_of(&f->arena, NULL, plan_of(f, "[" DEPLOYMENT "]", NULL), plan_of(f, "[]", "no runtime"), &effect);
    assert_string_equal(prg_effect_name(effect.group), "error");
    assert_int_equal(effect.pods, 0);
    assert_int_equal(effect.gpus_total[1], 6);
    assert_null(effect.first);
}

static void another_error_is_no_new_failure(void **state)
{
    struct fixture *f = *state;
    struct prg_effect effect;
    prg_effect_of(&f->arena, NULL, plan_of(f, "[]", "no runtime: a, b"), plan_of(f, "[]", "no runtime: a"), &effect);
    assert_string_equal(prg_effect_name(effect.group), "metadata");
}

static void a_plan_that_is_mended_is_compared_with_what_is_stored(void **state)
{
    struct fixture *f = *state;
    struct prg_effect effect;
    struct prg_plan *broken = plan_of(f, "[]", "no runtime"), *mended = plan_of(f, "[" DEPLOYMENT "]", NULL);
    prg_effect_of(&f->arena, &f->store->reader, broken, mended, &effect);
    assert_string_equal(prg_effect_name(effect.group), "objects");
    assert_int_equal(effect.first->change, PRG_OBJECT_APPEARS);
    assert_ok(prg_store_mem_put(f->store, json_of(&f->arena, DEPLOYMENT), true, true, &f->err), &f->err);
    prg_effect_of(&f->arena, &f->store->reader, broken, mended, &effect);
    assert_null(effect.first);
    assert_int_equal(effect.restarts, 0);
}

static void a_service_that_comes_or_goes_is_its_objects(void **state)
{
    struct fixture *f = *state;
    struct prg_effect effect;
    prg_effect_of(&f->arena, NULL, NULL, plan_of(f, "[" DEPLOYMENT "]", NULL), &effect);
    assert_string_equal(prg_effect_name(effect.group), "objects");
    assert_int_equal(effect.first->change, PRG_OBJECT_APPEARS);
    assert_int_equal(effect.gpus, 6);
    prg_effect_of(&f->arena, NULL, plan_of(f, "[" DEPLOYMENT "]", NULL), NULL, &effect);
    assert_int_equal(effect.first->change, PRG_OBJECT_VANISHES);
}

static void fields_beyond_the_limit_are_counted(void **state)
{
    struct fixture *f = *state;
    struct prg_effect effect;
    prg_auto_strbuf labels = PRG_STRBUF_INIT;
    for (int i = 0; i < PRG_EFFECT_FIELDS + 50; i++)
        prg_strbuf_printf(&labels, "%s'l%d': 'v'", i ? ", " : "", i);
    prg_effect_of(&f->arena, NULL, plan_of(f, "[" DEPLOYMENT "]", NULL),
                  plan_of(f, with(f, "'a': '1'", labels.text), NULL), &effect);
    assert_int_equal(effect.first->field_count, PRG_EFFECT_FIELDS + 51);
    size_t kept = 0;
    for (const struct prg_field_effect *field = effect.first->first; field; field = field->next)
        kept++;
    assert_int_equal(kept, PRG_EFFECT_FIELDS);
}

static void what_only_the_new_plan_deletes_vanishes(void **state)
{
    struct fixture *f = *state;
    struct prg_effect effect;
    struct prg_plan *after = plan_of(f, "[]", NULL);
    prg_plan_add_delete(after, "autoscaling/v2", "HorizontalPodAutoscaler", "n", "d");
    prg_effect_of(&f->arena, NULL, plan_of(f, "[]", NULL), after, &effect);
    assert_string_equal(prg_effect_name(effect.group), "objects");
    assert_string_equal(effect.first->kind, "HorizontalPodAutoscaler");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_service_is_in_the_group_of_its_gravest_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pods_are_those_that_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plan_that_fails_leaves_running_what_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_error_is_no_new_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plan_that_is_mended_is_compared_with_what_is_stored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_service_that_comes_or_goes_is_its_objects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fields_beyond_the_limit_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_only_the_new_plan_deletes_vanishes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
