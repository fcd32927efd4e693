// SPDX-License-Identifier: Apache-2.0
// cmd_replay.c: `perigee replay`: plans every decision of a recording again and compares.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "cli/commands.h"
#include "cli/replaying.h"
#include "explain/doc.h"
#include "policy/portable.h"
#include "record/record.h"
#include "json/diff.h"

enum { SHOWN_DIFFERENCES = 20, VALUE_SHOWN = 200 };

struct replay {
    const struct prg_cli_options *options;
    struct prg_recording *recording;
    struct prg_policy_set *own; // of --policies, or NULL
    struct prg_map sets;        // number of a recorded set and its limits -> struct prg_policy_set
    bool is_other;              // other policies or another compatibility were asked for
    bool is_json;
    size_t same, different, beyond;
    struct prg_strbuf out;
    size_t shown; // differences of the decision at hand
    struct prg_arena *arena;
    cJSON *differences;
};

// ---- the sets ----

static int recorded_set(struct replay *replay, const struct prg_recorded_head *head, const cJSON *tree,
                        const struct prg_policy_limits *limits, struct prg_policy_set **ret, struct prg_error *err)
{
    prg_auto_arena arena = {0};
    const char *name =
        prg_arena_printf(&arena, "%llu %llu", (unsigned long long)head->policies, (unsigned long long)head->settings);
    struct prg_policy_set *set = prg_map_get(&replay->sets, name);
    if (!set) {
        if (prg_policy_set_from_json(tree, limits, &set, err) != PRG_OK)
            return prg_wrap(err, "%s:%u", prg_recording_path(replay->recording), head->line);
        prg_map_put(&replay->sets, name, set);
    }
    *ret = prg_policy_set_ref(set);
    return PRG_OK;
}

// ---- comparing ----

// What is bound to be another one with other policies, though nothing changes.
static void forget_policies(cJSON *plan)
{
    cJSON *object;
    prg_json_remove(plan, "policyRevision");
    prg_json_remove(plan, "trace");
    prg_json_each (object, prg_json_get(plan, "objects")) {
        cJSON *annotations = prg_json_at(object, "metadata", "annotations");
        if (annotations)
            prg_json_remove(annotations, "perigee.dev/policy-revision");
    }
}

static void add_difference(const struct prg_diff_entry *entry, void *ctx)
{
    struct replay *replay = ctx;
    if (replay->is_json) {
        cJSON *item = prg_json_object(replay->arena);
        prg_json_set_string(replay->arena, item, "pointer", entry->pointer);
        if (entry->from)
            prg_json_set(replay->arena, item, "recorded", prg_json_copy(replay->arena, entry->from));
        if (entry->to)
            prg_json_set(replay->arena, item, "replayed", prg_json_copy(replay->arena, entry->to));
        prg_json_append(replay->differences, item);
        return;
    }
    if (replay->shown++ >= SHOWN_DIFFERENCES)
        return;
    prg_strbuf_printf(&replay->out, "    %s: ", *entry->pointer ? entry->pointer : "/");
    prg_doc_value(&replay->out, entry->from, VALUE_SHOWN);
    prg_strbuf_puts(&replay->out, " -> ");
    prg_doc_value(&replay->out, entry->to, VALUE_SHOWN);
    prg_strbuf_putc(&replay->out, '\n');
}

static cJSON *decision_to_json(struct replay *replay, size_t index, bool is_same, bool is_beyond)
{
    struct prg_arena *arena = replay->arena;
    const struct prg_recorded_head *head = prg_recording_head(replay->recording, index);
    cJSON *item = prg_json_object(arena);
    prg_json_set_int(arena, item, "decision", (int64_t)index + 1);
    prg_json_set_int(arena, item, "line", head->line);
    prg_json_set_string(arena, item, "kind", head->key.kind);
    prg_json_set_string(arena, item, "namespace", head->key.ns);
    prg_json_set_string(arena, item, "name", head->key.name);
    prg_json_set_bool(arena, item, "same", is_same);
    if (is_beyond)
        prg_json_set_bool(arena, item, "beyondRecording", true);
    if (!is_same)
        prg_json_set(arena, item, "differences", replay->differences);
    return item;
}

