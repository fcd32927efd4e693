// SPDX-License-Identifier: Apache-2.0
// twin.c: every question to both sets, until an answer differs. Wherever it is not plain that two answers lead to the
// same plan they count as different: that costs a plan, nothing else.
#include "explain/twin.h"

#include <string.h>

#include "policy/portable.h"

static struct prg_twin *twin_of(void *ctx)
{
    return ctx;
}

static bool asks_second(const struct prg_twin *twin, enum prg_twin_policies policy)
{
    return !twin->differs && !(twin->equal & (unsigned)policy);
}

// Both were asked. A failure of either makes a plan of its own, whatever the other said.
static int settle(struct prg_twin *twin, int first, int second, bool is_same)
{
    if (first != PRG_OK || second != PRG_OK || !is_same)
        twin->differs = true;
    return first;
}

static const char *revision(void *ctx)
{
    const struct prg_twin *twin = twin_of(ctx);
    return twin->first->revision ? twin->first->revision(twin->first->ctx) : NULL;
}

static int begin(void *ctx, const struct prg_decision_context *context, struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    struct prg_error ignored = {0};
    twin->differs = false;
    twin->arena = context->arena;
    int rc = twin->first->begin(twin->first->ctx, context, err);
    if (!twin->second)
        return rc;
    twin->has_second_begun = rc == PRG_OK && twin->second->begin(twin->second->ctx, context, &ignored) == PRG_OK;
    twin->differs = !twin->has_second_begun;
    return rc;
}

static void end(void *ctx)
{
    struct prg_twin *twin = twin_of(ctx);
    if (twin->has_second_begun)
        twin->second->end(twin->second->ctx);
    twin->has_second_begun = false;
    twin->first->end(twin->first->ctx);
}

// ---- runtime_selection ----

static bool is_same_refusal(const struct prg_candidate *a, const struct prg_candidate *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].accepted != b[i].accepted || !prg_text_equal(a[i].code, b[i].code) ||
            !prg_text_equal(a[i].reason, b[i].reason))
            return false;
    return true;
}

static int stop(struct prg_twin *twin, const struct prg_selection *selection, struct prg_error *err)
{
    twin->has_stopped = twin->stop_at && selection->chosen && selection->chosen->object == twin->stop_at;
    return twin->has_stopped ? prg_fail(err, PRG_CONFLICT, "the plan is known from here on") : PRG_OK;
}

// What a plan takes from a selection is the chosen one, and all the reasons when there is none.
static int select(void *ctx, const struct prg_runtime_request *request, struct prg_candidate *candidates, size_t count,
                  struct prg_selection *ret, struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    struct prg_candidate *copies = NULL;
    if (asks_second(twin, PRG_TWIN_RUNTIME_SELECTION)) {
        copies = prg_arena_array(twin->arena, struct prg_candidate, count ? count : 1);
        if (count)
            memcpy(copies, candidates, count * sizeof(*copies));
    }
    int rc = twin->first->select(twin->first->ctx, request, candidates, count, ret, err);
    if (!asks_second(twin, PRG_TWIN_RUNTIME_SELECTION))
        return rc == PRG_OK ? stop(twin, ret, err) : rc;
    struct prg_selection other = {0};
    struct prg_error ignored = {0};
    int second = twin->second->select(twin->second->ctx, request, copies, count, &other, &ignored);
    bool is_same = false;
    if (rc == PRG_OK && second == PRG_OK && (ret->chosen != NULL) == (other.chosen != NULL))
        is_same = ret->chosen ? ret->chosen - candidates == other.chosen - copies
                              : is_same_refusal(candidates, copies, count);
    return settle(twin, rc, second, is_same);
}

// ---- metadata ----

static int keep_annotation(void *ctx, const char *key, const char *value, const char *layer, enum prg_keep *ret,
                           const char **ret_reason, struct prg_policy_source *source, struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    int rc = twin->first->keep_annotation(twin->first->ctx, key, value, layer, ret, ret_reason, source, err);
    if (!asks_second(twin, PRG_TWIN_ANNOTATION_FILTER))
        return rc;
    enum prg_keep other = PRG_KEEP;
    const char *reason;
    struct prg_error ignored = {0};
    int second = twin->second->keep_annotation(twin->second->ctx, key, value, layer, &other, &reason, NULL, &ignored);
    return settle(twin, rc, second, *ret == other);
}

static int label_layers(void *ctx, const char *part, const char *target, const char **ret_layers, size_t *ret_count,
                        size_t cap, struct prg_policy_source *source, struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    int rc = twin->first->label_layers(twin->first->ctx, part, target, ret_layers, ret_count, cap, source, err);
    if (!asks_second(twin, PRG_TWIN_LABEL_PRIORITY))
        return rc;
    const char **others = prg_arena_array(twin->arena, const char *, cap);
    size_t count = 0;
    struct prg_error ignored = {0};
    int second = twin->second->label_layers(twin->second->ctx, part, target, others, &count, cap, NULL, &ignored);
    bool is_same = rc == PRG_OK && second == PRG_OK && count == *ret_count;
    for (size_t i = 0; is_same && i < count; i++)
        is_same = prg_text_equal(ret_layers[i], others[i]);
    return settle(twin, rc, second, is_same);
}

