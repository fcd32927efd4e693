// SPDX-License-Identifier: Apache-2.0
// learning_ledger.c: entries of the ledger to ConfigMaps and back.
#include "controller/learning_ledger.h"

#include <string.h>

#include "edge/guard.h"
#include "learning/names.h"
#include "learning/plan.h"
#include "learning/status.h"
#include "object/meta.h"

enum { LONGEST_NAME = 253 }; // of a ConfigMap

static const char prefix[] = "perigee-edge-";
static const char ghost_dataset[] = "perigee-ghost";

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

// ---- who is to forget the job before its next part ----

static const char *node_of(const cJSON *mark)
{
    return text_or_empty(prg_json_get_text(mark, "node"));
}

static const char *since_of(const cJSON *mark)
{
    return text_or_empty(prg_json_get_text(mark, "since"));
}

// Once for each node and deployment.
static void add_mark(struct prg_arena *arena, cJSON *marks, const char *node, const char *since)
{
    const cJSON *known;
    if (!*node)
        return;
    prg_json_each (known, marks)
        if (strcmp(node_of(known), node) == 0 && strcmp(since_of(known), since) == 0)
            return;
    cJSON *mark = prg_json_object(arena);
    prg_json_set_string(arena, mark, "node", node);
    prg_json_set_string(arena, mark, "since", since);
    prg_json_append(marks, mark);
    if (prg_json_count(marks) > PRG_LEDGER_MARKS)
        prg_json_detach(marks, marks->child);
}

// All who know the job that was.
static void add_former(struct prg_arena *arena, cJSON *marks, const struct prg_ledger_entry *before)
{
    const char *const nodes[] = {before->dataset, before->train, before->eval, before->deploy};
    const cJSON *mark;
    prg_json_each (mark, before->deployed)
        add_mark(arena, marks, node_of(mark), "");
    for (size_t i = 0; i < PRG_COUNT(nodes); i++)
        add_mark(arena, marks, nodes[i], "");
}

static bool is_worker(const struct prg_ledger_entry *entry, const char *node)
{
    return strcmp(entry->train, node) == 0 || strcmp(entry->eval, node) == 0 || strcmp(entry->deploy, node) == 0;
}

// NULL when there is none. The Dataset's node goes on from round to round and must not forget its samples, so nobody is
// added while it is not known which that is.
static cJSON *deployed_nodes(struct prg_arena *arena, const struct prg_ledger_entry *before, const cJSON *job,
                             const char *dataset)
{
    const char *now = prg_guard_deploying_node(job);
    cJSON *marks = prg_json_array(arena);
    const cJSON *mark;
    if (before && strcmp(before->uid, prg_meta_uid(job)) != 0) {
        add_former(arena, marks, before);
    } else if (before) {
        prg_json_each (mark, before->deployed)
            if (!*since_of(mark) || strcmp(node_of(mark), dataset) != 0)
                add_mark(arena, marks, node_of(mark), since_of(mark));
        if (*dataset && strcmp(before->dataset, dataset) != 0 && !is_worker(before, before->dataset))
            add_mark(arena, marks, before->dataset, ""); // it moved, and is told no other way once we are killed
    }
    if (*dataset && strcmp(now, dataset) != 0)
        add_mark(arena, marks, now, prg_guard_deployment(job));
    return marks->child ? marks : NULL;
}

void prg_ledger_forgotten(struct prg_ledger_entry *entry, const char *node, const char *but)
{
    cJSON *mark = entry->deployed ? entry->deployed->child : NULL, *next;
    for (; mark; mark = next) {
        next = mark->next;
        if (strcmp(node_of(mark), node) == 0 && (!*but || strcmp(since_of(mark), but) != 0))
            prg_json_detach(entry->deployed, mark);
    }
    if (entry->deployed && !entry->deployed->child)
        entry->deployed = NULL;
}

// ---- entries ----

