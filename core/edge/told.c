// SPDX-License-Identifier: Apache-2.0
// told.c: what nodes should know: from the objects, through the guards, into the outbox.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "edge/guard.h"
#include "edge/link.h"
#include "learning/names.h"
#include "learning/outlook.h"
#include "learning/status.h"
#include "object/meta.h"

struct wanted_model {
    char *node, *name;
};
struct job_record {
    struct prg_vec models;  // struct wanted_model
    struct prg_map remarks; // texts that hold; values are counts of tells
};

const char *prg_edge_kind_of_header(const char *kind)
{
    return strcmp(kind, "incrementallearningjob") == 0 ? PRG_KIND_JOB
           : strcmp(kind, "dataset") == 0              ? PRG_KIND_DATASET
                                                       : PRG_KIND_MODEL;
}

static const char *header_of_kind(const char *kind)
{
    return strcmp(kind, PRG_KIND_JOB) == 0       ? "incrementallearningjob"
           : strcmp(kind, PRG_KIND_DATASET) == 0 ? "dataset"
                                                 : "model";
}

// ---- from the objects ----

static char *pair(const char *ns, const char *name)
{
    struct prg_strbuf text = PRG_STRBUF_INIT;
    prg_strbuf_printf(&text, "%s/%s", ns, name);
    return prg_strbuf_steal(&text, NULL);
}

static struct job_record *record_of(struct prg_edge *edge, const char *key)
{
    struct job_record *record = prg_map_get(&edge->jobs, key);
    if (record)
        return record;
    record = prg_xcalloc(1, sizeof(*record));
    prg_map_init(&record->remarks);
    prg_map_put(&edge->jobs, key, record);
    return record;
}

static void release_models(struct prg_edge *edge, struct prg_vec *models, const char *ns)
{
    for (size_t i = 0; i < models->count; i++) {
        struct wanted_model *model = models->items[i];
        if (ns)
            prg_outbox_release(edge->outbox, model->node, "model", ns, model->name);
        free(model->node);
        free(model->name);
        free(model);
    }
    prg_vec_release(models);
}

static void free_record(struct prg_edge *edge, struct job_record *record, const char *ns)
{
    release_models(edge, &record->models, ns);
    prg_map_release(&record->remarks);
    free(record);
}

// What a node is told before it forgets a job whose folder it must leave alone: that there is no such folder, in a
// state in which it does nothing.
static const char *prelude_of(struct prg_arena *arena, const struct prg_guard_entry *entry)
{
    cJSON *object = prg_json_object(arena), *status = prg_json_object(arena), *conditions = prg_json_array(arena);
    cJSON *meta = prg_json_object(arena);
    prg_json_set_string(arena, object, "kind", PRG_KIND_JOB);
    prg_json_set_string(arena, meta, "name", entry->name);
    prg_json_set_string(arena, meta, "namespace", entry->ns);
    prg_json_set(arena, meta, "annotations", prg_json_null(arena));
    prg_json_set(arena, object, "metadata", meta);
    prg_json_append(conditions,
                    prg_job_condition_new(arena, PRG_STAGE_TRAIN, PRG_TYPE_COMPLETED, NULL, NULL, "", NULL));
    prg_json_set(arena, status, "conditions", conditions);
    prg_json_set(arena, object, "status", status);
    return prg_json_print_arena(arena, object, PRG_JSON_COMPACT);
}

static void put(struct prg_edge *edge, struct prg_arena *arena, const struct prg_guard_entry *entry, bool is_final)
{
    if (!*entry->node && entry->is_deletion && !prg_edge_is_connected(edge, entry->node)) {
        prg_outbox_drop(edge->outbox, entry->node, entry->kind, entry->ns, entry->name);
        return;
    }
    const char *text = entry->content ? prg_json_print_arena(arena, entry->content, PRG_JSON_ESCAPE_HTML) : NULL;
    const char *prelude = entry->is_gentle ? prelude_of(arena, entry) : NULL;
    struct prg_outbox_want want = {.kind = entry->kind,
                                   .ns = entry->ns,
                                   .name = entry->name,
                                   .text = text,
                                   .length = text ? strlen(text) : 0,
                                   .is_deletion = entry->is_deletion,
                                   .is_final = is_final,
                                   .deletes_first = entry->forgets_first,
                                   .prelude = prelude,
                                   .prelude_length = prelude ? strlen(prelude) : 0,
                                   .held = entry->held};
    const struct prg_outbox_item *item =
        prg_outbox_find(edge->outbox, entry->node, entry->kind, entry->ns, entry->name);
    if (entry->held && !(item && item->held))
        edge->stats.held++;
    prg_outbox_put(edge->outbox, entry->node, &want);
}