static int resolve_label(void *ctx, const char *key, const struct prg_label_value *values, size_t count,
                         const char *part, const char **ret_value, bool *ret_dropped, struct prg_policy_source *source,
                         struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    int rc =
        twin->first->resolve_label(twin->first->ctx, key, values, count, part, ret_value, ret_dropped, source, err);
    if (!asks_second(twin, PRG_TWIN_LABEL_PRIORITY))
        return rc;
    const char *value = NULL;
    bool is_dropped = false;
    struct prg_error ignored = {0};
    int second =
        twin->second->resolve_label(twin->second->ctx, key, values, count, part, &value, &is_dropped, NULL, &ignored);
    return settle(twin, rc, second, is_dropped == *ret_dropped && prg_text_equal(value, *ret_value));
}

// A set that has a function and one that has none are not compared further.
static bool has_resolve_label(void *ctx)
{
    struct prg_twin *twin = twin_of(ctx);
    bool has = twin->first->has_resolve_label(twin->first->ctx);
    if (asks_second(twin, PRG_TWIN_LABEL_PRIORITY) && has != twin->second->has_resolve_label(twin->second->ctx))
        twin->differs = true;
    return has;
}

// ---- pods ----

static bool is_same_tree(const cJSON *a, const cJSON *b)
{
    return a && b ? prg_json_equal(a, b) : a == b;
}

static int merge_args(void *ctx, const cJSON *runtime_args, const cJSON *service_args, const char *container,
                      cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    int rc = twin->first->merge_args(twin->first->ctx, runtime_args, service_args, container, ret, source, err);
    if (!asks_second(twin, PRG_TWIN_CONTAINER_MERGE))
        return rc;
    cJSON *other = NULL;
    struct prg_error ignored = {0};
    int second =
        twin->second->merge_args(twin->second->ctx, runtime_args, service_args, container, &other, NULL, &ignored);
    return settle(twin, rc, second, is_same_tree(*ret, other));
}

static int merge_env(void *ctx, const char *name, const cJSON *runtime_entry, const cJSON *service_entry,
                     const char *container, cJSON **ret, struct prg_policy_source *source, struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    int rc = twin->first->merge_env(twin->first->ctx, name, runtime_entry, service_entry, container, ret, source, err);
    if (!asks_second(twin, PRG_TWIN_CONTAINER_MERGE))
        return rc;
    cJSON *other = NULL;
    struct prg_error ignored = {0};
    int second = twin->second->merge_env(twin->second->ctx, name, runtime_entry, service_entry, container, &other, NULL,
                                         &ignored);
    return settle(twin, rc, second, is_same_tree(*ret, other));
}

static bool has_container_merge(void *ctx, const char *function)
{
    struct prg_twin *twin = twin_of(ctx);
    bool has = twin->first->has_container_merge(twin->first->ctx, function);
    if (asks_second(twin, PRG_TWIN_CONTAINER_MERGE) &&
        has != twin->second->has_container_merge(twin->second->ctx, function))
        twin->differs = true;
    return has;
}

static int image_tag(void *ctx, const char *image, const struct prg_image_request *request, const char **ret,
                     struct prg_policy_source *source, struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    int rc = twin->first->image_tag(twin->first->ctx, image, request, ret, source, err);
    if (!asks_second(twin, PRG_TWIN_IMAGE))
        return rc;
    const char *other = NULL;
    struct prg_error ignored = {0};
    int second = twin->second->image_tag(twin->second->ctx, image, request, &other, NULL, &ignored);
    return settle(twin, rc, second, prg_text_equal(*ret ? *ret : image, other ? other : image));
}

static int topology(void *ctx, const struct prg_topology_request *request, struct prg_topology *ret,
                    const char **ret_refusal, struct prg_policy_source *source, struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    int rc = twin->first->topology(twin->first->ctx, request, ret, ret_refusal, source, err);
    if (!asks_second(twin, PRG_TWIN_MULTI_NODE))
        return rc;
    struct prg_topology other = {0};
    const char *refusal = NULL;
    struct prg_error ignored = {0};
    int second = twin->second->topology(twin->second->ctx, request, &other, &refusal, NULL, &ignored);
    bool is_same = prg_text_equal(*ret_refusal, refusal); // a refusal leaves the rest alone
    if (is_same && !refusal)
        is_same =
            ret->nodes == other.nodes && ret->head_gpus == other.head_gpus && ret->worker_gpus == other.worker_gpus;
    return settle(twin, rc, second, is_same);
}

