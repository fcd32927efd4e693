// SPDX-License-Identifier: Apache-2.0
// cmd_eval.c: `perigee eval`: one Lua file in the sandbox, once or for each line of a file of JSON.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

struct evaluation {
    const struct prg_cli_options *options;
    struct prg_script *script;
    bool has_error;
};

static int read_all(const char *path, struct prg_strbuf *out, struct prg_error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char chunk[65536];
    size_t n;
    if (!file)
        return prg_fail(err, PRG_IO, "%s: %s", path, strerror(errno));
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        prg_strbuf_add(out, chunk, n);
    bool failed = ferror(file) != 0;
    int saved = errno;
    if (file != stdin)
        fclose(file);
    return failed ? prg_fail(err, PRG_IO, "%s: %s", path, strerror(saved)) : PRG_OK;
}

static void print_error(const struct prg_error *err)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    char text[PRG_ERROR_LINE];
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    cJSON *object = prg_json_object(&arena);
    prg_json_set_string(&arena, object, "error", prg_error_text(err, text, sizeof(text)));
    prg_json_print(&out, object, PRG_JSON_SORTED);
    prg_strbuf_putc(&out, '\n');
    prg_cli_write(&out);
}

// Runs the script on input (NULL: without) and prints its value, or the error, as one line.
static void evaluate(struct evaluation *evaluation, const cJSON *input)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_error err = {0};
    cJSON *value = NULL;
    const struct prg_cli_options *options = evaluation->options;
    struct prg_script_call call = {.as = options->as ? options->as : "input",
                                   .function = options->call,
                                   .is_spread = options->spread,
                                   .wants_all = options->all_results};
    if (prg_script_call(evaluation->script, &arena, &call, input, &value, &err) != PRG_OK) {
        evaluation->has_error = true;
        print_error(&err);
        return;
    }
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    if (value)
        prg_json_print(&out, value, PRG_JSON_SORTED);
    else
        prg_strbuf_puts(&out, "null");
    prg_strbuf_putc(&out, '\n');
    prg_cli_write(&out);
}

static void evaluate_line(struct evaluation *evaluation, const char *line, size_t length, const char *place)
{
    prg_auto_arena arena;
    struct prg_error err = {0};
    cJSON *input = NULL;
    prg_arena_init(&arena);
    if (prg_json_parse(&arena, line, length, NULL, &input, &err) == PRG_OK) {
        evaluate(evaluation, input);
        return;
    }
    prg_wrap(&err, "%s", place);
    evaluation->has_error = true;
    print_error(&err);
}

// Runs the script once for each KIND/NAME behind the file.
static int evaluate_objects(struct evaluation *evaluation, struct prg_error *err)
{
    struct prg_cli_options named = *evaluation->options;
    prg_auto_arena arena;
    struct prg_store *store = NULL;
    prg_arena_init(&arena);
    named.args++;
    named.arg_count--;
    int rc = prg_source_open(&named, &arena, &store, err);
    for (int i = 0; rc == PRG_OK && i < named.arg_count; i++) {
        struct prg_key key;
        const cJSON *object;
        rc = prg_source_object(&named, store, &arena, named.args[i], &key, &object, err);
        if (rc == PRG_OK)
            evaluate(evaluation, object);
    }
    prg_store_free(store);
    return rc;
}

static void evaluate_lines(struct evaluation *evaluation, const char *name, const struct prg_strbuf *text)
{
    const char *p = text->text, *end = p + text->length;
    for (unsigned number = 1; p < end; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((stop ? stop : end) - p);
        char place[320];
        snprintf(place, sizeof(place), "%.256s, line %u", name, number);
        if (length && p[length - 1] == '\r')
            length--;
        if (length)
            evaluate_line(evaluation, p, length, place);
        p = stop ? stop + 1 : end;
    }
}

static int run(struct prg_cli_options *options)
{
    struct evaluation evaluation = {.options = options};
    struct prg_settings settings;
    struct prg_error err = {0};
    prg_auto_strbuf script = PRG_STRBUF_INIT, input = PRG_STRBUF_INIT;
    if (options->arg_count < 1 || (options->arg_count > 1 && options->input)) {
        fprintf(stderr, options->arg_count ? "error: perigee eval: --input and KIND/NAME exclude each other\n"
                                           : "error: perigee eval: one Lua file is needed; see perigee eval --help\n");
        return PRG_EXIT_TROUBLE;
    }
    const char *name = options->args[0];
    if (prg_settings_load(options, &settings, &err) != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    int rc = read_all(name, &script, &err);
    if (rc == PRG_OK && options->input)
        rc = read_all(options->input, &input, &err);
    if (rc == PRG_OK)
        rc = prg_script_load(name, script.text, script.length, &settings.limits, &evaluation.script, &err);
    if (rc == PRG_OK) {
        if (options->input)
            evaluate_lines(&evaluation, options->input, &input);
        else if (options->arg_count > 1)
            rc = evaluate_objects(&evaluation, &err);
        else
            evaluate(&evaluation, NULL);
    }
    prg_script_free(evaluation.script);
    prg_arena_release(&settings.arena);
    if (rc != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    return evaluation.has_error ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
}

static const struct prg_option options[] = {
    {"input", 0, PRG_OPTION_TEXT, PRG_AT(input), "NDJSON", "run once for each line of this file, - for standard input",
     NULL},
    PRG_OPTIONS_SOURCE,
    {"as", 0, PRG_OPTION_TEXT, PRG_AT(as), "NAME", "global that holds the line or object (input)", NULL},
    {"call", 0, PRG_OPTION_TEXT, PRG_AT(call), "FUNCTION",
     "print what this function of the script returns for the line", NULL},
    {"spread", 0, PRG_OPTION_FLAG, PRG_AT(spread), NULL,
     "the line is a list of arguments of --call, which may change them", NULL},
    {"all-results", 0, PRG_OPTION_FLAG, PRG_AT(all_results), NULL, "print all results of --call as a list", NULL},
    {"limit", 0, PRG_OPTION_LIST, PRG_AT(limits), "NAME=N", "limit per run: steps, memory, block, result, wall-ms",
     NULL},
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_eval = {
    .name = "eval",
    .summary = "Run a Lua file in the policies' sandbox and print its value as JSON",
    .usage = "eval FILE.lua [--input NDJSON | KIND/NAME...] [--as NAME] [--call FUNCTION]",
    .text = "With KIND/NAME it runs once for each of these objects, from -f, --store, --replay or the cluster.\n"
            "Each value is one line of JSON. A line that raises prints {\"error\": \"...\"}, and the exit status is 1 "
            "at the end. Scripts written for Lua 5.1 (health checks of Argo CD, interpreters of Karmada) run as they\n"
            "are: unpack, table.getn, string.gfind, math.pow and require(\"kube\") are there.\n",
    .options = options,
    .run = run,
};
