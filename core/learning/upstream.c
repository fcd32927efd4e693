// SPDX-License-Identifier: Apache-2.0
// upstream.c: reports of edge nodes. Source: upstream.go of Sedna's incremental learning and dataset controllers.
#include "learning/upstream.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "learning/conddata.h"
#include "learning/names.h"
#include "learning/stage.h"
#include "learning/status.h"

struct reported {
    const char *stage, *type;
    cJSON *data;
};

static const char *known_word(const char *const (*words)[2], size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(words[i][0], word) == 0)
            return words[i][1];
    return NULL;
}

static int read_word(const cJSON *content, const char *field, const char **ret, struct prg_error *err)
{
    const cJSON *node = prg_field(content, field);
    *ret = "";
    if (!node)
        return PRG_OK;
    if (!prg_json_is_string(node))
        return prg_fail(err, PRG_INVALID, "/%s: must be a text, not %s", field, prg_json_type_name(node));
    *ret = prg_json_text(node);
    if (strlen(*ret) != prg_json_text_length(node))
        return prg_fail(err, PRG_INVALID, "/%s: holds a NUL character", field);
    return PRG_OK;
}

static int read_report(struct prg_arena *arena, const cJSON *content, struct reported *ret, struct prg_error *err)
{
    static const char *const stages[][2] = {
        {"train", PRG_STAGE_TRAIN}, {"eval", PRG_STAGE_EVAL}, {"deploy", PRG_STAGE_DEPLOY}};
    static const char *const types[][2] = {{"ready", PRG_TYPE_READY},
                                           {"completed", PRG_TYPE_COMPLETED},
                                           {"failed", PRG_TYPE_FAILED},
                                           {"waiting", PRG_TYPE_WAITING}};
    const char *phase, *status;
    if (content && !prg_json_is_object(content) && !prg_json_is_null(content))
        return prg_fail(err, PRG_INVALID, "the content must be an object, not %s", prg_json_type_name(content));
    if (read_word(content, "phase", &phase, err) != PRG_OK || read_word(content, "status", &status, err) != PRG_OK ||
        prg_conddata_normalise(arena, content, &ret->data, err) != PRG_OK)
        return err ? err->code : PRG_INVALID;
    ret->stage = known_word(stages, PRG_COUNT(stages), phase);
    if (!ret->stage)
        return prg_fail(err, PRG_INVALID, "invalid condition stage: %s", phase);
    ret->type = known_word(types, PRG_COUNT(types), status);
    if (!ret->type)
        return prg_fail(err, PRG_INVALID, "invalid condition type: %s", status);
    return PRG_OK;
}

int prg_learning_report_check(struct prg_arena *arena, const cJSON *content, struct prg_error *err)
{
    struct reported reported = {0};
    return read_report(arena, content, &reported, err);
}

static int ask_policy(struct prg_arena *arena, const struct prg_learning_report *report,
                      const struct reported *reported, const struct prg_decider *decide,
                      struct prg_learning_verdict *ret, struct prg_error *err)
{
    char now[PRG_CLOCK_TEXT];
    cJSON *told = prg_json_object(arena);
    struct prg_decision_context context = {
        .arena = arena, .service = report->job, .config = prg_json_object(arena), .compat = prg_json_object(arena)};
    prg_json_set_string(arena, told, "stage", reported->stage);
    prg_json_set_string(arena, told, "type", reported->type);
    prg_json_set(arena, told, "data", prg_json_copy(arena, reported->data));
    int rc = decide->begin(decide->ctx, &context, err);
    if (rc != PRG_OK)
        return rc;
    cJSON *input = prg_stage_input(arena, report->store, report->job, prg_clock_format(report->now_ns, now));
    rc = decide->stage_report(decide->ctx, input, told, &ret->is_accepted, &ret->reason, &ret->source, err);
    decide->end(decide->ctx);
    return rc;
}

int prg_learning_report(struct prg_arena *arena, const struct prg_learning_report *report,
                        const struct prg_decider *decide, struct prg_learning_verdict *ret, struct prg_error *err)
{
    struct reported reported = {0};
    char now[PRG_CLOCK_TEXT];
    *ret = (struct prg_learning_verdict){0};
    int rc = read_report(arena, report->content, &reported, err);
    if (rc != PRG_OK)
        return rc;
    ret->stage = reported.stage;
    ret->type = reported.type;
    rc = ask_policy(arena, report, &reported, decide, ret, err);
    if (rc != PRG_OK || !ret->is_accepted)
        return rc;
    ret->job = prg_json_copy(arena, report->job);
    prg_job_condition_append(arena, ret->job,
                             prg_job_condition_new(arena, reported.stage, reported.type, NULL, PRG_MESSAGE_REPORTED,
                                                   prg_json_print_arena(arena, reported.data, PRG_JSON_ESCAPE_HTML),
                                                   prg_clock_format(report->now_ns, now)));
    return PRG_OK;
}

int prg_dataset_report(struct prg_arena *arena, const cJSON *dataset, const cJSON *content, int64_t now_ns, cJSON **ret,
                       struct prg_error *err)
{
    const cJSON *samples = prg_field(content, "numberOfSamples");
    char now[PRG_CLOCK_TEXT];
    int64_t count = 0;
    if (content && !prg_json_is_object(content) && !prg_json_is_null(content))
        return prg_fail(err, PRG_INVALID, "the content must be an object, not %s", prg_json_type_name(content));
    if (samples && !prg_json_int64(samples, &count)) {
        const char *number = prg_json_number_text(samples);
        return prg_fail(err, PRG_INVALID, "/numberOfSamples: must be a whole number of 64 bits, not %.40s",
                        number ? number : prg_json_type_name(samples));
    }
    cJSON *object = prg_json_copy(arena, dataset), *status = prg_json_object(arena);
    prg_json_set_int(arena, status, "numberOfSamples", count);
    prg_json_set_string(arena, status, "updateTime", prg_clock_format(now_ns, now));
    prg_json_set(arena, object, "status", status);
    *ret = object;
    return PRG_OK;
}
