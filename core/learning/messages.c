// SPDX-License-Identifier: Apache-2.0
// messages.c: messages to edge nodes. Source: downstream.go of Sedna's incremental learning and dataset controllers.
//
//   last condition     D: node of the Dataset; T, E, P: nodes of the train, eval and inference worker (annotations)
//   Train Waiting      initial model, job to D
//   Eval Waiting       deploy model, first evaluation model, job to D
//   Deploy Waiting     deploy model, first evaluation model (not with hot update), job to E
//   Train Running      job to T
//   Eval Running       job away from T, job to E
//   Deploy Running     job away from E, first evaluation model, deploy model, job to P
//   Train, Eval ended  job away from T, E, unless that node keeps it
#include "learning/messages.h"

#include <string.h>

#include "learning/names.h"
#include "learning/secret.h"
#include "learning/status.h"
#include "object/meta.h"

struct telling {
    struct prg_arena *arena;
    const struct prg_reader *store;
    const cJSON *job;
    cJSON *messages;
    const char *ns;
    const char *dataset, *train, *eval, *deploy; // nodes; "" when not known
    bool has_hot_update;
};

// ---- one message ----

static void add(struct prg_arena *arena, cJSON *messages, const char *node, const char *operation, const char *kind,
                const cJSON *object, cJSON *content)
{
    cJSON *message = prg_json_object(arena), *header = prg_json_object(arena);
    prg_json_set_string(arena, header, "namespace", prg_meta_namespace(object));
    prg_json_set_string(arena, header, "resourceKind", kind);
    prg_json_set_string(arena, header, "resourceName", prg_meta_name(object));
    prg_json_set_string(arena, header, "operation", operation);
    prg_json_set_string(arena, message, "node", node);
    prg_json_set(arena, message, "header", header);
    prg_json_set(arena, message, "content", content);
    prg_json_append(messages, message);
}

cJSON *prg_learning_content(struct prg_arena *arena, const struct prg_reader *store, const cJSON *object,
                            const char *kind)
{
    cJSON *content = prg_json_copy(arena, object);
    const char *credential = prg_json_get_text(prg_json_get(object, "spec"), "credentialName");
    const cJSON *secret =
        credential && *credential ? prg_reader_get(store, "", "Secret", prg_meta_namespace(object), credential) : NULL;
    prg_json_set_string(arena, content, "kind", kind);
    if (strcmp(kind, PRG_KIND_JOB) == 0)
        prg_job_condition_clean(content);
    if (secret) {
        cJSON *meta = prg_json_ensure_object(arena, content, "metadata");
        prg_json_set_string(arena, prg_json_ensure_object(arena, meta, "annotations"), PRG_ANNOTATION_CREDENTIAL,
                            prg_secret_credential(arena, secret));
    }
    return content;
}

static void send_job(struct telling *t, const char *node)
{
    add(t->arena, t->messages, node, "insert", "incrementallearningjob", t->job,
        prg_learning_content(t->arena, t->store, t->job, PRG_KIND_JOB));
}

static void delete_job(struct telling *t, const char *node)
{
    cJSON *content = prg_json_copy(t->arena, t->job);
    prg_json_set_string(t->arena, content, "kind", PRG_KIND_JOB);
    add(t->arena, t->messages, node, "delete", "incrementallearningjob", t->job, content);
}

static void send_model(struct telling *t, const char *node, const cJSON *reference)
{
    const char *name = prg_json_get_text(reference, "name");
    const cJSON *model = name && *name ? prg_reader_get(t->store, PRG_SEDNA_GROUP, PRG_KIND_MODEL, t->ns, name) : NULL;
    if (model)
        add(t->arena, t->messages, node, "insert", "model", model,
            prg_learning_content(t->arena, t->store, model, PRG_KIND_MODEL));
}

static void send_initial_model(struct telling *t, const char *node)
{
    send_model(t, node, prg_json_at(t->job, "spec", "initialModel"));
}

static void send_deploy_model(struct telling *t, const char *node)
{
    send_model(t, node, prg_json_at(t->job, "spec", "deploySpec", "model"));
}

static void send_eval_model(struct telling *t, const char *node)
{
    send_model(t, node, prg_json_at(t->job, "spec", "evalSpec", "initialEvalModel"));
}

// ---- the table ----

static void tell_waiting(struct telling *t, const char *stage)
{
    if (strcmp(stage, PRG_STAGE_TRAIN) == 0) {
        send_initial_model(t, t->dataset);
        send_job(t, t->dataset);
    } else if (strcmp(stage, PRG_STAGE_EVAL) == 0) {
        send_deploy_model(t, t->dataset);
        send_eval_model(t, t->dataset);
        send_job(t, t->dataset);
    } else if (strcmp(stage, PRG_STAGE_DEPLOY) == 0) {
        send_deploy_model(t, t->eval);
        if (!t->has_hot_update)
            send_eval_model(t, t->eval);
        send_job(t, t->eval);
    }
}