bool prg_ledger_of(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job,
                   const struct prg_ledger_entry *before, struct prg_ledger_entry *ret)
{
    const char *ns = prg_meta_namespace(job), *name = prg_json_get_text(prg_json_at(job, "spec", "dataset"), "name");
    const cJSON *dataset = name ? prg_reader_get(store, PRG_SEDNA_GROUP, PRG_KIND_DATASET, ns, name) : NULL;
    const char *node = prg_json_get_text(prg_json_get(dataset, "spec"), "nodeName");
    bool is_hot = prg_meta_annotation(job, PRG_ANNOTATION_HOT_UPDATE) != NULL;
    const char *nodes[] = {node, prg_meta_annotation(job, PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_TRAIN),
                           prg_meta_annotation(job, PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_EVAL),
                           is_hot ? prg_meta_annotation(job, PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_DEPLOY) : NULL};
    bool is_known = false;
    for (size_t i = 0; i < PRG_COUNT(nodes); i++) {
        nodes[i] = prg_arena_strdup(arena, text_or_empty(nodes[i]));
        is_known = is_known || *nodes[i];
    }
    *ret = (struct prg_ledger_entry){.ns = prg_arena_strdup(arena, ns),
                                     .name = prg_arena_strdup(arena, prg_meta_name(job)),
                                     .uid = prg_arena_strdup(arena, prg_meta_uid(job)),
                                     .dataset = nodes[0],
                                     .train = nodes[1],
                                     .eval = nodes[2],
                                     .deploy = nodes[3],
                                     .gone = "",
                                     .deployed = deployed_nodes(arena, before, job, nodes[0])};
    return is_known && prg_job_condition_latest(job).node;
}

const char *prg_ledger_name(struct prg_arena *arena, const char *job)
{
    char suffix[6];
    if (strlen(prefix) + strlen(job) <= LONGEST_NAME)
        return prg_arena_printf(arena, "%s%s", prefix, job);
    prg_learning_suffix(job, suffix);
    return prg_arena_printf(arena, "%s%.*s-%s", prefix, (int)(LONGEST_NAME - strlen(prefix) - 6), job, suffix);
}

static cJSON *tree_of(struct prg_arena *arena, const struct prg_ledger_entry *entry)
{
    cJSON *tree = prg_json_object(arena);
    prg_json_set_string(arena, tree, "name", entry->name);
    prg_json_set_string(arena, tree, "uid", entry->uid);
    prg_json_set_string(arena, tree, "dataset", entry->dataset);
    prg_json_set_string(arena, tree, "train", entry->train);
    prg_json_set_string(arena, tree, "eval", entry->eval);
    prg_json_set_string(arena, tree, "deploy", entry->deploy);
    prg_json_set_string(arena, tree, "gone", *entry->gone ? entry->gone : NULL);
    if (entry->deployed)
        prg_json_set(arena, tree, "deployed", prg_json_copy(arena, entry->deployed));
    return tree;
}

uint64_t prg_ledger_digest(const struct prg_ledger_entry *entry)
{
    prg_auto_arena arena = {0};
    uint64_t digest = prg_json_digest(tree_of(&arena, entry));
    return digest ? digest : 1;
}

cJSON *prg_ledger_object(struct prg_arena *arena, const struct prg_ledger_entry *entry)
{
    cJSON *object = prg_json_object(arena), *meta = prg_json_object(arena), *labels = prg_json_object(arena),
          *data = prg_json_object(arena);
    prg_json_set_string(arena, object, "apiVersion", "v1");
    prg_json_set_string(arena, object, "kind", "ConfigMap");
    prg_json_set_string(arena, meta, "name", prg_ledger_name(arena, entry->name));
    prg_json_set_string(arena, meta, "namespace", entry->ns);
    prg_json_set_string(arena, labels, "app.kubernetes.io/managed-by", "perigee");
    prg_json_set_string(arena, labels, PRG_LEDGER_LABEL, PRG_LEDGER_VALUE);
    prg_json_set(arena, meta, "labels", labels);
    prg_json_set(arena, object, "metadata", meta);
    prg_json_set_string(arena, data, "job", prg_json_print_arena(arena, tree_of(arena, entry), PRG_JSON_COMPACT));
    prg_json_set(arena, object, "data", data);
    return object;
}

// What of the list are marks, or NULL.
static cJSON *marks_of(struct prg_arena *arena, const cJSON *list)
{
    cJSON *marks = prg_json_array(arena);
    const cJSON *mark;
    prg_json_each (mark, prg_json_is_array(list) ? list : NULL)
        if (prg_json_get_text(mark, "since"))
            add_mark(arena, marks, node_of(mark), since_of(mark));
    return marks->child ? marks : NULL;
}

