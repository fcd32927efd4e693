// SPDX-License-Identifier: Apache-2.0
// cmd_version.c: `perigee version`.
#include <lua.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>
#include <yaml.h>

#include "cli/commands.h"

static int run(struct prg_cli_options *options)
{
    if (options->arg_count) {
        fprintf(stderr, "error: perigee version: unexpected argument '%s'\n", options->args[0]);
        return PRG_EXIT_TROUBLE;
    }
    if (options->output && strcmp(options->output, "json") == 0)
        printf("{\"version\": \"%s\", \"lua\": \"%s\", \"libuv\": \"%s\", \"libyaml\": \"%s\"}\n", PRG_VERSION,
               LUA_RELEASE, uv_version_string(), yaml_get_version_string());
    else
        printf("perigee %s (%s, libuv %s, libyaml %s)\n", PRG_VERSION, LUA_RELEASE, uv_version_string(),
               yaml_get_version_string());
    return PRG_EXIT_DONE;
}

static const struct prg_option options[] = {
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT", "json", "json"},
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_version = {
    .name = "version",
    .summary = "Print the version of perigee and of the libraries it runs on",
    .usage = "version [-o json]",
    .text = NULL,
    .options = options,
    .run = run,
};
