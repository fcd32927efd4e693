// SPDX-License-Identifier: Apache-2.0
// cmd_why.c: `perigee why`: the decision record of one service or job, and who set a field.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/replaying.h"
#include "explain/why.h"
#include "yaml/dump.h"

struct session {
    const struct prg_cli_options *options;
    struct prg_arena arena;
    struct prg_settings settings;
    struct prg_inputs inputs;
    struct prg_store *store;
    struct prg_why_input in;
    const char *field; // or NULL
};

static int read_subject(struct session *session, struct prg_error *err)
{
    struct prg_cli_options named = *session->options;
    struct prg_key *keys;
    size_t count;
    if (named.arg_count < 1 || named.arg_count > 2)
        return prg_fail(err, PRG_INVALID, "perigee why KIND/NAME [FIELD]: one subject, and perhaps one of its fields");
    session->field = named.arg_count == 2 ? named.args[1] : NULL;
    named.arg_count = 1;
    if (prg_source_subjects(&named, session->store, &session->arena, &keys, &count, err) != PRG_OK)
        return err->code;
    if (count > 1)
        return prg_fail(err, PRG_CONFLICT, "%s: in namespaces %s and %s: give -n", named.args[0], keys[0].ns,
                        keys[1].ns);
    session->in.subject = keys[0];
    return PRG_OK;
}

static int open_session(struct session *session, struct prg_error *err)
{
    struct prg_inputs *inputs = &session->inputs;
    int rc = prg_settings_load(session->options, &session->settings, err);
    if (rc == PRG_OK)
        rc = prg_source_open(session->options, &session->arena, &session->store, err);
    if (rc == PRG_OK)
        rc = read_subject(session, err);
    if (rc == PRG_OK)
        rc = prg_inputs_open(session->options, session->store, &session->in.subject, &session->settings, inputs, err);
    if (rc != PRG_OK)
        return rc;
    session->in.store = inputs->reader;
    session->in.compat = session->settings.compat;
    session->in.planner = inputs->planner;
    session->in.now_ns = inputs->now_ns;
    session->in.seed = inputs->seed;
    return PRG_OK;
}

static void close_session(struct session *session)
{
    prg_inputs_close(&session->inputs);
    prg_store_free(session->store);
    prg_arena_release(&session->settings.arena);
    prg_arena_release(&session->arena);
}

static void print(const struct session *session, const cJSON *document)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    const char *output = session->options->output ? session->options->output : "text";
    if (strcmp(output, "json") == 0) {
        prg_json_print(&out, document, PRG_JSON_SORTED | PRG_JSON_PRETTY);
        prg_strbuf_putc(&out, '\n');
    } else if (strcmp(output, "yaml") == 0) {
        prg_yaml_dump(&out, document);
    } else if (session->field) {
        prg_why_field_text(document, &out);
    } else {
        prg_why_text(document, &out);
    }
    prg_cli_write(&out);
}

static int answer(struct session *session, bool *ret_has_error, struct prg_error *err)
{
    struct prg_plan *plan = prg_plan_new(&session->arena);
    cJSON *document = NULL;
    int rc = prg_planner_plan(session->in.planner, session->in.store, &session->in.subject, session->in.now_ns,
                              session->in.seed, plan, err);
    if (rc == PRG_OK && session->field)
        rc = prg_why_field(&session->arena, &session->in, plan, session->options->object, session->field, &document,
                           err);
    else if (rc == PRG_OK)
        document = prg_why_document(&session->arena, &session->in, plan);
    if (rc == PRG_OK)
        rc = prg_reader_trouble(session->in.store, err);
    if (rc != PRG_OK)
        return rc;
    *ret_has_error = plan->error != NULL;
    print(session, document);
    return PRG_OK;
}

static int run(struct prg_cli_options *options)
{
    struct session session = {.options = options};
    struct prg_error err = {0};
    bool has_error = false;
    prg_arena_init(&session.arena);
    int rc = open_session(&session, &err);
    if (rc == PRG_OK)
        rc = answer(&session, &has_error, &err);
    if (rc != PRG_OK)
        prg_cli_error(&err, PRG_EXIT_TROUBLE);
    close_session(&session);
    return rc != PRG_OK ? PRG_EXIT_TROUBLE : has_error ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
}

static const struct prg_option options[] = {
    PRG_OPTIONS_SOURCE,
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT", "text (default), or the record as json or yaml",
     "text|json|yaml"},
    {"object", 0, PRG_OPTION_TEXT, PRG_AT(object), "KIND[/NAME]", "look for FIELD in this rendered object only", NULL},
    {"now", 0, PRG_OPTION_TEXT, PRG_AT(now), "TIME", "the clock of the plan, RFC 3339", NULL},
    {"seed", 0, PRG_OPTION_TEXT, PRG_AT(seed), "N", "seed of random suffixes (1)", NULL},
    PRG_OPTIONS_POLICY,
    PRG_OPTION_NAMESPACE_POLICIES,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_why = {
    .name = "why",
    .summary = "Say why a service or job is planned as it is, and who set a field",
    .usage = "why [-f FILE...] [--store dir:PATH] KIND/NAME [FIELD]",
    .text =
        "The decision record: the runtime chosen, every other one with the reason why it lost, dropped annotations,\n"
        "label layers, GPU arithmetic, the objects and what applying them would change, the last change.\n"
        "With FIELD, as in .spec.template.spec.containers[0].env[MODEL_NAME], the layer, policy or rule that set "
        "it.\n\n"
        "  perigee why -f runtime-catalog -R -f iris.yaml inferenceservice/iris\n\n"
        "Exit status: 0 done, 1 the plan has an error (which is explained), 2 trouble with the input, or there is no\n"
        "such field.\n",
    .options = options,
    .run = run,
};
