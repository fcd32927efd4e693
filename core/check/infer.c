// SPDX-License-Identifier: Apache-2.0
// infer.c: types of expressions, from what is declared: contracts give the parameters of a policy's functions, schema
// tables the fields of objects, annotations everything else.
//
// A local has the type that all values it gets have in common; a parameter of a local function that is only ever called
// that of its arguments. Both need the whole file, so the file is walked a few times, and only the last walk reports.
// Where values differ nothing is known and nothing is said: a correct policy is never complained about.
#include "check/infer.h"

#include <string.h>

enum { PASSES = 4, ARGUMENTS = 16 };

struct infer {
    struct prg_arena *arena;
    struct prg_types *types;
    struct prg_lua_tree *tree;
    const struct prg_infer_input *input;
    const struct prg_type *policy;      // class of the contract, or NULL
    const struct prg_type *options;     // class of M.options; NULL: not known
    bool has_options;                   // the file declares some
    const struct prg_lua_local *module; // the local that the file returns, or NULL
    struct prg_map assigned;            // globals that the file sets
    struct prg_vec names;               // const char *: of locals, for suggestions; empty: not listed yet
    struct prg_lua_node *function;      // the innermost one, for its returns; NULL: the file itself
    bool is_dynamic;                    // the table gets fields whose names are not written down
    size_t answered;                    // functions of the contract that it has
    bool reporting;
};

static const struct prg_type *expression(struct infer *in, struct prg_lua_node *node);
static void block(struct infer *in, struct prg_lua_node *statements);

// ---- reports ----

static void report(struct infer *in, const struct prg_lua_node *node, bool is_warning, const char *rule,
                   const char *format, ...) PRG_PRINTF(5, 6);
static void report(struct infer *in, const struct prg_lua_node *node, bool is_warning, const char *rule,
                   const char *format, ...)
{
    va_list args;
    if (!in->reporting)
        return;
    va_start(args, format);
    const char *message = prg_arena_vprintf(in->arena, format, args);
    va_end(args);
    in->input->report(node, is_warning, rule, message, in->input->ctx);
}

static const char *text_of(struct infer *in, const struct prg_lua_node *node)
{
    return prg_arena_strndup(in->arena, node->text, node->length);
}

static bool is_text(const struct prg_lua_node *node, const char *text)
{
    return node && node->length == strlen(text) && memcmp(node->text, text, node->length) == 0;
}

static bool is_constant(const struct prg_lua_node *node)
{
    return node && node->kind == PRG_LUA_STRING && node->is_plain && memchr(node->text, '\0', node->length) == NULL;
}

// ---- fields ----

static void report_field(struct infer *in, const struct prg_lua_node *key, const struct prg_type *type)
{
    const char *name = text_of(in, key), *nearest = prg_types_nearest(in->types, type, name);
    if (type->kind == PRG_TYPE_LIST)
        report(in, key, false, "undefined-field", "a list has no field '%s'; take an item of it first", name);
    else if (type == in->options && !in->has_options)
        report(in, key, false, "undefined-field", "there is no option '%s': the file declares none (M.options)", name);
    else
        report(in, key, false, "undefined-field", "%s has no %s '%s'%s%s%s", prg_types_name(type),
               type == in->options ? "option" : "field", name, nearest ? "; did you mean '" : "",
               nearest ? nearest : "", nearest ? "'?" : "");
}

// Type of object[key]; reports a field that is not there.
static const struct prg_type *field_of(struct infer *in, const struct prg_type *type, const struct prg_lua_node *key)
{
    type = prg_types_resolve(in->types, type);
    if (!is_constant(key))
        return prg_types_element(in->types, type);
    const struct prg_type *found = prg_types_field(in->types, type, text_of(in, key));
    if (found)
        return prg_types_resolve(in->types, found);
    report_field(in, key, type);
    return &prg_type_any;
}

// ---- names ----

