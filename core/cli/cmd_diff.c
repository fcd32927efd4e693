// SPDX-License-Identifier: Apache-2.0
// cmd_diff.c: `perigee diff`: what other policies, runtimes, configuration or another compatibility mode would change
// for all services, and a gate for CI.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "catalog/manifest.h"
#include "cli/commands.h"
#include "cli/replaying.h"
#include "explain/overlay.h"
#include "explain/report.h"
#include "explain/twin.h"
#include "object/meta.h"
#include "policy/portable.h"

enum { THREADS_MAX = 64, SERVICES_PER_THREAD = 32, DETAILS_SHOWN = 20 };

struct side {
    struct prg_settings settings;
    struct prg_policy_life *life; // of the new side: its sets, those of namespaces too; NULL: they are recorded ones
    struct prg_policy_set *sets[THREADS_MAX];
    size_t namespace_count; // with a set of their own
    struct prg_planner *planners[THREADS_MAX];
    const struct prg_reader *store;
};

struct session {
    const struct prg_cli_options *options;
    struct prg_arena arena;
    struct prg_store *store;
    struct prg_overlay *overlay; // NULL: both sides have the same objects
    struct side sides[PRG_SIDE_COUNT];
    struct prg_inputs inputs; // of the base
    struct prg_key *keys;
    size_t key_count, thread_count, with_count; // with: objects of --with
    struct prg_gate gate;
};

// ---- options ----

static int read_count(const char *option, const char *text, int64_t least, int64_t most, bool *ret_given, int64_t *ret,
                      struct prg_error *err)
{
    char *end;
    *ret_given = text != NULL;
    if (!text)
        return PRG_OK;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    bool is_number = !errno && !*end && end != text && value >= least && value <= most;
    if (!is_number && most == INT64_MAX)
        return prg_fail(err, PRG_INVALID, "%s %s: a whole number, %" PRId64 " or more", option, text, least);
    if (!is_number)
        return prg_fail(err, PRG_INVALID, "%s %s: a whole number from %" PRId64 " to %" PRId64, option, text, least,
                        most);
    *ret = value;
    return PRG_OK;
}

static int read_options(struct session *session, struct prg_error *err)
{
    const struct prg_cli_options *options = session->options;
    bool has_jobs;
    int64_t jobs = 0;
    if (!options->policies && !options->base && !options->compat && !options->base_compat && !options->with.count &&
        !options->without.count)
        return prg_fail(err, PRG_INVALID,
                        "nothing to compare: give --policies DIR, --with FILE, --without KIND/NAME or --compat MODE");
    int rc = read_count("--max-restarts", options->max_restarts, 0, INT64_MAX, &session->gate.has_restarts,
                        &session->gate.max_restarts, err);
    if (rc == PRG_OK)
        rc = read_count("--max-gpus", options->max_gpus, 0, INT64_MAX, &session->gate.has_gpus, &session->gate.max_gpus,
                        err);
    if (rc == PRG_OK)
        rc = read_count("--jobs", options->jobs, 1, THREADS_MAX, &has_jobs, &jobs, err);
    session->thread_count = (size_t)jobs;
    return rc;
}

// Both sides start from --config, or from the recording. --policies and --compat are the new side's, unless --compat
// comes beside another change: then it holds for both. --base and --base-compat are the base's.
static int load_settings(struct session *session, struct prg_error *err)
{
    const struct prg_cli_options *options = session->options;
    struct prg_cli_options base = *options;
    struct prg_settings *of_base = &session->sides[PRG_SIDE_BASE].settings,
                        *of_new = &session->sides[PRG_SIDE_NEW].settings;
    bool is_compat_alone =
        options->compat && !options->policies && !options->base && !options->with.count && !options->without.count;
    base.policies = options->base;
    if (options->base_compat)
        base.compat = options->base_compat;
    else if (is_compat_alone && (options->config || options->replay))
        base.compat = NULL;
    else if (is_compat_alone)
        base.compat = strcmp(options->compat, "fixed") == 0 ? "kserve" : "fixed";
    int rc = prg_settings_load(&base, of_base, err);
    if (rc == PRG_OK)
        rc = prg_settings_load(options, of_new, err);
    if (rc == PRG_OK)
        rc = prg_inputs_open(&base, session->store, NULL, of_base, &session->inputs, err);
    if (rc == PRG_OK && options->replay && !options->compat && !options->config)
        of_new->compat = of_base->compat;
    return rc;
}

// ---- objects ----