// The plan as a tree, and as the text that was recorded.
static void compare(struct replay *replay, const struct prg_recorded *recorded, size_t index,
                    const struct prg_strbuf *text)
{
    struct prg_arena *arena = replay->arena;
    const struct prg_recorded_head *head = recorded->head;
    prg_auto_strbuf before = PRG_STRBUF_INIT;
    cJSON *then = prg_json_copy(arena, recorded->plan), *now;
    prg_require(prg_json_parse(arena, text->text, text->length, NULL, &now, NULL) == PRG_OK); // was printed just now
    prg_json_print(&before, recorded->plan, PRG_JSON_SORTED);
    bool is_same = before.length == text->length && memcmp(before.text, text->text, text->length) == 0;
    bool is_beyond = prg_recorded_is_beyond(recorded);
    if (!is_same && replay->is_other) {
        forget_policies(then);
        forget_policies(now);
        is_same = prg_json_equal(then, now);
    }
    replay->same += is_same;
    replay->different += !is_same;
    replay->beyond += is_beyond;
    replay->shown = 0;
    replay->differences = prg_json_array(arena);
    if (!is_same && !replay->is_json)
        prg_strbuf_printf(
            &replay->out, "%s:%u: decision %zu: %s: another plan\n", prg_recording_path(replay->recording), head->line,
            index + 1,
            prg_cli_one_line(prg_arena_printf(arena, "%s %s/%s", head->key.kind, head->key.ns, head->key.name)));
    if (!is_same && !prg_diff(then, now, add_difference, replay))
        prg_strbuf_puts(&replay->out, replay->is_json ? "" : "    the same values, written otherwise\n");
    if (replay->shown > SHOWN_DIFFERENCES)
        prg_strbuf_printf(&replay->out, "    and %zu more\n", replay->shown - SHOWN_DIFFERENCES);
    if (is_beyond && !is_same && !replay->is_json)
        prg_strbuf_puts(&replay->out, "    (it asked for objects that the recording may not hold)\n");
    if (replay->is_json) {
        prg_strbuf_puts(&replay->out, index ? ",\n" : "");
        prg_json_print(&replay->out, decision_to_json(replay, index, is_same, is_beyond), PRG_JSON_SORTED);
    }
}

// ---- decisions ----

static int replay_one(struct replay *replay, size_t index, struct prg_error *err)
{
    const struct prg_recording *recording = replay->recording;
    const struct prg_recorded_head *head = prg_recording_head(recording, index);
    struct prg_inputs inputs = {0};
    struct prg_settings settings;
    prg_auto_arena arena = {0};
    prg_auto_strbuf text = PRG_STRBUF_INIT;
    struct prg_error failure = {0};
    if (prg_settings_load(replay->options, &settings, err) != PRG_OK)
        return err->code;
    replay->arena = &arena;
    int rc = prg_inputs_read_decision(replay->options, recording, index, &settings, &inputs, err);
    if (rc == PRG_OK && replay->own)
        inputs.policies = prg_policy_set_ref(replay->own);
    else if (rc == PRG_OK)
        rc = recorded_set(replay, head, inputs.recorded.policies, &settings.limits, &inputs.policies, err);
    if (rc == PRG_OK) {
        struct prg_plan *plan = prg_plan_new(&arena);
        prg_inputs_make_planner(&inputs, &settings);
        bool is_planned = prg_planner_plan(inputs.planner, inputs.reader, &head->key, inputs.now_ns, inputs.seed, plan,
                                           &failure) == PRG_OK;
        prg_record_print_plan(&text, is_planned ? plan : NULL, &failure);
        compare(replay, &inputs.recorded, index, &text);
    }
    prg_inputs_close(&inputs);
    prg_arena_release(&settings.arena);
    return rc;
}