static bool is_stock_name(const char *name)
{
    static const char *const names[] = {
        "collectgarbage", "coroutine", "debug",  "dofile",  "getmetatable", "io",     "load",   "loadfile",
        "loadstring",     "module",    "os",     "package", "rawequal",     "rawget", "rawlen", "rawset",
        "require",        "unpack",    "xpcall", "_G",      "getfenv",      "setfenv"};
    for (size_t i = 0; i < PRG_COUNT(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

// Each name of a local once.
static void list_names(struct infer *in)
{
    struct prg_map seen;
    prg_map_init(&seen);
    for (const struct prg_lua_local *local = in->tree->locals; local; local = local->previous) {
        const char *name = prg_arena_strndup(in->arena, local->name, local->length);
        if (!prg_map_put(&seen, name, in))
            prg_vec_push(&in->names, (void *)(uintptr_t)name);
    }
    prg_map_release(&seen);
}

static const char *nearest_name(struct infer *in, const char *name)
{
    struct prg_nearest nearest = {.text = name};
    const struct prg_map_entry *entry;
    if (!in->reporting)
        return NULL;
    if (!in->names.count)
        list_names(in);
    for (size_t i = 0; i < in->names.count; i++)
        prg_nearest_offer(&nearest, in->names.items[i]);
    for (size_t i = 0; (entry = prg_map_next(&in->types->globals, &i));)
        prg_nearest_offer(&nearest, entry->key);
    return nearest.name;
}

static const struct prg_type *global(struct infer *in, const struct prg_lua_node *node)
{
    const char *name = text_of(in, node);
    const struct prg_type *type = prg_map_get(&in->types->globals, name);
    if (in->input->is_policy && strcmp(name, "options") == 0)
        return in->options ? in->options : &prg_type_any;
    if (prg_map_get(&in->assigned, name) || strcmp(name, "_ENV") == 0)
        return &prg_type_any;
    if (type)
        return prg_types_resolve(in->types, type);
    for (const char *const *extra = in->input->extra_globals; extra && *extra; extra++)
        if (strcmp(*extra, name) == 0)
            return &prg_type_any;
    if (is_stock_name(name)) {
        report(in, node, false, "undefined-global",
               "'%s' is not there for policies; perigee check --globals lists what is", name);
        return &prg_type_any;
    }
    const char *nearest = nearest_name(in, name);
    report(in, node, false, "undefined-global", "undefined global '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
           nearest ? nearest : "", nearest ? "'?" : "");
    return &prg_type_any;
}

static const struct prg_type *name_type(struct infer *in, struct prg_lua_node *node)
{
    const struct prg_lua_local *local = node->local;
    if (!local)
        return global(in, node);
    if (local->given)
        return prg_types_resolve(in->types, local->given);
    // A local that gets one value has got it by now; what others get is known when the whole file has been walked.
    const struct prg_type *type =
        local->is_assigned || local->is_parameter || !local->seen ? local->known : local->seen;
    return prg_types_resolve(in->types, type);
}

static void give(struct infer *in, struct prg_lua_local *local, const struct prg_type *type)
{
    local->seen = prg_types_join(in->types, local->seen, type);
}

// ---- calls ----

struct arguments {
    const struct prg_type *types[ARGUMENTS];
    size_t count;       // given for sure
    bool is_open_ended; // the last one may be any number of values
    struct prg_lua_node *nodes[ARGUMENTS];
};

static void read_arguments(struct infer *in, struct prg_lua_node *list, struct arguments *ret)
{
    *ret = (struct arguments){.count = 0};
    for (struct prg_lua_node *node = list; node; node = node->next) {
        bool is_many =
            !node->next && (node->kind == PRG_LUA_CALL || node->kind == PRG_LUA_METHOD || node->kind == PRG_LUA_VARARG);
        const struct prg_type *type = expression(in, node);
        if (is_many)
            ret->is_open_ended = true;
        if (ret->count < ARGUMENTS) {
            ret->types[ret->count] = type;
            ret->nodes[ret->count] = node;
        }
        ret->count++;
    }
}

static void check_count(struct infer *in, const struct prg_lua_node *place, const char *name,
                        const struct prg_type *type, const struct arguments *args, size_t hidden)
{
    size_t most = 0, least = 0, given = args->count + hidden;
    for (const struct prg_type_field *param = type->fields; param; param = param->next) {
        most++;
        if (!param->is_optional)
            least = most;
    }
    if (!type->is_open && given > most && !(args->is_open_ended && given == most + 1))
        report(in, place, false, "redundant-parameter", "%s takes at most %zu %s, here it gets %zu", name,
               most - hidden, prg_plural((int64_t)(most - hidden), "argument", "arguments"), args->count);
    else if (given < least && !args->is_open_ended)
        report(in, place, false, "missing-parameter", "%s needs %zu %s, here it gets %zu", name, least - hidden,
               prg_plural((int64_t)(least - hidden), "argument", "arguments"), args->count);
}

// The return type number `index` with the type variable bound to that of the first argument that has it.
static const struct prg_type *return_of(struct infer *in, const struct prg_type *type, const struct arguments *args,
                                        size_t index)
{
    const struct prg_type_field *result = type->returns;
    for (; result && index; index--)
        result = result->next;
    if (!result)
        return type->returns ? &prg_type_nil : &prg_type_any;
    if (result->type->kind != PRG_TYPE_GENERIC)
        return prg_types_resolve(in->types, result->type);
    size_t at = 0;
    for (const struct prg_type_field *param = type->fields; param; param = param->next, at++)
        if (param->type->kind == PRG_TYPE_GENERIC && at < args->count && at < ARGUMENTS)
            return args->types[at];
    return &prg_type_any;
}

// json.at(v, "spec", "predictor"): the path is walked as v.spec.predictor would be.
static const struct prg_type *walk_path(struct infer *in, const struct arguments *args)
{
    const struct prg_type *type = args->count ? args->types[0] : &prg_type_any;
    for (size_t i = 1; i < args->count && i < ARGUMENTS; i++)
        type = field_of(in, type, args->nodes[i]);
    return type;
}

// json.find(list, "name", "x"): an item, which has the key.
static const struct prg_type *find_item(struct infer *in, const struct arguments *args)
{
    const struct prg_type *item = prg_types_element(in->types, args->count ? args->types[0] : &prg_type_any);
    if (args->count > 1 && is_constant(args->nodes[1]))
        field_of(in, item, args->nodes[1]);
    return item;
}

static const struct prg_type *declared_call(struct infer *in, const struct prg_lua_node *place,
                                            const struct prg_type *type, const struct arguments *args, size_t hidden)
{
    const char *name = type->name ? type->name : "the function";
    check_count(in, place, name, type, args, hidden);
    if (strcmp(name, "perigee.json.at") == 0)
        return walk_path(in, args);
    if (strcmp(name, "perigee.json.find") == 0)
        return find_item(in, args);
    if (strcmp(name, "assert") == 0 || strcmp(name, "setmetatable") == 0)
        return args->count ? args->types[0] : &prg_type_any;
    const struct prg_type *result = return_of(in, type, args, 0);
    // A copy of an argument table may get fields of its own; a copy of an object is still one of its kind.
    if (strcmp(name, "perigee.copy") == 0 && result->kind == PRG_TYPE_CLASS)
        return &prg_type_any;
    return result;
}

// The function of this file that node calls, when it is sure to be this one.
static struct prg_lua_node *known_function(const struct prg_lua_node *node)
{
    if (node->kind == PRG_LUA_NAME && node->local && node->local->function && !node->local->is_assigned)
        return node->local->function;
    return NULL;
}

static const struct prg_type *own_call(struct infer *in, const struct prg_lua_node *place,
                                       struct prg_lua_node *function, const struct arguments *args)
{
    size_t at = 0;
    for (struct prg_lua_node *param = function->list; param; param = param->next, at++) {
        bool is_given = at < args->count && at < ARGUMENTS && !(args->is_open_ended && at + 1 == args->count);
        if (is_given)
            give(in, param->local, args->types[at]);
        else if (args->is_open_ended)
            give(in, param->local, &prg_type_any);
    }
    if (args->count > at && !function->is_vararg && !(args->is_open_ended && args->count == at + 1))
        report(in, place, false, "redundant-parameter", "%s takes %zu %s, here it gets %zu", text_of(in, place), at,
               prg_plural((int64_t)at, "argument", "arguments"), args->count);
    return function->returns ? function->returns : &prg_type_any;
}

static const struct prg_type *call(struct infer *in, struct prg_lua_node *node)
{
    struct arguments args;
    struct prg_lua_node *function = known_function(node->left), *place = node->left;
    const struct prg_type *callee = function ? &prg_type_any : expression(in, node->left);
    if (place->kind == PRG_LUA_INDEX && is_constant(place->right))
        place = place->right;
    read_arguments(in, node->list, &args);
    if (function)
        return own_call(in, place, function, &args);
    if (callee->kind == PRG_TYPE_FUNCTION)
        return declared_call(in, place, callee, &args, 0);
    return &prg_type_any;
}

static const struct prg_type *method(struct infer *in, struct prg_lua_node *node)
{
    struct arguments args;
    const struct prg_type *object = expression(in, node->left), *callee = &prg_type_any;
    if (object->kind == PRG_TYPE_STRING || object->kind == PRG_TYPE_CLASS || object->kind == PRG_TYPE_STRUCT) {
        callee = prg_types_field(in->types, object, text_of(in, node));
        if (!callee)
            report_field(in, node, object);
        callee = callee ? prg_types_resolve(in->types, callee) : &prg_type_any;
    }
    read_arguments(in, node->list, &args);
    if (callee->kind == PRG_TYPE_FUNCTION)
        return declared_call(in, node, callee, &args, 1);
    return &prg_type_any;
}

// ---- functions ----

static const struct prg_type_field *find_param(const struct prg_type *declared, const char *name)
{
    const struct prg_type_field *param = declared->fields;
    while (param && strcmp(param->name, name) != 0)
        param = param->next;
    return param;
}

// What the annotations above a function say of its parameters and its first answer: a function type.
static const struct prg_type *read_doc(struct infer *in, const char *doc, size_t length)
{
    struct prg_type *type = prg_arena_new(in->arena, struct prg_type);
    struct prg_type_field **last = &type->fields;
    const char *end = doc + length;
    type->kind = PRG_TYPE_FUNCTION;
    for (const char *line = doc; line && line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line)), *at = line, *name;
        stop = stop ? stop : end;
        while (at < stop && (*at == ' ' || *at == '\t'))
            at++;
        if ((size_t)(stop - at) > 9 && memcmp(at, "---@param", 9) == 0) {
            at += 9;
            while (at < stop && *at == ' ')
                at++;
            name = at;
            while (at < stop && *at != ' ' && *at != '?')
                at++;
            struct prg_type_field *field = prg_arena_new(in->arena, struct prg_type_field);
            field->name = prg_arena_strndup(in->arena, name, (size_t)(at - name));
            field->is_optional = at < stop && *at == '?';
            at += field->is_optional;
            field->type = prg_types_parse(in->types, &at, stop, NULL);
            *last = field;
            last = &field->next;
        }
        line = stop < end ? stop + 1 : NULL;
    }
    return type;
}

static void take_doc(struct infer *in, struct prg_lua_node *function, const struct prg_lua_node *statement)
{
    if (!statement->doc)
        return;
    const struct prg_type *declared = read_doc(in, statement->doc, statement->doc_length);
    for (struct prg_lua_node *param = function->list; param; param = param->next) {
        const struct prg_type_field *found = find_param(declared, text_of(in, param));
        if (found && !param->local->given)
            param->local->given = found->type;
    }
}

// A function of the contract: its parameters are what the contract says, whatever is written above it.
static void take_contract(struct infer *in, struct prg_lua_node *function, const struct prg_lua_node *name,
                          const struct prg_lua_node *statement)
{
    const struct prg_type *type = prg_types_field(in->types, in->policy, text_of(in, name));
    const struct prg_type *declared = statement->doc ? read_doc(in, statement->doc, statement->doc_length) : NULL;
    size_t given = 0, wanted = 0;
    if (!type || type->kind != PRG_TYPE_FUNCTION)
        return;
    in->answered++;
    for (const struct prg_type_field *param = type->fields; param; param = param->next)
        given++;
    const struct prg_type_field *param = type->fields;
    for (struct prg_lua_node *node = function->list; node; node = node->next, wanted++) {
        if (param) {
            node->local->given = param->type;
            param = param->next;
            continue;
        }
        const struct prg_type_field *own = declared ? find_param(declared, text_of(in, node)) : NULL;
        if (!own || !own->is_optional)
            report(in, node, false, "redundant-parameter", "%s gets %zu %s, '%s' would always be nil",
                   text_of(in, name), given, prg_plural((int64_t)given, "argument", "arguments"), text_of(in, node));
    }
    if (strcmp(text_of(in, name), "before") == 0 && wanted < 2 && !function->is_vararg)
        report(in, name, false, "missing-parameter", "before compares two candidates, it needs two parameters");
}

static const struct prg_type *function_type(struct infer *in, struct prg_lua_node *function)
{
    struct prg_lua_node *outer = in->function;
    in->function = function;
    function->returns_seen = NULL;
    block(in, function->body);
    in->function = outer;
    return &prg_type_any;
}

// Is it the table that the file returns?
static bool is_module(const struct infer *in, const struct prg_lua_node *node)
{
    return in->policy && in->module && node->kind == PRG_LUA_NAME && node->local == in->module;
}

// A value that becomes the field `key` of the module.
static void module_field(struct infer *in, const struct prg_lua_node *key, const struct prg_lua_node *value,
                         const struct prg_lua_node *statement)
{
    struct prg_lua_node *function =
        value->kind == PRG_LUA_FUNCTION ? (struct prg_lua_node *)value : known_function(value);
    if (function && is_constant(key))
        take_contract(in, function, key, statement);
}

// ---- expressions ----

static const struct prg_type *table(struct infer *in, struct prg_lua_node *node)
{
    for (struct prg_lua_node *field = node->list; field; field = field->next) {
        if (field->left)
            expression(in, field->left);
        expression(in, field->right);
    }
    return node->list ? &prg_type_any : &prg_type_empty;
}

static const struct prg_type *binary(struct infer *in, const struct prg_lua_node *node)
{
    const struct prg_type *left = expression(in, node->left), *right = expression(in, node->right);
    if (is_text(node, "and"))
        return right->kind == PRG_TYPE_NIL ? left : right;
    if (is_text(node, "or"))
        return prg_types_join(in->types, left, right);
    if (is_text(node, ".."))
        return &prg_type_string;
    if (strchr("<>=~", node->text[0]) && (node->length == 1 ? node->text[0] != '~' : node->text[1] == '='))
        return &prg_type_boolean;
    return &prg_type_number;
}

static const struct prg_type *expression(struct infer *in, struct prg_lua_node *node)
{
    switch (node->kind) {
    case PRG_LUA_NIL:
        return &prg_type_nil;
    case PRG_LUA_BOOLEAN:
        return &prg_type_boolean;
    case PRG_LUA_NUMBER:
        return &prg_type_number;
    case PRG_LUA_STRING:
        return &prg_type_string;
    case PRG_LUA_FUNCTION:
        return function_type(in, node);
    case PRG_LUA_NAME:
        if (known_function(node))
            known_function(node)->is_open = true;
        return name_type(in, node);
    case PRG_LUA_INDEX: {
        const struct prg_type *object = expression(in, node->left);
        if (!is_constant(node->right))
            expression(in, node->right);
        return field_of(in, object, node->right);
    }
    case PRG_LUA_CALL:
        return call(in, node);
    case PRG_LUA_METHOD:
        return method(in, node);
    case PRG_LUA_TABLE:
        return table(in, node);
    case PRG_LUA_BINARY:
        return binary(in, node);
    case PRG_LUA_UNARY:
        expression(in, node->left);
        return node->text[0] == 'n' ? &prg_type_boolean : &prg_type_number;
    case PRG_LUA_PAREN:
        return expression(in, node->left);
    default:
        return &prg_type_any;
    }
}

// ---- statements ----

// The type of value number `index` of a call that gives several.
static const struct prg_type *further_result(struct infer *in, const struct prg_lua_node *node, size_t index)
{
    const struct prg_type *callee;
    struct arguments none = {.count = 0};
    bool reporting = in->reporting;
    if (node->kind != PRG_LUA_CALL || known_function(node->left))
        return &prg_type_any;
    in->reporting = false; // it has been looked at
    callee = expression(in, node->left);
    in->reporting = reporting;
    return callee->kind == PRG_TYPE_FUNCTION ? return_of(in, callee, &none, index) : &prg_type_any;
}

static const struct prg_type *type_annotation(struct infer *in, const struct prg_lua_node *statement)
{
    static const char tag[] = "---@type";
    const char *doc = statement->doc, *end = doc ? doc + statement->doc_length : NULL;
    for (const char *at = doc; at && at + sizeof(tag) < end; at++)
        if (memcmp(at, tag, sizeof(tag) - 1) == 0) {
            const char *text = at + sizeof(tag) - 1;
            const char *stop = memchr(text, '\n', (size_t)(end - text));
            return prg_types_parse(in->types, &text, stop ? stop : end, NULL);
        }
    return NULL;
}

static void local_statement(struct infer *in, struct prg_lua_node *node)
{
    struct prg_lua_node *value = node->values, *last = NULL;
    size_t after = 0; // names beyond the last value
    const struct prg_type *given = type_annotation(in, node);
    if (value && value->kind == PRG_LUA_FUNCTION)
        take_doc(in, value, node);
    for (struct prg_lua_node *name = node->list; name; name = name->next) {
        if (given && name == node->list && name->local != in->module)
            name->local->given = given;
        if (value) {
            give(in, name->local, expression(in, value));
            last = value;
            value = value->next;
        } else {
            give(in, name->local, last ? further_result(in, last, ++after) : &prg_type_nil);
        }
    }
    for (; value; value = value->next)
        expression(in, value);
}

static void assign_target(struct infer *in, struct prg_lua_node *target, const struct prg_type *type)
{
    if (target->kind == PRG_LUA_NAME) {
        if (target->local)
            give(in, target->local, type);
        else if (in->input->is_policy)
            report(in, target, true, "lowercase-global", "'%s' is global; `local %s` keeps it in its place",
                   text_of(in, target), text_of(in, target));
        return;
    }
    // A copy may get fields of its own, an object none that its kind does not know.
    const struct prg_type *object = expression(in, target->left);
    if (!is_constant(target->right))
        expression(in, target->right);
    else if (object->kind == PRG_TYPE_STRUCT)
        field_of(in, object, target->right);
}

static void assign_statement(struct infer *in, struct prg_lua_node *node)
{
    struct prg_lua_node *value = node->values;
    for (struct prg_lua_node *target = node->list; target; target = target->next) {
        const struct prg_type *type = value ? expression(in, value) : &prg_type_any;
        bool is_field = target->kind == PRG_LUA_INDEX && is_module(in, target->left);
        if (is_field && value)
            module_field(in, target->right, value, node);
        if (is_field && !is_constant(target->right))
            in->is_dynamic = true;
        assign_target(in, target, type);
        value = value ? value->next : NULL;
    }
    for (; value; value = value->next)
        expression(in, value);
}

// for i, item in ipairs(list), for key, value in pairs(map).
static void for_in(struct infer *in, struct prg_lua_node *node)
{
    const struct prg_type *key = &prg_type_any, *value = &prg_type_any;
    struct prg_lua_node *iterator = node->values;
    for (struct prg_lua_node *one = node->values; one; one = one->next)
        expression(in, one);
    if (iterator && !iterator->next && iterator->kind == PRG_LUA_CALL && iterator->list && !iterator->list->next &&
        iterator->left->kind == PRG_LUA_NAME && !iterator->left->local) {
        bool is_pairs = is_text(iterator->left, "pairs"), is_ipairs = is_text(iterator->left, "ipairs");
        bool reporting = in->reporting;
        in->reporting = false;
        const struct prg_type *walked = expression(in, iterator->list);
        in->reporting = reporting;
        if (is_ipairs || (is_pairs && walked->kind == PRG_TYPE_LIST))
            key = &prg_type_number;
        else if (is_pairs && (walked->kind == PRG_TYPE_MAP || walked->kind == PRG_TYPE_STRUCT))
            key = &prg_type_string;
        if ((is_ipairs && walked->kind == PRG_TYPE_LIST) || is_pairs)
            value = prg_types_element(in->types, walked);
    }
    size_t at = 0;
    for (struct prg_lua_node *name = node->list; name; name = name->next, at++)
        give(in, name->local, at == 0 ? key : at == 1 ? value : &prg_type_any);
    block(in, node->body);
}

static void for_range(struct infer *in, struct prg_lua_node *node)
{
    for (struct prg_lua_node *value = node->values; value; value = value->next)
        expression(in, value);
    give(in, node->list->local, &prg_type_number);
    block(in, node->body);
}

static void function_of(struct infer *in, struct prg_lua_node *node)
{
    take_doc(in, node->right, node);
    if (node->left->kind == PRG_LUA_INDEX && is_module(in, node->left->left))
        module_field(in, node->left->right, node->right, node);
    if (node->left->kind == PRG_LUA_INDEX)
        expression(in, node->left->left);
    function_type(in, node->right);
    if (node->left->local)
        give(in, node->left->local, &prg_type_any);
}

static void return_statement(struct infer *in, struct prg_lua_node *node)
{
    const struct prg_type *type = &prg_type_nil;
    for (struct prg_lua_node *value = node->values; value; value = value->next) {
        const struct prg_type *one = expression(in, value);
        if (value == node->values)
            type = one;
    }
    if (in->function)
        in->function->returns_seen = prg_types_join(in->types, in->function->returns_seen, type);
}

static void clauses(struct infer *in, struct prg_lua_node *node)
{
    for (struct prg_lua_node *clause = node->list; clause; clause = clause->next) {
        if (clause->left)
            expression(in, clause->left);
        block(in, clause->body);
    }
}

static void statement(struct infer *in, struct prg_lua_node *node)
{
    switch (node->kind) {
    case PRG_LUA_LOCAL:
        local_statement(in, node);
        break;
    case PRG_LUA_ASSIGN:
        assign_statement(in, node);
        break;
    case PRG_LUA_EXPRESSION:
        expression(in, node->left);
        break;
    case PRG_LUA_WHILE:
        expression(in, node->left);
        block(in, node->body);
        break;
    case PRG_LUA_REPEAT:
        block(in, node->body);
        expression(in, node->left);
        break;
    case PRG_LUA_BLOCK:
        block(in, node->body);
        break;
    case PRG_LUA_IF:
        clauses(in, node);
        break;
    case PRG_LUA_FOR_RANGE:
        for_range(in, node);
        break;
    case PRG_LUA_FOR_IN:
        for_in(in, node);
        break;
    case PRG_LUA_FUNCTION_OF:
        function_of(in, node);
        break;
    case PRG_LUA_LOCAL_FUNCTION:
        take_doc(in, node->right, node);
        function_type(in, node->right);
        break;
    case PRG_LUA_RETURN:
        return_statement(in, node);
        break;
    default:
        break;
    }
}

static void block(struct infer *in, struct prg_lua_node *statements)
{
    for (; statements; statements = statements->next)
        statement(in, statements);
}

// ---- the file ----

// Globals that the file sets anywhere: they are not undefined.
static void note_assigned(struct infer *in, const struct prg_lua_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == PRG_LUA_ASSIGN)
            for (const struct prg_lua_node *target = node->list; target; target = target->next)
                if (target->kind == PRG_LUA_NAME && !target->local)
                    prg_map_putn(&in->assigned, target->text, target->length, in);
        if (node->kind == PRG_LUA_FUNCTION_OF && node->left->kind == PRG_LUA_NAME && !node->left->local)
            prg_map_putn(&in->assigned, node->left->text, node->left->length, in);
        note_assigned(in, node->left);
        note_assigned(in, node->right);
        note_assigned(in, node->list);
        note_assigned(in, node->values);
        note_assigned(in, node->body);
    }
}

