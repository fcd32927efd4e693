// SPDX-License-Identifier: Apache-2.0
// cmd_plan.c: `perigee plan`: prints what would be made, writes nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/replaying.h"
#include "controller/planner.h"
#include "controller/summary.h"
#include "kube/snapshot.h"
#include "learning/names.h"
#include "object/meta.h"
#include "record/record.h"
#include "yaml/dump.h"
#include "json/pointer.h"

enum format { FORMAT_TABLE, FORMAT_WIDE, FORMAT_NAME, FORMAT_YAML, FORMAT_JSON };

struct session {
    const struct prg_cli_options *options;
    struct prg_arena arena; // sources
    struct prg_settings settings;
    struct prg_inputs inputs;
    struct prg_record *record; // or NULL
    struct prg_store *store;
    struct prg_key *keys;
    size_t key_count;
    enum format format;
    bool has_error; // some plan has one
    struct prg_strbuf out;
};

static enum format format_of(const char *text)
{
    static const char *const names[] = {"", "wide", "name", "yaml", "json"};
    for (int i = 0; text && i < (int)PRG_COUNT(names); i++)
        if (strcmp(text, names[i]) == 0)
            return (enum format)i;
    return FORMAT_TABLE;
}

static int open_record(struct session *session, struct prg_error *err)
{
    struct prg_record_options record = {.path = session->options->record,
                                        .replaces = true,
                                        .has_versions = prg_snapshot_is(session->store),
                                        .limits = session->settings.limits};
    if (prg_record_open(&record, &session->record, err) != PRG_OK)
        return prg_wrap(err, "--record");
    prg_planner_record(session->inputs.planner, session->record);
    return PRG_OK;
}

static int open_session(struct session *session, struct prg_error *err)
{
    struct prg_inputs *inputs = &session->inputs;
    int rc = prg_settings_load(session->options, &session->settings, err);
    if (rc == PRG_OK)
        rc = prg_source_open(session->options, &session->arena, &session->store, err);
    if (rc == PRG_OK)
        rc = prg_source_subjects(session->options, session->store, &session->arena, &session->keys, &session->key_count,
                                 err);
    // Several subjects are planned from one state.
    if (rc == PRG_OK)
        rc = prg_inputs_open(session->options, session->store, session->key_count == 1 ? &session->keys[0] : NULL,
                             &session->settings, inputs, err);
    if (rc == PRG_OK && session->options->record)
        rc = open_record(session, err);
    return rc;
}

static void close_session(struct session *session)
{
    prg_inputs_close(&session->inputs);
    prg_store_free(session->store);
    prg_arena_release(&session->settings.arena);
    prg_arena_release(&session->arena);
    prg_strbuf_release(&session->out);
}

// ---- one plan in each format ----

static void print_names(struct session *session, const struct prg_plan *plan)
{
    const cJSON *object;
    prg_json_each (object, plan->objects) {
        const char *group = prg_api_group(plan->arena, prg_json_get_text(object, "apiVersion"));
        char *kind = prg_arena_strdup(plan->arena, prg_json_get_text(object, "kind"));
        for (char *p = kind; *p; p++)
            *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + ('a' - 'A') : *p);
        prg_strbuf_printf(&session->out, "%s%s%s/%s\n", kind, group[0] ? "." : "", group, prg_meta_name(object));
    }
}

static void print_yaml(struct session *session, struct prg_plan *plan)
{
    const cJSON *object;
    if (plan->error) {
        prg_strbuf_printf(&session->out, "# %s/%s: error: ", prg_meta_namespace(plan->resource),
                          prg_meta_name(plan->resource));
        for (const char *p = plan->error; *p; p++) // a comment is one line
            prg_strbuf_putc(&session->out, (unsigned char)*p < ' ' ? ' ' : *p);
        prg_strbuf_putc(&session->out, '\n');
    }
    prg_json_each (object, plan->objects) {
        prg_strbuf_puts(&session->out, "---\n");
        prg_yaml_dump(&session->out, object);
    }
}

static const char *action_of(const struct session *session, const cJSON *object, struct prg_arena *arena)
{
    struct prg_key key;
    struct prg_error ignored;
    if (prg_key_of(arena, object, &key, &ignored) != PRG_OK)
        return "";
    return session->store->reader.get(&session->store->reader, &key) ? "exists" : "new";
}