static int add_manifest(const struct prg_manifest *manifest, void *ctx, struct prg_error *err)
{
    struct session *session = ctx;
    session->with_count++;
    if (prg_overlay_put(session->overlay, manifest->object, manifest->file, err) != PRG_OK)
        return prg_wrap(err, "--with: %s:%u", manifest->file, manifest->line);
    return PRG_OK;
}

static int add_file(const char *path, void *ctx, struct prg_error *err)
{
    struct session *session = ctx;
    return prg_manifest_load_file(&session->arena, path, session->options->ns, add_manifest, session, err);
}

static int hide(struct session *session, const char *text, struct prg_error *err)
{
    struct prg_key key;
    const cJSON *object;
    if (prg_source_object(session->options, session->store, &session->arena, text, &key, &object, err) != PRG_OK)
        return prg_wrap(err, "--without");
    prg_overlay_hide(session->overlay, &key);
    return PRG_OK;
}

static int open_overlay(struct session *session, struct prg_error *err)
{
    const struct prg_cli_options *options = session->options;
    const struct prg_reader *base = &session->store->reader;
    int rc = PRG_OK;
    session->sides[PRG_SIDE_BASE].store = session->sides[PRG_SIDE_NEW].store = base;
    if (!options->with.count && !options->without.count)
        return PRG_OK;
    session->overlay = prg_overlay_new(base);
    for (size_t i = 0; rc == PRG_OK && i < options->without.count; i++)
        rc = hide(session, options->without.items[i], err);
    for (size_t i = 0; rc == PRG_OK && i < options->with.count; i++) {
        const char *path = options->with.items[i];
        size_t before = session->with_count;
        rc = strcmp(path, "-") == 0 ? add_file(path, session, err)
                                    : prg_manifest_each_file(path, options->recursive, add_file, session, err);
        if (rc == PRG_OK && session->with_count == before) {
            prg_source_fail_empty(path, err);
            rc = prg_wrap(err, "--with");
        }
    }
    session->sides[PRG_SIDE_NEW].store = prg_overlay_reader(session->overlay);
    return rc;
}

// ---- subjects ----

static bool is_subject(const struct session *session, const struct prg_key *key)
{
    const char *ns = session->options->all_namespaces ? NULL : session->options->ns;
    bool is_kind = strcmp(key->kind, "InferenceService") == 0 || strcmp(key->kind, "IncrementalLearningJob") == 0;
    return is_kind && (!ns || strcmp(key->ns, ns) == 0) && !session->store->reader.get(&session->store->reader, key);
}

static int compare_keys(const void *a, const void *b)
{
    return prg_key_compare(a, b);
}

// Those of the base, and what --with adds.
static int find_subjects(struct session *session, struct prg_error *err)
{
    size_t added = 0, count = 0, at = 0;
    const struct prg_key *keys = session->overlay ? prg_overlay_keys(session->overlay, &count) : NULL;
    for (size_t i = 0; session->options->arg_count == 0 && i < count; i++)
        added += is_subject(session, &keys[i]);
    int rc = prg_source_subjects(session->options, session->store, &session->arena, &session->keys, &session->key_count,
                                 err);
    if (rc == PRG_NOTFOUND && added) {
        prg_error_clear(err);
        session->key_count = 0;
        rc = PRG_OK;
    }
    if (rc != PRG_OK || !added)
        return rc;
    struct prg_key *all = prg_arena_array(&session->arena, struct prg_key, session->key_count + added);
    for (; at < session->key_count; at++)
        all[at] = session->keys[at];
    for (size_t i = 0; i < count; i++)
        if (is_subject(session, &keys[i]))
            all[at++] = keys[i];
    qsort(all, at, sizeof(*all), compare_keys);
    session->keys = all;
    session->key_count = at;
    return PRG_OK;
}

// ---- planners ----

static void choose_threads(struct session *session)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t useful = session->key_count / SERVICES_PER_THREAD + 1; // each thread has its own Lua states to make
    if (session->thread_count)
        return;
    session->thread_count = cores > 0 ? (size_t)cores : 1;
    if (session->thread_count > useful)
        session->thread_count = useful;
    if (session->thread_count > THREADS_MAX)
        session->thread_count = THREADS_MAX;
}

// The set that decided everywhere when the latest decision was recorded, which may be of a namespace with its own.
static int load_recorded(struct session *session, struct side *side, struct prg_error *err)
{
    prg_auto_arena arena;
    prg_arena_init(&arena);
    cJSON *tree = prg_json_copy(&arena, session->inputs.recorded.policies);
    (void)prg_json_remove(tree, "namespace");
    (void)prg_json_remove(tree, "refusal");
    return prg_policy_set_from_json(tree, &side->settings.limits, &side->sets[0], err);
}

