// SPDX-License-Identifier: Apache-2.0
// cmd_simulate.c: `perigee simulate`: learning jobs against a policy, with virtual time: a scenario, or random
// schedules.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "catalog/manifest.h"
#include "cli/commands.h"
#include "object/meta.h"
#include "simulate/random.h"
#include "simulate/scenario.h"
#include "simulate/timeline.h"
#include "yaml/load.h"

enum { ROUNDS_MOST = 1000 };

struct session {
    const struct prg_cli_options *options;
    struct prg_settings settings;
    struct prg_arena arena;
    struct prg_policy_set *policies;
    struct prg_strbuf out;
    cJSON *objects;        // of all files, for random schedules
    struct prg_map places; // FILE:LINE of each
    bool has_problem;
    bool has_progress; // a line of it is on the terminal
};

static int load_policies(struct session *session, struct prg_error *err)
{
    int rc = prg_settings_load(session->options, &session->settings, err);
    if (rc != PRG_OK)
        return rc;
    return prg_cli_set_load(session->options, session->settings.policies, NULL, &session->settings.limits, false,
                            &session->policies, err);
}

static bool wants_json(const struct session *session)
{
    return prg_text_equal(session->options->output, "json");
}

// ---- a scenario ----

// One object with steps, in JSON or YAML.
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
    const struct prg_cli_options *given = session->options;
    const char *stray = given->faults ? "faults" : given->seed ? "seed" : given->rounds ? "rounds" : NULL;
    cJSON *scenario = NULL, *answer = NULL;
    if (stray)
        return prg_fail(err, PRG_INVALID, "--%s goes with --random N; a scenario has its faults among its steps",
                        stray);
    if (given->ns)
        return prg_fail(err, PRG_INVALID,
                        "--namespace goes with --random N; what says no namespace in a scenario is in default");
    if (session->options->arg_count != 1)
        return prg_fail(err, PRG_INVALID, "one scenario is needed; see perigee simulate --help");
    int rc = load_scenario(session, &scenario, err);
    if (rc != PRG_OK)
        return rc;
    rc = prg_simulate_scenario(&session->arena, session->options->args[0], scenario,
                               prg_policy_set_decider(session->policies), &answer, err);
    if (rc != PRG_OK)
        return rc;
    if (!wants_json(session)) {
        prg_simulate_timeline(answer, &session->out);
        return PRG_OK;
    }
    prg_json_print(&session->out, answer, PRG_JSON_SORTED);
    prg_strbuf_putc(&session->out, '\n');
    return PRG_OK;
}

// ---- random schedules ----

static int add_object(const struct prg_manifest *manifest, void *ctx, struct prg_error *err)
{
    struct session *session = ctx;
    struct prg_arena *arena = &session->arena;
    const char *key = prg_key_text(arena, &manifest->key), *place = prg_map_get(&session->places, key);
    if (place)
        return prg_fail(err, PRG_CONFLICT, "%s:%u: %s is also at %s; keep one of the two", manifest->file,
                        manifest->line, key, place);
    prg_map_put(&session->places, key, prg_arena_printf(arena, "%s:%u", manifest->file, manifest->line));
    prg_json_append(session->objects, prg_json_copy(arena, manifest->object));
    return PRG_OK;
}

// A scenario gives its objects; anything else is a file of manifests.
static int add_file(const char *path, void *ctx, struct prg_error *err)
{
    struct session *session = ctx;
    struct prg_yaml_docs docs;
    cJSON *object, *objects;
    int rc = prg_yaml_load_file(&session->arena, path, NULL, &docs, err);
    if (rc != PRG_OK)
        return rc;
    objects = docs.count == 1 ? prg_json_get(docs.items[0], "objects") : NULL;
    if (prg_json_is_array(objects)) {
        docs = (struct prg_yaml_docs){.items = prg_arena_array(&session->arena, cJSON *, prg_json_count(objects) + 1)};
        prg_json_each (object, objects)
            docs.items[docs.count++] = object;
    }
    return prg_manifest_load_docs(&session->arena, &docs, strcmp(path, "-") == 0 ? "<stdin>" : path,
                                  session->options->ns, add_object, session, err);
}

static int load_objects(struct session *session, const char *path, struct prg_error *err)
{
    return strcmp(path, "-") == 0 ? add_file(path, session, err)
                                  : prg_manifest_each_file(path, false, add_file, session, err);
}

static int read_number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *ret,
                       struct prg_error *err)
{
    if (!text || prg_cli_whole_number(text, least, most, ret))
        return PRG_OK;
    return prg_fail(err, PRG_INVALID, "--%s %s: a whole number from %" PRIu64 " to %" PRIu64, option, text, least,
                    most);
}

static void show_progress(uint64_t done, uint64_t stuck, void *ctx)
{
    struct session *session = ctx;
    if (done % 100 != 0 || !isatty(STDERR_FILENO))
        return;
    session->has_progress = true;
    fprintf(stderr, "\r%" PRIu64 " schedules, %" PRIu64 " jobs stuck", done, stuck);
}

// Of what happens after the job's last change so many lines are shown, and the very last.
#define LINES_AFTER 20

static void print_case(const cJSON *entry, struct prg_strbuf *out)
{
    const char *since = prg_json_get_text(entry, "since");
    const cJSON *timeline = prg_json_get(entry, "timeline"), *line;
    size_t after = 0, left_out = 0;
    prg_strbuf_printf(out, "\nseed %s: %s: %s in %s since %s: %s\n", prg_json_get_text(entry, "seed"),
                      prg_json_get_text(entry, "job"), prg_json_get_text(entry, "problem"),
                      prg_json_get_text(entry, "state"), since, prg_json_get_text(entry, "reason"));
    prg_json_each (line, timeline) { // each begins with its time, as long as since
        bool is_after = since && strncmp(prg_json_text(line), since, strlen(since)) > 0;
        if (is_after && ++after > LINES_AFTER && line->next) {
            left_out++;
            continue;
        }
        if (left_out)
            prg_strbuf_printf(out, "  … %zu more in this state; -o json has them\n", left_out);
        prg_strbuf_printf(out, "  %s\n", prg_json_text(line));
    }
}

