// SPDX-License-Identifier: Apache-2.0
// decodable.c: a walk along the schema tables that is as strict as Go's decoder: number formats and ranges, times,
// quantities, and keys in any letter case.
#include "edge/decodable.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "object/quantity.h"
#include "json/pointer.h"
#include "json/schematable.h"

// Field types of sedna.io/v1alpha1. One field a line.
// clang-format off
#define F_NUMBER(name, flags) F_SCALAR(name, flags, PRG_KIND_NUMBER)

static const struct prg_schema_field reference_fields[] = {
    F_STRING("name", REQUIRED),
};
static SCHEMA(reference, "Reference");

static const struct prg_schema_field timer_fields[] = {
    F_STRING("end", REQUIRED),
    F_STRING("start", REQUIRED),
};
static SCHEMA(timer, "Timer");

static const struct prg_schema_field trigger_condition_fields[] = {
    F_STRING("metric", REQUIRED),
    F_STRING("operator", REQUIRED),
    F_NUMBER("threshold", REQUIRED),
};
static SCHEMA(trigger_condition, "Condition");

static const struct prg_schema_field trigger_fields[] = {
    F_INT("checkPeriodSeconds", 0),
    F_OBJECT("condition", REQUIRED, trigger_condition),
    F_OBJECT("timer", 0, timer),
};
static SCHEMA(trigger, "Trigger");

static const struct prg_schema_field job_dataset_fields[] = {
    F_STRING("name", REQUIRED),
    F_NUMBER("trainProb", REQUIRED),
};
static SCHEMA(job_dataset, "ILDataset");

static const struct prg_schema_field train_spec_fields[] = {
    F_ANY("template", REQUIRED),
    F_OBJECT("trigger", REQUIRED, trigger),
};
static SCHEMA(train_spec, "ILTrainSpec");

static const struct prg_schema_field eval_spec_fields[] = {
    F_OBJECT("initialEvalModel", 0, reference),
    F_ANY("template", REQUIRED),
};
static SCHEMA(eval_spec, "ILEvalSpec");

static const struct prg_schema_field deploy_model_fields[] = {
    F_BOOL("hotUpdateEnabled", 0),
    F_STRING("name", REQUIRED),
    F_INT("pollPeriodSeconds", 0),
};
static SCHEMA(deploy_model, "DeployModel");

static const struct prg_schema_field parameter_fields[] = {
    F_STRING("key", REQUIRED),
    F_STRING("value", REQUIRED),
};
static SCHEMA(parameter, "ParaSpec");

static const struct prg_schema_field mining_fields[] = {
    F_STRING("name", REQUIRED),
    F_OBJECTS("parameters", 0, parameter, NULL),
};
static SCHEMA(mining, "HardExampleMining");

static const struct prg_schema_field deploy_spec_fields[] = {
    F_OBJECT("hardExampleMining", REQUIRED, mining),
    F_OBJECT("model", REQUIRED, deploy_model),
    F_ANY("template", REQUIRED),
    F_OBJECT("trigger", REQUIRED, trigger),
};
static SCHEMA(deploy_spec, "ILDeploySpec");

static const struct prg_schema_field job_spec_fields[] = {
    F_STRING("credentialName", 0),
    F_OBJECT("dataset", REQUIRED, job_dataset),
    F_OBJECT("deploySpec", REQUIRED, deploy_spec),
    F_OBJECT("evalSpec", REQUIRED, eval_spec),
    F_OBJECT("initialModel", REQUIRED, reference),
    F_STRING("outputDir", REQUIRED),
    F_OBJECT("trainSpec", REQUIRED, train_spec),
};
static SCHEMA(job_spec, "ILJobSpec");

static const struct prg_schema_field condition_fields[] = {
    F_STRING("data", 0),
    F_TIME("lastHeartbeatTime", 0),
    F_TIME("lastTransitionTime", 0),
    F_STRING("message", 0),
    F_STRING("reason", 0),
    F_STRING("stage", REQUIRED),
    F_STRING("status", REQUIRED),
    F_STRING("type", REQUIRED),
};
static SCHEMA(condition, "ILJobCondition");