// The new side's sets are those of its settings, with the namespaces' ConfigMaps as they are on that side; in a
// recording they are the recorded ones.
static int load_first_set(struct session *session, enum prg_side side, struct prg_error *err)
{
    struct side *s = &session->sides[side];
    struct prg_policy_life_options policy = {.policies = s->settings.policies,
                                             .namespace_policies = s->settings.namespace_policies,
                                             .limits = s->settings.limits,
                                             .compat = s->settings.compat,
                                             .is_brief = true,
                                             .objects = s->store};
    bool is_as_recorded = session->inputs.recorded.policies && !session->options->base &&
                          !prg_inputs_has_own_policies(session->options, &s->settings);
    if (side == PRG_SIDE_BASE && session->inputs.life) {
        s->sets[0] = prg_policy_set_ref(session->inputs.policies);
        return PRG_OK;
    }
    if (side == PRG_SIDE_BASE || is_as_recorded)
        return load_recorded(session, s, err);
    int rc = prg_policy_life_new(&policy, &s->life, err);
    if (rc != PRG_OK)
        return rc;
    s->sets[0] = prg_policy_set_ref(prg_policy_life_active(s->life));
    prg_cli_note_idle_set(s->settings.policies, s->sets[0]);
    return PRG_OK;
}

// ---- sets of namespaces ----

// NULL: the side's policies are recorded ones.
static struct prg_policy_life *life_of(const struct session *session, enum prg_side side)
{
    return side == PRG_SIDE_BASE ? session->inputs.life : session->sides[side].life;
}

struct spreading { // the sets of the first planner's namespaces to those of the other threads
    struct session *session;
    struct side *side;
    struct prg_error *err;
    int rc;
};

static void spread_set(const char *ns, struct prg_policy_set *set, void *ctx)
{
    struct spreading *spreading = ctx;
    struct side *side = spreading->side;
    side->namespace_count++;
    for (size_t i = 1; spreading->rc == PRG_OK && i < spreading->session->thread_count; i++) {
        struct prg_policy_set *copy = NULL;
        spreading->rc = prg_policy_set_copy(set, &side->settings.limits, &copy, spreading->err);
        if (spreading->rc == PRG_OK)
            prg_planner_set_namespace_policies(side->planners[i], ns, copy);
        prg_policy_set_unref(copy);
    }
}

// The set with which the latest decision about the namespace was made, when it is the namespace's own: over the side's
// set when that is no recorded one.
static int bind_recorded(struct session *session, enum prg_side number, const struct prg_recording *recording,
                         size_t index, struct prg_error *err)
{
    struct side *side = &session->sides[number];
    prg_auto_arena arena;
    struct prg_recorded recorded = {0};
    struct prg_policy_set *set = NULL, *moved = NULL;
    prg_arena_init(&arena);
    int rc = prg_recording_open(recording, index, &arena, &recorded, err);
    if (rc == PRG_OK && prg_json_get(recorded.policies, "namespace")) {
        rc = prg_policy_set_from_json(recorded.policies, &side->settings.limits, &set, err);
        if (rc == PRG_OK && life_of(session, number))
            rc = prg_policy_set_rebase(set, side->sets[0], &moved, err);
        if (rc == PRG_OK)
            prg_planner_set_namespace_policies(side->planners[0], recorded.head->key.ns, moved ? moved : set);
    }
    prg_policy_set_unref(moved);
    prg_policy_set_unref(set);
    prg_recorded_close(&recorded);
    return rc == PRG_OK ? PRG_OK : prg_wrap(err, "namespace %s", prg_recording_head(recording, index)->key.ns);
}

static int bind_all_recorded(struct session *session, enum prg_side side, const struct prg_recording *recording,
                             struct prg_error *err)
{
    struct prg_map seen;
    int rc = PRG_OK;
    prg_map_init(&seen);
    for (size_t i = prg_recording_count(recording); rc == PRG_OK && i > 0; i--)
        if (!prg_map_put(&seen, prg_recording_head(recording, i - 1)->key.ns, session))
            rc = bind_recorded(session, side, recording, i - 1, err);
    prg_map_release(&seen);
    return rc;
}

static int bind_namespaces(struct session *session, enum prg_side number, struct prg_error *err)
{
    struct side *side = &session->sides[number];
    const struct prg_recording *recording = prg_replaying_recording(session->store);
    struct prg_policy_life *life = life_of(session, number);
    struct spreading spreading = {session, side, err, PRG_OK};
    int rc = PRG_OK;
    if (life && side->settings.namespace_policies)
        prg_policy_life_bind(life, side->planners[0]);
    else if (recording && session->inputs.recorded.policies)
        rc = bind_all_recorded(session, number, recording, err);
    if (rc == PRG_OK)
        prg_planner_each_namespace(side->planners[0], spread_set, &spreading);
    return rc == PRG_OK ? spreading.rc : rc;
}

