// SPDX-License-Identifier: Apache-2.0
// why.c: the decision record of a plan, put together from its trace, from what runtime_selection answered, and from the
// stored objects.
#include "explain/why.h"

#include <string.h>

#include "edge/guard.h"
#include "explain/change.h"
#include "explain/doc.h"
#include "explain/hints.h"
#include "explain/rank.h"
#include "explain/report.h"
#include "learning/names.h"
#include "learning/why.h"
#include "object/meta.h"

// In which list of the record the decisions of a trace go. The others are steps.
static const char *section_of(const struct prg_trace_entry *entry)
{
    static const char *const sections[][2] = {
        {"annotation", "annotations"}, {"label", "labels"},       {"topology", "topology"}, {"image", "images"},
        {"merge", "merges"},           {"placeholder", "merges"}, {"patch", "merges"},      {"default", "defaults"},
    };
    for (size_t i = 0; i < PRG_COUNT(sections); i++)
        if (strcmp(entry->decision, sections[i][0]) == 0)
            return sections[i][1];
    return "steps";
}

// Those that other parts of the record tell better.
static bool is_told_elsewhere(const struct prg_trace_entry *entry, const struct prg_plan *plan)
{
    if (strcmp(entry->decision, "runtime") == 0)
        return strchr(entry->subject ? entry->subject : "", ' ') != NULL;
    if (strcmp(entry->decision, "plan") == 0)
        return prg_text_equal(entry->reason, plan->error);
    return strcmp(entry->decision, "mode") == 0 && prg_text_equal(entry->subject, prg_meta_name(plan->resource));
}

static void add_trace(struct prg_arena *arena, cJSON *document, const struct prg_plan *plan)
{
    for (const struct prg_trace_entry *entry = plan->trace_first; entry; entry = entry->next) {
        if (is_told_elsewhere(entry, plan))
            continue;
        const char *section = section_of(entry);
        prg_json_append(prg_json_ensure_array(arena, document, section), prg_doc_trace(arena, entry));
    }
}

static const struct prg_trace_entry *find_trace(const struct prg_plan *plan, const char *decision, const char *subject)
{
    for (const struct prg_trace_entry *entry = plan->trace_first; entry; entry = entry->next)
        if (strcmp(entry->decision, decision) == 0 && prg_text_equal(entry->subject, subject))
            return entry;
    return NULL;
}

static cJSON *mode_of(struct prg_arena *arena, const struct prg_plan *plan)
{
    const struct prg_trace_entry *entry = find_trace(plan, "mode", prg_meta_name(plan->resource));
    cJSON *node = prg_json_object(arena);
    if (entry) {
        prg_doc_text(arena, node, "name", entry->outcome);
        prg_doc_text(arena, node, "reason", entry->reason);
    }
    return node;
}

static cJSON *request_of(struct prg_arena *arena, const struct prg_plan *plan)
{
    cJSON *node = prg_json_object(arena);
    const cJSON *model = prg_json_at(plan->resource, "spec", "predictor", "model");
    if (!plan->runtimes) {
        prg_doc_text(arena, node, "format", prg_json_text(prg_json_at(model, "modelFormat", "name")));
        prg_doc_text(arena, node, "version", prg_json_text(prg_json_at(model, "modelFormat", "version")));
        prg_doc_text(arena, node, "runtime", prg_json_get_text(model, "runtime"));
        return node;
    }
    const struct prg_runtime_request *request = &plan->runtimes->request;
    prg_doc_text(arena, node, "format", request->format_name);
    prg_doc_text(arena, node, "version", request->format_version);
    prg_doc_text(arena, node, "protocol", request->protocol);
    prg_json_set_bool(arena, node, "protocolGiven", request->protocol_given);
    if (request->named)
        prg_doc_text(arena, node, "runtime", prg_json_get_text(model, "runtime"));
    prg_json_set_bool(arena, node, "multiNode", request->multi_node);
    prg_json_set_bool(arena, node, "multiModel", request->multi_model);
    return node;
}

// ---- the deciding line ----

static const char *none_fits(struct prg_arena *arena, const struct prg_plan *plan)
{
    const struct prg_runtime_record *record = plan->runtimes;
    const struct prg_runtime_request *request = &record->request;
    const char *version =
        request->format_version ? prg_arena_printf(arena, " version '%s'", request->format_version) : "";
    size_t near = 0;
    if (request->named)
        return prg_arena_printf(arena, "not served: the runtime it names, %s, is refused: %s",
                                record->candidates[0].name,
                                record->candidates[0].reason ? record->candidates[0].reason : "by the policy");
    for (size_t i = 0; i < record->count; i++)
        near += !prg_text_equal(record->candidates[i].code, "format");
    const char *counted =
        record->count == 0 ? "there are no runtimes at all"
        : near == 0        ? prg_arena_printf(arena, "none of %zu %s serves that format", record->count,
                                              prg_plural((int64_t)record->count, "runtime", "runtimes"))
                    : prg_arena_printf(arena, "of %zu %s %zu %s the format, refused for another reason", record->count,
                                       prg_plural((int64_t)record->count, "runtime", "runtimes"), near,
                                       prg_plural((int64_t)near, "serves", "serve"));
    return prg_arena_printf(arena, "not served: no runtime takes %s%s with protocol %s%s%s: %s", request->format_name,
                            version, request->protocol, request->protocol_given ? "" : " (assumed)",
                            request->multi_node ? " on several nodes" : "", counted);
}

