// SPDX-License-Identifier: Apache-2.0
// manifest.c: policies.yaml, the settings of a policy set:
//
//   options: {POLICY: {OPTION: VALUE}}          over the defaults in M.options of the policy's file
//   limits: {steps: N, …, POLICY: {steps: N}}   tighter than the program's
//   use: {POLICY: FILE}                         the file that decides, when it is not named after the policy
#include <string.h>

#include "policy/set.h"
#include "yaml/load.h"

static const char *const top_keys[] = {"options", "limits", "use"};
static const char *const limit_keys[] = {"steps", "memoryBytes", "blockBytes", "resultNodes", "wallMs"};

static void report_node(struct prg_report *report, const char *path, const cJSON *node, const char *format, ...)
    PRG_PRINTF(4, 5);
static void report_node(struct prg_report *report, const char *path, const cJSON *node, const char *format, ...)
{
    char text[PRG_ERROR_TEXT];
    struct prg_json_position at = prg_json_position(node);
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (at.line)
        prg_report_add(report, "%s:%u:%u: %s", path, at.line, at.column, text);
    else
        prg_report_add(report, "%s: %s", path, text);
}

static void report_unknown(struct prg_report *report, const char *path, const cJSON *node, const char *what,
                           const char *const *names, size_t count)
{
    const char *nearest = prg_text_nearest(node->string, names, count);
    report_node(report, path, node, "there is no %s '%s'%s%s%s", what, node->string, nearest ? "; did you mean '" : "",
                nearest ? nearest : "", nearest ? "'?" : "");
}

// The policy that a key names; NULL with a report when there is none, or when it is not among the allowed ones.
static const struct prg_contract *find_policy(struct prg_report *report, const char *path, uint32_t allowed,
                                              const cJSON *node)
{
    const struct prg_contract *contract = prg_contract_by_name(node->string);
    const char *names[PRG_POLICY_COUNT];
    if (contract && allowed >> (contract - prg_contracts) & 1)
        return contract;
    if (contract) {
        report_node(report, path, node, "policy %s is not one that namespaces may set here", contract->name);
        return NULL;
    }
    for (size_t i = 0; i < PRG_POLICY_COUNT; i++)
        names[i] = prg_contracts[i].name;
    report_unknown(report, path, node, "policy", names, PRG_POLICY_COUNT);
    return NULL;
}

