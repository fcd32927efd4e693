// SPDX-License-Identifier: Apache-2.0
// settings.c: Perigee's own settings: the file of --config, flags over it, defaults below it.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "edge/edge.h"
#include "yaml/load.h"

struct limit {
    const char *name, *key; // on the command line, in the file
};
enum { LIMIT_STEPS, LIMIT_MEMORY, LIMIT_BLOCK, LIMIT_RESULT, LIMIT_WALL, LIMIT_COUNT };
static const struct limit limits[LIMIT_COUNT] = {{"steps", "steps"},
                                                 {"memory", "memoryBytes"},
                                                 {"block", "blockBytes"},
                                                 {"result", "resultNodes"},
                                                 {"wall-ms", "wallMs"}};

static void set_limit(struct prg_policy_limits *target, int limit, uint64_t value)
{
    switch (limit) {
    case LIMIT_STEPS:
        target->max_steps = value;
        break;
    case LIMIT_MEMORY:
        target->max_memory_bytes = value;
        break;
    case LIMIT_BLOCK:
        target->max_block_bytes = value;
        break;
    case LIMIT_RESULT:
        target->max_result_nodes = value;
        break;
    default:
        target->max_wall_ms = value < UINT32_MAX ? (unsigned)value : UINT32_MAX;
        break;
    }
}

static int place_error(struct prg_error *err, const char *file, const cJSON *node, const char *what, const char *name)
{
    struct prg_json_position at = prg_json_position(node);
    return prg_fail(err, PRG_INVALID, "%s:%u:%u: %s%s", file, at.line, at.column, what, name);
}

static int read_limits(struct prg_settings *settings, const char *file, const cJSON *node, struct prg_error *err)
{
    const cJSON *item;
    if (!prg_json_is_object(node))
        return place_error(err, file, node, "limits is an object of numbers", "");
    prg_json_each (item, node) {
        int64_t value;
        int at = 0;
        while (at < LIMIT_COUNT && strcmp(limits[at].key, item->string) != 0)
            at++;
        if (at == LIMIT_COUNT)
            return place_error(err, file, item,
                               "unknown limit; known: steps, memoryBytes, blockBytes, resultNodes, wallMs; not ",
                               item->string);
        if (!prg_json_int64(item, &value) || value <= 0 || value > UINT32_MAX * (int64_t)1024)
            return place_error(err, file, item, "a limit is a whole number above 0: ", item->string);
        set_limit(&settings->limits, at, (uint64_t)value);
    }
    return PRG_OK;
}

static int set_compat(struct prg_settings *settings, const char *name, struct prg_error *err)
{
    const struct prg_compat *compat = prg_compat_by_name(name);
    if (!compat)
        return prg_fail(err, PRG_INVALID, "compat '%s': kserve or fixed", name);
    settings->compat = compat;
    return PRG_OK;
}

static int read_nodes(struct prg_settings *settings, const char *file, const cJSON *list, struct prg_error *err)
{
    const cJSON *item;
    size_t count = 0;
    if (!prg_json_is_array(list))
        return place_error(err, file, list, "nodes is a list of names; a * at the end of one stands for any rest", "");
    const char **nodes = prg_arena_array(&settings->arena, const char *, prg_json_count(list) + 1);
    prg_json_each (item, list) {
        const char *name = prg_json_text(item);
        if (!name)
            return place_error(err, file, item, "the name of a node is needed", "");
        if (!prg_edge_is_node_pattern(name))
            return place_error(err, file, item,
                               "nodes holds names of letters, digits, '-', '.' and '_' (253 at most), a * at the end "
                               "for any rest; not ",
                               name);
        nodes[count++] = name;
    }
    settings->learning.nodes = nodes;
    settings->learning.node_count = count;
    return PRG_OK;
}