static struct prg_lua_node *returned_value(const struct prg_lua_tree *tree)
{
    for (struct prg_lua_node *node = tree->body; node; node = node->next)
        if (node->kind == PRG_LUA_RETURN)
            return node->values;
    return NULL;
}

// The constructor of the table that the file returns, when there is one.
static struct prg_lua_node *module_table(struct infer *in, struct prg_lua_node *value)
{
    if (value->kind == PRG_LUA_TABLE)
        return value;
    for (struct prg_lua_node *node = in->tree->body; node; node = node->next)
        if (node->kind == PRG_LUA_LOCAL && node->list->local == in->module && node->values &&
            node->values->kind == PRG_LUA_TABLE)
            return node->values;
    return NULL;
}

static const struct prg_lua_node *entry_named(const struct prg_lua_node *table, const char *name)
{
    for (const struct prg_lua_node *field = table ? table->list : NULL; field; field = field->next)
        if (is_text(field->left, name))
            return field->right;
    return NULL;
}

// M.NAME = value at the top level of the file.
static const struct prg_lua_node *assigned_named(const struct infer *in, const char *name)
{
    for (const struct prg_lua_node *node = in->tree->body; node; node = node->next)
        if (node->kind == PRG_LUA_ASSIGN && node->list->kind == PRG_LUA_INDEX &&
            node->list->left->kind == PRG_LUA_NAME && in->module && node->list->left->local == in->module &&
            is_text(node->list->right, name))
            return node->values;
    return NULL;
}

