// SPDX-License-Identifier: Apache-2.0
// cmd_completion.c: `perigee completion SHELL`: made from the option tables, so that it cannot fall behind them.
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

static void bash(void)
{
    printf("# bash completion for perigee: source <(perigee completion bash)\n_perigee() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W '");
    for (const struct prg_command *const *command = prg_commands; *command; command++)
        printf("%s ", (*command)->name);
    printf("help' -- \"$cur\")); return; fi\n    case $command,$prev in\n");
    for (const struct prg_command *const *command = prg_commands; *command; command++)
        for (const struct prg_option *option = (*command)->options; option->name; option++) {
            if (option->kind == PRG_OPTION_FLAG)
                continue;
            printf("    %s,--%s", (*command)->name, option->name);
            if (option->letter)
                printf("|%s,-%c", (*command)->name, option->letter);
            if (option->choices) {
                printf(") COMPREPLY=($(compgen -W '");
                for (const char *p = option->choices; *p; p++)
                    putchar(*p == '|' ? ' ' : *p);
                printf("' -- \"$cur\")); return ;;\n");
            } else {
                printf(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
            }
        }
    printf("    esac\n    case $command in\n");
    for (const struct prg_command *const *command = prg_commands; *command; command++) {
        printf("    %s) COMPREPLY=($(compgen -W '", (*command)->name);
        for (const struct prg_option *option = (*command)->options; option->name; option++)
            printf("--%s ", option->name);
        printf("' -- \"$cur\") $(compgen -f -- \"$cur\")) ;;\n");
    }
    printf("    esac\n}\ncomplete -o filenames -F _perigee perigee\n");
}

// text as one word of fish.
static void put_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish(void)
{
    for (const struct prg_command *const *command = prg_commands; *command; command++) {
        printf("complete -c perigee -n __fish_use_subcommand -a %s -d ", (*command)->name);
        put_quoted((*command)->summary);
        putchar('\n');
        for (const struct prg_option *option = (*command)->options; option->name; option++) {
            printf("complete -c perigee -n '__fish_seen_subcommand_from %s' -l %s", (*command)->name, option->name);
            if (option->letter)
                printf(" -s %c", option->letter);
            if (option->kind != PRG_OPTION_FLAG)
                printf(" -r");
            if (option->choices) {
                printf(" -f -a '");
                for (const char *p = option->choices; *p; p++)
                    putchar(*p == '|' ? ' ' : *p);
                putchar('\'');
            }
            printf(" -d ");
            put_quoted(option->help);
            putchar('\n');
        }
    }
}

static int run(struct prg_cli_options *options)
{
    const char *shell = options->arg_count == 1 ? options->args[0] : "";
    if (strcmp(shell, "bash") == 0) {
        bash();
    } else if (strcmp(shell, "zsh") == 0) {
        printf("autoload -U +X bashcompinit && bashcompinit\n");
        bash();
    } else if (strcmp(shell, "fish") == 0) {
        fish();
    } else {
        fprintf(stderr, "error: perigee completion: bash, zsh or fish\n");
        return PRG_EXIT_TROUBLE;
    }
    return PRG_EXIT_DONE;
}

static const struct prg_option options[] = {PRG_OPTION_HELP, PRG_OPTIONS_END};

const struct prg_command prg_command_completion = {
    .name = "completion",
    .summary = "Print a completion script for bash, zsh or fish",
    .usage = "completion bash|zsh|fish",
    .text = NULL,
    .options = options,
    .run = run,
};
