// SPDX-License-Identifier: Apache-2.0
// raw.c: Standard mode from start to end: everything is built first, so that an error anywhere leaves the cluster as it
// is, then placed into the plan, then the status follows from the stored Deployments. Rules:
// Predictor.reconcileRawDeployment, NewRawKubeReconciler and RawKubeReconciler.Reconcile of KServe.
#include "serving/render.h"

struct raw_objects {
    cJSON *collector; // or NULL
    struct prg_scaler scaler;
    const char *url;
    struct prg_deployments deployments;
    cJSON *services;
};

static int set_storage(struct prg_serving *s, struct prg_workload *w, struct prg_error *err)
{
    if (prg_serving_storage_uris(s, w->pod_spec, w->annotations, err) != PRG_OK)
        return (int)err->code;
    if (w->worker_pod_spec)
        return prg_serving_storage_uris(s, w->worker_pod_spec, w->worker_annotations, err);
    return PRG_OK;
}

// The order decides which of several errors is told, and that the domain template sees the labels without `app`.
static int build(struct prg_serving *s, struct prg_workload *w, struct raw_objects *ret, struct prg_error *err)
{
    if (prg_render_collector(s, w, &ret->collector, err) != PRG_OK ||
        prg_render_scaler(s, w, &ret->scaler, err) != PRG_OK ||
        prg_render_url(s, w->labels, w->annotations, &ret->url, err) != PRG_OK || set_storage(s, w, err) != PRG_OK ||
        prg_render_deployments(s, w, &ret->deployments, err) != PRG_OK)
        return prg_wrap(err, "fails to create NewRawKubeReconciler for predictor");
    ret->services = prg_render_services(s, w);
    return PRG_OK;
}

// In Go one map of labels is shared by all objects, so the label that the Deployment adds is on the others as well.
static void share_app_label(struct prg_serving *s, const struct prg_workload *w, struct raw_objects *objects)
{
    cJSON *const sharing[] = {objects->scaler.hpa, objects->scaler.scaled_object};
    for (size_t i = 0; i < PRG_COUNT(sharing); i++) {
        if (sharing[i])
            prg_json_set(s->arena, prg_json_get(sharing[i], "metadata"), "labels", prg_json_clone(s->arena, w->labels));
    }
}

int prg_serving_raw(struct prg_serving *s, struct prg_workload *w, struct prg_error *err)
{
    struct raw_objects objects = {0};
    if (prg_render_check_config(s, err) != PRG_OK || prg_serving_check_storage_uris(s, err) != PRG_OK ||
        build(s, w, &objects, err) != PRG_OK)
        return (int)err->code;
    share_app_label(s, w, &objects);
    prg_place_services(s, objects.services);
    if (objects.collector)
        prg_place_collector(s, objects.collector);
    prg_place_deployments(s, &objects.deployments);
    prg_place_scaler(s, &objects.scaler);
    if (!s->stopped)
        prg_status_raw(s, &objects.deployments, objects.url);
    return PRG_OK;
}