// "runtime_selection/v1" to the class perigee.RuntimeSelectionPolicy.
static const struct prg_type *contract_class(struct infer *in, const struct prg_lua_node *api)
{
    prg_auto_strbuf name = PRG_STRBUF_INIT;
    bool begins = true;
    prg_strbuf_puts(&name, "perigee.");
    for (size_t i = 0; i < api->length && api->text[i] != '/'; i++) {
        char c = api->text[i];
        if (c != '_')
            prg_strbuf_putc(&name, (char)(begins && c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c));
        begins = c == '_';
    }
    prg_strbuf_puts(&name, "Policy");
    return prg_types_class(in->types, name.text);
}

static const struct prg_type *value_type(const struct prg_lua_node *value)
{
    switch (value->kind) {
    case PRG_LUA_STRING:
        return &prg_type_string;
    case PRG_LUA_NUMBER:
        return &prg_type_number;
    case PRG_LUA_BOOLEAN:
        return &prg_type_boolean;
    default:
        return &prg_type_any;
    }
}

// The class of `options`: the names of the defaults. Defaults that are not written down as a table stay unknown.
static void read_options(struct infer *in, const struct prg_lua_node *defaults)
{
    struct prg_type *type = prg_arena_new(in->arena, struct prg_type);
    type->kind = PRG_TYPE_CLASS;
    type->name = "options";
    in->has_options = defaults != NULL;
    for (const struct prg_lua_node *field = defaults ? defaults->list : NULL; field; field = field->next) {
        struct prg_type_field *option = prg_arena_new(in->arena, struct prg_type_field);
        if (!is_constant(field->left)) {
            type->is_open = true;
            continue;
        }
        option->name = text_of(in, field->left);
        option->type = value_type(field->right);
        option->next = type->fields;
        type->fields = option;
    }
    if (!defaults || defaults->kind == PRG_LUA_TABLE)
        in->options = type;
}

