// SPDX-License-Identifier: Apache-2.0
// edge.c: what edge nodes and workers do in random schedules, after the description of Sedna's Local Controller: it
// reports Ready for Train whenever new samples are enough, for Eval and Deploy once per visit to Train Waiting; workers
// report their result themselves.
#include <inttypes.h>
#include <string.h>

#include "learning/conddata.h"
#include "learning/names.h"
#include "learning/pick.h"
#include "learning/status.h"
#include "object/meta.h"
#include "simulate/world.h"

enum { SECOND = 1000 };

// ---- what an edge node finds in a job ----

static const cJSON *newest(const cJSON *job, const char *stage, const char *type)
{
    const cJSON *node, *found = NULL;
    prg_json_each (node, prg_json_at(job, "status", "conditions")) {
        struct prg_job_condition condition = prg_job_condition_of(node);
        if (condition.data && strcmp(condition.stage, stage) == 0 && strcmp(condition.type, type) == 0)
            found = node;
    }
    return found;
}

static const cJSON *first_model(struct prg_arena *arena, const cJSON *condition, const char *part)
{
    const cJSON *data = prg_conddata_parse(arena, prg_json_get_text(condition, "data"));
    return prg_json_item(prg_field(prg_field(data, part), "models"), 0);
}

static cJSON *model_of(struct sim_world *w, const char *ns, const cJSON *reference)
{
    const char *name = prg_json_get_text(reference, "name");
    const cJSON *model = name ? sim_get(&w->cluster, PRG_SEDNA_GROUP, PRG_KIND_MODEL, ns, name) : NULL;
    cJSON *out = prg_json_object(w->arena);
    prg_json_set_string(w->arena, out, "format", prg_json_get_text(prg_json_get(model, "spec"), "format"));
    prg_json_set_string(w->arena, out, "url", prg_json_get_text(prg_json_get(model, "spec"), "url"));
    return out;
}

static cJSON *report_of(struct sim_world *w, const char *phase, const char *status, cJSON *input, cJSON *output)
{
    cJSON *content = prg_json_object(w->arena);
    prg_json_set_string(w->arena, content, "phase", phase);
    prg_json_set_string(w->arena, content, "status", status);
    prg_json_set(w->arena, content, "input", input ? input : prg_json_null(w->arena));
    prg_json_set(w->arena, content, "output", output ? output : prg_json_null(w->arena));
    return content;
}

static cJSON *with_models(struct sim_world *w, cJSON *first, cJSON *second)
{
    cJSON *part = prg_json_object(w->arena), *models = prg_json_array(w->arena);
    prg_json_append(models, first);
    if (second)
        prg_json_append(models, second);
    prg_json_set(w->arena, part, "models", models);
    return part;
}

// ---- reports ----

static void send_report(struct sim_world *w, struct sim_edge *edge, const char *ns, const char *name, cJSON *content)
{
    cJSON *message = prg_json_object(w->arena);
    struct sim_action action = {.kind = SIM_ACT_REPORT, .edge = edge, .message = message, .ns = ns, .name = name};
    prg_json_set(w->arena, message, "content", content);
    sim_say(w, "%s reports %s %s", edge->node, prg_json_get_text(content, "phase"),
            prg_json_get_text(content, "status"));
    sim_send(w, &action, &edge->last_departure_ms);
}

static void plan_action(struct sim_world *w, struct sim_edge *edge, const char *stage, int64_t least, int64_t most)
{
    struct sim_action *action =
        sim_schedule(w, (least + (int64_t)sim_random(w, (uint64_t)(most - least))) * SECOND, SIM_ACT_EDGE);
    action->edge = edge;
    action->stage = stage;
    action->visit = edge->visit;
}