// One row a rendered object; wide adds the image and where the row's service stands.
static void add_rows(struct session *session, struct prg_table *table, struct prg_plan *plan)
{
    const cJSON *object;
    struct prg_plan_summary summary;
    const char *name = prg_meta_name(plan->resource), *ns = prg_meta_namespace(plan->resource);
    prg_plan_summarise(plan, &summary);
    if (session->format == FORMAT_WIDE) {
        const char *cells[] = {ns, name, summary.runtime, summary.image, summary.gpus, summary.objects, summary.ready};
        prg_table_row(table, cells);
        return;
    }
    if (!prg_json_count(plan->objects)) {
        const char *cells[] = {ns, name, "-", "-", plan->error ? plan->error : "nothing to make"};
        prg_table_row(table, cells);
    }
    prg_json_each (object, plan->objects) {
        const char *cells[] = {ns, name, prg_json_get_text(object, "kind"), prg_meta_name(object),
                               action_of(session, object, plan->arena)};
        prg_table_row(table, cells);
    }
    prg_json_each (object, plan->deletes) {
        const char *cells[] = {ns, name, prg_json_get_text(object, "kind"), prg_json_get_text(object, "name"),
                               "deleted"};
        prg_table_row(table, cells);
    }
}

// The node of object that an error is about, which begins with its pointer; NULL: the object as a whole.
static const cJSON *node_of(struct prg_arena *arena, const cJSON *object, const char *error)
{
    size_t length = *error == '/' ? strcspn(error, ": ") : 0;
    return length ? prg_pointer_get(object, prg_arena_strndup(arena, error, length)) : NULL;
}

// Some errors name the object themselves.
static void print_error(const struct session *session, const struct prg_key *key, const struct prg_plan *plan)
{
    const struct prg_reader *store = session->inputs.reader;
    const char *prefix = prg_arena_printf(plan->arena, "%s %s/%s: ", key->kind, key->ns, key->name);
    const char *what = prg_text_has_prefix(plan->error, prefix) ? plan->error + strlen(prefix) : plan->error;
    const cJSON *object = store->get(store, key);
    const char *place = prg_reader_place(store, key, node_of(plan->arena, object, what), plan->arena);
    char *line = prg_arena_printf(plan->arena, "%s%s%s%s%s", prefix, what, place ? "  [" : "", place ? place : "",
                                  place ? "]" : "");
    fprintf(stderr, "error: %s\n", prg_cli_one_line(line));
}

static void print_plan(struct session *session, struct prg_table *table, struct prg_plan *plan, size_t index)
{
    switch (session->format) {
    case FORMAT_TABLE:
    case FORMAT_WIDE:
        add_rows(session, table, plan);
        break;
    case FORMAT_NAME:
        print_names(session, plan);
        break;
    case FORMAT_YAML:
        print_yaml(session, plan);
        break;
    case FORMAT_JSON:
        if (index)
            prg_strbuf_puts(&session->out, ",\n");
        prg_json_print(&session->out, prg_plan_to_json(plan, PRG_PLAN_FIELDS), PRG_JSON_SORTED | PRG_JSON_PRETTY);
        break;
    }
    if (session->format != FORMAT_JSON && plan->error)
        print_error(session, &session->keys[index], plan);
}

// Below a table; beside manifests and names, which other programs read, on standard error. JSON has it all in its
// trace.
static void explain(struct session *session, struct prg_plan *plan)
{
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    if (session->format == FORMAT_JSON)
        return;
    prg_plan_explain(plan, true, &text);
    if (session->format == FORMAT_TABLE || session->format == FORMAT_WIDE)
        prg_strbuf_add(&session->out, text.text, text.length);
    else
        fwrite(text.text, 1, text.length, stderr);
}

static int plan_one(struct session *session, struct prg_table *table, size_t index, struct prg_error *err)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    struct prg_plan *plan = prg_plan_new(&arena);
    const struct prg_inputs *inputs = &session->inputs;
    int rc = prg_planner_plan(inputs->planner, inputs->reader, &session->keys[index], inputs->now_ns, inputs->seed,
                              plan, err);
    if (rc != PRG_OK)
        return rc;
    session->has_error = session->has_error || plan->error;
    print_plan(session, table, plan, index);
    if (session->options->explain)
        explain(session, plan);
    return PRG_OK;
}

