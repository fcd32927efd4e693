// SPDX-License-Identifier: Apache-2.0
// cmd_types.c: `perigee types DIR`: what editors need to complete and check policies.
#include <stdio.h>

#include "check/check.h"
#include "cli/commands.h"

static int run(struct prg_cli_options *options)
{
    struct prg_error err = {0};
    if (options->arg_count != 1) {
        fprintf(stderr, "error: perigee types: one folder is needed; see perigee types --help\n");
        return PRG_EXIT_TROUBLE;
    }
    if (prg_check_write_types(options->args[0], &err) != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    fprintf(stderr, "types written to %s; name it in workspace.library of .luarc.json\n", options->args[0]);
    return PRG_EXIT_DONE;
}

static const struct prg_option options[] = {PRG_OPTION_HELP, PRG_OPTIONS_END};

const struct prg_command prg_command_types = {
    .name = "types",
    .summary = "Write type declarations of policies, their library and all kinds for editors (LuaLS)",
    .usage = "types DIR",
    .text =
        "With DIR in workspace.library of .luarc.json (and perigee and options among diagnostics.globals) an editor\n"
        "completes service.spec.predictor.model. and marks fields that no object has.\n",
    .options = options,
    .run = run,
};
