// SPDX-License-Identifier: Apache-2.0
// candidates.c: collecting runtimes and KServe's rules for choosing among them.
#include "serving/candidates.h"

#include <string.h>

#include "base/clock.h"
#include "object/meta.h"

static const char *const protocols[] = {"v1", "v2", "grpc-v1", "grpc-v2"};

int prg_protocol_number(const char *protocol)
{
    for (size_t i = 0; i < PRG_COUNT(protocols); i++)
        if (prg_text_equal(protocol, protocols[i]))
            return (int)i + 1;
    return PRG_PROTOCOL_UNKNOWN;
}

const char *prg_protocol_name(int number)
{
    return number >= 1 && (size_t)number <= PRG_COUNT(protocols) ? protocols[number - 1] : "";
}

int prg_protocol_lowest(const cJSON *protocol_list)
{
    int lowest = PRG_PROTOCOL_UNKNOWN;
    const cJSON *item;
    if (!prg_json_is_array(protocol_list))
        return lowest;
    prg_json_each (item, protocol_list) {
        int number = prg_protocol_number(prg_json_text(item));
        if (number < lowest)
            lowest = number;
    }
    return lowest;
}

void prg_candidates_request(const cJSON *service, const cJSON *namespace_object, const cJSON *model,
                            struct prg_runtime_request *ret)
{
    const cJSON *format = prg_json_get(model, "modelFormat");
    const char *name = prg_json_get_text(format, "name"), *protocol = prg_json_get_text(model, "protocolVersion");
    memset(ret, 0, sizeof(*ret));
    ret->service = service;
    ret->namespace_object = namespace_object;
    ret->model = model;
    ret->format_name = name ? name : "";
    ret->format_version = prg_json_get_text(format, "version");
    ret->protocol = protocol ? protocol : "v1"; // GetProtocol
    ret->protocol_given = protocol != NULL;
    ret->named = prg_json_get_text(model, "runtime") != NULL;
}

// The first entry that fits; one that may be auto-selected goes before one that may not.
static const cJSON *fitting_entry(const cJSON *formats, const struct prg_runtime_request *request)
{
    const cJSON *entry, *fallback = NULL;
    prg_json_each (entry, formats) {
        if (!prg_text_equal(prg_json_get_text(entry, "name"), request->format_name))
            continue;
        if (request->format_version && !prg_text_equal(prg_json_get_text(entry, "version"), request->format_version))
            continue;
        if (prg_json_get_true(entry, "autoSelect"))
            return entry;
        if (!fallback)
            fallback = entry;
    }
    return fallback;
}

// GetPriority: the first entry with the name, whatever its version or autoSelect.
static const cJSON *first_entry(const cJSON *formats, const char *name)
{
    const cJSON *entry;
    prg_json_each (entry, formats) {
        if (prg_text_equal(prg_json_get_text(entry, "name"), name))
            return entry;
    }
    return NULL;
}

void prg_candidate_of(const cJSON *object, bool is_cluster, const struct prg_runtime_request *request,
                      const struct prg_compat *compat, struct prg_candidate *ret)
{
    const cJSON *spec = prg_json_get(object, "spec");
    const cJSON *formats = prg_json_get(spec, "supportedModelFormats");
    memset(ret, 0, sizeof(*ret));
    ret->name = prg_meta_name(object);
    ret->is_cluster = is_cluster;
    ret->object = object;
    ret->created = prg_meta_created(object);
    ret->protocol = prg_protocol_lowest(prg_json_get(spec, "protocolVersions"));
    if (!prg_json_is_array(formats))
        return;
    const cJSON *entry = fitting_entry(formats, request);
    if (!entry)
        return;
    ret->match.present = true;
    ret->match.name = prg_json_get_text(entry, "name");
    ret->match.version = prg_json_get_text(entry, "version");
    ret->match.auto_select = prg_json_get_true(entry, "autoSelect");
    if (!prg_mended(compat, PRG_COMPAT_matched_priority))
        entry = first_entry(formats, request->format_name);
    ret->match.has_priority = prg_json_get_int64(entry, "priority", &ret->match.priority);
}

size_t prg_candidates_collect(struct prg_arena *arena, const cJSON *runtimes, const cJSON *cluster_runtimes,
                              const char *ns, const struct prg_runtime_request *request,
                              const struct prg_compat *compat, struct prg_candidate **ret)
{
    size_t count = 0, cap = prg_json_count(runtimes) + prg_json_count(cluster_runtimes);
    struct prg_candidate *candidates = prg_arena_array(arena, struct prg_candidate, cap ? cap : 1);
    const cJSON *object;
    prg_json_each (object, runtimes) {
        if (!ns || prg_text_equal(prg_meta_namespace(object), ns))
            prg_candidate_of(object, false, request, compat, &candidates[count++]);
    }
    prg_json_each (object, cluster_runtimes) {
        prg_candidate_of(object, true, request, compat, &candidates[count++]);
    }
    *ret = candidates;
    return count;
}

static bool refuse(const char **ret_code, const char **ret_reason, const char *code, const char *reason)
{
    *ret_code = code;
    *ret_reason = reason;
    return false;
}