static void tell_running(struct telling *t, const char *stage)
{
    if (strcmp(stage, PRG_STAGE_TRAIN) == 0) {
        send_job(t, t->train);
    } else if (strcmp(stage, PRG_STAGE_EVAL) == 0) {
        if (strcmp(t->train, t->eval) != 0 && strcmp(t->train, t->dataset) != 0)
            delete_job(t, t->train);
        send_job(t, t->eval);
    } else if (strcmp(stage, PRG_STAGE_DEPLOY) == 0) {
        if (strcmp(t->eval, t->deploy) != 0 && strcmp(t->eval, t->dataset) != 0)
            delete_job(t, t->eval);
        send_eval_model(t, t->deploy);
        send_deploy_model(t, t->deploy);
        send_job(t, t->deploy);
    }
}

// The node of a worker that ended forgets the job, unless it watches the Dataset or will deploy.
static void tell_ended(struct telling *t, const char *stage)
{
    const char *deployer = t->has_hot_update ? t->deploy : t->eval;
    const char *node = strcmp(stage, PRG_STAGE_TRAIN) == 0  ? t->train
                       : strcmp(stage, PRG_STAGE_EVAL) == 0 ? t->eval
                                                            : NULL;
    if (node && strcmp(node, t->dataset) != 0 && strcmp(node, deployer) != 0)
        delete_job(t, node);
}

static void tell_deleted(struct telling *t)
{
    const char *const nodes[] = {t->dataset, t->train, t->eval, t->deploy};
    for (size_t i = 0; i < PRG_COUNT(nodes); i++) {
        bool is_told = false;
        for (size_t k = 0; k < i; k++)
            is_told = is_told || strcmp(nodes[k], nodes[i]) == 0;
        if (!is_told)
            delete_job(t, nodes[i]);
    }
}

static const char *annotation(const cJSON *job, const char *key)
{
    const char *value = prg_meta_annotation(job, key);
    return value ? value : "";
}

static struct telling telling_of(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job,
                                 cJSON *messages)
{
    struct telling t = {
        .arena = arena, .store = store, .job = job, .messages = messages, .ns = prg_meta_namespace(job)};
    const char *name = prg_json_get_text(prg_json_at(job, "spec", "dataset"), "name");
    const cJSON *dataset = name ? prg_reader_get(store, PRG_SEDNA_GROUP, PRG_KIND_DATASET, t.ns, name) : NULL;
    const char *node = prg_json_get_text(prg_json_get(dataset, "spec"), "nodeName");
    t.dataset = node ? node : "";
    t.train = annotation(job, PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_TRAIN);
    t.eval = annotation(job, PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_EVAL);
    t.deploy = prg_meta_annotation(job, PRG_ANNOTATION_HOT_UPDATE)
                   ? annotation(job, PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_DEPLOY)
                   : "";
    t.has_hot_update = prg_json_get_true(prg_json_at(job, "spec", "deploySpec", "model"), "hotUpdateEnabled");
    return t;
}

void prg_learning_downstream(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job,
                             enum prg_learning_change change, cJSON *messages)
{
    struct prg_job_condition latest = prg_job_condition_latest(job);
    if (!latest.node) // no edge node has heard of it
        return;
    struct telling t = telling_of(arena, store, job, messages);
    if (change == PRG_CHANGE_DELETED)
        tell_deleted(&t);
    else if (!*t.dataset)
        return;
    else if (strcmp(latest.type, PRG_TYPE_WAITING) == 0)
        tell_waiting(&t, latest.stage);
    else if (strcmp(latest.type, PRG_TYPE_RUNNING) == 0)
        tell_running(&t, latest.stage);
    else if (strcmp(latest.type, PRG_TYPE_COMPLETED) == 0 || strcmp(latest.type, PRG_TYPE_FAILED) == 0)
        tell_ended(&t, latest.stage);
}

const char *prg_learning_awaited_node(const struct prg_reader *store, const cJSON *job)
{
    struct prg_job_condition latest = prg_job_condition_latest(job);
    struct telling t = telling_of(NULL, store, job, NULL);
    bool is_waiting = strcmp(latest.type, PRG_TYPE_WAITING) == 0;
    if (!latest.node || (!is_waiting && strcmp(latest.type, PRG_TYPE_RUNNING) != 0))
        return NULL;
    if (strcmp(latest.stage, PRG_STAGE_TRAIN) == 0)
        return is_waiting ? t.dataset : t.train;
    if (strcmp(latest.stage, PRG_STAGE_EVAL) == 0)
        return is_waiting ? t.dataset : t.eval;
    return strcmp(latest.stage, PRG_STAGE_DEPLOY) == 0 ? (is_waiting ? t.eval : t.deploy) : NULL;
}

void prg_dataset_downstream(struct prg_arena *arena, const struct prg_reader *store, const cJSON *dataset,
                            enum prg_learning_change change, cJSON *messages)
{
    const char *node = prg_json_get_text(prg_json_get(dataset, "spec"), "nodeName");
    if (node && *node)
        add(arena, messages, node, change == PRG_CHANGE_DELETED ? "delete" : "insert", "dataset", dataset,
            prg_learning_content(arena, store, dataset, PRG_KIND_DATASET));
}
