// SPDX-License-Identifier: Apache-2.0
// replaying.c: planning from recordings.
#include "cli/replaying.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/portable.h"

// A slow machine is no other decision: time is not what a replay should fail for.
enum { LEAST_WALL_MS = 60000 };

struct recorded_store {
    struct prg_store store; // first
    struct prg_recording *recording;
    struct prg_store *newest;
};

// ---- the store ----

static struct prg_store *newest_of(const struct prg_reader *reader)
{
    return ((const struct recorded_store *)reader)->newest;
}

static const cJSON *recorded_get(const struct prg_reader *reader, const struct prg_key *key)
{
    return newest_of(reader)->reader.get(&newest_of(reader)->reader, key);
}

static void recorded_list(const struct prg_reader *reader, const char *group, const char *kind, const char *ns,
                          prg_reader_visit_fn visit, void *ctx)
{
    newest_of(reader)->reader.list(&newest_of(reader)->reader, group, kind, ns, visit, ctx);
}

static int recorded_refresh(struct prg_store *store, prg_store_watch_fn changed, void *ctx, struct prg_error *err)
{
    (void)store;
    (void)changed;
    (void)ctx;
    (void)err;
    return PRG_OK;
}

static void recorded_free(struct prg_store *store)
{
    struct recorded_store *own = (struct recorded_store *)store;
    prg_store_free(own->newest);
    prg_recording_free(own->recording);
    free(own);
}

// Nothing is written: there are no writing operations.
static const struct prg_store_ops recorded_ops = {.refresh = recorded_refresh, .free = recorded_free};

int prg_replaying_open_store(const char *path, struct prg_store **ret, struct prg_error *err)
{
    struct recorded_store *own = prg_xcalloc(1, sizeof(*own));
    own->store.ops = &recorded_ops;
    own->store.reader.get = recorded_get;
    own->store.reader.list = recorded_list;
    int rc = prg_recording_load(path, &own->recording, err);
    if (rc == PRG_OK)
        rc = prg_recording_store(own->recording, &own->newest, err);
    if (rc != PRG_OK) {
        recorded_free(&own->store);
        return rc;
    }
    if (prg_recording_note(own->recording))
        fprintf(stderr, "note: %s\n", prg_recording_note(own->recording));
    *ret = &own->store;
    return PRG_OK;
}

const struct prg_recording *prg_replaying_recording(const struct prg_store *store)
{
    return store->ops == &recorded_ops ? ((const struct recorded_store *)store)->recording : NULL;
}

// ---- settings ----

static int read_compat(const cJSON *tree, struct prg_arena *arena, const struct prg_compat **ret, struct prg_error *err)
{
    const cJSON *flag, *flags = prg_json_get(tree, "compat");
    struct prg_compat *compat = prg_arena_new(arena, struct prg_compat);
    *compat = prg_compat_fixed; // flags that came later
    if (!prg_json_is_object(flags))
        return prg_fail(err, PRG_INVALID, "recorded settings: /compat is no object");
    prg_json_each (flag, flags) {
        int at = 0;
        while (at < PRG_COMPAT_COUNT && strcmp(prg_compat_flag_name((enum prg_compat_flag)at), flag->string) != 0)
            at++;
        if (at == PRG_COMPAT_COUNT || !prg_json_is_bool(flag))
            return prg_fail(err, PRG_INVALID, "recorded settings: /compat/%s is no flag of this perigee", flag->string);
        compat->mended[at] = prg_json_is_true(flag);
    }
    *ret = compat;
    return PRG_OK;
}

static uint64_t limit_of(const cJSON *limits, const char *key)
{
    int64_t value = 0;
    prg_json_get_int64(limits, key, &value);
    return value > 0 ? (uint64_t)value : 0;
}

// Settings of the recording, under those of flags.
static int read_settings(const struct prg_cli_options *options, const cJSON *tree, struct prg_settings *settings,
                         struct prg_error *err)
{
    const char *config_ns = prg_json_get_text(tree, "configNamespace");
    const cJSON *limits = prg_json_get(tree, "limits");
    if (!options->compat && !options->config && read_compat(tree, &settings->arena, &settings->compat, err) != PRG_OK)
        return err ? (int)err->code : PRG_INVALID;
    if (!options->config_namespace && !options->config && config_ns)
        settings->config_namespace = prg_arena_strdup(&settings->arena, config_ns);
    if (options->limits.count || options->config || !limits)
        return PRG_OK;
    settings->limits = (struct prg_policy_limits){.max_steps = limit_of(limits, "steps"),
                                                  .max_memory_bytes = limit_of(limits, "memoryBytes"),
                                                  .max_block_bytes = limit_of(limits, "blockBytes"),
                                                  .max_result_nodes = limit_of(limits, "resultNodes"),
                                                  .max_wall_ms = LEAST_WALL_MS};
    return PRG_OK;
}