static void report_train_ready(struct sim_world *w, struct sim_edge *edge)
{
    const cJSON *trained = first_model(w->arena, newest(edge->job, PRG_STAGE_TRAIN, PRG_TYPE_COMPLETED), "output");
    const char *output = prg_json_get_text(prg_json_get(edge->job, "spec"), "outputDir");
    cJSON *base = trained && edge->round > 0 ? prg_json_copy(w->arena, trained)
                                             : model_of(w, edge->ns, prg_json_at(edge->job, "spec", "initialModel"));
    cJSON *input = with_models(w, base, NULL);
    edge->round++;
    prg_json_set(w->arena, input, "dataURL",
                 prg_json_stringf(w->arena, "%s/data/train/%u/data.txt", output ? output : "", edge->round));
    prg_json_set(w->arena, input, "outputDir",
                 prg_json_stringf(w->arena, "%s/train/%u", output ? output : "", edge->round));
    send_report(w, edge, edge->ns, edge->name, report_of(w, PRG_STAGE_TRAIN, PRG_TYPE_READY, input, NULL));
    plan_action(w, edge, PRG_STAGE_TRAIN, 900, 3600); // more samples, in case this one brings nothing
}

static void report_eval_ready(struct sim_world *w, struct sim_edge *edge)
{
    const cJSON *trained = first_model(w->arena, newest(edge->job, PRG_STAGE_TRAIN, PRG_TYPE_COMPLETED), "output");
    const char *output = prg_json_get_text(prg_json_get(edge->job, "spec"), "outputDir");
    if (!trained || edge->is_eval_done)
        return;
    edge->is_eval_done = true;
    cJSON *input = with_models(w, prg_json_copy(w->arena, trained),
                               model_of(w, edge->ns, prg_json_at(edge->job, "spec", "deploySpec", "model")));
    prg_json_set(w->arena, input, "dataURL",
                 prg_json_stringf(w->arena, "%s/data/eval/%u/data.txt", output ? output : "", edge->round));
    send_report(w, edge, edge->ns, edge->name, report_of(w, PRG_STAGE_EVAL, PRG_TYPE_READY, input, NULL));
}

static void report_deploy(struct sim_world *w, struct sim_edge *edge)
{
    const cJSON *better = first_model(w->arena, newest(edge->job, PRG_STAGE_EVAL, PRG_TYPE_COMPLETED), "output");
    uint64_t dice = sim_random(w, 20);
    cJSON *input = NULL;
    if (edge->is_deploy_done)
        return;
    edge->is_deploy_done = true;
    const char *status = dice < 14 && better ? PRG_TYPE_READY : dice < 19 ? PRG_TYPE_COMPLETED : PRG_TYPE_FAILED;
    if (strcmp(status, PRG_TYPE_READY) == 0)
        input = with_models(w, prg_json_copy(w->arena, better),
                            model_of(w, edge->ns, prg_json_at(edge->job, "spec", "deploySpec", "model")));
    send_report(w, edge, edge->ns, edge->name, report_of(w, PRG_STAGE_DEPLOY, status, input, NULL));
}

void sim_edge_act(struct sim_world *w, const struct sim_action *action)
{
    struct sim_edge *edge = action->edge;
    if (!edge->is_known || edge->visit != action->visit)
        return; // it sees another state by now
    if (strcmp(edge->type, PRG_TYPE_RUNNING) == 0)
        send_report(
            w, edge, edge->ns, edge->name,
            report_of(w, PRG_STAGE_DEPLOY, sim_chance(w, 90) ? PRG_TYPE_COMPLETED : PRG_TYPE_FAILED, NULL, NULL));
    else if (strcmp(action->stage, PRG_STAGE_TRAIN) == 0)
        report_train_ready(w, edge);
    else if (strcmp(action->stage, PRG_STAGE_EVAL) == 0)
        report_eval_ready(w, edge);
    else
        report_deploy(w, edge);
}

// ---- messages ----

