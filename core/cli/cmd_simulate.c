// SPDX-License-Identifier: Apache-2.0
// cmd_simulate.c: `perigee simulate`: learning jobs against a policy, with virtual time.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "simulate/scenario.h"
#include "simulate/timeline.h"
#include "yaml/load.h"

struct session {
    const struct prg_cli_options *options;
    struct prg_settings settings;
    struct prg_arena arena;
    struct prg_policy_set *policies;
    struct prg_strbuf out;
};

static int load_policies(struct session *session, struct prg_error *err)
{
    int rc = prg_settings_load(session->options, &session->settings, err);
    if (rc != PRG_OK)
        return rc;
    struct prg_policy_options load = {.folder = session->settings.policies, .limits = session->settings.limits};
    return prg_policy_set_load(&load, &session->policies, err);
}

// A scenario is one object with steps, in JSON or YAML.
static int load_scenario(struct session *session, cJSON **ret, struct prg_error *err)
{
    struct prg_yaml_docs docs;
    const char *path = session->options->args[0];
    int rc = prg_yaml_load_file(&session->arena, path, NULL, &docs, err);
    if (rc != PRG_OK)
        return rc;
    if (docs.count != 1 || !prg_json_is_object(docs.items[0]))
        return prg_fail(err, PRG_INVALID, "%s: a scenario is one object with options, objects and steps", path);
    *ret = docs.items[0];
    return PRG_OK;
}

static int run_scenario(struct session *session, struct prg_error *err)
{
    cJSON *scenario = NULL, *answer = NULL;
    int rc = load_scenario(session, &scenario, err);
    if (rc == PRG_OK)
        rc = prg_simulate_scenario(&session->arena, scenario, prg_policy_set_decider(session->policies), &answer, err);
    if (rc != PRG_OK)
        return rc == PRG_IO ? rc : prg_wrap(err, "%s", session->options->args[0]);
    if (prg_text_equal(session->options->output, "json")) {
        prg_json_print(&session->out, answer, PRG_JSON_SORTED);
        prg_strbuf_putc(&session->out, '\n');
    } else {
        prg_simulate_timeline(answer, &session->out);
    }
    return PRG_OK;
}

static int run(struct prg_cli_options *options)
{
    struct session session = {.options = options};
    struct prg_error err = {0};
    if (options->arg_count != 1) {
        fprintf(stderr, "error: perigee simulate: one file is needed; see perigee simulate --help\n");
        return PRG_EXIT_TROUBLE;
    }
    prg_arena_init(&session.arena);
    int rc = load_policies(&session, &err);
    if (rc == PRG_OK)
        rc = run_scenario(&session, &err);
    if (rc == PRG_OK)
        prg_cli_write(&session.out);
    prg_policy_set_unref(session.policies);
    prg_strbuf_release(&session.out);
    prg_arena_release(&session.arena);
    prg_arena_release(&session.settings.arena);
    return rc == PRG_OK ? PRG_EXIT_DONE : prg_cli_error(&err, PRG_EXIT_TROUBLE);
}

static const struct prg_option options[] = {
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT", "table: a timeline; json: everything that happened",
     "json|table"},
    PRG_OPTIONS_POLICY,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_simulate = {
    .name = "simulate",
    .summary = "Run learning jobs against a policy, with virtual time",
    .usage = "simulate SCENARIO [-o json|table]",
    .text = "A scenario is one object: objects (jobs, Datasets, Models, Secrets, pods) that exist at the start, and "
            "steps:\n"
            "reports of edge nodes, phases of pods, faults, time.\n",
    .options = options,
    .run = run,
};