// Remarks that hold now; one that was not there at the last telling is passed on.
static void remark(struct prg_edge *edge, struct job_record *record, struct prg_map *now, const char *kind,
                   const cJSON *object, const char *reason, const char *message)
{
    static char mark;
    if (prg_map_put(now, message, &mark) || (record && prg_map_get(&record->remarks, message)))
        return;
    if (edge->options.remark)
        edge->options.remark(kind, prg_meta_namespace(object), prg_meta_name(object), reason, message,
                             edge->options.ctx);
}

static void remark_all(struct prg_edge *edge, struct prg_arena *arena, const struct prg_reader *store, const cJSON *job,
                       struct job_record *record, const struct prg_guard_answer *guarded)
{
    struct prg_map now;
    const cJSON *entry;
    prg_map_init(&now);
    for (const struct prg_guard_entry *e = guarded->first; e; e = e->next)
        if (e->held && e->is_for_people)
            remark(edge, record, &now, PRG_KIND_JOB, job, "EdgeMessageHeld",
                   prg_arena_printf(arena, "node %s is not told about %s %s: %s", e->node,
                                    prg_edge_kind_of_header(e->kind), e->name, e->held));
    prg_json_each (entry, prg_learning_outlook(arena, store, job)) {
        const char *object = prg_json_get_text(entry, "object");
        remark(edge, record, &now, PRG_KIND_JOB, job, "EdgeOutlook",
               prg_arena_printf(arena, "%s: %s%s%s: %s; %s", prg_json_get_text(entry, "stage"), object ? object : "",
                                object ? " " : "", prg_json_get_text(entry, "field"),
                                prg_json_get_text(entry, "problem"), prg_json_get_text(entry, "fix")));
    }
    prg_map_release(&record->remarks);
    record->remarks = now;
}

// Nodes that were told of the job and that the objects do not name any more.
struct leftover {
    const struct prg_guard_answer *answer;
    struct prg_vec nodes;
    bool is_deleted;
};

static void find_leftover(const char *node, const struct prg_outbox_item *item, void *ctx)
{
    struct leftover *leftover = ctx;
    if (item->is_deletion && !leftover->is_deleted)
        return;
    for (const struct prg_guard_entry *entry = leftover->answer->first; entry; entry = entry->next)
        if (strcmp(entry->kind, item->kind) == 0 && strcmp(entry->node, node) == 0)
            return;
    prg_vec_push(&leftover->nodes, (void *)node);
}

static void forget_leftovers(struct prg_edge *edge, struct prg_arena *arena, const cJSON *object, const char *kind,
                             const struct prg_guard_answer *answer, bool is_deleted)
{
    struct leftover leftover = {.answer = answer, .is_deleted = is_deleted};
    prg_outbox_each(edge->outbox, kind, prg_meta_namespace(object), prg_meta_name(object), find_leftover, &leftover);
    for (size_t i = 0; i < leftover.nodes.count; i++) {
        cJSON *content = prg_json_copy(arena, object);
        struct prg_guard_entry entry = {.node = prg_arena_strdup(arena, leftover.nodes.items[i]),
                                        .kind = kind,
                                        .ns = prg_meta_namespace(object),
                                        .name = prg_meta_name(object),
                                        .content = content,
                                        .is_deletion = true};
        prg_json_set_string(arena, content, "kind", prg_edge_kind_of_header(kind));
        put(edge, arena, &entry, is_deleted);
        prg_edge_pump(edge, entry.node);
    }
    prg_vec_release(&leftover.nodes);
}

static void put_all(struct prg_edge *edge, struct prg_arena *arena, const struct prg_guard_answer *answer,
                    bool is_final)
{
    for (const struct prg_guard_entry *entry = answer->first; entry; entry = entry->next)
        put(edge, arena, entry, is_final);
}

static void pump_all(struct prg_edge *edge, const struct prg_guard_answer *answer)
{
    for (const struct prg_guard_entry *entry = answer->first; entry; entry = entry->next)
        prg_edge_pump(edge, entry->node);
}

static void keep_models(struct prg_edge *edge, struct job_record *record, const struct prg_guard_answer *answer,
                        const char *ns)
{
    struct prg_vec before = record->models;
    prg_vec_init(&record->models);
    for (const struct prg_guard_entry *entry = answer->first; entry; entry = entry->next) {
        if (strcmp(entry->kind, "model") != 0)
            continue;
        struct wanted_model *model = prg_xcalloc(1, sizeof(*model));
        model->node = prg_xstrdup(entry->node);
        model->name = prg_xstrdup(entry->name);
        prg_vec_push(&record->models, model);
        prg_outbox_hold(edge->outbox, entry->node, "model", ns, entry->name);
    }
    release_models(edge, &before, ns);
}