struct sim_edge *sim_edge_of(struct sim_world *w, const char *node, const char *ns, const char *name)
{
    struct sim_edge *edge = w->edges;
    while (edge && (strcmp(edge->node, node) != 0 || strcmp(edge->ns, ns) != 0 || strcmp(edge->name, name) != 0))
        edge = edge->next;
    if (edge)
        return edge;
    edge = prg_arena_new(w->arena, struct sim_edge);
    edge->node = prg_arena_strdup(w->arena, node);
    edge->ns = prg_arena_strdup(w->arena, ns);
    edge->name = prg_arena_strdup(w->arena, name);
    edge->stage = edge->type = "";
    edge->next = w->edges;
    w->edges = edge;
    return edge;
}

static void forget(struct sim_edge *edge)
{
    edge->is_known = edge->is_eval_done = edge->is_deploy_done = false;
    edge->round = 0;
    edge->visit++;
    edge->stage = edge->type = "";
}

void sim_edge_forget(struct sim_world *w, const char *node)
{
    for (struct sim_edge *edge = w->edges; edge; edge = edge->next)
        if (strcmp(edge->node, node) == 0)
            forget(edge);
}

static void see_waiting(struct sim_world *w, struct sim_edge *edge, bool is_new)
{
    if (strcmp(edge->stage, PRG_STAGE_TRAIN) == 0) {
        edge->is_eval_done = edge->is_deploy_done = false;
        if (is_new)
            plan_action(w, edge, edge->stage, 10, 600);
    } else if (is_new) {
        plan_action(w, edge, edge->stage, 5, 60);
    }
}

void sim_edge_hear(struct sim_world *w, const struct sim_action *action)
{
    struct sim_edge *edge = action->edge;
    const cJSON *header = prg_json_get(action->message, "header"), *content = prg_json_get(action->message, "content");
    if (strcmp(prg_json_get_text(header, "operation"), "delete") == 0) {
        forget(edge);
        return;
    }
    struct prg_job_condition latest = prg_job_condition_latest(content);
    bool is_new = !edge->is_known || strcmp(edge->stage, latest.stage) != 0 || strcmp(edge->type, latest.type) != 0;
    edge->is_known = true;
    edge->job = content;
    edge->stage = latest.stage;
    edge->type = latest.type;
    if (is_new)
        edge->visit++;
    if (strcmp(latest.type, PRG_TYPE_WAITING) == 0)
        see_waiting(w, edge, is_new);
    else if (is_new && strcmp(latest.type, PRG_TYPE_RUNNING) == 0 && strcmp(latest.stage, PRG_STAGE_DEPLOY) == 0)
        plan_action(w, edge, latest.stage, 10, 120);
}

// ---- workers ----

// What a worker that succeeds will have made, by the Ready it was made for.
static const cJSON *result_of(struct sim_world *w, const cJSON *job, const char *type)
{
    bool is_train = strcmp(type, PRG_WORKER_TRAIN) == 0;
    const char *stage = is_train ? PRG_STAGE_TRAIN : PRG_STAGE_EVAL;
    const cJSON *data = prg_conddata_parse(w->arena, prg_json_get_text(newest(job, stage, PRG_TYPE_READY), "data"));
    const cJSON *input = prg_field(data, "input");
    cJSON *output = NULL;
    if (is_train) {
        const char *folder = prg_field_text(input, "outputDir");
        cJSON *model = prg_json_object(w->arena);
        prg_json_set_string(w->arena, model, "format",
                            prg_field_text(prg_json_item(prg_field(input, "models"), 0), "format"));
        prg_json_set(w->arena, model, "url", prg_json_stringf(w->arena, "%s/model.ckpt", folder ? folder : ""));
        output = with_models(w, model, NULL);
    } else {
        const cJSON *models = prg_field(input, "models");
        output = prg_json_object(w->arena);
        prg_json_set(w->arena, output, "models", models ? prg_json_copy(w->arena, models) : prg_json_array(w->arena));
    }
    return report_of(w, stage, PRG_TYPE_COMPLETED, NULL, output);
}

static struct sim_worker *worker_of(struct sim_world *w, const char *ns, const char *name)
{
    struct sim_worker *worker = w->workers;
    while (worker && (strcmp(worker->name, name) != 0 || strcmp(worker->ns, ns) != 0))
        worker = worker->next;
    return worker;
}

