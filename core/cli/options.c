// SPDX-License-Identifier: Apache-2.0
// options.c: one option table a command serves parsing (getopt_long), --help and completion.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static size_t option_count(const struct prg_command *command)
{
    size_t n = 0;
    while (command->options[n].name)
        n++;
    return n;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (const char *p = choices; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (strncmp(p, value, length) == 0 && (p[length] == '|' || !p[length]))
            return true;
    return false;
}

static bool set_option(const struct prg_command *command, const struct prg_option *option, char *value,
                       struct prg_cli_options *ret)
{
    void *target = (char *)ret + option->offset;
    if (option->choices && !is_choice(option->choices, value)) {
        fprintf(stderr, "error: perigee %s: --%s %s: one of %s\n", command->name, option->name, value, option->choices);
        return false;
    }
    switch (option->kind) {
    case PRG_OPTION_FLAG:
        *(bool *)target = true;
        break;
    case PRG_OPTION_TEXT:
        *(const char **)target = value;
        break;
    case PRG_OPTION_LIST:
        prg_vec_push(target, value);
        break;
    }
    return true;
}

bool prg_options_parse(const struct prg_command *command, int argc, char **argv, struct prg_cli_options *ret)
{
    size_t count = option_count(command), letters = 0;
    struct option *long_options = prg_xcalloc(count + 1, sizeof(*long_options));
    char *short_options = prg_xcalloc(count * 2 + 2, 1);
    bool ok = true;
    short_options[letters++] = ':'; // we print the complaints
    for (size_t i = 0; i < count; i++) {
        const struct prg_option *option = &command->options[i];
        int has_arg = option->kind == PRG_OPTION_FLAG ? no_argument : required_argument;
        long_options[i] = (struct option){option->name, has_arg, NULL, 256 + (int)i};
        if (option->letter) {
            short_options[letters++] = option->letter;
            if (has_arg == required_argument)
                short_options[letters++] = ':';
        }
    }
    *ret = (struct prg_cli_options){0};
    opterr = 0;
    optind = 1;
    int c;
    while (ok && (c = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        const struct prg_option *option = NULL;
        for (size_t i = 0; i < count; i++)
            if (c == 256 + (int)i || (command->options[i].letter && c == command->options[i].letter))
                option = &command->options[i];
        if (option) {
            ok = set_option(command, option, optarg, ret);
        } else {
            char letter[3] = {'-', (char)optopt, 0};
            fprintf(stderr, "error: perigee %s: %s %s; see perigee %s --help\n", command->name,
                    c == ':' ? "a value is missing after" : "unknown option",
                    optopt > 0 && optopt < 256 ? letter : argv[optind - 1], command->name);
            ok = false;
        }
    }
    ret->args = argv + optind;
    ret->arg_count = argc - optind;
    free(long_options);
    free(short_options);
    return ok;
}

void prg_options_release(struct prg_cli_options *options)
{
    prg_vec_release(&options->files);
    prg_vec_release(&options->limits);
    prg_vec_release(&options->with);
    prg_vec_release(&options->without);
    prg_vec_release(&options->namespaces);
}

void prg_command_help(const struct prg_command *command)
{
    printf("%s\n\nUsage: perigee %s\n\n%s%sOptions:\n", command->summary, command->usage,
           command->text ? command->text : "", command->text ? "\n" : "");
    for (const struct prg_option *option = command->options; option->name; option++) {
        char left[64], letter[8] = "    ";
        if (option->letter)
            snprintf(letter, sizeof(letter), "-%c, ", option->letter);
        snprintf(left, sizeof(left), "  %s--%s%s%s", letter, option->name, option->arg ? " " : "",
                 option->arg ? option->arg : "");
        printf("%-34s %s%s%s%s\n", left, option->help, option->choices ? " (" : "",
               option->choices ? option->choices : "", option->choices ? ")" : "");
    }
}