void prg_edge_tell_job(struct prg_edge *edge, const struct prg_reader *store, const cJSON *job, const cJSON *deployed,
                       enum prg_learning_change change)
{
    prg_auto_arena arena;
    struct prg_guard_answer answer;
    const char *ns = prg_meta_namespace(job);
    char *key = pair(ns, prg_meta_name(job));
    prg_arena_init(&arena);
    prg_guard_job(&arena, store, job, deployed, change, &answer);
    bool is_deleted = change == PRG_CHANGE_DELETED;
    if (!is_deleted) {
        struct job_record *record = record_of(edge, key);
        remark_all(edge, &arena, store, job, record, &answer);
        if (!answer.is_unknown) {
            put_all(edge, &arena, &answer, false);
            keep_models(edge, record, &answer, ns);
        }
    } else {
        struct job_record *record = prg_map_remove(&edge->jobs, key);
        put_all(edge, &arena, &answer, true);
        if (record)
            free_record(edge, record, ns);
    }
    if (is_deleted || !answer.is_unknown)
        forget_leftovers(edge, &arena, job, "incrementallearningjob", &answer, is_deleted);
    pump_all(edge, &answer);
    free(key);
}

void prg_edge_tell_dataset(struct prg_edge *edge, const struct prg_reader *store, const cJSON *dataset,
                           enum prg_learning_change change)
{
    prg_auto_arena arena;
    struct prg_guard_answer answer;
    bool is_deleted = change == PRG_CHANGE_DELETED;
    prg_arena_init(&arena);
    prg_guard_dataset(&arena, store, dataset, change, &answer);
    char *key = pair(prg_meta_namespace(dataset), prg_meta_name(dataset));
    char *held = prg_map_get(&edge->datasets, key);
    const char *now = NULL;
    for (const struct prg_guard_entry *entry = answer.first; entry; entry = entry->next)
        if (entry->held)
            now = prg_arena_printf(&arena, "node %s is not told about it: %s", entry->node, entry->held);
    if (now && !prg_text_equal(now, held) && edge->options.remark)
        edge->options.remark(PRG_KIND_DATASET, prg_meta_namespace(dataset), prg_meta_name(dataset), "EdgeMessageHeld",
                             now, edge->options.ctx);
    free(prg_map_remove(&edge->datasets, key));
    if (now)
        prg_map_put(&edge->datasets, key, prg_xstrdup(now));
    put_all(edge, &arena, &answer, is_deleted);
    forget_leftovers(edge, &arena, dataset, "dataset", &answer, is_deleted);
    pump_all(edge, &answer);
    free(key);
}
void prg_edge_free_told(struct prg_edge *edge)
{
    const struct prg_map_entry *entry;
    for (size_t i = 0; (entry = prg_map_next(&edge->jobs, &i));)
        free_record(edge, entry->value, NULL);
    for (size_t i = 0; (entry = prg_map_next(&edge->datasets, &i));)
        free(entry->value);
    prg_map_release(&edge->jobs);
    prg_map_release(&edge->datasets);
}

// ---- asking ----

static void count_deletion(const char *node, const struct prg_outbox_item *item, void *ctx)
{
    size_t *count = ctx;
    *count += *node && item->is_deletion && !item->is_read;
}

size_t prg_edge_waiting_deletions(const struct prg_edge *edge, const char *kind, const char *ns, const char *name)
{
    size_t count = 0;
    prg_outbox_each(edge->outbox, header_of_kind(kind), ns, name, count_deletion, &count);
    return count;
}

static void find_deletion(const char *node, const struct prg_outbox_item *item, void *ctx)
{
    if (*node && item->is_deletion && !item->is_read)
        prg_vec_push(ctx, prg_xstrdup(node));
}

void prg_edge_give_up_deletions(struct prg_edge *edge, const char *kind, const char *ns, const char *name)
{
    struct prg_vec nodes;
    prg_vec_init(&nodes);
    prg_outbox_each(edge->outbox, header_of_kind(kind), ns, name, find_deletion, &nodes);
    for (size_t i = 0; i < nodes.count; i++) {
        prg_log(PRG_LOG_WARNING, "edge node stayed away; it is not told any more that the object is gone", "node",
                nodes.items[i], "kind", kind, "namespace", ns, "name", name, NULL);
        prg_outbox_drop(edge->outbox, nodes.items[i], header_of_kind(kind), ns, name);
        free(nodes.items[i]);
    }
    prg_vec_release(&nodes);
}

const struct prg_edge_stats *prg_edge_stats(const struct prg_edge *edge)
{
    struct prg_edge_stats *stats = (struct prg_edge_stats *)&edge->stats; // counted when asked for
    stats->connected = edge->links.count;
    stats->nodes = prg_outbox_node_count(edge->outbox);
    stats->waiting_messages = prg_outbox_waiting(edge->outbox);
    stats->waiting_reports = edge->report_count;
    return stats;
}