bool prg_ledger_read(struct prg_arena *arena, const cJSON *object, struct prg_ledger_entry *ret)
{
    const char *text = prg_json_get_text(prg_json_get(object, "data"), "job");
    cJSON *tree = NULL;
    if (!prg_text_equal(prg_meta_label(object, PRG_LEDGER_LABEL), PRG_LEDGER_VALUE) || !text ||
        prg_json_parse(arena, text, strlen(text), NULL, &tree, NULL) != PRG_OK || !prg_json_get_text(tree, "name"))
        return false;
    *ret = (struct prg_ledger_entry){.ns = prg_arena_strdup(arena, prg_meta_namespace(object)),
                                     .name = prg_json_get_text(tree, "name"),
                                     .uid = text_or_empty(prg_json_get_text(tree, "uid")),
                                     .dataset = text_or_empty(prg_json_get_text(tree, "dataset")),
                                     .train = text_or_empty(prg_json_get_text(tree, "train")),
                                     .eval = text_or_empty(prg_json_get_text(tree, "eval")),
                                     .deploy = text_or_empty(prg_json_get_text(tree, "deploy")),
                                     .gone = text_or_empty(prg_json_get_text(tree, "gone")),
                                     .deployed = marks_of(arena, prg_json_get(tree, "deployed"))};
    return strcmp(prg_meta_name(object), prg_ledger_name(arena, ret->name)) == 0;
}

static cJSON *object_named(struct prg_arena *arena, const char *kind, const char *ns, const char *name)
{
    cJSON *object = prg_json_object(arena), *meta = prg_json_object(arena);
    prg_json_set_string(arena, object, "apiVersion", PRG_SEDNA_VERSION);
    prg_json_set_string(arena, object, "kind", kind);
    prg_json_set_string(arena, meta, "name", name);
    prg_json_set_string(arena, meta, "namespace", ns);
    prg_json_set(arena, object, "metadata", meta);
    return object;
}

cJSON *prg_ledger_ghost(struct prg_arena *arena, const struct prg_ledger_entry *entry)
{
    static const char *const stages[] = {PRG_STAGE_TRAIN, PRG_STAGE_EVAL, PRG_STAGE_DEPLOY};
    const char *const nodes[] = {entry->train, entry->eval, entry->deploy};
    cJSON *job = object_named(arena, PRG_KIND_JOB, entry->ns, entry->name), *meta = prg_json_get(job, "metadata");
    cJSON *annotations = prg_json_object(arena);
    prg_json_set_string(arena, meta, "uid", entry->uid);
    for (size_t i = 0; i < PRG_COUNT(stages); i++)
        if (*nodes[i])
            prg_json_set_string(arena, annotations,
                                prg_arena_printf(arena, "%s%s", PRG_ANNOTATION_NODE_PREFIX, stages[i]), nodes[i]);
    if (*entry->deploy)
        prg_json_set_string(arena, annotations, PRG_ANNOTATION_HOT_UPDATE, "");
    prg_json_set(arena, meta, "annotations", annotations);
    cJSON *spec = prg_json_ensure_object(arena, job, "spec");
    prg_json_set_string(arena, prg_json_ensure_object(arena, spec, "dataset"), "name", ghost_dataset);
    prg_job_condition_append(arena, job,
                             prg_job_condition_new(arena, PRG_STAGE_TRAIN, PRG_TYPE_WAITING, NULL, NULL, NULL, NULL));
    return job;
}

// ---- the Dataset that may be gone ----

static const cJSON *overlay_get(const struct prg_reader *reader, const struct prg_key *key)
{
    const struct prg_ledger_reader *overlay = (const struct prg_ledger_reader *)reader;
    if (strcmp(key->group, PRG_SEDNA_GROUP) == 0 && strcmp(key->kind, PRG_KIND_DATASET) == 0 &&
        strcmp(key->ns, prg_meta_namespace(overlay->dataset)) == 0 &&
        strcmp(key->name, prg_meta_name(overlay->dataset)) == 0)
        return overlay->dataset;
    return overlay->under->get(overlay->under, key);
}

static void overlay_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                         prg_reader_visit_fn visit, void *ctx)
{
    const struct prg_ledger_reader *overlay = (const struct prg_ledger_reader *)reader;
    overlay->under->list(overlay->under, group, kind, ns, visit, ctx);
}

void prg_ledger_reader_init(struct prg_ledger_reader *ret, struct prg_arena *arena, const struct prg_reader *under,
                            const cJSON *job, const struct prg_ledger_entry *entry)
{
    const char *name = prg_json_get_text(prg_json_at(job, "spec", "dataset"), "name");
    cJSON *dataset = object_named(arena, PRG_KIND_DATASET, entry->ns, name ? name : ghost_dataset);
    prg_json_set_string(arena, prg_json_ensure_object(arena, dataset, "spec"), "nodeName", entry->dataset);
    *ret = (struct prg_ledger_reader){
        .reader = {.get = overlay_get, .list = overlay_list}, .under = under, .dataset = dataset};
}