// ---- inputs ----

bool prg_inputs_has_own_policies(const struct prg_cli_options *options, const struct prg_settings *settings)
{
    return options->policies || (options->config && settings->policies);
}

static int load_own(const struct prg_settings *settings, const struct prg_reader *objects, struct prg_inputs *inputs,
                    struct prg_error *err)
{
    struct prg_policy_life_options load = {.policies = settings->policies,
                                           .namespace_policies = settings->namespace_policies,
                                           .limits = settings->limits,
                                           .compat = settings->compat,
                                           .is_brief = true,
                                           .objects = objects};
    int rc = prg_policy_life_new(&load, &inputs->life, err);
    if (rc != PRG_OK)
        return rc;
    inputs->policies = prg_policy_set_ref(prg_policy_life_active(inputs->life));
    prg_cli_note_idle_set(settings->policies, inputs->policies);
    return PRG_OK;
}

void prg_inputs_make_planner(struct prg_inputs *inputs, const struct prg_settings *settings)
{
    inputs->planner = prg_planner_new(inputs->policies, settings->compat, settings->config_namespace);
    prg_planner_set_lc_server(inputs->planner, settings->learning.lc_server);
    if (inputs->life)
        prg_policy_life_bind(inputs->life, inputs->planner);
    if (inputs->recorded.settings)
        prg_planner_set_lc_server(inputs->planner, prg_json_get_text(inputs->recorded.settings, "lcServer"));
    prg_planner_load_config(inputs->planner, inputs->reader);
}

int prg_inputs_read_decision(const struct prg_cli_options *options, const struct prg_recording *recording, size_t index,
                             struct prg_settings *settings, struct prg_inputs *ret, struct prg_error *err)
{
    const struct prg_recorded_head *head = prg_recording_head(recording, index);
    prg_arena_init(&ret->arena);
    if (prg_cli_clock_and_seed(options, &ret->now_ns, &ret->seed, err) != PRG_OK)
        return err ? (int)err->code : PRG_INVALID;
    if (prg_recording_open(recording, index, &ret->arena, &ret->recorded, err) != PRG_OK ||
        read_settings(options, ret->recorded.settings, settings, err) != PRG_OK)
        return prg_wrap(err, "%s:%u", prg_recording_path(recording), head->line);
    if (!options->now)
        ret->now_ns = head->now_ns;
    if (!options->seed)
        ret->seed = head->seed;
    ret->reader = ret->recorded.reader;
    return PRG_OK;
}

static int load_policies(const struct prg_cli_options *options, const struct prg_settings *settings,
                         const struct prg_reader *objects, struct prg_inputs *inputs, struct prg_error *err)
{
    if (!inputs->recorded.policies || prg_inputs_has_own_policies(options, settings))
        return load_own(settings, objects, inputs, err);
    return prg_policy_set_from_json(inputs->recorded.policies, &settings->limits, &inputs->policies, err);
}

// Index of the latest decision about subject (NULL: of all); the number of decisions when there is none.
static size_t latest(const struct prg_recording *recording, const struct prg_key *subject)
{
    size_t count = prg_recording_count(recording);
    for (size_t i = count; i > 0; i--)
        if (!subject || prg_key_equal(&prg_recording_head(recording, i - 1)->key, subject))
            return i - 1;
    return count;
}

int prg_inputs_open(const struct prg_cli_options *options, const struct prg_store *store, const struct prg_key *subject,
                    struct prg_settings *settings, struct prg_inputs *ret, struct prg_error *err)
{
    const struct prg_recording *recording = prg_replaying_recording(store);
    size_t count = recording ? prg_recording_count(recording) : 0, index = recording ? latest(recording, subject) : 0;
    int rc = PRG_OK;
    *ret = (struct prg_inputs){0};
    if (index == count && count) // no decision about it: it was only read
        index = latest(recording, NULL);
    if (index < count)
        rc = prg_inputs_read_decision(options, recording, index, settings, ret, err);
    else
        rc = prg_cli_clock_and_seed(options, &ret->now_ns, &ret->seed, err);
    if (rc == PRG_OK)
        rc = load_policies(options, settings, &store->reader, ret, err);
    if (rc != PRG_OK)
        return rc;
    if (!subject || !ret->reader || !prg_key_equal(&ret->recorded.head->key, subject))
        ret->reader = &store->reader;
    prg_inputs_make_planner(ret, settings);
    return PRG_OK;
}

void prg_inputs_close(struct prg_inputs *inputs)
{
    prg_planner_free(inputs->planner);
    prg_policy_life_free(inputs->life);
    prg_policy_set_unref(inputs->policies);
    prg_recorded_close(&inputs->recorded);
    prg_arena_release(&inputs->arena);
    *inputs = (struct prg_inputs){0};
}
