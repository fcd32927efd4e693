// SPDX-License-Identifier: Apache-2.0
// template_exec.c: running a parsed template over the metadata of a service.
//
// Data is ObjectMeta as Go sees it: names are Go's, absent texts are "", absent numbers 0, absent pointers nil; a key
// that a map does not have is nothing at all, which prints as "" and is not equal to "".
#include "serving/template.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum field_type {
    FIELD_TEXT,
    FIELD_UID,
    FIELD_INT,
    FIELD_INT_POINTER,
    FIELD_BOOL_POINTER,
    FIELD_TIME,
    FIELD_TIME_POINTER,
    FIELD_MAP,
    FIELD_TEXTS,
    FIELD_OWNERS,
};
struct field {
    const char *go_name, *name;
    enum field_type type;
};
static const struct field meta_fields[] = {
    {"Name", "name", FIELD_TEXT},
    {"GenerateName", "generateName", FIELD_TEXT},
    {"Namespace", "namespace", FIELD_TEXT},
    {"SelfLink", "selfLink", FIELD_TEXT},
    {"UID", "uid", FIELD_UID},
    {"ResourceVersion", "resourceVersion", FIELD_TEXT},
    {"Generation", "generation", FIELD_INT},
    {"CreationTimestamp", "creationTimestamp", FIELD_TIME},
    {"DeletionTimestamp", "deletionTimestamp", FIELD_TIME_POINTER},
    {"DeletionGracePeriodSeconds", "deletionGracePeriodSeconds", FIELD_INT_POINTER},
    {"Labels", "labels", FIELD_MAP},
    {"Annotations", "annotations", FIELD_MAP},
    {"OwnerReferences", "ownerReferences", FIELD_OWNERS},
    {"Finalizers", "finalizers", FIELD_TEXTS},
};
static const struct field owner_fields[] = {
    {"APIVersion", "apiVersion", FIELD_TEXT},
    {"Kind", "kind", FIELD_TEXT},
    {"Name", "name", FIELD_TEXT},
    {"UID", "uid", FIELD_UID},
    {"Controller", "controller", FIELD_BOOL_POINTER},
    {"BlockOwnerDeletion", "blockOwnerDeletion", FIELD_BOOL_POINTER},
};

#define MAX_LIVE_VARIABLES 512
struct variable {
    const char *name;
    struct value value;
};
struct execution {
    struct template_run *run;
    struct prg_strbuf *out;
    template_emit_fn emit;
    struct variable variables[MAX_LIVE_VARIABLES]; // innermost last
    size_t variable_count;
};

// ---- shared by the parts ----

int template_fail(struct template_run *run, size_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = prg_arena_vprintf(run->arena, format, args);
    va_end(args);
    run->bad_offset = offset;
    return prg_fail(run->err, PRG_INVALID, "%s", text);
}

int template_step(struct template_run *run, size_t offset)
{
    if (++run->steps <= TEMPLATE_MAX_STEPS)
        return PRG_OK;
    run->bad_offset = offset;
    return prg_fail(run->err, PRG_LIMIT, "the placeholders take more than %d steps", TEMPLATE_MAX_STEPS);
}

int template_check_length(struct template_run *run, size_t offset, size_t length)
{
    if (length <= TEMPLATE_MAX_OUTPUT)
        return PRG_OK;
    run->bad_offset = offset;
    return prg_fail(run->err, PRG_LIMIT, "the placeholders make more than %u bytes", TEMPLATE_MAX_OUTPUT);
}

int template_enter(struct template_run *run, size_t offset)
{
    if (++run->depth <= TEMPLATE_MAX_DEPTH)
        return PRG_OK;
    run->bad_offset = offset;
    return prg_fail(run->err, PRG_LIMIT, "blocks and parentheses are nested more than %d deep", TEMPLATE_MAX_DEPTH);
}

void template_leave(struct template_run *run)
{
    run->depth--;
}

struct value value_string(const char *text, size_t length)
{
    return (struct value){.type = VALUE_STRING, .text = text, .length = length, .go_type = "string"};
}

struct value value_int(int64_t number, const char *go_type)
{
    return (struct value){.type = VALUE_INT, .number = number, .go_type = go_type};
}

struct value value_bool(bool truth)
{
    return (struct value){.type = VALUE_BOOL, .number = truth, .go_type = "bool"};
}