static void find_module(struct infer *in)
{
    struct prg_lua_node *value = returned_value(in->tree);
    if (!value || !in->input->is_policy)
        return;
    in->module = value->kind == PRG_LUA_NAME ? value->local : NULL;
    const struct prg_lua_node *table = module_table(in, value);
    const struct prg_lua_node *api = entry_named(table, "api"), *options = entry_named(table, "options");
    api = api ? api : assigned_named(in, "api");
    options = options ? options : assigned_named(in, "options");
    if (is_constant(api))
        in->policy = contract_class(in, api);
    if (table || options)
        read_options(in, options);
}

// Functions that stand in the constructor of the returned table.
static void constructor_functions(struct infer *in)
{
    struct prg_lua_node *value = returned_value(in->tree);
    const struct prg_lua_node *table = value && in->policy ? module_table(in, value) : NULL;
    for (const struct prg_lua_node *field = table ? table->list : NULL; field; field = field->next)
        if (field->left)
            module_field(in, field->left, field->right, field);
}

static void each_function(struct prg_lua_node *node, void (*visit)(struct prg_lua_node *function))
{
    for (; node; node = node->next) {
        if (node->kind == PRG_LUA_FUNCTION)
            visit(node);
        each_function(node->left, visit);
        each_function(node->right, visit);
        each_function(node->list, visit);
        each_function(node->values, visit);
        each_function(node->body, visit);
    }
}