static const char *chosen_text(struct prg_arena *arena, const struct prg_plan *plan)
{
    const struct prg_candidate *chosen = plan->runtimes->selection.chosen;
    return prg_arena_printf(arena, "served by %s %s: %s",
                            chosen->is_cluster ? "ClusterServingRuntime" : "ServingRuntime", chosen->name,
                            prg_rank_verdict(arena, plan));
}

static const char *verdict_of_job(struct prg_arena *arena, const struct prg_plan *plan)
{
    const struct prg_trace_entry *last = NULL;
    for (const struct prg_trace_entry *entry = plan->trace_first; entry; entry = entry->next)
        if (strcmp(entry->decision, "stage") == 0)
            last = entry;
    if (plan->error)
        return prg_arena_printf(arena, "fails: %s", plan->error);
    if (!last)
        return "nothing to decide";
    return prg_arena_printf(arena, "%s: %s%s%s", last->subject, last->outcome, last->reason ? ": " : "",
                            last->reason ? last->reason : "");
}

static const char *verdict_of(struct prg_arena *arena, const struct prg_plan *plan)
{
    if (prg_text_equal(prg_json_get_text(plan->resource, "kind"), PRG_KIND_JOB))
        return verdict_of_job(arena, plan);
    if (plan->runtimes && !plan->runtimes->selection.chosen)
        return none_fits(arena, plan);
    const char *named = prg_json_get_text(prg_json_at(plan->resource, "spec", "predictor", "model"), "runtime");
    if (plan->error_code == PRG_NOTFOUND && named && !plan->runtimes)
        return prg_arena_printf(arena,
                                "not served: the runtime it names is not there: no ServingRuntime '%s' in namespace %s "
                                "and no ClusterServingRuntime of that name",
                                named, prg_meta_namespace(plan->resource));
    if (plan->error)
        return prg_arena_printf(arena, plan->runtimes ? "%s, but the plan fails: %s" : "%snot planned: %s",
                                plan->runtimes ? chosen_text(arena, plan) : "", plan->error);
    if (plan->runtimes)
        return chosen_text(arena, plan);
    const struct prg_trace_entry *end = find_trace(plan, "plan", prg_meta_name(plan->resource));
    if (end)
        return prg_arena_printf(arena, "%s: %s", end->outcome, end->reason ? end->reason : "");
    const struct prg_trace_entry *mode = find_trace(plan, "mode", prg_meta_name(plan->resource));
    if (mode && prg_text_equal(mode->outcome, "left alone"))
        return prg_arena_printf(arena, "left alone: %s", mode->reason);
    return "served by its own containers: no runtime is asked";
}

// ---- the record ----

// What a job waits for, and what happens next: core/learning knows.
static cJSON *job_of(struct prg_arena *arena, const struct prg_why_input *in)
{
    struct prg_error err = {0};
    cJSON *why = NULL;
    struct prg_learning_input learning = {.job = in->store->get(in->store, &in->subject),
                                          .store = in->store,
                                          .lc_server = prg_planner_lc_server(in->planner),
                                          .now_ns = in->now_ns,
                                          .seed = in->seed};
    if (prg_learning_why(arena, &learning, prg_planner_decider(in->planner, in->subject.ns), &why, &err) != PRG_OK)
        return NULL; // the plan has told it
    cJSON *held = prg_guard_held(arena, in->store, learning.job);
    if (prg_json_count(held))
        prg_json_set(arena, why, "held", held);
    return why;
}

static cJSON *policies_of(struct prg_arena *arena, const struct prg_why_input *in, const struct prg_plan *plan)
{
    cJSON *node = prg_json_object(arena);
    prg_doc_text(arena, node, "revision", plan->policy_revision);
    prg_doc_text(arena, node, "compat", prg_report_compat(in->compat));
    return node;
}

cJSON *prg_why_document(struct prg_arena *arena, const struct prg_why_input *in, struct prg_plan *plan)
{
    cJSON *document = prg_json_object(arena);
    prg_json_set_string(arena, document, "apiVersion", "perigee.dev/v1");
    prg_json_set_string(arena, document, "kind", "Why");
    cJSON *subject = prg_doc_subject(arena, plan->resource);
    prg_doc_text(arena, subject, "place", prg_reader_place(in->store, &in->subject, NULL, arena));
    prg_doc_node(arena, document, "subject", subject);
    prg_doc_text(arena, document, "verdict", verdict_of(arena, plan));
    prg_doc_text(arena, document, "error", plan->error);
    if (prg_text_equal(in->subject.kind, PRG_KIND_JOB)) {
        prg_doc_node(arena, document, "job", job_of(arena, in));
    } else {
        prg_doc_node(arena, document, "request", request_of(arena, plan));
        prg_doc_node(arena, document, "mode", mode_of(arena, plan));
        prg_doc_node(arena, document, "runtimes", prg_rank_runtimes(arena, in, plan));
        prg_doc_node(arena, document, "hints", prg_hints(arena, in, plan));
    }
    add_trace(arena, document, plan);
    prg_doc_node(arena, document, "objects", prg_change_objects(arena, in, plan));
    prg_doc_node(arena, document, "lastChange", prg_change_last(arena, in, plan));
    prg_doc_node(arena, document, "policies", policies_of(arena, in, plan));
    return document;
}
