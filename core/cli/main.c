// SPDX-License-Identifier: Apache-2.0
// main.c: picks the command.
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "stdlib/natives.h"

const struct prg_command *const prg_commands[] = {
    &prg_command_controller, &prg_command_plan,  &prg_command_why,     &prg_command_diff,       &prg_command_replay,
    &prg_command_eval,       &prg_command_test,  &prg_command_repl,    &prg_command_policies,   &prg_command_simulate,
    &prg_command_check,      &prg_command_types, &prg_command_version, &prg_command_completion, NULL,
};

static void help(FILE *out)
{
    fprintf(
        out,
        "Perigee: a Lua-scriptable policy runtime for Kubernetes.\n\nUsage: perigee COMMAND [OPTIONS]\n\nCommands:\n");
    for (const struct prg_command *const *command = prg_commands; *command; command++)
        fprintf(out, "  %-12s %s\n", (*command)->name, (*command)->summary);
    fprintf(out, "\nperigee COMMAND --help says more of each. Results go to standard output, notes to standard error.\n"
                 "Exit status: 0 done, 1 a plan, check or test failed, 2 misuse, unreadable input or trouble.\n");
}

static const struct prg_command *find_command(const char *name)
{
    for (const struct prg_command *const *command = prg_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

static int unknown_command(const char *name)
{
    struct prg_nearest nearest = {.text = name};
    for (const struct prg_command *const *command = prg_commands; *command; command++)
        prg_nearest_offer(&nearest, (*command)->name);
    fprintf(stderr, "error: unknown command '%s'%s%s%s; see perigee --help\n", name,
            nearest.name ? "; did you mean '" : "", nearest.name ? nearest.name : "", nearest.name ? "'?" : "");
    return PRG_EXIT_TROUBLE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        help(stderr);
        return PRG_EXIT_TROUBLE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        help(stdout);
        return PRG_EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0)
        name = "version";
    bool wants_help = strcmp(name, "help") == 0;
    const struct prg_command *command = find_command(wants_help ? argv[2] : name);
    if (!command)
        return unknown_command(wants_help ? argv[2] : name);
    if (wants_help) {
        prg_command_help(command);
        return PRG_EXIT_DONE;
    }
    struct prg_cli_options options;
    int code = PRG_EXIT_TROUBLE;
    signal(SIGPIPE, SIG_IGN); // `perigee plan | head` ends quietly
    prg_stdlib_register();
    if (prg_options_parse(command, argc - 1, argv + 1, &options)) {
        if (options.help)
            prg_command_help(command);
        code = options.help ? PRG_EXIT_DONE : command->run(&options);
    }
    prg_options_release(&options);
    return prg_cli_finish() ? code : PRG_EXIT_TROUBLE;
}
