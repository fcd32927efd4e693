// SPDX-License-Identifier: Apache-2.0
// outlook.c: the rules of the Local Controller for triggers, Datasets and models, turned into forecasts.
//
// A trigger is asked on the edge node: a metric that is unknown or an operator that is unknown is false, a list of
// values without an index counts as 0, a timer compares texts. None of it is logged where an admin looks.
#include "learning/outlook.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "learning/conddata.h"
#include "learning/names.h"
#include "learning/status.h"
#include "object/meta.h"

struct outlook {
    struct prg_arena *arena;
    const struct prg_reader *store;
    const cJSON *job;
    cJSON *list;
};

static void foresee(struct outlook *o, const char *stage, const char *object, const char *field, const char *problem,
                    const char *fix)
{
    cJSON *entry = prg_json_object(o->arena);
    prg_json_set_string(o->arena, entry, "stage", stage);
    prg_json_set_string(o->arena, entry, "object", object);
    prg_json_set_string(o->arena, entry, "field", field);
    prg_json_set_string(o->arena, entry, "problem", problem);
    prg_json_set_string(o->arena, entry, "fix", fix);
    prg_json_append(o->list, entry);
}

// ---- triggers ----

enum relation { REL_GT, REL_GE, REL_EQ, REL_NE, REL_LE, REL_LT, REL_UNKNOWN };

static enum relation relation_of(const char *text)
{
    static const struct {
        const char *text;
        enum relation relation;
    } known[] = {{"gt", REL_GT}, {">", REL_GT},  {"ge", REL_GE}, {">=", REL_GE}, {"eq", REL_EQ},
                 {"=", REL_EQ},  {"==", REL_EQ}, {"ne", REL_NE}, {"!=", REL_NE}, {"le", REL_LE},
                 {"<=", REL_LE}, {"lt", REL_LT}, {"<", REL_LT}};
    for (size_t i = 0; text && i < PRG_COUNT(known); i++)
        if (strcmp(known[i].text, text) == 0)
            return known[i].relation;
    return REL_UNKNOWN;
}

static bool holds(double value, enum relation relation, double threshold)
{
    bool is_equal = fabs(value - threshold) < 1e-6;
    switch (relation) {
    case REL_GT:
        return value > threshold;
    case REL_GE:
        return value > threshold || is_equal;
    case REL_EQ:
        return is_equal;
    case REL_NE:
        return !is_equal;
    case REL_LE:
        return value < threshold || is_equal;
    case REL_LT:
        return value < threshold;
    case REL_UNKNOWN:
        break;
    }
    return false;
}

struct trigger {
    const char *stage, *part; // "Train", "trainSpec"
    const char *metric;       // as written, or ""
    const char *operator_text;
    enum relation relation;
    double threshold;
    const char *threshold_text;
};

static const char *trigger_field(struct outlook *o, const struct trigger *t, const char *rest)
{
    return prg_arena_printf(o->arena, "/spec/%s/trigger/%s", t->part, rest);
}

static bool is_clock(const char *text)
{
    return text && strlen(text) == 5 && text[0] >= '0' && text[0] <= '2' && text[1] >= '0' && text[1] <= '9' &&
           (text[0] < '2' || text[1] < '4') && text[2] == ':' && text[3] >= '0' && text[3] <= '5' && text[4] >= '0' &&
           text[4] <= '9';
}

static void check_timer(struct outlook *o, const struct trigger *t, const cJSON *timer)
{
    static const char *const ends[] = {"start", "end"};
    for (size_t i = 0; timer && i < PRG_COUNT(ends); i++) {
        const cJSON *node = prg_json_get(timer, ends[i]);
        const char *text = prg_json_text(node);
        if (is_clock(text))
            continue;
        foresee(o, t->stage, NULL, trigger_field(o, t, prg_arena_printf(o->arena, "timer/%s", ends[i])),
                prg_arena_printf(o->arena,
                                 "the edge node compares its local time with '%s' as texts of the form HH:MM, so the "
                                 "time of day is not the one that is meant",
                                 text ? text : prg_json_type_name(node)),
                "write hours and minutes with two digits each, as in \"02:00\"");
    }
}