static void start_worker(struct sim_world *w, const struct sim_object *o)
{
    const cJSON *owner = prg_owner_controller(o->object);
    const char *job_name = prg_json_get_text(owner, "name");
    const cJSON *job = job_name ? sim_get(&w->cluster, PRG_SEDNA_GROUP, PRG_KIND_JOB, o->key.ns, job_name) : NULL;
    struct sim_worker *worker = prg_arena_new(w->arena, struct sim_worker);
    char type[64] = "";
    worker->ns = o->key.ns;
    worker->name = o->key.name;
    worker->next = w->workers;
    w->workers = worker;
    if (!job || !prg_worker_type_of(job, o->object, type))
        return;
    if (strcmp(type, PRG_WORKER_INFERENCE) != 0)
        worker->result = result_of(w, job, type);
    if (strcmp(prg_pod_phase(o->object), "Pending") != 0)
        return;
    struct sim_action *action = sim_schedule(w, (1 + (int64_t)sim_random(w, 60)) * SECOND, SIM_ACT_POD_RUNS);
    action->ns = o->key.ns;
    action->name = o->key.name;
}

void sim_kubelet_look(struct sim_world *w)
{
    for (const struct sim_object *o = w->cluster.first; o; o = o->next)
        if (o->object && strcmp(o->key.kind, "Pod") == 0 && !worker_of(w, o->key.ns, o->key.name))
            start_worker(w, o);
}

static void set_phase(struct sim_world *w, const cJSON *pod, const char *phase, const char *node)
{
    struct prg_error err = {0};
    cJSON *copy = prg_json_copy(w->arena, pod);
    prg_json_set_string(w->arena, prg_json_ensure_object(w->arena, copy, "status"), "phase", phase);
    if (!*prg_pod_node(pod))
        prg_json_set_string(w->arena, prg_json_ensure_object(w->arena, copy, "spec"), "nodeName", node);
    prg_require(sim_put(&w->cluster, copy, &err) == PRG_OK); // it was read from there
    sim_say(w, "%s is %s", prg_meta_name(pod), phase);
}

void sim_pod_runs(struct sim_world *w, const struct sim_action *action)
{
    const cJSON *pod = sim_get(&w->cluster, "", "Pod", action->ns, action->name);
    const struct sim_worker *worker = worker_of(w, action->ns, action->name);
    if (!pod)
        return;
    set_phase(w, pod, "Running", "edge1");
    if (!worker || !worker->result)
        return; // inference runs until somebody stops it
    struct sim_action *end = sim_schedule(w, (20 + (int64_t)sim_random(w, 280)) * SECOND, SIM_ACT_POD_ENDS);
    end->ns = action->ns;
    end->name = action->name;
    end->is_success = sim_chance(w, 85);
}

// The worker reports, then its container ends; which of them is seen first is chance.
void sim_pod_ends(struct sim_world *w, const struct sim_action *action)
{
    const cJSON *pod = sim_get(&w->cluster, "", "Pod", action->ns, action->name);
    const struct sim_worker *worker = worker_of(w, action->ns, action->name);
    if (!pod || !worker)
        return;
    const char *job = prg_json_get_text(prg_owner_controller(pod), "name");
    struct sim_edge *edge = sim_edge_of(w, prg_pod_node(pod), action->ns, job ? job : "");
    cJSON *content = prg_json_copy(w->arena, worker->result);
    if (!action->is_success) {
        prg_json_set_string(w->arena, content, "status", PRG_TYPE_FAILED);
        prg_json_set(w->arena, content, "output", prg_json_null(w->arena));
    }
    if (action->is_success || sim_chance(w, 50)) // a worker that crashes reports nothing
        send_report(w, edge, action->ns, edge->name, content);
    set_phase(w, pod, action->is_success ? "Succeeded" : "Failed", "edge1");
}
