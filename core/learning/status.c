// SPDX-License-Identifier: Apache-2.0
// status.c: reading and appending conditions.
#include "learning/status.h"

#include "learning/names.h"

static const char *text_or_empty(const cJSON *object, const char *key)
{
    const char *text = prg_json_get_text(object, key);
    return text ? text : "";
}

struct prg_job_condition prg_job_condition_of(const cJSON *node)
{
    return (struct prg_job_condition){
        .stage = text_or_empty(node, "stage"),
        .type = text_or_empty(node, "type"),
        .data = prg_json_get_text(node, "data"),
        .since = text_or_empty(node, "lastTransitionTime"),
        .is_reported = prg_text_equal(prg_json_get_text(node, "message"), PRG_MESSAGE_REPORTED),
        .node = node,
    };
}

static const cJSON *conditions_of(const cJSON *job)
{
    const cJSON *conditions = prg_json_at(job, "status", "conditions");
    return prg_json_is_array(conditions) ? conditions : NULL;
}

struct prg_job_condition prg_job_condition_latest(const cJSON *job)
{
    const cJSON *conditions = conditions_of(job);
    size_t count = prg_json_count(conditions);
    if (!count)
        return (struct prg_job_condition){.stage = PRG_STAGE_TRAIN, .type = "", .since = ""};
    return prg_job_condition_of(prg_json_item(conditions, count - 1));
}

cJSON *prg_job_condition_new(struct prg_arena *arena, const char *stage, const char *type, const char *reason,
                             const char *message, const char *data, const char *now)
{
    cJSON *condition = prg_json_object(arena);
    prg_json_set_string(arena, condition, "type", type);
    prg_json_set_string(arena, condition, "status", "True");
    prg_json_set_string(arena, condition, "lastHeartbeatTime", now);
    prg_json_set_string(arena, condition, "lastTransitionTime", now);
    prg_json_set_string(arena, condition, "reason", reason);
    prg_json_set_string(arena, condition, "message", message);
    prg_json_set_string(arena, condition, "stage", stage);
    prg_json_set_string(arena, condition, "data", data);
    return condition;
}

void prg_job_condition_append(struct prg_arena *arena, cJSON *job, cJSON *condition)
{
    cJSON *status = prg_json_ensure_object(arena, job, "status");
    prg_json_append(prg_json_ensure_array(arena, status, "conditions"), condition);
}

static bool is_last_with_data(const cJSON *node)
{
    struct prg_job_condition this = prg_job_condition_of(node);
    if (!this.data)
        return false;
    for (const cJSON *later = node->next; later; later = later->next) {
        struct prg_job_condition other = prg_job_condition_of(later);
        if (other.data && prg_text_equal(other.stage, this.stage) && prg_text_equal(other.type, this.type))
            return false;
    }
    return true;
}

size_t prg_job_condition_trim(cJSON *job, size_t most)
{
    cJSON *conditions = prg_json_at(job, "status", "conditions"), *node, *next;
    size_t count = prg_json_is_array(conditions) ? prg_json_count(conditions) : 0, dropped = 0;
    for (node = count ? conditions->child : NULL; node && count > most && node->next; node = next) {
        next = node->next;
        if (is_last_with_data(node))
            continue;
        prg_json_detach(conditions, node);
        count--;
        dropped++;
    }
    return dropped;
}