static int make_planners(struct session *session, enum prg_side number, struct prg_error *err)
{
    struct side *side = &session->sides[number];
    int rc = load_first_set(session, number, err);
    for (size_t i = 1; rc == PRG_OK && i < session->thread_count; i++)
        rc = prg_policy_set_copy(side->sets[0], &side->settings.limits, &side->sets[i], err);
    for (size_t i = 0; rc == PRG_OK && i < session->thread_count; i++) {
        side->planners[i] = prg_planner_new(side->sets[i], side->settings.compat, side->settings.config_namespace);
        prg_planner_load_config(side->planners[i], side->store);
    }
    return rc == PRG_OK ? bind_namespaces(session, number, err) : rc;
}

// ---- life ----

static int open_session(struct session *session, struct prg_error *err)
{
    int rc = read_options(session, err);
    if (rc == PRG_OK)
        rc = prg_source_open(session->options, &session->arena, &session->store, err);
    if (rc == PRG_OK)
        rc = load_settings(session, err);
    if (rc == PRG_OK)
        rc = open_overlay(session, err);
    if (rc == PRG_OK)
        rc = find_subjects(session, err);
    if (rc != PRG_OK)
        return rc;
    choose_threads(session);
    for (int side = 0; rc == PRG_OK && side < PRG_SIDE_COUNT; side++)
        rc = make_planners(session, (enum prg_side)side, err);
    return rc;
}

static void close_session(struct session *session)
{
    for (int i = 0; i < PRG_SIDE_COUNT; i++) {
        struct side *side = &session->sides[i];
        for (size_t thread = 0; thread < THREADS_MAX; thread++) {
            prg_planner_free(side->planners[thread]);
            prg_policy_set_unref(side->sets[THREADS_MAX - 1 - thread]); // the first, which others are copies of, last
        }
        prg_policy_life_free(side->life);
        prg_arena_release(&side->settings.arena);
    }
    prg_inputs_close(&session->inputs);
    prg_overlay_free(session->overlay);
    prg_store_free(session->store);
    prg_arena_release(&session->arena);
}

// ---- output ----

