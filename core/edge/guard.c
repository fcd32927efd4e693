// SPDX-License-Identifier: Apache-2.0
// guard.c: who knows a job, and what of it. Source: what Local Controllers were seen to do, and
// docs/incremental-learning.md.
//
// Nodes: D watches the Dataset; T, E and P ran the train, eval and inference worker last (annotations).
//
//   last condition      knows the job, besides D
//   Train Running       T
//   Train ended         T, if it will evaluate (restart) or serve (hot update) next
//   Eval Waiting …      T, likewise
//   Eval Running        E
//   Eval Completed      E
//   Eval Failed         E, with restart
//   Deploy Waiting …    E
//   Deploy Running      P
//   Deploy ended        nobody: the next round begins anew there
//
// One that took part in an earlier deployment and missed that it was to forget the job does so before it evaluates
// again, when no report of a worker passes through it: in Eval Ready and Starting where T evaluates next, else with
// Eval Running; and before it takes part in a deployment again, when it was away until then. One that knew another job
// of this name forgets that before anything else.
//
// Who of them is sent the job now is what the messages ask for, and D while the first training is under way: a Local
// Controller left in Train Waiting would begin a second round, for which it has no model.
#include "edge/guard.h"

#include <string.h>

#include "edge/decodable.h"
#include "learning/conddata.h"
#include "learning/names.h"
#include "learning/status.h"
#include "learning/url.h"
#include "object/meta.h"

#define KIND_JOB "incrementallearningjob"
#define KIND_DATASET "dataset"
#define KIND_MODEL "model"

struct guard {
    struct prg_arena *arena;
    const struct prg_reader *store;
    const cJSON *job;
    struct prg_guard_answer *answer;
    const char *ns, *name;
    struct prg_job_condition latest;
    const char *dataset, *train, *eval, *deploy; // nodes, "" when not known
    const cJSON *deployed;
    const char *deployment; // that is under way, or ""
    cJSON *header;          // content of deletions, once it was needed
    bool is_hot;
};

// Why a message is held back; none: why is NULL.
struct verdict {
    const char *why;
    bool is_for_people;
};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static struct verdict never(const char *why)
{
    return (struct verdict){why, true};
}

static struct verdict not_yet(const char *why)
{
    return (struct verdict){why, false};
}

static const struct verdict fine = {NULL, false};

static struct prg_guard_entry *add(struct prg_arena *arena, struct prg_guard_answer *answer, const char *node,
                                   const char *kind, const cJSON *object)
{
    struct prg_guard_entry *entry = prg_arena_new(arena, struct prg_guard_entry);
    entry->node = node;
    entry->kind = kind;
    entry->ns = prg_meta_namespace(object);
    entry->name = prg_meta_name(object);
    if (answer->last)
        answer->last->next = entry;
    else
        answer->first = entry;
    answer->last = entry;
    return entry;
}

// ---- what a Local Controller can decode and set up ----

