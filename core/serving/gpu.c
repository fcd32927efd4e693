// SPDX-License-Identifier: Apache-2.0
// gpu.c: counting GPUs: which resource names are GPUs, how many a container asks for, and how the GPUs that a model
// needs are spread over the nodes of a multi-node service.
#include "object/quantity.h"
#include "serving/podspec.h"

#include <limits.h>
#include <string.h>

#define GPU_TYPES_ANNOTATION "serving.kserve.io/gpu-resource-types"

// In the order in which they are looked for. The original knows the plain names only.
static const struct kind {
    const char *name;
    bool is_prefix;
    bool is_mended; // counts only with gpu_kinds mended
} kinds[] = {
    {"nvidia.com/gpu", false, false}, {"nvidia.com/mig-", true, true}, {"amd.com/gpu", false, false},
    {"intel.com/gpu", false, false},  {"gpu.intel.com/", true, true},  {"habana.ai/gaudi", false, false},
};

// Names of gpu.intel.com that are shares of a device or a watch on it, given out beside the device itself.
static bool is_part_of_device(const char *resource)
{
    static const char *const parts[] = {"gpu.intel.com/millicores", "gpu.intel.com/memory.max", "gpu.intel.com/tiles"};
    for (size_t i = 0; i < PRG_COUNT(parts); i++)
        if (strcmp(resource, parts[i]) == 0)
            return true;
    return prg_text_has_prefix(resource, "gpu.intel.com/") && prg_text_has_suffix(resource, "_monitoring");
}

// Place of resource in the order of the kinds, or -1 when it is no GPU.
static int rank_of(const char *resource, const cJSON *custom_types, const struct prg_compat *compat)
{
    bool mended = prg_mended(compat, PRG_COMPAT_gpu_kinds);
    const cJSON *custom;
    int rank = PRG_COUNT(kinds);
    for (size_t i = 0; i < PRG_COUNT(kinds); i++) {
        const struct kind *kind = &kinds[i];
        if (kind->is_mended && !mended)
            continue;
        if (kind->is_prefix ? prg_text_has_prefix(resource, kind->name) && !is_part_of_device(resource)
                            : strcmp(resource, kind->name) == 0)
            return (int)i;
    }
    prg_json_each (custom, custom_types) {
        if (prg_text_equal(prg_json_text(custom), resource))
            return rank;
        rank++;
    }
    return -1;
}

bool prg_gpu_is(const char *resource, const cJSON *custom_types)
{
    return resource && rank_of(resource, custom_types, &prg_compat_fixed) >= 0;
}

// What is no quantity counts as none; the typed normal form has no such thing. Beyond int64 the original counts what Go
// returns there, mostly none.
static int64_t count_of(const cJSON *node, const struct prg_compat *compat)
{
    struct prg_quantity quantity;
    if (!node || prg_quantity_of(node, &quantity, NULL) != PRG_OK)
        return 0;
    return prg_mended(compat, PRG_COMPAT_gpu_kinds) ? prg_quantity_value_saturated(&quantity)
                                                    : prg_quantity_value(&quantity);
}

struct choice {
    const char *resource;
    int rank;
    int64_t count;
};

static bool is_better(const struct choice *a, const struct choice *b)
{
    if (!b->resource)
        return true;
    if ((a->count != 0) != (b->count != 0))
        return a->count != 0;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return strcmp(a->resource, b->resource) < 0; // two MIG profiles
}

static void choose(const cJSON *list, const cJSON *hidden_by, const cJSON *custom_types,
                   const struct prg_compat *compat, const char *except, struct choice *best)
{
    const cJSON *item;
    if (!prg_json_is_object(list))
        return;
    prg_json_each (item, list) {
        struct choice one = {item->string, rank_of(item->string, custom_types, compat), count_of(item, compat)};
        if (one.rank < 0 || prg_json_get(hidden_by, item->string) || (except && strcmp(except, item->string) == 0))
            continue;
        if (is_better(&one, best))
            *best = one;
    }
}

static struct choice best_of(const cJSON *resources, const cJSON *custom_types, const struct prg_compat *compat,
                             const char *except)
{
    const cJSON *requests = prg_json_get(resources, "requests");
    struct choice best = {0};
    choose(requests, NULL, custom_types, compat, except, &best);
    if (prg_mended(compat, PRG_COMPAT_gpu_kinds))
        choose(prg_json_get(resources, "limits"), requests, custom_types, compat, except, &best);
    return best;
}

const char *prg_gpu_resource(const cJSON *resources, const cJSON *custom_types, const struct prg_compat *compat,
                             int64_t *ret_requested)
{
    struct choice best = best_of(resources, custom_types, compat, NULL);
    *ret_requested = best.count;
    return best.resource;
}

const char *prg_gpu_other_kind(const cJSON *resources, const cJSON *custom_types, const struct prg_compat *compat,
                               const char *resource)
{
    struct choice best = best_of(resources, custom_types, compat, resource);
    return best.count != 0 ? best.resource : NULL;
}