static int object_patch(void *ctx, const cJSON *object, cJSON **ret, struct prg_policy_source *source,
                        struct prg_error *err)
{
    struct prg_twin *twin = twin_of(ctx);
    int rc = twin->first->object_patch(twin->first->ctx, object, ret, source, err);
    if (!asks_second(twin, PRG_TWIN_OBJECT_PATCH))
        return rc;
    cJSON *other = NULL;
    struct prg_error ignored = {0};
    int second = twin->second->object_patch(twin->second->ctx, object, &other, NULL, &ignored);
    return settle(twin, rc, second, is_same_tree(*ret, other));
}

static bool has_object_patch(void *ctx)
{
    struct prg_twin *twin = twin_of(ctx);
    bool has = twin->first->has_object_patch(twin->first->ctx);
    if (asks_second(twin, PRG_TWIN_OBJECT_PATCH) && has != twin->second->has_object_patch(twin->second->ctx))
        twin->differs = true;
    return has;
}

// ---- sets that share policies ----

static const struct {
    const char *file;
    enum prg_twin_policies policy;
} policies[] = {
    {"runtime_selection.lua", PRG_TWIN_RUNTIME_SELECTION},
    {"annotation_filter.lua", PRG_TWIN_ANNOTATION_FILTER},
    {"label_priority.lua", PRG_TWIN_LABEL_PRIORITY},
    {"container_merge.lua", PRG_TWIN_CONTAINER_MERGE},
    {"image.lua", PRG_TWIN_IMAGE},
    {"multi_node.lua", PRG_TWIN_MULTI_NODE},
    {"object_patch.lua", PRG_TWIN_OBJECT_PATCH},
};

static const cJSON *file_called(const cJSON *files, const char *name)
{
    const cJSON *file;
    prg_json_each (file, files)
        if (prg_text_equal(prg_json_get_text(file, "name"), name))
            return file;
    return NULL;
}

// A shipped policy written out (perigee policies export) answers as the shipped one does without it.
static bool is_as_shipped(const cJSON *tree, const cJSON *file)
{
    const cJSON *shipped = file_called(prg_json_get(tree, "shipped"), prg_json_get_text(file, "name"));
    return shipped && is_same_tree(prg_json_get(file, "text"), prg_json_get(shipped, "text"));
}

// The texts of a set by their place in the table, NULL: as shipped. false: there is something else that may matter.
static bool texts_of(const cJSON *tree, const cJSON *ret_texts[PRG_COUNT(policies)])
{
    const cJSON *file;
    memset(ret_texts, 0, PRG_COUNT(policies) * sizeof(*ret_texts));
    if (prg_json_get(tree, "namespace") || prg_json_get(tree, "refusal"))
        return false;
    prg_json_each (file, prg_json_get(tree, "set")) {
        const char *name = prg_json_get_text(file, "name");
        size_t i = 0;
        if (is_as_shipped(tree, file) || prg_text_equal(name, "il_stage.lua") || prg_text_has_suffix(name, "_spec.lua"))
            continue;
        while (i < PRG_COUNT(policies) && !prg_text_equal(name, policies[i].file))
            i++;
        if (i == PRG_COUNT(policies) || !prg_json_get(file, "text"))
            return false;
        ret_texts[i] = prg_json_get(file, "text");
    }
    return true;
}

unsigned prg_twin_equal_policies(const struct prg_policy_set *a, const struct prg_policy_set *b)
{
    prg_auto_arena arena;
    const cJSON *of_a[PRG_COUNT(policies)], *of_b[PRG_COUNT(policies)];
    unsigned equal = 0;
    prg_arena_init(&arena);
    const cJSON *x = prg_policy_set_to_json(&arena, a), *y = prg_policy_set_to_json(&arena, b);
    if (!texts_of(x, of_a) || !texts_of(y, of_b) ||
        !prg_json_equal(prg_json_get(x, "shipped"), prg_json_get(y, "shipped")))
        return 0;
    for (size_t i = 0; i < PRG_COUNT(policies); i++)
        if (is_same_tree(of_a[i], of_b[i]))
            equal |= (unsigned)policies[i].policy;
    return equal;
}

void prg_twin_init(struct prg_twin *twin, const struct prg_decider *first, const struct prg_decider *second,
                   unsigned equal)
{
    // Stages are for learning jobs, of which there are few: they are planned twice.
    *twin = (struct prg_twin){.decider = {.ctx = twin,
                                          .revision = revision,
                                          .begin = begin,
                                          .end = end,
                                          .select = select,
                                          .keep_annotation = keep_annotation,
                                          .label_layers = label_layers,
                                          .resolve_label = resolve_label,
                                          .has_resolve_label = has_resolve_label,
                                          .merge_args = merge_args,
                                          .merge_env = merge_env,
                                          .has_container_merge = has_container_merge,
                                          .image_tag = image_tag,
                                          .topology = topology,
                                          .object_patch = object_patch,
                                          .has_object_patch = has_object_patch},
                              .first = first,
                              .second = second,
                              .equal = equal};
}

void prg_twin_init_until(struct prg_twin *twin, const struct prg_decider *first, const cJSON *stop_at)
{
    prg_twin_init(twin, first, NULL, ~0U);
    twin->stop_at = stop_at;
}