bool value_truth(const struct value *value)
{
    if (value->is_pointer)
        return true;
    switch (value->type) {
    case VALUE_NOTHING:
    case VALUE_NIL:
        return false;
    case VALUE_STRING:
        return value->length > 0;
    case VALUE_INT:
    case VALUE_BOOL:
        return value->number != 0;
    case VALUE_MAP:
    case VALUE_STRINGS:
    case VALUE_OWNERS:
        return prg_json_count(value->node) > 0;
    case VALUE_TIME:
    case VALUE_META:
    case VALUE_OWNER:
        break;
    }
    return true;
}

// ---- fields ----

static struct value time_value(struct prg_arena *arena, const cJSON *node)
{
    const char *text = prg_json_text(node);
    char buffer[PRG_CLOCK_TEXT];
    int64_t ns;
    struct value value = {.type = VALUE_TIME, .go_type = "v1.Time"};
    if (!text || !prg_clock_parse(text, &ns)) {
        value.text = "0001-01-01 00:00:00 +0000 UTC";
    } else {
        prg_clock_format(ns, buffer); // 2006-01-02T15:04:05Z
        value.text = prg_arena_printf(arena, "%.10s %.8s +0000 UTC", buffer, buffer + 11);
    }
    value.length = strlen(value.text);
    return value;
}

static struct value list_value(enum value_type type, const cJSON *node, const char *go_type)
{
    return (struct value){.type = type, .node = node, .go_type = go_type};
}

// Of a field that is absent or has another type than the API says: the zero value.
static struct value field_value(struct prg_arena *arena, const struct field *field, const cJSON *object)
{
    const cJSON *node = prg_json_get(object, field->name);
    const struct value nil = {.type = VALUE_NIL, .go_type = "pointer"};
    struct value value;
    int64_t number = 0;
    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_UID:
        value = prg_json_is_string(node) ? value_string(prg_json_text(node), prg_json_text_length(node))
                                         : value_string("", 0);
        value.go_type = field->type == FIELD_UID ? "types.UID" : "string";
        return value;
    case FIELD_INT:
        return value_int(prg_json_int64(node, &number) ? number : 0, "int64");
    case FIELD_INT_POINTER:
        if (!prg_json_int64(node, &number))
            return nil;
        value = value_int(number, "*int64");
        value.is_pointer = true;
        return value;
    case FIELD_BOOL_POINTER:
        if (!prg_json_is_bool(node))
            return nil;
        value = value_bool(prg_json_is_true(node));
        value.is_pointer = true;
        return value;
    case FIELD_TIME:
        return time_value(arena, node);
    case FIELD_TIME_POINTER:
        if (!prg_json_is_string(node))
            return nil;
        value = time_value(arena, node);
        value.go_type = "*v1.Time";
        return value;
    case FIELD_MAP:
        return list_value(VALUE_MAP, prg_json_is_object(node) ? node : NULL, "map[string]string");
    case FIELD_TEXTS:
        return list_value(VALUE_STRINGS, prg_json_is_array(node) ? node : NULL, "[]string");
    case FIELD_OWNERS:
        break;
    }
    return list_value(VALUE_OWNERS, prg_json_is_array(node) ? node : NULL, "[]v1.OwnerReference");
}

static int struct_field(struct execution *x, size_t offset, const struct value *from, const char *name,
                        struct value *ret)
{
    bool is_meta = from->type == VALUE_META;
    const struct field *fields = is_meta ? meta_fields : owner_fields;
    size_t count = is_meta ? PRG_COUNT(meta_fields) : PRG_COUNT(owner_fields);
    struct prg_nearest nearest = {.text = name};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].go_name, name) == 0) {
            *ret = field_value(x->run->arena, &fields[i], from->node);
            return PRG_OK;
        }
    }
    for (size_t i = 0; i < count; i++)
        prg_nearest_offer(&nearest, fields[i].go_name);
    if (nearest.name)
        return template_fail(x->run, offset, "there is no field .%s; did you mean .%s?", name, nearest.name);
    return template_fail(x->run, offset, "there is no field .%s%s", name,
                         is_meta ? " in the metadata of a service (.Name, .Namespace, .Labels.KEY, .Annotations.KEY …)"
                                 : " in an owner reference");
}

