// SPDX-License-Identifier: Apache-2.0
// kserve_rules.h: KServe's rules for accepting and ordering runtimes in C, for the decider of these tests: what
// lua/policies/runtime_selection.lua does in the program.
//
// Source: sortServingRuntimeList, sortSupportedRuntimeByPriority.
#pragma once
#include <string.h>

#include "base/clock.h"
#include "serving/candidates.h"

static inline bool rules_has_format(const cJSON *formats, const char *name)
{
    const cJSON *entry;
    prg_json_each (entry, formats) {
        if (prg_text_equal(prg_json_get_text(entry, "name"), name))
            return true;
    }
    return false;
}

static inline bool rules_refuse(const char **ret_code, const char **ret_reason, const char *code, const char *reason)
{
    *ret_code = code;
    *ret_reason = reason;
    return false;
}

static inline bool rules_refuse_format(struct prg_arena *arena, const struct prg_candidate *candidate,
                                       const struct prg_runtime_request *request, const char **ret_code,
                                       const char **ret_reason)
{
    const cJSON *formats = prg_json_at(candidate->object, "spec", "supportedModelFormats");
    if (rules_has_format(formats, request->format_name))
        return rules_refuse(ret_code, ret_reason, "version",
                            prg_arena_printf(arena, "no entry for version %s of format %s", request->format_version,
                                             request->format_name));
    return rules_refuse(ret_code, ret_reason, "format",
                        prg_arena_printf(arena, "no entry for format %s", request->format_name));
}

// IsProtocolVersionSupported: a runtime without a list speaks them all.
static inline bool rules_speak(const cJSON *spec, const char *protocol)
{
    const cJSON *list = prg_json_get(spec, "protocolVersions"), *item;
    if (prg_json_count(list) == 0)
        return true;
    prg_json_each (item, list) {
        if (prg_text_equal(prg_json_text(item), protocol))
            return true;
    }
    return false;
}

static inline bool rules_accept(struct prg_arena *arena, const struct prg_candidate *candidate,
                                const struct prg_runtime_request *request, const char **ret_code,
                                const char **ret_reason)
{
    const cJSON *spec = prg_json_get(candidate->object, "spec");
    if (prg_json_get_true(spec, "disabled"))
        return rules_refuse(ret_code, ret_reason, "disabled", "disabled");
    if (request->named) {
        if (request->protocol_given && !rules_speak(spec, request->protocol))
            return rules_refuse(ret_code, ret_reason, "protocol",
                                prg_arena_printf(arena, "does not speak protocol %s", request->protocol));
        return candidate->match.present || rules_refuse_format(arena, candidate, request, ret_code, ret_reason);
    }
    if (prg_json_get_true(spec, "multiModel") != request->multi_model)
        return rules_refuse(ret_code, ret_reason, "multi_model",
                            request->multi_model ? "serves a single model" : "serves many models");
    // Both ways: a runtime for many nodes does not serve a service that wants one.
    if (prg_json_is_object(prg_json_get(spec, "workerSpec")) != request->multi_node)
        return rules_refuse(ret_code, ret_reason, "multi_node",
                            request->multi_node ? "has no workerSpec" : "is for several nodes (workerSpec)");
    if (!candidate->match.present)
        return rules_refuse_format(arena, candidate, request, ret_code, ret_reason);
    if (!candidate->match.auto_select)
        return rules_refuse(ret_code, ret_reason, "auto_select", "is not for automatic selection (autoSelect)");
    if (!rules_speak(spec, request->protocol))
        return rules_refuse(ret_code, ret_reason, "protocol",
                            prg_arena_printf(arena, "does not speak protocol %s", request->protocol));
    return true;
}

// Nanoseconds since 1970; an absent time is the oldest.
static inline int64_t rules_created_ns(const struct prg_candidate *candidate)
{
    int64_t ns;
    if (!candidate->created || !*candidate->created || !prg_clock_parse(candidate->created, &ns))
        return INT64_MIN;
    return ns;
}

static inline bool rules_before(const struct prg_candidate *a, const struct prg_candidate *b)
{
    if (a->is_cluster != b->is_cluster)
        return b->is_cluster;
    if (a->match.has_priority != b->match.has_priority)
        return a->match.has_priority;
    if (a->match.has_priority && a->match.priority != b->match.priority)
        return a->match.priority > b->match.priority;
    if (a->protocol != b->protocol)
        return a->protocol < b->protocol;
    int64_t created_a = rules_created_ns(a), created_b = rules_created_ns(b);
    if (created_a != created_b)
        return created_a > created_b;
    return strcmp(a->name, b->name) < 0;
}

static inline void rules_select(struct prg_arena *arena, struct prg_candidate *candidates, size_t count,
                                const struct prg_runtime_request *request, struct prg_selection *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->ordered = prg_arena_array(arena, struct prg_candidate *, count ? count : 1);
    for (size_t i = 0; i < count; i++) {
        struct prg_candidate *candidate = &candidates[i];
        candidate->code = candidate->reason = NULL;
        candidate->accepted = rules_accept(arena, candidate, request, &candidate->code, &candidate->reason);
        if (!candidate->accepted)
            continue;
        // Few candidates are accepted, so inserting keeps the order cheaply and stable.
        size_t at = ret->count;
        while (at > 0 && rules_before(candidate, ret->ordered[at - 1])) {
            ret->ordered[at] = ret->ordered[at - 1];
            at--;
        }
        ret->ordered[at] = candidate;
        ret->count++;
    }
    ret->chosen = ret->count ? ret->ordered[0] : NULL;
}
