// SPDX-License-Identifier: Apache-2.0
// stage.c: the input and the answer of the policy il_stage.
#include "learning/stage.h"

#include <string.h>

#include "learning/conddata.h"
#include "learning/names.h"
#include "learning/pick.h"
#include "learning/status.h"
#include "object/meta.h"

const char *prg_stage_worker_type(const char *stage)
{
    if (strcmp(stage, PRG_STAGE_TRAIN) == 0)
        return PRG_WORKER_TRAIN;
    return strcmp(stage, PRG_STAGE_DEPLOY) == 0 ? PRG_WORKER_INFERENCE : PRG_WORKER_EVAL;
}

// A second head for a tree that stays where it is.
static cJSON *alias(struct prg_arena *arena, const cJSON *node)
{
    cJSON *head = prg_json_null(arena);
    *head = *node;
    head->next = head->prev = NULL;
    head->string = NULL;
    return head;
}

static void set_pod(struct prg_arena *arena, cJSON *input, const char *field, const cJSON *pod)
{
    if (!pod)
        return;
    cJSON *object = prg_json_object(arena);
    const char *node = prg_pod_node(pod);
    prg_json_set_string(arena, object, "name", prg_meta_name(pod));
    prg_json_set_string(arena, object, "phase", prg_pod_phase(pod));
    prg_json_set_string(arena, object, "node", *node ? node : NULL);
    prg_json_set_string(arena, object, "created", prg_meta_created(pod));
    prg_json_set_bool(arena, object, "deleting", prg_meta_is_deleting(pod));
    prg_json_set(arena, input, field, object);
}

static void set_data(struct prg_arena *arena, cJSON *object, const char *data)
{
    cJSON *tree = prg_conddata_parse(arena, data);
    if (tree)
        prg_json_set(arena, object, "data", tree);
}

static cJSON *history_of(struct prg_arena *arena, const cJSON *job)
{
    cJSON *history = prg_json_array(arena);
    for (const cJSON *node = prg_job_condition_first(job); node; node = prg_job_condition_next(node)) {
        struct prg_job_condition condition = prg_job_condition_of(node);
        cJSON *entry = prg_json_object(arena);
        prg_json_set_string(arena, entry, "stage", condition.stage);
        prg_json_set_string(arena, entry, "type", condition.type);
        prg_json_set_string(arena, entry, "at", condition.since);
        prg_json_set_bool(arena, entry, "reported", condition.is_reported);
        prg_json_set_string(arena, entry, "reason", prg_json_get_text(node, "reason"));
        set_data(arena, entry, condition.data);
        prg_json_append(history, entry);
    }
    return history;
}

cJSON *prg_stage_input(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job, const char *now)
{
    struct prg_job_condition latest = prg_job_condition_latest(job);
    cJSON *input = prg_json_object(arena), *condition = prg_json_object(arena);
    prg_json_set(arena, input, "job", alias(arena, job));
    prg_json_set_string(arena, condition, "stage", latest.stage);
    prg_json_set_string(arena, condition, "type", latest.type);
    prg_json_set_string(arena, condition, "since", latest.since);
    prg_json_set_bool(arena, condition, "reported", latest.is_reported);
    prg_json_set_string(arena, condition, "reason", prg_json_get_text(latest.node, "reason"));
    set_data(arena, condition, latest.data);
    prg_json_set(arena, input, "condition", condition);
    if (latest.node) // without conditions no stage has begun
        set_pod(arena, input, "pod", prg_pick_worker(store, job, prg_stage_worker_type(latest.stage)));
    set_pod(arena, input, "inference", prg_pick_worker(store, job, PRG_WORKER_INFERENCE));
    prg_json_set(arena, input, "history", history_of(arena, job));
    prg_json_set_bool(arena, input, "hot_update",
                      prg_json_get_true(prg_json_at(job, "spec", "deploySpec", "model"), "hotUpdateEnabled"));
    prg_json_set_string(arena, input, "now", now);
    return input;
}

// ---- the answer ----

static const char *const action_names[PRG_ACTION_COUNT] = {
    [PRG_ACTION_CREATE_WORKER] = "create_worker",         [PRG_ACTION_CREATE_INFERENCE] = "create_inference",
    [PRG_ACTION_RESTART_INFERENCE] = "restart_inference", [PRG_ACTION_RECORD_NODE] = "record_node",
    [PRG_ACTION_DELETE_WORKER] = "delete_worker",
};

static int read_actions(const cJSON *answer, struct prg_stage_decision *ret, struct prg_error *err)
{
    const cJSON *item;
    prg_json_each (item, prg_json_get(answer, "actions")) {
        size_t action = 0;
        while (action < PRG_ACTION_COUNT && !prg_text_equal(prg_json_text(item), action_names[action]))
            action++;
        if (action == PRG_ACTION_COUNT)
            return prg_fail(err, PRG_POLICY,
                            "answer /actions: there is no action '%s'; the actions are create_worker, "
                            "create_inference, restart_inference, record_node and delete_worker",
                            prg_json_text(item) ? prg_json_text(item) : prg_json_type_name(item));
        if (ret->action_count == PRG_COUNT(ret->actions))
            return prg_fail(err, PRG_POLICY, "answer /actions: more than %zu actions", PRG_COUNT(ret->actions));
        ret->actions[ret->action_count++] = (enum prg_stage_action)action;
    }
    return PRG_OK;
}

int prg_stage_decision_read(struct prg_arena *arena, const cJSON *answer, struct prg_stage_decision *ret,
                            struct prg_error *err)
{
    const cJSON *data = prg_json_get(answer, "data"), *after = prg_json_get(answer, "after");
    *ret = (struct prg_stage_decision){
        .stage = prg_json_get_text(answer, "stage"),
        .type = prg_json_get_text(answer, "type"),
        .reason = prg_json_get_text(answer, "reason"),
        .note = prg_json_get_text(answer, "note"),
    };
    if (!ret->stage != !ret->type)
        return prg_fail(err, PRG_POLICY, "answer: stage and type go together; %s is missing",
                        ret->stage ? "type" : "stage");
    if (data)
        ret->data = prg_json_print_arena(arena, data, PRG_JSON_ESCAPE_HTML);
    if (after) {
        double seconds = prg_json_as_double(after);
        if (!(seconds >= 0 && seconds <= 366.0 * 24 * 3600))
            return prg_fail(err, PRG_POLICY, "answer /after: seconds from 0 to one year, not %s",
                            prg_json_number_text(after));
        ret->after_ms = (int64_t)(seconds * 1000);
        if (ret->after_ms == 0)
            ret->after_ms = 1; // "at once", but never in a circle without a pause
    }
    (void)prg_json_get_int64(answer, "keep", &ret->keep);
    return read_actions(answer, ret, err);
}
