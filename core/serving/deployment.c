// SPDX-License-Identifier: Apache-2.0
// deployment.c: the Deployments of head and workers in Standard mode: pod template, strategy, replicas, and what of a
// stored Deployment is left to others. Rules: createRawDeployment and DeploymentReconciler of KServe.
#include "serving/podspec.h"
#include "serving/render.h"

// ---- strategy ----

static cJSON *rolling_update(struct prg_serving *s, const char *max_unavailable, const char *max_surge)
{
    cJSON *rolling = prg_json_object(s->arena);
    prg_json_set_string(s->arena, rolling, "maxUnavailable", max_unavailable);
    prg_json_set_string(s->arena, rolling, "maxSurge", max_surge);
    return rolling;
}

// The rollout values of the configuration, or NULL. They count only where Standard is the default mode, and a section
// that cannot be read counts as absent (NewDeployConfig, applyRolloutStrategyFromConfigmap).
static const cJSON *configured_rollout(struct prg_serving *s)
{
    struct prg_error ignored = {0};
    const cJSON *deploy = NULL;
    const char *mode = "", *surge = "", *unavailable = "";
    if (prg_render_section(s, "deploy", "deploy", &deploy, &ignored) != PRG_OK ||
        prg_render_config_text(deploy, "deploy", "defaultDeploymentMode", &mode, &ignored) != PRG_OK)
        return NULL;
    if (!prg_text_equal(mode, "Standard") && !prg_text_equal(mode, "RawDeployment"))
        return NULL;
    const cJSON *rollout =
        prg_render_config_member(prg_render_config_member(deploy, "deploymentRolloutStrategy"), "defaultRollout");
    if (prg_render_config_text(rollout, "deploy", "maxSurge", &surge, &ignored) != PRG_OK ||
        prg_render_config_text(rollout, "deploy", "maxUnavailable", &unavailable, &ignored) != PRG_OK)
        return NULL;
    return rollout;
}

// Values are used as text, so "1" stays a text.
static void apply_rollout(struct prg_serving *s, cJSON *rolling, const cJSON *rollout)
{
    static const char *const names[] = {"maxSurge", "maxUnavailable"};
    for (size_t i = 0; i < PRG_COUNT(names); i++) {
        const char *value = prg_json_text(prg_render_config_member(rollout, names[i]));
        if (value && *value)
            prg_render_set_text(s, rolling, names[i], value, PRG_ORIGIN_CONFIG);
    }
}

// A strategy of the user is taken as it is and suppresses all other defaults of the Deployment's spec.
static void set_strategy(struct prg_serving *s, cJSON *spec, const char *name)
{
    const cJSON *given = prg_render_given(s->predictor, "deploymentStrategy");
    if (given) {
        prg_render_set(s, spec, "strategy", prg_json_copy(s->arena, given), PRG_ORIGIN_PREDICTOR);
        prg_plan_trace(s->plan, "strategy", NULL, name, "service",
                       "spec.predictor.deploymentStrategy is given; revisionHistoryLimit and progressDeadlineSeconds "
                       "are left to the API server");
        return;
    }
    cJSON *strategy = prg_json_object(s->arena), *rolling = rolling_update(s, "25%", "25%");
    prg_json_set_string(s->arena, strategy, "type", "RollingUpdate");
    prg_json_set(s->arena, strategy, "rollingUpdate", rolling);
    prg_render_set(s, spec, "strategy", strategy, PRG_ORIGIN_KUBERNETES);
    prg_render_set_int(s, spec, "revisionHistoryLimit", 10, PRG_ORIGIN_KUBERNETES);
    prg_render_set_int(s, spec, "progressDeadlineSeconds", 600, PRG_ORIGIN_KUBERNETES);
    const cJSON *rollout = configured_rollout(s);
    apply_rollout(s, rolling, rollout);
    prg_plan_trace(s->plan, "strategy", NULL, name, rollout ? "configuration" : "default",
                   rollout ? "deploymentRolloutStrategy of the deploy section" : "RollingUpdate with 25%");
}

// ---- building ----

static cJSON *render_deployment(struct prg_serving *s, const char *name, const char *app, const cJSON *labels,
                                const cJSON *annotations, cJSON *pod_spec)
{
    struct prg_arena *arena = s->arena;
    cJSON *deployment = prg_render_object(s, "apps/v1", "Deployment", name, labels, annotations);
    cJSON *spec = prg_json_object(arena), *selector = prg_json_object(arena), *match = prg_json_object(arena);
    prg_json_set_string(arena, match, PRG_LABEL_APP, app);
    prg_json_set(arena, selector, "matchLabels", match);
    prg_render_set(s, spec, "selector", selector, PRG_ORIGIN_RULE);

    // The template repeats the Deployment's name and namespace, but not its owner.
    cJSON *template = prg_json_object(arena), *meta = prg_json_object(arena);
    prg_render_set_text(s, meta, "name", name, PRG_ORIGIN_RULE);
    prg_render_set_text(s, meta, "namespace", s->ns, PRG_ORIGIN_RULE);
    if (prg_json_count(labels) > 0)
        prg_json_set(arena, meta, "labels", prg_json_clone(arena, labels));
    if (prg_json_count(annotations) > 0)
        prg_json_set(arena, meta, "annotations", prg_json_clone(arena, annotations));
    prg_json_set(arena, template, "metadata", meta);
    prg_pod_defaults(arena, pod_spec);
    prg_json_set(arena, template, "spec", pod_spec);
    prg_json_set(arena, spec, "template", template);
    set_strategy(s, spec, name);
    prg_json_set(arena, deployment, "spec", spec);
    return deployment;
}

