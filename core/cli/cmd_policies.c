// SPDX-License-Identifier: Apache-2.0
// cmd_policies.c: `perigee policies export|list`.
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

struct listing {
    struct prg_table *table;
};

static void list_file(const char *policy, const char *file, bool shipped, void *ctx)
{
    struct listing *listing = ctx;
    const char *cells[] = {policy, file, shipped ? "shipped" : "set"};
    prg_table_row(listing->table, cells);
}

static int list(struct prg_cli_options *options)
{
    static const char *const head[] = {"POLICY", "FILE", "FROM"};
    struct prg_settings settings;
    struct prg_policy_set *set = NULL;
    struct prg_error err = {0};
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    if (prg_settings_load(options, &settings, &err) != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    int rc = prg_cli_set_load(options, settings.policies, NULL, &settings.limits, false, &set, &err);
    if (rc == PRG_OK) {
        struct listing listing = {prg_table_new(PRG_COUNT(head))};
        prg_table_row(listing.table, head);
        prg_policy_set_each_file(set, list_file, &listing);
        prg_table_print(listing.table, &out);
        prg_strbuf_printf(&out, "revision %s\n", prg_policy_set_revision(set));
        prg_cli_write(&out);
    }
    prg_policy_set_unref(set);
    prg_arena_release(&settings.arena);
    return rc == PRG_OK ? PRG_EXIT_DONE : prg_cli_error(&err, PRG_EXIT_TROUBLE);
}

static int run(struct prg_cli_options *options)
{
    struct prg_error err = {0};
    const char *verb = options->arg_count ? options->args[0] : "";
    if (strcmp(verb, "list") == 0 && options->arg_count == 1)
        return list(options);
    if (strcmp(verb, "export") != 0 || options->arg_count != 2) {
        fprintf(stderr, "error: perigee policies: export DIR or list; see perigee policies --help\n");
        return PRG_EXIT_TROUBLE;
    }
    if (prg_policy_export(options->args[1], options->force, &err) != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    fprintf(stderr, "shipped policies written to %s; edit them and pass --policies %s\n", options->args[1],
            options->args[1]);
    return PRG_EXIT_DONE;
}

static const struct prg_option options[] = {
    {"force", 0, PRG_OPTION_FLAG, PRG_AT(force), NULL, "overwrite files that were edited", NULL},
    PRG_OPTIONS_POLICY,
    PRG_OPTIONS_CLUSTER,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_policies = {
    .name = "policies",
    .summary = "Write the shipped policies out for editing, or list a set's files",
    .usage = "policies export DIR | policies list [--policies SET]",
    .text = NULL,
    .options = options,
    .run = run,
};