const char *prg_gpu_declared(const cJSON *resources, const cJSON *custom_types, const struct prg_compat *compat)
{
    struct choice best = {0};
    choose(prg_json_get(resources, "limits"), NULL, custom_types, compat, NULL, &best);
    choose(prg_json_get(resources, "requests"), NULL, custom_types, compat, NULL, &best);
    return best.count != 0 ? best.resource : NULL;
}

static int bad_types(const char *text, struct prg_error *err)
{
    return prg_fail(err, PRG_INVALID, "invalid GPU format(%s) for %s annotation: must be a valid JSON array", text,
                    GPU_TYPES_ANNOTATION);
}

static void add_types(struct prg_arena *arena, cJSON *types, const cJSON *names)
{
    const cJSON *name;
    prg_json_each (name, names) {
        if (prg_json_is_string(name))
            prg_json_append(types, prg_json_string(arena, prg_json_text(name)));
    }
}

int prg_gpu_custom_types(struct prg_arena *arena, const struct prg_serving_config *config, const cJSON *annotations,
                         cJSON **ret, struct prg_error *err)
{
    cJSON *types = prg_json_array(arena), *given = NULL;
    const cJSON *multi_node = config ? prg_json_get(config->sections, "multiNode") : NULL, *name;
    const cJSON *custom = prg_json_get(multi_node, "customGPUResourceTypeList");
    const char *text = prg_json_get_text(annotations, GPU_TYPES_ANNOTATION);
    if (prg_json_is_array(custom))
        add_types(arena, types, custom);
    if (text && text[0]) {
        const struct prg_json_limits limits = {.max_bytes = 64 * 1024, .max_depth = 4};
        if (prg_json_parse(arena, text, strlen(text), &limits, &given, NULL) != PRG_OK || !prg_json_is_array(given) ||
            prg_json_count(given) == 0)
            return bad_types(text, err);
        prg_json_each (name, given) {
            if (!prg_json_is_string(name) || prg_json_text_length(name) == 0)
                return bad_types(text, err);
        }
        add_types(arena, types, given);
    }
    *ret = types;
    return PRG_OK;
}

// ---- arithmetic ----

// Rounded up; b is above 0.
static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0 ? 1 : 0);
}

static int64_t minus(int64_t a, int64_t b)
{
    return b == INT64_MIN ? prg_saturated_add(prg_saturated_add(a, INT64_MAX), 1) : prg_saturated_add(a, -b);
}

// The worker's GPUs are known: as many nodes as it takes, or the head alone where it can hold all.
static struct prg_topology with_worker_gpus(int64_t total, int64_t head, int64_t worker)
{
    int64_t nodes = divide_up(total, worker);
    if (head == 0)
        head = minus(total, prg_saturated_multiply(worker, minus(nodes, 1)));
    else if (head > 0 && divide_up(total, head) == 1)
        nodes = 1;
    if (nodes == 1)
        return (struct prg_topology){.nodes = 1, .head_gpus = total, .worker_gpus = 0};
    return (struct prg_topology){.nodes = nodes, .head_gpus = head, .worker_gpus = worker};
}

// Only the head's GPUs are known: the rest on workers with one GPU each.
static struct prg_topology with_head_gpus(int64_t total, int64_t head)
{
    int64_t rest = minus(total, head);
    return (struct prg_topology){
        .nodes = rest > 0 ? prg_saturated_add(rest, 1) : 1, .head_gpus = head, .worker_gpus = 1};
}

void prg_gpu_ray(int64_t total, int64_t head_requested, int64_t worker_requested, struct prg_topology *ret,
                 const char **ret_refusal, struct prg_arena *arena)
{
    struct prg_topology found;
    *ret_refusal = NULL;
    if (worker_requested > 0) {
        found = with_worker_gpus(total, head_requested, worker_requested);
    } else if (head_requested > 0) {
        found = with_head_gpus(total, head_requested);
    } else {
        *ret = (struct prg_topology){.nodes = total, .head_gpus = 1, .worker_gpus = 1};
        return;
    }
    int64_t workers = prg_saturated_multiply(found.worker_gpus, minus(found.nodes, 1));
    if (total > prg_saturated_add(found.head_gpus, workers)) {
        *ret_refusal = prg_arena_printf(arena,
                                        "the total required number of GPUs(%lld) is less than the number of GPUs "
                                        "assigned to the head node(%lld) + worker node(%lld)",
                                        (long long)total, (long long)found.head_gpus, (long long)workers);
        return;
    }
    *ret = found;
}

void prg_gpu_mp(int64_t pipeline_parallel, int64_t tensor_parallel, struct prg_topology *ret)
{
    *ret =
        (struct prg_topology){.nodes = pipeline_parallel, .head_gpus = tensor_parallel, .worker_gpus = tensor_parallel};
}