static bool read_trigger(struct outlook *o, const char *stage, const char *part, struct trigger *ret)
{
    const cJSON *trigger = prg_json_at(o->job, "spec", part, "trigger"),
                *condition = prg_json_get(trigger, "condition");
    const cJSON *threshold = prg_json_get(condition, "threshold");
    const char *metric = prg_json_get_text(condition, "metric"), *relation = prg_json_get_text(condition, "operator");
    *ret = (struct trigger){.stage = stage,
                            .part = part,
                            .metric = metric ? metric : "",
                            .operator_text = relation ? relation : "",
                            .relation = relation_of(relation),
                            .threshold = prg_json_is_number(threshold) ? prg_json_as_double(threshold) : 0,
                            .threshold_text = prg_json_is_number(threshold) ? prg_json_number_text(threshold) : "0"};
    check_timer(o, ret, prg_json_get(trigger, "timer"));
    if (!prg_json_is_object(condition))
        return false;
    if (ret->relation == REL_UNKNOWN)
        foresee(o, stage, NULL, trigger_field(o, ret, "condition/operator"),
                prg_arena_printf(o->arena, "the operator '%s' is unknown to the edge node: the trigger never fires",
                                 ret->operator_text),
                "use one of > >= == != <= <, or gt ge eq ne le lt");
    return ret->relation != REL_UNKNOWN;
}

static void check_train_trigger(struct outlook *o)
{
    static const char only[] = "num_of_samples";
    const cJSON *share = prg_json_at(o->job, "spec", "dataset", "trainProb");
    struct trigger t;
    if (!read_trigger(o, PRG_STAGE_TRAIN, "trainSpec", &t))
        return;
    if (strcmp(t.metric, only) != 0)
        foresee(o, t.stage, NULL, trigger_field(o, &t, "condition/metric"),
                prg_arena_printf(o->arena, "the edge node knows no metric '%s' for training: the trigger never fires",
                                 t.metric),
                "the one metric of training is num_of_samples");
    else if (prg_json_is_number(share) && prg_json_as_double(share) <= 0 && !holds(0, t.relation, t.threshold))
        foresee(o, t.stage, NULL, "/spec/dataset/trainProb",
                "no sample goes to training, so num_of_samples stays 0 and the trigger never fires",
                "give the share of new samples for training, as in 0.8");
}

// ---- what a trigger of Deploy looks at ----

// The list of the metric in the newest evaluation's first model; NULL when nothing is known about it. A delta has as
// many values as the metric it is the difference of.
static const cJSON *metric_values(struct outlook *o, const char *name, bool *ret_is_unknown)
{
    const cJSON *output = prg_conddata_latest(o->arena, o->job, PRG_STAGE_EVAL, PRG_TYPE_COMPLETED, "output");
    const cJSON *metrics = prg_field(prg_json_item(prg_field(output, "models"), 0), "metrics");
    const char *base = name;
    *ret_is_unknown = false;
    if (!prg_json_is_object(metrics))
        return NULL;
    if (prg_text_has_suffix(name, "_delta") && !prg_json_get(metrics, name))
        base = prg_arena_strndup(o->arena, name, strlen(name) - strlen("_delta"));
    const cJSON *values = prg_json_get(metrics, base);
    *ret_is_unknown = !values;
    return values;
}

static void foresee_constant(struct outlook *o, const struct trigger *t)
{
    bool is_true = holds(0, t->relation, t->threshold);
    foresee(o, t->stage, NULL, trigger_field(o, t, "condition/metric"),
            prg_arena_printf(o->arena,
                             "a metric is a list of values, and '%s' without an index counts as 0 on the edge node: "
                             "0 %s %s is always %s, so a new model is %s deployed",
                             t->metric, t->operator_text, t->threshold_text, is_true ? "true" : "false",
                             is_true ? "always" : "never"),
            prg_arena_printf(o->arena, "say which value is meant: \"%s[0]\"", t->metric));
}

// "precision_delta[0]" to name and index. False: there is no index.
static bool split_metric(struct outlook *o, const char *metric, const char **ret_name, int64_t *ret_index)
{
    const char *open = strchr(metric, '[');
    char *end;
    *ret_name = metric;
    if (!open || !prg_text_has_suffix(metric, "]"))
        return false;
    long long index = strtoll(open + 1, &end, 10);
    *ret_name = prg_arena_strndup(o->arena, metric, (size_t)(open - metric));
    *ret_index = index;
    return end != open + 1 && *end == ']';
}

static void check_deploy_trigger(struct outlook *o)
{
    struct trigger t;
    const char *name;
    int64_t index = 0;
    bool is_unknown;
    if (!read_trigger(o, PRG_STAGE_DEPLOY, "deploySpec", &t))
        return;
    if (!split_metric(o, t.metric, &name, &index)) {
        foresee_constant(o, &t);
        return;
    }
    const cJSON *values = metric_values(o, name, &is_unknown);
    if (is_unknown)
        foresee(
            o, t.stage, NULL, trigger_field(o, &t, "condition/metric"),
            prg_arena_printf(o->arena,
                             "the last evaluation reported no metric '%s': as long as that is so, a new model is "
                             "never deployed",
                             name),
            "name a metric that the evaluation worker reports, or its difference to the served model's, NAME_delta");
    else if (values && (index < 0 || (size_t)index >= prg_json_count(values)))
        foresee(o, t.stage, NULL, trigger_field(o, &t, "condition/metric"),
                prg_arena_printf(o->arena, "the last evaluation reported %zu values of '%s', so there is no '%s'",
                                 prg_json_count(values), name, t.metric),
                "the first value is [0]");
}