// Before a walk: what the last one saw of returns is known now; parameters get any when not all callers are known.
static void settle_function(struct prg_lua_node *function)
{
    function->returns = function->returns_seen;
    function->returns_seen = NULL;
}

static void open_parameters(struct prg_lua_node *function)
{
    if (function->is_open)
        for (struct prg_lua_node *param = function->list; param; param = param->next)
            param->local->known = &prg_type_any;
}

static void mark_open(struct prg_lua_node *function)
{
    function->is_open = true;
}

// A policy that answers nothing is a mistake: a misspelled name has been told by the loader, an empty file has not.
static void check_answered(struct infer *in)
{
    prg_auto_strbuf names = PRG_STRBUF_INIT;
    struct prg_lua_node *value = returned_value(in->tree);
    const struct prg_lua_node *table = value && in->policy ? module_table(in, value) : NULL;
    if (!table || in->answered || in->is_dynamic)
        return;
    for (const struct prg_type_field *field = in->policy->fields; field; field = field->next)
        if (field->type->kind == PRG_TYPE_FUNCTION)
            prg_strbuf_printf(&names, "%s%s", names.length ? ", " : "", field->name);
    report(in, table, false, "contract", "the file defines no function of its contract (%s)", names.text);
}

static void walk(struct infer *in, bool reporting)
{
    in->reporting = reporting;
    in->answered = 0;
    constructor_functions(in);
    block(in, in->tree->body);
    check_answered(in);
    in->reporting = false;
    for (struct prg_lua_local *local = in->tree->locals; local; local = local->previous) {
        local->known = local->seen;
        local->seen = NULL;
    }
    each_function(in->tree->body, settle_function);
    each_function(in->tree->body, open_parameters);
}

void prg_infer(struct prg_arena *arena, const struct prg_infer_input *input)
{
    struct infer in = {.arena = arena, .types = input->types, .tree = input->tree, .input = input};
    prg_map_init(&in.assigned);
    prg_vec_init(&in.names);
    note_assigned(&in, in.tree->body);
    find_module(&in);
    // Functions without a name of their own are called from who knows where.
    each_function(in.tree->body, mark_open);
    for (struct prg_lua_local *local = in.tree->locals; local; local = local->previous)
        if (local->function)
            local->function->is_open = local->is_assigned;
    for (int pass = 1; pass <= PASSES; pass++)
        walk(&in, pass == PASSES);
    prg_vec_release(&in.names);
    prg_map_release(&in.assigned);
}