static const struct prg_schema_field job_status_fields[] = {
    F_TIME("completionTime", 0),
    F_OBJECTS("conditions", 0, condition, NULL),
    F_TIME("startTime", 0),
};
static SCHEMA(job_status, "ILJobStatus");

static const struct prg_schema_field edge_job_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", REQUIRED, job_spec),
    F_OBJECT("status", 0, job_status),
};
SCHEMA(edge_job, "IncrementalLearningJob");

static const struct prg_schema_field dataset_spec_fields[] = {
    F_STRING("credentialName", 0),
    F_STRING("format", REQUIRED),
    F_STRING("nodeName", REQUIRED),
    F_STRING("url", REQUIRED),
};
static SCHEMA(dataset_spec, "DatasetSpec");

static const struct prg_schema_field dataset_status_fields[] = {
    F_INT("numberOfSamples", REQUIRED),
    F_TIME("updateTime", 0),
};
static SCHEMA(dataset_status, "DatasetStatus");

static const struct prg_schema_field edge_dataset_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", REQUIRED, dataset_spec),
    F_OBJECT("status", 0, dataset_status),
};
SCHEMA(edge_dataset, "Dataset");

static const struct prg_schema_field model_spec_fields[] = {
    F_STRING("credentialName", 0),
    F_LIST("device_soc_versions", 0, STRING),
    F_STRING("format", REQUIRED),
    F_STRING("url", REQUIRED),
};
static SCHEMA(model_spec, "ModelSpec");

static const struct prg_schema_field metric_fields[] = {
    F_STRING("key", REQUIRED),
    F_STRING("value", REQUIRED),
};
static SCHEMA(metric, "Metric");

static const struct prg_schema_field model_status_fields[] = {
    F_OBJECTS("metrics", 0, metric, NULL),
    F_TIME("updateTime", 0),
};
static SCHEMA(model_status, "ModelStatus");

static const struct prg_schema_field edge_model_fields[] = {
    F_STRING("apiVersion", 0),
    F_STRING("kind", 0),
    F_OBJECT("metadata", 0, object_meta),
    F_OBJECT("spec", REQUIRED, model_spec),
    F_OBJECT("status", 0, model_status),
};
SCHEMA(edge_model, "Model");
// clang-format on

// ---- the walk ----

struct walk {
    struct prg_arena *arena;
    struct prg_strbuf pointer;
    const char *problem;
    bool is_foreign; // a pod template: newer fields than those of the table stay, and integers may be int32 in Go
};

static void object(struct walk *walk, const struct prg_schema *schema, cJSON *node);

static void complain(struct walk *walk, const char *wanted, const cJSON *node)
{
    const char *text = prg_json_text(node) ? prg_json_text(node) : prg_json_number_text(node);
    if (!walk->problem)
        walk->problem =
            text ? prg_arena_printf(walk->arena, "%s: must be %s, not '%.80s'", walk->pointer.text, wanted, text)
                 : prg_arena_printf(walk->arena, "%s: must be %s, not %s", walk->pointer.text, wanted,
                                    prg_json_type_name(node));
}

// Go reads "3.0" and "1e2" as no integer, and nothing beyond int64.
static bool is_whole(const cJSON *node)
{
    const char *text = prg_json_number_text(node);
    int64_t value;
    return text && !strpbrk(text, ".eE") && prg_json_int64(node, &value);
}

static bool is_int32(const cJSON *node)
{
    int64_t value;
    return is_whole(node) && prg_json_int64(node, &value) && value >= INT32_MIN && value <= INT32_MAX;
}

