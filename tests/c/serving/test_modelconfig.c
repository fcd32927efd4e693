// SPDX-License-Identifier: Apache-2.0
// test_modelconfig.c: the ConfigMap of a multi-model service.
#include "plan_fixture.h"

static void a_service_of_many_models_gets_an_empty_list(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(&px, "{'model': {'modelFormat': {'name': 'sklearn'}}}", NULL, NULL);
    prg_json_set(&px.arena, prg_json_get(s.service, "metadata"), "labels", json_of(&px.arena, "{'team': 'x'}"));
    assert_ok(prg_serving_model_config(&s, &px.err), &px.err);
    assert_json_text(&px.arena, s.plan->objects,
                     "[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'modelconfig-m-0', 'namespace': "
                     "'ns', 'labels': {'team': 'x'}, 'ownerReferences': [{'apiVersion': 'serving.kserve.io/v1beta1', "
                     "'kind': 'InferenceService', 'name': 'm', 'uid': 'u-1', 'controller': true, "
                     "'blockOwnerDeletion': true}]}, 'data': {'models.json': '[]'}}]");
    const cJSON *metadata = prg_json_get(prg_json_item(s.plan->objects, 0), "metadata");
    assert_int_equal(prg_json_origin(prg_json_at(metadata, "labels", "team")), PRG_ORIGIN_SERVICE);
    assert_int_equal(prg_json_origin(prg_json_get(metadata, "name")), PRG_ORIGIN_RULE);
    px_release(&px);
}

static void an_existing_list_is_left_to_whoever_adds_models(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(
        &px, "{'model': {'modelFormat': {'name': 'sklearn'}}}",
        "[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'modelconfig-m-0', 'namespace': 'ns'}}]",
        NULL);
    assert_ok(prg_serving_model_config(&s, &px.err), &px.err);
    assert_int_equal(prg_json_count(s.plan->objects), 0);
    assert_non_null(px_traced(s.plan, "modelconfig-m-0", "kept"));
    px_release(&px);
}

static void a_service_of_one_model_gets_none(void **state)
{
    struct px px;
    (void)state;
    px_init(&px, &prg_compat_fixed);
    struct prg_serving s = px_serving(&px, "{'model': {'storageUri': 's3://b'}}", NULL, NULL);
    assert_ok(prg_serving_model_config(&s, &px.err), &px.err);
    assert_int_equal(prg_json_count(s.plan->objects), 0);
    px_release(&px);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_of_many_models_gets_an_empty_list),
        cmocka_unit_test(an_existing_list_is_left_to_whoever_adds_models),
        cmocka_unit_test(a_service_of_one_model_gets_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