static cJSON *render_head(struct prg_serving *s, struct prg_workload *w)
{
    const char *app = prg_arena_printf(s->arena, "isvc.%s", s->predictor_name);
    prg_render_set_text(s, w->labels, PRG_LABEL_APP, app, PRG_ORIGIN_RULE);
    cJSON *head = render_deployment(s, s->predictor_name, app, w->labels, w->annotations, w->pod_spec);
    // Without an autoscaler of any kind the service's own minimum is the replica count.
    int64_t min_replicas;
    if (prg_text_equal(prg_json_get_text(w->annotations, PRG_ANNOTATION_SCALER), "none") &&
        prg_json_get_int64(s->predictor, "minReplicas", &min_replicas))
        prg_render_set_int(s, prg_json_get(head, "spec"), "replicas", min_replicas, PRG_ORIGIN_PREDICTOR);
    return head;
}

static cJSON *render_worker(struct prg_serving *s, struct prg_workload *w)
{
    const char *app = prg_arena_printf(s->arena, "isvc.%s-worker", s->predictor_name);
    const char *name = prg_arena_printf(s->arena, "%s-worker", s->predictor_name);
    prg_render_set_text(s, w->worker_labels, PRG_LABEL_APP, app, PRG_ORIGIN_RULE);
    cJSON *worker = render_deployment(s, name, app, w->worker_labels, w->worker_annotations, w->worker_pod_spec);
    cJSON *spec = prg_json_get(worker, "spec"), *strategy = prg_json_get(spec, "strategy");
    // Old workers stay until the new ones are ready, whoever chose the rolling update.
    if (prg_text_equal(prg_json_get_text(strategy, "type"), "RollingUpdate"))
        prg_render_set(s, strategy, "rollingUpdate", rolling_update(s, "0%", "100%"), PRG_ORIGIN_MULTI_NODE);
    prg_render_set_int(s, spec, "replicas", w->worker_nodes, PRG_ORIGIN_MULTI_NODE);
    return worker;
}

int prg_render_deployments(struct prg_serving *s, struct prg_workload *w, struct prg_deployments *ret,
                           struct prg_error *err)
{
    *ret = (struct prg_deployments){
        .head = render_head(s, w),
        .stored_head = prg_render_stored(s, "apps", "Deployment", s->predictor_name),
    };
    if (!w->worker_pod_spec)
        return PRG_OK;
    ret->worker = render_worker(s, w);
    ret->stored_worker = prg_render_stored(s, "apps", "Deployment", prg_meta_name(ret->worker));
    // The pod specs of w are the ones in the templates now.
    if (prg_multinode_apply_gpus(s, w, err) != PRG_OK) {
        prg_wrap(err, "failed to create raw deployment");
        return prg_wrap(err, "failed to create deployment reconciler");
    }
    return PRG_OK;
}

// ---- placing ----

// Replica counts of a stored Deployment are never written, except without an autoscaler: the head's belong to its
// scaler, and the original does not correct the workers' either. Leaving the workers' out would hand the field back to
// the API server, which sets it to 1, so what is stored is repeated there.
static void leave_replicas(struct prg_serving *s, cJSON *deployment, const cJSON *stored, bool is_worker)
{
    if (prg_text_equal(prg_meta_annotation(deployment, PRG_ANNOTATION_SCALER), "none"))
        return;
    cJSON *spec = prg_json_get(deployment, "spec");
    const cJSON *replicas = prg_render_given(prg_json_get(stored, "spec"), "replicas");
    prg_json_remove(spec, "replicas");
    if (is_worker && replicas)
        prg_render_set(s, spec, "replicas", prg_json_copy(s->arena, replicas), PRG_ORIGIN_STORED);
}

static void place(struct prg_serving *s, cJSON *deployment, const cJSON *stored, bool is_worker)
{
    bool stopped = prg_render_is_stopped(prg_meta_annotations(deployment));
    if (stopped && !stored)
        return;
    if (stopped && prg_owner_controls(s->service, stored)) {
        prg_render_delete(s, stored, PRG_REASON_STOPPED);
        return;
    }
    if (stored)
        leave_replicas(s, deployment, stored, is_worker);
    prg_plan_add_object(s->plan, deployment);
}

void prg_place_deployments(struct prg_serving *s, struct prg_deployments *deployments)
{
    place(s, deployments->head, deployments->stored_head, false);
    if (deployments->worker)
        place(s, deployments->worker, deployments->stored_worker, true);
}