static void scalar(struct walk *walk, enum prg_schema_kind kind, const cJSON *node)
{
    struct prg_quantity quantity;
    int64_t ns;
    switch (kind) {
    case PRG_KIND_STRING:
        if (!prg_json_is_string(node))
            complain(walk, "a text", node);
        break;
    case PRG_KIND_INT:
        if (walk->is_foreign ? !is_int32(node) : !is_whole(node))
            complain(walk, "a whole number", node);
        break;
    case PRG_KIND_BOOL:
        if (!prg_json_is_bool(node))
            complain(walk, "true or false", node);
        break;
    case PRG_KIND_NUMBER:
        if (!prg_json_is_number(node) || !isfinite(prg_json_as_double(node)))
            complain(walk, "a number", node);
        break;
    case PRG_KIND_QUANTITY:
        if (prg_quantity_of(node, &quantity, NULL) != PRG_OK)
            complain(walk, "a quantity", node);
        break;
    case PRG_KIND_INTORSTRING:
        if (!prg_json_is_string(node) && !is_int32(node))
            complain(walk, "a whole number or a text", node);
        break;
    case PRG_KIND_TIME:
        if (!prg_json_is_string(node) || !prg_clock_parse(prg_json_text(node), &ns))
            complain(walk, "a time", node);
        break;
    default:
        break;
    }
}

// field describes node itself, or its element.
static void value(struct walk *walk, const struct prg_schema_field *field, enum prg_schema_kind kind, cJSON *node)
{
    size_t length = walk->pointer.length, index = 0;
    cJSON *item;
    if (prg_json_is_null(node))
        return;
    switch (kind) {
    case PRG_KIND_OBJECT:
        if (!prg_json_is_object(node))
            complain(walk, "an object", node);
        else if (field->type)
            object(walk, field->type, node);
        break;
    case PRG_KIND_MAP:
    case PRG_KIND_LIST:
        if (kind == PRG_KIND_MAP ? !prg_json_is_object(node) : !prg_json_is_array(node)) {
            complain(walk, kind == PRG_KIND_MAP ? "an object" : "a list", node);
            break;
        }
        prg_json_each (item, node) {
            if (kind == PRG_KIND_MAP)
                prg_pointer_push(&walk->pointer, item->string);
            else
                prg_pointer_push_index(&walk->pointer, index++);
            value(walk, field, field->element, item);
            prg_strbuf_truncate(&walk->pointer, length);
        }
        break;
    default:
        scalar(walk, kind, node);
    }
}

// Whether Go would take key for a field of the schema that is spelled otherwise. It folds more than ASCII.
static bool is_taken_for_a_field(const struct prg_schema *schema, const char *key)
{
    for (const char *c = key; *c; c++)
        if ((unsigned char)*c >= 0x80)
            return true;
    for (; schema; schema = schema->inlined)
        for (size_t i = 0; i < schema->count; i++)
            if (strcasecmp(schema->fields[i].name, key) == 0)
                return true;
    return false;
}

static void object(struct walk *walk, const struct prg_schema *schema, cJSON *node)
{
    size_t length = walk->pointer.length;
    cJSON *member, *next;
    for (member = node->child; member; member = next) {
        const struct prg_schema_field *field = prg_schema_find(schema, member->string);
        next = member->next;
        if (!field) {
            if (!walk->is_foreign || is_taken_for_a_field(schema, member->string))
                prg_json_detach(node, member);
            continue;
        }
        prg_pointer_push(&walk->pointer, member->string);
        value(walk, field, field->kind, member);
        prg_strbuf_truncate(&walk->pointer, length);
    }
}

const char *prg_decodable(struct prg_arena *arena, const struct prg_schema *schema, cJSON *node)
{
    struct walk walk = {.arena = arena, .pointer = PRG_STRBUF_INIT, .is_foreign = schema == &prg_schema_pod_template};
    if (prg_json_is_object(node))
        object(&walk, schema, node);
    else
        walk.problem = "must be an object";
    prg_strbuf_release(&walk.pointer);
    return walk.problem;
}