static int read_learning(struct prg_settings *settings, const char *file, const cJSON *node, struct prg_error *err)
{
    const cJSON *item;
    if (!prg_json_is_object(node))
        return place_error(err, file, node, "learning is an object: lcServer, listen, nodes", "");
    prg_json_each (item, node) {
        const char *text = prg_json_text(item);
        int rc = PRG_OK;
        if (strcmp(item->string, "nodes") == 0)
            rc = read_nodes(settings, file, item, err);
        else if (strcmp(item->string, "lcServer") != 0 && strcmp(item->string, "listen") != 0)
            rc = place_error(err, file, item, "unknown setting of learning; known: lcServer, listen, nodes; not ",
                             item->string);
        else if (!text || !*text)
            rc = place_error(err, file, item, "a text is needed: ", item->string);
        else if (strcmp(item->string, "lcServer") == 0)
            settings->learning.lc_server = text;
        else
            settings->edge_listen = text;
        if (rc != PRG_OK)
            return rc;
    }
    return PRG_OK;
}

static int read_metrics(struct prg_settings *settings, const char *file, const cJSON *node, struct prg_error *err)
{
    const cJSON *item;
    if (!prg_json_is_object(node))
        return place_error(err, file, node, "metrics is an object: listen", "");
    prg_json_each (item, node) {
        const char *text = prg_json_text(item);
        if (strcmp(item->string, "listen") != 0)
            return place_error(err, file, item, "unknown setting of metrics; known: listen; not ", item->string);
        if (!text || !*text)
            return place_error(err, file, item, "a text is needed: ", item->string);
        settings->metrics_listen = text;
    }
    return PRG_OK;
}

// A list of names, for each policy that namespaces may set.
static int read_namespace_policies(struct prg_settings *settings, const char *file, const cJSON *list,
                                   struct prg_error *err)
{
    const cJSON *item;
    if (!prg_json_is_array(list))
        return place_error(err, file, list, "namespacePolicies is a list of names", "");
    prg_json_each (item, list) {
        uint32_t one;
        const char *name = prg_json_text(item);
        struct prg_json_position at = prg_json_position(item);
        if (!name || strchr(name, ','))
            return place_error(err, file, item, "the name of a policy is needed", "");
        if (prg_policy_names_read(name, &one, err) != PRG_OK)
            return prg_wrap(err, "%s:%u:%u: namespacePolicies", file, at.line, at.column);
        settings->namespace_policies |= one;
    }
    return PRG_OK;
}

static const char *const known_keys[] = {"policies",        "namespacePolicies", "compat",  "limits",
                                         "configNamespace", "learning",          "metrics", "record"};

static int unknown_key(const char *file, const cJSON *item, struct prg_error *err)
{
    const char *nearest = prg_text_nearest(item->string, known_keys, PRG_COUNT(known_keys));
    struct prg_json_position at = prg_json_position(item);
    return prg_fail(
        err, PRG_INVALID, "%s:%u:%u: unknown setting '%s'%s%s%s", file, at.line, at.column, item->string,
        nearest ? "; did you mean '"
                : "; known: policies, namespacePolicies, compat, limits, configNamespace, learning, metrics, record",
        nearest ? nearest : "", nearest ? "'?" : "");
}

static int read_file(struct prg_settings *settings, const char *file, struct prg_error *err)
{
    struct prg_yaml_docs docs;
    const cJSON *item;
    int rc = prg_yaml_load_file(&settings->arena, file, NULL, &docs, err);
    if (rc != PRG_OK)
        return rc;
    if (docs.count != 1 || !prg_json_is_object(docs.items[0]))
        return prg_fail(err, PRG_INVALID, "%s:1: the settings are one YAML object", file);
    prg_json_each (item, docs.items[0]) {
        const char *key = item->string, *text = prg_json_text(item);
        if (strcmp(key, "limits") == 0)
            rc = read_limits(settings, file, item, err);
        else if (strcmp(key, "namespacePolicies") == 0)
            rc = read_namespace_policies(settings, file, item, err);
        else if (strcmp(key, "learning") == 0)
            rc = read_learning(settings, file, item, err);
        else if (strcmp(key, "metrics") == 0)
            rc = read_metrics(settings, file, item, err);
        else if (strcmp(key, "policies") != 0 && strcmp(key, "compat") != 0 && strcmp(key, "configNamespace") != 0 &&
                 strcmp(key, "record") != 0)
            rc = unknown_key(file, item, err);
        else if (!text)
            rc = place_error(err, file, item, "a text is needed: ", key);
        else if (strcmp(key, "policies") == 0)
            settings->policies = text;
        else if (strcmp(key, "record") == 0)
            settings->record = text;
        else if (strcmp(key, "configNamespace") == 0)
            settings->config_namespace = text;
        else if (set_compat(settings, text, err) != PRG_OK)
            rc = prg_wrap(err, "%s:%u", file, prg_json_position(item).line);
        if (rc != PRG_OK)
            return rc;
    }
    return PRG_OK;
}