// What the objects of the table belong to.
static const char *owner_heading(const struct session *session)
{
    size_t jobs = 0;
    for (size_t i = 0; i < session->key_count; i++)
        jobs += strcmp(session->keys[i].kind, PRG_KIND_JOB) == 0;
    return !jobs ? "SERVICE" : jobs == session->key_count ? "JOB" : "SERVICE/JOB";
}

static struct prg_table *start_table(const struct session *session)
{
    static const char *const wide[] = {"NAMESPACE", "NAME", "RUNTIME", "IMAGE", "GPUS", "OBJECTS", "READY"};
    const char *const objects[] = {"NAMESPACE", owner_heading(session), "KIND", "NAME", "STATE"};
    if (session->format > FORMAT_WIDE)
        return NULL;
    struct prg_table *table = prg_table_new(session->format == FORMAT_WIDE ? PRG_COUNT(wide) : PRG_COUNT(objects));
    prg_table_row(table, session->format == FORMAT_WIDE ? wide : objects);
    return table;
}

static int plan_all(struct session *session, struct prg_error *err)
{
    // One named subject is printed as it is; several are a list, whatever their number turns out to be.
    bool is_list = session->format == FORMAT_JSON && (session->options->arg_count != 1 || session->key_count != 1);
    struct prg_table *table = start_table(session);
    struct prg_strbuf explained = PRG_STRBUF_INIT;
    int rc = PRG_OK;
    if (is_list)
        prg_strbuf_puts(&session->out, "{\"apiVersion\": \"perigee.dev/v1\", \"kind\": \"PlanList\", \"items\": [\n");
    for (size_t i = 0; i < session->key_count && rc == PRG_OK; i++)
        rc = plan_one(session, table, i, err);
    if (session->format == FORMAT_JSON && rc == PRG_OK)
        prg_strbuf_puts(&session->out, is_list ? "\n]}\n" : "\n");
    if (table) { // the explanations come below the table
        explained = session->out;
        session->out = (struct prg_strbuf)PRG_STRBUF_INIT;
        prg_table_print(table, &session->out);
        prg_strbuf_add(&session->out, explained.text, explained.length);
        prg_strbuf_release(&explained);
    }
    return rc;
}

static int run(struct prg_cli_options *options)
{
    struct session session = {.options = options, .out = PRG_STRBUF_INIT};
    struct prg_error err = {0};
    session.format = format_of(options->output);
    prg_arena_init(&session.arena);
    int rc = open_session(&session, &err);
    if (rc == PRG_OK)
        rc = plan_all(&session, &err);
    int recorded = prg_record_close(session.record, rc == PRG_OK ? &err : NULL);
    if (rc == PRG_OK)
        rc = recorded;
    if (rc == PRG_OK)
        prg_cli_write(&session.out);
    else
        prg_cli_error(&err, PRG_EXIT_TROUBLE);
    int code = rc != PRG_OK ? PRG_EXIT_TROUBLE : session.has_error ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
    close_session(&session);
    return code;
}

static const struct prg_option options[] = {
    PRG_OPTIONS_SOURCE,
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT", "yaml: the objects as manifests; json: the whole plan",
     "yaml|json|name|wide"},
    {"explain", 0, PRG_OPTION_FLAG, PRG_AT(explain), NULL,
     "say why: candidates, annotations, label layers, who set each field", NULL},
    {"now", 0, PRG_OPTION_TEXT, PRG_AT(now), "TIME", "the clock of the plan, RFC 3339", NULL},
    {"seed", 0, PRG_OPTION_TEXT, PRG_AT(seed), "N", "seed of random suffixes (1)", NULL},
    {"record", 0, PRG_OPTION_TEXT, PRG_AT(record), "FILE",
     "write what the plans were made from and what came out, for perigee replay; without secrets", NULL},
    PRG_OPTIONS_POLICY,
    PRG_OPTION_NAMESPACE_POLICIES,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_plan = {
    .name = "plan",
    .summary = "Print what would be made for InferenceServices, without writing anything",
    .usage = "plan [-f FILE...] [--store dir:PATH] [KIND/NAME...]",
    .text = "All files together are the store: services, runtimes, the ConfigMap inferenceservice-config, stored "
            "Deployments.\n"
            "Without KIND/NAME every service is planned.\n\n"
            "  perigee plan -f runtime-catalog -R -f iris.yaml inferenceservice/iris --explain\n\n"
            "Exit status: 0 done, 1 a plan has an error (it is printed all the same), 2 trouble with the input.\n",
    .options = options,
    .run = run,
};