static bool is_one_of(const char *text, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

// ---- reading ----

static void read_options(struct prg_set_manifest *manifest, uint32_t allowed, const cJSON *options,
                         struct prg_report *report)
{
    const cJSON *item;
    manifest->options = options;
    prg_json_each (item, options) {
        if (find_policy(report, manifest->path, allowed, item) && !prg_json_is_object(item))
            report_node(report, manifest->path, item, "options of a policy are an object, not %s",
                        prg_json_type_name(item));
    }
}

static void read_use(struct prg_set_manifest *manifest, uint32_t allowed, const cJSON *use, struct prg_report *report)
{
    const cJSON *item;
    prg_json_each (item, use) {
        const struct prg_contract *contract = find_policy(report, manifest->path, allowed, item);
        const char *file = prg_json_text(item);
        if (!contract)
            continue;
        if (!file || !*file || strchr(file, '/') || prg_text_has_suffix(file, ".lua"))
            report_node(report, manifest->path, item, "use needs the name of a file of the set, without .lua");
        else
            manifest->use[contract - prg_contracts] = file;
    }
}

static void check_limit(const char *path, const cJSON *item, struct prg_report *report)
{
    int64_t value;
    if (!is_one_of(item->string, limit_keys, PRG_COUNT(limit_keys)))
        report_unknown(report, path, item, "limit", limit_keys, PRG_COUNT(limit_keys));
    else if (!prg_json_int64(item, &value) || value <= 0)
        report_node(report, path, item, "a limit is a whole number above 0");
}

static void read_limits(struct prg_set_manifest *manifest, uint32_t allowed, const cJSON *limits,
                        struct prg_report *report)
{
    const cJSON *item, *limit;
    manifest->limits = limits;
    prg_json_each (item, limits) {
        if (!prg_json_is_object(item)) {
            check_limit(manifest->path, item, report);
            continue;
        }
        (void)find_policy(report, manifest->path, allowed, item);
        prg_json_each (limit, item)
            check_limit(manifest->path, limit, report);
    }
}

void prg_set_manifest_read(struct prg_arena *arena, const struct prg_policy_text *text, uint32_t allowed,
                           struct prg_set_manifest *ret, struct prg_report *report)
{
    const char *path = text->path;
    struct prg_yaml_docs docs;
    struct prg_error err;
    const cJSON *item;
    prg_error_clear(&err);
    ret->path = path;
    if (prg_yaml_load(arena, path, text->text, text->length, NULL, &docs, &err) != PRG_OK) {
        prg_report_error(report, &err);
        return;
    }
    if (docs.count == 0)
        return;
    if (docs.count > 1 || !prg_json_is_object(docs.items[0])) {
        report_node(report, path, docs.items[0], "one document with options, limits and use is needed");
        return;
    }
    prg_json_each (item, docs.items[0]) {
        if (!is_one_of(item->string, top_keys, PRG_COUNT(top_keys)))
            report_unknown(report, path, item, "setting", top_keys, PRG_COUNT(top_keys));
        else if (prg_json_is_null(item))
            continue;
        else if (!prg_json_is_object(item))
            report_node(report, path, item, "%s must be an object, not %s", item->string, prg_json_type_name(item));
        else if (strcmp(item->string, "options") == 0)
            read_options(ret, allowed, item, report);
        else if (strcmp(item->string, "limits") == 0)
            read_limits(ret, allowed, item, report);
        else
            read_use(ret, allowed, item, report);
    }
}

// ---- limits ----

static uint64_t get_limit(const struct prg_policy_limits *limits, size_t key)
{
    const uint64_t values[] = {limits->max_steps, limits->max_memory_bytes, limits->max_block_bytes,
                               limits->max_result_nodes, limits->max_wall_ms};
    _Static_assert(PRG_COUNT(values) == PRG_COUNT(limit_keys), "one value for each name");
    return values[key];
}

static void set_limit(struct prg_policy_limits *limits, size_t key, uint64_t value)
{
    switch (key) {
    case 0:
        limits->max_steps = value;
        break;
    case 1:
        limits->max_memory_bytes = (size_t)value;
        break;
    case 2:
        limits->max_block_bytes = (size_t)value;
        break;
    case 3:
        limits->max_result_nodes = (size_t)value;
        break;
    default:
        limits->max_wall_ms = (unsigned)value;
        break;
    }
}

// A set may tighten what the program was given, never loosen it.
static void tighten(const struct prg_set_manifest *manifest, const cJSON *limits, struct prg_policy_limits *target,
                    struct prg_report *report)
{
    for (size_t key = 0; key < PRG_COUNT(limit_keys); key++) {
        const cJSON *item = prg_json_get(limits, limit_keys[key]);
        int64_t value;
        if (!prg_json_int64(item, &value) || value <= 0)
            continue; // absent, or reported already
        if ((uint64_t)value <= get_limit(target, key))
            set_limit(target, key, (uint64_t)value);
        else
            report_node(report, manifest->path, item, "%s: a set may not raise a limit above the program's %llu",
                        item->string, (unsigned long long)get_limit(target, key));
    }
}

struct prg_policy_limits prg_set_manifest_limits(const struct prg_set_manifest *manifest,
                                                 const struct prg_contract *contract,
                                                 const struct prg_policy_limits *most, struct prg_report *report)
{
    struct prg_policy_limits limits = prg_policy_limits_complete(most);
    const cJSON *own = contract ? prg_json_get(manifest->limits, contract->name) : NULL;
    struct prg_report ignored = {0};
    // Limits of all policies are reported with the first policy only.
    tighten(manifest, manifest->limits, &limits, contract == &prg_contracts[0] ? report : &ignored);
    tighten(manifest, own, &limits, report);
    return limits;
}

// ---- options ----

static bool same_kind(const cJSON *a, const cJSON *b)
{
    return prg_json_is_null(a) || (prg_json_is_bool(a) && prg_json_is_bool(b)) || (a->type & 0xff) == (b->type & 0xff);
}

// What the files declare under this name, or NULL.
static const cJSON *declared(struct prg_policy_file *const files[PRG_SET_LAYERS], const char *name)
{
    const cJSON *found = NULL;
    for (size_t i = 0; i < PRG_SET_LAYERS && !found; i++)
        found = files[i] ? prg_json_get(files[i]->options, name) : NULL;
    return found;
}

static void report_unknown_option(const struct prg_set_manifest *manifest, const struct prg_contract *contract,
                                  struct prg_policy_file *const files[PRG_SET_LAYERS], const cJSON *item,
                                  struct prg_report *report)
{
    const char *names[64];
    char what[128];
    size_t count = 0;
    const cJSON *option;
    for (size_t i = 0; i < PRG_SET_LAYERS; i++)
        prg_json_each (option, files[i] ? files[i]->options : NULL)
            if (count < PRG_COUNT(names))
                names[count++] = option->string;
    snprintf(what, sizeof(what), "option of %s", contract->name);
    report_unknown(report, manifest->path, item, what, names, count);
}

void prg_set_manifest_apply_options(struct prg_arena *arena, const struct prg_set_manifest *manifest,
                                    const struct prg_contract *contract,
                                    struct prg_policy_file *const files[PRG_SET_LAYERS], struct prg_report *report)
{
    const cJSON *item;
    prg_json_each (item, prg_json_get(manifest->options, contract->name)) {
        const cJSON *known = declared(files, item->string);
        if (!known)
            report_unknown_option(manifest, contract, files, item, report);
        else if (!same_kind(known, item))
            report_node(report, manifest->path, item, "option '%s' of %s is a %s, not %s", item->string, contract->name,
                        prg_json_type_name(known), prg_json_type_name(item));
        for (size_t i = 0; known && i < PRG_SET_LAYERS; i++)
            if (files[i] && prg_json_get(files[i]->options, item->string))
                prg_json_set(arena, files[i]->options, item->string, prg_json_copy(arena, item));
    }
}
