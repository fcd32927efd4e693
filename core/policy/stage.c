// SPDX-License-Identifier: Apache-2.0
// stage.c: the decisions of il_stage: what a learning job does next, and whether an edge node's report counts.
#include <string.h>

#include "policy/convert.h"
#include "policy/sandbox.h"
#include "policy/set.h"
#include "policy/view.h"

struct stage_question {
    struct prg_policy_set *set;
    const struct prg_policy_file *file;
    int function;
    const cJSON *input, *report; // report: only of `report`
    bool is_answered;
    // answers
    cJSON *decision;
    bool is_accepted;
    const char *reason;
};

// ---- transit ----

struct field {
    const char *name;
    enum { FIELD_TEXT, FIELD_TEXTS, FIELD_SECONDS, FIELD_COUNT, FIELD_OBJECT } kind;
};
static const struct field fields[] = {
    {"stage", FIELD_TEXT},    {"type", FIELD_TEXT}, {"actions", FIELD_TEXTS}, {"reason", FIELD_TEXT},
    {"after", FIELD_SECONDS}, {"note", FIELD_TEXT}, {"data", FIELD_OBJECT},   {"keep", FIELD_COUNT},
};

static bool has_kind(const cJSON *value, int kind)
{
    int64_t number;
    const cJSON *item;
    switch (kind) {
    case FIELD_TEXT:
        return prg_json_is_string(value);
    case FIELD_SECONDS:
        return prg_json_is_number(value) && prg_json_as_double(value) >= 0;
    case FIELD_COUNT:
        return prg_json_int64(value, &number) && number >= 0;
    case FIELD_OBJECT:
        return prg_json_is_object(value);
    default:
        prg_json_each (item, prg_json_is_array(value) ? value : NULL)
            if (!prg_json_is_string(item))
                return false;
        return prg_json_is_array(value) || (prg_json_is_object(value) && !value->child);
    }
}

static void check_decision(lua_State *L, const cJSON *decision)
{
    static const char *const wanted[] = {"a text", "a list of texts", "seconds, a number from 0 on",
                                         "a whole number from 0 on", "a table with texts as keys"};
    const cJSON *item;
    prg_json_each (item, decision) {
        size_t i = 0;
        while (i < PRG_COUNT(fields) && strcmp(fields[i].name, item->string) != 0)
            i++;
        if (i == PRG_COUNT(fields))
            prg_vm_raise(L, 0,
                         "answer /%.100s: the fields are stage, type, actions, reason, after, note, data and keep",
                         item->string);
        if (!has_kind(item, (int)fields[i].kind))
            prg_vm_raise(L, 0, "answer /%s: must be %s, not %s", item->string, wanted[fields[i].kind],
                         prg_json_type_name(item));
    }
    if (!prg_json_get(decision, "stage") != !prg_json_get(decision, "type"))
        prg_vm_raise(L, 0, "answer: stage and type go together; without both no condition is written");
}

static void read_transit(lua_State *L, struct stage_question *q)
{
    q->is_answered = !lua_isnil(L, 1);
    if (!q->is_answered)
        return;
    q->decision = prg_convert(L, 1, q->set->context->arena, PRG_SHAPE_OBJECT, "answer");
    check_decision(L, q->decision);
}

static void read_report(lua_State *L, struct stage_question *q)
{
    q->is_answered = !lua_isnil(L, 1);
    if (q->is_answered && !lua_isboolean(L, 1))
        prg_vm_raise(L, 0, "the answer must be true, false or nil, not %s", prg_base_answer_name(L, 1));
    q->is_accepted = lua_toboolean(L, 1);
    q->reason = prg_convert_text(L, 2, "the reason");
}

// ---- asking ----

static int ask_protected(lua_State *L)
{
    struct stage_question *q = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_checkstack(L, 20, "policy");
    prg_policy_file_push_function(L, q->file, q->function);
    prg_view_push(L, q->input);
    if (q->report)
        prg_view_push(L, q->report);
    lua_call(L, q->report ? 2 : 1, 2);
    if (q->report)
        read_report(L, q);
    else
        read_transit(L, q);
    return 0;
}

// "No opinion" on a report asks the next layer; a transition of nil is an answer: the job stays where it is.
static int ask(struct stage_question *q, struct prg_policy_source *source, struct prg_error *err)
{
    int layer = 0;
    if (source)
        *source = (struct prg_policy_source){0};
    if (!q->set->context)
        return prg_fail(err, PRG_POLICY, "policy il_stage was asked outside a plan");
    while ((q->file = prg_set_find(q->set, PRG_POLICY_IL_STAGE, q->function, layer, &layer))) {
        if (prg_set_call(q->set, q->file, q->function, ask_protected, q, &q->is_answered, err) != PRG_OK)
            return prg_set_wrap(q->file, q->function, err);
        if (q->is_answered || !q->report) {
            prg_set_fill_source(q->set, q->file, q->function, source);
            return PRG_OK;
        }
        layer++;
    }
    return PRG_OK;
}

int prg_set_stage_transit(void *ctx, const cJSON *input, cJSON **ret, struct prg_policy_source *source,
                          struct prg_error *err)
{
    struct stage_question q = {.set = ctx, .function = PRG_FN_TRANSIT, .input = input};
    int rc = ask(&q, source, err);
    if (rc == PRG_OK)
        *ret = q.decision;
    return rc;
}

int prg_set_stage_report(void *ctx, const cJSON *input, const cJSON *report, bool *ret_accepted,
                         const char **ret_reason, struct prg_policy_source *source, struct prg_error *err)
{
    struct stage_question q = {
        .set = ctx, .function = PRG_FN_REPORT, .input = input, .report = report, .is_accepted = true};
    int rc = ask(&q, source, err);
    if (rc != PRG_OK)
        return rc;
    *ret_accepted = q.is_accepted;
    if (ret_reason)
        *ret_reason = q.reason;
    return PRG_OK;
}
