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