static const char *number(const cJSON *object, const char *key)
{
    const char *text = prg_json_number_text(prg_json_get(object, key));
    return text ? text : "0";
}

static void print_random(struct session *session, const cJSON *answer)
{
    const cJSON *rounds = prg_json_get(answer, "rounds"), *entry;
    if (wants_json(session)) {
        prg_json_print(&session->out, answer, PRG_JSON_SORTED | PRG_JSON_PRETTY);
        prg_strbuf_putc(&session->out, '\n');
        return;
    }
    prg_strbuf_printf(
        &session->out,
        "%s schedules: rounds %s completed, %s given up, %s started over after a failure; jobs %s stuck, %s with two "
        "train workers at once\n",
        number(answer, "schedules"), number(rounds, "completed"), number(rounds, "gaveUp"),
        number(rounds, "startedOver"), number(answer, "stuck"), number(answer, "twoWorkers"));
    prg_json_each (entry, prg_json_get(answer, "cases"))
        print_case(entry, &session->out);
}

static int run_random(struct session *session, struct prg_error *err)
{
    const struct prg_cli_options *given = session->options;
    struct prg_random_options options = {.progress = show_progress, .ctx = session};
    cJSON *answer = NULL;
    uint64_t rounds = 0;
    options.seed = 1;
    int rc = read_number("random", given->random, 1, UINT64_MAX, &options.schedules, err);
    if (rc == PRG_OK)
        rc = read_number("seed", given->seed, 0, UINT64_MAX, &options.seed, err);
    if (rc == PRG_OK)
        rc = read_number("rounds", given->rounds, 1, ROUNDS_MOST, &rounds, err);
    if (rc == PRG_OK && given->faults)
        rc = prg_random_faults_parse(given->faults, &options.faults, err);
    if (rc == PRG_OK && given->arg_count == 0)
        rc = prg_fail(err, PRG_INVALID, "files with jobs are needed; see perigee simulate --help");
    session->objects = prg_json_array(&session->arena);
    for (int i = 0; rc == PRG_OK && i < given->arg_count; i++)
        rc = load_objects(session, given->args[i], err);
    if (rc != PRG_OK)
        return rc;
    options.rounds = (unsigned)rounds;
    rc = prg_simulate_random(&session->arena, session->objects, prg_policy_set_decider(session->policies), &options,
                             &answer, err);
    if (session->has_progress)
        fputc('\n', stderr);
    if (rc != PRG_OK)
        return rc;
    session->has_problem = prg_json_count(prg_json_get(answer, "cases")) > 0;
    print_random(session, answer);
    return PRG_OK;
}

static int run(struct prg_cli_options *options)
{
    struct session session = {.options = options};
    struct prg_error err = {0};
    prg_arena_init(&session.arena);
    prg_map_init(&session.places);
    int rc = load_policies(&session, &err);
    if (rc == PRG_OK)
        rc = options->random ? run_random(&session, &err) : run_scenario(&session, &err);
    if (rc == PRG_OK)
        prg_cli_write(&session.out);
    prg_policy_set_unref(session.policies);
    prg_strbuf_release(&session.out);
    prg_map_release(&session.places);
    prg_arena_release(&session.arena);
    prg_arena_release(&session.settings.arena);
    if (rc != PRG_OK)
        return prg_cli_error(&err, PRG_EXIT_TROUBLE);
    return session.has_problem ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
}

static const struct prg_option options[] = {
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT", "table: a timeline; json: everything that happened",
     "json|table"},
    {"random", 0, PRG_OPTION_TEXT, PRG_AT(random), "N", "run the jobs of the files in N random schedules", NULL},
    {"seed", 0, PRG_OPTION_TEXT, PRG_AT(seed), "N", "seed of the first schedule (1); each has the next one", NULL},
    {"faults", 0, PRG_OPTION_TEXT, PRG_AT(faults), "LIST", "what goes wrong: drop,repeat,reorder,delay,kill (none)",
     NULL},
    {"rounds", 0, PRG_OPTION_TEXT, PRG_AT(rounds), "N", "rounds of each job in a schedule (3)", NULL},
    {"namespace", 'n', PRG_OPTION_TEXT, PRG_AT(ns), "NAMESPACE", "namespace of manifests without one", NULL},
    PRG_OPTIONS_POLICY,
    PRG_OPTIONS_CLUSTER,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_simulate = {
    .name = "simulate",
    .summary = "Run learning jobs against a policy, with virtual time",
    .usage = "simulate SCENARIO | simulate --random N [--seed S] [--faults LIST] FILE...",
    .text = "A scenario is one object: objects (jobs, Datasets, Models, Secrets, pods) that exist at the start, and "
            "steps:\n"
            "reports of edge nodes, phases of pods, faults, time. With --random edge nodes and workers behave as real "
            "ones\n"
            "do, at random, and the timelines of jobs that got stuck are printed.\n\n"
            "  perigee simulate --random 1000 --faults drop,kill --policies my-policies examples/learning/jobs\n\n"
            "Exit status: 0 done, 1 with --random a job got stuck or had two train workers at once, 2 trouble.\n",
    .options = options,
    .run = run,
};