static int replay_all(struct replay *replay, struct prg_error *err)
{
    size_t count = prg_recording_count(replay->recording);
    int rc = PRG_OK;
    if (replay->is_json)
        prg_strbuf_puts(&replay->out, "{\"apiVersion\": \"perigee.dev/v1\", \"kind\": \"Replay\", \"decisions\": [\n");
    for (size_t i = 0; i < count && rc == PRG_OK; i++) {
        rc = replay_one(replay, i, err);
        prg_cli_write(&replay->out);
        prg_strbuf_clear(&replay->out);
    }
    if (rc != PRG_OK)
        return rc;
    if (replay->is_json) {
        prg_cli_write(&replay->out); // the head, when there was no decision
        printf("],\n\"same\": %zu, \"different\": %zu}\n", replay->same, replay->different);
    } else {
        printf("%zu %s: %zu the same, %zu different\n", count, prg_plural((int64_t)count, "decision", "decisions"),
               replay->same, replay->different);
        if (replay->beyond)
            printf("%zu asked for objects that the recording may not hold\n", replay->beyond);
    }
    return PRG_OK;
}

// A ConfigMap that they are in is that of the recording.
static int load_own(struct replay *replay, const struct prg_settings *settings, struct prg_error *err)
{
    struct prg_store *newest = NULL;
    int rc = PRG_OK;
    if (prg_text_has_prefix(settings->policies, "configmap:"))
        rc = prg_recording_store(replay->recording, &newest, err);
    if (rc == PRG_OK)
        rc = prg_cli_set_load(replay->options, settings->policies, newest, &settings->limits, false, &replay->own, err);
    prg_store_free(newest);
    return rc;
}

static int open_replay(struct replay *replay, struct prg_error *err)
{
    const struct prg_cli_options *options = replay->options;
    struct prg_settings settings;
    if (options->arg_count != 1)
        return prg_fail(err, PRG_INVALID, "perigee replay FILE: one recording; see perigee replay --help");
    if (prg_settings_load(options, &settings, err) != PRG_OK)
        return err->code;
    int rc = prg_recording_load(options->args[0], &replay->recording, err);
    if (rc == PRG_OK && prg_recording_note(replay->recording))
        fprintf(stderr, "note: %s\n", prg_recording_note(replay->recording));
    if (rc == PRG_OK && prg_inputs_has_own_policies(options, &settings))
        rc = load_own(replay, &settings, err);
    replay->is_other = replay->own || options->compat || options->config;
    prg_arena_release(&settings.arena);
    return rc;
}

static int run(struct prg_cli_options *options)
{
    struct replay replay = {.options = options, .out = PRG_STRBUF_INIT};
    struct prg_error err = {0};
    const struct prg_map_entry *entry;
    replay.is_json = options->output && strcmp(options->output, "json") == 0;
    prg_map_init(&replay.sets);
    int rc = open_replay(&replay, &err);
    if (rc == PRG_OK)
        rc = replay_all(&replay, &err);
    int code = rc != PRG_OK       ? prg_cli_error(&err, PRG_EXIT_TROUBLE)
               : replay.different ? PRG_EXIT_FAILED
                                  : PRG_EXIT_DONE;
    for (size_t i = 0; (entry = prg_map_next(&replay.sets, &i));)
        prg_policy_set_unref(entry->value);
    prg_map_release(&replay.sets);
    prg_policy_set_unref(replay.own);
    prg_recording_free(replay.recording);
    prg_strbuf_release(&replay.out);
    return code;
}

static const struct prg_option options[] = {
    {"output", 'o', PRG_OPTION_TEXT, PRG_AT(output), "FORMAT",
     "text (default): decisions with another plan, and how many are the same; json: every decision", "text|json"},
    PRG_OPTIONS_POLICY,
    PRG_OPTION_HELP,
    PRG_OPTIONS_END,
};

const struct prg_command prg_command_replay = {
    .name = "replay",
    .summary = "Plan every decision of a recording again and compare",
    .usage = "replay FILE [--policies DIR] [--compat MODE]",
    .text =
        "A recording (plan --record, controller --record) holds the objects, policies, settings, clock and seed of "
        "each\n"
        "decision, and its plan. Without options the plan has to be the same byte for byte. With other policies or\n"
        "another compatibility the differences are what these would change; trace and revision are left out then.\n\n"
        "Exit status: 0 all the same, 1 some plan is another, 2 the recording or the policies cannot be read.\n",
    .options = options,
    .run = run,
};