static void show_progress(size_t done, size_t total, void *ctx)
{
    (void)ctx;
    fprintf(stderr, "\rcomparing: %zu of %zu services", done, total);
    if (done == total)
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

static const char *describe(struct session *session, enum prg_side side)
{
    const struct side *s = &session->sides[side];
    const struct prg_cli_options *options = session->options;
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    const char *policies = s->settings.policies ? s->settings.policies : "shipped";
    if (session->inputs.recorded.policies && !session->options->base &&
        strcmp(prg_policy_set_revision(s->sets[0]), prg_policy_set_revision(session->inputs.policies)) == 0)
        policies = "of the recording";
    prg_strbuf_printf(&text, "policies %s (revision %s), compat %s", policies, prg_policy_set_revision(s->sets[0]),
                      prg_report_compat(s->settings.compat));
    if (s->namespace_count)
        prg_strbuf_printf(&text, ", %zu %s own", s->namespace_count,
                          prg_plural((int64_t)s->namespace_count, "namespace with policies of its",
                                     "namespaces with policies of their"));
    for (size_t i = 0; side == PRG_SIDE_NEW && i < options->with.count; i++)
        prg_strbuf_printf(&text, ", with %s", (const char *)options->with.items[i]);
    for (size_t i = 0; side == PRG_SIDE_NEW && i < options->without.count; i++)
        prg_strbuf_printf(&text, ", without %s", (const char *)options->without.items[i]);
    return prg_arena_strndup(&session->arena, text.text, text.length);
}

static int print(struct session *session, const struct prg_fleet *fleet)
{
    prg_auto_strbuf out = PRG_STRBUF_INIT;
    const char *output = session->options->output ? session->options->output : "";
    struct prg_report report = {
        fleet,
        session->gate,
        {session->sides[PRG_SIDE_BASE].store, session->sides[PRG_SIDE_NEW].store},
        describe(session, PRG_SIDE_BASE),
        describe(session, PRG_SIDE_NEW),
    };
    size_t objections;
    const char *const *lines = prg_report_objections(&session->arena, &report, &objections);
    if (strcmp(output, "json") == 0) {
        prg_report_json(&report, &out);
    } else if (strcmp(output, "github") == 0) {
        prg_report_github(&report, &out);
    } else {
        prg_report_summary(&report, &out);
        if (strcmp(output, "summary") != 0)
            prg_report_details(&report, strcmp(output, "full") == 0 ? 0 : DETAILS_SHOWN, &out);
    }
    prg_cli_write(&out);
    for (size_t i = 0; i < objections; i++)
        fprintf(stderr, "error: %s\n", lines[i]);
    if (session->gate.has_restarts || session->gate.has_gpus)
        return objections ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
    return prg_report_has_changes(fleet) ? PRG_EXIT_FAILED : PRG_EXIT_DONE;
}

static int compare(struct session *session, struct prg_fleet **ret, struct prg_error *err)
{
    const struct side *base = &session->sides[PRG_SIDE_BASE], *new = &session->sides[PRG_SIDE_NEW];
    struct prg_fleet_input in = {.planners = {base->planners, new->planners},
                                 .thread_count = session->thread_count,
                                 .equal_policies = prg_twin_equal_policies(base->sets[0], new->sets[0]),
                                 .stores = {base->store, new->store},
                                 .overlay = session->overlay,
                                 .keys = session->keys,
                                 .key_count = session->key_count,
                                 .now_ns = session->inputs.now_ns,
                                 .seed = session->inputs.seed,
                                 .progress = isatty(STDERR_FILENO) ? show_progress : NULL};
    return prg_fleet_compare(&in, ret, err);
}

static int run(struct prg_cli_options *options)
{
    struct session *session = prg_xcalloc(1, sizeof(*session));
    struct prg_error err = {0};
    struct prg_fleet *fleet = NULL;
    session->options = options;
    prg_arena_init(&session->arena);
    int rc = open_session(session, &err);
    if (rc == PRG_OK)
        rc = compare(session, &fleet, &err);
    int code = rc == PRG_OK ? print(session, fleet) : prg_cli_error(&err, PRG_EXIT_TROUBLE);
    prg_fleet_free(fleet);
    close_session(session);
    free(session);
    return code;
}

static const struct prg_option options[] = {
    PRG_OPTIONS_SOURCE,
    PRG_OPTIONS_POLICY,
    PRG_OPTION_NAMESPACE_POLICIES,
    {"with", 0, PRG_OPTION_LIST, PRG_AT(with), "FILE",
     "objects of the new side: a changed runtime, configuration or service; file or folder, repeatable", NULL},
    {"without", 0, PRG_OPTION_LIST, PRG_AT(without), "KIND/NAME", "an object that the new side lacks; repeatable",
     NULL},
    {"base", 0, PRG_OPTION_TEXT, PRG_AT(base), "DIR", "policies to compare with (those of --config, else the shipped)",
     NULL},
    {"base-compat", 0, PRG_OPTION_TEXT, PRG_AT(base_compat), "MODE", "compatibility mode to compare with",
     "kserve|fixed"},
    {"max-restarts", 0, PRG_OPTION_TEXT, PRG_AT(max_restarts), "N", "gate: fail when more pods restart", NULL},
    {"max-gpus", 0, PRG_OPTION_TEXT, PRG_AT(max_gpus), "N", "gate: fail when more GPUs are touched", NULL},
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT",
     "summary; full: with every difference; json; github: workflow commands", "summary|full|json|github"},
    {"jobs", 'j', PRG_OPTION_TEXT, PRG_AT(jobs), "N", "threads, 1 to 64 (one a core)", NULL},
    {"now", 0, PRG_OPTION_TEXT, PRG_AT(now), "TIME", "the clock of the plans, RFC 3339", NULL},
    {"seed", 0, PRG_OPTION_TEXT, PRG_AT(seed), "N", "seed of random suffixes (1)", NULL},
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_diff = {
    .name = "diff",
    .summary = "Say what other policies, runtimes or settings would change for all services",
    .usage = "diff [-f FILE...] [--store dir:PATH] --policies DIR | --with FILE | --without KIND/NAME | --compat MODE "
             "[KIND/NAME...]",
    .text =
        "Every service and job is planned as it is and with the change; nothing is written.\n\n"
        "  perigee diff --store dir:cluster --policies new-policies --max-restarts 10\n"
        "  perigee diff --store dir:cluster --with new-runtime.yaml -o full\n\n"
        "Exit status: 0 nothing changes, or what changes is within the limits given; 1 something changes, or a limit\n"
        "is passed or a service fails newly; 2 trouble.\n",
    .options = options,
    .run = run,
};