// ---- Dataset and models ----

static void check_dataset(struct outlook *o)
{
    const char *name = prg_json_get_text(prg_json_at(o->job, "spec", "dataset"), "name");
    const char *ns = prg_meta_namespace(o->job);
    const cJSON *dataset = name ? prg_reader_get(o->store, PRG_SEDNA_GROUP, PRG_KIND_DATASET, ns, name) : NULL;
    const char *object = prg_arena_printf(o->arena, "Dataset/%s", name ? name : "");
    const char *node = prg_json_get_text(prg_json_get(dataset, "spec"), "nodeName");
    const char *format = prg_json_get_text(prg_json_get(dataset, "spec"), "format");
    if (!dataset) {
        foresee(
            o, PRG_STAGE_TRAIN, NULL, "/spec/dataset/name",
            prg_arena_printf(o->arena, "there is no %s in namespace %s: no edge node is told of the job", object, ns),
            "make the Dataset");
        return;
    }
    if (!node || !*node)
        foresee(o, PRG_STAGE_TRAIN, object, "/spec/nodeName",
                "no node watches the samples: no edge node is told of the job", "name the node that holds the file");
    if (format && strcasecmp(format, "txt") != 0 && strcasecmp(format, "csv") != 0)
        foresee(
            o, PRG_STAGE_TRAIN, object, "/spec/format",
            prg_arena_printf(o->arena, "the edge node reads txt and csv, not '%s': it never counts a sample", format),
            "use txt or csv");
}

static const cJSON *check_model(struct outlook *o, const char *stage, const char *part, const char *member,
                                bool is_required)
{
    const cJSON *parent = member ? prg_json_at(o->job, "spec", part, member) : prg_json_at(o->job, "spec", part);
    const char *name = prg_json_get_text(parent, "name"), *ns = prg_meta_namespace(o->job);
    const cJSON *model = name ? prg_reader_get(o->store, PRG_SEDNA_GROUP, PRG_KIND_MODEL, ns, name) : NULL;
    if (!model && (is_required || name))
        foresee(o, stage, NULL,
                prg_arena_printf(o->arena, "/spec/%s%s%s/name", part, member ? "/" : "", member ? member : ""),
                prg_arena_printf(o->arena,
                                 "there is no Model/%s in namespace %s: the edge node waits for it before it "
                                 "reports %s Ready",
                                 name ? name : "", ns, stage),
                "make the Model");
    return model;
}

static const char *format_of(const cJSON *model)
{
    const char *format = prg_json_get_text(prg_json_get(model, "spec"), "format");
    return format ? format : "";
}

// Evaluation needs a trained model of the served model's format; the Local Controller dies without one.
static void check_formats(struct outlook *o, const cJSON *deploy)
{
    const cJSON *models = prg_field(
                    prg_conddata_latest(o->arena, o->job, PRG_STAGE_TRAIN, PRG_TYPE_COMPLETED, "output"), "models"),
                *model;
    const char *wanted = format_of(deploy), *seen = NULL;
    prg_json_each (model, prg_json_is_array(models) ? models : NULL) {
        seen = prg_field_text(model, "format");
        if (prg_text_equal(seen ? seen : "", wanted))
            return;
    }
    if (!deploy || !prg_json_count(models))
        return;
    foresee(o, PRG_STAGE_EVAL, NULL, "/spec/deploySpec/model/name",
            prg_arena_printf(o->arena,
                             "the last training made a model of format '%s', the served model has '%s': the edge node "
                             "cannot evaluate it, and is not told to",
                             seen ? seen : "", wanted),
            "let the training worker report the model in the served model's format");
}

cJSON *prg_learning_outlook(struct prg_arena *arena, const struct prg_reader *store, const cJSON *job)
{
    struct outlook o = {arena, store, job, prg_json_array(arena)};
    check_dataset(&o);
    check_train_trigger(&o);
    (void)check_model(&o, PRG_STAGE_TRAIN, "initialModel", NULL, true);
    const cJSON *deploy = check_model(&o, PRG_STAGE_EVAL, "deploySpec", "model", true);
    (void)check_model(&o, PRG_STAGE_EVAL, "evalSpec", "initialEvalModel", false);
    check_formats(&o, deploy);
    check_deploy_trigger(&o);
    return o.list;
}