static int get_field(struct execution *x, size_t offset, const struct value *from, const char *name, struct value *ret)
{
    const cJSON *node;
    switch (from->type) {
    case VALUE_NOTHING:
        *ret = *from;
        return PRG_OK;
    case VALUE_META:
    case VALUE_OWNER:
        return struct_field(x, offset, from, name, ret);
    case VALUE_MAP:
        node = prg_json_get(from->node, name);
        *ret = prg_json_is_string(node) ? value_string(prg_json_text(node), prg_json_text_length(node))
                                        : (struct value){.type = VALUE_NOTHING};
        return PRG_OK;
    case VALUE_NIL:
        return template_fail(x->run, offset, ".%s of a field that is not set", name);
    case VALUE_TIME:
        return template_fail(x->run, offset, ".%s: fields of a time are not supported in placeholders", name);
    default:
        return template_fail(x->run, offset, "there is no field .%s in a %s", name, from->go_type);
    }
}

static int get_fields(struct execution *x, size_t offset, struct value from, const char *const *names,
                      struct value *ret)
{
    for (; names && *names; names++) {
        int rc = get_field(x, offset, &from, *names, &from);
        if (rc != PRG_OK)
            return rc;
    }
    *ret = from;
    return PRG_OK;
}

// ---- variables ----

static struct variable *find_variable(struct execution *x, const char *name)
{
    for (size_t i = x->variable_count; i-- > 0;)
        if (strcmp(x->variables[i].name, name) == 0)
            return &x->variables[i];
    return NULL;
}

static int push_variable(struct execution *x, size_t offset, const char *name, struct value value)
{
    if (x->variable_count == MAX_LIVE_VARIABLES)
        return template_fail(x->run, offset, "there are more than %d variables", MAX_LIVE_VARIABLES);
    x->variables[x->variable_count++] = (struct variable){name, value};
    return PRG_OK;
}

static int assign_variable(struct execution *x, size_t offset, const char *name, struct value value)
{
    struct variable *variable = find_variable(x, name);
    if (!variable)
        return template_fail(x->run, offset, "the variable %s is not declared here", name);
    variable->value = value;
    return PRG_OK;
}

// ---- pipelines ----

static int eval_pipe(struct execution *x, struct value dot, const struct pipe *pipe, struct value *ret);
static int eval_function(struct execution *x, struct value dot, const struct operand *function,
                         const struct value *piped, struct value *ret);

// An operand as an argument, or as a command of its own.
static int eval_operand(struct execution *x, struct value dot, const struct operand *operand, struct value *ret)
{
    const struct variable *variable;
    int rc = template_step(x->run, operand->offset);
    if (rc != PRG_OK)
        return rc;
    switch (operand->type) {
    case OPERAND_DOT:
        *ret = dot;
        return PRG_OK;
    case OPERAND_NIL:
        *ret = (struct value){.type = VALUE_NOTHING};
        return PRG_OK;
    case OPERAND_BOOL:
        *ret = value_bool(operand->number);
        return PRG_OK;
    case OPERAND_INT:
        *ret = value_int(operand->number, "int");
        return PRG_OK;
    case OPERAND_STRING:
        *ret = value_string(operand->text, operand->length);
        return PRG_OK;
    case OPERAND_FIELD:
        return get_fields(x, operand->offset, dot, operand->names, ret);
    case OPERAND_VARIABLE:
        variable = find_variable(x, operand->text);
        if (!variable)
            return template_fail(x->run, operand->offset, "the variable %s is not declared here", operand->text);
        return get_fields(x, operand->offset, variable->value, operand->names, ret);
    case OPERAND_FUNCTION: {
        struct operand alone = *operand;
        alone.next = NULL;
        return eval_function(x, dot, &alone, NULL, ret);
    }
    case OPERAND_PIPE:
        break;
    }
    rc = eval_pipe(x, dot, operand->pipe, ret);
    return rc == PRG_OK ? get_fields(x, operand->offset, *ret, operand->names, ret) : rc;
}

// and, or: the first argument that decides is the value, and nothing after it is looked at.
static int eval_logic(struct execution *x, struct value dot, const struct operand *function, const struct value *piped,
                      struct value *ret)
{
    bool is_or = strcmp(function->text, "or") == 0;
    if (!function->next && !piped)
        return template_fail(x->run, function->offset, "%s needs an argument", function->text);
    for (const struct operand *o = function->next; o; o = o->next) {
        int rc = eval_operand(x, dot, o, ret);
        if (rc != PRG_OK || value_truth(ret) == is_or)
            return rc;
    }
    if (piped)
        *ret = *piped;
    return PRG_OK;
}

