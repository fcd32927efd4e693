// SPDX-License-Identifier: Apache-2.0
// modelconfig.c: the ConfigMap that lists the models of a multi-model service (ModelConfigReconciler.Reconcile).
#include "serving/annotations.h"
#include "serving/predictor.h"

int prg_serving_model_config(struct prg_serving *s, struct prg_error *err)
{
    (void)err;
    if (!prg_predictor_is_multi_model(s->predictor))
        return PRG_OK;
    const char *name = prg_model_config_name(s->arena, s->name);
    // Once it is there its content belongs to whoever adds models, so it is not planned again.
    if (prg_reader_get(s->in->store, "", "ConfigMap", s->ns, name)) {
        prg_plan_trace(s->plan, "model_config", NULL, name, "kept", "the ConfigMap exists; its models are not touched");
        return PRG_OK;
    }
    cJSON *object = prg_json_object(s->arena);
    prg_json_set_string(s->arena, object, "apiVersion", "v1");
    prg_json_set_string(s->arena, object, "kind", "ConfigMap");
    cJSON *metadata = prg_json_ensure_object(s->arena, object, "metadata");
    prg_json_set_string(s->arena, metadata, "name", name);
    prg_json_set_string(s->arena, metadata, "namespace", s->ns);
    const cJSON *labels = prg_meta_labels(s->service); // all of them, unfiltered
    if (prg_json_count(labels))
        prg_json_set(s->arena, metadata, "labels", prg_json_clone(s->arena, labels));
    prg_json_append(prg_json_ensure_array(s->arena, metadata, "ownerReferences"),
                    prg_owner_reference(s->arena, s->service));
    prg_json_set_string(s->arena, prg_json_ensure_object(s->arena, object, "data"), "models.json", "[]");
    prg_json_tag(object, PRG_ORIGIN_RULE);
    if (prg_json_count(labels))
        prg_json_tag(prg_json_at(object, "metadata", "labels"), PRG_ORIGIN_SERVICE);
    prg_plan_add_object(s->plan, object);
    prg_plan_trace(s->plan, "model_config", NULL, name, "made", "the service has no storage of its own");
    return PRG_OK;
}