bool prg_cli_whole_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
    if (!*text || text[strspn(text, "0123456789")])
        return false;
    errno = 0;
    *ret = strtoull(text, NULL, 10);
    return !errno && *ret >= least && *ret <= most;
}

static int flag_limit(struct prg_settings *settings, const char *text, struct prg_error *err)
{
    const char *equals = strchr(text, '=');
    for (int i = 0; equals && i < LIMIT_COUNT; i++) {
        size_t length = strlen(limits[i].name);
        uint64_t value;
        if (strncmp(text, limits[i].name, length) != 0 || text[length] != '=')
            continue;
        if (!prg_cli_whole_number(equals + 1, 1, UINT64_MAX, &value))
            break;
        set_limit(&settings->limits, i, value);
        return PRG_OK;
    }
    return prg_fail(err, PRG_INVALID,
                    "--limit %s: NAME=N with NAME one of steps, memory, block, result, wall-ms and N above 0", text);
}

int prg_settings_load(const struct prg_cli_options *options, struct prg_settings *ret, struct prg_error *err)
{
    struct stat info;
    int rc = PRG_OK;
    *ret = (struct prg_settings){.compat = &prg_compat_fixed, .config_namespace = "kserve"};
    prg_arena_init(&ret->arena);
    if (options->config)
        rc = read_file(ret, options->config, err);
    if (rc == PRG_OK && options->compat)
        rc = set_compat(ret, options->compat, err);
    for (size_t i = 0; rc == PRG_OK && i < options->limits.count; i++)
        rc = flag_limit(ret, options->limits.items[i], err);
    if (options->policies)
        ret->policies = options->policies;
    if (options->config_namespace)
        ret->config_namespace = options->config_namespace;
    if (options->lc_server)
        ret->learning.lc_server = options->lc_server;
    if (options->edge_listen)
        ret->edge_listen = options->edge_listen;
    if (options->metrics_listen)
        ret->metrics_listen = options->metrics_listen;
    if (options->record)
        ret->record = options->record;
    if (rc == PRG_OK && options->namespace_policies &&
        prg_policy_names_read(options->namespace_policies, &ret->namespace_policies, err) != PRG_OK)
        rc = prg_wrap(err, "--namespace-policies %s", options->namespace_policies);
    if (rc == PRG_OK && ret->policies && !prg_text_has_prefix(ret->policies, "configmap:") &&
        stat(ret->policies, &info) != 0)
        rc = prg_fail(err, PRG_IO,
                      "--policies %s: %s; a folder (perigee policies export DIR makes one), "
                      "configmap:NAMESPACE/NAME or a file with its manifest",
                      ret->policies, errno == ENOENT ? "no such folder or file" : strerror(errno));
    if (rc != PRG_OK)
        prg_arena_release(&ret->arena);
    return rc;
}

int prg_cli_clock_and_seed(const struct prg_cli_options *options, int64_t *ret_now_ns, uint64_t *ret_seed,
                           struct prg_error *err)
{
    const char *now = options->now, *seed = options->seed;
    *ret_now_ns = prg_clock_wall_ns();
    *ret_seed = 1;
    if (now && !prg_clock_parse(now, ret_now_ns))
        return prg_fail(err, PRG_INVALID, "--now %s: a time as in 2026-06-01T00:00:00Z", now);
    if (seed && !prg_cli_whole_number(seed, 0, UINT64_MAX, ret_seed))
        return prg_fail(err, PRG_INVALID, "--seed %s: a whole number from 0 to %" PRIu64, seed, UINT64_MAX);
    return PRG_OK;
}