static int eval_function(struct execution *x, struct value dot, const struct operand *function,
                         const struct value *piped, struct value *ret)
{
    struct value arguments[TEMPLATE_MAX_ARGUMENTS + 1];
    size_t count = 0;
    if (strcmp(function->text, "and") == 0 || strcmp(function->text, "or") == 0)
        return eval_logic(x, dot, function, piped, ret);
    for (const struct operand *o = function->next; o; o = o->next) {
        prg_require(count < TEMPLATE_MAX_ARGUMENTS);
        int rc = eval_operand(x, dot, o, &arguments[count++]);
        if (rc != PRG_OK)
            return rc;
    }
    if (piped)
        arguments[count++] = *piped;
    return template_call(x->run, function->offset, function->text, arguments, count, ret);
}

static int eval_command(struct execution *x, struct value dot, const struct command *command, const struct value *piped,
                        struct value *ret)
{
    const struct operand *first = command->operands;
    if (first->type == OPERAND_FUNCTION)
        return eval_function(x, dot, first, piped, ret);
    if (first->next || piped)
        return template_fail(x->run, first->offset, "arguments are given to something that is no function");
    if (first->type == OPERAND_NIL)
        return template_fail(x->run, first->offset, "nil alone is no value");
    return eval_operand(x, dot, first, ret);
}

static int eval_pipe(struct execution *x, struct value dot, const struct pipe *pipe, struct value *ret)
{
    struct value value = {.type = VALUE_NOTHING};
    int rc = template_enter(x->run, pipe->offset);
    for (const struct command *c = pipe->commands; c && rc == PRG_OK; c = c->next) {
        struct value result = {.type = VALUE_NOTHING};
        rc = eval_command(x, dot, c, c == pipe->commands ? NULL : &value, &result);
        value = result;
    }
    for (unsigned i = 0; i < pipe->variable_count && rc == PRG_OK; i++)
        rc = pipe->is_assign ? assign_variable(x, pipe->offset, pipe->variables[i], value)
                             : push_variable(x, pipe->offset, pipe->variables[i], value);
    template_leave(x->run);
    *ret = value;
    return rc;
}

// ---- blocks ----

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

static int walk(struct execution *x, struct value dot, const struct node *nodes, enum flow *ret_flow);

static int print_action(struct execution *x, const struct node *node, const struct value *value)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    int rc = value_print(x->run, node->offset, value, &text);
    if (rc == PRG_OK)
        x->emit(x->out, text.text, text.length);
    return rc;
}

// Sets the variables of a range for one element: with one variable the element, with two the key and the element.
static int set_range_variables(struct execution *x, const struct node *node, size_t base, const struct value *key,
                               const struct value *element)
{
    const struct pipe *pipe = node->pipe;
    const struct value *given[2] = {pipe->variable_count == 2 ? key : element, element};
    for (unsigned i = 0; i < pipe->variable_count && i < PRG_COUNT(given); i++) {
        if (!pipe->is_assign) {
            x->variables[base + i].value = *given[i];
            continue;
        }
        int rc = assign_variable(x, node->offset, pipe->variables[i], *given[i]);
        if (rc != PRG_OK)
            return rc;
    }
    return PRG_OK;
}

