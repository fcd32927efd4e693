// SPDX-License-Identifier: Apache-2.0
// status.c: reading and appending conditions.
#include "learning/status.h"

#include "base/map.h"
#include "base/strbuf.h"
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

static cJSON *conditions_of(const cJSON *job)
{
    cJSON *conditions = prg_json_at(job, "status", "conditions");
    return prg_json_is_array(conditions) ? conditions : NULL;
}

const cJSON *prg_job_condition_first(const cJSON *job)
{
    const cJSON *conditions = conditions_of(job), *node = conditions ? conditions->child : NULL;
    return !node || prg_json_is_object(node) ? node : prg_job_condition_next(node);
}

const cJSON *prg_job_condition_last(const cJSON *job)
{
    const cJSON *conditions = conditions_of(job),
                *node = conditions && conditions->child ? conditions->child->prev : NULL;
    return !node || prg_json_is_object(node) ? node : prg_job_condition_before(node);
}

const cJSON *prg_job_condition_next(const cJSON *node)
{
    do
        node = node->next;
    while (node && !prg_json_is_object(node));
    return node;
}

// The first item of a list points back at the last one.
const cJSON *prg_job_condition_before(const cJSON *node)
{
    do
        node = node->prev && node->prev->next ? node->prev : NULL;
    while (node && !prg_json_is_object(node));
    return node;
}

struct prg_job_condition prg_job_condition_latest(const cJSON *job)
{
    const cJSON *last = prg_job_condition_last(job);
    if (!last)
        return (struct prg_job_condition){.stage = PRG_STAGE_TRAIN, .type = "", .since = ""};
    return prg_job_condition_of(last);
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

void prg_job_condition_clean(cJSON *job)
{
    cJSON *conditions = conditions_of(job), *node, *next;
    for (node = conditions ? conditions->child : NULL; node; node = next) {
        next = node->next;
        if (!prg_json_is_object(node))
            prg_json_detach(conditions, node);
    }
}

void prg_job_condition_append(struct prg_arena *arena, cJSON *job, cJSON *condition)
{
    cJSON *status = prg_json_ensure_object(arena, job, "status");
    prg_job_condition_clean(job);
    prg_json_append(prg_json_ensure_array(arena, status, "conditions"), condition);
}

static void put_key(struct prg_strbuf *key, const struct prg_job_condition *condition)
{
    prg_strbuf_clear(key);
    prg_strbuf_puts(key, condition->stage);
    prg_strbuf_putc(key, '\0');
    prg_strbuf_puts(key, condition->type);
}

size_t prg_job_condition_trim(cJSON *job, size_t most)
{
    cJSON *conditions = conditions_of(job), *node, *next;
    size_t count = prg_json_count(conditions), dropped = 0;
    prg_auto_strbuf key = PRG_STRBUF_INIT;
    struct prg_map newest; // of each stage and type with data
    if (count <= most)
        return 0;
    prg_map_init(&newest);
    prg_json_each (node, conditions) {
        struct prg_job_condition condition = prg_job_condition_of(node);
        if (!condition.data)
            continue;
        put_key(&key, &condition);
        prg_map_putn(&newest, key.text, key.length, node);
    }
    for (node = conditions->child; node && count > most && node->next; node = next) {
        struct prg_job_condition condition = prg_job_condition_of(node);
        next = node->next;
        put_key(&key, &condition);
        if (prg_map_getn(&newest, key.text, key.length) == node)
            continue;
        prg_json_detach(conditions, node);
        count--;
        dropped++;
    }
    prg_map_release(&newest);
    return dropped;
}