static bool refuse_format(struct prg_arena *arena, const struct prg_candidate *candidate,
                          const struct prg_runtime_request *request, const char **ret_code, const char **ret_reason)
{
    const cJSON *formats = prg_json_at(candidate->object, "spec", "supportedModelFormats");
    if (prg_json_is_array(formats) && first_entry(formats, request->format_name))
        return refuse(ret_code, ret_reason, "version",
                      prg_arena_printf(arena, "no entry for version %s of format %s", request->format_version,
                                       request->format_name));
    return refuse(ret_code, ret_reason, "format",
                  prg_arena_printf(arena, "no entry for format %s", request->format_name));
}

// IsProtocolVersionSupported: a runtime without a list speaks them all.
static bool speaks(const cJSON *spec, const char *protocol)
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

bool prg_candidate_accept(struct prg_arena *arena, const struct prg_candidate *candidate,
                          const struct prg_runtime_request *request, const char **ret_code, const char **ret_reason)
{
    const cJSON *spec = prg_json_get(candidate->object, "spec");
    if (prg_json_get_true(spec, "disabled"))
        return refuse(ret_code, ret_reason, "disabled", "disabled");
    if (request->named) {
        if (request->protocol_given && !speaks(spec, request->protocol))
            return refuse(ret_code, ret_reason, "protocol",
                          prg_arena_printf(arena, "does not speak protocol %s", request->protocol));
        return candidate->match.present || refuse_format(arena, candidate, request, ret_code, ret_reason);
    }
    if (prg_json_get_true(spec, "multiModel") != request->multi_model)
        return refuse(ret_code, ret_reason, "multi_model",
                      request->multi_model ? "serves a single model" : "serves many models");
    // Both ways: a runtime for many nodes does not serve a service that wants one.
    if (prg_json_is_object(prg_json_get(spec, "workerSpec")) != request->multi_node)
        return refuse(ret_code, ret_reason, "multi_node",
                      request->multi_node ? "has no workerSpec" : "is for several nodes (workerSpec)");
    if (!candidate->match.present)
        return refuse_format(arena, candidate, request, ret_code, ret_reason);
    if (!candidate->match.auto_select)
        return refuse(ret_code, ret_reason, "auto_select", "is not for automatic selection (autoSelect)");
    if (!speaks(spec, request->protocol))
        return refuse(ret_code, ret_reason, "protocol",
                      prg_arena_printf(arena, "does not speak protocol %s", request->protocol));
    return true;
}

// Nanoseconds since 1970; an absent time is the oldest.
static int64_t created_ns(const struct prg_candidate *candidate)
{
    int64_t ns;
    if (!candidate->created || !*candidate->created || !prg_clock_parse(candidate->created, &ns))
        return INT64_MIN;
    return ns;
}

bool prg_candidate_before(const struct prg_candidate *a, const struct prg_candidate *b)
{
    if (a->is_cluster != b->is_cluster)
        return b->is_cluster;
    if (a->match.has_priority != b->match.has_priority)
        return a->match.has_priority;
    if (a->match.has_priority && a->match.priority != b->match.priority)
        return a->match.priority > b->match.priority;
    if (a->protocol != b->protocol)
        return a->protocol < b->protocol;
    int64_t created_a = created_ns(a), created_b = created_ns(b);
    if (created_a != created_b)
        return created_a > created_b;
    return strcmp(a->name, b->name) < 0;
}

void prg_candidates_select(struct prg_arena *arena, struct prg_candidate *candidates, size_t count,
                           const struct prg_runtime_request *request, struct prg_selection *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->ordered = prg_arena_array(arena, struct prg_candidate *, count ? count : 1);
    for (size_t i = 0; i < count; i++) {
        struct prg_candidate *candidate = &candidates[i];
        candidate->code = candidate->reason = NULL;
        candidate->accepted = prg_candidate_accept(arena, candidate, request, &candidate->code, &candidate->reason);
        if (!candidate->accepted)
            continue;
        // Few candidates are accepted, so inserting keeps the order cheaply and stable.
        size_t at = ret->count;
        while (at > 0 && prg_candidate_before(candidate, ret->ordered[at - 1])) {
            ret->ordered[at] = ret->ordered[at - 1];
            at--;
        }
        ret->ordered[at] = candidate;
        ret->count++;
    }
    ret->chosen = ret->count ? ret->ordered[0] : NULL;
}

cJSON *prg_candidates_supporting(struct prg_arena *arena, const cJSON *runtimes, const cJSON *cluster_runtimes,
                                 const char *ns, const cJSON *model, bool multi_model, bool multi_node,
                                 const struct prg_compat *compat)
{
    struct prg_runtime_request request;
    struct prg_candidate *candidates;
    struct prg_selection selection;
    cJSON *names = prg_json_array(arena);
    prg_candidates_request(NULL, NULL, model, &request);
    request.multi_model = multi_model;
    request.multi_node = multi_node;
    size_t count = prg_candidates_collect(arena, runtimes, cluster_runtimes, ns, &request, compat, &candidates);
    // Naming a runtime makes autoSelect irrelevant, nothing else.
    if (request.named)
        for (size_t i = 0; i < count; i++)
            candidates[i].match.auto_select = true;
    request.named = false;
    prg_candidates_select(arena, candidates, count, &request, &selection);
    for (size_t i = 0; i < selection.count; i++)
        prg_json_append(names, prg_json_string(arena, selection.ordered[i]->name));
    return names;
}