static int iterate(struct execution *x, const struct node *node, size_t base, struct value key, struct value element,
                   enum flow *ret_flow)
{
    size_t mark = x->variable_count;
    int rc = template_step(x->run, node->offset);
    if (rc == PRG_OK)
        rc = set_range_variables(x, node, base, &key, &element);
    *ret_flow = FLOW_ON;
    if (rc == PRG_OK)
        rc = walk(x, element, node->body, ret_flow);
    x->variable_count = mark;
    return rc;
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

const cJSON **template_sorted_members(struct prg_arena *arena, const cJSON *object, size_t *ret_count)
{
    size_t count = 0;
    const cJSON **members = prg_arena_array(arena, const cJSON *, prg_json_count(object) + 1), *member;
    prg_json_each (member, object) {
        members[count++] = member;
    }
    qsort(members, count, sizeof(const cJSON *), by_key); // keys are unique: no ties
    *ret_count = count;
    return members;
}

static int range_over(struct execution *x, const struct node *node, const struct value *over, size_t base,
                      bool *ret_any)
{
    enum flow flow = FLOW_ON;
    int rc = PRG_OK;
    *ret_any = false;
    if (over->type == VALUE_MAP) {
        size_t count;
        const cJSON **members = template_sorted_members(x->run->arena, over->node, &count);
        for (size_t i = 0; i < count && rc == PRG_OK && flow != FLOW_BREAK; i++) {
            const cJSON *m = members[i];
            *ret_any = true;
            rc = iterate(x, node, base, value_string(m->string, strlen(m->string)),
                         prg_json_is_string(m) ? value_string(prg_json_text(m), prg_json_text_length(m))
                                               : value_string("", 0),
                         &flow);
        }
        return rc;
    }
    if (over->type == VALUE_STRINGS || over->type == VALUE_OWNERS) {
        const cJSON *item;
        int64_t index = 0;
        prg_json_each (item, over->node) {
            struct value element = {.type = VALUE_OWNER, .node = item, .go_type = "v1.OwnerReference"};
            if (over->type == VALUE_STRINGS)
                element = prg_json_is_string(item) ? value_string(prg_json_text(item), prg_json_text_length(item))
                                                   : value_string("", 0);
            *ret_any = true;
            rc = iterate(x, node, base, value_int(index++, "int"), element, &flow);
            if (rc != PRG_OK || flow == FLOW_BREAK)
                break;
        }
        return rc;
    }
    if (over->type == VALUE_INT && !over->is_pointer) {
        if (node->pipe->variable_count > 1)
            return template_fail(x->run, node->offset, "a range over a number has one variable");
        for (int64_t i = 0; i < over->number && rc == PRG_OK && flow != FLOW_BREAK; i++) {
            *ret_any = true;
            rc = iterate(x, node, base, value_int(i, over->go_type), value_int(i, over->go_type), &flow);
        }
        return rc;
    }
    if (over->type == VALUE_NOTHING)
        return PRG_OK;
    return template_fail(x->run, node->offset, "range goes over maps and lists, not over a %s", over->go_type);
}

static int walk_block(struct execution *x, struct value dot, const struct node *node, enum flow *ret_flow)
{
    size_t mark = x->variable_count;
    struct value value;
    int rc = template_enter(x->run, node->offset);
    if (rc == PRG_OK)
        rc = eval_pipe(x, dot, node->pipe, &value);
    if (rc == PRG_OK && node->type == NODE_RANGE) {
        bool any;
        rc = range_over(x, node, &value, mark, &any);
        if (rc == PRG_OK && !any)
            rc = walk(x, dot, node->otherwise, ret_flow);
    } else if (rc == PRG_OK) {
        bool is_true = value_truth(&value);
        rc =
            walk(x, is_true && node->type == NODE_WITH ? value : dot, is_true ? node->body : node->otherwise, ret_flow);
    }
    template_leave(x->run);
    x->variable_count = mark;
    return rc;
}

static int walk_node(struct execution *x, struct value dot, const struct node *node, enum flow *ret_flow)
{
    struct value value;
    int rc;
    switch (node->type) {
    case NODE_TEXT:
        prg_strbuf_add(x->out, node->text, node->length);
        return PRG_OK;
    case NODE_ACTION:
        rc = eval_pipe(x, dot, node->pipe, &value);
        if (rc == PRG_OK && node->pipe->variable_count == 0)
            rc = print_action(x, node, &value);
        return rc;
    case NODE_BREAK:
        *ret_flow = FLOW_BREAK;
        return PRG_OK;
    case NODE_CONTINUE:
        *ret_flow = FLOW_CONTINUE;
        return PRG_OK;
    case NODE_IF:
    case NODE_WITH:
    case NODE_RANGE:
        break;
    }
    return walk_block(x, dot, node, ret_flow);
}

static int walk(struct execution *x, struct value dot, const struct node *nodes, enum flow *ret_flow)
{
    for (const struct node *node = nodes; node && *ret_flow == FLOW_ON; node = node->next) {
        int rc = template_step(x->run, node->offset);
        if (rc == PRG_OK)
            rc = walk_node(x, dot, node, ret_flow);
        if (rc == PRG_OK)
            rc = template_check_length(x->run, node->offset, x->out->length);
        if (rc != PRG_OK)
            return rc;
    }
    return PRG_OK;
}

int template_execute(struct template_run *run, const struct node *nodes, const cJSON *metadata, template_emit_fn emit,
                     struct prg_strbuf *out)
{
    struct execution *x = prg_arena_new(run->arena, struct execution);
    struct value dot = {.type = VALUE_META, .node = metadata, .go_type = "v1.ObjectMeta"};
    enum flow flow = FLOW_ON;
    x->run = run;
    x->out = out;
    x->emit = emit;
    run->depth = 0;
    int rc = push_variable(x, 0, "$", dot);
    return rc == PRG_OK ? walk(x, dot, nodes, &flow) : rc;
}