// Secrets become a client of an object store; without one, every s3 URL is the end of the process.
static bool has_credential(const cJSON *content, const char **ret_problem, struct prg_arena *arena)
{
    static const char *const keys[] = {"s3-endpoint", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY"};
    const char *text = prg_meta_annotation(content, PRG_ANNOTATION_CREDENTIAL);
    cJSON *credential = NULL;
    *ret_problem = NULL;
    if (!text || !*text)
        return false;
    if (prg_json_parse(arena, text, strlen(text), NULL, &credential, NULL) != PRG_OK) {
        *ret_problem = "the annotation " PRG_ANNOTATION_CREDENTIAL " is no JSON";
        return false;
    }
    for (size_t i = 0; i < PRG_COUNT(keys) && !*ret_problem; i++)
        if (!prg_json_get_text(credential, keys[i]))
            *ret_problem = prg_arena_printf(arena, "its Secret has no %s", keys[i]);
    const char *endpoint = prg_json_get_text(credential, keys[0]);
    if (!*ret_problem && (!*endpoint || strpbrk(endpoint, "/ \t@?#")))
        *ret_problem = prg_arena_printf(
            arena, "the annotation s3-endpoint of its Secret, '%s', is not HOST or HOST:PORT", endpoint);
    return !*ret_problem;
}

enum place { PLACE_LOCAL, PLACE_S3, PLACE_ODD };

static enum place place_of(struct prg_arena *arena, const char *url)
{
    struct prg_url parts;
    if (!url || !*url || prg_url_parse(arena, url, &parts, NULL) != PRG_OK)
        return PLACE_ODD;
    return is(parts.scheme, "") ? PLACE_LOCAL : is(parts.scheme, "s3") ? PLACE_S3 : PLACE_ODD;
}

// Where an object's own URL lies, and whether its credential serves.
static struct verdict check_place(struct prg_arena *arena, const cJSON *content, const char *field)
{
    const char *url = prg_json_get_text(prg_json_get(content, "spec"), field), *problem;
    bool has_secret = has_credential(content, &problem, arena);
    enum place place = place_of(arena, url);
    if (problem)
        return never(prg_arena_printf(arena, "/spec/credentialName: %s", problem));
    if (place == PLACE_ODD)
        return never(prg_arena_printf(arena, "/spec/%s: '%s' is neither a path nor an s3 URL", field, url ? url : ""));
    if (place == PLACE_S3 && !has_secret)
        return never(
            prg_arena_printf(arena, "/spec/%s: '%s' needs a Secret, named by /spec/credentialName", field, url));
    return fine;
}

static struct verdict check_decodable(struct prg_arena *arena, const struct prg_schema *schema, cJSON *content)
{
    cJSON *meta = prg_json_get(content, "metadata");
    if (meta) {
        prg_json_remove(meta, "managedFields"); // of no use there, and most of the bytes
        prg_json_remove(meta, "selfLink");
    }
    const char *problem = prg_decodable(arena, schema, content);
    return problem ? never(problem) : fine;
}

// A metric "name[index]" that is not closed, or asks for a value before the first, ends the process when it is looked
// up.
static const char *bad_metric(const char *metric)
{
    const char *open = metric ? strchr(metric, '[') : NULL, *close = open ? strrchr(metric, ']') : NULL;
    if (!open)
        return NULL;
    if (!close || close < open)
        return "its index is not closed by ']'";
    for (const char *c = open + 1; open[1] == '-' && c < close; c++)
        if (*c >= '1' && *c <= '9')
            return "its index is negative";
    return NULL;
}

static struct verdict check_trigger(struct guard *g, const cJSON *content, const char *part)
{
    const cJSON *trigger = prg_json_at(content, "spec", part, "trigger");
    const char *metric = prg_json_get_text(prg_json_get(trigger, "condition"), "metric"), *problem = bad_metric(metric);
    if (!problem)
        return fine;
    return never(prg_arena_printf(g->arena, "/spec/%s/trigger/condition/metric: '%s': %s", part, metric, problem));
}

// Templates are not looked at on an edge node: one that could not be decoded goes without what is in it.
static void mend_templates(struct guard *g, cJSON *content)
{
    static const char *const parts[] = {"trainSpec", "evalSpec", "deploySpec"};
    for (size_t i = 0; i < PRG_COUNT(parts); i++) {
        cJSON *part = prg_json_at(content, "spec", parts[i]), *pod = prg_json_get(part, "template");
        if (prg_json_is_object(part) && pod && prg_decodable(g->arena, &prg_schema_pod_template, pod))
            prg_json_set(g->arena, part, "template", prg_json_object(g->arena));
    }
}

// What is there already is decoded over, entry by entry: what is absent in a later message keeps its old value. So what
// may go away is written out.
static void spell_out(struct guard *g, cJSON *content)
{
    cJSON *model = prg_json_at(content, "spec", "deploySpec", "model"), *condition;
    if (prg_json_is_object(model) && !prg_json_get(model, "hotUpdateEnabled"))
        prg_json_set_bool(g->arena, model, "hotUpdateEnabled", false);
    cJSON *eval = prg_json_at(content, "spec", "evalSpec");
    if (prg_json_is_object(eval) && !prg_json_get(eval, "initialEvalModel"))
        prg_json_set(g->arena, eval, "initialEvalModel", prg_json_null(g->arena));
    prg_json_each (condition, prg_json_at(content, "status", "conditions"))
        if (prg_json_is_object(condition) && !prg_json_get_text(condition, "data"))
            prg_json_set_string(g->arena, condition, "data", "");
}

static struct verdict check_spec(struct guard *g, const cJSON *content)
{
    const cJSON *share = prg_json_at(content, "spec", "dataset", "trainProb");
    double value = prg_json_is_number(share) ? prg_json_as_double(share) : 0;
    struct verdict verdict = check_trigger(g, content, "trainSpec");
    if (value < 0 || value > 1)
        return never(prg_arena_printf(g->arena, "/spec/dataset/trainProb: must lie between 0 and 1, not %s",
                                      prg_json_number_text(share)));
    if (!verdict.why)
        verdict = check_trigger(g, content, "deploySpec");
    return verdict.why ? verdict : check_place(g->arena, content, "outputDir");
}

// ---- what it looks back for in the conditions ----

// The models of the newest condition of that stage and type whose data has that part, as the Local Controller finds
// them; NULL when there is none. after: the last Ready of the stage, for what belongs to this round; or NULL.
static cJSON *models_of(struct guard *g, const cJSON *job, const char *stage, const char *type, const char *part,
                        const cJSON *after)
{
    for (const cJSON *node = prg_job_condition_last(job); node && node != after;
         node = prg_job_condition_before(node)) {
        struct prg_job_condition condition = prg_job_condition_of(node);
        cJSON *data = is(condition.stage, stage) && is(condition.type, type)
                          ? prg_conddata_parse(g->arena, condition.data)
                          : NULL;
        if (!data || prg_conddata_normalise(g->arena, data, &data, NULL) != PRG_OK)
            continue;
        const cJSON *found = prg_field(data, part);
        if (found) {
            const cJSON *models = prg_field(found, "models");
            return models ? prg_json_reference(g->arena, models) : prg_json_array(g->arena);
        }
    }
    return NULL;
}

static const cJSON *last_of(const cJSON *job, const char *stage, const char *type)
{
    const cJSON *node = prg_job_condition_last(job);
    for (; node; node = prg_job_condition_before(node)) {
        struct prg_job_condition condition = prg_job_condition_of(node);
        if (is(condition.stage, stage) && is(condition.type, type))
            break;
    }
    return node;
}

static const cJSON *model_named(struct guard *g, const cJSON *reference)
{
    const char *name = prg_json_get_text(reference, "name");
    return name && *name ? prg_reader_get(g->store, PRG_SEDNA_GROUP, PRG_KIND_MODEL, g->ns, name) : NULL;
}

static bool is_device_shared(const cJSON *wanted, const cJSON *trained)
{
    const cJSON *mine = prg_field(trained, "device_soc_versions"), *device;
    if (!prg_json_is_array(wanted) || prg_json_count(mine) != 1)
        return true;
    prg_json_each (device, wanted)
        if (prg_text_equal(prg_json_text(device), prg_json_text(mine->child)))
            return true;
    return false;
}

// The trained model that the Local Controller takes to go with model: of one format, for a device of both.
static const cJSON *trained_for(struct guard *g, const cJSON *model)
{
    const cJSON *spec = prg_json_get(model, "spec"), *trained;
    const char *format = prg_json_get_text(spec, "format");
    prg_json_each (trained, models_of(g, g->job, PRG_STAGE_TRAIN, PRG_TYPE_COMPLETED, "output", NULL)) {
        const char *other = prg_field_text(trained, "format");
        if (is(other ? other : "", format ? format : "") &&
            is_device_shared(prg_json_get(spec, "device_soc_versions"), trained))
            return trained;
    }
    return NULL;
}

static const cJSON *initial_model(struct guard *g)
{
    return model_named(g, prg_json_at(g->job, "spec", "initialModel"));
}

static const cJSON *served_model(struct guard *g)
{
    return model_named(g, prg_json_at(g->job, "spec", "deploySpec", "model"));
}

static const cJSON *eval_reference(struct guard *g)
{
    const cJSON *reference = prg_json_at(g->job, "spec", "evalSpec", "initialEvalModel");
    return prg_json_is_object(reference) ? reference : NULL;
}

// Before the state is shown to a node, the trained model that goes with reference must be there.
static struct verdict check_trained(struct guard *g, const cJSON *reference, const char *field)
{
    const cJSON *model = model_named(g, reference);
    const char *name = prg_json_get_text(reference, "name");
    if (!model)
        return never(prg_arena_printf(g->arena, "%s: there is no Model '%s'", field, name ? name : ""));
    if (trained_for(g, model))
        return fine;
    const char *format = prg_json_get_text(prg_json_get(model, "spec"), "format");
    return never(
        prg_arena_printf(g->arena,
                         "%s: the last training reported no model of the format of Model '%s', '%s', for one of "
                         "its devices",
                         field, name, format ? format : ""));
}

static struct verdict check_served(struct guard *g)
{
    return check_trained(g, prg_json_at(g->job, "spec", "deploySpec", "model"), "/spec/deploySpec/model/name");
}

static struct verdict check_evaluated(struct guard *g)
{
    return eval_reference(g) ? check_trained(g, eval_reference(g), "/spec/evalSpec/initialEvalModel/name")
                             : check_served(g);
}

// A report of this round's worker that has to be there first.
static struct verdict check_reported(struct guard *g, const char *stage)
{
    const cJSON *models =
        models_of(g, g->job, stage, PRG_TYPE_COMPLETED, "output", last_of(g->job, stage, PRG_TYPE_READY));
    if (prg_json_count(models))
        return fine;
    return not_yet(prg_arena_printf(g->arena,
                                    "the %s worker of this round has reported no models; its report is awaited from "
                                    "node '%s'",
                                    is(stage, PRG_STAGE_TRAIN) ? PRG_WORKER_TRAIN : PRG_WORKER_EVAL,
                                    is(stage, PRG_STAGE_TRAIN) ? g->train : g->eval));
}

// Copying a model from or to an object store takes the job's credential.
static struct verdict check_copy(struct guard *g, const cJSON *content)
{
    const cJSON *served = served_model(g), *evaluated = eval_reference(g) ? model_named(g, eval_reference(g)) : NULL;
    const char *problem, *urls[4] = {prg_field_text(trained_for(g, served), "url"),
                                     prg_json_get_text(prg_json_get(served, "spec"), "url")};
    if (evaluated) {
        urls[2] = prg_field_text(trained_for(g, evaluated), "url");
        urls[3] = prg_json_get_text(prg_json_get(evaluated, "spec"), "url");
    }
    if (has_credential(content, &problem, g->arena))
        return fine;
    for (size_t i = 0; i < PRG_COUNT(urls); i++)
        if (urls[i] && place_of(g->arena, urls[i]) == PLACE_S3)
            return never(prg_arena_printf(
                g->arena, "'%s' cannot be copied without a Secret, named by /spec/credentialName", urls[i]));
    return fine;
}

// ---- mending what it reads ----

// Where a node looks for a model to begin a further round with and none is there, it is shown the initial one.
static void lend_initial_model(struct guard *g, cJSON *content)
{
    cJSON *conditions = prg_json_at(content, "status", "conditions");
    const cJSON *model = initial_model(g), *spec = prg_json_get(model, "spec");
    size_t count = prg_json_count(conditions);
    if (!model || count < 2 || trained_for(g, model))
        return;
    cJSON *data = prg_json_object(g->arena), *output = prg_json_object(g->arena), *models = prg_json_array(g->arena),
          *lent = prg_json_object(g->arena);
    prg_json_set_string(g->arena, lent, "format", prg_json_get_text(spec, "format"));
    prg_json_set_string(g->arena, lent, "url", prg_json_get_text(spec, "url"));
    prg_json_set(g->arena, lent, "classes", prg_json_null(g->arena));
    prg_json_append(models, lent);
    prg_json_set(g->arena, output, "models", models);
    prg_json_set(g->arena, data, "output", output);
    const char *since = g->latest.since;
    prg_json_insert(conditions, count - 1,
                    prg_job_condition_new(g->arena, PRG_STAGE_TRAIN, PRG_TYPE_COMPLETED, NULL, NULL,
                                          prg_json_print_arena(g->arena, data, PRG_JSON_ESCAPE_HTML),
                                          since && *since ? since : NULL));
}

static bool is_numbers(const cJSON *list)
{
    const cJSON *item;
    if (!prg_json_is_array(list))
        return false;
    prg_json_each (item, list)
        if (!prg_json_is_number(item))
            return false;
    return true;
}

// Both models' metrics are subtracted value by value; one that the second has not, or not so many of, is left out.
static void mend_metrics(cJSON *models)
{
    cJSON *first = prg_json_get(prg_json_item(models, 0), "metrics"), *metric, *next;
    const cJSON *second = prg_json_get(prg_json_item(models, 1), "metrics");
    bool is_plain = true; // all are lists of numbers, else nothing is compared at all
    prg_json_each (metric, first)
        is_plain = is_plain && is_numbers(metric);
    prg_json_each (metric, second)
        is_plain = is_plain && is_numbers(metric);
    if (!is_plain)
        return;
    for (metric = first ? first->child : NULL; metric; metric = next) {
        next = metric->next;
        if (prg_json_count(prg_json_get(second, metric->string)) < prg_json_count(metric))
            prg_json_detach(first, metric);
    }
}

static void mend_evaluation(struct guard *g, cJSON *content)
{
    cJSON *condition, *conditions = prg_json_at(content, "status", "conditions");
    prg_json_each (condition, conditions) {
        struct prg_job_condition c = prg_job_condition_of(condition);
        cJSON *data =
            is(c.stage, PRG_STAGE_EVAL) && is(c.type, PRG_TYPE_COMPLETED) ? prg_conddata_parse(g->arena, c.data) : NULL;
        cJSON *models = NULL;
        if (data && prg_conddata_normalise(g->arena, data, &data, NULL) == PRG_OK)
            models = prg_json_at(data, "output", "models");
        if (!prg_json_is_array(models))
            continue;
        if (prg_json_count(models) == 2) {
            mend_metrics(models);
        } else { // some versions take two for granted; without metrics nothing is deployed
            prg_json_set(g->arena, prg_json_get(data, "output"), "models", models = prg_json_array(g->arena));
            prg_json_append(models, prg_json_object(g->arena));
            prg_json_append(models, prg_json_object(g->arena));
        }
        prg_json_set_string(g->arena, condition, "data", prg_json_print_arena(g->arena, data, PRG_JSON_ESCAPE_HTML));
    }
}

// ---- the state of a job ----

static struct verdict check_state(struct guard *g, cJSON *content)
{
    const char *stage = g->latest.stage, *type = g->latest.type;
    struct verdict verdict = fine;
    if (!is(stage, PRG_STAGE_TRAIN) && !is(stage, PRG_STAGE_EVAL) && !is(stage, PRG_STAGE_DEPLOY))
        return never(
            prg_arena_printf(g->arena, "the last condition is of the stage '%s', which no edge node knows", stage));
    bool is_waiting = is(type, PRG_TYPE_WAITING);
    bool is_loading = is(stage, PRG_STAGE_DEPLOY) && is(type, PRG_TYPE_RUNNING) && g->is_hot;
    if (is_waiting && is(stage, PRG_STAGE_TRAIN)) {
        lend_initial_model(g, content);
    } else if (is_waiting && is(stage, PRG_STAGE_EVAL)) {
        verdict = check_reported(g, PRG_STAGE_TRAIN);
        if (!verdict.why)
            verdict = check_evaluated(g);
    } else if ((is_waiting && is(stage, PRG_STAGE_DEPLOY)) || is_loading) {
        verdict = check_reported(g, PRG_STAGE_EVAL);
        if (!verdict.why)
            verdict = check_served(g);
        if (!verdict.why)
            verdict = check_evaluated(g);
        if (!verdict.why)
            verdict = check_copy(g, content);
        mend_evaluation(g, content);
    }
    return verdict;
}

static struct verdict job_content(struct guard *g, cJSON **ret)
{
    cJSON *content = prg_learning_content(g->arena, g->store, g->job, PRG_KIND_JOB);
    mend_templates(g, content);
    struct verdict verdict = check_decodable(g->arena, &prg_schema_edge_job, content);
    if (!verdict.why)
        verdict = check_spec(g, content);
    if (!verdict.why)
        verdict = check_state(g, content);
    spell_out(g, content);
    *ret = content;
    return verdict;
}

// ---- who is told ----

static bool is_asked(const cJSON *messages, const char *kind, const char *node)
{
    const cJSON *message;
    prg_json_each (message, messages) {
        const cJSON *header = prg_json_get(message, "header");
        if (is(prg_json_get_text(message, "node"), node) && is(prg_json_get_text(header, "resourceKind"), kind) &&
            is(prg_json_get_text(header, "operation"), "insert"))
            return true;
    }
    return false;
}

static void add_models(struct guard *g, const cJSON *messages)
{
    const cJSON *message;
    prg_json_each (message, messages) {
        cJSON *content = prg_json_get(message, "content");
        const char *node = prg_json_get_text(message, "node");
        if (!is(prg_json_get_text(prg_json_get(message, "header"), "resourceKind"), KIND_MODEL))
            continue;
        struct prg_guard_entry *entry = add(g->arena, g->answer, node, KIND_MODEL, content);
        struct verdict verdict = check_decodable(g->arena, &prg_schema_edge_model, content);
        entry->content = content;
        entry->held = verdict.why;
        entry->is_for_people = verdict.is_for_people && *node;
    }
}

static const char *annotation(const cJSON *job, const char *key)
{
    const char *value = prg_meta_annotation(job, key);
    return value ? value : "";
}

static const char *node_of(const cJSON *job, const char *stage)
{
    return annotation(job, is(stage, PRG_STAGE_TRAIN)  ? PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_TRAIN
                           : is(stage, PRG_STAGE_EVAL) ? PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_EVAL
                                                       : PRG_ANNOTATION_NODE_PREFIX PRG_STAGE_DEPLOY);
}

static bool has_ended(const char *type)
{
    return is(type, PRG_TYPE_COMPLETED) || is(type, PRG_TYPE_FAILED);
}

const char *prg_guard_deploying_node(const cJSON *job)
{
    struct prg_job_condition latest = prg_job_condition_latest(job);
    if (!latest.node || !is(latest.stage, PRG_STAGE_DEPLOY) || has_ended(latest.type))
        return "";
    return node_of(job, is(latest.type, PRG_TYPE_RUNNING) ? PRG_STAGE_DEPLOY : PRG_STAGE_EVAL);
}

const char *prg_guard_deployment(const cJSON *job)
{
    if (!*prg_guard_deploying_node(job))
        return "";
    const cJSON *began = last_of(job, PRG_STAGE_DEPLOY, PRG_TYPE_WAITING);
    const char *since = began ? prg_job_condition_of(began).since : "";
    return *since ? since : "?";
}

// It knew another job of this name; or, unless only that is asked, took part in a deployment that is over: it would
// take part in no other before it has forgotten the job.
static bool has_mark(const struct guard *g, const char *node, bool is_of_another_job)
{
    const cJSON *mark;
    prg_json_each (mark, g->deployed) {
        const char *since = prg_json_get_text(mark, "since");
        if (is(prg_json_get_text(mark, "node"), node) && (!*since || (!is_of_another_job && !is(since, g->deployment))))
            return true;
    }
    return false;
}

static bool must_forget_first(const struct guard *g, const char *node)
{
    bool matters = is(g->latest.stage, PRG_STAGE_EVAL) || is(g->latest.stage, PRG_STAGE_DEPLOY);
    return has_mark(g, node, !matters);
}

// The table on top of this file.
static bool knows(const struct guard *g, const char *node)
{
    const char *stage = g->latest.stage, *type = g->latest.type;
    const char *next = g->is_hot ? g->deploy : g->eval;
    bool is_over = has_ended(type), is_running = is(type, PRG_TYPE_RUNNING);
    if (is(node, g->dataset))
        return true;
    if (is(stage, PRG_STAGE_TRAIN))
        return is(node, g->train) && (is_running || (is_over && is(node, next)));
    if (is(stage, PRG_STAGE_EVAL) && !is_over && !is_running)
        return is(node, g->train) && is(node, next) && (is(type, PRG_TYPE_WAITING) || !has_mark(g, node, false));
    if (is(stage, PRG_STAGE_EVAL))
        return is(node, g->eval) && (!is(type, PRG_TYPE_FAILED) || is(node, next));
    return is(stage, PRG_STAGE_DEPLOY) && !is_over && is(node, prg_guard_deploying_node(g->job));
}

// D has begun the first round, or a further one without a model, and must not begin another while that is under way.
static bool must_stop_asking(struct guard *g, const char *node)
{
    const char *type = g->latest.type;
    return is(node, g->dataset) && is(g->latest.stage, PRG_STAGE_TRAIN) && !is(type, PRG_TYPE_WAITING) &&
           !is(type, PRG_TYPE_COMPLETED) && !is(type, PRG_TYPE_FAILED) && !trained_for(g, initial_model(g));
}

static bool is_gentle(const struct guard *g, const char *node)
{
    return is(node, g->deploy) && prg_meta_annotation(g->job, PRG_ANNOTATION_HOT_UPDATE);
}

static void forget(struct guard *g, const char *node)
{
    struct prg_guard_entry *entry = add(g->arena, g->answer, node, KIND_JOB, g->job);
    entry->is_deletion = true;
    if (!g->header) {
        g->header = prg_json_copy(g->arena, g->job); // as it is stored, so no Secret
        prg_json_set_string(g->arena, g->header, "kind", PRG_KIND_JOB);
    }
    entry->content = g->header;
    entry->is_gentle = is_gentle(g, node);
}

// Nodes that took part in a deployment and are none of the job's any more.
static void forget_former(struct guard *g)
{
    const cJSON *mark;
    prg_json_each (mark, g->deployed) {
        const char *node = prg_json_get_text(mark, "node");
        const struct prg_guard_entry *entry = g->answer->first;
        while (entry && !(is(entry->kind, KIND_JOB) && is(entry->node, node)))
            entry = entry->next;
        if (!entry)
            forget(g, node);
    }
}

static void add_job(struct guard *g, const cJSON *messages)
{
    const char *const nodes[] = {g->dataset, g->train, g->eval, g->deploy};
    cJSON *content = NULL;
    struct verdict verdict = job_content(g, &content);
    for (size_t i = 0; i < PRG_COUNT(nodes); i++) {
        bool is_seen = !*nodes[i] && !is_asked(messages, KIND_JOB, "");
        for (size_t k = 0; k < i; k++)
            is_seen = is_seen || is(nodes[k], nodes[i]);
        if (is_seen)
            continue;
        if (!knows(g, nodes[i])) {
            forget(g, nodes[i]);
            continue;
        }
        struct prg_guard_entry *entry = add(g->arena, g->answer, nodes[i], KIND_JOB, g->job);
        if (!is_asked(messages, KIND_JOB, nodes[i]) && !must_stop_asking(g, nodes[i]))
            continue;
        entry->content = content;
        entry->forgets_first = must_forget_first(g, nodes[i]);
        entry->is_gentle = entry->forgets_first && is_gentle(g, nodes[i]);
        entry->held = verdict.why;
        entry->is_for_people = verdict.is_for_people && *nodes[i];
    }
    forget_former(g);
}

static void forget_everywhere(struct guard *g)
{
    const char *const nodes[] = {g->dataset, g->train, g->eval, g->deploy};
    for (size_t i = 0; i < PRG_COUNT(nodes); i++) {
        bool is_seen = false;
        for (size_t k = 0; k < i; k++)
            is_seen = is_seen || is(nodes[k], nodes[i]);
        if (!is_seen)
            forget(g, nodes[i]);
    }
    forget_former(g);
    for (struct prg_guard_entry *entry = g->answer->first; entry; entry = entry->next)
        entry->is_gentle = false; // the folder goes with the job
}

void prg_guard_job(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job, const cJSON *deployed,
                   enum prg_learning_change change, struct prg_guard_answer *ret)
{
    struct guard g = {.arena = arena,
                      .store = store,
                      .job = job,
                      .answer = ret,
                      .ns = prg_meta_namespace(job),
                      .name = prg_meta_name(job),
                      .latest = prg_job_condition_latest(job),
                      .train = node_of(job, PRG_STAGE_TRAIN),
                      .eval = node_of(job, PRG_STAGE_EVAL),
                      .deploy = node_of(job, PRG_STAGE_DEPLOY),
                      .deployed = deployed,
                      .deployment = prg_guard_deployment(job),
                      .is_hot = prg_json_get_true(prg_json_at(job, "spec", "deploySpec", "model"), "hotUpdateEnabled")};
    const char *name = prg_json_get_text(prg_json_at(job, "spec", "dataset"), "name");
    const cJSON *dataset = name && *name ? prg_reader_get(store, PRG_SEDNA_GROUP, PRG_KIND_DATASET, g.ns, name) : NULL;
    const char *node = prg_json_get_text(prg_json_get(dataset, "spec"), "nodeName");
    g.dataset = node ? node : "";
    *ret = (struct prg_guard_answer){.is_unknown = !*g.dataset && change == PRG_CHANGE_STORED};
    if (change == PRG_CHANGE_DELETED) {
        forget_everywhere(&g);
        return;
    }
    if (ret->is_unknown || !g.latest.node)
        return;
    cJSON *messages = prg_json_array(arena);
    prg_learning_downstream(arena, store, job, change, messages);
    add_models(&g, messages);
    add_job(&g, messages);
}

void prg_guard_dataset(struct prg_arena *arena, const struct prg_reader *store, const cJSON *dataset,
                       enum prg_learning_change change, struct prg_guard_answer *ret)
{
    cJSON *messages = prg_json_array(arena), *message;
    *ret = (struct prg_guard_answer){0};
    prg_dataset_downstream(arena, store, dataset, change, messages);
    prg_json_each (message, messages) {
        cJSON *content = prg_json_get(message, "content");
        struct prg_guard_entry *entry = add(arena, ret, prg_json_get_text(message, "node"), KIND_DATASET, content);
        struct verdict verdict = check_decodable(arena, &prg_schema_edge_dataset, content);
        if (!verdict.why)
            verdict = check_place(arena, content, "url");
        entry->content = content;
        entry->is_deletion = change == PRG_CHANGE_DELETED;
        if (!entry->is_deletion) {
            entry->held = verdict.why;
            entry->is_for_people = verdict.is_for_people;
        }
    }
}

cJSON *prg_guard_held(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job)
{
    cJSON *list = prg_json_array(arena);
    struct prg_guard_answer answer;
    prg_guard_job(arena, store, job, NULL, PRG_CHANGE_STORED, &answer);
    for (const struct prg_guard_entry *entry = answer.first; entry; entry = entry->next) {
        if (!entry->held || !*entry->node)
            continue;
        cJSON *held = prg_json_object(arena);
        prg_json_set_string(arena, held, "node", entry->node);
        prg_json_set_string(arena, held, "kind", strcmp(entry->kind, KIND_JOB) == 0 ? PRG_KIND_JOB : PRG_KIND_MODEL);
        prg_json_set_string(arena, held, "name", entry->name);
        prg_json_set_string(arena, held, "why", entry->held);
        prg_json_append(list, held);
    }
    return list;
}
