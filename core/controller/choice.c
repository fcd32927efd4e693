// SPDX-License-Identifier: Apache-2.0
// choice.c: telling a choice of a runtime in one line.
#include "controller/choice.h"

#include <string.h>

enum { MESSAGE_BYTES = 1000 }; // an API server takes messages of 1024

// What the trace says about the candidate that was chosen, or NULL.
static const struct prg_trace_entry *chosen_entry(const struct prg_plan *plan)
{
    for (const struct prg_trace_entry *entry = plan->trace_first; entry; entry = entry->next)
        if (strcmp(entry->decision, "runtime") == 0 && entry->outcome && strcmp(entry->outcome, "chosen") == 0)
            return entry;
    return NULL;
}

bool prg_choice_event(const cJSON *subject, const struct prg_plan *plan, struct prg_store_event *ret)
{
    const struct prg_runtime_record *record = plan->runtimes;
    const struct prg_candidate *chosen = record ? record->selection.chosen : NULL;
    const struct prg_trace_entry *entry = chosen_entry(plan);
    const cJSON *status = prg_json_get(subject, "status");
    if (plan->error || !chosen || !entry)
        return false;
    const char *known =
        prg_json_get_text(status, chosen->is_cluster ? "clusterServingRuntimeName" : "servingRuntimeName");
    if (known && strcmp(known, chosen->name) == 0)
        return false;
    bool has_policy = !record->request.named && entry->source.file;
    const char *how = record->request.named ? "the service names it" : entry->reason ? entry->reason : "it fits";
    const char *policy = !has_policy ? ""
                                     : prg_arena_printf(plan->arena, " (%s:%d %s)", entry->source.file,
                                                        entry->source.line, entry->source.function);
    const char *text =
        prg_arena_printf(plan->arena, "%s %s: %s%s", chosen->is_cluster ? "ClusterServingRuntime" : "ServingRuntime",
                         chosen->name, how, policy);
    size_t length = strlen(text);
    if (length > MESSAGE_BYTES)
        for (length = MESSAGE_BYTES; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80; length--)
            ;
    *ret = (struct prg_store_event){"Normal", "RuntimeSelected", prg_arena_strndup(plan->arena, text, length)};
    return true;
}
